"""Calibration on an earlier scale: some items keep their parameters, and tell where the rest are.

Items and abilities are on the scale of the fixed items. Ability is N(μ, σ²) among the respondents,
with μ and σ estimated, so that abler respondents than before are abler, and do not make items
easier. In SDs of these respondents, in which the marginal likelihood is computed, an item of slope
a and intercept d has slope σa and intercept d + μa. What is maximised is the likelihood of all
items, those that are free under their prior (fixed parameter calibration; Kim 2006).

The weak prior of free items does not learn: its scale and location are those that the fixed items
teach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.optimize import minimize

from irtkit.calibration.estimates import Estimates, Population, unbounded
from irtkit.calibration.expected import ExpectedItems, of_some, usual
from irtkit.calibration.information import expected_of, inverse_of, system_of
from irtkit.calibration.item_prior import ItemPrior
from irtkit.calibration.lbfgs import Evaluation, PreconditionedLBFGS
from irtkit.calibration.likelihood import (
    Curvature,
    MarginalLikelihood,
    Parameterisation,
    PenalisedLikelihood,
    Values,
    beside_angles,
    population_sds,
)
from irtkit.calibration.many_items import (
    by_themselves,
    directions_of_items,
    information_along,
    missing_information_along,
)
from irtkit.calibration.maximise import Problem, maximise
from irtkit.calibration.maximum_likelihood import LOGIT_OF_GUESSING, intercept_of, maximum_of
from irtkit.calibration.prior_information import PriorInformation, prior_information
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.irf import LEAST_LOGIT, Items, logits_of_guessing
from irtkit.quadrature import engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.maximise import Control, Maximum
    from irtkit.calibration.priors import Prior
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.quadrature import Grid, Nodes

ABOUT_SCALE = 2
"""Parameters before those of free items: log σ and μ."""


@dataclass(frozen=True)
class Anchored:
    """How a vector (log σ, μ, free items) makes up all items in SDs of the respondents.

    It stands in for :class:`.likelihood.Parameterisation`, which it takes for the free items.
    """

    fixed: ItemParameters
    """Of all items, NaN where they are free."""
    free_items: Parameterisation
    hyper: Hyper
    """What the weak prior of free items holds its scale and location at."""

    @property
    def model(self) -> ModelName:
        """Name of the model."""
        return self.free_items.model

    @property
    def common_slope(self) -> bool:
        """Whether all items have one slope, which the fixed ones tell."""
        return self.free_items.common_slope

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which items are free, (n_items,)."""
        return np.isnan(self.fixed.discrimination)

    @property
    def n_hyper(self) -> int:
        """How much the prior learns with the items: nothing."""
        return 0

    @property
    def size(self) -> int:
        """Number of parameters."""
        return ABOUT_SCALE + self.free_items.size

    def population(self, x: Array) -> Population:
        """Mean and SD of ability."""
        return Population(float(x[1]), float(np.exp(x[0])))

    def of_free(self, x: Array) -> Values:
        """Free items, on the scale of the fixed ones."""
        return self.free_items.values(x[ABOUT_SCALE:])._replace(latent_sd=1.0, hyper=self.hyper)

    def on_fixed_scale(self, x: Array) -> Items:
        """All items, on the scale of the fixed ones."""
        own, free = self.of_free(x).items, self.free
        slope, intercept = self.fixed.discrimination.copy(), self.fixed.intercept.copy()
        slope[free], intercept[free] = own.slope, own.intercept
        if own.logit_guessing is None:
            return Items(slope, intercept)
        logits = logits_of_guessing(self.fixed.guessing)
        logits[free] = own.logit_guessing
        return Items(slope, intercept, np.maximum(logits, LEAST_LOGIT))

    def values(self, x: Array) -> Values:
        """All items in SDs of the respondents."""
        items, population = self.on_fixed_scale(x), self.population(x)
        moved = items._replace(
            slope=population.sd * items.slope,
            intercept=items.intercept + population.mean * items.slope,
        )
        return Values(moved, 1.0, self.hyper, None)

    def vector(self, items: Items, population: Population) -> Array:
        """Return the vector of some free items, on the scale of the fixed ones."""
        own = np.zeros(self.free_items.size)
        if len(items.slope):
            own = self.free_items.vector(items)
        if self.common_slope:
            own[0] = self.fixed.discrimination[~self.free][0]
        return np.concatenate([[np.log(population.sd), population.mean], own])


