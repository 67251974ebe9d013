"""Scores between right and wrong, ordered levels, and ratings by judges."""

import json

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix, read_responses, write_responses
from irtkit.findings import ReadingError
from irtkit.io.merging import merge_responses
from irtkit.io.overview import overview
from irtkit.responses.cells import Cells
from irtkit.responses.levels import level_items

# Scores between right and wrong: reading, ranges, storage


SCORES = np.array([[0.25, 1.0, np.nan], [0.5, 0.0, 0.75], [1.0, 1.0, 0.125]])
LONG = pd.DataFrame(
    {"model": list("aabbbccc"), "item": list("xyxyzxyz"), "score": SCORES[~np.isnan(SCORES)]}
)
NAMES = {"respondents": [*"abc"], "items": [*"xyz"]}


def matrix():
    return ResponseMatrix(SCORES, **NAMES)


def test_scores_take_five_bytes_a_cell_and_are_kept_apart_from_marks():
    found = matrix()
    assert (found.has_scores, found.has_repeats, found.cells.n_bytes) == (True, False, 9 * 5)
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.scores, SCORES)
    assert found.trials.tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    np.testing.assert_array_equal(found.to_frame(), SCORES)
    assert "scores" in repr(found)
    with pytest.raises(ValueError, match=r"Use \.scores"):
        _ = found.values


def test_a_matrix_of_0_and_1_alone_holds_marks_whatever_it_is_read_from():
    plain = ResponseMatrix([[1, 0], [0, 1]])
    assert ResponseMatrix([[1.0, 0.0], [0.0, 1.0]]) == plain
    assert ResponseMatrix([[50, 0], [0, 50]], score_range=(0, 50)) == plain
    assert matrix().part(np.arange(3), [1]).values.tolist() == [[1], [0], [1]]
    assert Cells(np.array([[0.0, 1.0, -1.0]])).values.dtype == np.int8
    np.testing.assert_array_equal(plain.scores, [[1, 0], [0, 1]])
    counts = ResponseMatrix.from_counts([[1, 3]], [[4, 4]])
    np.testing.assert_array_equal(counts.scores, [[0.25, 0.75]])


@pytest.mark.parametrize("sparse", [False, True])
def test_long_and_wide_tables_have_the_same_scores(tmp_path, *, sparse):
    long = ResponseMatrix.from_long(LONG, sparse=sparse)
    assert (long.is_sparse, long == matrix()) == (sparse, True)
    assert long.to_dense() == matrix().to_sparse()
    for ending in (".csv", ".parquet"):
        write_responses(long, tmp_path / f"scores{ending}", format="long")
        assert read_responses(tmp_path / f"scores{ending}") == matrix()
    if not sparse:
        write_responses(long, tmp_path / "wide.csv", format="wide")
        assert read_responses(tmp_path / "wide.csv") == matrix()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("repeats", "successes", "trials"), [
    ("first", 0.5, 1), ("last", 0.25, 1), ("count", 0.75, 2), ("mean>=0.3", 1, 1),
])  # fmt: skip
def test_several_scores_of_a_cell_are_taken_as_trials_are(repeats, successes, trials, *, sparse):
    rows = pd.DataFrame(
        {"model": list("aab"), "item": list("xxx"), "score": np.array([0.5, 0.25, 0.125])}
    )
    with pytest.raises(ValueError, match="several rows"):
        ResponseMatrix.from_long(rows, sparse=sparse)
    found = ResponseMatrix.from_long(rows, repeats=repeats, sparse=sparse).to_dense()
    assert (found.successes[0, 0], found.trials[0, 0]) == (successes, trials)


def test_scores_survive_what_is_done_with_matrices():
    found = matrix()
    np.testing.assert_array_equal(found.T.scores, SCORES.T)
    np.testing.assert_array_equal(found.drop("a").scores, SCORES[1:])
    other = ResponseMatrix([[1, 0, 1]], ["d"], [*"xyz"])
    both = merge_responses([found, other])
    np.testing.assert_array_equal(both.scores, np.vstack([SCORES, [1, 0, 1]]))
    assert merge_responses([found.part([0]), found.part([1, 2])]) == found
    crowd = irtkit.add_synthetic(found, ("always-right",))
    np.testing.assert_array_equal(crowd.scores[-1], np.ones(3))
    mixed = Cells(np.array([[2.5, 0.0]]), np.array([[4, 3]], np.uint8))
    assert mixed.rows()[2].tolist() == [0.625] * 4 + [0] * 3


