"""Claims about rank correlations and Spearman scores, with SciPy and theory as referees."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from irtkit.difficulty import spearman_score
from irtkit.difficulty.rank_agreement import levels, n_tied, rank_agreement, same_order, spearman


def test_levels_tie_rounding_errors_and_infinite_values():
    assert levels([2.0, -1.0, 2.0, 5.5]).tolist() == [1, 0, 1, 2]
    assert levels([0.1 + 0.2, 0.3, 0.3 + 1e-4, 1e6, 1e6 + 0.5]).tolist() == [0, 0, 1, 2, 2]
    assert levels([np.inf, 1e9, -np.inf, 0.0, np.inf]).tolist() == [3, 2, 0, 1, 3]
    assert n_tied(levels([1, 1, 2, 3, 3, 3])) == 5


def test_correlations_agree_with_scipy():
    generator = np.random.default_rng(8)
    coarse = generator.integers(0, 6, 80)
    fine = coarse + generator.normal(0, 2, 80)
    found = rank_agreement(levels(coarse), levels(fine))
    assert found.spearman == pytest.approx(stats.spearmanr(coarse, fine).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(stats.kendalltau(coarse, fine).statistic, abs=1e-12)
    assert rank_agreement(levels(coarse), levels(coarse)) == pytest.approx((1, 1, 1, 1))
    rho, _ = spearman_score(coarse, fine)
    assert rho == pytest.approx(stats.spearmanr(coarse, fine).statistic, abs=1e-12)


def test_the_error_is_the_spread_of_the_correlation():
    """With average ranks of a coarse measure and correlations of 0.5 and 0.9."""
    generator = np.random.default_rng(1)
    for noise in (1.5, 0.4):
        drawn, widths = [], []
        for _ in range(400):
            x = np.round(generator.normal(size=200))
            found = rank_agreement(levels(x), levels(x + noise * generator.normal(size=200)))
            drawn.append(np.arctanh(found.spearman))
            widths.append(np.arctanh(found.spearman_high) - np.arctanh(found.spearman_low))
        # 400 draws tell an SD to 3.5 %
        assert np.mean(widths) / (2 * 1.96) == pytest.approx(np.std(drawn), rel=0.12)


@pytest.mark.parametrize("values", [([1, 1, 1], [1, 2, 3]), ([1], [2])])
def test_measures_without_order_give_nan_as_correlation(values):
    x, y = map(levels, values)
    assert np.isnan([*rank_agreement(x, y), spearman(x, y)]).all()
    rho, jittered = spearman_score(*values)
    assert np.isnan([rho, *jittered]).all()


def test_same_order_means_that_no_pair_is_turned_round():
    assert same_order(levels([1, 1, 2, 3]), levels([0, 2, 2, 2]))
    assert not same_order(levels([1, 1, 2, 3]), levels([0, 2, 1, 2]))


# Spearman scores. The draws give the stored values of ρ. Those behind the stored values for filled,
# tied and yes-no predictions are not known.
GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.standard_normal(2000)
PREDICTIONS = LABELS + GENERATOR.standard_normal(2000)
YES_NO = (np.sort(PREDICTIONS)[-135] <= PREDICTIONS).astype(float)


def test_rho_is_the_stored_one(worked_values):
    stored = worked_values["spearman"]
    for name, predictions in {
        "as_they_are": PREDICTIONS,
        "reversed": -3 * PREDICTIONS + 2,
        "exponential": np.exp(PREDICTIONS),
    }.items():
        found, _ = spearman_score(predictions, LABELS, jitter_runs=2)
        assert found == pytest.approx(stored[name], abs=1e-9), name
    known, _ = spearman_score(PREDICTIONS[40:], LABELS[40:], jitter_runs=2)
    assert known == pytest.approx(stored["without_the_first_40"], abs=1e-9)


def test_jitter_is_not_neutral_for_a_coarse_predictor():
    # worked elsewhere: 0.328 becomes 0.137, SD 0.020; the share of yes is not told
    rho, jittered = spearman_score(YES_NO, LABELS)
    assert rho == pytest.approx(0.328, abs=1e-3)
    # both means have a standard error of 0.003, both SDs of 0.002
    assert jittered.mean() == pytest.approx(0.137, abs=0.012)
    assert jittered.std() == pytest.approx(0.020, abs=0.008)
    # the first 2,000 draws of default_rng(0) are the labels: as noise they would order the ties
    assert jittered.max() < 0.25


def test_missing_predictions_are_set_to_the_mean_of_the_others():
    missing = np.where(np.arange(2000) < 40, np.nan, PREDICTIONS)
    rho, _ = spearman_score(missing, LABELS)
    filled = np.where(np.isnan(missing), PREDICTIONS[40:].mean(), PREDICTIONS)
    assert rho == spearman_score(filled, LABELS)[0]
    assert np.isnan(spearman_score([0.1, 0.1, 0.1, None], [1, 2, 3, 4])[0])


@pytest.mark.parametrize("n_levels", [2, 10])
def test_the_mean_with_jitter_is_rho_times_the_ratio_of_spreads(n_levels):
    cuts = np.quantile(PREDICTIONS, np.arange(1, n_levels) / n_levels)
    coarse = np.digitize(PREDICTIONS, cuts)
    rho, jittered = spearman_score(coarse, LABELS, jitter_runs=200, jitter=1e-4)
    ratio = stats.rankdata(coarse).std() / np.arange(2000).std()
    assert abs(jittered.mean() - rho * ratio) < 4 * jittered.std() / math.sqrt(200)


def test_series_are_matched_by_label_as_text():
    labels = pd.Series([1.0, 2, 3], index=[1, 2, 3])
    turned = pd.Series([30, 20, 10], index=["3", "2", "1"])
    assert spearman_score(turned, labels)[0] == pytest.approx(1)
    assert spearman_score(np.array([3, 2, 1]), labels)[0] == pytest.approx(-1)
    with pytest.raises(ValueError, match="must have the same index"):
        spearman_score(turned[:2], labels)


@pytest.mark.parametrize(
    ("predictions", "labels"),
    [([1, 2, 3], [1, np.nan, 3]), ([1, np.inf, 3], [1, 2, 3]), ([1, 2], [1, 2, 3])],
)
def test_bad_input_is_refused(predictions, labels):
    with pytest.raises(ValueError, match="must be as many finite numbers"):
        spearman_score(predictions, labels)
