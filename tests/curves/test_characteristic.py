"""Claims about system characteristic curves and the best systems of ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, characteristic_curves, fit, simulate_responses
from irtkit.curves.answered import Answered
from irtkit.curves.characteristic import (
    accuracy_interval,
    generality_of,
    leaders_of,
    range_of,
    ranges_of,
)


def drawn(n: int = 12, n_items: int = 600, seed: int = 0) -> Any:
    """Items, abilities and responses."""
    generator = np.random.default_rng(seed)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    )
    theta = generator.normal(size=n)
    return items, theta, simulate_responses(items, theta, seed=generator)


def given(n_items: int, n: int, right: Any) -> Any:
    """Curves of responses over the difficulties 0, 1 and so on."""
    cells = np.broadcast_to(right, (n, n_items)).astype(int)
    return characteristic_curves(ResponseMatrix(cells), difficulties=list(range(n_items)), bins=2)


def test_a_curve_is_the_accuracy_in_ranges_of_difficulty() -> None:
    found = given(6, 2, [1, 1, 0, 0, 1, 0])
    row = found.table.loc["respondent-1"]
    assert row["accuracy"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert row["difficulty"].tolist() == [1, 4]
    assert row["n_items"].tolist() == [3, 3]
    assert found.best["n_items"].sum() == 6
    assert (row["accuracy_low"] < row["accuracy"]).all()
    assert (row["accuracy_high"] > row["accuracy"]).all()
    wilson = binomtest(2, 3).proportion_ci(method="wilson")
    assert row.loc[1, ["accuracy_low", "accuracy_high"]].tolist() == pytest.approx([*wilson])


def test_ranges_hold_as_many_items_or_are_as_wide() -> None:
    items, _, responses = drawn()
    result = fit(responses, standard_errors=False)
    many = characteristic_curves(result, bins=6).table["n_items"]
    assert many.between(80, 120).all()  # items answered alike are in one range
    best = characteristic_curves(result, bins=6, by="width").best
    width = best["difficulty_high"] - best["difficulty_low"]
    assert width.to_numpy() == pytest.approx(width.mean())
    assert 0.97 * items.n_items < best["n_items"].sum() <= items.n_items  # flat ones have none


def test_items_are_in_ranges_for_a_system_as_a_fit_without_it_has_them() -> None:
    # with few systems a fit to all has the items that a system got wrong as the harder ones
    held = {"without": [], "with": []}
    for seed in range(4):
        items, theta, responses = drawn(seed=seed)
        p = items.probability(theta)
        result = fit(responses, standard_errors=False)
        for name, known in (("without", None), ("with", result.items["difficulty"])):
            data = Answered.of(result, known, "difficulties", seed=0)
            edges = ranges_of(data.difficulty, 10, "quantile")
            table = characteristic_curves(result, difficulties=known).table
            for row, label in enumerate(responses.respondents):
                part = data.part(row)
                number = range_of(edges, part.difficulty)
                true = [p[row, part.items[number == k]].mean() for k in range(10)]
                curve = table.loc[label]
                held[name] += list(curve["accuracy_low"].le(true) & curve["accuracy_high"].ge(true))
    assert np.mean(held["without"]) > 0.93  # of 480, whose share errs by 0.01
    assert np.mean(held["with"]) < 0.8


def test_a_system_without_an_answer_in_a_range_lacks_an_accuracy_there() -> None:
    cells = np.ones((2, 10))
    cells[0, 5:] = np.nan
    found = characteristic_curves(ResponseMatrix(cells), difficulties=range(10), bins=2)
    assert found.best["n_items"].tolist() == [5, 5]
    row = found.table.loc[("respondent-1", 2)]
    assert np.isnan(row["accuracy"])
    assert (row["accuracy_low"], row["accuracy_high"], row["n_items"]) == (0, 1, 0)


def test_a_system_that_is_better_by_far_wins_and_equal_ones_do_not() -> None:
    generator = np.random.default_rng(0)
    difficulty = np.linspace(-1, 1, 400)
    equal = (generator.random((6, 400)) < 0.5).astype(int)
    found = characteristic_curves(ResponseMatrix(equal), difficulties=difficulty, bins=4)
    assert found.best["winner"].isna().all()
    assert (found.best["n_leaders"] > 1).all()
    equal[2] = generator.random(400) < 0.95
    found = characteristic_curves(ResponseMatrix(equal), difficulties=difficulty, bins=4)
    assert found.best["winner"].tolist() == ["respondent-3"] * 4


def test_the_test_of_leaders_is_the_exact_sign_test() -> None:
    right = np.array([[1] * 9 + [0] * 3, [0] * 9 + [1] * 3], dtype=float)
    p = binomtest(9, 12, alternative="greater").pvalue
    for alpha, n_leaders in ((p * 1.001, 1), (p * 0.999, 2)):
        leaders, accuracy = leaders_of(right, np.ones((2, 12)), alpha)
        assert (accuracy, len(leaders), leaders[0]) == (0.75, n_leaders, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bins": 1001}, "bins must be a whole number, from 1 to 1,000"),
        ({"systems": ["respondent-99"]}, "'respondent-99' is no system of the responses"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: dict[str, Any], message: str) -> None:
    _, _, responses = drawn(n_items=30)
    with pytest.raises(ValueError, match=message):
        characteristic_curves(fit(responses, standard_errors=False), **settings)


def test_synthetic_respondents_and_items_with_a_negative_slope_are_left_out() -> None:
    _, theta, responses = drawn(n=40, n_items=60)
    values = responses.values.copy()
    values[:, 0] = theta < 0
    result = fit(irtkit.add_synthetic(ResponseMatrix(values)), standard_errors=False)
    assert result.items["discrimination"].iloc[0] < 0
    found = characteristic_curves(result, bins=3)
    assert found.best["n_items"].sum() == (result.items["discrimination"] > 0).sum()
    assert len(found.systems) == 40


def test_repeated_trials_are_worth_between_their_items_and_themselves() -> None:
    generator = np.random.default_rng(0)
    alike = generator.binomial(5, 0.4, 2000) / 5
    apart = generator.binomial(1, 0.4, 2000) * 1.0
    for share, n in ((alike, 10_000), (apart, 2000)):
        found = accuracy_interval(share.mean(), share.var(), 2000, 10_000, 0.95)
        expected = binomtest(round(share.mean() * n), n).proportion_ci(method="wilson")
        assert np.diff(found) == pytest.approx(expected.high - expected.low, rel=0.05)


def of_curve(share: np.ndarray, edges: np.ndarray) -> tuple[float, float]:
    """Capability and spread."""
    capability, _, squared, _ = generality_of(edges, share, np.zeros(len(share)))
    return capability, squared**0.5


def test_the_generality_of_a_step_is_infinite() -> None:
    n = 10
    edges = np.linspace(-3, 3, n + 1)
    capability, spread = of_curve((edges[:-1] < 0).astype(float), edges)
    assert capability == pytest.approx(3)
    assert spread == pytest.approx(0, abs=1e-6)
    half_in_a_range = np.where(edges[:-1] < 0, 1.0, 0.0)
    half_in_a_range[n // 2] = 0.5
    assert of_curve(half_in_a_range, edges)[1] == pytest.approx(3 / n)  # half of 6 / n
    assert np.isnan(of_curve(np.ones(n), edges)[1])  # it falls elsewhere


def test_a_logistic_curve_has_the_spread_of_its_distribution() -> None:
    slope, edges = 3.0, np.linspace(-20, 20, 20_001)
    middles = (edges[1:] + edges[:-1]) / 2
    capability, spread = of_curve(1 / (1 + np.exp(slope * (middles - 1.5))), edges)
    assert capability == pytest.approx(21.5, abs=1e-4)
    assert spread == pytest.approx(np.pi / 3**0.5 / slope, rel=1e-4)


def test_errors_are_the_spread_of_what_is_drawn() -> None:
    generator = np.random.default_rng(0)
    edges, share = np.linspace(0, 5, 11), np.linspace(0.9, 0.1, 10)
    variance = share * (1 - share) / 200
    said = generality_of(edges, share, variance)
    drawn = generator.binomial(200, share, (4000, 10)) / 200
    found = [generality_of(edges, one, variance) for one in drawn]
    for k in (0, 2):
        assert said[k + 1] == pytest.approx(np.std([one[k] for one in found]), rel=0.05)
