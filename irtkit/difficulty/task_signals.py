"""Task signals: metrics of single answers that follow from predictions and truths.

Each function gives one more metric for `irtkit.difficulty.quality_standard`, as a long table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from irtkit.checks import check_one_of, short
from irtkit.metrics.tables import check_columns, labelled, numbers

if TYPE_CHECKING:
    import pandas as pd


def absolute_error(
    answers: pd.DataFrame,
    *,
    prediction: str = "prediction",
    truth: str = "truth",
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """|prediction − truth|, the signal of regression and of binary classification.

    Lower is better. In binary classification the prediction is the probability of class 1 and the
    truth is 0 or 1.

    Parameters
    ----------
    answers
        A row per answer, with these four columns.
    prediction, truth, respondent, item
        Names of the columns.

    Returns
    -------
    pandas.DataFrame
        A long table for `quality_standard` (``respondent``, ``item``, ``metric``, ``value``) of the
        metric ``absolute_error``, to be joined with others by ``pandas.concat``.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import absolute_error
    >>> answers = {"respondent": "A", "item": ["a", "b"], "prediction": [0.2, 8], "truth": [1, 6]}
    >>> absolute_error(pd.DataFrame(answers))["value"].tolist()
    [0.8, 2.0]
    """
    check_columns(answers, respondent, item, prediction, truth)
    rows = labelled(answers[respondent], answers[item], "absolute_error")
    error = np.abs(numbers(answers[prediction], rows) - numbers(answers[truth], rows))
    return rows.assign(value=error)


def misclassifications(
    answers: pd.DataFrame,
    *,
    prediction: str = "prediction",
    truth: str = "truth",
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """Number of respondents that put the item into a wrong class, the signal of multiclass tasks.

    Lower is better. It belongs to the item: the same number stands beside each of its answers. An
    answer without prediction or truth is not counted, and its value is NaN. Parameters and result
    are as for `absolute_error`; classes are numbers or text, the same in both columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import misclassifications
    >>> answers = pd.DataFrame({
    ...     "respondent": ["A", "B", "A", "B"], "item": ["a", "a", "b", "b"],
    ...     "prediction": ["cat", "dog", "cow", "cat"], "truth": ["cat", "cat", "dog", "dog"],
    ... })
    >>> misclassifications(answers)["value"].tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    from pandas.api.types import is_numeric_dtype

    check_columns(answers, respondent, item, prediction, truth)
    rows = labelled(answers[respondent], answers[item], "misclassifications")
    known = answers[[prediction, truth]].notna().all(axis=1).to_numpy()
    given, right = (answers.loc[known, name].infer_objects() for name in (prediction, truth))
    if is_numeric_dtype(given) != is_numeric_dtype(right):
        raise ValueError(
            f"{prediction} and {truth} must both be numbers or both be text, "
            f"got {short(given.iloc[0])} and {short(right.iloc[0])}"
        )
    wrong = np.full(len(rows), np.nan)
    wrong[known] = given.to_numpy(dtype=object) != right.to_numpy(dtype=object)
    counts = rows.assign(value=wrong).groupby("item")["value"].transform("sum")
    return rows.assign(value=counts.where(known))


def detection_score(
    counts: pd.DataFrame,
    measure: Literal["F1", "recall"] = "F1",
    *,
    respondent: str = "respondent",
    item: str = "item",
) -> pd.DataFrame:
    """F1 = TP / (TP + (FP + FN)/2) or recall = TP / (TP + FN), the signals of object detection.

    *Higher* is better, so name the metric in `higher_is_better` (the page forgets to). Where there
    was nothing to detect and nothing was detected the value is 0/0, thus NaN: missing.

    Parameters
    ----------
    counts
        A row per answer, with labels and the columns ``TP``, ``FN`` and, for F1, ``FP``.
    measure
        ``"F1"`` or ``"recall"``; the metric is called the same.
    respondent, item
        Names of the columns of labels.

    Returns
    -------
    pandas.DataFrame
        As for `absolute_error`.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import detection_score
    >>> counts = pd.DataFrame({"respondent": "A", "item": [1], "TP": [3], "FP": [2], "FN": [0]})
    >>> detection_score(counts)["value"].tolist()
    [0.75]
    """
    check_one_of("measure", measure, ("F1", "recall"))
    needed = ["TP", "FN", *(["FP"] if measure == "F1" else [])]
    check_columns(counts, respondent, item, *needed)
    rows = labelled(counts[respondent], counts[item], measure)
    hit, missed, *false = (numbers(counts[name], rows, least=0) for name in needed)
    total = hit + ((missed + false[0]) / 2 if false else missed)
    return rows.assign(value=hit / np.where(total > 0, total, np.nan))
