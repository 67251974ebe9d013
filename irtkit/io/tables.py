"""irtkit's own tables in files, which read back equal, and tables of metrics.

In CSV text is quoted and numbers are not, so that ``"007"`` comes back as text. In JSON missing is
null and infinity 1e999. A column of text files without any value comes back as float64.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from contextlib import suppress
from itertools import chain
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_type, check_unique, short
from irtkit.files import (
    as_path,
    head_of,
    open_bytes,
    open_text,
    ordinary_file,
    replacing,
    replacing_text,
)
from irtkit.io import table_files
from irtkit.io.json_text import json_document
from irtkit.io.text import guarded, naming, read_text_table, rows_of, unguarded
from irtkit.responses.columns import recognised
from irtkit.responses.marking import MISSING_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    Predictions = pd.DataFrame | str | os.PathLike[str] | None

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TEXT = (*SEPARATORS, ".json")
TABLE_ENDINGS = (*_TEXT, *(f"{ending}.gz" for ending in _TEXT), ".parquet")
_ENCODE = json.JSONEncoder(ensure_ascii=False, default=str).encode
_QUOTED = "\1"  # Put before quoted cells while CSV is read, to tell text from numbers.


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results to a file, which appears whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of text, float64, int64 or bool, which read back equal. The index holds text labels,
        or is the default index without a name.
    path : str or path-like
        File that ends in .csv, .tsv or .json (perhaps with .gz after it) or in .parquet. In .csv
        and .tsv an apostrophe precedes what a spreadsheet would run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from irtkit import read_table, write_table
    >>> items = pd.DataFrame({"difficulty": [0.1, None], "status": ["ok", "no variance"]},
    ...                      index=pd.Index(["007", "NA"], name="item"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "items.csv")
    ...     write_table(items, path)
    ...     print(path.read_text(), end="")
    ...     read_table(path).equals(items)
    "item","difficulty","status"
    "007",0.1,"ok"
    "NA",,"no variance"
    True
    """
    import pandas as pd

    check_type("frame", frame, pd.DataFrame)
    file = as_path(path)
    names = ["" if frame.index.name is None else frame.index.name, *frame.columns]
    with naming(file):
        form = form_of(file)
        check_unique("column names must be unique", names)
        if not all(isinstance(name, str) for name in names) or frame.index.hasnans:
            raise ValueError("names of columns must be text, and every row must have a label")
    if form == ".parquet":
        with replacing(file) as temporary:
            frame.to_parquet(temporary)
        return
    with replacing_text(file) as text:
        if form in SEPARATORS:
            text.writelines(lines_of(frame, SEPARATORS[form]))
            return
        keys = [f"{_json(name)}: " for name in names]
        records = []
        for row in _rows(frame):
            fields = ", ".join(map(add, keys, map(_json, row)))
            records.append(f"{{{fields}}}")
        text.write("[" + ",\n ".join(records) + "]\n")


def _rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Label and values of every row, None where a value is missing."""
    return frame.astype(object).where(frame.notna(), None).itertuples(name=None)


def lines_of(frame: pd.DataFrame, separator: str, missing: str = "") -> Iterator[str]:
    """Lines of a table in text, its index first: text in quotes, and other values as they are."""
    names = ["" if frame.index.name is None else frame.index.name, *frame.columns]
    for row in chain([names], _rows(frame)):
        cells = []
        for value in row:
            cell = missing if value is None else str(value)
            if isinstance(value, str):
                cell = '"' + guarded(value).replace('"', '""') + '"'
            cells.append(cell)
        yield f"{separator.join(cells)}\n"


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table that `write_table` wrote.

    In tables of other programs, too, the first column is the index, quoted columns are text, and
    other columns are numbers if all of their values are. Other content is a ValueError.
    """
    import pandas as pd

    file = as_path(path)
    with naming(file):
        form = form_of(file)
        if form == ".parquet":
            with open_bytes(file) as handle:
                return pd.read_parquet(handle)
        if form in SEPARATORS:
            return _from_csv(file, SEPARATORS[form])
        records = json_document(file)
        kinds = {*map(type, records)} if isinstance(records, list) else {None}
        if not kinds <= {dict}:
            raise ValueError("a table in JSON is a list of records")
        return _indexed(pd.DataFrame(records))


def form_of(file: Path) -> str:
    """Suffix of a table, without .gz."""
    name = file.name.lower()
    if not name.endswith(TABLE_ENDINGS):
        raise ValueError(f"a table ends in {', '.join(TABLE_ENDINGS)}, got {short(file.suffix)}")
    return Path(name.removesuffix(".gz")).suffix


