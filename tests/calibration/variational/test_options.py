"""Options of the variational path: refused where they are given, passed on where they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import Variational, fit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch": 0}, ValueError, "batch must be a whole number of respondents from 1"),
        ({"batch": 2.5}, ValueError, "batch must be a whole number of respondents from 1"),
        ({"batch": True}, ValueError, "batch must be a whole number of respondents from 1"),
        ({"batch": (10, 5)}, ValueError, "batch must be a whole number of respondents from 1"),
        ({"every": 0}, ValueError, "every must be a whole number, 1 or more"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be a path"),
        ({"checkpoint": "."}, ValueError, "checkpoint must be a file"),
        ({"checkpoint": "nowhere/state"}, FileNotFoundError, "there is no nowhere"),
    ],
)
def test_wrong_options_are_refused_by_name(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Variational(**arguments)


def test_the_size_of_a_step_is_a_plain_number_or_none() -> None:
    assert Variational().size is None
    size = Variational(batch=np.int64(5)).size
    assert size == 5
    assert type(size) is int


def test_options_of_the_variational_path_are_no_arguments_of_fit(tmp_path: Path) -> None:
    for name, value in {"batch": 10, "checkpoint": tmp_path / "state"}.items():
        remedy = rf"unexpected keyword argument '{name}'; write method=irtkit.Variational\({name}="
        with pytest.raises(TypeError, match=remedy):
            fit(None, method="vi", **{name: value})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tolerance'$"):
        fit(None, tolerance=1)
