"""What counts as right and what as wrong: 1 and 0, scores from a threshold on, or words.

A word is compared in small letters, and a number by its value: "1.0" is 1, and so is "True".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import numpy as np

from irtkit.checks import NO_NUMBERS, check_number, short

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "<na>", "nat", "none", "null"})
_BOOLEAN_WORDS = {"true": 1, "false": 0}


class Marking(NamedTuple):
    """What counts as right and what as wrong."""

    threshold: float | None = None
    """Scores from here on are right, and others wrong."""
    right: frozenset[str | float] = frozenset()
    """Words in small letters and numbers; none where 1 and true are right, 0 and false wrong."""
    wrong: frozenset[str | float] = frozenset()
    """The same; none where every other word is wrong, and number, if right is a number."""

    @classmethod
    def of(cls, threshold: object = None, right: object = None, wrong: object = None) -> Marking:
        """From arguments of the same names, checked."""
        words = [_words(name, given) for name, given in (("right", right), ("wrong", wrong))]
        if wrong is not None and right is None:
            raise ValueError("wrong= goes with right=: name the words for both")
        if right is not None and threshold is not None:
            raise ValueError("threshold= is for scores, and right= for words: pass one of them")
        if both := words[0] & words[1]:
            raise ValueError(f"right= and wrong= both name {short(next(iter(both)))}")
        return cls(None if threshold is None else check_number("threshold", threshold), *words)

    def names(self, plain: str | float) -> bool:
        """Whether a plain value is one of the words for right and wrong."""
        return plain in self.right or plain in self.wrong

    def leaves_wrong(self, plain: str | float) -> bool:
        """Whether a plain value that is not named counts as wrong: others of its kind are right."""
        return not self.wrong and any(type(word) is type(plain) for word in self.right)


def plain_value(value: object) -> str | float:
    """A number or the like as a number, anything else as text in small letters."""
    word = str(value).strip().lower()
    number = None if word in MISSING_WORDS else _as_number(_BOOLEAN_WORDS.get(word, value))
    return word if number is None else number


def _words(argument: str, given: object) -> frozenset[str | float]:
    if given is None:
        return frozenset()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    words = frozenset(map(plain_value, cast("Iterable[object]", given) if several else [given]))
    if not words:
        raise ValueError(f"{argument} must be a word or number, or several, got {short(given)}")
    return words


def _as_number(value: object) -> float | None:
    if isinstance(value, NO_NUMBERS):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnan(number) else number
