"""The response matrix: what is right, wrong and missing, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from irtkit.io import read_responses
from irtkit.responses import ResponseMatrix
from irtkit.responses.codes import MISSING
from irtkit.simulation import add_synthetic

RIGHT_WRONG_MISSING = [[1, 0], [MISSING, 1]]
SUCCESSES, TRIALS = [[2, 0], [0, 3]], [[3, 1], [0, 4]]


@pytest.mark.parametrize(
    "values",
    [
        np.array(RIGHT_WRONG_MISSING),
        np.array([[1.0, 0.0], [np.nan, 1.0]]),
        [[1, 0], [None, 1]],
        [[True, False], [None, True]],
        [["1", "0"], ["", "1.0"]],
        [["TRUE", "false"], ["NA", " 1 "]],
        np.ma.array([[1, 0], [0, 1]], mask=[[0, 0], [1, 0]]),
        np.ma.array([["1", "0"], ["0", "1"]], mask=[[0, 0], [1, 0]]),
        [np.ma.array([1, 0]), np.ma.array([0, 1], mask=[1, 0])],
    ],
)
def test_every_way_to_write_responses_gives_the_same_matrix(values: Any) -> None:
    responses = ResponseMatrix(values)
    assert responses.values.tolist() == RIGHT_WRONG_MISSING
    assert responses.values.dtype == np.int8


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "object", "string", "str", "category", "float32"]
)
def test_a_wide_frame_of_any_type_gives_the_same_matrix(dtype: str) -> None:
    words = dtype in {"string", "str", "category"}
    frame = pd.DataFrame([["1", "0"], [None, "1"]] if words else [[1, 0], [None, 1]])
    assert ResponseMatrix.from_frame(frame.astype(dtype)).values.tolist() == RIGHT_WRONG_MISSING


def test_masked_counts_are_missing() -> None:
    trials = np.ma.array(TRIALS, mask=[[0, 1], [1, 0]])
    successes = np.ma.array(SUCCESSES, mask=[[0, 0], [1, 0]])
    assert ResponseMatrix.from_counts(successes, trials).trials.tolist() == [[3, 0], [0, 4]]


def test_booleans_beside_text_in_a_list_stay_what_they_are() -> None:
    given: Any = [[True, True, True], [np.int8(1), False, "1"]]
    assert ResponseMatrix(given).values.tolist() == [[1, 1, 1], [1, 0, 1]]


def test_masked_successes_alone_are_missing() -> None:
    successes = np.ma.array(SUCCESSES, mask=[[0, 1], [1, 0]])
    assert ResponseMatrix.from_counts(successes, TRIALS).trials.tolist() == [
        [TRIALS[0][0], 0],
        [0, TRIALS[1][1]],
    ]


def test_columns_of_different_types_share_a_wide_frame() -> None:
    frame = pd.DataFrame({"a": [True, None], "b": [0, 1], "c": ["1", ""]}, index=["x", "y"])
    responses = ResponseMatrix.from_frame(frame)
    assert responses.values.tolist() == [[1, 0, 1], [-1, 1, -1]]
    assert responses.items == ("a", "b", "c")


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_a_long_table_agrees_with_the_wide_one_in_any_order_of_rows(order: list[int]) -> None:
    frame = pd.DataFrame({"respondent": list("xxy"), "item": list("aba"), "response": [1, 0, 1]})
    responses = ResponseMatrix.from_long(frame.iloc[order]).to_frame()
    assert responses.loc["x"].to_dict() == {"a": 1, "b": 0}
    assert responses.loc["y", "a"] == 1
    assert responses.loc["y", "b"] is pd.NA


def test_the_frame_of_a_matrix_gives_the_matrix_back() -> None:
    responses = ResponseMatrix(RIGHT_WRONG_MISSING, ["x", "y"], ["a", "b"])
    assert ResponseMatrix.from_frame(responses.to_frame()) == responses


def test_a_score_at_the_threshold_is_right() -> None:
    responses = ResponseMatrix([[0.5, 0.49], [np.nan, -1]], threshold=0.5)
    assert responses.values.tolist() == [[1, 0], [-1, 0]]


@pytest.mark.parametrize("threshold", [np.nan, np.inf])
def test_a_threshold_that_is_no_number_is_refused(threshold: float | None) -> None:
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        ResponseMatrix([[0.5]], threshold=threshold)


@pytest.mark.parametrize("bad", [2, 0.5, -1.0, np.inf, "yes", [1]])
def test_a_wrong_value_is_named_with_its_place_and_the_number_of_others(bad: Any) -> None:
    frame = pd.DataFrame({"a": [1, bad], "b": [1, bad]}, index=["x", "y"], dtype=object)
    with pytest.raises(ValueError, match=r"respondent 'y', item 'a' has .*1 more such cell"):
        ResponseMatrix.from_frame(frame)


def test_a_fraction_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match="threshold="):
        ResponseMatrix([[0.5, 1]])


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"has 'word .*\.\.\..* word") as caught:
        ResponseMatrix([["word " * 1000]])
    assert len(str(caught.value)) < 400


def test_minus_one_in_a_table_from_outside_is_a_wrong_value() -> None:
    with pytest.raises(ValueError, match="item 'a' has -1"):
        ResponseMatrix.from_frame(pd.DataFrame({"a": [1, -1]}, ["x", "y"]))
    frame = pd.DataFrame({"respondent": ["x"], "item": ["a"], "response": [-1]})
    with pytest.raises(ValueError, match="item 'a' has -1"):
        ResponseMatrix.from_long(frame)


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, pd.NaT, "", " "])
def test_a_missing_label_is_refused(label: Any) -> None:
    with pytest.raises(ValueError, match="respondent 2 has no label"):
        ResponseMatrix([[1], [0]], respondents=["x", label])


@pytest.mark.parametrize("label", ["NA", "nan", "None", "<NA>", "true", "007", "1e5", " x "])
def test_a_label_that_is_text_is_kept_as_written(label: Any) -> None:
    assert ResponseMatrix([[1]], [label], [label]).respondents == (label,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1, 0]}, "2 dimensions"),
        ({"values": [[1, 0], [1]]}, "rows differ in length"),
        ({"values": np.empty((0, 3))}, "empty"),
        ({"values": [[None, None]]}, "every cell is missing"),
        ({"values": [[1]], "items": ["a", "b"]}, "items must hold 1 labels"),
        ({"values": [[1, 1, 1]], "items": ["a", "a", 1]}, "'a' occurs twice"),
        ({"values": [[1]], "synthetic": [0]}, "1 booleans"),
    ],
)
def test_a_table_that_is_no_matrix_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix(**arguments)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            {"respondent": ["x", "y", "y"], "item": ["b", "a", "a"], "response": [1, 1, 1]},
            "'y', item 'a' occurs twice; repeats=\"count\"",
        ),
        (
            {"respondent": ["x", None], "item": ["a", "b"], "response": [1, 1]},
            "row 2 of the table$",
        ),
        ({"respondent": [], "item": [], "response": []}, "long table is empty"),
        ({"respondent": ["x"], "item": ["a"], "mark": [1]}, "recognised as the response: pass"),
        ({"respondent": ["x"], "item": ["a"], "response": ["yes"]}, "item 'a' has 'yes'"),
        ({"respondent": ["x"], "item": ["a"], "response": [None]}, "every cell is missing"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_long_table_with_a_fault_is_refused(
    frame: pd.DataFrame, message: str, sparse: bool
) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_long(pd.DataFrame(frame), sparse=sparse)


def test_the_arrays_of_a_matrix_cannot_be_changed_and_are_its_own() -> None:
    given = np.array([[1, 0]], dtype=np.int8)
    responses = ResponseMatrix(given)
    given[0, 0] = 0
    assert responses.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        responses.values[0, 0] = 0


def test_equality_needs_the_same_labels_cells_and_marks() -> None:
    responses = ResponseMatrix([[1, 0]], ["x"], ["a", "b"])
    assert responses == ResponseMatrix([[1, 0]], ["x"], ["a", "b"])
    assert responses != ResponseMatrix([[1, 0]], ["y"], ["a", "b"])
    assert responses != ResponseMatrix([[1, 1]], ["x"], ["a", "b"])
    assert responses != ResponseMatrix([[1, 0]], ["x"], ["a", "b"], synthetic=[True])


# Repeated trials


@pytest.fixture
def counted() -> ResponseMatrix:
    return ResponseMatrix.from_counts(SUCCESSES, TRIALS, ["x", "y"], ["a", "b"])


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.float32, object])
def test_whole_numbers_of_any_type_give_the_same_counts(
    counted: ResponseMatrix, kind: type
) -> None:
    tables = (pd.DataFrame(table, ["x", "y"], ["a", "b"], kind) for table in (SUCCESSES, TRIALS))
    responses = ResponseMatrix.from_counts(*tables)
    assert responses == counted
    assert responses.successes.tolist() == SUCCESSES
    assert responses.trials.tolist() == TRIALS


@pytest.mark.parametrize("dtype", ["float64", "Int64", "object"])
@pytest.mark.parametrize(("right", "tried"), [(None, None), (0, None), (None, 0), (0, 0)])
def test_a_cell_without_trials_is_missing(dtype: str, right: float, tried: float) -> None:
    successes = pd.DataFrame([[1, right]], dtype=dtype)
    responses = ResponseMatrix.from_counts(successes, pd.DataFrame([[2, tried]], dtype=dtype))
    assert (responses.successes.tolist(), responses.trials.tolist()) == ([[1, 0]], [[2, 0]])
    assert responses.n_missing == 1


@pytest.mark.parametrize(
    "values", [[[1, 0], [MISSING, 1]], [[True, False]], [[1.0, np.nan]], [[0]]]
)
def test_counts_of_single_trials_are_the_plain_matrix(values: Any) -> None:
    plain = ResponseMatrix(values, synthetic=[True] + [False] * (len(values) - 1))
    responses = ResponseMatrix.from_counts(
        plain.successes, plain.trials, plain.respondents, plain.items, synthetic=plain.synthetic
    )
    assert responses == plain
    assert np.array_equal(responses.values, plain.values)
    assert responses.values.dtype == np.int8
    assert not responses.has_repeats
    assert repr(responses) == repr(plain)
    assert pickle.dumps(responses) == pickle.dumps(plain)


def test_a_plain_matrix_has_a_success_where_right_and_a_trial_where_observed() -> None:
    responses = ResponseMatrix(RIGHT_WRONG_MISSING)
    assert responses.successes.tolist() == [[1, 0], [0, 1]]
    assert responses.trials.tolist() == [[1, 1], [0, 1]]
    assert np.issubdtype(responses.trials.dtype, np.integer)


def test_repeated_trials_have_no_single_value(counted: ResponseMatrix) -> None:
    assert counted.has_repeats
    for reach in (lambda: counted.values, counted.to_frame):
        with pytest.raises(
            ValueError, match=r"holds repeated trials; use \.successes and \.trials"
        ):
            reach()


def test_the_counts_of_a_matrix_cannot_be_changed_and_are_its_own(counted: ResponseMatrix) -> None:
    successes, trials = np.array(SUCCESSES, np.uint8), np.array(TRIALS, np.uint8)
    responses = ResponseMatrix.from_counts(successes, trials, ["x", "y"], ["a", "b"])
    successes[:], trials[:] = 0, 1
    assert responses == counted
    for table in (responses.successes, responses.trials, ResponseMatrix([[1]]).trials):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 1


def test_the_size_and_mean_number_of_trials_are_shown(counted: ResponseMatrix) -> None:
    shown = "ResponseMatrix(2 respondents × 2 items, 25.0% missing, 2.7 trials a cell on average)"
    assert repr(counted) == shown
    whole = ResponseMatrix.from_counts([[1, 2, 0]], [[3, 3, 3]], synthetic=[True])
    assert "(1 respondent (1 synthetic) × 3 items, 3 trials a cell on average)" in repr(whole)


def test_equality_of_repeated_trials_needs_the_same_counts(counted: ResponseMatrix) -> None:
    names = (["x", "y"], ["a", "b"])
    assert counted == copy.deepcopy(counted)
    assert counted != ResponseMatrix.from_counts([[1, 0], [0, 3]], TRIALS, *names)
    assert counted != ResponseMatrix.from_counts(SUCCESSES, [[2, 1], [0, 4]], *names)
    assert counted != ResponseMatrix.from_counts(SUCCESSES, TRIALS, *names, synthetic=[True, False])
    assert counted != ResponseMatrix([[1, 0], [-1, 1]], *names)


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        ([[1, 0]], [[2], [2]], r"the same shape, got \(1, 2\) and \(2, 1\)"),
        ([1], [[2]], "successes must be a table .*2 dimensions"),
        ([[1]], [[2, 1], [2]], "trials must be a rectangular table"),
        ([[0, 0]], [[0, np.nan]], "trials holds no response: every cell is missing"),
        (
            pd.DataFrame([[1]], ["x"]),
            pd.DataFrame([[2]], ["y"]),
            "same respondents in the same order: respondent 1 is 'x' in successes and 'y' in tri",
        ),
        (
            pd.DataFrame([[1, 1]], columns=["a", "b"]),
            pd.DataFrame([[2, 2]], columns=["a", "c"]),
            "same items in the same order: item 2 is 'b' in successes and 'c' in trials",
        ),
    ],
)
def test_tables_that_are_no_counts_are_refused(successes: Any, trials: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_counts(successes, trials)


def test_labels_of_counts_are_those_given_or_those_of_the_frames() -> None:
    frame = pd.DataFrame([[2]], ["x"], ["a"])
    assert ResponseMatrix.from_counts(frame, [[3]]).items == ("a",)
    named = ResponseMatrix.from_counts(frame, frame, ["gpt"])
    assert (named.respondents, named.items) == (("gpt",), ("a",))


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])
def test_repeated_rows_of_a_long_table_are_counted(order: list[int]) -> None:
    frame = pd.DataFrame(
        {"respondent": list("xxxyy"), "item": list("aaabb"), "response": [1, None, 0, 1, 1]}
    )
    responses = ResponseMatrix.from_long(frame.iloc[order], repeats="count")
    cell = responses.respondents.index("x"), responses.items.index("a")
    other = responses.respondents.index("y"), responses.items.index("b")
    assert (responses.successes[cell], responses.trials[cell]) == (1, 2)
    assert (responses.successes[other], responses.trials[other]) == (2, 2)
    assert responses.n_missing == 2


def test_a_long_table_without_repeats_is_the_same_either_way() -> None:
    frame = pd.DataFrame({"respondent": list("xxy"), "item": list("aba"), "response": [1, 0, None]})
    counted, plain = (ResponseMatrix.from_long(frame, repeats=r) for r in ("count", "error"))
    assert counted == plain
    assert counted.values.tolist() == plain.values.tolist() == [[1, 0], [-1, -1]]


def test_an_unknown_way_to_take_repeats_is_refused() -> None:
    frame = pd.DataFrame({"respondent": ["x"], "item": ["a"], "response": [1]})
    with pytest.raises(
        ValueError,
        match=r"repeats must be one of error, count, first, last and mean>=0.5 .*; got 'sum'",
    ):
        ResponseMatrix.from_long(frame, repeats="sum")
    with pytest.raises(ValueError, match="item 'a' has 'yes'"):
        ResponseMatrix.from_long(frame.assign(response="yes"), repeats="count")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_rows_and_columns_are_exchanged(n: int, *, sparse: bool) -> None:
    successes, trials = np.array([[n, 0, 0], [0, 1, 0]]), np.array([[n, 1, 0], [0, 1, 1]])
    names = ["x", "y"], ["a", "b", "c"]
    responses = ResponseMatrix.from_counts(successes, trials, *names)
    turned = ResponseMatrix.from_counts(successes.T, trials.T, *reversed(names))
    given = responses.to_sparse() if sparse else responses
    assert turned == given.T
    assert given.T.is_sparse is sparse
    assert responses == given.T.T


def test_synthetic_respondents_are_not_made_items() -> None:
    with pytest.raises(ValueError, match="transpose before adding them"):
        _ = ResponseMatrix([[1]], synthetic=[True]).T


def test_words_count_in_an_array() -> None:
    words = [["C", "I", None], ["P", "C", ""]]
    assert ResponseMatrix(words, right="C", wrong=["I", "P"]).values.tolist() == [
        [1, 0, -1],
        [0, 1, -1],
    ]
    assert ResponseMatrix([[2, 1, -1]], right=2).values.tolist() == [[1, 0, -1]]
    with pytest.raises(ValueError, match=r"must be named by right= or wrong=.*name 'P' in right="):
        ResponseMatrix(words, right="C", wrong="I")


def test_a_column_that_nobody_answered_is_no_label() -> None:
    frame = pd.DataFrame({"a": [None, None], "b": [1, 0]})
    assert ResponseMatrix.from_frame(frame).values.tolist() == [[-1, 1], [-1, 0]]


def test_tables_go_where_the_matrix_goes() -> None:
    texts = pd.DataFrame({"text": ["1?", "2?"]}, index=["q2", "q1"])
    sizes = pd.DataFrame({"size": [7.0]}, index=["gpt"])
    responses = ResponseMatrix([[1, 0]], ["gpt"], ["q1", "q2"]).with_tables(texts, sizes)
    assert responses.item_table["text"].tolist() == ["2?", "1?"]
    crowd = add_synthetic(responses, ("always-right",))
    assert responses.T.T.item_table.equals(responses.item_table)
    for one in (responses.to_sparse(), responses.to_sparse().to_dense(), crowd):
        assert one.item_table.equals(responses.item_table)
        assert one.respondent_table["size"].tolist()[:1] == [7.0]
    assert crowd.respondent_table["size"].isna().tolist() == [False, True]
    assert responses == ResponseMatrix([[1, 0]], ["gpt"], ["q1", "q2"])
    with pytest.raises(ValueError, match="item_table must have one row per item: 'q1' occurs"):
        responses.with_tables(pd.concat([texts, texts.iloc[[1]]]))


def test_respondents_are_dropped_with_what_is_known_of_them() -> None:
    sizes = pd.DataFrame({"size": [7.0, 70.0, 1.0]}, index=["a", "b", "c"])
    plain = ResponseMatrix([[1, 0], [0, -1], [1, 1]], ["a", "b", "c"])
    counts = ResponseMatrix.from_counts([[2, 0], [0, 1], [1, 3]], np.full((3, 2), 3), ["a", "b", 3])
    for one in (plain, plain.to_sparse()):
        fewer = one.with_tables(respondent_table=sizes).drop(["b"])
        assert fewer == ResponseMatrix([[1, 0], [1, 1]], ["a", "c"])
        assert fewer.is_sparse == one.is_sparse
        assert fewer.respondent_table["size"].tolist() == [7.0, 1.0]
    for one in (counts, counts.to_sparse()):
        assert one.drop([3, "a"]).observed.successes.toarray().tolist() == [[0, 1]]
    marked = ResponseMatrix([[1, 0], [0, 1]], synthetic=[False, True])
    assert marked.drop("respondent-1").synthetic.tolist() == [True]
    assert plain.drop([]) == plain
    with pytest.raises(ValueError, match="drop names 'd', which is not a respondent"):
        plain.drop(["a", "d"])
    with pytest.raises(ValueError, match="drop names all respondents"):
        plain.drop(plain.respondents)


def test_metrics_go_where_the_matrix_goes() -> None:
    rows = [("gpt", "q1", "time", 1.5), ("gpt", "q9", "cost", 2.0), ("gpt", 2, "time", 3.0)]
    metrics = pd.DataFrame(rows, columns=["respondent", "item", "metric", "value"])
    responses = ResponseMatrix([[1, 0]], ["gpt"], ["q1", 2]).with_tables(metrics=metrics)
    kept = responses.metrics
    assert kept.astype(object).to_numpy().tolist() == [
        ["gpt", "q1", "time", 1.5],
        ["gpt", "2", "time", 3.0],  # labels are text, and q9 is no item
    ]
    assert list(kept["metric"].cat.categories) == ["time"]
    crowd = add_synthetic(responses, ("always-right",))
    assert crowd.metrics.astype(object).equals(kept.astype(object))
    for one in (responses.to_sparse().to_dense(), responses.T.T):
        assert one.metrics.equals(kept)
    assert responses.T.metrics["item"].tolist() == ["gpt", "gpt"]
    with pytest.raises(ValueError, match="metrics has no column 'value'"):
        responses.with_tables(metrics=metrics.drop(columns="value"))


@pytest.mark.parametrize("rows", [[0, 2], [1, 3], [3, 7]])
def test_chosen_rows_keep_their_numbers(rows: list[int]) -> None:
    frame = pd.DataFrame({"q1": [0, 1] * 4, "q2": [1, 1, 0, 0] * 2})
    assert ResponseMatrix.from_frame(frame.iloc[rows]).respondents == tuple(map(str, rows))
    assert ResponseMatrix.from_frame(frame).respondents[0] == "respondent-1"


SECONDS = pd.DataFrame({"x": [1, 0], "y": [0, 1]}, index=["a", "b"]).astype("m8[ns]")
TIMES: list[Any] = [
    SECONDS,
    SECONDS.to_numpy(),
    SECONDS.astype("int64").astype("M8[ns]"),
    SECONDS.astype("int64").to_numpy("M8[ns]"),
    np.array([[np.timedelta64(1, "s"), 1], [0, 1]], object),
    np.array([[1, np.timedelta64(1, "ns")], [0, 1]], object),
    np.array([[1, 1 + 0j], [0, 1]], object),
    pa.table({"model": ["a", "b"], "x": pa.array([1, 0], pa.timestamp("ns"))}),
    pa.table({"model": ["a", "b"], "x": pa.array([1, 0], pa.time64("ns"))}),
]


@pytest.mark.parametrize("threshold", [None, 0.5])
@pytest.mark.parametrize("given", TIMES)
def test_times_are_no_answers_though_libraries_make_numbers_of_them(
    given: Any, threshold: float | None
) -> None:
    with pytest.raises(ValueError, match=r"must be (0, 1|a number).* has .*(time|Time|\+0j|00:00)"):
        read_responses(given, threshold=threshold)


def test_times_are_no_counts_and_none_of_them_is_missing() -> None:
    with pytest.raises(ValueError, match="successes must be whole numbers"):
        ResponseMatrix.from_counts(np.array([[1]], "m8[ns]"), [[1]])
    times = np.array([["NaT", "NaT"]], "M8[ns]")
    with pytest.raises(ValueError, match="every cell is missing"):
        ResponseMatrix(times)
    marks = pd.DataFrame({"x": [1, 0], "y": times[0]})
    assert ResponseMatrix.from_frame(marks).values.tolist() == [[1, -1], [0, -1]]
