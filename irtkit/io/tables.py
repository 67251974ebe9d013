"""irtkit's own tables in files: what is written reads back equal, to the last bit.

The suffix says the form: ``.parquet`` and ``.feather`` for large tables, or text, which may be
compressed (``.csv.gz``). ``.csv`` and ``.tsv`` are for people, spreadsheets and
``pandas.read_csv``: text is quoted and nothing else is, so that ``"007"`` comes back as text and
``""`` is not missing; what a spreadsheet would run has an apostrophe first
(`irtkit.io.text.guarded`). ``.json`` is a list of records, ``.jsonl`` a record per line, for
``pandas.read_json`` and other programs: missing is null, and 1e999 infinite.

The first column is the index, labels that are text; where it is nameless and counts the rows, they
have no labels. In text a column without a value is float, and JSON without a record has no columns.
"""

from __future__ import annotations

import itertools
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_type, short
from irtkit.files import as_path, open_bytes, replacing, replacing_text
from irtkit.io.json_text import json_document, json_lines
from irtkit.io.text import batches, guarded, layout, naming, unguarded
from irtkit.responses.columns import refuse_repeats
from irtkit.responses.frames import as_frame

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TEXT = (*SEPARATORS, ".json", ".jsonl")
_PACKED = tuple(f"{ending}.gz" for ending in _TEXT)
TABLE_ENDINGS = (*_TEXT, *_PACKED, ".parquet", ".feather")


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results to a file, which appears whole or not at all.

    Parameters
    ----------
    frame
        Columns of text, float64, int64 or bool; the index holds text labels, or is the default
        one without a name.
    path
        The file; its suffix says the form: .csv, .tsv, .json or .jsonl, each perhaps with .gz
        after it, .parquet or .feather.

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
    "item","difficulty","status"
    "007",0.1,"ok"
    "NA",,"no variance"
    True
    """
    import pandas as pd

    check_type("frame", frame, pd.DataFrame)
    file = as_path(path)
    with naming(file):
        form, names = form_of(file), _checked(frame)
    if form in _TEXT:
        write = _to_csv if form in SEPARATORS else _to_json
        with replacing_text(file) as text:
            text.writelines(write(names, frame.itertuples(name=None), form))
        return
    with replacing(file) as temporary:
        if form == ".parquet":
            frame.to_parquet(temporary)
        else:
            import pyarrow as pa
            import pyarrow.feather

            pyarrow.feather.write_feather(pa.Table.from_pandas(frame), temporary)


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table that `write_table` wrote; its suffix says the form.

    Text by another program is read by the same rule, with its first column as the index.

    Raises
    ------
    ValueError
        If the suffix is another, or the content is not such a table; the message begins with the
        name of the file.
    OSError
        If there is no such file, or it is a folder.
    """
    import pandas as pd

    file = as_path(path)
    with naming(file):
        form = form_of(file)
        if form in _TEXT:
            return _indexed(_from_csv(file) if form in SEPARATORS else _from_json(file, form))
        with open_bytes(file) as handle:
            try:
                if form == ".parquet":
                    return pd.read_parquet(handle)
                import pyarrow.feather

                return as_frame(pyarrow.feather.read_table(handle))
            except (OSError, MemoryError) as error:  # as pyarrow calls what it cannot make out
                raise ValueError(f"the data cannot be read: {error}") from error


def form_of(file: Path) -> str:
    """Suffix of a table, without that of compressed text."""
    name = file.name.lower()
    if not name.endswith(TABLE_ENDINGS):
        raise ValueError(f"a table is {', '.join(TABLE_ENDINGS)}, got {short(file.suffix)}")
    return Path(name.removesuffix(".gz")).suffix


