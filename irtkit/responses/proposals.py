"""Which settings read values that are no marks, and what each would mean.

A remedy is safe only where no other reading is as likely: `irtkit inspect` types it then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtkit.findings import Remedy
from irtkit.responses.vocabulary import LIKELY_RIGHT, MARK_LETTERS, RIGHT, WRONG

if TYPE_CHECKING:
    from irtkit.responses.marking import Coder, Plain

_HIGHEST_LEVEL = 10  # Higher numbers are more likely percentages.


def ask(purpose: str, **settings: Any) -> Remedy:
    """Settings that a user must choose."""
    return Remedy(settings, purpose, safe=False)


def proposals(invalid: dict[Plain, object], seen: Coder) -> tuple[str, list[Remedy]]:
    """Code of the finding for invalid values, by plain value, and the settings that read them."""
    numbers: list[float] = []
    words: dict[str, str] = {}
    for plain, written in invalid.items():
        if isinstance(plain, str):
            words[plain] = str(written).strip()
        else:
            numbers.append(plain)
    numbers.sort()
    as_written = [*words.values()]
    if seen.marking.right:
        unnamed = [*as_written, *numbers]
        return "unnamed", [ask("missing", missing=unnamed), ask("wrong", wrong=unnamed)]
    if not words:
        return _of_numbers(numbers, seen)
    if numbers and any(word[0].isdigit() for word in words):  # "5 - great" is a mark
        return "words", [ask("order", order=...)]
    # more or longer words are answers, not marks
    longest = max(map(len, words))
    is_long = len(words) > 10 or longest > 80
    among_marks = seen.most_are_read or bool(numbers)
    is_rare = among_marks and len(words) <= 3 and RIGHT.isdisjoint(words)
    has_threshold = seen.marking.threshold is not None
    if is_long or not (is_rare or has_threshold):
        return _of_words(words, seen, is_long=is_long)
    says = _says(as_written)
    missing = Remedy({"missing": as_written}, "missing", safe=not says)
    if not says or numbers or seen.n_scores or has_threshold:
        return "missing-word", [missing]
    return "missing-word", [missing, ask("wrong", right=1, wrong=[0, *as_written])]


def _of_words(words: dict[str, str], seen: Coder, *, is_long: bool) -> tuple[str, list[Remedy]]:
    """Words that may be marks, levels or answers, by the plain word."""
    marks = any(set(letters).issuperset(words) for letters in MARK_LETTERS)
    are_letters = all(len(word) == 1 and word.isalnum() for word in words)
    if is_long or (are_letters and not marks):
        return "answers", [ask("key", key=...)]
    right_words = RIGHT | LIKELY_RIGHT if marks else RIGHT
    right: list[Any] = []
    wrong: list[Any] = []
    others = []
    for word, written in words.items():
        (right if word in right_words else wrong).append(written)
        if word not in RIGHT | WRONG:
            others.append(written)
    wrong.sort()
    n_named = len(words) - len(others)
    if n_named > 1 and others and not _says(others):
        return "missing-word", [Remedy({"missing": others}, "missing")]
    may_be_levels = len(words) > 2
    is_clear = right and wrong and not (may_be_levels and len(others) == len(wrong))
    if not is_clear:
        remedies = [ask("right", right=..., wrong=...)]
        if may_be_levels:
            remedies.append(ask("order", order=...))
        return "words", remedies
    worst = [word for word in wrong if word not in others]
    ordered = [*worst, *others, *right]
    has_middle = len(worst) == len(others) == len(right)
    if seen.n_given > seen.n_invalid + seen.n_scores:  # marks are there too
        right.insert(0, 1)
        wrong.insert(0, 0)
    remedies = [ask("right", right=_single(right), wrong=_single(wrong))]
    if marks:
        remedies.append(ask("key", key=...))
    elif others:
        remedies.append(ask("missing", missing=others))
        if has_middle:
            remedies.append(ask("ordered", order=ordered))
    return "words", remedies


def _says(words: list[str]) -> bool:
    """Whether words have a letter or digit."""
    return any(map(str.isalnum, "".join(words)))


def _of_numbers(numbers: list[float], seen: Coder) -> tuple[str, list[Remedy]]:
    low = numbers[0]
    high = numbers[-1]
    whole = all(map(float.is_integer, numbers)) and not seen.n_scores
    scored = seen.marking.threshold is None
    threshold = ask("threshold", threshold=...)
    scores = []
    if scored:
        lowest = 0 if seen.n_wrong else 1
        if whole and low > 0 and high < _HIGHEST_LEVEL + lowest:
            scores.append(ask("levels", score_range=(lowest, int(high)), levels=True))
        scores.append(ask("score-range", score_range=...))
    is_percentage = low == 100 and not seen.n_right  # next to 0 alone
    # such as -1 or 99
    is_code = low <= -1 or (seen.most_are_read and low > 1 and not is_percentage)
    if low == high and is_code:
        if not seen.n_wrong and not seen.n_scores and scored:
            wrong = ask("right", right=1, wrong=low)
            return "missing-word", [wrong, ask("missing", missing=[low])]
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
