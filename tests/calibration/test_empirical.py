"""The distribution of items learned from the matrix, and items that learn from each other."""

import numpy as np
import pytest
from scipy.special import log_expit

import irtkit
from irtkit import ItemParameters, ResponseMatrix, fit
from tests.crowds import sample

SPREADS = (0.3, 0.5)


def error(found, items):
    return float(np.sqrt(np.mean((found - items.discrimination) ** 2)))


def known_best(responses, ability, spread, negative):
    """Posterior means of slopes by a fine grid, abilities and the items' distribution known."""
    log_size = np.linspace(-4 * spread, 4 * spread, 41)
    slope = np.concatenate([np.exp(log_size), -np.exp(log_size)])
    log_prior = np.tile(-0.5 * (log_size / spread) ** 2, 2)
    log_prior += np.repeat(np.log([1 - negative, negative]), len(log_size))
    a, b = (part.ravel() for part in np.meshgrid(slope, np.linspace(-4, 4, 33), indexing="ij"))
    z = a[:, None] * (ability - b[:, None])
    joint = z @ responses.values.astype(float) + log_expit(-z).sum(axis=1)[:, None]
    joint += (np.repeat(log_prior, 33) - 0.5 * b**2)[:, None]
    weights = np.exp(joint - joint.max(axis=0))
    return np.asarray(a @ weights / weights.sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("n_respondents", "n_items"), [(50, 1000), (12, 2000)])
def test_slopes_come_out_as_if_abilities_and_the_distribution_were_known(
    n_respondents, n_items, spread
):
    responses, items, ability = sample(
        n_respondents, n_items, 0, spread=spread, negative=0.02, standardised=True
    )
    result = fit(responses, prior="empirical", standard_errors=False)
    found = error(result.items["discrimination"].to_numpy(), items)
    plain = fit(responses, prior="weak", standard_errors=False)
    assert result.ability.std() == pytest.approx(1, abs=0.03)
    # 0.2 to 1.5 % over six data sets of each kind: what is left is the common scale
    assert found < 1.04 * error(known_best(responses, ability, spread, 0.02), items)
    assert found < 0.98 * error(plain.items["discrimination"].to_numpy(), items)


@pytest.mark.parametrize("spread", [pytest.param(0.3, marks=pytest.mark.slow), 0.5])
def test_the_learned_distribution_is_that_of_the_items(spread):
    responses, _, _ = sample(60, 1500, 3, spread=spread, negative=0.04, standardised=True)
    learned = fit(responses, prior="empirical", standard_errors=False).settings.prior
    assert learned["kind"] == "empirical"
    assert learned["slope"] == pytest.approx(1.0, abs=0.08)
    assert learned["inverted"] == pytest.approx(0.04, abs=0.015)
    # the slopes between which the middle 68 % of regular items lie, on the log scale
    centre, turn = np.arcsinh(1 / learned["bend"]), learned["bend"] * learned["slope"]
    ends = turn * np.sinh(centre + learned["log_slope_spread"] * np.array([-1.0, 1.0]))
    assert np.log(ends[1] / ends[0]) / 2 == pytest.approx(spread, abs=0.06)
    assert learned["difficulty_spread"] == pytest.approx(1.0, abs=0.12)
    # of an item with a slope of 1; the two parts of the mean are hard to tell apart
    assert learned["intercept"] - learned["difficulty"] == pytest.approx(0.0, abs=0.12)


def test_one_item_far_steeper_than_the_others_stays_finite():
    generator = np.random.default_rng(0)
    ability, difficulty = generator.normal(size=1000), generator.normal(size=100)
    chance = 1 / (1 + np.exp(difficulty - ability[:, None]))
    values = (generator.random(chance.shape) < chance).astype(np.int8)
    values[:, 0] = ability > generator.normal()
    result = fit(ResponseMatrix(values), prior="empirical")
    slopes = result.items["discrimination"]
    assert 3 < slopes.iloc[0] < 40
    assert slopes.iloc[1:].max() < 2
    assert np.isfinite(result.items["discrimination_se"]).all()


def test_intercepts_that_have_nothing_to_do_with_slopes_do_not_mislead():
    errors = []
    for seed in range(2):
        generator = np.random.default_rng(seed)
        items = ItemParameters(
            generator.lognormal(0, 0.5, 200), generator.normal(3.0, 0.7, 200), np.zeros(200)
        )
        ability = generator.normal(size=100)
        responses = irtkit.simulate_responses(items, ability, seed=generator)
        errors.append(
            [
                error(fit(responses, prior=prior).items["discrimination"].to_numpy(), items)
                for prior in ("weak", "empirical")
            ]
        )
    weak, empirical = np.mean(errors, axis=0)
    assert empirical < 1.03 * weak
