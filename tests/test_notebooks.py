"""Claims about the notebooks: they run anywhere, leave nothing behind, and are current."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def executed():
    """The script that executes notebooks."""
    pytest.importorskip("jupytext")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER.parent / "docs"))
        yield importlib.import_module("executed")


@each_notebook
def test_the_stored_notebook_has_the_cells_of_the_script_and_outputs(notebook, executed):
    stored = executed.stored(notebook)
    assert executed.cells(stored) == executed.cells(executed.unexecuted(notebook))
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert any(executed.outputs(stored))


@pytest.mark.slow
@each_notebook
def test_a_notebook_gives_the_stored_outputs_without_a_display(notebook, executed, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.delenv("DISPLAY", raising=False)
    assert executed.outputs(executed.executed(notebook)) == executed.outputs(
        executed.stored(notebook)
    )
