"""Scores of systems by task, and the macro average, in which every task has the same weight.

The items of a task are a sample of similar items, and tasks are given. With T tasks the average is
the mean of the scores s_t, with the variance Σ v_t/T². Its degrees of freedom are (Σ v_t)²/Σ(v_t²/
df_t) (Welch 1947). Intervals have Wilson's form (1927) with Student's t and m = s(1 − s)/v in place
of the number of answers, and stay within 0 and 1. Missing answers are filled in as on the
leaderboard of all items (:mod:`irtkit.systems.standing`), with the weight of each item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import short
from irtkit.data.patterns import blocks
from irtkit.findings import Finding
from irtkit.responses.labels import by_label, is_missing_label
from irtkit.suspects.health import sections_of
from irtkit.systems.paired import Estimate, correction, mean_of, wilson_interval
from irtkit.systems.standing import Shares, Standing, all_answered, moves

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters

_NODES = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))  # Gauss–Hermite, with weights.
AVERAGE = "average"  # The macro average, a column and a row of tables.


class Tasks(NamedTuple):
    """Tasks of items."""

    names: tuple[str, ...]  # In the order of the items.
    of_item: NDArray[np.intp]  # Number of the task of each item.

    @classmethod
    def of(cls, result: FitResult, by: Any) -> Tasks:
        """Tasks by a column of the item table or by item. Every item needs one."""
        labels = result.item_labels
        given = by_label("by", by, labels, result.responses, "task", "item")
        for label, name in zip(labels, given, strict=True):
            if is_missing_label(name):
                raise ValueError(f"by lacks a task for item {short(label)}")
        names = tuple(dict.fromkeys(map(str, given)))
        if AVERAGE in names:
            raise ValueError(f"by has a task {AVERAGE!r}, the name of the macro average. Rename it")
        place = {name: k for k, name in enumerate(names)}
        return cls(names, np.array([place[str(name)] for name in given], dtype=np.intp))


def sizes_of_tasks(result: FitResult) -> list[int]:
    """Numbers of items of the tasks of the item table, empty if they cannot rank systems."""
    sections = sections_of(result)
    n_items, *sizes = map(len, sections.values())
    if sum(sizes) < n_items or AVERAGE in sections or any(map(is_missing_label, sections)):
        return []
    return sizes if took_every(result, Tasks.of(result, "task")).any() else []


def took_every(result: FitResult, tasks: Tasks) -> NDArray[np.bool_]:
    """Which real respondents have a response in every task that has any."""
    known = np.unique(tasks.of_item[result.parameters.known])
    taken = [result.patterns.response_scores((tasks.of_item == k) * 1.0) > 0 for k in known]
    return np.asarray(np.all([result.answering, *taken], axis=0))


def with_tasks(
    result: FitResult, table: Any, parts: Any, cluster: Clusters | None, tasks: Tasks, level: float
) -> tuple[pd.DataFrame, list[Standing], list[Finding]]:
    """A table with columns of all scores, and standings of systems by macro average.

    Systems without a response in some task are left out, which is a finding.
    """
    import pandas as pd

    every = took_every(result, tasks)
    kept = [places for part in parts if len(places := part.places[every[part.places]])]
    if not kept:
        raise ValueError("by needs systems with a response in every task, and there are none")
    some = [standing_by_task(result, table, places, cluster, tasks, level) for places in kept]
    rows = [pd.DataFrame(columns, table.index[part.places]) for part, columns in some]
    names = list(table.index[result.answering & ~every])
    about = {"n": len(names), "n_systems": result.n_answering, "systems": names}
    findings = [Finding("tasks-not-taken", "warning", about)] if names else []
    return table.join(pd.concat(rows)), [part for part, _ in some], findings


def standing_by_task(
    result: FitResult, table: Any, places: Any, cluster: Clusters | None, tasks: Tasks, level: float
) -> tuple[Standing, dict[str, Array]]:
    """Standing of some respondents by macro average, and columns of all scores in its order."""
    known = result.parameters.known
    chosen, items = result.patterns.chosen(places), result.parameters.chosen(known)
    if not known.all():
        chosen = chosen.with_columns(np.flatnonzero(known))
    names, task, sizes = np.unique(tasks.of_item[known], return_inverse=True, return_counts=True)
    n, n_items, n_tasks = len(places), len(task), len(names)
    group = np.arange(n_items) if cluster is None else cluster[known]
    df = np.array([len(np.unique(group[task == k])) - 1.0 for k in range(n_tasks)])
    weights = np.where(task == np.arange(n_tasks)[:, None], 1 / sizes[:, None], 0.0)
    weights = np.vstack([weights.mean(axis=0), weights])
    errors = np.nan_to_num(result.standard_errors[known][:, [0, 3]].T)  # none of what is held
    correlation, filled = result.settings.trial_correlation or 0.0, not all_answered(chosen)
    order, widened = np.argsort(group, kind="stable"), correction(df + 1)[task] ** 0.5
    scores, variance = np.empty((2, n_tasks + 1, n))
    steps, found = np.empty(n), np.empty((n, len(np.unique(group)) + 2 * n_items * filled))
    for some in blocks(n, 4 * n_items, 2**22):
        shares, rows = Shares.of(chosen.chosen(some)), table.iloc[places[some]]
        right, steps[some] = shares.right, shares.steps
        if filled:
            weight = shares.trials / (1 + np.maximum(shares.trials - 1, 0) * correlation)
            weight = weight * chosen.score_worth(correlation)
            theta, error = (rows[name].to_numpy(np.float64) for name in ("ability", "ability_se"))
            p = sum(w * items.probability(theta + z * error) for z, w in _NODES)
            right = np.where(shares.trials > 0, right, p)
        scores[:, some] = np.round(weights @ right.T, 12)
        apart = right - scores[1:, some].T[:, task]
        for k, share in enumerate(weights):
            which = order if filled else order[share[order] > 0]
            own, by_items = (share * widened)[which] * apart[:, which], []
            if filled:
                _, by_answers, by_intercept, by_slope = moves(items, shares, rows, weight, share)
                own += (by_answers * widened)[:, which]
                by_items = [by_intercept * errors[1], by_slope * errors[0]]
            starts = np.unique(group[which], return_index=True)[1]
            own = np.hstack([np.add.reduceat(own, starts, axis=1), *by_items])
            variance[k, some] = (own**2).sum(axis=1)
            if k == 0:
                found[some] = own
    least = (correction(df + 1) / sizes**2)[:, None] * steps**2  # of one other answer
    variance[0] += np.maximum(least - variance[1:], 0).sum(axis=0) / n_tasks**2
    variance[1:] = np.maximum(variance[1:], least)
    all_df = np.vstack([_welch(variance[1:], df), np.repeat(df[:, None], n, axis=1)])
    order, columns = np.argsort(-scores[0], kind="stable"), {}
    for k, name in enumerate([AVERAGE, *(f"score_{tasks.names[j]}" for j in names)]):
        low, high = share_interval(scores[k], variance[k], all_df[k], level)
        for end, values in (("", scores[k]), ("_low", low), ("_high", high)):
            columns[name + end] = values[order]
    places, of_pair = np.asarray(places)[order], float(least.min()) / n_tasks**2
    ordered = places, scores[0][order], found[order], all_df[0][order]
    return Standing(*ordered, of_pair, filled), columns


def _welch(variance: Array, df: Array) -> Array:
    """Degrees of freedom of a mean of parts, 0 if one part is without any."""
    if not df.all():
        return np.zeros(variance.shape[1])
    return np.asarray(variance.sum(axis=0) ** 2 / (variance**2 / df[:, None]).sum(axis=0))


def share_interval(score: Array, variance: Array, df: Array, level: float) -> tuple[Array, Array]:
    """Wilson's bounds of scores with estimated variances. A score of 0 or 1 counts df answers."""
    n = np.maximum(df, 1e-9)
    spread = score * (1 - score)
    np.divide(spread, variance, out=n, where=(spread > 0) & (variance > 0))
    return wilson_interval(score, n, level, df)


def compared_by_task(
    shares: Shares, cluster: Clusters | None, tasks: Tasks, level: float
) -> pd.DataFrame:
    """Paired differences of two systems in the average and in each task that both answered."""
    import pandas as pd

    both = (shares.trials > 0).all(axis=0)
    difference, step = np.subtract(*shares.right), float(shares.steps.min())
    found: dict[str, tuple[Estimate, int]] = {}
    for k, name in enumerate(tasks.names):
        which = np.flatnonzero(both & (tasks.of_item == k))
        if len(which):
            group = None if cluster is None else cluster[which]
            found[name] = mean_of(difference[which], group, step=step), len(which)
    if found:
        value, se, df = np.array([one for one, _ in found.values()]).T
        error = float(se @ se) ** 0.5 / len(found)
        mean = Estimate(float(value.mean()), error, float(_welch(se[:, None] ** 2, df)[0]))
        found = {AVERAGE: (mean, int(both.sum())), **found}
    rows = [
        (n, one.value, one.se, *np.clip(one.interval(level), -1, 1), one.p_value)
        for one, n in found.values()
    ]
    columns = ["n_items", "difference", "se", "low", "high", "p_value"]
    return pd.DataFrame(rows, pd.Index([*found], name="task", dtype=object), columns)
