"""Whether what is said of systems holds: ranks, pairs told apart, P(better), power, gates, marks.

`systems`: boards are simulated: items and answers drawn anew for each, a 2PL fitted, ranks and
pairs taken from `irtkit.leaderboard` and `irtkit.compare_systems`. Abilities are all equal, of four
levels with five equal systems each, or normal. Answers are complete; or of two forms with half of
the items in common; or each system answered a random half; or systems are of families of five that
repeat 85 % of their parent's answers. Shares of boards or systems: "all ranks": of boards whose
simultaneous rank intervals hold all true ranks (equal systems have all ranks that they share).
"tied": of boards where no pair is told apart that is equal, or is the other way round. "best": of
boards where a best system is tied with the first. "better": of pairs with P(better) from 0.93 to
0.97, that they are, and their mean P. "score": of pairs whose interval, score_low to score_high,
holds the difference of the true expected scores on the board's items. "warned": boards with normal
abilities of which a leaderboard warns that ability has systems the other way round. "power": share
of draws of so many items in which the paired test tells two systems apart, beside the formula of
`SystemComparison.power` at the true difference and spread. "gates": how often a gate fails where
the true drop is the allowed one. "by_default": how often the gate passes, fails and is inconclusive
by default, of a model as it was and of one that is worse; the model gets 70 % right, items have
P(right) of a Beta distribution, and two runs of the model as it was differ on the share of the
answers that is stated.

`rank_intervals`: whether likely ranks hold the true rank, and how wide they are beside the item
bootstrap's. A board is a draw of systems and items from a real matrix, with true ranks by all of
its items, or simulated, with true ranks by expected scores on items like these. "levels": four
levels of ability. "families": five systems repeat 85 % of the answers of a parent. "twice": half of
the systems are exact copies of the other half. "clusters": items of 10 or 20 passages, on which
systems differ by more than ability. Coverage is the share of systems whose interval holds the true
rank; of equal systems, one of the ranks that they share. Width is the mean number of ranks in the
interval. The bootstrap draws items, or clusters, 400 times, with percentiles of ranks.

`paired_tests`: the share of pairs with p < 0.05 on draws of real matrices. "swapped": two systems
whose answers to each item are exchanged at random, so that neither is better. "alike": the pairs of
a board that answer most alike, swapped too.

`tasks`: whether intervals of scores by task and of the macro average hold the true scores. Systems
have an ability for each task, with the given correlation. Difficulties have an SD of 1 about means
from −0.8 (first task) to 0.8 (last). The true score of a task is the mean over 4,000 items like
these, and true ranks are by the mean over tasks. In passages of four items, difficulties share a
part with an SD of 0.8, and are clusters. A pair is two systems chosen beforehand.

`marked_systems`: how often the leaderboard marks a system as "misfit". "clean" boards have no leak;
on the others the first system is changed: "key": it is right on all items, and 4 % of the items
have a wrong key; "copied": it is of middling ability and is right on all of a random half of the
items; "guessed": it is able, and its answers to a random half are coin flips. Measured are the
share of boards on which that system is marked, and on which another one is.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from machine import SHARED, part
from study import means, run

import irtkit
from irtkit.systems.leaderboard import _ERROR_RATE, improbable_right
from irtkit.systems.paired import mean_of, power_of, t_quantile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from study import Record, Tables

    Array = NDArray[np.float64]

BOARDS = (
    (20, 200, "equal", "complete"),
    (20, 200, "levels", "complete"),
    (20, 200, "levels", "forms"),
    (20, 200, "levels", "random half"),
    (20, 200, "levels", "families"),
    (20, 200, "normal", "complete"),
    (20, 200, "normal", "forms"),
    (20, 200, "normal", "families"),
    (12, 60, "equal", "complete"),
    (12, 60, "normal", "forms"),
)
LEVELS = (-1.5, -0.5, 0.5, 1.5)
COPIED = 0.85
GATES = (  # Items, allowed drop, trials.
    *((100, 0.0, 1), (500, 0.0, 1), (2000, 0.0, 1)),
    *((100, 0.01, 1), (500, 0.01, 1), (2000, 0.01, 1), (200, 0.0, 5), (200, 0.02, 5)),
)


def abilities_of(kind: str, n: int, answers: str, generator: np.random.Generator) -> Array:
    """Abilities of n systems; those of a family are equal."""
    if kind == "equal":
        return np.zeros(n)
    if kind == "levels":
        return np.repeat(LEVELS, n // len(LEVELS))
    if answers == "families":
        return np.repeat(generator.normal(size=n // 5), 5)
    return generator.normal(size=n)


def draw(n: int, n_items: int, kind: str, answers: str, seed: int) -> tuple[Array, Array, Array]:
    """Abilities, probabilities and responses, missing ones NaN."""
    generator = np.random.default_rng([seed, n, n_items])
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    theta = abilities_of(kind, n, answers, generator)
    p = irtkit.ItemParameters.from_difficulty(slope, difficulty).probability(theta)
    values = (generator.random(p.shape) < p).astype(np.float64)
    if answers == "families":
        copied = generator.random(p.shape) < COPIED
        values = np.where(copied, np.repeat(values[::5], 5, axis=0), values)
    elif answers == "random half":
        values[generator.random(p.shape) < 0.5] = np.nan
    elif answers == "forms":
        half, quarter = n_items // 2, 3 * n_items // 4
        values[::2, half:quarter] = np.nan
        values[1::2, quarter:] = np.nan
    return theta, p, values


def one_board(n: int, n_items: int, kind: str, answers: str, seed: int) -> dict[str, Any]:
    """What is said of one board, and whether it is so."""
    theta, p, values = draw(n, n_items, kind, answers, seed)
    result = irtkit.fit(irtkit.ResponseMatrix(values), progress=False)
    board, pairs = result.leaderboard(simultaneous=True), irtkit.compare_systems(result)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    true = theta[[place[label] for label in board.index]]
    first = 1 + (true[None] > true[:, None]).sum(axis=1)
    last = n - (true[None] < true[:, None]).sum(axis=1)
    low, high = board["rank_low"], board["rank_high"]
    held = (low <= first) & (high >= last)
    one, other = (pairs[name].map(place).to_numpy(dtype=int) for name in ("system", "other"))
    better = np.sign(theta[one] - theta[other])
    told, surest = pairs["different"].to_numpy(), pairs["p_better"].to_numpy()
    score = p.mean(axis=1)
    true_difference = score[one] - score[other]
    inside = (pairs["score_low"] <= true_difference) & (pairs["score_high"] >= true_difference)
    differ = better != 0
    sure = differ & (surest >= 0.93) & (surest <= 0.97)
    return {
        "all ranks": float(held.all()),
        "tied": float(not (told & (better != 1)).any()),
        "best": float(low.to_numpy()[true == true.max()].min() == 1),
        "pairs": int(sure.sum()),
        "better": float((better[sure] == 1).sum()),
        "p": float(surest[sure].sum()),
        "score": float(inside.mean()),
    }


def measured(n: int, n_items: int, kind: str, answers: str, n_boards: int) -> dict[str, Any]:
    """Means over boards."""
    found = [one_board(n, n_items, kind, answers, seed) for seed in range(n_boards)]
    pairs = sum(one["pairs"] for one in found)
    record: dict[str, Any] = {
        "boards": n_boards,
        "systems": n,
        "items": n_items,
        "abilities": kind,
        "answers": answers,
        "pairs": pairs,
    }
    for name in ("all ranks", "tied", "best", "score"):
        record[name] = float(np.mean([one[name] for one in found]))
    for name in ("better", "p"):
        record[name] = sum(one[name] for one in found) / pairs if pairs else None
    return record


def warned(n: int, n_items: int, kind: str, answers: str, n_boards: int) -> dict[str, Any]:
    """Boards of one ability of which it is warned that ability has systems the other way round."""
    told = 0
    for seed in range(n_boards):
        values = draw(n, n_items, kind, answers, 10**6 + seed)[2]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            irtkit.fit(irtkit.ResponseMatrix(values), progress=False).leaderboard()
        told += any("the other way round" in str(one.message) for one in caught)
    figures = {"systems": n, "items": n_items, "abilities": kind, "answers": answers}
    return figures | {"boards": n_boards, "warned": told}


def power(n_items: int, abilities: tuple[float, float], n_draws: int) -> dict[str, Any]:
    """How often a pair is told apart, and how often the formula says."""
    generator = np.random.default_rng(n_items)

    def differences(size: tuple[int, ...]) -> Array:
        slope, difficulty = generator.lognormal(0, 0.3, size), generator.normal(size=size)
        right = [
            generator.random(size) < 1 / (1 + np.exp(slope * (difficulty - theta)))
            for theta in abilities
        ]
        return np.subtract(*(some.astype(np.float64) for some in right))

    many = differences((10**6,))
    difference, spread = float(many.mean()), float(many.std())
    told = 0
    for _ in range(n_draws):
        found = mean_of(differences((n_items,)))
        told += abs(found.value) > t_quantile(found.df, 0.95) * found.se
    said = power_of(n_items, difference, spread, level=0.95, clusters_per_item=1)
    return {
        "items": n_items,
        "difference": difference,
        "simulated": told / n_draws,
        "formula": float(said),
    }


def false_alarms(n_items: int, max_drop: float, trials: int, n_gates: int) -> dict[str, Any]:
    """How often a gate fails, and how often it is inconclusive, at a drop of what is allowed."""
    generator, verdicts = np.random.default_rng([n_items, trials]), []
    for _ in range(n_gates):
        p = 1 / (1 + np.exp(generator.normal(-0.8, 2, n_items)))
        both = [generator.binomial(trials, np.clip(q, 0, 1)) for q in (p, p)]
        lost = generator.binomial(both[1], max_drop / p.mean())  # of what was right
        runs = [
            irtkit.ResponseMatrix.from_counts(right[None], np.full((1, n_items), trials))
            for right in (both[0], both[1] - lost)
        ]
        verdicts.append(irtkit.gate(*runs, max_drop=max_drop).verdict)
    return {
        "items": n_items,
        "trials": trials,
        "max_drop": max_drop,
        "gates": n_gates,
        **{name: verdicts.count(name) / n_gates for name in ("failed", "inconclusive", "passed")},
    }


def default_gate(n_items: int, differ: float, drop: float, n_gates: int) -> dict[str, Any]:
    """Verdicts of the default gate on a model that gets 70 % right, and ``drop`` less when new."""
    generator, verdicts = np.random.default_rng([n_items, round(100 * differ)]), []
    size = differ / (0.42 - differ)  # of a Beta distribution: 2 E[P(1 - P)] = differ
    for _ in range(n_gates):
        p = (
            generator.beta(0.7 * size, 0.3 * size, n_items)
            if differ
            else np.arange(n_items) < (0.7 * n_items)
        )
        old, new = (generator.random((2, n_items)) < p).astype(np.int8)
        new[generator.random(n_items) < drop / 0.7] = 0  # of what was right, so many
        runs = [irtkit.ResponseMatrix(run[None]) for run in (old, new)]
        verdicts.append(irtkit.gate(*runs).verdict)
    return {
        "items": n_items,
        "differ": differ,
        "drop": drop,
        "gates": n_gates,
        **{name: verdicts.count(name) / n_gates for name in ("failed", "inconclusive", "passed")},
    }


def systems(boards: int = 1000) -> Tables:
    """Ranks, pairs, power and gates."""
    normal = [board for board in part(BOARDS, 9) if board[2] == "normal"]
    defaults = [
        (n, differ, drop)
        for drop in (0.0, 0.05)
        for n in part((200, 500, 2000), 0)
        for differ in part((0.0, 0.05, 0.1, 0.2), 1)
    ]
    sizes = part((100, 200, 400, 800, 1600), 0)
    return {
        "boards": (measured(*board, boards) for board in part(BOARDS)),
        "warned": (warned(*board, max(boards // 25, 1)) for board in normal),
        "power": (power(n, (0.25, 0.0), 10 * boards) for n in sizes),
        "gates": (false_alarms(*gate, boards) for gate in part(GATES, 0)),
        "by_default": (default_gate(*case, boards) for case in defaults),
    }


RESAMPLES = 400
MATRICES = {  # Systems, items and clusters of a board.
    "metabench_arc": (40, 50),
    "aid_optdigits": (40, 300),
    "nlu_commonsenseqa": (90, 300),
    "aid_diabetes": (40, 300),
    "nlu_rte": (40, 70),
}

RANKED = {
    "levels": (40, 200, None),
    "normal": (20, 200, None),
    "families": (40, 200, None),
    "twice": (40, 200, None),
    "10 clusters": (40, 200, 10),
    "20 clusters": (40, 300, 20),
}


def of_matrix(values: Any, n: int, n_items: int, g: np.random.Generator) -> tuple[Any, Any]:
    """Some systems and items of a matrix, and true scores on all of its items."""
    some = g.choice(len(values), min(n, len(values)), replace=False)
    items = g.choice(values.shape[1], n_items, replace=False)
    return values[np.ix_(some, items)], values[some].mean(axis=1)


def expected(kind: str, n: int, n_items: int, clusters: int | None, g: Any) -> tuple[Any, Any]:
    """Simulated responses, and true scores."""
    theta = g.normal(size=n)
    if kind == "levels":
        theta = np.repeat([-1.0, -0.3, 0.3, 1.0], n // 4)
    if kind in {"families", "twice"}:
        size = 5 if kind == "families" else 2
        theta = np.repeat(g.normal(size=n // size), size)
    number = np.arange(n_items) if clusters is None else np.arange(n_items) * clusters // n_items
    own = np.zeros((n, n_items)) if clusters is None else g.normal(0, 0.5, (n, clusters))[:, number]
    slope, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    p = 1 / (1 + np.exp(-slope * (theta[:, None] + own - difficulty)))
    values = (g.random(p.shape) < p).astype(np.int8)
    if kind in {"families", "twice"}:
        copied = g.random(p.shape) < (0.85 if kind == "families" else 1.0)
        values = np.where(copied, np.repeat(values[::size], size, axis=0), values)
    return values, np.round(theta, 9)  # all systems meet the same items, and spread alike


def bootstrap(values: Any, number: Any, g: np.random.Generator) -> tuple[Any, Any]:
    """Percentile intervals of ranks, by items or clusters drawn anew."""
    sums = np.stack([np.bincount(number, row) for row in values], axis=1)
    weights = g.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
    scores = np.round(weights @ sums / (weights @ np.bincount(number))[:, None], 9)
    ranks = 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest")
    return low, high


def figures(values: Any, true: Any, clusters: int | None, g: Any, *, shared: bool) -> Record:
    """Coverage, width and coverage of the top tenth: likely, simultaneous and bootstrap ranks."""
    n_items = values.shape[1]
    number = np.arange(n_items) if clusters is None else np.arange(n_items) * clusters // n_items
    matrix = irtkit.ResponseMatrix(values)
    named = None if clusters is None else dict(zip(matrix.items, number, strict=True))
    result = irtkit.fit(matrix, standard_errors=False)
    boards = {
        name: result.leaderboard(clusters=named, simultaneous=name == "simultaneous").loc[
            list(matrix.respondents)
        ]
        for name in ("likely", "simultaneous")
    }
    rank = last = 1 + (true[None] > true[:, None]).sum(axis=1)
    if shared:
        last = len(true) - (true[None] < true[:, None]).sum(axis=1)
    top = rank <= max(len(rank) // 10, 1)
    intervals = {
        **{name: (board["rank_low"], board["rank_high"]) for name, board in boards.items()},
        "bootstrap": bootstrap(values, number, g),
    }
    row = {}
    for name, (low, high) in intervals.items():
        held = np.asarray((low <= last) & (rank <= high))
        row[f"{name}_coverage"] = float(held.mean())
        row[f"{name}_width"] = float((high - low + 1).mean())
        row[f"{name}_top"] = float(held[top].mean())
    return row


def complete_items(data: Path, name: str) -> Any:
    """The items of a real matrix that all systems answered."""
    frame = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
    return frame.loc[:, frame.notna().all()].to_numpy(np.int8)


def rank_intervals(boards: int = 100, data: Path = SHARED) -> Tables:
    """Likely ranks beside the bootstrap's."""
    kinds: list[tuple[str, Any, int | None]] = [
        (name, partial(of_matrix, complete_items(data, name), *shape), None)
        for name, shape in (MATRICES.items() if data.is_dir() else ())
    ]
    for kind, setting in RANKED.items():
        kinds.append((kind, partial(expected, kind.split()[-1], *setting), setting[2]))

    def record(name: str, work: Any, clusters: int | None) -> Record:
        rows = []
        for seed in range(boards):
            g = np.random.default_rng([seed, 11])
            values, true = work(g)
            rows.append(figures(values, true, clusters, g, shared=name in RANKED))
        mean = means(rows)
        ratio = mean["likely_width"] / mean["bootstrap_width"]
        return {"board": name, "boards": boards, **mean, "ratio": ratio}

    return {"boards": (record(*kind) for kind in part(kinds, -5))}


