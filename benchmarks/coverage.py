"""Whether 95 % intervals of item parameters hold the truth 95 % of the time.

An interval is the estimate ± 1.96 standard errors; coverage is the share of items whose interval
holds the value that the data were drawn from, averaged over data sets, with its standard error from
their spread. Slopes are lognormal with an SD of 0.3 on the log scale (one for all items under the
1PL), a share of them negative; difficulties are standard normal and guessing uniform on [0.1, 0.3].
Items and abilities, N(0, 1), are drawn anew for every data set. Items whose status is not "ok" are
left out and counted.

True parameters are on the scale of the population, whose abilities are N(0, 1), and so are
irtkit's: plain coverage is what intervals promise. The scale of the sample, on which its true
abilities have mean 0 and SD 1, differs by the luck of the draw: with few respondents that is much
of an interval's width, so that there the same intervals hold the truth more often. Both are
printed. SD of z is that of (estimate − truth) / standard error, 1 where standard errors are right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from machine import arguments, part, store
from shapes import Shape

import irtkit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Study(NamedTuple):
    """A shape fitted many times, and the limits that coverage is held to, if any."""

    shape: Shape
    prior: Literal["weak"] | None
    n_data_sets: int
    limits: tuple[float, float] | None = None


STUDIES = (
    Study(Shape(1_000, 20), None, 200, (0.93, 0.97)),
    Study(Shape(200, 1_000, "2PL", 0.07), "weak", 20, (0.90, 0.98)),
    Study(Shape(500, 30, "3PL"), "weak", 30),
    Study(Shape(1_000, 20, "1PL"), None, 1_000),  # one slope a data set
    Study(Shape(100, 60), "weak", 50),
)
PARAMETERS = ("discrimination", "intercept")
HEADER = (
    *("data", "prior", "data sets", "interval of", "coverage", "± SE", "on the sample's scale"),
    *("SD of z", "items left out", "held to"),
)


class Drawn(NamedTuple):
    """A simulated data set."""

    items: irtkit.ItemParameters
    abilities: Array
    responses: irtkit.ResponseMatrix


def draw(shape: Shape, seed: int) -> Drawn:
    """Items, abilities and responses, all drawn anew from a seed."""
    generator = np.random.default_rng([seed, shape.n_respondents, shape.n_items])
    common = shape.model == "1PL"
    slope = np.resize(generator.lognormal(0, 0.3, 1 if common else shape.n_items), shape.n_items)
    slope[generator.random(shape.n_items) < shape.negative] *= -1
    guessing = generator.uniform(0.1, 0.3, shape.n_items) if shape.model == "3PL" else 0.0
    difficulty = generator.normal(size=shape.n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty, guessing)
    abilities = generator.normal(size=shape.n_respondents)
    return Drawn(items, abilities, irtkit.simulate_responses(items, abilities, seed=generator))


def one_fit(study: Study, seed: int) -> dict[str, Any]:
    """Coverage of the intervals from one data set, and what was left out."""
    items, abilities, responses = draw(study.shape, seed)
    result = irtkit.fit(responses, study.shape.model, prior=study.prior, progress=False)
    table = result.items[result.items["status"] == "ok"]
    kept = np.array(result.status) == "ok"
    slope, intercept = items.discrimination[kept], items.intercept[kept]
    mean, sd = abilities.mean(), abilities.std()
    truths = {"discrimination": slope, "intercept": intercept}
    of_sample = {"discrimination": slope * sd, "intercept": intercept + slope * mean}
    figures: dict[str, Any] = {"left_out": int((~kept).sum()), "converged": result.converged}
    for name in PARAMETERS:
        estimate, error = table[name].to_numpy(), table[f"{name}_se"].to_numpy()
        z = (estimate - truths[name]) / error
        figures[name] = {
            "coverage": _within(z),
            "coverage_on_sample_scale": _within((estimate - of_sample[name]) / error),
            "mean_square_z": float(np.nanmean(z**2)),
            "without_interval": int((~np.isfinite(error)).sum()),
        }
    return figures


def _within(z: Array) -> float:
    """Share of intervals that hold the truth; one that does not exist holds nothing."""
    return float((np.abs(z) <= 1.96).mean())


def measure(study: Study) -> dict[str, Any]:
    """Averages over the data sets of a study."""
    fits = [one_fit(study, seed) for seed in range(study.n_data_sets)]
    record: dict[str, Any] = {
        "shape": study.shape._asdict(),
        "prior": study.prior,
        "data_sets": study.n_data_sets,
        "limits": study.limits,
        "not_converged": sum(not fit["converged"] for fit in fits),
        "items_left_out": sum(fit["left_out"] for fit in fits),
    }
    for name in PARAMETERS:
        by_fit = {key: np.array([fit[name][key] for fit in fits]) for key in fits[0][name]}
        coverage = by_fit["coverage"]
        spread = float(coverage.std(ddof=1)) if len(coverage) > 1 else float("nan")
        record[name] = {
            "coverage": float(coverage.mean()),
            "standard_error": spread / len(coverage) ** 0.5,
            "spread_of_data_sets": spread,
            "lowest_data_set": float(coverage.min()),
            "coverage_on_sample_scale": float(by_fit["coverage_on_sample_scale"].mean()),
            "sd_of_z": float(by_fit["mean_square_z"].mean() ** 0.5),
            "without_interval": int(by_fit["without_interval"].sum()),
        }
    return record


def rows(study: Study, record: dict[str, Any]) -> list[str]:
    """Rows of the table, one per parameter."""
    held_to, prior = "—", study.prior or "none"
    n_items = study.n_data_sets * study.shape.n_items
    if study.limits:
        held_to = f"{study.limits[0]:.0%}–{study.limits[1]:.0%}".replace("%–", "–")
    found = []
    for name in PARAMETERS:
        of = record[name]
        missed = study.limits and not study.limits[0] <= of["coverage"] <= study.limits[1]
        found.append(
            f"| {study.shape} | {prior} | {study.n_data_sets} | {name} | {of['coverage']:.1%} "
            f"| {of['standard_error']:.1%} | {of['coverage_on_sample_scale']:.1%} "
            f"| {of['sd_of_z']:.2f} | {record['items_left_out']} of {n_items:,} "
            f"| {held_to}{' (missed)' if missed else ''} |"
        )
    return found


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, help="data sets of every study")
    options = parser.parse_args()
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for planned in part(STUDIES, 2, 4):
        study = planned._replace(n_data_sets=options.data_sets or planned.n_data_sets)
        records.append(measure(study))
        print("\n".join(rows(study, records[-1])), flush=True)
    unsound = {
        "fits that did not converge": sum(record["not_converged"] for record in records),
        "items without a standard error": sum(
            record[name]["without_interval"] for record in records for name in PARAMETERS
        ),
    }
    print("\n" + "; ".join(f"{what}: {count}" for what, count in unsound.items()))
    store(options, studies=records)


if __name__ == "__main__":
    main()
