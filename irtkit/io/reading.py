"""Reading responses: files, folders of logs or tables, and data in memory."""

from __future__ import annotations

import logging
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_one_of, check_unique, counted, first_names
from irtkit.files import as_path, head_of
from irtkit.findings import Finding, ReadingError, Remedy, failed, warn
from irtkit.io import logs, table_files
from irtkit.io.json_text import json_document
from irtkit.io.merging import merge_responses, repeats_of_parts
from irtkit.io.text import naming, read_text_table, text_table
from irtkit.io.writing import is_side_table, side_tables, with_side_tables
from irtkit.printed import printable
from irtkit.responses.cells import check_repeats
from irtkit.responses.columns import listed, target_position, transposed, usual_columns
from irtkit.responses.levels import WIDEST, levels_of
from irtkit.responses.long import read_long
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.source import Source
from irtkit.responses.tables import Settings, Table, as_frame, frame_table
from irtkit.responses.wide import of_tasks, read_wide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from irtkit.responses.columns import Names

FORMATS = ("wide", "long", "parquet", "py-irt", *logs.LOG_FORMATS)  # Values of `format`.
FOR_TABLES = (
    *("respondent", "item", "response", "key", "right", "wrong", "missing"),
    *("ignore", "keep", "transpose"),
)
FOR_LOGS = ("metric", "filter", "errors")  # Settings that the other kind of source does not take.
_LOGGER = logging.getLogger("irtkit")


