"""How long fits take, beside other packages and beside the least work that there is.

Every package fits the same data in a process of its own (``worker.py``), which times the fitting
call alone; packages take turns, and what it takes to bring the data into a package's form is left
out. Peers run where they are installed: in this environment, or in that of ``--peer-python``. A
first fit does not count, unless a peer takes over five seconds for it.

`default_call`: the call that people type. `peers`: without standard errors. `copies`: this checkout
and that of ``--against``. `scaling`: the second fit in a fresh process. `sparse`: a long table with
few of the cells. `threads`: one and all, alone and beside a busy process. `floor`: a fit in units
of the unavoidable work of one step, which is two float32 matrix–vector products over the responses
and one exponential over (respondents + items) × final nodes.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from accuracy import Items, fine_grid, marginal_log_likelihood, recovery
from machine import ROOT, SHARED, part
from simulated import SHAPES, Shape, draw, parse
from study import run
from worker import DEFAULT_CALLS, PACKAGES, Worker

import irtkit
from irtkit.threads import one_thread


class Data(NamedTuple):
    """Simulated responses with the truth, and two files: them, and others of the same shape."""

    values: np.ndarray[Any, np.dtype[np.int8]]
    truth: Items
    responses: Path
    other: Path


def draw_data(shape, folder):
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
    worker: Worker
    parameters: Path
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def is_ours(self):
        """Whether this is irtkit, with whatever settings."""
        return self.name.startswith("irtkit")

    @property
    def best(self):
        """Seconds of the shortest fit."""
        return min(self.seconds, default=0.0)

    def fit(self, responses, *, counts_from=0.0):
        """Fit once; it counts if it took that long. A worker that gives up says why."""
        if self.worker.problem is None:
            answer = self.worker.fit(responses, self.parameters, limit=LIMIT)
            if answer.get("seconds", -1.0) >= counts_from:
                self.seconds.append(answer["seconds"])
                self.cpu_seconds.append(answer["cpu_seconds"])

    def found(self):
        """Parameters of the latest fit."""
        if not self.seconds:
            return None
        with np.load(self.parameters) as stored:
            return Items(*(stored[name].astype(float) for name in Items._fields))


def start(name, shape, peer_python, folder):
    """Start a package in the first interpreter that has it; irtkit in this one."""
    ours = [sys.executable]
    for python in ours if name.startswith("irtkit") else peer_python or ours:
        worker = Worker(name, shape.model, python=python)
        if worker.problem is None:
            break
        worker.close()
    return Contender(name, worker, folder / f"{name}.npz")


LIMIT = 1800.0
"""Most seconds for one fit."""
_TURN = 0.3
"""Seconds of a turn, of one fit or several: the first after others' turns finds cold caches."""
SLOW_FIRST_FIT = 5.0  # seconds; a peer's first fit counts from here on


def take_turns(contenders, responses, other, rounds=0):
    """Warm all up, let them fit in turns until each has its number of times, end them."""

    def unfinished(contender):
        usual = 2 if contender.best > 5 else 3 if contender.best > 1 else 7
        n_wanted = rounds or (21 if contender.best < 0.3 else usual)
        return contender.worker.problem is None and len(contender.seconds) < n_wanted

    try:
        for contender in contenders:
            if contender.is_ours:
                contender.fit(other, counts_from=np.inf)
            else:
                contender.fit(responses, counts_from=SLOW_FIRST_FIT)
        while any(map(unfinished, contenders)):
            for contender in filter(unfinished, contenders):
                before = len(contender.seconds)
                contender.fit(responses)
                while unfinished(contender) and sum(contender.seconds[before:]) < _TURN:
                    contender.fit(responses)
    finally:
        for contender in contenders:
            contender.worker.close()


def judge(contenders, data):
    """Log-likelihood of every package on one grid, also above the first one's; recovery."""
    found = [contender.found() for contender in contenders]
    nodes = fine_grid([items for items in found if items is not None])
    reference = None
    for items in found:
        if items is None:
            yield {}
            continue
        height = marginal_log_likelihood(data.values, items, nodes)
        reference = height if items is found[0] else reference
        above = None if reference is None else height - reference
        yield {"log_likelihood": height, "above_irtkit": above, **recovery(items, data.truth)}


