"""How well few items tell the score of a new system on all.

`few_items`: identical rows are dropped, and a quarter of the systems is held out by whole families,
those who answer alike being one (joined by the transformer or the learner in what is known of
them). The rest is fitted by the 2PL with defaults; items are selected by `irtkit.select_items` and
asked of the held-out systems, at once (`irtkit.score`) or one by one (`irtkit.adaptive`). Errors
are root mean squares over all held-out systems of all splits, in percentage points of the share
right of all items. Intervals are of 95 %: share that hold the score, mean width. Rank correlations
are means over splits. Baselines: the share right of random items, and of one random item of each
stratum of difficulty.

`beyond`: whether scores from few items cover systems that are better than the calibration set.
Three groups of at most 200 systems are held out. "best" is the best tenth and "rest" a random
quarter of the others; the remaining systems, at most 800, are fitted. "any" is a random quarter of
all systems, so that the best systems are also fitted. 20 and 50 items are selected, and systems
held out are scored. Measured are the share of 95 % intervals that cover the score on all items
("closed" if no interval is opened upwards), their mean width in percentage points, and the share of
systems with the status "beyond". "outlier": a system with all answers right is added to those that
are fitted. Simulated boards have 200 items. "bent" gives the best tenth of the systems an ability
of its own on half of the items, so that calibrated curves end below them; "two abilities" loads
half of the items on a second ability (correlation 0.5). "ordinary": 30, 60 and 200 calibrated
systems and 200 new ones of the same population, who answer 50 of 200 items drawn at random.

The matrices, but for the digits crowd, carry no free licence and are looked for in ``--data``;
what is not there is left out.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from machine import SHARED, part
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr
from study import run

import irtkit
from irtkit import ResponseMatrix
from irtkit.data.families import linked
from irtkit.scoring import items_for_scores

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from study import Record, Tables

SHARE, LARGEST = 0.25, 0.3
"""Share of the systems that is held out, and the largest that a last family may make it."""
DRAWS = 5
"""Random subsets a split."""

BOARDS: dict[str, tuple[int, tuple[int, ...]]] = {
    "metabench_arc": (5, (10, 20, 50)),
    "nlu_commonsenseqa": (20, (20, 50, 100)),
    "digits crowd": (20, (20, 50)),
    "aid_optdigits": (20, (20, 50)),
}
"""Matrices, the number of splits, and numbers of items."""


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


def _split(sizes: tuple[int, ...], table: Any, family: Any, seed: int) -> list[dict[str, Any]]:
    """Errors of one split, a record per method and size."""
    held = _held_out(family, seed)
    result = irtkit.fit(ResponseMatrix.from_frame(table[~held]), standard_errors=False)
    new, families = table[held], pd.Series(family[~held], table.index[~held])
    truth = new.mean(axis=1).to_numpy()
    generator, rows = np.random.default_rng(seed), []
    for k in sizes:
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


def _summary(sizes: tuple[int, ...], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures by method and size, errors and widths in percentage points."""
    found = []
    for k in sizes:
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


def few_items(data: Path = SHARED) -> Tables:
    """Errors by how items were chosen."""
    boards = {}
    for name in part(list(BOARDS), 1):
        table, family = _read(name, data)
        if table is None:
            continue
        splits, sizes = BOARDS[name]
        sizes = part(sizes, 0)
        begun = time.perf_counter()
        rows = [row for seed in range(splits) for row in _split(sizes, table, family, seed)]
        figures = {"splits": splits, "by_size": _summary(sizes, rows)}
        boards[name] = figures | {"seconds": time.perf_counter() - begun}
    return {"boards": boards}


REAL = {"metabench_arc": 4, "nlu_commonsenseqa": 6, "nlu_rte": 6, "aid_optdigits": 1}
"""Matrices, and how many splits of each."""
ORDINARY, ORDINARY_SETS = (30, 60, 200), 50
SIZES = (20, 50)
HELD, CALIBRATED = 200, 800
"""Most systems held out in a group, and most calibrated."""
SIMULATED = {"one ability": 3, "two abilities": 3, "bent": 3, "few systems": 10}


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
            found.append(record)
    return found


def beyond(data: Path = SHARED) -> Tables:
    """Systems better than those calibrated, and ordinary ones."""
    there = [name for name in REAL if (data / f"{name}.csv.gz").exists()]
    records: list[Record] = []
    for name in part([*there, *SIMULATED], -1):
        for outlier in (False, True):
            splits = 1 if outlier else (REAL | SIMULATED)[name]
            several = [split(name, data, seed, outlier=outlier) for seed in range(splits)]
            about = {"board": name, "outlier": outlier, "splits": splits}
            records += summary([row for rows in several for row in rows], **about)
    return {"records": records, "ordinary": map(of_ordinary, part(ORDINARY, 0))}


if __name__ == "__main__":
    run(few_items, beyond)
