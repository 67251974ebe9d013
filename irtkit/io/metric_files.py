"""Further metrics of answers in a file: a long or wide table in text or Parquet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_unique
from irtkit.files import as_path, head_of
from irtkit.io import parquet
from irtkit.io.text import naming, read_text_table
from irtkit.responses.columns import recognised
from irtkit.responses.marking import MISSING_WORDS

if TYPE_CHECKING:
    import pandas as pd


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
        if head_of(file).startswith(parquet.MAGIC):
            with parquet.opened(file) as table:
                return table.read().to_pandas()  # type: ignore[no-any-return]
        table = read_text_table(file)
        if table.empty:
            raise ValueError("the table has a header and no rows")
        header = [*table.columns]
        check_unique("column names must be unique", header)
        labels = {"metric", *(header[recognised(header, r)] for r in ("respondent", "item"))}
        words = dict.fromkeys(MISSING_WORDS) | {"true": 1.0, "false": 0.0}
        for name in (name for name in table.columns if name not in labels):
            table[name] = [words.get(cell.strip().lower(), cell) for cell in table[name]]
        return table
