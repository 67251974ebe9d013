"""What may be fitted, and with which settings: refused by name before anything heavy is loaded."""

from __future__ import annotations

import math

import numpy as np

from irtkit.irf import MODELS
from irtkit.responses import ResponseMatrix


def check_data(responses: ResponseMatrix, model: str, synthetic: str) -> None:
    """Refuse what cannot be fitted."""
    if not isinstance(responses, ResponseMatrix):
        raise TypeError(
            f"responses must be an irtkit.ResponseMatrix, got {type(responses).__name__}; "
            "ResponseMatrix.from_frame takes a DataFrame, read_responses a file"
        )
    _check_one_of("model", model, MODELS)
    _check_one_of("synthetic", synthetic, ("separate", "ordinary"))
    if synthetic == "separate" and responses.synthetic.all():
        raise ValueError(
            "responses holds synthetic respondents only; real ones set the scale "
            "(synthetic='ordinary' treats all rows alike)"
        )


def check_settings(quadrature: object, tol: float, max_iterations: int) -> None:
    """Refuse settings outside what the documentation names."""
    if not _is_number(tol) or not 0 < tol < math.inf:
        raise ValueError(f"tol must be a number above 0, got {tol!r}")
    if not is_whole(max_iterations) or max_iterations < 1:
        raise ValueError(f"max_iterations must be a whole number from 1, got {max_iterations!r}")
    if not isinstance(quadrature, str) or quadrature != "adaptive":
        _check_fixed_grid(quadrature)


def check_mesh(mesh: object) -> None:
    """Refuse what holds no device to compute on; jax is loaded only where there is a mesh."""
    if mesh is None:
        return
    from jax.sharding import Mesh

    if not isinstance(mesh, Mesh):
        raise TypeError(f"mesh must be a jax.sharding.Mesh or None, got {type(mesh).__name__}")
    if not mesh.local_devices:
        raise ValueError("mesh must hold at least one device of this process")
    if len(set(mesh.devices.flat)) < mesh.size:
        raise ValueError("mesh must hold every device once only")


def check_prior(prior: object, model: str, *, variational: bool) -> None:
    """Refuse a prior that the method or the model cannot have."""
    if variational and prior is None:
        raise ValueError(
            "prior must not be None for method='vi': a posterior needs one; prior='weak' leaves "
            "scale and location free"
        )
    if prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' learns about slopes, which {model} has not by item")


def check_yes_or_no(**given: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {value!r}")


def is_whole(value: object) -> bool:
    """Whether something is a whole number, of Python or of NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return is_whole(value) or isinstance(value, float | np.floating)


def _check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")


def _check_fixed_grid(quadrature: object) -> None:
    if isinstance(quadrature, tuple | list) and len(quadrature) == 2:
        nodes, limit = quadrature
        if is_whole(nodes) and nodes >= 3 and _is_number(limit) and 0 < limit < math.inf:
            return
    raise ValueError(
        "quadrature must be 'adaptive' or (nodes, limit), a whole number from 3 and a number "
        f"above 0; got {quadrature!r}"
    )
