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
"""

import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from timeit import timeit
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from machine import ROOT, SHARED, part, peak_mib
from scipy.special import expit, logsumexp
from simulated import SHAPES, Shape, answers, draw, items_of, parse
from study import run
from worker import DEFAULT_CALLS, PACKAGES, Items, Worker

import irtkit
from irtkit.threads import one_thread

Data = namedtuple("Data", "values truth responses other")
"""Simulated responses with the truth, and two files: them, and others of the same shape."""


def draw_data(shape, folder):
    """Draw both data sets and store them."""
    truth, values = draw(shape, seed=0)
    responses, other = folder / "data.npy", folder / "other.npy"
    np.save(responses, values)
    np.save(other, draw(shape, seed=1)[1])
    items = Items(truth.discrimination, truth.intercept, truth.guessing)
    return Data(values, items, responses, other)


def start(name, shape, peer_python, folder):
    """Start a package in the first interpreter that has it; irtkit in this one."""
    ours = [sys.executable]
    for python in ours if name.startswith("irtkit") else peer_python or ours:
        worker = Worker(name, shape.model, folder / f"{name}.npz", python=python)
        if worker.problem is None:
            break
        worker.close()
    return worker


_TURN = 0.3
"""Seconds of a turn, of one fit or several: the first after others' turns finds cold caches."""
SLOW_FIRST_FIT = 5.0  # seconds; a peer's first fit counts from here on


def take_turns(workers, responses, other, rounds=0):
    """Warm all up, let them fit in turns until each has its number of times, end them."""

    def unfinished(worker):
        usual = 2 if worker.best > 5 else 3 if worker.best > 1 else 7
        n_wanted = rounds or (21 if worker.best < 0.3 else usual)
        return worker.problem is None and len(worker.seconds) < n_wanted

    try:
        for worker in workers:
            if worker.is_ours:
                worker.fit(other, counts_from=np.inf)
            else:
                worker.fit(responses, counts_from=SLOW_FIRST_FIT)
        while any(map(unfinished, workers)):
            for worker in filter(unfinished, workers):
                before = len(worker.seconds)
                worker.fit(responses)
                while unfinished(worker) and sum(worker.seconds[before:]) < _TURN:
                    worker.fit(responses)
    finally:
        for worker in workers:
            worker.close()


REACH, MOST_NODES, CELLS_PER_BLOCK = 16.0, 2**16, 2**21


def fine_grid(candidates):
    """Equally spaced nodes, a quarter of the narrowest posterior SD apart, for all sets of items.

    A posterior SD is at least (1 + max I(θ))^(−1/2), and I(θ) ≤ Σⱼ aⱼ² s(1 − s); the steepest
    slope is added, since its peak may fall between the places where this is looked up. Estimates
    that run off (perfectly separated items) are given at most ``MOST_NODES`` nodes.
    """
    precision = 1.0
    theta = np.linspace(-8, 8, 161)
    for items in candidates:
        if np.isfinite(items).all():
            squares = items.discrimination**2
            right = [expit(items.discrimination * at + items.intercept) for at in theta]
            information = max(squares @ (p * (1 - p)) for p in right)
            precision = max(precision, 1 + squares.max() / 4 + information)
    n_nodes = min(MOST_NODES, int(np.ceil(2 * REACH * 4 * np.sqrt(precision))))
    return np.linspace(-REACH, REACH, n_nodes)


