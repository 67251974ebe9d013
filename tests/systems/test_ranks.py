"""Claims about rank intervals and significant pairs."""

import numpy as np
import pytest
from scipy.stats import studentized_range

import irtkit
from irtkit.systems.ranks import groups_of, likely_ranks, pairs_apart, simultaneous_ranks
from irtkit.systems.scores import Scores
from tests.crowds import crowd

INFINITE = 1e9


def scores_with(value, root=1.0, least=0.0):
    """Systems whose errors have a covariance with this root, best first."""
    n = len(value)
    contributions = np.eye(n) * root if np.ndim(root) < 2 else np.asarray(root)
    return Scores(np.arange(n), np.array(value), contributions, np.full(n, INFINITE), least)


def test_ranks_far_apart_are_known_and_equal_ones_are_not():
    found = scores_with([30.0, 20.1, 20.0, 0.0])
    for low, high in (simultaneous_ranks(pairs_apart(found)), likely_ranks(found)):
        assert (low.tolist(), high.tolist()) == ([1, 2, 2, 4], [1, 3, 3, 4])


@pytest.mark.parametrize(("factor", "told"), [(0.97, False), (1.03, True)])
def test_the_bound_of_independent_scores_is_tukeys(factor, told):
    # the range of ten exceeds it in 5 % of cases; a step later only the other pairs count
    bound = factor * studentized_range.ppf(0.95, 10, np.inf)
    value = [bound] + [bound / 2] * 8 + [0.0]
    assert pairs_apart(scores_with(value))[0, 9] == told


@pytest.mark.parametrize(("apart_by", "told"), [(1.85, False), (2.1, True)])
def test_copies_are_looked_at_once(apart_by, told):
    # two families of ten copies are one comparison: 1.96 standard errors and no more
    family = np.repeat([1, 0], 10)
    root = np.stack([family, 1 - family], axis=1).astype(float)
    scores = scores_with(list(apart_by * 2**0.5 * family), root, 1e-6)
    found = pairs_apart(scores)
    assert found[:10, 10:].all() == found[:10, 10:].any() == told
    assert not found[:10, :10].any()
    low, high = likely_ranks(scores)
    assert set(low) | set(high) <= {1, 11}  # copies stay copies


def test_few_degrees_of_freedom_widen_ranks():
    two = scores_with([2.2 * 2**0.5, 0.0])
    assert pairs_apart(two)[0, 1]
    few = Scores(two.places, two.value, two.error, np.full(2, 5.0))
    assert not pairs_apart(few)[0, 1]
    many = np.linspace(20, 0, 41)
    widths = []
    for df in (INFINITE, 4.0):
        of = Scores(np.arange(41), many, np.eye(41), np.full(41, df))
        low, high = likely_ranks(of)
        widths.append((high - low).mean())
    assert widths[1] > 1.1 * widths[0]
    none = Scores(two.places, two.value, two.error, np.zeros(2))
    assert [each.tolist() for each in likely_ranks(none)] == [[1, 1], [2, 2]]


def test_the_bound_for_many_is_as_high_as_by_draws_or_higher(monkeypatch):
    value = -np.sort(-np.random.default_rng(0).normal(scale=2, size=40))
    drawn = pairs_apart(scores_with(list(value)))
    monkeypatch.setattr("irtkit.systems.ranks.MOST_DRAWN", 10)
    holm = pairs_apart(scores_with(list(value)))
    assert not (holm & ~drawn).any()
    assert drawn.sum() >= holm.sum() > 0.7 * drawn.sum()


def test_likely_ranks_hold_the_true_ranks_and_are_narrower_than_simultaneous_ones():
    held = []
    for seed in range(3):  # benchmarks/systems.py has the rates
        made = crowd("long", seed)
        result = irtkit.fit(made.responses, standard_errors=False)
        board = result.leaderboard().loc[list(made.responses.respondents)]
        wide = result.leaderboard(simultaneous=True)
        true = made.items.probability(made.abilities).mean(axis=1)
        rank = 1 + (true[None] > true[:, None]).sum(axis=1)
        held.append(((board["rank_low"] <= rank) & (rank <= board["rank_high"])).mean())
        assert (board["rank_low"] <= board["rank"]).all()
        assert (board["rank"] <= board["rank_high"]).all()
        likely = board["rank_high"] - board["rank_low"]
        assert likely.mean() < 0.6 * (wide["rank_high"] - wide["rank_low"]).mean()
    assert np.mean(held) > 0.92  # 95 % nominal, 120 correlated intervals


@pytest.mark.filterwarnings("ignore:(Not unidim|Item groups)")
def test_clusters_of_items_widen_likely_ranks():
    clusters = {f"item-{k + 1}": k // 10 for k in range(300)}
    copied = irtkit.ResponseMatrix(np.repeat(crowd("long").responses.values[:, :30], 10, axis=1))
    whole = irtkit.fit(copied, standard_errors=False)
    alone, together = whole.leaderboard(), whole.leaderboard(clusters=clusters)
    width = [(each["rank_high"] - each["rank_low"]).mean() for each in (alone, together)]
    assert width[1] > 1.5 * width[0]


def test_letters_are_runs_as_long_as_can_be():
    apart = np.zeros((5, 5), bool)
    for i, k in ((0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 4)):
        apart[i, k] = True
    assert groups_of(apart) == ["a", "a-b", "b-c", "c-d", "d"]
    assert groups_of(np.zeros((3, 3), bool)) == ["a"] * 3
    assert groups_of(~np.tri(30, dtype=bool))[-4:] == ["aa", "ab", "ac", "ad"]
