"""Whether intervals hold the truth 95 % of the time, and known parameters come back.

Slopes are lognormal with an SD of 0.3 on the log scale, difficulties and abilities standard normal,
where nothing else is said; all are drawn anew for every data set. True parameters are on the scale
of the population, whose abilities are N(0, 1), and so are irtkit's.

`coverage`: of item parameters. Coverage is the share of items whose interval, the estimate ± 1.96
standard errors, holds the value that the data were drawn from, with its standard error from the
spread of data sets. Items whose status is not "ok" are left out and counted. The scale of the
sample, on which its true abilities have mean 0 and SD 1, differs by the luck of the draw: there the
same intervals hold the truth more often. SD of z is that of (estimate − truth) / standard error.

`recovery`: correlation and rank correlation with the truth, share of negative slopes found and of
positive ones called negative, scales turned over, median slope and SD of abilities against the
truth.

`ability_intervals`: the figures of each setting are, of abilities, the share that 95 % intervals
hold, of ``ability_se``, of the leaderboard, and of the posterior SD, which takes items as known; of
passages (items in groups of five, each with an ability of its own beside the common one), those of
``with_clustered_errors(clusters=...)``, then those of ``ability_se``; of families (children copy
the answers of a parent and flip each with the probability given), errors of slopes, then of
intercepts, over the true ones, root mean squares over data sets with the same items about a fit to
20,000 such respondents without families, medians over the items: without corrections, those of a
fit, and those by ``with_clustered_errors(families=...)``.

`empirical`: what ``prior="empirical"`` gains over the weak prior, and what there is to gain.
Abilities are made to have mean 0 and SD 1 so that the common scale does not enter. Beside both
priors stands the best that any method can do: the posterior mean of each slope with abilities *and*
the distribution of the items known, by a fine grid. Measured are root mean square errors of slopes,
wrong signs, and how many 95 % intervals under the empirical prior hold the truth.

`reliability`: whether reliability is the squared correlation of fitted abilities with the true
ones. Responses are right or wrong, scores between 0 and 1 (beta with the same means, precision 8),
marks of five levels (GPCM), right or wrong with half of the cells missing, or right or wrong on two
tasks whose abilities correlate by 0.5, fitted as two tasks and as two free abilities. Beside it
stand the marginal and empirical ones of ``irtkit.information``.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from machine import part
from scipy.special import log_expit
from scipy.stats import spearmanr
from simulated import Shape, flipped, two_abilities
from study import means, run, standard_error, study

import irtkit
from irtkit.irf import ItemParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from study import Record, Tables

    Array = NDArray[np.float64]


class Study(NamedTuple):
    """A shape fitted many times."""

    shape: Shape
    prior: Literal["weak"] | None
    n_data_sets: int


STUDIES = (
    Study(Shape(1_000, 20), None, 200),
    Study(Shape(200, 1_000, "2PL", 0.07), "weak", 20),
    Study(Shape(500, 30, "3PL"), "weak", 30),
    Study(Shape(1_000, 20, "1PL"), None, 1_000),  # one slope a data set
    Study(Shape(100, 60), "weak", 50),
)
PARAMETERS = ("discrimination", "intercept")


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


def one_fit(setting: Study, seed: int) -> dict[str, Any]:
    """Coverage of the intervals from one data set, and what was left out."""
    items, abilities, responses = draw(setting.shape, seed)
    result = irtkit.fit(responses, setting.shape.model, prior=setting.prior, progress=False)
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


def measure(setting: Study) -> dict[str, Any]:
    """Averages over the data sets of a setting."""
    fits = [one_fit(setting, seed) for seed in range(setting.n_data_sets)]
    record: dict[str, Any] = {
        "shape": setting.shape._asdict(),
        "prior": setting.prior,
        "data_sets": setting.n_data_sets,
        "not_converged": sum(not fit["converged"] for fit in fits),
        "items_left_out": sum(fit["left_out"] for fit in fits),
    }
    for name in PARAMETERS:
        by_fit = {key: np.array([fit[name][key] for fit in fits]) for key in fits[0][name]}
        shares = by_fit["coverage"]
        record[name] = {
            "coverage": float(shares.mean()),
            "standard_error": standard_error(shares),
            "spread_of_data_sets": standard_error(shares) * len(shares) ** 0.5,
            "lowest_data_set": float(shares.min()),
            "coverage_on_sample_scale": float(by_fit["coverage_on_sample_scale"].mean()),
            "sd_of_z": float(by_fit["mean_square_z"].mean() ** 0.5),
            "without_interval": int(by_fit["without_interval"].sum()),
        }
    return record


def coverage(data_sets: int = 0) -> Tables:
    """Intervals of item parameters."""
    chosen = part(STUDIES, 2, 4)
    planned = [s._replace(n_data_sets=data_sets or s.n_data_sets) for s in chosen]
    return {"studies": map(measure, planned)}


RECOVERED = [  # respondents, items, share of negative slopes, SD of log slopes, data sets
    (2000, 40, 0.0, 0.3, 20),
    (2000, 40, 0.0, 0.5, 20),
    (200, 1000, 0.07, 0.3, 50),
    (100, 2000, 0.05, 0.3, 10),
    (12, 2000, 0.05, 0.3, 10),
]


def recovered(shape: tuple[int, int, float, float, int], seed: int) -> Record:
    """Figures of one simulated data set."""
    n_respondents, n_items, negative, spread, _ = shape
    generator = np.random.default_rng(seed)
    slope = generator.lognormal(0, spread, n_items)
    slope[generator.random(n_items) < negative] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    abilities = generator.normal(size=n_respondents)
    result = irtkit.fit(irtkit.simulate_responses(items, abilities, seed=generator), "2PL")
    found = result.items["discrimination"].to_numpy()
    inverted = slope < 0
    return {
        "r(a)": float(np.corrcoef(found, slope)[0, 1]),
        "rho(b)": float(spearmanr(result.items["difficulty"], items.difficulty).statistic),
        "found": float((found[inverted] < 0).mean()) if inverted.any() else np.nan,
        "false": float((found[~inverted] < 0).mean()),
        "turned": float(np.corrcoef(result.ability, abilities)[0, 1] < 0),
        "median |a|": float(np.median(np.abs(found)) / np.median(np.abs(slope))),
        "SD(θ)": float(result.ability.std()),
    }


def recovery() -> Tables:
    """Known parameters by the default fit."""
    studies = []
    for shape in part(RECOVERED, 4):
        record = means([recovered(shape, seed) for seed in range(shape[-1])])
        record["turned"] *= shape[-1]
        setting = {"shape": shape[:2], "negative": shape[2], "spread": shape[3], "sets": shape[4]}
        studies.append(setting | record)
    return {"studies": studies}


ABILITIES = ((30, 30), (50, 40), (30, 200), (100, 50), (100, 500), (500, 30))
PASSAGES = ((200, 100, 1.0), (500, 100, 1.0), (200, 100, 0.0), (1000, 100, 1.0))
FAMILIES = ((20, 10, 0.1), (20, 10, 0.2), (20, 10, 0.3), (40, 5, 0.2), (60, 3, 0.02), (200, 1, 0.0))
N_ITEMS, MANY = 200, 20_000


def fitted(right: Any) -> irtkit.FitResult:
    """A 2PL fit."""
    return irtkit.fit(irtkit.ResponseMatrix(right.astype(np.int8)))


def answers(
    g: np.random.Generator, theta: Any, items: tuple[Any, Any], sd: float = 0.0, size: int = 5
) -> Any:
    """Right answers of some abilities, with passages of a size whose abilities have an SD."""
    slope, difficulty = items
    passage = np.arange(len(slope)) // size
    own = sd * g.normal(size=(len(theta), passage[-1] + 1))[:, passage]
    logit = slope * (theta[:, None] + own - difficulty)
    return g.random(logit.shape) < 1 / (1 + np.exp(-logit))


def items_of_both(g: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Slopes and difficulties."""
    return g.lognormal(0, 0.3, n), g.normal(size=n)


