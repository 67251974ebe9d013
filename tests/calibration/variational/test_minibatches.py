"""What a step sees: everybody, or batches that together are everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    Variational,
    WeakPrior,
    add_synthetic,
    fit,
    simulate_responses,
)
from irtkit.calibration.search import GridSchedule, problem_of
from irtkit.calibration.variational.inference import Batches
from irtkit.data.patterns import patterns_of
from irtkit.quadrature import fixed_nodes

if TYPE_CHECKING:
    from irtkit.irf import ModelName
    from irtkit.responses import ResponseMatrix

N, SIZE = 60, 15
NODES = fixed_nodes(41, 6.0)


def drawn(kind: str = "complete", n: int = N, n_items: int = 8) -> ResponseMatrix:
    generator = np.random.default_rng(1)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    )
    missing = 0.3 if kind == "missing" else 0.0
    trials = 3 if kind == "repeated" else 1
    n_real = n - 2 if kind == "synthetic" else n
    responses = simulate_responses(
        items, generator.normal(size=n_real), missing=missing, trials=trials, seed=2
    )
    return add_synthetic(responses) if kind == "synthetic" else responses


def whole_and_batches(
    responses: ResponseMatrix, size: int, model: ModelName
) -> tuple[Batches, Batches]:
    rows = patterns_of(responses, synthetic_is_real=False)
    problem, schedule = problem_of(rows, model, WeakPrior()), GridSchedule()
    whole, batches = (Batches(problem, schedule, rows, n, seed=3) for n in (None, size))
    return whole, batches


def parameters_of(model: ModelName, n_items: int = 8) -> Any:
    generator = np.random.default_rng(5)
    return generator.normal(0.3, 1.0, (n_items, 3 if model == "3PL" else 2))


@pytest.mark.parametrize(
    ("kind", "model"), [("missing", "3PL"), ("repeated", "2PL"), ("synthetic", "2PL")]
)
def test_the_mean_over_a_pass_of_batches_is_the_whole(kind: str, model: ModelName) -> None:
    whole, batches = whole_and_batches(drawn(kind), SIZE, model)
    assert batches.steps_per_pass == N // SIZE
    parameters = parameters_of(model)
    parts = [
        batches.likelihood(step, NODES)
        for step in range(batches.steps_per_pass, 2 * batches.steps_per_pass)
    ]
    value, gradient = whole.likelihood(0, NODES).evaluate(parameters)
    found = [part.evaluate(parameters) for part in parts]
    # sums in 32 bits
    assert np.mean([part for part, _ in found]) == pytest.approx(value, rel=1e-6)
    assert np.mean([part for _, part in found], axis=0) == pytest.approx(gradient, abs=1e-3)
    systems = [part.systems(parameters, [parameters])[0] for part in parts]
    (of_whole,) = whole.likelihood(0, NODES).systems(parameters, [parameters])
    for k, expected in enumerate(of_whole[:3:2]):
        mean = np.mean([system[2 * k] for system in systems], axis=0)
        assert mean == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.fixture(scope="module")
def many() -> ResponseMatrix:
    return drawn(n=600, n_items=12)


@pytest.fixture(scope="module")
def whole(many: ResponseMatrix) -> FitResult:
    return fit(many, method="vi")


@pytest.mark.parametrize("size", [130, 600])
def test_fits_by_batches_end_near_the_whole_fit(
    many: ResponseMatrix, whole: FitResult, size: int
) -> None:
    # a batch of a sixth leaves noise of some tenths of a posterior SD in each mean
    result = fit(many, method=Variational(batch=size))
    names = ["discrimination", "intercept"]
    off = result.items[names].to_numpy() - whole.items[names].to_numpy()
    errors = whole.items[["discrimination_se", "intercept_se"]].to_numpy()
    assert np.sqrt(np.mean((off / errors) ** 2)) < 0.2
    found = result.items[["discrimination_se", "intercept_se"]].to_numpy()
    # an SD is made of information averaged over some thirty batches, less of it for hard items
    assert found.mean() == pytest.approx(errors.mean(), rel=0.05)
    assert found == pytest.approx(errors, rel=0.25)
    assert result.ability == pytest.approx(whole.ability, abs=0.1)
    assert result.log_likelihood == pytest.approx(whole.log_likelihood, abs=1.0)
    assert result.settings.batch == size
