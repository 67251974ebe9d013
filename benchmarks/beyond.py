"""Whether scores from few items cover systems that are better than the calibration set.

Three groups of at most 200 systems are held out. "best" is the best tenth and "rest" a random
quarter of the others; the remaining systems, at most 800, are fitted by the 2PL. "any"
is a random quarter of all systems, so that the best systems are also fitted.
`irtkit.select_items` selects 20 and 50 items, and `irtkit.score` scores the systems held out. For
each group and size:

- coverage: share of 95 % intervals that cover the score on all items
- closed_coverage, closed_width: the same, and the mean width, if no interval is opened upwards
- width: mean width in percentage points
- beyond: share of systems with the status "beyond"

"outlier": a system with all answers right is added to the systems that are fitted.

Simulated boards have 200 items. "bent" gives the best tenth of the systems an ability of its own on
half of the items, so that calibrated curves end below them; "two abilities" loads half of the items
on a second ability (correlation 0.5). Real boards are looked for in ``--data``.

"ordinary": 30, 60 and 200 calibrated systems and 200 new ones of the same population, who answer 50
of 200 items drawn at random. Printed are the share called "beyond", and coverage.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store

import irtkit
from irtkit import ResponseMatrix
from irtkit.scoring import items_for_scores

REAL = {"metabench_arc": 4, "nlu_commonsenseqa": 6, "nlu_rte": 6, "aid_optdigits": 1}
"""Matrices, and how many splits of each."""
SIMULATED = {"one ability": 3, "two abilities": 3, "bent": 3, "few systems": 10}
ORDINARY, ORDINARY_SETS = (30, 60, 200), 50
SIZES = (20, 50)
HELD, CALIBRATED = 200, 800
"""Most systems held out in a group, and most calibrated."""


def main() -> None:
    """Print a line for each board, group and size; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--boards", nargs="*", default=part([*REAL, *SIMULATED], -1))
    parser.add_argument("--splits", type=int, default=99, help="At most so many of each")
    options = parser.parse_args()
    found = []
    for name in options.boards:
        if name in REAL and not (options.data / f"{name}.csv.gz").exists():
            print(f"{name}: not in {options.data}")
            continue
        splits = min(options.splits, (REAL | SIMULATED)[name])
        for outlier in (False, True):
            some = range(1 if outlier else splits)
            parts = [split(name, options.data, seed, outlier=outlier) for seed in some]
            about = {"board": name, "outlier": outlier, "splits": len(some)}
            found += summary([row for part in parts for row in part], **about)
    ordinary = [of_ordinary(n) for n in part(ORDINARY, 0)]
    store(options, records=found, ordinary=ordinary)


def of_ordinary(n: int) -> dict[str, Any]:
    """Shares of new systems like the calibrated ones that are called beyond, and covered."""
    beyond, covers = [], []
    for seed in range(ORDINARY_SETS):
        generator = np.random.default_rng([seed, n])
        slope, difficulty = generator.lognormal(0, 0.3, 200), generator.normal(-0.5, 1, 200)
        items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
        abilities = generator.normal(size=n + HELD)
        values = irtkit.simulate_responses(items, abilities, seed=generator).values
        names = [f"q{j}" for j in range(200)]
        result = irtkit.fit(ResponseMatrix(values[:n], items=names), standard_errors=False)
        asked = generator.permutation(200)[:50]
        answers = ResponseMatrix(values[n:, asked], items=[names[j] for j in asked])
        scores, truth = irtkit.score(answers, result), values[n:].mean(axis=1)
        beyond.append((scores["status"] == "beyond").mean())
        low, high = (scores[f"expected_score_{end}"].to_numpy() for end in ("low", "high"))
        covers.append(np.mean((low <= truth) & (truth <= high)))
    record = {"calibrated": n, "sets": ORDINARY_SETS, "beyond": float(np.mean(beyond))}
    record["coverage"] = float(np.mean(covers))
    print(shown({"board": "ordinary", **record}), flush=True)
    return record


