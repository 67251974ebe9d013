"""The response matrix: what is right, wrong and missing, and what is refused."""

from __future__ import annotations

import tracemalloc
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
    ],
)
def test_every_way_to_write_responses_gives_the_same_matrix(values: Any) -> None:
    responses = ResponseMatrix(values)
    assert responses.values.tolist() == RIGHT_WRONG_MISSING
    assert responses.values.dtype == np.int8


@pytest.mark.parametrize("bad", [2, 1.5, -1.0, np.inf, "yes", [1]])
def test_a_wrong_value_is_named_with_its_place_and_the_number_of_others(bad: Any) -> None:
    frame = pd.DataFrame({"a": [1, bad], "b": [1, bad]}, index=["x", "y"], dtype=object)
    with pytest.raises(ValueError, match=r"system 'y', item 'a' has .*1 more cell"):
        ResponseMatrix.from_frame(frame)


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset({"a", "b"}), "ab", b"ab", 2])
def test_labels_without_an_order_or_that_are_no_list_are_refused(labels: Any) -> None:
    with pytest.raises(TypeError, match=r"^respondents must be a list of labels"):
        ResponseMatrix([[1], [0]], labels)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"values": [1, 0]}, "2 dimensions"),
    ({"values": np.empty((0, 3))}, "at least one cell"),
    ({"values": [[None, None]]}, "every cell is missing"),
    ({"values": [np.ma.array([1, 0], mask=[1, 0])]}, "must not be masked"),
    ({"values": [[1]], "items": ["a", "b"]}, "items must hold 1 labels"),
    ({"values": [[1, 1, 1]], "items": ["a", "a", 1]}, "'a' occurs twice"),
    ({"values": [[1], [0]], "respondents": ["x", pd.NA]}, "respondent 2 has no label"),
    ({"values": [[1]], "synthetic": [0]}, "1 booleans"),
])  # fmt: skip
def test_a_table_that_is_no_matrix_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResponseMatrix(**arguments)


# Repeated trials


@pytest.mark.parametrize("dtype", ["float64", "Int64", "object"])
@pytest.mark.parametrize(("right", "tried"), [(None, None), (0, None), (None, 0), (0, 0)])
def test_a_cell_without_trials_is_missing(dtype: str, right: float, tried: float) -> None:
    successes = pd.DataFrame([[1, right]], dtype=dtype)
    responses = ResponseMatrix.from_counts(successes, pd.DataFrame([[2, tried]], dtype=dtype))
    assert (responses.successes.tolist(), responses.trials.tolist()) == ([[1, 0]], [[2, 0]])
    assert responses.n_missing == 1


def test_repeated_trials_have_no_single_value_and_cannot_be_changed() -> None:
    given = np.array(SUCCESSES, np.uint8), np.array(TRIALS, np.uint8)
    responses = ResponseMatrix.from_counts(*given)
    given[0][:] = 0
    assert responses == ResponseMatrix.from_counts(SUCCESSES, TRIALS)
    assert responses != ResponseMatrix.from_counts([[1, 0], [0, 3]], TRIALS)
    assert responses != ResponseMatrix.from_counts(SUCCESSES, TRIALS, synthetic=[True, False])
    with pytest.raises(ValueError, match=r"not for repeated trials.* Use \.successes and"):
        _ = responses.values
    np.testing.assert_array_equal(responses.to_frame(), responses.scores)
    for table in (responses.successes, responses.trials, ResponseMatrix([[1]]).trials):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 1


def test_two_tables_of_counts_must_have_the_same_labels() -> None:
    successes, trials = pd.DataFrame([[1]], ["x"]), pd.DataFrame([[2]], ["y"])
    with pytest.raises(ValueError, match="respondent 1 is 'x' in successes and 'y' in trials"):
        ResponseMatrix.from_counts(successes, trials)
    labels = ResponseMatrix.from_counts(successes, [[2]], items=["c"])
    assert (labels.respondents, labels.items) == (("x",), ("c",))


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
    with pytest.raises(ValueError, match="transpose before adding them"):
        _ = add_synthetic(given, "always-right").T


def test_tables_and_metrics_go_where_the_matrix_goes() -> None:
    texts = pd.DataFrame({"text": ["1?", "2?"]}, index=[2, "q1"])
    sizes = pd.DataFrame({"size": [7.0]}, index=["gpt"])
    rows = [("gpt", "q1", "time", 1.5), ("gpt", "q9", "cost", 2.0), ("gpt", 2, "time", 3.0)]
    metrics = pd.DataFrame(rows, columns=["respondent", "item", "metric", "value"])
    plain = ResponseMatrix([[1, 0]], ["gpt"], ["q1", 2])
    responses = plain.with_tables(texts, sizes, metrics)
    assert responses == plain
    kept = [["gpt", "q1", "time", 1.5], ["gpt", "2", "time", 3.0]]  # q9 is no item
    crowd = add_synthetic(responses, ("always-right",))
    for one in (responses, responses.to_sparse().to_dense(), responses.T.T, crowd):
        assert one.item_table["text"].tolist() == ["2?", "1?"]
        assert one.respondent_table["size"].tolist()[:1] == [7.0]
        assert one.metrics.astype(object).to_numpy().tolist() == kept
        assert list(one.metrics["metric"].cat.categories) == ["time"]
    assert crowd.respondent_table["size"].isna().tolist() == [False, True]
    assert responses.T.metrics["item"].tolist() == ["gpt", "gpt"]
    with pytest.raises(ValueError, match="item_table must have one row per item: 'q1' occurs"):
        responses.with_tables(pd.concat([texts, texts.iloc[[1]]]))


@pytest.mark.parametrize("sparse", [False, True])
def test_respondents_are_dropped_with_what_is_known_of_them(*, sparse: bool) -> None:
    sizes = pd.DataFrame({"size": [7.0, 70.0, 1.0]}, index=["a", "b", "c"])
    plain = ResponseMatrix(
        [[1, 0], [0, -1], [1, 1]], ["a", "b", "c"], synthetic=[False, True, True]
    )
    given = (plain.to_sparse() if sparse else plain).with_tables(respondent_table=sizes)
    fewer = given.drop(["b"])
    assert fewer == ResponseMatrix([[1, 0], [1, 1]], ["a", "c"], synthetic=[False, True])
    assert fewer.is_sparse == sparse
    assert fewer.respondent_table["size"].tolist() == [7.0, 1.0]
    assert plain.drop([]) == plain
    for names, message in ((["a", "d"], "names 'd', which is not a respondent"),
                           (plain.respondents, "names all respondents")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            plain.drop(names)


def test_answers_and_source_go_where_the_matrix_goes() -> None:
    answers = pd.DataFrame({"q2": ["B", np.nan], "q9": ["A", "A"]}, ["o1", "gpt"])
    source = Source(("answers.csv",), "long", {"key": "key.csv"})
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


def test_whole_numbers_are_read_in_a_few_bytes_a_cell() -> None:
    values = np.random.default_rng(0).integers(-1, 2, (2000, 500)).astype(np.int8)
    tracemalloc.start()
    responses = ResponseMatrix(values)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (responses.values == values).all()
    assert most < 6 * values.size
