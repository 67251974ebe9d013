"""Claims about scores of systems and how they err together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.systems.leaderboard import standings
from irtkit.systems.standing import clusters_of


def drawn(abilities: list[float], n_items: int = 60, seed: int = 0) -> irtkit.ResponseMatrix:
    generator = np.random.default_rng(seed)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    )
    return irtkit.simulate_responses(items, abilities, seed=seed)


def test_scores_of_complete_answers_are_shares_right_with_their_sample_covariance() -> None:
    responses = drawn(list(np.linspace(-1, 1, 12)))
    _, (standing,) = standings(irtkit.fit(responses))
    assert standing.scores == pytest.approx(responses.values.mean(axis=1))
    sample = np.cov(responses.values) / 60
    assert standing.estimates().covariance == pytest.approx(sample)
    assert (standing.df == 59).all()


def test_repeated_trials_are_one_cluster_and_weigh_items_alike() -> None:
    right, trials = np.array([[3, 0, 1, 2], [1, 0, 2, 1]]), np.array([[3, 3, 3, 3], [1, 2, 3, 1]])
    responses = irtkit.ResponseMatrix.from_counts(right, trials)
    with pytest.warns(UserWarning, match="repeated|respondents"):
        result = irtkit.fit(responses)
    _, (standing,) = standings(result)
    assert standing.scores == pytest.approx((right / trials).mean(axis=1))
    assert standing.estimates().covariance == pytest.approx(np.cov(right / trials) / 4)


def test_a_cell_without_an_answer_widens_the_error() -> None:
    responses = drawn(list(np.linspace(-1, 1, 30)))
    values = responses.values.astype(float)
    values[0, ::2] = np.nan
    _, (whole,) = standings(irtkit.fit(responses))
    _, (part,) = standings(irtkit.fit(irtkit.ResponseMatrix(values)))
    assert part.variance(0, 1) > 1.1 * whole.variance(0, 1)
    assert part.variance(1, 2) == pytest.approx(whole.variance(1, 2), rel=0.01)
    assert part.df[0] == 29


def test_clusters_are_named_by_item_or_in_the_item_table() -> None:
    responses = drawn([0.0] * 10, n_items=4)
    table = pd.DataFrame({"passage": ["x", "y", "y", "x"]}, index=responses.items)
    result = irtkit.fit(responses.with_tables(table))
    for given in ("passage", table["passage"], dict(table["passage"])):
        assert clusters_of(result, given).tolist() == [0, 1, 1, 0]
    _, (standing,) = standings(result, clusters="passage")
    assert (standing.df == 1).all()
    with pytest.raises(ValueError, match="column 'task'"):
        clusters_of(result, "task")
    with pytest.raises(ValueError, match="clusters has none for item 'item-1'"):
        clusters_of(result, {})


@pytest.mark.filterwarnings("ignore:respondents differ")
def test_the_spread_of_systems_is_what_differences_exceed_their_errors_by() -> None:
    generator = np.random.default_rng(0)
    spread = []
    for sd in (0.0, 1.0):
        responses = drawn(list(sd * generator.normal(size=40)), n_items=400)
        spread.append(standings(irtkit.fit(responses))[1][0].spread)
    assert spread[0] < 0.0003
    # of abilities 1 SD apart a share right has an SD of some 0.2
    assert spread[1] == pytest.approx(2 * 0.2**2, rel=0.4)
