"""The samples of one respondent on one task, as the reader of a log yields them.

An evaluation harness writes one record per answer: the item, its text and target, and the scores by
one or several metrics. A reader fills `Samples`, and `irtkit.io.logs` joins the samples of all
files to a long table.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.io.json_text import Record, at, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from irtkit.findings import Finding

CHOSEN = "misfit_of_chosen_items/"
"""Detail, before a task, of a respondent whose items a test chose from those of the task: variance
of the score by misfit."""
_LONGEST_TEXT = 10_000  # Characters of an item text that are kept: about four pages.


class Measure(NamedTuple):
    """A metric, and the filter that extracted the answer before it, if any."""

    metric: str
    filter: str = ""

    def __str__(self) -> str:
        return f"{self.metric} (filter {self.filter})" if self.filter else self.metric


class Item(NamedTuple):
    """What a log says about an item."""

    content: str | None = None
    """A hash or other text that differs if two items with one name differ. None if unknown."""
    text: str | None = None
    target: str | None = None
    metadata: Mapping[str, Any] = {}


Described = Mapping[tuple[str, str, str | None], Item]
"""Items that earlier logs describe, by task, name and content."""


@dataclass(eq=False)
class Samples:
    """Samples of one respondent on one task, from one file."""

    path: Path
    respondent: str
    task: str
    version: str = ""
    written: str = ""  # Time of the run, as text that sorts by time. Empty if the log does not say.
    run: str = ""  # Name that copies and retries of one run share, if the log has one.
    format: str = ""  # Name of the reader.
    items: dict[str, Item] = field(default_factory=dict)
    scores: dict[Measure, tuple[list[int], list[Any]]] = field(default_factory=dict)
    """Positions of items and scores of the samples. A missing score is NaN, and a position that
    occurs again is a repeat. Scores of `not_marks` are records that hold the number."""
    not_marks: frozenset[Measure] = frozenset()
    """Measures that are not marks (tokens, seconds). They count only if the user names them."""
    default: str | None = None  # The metric that the format itself uses as right or wrong.
    doubt: tuple[str, bool | None, float] | None = None
    """A sample whose default mark is absent or contradicts its score: its name and both."""
    details: Record = field(default_factory=dict)
    """Details of the respondent: release date, size, family."""
    unfinished: str = ""  # Status of a run that did not end well.
    n_samples: int = 0
    n_failed: int = 0  # Number of failed samples, which are missing and not wrong.
    failure: str = ""  # Message of the first sample that failed, if the log has one.
    errors: list[int] = field(default_factory=list)
    """Positions of items that ended in an error and that the harness marks as wrong."""
    n_planned: float = math.nan
    """Number of samples that the run should have, NaN if the log does not say."""
    described: Described = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)  # Warnings about the file.

    def __post_init__(self) -> None:
        for kind in ("respondent", "task"):
            if not getattr(self, kind).strip():
                raise ValueError(f"the log does not name the {kind}")
        self._positions: dict[str, int] = {}

    def position(
        self,
        item: str,
        content: str | None = None,
        describe: Callable[[Any], Item] | None = None,
        record: Any = None,
    ) -> int:
        """Return the position of an item, which `describe(record)` describes if it is new."""
        position = self._positions.get(item)
        if position is None:
            position = self._positions[item] = len(self.items)
            described = self.described.get((self.task, item, content))
            self.items[item] = described or (describe(record) if describe else Item(content))
        return position

    def sample(self, item: str, metric: str, score: Any, described: Item | None = None) -> int:
        """Add a sample with one mark. It failed if the score is not a number."""
        position = self.position(item)
        self.items[item] = described or self.items[item]
        value = score_of(score)
        failed = value is None or math.isnan(value)
        self.n_samples += 1
        self.n_failed += failed
        self.add(position, Measure(metric), math.nan if value is None else value)
        return position

    def fail(self, error: Any) -> None:
        """Count a sample that failed with this message, or with a record that holds it."""
        self.n_failed += 1
        self.failure = self.failure or text_of(error) or text_of(at(error, "message")) or ""

    def add(self, position: int, measure: Measure, score: Any) -> None:
        """Add the score of a sample, NaN if it is missing."""
        kept = self.scores.get(measure)
        if kept is None:
            kept = self.scores[measure] = ([], [])
        kept[0].append(position)
        kept[1].append(score)

    def add_marks(self, position: int, marks: Mapping[str, Any]) -> bool:
        """Add the marks that are numbers, by metric, and return whether there are any."""
        scores = {metric: score_of(value) for metric, value in marks.items()}
        for metric, score in scores.items():
            if score is not None:
                self.add(position, Measure(metric), score)
        return any(score is not None for score in scores.values())

    def add_numbers(self, position: int, record: Any, measures: tuple[Measure, ...]) -> None:
        """Keep a record whose numbers are not marks, to be read by `scores_of`."""
        if record.__class__ is dict:
            first = self.scores.get(measures[0])
            if first is None:
                first = [], []
                self.scores |= dict.fromkeys(measures, first)
            first[0].append(position)
            first[1].append(record)


def score_of(value: Any) -> float | None:
    """Return a number or a boolean as a float, NaN if missing, None for any other value."""
    if value.__class__ is float:
        return value
    if isinstance(value, int | float):
        return float(value)
    return math.nan if value is None else None


def scores_of(measure: Measure, values: list[Any]) -> NDArray[np.float64]:
    """Return the score of each value, or of its field of this name, NaN if it is not a number."""
    if values and values[0].__class__ is dict:
        values = [record.get(measure.metric) for record in values]
    try:
        scores = np.array(values, np.float64)
        if scores.ndim == 1:
            return scores
    except (ValueError, TypeError):
        pass
    numbers = map(score_of, values)
    return np.array([math.nan if number is None else number for number in numbers])


def text_of(value: Any) -> str | None:
    """Return text, a number or a list of texts as text, and None for the rest and empty text."""
    if isinstance(value, str):
        return (value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…") or None
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return text_of(" | ".join(value))
    return None


def metadata_of(record: Any, leave_out: Iterable[str] = ()) -> Record:
    """Return the short fields of a record: numbers, booleans, short texts and lists of texts."""
    kept = {}
    for name, value in fields_of(record).items():
        short = value if isinstance(value, bool | int | float) else text_of(value)
        # categories and short lists are kept, not documents
        fits = not isinstance(short, str) or len(short) <= 1000
        if short is not None and fits and name.strip() and name not in leave_out:
            kept[name] = short
    return kept


def name_of(value: Any, what: str) -> str:
    """Return a name or number in a log as text."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{what} must be text, got {value!r:.80}")
    return str(value)


def hash_of(text: str) -> str:
    """Return the name of an item without a name: two of a million are equal with p = 3e-8."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def named_by_file(path: Path, ending: str) -> str:
    """Return a file name without suffixes and an ending, or the folder name if nothing is left."""
    stem = re.sub(r"(\.gz)?$", "", path.name).rsplit(".", 1)[0]
    return re.sub(f"{ending}$", "", stem) or path.absolute().parent.name
