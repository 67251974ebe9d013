"""Difficulty: comparisons of models, predictions from features, curves, alarms and trends.

`held_out`: what a comparison claims of models, and of systems that change places.
`difficulty_prediction`: six sets of the AAAI-22 paper (from ``../shared/data``; skipped where that
is not) and the digits crowd. What else tells the answers is left out of the features; of SST
nothing but an order of the sentences is stored, so that it shows what comes out where nothing can
be predicted. `expected_difficulty`: how many answers predicted difficulties are worth. `curves`:
intervals of characteristic curves, and alarms of `irtkit.expected_performance`. `trend`: trends,
horizons and ranks given these items.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED, part, whole
from scipy.stats import spearmanr
from simulated import flipped, with_missing
from sklearn.datasets import load_digits
from study import run, study

import irtkit
from irtkit.curves.answered import Answered
from irtkit.curves.characteristic import range_of, ranges_of
from irtkit.difficulty.comparison import errors_needed, of_predictions
from irtkit.prediction import difficulty_targets

SLOPES = {"equal": 0.0, "unequal": 0.5, "negative": 0.3}
"""SD of the logarithms of slopes; those that are not equal are below 0 for 7 % of the items."""


class Sample(NamedTuple):
    """How data are drawn."""

    data: str
    respondents: int
    items: int
    abilities: str = "normal"
    slopes: str = "equal"
    missing: float = 0.0


CLAIMS = (
    Sample("1PL", 300, 100),
    Sample("1PL, skewed", 300, 100, "skewed"),
    Sample("1PL, SD 3", 300, 100, "wide"),
    Sample("1PL", 30, 50),
    Sample("1PL", 12, 2000),
    Sample("7 % negative", 200, 1000, slopes="negative"),
    Sample("7 % negative", 30, 500, slopes="negative"),
)
SYSTEMS = (
    *((30, 50, "normal", 0.0), (30, 50, "normal", 0.3), (100, 200, "normal", 0.0)),
    *((100, 200, "normal", 0.7), (12, 2000, "normal", 0.0), (12, 20_000, "normal", 0.0)),
    *((200, 1000, "normal", 0.0), (300, 100, "wide", 0.0), (300, 100, "skewed", 0.0)),
    *((8, 300, "normal", 0.0), (50, 300, "families", 0.0), (200, 500, "families", 0.0)),
)
MANY_CELLS = 100_000


def drawn(case, seed):
    """Responses and abilities."""
    _, n, m, abilities, slopes, missing = case
    g, spread = np.random.default_rng([seed, n, m]), SLOPES[slopes]
    theta = g.exponential(size=n) - 1 if abilities == "skewed" else g.normal(size=n)
    theta *= 3 if abilities == "wide" else 1
    size = n // (5 if n < 100 else 10) if abilities == "families" else 1
    theta = np.repeat(theta[: n // size], size)
    slope = g.lognormal(0, spread, m)
    slope[: round(0.07 * m) if spread else 0] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, g.normal(size=m))
    values = irtkit.simulate_responses(items, theta, seed=g).values
    if size > 1:
        values = flipped(g, np.repeat(values[::size], size, axis=0), 0.02)
    if missing:
        values = with_missing(g, values, missing)
    return irtkit.ResponseMatrix(values), theta


def claims(case, seed):
    """Whether a model is said to predict better."""
    models = ["2PL"]
    if case.respondents * case.items <= MANY_CELLS:  # those that are compared unasked
        models.append("3PL")
    table = irtkit.difficulty.held_out_predictions(drawn(case, seed)[0], models)
    codes = [finding.code for finding in of_predictions(table)]
    return {"claims": codes.count("predicts-better")}


def moves(case, seed):
    """Pairs in which the one with fewer right is said to be abler; wrong pairs."""
    made, theta = drawn(case, seed)
    fit = irtkit.fit(made, "2PL", standard_errors=False, progress=False)
    accuracy, needed = fit.counts.accuracy, errors_needed(fit.near_duplicates)
    beyond = fit.ability[:, None] - fit.ability
    beyond /= np.hypot(fit.posterior_sd[:, None], fit.posterior_sd)
    pairs = (beyond > needed) & (accuracy[:, None] < accuracy)
    wrong = pairs & (theta[:, None] <= theta)
    return {"with pairs": pairs.any(), "pairs": pairs.sum(), "wrong": wrong.sum()}


def held_out(sets=20):
    """What a comparison claims of models and of systems."""
    cases = [
        Sample("systems", n, m, abilities, slopes, missing)
        for n, m, abilities, missing in part(SYSTEMS, 0)
        for slopes in ("equal", "unequal")
    ]
    totals = ("claims", "with pairs", "pairs", "wrong")
    return {
        "claims": study(part(CLAIMS, 0), claims, sets, totals=totals, count="sets"),
        "systems": study(cases, moves, sets, totals=totals, count="sets"),
    }


SETS = ("liver-disorders", "diabetes", "sat", "SST", "tptp", "optdigits")
NOT_FEATURES = [
    *("class", "label", "Truth_SAT", "Truth_UNSAT", "meanACC", "Dffclt", "source_name", "batch"),
    *("real_total", "real_total_dedup", "rnd_total"),
]
INTERVALS_BY = "gradient boosting"


def of_paper(name):
    """Features and responses of a set of the paper, duplicates dropped."""
    items = pd.read_csv(SHARED / f"aid_{name}_reference_items.csv.gz")
    table = pd.read_csv(SHARED / f"aid_{name}.csv.gz", index_col=0)
    known = pd.read_csv(SHARED / f"aid_{name}_respondents.csv.gz", index_col=0)
    first = (known.loc[table.index, "exact_duplicate"] == 0).to_numpy()
    responses = irtkit.ResponseMatrix.from_frame(table[first][items["item"]])
    features = items.set_index("item").drop(columns=NOT_FEATURES, errors="ignore")
    if not features.shape[1]:
        features["place"] = np.arange(len(features))
    return features, responses


def of_crowd():
    """Pixels and responses of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    pixels = pd.DataFrame(load_digits().data, index=crowd.labels.index)
    return pixels.rename(columns="pixel{}".format), crowd.responses


