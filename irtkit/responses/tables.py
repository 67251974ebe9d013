"""Tables of responses in memory or in files, and the settings that say how to read them.

`irtkit.responses.long` and `irtkit.responses.wide` make a response matrix of a `Table`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique
from irtkit.responses.columns import is_long, matched, respondent_position
from irtkit.responses.marking import Marking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.columns import Names

BLOCK_ROWS = 2**17  # Rows of a long block: its arrays stay in the processor's cache.
_BLOCK_CELLS = 2**19  # Cells of a block of a wide table.


# What a setting takes: its word on the command line, and its type in Python.
_TYPES = {
    "NAME": "str",
    "NAMES": "str or list of str",
    "COLUMN": "str",
    "COLUMNS": "str or list of str",
    "FILE|LABEL": "path, mapping or str",
    "NUMBER": "float",
    "INTEGER": "int",
    "RANGE": "pair or mapping",
    "WORDS": "str, float or list",
    "RULE": '{"error", "count", "first", "last", "mean>=0.5"}',
    "missing": '{"missing"}',
    "": "bool",
}


FOUND: Any = "found"  # Levels that their values tell, for `fit`.
_INDENTED: Any = {"initial_indent": "    ", "subsequent_indent": "    ", "break_on_hyphens": False}


def _setting(word: str, text: str, *, of: str = "all", option: bool = True) -> Any:
    """Declare a setting: what it takes, its help, and the kind of source that it is for.

    ``labels`` are tables with labels, ``marks`` tables and arrays, ``logs`` evaluation logs, and
    ``ratings`` long tables and logs with judges.
    """
    default = {"": False, "RULE": "error"}.get(word)
    return field(default=default, metadata={"word": word, "text": text, "of": of, "option": option})


@dataclass(frozen=True)
class Settings:
    """How responses are read: the arguments of `irtkit.read_responses`, and options of commands."""

    format: str | None = _setting(
        "NAME", "Format: wide, long, parquet, py-irt or the name of a harness."
    )
    task: Names = _setting("NAMES", "Tasks or subsets to read.")
    respondent: Names = _setting(
        "COLUMNS", "Column of systems in a table, or several, to be joined with /.", of="labels"
    )
    item: Names = _setting(
        "COLUMNS",
        "Column of items in a long table, or several, to be joined: task,question_id.",
        of="labels",
    )
    response: str | None = _setting(
        "COLUMN",
        "Column of responses in a long table. Columns with usual names need not be named.",
        of="labels",
    )
    judge: Names = _setting(
        "COLUMNS",
        "Column of judges in a long table of ratings, or several with the marks of one judge "
        "each, or * for the usual one, or for all metrics of logs. An item is then an item as one "
        "judge marks it. irtkit judges adjusts the marks.",
        of="ratings",
    )
    family: str | None = _setting(
        "COLUMN",
        "Column of a long table with the family of each system, kept as a column of "
        "`respondent_table`.",
        of="ratings",
        option=False,
    )
    key: Any = _setting(
        "FILE|LABEL",
        "Right answers: a table of items and answers, or the row or column that holds them.",
        of="labels",
    )
    threshold: float | None = _setting(
        "NUMBER", "Scores at or above it are right, all others wrong."
    )
    score_range: Any = _setting(
        "RANGE",
        "Worst and best score: 0,100, or 100,0 where lower is better. By default 0,1. STSB=-1,1 "
        "is for the item STSB alone, and may be repeated.",
    )
    right: Any = _setting("WORDS", "Words or numbers that are right: correct,C,pass.", of="marks")
    wrong: Any = _setting(
        "WORDS", "Words or numbers that are wrong. By default all other words.", of="marks"
    )
    missing: Any = _setting(
        "WORDS",
        "Words or numbers that are missing: ERROR,refused. Empty cells and NA always are.",
        of="marks",
    )
    levels: bool = _setting(
        "",
        "Read ordered levels, from 0, or from 1 if no cell is 0, up to the highest of the table, "
        "unless `score_range` declares others. GPCM and GRM imply it.",
    )
    order: Any = _setting(
        "WORDS",
        "Words of ordered levels, from the worst to the best: bad,fair,good. They are scores from "
        "0 to 1 without `levels`.",
        of="labels",
    )
    options: int | None = _setting(
        "INTEGER", "Number of options of every item, between which a system can guess."
    )
    ignore: Names = _setting(
        "COLUMNS",
        "Columns of a table, or labels of rows, to leave out. q* is a pattern.",
        of="labels",
    )
    keep: Names = _setting(
        "COLUMNS", "The only columns of a wide table that are items.", of="labels"
    )
    transpose: bool = _setting(
        "", "Read rows of a wide table as items and columns as systems.", of="labels"
    )
    repeats: str = _setting(
        "RULE",
        "What rows, epochs or runs of one system and item are: repeated trials (count), one "
        "response (first, last or mean>=SHARE), or an error, by default, where only the newest "
        "run of a log is read.",
    )
    metric: Names = _setting(
        "NAMES",
        "Metric of logs that says right or wrong. The first that a task has is read.",
        of="logs",
    )
    filter: Names = _setting("NAMES", "Filter of answers in logs that the metric uses.", of="logs")
    errors: str | None = _setting(
        "missing",
        "Leave out answers of logs that ended in an error, where the harness marks them wrong "
        "(SWE-bench).",
        of="logs",
    )
    sparse: bool = _setting(
        "", "Keep only the observed cells, for tables that answer few of all cells.", option=False
    )
    strict: bool = _setting("", "Stop at a file that cannot be read, instead of skipping it.")

    @cached_property
    def marking(self) -> Marking:
        """What is right, wrong and missing."""
        marking = Marking.of(
            self.threshold, self.right, self.wrong, self.missing, self.score_range, self.order
        )
        plain = not (marking.right or marking.of_scores or self.sparse)
        one_response = self.repeats in {"error", "first", "last"}
        points = plain and one_response and self.levels == FOUND
        return marking._replace(points=points)

    @classmethod
    def names(cls, *kinds: str) -> tuple[str, ...]:
        """Names of all settings, or of those that are for some kinds of sources only."""
        declared = fields(cls)
        return tuple(s.name for s in declared if not kinds or s.metadata["of"] in kinds)

    def refuse(self, names: Sequence[str], what: str) -> None:
        """Raise an error for the first of some settings that is set."""
        for name in names:
            if getattr(self, name) not in (None, False):
                raise ValueError(f"{name} is for {what}")

    @classmethod
    def documented(cls, docstring: str | None) -> str:
        """Return a docstring whose line ``{settings}`` is replaced by what all settings are."""
        parameters = []
        for setting in fields(cls):
            kind = _TYPES[setting.metadata["word"]]
            end = "optional" if setting.default is None else f"default {setting.default}"
            parameters.append(f"{setting.name} : {kind}, {end}")
            parameters += wrap(setting.metadata["text"], 96, **_INDENTED)
        return (docstring or "").replace("{settings}", "\n    ".join(parameters))


@dataclass(frozen=True)
class Table:
    """A table that is not read yet."""

    header: list[str]
    columns: Callable[[list[int]], Iterator[tuple[list[Any], int]]]
    """Blocks of the columns at these positions, and how much of `size` is read with each: arrays of
    PyArrow or Series of pandas."""
    rows: Callable[[], Iterator[pd.DataFrame]]
    """Blocks of all columns."""
    size: int = 0
    labelled: bool = False
    """Whether the first column is an index, which holds respondents."""
    place: str = ""
    """Name of the file."""
    clean: Callable[[str], str] | None = None
    """Label of a cell of text, if it is another text."""

    def is_long(self, settings: Settings) -> bool:
        """Whether the table has a row per response."""
        if settings.judge is not None or settings.family is not None:
            return True
        if settings.format in {"wide", "long"}:
            return settings.format == "long"
        out = matched(self.header, settings.ignore)[0] if settings.ignore else ()
        kept = [name for k, name in enumerate(self.header) if k not in out]
        return is_long(kept, settings.respondent, settings.item, settings.response)


def as_frame(given: Any) -> pd.DataFrame:
    """Frame of pandas from a frame of any library that narwhals knows."""
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return given
    import narwhals.stable.v1 as nw

    check_unique("column names must be unique", getattr(given, "column_names", ()))
    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        kind = type(given).__name__
        raise TypeError(f"frame must be a data frame (pandas, polars, PyArrow, …), got {kind}")
    if frame.implementation.is_pandas_like() or nw.Object in frame.schema.values():
        return frame.to_pandas()
    words = [name for name, kind in frame.schema.items() if isinstance(kind, nw.Categorical)]
    if words:
        frame = frame.with_columns(nw.col(*words).cast(nw.String))
    plain: Any = frame.to_arrow()
    return plain.replace_schema_metadata().to_pandas()  # no column becomes an index


def joined_names(names: Iterable[tuple[object, ...]]) -> list[str]:
    """Join the names of columns in several levels, without levels where all have one name.

    >>> joined_names([("score", "gsm8k", 1), ("score", "arc", 1), ("score", "arc", 2)])
    ['gsm8k/1', 'arc/1', 'arc/2']
    """
    levels = [*zip(*names, strict=True)]
    differing = [level for level in levels if len({*level}) > 1]
    differing = differing or levels[-1:]
    return ["/".join(map(str, parts)) for parts in zip(*differing, strict=True)]


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index, if that has a name, among the columns."""
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(level=named) if named else frame


