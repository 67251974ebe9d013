"""Claims about regressors compared by the paper's protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.prediction import REGRESSORS, cross_validate_predictors

pytest.importorskip("sklearn")


def made(n: int = 240) -> tuple[pd.DataFrame, pd.Series[float], pd.Series[float]]:
    """Features, difficulty that is linear in them, and slopes, of which some are negative."""
    generator = np.random.default_rng(0)
    index = pd.Index([f"i{k}" for k in range(n)], name="item")
    table = pd.DataFrame(generator.normal(size=(n, 6)), index=index, columns=list("abcdef"))
    difficulty = (table["a"] - 2 * table["b"] + generator.normal(0, 0.3, n)).rename("hardness")
    return table, difficulty, pd.Series(generator.normal(1, 0.7, n), index=index)


@pytest.fixture(scope="module")
def comparison() -> Any:
    table, difficulty, slopes = made()
    return cross_validate_predictors(table, difficulty, slopes=slopes)


def test_the_protocol_is_that_of_the_paper(comparison: Any) -> None:
    slopes = made()[2]
    kept, removed = (comparison.table.loc["hardness", kind] for kind in ("kept", "removed"))
    assert list(kept.index) == sorted(REGRESSORS)
    assert (kept["n_held_out"] == 72).all()
    assert (kept["n_training"] == 168).all()
    assert (removed["n_held_out"] == 72).all()
    assert 0 < 168 - removed["n_training"].iloc[0] <= (slopes < 0).sum()
    assert comparison.folds.loc["hardness", "kept", "linear"].shape == (10, 1)
    assert len(comparison.pairs.loc["hardness", "kept"]) == 10


def test_a_linear_difficulty_is_predicted_best_by_linear_regressors(comparison: Any) -> None:
    kept = comparison.table.loc["hardness", "kept"]
    assert kept["nrmse"].idxmin() in {"linear", "elastic net"}
    assert kept.loc["linear", "nrmse"] == pytest.approx(0.3 / np.sqrt(5.09), abs=0.03)
    assert kept.loc["linear", "spearman"] > 0.95
    assert comparison.friedman.loc[("hardness", "kept"), "p_value"] < 1e-4
    pairs = comparison.pairs.loc[("hardness", "kept", "linear")]
    assert (pairs.drop("elastic net")[["difference"]] < 0).all(axis=None)
    assert (pairs.drop("elastic net")["p_holm"] < 0.05).all()


def test_tests_are_those_of_scipy_and_of_holm(comparison: Any) -> None:
    from scipy.stats import friedmanchisquare, wilcoxon

    folds = comparison.folds["nrmse"].loc["hardness", "kept"]
    by_name = [folds[name].to_numpy() for name in REGRESSORS]
    found = comparison.friedman.loc[("hardness", "kept")]
    assert found["p_value"] == pytest.approx(friedmanchisquare(*by_name).pvalue)
    pairs = comparison.pairs.loc[("hardness", "kept")]
    pair = pairs.loc[("linear", "elastic net"), "p_value"]
    assert pair == pytest.approx(wilcoxon(by_name[0] - by_name[1]).pvalue)
    ordered = pairs.sort_values("p_value")
    expected = np.maximum.accumulate(np.minimum(ordered["p_value"] * np.arange(10, 0, -1), 1))
    assert ordered["p_holm"].to_numpy() == pytest.approx(np.asarray(expected))


def test_it_prints_tables_and_tests(comparison: Any) -> None:
    shown = str(comparison)
    assert "hardness, items with negative slopes removed in training" in shown
    assert all(shown.count(name) >= 2 for name in REGRESSORS)
    assert "Friedman's test over folds: p = " in shown
    assert "p-values are too small" in shown
    assert "linear better than k nearest neighbours (p = " in shown


def test_one_regressor_is_printed_without_tests() -> None:
    table, difficulty, _ = made(60)
    shown = str(cross_validate_predictors(table, difficulty, "linear"))
    assert "linear" in shown
    assert "told apart" not in shown


def test_families_that_take_no_weights_are_left_out_where_there_are_weights() -> None:
    table, difficulty, _ = made(60)
    targets = pd.DataFrame({"1PL": difficulty, "1PL_se": 0.2})
    found = cross_validate_predictors(table, targets, weights="error", repeats=1, folds=2).table
    names = set(found.index.get_level_values("regressor"))
    assert names == set(REGRESSORS) - {"k nearest neighbours"}


def test_answers_are_no_features() -> None:
    table, difficulty, _ = made(120)
    items = irtkit.ItemParameters.from_difficulty(np.ones(120), difficulty)
    drawn = irtkit.simulate_responses(items, np.linspace(-3, 3, 60), seed=0)
    responses = irtkit.ResponseMatrix(drawn.values, items=table.index)
    leaking = table.assign(x=drawn.values[30])
    for target in (responses, irtkit.fit(responses, "1PL")):
        with pytest.raises(ValueError, match="what one respondent answered"):
            cross_validate_predictors(leaking, target, ["linear"])


def test_the_same_seed_divides_the_same_way() -> None:
    table, difficulty, _ = made(100)
    one, same, other = (
        cross_validate_predictors(table, difficulty, ["linear"], seed=seed).folds["nrmse"]
        for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)


def test_responses_are_fitted_and_targets_stand_in_one_table() -> None:
    table, difficulty, slopes = made(120)
    items = irtkit.ItemParameters.from_difficulty(np.where(slopes > 0, 1.0, -1.0), difficulty)
    drawn = irtkit.simulate_responses(items, np.linspace(-3, 3, 200), seed=0)
    responses = irtkit.ResponseMatrix(drawn.values, items=table.index)
    found = cross_validate_predictors(
        table, responses, ["linear"], targets=["1PL", "2PL", "average_error", "expected_error"]
    ).table
    kinds = found.index.droplevel("regressor")
    assert list(kinds.get_level_values(0).unique()) == [
        *("1PL", "2PL", "average_error", "expected_error")
    ]
    assert set(kinds.get_level_values(1)) == {"kept", "removed"}
    assert found["nrmse"].notna().all()


def test_noise_is_not_predicted_and_nothing_is_said_of_it() -> None:
    generator = np.random.default_rng(1)
    table = made()[0]
    noise = pd.Series(generator.normal(size=240), index=table.index)
    found = cross_validate_predictors(table, noise, ["linear", "elastic net"])
    assert (found.table["nrmse"] > 0.95).all()
    assert "no two regressors are told apart" in str(found)
    assert found.friedman["p_value"].isna().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"negative_slopes": ["removed"]}, "needs slopes="),
        ({"negative_slopes": ["left"]}, "must be one of kept, removed; got 'left'"),
        ({"held_out": 1.0}, "held_out"),
        ({"folds": 1}, "folds"),
        ({"folds": 50}, "too few"),
        ({"regressors": []}, "got none"),
        ({"regressors": ["linear", "linear"]}, "different names"),
        ({"weights": "se"}, "weights must be one of"),
        ({"targets": ["hard"]}, "targets must be one of hardness; got 'hard'"),
        ({"targets": ["hardness", "2PL"]}, "must be one of hardness; got '2PL'"),
        ({"allow": ["typo"]}, "allow must name features, and 'typo' is none"),
    ],
)
def test_what_is_no_protocol_is_refused(settings: dict[str, Any], message: str) -> None:
    table, difficulty, _ = made(60)
    with pytest.raises(ValueError, match=message):
        cross_validate_predictors(table, difficulty, **{"regressors": ["linear"], **settings})


def test_what_is_no_target_is_refused() -> None:
    table, difficulty, slopes = made(60)
    with pytest.raises(ValueError, match="targets must be one of"):
        cross_validate_predictors(table, difficulty.to_frame("1PL"), targets=["3PL"])
    with pytest.raises(TypeError, match="slopes must be a Series by item label, got ndarray"):
        cross_validate_predictors(table, difficulty, ["linear"], slopes=slopes.to_numpy())
    with pytest.raises(ValueError, match="the same for all items"):
        cross_validate_predictors(table, 0 * difficulty, ["linear"])
    rest = np.random.default_rng(0).permutation(60)[18:]  # as the items are divided
    same = difficulty.copy()
    same.iloc[rest] = 1.0
    with pytest.raises(ValueError, match="of those held out or of the others"):
        cross_validate_predictors(table, same, ["linear"])
    with pytest.raises(ValueError, match="'removed' leaves 0 items to train on"):
        cross_validate_predictors(
            table, difficulty, ["linear"], slopes=-slopes.abs(), negative_slopes="removed"
        )
