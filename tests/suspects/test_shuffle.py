"""Claims about shuffled responses, and about what they say of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    flag_items,
    shuffle_control,
    simulate_responses,
)
from irtkit.suspects.shuffle import shuffled

if TYPE_CHECKING:
    from irtkit.suspects import ShuffleControl

SHAPE = (100, 40)
NAMES = ["data", "shuffled, seed 0", "shuffled, seed 1", "shuffled, seed 2"]


def made(*, seed: int, missing: float = 0.0, trials: int = 1) -> ResponseMatrix:
    """Responses to items of one dimension, the first of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0.3, 0.3, SHAPE[1])
    slopes[0] *= -1
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=SHAPE[1]))
    abilities = generator.normal(size=SHAPE[0])
    return simulate_responses(items, abilities, missing=missing, trials=trials, seed=generator)


@pytest.fixture(scope="module")
def control() -> ShuffleControl:
    return shuffle_control(made(seed=7), seeds=[0, 1, 2])


@pytest.mark.parametrize(("missing", "trials"), [(0.0, 1), (0.3, 1), (0.3, 5)])
def test_shuffling_keeps_totals_and_what_is_missing(missing: float, trials: int) -> None:
    given = made(seed=3, missing=missing, trials=trials)
    moved = shuffled(given, seed=1)
    assert (moved.respondents, moved.items) == (given.respondents, given.items)
    np.testing.assert_array_equal(moved.successes.sum(axis=0), given.successes.sum(axis=0))
    np.testing.assert_array_equal(moved.trials > 0, given.trials > 0)
    assert moved != given


def test_the_first_row_says_what_flag_items_says(control: ShuffleControl) -> None:
    flagged = flag_items(fit(made(seed=7), "2PL"))
    negative = flagged["reasons"].map(lambda reasons: "negative" in reasons)
    assert control.table.loc["data", "flagged"] == len(flagged)
    assert control.table.loc["data", "negative"] == negative.sum() >= 1
    assert (control.table["negative"].iloc[1:] == 0).all()


def test_the_dimension_of_the_data_is_its_leading_share_of_variance(
    control: ShuffleControl,
) -> None:
    values = np.linalg.eigvalsh(np.corrcoef(made(seed=7).values.T))
    share = values[-1] / values.sum()
    assert control.table.loc["data", "dimension"] == pytest.approx(share, rel=1e-9)


def test_items_with_a_common_ability_have_a_dimension(control: ShuffleControl) -> None:
    assert control.has_dimension
    assert control.findings == ()


def test_coin_flips_have_no_dimension() -> None:
    flips = ResponseMatrix(np.random.default_rng(1).integers(0, 2, SHAPE))
    control = shuffle_control(flips, seeds=[0, 1, 2])
    assert [one.code for one in control.findings] == ["no-dimension"]
    assert list(control.table.index) == NAMES


def test_two_independent_blocks_of_items_have_a_second_dimension() -> None:
    blocks = [made(seed=seed).values[:, : SHAPE[1] // 2] for seed in (1, 2)]
    control = shuffle_control(ResponseMatrix(np.hstack(blocks)), seeds=[0, 1, 2])
    assert control.has_dimension
    assert [one.code for one in control.findings] == ["further-ability"]
    assert "Not unidimensional" in str(control)


def test_synthetic_respondents_are_left_out(control: ShuffleControl) -> None:
    crowd = add_synthetic(made(seed=7), ("always-right", "coin"), draws=5)
    among = shuffle_control(crowd, seeds=[0, 1, 2])
    pd.testing.assert_frame_equal(among.table, control.table, rtol=1e-9)


# What is refused


def test_settings_out_of_range_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="seeds must name at least one shuffle"):
        shuffle_control(made(seed=7), seeds=[])
    with pytest.raises(ValueError, match="fdr must be above 0 and below 1"):
        shuffle_control(made(seed=7), fdr=0)
