"""Difficulty: comparisons of models, predictions from features, curves, alarms and trends.

`held_out`: what a comparison claims of models, and of systems that change places.
`difficulty_prediction`: six sets of the AAAI-22 paper (from ``../shared/data``; skipped where that
is not) and the digits crowd. What else tells the answers is left out of the features; of SST
nothing but an order of the sentences is stored, so that it shows what comes out where nothing can
be predicted. `expected_difficulty`: how many answers predicted difficulties are worth. `curves`:
intervals of characteristic curves, and alarms of `irtkit.expected_performance`. `trend`: trends,
horizons and ranks given these items.
"""

from collections import namedtuple

import numpy as np
import pandas as pd
from machine import SHARED, part, whole
from scipy.special import expit
from scipy.stats import spearmanr
from simulated import AAAI22, aaai22, answers, flipped, items_of, with_missing
from sklearn.datasets import load_digits
from study import run, study

import irtkit
from irtkit.curves.answered import Answered
from irtkit.curves.characteristic import range_of, ranges_of
from irtkit.difficulty.comparison import errors_needed, of_predictions
from irtkit.prediction import difficulty_targets

SLOPES = {"equal": 0.0, "unequal": 0.5, "negative": 0.3}
"""SD of the logarithms of slopes; those that are not equal are below 0 for 7 % of the items."""


