"""The chance level that the weak prior centres guessing on: given, from options, or learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit import ItemParameters, ResponseMatrix, WeakPrior, fit, load, simulate_responses
from irtkit.calibration.refitting import refitted


def drawn(guessing: Any, n: int = 500, n_items: int = 24, seed: int = 0) -> Any:
    """Items, and responses to them."""
    generator = np.random.default_rng(seed)
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    c = np.broadcast_to(guessing, n_items).astype(float)
    items = ItemParameters(slope, -slope * difficulty, c)
    return items, simulate_responses(items, generator.normal(size=n), seed=generator)


HALF = np.repeat([0.25, 0.0], 12)


@pytest.fixture(scope="module")
def mixed() -> ResponseMatrix:
    """Twelve items with four choices, and twelve open-ended ones."""
    responses: ResponseMatrix = drawn(HALF)[1]
    return responses


@pytest.mark.parametrize(("guessing", "tolerance"), [(0.0, 0.04), (0.1, 0.04), (0.25, 0.06)])
def test_intervals_hold_with_a_learned_chance_level(guessing: float, tolerance: float) -> None:
    items, responses = drawn(guessing, n=1000, n_items=30)
    result = fit(responses, "3PL")
    assert result.settings.prior["chance"] == pytest.approx(guessing, abs=tolerance)
    for name in ("discrimination", "difficulty"):
        off = (result.items[name] - getattr(items, name)) / result.items[f"{name}_se"]
        assert (off.abs() <= 1.96).mean() >= 0.9


def test_without_guessing_the_3pl_is_the_2pl(mixed: ResponseMatrix) -> None:
    known, two = fit(mixed, "3PL", prior=WeakPrior(chance=0)), fit(mixed, "2PL")
    easy = two.items.index[12:]
    assert known.items.loc[easy, "guessing"].max() < 0.02
    off = known.items["difficulty"] - two.items["difficulty"]
    assert (off[easy].abs() < 0.1 * two.items.loc[easy, "difficulty_se"]).mean() > 0.5


def test_a_posterior_is_finite_and_near_0_where_nobody_guesses(mixed: ResponseMatrix) -> None:
    result = fit(mixed, "3PL", method="vi", prior=WeakPrior(chance=0))
    assert result.converged
    assert result.items["guessing"].between(0, 0.12).all()


@pytest.mark.parametrize("method", ["em", "vi"])
def test_options_in_the_item_table_are_chance_levels_and_others_are_learned(
    mixed: ResponseMatrix, method: Any
) -> None:
    options = pd.DataFrame({"n_options": [4] * 12 + [None] * 12}, index=mixed.items)
    told = fit(mixed.with_tables(options), "3PL", method=method)
    chance = told.settings.prior["chance"]
    assert chance[:12] == (0.25,) * 12
    assert 0 < chance[12] < 0.1
    assert len({*chance[12:]}) == 1
    by_item = dict(zip(mixed.items[:12], chance[:12], strict=True))
    given = fit(mixed, "3PL", method=method, prior=WeakPrior(chance=by_item))
    pd.testing.assert_frame_equal(given.items, told.items)


@pytest.mark.filterwarnings("ignore:Systems at chance")
@pytest.mark.parametrize("settings", [{}, {"prior": "empirical"}])
def test_items_without_responses_and_refits_keep_the_chance_of_each_item(
    mixed: ResponseMatrix, settings: Any, tmp_path: Any
) -> None:
    values = mixed.values.copy()
    values[:, 3] = -1
    options = pd.DataFrame({"n_options": [4] * 12 + [50] * 12}, index=mixed.items)
    result = fit(ResponseMatrix(values, items=mixed.items).with_tables(options), "3PL", **settings)
    assert result.items["guessing"].iloc[12:].max() < 0.08
    assert result.items["guessing"].iloc[:12].mean() > 0.2
    if settings:
        return
    result.save(tmp_path / "fit")
    some = ResponseMatrix(values[:, 6:18], items=mixed.items[6:18])
    again = refitted(load(tmp_path / "fit"), some, tol=1e-7)
    assert again.settings.prior["chance"] == (0.25,) * 6 + (0.02,) * 6


def test_copies_of_an_item_with_other_chance_levels_stay_apart() -> None:
    values = np.repeat(drawn(0.1, n=150, n_items=8)[1].values, 2, axis=1)
    responses = ResponseMatrix(values)
    levels = pd.Series(np.tile([0.25, 0.0], 8), responses.items)
    guessing = fit(responses, "3PL", prior=WeakPrior(chance=levels)).items["guessing"].to_numpy()
    assert guessing[::2].min() > guessing[1::2].max() + 0.05


@pytest.mark.parametrize(
    ("chance", "error", "message"),
    [
        (1.0, ValueError, "chance of the prior must be at least 0 and below 1"),
        ("four", TypeError, "chance of the prior must be a number"),
        ({"item-1": -0.1}, ValueError, "chance of the prior must be at least 0"),
        ({"itm-1": 0.1}, ValueError, "chance of the prior: 'itm-1' is none of the items"),
    ],
)
def test_what_is_no_chance_level_is_refused(
    chance: Any, error: type[Exception], message: str, mixed: ResponseMatrix
) -> None:
    with pytest.raises(error, match=message):
        fit(mixed, "3PL", prior=WeakPrior(chance=chance))
