"""Claims about the score test of slopes, their distribution, and what is called negative."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm

from irtkit import ItemParameters, ResponseMatrix, fit, simulate_responses
from irtkit.data import slopes as module
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import (
    ProportionScore,
    SlopeScore,
    false_discovery,
    learned_mixture,
    proportion_score,
    slope_score,
    slope_signs,
)
from tests.crowds import sample


def counted(responses):
    return patterns_of(responses, synthetic_is_real=False)


def score_of(given):
    return slope_score(given, proportion_score(given))


def simulated(n_respondents, n_items, *, seed, missing=0.0):
    return counted(sample(n_respondents, n_items, seed, missing=missing).responses)


def standardised(values):
    return (values - values.mean()) / values.std()


def coin_flips(n_respondents, n_items, seed):
    return ResponseMatrix(np.random.default_rng(seed).integers(0, 2, (n_respondents, n_items)))


# Proportion score


@pytest.mark.parametrize("seed", range(3))
def test_respondents_who_met_harder_items_are_not_called_weaker(seed):
    generator = np.random.default_rng(seed)
    difficulty = np.repeat([-1.5, 0.0, 1.5], 60)  # an easy booklet, common items, a hard booklet
    abilities, hard = generator.normal(size=400), np.arange(400) % 2 == 1
    items = ItemParameters.from_difficulty(np.ones(180), difficulty)
    values = simulate_responses(items, abilities, seed=generator).values.copy()
    share = values.mean(axis=1, where=np.where(hard[:, None], difficulty >= 0, difficulty <= 0))
    values[np.ix_(~hard, difficulty > 0)] = values[np.ix_(hard, difficulty < 0)] = -1

    def called_weaker(proportion):
        error = standardised(proportion) - standardised(abilities)
        return float(error[~hard].mean() - error[hard].mean())

    assert called_weaker(share) > 1
    # five standard errors of the difference of two means of 200 errors with an SD of 0.3
    assert called_weaker(proportion_score(counted(ResponseMatrix(values))).value) < 0.15


# Score test


@pytest.mark.parametrize(("shape", "n_data_sets"), [((2000, 5), 60), ((60, 200), 10)])
def test_noise_of_items_easy_and_hard_has_no_slope(shape, n_data_sets):
    found = []
    for seed in range(n_data_sets):
        generator = np.random.default_rng(seed)
        share = generator.uniform(0.2, 0.8, shape[1])
        found.append(score_of(counted(ResponseMatrix(generator.random(shape) < share))).z)
    # five standard errors; those of few items go together, which makes means vary less
    assert np.mean(found) == pytest.approx(0, abs=5 / np.sqrt(np.size(found)))
    assert np.std(found) == pytest.approx(1, abs=0.15)


def brute_force(given, *, right, answered):
    """Score and information of every item against scores without the item's own responses.

    Answers are replaced by the proportion correct of the item, and the scale is kept.
    """
    proportion, found = proportion_score(given), []
    for own, tried in zip(right.T, answered.T, strict=True):
        share = own.sum() / tried.sum()
        without = proportion.value - (own - share * tried) * proportion.derivative
        mean = tried @ proportion.value / tried.sum()
        spread = tried @ (proportion.value - mean) ** 2
        n = min(tried.sum(), len(tried))
        found.append(((own - share * tried) @ without, share * (1 - share) * spread * n / (n - 1)))
    return SlopeScore(*np.array(found).T)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_score_test_is_one_against_scores_without_the_item(missing):
    given = simulated(150, 60, seed=7, missing=missing)
    answered = (given.cells >= 0).astype(float)
    referee = brute_force(given, right=np.maximum(given.cells, 0).astype(float), answered=answered)
    found = score_of(given)
    np.testing.assert_allclose(found.information, referee.information, rtol=1e-9)
    np.testing.assert_allclose(found.score, referee.score, rtol=1e-9)


def test_trials_that_repeat_each_other_say_what_one_says():
    values = simulated(80, 50, seed=3).cells
    once = score_of(counted(ResponseMatrix(values)))
    often = score_of(counted(ResponseMatrix.from_counts(values * 7, np.full(values.shape, 7))))
    np.testing.assert_allclose(often.z, once.z, rtol=1e-9)


# Distribution of slopes


def drawn(n, inverted, seed, information=60.0):
    """Score tests of items with log-normal slopes, the first of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(-0.2, 0.4, n)
    slopes[:inverted] *= -1
    score = information * slopes + np.sqrt(information) * generator.normal(size=n)
    return SlopeScore(score, np.full(n, information))


