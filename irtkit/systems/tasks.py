"""Scores of systems by task, and the macro average, in which every task has the same weight.

The items of a task are a sample of similar items, and tasks are given. With T tasks the average is
the mean of the scores s_t, with the variance Σ v_t/T². Its degrees of freedom are (Σ v_t)²/Σ(v_t²/
df_t) (Welch 1947). Intervals have Wilson's form (1927) with Student's t and m = s(1 − s)/v in place
of the number of answers, and stay within 0 and 1. Missing answers are filled in as on the
leaderboard of all items (:mod:`irtkit.systems.scores`), with the weight of each item.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import short
from irtkit.findings import Finding
from irtkit.responses.labels import by_label, is_missing_label
from irtkit.suspects.health import sections_of
from irtkit.systems.paired import Estimate, wilson_interval
from irtkit.systems.scores import Scores, Shares, scores_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters
    from irtkit.systems.scores import Answers

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
    """Which real respondents have a response in every task that has any.

    Several abilities fill in the others, so that any response is enough.
    """
    if result.several is not None:
        return result.answering
    names = np.unique(tasks.of_item[result.parameters.known])
    taken = [result.patterns.response_scores((tasks.of_item == k) * 1.0) > 0 for k in names]
    return np.asarray(np.all([result.answering, *taken], axis=0))


def lacking_tasks(result: FitResult, took: NDArray[np.bool_]) -> list[Finding]:
    """The finding that systems without a response in some task are left out."""
    if not took.any():
        raise ValueError("by needs a system with a response in every task")
    names = np.array(result.respondent_labels, dtype=object)[result.answering & ~took].tolist()
    values = {"n": len(names), "n_systems": result.n_answering, "systems": names}
    return [Finding("tasks-not-taken", "warning", values)] if names else []


def scores_by_task(
    answers: Answers, cluster: Clusters | None, tasks: Tasks, level: float
) -> tuple[Scores, dict[str, Array]]:
    """Macro averages, and columns of all scores in their order."""
    import pandas as pd

    estimated = tasks.of_item[answers.estimated]
    numbers, task, sizes = np.unique(estimated, return_inverse=True, return_counts=True)
    n_tasks = len(numbers)
    average = scores_of(answers, cluster, 1 / (n_tasks * sizes[task]), task)
    variance, df = np.empty((2, n_tasks, len(average.value)))
    lacking = np.zeros(len(average.value))  # Of the variance of tasks that are all right or wrong.
    columns: dict[str, Array] = {}
    for k, name in enumerate(tasks.names[number] for number in numbers):
        scores = scores_of(answers, cluster, (task == k) / sizes[k])
        place = pd.Index(scores.places).get_indexer(average.places)
        observed = scores.variance[place]
        variance[k] = np.maximum(observed, scores.least)
        df[k] = scores.df.max()
        lacking += variance[k] - observed
        columns |= _columns(f"score_{name}", scores.value[place], variance[k], df[k], level)
    average = replace(average, df=_welch(variance, df))
    of_average = average.variance + lacking / n_tasks**2
    first = _columns(AVERAGE, average.value, of_average, average.df, level)
    return average, first | columns


def _columns(name: str, score: Array, variance: Array, df: Array, level: float) -> dict[str, Array]:
    """A score with its interval."""
    low, high = share_interval(score, variance, df, level)
    return {name: score, f"{name}_low": low, f"{name}_high": high}


def _welch(variance: Array, df: Array) -> Array:
    """Degrees of freedom of a mean of parts (rows), 0 if one part is without any."""
    if not df.all():
        return np.zeros(variance.shape[1])
    return np.asarray(variance.sum(axis=0) ** 2 / (variance**2 / df).sum(axis=0))


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

    names: list[str] = []
    rows: list[Any] = []
    for k, name in enumerate(tasks.names):
        items = tasks.of_item == k
        of_task = shares._replace(right=shares.right[:, items], trials=shares.trials[:, items])
        n_items, difference = of_task.difference(None if cluster is None else cluster[items])
        if n_items:
            names.append(name)
            rows.append([n_items, *difference])
    if rows:
        counts, value, se, df = np.array(rows).T
        of_average = _welch(se[:, None] ** 2, df[:, None])[0]
        names.insert(0, AVERAGE)
        rows.insert(0, [counts.sum(), value.mean(), (se @ se) ** 0.5 / len(se), of_average])
    counts, *estimates = np.array(rows).reshape(-1, 4).T
    columns = {"n_items": counts.astype(np.int64), **Estimate(*estimates).columns(level)}
    return pd.DataFrame(columns, pd.Index(names, name="task", dtype=object))