Sample = namedtuple(
    "Sample", "data respondents items abilities slopes missing", defaults=("normal", "equal", 0.0)
)
CLAIMS = (
    *(Sample("1PL", 300, 100), Sample("1PL, skewed", 300, 100, "skewed")),
    *(Sample("1PL, SD 3", 300, 100, "wide"), Sample("1PL", 30, 50), Sample("1PL", 12, 2000)),
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
    items = items_of(g, m, spread=spread)
    negative = np.where(np.arange(m) < (round(0.07 * m) if spread else 0), -1, 1)
    items = irtkit.ItemParameters.from_difficulty(negative * items.discrimination, items.difficulty)
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
    beyond /= np.hypot(fit.board_se[:, None], fit.board_se)
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


NOT_FEATURES = [
    *("class", "label", "Truth_SAT", "Truth_UNSAT", "meanACC", "Dffclt", "source_name", "batch"),
    *("real_total", "real_total_dedup", "rnd_total"),
]
INTERVALS_BY = "gradient boosting"


def of_paper(name):
    """Features and responses of a set of the paper, duplicates dropped."""
    items, table = aaai22(name)
    features = items.set_index("item").drop(columns=NOT_FEATURES, errors="ignore")
    if not features.shape[1]:
        features["place"] = np.arange(len(features))
    return features, irtkit.ResponseMatrix.from_frame(table)


def of_crowd():
    """Pixels and responses of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    pixels = pd.DataFrame(load_digits().data, index=crowd.labels.index)
    return pixels.rename(columns="pixel{}".format), crowd.responses


def predicted(name, draws):
    """Rank correlation of predicted and fitted difficulties, and coverage of intervals of 90 %."""
    features, responses = of_crowd() if name == "digits crowd" else of_paper(name)
    targets = difficulty_targets(responses)

    def of_division(division, **settings):
        held = np.random.default_rng(division).permutation(len(features)) < 0.3 * len(features)
        predictor = irtkit.DifficultyPredictor(**settings).fit(features[~held], targets)
        return predictor.predict(features[held]), targets["1PL"][held]

    found, fitted = of_division(5, folds=0)
    forest = spearmanr(found["predicted"], fitted).statistic
    shares = []
    for seed in range(draws):
        found, fitted = of_division(seed, regressor=INTERVALS_BY, seed=seed)
        shares.append(fitted.between(found["low"], found["high"]).mean())
    return {"set": name, "forest": forest, "coverage": np.mean(shares)}


def difficulty_prediction(draws=5):
    """How well difficulty is predicted from features."""
    names = ("digits crowd", *(AAAI22 if SHARED.is_dir() else ()))
    chosen = part(names, min(1, len(names) - 1))
    return {"draws": draws, "sets": (predicted(name, draws) for name in chosen)}


ANSWERS = (1, 2, 4, 8, 16, 32, 64)
REGRESSOR = "random forest"


def intercepts(responses, difficulty_mean=None):
    """Intercepts of the 1PL."""
    prior = irtkit.WeakPrior(difficulty_mean=difficulty_mean)
    result = irtkit.fit(responses, "1PL", prior=prior, standard_errors=False, progress=False)
    return result.parameters.intercept


def one_draw(responses, features, true, seed):
    """Errors with so many answers to new items, by the weak prior and with predictions."""
    generator = np.random.default_rng(seed)
    new = generator.permutation(len(features)) < len(features) // 2
    old = irtkit.ResponseMatrix(
        responses.values[:, ~new], responses.respondents, features.index[~new]
    )
    result = irtkit.fit(old, "1PL", progress=False)
    predictor = irtkit.DifficultyPredictor(REGRESSOR, target="Rasch", folds=5, seed=seed)
    means = predictor.fit(features[~new], result).prior_mean(features)
    for n_answers in ANSWERS:
        values = responses.values.copy()
        order = generator.random(values.shape).argsort(axis=0)
        values[(order >= n_answers) & new] = -1
        few = irtkit.ResponseMatrix(values, responses.respondents, responses.items)
        row = {"answers": n_answers}
        for way, mean in (("weak prior", None), ("with predictions", means)):
            row[way] = np.mean((intercepts(few, mean)[new] - true[new]) ** 2) ** 0.5
        yield row


def expected_difficulty(draws=5):
    """How many answers predicted difficulties are worth."""
    features, responses = of_crowd()
    true = intercepts(responses)
    rows = [row for seed in range(draws) for row in one_draw(responses, features, true, seed)]
    table = pd.DataFrame(rows).groupby("answers", as_index=False).mean()
    # answers that the weak prior needs for the errors that predictions have with fewer
    columns = ["weak prior", "with predictions", "answers"]
    weak, with_fewer, n_answers = np.log(table[columns]).to_numpy().T
    order = np.argsort(weak)
    table["worth"] = np.exp(np.interp(with_fewer, weak[order], n_answers[order]))
    return {"draws": draws, "regressor": REGRESSOR, "curves": table.to_dict("records")}


Matrix = namedtuple("Matrix", "systems items trials missing")
CURVES = (
    *(Matrix(12, 1000, 1, 0.0), Matrix(12, 300, 5, 0.0)),
    *(Matrix(50, 500, 1, 0.0), Matrix(50, 500, 1, 0.3)),
)
Alarms = namedtuple("Alarms", "difficulties systems items harder n_data_sets")
"""Where difficulties are from, and sizes of the original data."""
ALARMS = (
    *(("known", 20, 100), ("known", 20, 500), ("known, 5 trials", 20, 500)),
    *(("predicted", 20, 500), ("fitted 1PL", 40, 500), ("fitted 2PL", 40, 500)),
    ("fitted 2PL", 100, 500),
)
N_NEW = 500


def curve_coverage(case, seed):
    """Shares of intervals that hold the truth."""
    n, n_items, trials, missing = case
    generator = np.random.default_rng([seed, n, n_items])
    difficulty, slope = generator.normal(size=n_items), generator.lognormal(0, 0.3, n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
    abilities = generator.normal(size=n)
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


def alarms(case, seed):
    """Shares of systems with an alarm, as they were and a unit of ability less able."""
    kind, n, n_old, harder, _ = case
    generator = np.random.default_rng([seed, n, n_old])
    means = np.repeat([0.0, harder], [n_old, N_NEW])
    known = generator.normal(means, 0.8 if kind == "predicted" else 1.0)
    true = known + (generator.normal(0, 0.6, len(known)) if kind == "predicted" else 0.0)
    slope = generator.lognormal(0, 0.3, len(known))
    items = irtkit.ItemParameters.from_difficulty(slope, true)
    abilities, trials = generator.normal(size=n), 5 if "trials" in kind else 1
    labels = np.array([f"item-{k}" for k in range(len(known))])
    names = [f"system-{k}" for k in range(n)]

    def right(theta):
        return generator.binomial(trials, items.probability(theta)).astype(np.float64)

    def matrix(right, which):
        counts = right[:, which], np.full(right[:, which].shape, trials)
        return irtkit.ResponseMatrix.from_counts(*counts, names[: len(right)], labels[which])

    before, new = right(abilities), np.arange(n_old, len(known))
    same, worse = (right(abilities - drop) for drop in (0.0, 1.0))
    if kind.startswith("fitted"):
        few, settings = n // 4, {}
        before[:few, n_old:] = np.nan
        responses = irtkit.ResponseMatrix(before, names, labels)
        old = irtkit.fit(responses, kind.removeprefix("fitted "), progress=False)
    else:
        few, given = n, pd.Series(known, labels)
        settings = {"difficulties": given, "original_difficulties": given}
        old = matrix(before, np.arange(n_old))
    return {
        name: irtkit.expected_performance(old, matrix(one[:few], new), **settings)["alarm"].mean()
        for name, one in (("alarm", same), ("power", worse))
    }


def curves(sets=40):
    """Characteristic curves, and alarms of expected performance."""
    cases = []
    for kind, n, n_old in part(ALARMS, 0):
        # of a fit a quarter of the systems has new items: 25 n systems, and 60 n of others
        n_sets = 100 * sets // n if kind.startswith("fitted") else 3 * sets
        cases += [Alarms(kind, n, n_old, harder, max(n_sets, 1)) for harder in (0.0, 1.0)]
    return {
        "curves": study(part(CURVES, 0), curve_coverage, sets, count="sets"),
        "alarms": study(cases, alarms),
    }


SLOPE, RESIDUAL = 0.8, 0.6
OF_LENGTH, SPREAD, PER_YEAR = 0.6, 1.5, 1.5


def trends(case, seed):
    """Slope and whether the interval holds 0.8, by one method."""
    g = np.random.default_rng(seed)
    x = g.normal(size=60)
    x = (x - x.mean()) / x.std()
    ability = SLOPE * x + RESIDUAL * g.normal(size=60)
    items = items_of(g, 40)
    values = answers(g, items.probability(ability)).astype(float)
    key = g.random(values.shape)
    if case.answered != "at random":
        off = items.difficulty - SLOPE * x[:, None]
        key = 0.7 * g.normal(size=values.shape) - np.abs(off)
    values[np.argsort(np.argsort(-key, axis=1), axis=1) >= 12] = np.nan
    result = irtkit.fit(values)
    if case.method == "latent regression":
        trend = irtkit.trend(result, 2020 + x)
        return {"mean slope": trend.slope, "coverage": trend.low < SLOPE < trend.high}
    line, errors = np.polyfit(x, result.ability, 1, cov=True)
    half = 2.0 * errors[0, 0] ** 0.5
    return {"mean slope": line[0], "coverage": abs(line[0] - SLOPE) < half}


def horizons(_, seed):
    """Coverage of p50, its mean error in doublings, and figures of the line and the doubling."""
    g = np.random.default_rng(seed)
    year = 2023 + 3 * g.random(16)
    ability = PER_YEAR * (year - 2024.5) + 0.5 * g.normal(size=16)
    length = g.uniform(-2, 9, 120)
    difficulty = OF_LENGTH * (length - 3.5) + SPREAD * g.normal(size=120)
    result = irtkit.fit(answers(g, expit(ability[:, None] - difficulty)), "1PL")
    found = irtkit.horizon(result, 2.0**length, year)
    table = found.systems.loc[list(result.respondent_labels)]
    true, doubling = 2.0 ** (ability / OF_LENGTH + 3.5), found.doubling_time
    kept = (table["status"] == "ok").to_numpy()
    held = (table["p50_low"].to_numpy() < true) & (true < table["p50_high"].to_numpy())
    days = 365.25 * OF_LENGTH / PER_YEAR
    return {
        "coverage of p50": held[kept].mean(),
        "mean error, doublings": np.log2(table["p50"].to_numpy() / true)[kept].mean(),
        "slope / true slope": found.slope / OF_LENGTH,
        "SD / true SD": found.residual_sd / SPREAD,
        "days / true days": None if doubling is None else doubling[0] / days,
        "coverage of days": doubling is not None and doubling[1] < days < doubling[2],
    }


def ranks(case, seed):
    """Share of true ranks within their interval, and the median width."""
    n, n_items, missing = case
    g = np.random.default_rng(seed)
    ability = g.normal(size=n)
    p = items_of(g, n_items).probability(ability)
    trials = np.where(g.random(p.shape) < missing, 0, 25)
    result = irtkit.fit(irtkit.ResponseMatrix.from_counts(g.binomial(trials, p), trials))
    board = result.leaderboard(of="these").reindex(list(result.respondent_labels))
    rank = 1 + np.argsort(np.argsort(-ability))
    known = board["rank"].notna().to_numpy()
    low, high = board["rank_low"].to_numpy(), board["rank_high"].to_numpy()
    held = (low <= rank) & (rank <= high)
    width = np.median((high - low)[known]) + 1
    return {"coverage of ranks": held[known].mean(), "median width": width}


Regression = namedtuple("Regression", "answered method")
Ranked = namedtuple("Ranked", "systems items missing")


def trend(sets=100):
    """Trends, horizons, and ranks given these items."""
    regressions = [
        Regression(answered, method)
        for answered in part(("at random", "harder ones by later systems"), 0)
        for method in ("regression of abilities", "latent regression")
    ]
    boards = [Ranked(*board) for board in part(((222, 57, 0.82), (100, 50, 0.0)), 1)]
    return {
        "slopes": study(regressions, trends, sets),
        "horizons": study(["1PL"] if whole() else [], horizons, sets),
        "ranks": study(boards, ranks, sets // 4),
    }


if __name__ == "__main__":
    run(held_out, difficulty_prediction, expected_difficulty, curves, trend)
