"""What many tests share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Folder of real matrices with reference results; the test is skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder of reference data is not here")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def few_compiled_programs() -> Iterator[None]:
    """Drop compiled programs before they use up the memory maps that Linux grants a process.

    The suite fits matrices of hundreds of shapes, each compiled for itself; past 65,530 maps
    the compiler crashes.
    """
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and len(maps.read_bytes().splitlines()) > 10_000:
        sys.modules["jax"].clear_caches()
