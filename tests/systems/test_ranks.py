"""Claims about rank intervals and pairs told apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import studentized_range

from irtkit.systems.ranks import (
    Scores,
    groups_of,
    ranks_of,
)

INFINITE = 1e9


def independent(value: list[float], se: float = 1.0) -> Scores:
    n = len(value)
    return Scores(np.array(value), se**2 * np.eye(n), np.full(n, INFINITE))


def test_ranks_far_apart_are_known_and_equal_ones_are_not() -> None:
    found = ranks_of(independent([30.0, 0.0, 20.0, 20.1]))
    assert found.low.tolist() == [1, 4, 2, 2]
    assert found.high.tolist() == [1, 4, 3, 3]


@pytest.mark.parametrize(("factor", "told"), [(0.97, False), (1.03, True)])
def test_the_bar_of_independent_scores_is_tukeys(factor: float, told: bool) -> None:
    # the range of ten exceeds it in 5 % of cases; a step later only the other pairs count
    bar = factor * studentized_range.ppf(0.95, 10, np.inf)
    value = [0.0] + [bar / 2] * 8 + [bar]
    assert ranks_of(independent(value)).apart[0, 9] == told


def test_copies_are_looked_at_once() -> None:
    # two families of ten copies are one comparison: 1.96 standard errors and no more
    family = np.repeat(np.arange(2), 10)
    covariance = (family[:, None] == family).astype(float)
    df = np.full(20, INFINITE)
    for apart_by, told in ((1.85, False), (2.1, True)):
        value = apart_by * 2**0.5 * family
        found = ranks_of(Scores(value, covariance + 1e-9 * np.eye(20), df, 1e-6)).apart
        assert found[:10, 10:].all() == found[:10, 10:].any() == told
        assert not found[:10, :10].any()


def test_few_degrees_of_freedom_raise_the_bar() -> None:
    scores = independent([0.0, 2.2 * 2**0.5])
    assert ranks_of(scores).apart[0, 1]
    assert not ranks_of(scores._replace(df=np.full(2, 5.0))).apart[0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_the_rank_intervals_of_systems_that_share_a_letter_hold_the_ranks_of_each_other(
    seed: int,
) -> None:
    # errors of 0.2 to 3: a system between two that are not told apart may be told from both
    generator = np.random.default_rng(seed)
    value = -np.sort(-generator.normal(scale=3, size=30))
    covariance = np.diag(generator.uniform(0.2, 3, 30) ** 2)
    found = ranks_of(Scores(value, covariance, np.full(30, INFINITE)))
    ends = [name.split("-") for name in groups_of(found.apart)]
    first, last = ([(len(end[k]), end[k]) for end in ends] for k in (0, -1))
    place = np.arange(1, 31)
    for i in range(30):
        shares = np.array([first[k] <= last[i] and first[i] <= last[k] for k in range(30)])
        assert found.low[i] <= place[shares].min()
        assert found.high[i] >= place[shares].max()


def test_holms_bar_of_many_is_that_of_draws_or_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = independent(list(np.random.default_rng(0).normal(scale=2, size=40)))
    drawn = ranks_of(scores).apart
    monkeypatch.setattr("irtkit.systems.ranks.MOST_DRAWN", 10)
    holm = ranks_of(scores).apart
    assert not (holm & ~drawn).any()
    assert drawn.sum() >= holm.sum() > 0.7 * drawn.sum()


def test_systems_that_share_a_letter_are_tied_and_groups_are_as_long_as_can_be() -> None:
    apart = np.zeros((5, 5), bool)
    for i, k in ((0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4)):
        apart[i, k] = apart[k, i] = True
    assert groups_of(apart) == ["a", "a-b", "b-c", "c-d", "d"]
    assert groups_of(np.zeros((3, 3), bool)) == ["a"] * 3
    assert groups_of(~np.eye(30, dtype=bool))[-4:] == ["aa", "ab", "ac", "ad"]
