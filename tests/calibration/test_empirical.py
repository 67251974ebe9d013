"""The distribution of items learned from the matrix, and items that learn from each other."""

import numpy as np
import pytest

from irtkit import ResponseMatrix, fit
from tests.crowds import sample


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
