"""Priors as objects."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import irtkit
from irtkit import (
    Beta,
    ItemParameters,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    fit,
)


def drawn(
    n_respondents: int, n_items: int, seed: int, negative: float = 0.0
) -> tuple[ResponseMatrix, ItemParameters]:
    generator = np.random.default_rng(seed)
    slope = generator.lognormal(0, 0.3, n_items)
    slope[generator.random(n_items) < negative] *= -1
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return irtkit.simulate_responses(items, generator.normal(size=n_respondents), seed=seed), items


def test_a_narrow_density_pins_its_parameter_and_leaves_the_others_free() -> None:
    responses, _ = drawn(400, 12, seed=1)
    free = fit(responses, "2PL", prior=None).items
    held = fit(responses, "2PL", prior=ItemPrior(intercept=Normal(0.7, 1e-3))).items
    assert held["intercept"].to_numpy() == pytest.approx(0.7, abs=0.01)
    assert free["intercept"].std() > 0.3
    slopes = fit(responses, "2PL", prior=ItemPrior(Normal(0.9, 1e-3))).items["discrimination"]
    assert slopes.to_numpy() == pytest.approx(0.9, abs=0.01)


def test_a_density_of_the_size_of_slopes_leaves_their_sign_free() -> None:
    responses, items = drawn(400, 30, seed=2, negative=0.3)
    result = fit(responses, "2PL", prior=ItemPrior(LogNormal(0.0, 0.1)))
    slopes = result.items["discrimination"].to_numpy()
    assert (np.sign(slopes) == np.sign(items.discrimination)).all()
    assert np.abs(slopes) == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Normal(0.0, 0.0), "sd of Normal"),
        (lambda: LogNormal(0.0, -1.0), "sd of LogNormal"),
        (lambda: Beta(0.0, 1.0), "alpha of Beta"),
        (lambda: ItemPrior(guessing=LogNormal(0.0, 1.0)), "guessing of ItemPrior"),  # type: ignore[arg-type]
        (lambda: ItemPrior(discrimination=1.0), "discrimination of ItemPrior"),  # type: ignore[arg-type]
        (lambda: fit(drawn(20, 5, 1)[0], prior="strong"), "prior must be"),  # type: ignore[arg-type]
        (lambda: fit(drawn(20, 5, 1)[0], "1PL", prior="empirical"), "empirical"),
    ],
)
def test_what_is_no_prior_is_refused_by_name(make: Any, named: str) -> None:
    with pytest.raises((ValueError, TypeError), match=named):
        make()


def test_priors_are_there_without_loading_jax() -> None:
    code = (
        "import sys, irtkit; irtkit.ItemPrior(irtkit.LogNormal(0, 1)); print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