def marginal_log_likelihood(values, items, nodes):
    """Σᵢ log Σₖ h φ(θₖ) Πⱼ P(yᵢⱼ | θₖ) over observed cells; NaN if a parameter is not finite.

    Missing cells are −1. Works through the nodes in blocks; no array is larger than respondents (or
    items) × block.
    """
    if not np.isfinite(items).all():
        return np.nan
    slope, intercept, guessing = (of[:, None] for of in items)
    log_prior = np.log(nodes[1] - nodes[0]) - 0.5 * nodes**2 - 0.5 * np.log(2 * np.pi)
    total = np.full(len(values), -np.inf)
    step = max(1, CELLS_PER_BLOCK // max(values.shape))
    for start in range(0, len(nodes), step):
        z = slope * nodes[start : start + step] + intercept
        wrong = np.log1p(-guessing) - np.logaddexp(0, z)
        with np.errstate(divide="ignore"):  # log 0 is a guessing of 0
            right = np.logaddexp(np.log(guessing), z + wrong)
        log_joint = _products(values == 1, right - wrong) + _products(values >= 0, wrong)
        log_joint += log_prior[start : start + step]
        total = np.logaddexp(total, logsumexp(log_joint, axis=1))
    return float(total.sum())


def _products(cells, columns):
    """Matrix product of cells and columns, without a float copy of all cells."""
    step = max(1, CELLS_PER_BLOCK // cells.shape[1])
    return np.concatenate(
        [cells[k : k + step].astype(float) @ columns for k in range(0, len(cells), step)]
    )


def judge(workers, data):
    """Log-likelihood of every package on one grid, also above the first one's; RMSE of slopes.

    The direction of the scale is free. Perfectly separated items without a prior dominate the RMSE.
    """
    found = [worker.found() for worker in workers]
    nodes = fine_grid([items for items in found if items is not None])
    reference = None
    for items in found:
        if items is None:
            yield {}
            continue
        height = marginal_log_likelihood(data.values, items, nodes)
        reference = height if items is found[0] else reference
        true = data.truth.discrimination
        turn = -1.0 if items.discrimination @ true < 0 else 1.0
        yield {
            "log_likelihood": height,
            "above_irtkit": None if reference is None else height - reference,
            "rmse_discrimination": np.mean((turn * items.discrimination - true) ** 2) ** 0.5,
        }


def race(shape, names, python, rounds, faster):
    """All packages on one shape."""
    with tempfile.TemporaryDirectory() as folder:
        data = draw_data(shape, Path(folder))
        workers = [start(name, shape, python, Path(folder)) for name in names]
        take_turns(workers, data.responses, data.other, rounds)
        figures = list(judge(workers, data))
    timed = {worker.name: worker for worker in workers if worker.seconds}
    for worker, judged in zip(workers, figures, strict=True):
        record = {
            "shape": shape._asdict(),
            "package": worker.name,
            "version": worker.version,
            "problem": None if worker.seconds else worker.problem,
            "seconds": worker.seconds,
            "cpu_seconds": worker.cpu_seconds,
            **judged,
        }
        if worker.seconds and not worker.is_ours:
            record["irtkit_faster"] = faster(worker, timed)
        yield record


def shapes_of(texts, shapes, *places):
    """Shapes named on the command line, or the usual ones."""
    return list(map(parse, texts)) or part(list(shapes), *places)


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

    chosen = shapes_of(shapes, map(parse, CALLED), 0)
    return {"fits": chain.from_iterable(map(measured, chosen))}


REAL = SHARED / "aid_SST.csv.gz"  # 10 learners × 872 instances
TASKS = {"fit": "irtkit, default call", "compare": "irtkit, compare"}
WARM_UP_ITEMS = 500


def beside_checkout(values, task, against, rounds):
    """CPU seconds of one task in both checkouts, and how far apart their slopes are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        responses, few = folder / "responses.npy", folder / "few.npy"
        np.save(responses, values)
        np.save(few, values[:, :WARM_UP_ITEMS])
        both = here, there = [
            Worker(TASKS[task], "2PL", folder / file, checkout=checkout)
            for file, checkout in (("here.npz", ROOT), ("against.npz", against))
        ]
        take_turns(both, responses, few, rounds)
        if here.problem or there.problem:
            raise RuntimeError(f"{task}: {here.problem or there.problem}")
        slope, other_slope = (one.found().discrimination for one in both)
    return {
        "shape": values.shape,
        "distinct_items": len(np.unique(values, axis=1).T),
        "task": task,
        "cpu_seconds": here.cpu_seconds,
        "cpu_seconds_against": there.cpu_seconds,
        "times_less": min(there.cpu_seconds) / min(here.cpu_seconds),
        "moved": np.abs(slope - other_slope).max(),
    }


def copies(against=ROOT, items=42000, rounds=3):
    """Identical rows and columns, in this checkout and in another."""
    g = np.random.default_rng(0)  # answers of a dozen language models
    drawn = items_of(g, items).probability(np.linspace(-1, 3.5, 12))
    data = {"simulated": answers(g, drawn)}
    if REAL.exists():
        data["aid_SST"] = irtkit.read_responses(REAL).values
    cases = [(name, task) for name in data for task in TASKS]
    return {
        "fits": (
            {"data": name} | beside_checkout(data[name], task, against, rounds)
            for name, task in cases
        )
    }


SIZES = tuple(Shape(side, side) for side in (1_000, 1_468, 2_154, 3_162, 4_642, 6_813, 10_000))


def second_fit(shape, package):
    """Figures of the second fit in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npy")
        size = f"{shape.n_respondents}x{shape.n_items}:{shape.model}"
        script = Path(__file__).with_name("simulated.py")
        subprocess.run([sys.executable, script, size, "0", data], check=True)
        worker = Worker(package, shape.model, Path(folder, "parameters.npz"))
        worker.fit(data)
        answer = worker.fit(data)
        worker.close()
    if worker.problem is not None:
        raise RuntimeError(f"{shape}: {worker.problem}")
    return shape._asdict() | {"cells": shape.cells} | answer


def scaling(shapes=(), package="irtkit"):
    """Time per cell and peak memory."""
    chosen = shapes_of(shapes, SIZES, 0)
    return {"package": package, "fits": (second_fit(shape, package) for shape in chosen)}


def sparse(respondents=1000000, items=10000, responses=10000000):
    """A long table in which few cells are observed: drawn, made a matrix and fitted.

    A respondent gets equally spaced items, from a random one on and in a random order of all, so
    that none comes twice.
    """
    g = np.random.default_rng([0, 1])
    truth, n_each = items_of(g, items), max(responses // respondents, 1)
    start = g.integers(0, items, (respondents, 1))
    at = g.permutation(items)[(start + np.arange(n_each) * (items // n_each)) % items]
    ability = g.normal(size=(respondents, 1))
    right = answers(g, expit(truth.discrimination[at] * ability + truth.intercept[at]))
    respondent = np.repeat(np.arange(respondents), n_each)
    columns = {"respondent": respondent, "item": at.ravel(), "response": right.ravel()}
    frame = pd.DataFrame(columns)
    del start, at, ability, right, respondent, columns
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
        "peak_gib": peak_mib() / 2**10,
    }
    return {"fits": [figures]}


WITH_THREADS = ("2000x40", "200x1000", "20000x100", "20000x100:2PL:0:0.2", "5000x50:3PL")


def timed(shape, rounds):
    """Median seconds on the clock and on the processors, with one thread and with all."""
    responses = irtkit.ResponseMatrix(draw(shape, seed=0)[1])
    seconds = {True: [], False: []}
    for _ in range(rounds + 1):  # the first warms up
        for one, found in seconds.items():
            before = time.perf_counter(), time.process_time()
            with patch("irtkit.threads.one_thread", one_thread if one else nullcontext):
                irtkit.fit(responses, shape.model)
            found.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    return np.median([found[1:] for found in seconds.values()], axis=1).ravel().tolist()


def threads(shapes=(), rounds=15):
    """One thread and all, alone and beside a busy process."""

    def measured(shape, beside):
        other = None
        if beside == "a busy process":
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        seconds = timed(shape, rounds)
        if other is not None:
            other.kill()
            other.wait()
        return {"shape": shape._asdict(), "beside": beside, "seconds": seconds}

    chosen = shapes_of(shapes, map(parse, WITH_THREADS), 0)
    besides = ("nothing", "a busy process")
    return {"fits": (measured(shape, beside) for shape in chosen for beside in besides)}


PRIORS = {"none": None, "weak": "weak"}


def in_floors(shape, prior, rounds):
    """Best seconds of the fit and of each part of the floor."""
    values = draw(shape, seed=0)[1]
    responses = irtkit.ResponseMatrix(values)
    settings = {"prior": prior, "standard_errors": False, "progress": False}
    fit = partial(irtkit.fit, responses, shape.model, **settings)
    result = fit()
    nodes = result.quadrature.n_nodes
    parts = {"fit": fit, **products(values), **exponentials(sum(values.shape), nodes)}
    turns = [[timeit(work, number=1) for work in parts.values()] for _ in range(rounds + 1)]
    best = dict(zip(parts, np.min(turns[1:], axis=0).tolist(), strict=True))  # the first warms up
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
        "JAX": lambda: jax.block_until_ready(both(*on_device)),
    }


def exponentials(rows, nodes):
    """One exponential of every number of a rows × nodes table, in either precision."""
    table = np.linspace(-20, 0, rows * nodes).reshape(rows, nodes)

    def work(dtype):
        with jax.enable_x64(dtype == "float64"):
            on_device = jnp.asarray(table, dtype=dtype)
            exponential = jax.jit(jnp.exp).lower(on_device).compile()
        return lambda: exponential(on_device).block_until_ready()

    return {f"exp {dtype}": work(dtype) for dtype in ("float32", "float64")}


def floor(shapes=(), priors=tuple(PRIORS), rounds=5):
    """Fits in units of the least work of a step."""
    chosen = shapes_of(shapes, [shape for shape in SHAPES if shape.cells > 100_000], 0)
    cases = [(shape, PRIORS[prior]) for shape in chosen for prior in priors]
    return {"fits": (in_floors(*case, rounds) for case in cases)}


if __name__ == "__main__":
    run(peers, default_call, copies, scaling, sparse, threads, floor)
