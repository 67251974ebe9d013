"""Ordered levels: accuracy and coverage of the GPCM and the GRM, time, and levels or fractions.

``coverage``: matrices drawn from the model, with slopes exp(N(0, 0.25²)) times 3.2 over the number
of levels (GPCM) or 1.4 (GRM), one in twenty below 0, and thresholds around N(0, 0.5²). Printed: how
often 95 % intervals hold slopes, thresholds, abilities, and the root mean square errors.

``seconds``: CPU seconds of a fit without and with standard errors, and evaluations.

``fractions``: the same data fitted by either model of levels and as scores between 0 and 1.
Printed: 1 less the squared correlation of abilities with the true ones, over that of the true
model.

``mixed``: right and wrong answers of the 2PL, fractions from a beta distribution worth nine answers
and four levels of the GPCM, a third of the items each, 10 % missing, in one fit. Printed: how often
95 % intervals hold slopes of each kind and abilities, and the mean weight of a fraction.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit
from irtkit.irf import ItemParameters

if TYPE_CHECKING:
    from irtkit.irf import ModelName

MODELS: tuple[ModelName, ...] = ("GPCM", "GRM")
COVERAGE = ((1000, 20, 4), (100, 50, 5), (30, 40, 5))  # Respondents, items, levels.
SECONDS = ((2000, 500, 5, 0.0), (2000, 500, 5, 0.3), (20_000, 50, 5, 0.0), (12, 2000, 5, 0.0))
MIXED = ((300, 45), (100, 60), (30, 90))  # Respondents and items.
FRACTIONS = ((100, 50, 3), (100, 50, 5), (100, 50, 8), (100, 50, 10), (30, 20, 5), (30, 20, 10))


def drawn(
    seed: int, n: int, n_items: int, n_levels: int, model: ModelName
) -> tuple[irtkit.ResponseMatrix, ItemParameters, Any]:
    """Responses, items and abilities."""
    g = np.random.default_rng([seed, n, n_items, n_levels])
    size = {"GPCM": 3.2 / n_levels, "GRM": 1.4}[model]
    slope = size * np.exp(g.normal(0, 0.25, n_items))
    thresholds = np.linspace(-1.5, 1.5, n_levels - 1) + g.normal(0, 0.5, (n_items, 1))
    steps = -slope[:, None] * thresholds
    steps = np.cumsum(steps, axis=1) if model == "GPCM" else steps
    slope[: n_items // 20] *= -1
    steps = np.concatenate([np.zeros((n_items, 1)), steps], axis=1)
    top = np.full(n_items, n_levels - 1.0)
    items = ItemParameters(slope, steps.mean(axis=1), np.zeros(n_items), steps, top, model)
    theta = g.normal(size=n)
    return irtkit.simulate_responses(items, theta, seed=g), items, theta


def coverage(sets: int) -> list[dict[str, Any]]:
    """How often intervals hold what was drawn."""
    found = []
    for model in MODELS:
        for n, n_items, n_levels in part(COVERAGE, 0):
            parts: dict[str, list[Any]] = {"slopes": [], "thresholds": [], "abilities": []}
            for seed in range(sets):
                responses, items, theta = drawn(seed, n, n_items, n_levels, model)
                result = irtkit.fit(responses, model, progress=False)
                fitted: Any = result.parameters
                slopes: Any = (
                    fitted.discrimination,
                    items.discrimination,
                    result.standard_errors[:, 0],
                )
                thresholds: Any = fitted.thresholds, items.thresholds, result.standard_errors[:, 4:]
                abilities: Any = result.ability, theta, result.ability_se
                for name, three in zip(parts, (slopes, thresholds, abilities), strict=True):
                    one, true, error = (np.ravel(part) for part in three)
                    kept = np.isfinite(error)
                    parts[name].append(np.stack([one, true, error])[:, kept])
            row: dict[str, Any] = {"model": model, "shape": [n, n_items, n_levels], "sets": sets}
            for name, several in parts.items():
                one, true, error = np.concatenate(several, axis=1)
                held = float(np.mean(np.abs(one - true) <= 1.959964 * error))
                rmse = float(np.sqrt(np.mean((one - true) ** 2)))
                row[name] = {"coverage": round(held, 4), "rmse": round(rmse, 4)}
            print(model, row["shape"], {name: row[name] for name in parts})
            found.append(row)
    return found


def seconds() -> list[dict[str, Any]]:
    """CPU seconds of fits."""
    found = []
    for model in MODELS:
        irtkit.fit(drawn(0, 100, 10, 5, model)[0], model, progress=False)  # loads what it needs
        for n, n_items, n_levels, missing in part(SECONDS, 0):
            responses, _, _ = drawn(0, n, n_items, n_levels, model)
            tried = responses.trials.copy()
            tried[np.random.default_rng(0).random(tried.shape) < missing] = 0
            successes = np.minimum(responses.successes, tried)
            responses = irtkit.ResponseMatrix.from_counts(successes, tried)
            taken = []
            for errors in (False, True):
                start = time.process_time()
                result = irtkit.fit(responses, model, standard_errors=errors, progress=False)
                taken.append(round(time.process_time() - start, 2))
            shape = [n, n_items, n_levels]
            row = {"model": model, "shape": shape, "missing": missing, "seconds": taken}
            row |= {"evaluations": result.n_iterations, "converged": result.converged}
            print(row)
            found.append(row)
    return found


def fractions(sets: int) -> list[dict[str, Any]]:
    """Errors of abilities by each model, in those of the true model."""
    found = []
    for model in MODELS:
        for n, n_items, n_levels in part(FRACTIONS, 0):
            lost: dict[ModelName, list[float]] = {"GPCM": [], "GRM": [], "2PL": []}
            for seed in range(sets):
                responses, _, theta = drawn(seed, n, n_items, n_levels, model)
                shares = irtkit.ResponseMatrix(responses.scores)
                for name, several in lost.items():
                    given = shares if name == "2PL" else responses
                    result = irtkit.fit(given, name, standard_errors=False, progress=False)
                    several.append(1 - float(np.corrcoef(result.ability, theta)[0, 1]) ** 2)
            means = {name: float(np.mean(several)) for name, several in lost.items()}
            ratios = {name: round(mean / means[model], 4) for name, mean in means.items()}
            row = {"truth": model, "shape": [n, n_items, n_levels], "sets": sets}
            print(row, ratios)
            found.append(row | {"ratios": ratios})
    return found


def drawn_mixed(seed: int, n: int, n_items: int) -> tuple[pd.DataFrame, Any, Any]:
    """Responses, slopes and abilities."""
    g, k = np.random.default_rng([seed, n, n_items, 1]), n_items // 3
    theta, slope = g.normal(size=n), g.lognormal(0, 0.3, n_items)
    p = 1 / (1 + np.exp(-(np.multiply.outer(theta, slope[: 2 * k]) + g.normal(size=2 * k))))
    right, share = g.random((n, k)) < p[:, :k], g.beta(8 * p[:, k:], 8 * (1 - p[:, k:]))
    slope[2 * k :] *= 0.6
    thresholds = np.linspace(-1.5, 1.5, 3) + g.normal(0, 0.4, (k, 3))
    steps = np.cumsum(-slope[2 * k :, None] * thresholds, axis=1)
    steps = np.concatenate([np.zeros((k, 1)), steps], axis=1)
    of_levels = slope[2 * k :], steps.mean(axis=1), np.zeros(k), steps, np.full(k, 3.0)
    items = ItemParameters(*of_levels, "GPCM")
    levels = irtkit.simulate_responses(items, theta, seed=g).successes
    table = np.hstack([right, share, levels]).astype(float)
    table[g.random(table.shape) < 0.1] = np.nan
    return pd.DataFrame(table).add_prefix("item-"), slope, theta


def mixed(sets: int) -> list[dict[str, Any]]:
    """How often intervals of mixed items hold what was drawn."""
    found = []
    for n, n_items in part(MIXED, 0):
        held, of_abilities, weights = [], [], []
        for seed in range(sets):
            table, slope, theta = drawn_mixed(seed, n, n_items)
            result = irtkit.fit(table, levels=True, progress=False)
            off = (result.parameters.discrimination - slope) / result.standard_errors[:, 0]
            held.append((np.abs(off) <= 1.959964).reshape(3, -1).mean(axis=1))
            of_abilities.append(
                np.mean(np.abs(result.ability - theta) <= 1.959964 * result.ability_se)
            )
            weights.append(1 / (result.settings.trial_correlation or np.inf))
        by_kind = zip(
            ("binary", "fractions", "levels"), np.mean(held, axis=0).round(4), strict=True
        )
        row = {
            "shape": [n, n_items],
            "sets": sets,
            "slopes": {name: float(x) for name, x in by_kind},
        }
        row |= {"abilities": round(float(np.mean(of_abilities)), 4)}
        row |= {"weight": round(float(np.mean(weights)), 2)}
        print(row)
        found.append(row)
    return found


def main() -> None:
    """Run all parts."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=40, help="data sets of each kind")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figures = {
            "seconds": seconds(),
            "coverage": coverage(options.sets),
            "fractions": fractions(options.sets),
            "mixed": mixed(options.sets // 2),
        }
    store(options, **figures)


if __name__ == "__main__":
    main()
