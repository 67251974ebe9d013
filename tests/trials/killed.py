"""Kill fits, exports, reports and merges at any moment; what each leaves must be whole.

``killed.py FOLDER TIMES`` runs them in FOLDER, so many in all.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

import irtkit
from irtkit.cli.outputs import prepared, write_fit
from irtkit.io import write_responses
from irtkit.io.merging import merge_responses

VALUES = np.random.default_rng(0).integers(0, 2, (40, 6))
RESPONSES = irtkit.ResponseMatrix(VALUES)


def fit(state: Path | None, steps: int) -> irtkit.FitResult:
    method = irtkit.Variational(checkpoint=state, tol=1e-12, max_iterations=steps)
    return irtkit.fit(RESPONSES, method=method)


def export(result: irtkit.FitResult, folder: Path, stamp: str) -> None:
    """Write the files of a fit, each of which holds the stamp."""
    rows, columns = ([f"{stamp} {k}" for k in range(n)] for n in VALUES.shape)
    matrix = irtkit.ResponseMatrix(VALUES, rows, columns)
    labels = {"respondent_labels": matrix.respondents, "item_labels": matrix.items}
    with prepared(folder):
        write_fit(replace(result, responses=matrix, **labels), folder, source=stamp)


def stamp_of(path: Path) -> str:
    """Return the stamp of one file of an export, which must be whole."""
    if path.suffix == ".json":
        return str(json.loads(path.read_text())["source"])
    if path.suffix == ".npz":
        return irtkit.load(path).item_labels[0].split()[0]
    table = irtkit.read_table(path)
    assert len(table) == VALUES.shape[table.index.name == "item"]
    return str(table.index[0]).split()[0]


def check_export(folder: Path) -> None:
    """All files there are whole, and of one export; or the rest of them lies beside, whole.

    Four files get their names one after the other, so that a process may be killed between two of
    them; but not before the last is written.
    """
    there = {path: stamp_of(path) for path in folder.glob("[!.]*")}
    newest = max(there.values(), key=lambda stamp: [*map(int, stamp.split("."))])
    beside = []
    for path in folder.glob(".*"):
        with suppress(ValueError, KeyError, AssertionError):
            beside.append(stamp_of(path))
        path.unlink()
    assert len(there) == 4, there
    assert [*there.values(), *beside].count(newest) == 4, (there, beside)


def merge(path: Path) -> None:
    frame = RESPONSES.to_frame()
    halves = (frame.iloc[:20], frame.iloc[20:])
    merged = merge_responses([irtkit.ResponseMatrix.from_frame(half) for half in halves])
    write_responses(merged, path)


def main(folder: Path, times: int) -> None:
    result = irtkit.fit(RESPONSES, "1PL")
    state, tables = folder / "state", folder / "tables"
    whole, page, merged = (folder / name for name in ("whole.html", "page.html", "merged.csv"))
    irtkit.report(result, whole)
    numbers = count()

    def work(k: int, steps: int = 10**6) -> None:
        (
            lambda: fit(state, steps),
            lambda: export(result, tables, f"{k}.{next(numbers)}"),
            lambda: irtkit.report(result, page),
            lambda: merge(merged),
        )[k % 4]()

    for k in range(4):  # what is loaded once takes longer than a child has
        work(k, steps=1)
    waits = np.random.default_rng(times).random(times) / 5
    for k, wait in enumerate(waits, start=4):
        child = os.fork()
        while not child:
            work(k)
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if k % 4 == 1:
            check_export(tables)
            work(k)  # the next one finds files of one export
        assert page.read_bytes() == whole.read_bytes()
        assert irtkit.read_responses(merged) == RESPONSES

    reached = fit(state, 1).n_iterations
    assert reached > 1, "fits kept no state, or did not go on from it"
    one, other = fit(state, reached + 3), fit(None, reached + 3)
    assert one.n_iterations == other.n_iterations == reached + 3
    np.testing.assert_array_equal(one.ability, other.ability)
    assert one.elbo == other.elbo


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
