"""What it saves that identical respondents and items are computed once.

A few language models answer many questions: 12 respondents can answer an item in 4,096 ways, so
42,000 items have many copies. Simulated abilities lie evenly between −1 and 3.5, slopes are
lognormal with an SD of 0.3 on the log scale, difficulties standard normal: nearly 70 % of the
answers are right, and one column in twenty is distinct. A real matrix of few respondents follows
where ``../shared/data`` has it, or those named with ``--responses``.

``irtkit.fit(responses)``, and ``irtkit.compare_difficulties(result)`` of it, run in this checkout
and in that of ``--against`` (such as a ``git worktree`` of an earlier commit), each in a process of
its own, in turns, after a warm-up on the first 500 items. CPU seconds are the best of ``--rounds``,
all threads together; "moved" is the largest difference between slopes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from contenders import Contender, take_turns
from machine import arguments, store
from worker import Worker

import irtkit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
REAL = ROOT.parent / "shared/data/aid_SST.csv.gz"  # 10 learners × 872 instances
TASKS = {"fit": "irtkit, default call", "compare": "irtkit, compare"}
N_RESPONDENTS = 12
WARM_UP_ITEMS = 500
HEADER = (
    *("data", "distinct respondents", "distinct items", "task"),
    *("CPU s", "CPU s against", "times less", "moved"),
)


def draw(n_items: int) -> NDArray[np.int8]:
    """Simulated answers of a dozen language models, respondents × items."""
    generator = np.random.default_rng(0)
    ability = np.linspace(-1, 3.5, N_RESPONDENTS)[:, None]
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return (generator.random(chance.shape) < chance).astype(np.int8)


def data_sets(options: argparse.Namespace) -> Iterator[tuple[str, NDArray[np.int8]]]:
    """Names and responses of all data."""
    yield "simulated", draw(options.items)
    for file in options.responses:
        yield file.name.split(".")[0], irtkit.read_responses(file).values


def measure(
    values: NDArray[np.int8], task: str, options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """CPU seconds of one task in both checkouts, and how far apart their slopes are."""
    responses, few = folder / "responses.npy", folder / "few.npy"
    np.save(responses, values)
    np.save(few, values[:, :WARM_UP_ITEMS])
    both = [
        Contender(
            name, sys.executable, Worker(TASKS[task], "2PL", checkout=checkout), folder / name
        )
        for name, checkout in (("here.npz", ROOT), ("against.npz", options.against))
    ]
    take_turns(
        both,
        responses,
        options.limit,
        warm_up=lambda each: each.fit(few, options.limit, counts_from=np.inf),
        wanted=lambda _: options.rounds,
    )
    for each in both:
        if each.worker.problem is not None:
            raise RuntimeError(f"{task} of {each.name.split('.')[0]}: {each.worker.problem}")
    here, against = both
    slopes = [items.discrimination for each in both if (items := each.found()) is not None]
    moved = slopes[0] - slopes[1]
    return {
        "shape": values.shape,
        "distinct_respondents": len(np.unique(values, axis=0)),
        "distinct_items": len(np.unique(values, axis=1).T),
        "task": task,
        "cpu_seconds": here.cpu_seconds,
        "cpu_seconds_against": against.cpu_seconds,
        "times_less": min(against.cpu_seconds) / min(here.cpu_seconds),
        "moved": float(np.abs(moved).max()),
    }


def row(name: str, found: dict[str, Any]) -> str:
    """One row of the table."""
    n_respondents, n_items = found["shape"]
    return (
        f"| {name} {n_respondents:,} × {n_items:,} | {found['distinct_respondents']:,} "
        f"| {found['distinct_items']:,} | {found['task']} | {min(found['cpu_seconds']):.3g} "
        f"| {min(found['cpu_seconds_against']):.3g} | {found['times_less']:.3g}× "
        f"| {found['moved']:.1g} |"
    )


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--against", type=Path, required=True, help="another checkout of irtkit")
    parser.add_argument("--items", type=int, default=42_000, help="items of the simulated data")
    present = [REAL] if REAL.exists() else []
    parser.add_argument("--responses", type=Path, nargs="*", default=present, metavar="CSV")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rounds", type=int, default=3, help="timed turns")
    parser.add_argument("--limit", type=float, default=1800.0, help="most seconds for one turn")
    options = parser.parse_args()
    if not (options.against / "irtkit" / "__init__.py").exists():
        parser.error(f"--against: {options.against} holds no irtkit/__init__.py")
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for name, values in data_sets(options):
        for task in options.tasks:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(values, task, options, Path(folder))
            print(row(name, found), flush=True)
            records.append({"data": name} | found)
    store(options, fits=records)


if __name__ == "__main__":
    main()