@pytest.mark.parametrize(("values", "how", "want"), [
    ([[50, 20], [30, np.nan]], {"score_range": (0, 100)}, [[0.5, 0.2], [0.3, np.nan]]),
    ([[50, 20], [30, 0]], {"score_range": (100, 0)}, [[0.5, 0.8], [0.7, 1.0]]),
    ([[50, 0.2], [30, 1]], {"score_range": {"x": (0, 100)}}, [[0.5, 0.2], [0.3, 1.0]]),
    ([[-1, 2], [1, 2]], {"score_range": (-2, 2)}, [[0.25, 1.0], [0.75, 1.0]]),
    ([["25 %", "0,5"], ["NA", "1"]], {}, [[0.25, 0.5], [np.nan, 1.0]]),
])  # fmt: skip
def test_ranges_are_declared_for_all_items_or_by_item(values, how, want):
    found = ResponseMatrix(values, items=["x", "y"], **how)
    np.testing.assert_allclose(found.scores, want, rtol=1e-6)
    frame = pd.DataFrame(values, ["a", "b"], ["x", "y"])
    np.testing.assert_allclose(ResponseMatrix.from_frame(frame, **how).scores, want, rtol=1e-6)
    sideways = frame.T.rename_axis("item").reset_index()
    turned = ResponseMatrix.from_frame(sideways, transpose=True, **how)
    np.testing.assert_allclose(turned.scores, want, rtol=1e-6)
    long = frame.rename_axis("model").reset_index().melt("model", None, "item", "score")
    np.testing.assert_allclose(ResponseMatrix.from_long(long, **how).scores, want, rtol=1e-6)


@pytest.mark.parametrize(("values", "how", "message"), [
    ([[0.5, 40], [0.3, 60]], {},
     r"system 'a', item 'y' has 40.*score_range=\{'y': \(0, 100\)\}"),
    ([[0.5, 0.2], [0.3, -0.1]], {},
     r"system 'b', item 'y' has -0.1.*score_range=\{'y': \(-1, 1\)\}"),
    ([[0.5, np.inf], [0.3, 0.1]], {}, "system 'a', item 'y' has inf.*score_range="),
    ([[50, 20], [130, 7]], {"score_range": (0, 100)},
     "between 0 and 100: system 'b', item 'x' has 130.*score_range="),
    ([[50, 2], [30, 1]], {"score_range": {"x": (0, 100)}},
     "between 0 and 1: system 'a', item 'y' has 2"),
    ([[1, 0], [1, 0]], {"score_range": {"z": (0, 9)}}, "score_range names 'z'"),
])  # fmt: skip
def test_a_score_outside_its_range_is_refused_by_name(values, how, message):
    for make in (
        lambda: ResponseMatrix(values, ["a", "b"], ["x", "y"], **how),
        lambda: ResponseMatrix.from_frame(pd.DataFrame(values, ["a", "b"], ["x", "y"]), **how),
    ):
        with pytest.raises(ValueError, match=message):
            make()


# Ratings: long tables and logs in which several judges mark the answers


RATINGS = pd.DataFrame(
    {
        "model": [*"aabba"],
        "item": ["q1", "q1", "q1", "q2", "q2"],
        "judge": ["j1", "j2", "j1", "j2", "j1"],
        "score": [3, 4, 5, 1, 2],
        "lab": [*"XXYYX"],
    }
)
RANGE = {"score_range": (1, 5)}


@pytest.mark.parametrize("form", ["frame", "file", "sparse"])
def test_an_item_is_read_as_each_judge_marks_it(form, tmp_path):
    RATINGS.to_csv(tmp_path / "ratings.csv", index=False)
    ratings = tmp_path / "ratings.csv" if form == "file" else RATINGS
    sparse = form == "sparse"
    read = irtkit.read_responses(ratings, judge="*", family="lab", sparse=sparse, **RANGE)
    assert read.items == ("q1/j1", "q1/j2", "q2/j2", "q2/j1")
    assert read.item_table is not None
    assert read.respondent_table is not None
    assert read.item_table["judge"].tolist() == ["j1", "j2", "j2", "j1"]
    assert read.item_table["judged_item"].tolist() == ["q1", "q1", "q2", "q2"]
    assert read.respondent_table["lab"].tolist() == ["X", "Y"]
    assert read.to_dense().scores[0, :2].tolist() == [0.5, 0.75]


def test_a_column_of_judges_must_be_named_or_left_out():
    with pytest.raises(ReadingError, match=r"by irtkit\.judges\(FILE\)$") as caught:
        irtkit.read_responses(RATINGS, **RANGE)
    assert caught.value.finding.code == "judge-column"
    one = RATINGS[RATINGS["judge"] == "j1"]
    assert irtkit.read_responses(one, **RANGE).n_items == 2
    kept = irtkit.read_responses(RATINGS, ignore="judge", repeats="first", **RANGE)
    assert kept.n_items == 2


def test_a_system_has_one_family_and_a_judge_marks_an_answer_once():
    how = {"judge": "judge", **RANGE}
    with pytest.raises(ReadingError) as caught:
        irtkit.read_responses(RATINGS.assign(lab=[*"XYYYX"]), family="lab", **how)
    assert caught.value.finding.code == "two-values"
    with pytest.raises(ReadingError) as caught:
        irtkit.read_responses(pd.concat([RATINGS, RATINGS[:1]]), **how)
    values = caught.value.finding.values
    assert (values["item"], values["judge"]) == ("q1", "j1")


