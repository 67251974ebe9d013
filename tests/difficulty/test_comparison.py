"""Claims about measures of difficulty side by side."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.difficulty import DifficultyComparison, compare_difficulties, expected_error
from irtkit.irf import ItemParameters

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Calibrated:
    """Stands in for a fit."""

    items: pd.DataFrame
    model: str = "2PL"
    latent_sd: float = 1.0


def calibrated(
    discrimination: np.ndarray, difficulty: np.ndarray, guessing: np.ndarray | float = 0.0
) -> Calibrated:
    """Items whose average error is what the model expects."""
    parameters = ItemParameters.from_difficulty(discrimination, difficulty, guessing)
    columns = {
        "discrimination": parameters.discrimination,
        "difficulty": difficulty,
        "guessing": parameters.guessing,
        "intercept": parameters.intercept,
        "average_error": expected_error(parameters),
        "n_responses": 100,
        "status": "ok",
    }
    names = [f"q{k}" for k in range(1, len(difficulty) + 1)]
    return Calibrated(pd.DataFrame(columns, index=pd.Index(names, name="item")))


def changed(result: Calibrated, item: str, **values: object) -> Calibrated:
    items = result.items.copy()
    for column, value in values.items():
        items.loc[item, column] = value
    return Calibrated(items, result.model, result.latent_sd)


def pair(comparison: DifficultyComparison, measure_1: str, measure_2: str) -> pd.Series:
    rows = comparison.pairs.set_index(["measure_1", "measure_2"])
    found: Any = rows.loc[(measure_1, measure_2)]
    return found


@pytest.fixture
def equal_slopes() -> Calibrated:
    return calibrated(np.ones(20), np.linspace(-2, 2, 20))


@pytest.fixture
def mixed_slopes() -> Calibrated:
    generator = np.random.default_rng(2)
    return calibrated(generator.lognormal(0, 0.5, 40), generator.normal(0, 1, 40))


def test_nothing_changes_where_slopes_are_equal(equal_slopes: Calibrated) -> None:
    comparison = compare_difficulties(equal_slopes)
    columns = ["spearman", "spearman_low", "spearman_high", "kendall"]
    np.testing.assert_allclose(comparison.pairs[columns], 1)
    assert len(comparison.summary) == 4
    assert all("nothing changes" in sentence for sentence in comparison.summary[:3])
    assert comparison.summary[3].startswith("Kolena's score of right and wrong alone has the ranks")


def test_ties_do_not_pass_for_a_change(equal_slopes: Calibrated) -> None:
    coarse = equal_slopes.items.assign(average_error=equal_slopes.items["average_error"].round(1))
    comparison = compare_difficulties(Calibrated(coarse))
    row = pair(comparison, "average_error", "difficulty")
    assert row["spearman"] < 1
    assert (row["ties_1"] > 0, row["ties_2"]) == (True, 0)
    assert "nothing changes but ties" in comparison.summary[0]


def test_the_table_has_a_column_per_measure(mixed_slopes: Calibrated) -> None:
    table = compare_difficulties(mixed_slopes).table
    assert list(table.columns) == ["average_error", "expected_error", "difficulty"]
    assert table.index.equals(mixed_slopes.items.index)
    np.testing.assert_allclose(table["expected_error"], table["average_error"])


def test_every_pair_of_measures_has_a_row(mixed_slopes: Calibrated) -> None:
    pairs = compare_difficulties(mixed_slopes).pairs
    assert len(pairs) == 3
    assert (pairs["n_items"] == 40).all()
    assert (pairs["n_left_out"] == 0).all()
    assert (pairs["spearman_low"] <= pairs["spearman"]).all()
    assert (pairs["spearman"] <= pairs["spearman_high"]).all()


def test_unequal_slopes_change_the_order_of_difficulty_only(mixed_slopes: Calibrated) -> None:
    comparison = compare_difficulties(mixed_slopes)
    assert pair(comparison, "average_error", "expected_error")["spearman"] == 1
    assert pair(comparison, "average_error", "difficulty")["spearman"] < 1


def test_the_expected_error_of_a_rasch_model_is_that_of_its_population(
    equal_slopes: Calibrated,
) -> None:
    table = compare_difficulties(Calibrated(equal_slopes.items, "Rasch", 2.0)).table
    logits = ItemParameters.from_difficulty(np.ones(20), np.linspace(-2, 2, 20))
    np.testing.assert_allclose(table["expected_error"], expected_error(logits, latent_sd=2.0))


def test_an_infinite_difficulty_is_the_hardest(equal_slopes: Calibrated) -> None:
    comparison = compare_difficulties(changed(equal_slopes, "q20", difficulty=np.inf))
    assert pair(comparison, "average_error", "difficulty")["spearman"] == pytest.approx(1)
    assert pair(comparison, "average_error", "difficulty")["n_items"] == 20


def test_an_item_without_a_value_is_left_out_of_that_pair_and_counted(
    equal_slopes: Calibrated,
) -> None:
    comparison = compare_difficulties(changed(equal_slopes, "q7", difficulty=np.nan))
    row = pair(comparison, "average_error", "difficulty")
    assert (row["n_items"], row["n_left_out"]) == (19, 1)
    assert pair(comparison, "average_error", "expected_error")["n_left_out"] == 0
    assert any("1 item has no value" in told for told in comparison.summary)


def test_an_item_that_nobody_answered_has_no_difficulty(equal_slopes: Calibrated) -> None:
    unanswered = changed(equal_slopes, "q7", n_responses=0, average_error=np.nan)
    comparison = compare_difficulties(unanswered)
    assert comparison.table.loc["q7"].isna().all()
    assert (comparison.pairs["n_left_out"] == 1).all()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"discrimination": 0.1, "difficulty": 3.0}, "low discrimination 0.10, median 1.00"),
        ({"discrimination": 5.0, "difficulty": 3.0}, "high discrimination 5.00, median 1.00"),
        ({"guessing": 0.4, "difficulty": 3.0}, "guessing 0.40, median 0.00"),
        ({"n_responses": 7, "difficulty": 3.0}, "7 responses, others have 100 at most"),
        ({"status": "unbounded", "difficulty": 3.0}, "status unbounded"),
        ({"difficulty": 3.0}, "nothing unusual in its parameters"),
    ],
)
def test_the_item_that_moves_most_is_named_with_its_reason(
    equal_slopes: Calibrated, values: dict[str, object], reason: str
) -> None:
    summary = compare_difficulties(changed(equal_slopes, "q5", **values)).summary
    (moves,) = (told for told in summary if "from average_error to difficulty" in told)
    assert f"q5 from 5 to 20 ({reason})" in moves
    assert moves.count(" to ") == 2  # from one measure to the other, and a single item


def test_small_moves_name_no_item(equal_slopes: Calibrated) -> None:
    harder = equal_slopes.items.loc["q6", "difficulty"] + 0.01
    summary = compare_difficulties(changed(equal_slopes, "q5", difficulty=harder)).summary
    at = next(k for k, told in enumerate(summary) if told.startswith("average_error and diff"))
    assert "nearly the same order" in summary[at]
    assert summary[at + 1].startswith("No item moves by more than a tenth of the ranks")


def test_flat_items_and_slopes_below_0_have_no_place_in_the_order_of_difficulty() -> None:
    slopes = np.where(np.arange(20) < 3, -1.0, 1.0)
    result = calibrated(slopes, np.linspace(-2, 2, 20))
    flat = changed(result, "q20", status="flat")
    table = compare_difficulties(flat).table
    assert table["difficulty"].isna().tolist() == [True] * 3 + [False] * 16 + [True]
    assert table[["average_error", "expected_error"]].notna().all(axis=None)


def test_negative_discrimination_is_counted_as_by_the_fit() -> None:
    slopes = np.where(np.arange(20) < 3, -1.0, 1.0)
    result = calibrated(slopes, np.linspace(-2, 2, 20))
    doubtful = Calibrated(result.items.assign(p_negative=np.where(np.arange(20) < 1, 0.99, 0.6)))
    told = compare_difficulties(doubtful).summary[-2]
    assert told == (
        "1 of 20 items has negative discrimination (at a false-discovery rate of 5%). "
        "2 further slopes are estimated below 0, but not significantly."
    )


def test_few_responses_are_told(equal_slopes: Calibrated) -> None:
    few = Calibrated(equal_slopes.items.assign(n_responses=12))
    assert any(
        "a typical item was answered by 12, so" in told
        for told in compare_difficulties(few).summary
    )


def test_what_is_no_fit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"result must be what irtkit\.fit"):
        compare_difficulties(None)


@pytest.mark.parametrize("model", ["1PL", "Rasch"])
def test_equal_totals_tie_in_difficulty_as_they_do_in_average_error(model: str) -> None:
    for seed in range(6):
        generator = np.random.default_rng(seed)
        items = ItemParameters.from_difficulty(np.ones(40), generator.normal(size=40))
        made = irtkit.simulate_responses(items, generator.normal(size=50), seed=generator)
        comparison = compare_difficulties(irtkit.fit(made, model), folds=0)
        assert pair(comparison, "average_error", "difficulty")["spearman"] == 1


def test_a_matrix_without_differences_has_no_order() -> None:
    comparison = compare_difficulties(calibrated(np.ones(5), np.zeros(5)))
    assert comparison.pairs["spearman"].isna().all()
    assert all("no order to compare" in sentence for sentence in comparison.summary[:3])


def test_printing_shows_pairs_and_sentences(mixed_slopes: Calibrated) -> None:
    comparison = compare_difficulties(mixed_slopes)
    text = str(comparison)
    assert text.startswith("Difficulty of 40 items, 2PL\n")
    assert "spearman" in text
    in_one_line = " ".join(text.split())
    assert all(sentence in in_one_line for sentence in comparison.summary)


def test_the_result_is_not_changed(mixed_slopes: Calibrated) -> None:
    before = mixed_slopes.items.copy(deep=True)
    compare_difficulties(mixed_slopes)
    pd.testing.assert_frame_equal(mixed_slopes.items, before)


def test_a_table_without_a_needed_column_is_refused(mixed_slopes: Calibrated) -> None:
    lacking = Calibrated(mixed_slopes.items.drop(columns="status"))
    with pytest.raises(ValueError, match="must have the column 'status'"):
        compare_difficulties(lacking)


def metrics_of(result: Calibrated, values: np.ndarray) -> pd.DataFrame:
    names = {"respondent": "A", "metric": "cost"}
    return pd.DataFrame({"item": result.items.index, "value": values}).assign(**names)


def test_a_further_metric_becomes_a_measure(mixed_slopes: Calibrated) -> None:
    costs = np.random.default_rng(3).gamma(2, size=40)
    comparison = compare_difficulties(mixed_slopes, metrics_of(mixed_slopes, costs))
    scaled = (costs - costs.min()) / np.ptp(costs)
    np.testing.assert_allclose(comparison.table["quality_standard"], scaled)
    assert len(comparison.pairs) == 6


def test_a_metric_with_the_ranks_of_average_error_is_left_out_and_said(
    mixed_slopes: Calibrated,
) -> None:
    same = metrics_of(mixed_slopes, 3 * mixed_slopes.items["average_error"].to_numpy() + 1)
    comparison = compare_difficulties(mixed_slopes, same)
    assert "quality_standard" not in comparison.table
    assert comparison.summary[-1].startswith("quality_standard has the ranks of average_error")


def test_metrics_of_other_items_are_refused(mixed_slopes: Calibrated) -> None:
    other = metrics_of(mixed_slopes, np.arange(40.0)).assign(item=[f"z{k}" for k in range(40)])
    with pytest.raises(ValueError, match="metrics"):
        compare_difficulties(mixed_slopes, other)


def test_the_metrics_of_a_fit_are_used_unless_others_are_given(tmp_path: Path) -> None:
    items = ItemParameters.from_difficulty(np.ones(12), np.linspace(-2, 2, 12))
    responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 40), seed=0)
    costs = pd.DataFrame({"item": responses.items, "cost": np.arange(12.0) % 5, "age": 7})
    costs = costs.assign(respondent=responses.respondents[0]).drop(index=3)
    fitted = irtkit.fit(responses).with_quality_standard(costs, [])
    fitted.save(tmp_path / "r.npz", include_responses=False)
    for result in (fitted, irtkit.load(tmp_path / "r.npz")):
        comparison = compare_difficulties(result, folds=0)
        pd.testing.assert_series_equal(
            comparison.table["quality_standard"], result.items["quality_standard"]
        )
        assert comparison.summary[-1] == (
            "quality_standard scores items from 0 (easy) to 1 (hard) by cost (lower is better); "
            "left out as constant: age; 1 of 12 items have no score."
        )
    turned = compare_difficulties(fitted, costs, higher_is_better=["cost"], folds=0)
    both = turned.table["quality_standard"] + fitted.items["quality_standard"]
    np.testing.assert_allclose(both.dropna(), 1)
    assert "cost (higher is better)" in turned.summary[-1]


def test_metrics_that_tell_nothing_are_said_to() -> None:
    responses = irtkit.simulate_responses(
        ItemParameters.from_difficulty(np.ones(5), np.arange(5.0)), np.linspace(-2, 2, 20), seed=0
    )
    ages = pd.DataFrame({"item": responses.items, "respondent": "respondent-1", "age": 7})
    result = irtkit.fit(responses).with_quality_standard(ages, [])
    comparison = compare_difficulties(result, folds=0)
    assert "quality_standard" not in comparison.table
    assert comparison.summary[-1].endswith(
        "by nothing; left out as constant: age; 5 of 5 items have no score."
    )


def test_jitter_breaks_ties_and_nothing_else(equal_slopes: Calibrated) -> None:
    untied = pair(compare_difficulties(equal_slopes), "average_error", "difficulty")
    assert untied["jitter_low"] > 0.999
    halves = np.repeat([0.2, 0.8], 10)
    coarse = Calibrated(equal_slopes.items.assign(average_error=halves))
    row = pair(compare_difficulties(coarse), "average_error", "difficulty")
    # ρ · SD of average ranks / SD of untied ranks, √(3 p (1 − p)) for two halves
    assert row["jitter_mean"] == pytest.approx(row["spearman"] * np.sqrt(0.75), abs=0.05)
    assert row["jitter_low"] < row["jitter_mean"] < row["jitter_high"]


def test_a_fit_is_compared_on_responses_it_has_not_seen() -> None:
    generator = np.random.default_rng(8)
    slope = np.where(np.arange(60) < 6, -1.0, 1.0)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=60))
    responses = irtkit.simulate_responses(items, generator.normal(size=150), seed=9)
    comparison = compare_difficulties(irtkit.fit(responses, "2PL"), models=["1PL", "2PL"], folds=3)
    assert comparison.held_out is not None
    assert comparison.held_out["gain"].idxmax() == "2PL"
    assert any("predicted better by the 2PL" in sentence for sentence in comparison.summary)
    assert "left out at random, predicted:" in str(comparison)


def test_a_complete_1pl_changes_nothing_and_says_so() -> None:
    items = ItemParameters.from_difficulty(np.ones(15), np.linspace(-2, 2, 15))
    abilities = np.random.default_rng(2).normal(size=200)
    result = irtkit.fit(irtkit.simulate_responses(items, abilities, seed=1), "1PL")
    comparison = compare_difficulties(result, folds=0)
    assert pair(comparison, "average_error", "difficulty")["spearman"] == 1
    assert "nothing changes" in comparison.summary[0]
    assert comparison.held_out is None


def test_nothing_is_predicted_where_no_item_tells_anybody_apart() -> None:
    for values in (np.ones((20, 15), int), np.eye(1, 30, dtype=int)):
        with warnings.catch_warnings(action="ignore"):  # of one respondent
            told = compare_difficulties(irtkit.fit(values))
        assert told.held_out is None
        assert any("nothing to predict" in sentence for sentence in told.summary)
        assert "nan" not in str(told).split()


def test_one_item_is_compared_without_numbers_that_do_not_exist() -> None:
    told = compare_difficulties(irtkit.fit(np.arange(40)[:, None] % 2))
    assert "nan" not in str(told).split()
    assert any("does not show whether a model predicts" in sentence for sentence in told.summary)


def test_a_gain_that_copies_of_few_families_may_make_is_told_as_such() -> None:
    generator = np.random.default_rng(2)
    z = generator.lognormal(0, 0.4, 200) * (
        generator.normal(size=(4, 1)) - generator.normal(size=200)
    )
    values = np.repeat(generator.random(z.shape) < 1 / (1 + np.exp(-z)), 5, axis=0)
    values ^= generator.random(values.shape) < 0.1
    with warnings.catch_warnings(action="ignore"):
        told = compare_difficulties(irtkit.fit(values.astype(int)), models=["3PL"])
    (gain,) = [sentence for sentence in told.summary if "predicted better by the 3PL" in sentence]
    assert "near-duplicates" in gain
