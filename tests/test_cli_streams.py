"""Exit codes and files do not depend on who reads what is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import irtkit
from irtkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
FAILED = ("gate", "good.csv", "bad.csv")


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder, with systems, the same with all answers wrong, and with a reversed key."""
    items = irtkit.ItemParameters.from_difficulty(np.full(12, 2.0), np.linspace(-2, 2, 12))
    values = irtkit.simulate_responses(items, np.linspace(-2, 2, 60), seed=0).values
    reversed_key = values.copy()
    reversed_key[:, 6] = 1 - values[:, 6]
    for name, cells in (("good", values), ("bad", 0 * values), ("reversed", reversed_key)):
        irtkit.ResponseMatrix(cells).to_frame().to_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left() -> TextIO:
    """A pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w", encoding="utf-8")


def full() -> TextIO:
    return FULL.open("w", encoding="utf-8")


def code_of(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], stream: TextIO) -> int:
    monkeypatch.setattr(sys, "argv", ["irtkit", *arguments])
    with stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("stream", [left, pytest.param(full, marks=needs_full)])
@pytest.mark.parametrize(
    "arguments",
    [FAILED, ("audit", "reversed.csv", "--fail-on", "any")],
    ids=lambda arguments: arguments[0],
)
def test_a_verdict_is_that_of_the_command_whoever_reads_it(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], stream: Callable[[], TextIO]
) -> None:
    assert code_of(monkeypatch, arguments, stream()) == 1


@pytest.mark.skipif(os.name == "nt", reason="descriptors of POSIX")
@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
@pytest.mark.parametrize("early", [True, False])
def test_closed_streams_end_no_command_and_get_into_no_file(
    runs: Path, closed: tuple[int, ...], *, early: bool
) -> None:
    """Closed before Python starts, its streams are None; after, they fail."""
    command = f"import os; [os.close(n) for n in {closed if not early else ()}];"
    command += "from irtkit.cli import main; main()"
    asked = [sys.executable, "-c", command, "fit", "good.csv", "--model", "1PL", "--out", "tables"]
    shell = f'exec "$@" {" ".join(f"{n}>&-" for n in closed if early)}'
    started = ["sh", "-c", shell, "sh", *asked]
    done = subprocess.run(started, cwd=runs, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert len(irtkit.read_table(runs / "tables" / "items.csv")) == 12
    assert irtkit.load(runs / "tables" / "result.npz").model == "1PL"