PAIRED = {  # Systems and items of a board.
    "nlu_commonsenseqa": (90, 300),
    "metabench_arc": (40, 100),
    "aid_optdigits": (40, 300),
    "nlu_rte": (90, 139),
    "aid_diabetes": (100, 300),
}
SWAPPED, ALIKE = 8, 6  # Pairs of a board, of different systems.


def alike(values: Any, n: int) -> list[Any]:
    """Pairs that agree most beyond what their accuracies explain, each system in one pair."""
    with np.errstate(invalid="ignore"):  # of a system that is right on every item
        together = np.nan_to_num(np.corrcoef(values), nan=-1.0)
    np.fill_diagonal(together, -1)
    found: list[Any] = []
    for place in np.argsort(-together, axis=None):
        pair = np.unravel_index(place, together.shape)
        free = not set(map(int, pair)) & {int(k) for one in found for k in one}
        if len(found) < n and free and (values[pair[0]] != values[pair[1]]).sum() > 5:
            found.append(pair)
    return found


def p_values(values: Any, pairs: list[Any], g: np.random.Generator) -> list[float]:
    """Of pairs whose answers to each item are exchanged at random."""
    p = []
    for one, other in pairs:
        signs = np.where(g.random(values.shape[1]) < 0.5, -1, 1)
        p.append(mean_of(signs * (values[one].astype(float) - values[other])).p_value)
    return p


