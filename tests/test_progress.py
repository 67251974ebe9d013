"""Claims about the progress of long work."""

import itertools
import logging
import sys
from types import SimpleNamespace

import pytest
from rich import console

from irtkit import progress
from irtkit.progress import progress_bar


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


@pytest.mark.parametrize("shown", [None, False])
def test_progress_is_silent_in_a_pipe_and_where_it_is_not_asked_for(capsys, *, shown):
    with progress_bar("fitting", 2, shown=shown) as update:
        update(1, "step 1")
    assert capsys.readouterr() == ("", "")


def test_progress_is_not_shown_where_notes_are_not_wanted(notebook, monkeypatch):
    assert progress.is_watched()
    monkeypatch.setattr(logging.getLogger("irtkit"), "level", logging.WARNING)
    with progress_bar("predicting", 4) as update:
        update(2, "")
    assert not notebook
