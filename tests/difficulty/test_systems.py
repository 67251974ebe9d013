"""Claims about systems ranked by share right and by ability."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.data.near_duplicates import NearDuplicates
from irtkit.difficulty.systems import (
    errors_needed,
    most_moved,
    ranked_systems,
    systems_sentence,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|the ability of the fit)"
)


def told(result: irtkit.FitResult) -> str:
    ranked = ranked_systems(result.respondents, result.near_duplicates)
    return systems_sentence(ranked, result.model, doubted=False, partial=False, draws=50, seed=0)


def unlike_items() -> irtkit.FitResult:
    """Abler systems that answered harder items, but for some that all answered."""
    generator = np.random.default_rng(4)
    abilities = np.repeat([1.0, -1.0], 10)
    difficulty = np.concatenate([np.zeros(60), np.full(100, 2.5), np.full(100, -2.5)])
    items = irtkit.ItemParameters.from_difficulty(np.ones(260), difficulty)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values.copy()
    values[:10, 160:] = values[10:, 60:160] = -1
    return irtkit.fit(irtkit.ResponseMatrix(values), "1PL")


@pytest.mark.parametrize("seed", range(4))
def test_a_complete_1pl_ranks_systems_as_their_shares_right_do(seed: int) -> None:
    generator = np.random.default_rng(seed)
    items = irtkit.ItemParameters.from_difficulty(np.ones(40), generator.normal(size=40))
    made = irtkit.simulate_responses(items, generator.normal(size=30), seed=generator)
    result = irtkit.fit(made, "1PL")
    ranked = ranked_systems(result.respondents, result.near_duplicates)
    pd.testing.assert_series_equal(
        ranked["rank_by_accuracy"], ranked["rank_by_ability"], check_names=False
    )
    assert "the ranking stays as it is" in told(result)


@pytest.mark.parametrize("seed", range(4))
def test_slopes_that_are_all_equal_move_no_system(seed: int) -> None:
    generator = np.random.default_rng(seed)
    items = irtkit.ItemParameters.from_difficulty(np.ones(100), generator.normal(size=100))
    made = irtkit.simulate_responses(items, generator.normal(size=40), seed=generator)
    ranked = ranked_systems(irtkit.fit(made, "2PL").respondents, None)
    assert not ranked["passes"].any()
    assert not ranked["passed_by"].any()
    assert "no two change places beyond error" in told(irtkit.fit(made, "2PL"))


def test_systems_that_answered_harder_items_pass_those_with_more_right() -> None:
    result = unlike_items()
    ranked = ranked_systems(result.respondents, result.near_duplicates)
    able = [f"respondent-{k}" for k in range(1, 11)]
    passed = ranked["passes"] > 0
    assert passed.sum() > 5
    assert set(ranked.index[passed]) <= set(able)
    assert ranked["passes"].sum() == ranked["passed_by"].sum()
    assert f"{ranked['passes'].sum()} pairs change places beyond error" in told(result)
    assert "passing" in told(result)


def test_where_one_scale_does_not_hold_its_ranking_is_doubted() -> None:
    ranked = ranked_systems(unlike_items().respondents, None)
    doubt = "one scale of ability does not hold"
    assert doubt in systems_sentence(ranked, "1PL", doubted=True, partial=False, draws=10, seed=0)
    whole, partial = (
        systems_sentence(ranked, "1PL", doubted=False, partial=some, draws=10, seed=0)
        for some in (False, True)
    )
    assert doubt not in whole
    assert "not all answered the same items" in partial
    assert "not all answered" not in whole


def test_few_independent_systems_need_larger_differences() -> None:
    def needed(n_respondents: int, effective: float) -> float:
        return errors_needed(NearDuplicates(n_respondents, effective, 1.0, np.arange(0)))

    assert needed(1000, 1000.0) == pytest.approx(2.58, abs=0.01)
    assert needed(8, 8.0) == pytest.approx(3.50, abs=0.01)  # Student's t, 7 degrees of freedom
    assert needed(40, 10.0) == pytest.approx(2 * 3.25, abs=0.01)  # twice that of 9
    assert errors_needed(None) == pytest.approx(2.58, abs=0.01)


def test_only_differences_beyond_error_count() -> None:
    table = pd.DataFrame(
        {
            "ability": [0.0, 1.0, 0.0, 1.0],
            "posterior_sd": [0.3, 0.2, 0.1, 0.1],
            "accuracy": [0.6, 0.5, 0.6, 0.6],
            "n_responses": 100,
            "synthetic": False,
        },
        index=pd.Index(list("abcd"), name="respondent"),
    )
    ranked = ranked_systems(table, None).loc[list("abcd")]
    # 1 is 2.77 errors above a, 4.47 above c; d has no fewer right than they
    assert ranked["passes"].tolist() == [0, 2, 0, 0]
    assert ranked["passed_by"].tolist() == [1, 0, 1, 0]
    wider = ranked_systems(table.assign(posterior_sd=[0.35, 0.2, 0.1, 0.1]), None)
    assert wider.loc["b", "passes"] == 1
    assert ranked["rank_by_accuracy"].tolist() == [2, 4, 2, 2]
    assert ranked["rank_by_ability"].tolist() == [3.5, 1.5, 3.5, 1.5]


def test_families_of_copies_move_no_system() -> None:
    generator = np.random.default_rng(8)
    items = irtkit.ItemParameters.from_difficulty(np.ones(300), generator.normal(size=300))
    parents = irtkit.simulate_responses(items, generator.normal(size=5), seed=generator).values
    answers = np.repeat(parents, 10, axis=0)
    flipped = generator.random(answers.shape) < 0.02
    made = irtkit.ResponseMatrix(np.where(flipped, 1 - answers, answers))
    result = irtkit.fit(made, "2PL")
    assert ranked_systems(result.respondents, None)["passes"].any()  # as if independent
    assert not ranked_systems(result.respondents, result.near_duplicates)["passes"].any()


def test_synthetic_respondents_and_those_without_a_response_are_left_out() -> None:
    values = np.random.default_rng(0).integers(0, 2, (6, 30))
    values[2] = -1
    crowd = irtkit.add_synthetic(irtkit.ResponseMatrix(values), ("always-right",))
    ranked = ranked_systems(irtkit.fit(crowd, "1PL").respondents, None)
    assert len(ranked) == 5
    assert "always-right" not in ranked.index


def test_those_that_move_most_are_shown_and_else_the_ablest() -> None:
    ranked = ranked_systems(unlike_items().respondents, None)
    shown = most_moved(ranked, 3)
    moves = ranked["passes"] + ranked["passed_by"]
    assert len(shown) == 3
    assert (shown["passes"] + shown["passed_by"]).min() >= moves.sort_values().iloc[-3]
    nothing = ranked.assign(passes=0, passed_by=0)
    assert most_moved(nothing, 3).index.equals(ranked.index[:3])


def test_one_system_has_no_rank_to_change() -> None:
    ranked = ranked_systems(unlike_items().respondents, None).head(1)
    assert systems_sentence(ranked, "1PL", doubted=False, partial=False, draws=10, seed=0) == ""


def test_tables_are_printed_in_80_columns() -> None:
    result = unlike_items()
    long = irtkit.ResponseMatrix(
        result.responses.values,
        respondents=[f"organisation/a-very-long-name-of-a-system-{k}" for k in range(20)],
    )
    text = str(irtkit.compare_difficulties(irtkit.fit(long, "2PL"), folds=2, models=["1PL"]))
    tables = [line for line in text.splitlines() if not line.startswith("- ")]
    assert max(map(len, tables)) <= 80
    assert "Systems by share right and by ability" in text
    assert "organisation/a-ve" in text


def test_where_ability_splits_ties_of_shares_right_only_that_is_said() -> None:
    table = pd.DataFrame(
        {
            "accuracy": [0.9, 0.5, 0.5, 0.2],
            "ability": [2.0, 0.1, 0.0, -2.0],
            "posterior_sd": 0.1,
            "synthetic": False,
            "n_responses": 10,
        },
        index=pd.Index(list("abcd"), name="respondent"),
    )
    told = systems_sentence(
        ranked_systems(table, None), "2PL", doubted=False, partial=False, draws=10, seed=0
    )
    assert "no two change places, only ties, which one of them has" in told
    assert "the ranking stays as it is" not in told
