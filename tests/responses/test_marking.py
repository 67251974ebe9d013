"""What a value of a cell counts for, and which settings a table needs."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.responses.marking import INVALID, MISSING, Coder, Marking, plain_value
from irtkit.responses.proposals import Seen, proposals


@pytest.mark.parametrize(("value", "how", "code"), [
    ("1.00", {}, 1), ("-0", {}, 0), (" TRUE ", {}, 1), (decimal.Decimal("1.0"), {}, 1),
    (np.True_, {}, 1), ("n/a", {}, MISSING), (pd.NA, {}, MISSING), ("-1", {}, INVALID),
    ("yes", {}, 1), ("Incorrect", {}, 0), ("good", {}, INVALID), ([1], {}, INVALID),
    ("true", {"threshold": 0.5}, 1),
    ("0,5", {"threshold": 0.5}, 1), ("49 %", {"threshold": 0.5}, 0),
    ("high", {"threshold": 0.5}, INVALID), ("Correct", {"right": "correct"}, 1),
    (" C ", {"right": ["c", "p"]}, 1), ("timeout", {"right": "pass"}, 0),
    ("timeout", {"right": "pass", "wrong": "fail"}, INVALID),
    ("timeout", {"right": "pass", "wrong": "fail", "missing": "TIMEOUT"}, MISSING),
    (0.25, {}, 0.25), ("0,5", {}, 0.5), ("25 %", {}, 0.25), (np.inf, {}, INVALID),
    (30, {"score_range": (0, 40)}, 0.75), (30, {"score_range": (40, 0)}, 0.25),
    (41, {"score_range": (0, 40)}, INVALID), (-1, {"score_range": [-2, 2]}, 0.25),
    ("", {"right": "pass"}, MISSING), ("none", {"right": "pass", "wrong": ["fail", "none"]}, 0),
    (1, {"right": "yes"}, INVALID), ("no", {"right": 1}, INVALID), ("2.0", {"right": 2}, 1),
    (0, {"right": 2, "wrong": 1}, INVALID), ("true", {"right": True, "wrong": "no"}, 1),
    (-1, {"missing": "-1"}, MISSING),
])  # fmt: skip
def test_a_value_has_the_code_alone_and_in_a_table(value: Any, how: Any, code: float) -> None:
    assert Marking.of(**how).code(value) == code
    cells = np.array([[value, None]], dtype=object)
    codes, _ = Coder(Marking.of(**how)).codes(cells, np.zeros((1, 1), int), np.arange(2))
    assert codes.tolist() == [[code, MISSING]]


@pytest.mark.parametrize(("settings", "message"), [
    ({"right": "1", "threshold": 1}, "pass one of them"), ({"wrong": 0}, "wrong needs right"),
    ({"right": [1, 2], "wrong": ["2"]}, "right and wrong both name 2"),
    ({"right": []}, "right must be a word or number"),
    ({"threshold": float("nan")}, "threshold must be a finite number"),
    ({"threshold": 1, "score_range": (0, 2)}, "score_range is for scores"),
    ({"score_range": 100}, "score_range must be two different numbers"),
    ({"score_range": (1, 1)}, "score_range must be two different numbers"),
    ({"score_range": {"q": (0, float("inf"))}}, "score_range must be a finite number"),
])  # fmt: skip
def test_settings_that_contradict_each_other_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Marking.of(**settings)


@pytest.mark.parametrize(("invalid", "settings", "code", "proposed", "safe"), [
    ([20, 70], {}, "percentages", {"score_range": (0, 100)}, True),
    ([1.5, 31], {}, "percentages", {"score_range": (0, 100)}, False),
    ([2, 5], {}, "levels", {"score_range": (1, 5), "levels": True}, False),
    ([-3, 700], {}, "numbers", {"score_range": ...}, False),
    ([2, 5], {"threshold": 3}, "levels", {"threshold": ...}, False),
    ([-1], {}, "missing-word", {"right": 1, "wrong": -1}, False),
    (["red", "blue"], {}, "words", {"right": ..., "wrong": ...}, False),
    (["?"], {"threshold": 0.5}, "missing-word", {"missing": ["?"]}, True),
    (["late"], {"right": "ok", "wrong": "no"}, "unnamed", {"missing": ["late"]}, False),
])  # fmt: skip
def test_values_that_cannot_be_read_have_a_remedy(
    invalid: list[Any], settings: Any, code: str, proposed: Any, *, safe: bool
) -> None:
    values = {plain_value(value): value for value in invalid}
    seen = Seen(n_given=4, n_invalid=3, n_wrong=0, n_scores=0)
    kind, remedies = proposals(values, Marking.of(**settings), seen)
    assert (kind, remedies[0].settings, remedies[0].safe) == (code, proposed, safe)


def test_a_threshold_and_words_that_nothing_has_are_noted() -> None:
    for threshold, codes in ((0.5, []), (0.1, ["threshold-flat"]), (2, ["threshold-flat"])):
        coder = Coder(Marking.of(threshold))
        coder.codes(np.array([[0.2, 1.0], [0.9, 0.6]]), np.array([[0], [1]]), np.arange(2))
        assert [note.code for note in coder.notes(2)] == codes
    for right, severities in (("ok", []), ("okay", ["warning"])):
        coder = Coder(Marking.of(right=right))
        coder.codes(np.array([["ok", "no"]]), np.zeros((1, 1), int), np.arange(2))
        assert [note.severity for note in coder.notes(2)] == severities
