"""Whether the posterior of ``method="vi"`` says what it should, and at what cost.

**speed**: CPU time (user and system, all threads) of a fit beside the plain peer of
``mean_field.py``, under the same prior. Each has a process of its own. The first fit, of other data
of the same shape, gives the cold time, which begins with the process; then they take turns. The
ELBOs belong to one joint density, constants included. **py-irt**: the same beside py-irt at its
default settings. It compiles nothing, so that its only fit counts; its prior is another (b and
log a both N(0, 0.1²)), so that its ELBO would not compare. It brings PyTorch, and therefore lives
in an environment of its own::

    python -m venv pyirt && pyirt/bin/pip install py-irt
    python benchmarks/variational.py py-irt --peer-python pyirt/bin/python

**calibration**: the share of 90 % intervals that hold the truth, averaged over data sets drawn as
in ``coverage.py``. Tables of a result have items on the scale of the population, on which abilities
are N(0, 1), and abilities on that of the sample, on which these have mean 0 and SD 1; so have the
truths. "± 1.645 SD" and "quantiles" (``posterior.item_intervals``) are two ways to an interval.
"Other scale" sets the first against the truth on the scale that it does not speak of; "sample's
draws" are quantiles of draws with ``scale="sample"``, against the truth there. All items count,
also those without variance.

**recovery**: posterior means beside the estimates of ``method="em"``, both with the weak prior.
With 200 respondents or more every negative slope has to be found.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import coverage
import mean_field
import numpy as np
from accuracy import Items, recovery
from machine import arguments, part, store
from simulated import SHAPES, Shape, draw, parse
from worker import Worker

import irtkit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Record = dict[str, Any]

OURS, PEER, OTHER = "irtkit, vi", "mean field", "py-irt"
SPEED_SHAPE = Shape(500, 5_000)
ROUNDS = 3
SECONDS = 3_600.0  # most for one fit
TIMES_LESS = {PEER: 3.0, OTHER: 20.0}
SAME_PRIOR = "irtkit, mean field's prior"
WAYS = {"irtkit": "weak", "irtkit, empirical": "empirical", SAME_PRIOR: mean_field.PRIOR}
HELD = ("discrimination", "intercept", "ability")
LIMITS = (0.87, 0.93)  # of the share of 90 % intervals that hold the truth
PROBABILITY, HALF_WIDTH = 0.9, 1.645
RMSE_RATIO, RANK_LOSS, ENOUGH_TO_FIND_ALL = 1.1, 0.003, 200
RECOVERY_SEEDS = 3


class Study(NamedTuple):
    """A shape fitted many times, in several ways."""

    shape: Shape
    n_data_sets: int
    ways: tuple[str, ...] = ("irtkit",)
    held: bool = False
    """Whether the intervals of the default prior are held to the limits."""


STUDIES = (
    Study(Shape(500, 50), 40, ("irtkit", SAME_PRIOR, PEER), held=True),
    Study(Shape(100, 1_000), 20, ("irtkit", SAME_PRIOR, PEER), held=True),
    Study(Shape(12, 2_000), 10, ("irtkit", "irtkit, empirical")),
    Study(Shape(100, 20), 100),
    Study(Shape(500, 30, "3PL"), 40),
    Study(Shape(100, 60, "1PL"), 200),  # one slope a data set
)


class Intervals(NamedTuple):
    """What a fit says of all parameters of a kind, on the scale of the result's tables."""

    mean: Array
    sd: Array
    low: Array
    high: Array
    sample_low: Array
    """Quantiles of draws on the scale of the sample."""
    sample_high: Array


def speed(options: argparse.Namespace) -> list[Record]:
    """CPU time beside the plain mean field."""
    return beside(PEER, sys.executable, options.shape or SPEED_SHAPE)


def py_irt(options: argparse.Namespace) -> list[Record]:
    """CPU time beside py-irt."""
    return beside(OTHER, options.peer_python or sys.executable, options.shape or SPEED_SHAPE)


