"""Options that say how responses are read, and tables of labels that commands take."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.paths import refuse_outputs_within
from irtkit.files import ordinary_file
from irtkit.io import read_responses
from irtkit.io.text import naming, read_text_table
from irtkit.suspects.families import SIMILAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from irtkit.responses import ResponseMatrix

_READING: tuple[tuple[str, Any, str], ...] = (
    ("format", str, "Force the format: wide, long, parquet, py-irt or a harness."),
    ("task", "NAMES", "Tasks or subsets to read."),
    ("respondent", "COLUMNS", "Table: column of respondents, or columns to join."),
    ("item", "COLUMNS", "Long table: column of items, or columns to join: task,question_id."),
    ("response", str, "Long table: column of responses."),
    ("key", str, "Right answers: a table of items and answers, or the label of a row."),
    ("threshold", float, "Mark scores from this number on as right."),
    ("right", "WORDS", "Words that are right: correct,C,pass."),
    ("wrong", "WORDS", "Words that are wrong. All others by default."),
    ("missing", "WORDS", "Words for a missing response: ERROR,refused."),
    ("ignore", "COLUMNS", "Table: columns, or labels of rows, to leave out."),
    ("keep", "COLUMNS", "Wide table: columns that are items."),
    ("transpose", bool, "Table: rows are items, columns are respondents."),
    ("repeats", str, "Several rows of one respondent and item: count, first, last, mean>=SHARE."),
    ("metric", "NAMES", "Logs: metric that is right or wrong. The first that a task has counts."),
    ("filter", "NAMES", "Logs: filter of answers that the metric is by."),
    ("errors", click.Choice(["missing"]), "Logs: leave out answers that ended in an error."),
    ("strict", bool, "Stop at a file that cannot be read, instead of skipping it."),
)
"""Settings of `irtkit.read_responses`: name, kind (a word stands for several names) and help."""


def reading_only(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how responses are read."""
    for name, kind, text in reversed(_READING):
        how: dict[str, Any] = {"type": kind}
        if kind is bool:
            how = {"is_flag": True}
        elif isinstance(kind, str):
            how = {"metavar": kind, "multiple": True}
        command = click.option(f"--{name}", help=text, **how)(command)
    return command


def names_of(given: Iterable[str]) -> list[str]:
    """Names with commas between them; a name in double quotes may hold commas."""
    return [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row]


def how_to_read(options: dict[str, Any]) -> dict[str, Any]:
    """Settings of `irtkit.read_responses` that the options give."""
    how = {}
    for name, kind, _ in _READING:
        value = names_of(options[name]) if isinstance(kind, str) else options[name]
        if name in {"respondent", "item"} and len(value) == 1:
            value = value[0]
        if not (value is None or value is False or value == []):
            how[name] = value
    return how


def read_rows(path: Any, **how: Any) -> ResponseMatrix:
    """Read responses, unless a file to write would be read with them the next time."""
    refuse_outputs_within(path)
    return read_responses(path, **how)


def read_labelled(path: Path, option: str) -> pd.DataFrame:
    """Read a table as text, its first column as index and empty cells as None."""
    try:
        ordinary_file(path)
    except OSError as error:
        raise type(error)(f"{option} {error}") from error
    with naming(path, option):
        table = read_text_table(path)
        if table.shape[1] < 2:
            raise ValueError("needs a column of labels and at least one more")
        labels = table.iloc[:, 0]
        if (blank := labels.str.strip() == "").any():
            raise ValueError(f"row {int(blank.argmax()) + 1} has no label")
        if (twice := labels.duplicated()).any():
            raise ValueError(f"{labels[twice].iloc[0]!r} occurs twice")
        table = table.set_index(table.columns[0]).rename_axis(None)
        return table.where(table != "", None)


def read_column(path: Path, option: str, of: str) -> pd.Series[str]:
    """Read a table of two columns, the first as index. ``of`` says what they hold."""
    table = read_labelled(path, option)
    if table.shape[1] != 1:
        raise ValueError(f"{option} {path}: needs two columns, {of}, and has {table.shape[1] + 1}")
    return table.iloc[:, 0]


def read_families(families: str | None) -> pd.Series[str] | str | None:
    """Families that --families stands for."""
    if families is None or families == SIMILAR:
        return families
    return read_column(Path(families), "--families", "the respondent and its family")
