"""How well wrong keys are found that were planted in real and in simulated matrices.

A random 2 % of the items get a wrong key, and all items are ranked by how suspect they look:

- **inverted**: their responses are inverted, as a wrong key does to an item with two choices; in
  simulated 2PL data (slopes lognormal with an SD of 0.3 on the log scale, difficulties and
  abilities standard normal, 1,000 items), in the digits crowd, and in the matrices of the folder
  given by ``--data``;
- **second class**: the label of digits is changed to the class that comes second in the votes of
  the crowd, and their predictions are marked anew. (A random class would make the digit nearly
  all wrong, which average error finds by itself.)

Rankings: p_negative of irtkit, the corrected item–total correlation (of an item with the share
right on the other items), average error, and the discrimination of PyPI mirt where it is found
(``--peer-python``; it has no missing cells). AUC is the area under the precision–recall curve
(average precision), "top k" the precision among the k items ranked worst, k being the number of
planted ones. "found" and "false" belong to the items that `irtkit.flag_items` calls negative at a
false-discovery rate of 5 %: the share of planted items among them, and the share among them of
items that were not planted and are not called negative in the data as they came either. "suspect
found" and "suspect false" are the same of all items that are suspect, those with evidence of a
wrong key among them. Real matrices hold suspect items of their own, which no ranking can tell from
planted ones.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from machine import SHARED, arguments, part, store
from sklearn.metrics import average_precision_score
from worker import Worker

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHARE = 0.02
SIMULATED = (12, 30, 60, 100, 200)
SIMULATED_DATA_SETS = 20
REAL_DATA_SETS = 30
RANKINGS = ("irtkit", "item–total", "average error", "mirt")
PEER_SECONDS = 120.0


class Planted(NamedTuple):
    """Responses with some wrong keys, and which."""

    values: NDArray[np.int8]
    wrong: NDArray[np.bool_]
    """Shape (n_items,)."""


class Source(NamedTuple):
    """Where planted data sets come from."""

    name: str
    kind: str
    n_data_sets: int
    plant: Callable[[int], Planted]
    untouched: NDArray[np.int8] | None
    """The real responses, None if they are drawn anew."""


def simulated(n_respondents: int, n_items: int = 1000) -> Source:
    """2PL data with inverted items."""

    def plant(seed: int) -> Planted:
        generator = np.random.default_rng([seed, n_respondents])
        slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
        items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
        abilities = generator.normal(size=n_respondents)
        drawn = irtkit.simulate_responses(items, abilities, seed=generator)
        return inverted(drawn.values, generator)

    return Source(
        f"simulated {n_respondents} × {n_items:,}", "inverted", SIMULATED_DATA_SETS, plant, None
    )


def inverted(values: NDArray[np.int8], generator: np.random.Generator) -> Planted:
    """Invert the responses to some items; missing ones stay missing."""
    wrong = some_items(values.shape[1], generator)
    return Planted(np.where(wrong & (values >= 0), 1 - values, values).astype(np.int8), wrong)


def some_items(n_items: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Mark 2 % of the items."""
    wrong = np.zeros(n_items, dtype=np.bool_)
    wrong[generator.choice(n_items, max(round(SHARE * n_items), 1), replace=False)] = True
    return wrong


def second_class() -> Source:
    """The digits crowd, with labels that come second in its votes."""
    crowd = irtkit.load_digits_crowd()
    predictions, labels = crowd.predictions.to_numpy(), crowd.labels.to_numpy()
    votes = np.stack([(predictions == digit).sum(axis=0) for digit in range(10)])
    # the label itself is no wrong one, and a class nobody chose is no second one
    order = np.argsort(-votes, axis=0, kind="stable")
    second = np.where(order[1] == labels, order[0], order[1])
    chosen = votes[second, np.arange(len(labels))] > 0

    def plant(seed: int) -> Planted:
        generator = np.random.default_rng([seed, 2])
        at = generator.choice(np.flatnonzero(chosen), round(SHARE * len(labels)), replace=False)
        marked = labels.copy()
        marked[at] = second[at]
        wrong = np.isin(np.arange(len(labels)), at)
        return Planted((predictions == marked).astype(np.int8), wrong)

    untouched = (predictions == labels).astype(np.int8)
    return Source("digits crowd 130 × 1,797", "second class", REAL_DATA_SETS, plant, untouched)


def real(name: str, values: NDArray[np.int8]) -> Source:
    """A real matrix with inverted items."""

    def plant(seed: int) -> Planted:
        return inverted(values, np.random.default_rng([seed, *values.shape]))

    shape = f"{values.shape[0]:,} × {values.shape[1]:,}"
    return Source(f"{name} {shape}", "inverted", REAL_DATA_SETS, plant, values)


def sources(folder: Path | None) -> Iterator[Source]:
    """All sources; matrices in which 2 % is less than two items are left out."""
    yield from (simulated(n) for n in SIMULATED)
    yield second_class()
    yield real("digits crowd", irtkit.load_digits_crowd().responses.values)
    for about in sorted(folder.glob("*.meta.json")) if folder is not None else ():
        name = about.name.removesuffix(".meta.json")
        values = irtkit.read_responses(about.with_name(f"{name}.csv.gz")).values
        if round(SHARE * values.shape[1]) >= 2:
            yield real(name, values)