def beside(peer: str, python: str, shape: Shape) -> list[Record]:
    """Print and return CPU seconds, ELBO and recovery of irtkit and of a peer that takes turns."""
    truth, values = draw(shape, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        data, other = Path(folder, "data.npy"), Path(folder, "other.npy")
        np.save(data, values)
        np.save(other, draw(shape, seed=1)[1])
        pythons = {OURS: sys.executable, peer: python}
        workers = {name: Worker(name, shape.model, python=pythons[name]) for name in pythons}
        try:
            first = {n: answer(worker, other) for n, worker in workers.items() if n != OTHER}
            turns = [
                {name: answer(worker, data) for name, worker in workers.items()}
                for _ in range(1 if peer == OTHER else ROUNDS)
            ]
        finally:
            for worker in workers.values():
                worker.close()
    first = turns[0] | first
    records = [
        {
            "shape": shape._asdict(),
            "package": name,
            "version": workers[name].version,
            "cpu_seconds": [turn[name]["cpu_seconds"] for turn in turns],
            "cold_cpu_seconds": first[name]["process_cpu_seconds"],
            "elbo": turns[-1][name].get("elbo"),
            **recovery(turns[-1][name]["items"], items_of(truth)),
        }
        for name in workers
    ]
    print(speed_table(shape, *records))
    return records


def answer(worker: Worker, responses: Path) -> Record:
    """What a worker says of one fit, with the items that it found."""
    found = responses.with_suffix(".npz")
    said = worker.fit(responses, found, limit=SECONDS)
    if worker.problem is not None:
        raise RuntimeError(worker.problem)
    with np.load(found) as stored:
        return said | {"items": Items(*(stored[name].astype(float) for name in Items._fields))}


def speed_table(shape: Shape, ours: Record, peer: Record) -> str:
    """The two as a table; ratios of CPU times are those of the rounds."""
    warm = [b / a for a, b in zip(ours["cpu_seconds"], peer["cpu_seconds"], strict=True)]
    cold = peer["cold_cpu_seconds"] / ours["cold_cpu_seconds"]
    wanted = TIMES_LESS[peer["package"]]
    gain = None if peer["elbo"] is None else ours["elbo"] - peer["elbo"]
    missed = median(warm) < wanted or (gain is not None and gain < 0)
    lines = [header("data", "package", "CPU s", "cold CPU s", "ELBO", "RMSE a", "ρ(b)")]
    lines += [
        f"| {shape} | {of['package']} | {median(of['cpu_seconds']):.3g} "
        f"| {of['cold_cpu_seconds']:.3g} | {'' if of['elbo'] is None else round(of['elbo'], 1)} "
        f"| {of['rmse_discrimination']:.3f} | {of['spearman_difficulty']:.4f} |"
        for of in (ours, peer)
    ]
    return "\n".join(lines) + (
        f"\n\n{peer['package']} takes {median(warm):.1f} times the CPU time of irtkit "
        f"({min(warm):.1f} to {max(warm):.1f}), cold {cold:.1f} times; held to {wanted:.0f}"
        + ("" if gain is None else f"; irtkit's ELBO is higher by {gain:.1f}")
        + (" (missed)" if missed else "")
    )


def calibration(options: argparse.Namespace) -> list[Record]:
    """Print and return coverage of 90 % intervals, study by study."""
    names = ("parameter", "± 1.645 SD", "± SE", "quantiles", "other scale", "sample's draws")
    print(header("data", "fit", "data sets", *names, "SD of z", "held to"))
    records = []
    for planned in part(STUDIES, 3):
        study = planned._replace(n_data_sets=options.data_sets or planned.n_data_sets)
        for record in coverage_of(study):
            print(coverage_row(study, record), flush=True)
            records.append(record)
    return records


def coverage_of(study: Study) -> list[Record]:
    """Coverage in all data sets of a study: a record per way to fit and kind of parameter."""
    shares: dict[tuple[str, str], list[Record]] = {}
    for seed in range(study.n_data_sets):
        data = coverage.draw(study.shape, seed)
        for way in study.ways:
            said = plain(data) if way == PEER else posterior(data, study.shape.model, WAYS[way])
            for name, (truth, elsewhere, of_sample) in truths(data).items():
                found = shares_held(said[name], truth, elsewhere, of_sample)
                shares.setdefault((way, name), []).append(found)
    records = []
    for (way, name), sets in shares.items():
        by_set = {key: np.array([one[key] for one in sets]) for key in sets[0]}
        spread = float(by_set["coverage"].std(ddof=1)) if len(sets) > 1 else float("nan")
        figures = {key: float(values.mean()) for key, values in by_set.items()}
        records.append(
            {
                "shape": study.shape._asdict(),
                "data_sets": study.n_data_sets,
                "fit": way,
                "parameter": name,
                "standard_error": spread / len(sets) ** 0.5,
                **figures,
                "sd_of_z": figures["mean_square_z"] ** 0.5,
            }
        )
    return records


def truths(data: coverage.Drawn) -> dict[str, tuple[Array, Array, Array]]:
    """True values on the scale of the result's tables, on the other one, and on the sample's."""
    items, centre, spread = data.items, data.abilities.mean(), data.abilities.std()
    slope, intercept = items.discrimination, items.intercept
    ability = (data.abilities - centre) / spread
    found = {
        "discrimination": (slope, slope * spread, slope * spread),
        "intercept": (intercept, intercept + slope * centre, intercept + slope * centre),
        "ability": (ability, data.abilities, ability),
    }
    return found | ({"guessing": (items.guessing,) * 3} if items.guessing.any() else {})


def posterior(data: coverage.Drawn, model: Any, prior: Any) -> dict[str, Intervals]:
    """What irtkit says."""
    result = irtkit.fit(data.responses, model, method="vi", prior=prior, progress=False)
    if not result.converged:
        raise RuntimeError(f"a fit of {len(data.abilities)} respondents did not converge")
    said = result.posterior
    if said is None:
        raise RuntimeError("a variational fit has a posterior")
    ends = dict(said.item_intervals(PROBABILITY).to_dict("series"))
    for side, end in ((-1, "ability_low"), (1, "ability_high")):  # abilities are normal
        table = result.respondents
        ends[end] = table["ability"] + side * HALF_WIDTH * table["ability_se"]
    draws = said.draws(1_000, scale="sample")
    found = {}
    for name in truths(data):
        table = result.respondents if name == "ability" else result.items
        parts = (table[name], table[f"{name}_se"], ends[f"{name}_low"], ends[f"{name}_high"])
        found[name] = Intervals(*(np.asarray(part) for part in parts), *tails(draws[name]))
    return found


def plain(data: coverage.Drawn) -> dict[str, Intervals]:
    """What the plain mean field says, from draws where the scale is that of the sample."""
    found = mean_field.fit(data.responses.values)
    generator = np.random.default_rng(0)
    ability, slope, intercept = (
        mean + sd * generator.normal(size=(1_000, len(mean)))
        for mean, sd in zip(found.mean, found.sd, strict=True)
    )
    centre, spread = (of(ability, axis=1, keepdims=True) for of in (np.mean, np.std))
    ability = (ability - centre) / spread
    said = {
        "discrimination": (found.mean.slope, found.sd.slope, slope * spread),
        "intercept": (found.mean.intercept, found.sd.intercept, intercept + slope * centre),
        "ability": (ability.mean(axis=0), ability.std(axis=0), ability),
    }
    return {
        name: Intervals(mean, sd, mean - HALF_WIDTH * sd, mean + HALF_WIDTH * sd, *tails(draws))
        for name, (mean, sd, draws) in said.items()
    }


def tails(draws: Array) -> Array:
    """Lower and upper ends of the central intervals of draws, (2, n)."""
    return np.quantile(draws, [(1 - PROBABILITY) / 2, (1 + PROBABILITY) / 2], axis=0)


def shares_held(
    said: Intervals, truth: Array, elsewhere: Array, of_sample: Array
) -> dict[str, float]:
    """Shares of intervals that hold the truth."""
    drawn = (said.sample_low <= of_sample) & (of_sample <= said.sample_high)
    return {
        "coverage": float(np.mean(np.abs(truth - said.mean) <= HALF_WIDTH * said.sd)),
        "quantiles": float(np.mean((said.low <= truth) & (truth <= said.high))),
        "other_scale": float(np.mean(np.abs(elsewhere - said.mean) <= HALF_WIDTH * said.sd)),
        "sample_draws": float(np.mean(drawn)),
        "mean_square_z": float(np.mean(((truth - said.mean) / said.sd) ** 2)),
    }


def coverage_row(study: Study, record: Record) -> str:
    """One row of the table."""
    held_to = "—"
    if study.held and record["fit"] == "irtkit" and record["parameter"] in HELD:
        held_to = f"{LIMITS[0]:.0%}–{LIMITS[1]:.0%}".replace("%–", "–")
        held_to += "" if LIMITS[0] <= record["coverage"] <= LIMITS[1] else " (missed)"
    shares = ("coverage", "standard_error", "quantiles", "other_scale", "sample_draws")
    cells = " | ".join(f"{record[x]:.1%}" for x in shares)
    return (
        f"| {study.shape} | {record['fit']} | {record['data_sets']} | {record['parameter']} "
        f"| {cells} | {record['sd_of_z']:.2f} | {held_to} |"
    )


def recovered(options: argparse.Namespace) -> list[Record]:
    """Print and return how near posterior means and EM's estimates come to the truth."""
    print(header("data", "seed", "RMSE a: em", "vi", "ratio", "ρ(b): em", "vi", "negative found"))
    records = []
    for shape in [options.shape] if options.shape else part(SHAPES[:3], 0):
        for seed in range(options.data_sets or RECOVERY_SEEDS):
            truth, values = draw(shape, seed)
            figures = {
                method: recovery(fitted(values, method), items_of(truth)) for method in ("em", "vi")
            }
            records.append({"shape": shape._asdict(), "seed": seed, **figures})
            print(recovery_row(shape, records[-1]), flush=True)
    return records


def fitted(values: NDArray[np.int8], method: Any) -> Items:
    """Items of a fit with the default prior."""
    table = irtkit.fit(irtkit.ResponseMatrix(values), method=method, progress=False).items
    return Items(*(table[name].to_numpy() for name in Items._fields))


def recovery_row(shape: Shape, record: Record) -> str:
    """One row of the table."""
    em, vi = record["em"], record["vi"]
    ratio = vi["rmse_discrimination"] / em["rmse_discrimination"]
    ranks = em["spearman_difficulty"], vi["spearman_difficulty"]
    found = [f"{of['negative_found']}, {of['negative_false']} false" for of in (em, vi)]
    unseen = shape.n_respondents >= ENOUGH_TO_FIND_ALL and vi["negative_found"] < vi["negative"]
    return (
        f"| {shape} | {record['seed']} | {em['rmse_discrimination']:.4f} "
        f"| {vi['rmse_discrimination']:.4f} | {ratio:.3f}{' (missed)' * (ratio > RMSE_RATIO)} "
        f"| {ranks[0]:.4f} | {ranks[1]:.4f}{' (missed)' * (ranks[1] < ranks[0] - RANK_LOSS)} "
        f"| of {em['negative']}: em {found[0]}; vi {found[1]}"
        f"{' (missed)' * unseen} |"
    )


def items_of(truth: irtkit.ItemParameters) -> Items:
    """True parameters in the form that the yardstick takes."""
    return Items(truth.discrimination, truth.intercept, truth.guessing)


def header(*names: str) -> str:
    """Return the first two lines of a table."""
    return f"| {' | '.join(names)} |\n" + "|---" * len(names) + "|"


SECTIONS: dict[str, Callable[[argparse.Namespace], list[Record]]] = {
    "speed": speed,
    "calibration": calibration,
    "recovery": recovered,
    "py-irt": py_irt,
}


def main() -> None:
    """Print the tables; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--peer-python", help="the Python that has py-irt")
    parser.add_argument("--shape", type=parse, help="instead of the shapes of speed and recovery")
    parser.add_argument("--data-sets", type=int, help="data sets of every study")
    options = parser.parse_args()
    found: dict[str, list[Record]] = {}
    sections = part([name for name in SECTIONS if name != OTHER], 1, 2)
    for name in options.sections or sections:
        print(f"{name}\n")
        found[name] = SECTIONS[name](options)
    store(options, **found)


if __name__ == "__main__":
    main()
