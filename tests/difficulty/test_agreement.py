"""Claims about Fleiss' kappa, with published examples as referees."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from irtkit.difficulty.agreement import fleiss_kappa

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

CATEGORIES = ["depression", "personality", "schizophrenia", "neurosis", "other"]
# Fleiss (1971), table 1: 30 patients diagnosed by 6 psychiatrists each
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
RATINGS = [np.repeat(np.arange(5), [*map(int, item)]) for item in DIAGNOSES.split()]


def test_kappa_agrees_with_fleiss_1971():
    result = fleiss_kappa(RATINGS)
    assert result.kappa == pytest.approx(0.430, abs=5e-4)
    assert (result.n_items, result.n_raters) == (30, 6)


def test_the_interval_agrees_with_the_r_package_irrcac():
    # fleiss.kappa.dist(distrib.6raters) in irrCAC's vignette: the first 15 patients
    result = fleiss_kappa(RATINGS[:15])
    assert result.kappa == pytest.approx(0.4139265, abs=5e-8)
    half = (result.kappa_high - result.kappa_low) / 2
    assert half / t.ppf(0.975, 14) == pytest.approx(0.08119291, abs=5e-9)
    assert (round(result.kappa_low, 3), round(result.kappa_high, 3)) == (0.240, 0.588)


def test_kappa_of_the_sst_ratings_is_the_published_one(shared_data):
    right = pd.read_csv(shared_data / "lalor2018_sst_human.csv.gz", index_col=0)
    truth = pd.read_csv(shared_data / "lalor2018_sst_human_items.csv", index_col=0)["gold"]
    ratings = right.T.eq(1).eq(truth[right.columns].eq(1), axis=0)  # what each worker answered
    result = fleiss_kappa(ratings)
    assert (result.n_items, result.n_raters) == (131, 999)
    assert round(result.kappa, 4) == 0.5198


def test_extreme_tables_have_what_is_defined():
    full = fleiss_kappa([["a", "a"], ["b", "b"], ["b", "b"]])
    assert (full.kappa, full.kappa_low, full.kappa_high) == (1, 1, 1)
    alike = fleiss_kappa([["yes", "yes"], ["yes", "yes"]])
    assert np.isnan([alike.kappa, alike.kappa_low]).all()
    alone = fleiss_kappa([["yes", "no", "no"]])
    assert alone.kappa == pytest.approx(-0.5)
    assert np.isnan([alone.kappa_low, alone.kappa_high]).all()


@pytest.mark.parametrize("nothing", [None, pd.NA, " "])
def test_a_missing_rating_is_an_error_that_names_the_item(nothing):
    frame = pd.DataFrame({"ann": ["1", 0], "bob": [1.0, nothing]}, index=["q1", "q2"])
    with pytest.raises(ValueError, match=r"ratings lacks a rating of item 'q2'"):
        fleiss_kappa(frame)
    omitted = fleiss_kappa(frame, missing="omit")
    assert (omitted.n_items, omitted.categories) == (1, ("1",))
    with pytest.raises(ValueError, match="ratings needs at least one item with two ratings"):
        fleiss_kappa(frame[["ann"]], missing="omit")


def test_without_statsmodels_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.stats", None)
    with pytest.raises(ImportError, match=r"irtkit\[curves\]"):
        fleiss_kappa(RATINGS)
