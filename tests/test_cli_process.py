"""How commands end and what a terminal shows, whoever reads it and under any settings."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

import irtkit
from irtkit.cli import main
from tests.commands import refused
from tests.crowds import crowd

FULL = Path("/dev/full")
RUN = "from irtkit.cli import main; main()"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Current folder, with systems, the same with all answers wrong, and with a reversed key."""
    values = crowd("small").responses.values
    reversed_key = values.copy()
    reversed_key[:, 6] = 1 - values[:, 6]
    for name, cells in (("good", values), ("bad", 0 * values), ("reversed", reversed_key)):
        irtkit.ResponseMatrix(cells).to_frame().to_csv(tmp_path / f"{name}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left():
    """A pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w", encoding="utf-8")


def full():
    """A disk without space."""
    return FULL.open("w", encoding="utf-8")


@pytest.mark.parametrize("stream", [left, full])
@pytest.mark.parametrize("line", ["gate good.csv bad.csv", "audit reversed.csv --fail-on any"])
@pytest.mark.usefixtures("here")
def test_a_verdict_does_not_depend_on_who_reads_it(monkeypatch, line, stream):
    if stream is full and not FULL.exists():
        pytest.skip("there is no /dev/full")
    monkeypatch.setattr(sys, "argv", ["irtkit", *line.split()])
    with stream() as output, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 1


def test_what_steers_a_terminal_is_spelled_out_in_a_line_of_bounded_length(tmp_path):
    label = "\x1b[31mred" + "x" * 200_000
    (tmp_path / "results.csv").write_text(f"model,q1,{label}\n\x1b]0;title\x07,1,maybe\nb,0,1\n")
    told = refused("fit results.csv", tmp_path)
    assert told.replace("…", "").isascii()
    assert "\x1b" not in told
    assert len(told) < 2100


@pytest.fixture(scope="module")
def long_labels(tmp_path_factory):
    """Folder with a table whose labels are as long as names of models."""
    place = tmp_path_factory.mktemp("terminal")
    frame = crowd("inverted").responses.to_frame()
    frame.index = [f"organisation/a-model-of-some-length-{k}b-instruct" for k in range(150)]
    frame.columns = [f"quiz/a question with a long label, number {k}" for k in range(60)]
    frame.to_csv(place / "results.csv")
    (place / "twice.csv").write_text("model,item,correct\n" + "a model,an item,1\n" * 9)
    return place


def on_a_terminal(line, width, folder, *, code=0):
    """Lines that a terminal of a width would keep, of the output or of what ends in an error."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    named = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *line.split()],
        cwd=folder,
        env=named | {"TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if code else subprocess.DEVNULL,
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # as Linux says that nobody writes any more
        pass
    os.close(ours)
    assert process.wait() == code, written.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())
    return [one.split("\r")[-1].rstrip() for one in text.replace("\r\n", "\n").split("\n")]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["demo", "audit results.csv", "leaderboard results.csv"])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(line, long_labels):
    wide, lines = (on_a_terminal(line, width, long_labels) for width in (120, 80))
    texts = [one for one in lines if not one.startswith("next: ")]  # a command is in one line
    assert max(map(cell_len, texts)) <= 80, max(texts, key=cell_len)
    new = {word for one in lines for word in one.split()} - set(" ".join(wide).split())
    assert {word for word in new if "…" not in word} == set()


def test_a_long_error_is_broken_between_words_on_a_terminal(long_labels):
    lines = on_a_terminal("fit twice.csv", 80, long_labels, code=2)
    assert max(map(cell_len, lines)) <= 80
    text = " ".join(map(str.strip, lines))
    assert "item 'an item' occurs in several rows (and 7 more rows)" in text