def rank_correlation(features, targets):
    """Of predicted difficulties with fitted ones, on one division."""
    held = np.random.default_rng(5).permutation(len(features)) < 0.3 * len(features)
    forest = irtkit.DifficultyPredictor(folds=0).fit(features[~held], targets)
    predicted = forest.predict(features[held])["predicted"]
    return float(spearmanr(predicted, targets["1PL"].to_numpy()[held]).statistic)


def interval_coverage(features, targets, draws):
    """Share of held-out items that intervals of 90 % hold."""
    shares = []
    for seed in range(draws):
        held = np.random.default_rng(seed).permutation(len(features)) < 0.3 * len(features)
        predictor = irtkit.DifficultyPredictor(INTERVALS_BY, seed=seed)
        found = predictor.fit(features[~held], targets).predict(features[held])
        shares.append(targets["1PL"][held].between(found["low"], found["high"]).mean())
    return float(np.mean(shares))


def difficulty_prediction(draws=5):
    """How well difficulty is predicted from features."""

    def predicted(name):
        features, responses = of_crowd() if name == "digits crowd" else of_paper(name)
        targets = difficulty_targets(responses)
        ranks = {"irtkit": rank_correlation(features, targets)}
        coverage = interval_coverage(features, targets, draws)
        return {"set": name, "spearman": ranks, "coverage": coverage}

    names = ("digits crowd", *(SETS if SHARED.is_dir() else ()))
    return {"draws": draws, "sets": map(predicted, part(names, min(1, len(names) - 1)))}


ANSWERS = (1, 2, 4, 8, 16, 32, 64)
REGRESSOR = "random forest"


def with_few_answers(responses, new, answers, generator):
    """The responses, with so many answers by systems drawn at random left of every new item."""
    values = responses.values.copy()
    order = generator.random(values.shape).argsort(axis=0)
    values[(order >= answers) & new] = -1
    return irtkit.ResponseMatrix(values, responses.respondents, responses.items)


def fitted(responses, difficulty_mean=None):
    """Intercepts of the 1PL."""
    prior = irtkit.WeakPrior(difficulty_mean=difficulty_mean)
    result = irtkit.fit(responses, "1PL", prior=prior, standard_errors=False, progress=False)
    return result.parameters.intercept


