"""Scores of systems by task, and the macro average, in which every task has the same weight.

The items of a task are a sample of similar items, and tasks are given. With T tasks the average is
the mean of the scores s_t, with the variance Σ v_t/T². Its degrees of freedom are (Σ v_t)²/Σ(v_t²/
df_t) (Welch 1947). Intervals have Wilson's form (1927) with Student's t and m = s(1 − s)/v in place
of the number of answers, and stay within 0 and 1. Missing answers are filled in as on the
leaderboard of all items (:mod:`irtkit.systems.scores`), with the weight of each item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import short
from irtkit.findings import Finding
from irtkit.irf import NORMAL_POINTS
from irtkit.responses.labels import by_label, is_missing_label
from irtkit.suspects.health import sections_of
from irtkit.systems.paired import Estimate, correction, mean_of, wilson_interval
from irtkit.systems.scores import Answers, ItemClusters, Scores

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters
    from irtkit.systems.scores import Shares

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
    names = np.unique(tasks.of_item[result.parameters.known])
    taken = [result.patterns.response_scores((tasks.of_item == k) * 1.0) > 0 for k in names]
    return np.asarray(np.all([result.answering, *taken], axis=0))


def with_tasks(
    result: FitResult, table: Any, parts: Any, cluster: Clusters | None, tasks: Tasks, level: float
) -> tuple[pd.DataFrame, list[Scores], list[Finding]]:
    """A table with columns of all scores, and systems by macro average.

    Systems without a response in some task are left out, which is a finding.
    """
    import pandas as pd

    every = took_every(result, tasks)
    averages, rows = [], []
    for part in parts:
        places = part.places[every[part.places]]
        if len(places):
            scores, columns = scores_by_task(result, table, places, cluster, tasks, level)
            averages.append(scores)
            rows.append(pd.DataFrame(columns, table.index[scores.places]))
    if not rows:
        raise ValueError("by needs systems with a response in every task, and there are none")
    names = list(table.index[result.answering & ~every])
    values = {"n": len(names), "n_systems": result.n_answering, "systems": names}
    findings = [Finding("tasks-not-taken", "warning", values)] if names else []
    return table.join(pd.concat(rows)), averages, findings


def scores_by_task(
    result: FitResult, table: Any, places: Any, cluster: Clusters | None, tasks: Tasks, level: float
) -> tuple[Scores, dict[str, Array]]:
    """Macro averages of some respondents, and columns of all scores in their order."""
    answered = result.parameters.known
    answers = Answers.of(result, table, places)
    names, task, sizes = np.unique(tasks.of_item[answered], return_inverse=True, return_counts=True)
    n, n_items, n_tasks = len(places), len(task), len(names)
    group = np.arange(n_items) if cluster is None else cluster[answered]
    n_clusters = np.array([len(np.unique(group[task == k])) for k in range(n_tasks)])
    widened = correction(n_clusters)[task] ** 0.5

    # Shares of items in the average and in the score of each task.
    shares_of_items = np.where(task == np.arange(n_tasks)[:, None], 1 / sizes[:, None], 0.0)
    shares_of_items = np.vstack([shares_of_items.mean(axis=0), shares_of_items])
    clusters = [ItemClusters.of(group, answers.filled | (share > 0)) for share in shares_of_items]
    value, variance = np.empty((2, n_tasks + 1, n))
    steps = np.empty(n)
    error = np.empty((n, len(clusters[0].starts) + 2 * n_items * answers.filled))
    for systems, shares in answers.blocks():
        steps[systems] = shares.steps
        right = shares.right
        if answers.filled:
            right = np.where(shares.trials > 0, right, _expected(answers, systems))
        value[:, systems] = np.round(shares_of_items @ right.T, 12)
        deviation = right - value[1:, systems].T[:, task]
        for k, share in enumerate(shares_of_items):
            contribution = clusters[k].sums(deviation, share * widened)
            if answers.filled:
                _, by_answers, by_items = answers.moved(systems, shares, share)
                contribution += clusters[k].sums(by_answers, widened)
                contribution = np.hstack([contribution, by_items])
            variance[k, systems] = (contribution**2).sum(axis=1)
            if k == 0:
                error[systems] = contribution

    of_one_answer = (correction(n_clusters) / sizes**2)[:, None] * steps**2
    variance[0] += np.maximum(of_one_answer - variance[1:], 0).sum(axis=0) / n_tasks**2
    variance[1:] = np.maximum(variance[1:], of_one_answer)
    task_df = n_clusters - 1.0
    df = np.vstack([_welch(variance[1:], task_df), np.repeat(task_df[:, None], n, axis=1)])
    order = np.argsort(-value[0], kind="stable")
    columns = {}
    for k, name in enumerate([AVERAGE, *(f"score_{tasks.names[j]}" for j in names)]):
        low, high = share_interval(value[k], variance[k], df[k], level)
        columns[name] = value[k][order]
        columns[f"{name}_low"] = low[order]
        columns[f"{name}_high"] = high[order]
    least = float(of_one_answer.min()) / n_tasks**2
    ordered = np.asarray(places)[order]
    average = Scores(ordered, value[0][order], error[order], df[0][order], least, answers.filled)
    return average, columns


def _expected(answers: Answers, systems: slice) -> Array:
    """P(right) of some systems, the mean over the errors of their abilities."""
    rows = answers.rows.iloc[systems]
    ability = rows["ability"].to_numpy(np.float64)
    ability_se = rows["ability_se"].to_numpy(np.float64)
    p = np.zeros((len(rows), answers.chosen.n_items))
    for node, weight in NORMAL_POINTS:
        p += weight * answers.items.probability(ability + node * ability_se)
    return p


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
    estimates: dict[str, Estimate] = {}
    n_items: list[int] = []
    for k, name in enumerate(tasks.names):
        items = np.flatnonzero(both & (tasks.of_item == k))
        if len(items):
            group = None if cluster is None else cluster[items]
            estimates[name] = mean_of(difference[items], group, step=step)
            n_items.append(len(items))
    if estimates:
        value, se, df = np.array(list(estimates.values())).T
        error = float(se @ se) ** 0.5 / len(estimates)
        mean = Estimate(float(value.mean()), error, float(_welch(se[:, None] ** 2, df)[0]))
        estimates = {AVERAGE: mean, **estimates}
        n_items.insert(0, int(both.sum()))
    rows = []
    for n, estimate in zip(n_items, estimates.values(), strict=True):
        interval = np.clip(estimate.interval(level), -1, 1)
        rows.append((n, estimate.value, estimate.se, *interval, estimate.p_value))
    columns = ["n_items", "difference", "se", "low", "high", "p_value"]
    return pd.DataFrame(rows, pd.Index([*estimates], name="task", dtype=object), columns)
