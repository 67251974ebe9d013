"""Numbers of others obtained again: theirs, ours, difference.

LSAT6 and LSAT7 are carried with the tests; the others are read from the folder given by ``--data``,
and left out where it does not hold them. Nothing is stored then: the pages that show them would be
left without.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from machine import SHARED, arguments, store

import irtkit
from irtkit.difficulty import quality_standard

CARRIED = Path(__file__).parents[1] / "tests" / "data"

Rows = Iterator[tuple[str, float, float]]
"""What it is, as others have it and as irtkit does."""


def lsat(name: str) -> Rows:
    """Sections 6 and 7 of the Law School Admission Test; the one slope of the 1PL stands once."""
    frame = pd.read_csv(CARRIED / f"{name}.csv", dtype={"pattern": str})
    rows = [list(map(int, pattern)) for pattern in frame["pattern"].repeat(frame["count"].tolist())]
    reference = json.loads((CARRIED / f"{name}_mirt.json").read_text(encoding="utf-8"))["models"]
    for model in ("1PL", "2PL"):
        of = reference[model]
        result = irtkit.fit(np.array(rows), model, prior=None, quadrature=(61, 6.0))
        yield f"{model}: log-likelihood", of["logLik"], result.log_likelihood
        for column, short in (("discrimination", "a"), ("difficulty", "b")):
            rows_of = zip(result.items[column].items(), of["items"], strict=True)
            for (item, ours), stored in rows_of:
                common = model == "1PL" and short == "a"
                if item == "item-1" or not common:
                    name_of = "all items" if common else item
                    yield f"{model}: {column} of {name_of}", stored[short], ours


def gpqa(data: Path) -> Rows:
    """A pair of systems on GPQA Diamond, 198 items × 5 trials."""
    responses = irtkit.read_responses(data / "gpqa_pair.csv.gz", repeats="count")
    one, other = sorted(responses.respondents)
    found = irtkit.compare_systems(irtkit.fit(responses), one, other)
    yield "difference, points", 5.86, 100 * found.difference
    yield "its 95 % interval from", 0.38, 100 * found.low
    yield "to", 11.34, 100 * found.high
    yield "p, paired and clustered", 0.0363, found.p_value


def tau_bench(data: Path) -> Rows:
    """gpt-4o on τ-bench's airline tasks, 50 × 4 trials."""
    responses = irtkit.read_responses(data / "taubench_gpt4o_airline.csv.gz", repeats="count")
    row = irtkit.pass_k(responses).iloc[0]
    for k, published in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        yield f"pass^{k}", published, float(row[f"pass^{k}"])


def kolena() -> Rows:
    """The worked example of Kolena's score, printed with three digits, further ones cut off."""
    metrics = pd.DataFrame(
        {
            "respondent": "A",
            "item": [1, 2, 3, 4],
            "recall": [0.1, 0.5, 0.9, 0.6],
            "cost": [3.14, 0.90, 0.01, 0.50],
            "accuracy": [0.50, 0.80, 0.99, 0.55],
        }
    )
    scores = quality_standard(metrics, ["recall", "accuracy"]).items
    for (item, score), published in zip(scores.items(), (1, 0.390, 0, 0.476), strict=True):
        yield f"item {item}", published, float(score)


def impact() -> Rows:
    """The worked example of the impact metric: starts are its own, types and ends are not."""
    manual = [("a", 0, 5), ("b", 7, 12), ("a", 16, 19)]
    predicted = [("a", 0, 6), ("c", 7, 12), ("c", 16, 20), ("a", 20, 24)]
    found = irtkit.impact(predicted, manual)
    yield "penalty", 6, found.penalty
    yield "from scratch", 9, found.scratch
    yield "impact", 0.667, found.impact


MIRT = "mirt 1.47 in R, on the answers of Bock & Lieberman (1970), Psychometrika 35, 179-197"
REPLICATIONS: dict[str, tuple[str, Callable[[Path], Rows]]] = {
    "LSAT6": (MIRT, lambda _: lsat("lsat6")),
    "LSAT7": (MIRT, lambda _: lsat("lsat7")),
    "GPQA pair": ("evalconfidence 0.1.0 on PyPI, examples/demo.ipynb", gpqa),
    "τ-bench": ("Yao, Shinn, Razavi & Narasimhan (2024), arXiv 2406.12045", tau_bench),
    "Kolena": ("https://docs.kolena.com/metrics/difficulty-score", lambda _: kolena()),
    "impact": ("worked example of the impact metric", lambda _: impact()),
}
"""Where the numbers are from, and what obtains them again."""


def main() -> None:
    """Print the table; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of published matrices")
    options = parser.parse_args()
    records = []
    for name, (source, rows) in REPLICATIONS.items():
        try:
            with warnings.catch_warnings(action="ignore"):
                found = list(rows(options.data))
        except FileNotFoundError as missing:
            if options.out:
                parser.error(f"nothing is stored, since {name} is left out: {missing}")
            print(f"{name} is left out: {missing}")
            continue
        print(f"{name}: {source}")
        for what, theirs, ours in found:
            records.append(
                {"of": name, "source": source, "what": what, "theirs": theirs, "ours": ours}
            )
            print(f"  {what:32} {theirs:12.5g} {ours:12.5g} {ours - theirs:+.1e}")
    store(options, records=records)


if __name__ == "__main__":
    main()
