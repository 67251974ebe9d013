"""Claims about two calibrations put on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ItemParameters, fit, link, simulate_responses
from irtkit.scoring import LINKS


def table(slopes: Any, difficulties: Any, guessing: Any = 0.0) -> pd.DataFrame:
    columns = {"a": slopes, "b": difficulties, "c": guessing}
    return pd.DataFrame(columns, [f"q{k}" for k in range(len(slopes))])


@pytest.mark.parametrize("method", LINKS)
@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_a_known_shift_and_scale_is_recovered(method: Any, guessing: float) -> None:
    generator = np.random.default_rng(0)
    first = table(generator.lognormal(0, 0.4, 30), generator.normal(size=30), guessing)
    second = table(first["a"] * 0.73, (first["b"] + 1.4) / 0.73, guessing)
    linking = link(first, second.sample(frac=1, random_state=1), method)
    assert linking.slope == pytest.approx(0.73, abs=1e-6)
    assert linking.intercept == pytest.approx(-1.4, abs=1e-6)
    assert linking.items["difference"].abs().max() < 1e-6
    assert linking.ability(2.0) == pytest.approx(0.06, abs=1e-5)


def test_curves_take_negative_and_flat_items_and_moments_leave_them_out() -> None:
    first = table(np.array([1.0, 1.5, 0.8, -1.0, 0.01]), np.array([-1.0, 0, 1, 0.5, 90]))
    second = table(first["a"] * 2, (first["b"] - 1) / 2)
    for method in LINKS:
        linking = link(first, second, method)
        assert (linking.slope, linking.intercept) == pytest.approx((2, 1), abs=1e-5)


def test_drifting_items_are_named_and_constants_are_within_their_errors() -> None:
    """Two of 40 items harder by 1, ten draws: of 380 others hardly one is named."""
    off, found, wrongly = [], 0, 0
    for seed in range(10):
        generator = np.random.default_rng(seed)
        slopes, difficulty = generator.lognormal(0, 0.3, 40), generator.normal(size=40)
        items = ItemParameters.from_difficulty(slopes, difficulty)
        later = ItemParameters.from_difficulty(slopes, difficulty + (np.arange(40) < 2))
        ability = generator.normal(size=(2, 600))
        first = fit(simulate_responses(items, ability[0], seed=generator))
        second = fit(simulate_responses(later, 0.7 + 0.8 * ability[1], seed=generator))
        linking = link(first, second)
        off.append((linking.slope - 0.8) / linking.slope_se)
        off.append((linking.intercept - 0.7) / linking.intercept_se)
        found += linking.items["drifts"].iloc[:2].sum()
        wrongly += linking.items["drifts"].iloc[2:].sum()
    assert found >= 12
    assert wrongly <= 3
    assert 0.6 < np.sqrt(np.mean(np.square(off))) < 1.5
    assert "drifted and took no part" in str(linking)


def test_parameters_move_with_the_scale() -> None:
    first = table(np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -1.0]))
    second = table(first["a"] * 2, (first["b"] - 1) / 2)
    own = ItemParameters.from_difficulty(second["a"], second["b"])
    linked = link(first, second).parameters(own)
    np.testing.assert_allclose(linked.difficulty, first["b"], atol=1e-6)


def test_without_common_items_there_is_no_link() -> None:
    first = table(np.ones(3), np.arange(3.0))
    with pytest.raises(ValueError, match="at least two items in common"):
        link(first, first.set_axis(["x", "y", "z"]))
    with pytest.raises(ValueError, match="labels"):
        link(first, ItemParameters.from_difficulty([1.0], [0.0]))
    with pytest.raises(ValueError, match="method must be one of"):
        link(first, first, "equipercentile")  # type: ignore[arg-type]
    assert irtkit.Linking is type(link(first, first))
