"""Settings of the methods are refused where they are given, and used by `fit`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from irtkit import EM, Variational, fit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("method", [EM, Variational])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tol": 0.0}, ValueError, "tol must be above 0"),
        ({"tol": math.nan}, ValueError, "tol must be"),
        ({"tol": "a"}, TypeError, "tol must be a number"),
        ({"max_iterations": 2.5}, ValueError, "max_iterations must be a whole number"),
        ({"max_iterations": 0}, ValueError, "max_iterations must be a whole number"),
        ({"mesh": "cpu"}, TypeError, r"mesh must be a jax\.sharding\.Mesh or None, got str"),
    ],
)
def test_wrong_settings_of_a_method_are_refused_by_name(
    method: type, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        method(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch": 0}, ValueError, "batch must be a whole number"),
        ({"batch": True}, ValueError, "batch must be a whole number"),
        ({"batch": (10, 5)}, ValueError, "batch must be a whole number"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be a text or"),
        ({"checkpoint": "."}, ValueError, "checkpoint must be a file"),
        ({"checkpoint": "nowhere/state"}, FileNotFoundError, "nowhere is missing"),
    ],
)
def test_wrong_settings_of_the_variational_path_are_refused_by_name(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Variational(**arguments)


def test_fit_names_the_method_that_a_setting_belongs_to(tmp_path: Path) -> None:
    for name, value in {"batch": 10, "checkpoint": tmp_path / "state"}.items():
        remedy = rf"unexpected keyword argument '{name}'. Write method=irtkit.Variational\({name}="
        with pytest.raises(TypeError, match=remedy):
            fit(None, method="vi", **{name: value})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tolerance'$"):
        fit(None, tolerance=1)
