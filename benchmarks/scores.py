"""Scores between 0 and 1, ordered levels, and repeated trials: whether their intervals hold.

`scores`: published boards, if they are there, with 10 % of the cells held out, and scores drawn
from several families. `rubrics`: the GPCM and the GRM, and items of three kinds in one fit.
`repeated_trials`: trials of a cell are correlated given ability and item: "beta", the cell has a
probability of its own; "copies", the runs of a share of the cells are one run copied. The 1PL is
fitted to a 2PL once more: what a model misses repeats itself from trial to trial as well.
"""

import time
from collections import namedtuple

import numpy as np
import pandas as pd
from machine import SHARED, part
from scipy.special import expit
from simulated import answers, levels_of
from study import means, run, study

import irtkit

_SPLITS, _HALVES = 8, 20
_SHAPES = ((30, 30, 0.0, 60), (100, 50, 0.0, 40), (222, 57, 0.82, 40), (100, 500, 0.0, 20))
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def _beta(p, trials, generator):
    """Scores of the variance of a share of so many trials."""
    return np.asarray(generator.beta((trials - 1) * p, (trials - 1) * (1 - p)))


FAMILIES = {
    "0 and 1": lambda p, g: answers(g, p),
    "16 trials": lambda p, g: g.binomial(16, p) / 16,
    "16 trials worth 4": lambda p, g: g.binomial(16, g.beta(4 * p, 4 * (1 - p))) / 16,
    "beta, 8": lambda p, g: _beta(p, 8, g),
    "beta, by item": lambda p, g: _beta(p, 1 + np.exp(g.normal(np.log(7), 0.8, p.shape[1])), g),
    "beta, 6, quarters": lambda p, g: np.round(4 * _beta(p, 6, g)) / 4,
    "beta, 8, 30 % marks": lambda p, g: np.where(
        g.random(p.shape) < 0.3, g.random(p.shape) < p, _beta(p, 8, g)
    ),
}


Scores = namedtuple("Scores", "family n n_items missing n_data_sets")


