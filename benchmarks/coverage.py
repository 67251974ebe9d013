"""Whether intervals hold the truth 95 % of the time, and reliability is what it should be.

All is drawn anew for every data set, on the scale of the population, as irtkit's parameters are.
`coverage`: items. `empirical`: what ``prior="empirical"`` gains, beside the best that any method
can do: the posterior mean of each slope with abilities and the distribution of the items known.
`reliability`: beside the squared correlation of fitted abilities with the true ones.
"""

from collections import namedtuple
from itertools import permutations

import numpy as np
import pandas as pd
from machine import part
from scipy.special import expit, log_expit
from simulated import Shape, answers, items_of, levels_of, two_abilities
from study import run, study

import irtkit

Study = namedtuple("Study", "shape prior n_data_sets")
STUDIES = (
    Study(Shape(1_000, 20), None, 200),
    Study(Shape(200, 1_000, "2PL", 0.07), "weak", 20),
    Study(Shape(500, 30, "3PL"), "weak", 30),
    Study(Shape(1_000, 20, "1PL"), None, 1_000),  # one slope a data set
    Study(Shape(100, 60), "weak", 50),
)
PARAMETERS = ("discrimination", "intercept")


Drawn = namedtuple("Drawn", "items abilities responses")


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


def coverage():
    """Intervals of item parameters."""
    return {"studies": study(part(STUDIES, 2, 4), one_fit)}


NEGATIVE = 0.02
GRID = np.linspace(-4, 4, 41)
SPREADS = (0.3, 0.5)
FEW = [(50, 1000), (30, 1000), (12, 2000), (100, 100), (500, 40)]


def known_best(data, spread):
    """Posterior means of slopes, all but the items themselves known."""
    size, right = np.exp(spread * GRID), data.responses.values.astype(float)
    total, weighted = np.zeros((2, data.responses.n_items))
    reference = np.full(data.responses.n_items, -np.inf)
    for sign, share in ((1.0, 1 - NEGATIVE), (-1.0, NEGATIVE)):
        slope, difficulty = np.meshgrid(sign * size, GRID, indexing="ij")
        z = slope[..., None] * (data.abilities - difficulty[..., None])
        log_prior = np.log(share) - 0.5 * (GRID[:, None] ** 2 + GRID**2)
        joint = z @ right + (log_expit(-z).sum(axis=-1) + log_prior)[..., None]
        peak = np.maximum(reference, joint.max(axis=(0, 1)))
        weights = np.exp(joint - peak)
        kept = np.exp(reference - peak)
        total = kept * total + weights.sum(axis=(0, 1))
        weighted = kept * weighted + (slope[..., None] * weights).sum(axis=(0, 1))
        reference = peak
    return weighted / total


def gains(case, seed):
    """Figures of one data set."""
    shape, spread = case.values()
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
    cases = [
        {"shape": shape, "spread": spread}
        for spread in part(SPREADS, 0)
        for shape in part(FEW, 3, 4)
    ]
    return {"studies": study(cases, gains, data_sets)}


SETTINGS = ((30, 30), (60, 40), (200, 100))
KINDS = ("right or wrong", "fractions", "GPCM", "half missing", "two tasks", "two abilities")
SEVERAL = {"two tasks": "task", "two abilities": 2}
Board = namedtuple("Board", "kind systems items")


def drawn_board(board, seed):
    """Responses, and true abilities of the systems, (n, K)."""
    kind, n, n_items = board
    g = np.random.default_rng([seed, n, n_items])
    items = items_of(g, n_items)
    slopes = items.discrimination
    if kind in SEVERAL:
        theta = two_abilities(g, n, 0.5)
        task = np.arange(n_items) % 2
        p = expit(theta[:, task] * slopes + items.intercept)
        responses = irtkit.ResponseMatrix(answers(g, p))
        tasks = pd.DataFrame({"task": task.astype(str)}, responses.items)
        return responses.with_tables(tasks), theta
    theta = g.normal(size=n)
    if kind == "fractions":
        p = items.probability(theta)
        return g.beta(8 * p, 8 * (1 - p)), theta[:, None]
    if kind == "GPCM":
        thresholds = np.linspace(-1.5, 1.5, 4) + g.normal(0, 0.5, (n_items, 1))
        items = levels_of(0.64 * slopes, thresholds)
    missing = 0.5 if kind == "half missing" else 0.0
    return irtkit.simulate_responses(items, theta, missing=missing, seed=g), theta[:, None]


def said(board, seed):
    """Reliabilities of one set, and what they are about."""
    responses, theta = drawn_board(board, seed)
    if board.kind not in SEVERAL:
        result = irtkit.fit(responses, "GPCM" if board.kind == "GPCM" else "2PL")
        reached = np.corrcoef(result.ability, theta[:, 0])[0, 1] ** 2
        return {"reached": reached, "said": result.health().table.loc["all", "reliability"]}
    several = irtkit.fit(responses, abilities=SEVERAL[board.kind])
    squares = np.corrcoef(several.several.fitted.ability.T, theta.T)[:2, 2:] ** 2
    reached = max(np.mean(squares[[0, 1], order]) for order in permutations([0, 1]))
    return {"reached": reached, "said": several.abilities["reliability"].mean()}


def reliability(sets=100):
    """Reliability, and what it should be."""
    sizes = part(SETTINGS, 0)
    cases = [Board(kind, *size) for kind in part(KINDS, 0, 1) for size in sizes]
    return {"studies": study(cases, said, sets, count="sets")}


if __name__ == "__main__":
    run(coverage, empirical, reliability)
