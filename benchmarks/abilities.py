"""Several abilities: whether their intervals hold, and how often one ability is taken for more.

"coverage": 95 % intervals of abilities with few systems and tasks that correlate by 0.5.
"one-dimensional": how often "auto" finds more than one ability where one is true. "ability not
accuracy": data sets of one ability in which ability is said not to be accuracy. Slopes are
lognormal with an SD of 0.3 on the log scale, intercepts and abilities standard normal.
"""

import numpy as np
from machine import part, whole
from scipy.special import expit
from simulated import answers
from study import run, study

import irtkit

SIZES = ((100, 100), (60, 500), (500, 50))
KINDS = ("2PL", "3PL", "20 % negative", "skewed", "near-duplicate systems", "near-duplicate items")
ONE_ABILITY = (
    *((8, 30, 0.0), (12, 20, 0.0), (10, 10, 0.0), (12, 1000, 0.2)),
    *((30, 30, 0.3), (40, 15, 0.3), (100, 20, 0.4), (200, 10, 0.2)),
)  # Systems, items, and the share of items with negative slopes.


def covered(case, seed):
    """Share of true abilities within 95 % intervals, one ability per task."""
    n, n_tasks, per_task = case["size"]
    matrix, task = 0.5 + 0.5 * np.eye(n_tasks), np.repeat(np.arange(n_tasks), per_task)
    g = np.random.default_rng(seed)
    theta = g.multivariate_normal(np.zeros(n_tasks), matrix, n)
    slopes = g.lognormal(0, 0.3, len(task))
    p = expit(slopes * theta[:, task] + g.normal(size=len(task)))
    responses = irtkit.ResponseMatrix(answers(g, p))
    tasks = dict(zip(responses.items, map(str, task), strict=True))
    result = irtkit.fit(responses, abilities=tasks)
    off = np.abs(result.several.fitted.ability - theta)
    return {"coverage": (off < 1.959964 * result.ability_errors).mean()}


def one_dimensional(kind, n, n_items, seed):
    """Whether "auto" finds more abilities than the one that is true."""
    generator = np.random.default_rng(seed)
    theta = generator.normal(size=(n, 1))
    if kind == "skewed":
        theta = (generator.chisquare(3, size=(n, 1)) - 3) / np.sqrt(6)
    slopes = generator.lognormal(0, 0.3, n_items)
    if kind == "20 % negative":
        slopes *= np.where(generator.random(n_items) < 0.2, -1, 1)
    p = expit(slopes * theta + generator.normal(size=n_items))
    guessing = 0.2 * (kind == "3PL")
    y = answers(generator, guessing + (1 - guessing) * p)
    kept = generator.random(y.shape) < 0.85
    if kind == "near-duplicate systems":  # families of 5
        y = np.where(kept, y[np.arange(n) // 5 * 5], y)
    if kind == "near-duplicate items":  # 60 % in triplets
        in_triplets = np.arange(n_items) < 0.6 * n_items
        source = np.where(in_triplets, np.arange(n_items) // 3 * 3, 0)
        y = np.where(kept & in_triplets, y[:, source], y)
    return irtkit.fit(y, abilities="auto", standard_errors=False).n_abilities > 1


def apart(rounds):
    """Data sets with one ability in which ability is said not to be accuracy."""
    n_apart = 0
    for n, n_items, negative in ONE_ABILITY:
        for seed in range(rounds):
            generator = np.random.default_rng(seed)
            slopes = generator.lognormal(0, 0.5, n_items)
            slopes[generator.random(n_items) < negative] *= -1
            z = np.outer(generator.normal(size=n), slopes) + generator.normal(size=n_items)
            values = answers(generator, expit(z))
            codes = {f.code for f in irtkit.fit(values, standard_errors=False).findings}
            n_apart += "ability-not-accuracy" in codes
    return n_apart


def abilities(rounds=20, auto_rounds=3):
    """Coverage, and false findings of several abilities."""
    sizes = [{"size": size} for size in part(((30, 3, 25), (60, 3, 25), (150, 3, 30)), 0)]
    rows = study(sizes, covered, 10 * rounds)
    coverage = {" × ".join(map(str, row["size"])): row["coverage"] for row in rows}
    several = {
        f"{kind}, {n} × {n_items}": sum(
            one_dimensional(kind, n, n_items, seed) for seed in range(auto_rounds)
        )
        for kind in part(KINDS, 0)
        for n, n_items in part(SIZES, 0)
    }
    counted = {"ability not accuracy": apart(25)} if whole() else {}
    return {"coverage": coverage, "one-dimensional": several, **counted}


if __name__ == "__main__":
    run(abilities)
