"""Q3 against correlations written out, in blocks, with missing cells, and its expectation."""

import warnings

import numpy as np
import pandas as pd
import pytest

from irtkit import ResponseMatrix, fit, local_dependence
from tests.crowds import drawn, fitted_tasks, of_two_tasks


@pytest.fixture(scope="module", params=["complete", "missing"])
def result(request):
    values = drawn(300, 20).values.copy()
    values[:150, 6] = values[:150, 3]
    if request.param == "missing":
        values[np.random.default_rng(0).random(values.shape) < 0.1] = -1
    with warnings.catch_warnings(action="ignore"):  # two items have more in common than ability
        return fit(ResponseMatrix(values), standard_errors=False)


def all_pairs(result):
    table = local_dependence(result, threshold=0.0, top=None)
    place = {label: k for k, label in enumerate(result.item_labels)}
    square = np.full((20, 20), np.nan)
    square[table["item"].map(place), table["other"].map(place)] = table["q3"]
    return square


def test_q3_is_the_correlation_of_residuals(result):
    y = result.responses.values
    residual = pd.DataFrame(np.where(y < 0, np.nan, y - result.probability().to_numpy()))
    expected = residual.corr().to_numpy()
    upper = np.triu_indices(20, 1)
    assert all_pairs(result)[upper] == pytest.approx(expected[upper], abs=1e-5)
    assert np.isnan(all_pairs(result)[np.tril_indices(20)]).all()


def test_items_asked_twice_come_first(result):
    table = local_dependence(result)
    assert table.loc[0, ["item", "other"]].tolist() == ["item-4", "item-7"]
    assert table.loc[0, "p_value"] < 1e-6
    assert (table["q3"].abs() >= 0.2).all()
    assert table["q3"].abs().is_monotonic_decreasing
    assert len(local_dependence(result, threshold=0.0, top=4)) == 4


def test_q3_is_where_it_is_expected_if_the_model_holds():
    tables = [
        local_dependence(fit(drawn(1000, 20, seed), standard_errors=False), threshold=0.0)
        for seed in range(8)
    ]
    table = pd.concat(tables)
    assert table["q3"].mean() < -0.03
    assert table["excess"].mean() == pytest.approx(0, abs=0.006)
    assert (table["p_value"] < 0.05).mean() == pytest.approx(0.05, abs=0.02)


def test_items_that_hardly_anyone_gets_wrong_are_left_out():
    values = drawn(200, 12).values.copy()
    values[:, [2, 5]] = 1
    values[7, [2, 5]] = 0  # alike, by one respondent
    table = local_dependence(fit(ResponseMatrix(values), standard_errors=False), threshold=0.0)
    assert len(table) == 10 * 9 / 2
    assert not table[["item", "other"]].isin(["item-3", "item-6"]).any(axis=None)


@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.parametrize("abilities", ["task", 2])
def test_dependence_is_beyond_several_abilities(abilities):
    values = of_two_tasks(800, 30, seed=9)
    copied = np.random.default_rng(0).random(800) < 0.6
    values[copied, 8] = values[copied, 20]
    pairs = local_dependence(fitted_tasks(values, abilities), threshold=0.0, top=None)
    assert pairs.iloc[0][["item", "other"]].tolist() == ["q8", "q20"]
    others = pairs[~pairs["item"].isin(["q8", "q20"]) & ~pairs["other"].isin(["q8", "q20"])]
    assert abs(others["excess"].mean()) < 0.01
    assert 0.9 < others["excess"].std() * 800**0.5 < 1.1