def expected(result):
    """Mean of P over the posterior of ability."""
    slope, intercept = result.parameters.discrimination, result.parameters.intercept
    found = np.zeros((len(result.ability), len(slope)))
    for point, weight in zip(_POINTS, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        theta = result.ability + point * result.posterior_sd
        found += weight * expit(theta[:, None] * slope + intercept)
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
    g = np.random.default_rng(seed)
    theta, slope = g.normal(size=case.n), np.exp(g.normal(0, 0.4, case.n_items))
    intercept = -slope * g.normal(size=case.n_items)
    p = expit(theta[:, None] * slope + intercept)
    scores = np.clip(FAMILIES[case.family](p, g), 0, 1).astype(float)
    if case.missing:
        scores[g.random(p.shape) < case.missing] = np.nan
    result = irtkit.fit(scores)
    row = {"trials": 1 / (result.settings.trial_correlation or 1.0)}
    for name, table, column, truth in (
        ("ability", result.respondents, "ability", theta),
        ("slopes", result.items, "discrimination", slope),
        ("intercepts", result.items, "intercept", intercept),
    ):
        error = table[f"{column}_se"]
        row[name] = ((table[column] - truth).abs() < 1.96 * error)[error > 0].mean()
    return row


def boards(data):
    """Figures of the published boards."""
    found = {}
    if (path := data / "mteb60.csv.gz").exists():
        frame = pd.read_csv(path, index_col=0)
        found["MTEB"] = of_board(frame[frame.notna().sum(axis=1) >= 15].clip(0, 1).to_numpy())
    if (path := data / "eci_scores_long.csv.gz").exists():
        frame = pd.read_csv(path).pivot_table(index="model", columns="benchmark", values="score")
        found["ECI"] = of_board(frame.to_numpy())
    return found


def scores(data=SHARED):
    """Published boards, and scores drawn from several families."""
    cases = [
        Scores(family, n, n_items, missing, sets)
        for n, n_items, missing, sets in part(_SHAPES, 0)
        for family in FAMILIES
    ]
    return {"boards": boards(data), "families": study(cases, of_family, count="sets")}


MODELS = ("GPCM", "GRM")
COVERAGE = ((1000, 20, 4), (100, 50, 5), (30, 40, 5))  # Respondents, items, levels.
SECONDS = ((2000, 500, 5, 0.0), (2000, 500, 5, 0.3), (20_000, 50, 5, 0.0), (12, 2000, 5, 0.0))
MIXED = ((300, 45), (100, 60), (30, 90))  # Respondents and items.
FRACTIONS = ((100, 50, 3), (100, 50, 5), (100, 50, 8), (100, 50, 10), (30, 20, 5), (30, 20, 10))


def drawn_levels(seed, n, n_items, n_levels, model):
    """Responses, items and abilities."""
    g = np.random.default_rng([seed, n, n_items, n_levels])
    size = {"GPCM": 3.2 / n_levels, "GRM": 1.4}[model]
    slope = size * np.exp(g.normal(0, 0.25, n_items))
    thresholds = np.linspace(-1.5, 1.5, n_levels - 1) + g.normal(0, 0.5, (n_items, 1))
    negative = np.where(np.arange(n_items) < n_items // 20, -1, 1)
    items = levels_of(negative * slope, negative[:, None] * thresholds, model)
    theta = g.normal(size=n)
    return irtkit.simulate_responses(items, theta, seed=g), items, theta


def held(estimate, true, error):
    """Which intervals hold the truth; one that does not exist holds nothing."""
    return np.abs(estimate - true) <= 1.959964 * error


def of_levels(case, seed):
    """Shares of intervals that hold what was drawn, in one data set."""
    responses, items, theta = drawn_levels(seed, *case["shape"], case["model"])
    result = irtkit.fit(responses, case["model"], progress=False)
    fitted, errors = result.parameters, result.standard_errors
    there = np.isfinite(errors)
    thresholds = held(fitted.thresholds, items.thresholds, errors[:, 4:])
    return {
        "slopes": held(fitted.discrimination, items.discrimination, errors[:, 0]).mean(),
        "thresholds": thresholds[there[:, 4:]].mean(),
        "abilities": held(result.ability, theta, result.ability_se).mean(),
    }


def seconds(model, shape):
    """CPU seconds of fits without and with standard errors."""
    *size, missing = shape
    irtkit.fit(drawn_levels(0, 100, 10, 5, model)[0], model, progress=False)  # loads what it needs
    responses, _, _ = drawn_levels(0, *size, model)
    tried = responses.trials.copy()
    tried[np.random.default_rng(0).random(tried.shape) < missing] = 0
    successes = np.minimum(responses.successes, tried)
    responses = irtkit.ResponseMatrix.from_counts(successes, tried)
    taken = []
    for errors in (False, True):
        start = time.process_time()
        irtkit.fit(responses, model, standard_errors=errors, progress=False)
        taken.append(round(time.process_time() - start, 2))
    return {"model": model, "shape": size, "missing": missing, "seconds": taken}


def lost(case, seed):
    """What abilities lose by each model: 1 less the squared correlation with the truth."""
    responses, _, theta = drawn_levels(seed, *case["shape"], case["truth"])
    shares = irtkit.ResponseMatrix(responses.scores)
    row = {}
    for model in (*MODELS, "2PL"):
        given = shares if model == "2PL" else responses
        result = irtkit.fit(given, model, standard_errors=False, progress=False)
        row[model] = 1 - np.corrcoef(result.ability, theta)[0, 1] ** 2
    return row


def drawn_mixed(seed, n, n_items):
    """Responses, slopes and abilities."""
    g, k = np.random.default_rng([seed, n, n_items, 1]), n_items // 3
    theta, slope = g.normal(size=n), g.lognormal(0, 0.3, n_items)
    p = expit(np.multiply.outer(theta, slope[: 2 * k]) + g.normal(size=2 * k))
    right, share = answers(g, p[:, :k]), g.beta(8 * p[:, k:], 8 * (1 - p[:, k:]))
    slope[2 * k :] *= 0.6
    thresholds = np.linspace(-1.5, 1.5, 3) + g.normal(0, 0.4, (k, 3))
    items = levels_of(slope[2 * k :], thresholds)
    levels = irtkit.simulate_responses(items, theta, seed=g).successes
    table = np.hstack([right, share, levels]).astype(float)
    table[g.random(table.shape) < 0.1] = np.nan
    return pd.DataFrame(table).add_prefix("item-"), slope, theta


def mixed(case, seed):
    """Shares of intervals of mixed items that hold what was drawn, in one data set."""
    table, slope, theta = drawn_mixed(seed, *case["shape"])
    result = irtkit.fit(table, levels=True, progress=False)
    slopes = held(result.parameters.discrimination, slope, result.standard_errors[:, 0])
    binary, fractions, levels = slopes.reshape(3, -1).mean(axis=1)
    return {
        "binary": binary,
        "fractions": fractions,
        "levels": levels,
        "abilities": held(result.ability, theta, result.ability_se).mean(),
        "weight": 1 / (result.settings.trial_correlation or np.inf),
    }


def rubrics(sets=40):
    """Ordered levels."""

    def cases(name, shapes):
        return [{name: model, "shape": shape} for model in MODELS for shape in part(shapes, 0)]

    def in_those_of_the_truth(row):
        ratios = {model: row.pop(model) for model in (*MODELS, "2PL")}
        return row | {model: error / ratios[row["truth"]] for model, error in ratios.items()}

    of_kinds = [{"shape": shape} for shape in part(MIXED, 0)]
    errors = study(cases("truth", FRACTIONS), lost, sets, count="sets")
    return {
        "seconds": (seconds(*case.values()) for case in cases("model", SECONDS)),
        "coverage": study(cases("model", COVERAGE), of_levels, sets, count="sets"),
        "fractions": map(in_those_of_the_truth, errors),
        "mixed": study(of_kinds, mixed, sets // 2, count="sets"),
    }


Trials = namedtuple(  # Cells have these numbers of trials, each as often; 0 is a missing cell.
    "Trials",
    "n_respondents n_items trials correlation kind n_data_sets true_model model method",
    defaults=("beta", 40, "2PL", "2PL", "em"),
)
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
    return {"found": result.settings.trial_correlation, "covered": held}


def repeated_trials():
    """Errors where repeated trials repeat each other."""
    return {"studies": study(part(TRIALS, 7, 10), of_trials)}


if __name__ == "__main__":
    run(scores, rubrics, repeated_trials)
