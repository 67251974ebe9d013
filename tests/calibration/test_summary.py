"""Claims about what a printed fit says of remarkable items."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ResponseMatrix, fit
from irtkit.calibration.summary import negative_items


def test_slopes_are_spoken_of_where_they_differ_from_what_is_said_of_items() -> None:
    p_negative = np.array([1.0, 1.0, 0.2, 0.1])
    for slopes, code, values in (
        ([-1.0, -0.5, 0.5, 1.0], "negative-items", (2, 0)),
        ([-1.0, 0.5, -0.1, -0.1], "negative-items", (1, 2)),  # the second one rises
        ([0.7] * 4, "negative-items", (2, 0)),  # a common one has no say
        ([0.7, 0.7, -0.1, 1.0], "slopes-below-0", (1, None)),
    ):
        (found,) = negative_items(p_negative, np.array(slopes), doubted=False)
        assert (found.code, found.values["n"], found.values.get("n_unsure")) == (code, *values)


def test_items_without_an_ordinary_estimate_are_counted() -> None:
    generator = np.random.default_rng(0)
    chance = 1 / (1 + np.exp(-generator.normal(size=60)))
    values = (generator.random((60, 9)) < chance[:, None]).astype(int)
    values[:, 0], values[:, 1:3], values[:, 3] = 0, 1, -1
    with pytest.warns(UserWarning, match="No finite estimate: the likelihood of 3 of 9 items"):
        printed = str(fit(ResponseMatrix(values), prior=None, standard_errors=False))
    for said in (
        "1 item that no system gets right",
        "2 items that every system gets right",
        "1 item without responses",
    ):
        assert f"note: {said}" in " ".join(printed.split())
