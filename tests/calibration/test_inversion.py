"""Claims about which items are told to be inverted, and about what is told of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import ItemParameters, ResponseMatrix, fit, simulate_responses
from irtkit.calibration import inversion as module
from irtkit.calibration.evidence import Evidence, evidence_of
from irtkit.calibration.inversion import Inversion, Kinds, inversion
from irtkit.irf import MODELS
from irtkit.patterns import patterns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

    Array = NDArray[np.float64]


def planted(
    n_respondents: int, n_items: int, seed: int, share: float = 0.02
) -> tuple[ResponseMatrix, NDArray[np.bool_]]:
    """Responses to 2PL items a share of which is inverted, and which those are."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.35, n_items)
    wrong = generator.permutation(n_items) < round(share * n_items)
    items = ItemParameters.from_difficulty(
        np.where(wrong, -slopes, slopes), generator.normal(size=n_items)
    )
    return simulate_responses(items, generator.normal(size=n_respondents), seed=generator), wrong


def evidence(responses: ResponseMatrix) -> Evidence:
    return evidence_of(patterns_of(responses, synthetic_is_real=False))


def judged(responses: ResponseMatrix) -> Inversion:
    return inversion(evidence(responses))


def noise(n_respondents: int, n_items: int, seed: int) -> ResponseMatrix:
    return ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (n_respondents, n_items)))


# Ranks


@pytest.mark.parametrize("column", ["p_negative", "wrong_key"])
@pytest.mark.parametrize(("n_respondents", "least"), [(200, 0.99), (60, 0.93), (30, 0.78)])
def test_planted_inversions_come_first(n_respondents: int, least: float, column: str) -> None:
    found = []
    for seed in range(8):
        responses, wrong = planted(n_respondents, 1000, seed)
        first = np.argsort(-getattr(judged(responses), column), kind="stable")[:20]
        found.append(wrong[first].mean())
    # The mean of 160 draws has a standard error of 0.03 at 30 respondents, where 0.86 is found.
    assert np.mean(found) >= least


@pytest.mark.parametrize("n_respondents", [500, 2000])
def test_items_that_are_surely_inverted_keep_an_order(n_respondents: int) -> None:
    responses, wrong = planted(n_respondents, 500, seed=0, share=0.1)
    p = judged(responses).p_negative[wrong]
    assert p.min() > 0.999
    assert p.max() < 1
    assert len(np.unique(p)) == len(p)


@pytest.mark.parametrize("column", ["p_negative", "wrong_key"])
def test_at_the_same_information_verdicts_fall_with_the_score(column: str) -> None:
    trend = np.append(np.random.default_rng(0).normal(4, 1.5, 200), [-12.0, -3.0, 0.0, 20.0])
    found = getattr(inversion(Evidence(trend * 6, np.full(204, 36.0))), column)
    assert np.diff(found[np.argsort(trend)]).max() < 0


def test_the_same_trend_says_less_among_items_that_rise_than_among_inverted_ones() -> None:
    rising, information = np.random.default_rng(1).normal(6, 1, 200), np.full(201, 36.0)
    mixed = np.append(-rising[:40], rising[40:])
    found = [
        inversion(Evidence(np.append(others, -2.0) * 6, information)).p_negative[-1]
        for others in (rising, mixed)
    ]
    # one-sided, a trend of −2 alone says 0.977
    assert found[0] < 0.9
    assert found[1] > 0.977


def test_the_share_and_the_slopes_of_inverted_items_are_learned() -> None:
    responses, _ = planted(300, 1000, seed=2, share=0.1)
    kinds = judged(responses).kinds
    # the posterior share of 100 in 1,000 has an SD of 0.01, counting those told apart for sure
    assert kinds.inverted == pytest.approx(0.1, abs=0.03)
    assert kinds.flat < 0.05
    # strength holds noise and its SD is that of a logit: slopes look a little less steep than 1
    assert 0.6 < np.exp(kinds.log_slope) < 1.1
    assert kinds.shares.sum() == pytest.approx(1, abs=1e-12)


# Noise


@pytest.mark.parametrize("shape", [(200, 400), (30, 300), (500, 10)])
def test_coin_flips_are_told_as_noise(shape: tuple[int, int]) -> None:
    found = [judged(noise(*shape, seed)) for seed in range(20)]
    assert np.mean([one.structure for one in found]) < 0.1
    assert np.max([one.p_negative for one in found]) < 0.9


def test_responses_with_a_common_ability_are_told_as_structure() -> None:
    assert judged(planted(60, 200, seed=3)[0]).structure > 0.999


def test_items_without_variance_have_no_wrong_key() -> None:
    values = planted(60, 200, seed=4)[0].values.copy()
    values[:, 0], values[:, 1], values[:, 2] = 1, 0, -1
    found = judged(ResponseMatrix(values))
    assert found.wrong_key[:3].tolist() == [0, 0, 0]
    # they are as likely inverted as any item of which nothing is known
    share = found.kinds.inverted + found.kinds.flat / 2
    assert found.p_negative[:3] == pytest.approx(share, abs=0.01)
    assert (found.wrong_key[3:] != 0).all()