class AnchoredLikelihood(PenalisedLikelihood):
    """Marginal log-likelihood of all items plus log prior of the free ones."""

    def __init__(
        self, likelihood: MarginalLikelihood, anchored: Anchored, prior: Prior | None
    ) -> None:
        super().__init__(likelihood, anchored.free_items, prior)
        self.anchored = anchored

    def evaluate(self, x: Array) -> Evaluation:
        """Value, gradient and complete-data information of the free items at x."""
        anchored, free = self.anchored, self.anchored.free
        found = self.likelihood.terms(anchored.values(x).items)
        population, own = anchored.population(x), anchored.of_free(x)
        slope, by_slope, by_intercept = anchored.on_fixed_scale(x).slope, *found.gradient.T[:2]
        by_scale = np.array([population.sd * slope @ by_slope, slope @ by_intercept])
        turn = _to_sds(population, found.gradient.shape[1])
        by_item = found.gradient[free] @ turn
        information = turn.T @ found.information[free] @ turn
        value, prior = found.value, None
        if own.logit_by_angle is not None:
            information[:, 2, 2] += beside_angles(by_item[:, 2])
        if self.prior is not None:
            prior = self.prior.at(own.items, self.anchored.hyper, common_slope=self._common_slope)
            value, by_item = value + prior.log_density, by_item + prior.gradient
        gradient = self.parameters.pulled_back(own, by_item, 0.0, np.zeros(2))
        if self._common_slope:
            gradient[self.parameters.slopes] = 0.0
        whole = np.concatenate([by_scale, gradient])
        curvature = Curvature(own, information, prior)
        return Evaluation(value, whole, found.log_likelihood, curvature)

    def precondition(self, x: Array, curvature: Curvature, v: Array) -> Array:
        """Newton block per free item, and the scale and location of the respondents."""
        n, sd = self.likelihood.engine.patterns.n_real, np.exp(x[0])
        inverse = np.array([0.5, sd**2]) / n  # n normal abilities tell log σ by 2n, μ by n/σ²
        about_scale = v[:ABOUT_SCALE] * inverse
        step = self.local_step(curvature, v[ABOUT_SCALE:])
        if self._common_slope:
            step[self.parameters.slopes] = 0.0
        return np.concatenate([about_scale, step])

    @property
    def _common_slope(self) -> bool:
        return self.parameters.common_slope


class AnchoredProblem(Problem):
    """A likelihood to maximise where some items are fixed."""

    @property
    def anchored(self) -> Anchored:
        """How a vector makes items."""
        found: Any = self.parameters
        return cast("Anchored", found)

    def at(self, nodes: Nodes, *, exact: bool) -> AnchoredLikelihood:
        """Return the objective on some nodes."""
        likelihood = MarginalLikelihood(self.engine, nodes, exact=exact)
        return AnchoredLikelihood(likelihood, self.anchored, self.prior)


def _to_sds(population: Population, size: int) -> Array:
    """Derivatives of parameters in SDs of the respondents by those on the fixed scale, (k, k)."""
    turn = np.eye(size)
    turn[0, 0], turn[1, 0] = population.sd, population.mean
    return turn


