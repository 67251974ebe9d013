"""Whether trends, horizons and ranks given these items are unbiased, and their intervals hold.

Trends: 60 systems, 40 items (slopes lognormal with an SD of 0.3 on the log scale, difficulties
standard normal), 12 answers of each system. Ability is 0.8 x + e, with an SD of 1. Items answered
are drawn at random, or harder ones are likelier for later systems. Rows: regression of the ability
estimates of a fit, and latent regression.

Horizons: 16 systems, 120 tasks, difficulty 0.6 logits per doubling of minutes with an SD of 1.5
logits between tasks of one length, ability 1.5 logits per year with an SD of 0.5.

Ranks: scores of 25 trials at 57 items, 82 % missing for 222 systems, and 100 systems and 50 items.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from machine import arguments, part, store, whole

import irtkit

SLOPE, RESIDUAL = 0.8, 0.6
OF_LENGTH, SPREAD, PER_YEAR = 0.6, 1.5, 1.5


def answers(logits: Any, generator: np.random.Generator) -> Any:
    """Right and wrong answers, 1 and 0."""
    return (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float64)


def trends(seed: int, *, harder: bool) -> dict[str, list[float]]:
    """Slope, error and whether the interval holds 0.8, by method."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=60)
    x = (x - x.mean()) / x.std()
    ability = SLOPE * x + RESIDUAL * generator.normal(size=60)
    slopes, difficulty = generator.lognormal(0, 0.3, 40), generator.normal(size=40)
    values = answers(slopes * (ability[:, None] - difficulty), generator)
    key = generator.random(values.shape)
    if harder:
        key = 0.7 * generator.normal(size=values.shape) - np.abs(difficulty - SLOPE * x[:, None])
    values[np.argsort(np.argsort(-key, axis=1), axis=1) >= 12] = np.nan
    result = irtkit.fit(values)
    line, errors = np.polyfit(x, result.ability, 1, cov=True)
    half = 2.0 * errors[0, 0] ** 0.5
    found = {"regression of abilities": [line[0], float(abs(line[0] - SLOPE) < half)]}
    trend = irtkit.trend(result, 2020 + x)
    found["latent regression"] = [trend.slope, float(trend.low < SLOPE < trend.high)]
    return found


def horizons(seed: int) -> list[float]:
    """Coverage of p50, its mean error in doublings, and figures of the line and the doubling."""
    generator = np.random.default_rng(seed)
    year = 2023 + 3 * generator.random(16)
    ability = PER_YEAR * (year - 2024.5) + 0.5 * generator.normal(size=16)
    length = generator.uniform(-2, 9, 120)
    difficulty = OF_LENGTH * (length - 3.5) + SPREAD * generator.normal(size=120)
    result = irtkit.fit(answers(ability[:, None] - difficulty, generator), "1PL")
    found = irtkit.horizon(result, 2.0**length, year)
    table = found.systems.loc[list(result.respondent_labels)]
    true, doubling = 2.0 ** (ability / OF_LENGTH + 3.5), found.doubling_time
    kept = (table["status"] == "ok").to_numpy()
    held = (table["p50_low"].to_numpy() < true) & (true < table["p50_high"].to_numpy())
    error = np.log2(table["p50"].to_numpy() / true)
    days = 365.25 * OF_LENGTH / PER_YEAR
    within = doubling is not None and doubling[1] < days < doubling[2]
    return [
        float(held[kept].mean()),
        float(error[kept].mean()),
        found.slope / OF_LENGTH,
        found.residual_sd / SPREAD,
        np.nan if doubling is None else doubling[0] / days,
        float(within),
    ]


def ranks(n: int, n_items: int, missing: float, seed: int) -> list[float]:
    """Share of true ranks within their interval, and the median width."""
    generator = np.random.default_rng(seed)
    ability = generator.normal(size=n)
    slopes, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    p = 1 / (1 + np.exp(-slopes * (ability[:, None] - difficulty)))
    trials = np.where(generator.random(p.shape) < missing, 0, 25)
    successes = generator.binomial(trials, p)
    result = irtkit.fit(irtkit.ResponseMatrix.from_counts(successes, trials))
    board = result.leaderboard(of="these").reindex(list(result.respondent_labels))
    rank = 1 + np.argsort(np.argsort(-ability))
    known = board["rank"].notna().to_numpy()
    low, high = board["rank_low"].to_numpy(), board["rank_high"].to_numpy()
    held = (low <= rank) & (rank <= high)
    return [float(held[known].mean()), float(np.median((high - low)[known]) + 1)]


def main() -> None:
    """Print the tables, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=100, help="data sets of every setting")
    options = parser.parse_args()
    warnings.simplefilter("ignore", irtkit.IRTWarning)
    rows: list[dict[str, Any]] = []
    for harder in part((False, True), 0):
        found = [trends(seed, harder=harder) for seed in range(options.sets)]
        for name in found[0]:
            slope, held = np.array([one[name] for one in found]).T
            rows.append(
                {
                    "items answered": "harder ones by later systems" if harder else "at random",
                    "method": name,
                    "mean slope": float(slope.mean()),
                    "error of the mean": float(slope.std() / options.sets**0.5),
                    "coverage": float(held.mean()),
                }
            )
            print(rows[-1], flush=True)
    names = ["coverage of p50", "mean error, doublings", "slope / true slope", "SD / true SD"]
    names += ["days / true days", "coverage of days"]
    if whole():
        of_horizons = np.array([horizons(seed) for seed in range(options.sets)])
        rows.append(dict(zip(names, np.nanmean(of_horizons, axis=0).tolist(), strict=True)))
        print(rows[-1], flush=True)
    for n, n_items, missing in part(((222, 57, 0.82), (100, 50, 0.0)), 1):
        of_ranks = np.array([ranks(n, n_items, missing, k) for k in range(options.sets // 4)])
        coverage, width = of_ranks.mean(axis=0).tolist()
        shape = {"systems": n, "items": n_items, "missing": missing}
        rows.append({**shape, "coverage of ranks": coverage, "median width": width})
        print(rows[-1], flush=True)
    store(options, studies=rows)


if __name__ == "__main__":
    main()
