"""Time and accuracy beside PyPI mirt, girth and py-irt, side by side in one run.

Every package fits the same data with its default settings and without standard errors, in a
process of its own that times the fitting call alone; what it takes to import the package and to
bring the data into its form is left out. Packages take turns. irtkit is warmed up on other data of
the same shape (compiling is left out); a peer's first fit is left out if it took under five
seconds. Accuracy is judged by one yardstick (``accuracy.py``), on one grid for all.

"cold CPU s" is the CPU time of a fresh process that imports the package, loads the data and fits
once, at two of the shapes. "irtkit faster" is a peer's best time over irtkit's best with
``prior=None`` and with default settings. "Δ log-lik." is the difference to irtkit with
``prior=None``: negative where that fits better. PyPI mirt holds all slopes of its
1PL at 1; py-irt 0.7.1 leaves the guessing of its 3PL where it starts, at 1.

Peers run where they are installed: in this environment, or in that of ``--peer-python``. Run with
``make bench``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from contenders import Contender, compare, draw_data, is_ours, judge, parser, start, take_turns
from shapes import SHAPES, Shape
from worker import PACKAGES, command, request

if TYPE_CHECKING:
    from pathlib import Path

OURS = ("irtkit, prior=None", "irtkit")
COLD_SHAPES = ((2_000, 40), (20_000, 100))
SLOW_FIRST_FIT = 5.0  # seconds; a peer's first fit counts from here on
SLOW_FIT = 20.0  # seconds; a peer is timed once from here on
HEADER = (
    *("data", "package", "best s", "median s", "fits", "cold CPU s", "irtkit faster"),
    *("log-likelihood", "Δ log-lik.", "RMSE a", "ρ(b)", "negative found"),
)


def measure(shape: Shape, options: argparse.Namespace, folder: Path) -> list[Contender]:
    """All packages on one shape."""
    data = draw_data(shape, folder)
    contenders = [start(name, shape, options.peer_python, folder) for name in options.packages]

    def warm_up(each: Contender) -> None:
        if is_ours(each.name):
            each.fit(data.other, options.limit, counts_from=np.inf)
        else:
            each.fit(data.responses, options.limit, counts_from=SLOW_FIRST_FIT)

    take_turns(
        contenders,
        data.responses,
        options.limit,
        warm_up=warm_up,
        wanted=lambda each: options.rounds or wanted(each),
    )
    if options.cold and shape[:2] in COLD_SHAPES:
        for each in contenders:
            if each.seconds:
                each.figures["cold_cpu_seconds"] = cold_cpu(each, shape, data.responses)
    judge(contenders, data, reference=OURS[0])
    best = {each.name: min(each.seconds) for each in contenders if each.seconds}
    for each in contenders:
        if each.seconds and not is_ours(each.name):
            each.figures["irtkit_faster"] = [
                best[each.name] / best[ours] if ours in best else None for ours in OURS
            ]
    return contenders


def wanted(each: Contender) -> int:
    """How many times are taken: 7 below a second, 3 below 20 or of irtkit, else 1."""
    best = min(each.seconds, default=0.0)
    return 7 if best < 1 else 3 if best < SLOW_FIT or is_ours(each.name) else 1


def cold_cpu(each: Contender, shape: Shape, data: Path) -> float:
    """User and system seconds of a fresh process that fits once; the best of three if quick."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command(each.name, shape.model, python=each.python),
            input=request(data, each.parameters),
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return min(once() for _ in range(3 if min(each.seconds) < SLOW_FIT else 1))


def row(shape: Shape, each: Contender) -> str:
    """One row of the table."""
    if not each.seconds:
        cells = [f"{shape}", each.name, f"{each.worker.problem}"[:80]]
        return "| " + " | ".join(cells + [""] * (len(HEADER) - len(cells))) + " |"
    figures = each.figures
    cold, ratios = figures.get("cold_cpu_seconds"), figures.get("irtkit_faster", [])
    cells = [
        f"{shape}",
        each.name + ("" if figures.get("converged", True) else " (not converged)"),
        f"{min(each.seconds):.3g}",
        f"{median(each.seconds):.3g}",
        f"{len(each.seconds)}",
        "" if cold is None else f"{cold:.2f}",
        " / ".join("–" if ratio is None else f"{ratio:.3g}×" for ratio in ratios),
        f"{figures['log_likelihood']:.2f}",
        "" if figures["above_irtkit"] is None else f"{figures['above_irtkit']:+.3f}",
        f"{figures['rmse_discrimination']:.3f}",
        f"{figures['spearman_difficulty']:.4f}",
        f"{figures['negative_found']} of {figures['negative']}, {figures['negative_false']} false",
    ]
    return "| " + " | ".join(cells) + " |"


def rows(shape: Shape, contenders: list[Contender]) -> list[str]:
    """One row per package."""
    return [row(shape, each) for each in contenders]


def main() -> None:
    """Print the table; store all figures where asked to."""
    known = parser((__doc__ or "").splitlines()[0], SHAPES, PACKAGES)
    known.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True)
    compare(known.parse_args(), HEADER, measure, rows)


if __name__ == "__main__":
    main()
