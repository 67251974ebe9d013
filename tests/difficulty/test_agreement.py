"""Claims about Fleiss' kappa, with published examples and simulation as referees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit.difficulty.agreement import FleissKappa, fleiss_kappa

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

CATEGORIES = ["depression", "personality", "schizophrenia", "neurosis", "other"]
# Fleiss (1971), table 1: 30 patients diagnosed by 6 psychiatrists each
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FLEISS = [[int(count) for count in item] for item in DIAGNOSES.split()]
# Krippendorff (2011), also cac.raw4raters of R's irrCAC: a rating missing here and there, and
# one item rated once
UNEVEN = """11-1 2232 3333 3333 2222 1234 4444 1121 2222 -555 --11 --3-"""
RATINGS = [[None if mark == "-" else int(mark) for mark in item] for item in UNEVEN.split()]


def of_counts(counts: Any) -> FleissKappa:
    """Kappa of ratings with these numbers of each category."""
    rows = [np.repeat(np.arange(len(row)), row).tolist() for row in counts]
    width = max(map(len, rows))
    return fleiss_kappa([row + [None] * (width - len(row)) for row in rows], missing="omit")


def test_kappa_agrees_with_fleiss_1971() -> None:
    result = of_counts(FLEISS)
    assert result.kappa == pytest.approx(0.430, abs=5e-4)
    assert result.observed_agreement == pytest.approx(0.556, abs=5e-4)
    assert result.expected_agreement == pytest.approx(0.220, abs=5e-4)
    assert (result.n_items, result.n_raters, result.n_ratings) == (30, 6, 180)


def test_standard_errors_agree_with_the_r_package_irr() -> None:
    # kappam.fleiss(diagnoses, detail = TRUE), digits as printed by its port pyirr
    result = of_counts(FLEISS)
    table = result.by_category
    assert result.kappa / result.standard_error == pytest.approx(17.652, abs=5e-4)
    np.testing.assert_allclose(table["kappa"], [0.245, 0.245, 0.520, 0.471, 0.566], atol=5e-4)
    z = table["kappa"] / table["standard_error"]
    np.testing.assert_allclose(z, [5.192, 5.192, 11.031, 9.994, 12.009], atol=5e-4)


def test_the_interval_agrees_with_the_r_package_irrcac() -> None:
    # fleiss.kappa.dist(distrib.6raters) in irrCAC's vignette: the first 15 patients
    result = of_counts(FLEISS[:15])
    assert result.kappa == pytest.approx(0.4139265, abs=5e-8)
    assert result.interval_standard_error == pytest.approx(0.08119291, abs=5e-9)
    assert (round(result.kappa_low, 3), round(result.kappa_high, 3)) == (0.240, 0.588)


def test_unequal_numbers_of_ratings_agree_with_the_r_package_irrcac() -> None:
    result = fleiss_kappa(RATINGS, missing="omit")  # fleiss.kappa.raw(cac.raw4raters)
    assert result.observed_agreement == pytest.approx(0.8181818, abs=5e-8)
    assert result.expected_agreement == pytest.approx(0.2387153, abs=5e-8)
    assert result.kappa == pytest.approx(0.76117, abs=5e-6)
    assert result.interval_standard_error == pytest.approx(0.15302, abs=5e-6)
    assert (round(result.kappa_low, 3), result.kappa_high) == (0.424, 1)
    assert (result.n_items, result.n_raters, result.n_ratings) == (12, 4, 41)


def test_kappa_of_the_sst_ratings_is_the_published_one(shared_data: Path) -> None:
    right = pd.read_csv(shared_data / "lalor2018_sst_human.csv.gz", index_col=0)
    truth = pd.read_csv(shared_data / "lalor2018_sst_human_items.csv", index_col=0)["gold"]
    ratings = right.T.eq(1).eq(truth[right.columns].eq(1), axis=0)  # what each worker answered
    result = fleiss_kappa(ratings)
    assert (result.n_items, result.n_raters) == (131, 999)
    assert round(result.kappa, 4) == 0.5198


def test_the_standard_error_is_the_spread_of_kappa_by_chance() -> None:
    # the standard deviation of 500 draws is known to 3.2 %; the formula is for many items
    generator = np.random.default_rng(0)
    n_ratings = np.repeat([1, 2, 5], [40, 30, 30])
    draws = [generator.multinomial(n_ratings, [0.6, 0.3, 0.1]) for _ in range(500)]
    found = [of_counts(counts) for counts in draws]
    errors = [one.standard_error for one in found[:20]]
    assert np.mean(errors) == pytest.approx(np.std([one.kappa for one in found]), rel=0.1)


def test_extreme_tables_have_what_is_defined() -> None:
    full = fleiss_kappa([["a", "a"], ["b", "b"], ["b", "b"]])
    assert (full.kappa, full.kappa_low, full.kappa_high) == (1, 1, 1)
    alike = fleiss_kappa([["yes", "yes"], ["yes", "yes"]])
    assert np.isnan([alike.kappa, alike.standard_error, alike.kappa_low]).all()
    alone = fleiss_kappa([["yes", "no", "no"]])
    assert alone.kappa == pytest.approx(-0.5)
    assert np.isnan([alone.kappa_low, alone.kappa_high]).all()


@pytest.mark.parametrize("nothing", [None, pd.NA, " "])
def test_a_missing_rating_is_an_error_that_names_item_and_rater(nothing: Any) -> None:
    frame = pd.DataFrame({"ann": ["1", 0], "bob": [1.0, nothing]}, index=["q1", "q2"])
    with pytest.raises(ValueError, match=r"ratings lacks the rating of item 'q2' by rater 'bob'"):
        fleiss_kappa(frame)
    omitted = fleiss_kappa(frame, missing="omit")
    assert (omitted.n_ratings, omitted.categories) == (3, ("0", "1"))
    with pytest.raises(ValueError, match="ratings needs at least one item with two ratings"):
        fleiss_kappa(frame[["ann"]])
