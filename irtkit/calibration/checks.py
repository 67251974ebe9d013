"""What may be fitted, and with which settings: refused by name before anything heavy is loaded."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from irtkit.irf import MODELS
from irtkit.responses import ResponseMatrix

_AMORTISED_BATCH = 1024
"""Respondents of a step where none are asked for."""


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


def check_settings(method: str, quadrature: object, tol: float, max_iterations: int) -> None:
    """Refuse settings outside what the documentation names."""
    _check_one_of("method", method, ("em", "vi"))
    if not _is_number(tol) or not 0 < tol < math.inf:
        raise ValueError(f"tol must be a number above 0, got {tol!r}")
    if not _is_whole(max_iterations) or max_iterations < 1:
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


def check_batch(method: str, batch: object, *, amortised: bool) -> tuple[int | None, int | None]:
    """Respondents and items of a step, each None for all."""
    if method != "vi" and (batch is not None or amortised):
        name = "amortised" if batch is None else "batch"
        raise ValueError(f"{name} is for method='vi'; method is {method!r}")
    sizes = batch if isinstance(batch, tuple | list) else (batch, None)
    if len(sizes) != 2 or not all(s is None or (_is_whole(s) and s >= 1) for s in sizes):
        raise ValueError(
            "batch must be a whole number of respondents from 1, (respondents, items) or None; "
            f"got {batch!r}"
        )
    if sizes[1] is not None and not amortised:
        raise ValueError(
            "batch may hold items with amortised=True only: the likelihood of a respondent, with "
            f"ability integrated out, is no sum over items; got {batch!r}"
        )
    n_respondents, n_items = (None if size is None else int(size) for size in sizes)
    return (_AMORTISED_BATCH if amortised and n_respondents is None else n_respondents), n_items


def check_variational(method: str, prior: object, *, checkpoint: object, every: int) -> None:
    """Refuse settings of the variational path where it is not asked for, and wrong ones."""
    if method != "vi":
        if checkpoint is not None:
            raise ValueError(f"checkpoint is for method='vi'; method is {method!r}")
    elif prior is None:
        raise ValueError(
            "prior must not be None for method='vi': a posterior needs one; prior='weak' leaves "
            "scale and location free"
        )
    if not (_is_whole(every) and every >= 1):
        raise ValueError(f"every must be a whole number from 1, got {every!r}")
    if checkpoint is not None:
        _check_checkpoint(checkpoint)


def check_yes_or_no(**given: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {value!r}")


def _check_checkpoint(checkpoint: object) -> None:
    """Refuse a path that no file can be written to, before any work is done."""
    if not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be a path or None, got {type(checkpoint).__name__}")
    path = Path(checkpoint)
    if path.is_dir():
        raise ValueError(f"checkpoint must be a file, and {path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"checkpoint must lie in a folder, and there is no {path.parent}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float | np.floating)


def _check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")


def _check_fixed_grid(quadrature: object) -> None:
    if isinstance(quadrature, tuple | list) and len(quadrature) == 2:
        nodes, limit = quadrature
        if _is_whole(nodes) and nodes >= 3 and _is_number(limit) and 0 < limit < math.inf:
            return
    raise ValueError(
        "quadrature must be 'adaptive' or (nodes, limit), a whole number from 3 and a number "
        f"above 0; got {quadrature!r}"
    )
