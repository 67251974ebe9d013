"""Tables in files that are not text: Parquet, JSON, lines of py-irt, NumPy and Excel.

Only the needed columns of a Parquet file are read, block by block. Text stays numbers into a
dictionary on the way from the file to the matrix.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import open_bytes
from irtkit.findings import failed
from irtkit.io.json_text import entries_of, for_each, json_document, json_lines
from irtkit.io.text import naming
from irtkit.responses.tables import BLOCK_ROWS, Table, frame_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


MAGIC = b"PAR1"
_BUFFER_BYTES = 2**20  # Bytes of a column that are read at once: a row group may be a whole file.
PY_IRT = re.compile(
    rb"""\s*\{(?:\s*['"](?:subject_id|responses)['"]|(?=.*"subject_id")(?=.*"responses"))""",
    re.DOTALL,
)
"""How a file of py-irt begins."""


@contextlib.contextmanager
def parquet_file(path: Path, **how: Any) -> Iterator[Any]:
    """Parquet file of PyArrow, or an error if PyArrow cannot read it."""
    import pyarrow.parquet

    with naming(path):
        try:
            with open_bytes(path) as handle:
                is_plain = isinstance(getattr(handle, "raw", None), io.FileIO)
                content = handle if is_plain else pyarrow.BufferReader(handle.read())
                yield pyarrow.parquet.ParquetFile(content, **how)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise failed("damaged", message=f"the Parquet data cannot be read: {error}") from error


def parquet_table(path: Path) -> Table:
    """Table in a Parquet file, with a stored pandas index as the first column."""
    from pyarrow import types

    with parquet_file(path) as file:
        schema = file.schema_arrow
        n_rows = file.metadata.num_rows
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str)]
    nameless = {name for name in index if name.startswith("__index_level_")}
    counts = {name for name in nameless if types.is_integer(schema.field(name).type)}
    labels = [name for name in index if name not in counts]  # and not numbers of rows
    names = labels + [name for name in schema.names if name not in index]
    header = ["" if name in nameless else name for name in names]

    def of_columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        chosen = [names[k] for k in positions]
        kinds = {name: schema.field(name).type for name in chosen}
        nested = [name for name in chosen if types.is_nested(kinds[name])]
        if nested and len(nested) < len(chosen):
            raise ValueError(f"column {short(nested[0])} holds {kinds[nested[0]]}, not labels")
        text = [name for name, kind in kinds.items() if types.is_string(kind)]
        how = {"read_dictionary": text, "buffer_size": _BUFFER_BYTES, "pre_buffer": False}
        done = 0
        with parquet_file(path, **how) as file:
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=chosen):
                batch.validate(full=True)
                done += batch.num_rows
                yield [batch.column(name) for name in chosen], done

    def of_rows() -> Iterator[Any]:
        with parquet_file(path) as file:
            whole = file.read()
            whole.validate(full=True)
        frame = whole.select(names).replace_schema_metadata().to_pandas()
        yield from frame_table(frame).rows()

    return Table(header, of_columns, of_rows, n_rows, bool(labels), path.name)


def arrow_table(path: Path) -> Table:
    """Table in a Feather file, or in a stream as data sets are saved."""
    import pyarrow as pa

    with naming(path), open_bytes(path) as handle:
        content = handle.read()
        opener = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
        try:
            table = opener(pa.BufferReader(content)).read_all()
            table.validate(full=True)
        except pa.ArrowException as error:
            raise failed("damaged", message=f"the Arrow data cannot be read: {error}") from error
        return frame_table(table.to_pandas(), path.name)


def py_irt_table(path: Path) -> Table:
    """Long table of py-irt's lines: ``{"subject_id": …, "responses": {item: 0 or 1}}``.

    https://github.com/nd-ball/py-irt
    """
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}

    def add(record: dict[str, Any]) -> None:
        subject = record["subject_id"]
        responses = record["responses"]
        if not isinstance(subject, str | int) or not isinstance(responses, dict):
            raise ValueError('the line is not {"subject_id": "…", "responses": {"item": 1, …}}')
        if str(subject) in rows:
            raise ValueError(f"system {short(str(subject))} occurs twice")
        rows[str(subject)] = responses

    for_each("line", json_lines(path, unique=True), add)
    item = next((item for responses in rows.values() for item in responses), "")
    cells = []
    for name, responses in rows.items():
        answers = responses or {item: None}
        cells += [(name, *cell) for cell in answers.items()]
    return frame_table(pd.DataFrame(cells, columns=["respondent", "item", "response"]))


def records_table(path: Path, head: bytes) -> Table:
    """Table of records: JSON lines, an array of objects, or an object of objects by label.

    Values are numbers, texts, true, false or null. Lists and objects may stand in columns of a long
    table that are neither labels nor responses.
    """
    import pandas as pd

    first = head.lstrip().split(b"\n")[0].rstrip()
    lines = first.startswith(b"{") and (first.endswith(b"}") or b"\n" not in head)
    content = [record for _, record in json_lines(path)] if lines else json_document(path)
    if lines and len(content) == 1:
        (only,) = content
        content = only if all(isinstance(row, dict) for row in only.values()) else content
    index = None
    if isinstance(content, dict):
        if content and all(mark in (0, 1) for mark in content.values()):  # of one system
            content = [content]
        else:
            index = [*content]
            content = [*content.values()]
    records = entries_of(content)
    is_plain = all(isinstance(record, dict) for record in records)
    frame = pd.DataFrame(records if is_plain else [], index=index if is_plain else None)
    nested = set()
    for name, column in frame.items():
        kinds = {*map(type, column)}
        if list in kinds or dict in kinds:
            nested.add(name)
        if len(frame) == 1 and list in kinds and dict in map(type, column.iloc[0]):
            is_plain = False
    if not is_plain or nested == {*frame}:
        raise ValueError(
            "the JSON is not a table: a list of records, a record per line, or an object of records"
        )
    for name in nested:
        frame[name] = frame[name].map(json.dumps, na_action="ignore")
    table = frame_table(frame, path.name)

    def columns(positions: list[int]) -> Any:
        for name in (table.header[k] for k in positions):
            if name in nested:
                rule = "holds lists or objects, and labels and responses are single values"
                raise ValueError(f"column {short(name)} {rule}")
        return table.columns(positions)

    return replace(table, columns=columns)


def excel_table(path: Path) -> Table:
    """Table in an Excel file of one sheet, which needs openpyxl."""
    import pandas as pd

    try:
        with open_bytes(path) as handle:
            how: Any = {"dtype": object, "keep_default_na": False, "engine": "openpyxl"}
            sheets: Any = pd.read_excel(handle, sheet_name=None, **how)
    except ImportError as error:
        raise ImportError("Excel files need openpyxl: pip install 'irtkit[excel]'") from error
    if len(sheets) > 1:
        names = ", ".join(sheets)
        raise ValueError(f"the file has several sheets ({names}): save the one to read as CSV")
    return frame_table(next(iter(sheets.values())), path.name)


def numpy_array(path: Path) -> Any:
    """Array of a .npy file. Arrays of objects are refused, since they are unpickled."""
    import numpy as np

    with open_bytes(path) as handle:
        return np.load(handle, allow_pickle=False)