def paired_tests(boards: int = 150, data: Path = SHARED) -> Tables:
    """Whether the paired t-test of two systems keeps its level on real matrices."""

    def record(name: str, n: int, n_items: int) -> Record:
        whole = complete_items(data, name)
        swapped: list[float] = []
        near: list[float] = []
        for seed in range(boards):
            g = np.random.default_rng([seed, 13])
            rows = g.choice(len(whole), min(n, len(whole)), replace=False)
            values = whole[rows][:, g.choice(whole.shape[1], n_items, replace=False)]
            pairs = g.permutation(len(values))[: 2 * SWAPPED].reshape(-1, 2)
            swapped += p_values(values, list(pairs), g)
            near += p_values(values, alike(values, ALIKE), g)
        return {
            "board": name,
            "systems": n,
            "items": n_items,
            "boards": boards,
            "swapped_pairs": len(swapped),
            "swapped": float(np.mean(np.array(swapped) < 0.05)),
            "alike_pairs": len(near),
            "alike": float(np.mean(np.array(near) < 0.05)),
        }

    matrices = part(PAIRED, "metabench_arc")
    return {"boards": (record(name, *shape) for name, shape in matrices.items())}


N_SYSTEMS, N_LIKE_THESE = 20, 4000

SUITES = (  # Items of tasks, correlation, share of missing cells, items of a passage.
    ((20, 60, 120), 0.6, 0.0, 1),
    ((10, 10, 10, 10, 10, 200), 0.6, 0.0, 1),
    ((40, 40, 80), 0.6, 0.0, 4),
    ((40, 60, 80), 1.0, 0.3, 1),
    ((40, 60, 80), 0.6, 0.3, 1),
)


