"""Bring what is generated in the manual up to date: ``python docs/generate.py [FILE ...]``.

The text block after a block of code gets the output of the code. The part between ``<!-- figure
NAME -->`` and ``<!-- end -->`` gets a table of stored results. Names and commands are listed
likewise. Notebooks are executed, and written with their outputs. With ``--check`` nothing is
written, and the exit code is 1 if a file is not current. With ``--tables`` no code is run, and only
tables are written. A FILE is a page or the script of a notebook. By default all are generated.

A page that shows ``_static/NAME`` may save NAME in a block of code. The file is copied then.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import examples
import executed
import figures
import matplotlib as mpl
import reference

DOCS = Path(__file__).parent
PAGES = sorted(
    path
    for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    if not {"_build", "reference"} & set(path.parts)
)
PART = re.compile(
    r"(?s)(<!-- (figure|names|commands|capabilities)( [^>]+)? -->\n).*?(<!-- end -->)"
)


def filled(text: str) -> str:
    """A page's text with tables of stored results, tables of names and the help of commands."""

    def content(part: re.Match[str]) -> str:
        name = (part[3] or "").strip()
        make = {
            "figure": lambda: figures.table(name),
            "names": lambda: reference.names_table(name),
            "commands": reference.commands,
            "capabilities": reference.capabilities,
        }
        made = make[part[2]]()
        return f"{part[1]}\n{made}\n{part[4]}"

    return PART.sub(content, text)


def current(page: Path, files: Path, *, pictures: Path | None = None) -> str:
    """What a page should read, given the folder of the files that examples read.

    Pictures that the examples saved and the page shows are copied to a folder, if one is given.
    """
    text = filled(page.read_text(encoding="utf-8"))
    if not examples.is_runnable(page.stem):
        sys.stderr.write(f"{page}: not run, since its data are not there\n")
        return text
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(files, Path(scratch) / "here")
        examples.add_files_of_page(page.stem, folder)
        text = examples.with_output(text, folder)
        for name in re.findall(r"\]\([./]*_static/([\w.-]+)\)", text):
            if pictures is not None and (folder / name).exists():
                shutil.copy(folder / name, pictures)
    return text


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "files", nargs="*", type=Path, default=[*PAGES, *executed.SCRIPTS], metavar="FILE"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if stale")
    parser.add_argument("--tables", action="store_true", help="write tables alone; run no code")
    given = parser.parse_args()
    if given.tables:
        for page in PAGES:
            page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    mpl.rcParams["svg.hashsalt"] = "irtkit"  # the same picture has the same names in its file
    pages = {path.resolve() for path in given.files if path.suffix == ".md"}
    notebooks = {
        path.resolve(): executed.executed(path) for path in given.files if path.suffix == ".py"
    }
    with tempfile.TemporaryDirectory() as folder:
        examples.write_files(Path(folder))
        pictures = None if given.check else DOCS / "_static"
        texts = {page: current(page, Path(folder), pictures=pictures) for page in sorted(pages)}
    stale: list[Path] = []
    for page, text in texts.items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(page)
    for script, notebook in notebooks.items():
        if not executed.is_current(script, notebook):
            stale.append(script)
    for path in stale:
        sys.stderr.write(f"{path}: {'is not current' if given.check else 'written'}\n")
        if not given.check and path in texts:
            path.write_text(texts[path], encoding="utf-8")
        elif not given.check:
            executed.write(notebooks[path], path)
    sys.exit(given.check and bool(stale))


if __name__ == "__main__":
    main()
