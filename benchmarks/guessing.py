"""Whether the 3PL posterior of ``method="vi"`` is that of an exact sampler, and holds the truth.

The posterior of slope, intercept and guessing is a bent ridge, which no normal distribution is.

**sampler**: means and SDs beside those of Hamiltonian Monte Carlo under the same weak prior, on one
data set of each shape. Likelihood and prior are those that ``standard_errors.py`` writes down anew,
on 65 nodes from −8 to 8; the chain moves slopes (asinh a/τ), intercepts, logits of guessing, m and
log τ, starts from the variational means, and takes the guide's covariance for its masses. Printed
by parameter: the mean ratio of SDs, its mean square deviation from 1, the share of items whose SDs
are within 10 %, and the mean and the root mean square of the difference of means, in SDs. How many
independent draws a chain is worth (the median over parameters), from means of 30 parts of it, tells
how far it may be off itself: an SD by one over the root of twice that number.

**coverage**: the share of 90 % intervals that hold the truth, ± 1.645 SD and quantiles
(``posterior.item_intervals``). "From the prior": log a ~ N(0, 0.4²), d ~ N(0, 1.5²), c ~ Beta(5,
17), fitted under just that, so that the exact posterior holds 90 %, neither more nor less. "Narrow
slopes": log a ~ N(0, 0.3²), d = −ab with b ~ N(0, 1), c ~ Beta(5, 17) under the weak prior, whose
slopes are wider. There, with up to 500 respondents, the sampler's intervals are printed too.
In both, chance is given as 0.2. In "chance learned" data are those of "narrow slopes", and the fit
learns the chance level. ``--learned`` measures that alone and keeps the other stored figures.

**chance**: the same of slopes and difficulties by EM, at 95 %, where all items have one guessing c
or c ~ Beta(5, 17) ("spread"). Fits learn the chance level or are given 0.2. Slopes and difficulties
are those of "narrow slopes".
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from machine import arguments, part, store
from standard_errors import log_weak, objective

import irtkit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Record = dict[str, Any]

SHAPES = ((100, 20), (500, 30), (1_000, 40), (4_000, 40))
SAMPLED = 3_000
SAMPLED_FOR_COVERAGE = 400
MOST_RESPONDENTS = 500
"""Of data sets whose coverage by the sampler is measured too."""
DATA_SETS = 25
N_NODES = 65
"""0.25 apart: posteriors of ability have SDs of 0.3 and more."""
LEAPS, FIRST_LEAP, BURN_IN, ACCEPTED = 8, 0.35, 150, 0.8
PROBABILITY, HALF_WIDTH = 0.9, 1.645
LIMITS, HELD_FROM = (0.87, 0.93), 500
"""Limits of coverage, and of respondents from which they hold."""
OWN_PRIOR = irtkit.ItemPrior(
    irtkit.Normal(1.0, 0.4), irtkit.Normal(0.0, 1.5), irtkit.Beta(5.0, 17.0)
)
PARAMETERS = ("discrimination", "intercept", "guessing")
Kind = Literal["from the prior", "narrow slopes", "chance learned"]
FIVE_CHOICES = irtkit.WeakPrior(chance=0.2)
PRIORS: dict[Kind, Any] = {"from the prior": OWN_PRIOR, "narrow slopes": FIVE_CHOICES}
LEARNED_SHAPES = ((300, 40), (500, 60), (1_000, 40))
LEARNED_SETS, LEARNED_LIMITS = 40, (0.865, 0.94)
CHANCE_SHAPES = ((300, 20), (1_000, 30))
GUESSED: tuple[float | None, ...] = (0.0, 0.1, 0.25, None)
"""Guessing of all items; None: spread."""


class Drawn(NamedTuple):
    """A simulated data set."""

    items: irtkit.ItemParameters
    responses: irtkit.ResponseMatrix


class Said(NamedTuple):
    """What a posterior says of one parameter of every item."""

    mean: Array
    sd: Array
    low: Array
    high: Array


def draw(n: int, n_items: int, kind: Kind, seed: int, guessed: float | None = None) -> Drawn:
    """Items, abilities and responses, all drawn anew from a seed; guessing may be one number."""
    generator = np.random.default_rng([seed, n, n_items])
    if kind == "from the prior":
        slope = generator.lognormal(0.0, 0.4, n_items)
        intercept = generator.normal(0.0, 1.5, n_items)
    else:
        slope = generator.lognormal(0.0, 0.3, n_items)
        intercept = -slope * generator.normal(size=n_items)
    guessing = generator.beta(5, 17, n_items)
    guessing = guessing if guessed is None else np.full(n_items, guessed)
    items = irtkit.ItemParameters(slope, intercept, guessing)
    return Drawn(items, irtkit.simulate_responses(items, generator.normal(size=n), seed=generator))


def variational(responses: irtkit.ResponseMatrix, prior: Any = FIVE_CHOICES) -> irtkit.FitResult:
    """The fit."""
    return irtkit.fit(responses, "3PL", method="vi", prior=prior, progress=False)


def said_by_fit(result: irtkit.FitResult) -> dict[str, Said]:
    """Means and SDs of the table, and intervals."""
    posterior, table = result.posterior, result.items
    if posterior is None:
        raise TypeError("a variational fit has a posterior")
    ends = posterior.item_intervals(PROBABILITY)
    columns = ("{}", "{}_se"), ("{}_low", "{}_high")
    return {
        name: Said(
            *(table[column.format(name)].to_numpy() for column in columns[0]),
            *(ends[column.format(name)].to_numpy() for column in columns[1]),
        )
        for name in PARAMETERS
    }


class Chain(NamedTuple):
    """What Hamiltonian Monte Carlo came by, under the weak prior."""

    drawn: dict[str, Array]
    """Of every parameter, (n, n_items)."""
    accepted: float
    seconds: float

    def said(self) -> dict[str, Said]:
        """Means, SDs and central intervals."""
        ends = [(1 - PROBABILITY) / 2, (1 + PROBABILITY) / 2]
        return {
            name: Said(part.mean(axis=0), part.std(axis=0), *np.quantile(part, ends, axis=0))
            for name, part in self.drawn.items()
        }

    def independent(self) -> Array:
        """Independent draws that the chain is worth for the mean of each parameter."""
        values = np.concatenate(list(self.drawn.values()), axis=1)
        size = len(values) // 30
        parts = values[: 30 * size].reshape(30, size, -1).mean(axis=1)
        return np.asarray(values.var(axis=0) / parts.var(axis=0, ddof=1) * 30)


def sampled(responses: irtkit.ResponseMatrix, result: irtkit.FitResult, n: int) -> Chain:
    """Hamiltonian Monte Carlo from a variational fit (Neal 2011)."""
    began, n_items = time.perf_counter(), len(responses.items)
    right = np.asarray(responses.values == 1, dtype=np.float64)
    mean, root = guide_of(result)

    def log_density(x: Any) -> Any:
        u, intercept, logit = x[:-2].reshape(n_items, 3).T
        parts = (jnp.exp(x[-1]) * jnp.sinh(u), intercept, logit, x[-2:])
        sizes = (n_items, n_items, n_items, 2)
        of_items = objective(
            jnp.concatenate(parts), right, sizes, lambda *at: log_weak(*at, common=False), N_NODES
        )
        # the prior's density is one of c
        return of_items + (jax.nn.log_sigmoid(logit) + jax.nn.log_sigmoid(-logit)).sum()

    with jax.enable_x64(new_val=True):
        whitened = jax.jit(jax.value_and_grad(lambda z: log_density(mean + root @ z)))

        def at(z: Array) -> tuple[float, Array]:
            value, gradient = whitened(z)
            return float(value), np.asarray(gradient)

        z, accepted = hamiltonian(at, len(mean), n)
    x = mean + z @ root.T
    own = x[:, :-2].reshape(n, n_items, 3)
    slope = np.exp(x[:, -1:]) * np.sinh(own[:, :, 0])
    values = slope, own[:, :, 1], 1 / (1 + np.exp(-own[:, :, 2]))
    seconds = time.perf_counter() - began
    return Chain(dict(zip(PARAMETERS, values, strict=True)), accepted, seconds)


def hamiltonian(at: Any, size: int, n: int) -> tuple[Array, float]:
    """Draws (n, size), and the share accepted; the leap is tuned in burn-in, which is left out."""
    generator = np.random.default_rng(0)
    x, leap = np.zeros(size), FIRST_LEAP
    value, gradient = at(x)
    found, accepted = np.empty((n, size)), np.empty(BURN_IN + n)
    for k in range(BURN_IN + n):
        momentum = first = generator.normal(size=size)
        to, value_to, slope_to = x, value, gradient
        h = leap * generator.uniform(0.8, 1.2)
        for _ in range(LEAPS):
            momentum = momentum + 0.5 * h * slope_to
            to = to + h * momentum
            value_to, slope_to = at(to)
            momentum = momentum + 0.5 * h * slope_to
        gain = value_to - value - 0.5 * (momentum @ momentum - first @ first)
        accepted[k] = math.exp(min(gain, 0.0))
        if generator.random() < accepted[k]:
            x, value, gradient = to, value_to, slope_to
        if k < BURN_IN:
            leap *= math.exp(0.1 * (accepted[k] - ACCEPTED))
        else:
            found[k - BURN_IN] = x
    return found, float(accepted[BURN_IN:].mean())


def guide_of(result: irtkit.FitResult) -> tuple[Array, Array]:
    """Mean and Cholesky factor of the guide: items one after the other, then m and log τ."""
    if result.posterior is None:
        raise TypeError("a variational fit has a posterior")
    guide = result.posterior.guide
    n_items, k, r = guide.loading.shape
    moved = np.concatenate([-guide.loading.reshape(n_items * k, r), np.eye(2, r)])
    covariance = moved @ guide.common @ moved.T
    for j, factor in enumerate(guide.factor):
        some = slice(j * k, (j + 1) * k)
        covariance[some, some] += factor @ factor.T
    mean = np.concatenate([guide.own.ravel(), guide.shared])
    return mean, np.linalg.cholesky(covariance + 1e-12 * np.eye(len(mean)))


def beside_sampler(n: int, n_items: int, length: int) -> list[Record]:
    """Means and SDs of one data set, a record per parameter."""
    data = draw(n, n_items, "narrow slopes", 0)
    result = variational(data.responses)
    chain = sampled(data.responses, result, length)
    ours, exact, records = said_by_fit(result), chain.said(), []
    for name in PARAMETERS:
        ratio = ours[name].sd / exact[name].sd
        off = (ours[name].mean - exact[name].mean) / exact[name].sd
        records.append(
            {
                "shape": [n, n_items],
                "parameter": name,
                "sd_ratio": float(ratio.mean()),
                "rms_of_ratios": float(np.mean((ratio - 1) ** 2) ** 0.5),
                "within_a_tenth": float(np.mean(np.abs(ratio - 1) <= 0.1)),
                "mean_off": float(off.mean()),
                "rms_off": float(np.mean(off**2) ** 0.5),
                "draws": length,
                "independent_draws": float(np.median(chain.independent())),
                "least_independent_draws": float(chain.independent().min()),
                "accepted": chain.accepted,
                "seconds": chain.seconds,
            }
        )
    return records


def sampler_row(record: Record) -> str:
    """One row of the table."""
    n, n_items = record["shape"]
    missed = " (missed)" * (n >= HELD_FROM and not 0.9 <= record["sd_ratio"] <= 1.1)
    return (
        f"| {n:,} × {n_items} | {record['parameter']} | {record['sd_ratio']:.3f}{missed} "
        f"| {record['rms_of_ratios']:.3f} | {record['within_a_tenth']:.0%} "
        f"| {record['mean_off']:+.3f} | {record['rms_off']:.3f} "
        f"| {record['independent_draws']:.0f} of {record['draws']} |"
    )


def coverage(n: int, n_items: int, kind: Kind, n_data_sets: int, *, exact: bool) -> list[Record]:
    """Shares of intervals that hold the truth, a record per parameter and way."""
    shares: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(n_data_sets):
        data = draw(n, n_items, kind, seed)
        result = variational(data.responses, PRIORS.get(kind, irtkit.WeakPrior()))
        ways = {"irtkit": said_by_fit(result)}
        if exact:
            ways["sampler"] = sampled(data.responses, result, SAMPLED_FOR_COVERAGE).said()
        for way, said in ways.items():
            for name in PARAMETERS:
                truth, of = getattr(data.items, name), said[name]
                by_sd = np.mean(np.abs(truth - of.mean) <= HALF_WIDTH * of.sd)
                by_quantiles = np.mean((of.low <= truth) & (truth <= of.high))
                shares.setdefault((way, name), []).append((float(by_sd), float(by_quantiles)))
    return [
        {
            "shape": [n, n_items],
            "kind": kind,
            "way": way,
            "parameter": name,
            "data_sets": n_data_sets,
            "coverage": float(np.mean([share[0] for share in found])),
            "quantiles": float(np.mean([share[1] for share in found])),
            "standard_error": float(np.std([share[1] for share in found], ddof=1))
            / math.sqrt(n_data_sets),
        }
        for (way, name), found in shares.items()
    ]


def coverage_row(record: Record) -> str:
    """One row of the table; a posterior is held to the limits on data from its own prior."""
    n, n_items = record["shape"]
    held = record["way"] == "irtkit" and record["kind"] == "from the prior" and n >= HELD_FROM
    low, high = LIMITS
    shares = [record["coverage"], record["quantiles"]]
    if record["kind"] == "chance learned":  # slopes vary less than the prior says: SDs are wide
        held, (low, high), shares = True, LEARNED_LIMITS, shares[1:]
    missed = held and not all(low <= share <= high for share in shares)
    return (
        f"| {n:,} × {n_items} | {record['kind']} | {record['way']} | {record['data_sets']} "
        f"| {record['parameter']} | {record['coverage']:.1%} | {record['quantiles']:.1%} "
        f"| {record['standard_error']:.1%} "
        f"| {f'{low:.3g}–{high:.3g}' if held else '—'}{' (missed)' * missed} |"
    )


def around_chance(n: int, n_items: int, guessed: float | None, n_data_sets: int) -> list[Record]:
    """Coverage and bias by EM where the chance level is learned, and where it is given as 0.2."""
    ways = {"learned": irtkit.WeakPrior(), "0.2": FIVE_CHOICES}
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for seed in range(n_data_sets):
        data = draw(n, n_items, "narrow slopes", seed, guessed)
        for way, prior in ways.items():
            result = irtkit.fit(data.responses, "3PL", prior=prior, progress=False)
            level = result.settings.prior["chance"]
            for name in ("discrimination", "difficulty"):
                off = result.items[name] - getattr(data.items, name)
                held = float((off.abs() <= 1.96 * result.items[f"{name}_se"]).mean())
                found.setdefault((way, name), []).append((held, float(off.median()), level))
    return [
        {
            "shape": [n, n_items],
            "guessing": "spread" if guessed is None else guessed,
            "way": way,
            "parameter": name,
            "data_sets": n_data_sets,
            **dict(zip(("coverage", "median_off", "level"), np.mean(rows, axis=0), strict=True)),
        }
        for (way, name), rows in found.items()
    ]


def chance(n_data_sets: int) -> list[Record]:
    """Measure and print what is said of chance."""
    print("\n| data | guessing | chance | level | parameter | ± 1.96 SE | median off |")
    print("|---" * 7 + "|")
    records = []
    for shape in part(CHANCE_SHAPES, 0):
        for guessed in part(GUESSED, 0):
            for record in around_chance(*shape, guessed, n_data_sets):
                records.append(record)
                print(
                    f"| {shape[0]:,} × {shape[1]} | {record['guessing']} | {record['way']} "
                    f"| {record['level']:.3f} | {record['parameter']} | {record['coverage']:.1%} "
                    f"| {record['median_off']:+.2f} |",
                    flush=True,
                )
    return records


def learned() -> list[Record]:
    """Measure and print coverage where the chance level is learned."""
    records = []
    for shape in part(LEARNED_SHAPES):  # too long for a part
        for record in coverage(*shape, "chance learned", LEARNED_SETS, exact=False):
            records.append(record)
            print(coverage_row(record), flush=True)
    return records


def main() -> None:
    """Print both tables; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, default=DATA_SETS)
    parser.add_argument("--draws", type=int, default=SAMPLED)
    parser.add_argument("--shapes", nargs="*", help="like 500x30, instead of the usual ones")
    options = parser.parse_args()
    shapes: Sequence[tuple[int, int]] = part(SHAPES, 0)
    if options.shapes:
        sizes = (text.split("x") for text in options.shapes)
        shapes = [(int(n), int(n_items)) for n, n_items in sizes]
    print("| data | parameter | SD / exact SD | off | within 10 % | means | rms | draws |")
    print("|---" * 8 + "|")
    beside, held = [], []
    for shape in shapes:
        for record in beside_sampler(*shape, options.draws):
            beside.append(record)
            print(sampler_row(record), flush=True)
    print("\n| data | items | posterior | data sets | parameter | ± 1.645 SD ", end="")
    print("| quantiles | ± SE | held to |\n" + "|---" * 9 + "|")
    for shape in shapes:
        for kind in part(PRIORS, "from the prior"):
            exact = shape[0] <= MOST_RESPONDENTS and kind == "narrow slopes"
            for record in coverage(*shape, kind, options.data_sets, exact=exact):
                held.append(record)
                print(coverage_row(record), flush=True)
    held += learned()
    of_chance = chance(options.data_sets)
    store(options, sampler=beside, coverage=held, chance=of_chance)


if __name__ == "__main__":
    main()