def read_responses(
    path: object,
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas and others use
    respondent: Names = None,
    item: Names = None,
    response: str | None = None,
    task: Names = None,
    metric: Names = None,
    filter: Names = None,  # noqa: A002 - the word of the harnesses
    key: Any = None,
    threshold: float | None = None,
    right: Any = None,
    wrong: Any = None,
    missing: Any = None,
    score_range: Any = None,
    levels: bool = False,
    ignore: Names = None,
    keep: Names = None,
    transpose: bool = False,
    repeats: str = "error",
    errors: str | None = None,
    sparse: bool = False,
    strict: bool = False,
) -> ResponseMatrix:
    r"""Read a response matrix from a file, a folder or data in memory.

    The content decides the format. A table is wide (a row per respondent, a column per item) or
    long (a row per response). All evaluation logs in a folder make one matrix. ``irtkit inspect``
    shows what irtkit makes of a file.

    Parameters
    ----------
    path : str, path, list of paths, data frame, array, dict or list of records
        A file (plain or gzip), a folder, a pattern such as ``runs/*.eval``, or data in memory. An
        array has respondents as rows.
    format : str, optional
        Force the format: "wide", "long", "parquet", "py-irt" or the name of a harness.
    respondent, item : str or list of str, optional
        Tables: columns with the labels. Several columns are joined with "/". `item` is for
        long tables.
    response : str, optional
        Long tables: the column of responses. Columns with usual names need not be named.
    task : str or list of str, optional
        Tasks to read.
    metric, filter : str or list of str, optional
        Logs: metric that says what is right, and answer filter. The first that a task has counts.
    key : path, mapping or str, optional
        Tables of answers: right answer of each item, or the label of the row that holds them.
    threshold : float, optional
        Scores at or above it are right, all others wrong.
    right, wrong, missing : str, float or list, optional
        Words or numbers that are right, wrong or missing. Capitals do not matter. Without `wrong`
        all other words are wrong. Empty cells and NA are always missing.
    score_range : pair or mapping, optional
        Worst and best score, such as (0, 100), or (100, 0) where lower is better; or a mapping of
        items to such pairs. Others, and all by default, have (0, 1).
    levels : bool, default False
        Read ordered levels for the GPCM and the GRM, from 0, or from 1 if no cell is 0, up to the
        highest that an item reached. `score_range` declares others: (1, 5).
    ignore, keep : str or list of str, optional
        Tables: columns to leave out, and the only columns that are items. Patterns such as ``q*``
        are allowed. `ignore` may name rows by their label, too.
    transpose : bool, default False
        Wide tables: rows are items and columns are respondents.
    repeats : {"error", "count", "first", "last", "mean>=0.5"}, default "error"
        What several rows, epochs or runs of one respondent and item are: an error (only the newest
        run of a log is read), repeated trials, or one response.
    errors : {"missing"}, optional
        Logs: leave out answers that ended in an error if the harness marks them wrong (SWE-bench).
    sparse : bool, default False
        Keep only the observed cells, for tables that answer few of all cells.
    strict : bool, default False
        Folders: raise an error for a file that cannot be read, instead of a warning.

    Returns
    -------
    ResponseMatrix
        Rows and columns in the order in which labels first occur. ``source`` says how it was read.

    Raises
    ------
    irtkit.findings.ReadingError
        A ValueError: if the content is damaged, or needs a choice, which the message lists.

    Notes
    -----
    Other findings are given as `irtkit.findings.IRTWarning`. Labels are kept as they are written:
    ``007`` and ``NA`` are labels. Items of logs, and of long tables with a column of tasks, are
    called ``task/item``. Failed samples of logs are missing, not wrong.

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
    given = dict(locals())
    del given["path"]
    if format is not None:
        check_one_of("format", format, FORMATS)
    check_repeats(repeats)
    if key is not None and not (threshold is None and right is None and score_range is None):
        raise ValueError(
            "key is for answers, and threshold, right and score_range are for marks. Pass one"
        )
    declared, others = score_range, (key, threshold, right)
    if levels and any(one is not None for one in others):
        raise ValueError(
            "levels=True is for numbers, and key, threshold and right are for other marks"
        )
    if levels and score_range is None:
        given["score_range"] = WIDEST
    settings = Settings(**(given if key is None else given | {"key": _key(key)}))
    findings: list[Finding] = []
    paths: Any = [path] if isinstance(path, str | os.PathLike) else path
    if not _is_list_of(paths, str, os.PathLike):
        matrix, form = _of_memory(path, settings, findings)
        return _finished(matrix, form, (), settings, findings, declared)
    found = [as_path(one).expanduser() for one in paths]
    files = [*dict.fromkeys(file for one in found for file in logs.files_of(one))]
    several = paths is path or logs.stands_for_several(found[0])
    name = Path(f"{len(found)} paths" if paths is path else str(path)) if several else files[0]
    with naming(name):
        if several:
            matrix, form = _of_files(files, settings, findings)
        else:
            matrix, form = _of_file(files[0], settings, findings)
    return _finished(matrix, form, tuple(map(str, paths)), settings, findings, declared)


READING = tuple(read_responses.__kwdefaults__ or ())  # Arguments that say how to read.


def as_responses(given: object, **reading: Any) -> ResponseMatrix:
    """Return a response matrix as it is, and read anything else, see `read_responses`."""
    if not isinstance(given, ResponseMatrix):
        return read_responses(given, **reading)
    for name in reading:
        raise TypeError(f"{name} says how to read responses, which are a ResponseMatrix already")
    return given


def _finished(
    matrix: ResponseMatrix,
    form: str,
    files: tuple[str, ...],
    settings: Settings,
    findings: list[Finding],
    score_range: Any,
) -> ResponseMatrix:
    """Return the matrix of the tasks with its source, give warnings, and log the size."""
    matrix = matrix if settings.task is None else of_tasks(matrix, settings.task)
    matrix = levels_of(matrix, score_range) if settings.levels else matrix
    counts = Counter[str]()
    for finding in findings:
        if finding.severity == "warning":
            warn(finding)
        if finding.code in {"older-runs", "rows-missing"}:
            counts[finding.code] += finding.values["n"]
    names = ("metric", "filter", "task", "threshold", "right", "wrong", "missing")
    read = {name: getattr(settings, name) for name in names} | {"score_range": score_range}
    source = Source(
        files,
        form,
        **read,
        key="given" if isinstance(settings.key, dict) else settings.key,
        repeats=None if settings.repeats == "error" else settings.repeats,
        n_runs_merged=counts["older-runs"],
        n_rows_dropped=counts["rows-missing"],
        findings=tuple(findings),
    )
    matrix.source = source
    if _LOGGER.isEnabledFor(logging.INFO):
        size = counted(matrix.n_respondents, "respondent"), counted(matrix.n_items, "item")
        _LOGGER.info("%s × %s. %s", *size, printable(str(source)))
    return matrix


def _is_list_of(given: Any, *kinds: type) -> bool:
    several = isinstance(given, list | tuple) and bool(given)
    return several and all(isinstance(one, kinds) for one in given)


def _key(key: Any) -> Any:
    """Right answers by item. A text that is not a file is the label of a row."""
    if isinstance(key, str) and not Path(key).is_file():
        return key
    if not isinstance(key, str | os.PathLike):
        return {str(item): value for item, value in dict(key).items()}
    with naming(Path(key), "key"):
        if Path(key).suffix == ".json":
            return dict(json_document(Path(key)))
        table = read_text_table(Path(key))
        if len(table) == 1 and table.shape[1] > 2:
            return table.iloc[0].to_dict()
        if table.shape[1] < 2:
            raise ValueError("a key has two columns: the item and its right answer")
        at = target_position([*map(str, table.columns)])
        item = 0 if at != 0 else 1
        check_unique("a key must name an item once", table.iloc[:, item])
        return dict(zip(table.iloc[:, item], table.iloc[:, at], strict=True))


def _refuse(settings: Settings, names: Sequence[str], what: str) -> None:
    if given := [name for name in names if getattr(settings, name) not in (None, False)]:
        raise ValueError(f"{given[0]} is for {what}")


def form_of(file: Path, head: bytes, requested: str | None) -> str:
    """Form of a file: the name of a harness, py-irt, parquet, excel, npy, json or text."""
    if requested is not None and requested not in {"wide", "long"}:
        return requested
    begins = head.lstrip()[:1]
    if not begins:
        raise ValueError("the file is empty")
    if table_files.is_py_irt(head):
        return "py-irt"
    harness = logs.log_format(file, head, alone=True)
    if harness == logs.BESIDE:
        raise ValueError(
            "the file belongs to evaluation logs and is not a log itself. Pass the folder"
        )
    for form, found in (
        (harness or "", harness is not None),
        ("parquet", head.startswith(table_files.MAGIC)),
        ("excel", head.startswith(b"PK") and file.suffix.lower() in {".xlsx", ".xlsm"}),
        ("npy", head.startswith(b"\x93NUMPY")),
        ("json", file.suffix.lower() == ".json" or begins in {b"[", b"{"}),
        ("text", b"\0" not in head),
    ):
        if found:
            return form
    known = ", ".join(FORMATS)
    raise ValueError(f"the format of the content is unknown ({known}). Save text as UTF-8")


def _table(file: Path, form: str, head: bytes) -> Table:
    """Table in a file of a form."""
    if form == "text":
        return text_table(file, head)
    if form == "json":
        return table_files.records_table(file, head)
    readers = {"parquet": table_files.parquet_table, "excel": table_files.excel_table}
    return readers.get(form, table_files.py_irt_table)(file)


def _of_file(file: Path, settings: Settings, findings: list[Finding]) -> tuple[ResponseMatrix, str]:
    head = head_of(file)
    form = form_of(file, head, settings.format)
    if form in logs.LOG_FORMATS:
        matrix, form = _of_logs(logs.read_logs([file], form=form), settings, findings)
    else:
        _refuse(settings, FOR_LOGS, "evaluation logs, but this is a table")
        if form == "npy":
            return _of_memory(table_files.numpy_array(file), settings, findings)
        matrix, form = _of_table(_table(file, form, head), settings, findings)
    return with_side_tables(matrix, file), form


def _of_table(
    table: Table, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    is_long = table.is_long(settings)
    matrix, found = read_long([table], settings) if is_long else read_wide(table, settings)
    findings += found
    if is_long or settings.transpose:
        return matrix, "long table" if is_long else "wide table, transposed"
    if transposed(matrix.respondents, matrix.items):
        labels = {"item": matrix.respondents[0], "respondent": matrix.items[0]}
        remedy = Remedy({"transpose": True}, "transpose", safe=False)
        findings.append(Finding("transposed", "warning", labels, (remedy,)))
    return matrix, "wide table"


def _of_logs(
    found: logs.Logs, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    _refuse(settings, FOR_TABLES, "tables, but these are evaluation logs")
    matrix = logs.matrix_of(found, settings, findings)
    return matrix, ", ".join(found.runs["format"].unique())


def matrix_of_logs(found: logs.Logs, findings: list[Finding], **given: Any) -> ResponseMatrix:
    """Response matrix of logs that are read, as `read_responses` gives it. Findings are added."""
    settings = Settings(**given)
    check_repeats(settings.repeats)
    files = tuple(dict.fromkeys(map(str, found.runs["path"])))
    logs_read = _of_logs(found, settings, findings)
    return _finished(*logs_read, files, settings, findings, settings.score_range)


def _of_files(
    files: list[Path], settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of all logs among the files, or of all tables if none is a log."""
    form = settings.format if settings.format in logs.LOG_FORMATS else None
    found = logs.read_logs(files, form=form, strict=settings.strict)
    if found.samples:
        if settings.format is not None:
            check_one_of("format", settings.format, logs.LOG_FORMATS)
        return _of_logs(found, settings, findings)
    others = [one for one in found.skipped if not is_side_table(one)]
    tables = [one for one in others if logs.is_table(one)]
    if not tables or form is not None:
        names = first_names([file.name for file in files])
        raise ValueError(f"none of the {len(files)} files is an evaluation log or table: {names}")
    _refuse(settings, FOR_LOGS, "evaluation logs, but these are tables")
    if skipped := [file.name for file in others if file not in tables]:
        findings.append(Finding("skipped-files", "warning", {"n": len(skipped), "files": skipped}))
    opened: dict[Path, Table] = {}
    for file in tables:
        try:
            with naming(file):
                head = head_of(file)
                opened[file] = _table(file, form_of(file, head, settings.format), head)
        except (ReadingError, OSError) as error:
            _leave_out(file, error, settings, findings, "damaged", "file")
    _name_respondents(opened, settings, findings)
    while opened and not any(map(side_tables, opened)):
        if not all(table.is_long(settings) for table in opened.values()):
            break
        try:
            matrix, more = read_long([*opened.values()], settings)
        except ReadingError as error:
            if error.file not in opened:
                raise
            _leave_out(error.file, error, settings, findings, "damaged")
            del opened[error.file]
        else:
            findings += more
            return matrix, "long tables"
    matrices, of_parts = [], replace(settings, repeats=repeats_of_parts(settings.repeats))
    for file, table in opened.items():
        try:
            with naming(file):
                matrix, _ = _of_table(table, of_parts, findings)
        except ReadingError as error:
            _leave_out(file, error, settings, findings, "damaged")
        else:
            matrices.append(with_side_tables(matrix, file))
    if not matrices:
        raise failed("nothing-read", n=len(files))
    return merge_responses(matrices, repeats=settings.repeats), "tables"


