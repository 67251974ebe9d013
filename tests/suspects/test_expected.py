"""Claims about responses beside what a fit expects of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irtkit import FitResult, ItemParameters, add_synthetic, fit, simulate_responses
from irtkit.suspects import expected as module
from irtkit.suspects.expected import ItemBlock, item_blocks


@pytest.fixture(scope="module")
def result() -> FitResult:
    """20 items of 30 respondents, 0 to 4 trials a cell, nobody tried the last item."""
    items = ItemParameters(np.ones(20), np.linspace(-1, 1, 20), np.zeros(20))
    trials = np.random.default_rng(0).integers(0, 5, (30, 20))
    trials[:, -1] = 0
    made = simulate_responses(items, np.linspace(-2, 2, 30), trials=trials, seed=1)
    return fit(add_synthetic(made, "coin"), "1PL", prior=None)


def whole(result: FitResult) -> ItemBlock:
    (block,) = item_blocks(result, np.ones(len(result.ability), dtype=np.bool_))
    return block


def test_right_responses_stand_beside_trials_and_probabilities(result: FitResult) -> None:
    assert result.responses is not None
    block = whole(result)
    np.testing.assert_array_equal(block.right, result.responses.successes)
    np.testing.assert_array_equal(block.trials, result.responses.trials)
    known = result.probability().to_numpy()[:, :-1]
    np.testing.assert_allclose(block.probability[:, :-1], known, rtol=1e-12)


def test_a_residual_is_right_responses_less_trials_times_probability(result: FitResult) -> None:
    block = whole(result)
    assert (block.residual[block.trials == 0] == 0).all()
    tried = block.trials > 0
    share = block.right[tried] / block.trials[tried] - block.probability[tried]
    np.testing.assert_allclose(block.residual[tried], share * block.trials[tried], atol=1e-12)
    # fitted abilities and difficulties leave little over in all
    assert abs(block.residual[:30].sum()) < 0.02 * block.trials.sum()


def test_some_respondents_and_some_items_at_a_time(
    result: FitResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, residual = np.arange(31) % 3 == 0, whole(result).residual
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 7 * int(kept.sum()))
    blocks = list(item_blocks(result, kept))
    assert [block.right.shape for block in blocks] == [(11, 7), (11, 7), (11, 6)]
    joined = np.hstack([block.residual for block in blocks])
    np.testing.assert_allclose(joined, residual[kept], atol=1e-12)


def test_patterns_are_those_that_the_fit_saw(result: FitResult) -> None:
    assert result.patterns.n_real == 30


def test_without_responses_there_is_nothing_to_compare(result: FitResult) -> None:
    bare = replace(result, responses=None)
    with pytest.raises(ValueError, match="the responses were not saved with this result"):
        list(item_blocks(bare, np.ones(31, dtype=np.bool_)))
    with pytest.raises(ValueError, match="the responses were not saved with this result"):
        _ = bare.signs
