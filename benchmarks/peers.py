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
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from accuracy import Items, fine_grid, marginal_log_likelihood, recovery
from machine import describe, sentence
from shapes import SHAPES, Shape, draw, parse
from worker import PACKAGES, Worker, command, request

OURS = ("irtkit, prior=None", "irtkit")
COLD_SHAPES = ((2_000, 40), (20_000, 100))
SLOW_FIRST_FIT = 5.0  # seconds; a peer's first fit counts from here on
SLOW_FIT = 20.0  # seconds; a peer is timed once from here on
HEADER = (
    *("data", "package", "best s", "median s", "fits", "cold CPU s", "irtkit faster"),
    *("log-likelihood", "Δ log-lik.", "RMSE a", "ρ(b)", "negative found"),
)


@dataclass
class Contender:
    """One package on one shape: its process, its times, and what it found."""

    name: str
    python: str
    worker: Worker
    parameters: Path
    seconds: list[float] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def fit(self, responses: Path, limit: float) -> float | None:
        """Seconds of one fit, None where the package gave up; the worker then says why."""
        if self.worker.problem is not None:
            return None
        answer = self.worker.fit(responses, self.parameters, limit=limit)
        self.figures |= {k: answer[k] for k in ("evaluations", "nodes", "converged") if k in answer}
        return answer.get("seconds")

    def warm_up(self, data: Path, other: Path, limit: float) -> None:
        """First fit; it counts if a peer took long over it."""
        ours = self.name in OURS
        seconds = self.fit(other if ours else data, limit)
        if seconds is not None and seconds > SLOW_FIRST_FIT and not ours:
            self.seconds.append(seconds)

    def enough(self, rounds: int | None) -> bool:
        """Whether no further fit is wanted: 7 below a second, 3 below 20 or of irtkit, else 1."""
        if self.worker.problem is not None:
            return True
        best = min(self.seconds, default=0.0)
        wanted = 7 if best < 1 else 3 if best < SLOW_FIT or self.name in OURS else 1
        return len(self.seconds) >= (rounds or wanted)

    def found(self) -> Items | None:
        """Parameters of the latest fit."""
        if not self.seconds:
            return None
        with np.load(self.parameters) as stored:
            return Items(*(stored[name].astype(float) for name in Items._fields))


def measure(shape: Shape, options: argparse.Namespace, folder: Path) -> list[Contender]:
    """All packages on one shape."""
    truth, values = draw(shape, seed=0)
    data, other = folder / "data.npy", folder / "other.npy"
    np.save(data, values)
    np.save(other, draw(shape, seed=1)[1])
    contenders = [contender(name, shape, options, folder) for name in options.packages]
    try:
        for each in contenders:
            each.warm_up(data, other, options.limit)
        while not all(each.enough(options.rounds) for each in contenders):
            for each in contenders:
                if not each.enough(options.rounds):
                    seconds = each.fit(data, options.limit)
                    each.seconds += [] if seconds is None else [seconds]
    finally:
        for each in contenders:
            each.worker.close()
    if options.cold and shape[:2] in COLD_SHAPES:
        for each in contenders:
            if each.seconds:
                each.figures["cold_cpu_seconds"] = cold_cpu(each, shape, data)
    judge(contenders, values, Items(truth.discrimination, truth.intercept, truth.guessing))
    return contenders


def contender(name: str, shape: Shape, options: argparse.Namespace, folder: Path) -> Contender:
    """Start a package in the first interpreter that has it."""
    for python in [sys.executable] if name in OURS else options.peer_python or [sys.executable]:
        worker = Worker(name, shape.model, python=python)
        if worker.problem is None:
            break
        worker.close()
    return Contender(name, python, worker, folder / f"{name}.npz")


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


def judge(contenders: list[Contender], values: Any, truth: Items) -> None:
    """Log-likelihood of every package on one grid, recovery of the truth, and speed ratios."""
    found = {each.name: each.found() for each in contenders}
    nodes = fine_grid([items for items in found.values() if items is not None])
    best = {each.name: min(each.seconds) for each in contenders if each.seconds}
    reference = None
    for each in contenders:
        items = found[each.name]
        if items is None:
            continue
        height = marginal_log_likelihood(values, items, nodes)
        reference = height if each.name == OURS[0] else reference
        each.figures |= {
            "log_likelihood": height,
            "above_irtkit": None if reference is None else height - reference,
            **recovery(items, truth),
        }
        if each.name not in OURS:
            each.figures["irtkit_faster"] = [
                best[each.name] / best[ours] if ours in best else None for ours in OURS
            ]


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


def record(shape: Shape, each: Contender) -> dict[str, Any]:
    """All figures of one row."""
    return {
        "shape": shape._asdict(),
        "package": each.name,
        "version": each.worker.version,
        "problem": None if each.seconds else each.worker.problem,
        "seconds": each.seconds,
        **each.figures,
    }


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", nargs="+", type=parse, default=SHAPES, metavar="200x1000:2PL")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--peer-python", action="append", help="interpreter of peers; repeatable")
    parser.add_argument("--limit", type=float, default=600.0, help="most seconds for one fit")
    parser.add_argument("--rounds", type=int, help="timed fits; by default 7, 3 or 1 as they last")
    parser.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--out", type=Path, help="JSON file for all figures")
    options = parser.parse_args()
    machine, records = describe(), []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for shape in options.shapes:
        with tempfile.TemporaryDirectory() as folder:
            contenders = measure(shape, options, Path(folder))
        for each in contenders:
            print(row(shape, each), flush=True)
            records.append(record(shape, each))
        if options.out:
            options.out.write_text(json.dumps({"machine": machine, "fits": records}, indent=1))
    versions = {r["package"]: r["version"] for r in records if r["version"]}
    print(f"\n{sentence(machine)}; " + ", ".join(f"{n} {v}" for n, v in versions.items()))


if __name__ == "__main__":
    main()
