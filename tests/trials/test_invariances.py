"""What must not change an estimate, of generated matrices, for EM with every prior.

IRTKIT_TRIALS=20 draws twenty times as many matrices, and new ones.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtkit
from irtkit import ItemPrior, Normal, ResponseMatrix
from irtkit.calibration.fitting import silently
from irtkit.io.merging import merge_responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit import FitResult

TIMES = int(os.environ.get("IRTKIT_TRIALS", "1"))
PRIORS: list[Any] = ["weak", "empirical", None, ItemPrior(Normal(0, 1), Normal(0, 2))]
NEAR = 0.02
"""Standard errors, or SDs where there are none, within which estimates are the same: fits end
within 0.0004 of them from the maximum, which the weak prior's spread of slopes, hardly told by six
items, makes flat."""


def trials(n: int) -> Callable[..., Any]:
    """So many matrices, the same ones each time unless more are asked for."""
    return settings(
        max_examples=n * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


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
        return irtkit.fit(values, model, prior=prior, tol=1e-9, **how)


def model_and_prior(data: Any) -> tuple[Any, Any]:
    prior = data.draw(st.sampled_from(PRIORS))
    return data.draw(
        st.sampled_from(["2PL", "2PL", "1PL"] if prior != "empirical" else ["2PL"])
    ), prior


def determined(result: FitResult) -> bool:
    return result.converged and "unbounded" not in result.status


def assert_same(one: FitResult, other: FitResult, **turned: Any) -> None:
    """Estimates of two fits, of which one may have had rows and columns in another order."""
    if not (determined(one) and determined(other)):
        return
    rows = turned.get("rows", np.arange(len(one.ability)))
    columns = turned.get("columns", np.arange(len(one.item_labels)))
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-3
    for name in ("discrimination", "intercept"):
        place = 0 if name == "discrimination" else 3
        errors = np.nan_to_num(one.standard_errors[columns, place], nan=1.0)
        there = getattr(one.parameters, name)[columns] - getattr(other.parameters, name)
        assert (np.abs(there) <= NEAR * np.maximum(errors, 0.1)).all(), (name, there)
    assert (np.abs(one.ability[rows] - other.ability) <= NEAR).all()


@trials(120)
@given(tables(), st.data())
def test_the_order_of_rows_and_columns_changes_no_estimate(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    rows = np.array(data.draw(st.permutations(range(values.shape[0]))))
    columns = np.array(data.draw(st.permutations(range(values.shape[1]))))
    one, other = fitted(values, model, prior), fitted(values[rows][:, columns], model, prior)
    assert_same(one, other, rows=rows, columns=columns)


@trials(90)
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


@trials(120)
@given(tables(), st.data())
def test_inverting_all_responses_turns_difficulty_round(values: np.ndarray, data: Any) -> None:
    model, prior = model_and_prior(data)
    inverted = np.where(values < 0, -1, 1 - values)
    one, other = fitted(values, model, prior), fitted(inverted, model, prior)
    if not (determined(one) and determined(other)):
        return
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-3
    a, b = one.parameters, other.parameters
    same = np.sign(a.discrimination @ b.discrimination)  # of noise the scale may be either
    errors = np.maximum(np.nan_to_num(one.standard_errors, nan=1.0), 0.1)
    gap = np.abs(a.discrimination - same * b.discrimination)
    assert (gap <= NEAR * errors[:, 0]).all(), gap
    assert (np.abs(a.intercept + b.intercept) <= NEAR * errors[:, 3]).all()


@trials(90)
@given(tables(40), st.sampled_from(["2PL", "1PL"]))
def test_every_respondent_twice_leaves_the_maximum_and_shrinks_errors(
    values: np.ndarray, model: Any
) -> None:
    one, other = (fitted(each, model, None) for each in (values, np.repeat(values, 2, axis=0)))
    if not (determined(one) and determined(other)):
        return
    assert abs(2 * one.log_likelihood - other.log_likelihood) < 1e-3
    told = ~np.isnan(one.standard_errors[:, 0]) & (one.standard_errors[:, 0] < 2)
    gap = np.abs(one.parameters.discrimination - other.parameters.discrimination)[told]
    assert (gap <= NEAR * one.standard_errors[told, 0]).all()
    np.testing.assert_allclose(
        one.standard_errors[told][:, [0, 3]] / other.standard_errors[told][:, [0, 3]],
        np.sqrt(2),
        rtol=0.01,
    )


@trials(120)
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


@trials(100)
@given(tables(), st.data())
def test_a_table_in_several_parts_is_the_same_table(values: np.ndarray, data: Any) -> None:
    whole = ResponseMatrix(values)
    frame = whole.to_frame()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(frame) - 1), max_size=3)))
    by_rows = np.split(np.arange(len(frame)), cuts)
    parts = [frame.iloc[some] for some in by_rows]
    long = [part.reset_index().melt("respondent", var_name="item") for part in parts]
    dropped = [part.rename(columns={"value": "response"}) for part in long]
    kept = [part for part in dropped if part["response"].notna().any()]
    matrices = [ResponseMatrix.from_long(part) for part in kept]
    merged = merge_responses(matrices, repeats="error")
    back = merged.to_frame().reindex(index=frame.index, columns=frame.columns)
    pd.testing.assert_frame_equal(
        back.astype("Int8").rename_axis(columns=None), frame.rename_axis(columns=None)
    )
