"""Standard errors against second derivatives, against each other, and against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from irtkit import (
    EM,
    Beta,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    add_synthetic,
    fit,
    simulate_responses,
)
from irtkit.calibration import standard_errors
from irtkit.calibration.estimation import start
from irtkit.calibration.likelihood import (
    FreeGroups,
    MarginalLikelihood,
    Parameterisation,
    Population,
)
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.calibration.search import (
    Control,
    GridSchedule,
    PreconditionedLBFGS,
    maximise,
    problem_of,
)
from irtkit.calibration.standard_errors import item_errors
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import MODELS, Items
from irtkit.quadrature import engine_of, fixed_nodes
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import NDArray

    from irtkit.calibration.priors import Prior
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

GRID = (41, 5.0)
SIX_ITEMS = ItemParameters.from_difficulty(
    [0.7, 1.0, 1.3, 0.9, 1.6, -0.8], [-1.0, 0.3, 0.0, 1.2, -0.4, 0.5]
)
GUESSING = np.full(6, 0.2)


def drawn(
    n_respondents: int, n_items: int, model: ModelName = "2PL", *, negative: float = 0.0, seed: int
) -> tuple[ItemParameters, ResponseMatrix]:
    generator = np.random.default_rng([seed, n_respondents, n_items])
    slope = np.full(n_items, 1.2) if model == "1PL" else generator.lognormal(0, 0.3, n_items)
    slope[generator.random(n_items) < negative] *= -1
    guessing = generator.uniform(0.1, 0.3, n_items) if model == "3PL" else 0.0
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)
    return items, simulate_responses(items, generator.normal(size=n_respondents), seed=generator)


def small_data(cells: str, model: ModelName) -> ResponseMatrix:
    slope, intercept = SIX_ITEMS.discrimination, SIX_ITEMS.intercept
    return simulate_responses(
        ItemParameters(slope, intercept, GUESSING * (model == "3PL")),
        np.random.default_rng(7).normal(size=150),
        missing=0.2 if cells == "missing" else 0.0,
        trials=3 if cells == "repeated" else 1,
        seed=107,
    )


def plain_log_likelihood(responses: ResponseMatrix, model: ModelName, x: Array) -> float:
    """Marginal log-likelihood of slopes (Rasch: log SD), intercepts and logits of guessing."""
    n_items = responses.n_items
    n_slopes = 1 if model in {"1PL", "Rasch"} else n_items
    slope, intercept = x[:n_slopes], x[n_slopes : n_slopes + n_items]
    sd = np.exp(x[0]) if model == "Rasch" else 1.0
    theta = np.linspace(-GRID[1], GRID[1], GRID[0])
    weights = np.exp(-0.5 * (theta / sd) ** 2) / (sd * np.sqrt(2 * np.pi)) * (theta[1] - theta[0])
    if model != "Rasch":  # whose normal distribution is not scaled to what the grid holds of it
        weights /= weights.sum()
    curves = expit(np.outer(theta, np.ones(n_items) if model == "Rasch" else slope) + intercept)
    guessing = expit(x[2 * n_items :]) if model == "3PL" else 0.0
    p = guessing + (1 - guessing) * curves
    right = responses.successes.astype(float)
    wrong = responses.trials - right
    joint = right @ np.log(p).T + wrong @ np.log1p(-p).T + np.log(weights)
    highest = joint.max(axis=1)
    return float((highest + np.log(np.exp(joint - highest[:, None]).sum(axis=1))).sum())


def second_derivatives(function: Callable[[Array], float], x: Array, step: float = 5e-3) -> Array:
    """Central differences with one step and with twice that, extrapolated to none."""

    def differences(step: float) -> Array:
        unit = step * np.eye(len(x))
        found = np.empty((len(x), len(x)))
        for i in range(len(x)):
            for j in range(i + 1):
                corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
                total = sum(p * q * function(x + p * unit[i] + q * unit[j]) for p, q in corners)
                found[i, j] = found[j, i] = total / (4 * step**2)
        return found

    return (4 * differences(step) - differences(2 * step)) / 3


PRIORS = (
    None,
    WeakPrior(),
    ItemPrior(LogNormal(0.0, 0.5), Normal(0.0, 2.0), Beta(5.0, 17.0)),
    ItemPrior(Normal(1.0, 0.6), guessing=Normal(-1.5, 0.7)),
)
HYPER = Hyper(log_scale=0.1, location=0.2)


def log_prior(prior: Prior, model: ModelName, x: Array, n_items: int = 6) -> float:
    """Log density of slopes (Rasch: log SD), intercepts, logits, and what the prior learns."""
    common = model in {"1PL", "Rasch"}
    n_slopes = 1 if common else n_items
    slopes, intercepts, rest = np.split(x, [n_slopes, n_slopes + n_items])
    logits, learned = np.split(rest, [n_items if model == "3PL" else 0])
    slope = np.resize(np.exp(slopes) if model == "Rasch" else slopes, n_items)
    location, log_scale = np.append(learned, (HYPER.location, HYPER.log_scale)[len(learned) :])
    items = Items(slope, intercepts, logits if model == "3PL" else None)
    return prior.at(items, Hyper(log_scale, location), common_slope=common).log_density


@pytest.mark.parametrize(
    ("model", "cells"),
    [
        pytest.param(model, cells, marks=[pytest.mark.slow] * (model == "3PL" and k != 1))
        for model in MODELS
        for k, cells in enumerate(("complete", "missing", "repeated"))
    ],
)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("by", ["polynomials", "nodes"])
def test_dense_covariances_invert_numerical_second_derivatives(
    monkeypatch: pytest.MonkeyPatch, model: ModelName, prior: Prior | None, cells: str, by: str
) -> None:
    monkeypatch.setattr(standard_errors, "_NEGLIGIBLE", 1e-6)
    if by == "nodes":  # one polynomial never suffices
        monkeypatch.setattr(standard_errors, "_MOST_POLYNOMIALS", 1)
    # at any parameters, not the maximum alone: the information is an identity in them
    responses = small_data(cells, model)
    slopes = {"1PL": [1.1], "Rasch": [0.9]}.get(model, SIX_ITEMS.discrimination)
    logits = list(np.log(GUESSING / (1 - GUESSING))) if model == "3PL" else []
    problem = problem_of(patterns_of(responses, synthetic_is_real=False), model, prior)
    parameters, patterns = problem.parameters, problem.engine.patterns
    items = Items(np.resize(slopes, 6), SIX_ITEMS.intercept, np.resize(logits or 0.0, 6))
    populations = [Population(0.0, float(np.exp(slopes[0])))]
    at = parameters.values(parameters.vector(items, HYPER, populations))
    # a common slope leaves log τ unknown to the vector
    at = at._replace(hyper=HYPER)
    likelihood = MarginalLikelihood(problem.engine, fixed_nodes(*GRID))
    grid = likelihood.grid(at.items, at.populations)
    found, *_ = standard_errors.covariances(patterns, parameters, at, grid, prior)
    learned = [HYPER.location, HYPER.log_scale][: parameters.n_hyper]
    x = np.concatenate([slopes, SIX_ITEMS.intercept, logits, learned])
    n = len(x) - len(learned)

    def objective(x: Array) -> float:
        by_prior = log_prior(prior, model, x) if prior else 0.0
        return plain_log_likelihood(responses, model, x[:n]) + by_prior

    inverse = np.linalg.inv(-second_derivatives(objective, x))
    common = len(slopes) == 1
    for j in range(6):
        place = np.array([0, 1 + j]) if common else np.arange(j, n, 6)
        expected = inverse[np.ix_(place, place)]
        if model == "Rasch":  # slopes are known
            expected[0] = expected[:, 0] = 0.0
        # Entries off the diagonal may be near 0: errors count in units of the diagonal, which,
        # away from a maximum, may be below 0.
        diagonal = np.abs(np.diag(inverse)[place])
        scale = np.sqrt(np.outer(diagonal, diagonal))
        assert found[j] / scale == pytest.approx(expected / scale, abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("cells", ["complete", "missing", "repeated"])
def test_standard_errors_of_a_fit_are_those_of_second_derivatives_by_slope_and_difficulty(
    monkeypatch: pytest.MonkeyPatch, cells: str
) -> None:
    monkeypatch.setattr(standard_errors, "_NEGLIGIBLE", 1e-6)
    responses = small_data(cells, "2PL")
    items = fit(responses, "2PL", prior=None, quadrature=GRID, method=EM(tol=1e-12)).items

    def by_difficulty(x: Array) -> float:
        return plain_log_likelihood(responses, "2PL", np.concatenate([x[:6], -x[:6] * x[6:]]))

    x = items[["discrimination", "difficulty"]].to_numpy().T.ravel()
    expected = np.sqrt(np.diag(np.linalg.inv(-second_derivatives(by_difficulty, x))))
    assert items["discrimination_se"].to_numpy() == pytest.approx(expected[:6], rel=1e-4)
    assert items["difficulty_se"].to_numpy() == pytest.approx(expected[6:], rel=1e-4)


def test_missing_information_is_that_of_posteriors_on_one_or_two_nodes_too() -> None:
    # 6 × 90 trials leave a posterior SD of about 0.1 on a grid with steps of 0.6
    items, _ = drawn(10, 6, seed=1)
    ability = np.random.default_rng(2).normal(size=40)
    responses = simulate_responses(items, ability, trials=90, seed=3)
    rows, at = (
        patterns_of(responses, synthetic_is_real=False),
        Items(items.discrimination, items.intercept),
    )
    grid = MarginalLikelihood(engine_of(rows, with_guessing=False), fixed_nodes(21, 6.0)).grid(at)
    parameters: Any = Parameterisation("2PL", 6, learns=False)
    nothing = standard_errors._Populations(rows, parameters, parameters.values(np.ones(12)), [])
    one_by_one = np.eye(12).reshape(2, 6, 12).swapaxes(0, 1)
    found = standard_errors._from_incomplete_data(rows, at, grid, nothing, one_by_one)[2]
    theta, expected = grid.nodes.theta, np.zeros((12, 12))
    p = items.probability(theta).T
    for part in posterior_weights(rows, at, grid):
        for right, tried, weight in zip(part.right, part.answered, part.weights.T, strict=True):
            residual = right[:, None] - tried[:, None] * p
            score = np.concatenate([residual * theta, residual])
            score -= (score @ weight)[:, None]
            expected += (score * weight) @ score.T
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_what_is_left_out_as_negligible_moves_no_standard_error_by_a_thousandth(
    monkeypatch: pytest.MonkeyPatch, model: ModelName
) -> None:
    responses = small_data("missing", model)
    found = fit(responses, model).standard_errors
    monkeypatch.setattr(standard_errors, "_NEGLIGIBLE", 1e-9)
    assert found == pytest.approx(fit(responses, model).standard_errors, rel=1e-3, nan_ok=True)


def exact_errors(
    responses: ResponseMatrix, items: ItemParameters, precisions: tuple[float, float] = (0.0, 0.0)
) -> Array:
    """Standard errors of slopes and intercepts by Louis' identity, spelled out.

    With normal priors of slopes and intercepts of these precisions.
    """
    theta = np.linspace(-9, 9, 1601)
    a, d, n = items.discrimination, items.intercept, items.n_items
    z = np.multiply.outer(a, theta) + d[:, None]
    p, right, wrong = expit(z), 1.0 * (responses.values == 1), 1.0 * (responses.values == 0)
    answered = right + wrong
    joint = -right @ np.logaddexp(0, -z) - wrong @ np.logaddexp(0, z) - theta**2 / 2
    weights = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    powers = np.stack([theta**2, theta, theta**0], axis=1)
    by_power = (p * (1 - p) * (answered.T @ weights)) @ powers
    information, item = np.diag(np.repeat(precisions, n)), np.arange(n)
    information[item, item] += by_power[:, 0]
    information[n + item, n + item] += by_power[:, 2]
    information[item, n + item] = information[n + item, item] = by_power[:, 1]
    for some, of_some, weight in zip(right, answered, weights, strict=True):
        residual = of_some[:, None] * (some[:, None] - p)
        score = np.concatenate([residual * theta, residual])
        score -= (score @ weight)[:, None]
        information -= (score * weight) @ score.T
    return np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("slope", [1.0, 8.0])
def test_standard_errors_are_exact_beside_steep_items_too(slope: float) -> None:
    generator = np.random.default_rng(3)
    slopes = generator.lognormal(0, 0.3, 10)
    slopes[:2] = slope, -slope
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=10) / 2)
    responses = simulate_responses(items, generator.normal(size=600), seed=4)
    result = fit(responses, "2PL", prior=None)
    found = result.items[["discrimination_se", "intercept_se"]].to_numpy().T.ravel()
    assert found == pytest.approx(exact_errors(responses, result.parameters), rel=2e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    ("model", "shape", "prior"),
    [
        *[("2PL", (300, 60), "weak"), ("2PL", (200, 400), "weak"), ("2PL", (50, 300), "weak")],
        *[("2PL", (100, 500), "weak"), ("2PL", (12, 400), "weak"), ("2PL", (200, 400), None)],
        *[("1PL", (300, 60), "weak"), ("1PL", (200, 400), None), ("1PL", (12, 400), "weak")],
        *[("3PL", (300, 60), "weak"), ("3PL", (200, 400), "weak"), ("3PL", (12, 400), "weak")],
    ],
)
def test_standard_errors_without_items_by_items_arrays_are_near_the_exact_ones(
    monkeypatch: pytest.MonkeyPatch,
    model: ModelName,
    shape: tuple[int, int],
    prior: Literal["weak"] | None,
    missing: float,
) -> None:
    _, responses = drawn(*shape, model, negative=0.07 * (prior is not None), seed=0)
    cells = np.where(np.random.default_rng(1).random(shape) < missing, -1, responses.values)
    errors = []
    for most_dense in (10**9, 0):
        monkeypatch.setattr(standard_errors, "_MOST_DENSE", most_dense)
        errors.append(fit(ResponseMatrix(cells), model, prior=prior).standard_errors)
    ratio = errors[1] / errors[0]
    assert np.isnan(ratio).all(axis=0).tolist() == [False, False, model != "3PL", False]
    # what items have in common is exact; of what each has of its own, part of the order of one
    # over the number of items is left out, and more for an item whose slope hardly anything tells
    off = np.abs(ratio - 1)
    assert np.nanmax(off) < 0.1
    assert np.nanquantile(off, 0.99) < 0.03
    assert np.nanmean(ratio[:, [0, 1, 3]], axis=0) == pytest.approx(1, abs=0.005)


def test_errors_of_few_guessed_items_are_those_of_second_derivatives() -> None:
    # posteriors from five items are wide, and scores bend much over them: polynomials do not
    # converge, and sums over nodes take their place; sixteen alone would be 0.3 % off
    truth = ItemParameters.from_difficulty([2.5, 1.0, 3.0, 1.5, 2.0], [-2, -1, 0.5, 1, 2], 0.25)
    responses = simulate_responses(truth, np.random.default_rng(2).normal(size=1000), seed=5)
    prior = ItemPrior(LogNormal(0.5, 0.5), Normal(0.0, 3.0), Normal(-1.1, 0.5))
    items = fit(responses, "3PL", prior=prior, quadrature=GRID, method=EM(tol=1e-12)).items
    guessing = items["guessing"].to_numpy()
    x = np.concatenate(
        [items["discrimination"], items["intercept"], np.log(guessing / (1 - guessing))]
    )

    def objective(x: Array) -> float:
        return plain_log_likelihood(responses, "3PL", x) + log_prior(prior, "3PL", x, 5)

    expected = np.sqrt(np.diag(np.linalg.inv(-second_derivatives(objective, x))))
    assert items["discrimination_se"].to_numpy() == pytest.approx(expected[:5], rel=1e-3)
    assert items["intercept_se"].to_numpy() == pytest.approx(expected[5:10], rel=1e-3)
    by_logit = items["guessing_se"].to_numpy() / (guessing * (1 - guessing))
    assert by_logit == pytest.approx(expected[10:], rel=1e-3)


def coverage(
    shape: tuple[int, int], prior: Literal["weak"] | None, n_data_sets: int
) -> dict[str, float]:
    """Share of 95 % intervals of ok items that hold the truth."""
    held: dict[str, list[bool]] = {"discrimination": [], "intercept": []}
    for seed in range(n_data_sets):
        truth, responses = drawn(*shape, negative=0.07 if prior else 0.0, seed=seed)
        found = fit(responses, "2PL", prior=prior).items
        ok = found["status"].eq("ok")
        for name, hits in held.items():
            miss = (found[name] - getattr(truth, name)).abs()
            hits.extend((miss <= 1.96 * found[f"{name}_se"])[ok])
    return {name: float(np.mean(hits)) for name, hits in held.items()}


@pytest.mark.slow
def test_intervals_of_exact_standard_errors_hold_the_truth_nineteen_times_in_twenty() -> None:
    found = coverage((1000, 20), None, 60)
    # Data sets spread by 0.049 and 0.051 around 0.95 (800 fits of benchmarks/coverage.py), so that
    # means of 60 have a standard error of 0.0065. Standard errors 15 % too small would cover
    # 0.904, ones 15 % too large 0.976: the limits are 3 standard errors off, the nearer 4.
    assert found["discrimination"] == pytest.approx(0.95, abs=0.02)
    assert found["intercept"] == pytest.approx(0.95, abs=0.02)


def test_intervals_without_items_by_items_arrays_hold_the_truth_nineteen_times_in_twenty() -> None:
    found = coverage((200, 400), "weak", 8)
    # 0.956 and 0.947 in 60 fits of benchmarks/coverage.py, with spreads of 0.019 and 0.027, as
    # the items of a data set share its location and scale: means of 8 have standard errors of
    # 0.007 and 0.010. Standard errors 15 % too small would cover about 0.91 and 0.90.
    assert found["discrimination"] == pytest.approx(0.956, abs=0.02)
    assert found["intercept"] == pytest.approx(0.947, abs=0.03)


def test_standard_errors_of_difficulty_and_guessing_follow_those_of_intercept_and_logit() -> None:
    # a = 2, d = −1 (b = 0.5), c = 0.2
    items = ItemParameters(np.array([2.0]), np.array([-1.0]), np.array([0.2]))
    of_fit = np.array([[[0.04, 0.008, 0.0], [0.008, 0.04, 0.0], [0.0, 0.0, 0.25]]])
    (found,) = item_errors(of_fit, items, "3PL")
    gradient = np.array([-1.0 / 4, -1.0 / 2])  # of b = −d/a by a and d
    of_items = np.array([[0.04, 0.008], [0.008, 0.04]])
    expected = [0.2, np.sqrt(gradient @ of_items @ gradient), 0.2 * 0.8 * 0.5, 0.2]
    assert found == pytest.approx(expected, rel=1e-12)


def test_errors_beside_steep_items_with_missing_cells_are_exact() -> None:
    # polynomials do not converge there, and nodes take their place
    generator = np.random.default_rng(3)
    steep = ItemParameters.from_difficulty(np.full(12, 8.0), generator.normal(size=12))
    responses = simulate_responses(steep, generator.normal(size=60), missing=0.3, seed=1)
    wide = ItemPrior(Normal(1.0, 5.0), Normal(0.0, 20.0))
    result = fit(responses, prior=wide, quadrature=(1601, 9.0))
    found = result.items[["discrimination_se", "intercept_se"]].to_numpy().T.ravel()
    expected = exact_errors(responses, result.parameters, (5.0**-2, 20.0**-2))
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("model", "lowest"), [("1PL", 0.9), ("2PL", 0.96)])
def test_beside_synthetic_respondents_errors_of_slopes_are_too_small_by_little(
    model: ModelName, lowest: float
) -> None:
    _, real = drawn(30, 10, "2PL", seed=2)
    responses = add_synthetic(real, ("always-right", "always-wrong"))
    nodes = (401, 40.0)
    result = fit(responses, model, method=EM(tol=1e-12), quadrature=nodes)
    problem = problem_of(patterns_of(responses, synthetic_is_real=False), model, WeakPrior())
    control = Control(GridSchedule(nodes), 1e-12)
    x = maximise(problem, start(problem, control), control).x
    objective = problem.at(fixed_nodes(*nodes), exact=True)
    units = 1e-5 * np.eye(len(x))
    rises = [objective.evaluate(x + unit).gradient for unit in units]
    falls = [objective.evaluate(x - unit).gradient for unit in units]
    errors = np.sqrt(np.diag(np.linalg.inv((np.array(falls) - rises) / 2e-5)))
    slopes = result.items["discrimination_se"] / errors[problem.parameters.slopes]
    intercepts = result.items["intercept_se"] / errors[problem.parameters.intercepts]
    assert lowest < slopes.min() < 0.99
    assert slopes.max() < 1.005
    assert intercepts.between(0.99, 1.005).all()


@pytest.mark.parametrize(("model", "prior"), [("2PL", WeakPrior()), ("1PL", None)])
@pytest.mark.parametrize("most_dense", [300, 0])
def test_errors_of_several_groups_are_those_of_second_derivatives(
    monkeypatch: pytest.MonkeyPatch, model: ModelName, prior: Prior | None, most_dense: int
) -> None:
    """Means and SDs of ability in the second and third group are among them."""
    monkeypatch.setattr(standard_errors, "_MOST_DENSE", most_dense)
    group = np.repeat([0, 2, 3], 300).astype(np.int8)
    mean, sd = np.repeat([[0.0, 0.8, -0.3], [1.0, 1.2, 0.7]], 300, axis=1)
    ability = mean + sd * np.random.default_rng(1).normal(size=900)
    truth, _ = drawn(1, 12, model, seed=4)
    answers = simulate_responses(truth, ability, seed=5).values
    patterns = Patterns(answers, None, group)
    problem = problem_of(patterns, model, prior, groups=FreeGroups(3, means=(1, 2), sds=(1, 2)))
    p, control = problem.parameters, Control(tol=1e-9)
    items = Items(truth.discrimination, truth.intercept)
    start_of_all = p.vector(items, Hyper(0.0, 0.0), [Population()] * 3)
    found = maximise(problem, PreconditionedLBFGS(start_of_all), control)
    at = p.values(found.x)
    by_group = ability.reshape(3, 300)
    unit, zero = by_group[0].std(), by_group[0].mean()
    means, sds = np.transpose(at.populations)
    assert means == pytest.approx((by_group.mean(axis=1) - zero) / unit, abs=0.2)
    assert sds == pytest.approx(by_group.std(axis=1) / unit, abs=0.2)
    objective, steps = problem.at(found.nodes, exact=True), 1e-4 * np.eye(p.size)
    after, before = ([objective.evaluate(found.x + k * h).gradient for h in steps] for k in (1, -1))
    expected = np.sqrt(np.diag(np.linalg.inv((np.array(before) - np.array(after)) / 2e-4)))
    grid = MarginalLikelihood(problem.engine, found.nodes).grid(at.items, at.populations)
    of_items, of_groups, _ = standard_errors.covariances(patterns, p, at, grid, prior)
    off = 2e-3 if most_dense else 0.1
    assert np.sqrt(np.diag(of_groups)) == pytest.approx(expected[p.log_sds.start :], rel=off)
    assert np.sqrt(of_items[:, 1, 1]) == pytest.approx(expected[p.intercepts], rel=off)