def one_draw(responses, features, true, seed):
    """Errors with so many answers, by the weak prior and with predictions."""
    generator = np.random.default_rng(seed)
    new = generator.permutation(len(features)) < len(features) // 2
    old = irtkit.ResponseMatrix(
        responses.values[:, ~new], responses.respondents, features.index[~new]
    )
    result = irtkit.fit(old, "1PL", progress=False)
    predictor = irtkit.DifficultyPredictor(REGRESSOR, target="Rasch", folds=5, seed=seed)
    priors = {
        "weak prior": None,
        "with predictions": predictor.fit(features[~new], result).prior_mean(features),
    }
    rows = []
    for answers in ANSWERS:
        few, row = with_few_answers(responses, new, answers, generator), {"answers": answers}
        for way, prior in priors.items():
            row[way] = np.mean((fitted(few, prior)[new] - true[new]) ** 2) ** 0.5
        rows.append(row)
    return rows


def worth(table):
    """Answers that the weak prior needs for the errors that predictions have with fewer."""
    weak, predicted = (np.log(table[way]) for way in ("weak prior", "with predictions"))
    order = np.argsort(weak.to_numpy())
    answers = np.log(table.index.to_numpy(dtype=float))
    return np.exp(np.interp(predicted, weak.to_numpy()[order], answers[order]))


def expected_difficulty(draws=5):
    """How many answers predicted difficulties are worth."""
    features, responses = of_crowd()
    true = fitted(responses)
    several = [one_draw(responses, features, true, seed) for seed in range(draws)]
    table = pd.DataFrame([row for rows in several for row in rows]).groupby("answers").mean()
    table["worth"] = worth(table)
    curves = {"1PL": table.reset_index().to_dict("records")}
    return {"draws": draws, "regressor": REGRESSOR, "curves": curves}


CURVES = ((12, 1000, 1, 0.0), (12, 300, 5, 0.0), (50, 500, 1, 0.0), (50, 500, 1, 0.3))
"""Systems, items, trials, share missing."""


class Alarms(NamedTuple):
    """Of alarms."""

    difficulties: str
    model: Any
    """Of the fit that they are of."""
    n: int
    """Systems."""
    n_old: int
    """Original items."""


ALARMS = (
    *(Alarms("known", "", 20, 100), Alarms("known", "", 20, 500)),
    *(Alarms("known, 5 trials", "", 20, 500), Alarms("predicted", "", 20, 500)),
    *(Alarms("fitted", "1PL", 40, 500), Alarms("fitted", "2PL", 40, 500)),
    Alarms("fitted", "2PL", 100, 500),
)
N_NEW = 500


def items_of(n, generator, mean=0.0):
    """Items of a 2PL."""
    difficulty = generator.normal(mean, 1, n)
    return irtkit.ItemParameters.from_difficulty(generator.lognormal(0, 0.3, n), difficulty)


def curve_coverage(case, seed):
    """Shares of intervals that hold the truth."""
    n, n_items, trials, missing = case.values()
    generator = np.random.default_rng([seed, n, n_items])
    items, abilities = items_of(n_items, generator), generator.normal(size=n)
    p = items.probability(abilities)
    settings = {"missing": missing, "trials": trials, "seed": generator}
    responses = irtkit.simulate_responses(items, abilities, **settings)
    result = irtkit.fit(responses, standard_errors=False, progress=False)
    found = {}
    for name, given in (("without", None), ("of all", result.items["difficulty"])):
        data = Answered.of(result, given, "difficulties", seed=0)
        edges = ranges_of(data.difficulty, 10, "quantile")
        curves = irtkit.characteristic_curves(result, difficulties=given)
        true = np.full((n, len(edges) - 1), np.nan)
        for row in range(n):
            answered = data.part(row)
            number = range_of(edges, answered.difficulty)
            for k in np.unique(number):
                true[row, k] = p[row, answered.items[number == k]].mean()
        bounds = curves.table[["accuracy_low", "accuracy_high"]].to_numpy().reshape(*true.shape, 2)
        held = np.isnan(true) | ((bounds[..., 0] <= true) & (true <= bounds[..., 1]))
        found[name] = held.mean()
    return found


def alarms(setting, harder, n_sets):
    """Share of systems with an alarm, without and with a drop of one unit of ability."""
    kind, model, n, n_old = setting
    both = [_alarms(setting, harder, seed) for seed in range(n_sets)]
    calm, worse = (pd.concat([one[drop] for one in both]) for drop in (0, 1))
    return {
        "difficulties": f"{kind} {model}".strip(),
        "systems": n,
        "items": n_old,
        "harder": harder,
        "n": len(calm),
        "alarm": float(calm["alarm"].mean()),
        "power": float(worse["alarm"].mean()),
    }


