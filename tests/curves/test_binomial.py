"""Claims about intervals of shares right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from irtkit.curves.binomial import effective_number, share_interval


@pytest.mark.parametrize(("right", "n"), [(5, 20), (40, 50), (130, 200)])
def test_intervals_are_wilsons(right: int, n: int) -> None:
    low, high = share_interval(right / n, n, 0.95)
    theirs = binomtest(right, n).proportion_ci(method="wilson")
    assert (float(low), float(high)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_intervals_hold_every_share_with_about_the_stated_probability(n: int) -> None:
    counts = np.arange(n + 1)
    low, high = share_interval(counts / n, n, 0.95)
    for p in np.linspace(0.001, 0.999, 333):
        held = binom.pmf(counts, n, p)[(low <= p) & (p <= high)].sum()
        assert held > 0.9  # Wilson's without the Poisson bounds falls to 0.83
    shares = np.linspace(0, 1, 2001)[1:-1]
    mean = [binom.pmf(counts, n, p)[(low <= p) & (p <= high)].sum() for p in shares]
    assert np.mean(mean) == pytest.approx(0.95, abs=0.01)


def test_a_share_lies_within_its_interval() -> None:
    n = np.arange(1, 300)
    for share in (0.0, 1.0):
        low, high = share_interval(np.full(299, share), n, 0.95)
        assert ((low <= share) & (share <= high)).all()


def test_nothing_answered_is_no_knowledge() -> None:
    low, high = share_interval([np.nan, 0.5], [0, 0], 0.95)
    assert low.tolist() == [0, 0]
    assert high.tolist() == [1, 1]


def test_repeated_trials_are_worth_between_their_items_and_themselves() -> None:
    generator = np.random.default_rng(0)
    trials = np.full(2000, 5)
    alike = generator.binomial(5, 0.4, 2000) / 5
    apart = generator.binomial(1, 0.4, 2000) * 1.0
    assert effective_number(alike, trials, 0.95) == pytest.approx(10_000, rel=0.1)
    assert effective_number(apart, trials, 0.95) == 2000
    assert effective_number(apart, np.ones(2000), 0.95) == 2000
