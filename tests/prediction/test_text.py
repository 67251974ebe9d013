"""Claims about the text embedding that a package carries."""

from __future__ import annotations

import logging
import socket
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.prediction import DifficultyPredictor, text_embedding


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


def test_hard_subjects_are_told_from_texts() -> None:
    pytest.importorskip("wordllama")
    pytest.importorskip("sklearn")
    easy = ["What colour is the {} cat?", "How many legs has a {} dog?", "Is the {} milk white?"]
    hard = ["Prove the {} theorem.", "Derive the {} tensor.", "Integrate the {} equation."]
    words = ["big", "small", "old", "new", "red", "first", "second", "third", "last", "other"]
    texts = [text.format(word) for word in words for text in (*easy, *hard)]
    generator = np.random.default_rng(0)
    difficulty = pd.Series(np.tile([0, 0, 0, 1, 1, 1], 10) + generator.normal(0, 0.1, 60))
    predictor = DifficultyPredictor("elastic net", folds=0, embed=text_embedding())
    found = predictor.fit(texts, difficulty).predict(
        ["How big is the cow?", "Derive the wave equation."]
    )
    assert found["predicted"].iloc[1] > found["predicted"].iloc[0] + 0.4


def test_without_wordllama_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ImportError, match=r"irtkit\[text\]"):
        text_embedding()
