"""Which answer the strong respondents agree on, where several could be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique, short

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

_STRONG = 0.75
"""Quantile of ability from which on a respondent is strong, near the upper 27 % of classical item
analysis (Kelley 1939)."""
_AGREED = 0.75
"""Share of the strong that makes an answer theirs: 20 who guess among four choices agree so on a
wrong one at one item in 90,000, 8 at one in 80."""


def strong_answers(result: FitResult, predictions: pd.DataFrame) -> pd.DataFrame:
    """Answer most of the strong gave, their share, and the answer marked right; index "item".

    Column "another" says whether the strong agree on an answer that is not marked right. Of
    answers given equally often, the one met first among the respondents is named.
    """
    import pandas as pd

    if not isinstance(predictions, pd.DataFrame):
        raise TypeError(f"predictions must be a DataFrame, got {type(predictions).__name__}")
    if result.responses is None:
        raise ValueError("predictions needs the responses, which were not saved with this result")
    codes, answers = _coded(predictions, result)
    ability = result.ability[~result.synthetic]
    strong = codes[ability >= np.quantile(ability, _STRONG)]
    right = result.responses.cells.to_dense().successes[~result.synthetic] > 0
    rows = []
    for j in range(codes.shape[1]):
        answer, share = _most_frequent(strong[:, j])
        marked = np.unique(codes[right[:, j] & (codes[:, j] >= 0), j])
        key = int(marked[0]) if len(marked) == 1 else -1
        rows.append((answer, share, key, share >= _AGREED and answer not in marked))
    columns = ["strong_answer", "strong_share", "marked_right", "another"]
    table = pd.DataFrame(rows, pd.Index(result.item_labels, name="item"), columns)
    named = np.array([*answers, None], dtype=object)  # code −1 stands for none
    for name in ("strong_answer", "marked_right"):
        table[name] = pd.Series(named[table[name]], table.index, dtype=object)
    return table


def _coded(predictions: pd.DataFrame, result: FitResult) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes of answers, real respondents × items, −1 where missing; and what they stand for."""
    import pandas as pd

    answers = predictions.rename(index=str, columns=str)
    labels = np.array(result.respondent_labels, dtype=object)[~result.synthetic]
    _check("respondent", answers.index, labels)
    _check("item", answers.columns, result.item_labels)
    answers = answers.loc[list(labels), list(result.item_labels)]
    try:
        flat, kinds = pd.factorize(answers.to_numpy(dtype=object).ravel())
    except TypeError as error:
        raise TypeError(
            f"predictions must hold answers such as text or numbers: {error}"
        ) from error
    return flat.reshape(answers.shape), kinds


def _most_frequent(codes: NDArray[Any]) -> tuple[int, float]:
    """The most frequent code and its share; −1 and NaN without any."""
    given = codes[codes >= 0]
    if not len(given):
        return -1, float("nan")
    counts = np.bincount(given)
    return int(counts.argmax()), float(counts.max() / len(given))


def _check(kind: str, have: pd.Index[str], needed: Iterable[str]) -> None:
    check_unique(f"predictions must have every {kind} once", have)
    known = set(have)
    for label in needed:
        if label not in known:
            raise ValueError(f"predictions has no {kind} {short(label)}")
