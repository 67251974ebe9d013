"""Claims about how ordered levels are read."""

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix, read_responses
from irtkit.responses.levels import level_items
from tests.commands import run


def points(given, **reading):
    found = read_responses(given, levels=True, **reading)
    return found.successes.tolist(), found.trials.tolist()


def test_levels_start_at_0_or_at_1_for_all_items():
    assert points([[0, 2], [3, 1]]) == ([[0, 2], [3, 1]], [[3, 3], [3, 3]])
    assert points([[1, 2], [3, 5]]) == ([[0, 1], [2, 4]], [[4, 4], [4, 4]])


def test_a_declared_range_has_levels_that_nobody_reached():
    assert points([[2, 3], [3, 2]], score_range=(1, 5)) == ([[1, 2], [2, 1]], [[4, 4], [4, 4]])
    assert points([[2, 3]], score_range=(5, 1)) == ([[3, 2]], [[4, 4]])
    by_item = {"item-1": (0, 4)}
    assert points([[2, 1], [3, 0]], score_range=by_item)[1] == [[4, 1], [4, 1]]


def test_missing_levels_have_no_points():
    assert points([[np.nan, 2], [1, 0]]) == ([[0, 2], [1, 0]], [[0, 2], [1, 2]])


def test_tables_of_any_form_have_the_same_levels(tmp_path):
    wide = pd.DataFrame({"model": ["a", "b"], "q1": [1, 4], "q2": [3, 2]})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    long = wide.melt("model", var_name="item", value_name="score")
    expected = points(tmp_path / "wide.csv")
    assert expected == ([[0, 2], [3, 1]], [[3, 3], [3, 3]])
    assert points(wide) == points(long, response="score") == expected


@pytest.mark.parametrize(("given", "reading", "words"), [
    ([[0, 1.5]], {}, "whole numbers.*item-2.*1.5"),
    ([[0, 11]], {}, "between 0 and 10"),
    ([[0, 10]], {}, "at most 10 levels.*item-2.*11"),
    ([[0, 6]], {"score_range": (1, 5)}, "between 1 and 5"),
    ([[0, 1]], {"threshold": 1}, "levels=True is for numbers"),
])  # fmt: skip
def test_what_is_no_level_is_refused(given, reading, words):
    with pytest.raises(ValueError, match=words):
        read_responses(given, levels=True, **reading)


def test_whole_numbers_without_a_model_are_refused_with_both_remedies():
    with pytest.raises(ValueError, match=r"score_range=.*levels=True"):
        irtkit.fit([[1, 2], [3, 4]])


def test_a_matrix_that_holds_no_levels_is_refused():
    unequal = ResponseMatrix.from_counts([[1, 2], [1, 1]], [[2, 3], [2, 2]])
    with pytest.raises(ValueError, match=r"the same for all.*item-2.*1 out of 2.*item_table"):
        level_items(unequal, "GPCM")
    synthetic = irtkit.add_synthetic(ResponseMatrix([[0, 1], [1, 1]]))
    with pytest.raises(ValueError, match="synthetic"):
        level_items(synthetic, "GPCM")
    with pytest.raises(ValueError, match="sparse"):
        level_items(ResponseMatrix([[0, 1], [1, 1]]).to_sparse(), "GPCM")


def test_the_command_line_fits_and_scores_levels(tmp_path):
    marks = np.random.default_rng(0).integers(1, 5, (30, 6))
    frame = pd.DataFrame(marks, [f"m{k}" for k in range(30)], [f"q{k}" for k in range(6)])
    frame.rename_axis("model").to_csv(tmp_path / "judge.csv")
    assert run("fit judge.csv --model GPCM --out out", tmp_path).returncode == 0
    assert "threshold_3" in (tmp_path / "out" / "items.csv").read_text()
    assert "m7" in run("score judge.csv out --levels", tmp_path).stdout


@pytest.mark.parametrize(("kind", "cell", "words"), [
    ("binary", 0.5, "kind \"binary\".*'m', item 'q' has 0.5 out of 1"),
    ("counts", 0.5, 'kind "counts".*0.5 out of 1.*item_table'),
    ("levels", 0.5, 'kind "levels".*0.5 out of 1'),
    ("rubric", 1, "kind in the item_table must be.*'q' it is 'rubric'"),
])  # fmt: skip
def test_cells_must_be_of_the_declared_kind(kind, cell, words):
    responses = ResponseMatrix([[cell, 1], [0, 0]], ["m", "n"], ["q", "r"])
    table = pd.DataFrame({"kind": [kind, "binary"]}, index=["q", "r"])
    with pytest.raises(ValueError, match=words):
        irtkit.fit(responses.with_tables(table), "GPCM")


def test_other_words_for_kinds_declare_nothing():
    responses = ResponseMatrix([[1, 0], [0, 1], [1, 1]], items=["q", "r"])
    table = pd.DataFrame({"kind": ["algebra", "geometry"]}, index=["q", "r"])
    assert irtkit.fit(responses.with_tables(table)).model == "2PL"


def test_scores_next_to_levels_stay_scores():
    found = read_responses([[0, 0.25, 1], [2, 0.5, 0]], levels=True)
    assert found.item_table is not None
    assert found.item_table["kind"].tolist() == ["levels", "fraction", "binary"]
    assert found.scores.tolist() == [[0, 0.25, 1], [1, 0.5, 0]]


def test_mixed_scales_in_one_item_are_refused():
    with pytest.raises(ValueError, match=r"item-1' has 0.5.*score_range="):
        read_responses([[3, 1], [0.5, 0]], levels=True)
    with pytest.raises(ValueError, match=r"item-1.*score_range="):
        irtkit.fit([[3, 1], [0.5, 0]])
    with pytest.raises(ValueError, match=r"item-1.*inf"):
        irtkit.fit([[np.inf, 1], [0.5, 0]])
