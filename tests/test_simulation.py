"""Claims about simulated responses and synthetic respondents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.irf import ItemParameters
from irtkit.responses import ResponseMatrix
from irtkit.simulation import add_synthetic, simulate_responses

ITEMS = ItemParameters.from_difficulty([1.5, 0.8, -1.0], [-1.0, 0.5, 0.0], [0.0, 0.2, 0.0])


@pytest.fixture
def real() -> ResponseMatrix:
    return ResponseMatrix([[1, 0, -1, 1], [0, 0, 1, 1]], ["gpt", "llama"], ["a", "b", "c", "d"])


# Simulated responses


def test_the_share_of_right_responses_is_the_item_response_function() -> None:
    abilities = np.repeat([-1.0, 0.0, 1.0], 20_000)
    shares = simulate_responses(ITEMS, abilities).values.reshape(3, 20_000, 3).mean(axis=1)
    # five standard errors of a share of 20,000 draws: 5 · √(0.25 / 20,000) = 0.018
    np.testing.assert_allclose(shares, ITEMS.probability([-1.0, 0.0, 1.0]), atol=0.018)


def test_a_seed_gives_the_same_responses_and_another_seed_others() -> None:
    abilities = np.linspace(-2, 2, 50)
    first = simulate_responses(ITEMS, abilities, seed=3)
    assert first == simulate_responses(ITEMS, abilities, seed=3)
    assert first != simulate_responses(ITEMS, abilities, seed=4)


def test_missing_takes_responses_away_and_changes_no_other() -> None:
    abilities = np.zeros(5_000)
    whole = simulate_responses(ITEMS, abilities).values
    holed = simulate_responses(ITEMS, abilities, missing=0.3).values
    np.testing.assert_array_equal(holed[holed >= 0], whole[holed >= 0])
    # five standard errors: 5 · √(0.21 / 15,000) = 0.019
    assert (holed < 0).mean() == pytest.approx(0.3, abs=0.019)


def test_a_single_trial_gives_the_bytes_it_always_gave() -> None:
    drawn = simulate_responses(ITEMS, np.linspace(-1, 1, 4), missing=0.2, seed=8)
    generator = np.random.default_rng(8)
    expected = (generator.random((4, 3)) < ITEMS.probability(np.linspace(-1, 1, 4))).astype(np.int8)
    expected[generator.random((4, 3)) < 0.2] = -1
    assert drawn.values.tolist() == expected.tolist()
    ones = np.ones((4, 3), dtype=int)
    assert (
        simulate_responses(ITEMS, np.linspace(-1, 1, 4), missing=0.2, trials=ones, seed=8) == drawn
    )


def test_the_share_of_successes_is_the_item_response_function() -> None:
    drawn = simulate_responses(ITEMS, [-1.0, 0.0, 1.0], trials=20_000)
    assert drawn.has_repeats
    assert (drawn.trials == 20_000).all()
    # five standard errors of a share of 20,000 trials: 5 · √(0.25 / 20,000) = 0.018
    shares = drawn.successes / drawn.trials
    np.testing.assert_allclose(shares, ITEMS.probability([-1.0, 0.0, 1.0]), atol=0.018)


@pytest.mark.parametrize("trials", [[4, 0, 1], [[4], [1]], [[2, 3, 0], [0, 1, 1]], [[0], [1]]])
def test_trials_broadcast_and_none_is_missing(trials: Any) -> None:
    drawn = simulate_responses(ITEMS, [9.0, 9.0], trials=trials)
    assert drawn.trials.tolist() == np.broadcast_to(trials, (2, 3)).tolist()
    assert (drawn.successes <= drawn.trials).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"abilities": [[0.0]]}, "abilities"),
        ({"abilities": [np.nan]}, "abilities"),
        ({"missing": 1.0}, "missing must be at least 0 and below 1"),
        ({"trials": -1}, "trials must be whole numbers from 0 to 2147483647, got -1"),
        ({"trials": 2**31}, "trials must be whole numbers"),
        ({"trials": [1, 1, 1.5]}, "trials must be whole numbers"),
        ({"trials": True}, "trials must be whole numbers"),
        ({"trials": [1, 2]}, r"broadcast to 1 respondent × 3 items, got shape \(2,\)"),
        ({"trials": 0}, "every cell is missing"),
        ({"seed": None}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"item_labels": ["x"]}, "3 labels"),
    ],
)
def test_simulation_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_responses(ITEMS, **{"abilities": [0.0], **settings})


# Synthetic respondents


def test_synthetic_rows_are_marked_and_real_ones_untouched(real: ResponseMatrix) -> None:
    before = real.values.copy()
    crowd = add_synthetic(real)
    assert crowd.respondents == ("gpt", "llama", "always-right", "always-wrong")
    assert crowd.synthetic.tolist() == [False, False, True, True]
    assert crowd.values.tolist() == [*before.tolist(), [1] * 4, [0] * 4]
    assert np.array_equal(real.values, before)
    assert real.n_respondents == 2


def test_a_synthetic_row_has_one_trial_a_cell_beside_repeated_ones() -> None:
    labels = (["gpt", "llama"], ["a", "b"])
    real = ResponseMatrix.from_counts([[300, 0], [2, 0]], [[400, 5], [2, 0]], *labels)
    crowd = add_synthetic(real)
    assert crowd.successes.tolist() == [[300, 0], [2, 0], [1, 1], [0, 0]]
    assert crowd.trials.tolist() == [[400, 5], [2, 0], [1, 1], [1, 1]]
    assert crowd.synthetic.tolist() == [False, False, True, True]
    assert (crowd.respondents[:2], crowd.items) == (real.respondents, real.items)


def test_a_coin_is_right_as_often_as_it_should() -> None:
    wide = ResponseMatrix(np.ones((1, 20_000), dtype=np.int8))
    coin = add_synthetic(wide, "coin", probability=0.3).values[-1]
    # five standard errors: 5 · √(0.21 / 20,000) = 0.016
    assert coin.mean() == pytest.approx(0.3, abs=0.016)


def test_class_prior_is_right_as_often_as_the_class_is_frequent() -> None:
    classes = np.repeat(["cat", "dog"], [15_000, 5_000])
    wide = ResponseMatrix(np.ones((1, 20_000), dtype=np.int8))
    row = add_synthetic(wide, "class-prior", labels=classes).values[-1]
    # five standard errors of a share of 5,000 draws: 5 · √(0.19 / 5,000) = 0.031
    assert row[:15_000].mean() == pytest.approx(0.75, abs=0.031)
    assert row[15_000:].mean() == pytest.approx(0.25, abs=0.031)


def test_labels_by_name_and_in_order_are_the_same() -> None:
    matrix = ResponseMatrix(np.ones((1, 30), dtype=np.int8), items=range(30))
    classes = [k % 3 for k in range(30)]
    in_order = add_synthetic(matrix, "class-prior", labels=classes)
    shuffled = {k: classes[k] for k in reversed(range(30))}
    assert add_synthetic(matrix, "class-prior", labels={**shuffled, 99: 5}) == in_order
    assert add_synthetic(matrix, "class-prior", labels=pd.Series(shuffled)) == in_order


def test_neither_other_kinds_nor_more_draws_change_a_row() -> None:
    matrix = ResponseMatrix(np.ones((1, 200), dtype=np.int8))
    alone = add_synthetic(matrix, "coin", seed=5).values[-1]
    labels = [k % 2 for k in range(200)]
    among = add_synthetic(matrix, ("class-prior", "coin"), labels=labels, draws=3, seed=5)
    assert np.array_equal(among.values[among.respondents.index("coin-1")], alone)
    assert not np.array_equal(among.values[-1], alone)
    assert not np.array_equal(add_synthetic(matrix, "coin", seed=6).values[-1], alone)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kinds": "oracle"}, "kinds must be one of .*'oracle'"),
        ({"kinds": "coin", "draws": 0}, "draws must be a whole number, from 1 to 100,000, got 0"),
        ({"kinds": "coin", "probability": 1.2}, "probability must be at least 0 and at most 1"),
        ({"kinds": "coin", "seed": -3}, "seed must be a whole number"),
        ({"kinds": "class-prior"}, "labels must give the true class of every item"),
        ({"kinds": "class-prior", "labels": [1, 2]}, "labels must have one class per.*got 2 for 4"),
        ({"kinds": "class-prior", "labels": {"a": 1, "b": 1, "c": 2}}, "'d' has none"),
    ],
)
def test_add_synthetic_refuses(
    real: ResponseMatrix, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        add_synthetic(real, **settings)