def race(shape, names, python, rounds, faster):
    """All packages on one shape."""
    with tempfile.TemporaryDirectory() as folder:
        data = draw_data(shape, Path(folder))
        contenders = [start(name, shape, python, Path(folder)) for name in names]
        take_turns(contenders, data.responses, data.other, rounds)
        figures = list(judge(contenders, data))
    timed = {contender.name: contender for contender in contenders if contender.seconds}
    for contender, judged in zip(contenders, figures, strict=True):
        record = {
            "shape": shape._asdict(),
            "package": contender.name,
            "version": contender.worker.version,
            "problem": None if contender.seconds else contender.worker.problem,
            "seconds": contender.seconds,
            "cpu_seconds": contender.cpu_seconds,
            **judged,
        }
        if contender.seconds and not contender.is_ours:
            record["irtkit_faster"] = faster(contender, timed)
        yield record


def shapes_of(texts, shapes, *places):
    """Shapes named on the command line, or the usual ones."""
    return [parse(text) for text in texts] or part(shapes, *places)


OURS = ("irtkit, prior=None", "irtkit")


def peers(shapes=(), packages=tuple(PACKAGES), peer_python=(), rounds=0):
    """Fits without standard errors, beside mirt, girth and py-irt."""

    def faster(peer, timed):
        return [peer.best / timed[ours].best if ours in timed else None for ours in OURS]

    chosen = shapes_of(shapes, SHAPES, 0)
    races = (race(shape, packages, peer_python, rounds, faster) for shape in chosen)
    return {"fits": chain.from_iterable(races)}


COMPLETE_2PL_ONLY = "theta-irt"
CALLED = (
    *("2000x40:2PL:0.07", "200x1000:2PL:0.07", "100x2000:2PL:0.07", "20000x100"),
    *("20000x100:2PL:0:0.2", "5000x50:3PL", "1000x1000"),
)


def default_call(shapes=(), packages=tuple(DEFAULT_CALLS), peer_python=(), rounds=0):
    """The call that people type, beside mirt and theta-irt."""

    def faster(peer, timed):
        ours = timed.get(packages[0])
        if ours is None:
            return []
        return [peer.best / ours.best, min(peer.cpu_seconds) / min(ours.cpu_seconds)]

    def measured(shape):
        plain = shape.model == "2PL" and not shape.missing
        names = [name for name in packages if plain or name != COMPLETE_2PL_ONLY]
        return race(shape, names, peer_python, rounds, faster)

    chosen = shapes_of(shapes, [parse(text) for text in CALLED], 0)
    return {"fits": chain.from_iterable(map(measured, chosen))}


REAL = SHARED / "aid_SST.csv.gz"  # 10 learners × 872 instances
TASKS = {"fit": "irtkit, default call", "compare": "irtkit, compare"}
N_RESPONDENTS = 12
WARM_UP_ITEMS = 500


def few_systems(n_items):
    """Simulated answers of a dozen language models, respondents × items."""
    generator = np.random.default_rng(0)
    ability = np.linspace(-1, 3.5, N_RESPONDENTS)[:, None]
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return (generator.random(chance.shape) < chance).astype(np.int8)


