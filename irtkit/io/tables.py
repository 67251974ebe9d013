"""irtkit's own tables in files: what is written reads back equal, to the last bit.

The suffix says the form. ``.csv`` is for people and spreadsheets (`irtkit.io.typed_csv` has the
rule that brings the types back), ``.parquet`` is for large tables (needs pyarrow), and ``.json``
is for other programs, strictly JSON::

    {"format": "irtkit table", "version": 1, "n_rows": 2,
     "index": {"name": "item", "dtype": "text", "values": ["q1", "q2"]},
     "columns": [{"name": "difficulty", "dtype": "float", "values": [0.5, null]}]}

with dtype "text", "float", "int" or "bool". A missing value is null (a float that is NaN
likewise), and an infinite float is the text "inf" or "-inf". The index may have the dtype
"range" and no values: rows numbered 0, 1, ….
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtkit.files import open_bytes, open_text, replacing
from irtkit.io import typed_csv
from irtkit.io.parquet import import_pyarrow
from irtkit.io.plain_table import Column, PlainTable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

_JSON_FORMAT = "irtkit table"
_JSON_VERSION = 1


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results to a file, which appears whole or not at all.

    Parameters
    ----------
    frame
        Columns of text, float64, int64 or bool; the index holds text labels, or is the default
        one.
    path
        The file; its suffix (.csv, .parquet or .json) says the form.

    Raises
    ------
    ValueError
        If the suffix is another, or the frame holds something that would not read back equal; the
        message begins with the name of the file.
    OSError
        If the file cannot be written there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from irtkit.io import read_table, write_table
    >>> items = pd.DataFrame({"difficulty": [0.1, None], "status": ["ok", "no variance"]},
    ...                      index=pd.Index(["007", "NA"], name="item"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     write_table(items, path)
    ...     print(path.read_text(), end="")
    ...     read_table(path).equals(items)
    "item",difficulty,"status"
    "007",0.1,"ok"
    "NA",,"no variance"
    True
    """
    file = Path(path)
    suffix = _suffix(file)
    try:
        table = PlainTable.from_frame(frame)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error
    with replacing(file) as temporary:
        if suffix == ".parquet":
            pyarrow = import_pyarrow()
            pyarrow.parquet.write_table(pyarrow.Table.from_pandas(table.to_frame()), temporary)
            return
        lines = typed_csv.write(table) if suffix == ".csv" else _to_json(table)
        with temporary.open("w", encoding="utf-8", newline="") as text:
            text.writelines(lines)


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table that `write_table` wrote.

    Parameters
    ----------
    path
        The file; its suffix (.csv, .parquet or .json) says the form. CSV by another program is
        read by the same rule, with its first column as the index.

    Raises
    ------
    ValueError
        If the suffix is another, or the content is not such a table; the message begins with the
        name of the file.
    OSError
        If there is no such file, or it is a folder.
    """
    file = Path(path)
    suffix = _suffix(file)
    try:
        if suffix == ".parquet":
            return _read_parquet(file)
        with open_text(file) as text:
            content = text.read()
        return (typed_csv.read(content) if suffix == ".csv" else _from_json(content)).to_frame()
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in {".csv", ".parquet", ".json"}:
        raise ValueError(f"{file.name}: a table is .csv, .parquet or .json, got {suffix!r}")
    return suffix


def _read_parquet(file: Path) -> pd.DataFrame:
    pyarrow = import_pyarrow()
    with open_bytes(file) as handle:
        frame: pd.DataFrame = pyarrow.parquet.read_table(handle).to_pandas()
    return frame


def _to_json(table: PlainTable) -> list[str]:
    """The layout of this module's docstring, a column per line."""
    index: dict[str, Any] = {"name": table.index_name, "dtype": "range"}
    if table.index is not None:
        index = {"name": table.index_name, "dtype": "text", "values": table.index}
    start = {"format": _JSON_FORMAT, "version": _JSON_VERSION, "n_rows": table.n_rows}
    columns = [
        _dump({"name": name, "dtype": kind, "values": _json_values(kind, values)})
        for name, kind, values in table.columns
    ]
    return [
        f'{_dump(start)[:-1]},\n "index": {_dump(index)},\n "columns": [',
        ",".join(f"\n  {column}" for column in columns),
        "]}\n",
    ]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _json_values(kind: str, values: list[Any]) -> list[Any]:
    if kind != "float":
        return values
    return [
        value if math.isfinite(value) else None if math.isnan(value) else str(value)
        for value in values
    ]


def _from_json(content: str) -> PlainTable:
    record = json.loads(content)
    if not isinstance(record, dict) or record.get("format") != _JSON_FORMAT:
        raise ValueError(f'the file is not a table of irtkit ("format": "{_JSON_FORMAT}")')
    if record.get("version") != _JSON_VERSION:
        raise ValueError(f"version {record.get('version')!r} is not known, {_JSON_VERSION} is")
    try:
        n_rows, index = record["n_rows"], record["index"]
        labels = index["values"] if index["dtype"] == "text" else None
        columns = [
            _json_column(column["name"], column["dtype"], column["values"], n_rows)
            for column in record["columns"]
        ]
        if labels is not None:
            _json_column("index", "text", labels, n_rows)
            if None in labels:
                raise ValueError("the index has a missing label")
        return PlainTable(index["name"], labels, columns, n_rows)
    except (KeyError, TypeError) as error:
        raise ValueError(f"the table is not laid out as it should be: {error!r}") from error


def _json_column(name: str, kind: str, values: list[Any], n_rows: int) -> Column:
    fits = _JSON_TYPES.get(kind)
    if fits is None or len(values) != n_rows or not all(map(fits, values)):
        raise ValueError(f"{name!r} must be {n_rows} values of the kind it states, {kind!r}")
    if kind == "float":
        values = [math.nan if value is None else float(value) for value in values]
    return Column(name, kind, values)


_JSON_TYPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: value is None or isinstance(value, str),
    "float": lambda value: value is None or type(value) in {int, float} or value in {"inf", "-inf"},
    "int": lambda value: type(value) is int,
    "bool": lambda value: type(value) is bool,
}
