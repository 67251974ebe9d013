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
    generator = np.random.default_rng(0)
    slope = np.where(np.arange(50) == 7, 0.001, generator.lognormal(0, 0.3, 50))
    items = irtkit.ItemParameters(slope, generator.normal(size=50), np.zeros(50))
    return irtkit.simulate_responses(items, generator.normal(size=150), seed=generator)


@pytest.fixture(scope="module")
def table(responses: irtkit.ResponseMatrix) -> pd.DataFrame:
    return difficulty_targets(responses)


def test_the_targets_are_those_of_the_fits(
    responses: irtkit.ResponseMatrix, table: pd.DataFrame
) -> None:
    of_1pl, of_2pl = (irtkit.fit(responses, model) for model in ("1PL", "2PL"))
    assert table["1PL"].to_numpy() == pytest.approx(of_1pl.items["difficulty"])
    assert table["Rasch"].to_numpy() == pytest.approx(-of_1pl.items["intercept"])
    near = table["2PL"].abs() < 6
    assert table["2PL"][near].to_numpy() == pytest.approx(of_2pl.items["difficulty"][near])
    assert table["average_error"].equals(of_1pl.items["average_error"])
    assert table["expected_error"].to_numpy() == pytest.approx(of_2pl.items["expected_error"])
    again = difficulty_targets(of_2pl)
    assert again["2PL"].equals(table["2PL"])


def test_errors_of_the_average_error_are_those_of_agresti_and_caffo(
    responses: irtkit.ResponseMatrix, table: pd.DataFrame
) -> None:
    wrong = 150 * table["average_error"]
    share = (wrong + 1) / 152
    expected = np.sqrt(share * (1 - share) / 152)
    assert table["average_error_se"].to_numpy() == pytest.approx(expected.to_numpy())
    thrice = irtkit.ResponseMatrix.from_counts(
        3 * responses.values, np.full(responses.values.shape, 3), items=responses.items
    )  # the same answer every time tells no more than once
    again = difficulty_targets(thrice)["average_error_se"]
    assert again.to_numpy() == pytest.approx(expected.to_numpy(), rel=0.05)


def test_difficulties_that_run_off_are_cropped(responses: irtkit.ResponseMatrix) -> None:
    found = difficulty_targets(responses, crop=1.0)
    assert found["2PL"].abs().max() == 1
    assert found.loc[found["2PL"].abs() == 1, "2PL_se"].isna().all()


def test_items_without_a_response_have_no_target(responses: irtkit.ResponseMatrix) -> None:
    values = responses.values.copy()
    values[:, 3] = -1
    found = difficulty_targets(irtkit.ResponseMatrix(values)).iloc[3]
    assert found[["1PL", "Rasch", "2PL", "average_error", "expected_error"]].isna().all()


def test_a_result_without_responses_is_refused(
    responses: irtkit.ResponseMatrix, tmp_path: object
) -> None:
    path = f"{tmp_path}/result.npz"
    irtkit.fit(responses).save(path, include_responses=False)
    with pytest.raises(ValueError, match="without its responses"):
        difficulty_targets(irtkit.load(path))


def test_how_to_read_is_not_said_of_a_result(responses: irtkit.ResponseMatrix) -> None:
    with pytest.raises(TypeError, match="threshold= is for responses that are read"):
        difficulty_targets(irtkit.fit(responses, "1PL"), threshold=0.5)
