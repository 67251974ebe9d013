"""How well few items tell the score of a new system on all, beside what subsets should reach.

Identical rows are dropped, and a quarter of the systems is held out by whole families, those who
answer alike being one (joined by the transformer or the learner in what is known of them). The
rest is fitted by the 2PL with defaults; items are selected by `irtkit.select_items` and asked of
the held-out systems, at once (`irtkit.score`) or one by one (`irtkit.adaptive`). Errors are root
mean squares over all held-out systems of all splits, in percentage points of the share right of
all items; beside them the bounds of "must hold". Intervals are of 95 %: share that hold the score,
mean width. Rank correlations are means over splits. Baselines: the share right of random items,
and of one random item of each stratum of difficulty.

"Stronger systems": the tenth with the highest scores is held out, and random items are asked of
them. "warned" is the share of them whose status is "beyond" where the model alone tells the score,
and of those held out in the splits above.

The matrices, but for the digits crowd, carry no free licence and are looked for in ``--data``;
what is not there is left out.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store, whole
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr

import irtkit
from irtkit import ResponseMatrix
from irtkit.data.families import linked

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARE, LARGEST = 0.25, 0.3
"""Share of the systems that is held out, and the largest that a last family may make it."""
DRAWS = 5
"""Random subsets a split."""
TOP, TOP_DRAWS = 0.9, 100


class Board(NamedTuple):
    """A matrix, how it is split, and what should be reached, in percentage points by size."""

    splits: int
    fixed: dict[int, float]
    adaptive: dict[int, float]
    spearman: dict[int, float]
    cover: tuple[float, float]
    width: float | None = None
    """Of the intervals of 50 items, in percentage points."""


BOARDS = {
    "metabench_arc": Board(
        5,
        {10: 6.1, 20: 4.5, 50: 2.4},
        {10: 5.4, 20: 3.8, 50: 2.0},
        {10: 0.95, 20: 0.97, 50: 0.99},
        (0.93, 0.97),
        9.5,
    ),
    "nlu_commonsenseqa": Board(
        20,
        {20: 6.0, 50: 4.5, 100: 3.6},
        {20: 4.8, 50: 4.0, 100: 3.4},
        {20: 0.84, 50: 0.88, 100: 0.91},
        (0.90, 0.98),
        18.0,
    ),
    "digits crowd": Board(
        20, {20: 6.3, 50: 4.3}, {20: 6.2, 50: 4.0}, {20: 0.90, 50: 0.94}, (0.90, 0.98)
    ),
    "aid_optdigits": Board(20, {20: 4.1, 50: 2.8}, {}, {20: 0.70, 50: 0.80}, (0.90, 0.98)),
}


def main() -> None:
    """Print the tables; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--boards", nargs="*", default=part([*BOARDS], 1), help="Matrices to take")
    parser.add_argument("--splits", type=int, help="At most so many of each")
    options = parser.parse_args()
    found = {}
    warnings.simplefilter("ignore", UserWarning)
    for name in options.boards:
        table, family = _read(name, options.data)
        if table is None:
            print(f"{name}: not in {options.data}")
            continue
        board = BOARDS[name]
        board = board._replace(fixed=part(board.fixed, *list(board.fixed)[:1]))
        n_splits = min(board.splits, options.splits or board.splits)
        begun = time.perf_counter()
        rows = [row for seed in range(n_splits) for row in _split(board, table, family, seed)]
        figures = {
            "splits": n_splits,
            "by_size": _summary(board, rows),
            "stronger": _stronger(table),
        }
        found[name] = {**figures, "seconds": time.perf_counter() - begun}
        _show(name, board, table, found[name])
    timings = _timings(options.data) if whole() else {}
    print("\nSeconds, one process")
    for what, seconds in timings.items():
        print(f"  {what:60s} {seconds:8.4f}")
    store(options, boards=found, seconds=timings)


def _read(name: str, data: Path) -> tuple[Any, Any]:
    """Distinct rows, and the family of each."""
    if name == "digits crowd":
        table = irtkit.load_digits_crowd().responses.to_frame()
    elif (data / f"{name}.csv.gz").exists():
        table = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
    else:
        return None, None
    table = table[~table.duplicated()]
    whole = irtkit.fit(ResponseMatrix.from_frame(table), standard_errors=False)
    family = linked(whole, irtkit.similar_respondents(whole))
    if name == "nlu_commonsenseqa":
        family = _joined(family, [label.rsplit("_", 1)[0] for label in table.index])
    if name == "aid_optdigits":
        known = pd.read_csv(data / "aid_optdigits_respondents.csv.gz", index_col=0)
        family = _joined(family, known["learner"][table.index].astype(str))
    return table, family


