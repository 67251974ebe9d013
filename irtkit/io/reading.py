"""Reading responses: the file's content says which format it is in, the format which reader.

A further format is one more file beside this one, with a recogniser and a reader, and one more
line in `FORMATS`; the first recogniser that says yes decides, so the special come first.
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard

from irtkit.checks import first_names, not_one_of, short
from irtkit.files import as_path
from irtkit.io import delimited, log_matrix, logs, parquet, py_irt
from irtkit.io.memory import responses_of
from irtkit.io.merging import merge_responses
from irtkit.io.source import Source
from irtkit.io.text import naming
from irtkit.io.writing import is_side_table, side_tables, with_side_tables
from irtkit.printed import printable
from irtkit.responses import ResponseMatrix
from irtkit.responses.trials import check_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from irtkit.io.source import Choice
    from irtkit.responses.long_table import LongTable
    from irtkit.responses.matrix import Columns, Repeats, Words


class Format(NamedTuple):
    """How to tell a format and how to read it."""

    recognises: Callable[[Source], bool]
    read: Callable[[Source], ResponseMatrix]


def _log(name: str) -> Format:
    kind = logs.LOG_FORMATS[name]
    return Format(
        lambda source: kind.recognise(source.path, source.head),
        lambda source: _matrix(logs.read_files([source.path], form=name), source),
    )


def _matrix(found: logs.Logs, source: Source) -> ResponseMatrix:
    if source.right is not None:
        raise ValueError("right= and wrong= are for tables; metric= says what is right in logs")
    try:
        return log_matrix.matrix_of(
            found,
            metric=source.metric,
            filter=source.filter,
            threshold=source.threshold,
            repeats=source.repeats,
            errors=source.errors,
            sparse=source.sparse,
        )
    except MemoryError as error:
        raise ValueError("the matrix and its texts need more memory than there is") from error


FORMATS = {
    "py-irt": Format(py_irt.recognise, py_irt.read),  # before logs: any word may be an item of it
    **{name: _log(name) for name in logs.LOG_FORMATS},
    "parquet": Format(parquet.recognise, parquet.read),
    "long": Format(delimited.recognise_long, delimited.read_long),
    "wide": Format(delimited.recognise_wide, delimited.read_wide),
}
_LONG = {"parquet": parquet.long_table, "long": delimited.long_table}
_SHAPES = frozenset({"wide", "long"})
_LOGGER = logging.getLogger("irtkit")


def read_responses(
    path: object,
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas and others use
    respondent: str | None = None,
    item: str | None = None,
    response: str | None = None,
    metric: Choice = None,
    filter: Choice = None,  # noqa: A002 - the word of the harnesses
    threshold: float | None = None,
    repeats: Repeats = "error",
    errors: Literal["missing"] | None = None,
    sparse: bool = False,
    right: Words = None,
    wrong: Words = None,
    ignore: Columns = (),
    keep: Columns | None = None,
) -> ResponseMatrix:
    r"""Read a response matrix from a file, from evaluation logs in a folder, or from memory.

    Parameters
    ----------
    path
        A file, plain or gzip; or a folder, a pattern such as ``runs/*.eval`` or a list of paths,
        whose evaluation logs, of any harness, or whose tables, make one matrix. Labels are kept as
        they are written: ``007`` and ``NA`` are respondents like any other. A cell that is empty,
        NA or nan is missing. A long table is read block by block, so that its rows are never all
        in memory, and the long tables of a folder are read as one.

        Or a wide or long data frame of pandas, polars, PyArrow or another library that narwhals
        knows, whose columns are recognised as in files (`ResponseMatrix.from_frame` and
        `from_long`); a dict of columns; a list of records, dicts that are the rows of such a
        table; a dict from respondent to a dict from item to response; or an array or list of
        lists, respondents × items.
    format
        By default the content decides. To force it: "wide" (a row per respondent, a column per
        item), "long" (a row per response), "py-irt" (JSON lines), "parquet", or the name of a
        harness: "lm-eval", "inspect", "helm", "every-eval-ever", "openml", "swe-bench",
        "evalplus" or "open-llm". Wide and long tables may be text with commas, tabs or
        semicolons, or Parquet.
    respondent, item, response
        The columns of a long table, or that of respondents in a wide one; naming the item or
        response means that the table is long. By default they are recognised by the usual names
        (model, item_id, correct and the like).
    metric, filter
        Logs: the metric that says what is right, and the filter of the answer that it was
        computed on, where a task has several; of a list of names the first that a task has
        counts.
    threshold, right, wrong
        What counts as right: graded scores at or above the threshold, or words or numbers
        (``right="pass"``, ``wrong=["fail", "timeout"]``), see `ResponseMatrix`.
    repeats
        What several rows of the same respondent and item in a long table are, or the epochs or
        trials of a sample in a log: "error" (default), "count", "first", "last" or "mean>=0.5", see
        `ResponseMatrix.from_long`. So are the answers of several runs of one respondent on the same
        task, in the order of time (of the files' names, where logs do not say when they were
        written); by default the newest run counts, which a warning says, and it is an error if that
        cannot be told or did not end well. Copies and retries of a run are none of their own.
    errors
        Logs: "missing" leaves out answers that ended in an error where the harness counts them as
        wrong (SWE-bench: ``error_ids``). Those that others mark as failed are always missing.
    sparse
        Whether to keep the observed cells of a long table or of logs alone, see
        `ResponseMatrix.from_long`.
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

        The items of logs are ``task/item``, in the order of the files' names. Samples that failed
        are missing, not wrong. What the logs tell of items and respondents is in ``item_table``
        and ``respondent_table``, and what else was measured of the answers (further scores, tokens,
        seconds) in ``metrics``; of other files that is in tables beside them, see
        `write_responses`.

    Raises
    ------
    TypeError
        If it is nothing of what is named above.
    ValueError
        If the content is not what it should be; the message begins with the name of the file.
    OSError
        If there is no such file (FileNotFoundError).
    ImportError
        If a log is compressed in a way that needs an extra.

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
    if not (format is None or isinstance(format, str)):
        raise not_one_of("format", format, FORMATS)
    for name, column in (("respondent", respondent), ("item", item), ("response", response)):
        if not (column is None or isinstance(column, str)):
            raise TypeError(f"{name} must be the name of a column, got {short(column)}")
    source = Source(
        Path(),
        shape=format if format in _SHAPES else None,
        columns=(respondent, item, response),
        threshold=threshold,
        repeats=repeats,
        sparse=sparse,
        metric=metric,
        filter=filter,
        errors=errors,
        right=right,
        wrong=wrong,
        ignore=ignore,
        keep=keep,
    )
    if _are_paths(path):
        files = sorted({file for one in path for file in logs.files_of(_existing(one))})
        return _understood(_of_files(files, source, format), f"{len(path)} paths", source)
    if not isinstance(path, str | os.PathLike):
        check_repeats(repeats)
        source.refuse_log_settings()
        if format not in {None, *_SHAPES}:
            raise ValueError(f"format must be wide or long for data in memory; got {short(format)}")
        return _understood(*responses_of(path, source), source)
    file = as_path(path).expanduser()
    if logs.stands_for_several(file):
        files = logs.files_of(file)
        with naming(file):
            return _understood(_of_files(files, source, format), f"files in {path}", source)
    with naming(file):
        source = replace(source, path=file)
        name = _format_name(source, format)
        responses = with_side_tables(FORMATS[name].read(source), file)
        return _understood(responses, f"{file.name} ({name})", source)


def _are_paths(given: object) -> TypeGuard[Sequence[str | os.PathLike[str]]]:
    """Whether it is a list of paths, and no data."""
    if not isinstance(given, list | tuple) or not given:
        return False
    return all(isinstance(one, str | os.PathLike) for one in given)


def _existing(path: str | os.PathLike[str]) -> Path:
    """Return a path that is there, or a pattern."""
    file = as_path(path).expanduser()
    if not logs.stands_for_several(file) and not file.exists():
        raise FileNotFoundError(f"{path}: no such file")
    return file


def as_responses(given: object, **reading: Any) -> ResponseMatrix:
    """Return a response matrix as it is, and read anything else, see `read_responses`."""
    if not isinstance(given, ResponseMatrix):
        return read_responses(given, **reading)
    for name in reading:
        raise TypeError(f"{name}= says how to read responses, which are a ResponseMatrix already")
    return given


def _understood(responses: ResponseMatrix, what: str, source: Source) -> ResponseMatrix:
    """Say what was read."""
    if source.right is not None:
        successes = responses.observed.successes if responses.is_sparse else responses.successes
        if not successes.max():
            raise ValueError(f"no response is right: right={short(source.right)} occurs nowhere")
    size = f"{responses.n_respondents:,} respondents × {responses.n_items:,} items"
    _LOGGER.info("%s from %s", size, printable(what))
    return responses


def format_of(path: str | os.PathLike[str]) -> str:
    """Name of the format of a file, as its content says."""
    file = as_path(path)
    with naming(file):
        return _format_name(Source(file), None)


def holds_logs(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an evaluation log, or one of those in a folder or of a pattern."""
    return any(logs.log_format_of(file) is not None for file in logs.files_of(path))


def repeats_of_part(path: str | os.PathLike[str], repeats: Repeats) -> Repeats:
    """How to take repeats in one of several files, so that all merged are as if read as one.

    A format that has no room for them has none.
    """
    if not logs.stands_for_several(path) and format_of(path) == "py-irt":
        return "error"
    return "count" if repeats.startswith("mean") else repeats


def _of_files(files: list[Path], source: Source, form: str | None) -> ResponseMatrix:
    """Matrix of all logs among the files; of all tables, if there are no logs."""
    check_repeats(source.repeats)
    if form is not None and form not in logs.LOG_FORMATS:
        known = ", ".join(logs.LOG_FORMATS)
        raise ValueError(f"format must be one of {known} for a folder of logs; got {short(form)}")
    found = logs.read_files(files, form=form)
    found.skipped = [file for file in found.skipped if not is_side_table(file)]
    if found.readings:
        source.refuse_columns("logs")
        return _matrix(found, source)
    tables = [file for file in found.skipped if logs.is_table(file)]
    if not tables or form is not None:
        names = first_names([file.name for file in files])
        raise ValueError(
            f"there are no evaluation logs or tables among the {len(files)} files ({names})"
        )
    found.skipped = [file for file in found.skipped if file not in tables]
    log_matrix.warn_of_skipped(found)
    parts = []
    for file in tables:
        with naming(file):
            one = replace(source, path=file, repeats=repeats_of_part(file, source.repeats))
            parts.append((one, _format_name(one, None)))
    if not any(map(side_tables, tables)):
        long = _long_tables(parts)
        if len(long) == len(parts):
            return source.matrix_of_long(*long)
    matrices = []
    for one, name in parts:
        with naming(one.path):
            matrices.append(with_side_tables(FORMATS[name].read(one), one.path))
    return merge_responses(matrices, repeats=source.repeats)


def _long_tables(parts: Iterable[tuple[Source, str]]) -> list[LongTable]:
    """Files that can be read as one long table, up to the first that is none of these."""
    found: list[LongTable] = []
    for source, form in parts:
        with naming(source.path):
            if form not in _LONG or (table := _LONG[form](source)) is None or not table.is_text:
                break
            found.append(replace(table, blocks=partial(_blocks, table, source.path)))
    return found


def _blocks(table: LongTable, file: Path) -> Iterator[tuple[Sequence[Any], int]]:
    with naming(file):
        yield from table.blocks()


def _format_name(source: Source, requested: str | None) -> str:
    check_repeats(source.repeats)
    known = ", ".join(FORMATS)
    if not source.head.strip():
        raise ValueError("the file is empty")
    if requested is None:
        recognised = (name for name, kind in FORMATS.items() if kind.recognises(source))
        name = next(recognised, None)
        if name is None and logs.is_companion(source.path):
            raise ValueError("the file lies beside evaluation logs and is none; pass the folder")
        if name is None:
            raise ValueError(f"the content is of no known format ({known}; text must be UTF-8)")
    elif requested not in FORMATS:
        raise ValueError(f"format must be one of {known}; got {short(requested)}")
    elif requested in _SHAPES and parquet.recognise(source):
        name = "parquet"
    else:
        name = requested
    if name in logs.LOG_FORMATS:
        source.refuse_columns(name)
        return name
    source.refuse_log_settings()
    if name not in {"long", "parquet"} or source.shape == "wide":
        source.refuse_long_settings(requested or name)
    return name


READING = tuple(read_responses.__kwdefaults__ or ())
"""Arguments that say how to read."""
