"""The encoder: what it sees, where it starts, and what training does to its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import expit

from irtkit import ItemParameters, ResponseMatrix, simulate_responses
from irtkit.calibration.variational.encoder import (
    ANCHORS,
    Encoder,
    EncoderBatch,
    encoded,
    features_of,
    trained,
)
from irtkit.irf import Items
from irtkit.patterns import patterns_of
from irtkit.quadrature import engine_of, fixed_nodes
from irtkit.quadrature.formulas import Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

N_ITEMS = 12


def parameters_of(size: int) -> Array:
    generator = np.random.default_rng(1)
    slope, intercept = generator.lognormal(0, 0.3, N_ITEMS), generator.normal(size=N_ITEMS)
    return np.stack([slope, intercept, np.full(N_ITEMS, -1.5)][:size], axis=1)


def drawn(parameters: Array, n: int = 40, missing: float = 0.2, trials: int = 1) -> ResponseMatrix:
    guessing = expit(parameters[:, 2]) if parameters.shape[1] == 3 else np.zeros(N_ITEMS)
    items = ItemParameters(parameters[:, 0], parameters[:, 1], guessing)
    abilities = np.random.default_rng(2).normal(size=n)
    return simulate_responses(items, abilities, missing=missing, trials=trials, seed=3)


def right_at(parameters: Array, theta: float) -> Array:
    guessing = expit(parameters[:, 2]) if parameters.shape[1] == 3 else 0.0
    return np.asarray(
        guessing + (1 - guessing) * expit(parameters[:, 0] * theta + parameters[:, 1])
    )


def log_likelihood(parameters: Array, responses: ResponseMatrix, theta: float) -> Array:
    p = right_at(parameters, theta)
    right = responses.successes.astype(float)
    return np.asarray(right @ np.log(p) + (responses.trials - right) @ np.log1p(-p))


def all_answers(parameters: Array, rows: Patterns, responses: ResponseMatrix) -> EncoderBatch:
    n = rows.n
    return EncoderBatch(
        features_of(parameters, rows),
        np.ones(n),
        np.arange(N_ITEMS)[None],
        responses.successes.astype(np.float32),
        responses.trials.astype(np.float32),
        np.ones(n, dtype=np.float32),
    )


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("missing", "trials"), [(0.0, 1), (0.3, 1), (0.0, 3)])
def test_features_are_scores_and_information_at_the_anchors(
    size: int, missing: float, trials: int
) -> None:
    parameters = parameters_of(size)
    responses = drawn(parameters, missing=missing, trials=trials)
    found = features_of(parameters, patterns_of(responses, synthetic_is_real=False))
    for k, anchor in enumerate(ANCHORS):
        ends = [log_likelihood(parameters, responses, anchor + e) for e in (-1e-5, 1e-5)]
        assert found[:, k] == pytest.approx((ends[1] - ends[0]) / 2e-5, abs=1e-5)
        low, p, high = (right_at(parameters, anchor + e) for e in (-1e-5, 0.0, 1e-5))
        information = ((high - low) / 2e-5) ** 2 / (p * (1 - p))
        assert found[:, len(ANCHORS) + k] == pytest.approx(responses.trials @ information, abs=1e-5)


def test_an_untrained_encoder_takes_the_scoring_step_from_zero() -> None:
    parameters = parameters_of(2)
    features = features_of(parameters, patterns_of(drawn(parameters), synthetic_is_real=False))
    precision = np.full(len(features), 0.5)
    mean, sd = encoded(Encoder.untrained(0), features, precision)
    total = precision + features[:, 4]  # information at the middle anchor, which is 0
    assert mean == pytest.approx(features[:, 1] / total, rel=1e-5)
    assert sd == pytest.approx(1 / np.sqrt(total), rel=1e-5)


@pytest.mark.parametrize("size", [2, 3])
def test_the_bound_rises_with_training_and_stays_below_the_likelihood(size: int) -> None:
    parameters = parameters_of(size)
    responses = drawn(parameters)
    rows = patterns_of(responses, synthetic_is_real=False)
    batch, encoder = all_answers(parameters, rows, responses), Encoder.untrained(0)
    nodes = fixed_nodes(61, 6.0)
    weights = nodes.normal_log_weights(1.0)
    engine = engine_of(rows, with_guessing=size == 3)
    grid = Grid(nodes, np.stack([weights, weights]))
    exact = engine.posteriors(Items(*parameters.T), grid).log_marginal
    first = trained(encoder, parameters, batch)[1]
    for _ in range(300):
        encoder, bounds, _ = trained(encoder, parameters, batch)
    assert (bounds < exact + 1e-3).all()  # sums in 32 bits
    assert bounds.sum() > first.sum()
    # what a normal posterior of ability loses with some ten answers: less than a tenth of a nat
    assert np.mean(exact - bounds) < 0.1


def test_the_gradient_by_items_is_that_of_the_bound_with_the_encoder_held() -> None:
    parameters = parameters_of(3)
    responses = drawn(parameters)
    batch = all_answers(parameters, patterns_of(responses, synthetic_is_real=False), responses)
    encoder = Encoder.untrained(0)
    _, _, gradient = trained(encoder, parameters, batch)
    for place in ((0, 0), (3, 1), (5, 2)):
        step = np.zeros_like(parameters)
        step[place] = 0.01
        ends = [trained(encoder, parameters + e, batch)[1].sum() for e in (-step, step)]
        assert gradient[place] == pytest.approx((ends[1] - ends[0]) / 0.02, abs=0.02)
