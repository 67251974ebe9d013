"""Which values of a cell are right, wrong, scores or missing, and which answers equal the key.

Words are compared in small letters and numbers by value, so "1.0", "True" and 1 are the same.
"25 %" is 0.25, and "0,5" is 0.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from irtkit.checks import check_number, short
from irtkit.findings import Finding, ReadingError, Remedy, failed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.labels import Names

Plain: TypeAlias = str | float
MISSING, INVALID = -1, -2  # Codes of responses; 1 is right and 0 wrong.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "<na>", "nat", "none", "null"})
_BOOLEANS = {"true": 1.0, "false": 0.0}
_WRITTEN = re.compile(r"([-+]?\d+)(?:([.,])(\d+))?\s*(%?)")  # Decimal comma or percent sign.
_RIGHT = frozenset(
    (
        *("c", "correct", "ok", "pass", "passed", "resolved", "right", "solved", "success"),
        *("successful", "t", "y", "yes", "✓", "✔"),
    )
)
_MARKS = tuple(map(frozenset, ("cinp", "yn", "tf")))  # Single letters that are not answers.
_MOST_WORDS, _LONGEST_WORD = 10, 80  # More or longer words are answers, not marks.
_MOST_DISTINCT = 1000  # Invalid values that are kept to find the remedy.
_SCALE = 10  # Whole numbers below it are more likely levels than percentages.


class Ranges(dict[str, tuple[float, float]]):
    """Worst and best score of calibrated items, only some of which may be in the data."""


class Marking(NamedTuple):
    """What is right, wrong and missing; without `right`, 1 and true are right, 0 and false wrong.

    Without `wrong`, every other value of the same kind as `right` is wrong. Numbers between 0 and 1
    are scores, unless a threshold marks them, and so are those of another declared range.
    """

    threshold: float | None = None
    right: frozenset[Plain] = frozenset()
    wrong: frozenset[Plain] = frozenset()
    missing: frozenset[Plain] = frozenset()
    score_range: tuple[float, float] | dict[str, tuple[float, float]] | None = None
    """Worst and best score, of all items or by item; None: 0 and 1."""

    @classmethod
    def of(
        cls,
        threshold: object = None,
        right: object = None,
        wrong: object = None,
        missing: object = None,
        score_range: object = None,
    ) -> Marking:
        """Check arguments of the same names and return the marking."""
        given = {"right": right, "wrong": wrong, "missing": missing}
        words: Any = {name: _words(name, value) for name, value in given.items()}
        if wrong is not None and right is None:
            raise ValueError("wrong needs right: name the words for both")
        if right is not None and threshold is not None:
            raise ValueError("threshold is for scores and right is for words: pass one of them")
        for one, other in (("right", "wrong"), ("right", "missing"), ("wrong", "missing")):
            if both := words[one] & words[other]:
                raise ValueError(f"{one} and {other} both name {short(next(iter(both)))}")
        if score_range is None:
            return cls(None if threshold is None else check_number("threshold", threshold), **words)
        if right is not None or threshold is not None:
            raise ValueError("score_range is for scores, and threshold and right are for marks")
        if not hasattr(score_range, "items"):
            return cls(**words, score_range=_range(score_range))
        by_item = {str(item): _range(pair) for item, pair in score_range.items()}
        kind = Ranges if isinstance(score_range, Ranges) else dict
        return cls(**words, score_range=kind(by_item))

    def number(self, value: object) -> float:
        """Return a number as it is written, 1 or 0 if it is marked; NaN: missing; inf: invalid."""
        plain = plain_value(value)
        if plain in self.right or plain in self.wrong:
            return float(plain in self.right)
        if plain in self.missing or plain in MISSING_WORDS:
            return np.nan
        if self.right:
            alike = any(type(word) is type(plain) for word in self.right)
            return 0.0 if alike and not self.wrong else np.inf
        if isinstance(plain, str):
            return np.inf
        return plain if self.threshold is None else float(plain >= self.threshold)

    def codes(self, numbers: NDArray[Any], low: Any, high: Any) -> NDArray[Any]:
        """Codes of numbers, and scores between 0 and 1 of numbers in a range."""
        with np.errstate(invalid="ignore"):
            scores = numbers if self.score_range is None else (numbers - low) / (high - low)
            scores = np.where((scores >= 0) & (scores <= 1), scores, INVALID)
        scores[np.isnan(numbers)] = MISSING
        return scores if (scores % 1).any() else scores.astype(np.int8)

    def check_items(self, items: Sequence[str]) -> None:
        """Refuse a range of an item that is not there."""
        named = isinstance(self.score_range, dict) and not isinstance(self.score_range, Ranges)
        for name in self.score_range if named else ():  # type: ignore[union-attr]
            if name not in items:
                raise ValueError(f"score_range names {short(name)}, which is not an item")

    def code(self, value: object) -> float:
        """Code of one value: 1, 0 or a score between them, `MISSING` or `INVALID`."""
        pair = self.score_range if isinstance(self.score_range, tuple) else (0.0, 1.0)
        return float(self.codes(np.array([self.number(value)]), *pair)[0])


def plain_value(value: Any) -> Plain:
    """Return a number, or text that is one, as a float, and anything else as small letters."""
    duration = getattr(getattr(value, "dtype", None), "kind", "") == "m"  # an integer to Python
    if isinstance(value, Real) and not duration:
        number = float(value)
        return number if number == number else ""  # noqa: PLR0124 - NaN
    word = str(value).strip().lower()
    if word in _BOOLEANS:
        return _BOOLEANS[word]
    written = _WRITTEN.fullmatch(word)
    thousands = written and written[2] == "," and len(written[3]) == 3 and int(written[1])
    if written is not None and not thousands:  # 1,234 may be a number of thousands
        number = float(f"{written[1]}.{written[3] or 0}")
        return number / 100 if written[4] else number
    try:
        return word if word in MISSING_WORDS else float(word)
    except ValueError:
        return word


class Coder:
    """Codes of the responses of one table, block by block.

    The coder remembers what cannot be read, so that one error describes the whole table.
    """

    def __init__(self, marking: Marking) -> None:
        self.marking = marking
        self.n_given = self.n_right = self.n_scores = self.n_invalid = 0
        self.outside: tuple[float, float] | None = None
        """Declared range of the first response that cannot be read."""
        self.first: tuple[int, int, object] = (0, 0, None)  # Row, column and value: first invalid.
        self.columns: dict[Plain, set[int]] = {}
        """Columns of each value that cannot be read."""
        self._invalid: dict[Plain, object] = {}
        self._lines: tuple[set[int], set[int]] = (set(), set())  # Rows and columns of these.

    def codes(
        self,
        cells: NDArray[Any],
        rows: NDArray[Any],
        columns: NDArray[Any],
        items: Sequence[str] = (),
        *,
        by_row: bool = False,
    ) -> NDArray[Any]:
        """1 right, 0 wrong, a score between them, −1 missing or −2 invalid, for cells of any shape.

        `rows` and `columns` are the numbers of respondents and items, broadcast to the cells.
        Ranges by item look up its label among `items`, at the number of its column or row.
        """
        low: Any = 0.0
        high: Any = 1.0
        if isinstance(ranges := self.marking.score_range, tuple):
            low, high = ranges
        elif ranges is not None:
            pairs = np.array([ranges.get(name, (0.0, 1.0)) for name in items])
            pairs = pairs[rows if by_row else columns]
            low, high = pairs[..., 0], pairs[..., 1]
        codes = self._coded(cells, low, high)
        self.n_given += int(np.count_nonzero(codes != MISSING))
        self.n_right += int(np.count_nonzero(codes == 1))
        if codes.dtype.kind == "f":
            self.n_scores += int(np.count_nonzero(codes % 1))
        if codes.min(initial=0) == INVALID:
            if not self.n_invalid and self.marking.score_range is not None:
                place = int((codes == INVALID).argmax())
                ends = (np.broadcast_to(end, codes.shape).flat[place] for end in (low, high))
                self.outside = float(next(ends)), float(next(ends))
            self._note_invalid(cells, codes, rows, columns)
        return codes

    def _coded(self, cells: NDArray[Any], low: Any, high: Any) -> NDArray[Any]:
        marking, numbers = self.marking, cells.dtype.kind in "biuf"
        if numbers and not marking.right:
            codes = (cells >= (1 if marking.threshold is None else marking.threshold)).astype("i1")
            known = codes == cells
            absent = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros_like(known)
            for word in marking.missing:
                if isinstance(word, float):  # as a whole number, whole cells stay in a byte each
                    absent |= cells == (int(word) if word.is_integer() else word)
            np.copyto(codes, MISSING, where=absent)
            known |= absent
            if marking.threshold is not None or (marking.score_range is None and known.all()):
                return codes
            values = cells.astype(np.float64)
            values[absent] = np.nan
            return marking.codes(values, low, high)
        import pandas as pd

        kind = cells.dtype.newbyteorder("=") if numbers else object
        flat = cells.astype(kind, copy=False).ravel()
        try:
            which, distinct = pd.factorize(flat, use_na_sentinel=True)
        except TypeError:  # a list or another value without a hash
            which, distinct = np.arange(flat.size), np.array([str(v) for v in flat], dtype=object)
        of_distinct = np.array([*map(marking.number, distinct), np.nan])
        return marking.codes(of_distinct[which].reshape(cells.shape), low, high)

    def _note_invalid(self, cells: Any, codes: Any, rows: Any, columns: Any) -> None:
        flat, places = cells.ravel(), np.flatnonzero(codes.ravel() == INVALID)
        row, column = (np.broadcast_to(part, codes.shape).flat for part in (rows, columns))
        if not self.n_invalid:
            self.first = int(row[places[0]]), int(column[places[0]]), flat[places[0]]
        self.n_invalid += places.size
        for known, numbers in zip(self._lines, (row, column), strict=True):
            known.update(np.unique(numbers[places]).tolist())
        for k in places[:: -(-places.size // _MOST_DISTINCT)]:
            plain = plain_value(flat[k])
            if plain in self._invalid or len(self._invalid) < _MOST_DISTINCT:
                self._invalid.setdefault(plain, flat[k])
                self.columns.setdefault(plain, set()).add(int(column[k]))

    @property
    def unusual(self) -> bool:
        """Whether some response is no mark: it cannot be read, or is a score without a range."""
        return bool(self.n_invalid or (self.n_scores and self.marking.score_range is None))

    def notes(self, n_respondents: int) -> list[Finding]:
        """Say that no response is right, or that a threshold tells no answers apart."""
        if self.marking.right and not self.n_right:
            words = {"words": sorted(map(str, self.marking.right))}
            return [Finding("none-right", "warning", words)]
        flat = n_respondents > 1 and self.n_right in {0, self.n_given}
        if self.marking.threshold is None or not flat:
            return []
        return [Finding("threshold-flat", "warning", {"threshold": self.marking.threshold})]

    def refuse(self, respondents: Sequence[str], items: Sequence[str]) -> None:
        """Raise the error for the responses that cannot be read, if there are any."""
        self.marking.check_items(items)
        if self.n_invalid:
            raise self.error(respondents[self.first[0]], items[self.first[1]], items)

    def error(
        self, respondent: str, item: str, names: Sequence[str], *, by_row: bool = False
    ) -> ReadingError:
        """Return the error for the first response that cannot be read.

        Items have their ``names`` at the numbers of their columns or rows. If most are readable, a
        range is for the others alone.
        """
        few = 2 * self.n_invalid < self.n_given
        code, remedies = remedies_for(self._invalid, self.marking, few=few)
        cell = {"respondent": respondent, "item": item, "value": self.first[2]}
        if self.outside is not None and isinstance(plain_value(self.first[2]), float):
            code, pair = "outside-range", dict(zip(("low", "high"), self.outside, strict=True))
            remedies, cell = [Remedy({"score_range": ...}, "score-range", safe=False)], cell | pair
        odd = sorted(self._lines[0 if by_row else 1])
        if 2 * len(odd) <= len(names):
            for k, one in enumerate(remedies):
                if isinstance(own := one.settings.get("score_range"), tuple):
                    by_item: Any = {names[j]: own for j in odd[:_MOST_WORDS]}
                    remedies[k] = one._replace(settings={"score_range": by_item}, safe=False)
        return failed(code, *remedies, **cell, more=self.n_invalid - 1)


def remedies_for(
    invalid: dict[Plain, object], marking: Marking, *, few: bool
) -> tuple[str, list[Remedy]]:
    """Code of the finding for invalid values, by plain value, and the settings that read them.

    `few` says that most other responses of the table are valid.
    """
    numbers = sorted(plain for plain in invalid if isinstance(plain, float))
    words = {p: str(v).strip() for p, v in invalid.items() if isinstance(p, str)}
    long = len(words) > _MOST_WORDS or max(map(len, words), default=0) > _LONGEST_WORD
    marks = any(letters.issuperset(words) for letters in _MARKS)
    letters = bool(words) and all(len(p) == 1 and p.isalnum() for p in words) and not marks
    if marking.right:
        unnamed = [*words.values(), *numbers]
        return "unnamed", [Remedy({k: unnamed}, k, safe=False) for k in ("missing", "wrong")]
    rare = (few or bool(numbers)) and len(words) <= 3 and _RIGHT.isdisjoint(words)
    if words and not long and (rare or marking.threshold is not None):
        digits = any(map(str.isdigit, "".join(words)))  # a number in an unknown form
        return "missing-word", [Remedy({"missing": [*words.values()]}, "missing", safe=not digits)]
    if words and (long or letters):
        return "answers", [Remedy({"key": ...}, "key", safe=False)]
    if words:
        right = [word for p, word in words.items() if p in _RIGHT and (marks or p not in "cty")]
        wrong = sorted(word for word in words.values() if word not in right)
        if len(right) != 1:
            return "words", [Remedy({"right": ..., "wrong": ...}, "right", safe=False)]
        named = {"right": right[0], "wrong": wrong[0] if len(wrong) == 1 else wrong}
        return "words", [Remedy({k: v for k, v in named.items() if v}, "right", safe=not few)]
    low, high, whole = numbers[0], numbers[-1], all(map(float.is_integer, numbers))
    scores = [Remedy({"score_range": ...}, "score-range", safe=False)]
    if -1 <= low < 0 and high <= 1:
        scores = [Remedy({"score_range": (-1, 1)}, "correlations", safe=False)]
    scores = scores if marking.threshold is None else []
    if low == high and (low <= -1 or (few and low > 1)):  # such as -1 or 99
        return "missing-word", [Remedy({"missing": [low]}, "missing", safe=low < 0), *scores]
    if low >= 0 and _SCALE < high <= 100:
        hundred = Remedy({"score_range": (0, 100)}, "score-range")
        return "percentages", [hundred, Remedy({"threshold": 50}, "threshold", safe=False)]
    if low > 0 and high < _SCALE and whole:
        kinds = ("threshold", "key")
        scores += [Remedy({"levels": True}, "levels", safe=False)] if scores else []
        return "levels", [*scores, *(Remedy({kind: ...}, kind, safe=False) for kind in kinds)]
    return "numbers", [*scores, Remedy({"threshold": ...}, "threshold", safe=False)]


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
    names: Names,
) -> tuple[NDArray[np.int8], pd.DataFrame, NDArray[Any]]:
    """Codes of answers, the answers by respondent and item, and the target of each item.

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
    words = np.array([*(str(value).strip() for value in distinct), None], dtype=object)
    words[np.array([*kinds, -1]) < 0] = None
    rows, columns = places
    table = np.full((len(names[0]), len(names[1])), None, dtype=object)
    back = np.arange(len(answers) - 1, -1, -1)  # the first answer of each cell is written last
    table[rows[back], columns[back]] = words[which[back]]
    right = np.full(len(names[1]), None, dtype=object)
    known = target >= 0
    right[columns[known]] = words[which[len(answers) :]][known]
    return codes, pd.DataFrame(table, [*names[0]], [*names[1]]), right


def _range(given: Any) -> tuple[float, float]:
    """Worst and best score of a pair."""
    pair = [*given] if isinstance(given, tuple | list | np.ndarray) else []
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(
            "score_range must be two different numbers, the worst and the best score, such as "
            f"(0, 100), or a mapping of items to such pairs, got {short(given)}"
        )
    worst, best = (check_number("score_range", one) for one in pair)
    return worst, best


def _words(argument: str, given: Any) -> frozenset[Plain]:
    if given is None:
        return frozenset()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    words = frozenset(map(plain_value, given if several else [given]))
    if not words:
        raise ValueError(f"{argument} must be a word or number, or several, got {short(given)}")
    return words
