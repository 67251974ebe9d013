"""Predictions of OpenML runs, in ARFF.

A row has the prediction for one row of a data set and, as ``correct``, its true class (which is no
yes or no); a response is right where the two are the same. Columns are found by their names.
Repetitions of a cross-validation are repeats. The file does not name the system: its own name, or
its folder's, does. ARFF is read here, as far as these files use it: liac-arff, which could do it,
had its last release in 2020.
https://github.com/openml/openml-python, openml/runs/run.py;
https://www.cs.waikato.ac.nz/ml/weka/arff.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from irtkit.io.json_text import text_lines
from irtkit.io.samples import Item, Known, Measure, Samples, named_by_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "openml"
_BEGINS = re.compile(rb"(?:\s*%[^\n]*\n|\s*\n)*+\s*@relation\b", re.IGNORECASE)
_TASK = re.compile(r"openml_task_(\w+)_predictions")
_CORRECT = Measure("correct")
_NAME = re.compile(r"""'([^']+)'|"([^"]+)"|([^\s'"]\S*)""")
"""Of an attribute."""
_ROWS = ("row_id", "rowid")
_CELL = re.compile(
    r"""[ \t]*+(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^,'"]*+))[ \t]*+(?:,|$)"""
)
_ESCAPED = re.compile(r"\\(.)")


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins as ARFF does."""
    return _BEGINS.match(head) is not None


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read the predictions of one run."""
    relation, names, rows = "", [], False
    samples = None
    for number, line in text_lines(path):
        written = line.strip()
        if not written or written.startswith("%"):
            continue
        if not rows:
            word, _, rest = written.partition(" ")
            if word.lower() == "@relation":
                relation = next(_cells(rest.strip(), number), "")
            elif word.lower() == "@attribute":
                named = _NAME.match(rest.strip())
                if named is None:
                    raise ValueError(f"line {number}: the attribute has no name, or an open quote")
                names.append(named[1] or named[2] or named[3])
            elif word.lower() == "@data":
                rows = True
                columns = _columns(names)
            else:
                raise ValueError(f"line {number} is no line of an ARFF header")
            continue
        if samples is None:
            task = _TASK.fullmatch(relation)
            respondent = named_by_file(path, "[._-]?predictions")
            name = task[1] if task else relation
            samples = Samples(path, NAME, "ARFF", respondent, name, known=known)
        cells = list(_cells(written, number))
        if len(cells) != len(names):
            raise ValueError(f"line {number} has {len(cells)} cells where {len(names)} are named")
        item, predicted, true = (cells[column] for column in columns)
        samples.n_samples += 1
        position = samples.position(item, true, _describe, true)
        missing = "?" in {predicted, true}
        samples.add(position, _CORRECT, float("nan") if missing else float(predicted == true))
    return [] if samples is None else [samples]


def _describe(true: str) -> Item:
    return Item(true, None, true)


def _columns(names: list[str]) -> tuple[int, int, int]:
    """Columns of row, prediction and true class."""
    row = next((name for name in _ROWS if name in names), None)
    lacking = [name for name in ("prediction", "correct") if name not in names]
    if row is None or lacking:
        raise ValueError(
            "predictions need the attributes row_id, prediction and correct (the true class); "
            f"there are {', '.join(names) or 'none'}"
        )
    return names.index(row), names.index("prediction"), names.index("correct")


def _cells(line: str, number: int) -> Iterator[str]:
    """Cells of a row, without their quotes."""
    if "'" not in line and '"' not in line:
        yield from map(str.strip, line.split(","))
        return
    at = 0
    while at <= len(line):
        found = _CELL.match(line, at)
        if found is None:
            raise ValueError(f"line {number}: a quote is not closed, or not at the end of a cell")
        one, two, plain = found.groups()
        quoted = one if one is not None else two
        yield plain.strip() if quoted is None else _ESCAPED.sub(r"\1", quoted)
        if not found[0].endswith(",") or found.end() == at:
            return
        at = found.end()