def _alarms(setting, harder, seed):
    """Expected and observed performance of some systems, as they were and a unit less able."""
    kind, model, n, n_old = setting
    generator = np.random.default_rng([seed, n, n_old])
    means = np.repeat([0.0, harder], [n_old, N_NEW])
    known = generator.normal(means, 0.8 if kind == "predicted" else 1.0)
    true = known + (generator.normal(0, 0.6, len(known)) if kind == "predicted" else 0.0)
    slope = generator.lognormal(0, 0.3, len(known))
    items = irtkit.ItemParameters.from_difficulty(slope, true)
    abilities, trials = generator.normal(size=n), 5 if "trials" in kind else 1
    labels = np.array([f"item-{k}" for k in range(len(known))])
    names = [f"system-{k}" for k in range(n)]

    def answers(theta):
        return generator.binomial(trials, items.probability(theta)).astype(np.float64)

    def matrix(right, which):
        counts = right[:, which], np.full(right[:, which].shape, trials)
        return irtkit.ResponseMatrix.from_counts(*counts, names[: len(right)], labels[which])

    before, new = answers(abilities), np.arange(n_old, len(known))
    after = [answers(abilities - drop) for drop in (0.0, 1.0)]
    if kind != "fitted":
        given = pd.Series(known, labels)
        old = matrix(before, np.arange(n_old))
        settings = {"difficulties": given, "original_difficulties": given}
        return [irtkit.expected_performance(old, matrix(one, new), **settings) for one in after]
    few, values = n // 4, before.astype(np.float64)
    values[:few, n_old:] = np.nan
    responses = irtkit.ResponseMatrix(values, names, labels)
    result = irtkit.fit(responses, model, progress=False)
    return [irtkit.expected_performance(result, matrix(one[:few], new)) for one in after]


def curves(sets=40):
    """Characteristic curves, and alarms of expected performance."""

    def of_alarms(setting, harder):
        # of a fit a quarter of the systems has new items: 25 n systems, and 60 n of others
        n_sets = 100 * sets // setting.n if setting.difficulties == "fitted" else 3 * sets
        return alarms(setting, harder, max(n_sets, 1))

    names = ("systems", "items", "trials", "missing")
    matrices = [dict(zip(names, shape, strict=True)) for shape in part(CURVES, 0)]
    cases = [(setting, harder) for setting in part(ALARMS, 0) for harder in (0.0, 1.0)]
    return {
        "curves": study(matrices, curve_coverage, sets, count="sets"),
        "alarms": (of_alarms(*case) for case in cases),
    }


SLOPE, RESIDUAL = 0.8, 0.6
OF_LENGTH, SPREAD, PER_YEAR = 0.6, 1.5, 1.5


def answers(logits, generator):
    """Right and wrong answers, 1 and 0."""
    return (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float64)


def trends(seed, *, harder):
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


def horizons(seed):
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


def ranks(n, n_items, missing, seed):
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


def trend(sets=100):
    """Trends, horizons, and ranks given these items."""
    rows = []
    for harder in part((False, True), 0):
        several = [trends(seed, harder=harder) for seed in range(sets)]
        for name in several[0]:
            slope, held = np.array([found[name] for found in several]).T
            answered = "harder ones by later systems" if harder else "at random"
            rows.append(
                {
                    "items answered": answered,
                    "method": name,
                    "mean slope": float(slope.mean()),
                    "error of the mean": float(slope.std() / sets**0.5),
                    "coverage": float(held.mean()),
                }
            )
    names = ["coverage of p50", "mean error, doublings", "slope / true slope", "SD / true SD"]
    names += ["days / true days", "coverage of days"]
    if whole():
        of_horizons = np.array([horizons(seed) for seed in range(sets)])
        rows.append(dict(zip(names, np.nanmean(of_horizons, axis=0).tolist(), strict=True)))
    for n, n_items, missing in part(((222, 57, 0.82), (100, 50, 0.0)), 1):
        of_ranks = np.array([ranks(n, n_items, missing, k) for k in range(sets // 4)])
        coverage, width = of_ranks.mean(axis=0).tolist()
        shape = {"systems": n, "items": n_items, "missing": missing}
        rows.append({**shape, "coverage of ranks": coverage, "median width": width})
    return {"studies": rows}


if __name__ == "__main__":
    run(held_out, difficulty_prediction, expected_difficulty, curves, trend)
