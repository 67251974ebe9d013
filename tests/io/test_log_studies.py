"""Claims about the studies of files: damages are survived, reading is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
STUDY = Path(__file__).parents[2] / "benchmarks" / "fuzzed_logs.py"


def test_forty_damages_of_every_format_are_survived() -> None:
    command = [sys.executable, STUDY, "--damages", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_reading_a_million_samples_is_timed(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [sys.executable, STUDY.with_name("read_logs.py"), "--shape", "3x20", "--out", out]
    subprocess.run(command, capture_output=True, text=True, check=True)
    records = json.loads(out.read_text())["records"]
    assert [record["format"] for record in records] == ["lm-eval", "every-eval-ever"]
    assert all((record["systems"], record["items"]) == (3, 20) for record in records)


def test_reading_a_long_table_is_timed_beside_pyarrow(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    study = [STUDY.with_name("read_long.py"), "--systems", "3", "--items", "20", "--rounds", "1"]
    subprocess.run([sys.executable, *study, "--out", out], capture_output=True, check=True)
    records = json.loads(out.read_text())["records"]
    assert [(record["form"], record["reader"]) for record in records] == [
        *(("parquet", "pyarrow"), ("parquet", "irtkit")),
        *(("csv", "pyarrow"), ("csv", "irtkit")),
    ]
    assert {record["rows"] for record in records} == {60}
