"""Fit of respondents: formulas written out, and who is found."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from irtkit import FitResult, ResponseMatrix, fit, respondent_fit
from irtkit.diagnostics.person_fit import _lower_tail

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


def test_p_values_are_even_where_the_model_holds(drawn: Callable[..., ResponseMatrix]) -> None:
    table = respondent_fit(fit_of(drawn(1000, 60)))
    assert table["lz"].std() == pytest.approx(1, abs=0.08)  # standard error 0.022
    assert table["lz"].mean() == pytest.approx(0, abs=0.15)
    assert (table["p_value"] < 0.05).mean() == pytest.approx(0.05, abs=0.025)
    assert (table["p_value"] > 0.9).mean() == pytest.approx(0.1, abs=0.03)
    assert table["zh"].std() < table["lz"].std()


@pytest.mark.parametrize("z", [-4.0, -3.0, -2.0, -1.0, 1.0])
def test_the_tail_of_lz_is_that_of_all_patterns(z: float) -> None:
    generator = np.random.default_rng(0)
    p, weight = generator.uniform(0.7, 0.97, 14), generator.lognormal(0, 0.3, 14)
    weight /= np.sqrt((p * (1 - p) * weight**2).sum())
    patterns = np.array(list(product([0, 1], repeat=14)))
    lower = (patterns - p) @ weight <= z
    exact = np.where(patterns, p, 1 - p).prod(axis=1)[lower].sum()
    found = _lower_tail(np.array([z]), np.log(p / (1 - p))[None], weight[None])
    assert found[0] == pytest.approx(exact, rel=0.1)


def test_the_least_likely_answers_have_the_least_p_values(
    drawn: Callable[..., ResponseMatrix],
) -> None:
    values = drawn(300, 30).values.copy()
    order = np.argsort(values.mean(axis=0))
    values[17, order] = np.arange(30) < 15  # the harder half right, the easier half wrong
    values[18, order] = np.arange(30) >= 15
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        table = respondent_fit(fit_of(ResponseMatrix(values)))
    assert table["p_value"].idxmin() == "respondent-18"
    assert table["p_value"].iloc[17] < 1e-8
    assert table["p_value"].iloc[18] > 0.95
    assert table["lz"].corr(table["p_value"], method="spearman") > 0.99
