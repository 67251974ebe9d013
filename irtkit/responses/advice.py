"""What to type where a table holds something else than responses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irtkit.checks import first_names, short
from irtkit.responses.marking import plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from irtkit.responses.marking import Marking

_RIGHT = frozenset(
    (
        *("c", "correct", "ok", "pass", "passed", "resolved", "right"),
        *("solved", "success", "successful", "t", "y", "yes"),
    )
)
"""Words for right, in small letters."""
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_MARKS = tuple(map(frozenset, ("cinp", "yn", "tf")))
"""Letters that are marks and no answers: those of Inspect, yes and no, true and false."""
_MOST_MARKS = 10
"""Different words up to which they may be marks: twice those of SWE-bench, which has five."""
_LONGEST, _LONGEST_LIST = 80, 800
"""Characters of a word, and of a list of columns, that are worth typing: a line, and ten."""
_SCALE = 10
"""Numbers up to which they are more likely scores of a scale than percentages."""
SHARES = "to count graded scores"
"""Begins the advice where scores lie between 0 and 1."""
_GRADED = "pass threshold= (a score at or above it is right)"
_ANSWERS = (
    "if these are answers and not marks, mark them: "
    "(predictions == key).where(predictions.notna()), the key being the right answer of each item, "
    "and respondents the index"
)


def not_items(names: Sequence[str]) -> str:
    """What to type where most values of a few columns are no responses."""
    shown = first_names([*map(repr, names)])
    if len(names) > 1:
        listed = repr(list(names))
        ignored = listed if len(listed) <= _LONGEST_LIST else "[…]"
        return f"; if the columns {shown} are no items, ignore={ignored} leaves them out"
    return (
        f"; if the column {shown} is no item, ignore={shown} leaves it out "
        f"(respondent={shown} if it names the respondents)"
    )


def what_to_type(values: Iterable[object], marking: Marking, *, few: bool = False) -> str:
    """What to type where values, or a few, are neither right, wrong nor missing; may be empty."""
    spelled = {plain_value(value): value for value in values}
    numbers = [plain for plain in spelled if isinstance(plain, float)]
    if spelled and all(isinstance(p, str) and _DECIMAL_COMMA.fullmatch(p) for p in spelled):
        return (
            "; if commas are decimal, read the file so: "
            "irtkit.fit(pandas.read_csv(path, sep=';', decimal=','))"
        )
    if marking.threshold is not None:
        return ""
    if marking.right:
        return f"; name {_listed(spelled.values())} in right= or wrong="
    if len(numbers) == len(spelled):
        return f"; {_of_numbers(numbers)}"
    words = {p: str(v).strip() for p, v in spelled.items() if isinstance(p, str)}
    word = next(iter(words.values()), "")
    if few and len(words) == 1 and _RIGHT.isdisjoint(words) and len(word) <= _LONGEST:
        return f"; if it stands for a missing response, leave it out: frame.replace({word!r}, None)"
    return f"; {_of_words(words)}"


def _of_numbers(numbers: Sequence[float]) -> str:
    low, high = min(numbers), max(numbers)
    if low == high == 100:
        return "if 100 is right and 0 wrong, pass right=100, wrong=0"
    if low == high == -1:
        return "a missing response is empty, None or NaN"
    if low > 0 and high < 1:
        return f"{SHARES}, {_GRADED}"
    if low >= 0 and high < _SCALE and all(map(float.is_integer, numbers)):
        return f"{_ANSWERS}; if they are scores, {_GRADED}"
    if low >= 0 and _SCALE < high <= 100:
        return "if these are percentages, pass threshold=50 or the like (from there on is right)"
    return f"to count scores, {_GRADED}"


def _of_words(words: dict[str, str]) -> str:
    """What to type for these words, in small letters and as they are written."""
    marks = any(letters.issuperset(words) for letters in _MARKS)
    texts = len(words) > _MOST_MARKS or max(map(len, words), default=0) > _LONGEST
    if texts or (all(len(plain) == 1 for plain in words) and not marks):
        return _ANSWERS
    right = [words[plain] for plain in words if plain in _RIGHT and (marks or len(plain) > 1)]
    if len(right) != 1:
        return f"name those that count, right=… and wrong=…, among {_listed(words.values())}"
    wrong = [written for written in words.values() if written != right[0]]
    also = f", wrong={(wrong[0] if len(wrong) == 1 else sorted(wrong))!r}" if wrong else ""
    return f"if {right[0]!r} is right, pass right={right[0]!r}{also}"


def _listed(values: Iterable[object]) -> str:
    return first_names(sorted(map(short, values)))
