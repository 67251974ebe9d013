"""Claims about what a printed fit says of remarkable items."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ResponseMatrix, fit
from irtkit.calibration.summary import negative_sentence


def test_slopes_are_spoken_of_where_they_differ_from_what_is_said_of_items() -> None:
    p_negative = np.array([1.0, 1.0, 0.2, 0.1])
    unsure = "estimated below 0, but not significantly"
    two = "2 of 4 items have negative discrimination (at a false-discovery rate of 5%)"
    for slopes, more in (
        ([-1.0, -0.5, 0.5, 1.0], ""),
        ([-1.0, -0.5, -0.1, 1.0], f"; 1 further slope is {unsure}"),
        ([-1.0, -0.5, -0.1, -0.1], f"; 2 further slopes are {unsure}"),
        ([0.7] * 4, ""),  # a common one has no say
    ):
        assert negative_sentence(p_negative, np.array(slopes), doubted=False) == two + more
    one = negative_sentence(p_negative, np.array([-1.0, 0.5, 0.5, 1.0]), doubted=False)
    assert one.startswith("1 of 4 items has negative discrimination")  # the second one rises


def test_items_without_an_ordinary_estimate_are_counted() -> None:
    generator = np.random.default_rng(0)
    chance = 1 / (1 + np.exp(-generator.normal(size=60)))
    values = (generator.random((60, 9)) < chance[:, None]).astype(int)
    values[:, 0], values[:, 1:3], values[:, 3] = 0, 1, -1
    with pytest.warns(UserWarning, match="No finite estimate"):
        printed = str(fit(ResponseMatrix(values), prior=None, standard_errors=False))
    for said in (
        "3 items without a finite estimate (unbounded)",
        "1 item that no system gets right",
        "2 items that every system gets right",
        "1 item without responses",
    ):
        assert said in " ".join(printed.split())
