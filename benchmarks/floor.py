"""How many times the unavoidable work of one step a whole fit takes.

The floor is two float32 matrix–vector products over the responses (Y a and Yᵀ m; the faster of
NumPy's BLAS and JAX) and one exponential over (respondents + items) × final nodes (JAX; the faster
of float32 and float64, which is float32 wherever memory or vector width decides, so that the
floor is no higher than it has to be). Fits are warm and without standard errors; fit and floor
take turns, and the best of each counts. Fits of more than 30 floors are marked. Shapes above 10⁵
cells. Run with ``make bench``.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from machine import arguments, part, store
from shapes import SHAPES, Shape, draw, parse

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_FLOORS = 30
PRIORS: dict[str, Literal["weak"] | None] = {"none": None, "weak": "weak"}
HEADER = (
    *("data", "prior", "fit s", "evaluations", "nodes", "products ms (by)"),
    *("exp float32 ms", "exp float64 ms", "fit / floor"),
)


def measure(shape: Shape, prior: Literal["weak"] | None, rounds: int) -> dict[str, Any]:
    """Best seconds of the fit and of each part of the floor."""
    values = draw(shape, seed=0)[1]
    responses = irtkit.ResponseMatrix(values)

    def fit() -> irtkit.FitResult:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # separable items are no matter here
            return irtkit.fit(
                responses, shape.model, prior=prior, standard_errors=False, progress=False
            )

    result = fit()
    nodes = result.quadrature.n_nodes
    parts = {"fit": fit, **products(values), **exponentials(sum(values.shape), nodes)}
    for work in parts.values():
        work()
    turns = [{name: stopwatch(work) for name, work in parts.items()} for _ in range(rounds)]
    best = {name: min(turn[name] for turn in turns) for name in parts}
    by = min(("NumPy", "JAX"), key=best.__getitem__)
    floor = best[by] + min(best["exp float32"], best["exp float64"])
    return {
        "shape": shape._asdict(),
        "prior": prior,
        "evaluations": result.n_iterations,
        "nodes": nodes,
        "seconds": best,
        "products_by": by,
        "floor_seconds": floor,
        "ratio": best["fit"] / floor,
    }


def products(values: np.ndarray[Any, np.dtype[np.int8]]) -> dict[str, Callable[[], Any]]:
    """Y a and Yᵀ m in float32, by NumPy and by JAX."""
    matrix = values.astype(np.float32)
    per_item, per_respondent = (np.ones(n, dtype=np.float32) for n in reversed(matrix.shape))
    on_device = [jnp.asarray(array) for array in (matrix, per_item, per_respondent)]
    both = jax.jit(lambda y, a, m: (y @ a, y.T @ m))
    return {
        "NumPy": lambda: (matrix @ per_item, matrix.T @ per_respondent),
        "JAX": lambda: [found.block_until_ready() for found in both(*on_device)],
    }


def exponentials(rows: int, nodes: int) -> dict[str, Callable[[], Any]]:
    """One exponential of every number of a rows × nodes table, in either precision."""
    exponential = jax.jit(jnp.exp)
    table = np.linspace(-20, 0, rows * nodes).reshape(rows, nodes)

    def work(dtype: str) -> Callable[[], Any]:
        with jax.enable_x64(dtype == "float64"):
            on_device = jnp.asarray(table, dtype=dtype)

        def apply() -> Any:
            with jax.enable_x64(dtype == "float64"):
                return exponential(on_device).block_until_ready()

        return apply

    return {f"exp {dtype}": work(dtype) for dtype in ("float32", "float64")}


def stopwatch(work: Callable[[], Any]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def row(shape: Shape, found: dict[str, Any]) -> str:
    """One row of the table."""
    seconds, by = found["seconds"], found["products_by"]
    return (
        f"| {shape} | {found['prior']} | {seconds['fit']:.3g} | {found['evaluations']} "
        f"| {found['nodes']} | {seconds[by] * 1e3:.3g} ({by}) | {seconds['exp float32'] * 1e3:.3g} "
        f"| {seconds['exp float64'] * 1e3:.3g} "
        f"| {found['ratio']:.1f}{' (over 30)' if found['ratio'] > MOST_FLOORS else ''} |"
    )


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    large = [shape for shape in SHAPES if shape.cells > 100_000]
    parser.add_argument(
        "--shapes", nargs="+", type=parse, default=part(large, 0), metavar="200x1000:2PL"
    )
    parser.add_argument("--priors", nargs="+", choices=PRIORS, default=list(PRIORS))
    parser.add_argument("--rounds", type=int, default=5, help="timed fits and floors")
    options = parser.parse_args()
    records = []
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for shape in options.shapes:
        for prior in options.priors:
            records.append(measure(shape, PRIORS[prior], options.rounds))
            print(row(shape, records[-1]), flush=True)
    store(options, fits=records)


if __name__ == "__main__":
    main()
