"""Notebooks with their outputs, from the scripts in ``notebooks``, next to which they stand."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import jupytext
import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).parents[1] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3", "file_extension": ".py"},
}


def unexecuted(script: Path) -> NotebookNode:
    """A notebook of the cells of a script."""
    notebook = jupytext.read(script)
    notebook.metadata = nbformat.from_dict(METADATA)
    for k, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{k}", nbformat.from_dict({})
    return notebook


def executed(script: Path) -> NotebookNode:
    """A notebook with the outputs that its cells give, in an empty folder.

    Raises
    ------
    ValueError
        The notebook left a file.
    """
    notebook = unexecuted(script)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", record_timing=False, resources=resources
        ).execute()
        if left := sorted(path.name for path in Path(folder).iterdir()):
            raise ValueError(f"{script.name} left {', '.join(left)}")
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:  # progress, shown in slow cells, ends as an empty output
        if "outputs" in cell:
            cell.outputs = [one for one in cell.outputs if text_of(one)]
    return notebook


def text_of(output: NotebookNode) -> str:
    """Text of an output. A picture has one, too."""
    return output.text if "text" in output else output.data["text/plain"]


def stored(script: Path) -> NotebookNode:
    """The notebook that was last written for a script."""
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def write(notebook: NotebookNode, script: Path) -> None:
    """Write the notebook of a script."""
    nbformat.write(notebook, script.with_suffix(".ipynb"))


def cells(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Kind and source of every cell."""
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def outputs(notebook: NotebookNode) -> list[str]:
    """Text of the outputs of every cell. A picture is the same whatever its bytes.

    Where the kernel splits what is printed depends on its timing.
    """
    return ["".join(map(text_of, cell.get("outputs", []))) for cell in notebook.cells]


def is_current(script: Path, made: NotebookNode) -> bool:
    """Whether the stored notebook has the cells and the texts of one just made."""
    if not script.with_suffix(".ipynb").exists():
        return False
    known = stored(script)
    return cells(known) == cells(made) and outputs(known) == outputs(made)
