"""How every benchmark runs: studies loop over cases and seeds, print records, and store them.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
from machine import arguments, store


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
    for name, default in defaults.items():
        several = isinstance(default, tuple)
        one = default[0] if several and default else default
        kind = str if one is None or one == () else Path if isinstance(one, Path) else type(one)
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, nargs="*" if several else None, type=kind, default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # findings of fits are what is studied
    tables = study(**{name: getattr(options, name) for name in defaults})
    store(options, **{name: _printed(name, table) for name, table in tables.items()})


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
        cells = (f"{x:.4g}" if isinstance(x, float) else str(x) for x in record.values())
        print(" | ".join(cells), flush=True)
        records.append(record)
    return records


def study(cases, measure, seeds=None, *, totals=(), count="data_sets"):
    """Yield a record per case: its fields, the number of data sets, and means of what is measured.

    A case is a named tuple, a dictionary, or text. Without `seeds`, its field `n_data_sets` says
    how many data sets there are. Of `totals` not the mean but the sum is taken.
    """
    for case in cases:
        n = case.n_data_sets if seeds is None else seeds
        rows = [measure(case, seed) for seed in range(n)]
        yield {**fields(case), count: n, **means(rows, totals)}


def fields(case):
    """Names and values of what a case is; functions draw its data."""
    if isinstance(case, str):
        return {"setting": case}
    named = case if isinstance(case, dict) else case._asdict()
    return {
        name: value._asdict() if hasattr(value, "_asdict") else value
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
