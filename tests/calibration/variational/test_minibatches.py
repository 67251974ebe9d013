"""Batches of respondents, which together are everybody."""

import numpy as np
import pytest

from irtkit import (
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

N, SIZE = 60, 15
NODES = fixed_nodes(41, 6.0)


def drawn(kind="complete", n=N, n_items=8):
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


def whole_and_batches(responses, size, model):
    rows = patterns_of(responses, synthetic_is_real=False)
    problem, schedule = problem_of(rows, model, WeakPrior()), GridSchedule()
    whole, batches = (Batches(problem, schedule, rows, n, seed=3) for n in (None, size))
    return whole, batches


def parameters_of(model, n_items=8):
    generator = np.random.default_rng(5)
    return generator.normal(0.3, 1.0, (n_items, 3 if model == "3PL" else 2))


@pytest.mark.parametrize(
    ("kind", "model"), [("missing", "3PL"), ("repeated", "2PL"), ("synthetic", "2PL")]
)
def test_the_sum_over_batches_is_the_whole(kind, model):
    whole, batches = whole_and_batches(drawn(kind), SIZE, model)
    points = np.stack([parameters_of(model), parameters_of(model) + 0.1])
    # sums in 32 bits
    (values, gradients), sums = (part.evaluate(points, NODES) for part in (whole, batches))
    assert sums[0] == pytest.approx(values, rel=1e-6)
    # the wide part of a synthetic population is shared out over the items of every batch
    assert sums[1] == pytest.approx(gradients, abs=1e-3)
    of_whole, of_batches = (part.systems(points[0], points, NODES)[1] for part in (whole, batches))
    for expected, total in zip(of_whole[::2], of_batches[::2], strict=True):
        assert total == pytest.approx(expected, rel=1e-6, abs=1e-6)
    by_whole, by_batch = (part.posteriors(points[0], NODES) for part in (whole, batches))
    assert by_batch.mean == pytest.approx(by_whole.mean, abs=1e-5)


@pytest.fixture(scope="module")
def many():
    return drawn(n=600, n_items=12)


@pytest.fixture(scope="module")
def whole(many):
    return fit(many, method="vi")


@pytest.mark.parametrize("size", [130, 600])
def test_fits_by_batches_are_the_whole_fit(many, whole, size):
    result = fit(many, method=Variational(batch=size))
    names = ["discrimination", "intercept"]
    off = result.items[names].to_numpy() - whole.items[names].to_numpy()
    errors = whole.items[["discrimination_se", "intercept_se"]].to_numpy()
    assert np.sqrt(np.mean((off / errors) ** 2)) < 0.02
    found = result.items[["discrimination_se", "intercept_se"]].to_numpy()
    assert found == pytest.approx(errors, rel=0.04)
    assert result.ability == pytest.approx(whole.ability, abs=0.01)
    assert result.log_likelihood == pytest.approx(whole.log_likelihood, abs=0.1)
    assert result.settings.batch == size
