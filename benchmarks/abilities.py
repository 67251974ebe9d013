"""How well several abilities are recovered, chosen and used.

"recovery": three correlated tasks of 20 items and 1,000 systems. The root mean square error of
abilities next to separate fits of each task, and the SD and coverage of z = (estimate − truth) /
standard error. "coverage": 95 % intervals of abilities with few systems and tasks that correlate by
0.5. "one-dimensional": how often "auto" finds more than one ability. "wrong keys": mean average
precision of p_negative with 5 % planted wrong keys among 200 items of two abilities, 100 systems.
"held out": log loss of 10 % hidden cells by number of abilities; data without a free licence are
looked for in ``--data``. "seconds": of fits without standard errors.

Slopes are lognormal with an SD of 0.3 on the log scale, intercepts and abilities standard normal.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store, whole
from scipy.special import expit

import irtkit
from irtkit.abilities.engine import Cells, fit_design, probabilities
from irtkit.abilities.errors import ability_covariances, covariances
from irtkit.abilities.fitting import design_of
from irtkit.data.slopes import called_negative

BOARDS = ("metabench_arc", "nlu_commonsenseqa")
SIZES = ((100, 100), (60, 500), (500, 50))
KINDS = ("2PL", "3PL", "20 % negative", "skewed", "near-duplicate systems", "near-duplicate items")
SHAPES = ((1200, 102, "exploratory", 3), (5000, 1000, "task", 6), (93, 1136, "task", 18))

ONE_ABILITY = (
    *((8, 30, 0.0), (12, 20, 0.0), (10, 10, 0.0), (12, 1000, 0.2)),
    *((30, 30, 0.3), (40, 15, 0.3), (100, 20, 0.4), (200, 10, 0.2)),
)  # Systems, items, and the share of items with negative slopes.


def design(structure: str, k: int, n_items: int) -> Any:
    """A design with items in turn of each task."""
    tasks = None if structure == "exploratory" else tuple(str(j % k) for j in range(n_items))
    return design_of(structure, k, tasks, n_items)[0]


def drawn(generator: Any, theta: Any, slopes: Any, task: Any, guessing: float = 0.0) -> Any:
    """Responses, one ability per task."""
    p = expit(slopes * theta[:, task] + generator.normal(size=len(task)))
    return (generator.random(p.shape) < guessing + (1 - guessing) * p).astype(np.float32)


def recovery(correlation: float, rounds: int, n: int = 1000, n_items: int = 60) -> dict[str, float]:
    """Three correlated tasks."""
    matrix, task = (
        np.full((3, 3), correlation) + (1 - correlation) * np.eye(3),
        np.arange(n_items) % 3,
    )
    pairs, own, rows = np.tril_indices(3, -1), (np.arange(n_items), task), []
    of_pairs, of_slopes = [], []
    for seed in range(rounds):
        generator = np.random.default_rng(seed)
        theta = generator.multivariate_normal(np.zeros(3), matrix, n)
        slopes = generator.lognormal(0, 0.3, n_items)
        y = drawn(generator, theta, slopes, task)
        cells = Cells(y, None)
        fit = fit_design(cells, design("task", 3, n_items), tol=1e-4)
        joint, errors = covariances(cells, fit)
        found = fit.correlations[pairs]
        scale = errors[pairs] / (1 - found**2)
        of_pairs.append((np.arctanh(found) - np.arctanh(correlation)) / scale)
        variance = joint.of_items()[own[0], own[1], own[1]]
        of_slopes.append((fit.items.mean[own] - slopes) / np.sqrt(variance))
        alone = [
            fit_design(
                Cells(y[:, task == k], None), design("exploratory", 1, n_items // 3)
            ).ability[:, 0]
            for k in range(3)
        ]
        variance = ability_covariances(cells, fit, joint)
        z = (fit.ability - theta) / np.sqrt(np.diagonal(variance, axis1=1, axis2=2))
        together, apart = (
            float(np.sqrt(((one - theta) ** 2).mean()))
            for one in (fit.ability, np.stack(alone, axis=1))
        )
        rows.append((found.mean(), together, apart, z.std()))
    mean = np.mean(rows, axis=0)
    return {
        **dict(zip(("correlation", "rmse", "rmse_separate", "sd_z_abilities"), mean, strict=True)),
        "sd_z_correlations": float(np.sqrt(np.mean(np.square(of_pairs)))),
        "cover_correlations": float(np.mean(np.abs(of_pairs) < 1.96)),
        "sd_z_slopes": float(np.std(of_slopes)),
    }


def coverage(n: int, n_tasks: int, per_task: int, rounds: int) -> float:
    """Share of true abilities within 95 % intervals, one ability per task."""
    matrix, task = np.full((n_tasks,) * 2, 0.5) + 0.5 * np.eye(n_tasks), np.arange(n_tasks)
    task, covered = np.repeat(task, per_task), []
    for seed in range(rounds):
        generator = np.random.default_rng(seed)
        theta = generator.multivariate_normal(np.zeros(n_tasks), matrix, n)
        y = drawn(generator, theta, generator.lognormal(0, 0.3, len(task)), task)
        responses = irtkit.ResponseMatrix(y.astype(np.int8))
        tasks = dict(zip(responses.items, map(str, task), strict=True))
        result: Any = irtkit.fit(responses, abilities=tasks)
        off = np.abs(result.several.fitted.ability - theta)
        covered.append(float((off < 1.959964 * result.ability_errors).mean()))
    return float(np.mean(covered))


def one_dimensional(kind: str, n: int, n_items: int, seed: int) -> int:
    """Number of abilities that "auto" finds where one is true."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(size=(n, 1))
    if kind == "skewed":
        theta = (generator.chisquare(3, size=(n, 1)) - 3) / np.sqrt(6)
    slopes, task = generator.lognormal(0, 0.3, n_items), np.zeros(n_items, dtype=int)
    if kind == "20 % negative":
        slopes *= np.where(generator.random(n_items) < 0.2, -1, 1)
    y = drawn(generator, theta, slopes, task, 0.2 * (kind == "3PL"))
    kept = generator.random(y.shape) < 0.85
    if kind == "near-duplicate systems":  # families of 5
        y = np.where(kept, y[np.arange(n) // 5 * 5], y)
    if kind == "near-duplicate items":  # 60 % in triplets
        source = np.where(np.arange(n_items) < 0.6 * n_items, np.arange(n_items) // 3 * 3, 0)
        y = np.where(kept & (np.arange(n_items) < 0.6 * n_items), y[:, source], y)
    responses = irtkit.ResponseMatrix(y.astype(np.int8))
    return int(irtkit.fit(responses, abilities="auto", standard_errors=False).n_abilities)


def apart(rounds: int) -> int:
    """Data sets with one ability in which ability is said not to be accuracy."""
    found = 0
    for n, n_items, negative in ONE_ABILITY:
        for seed in range(rounds):
            generator = np.random.default_rng(seed)
            slopes = generator.lognormal(0, 0.5, n_items)
            slopes[generator.random(n_items) < negative] *= -1
            z = np.outer(generator.normal(size=n), slopes) + generator.normal(size=n_items)
            values = (generator.random(z.shape) < 1 / (1 + np.exp(-z))).astype(np.int8)
            result = irtkit.fit(values, standard_errors=False)
            found += any(one.code == "ability-not-accuracy" for one in result.findings)
    return found


def wrong_keys(share: float, correlation: float, rounds: int) -> dict[str, float]:
    """Average precision of p_negative, and false discoveries of what is called."""
    matrix = [[1.0, correlation], [correlation, 1.0]]
    precision: dict[str, list[float]] = {"one": [], "two": [], "task": []}
    called = np.zeros(2)
    for seed in range(rounds):
        generator = np.random.default_rng(seed)
        theta = generator.multivariate_normal([0, 0], matrix, 100)
        task = (np.arange(200) >= share * 200).astype(int)
        planted = np.isin(np.arange(200), generator.choice(200, 10, replace=False))
        slopes = generator.lognormal(0, 0.3, 200) * np.where(planted, -1, 1)
        values = drawn(generator, theta, slopes, task).astype(np.int8)
        responses = irtkit.ResponseMatrix(values)
        by_task = dict(zip(responses.items, task.tolist(), strict=True))
        for name, abilities in {"one": 1, "two": 2, "task": by_task}.items():
            result = irtkit.fit(responses, abilities=abilities, standard_errors=False)
            p = result.items["p_negative"].to_numpy()
            found = planted[np.argsort(-p, kind="stable")]
            ranks = np.arange(1, 201)
            precision[name].append(float((np.cumsum(found) / ranks)[found].mean()))
            if name != "one":
                of_these = called_negative(p)
                called += [(of_these & ~planted).sum(), of_these.sum()]
    means = {name: float(np.mean(values)) for name, values in precision.items()}
    return {**means, "false_discoveries": float(called[0] / max(called[1], 1)), "called": called[1]}


def held_out(folder: Path) -> dict[str, dict[int, float]]:
    """Log loss of hidden cells by board and number of abilities."""
    found: dict[str, Any] = {}
    for name in part(BOARDS, 1):
        if not (folder / f"{name}.csv.gz").exists():
            continue
        y = pd.read_csv(folder / f"{name}.csv.gz", index_col=0).to_numpy(np.float32)
        hidden = np.random.default_rng(0).random(y.shape) < 0.1
        cells = Cells(y, np.where(hidden, 0, 1).astype(np.float32))
        found[name] = {}
        for k in (1, 2, 3):
            fit = fit_design(cells, design("exploratory", k, y.shape[1]))
            p = probabilities(fit.respondents, fit.known_items)[hidden]
            found[name][k] = float(-np.log(np.where(y[hidden] > 0, p, 1 - p)).mean())
    return found


def seconds(n: int, n_items: int, structure: str, k: int) -> float:
    """Seconds of `irtkit.fit` without standard errors."""
    generator, task = np.random.default_rng(0), np.arange(n_items) % k
    matrix = np.full((k, k), 0.6) + 0.4 * np.eye(k)
    theta = generator.multivariate_normal(np.zeros(k), matrix, n)
    y = drawn(generator, theta, generator.lognormal(0, 0.3, n_items), task)
    responses = irtkit.ResponseMatrix(y.astype(np.int8))
    tasks = {item: int(j) for item, j in zip(responses.items, task, strict=True)}
    begun = time.perf_counter()
    irtkit.fit(responses, abilities=tasks if structure == "task" else k, standard_errors=False)
    return time.perf_counter() - begun


def main() -> None:
    """Print the figures; store them where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--rounds", type=int, default=20, help="Data sets of each kind")
    parser.add_argument("--recovery-rounds", type=int, default=60, help="Data sets per correlation")
    parser.add_argument("--auto-rounds", type=int, default=3, help="Data sets of each kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    found: dict[str, Any] = {"seconds": {}, "one-dimensional": {}, "recovery": {}, "wrong keys": {}}
    found["held out"] = held_out(options.data)
    print("held out", found["held out"], flush=True)
    for shape in part(SHAPES, 0):
        found["seconds"][" ".join(map(str, shape))] = taken = seconds(*shape)
        print("seconds", *shape, round(taken, 2), flush=True)
    for correlation in part((0.3, 0.6, 0.9)):
        found["recovery"][correlation] = figures = recovery(correlation, options.recovery_rounds)
        print("recovery", correlation, figures, flush=True)
    for n, n_items in part(((90, 24), (90, 120), (1000, 24), (1000, 120)), 0):
        found["recovery"][f"{n} × {n_items}"] = figures = recovery(0.6, options.rounds, n, n_items)
        print("recovery", n, n_items, figures, flush=True)
    found["coverage"] = {}
    for size in part(((30, 3, 25), (60, 3, 25), (150, 3, 30)), 0):
        share = coverage(*size, 10 * options.rounds)
        found["coverage"][" × ".join(map(str, size))] = share
        print("coverage", *size, share, flush=True)
    for share, correlation in part(((0.5, 0.0), (0.5, 0.5), (0.7, 0.0), (0.7, 0.5)), 0):
        figures = wrong_keys(share, correlation, options.rounds)
        found["wrong keys"][f"{share}, r {correlation}"] = figures
        print("wrong keys", share, correlation, figures, flush=True)
    for kind in part(KINDS, 0):
        for n, n_items in part(SIZES, 0):
            several = [one_dimensional(kind, n, n_items, s) > 1 for s in range(options.auto_rounds)]
            found["one-dimensional"][f"{kind}, {n} × {n_items}"] = sum(several)
            print("one-dimensional", kind, n, n_items, sum(several), flush=True)
    if whole():
        found["ability not accuracy"] = apart(25)
        print("ability not accuracy", found["ability not accuracy"], flush=True)
    rounds = {name: value for name, value in vars(options).items() if name.endswith("rounds")}
    store(options, **rounds, **found)


if __name__ == "__main__":
    main()
