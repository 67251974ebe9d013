"""Logs of Inspect: archives and JSON, scores of every kind, crashed runs, and archives that lie."""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from irtkit import read_responses

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "mark"),
    [("C", 1), ("N", 0), ("P", 0.5), ("yes", 1), ("No", 0), (True, 1), (0, 0), ("1", 1)],
)
def test_a_score_is_marked_as_inspect_marks_it(
    tmp_path: Path, make: Any, value: Any, mark: float
) -> None:
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", value)])
    for threshold in (0.4, 0.6):
        marks = read_responses(path, threshold=threshold).values
        assert marks.tolist() == [[int(mark >= threshold)]]


def test_each_value_of_a_score_is_a_metric(tmp_path: Path, make: Any) -> None:
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", {"form": "C", "sum": "I"})])
    with pytest.raises(ValueError, match=r"several metrics: match.form, match.sum"):
        read_responses(path)
    assert read_responses(path, metric="match.sum").values.tolist() == [[0]]


def test_a_crashed_run_is_read_from_its_journal(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        start = make.inspect_header()
        del start["status"]
        archive.writestr("_journal/start.json", json.dumps(start))
        for number, item in ((10, "b"), (9, "a")):
            sample = [make.inspect_sample(item, "C" if item == "a" else "I")]
            archive.writestr(f"_journal/summaries/{number}.json", json.dumps(sample))
    with pytest.warns(UserWarning, match=r"1 sample did not run. Status: crashed"):
        responses = read_responses(path)
    assert responses.items == ("sums/a", "sums/b")
    assert responses.values.tolist() == [[1, 0]]


def test_zstd_is_read(tmp_path: Path, make: Any) -> None:
    samples = [make.inspect_sample("a", "C")]
    expected = read_responses(make.write_inspect(tmp_path, samples))
    path = tmp_path / "zstd.eval"
    by = "zipfile" if sys.version_info >= (3, 14) else "backports.zstd.zipfile"
    with importlib.import_module(by).ZipFile(path, "w", 93) as archive:
        archive.writestr("header.json", json.dumps(make.inspect_header()))
        archive.writestr("summaries.json", json.dumps(samples))
    assert read_responses(path) == expected