def _leave_out(
    file: Path, error: Exception, settings: Settings, findings: list[Finding], *codes: str
) -> None:
    """Make an error with one of the codes a finding, unless reading is strict."""
    plain = Finding("file", "error", {"message": str(error)})
    finding = error.finding if isinstance(error, ReadingError) else plain
    if settings.strict or finding.code not in codes:
        raise error
    values = {"file": file.name, "reason": finding.reason}
    findings.append(Finding("unreadable-file", "warning", values))


def _name_respondents(
    opened: dict[Path, Table], settings: Settings, findings: list[Finding]
) -> None:
    """Add a column to long tables without respondents: the name of the file."""
    if settings.respondent is not None and "respondent" not in listed(settings.respondent):
        return
    nameless = [
        file
        for file, table in opened.items()
        if table.is_long(settings) and not usual_columns(table.header, "respondent")
    ]
    labels = [file.name.partition(".")[0] for file in nameless]
    if len(set(labels)) < len(labels):
        folder = os.path.commonpath([file.parent for file in nameless])
        labels = [str(file.relative_to(folder)).rpartition(".")[0] for file in nameless]
    for file, label in zip(nameless, labels, strict=True):
        opened[file] = _with_respondent(opened[file], label)
    if nameless:
        findings.append(Finding("file-names", "warning", {"n": len(labels), "labels": labels}))


