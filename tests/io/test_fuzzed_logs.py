"""Logs that were damaged at random are a valid matrix or a ValueError, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUDY = Path(__file__).parents[2] / "benchmarks" / "fuzzed_logs.py"


def test_forty_damages_of_every_format_are_survived() -> None:
    command = [sys.executable, STUDY, "--damages", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
