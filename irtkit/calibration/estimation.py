"""From responses and checked settings to a result, by the method that was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.calibrated import fixed_parameters
from irtkit.calibration.caveats import with_caveats
from irtkit.calibration.chance import with_chance
from irtkit.calibration.drift import with_fixed
from irtkit.calibration.errors import with_errors_of_items
from irtkit.calibration.estimates import result_of
from irtkit.calibration.expected import ExpectedItems, of_some
from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.maximise import Control, GridSchedule, Monitor, Stopping
from irtkit.calibration.maximum_likelihood import maximum_likelihood
from irtkit.calibration.methods import Variational
from irtkit.calibration.priors import WeakPrior
from irtkit.data.guessing import at_chance
from irtkit.data.homogeneity import no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import part_of, patterns_of
from irtkit.data.slopes import proportion_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.estimates import Estimates
    from irtkit.calibration.methods import EM
    from irtkit.calibration.priors import Prior
    from irtkit.calibration.result import FitResult, Settings
    from irtkit.data.patterns import Patterns
    from irtkit.irf import ItemParameters, ModelName
    from irtkit.responses import ResponseMatrix

_MOST_TRIALS = 100_000
"""Most trials that a cell counts for: nodes, and so time, grow with the square root of trials. With
10⁷ in each of 30 × 6 cells, estimates of items change by 0.01 standard errors and their standard
errors by 2 %; standard errors of abilities would be a tenth."""


def fitted(
    responses: ResponseMatrix,
    model: ModelName,
    settings: Settings,
    method: EM | Variational,
    anchors: CalibratedItems | None,
    *,
    report: Callable[[int, float], None],
) -> FitResult:
    """Fit with settings that have been checked; ``report`` hears of every step."""
    variational = method if isinstance(method, Variational) else None
    patterns = patterns_of(responses, synthetic_is_real=False)
    if not patterns.counts.item_responses.any():
        raise ValueError("responses holds no response of a real respondent")
    estimates = _estimates(
        patterns,
        responses,
        model,
        settings,
        variational,
        anchors=anchors,
        mesh=method.mesh,
        report=report,
    )
    proportion = proportion_score(patterns)
    counted = patterns.with_trial_correlation(estimates.trial_correlation or 0.0)
    duplicates = near_duplicates(patterns)
    by_chance = no_ability_differences(counted, duplicates.n_eff)
    result = result_of(
        estimates,
        responses,
        patterns.counts,
        proportion,
        duplicates,
        model=model,
        method=method.name,
        settings=settings,
        by_chance=by_chance,
    )
    if anchors is not None:
        result = with_fixed(result, counted, anchors)
    result = with_errors_of_items(result, patterns, duplicates.n / duplicates.n_eff)
    counted_anew = bool(result.settings.trial_correlation and settings.trial_correlation is None)
    guessing = at_chance(counted, responses.item_table)
    return with_caveats(result, patterns, guessing, by_chance=by_chance, counted_anew=counted_anew)


def _estimates(
    patterns: Patterns,
    responses: ResponseMatrix,
    model: ModelName,
    settings: Settings,
    variational: Variational | None,
    *,
    anchors: CalibratedItems | None,
    mesh: Mesh | None,
    report: Callable[[int, float], None],
) -> Estimates:
    """What EM or the variational path finds."""
    patterns = patterns.with_most_trials(_MOST_TRIALS)
    grid = settings.quadrature
    schedule = GridSchedule(None if isinstance(grid, str) else (int(grid[0]), float(grid[1])))
    # On a grid that follows the items Rasch is the 1PL in other units; on a fixed one it is not.
    # Beside fixed items both have their slope.
    same_as_1pl = schedule.fixed is None or variational is not None or anchors is not None
    models = model, "1PL" if model == "Rasch" and same_as_1pl else model
    # an empirical prior is learned after a search with the weak one
    prior = WeakPrior() if isinstance(settings.prior, str) else settings.prior
    if isinstance(prior, WeakPrior):
        guesses = model == "3PL"
        prior = with_chance(prior, responses, patterns) if guesses else replace(prior, chance=None)
    if variational is not None:
        from irtkit.calibration.variational.fit_variational import variational_estimates

        return variational_estimates(
            patterns,
            responses,
            models=models,
            prior=prior,
            settings=settings,
            options=variational,
            schedule=schedule,
            mesh=mesh,
            report=report,
        )
    fixed = None
    if anchors is not None:
        fixed = fixed_parameters(anchors, anchors.places_of(responses.items), model)
    control = Control(schedule, Stopping(settings.tol, settings.max_iterations), Monitor(report))
    return _of_answered(patterns, prior, models, settings, control, fixed=fixed, mesh=mesh)


def _of_answered(
    patterns: Patterns,
    prior: Prior | None,
    models: tuple[ModelName, ModelName],
    settings: Settings,
    control: Control,
    *,
    fixed: ItemParameters | None,
    mesh: Mesh | None,
) -> Estimates:
    """Estimates by EM, respondents and items without a response being set aside.

    But not items of which something else is known: that they are fixed, what is expected of them, a
    density of each. ``models`` are the one asked for, and the one fitted in its place.
    """
    n_items = patterns.n_items
    known = np.full(n_items, isinstance(prior, ItemPrior))
    if isinstance(prior, ExpectedItems):
        known |= prior.known
    if fixed is not None:
        known |= ~np.isnan(fixed.discrimination)
    rows, columns = patterns.answered(known)
    answered, prior_there = part_of(patterns, rows, columns), of_some(prior, columns)
    found = maximum_likelihood(
        answered,
        models[1],
        prior_there,
        control,
        empirical=isinstance(settings.prior, str) and settings.prior == "empirical",
        standard_errors=settings.standard_errors,
        mesh=mesh,
        trial_correlation=settings.trial_correlation,
        fixed=None if fixed is None else fixed.chosen(columns),
    )
    if isinstance(prior, WeakPrior) and settings.prior != "empirical":
        found = found._replace(prior=prior.described())
    return found.beside_unanswered(rows, columns, patterns.group, n_items)