def anchored_estimates(
    patterns: Patterns,
    fixed: ItemParameters,
    model: ModelName,
    prior: Prior | None,
    control: Control,
    *,
    standard_errors: bool,
    trial_correlation: float | None,
) -> Estimates:
    """Estimate free items, and all abilities, on the scale of the fixed items.

    ``fixed`` has all items, NaN where they are free.
    """

    def search_of(counted: Patterns) -> tuple[Problem, PreconditionedLBFGS]:
        problem = _problem(counted, fixed, model, prior)
        return problem, PreconditionedLBFGS(_start(problem, control))

    found = maximum_of(patterns, search_of, control, given=trial_correlation)
    problem, maximum, correlation = cast("AnchoredProblem", found.problem), *found[1:]
    anchored, x = problem.anchored, maximum.x
    population, inside = anchored.population(x), anchored.values(x).items
    sds, covariances = population_sds(problem.engine.patterns, inside, 1.0), None
    population_se = None
    if standard_errors:
        nodes = control.schedule.for_errors(inside, problem.engine.patterns, maximum.nodes)
        grid = MarginalLikelihood(problem.engine, nodes).grid(inside)
        covariances, (of_log_sd, of_mean) = _covariances(problem, grid, x, sds)
        if min(of_log_sd, of_mean) > 0:
            population_se = of_mean**0.5, population.sd * of_log_sd**0.5
    ability, sd = maximum.posteriors.mean, maximum.posteriors.sd
    return Estimates(
        items=anchored.on_fixed_scale(x),
        covariances=covariances,
        unbounded=_unbounded(problem, maximum),
        common_slope=anchored.common_slope,
        ability=population.mean + population.sd * ability,
        ability_se=population.sd * sd,
        latent_sd=None,
        synthetic_sd=population.sd * sds[1],
        prior=None if prior is None else prior.described(),
        log_likelihood=maximum.log_likelihood,
        converged=maximum.converged,
        n_iterations=control.monitor.n_evaluations,
        trace_rows=np.array(control.monitor.trace, dtype=np.float64).reshape(-1, 4),
        nodes=maximum.nodes,
        quadrature_error=maximum.quadrature_error,
        trial_correlation=correlation,
        population=population,
        population_se=population_se,
    )


def _unbounded(problem: AnchoredProblem, maximum: Maximum) -> NDArray[np.bool_]:
    """Which free items have no estimate that the likelihood or their prior holds."""
    anchored, information = problem.anchored, None
    inside = anchored.values(maximum.x).items
    if problem.prior is None or isinstance(problem.prior, ItemPrior):
        terms = MarginalLikelihood(problem.engine, maximum.nodes).terms(inside)
        information = terms.information[:, 1, 1]
    return unbounded(problem.prior, inside, information) & anchored.free


def _problem(
    patterns: Patterns, fixed: ItemParameters, model: ModelName, prior: Prior | None
) -> AnchoredProblem:
    engine = engine_of(patterns, with_guessing=model == "3PL")
    if isinstance(prior, ExpectedItems):
        prior = prior.on_fixed_scale()
    prior = of_some(prior, np.isnan(fixed.discrimination))
    free = Parameterisation(model, int(np.isnan(fixed.discrimination).sum()), learns=False)
    prior = prior if free.n_items else None
    hyper = _taught(fixed, free, prior)
    parameters: Any = Anchored(fixed, free, hyper)
    return AnchoredProblem(engine, parameters, prior)


def _taught(fixed: ItemParameters, free: Parameterisation, prior: Prior | None) -> Hyper:
    """Scale and location that fixed items teach the weak prior."""
    start = Hyper(0.0, 0.0)
    if not isinstance(prior, WeakPrior) or not free.n_items:
        return start
    known = fixed.chosen(~np.isnan(fixed.discrimination))
    prior = usual(prior)
    items = Items(known.discrimination, known.intercept)

    def falling(at: Array) -> tuple[float, Array]:
        hyper = Hyper(float(at[1]), float(at[0]))
        found = prior.at(items, hyper, common_slope=free.common_slope)
        return -found.log_density, -found.by_hyper

    location, log_scale = minimize(falling, np.zeros(2), jac=True, method="BFGS").x
    return Hyper(float(log_scale), float(location))


def _start(problem: AnchoredProblem, control: Control) -> Array:
    """Respondents as the fixed items place them, free items as shares right then have it."""
    anchored, patterns = problem.anchored, problem.engine.patterns
    free, known = anchored.free, anchored.fixed.chosen(~anchored.free)
    population, slope = Population(0.0, 1.0), float(np.median(known.discrimination))
    if free.any():
        alone = _problem(patterns.with_columns(np.flatnonzero(~free)), known, anchored.model, None)
        placed = maximise(alone, PreconditionedLBFGS(_start(alone, control)), control)
        population = alone.anchored.population(placed.x)
    right, answered = patterns.margins.item_right[0], patterns.margins.item_responses[0]
    share = ((right + 0.5) / (answered + 1))[free]
    intercept = intercept_of(share, slope * population.sd) - slope * population.mean
    slopes = np.full_like(intercept, slope)
    items = Items(slopes, intercept, np.full_like(intercept, LOGIT_OF_GUESSING))
    return anchored.vector(items, population)