def _json(value: Any) -> str:
    infinite = isinstance(value, float) and math.isinf(value)
    return f"{math.copysign(1, value):.0f}e999" if infinite else _ENCODE(value)


def _from_csv(file: Path, separator: str) -> pd.DataFrame:
    import pandas as pd

    with open_text(file) as text:
        content = text.read()
    separator = separator if separator in content.partition("\n")[0] else ";"
    cell = rf'(?<![^{separator}\r\n])"([^"]*(?:""[^"]*)*)"'
    content = re.sub(cell, rf'"{_QUOTED}\1"', content)
    rows = rows_of(io.StringIO(content, newline=""), separator)
    header, *others = [*rows] or [[]]
    if not header:
        raise ValueError("the file is empty")
    names = [_text(name) or "" for name in header]
    check_unique("column names must be unique", names)
    labels, *columns = zip(*others, strict=True) if others else [()] * len(names)
    index: list[Any] = [*range(len(labels))]
    if names[0] or [*labels] != [*map(str, index)]:
        index = [*map(_text, labels)]
    typed: dict[str, list[Any]] = {names[0]: index}
    kinds = (int, {"true": True, "false": False}.__getitem__, lambda cell: float(cell or "nan"))
    for name, cells in zip(names[1:], columns, strict=True):
        typed[name] = [*map(_text, cells)]
        if any(cell.startswith(_QUOTED) for cell in cells):  # text
            continue
        for kind in kinds:
            with suppress(ValueError, KeyError):
                typed[name] = [kind(cell.lower()) for cell in cells]
                break
    return _indexed(pd.DataFrame(typed))


def _text(cell: str) -> str | None:
    """Text of a cell, None if it is empty without quotes."""
    return unguarded(cell.removeprefix(_QUOTED)) if cell else None


def _indexed(frame: pd.DataFrame) -> pd.DataFrame:
    """Table with its first column as index, or without it if that only counts the rows."""
    import pandas as pd

    if frame.shape[1] == 0:
        return frame
    labels = frame.pop(frame.columns[0])
    frame = frame.astype(dict.fromkeys(frame.columns[frame.isna().all()], "float64"))
    if labels.name == "" and labels.tolist() == [*range(len(frame))]:
        return frame
    if labels.isna().any():
        raise ValueError(f"row {int(labels.isna().argmax()) + 1} lacks a label in the first column")
    index = pd.Series(labels.map(str), dtype="str").array
    return frame.set_axis(pd.Index(index, name=labels.name or None))


def as_labelled(given: Any, name: str) -> Any:
    """Return what is given, or the table of a file by its labels."""
    return read_labelled(given, name) if isinstance(given, str | os.PathLike) else given


def read_labelled(path: str | os.PathLike[str], name: str) -> pd.DataFrame:
    """Read a table as text, its first column as index and empty cells as None."""
    try:
        file = ordinary_file(path)
    except OSError as error:
        raise type(error)(f"{name} {error}") from error
    with naming(file, name):
        table = read_text_table(file)
        if table.shape[1] < 2:
            raise ValueError("needs a column of labels and at least one more")
        labels = table.iloc[:, 0]
        is_blank = labels.str.strip() == ""
        if is_blank.any():
            raise ValueError(f"row {int(is_blank.argmax()) + 1} lacks a label")
        repeated = labels[labels.duplicated()]
        if len(repeated):
            raise ValueError(f"{repeated.iloc[0]!r} occurs twice")
        table = table.set_index(table.columns[0]).rename_axis(None)
        return table.where(table != "", None)


def as_metrics(given: Any) -> Any:
    """Return metrics as they are, or read the file that is named."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and is_file(given)):
        return read_metrics(given)
    return given


def is_file(text: str) -> bool:
    """Whether a text names something that exists and is not a folder."""
    # Path's methods fail if the names of metrics are too long for a file
    return os.path.exists(text) and not os.path.isdir(text)  # noqa: PTH110, PTH112


def read_metrics(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of respondent, item and a column per metric, or of metric and value."""
    file = as_path(path)
    with naming(file):
        if head_of(file).startswith(table_files.MAGIC):
            with table_files.parquet_file(file) as table:
                return table.read().to_pandas()
        table = read_text_table(file)
        if table.empty:
            raise ValueError("the table has a header and no rows")
        header = [*table.columns]
        check_unique("column names must be unique", header)
        labels = {"metric"}
        for role in ("respondent", "item"):
            labels.add(header[recognised(header, role)])
        words = dict.fromkeys(MISSING_WORDS) | {"true": 1.0, "false": 0.0}
        for name in table.columns.difference([*labels]):
            plain = table[name].str.strip().str.lower()
            table[name] = [words.get(*cells) for cells in zip(plain, table[name], strict=True)]
        return table
