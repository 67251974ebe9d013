"""The evidence lower bound against the evidence itself, and its gradient."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp
from scipy.stats import norm, t

from irtkit import (
    FitResult,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    WeakPrior,
    add_synthetic,
    fit,
    simulate_responses,
)
from irtkit.calibration.search import GridSchedule, problem_of
from irtkit.calibration.variational.inference import (
    Batches,
    Likelihood,
    abilities_of,
    evaluate,
    first_state,
    maximise_bound,
)
from irtkit.calibration.variational.target import Target, target_of
from irtkit.data.patterns import patterns_of
from irtkit.irf import Items
from irtkit.quadrature import Nodes, engine_of, fixed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.variational.guide import Guide
    from irtkit.calibration.variational.inference import State
    from irtkit.calibration.variational.target import Point
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

PRIOR = ItemPrior(Normal(1.0, 1.0), Normal(0.0, 2.0))
TINY = [[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 1]]
THETA = np.linspace(-7, 7, 71)
OF_ABILITY = norm.pdf(THETA) / norm.pdf(THETA).sum()


def six_by_five(kind: str = "complete") -> ResponseMatrix:
    generator = np.random.default_rng(4)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.3, 5), generator.normal(size=5))
    responses = simulate_responses(
        items,
        generator.normal(size=30),
        missing=0.2 if kind == "missing" else 0.0,
        trials=3 if kind == "repeated" else 1,
        seed=5,
    )
    return add_synthetic(responses, "always-right") if kind == "synthetic" else responses


def likelihood_of(
    target: Target, responses: ResponseMatrix, nodes: Nodes, n: int | None = None
) -> Likelihood:
    rows = patterns_of(responses, synthetic_is_real=False)
    engine = engine_of(rows, with_guessing=target.coordinates.model == "3PL")
    n = rows.n if n is None else n
    return Likelihood(engine, nodes, n, exact=True)


def differences(function: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    units = step * np.eye(at.size).reshape(-1, *at.shape)
    return np.array([function(at + u) - function(at - u) for u in units]).reshape(at.shape) / (
        2 * step
    )


@pytest.mark.parametrize("kind", ["complete", "missing", "repeated"])
def test_the_likelihood_is_that_of_abilities_integrated_out(
    target: Target, point: Point, kind: str
) -> None:
    responses = six_by_five(kind)
    parameters = target.coordinates.parameters(point)
    guessing = expit(parameters[:, 2]) if parameters.shape[1] == 3 else 0.0
    p = expit(np.outer(THETA, parameters[:, 0]) + parameters[:, 1])
    p = guessing + (1 - guessing) * p
    right, wrong = responses.successes.astype(float), responses.trials - 1.0 * responses.successes
    joint = right @ np.log(p).T + wrong @ np.log1p(-p).T + np.log(OF_ABILITY)
    likelihood = likelihood_of(target, responses, fixed_nodes(71, 7.0))
    value, _ = likelihood.evaluate(parameters)
    assert value == pytest.approx(float(logsumexp(joint, axis=1).sum()), rel=1e-10)
    weights = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    found = likelihood.posteriors(parameters)
    assert found.mean == pytest.approx(weights @ THETA, abs=1e-6)
    spread = np.sqrt(weights @ THETA**2 - (weights @ THETA) ** 2)
    assert found.sd == pytest.approx(spread, abs=1e-6)


@pytest.mark.parametrize("kind", ["complete", "synthetic"])
def test_the_gradient_of_the_likelihood_is_its_derivative(
    target: Target, point: Point, kind: str
) -> None:
    likelihood = likelihood_of(target, six_by_five(kind), fixed_nodes(71, 7.0))
    at = target.coordinates.parameters(point)
    expected = differences(lambda moved: likelihood.evaluate(moved)[0], at)
    assert likelihood.evaluate(at)[1] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_some_respondents_count_for_all(target: Target, point: Point) -> None:
    responses, nodes = six_by_five(), fixed_nodes(41, 6.0)
    one, ten = (likelihood_of(target, responses, nodes, n) for n in (None, 300))
    parameters = target.coordinates.parameters(point)
    assert ten.evaluate(parameters)[0] == pytest.approx(10 * one.evaluate(parameters)[0])
    by_one, by_ten = one.evaluate(parameters)[1], ten.evaluate(parameters)[1]
    assert by_ten == pytest.approx(10 * by_one)
    (of_one,), (of_ten,) = (part.systems(parameters, [parameters]) for part in (one, ten))
    for some, all_ in zip(of_one, of_ten, strict=True):
        assert all_ == pytest.approx(10 * some)


def test_the_gradient_of_the_bound_is_its_derivative_by_the_means(
    target: Target, guide: Guide
) -> None:
    # the same generator gives the same points around every mean, so that differences are exact
    likelihood = likelihood_of(target, six_by_five(), fixed_nodes(71, 7.0))

    def bound(own: Array, shared: Array) -> float:
        moved = guide._replace(own=own, shared=shared)
        return evaluate(target, moved, likelihood, np.random.default_rng(3)).elbo

    found = evaluate(target, guide, likelihood, np.random.default_rng(3)).gradient
    by_own = differences(lambda own: bound(own, guide.shared), guide.own)
    assert found.own == pytest.approx(by_own, rel=1e-4, abs=1e-4)
    if guide.shared.size:
        by_shared = differences(lambda shared: bound(guide.own, shared), guide.shared)
        assert found.shared == pytest.approx(by_shared, rel=1e-4, abs=1e-4)


def test_what_is_told_of_the_likelihood_is_its_mean_over_the_points(
    target: Target, guide: Guide
) -> None:
    likelihood = likelihood_of(target, six_by_five(), fixed_nodes(41, 6.0))
    found = evaluate(target, guide, likelihood, np.random.default_rng(3))
    points = [guide.at(*deviates) for deviates in guide.deviates(np.random.default_rng(3))]
    each = [likelihood.evaluate(target.coordinates.parameters(point)) for point in points]
    values, gradients = zip(*each, strict=True)
    assert found.log_likelihood == pytest.approx(np.mean(values))
    assert found.by_slope == pytest.approx(np.mean(gradients, axis=0)[:, 0])


def coupled_over_draws(
    target: Target, guide: Guide, likelihood: Likelihood, generator: np.random.Generator, n: int
) -> list[float]:
    """Log-likelihood and coupled prior at points drawn from the guide."""
    values = []
    for _ in range(n):
        own = generator.normal(size=guide.own.shape)
        drawn = guide.at(own, generator.normal(size=len(guide.common)))
        parameters = target.coordinates.parameters(drawn)
        coupled = target.coupled(drawn, parameters).log_density
        values.append(likelihood.evaluate(parameters)[0] + coupled)
    return values


@pytest.mark.parametrize(
    "target", ["1PL weak", "2PL weak", "2PL lognormal", "3PL weak"], indirect=True
)
def test_the_mean_bound_over_points_is_that_over_normal_draws(target: Target, guide: Guide) -> None:
    # a narrow guide, over which the log-likelihood is nearly a cubic by item
    narrow = guide._replace(
        factor=0.5 * guide.factor, common=0.1 * guide.common, own=0.5 * guide.own
    )
    likelihood = likelihood_of(target, six_by_five(), fixed_nodes(41, 6.0))
    generator = np.random.default_rng(11)
    bounds = [evaluate(target, narrow, likelihood, generator).elbo for _ in range(40)]
    rest = target.expected_prior(narrow.own, narrow.sds()).value + narrow.entropy()
    values = coupled_over_draws(target, narrow, likelihood, generator, 300)
    error = np.hypot(np.std(values) / np.sqrt(300), np.std(bounds) / np.sqrt(40))
    # four standard errors, and a twentieth of a nat for what is no cubic
    assert np.mean(bounds) == pytest.approx(np.mean(values) + rest, abs=4 * error + 0.05)


def patterns(slopes: Array, intercepts: Array) -> Array:
    """P(right, wrong) of one item at every node, for all pairs of its parameters: (2, n, nodes)."""
    logits = slopes[:, None] * THETA + intercepts[:, None]
    return np.stack([expit(-logits), expit(logits)])


def log_evidence_of_tiny(by_item: Array, log_prior: Array) -> float:
    """Log evidence of two items: a sum over the parameters of one times those of the other.

    ``by_item`` holds P(right, wrong), ``log_prior`` the log weight of each pair of parameters.
    """
    likelihood = np.ones((len(log_prior), len(log_prior)))
    for (first, second), n in Counter(map(tuple, TINY)).items():
        likelihood *= ((by_item[first] * OF_ABILITY) @ by_item[second].T) ** n
    weight = np.exp(log_prior)
    return float(np.log(weight @ likelihood @ weight))


def evidence_under_normal_priors() -> float:
    slopes, intercepts = np.linspace(-4, 6, 33), np.linspace(-9, 9, 31)
    a, d = (part.ravel() for part in np.meshgrid(slopes, intercepts))
    log_prior = norm.logpdf(a, 1, 1) + norm.logpdf(d, 0, 2)
    log_prior += np.log((slopes[1] - slopes[0]) * (intercepts[1] - intercepts[0]))
    return log_evidence_of_tiny(patterns(a, d), log_prior)


def evidence_under_the_weak_prior() -> float:
    found = []
    logs, locations = np.linspace(-3.6, 3.6, 10), np.linspace(-15, 15, 11)
    u, residual = np.linspace(-2, 4, 17), np.linspace(-9, 9, 13)
    each_u, each = (part.ravel() for part in np.meshgrid(u, residual))
    log_prior = t.logpdf(each_u, 4, np.arcsinh(1), 0.3) + norm.logpdf(each, 0, 3)
    log_prior += np.log((u[1] - u[0]) * (residual[1] - residual[0]))
    for log_scale in logs:
        slopes = np.exp(log_scale) * np.sinh(each_u)
        beyond = np.log(np.maximum(np.abs(slopes) / 20, 1))
        steep = -0.5 * (beyond / 0.5) ** 2
        for location in locations:
            by_item = patterns(slopes, each + location * slopes)
            inner = log_evidence_of_tiny(by_item, log_prior + steep)
            found.append(inner + norm.logpdf(log_scale) + norm.logpdf(location, 0, 5))
    step = np.log((logs[1] - logs[0]) * (locations[1] - locations[0]))
    return float(logsumexp(found) + step)


def bound_over_draws(result: FitResult, prior: Any, n: int) -> tuple[float, float]:
    """The bound at the guide of a fit from normal draws, and its standard error."""
    posterior = result.posterior
    assert posterior is not None
    target = Target(posterior.coordinates, prior)
    likelihood = likelihood_of(target, ResponseMatrix(TINY), fixed_nodes(71, 7.0))
    guide, generator = posterior.guide, np.random.default_rng(12)
    values = coupled_over_draws(target, guide, likelihood, generator, n)
    rest = target.expected_prior(guide.own, guide.sds()).value + guide.entropy()
    return float(np.mean(values) + rest), float(np.std(values) / np.sqrt(n))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "evidence", "gap"),
    # with two items and six respondents posteriors are far from normal; the weak prior adds two
    # coordinates of which next to nothing is known
    [(PRIOR, evidence_under_normal_priors, 0.5), (WeakPrior(), evidence_under_the_weak_prior, 2.0)],
    ids=["normal", "weak"],
)
def test_the_bound_is_below_the_evidence_and_near_it(
    prior: Any, evidence: Callable[[], float], gap: float
) -> None:
    result = fit(ResponseMatrix(TINY), method="vi", prior=prior)
    exact, (bound, error) = evidence(), bound_over_draws(result, prior, 2000)
    assert error < gap / 5
    assert exact - gap < bound < exact + 2 * error
    assert result.elbo is not None
    assert result.elbo_se is not None
    # four sets of points know their own spread to 41 %
    assert result.elbo == pytest.approx(bound, abs=4 * np.hypot(error, result.elbo_se))
    assert result.elbo < exact + 4 * result.elbo_se


def state_of(model: ModelName, n_items: int) -> tuple[State, Batches]:
    """State of a fit to 200 respondents, far from normal where they may guess."""
    generator = np.random.default_rng(6)
    items = ItemParameters(
        generator.lognormal(0, 0.3, n_items),
        generator.normal(size=n_items),
        np.full(n_items, 0.2 if model == "3PL" else 0.0),
    )
    rows = patterns_of(
        simulate_responses(items, generator.normal(size=200), seed=7), synthetic_is_real=False
    )
    schedule, target = GridSchedule(), target_of(model, WeakPrior(), items.discrimination, 200)
    batches = Batches(problem_of(rows, model, WeakPrior()), schedule, rows, None, seed=0)
    logits = np.full(n_items, logit(0.2)) if model == "3PL" else None
    start = Items(items.discrimination, items.intercept, logits)
    state = first_state(target, target.coordinates.point(start, 0.0, 0.0), batches)
    return maximise_bound(
        state, batches, tol=0.05, max_steps=60, report=lambda *_: None, keep=lambda _: None
    ), batches


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_the_bound_of_a_fit_is_unbiased_and_its_error_is_what_it_says(model: ModelName) -> None:
    state, batches = state_of(model, 12)
    target, guide, generator = state.target, state.guide, np.random.default_rng(8)
    heights = []
    for _ in range(600):
        own, common = (generator.normal(size=np.shape(x)) for x in (guide.own, guide.common[0]))
        point = guide.at(own, common)
        parameters = target.coordinates.parameters(point)
        (square,) = guide.squares(own[None], common[None])
        log_guide = 0.5 * (own.size + len(guide.shared) - square) - guide.entropy()
        log_marginal = batches.posteriors(parameters, state.nodes).log_marginal.sum()
        heights.append(log_marginal + target.log_density(point, parameters) - log_guide)
    exact, error = np.mean(heights), np.std(heights) / np.sqrt(len(heights))
    found = [abilities_of(state, replace(batches, seed=seed))[1:] for seed in range(20)]
    values, errors = np.array(found).T
    of_mean = np.hypot(values.std(ddof=1) / np.sqrt(20), error)
    assert values.mean() == pytest.approx(exact, abs=4 * of_mean)
    # errors may be too large, as distances of the sets are spread evenly, and 20 know an SD to 16 %
    assert 0.5 < np.sqrt(np.mean(errors**2)) / values.std(ddof=1) < 2
