"""From responses and checked settings to estimates: a start, the maximum, standard errors there.

The search may start from an easier problem whose maximum is on the way. Before synthetic
respondents take part, it gets near the maximum of the real ones: from far away an always-right row,
of any ability, pulls every inverted item round. And from afar the guessing of a 3PL without a prior
runs off before slopes settle.

Some items may keep their parameters (fixed parameter calibration, Kim 2006). Where cells hold
several trials, fits take turns with the estimate of how far these repeat each other
(:mod:`.repeats`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.calibrated import anchors_of, fixed_parameters
from irtkit.calibration.errors import dispersed, widened
from irtkit.calibration.estimates import (
    Estimates,
    Specification,
    of_guessing,
    of_items,
    of_levels,
    of_systems,
    result_of,
    unbounded_items,
)
from irtkit.calibration.likelihood import MarginalLikelihood, Parameterisation, synthetic_sd
from irtkit.calibration.priors import (
    USUAL_CHANCE,
    Beta,
    Hyper,
    ItemPrior,
    WeakPrior,
    check_chance,
    of_some,
)
from irtkit.calibration.repeats import (
    dispersions,
    first_correlation,
    repeated_cells,
    trial_correlation,
)
from irtkit.calibration.search import (
    Control,
    GridSchedule,
    PreconditionedLBFGS,
    Problem,
    intercept_of,
    maximise,
    problem_of,
    starting_slopes,
)
from irtkit.checks import short
from irtkit.data.limits import at_chance, connectivity_of, no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import REAL, Patterns, merged, part_of, patterns_of
from irtkit.irf import OF_LEVELS, Items
from irtkit.responses.levels import level_items

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.likelihood import Values
    from irtkit.calibration.priors import Prior
    from irtkit.calibration.result import FitResult, Settings
    from irtkit.calibration.search import Maximum
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.data.patterns import Mask, Places
    from irtkit.findings import Finding
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.responses import ResponseMatrix

_GUESSING = -2.0  # Logit that searches start from: c = 0.12, between none and five choices (0.2).
# The common guessing is looked for at these angles φ, c = sin² φ from 0.001 to 0.5, then closer.
_ANGLES = np.linspace(0.03, np.pi / 4, 8)
_CLOSER = 0.03  # As far as the first angle, so that the search stays above 0.


def fitted(
    responses: ResponseMatrix,
    model: ModelName,
    settings: Settings,
    method: str,
    anchors: CalibratedItems | None,
    *,
    mesh: Mesh | None,
    report: Callable[[int, float], None],
    notes: tuple[Finding, ...] = (),
) -> FitResult:
    """Fit with checked settings, and call ``report`` at every step.

    ``notes`` are findings of reading the responses.
    """
    specification = specified(responses, model, settings, method, anchors)
    patterns = specification.patterns
    levels = specification.levels
    estimates = _estimated(specification, mesh, report)
    correlation = estimates.trial_correlation
    counted = specification.counted(correlation or 0.0)
    duplicates = near_duplicates(patterns)
    by_chance = no_ability_differences(counted, duplicates.n_eff)
    result = result_of(specification, estimates, duplicates, by_chance=by_chance)
    fixed = None
    if anchors is not None:
        fixed = specification.is_fixed
        tested = anchors_of(result, responses, anchors, fixed, estimates.population_se)
        result = replace(result, anchors=tested)
    result = widened(dispersed(result, patterns), patterns)

    weighed = patterns
    if patterns.scored is not None:
        weights = 1 / np.asarray(result.dispersion)
        weighed = patterns.with_trial_correlation(result.correlation_by_item)
        weighed = weighed.with_item_weights(np.nan_to_num(weights, nan=1))
    ability = (result.ability - result.latent_mean) / result.latent_sd
    structure = connectivity_of(weighed, result.parameters, ability, result.latent_sd, fixed)
    # the gravest first
    findings = of_guessing(result, at_chance(counted, responses.item_table))
    findings += of_items(result, patterns)
    findings += of_systems(
        *(result, patterns, weighed, structure),
        by_chance=by_chance,
        counted_anew=bool(correlation and settings.trial_correlation is None),
    )
    if levels is not None:
        findings += of_levels(result, patterns, levels)
    return replace(result, findings=(*findings, *notes), components=structure[0])


def specified(
    responses: ResponseMatrix,
    model: ModelName,
    settings: Settings,
    method: str,
    anchors: CalibratedItems | None,
) -> Specification:
    """What a fit is to estimate: patterns, items and their prior."""
    patterns = patterns_of(responses, synthetic_is_real=False)
    if not patterns.counts.item_responses.any():
        raise ValueError("responses holds no response of a real system")
    whole = patterns.with_most_trials()
    # On a grid that follows the items Rasch is the 1PL in other units; on a fixed one it is not.
    # Beside fixed items both have their slope.
    follows = settings.quadrature == "adaptive" or method == "vi" or anchors is not None
    item_model: ModelName = "1PL" if model == "Rasch" and follows else model
    levels = None
    if model in OF_LEVELS:
        levels = level_items(responses, model)
        item_model = model if levels.any() else "2PL"
    # an empirical prior is learned after a search with the weak one
    prior: Any = WeakPrior() if isinstance(settings.prior, str) else settings.prior
    start_items: Items | None = None
    if isinstance(prior, WeakPrior) and model == "3PL":
        prior, start_items = with_chance(prior, responses, whole)
    elif isinstance(prior, WeakPrior):
        prior = replace(prior, chance=None)
    # Set aside are respondents and items without a response, but not items that are fixed, of
    # which something is expected, or that have a density of their own.
    fixed = None
    estimable = whole.margins.item_responses.any(axis=0) | isinstance(prior, ItemPrior)
    if isinstance(prior, WeakPrior) and prior.expected is not None:
        estimable |= prior.expected.has_mean
    if anchors is not None:
        fixed = fixed_parameters(anchors, anchors.places_of(responses.items), model)
        estimable |= fixed.known
    return Specification(
        responses=responses,
        patterns=patterns,
        rows=np.flatnonzero(whole.margins.respondent_responses),
        columns=np.flatnonzero(estimable),
        model=model,
        item_model=item_model,
        method=method,
        settings=settings,
        prior=prior,
        start=start_items,
        levels=levels,
        anchors=anchors,
        fixed=fixed,
    )


def _estimated(
    specification: Specification, mesh: Mesh | None, report: Callable[[int, float], None]
) -> Estimates:
    """Estimates of the items that are estimated, by the method asked for."""
    settings = specification.settings
    columns = specification.columns
    prior = specification.prior
    grid = settings.quadrature
    start_items = specification.start
    schedule = GridSchedule()
    if not isinstance(grid, str):
        schedule = GridSchedule((int(grid[0]), float(grid[1])))
    whole = specification.patterns.with_most_trials()
    patterns = part_of(whole, specification.rows, columns)
    of_columns = of_some(prior, columns)
    if specification.method == "vi":
        from irtkit.calibration.variational.fit_variational import variational_estimates

        return variational_estimates(
            patterns,
            specification.responses,
            models=(specification.model, specification.item_model),
            prior=of_columns,
            # one level of all items, which none was given
            learns_chance=start_items is not None and isinstance(of_columns.chance, float),
            settings=settings,
            mesh=mesh,
            schedule=schedule,
            report=report,
        )
    fixed = specification.fixed
    levels = specification.levels
    if levels is not None:
        levels = levels[columns] if specification.item_model in OF_LEVELS else None
    estimates = maximum_likelihood(
        patterns,
        specification.item_model,
        of_columns,
        Control(schedule, settings.tol, settings.max_iterations, report),
        empirical=isinstance(settings.prior, str) and settings.prior == "empirical",
        standard_errors=settings.standard_errors,
        mesh=mesh,
        trial_correlation=settings.trial_correlation,
        fixed=None if fixed is None else fixed.chosen(columns),
        start_items=None if start_items is None else start_items.chosen(columns),
        levels=levels,
    )
    if isinstance(prior, WeakPrior) and settings.prior != "empirical":
        estimates = estimates._replace(prior=prior.described())
    return estimates


def maximum_likelihood(
    whole: Patterns,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    empirical: bool = False,
    standard_errors: bool = False,
    mesh: Mesh | None = None,
    trial_correlation: float | None = None,
    fixed: ItemParameters | None = None,
    start_items: Items | None = None,
    levels: Mask | None = None,
) -> Estimates:
    """Maximise the likelihood of distinct patterns and items.

    ``fixed`` has all items, NaN where they are free. None means that all are free. The search
    starts at ``start_items``, which are NaN where that is unknown. ``levels`` are the items with
    ordered levels, of a model that has these.
    """
    if levels is None:
        keys = None if prior is None else prior.keys
        if fixed is not None:  # no item is a copy of another
            keys = np.arange(whole.n_items, dtype=np.float64)[None]
        distinct, respondents, columns = merged(whole, keys)
    else:
        distinct = whole
        respondents = np.arange(whole.n)
        columns = np.arange(whole.n_items)
    first = np.unique(columns, return_index=True)[1]
    problem, maximum, correlation = maximum_of(
        distinct,
        model,
        of_some(prior, first),
        control,
        mesh=mesh,
        fixed=fixed,
        start_items=None if start_items is None else start_items.chosen(first),
        given=trial_correlation,
        levels=levels,
    )
    patterns = problem.engine.patterns
    if empirical:
        from irtkit.calibration.empirical import empirical_bayes

        problem, maximum = empirical_bayes(problem, maximum, control.schedule)
    parameters = problem.parameters
    dispersion = None
    if distinct.scored is not None and (scores := repeated_cells(distinct)) is not None:
        dispersion = dispersions(scores, problem, maximum, correlation or 0.0, distinct.scored)
        dispersion = dispersion[columns]
    x = maximum.x.copy()
    if parameters.common_slope and patterns.complete and fixed is None:
        x[parameters.intercepts] = _by_total(x[parameters.intercepts], problem)
    at = parameters.values(x)
    items = at.items
    population = at.populations[0]
    covariances = joint = information = population_se = None
    if standard_errors:
        covariances, of_population, joint = _covariances(
            problem, maximum, at, columns, control.schedule
        )
        if fixed is not None and (variances := np.diag(of_population)).min() > 0:
            of_log_sd, of_mean = map(float, np.sqrt(variances))
            population_se = of_mean, population.sd * of_log_sd
    if levels is None and (problem.prior is None or isinstance(problem.prior, ItemPrior)):
        likelihood = MarginalLikelihood(problem.engine, maximum.nodes)
        information = likelihood.terms(items, at.populations).information[:, 1, 1]
        if patterns.multiplicity is not None:
            information = information / patterns.multiplicity
    endless = unbounded_items(problem.prior, at.in_sds, information)
    if fixed is not None:
        endless &= parameters.free
    whole_prior = problem.prior if fixed is not None else of_some(problem.prior, columns)
    return Estimates(
        items=items.chosen(columns),
        covariances=covariances,
        joint=joint,
        unbounded=endless[columns],
        common_slope=parameters.common_slope,
        ability=maximum.posteriors.mean[respondents],
        ability_se=maximum.posteriors.sd[respondents],
        population=population if parameters.n_population else None,
        population_se=population_se,
        synthetic_sd=synthetic_sd(items, population.sd, patterns.multiplicity),
        prior=None if whole_prior is None else whole_prior.described(),
        log_likelihood=maximum.log_likelihood,
        converged=maximum.converged,
        n_iterations=control.n_evaluations,
        trace_rows=np.array(control.trace, dtype=np.float64).reshape(-1, 4),
        nodes=maximum.nodes,
        quadrature_error=maximum.quadrature_error,
        trial_correlation=correlation,
        dispersion=dispersion,
    )


def _by_total(intercepts: Array, problem: Problem) -> Array:
    """Intercepts of items with a common slope, the same to the last digit for the same total.

    The number right is sufficient. Otherwise rounding would decide the order of these items.
    """
    totals = problem.engine.patterns.margins.item_right
    keys = getattr(problem.prior, "keys", None)
    if keys is not None:
        totals = np.vstack([totals, keys])
    group = np.unique(totals, axis=1, return_inverse=True)[1].ravel()
    means = np.bincount(group, intercepts) / np.bincount(group)
    return np.asarray(means[group])


def _covariances(
    problem: Problem, maximum: Maximum, at: Values, columns: Places, schedule: GridSchedule
) -> tuple[Array, Array, ItemCovariance]:
    """Covariances of every item, of the population, and of all items together.

    ``columns`` are the places of all items among the distinct ones.
    """
    from irtkit.calibration.standard_errors import covariances, formed_as_a_whole

    patterns = problem.engine.patterns
    parameters = problem.parameters
    items = at.items
    population = at.populations[0]
    nodes = maximum.nodes
    if patterns.repeated and schedule.fixed is None and items.levels is None:
        # Use twice as many nodes: with many trials, the observed information about scale and
        # location is a small difference of two large sums.
        half_width = (float(nodes.theta[-1]) - population.mean) / population.sd
        density = schedule.density(items, patterns, half_width, at.populations)
        nodes = density.nodes(2, interpolates=False)
    grid = MarginalLikelihood(problem.engine, nodes).grid(items, at.populations)
    prior = problem.prior
    if patterns.multiplicity is None or not formed_as_a_whole(items, patterns.n_items):
        levels: Any = None if items.levels is None else problem.engine
        of_population, joint = covariances(patterns, parameters, at, grid, prior, levels)
        return joint.of_items()[columns], of_population, joint.chosen(columns)
    # copies share their estimates, not their errors: each has a place of its own
    every = Parameterisation(parameters.model, len(columns), learns=parameters.n_hyper > 0)
    of_population, joint = covariances(
        patterns.with_columns(columns),
        every,
        at._replace(items=items.chosen(columns)),
        grid,
        of_some(prior, columns),
    )
    # inverting leaves copies with errors that differ by rounding: all have the first's
    first = np.unique(columns, return_index=True)[1]
    return joint.of_items()[first[columns]], of_population, joint


def maximum_of(
    patterns: Patterns,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    mesh: Mesh | None = None,
    fixed: ItemParameters | None = None,
    start_items: Items | None = None,
    given: float | None = None,
    levels: Mask | None = None,
) -> tuple[Problem, Maximum, float | None]:
    """Search for the maximum and, if trials are repeated, for their correlation.

    Turns end, after seven fits at most, when the largest design effect changes by less than 2 %.
    """
    cells = repeated_cells(patterns) if patterns.repeated else None
    if cells is not None and levels is not None:  # points are no trials
        cells = cells.chosen(~levels[cells.column])
    repeated = patterns.repeated if levels is None else cells is not None
    correlation = given or 0.0
    if given is not None:
        cells = None
    if cells is not None:
        correlation = first_correlation(patterns, cells)
    for turn in range(7):
        by_item: Any = correlation if levels is None else correlation * ~levels
        counted = patterns.with_trial_correlation(by_item)
        problem = problem_of(counted, model, prior, mesh, fixed=fixed, levels=levels)
        maximum = maximise(problem, start(problem, control, start_items), control)
        if cells is None or control.n_evaluations >= control.max_evaluations or turn == 6:
            break
        estimate = trial_correlation(cells, problem, maximum, correlation)
        change = (cells.most - 1) * (estimate - correlation)
        if abs(change) <= 0.02 * (1 + (cells.most - 1) * correlation):
            break
        correlation = estimate
    return problem, maximum, correlation if repeated else None


def start(
    problem: Problem, control: Control, start_items: Items | None = None
) -> PreconditionedLBFGS:
    """Return a search that stands near the maximum, after at most half of the evaluations.

    Items that were ``start_items`` with, and are not NaN, start from there.
    """
    patterns = problem.engine.patterns
    lbfgs = PreconditionedLBFGS(starting_values(problem, patterns))
    if problem.parameters.levels is not None or problem.parameters.fixed is not None:
        return lbfgs
    model = problem.parameters.model
    prior: Prior | None = problem.prior
    if start_items is not None:
        given = ~np.isnan(start_items.slope)
        usual = problem.parameters.values(lbfgs.x)
        pairs = zip(start_items[:3], usual.items[:3], strict=True)
        items = Items(*(np.where(given, near, far) for near, far in pairs))
        lbfgs = PreconditionedLBFGS(problem.parameters.vector(items, usual.hyper))
    if model == "3PL" and prior is None:
        prior = ItemPrior(guessing=Beta())
    simpler = problem._replace(prior=prior)
    if patterns.has_synthetic:
        simpler = problem_of(patterns.chosen(patterns.real), model, prior, problem.mesh)
    elif prior is problem.prior:
        return lbfgs
    nodes = control.schedule.built(simpler.density(control.schedule, lbfgs.x), 0)
    objective = simpler.at(nodes, exact=simpler.mesh is not None)
    # whole fits of ordinary data take some ten
    end = min(control.n_evaluations + 24, control.max_evaluations // 2)
    while not lbfgs.done and control.n_evaluations < end:
        lbfgs.evaluate(objective, max(control.tol, 0.01))
        control.n_evaluations += 1
    lbfgs.restart()
    return lbfgs


def starting_values(problem: Problem, patterns: Patterns) -> Array:
    """Start from proportions right and from the correlation of each item with the total score.

    A normal distribution of ability flattens intercepts (`intercept_of`).
    """
    slope: Any = starting_slopes(patterns, shrunk=problem.prior is not None)
    levels = problem.parameters.levels
    if levels is not None:  # from frequencies of levels
        engine: Any = problem.engine
        number = np.where(levels.real, engine.counts + 0.5, 0.0)
        if levels.model == "GPCM":
            slope = slope * 2 / (levels.shifts.max(axis=1) + 1)
            odds = number[:, 1:] / number[:, :1]
            steps = np.log(np.where(levels.free, odds, 1.0))
        else:
            above = np.cumsum(number[:, :0:-1], axis=1)[:, ::-1]
            above = above / number.sum(axis=1, keepdims=True)
            steps = intercept_of(np.where(levels.free, above, 0.5), slope[:, None])
        hyper = Hyper(float(np.log(max(np.mean(slope), 0.3))), 0.0)
        return problem.parameters.vector(engine.items(slope, steps), hyper)
    margins = patterns.margins
    right = margins.item_right[REAL]
    answered = margins.item_responses[REAL]
    share = (right + 0.5) / (answered + 1)
    intercept = intercept_of(share, slope)
    typical = max(float(np.average(slope, weights=patterns.multiplicity)), 0.3)
    if problem.parameters.fixed is not None:  # a population like that of the fixed items
        free = problem.parameters.free
        held = problem.parameters.fixed.discrimination
        slope = np.full(free.sum(), np.nanmedian(held))
        intercept = intercept_of(share[free], slope)
        logit = np.full_like(slope, _GUESSING)
        return problem.parameters.vector(Items(slope, intercept, logit))
    if problem.prior is None:  # nothing holds intercepts of items without variance
        right = margins.item_right.sum(axis=0)
        answered = margins.item_responses.sum(axis=0)
        certain = np.where(right == answered, 20.0, -20.0)
        alike = (answered > 0) & ((right == answered) | (right == 0))
        intercept = np.where(alike, certain, intercept)
    if problem.parameters.common_slope:
        slope = np.full_like(slope, typical)
    if problem.parameters.model == "Rasch":  # on a fixed grid alone, with a maximum between any
        # two nodes: from mirt's start (all loadings ½) the one that it finds (AAAI-22)
        from scipy.special import ndtri

        varied = (right > 0) & (right < answered)
        share = np.where(varied, right, 1) / np.where(varied, answered, 2)
        probit = ndtri(share)
        intercept = np.where(varied, 1.702 * probit / 0.75**0.5, intercept)
        typical = 1.0
    items = Items(slope, intercept, np.full_like(slope, _GUESSING))
    return problem.parameters.vector(items, Hyper(float(np.log(typical)), 0.0))


def with_chance(
    prior: WeakPrior, responses: ResponseMatrix, patterns: Patterns
) -> tuple[WeakPrior, Items | None]:
    """The prior with a chance level for every item, one number if all are the same.

    Levels are given, or 1/n_options. All other items have the likeliest guessing in common. Beside
    it come the items fitted with it, NaN where they were not, or None if no level was learned.
    """
    if isinstance(prior.chance, float):
        return prior, None
    import pandas as pd

    chance = np.full(responses.n_items, np.nan)
    table = responses.item_table
    if prior.chance is not None:
        by_label = {str(label): check_chance(value) for label, value in prior.chance.items()}
        if unknown := [label for label in by_label if label not in {*responses.items}]:
            raise ValueError(
                f"chance of the prior must have labels of items, and {short(unknown[0])} is not one"
            )
        chance = np.array([by_label.get(item, np.nan) for item in responses.items])
    elif table is not None and "n_options" in table:
        options = pd.to_numeric(table["n_options"], errors="coerce").to_numpy(np.float64)
        chance = np.where(options > 1, 1 / np.maximum(options, 2), np.nan)
    # one number needs no more than 2,000 respondents and 500 items, evenly spaced
    rows = np.flatnonzero(patterns.answering)
    answered = patterns.margins.item_responses[REAL] > 0
    columns = np.flatnonzero(answered & np.isnan(chance))
    level = USUAL_CHANCE
    start_items = None
    if len(columns):
        rows = rows[:: -(-len(rows) // 2000)]
        columns = columns[:: -(-len(columns) // 500)]
        # trials of a cell may repeat each other: together they count as one
        sample, _, places = merged(part_of(patterns, rows, columns).with_trial_correlation(1.0))
        plain = replace(prior, chance=None, difficulty_mean=None)
        level, items = likeliest_guessing(sample, plain)
        of_all = np.full((3, responses.n_items), np.nan)
        of_all[:, columns] = np.stack(items[:3])[:, places]
        start_items = Items(*of_all)
    levels = tuple(np.where(np.isnan(chance), level, chance).tolist())
    same = len({*levels}) == 1
    return replace(prior, chance=levels[0] if same else levels), start_items


def likeliest_guessing(patterns: Patterns, prior: WeakPrior) -> tuple[float, Items]:
    """Guessing that all items most likely have in common, and the items fitted with it.

    Slopes and intercepts are fitted under the weak prior at eight values of guessing, and at three
    around the likeliest, by angle, in which log-likelihoods are nearly parabolas. Beta(5, 17)
    decides where responses are not informative. With 20 respondents the level is too low.

    Notes
    -----
    A search ends when it expects a gain of a tenth (a hundredth around the likeliest), or of that
    share of what its value lies below the best. The gain is added, with an error of second order.
    A test holds levels to 0.5 % of those of a scan in steps of 0.1 logits at convergence.
    """
    from scipy.interpolate import CubicSpline

    n_items = patterns.cells.shape[1]
    parameters = Parameterisation("2PL", n_items, learns=True)
    problem = problem_of(patterns, "3PL", prior)._replace(parameters=parameters)
    x = starting_values(problem, patterns)
    parameters.logit_guessing = np.full(n_items, _GUESSING)
    objective = problem.at(GridSchedule().nodes(problem.items(x), patterns), exact=False)
    log_posterior: dict[float, float] = {}
    fitted_at: dict[float, Array] = {}

    def on_line(angle: float) -> Array:
        """Parameters expected at an angle, on the line through those of the closest two."""
        closest = sorted(fitted_at, key=lambda other: abs(other - angle))[:2]
        if len(closest) < 2:
            return fitted_at[closest[0]] if closest else x
        near, other = closest
        share = (angle - near) / (other - near)
        return fitted_at[near] + (fitted_at[other] - fitted_at[near]) * share

    def fit_at(angle: float, tol: float) -> None:
        logit = 2 * np.log(np.tan(angle))
        parameters.logit_guessing = np.full(n_items, logit)
        # the prior of every item has a density of guessing, in place of which the level has one
        of_item = prior.guessing_density.at(np.array([logit])).value
        of_level = WeakPrior().guessing_density.at(np.array([logit])).value
        instead = float((of_level - patterns.n_items * of_item)[0])
        best = max(log_posterior.values(), default=-np.inf)
        search = PreconditionedLBFGS(on_line(angle))
        for _ in range(24):
            search.evaluate(objective, tol)
            if search.current is None:  # not finite here
                return
            value = search.current.value + search.expected + instead
            below = best - value if value < best else 0.0
            if search.done or search.expected < tol * (1 + below):
                break
        log_posterior[angle] = value
        fitted_at[angle] = search.x

    def likeliest() -> float:
        fine = np.linspace(_ANGLES[0], _ANGLES[-1], 15_001)
        angles = sorted(log_posterior)
        heights = CubicSpline(angles, [log_posterior[angle] for angle in angles])(fine)
        return float(fine[np.argmax(heights)])

    for angle in _ANGLES.tolist():
        fit_at(angle, 0.1)
    top = max(likeliest(), _ANGLES[0] + _CLOSER)
    for angle in (top, top - _CLOSER, top + _CLOSER):
        fit_at(angle, 0.01)
    # a spline through points that nearly coincide may overshoot
    for angle in _ANGLES.tolist():
        if abs(angle - top) < 1.5 * _CLOSER:
            log_posterior.pop(angle, None)
    top = likeliest()
    parameters.logit_guessing = np.full(n_items, 2 * np.log(np.tan(top)))
    return float(np.sin(top) ** 2), problem.items(on_line(top))
