"""What a written value counts as."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from irtkit.codes import INVALID, MISSING, response_code


@pytest.mark.parametrize(
    ("value", "threshold", "code"),
    [
        ("1.00", None, 1),
        ("-0", None, 0),
        (decimal.Decimal("1.0"), None, 1),
        (np.True_, None, 1),
        ("n/a", None, MISSING),
        (pd.NA, None, MISSING),
        ("-1", None, INVALID),
        ("yes", None, INVALID),
        ([1], None, INVALID),
        (10**400, None, INVALID),
        ("true", 0.5, 1),
        ("0.4", 0.5, 0),
        ("high", 0.5, INVALID),
    ],
)
def test_a_written_value_has_the_code(value: Any, threshold: float | None, code: int) -> None:
    assert response_code(value, threshold) == code