def test_without_any_variance_nothing_is_said() -> None:
    found = judged(ResponseMatrix([[1, 0, 1], [1, 0, 1]]))
    assert found.p_negative == pytest.approx(0.5, abs=0.001)
    assert found.wrong_key.tolist() == [0, 0, 0]
    assert found.structure < 0.01


# What a fit says


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_the_verdict_is_the_same_when_every_response_is_inverted(model: ModelName) -> None:
    responses, wrong = planted(60, 80, seed=5, share=0.1)
    assert responses.values.min() == 0
    there, back = (
        fit(ResponseMatrix(values), model, progress=False).items["p_negative"].to_numpy()
        for values in (responses.values, 1 - responses.values)
    )
    np.testing.assert_allclose(there, back, atol=1e-6)
    assert there[wrong].mean() > 0.5 > there[~wrong].mean()


def test_the_verdict_is_the_same_for_every_model() -> None:
    responses, _ = planted(60, 40, seed=6, share=0.1)
    found = [fit(responses, model, progress=False).items["p_negative"] for model in MODELS]
    assert all(one.equals(found[0]) for one in found)


def test_an_item_without_responses_has_no_verdict() -> None:
    values = planted(60, 40, seed=6, share=0.1)[0].values.copy()
    values[:, 3], values[:, 4] = -1, 1
    result = fit(ResponseMatrix(values), "1PL", progress=False)
    assert np.flatnonzero(np.isnan(result.verdict.p_negative)).tolist() == [3]
    assert np.flatnonzero(np.isnan(result.verdict.wrong_key)).tolist() == [3]
    assert result.verdict.wrong_key[4] == 0


# How it is computed


@pytest.mark.parametrize("information", [1.0, 100.0, 10_000.0])
def test_kinds_of_slopes_have_a_mass_of_1_on_the_grid(information: float) -> None:
    slopes, width = module._grid(information)
    np.testing.assert_array_equal(slopes, -slopes[::-1])
    assert (np.diff(slopes) > 0).all()
    mass = (Kinds(0.0, 0.35, 0.3, 0.02, 0.1).densities(slopes) * width).sum(axis=1)
    assert mass == pytest.approx(1, abs=0.01)


def test_verdicts_are_ratios_of_integrals_over_the_kinds_of_slopes() -> None:
    generator = np.random.default_rng(2)
    trend = np.concatenate([generator.normal(6, 2, 250), generator.normal(0, 1.7, 60), [-4.0]])
    found = inversion(Evidence(trend * 4, np.full(311, 16.0)))
    slopes = np.linspace(-8, 8, 320_000)  # 0 lies between two of them
    regular, inverted, flat = found.kinds.shares[:, None] * found.kinds.densities(slopes)
    for j in (260, 280, 300, 310):  # log odds beyond 10 would be damped
        likelihood = np.exp(trend[j] * 4 * slopes - 16 * slopes**2 / 2)
        joint = likelihood * (regular + inverted + flat)
        below = joint[slopes < 0].sum() / joint.sum()
        p = found.structure * below + (1 - found.structure) / 2
        assert found.p_negative[j] == pytest.approx(p, rel=0.05)
        means = [likelihood @ kind / kind.sum() for kind in (inverted, regular + flat)]
        assert found.wrong_key[j] == pytest.approx(np.log(means[0] / means[1]), abs=0.05)


def test_regular_slopes_are_above_0_and_inverted_ones_their_mirror_image() -> None:
    slopes = np.array([-2.0, -0.5, 0.5, 2.0])
    regular, inverted, flat = Kinds(0.3, 0.5, 0.2, 0.1, 0.1).densities(slopes)
    assert regular[:2].tolist() == [0, 0]
    np.testing.assert_array_equal(inverted, regular[::-1])
    np.testing.assert_array_equal(flat, flat[::-1])


def test_damping_begins_at_10_and_keeps_order_and_sign() -> None:
    log_odds = np.array([0.5, 9.9, 10.0, 10.1, 100.0, 1000.0])
    damped = module._damped(log_odds)
    assert damped[:3].tolist() == [0.5, 9.9, 10.0]
    assert (np.diff(damped) > 0).all()
    assert (damped[3:] < log_odds[3:]).all()
    np.testing.assert_array_equal(module._damped(-log_odds), -damped)


def test_the_number_of_items_at_once_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    responses, _ = planted(60, 150, seed=7)
    whole = judged(responses)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 1000)
    parts = judged(responses)
    np.testing.assert_allclose(parts.p_negative, whole.p_negative, rtol=1e-12)
    np.testing.assert_allclose(parts.wrong_key, whole.wrong_key, atol=1e-10)


def test_what_is_learned_from_every_fourth_item_is_near_what_all_teach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    responses, _ = planted(60, 2000, seed=8, share=0.1)
    whole = judged(responses)
    monkeypatch.setattr(module, "_ITEMS_LEARNED_FROM", 500)
    sampled = judged(responses)
    # The share of inverted items among 500 has a standard error of 0.013 in 0.1, log odds of 0.15.
    assert abs(sampled.p_negative - whole.p_negative).max() < 0.1
    assert sampled.p_negative.shape == (2000,)