def suite(
    sizes: tuple[int, ...], correlation: float, missing: float, passage: int, seed: int
) -> tuple[irtkit.ResponseMatrix, Any]:
    """Responses with their tasks and passages, and the true score of each system on each task."""
    generator, n_tasks = np.random.default_rng(seed), len(sizes)
    covariance = correlation + (1 - correlation) * np.eye(n_tasks)
    theta = generator.multivariate_normal(np.zeros(n_tasks), covariance, N_SYSTEMS)
    task, centre = np.repeat(np.arange(n_tasks), sizes), np.linspace(-0.8, 0.8, n_tasks)
    group = np.arange(len(task)) // passage
    shared = generator.normal(0, 0.8, group.max() + 1)[group] if passage > 1 else 0.0
    difficulty = generator.normal(0, 0.6 if passage > 1 else 1.0, len(task)) + shared

    def answered(which: Any, difficulty: Any) -> Any:
        slope = generator.lognormal(0, 0.3, len(which))
        return 1 / (1 + np.exp(-slope * (theta[:, which] - centre[which] - difficulty)))

    values = (generator.random((N_SYSTEMS, len(task))) < answered(task, difficulty)) * 1.0
    values[generator.random(values.shape) < missing] = np.nan
    like = np.repeat(np.arange(n_tasks), N_LIKE_THESE)
    true = answered(like, generator.normal(size=len(like))).reshape(N_SYSTEMS, n_tasks, -1)
    responses = irtkit.ResponseMatrix(values)
    about = pd.DataFrame({"task": [f"t{k}" for k in task], "group": group}, [*responses.items])
    return responses.with_tables(about), true.mean(axis=2)


