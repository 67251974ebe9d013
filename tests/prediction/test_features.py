"""Claims about features: what can be one, and what is refused."""

from __future__ import annotations

import logging
import socket
from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.prediction.features import as_features, check_leaks, columns_by_kind, text_embedding

ITEMS = [f"q{k}" for k in range(40)]


def lengths(texts: list[str]) -> Any:
    """Letters and words of texts."""
    return np.array([[len(text), len(text.split())] for text in texts])


@pytest.fixture
def responses() -> irtkit.ResponseMatrix:
    items = irtkit.ItemParameters.from_difficulty(np.ones(40), np.linspace(-2, 2, 40))
    drawn = irtkit.simulate_responses(items, np.linspace(-2, 2, 30), seed=0)
    return irtkit.ResponseMatrix(drawn.values, items=ITEMS)


def test_numbers_categories_and_missing_values_are_distinguished() -> None:
    given = pd.DataFrame(
        {"n": [1, 2, None], "on": [True, False, True], "kind": ["a", None, "b"]},
        index=pd.Index([1, 2, 3]),
    )
    table = as_features(given)
    assert columns_by_kind(table) == (["n", "on"], ["kind"])
    assert list(table["kind"]) == ["a", "missing", "b"]
    assert list(table.index) == ["1", "2", "3"]


def test_tables_of_other_libraries_are_read_by_label() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"item": ["b", "a"], "words": [1, 2]})
    found = as_features(table, ["a", "b"])
    assert found["words"].to_dict() == {"b": 1.0, "a": 2.0}
    assert as_features(table.to_arrow(), ["a", "b"]).equals(found)
    with pytest.raises(ValueError, match="needs a column item"):
        as_features(table.drop("item"), ["a", "b"])


def test_texts_of_responses_are_found_and_missing_ones_stay_missing(
    responses: irtkit.ResponseMatrix,
) -> None:
    texts = pd.DataFrame({"text": ["one two", None]}, index=["q0", "q1"])
    table = as_features(responses.with_tables(texts), embed=lengths)
    assert table.loc["q0"].tolist() == [7, 2]
    assert table.loc[["q1", "q2"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a text", "another"], ValueError, "embed="),
        (np.zeros((3, 2)), ValueError, "a row for each of 2 items"),
        (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), ValueError, "one row per item"),
        (
            pd.DataFrame({"x": pd.to_datetime(["2026-01-01"])}, index=["a"]),
            TypeError,
            "'x' holds dates",
        ),
        (pd.DataFrame({"x": [1, -np.inf]}, index=["a", "b"]), ValueError, "'x' of item 'b' is inf"),
    ],
)
def test_data_without_features_is_refused(
    given: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        as_features(given, ["a", "b"])


@pytest.mark.parametrize("name", ["class", "meanACC", "Truth_SAT", "syntheticDifficulty"])
def test_the_class_and_the_accuracy_are_refused_by_name(name: str) -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], name: [0, 1]}, index=["a", "b"])
    with pytest.raises(ValueError, match=f"{name!r} .by its name"):
        check_leaks(table)
    check_leaks(table, allow=name)
    with pytest.raises(ValueError, match="allow must name features, got 'y'"):
        check_leaks(table, allow=["y"])
    names = ["X.clauses", "classical", "acceleration", "answer_length", "n_classes"]
    check_leaks(pd.DataFrame([[1.0] * 5, [2.0] * 5], ["a", "b"], names))


@pytest.mark.parametrize("unit", [1.0, -1e-9])
def test_a_feature_that_equals_a_target_is_refused_in_any_unit(unit: float) -> None:
    generator = np.random.default_rng(0)
    targets = pd.DataFrame(generator.normal(size=(40, 2)), ITEMS, ["1PL", "average_error"])
    for target in (targets, targets["average_error"]):
        table = pd.DataFrame({"x": 3 + unit * targets["average_error"]}).sample(frac=1)
        with pytest.raises(ValueError, match=r"'x' \(it equals a target\).*allow=\['x'\]"):
            check_leaks(table, target=target)
        check_leaks(table, target=target, allow="x")
        near = table + abs(unit) * generator.normal(0, 0.01, (40, 1))
        check_leaks(near.assign(two=np.arange(40) % 2), target=target)


def test_texts_that_are_about_the_same_are_near_each_other_offline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pytest.importorskip("wordllama")
    monkeypatch.setenv("HOME", str(tmp_path))  # no cache of earlier downloads
    monkeypatch.setattr(socket, "socket", None)
    handlers = list(logging.getLogger().handlers)
    vectors = text_embedding()(["add two and three", "sum of 2 and 3", "the king of France"])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2] + 0.1
    assert logging.getLogger().handlers == handlers
    assert list(tmp_path.iterdir()) == []
