"""What a fit warns of: items without a finite estimate, or that it did not converge."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult

_NAMED = 5
"""Items named in a sentence; more would make it hard to read."""


def shortcoming_of(result: FitResult) -> str:
    """Say which items have no finite estimate, or that the fit did not converge; what to try."""
    unbounded = [
        name for name, s in zip(result.item_labels, result.status, strict=True) if s == "unbounded"
    ]
    if unbounded:
        named = ", ".join(map(repr, unbounded[:_NAMED]))
        more = len(unbounded) - _NAMED
        return (
            f"{len(unbounded)} of {len(result.item_labels)} items have no finite maximum of the "
            f"likelihood and keep the last value reached: {named}"
            + (f" and {more} more" if more > 0 else "")
            + ("" if result.converged else "; the fit did not converge for it")
            + "; prior='weak' gives finite estimates"
        )
    last = result.trace_rows[-1]
    if result.method == "vi":
        return (
            f"the evidence lower bound has not settled in {result.n_iterations} steps (smoothed "
            f"{last[5]:.4f}); raise max_iterations"
        )
    exhausted = result.n_iterations >= result.settings["max_iterations"]
    advice = ["raise max_iterations"] if exhausted else []
    advice += [] if result.settings["prior"] else ["use prior='weak'"]
    return (
        f"the fit did not converge in {result.n_iterations} iterations "
        f"(log-likelihood {last[2]:.4f}, last change of a parameter {last[3]:.2g})"
        + ("" if exhausted else ", no further step raises the likelihood")
        + (f"; {' or '.join(advice)}" if advice else "")
    )
