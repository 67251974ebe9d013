"""irtkit's own tables in files: what is written reads back equal, to the last bit.

The suffix says the form. ``.parquet`` is for large tables. ``.csv`` is for people, spreadsheets
and ``pandas.read_csv``: text is quoted and nothing else is, so that ``""`` is empty text and an
empty cell is missing. In the header, too, the names of text columns are quoted and others are not:
so ``"007"`` comes back as text, and the cells of the other columns say whether they are integers,
floats (``3.0``) or True and False. A number column without a filled cell is float; a name that
needs quotes, because it holds a comma, a quote or a line break, says nothing and the cells decide.
``.json`` is for other programs, strictly JSON::

    {"format": "irtkit table", "version": 1,
     "index": {"name": "item", "dtype": "text", "values": ["q1", "q2"]},
     "columns": [{"name": "difficulty", "dtype": "float", "values": [0.5, null]}]}

with dtype "text", "float", "int" or "bool". A missing value is null (a float that is NaN
likewise), and an infinite float is the text "inf" or "-inf". The index may have the dtype
"range" and no values: rows numbered 0, 1, ….
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from irtkit.columns import refuse_repeats
from irtkit.files import open_bytes, open_text, replacing
from irtkit.io.text import naming, refuse_faults

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import pandas as pd

_JSON_START = {"format": "irtkit table", "version": 1}
_TYPES = {"text": "string", "float": "float64", "int": "int64", "bool": "bool"}
_KINDS = {name: kind for kind, name in _TYPES.items()}


class _Column(NamedTuple):
    """A column of a table, or the labels of its rows; None where a value or a name is missing."""

    name: Any
    dtype: str
    values: list[Any]


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results to a file, which appears whole or not at all.

    Parameters
    ----------
    frame
        Columns of text, float64, int64 or bool; the index holds text labels, or is the default
        one without a name.
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
    with naming(file):
        index, columns = _checked(frame)
    with replacing(file) as temporary:
        if suffix == ".parquet":
            frame.to_parquet(temporary)
            return
        lines = _to_csv(index, columns) if suffix == ".csv" else _to_json(index, columns)
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
    import pandas as pd

    file = Path(path)
    suffix = _suffix(file)
    with naming(file):
        if suffix == ".parquet":
            with open_bytes(file) as handle:
                return pd.read_parquet(handle)
        if suffix == ".csv":
            refuse_faults(file, ",")
        with open_text(file) as text:
            content = text.read()
        return _from_csv(content) if suffix == ".csv" else _from_json(content)


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in {".csv", ".parquet", ".json"}:
        raise ValueError(f"{file.name}: a table is .csv, .parquet or .json, got {suffix!r}")
    return suffix


def _checked(frame: pd.DataFrame) -> tuple[_Column | None, list[_Column]]:
    """Labels of the rows, None where they are numbered 0, 1, …, and columns as plain values."""
    import pandas as pd

    names, index = frame.columns, frame.index
    if not all(isinstance(name, str) for name in names) or names.name is not None:
        raise ValueError("the columns of a table must have names that are text, and no heading")
    refuse_repeats(names)
    columns = []
    for name in names:
        dtype, values = _plain(frame[name])
        if dtype is None:
            raise ValueError(
                f"column {name!r} is {frame[name].dtype}; "
                "a column of a table is text, float64, int64 or bool"
            )
        columns.append(_Column(name, dtype, values))
    if index.identical(pd.RangeIndex(len(index))):
        return None, columns
    dtype, labels = _plain(index)
    if dtype != "text" or not isinstance(index.name, str | None):
        raise ValueError(
            "the index of a table must be text labels with a name that is text, or the default "
            f"0, 1, … without a name; got {index.dtype} named {index.name!r}"
        )
    if None in labels:
        raise ValueError("the index of a table has a missing label")
    return _Column(index.name, dtype, labels), columns


def _plain(values: pd.Series[Any] | pd.Index[Any]) -> tuple[str | None, list[Any]]:
    """Kind of the values, None where a table has none such, and the values as Python has them."""
    import pyarrow as pa

    try:
        array = pa.array(values, from_pandas=True)
    except pa.ArrowException:
        return None, []
    is_text = str(array.type) in {"string", "large_string", "null"}
    return "text" if is_text else _KINDS.get(str(values.dtype)), array.to_pylist()


def _frame(name: str | None, labels: Any, names: Sequence[str], columns: list[Any]) -> pd.DataFrame:
    """Data frame of arrays of pyarrow; rows are numbered where there are no labels."""
    import pandas as pd

    refuse_repeats(names)
    if labels is not None and labels.null_count:
        row = labels.to_pylist().index(None) + 1
        raise ValueError(f"row {row} has no label in the index, the first column of a CSV")
    frame = pd.DataFrame(
        {key: column.to_pandas().array for key, column in zip(names, columns, strict=True)},
        index=None if labels is None else pd.Index(labels.to_pandas()),
    )
    return frame.rename_axis(name or None)


def _to_csv(index: _Column | None, columns: list[_Column]) -> Iterator[str]:
    """Lines of the table, each with its line ending."""
    header = ["" if index is None else _cell(index.name or "")]
    for name, dtype, _ in columns:
        header.append(_cell(name) if dtype == "text" or _needs_quotes(name) else name)
    yield ",".join(header) + "\n"
    labels = itertools.count() if index is None else index.values
    for label, *row in zip(labels, *(column.values for column in columns), strict=False):
        yield ",".join(map(_cell, (label, *row))) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else repr(value)


def _needs_quotes(name: str) -> bool:
    return not set(name).isdisjoint(',"\r\n')


def _from_csv(content: str) -> pd.DataFrame:
    import pyarrow.csv

    names, text = _header(content)
    data = content.encode()
    positions = [str(k) for k in range(len(names))]
    types = {k: "string" for k, is_text in zip(positions, text, strict=True) if is_text}
    table = pyarrow.csv.read_csv(
        pyarrow.py_buffer(data),
        pyarrow.csv.ReadOptions(
            column_names=positions, skip_rows_after_names=1, block_size=len(data) + 1
        ),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types={"0": "string"} | types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    labels, *columns = table.columns
    columns = [c.cast("float64") if pyarrow.types.is_null(c.type) else c for c in columns]
    if not (names[0] or text[0]) and labels.to_pylist() == [str(k) for k in range(len(labels))]:
        labels = None
    return _frame(names[0], labels, names[1:], columns)


def _header(content: str) -> tuple[list[str], list[bool]]:
    """Names in the first row, and whether each is in quotes that it would not need."""
    names = next(csv.reader(io.StringIO(content, newline=""), strict=True), [])
    if not names:
        raise ValueError("the table is empty: it has no header")
    text: list[bool] = []
    position = 0
    for name in names:
        quoted = content.startswith('"', position)
        text.append(quoted and not _needs_quotes(name))
        position += len(_cell(name) if quoted else name) + 1
    return names, text


def _to_json(index: _Column | None, columns: list[_Column]) -> list[str]:
    """The layout of this module's docstring, a column per line."""
    labels = {"name": None, "dtype": "range"} if index is None else index._asdict()
    lines = []
    for column in columns:
        values = [str(v) if v in {math.inf, -math.inf} else v for v in column.values]
        lines.append(f"\n  {_dump(column._replace(values=values)._asdict())}")
    start = f'{_dump(_JSON_START)[:-1]},\n "index": {_dump(labels)},\n "columns": ['
    return [start, ",".join(lines), "]}\n"]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _from_json(content: str) -> pd.DataFrame:
    record = json.loads(content)
    if not isinstance(record, dict) or not _JSON_START.items() <= record.items():
        raise ValueError(f"the file is not a table of irtkit, which begins with {_JSON_START}")
    try:
        index, columns = record["index"], record["columns"]
        labels = None if index["dtype"] == "range" else _json_array(**index)
        names = [column["name"] for column in columns]
        return _frame(index["name"], labels, names, [_json_array(**column) for column in columns])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the table is not laid out as it should be: {error!r}") from error


def _json_array(name: str, dtype: str, values: list[Any]) -> Any:
    import pyarrow as pa

    if dtype == "float":
        values = [float(value) if value in {"inf", "-inf"} else value for value in values]
    try:
        array = pa.array(values, _TYPES[dtype])
    except (KeyError, pa.ArrowException):
        array = None
    if array is None or array.to_pylist() != values:  # 1.5 would become the integer 1
        raise ValueError(f"{name!r} must be values of the kind it states, {dtype!r}")
    return array
