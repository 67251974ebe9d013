"""Predictions of OpenML runs, in ARFF.

A row has the prediction for one row of a data set. Its column ``correct`` holds the true class and
not 0 or 1: a response is right if both are equal. Repetitions of a cross-validation are repeats.
The name of the file, or of its folder, is the name of the system.
https://github.com/openml/openml-python, openml/runs/run.py;
https://www.cs.waikato.ac.nz/ml/weka/arff.html
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from irtkit.files import open_text
from irtkit.io.json_text import begins, for_each
from irtkit.io.samples import Item, Known, Measure, Samples, named_by_file

if TYPE_CHECKING:
    from pathlib import Path

recognise = begins(rb"(?:\s*%[^\n]*\n|\s*\n)*+\s*@relation\b", re.IGNORECASE)
_CORRECT = Measure("correct")
_ATTRIBUTE = re.compile(r"""'([^']+)'|"([^"]+)"|([^\s'"]\S*)""")
_CELL = re.compile(
    r"""[ \t]*+(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^,'"]*+))[ \t]*+(,|$)"""
)


def read(path: Path, known: Known) -> list[Samples]:
    """Read the predictions of one run."""
    names, columns, found = list[str](), list[int](), list[Samples]()

    def add(line: str) -> None:
        word, _, rest = line.partition(" ")
        if columns:
            _add(found[0], _cells(line), len(names), columns)
        elif word.lower() == "@relation":
            task = re.sub(r"^openml_task_(\w+)_predictions$", r"\1", _cells(rest)[0])
            system = named_by_file(path, "[._-]?predictions")
            found.append(Samples(path, system, task, "ARFF", known=known))
        elif word.lower() == "@attribute" and (attribute := _ATTRIBUTE.match(rest.strip())):
            names.extend(filter(None, attribute.groups()))
        elif word.lower() == "@data":
            wanted = ("row_id" if "row_id" in names else "rowid", "prediction", "correct")
            if not set(wanted) <= set(names):
                got = ", ".join(names) or "none"
                raise ValueError(f"predictions need the attributes {', '.join(wanted)}, got {got}")
            columns.extend(names.index(name) for name in wanted)
        else:
            raise ValueError("the line does not fit an ARFF header")

    with open_text(path) as text:
        lines = enumerate(map(str.strip, text), start=1)
        for_each("line", (one for one in lines if one[1] and not one[1].startswith("%")), add)
    return [one for one in found if one.n_samples]


def _add(samples: Samples, cells: list[str], n: int, columns: list[int]) -> None:
    if len(cells) != n:
        raise ValueError(f"{len(cells)} cells in a table of {n} columns")
    item, predicted, true = (cells[column] for column in columns)
    samples.n_samples += 1
    position = samples.position(item, true, lambda _: Item(true, None, true))
    missing = "?" in {predicted, true}
    samples.add(position, _CORRECT, math.nan if missing else float(predicted == true))


def _cells(line: str) -> list[str]:
    """Cells of a row, without their quotes."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, at, end = list[str](), 0, ","
    while end:
        found = _CELL.match(line, at)
        if found is None:
            raise ValueError("a quote is not closed, or not at the end of a cell")
        one, two, plain, end = found.groups()
        quoted = one if one is not None else two
        cells.append(plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = found.end()
    return cells
