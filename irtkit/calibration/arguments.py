"""Arguments of `fit` that are refused by name before anything heavy is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irtkit.calibration.expected import expecting
from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.variational.options import Variational
from irtkit.checks import as_number, check_memory, check_whole, is_whole, short

if TYPE_CHECKING:
    from irtkit.responses import ResponseMatrix

TOLERANCES = {"em": 1e-7, "vi": 0.03}
"""Estimates within √(2·10⁻⁷), 0.0004 standard errors of the maximum; posterior means within 3 %
of a posterior SD, which changes the probability of a 90 % interval by 0.02 %."""

_MOST_NODES, _LEAST_LIMIT, _MOST_LIMIT = 100_000, 0.01, 1000.0
"""Bounds of a fixed grid: with 1,000 items so many nodes make tables of 0.8 GB; on a narrower grid
no item tells ability from 0, and on a wider one probabilities are 0 and 1 at the first node."""

_BYTES = 80.0
"""Bytes of every respondent and item that EM takes at the least, beside a copy of the responses (a
byte a cell, or six of an observed one): measured were 1.3 to 3.5 times as many in all (200,000 ×
50, 20,000 × 300, 1,000 × 8,000), and where cells are missing 0.1 to 0.3 GB more (200,000 × 50,
20,000 × 1,000, 100,000 × 500, 5,000 × 10,000)."""


def check_batches(batch_items: object, possible: bool) -> None:  # noqa: FBT001
    """Refuse batches of no item, or where something else links all items."""
    if batch_items is None:
        return
    check_whole("batch_items", batch_items, 1)
    if not possible:
        raise ValueError("batch_items is for method='em' without fixed items or a mesh")


def variational_of(method: object) -> Variational | None:
    """Options of the variational path; None for EM."""
    if isinstance(method, Variational):
        return method
    if not isinstance(method, str) or method not in TOLERANCES:
        raise ValueError(f"method must be 'em', 'vi' or an irtkit.Variational, got {short(method)}")
    return Variational() if method == "vi" else None


def prior_expecting(
    prior: Any, mean: object, sd: float | None, responses: ResponseMatrix, method: str
) -> Any:
    """The prior, with difficulties that are expected of items if there are any."""
    if mean is None and sd is None:
        return prior
    if mean is None:
        raise ValueError("item_prior_sd is how far off item_prior_mean may be, which is not given")
    weak = WeakPrior() if isinstance(prior, str) and prior == "weak" else prior
    if method != "em" or not isinstance(weak, WeakPrior):
        raise ValueError("item_prior_mean is for method='em' with the weak prior")
    return expecting(weak, mean, sd, responses.items)


def check_memory_of(responses: ResponseMatrix, variational: Variational | None) -> None:
    """Refuse what EM surely needs more memory for than there is."""
    if variational is not None:
        return
    n, n_items = responses.n_respondents, responses.n_items
    needed = responses.cells.n_bytes + _BYTES * (n + n_items)
    remedy = (
        "irtkit.read_responses(…, sparse=True) keeps only the observed cells, and "
        "method=irtkit.Variational(batch=4096) fits a part of the respondents at a time"
    )
    check_memory(needed, f"a fit of {n} respondents × {n_items} items", remedy)


def check_data(responses: ResponseMatrix, synthetic: str) -> None:
    """Refuse what cannot be fitted."""
    if synthetic == "separate" and responses.synthetic.all():
        raise ValueError(
            "responses holds synthetic respondents only; real ones set the scale "
            "(synthetic='ordinary' treats all rows alike)"
        )


def checked_quadrature(quadrature: object) -> str | list[float]:
    """Return the name of the adaptive grid, or nodes and limit of a fixed one."""
    if isinstance(quadrature, str) and quadrature == "adaptive":
        return quadrature
    if isinstance(quadrature, tuple | list) and len(quadrature) == 2:
        nodes, limit = quadrature
        if (
            is_whole(nodes)
            and 3 <= nodes <= _MOST_NODES
            and _LEAST_LIMIT <= as_number(limit) <= _MOST_LIMIT
        ):
            return [int(nodes), float(limit)]
    raise ValueError(
        f"quadrature must be 'adaptive' or (nodes, limit), a whole number from 3 to {_MOST_NODES} "
        f"and a number from {_LEAST_LIMIT:g} to {_MOST_LIMIT:g}; got {short(quadrature)}"
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
            "prior must be 'weak', 'empirical', None, an ItemPrior or a WeakPrior, got "
            f"{short(prior)}"
        )
