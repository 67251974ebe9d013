"""Claims about features: what can be one, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.prediction.features import as_features, check_leaks, columns_by_kind

ITEMS = [f"q{k}" for k in range(40)]


def lengths(texts: list[str]) -> Any:
    """Letters and words of texts."""
    return np.array([[len(text), len(text.split())] for text in texts])


@pytest.fixture
def responses() -> irtkit.ResponseMatrix:
    items = irtkit.ItemParameters.from_difficulty(np.ones(40), np.linspace(-2, 2, 40))
    drawn = irtkit.simulate_responses(items, np.linspace(-2, 2, 30), seed=0)
    return irtkit.ResponseMatrix(drawn.values, items=ITEMS)


def test_images_are_flattened_and_named_by_the_labels() -> None:
    table = as_features(np.zeros((3, 8, 8)), ["a", "b", "c"])
    assert table.shape == (3, 64)
    assert list(table.index) == ["a", "b", "c"]


def test_numbers_categories_and_missing_values_are_told_apart() -> None:
    given = pd.DataFrame(
        {"n": [1, 2, None], "on": [True, False, True], "kind": ["a", None, "b"]},
        index=pd.Index([1, 2, 3]),
    )
    table = as_features(given)
    assert columns_by_kind(table) == (["n", "on"], ["kind"])
    assert list(table["kind"]) == ["a", "missing", "b"]
    assert list(table.index) == ["1", "2", "3"]


def test_numbers_that_are_objects_stay_numbers() -> None:
    table = as_features(pd.DataFrame({"n": [1, 2.5, None]}, index=list("abc"), dtype=object))
    assert columns_by_kind(table) == (["n"], [])


def test_tables_of_other_libraries_are_read_by_label() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"item": ["b", "a"], "words": [1, 2]})
    found = as_features(table, ["a", "b"])
    assert found["words"].to_dict() == {"b": 1.0, "a": 2.0}
    assert as_features(table.to_arrow(), ["a", "b"]).equals(found)
    with pytest.raises(ValueError, match="needs a column item"):
        as_features(table.drop("item"), ["a", "b"])


def test_an_embedding_without_texts_is_refused() -> None:
    with pytest.raises(ValueError, match="in a column text"):
        as_features(pd.DataFrame({"question": ["x"]}, index=["a"]), embed=lengths)


@pytest.mark.parametrize("kind", [list, pd.Series])
def test_texts_go_through_an_embedding(kind: Any) -> None:
    table = as_features(kind(["two words", "one"]), ["a", "b"], lengths)
    assert table.to_numpy().tolist() == [[9, 2], [3, 1]]


def test_texts_of_responses_are_found_and_missing_ones_stay_missing(
    responses: irtkit.ResponseMatrix,
) -> None:
    texts = pd.DataFrame({"text": ["one two", None]}, index=["q0", "q1"])
    table = as_features(responses.with_tables(texts), embed=lengths)
    assert table.loc["q0"].tolist() == [7, 2]
    assert table.loc[["q1", "q2"]].isna().all(axis=None)


def test_a_column_of_texts_is_embedded_beside_others() -> None:
    given = pd.DataFrame({"item": ["a", "b"], "text": ["x", "y z"], "n": [3, 4]})
    table = as_features(given, embed=lengths)
    assert list(table.columns) == ["n", "text0", "text1"]
    assert list(table.index) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a text", "another"], ValueError, "embed="),
        (np.zeros(3), TypeError, "items × …"),
        (np.zeros((3, 2)), ValueError, "a row for each of 2 items"),
        (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), ValueError, "one row per item"),
        (
            pd.DataFrame({"x": pd.to_datetime(["2026-01-01"])}, index=["a"]),
            TypeError,
            "'x' holds dates",
        ),
        (
            pd.DataFrame({"x": pd.to_timedelta([1], unit="h")}, index=["a"]),
            TypeError,
            "'x' holds dates or durations",
        ),
        (pd.DataFrame({"x": [1, -np.inf]}, index=["a", "b"]), ValueError, "'x' of item 'b' is inf"),
    ],
)
def test_what_are_no_features_is_refused(
    given: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        as_features(given, ["a", "b"])


@pytest.mark.parametrize(
    "name",
    [
        "class",
        "Class",
        "meanACC",
        "Truth_SAT",
        "accuracy",
        "item_label",
        "average_error",
        "pass_rate",
        *("correctness", "answers", "accuracies", "classes", "targets", "scores"),
        *("correct_count", "response_count", "accuracy_type", "options_correct"),
    ],
)
def test_the_class_and_the_accuracy_are_refused_by_name(name: str) -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], name: [0, 1]}, index=["a", "b"])
    with pytest.raises(ValueError, match=f"{name!r} .by its name"):
        check_leaks(table)
    check_leaks(table, allow=[name])


@pytest.mark.parametrize(
    "name",
    [
        *("glucose", "X.clauses", "classical", "acceleration", "x1"),
        *("answer_length", "class_size", "response_time", "correct_answer_length"),
        *("n_classes", "number_of_answers", "possible_answers", "answer_type"),
    ],
)
def test_other_names_are_not(name: str) -> None:
    check_leaks(pd.DataFrame({name: [1.0, 2.0]}, index=["a", "b"]))


def test_the_accuracy_is_refused_under_any_name_and_in_any_unit(
    responses: irtkit.ResponseMatrix,
) -> None:
    accuracy = pd.Series(responses.values.mean(axis=0), index=ITEMS)
    table = pd.DataFrame({"x": np.exp(3 * accuracy)})
    with pytest.raises(ValueError, match="it orders items as"):
        check_leaks(table, target=1 - accuracy)
    written = table.astype(str)
    written.loc["q3"] = None
    with pytest.raises(ValueError, match="it orders items as"):
        check_leaks(as_features(written), target=1 - accuracy)
    noisy = table + np.random.default_rng(0).normal(0, 3, (40, 1))
    check_leaks(noisy, target=1 - accuracy)


def test_kinds_of_accuracy_are_refused_and_those_of_single_items_are_not(
    responses: irtkit.ResponseMatrix,
) -> None:
    accuracy = pd.Series(responses.values.mean(axis=0), index=ITEMS)
    kinds = pd.cut(accuracy, 3, labels=["low", "middle", "high"]).astype(str)
    with pytest.raises(ValueError, match=r"'x' .it orders items as"):
        check_leaks(kinds.to_frame("x"), target=1 - accuracy)
    ends = [accuracy.idxmin(), accuracy.idxmax()]
    kinds[ends] = kinds[ends[::-1]].to_numpy()
    sources = pd.Series(np.where(accuracy > 0.5, "a", "b"), ITEMS)
    own = pd.Series(ITEMS, ITEMS)
    check_leaks(pd.DataFrame({"x": kinds, "source": sources, "id": own}), target=1 - accuracy)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    "coarse",
    [
        lambda accuracy: accuracy.round(1),
        lambda accuracy: (20 * accuracy).round() * 5,
        lambda accuracy: pd.cut(accuracy, 4, labels=["a", "b", "c", "d"]).cat.codes,
    ],
)
def test_rounded_accuracy_is_refused_under_any_name(
    responses: irtkit.ResponseMatrix, coarse: Any, sign: int
) -> None:
    accuracy = pd.Series(responses.values.mean(axis=0), index=ITEMS)
    table = pd.DataFrame({"x": sign * coarse(accuracy)})
    with pytest.raises(ValueError, match=r"'x' .it orders items as"):
        check_leaks(table, target=1 - accuracy)
    ends = [accuracy.idxmin(), accuracy.idxmax()]
    table.loc[ends, "x"] = table.loc[ends[::-1], "x"].to_numpy()
    check_leaks(table, target=1 - accuracy)


def test_accuracy_in_per_cent_is_refused(responses: irtkit.ResponseMatrix) -> None:
    accuracy = pd.Series(responses.values.mean(axis=0), index=ITEMS)
    table = as_features(pd.DataFrame({"x": accuracy.map("{:.1%}".format)}))
    with pytest.raises(ValueError, match=r"'x' .it orders items as"):
        check_leaks(table, target=1 - accuracy)


def test_answers_of_all_are_refused_beside_a_target_alone(
    responses: irtkit.ResponseMatrix,
) -> None:
    accuracy = pd.Series(responses.values.mean(axis=0), index=ITEMS)
    answers = pd.DataFrame(responses.values.T, index=ITEMS).add_prefix("system")
    for written in (answers, 1 - answers, answers.replace({0: "no", 1: "yes"})):
        with pytest.raises(ValueError, match="as their difficulty does, with others"):
            check_leaks(as_features(written), target=1 - accuracy)
    check_leaks(answers.iloc[:, :6], target=1 - accuracy)


def test_features_that_are_none_of_this_are_not_refused(
    responses: irtkit.ResponseMatrix,
) -> None:
    # 300 of each kind: chance alone orders 40 items so in one of 10¹¹ ways at most
    generator = np.random.default_rng(0)
    error = pd.Series(1 - responses.values.mean(axis=0), index=ITEMS)
    noise, shape = generator.normal(size=(40, 300)), (40, 300)
    kinds = {
        "noise": noise,
        "marks": generator.integers(0, 2, shape),
        "grades": generator.integers(0, 4, shape),
        "sums": generator.integers(0, 16, (*shape, 8)).sum(axis=2),
        "related": error.to_numpy()[:, None] + 0.1 * noise,
        "related and rounded": (error.to_numpy()[:, None] + 0.1 * noise).round(1),
        "related and cut": error.to_numpy()[:, None] + 0.1 * noise > 0.5,
    }
    for values in kinds.values():
        check_leaks(as_features(values, ITEMS), target=error)


def test_a_name_that_is_allowed_is_that_of_a_feature() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], "class": [0, 1]}, index=["a", "b"])
    message = (
        "allow must name features, and 'clas' is none, did you mean 'class'.*they are x, class"
    )
    with pytest.raises(ValueError, match=message):
        check_leaks(table, allow=["clas"])
    check_leaks(table, allow="class")


@pytest.mark.parametrize("flipped", [False, True])
def test_a_response_is_refused_under_any_name(
    responses: irtkit.ResponseMatrix, *, flipped: bool
) -> None:
    row = responses.values[12]
    table = pd.DataFrame({"x": 1 - row if flipped else row}, index=ITEMS)
    with pytest.raises(ValueError, match="what one respondent answered"):
        check_leaks(table, responses=responses)
    some = table.where(np.arange(40)[:, None] % 5 > 0)
    for written in (some, table.replace({0: "no", 1: "yes"}), table.astype(str)):
        with pytest.raises(ValueError, match="what one respondent answered"):
            check_leaks(as_features(written), responses=responses)
    table.iloc[0, 0] = 1 - int(table.iloc[0, 0])
    check_leaks(table, responses=responses)


def test_the_target_is_refused_however_it_is_written(responses: irtkit.ResponseMatrix) -> None:
    target = np.arange(40) % 3
    known = responses.with_tables(pd.DataFrame({"target": target}, index=ITEMS))
    table = pd.DataFrame({"colour": np.array(["red", "green", "blue"])[target]}, index=ITEMS)
    with pytest.raises(ValueError, match="the target of the items"):
        check_leaks(table, responses=known)
    check_leaks(table, responses=responses)