def _checked(frame: pd.DataFrame) -> list[str]:
    """Names of the index and the columns of a frame that reads back equal."""
    import pandas as pd

    def is_text(values: Any) -> bool:
        return pd.api.types.infer_dtype(values, skipna=True) in {"string", "empty"}

    index = frame.index
    names: list[Any] = ["" if index.name is None else index.name, *frame.columns]
    if not all(isinstance(name, str) for name in names) or frame.columns.name is not None:
        raise ValueError("the columns of a table must have names that are text, and no heading")
    refuse_repeats(names)
    for name, column in frame.items():
        if str(column.dtype) not in {"float64", "int64", "bool"} and not is_text(column):
            raise ValueError(
                f"column {short(name)} is {column.dtype}; "
                "a column of a table is text, float64, int64 or bool"
            )
    labelled = is_text(index) and not index.hasnans
    if not (labelled or index.identical(pd.RangeIndex(len(index)))):
        raise ValueError(
            "the index of a table must be text labels, none of them missing, or the default "
            f"0, 1, … without a name; got {index.dtype} named {short(index.name)}"
        )
    return names


def _to_csv(names: list[str], rows: Iterable[Any], form: str) -> Iterator[str]:
    for row in itertools.chain([names], rows):
        yield SEPARATORS[form].join(map(quoted, row)) + "\n"


def quoted(value: Any) -> str:
    """Cell of a value in CSV: text in quotes, a missing value as nothing."""
    if isinstance(value, str):
        return '"' + guarded(value).replace('"', '""') + '"'
    return "" if value is None or math.isnan(value) else repr(value)


def _to_json(names: list[str], rows: Iterable[Any], form: str) -> str:
    """Records of the rows, each on a line of its own."""
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    pairs = (map(": ".join, zip(keys, map(_value, row), strict=True)) for row in rows)
    records = [f"{{{', '.join(of_row)}}}" for of_row in pairs]
    lines = "\n".join([*records, ""]), "[" + ",\n ".join(records) + "]\n"
    return lines[form == ".json"]


def _value(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else f"{math.copysign(1, value):.0f}e999"
    return json.dumps(value, ensure_ascii=False)


def _from_csv(file: Path) -> pd.DataFrame:
    """Table whose quoted columns, and labels, are text; what others are, their cells say.

    pyarrow does not tell what was quoted, but nothing that was is null: so a column is not if its
    first value can be.
    """
    import pyarrow as pa

    separator, names = layout(file)
    refuse_repeats(names)
    text = pa.schema([(name, pa.string()) for name in names])

    def table(*null: str) -> Any:
        how: Any = {"null_values": ["", *null], "quoted_strings_can_be_null": False}
        return pa.Table.from_batches(batches(file, separator, names, **how)).cast(text)

    cells = typed = table()
    firsts = (column.drop_null()[:1].to_pylist() for column in cells.columns)
    plain = table(*itertools.chain.from_iterable(firsts))
    for k, column in enumerate(cells.columns):
        if column.null_count < plain[k].null_count or column.null_count == len(column):
            typed = typed.set_column(k, names[k], _typed(column))
    if names[0] or typed[0].to_pylist() != [*range(len(cells))]:
        typed = typed.set_column(0, names[0], cells[0])
    return typed.rename_columns([*map(unguarded, names)]).to_pandas()  # type: ignore[no-any-return]


def _typed(column: Any) -> Any:
    """Column of text as numbers, or as True and False, if all of its values are."""
    import pyarrow as pa

    for kind in ("int64", "float64", "bool"):
        with suppress(pa.ArrowInvalid):
            if kind == "float64" or column.null_count == 0 < len(column):
                return column.cast(kind)
    return column


def _from_json(file: Path, form: str) -> pd.DataFrame:
    import pandas as pd

    lines = form == ".jsonl"
    records = [record for _, record in json_lines(file)] if lines else json_document(file)
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("a table in JSON is a list of records")
    frame = pd.DataFrame(records)
    return frame.astype(dict.fromkeys(frame.columns[frame.isna().all()], "float64"))


def _indexed(frame: pd.DataFrame) -> pd.DataFrame:
    """Table with its first column as index, or without it where that only counts the rows."""
    import pandas as pd

    if frame.shape[1] == 0:
        return frame
    labels = frame.pop(frame.columns[0])
    if labels.name == "" and labels.tolist() == [*range(len(frame))]:
        return frame
    if labels.isna().any():
        row = int(labels.isna().argmax()) + 1
        raise ValueError(f"row {row} has no label in the index, the first column")
    index = pd.Series(labels.map(str), dtype="str").array
    return frame.set_axis(pd.Index(index, name=labels.name or None))
