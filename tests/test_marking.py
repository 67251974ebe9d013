"""What counts as right and as wrong."""

from __future__ import annotations

from typing import Any

import pytest

from irtkit.responses.codes import INVALID, MISSING, response_code
from irtkit.responses.marking import Marking


@pytest.mark.parametrize(
    ("value", "settings", "code"),
    [
        ("Correct", {"right": "correct"}, 1),
        (" C ", {"right": ["c", "p"]}, 1),
        ("timeout", {"right": "pass"}, 0),
        ("timeout", {"right": "pass", "wrong": "fail"}, INVALID),
        ("", {"right": "pass"}, MISSING),
        ("none", {"right": "pass", "wrong": ["fail", "none"]}, 0),
        (1, {"right": "yes"}, INVALID),
        (True, {"right": "yes"}, INVALID),
        ("no", {"right": 1}, INVALID),
        ("2.0", {"right": 2}, 1),
        (1, {"right": 2}, 0),
        (1, {"right": 2, "wrong": 1}, 0),
        (0, {"right": 2, "wrong": 1}, INVALID),
        (float("nan"), {"right": 2}, MISSING),
        ("true", {"right": True, "wrong": "no"}, 1),
    ],
)
def test_a_value_counts_as_the_words_say(value: Any, settings: dict[str, Any], code: int) -> None:
    assert response_code(value, Marking.of(**settings)) == code
