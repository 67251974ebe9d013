"""Whether what is said of systems holds: ranks, pairs told apart, P(better), power, gates, marks.

`systems`: simulated boards, power of the paired test, and gates. `rank_intervals`: draws of real
matrices and simulated boards, beside a bootstrap of items or clusters. `paired_tests`: pairs whose
answers to each item are exchanged at random, so that neither is better. `tasks`: scores by task and
the macro average. `marked_systems`: boards without a leak, and with a changed first system: "key":
it is right on all items, and 4 % of the items have a wrong key; "copied": it is of middling ability
and is right on a random half of the items; "guessed": it is able, and its answers to a random half
are coin flips.
"""

import warnings
from collections import namedtuple
from functools import partial

import numpy as np
import pandas as pd
from machine import SHARED, part
from scipy.special import expit
from simulated import answers, items_of, responses
from study import run, study

import irtkit
from irtkit.systems.leaderboard import _ERROR_RATE, improbable_right
from irtkit.systems.paired import mean_of, power_of, t_quantile

Board = namedtuple("Board", "systems items abilities answers")
BOARDS = (
    Board(20, 200, "equal", "complete"),
    *(Board(20, 200, "levels", how) for how in ("complete", "forms", "random half", "families")),
    *(Board(20, 200, "normal", how) for how in ("complete", "forms", "families")),
    Board(12, 60, "equal", "complete"),
    Board(12, 60, "normal", "forms"),
)
LEVELS = (-1.5, -0.5, 0.5, 1.5)
COPIED = 0.85


