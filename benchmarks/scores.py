"""How well fits of scores between 0 and 1 predict, and how often their intervals hold the truth.

Printed for published boards, if they are there (``../shared/data``; an index of capabilities from
222 systems on 57 benchmarks, and the systems of MTEB with at least 15 scores on 60 tasks): over
splits that hold out 10 % of the cells, the root mean square error of the expected score, that of
the same scores as counts of 100 trials, the trials that a score counts for, and the SD of z, the
difference of the abilities by either half of the cells over its error. For the index the rank
correlations of abilities with it.

Then, for scores drawn from several families, the trials that a score counts for, and how often
95 % intervals hold abilities, slopes and intercepts. True abilities are brought to the scale of
the population by the model, not by the draw.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Family = Callable[[Array, np.random.Generator], Array]

_DATA = Path(__file__).parents[2] / "shared" / "data"
_SPLITS, _HALVES = 8, 20
_SHAPES = ((30, 30, 0.0, 60), (100, 50, 0.0, 40), (222, 57, 0.82, 40), (100, 500, 0.0, 20))
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def _beta(p: Array, trials: Any, generator: np.random.Generator) -> Array:
    """Scores of the variance of a share of so many trials."""
    return np.asarray(generator.beta((trials - 1) * p, (trials - 1) * (1 - p)))


FAMILIES: dict[str, Family] = {
    "0 and 1": lambda p, g: (g.random(p.shape) < p).astype(float),
    "16 trials": lambda p, g: g.binomial(16, p) / 16,
    "16 trials worth 4": lambda p, g: g.binomial(16, g.beta(4 * p, 4 * (1 - p))) / 16,
    "beta, 8": lambda p, g: _beta(p, 8, g),
    "beta, by item": lambda p, g: _beta(p, 1 + np.exp(g.normal(np.log(7), 0.8, p.shape[1])), g),
    "beta, 6, quarters": lambda p, g: np.round(4 * _beta(p, 6, g)) / 4,
    "beta, 8, 30 % marks": lambda p, g: np.where(
        g.random(p.shape) < 0.3, g.random(p.shape) < p, _beta(p, 8, g)
    ),
}


def expected(result: irtkit.FitResult) -> Array:
    """Mean of P over the posterior of ability."""
    slope, intercept = result.parameters.discrimination, result.parameters.intercept
    found = np.zeros((len(result.ability), len(slope)))
    for point, weight in zip(_POINTS, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        theta = result.ability + point * result.posterior_sd
        found += weight / (1 + np.exp(-(theta[:, None] * slope + intercept)))
    return found


def of_board(scores: Array) -> dict[str, Any]:
    """Errors of held-out scores, and z between halves."""
    seen, errors, trials = ~np.isnan(scores), [], []
    for seed in range(_SPLITS):
        out = (np.random.default_rng(seed).random(scores.shape) < 0.1) & seen
        kept = np.where(out, np.nan, scores)
        counts = np.round(100 * kept), np.where(np.isnan(kept), np.nan, 100)
        fits = [
            irtkit.fit(one, standard_errors=False)
            for one in (kept, irtkit.ResponseMatrix.from_counts(*counts))
        ]
        errors.append([np.sqrt(np.mean((expected(one) - scores)[out] ** 2)) for one in fits])
        trials.append(1 / (fits[0].settings.trial_correlation or np.nan))
    spread = []
    for seed in range(_HALVES):
        first = np.random.default_rng(100 + seed).random(scores.shape) < 0.5
        known = (first & seen).any(axis=1) & (~first & seen).any(axis=1)
        halves = [irtkit.fit(np.where(part, scores, np.nan)[known]) for part in (first, ~first)]
        abilities, errors_of = (
            np.array([getattr(one, name) for one in halves]) for name in ("ability", "board_se")
        )
        spread.append(float(_z(abilities, errors_of).std()))
    mine, as_counts = np.transpose(errors)
    return {
        "RMSE, seed 0": float(mine[0]),
        "RMSE": float(mine.mean()),
        "beyond counts": float((mine - as_counts).mean()),
        "most beyond counts": float((mine - as_counts).max()),
        "trials": float(np.mean(trials)),
        "SD of z": float(np.mean(spread)),
    }


def _z(ability: Array, se: Array) -> Array:
    """Differences over their errors, once scale and location are matched."""
    centre = np.average(ability, axis=1, weights=1 / se.mean(axis=0) ** 2, keepdims=True)
    off = ability - centre
    scale = np.sqrt(np.mean(off**2 + se**2, axis=1, keepdims=True))
    off, se = off / scale, se / scale
    return np.asarray((off[0] - off[1]) / np.sqrt((se**2).sum(axis=0)))


def of_family(
    family: Family, n: int, n_items: int, missing: float, n_sets: int
) -> dict[str, float]:
    """Trials found, and the coverage of intervals."""
    held, trials, start = [], [], time.perf_counter()
    for seed in range(n_sets):
        generator = np.random.default_rng(seed)
        theta, slope = generator.normal(size=n), np.exp(generator.normal(0, 0.4, n_items))
        intercept = -slope * generator.normal(size=n_items)
        p = 1 / (1 + np.exp(-(theta[:, None] * slope + intercept)))
        scores = np.clip(family(p, generator), 0, 1)
        if missing:
            scores[generator.random(p.shape) < missing] = np.nan
        result = irtkit.fit(scores)
        rows, items = result.respondents, result.items
        truths = (
            (rows["ability"], rows["ability_se"], theta),
            (items["discrimination"], items["discrimination_se"], slope),
            (items["intercept"], items["intercept_se"], intercept),
        )
        held.append(
            [np.mean((np.abs(one - truth) < 1.96 * se)[se > 0]) for one, se, truth in truths]
        )
        trials.append(1 / (result.settings.trial_correlation or 1.0))
    ability, slopes, intercepts = np.mean(held, axis=0)
    seconds = (time.perf_counter() - start) / n_sets
    found = {"trials": np.mean(trials), "ability": ability, "slopes": slopes}
    return {k: float(v) for k, v in {**found, "intercepts": intercepts, "s": seconds}.items()}


def boards() -> dict[str, dict[str, Any]]:
    """Figures of the published boards."""
    found: dict[str, dict[str, Any]] = {}
    if (path := _DATA / "mteb60.csv.gz").exists():
        frame = pd.read_csv(path, index_col=0)
        frame = frame[frame.notna().sum(axis=1) >= 15].clip(0, 1)
        found["MTEB"] = of_board(frame.to_numpy())
    if (path := _DATA / "eci_scores_long.csv.gz").exists():
        frame = pd.read_csv(path).pivot_table(index="model", columns="benchmark", values="score")
        found["ECI"] = of_board(frame.to_numpy())
        index = pd.read_csv(_DATA / "eci_published.csv.gz").set_index("Model")["eci"]
        ability = pd.Series(irtkit.fit(frame.to_numpy()).ability, frame.index)
        for kind in ("spearman", "kendall"):
            found["ECI"][kind] = float(ability.corr(index.reindex(frame.index), method=kind))
    return found


def main() -> None:
    """Print the figures."""
    options = arguments(__doc__).parse_args()
    warnings.simplefilter("ignore", irtkit.IRTWarning)
    of_boards, families = boards(), []
    for name, figures in of_boards.items():
        print(name, ", ".join(f"{key} {value:.4f}" for key, value in figures.items()), flush=True)
    for n, n_items, missing, n_sets in part(_SHAPES, 0):
        for name, family in FAMILIES.items():
            figures = of_family(family, n, n_items, missing, n_sets)
            shape = {"family": name, "n": n, "n_items": n_items, "missing": missing}
            shape["sets"] = n_sets
            families.append(shape | figures)
            shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
            print(f"{name}, {n} × {n_items}, {missing:.0%} missing: {shown}", flush=True)
    store(options, boards=of_boards, families=families)


if __name__ == "__main__":
    main()