def test_a_table_may_have_a_column_of_marks_per_judge():
    once = RATINGS.iloc[[0, 1, 3]]
    columns = {"index": ["model", "item"], "columns": "judge", "values": "score"}
    wide = once.pivot_table(**columns).reset_index()
    read = irtkit.read_responses(wide, judge=["j1", "j2"], **RANGE)
    long = irtkit.read_responses(once, judge="judge", **RANGE)
    assert read.to_frame()[long.to_frame().columns].equals(long.to_frame())
    with pytest.raises(ReadingError) as caught:
        irtkit.judges(wide)
    assert caught.value.finding.remedies[-1].settings == {"judge": ["j1", "j2"]}


def log_of(folder, system, marks):
    """A log of Inspect with a mark by each scorer."""
    n = len(next(iter(marks.values())))
    samples = [
        {
            "id": f"q{k}",
            "epoch": 1,
            "input": f"text {k}",
            "target": "x",
            "scores": {judge: {"value": values[k]} for judge, values in marks.items()},
        }
        for k in range(n)
    ]
    run = {"model": system, "task": "essay", "task_id": system, "created": "2026-01-01T00:00:00"}
    log = {"version": 2, "status": "success", "eval": run, "samples": samples}
    (folder / f"{system}.json").write_text(json.dumps(log))


def test_scorers_of_logs_are_judges(tmp_path):
    log_of(tmp_path, "a", {"grader_x": [1.0, 0.5], "grader_y": [0.5, 0.0]})
    log_of(tmp_path, "b", {"grader_x": [0.5, 0.5], "grader_z": [1.0, 0.0]})
    log_of(tmp_path, "c", {"grader_x": [0.0, 0.5], "grader_y": [1.0, 0.0]})
    read = irtkit.read_responses(tmp_path, judge="*")
    assert read.item_table is not None
    assert set(read.item_table["judge"]) == {"grader_x", "grader_y", "grader_z"}
    assert read.to_frame().loc["b", "essay/q0/grader_z"] == 1
    assert read.item_table["judged_item"].nunique() == 2
    two = irtkit.read_responses(tmp_path, judge="*", metric=["grader_x", "grader_y"])
    assert two.n_items == 4
    (tmp_path / "b.json").unlink()
    with pytest.raises(ReadingError, match=r"by irtkit\.judges\(FILE\)"):
        irtkit.read_responses(tmp_path)
    seen = overview(tmp_path)
    assert seen.matrix is None
    assert f"irtkit judges {tmp_path}" in str(seen)


# Claims about how ordered levels are read
def points(given, **reading):
    found = read_responses(given, levels=True, **reading)
    return found.successes.tolist(), found.trials.tolist()


@pytest.mark.parametrize(("given", "reading", "right", "tried"), [
    ([[0, 2], [3, 1]], {}, [[0, 2], [3, 1]], [[3, 3], [3, 3]]),
    ([[1, 2], [3, 5]], {}, [[0, 1], [2, 4]], [[4, 4], [4, 4]]),
    ([[2, 3], [3, 2]], {"score_range": (1, 5)}, [[1, 2], [2, 1]], [[4, 4], [4, 4]]),
    ([[2, 3]], {"score_range": (5, 1)}, [[3, 2]], [[4, 4]]),
    ([[2, 1], [3, 0]], {"score_range": {"item-1": (0, 4)}}, [[2, 1], [3, 0]], [[4, 1], [4, 1]]),
    ([[np.nan, 2], [1, 0]], {}, [[0, 2], [1, 0]], [[0, 2], [1, 2]]),
])  # fmt: skip
def test_levels_start_at_0_or_at_1_and_reach_what_is_declared(given, reading, right, tried):
    assert points(given, **reading) == (right, tried)


def test_tables_of_any_form_have_the_same_levels(tmp_path):
    wide = pd.DataFrame({"model": ["a", "b"], "q1": [1, 4], "q2": [3, 2]})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    long = wide.melt("model", var_name="item", value_name="score")
    expected = points(tmp_path / "wide.csv")
    assert expected == ([[0, 2], [3, 1]], [[3, 3], [3, 3]])
    assert points(wide) == points(long, response="score") == expected
    with pytest.raises(ValueError, match="levels or answers"):  # means of rows are no levels
        irtkit.fit(pd.concat([long, long]), repeats="mean>=0.5")


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


def test_a_matrix_that_holds_no_levels_is_refused():
    unequal = ResponseMatrix.from_counts([[1, 2], [1, 1]], [[2, 3], [2, 2]])
    with pytest.raises(ValueError, match=r"the same for all.*item-2.*1 out of 2.*item_table"):
        level_items(unequal, "GPCM")
    synthetic = irtkit.add_synthetic(ResponseMatrix([[0, 1], [1, 1]]))
    with pytest.raises(ValueError, match="synthetic"):
        level_items(synthetic, "GPCM")
    with pytest.raises(ValueError, match="sparse"):
        level_items(ResponseMatrix([[0, 1], [1, 1]]).to_sparse(), "GPCM")


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
