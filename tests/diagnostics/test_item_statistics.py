"""Fit of items: R's mirt, definitions computed naively, alarms where a model holds and not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from irtkit import FitResult, ItemParameters, ResponseMatrix, fit, item_fit
from irtkit.diagnostics.fitted import Fitted, fitted
from irtkit.diagnostics.item_statistics import (
    by_recursion,
    by_saddlepoint,
    expected_right,
    mean_squares,
    poorly_fitting,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.irf import Array

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

COMPLETE = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "wirs", "abortion")
    for model in ("Rasch", "1PL", "2PL")
]
GUESSING = [(name, "3PLnorm") for name in ("lsat6", "lsat7", "sat12")]
MISSING = [("sat12_missing", model) for model in ("Rasch", "1PL", "2PL")]


def by_mirt(expected: dict[str, Any], name: str) -> Array:
    column = pd.DataFrame(expected["itemfit_S_X2"])[name]
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float)


@pytest.mark.parametrize(("name", "model"), COMPLETE + GUESSING)
def test_mean_squares_are_those_of_mirt(
    mirt_fit: Callable[[str, str], Any], name: str, model: str
) -> None:
    result, expected = mirt_fit(name, model)
    table = item_fit(result)
    # abilities of Rasch reach beyond mirt's grid there, and its EAP of the extremes differ by 0.01
    within = 2e-3 if (name, model) == ("abortion", "Rasch") else 1e-4
    for ours, theirs in (("infit", "infit"), ("outfit", "outfit")):
        assert table[ours].to_numpy() == pytest.approx(by_mirt(expected, theirs), abs=within)
        z = by_mirt(expected, f"z.{theirs}")
        assert table[f"{ours}_z"].to_numpy() == pytest.approx(z, abs=15 * within)


@pytest.mark.parametrize(("name", "model"), COMPLETE + GUESSING + MISSING)
def test_s_x2_and_its_degrees_of_freedom_are_those_of_mirt(
    mirt_fit: Callable[[str, str], Any], name: str, model: str
) -> None:
    result, expected = mirt_fit(name, model)
    table = item_fit(result)
    found, df = by_mirt(expected, "S_X2"), by_mirt(expected, "df.S_X2")
    assert table["s_x2"].to_numpy() == pytest.approx(found, rel=1e-3, nan_ok=True)
    # mirt takes a common slope off for each item, and here it counts once
    shared = 1 - 1 / len(table) if model in {"1PL", "Rasch"} else 0.0
    own_df = np.nan_to_num(table["df"].to_numpy())
    assert own_df == pytest.approx(np.where(df > 0, df + shared, 0))
    share = result.evidence
    own = chi2.sf(share * table["s_x2"], table["df"])
    assert table["p_value"].to_numpy() == pytest.approx(own, nan_ok=True)
    if share == 1 and model in {"2PL", "3PLnorm"}:
        p = by_mirt(expected, "p.S_X2")
        assert table["p_value"].to_numpy() == pytest.approx(p, abs=1e-3, nan_ok=True)
    assert (table["status"] == "ok").tolist() == (df > 0).tolist()


@pytest.fixture(scope="module")
def result(drawn: Callable[..., ResponseMatrix]) -> FitResult:
    return fit(drawn(600, 30), standard_errors=False)


def test_mean_squares_are_the_sums_of_their_definition(result: FitResult) -> None:
    y, p = result.responses.values, result.probability().to_numpy()
    table, variance = item_fit(result), p * (1 - p)
    assert (variance > 0.004).all()  # none is held
    square = (y - p) ** 2
    assert table["infit"].to_numpy() == pytest.approx(square.sum(0) / variance.sum(0))
    assert table["outfit"].to_numpy() == pytest.approx((square / variance).mean(0))
    by_respondent = mean_squares(fitted(result, "test"), by_respondent=True)
    assert by_respondent["infit"] == pytest.approx(square.sum(1) / variance.sum(1))


def test_few_items_are_called_where_the_model_holds(drawn: Callable[..., ResponseMatrix]) -> None:
    p = np.concatenate(
        [item_fit(fit(drawn(500, 40, seed), standard_errors=False))["p_value"] for seed in range(5)]
    )
    # of 200 items 10 are expected below 0.05; more than 20, or none, once in a thousand times
    assert 0 < (p < 0.05).sum() <= 20
    assert 0.4 < p.mean() < 0.6


@pytest.fixture(scope="module")
def with_falling_item(drawn: Callable[..., ResponseMatrix]) -> FitResult:
    generator = np.random.default_rng(0)
    values = drawn(1000, 30).values.copy()
    strength = np.argsort(np.argsort(values.sum(axis=1))) / 1000
    values[:, 4] = generator.random(1000) < np.exp(-0.5 * ((strength - 0.6) / 0.2) ** 2)
    return fit(ResponseMatrix(values), standard_errors=False)


def test_an_item_that_falls_again_is_found(with_falling_item: FitResult) -> None:
    table = item_fit(with_falling_item)
    assert table["s_x2"].idxmax() == "item-5"
    assert table.loc["item-5", "q_value"] < 1e-9
    called = poorly_fitting(with_falling_item, 0.05)
    assert called is not None
    assert np.flatnonzero(called).tolist() == [4]


def test_missing_cells_leave_mean_squares_and_take_rows_from_s_x2(
    drawn: Callable[..., ResponseMatrix],
) -> None:
    values = drawn(600, 20).values.copy()
    values[:100, 3] = -1
    result = fit(ResponseMatrix(values), standard_errors=False)
    table = item_fit(result)
    assert (table["status"] == "ok").all()
    rest = fitted(result, "test").cells[100:]
    assert table["df"].max() < len(np.unique(rest.sum(axis=1)))
    values[:, 7] = np.where(np.arange(600) % 2, values[:, 7], -1)
    values[250:, 8] = -1
    table = item_fit(fit(ResponseMatrix(values), standard_errors=False))
    assert set(table["status"]) == {"missing responses"}
    assert table["infit"].notna().all()
    assert table[["s_x2", "df", "p_value", "q_value"]].isna().all(axis=None)


def test_few_respondents_have_no_p_value_by_theory_and_one_by_bootstrap(
    drawn: Callable[..., ResponseMatrix],
) -> None:
    result = fit(drawn(25, 60), standard_errors=False)
    table = item_fit(result)
    assert table["p_value"].isna().all()
    assert set(table["status"]) == {"too few respondents"}
    simulated = item_fit(result, bootstrap=20, seed=3)
    told = simulated["p_value"].dropna()
    assert len(told) > 20
    assert (told < 0.05).mean() < 0.2
    pd.testing.assert_frame_equal(simulated, item_fit(result, bootstrap=20, seed=3))


def test_near_copies_do_not_make_items_fit_badly(drawn: Callable[..., ResponseMatrix]) -> None:
    generator = np.random.default_rng(1)
    values = np.repeat(drawn(30, 200).values, 7, axis=0)
    values = np.where(generator.random(values.shape) < 0.02, 1 - values, values)
    result = fit(ResponseMatrix(values), standard_errors=False)
    assert not (item_fit(result)["q_value"] < 0.05).any()
    alone = replace(result, near_duplicates=result.near_duplicates._replace(share=1.0))
    assert (item_fit(alone)["q_value"] < 0.05).mean() > 0.5  # each counted as one


@pytest.mark.filterwarnings("ignore:No ability differences")
@pytest.mark.parametrize(
    "statistic", ["item_fit", "respondent_fit", "local_dependence", "model_fit"]
)
def test_what_has_no_single_responses_is_refused(statistic: str, result: FitResult) -> None:
    import irtkit

    of: Any = getattr(irtkit, statistic)
    with pytest.raises(TypeError, match="result must be a FitResult"):
        of(None)
    with pytest.raises(ValueError, match=f"{statistic} needs the responses, which were not saved"):
        of(replace(result, responses=None))
    counts = np.ones((40, 4), int)
    counts[::2] = 2
    repeated = ResponseMatrix.from_counts(counts, np.full((40, 4), 3))
    twice = fit(repeated, "1PL", standard_errors=False)
    with pytest.raises(ValueError, match=f"{statistic} is for one response a cell"):
        of(twice)


def test_a_bootstrap_of_few_draws_is_refused(result: FitResult) -> None:
    with pytest.raises(ValueError, match="bootstrap must be 0, or 20 or more"):
        item_fit(result, bootstrap=5)


def parts_of(n_items: int, guessing: float = 0.0) -> Fitted:
    generator = np.random.default_rng(n_items)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.4, n_items), generator.normal(size=n_items), guessing
    )
    nothing, one = np.zeros((1, n_items), np.int8), np.arange(1)
    return Fitted(nothing, np.zeros(1), items, np.arange(n_items), one, None)


def curves(parts: Fitted) -> tuple[Array, Array, Array]:
    nodes, weights = parts.grid()
    return nodes, parts.items.probability(nodes).T, weights


def test_shares_by_recursion_are_those_of_all_patterns() -> None:
    _, p, weights = curves(parts_of(5, 0.2))
    right, total = np.zeros((5, 4)), np.zeros(4)
    for pattern in product((0, 1), repeat=5):
        y = np.array(pattern)[:, None]
        mass = float(weights @ np.where(y == 1, p, 1 - p).prod(axis=0))
        if 0 < y.sum() < 5:
            right[:, y.sum() - 1] += mass * y[:, 0]
            total[y.sum() - 1] += mass
    assert by_recursion(p, weights) == pytest.approx(right / total, abs=1e-12)


@pytest.mark.parametrize(("n_items", "within"), [(100, 1e-3), (250, 1e-4), (400, 5e-5)])
@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_the_saddlepoint_comes_near_the_recursion(
    n_items: int, within: float, guessing: float
) -> None:
    nodes, p, weights = curves(parts_of(n_items, guessing))
    typical = np.abs(nodes) < 3
    scores = np.unique(p.sum(axis=0)[typical].astype(int))
    found = by_saddlepoint(p, weights, scores.astype(float))
    assert found == pytest.approx(by_recursion(p, weights)[:, scores - 1], abs=within)


def test_shares_between_knots_are_interpolated() -> None:
    parts = parts_of(300)
    _, p, weights = curves(parts)
    scores, first = np.arange(60, 240), np.arange(0, 180, 12)
    n = np.random.default_rng(0).integers(1, 5, 180).astype(float)
    found = expected_right(parts.items, scores, n, first, parts.grid())
    expected = np.add.reduceat(by_recursion(p, weights)[:, scores - 1] * n, first, axis=1)
    groups = np.add.reduceat(n, first)
    assert found / groups == pytest.approx(expected / groups, abs=1e-4)
