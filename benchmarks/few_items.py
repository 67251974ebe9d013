"""How well few items tell the score of a new system on all.

`few_items`: systems are held out by whole families, those who answer alike being one (joined by the
transformer or the learner in what is known of them). `beyond`: whether scores from few items cover
systems that are better than the calibration set. "best": the best tenth is held out. "any": a
random quarter, so that the best systems are also fitted. "ordinary": new systems of the same
population.

The matrices, but for the digits crowd, carry no free licence and are looked for in ``--data``; what
is not there is left out.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from machine import SHARED, part
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from simulated import answers, board_of
from study import run, study

import irtkit
from irtkit import ResponseMatrix
from irtkit.data.families import linked
from irtkit.scoring import items_for_scores

SHARE, LARGEST = 0.25, 0.3
"""Share of the systems that is held out, and the largest that a last family may make it."""
DRAWS = 5
"""Random subsets a split."""

BOARDS = {
    "metabench_arc": (5, (10, 20, 50)),
    "nlu_commonsenseqa": (20, (20, 50, 100)),
    "digits crowd": (20, (20, 50)),
    "aid_optdigits": (20, (20, 50)),
}
"""Matrices, the number of splits, and numbers of items."""


def _read(name, data):
    """Distinct rows, and the family of each: whom answers or, where they are known, names link."""
    if name == "digits crowd":
        table = irtkit.load_digits_crowd().responses.to_frame()
    elif (data / f"{name}.csv.gz").exists():
        table = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
    else:
        return None, None
    table = table[~table.duplicated()]
    whole = irtkit.fit(ResponseMatrix.from_frame(table), standard_errors=False)
    family = linked(whole.respondent_labels, irtkit.similar_respondents(whole))
    if name == "nlu_commonsenseqa":
        names = [label.rsplit("_", 1)[0] for label in table.index]
    elif name == "aid_optdigits":
        known = pd.read_csv(data / "aid_optdigits_respondents.csv.gz", index_col=0)
        names = known["learner"][table.index].astype(str).to_numpy(str)
    else:
        return table, family
    other = np.unique(names, return_inverse=True)[1] + family.max() + 1
    size = int(other.max()) + 1
    links = coo_array((np.ones(len(family)), (family, other)), shape=(size, size))
    return table, connected_components(links, directed=False)[1][family]


def _held_out(family, seed):
    """A quarter of the systems, or a little more, by whole families drawn at random."""
    held = np.zeros(len(family), dtype=bool)
    for name in np.random.default_rng(seed).permutation(np.unique(family)):
        if held.mean() >= SHARE:
            break
        more = held | (family == name)
        held = more if more.mean() <= LARGEST else held
    return held


def _split(sizes, table, family, seed):
    """Of one split: method, number of items, errors of scores, and which intervals hold."""
    held = _held_out(family, seed)
    result = irtkit.fit(ResponseMatrix.from_frame(table[~held]), standard_errors=False)
    new, families = table[held], pd.Series(family[~held], table.index[~held])
    truth = new.mean(axis=1).to_numpy()
    generator = np.random.default_rng(seed)
    by_difficulty = result.items["difficulty"].sort_values().index
    for k in sizes:
        selection = irtkit.select_items(result, k, families=families)
        scores = irtkit.score(ResponseMatrix.from_frame(new[list(selection.items)]), selection)
        yield "fixed", k, errors(scores, truth), covers(scores, truth)[0]
        adaptive = [_one_by_one(selection, answered) for _, answered in new.iterrows()]
        yield "adaptive", k, np.array(adaptive) - truth, None
        for _ in range(DRAWS):
            strata = np.array_split(by_difficulty, k)
            stratified = new[[generator.choice(stratum) for stratum in strata]].mean(axis=1)
            yield "stratified, mean", k, stratified.to_numpy() - truth, None
            random = new[generator.choice(new.columns, k, replace=False)]
            scores = irtkit.score(ResponseMatrix.from_frame(random), result)
            yield "random, p-IRT", k, errors(scores, truth), None


def errors(scores, truth):
    """Expected scores less the true ones."""
    return scores["expected_score"].to_numpy() - truth


def covers(scores, truth):
    """Which intervals hold the true score, and their widths in percentage points."""
    low, high = (scores[f"expected_score_{end}"].to_numpy() for end in ("low", "high"))
    return (low <= truth) & (truth <= high), 100 * (high - low)


def _one_by_one(selection, answered):
    """Expected score by an adaptive test of a system."""
    test = irtkit.adaptive(selection, order="adaptive")
    while not test.done:
        test.answer(bool(answered[test.next_item]))
    return test.expected_score


def few_items(data=SHARED):
    """Errors by how items were chosen."""
    records = []
    for name in part(list(BOARDS), 1):
        table, family = _read(name, data)
        if table is None:
            continue
        splits, sizes = BOARDS[name]
        found = {}
        for seed in range(splits):
            for method, k, *figures in _split(part(sizes, 0), table, family, seed):
                found.setdefault((k, method), []).append(figures)
        for (k, method), of_splits in found.items():
            off, held = zip(*of_splits, strict=True)
            record = {"board": name, "splits": splits, "method": method, "k": k}
            record["rmse"] = 100 * np.mean(np.concatenate(off) ** 2) ** 0.5
            record["holds"] = None if held[0] is None else np.mean(np.concatenate(held))
            records.append(record)
    return {"records": records}


REAL = {"metabench_arc": 4, "nlu_commonsenseqa": 6, "nlu_rte": 6, "aid_optdigits": 1}
"""Matrices, and how many splits of each."""
ORDINARY, ORDINARY_SETS = (30, 60, 200), 50
SIZES = (20, 50)
FIGURES = ("coverage", "width", "closed_coverage", "closed_width")
HELD, CALIBRATED = 200, 800
"""Most systems held out in a group, and most calibrated."""
SIMULATED = {"one ability": 3, "two abilities": 3, "bent": 3, "few systems": 10}


def of_ordinary(case, seed):
    """Shares of new systems like the calibrated ones that are called beyond, and covered."""
    n = case["calibrated"]
    generator = np.random.default_rng([seed, n])
    values = board_of(generator, n + HELD, 200, mean=-0.5)[2].values
    names = np.array([f"q{j}" for j in range(200)])
    result = irtkit.fit(ResponseMatrix(values[:n], items=names), standard_errors=False)
    asked = generator.permutation(200)[:50]
    scores = irtkit.score(ResponseMatrix(values[n:, asked], items=names[asked]), result)
    held = covers(scores, values[n:].mean(axis=1))[0]
    return {"beyond": (scores["status"] == "beyond").mean(), "coverage": held.mean()}


def board(name, data, seed):
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
    values = answers(generator, expit(slope * (theta - difficulty))).astype(int)
    return pd.DataFrame(values, range(n), [f"q{j}" for j in range(n_items)])


def split(name, data, seed):
    """Figures of one split: group, size, and of every system coverage and width of both ways."""
    table = board(name, data, seed)
    order = np.random.default_rng(seed).permutation(len(table))
    score = table.mean(axis=1).to_numpy()[order]
    is_best = score >= np.quantile(score, 0.9)
    others, quarter = order[~is_best], len(order) // 4
    held_and_fitted = {
        "best": (order[is_best], others[len(others) // 4 :]),
        "any": (order[:quarter], order[quarter:]),
    }
    for group, (held, rows) in held_and_fitted.items():
        new, calibrated = table.iloc[held[:HELD]], table.iloc[rows[:CALIBRATED]]
        result = irtkit.fit(ResponseMatrix.from_frame(calibrated), standard_errors=False)
        truth = new.mean(axis=1).to_numpy()
        for k in SIZES:
            selection = irtkit.select_items(result, k, folds=5)
            asked = ResponseMatrix.from_frame(new.loc[:, new.columns.isin(selection.items)])
            closed = replace(items_for_scores(selection), best=None)
            scores = (irtkit.score(asked, items) for items in (selection, closed))
            yield group, k, np.vstack([covers(of, truth) for of in scores])


def beyond(data=SHARED):
    """Systems better than those calibrated, and ordinary ones."""
    there = [name for name in REAL if (data / f"{name}.csv.gz").exists()]
    records = []
    for name in part([*there, *SIMULATED], -1):
        splits = (REAL | SIMULATED)[name]
        found = {}
        for seed in range(splits):
            for group, k, figures in split(name, data, seed):
                found.setdefault((group, k), []).append(figures)
        for (group, k), of_splits in found.items():
            means = np.hstack(of_splits).mean(axis=1).tolist()
            about = {"board": name, "splits": splits, "group": group, "k": k}
            records.append(about | dict(zip(FIGURES, means, strict=True)))
    ordinary = [{"calibrated": n} for n in part(ORDINARY, 0)]
    return {
        "records": records,
        "ordinary": study(ordinary, of_ordinary, ORDINARY_SETS, count="sets"),
    }


if __name__ == "__main__":
    run(few_items, beyond)
