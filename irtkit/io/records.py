"""Tables in other forms: records of JSON, arrays of NumPy, sheets of Excel, lines of py-irt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from irtkit.checks import short
from irtkit.files import open_bytes
from irtkit.io.json_text import for_each, json_document, json_lines
from irtkit.responses.tables import frame_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from irtkit.responses.tables import Table

_PY_IRT = re.compile(rb"""\s*\{\s*['"](subject_id|responses)['"]""")


def is_py_irt(head: bytes) -> bool:
    """Whether a file begins with a line of py-irt."""
    both = b'"subject_id"' in head and b'"responses"' in head
    return _PY_IRT.match(head) is not None or (both and head.lstrip().startswith(b"{"))


def py_irt_frame(path: Path) -> pd.DataFrame:
    """Long table of py-irt's lines: ``{"subject_id": …, "responses": {item: 0 or 1}}``.

    https://github.com/nd-ball/py-irt
    """
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}

    def add(record: dict[str, Any]) -> None:
        subject, responses = record["subject_id"], record["responses"]
        if not isinstance(subject, str | int) or not isinstance(responses, dict):
            raise ValueError('the line is not {"subject_id": "…", "responses": {"item": 1, …}}')
        if str(subject) in rows:
            raise ValueError(f"respondent {short(str(subject))} occurs twice")
        rows[str(subject)] = responses

    for_each("line", json_lines(path, unique=True), add)
    known = next((item for responses in rows.values() for item in responses), "")
    filled = {name: responses or {known: None} for name, responses in rows.items()}
    cells = [(name, *one) for name, responses in filled.items() for one in responses.items()]
    return pd.DataFrame(cells, columns=["respondent", "item", "response"])


def records_table(path: Path, head: bytes) -> Table:
    """Table of records: JSON lines, or one array of objects."""
    import pandas as pd

    first = head.lstrip().split(b"\n")[0].rstrip()
    lines = first.startswith(b"{") and (first.endswith(b"}") or b"\n" not in head)
    records = [one for _, one in json_lines(path)] if lines else json_document(path)
    if isinstance(records, dict) and records and all(map(_is_record, records.values())):
        return frame_table(pd.DataFrame.from_dict(records, orient="index"), path.name)
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise ValueError("the JSON is neither a list of records nor a record per line")
    return frame_table(pd.DataFrame(records), path.name)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict)


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
        raise ValueError(f"the file has several sheets, not one: {', '.join(sheets)}")
    return frame_table(next(iter(sheets.values())), path.name)


def numpy_array(path: Path) -> Any:
    """Array of a .npy file; arrays of objects are refused, since they are unpickled."""
    import numpy as np

    with open_bytes(path) as handle:
        return np.load(handle, allow_pickle=False)
