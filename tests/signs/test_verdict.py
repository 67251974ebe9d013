"""Claims about which slopes are called negative, and about what is told of noise."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from irtkit import ResponseMatrix, fit
from irtkit.data.patterns import blocks, patterns_of
from irtkit.irf import MODELS
from irtkit.signs import (
    Dependence,
    ProportionScore,
    SlopeScore,
    SlopeSigns,
    false_discovery,
    slope_signs,
)
from irtkit.signs import verdict as module
from irtkit.signs.mixture import SlopeGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]
    Planted = Callable[..., tuple[ResponseMatrix, NDArray[np.bool_]]]


def signs(responses: ResponseMatrix) -> SlopeSigns:
    return slope_signs(patterns_of(responses, synthetic_is_real=False))


def judged(z: Array, information: float) -> SlopeSigns:
    """What items of the same information say; who answered them makes no difference."""
    score = SlopeScore(z * information**0.5, np.full(len(z), information))
    nobody = ProportionScore(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool_))
    independent = Dependence(0, 1.0, 0.0)
    return module.judged(nobody, independent, score, np.ones(len(z), dtype=np.bool_))


def noise(n_respondents: int, n_items: int, seed: int) -> ResponseMatrix:
    return ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (n_respondents, n_items)))


# Ranks


@pytest.mark.parametrize("column", ["p_negative", "wrong_key"])
@pytest.mark.parametrize(("n_respondents", "least"), [(200, 0.99), (60, 0.93), (30, 0.78)])
def test_planted_inversions_come_first(
    planted: Planted, n_respondents: int, least: float, column: str
) -> None:
    found = []
    for seed in range(8):
        responses, wrong = planted(n_respondents, 1000, seed)
        first = np.argsort(-getattr(signs(responses).verdict, column), kind="stable")[:20]
        found.append(wrong[first].mean())
    # The mean of 160 draws has a standard error of 0.03 at 30 respondents, where 0.86 is found.
    assert np.mean(found) >= least


@pytest.mark.parametrize("n_respondents", [500, 2000])
def test_items_that_are_surely_inverted_keep_an_order(planted: Planted, n_respondents: int) -> None:
    responses, wrong = planted(n_respondents, 500, seed=0, share=0.1)
    p = signs(responses).verdict.p_negative[wrong]
    assert p.min() > 0.999
    assert p.max() < 1
    assert len(np.unique(p)) == len(p)


@pytest.mark.parametrize("column", ["p_negative", "wrong_key"])
def test_at_the_same_information_verdicts_fall_with_the_score(column: str) -> None:
    z = np.append(np.random.default_rng(0).normal(4, 1.5, 200), [-12.0, -3.0, 0.0, 20.0])
    found = getattr(judged(z, 36.0).verdict, column)
    assert np.diff(found[np.argsort(z)]).max() < 0


def test_the_same_z_says_less_among_items_that_rise_than_among_inverted_ones() -> None:
    rising = np.random.default_rng(1).normal(6, 1, 200)
    mixed = np.append(-rising[:40], rising[40:])
    found = [
        judged(np.append(others, -2.0), 36.0).verdict.p_negative[-1] for others in (rising, mixed)
    ]
    # one-sided, a z of −2 alone says 0.977
    assert found[0] < 0.9
    assert found[1] > 0.977


# Noise


@pytest.mark.parametrize("shape", [(200, 400), (30, 300), (500, 10)])
def test_coin_flips_are_told_as_noise(shape: tuple[int, int]) -> None:
    found = [signs(noise(*shape, seed)) for seed in range(20)]
    assert np.mean([one.p_any_slope for one in found]) < 0.1
    assert np.max([one.verdict.p_negative for one in found]) < 0.9


def test_responses_with_a_common_ability_are_told_as_slopes(planted: Planted) -> None:
    assert signs(planted(60, 200, seed=3)[0]).p_any_slope > 0.999


def test_items_without_variance_have_no_wrong_key(planted: Planted) -> None:
    values = planted(60, 200, seed=4)[0].values.copy()
    values[:, 0], values[:, 1], values[:, 2] = 1, 0, -1
    found = signs(ResponseMatrix(values))
    assert found.verdict.wrong_key[:2].tolist() == [0, 0]
    # they are as likely inverted as any item of which nothing is known
    share = found.mixture.inverted + found.mixture.flat / 2
    assert found.verdict.p_negative[:2] == pytest.approx(share, abs=0.01)
    assert np.isnan([found.verdict.p_negative[2], found.verdict.wrong_key[2]]).all()
    assert (found.verdict.wrong_key[3:] != 0).all()


def test_without_any_variance_nothing_is_said() -> None:
    found = signs(ResponseMatrix([[1, 0, 1], [1, 0, 1]]))
    assert found.verdict.p_negative == pytest.approx(0.5, abs=0.001)
    assert found.verdict.wrong_key.tolist() == [0, 0, 0]
    assert found.p_any_slope < 0.01


def test_a_share_of_the_respondents_is_judged_as_that_many_score_tests(planted: Planted) -> None:
    whole = signs(planted(60, 200, seed=4)[0]).weighted(1.0)
    half = whole.weighted(0.5)
    np.testing.assert_allclose(half.score.z, whole.score.z * 0.5**0.5, rtol=1e-12)
    assert np.abs(half.verdict.wrong_key).mean() < np.abs(whole.verdict.wrong_key).mean()
    assert half.proportion is whole.proportion


# What a fit says


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_the_verdict_is_the_same_when_every_response_is_inverted(
    planted: Planted, model: ModelName
) -> None:
    responses, wrong = planted(60, 80, seed=5, share=0.1)
    assert responses.values.min() == 0
    there, back = (
        fit(ResponseMatrix(values), model, progress=False).items["p_negative"].to_numpy()
        for values in (responses.values, 1 - responses.values)
    )
    np.testing.assert_allclose(there, back, atol=1e-6)
    assert there[wrong].mean() > 0.5 > there[~wrong].mean()


def test_the_verdict_is_the_same_for_every_model(planted: Planted) -> None:
    responses, _ = planted(60, 40, seed=6, share=0.1)
    found = [fit(responses, model, progress=False).items["p_negative"] for model in MODELS]
    assert all(one.equals(found[0]) for one in found)


def test_an_item_without_responses_has_no_verdict(planted: Planted) -> None:
    values = planted(60, 40, seed=6, share=0.1)[0].values.copy()
    values[:, 3], values[:, 4] = -1, 1
    result = fit(ResponseMatrix(values), "1PL", progress=False)
    assert np.flatnonzero(np.isnan(result.verdict.p_negative)).tolist() == [3]
    assert np.flatnonzero(np.isnan(result.verdict.wrong_key)).tolist() == [3]
    assert result.verdict.wrong_key[4] == 0


# How it is computed


def test_verdicts_are_ratios_of_integrals_over_the_mixture_of_slopes() -> None:
    generator = np.random.default_rng(2)
    z = np.concatenate([generator.normal(6, 2, 250), generator.normal(0, 1.7, 60), [-4.0]])
    *_, mixture, p_any_slope, verdict = judged(z, 16.0)
    size = np.linspace(8, 0, 160_000, endpoint=False)
    steep, flat = mixture.masses(SlopeGrid(size, np.log(size), np.ones(len(size))))
    regular, inverted, p_flat = mixture.shares
    for j in (260, 280, 300, 310):  # log odds beyond 10 would be damped
        falling, rising = (np.exp(z[j] * 4 * a - 16 * a**2 / 2) for a in (-size, size))
        below = falling @ (inverted * steep + p_flat * flat)
        above = rising @ (regular * steep + p_flat * flat)
        p = p_any_slope * below / (below + above) + (1 - p_any_slope) / 2
        assert verdict.p_negative[j] == pytest.approx(p, rel=0.05)
        other = regular * rising @ steep + p_flat * (rising + falling) @ flat
        factor = falling @ steep / (other / (1 - inverted))
        assert verdict.wrong_key[j] == pytest.approx(np.log(factor), abs=0.05)


def test_items_of_the_same_score_are_judged_exactly_alike() -> None:
    generator = np.random.default_rng(3)
    z, place = generator.normal(3, 2, 50), generator.integers(0, 50, 999)
    p_negative = judged(z[place], 25.0).verdict.p_negative
    for k in range(50):
        assert len(np.unique(p_negative[place == k])) <= 1


def test_damping_begins_at_10_and_keeps_order_and_sign() -> None:
    log_odds = np.array([0.5, 9.9, 10.0, 10.1, 100.0, 1000.0])
    damped = module._damped(log_odds)
    assert damped[:3].tolist() == [0.5, 9.9, 10.0]
    assert (np.diff(damped) > 0).all()
    assert (damped[3:] < log_odds[3:]).all()
    np.testing.assert_array_equal(module._damped(-log_odds), -damped)


def test_the_number_of_items_at_once_makes_no_difference(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, _ = planted(60, 150, seed=7)
    whole = signs(responses).verdict
    monkeypatch.setattr(module, "blocks", partial(blocks, most=1000))
    parts = signs(responses).verdict
    np.testing.assert_allclose(parts.p_negative, whole.p_negative, rtol=1e-12)
    np.testing.assert_allclose(parts.wrong_key, whole.wrong_key, atol=1e-10)


def test_q_values_are_those_of_benjamini_and_hochberg() -> None:
    p = np.random.default_rng(0).random(50) ** 3
    assert false_discovery(p) == pytest.approx(false_discovery_control(p))
    with_gap = np.insert(p, 7, np.nan)
    assert np.isnan(false_discovery(with_gap)[7])
    assert np.delete(false_discovery(with_gap), 7) == pytest.approx(false_discovery_control(p))
