"""Whether known item parameters come back, and the weak prior keeps their scale.

Draws 2PL data with lognormal slopes (some of them negative) and standard normal difficulties and
abilities, fits them with the default settings, and prints a row per shape: correlation and rank
correlation with the truth, share of negative slopes found and of positive ones called negative,
median slope and SD of abilities against the truth. Run with ``make studies``.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import irtkit

SHAPES = [  # respondents, items, share of negative slopes, SD of log slopes, data sets
    (2000, 40, 0.0, 0.3, 20),
    (2000, 40, 0.0, 0.5, 20),
    (200, 1000, 0.07, 0.3, 50),
    (100, 2000, 0.05, 0.3, 10),
    (12, 2000, 0.05, 0.3, 10),
]
HEADER = (
    "respondents  items  negative  SD log a   r(a)  rho(b)  found  false  turned  median |a|  SD(θ)"
)


def one_fit(shape: tuple[int, int, float, float, int], seed: int) -> list[float]:
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
    return [
        float(np.corrcoef(found, slope)[0, 1]),
        float(spearmanr(result.items["difficulty"], items.difficulty).statistic),
        float((found[inverted] < 0).mean()) if inverted.any() else np.nan,
        float((found[~inverted] < 0).mean()),
        float(np.corrcoef(result.ability, abilities)[0, 1] < 0),
        float(np.median(np.abs(found)) / np.median(np.abs(slope))),
        float(result.ability.std()),
    ]


def main() -> None:
    """Print the table; means over data sets, and the number of scales turned over."""
    print(HEADER)
    for shape in SHAPES:
        figures = np.array([one_fit(shape, seed) for seed in range(shape[-1])])
        r, rho, found, false, _, median, spread = figures.mean(axis=0)
        print(
            f"{shape[0]:11d} {shape[1]:6d} {shape[2]:9.2f} {shape[3]:9.1f} {r:6.3f} {rho:7.3f} "
            f"{found:6.3f} {false:6.3f} {int(figures[:, 4].sum()):7d} {median:11.3f} {spread:6.3f}"
        )


if __name__ == "__main__":
    main()