def held(table: Any, name: str, truth: Any) -> Any:
    """Where an interval holds the truth."""
    return (table[f"{name}_low"] <= truth) & (truth <= table[f"{name}_high"])


def of_suite(setting: Any, boards: int) -> dict[str, Any]:
    """Coverage over some boards."""
    sizes, correlation, missing, passage = setting
    how: Any = {"by": "task", "clusters": "group" if passage > 1 else None}
    found: dict[str, list[Any]] = {name: [] for name in ("tasks", "average", "ranks", "pairs")}
    for seed in range(boards):
        responses, true = suite(sizes, correlation, missing, passage, seed)
        result = irtkit.fit(responses)
        board = result.leaderboard(**how).loc[[*responses.respondents]]
        average = true.mean(axis=1)
        names = [f"score_t{k}" for k in range(len(sizes))]
        found["tasks"].append([held(board, one, true[:, k]) for k, one in enumerate(names)])
        found["average"].append(held(board, "average", average))
        found["ranks"].append(held(board, "rank", 1 + (average > average[:, None]).sum(axis=1)))
        for k in range(0, 10, 2):
            pair = irtkit.compare_systems(result, *responses.respondents[k : k + 2], **how)
            row = pair.loc["average"]
            found["pairs"].append(row["low"] <= average[k] - average[k + 1] <= row["high"])
    coverage = {name: float(np.mean(values)) for name, values in found.items()}
    settings = {"correlation": correlation, "missing": missing, "passage": passage}
    least = float(np.mean(found["tasks"], axis=(0, 2)).min())
    return {"items": list(sizes), **settings, "boards": boards, "least": least, **coverage}