def board(name: str, data: Path, seed: int) -> pd.DataFrame:
    """Distinct response patterns of a real board, or a simulated board."""
    if name in REAL:
        table = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
        return table[~table.duplicated()]
    generator = np.random.default_rng([seed, *map(ord, name)])
    n, n_items = 60 if name == "few systems" else 500, 200
    first, other = generator.normal(size=(2, n))
    difficulty, slope = generator.normal(-0.5, 1, n_items), generator.lognormal(0, 0.3, n_items)
    second = np.arange(n_items) % 2 * (name in {"two abilities", "bent"})
    if name == "bent":
        other = first + 2 * (first > np.quantile(first, 0.9))
    else:
        other = 0.5 * first + 0.75**0.5 * other
    theta = np.where(second, other[:, None], first[:, None])
    p = 1 / (1 + np.exp(-slope * (theta - difficulty)))
    values = (generator.random(p.shape) < p).astype(int)
    return pd.DataFrame(values, range(n), [f"q{j}" for j in range(n_items)])


def split(name: str, data: Path, seed: int, *, outlier: bool) -> list[dict[str, Any]]:
    """Figures of one split, a record per group, size and way."""
    table = board(name, data, seed)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(table))
    score = table.mean(axis=1).to_numpy()[order]
    is_best = score >= np.quantile(score, 0.9)
    others, quarter = order[~is_best], len(order) // 4
    held = {"best": order[is_best][:HELD], "rest": others[: len(others) // 4][:HELD]}
    found = scored(table, others[len(others) // 4 :], held, outlier=outlier)
    held = {"any": order[:quarter][:HELD]}
    return found + scored(table, order[quarter:], held, outlier=outlier)


def scored(
    table: pd.DataFrame, rows: Any, held: dict[str, Any], *, outlier: bool
) -> list[dict[str, Any]]:
    """Figures of the systems held out when others are fitted."""
    known, found = table.iloc[rows[:CALIBRATED]], []
    if outlier:
        known = pd.concat([known, pd.DataFrame(1, ["outlier"], known.columns)])
    result = irtkit.fit(ResponseMatrix.from_frame(known), standard_errors=False)
    for k in SIZES:
        selection = irtkit.select_items(result, k, folds=5)
        is_asked = table.columns.isin(selection.items)
        for group, places in held.items():
            new = table.iloc[places]
            asked = ResponseMatrix.from_frame(new.loc[:, is_asked])
            ways = {
                "": irtkit.score(asked, selection),
                "closed_": irtkit.score(asked, replace(items_for_scores(selection), best=None)),
            }
            truth = new.mean(axis=1).to_numpy()
            for way, scores in ways.items():
                low, high = (scores[f"expected_score_{end}"].to_numpy() for end in ("low", "high"))
                covers, width = (low <= truth) & (truth <= high), 100 * (high - low)
                beyond = (ways[""]["status"] == "beyond").to_numpy()
                record = {"coverage": covers, "width": width, "beyond": beyond}
                found.append({"group": group, "k": k, "way": way, **record})
    return found


def summary(rows: list[dict[str, Any]], **about: Any) -> list[dict[str, Any]]:
    """Means over systems and splits, printed as they are found."""
    found = []
    for group in ("best", "rest", "any"):
        for k in SIZES:
            record: dict[str, Any] = {**about, "group": group, "k": k}
            for way in ("", "closed_"):
                some = [r for r in rows if (r["group"], r["k"], r["way"]) == (group, k, way)]
                beyond = np.concatenate([row["beyond"] for row in some])
                for figure in ("coverage", "width"):
                    values = np.concatenate([row[figure] for row in some])
                    record[way + figure] = float(np.mean(values)) if len(values) else None
                record["systems"], record["beyond"] = len(beyond), float(beyond.mean())
            print(shown(record), flush=True)
            found.append(record)
    return found


def shown(record: dict[str, Any]) -> str:
    """One line of figures."""
    values = (
        f"{value:.3f}" if isinstance(value, float) else str(value) for value in record.values()
    )
    return "  ".join(f"{name} {value}" for name, value in zip(record, values, strict=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    main()
