"""Settings of the documentation site: ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import irtkit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project, author, release = "irtkit", "the irtkit authors", irtkit.__version__
extensions = [
    "figures",  # benchmark tables, read from stored results
    "listings",  # public names and commands
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", ".jupyter_cache", "jupyter_execute"]
default_role = "code"
html_theme = "furo"
html_show_copyright = False
html_title = f"irtkit {release}"
html_extra_path = ["llms.txt"]
html_show_sphinx = False
suppress_warnings = ["ref.python"]  # several classes have n_items
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False


def notebooks_as_pages(app: Any) -> None:  # noqa: ARG001  # Sphinx gives it
    """Turn the notebooks, which are scripts, into pages that are executed."""
    import jupytext

    pages = HERE / "notebooks"
    pages.mkdir(exist_ok=True)
    for script in sorted((HERE.parent / "notebooks").glob("*.py")):
        notebook = jupytext.read(script)
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        page = jupytext.writes(notebook, "ipynb")
        path = pages / f"{script.stem}.ipynb"
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def marks_as_they_are(*given: Any) -> None:
    """Let |a| in a docstring be the size of a, and ``sd``² the square of a name."""
    lines: list[str] = given[-1]
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            escaped = re.sub(r"\|(?=[\w/]+\|)|(?<=[\w/])\|", r"\|", line)
            lines[k] = escaped.replace("``²", "``\\ ²")


def setup(app: Any) -> None:
    """Have the notebooks ready before sources are looked for."""
    app.connect("builder-inited", notebooks_as_pages)
    app.connect("autodoc-process-docstring", marks_as_they_are)