def tasks(boards: int = 200) -> Tables:
    """Scores by task, averages and ranks by them."""
    return {"studies": (of_suite(setting, boards) for setting in part(SUITES, 0))}


SHAPES = ((12, 100), (50, 20), (100, 100), (100, 300), (500, 100), (500, 300))
KINDS = ("clean", "key", "copied", "guessed")
REAL = (
    *("metabench_arc", "nlu_rte", "nlu_commonsenseqa", "aid_optdigits", "aid_diabetes"),
    *("sat12", "timss07_g8_rus_binary", "irt4ml_statlog_heart"),
)


def leaky(n: int, n_items: int, kind: str, seed: int) -> Any:
    """Right and wrong answers of a board, the first row being the changed system."""
    generator = np.random.default_rng([seed, n, n_items])
    slope, theta = generator.lognormal(0, 0.4, n_items), np.sort(generator.normal(size=n))
    place = {"copied": n // 3, "guessed": 2 * n // 3}.get(kind, 0)
    theta[[0, place]] = theta[[place, 0]]
    logits = slope * (theta[:, None] - generator.normal(-0.5, 1, n_items))
    values = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    half = generator.choice(n_items, n_items // 2, replace=False)
    if kind == "key":
        wrong = half[: max(2, n_items // 25)]
        values[:, wrong] = 1 - values[:, wrong]
        values[0] = 1
    elif kind == "copied":
        values[0, half] = 1
    elif kind == "guessed":
        values[0, half] = generator.integers(0, 2, len(half))
    return values


def marked(values: Any) -> Any:
    """Whether each system is marked."""
    result = irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)
    return improbable_right(result) < np.log(_ERROR_RATE / len(values))


def marked_systems(seeds: int = 20, data: Path = SHARED) -> Tables:
    """Systems that are marked as misfit."""

    def simulated(n: int, n_items: int, kind: str) -> Record:
        marks = [marked(leaky(n, n_items, kind, seed)) for seed in range(seeds)]
        return {
            "systems": n,
            "items": n_items,
            "kind": kind,
            "boards": len(marks),
            "first_marked": float(np.mean([mark[0] for mark in marks])),
            "another_marked": float(np.mean([mark[1:].any() for mark in marks])),
        }

    def real(name: str) -> Record:
        table = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
        values = table.fillna(-1).to_numpy(dtype=int)
        return {"board": name, "systems": len(values), "marked": int(marked(values).sum())}

    there = [name for name in part(REAL, 5) if (data / f"{name}.csv.gz").exists()]
    cases = [(*shape, kind) for shape in part(SHAPES, 0, 1) for kind in KINDS]
    return {"records": [*(simulated(*case) for case in cases), *map(real, there)]}


if __name__ == "__main__":
    run(systems, rank_intervals, paired_tests, tasks, marked_systems)
