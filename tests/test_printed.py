"""Sentences and labels as they are printed, and the progress of long work."""

import itertools
import logging
import sys
from types import SimpleNamespace

import pytest
from rich import console
from rich.cells import cell_len

from irtkit import progress
from irtkit.printed import WIDTH, in_lines, short_labels, shortened
from irtkit.progress import progress_bar


# Claims about sentences and labels as they are printed
@pytest.mark.parametrize("label", ["a" * 60, "質問" * 30, "質問 of a benchmark " * 5])
def test_labels_take_no_more_columns_than_there_are(label):
    for room in (10, 11, 28):
        text = shortened(label, room)
        assert room - 2 <= cell_len(text) <= room
        assert text.endswith("…")
    assert shortened(label, 200) == label


@pytest.mark.parametrize("word", ["word", "質問文", "x" * 100, "問" * 100, "well-known"])
@pytest.mark.parametrize("bullet", ["", "- "])
def test_sentences_are_broken_into_lines_that_fit_and_lose_nothing(word, bullet):
    sentence = " ".join([word] * 40)
    lines = in_lines([sentence], bullet=bullet).split("\n")
    assert max(map(cell_len, lines)) <= WIDTH
    assert all(line.startswith("  ") for line in lines[1:])
    assert lines[0].startswith(bullet + word[:4])
    whole = "".join(lines).removeprefix(bullet).replace(" ", "")
    assert whole == sentence.replace(" ", "")


def test_short_labels_stay_apart_and_lose_what_they_share():
    names = [f"meta-llama/Meta-Llama-3-{k}B-Instruct-of-one-long-suffix" for k in (1, 12, 70)]
    assert short_labels(names, 20) == [
        "meta-l…1B-Instruct-…",
        "meta-l…12B-Instruct…",
        "meta-l…70B-Instruct…",
    ]
    labs = [f"{lab}/{'model-' * 5}{k}b" for lab in ("one", "two") for k in (7, 13)]
    assert short_labels(labs, 14) == ["one/…7b", "one/…13b", "two/…7b", "two/…13b"]
    many = [f"{'x' * 40}{k}" for k in range(30)] + [
        "x" * 40,
        "模型" * 20,
        "模型" * 20 + "一",
        "gpt",
    ]
    short = short_labels(many, 12)
    assert len(set(short)) == len(many)
    assert max(map(cell_len, short)) <= 12
    assert short_labels(["a", "b"], 12) == ["a", "b"]
    assert short_labels([], 12) == []


# Claims about the progress of long work
@pytest.fixture
def notebook(monkeypatch):
    """What is shown below a cell, as if the tests ran in a notebook."""
    shown = []

    def display(content, **_):
        shown.append(content)
        return SimpleNamespace(update=lambda content, **_: shown.append(content))

    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(console, "_is_jupyter", lambda: True)
    clock = itertools.count(0, 10)  # Every look at it is ten seconds later.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    return shown


def test_progress_is_one_line_below_the_cell_which_ends_empty(notebook, capsys):
    with progress_bar("predicting", 4) as update:
        for done in range(1, 5):
            update(done, f"fold {done}")
    lines = [content["text/plain"] for content in notebook]
    assert lines[-1] == ""
    assert [f"{share}%" in line for share, line in zip((25, 50, 75, 100), lines, strict=False)] == [
        True
    ] * 4
    assert lines[1].endswith("predicting fold 2")
    assert capsys.readouterr() == ("", "")


def test_progress_is_not_shown_where_notes_are_not_wanted(notebook, monkeypatch):
    assert progress.is_watched()
    monkeypatch.setattr(logging.getLogger("irtkit"), "level", logging.WARNING)
    with progress_bar("predicting", 4) as update:
        update(2, "")
    assert not notebook
