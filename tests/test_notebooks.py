"""Claims about the notebooks: text files that run anywhere and leave nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
MARKER = "# %%"
ABSOLUTE_PATH = re.compile(r"""(?:^|[\s"'`(=])(?:/\w|~/|[A-Za-z]:[\\/])""", re.MULTILINE)

each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def cells(notebook: Path) -> list[tuple[str, list[str]]]:
    """Kind of every cell, "" for code, and the lines below its marker."""
    found: list[tuple[str, list[str]]] = []
    for line in notebook.read_text(encoding="utf-8").splitlines():
        if line.startswith(MARKER):
            found.append((line.removeprefix(MARKER).strip(), []))
        else:
            found[-1][1].append(line)
    return found


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_without_a_display_and_leaves_no_file(
    notebook: Path, tmp_path: Path
) -> None:
    for package in ("matplotlib", "sklearn"):
        if find_spec(package) is None:
            pytest.skip(f"notebooks need {package}, which is not installed")
    before = sorted(FOLDER.rglob("*"))
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    done = subprocess.run(
        [sys.executable, notebook],
        cwd=tmp_path,
        env=environment | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("Error|Warning", done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert sorted(FOLDER.rglob("*")) == before


@each_notebook
def test_a_notebook_is_in_percent_format_and_begins_with_text(notebook: Path) -> None:
    assert notebook.read_text(encoding="utf-8").startswith(f"{MARKER} [markdown]\n# # ")
    for kind, lines in cells(notebook):
        assert kind in {"", "[markdown]"}
        assert any(lines), "an empty cell"
        if kind == "[markdown]":
            assert all(line.startswith("#") for line in lines if line)
        else:
            compile("\n".join(lines), notebook.name, "exec")


@each_notebook
def test_a_notebook_names_no_absolute_path(notebook: Path) -> None:
    assert ABSOLUTE_PATH.findall(notebook.read_text(encoding="utf-8")) == []


def test_notebooks_hold_no_outputs() -> None:
    # the percent format has no place for them; only .ipynb files and stored figures do
    kept = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert kept == {path.name for path in NOTEBOOKS}
