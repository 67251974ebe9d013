"""Logs of Inspect: archives and JSON, scores of every kind, crashed runs, and archives that lie."""

from __future__ import annotations

import importlib
import json
import struct
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import json_text, read_responses

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "mark"),
    [("C", 1), ("I", 0), ("N", 0), ("yes", 1), ("No", 0), (True, 1), (0, 0), (1.0, 1), ("1", 1)],
)
def test_a_score_counts_as_inspect_counts_it(
    tmp_path: Path, make: Any, value: Any, mark: int
) -> None:
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", value)])
    assert read_responses(path).values.tolist() == [[mark]]


def test_partly_right_is_a_half(tmp_path: Path, make: Any) -> None:
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", "P")])
    assert read_responses(path, threshold=0.5).values.tolist() == [[1]]
    assert read_responses(path, threshold=0.6).values.tolist() == [[0]]


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


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"header.json": "{}", "summaries.json": "[]"}, "needs a record of the evaluation"),
        ({"header.json": '{"eval": {}}', "summaries.json": "[]"}, "eval.model must be text"),
        ({"header.json": "{", "summaries.json": "[]"}, "header.json is not JSON"),
        ({"summaries.json": "[]"}, "neither header.json nor"),
    ],
)
def test_a_fault_is_named_with_its_member(
    tmp_path: Path, members: dict[str, str], message: str
) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=f"^log.eval: .*{message}"):
        read_responses(path)


@pytest.mark.parametrize("stated", [None, 100])
def test_an_archive_that_unpacks_without_end_is_refused(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch, stated: int | None
) -> None:
    """Summaries unpack to 3 MiB, and may say another size."""
    path = make.write_inspect(tmp_path, "x" * (3 * 2**20))
    if stated is not None:
        content = bytearray(path.read_bytes())
        entry = content.rindex(
            b"PK\x01\x02", 0, content.index(b"summaries.json", content.index(b"PK\x01\x02"))
        )
        content[entry + 24 : entry + 28] = struct.pack("<I", stated)
        path.write_bytes(content)
    monkeypatch.setattr(json_text, "MOST_BYTES", 2**20)
    with pytest.raises(ValueError, match=r"^log.eval: .*(more than 1 MiB|damaged|not JSON)"):
        read_responses(path)
