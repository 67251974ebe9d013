"""Further metrics of answers in a file: a long or wide table in text or Parquet.

Labels are taken as they are written, as those of responses are, so that both are the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from irtkit.files import as_path, head_of
from irtkit.io import parquet
from irtkit.io.text import naming, records
from irtkit.responses.columns import find_labels, refuse_repeats
from irtkit.responses.marking import MISSING_WORDS

if TYPE_CHECKING:
    import pandas as pd

_WRITTEN = dict.fromkeys(MISSING_WORDS) | {"true": 1.0, "false": 0.0}
"""What else than a number a cell may be, in small letters."""


def as_metrics(given: Any) -> Any:
    """Return metrics as they are, and read them where it is a file that is named."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and is_file(given)):
        return read_metrics(given)
    return given


def is_file(text: str) -> bool:
    """Whether a text is the name of a file, be it no ordinary one, and of no folder."""
    # Path's methods are an error where names of metrics are too long for a file
    return os.path.exists(text) and not os.path.isdir(text)  # noqa: PTH110, PTH112


def read_metrics(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read metrics of answers, as `irtkit.difficulty.quality_standard` takes them.

    The file is text with commas, tabs or semicolons, plain or gzip, or Parquet: a row per answer, a
    column per metric and two of respondent and item, recognised by their usual names; or a row per
    value, with the columns metric and value.

    Raises
    ------
    ValueError
        If the content is no such table; the message begins with the name of the file.
    OSError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from irtkit.io.metric_files import read_metrics
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "metrics.csv")
    ...     _ = path.write_text("model,item,tokens,passed\ngpt,007,31,True\ngpt,008,NA,False\n")
    ...     read_metrics(path)
      model item tokens passed
    0   gpt  007     31    1.0
    1   gpt  008   None    0.0
    """
    import pandas as pd

    file = as_path(path)
    with naming(file):
        if head_of(file).startswith(parquet.MAGIC):
            with parquet.opened(file) as table:
                return table.read().to_pandas()  # type: ignore[no-any-return]
        header, lines = records(file)
        refuse_repeats(header)
        labels = {*(header[k] for k in find_labels(header)), "metric"}
        rows = [
            [
                cell if name in labels else _WRITTEN.get(cell.strip().lower(), cell)
                for name, cell in zip(header, row, strict=True)
            ]
            for _, row in lines
        ]
        if not rows:
            raise ValueError("the table has a header and no rows")
        return pd.DataFrame(rows, columns=header, dtype=object)
