"""Whether an answer costs much more than the fit that it is about.

Responses follow a 2PL. For every shape the table has the seconds of a default fit, and the wall
time of each answer as a multiple of them. Each answer runs in the process that fitted, after all
that irtkit keeps for later answers is gone, and is stopped after ``--limit`` seconds.

Run with ``python benchmarks/answers.py``; ``--shapes 130x1797`` restricts the shapes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = ("130x1797", "5000x1000", "5000x10000", "100x100000")
MOST = 1000  # Systems of which all pairs are listed.


def report(result: irtkit.FitResult) -> None:
    """A page in a folder that goes."""
    with TemporaryDirectory() as folder:
        irtkit.report(result, Path(folder) / "page.html")


ANSWERS: dict[str, tuple[int, Callable[[irtkit.FitResult], Any]]] = {  # Allowed multiple, answer.
    "print": (3, str),
    "leaderboard": (3, lambda result: result.leaderboard()),
    "audit": (3, lambda result: str(irtkit.audit(result))),
    "flag_items": (3, irtkit.flag_items),
    "score": (3, lambda result: irtkit.score(result.responses, result)),
    "compare_systems": (
        3,
        lambda result: irtkit.compare_systems(result, systems=result.respondent_labels[:MOST]),
    ),
    "compare_difficulties": (10, irtkit.compare_difficulties),
    "report": (10, report),
    "model_fit": (10, irtkit.model_fit),
    "item_fit": (10, irtkit.item_fit),
    "local_dependence": (10, irtkit.local_dependence),
    "respondent_fit": (10, irtkit.respondent_fit),
    "information": (3, irtkit.information),
    "select_items": (10, lambda result: irtkit.select_items(result, 20).item_table),
}


def drawn(shape: str) -> irtkit.ResponseMatrix:
    """Responses of a shape such as "130x1797"."""
    n, n_items = map(int, shape.split("x"))
    generator = np.random.default_rng(0)
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
    return irtkit.simulate_responses(items, generator.normal(size=n), seed=1)


def seconds_of(call: Callable[[], Any]) -> float:
    """Wall time of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def timed(shape: str, name: str, sender: Any) -> None:
    """Send the seconds of the fit, and then those of the answer or why there is none."""
    warnings.simplefilter("ignore")
    responses, fits = drawn(shape), []
    sender.send(seconds_of(lambda: fits.append(irtkit.fit(responses, progress=False))))
    try:
        sender.send(seconds_of(lambda: ANSWERS[name][1](fits[0])))
    except (ValueError, MemoryError) as error:
        sender.send(f"refused: {error}"[:60])


def measured(shape: str, name: str, limit: float) -> tuple[float, float | str]:
    """Seconds of the fit, and of the answer, in a process that is stopped after the limit."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=timed, args=(shape, name, sender))
    process.start()
    sender.close()
    fit, found = receiver.recv(), "out of memory"
    with suppress(EOFError):
        found = receiver.recv() if receiver.poll(limit) else f"over {limit:.0f} s"
    process.kill()
    process.join()
    return fit, found


def main() -> None:
    """Print a row per shape and answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--answers", nargs="+", default=ANSWERS, choices=ANSWERS)
    parser.add_argument("--limit", type=float, default=300, help="Seconds for an answer.")
    options = parser.parse_args()
    print("| shape | answer | fit, s | answer, s | ratio | within |\n|---|---|---|---|---|---|")
    for shape in options.shapes:
        for name in options.answers:
            fit, found = measured(shape, name, options.limit)
            cells = [str(found), "", ""]
            if not isinstance(found, str):
                most = ANSWERS[name][0]
                within = found <= max(most * fit, 0.5 if most == 3 else 2.0)
                cells = [f"{found:.2f}", f"{found / fit:.1f}", "yes" if within else "no"]
            print(" | ".join(["", shape, name, f"{fit:.2f}", *cells, ""]).strip(), flush=True)


if __name__ == "__main__":
    main()
