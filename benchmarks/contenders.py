"""Packages that do the same work in turns, each in a process of its own that times it."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from accuracy import Items, fine_grid, marginal_log_likelihood, recovery
from machine import arguments, part, store
from shapes import Shape, draw, parse
from worker import Worker

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Sequence


class Data(NamedTuple):
    """Simulated responses with the truth, and two files: them, and others of the same shape."""

    values: np.ndarray[Any, np.dtype[np.int8]]
    truth: Items
    responses: Path
    other: Path


def draw_data(shape: Shape, folder: Path) -> Data:
    """Draw both data sets and store them."""
    truth, values = draw(shape, seed=0)
    responses, other = folder / "data.npy", folder / "other.npy"
    np.save(responses, values)
    np.save(other, draw(shape, seed=1)[1])
    items = Items(truth.discrimination, truth.intercept, truth.guessing)
    return Data(values, items, responses, other)


@dataclass
class Contender:
    """One package on one data set: its process, its times, and what it found."""

    name: str
    python: str
    worker: Worker
    parameters: Path
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def fit(self, responses: Path, limit: float, *, counts_from: float = 0.0) -> None:
        """Fit once; it counts if it took that long. A worker that gives up says why."""
        if self.worker.problem is not None:
            return
        answer = self.worker.fit(responses, self.parameters, limit=limit)
        self.figures |= {k: answer[k] for k in ("evaluations", "nodes", "converged") if k in answer}
        if answer.get("seconds", -1.0) >= counts_from:
            self.seconds.append(answer["seconds"])
            self.cpu_seconds.append(answer["cpu_seconds"])

    def found(self) -> Items | None:
        """Parameters of the latest fit."""
        if not self.seconds:
            return None
        with np.load(self.parameters) as stored:
            return Items(*(stored[name].astype(float) for name in Items._fields))


def start(name: str, shape: Shape, peer_python: Sequence[str] | None, folder: Path) -> Contender:
    """Start a package in the first interpreter that has it; irtkit in this one."""
    for python in [sys.executable] if is_ours(name) else peer_python or [sys.executable]:
        worker = Worker(name, shape.model, python=python)
        if worker.problem is None:
            break
        worker.close()
    return Contender(name, python, worker, folder / f"{name}.npz")


def is_ours(name: str) -> bool:
    """Whether a package is irtkit, with whatever settings."""
    return name.startswith("irtkit")


_TURN = 0.3
"""Seconds of a turn, of one fit or several: the first after others' turns finds cold caches."""


def take_turns(
    contenders: Sequence[Contender],
    responses: Path,
    limit: float,
    *,
    warm_up: Callable[[Contender], None],
    wanted: Callable[[Contender], int],
) -> None:
    """Warm all up, let them fit in turns until each has its wanted number of times, end them."""
    try:
        for each in contenders:
            warm_up(each)
        while unfinished := [
            each
            for each in contenders
            if each.worker.problem is None and len(each.seconds) < wanted(each)
        ]:
            for each in unfinished:
                before = len(each.seconds)
                each.fit(responses, limit)
                while (
                    each.worker.problem is None
                    and len(each.seconds) < wanted(each)
                    and sum(each.seconds[before:]) < _TURN
                ):
                    each.fit(responses, limit)
    finally:
        for each in contenders:
            each.worker.close()


def judge(contenders: Sequence[Contender], data: Data, reference: str) -> None:
    """Log-likelihood of every package on one grid, also above the reference's; recovery."""
    found = {each.name: each.found() for each in contenders}
    nodes = fine_grid([items for items in found.values() if items is not None])
    heights = {
        name: marginal_log_likelihood(data.values, items, nodes)
        for name, items in found.items()
        if items is not None
    }
    for each in contenders:
        items = found[each.name]
        if items is not None:
            height = heights[each.name]
            each.figures |= {
                "log_likelihood": height,
                "above_irtkit": height - heights[reference] if reference in heights else None,
                **recovery(items, data.truth),
            }


def record(shape: Shape, each: Contender) -> dict[str, Any]:
    """All figures of one package on one shape."""
    return {
        "shape": shape._asdict(),
        "package": each.name,
        "version": each.worker.version,
        "problem": None if each.seconds else each.worker.problem,
        "seconds": each.seconds,
        "cpu_seconds": each.cpu_seconds,
        **each.figures,
    }


def parser(
    purpose: str, shapes: Sequence[Shape], packages: Collection[str]
) -> argparse.ArgumentParser:
    """Options of a script that compares packages on simulated data."""
    options = arguments(purpose)
    options.add_argument(
        "--shapes", nargs="+", type=parse, default=part(shapes, 0), metavar="200x1000:2PL"
    )
    options.add_argument("--packages", nargs="+", choices=packages, default=list(packages))
    options.add_argument("--peer-python", action="append", help="interpreter of peers; repeatable")
    options.add_argument("--limit", type=float, default=600.0, help="most seconds for one fit")
    options.add_argument("--rounds", type=int, help="timed fits; by default as many as they last")
    return options


def compare(
    options: argparse.Namespace,
    header: Sequence[str],
    measure: Callable[[Shape, argparse.Namespace, Path], list[Contender]],
    rows: Callable[[Shape, list[Contender]], list[str]],
) -> None:
    """Print the table shape by shape; store all figures where asked to."""
    records = []
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
    for shape in options.shapes:
        with tempfile.TemporaryDirectory() as folder:
            contenders = measure(shape, options, Path(folder))
        print("\n".join(rows(shape, contenders)), flush=True)
        records += [record(shape, each) for each in contenders]
    versions = {r["package"]: r["version"] for r in records if r["version"]}
    print("\n" + ", ".join(f"{name} {number}" for name, number in versions.items()))
    store(options, fits=records)
