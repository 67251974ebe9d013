"""Scores between 0 and 1, ordered levels, and repeated trials: whether their intervals hold.

`scores`: for published boards, if they are there (an index of capabilities from 222 systems on 57
benchmarks, and the systems of MTEB with at least 15 scores on 60 tasks), over splits that hold out
10 % of the cells: the root mean square error of the expected score, that of the same scores as
counts of 100 trials, the trials that a score counts for, and the SD of z, the difference of the
abilities by either half of the cells over its error. For the index the rank correlations of
abilities with it. Then, for scores drawn from several families, the trials that a score counts for,
and how often 95 % intervals hold abilities, slopes and intercepts.

`rubrics`: matrices drawn from the GPCM or the GRM, with slopes exp(N(0, 0.25²)) times 3.2 over the
number of levels (GPCM) or 1.4 (GRM), one in twenty below 0, and thresholds around N(0, 0.5²).
"coverage": how often 95 % intervals hold slopes, thresholds, abilities, and the root mean square
errors. "seconds": CPU seconds of a fit without and with standard errors. "fractions": the same data
fitted by either model of levels and as scores between 0 and 1: 1 less the squared correlation of
abilities with the true ones, over that of the true model. "mixed": right and wrong answers of the
2PL, fractions from a beta distribution worth nine answers and four levels of the GPCM, a third of
the items each, 10 % missing, in one fit: how often 95 % intervals hold slopes of each kind and
abilities, and the mean weight of a fraction.

`repeated_trials`: every respondent tries an item several times, and the trials of a cell have a
correlation ρ given ability and item: "beta", the cell has a probability of its own, drawn from a
beta distribution around the model's; "copies", the runs of a share ρ of the cells are one run
copied, the others are independent. 5 % of the items (of the 2PL) are inverted. The 1PL is fitted to
a 2PL once more: what a model misses repeats itself from trial to trial as well. Measured are the
sets in which it was said that trials count for less, and those in which they did; the estimated ρ;
errors of ability against the other systems; how often 95 % intervals hold the ability, brought to
mean 0 and SD 1 among the respondents as that of fits is, and slopes and intercepts; beside them
what holds the ability if trials are taken as independent; the false ones among the items called
negative; and how long a fit takes, in fits that take trials as independent. Of identical runs the
fit is set beside that of one of them.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED, part
from study import run, standard_error

import irtkit
from irtkit.irf import ItemParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from study import Record, Tables

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]
    Family = Callable[[Array, np.random.Generator], Array]

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
        spread.append(float(difference_of_halves(abilities, errors_of).std()))
    mine, as_counts = np.transpose(errors)
    return {
        "RMSE, seed 0": float(mine[0]),
        "RMSE": float(mine.mean()),
        "beyond counts": float((mine - as_counts).mean()),
        "most beyond counts": float((mine - as_counts).max()),
        "trials": float(np.mean(trials)),
        "SD of z": float(np.mean(spread)),
    }


def difference_of_halves(ability: Array, se: Array) -> Array:
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


def boards(data: Path) -> dict[str, dict[str, Any]]:
    """Figures of the published boards."""
    found: dict[str, dict[str, Any]] = {}
    if (path := data / "mteb60.csv.gz").exists():
        frame = pd.read_csv(path, index_col=0)
        frame = frame[frame.notna().sum(axis=1) >= 15].clip(0, 1)
        found["MTEB"] = of_board(frame.to_numpy())
    if (path := data / "eci_scores_long.csv.gz").exists():
        frame = pd.read_csv(path).pivot_table(index="model", columns="benchmark", values="score")
        found["ECI"] = of_board(frame.to_numpy())
        index = pd.read_csv(data / "eci_published.csv.gz").set_index("Model")["eci"]
        ability = pd.Series(irtkit.fit(frame.to_numpy()).ability, frame.index)
        for kind in ("spearman", "kendall"):
            found["ECI"][kind] = float(ability.corr(index.reindex(frame.index), method=kind))
    return found


def scores(data: Path = SHARED) -> Tables:
    """Published boards, and scores drawn from several families."""

    def record(name: str, n: int, n_items: int, missing: float, sets: int) -> Record:
        about = {"family": name, "n": n, "n_items": n_items, "missing": missing, "sets": sets}
        return about | of_family(FAMILIES[name], n, n_items, missing, sets)

    cases = [(name, *shape) for shape in part(_SHAPES, 0) for name in FAMILIES]
    return {"boards": boards(data), "families": (record(*case) for case in cases)}


MODELS: tuple[ModelName, ...] = ("GPCM", "GRM")
COVERAGE = ((1000, 20, 4), (100, 50, 5), (30, 40, 5))  # Respondents, items, levels.
SECONDS = ((2000, 500, 5, 0.0), (2000, 500, 5, 0.3), (20_000, 50, 5, 0.0), (12, 2000, 5, 0.0))
MIXED = ((300, 45), (100, 60), (30, 90))  # Respondents and items.
FRACTIONS = ((100, 50, 3), (100, 50, 5), (100, 50, 8), (100, 50, 10), (30, 20, 5), (30, 20, 10))

HALF_WIDTH = 1.959964


def drawn_levels(
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


def coverage_of_levels(model: ModelName, shape: tuple[int, int, int], sets: int) -> Record:
    """How often intervals hold what was drawn."""
    several: dict[str, list[Any]] = {"slopes": [], "thresholds": [], "abilities": []}
    for seed in range(sets):
        responses, items, theta = drawn_levels(seed, *shape, model)
        result = irtkit.fit(responses, model, progress=False)
        fitted, errors = result.parameters, result.standard_errors
        triples: dict[str, Any] = {
            "slopes": (fitted.discrimination, items.discrimination, errors[:, 0]),
            "thresholds": (fitted.thresholds, items.thresholds, errors[:, 4:]),
            "abilities": (result.ability, theta, result.ability_se),
        }
        for name, triple in triples.items():
            estimate, true, error = map(np.ravel, triple)
            several[name].append(np.stack([estimate, true, error])[:, np.isfinite(error)])
    row: Record = {"model": model, "shape": list(shape), "sets": sets}
    for name, sets_of in several.items():
        estimate, true, error = np.concatenate(sets_of, axis=1)
        held = float(np.mean(np.abs(estimate - true) <= HALF_WIDTH * error))
        rmse = float(np.sqrt(np.mean((estimate - true) ** 2)))
        row[name] = {"coverage": round(held, 4), "rmse": round(rmse, 4)}
    return row


def seconds(model: ModelName, shape: tuple[int, int, int], missing: float) -> Record:
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
        result = irtkit.fit(responses, model, standard_errors=errors, progress=False)
        taken.append(round(time.process_time() - start, 2))
    row = {"model": model, "shape": list(shape), "missing": missing, "seconds": taken}
    return row | {"evaluations": result.n_iterations, "converged": result.converged}


def fractions(truth: ModelName, shape: tuple[int, int, int], sets: int) -> Record:
    """Errors of abilities by each model, in those of the true model."""
    lost: dict[ModelName, list[float]] = {"GPCM": [], "GRM": [], "2PL": []}
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


def mixed(n: int, n_items: int, sets: int) -> Record:
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


def rubrics(sets: int = 40) -> Tables:
    """Ordered levels."""

    def by_model(settings: Any) -> Iterator[Any]:
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
COVERED = ("ability", "ability_if_independent", "discrimination", "intercept")


class Drawn(NamedTuple):
    """A simulated data set."""

    items: irtkit.ItemParameters
    ability: Array
    responses: irtkit.ResponseMatrix


def draw_trials(setting: Trials, seed: int) -> Drawn:
    """Items, abilities and counts, all drawn_trials anew from a seed."""
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
    return Drawn(items, ability, irtkit.ResponseMatrix.from_counts(right, trials))


def one_set(setting: Trials, seed: int) -> dict[str, Any]:
    """What is found in one data set."""
    items, ability, responses = draw_trials(setting, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        result = irtkit.fit(responses, setting.model, method=setting.method, progress=False)
        middle = time.process_time()
        single = responses.with_trial_correlation(0.0)
        independent = irtkit.fit(single, setting.model, method=setting.method, progress=False)
        seconds = middle - began, time.process_time() - middle
        reasons = irtkit.flag_items(result)["reasons"]
    truth = (ability - ability.mean()) / ability.std()
    kept = np.array(result.status) == "ok"
    of_items = {
        name: _within(
            getattr(result.parameters, name)[kept] - getattr(items, name)[kept],
            result.items[f"{name}_se"].to_numpy()[kept],
        )
        for name in ("discrimination", "intercept")
    }
    negative = {str(item) for item, why in reasons.items() if "negative" in why}
    called = np.isin(result.item_labels, list(negative))
    return {
        "said": any("repeated trials" in str(one.message) for one in caught),
        "correlation": result.settings.trial_correlation,
        "ability_se": float(result.board_se.mean()),
        "ability": _within(result.ability - truth, result.board_se),
        "ability_if_independent": _within(independent.ability - truth, independent.board_se),
        **of_items,
        "called_negative": int(called.sum()),
        "falsely_negative": int((called & (items.discrimination > 0)).sum()),
        "not_converged": not result.converged,
        "seconds": seconds,
        "from_one_run": _from_one_run(result, setting) if setting.correlation == 1 else None,
    }


def _from_one_run(result: irtkit.FitResult, setting: Trials) -> float:
    """Largest relative difference of errors of ability from those of one of identical runs."""
    responses = result.responses
    assert responses is not None  # noqa: S101  # of a fit just made
    values = np.where(responses.trials > 0, (responses.successes > 0).astype(int), -1)
    one = irtkit.fit(
        irtkit.ResponseMatrix(values), setting.model, method=setting.method, progress=False
    )
    return float(np.abs(result.board_se / one.board_se - 1).max())


def _within(off: Array, error: Array) -> float:
    """Share of 95 % intervals that hold the truth; one that does not exist holds nothing."""
    return float((np.abs(off) <= 1.96 * error).mean())


def measure(setting: Trials) -> dict[str, Any]:
    """Averages over the data sets of a setting, with the standard errors of coverages."""
    sets = [one_set(setting, seed) for seed in range(setting.n_data_sets)]
    by_name = {name: [one[name] for one in sets] for name in sets[0]}
    record: dict[str, Any] = {"study": setting._asdict()}
    for name in ("said", "called_negative", "falsely_negative", "not_converged"):
        record[name] = int(sum(by_name[name]))
    record["counted"] = sum(rho > 0 for rho in by_name["correlation"])
    for name in ("correlation", "ability_se"):
        record[name] = float(np.mean(by_name[name]))
    record["correlation_sd"] = float(np.std(by_name["correlation"], ddof=1))
    for name in COVERED:
        shares = by_name[name]
        record[name] = {"coverage": float(np.mean(shares)), "se": standard_error(shares)}
    seconds = np.sum(by_name["seconds"], axis=0)
    record["times_as_long"] = float(seconds[0] / seconds[1])
    differences = [one for one in by_name["from_one_run"] if one is not None]
    record["from_one_run"] = max(differences) if differences else None
    return record


def repeated_trials(data_sets: int = 0) -> Tables:
    """Errors where repeated trials repeat each other."""
    chosen = part(TRIALS, 7, 10)
    planned = [t._replace(n_data_sets=data_sets or t.n_data_sets) for t in chosen]
    return {"studies": map(measure, planned)}


if __name__ == "__main__":
    run(scores, rubrics, repeated_trials)