def item_total(values: NDArray[np.int8]) -> Array:
    """Correlation of each item with the share right on the other items; 0 without variance."""
    answered = values >= 0
    right = np.where(answered, values, 0).astype(np.float64)
    totals, counts = right.sum(axis=1), answered.sum(axis=1)
    found = np.zeros(values.shape[1])
    for j in range(len(found)):
        kept = answered[:, j] & (counts > 1)
        one = right[kept, j]
        rest = (totals[kept] - one) / (counts[kept] - 1)
        if len(one) > 1 and one.std() > 0 and rest.std() > 0:
            found[j] = np.corrcoef(one, rest)[0, 1]
    return found


def mirt_slopes(values: NDArray[np.int8], worker: Worker | None, folder: Path) -> Array | None:
    """Discrimination that PyPI mirt finds, None where it cannot."""
    if worker is None or worker.problem is not None or (values < 0).any():
        return None
    responses, parameters = folder / "responses.npy", folder / "parameters.npz"
    np.save(responses, values)
    if "error" in worker.fit(responses, parameters, limit=PEER_SECONDS):
        return None
    with np.load(parameters) as found:
        return np.nan_to_num(np.asarray(found["discrimination"], np.float64))


def listed_items(values: NDArray[np.int8]) -> tuple[irtkit.FitResult, NDArray[np.bool_]]:
    """The fit, and which items `irtkit.flag_items` calls negative, and which suspect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few respondents are what is studied
        result = irtkit.fit(irtkit.ResponseMatrix(values), "2PL", progress=False)
        flags = irtkit.flag_items(result)
    called = flags["reasons"].map(lambda reasons: "negative" in reasons).astype(bool)
    some = [flags.index[called], flags.index[flags["suspect"]]]
    return result, np.stack([np.isin(result.item_labels, labels) for labels in some])


def measure(source: Source, peer: str | None, folder: Path) -> dict[str, Any]:
    """Average the figures of all data sets of a source."""
    before = None if source.untouched is None else listed_items(source.untouched)[1]
    worker = None if peer is None else Worker("mirt", "2PL", python=peer)
    figures: dict[str, list[float]] = {}
    for seed in range(source.n_data_sets):
        values, wrong = source.plant(seed)
        result, listed = listed_items(values)
        suspicion = {
            "irtkit": result.items["p_negative"].to_numpy(),
            "item–total": -item_total(values),
            "average error": result.items["average_error"].to_numpy(),
        }
        slopes = mirt_slopes(values, worker, folder)
        if slopes is not None:
            suspicion["mirt"] = -slopes
        for name, score in suspicion.items():
            known = np.nan_to_num(score, nan=-1.0)  # an item without a response is not suspect
            figures.setdefault(f"auc {name}", []).append(average_precision_score(wrong, known))
            figures.setdefault(f"top k {name}", []).append(top_k(known, wrong))
        figures.setdefault("called", []).append(float(listed[0].sum()))
        false = listed & ~wrong if before is None else listed & ~wrong & ~before
        for kind, some, none in zip(("", "suspect "), listed, false, strict=True):
            figures.setdefault(f"{kind}found", []).append(float(some[wrong].mean()))
            figures.setdefault(f"{kind}false", []).append(float(none.sum() / max(some.sum(), 1)))
    if worker is not None:
        worker.close()
    means = {name: float(np.mean(values)) for name, values in figures.items()}
    return {"data": source.name, "planted": source.kind, "data_sets": source.n_data_sets, **means}


def top_k(score: Array, wrong: NDArray[np.bool_]) -> float:
    """Share of planted items among as many ranked worst."""
    worst = np.argsort(-score, kind="stable")[: int(wrong.sum())]
    return float(wrong[worst].mean())


def table(records: list[dict[str, Any]]) -> str:
    """The figures as a table in Markdown."""
    head = [
        "data",
        "planted",
        *(f"{kind}: {name}" for kind in ("AUC", "top k") for name in RANKINGS),
    ]
    lines = [[*head, "called negative", "found", "false"]]
    lines.append(["---"] * len(lines[0]))
    for record in records:
        cells = [record["data"], record["planted"]]
        for kind in ("auc", "top k"):
            values = [record.get(f"{kind} {name}") for name in RANKINGS]
            cells += ["" if value is None else f"{value:.3f}" for value in values]
        rest = (f"{record['called']:.1f}", f"{record['found']:.1%}", f"{record['false']:.1%}")
        lines.append([*cells, *rest])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    present = SHARED if SHARED.is_dir() else None
    parser.add_argument(
        "--data", type=Path, default=present, help="folder of more response matrices (*.csv.gz)"
    )
    parser.add_argument("--peer-python", help="the Python that has PyPI mirt")
    parser.add_argument("--only", help="sources whose name holds this")
    options = parser.parse_args()
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for source in part(list(sources(options.data)), 0):
            if options.only and options.only not in source.name:
                continue
            records.append(measure(source, options.peer_python, Path(folder)))
            print(records[-1]["data"], file=sys.stderr, flush=True)
    print(table(records))
    store(options, studies=records)


if __name__ == "__main__":
    main()
