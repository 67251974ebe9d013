"""How a result was got: the arguments of its fit, and the grid that followed from them.

Arguments are refused by name before anything heavy is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.priors import WeakPrior
from irtkit.checks import as_number, check_one_of, check_type, is_whole
from irtkit.irf import MODELS
from irtkit.responses import ResponseMatrix


@dataclass(frozen=True, eq=False)
class Settings(Mapping[str, Any]):
    """Arguments of a fit; ``result.settings``.

    They read like a dictionary as well: ``settings["tol"]`` is ``settings.tol``. What does not
    concern a fit is None, and no key.
    """

    prior: Any
    """As the argument gave it; of a result, in plain values with all that was learned, or None."""
    seed: int
    quadrature: str | list[float]
    """"adaptive", or [nodes, limit]."""
    standard_errors: bool
    synthetic: str
    tol: float
    max_iterations: int
    devices: int | None = None
    """Devices of the mesh."""
    batch: list[int | None] | None = None
    """[respondents, items] of a step, None for all."""
    amortised: bool | None = None
    synthetic_ability_sd: float | None = None
    """SD of ability among synthetic respondents, if there are any and "separate"."""

    def __getitem__(self, name: str) -> Any:
        return self._stated()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stated())

    def __len__(self) -> int:
        return len(self._stated())

    def _stated(self) -> dict[str, Any]:
        given = vars(self).items()
        return {name: value for name, value in given if value is not None or name == "prior"}


@dataclass(frozen=True)
class Quadrature:
    """The grid over which ability was integrated.

    Parameters
    ----------
    n_nodes, lowest, highest
        Number of nodes and where they begin and end, in units of ability.
    estimated_error
        Absolute difference between the log-likelihood on this grid and on an adaptive one twice
        as dense as it needs to be, over all real respondents together.
    """

    n_nodes: int
    lowest: float
    highest: float
    estimated_error: float


def check_data(responses: ResponseMatrix, model: str, synthetic: str) -> None:
    """Refuse what cannot be fitted."""
    check_type("responses", responses, ResponseMatrix)
    check_one_of("model", model, MODELS)
    check_one_of("synthetic", synthetic, ("separate", "ordinary"))
    if synthetic == "separate" and responses.synthetic.all():
        raise ValueError(
            "responses holds synthetic respondents only; real ones set the scale "
            "(synthetic='ordinary' treats all rows alike)"
        )


def check_quadrature(quadrature: object) -> None:
    """Refuse what is neither the adaptive grid nor a fixed one."""
    if isinstance(quadrature, str) and quadrature == "adaptive":
        return
    if isinstance(quadrature, tuple | list) and len(quadrature) == 2:
        nodes, limit = quadrature
        if is_whole(nodes) and nodes >= 3 and 0 < as_number(limit) < math.inf:
            return
    raise ValueError(
        "quadrature must be 'adaptive' or (nodes, limit), a whole number from 3 and a number "
        f"above 0; got {quadrature!r}"
    )


def check_mesh(mesh: object) -> None:
    """Refuse what holds no device to compute on; jax is loaded only where there is a mesh."""
    from jax.sharding import Mesh

    if not isinstance(mesh, Mesh):
        raise TypeError(f"mesh must be a jax.sharding.Mesh or None, got {type(mesh).__name__}")
    if not mesh.local_devices:
        raise ValueError("mesh must hold at least one device of this process")
    if len(set(mesh.devices.flat)) < mesh.size:
        raise ValueError("mesh must hold every device once only")


def check_prior(prior: object, model: str, *, variational: bool) -> None:
    """Refuse a prior that the method or the model cannot have, or what is none."""
    if variational and prior is None:
        raise ValueError(
            "prior must not be None for method='vi': a posterior needs one; prior='weak' leaves "
            "scale and location free"
        )
    if isinstance(prior, str) and prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' learns about slopes, which {model} has not by item")
    named = isinstance(prior, str) and prior in {"weak", "empirical"}
    if not (named or prior is None or isinstance(prior, WeakPrior | ItemPrior)):
        raise ValueError(
            f"prior must be 'weak', 'empirical', None, an ItemPrior or a WeakPrior, got {prior!r}"
        )
