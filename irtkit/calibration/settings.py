"""How a result was got: the arguments of its fit, and the grid that followed from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


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
