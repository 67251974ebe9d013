"""Reading responses: the file's content says which format it is in, the format which reader.

A further format is one more file beside this one, with a recogniser and a reader, and one more
line in `FORMATS`; the first recogniser that says yes decides, so the special come first.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from irtkit.files import open_bytes
from irtkit.io import delimited, parquet, py_irt
from irtkit.io.memory import responses_of
from irtkit.io.source import HEAD_BYTES, Source
from irtkit.io.text import naming
from irtkit.responses import ResponseMatrix, check_repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.responses import Columns, Repeats, Words


class Format(NamedTuple):
    """How to tell a format and how to read it."""

    recognises: Callable[[Source], bool]
    read: Callable[[Source], ResponseMatrix]


FORMATS = {
    "parquet": Format(parquet.recognise, parquet.read),
    "py-irt": Format(py_irt.recognise, py_irt.read),
    "long": Format(delimited.recognise_long, delimited.read_long),
    "wide": Format(delimited.recognise_wide, delimited.read_wide),
}
_SHAPES = frozenset({"wide", "long"})
_LOGGER = logging.getLogger("irtkit")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_responses(
    path: object,
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas and others use
    respondent: str | None = None,
    item: str | None = None,
    response: str | None = None,
    threshold: float | None = None,
    repeats: Repeats = "error",
    sparse: bool = False,
    right: Words = None,
    wrong: Words = None,
    ignore: Columns = (),
    keep: Columns | None = None,
) -> ResponseMatrix:
    r"""Read a response matrix from a file, or from what there is in memory.

    Parameters
    ----------
    path
        The file, plain or gzip. Labels are kept as they are written: ``007`` and ``NA`` are
        respondents like any other. A cell that is empty, NA or nan is missing.

        Or a wide or long data frame of pandas, polars, PyArrow or another library that narwhals
        knows, whose columns are recognised as in files (`ResponseMatrix.from_frame` and
        `from_long`); a dict of columns; a list of records, dicts that are the rows of such a
        table; a dict from respondent to a dict from item to response; or an array or list of
        lists, respondents × items.
    format
        By default the content decides. To force it: "wide" (a row per respondent, a column per
        item), "long" (a row per response), "py-irt" (JSON lines) or "parquet". Wide and long
        tables may be text with commas, tabs or semicolons, or Parquet.
    respondent, item, response
        The columns of a long table, or that of respondents in a wide one; naming the item or
        response means that the table is long. By default they are recognised by the usual names
        (model, item_id, correct and the like).
    threshold
        If given, responses are graded scores and a score at or above the threshold is right.
    repeats
        What several rows of the same respondent and item are: an "error" (default), or repeated
        trials to "count", see `ResponseMatrix.from_counts`.
    sparse
        Whether to keep the observed cells of a long table alone, see `ResponseMatrix.from_long`.
    right, wrong
        The words or numbers that count, see `ResponseMatrix`: ``right="pass"``,
        ``wrong=["fail", "timeout"]``.
    ignore, keep
        Columns to leave out, and columns of a wide table that are items, if others are not: one
        name, or several.

    Returns
    -------
    ResponseMatrix
        Rows are respondents in the order of the file. In a wide table a column with a usual name
        (respondent, model, subject_id and the like) holds them, or else the first column, unless
        that is itself 0/1 and has a name: then all columns are items, and respondents are numbered.
        What was understood is logged in one line (`logging`, logger "irtkit", level INFO).

    Raises
    ------
    TypeError
        If it is nothing of what is named above.
    ValueError
        If the content is not what it should be; the message begins with the name of the file.
    OSError
        If there is no such file (FileNotFoundError) or it is a folder (IsADirectoryError).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.io import read_responses
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "results.csv")
    ...     _ = path.write_text("model,q1,q2\ngpt,1,0\nllama,,1\n")
    ...     responses = read_responses(path)
    >>> responses.respondents, responses.items
    (('gpt', 'llama'), ('q1', 'q2'))
    >>> responses.values
    array([[ 1,  0],
           [-1,  1]], dtype=int8)
    """
    shape = format if format in _SHAPES else None
    columns = (respondent, item, response)
    words: dict[str, Any] = {"right": right, "wrong": wrong, "ignore": ignore, "keep": keep}
    if not isinstance(path, str | os.PathLike):
        check_repeats(repeats)
        source = Source(Path(), b"", shape, columns, threshold, repeats, sparse, **words)
        if format not in {None, *_SHAPES}:
            raise ValueError(f"format must be wide or long for data in memory; got {format!r}")
        return _understood(*responses_of(path, source), source)
    file = Path(path)
    with naming(file):
        check_repeats(repeats)
        source = Source(file, _head(file), shape, columns, threshold, repeats, sparse, **words)
        name = _format_name(source, format)
        return _understood(FORMATS[name].read(source), f"{file.name} ({name})", source)


def as_responses(given: object, **reading: Any) -> ResponseMatrix:
    """Return a response matrix as it is, and read anything else, see `read_responses`."""
    if not isinstance(given, ResponseMatrix):
        return read_responses(given, **reading)
    for name in reading:
        raise TypeError(f"{name}= says how to read responses, which are a ResponseMatrix already")
    return given


def _understood(responses: ResponseMatrix, what: str, source: Source) -> ResponseMatrix:
    """Say what was read."""
    successes = responses.observed.successes if responses.is_sparse else responses.successes
    if source.right is not None and not successes.max():
        raise ValueError(f"no response is right: right={source.right!r} occurs nowhere")
    _LOGGER.info(
        "%s respondents × %s items from %s",
        f"{responses.n_respondents:,}",
        f"{responses.n_items:,}",
        what,
    )
    return responses


def _format_name(source: Source, requested: str | None) -> str:
    known = ", ".join(FORMATS)
    if requested is None:
        recognised = (name for name, kind in FORMATS.items() if kind.recognises(source))
        name = next(recognised, None)
        if name is None:
            raise ValueError(f"the content is of no known format ({known}; text must be UTF-8)")
    elif requested not in FORMATS:
        raise ValueError(f"format must be one of {known}; got {requested!r}")
    elif requested in _SHAPES and parquet.recognise(source):
        name = "parquet"
    else:
        name = requested
    if source.shape == "wide" or name not in {"long", "parquet"}:
        source.refuse_long_settings(requested or name)
    return name


def _head(file: Path) -> bytes:
    with open_bytes(file) as handle:
        head = handle.read(HEAD_BYTES)
    if not head.strip():
        raise ValueError("the file is empty")
    return head.removeprefix(_BYTE_ORDER_MARK)


READING = tuple(read_responses.__kwdefaults__ or ())
"""Arguments that say how to read."""
