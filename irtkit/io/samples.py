"""What every reader of evaluation logs yields: the samples of one respondent on one task.

An evaluation harness writes a record per question: which one it was, what was asked and expected,
and how the answer was marked by one metric or several. `Samples` holds these of one file, whatever
the harness; `irtkit.io.log_matrix` makes one response matrix of many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.io.json_text import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    _Numbers = tuple[list[int], list[tuple[str, list[Any]]]]

_LONGEST_TEXT = 10_000
"""Characters of a text that are kept, some four pages: enough to see what is asked."""
_LONGEST_METADATA = 1000
"""Characters of a value that item metadata keep: categories and short lists, not documents."""


class Measure(NamedTuple):
    """What a sample was marked by: a metric, and the filter of the answer before it, if any."""

    metric: str
    filter: str = ""

    def __str__(self) -> str:
        return f"{self.metric} (filter {self.filter})" if self.filter else self.metric


Known = Container[tuple[str, str, str | None]]
"""Task, name and content of items of which an earlier log has said what there is to say."""


class Item(NamedTuple):
    """What a log says of an item."""

    content: str | None = None
    """A hash, or whatever else differs where two items are called alike; None where unknown."""
    text: str | None = None
    target: str | None = None
    metadata: Mapping[str, Any] = {}


@dataclass(eq=False)
class Samples:
    """Samples of one respondent on one task, from one file."""

    path: Path
    format: str
    version: str
    respondent: str
    task: str
    written: str = ""
    """When the run was made, such that later is greater; empty where the log does not say."""
    run: str = ""
    """What copies and retries of one run have in common, where the log says so."""
    items: dict[str, Item] = field(default_factory=dict)
    scores: dict[Measure, tuple[Any, Any]] = field(default_factory=dict)
    """Positions of the items and scores of all samples, NaN where a score is missing: lists, or
    arrays. The same position again is a repeat. Those of `not_marks` may be no numbers."""
    not_marks: frozenset[Measure] = frozenset()
    """Measures that are no marks (tokens, seconds), which count only where they are named."""
    default: str | None = None
    """The metric that the format itself says is right or wrong."""
    doubt: str = ""
    """Why that one cannot be taken unasked."""
    about: dict[str, Any] = field(default_factory=dict)
    """What the log says of the respondent: release date, size, family."""
    unfinished: str = ""
    """How the run ended, where not well."""
    n_samples: int = 0
    n_failed: int = 0
    """Samples that failed, which are missing and not wrong."""
    errors: list[int] = field(default_factory=list)
    """Positions of items that ended in an error and that the harness counts as wrong."""
    n_planned: int | None = None
    """Samples that the run was to have, where the log says so."""
    known: Known = ()

    def __post_init__(self) -> None:
        for kind in ("respondent", "task"):
            if not getattr(self, kind).strip():
                raise ValueError(f"the log does not say which {kind} it is of")
            refuse_half_characters(getattr(self, kind))
        self._positions: dict[str, int] = {}
        self._numbers: dict[str, _Numbers] = {}

    def position(
        self,
        item: Any,
        content: str | None = None,
        describe: Callable[[Any], Item] | None = None,
        record: Any = None,
    ) -> int:
        """Position of an item by its name; of one that is not known the record is asked."""
        position = self._positions.get(item)
        if position is None:
            if not item.strip():
                raise ValueError("a sample has an empty id")
            refuse_half_characters(item)
            position = self._positions[item] = len(self.items)
            new = describe is not None and (self.task, item, content) not in self.known
            self.items[item] = describe(record) if describe and new else Item(content)
        return position

    def add(self, position: int, measure: Measure, score: float) -> None:
        """Add the score of a sample, NaN where it is missing."""
        kept = self.scores.get(measure)
        if kept is None:
            kept = self.scores[measure] = ([], [])
        kept[0].append(position)
        kept[1].append(score)

    def add_numbers(
        self, position: int, record: Mapping[str, Any], named: Mapping[str, tuple[Measure, ...]]
    ) -> None:
        """Add what fields of a sample hold that is no mark, as it is written: it may be no number.

        A million samples are read in 10 seconds, and a look at each of these would take one.
        """
        for field_name, measures in named.items():
            fields = record.get(field_name)
            if fields.__class__ is dict:
                kept = self._numbers.get(field_name) or self._begin(field_name, measures)
                kept[0].append(position)
                for name, values in kept[1]:
                    values.append(fields.get(name))

    def _begin(self, field_name: str, measures: tuple[Measure, ...]) -> _Numbers:
        kept: _Numbers = self._numbers.setdefault(field_name, ([], []))
        for measure in measures:
            values: list[Any] = []
            kept[1].append((measure.metric, values))
            self.scores[measure] = (kept[0], values)
        return kept


def refuse_half_characters(label: str) -> None:
    """Refuse a label that no file could hold: JSON may name half of a character."""
    if not label.isascii():
        try:
            label.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the label {label!r:.80} holds half a character") from error


def score_of(value: Any) -> float | None:
    """A number or a yes or no as a float, NaN for a missing score; None for anything else."""
    if value.__class__ is float:
        return value
    if value is True or value is False:
        return 1.0 if value else 0.0
    if isinstance(value, float | int):  # booleans are
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return math.nan if value is None else None


def scores_of(values: Any) -> NDArray[np.float64]:
    """What `score_of` says of each, NaN where it is no number; text that is one counts as such."""
    try:
        scores = np.array(values, np.float64)
    except (ValueError, TypeError, OverflowError):
        scores = np.empty((0, 0))
    if scores.ndim == 1:
        return scores
    found = (score_of(value) for value in values)
    return np.array([math.nan if one is None else one for one in found])


def text_of(value: Any) -> str | None:
    """Text as it is, a number or a list of texts as text; None for anything else, and if empty."""
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            value = f"{value[:_LONGEST_TEXT]}…"
        whole = value if value.isascii() else value.encode("utf-8", "replace").decode()
        return whole or None
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return text_of(" | ".join(value))
    return None


def metadata_of(record: Any, leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """What a record says shortly: numbers, yes or no, short texts and lists of them."""
    kept = {}
    for name, value in fields_of(record).items():
        short = value if isinstance(value, bool | int | float) else text_of(value)
        if short is None or name in leave_out or not name.strip():
            continue
        if not isinstance(short, str) or len(short) <= _LONGEST_METADATA:
            kept[name] = short
    return kept


def name_of(value: Any, what: str) -> str:
    """A name or number that a log gives, as text."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{what} must be text, got {value!r:.80}")
    return str(value)


def named_by_file(path: Path, ending: str) -> str:
    """Name of a file without its suffixes and an ending; of its folder, if nothing else is left."""
    stem = re.sub(r"(\.gz)?$", "", path.name).rsplit(".", 1)[0]
    return re.sub(f"{ending}$", "", stem) or path.absolute().parent.name
