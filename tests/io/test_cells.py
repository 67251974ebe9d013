"""Written responses are looked at once."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.io import cells
from irtkit.io.cells import ResponseCodes


def test_the_first_value_without_a_code_is_remembered_and_the_others_counted() -> None:
    codes = ResponseCodes(None)
    assert np.frombuffer(codes.encode(0, ["1", "0", ""]), np.int8).tolist() == [1, 0, -1]
    codes.refuse_invalid(["x"], ["a", "b", "c"])
    codes.encode(1, ["1", "2", [3]])
    codes.encode(2, ["4", "1", "1"])
    with pytest.raises(ValueError, match=r"'y', item 'b' has '2' \(and 2 more such cells\)"):
        codes.refuse_invalid(["x", "y", "z"], ["a", "b", "c"])


def test_more_different_scores_than_are_remembered_have_the_same_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = np.random.default_rng(0).uniform(size=200).astype(str).tolist()
    expected = ResponseCodes(0.5).encode(0, scores)
    monkeypatch.setattr(cells, "_REMEMBERED", 10)
    codes = ResponseCodes(0.5)
    assert codes.encode(0, scores) == expected
    assert len(codes) == 10
