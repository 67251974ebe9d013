"""Items fitted apart, in consecutive batches, as where a program cannot take them all at once.

The respondents carry the scale: in every batch their ability has mean 0 and the same unit, so that
items of different batches are comparable as far as the same respondents, or respondents drawn
alike, answered both. Abilities follow from all items together, these being as their batches left
them (Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo 2022, supplement).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.likelihood import population_sds
from irtkit.calibration.maximise import problem_of
from irtkit.data.patterns import REAL
from irtkit.irf import Items
from irtkit.signs import proportion_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration.estimates import Estimates
    from irtkit.calibration.maximise import GridSchedule
    from irtkit.data.patterns import Patterns


def batched_estimates(
    patterns: Patterns,
    size: int,
    schedule: GridSchedule,
    *,
    rasch: bool,
    estimates_of: Callable[[Patterns, slice], Estimates],
) -> Estimates:
    """Fit blocks of ``size`` consecutive items, the last one with what is left, and put together.

    Of the batches of a Rasch model, whose SDs of ability differ, items keep their slope of 1; all
    abilities together have the root mean square of those SDs, over items.
    """
    n_items = patterns.cells.shape[1]
    blocks = [slice(start, min(start + size, n_items)) for start in range(0, n_items, size)]
    parts: list[Estimates] = []
    rows: list[tuple[float, ...]] = []
    for block in blocks:
        batch = patterns.with_columns(np.arange(block.start, block.stop))
        if not (batch.margins.item_responses[REAL]).any():
            raise ValueError(
                f"batch_items: no real respondent answered items {block.start + 1} to {block.stop}"
            )
        part = in_unit_of_rasch(estimates_of(batch, block)) if rasch else estimates_of(batch, block)
        parts.append(_turned(part, batch))
        rows.append(_row(parts[-1], block.start, batch))
    together = _together(parts, patterns, schedule)
    return together._replace(batch_rows=np.array(rows, dtype=np.float64))


def _turned(part: Estimates, batch: Patterns) -> Estimates:
    """Estimates whose abilities rise with how much respondents get right."""
    if proportion_score(batch).value @ part.ability >= 0:
        return part
    covariances = part.covariances
    if covariances is not None:
        sign = np.ones(covariances.shape[1])
        sign[0] = -1.0
        covariances = covariances * sign[:, None] * sign
    items = part.items._replace(slope=-part.items.slope)
    return part._replace(items=items, ability=-part.ability, covariances=covariances)


def in_unit_of_rasch(part: Estimates) -> Estimates:
    """A 1PL with slopes of 1 and the SD of ability for a slope, where it is not so already."""
    if part.latent_sd is not None:
        return part
    unit = float(part.items.slope[0])
    return part._replace(
        items=part.items._replace(slope=np.ones_like(part.items.slope)),
        ability=part.ability * unit,
        ability_se=part.ability_se * abs(unit),
        latent_sd=abs(unit),
        synthetic_sd=part.synthetic_sd * abs(unit),
    )


def _row(part: Estimates, first_item: int, batch: Patterns) -> tuple[float, ...]:
    """What ``BATCH_COLUMNS`` name; abilities are posterior means of those who answered."""
    ability = part.ability[batch.real & (batch.margins.respondent_responses > 0)]
    latent_sd = 1.0 if part.latent_sd is None else part.latent_sd
    about = float(ability.mean()), float(ability.std()), latent_sd
    size = len(part.items.slope)
    return first_item, size, *about, part.log_likelihood, float(part.converged)


def _together(parts: list[Estimates], patterns: Patterns, schedule: GridSchedule) -> Estimates:
    """Items of all batches, with abilities and the likelihood of all responses under them.

    What a batch found of the population, and of repeated trials, counts by its number of items.
    """
    first = parts[0]
    sizes = [len(part.items.slope) for part in parts]
    sd = None
    if first.latent_sd is not None:
        sd = float(
            np.sqrt(np.average([(part.latent_sd or 1.0) ** 2 for part in parts], weights=sizes))
        )
    items = Items(*(_joined([part.items[k] for part in parts]) for k in range(3)))
    correlation = None
    if repeated := [part for part in parts if part.trial_correlation is not None]:
        weights = [len(part.items.slope) for part in repeated]
        correlation = float(
            np.average([part.trial_correlation or 0.0 for part in repeated], weights=weights)
        )
    patterns = patterns.with_trial_correlation(correlation or 0.0)
    problem = problem_of(patterns, "2PL" if items.logit_guessing is None else "3PL", None)
    unit = 1.0 if sd is None else sd
    at = items._replace(slope=items.slope * unit)
    posteriors, half_width = problem.dense_posteriors(problem.parameters.vector(at), schedule)
    nodes = schedule.density(at, patterns, half_width).nodes(2, 2)
    trace = [part.trace_rows for part in parts]
    return first._replace(
        items=items,
        covariances=_joined([part.covariances for part in parts]),
        unbounded=_joined([part.unbounded for part in parts]),
        common_slope=False,
        ability=posteriors.mean * unit,
        ability_se=posteriors.sd * unit,
        latent_sd=sd,
        synthetic_sd=population_sds(patterns, at, 1.0)[1] * unit,
        trial_correlation=correlation,
        prior=_prior_of([part.prior for part in parts]),
        log_likelihood=problem.log_likelihood(posteriors),
        converged=all(part.converged for part in parts),
        n_iterations=sum(part.n_iterations for part in parts),
        trace_rows=np.concatenate(trace),
        nodes=nodes,
        quadrature_error=sum(part.quadrature_error for part in parts),
    )


def _prior_of(records: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The prior of all batches, with what each of them learned where that is not the same."""
    first = records[0]
    if first is None or all(one == first for one in records):
        return first
    return {"kind": first["kind"], "batches": records}


def _joined(arrays: list[Any]) -> Any:
    return None if arrays[0] is None else np.concatenate(arrays)
