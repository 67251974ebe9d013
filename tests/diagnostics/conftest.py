"""What tests of the statistics of fit share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import (
    FitResult,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    fit,
    simulate_responses,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.irf import ModelName


@pytest.fixture(scope="session")
def mirt_fits() -> dict[tuple[str, str], FitResult]:
    """Fits that a test has asked for, which others get too."""
    return {}


@pytest.fixture
def mirt_fit(
    classical_test: Callable[[str], Any], mirt_fits: dict[tuple[str, str], FitResult]
) -> Callable[[str, str], Any]:
    """Fit a classical test as R's mirt did, and find what that says of the fit."""

    def of(name: str, model: str) -> tuple[FitResult, dict[str, Any]]:
        responses, mirt = classical_test(name)
        if (name, model) not in mirt_fits:
            guessing = ItemPrior(guessing=Normal(-1.1, 0.5))
            prior, kind = (guessing, "3PL") if model == "3PLnorm" else (None, model)
            mirt_fits[name, model] = fit(
                responses, kind, prior=prior, quadrature=(61, 6.0), standard_errors=False
            )
        return mirt_fits[name, model], mirt[model]

    return of


@pytest.fixture(scope="session")
def drawn() -> Callable[..., ResponseMatrix]:
    """Draw responses from a model."""

    def draw(
        n_respondents: int, n_items: int, seed: int = 0, model: ModelName = "2PL"
    ) -> ResponseMatrix:
        generator = np.random.default_rng(seed)
        items = ItemParameters.from_difficulty(
            generator.lognormal(0, 0.3, n_items),
            generator.normal(size=n_items),
            0.2 if model == "3PL" else 0.0,
        )
        return simulate_responses(items, generator.normal(size=n_respondents), seed=generator)

    return draw
