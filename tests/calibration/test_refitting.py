"""Claims about fits of other responses that are like an earlier one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtkit import (
    Beta,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    fit,
    simulate_responses,
)
from irtkit.calibration.refitting import refitted


@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("2PL", {"quadrature": (31, 5.0)}),
        ("2PL", {"prior": ItemPrior(LogNormal(0.0, 0.3), Normal(0.0, 2.0))}),
        ("3PL", {"prior": ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta(4.0, 12.0))}),
    ],
)
def test_the_same_responses_are_fitted_as_they_were(model: Any, how: dict[str, Any]) -> None:
    items = ItemParameters.from_difficulty(np.linspace(0.6, 1.6, 8), np.linspace(-1, 1, 8))
    ability = np.random.default_rng(0).normal(size=200)
    responses = simulate_responses(items, ability, seed=0)
    result = fit(responses, model, **how)
    again = refitted(result, responses, tol=1e-7)
    assert again.settings.prior == result.settings.prior
    assert again.settings.quadrature == result.settings.quadrature
    assert again.ability == pytest.approx(result.ability, abs=1e-6)
    assert again.items["intercept_se"].isna().all()


class Wide(Normal):
    """A density of a user's own."""


def test_a_density_that_the_settings_do_not_describe_is_refused_by_name() -> None:
    responses = ResponseMatrix([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]])
    prior = ItemPrior(Wide(1.0, 0.5), Normal(0.0, 2.0))
    result = fit(responses, prior=prior, standard_errors=False)
    with pytest.raises(ValueError, match="'Wide' is none of Normal, LogNormal, Beta"):
        refitted(result, responses, tol=1e-5)
