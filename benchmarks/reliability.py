"""Whether reliability is the squared correlation of fitted abilities with the true ones.

Responses are right or wrong (2PL: slopes lognormal with an SD of 0.3 on the log scale, difficulties
standard normal), scores between 0 and 1 (beta with the same means, precision 8), marks of five
levels (GPCM), right or wrong with half of the cells missing, or right or wrong on two tasks whose
abilities correlate by 0.5, fitted as two tasks and as two free abilities. Printed are means over
sets: the squared correlation, the reliability that ``health`` prints (of several abilities that of
``result.abilities``), and the marginal and empirical ones of ``irtkit.information``. The marginal
one is of systems that answer all items.
"""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit
from irtkit.irf import ItemParameters

SETTINGS = ((30, 30), (60, 40), (200, 100))
KINDS = ("right or wrong", "fractions", "GPCM", "half missing", "two tasks", "two abilities")
SEVERAL = {"two tasks": "task", "two abilities": 2}


def drawn(kind: str, n: int, n_items: int, seed: int) -> tuple[Any, Any]:
    """Responses, and true abilities of the systems, (n, K)."""
    g = np.random.default_rng([seed, n, n_items])
    slopes, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulty)
    if kind in SEVERAL:
        theta = g.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n)
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


def said(kind: str, n: int, n_items: int, seed: int) -> dict[str, float]:
    """Reliabilities of one set, and what they are about."""
    responses, theta = drawn(kind, n, n_items, seed)
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


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=100, help="data sets of every setting")
    options = parser.parse_args()
    warnings.simplefilter("ignore", irtkit.IRTWarning)
    rows = []
    for kind in part(KINDS, 0, 1):
        for n, n_items in part(SETTINGS, 0):
            found = [said(kind, n, n_items, seed) for seed in range(options.sets)]
            means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
            rows.append(
                {"kind": kind, "systems": n, "items": n_items, "sets": options.sets, **means}
            )
            shown = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
            print(f"{kind}, {n} × {n_items}: {shown}", flush=True)
    store(options, studies=rows)


if __name__ == "__main__":
    main()
