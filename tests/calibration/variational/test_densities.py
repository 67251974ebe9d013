"""Log densities of one number against SciPy, their integrals, and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import beta, norm, t

from irtkit.calibration.variational.densities import (
    Density,
    LogitBetaDensity,
    LogOfNormalDensity,
    NormalDensity,
    StudentDensity,
    TwoSidedDensity,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AT = np.linspace(-3.0, 3.0, 25)


def logit_of_beta(u: Array) -> Array:
    c = 1 / (1 + np.exp(-u))
    return np.asarray(beta.logpdf(c, 5, 17) + np.log(c * (1 - c)))


def two_sided(u: Array) -> Array:
    return np.asarray(np.log(0.9 * norm.pdf(u, 1.2, 0.4) + 0.1 * norm.pdf(u, -1.2, 0.4)))


REFEREES: list[tuple[Density, Callable[[Array], Array]]] = [
    (NormalDensity(0.3, 0.7), lambda u: norm.logpdf(u, 0.3, 0.7)),
    (StudentDensity(0.88, 0.3, 4.0), lambda u: t.logpdf(u, 4.0, 0.88, 0.3)),
    (TwoSidedDensity(1.2, 0.4, 0.1), two_sided),
    (LogitBetaDensity(5.0, 17.0), logit_of_beta),
    (LogOfNormalDensity(NormalDensity(1.0, 0.5)), lambda u: norm.logpdf(np.exp(u), 1, 0.5) + u),
]
IDS = [type(density).__name__ for density, _ in REFEREES]


@pytest.mark.parametrize(("density", "referee"), REFEREES, ids=IDS)
def test_a_log_density_is_that_of_scipy(
    density: Density, referee: Callable[[Array], Array]
) -> None:
    assert density.log_density(AT) == pytest.approx(referee(AT), abs=1e-10)


@pytest.mark.parametrize("density", [density for density, _ in REFEREES], ids=IDS)
def test_a_slope_is_the_derivative_of_its_log_density(density: Density) -> None:
    step = 1e-5
    rise = density.log_density(AT + step) - density.log_density(AT - step)
    assert density.slope(AT) == pytest.approx(rise / (2 * step), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("density", [density for density, _ in REFEREES], ids=IDS)
def test_a_density_integrates_to_one(density: Density) -> None:
    # beyond ±60 a Student density with 4 degrees of freedom has 1e-9 left
    u = np.concatenate([np.linspace(-60, -5, 20_000), np.linspace(-5, 60, 60_000)[1:]])
    with np.errstate(over="ignore", under="ignore"):
        total = trapezoid(np.exp(density.log_density(u)), u)
    # a normal density cut off at 0, as of a common slope, keeps Φ(mean/sd) of its mass
    expected = norm.cdf(2.0) if isinstance(density, LogOfNormalDensity) else 1.0
    assert total == pytest.approx(expected, abs=1e-6)


def test_far_out_values_have_finite_densities_and_slopes() -> None:
    far = np.array([-700.0, 700.0])
    for density, _ in REFEREES[:4]:
        assert np.isfinite(density.log_density(far)).all()
        assert np.isfinite(density.slope(far)).all()


def test_the_share_inverted_is_the_posterior_of_the_second_kind() -> None:
    density = TwoSidedDensity(1.2, 0.4, 0.1)
    of_second = np.log(0.1) + norm.logpdf(AT, -1.2, 0.4) - two_sided(AT)
    assert density.share_inverted(AT) == pytest.approx(np.exp(of_second), abs=1e-12)
