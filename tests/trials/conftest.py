"""How many cases are generated."""

import os

import pytest
from hypothesis import HealthCheck, settings

TIMES = int(os.environ.get("IRTKIT_CASES", "1"))
"""How many times as many cases to draw, new ones unless it is once."""


def cases(n):
    """Number of cases, the same ones each time unless more are asked for. Slow with more."""
    drawn = settings(
        max_examples=n * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: pytest.mark.slow(drawn(test))
