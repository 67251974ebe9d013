"""What many tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Folder of real matrices with reference results; the test is skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder of reference data is not here")
    return SHARED_DATA
