"""Claims about the additive logistic model."""

from __future__ import annotations

import numpy as np
import pytest

import irtkit
from irtkit.data.patterns import Merged, Patterns, patterns_of
from irtkit.difficulty import additive
from irtkit.difficulty.additive import AdditiveModel, additive_model


def simulated(
    n_respondents: int, n_items: int, missing: float = 0.0, ability_sd: float = 1.0
) -> irtkit.ResponseMatrix:
    generator = np.random.default_rng(3)
    items = irtkit.ItemParameters.from_difficulty(
        np.ones(n_items), generator.normal(0.5, 1, n_items)
    )
    abilities = ability_sd * generator.normal(size=n_respondents)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values.copy()
    values[generator.random(values.shape) < missing] = -1
    return irtkit.ResponseMatrix(values)


def fitted(responses: irtkit.ResponseMatrix) -> AdditiveModel:
    return additive_model(patterns_of(responses, synthetic_is_real=True))


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_effects_are_where_the_equations_of_the_docstring_hold(
    monkeypatch: pytest.MonkeyPatch, missing: float
) -> None:
    monkeypatch.setattr(additive, "_SETTLED", 1e-7)
    responses = simulated(60, 40, missing)
    model = fitted(responses)
    rows, columns = model.respondents, model.items
    mean = model.centre + rows.mean[:, None] + columns.mean
    sd = np.sqrt(rows.variance[:, None] + columns.variance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    p = 1 / (1 + np.exp(-(mean + sd * nodes[:, None, None])))
    expected, information = (np.tensordot(weights, of, 1) / weights.sum() for of in (p, p - p**2))
    seen = responses.values >= 0
    surplus = np.where(seen, responses.values - expected, 0)
    for effects, axis in ((rows, 1), (columns, 0)):
        prior = 1 / effects.spread
        np.testing.assert_allclose(surplus.sum(axis), effects.mean * prior, atol=1e-3)
        precision = np.where(seen, information, 0).sum(axis) + prior
        np.testing.assert_allclose(1 / effects.variance, precision, rtol=1e-4)
        square = np.mean(effects.mean**2 + effects.variance)
        assert square == pytest.approx(effects.spread, rel=1e-3)
        assert effects.mean.mean() == pytest.approx(0, abs=1e-9)


def test_spreads_are_those_that_data_were_drawn_from() -> None:
    model = fitted(simulated(400, 200, 0.3, ability_sd=2.0))
    # 400 and 200 effects tell a variance to √(2/n), 7 and 10 %
    assert model.respondents.spread == pytest.approx(4, rel=0.2)
    assert model.items.spread == pytest.approx(1, rel=0.3)
    assert model.centre == pytest.approx(-0.5, abs=0.3)


def test_copies_of_rows_and_columns_are_computed_once_and_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.tile(simulated(20, 15).values, (3, 3))
    responses = irtkit.ResponseMatrix(values)
    once = fitted(responses)

    def as_they_are(whole: Patterns) -> Merged:
        return Merged(whole, np.arange(whole.n), np.arange(whole.n_items))

    monkeypatch.setattr(additive, "merged", as_they_are)
    each = fitted(responses)
    np.testing.assert_allclose(once.respondents.mean, each.respondents.mean, atol=1e-4)
    np.testing.assert_allclose(once.items.mean, each.items.mean, atol=1e-4)
    assert once.items.spread == pytest.approx(each.items.spread, rel=1e-4)


def test_repeated_trials_count_each() -> None:
    responses = simulated(30, 20)
    twice = irtkit.ResponseMatrix.from_counts(2 * responses.successes, 2 * responses.trials)
    one, other = fitted(responses), fitted(twice)
    assert (other.respondents.variance < one.respondents.variance).all()
    assert (other.items.variance < one.items.variance).all()


@pytest.mark.parametrize("shape", [(12, 3000), (600, 12), (3, 3)])
def test_rows_and_columns_all_right_or_all_wrong_stay_finite(shape: tuple[int, int]) -> None:
    values = simulated(*shape, ability_sd=3.0).values.copy()
    values[0], values[1], values[:, 0], values[:, 1] = 1, 0, 1, 0
    model = fitted(irtkit.ResponseMatrix(values))
    for effects in (model.respondents, model.items):
        assert np.isfinite(effects.mean).all()
        assert np.abs(effects.mean).max() < 30
        assert (effects.variance > 0).all()


def test_one_without_a_response_has_the_mean_effect() -> None:
    values = simulated(40, 30).values.copy()
    values[5], values[:, 7] = -1, -1
    model = fitted(irtkit.ResponseMatrix(values))
    assert model.respondents.mean[5] == pytest.approx(0, abs=0.05)
    assert model.items.mean[7] == pytest.approx(0, abs=0.05)


def test_effects_that_do_not_differ_are_none() -> None:
    flips = irtkit.ResponseMatrix(np.random.default_rng(0).integers(0, 2, (100, 60)))
    model = fitted(flips)
    cells = np.indices((100, 60)).reshape(2, -1)
    assert np.abs(model.probability(*cells) - 0.5).max() < 0.1
