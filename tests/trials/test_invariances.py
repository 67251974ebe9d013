"""What must not change an estimate, of generated matrices, for every model, prior and method.

IRTKIT_CASES=20 draws twenty times as many matrices, and new ones.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import irtkit
from irtkit import Beta, ItemPrior, Normal, ResponseMatrix
from irtkit.calibration.fitting import silently
from irtkit.difficulty import held_out_predictions
from tests.trials.conftest import cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit import FitResult

PRIORS: list[Any] = ["weak", "empirical", None, ItemPrior(Normal(0, 1), Normal(0, 2), Beta())]
NEAR = 0.02
"""Standard errors, or SDs where there are none, within which estimates are the same: fits end
within 0.0004 of them from the maximum, which the weak prior's spread of slopes, hardly told by six
items, makes flat."""


@st.composite
def tables(draw: Any, least: int = 10) -> np.ndarray:
    """Responses of one ability to items whose slopes differ, some missing."""
    n, m = draw(st.integers(least, least + 20)), draw(st.integers(3, 8))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    slope, difficulty = generator.lognormal(0.2, 0.3, m), generator.normal(size=m)
    logits = slope * (generator.normal(size=(n, 1)) - difficulty)
    values = (generator.random((n, m)) < 1 / (1 + np.exp(-logits))).astype(np.int8)
    values[generator.random((n, m)) < draw(st.sampled_from([0, 0, 0.1, 0.4]))] = -1
    values[0, 0] = max(values[0, 0], 0)
    return values


def fitted(values: Any, model: Any, prior: Any, **how: Any) -> FitResult:
    with warnings.catch_warnings(action="error"), silently():
        return irtkit.fit(values, model, prior=prior, method=irtkit.EM(tol=1e-9), **how)


def model_and_prior(data: Any) -> tuple[Any, Any]:
    prior = data.draw(st.sampled_from(PRIORS))
    usual = ["2PL", "3PL"] if prior == "empirical" else ["2PL", "3PL", "1PL", "Rasch"]
    return data.draw(st.sampled_from(usual)), prior


def without_guessing(data: Any) -> tuple[Any, Any]:
    model, prior = model_and_prior(data)
    return "2PL" if model == "3PL" else model, prior


def determined(result: FitResult) -> bool:
    return result.converged and "unbounded" not in result.status


def assert_same(one: FitResult, other: FitResult, **turned: Any) -> None:
    """Estimates of two fits, of which one may have had rows and columns in another order."""
    assume(determined(one) and determined(other))
    rows = turned.get("rows", np.arange(len(one.ability)))
    columns = turned.get("columns", np.arange(len(one.item_labels)))
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-3
    for name, place in (("discrimination", 0), ("guessing", 2), ("intercept", 3)):
        errors = np.nan_to_num(one.standard_errors[columns, place], nan=1.0)
        there = getattr(one.parameters, name)[columns] - getattr(other.parameters, name)
        assert (np.abs(there) <= NEAR * np.maximum(errors, 0.1)).all(), (name, there)
    assert (np.abs(one.ability[rows] - other.ability) <= NEAR).all()


@cases(120)
@given(tables(), st.data())
def test_the_order_of_rows_and_columns_changes_no_estimate(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    rows = np.array(data.draw(st.permutations(range(values.shape[0]))))
    columns = np.array(data.draw(st.permutations(range(values.shape[1]))))
    one, other = fitted(values, model, prior), fitted(values[rows][:, columns], model, prior)
    assert_same(one, other, rows=rows, columns=columns)


@cases(90)
@given(tables(), st.data())
def test_labels_change_no_byte(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    names = [f"ß\n{k}" for k in range(values.shape[0])][::-1]
    one = fitted(values, model, prior)
    other = fitted(ResponseMatrix(values, names, names[: values.shape[1]][::-1]), model, prior)
    again = fitted(values, model, prior, seed=7)
    for result in (other, again):
        np.testing.assert_array_equal(result.parameters.intercept, one.parameters.intercept)
        np.testing.assert_array_equal(result.standard_errors, one.standard_errors)
        np.testing.assert_array_equal(result.ability, one.ability)


@cases(120)
@given(tables(), st.data())
def test_inverting_all_responses_turns_difficulty_round(values: np.ndarray, data: Any) -> None:
    model, prior = without_guessing(data)
    inverted = np.where(values < 0, -1, 1 - values)
    one, other = fitted(values, model, prior), fitted(inverted, model, prior)
    assume(determined(one) and determined(other))
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-3
    a, b = one.parameters, other.parameters
    same = np.sign(a.discrimination @ b.discrimination)  # of noise the scale may be either
    errors = np.maximum(np.nan_to_num(one.standard_errors, nan=1.0), 0.1)
    gap = np.abs(a.discrimination - same * b.discrimination)
    assert (gap <= NEAR * errors[:, 0]).all(), gap
    assert (np.abs(a.intercept + b.intercept) <= NEAR * errors[:, 3]).all()


HALF = ItemPrior(Normal(0, 2**0.5), Normal(0, 8**0.5), Normal(-1.4, 0.6 * 2**0.5))
WHOLE = ItemPrior(Normal(0, 1), Normal(0, 2), Normal(-1.4, 0.6))
"""Twice the log density, up to a constant."""


@cases(110)
@given(
    tables(40),
    st.sampled_from(["2PL", "1PL", "Rasch", "3PL"]),
    st.sampled_from([(None, None), (HALF, WHOLE)]),
)
def test_every_respondent_twice_leaves_the_maximum_and_shrinks_errors(
    values: np.ndarray, model: Any, priors: tuple[Any, Any]
) -> None:
    """Under a prior on items, if its log density counts twice too.

    Under a prior that is learned nothing of the kind holds: beside as many items, what each
    says of itself weighs more.
    """
    one = fitted(values, model, priors[0])
    other = fitted(np.repeat(values, 2, axis=0), model, priors[1])
    assume(determined(one) and determined(other))
    assert abs(2 * one.log_likelihood - other.log_likelihood) < 1e-3
    places = [0, 3] if model in {"2PL", "3PL"} else [3]
    told = (one.standard_errors[:, places] < 2).all(axis=1)
    for name, place in (("discrimination", 0), ("guessing", 2), ("intercept", 3)):
        gap = np.abs(getattr(one.parameters, name) - getattr(other.parameters, name))[told]
        errors = np.nan_to_num(one.standard_errors[told, place], nan=0.1)
        assert (gap <= NEAR * np.maximum(errors, 0.01)).all(), (name, gap)
    ratio = one.standard_errors[told][:, places] / other.standard_errors[told][:, places]
    np.testing.assert_allclose(ratio, np.sqrt(2), rtol=0.01)


@cases(120)
@given(tables(), st.data())
def test_empty_respondents_and_items_change_nothing(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    n, m = values.shape
    whole = np.full((n + 3, m + 2), -1, np.int8)
    rows = np.sort(np.array(data.draw(st.permutations(range(n + 3))))[:n])
    columns = np.sort(np.array(data.draw(st.permutations(range(m + 2))))[:m])
    whole[np.ix_(rows, columns)] = values
    one, other = fitted(values, model, prior), fitted(whole, model, prior)
    # items without a response that a density speaks of take part, and sums have another order
    near = NEAR / 10 if isinstance(prior, ItemPrior) else 0.0
    found = other.parameters.intercept[columns]
    np.testing.assert_allclose(found, one.parameters.intercept, rtol=0, atol=near)
    np.testing.assert_allclose(other.ability[rows], one.ability, rtol=0, atol=near)
    assert abs(other.log_likelihood - one.log_likelihood) <= near


def groups_of(result: FitResult, some: int) -> dict[str, int]:
    """Groups by label, so many; of respondents without a response any."""
    return {label: int(label[1:]) % some for label in result.respondent_labels}


TABLES: dict[str, Callable[[FitResult], pd.DataFrame]] = {
    "leaderboard": lambda result: result.leaderboard(),
    "scores": lambda result: irtkit.score(result.responses, result),
    "pairs": lambda result: (
        irtkit.compare_systems(result)
        .astype({"system": str, "other": str})
        .set_index(["system", "other"])
    ),
    "curves": lambda result: irtkit.characteristic_curves(result, bins=3).table,
    "held out": lambda result: held_out_predictions(result.responses, ["2PL"], folds=3),
    "shuffled": lambda result: irtkit.shuffle_control(result.responses, seeds=[0]).table,
    "Mantel-Haenszel": lambda result: irtkit.differential_functioning(result, groups_of(result, 2)),
    "likelihood ratio": lambda result: irtkit.differential_functioning(
        result, groups_of(result, 2), "likelihood-ratio"
    ),
    "items chosen": lambda result: (
        irtkit.select_items(result, 5, families=groups_of(result, 9)).table
    ),
    "item fit": irtkit.item_fit,
    "respondent fit": irtkit.respondent_fit,
    "local dependence": irtkit.local_dependence,
    "suspects": irtkit.flag_items,
    "information": lambda result: irtkit.information(result).items,
}
"""What is said of a fit, with draws in many of them."""


def labelled(values: np.ndarray, rows: Any, columns: Any) -> FitResult:
    """Fit with respondents and items in an order, −1 for those without a response."""
    n, m = values.shape
    whole = np.full((n + 1, m + 1), -1, np.int8)
    whole[:n, :m] = values
    labels = [f"s{k}" for k in rows], [f"i{k}" for k in columns]
    with silently():
        return irtkit.fit(ResponseMatrix(whole[np.ix_(rows, columns)], *labels), "2PL")


@pytest.fixture(scope="module", params=["complete", "missing"])
def given_and_beside_empty_and_turned(
    request: pytest.FixtureRequest,
) -> tuple[FitResult, FitResult, FitResult]:
    """A fit, one with two empty rows and columns, and one of rows and columns in another order."""
    generator = np.random.default_rng(5)
    n, m = 72, 14
    ability, difficulty = generator.normal(size=(n, 1)), generator.normal(size=m)
    slope = generator.lognormal(0, 0.3, m)
    p = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    values = (generator.random((n, m)) < p).astype(np.int8)
    if request.param == "missing":
        values[generator.random((n, m)) < 0.3] = -1
    rows, columns = list(range(n)), list(range(m))
    turned = generator.permutation(n), generator.permutation(m)
    return (
        labelled(values, rows, columns),
        labelled(values, [n, *rows], [*columns[:5], m, *columns[5:]]),
        labelled(values, *turned),
    )


def assert_same_table(one: pd.DataFrame, other: pd.DataFrame, near: float) -> None:
    """Tables alike in all rows of the first."""
    other = other[other.index.isin(one.index)]
    pd.testing.assert_frame_equal(
        one, other[one.columns], rtol=0, atol=near, check_like=True, check_categorical=False
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLES)
def test_empty_respondents_and_items_change_no_table(
    given_and_beside_empty_and_turned: tuple[FitResult, FitResult, FitResult], name: str
) -> None:
    given, beside_empty, _ = given_and_beside_empty_and_turned
    one, other = TABLES[name](given), TABLES[name](beside_empty)
    assert_same_table(one, other, 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["leaderboard", "scores", "curves"])
def test_the_order_of_systems_changes_no_rank_and_no_interval(
    given_and_beside_empty_and_turned: tuple[FitResult, FitResult, FitResult], name: str
) -> None:
    given, _, turned = given_and_beside_empty_and_turned
    one, other = (TABLES[name](result) for result in (given, turned))
    # letters of equal scores follow the order of the responses
    one, other = (table.drop(columns="group", errors="ignore") for table in (one, other))
    assert_same_table(one.sort_index(), other.sort_index(), 1e-6)
