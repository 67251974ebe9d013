"""Claims about responses beside what a fit expects of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irtkit import FitResult, ItemParameters, add_synthetic, fit, simulate_responses
from irtkit.audit import expected as module
from irtkit.audit.expected import Part, expected, rows_of_fit


@pytest.fixture(scope="module")
def result() -> FitResult:
    """20 items of 30 respondents, 0 to 4 trials a cell, nobody tried the last item."""
    items = ItemParameters(np.ones(20), np.linspace(-1, 1, 20), np.zeros(20))
    trials = np.random.default_rng(0).integers(0, 5, (30, 20))
    trials[:, -1] = 0
    made = simulate_responses(items, np.linspace(-2, 2, 30), trials=trials, seed=1)
    return fit(add_synthetic(made, "coin"), "1PL", prior=None)


def whole(result: FitResult) -> Part:
    (part,) = expected(result, np.ones(len(result.ability), dtype=np.bool_))
    return part


def test_right_responses_stand_beside_trials_and_probabilities(result: FitResult) -> None:
    assert result.responses is not None
    part = whole(result)
    np.testing.assert_array_equal(part.right, result.responses.successes)
    np.testing.assert_array_equal(part.trials, result.responses.trials)
    known = result.probability().to_numpy()[:, :-1]
    np.testing.assert_allclose(part.probability[:, :-1], known, rtol=1e-12)


def test_a_residual_is_right_responses_less_trials_times_probability(result: FitResult) -> None:
    part = whole(result)
    assert (part.residual[part.trials == 0] == 0).all()
    tried = part.trials > 0
    share = part.right[tried] / part.trials[tried] - part.probability[tried]
    np.testing.assert_allclose(part.residual[tried], share * part.trials[tried], atol=1e-12)
    # fitted abilities and difficulties leave little over in all
    assert abs(part.residual[:30].sum()) < 0.02 * part.trials.sum()


def test_some_respondents_and_some_items_at_a_time(
    result: FitResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, residual = np.arange(31) % 3 == 0, whole(result).residual
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 7 * int(kept.sum()))
    parts = list(expected(result, kept))
    assert [part.right.shape for part in parts] == [(11, 7), (11, 7), (11, 6)]
    joined = np.hstack([part.residual for part in parts])
    np.testing.assert_allclose(joined, residual[kept], atol=1e-12)


@pytest.mark.parametrize(("synthetic", "n_real"), [("separate", 30), ("ordinary", 31)])
def test_rows_are_those_that_the_fit_saw(result: FitResult, synthetic: str, n_real: int) -> None:
    seen = replace(result, settings=replace(result.settings, synthetic=synthetic))
    assert rows_of_fit(seen, "this").n_real == n_real


def test_without_responses_there_is_nothing_to_compare(result: FitResult) -> None:
    bare = replace(result, responses=None)
    assert list(expected(bare, np.ones(31, dtype=np.bool_))) == []
    with pytest.raises(ValueError, match="this needs the responses, which were not saved"):
        rows_of_fit(bare, "this")
