"""The likelihood of items, vectors that stand for them, and the objective: derivatives."""

import numpy as np
import pytest

from irtkit import ItemParameters, Normal, add_synthetic, simulate_responses
from irtkit.calibration.likelihood import (
    MarginalLikelihood,
    Parameterisation,
    Population,
)
from irtkit.calibration.priors import Beta, Hyper, ItemPrior, WeakPrior
from irtkit.calibration.search import Problem
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import MODELS, Items
from irtkit.quadrature import engine_of, fixed_nodes

TEXTBOOK = ItemPrior(Normal(1.0, 0.5), Normal(0.2, 2.0), Beta())
OTHER = ItemPrior(Normal(1.0, 0.5), None, Normal(-1.1, 0.5))
NODES = fixed_nodes(81, 20.0)


def rows_of(missing=0.0, *, synthetic=True):
    generator = np.random.default_rng(8)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.3, 6), generator.normal(size=6))
    responses = simulate_responses(items, generator.normal(size=30), missing=missing, seed=1)
    if synthetic:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    return patterns_of(responses, synthetic_is_real=False)


def derivative(function, x, step):
    """Central differences, one row per entry of x."""
    units = step * np.eye(len(x))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.parametrize("guessing", [False, True])
@pytest.mark.parametrize(("population", "missing", "synthetic", "copies"), [
    (Population(), 0.0, False, False),
    (Population(), 0.2, True, True),
    (Population(0.4, 1.4), 0.0, True, False),
    (Population(0.4, 1.4), 0.2, False, True),
])  # fmt: skip
def test_terms_by_items_are_the_derivatives_of_their_value(
    guessing, population, missing, synthetic, copies
):
    rows, generator = rows_of(missing, synthetic=synthetic), np.random.default_rng(2)
    if copies:
        rows = rows.with_weights(rows.frequency, generator.integers(1, 4, 6).astype(float))
    likelihood = MarginalLikelihood(engine_of(rows, with_guessing=guessing), NODES, exact=True)
    x = generator.normal(0.3, 0.8, (6, 3 if guessing else 2))

    def value(at):
        return likelihood.terms(Items(*at.reshape(x.shape).T), (population,)).value

    found = likelihood.terms(Items(*x.T), (population,))
    by_item = derivative(value, x.ravel(), 1e-5).reshape(x.shape)
    assert found.gradient == pytest.approx(by_item, abs=1e-6)

    def by_population(at):
        moved = Population(at[0], float(np.exp(at[1])))
        return likelihood.terms(Items(*x.T), (moved,)).value

    place = np.array([population.mean, np.log(population.sd)])
    expected = derivative(by_population, place, 1e-5)
    assert found.by_population[0] == pytest.approx(expected, abs=1e-6)
    real = likelihood.posteriors(Items(*x.T), (population,)).log_marginal[rows.real].sum()
    assert found.log_likelihood == pytest.approx(real, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("prior", "missing", "n_fixed", "limit"), [
    (None, 0.2, 2, 2.0),
    (WeakPrior(), 0.2, 0, 2.0),
    (WeakPrior(), 0.0, 6, 20.0),
    (WeakPrior(steep=0.5), 0.0, 0, 20.0),
    (TEXTBOOK, 0.2, 2, 2.0),
    (OTHER, 0.0, 0, 20.0),
])  # fmt: skip
def test_gradient_with_groups_and_fixed_items_is_the_derivative_of_the_value(
    model, prior, missing, n_fixed, limit
):
    """Of three groups, or one that is free, beside synthetic ones; a grid may cut it off."""
    rows = rows_of(missing)
    free = np.arange(6) >= n_fixed
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
    )
    if not parameters.n_population:
        group = np.where(rows.group == 0, np.resize([0, 2, 3], 32), rows.group).astype(np.int8)
        rows = Patterns(rows.cells, rows.trials, group)
        parameters.populations = Population(), Population(0.4, 1.2), Population(-0.3, 0.8)
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


def test_32_bits_are_off_by_no_more_than_the_noise_they_are_said_to_have():
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


def test_guessing_of_none_and_of_certainty_have_finite_logits_and_angles():
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
