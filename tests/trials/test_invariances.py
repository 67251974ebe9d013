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
from irtkit.fitting import silently
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


def determined(result: FitResult) -> bool:
    return result.converged and "unbounded" not in result.status


def assert_same(one: FitResult, other: FitResult, **turned: Any) -> None:
    """Estimates of two fits, one of them perhaps with rows and columns in another order."""
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


@cases(60)
@given(tables(), st.data())
def test_labels_and_seeds_change_no_byte(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    names = [f"ß\n{k}" for k in range(values.shape[0])][::-1]
    given = ResponseMatrix(values, names, names[: values.shape[1]][::-1])
    one, other = fitted(values, model, prior), fitted(given, model, prior, seed=7)
    np.testing.assert_array_equal(other.parameters.intercept, one.parameters.intercept)
    np.testing.assert_array_equal(other.standard_errors, one.standard_errors)
    np.testing.assert_array_equal(other.ability, one.ability)


@cases(120)
@given(tables(), st.data())
def test_inverting_all_responses_turns_difficulty_round(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    model = "2PL" if model == "3PL" else model
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


TABLES: dict[str, Callable[[FitResult, Any], pd.DataFrame]] = {
    "leaderboard": lambda result, _: result.leaderboard(),
    "scores": lambda result, _: irtkit.score(result.responses, result),
    "curves": lambda result, _: irtkit.characteristic_curves(result, bins=3).table,
    "groups compared": irtkit.differential_functioning,
    "items chosen": lambda result, groups: irtkit.select_items(result, 5, families=groups).table,
    "respondent fit": lambda result, _: irtkit.respondent_fit(result),
    "suspects": lambda result, _: irtkit.flag_items(result),
}
"""Tables of a fit and groups of its respondents, with draws in many of them."""
ORDERLY = {"leaderboard", "scores", "curves"}
"""Tables that the order of rows and columns does not change."""


@pytest.fixture(scope="module")
def fits() -> tuple[FitResult, ...]:
    """A fit, one with an empty row and column, and one of rows and columns in another order."""
    generator = np.random.default_rng(5)
    n, m = 72, 14
    ability, difficulty = generator.normal(size=(n, 1)), generator.normal(size=m)
    p = 1 / (1 + np.exp(-generator.lognormal(0, 0.3, m) * (ability - difficulty)))
    values = np.full((n + 1, m + 1), -1, np.int8)
    values[:n, :m] = np.where(generator.random((n, m)) < 0.3, -1, generator.random((n, m)) < p)
    orders = (
        ([*range(n)], [*range(m)]),
        ([n, *range(n)], [*range(5), m, *range(5, m)]),
        (generator.permutation(n), generator.permutation(m)),
    )
    found = []
    for rows, columns in orders:
        labels = [f"s{k}" for k in rows], [f"i{k}" for k in columns]
        with silently():
            found.append(irtkit.fit(ResponseMatrix(values[np.ix_(rows, columns)], *labels), "2PL"))
    return tuple(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [*sorted({*TABLES} - {"curves"}), pytest.param("curves", marks=pytest.mark.slow)]
)
def test_neither_empty_rows_nor_order_changes_a_table(
    fits: tuple[FitResult, ...], name: str
) -> None:
    one, empty, turned = (
        TABLES[name](fit, {label: int(label[1:]) % 2 for label in fit.respondent_labels})
        for fit in fits
    )
    for other, near in ((empty, 1e-9), (turned, 1e-6))[: 1 + (name in ORDERLY)]:
        kept = other[other.index.isin(one.index)][one.columns].sort_index()
        # letters of equal scores follow the order of the responses
        pairs = (table.drop(columns="group", errors="ignore") for table in (one.sort_index(), kept))
        pd.testing.assert_frame_equal(
            *pairs, rtol=0, atol=near, check_like=True, check_categorical=False
        )
