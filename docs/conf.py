"""Settings of the documentation site: ``sphinx-build -W docs docs/_build``."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import irtkit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project, author, release = "irtkit", "the irtkit authors", irtkit.__version__
extensions = ["myst_nb"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_theme_options = {  # a link to edit each page
    "source_repository": "https://github.com/irtkit/irtkit/",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_show_copyright = False
html_title = f"irtkit {release}"
html_extra_path = ["llms.txt"]
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # code in messages is copied
nb_execution_mode = "off"  # notebooks hold their outputs


def copy_notebooks(app: Any) -> None:  # noqa: ARG001  # Sphinx gives it
    """Copy the notebooks to where Sphinx looks for pages."""
    (HERE / "notebooks").mkdir(exist_ok=True)
    for path in (HERE.parent / "notebooks").glob("*.ipynb"):
        shutil.copy(path, HERE / "notebooks")


def write_reference(app: Any) -> None:  # noqa: ARG001
    """Write a page for every public name."""
    import reference

    pages = reference.pages()
    shutil.rmtree(HERE / "reference", ignore_errors=True)
    (HERE / "reference").mkdir()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


def link_to_copies(app: Any, page: str, source: list[str]) -> None:  # noqa: ARG001
    """Let links to notebooks, which are outside of this folder, lead to their copies."""
    source[0] = re.sub(r"\((\.\./)+notebooks/", "(/notebooks/", source[0])


def setup(app: Any) -> None:
    """Have the notebooks ready before sources are looked for."""
    app.connect("builder-inited", copy_notebooks)
    app.connect("builder-inited", write_reference)
    app.connect("source-read", link_to_copies)