def held(result: irtkit.FitResult, theta: Any, error: Any) -> float:
    """Share of abilities within 1.96 errors."""
    return float((np.abs(result.ability - theta) < 1.96 * error).mean())


def abilities(shape: tuple[int, int], seed: int) -> list[float]:
    """Shares held in one data set."""
    g = np.random.default_rng([seed, *shape])
    items, theta = items_of_both(g, shape[1]), g.normal(size=shape[0])
    result = fitted(answers(g, theta, items))
    board = result.leaderboard().loc[list(result.respondent_labels)]
    inside = board["ability_low"].le(theta) & board["ability_high"].ge(theta)
    shares = [held(result, theta, error) for error in (result.ability_se, result.posterior_sd)]
    return [shares[0], float(inside.mean()), shares[1]]


def passages(setting: tuple[int, int, float], seed: int) -> list[float]:
    """Shares held in one data set."""
    n, n_items, sd = setting
    g = np.random.default_rng([seed, n, n_items])
    items, theta = items_of_both(g, n_items), g.normal(size=n)
    result = fitted(answers(g, theta, items, sd))
    cluster = {label: k // 5 for k, label in enumerate(result.item_labels)}
    found = result.with_clustered_errors(clusters=cluster)
    return [held(result, theta, one.ability_se) for one in (found, result)]


def families(setting: tuple[int, int, float], data_sets: int) -> list[float]:
    """Errors of slopes, then of intercepts, over the true ones."""
    groups, size, noise = setting
    items, off, errors = items_of_both(np.random.default_rng(groups), N_ITEMS), [], []
    g = np.random.default_rng([groups, size])
    many = fitted(flipped(g, answers(g, g.normal(size=MANY), items), noise)).parameters
    for seed in range(data_sets):
        g = np.random.default_rng([seed, groups, size])
        parents = answers(g, g.normal(size=groups), items)
        result = fitted(flipped(g, np.repeat(parents, size, axis=0), noise))
        clustered = result.with_clustered_errors(families=list(np.repeat(np.arange(groups), size)))
        found = result.parameters
        off.append([found.discrimination - many.discrimination, found.intercept - many.intercept])
        joint: Any = result.item_covariance
        plain = np.sqrt(np.diagonal(joint.of_items(), axis1=1, axis2=2)).T
        both = (one.standard_errors.T[[0, 3]] for one in (result, clustered))
        errors.append([plain, *both])
    ratio = np.sqrt((np.array(errors) ** 2).mean(axis=0) / (np.array(off) ** 2).mean(axis=0))
    return [float(one) for one in np.median(ratio, axis=2).T.ravel()]


def ability_intervals(data_sets: int = 40) -> Tables:
    """Errors of abilities alone and with passages, and of items in families."""

    def average(measure: Any, setting: Any) -> Any:
        return np.mean([measure(setting, seed) for seed in range(data_sets)], axis=0)

    settings = [
        *((setting, average(abilities, setting)) for setting in part(ABILITIES, 0, 2)),
        *((setting, average(passages, setting)) for setting in part(PASSAGES, 0)),
        *((setting, families(setting, data_sets)) for setting in part(FAMILIES, 0)),
    ]
    return {"settings": ({"setting": list(s), "figures": list(map(float, f))} for s, f in settings)}


NEGATIVE = 0.02
GRID = np.linspace(-4, 4, 41)

SPREADS = (0.3, 0.5)
FEW = [(50, 1000), (30, 1000), (12, 2000), (100, 100), (500, 40)]


class Data(NamedTuple):
    """Responses and what they were drawn from."""

    responses: irtkit.ResponseMatrix
    items: irtkit.ItemParameters
    ability: Array


def draw_few(shape: tuple[int, int], spread: float, seed: int) -> Data:
    """One data set."""
    generator = np.random.default_rng([seed, *shape])
    slope = generator.lognormal(0, spread, shape[1])
    slope[generator.random(shape[1]) < NEGATIVE] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=shape[1]))
    ability = generator.normal(size=shape[0])
    ability = (ability - ability.mean()) / ability.std()
    return Data(irtkit.simulate_responses(items, ability, seed=generator), items, ability)