def draw(board, seed):
    """Abilities, which are equal in a family, and responses, missing ones NaN."""
    g, n = np.random.default_rng([seed, board.systems, board.items]), board.systems
    items = items_of(g, board.items)
    if board.abilities == "equal":
        theta = np.zeros(n)
    elif board.abilities == "levels":
        theta = np.repeat(LEVELS, n // len(LEVELS))
    elif board.answers == "families":
        theta = np.repeat(g.normal(size=n // 5), 5)
    else:
        theta = g.normal(size=n)
    values = answers(g, items.probability(theta)).astype(np.float64)
    if board.answers == "families":
        copied = g.random(values.shape) < COPIED
        values = np.where(copied, np.repeat(values[::5], 5, axis=0), values)
    elif board.answers == "random half":
        values[g.random(values.shape) < 0.5] = np.nan
    elif board.answers == "forms":
        half, quarter = board.items // 2, 3 * board.items // 4
        values[::2, half:quarter] = np.nan
        values[1::2, quarter:] = np.nan
    return theta, values


def true_ranks(true):
    """First and last rank of each system; equal systems share theirs."""
    first = 1 + (true[None] > true[:, None]).sum(axis=1)
    return first, len(true) - (true[None] < true[:, None]).sum(axis=1)


def one_board(board, seed):
    """What is said of one board, and whether it is so."""
    theta, values = draw(board, seed)
    result = irtkit.fit(irtkit.ResponseMatrix(values), progress=False)
    labels = list(result.respondent_labels)
    table = result.leaderboard(simultaneous=True).loc[labels]
    first, last = true_ranks(theta)
    ranks_hold = (table["rank_low"] <= first) & (table["rank_high"] >= last)
    pairs = irtkit.compare_systems(result)
    ability = dict(zip(labels, theta, strict=True))
    first_of_pair, second = (pairs[name].astype(str).map(ability) for name in ("system", "other"))
    better = np.sign(first_of_pair - second).to_numpy()
    p = pairs["p_better"].to_numpy()
    sure = (better != 0) & (p >= 0.93) & (p <= 0.97)
    return {
        "all ranks": ranks_hold.all(),
        "tied": not (pairs["different"].to_numpy() & (better != 1)).any(),
        "pairs": sure.sum(),
        "better": (better[sure] == 1).sum(),
        "p": p[sure].sum(),
    }


def measured(cases, n_boards):
    """Shares of boards, and of sure pairs."""
    for record in study(cases, one_board, n_boards, count="boards"):
        pairs = record.pop("pairs")
        shares = {name: record[name] / pairs if pairs else None for name in ("better", "p")}
        yield record | shares


def warned(board, seed):
    """Whether it is warned of a board of one ability that ability has systems the other way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        irtkit.fit(irtkit.ResponseMatrix(draw(board, 10**6 + seed)[1])).leaderboard()
    codes = {getattr(warning.message, "code", "") for warning in caught}
    return {"warned": "ability-reversed" in codes}


def power(n_items, abilities, n_draws):
    """How often a pair is told apart, and how often the formula says."""
    generator = np.random.default_rng(n_items)

    def differences(n):
        items = items_of(generator, n)
        old, new = (answers(generator, items.probability([theta])[0]) for theta in abilities)
        return old.astype(np.float64) - new

    many = differences(10**6)
    told = 0
    for _ in range(n_draws):
        mean = mean_of(differences(n_items))
        told += abs(mean.value) > t_quantile(mean.df, 0.95) * mean.se
    stated = power_of(n_items, many.mean(), many.std(), level=0.95, clusters_per_item=1)
    return {"items": n_items, "simulated": told / n_draws, "formula": float(stated)}


Gate = namedtuple("Gate", "items max_drop trials")
"""Gates whose true drop is the allowed one."""
DefaultGate = namedtuple("DefaultGate", "items differ drop trials", defaults=(1,))
"""Default gates on a model that gets 70 % right, and less by `drop` when new."""
GATES = (
    *(Gate(n, drop, 1) for drop in (0.0, 0.01) for n in (100, 500, 2000)),
    *(Gate(200, drop, 5) for drop in (0.0, 0.02)),
)


def runs(gate, g):
    """Two runs, the second with the drop: it loses a share of what was right."""
    if isinstance(gate, Gate):
        p = expit(-g.normal(-0.8, 2, gate.items))
        old, new = (g.binomial(gate.trials, p) for _ in range(2))
        return old, new - g.binomial(new, gate.max_drop / p.mean())
    p = np.arange(gate.items) < (0.7 * gate.items)
    if gate.differ:  # of a Beta distribution: 2 E[P(1 - P)] = differ
        size = gate.differ / (0.42 - gate.differ)
        p = g.beta(0.7 * size, 0.3 * size, gate.items)
    old, new = (g.random((2, gate.items)) < p).astype(np.int8)
    new[g.random(gate.items) < gate.drop / 0.7] = 0
    return old, new


def verdicts(gate, seeds, n_gates):
    """Shares of the verdicts."""
    generator, said = np.random.default_rng(seeds), []
    tried = np.full((1, gate.items), gate.trials)
    settings = {"max_drop": gate.max_drop} if isinstance(gate, Gate) else {}
    for _ in range(n_gates):
        both = [irtkit.ResponseMatrix.from_counts(r[None], tried) for r in runs(gate, generator)]
        said.append(irtkit.gate(*both, **settings).verdict)
    shares = {name: said.count(name) / n_gates for name in ("failed", "inconclusive", "passed")}
    return {**gate._asdict(), "gates": n_gates, **shares}


def systems(boards=1000):
    """Ranks, pairs, power and gates."""
    normal = [board for board in part(BOARDS, 9) if board.abilities == "normal"]
    differ = part((0.0, 0.05, 0.1, 0.2), 1)
    sizes = [(drop, n) for drop in (0.0, 0.05) for n in part((200, 500, 2000), 0)]
    defaults = [DefaultGate(n, share, drop) for drop, n in sizes for share in differ]
    on_boards = max(boards // 25, 1)
    of_power = part((100, 200, 400, 800, 1600), 0)
    return {
        "boards": measured(part(BOARDS), boards),
        "warned": study(normal, warned, on_boards, totals=("warned",), count="boards"),
        "power": (power(n, (0.25, 0.0), 10 * boards) for n in of_power),
        "gates": (verdicts(g, [g.items, g.trials], boards) for g in part(GATES, 0)),
        "by_default": (verdicts(g, [g.items, round(100 * g.differ)], boards) for g in defaults),
    }


RESAMPLES = 400
MATRICES = {  # Systems and items of a board.
    "metabench_arc": (40, 50),
    "aid_optdigits": (40, 300),
    "nlu_commonsenseqa": (90, 300),
    "aid_diabetes": (40, 300),
    "nlu_rte": (40, 70),
}
RANKED = {  # Systems, items and clusters of a board.
    "levels": (40, 200, None),
    "normal": (20, 200, None),
    "families": (40, 200, None),
    "twice": (40, 200, None),
    "10 clusters": (40, 200, 10),
    "20 clusters": (40, 300, 20),
}


def of_matrix(values, n, n_items, g):
    """Some systems and items of a matrix, and true scores on all of its items."""
    chosen = g.choice(len(values), min(n, len(values)), replace=False)
    items = g.choice(values.shape[1], n_items, replace=False)
    return values[np.ix_(chosen, items)], values[chosen].mean(axis=1)


def cluster_of(n_items, clusters):
    """The cluster of every item."""
    return np.arange(n_items) if clusters is None else np.arange(n_items) * clusters // n_items


def expected(kind, n, n_items, clusters, g):
    """Simulated responses, and true scores."""
    size = {"families": 5, "twice": 2}.get(kind, 1)
    theta = g.normal(size=n)
    if kind == "levels":
        theta = np.repeat([-1.0, -0.3, 0.3, 1.0], n // 4)
    if size > 1:
        theta = np.repeat(g.normal(size=n // size), size)
    beside = 0.0
    if clusters is not None:
        beside = g.normal(0, 0.5, (n, clusters))[:, cluster_of(n_items, clusters)]
    values = responses(g, theta[:, None] + beside, n_items)
    if size > 1:
        copied = g.random(values.shape) < (COPIED if kind == "families" else 1.0)
        values = np.where(copied, np.repeat(values[::size], size, axis=0), values)
    return values, np.round(theta, 9)  # all systems meet the same items, and spread alike


def bootstrap(values, number, g):
    """Percentile intervals of ranks, by items or clusters drawn anew."""
    sums = np.stack([np.bincount(number, row) for row in values], axis=1)
    weights = g.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
    scores = np.round(weights @ sums / (weights @ np.bincount(number))[:, None], 9)
    ranks = 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest")
    return low, high


def figures(values, true, clusters, g, *, shared):
    """Coverage and width of likely, simultaneous and bootstrap ranks."""
    number, matrix = cluster_of(values.shape[1], clusters), irtkit.ResponseMatrix(values)
    of_items = None if clusters is None else dict(zip(matrix.items, number, strict=True))
    result = irtkit.fit(matrix, standard_errors=False)
    first, last = true_ranks(true)
    intervals = {"bootstrap": bootstrap(values, number, g)}
    for name in ("likely", "simultaneous"):
        board = result.leaderboard(clusters=of_items, simultaneous=name == "simultaneous")
        intervals[name] = board.loc[[*matrix.respondents], ["rank_low", "rank_high"]].T.to_numpy()
    row = {}
    for name, (low, high) in intervals.items():
        inside = (low <= (last if shared else first)) & (first <= high)
        row |= {f"{name}_coverage": inside.mean(), f"{name}_width": (high - low + 1).mean()}
    return row


def complete_items(data, name):
    """The items of a real matrix that all systems answered."""
    frame = pd.read_csv(data / f"{name}.csv.gz", index_col=0)
    return frame.loc[:, frame.notna().all()].to_numpy(np.int8)


def rank_intervals(boards=100, data=SHARED):
    """Likely ranks beside the bootstrap's."""
    draws = {}
    for name, size in MATRICES.items() if data.is_dir() else ():
        draws[name] = partial(of_matrix, complete_items(data, name), *size)
    for name, setting in RANKED.items():
        draws[name] = partial(expected, name.split()[-1], *setting)

    def one_set(case, seed):
        name, g = case["board"], np.random.default_rng([seed, 11])
        values, true = draws[name](g)
        clusters = RANKED[name][2] if name in RANKED else None
        return figures(values, true, clusters, g, shared=name in RANKED)

    def with_ratio(record):
        return record | {"ratio": record["likely_width"] / record["bootstrap_width"]}

    cases = [{"board": name} for name in part(list(draws), -5)]
    return {"boards": map(with_ratio, study(cases, one_set, boards, count="boards"))}


PAIRED = {  # Systems and items of a board.
    "nlu_commonsenseqa": (90, 300),
    "metabench_arc": (40, 100),
    "aid_optdigits": (40, 300),
    "nlu_rte": (90, 139),
    "aid_diabetes": (100, 300),
}
SWAPPED, ALIKE = 8, 6  # Pairs of a board, of different systems.


def alike(values, n):
    """Pairs that agree most beyond what their accuracies explain, each system in one pair."""
    with np.errstate(invalid="ignore"):  # of a system that is right on every item
        together = np.nan_to_num(np.corrcoef(values), nan=-1.0)
    np.fill_diagonal(together, -1)
    pairs = []
    taken = set()
    for place in np.argsort(-together, axis=None):
        pair = [int(k) for k in np.unravel_index(place, together.shape)]
        free = taken.isdisjoint(pair)
        if len(pairs) < n and free and (values[pair[0]] != values[pair[1]]).sum() > 5:
            pairs.append(pair)
            taken.update(pair)
    return pairs


def share_small(values, pairs, g):
    """Share of p-values below 0.05, of pairs whose answers to each item are exchanged at random."""
    p = []
    for system, other in pairs:
        signs = np.where(g.random(values.shape[1]) < 0.5, -1, 1)
        p.append(mean_of(signs * (values[system].astype(float) - values[other])).p_value)
    return np.mean(np.array(p) < 0.05) if p else None


Paired = namedtuple("Paired", "board systems items")


def paired_tests(boards=150, data=SHARED):
    """Whether the paired t-test of two systems keeps its level on real matrices."""
    matrices = {name: complete_items(data, name) for name in part(PAIRED, "metabench_arc")}

    def one_set(case, seed):
        g = np.random.default_rng([seed, 13])
        values = of_matrix(matrices[case.board], case.systems, case.items, g)[0]
        swapped = g.permutation(len(values))[: 2 * SWAPPED].reshape(-1, 2)
        return {
            "swapped": share_small(values, swapped, g),
            "alike": share_small(values, alike(values, ALIKE), g),
        }

    cases = [Paired(name, *PAIRED[name]) for name in matrices]
    return {"boards": study(cases, one_set, boards, count="boards")}


N_SYSTEMS, N_LIKE_THESE = 20, 4000


Suite = namedtuple("Suite", "items correlation missing passage")
SUITES = (
    Suite((20, 60, 120), 0.6, 0.0, 1),
    Suite((10, 10, 10, 10, 10, 200), 0.6, 0.0, 1),
    Suite((40, 40, 80), 0.6, 0.0, 4),
    Suite((40, 60, 80), 1.0, 0.3, 1),
    Suite((40, 60, 80), 0.6, 0.3, 1),
)


def drawn_suite(suite, seed):
    """Responses with their tasks and passages, and the true score of each system on each task."""
    sizes, correlation, missing, passage = suite
    generator, n_tasks = np.random.default_rng(seed), len(sizes)
    covariance = correlation + (1 - correlation) * np.eye(n_tasks)
    theta = generator.multivariate_normal(np.zeros(n_tasks), covariance, N_SYSTEMS)
    task, centre = np.repeat(np.arange(n_tasks), sizes), np.linspace(-0.8, 0.8, n_tasks)
    group = np.arange(len(task)) // passage
    shared = generator.normal(0, 0.8, group.max() + 1)[group] if passage > 1 else 0.0
    difficulty = generator.normal(0, 0.6 if passage > 1 else 1.0, len(task)) + shared

    def answered(which, difficulty):
        slope = generator.lognormal(0, 0.3, len(which))
        return expit(slope * (theta[:, which] - centre[which] - difficulty))

    values = (generator.random((N_SYSTEMS, len(task))) < answered(task, difficulty)) * 1.0
    values[generator.random(values.shape) < missing] = np.nan
    like = np.repeat(np.arange(n_tasks), N_LIKE_THESE)
    true = answered(like, generator.normal(size=len(like))).reshape(N_SYSTEMS, n_tasks, -1)
    drawn = irtkit.ResponseMatrix(values)
    table = pd.DataFrame({"task": [f"t{k}" for k in task], "group": group}, [*drawn.items])
    return drawn.with_tables(table), true.mean(axis=2)


def held(table, name, truth):
    """Where an interval holds the truth."""
    return (table[f"{name}_low"] <= truth) & (truth <= table[f"{name}_high"])


def of_suite(suite, seed):
    """Shares of intervals of one board that hold the truth."""
    how = {"by": "task", "clusters": "group" if suite.passage > 1 else None}
    drawn, true = drawn_suite(suite, seed)
    result = irtkit.fit(drawn)
    board = result.leaderboard(**how).loc[[*drawn.respondents]]
    average = true.mean(axis=1)
    by_task = [held(board, f"score_t{k}", true[:, k]).mean() for k in range(len(suite.items))]
    pairs = []
    for k in range(0, 10, 2):
        pair = irtkit.compare_systems(result, *drawn.respondents[k : k + 2], **how)
        row = pair.loc["average"]
        pairs.append(row["low"] <= average[k] - average[k + 1] <= row["high"])
    return {
        "by task": np.array(by_task),
        "average": held(board, "average", average).mean(),
        "ranks": held(board, "rank", true_ranks(average)[0]).mean(),
        "pairs": np.mean(pairs),
    }


def tasks(boards=200):
    """Scores by task, averages and ranks by them."""

    def with_least(record):
        by_task = record.pop("by task")
        return record | {"tasks": np.mean(by_task), "least": min(by_task)}

    return {"studies": map(with_least, study(part(SUITES, 0), of_suite, boards, count="boards"))}


SHAPES = ((12, 100), (50, 20), (100, 100), (100, 300), (500, 100), (500, 300))
KINDS = ("clean", "key", "copied", "guessed")
Leaky = namedtuple("Leaky", "systems items kind")


def leaky(n, n_items, kind, seed):
    """Right and wrong answers of a board, the first row being the changed system."""
    generator = np.random.default_rng([seed, n, n_items])
    slope, theta = generator.lognormal(0, 0.4, n_items), np.sort(generator.normal(size=n))
    place = {"copied": n // 3, "guessed": 2 * n // 3}.get(kind, 0)
    theta[[0, place]] = theta[[place, 0]]
    p = expit(slope * (theta[:, None] - generator.normal(-0.5, 1, n_items)))
    values = answers(generator, p)
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


def marked(case, seed):
    """Whether the changed system is marked, and whether another one is."""
    values = leaky(*case, seed)
    result = irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)
    marks = improbable_right(result) < np.log(_ERROR_RATE / len(values))
    return {"first_marked": marks[0], "another_marked": marks[1:].any()}


def marked_systems(seeds=20):
    """Systems that are marked as misfit."""
    cases = [Leaky(n, n_items, kind) for n, n_items in part(SHAPES, 0, 1) for kind in KINDS]
    return {"records": study(cases, marked, seeds, count="boards")}


if __name__ == "__main__":
    run(systems, rank_intervals, paired_tests, tasks, marked_systems)
