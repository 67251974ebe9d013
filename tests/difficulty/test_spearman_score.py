"""Claims about Spearman scores, with SciPy and theory as referees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from irtkit.difficulty import spearman_score

if TYPE_CHECKING:
    from collections.abc import Callable

# draws that give the stored values of ρ; those behind the stored values for filled, tied and
# yes-no predictions are not known
GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.standard_normal(2000)
PREDICTIONS = LABELS + GENERATOR.standard_normal(2000)
FIRST_MISSING = np.where(np.arange(2000) < 40, np.nan, PREDICTIONS)


def yes_no(n_yes: int) -> np.ndarray[Any, Any]:
    """Say yes to the largest predictions alone."""
    return (np.sort(PREDICTIONS)[-n_yes] <= PREDICTIONS).astype(float)


class TestWorkedValues:
    def test_rho_is_the_stored_one(self, worked_values: Any) -> None:
        stored = worked_values["spearman"]
        for name, predictions in {
            "as_they_are": PREDICTIONS,
            "tripled": 3 * PREDICTIONS + 2,
            "reversed": -3 * PREDICTIONS + 2,
            "exponential": np.exp(PREDICTIONS),
        }.items():
            found = spearman_score(predictions, LABELS, jitter_runs=2).rho
            assert found == pytest.approx(stored[name], abs=1e-9), name
        known = spearman_score(PREDICTIONS[40:], LABELS[40:], jitter_runs=2).rho
        assert known == pytest.approx(stored["without_the_first_40"], abs=1e-9)

    def test_jitter_is_not_neutral_for_a_coarse_predictor(self) -> None:
        # worked elsewhere: 0.328 becomes 0.137, SD 0.020; the share of yes is not told
        score = spearman_score(yes_no(135), LABELS)
        assert score.rho == pytest.approx(0.328, abs=1e-3)
        # both means have a standard error of 0.003, both SDs of 0.002
        assert score.jitter_mean == pytest.approx(0.137, abs=0.012)
        assert score.jitter_sd == pytest.approx(0.020, abs=0.008)


class TestRho:
    def test_it_is_that_of_scipy_and_of_average_ranks(self) -> None:
        coarse = np.round(PREDICTIONS[:200])
        score = spearman_score(coarse, LABELS[:200])
        scipy = stats.spearmanr(coarse, LABELS[:200])
        ranks = stats.rankdata(coarse), stats.rankdata(LABELS[:200])
        assert (score.rho, score.p_value) == (scipy.statistic, scipy.pvalue)
        assert score.rho == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)

    @pytest.mark.parametrize("change", [np.exp, np.cbrt, lambda x: 5 * x - 3])
    def test_only_the_order_of_predictions_counts(
        self, change: Callable[[np.ndarray[Any, Any]], Any]
    ) -> None:
        changed = spearman_score(change(PREDICTIONS), LABELS, jitter_runs=2)
        assert changed.rho == spearman_score(PREDICTIONS, LABELS, jitter_runs=2).rho

    def test_tiny_predictions_are_not_tied(self) -> None:
        score = spearman_score(1e-9 * np.arange(5), np.arange(5))
        assert (score.rho, score.n_tied) == (pytest.approx(1), 0)


class TestMissingPredictions:
    def test_they_are_set_to_the_mean_of_the_others(self) -> None:
        score = spearman_score(FIRST_MISSING, LABELS)
        filled = np.where(np.isnan(FIRST_MISSING), PREDICTIONS[40:].mean(), PREDICTIONS)
        assert score.rho == spearman_score(filled, LABELS).rho
        assert (score.n_filled, score.n_tied) == (40, 40)
        assert "2000 predictions, 40 of them filled with the mean" in str(score)

    def test_rounding_of_the_mean_makes_no_order(self) -> None:
        score = spearman_score([0.1, 0.1, 0.1, None], [1, 2, 3, 4])
        assert np.isnan(score.rho)


class TestJitter:
    @pytest.mark.parametrize("levels", [2, 3, 10])
    def test_its_mean_is_rho_times_the_ratio_of_spreads(self, levels: int) -> None:
        coarse = np.digitize(PREDICTIONS, np.quantile(PREDICTIONS, np.arange(1, levels) / levels))
        score = spearman_score(coarse, LABELS, jitter_runs=200, jitter=1e-4)
        ratio = stats.rankdata(coarse).std() / np.arange(2000).std()
        error = score.jitter_sd / math.sqrt(200)
        assert abs(score.jitter_mean - score.rho * ratio) < 4 * error

    def test_it_has_nothing_to_do_with_labels_simulated_from_the_same_seed(self) -> None:
        # the first 2,000 draws of default_rng(0) are the labels: as noise they would order the ties
        jittered = spearman_score(yes_no(135), LABELS, seed=0).jittered
        assert jittered.max() < 0.25

    def test_its_size_is_relative_to_the_spread(self) -> None:
        one = spearman_score(PREDICTIONS, LABELS, seed=3)
        large = spearman_score(1024 * PREDICTIONS, LABELS, seed=3)
        np.testing.assert_array_equal(one.jittered, large.jittered)

    def test_a_seed_gives_the_same_runs_and_another_seed_others(self) -> None:
        first, again, other = (
            spearman_score(PREDICTIONS, LABELS, jitter_runs=5, seed=seed).jittered
            for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()


class TestSentences:
    def test_ties_make_it_ask_which_number_is_reported(self) -> None:
        assert str(spearman_score(yes_no(135), LABELS)).splitlines()[0] == (
            "Spearman's ρ 0.3283 (p < 0.001) of 2000 predictions"
        )
        assert "Say which of the two you report." in str(spearman_score(yes_no(135), LABELS))
        assert "Say which" not in str(spearman_score(PREDICTIONS, LABELS))

    @pytest.mark.parametrize(
        ("predictions", "labels"), [([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [1, 1, 1]), ([1], [2])]
    )
    def test_without_order_there_is_no_rho_and_it_is_said(
        self, predictions: list[int], labels: list[int]
    ) -> None:
        score = spearman_score(predictions, labels)
        numbers = [score.rho, score.p_value, score.jitter_mean, score.jitter_sd]
        assert np.isnan([*numbers, *score.jitter_range]).all()
        assert "all the same" in str(score)


class TestSeries:
    labels = pd.Series([1.0, 2, 3], index=["a", "b", "c"])

    def test_they_are_matched_by_label(self) -> None:
        turned = pd.Series([30, 20, 10], index=["c", "b", "a"])
        assert spearman_score(turned, self.labels).rho == pytest.approx(1)

    def test_labels_are_text(self) -> None:
        numbered, named = pd.Series([1, 2, 3]), pd.Series([3, 2, 1], index=["2", "1", "0"])
        assert spearman_score(numbered, named).rho == pytest.approx(1)

    def test_an_array_goes_by_position(self) -> None:
        assert spearman_score(np.array([3, 2, 1]), self.labels).rho == pytest.approx(-1)

    @pytest.mark.parametrize(
        ("index", "message"),
        [
            (["a", "b", "d"], "must have the same index: 'c'"),
            (["a", "b", "b"], "predictions must have each label once: 'b' occurs twice"),
        ],
    )
    def test_labels_that_do_not_match_are_named(self, index: list[str], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            spearman_score(pd.Series([1, 2, 3], index=index), self.labels)


@pytest.mark.parametrize(
    ("predictions", "labels", "settings", "message"),
    [
        ([1, 2, 3], [1, np.nan, 3], {}, "labels must have no missing value: '1' is"),
        ([1, np.inf, 3], [1, 2, 3], {}, "predictions must be numbers .* got inf for '1'"),
        ([1, 2, 3], [1, 2, -np.inf], {}, "labels must be numbers .* got -inf for '2'"),
        (["x", "y", "z"], [1, 2, 3], {}, "predictions must be numbers .* got 'x' for '0'"),
        ([None, None], [1, 2], {}, "predictions holds no value"),
        ([], [], {}, "predictions holds no value"),
        ([1, 2], [1, 2, 3], {}, "a prediction per label, got 2 and 3"),
        ([1, 2], [1, 2], {"jitter_runs": 1}, "jitter_runs"),
        ([1, 2], [1, 2], {"jitter": 0}, "jitter must be above 0"),
        ([1, 2], [1, 2], {"jitter": np.nan}, "jitter must be above 0"),
        ([1, 2], [1, 2], {"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_refused(
    predictions: list[Any], labels: list[Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        spearman_score(predictions, labels, **settings)
