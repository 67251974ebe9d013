"""Fit of respondents: formulas written out, and who is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import FitResult, ResponseMatrix, fit, respondent_fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.irf import ModelName


def fit_of(matrix: ResponseMatrix, model: ModelName = "2PL") -> FitResult:
    return fit(matrix, model, standard_errors=False)


@pytest.mark.parametrize("model", ["1PL", "2PL", "3PL"])
def test_zh_is_the_standardised_log_likelihood(
    drawn: Callable[..., ResponseMatrix], model: ModelName
) -> None:
    values = drawn(150, 25, model=model).values.copy()
    values[::3, 4] = -1
    result = fit_of(ResponseMatrix(values), model)
    p, zh = result.probability().to_numpy(), respondent_fit(result)["zh"].to_numpy()
    for cells, curve, found in zip(values, p, zh, strict=True):
        y, right = cells[cells >= 0], curve[cells >= 0]
        q = 1 - right
        observed = np.log(np.where(y == 1, right, q)).sum()
        expected = (right * np.log(right) + q * np.log(q)).sum()
        variance = (right * q * np.log(right / q) ** 2).sum()
        assert found == pytest.approx((observed - expected) / variance**0.5)


def test_lz_is_that_of_snijders(drawn: Callable[..., ResponseMatrix]) -> None:
    result = fit_of(drawn(100, 25))
    slope, p = result.parameters.discrimination, result.probability().to_numpy()
    y, lz = result.responses.values, respondent_fit(result)["lz"].to_numpy()
    for cells, right, found in zip(y, p, lz, strict=True):
        variance, w = right * (1 - right), np.log(right / (1 - right))
        c = (slope * variance * w).sum() / (slope**2 * variance).sum()  # r = a, P' = aP(1 − P)
        weight = w - c * slope
        total = ((cells - right) * weight).sum()
        assert found == pytest.approx(total / np.sqrt((weight**2 * variance).sum()))


def test_lz_is_standard_normal_where_the_model_holds(drawn: Callable[..., ResponseMatrix]) -> None:
    table = respondent_fit(fit_of(drawn(1000, 60)))
    assert table["lz"].std() == pytest.approx(1, abs=0.08)  # standard error 0.022
    assert table["lz"].mean() == pytest.approx(0, abs=0.15)
    assert (table["p_value"] < 0.05).mean() == pytest.approx(0.05, abs=0.025)
    assert table["zh"].std() < table["lz"].std()


def test_who_answers_the_wrong_way_round_is_found(drawn: Callable[..., ResponseMatrix]) -> None:
    matrix = drawn(300, 60)
    order = np.argsort(matrix.values.mean(axis=0))
    values = matrix.values.copy()
    values[17, order] = values[17, order[::-1]]
    table = respondent_fit(fit_of(ResponseMatrix(values)))
    assert table["lz"].idxmin() == "respondent-18"
    assert table.loc["respondent-18", "q_value"] < 0.01
    assert table["n_responses"].eq(60).all()
