"""What a method found, turned into a result: right way up, in the unit of the model, labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import Counts, FitResult, Quadrature
from irtkit.irf import ItemParameters, ModelName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.variational.posterior import Posterior
    from irtkit.irf import Items
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes
    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]

_UNBOUNDED_INFORMATION = 0.05
"""Expected number of uncertain responses, ΣP(1 − P), below which an item is fitted perfectly."""
_UNBOUNDED_SLOPE = 20.0
"""Slope beyond which an item is a step, in logits per SD of ability, as for the weak prior."""


class Solution(NamedTuple):
    """Items and abilities as a method left them, before orientation, unit and labels.

    Ability is N(0, 1), but where ``latent_sd`` says otherwise.
    """

    items: Items
    covariances: Array | None
    """Of slope, intercept (and logit of guessing), (n_items, k, k); None if not asked for."""
    information: Array | None
    """Expected number of uncertain responses to every item; None with a prior, under which no item
    is unbounded."""
    common_slope: bool
    ability: Array
    ability_se: Array
    latent_sd: float | None
    """SD of ability of a Rasch model whose slopes are 1."""
    synthetic_sd: float
    log_likelihood: float
    converged: bool
    n_iterations: int
    trace_rows: Array
    nodes: Nodes
    quadrature_error: float
    posterior: Posterior | None = None


def counts_of(rows: Patterns) -> Counts:
    """Counts of responses, those by item of real respondents alone."""
    counts = Counts(
        rows.margins.item_right[0].astype(np.int64),
        rows.margins.item_responses[0].astype(np.int64),
        rows.margins.respondent_right.astype(np.int64),
        rows.margins.respondent_responses.astype(np.int64),
    )
    if not counts.item_responses.any():
        raise ValueError("responses holds no response of a real respondent")
    return counts


def result_of(
    solution: Solution,
    responses: ResponseMatrix,
    counts: Counts,
    *,
    model: ModelName,
    method: str,
    settings: dict[str, Any],
) -> FitResult:
    """Turn the scale the right way up, set the unit of Rasch, and put labels on."""
    from irtkit.calibration.standard_errors import of_parameters

    separate = settings["synthetic"] == "separate"
    synthetic = responses.synthetic if separate else np.zeros_like(responses.synthetic)
    slope = np.array(solution.items.slope)
    common = float(slope[0]) if solution.common_slope else None
    stretch = _orientation(solution.ability, counts, synthetic, common)
    latent_sd = 1.0 if solution.latent_sd is None else solution.latent_sd
    if model == "Rasch" and common is not None and solution.latent_sd is None:
        latent_sd = abs(common)
        stretch *= latent_sd
    status = _status(counts, solution.information, slope)
    parameters = _parameters(solution, stretch, status, with_prior=bool(settings["prior"]))
    standard_errors = np.full((responses.n_items, 4), np.nan)
    if solution.covariances is not None:
        standard_errors = of_parameters(parameters, model, solution.covariances, stretch)
        standard_errors[np.isnan(parameters.intercept)] = np.nan
    if synthetic.any():
        settings["synthetic_ability_sd"] = solution.synthetic_sd * abs(stretch)
    nodes = solution.nodes.theta * abs(stretch)
    posterior = solution.posterior
    return FitResult(
        model=model,
        method=method,
        settings=settings,
        item_labels=responses.items,
        respondent_labels=responses.respondents,
        parameters=parameters,
        standard_errors=standard_errors,
        status=status,
        ability=solution.ability * stretch,
        ability_se=solution.ability_se * abs(stretch),
        synthetic=synthetic,
        counts=counts,
        latent_sd=latent_sd,
        log_likelihood=solution.log_likelihood,
        n_parameters=_n_parameters(model, responses.n_items),
        converged=solution.converged,
        n_iterations=solution.n_iterations,
        trace_rows=solution.trace_rows,
        quadrature=Quadrature(
            n_nodes=solution.nodes.n_nodes,
            lowest=float(nodes.min()),
            highest=float(nodes.max()),
            estimated_error=solution.quadrature_error,
        ),
        responses=responses,
        posterior=None if posterior is None else posterior.stretched(stretch),
    )


def _parameters(
    solution: Solution, stretch: float, status: tuple[str, ...], *, with_prior: bool
) -> ItemParameters:
    """Item parameters in units of ability times ``stretch``; NaN where nothing is known."""
    from scipy.special import expit

    items = solution.items
    slope, intercept = np.array(items.slope) / stretch, np.array(items.intercept)
    guessing = np.zeros_like(slope)
    if items.logit_guessing is not None:
        guessing = np.minimum(expit(np.array(items.logit_guessing)), 1 - 1e-12)
    if not with_prior:
        unknown = np.array(status) == "no responses"
        intercept[unknown] = np.nan
        if not solution.common_slope:
            slope[unknown] = guessing[unknown] = np.nan
    return ItemParameters(slope, intercept, guessing)


def _n_parameters(model: ModelName, n_items: int) -> int:
    return {"Rasch": n_items + 1, "1PL": n_items + 1, "2PL": 2 * n_items, "3PL": 3 * n_items}[model]


def _orientation(
    ability: NDArray[np.float64],
    counts: Counts,
    synthetic: NDArray[np.bool_],
    common_slope: float | None,
) -> float:
    """1.0, or −1.0 if ability falls with the proportion right among real respondents."""
    if common_slope is not None:  # the proportions right may all be equal
        return -1.0 if common_slope < 0 else 1.0
    kept = ~synthetic & (counts.respondent_responses > 0)
    share = counts.respondent_right[kept] / counts.respondent_responses[kept]
    agreement = float((share - share.mean()) @ ability[kept])
    return -1.0 if agreement < 0 else 1.0


def _status(
    counts: Counts, information: NDArray[np.float64] | None, slope: NDArray[np.float64]
) -> tuple[str, ...]:
    """Status of every item; ``information`` is the expected number of uncertain responses.

    It is None with a prior, under which no item is unbounded. ``slope`` is that in units of the
    SD of ability.
    """
    status = np.full(len(counts.item_right), "ok", dtype=object)
    wrong = counts.item_responses - counts.item_right
    status[(counts.item_right == 0) | (wrong == 0)] = "no variance"
    if information is not None:
        perfect = information < _UNBOUNDED_INFORMATION
        status[perfect | (np.abs(slope) > _UNBOUNDED_SLOPE)] = "unbounded"
    status[counts.item_responses == 0] = "no responses"
    return tuple(status)