def _covariances(
    problem: AnchoredProblem, grid: Grid, x: Array, sds: tuple[float, float]
) -> tuple[Array, tuple[float, float]]:
    """Covariances of the parameters of free items on the fixed scale, NaN for the fixed ones.

    And the variances of log σ and μ.

    As those of many items (:mod:`.many_items`), beside which log σ and μ move the fixed items.
    """
    anchored, patterns = problem.anchored, problem.engine.patterns
    free, common, population = anchored.free, anchored.common_slope, anchored.population(x)
    items, inside = anchored.on_fixed_scale(x), anchored.values(x).items
    size = 2 if items.logit_guessing is None else 3
    found = np.full((len(free), size, size), np.nan)
    times = np.ones(len(free))
    expected = expected_of(patterns, inside, grid, right_too=size == 3)
    system = system_of(inside, expected, sds)
    of_free = system._replace(item_blocks=system.item_blocks * free[:, None, None])
    prior = _prior_in_sds(problem, x, size)
    apart = by_themselves(of_free, prior, times, slice(int(common), None))
    of_items = directions_of_items(inside, apart, of_free.item_blocks, prior, times)
    n_own = of_items.shape[2]
    directions = np.zeros((len(free), size, n_own + ABOUT_SCALE))
    directions[apart.known, apart.own, :n_own] = of_items
    directions[:, 0, n_own] = inside.slope * (~free | common)
    directions[:, 1, n_own + 1] = items.slope * ~free
    information = information_along(directions, system.item_blocks, prior, times)
    information -= missing_information_along(directions, patterns, inside, grid, times)
    covariance = inverse_of(information)
    more = covariance[:n_own, :n_own] - np.eye(n_own)
    joint = np.zeros((len(of_items), size + ABOUT_SCALE, size + ABOUT_SCALE))
    own = slice(apart.own.start, size)
    joint[:, own, own] = apart.inverses + of_items @ more @ of_items.swapaxes(1, 2)
    joint[:, own, size:] = of_items @ covariance[:n_own, n_own:]
    joint[:, size:, own] = joint[:, own, size:].swapaxes(1, 2)
    joint[:, size:, size:] = covariance[n_own:, n_own:]
    turn = _to_fixed_scale(items.slope[apart.known], population, size, common_slope=common)
    found[apart.known] = turn @ joint @ turn.swapaxes(1, 2)
    return found, (float(covariance[n_own, n_own]), float(covariance[n_own + 1, n_own + 1]))


def _prior_in_sds(problem: AnchoredProblem, x: Array, size: int) -> PriorInformation:
    """Information of the prior of free items about their parameters in SDs of the respondents."""
    anchored = problem.anchored
    free, blocks = anchored.free, np.zeros((len(anchored.free), size, size))
    if problem.prior is not None:
        back: Any = np.linalg.inv(_to_sds(anchored.population(x), size))
        own = prior_information(problem.prior, anchored.free_items, anchored.of_free(x), None)
        blocks[free] = back.T @ own.blocks @ back
    return PriorInformation(blocks, np.zeros((len(free), size, 0)), np.zeros((0, 0)))


def _to_fixed_scale(
    slope: Array, population: Population, size: int, *, common_slope: bool
) -> Array:
    """Derivatives of a, d (and logit) on the fixed scale, (n, k, k + 2).

    By those in SDs of the respondents, log σ and μ: a is that slope over σ, and d that intercept
    less μa.
    """
    turn = np.zeros((len(slope), size, size + ABOUT_SCALE))
    turn[:, range(size), range(size)] = 1.0
    turn[:, 1, size + 1] = -slope
    turn[:, 0, 0] = 0.0
    if not common_slope:
        turn[:, 0, 0], turn[:, 1, 0] = 1 / population.sd, -population.mean / population.sd
        turn[:, 0, size], turn[:, 1, size] = -slope, population.mean * slope
    return turn
