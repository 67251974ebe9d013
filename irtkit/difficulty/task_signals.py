"""Task signals: metrics of single answers, for `irtkit.difficulty.quality_standard`.

Each function takes a table with the columns ``respondent`` and ``item``, a row per answer, and
returns a long table (``respondent``, ``item``, ``metric``, ``value``), to be joined with others by
``pandas.concat``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from irtkit.checks import check_one_of, short
from irtkit.difficulty.quality import check_columns, labelled, numbers

if TYPE_CHECKING:
    import pandas as pd


def absolute_error(answers: pd.DataFrame) -> pd.DataFrame:
    """|prediction − truth|, the signal of regression and of binary classification.

    Lower is better. ``answers`` has the columns ``prediction`` and ``truth``: in binary
    classification the probability of class 1, and 0 or 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from irtkit.difficulty import absolute_error
    >>> answers = {"respondent": "A", "item": ["a", "b"], "prediction": [0.2, 8], "truth": [1, 6]}
    >>> absolute_error(pd.DataFrame(answers))["value"].tolist()
    [0.8, 2.0]
    """
    check_columns(answers, "respondent", "item", "prediction", "truth")
    rows = labelled(answers["respondent"], answers["item"], "absolute_error")
    error = np.abs(numbers(answers["prediction"], rows) - numbers(answers["truth"], rows))
    return rows.assign(value=error)


def misclassifications(answers: pd.DataFrame) -> pd.DataFrame:
    """Number of respondents that misclassify the item, the signal of multiclass tasks.

    Lower is better. All answers to an item have the same number; answers without prediction or
    truth are not counted and have NaN. ``answers`` has the columns ``prediction`` and ``truth``,
    both numbers or both text.

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

    check_columns(answers, "respondent", "item", "prediction", "truth")
    rows = labelled(answers["respondent"], answers["item"], "misclassifications")
    known = answers[["prediction", "truth"]].notna().all(axis=1).to_numpy()
    given, right = (answers.loc[known, name].infer_objects() for name in ("prediction", "truth"))
    if is_numeric_dtype(given) != is_numeric_dtype(right):
        raise ValueError(
            "prediction and truth must both be numbers or both be text, "
            f"got {short(given.iloc[0])} and {short(right.iloc[0])}"
        )
    wrong = np.full(len(rows), np.nan)
    wrong[known] = given.to_numpy(dtype=object) != right.to_numpy(dtype=object)
    counts = rows.assign(value=wrong).groupby("item")["value"].transform("sum")
    return rows.assign(value=counts.where(known))


def detection_score(counts: pd.DataFrame, measure: Literal["F1", "recall"] = "F1") -> pd.DataFrame:
    """F1 = TP / (TP + (FP + FN)/2) or recall = TP / (TP + FN), the signals of object detection.

    Higher is better, so name the metric in `higher_is_better`, which the page forgets. ``counts``
    has the columns ``TP``, ``FN`` and, for F1, ``FP``. The value is NaN if nothing was to be
    detected and nothing was.

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
    check_columns(counts, "respondent", "item", *needed)
    rows = labelled(counts["respondent"], counts["item"], measure)
    hit, missed, *false = (numbers(counts[name], rows, least=0) for name in needed)
    total = hit + ((missed + false[0]) / 2 if false else missed)
    return rows.assign(value=hit / np.where(total > 0, total, np.nan))
