"""Search for the marginal maximum: preconditioned L-BFGS, on one quadrature grid after another.

One evaluation costs a pass over the response matrix, so there is no inner line search. Every pass
evaluates a trial point. The step is taken if the objective rises enough, else shortened. The
direction is limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4), started from the
objective's own approximate inverse Hessian. With the complete-data information, the first step is
an EM step, and later pairs accelerate it (quasi-Newton EM, Jamshidian & Jennrich 1997).

The adaptive grid is built for the items at the start. It is rebuilt when items need finer nodes, or
when the log-likelihood on nodes twice as dense differs.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import (
    STANDARD,
    Evaluation,
    MarginalLikelihood,
    Parameterisation,
    PenalisedLikelihood,
    Values,
    synthetic_sd,
)
from irtkit.calibration.priors import Hyper, WeakPrior, of_some
from irtkit.data.patterns import REAL
from irtkit.irf import Items
from irtkit.quadrature import HALF_WIDTH, NodeDensity, engine_of, fixed_nodes
from irtkit.quadrature.levels import LevelEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jax.sharding import Mesh

    from irtkit.calibration.likelihood import Population
    from irtkit.calibration.priors import Prior
    from irtkit.data.patterns import Mask, Patterns
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.quadrature import Nodes, Posteriors
    from irtkit.quadrature.engines import Engine

_NORMAL = NormalDist()
_LEAST_STEP = 1e-8  # Below rounding errors of x.
# Nodes and curve points as multiples of what is needed, and whether curves are interpolated: tried
# in turn until the error is small enough; the first nearly always is.
_REFINEMENTS = ((1, 1, True), (1, 2, True), (1, 3, False), (2, 4, False))
FAR = 7.0  # Posterior SDs that a grid must reach beyond the farthest mean: 1e-12 lies beyond.
MOST_REPAIRS = 10  # Half-widths, and rescalings, that are tried before the last is kept.


class PreconditionedLBFGS:
    """A search from ``x``, one evaluation at a time.

    Half the directional derivative of a full step is the gain that the quadratic model expects. The
    search has converged when two evaluations in a row expect less than ``tol``, or one does and far
    less than the one before. That leaves every estimate within about √(2·tol) of its standard error
    from the optimum.
    """

    def __init__(self, x: Array) -> None:
        self.x = x
        self.change = np.inf  # Largest change of a parameter in a full step.
        self._swapped = False
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=8)
        """Steps taken, how much the gradient fell on each, and one over their product."""
        self.restart()

    def swap_objective(self) -> None:
        """Go on with a slightly different objective, from the next point."""
        self._swapped = True
        self._n_small = 0
        self.converged = False
        self.done = False

    def restart(self, *, forget: bool = True) -> None:
        """Evaluate the objective at x again, and drop the curvature pairs."""
        self.current: Evaluation | None = None
        """The objective at x; None before the first evaluation, which is accepted if finite."""
        self.expected = 0.0  # Gain that the quadratic model expects of a full step.
        self.converged = False
        self.done = False
        """Whether the search has converged, or no step however short raises the objective."""
        if forget:
            self._pairs.clear()
        self._direction = np.zeros_like(self.x)
        self._step = 1.0
        self._n_small = 0

    def evaluate(self, objective: Any, tol: float) -> bool:
        """Evaluate a :class:`.PenalisedLikelihood` once; return whether its point was accepted."""
        trial = self.x + self._step * self._direction
        evaluation = objective.evaluate(trial)
        before = self.current
        wanted = -np.inf
        if before is not None:
            # the objective is a pairwise sum in 64 bits, of relative rounding error 1e-11
            allowed = objective.noise + 1e-11 * abs(before.value)
            allowed += self.expected if self._swapped else 0.0
            armijo = 1e-4 * self._step * 2 * self.expected
            wanted = before.value + armijo - allowed
        if not np.isfinite(evaluation.value) or evaluation.value < wanted:
            self._step = 0.0 if before is None else self._step * 0.4
            self.done = not self._step >= _LEAST_STEP
            if self._swapped:
                self.restart(forget=False)
            return False
        if before is not None:
            difference = trial - self.x
            fall = before.gradient - evaluation.gradient
            product = float(difference @ fall)
            if product > 1e-10 * np.linalg.norm(difference) * np.linalg.norm(fall):
                self._pairs.append((difference, fall, 1 / product))
        self.x = trial
        self.current = evaluation
        self._swapped = False
        v = evaluation.gradient  # the two-loop recursion
        weights = []
        for difference, fall, inverse in reversed(self._pairs):
            weights.append(inverse * float(difference @ v))
            v = v - weights[-1] * fall
        v = objective.precondition(trial, evaluation, v)
        for (difference, fall, inverse), weight in zip(self._pairs, weights[::-1], strict=True):
            v = v + difference * (weight - inverse * float(fall @ v))
        expected_before = self.expected
        self._direction = v
        self.expected = 0.5 * float(v @ evaluation.gradient)
        self.change = float(np.abs(v).max())
        self._step = min(1.0, 3.0 / max(self.change, 1e-300))  # e³ in odds
        falls_fast = self.expected < 0.1 * expected_before
        self._n_small = (self._n_small + 1 + falls_fast) * (self.expected < tol)
        self.converged = self._n_small >= 2
        self.done = self.converged or not self._step >= _LEAST_STEP
        return True


@dataclass(frozen=True)
class GridSchedule:
    """Which nodes suit some items: a fixed grid, or adaptive ones, finer if that proves too coarse.

    ``fixed`` is (nodes, limit), or None.
    """

    fixed: tuple[int, float] | None = None

    def density(
        self,
        items: Items,
        patterns: Patterns,
        half_width: float = 0.0,
        populations: Sequence[Population] = STANDARD,
    ) -> NodeDensity:
        """How dense nodes must be, as far as abilities go: in SDs of the first population."""
        mean, sd = populations[0]
        precision = 1.0
        if populations != STANDARD:
            items = Values(items, tuple(populations), Hyper(0.0, 0.0), None).in_sds
        half_width = max(half_width, HALF_WIDTH)
        for other in populations[1:]:
            off = (other.mean - mean) / sd
            ratio = other.sd / sd
            half_width = max(half_width, abs(off) + HALF_WIDTH * ratio)
            precision = max(precision, ratio**-2)
        if patterns.has_synthetic:
            half_width = max(half_width, 4 * synthetic_sd(items, 1.0, patterns.multiplicity))
        share = 0.0
        if items.levels is not None:
            answered = items.levels.answered
        else:
            answered = float(patterns.margins.respondent_responses.max()) / patterns.n_items
            # interpolation pays with products over items, or many items, and far fewer points
            by_product = not patterns.complete or items.logit_guessing is not None
            share = 0.7 if by_product or patterns.n_items >= 512 else 0.0
        density_of_nodes = NodeDensity.of(
            items, half_width, answered, patterns.multiplicity, share=share, precision=precision
        )
        return density_of_nodes if populations == STANDARD else density_of_nodes.moved(mean, sd)

    def nodes(self, items: Items, patterns: Patterns) -> Nodes:
        """Return the fixed grid, or the first that suits some items."""
        return self.built(self.density(items, patterns), 0)

    def built(self, density: NodeDensity, level: int) -> Nodes:
        """Return the fixed grid, or nodes of a density, refined to a level."""
        if self.fixed is not None:
            return fixed_nodes(*self.fixed)
        refined, points_refined, interpolates = _REFINEMENTS[level]
        return density.nodes(refined, points_refined, interpolates=interpolates)


@dataclass
class Control:
    """How to search, and the evaluations so far, over all searches of a fit."""

    schedule: GridSchedule = field(default_factory=GridSchedule)
    tol: float = 1e-7  # Gain in log-likelihood that a full step must promise.
    max_evaluations: int = 1000  # a dozen are usual
    report: Callable[[int, float], None] | None = None  # Hears of steps, for a progress line.
    n_evaluations: int = 0  # so far
    trace: list[tuple[int, int, float, float]] = field(default_factory=list)
    """Step, number of nodes, log-likelihood of real respondents, change."""
    reported: float = field(default_factory=time.perf_counter)


class Problem(NamedTuple):
    """A likelihood to maximise: responses, how a vector makes items, and their prior."""

    engine: Engine
    parameters: Parameterisation
    prior: Prior | None
    mesh: Mesh | None = None

    def items(self, x: Array) -> Items:
        """Items that a vector stands for."""
        return self.parameters.values(x).items

    def at(self, nodes: Nodes, *, exact: bool) -> PenalisedLikelihood:
        """Return the objective on some nodes."""
        likelihood = MarginalLikelihood(self.engine, nodes, exact=exact)
        return PenalisedLikelihood(likelihood, self.parameters, self.prior)

    def density(self, schedule: GridSchedule, x: Array, half_width: float = 0.0) -> NodeDensity:
        """How dense nodes must be for what a vector stands for."""
        at = self.parameters.values(x)
        return schedule.density(at.items, self.engine.patterns, half_width, at.populations)

    def posteriors(self, x: Array, nodes: Nodes) -> tuple[Posteriors, float]:
        """Posterior of every respondent, and the log-likelihood of real ones."""
        at = self.parameters.values(x)
        patterns = self.engine.patterns
        posteriors = MarginalLikelihood(self.engine, nodes).posteriors(at.items, at.populations)
        return posteriors, float((patterns.weight * posteriors.log_marginal)[patterns.real].sum())

    def dense_posteriors(
        self, x: Array, schedule: GridSchedule, half_width: float = 0.0
    ) -> tuple[Posteriors, float, float]:
        """The same on nodes twice as dense as needed, and a half-width that holds all of them."""
        mean, sd = self.parameters.values(x).populations[0]
        real = self.engine.patterns.real
        for _ in range(MOST_REPAIRS):
            density = self.density(schedule, x, half_width)
            posteriors, log_likelihood = self.posteriors(x, density.nodes(2, 2))
            farthest = np.abs(posteriors.mean - mean) + FAR * posteriors.sd
            reach = float(farthest[real].max()) / sd
            half_width = density.half_width
            if reach <= half_width:
                break
            half_width = 1.5 * reach
        return posteriors, log_likelihood, half_width


def problem_of(
    patterns: Patterns,
    model: ModelName,
    prior: Prior | None,
    mesh: Mesh | None = None,
    *,
    fixed: ItemParameters | None = None,
    levels: Mask | None = None,
) -> Problem:
    """Return the problem of fitting a model.

    ``fixed`` has the parameters that items keep, NaN where they are free. On their scale the
    population is free. The weak prior of free items then does not learn. The fixed items set its
    scale and location. ``levels`` are the items with ordered levels, of a model that has these.
    """
    engine: Any
    if levels is None:
        engine = engine_of(patterns, with_guessing=model == "3PL", mesh=mesh)
    else:
        engine = LevelEngine(patterns, model, marks=~levels)
    learns = prior is not None and prior.learns
    hyper = None
    if fixed is not None:
        free = np.isnan(fixed.discrimination)
        learns = False
        prior = of_some(prior, free) if free.any() else None
        if isinstance(prior, WeakPrior):
            prior = prior.on_fixed_scale()
            held = fixed.chosen(~free)
            items = Items(held.discrimination, held.intercept)
            hyper = prior.learned_from(items, common_slope=model == "1PL")
    parameters = Parameterisation(
        model,
        patterns.cells.shape[1],
        learns=learns,
        fixed=fixed,
        hyper=hyper,
        levels=None if levels is None else engine.levels,
    )
    return Problem(engine, parameters, prior, mesh)


def starting_slopes(patterns: Patterns, *, shrunk: bool) -> Array:
    """Slopes by the correlation of each item with the total score; points of levels are trials.

    Real respondents alone count: an always-right row would turn inverted items round, and the
    search might not find its way back. The biserial correlation ρ, of variance pq/(h²n) near 0 with
    the height h of the normal curve at p (Soper 1914), stands for a probit slope of ρ/√(1 − ρ²)
    (Lord & Novick 1968, section 16.10), 1.7 times that for a logistic one. What few respondents say
    about an item is mostly noise, so that with a prior correlations are ``shrunk`` to their mean.
    """
    margins = patterns.margins
    real = patterns.real
    weights = patterns.weight * real
    score = (margins.respondent_right + 0.5) / (margins.respondent_responses + 1)
    ability = np.log(score / (1 - score))
    ability = ability - np.average(ability, weights=weights)
    variance = np.average(ability**2, weights=weights)
    ability /= max(float(np.sqrt(variance)), 1e-3)
    ability = np.where(real, np.clip(ability, -4.0, 4.0), 0.0)
    answered = margins.item_responses[REAL]
    weighted = patterns.weight * ability
    with_right = patterns.right_sums(weighted)
    with_answered = patterns.response_sums(weighted)
    share = (margins.item_right[REAL] + 0.5) / (answered + 1)
    covariance = (with_right - share * with_answered) / np.maximum(answered, 1)
    height = np.array([_NORMAL.pdf(_NORMAL.inv_cdf(p)) for p in share])
    correlation = covariance / height
    if shrunk:
        copies = patterns.multiplicity
        mean_correlation = np.average(correlation, weights=copies)
        n = np.maximum(answered, 1.0)
        variances = share * (1 - share) / (height**2 * n)
        noise = np.average(variances, weights=copies)
        spread = np.average((correlation - mean_correlation) ** 2, weights=copies)
        reliability = 1 - noise / max(float(spread), 1e-9)
        kept = np.clip(reliability, 0.1, 1.0)
        correlation = mean_correlation + kept * (correlation - mean_correlation)
    correlation = np.clip(correlation, -0.9, 0.9)
    return 1.7 * correlation / np.sqrt(1 - correlation**2)


def intercept_of(share: Array, slope: Array | float) -> Array:
    """Intercept with which a share gets an item right, where ability is N(0, 1).

    About d = √(1 + a²/2.9) · log(p/(1 − p)): with 1.7 for the scale of a normal curve that looks
    like a logistic one, the mean over ability is one too (1.7² = 2.89).
    """
    stretch = np.sqrt(1 + slope**2 / 2.9)
    return np.log(share / (1 - share)) * stretch


class Maximum(NamedTuple):
    """Where a search ended, and the posterior of every respondent there."""

    x: Array
    nodes: Nodes
    converged: bool
    posteriors: Posteriors
    log_likelihood: float  # That of real respondents.
    quadrature_error: float
    """|log-likelihood on the nodes − on adaptive ones twice as dense|, all real respondents."""


def maximise(problem: Problem, lbfgs: PreconditionedLBFGS, control: Control) -> Maximum:
    """Search for the maximum from where a quasi-Newton search stands.

    It is in 32 bits until their error, 2e-7 per respondent (0.02 for 10⁵), matters.
    """
    schedule = control.schedule
    patterns = problem.engine.patterns
    # posteriors of few respondents cost little; on a mesh rounding to 32 bits would make the end
    # depend on the number of devices; 32 bits of 12 items × 10⁵ trials err by 0.1 a respondent
    few = patterns.n < max(256, patterns.n_items / 10)
    exact = few or problem.mesh is not None or patterns.repeated
    level = 0
    half_width = 0.0
    n_grids = 0
    density = problem.density(schedule, lbfgs.x)
    while True:
        nodes = schedule.built(density, level)
        n_grids = n_grids + 1
        adapts = schedule.fixed is None and n_grids < 40  # two grids are usual
        objective = problem.at(nodes, exact=exact)
        finer = None
        lbfgs.swap_objective()
        begun = control.n_evaluations
        next_look = 3
        while finer is None and not lbfgs.done and control.n_evaluations < control.max_evaluations:
            control.n_evaluations += 1
            if lbfgs.evaluate(objective, control.tol) and lbfgs.current:
                step = control.n_evaluations
                log_likelihood = lbfgs.current.log_likelihood
                control.trace.append((step, nodes.n_nodes, log_likelihood, lbfgs.change))
                now = time.perf_counter()
                if control.report and now > control.reported + 0.2:  # a line that can be read
                    control.report(step, log_likelihood)
                    control.reported = now
            elif lbfgs.expected < 0.1 and not exact:
                exact = True
                objective = problem.at(nodes, exact=True)
                lbfgs.restart()
            if control.n_evaluations == begun + next_look:
                next_look += min(next_look, 24)
                at = problem.parameters.values(lbfgs.x)
                steepest = float(np.abs(at.items.slope).max()) * at.populations[0].sd
                if problem.prior is None and control.n_evaluations > 48 and steepest > 100:
                    break  # the likelihood of separable items has no maximum at finite slopes
                if adapts:  # nodes 1.1 · 1.25 posterior SDs apart err by 6e-5
                    needed = problem.density(schedule, lbfgs.x, density.half_width)
                    finer = needed if density.too_coarse_for(needed, 1.25) else None
        if finer is not None:
            density = finer
            continue
        posteriors, on_dense, farthest = problem.dense_posteriors(lbfgs.x, schedule, half_width)
        log_likelihood = on_dense
        on_nodes = lbfgs.current.log_likelihood if lbfgs.current else -np.inf
        if schedule.fixed is not None:
            posteriors, on_nodes = problem.posteriors(lbfgs.x, nodes)
            log_likelihood = on_nodes
        error = abs(on_dense - on_nodes)
        # an error of 1e-4 for each respondent moves estimates by less than a hundredth of their
        # standard errors, slopes beyond 4 by up to 0.06
        fine = error <= 1e-4 * patterns.n_real and farthest <= density.half_width
        last = level + 1 == len(_REFINEMENTS) or schedule.fixed is not None
        if fine or last or control.n_evaluations >= control.max_evaluations:
            break
        level = level + 1
        half_width = max(half_width, farthest)
        density = problem.density(schedule, lbfgs.x, half_width)
    maximum = Maximum(lbfgs.x, nodes, lbfgs.converged, posteriors, log_likelihood, error)
    # Without a prior abilities have unit scale at the maximum; a prior that speaks of absolute
    # sizes moves them, noticeably with very few respondents or slopes beyond its limit.
    parameters = problem.parameters
    standard = parameters.populations == STANDARD and not parameters.n_population
    learns = parameters.n_hyper > 0 and schedule.fixed is None and standard
    return with_unit_scale(problem, maximum, schedule) if learns else maximum


def with_unit_scale(problem: Problem, maximum: Maximum, schedule: GridSchedule) -> Maximum:
    """Rescale items and abilities together until abilities have mean 0 and SD 1.

    Every probability of a right answer stays as it is.
    """
    patterns = problem.engine.patterns
    weights = patterns.weight * patterns.real
    for _ in range(MOST_REPAIRS):
        ability = maximum.posteriors.mean
        mean = float(np.average(ability, weights=weights))
        square = (ability - mean) ** 2 + maximum.posteriors.sd**2
        sd = float(np.sqrt(np.average(square, weights=weights)))
        if max(abs(mean), abs(sd - 1)) <= 0.02:  # the sampling error of 2,500 respondents
            break
        x = problem.parameters.rescaled(maximum.x, mean, sd)
        maximum = at_vector(problem, x, maximum, schedule)
    return maximum


def at_vector(problem: Problem, x: Array, maximum: Maximum, schedule: GridSchedule) -> Maximum:
    """Posteriors at x, which stands for items that were changed after the maximum."""
    posteriors, log_likelihood, _ = problem.dense_posteriors(x, schedule)
    return maximum._replace(x=x, posteriors=posteriors, log_likelihood=log_likelihood)
