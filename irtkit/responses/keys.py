"""Answers compared with the right answer of each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding, Remedy, failed
from irtkit.responses.marking import MISSING, MISSING_WORDS, plain_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.marking import Marking


def right_answers(key: Mapping[str, Any] | str, items: Sequence[str]) -> NDArray[Any]:
    """Right answer of each item; an item without one is an error."""
    if isinstance(key, str):
        raise failed("no-key", key=key)
    absent = [item for item in items if plain_value(key.get(item)) in MISSING_WORDS]
    if absent:
        raise failed("key-missing", Remedy({"ignore": absent}, "ignore", safe=False), items=absent)
    return np.array([key[item] for item in items], dtype=object)


def match(
    places: tuple[NDArray[Any], NDArray[Any]],
    answers: NDArray[Any],
    targets: NDArray[Any],
    marking: Marking,
    names: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[NDArray[np.int8], pd.DataFrame, NDArray[Any], Finding]:
    """Codes of answers, the answers by respondent and item, the target of each item, and a note.

    Words are compared in small letters and numbers by value. `places` holds the number of the
    respondent and of the item of each answer.
    """
    import pandas as pd

    both = np.concatenate([answers, targets]).astype(object)
    which, distinct = pd.factorize(both, use_na_sentinel=True)
    numbers: dict[str | float, int] = {}
    kinds = [
        -1
        if plain in MISSING_WORDS or plain in marking.missing
        else numbers.setdefault(plain, len(numbers))
        for plain in map(plain_value, distinct)
    ]
    kind = np.array([*kinds, -1])[which]
    answer, target = kind[: len(answers)], kind[len(answers) :]
    codes = np.where((answer < 0) | (target < 0), MISSING, answer == target).astype(np.int8)
    n, n_right = int(np.count_nonzero(codes != MISSING)), int(np.count_nonzero(codes == 1))
    if not n_right:
        raise failed("no-match", n=n)
    words = np.array([*(str(value).strip() for value in distinct), None], dtype=object)
    words[np.array([*kinds, -1]) < 0] = None
    rows, columns = places
    table = np.full((len(names[0]), len(names[1])), None, dtype=object)
    table[rows[::-1], columns[::-1]] = words[which[: len(answers)]][::-1]  # the first of each cell
    right = np.full(len(names[1]), None, dtype=object)
    known = target >= 0
    right[columns[known]] = words[which[len(answers) :]][known]
    note = Finding("marked", "note", {"n": n, "n_right": n_right})
    return codes, pd.DataFrame(table, [*names[0]], [*names[1]]), right, note
