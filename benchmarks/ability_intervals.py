"""Whether errors of abilities and of items are right: alone, with passages, and in families.

- Abilities: share of the true abilities that 95 % intervals hold, of ``ability_se``, of the
  leaderboard, and of the posterior SD, which takes items as known; abilities are N(0, 1).
- Passages: items in groups of five, each with an ability of its own (SD 1) beside the common one.
  Intervals are those of ``with_clustered_errors(clusters=...)``, then those of ``ability_se``.
- Families: children copy the answers of a parent and flip each with the probability given. Errors
  of slopes and intercepts over the true ones, root mean squares over data sets with the same items
  about a fit to 20,000 such respondents without families; medians over the items. They are those
  without corrections, those of a fit, and those by ``with_clustered_errors(families=...)``.

Slopes are lognormal (SD 0.3), difficulties normal, models 2PL.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from machine import arguments, part, store
from near_copies import flipped

import irtkit

ABILITIES = ((30, 30), (50, 40), (30, 200), (100, 50), (100, 500), (500, 30))
PASSAGES = ((200, 100, 1.0), (500, 100, 1.0), (200, 100, 0.0), (1000, 100, 1.0))
FAMILIES = ((20, 10, 0.1), (20, 10, 0.2), (20, 10, 0.3), (40, 5, 0.2), (60, 3, 0.02), (200, 1, 0.0))
N_ITEMS, MANY = 200, 20_000


def fitted(right: Any) -> irtkit.FitResult:
    """A 2PL fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return irtkit.fit(irtkit.ResponseMatrix(right.astype(np.int8)))


def drawn(
    g: np.random.Generator, theta: Any, items: tuple[Any, Any], sd: float = 0.0, size: int = 5
) -> Any:
    """Right answers of some abilities, with passages of a size whose abilities have an SD."""
    slope, difficulty = items
    passage = np.arange(len(slope)) // size
    own = sd * g.normal(size=(len(theta), passage[-1] + 1))[:, passage]
    logit = slope * (theta[:, None] + own - difficulty)
    return g.random(logit.shape) < 1 / (1 + np.exp(-logit))


def some_items(g: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Slopes and difficulties."""
    return g.lognormal(0, 0.3, n), g.normal(size=n)


def held(result: irtkit.FitResult, theta: Any, error: Any) -> float:
    """Share of abilities within 1.96 errors."""
    return float((np.abs(result.ability - theta) < 1.96 * error).mean())


def abilities(shape: tuple[int, int], seed: int) -> list[float]:
    """Shares held in one data set."""
    g = np.random.default_rng([seed, *shape])
    items, theta = some_items(g, shape[1]), g.normal(size=shape[0])
    result = fitted(drawn(g, theta, items))
    board = result.leaderboard().loc[list(result.respondent_labels)]
    inside = board["ability_low"].le(theta) & board["ability_high"].ge(theta)
    shares = [held(result, theta, error) for error in (result.ability_se, result.posterior_sd)]
    return [shares[0], float(inside.mean()), shares[1]]


def passages(setting: tuple[int, int, float], seed: int) -> list[float]:
    """Shares held in one data set."""
    n, n_items, sd = setting
    g = np.random.default_rng([seed, n, n_items])
    items, theta = some_items(g, n_items), g.normal(size=n)
    result = fitted(drawn(g, theta, items, sd))
    cluster = {label: k // 5 for k, label in enumerate(result.item_labels)}
    found = result.with_clustered_errors(clusters=cluster)
    return [held(result, theta, one.ability_se) for one in (found, result)]


def families(setting: tuple[int, int, float], data_sets: int) -> list[float]:
    """Errors of slopes, then of intercepts, over the true ones."""
    groups, size, noise = setting
    items, off, errors = some_items(np.random.default_rng(groups), N_ITEMS), [], []
    g = np.random.default_rng([groups, size])
    many = fitted(flipped(g, drawn(g, g.normal(size=MANY), items), noise)).parameters
    for seed in range(data_sets):
        g = np.random.default_rng([seed, groups, size])
        parents = drawn(g, g.normal(size=groups), items)
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


def main() -> None:
    """Print the tables, and store all figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, default=40)
    options = parser.parse_args()
    seeds, records = range(options.data_sets), []

    def row(setting: tuple[Any, ...], figures: Any) -> None:
        records.append({"setting": list(setting), "figures": list(map(float, figures))})
        cells = [" × ".join(map(str, setting)), *(f"{figure:.3f}" for figure in figures)]
        print(f"| {' | '.join(cells)} |", flush=True)

    print("| systems × items | ability_se | leaderboard | posterior SD |\n|---|---|---|---|")
    for shape in part(ABILITIES, 0, 2):
        row(shape, np.mean([abilities(shape, seed) for seed in seeds], axis=0))
    print("\n| systems × items × SD of passages | clustered | ability_se |\n|---|---|---|")
    for setting in part(PASSAGES, 0):
        row(setting, np.mean([passages(setting, seed) for seed in seeds], axis=0))
    head = [f"{kind} of {what}" for what in ("slopes", "intercepts") for kind in
            ("plain", "corrected", "clustered")]  # fmt: skip
    print(f"\n| families × size × flips | {' | '.join(head)} |\n|{'---|' * 7}")
    for family in part(FAMILIES, 0):
        row(family, families(family, options.data_sets))
    store(options, settings=records)


if __name__ == "__main__":
    main()
