"""Reading responses: files, folders of logs or tables, and data in memory."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_one_of, counted
from irtkit.findings import Finding, failed, warn
from irtkit.printed import printable
from irtkit.responses.cells import check_repeats
from irtkit.responses.columns import usual_columns
from irtkit.responses.guessing import with_options
from irtkit.responses.levels import WIDEST, has_points, kinds_of, levels_found, levels_of
from irtkit.responses.matrix import ResponseMatrix
from irtkit.responses.source import Source
from irtkit.responses.tables import FOUND, Settings, as_frame, frame_table, joined_names
from irtkit.responses.wide import of_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.io.logs import Logs
    from irtkit.responses.columns import Names

TABLE_FORMATS = ("wide", "long", "parquet", "py-irt")  # Values of `format`, beside harnesses.
READING = Settings.names()  # Arguments that say how to read.
FOR_TABLES = Settings.names("labels", "marks")
FOR_LOGS = Settings.names("logs")
_SHAPING = (
    *("metric", "filter", "task", "threshold", "right", "wrong", "missing", "score_range"),
    *("key", "repeats"),
)
"""Settings that a source tells, in this order."""
_LOGGER = logging.getLogger("irtkit")


def read_responses(
    path: object,
    *,
    format: str | None = None,  # noqa: A002 - the word that pandas and others use
    task: Names = None,
    respondent: Names = None,
    item: Names = None,
    response: str | None = None,
    judge: Names = None,
    family: str | None = None,
    key: Any = None,
    threshold: float | None = None,
    score_range: Any = None,
    right: Any = None,
    wrong: Any = None,
    missing: Any = None,
    levels: bool = False,
    order: Any = None,
    options: int | None = None,
    ignore: Names = None,
    keep: Names = None,
    transpose: bool = False,
    repeats: str = "error",
    metric: Names = None,
    filter: Names = None,  # noqa: A002 - the word of the harnesses
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
        A file (plain or packed), a folder, a pattern such as ``runs/*.eval``, or data in memory. An
        array has respondents as rows.
    {settings}

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
    called ``task/item``. Columns of long tables with one value for each system are kept in
    ``respondent_table``. Failed samples of logs are missing, not wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit import read_responses
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
        from irtkit.io.logs import LOG_FORMATS

        check_one_of("format", format, (*TABLE_FORMATS, *LOG_FORMATS))
    check_repeats(repeats)
    of_marks = [setting for setting in (threshold, right, score_range) if setting is not None]
    if key is not None and of_marks:
        raise ValueError(
            "key is for answers, and threshold, right and score_range are for marks. Pass one"
        )
    declared = score_range
    others = (key, threshold, right)
    if levels is True and any(setting is not None for setting in others):
        raise ValueError(
            "levels=True is for numbers, and key, threshold and right are for other marks"
        )
    if order is not None:
        given["score_range"] = declared = (0, len(order) - 1)
    elif levels is True and score_range is None:
        given["score_range"] = WIDEST
    if key is not None:
        given["key"] = _key(key)
    settings = Settings(**given)
    return _finished(partial(matrix_of, path), settings, [], declared)


def matrix_of(
    path: Any, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str, tuple[str, ...]]:
    """Matrix of a path, a list of paths or data, its format and files. Findings are added."""
    paths: Any = [path] if isinstance(path, str | os.PathLike) else path
    if not _is_list_of(paths, str, os.PathLike):
        return *of_memory(path, settings, findings), ()
    from irtkit.io.paths import of_paths

    return *of_paths(path, settings, findings), tuple(map(str, paths))


read_responses.__doc__ = Settings.documented(read_responses.__doc__)


def as_responses(given: object, **reading: Any) -> ResponseMatrix:
    """Return a response matrix as it is, and read anything else, see `read_responses`."""
    if not isinstance(given, ResponseMatrix):
        return read_responses(given, **reading)
    for name in (name for name, setting in reading.items() if setting != FOUND):
        raise TypeError(f"{name} is for responses that are not read yet, and these are")
    return given


def _finished(
    read: Callable[[Settings, list[Finding]], tuple[ResponseMatrix, str, tuple[str, ...]]],
    settings: Settings,
    findings: list[Finding],
    score_range: Any,
) -> ResponseMatrix:
    """Read the matrix of the tasks with its source, give warnings, and log the size."""
    matrix, form, files = read(settings, findings)
    matrix = matrix if settings.task is None else of_tasks(matrix, settings.task)
    if settings.levels == FOUND and has_points(matrix):
        leveled = levels_found(matrix)
        if leveled is None:  # the error says what is to be chosen
            leveled, _, _ = read(replace(settings, levels=False), findings)
        labels = [matrix.items[k] for k in np.flatnonzero(kinds_of(leveled) == "levels")]
        values = {"n": len(labels), "n_items": matrix.n_items, "items": labels}
        findings.append(Finding("levels-taken", "note", values))
        matrix = leveled
    matrix = levels_of(matrix, score_range) if settings.levels is True else matrix
    if settings.options is not None:
        matrix = with_options(matrix, settings.options)
    for finding in findings:
        if finding.severity == "warning":
            warn(finding)
    given = {name: getattr(settings, name) for name in _SHAPING}
    given["score_range"] = score_range
    given["key"] = "given" if isinstance(settings.key, dict) else settings.key
    given["repeats"] = None if settings.repeats == "error" else settings.repeats
    shaping = {name: value for name, value in given.items() if value is not None}
    written = matrix.source or Source((), form)
    matrix.source = source = replace(
        written, files=files, format=form, settings=shaping, findings=tuple(findings)
    )
    if _LOGGER.isEnabledFor(logging.INFO):
        n_items = matrix.n_items
        if settings.judge is not None and matrix.item_table is not None:
            n_items = matrix.item_table["judged_item"].nunique()
        size = counted(matrix.n_respondents, "system"), counted(n_items, "item")
        _LOGGER.info("%s × %s. %s", *size, printable(str(source)))
    return matrix


def _is_list_of(given: Any, *kinds: type) -> bool:
    several = isinstance(given, list | tuple) and bool(given)
    return several and all(isinstance(entry, kinds) for entry in given)


def _key(key: Any) -> Any:
    """Right answers by item. A text that is not a file is the label of a row."""
    if isinstance(key, str) and not Path(key).is_file():
        return key
    if isinstance(key, str | os.PathLike):
        from irtkit.io.paths import key_of

        return key_of(Path(key))
    return {str(item): value for item, value in dict(key).items()}


def matrix_of_logs(read: Logs, findings: list[Finding], **given: Any) -> ResponseMatrix:
    """Response matrix of logs that are read, as `read_responses` gives it. Findings are added."""
    from irtkit.io.paths import of_logs

    settings = Settings(**given)
    files = tuple(dict.fromkeys(map(str, read.runs["path"])))

    def of_read(settings: Settings, findings: list[Finding]) -> Any:
        return *of_logs(read, settings, findings), files

    return _finished(of_read, settings, findings, settings.score_range)


def of_memory(data: Any, settings: Settings, findings: list[Finding]) -> tuple[ResponseMatrix, str]:
    """Matrix of an array, a data frame, a series, a dict or records."""
    from irtkit.io.layouts import of_table

    if isinstance(data, ResponseMatrix):
        raise TypeError("path is a ResponseMatrix already")
    settings.refuse(FOR_LOGS, "evaluation logs, and this is data in memory")
    if settings.format not in {None, "wide", "long"}:
        raise ValueError(f"format must be wide or long for data in memory, got {settings.format!r}")
    is_list = isinstance(data, list | tuple) and not _is_list_of(data, dict)
    is_array = hasattr(data, "ndim") and not hasattr(data, "iloc")
    if not (is_list or is_array):
        return of_table(frame_table(_frame(data)), settings, findings)
    others = (*Settings.names("labels", "ratings"), "sparse")
    settings.refuse(others, "tables with labels, and this is an array")
    if hasattr(data, "toarray"):  # of SciPy
        stored = data.tocoo().data
        if not (stored != 0).all():
            raise failed("sparse-zeros")
        data = data.toarray().astype(_with_signs(stored).dtype)
    if is_array:
        data = np.asanyarray(data)
    return ResponseMatrix.of_marks(_with_signs(data), settings.marking), "array"


def _with_signs(array: Any) -> Any:
    """Array whose −1 is no missing mark if it holds whole numbers 1 and −1 alone."""
    values = np.ma.asarray(array)
    if values.dtype.kind != "i" or not values.size:
        return array
    are_signs = bool((abs(values) == 1).all()) and values.min() < values.max()
    return values.astype(np.float64) if are_signs else array


def _frame(data: Any) -> Any:
    """Data frame of records, of a dict of columns or of rows, or of any library."""
    import pandas as pd

    if _is_list_of(data, dict):
        return pd.DataFrame(list(data))
    if isinstance(data, dict) and _is_list_of([*data.values()], dict):
        return pd.DataFrame([*data.values()], index=[*data])
    if isinstance(data, dict) and data:
        if any(hasattr(v, "columns") or hasattr(v, "column_names") for v in data.values()):
            frames = {name: _frame(frame) for name, frame in data.items()}
            together = pd.concat(frames, names=["respondent"])
            splits = all(usual_columns([*frame], "respondent") for frame in frames.values())
            return together.reset_index(level=0, drop=splits)
        return pd.DataFrame(data)
    if isinstance(data, pd.Series) and data.index.nlevels > 1:
        usual = ["respondent", "item"] if data.index.nlevels == 2 else data.index.names
        level_names = [name or role for name, role in zip(data.index.names, usual, strict=True)]
        return data.rename_axis(level_names).reset_index(name=data.name or "response")
    try:
        frame = as_frame(data)
    except TypeError as error:
        if hasattr(data, "to_pandas") and not isinstance(data, pd.Series):  # of Hugging Face
            return data.to_pandas()
        instead = ". Pass its .responses" if hasattr(data, "responses") else ""
        raise TypeError(
            "responses must be a path, a data frame, an array, a list of records, a dict or a "
            f"ResponseMatrix, got {type(data).__name__}{instead}"
        ) from error
    if frame.columns.nlevels > 1:
        levels: Any = frame.columns
        return frame.set_axis(joined_names(levels), axis=1)
    return frame
