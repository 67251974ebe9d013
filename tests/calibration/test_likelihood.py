"""The likelihood of items, vectors that stand for them, and the objective: derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import ItemParameters, LogNormal, Normal, add_synthetic, simulate_responses
from irtkit.calibration.likelihood import (
    FreeGroups,
    MarginalLikelihood,
    Parameterisation,
    Population,
    prior_at,
)
from irtkit.calibration.priors import Beta, Hyper, ItemPrior, WeakPrior
from irtkit.calibration.search import Problem, problem_of
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import MODELS, Items
from irtkit.quadrature import engine_of, fixed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.priors import Prior
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

TEXTBOOK = ItemPrior(LogNormal(0.0, 0.5), Normal(0.2, 2.0), Beta())
OTHER = ItemPrior(Normal(1.0, 0.5), None, Normal(-1.1, 0.5))
NODES = fixed_nodes(81, 20.0)


def rows_of(missing: float = 0.0, *, synthetic: bool = True) -> Patterns:
    generator = np.random.default_rng(8)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.3, 6), generator.normal(size=6))
    responses = simulate_responses(items, generator.normal(size=30), missing=missing, seed=1)
    if synthetic:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    return patterns_of(responses, synthetic_is_real=False)


def derivative(function: Callable[[Array], Any], x: Array, step: float) -> Array:
    """Central differences, one row per entry of x."""
    units = step * np.eye(len(x))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.parametrize("guessing", [False, True])
@pytest.mark.parametrize(
    ("population", "missing", "synthetic", "copies"),
    [
        (Population(), 0.0, False, False),
        (Population(), 0.2, True, True),
        (Population(0.4, 1.4), 0.0, True, False),
        (Population(0.4, 1.4), 0.2, False, True),
    ],
)
def test_terms_by_items_are_the_derivatives_of_their_value(
    guessing: bool, population: Population, missing: float, synthetic: bool, copies: bool
) -> None:
    rows, generator = rows_of(missing, synthetic=synthetic), np.random.default_rng(2)
    if copies:
        rows = rows.with_weights(rows.frequency, generator.integers(1, 4, 6).astype(float))
    likelihood = MarginalLikelihood(engine_of(rows, with_guessing=guessing), NODES, exact=True)
    x = generator.normal(0.3, 0.8, (6, 3 if guessing else 2))

    def value(at: Array) -> float:
        return likelihood.terms(Items(*at.reshape(x.shape).T), (population,)).value

    found = likelihood.terms(Items(*x.T), (population,))
    by_item = derivative(value, x.ravel(), 1e-5).reshape(x.shape)
    assert found.gradient == pytest.approx(by_item, abs=1e-6)

    def by_population(at: Array) -> float:
        moved = Population(at[0], float(np.exp(at[1])))
        return likelihood.terms(Items(*x.T), (moved,)).value

    place = np.array([population.mean, np.log(population.sd)])
    expected = derivative(by_population, place, 1e-5)
    assert found.by_population[0] == pytest.approx(expected, abs=1e-6)
    real = likelihood.posteriors(Items(*x.T), (population,)).log_marginal[rows.real].sum()
    assert found.log_likelihood == pytest.approx(real, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("prior", "missing", "n_fixed", "limit"),
    [
        (None, 0.2, 2, 2.0),
        (WeakPrior(), 0.2, 0, 2.0),
        (WeakPrior(), 0.0, 6, 20.0),
        (WeakPrior(steep=0.5), 0.0, 0, 20.0),
        (TEXTBOOK, 0.2, 2, 2.0),
        (OTHER, 0.0, 0, 20.0),
    ],
)
def test_gradient_with_groups_and_fixed_items_is_the_derivative_of_the_value(
    model: ModelName, prior: Prior | None, missing: float, n_fixed: int, limit: float
) -> None:
    """Of three groups beside synthetic respondents; the lesser grid cuts populations off."""
    rows = rows_of(missing)
    group = np.where(rows.group == 0, np.resize([0, 2, 3], 32), rows.group).astype(np.int8)
    rows, free = Patterns(rows.cells, rows.trials, group), np.arange(6) >= n_fixed
    fixed = None
    if n_fixed:
        if model == "Rasch":
            model = "1PL"
        parts = (np.where(free, np.nan, value) for value in (1.2, np.linspace(-1, 1, 6), 0.1))
        fixed = ItemParameters(*parts)
    parameters = Parameterisation(
        model,
        6,
        learns=prior is not None and prior.learns and not n_fixed,
        fixed=fixed,
        hyper=Hyper(0.2, 0.1),
        groups=FreeGroups(3, means=(1, 2), sds=(0, 2)),
    )
    engine = engine_of(rows, with_guessing=model == "3PL")
    objective = Problem(engine, parameters, prior if free.any() else None).at(
        fixed_nodes(81, limit), exact=True
    )
    x = np.random.default_rng(3).uniform(0.2, 0.9, parameters.size)
    expected = derivative(lambda at: objective.evaluate(at).value, x, 1e-5)
    found = objective.evaluate(x)
    assert found.gradient == pytest.approx(expected, abs=1e-6)
    step = objective.precondition(x, found, found.gradient)
    assert step @ found.gradient > 0


@pytest.mark.parametrize(
    ("model", "prior", "missing"),
    [
        ("Rasch", TEXTBOOK, 0.2),
        ("1PL", WeakPrior(), 0.2),
        ("2PL", None, 0.2),
        ("2PL", WeakPrior(), 0.0),
        ("3PL", WeakPrior(), 0.2),
        ("3PL", TEXTBOOK, 0.0),
    ],
)
def test_copies_counted_are_worth_copies_spelled_out(
    model: ModelName, prior: Prior | None, missing: float
) -> None:
    generator = np.random.default_rng(3)
    times, often = generator.integers(1, 4, 6), generator.integers(1, 4, 32)
    place = np.repeat(np.arange(6), times)
    rows = rows_of(missing)
    counted = rows.with_weights(often * 1.0, times * 1.0)
    whole = rows.chosen(np.repeat(np.arange(32), often)).with_columns(place)
    few, all_of_them = (
        problem_of(some, model, prior).at(NODES, exact=True) for some in (counted, whole)
    )
    parameters = few.parameters
    x = generator.normal(0.3, 0.3, parameters.size)
    x[parameters.angles] = np.abs(x[parameters.angles])  # of two angles the vector is the positive
    at = parameters.values(x)
    spelled_out = all_of_them.parameters.vector(at.items.chosen(place), at.hyper, at.populations)
    one, other = few.evaluate(x), all_of_them.evaluate(spelled_out)
    assert one.value == pytest.approx(other.value, abs=1e-8)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-8)

    def by_distinct(parts: Array) -> Array:
        return np.asarray(np.bincount(place, parts))

    p, q = parameters, all_of_them.parameters
    expected = [
        other.gradient[q.slopes] if p.common_slope else by_distinct(other.gradient[q.slopes]),
        by_distinct(other.gradient[q.intercepts]),
        *([by_distinct(other.gradient[q.angles])] if model == "3PL" else []),
        other.gradient[q.hyper],
        other.gradient[q.log_sds],
    ]
    assert one.gradient == pytest.approx(np.concatenate(expected), abs=1e-7)


def test_preconditioner_is_close_to_the_inverse_of_the_curvature() -> None:
    generator = np.random.default_rng(2)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 20), generator.normal(size=20)
    )
    responses = simulate_responses(items, generator.normal(size=2000), seed=1)
    problem = problem_of(patterns_of(responses, synthetic_is_real=False), "2PL", None)
    objective = problem.at(fixed_nodes(61, 6.0), exact=False)
    x = problem.parameters.vector(Items(items.discrimination, items.intercept))
    curvature = objective.evaluate(x)
    inverse = np.stack([objective.precondition(x, curvature, unit) for unit in np.eye(40)])
    bend = -derivative(lambda at: objective.evaluate(at).gradient, x, 1e-4)
    shares = np.linalg.eigvals(inverse @ bend).real  # all 1 with the inverse itself
    assert np.sort(shares)[2:-2] == pytest.approx(np.ones(36), abs=0.2)
    assert shares == pytest.approx(np.ones(40), abs=0.5)


def test_32_bits_are_off_by_no_more_than_the_noise_they_are_said_to_have() -> None:
    for missing in (0.0, 0.2):
        rows = rows_of(missing)
        engine = engine_of(rows, with_guessing=False)
        narrow, exact = (MarginalLikelihood(engine, NODES, exact=e) for e in (False, True))
        assert exact.noise == 0
        generator = np.random.default_rng(4)
        for _ in range(20):
            items = Items(*generator.normal(0.5, 1.0, (2, 6)))
            off = abs(narrow.terms(items).value - exact.terms(items).value)
            assert off <= narrow.noise
        often = rows.with_weights(np.full(32, 5.0))
        of_many = MarginalLikelihood(engine_of(often, with_guessing=False), NODES)
        assert of_many.noise == pytest.approx(5 * narrow.noise)


def vector_for(model: ModelName, *, learns: bool) -> tuple[Parameterisation, Array]:
    """A parameterisation, and a vector that is nothing special."""
    parameters, generator = Parameterisation(model, 6, learns=learns), np.random.default_rng(8)
    x = generator.normal(0.4, 0.6, parameters.size)
    x[parameters.angles] = generator.uniform(
        0.2, 1.2, parameters.angles.stop - parameters.angles.start
    )
    return parameters, x


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learns", [False, True])
def test_a_vector_comes_back_from_what_it_stands_for(model: ModelName, learns: bool) -> None:
    parameters, x = vector_for(model, learns=learns)
    items, populations, hyper, _ = parameters.values(x)
    assert parameters.vector(items, hyper, populations) == pytest.approx(x, abs=1e-12)
    names = ("slopes", "intercepts", "angles", "hyper", "log_sds", "means")
    places = [getattr(parameters, name) for name in names]
    assert np.concatenate([np.arange(parameters.size)[place] for place in places]) == pytest.approx(
        np.arange(parameters.size)
    )


def test_guessing_of_none_and_of_certainty_have_finite_logits_and_angles() -> None:
    parameters = Parameterisation("3PL", 4, learns=False)
    x = np.zeros(12)
    x[parameters.angles] = 0.0, np.pi / 2, np.pi, -np.pi / 2
    at = parameters.values(x)
    assert at.logit_by_angle is not None
    assert np.isfinite(at.items.logit_guessing).all()
    assert np.isfinite(at.logit_by_angle).all()
    guessing = 1 / (1 + np.exp(-at.items.logit_guessing))
    assert guessing == pytest.approx([0, 1, 0, 1], abs=1e-15)
    extreme = Items(np.ones(4), np.zeros(4), np.array([-800.0, -60.0, 60.0, 800.0]))
    assert np.isfinite(parameters.vector(extreme)).all()


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_rescaling_ability_leaves_the_prior_of_spreads_and_every_probability_alone(
    model: ModelName,
) -> None:
    prior = WeakPrior(log_scale_sd=1e6, location_sd=1e6, steep=1e6)
    parameters, x = vector_for(model, learns=True)
    moved = parameters.rescaled(x, 0.4, 1.3)
    at, after = parameters.values(x), parameters.values(moved)
    if model != "1PL":
        densities = [prior_at(prior, parameters, part, None).log_density for part in (at, after)]
        assert densities[1] == pytest.approx(densities[0], abs=1e-6)
    theta, old, new = 0.7, at.items, after.items
    assert new.slope * (theta - 0.4) / 1.3 + new.intercept == pytest.approx(
        old.slope * theta + old.intercept, abs=1e-12
    )
    if model == "3PL":
        assert np.array_equal(new.logit_guessing, old.logit_guessing)


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_directions_are_how_the_vector_moves_with_scale_and_location(model: ModelName) -> None:
    # of Rasch slopes are held at 1, and the SD of ability moves instead
    parameters, x = vector_for(model, learns=True)
    scale, location = parameters.scale_and_location(x, parameters.values(x))
    by_scale = derivative(lambda sd: parameters.rescaled(x, 0.0, 1 + sd[0]), np.zeros(1), 1e-6)
    by_location = derivative(lambda mean: parameters.rescaled(x, mean[0], 1.0), np.zeros(1), 1e-6)
    assert scale == pytest.approx(by_scale[0], abs=1e-6)
    assert location == pytest.approx(by_location[0], abs=1e-6)
