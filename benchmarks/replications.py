"""Published numbers obtained again: published, ours, difference.

LSAT6 and LSAT7 are carried with the tests; the others are read from the folder given by ``--data``,
and left out where it does not hold them.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from machine import arguments, describe, store

import irtkit
from irtkit.difficulty import quality_standard

CARRIED = Path(__file__).parents[1] / "tests" / "data"
SHARED = Path(__file__).parents[2] / "shared" / "data"

Rows = Iterator[tuple[str, float, float]]
"""What it is, as published and as irtkit has it."""


def lsat(name: str) -> Rows:
    """Sections 6 and 7 of the Law School Admission Test (Bock & Lieberman 1970), by R's mirt."""
    frame = pd.read_csv(CARRIED / f"{name}.csv", dtype={"pattern": str})
    rows = [list(map(int, pattern)) for pattern in frame["pattern"].repeat(frame["count"].tolist())]
    published = json.loads((CARRIED / f"{name}_mirt.json").read_text(encoding="utf-8"))["models"]
    for model in ("1PL", "2PL"):
        of = published[model]
        result = irtkit.fit(np.array(rows), model, prior=None, quadrature=(61, 6.0))
        yield f"{model}: log-likelihood", of["logLik"], result.log_likelihood
        for column, short in (("discrimination", "a"), ("difficulty", "b")):
            rows_of = zip(result.items[column].items(), of["items"], strict=True)
            for (item, ours), stored in rows_of:
                if item == "item-1" or model != "1PL" or short == "b":
                    yield f"{model}: {column} of {item}", stored[short], ours


def gpqa(data: Path) -> Rows:
    """A pair of systems on GPQA Diamond, 198 items × 5 trials (evalconfidence's example)."""
    responses = irtkit.read_responses(data / "gpqa_pair.csv.gz", repeats="count")
    one, other = sorted(responses.respondents)
    found = irtkit.compare_systems(irtkit.fit(responses), one, other)
    yield "difference, points", 5.86, 100 * found.difference
    yield "its 95 % interval from", 0.38, 100 * found.low
    yield "to", 11.34, 100 * found.high
    yield "p, paired and clustered", 0.0363, found.p_value
    yield "unpaired interval from", -2.1, 100 * found.unpaired_low
    yield "to", 13.8, 100 * found.unpaired_high
    yield "p, unpaired", 0.149, found.unpaired_p_value
    yield "design effect of the one", 3.44, found.design_effect
    yield "of the other", 3.67, found.other_design_effect


def tau_bench(data: Path) -> Rows:
    """gpt-4o on τ-bench's airline tasks, 50 × 4 trials (Yao et al. 2024)."""
    responses = irtkit.read_responses(data / "taubench_gpt4o_airline.csv.gz", repeats="count")
    row = irtkit.pass_k(responses).iloc[0]
    for k, published in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        yield f"pass^{k}", published, float(row[f"pass^{k}"])


def kolena() -> Rows:
    """The worked example of Kolena's difficulty score, whose page cuts digits off."""
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


REPLICATIONS: dict[str, Callable[[Path], Rows]] = {
    "LSAT6": lambda _: lsat("lsat6"),
    "LSAT7": lambda _: lsat("lsat7"),
    "GPQA pair": gpqa,
    "τ-bench": tau_bench,
    "Kolena": lambda _: kolena(),
    "impact": lambda _: impact(),
}


def main() -> None:
    """Print the table; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of published matrices")
    options = parser.parse_args()
    records = []
    for name, rows in REPLICATIONS.items():
        try:
            with warnings.catch_warnings(action="ignore"):
                found = list(rows(options.data))
        except FileNotFoundError as missing:
            print(f"{name}: left out, no {missing.filename}")
            continue
        for what, published, ours in found:
            records.append({"of": name, "what": what, "published": published, "ours": ours})
            print(f"{name:10} {what:32} {published:12.5g} {ours:12.5g} {ours - published:+.1e}")
    store(options.out, describe(), records=records)


if __name__ == "__main__":
    main()
