"""Tables in JSON, NumPy files, Excel and lines of py-irt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit import read_responses
from irtkit.findings import ReadingError
from irtkit.responses import ResponseMatrix

SAMPLE = Path(__file__).parents[1] / "data" / "py_irt_minitest.jsonlines"
GOOD = '{"subject_id": "x", "responses": {"a": 1}}\n'


def test_the_sample_of_py_irt_is_read() -> None:
    responses = read_responses(SAMPLE)
    assert responses.respondents == ("pedro", "pinguino", "ken", "burt")
    assert responses.values.tolist() == [[1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize(("second", "message"), [
    ('{"subject_id": "y", "responses": {"a": 1}', "line 2 is not JSON"),
    ('{"subject_id": "y", "responses": {"a": 1, "a": 1}}', "line 2: 'a' occurs twice"),
    ('{"subject_id": "x", "responses": {}}', "line 2: system 'x' occurs twice"),
])  # fmt: skip
def test_a_fault_in_py_irt_is_named_with_its_line(file: Any, second: str, message: str) -> None:
    with pytest.raises(ReadingError, match=f"^results.csv: .*{message}"):
        read_responses(file(GOOD + second + "\n"))


@pytest.mark.parametrize(("content", "message"), [
    *((content, "the JSON is not a table: a list of records, a record per line")
      for content in ("1", "[]", "[1, 0]", '{"a": [1], "b": [0]}',
                      '{"results": [{"model": "a", "q1": 1}], "meta": 1}')),
    *((content, "line [12] is not") for content in ('{"a": 1, "b": [', '{"model": "a"}\n[1]\n')),
    ('[{"model": "a", "item": "q", "correct": [1]}]', "'correct' holds lists or objects"),
    ('{"model": {"x": 1}, "item": "q", "correct": 1}', "'model' holds lists or objects"),
    ('[{"model": "a", "q1": [1], "q2": 1}]', r"not responses: 'q1'. Pass ignore='q1'"),
])  # fmt: skip
def test_json_other_than_a_table_of_single_values_is_refused(
    file: Any, content: str, message: str
) -> None:
    with pytest.raises(ReadingError, match=f"^results.json: .*{message}"):
        read_responses(file(content, "results.json"))


def test_arrays_of_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    with pytest.raises(ReadingError, match="allow_pickle=False"):
        read_responses(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.array([[0.2, 0.7]]))
    assert read_responses(tmp_path / "b.npy", threshold=0.5).values.tolist() == [[0, 1]]


def test_excel_keeps_labels_as_they_are_written(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"model": ["NA", "007"], "q1": [True, None], 2: [0, "NA"]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    expected = ResponseMatrix([[1, 0], [-1, -1]], ["NA", "007"], ["q1", "2"])
    assert read_responses(tmp_path / "a.xlsx") == expected


def test_excel_needs_an_extra(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'irtkit\[excel\]'"):
        read_responses(file(b"PK\3\4", "a.xlsx"))
