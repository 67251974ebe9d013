"""The command line as a user calls it, in this process or, a second slower, in one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from irtkit.cli.commands import main

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command prints and how it ends, in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    typed = ["irtkit", *map(str, arguments)]
    with (
        chdir(folder),
        patch.object(sys, "argv", typed),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return subprocess.CompletedProcess(typed, ended.value.code, out, err)


def run_in_a_process(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    command = [sys.executable, "-c", "from irtkit.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
