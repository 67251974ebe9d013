"""Scores between 0 and 1, ordered levels, and repeated trials: whether their intervals hold.

`scores`: published boards, if they are there, with 10 % of the cells held out, and scores drawn
from several families. `rubrics`: the GPCM and the GRM, and items of three kinds in one fit.
`repeated_trials`: trials of a cell are correlated given ability and item: "beta", the cell has a
probability of its own; "copies", the runs of a share of the cells are one run copied. The 1PL is
fitted to a 2PL once more: what a model misses repeats itself from trial to trial as well.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

from __future__ import annotations

import time
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED, part
from study import means, run, study

import irtkit
from irtkit.irf import ItemParameters, ModelName

_SPLITS, _HALVES = 8, 20
_SHAPES = ((30, 30, 0.0, 60), (100, 50, 0.0, 40), (222, 57, 0.82, 40), (100, 500, 0.0, 20))
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def _beta(p, trials, generator):
    """Scores of the variance of a share of so many trials."""
    return np.asarray(generator.beta((trials - 1) * p, (trials - 1) * (1 - p)))


FAMILIES = {
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


def expected(result):
    """Mean of P over the posterior of ability."""
    slope, intercept = result.parameters.discrimination, result.parameters.intercept
    found = np.zeros((len(result.ability), len(slope)))
    for point, weight in zip(_POINTS, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        theta = result.ability + point * result.posterior_sd
        found += weight / (1 + np.exp(-(theta[:, None] * slope + intercept)))
    return found


def of_board(scores):
    """Errors of held-out scores, and z between halves."""
    seen, rows, spread = ~np.isnan(scores), [], []
    for seed in range(_SPLITS):
        out = (np.random.default_rng(seed).random(scores.shape) < 0.1) & seen
        kept = np.where(out, np.nan, scores)
        counts = np.round(100 * kept), np.where(np.isnan(kept), np.nan, 100)
        fits = [
            irtkit.fit(responses, standard_errors=False)
            for responses in (kept, irtkit.ResponseMatrix.from_counts(*counts))
        ]
        rmse = [np.sqrt(np.mean((expected(fit) - scores)[out] ** 2)) for fit in fits]
        trials = 1 / (fits[0].settings.trial_correlation or np.nan)
        rows.append({"RMSE": rmse[0], "beyond counts": rmse[0] - rmse[1], "trials": trials})
    for seed in range(_HALVES):
        first = np.random.default_rng(100 + seed).random(scores.shape) < 0.5
        known = (first & seen).any(axis=1) & (~first & seen).any(axis=1)
        halves = [irtkit.fit(np.where(half, scores, np.nan)[known]) for half in (first, ~first)]
        ability, errors = (
            np.array([getattr(half, name) for half in halves]) for name in ("ability", "board_se")
        )
        spread.append(difference_of_halves(ability, errors).std())
    return means(rows) | {"SD of z": float(np.mean(spread))}


def difference_of_halves(ability, se):
    """Differences over their errors, once scale and location are matched."""
    centre = np.average(ability, axis=1, weights=1 / se.mean(axis=0) ** 2, keepdims=True)
    off = ability - centre
    scale = np.sqrt(np.mean(off**2 + se**2, axis=1, keepdims=True))
    off, se = off / scale, se / scale
    return np.asarray((off[0] - off[1]) / np.sqrt((se**2).sum(axis=0)))


def of_family(case, seed):
    """Trials found, and shares of intervals that hold the truth."""
    generator, n, n_items = np.random.default_rng(seed), int(case["n"]), int(case["n_items"])
    theta, slope = generator.normal(size=n), np.exp(generator.normal(0, 0.4, n_items))
    intercept = -slope * generator.normal(size=n_items)
    p = 1 / (1 + np.exp(-(theta[:, None] * slope + intercept)))
    scores = np.clip(FAMILIES[case["family"]](p, generator), 0, 1)
    if case["missing"]:
        scores[generator.random(p.shape) < case["missing"]] = np.nan
    result = irtkit.fit(scores)
    truths = {
        "ability": (result.respondents, "ability", theta),
        "slopes": (result.items, "discrimination", slope),
        "intercepts": (result.items, "intercept", intercept),
    }
    row = {"trials": 1 / (result.settings.trial_correlation or 1.0)}
    for name, (table, column, truth) in truths.items():
        error = table[f"{column}_se"]
        row[name] = ((table[column] - truth).abs() < 1.96 * error)[error > 0].mean()
    return row


def boards(data):
    """Figures of the published boards."""
    found = {}
    if (path := data / "mteb60.csv.gz").exists():
        frame = pd.read_csv(path, index_col=0)
        frame = frame[frame.notna().sum(axis=1) >= 15].clip(0, 1)
        found["MTEB"] = of_board(frame.to_numpy())
    if (path := data / "eci_scores_long.csv.gz").exists():
        frame = pd.read_csv(path).pivot_table(index="model", columns="benchmark", values="score")
        found["ECI"] = of_board(frame.to_numpy())
    return found


def scores(data=SHARED):
    """Published boards, and scores drawn from several families."""

    def records():
        for n, n_items, missing, sets in part(_SHAPES, 0):
            shape = {"n": n, "n_items": n_items, "missing": missing}
            cases = [{"family": name, **shape} for name in FAMILIES]
            yield from study(cases, of_family, sets, count="sets")

    return {"boards": boards(data), "families": records()}


MODELS = ("GPCM", "GRM")
COVERAGE = ((1000, 20, 4), (100, 50, 5), (30, 40, 5))  # Respondents, items, levels.
SECONDS = ((2000, 500, 5, 0.0), (2000, 500, 5, 0.3), (20_000, 50, 5, 0.0), (12, 2000, 5, 0.0))
MIXED = ((300, 45), (100, 60), (30, 90))  # Respondents and items.
FRACTIONS = ((100, 50, 3), (100, 50, 5), (100, 50, 8), (100, 50, 10), (30, 20, 5), (30, 20, 10))

HALF_WIDTH = 1.959964


def drawn_levels(seed, n, n_items, n_levels, model):
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


def coverage_of_levels(model, shape, sets):
    """How often intervals hold what was drawn."""
    several = {"slopes": [], "thresholds": [], "abilities": []}
    for seed in range(sets):
        responses, items, theta = drawn_levels(seed, *shape, model)
        result = irtkit.fit(responses, model, progress=False)
        fitted, errors = result.parameters, result.standard_errors
        triples = {
            "slopes": (fitted.discrimination, items.discrimination, errors[:, 0]),
            "thresholds": (fitted.thresholds, items.thresholds, errors[:, 4:]),
            "abilities": (result.ability, theta, result.ability_se),
        }
        for name, triple in triples.items():
            estimate, true, error = map(np.ravel, triple)
            several[name].append(np.stack([estimate, true, error])[:, np.isfinite(error)])
    row = {"model": model, "shape": list(shape), "sets": sets}
    for name, sets_of in several.items():
        estimate, true, error = np.concatenate(sets_of, axis=1)
        held = float(np.mean(np.abs(estimate - true) <= HALF_WIDTH * error))
        row[name] = {"coverage": round(held, 4)}
    return row


def seconds(model, shape, missing):
    """CPU seconds of fits without and with standard errors."""
    irtkit.fit(drawn_levels(0, 100, 10, 5, model)[0], model, progress=False)  # loads what it needs
    responses, _, _ = drawn_levels(0, *shape, model)
    tried = responses.trials.copy()
    tried[np.random.default_rng(0).random(tried.shape) < missing] = 0
    successes = np.minimum(responses.successes, tried)
    responses = irtkit.ResponseMatrix.from_counts(successes, tried)
    taken = []
    for errors in (False, True):
        start = time.process_time()
        irtkit.fit(responses, model, standard_errors=errors, progress=False)
        taken.append(round(time.process_time() - start, 2))
    return {"model": model, "shape": list(shape), "missing": missing, "seconds": taken}


def fractions(truth, shape, sets):
    """Errors of abilities by each model, in those of the true model."""
    lost = {"GPCM": [], "GRM": [], "2PL": []}
    for seed in range(sets):
        responses, _, theta = drawn_levels(seed, *shape, truth)
        shares = irtkit.ResponseMatrix(responses.scores)
        for model, errors in lost.items():
            given = shares if model == "2PL" else responses
            result = irtkit.fit(given, model, standard_errors=False, progress=False)
            errors.append(1 - float(np.corrcoef(result.ability, theta)[0, 1]) ** 2)
    mean = {model: float(np.mean(errors)) for model, errors in lost.items()}
    ratios = {model: round(error / mean[truth], 4) for model, error in mean.items()}
    return {"truth": truth, "shape": list(shape), "sets": sets, "ratios": ratios}


def drawn_mixed(seed, n, n_items):
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


def mixed(n, n_items, sets):
    """How often intervals of mixed items hold what was drawn."""
    held, of_abilities, weights = [], [], []
    for seed in range(sets):
        table, slope, theta = drawn_mixed(seed, n, n_items)
        result = irtkit.fit(table, levels=True, progress=False)
        off = (result.parameters.discrimination - slope) / result.standard_errors[:, 0]
        held.append((np.abs(off) <= HALF_WIDTH).reshape(3, -1).mean(axis=1))
        of_abilities.append(
            np.mean(np.abs(result.ability - theta) <= HALF_WIDTH * result.ability_se)
        )
        weights.append(1 / (result.settings.trial_correlation or np.inf))
    shares = np.mean(held, axis=0).round(4).tolist()
    return {
        "shape": [n, n_items],
        "sets": sets,
        "slopes": dict(zip(("binary", "fractions", "levels"), shares, strict=True)),
        "abilities": round(float(np.mean(of_abilities)), 4),
        "weight": round(float(np.mean(weights)), 2),
    }


def rubrics(sets=40):
    """Ordered levels."""

    def by_model(settings):
        return ((model, setting) for model in MODELS for setting in part(settings, 0))

    return {
        "seconds": (seconds(m, shape[:3], shape[3]) for m, shape in by_model(SECONDS)),
        "coverage": (coverage_of_levels(m, shape, sets) for m, shape in by_model(COVERAGE)),
        "fractions": (fractions(m, shape, sets) for m, shape in by_model(FRACTIONS)),
        "mixed": (mixed(*shape, sets // 2) for shape in part(MIXED, 0)),
    }


class Trials(NamedTuple):
    """Matrices of one kind, and the fit they get."""

    n_respondents: int
    n_items: int
    trials: tuple[int, ...]
    """Numbers of trials that cells have, each as often; 0 is a missing cell."""
    correlation: float
    kind: Literal["beta", "copies"] = "beta"
    n_data_sets: int = 40
    true_model: ModelName = "2PL"
    model: ModelName = "2PL"
    method: Literal["em", "vi"] = "em"


UNEVEN = (0, 1, 2, 5, 10)
TRIALS = (
    Trials(300, 40, (5,), 0.0, n_data_sets=200),
    *(Trials(300, 40, (5,), rho) for rho in (0.2, 0.5, 1.0)),
    *(Trials(300, 40, (5,), rho, "copies") for rho in (0.2, 0.5)),
    *(Trials(30, 50, (5,), rho, n_data_sets=n) for rho, n in ((0.0, 200), (0.2, 40), (1.0, 40))),
    *(Trials(12, 400, (5,), rho, n_data_sets=n) for rho, n in ((0.0, 100), (0.2, 40), (1.0, 40))),
    *(Trials(60, 40, (50,), rho, n_data_sets=n) for rho, n in ((0.0, 100), (0.2, 40), (1.0, 40))),
    *(Trials(300, 40, UNEVEN, rho, n_data_sets=n) for rho, n in ((0.0, 200), (0.2, 40), (1.0, 40))),
    *(Trials(6, 60, (10**6,), rho, n_data_sets=10) for rho in (0.001, 0.2)),
    *(Trials(300, 40, (5,), rho, "beta", 20, method="vi") for rho in (0.0, 0.2, 1.0)),
    *(Trials(500, 30, (5,), rho, "beta", 20, "3PL", "3PL") for rho in (0.0, 0.2, 1.0)),
    *(Trials(300, 40, (5,), rho, "beta", 20, "1PL", "1PL") for rho in (0.0, 0.2)),
    Trials(300, 40, (5,), 0.0, "beta", 20, "2PL", "1PL"),
    Trials(60, 40, (50,), 0.0, "beta", 20, "2PL", "1PL"),
)


def draw_trials(setting, seed):
    """Abilities and counts, drawn anew from a seed."""
    generator = np.random.default_rng([seed, *setting[:2]])
    n_items, rho = setting.n_items, setting.correlation
    slope = generator.lognormal(0, 0.0 if setting.true_model == "1PL" else 0.3, n_items)
    if setting.model == setting.true_model == "2PL":
        slope[generator.permutation(n_items)[: round(0.05 * n_items)]] *= -1
    guessing = generator.uniform(0.1, 0.3, n_items) if setting.true_model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)
    ability = generator.normal(size=setting.n_respondents)
    p = items.probability(ability)
    trials = generator.choice(setting.trials, p.shape)
    copied = generator.random(p.shape) < (rho if setting.kind == "copies" else float(rho == 1))
    if setting.kind == "beta" and 0 < rho < 1:
        p = generator.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho)
    right = np.where(
        copied, trials * (generator.random(p.shape) < p), generator.binomial(trials, p)
    )
    return ability, irtkit.ResponseMatrix.from_counts(right, trials)


def of_trials(setting, seed):
    """The estimated correlation, and the share of abilities that intervals hold."""
    ability, responses = draw_trials(setting, seed)
    result = irtkit.fit(responses, setting.model, method=setting.method, progress=False)
    off = np.abs(result.ability - (ability - ability.mean()) / ability.std())
    held = (off <= 1.96 * result.board_se).mean()
    return {"correlation": result.settings.trial_correlation, "ability": held}


def repeated_trials(data_sets=0):
    """Errors where repeated trials repeat each other."""
    chosen = part(TRIALS, 7, 10)
    planned = [t._replace(n_data_sets=data_sets or t.n_data_sets) for t in chosen]
    rows = zip(planned, study(planned, of_trials), strict=True)
    return {
        "studies": (
            {
                "study": trials._asdict(),
                "correlation": row["correlation"],
                "ability": {"coverage": row["ability"]},
            }
            for trials, row in rows
        )
    }


if __name__ == "__main__":
    run(scores, rubrics, repeated_trials)
