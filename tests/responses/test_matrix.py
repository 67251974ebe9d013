"""The response matrix: what is right, wrong and missing, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.io.merging import merge_responses
from irtkit.responses import ResponseMatrix, Source
from irtkit.responses.cells import MISSING
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


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_a_long_table_agrees_with_the_wide_one_in_any_order_of_rows(order: list[int]) -> None:
    frame = pd.DataFrame({"respondent": list("xxy"), "item": list("aba"), "response": [1, 0, 1]})
    responses = ResponseMatrix.from_long(frame.iloc[order]).to_frame()
    assert responses.loc["x"].to_dict() == {"a": 1, "b": 0}
    assert responses.loc["y", "a"] == 1
    assert responses.loc["y", "b"] is pd.NA


def test_a_score_at_the_threshold_is_right() -> None:
    responses = ResponseMatrix([[0.5, 0.49], [np.nan, -1]], threshold=0.5)
    assert responses.values.tolist() == [[1, 0], [-1, 0]]


@pytest.mark.parametrize("bad", [2, 0.5, -1.0, np.inf, "yes", [1]])
def test_a_wrong_value_is_named_with_its_place_and_the_number_of_others(bad: Any) -> None:
    frame = pd.DataFrame({"a": [1, bad], "b": [1, bad]}, index=["x", "y"], dtype=object)
    with pytest.raises(ValueError, match=r"respondent 'y', item 'a' has .*1 more cell"):
        ResponseMatrix.from_frame(frame)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1, 0]}, "2 dimensions"),
        ({"values": [[1, 0], [1]]}, "rows of equal length"),
        ({"values": np.empty((0, 3))}, "at least one cell"),
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
            "'y', item 'a' occurs in several identical rows",
        ),
        (
            {"respondent": ["x", None], "item": ["a", "b"], "response": [1, 1]},
            "row 2 lacks a label in 'respondent'",
        ),
        ({"respondent": [], "item": [], "response": []}, "long table is empty"),
        ({"respondent": ["x"], "item": ["a"], "mark": [1]}, "recognised as the responses"),
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


# Repeated trials


@pytest.fixture
def counted() -> ResponseMatrix:
    return ResponseMatrix.from_counts(SUCCESSES, TRIALS, ["x", "y"], ["a", "b"])


@pytest.mark.parametrize("dtype", ["float64", "Int64", "object"])
@pytest.mark.parametrize(("right", "tried"), [(None, None), (0, None), (None, 0), (0, 0)])
def test_a_cell_without_trials_is_missing(dtype: str, right: float, tried: float) -> None:
    successes = pd.DataFrame([[1, right]], dtype=dtype)
    responses = ResponseMatrix.from_counts(successes, pd.DataFrame([[2, tried]], dtype=dtype))
    assert (responses.successes.tolist(), responses.trials.tolist()) == ([[1, 0]], [[2, 0]])
    assert responses.n_missing == 1


def test_repeated_trials_have_no_single_value(counted: ResponseMatrix) -> None:
    assert counted.has_repeats
    for reach in (lambda: counted.values, counted.to_frame):
        with pytest.raises(
            ValueError, match=r"holds repeated trials. Use \.successes and \.trials"
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
        ([[1]], [[2, 1], [2]], "trials must be a table with rows of equal length"),
        (
            pd.DataFrame([[1]], ["x"]),
            pd.DataFrame([[2]], ["y"]),
            "same respondents in the same order: respondent 1 is 'x' in successes and 'y' in tri",
        ),
    ],
)
def test_tables_that_are_no_counts_are_refused(successes: Any, trials: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix.from_counts(successes, trials)


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
    with pytest.raises(ValueError, match="'value' is absent"):
        responses.with_tables(metrics=metrics.drop(columns="value"))


@pytest.mark.parametrize("rows", [[0, 2], [1, 3], [3, 7]])
def test_chosen_rows_keep_their_numbers(rows: list[int]) -> None:
    frame = pd.DataFrame({"q1": [0, 1] * 4, "q2": [1, 1, 0, 0] * 2})
    assert ResponseMatrix.from_frame(frame.iloc[rows]).respondents == tuple(map(str, rows))
    assert ResponseMatrix.from_frame(frame).respondents[0] == "respondent-1"


def test_answers_and_source_go_where_the_matrix_goes() -> None:
    answers = pd.DataFrame({"q2": ["B", np.nan], "q9": ["A", "A"]}, ["o1", "gpt"])
    source = Source(("answers.csv",), "long", key="key.csv")
    responses = ResponseMatrix([[1, 0], [0, 1]], ["gpt", "o1"], ["q1", "q2"])
    responses = responses.with_tables(predictions=answers, source=source)
    expected = [[None, None], [None, "B"]]
    for one in (responses, responses.with_tables(), responses.to_sparse().to_dense()):
        assert one.predictions.to_numpy().tolist() == expected
        assert one.source == source
    assert responses.drop("gpt").predictions.to_numpy().tolist() == [[None, "B"]]
    crowd = add_synthetic(responses, ("always-right",))
    assert crowd.predictions.to_numpy().tolist() == [*expected, [None, None]]
    assert (responses.T.predictions, responses.T.source) == (None, source)
    merged = merge_responses([responses.drop("o1"), responses.drop("gpt"), ResponseMatrix([[1]])])
    assert merged.predictions.loc["o1", "q2"] == "B"
    assert merged.source == source