def _joined(family: NDArray[np.int64], names: Any) -> NDArray[np.int64]:
    """Families of whom links either number or name."""
    other = np.unique(np.asarray(names, dtype=str), return_inverse=True)[1] + family.max() + 1
    size = int(other.max()) + 1
    links = coo_array((np.ones(len(family)), (family, other)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][family], dtype=np.int64)


def _held_out(family: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """A quarter of the systems, or a little more, by whole families drawn at random."""
    held = np.zeros(len(family), dtype=bool)
    for name in np.random.default_rng(seed).permutation(np.unique(family)):
        if held.mean() >= SHARE:
            break
        more = held | (family == name)
        held = more if more.mean() <= LARGEST else held
    return held


def _split(board: Board, table: Any, family: Any, seed: int) -> list[dict[str, Any]]:
    """Errors of one split, a record per method and size."""
    held = _held_out(family, seed)
    result = irtkit.fit(ResponseMatrix.from_frame(table[~held]), standard_errors=False)
    new, families = table[held], pd.Series(family[~held], table.index[~held])
    truth = new.mean(axis=1).to_numpy()
    generator, rows = np.random.default_rng(seed), []
    for k in board.fixed:
        selection = irtkit.select_items(result, k, families=families)
        scores = irtkit.score(ResponseMatrix.from_frame(new[list(selection.items)]), selection)
        rows.append(_row("fixed", k, truth, scores))
        rows[-1]["expected_error"] = selection.expected_error
        rows.append(_row("adaptive", k, truth, _one_by_one(selection, new, "adaptive")))
        best = irtkit.adaptive(selection)
        rows[-1]["prefers_fixed"] = float(best.order == "fixed")
        for _ in range(DRAWS):
            by_difficulty = result.items["difficulty"].sort_values().index
            strata = np.array_split(by_difficulty, k)
            stratified = new[[generator.choice(stratum) for stratum in strata]]
            random = new[generator.choice(new.columns, k, replace=False)]
            for design, answers in (("random", random), ("stratified", stratified)):
                raw = answers.mean(axis=1).to_numpy()
                rows.append({"method": f"{design}, mean", "k": k, "error": raw - truth})
            scores = irtkit.score(ResponseMatrix.from_frame(random), result)
            rows.append(_row("random, p-IRT", k, truth, scores))
    return rows


def _one_by_one(selection: Any, new: Any, order: str) -> Any:
    """Scores of adaptive tests, in the form of `irtkit.score`."""
    found = []
    for _, answers in new.iterrows():
        test = irtkit.adaptive(selection, order=order)
        while not test.done:
            test.answer(bool(answers[test.next_item]))
        found.append((test.expected_score, *test.interval))
    names = ["expected_score", "expected_score_low", "expected_score_high"]
    return pd.DataFrame(found, new.index, names)


def _row(method: str, k: int, truth: Any, scores: Any) -> dict[str, Any]:
    low, high = (scores[f"expected_score_{end}"].to_numpy() for end in ("low", "high"))
    mean = scores["expected_score"].to_numpy()
    row = {"method": method, "k": k, "error": mean - truth, "width": high - low}
    rank = spearmanr(mean, truth)[0] if len(set(mean)) > 1 else 0.0
    row |= {"holds": (low <= truth) & (truth <= high), "spearman": float(rank)}
    if "status" in scores:
        row["warned"] = (scores["status"] == "beyond").to_numpy()
    return row


def _summary(board: Board, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures by method and size, errors and widths in percentage points."""
    found = []
    for k in board.fixed:
        for method in dict.fromkeys(row["method"] for row in rows):
            some = [row for row in rows if row["method"] == method and row["k"] == k]
            record = {"method": method, "k": k, "rmse": 100 * _rms([row["error"] for row in some])}
            for name, factor in (("holds", 1), ("width", 100), ("warned", 1)):
                if name in some[0]:
                    record[name] = factor * float(np.mean(np.concatenate([r[name] for r in some])))
            for name, factor in (("spearman", 1), ("expected_error", 100), ("prefers_fixed", 1)):
                if name in some[0]:
                    record[name] = factor * float(np.mean([row[name] for row in some]))
            found.append(record)
    return found


def _rms(errors: list[Any]) -> float:
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def _stronger(table: Any) -> list[dict[str, Any]]:
    """The best tenth held out, and asked random items."""
    truth = table.mean(axis=1)
    held = truth >= truth.quantile(TOP)
    result = irtkit.fit(ResponseMatrix.from_frame(table[~held]), standard_errors=False)
    new, found = table[held], []
    truth = truth[held].to_numpy()
    for k in part((20, 50), 0):
        rows = []
        for seed in range(TOP_DRAWS):
            generator = np.random.default_rng(seed)
            answers = new[generator.choice(new.columns, k, replace=False)]
            scores = irtkit.score(ResponseMatrix.from_frame(answers), result)
            rows.append(_row("model", k, truth, scores))
            raw = answers.mean(axis=1).to_numpy()
            rows.append({"method": "raw", "error": raw - truth})
        by = {m: [r for r in rows if r["method"] == m] for m in ("model", "raw")}
        record: dict[str, Any] = {"k": k, "systems": int(held.sum())}
        record["model_holds"] = float(np.mean([row["holds"].mean() for row in by["model"]]))
        for name, some in by.items():
            record[f"{name}_rmse"] = 100 * _rms([row["error"] for row in some])
        bias = np.mean([row["error"].mean() for row in by["model"]])
        record |= {"model_bias": 100 * float(bias)}
        record["warned"] = float(np.mean([row["warned"].mean() for row in by["model"]]))
        found.append(record)
    return found


def _show(name: str, board: Board, table: Any, found: dict[str, Any]) -> None:
    shape = " × ".join(map(str, table.shape))
    print(f"\n{name}, {shape}, {found['splits']} splits, {found['seconds']:.0f} s")
    by = {(row["method"], row["k"]): row for row in found["by_size"]}
    print("  items  method                 RMSE  bound  Spearman  bound  hold  width  warned")
    for (method, k), row in by.items():
        bound = {"fixed": board.fixed, "adaptive": board.adaptive}.get(method, {}).get(k)
        rank = board.spearman[k] if method == "fixed" else None
        cells = (row["rmse"], bound, row.get("spearman"), rank, row.get("holds"), row.get("width"))
        widths = ("6.2f", "6.1f", "9.3f", "6.2f", "6.3f", "6.1f", "7.2f")
        text = " ".join(
            " " * int(width.split(".")[0]) if cell is None else f"{cell:{width}}"
            for cell, width in zip((*cells, row.get("warned")), widths, strict=True)
        )
        print(f"  {k:5d}  {method:21s} {text}")
    for k in board.fixed:
        fixed, least = by["fixed", k], by["stratified, mean", k]
        less = 100 * (1 - fixed["rmse"] / least["rmse"])
        print(
            f"  {k} items: {less:.0f} % less than the mean of a stratified sample; expected error "
            f"{fixed['expected_error']:.2f}; cross-validation prefers the fixed order in "
            f"{by['adaptive', k]['prefers_fixed']:.0%} of the splits"
        )
    print(f"  bounds of what intervals hold: {board.cover}; of their width at 50: {board.width}")
    for row in found["stronger"]:
        print(
            f"  stronger systems ({row['systems']}), {row['k']} random items: RMSE "
            f"{row['model_rmse']:.2f} (raw mean {row['raw_rmse']:.2f}), bias "
            f"{row['model_bias']:.1f}, intervals hold {row['model_holds']:.2f}, warned "
            f"{row['warned']:.2f} (0.90)"
        )


def _seconds(work: Any, repeats: int = 5) -> float:
    """Least time of some runs."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def _timings(data: Path) -> dict[str, float]:
    """What selection, scores and tests take, with the fit in hand."""
    found = {}
    table, _ = _read("aid_optdigits", data)
    if table is not None:
        result = irtkit.fit(ResponseMatrix.from_frame(table), standard_errors=False)
        found["50 of 5,620 items selected, aid_optdigits"] = _seconds(
            lambda: irtkit.select_items(result, 50)
        )
    generator = np.random.default_rng(0)
    for n, n_items in ((200, 80_000), (200, 6_000)):
        slopes = generator.lognormal(0, 0.3, n_items)
        items = irtkit.ItemParameters(slopes, generator.normal(size=n_items), np.zeros(n_items))
        responses = irtkit.simulate_responses(items, generator.normal(size=n), seed=0)
        result = irtkit.fit(responses, standard_errors=False)
        if n_items == 80_000:
            name = f"100 of {n_items:,} items selected, {n} systems"
            found[name] = _seconds(lambda fitted=result: irtkit.select_items(fitted, 100), 2)
    selection = irtkit.select_items(result, 100)
    _ = selection.table
    new = irtkit.simulate_responses(items, generator.normal(size=1000), seed=1)
    asked = ResponseMatrix.from_frame(new.to_frame()[list(selection.items)])
    found["1,000 systems scored by 100 of 6,000 items"] = _seconds(
        lambda: irtkit.score(asked, selection)
    )
    found["the same by the result"] = _seconds(lambda: irtkit.score(asked, result))
    test = irtkit.adaptive(selection, order="adaptive")

    def one_item() -> None:
        test.answer(len(test.next_item or "") % 2 == 1)

    found["the next of 100 items out of 6,000 asked, and its answer taken"] = _seconds(one_item, 50)
    return found


if __name__ == "__main__":
    main()
