"""From response patterns to estimates: a start, the marginal maximum, and standard errors there.

The search starts from easier problems whose maxima are on the way. Of very many respondents every
k-th is enough to start from: their maximum lies a few standard errors from that of all, and the way
there, on which steps are largest and least exact, costs a fraction. So it is with very many trials
of each response. Before synthetic respondents take part, the search gets near the maximum of the
real ones: from far away an always-right row, of any ability, pulls every inverted item round. And
from afar the guessing of a 3PL without a prior runs off before slopes settle.

Beside items that keep their parameters (fixed parameter calibration; Kim 2006) the respondents are
first placed by these alone, and free items start from where shares right then have them.

Where cells hold several trials, fits take turns with the estimate of how far these repeat each
other (:mod:`.repeats`). Each begins anew: what was found for trials taken as independent is a poor
start for trials that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.estimates import Estimates, unbounded
from irtkit.calibration.expected import ExpectedItems, of_some
from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.lbfgs import PreconditionedLBFGS
from irtkit.calibration.likelihood import (
    MarginalLikelihood,
    Parameterisation,
    Population,
    synthetic_sd,
)
from irtkit.calibration.maximise import Problem, maximise, problem_of
from irtkit.calibration.priors import Beta, Hyper, WeakPrior
from irtkit.calibration.repeats import first_correlation, repeated_cells, trial_correlation
from irtkit.data.patterns import REAL, Patterns, merged
from irtkit.irf import Items

if TYPE_CHECKING:
    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.calibration.information import ItemCovariance
    from irtkit.calibration.likelihood import Values
    from irtkit.calibration.maximise import Control, Maximum
    from irtkit.calibration.priors import Prior
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.quadrature import Grid


LOGIT_OF_GUESSING = -2.0
"""Guessing of 0.12, between none and that of five choices (0.2)."""
_OUT_OF_REACH = 20.0
"""Logit at which an item without variance is as good as certain: it errs once in 5·10⁸."""


_SETTLED, _MOST_FITS, _STEEPEST = 0.02, 6, 0.9
"""Change of the largest design effect of repeated trials at which turns end, errors being within
1 %, fits after the first at most, and slope of what is estimated by what was taken above which it
is not trusted; it is the share of numbers fitted among cells."""


@dataclass(frozen=True)
class WarmStart:
    """Cheap optimisation of a subsample or an easier problem before the real one."""

    tol: float = 0.01
    """Expected gain that ends it, in nats; of a subsample per parameter, whose estimates are then
    off by √0.02, 0.14 of their standard errors in root mean square."""
    max_evaluations: int = 24
    """Most of them; whole fits of ordinary data take some ten."""
    respondents: int = 4000  # see the next
    respondents_per_item: int = 20
    """Size of a subsample: its maximum is off by √(n/4000) standard errors of the whole."""
    trials: tuple[int, ...] = (100, 10_000)
    """Most trials of a cell at first: the more there are, the narrower is the ridge that a search
    climbs along."""
    least_responses: int = 30
    """Right and wrong responses to every item in a subsample, which keep its estimates finite."""


def start(problem: Problem, control: Control, warm: WarmStart | None = None) -> PreconditionedLBFGS:
    """Return a search that stands near the maximum."""
    if problem.parameters.fixed is not None:
        return PreconditionedLBFGS(_beside_fixed(problem, control))
    warm = WarmStart() if warm is None else warm
    patterns, model, prior = problem.engine.patterns, problem.parameters.model, problem.prior
    some = None if problem.mesh is not None or model == "3PL" else _subsample(patterns, warm)
    lbfgs = PreconditionedLBFGS(starting_values(problem, patterns if some is None else some))
    if some is not None:
        _get_near(problem_of(some, model, prior), lbfgs, warm.tol * len(lbfgs.x), warm, control)
    for few in map(patterns.with_most_trials, warm.trials):
        if few is not patterns:
            _get_near(problem_of(few, model, prior, problem.mesh), lbfgs, warm.tol, warm, control)
    if model == "3PL" and prior is None:
        prior = ItemPrior(guessing=Beta())
    if patterns.has_synthetic:
        easier = problem_of(patterns.chosen(patterns.real), model, prior, problem.mesh)
        _get_near(easier, lbfgs, warm.tol, warm, control)
    elif prior is not problem.prior:
        _get_near(problem._replace(prior=prior), lbfgs, warm.tol, warm, control)
    return lbfgs


def _subsample(patterns: Patterns, warm: WarmStart) -> Patterns | None:
    """Every k-th respondent, where that is cheap, and enough for every item."""
    columns = patterns.cells.shape[1]
    step = patterns.n // max(warm.respondents, warm.respondents_per_item * columns)
    whole = patterns.packed is not None and patterns.frequency is None
    if step < 2 or not whole or patterns.has_synthetic:
        return None
    some = patterns.chosen(slice(None, None, step))
    right, responses = some.margins.item_right[REAL], some.margins.item_responses[REAL]
    return some if np.minimum(right, responses - right).min() >= warm.least_responses else None


def _get_near(
    problem: Problem, lbfgs: PreconditionedLBFGS, tol: float, warm: WarmStart, control: Control
) -> None:
    """Get near the maximum of a problem, with at most half of the budget."""
    schedule, stopping, monitor = control
    nodes = schedule.built(problem.density(schedule, lbfgs.x), 0)
    objective = problem.at(nodes, exact=problem.mesh is not None)
    end = min(monitor.n_evaluations + warm.max_evaluations, stopping.max_evaluations // 2)
    while not lbfgs.done and monitor.n_evaluations < end:
        lbfgs.evaluate(objective, max(stopping.tol, tol))
        monitor.n_evaluations += 1
    lbfgs.restart()


_SLOPE_OF_MIRT = 0.5
"""Loading that mirt starts all items from."""


def _intercepts_of_mirt(intercept: Array, patterns: Patterns) -> Array:
    """Intercepts that R's mirt starts from, where an item has right and wrong answers.

    1.702 Φ⁻¹(share right)/√(1 − ½²). Rasch has a vector of its own on a fixed grid alone. Where
    nodes are farther apart than posteriors are wide, the likelihood has a maximum for every place
    of the respondents between nodes, and the start decides which is found: of 21 systems × 500
    items the difficulties that mirt left (AAAI-22) are missed by 0.18 from elsewhere, 0.02 from
    here (medians over random rows; ``benchmarks/stored_difficulties.py``).
    """
    from scipy.special import ndtri

    right, answered = (sums.sum(axis=0) for sums in patterns.margins[:2])
    varied = (right > 0) & (right < answered)
    share = np.divide(right, answered, out=np.full_like(right, 0.5), where=varied)
    return np.where(varied, 1.702 * ndtri(share) / np.sqrt(1 - _SLOPE_OF_MIRT**2), intercept)


def starting_values(problem: Problem, patterns: Patterns) -> Array:
    """Start from proportions right and from the correlation of each item with the total score.

    Real respondents alone count: an always-right row would turn inverted items round, and the
    search might not find its way back. A point-biserial correlation is taken for the biserial one
    ρ, so that slopes start a quarter (p = ½) to a half (p = 0.1) too low; ρ stands for a probit
    slope of ρ/√(1 − ρ²) (Lord & Novick 1968, section 16.10), 1.7 times that for a logistic one,
    whose intercept a normal distribution of ability flattens (`intercept_of`).
    """
    margins, real = patterns.margins, patterns.real
    weights = patterns.weight * real
    score = (margins.respondent_right + 0.5) / (margins.respondent_responses + 1)
    ability = np.log(score / (1 - score))
    ability = ability - np.average(ability, weights=weights)
    ability /= max(float(np.sqrt(np.average(ability**2, weights=weights))), 1e-3)
    ability = np.where(real, np.clip(ability, -4.0, 4.0), 0.0)
    right, answered = margins.item_right[REAL], margins.item_responses[REAL]
    weighted = patterns.weight * ability
    with_right, with_answered = patterns.right_sums(weighted), patterns.response_sums(weighted)
    share = (right + 0.5) / (answered + 1)
    covariance = (with_right - share * with_answered) / np.maximum(answered, 1)
    correlation = np.clip(covariance / np.sqrt(share * (1 - share)), -0.9, 0.9)
    slope = 1.7 * correlation / np.sqrt(1 - correlation**2)
    intercept = intercept_of(share, slope)
    typical = max(float(np.average(slope, weights=patterns.multiplicity)), 0.3)
    if problem.prior is not None:  # what few respondents say about a slope is mostly noise
        noise = 1 / (share * (1 - share) * np.maximum(answered, 1.0))
        noise = np.average(noise, weights=patterns.multiplicity)
        spread = np.average((slope - typical) ** 2, weights=patterns.multiplicity)
        slope = typical + np.clip(1 - noise / max(float(spread), 1e-9), 0.1, 1.0) * (
            slope - typical
        )
    else:  # nothing holds the intercept of an item without variance: it need not climb for ever
        right, answered = margins.item_right.sum(axis=0), margins.item_responses.sum(axis=0)
        certain = np.where(right == answered, _OUT_OF_REACH, -_OUT_OF_REACH)
        alike = (answered > 0) & ((right == answered) | (right == 0))
        intercept = np.where(alike, certain, intercept)
    if problem.parameters.common_slope:
        slope = np.full_like(slope, typical)
    if problem.parameters.model == "Rasch":
        intercept, typical = _intercepts_of_mirt(intercept, patterns), 1.0
    items = Items(slope, intercept, np.full_like(slope, LOGIT_OF_GUESSING))
    return problem.parameters.vector(items, Hyper(float(np.log(typical)), 0.0))


def _beside_fixed(problem: Problem, control: Control) -> Array:
    """Respondents as the fixed items place them, free items as shares right then have it."""
    parameters, patterns = problem.parameters, problem.engine.patterns
    fixed: Any = parameters.fixed
    free, populations = parameters.free, [Population()]
    known = fixed.chosen(~free)
    slope = float(np.median(known.discrimination))
    if free.any():
        some = patterns.with_columns(np.flatnonzero(~free))
        placed = problem_of(some, parameters.model, None, fixed=known)
        maximum = maximise(placed, start(placed, control), control)
        populations = [*placed.parameters.values(maximum.x).populations]
    right, answered = patterns.margins.item_right[REAL], patterns.margins.item_responses[REAL]
    share, (mean, sd) = ((right + 0.5) / (answered + 1))[free], populations[0]
    intercept = intercept_of(share, slope * sd) - slope * mean
    slopes = np.full_like(intercept, slope)
    items = Items(slopes, intercept, np.full_like(intercept, LOGIT_OF_GUESSING))
    return parameters.vector(items, None, populations)


def intercept_of(share: Array, slope: Array | float) -> Array:
    """Intercept with which a share gets an item right, where ability is N(0, 1).

    About d = √(1 + a²/2.9) · log(p/(1 − p)): with 1.7 for the scale of a normal curve that looks
    like a logistic one, the mean over ability is one too (1.7² = 2.89).
    """
    return np.asarray(np.log(share / (1 - share)) * np.sqrt(1 + slope**2 / 2.9))


class Found(NamedTuple):
    """A maximum, with repeated trials counting for what they are worth."""

    problem: Problem
    maximum: Maximum
    trial_correlation: float | None
    """None if no cell holds several trials."""


def maximum_of(
    patterns: Patterns,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    mesh: Mesh | None = None,
    fixed: ItemParameters | None = None,
    given: float | None = None,
) -> Found:
    """Search for the maximum, with a ``given`` correlation of repeated trials if there is one."""
    cells = repeated_cells(patterns) if patterns.repeated else None
    correlation = given or 0.0
    if cells is not None and given is None:
        correlation = first_correlation(patterns, cells)
    tried: list[tuple[float, float]] = []
    while True:
        counted = patterns.with_trial_correlation(correlation)
        problem = problem_of(counted, model, prior, mesh, fixed=fixed)
        maximum = maximise(problem, start(problem, control), control)
        exhausted = control.monitor.n_evaluations >= control.stopping.max_evaluations
        if cells is None or given is not None or exhausted or len(tried) == _MOST_FITS:
            break
        estimate = trial_correlation(cells, problem, maximum, correlation)
        tried.append((correlation, estimate))
        change = (cells.most - 1) * (estimate - correlation)
        if abs(change) <= _SETTLED * (1 + (cells.most - 1) * correlation):
            break
        correlation = _fixed_point(tried)
    return Found(problem, maximum, correlation if patterns.repeated else None)


def _fixed_point(tried: list[tuple[float, float]]) -> float:
    """Correlation at which a fit would estimate the same, on the line through the last two."""
    (before, of_before), (last, of_last) = tried[-2:] if len(tried) > 1 else (tried[-1],) * 2
    slope = (of_last - of_before) / (last - before) if last != before else 0.0
    if not 0 < slope < _STEEPEST:
        return of_last
    return float(np.clip((of_last - slope * last) / (1 - slope), 0.0, 1.0))


def maximum_likelihood(
    whole: Patterns,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    empirical: bool,
    standard_errors: bool,
    mesh: Mesh | None,
    trial_correlation: float | None,
    fixed: ItemParameters | None = None,
) -> Estimates:
    """Maximise the likelihood of distinct patterns and items.

    ``fixed`` has all items, NaN where they are free; None if all are. Standard errors are those of
    the observed information.
    """
    beside = prior.keys if isinstance(prior, WeakPrior) else None
    if fixed is not None:  # no item is a copy of another
        beside = np.arange(whole.n_items, dtype=np.float64)[None]
    patterns, respondents, columns = merged(whole, beside)
    prior = of_some(prior, np.unique(columns, return_index=True)[1])
    problem, maximum, correlation = maximum_of(
        patterns, model, prior, control, mesh=mesh, fixed=fixed, given=trial_correlation
    )
    patterns = problem.engine.patterns
    if empirical:
        from irtkit.calibration.empirical import empirical_bayes

        problem, maximum = empirical_bayes(problem, maximum, control.schedule)
    parameters = problem.parameters
    tied = parameters.common_slope and patterns.complete and fixed is None
    at = parameters.values(_tied(problem, maximum.x) if tied else maximum.x)
    items, population = at.items, at.populations[0]
    covariances = joint = information = population_se = None
    if standard_errors:
        nodes = control.schedule.for_errors(at, patterns, maximum.nodes)
        grid = MarginalLikelihood(problem.engine, nodes).grid(items, at.populations)
        covariances, of_population, joint = _covariances(problem, grid, at, columns)
        if fixed is not None and (variances := np.diag(of_population)).min() > 0:
            of_log_sd, of_mean = map(float, np.sqrt(variances))
            population_se = of_mean, population.sd * of_log_sd
    if problem.prior is None or isinstance(problem.prior, ItemPrior):
        likelihood = MarginalLikelihood(problem.engine, maximum.nodes)
        information = likelihood.terms(items, at.populations).information[:, 1, 1]
        if patterns.multiplicity is not None:
            information = information / patterns.multiplicity
    endless = unbounded(problem.prior, at.in_sds, information)
    if fixed is not None:
        endless &= parameters.free
    monitor, last = control.monitor, problem.prior
    if fixed is None:
        last = of_some(last, columns)
    return Estimates(
        items=items.chosen(columns),
        covariances=covariances,
        joint=joint,
        unbounded=endless[columns],
        common_slope=parameters.common_slope,
        ability=maximum.posteriors.mean[respondents],
        ability_se=maximum.posteriors.sd[respondents],
        population=population if parameters.groups.sds else None,
        population_se=population_se,
        synthetic_sd=synthetic_sd(items, population.sd, patterns.multiplicity),
        prior=None if last is None else last.described(),
        log_likelihood=maximum.log_likelihood,
        converged=maximum.converged,
        n_iterations=monitor.n_evaluations,
        trace_rows=np.array(monitor.trace, dtype=np.float64).reshape(-1, 4),
        nodes=maximum.nodes,
        quadrature_error=maximum.quadrature_error,
        trial_correlation=correlation,
    )


def _tied(problem: Problem, x: Array) -> Array:
    """Vector with a common slope whose intercepts are the same where items have the same totals.

    They are at the maximum, since for complete data the total is sufficient for the intercept; a
    search stops with a difference of the size of its tolerance, which would pass for an order.
    """
    parameters, patterns = problem.parameters, problem.engine.patterns
    tied, right = x.copy(), patterns.margins.item_right
    if isinstance(problem.prior, ExpectedItems):
        right = np.vstack([right, problem.prior.keys])
    group = np.unique(right, axis=1, return_inverse=True)[1].ravel()
    mean = np.bincount(group, x[parameters.intercepts]) / np.bincount(group)
    tied[parameters.intercepts] = mean[group]
    return tied


def _covariances(
    problem: Problem, grid: Grid, at: Values, columns: NDArray[np.intp]
) -> tuple[Array, Array, ItemCovariance]:
    """Covariances of the parameters of every item, of populations, and of all items together.

    Copies share their estimates, not their errors: where the information is formed as a whole,
    each has its own place in it.
    """
    from irtkit.calibration.standard_errors import covariances, formed_as_a_whole

    patterns, parameters, prior = problem.engine.patterns, problem.parameters, problem.prior
    if patterns.multiplicity is not None and formed_as_a_whole(at.items, patterns.n_items):
        patterns, at = patterns.with_columns(columns), at._replace(items=at.items.chosen(columns))
        parameters = Parameterisation(parameters.model, len(columns), learns=parameters.n_hyper > 0)
        prior = of_some(prior, columns)
        found, of_populations, joint = covariances(patterns, parameters, at, grid, prior)
        # inverting leaves copies with errors that differ by rounding: all have those of the first
        return found[np.unique(columns, return_index=True)[1][columns]], of_populations, joint
    found, of_populations, joint = covariances(patterns, parameters, at, grid, prior)
    return found[columns], of_populations, joint.chosen(columns)
