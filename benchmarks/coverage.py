"""Whether intervals hold the truth 95 % of the time, and reliability is what it should be.

All is drawn anew for every data set, on the scale of the population, as irtkit's parameters are.
`coverage`: items. `ability_intervals`: systems, alone and where items come in passages.
`empirical`: what ``prior="empirical"`` gains, beside the best that any method can do: the posterior
mean of each slope with abilities and the distribution of the items known. `reliability`: beside the
squared correlation of fitted abilities with the true ones.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

from __future__ import annotations

from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from machine import part
from numpy.typing import NDArray
from scipy.special import log_expit
from simulated import Shape, two_abilities
from study import means, run, study

import irtkit
from irtkit.irf import ItemParameters

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


def draw(shape, seed, spread=0.3, *, of_sample=False):
    """Items, abilities and responses from a seed; abilities may be standardised in the sample."""
    generator = np.random.default_rng([seed, shape.n_respondents, shape.n_items])
    n_slopes = 1 if shape.model == "1PL" else shape.n_items
    slope = np.resize(generator.lognormal(0, spread, n_slopes), shape.n_items)
    slope[generator.random(shape.n_items) < shape.negative] *= -1
    guessing = generator.uniform(0.1, 0.3, shape.n_items) if shape.model == "3PL" else 0.0
    difficulty = generator.normal(size=shape.n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty, guessing)
    abilities = generator.normal(size=shape.n_respondents)
    if of_sample:
        abilities = (abilities - abilities.mean()) / abilities.std()
    return Drawn(items, abilities, irtkit.simulate_responses(items, abilities, seed=generator))


def covered(result, items, kept=slice(None)):
    """Shares of intervals that hold the truth; one that does not exist holds nothing."""
    shares = {}
    for name in PARAMETERS:
        off = (result.items[name] - getattr(items, name)).abs()
        shares[name] = (off < 1.96 * result.items[f"{name}_se"])[kept].mean()
    return shares


def one_fit(setting, seed):
    """Coverage of the intervals from one data set."""
    items, _, responses = draw(setting.shape, seed)
    result = irtkit.fit(responses, setting.shape.model, prior=setting.prior, progress=False)
    return covered(result, items, np.array(result.status) == "ok")


def coverages(cases):
    """Averages over the data sets of each setting."""
    for case, record in zip(cases, study(cases, one_fit), strict=True):
        shares = {name: {"coverage": record[name]} for name in PARAMETERS}
        yield {**record, "shape": case.shape._asdict(), **shares}


def coverage(data_sets=0):
    """Intervals of item parameters."""
    chosen = part(STUDIES, 2, 4)
    planned = [s._replace(n_data_sets=data_sets or s.n_data_sets) for s in chosen]
    return {"studies": coverages(planned)}


ABILITIES = ((30, 30), (50, 40), (30, 200), (100, 50), (100, 500), (500, 30))
PASSAGES = ((200, 100, 1.0), (500, 100, 1.0), (200, 100, 0.0), (1000, 100, 1.0))


def in_passages(shape, sd, seed):
    """A fit to items in passages of five, whose abilities have an SD, and the common abilities."""
    g, (n, n_items) = np.random.default_rng([seed, *shape]), shape
    slope, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    theta, passage = g.normal(size=n), np.arange(n_items) // 5
    of_passage = sd * g.normal(size=(n, passage[-1] + 1))[:, passage]
    logit = slope * (theta[:, None] + of_passage - difficulty)
    right = g.random(logit.shape) < 1 / (1 + np.exp(-logit))
    return irtkit.fit(irtkit.ResponseMatrix(right.astype(np.int8))), theta


def held(result, theta, error):
    """Share of abilities within 1.96 errors."""
    return float((np.abs(result.ability - theta) < 1.96 * error).mean())


def of_abilities(shape, seed):
    """Shares held in one data set."""
    result, theta = in_passages(shape, 0.0, seed)
    board = result.leaderboard().loc[list(result.respondent_labels)]
    inside = board["ability_low"].le(theta) & board["ability_high"].ge(theta)
    shares = [held(result, theta, error) for error in (result.ability_se, result.posterior_sd)]
    return [shares[0], float(inside.mean()), shares[1]]


def of_passages(setting, seed):
    """Shares held in one data set."""
    result, theta = in_passages(setting[:2], setting[2], seed)
    cluster = {label: k // 5 for k, label in enumerate(result.item_labels)}
    clustered = result.with_clustered_errors(clusters=cluster)
    return [held(result, theta, fit.ability_se) for fit in (clustered, result)]


def ability_intervals(data_sets=40):
    """Errors of abilities alone and with passages."""

    def record(measure, setting):
        rows = [measure(setting, seed) for seed in range(data_sets)]
        return {"setting": list(setting), "figures": np.mean(rows, axis=0).tolist()}

    cases = [(of_abilities, shape) for shape in part(ABILITIES, 0, 2)]
    cases += [(of_passages, setting) for setting in part(PASSAGES, 0)]
    return {"settings": (record(*case) for case in cases)}


NEGATIVE = 0.02
GRID = np.linspace(-4, 4, 41)
SPREADS = (0.3, 0.5)
FEW = [(50, 1000), (30, 1000), (12, 2000), (100, 100), (500, 40)]


def known_best(data, spread):
    """Posterior means of slopes, all but the items themselves known."""
    size = np.exp(spread * GRID)
    kinds = np.log([1 - NEGATIVE, NEGATIVE])
    total, weighted = np.zeros((2, data.responses.n_items))
    right = data.responses.values.astype(float)
    reference = np.full(data.responses.n_items, -np.inf)
    for sign, log_share in zip((1.0, -1.0), kinds, strict=True):
        slope, difficulty = np.meshgrid(sign * size, GRID, indexing="ij")
        z = slope[..., None] * (data.abilities - difficulty[..., None])
        log_prior = log_share - 0.5 * (GRID[:, None] ** 2 + GRID**2)
        joint = z @ right + (log_expit(-z).sum(axis=-1) + log_prior)[..., None]
        peak = np.maximum(reference, joint.max(axis=(0, 1)))
        weights = np.exp(joint - peak)
        kept = np.exp(reference - peak)
        total = kept * total + weights.sum(axis=(0, 1))
        weighted = kept * weighted + (slope[..., None] * weights).sum(axis=(0, 1))
        reference = peak
    return np.asarray(weighted / total)


def gains(shape, spread, seed):
    """Figures of one data set."""
    data = draw(Shape(*shape, negative=NEGATIVE), seed, spread, of_sample=True)
    slopes = {"best": known_best(data, spread)}
    for prior in ("weak", "empirical"):
        result = irtkit.fit(data.responses, "2PL", prior=prior)
        slopes[prior] = result.parameters.discrimination
    figures = {}
    for name, slope in slopes.items():
        figures[f"rmse_{name}"] = np.mean((slope - data.items.discrimination) ** 2) ** 0.5
    shares = covered(result, data.items)
    return figures | {f"covered_{name}": share for name, share in shares.items()}


def empirical(data_sets=10):
    """What the empirical prior gains."""

    def record(shape, spread):
        drawn = [gains(shape, spread, seed) for seed in range(data_sets)]
        return {"shape": shape, "spread": spread, "mean": means(drawn)}

    cases = [(shape, spread) for spread in part(SPREADS, 0) for shape in part(FEW, 3, 4)]
    return {"studies": (record(*case) for case in cases)}


SETTINGS = ((30, 30), (60, 40), (200, 100))
KINDS = ("right or wrong", "fractions", "GPCM", "half missing", "two tasks", "two abilities")
SEVERAL = {"two tasks": "task", "two abilities": 2}


def boards(kind, n, n_items, seed):
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


def said(case, seed):
    """Reliabilities of one set, and what they are about."""
    kind = case["kind"]
    responses, theta = boards(kind, case["systems"], case["items"], seed)
    if kind not in SEVERAL:
        result = irtkit.fit(responses, "GPCM") if kind == "GPCM" else irtkit.fit(responses)
        reached = np.corrcoef(result.ability, theta[:, 0])[0, 1] ** 2
        return {"reached": reached, "said": result.health().table.loc["all", "reliability"]}
    several = irtkit.fit(responses, abilities=SEVERAL[kind])
    squares = np.corrcoef(several.several.fitted.ability.T, theta.T)[:2, 2:] ** 2
    reached = max(np.mean(squares[[0, 1], order]) for order in permutations([0, 1]))
    return {"reached": reached, "said": several.abilities["reliability"].mean()}


def reliability(sets=100):
    """Reliability, and what it should be."""
    cases = [
        {"kind": kind, "systems": n, "items": n_items}
        for kind in part(KINDS, 0, 1)
        for n, n_items in part(SETTINGS, 0)
    ]
    return {"studies": study(cases, said, sets, count="sets")}


if __name__ == "__main__":
    run(coverage, ability_intervals, empirical, reliability)