def test_the_share_and_the_slopes_of_inverted_items_are_learned():
    mixture = learned_mixture(drawn(1000, 100, seed=2))
    # the share of 100 in 1,000 is known but for those few that may as well be rising
    assert mixture.shares[1] == pytest.approx(0.1, abs=0.01)
    assert mixture.shares[2] < 0.05
    # mean and SD of the lognormal; five standard errors of 1,000 slopes with an SD of 0.39
    assert mixture.typical == pytest.approx(np.exp(-0.2 + 0.08), abs=0.07)
    assert mixture.spread == pytest.approx(0.37, abs=0.05)
    assert sum(mixture.shares) == pytest.approx(1, abs=1e-12)


# Verdicts


def signs(responses):
    return slope_signs(counted(responses))


def judged(z, information):
    """What items of the same information say. It does not matter who answered them."""
    score = SlopeScore(z * information**0.5, np.full(len(z), information))
    nobody = ProportionScore(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool_))
    return module._judged(nobody, 1.0, score, np.ones(len(z), dtype=np.bool_))


@pytest.mark.parametrize(("n_respondents", "least"), [
    pytest.param(200, 0.99, marks=pytest.mark.slow), (60, 0.93), (30, 0.78),
])  # fmt: skip
def test_planted_inversions_come_first(planted, n_respondents, least):
    found = []
    for seed in range(5):
        responses, wrong = planted(n_respondents, 1000, seed)
        first = np.argsort(-signs(responses).p_negative, kind="stable")[:20]
        found.append(wrong[first].mean())
    # The mean of 100 draws has a standard error of 0.035 at 30 respondents, where 0.86 is found.
    assert np.mean(found) >= least


# Noise


@pytest.mark.parametrize("shape", [(200, 400), (30, 300), (500, 10)])
def test_coin_flips_are_told_as_noise(shape):
    found = [signs(coin_flips(*shape, seed)) for seed in range(20)]
    assert np.mean([one.p_any_slope for one in found]) < 0.1
    assert np.max([one.p_negative for one in found]) < 0.9


def test_items_without_variance_are_as_likely_negative_as_any(planted):
    values = planted(60, 200, seed=4)[0].values.copy()
    values[:, 0], values[:, 1], values[:, 2] = 1, 0, -1
    found = signs(ResponseMatrix(values))
    # they are as likely inverted as any item of which nothing is known
    share = found.mixture.shares[1] + found.mixture.shares[2] / 2
    assert found.p_negative[:2] == pytest.approx(share, abs=0.01)
    assert np.isnan(found.p_negative[2])


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_the_verdict_is_the_same_when_every_response_is_inverted(planted, model):
    responses, wrong = planted(60, 80, seed=5, share=0.1)
    assert responses.values.min() == 0
    there, back = (
        fit(ResponseMatrix(values), model, progress=False).items["p_negative"].to_numpy()
        for values in (responses.values, 1 - responses.values)
    )
    np.testing.assert_allclose(there, back, atol=1e-6)
    assert there[wrong].mean() > 0.5 > there[~wrong].mean()


# How it is computed


def test_verdicts_are_ratios_of_integrals_over_the_mixture_of_slopes():
    generator = np.random.default_rng(2)
    z = np.concatenate([generator.normal(6, 2, 250), generator.normal(0, 1.7, 60), [-4.0]])
    *_, mixture, p_any_slope, p_negative = judged(z, 16.0)
    a = np.linspace(-12, 12, 200_001)
    kinds = ((mixture.typical, mixture.spread), (-mixture.typical, mixture.spread))
    density = [norm.pdf(a, *kind) for kind in (*kinds, (0.0, mixture.flat_spread))]
    regular, inverted, flat = mixture.shares[:, None] * density
    for j in (260, 280, 300, 310):  # log odds beyond 10 would be damped
        likelihood = np.exp(z[j] * 4 * a - 16 * a**2 / 2)
        joint = likelihood * (regular + inverted + flat)
        p = p_any_slope * joint[a < 0].sum() / joint.sum() + (1 - p_any_slope) / 2
        assert p_negative[j] == pytest.approx(p, rel=1e-3)


def test_q_values_are_those_of_benjamini_and_hochberg():
    p = np.random.default_rng(0).random(50) ** 3
    assert false_discovery(p) == pytest.approx(false_discovery_control(p))
    with_gap = np.insert(p, 7, np.nan)
    assert np.isnan(false_discovery(with_gap)[7])
    assert np.delete(false_discovery(with_gap), 7) == pytest.approx(false_discovery_control(p))
