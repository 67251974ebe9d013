"""Claims about information about items and common changes of ability."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.calibration.information import N_COMMON, common_ability_basis


def test_the_functions_of_ability_come_with_their_derivatives() -> None:
    theta, step = np.linspace(-4, 4, 9), 1e-6
    values, derivatives = common_ability_basis(theta)
    after, before = (common_ability_basis(theta + k * step)[0] for k in (1, -1))
    assert values.shape == (9, N_COMMON)
    assert np.linalg.matrix_rank(values) == N_COMMON
    assert derivatives == pytest.approx((after - before) / (2 * step), abs=1e-8)