def _with_respondent(table: Table, label: str) -> Table:
    """Long table with one respondent in a further, first column."""
    import pyarrow as pa

    def columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        for block, done in table.columns([k - 1 for k in positions if k]):
            places, others = np.zeros(len(block[0]), np.int32), iter(block)
            labels = pa.DictionaryArray.from_arrays(places, [label])
            yield [next(others) if k else labels for k in positions], done

    return replace(table, header=["respondent", *table.header], columns=columns)


def _of_memory(
    given: Any, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of an array, a data frame, a dict or records."""
    if isinstance(given, ResponseMatrix):
        raise TypeError("path is a ResponseMatrix already")
    _refuse(settings, FOR_LOGS, "evaluation logs, and this is data in memory")
    if settings.format not in {None, "wide", "long"}:
        raise ValueError(f"format must be wide or long for data in memory, got {settings.format!r}")
    if isinstance(given, np.ndarray) or (
        isinstance(given, list | tuple) and not _is_list_of(given, dict)
    ):
        others = {"respondent", "item", "response", "key", "ignore", "keep", "transpose", "sparse"}
        _refuse(settings, [*others], "tables with labels, and this is an array")
        words = {
            name: getattr(settings, name) for name in ("threshold", "right", "wrong", "score_range")
        }
        return ResponseMatrix(given, missing=settings.missing, **words), "array"
    return _of_table(frame_table(_frame(given)), settings, findings)


def _frame(given: Any) -> Any:
    """Data frame of records, of a dict of columns or of rows, or of any library."""
    import pandas as pd

    if _is_list_of(given, dict):
        return pd.DataFrame(list(given))
    if isinstance(given, dict) and _is_list_of([*given.values()], dict):
        return pd.DataFrame([*given.values()], index=[*given])
    if isinstance(given, dict) and given:
        return pd.DataFrame(given)
    try:
        return as_frame(given)
    except TypeError as error:
        raise TypeError(
            "responses must be a path, a data frame, an array, a list of records, a dict or a "
            f"ResponseMatrix, got {type(given).__name__}"
        ) from error
