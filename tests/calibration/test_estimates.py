"""Claims about how estimates become a result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit.calibration.estimates import _flat, _units
from irtkit.data.patterns import Counts

if TYPE_CHECKING:
    from irtkit.irf import ModelName


@pytest.mark.parametrize(
    ("model", "slope", "factor"),
    [("1PL", 0.7, 1.0), ("1PL", -0.7, -1.0), ("Rasch", 0.7, 0.7), ("Rasch", -0.7, -0.7)],
)
def test_a_common_slope_says_which_way_ability_rises(
    model: ModelName, slope: float, factor: float
) -> None:
    estimates: Any = SimpleNamespace(
        items=SimpleNamespace(slope=np.full(3, slope)),
        common_slope=True,
        population=None,
    )
    proportion: Any = None  # of no matter
    assert _units(estimates, proportion, model) == (factor, abs(slope) if model == "Rasch" else 1)


def flat(
    slopes: Any, n: int, *, trials: int = 1, correlation: float = 0.0, **more: Any
) -> list[Any]:
    """Which items are flat that half of n respondents got right, whose abilities are ±1."""
    half = np.full(len(slopes), n * trials / 2)
    counts: Any = Counts(half, 2 * half, np.zeros(n), np.zeros(n))
    estimates: Any = SimpleNamespace(
        items=SimpleNamespace(slope=np.array(slopes), logit_guessing=None),
        ability=np.resize([-1.0, 1.0], n),
        trial_correlation=correlation,
        common_slope=more.get("common_slope", False),
    )
    found = _flat(estimates, counts, np.ones(n, np.bool_), by_chance=more.get("by_chance", False))
    return [bool(one) for one in found]


def test_a_small_slope_is_flat_where_trials_that_repeat_each_other_do_not_tell_it() -> None:
    # information is n/4: of 100 respondents a slope of 0.2 is one standard error
    assert flat([1.0, 1.0, 0.2], 100) == [False, False, True]
    assert flat([1.0, 1.0, 0.2], 100, trials=5) == [False] * 3
    assert flat([1.0, 1.0, 0.2], 100, trials=5, correlation=1.0) == [False, False, True]
    assert flat([2.0, 2.0, 0.4], 100, trials=5, correlation=1.0) == [False] * 3  # as one run
    assert flat([1.0, 1.0, 0.5], 12) == [False] * 3  # not told, but not small beside the others
    assert flat([1.0, 1.0, 0.5], 12, by_chance=True) == [True] * 3


def test_all_items_together_tell_a_common_slope_and_those_of_two_respondents() -> None:
    assert flat([0.5] * 30, 12, common_slope=True) == [False] * 30
    assert flat([0.5] * 4, 12, common_slope=True) == [True] * 4
    assert flat([0.5] * 20, 2) == [True] * 20
    assert flat([1.0] * 20, 2) == [False] * 20
