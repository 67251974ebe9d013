"""Reading responses: the file's content says which format it is in, the format which reader.

A further format is one more file beside this one, with a recogniser and a reader, and one more
line in `FORMATS`; the first recogniser that says yes decides, so the special come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from irtkit.files import open_bytes
from irtkit.io import delimited, parquet, py_irt
from irtkit.io.source import HEAD_BYTES, Source
from irtkit.io.text import naming
from irtkit.responses import check_repeats

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from irtkit.responses import Repeats, ResponseMatrix


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
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_responses(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas and others use
    respondent: str | None = None,
    item: str | None = None,
    response: str | None = None,
    threshold: float | None = None,
    repeats: Repeats = "error",
    sparse: bool = False,
) -> ResponseMatrix:
    r"""Read a response matrix from a file.

    Parameters
    ----------
    path
        The file, plain or gzip. Labels are kept as they are written: ``007`` and ``NA`` are
        respondents like any other. A cell that is empty, NA or nan is missing.
    format
        By default the content decides. To force it: "wide" (a row per respondent, a column per
        item), "long" (a row per response), "py-irt" (JSON lines) or "parquet". Wide and long
        tables may be text with commas, tabs or semicolons, or Parquet.
    respondent, item, response
        The columns of a long table; naming one means that the table is long. By default they are
        recognised by the usual names (model, item_id, correct and the like).
    threshold
        If given, responses are graded scores and a score at or above the threshold is right.
    repeats
        What several rows of the same respondent and item in a long table are: an "error"
        (default), or repeated trials to "count", see `ResponseMatrix.from_counts`.
    sparse
        Whether to keep the observed cells of a long table alone, see `ResponseMatrix.from_long`.

    Returns
    -------
    ResponseMatrix
        Rows are respondents in the order of the file. In a wide table the first column names
        them, unless that column is itself 0/1 and its name does not say respondent (or is empty):
        then all columns are items, and respondents are numbered.

    Raises
    ------
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
    file = Path(path)
    shape = format if format in _SHAPES else None
    columns = (respondent, item, response)
    with naming(file):
        check_repeats(repeats)
        source = Source(file, _head(file), shape, columns, threshold, repeats, sparse)
        return FORMATS[_format_name(source, format)].read(source)


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
    if name not in {"long", "parquet"} or source.shape == "wide":
        source.refuse_long_settings(requested or name)
    return name


def _head(file: Path) -> bytes:
    with open_bytes(file) as handle:
        head = handle.read(HEAD_BYTES)
    if not head.strip():
        raise ValueError("the file is empty")
    return head.removeprefix(_BYTE_ORDER_MARK)