def known_best(data: Data, spread: float) -> Array:
    """Posterior means of slopes, all but the items themselves known."""
    size = np.exp(spread * GRID)
    kinds = np.log([1 - NEGATIVE, NEGATIVE])
    total, weighted = np.zeros((2, data.responses.n_items))
    right = data.responses.values.astype(float)
    reference = np.full(data.responses.n_items, -np.inf)
    for sign, log_share in zip((1.0, -1.0), kinds, strict=True):
        slope, difficulty = np.meshgrid(sign * size, GRID, indexing="ij")
        z = slope[..., None] * (data.ability - difficulty[..., None])
        log_prior = log_share - 0.5 * (GRID[:, None] ** 2 + GRID**2)
        joint = z @ right + (log_expit(-z).sum(axis=-1) + log_prior)[..., None]
        peak = np.maximum(reference, joint.max(axis=(0, 1)))
        weights = np.exp(joint - peak)
        kept = np.exp(reference - peak)
        total = kept * total + weights.sum(axis=(0, 1))
        weighted = kept * weighted + (slope[..., None] * weights).sum(axis=(0, 1))
        reference = peak
    return np.asarray(weighted / total)


def gains(shape: tuple[int, int], spread: float, seed: int) -> dict[str, float]:
    """Figures of one data set."""
    data = draw_few(shape, spread, seed)
    truth, figures = data.items.discrimination, dict[str, float]()
    found = {"best": known_best(data, spread)}
    for prior in ("weak", "empirical"):
        items = irtkit.fit(data.responses, "2PL", prior=prior).items
        found[prior] = items["discrimination"].to_numpy()
    for name, slope in found.items():
        figures[f"rmse_{name}"] = float(np.sqrt(np.mean((slope - truth) ** 2)))
        figures[f"wrong_signs_{name}"] = float(np.mean(np.sign(slope) != np.sign(truth)))
    for name, true in (("discrimination", truth), ("intercept", data.items.intercept)):
        off = np.abs(items[name].to_numpy() - true)
        figures[f"covered_{name}"] = float(np.mean(off < 1.96 * items[f"{name}_se"].to_numpy()))
    return figures


