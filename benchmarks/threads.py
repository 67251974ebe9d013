"""What it saves that a fit holds the linear algebra of NumPy to one thread.

``irtkit.fit(responses)`` as it is, and with as many threads as there are processors, in turns in
one process: alone, and beside another process that keeps one processor busy. Times are medians, on
the clock and on the processors (all threads together).
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext
from statistics import median
from typing import TYPE_CHECKING
from unittest.mock import patch

from machine import arguments, part, store
from shapes import draw, parse

import irtkit
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapes import Shape

SHAPES = ("2000x40", "200x1000", "20000x100", "20000x100:2PL:0:0.2", "5000x50:3PL")
ONE_THREAD = "irtkit.threads.one_thread"
BUSY = "while True: pass"
HEADER = ("data", "beside", "one thread", "CPU s", "all threads", "CPU s", "times as long")


def timed(shape: Shape, rounds: int) -> Iterator[float]:
    """Median seconds on the clock and on the processors, with one thread and with all."""
    responses = irtkit.ResponseMatrix(draw(shape, seed=0)[1])
    seconds: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(rounds + 1):  # the first warms up
        for one, found in seconds.items():
            before = time.perf_counter(), time.process_time()
            with patch(ONE_THREAD, one_thread if one else nullcontext):
                irtkit.fit(responses, shape.model)
            found.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    for found in seconds.values():
        yield from (median(column) for column in zip(*found[1:], strict=True))


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--shapes", nargs="+", default=part(SHAPES, 0), help="such as 2000x40:3PL:0.07:0.2"
    )
    parser.add_argument("--rounds", type=int, default=15, help="timed turns")
    options = parser.parse_args()
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for shape in map(parse, options.shapes):
        for busy in (False, True):
            other = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
            found = tuple(timed(shape, options.rounds))
            if other is not None:
                other.kill()
                other.wait()
            one, _, every, _ = found
            figures = " | ".join(f"{seconds:.4f}" for seconds in found)
            beside = "a busy process" if busy else "nothing"
            print(f"| {shape} | {beside} | {figures} | {every / one:.2f} |", flush=True)
            records.append({"shape": shape._asdict(), "beside": beside, "seconds": found})
    store(options, fits=records)


if __name__ == "__main__":
    main()
