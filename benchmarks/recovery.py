"""Whether known item parameters come back, and the weak prior keeps their scale.

Draws 2PL data with lognormal slopes (some of them negative) and standard normal difficulties and
abilities, fits them with the default settings, and prints a row per shape: correlation and rank
correlation with the truth, share of negative slopes found and of positive ones called negative,
median slope and SD of abilities against the truth.
"""

from __future__ import annotations

import numpy as np
from machine import arguments, part, store
from scipy.stats import spearmanr

import irtkit

SHAPES = [  # respondents, items, share of negative slopes, SD of log slopes, data sets
    (2000, 40, 0.0, 0.3, 20),
    (2000, 40, 0.0, 0.5, 20),
    (200, 1000, 0.07, 0.3, 50),
    (100, 2000, 0.05, 0.3, 10),
    (12, 2000, 0.05, 0.3, 10),
]
FIGURES = ("r(a)", "rho(b)", "found", "false", "turned", "median |a|", "SD(θ)")


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
    """Print means over data sets and the number of scales turned over; store them where asked."""
    options = arguments(__doc__).parse_args()
    print("  ".join(("respondents", "items", *FIGURES)))
    records = []
    for shape in part(SHAPES, 4):
        sets = np.array([one_fit(shape, seed) for seed in range(shape[-1])])
        record = dict(zip(FIGURES, sets.mean(axis=0).tolist(), strict=True))
        record["turned"] *= shape[-1]
        print(f"{shape[0]:11d} {shape[1]:6d}  ", "  ".join(f"{x:6.3f}" for x in record.values()))
        records.append({"shape": shape[:2], "negative": shape[2], "spread": shape[3],
                        "sets": shape[4], **record})  # fmt: skip
    store(options, studies=records)


if __name__ == "__main__":
    main()
