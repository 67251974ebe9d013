"""Responses in files: one file, or a folder of logs or tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_one_of, check_unique, first_names
from irtkit.files import as_path, head_of
from irtkit.findings import Finding, ReadingError, failed
from irtkit.io import logs, table_files
from irtkit.io.json_text import json_document
from irtkit.io.layouts import (
    DESCRIPTIONS,
    SETTINGS_OF_RUN,
    is_table,
    leave_out,
    of_table,
    of_tables,
)
from irtkit.io.reading import FOR_LOGS, FOR_TABLES, TABLE_FORMATS, of_memory
from irtkit.io.text import naming, read_text_table, text_table
from irtkit.io.writing import is_side_table, side_tables, with_side_tables
from irtkit.responses.columns import target_position

if TYPE_CHECKING:
    from irtkit.responses.matrix import ResponseMatrix
    from irtkit.responses.tables import Settings, Table


def of_paths(path: Any, settings: Settings, findings: list[Finding]) -> tuple[ResponseMatrix, str]:
    """Matrix of a file, a folder, a pattern or a list of them, and what was read."""
    paths = [path] if isinstance(path, str | os.PathLike) else path
    places = [as_path(place).expanduser() for place in paths]
    files = [*dict.fromkeys(file for place in places for file in logs.files_of(place))]
    if paths is path or logs.stands_for_several(places[0]):
        name = f"{len(places)} paths" if paths is path else str(path)
        with naming(Path(name)):
            return _of_files(files, settings, findings)
    (file,) = files
    with naming(file):
        head = head_of(file)
        form = form_of(file, head, settings.format)
        if form in logs.LOG_FORMATS:
            matrix, form = of_logs(logs.read_logs([file], form=form), settings, findings)
        else:
            settings.refuse(FOR_LOGS, "evaluation logs, but this is a table")
            if form == "npy":
                return of_memory(table_files.numpy_array(file), settings, findings)
            matrix, form = of_table(_table(file, form, head), settings, findings)
        return with_side_tables(matrix, file), form


def key_of(key: Path) -> dict[Any, Any]:
    """Right answers by item, from a file."""
    with naming(key, "key"):
        if key.suffix == ".json":
            return dict(json_document(key))
        table = read_text_table(key)
        if len(table) == 1 and table.shape[1] > 2:
            return table.iloc[0].to_dict()
        if table.shape[1] < 2:
            raise ValueError("a key has two columns: the item and its right answer")
        at = target_position([*map(str, table.columns)])
        item = 0 if at != 0 else 1
        check_unique("a key must name an item once", table.iloc[:, item])
        return dict(zip(table.iloc[:, item], table.iloc[:, at], strict=True))


def form_of(file: Path, head: bytes, requested: str | None) -> str:
    """Form of a file: the name of a harness, py-irt, parquet, excel, npy, json or text."""
    if requested is not None and requested not in {"wide", "long"}:
        return requested
    begins = head.lstrip()[:1]
    if not begins:
        raise ValueError("the file is empty")
    if table_files.PY_IRT.match(head):
        return "py-irt"
    harness = logs.log_format(file, head, alone=True)
    if harness == logs.BESIDE:
        raise ValueError(
            "the file belongs to evaluation logs and is not a log itself. Pass the folder"
        )
    for form, fits in (
        (harness or "", harness is not None),
        ("parquet", head.startswith(table_files.MAGIC)),
        ("excel", head.startswith(b"PK") and file.suffix.lower() in {".xlsx", ".xlsm"}),
        ("npy", head.startswith(b"\x93NUMPY")),
        ("arrow", head.startswith((b"ARROW1", b"\xff\xff\xff\xff"))),
        ("json", file.suffix.lower() == ".json" or begins in {b"[", b"{"}),
        ("text", b"\0" not in head),
    ):
        if fits:
            return form
    formats = ", ".join((*TABLE_FORMATS, *logs.LOG_FORMATS))
    raise ValueError(f"the format of the content is unknown ({formats}). Save text as UTF-8")


def _table(file: Path, form: str, head: bytes) -> Table:
    """Table in a file of a form."""
    if form == "text":
        return text_table(file, head)
    if form == "json":
        return table_files.records_table(file, head)
    readers = {
        "parquet": table_files.parquet_table,
        "excel": table_files.excel_table,
        "arrow": table_files.arrow_table,
    }
    return readers.get(form, table_files.py_irt_table)(file)


def of_logs(
    read: logs.Logs, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of logs that are read, and their formats."""
    settings.refuse(FOR_TABLES, "tables, but these are evaluation logs")
    matrix = logs.matrix_of(read, settings, findings)
    return matrix, ", ".join(read.runs["format"].unique())


def _of_files(
    files: list[Path], settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of all logs among the files, or of all tables if none is a log."""
    form = settings.format if settings.format in logs.LOG_FORMATS else None
    read = logs.read_logs(files, form=form, strict=settings.strict)
    if read.samples:
        if settings.format is not None:
            check_one_of("format", settings.format, logs.LOG_FORMATS)
        return of_logs(read, settings, findings)
    beside = {file for file in read.skipped if is_side_table(file) or file.name in DESCRIPTIONS}
    others = [file for file in read.skipped if file not in beside]
    results = [file for file in others if not SETTINGS_OF_RUN.fullmatch(file.name)]
    tables = [file for file in results if is_table(file)]
    tables = tables or [file for file in results if file.suffix.lower() == ".json"]
    if not tables or form is not None:
        names = first_names([file.name for file in files])
        raise ValueError(f"none of the {len(files)} files is an evaluation log or table: {names}")
    settings.refuse(FOR_LOGS, "evaluation logs, but these are tables")
    adjusted = [file for file in tables if "source" in side_tables(file)]
    if adjusted:  # What judges did lies beside their adjusted marks.
        others = tables = adjusted
    if skipped := [file.name for file in others if file not in tables]:
        findings.append(Finding("skipped-files", "warning", {"n": len(skipped), "files": skipped}))
    opened: dict[Path, Table] = {}
    for file in tables:
        try:
            with naming(file):
                head = head_of(file)
                opened[file] = _table(file, form_of(file, head, settings.format), head)
        except (ReadingError, OSError) as error:
            leave_out(file, error, settings, findings, "damaged", "file")
    if not opened:
        raise failed("nothing-read", n=len(files))
    return of_tables(opened, settings, findings)
