"""Health of a benchmark: which of its items still measure, and what to add.

An item is at the ceiling if nearly all systems are right, and at the floor if nearly none is. Other
items separate the best systems if P(right) is between 0.05 and 0.95 at their mean ability. None
does if the best systems have the same answers to all items, or to all items of a task.

Two items are near-duplicates if few systems answer them differently. Their number is at most a
tenth of all systems and at most a third of the expected number. It is also too small for chance:
if responses are independent at the fitted abilities, the probability of any such pair is at most
0.05. The binomial distribution with the mean probability bounds that probability (Hoeffding 1956).

Items to add are copies of the item with the median discrimination, moved to one difficulty. Those n
items then have n·I(θ) information, and error variances have the mean

    E = Σ w(θ) / (1/s² + I_all(θ) + n·I(θ))

over the abilities to be told apart, in a population with SD s. These are the population, or the
posteriors of the best systems. Of all difficulties that is advised which needs the fewest items.

Of several abilities each has a row and goals of its own, for items that measure nothing else. All
items, and those of a task, are judged along the composite of abilities that they measure together
(`irtkit.diagnostics.reliability.Along`).

A task measures another ability than the other items if their true scores correlate less than with
one ability. That correlation is the one of scores over the root of their split-half reliabilities
(Spearman 1904). Its error is a jackknife over systems of different families. The fitted curves say
what one ability gives, which is below 1 for tasks that are easy or hard.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.composites import composite_of_all
from irtkit.checks import check_whole, counted
from irtkit.data.families import agreeing_pairs, linked
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.diagnostics.reliability import Along
from irtkit.findings import LEGENDS, Finding, Remedy
from irtkit.fitting import result_for
from irtkit.irf import EXTREME
from irtkit.printed import Printed, Shown
from irtkit.suspects.flags import LIKELY, flagged

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array

_GRID = np.linspace(-5, 5, 101)  # In SDs of the population.
_NORMAL = np.exp(-0.5 * _GRID**2)


@dataclass(frozen=True)
class _Tuned:
    """What makes a finding of health (``benchmarks/false_findings.py``)."""

    nearly_all: float = 0.98  # Share right at the ceiling. It is 1 less that share at the floor.
    settled: float = 0.95  # P(right) of the best systems from which an item does not separate them.
    many: float = 0.1  # Share of items at an end from which on it is a finding.
    few: float = 0.1  # The same of items that separate the best, below it.
    different: float = 0.1  # Share of the systems that answer near-duplicates differently, at most.
    # The same, of the expected share. Misfit alone makes pairs of easy items agree.
    fewer: float = 1 / 3
    # Of near-duplicates, if items are independent, and of tasks beyond such a share.
    level: float = 0.05
    wanted: float = 0.9  # Reliability to reach by more items.


_TUNED = _Tuned()


@dataclass(frozen=True, eq=False)
class Health(Printed):
    """Health of a benchmark; made by :meth:`irtkit.FitResult.health`."""

    table: pd.DataFrame
    """First row "all", then a row per task where there are tasks, and one per ability where there
    are several, with the items that measure it most: n_items, ceiling, floor, separating (numbers
    of items), near_duplicates (items beyond the first of their group), reliability, best_score
    (share right of the best systems, where the model fills in missing answers) and headroom = 1 −
    best_score."""
    items: pd.DataFrame
    """Index "item": share_right, place ("ceiling", "floor" or ""), separates_best, group (the first
    of the items that it is a near-duplicate of, empty if of none), and drop: why it can be dropped
    ("ceiling", "floor", "repeats", "flat" or ""), empty if it is to be read. After a fit of ordered
    levels also idle_levels, the number of levels that are nowhere the likeliest."""
    near_duplicates: pd.DataFrame
    """Pairs of near-duplicate items: item, other, n_same, n_respondents. Fewest differences come
    first."""
    to_add: pd.DataFrame
    """Items to add, index "goal": n_items and their difficulty. The goals are "halve the errors of
    the best systems" and, if the reliability is lower, "reach a reliability of 0.9", of each of
    several abilities. A goal is left out if the items that there are reach it, once all are
    answered, or if it takes ten times as many."""
    differences: pd.Series[float]
    """Items like these that show a difference between two of the best systems with a probability
    of 80 % (5 % level), index "difference": 1, 2 and 5 points, and "the three best". NaN where the
    best systems have less headroom, and of the three best with missing cells."""
    findings: tuple[Finding, ...]  #: What limits the benchmark: first the warnings of the fit.
    answers: tuple[Finding, ...]
    """Whether the best systems are separated, what is to be read and what can be dropped, idle
    levels and marks at the ends of rubrics, whether one ability suffices or tasks measure different
    ones, and how many items show a difference between two systems."""
    n_best: int  #: Number of the best systems.

    @property
    def advice(self) -> list[str]:
        """What to add, in sentences."""
        return [
            f"To {goal}, add {counted(n, 'item')} of difficulty {difficulty:z.1f} "
            "and median discrimination."
            for goal, n, difficulty in self.to_add.itertuples()
        ]

    def __repr__(self) -> str:
        whole: Any = self.table.iloc[0]
        n = int(whole["separating"])
        n_items = int(whole["n_items"])
        return f"Health({n:,} of {n_items:,} items separate the best systems)"

    def shown(self) -> Shown:
        """Return how many items still measure, what to add, and items that repeat each other."""
        low = 1 - _TUNED.settled
        best = self.n_best
        legend = LEGENDS["health"].format(
            all=_TUNED.nearly_all, low=low, high=_TUNED.settled, best=best
        )
        names = {"n_same": "same", "n_respondents": "systems"}
        pairs = self.near_duplicates.set_index("item").rename(columns=names)
        heading = f"Near-duplicate items, {counted(len(pairs), 'pair')}"
        meaning = ["same: systems that answered both alike, of those that are no near-duplicates"]
        # with the other lines, about a screen of 24
        further = [Shown(heading, pairs.head(3), meaning)]
        findings = [f"Warning: {finding}." for finding in self.findings]
        findings += [f"{finding}." for finding in self.answers]
        return Shown("", self.table, legend.split("; "), [*findings, *self.advice], further)


def health(result: object, *, n_best: int = 10) -> Health:
    """Say how many items still measure, per task, and what to add. So does ``result.health()``.

    Parameters
    ----------
    result : FitResult, or responses
        What :func:`irtkit.fit` returned, with its responses. Responses are fitted first.
    n_best : int, default 10
        Number of the best systems, at most a quarter of the systems and at least 2.

    Returns
    -------
    Health
        ``table``, ``items``, ``near_duplicates``, ``to_add``, ``differences`` and ``findings``.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult or has no responses, or ``n_best`` is not 2 or more.

    Notes
    -----
    Reliability is 1 less the mean error variance of abilities over their variance. Errors of
    location and scale that all systems share do not enter. That of a task is what its items alone
    would reach.

    Numbers of items to add hold if the new items have the median discrimination and the advised
    difficulty, and are answered as the others are. Near-duplicates are searched among at most 200
    systems of different families, which count as independent.
    ``benchmarks/false_findings.py`` measures how often findings are true.

    References
    ----------
    Hoeffding (1956), *Ann. Math. Statist.* 27, 713–721: sums of unequal Bernoulli variables.
    Spearman (1904), *American Journal of Psychology* 15, 72–101: correlation of true scores.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(40), [-9.0] * 8 + [0.0] * 32)
    >>> responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=1)
    >>> found = irtkit.fit(responses).health()
    >>> int(found.table.loc["all", "ceiling"]), [one.code for one in found.findings]
    (8, ['items-at-ceiling'])
    """
    import pandas as pd

    result = result_for("health", result)
    check_whole("n_best", n_best, 2)
    best = result.best_first[: max(2, min(n_best, result.n_answering // 4))]
    pairs = _near_duplicates(result)
    items = _table_of_items(result, best, pairs)
    share, tried = result.patterns.shares(best)
    expected = result.expected(best, np.arange(len(items)))
    share_of_best = np.where(tried > 0, share, expected)
    # independent trials that the answers of a system to every item are worth, on average
    worth = result.answer_worth * result.n_answers / max(result.n_answering, 1)
    measured = cache(lambda weights: _Measured.of(result, np.array(weights), worth))

    def alike(which: Any) -> bool:
        """Whether the best systems have the same answers, so that nothing separates them."""
        return bool((share_of_best[:, which] == share_of_best[:1, which]).all())

    items["separates_best"] &= not alike(slice(None))

    def row(which: Places, weights: Array) -> dict[str, Any]:
        information = _information(result, weights, worth, which)
        error = measured(tuple(weights)).widening * float(_error(information, _NORMAL))
        part = items.iloc[which]
        grouped = part["group"][part["group"] != ""]
        shares = share_of_best[:, which]
        finite = shares[np.isfinite(shares)]
        score = float(finite.mean()) if len(finite) else math.nan
        return {
            "n_items": len(which),
            "ceiling": int((part["place"] == "ceiling").sum()),
            "floor": int((part["place"] == "floor").sum()),
            "separating": 0 if alike(which) else int(part["separates_best"].sum()),
            "near_duplicates": len(grouped) - grouped.nunique(),
            "reliability": max(0.0, 1 - error),
            "best_score": score,
            "headroom": 1 - score,
        }

    listed, _, _ = flagged(result, FALSE_DISCOVERY_RATE, EXTREME, None)
    p_wrong = listed["p_wrong_key"]
    is_likely = listed["called"] | (p_wrong >= LIKELY) | p_wrong.isna()
    likely = listed.index[listed["suspect"] & (listed["reasons"].map(len) > 0) & is_likely]
    items.loc[likely, "drop"] = ""
    rows = {}
    for name, which in sections_of(result).items():
        parameters = result.parameters.chosen(which)
        rows[name] = row(which, composite_of_all(parameters, result.ability_correlation))
    goals: dict[str, tuple[int, float]] = {}
    ability = np.abs(result.own_weights).argmax(axis=1)  # that each item measures most
    for k, name in enumerate(result.ability_names):
        which = np.flatnonzero(ability == k)
        weights = result.weights_of(name)
        suffix = f" in ability {name}" if result.n_abilities > 1 else ""
        goals |= _to_add(result, measured(tuple(weights)), worth, best, suffix)
        if suffix and name not in rows:
            rows[f"ability {name}"] = row(which, weights)
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("task")
    names = pd.Index(list(goals), dtype=object, name="goal")
    to_add = pd.DataFrame(list(goals.values()), names, ["n_items", "difficulty"])
    to_add = to_add.astype({"n_items": np.int64})
    of_fit = [finding for finding in result.findings if finding.severity == "warning"]
    differences = _differences(np.where(tried > 0, share, np.nan))
    answers = [] if result.parameters.steps is None else _of_rubrics(result, items)
    if len(likely):
        values = {"n": len(likely), "items": list(likely)}
        answers.insert(0, Finding("suspects-first", "note", values))
    few = any(finding.code in {"few-systems", "no-differences"} for finding in result.findings)
    dropped = items["drop"][items["drop"] != ""]
    if len(dropped) and not few:
        values = {**dropped.value_counts(), "n": len(dropped), "n_items": len(items)}
        values["items"] = list(dropped.index)
        answers.append(Finding("items-to-drop", "note", values))
    different = _different_tasks(result)
    answers += different
    if not (different or few or result.n_abilities > 1 or result.one_ability_doubted):
        answers.append(Finding("no-second-ability", "note"))
    if differences.iloc[0] > 0:
        kinds = ("one", "two", "five", "three")
        sizes = {kind: int(n) for kind, n in zip(kinds, differences, strict=True) if n < np.inf}
        answers.append(Finding("items-for-differences", "note", sizes))
    of_items = _findings(table, pairs)
    whole: Any = table.iloc[0]
    if few or (alike(slice(None)) and whole["headroom"] > 0):  # saturated or not, nobody knows
        of_items = [finding for finding in of_items if finding.code != "few-separating"]
    elif not any(finding.code == "few-separating" for finding in of_items):
        values = {
            "n": int(whole["separating"]),
            "n_items": len(items),
            "n_best": len(best),
            "score": whole["best_score"],
        }
        answers.insert(0, Finding("separating", "note", values))
    findings = (*of_fit, *of_items)
    return Health(table, items, pairs, to_add, differences, findings, tuple(answers), len(best))


def _table_of_items(result: FitResult, best: Places, pairs: pd.DataFrame) -> pd.DataFrame:
    """Items with what each of them measures, and why it can be dropped."""
    import pandas as pd

    labels = pd.Index(result.item_labels, name="item")
    along_own = result.own_items
    counts = result.counts
    with np.errstate(invalid="ignore"):
        share = counts.item_right / counts.item_responses
        p = result.parameters.probability(result.ability[best].mean(axis=0, keepdims=True))[0]
        low = along_own.guessing + (1 - _TUNED.settled) * (1 - along_own.guessing)
        separates = (p < _TUNED.settled) & (p > low) & (along_own.discrimination > 0)
    group = _groups(pairs, labels)
    at_ends = [share >= _TUNED.nearly_all, share <= 1 - _TUNED.nearly_all]
    place = np.select(at_ends, ["ceiling", "floor"], "")
    separates &= place == ""
    repeats = (group != "") & (group != labels.to_numpy())
    flat = np.array(result.status) == "flat"
    drop = np.select([place != "", repeats, flat], [place, "repeats", "flat"], "")
    columns = {"share_right": share, "place": place, "separates_best": separates}
    return pd.DataFrame({**columns, "group": group, "drop": drop}, labels)


def _differences(shares: Array) -> pd.Series[float]:
    """Items like these that show a difference between two of the best systems, by their answers.

    n = (z_.975 + z_.8)² s²/δ², with the variance s² of the differences of two systems over items.
    """
    import pandas as pd
    from scipy.special import ndtri

    scores = pd.DataFrame(shares.T)
    covariance = scores.cov(min_periods=2).to_numpy()
    variance = np.diag(covariance)
    of_pairs = variance[:, None] + variance - 2 * covariance
    needed = (ndtri(1 - _TUNED.level / 2) + ndtri(0.8)) ** 2  # with a power of 0.8
    pairs = of_pairs[np.triu_indices(len(shares), 1)]
    typical = needed * np.nanmean(pairs) if np.isfinite(pairs).any() else np.nan
    headroom = 1 - np.nanmean(scores)
    sizes = {
        f"{points} points": typical / (points / 100) ** 2 if points <= 100 * headroom else np.nan
        for points in (1, 2, 5)
    }
    next_best = np.arange(1, min(3, len(shares)))
    order = np.argsort(-scores.mean().to_numpy(), kind="stable")
    gaps = -np.diff(scores.mean().to_numpy()[order])[next_best - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = needed * of_pairs[order[next_best - 1], order[next_best]] / gaps**2
    # gaps of systems that answered other items are not those of their scores
    comparable = len(apart) == 2 and np.isfinite(scores.to_numpy()).all()
    sizes["the three best"] = apart.max() if comparable else np.nan
    return pd.Series(sizes, name="n_items").apply(np.ceil).rename_axis("difference")


@np.errstate(divide="ignore", invalid="ignore")  # of tasks that are all right, or not answered
def _different_tasks(result: FitResult) -> list[Finding]:
    """Tasks whose true scores correlate less with those of the others than one ability allows."""
    from scipy.special import stdtrit

    tasks = [task for task in list(sections_of(result).items())[1:] if len(task[1]) > 1]
    if result.n_abilities > 1 or len(tasks) < 2:
        return []
    halves = np.zeros((len(result.item_labels), len(tasks), 2))  # Of tasks: their items in turn.
    for task, (_, places) in enumerate(tasks):
        halves[places, task, np.arange(len(places)) % 2] = 1
    right, tried = result.patterns.dense(_distinct(result))
    scores = _beside_the_others(right, halves) / _beside_the_others(tried, halves)
    scores = scores[np.isfinite(scores).all(axis=(1, 2))]  # of systems that answered all tasks
    n = len(scores)
    if n < 3:
        return []
    scores -= scores.mean(axis=0)
    products = scores[..., None] * scores[..., None, :]
    whole = products.sum(axis=0)
    reached = _true_correlation(whole)
    without = _true_correlation(whole - n / (n - 1) * products)
    error = np.sqrt((n - 1) * ((without - reached) ** 2).mean(axis=0))
    theta = result.latent_mean + result.latent_sd * _GRID
    curves = _beside_the_others(np.nan_to_num(result.parameters.probability(theta)), halves)
    curves -= np.average(curves, axis=0, weights=_NORMAL)
    expected = _true_correlation(np.einsum("g,gka,gkb->kab", _NORMAL, curves, curves))
    differs = reached + stdtrit(n - 1, 1 - _TUNED.level / len(tasks)) * error < expected
    lowest_first = [task for task in np.argsort(reached) if differs[task]]
    if not lowest_first:
        return []
    names = [tasks[task][0] for task in lowest_first]
    lowest = lowest_first[0]
    values = {
        "n": len(names),
        "n_tasks": len(tasks),
        "tasks": names,
        "task": names[0],
        "lowest": float(reached[lowest]),
        "expected": float(expected[lowest]),
    }
    remedies = (Remedy({"abilities": "task"}, "task-abilities"),)
    return [Finding("different-abilities", "note", values, remedies)]


def _beside_the_others(cells: Array, halves: Array) -> Array:
    """Sums of cells over the halves of each task, and over those of the other tasks, (n, K, 4)."""
    sums = np.tensordot(cells, halves, axes=1)
    return np.concatenate([sums, sums.sum(axis=1, keepdims=True) - sums], axis=2)


def _true_correlation(products: Array) -> Array:
    """Correlation of true scores of a task and the others, by products of halves, (…, 4, 4)."""
    between = products[..., :2, 2:].mean(axis=(-2, -1))
    return np.asarray(between / np.sqrt(products[..., 0, 1] * products[..., 2, 3]))


def _distinct(result: FitResult) -> Places:
    """Systems of different families, evenly spread, as many as are compared."""
    who = result.near_duplicates.distinct
    return who[:: -(-len(who) // 200)]  # at most 200


def _of_rubrics(result: FitResult, items: pd.DataFrame) -> list[Finding]:
    """Add numbers of idle levels to the table of items, and say what limits ordered levels."""
    theta = result.latent_mean + result.latent_sd * _GRID
    p = np.nan_to_num(result.own_items.category_probability(theta), nan=-1.0)
    likeliest = p.argmax(axis=2)
    n_levels = (~np.isnan(result.parameters.steps)).sum(axis=1)
    n_likeliest = np.array([len(np.unique(levels)) for levels in likeliest.T])
    is_rubric = result.parameters.top > 1
    n_idle = np.where(result.parameters.known & is_rubric, n_levels - n_likeliest, 0)
    items["idle_levels"] = n_idle
    findings = []
    idle = items.index[n_idle > 0]
    if len(idle):
        values = {"n": len(idle), "n_items": len(items), "items": list(idle)}
        findings.append(Finding("idle-levels", "note", values))
    systems = np.flatnonzero(result.answering)
    right, tried = result.patterns.dense(systems, np.flatnonzero(is_rubric))
    answered = tried > 0
    low = answered & (right == 0)
    high = answered & (right == tried)
    values = {"low": low.sum() / answered.sum(), "high": high.sum() / answered.sum()}
    findings.append(Finding("marks-at-ends", "note", values))
    return findings


class _Measured(NamedTuple):
    """What items tell about one ability, or a composite of several."""

    weights: Array  # Of abilities in it, (K,).
    information: Array  # Of all items along the grid, in 1/variance of ability, (n_grid,).
    widening: float  # Of error variances: by errors of items, and scores that scatter.

    @classmethod
    def of(cls, result: FitResult, weights: Array, worth: Array) -> _Measured:
        """Take all items of a result."""
        information = _information(result, weights, worth, np.arange(len(worth)))
        covariance = result.ability_covariance[result.answering].mean(axis=0)
        error = 1 - np.atleast_1d(result.reliability)
        wider = weights * np.sqrt(error / np.diag(covariance))
        widening = float(wider @ covariance @ wider) / _error(information, _NORMAL)
        return cls(weights, information, widening)


def sections_of(result: FitResult) -> dict[str, Places]:
    """Items of the whole benchmark, "all", and of each of two or more tasks."""
    import pandas as pd

    n_items = len(result.item_labels)
    sections = {"all": np.arange(n_items)}
    table = None if result.responses is None else result.responses.item_table
    if table is None or "task" not in table:
        return sections
    tasks = pd.Series(np.arange(n_items)).groupby(table["task"].to_numpy()).apply(np.asarray)
    named = {str(task): places for task, places in tasks.items()}
    return sections if len(named) < 2 else {**sections, **named}


def _near_duplicates(result: FitResult) -> pd.DataFrame:
    """Pairs of items that agree more often than independent responses would."""
    import pandas as pd
    from scipy.special import bdtr

    counts = result.counts
    varied = result.parameters.known & ~(counts.all_right | counts.all_wrong)
    if result.patterns.scored is not None:  # scores that are near each other are not alike
        varied &= ~result.patterns.scored
    if result.parameters.steps is not None:  # levels of one half are not alike
        varied &= result.parameters.top == 1
    places = np.flatnonzero(varied & (counts.item_responses > 0))
    who = _distinct(result)
    level = _TUNED.level / max(len(places) * (len(places) - 1) / 2, 1)
    if level < 0.5 ** len(who):  # Not even items that all answer alike can reach it.
        places = places[:0]
    right, tried = result.patterns.dense(who, places, np.float32)
    answered = (tried > 0).T.astype(np.float32)
    p = result.parameters.chosen(places).narrow_probability(result.ability[who]).T
    signs = np.where(2 * right > tried, 1, -1).T * answered
    expected_signs = (2 * p - 1) * answered
    observed = None if answered.all() else answered
    first, second = agreeing_pairs(signs, expected_signs, observed, 1 - _TUNED.fewer)
    n, same, expected = (
        np.einsum("ij,ij->i", table[first], table[second], dtype=np.float64)
        for table in (answered, signs, expected_signs)
    )
    unlike = np.round((n - same) / 2)
    expected_unlike = np.maximum(n - expected, 0) / 2
    chance = bdtr(unlike, n.astype(np.int64), expected_unlike / n)
    few_unlike = (unlike <= _TUNED.different * n) & (unlike <= _TUNED.fewer * expected_unlike)
    kept = (chance <= level) & few_unlike
    labels = np.array(result.item_labels, dtype=object)[places]
    columns = {
        "item": labels[first],
        "other": labels[second],
        "n_same": (n - unlike).astype(np.int64),
        "n_respondents": n.astype(np.int64),
    }
    order = np.lexsort((-n, unlike))
    table: pd.DataFrame = pd.DataFrame(columns).iloc[order[kept[order]]].reset_index(drop=True)
    return table


def _groups(pairs: pd.DataFrame, labels: pd.Index) -> NDArray[np.object_]:
    """First item of the group of near-duplicates of every item, empty if it has none."""
    group = linked(tuple(labels), pairs)
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    names = labels.to_numpy(dtype=object)[first]
    return np.where(size[group] > 1, names[group], "")


def _information(result: FitResult, weights: Array, worth: Array, which: Places) -> Array:
    """Information of some items along the grid, in 1/variance of a composite, (n_grid,)."""
    theta = result.latent_mean + result.latent_sd * _GRID
    places = which[result.parameters.known[which]]
    items = Along.of(result, weights, places, worth)
    return result.latent_sd**2 * items.information(theta)


def _error(information: Array, weights: Array) -> Any:
    """Mean error variance over abilities (last axis), in the variance of ability."""
    return (1 / (1 + information)) @ weights / weights.sum()


def _to_add(
    result: FitResult, measured: _Measured, worth: Array, best: Places, suffix: str
) -> dict[str, tuple[int, float]]:
    """Numbers of items, and their difficulty, that reach the goals of an ability, by name."""
    # information of the item with the median discrimination, moved to each difficulty of the grid
    places = np.flatnonzero(result.parameters.known)
    steepness = np.abs(result.own_items.discrimination[places])
    order = np.argsort(steepness, kind="stable")
    item = result.own_items.chosen(places[order[[(len(places) - 1) // 2]]])
    distance = result.latent_sd * (_GRID - _GRID[:, None])
    new = item.information(distance.ravel() + np.nan_to_num(item.difficulty[0]))
    new = result.latent_sd**2 * np.median(worth[places]) * new.reshape(distance.shape)
    n_items = len(result.item_labels)
    weights = measured.weights
    ability = (result.abilities_along(weights)[best] - result.latent_mean) / result.latent_sd
    variance = np.einsum("i,nij,j->n", weights, result.ability_covariance[best], weights)
    sd = np.sqrt(variance) / result.latent_sd
    wide = np.maximum(sd, _GRID[1] - _GRID[0])
    of_best = (np.exp(-0.5 * ((_GRID[:, None] - ability) / wide) ** 2) / wide).sum(axis=1)
    half = 0.25 * float(np.mean(sd**2))  # half of the error is a quarter of its variance
    goals = {"halve the errors of the best systems": (of_best, half)}
    error = measured.widening * float(_error(measured.information, _NORMAL))
    if 1 - error < _TUNED.wanted:
        wanted_error = (1 - _TUNED.wanted) / measured.widening
        goals[f"reach a reliability of {_TUNED.wanted}"] = _NORMAL, wanted_error
    rows = {}
    for goal, (densities, wanted) in goals.items():
        most = 10 * n_items  # up to which a number is computed
        n, place = _fewest(measured.information, new, densities, wanted, most)
        if 0 < n <= most:
            difficulty = result.latent_mean + result.latent_sd * _GRID[place]
            rows[goal + suffix] = n, float(difficulty)
    return rows


def _fewest(
    information: Array, new: Array, weights: Array, wanted: float, most: int
) -> tuple[int, int]:
    """Fewest items that reach a mean error variance, and the place of their difficulty.

    The number is ``most`` + 1 if that many do not.
    """

    def errors(n: int) -> Array:
        return np.asarray(_error(information + n * new, weights))

    fewest = bisect_left(range(most + 1), -wanted, key=lambda n: -float(errors(n).min()))
    return fewest, int(errors(fewest).argmin())


def _findings(table: pd.DataFrame, pairs: pd.DataFrame) -> list[Finding]:
    """Findings of the whole benchmark, or of tasks whose share is significantly beyond a limit."""
    from scipy.special import bdtr, bdtrc

    findings = []
    for code, column, too_many in (
        ("items-at-ceiling", "ceiling", True),
        ("items-at-floor", "floor", True),
        ("few-separating", "separating", False),
    ):
        n = table[column].to_numpy()
        of = table["n_items"].to_numpy()
        there = n[0] >= _TUNED.many * of[0] if too_many else n[0] < _TUNED.few * of[0]
        chance = bdtrc(n - 1, of, _TUNED.many) if too_many else bdtr(n, of, _TUNED.few)
        tasks = [str(task) for task in table.index[1:][chance[1:] <= _TUNED.level]]
        if there or tasks:
            values = {"n": int(n[0]), "n_items": int(of[0]), "tasks": tasks}
            findings.append(Finding(code, "warning", values))
    if len(pairs):
        n_further = int(table["near_duplicates"].iloc[0])
        findings.append(Finding("near-duplicate-items", "warning", {"n": n_further}))
    return findings
