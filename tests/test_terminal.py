"""What is printed on a terminal fits it: no line is wider, no word is broken."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.cells import cell_len

import irtkit

if TYPE_CHECKING:
    from pathlib import Path

fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))

RUN = "from irtkit.cli import main; main()"
COMMANDS = (
    ("demo",),
    ("fit", "results.csv"),
    ("audit", "results.csv"),
    ("compare", "results.csv"),
    ("leaderboard", "results.csv"),
    ("inspect", "results.csv"),
)
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a table whose labels are as long as those of models."""
    place = tmp_path_factory.mktemp("terminal")
    slopes = np.full(40, 1.2)
    slopes[[7, 20]] = -1.0, 0.0
    items = irtkit.ItemParameters(slopes, np.linspace(-2, 2, 40), np.zeros(40))
    frame = irtkit.simulate_responses(items, np.linspace(-2, 2, 60), seed=0).to_frame()
    frame.index = [f"organisation/a-model-of-some-length-{k}b-instruct" for k in range(60)]
    frame.columns = [f"quiz/a question with a long label, number {k}" for k in range(40)]
    frame.to_csv(place / "results.csv")
    return place


def printed(
    arguments: tuple[str, ...], width: int, folder: Path, *, errors: bool = False
) -> list[str]:
    """Lines that a terminal of a width would keep, of the output or of what ends in an error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    named = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        env=named | {"TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if errors else subprocess.DEVNULL,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # as Linux says that nobody writes any more
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 2 * errors, written.decode()
    lines = STEERING.sub("", written.decode()).replace("\r\n", "\n").split("\n")
    return [line.split("\r")[-1].rstrip() for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(
    arguments: tuple[str, ...], folder: Path
) -> None:
    wide = {word for line in printed(arguments, 120, folder) for word in line.split()}
    for width in (80, 100):
        lines = printed(arguments, width, folder)
        assert max(map(cell_len, lines)) <= width, max(lines, key=cell_len)
        words = {word for line in lines for word in line.split()}
        assert {word for word in words - wide if "…" not in word} == set()


def test_a_long_error_is_broken_between_words_on_a_terminal(folder: Path) -> None:
    (folder / "twice.csv").write_text("model,item,correct\n" + "a model,an item,1\n" * 9)
    lines = printed(("fit", "twice.csv"), 80, folder, errors=True)
    assert max(map(cell_len, lines)) <= 80
    text = " ".join(map(str.strip, lines))
    assert "item 'an item' occurs in several identical rows (and 7 more rows)" in text
