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
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


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
def test_a_notebook_is_in_percent_format_without_outputs_and_absolute_paths(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert not re.search(r"""(?m)(?:^|[\s"'`(=])(?:/\w|~/|[A-Za-z]:[\\/])""", text)
    for cell in text.split("# %%")[1:]:
        kind, *lines = cell.splitlines()
        assert any(lines), "an empty cell"
        if kind == " [markdown]":
            assert all(line.startswith("#") for line in lines if line)
    # the percent format has no place for outputs. Only .ipynb files and stored figures do
    assert {path for path in FOLDER.iterdir() if path.is_file()} == {*NOTEBOOKS}
