"""How every benchmark runs: studies loop over cases and seeds, print records, and store them."""

import inspect
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from machine import arguments, note_files, store

Tables = Mapping[str, Any]


def run(*studies):
    """Run the study that the command line names, print its tables, and store them if asked to.

    A study is a function that returns tables by name: records, or any other figures. Its keyword
    arguments are options, of the type of their default. Its name is that of its stored results.
    """
    parser = arguments(studies[0].__doc__ if len(studies) == 1 else "Studies of one question.")
    named = {study.__name__: study for study in studies}
    asked = next((word for word in sys.argv if word in named), studies[0].__name__)
    parser.add_argument("study", choices=named, nargs="?" if len(studies) == 1 else None)
    study = named[asked]
    defaults = {name: of.default for name, of in inspect.signature(study).parameters.items()}
    for name, default_value in defaults.items():
        _add_option(parser, name, default_value)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # findings of fits are what is studied
    tables = study(**{name: getattr(options, name) for name in defaults})
    store(options, **{name: _printed(name, table) for name, table in tables.items()})


def _add_option(parser, name, default):
    """Add an option of the type of its default; a sequence takes several words."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(default, bool):
        parser.add_argument(flag, action="store_true", default=default)
    elif isinstance(default, tuple | list):
        kind = type(default[0]) if default else str
        parser.add_argument(flag, nargs="*", type=kind, default=default)
    else:
        kind = str if default is None else Path if isinstance(default, Path) else type(default)
        parser.add_argument(flag, type=kind, default=default)


def _printed(name, table):
    """Print a table and return it: records as they come, under a heading where fields change."""
    print(f"\n{name}")
    if isinstance(table, dict | int | float | str):
        print(table)
        return table
    records = []
    columns = []
    for record in table:
        if list(record) != columns:
            columns = list(record)
            print(" | ".join(columns))
        print(" | ".join(map(_cell, record.values())), flush=True)
        records.append(record)
    return records


def _cell(value):
    """A figure with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def study(cases, measure, seeds=None, *, totals=(), processes=1, count="data_sets"):
    """Yield a record per case: its fields, the number of data sets, and means of what is measured.

    A case is a named tuple, a dictionary, or text. Without `seeds`, its field `n_data_sets` says
    how many data sets there are. Of `totals` not the mean but the sum is taken. With several
    processes `measure` and cases have to be known to a fresh process.
    """
    with ExitStack() as stack:
        do = map
        if processes > 1:
            pool = ProcessPoolExecutor(processes, get_context("spawn"), note_files)
            do = stack.enter_context(pool).map
        for case in cases:
            n = case.n_data_sets if seeds is None else seeds
            rows = list(do(measure, repeat(case, n), range(n)))
            yield {**fields(case), count: n, **means(rows, totals)}


def fields(case):
    """Names and values of what a case is; functions draw its data."""
    if hasattr(case, "_asdict"):
        case = case._asdict()
    named = case if isinstance(case, dict) else {"setting": str(case)}
    return {
        name: value
        for name, value in named.items()
        if not callable(value) and name != "n_data_sets"
    }


def means(rows, totals=()):
    """Means of figures over records, or their sums; None where no record has one."""
    figures = {}
    for name in rows[0]:
        values = [row[name] for row in rows if row[name] is not None]
        of_all = np.sum(values, axis=0) if name in totals else np.mean(values, axis=0)
        figures[name] = of_all.tolist() if values else None
    return figures


def standard_error(values):
    """Standard error of the mean of figures of several data sets."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
