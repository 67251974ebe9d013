"""Which answer the strong respondents agree on, where several could be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.calibration.result import FitResult

_STRONG = 0.75
"""Quantile of ability from which on a respondent is strong."""


def strong_answers(
    result: FitResult, predictions: pd.DataFrame, items: pd.Index[str]
) -> pd.DataFrame:
    """Answer most of the strong gave to some items, their share, and the answer marked right.

    Raises
    ------
    TypeError
        If ``predictions`` is not a DataFrame.
    ValueError
        If it has not a row for every real respondent and a column for every item.
    """
    import pandas as pd

    if not isinstance(predictions, pd.DataFrame):
        raise TypeError(f"predictions must be a DataFrame, got {type(predictions).__name__}")
    answers = predictions.set_axis([str(label) for label in predictions.index], axis=0)
    answers = answers.set_axis([str(label) for label in predictions.columns], axis=1)
    labels = np.array(result.respondent_labels, dtype=object)[~result.synthetic]
    _check("respondent", answers.index, labels)
    _check("item", answers.columns, result.item_labels)
    answers = answers.loc[list(labels), list(items)]
    ability = result.ability[~result.synthetic]
    strong = answers[ability >= np.quantile(ability, _STRONG)]
    votes = [column.value_counts() for _, column in strong.items()]
    return pd.DataFrame(
        {
            "strong_answer": pd.Series(
                [count.index[0] if len(count) else None for count in votes], dtype=object
            ),
            "strong_share": [
                count.iloc[0] / count.sum() if len(count) else np.nan for count in votes
            ],
            "marked_right": pd.Series(_marked(result, answers), dtype=object),
        }
    ).set_axis(items, axis=0)


def _marked(result: FitResult, answers: pd.DataFrame) -> list[object]:
    """The answer that counts as right by item, None where none or several do."""
    if result.responses is None:
        return [None] * answers.shape[1]
    right = result.responses.successes[~result.synthetic] > 0
    place = {label: j for j, label in enumerate(result.item_labels)}
    marked = []
    for item, column in answers.items():
        kinds = column[right[:, place[str(item)]]].dropna().unique()
        marked.append(kinds[0] if len(kinds) == 1 else None)
    return marked


def _check(kind: str, have: pd.Index[str], needed: Iterable[str]) -> None:
    repeated = have[have.duplicated()]
    if len(repeated):
        raise ValueError(f"predictions has {kind} {repeated[0]!r} twice")
    known = set(have)
    missing = [label for label in needed if label not in known]
    if missing:
        raise ValueError(f"predictions has no {kind} {missing[0]!r}")
