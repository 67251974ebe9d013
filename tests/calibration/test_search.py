"""The likelihood, vectors of parameters, and the search for a maximum."""

from dataclasses import dataclass

import numpy as np
import pytest

import irtkit
from irtkit.calibration import search
from irtkit.calibration.estimation import start
from irtkit.calibration.likelihood import (
    Evaluation,
    MarginalLikelihood,
    Parameterisation,
    Population,
)
from irtkit.calibration.priors import Beta, Hyper, ItemPrior
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import MODELS, Items
from irtkit.quadrature import engine_of, fixed_nodes

# The search: on functions whose maximum is known, and for a marginal maximum grid after grid
TOL = 1e-14
N_ITEMS = 8
FIXED = (61, 6.0)


@dataclass(frozen=True)
class Hill:
    """A function with its top at 1, …, 1."""

    name: str
    noise: float = 0.0

    def evaluate(self, x):
        if self.name == "nowhere":
            return self._at(np.nan, x)
        rise, rest = x[1] - x[0] ** 2, 1 - x[0]  # Rosenbrock
        gradient = np.array([400 * rise * x[0] + 2 * rest, -200 * rise])
        return self._at(-100 * rise**2 - rest**2, gradient)

    @staticmethod
    def _at(value, gradient):
        return Evaluation(float(value), gradient, float(value))

    @staticmethod
    def precondition(_x, _curvature, v):
        return v


def test_a_function_without_a_value_is_left_at_the_start():
    climber = search.PreconditionedLBFGS(np.zeros(2))
    climber.evaluate(Hill("nowhere"), TOL)
    assert climber.done
    assert not climber.converged
    assert not climber.x.any()


class Rough(Hill):
    """The same function with values that are off by up to a thousandth."""

    def evaluate(self, x):
        found = super().evaluate(x)
        return found._replace(value=found.value + 1e-3 * np.sin(1e9 * x.sum()))


@pytest.mark.parametrize(("noise", "converged"), [(0.0, False), (2e-3, True)])
def test_values_off_by_no_more_than_is_said_are_no_obstacle(noise, converged):
    climber = search.PreconditionedLBFGS(np.array([-1.2, 1.0]))
    for _ in range(200):
        if not climber.done:
            climber.evaluate(Rough("rosenbrock", noise), TOL)
    assert climber.converged == converged


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


def test_a_search_makes_no_more_evaluations_than_it_may_and_keeps_accepted_steps():
    said = []
    of_all = problem(answers())
    controlled = search.Control(
        max_evaluations=4, report=lambda *step: said.append(step), reported=-np.inf
    )
    found = search.maximise(of_all, start(of_all, controlled), controlled)
    assert not found.converged
    assert controlled.n_evaluations == 4
    steps = [row[0] for row in controlled.trace]
    assert steps == sorted(set(steps))
    assert max(steps) <= 4
    assert said[0] == (controlled.trace[0][0], controlled.trace[0][2])


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
NODES = fixed_nodes(81, 20.0)


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
