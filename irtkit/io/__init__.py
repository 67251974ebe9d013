"""Reading and writing: response matrices from outside formats, and irtkit's own tables.

- `irtkit.io.text`: rows of delimited text, and messages that begin with the file's name
- `irtkit.io.source`: what the readers of responses share
- `irtkit.io.delimited`, `irtkit.io.parquet`, `irtkit.io.py_irt`: one file per outside format
- `irtkit.io.memory`: data frames, arrays, lists of records and dicts
- `irtkit.io.reading`: recognises a format and calls its reader
- `irtkit.io.tables`: tables of results, written so that they read back equal
"""

from irtkit.io.reading import read_responses
from irtkit.io.tables import read_table, write_table

__all__ = ["read_responses", "read_table", "write_table"]