def by_item(table: Any, argument: str) -> pd.DataFrame:
    """Frame of pandas by item label: its column "item", or else its index."""
    frame = as_frame(table)
    if "item" in frame.columns:
        return frame.set_index("item")
    if not hasattr(table, "index"):
        raise ValueError(f"{argument}: a table without an index needs a column item, with labels")
    return frame


def frame_table(given: Any, place: str = "") -> Table:
    """Table in a data frame of any library; an index that holds labels is its first column."""
    import pandas as pd

    frame = as_frame(given)
    index = frame.index
    labelled = index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu"
    if not labelled and isinstance(index, pd.RangeIndex) and (index.start or index.step != 1):
        labelled = respondent_position([*map(str, frame.columns), ""]) is None
    if labelled:
        nameless = index.nlevels == 1 and index.name is None
        labels = frame[[]].reset_index(names="" if nameless else None)
        frame = pd.concat([labels, frame.reset_index(drop=True)], axis=1)
    header = [*map(str, frame.columns)]

    def blocks(n_rows: int) -> Iterator[tuple[Any, int]]:
        for start in range(0, len(frame), n_rows):
            part = frame.iloc[start : start + n_rows]
            yield part, start + len(part)

    def columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        for part, done in blocks(BLOCK_ROWS):
            yield [part.iloc[:, position] for position in positions], done

    def rows() -> Iterator[pd.DataFrame]:
        n_rows = _BLOCK_CELLS // max(1, len(header))
        for part, _ in blocks(max(1, n_rows)):
            yield part

    return Table(header, columns, rows, len(frame), labelled, place)


def numbers_or_objects(values: Any, kinds: Iterable[Any]) -> NDArray[Any]:
    """Array of a series or frame with these types: numbers if all types are, else objects."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    kinds = set(kinds)
    of_numpy = all(isinstance(kind, np.dtype) and kind.kind != "O" for kind in kinds)
    if of_numpy and len(kinds) == 1:
        return np.asarray(values)
    if all(is_numeric_dtype(kind) and not is_complex_dtype(kind) for kind in kinds):
        return values.to_numpy(np.float64, na_value=np.nan)
    return values.to_numpy(object)
