"""Which values of a cell are right, wrong, scores or missing, and which answers equal the key.

Words are compared in small letters and numbers by value, so "1.0", "True" and 1 are the same.
"25 %" is 0.25, and "0,5" is 0.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from irtkit.checks import check_number, check_unique, short
from irtkit.findings import Finding, ReadingError, failed
from irtkit.responses.proposals import ask, proposals
from irtkit.responses.vocabulary import MARKS, RIGHT, WRONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from irtkit.responses.labels import Array

Plain: TypeAlias = str | float
MISSING, INVALID = -1, -2  # Codes of responses; 1 is right and 0 wrong.
USUAL_POINTS = 6  # Up to seven levels are taken as levels without being declared.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "<na>", "nat", "none", "null"})
_BOOLEANS = {"true": 1.0, "false": 0.0}
_WRITTEN = re.compile(r"([-+]?\d+)(?:([.,])(\d+))?\s*(%?)")  # Decimal comma or percent sign.
COUNTS = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")
"""Cells that are right trials out of all."""


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
    order: tuple[Plain, ...] = ()
    """Words of levels from the worst to the best, which are the numbers from 0."""
    vocabulary: bool = True
    """Whether words that mean right or wrong are read without being named."""
    points: bool = False
    """Whether whole numbers from 2 to `USUAL_POINTS`, which are no marks, are kept."""

    @classmethod
    def of(
        cls,
        threshold: object = None,
        right: object = None,
        wrong: object = None,
        missing: object = None,
        score_range: object = None,
        order: object = None,
    ) -> Marking:
        """Check arguments of the same names and return the marking."""
        named = {"right": right, "wrong": wrong, "missing": missing}
        words: Any = {name: _words(name, value) for name, value in named.items()}
        if wrong is not None and right is None:
            raise ValueError("wrong needs right: name the words for both")
        if right is not None and threshold is not None:
            raise ValueError("threshold is for scores and right is for words: pass one of them")
        for name, other in (("right", "wrong"), ("right", "missing"), ("wrong", "missing")):
            for word in words[name] & words[other]:
                raise ValueError(f"{name} and {other} both name {short(word)}")
        if score_range is None:
            if threshold is not None:
                threshold = check_number("threshold", threshold)
            return cls(threshold, **words)
        if right is not None or threshold is not None:
            raise ValueError("score_range is for scores, and threshold and right are for marks")
        if order is not None:
            levels = tuple(map(plain_value, list(order)))  # type: ignore[call-overload]
            check_unique("order must name a level once", map(str, levels))
            return cls(**words, score_range=(0, len(levels) - 1), order=levels)
        if not hasattr(score_range, "items"):
            return cls(**words, score_range=_range(score_range))
        ranges: dict[str, tuple[float, float]] = {}
        if isinstance(score_range, Ranges):
            ranges = Ranges()
        for item, pair in score_range.items():
            ranges[str(item)] = _range(pair)
        return cls(**words, score_range=ranges)

    @property
    def of_scores(self) -> bool:
        """Whether responses are numbers of a declared range, or with a threshold."""
        return self.threshold is not None or self.score_range is not None

    @property
    def reads_words(self) -> bool:
        """Whether words of the vocabulary are marks: no other marks are declared."""
        return self.vocabulary and not self.right and not self.of_scores

    def counts(self, plain: Plain) -> tuple[int, int] | None:
        """Right trials and all trials of a cell such as 3/5, None of other cells."""
        if self.of_scores or self.wrong_by_default:
            return None
        written = COUNTS.fullmatch(str(plain))
        if written is None:
            return None
        right, tried = written.groups()
        return int(right), int(tried)

    @property
    def wrong_by_default(self) -> bool:
        """Whether values are wrong because they are not named as right."""
        return bool(self.right) and not self.wrong

    def literal(self) -> Marking:
        """Return the marking for which no word is right or wrong unless it is named."""
        return self._replace(vocabulary=False)

    def number(self, plain: Plain) -> float:
        """Return a number as it is, 1 or 0 if it is marked; NaN: missing; inf: invalid."""
        if plain in self.right or plain in self.wrong:
            return float(plain in self.right)
        if plain in self.missing or plain in MISSING_WORDS:
            return np.nan
        if plain in self.order:
            return float(self.order.index(plain))
        if self.order:
            return np.inf
        counts = self.counts(plain)
        if counts is not None:
            right, tried = counts
            return right / tried if tried else np.nan
        if self.right:
            kinds = {type(word) for word in self.right}
            return 0.0 if type(plain) in kinds and not self.wrong else np.inf
        if isinstance(plain, str):
            if self.reads_words and (plain in RIGHT or plain in WRONG):
                return float(plain in RIGHT)
            return np.inf
        return plain if self.threshold is None else float(plain >= self.threshold)

    def codes(self, numbers: Array, low: Any, high: Any) -> Array:
        """Codes of numbers, and scores between 0 and 1 of numbers in a range."""
        scores = numbers
        with np.errstate(invalid="ignore"):
            if self.score_range is not None:
                scores = (numbers - low) / (high - low)
            scores = np.where((scores >= 0) & (scores <= 1), scores, INVALID)
            scores[np.isnan(numbers)] = MISSING
            if self.points:
                in_range = (numbers > 1) & (numbers <= USUAL_POINTS)
                whole = in_range & (numbers % 1 == 0)
                scores[whole] = INVALID - numbers[whole]
            return scores if (scores % 1).any() else scores.astype(np.int8)

    def check_items(self, items: Sequence[str]) -> None:
        """Refuse a range of an item that is not there."""
        if not isinstance(self.score_range, dict) or isinstance(self.score_range, Ranges):
            return
        for name in self.score_range:
            if name not in items:
                raise ValueError(f"score_range names {short(name)}, which is not an item")

    def code(self, value: object) -> float:
        """Code of one value: 1, 0 or a score between them, `MISSING` or `INVALID`."""
        low, high = self.score_range if isinstance(self.score_range, tuple) else (0.0, 1.0)
        number = self.number(plain_value(value))
        codes = self.codes(np.array([number]), low, high)
        return float(codes[0])


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
    if written is not None:
        whole, separator, part, percent = written.groups("")
        is_thousands = separator == "," and len(part) == 3 and int(whole)  # 1,234, perhaps
        if not is_thousands:
            number = float(f"{whole}.{part}")
            return number / 100 if percent else number
    try:
        return word if word in MISSING_WORDS else float(word)
    except ValueError:
        return word


class Coder:
    """Codes of the responses of one table, block by block.

    The coder remembers odd responses, so that one error describes the whole table.
    """

    def __init__(self, marking: Marking) -> None:
        self.marking = marking
        self.n_given = self.n_right = self.n_scores = self.n_invalid = self.n_points = 0
        self.words: dict[str, str] = {}
        """Words of the vocabulary, as they are written, by the plain word."""
        self.counted = False  # Whether some cells are right trials out of several.
        self._has_numbers = False
        self._odd: list[pd.DataFrame] = []

    def codes(
        self,
        cells: Array,
        rows: Array,
        columns: Array,
        items: Sequence[str] = (),
    ) -> tuple[Array, Array | None]:
        """1 right, 0 wrong, a score between them, −1 missing or −2 invalid, for cells of any shape.

        Points of perhaps a level are invalid as well, and returned as they are.

        Beside these stands the number of trials of each cell, None if all are of one trial. `rows`
        and `columns` are the numbers of respondents and items, broadcast to the cells. Ranges by
        item look up its label among `items`, at its number.
        """
        low: Any = 0.0
        high: Any = 1.0
        if isinstance(ranges := self.marking.score_range, tuple):
            low, high = ranges
        elif ranges is not None:
            of_items = [ranges.get(name, (0.0, 1.0)) for name in items]
            pairs = np.array(of_items)[columns]
            low = pairs[..., 0]
            high = pairs[..., 1]
        codes, trials = self._coded(cells, low, high)
        self.n_given += int(np.count_nonzero(codes != MISSING))
        self.n_right += int(np.count_nonzero(codes == 1))
        self.counted |= trials is not None
        invalid = codes <= INVALID
        points = codes < INVALID
        self.n_invalid += int(np.count_nonzero(invalid))
        self.n_points += int(np.count_nonzero(points))
        odd = invalid
        if self.marking.wrong_by_default:
            odd = invalid | (codes == 0)
        if codes.dtype.kind == "f":
            scores = codes % 1 > 0
            if trials is not None:
                scores &= trials == 1
            self.n_scores += int(np.count_nonzero(scores))
            odd = invalid | scores if self.counted else odd
        if odd.any():
            import pandas as pd

            room = 10**6 - sum(map(len, self._odd))  # so many are kept for remedies
            places = np.flatnonzero(odd)[:room]
            kept = {"row": rows, "column": columns, "value": cells, "code": codes}
            for name, array in kept.items():
                kept[name] = np.broadcast_to(array, cells.shape).flat[places]
            self._odd.append(pd.DataFrame(kept).astype({"value": object}))
        if points.any():
            codes = np.where(points, INVALID - codes, codes)
        return codes, trials

    @cached_property
    def odd(self) -> pd.DataFrame:
        """Responses that cannot be read, or are wrong because they are not right.

        Numbers of the respondent and item, value, plain value, and code.
        """
        import pandas as pd

        together = pd.DataFrame(columns=["row", "column", "value", "code"])
        if self._odd:
            together = pd.concat(self._odd, ignore_index=True)
        which, values = distinct(together["value"].to_numpy())
        plain = np.array([*map(plain_value, values), ""], object)
        return together.assign(plain=plain[which])

    def _coded(self, cells: Array, low: Any, high: Any) -> tuple[Array, Any]:
        marking = self.marking
        numeric = cells.dtype.kind in "biuf"
        if numeric and not (marking.right or marking.order):
            self._has_numbers = True
            least = 1 if marking.threshold is None else marking.threshold
            codes = (cells >= least).astype(np.int8)
            valid = codes == cells
            absent = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros_like(valid)
            for word in marking.missing:
                if isinstance(word, float):  # as a whole number, whole cells stay in a byte each
                    absent |= cells == (int(word) if word.is_integer() else word)
            np.copyto(codes, MISSING, where=absent)
            valid |= absent
            if marking.threshold is not None or (marking.score_range is None and valid.all()):
                return codes, None
            values = cells.astype(np.float64)
            values[absent] = np.nan
            return marking.codes(values, low, high), None
        kind = cells.dtype.newbyteorder("=") if numeric else object
        which, values = distinct(cells.astype(kind, copy=False).ravel())
        numbers = []
        n_trials = []
        for value in (*values, ""):  # the last one is missing
            plain = plain_value(value)
            counts = marking.counts(plain)
            numbers.append(marking.number(plain))
            n_trials.append(1 if counts is None else max(counts[1], 1))
            if marking.reads_words:
                self._has_numbers |= isinstance(plain, float)
                if plain in RIGHT or plain in WRONG:
                    self.words.setdefault(str(plain), str(value).strip())
        trials = None
        if max(n_trials) > 1:
            trials = np.array(n_trials)[which].reshape(cells.shape)
        if np.ndim(low) == 0:  # one range for all
            codes = marking.codes(np.array(numbers), low, high)
            return codes[which].reshape(cells.shape), trials
        of_cells = np.array(numbers)[which].reshape(cells.shape)
        return marking.codes(of_cells, low, high), trials

    @property
    def mixed(self) -> bool:
        """Whether words of the vocabulary stand next to other values, so that they may be none."""
        if not self.words:
            return False
        if self._has_numbers or self.counted or self.n_invalid > 0:
            return True
        return not any(self.words.keys() <= right | wrong for right, wrong in MARKS)

    @property
    def n_wrong(self) -> int:
        """Number of wrong responses."""
        return self.n_given - self.n_right - self.n_scores - self.n_invalid

    @property
    def most_are_read(self) -> bool:
        """Whether most responses can be read."""
        return 2 * self.n_invalid < self.n_given

    @property
    def unusual(self) -> bool:
        """Whether some response is no mark: it cannot be read, or is a score without a range."""
        return bool(self.n_invalid or (self.n_scores and self.marking.score_range is None))

    def notes(self, n_respondents: int) -> list[Finding]:
        """Say which words or counts were read, that no response is right, or all are alike."""
        if self.counted:
            return [Finding("trials-read", "note")]
        if self.words:
            words: dict[str, list[str]] = {"right": [], "wrong": []}
            for plain, written in self.words.items():
                words["right" if plain in RIGHT else "wrong"].append(written)
            return [Finding("words-read", "note", words)]
        if self.marking.right and not self.n_right:
            values = {"words": sorted(map(str, self.marking.right))}
            return [Finding("none-right", "warning", values)]
        threshold = self.marking.threshold
        all_alike = self.n_right in {0, self.n_given}
        if threshold is None or not all_alike or n_respondents < 2:
            return []
        return [Finding("threshold-flat", "warning", {"threshold": threshold})]

    def refuse(self, respondents: Sequence[str], items: Sequence[str]) -> None:
        """Raise the error for the responses that cannot be read, if there are any."""
        self.marking.check_items(items)
        if self.n_invalid or (self.counted and self.n_scores):
            error = self.error(respondents, items)
            if not self.may_be_levels(error):
                raise error

    def may_be_levels(self, error: ReadingError) -> bool:
        """Whether all that cannot be read are points of levels, perhaps, and no other words."""
        only_points = 0 < self.n_points == self.n_invalid and not self.counted
        return only_points and error.finding.code in {"levels", "numbers"}

    def error(self, respondents: Sequence[str], items: Sequence[str]) -> ReadingError:
        """Return the error for the first response that cannot be read.

        If most are readable, a range is for the items of the others alone.
        """
        odd = self.odd
        if not self.counted:
            odd = odd[odd["code"] <= INVALID]
        once = odd.drop_duplicates("plain")[:1000]
        written: dict[Any, object] = once.set_index("plain")["value"].to_dict()
        if self.counted or any(map(self.marking.counts, written)):
            words = [*written.values()]
            missing = ask("missing", missing=words)
            wrong = ask("wrong", right=1, wrong=[0, *words])
            return failed("no-counts", missing, wrong, words=words)
        code, remedies = proposals(written, self)
        n_invalid = self.n_invalid
        is_word = np.array([isinstance(plain, str) for plain in odd["plain"]])
        if code in {"missing-word", "words"} and is_word.any():  # numbers may be marks
            odd = odd[is_word]
            n_invalid = len(odd)
        first = odd.iloc[0]
        item = items[first["column"]]
        cell = {"respondent": respondents[first["row"]], "item": item, "value": first["value"]}
        ranges = self.marking.score_range
        if ranges is not None and isinstance(first["plain"], float):
            code = "outside-range"
            remedies = [ask("score-range", score_range=...)]
            if len(written) == 1:  # such as 99
                remedies.insert(0, ask("missing", missing=[first["plain"]]))
            ends = ranges if isinstance(ranges, tuple) else ranges.get(item, (0.0, 1.0))
            cell["low"], cell["high"] = ends
        strange = np.unique(odd["column"])
        if 2 * len(strange) <= len(items):
            for k, remedy in enumerate(remedies):
                pair = remedy.settings.get("score_range")
                if isinstance(pair, tuple) and "levels" not in remedy.settings:
                    by_item = {items[j]: pair for j in strange[:10]}
                    remedies[k] = ask(remedy.purpose, score_range=by_item)
        return failed(code, *remedies, **cell, more=n_invalid - 1)


def distinct(values: Array) -> tuple[Array, Array]:
    """Place of every value among the distinct values, −1 if missing, and these."""
    import pandas as pd

    try:
        return pd.factorize(values, use_na_sentinel=True)
    except TypeError:  # a list or another value without a hash
        texts = np.array([str(value) for value in values], dtype=object)
        return np.arange(len(texts)), texts


def _range(given: Any) -> tuple[float, float]:
    """Worst and best score of a pair."""
    pair = []
    if isinstance(given, tuple | list | np.ndarray):
        pair = [*given]
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(
            "score_range must be two different numbers, the worst and the best score, such as "
            f"(0, 100), or a mapping of items to pairs, got {short(given)}"
        )
    worst, best = (check_number("score_range", end) for end in pair)
    return worst, best


def _words(argument: str, given: Any) -> frozenset[Plain]:
    if given is None:
        return frozenset()
    several = isinstance(given, Iterable) and not isinstance(given, str)
    words = frozenset(map(plain_value, given if several else [given]))
    if not words:
        raise ValueError(f"{argument} must be a word or number, or several, got {short(given)}")
    return words
