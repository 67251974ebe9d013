"""Marginal maximum likelihood: the search for the maximum, on one grid after another.

The adaptive grid is built for the items the search starts from, and built anew when the items have
come to need finer nodes, or when the log-likelihood on nodes twice as dense differs; the search
then goes on from where it is. On a fixed grid there is one search. On one grid no step is taken
that lowers the objective by more than rounding.

Before the search come easier problems whose maxima are on the way (:mod:`.maximum_likelihood`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.expected import ExpectedItems, of_some, usual
from irtkit.calibration.likelihood import (
    STANDARD,
    FreeGroups,
    MarginalLikelihood,
    Parameterisation,
    PenalisedLikelihood,
    Values,
    synthetic_sd,
)
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.irf import Items
from irtkit.quadrature import HALF_WIDTH, NodeDensity, engine_of, fixed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jax.sharding import Mesh

    from irtkit.calibration.lbfgs import PreconditionedLBFGS
    from irtkit.calibration.likelihood import Population
    from irtkit.calibration.priors import Prior
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.quadrature import Engine, Nodes, Posteriors


@dataclass(frozen=True)
class GridSchedule:
    """Which nodes suit some items: a fixed grid, or adaptive ones, finer if that proves too coarse.

    ``fixed`` is (nodes, limit), or None.
    """

    fixed: tuple[int, float] | None = None
    half_width: float = HALF_WIDTH
    many_items: int = 512
    """Items below which curves are computed at every node, with complete data and no guessing; else
    the share of points decides alone."""
    share_of_points: float = 0.7
    """Share of curve points in nodes below which interpolation spares more than it costs."""
    refinements: tuple[tuple[int, int, bool], ...] = (
        (1, 1, True),
        (1, 2, True),
        (1, 3, False),
        (2, 4, False),
    )
    """Nodes and curve points as multiples of what is needed, and whether curves are interpolated:
    tried in turn until the error is small enough; the first nearly always is."""
    error: float = 1e-4
    """Quadrature error of the log-likelihood per real respondent above which grids are refined.
    Estimates move by less than a hundredth of their standard errors, slopes beyond 4 by up to 0.06;
    by up to 0.03 between two searches that came by other grids. A last grid for the items found
    would halve that, for some six evaluations more."""
    too_coarse: float = 1.25
    """Factor by which nodes may be too far apart: 1.1 · 1.25 posterior SDs err by 6e-5."""
    first_check: int = 3  # the largest steps are the first
    longest_stretch: int = 24
    """Evaluations before it is looked whether items need finer nodes; the stretches double."""
    most_grids: int = 40
    """Grids that may prove too coarse before one is kept, lest they never end; two are usual."""

    def density(
        self,
        items: Items,
        patterns: Patterns,
        half_width: float = 0.0,
        populations: Sequence[Population] = STANDARD,
    ) -> NodeDensity:
        """How dense nodes must be, as far as abilities go: in SDs of the first population."""
        (mean, sd), precision = populations[0], 1.0
        if populations != STANDARD:
            items = Values(items, tuple(populations), Hyper(0.0, 0.0), None).in_sds
        half_width = max(half_width, self.half_width)
        for other in populations[1:]:
            off, ratio = (other.mean - mean) / sd, other.sd / sd
            half_width = max(half_width, abs(off) + self.half_width * ratio)
            precision = max(precision, ratio**-2)
        if patterns.has_synthetic:
            half_width = max(half_width, 4 * synthetic_sd(items, 1.0, patterns.multiplicity))
        answered = float(patterns.margins.respondent_responses.max()) / patterns.n_items
        by_product = not patterns.complete or items.logit_guessing is not None
        pays = by_product or patterns.n_items >= self.many_items
        share = self.share_of_points if pays else 0.0
        found = NodeDensity.of(
            items, half_width, answered, patterns.multiplicity, share=share, precision=precision
        )
        return found.moved(mean, sd)

    def nodes(self, items: Items, patterns: Patterns) -> Nodes:
        """Return the fixed grid, or the first that suits some items."""
        return self.built(self.density(items, patterns), 0)

    def built(self, density: NodeDensity, level: int) -> Nodes:
        """Return the fixed grid, or nodes of a density, refined to a level."""
        if self.fixed is not None:
            return fixed_nodes(*self.fixed)
        refined, points_refined, interpolates = self.refinements[level]
        return density.nodes(refined, points_refined, interpolates=interpolates)

    def for_errors(self, at: Values, patterns: Patterns, nodes: Nodes) -> Nodes:
        """Nodes of standard errors: those of the fit, or, of repeated trials, twice as many.

        What is left of the information about scale and location, when that missing is taken off, is
        one part in as many as a respondent's responses have information. Posterior variances on
        nodes 1.1 SDs apart err by 5e-6, which with 10⁶ trials is more.
        """
        if self.fixed is not None or not patterns.repeated:
            return nodes
        mean, sd = at.populations[0]
        half_width = (float(nodes.theta[-1]) - mean) / sd
        density = self.density(at.items, patterns, half_width, at.populations)
        return density.nodes(2, interpolates=False)


@dataclass(frozen=True)
class Stopping:
    """When a search ends."""

    tol: float
    """Gain in log-likelihood that a full step must promise."""
    max_evaluations: int = 1000
    """Evaluations of the likelihood, of all searches of a fit together; a dozen are the rule."""
    steepest: float = 5 * WeakPrior.steep
    patience: int = 48
    """Slope, and evaluations, beyond which a fit without a prior is given up: on separable items
    slopes grow for ever. The slope is five times what the weak prior begins to hold; a dozen
    evaluations are the rule."""


@dataclass
class Monitor:
    """Evaluations so far, over all searches of a fit; reports to a progress line."""

    report: Callable[[int, float], None]
    n_evaluations: int = 0  # so far
    trace: list[tuple[int, int, float, float]] = field(default_factory=list)
    """Step, number of nodes, log-likelihood of real respondents, change."""
    seconds_between_reports: float = 0.2  # a line that changes faster is not read
    reported: float = field(default_factory=time.perf_counter)

    def accepted(self, search: PreconditionedLBFGS, nodes: Nodes) -> None:
        """Note a step."""
        if search.current is None:
            return
        log_likelihood, now = search.current.log_likelihood, time.perf_counter()
        self.trace.append((self.n_evaluations, nodes.n_nodes, log_likelihood, search.change))
        if now > self.reported + self.seconds_between_reports:
            self.report(self.n_evaluations, log_likelihood)
            self.reported = now


class Control(NamedTuple):
    """How to search."""

    schedule: GridSchedule
    stopping: Stopping
    monitor: Monitor


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

    def posteriors(self, x: Array, nodes: Nodes) -> Posteriors:
        """Posterior of every respondent."""
        at = self.parameters.values(x)
        return MarginalLikelihood(self.engine, nodes).posteriors(at.items, at.populations)

    def log_likelihood(self, posteriors: Posteriors) -> float:
        """Sum over real respondents."""
        patterns = self.engine.patterns
        return float((patterns.weight * posteriors.log_marginal)[patterns.real].sum())

    def dense_posteriors(
        self, x: Array, schedule: GridSchedule, half_width: float = 0.0
    ) -> tuple[Posteriors, float]:
        """Posteriors on nodes twice as dense as needed, and a half-width that holds all of them."""
        at, patterns = self.parameters.values(x), self.engine.patterns
        mean, sd = at.populations[0]
        for _ in range(MOST_REPAIRS):
            density = self.density(schedule, x, half_width)
            posteriors = self.posteriors(x, density.nodes(2, 2))
            farthest = np.abs(posteriors.mean - mean) + FAR * posteriors.sd
            reach, half_width = float(farthest[patterns.real].max()) / sd, density.half_width
            if reach <= half_width:
                break
            half_width = 1.5 * reach
        return posteriors, half_width

    def density(self, schedule: GridSchedule, x: Array, half_width: float = 0.0) -> NodeDensity:
        """How dense nodes must be for what a vector stands for."""
        at = self.parameters.values(x)
        return schedule.density(at.items, self.engine.patterns, half_width, at.populations)


def problem_of(
    patterns: Patterns,
    model: ModelName,
    prior: Prior | None,
    mesh: Mesh | None = None,
    *,
    fixed: ItemParameters | None = None,
    groups: FreeGroups | None = None,
) -> Problem:
    """Return the problem of fitting a model.

    ``fixed`` has the parameters that items keep, NaN where they are free; on their scale the
    population is free. The weak prior of free items then does not learn: its scale and location are
    those that the fixed items teach it.
    """
    engine = engine_of(patterns, with_guessing=model == "3PL", mesh=mesh)
    learns, hyper = prior is not None and prior.learns, None
    if fixed is not None:
        free, learns, groups = np.isnan(fixed.discrimination), False, FreeGroups(1, (0,), (0,))
        if isinstance(prior, ExpectedItems):
            prior = prior.on_fixed_scale()
        prior = of_some(prior, free) if free.any() else None
        if isinstance(prior, WeakPrior):
            known = fixed.chosen(~free)
            items = Items(known.discrimination, known.intercept)
            hyper = usual(prior).learned_from(items, common_slope=model == "1PL")
    parameters = Parameterisation(
        model, patterns.cells.shape[1], learns=learns, fixed=fixed, hyper=hyper, groups=groups
    )
    return Problem(engine, parameters, prior, mesh)


class Maximum(NamedTuple):
    """Where a search ended, and the posterior of every respondent there."""

    x: Array
    nodes: Nodes
    converged: bool
    posteriors: Posteriors
    log_likelihood: float
    """That of real respondents."""
    quadrature_error: float
    """|log-likelihood on the nodes − on adaptive ones twice as dense|, all real respondents."""


FAR = 7.0
"""Posterior SDs that a grid must reach beyond the farthest mean: a normal posterior has 1e-12
beyond them."""
MOST_REPAIRS = 10
"""Half-widths, and rescalings, that are tried before the last is kept, lest they never end."""
_FEW_RESPONDENTS, _ITEMS_PER_RESPONDENT = 256, 10
"""Respondents, and items for each of them, up to which posteriors cost so little that all is
computed in 64 bits. Of 300 × 4,000 that spares 2 of 21 evaluations, those after the switch."""
_SMALL_GAIN = 0.1
"""A step that promises less and fails shows that 32 bits, off by 2e-7 a respondent, are no longer
enough: of 10⁵ respondents 0.02."""


def maximise(problem: Problem, lbfgs: PreconditionedLBFGS, control: Control) -> Maximum:
    """Search for the maximum from where a quasi-Newton search stands."""
    schedule, stopping, monitor = control
    patterns, level, half_width, n_grids = problem.engine.patterns, 0, 0.0, 0
    search = _Search(problem, lbfgs, control)
    density = problem.density(schedule, lbfgs.x)
    while True:
        nodes, n_grids = schedule.built(density, level), n_grids + 1
        finer = search.on(nodes, density if n_grids < schedule.most_grids else None)
        if finer is not None:
            density = finer
            continue
        posteriors, farthest = problem.dense_posteriors(lbfgs.x, schedule, half_width)
        log_likelihood = problem.log_likelihood(posteriors)
        on_nodes = lbfgs.current.log_likelihood if lbfgs.current else -np.inf
        on_dense = log_likelihood
        if schedule.fixed is not None:
            posteriors = problem.posteriors(lbfgs.x, nodes)
            on_nodes = log_likelihood = problem.log_likelihood(posteriors)
        error = abs(on_dense - on_nodes)
        fine = error <= schedule.error * patterns.n_real and farthest <= density.half_width
        last = level + 1 == len(schedule.refinements) or schedule.fixed is not None
        if fine or last or monitor.n_evaluations >= stopping.max_evaluations:
            break
        level, half_width = level + 1, max(half_width, farthest)
        density = problem.density(schedule, lbfgs.x, half_width)
    found = Maximum(lbfgs.x, nodes, lbfgs.converged, posteriors, log_likelihood, error)
    # Without a prior abilities have unit scale at the maximum; a prior that speaks of absolute
    # sizes moves them, noticeably with very few respondents or slopes beyond its limit.
    standard = problem.parameters.groups == FreeGroups()
    learns = problem.parameters.n_hyper > 0 and schedule.fixed is None and standard
    return with_unit_scale(problem, found, schedule) if learns else found


class _Search:
    """A quasi-Newton search, grid after grid, in 32 bits until these are no longer enough."""

    def __init__(self, problem: Problem, lbfgs: PreconditionedLBFGS, control: Control) -> None:
        self.problem, self.lbfgs = problem, lbfgs
        self.schedule, self.stopping, self.monitor = control
        patterns = problem.engine.patterns
        few = patterns.n < max(_FEW_RESPONDENTS, patterns.n_items / _ITEMS_PER_RESPONDENT)
        # on a mesh, too: rounding to 32 bits would make the end depend on the number of devices;
        # and of repeated trials: 32 bits of 12 items × 10⁵ trials err by 0.1 a respondent
        self.exact = few or problem.mesh is not None or patterns.repeated

    def on(self, nodes: Nodes, density: NodeDensity | None) -> NodeDensity | None:
        """Search on one grid to the end, or until items need finer nodes than it was built for.

        Return what they need then.
        """
        lbfgs, monitor, stopping = self.lbfgs, self.monitor, self.stopping
        objective = self.problem.at(nodes, exact=self.exact)
        lbfgs.swap_objective()
        begun, next_check = monitor.n_evaluations, self.schedule.first_check
        while not lbfgs.done and monitor.n_evaluations < stopping.max_evaluations:
            monitor.n_evaluations += 1
            accepted = lbfgs.evaluate(objective, stopping.tol)
            if accepted:
                monitor.accepted(lbfgs, nodes)
            elif lbfgs.expected < _SMALL_GAIN and not self.exact:
                self.exact, objective = True, self.problem.at(nodes, exact=True)
                lbfgs.restart()
            if density is not None and monitor.n_evaluations == begun + next_check:
                at = self.problem.parameters.values(lbfgs.x)
                steepest = float(np.abs(at.items.slope).max()) * at.populations[0].sd
                late = monitor.n_evaluations > stopping.patience
                if self.problem.prior is None and late and steepest > stopping.steepest:
                    return None  # the likelihood has no maximum at finite slopes
                needed = self.problem.density(self.schedule, lbfgs.x, density.half_width)
                too_coarse = density.too_coarse_for(needed, self.schedule.too_coarse)
                if too_coarse and self.schedule.fixed is None:
                    return needed
                next_check += min(next_check, self.schedule.longest_stretch)
        return None


_OFF_SCALE = 0.02
"""Departure from mean 0 and SD 1 that is put right, in SDs of ability among the respondents: the
standard error of a mean over 2,500 of them."""


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
        if abs(mean) <= _OFF_SCALE and abs(sd - 1) <= _OFF_SCALE:
            break
        x = problem.parameters.rescaled(maximum.x, mean, sd)
        maximum = at_vector(problem, x, maximum, schedule)
    return maximum


def at_vector(problem: Problem, x: Array, maximum: Maximum, schedule: GridSchedule) -> Maximum:
    """Posteriors at x, which stands for items that were changed after the maximum."""
    posteriors, _ = problem.dense_posteriors(x, schedule)
    log_likelihood = problem.log_likelihood(posteriors)
    return maximum._replace(x=x, posteriors=posteriors, log_likelihood=log_likelihood)
