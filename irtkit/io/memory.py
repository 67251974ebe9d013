"""Responses in memory: data frames of any library, arrays, lists of records, dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import half_character
from irtkit.responses import ResponseMatrix
from irtkit.responses.frames import as_table, header_of, with_index
from irtkit.responses.long_table import long_table_of

if TYPE_CHECKING:
    from irtkit.io.source import Source


def responses_of(given: object, source: Source) -> tuple[ResponseMatrix, str]:
    """Response matrix of what is given, by the settings of a source; what it was taken for."""
    if isinstance(given, ResponseMatrix):
        raise TypeError("path is a ResponseMatrix already")
    if isinstance(given, np.ndarray) or (isinstance(given, list | tuple) and not _records(given)):
        source.refuse_table_settings("array")
        words = {"threshold": source.threshold, "right": source.right, "wrong": source.wrong}
        return ResponseMatrix(given, **words), "an array"  # type: ignore[arg-type]
    frame = _frame(given)
    whole = with_index(frame)
    header = header_of(whole)
    if source.is_long(header):
        names = source.long_columns(header)
        return source.matrix_of_long(long_table_of(whole, names)), "a long table"
    return source.matrix_of_wide(frame), "a wide table"


def _frame(given: Any, dtype: Any = None) -> Any:
    """Data frame of pandas, or table of PyArrow."""
    import pandas as pd

    try:
        if _records(given):
            return pd.DataFrame(list(given), dtype=dtype)
        if isinstance(given, Mapping) and given:
            if _records(list(given.values())):
                return pd.DataFrame(list(given.values()), index=list(given), dtype=dtype)
            return pd.DataFrame(dict(given), dtype=dtype)
    except OverflowError:  # pandas before 3, of a number too large for a float
        if dtype is None:
            return _frame(given, object)
        raise
    except UnicodeEncodeError as error:
        half = half_character(error.object)
        raise ValueError(f"responses hold text that is none: {half}") from error
    except (TypeError, ValueError) as error:  # a set, or columns of other lengths
        raise ValueError(f"responses are no columns of a table: {error}") from error
    try:
        return as_table(given)
    except TypeError as error:
        raise TypeError(
            "responses must be a path, a data frame, an array, a list of records, a dict or a "
            f"ResponseMatrix, got {type(given).__name__}"
        ) from error


def _records(given: object) -> bool:
    """Whether it is a list of dicts."""
    if not isinstance(given, list | tuple) or not given:
        return False
    return all(isinstance(record, Mapping) for record in given)
