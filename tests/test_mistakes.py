"""Mistakes that people make when they call `fit`: what the message says to type works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.findings import ReadingError

VALUES = np.array(
    [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]]
)
MODELS = ["gpt-4o", "llama-3-8b", "qwen2-7b", "mistral-7b", "gemma-2-9b", "phi-3-mini"]
TABLE = pd.DataFrame(VALUES, pd.Index(MODELS, name="model"), ["q1", "q2", "q3", "q4"]).reset_index()


@pytest.mark.parametrize("given", [
    TABLE.replace({0: "incorrect", 1: "correct"}), TABLE.replace({0: 0.3, 1: 0.9}),
])  # fmt: skip
def test_a_fit_asks_as_a_reading_does_and_takes_the_answer(given: pd.DataFrame) -> None:
    with pytest.raises(ReadingError) as caught:
        irtkit.fit(given)
    settings = caught.value.finding.remedies[0].settings
    result = irtkit.fit(given, "1PL", standard_errors=False, **settings)
    assert result.responses == irtkit.ResponseMatrix(VALUES, MODELS, ["q1", "q2", "q3", "q4"])


@pytest.mark.parametrize(("wrong", "right"), [("2PLM", "2PL"), ("rash", "Rasch"), ("3-PL", "3PL")])
def test_a_wrong_model_is_asked_about(wrong: Any, right: Any) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{right}'"):
        irtkit.fit(TABLE, wrong)
    assert irtkit.fit(TABLE, right.lower(), standard_errors=False).model == right


@pytest.mark.parametrize(("argument", "advice"), [
    ("rigth", ", did you mean 'right'"), ("modle", ", did you mean 'model'"),
    ("batch", ". Write method=irtkit.Variational"), ("colour", ""),
])  # fmt: skip
def test_an_argument_that_there_is_not_is_refused(argument: str, advice: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{argument}'{advice}"):
        irtkit.fit(TABLE, **{argument: 1})
