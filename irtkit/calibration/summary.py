"""A fit in a few readable lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult

_SHOWN = 5


def summarise(result: FitResult) -> str:
    """Return what ``print(result)`` shows: the fit, the hardest items, the ablest respondents."""
    items, respondents = result.items, result.respondents
    n_synthetic = int(result.synthetic.sum())
    synthetic = f" and {n_synthetic} synthetic" if n_synthetic else ""
    state = "converged" if result.converged else "NOT CONVERGED"
    unit = "iterations" if result.elbo is None else "variational steps"
    lines = [
        f"{result.model} fitted to {result.n_real} respondents{synthetic} × {len(items)} items",
        f"{state} after {result.n_iterations} {unit} on {result.quadrature.n_nodes} nodes",
        (
            f"log-likelihood {result.log_likelihood:.3f}   AIC {result.aic:.1f}   "
            f"BIC {result.bic:.1f}   ({result.n_parameters} parameters)"
        ),
    ]
    if result.elbo is not None:
        lines.append(f"evidence lower bound {result.elbo:.3f}; items are posterior means")
    if result.model == "Rasch":
        lines.append(f"SD of ability {result.latent_sd:.3f}")
    negative = int((items["discrimination"] < 0).sum())
    if result.model in {"2PL", "3PL"}:
        lines.append(
            f"discrimination is estimated below 0 for {negative} of {len(items)} items "
            "(irtkit.flag_items says which are to be believed)"
        )
    counts = items["status"].value_counts()
    unusual = [f"{n} {status}" for status, n in counts.items() if status != "ok"]
    if unusual:
        lines.append("items not ok: " + ", ".join(unusual))
    hardest = items.sort_values("average_error", ascending=False).head(_SHOWN)
    ablest = respondents[~respondents["synthetic"]].sort_values("ability", ascending=False)
    columns = ["discrimination", "difficulty", "average_error", "n_responses", "status"]
    if result.model == "3PL":
        columns.insert(2, "guessing")
    lines += [
        "",
        "items with the highest average error:",
        hardest[columns].to_string(float_format="%.3f", index_names=False),
        "",
        "ablest respondents:",
        ablest.head(_SHOWN)[["ability", "ability_se", "accuracy", "n_responses"]].to_string(
            float_format="%.3f", index_names=False
        ),
    ]
    return "\n".join(lines)
