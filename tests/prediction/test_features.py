"""Claims about features: what can be one, and what is refused."""

from __future__ import annotations

import logging
import socket
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.prediction.features import as_features, check_leaks, text_embedding

ITEMS = [f"q{k}" for k in range(40)]


def lengths(texts: list[str]) -> Any:
    """Letters and words of texts."""
    return np.array([[len(text), len(text.split())] for text in texts])


def test_numbers_and_categories_are_distinguished() -> None:
    given = pd.DataFrame(
        {"n": [1, 2, None], "on": [True, False, True], "kind": ["a", None, "b"]},
        index=pd.Index([1, 2, 3]),
    )
    table = as_features(given)
    assert table.dtypes.to_dict() == {"n": np.float64, "on": np.float64, "kind": object}
    assert list(table.index) == ["1", "2", "3"]


def test_tables_of_other_libraries_are_read_by_label() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"item": ["b", "a"], "words": [1, 2]})
    found = as_features(table, ["a", "b"])
    assert found["words"].to_dict() == {"b": 1.0, "a": 2.0}
    assert as_features(table.to_arrow(), ["a", "b"]).equals(found)
    with pytest.raises(ValueError, match="needs a column item"):
        as_features(table.drop("item"), ["a", "b"])


def test_texts_are_embedded_and_missing_ones_stay_missing() -> None:
    texts = pd.Series(["one two", None, "three"], index=["q0", "q1", "q2"])
    for given in (texts, texts.to_frame("text")):
        table = as_features(given, embed=lengths)
        assert table.loc[["q0", "q2"]].to_numpy().tolist() == [[7, 2], [5, 1]]
        assert table.loc["q1"].isna().all()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a text", "another"], ValueError, "embed="),
        (np.zeros((3, 2)), ValueError, "Length mismatch"),
        (["a text", None], TypeError, "or texts, got list"),
        (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), ValueError, "one row per item"),
    ],
)
def test_data_without_features_is_refused(
    given: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        as_features(given, ["a", "b"])


@pytest.mark.parametrize("other", [lambda x: 3 - 1e-9 * x, np.exp])
def test_a_feature_with_the_order_of_a_target_is_refused(other: Any) -> None:
    generator = np.random.default_rng(0)
    targets = pd.DataFrame(generator.normal(size=(40, 2)), ITEMS, ["1PL", "average_error"])
    for target in (targets, targets["average_error"]):
        table = pd.DataFrame({"x": other(targets["average_error"])}).sample(frac=1)
        with pytest.raises(ValueError, match=r"'x' has the order of the target.*allow=\['x'\]"):
            check_leaks(table, target=target)
        check_leaks(table, target=target, allow="x")
        near = targets[["average_error"]] + generator.normal(0, 0.01, (40, 1))
        check_leaks(near.assign(two=np.arange(40) % 2, one=1.0), target=target)


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
