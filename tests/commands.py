"""The command line as a user calls it, in this process."""

import io
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from unittest.mock import patch

import pytest

from irtkit.cli import main
from tests.crowds import crowd


def run(line, folder):
    """What a command prints, and its exit code. The line is without the word irtkit."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    typed = ["irtkit", *shlex.split(line)]
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


def printed(line, folder, *, code=0):
    """What a command prints on standard output, in lines of 80 columns, with its exit code."""
    done = run(line, folder)
    assert done.returncode == code, done.stderr
    assert max(map(len, done.stdout.splitlines()), default=0) <= 80
    assert max(map(len, done.stderr.splitlines()), default=0) <= 80
    return done.stdout


def refused(line, folder):
    """The one line on standard error of a command that is refused."""
    done = run(line, folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("irtkit: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def write_crowd(folder, name="small", file="results.csv"):
    """Write the responses of a named crowd as a wide table."""
    crowd(name).responses.to_frame().to_csv(folder / file)