def beside_checkout(values, task, against, rounds):
    """CPU seconds of one task in both checkouts, and how far apart their slopes are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        responses, few = folder / "responses.npy", folder / "few.npy"
        np.save(responses, values)
        np.save(few, values[:, :WARM_UP_ITEMS])
        here, there = (
            Contender(TASKS[task], Worker(TASKS[task], "2PL", checkout=checkout), folder / file)
            for file, checkout in (("here.npz", ROOT), ("against.npz", against))
        )
        take_turns([here, there], responses, few, rounds)
        slopes = [items.discrimination for one in (here, there) if (items := one.found())]
    if len(slopes) < 2:
        raise RuntimeError(f"{task}: {here.worker.problem or there.worker.problem}")
    return {
        "shape": values.shape,
        "distinct_respondents": len(np.unique(values, axis=0)),
        "distinct_items": len(np.unique(values, axis=1).T),
        "task": task,
        "cpu_seconds": here.cpu_seconds,
        "cpu_seconds_against": there.cpu_seconds,
        "times_less": min(there.cpu_seconds) / min(here.cpu_seconds),
        "moved": float(np.abs(slopes[0] - slopes[1]).max()),
    }


def copies(against=ROOT, items=42000, rounds=3):
    """Identical rows and columns, in this checkout and in another."""
    data = {"simulated": few_systems(items)}
    if REAL.exists():
        data[REAL.name.split(".")[0]] = irtkit.read_responses(REAL).values
    cases = [(name, task) for name in data for task in TASKS]
    return {
        "fits": (
            {"data": name} | beside_checkout(data[name], task, against, rounds)
            for name, task in cases
        )
    }


SIZES = tuple(Shape(side, side) for side in (1_000, 1_468, 2_154, 3_162, 4_642, 6_813, 10_000))


def second_fit(shape, package, limit):
    """Figures of the second fit in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npy")
        size = f"{shape.n_respondents}x{shape.n_items}:{shape.model}"
        script = Path(__file__).with_name("simulated.py")
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


def scaling(shapes=(), package="irtkit"):
    """Time per cell and peak memory."""
    chosen = shapes_of(shapes, SIZES, 0)
    return {"package": package, "fits": (second_fit(shape, package, LIMIT) for shape in chosen)}


_AT_ONCE = 2**20
"""Responses that are drawn at a time."""


