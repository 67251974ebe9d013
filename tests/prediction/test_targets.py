"""Claims about the table of what is predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import irtkit
from irtkit.prediction import difficulty_targets

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def responses() -> irtkit.ResponseMatrix:
    slope = np.where(np.arange(50) == 7, 0.001, 1.0)
    items = irtkit.ItemParameters(slope, np.linspace(-2, 2, 50), np.zeros(50))
    return irtkit.simulate_responses(items, np.linspace(-2, 2, 150), seed=0)


@pytest.fixture(scope="module")
def table(responses: irtkit.ResponseMatrix) -> pd.DataFrame:
    return difficulty_targets(responses)


def test_the_targets_agree_with_the_fits(
    responses: irtkit.ResponseMatrix, table: pd.DataFrame
) -> None:
    of_1pl, of_2pl = (irtkit.fit(responses, model) for model in ("1PL", "2PL"))
    assert table["1PL"].to_numpy() == pytest.approx(of_1pl.items["difficulty"])
    assert table["Rasch"].to_numpy() == pytest.approx(-of_1pl.items["intercept"])
    located = of_2pl.items["difficulty"].clip(-6, 6)
    assert table["2PL"].to_numpy() == pytest.approx(located)
    assert table["Rasch_se"].equals(of_1pl.items["intercept_se"])
    assert table["average_error"].equals(of_1pl.items["average_error"])
    assert table["expected_error"].to_numpy() == pytest.approx(of_2pl.items["expected_error"])
    again = difficulty_targets(of_2pl)
    assert again["2PL"].equals(table["2PL"])
