"""Which settings read values that are no marks, and what each would mean.

A remedy is safe only where no other reading is as likely: `irtkit inspect` types it then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from irtkit.findings import Remedy
from irtkit.responses.vocabulary import LIKELY_RIGHT, MARK_LETTERS, RIGHT, WRONG

if TYPE_CHECKING:
    from irtkit.responses.marking import Marking, Plain

_HIGHEST_LEVEL = 10  # Higher numbers are more likely percentages.


class Seen(NamedTuple):
    """What a table holds besides the values that cannot be read."""

    n_given: int
    n_invalid: int
    n_wrong: int
    n_scores: int

    @property
    def few(self) -> bool:
        """Whether most responses can be read."""
        return 2 * self.n_invalid < self.n_given


def ask(purpose: str, **settings: Any) -> Remedy:
    """Settings that a user must choose."""
    return Remedy(settings, purpose, safe=False)


def proposals(
    invalid: dict[Plain, object], marking: Marking, seen: Seen
) -> tuple[str, list[Remedy]]:
    """Code of the finding for invalid values, by plain value, and the settings that read them."""
    numbers = sorted(plain for plain in invalid if isinstance(plain, float))
    words = {
        plain: str(written).strip() for plain, written in invalid.items() if isinstance(plain, str)
    }
    if marking.right:
        unnamed = [*words.values(), *numbers]
        return "unnamed", [ask("missing", missing=unnamed), ask("wrong", wrong=unnamed)]
    if not words:
        return _of_numbers(numbers, marking, seen)
    # more or longer words are answers, not marks
    is_long = len(words) > 10 or max(map(len, words)) > 80
    rare = (seen.few or bool(numbers)) and len(words) <= 3 and RIGHT.isdisjoint(words)
    if not is_long and (rare or marking.threshold is not None):
        return "missing-word", _of_rare_words([*words.values()], marking, seen)
    return _of_words(words, seen, is_long=is_long)


def _of_words(words: dict[str, str], seen: Seen, *, is_long: bool) -> tuple[str, list[Remedy]]:
    """Words that may be marks, levels or answers, by the plain word."""
    marks = any(set(letters).issuperset(words) for letters in MARK_LETTERS)
    letters = all(len(word) == 1 and word.isalnum() for word in words)
    if is_long or (letters and not marks):
        return "answers", [ask("key", key=...)]
    right_words = RIGHT | LIKELY_RIGHT if marks else RIGHT
    right = [written for word, written in words.items() if word in right_words]
    wrong = sorted(written for word, written in words.items() if word not in right_words)
    others = [written for word, written in words.items() if word not in RIGHT | WRONG]
    named = len(words) - len(others)
    says_nothing = others and not _says(others)
    if named > 1 and says_nothing:
        return "missing-word", [Remedy({"missing": others}, "missing")]
    if not right or not wrong or (len(words) > 2 and len(others) == len(wrong)):
        order = [ask("order", order=...)] if len(words) > 2 else []
        return "words", [ask("right", right=..., wrong=...), *order]
    beside_marks = seen.n_given > seen.n_invalid + seen.n_scores
    of_right = [1, *right] if beside_marks else right
    of_wrong = [0, *wrong] if beside_marks else wrong
    remedies = [ask("right", right=_single(of_right), wrong=_single(of_wrong))]
    if marks:
        remedies.append(ask("key", key=...))
    elif others:
        remedies.append(ask("missing", missing=others))
        worst = [word for word in wrong if word not in others]
        if len(worst) == len(others) == len(right):
            remedies.append(ask("ordered", order=[*worst, *others, *right]))
    return "words", remedies


def _of_rare_words(words: list[str], marking: Marking, seen: Seen) -> list[Remedy]:
    """A few words among marks: only punctuation is surely missing."""
    says = _says(words)
    missing = Remedy({"missing": words}, "missing", safe=not says)
    if not says or seen.n_scores or marking.threshold is not None:
        return [missing]
    return [missing, ask("wrong", right=1, wrong=[0, *words])]


def _says(words: list[str]) -> bool:
    """Whether words have a letter or digit."""
    return any(map(str.isalnum, "".join(words)))


def _of_numbers(numbers: list[float], marking: Marking, seen: Seen) -> tuple[str, list[Remedy]]:
    low, high = numbers[0], numbers[-1]
    whole = all(map(float.is_integer, numbers)) and not seen.n_scores
    scored = marking.threshold is None
    threshold = ask("threshold", threshold=...)
    scores = [ask("score-range", score_range=...)] if scored else []
    lowest = 0 if seen.n_wrong else 1
    if scored and whole and low > 0 and high < _HIGHEST_LEVEL + lowest:
        scores.insert(0, ask("levels", score_range=(lowest, int(high)), levels=True))
    if low == high and (low <= -1 or (seen.few and low > 1)):  # such as -1 or 99
        if not seen.n_wrong and not seen.n_scores and scored:
            return "missing-word", [ask("right", right=1, wrong=low), ask("missing", missing=[low])]
        sure = low < 0 and seen.n_wrong >= 2 * seen.n_invalid
        missing = Remedy({"missing": [low]}, "missing", safe=sure)
        if low == -1 and scored:
            abstained = ask("abstained", right=1, wrong=low, missing=0)
            scores = [abstained, ask("levels", score_range=(-1, 1), levels=True)]
        return "missing-word", [missing, *scores]
    if -1 <= low < 0 and high <= 1 and scored:
        return "numbers", [ask("correlations", score_range=(-1, 1)), threshold]
    if low >= 0 and _HIGHEST_LEVEL < high <= 100:
        sure = whole and high > 50  # others are as likely out of fewer points
        hundred = Remedy({"score_range": (0, 100)}, "percentages", safe=sure)
        return "percentages", [hundred, *scores, ask("threshold", threshold=50)]
    if low > 0 and high <= _HIGHEST_LEVEL and whole:
        return "levels", [*scores, threshold, ask("key", key=...)]
    return "numbers", [*scores, threshold]


def _single(words: list[Any]) -> Any:
    """A list of one word as the word."""
    return words[0] if len(words) == 1 else words