def simulate(n_respondents, items, n_responses, seed):
    """Long table with as many responses by every respondent.

    A respondent gets equally spaced items, from a random one on and in a random order of all, so
    that none comes twice.
    """
    generator = np.random.default_rng(seed)
    ability = generator.normal(size=n_respondents)
    n_each, n_items = max(n_responses // n_respondents, 1), items.n_items
    columns = np.empty((n_respondents, n_each), dtype=np.int32)
    right = np.empty((n_respondents, n_each), dtype=np.int8)
    step = max(1, _AT_ONCE // n_each)
    for first in range(0, n_respondents, step):
        rows = slice(first, min(first + step, n_respondents))
        start = generator.integers(0, n_items, (rows.stop - first, 1))
        order = generator.permutation(n_items)
        at = order[(start + np.arange(n_each) * (n_items // n_each)) % n_items]
        logits = items.discrimination[at] * ability[rows, None] + items.intercept[at]
        columns[rows], right[rows] = at, generator.random(at.shape) < 1 / (1 + np.exp(-logits))
    respondent = np.repeat(np.arange(n_respondents), n_each)
    table = {"respondent": respondent, "item": columns.ravel(), "response": right.ravel()}
    return pd.DataFrame(table)


def peak():
    """Largest resident size of this process so far, in GiB."""
    told = Path("/proc/self/status")
    if told.exists():  # ru_maxrss would count what the process that started this one held
        (line,) = (x for x in told.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def sparse(respondents=1000000, items=10000, responses=10000000):
    """A long table in which few cells are observed: drawn, made a matrix and fitted."""
    generator = np.random.default_rng([0, 1])
    slope = generator.lognormal(0, 0.3, items)
    truth = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=items))
    frame = simulate(respondents, truth, responses, 0)
    began = time.perf_counter()
    matrix = irtkit.ResponseMatrix.from_long(frame, sparse=True)
    made = time.perf_counter()
    del frame
    result = irtkit.fit(matrix)
    figures = {
        "respondents": matrix.n_respondents,
        "items": matrix.n_items,
        "responses": int(result.items["n_responses"].sum()),
        "seconds_matrix": made - began,
        "seconds_fit": time.perf_counter() - made,
        "peak_gib": peak(),
    }
    return {"fits": [figures]}


WITH_THREADS = ("2000x40", "200x1000", "20000x100", "20000x100:2PL:0:0.2", "5000x50:3PL")
ONE_THREAD = "irtkit.threads.one_thread"
BUSY = "while True: pass"


def timed(shape, rounds):
    """Median seconds on the clock and on the processors, with one thread and with all."""
    responses = irtkit.ResponseMatrix(draw(shape, seed=0)[1])
    seconds = {True: [], False: []}
    for _ in range(rounds + 1):  # the first warms up
        for one, found in seconds.items():
            before = time.perf_counter(), time.process_time()
            with patch(ONE_THREAD, one_thread if one else nullcontext):
                irtkit.fit(responses, shape.model)
            found.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    for found in seconds.values():
        yield from (median(column) for column in zip(*found[1:], strict=True))


def threads(shapes=(), rounds=15):
    """One thread and all, alone and beside a busy process."""

    def measured(shape, *, busy):
        other = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
        seconds = list(timed(shape, rounds))
        if other is not None:
            other.kill()
            other.wait()
        beside = "a busy process" if busy else "nothing"
        return {"shape": shape._asdict(), "beside": beside, "seconds": seconds}

    chosen = shapes_of(shapes, [parse(text) for text in WITH_THREADS], 0)
    return {"fits": (measured(shape, busy=busy) for shape in chosen for busy in (False, True))}


PRIORS = {"none": None, "weak": "weak"}


def in_floors(shape, prior, rounds):
    """Best seconds of the fit and of each part of the floor."""
    values = draw(shape, seed=0)[1]
    responses = irtkit.ResponseMatrix(values)

    def fit():
        return irtkit.fit(
            responses, shape.model, prior=prior, standard_errors=False, progress=False
        )

    result = fit()
    nodes = result.quadrature.n_nodes
    parts = {"fit": fit, **products(values), **exponentials(sum(values.shape), nodes)}
    for work in parts.values():
        work()
    turns = [{name: stopwatch(work) for name, work in parts.items()} for _ in range(rounds)]
    best = {name: min(turn[name] for turn in turns) for name in parts}
    floor = min(best["NumPy"], best["JAX"]) + min(best["exp float32"], best["exp float64"])
    figures = {"evaluations": result.n_iterations, "seconds": best, "ratio": best["fit"] / floor}
    return {"shape": shape._asdict(), "prior": prior, **figures}


def products(values):
    """Y a and Yᵀ m in float32, by NumPy and by JAX."""
    matrix = values.astype(np.float32)
    per_item, per_respondent = (np.ones(n, dtype=np.float32) for n in reversed(matrix.shape))
    on_device = [jnp.asarray(array) for array in (matrix, per_item, per_respondent)]
    both = jax.jit(lambda y, a, m: (y @ a, y.T @ m))
    return {
        "NumPy": lambda: (matrix @ per_item, matrix.T @ per_respondent),
        "JAX": lambda: [found.block_until_ready() for found in both(*on_device)],
    }


def exponentials(rows, nodes):
    """One exponential of every number of a rows × nodes table, in either precision."""
    exponential = jax.jit(jnp.exp)
    table = np.linspace(-20, 0, rows * nodes).reshape(rows, nodes)

    def work(dtype):
        with jax.enable_x64(dtype == "float64"):
            on_device = jnp.asarray(table, dtype=dtype)

        def apply():
            with jax.enable_x64(dtype == "float64"):
                return exponential(on_device).block_until_ready()

        return apply

    return {f"exp {dtype}": work(dtype) for dtype in ("float32", "float64")}


def stopwatch(work):
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def floor(shapes=(), priors=tuple(PRIORS), rounds=5):
    """Fits in units of the least work of a step."""
    chosen = shapes_of(shapes, [shape for shape in SHAPES if shape.cells > 100_000], 0)
    cases = [(shape, PRIORS[prior]) for shape in chosen for prior in priors]
    return {"fits": (in_floors(*case, rounds) for case in cases)}


if __name__ == "__main__":
    run(peers, default_call, copies, scaling, sparse, threads, floor)