def empirical(data_sets: int = 10) -> Tables:
    """What the empirical prior gains."""

    def record(shape: tuple[int, int], spread: float) -> Record:
        drawn = [gains(shape, spread, seed) for seed in range(data_sets)]
        return {"shape": shape, "spread": spread, "mean": means(drawn), "data_sets": drawn}

    cases = [(shape, spread) for spread in part(SPREADS, 0) for shape in part(FEW, 3, 4)]
    return {"studies": (record(*case) for case in cases)}


SETTINGS = ((30, 30), (60, 40), (200, 100))
KINDS = ("right or wrong", "fractions", "GPCM", "half missing", "two tasks", "two abilities")
SEVERAL = {"two tasks": "task", "two abilities": 2}


def boards(kind: str, n: int, n_items: int, seed: int) -> tuple[Any, Any]:
    """Responses, and true abilities of the systems, (n, K)."""
    g = np.random.default_rng([seed, n, n_items])
    slopes, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulty)
    if kind in SEVERAL:
        theta = two_abilities(g, n, 0.5)
        task = np.arange(n_items) % 2
        p = 1 / (1 + np.exp(-(theta[:, task] * slopes + items.intercept)))
        responses = irtkit.ResponseMatrix((g.random(p.shape) < p).astype(int))
        tasks = pd.DataFrame({"task": task.astype(str)}, responses.items)
        return responses.with_tables(tasks), theta
    theta = g.normal(size=n)
    if kind == "fractions":
        p = items.probability(theta)
        return g.beta(8 * p, 8 * (1 - p)), theta[:, None]
    if kind == "GPCM":
        slopes = 0.64 * slopes
        steps = np.linspace(-1.5, 1.5, 4) + g.normal(0, 0.5, (n_items, 1))
        steps = np.cumsum(-slopes[:, None] * steps, axis=1)
        steps = np.concatenate([np.zeros((n_items, 1)), steps], axis=1)
        top = np.full(n_items, 4.0)
        items = ItemParameters(slopes, steps.mean(axis=1), 0 * slopes, steps, top, "GPCM")
    missing = 0.5 if kind == "half missing" else 0.0
    return irtkit.simulate_responses(items, theta, missing=missing, seed=g), theta[:, None]


def said(case: Record, seed: int) -> Record:
    """Reliabilities of one set, and what they are about."""
    kind = case["kind"]
    responses, theta = boards(kind, case["systems"], case["items"], seed)
    if kind not in SEVERAL:
        result = irtkit.fit(responses, "GPCM") if kind == "GPCM" else irtkit.fit(responses)
        found = irtkit.information(result)
        return {
            "reached": np.corrcoef(result.ability, theta[:, 0])[0, 1] ** 2,
            "said": result.health().table.loc["all", "reliability"],
            "marginal": found.marginal_reliability,
            "empirical": found.empirical_reliability,
        }
    several: Any = irtkit.fit(responses, abilities=SEVERAL[kind])
    squares = np.corrcoef(several.several.fitted.ability.T, theta.T)[:2, 2:] ** 2
    reached = max(np.mean(squares[[0, 1], order]) for order in permutations([0, 1]))
    return {"reached": reached, "said": several.abilities["reliability"].mean()}


def reliability(sets: int = 100) -> Tables:
    """Reliability, and what it should be."""
    cases = [
        {"kind": kind, "systems": n, "items": n_items}
        for kind in part(KINDS, 0, 1)
        for n, n_items in part(SETTINGS, 0)
    ]
    return {"studies": study(cases, said, sets, count="sets")}


if __name__ == "__main__":
    run(coverage, recovery, ability_intervals, empirical, reliability)
