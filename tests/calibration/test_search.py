"""The likelihood, vectors of parameters, and the search for a maximum."""

import numpy as np
import pytest

import irtkit
from irtkit.calibration import search
from irtkit.calibration.estimation import start
from irtkit.calibration.likelihood import (
    Parameterisation,
    Population,
)
from irtkit.calibration.priors import Beta, Hyper, ItemPrior
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import MODELS, Items
from irtkit.quadrature import engine_of, fixed_nodes

N_ITEMS = 8
FIXED = (61, 6.0)


def answers(n=400, n_items=N_ITEMS, *, steep=1.0):
    generator = np.random.default_rng(6)
    slope = steep * generator.lognormal(0, 0.3, n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, np.linspace(-1.5, 1.5, n_items))
    return irtkit.simulate_responses(items, generator.normal(size=n), seed=3)


def problem(responses, model="2PL", prior=None):
    return search.problem_of(patterns_of(responses, synthetic_is_real=False), model, prior)


def control(schedule=None, tol=1e-09, most=300):
    return search.Control(schedule or search.GridSchedule(), tol, most)


@pytest.mark.parametrize(("model", "fixed", "synthetic"), [
    ("Rasch", FIXED, True),
    ("1PL", FIXED, False),
    ("1PL", None, True),
    ("2PL", None, False),
    ("3PL", FIXED, True),
])  # fmt: skip
def test_a_search_ends_where_the_gradient_vanishes(model, fixed, synthetic):
    responses = answers()
    if synthetic:
        responses = irtkit.add_synthetic(responses, "always-right")
    of_all, controlled = (
        problem(responses, model, irtkit.WeakPrior()),
        control(search.GridSchedule(fixed)),
    )
    found = search.maximise(of_all, start(of_all, controlled), controlled)
    assert found.converged
    objective = of_all.at(found.nodes, exact=True)
    at = objective.evaluate(found.x)
    step = objective.precondition(found.x, at, at.gradient)
    assert 0.5 * step @ at.gradient < 1e-6  # what a full step still promises
    assert found.log_likelihood == pytest.approx(at.log_likelihood, abs=1e-5)


def test_items_that_grow_steep_on_the_way_get_finer_nodes():
    # 60 items of slope 3, from where all of them are flat
    of_all, controlled = problem(answers(n_items=60, steep=3.0)), control()
    flat = of_all.parameters.vector(Items(np.full(60, 0.3), np.zeros(60)))
    found = search.maximise(of_all, search.PreconditionedLBFGS(flat), controlled)
    n_nodes = [row[1] for row in controlled.trace]
    assert n_nodes == sorted(n_nodes)
    assert len(set(n_nodes)) > 1
    assert found.quadrature_error < 1e-4 * 400


def test_posteriors_far_out_are_held_by_a_grid_that_reaches_them():
    # 300 items at a difficulty of 8, as far as nodes go at first, half of them answered right
    values = np.zeros((20, 300), dtype=int)
    values[1, :150] = 1
    of_all = problem(irtkit.ResponseMatrix(values))
    x = of_all.parameters.vector(Items(np.full(300, 3.0), np.full(300, -24.0)))
    posteriors, _, half_width = of_all.dense_posteriors(x, search.GridSchedule())
    assert posteriors.mean[1] == pytest.approx(8 - 8 / (300 * 9 / 4), abs=1e-3)
    assert half_width >= (np.abs(posteriors.mean) + 7 * posteriors.sd).max()


# The likelihood of items, vectors that stand for them, and the objective: derivatives
TEXTBOOK = ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.2, 2.0), Beta())
OTHER = ItemPrior(irtkit.Normal(1.0, 0.5), None, irtkit.Normal(-1.1, 0.5))


def rows_of(missing=0.0, *, synthetic=True):
    generator = np.random.default_rng(8)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 6), generator.normal(size=6)
    )
    responses = irtkit.simulate_responses(items, generator.normal(size=30), missing=missing, seed=1)
    if synthetic:
        responses = irtkit.add_synthetic(responses, ("always-right", "always-wrong"))
    return patterns_of(responses, synthetic_is_real=False)


def derivative(function, x, step):
    """Central differences, one row per entry of x."""
    units = step * np.eye(len(x))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("prior", "missing", "n_fixed", "limit"), [
    (None, 0.2, 2, 2.0),
    (irtkit.WeakPrior(), 0.2, 0, 2.0),
    (irtkit.WeakPrior(), 0.0, 6, 20.0),
    (irtkit.WeakPrior(steep=0.5), 0.0, 0, 20.0),
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
        fixed = irtkit.ItemParameters(*parts)
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
    objective = search.Problem(engine, parameters, prior if free.any() else None).at(
        fixed_nodes(81, limit), exact=True
    )
    x = np.random.default_rng(3).uniform(0.2, 0.9, parameters.size)
    expected = derivative(lambda at: objective.evaluate(at).value, x, 1e-5)
    found = objective.evaluate(x)
    assert found.gradient == pytest.approx(expected, abs=1e-6)
    step = objective.precondition(x, found, found.gradient)
    assert step @ found.gradient > 0
