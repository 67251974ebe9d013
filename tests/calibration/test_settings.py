"""Settings are a record, and read like a dictionary of what concerns the fit."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from irtkit.calibration.settings import Settings

SETTINGS = Settings(
    prior=None,
    seed=3,
    quadrature=[61, 6.0],
    standard_errors=True,
    synthetic="separate",
    tol=1e-7,
    max_iterations=10,
)


def test_keys_are_the_names_of_what_concerns_the_fit() -> None:
    assert SETTINGS["tol"] == SETTINGS.tol == 1e-7
    assert "devices" not in SETTINGS
    assert replace(SETTINGS, devices=1)["devices"] == 1
    assert len(SETTINGS) == len(list(SETTINGS)) == 7
    with pytest.raises(KeyError, match="devices"):
        SETTINGS["devices"]
    with pytest.raises(KeyError, match="model"):
        SETTINGS["model"]


def test_no_prior_is_told_as_none() -> None:
    assert "prior" in SETTINGS
    assert SETTINGS["prior"] is None


def test_settings_are_equal_to_the_dictionary_of_them() -> None:
    as_dictionary = json.loads(json.dumps(dict(SETTINGS)))
    assert as_dictionary == SETTINGS
    assert as_dictionary != replace(SETTINGS, seed=4)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SETTINGS.seed = 4  # type: ignore[misc]
