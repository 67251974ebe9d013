"""Reading and writing: response matrices from outside formats, and irtkit's own tables.

- `irtkit.io.text`: rows and columns of delimited text, and messages that begin with the file's name
- `irtkit.io.source`: what the readers of responses share
- `irtkit.io.delimited`, `irtkit.io.parquet`, `irtkit.io.py_irt`: one file per format of tables
- `irtkit.io.json_text`: JSON of bounded size
- `irtkit.io.samples`: what every reader of evaluation logs yields
- `irtkit.io.inspect_logs`, `irtkit.io.lm_eval`, `irtkit.io.every_eval_ever`, `irtkit.io.helm`,
  `irtkit.io.evalplus`, `irtkit.io.swe_bench`, `irtkit.io.openml`, `irtkit.io.open_llm`: one file
  per format of logs
- `irtkit.io.logs`: which files are logs, and what they hold; `irtkit.io.log_matrix`: one matrix of
  them
- `irtkit.io.memory`: data frames, arrays, lists of records and dicts
- `irtkit.io.reading`: recognises a format and calls its reader
- `irtkit.io.merging`: matrices put together
- `irtkit.io.writing`: matrices written, for irtkit and for others
- `irtkit.io.overview`: what a path holds, and what to type
- `irtkit.io.tables`: tables of results, written so that they read back equal
"""

from irtkit.io.reading import read_responses
from irtkit.io.tables import read_table, write_table
from irtkit.io.writing import write_responses

__all__ = ["read_responses", "read_table", "write_responses", "write_table"]
