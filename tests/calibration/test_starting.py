"""Where a search starts, and that what is cheap on its way changes no maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ItemParameters, ResponseMatrix, WeakPrior, add_synthetic, fit, simulate_responses
from irtkit.calibration import starting
from irtkit.calibration.maximise import (
    Control,
    GridSchedule,
    Monitor,
    Stopping,
    maximise,
    problem_of,
)
from irtkit.calibration.starting import WarmStart, start, starting_values
from irtkit.irf import MODELS
from irtkit.patterns import merged, patterns_of

if TYPE_CHECKING:
    from irtkit import FitResult
    from irtkit.calibration.maximise import Problem
    from irtkit.calibration.priors import Prior
    from irtkit.irf import ModelName

N_ITEMS = 20


def answers(n: int = 3000, *, by_ability: bool = False, hardest: float = 1.5) -> ResponseMatrix:
    """Responses that nearly all differ, so that no rows are merged."""
    generator = np.random.default_rng(6)
    slope = generator.lognormal(0, 0.3, N_ITEMS)
    slope[0] *= -1
    items = ItemParameters.from_difficulty(slope, np.linspace(-1.5, hardest, N_ITEMS))
    abilities = generator.normal(size=n)
    return simulate_responses(items, np.sort(abilities) if by_ability else abilities, seed=3)


def problem(
    responses: ResponseMatrix, model: ModelName = "2PL", prior: Prior | None = None
) -> Problem:
    return problem_of(patterns_of(responses, synthetic_is_real=False), model, prior)


def control(most: int = 100) -> Control:
    monitor = Monitor(lambda _step, _value: None)
    return Control(GridSchedule(), Stopping(1e-7, most), monitor)


@pytest.mark.parametrize("model", ["1PL", "Rasch", "2PL"])
@pytest.mark.parametrize("prior", [None, "weak"])
@pytest.mark.parametrize("quadrature", ["adaptive", (61, 6.0)])
def test_a_sample_to_start_from_changes_no_maximum(
    model: ModelName, prior: str | None, quadrature: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses = answers(by_ability=True)

    def fitted() -> FitResult:
        return fit(
            responses, model, prior=prior, quadrature=quadrature, standard_errors=False, tol=1e-12
        )

    without = fitted()
    monkeypatch.setattr(starting, "WarmStart", lambda: WarmStart(respondents=500))
    found = fitted()
    assert found.converged
    assert found.n_iterations > found.trace["step"].size  # some saw the sample alone
    assert found.log_likelihood == pytest.approx(without.log_likelihood, abs=1e-6)
    for name in ("discrimination", "intercept"):
        one, other = (getattr(result.parameters, name) for result in (found, without))
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_start_from_a_sample_is_near_the_maximum_of_all(missing: float) -> None:
    values = answers().values.copy()
    values[np.random.default_rng(0).random(values.shape) < missing] = -1
    of_all = problem(ResponseMatrix(values))
    near = start(of_all, control(), WarmStart(respondents=1000)).x
    x = maximise(of_all, start(of_all, control()), control()).x
    # standard errors are about 0.06, and those of a third of the respondents 0.1
    assert near == pytest.approx(x, abs=0.4)


@pytest.mark.parametrize("reason", ["few", "guessing", "nearly all alike", "merged"])
def test_no_sample_is_taken_where_it_is_dear_or_too_small(reason: str) -> None:
    responses = answers(hardest=8.0 if reason == "nearly all alike" else 1.5)
    rows = patterns_of(responses, synthetic_is_real=False)
    if reason == "merged":
        rows = rows.with_weights(np.full(rows.n, 2.0))
    guessing = reason == "guessing"
    of_all = problem_of(rows, "3PL" if guessing else "2PL", WeakPrior() if guessing else None)
    controlled = control()
    warm = WarmStart(respondents=2000 if reason == "few" else 500)
    found = start(of_all, controlled, warm)
    assert np.array_equal(found.x, starting_values(of_all, rows))
    assert controlled.monitor.n_evaluations == 0


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_before_synthetic_respondents_take_part_the_search_is_near_the_maximum_without_them(
    model: ModelName,
) -> None:
    responses = answers(300)
    crowd = add_synthetic(responses, ("always-right", "always-wrong"))
    without = problem(responses, model, WeakPrior())
    maximum = maximise(without, start(without, control()), control())
    near = start(problem(crowd, model, WeakPrior()), control())
    # tol is 1 % of a nat: 0.14 standard errors, which are some 0.2
    assert near.x == pytest.approx(maximum.x, abs=0.1)
    assert near.current is None  # the objective of all is evaluated anew


def test_a_3pl_without_a_prior_starts_from_one_with_a_prior_on_guessing_alone() -> None:
    free, controlled = problem(answers(300), "3PL"), control()
    near = start(free, controlled)
    assert controlled.monitor.n_evaluations > 0
    guessing = np.sin(near.x[free.parameters.angles]) ** 2
    assert 0.05 < guessing.mean() < 0.3  # Beta(5, 17) has its mode at 0.2
    assert guessing.max() < 0.5


@pytest.mark.parametrize("most", [1, 4, 10])
def test_the_way_to_the_start_takes_at_most_half_of_the_evaluations(most: int) -> None:
    controlled = control(most)
    start(problem(add_synthetic(answers(300), "always-right")), controlled)
    assert controlled.monitor.n_evaluations == most // 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, WeakPrior()])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_merged_patterns_start_where_all_of_them_do(
    model: ModelName, prior: Prior | None, missing: float
) -> None:
    generator = np.random.default_rng(1)
    responses = answers(60)
    values = np.where(generator.random((60, N_ITEMS)) < missing, -1, responses.values)
    values = np.tile(values, (2, 1))[:, generator.integers(0, N_ITEMS, 60)]
    whole = patterns_of(ResponseMatrix(values), synthetic_is_real=False)
    few, _, items = merged(whole)
    assert few.frequency is not None
    assert few.multiplicity is not None
    at_start = []
    for some in (few, whole):
        of_some = problem_of(some, model, prior)
        at_start.append(of_some.parameters.values(starting_values(of_some, some)))
    found, expected = at_start
    assert found.items.slope[items] == pytest.approx(expected.items.slope, abs=1e-9)
    assert found.items.intercept[items] == pytest.approx(expected.items.intercept, abs=1e-9)
    assert found.latent_sd == pytest.approx(expected.latent_sd)
    assert found.hyper == pytest.approx(expected.hyper)


def test_starting_values_tell_the_sign_of_slopes_and_the_order_of_difficulties() -> None:
    responses = answers()
    of_all = problem(responses)
    slope, intercept = of_all.items(starting_values(of_all, of_all.engine.patterns))[:2]
    assert slope[0] < 0
    assert (slope[1:] > 0.3).all()
    assert np.corrcoef(-intercept / slope, np.linspace(-1.5, 1.5, N_ITEMS))[0, 1] > 0.95


def test_without_a_prior_items_without_variance_start_out_of_reach() -> None:
    values = answers(100).values.copy()
    values[:, 3], values[:, 5], values[:, 7] = 1, 0, -1
    for prior, out_of_reach in ((None, True), (WeakPrior(), False)):
        of_all = problem(ResponseMatrix(values), "2PL", prior)
        intercept = of_all.items(starting_values(of_all, of_all.engine.patterns)).intercept
        assert ((intercept[3] == 20) and (intercept[5] == -20)) == out_of_reach
        assert abs(intercept[7]) < 1  # of which nothing is known
