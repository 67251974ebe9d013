"""Time per cell and peak memory of a 2PL fit while both dimensions grow from 1,000 to 10,000.

Seven sizes, from 10⁶ to 10⁸ cells, each about twice the one before (10^(1/3) = 2.15 times).
Responses are drawn and stored by one process and fitted twice in a fresh one: time is that of the
second fit, without standard errors; peak memory is the largest resident size (``ru_maxrss``) of
that fresh process over its whole life, so it counts the interpreter, compiling and the responses
(twice: the file mapped into memory and the copy that irtkit keeps), and nothing is taken off.
Run with ``make bench``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from machine import arguments, part, store
from shapes import Shape, parse
from worker import Worker

SIZES = tuple(Shape(side, side) for side in (1_000, 1_468, 2_154, 3_162, 4_642, 6_813, 10_000))
HEADER = (
    *("respondents", "items", "cells", "seconds", "ns per cell"),
    *("evaluations", "nodes", "peak GiB"),
)


def measure(shape: Shape, package: str, limit: float) -> dict[str, Any]:
    """Figures of the second fit in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npy")
        size = f"{shape.n_respondents}x{shape.n_items}:{shape.model}"
        script = Path(__file__).with_name("shapes.py")
        subprocess.run([sys.executable, script, size, "0", data], check=True)
        worker = Worker(package, shape.model)
        try:
            for _ in range(2):
                answer = worker.fit(data, Path(folder, "parameters.npz"), limit=limit)
                if worker.problem is not None:
                    raise RuntimeError(f"{shape}: {worker.problem}")
        finally:
            worker.close()
    return shape._asdict() | {"cells": shape.cells} | answer


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--shapes", nargs="+", type=parse, default=part(SIZES, 0), metavar="1000x1000"
    )
    parser.add_argument("--no-prior", action="store_true", help="fit with prior=None")
    parser.add_argument("--limit", type=float, default=1800.0, help="most seconds for one fit")
    options = parser.parse_args()
    package = "irtkit, prior=None" if options.no_prior else "irtkit"
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for shape in options.shapes:
        found = measure(shape, package, options.limit)
        records.append(found)
        print(
            f"| {shape.n_respondents:,} | {shape.n_items:,} | {shape.cells:,} "
            f"| {found['seconds']:.3g} | {found['seconds'] / shape.cells * 1e9:.1f} "
            f"| {found['evaluations']} | {found['nodes']} | {found['peak_bytes'] / 2**30:.2f} |",
            flush=True,
        )
    print(f"\n{package}")
    store(options, package=package, fits=records)


if __name__ == "__main__":
    main()
