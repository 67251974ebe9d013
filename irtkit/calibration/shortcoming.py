"""What a fit warns of: items without a finite estimate, or that it did not converge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irtkit.checks import first_names

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult


def shortcoming_of(result: FitResult) -> str:
    """Say which items have no finite estimate, or that the fit did not converge; what to try."""
    unbounded = [
        repr(name)
        for name, status in zip(result.item_labels, result.status, strict=True)
        if status == "unbounded"
    ]
    if unbounded:
        return (
            f"{len(unbounded)} of {len(result.item_labels)} items have no finite maximum of the "
            f"likelihood and keep the last value reached: {first_names(unbounded)}"
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
