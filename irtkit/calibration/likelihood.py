"""The marginal likelihood of items and populations, and the penalised one as an objective.

**Likelihood.** Ability is integrated out. Groups of real respondents have N(μ, σ²). It is known,
but that of the first group may have parameters: σ in the Rasch model, whose slopes are 1, and both
next to fixed items. The gradient follows by Fisher's identity. Synthetic respondents have N(μ, σ² +
(w/τ)²), μ and σ of the first group, τ the typical slope and w wide on the logit scale: the wide
part follows the items when they are rescaled, so that synthetic respondents do not pull on the
scale.

On a fixed grid a free σ that is flat on it may grow for ever. So where μ or σ is a parameter the
search counts what lies beyond the grid as lost: it adds the log share of N(μ, σ²) on the grid. Its
maximum is then the fixed point of the EM of R's mirt.

**Objective.** The log prior of free items is added. Guessing moves by its *angle* φ, c = sin² φ,
which reaches c = 0 in a few steps. The preconditioner is an EM step (a Newton block per item, less
what its slope loses as abilities are told from the responses; Louis 1982) plus the two directions
in which EM is slow, the common scale and location of the items (parameter-expanded EM: Liu, Rubin
& Wu 1998).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.priors import Hyper
from irtkit.data.patterns import REAL, SYNTHETIC
from irtkit.irf import OF_LEVELS, Items, logits_of_guessing
from irtkit.quadrature import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from irtkit.calibration.priors import AtPrior, Prior
    from irtkit.data.patterns import Mask
    from irtkit.irf import Array, ItemParameters, Levels, ModelName
    from irtkit.quadrature import Nodes, Posteriors
    from irtkit.quadrature.engines import Engine

SYNTHETIC_LOGIT_SD = 5.0
"""w: SD, in logits, by which synthetic ability exceeds that of real respondents: an always-right
row may then lie beyond nearly every item."""
_OFF_ZERO = 0.01  # Added to squared slopes before logarithms: a flat item counts as a slope of 0.1.
_JITTER = 1e-3  # Added to the information of a parameter, in responses: with less it is settled.


class Population(NamedTuple):
    """Mean and SD of ability in a group of respondents."""

    mean: float = 0.0
    sd: float = 1.0


STANDARD: tuple[Population, ...] = (Population(),)
"""One group of real respondents, whose ability is known to be N(0, 1)."""


class Terms(NamedTuple):
    """Marginal log-likelihood of items and populations, and its derivatives."""

    value: float  # Of all respondents.
    log_likelihood: float  # Of real respondents.
    gradient: Array  # Shape (n_items, k): by slope, intercept (and logit of guessing).
    information: Array  # Complete-data information of every item, (n_items, k, k).
    by_population: Array
    """By the mean and the log SD of every group of real respondents, (n_groups, 2)."""


class MarginalLikelihood:
    """Marginal log-likelihood of items and of the populations of real respondents, on given nodes.

    ``exact`` computes all of it in 64 bits, which takes up to twice as long.
    """

    def __init__(self, engine: Engine, nodes: Nodes, *, exact: bool = False) -> None:
        self.engine = engine
        self.nodes = nodes
        self.exact = exact
        patterns = engine.patterns
        # rounding error in 32 bits; with dense missing cells sums over items are in 32 bits too
        by_items = 0.0 if patterns.complete or patterns.sparse else patterns.n_items / 20
        self.noise = 0.0 if exact else 2e-7 * patterns.n_respondents * (1 + by_items)
        weights = nodes.normal_log_weights(1.0)
        self._standard = Grid(nodes, np.stack([weights, weights]))

    def grid(self, items: Items, populations: Sequence[Population] = STANDARD) -> Grid:
        """Nodes with the prior weights of every group of respondents."""
        if populations is STANDARD and not self.engine.patterns.has_synthetic:
            return self._standard
        groups = self._with_synthetic(items, populations)
        weights = [self.nodes.normal_log_weights(group.sd, group.mean) for group in groups]
        return Grid(self.nodes, np.stack(weights))

    def terms(self, items: Items, populations: Sequence[Population] = STANDARD) -> Terms:
        """Value, gradient and complete-data information."""
        grid = self.grid(items, populations)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            sums = self.engine.sums(items, grid, exact=self.exact)
        gradient = sums.gradient
        by_population = np.zeros((len(populations), 2))
        if grid is not self._standard:
            groups = self._with_synthetic(items, populations)
            mean, sd = np.array(groups).T[:, :, None]
            z = (self.nodes.theta - mean) / sd
            mass = sums.node_mass
            beyond = mass - mass.sum(axis=1, keepdims=True) * np.exp(grid.log_weights)
            by_group = np.stack([(z / sd * beyond).sum(axis=1), (z**2 * beyond).sum(axis=1)], 1)
            by_population = np.delete(by_group, SYNTHETIC, axis=0)
            # share of the wide part in the variance of synthetic ability
            wide = 1 - (groups[REAL].sd / groups[SYNTHETIC].sd) ** 2
            by_mean, by_log_sd = by_group[SYNTHETIC]
            by_population[0] += by_mean, by_log_sd * (1 - wide)
            patterns = self.engine.patterns
            by_slope = patterns.copies(items.slope / (items.slope**2 + _OFF_ZERO))
            gradient = gradient.copy()
            gradient[:, 0] -= wide * by_log_sd * by_slope / patterns.n_items
        value = float(sums.log_marginal.sum())
        of_real = value - float(sums.log_marginal[SYNTHETIC])
        return Terms(value, of_real, gradient, sums.information, by_population)

    def posteriors(self, items: Items, populations: Sequence[Population] = STANDARD) -> Posteriors:
        """Posterior of every respondent."""
        with np.errstate(under="ignore", divide="ignore"):
            return self.engine.posteriors(items, self.grid(items, populations))

    def _with_synthetic(
        self, items: Items, populations: Sequence[Population]
    ) -> tuple[Population, ...]:
        """The population of every group of the patterns."""
        first, *others = populations
        copies = self.engine.patterns.multiplicity
        return first, Population(first.mean, synthetic_sd(items, first.sd, copies)), *others


def synthetic_sd(items: Items, sd: float = 1.0, copies: Array | None = None) -> float:
    """SD of ability among synthetic respondents: wide in logits, and above the real one.

    The typical slope is the geometric mean of the sizes of slopes, held off 0.
    """
    log_squares = np.log(items.slope**2 + _OFF_ZERO)
    mean_log = 0.5 * float(np.average(log_squares, weights=copies))
    typical = math.exp(mean_log)
    return math.hypot(sd, SYNTHETIC_LOGIT_SD / typical)


class Values(NamedTuple):
    """What a vector stands for."""

    items: Items  # All items, on the scale of the populations.
    populations: tuple[Population, ...]  # Of the groups of real respondents.
    hyper: Hyper
    logit_by_angle: Array | None
    """Derivative of the logit of guessing by its angle, 2/(sin φ cos φ); None without guessing."""

    @property
    def in_sds(self) -> Items:
        """The items where ability is in SDs of the first group."""
        mean, sd = self.populations[0]
        slope, intercept, _, levels = self.items
        if levels is not None:
            steps = levels.steps + mean * levels.shifts * slope[:, None]
            return Items.of_levels(sd * slope, levels._replace(steps=steps))
        return self.items._replace(slope=sd * slope, intercept=intercept + mean * slope)


class Parameterisation:
    """How free items, populations and what a prior learns make up one vector of parameters.

    Parameters
    ----------
    learns
        Whether the prior learns :class:`Hyper` with the items.
    fixed
        Parameters that items keep, NaN where they are free. None means that all are free.
    hyper
        What the prior holds where it does not learn.
    levels
        Levels of the items; None if they are right or wrong, which is one step, the intercept.

    In the Rasch model, whose slopes are 1, the SD of ability of the first group is a parameter, and
    next to fixed items its mean as well.
    """

    def __init__(
        self,
        model: ModelName,
        n_items: int,
        *,
        learns: bool,
        fixed: ItemParameters | None = None,
        hyper: Hyper | None = None,
        levels: Levels | None = None,
    ) -> None:
        self.model = model
        self.n_items = n_items
        self.levels = levels
        self.shifts = np.ones((n_items, 1)) if levels is None else levels.shifts
        """How much steps move with a shift of ability, in slopes, (n_items, n_steps)."""
        self.n_steps = self.shifts.shape[1]
        if levels is not None:
            self.typical, self.deviations = levels.typical()
        self.fixed = fixed
        self.prior_hyper = Hyper(0.0, 0.0) if hyper is None else hyper
        self.unit_slopes = model == "Rasch"
        self.common_slope = model in {"1PL", "Rasch"}
        self.populations: tuple[Population, ...] = STANDARD
        self.logit_guessing: Any = None
        """What is held: populations if none is free, and guessing without a parameter."""
        self.n_population = int(self.unit_slopes)
        """How many of the log SD and the mean of the first population are free."""
        self._known_slope = 1.0 if self.unit_slopes else None
        self.free: Any = slice(None)  # Which items are free.
        self.n_free = n_items
        if fixed is not None:
            self.free = np.isnan(fixed.discrimination)
            self.n_free = int(self.free.sum())
            self._known_slope = float(fixed.discrimination[~self.free][0])
            self.n_population = 2
        n_slopes = self.n_free if not self.common_slope else int(self._known_slope is None)
        n_angles = self.n_free if model == "3PL" else 0
        self.width = 1 + self.n_steps + (model == "3PL")  # Parameters of an item.
        self.n_hyper = 0
        if learns:
            self.n_hyper = 1 if self.common_slope else 2
        n_of_steps = self.n_free * self.n_steps
        sizes = [n_slopes, n_of_steps, n_angles, self.n_hyper, self.n_population]
        ends = np.cumsum([0, *sizes]).tolist()
        places = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.slopes, self.intercepts, self.angles, self.hyper, self.population = places
        self.size = ends[-1]

    def values(self, x: Array) -> Values:
        """Items and all else that a vector stands for."""
        slopes = x[self.slopes]
        if self.common_slope:
            slope = slopes[0] if self._known_slope is None else self._known_slope
            slopes = np.full(self.n_free, slope)
        items = self._items(slopes, x[self.intercepts], self.logit_guessing)
        by_angle = None
        if self.model == "3PL":
            parts = np.stack([np.sin(x[self.angles]), np.cos(x[self.angles])])
            # c differs from 0 and 1 by the square of 1e-8
            sine, cosine = np.copysign(np.maximum(np.abs(parts), 1e-8), parts)
            logit = 2 * np.log(np.abs(sine / cosine))
            items = items._replace(logit_guessing=logit)
            by_angle = 2 / (sine * cosine)
        hyper = self.prior_hyper
        if self.n_hyper:
            location, log_scale = (*x[self.hyper], 0.0)[:2]
            hyper = Hyper(float(log_scale), float(location))
        if self.fixed is not None:
            whole = [self.fixed.discrimination.copy(), self.fixed.intercept.copy()]
            if items.logit_guessing is not None:
                whole.append(logits_of_guessing(self.fixed.guessing))
            for values, estimates in zip(whole, items[:3], strict=False):
                values[self.free] = estimates
            items = Items(*whole)
        populations = self.populations
        if self.n_population:
            log_sd, mean = (*x[self.population].tolist(), 0.0)[:2]
            populations = (Population(mean, float(np.exp(log_sd))),)
        return Values(items, populations, hyper, by_angle)

    def _items(self, slopes: Array, steps: Array, logits: Any = None) -> Items:
        """Items with slopes, all first steps, all second ones and so on, and guessing."""
        if self.levels is None:
            return Items(slopes, steps, logits)
        by_item = steps.reshape(self.n_steps, -1).T
        by_item = np.where(self.levels.free, by_item, -np.inf)
        return Items.of_levels(slopes, self.levels._replace(steps=by_item))

    def vector(self, items: Items, hyper: Hyper | None = None) -> Array:
        """Return the vector that stands for some free items; a free population is N(0, 1)."""
        x = np.zeros(self.size)
        x[self.slopes] = items.slope[: self.slopes.stop]
        x[self.intercepts] = items.steps.T.ravel()
        if self.model == "3PL":
            # beyond a logit of 60 the angle is ½π within 1e-13
            logit = np.minimum(items.logit_guessing, 60.0)
            x[self.angles] = np.arctan(np.exp(0.5 * logit))
        if hyper is not None:
            x[self.hyper] = (hyper.location, hyper.log_scale)[: self.n_hyper]
        return x

    @property
    def estimated(self) -> Mask:
        """Which parameters of each item are its own, (k, n_items)."""
        chosen = np.zeros((self.width, self.n_items), bool)
        chosen[int(self.common_slope) :, self.free] = True
        chosen[1 : 1 + self.n_steps] &= self.shifts.T > 0
        return chosen

    def common_moves(self, items: Items) -> Array:
        """How items move with a common scale and location of ability, (n_items, k, 2)."""
        moves = np.zeros((self.n_items, self.width, 2))
        moves[:, 0, 0] = items.slope
        moves[:, 1 : 1 + self.n_steps, 1] = self.shifts * items.slope[:, None]
        return moves

    def table(self, at: Values) -> Array:
        """Parameters of the free items as a prior speaks of them, (k, n_free)."""
        items = self.of_prior(at)
        rows = [items.slope, *items.steps.T]
        if items.logit_guessing is not None:
            rows.append(items.logit_guessing)
        return np.stack(rows)

    def of_table(self, table: Array) -> Items:
        """Items with the parameters of such a table."""
        last = 1 + self.n_steps
        return self._items(table[0], table[1:last].ravel(), *table[last:])

    def of_prior(self, at: Values) -> Items:
        """The free items as a prior speaks of them: of Rasch the SD of ability is the slope."""
        items = at.items if self.fixed is None else at.items.chosen(self.free)
        if self.unit_slopes:
            items = items._replace(slope=np.full(self.n_free, at.populations[0].sd))
        return items

    def pulled_back(
        self, at: Values, by_item: Array, by_population: Array, by_hyper: Array
    ) -> Array:
        """Gradient by the vector from those by the free items, the populations and the hyper."""
        gradient = np.empty(self.size)
        by_slope = by_item[:, 0]
        gradient[self.slopes] = by_slope.sum() if self.common_slope else by_slope
        gradient[self.intercepts] = by_item[:, 1 : 1 + self.n_steps].T.ravel()
        if at.logit_by_angle is not None:
            gradient[self.angles] = by_item[:, 2] * at.logit_by_angle
        gradient[self.hyper] = by_hyper[: self.n_hyper]
        gradient[self.population] = by_population[0, ::-1][: self.n_population]
        return gradient

    def scale_and_location(self, x: Array, at: Values) -> tuple[Array, Array]:
        """How the vector moves with a common factor of ability (in log) and a common shift."""
        scale, location = np.zeros((2, self.size))
        scale[self.slopes] = x[self.slopes]
        scale[self.hyper] = (-at.hyper.location, 1.0)[: self.n_hyper]
        steps = self.shifts[self.free] * at.items.slope[self.free, None]
        location[self.intercepts] = steps.T.ravel()
        location[self.hyper] = (1.0, 0.0)[: self.n_hyper]
        return scale, location

    def rescaled(self, x: Array, mean: float, sd: float) -> Array:
        """Vector for ability measured from ``mean`` in units of ``sd``."""
        at = self.values(x)
        moved = x + mean * self.scale_and_location(x, at)[1]
        moved[self.slopes] *= sd
        learned = (at.hyper.location + mean) / sd, at.hyper.log_scale + math.log(sd)
        moved[self.hyper] = learned[: self.n_hyper]
        return moved


class Evaluation(NamedTuple):
    """An objective at a point, and what its preconditioner needs."""

    value: float
    gradient: Array
    log_likelihood: float  # What the trace reports, without priors.
    at: Any = None  # Values.
    information: Any = None  # Complete-data information of every item, (n_items, k, k).
    prior: AtPrior | None = None


class PenalisedLikelihood:
    """Marginal log-likelihood plus log prior, of a vector of parameters."""

    def __init__(
        self, likelihood: MarginalLikelihood, parameters: Parameterisation, prior: Prior | None
    ) -> None:
        self.likelihood = likelihood
        self.parameters = parameters
        self.prior = prior
        self.noise = likelihood.noise
        patterns = likelihood.engine.patterns
        n_in_group = np.bincount(patterns.group, patterns.weight, 2)
        self._n_first = n_in_group[REAL]
        self._n_real = float(np.delete(n_in_group, SYNTHETIC).sum())

    def evaluate(self, x: Array) -> Evaluation:
        """Value, gradient and complete-data information at x."""
        parameters = self.parameters
        at = parameters.values(x)
        terms = self.likelihood.terms(at.items, at.populations)
        value = terms.value
        by_item = terms.gradient[parameters.free]
        information = terms.information[parameters.free]
        by_population = terms.by_population
        if parameters.n_population and self.likelihood.nodes.even:
            mean, sd = at.populations[0]
            share, *derivatives = self.likelihood.nodes.log_share_of_normal(sd, mean)
            value += self._n_first * share
            by_population[0] += self._n_first * np.array(derivatives)
        if at.logit_by_angle is not None:
            # where c → 0 the information about its logit vanishes faster than the gradient, half of
            # which leads a step in the angle to 0
            by_logit = by_item[:, 2]
            information = information.copy()
            uphill = np.where(by_logit < 0, -0.5 * by_logit, by_logit)
            information[:, 2, 2] += uphill
        prior = None
        by_hyper = np.zeros(2)
        if self.prior is not None:
            copies = self.likelihood.engine.patterns.multiplicity
            prior = prior_at(self.prior, parameters, parameters.of_prior(at), at.hyper, copies)
            value += prior.log_density
            by_hyper = prior.by_hyper
            by_item = by_item + prior.gradient
            if parameters.unit_slopes:
                by_slope = prior.gradient[:, 0].sum()
                by_population[0, 1] += at.populations[0].sd * by_slope
        gradient = parameters.pulled_back(at, by_item, by_population, by_hyper)
        return Evaluation(value, gradient, terms.log_likelihood, at, information, prior)

    def precondition(self, x: Array, evaluation: Evaluation, v: Array) -> Array:
        """Newton block per item, the population by itself, and a common scale and location."""
        parameters = self.parameters
        at = evaluation.at
        prior = evaluation.prior
        blocks = self._item_blocks(evaluation)
        step = np.empty_like(v)
        if prior is not None:
            learned = np.diag(prior.corner)[: parameters.n_hyper]
            step[parameters.hyper] = v[parameters.hyper] / learned
        if parameters.common_slope:
            slopes = parameters.slopes
            intercepts = parameters.intercepts
            diagonal = blocks[:, 1, 1] + _JITTER
            step[intercepts] = v[intercepts] / diagonal
            if slopes.stop:
                coupling = blocks[:, 0, 1] / diagonal
                by_slope = blocks[:, 0, 0] - coupling * blocks[:, 0, 1]
                complement = by_slope.sum() + _JITTER
                step[slopes] = (v[slopes] - coupling @ v[intercepts]) / complement
                step[intercepts] -= coupling * step[slopes]
        else:
            if at.logit_by_angle is not None:
                stretch = np.ones(blocks.shape[:2])
                stretch[:, 2] = at.logit_by_angle
                blocks = blocks * stretch[:, :, None] * stretch[:, None, :]
            of_items = slice(parameters.angles.stop)
            sides = v[of_items].reshape(parameters.width, -1).T
            step[of_items] = _solved(blocks, sides).T.ravel()
        if parameters.n_population:
            # A free population takes the place of a common scale and location. Of several maxima
            # between nodes, steps of EM lead to that of R's mirt.
            precision = at.populations[0].sd ** -2.0
            information = np.array([2.0, precision]) * self._n_first
            of_population = information[: parameters.n_population]
            step[parameters.population] = v[parameters.population] / of_population
            return step
        directions = parameters.scale_and_location(x, at)
        for direction, bend in zip(directions, (2 * self._n_real, self._n_real), strict=True):
            if prior is not None and not parameters.n_hyper:  # one that learns follows the items
                along = np.zeros((parameters.n_free, 2))
                along[:, 0] = direction[parameters.slopes]
                along[:, 1] = direction[parameters.intercepts]
                of_prior = np.einsum("jk,jkl,jl->", along, prior.blocks[:, :2, :2], along)
                bend += float(of_prior)  # noqa: PLW2901
            step += direction * (float(direction @ v) / bend)
        return step

    def _item_blocks(self, evaluation: Evaluation) -> Array:
        """Information about every item, of responses and the prior.

        Slopes lose of it as abilities follow the responses. With posteriors of variance v the score
        (y − P)·θ of a response moves by (y − P)·√v, which takes v·ΣP(1 − P) from the information
        about the slope. Here v is 1/(1 + Σⱼ aⱼ²Pⱼ(1 − Pⱼ)), the same for all, and what is left
        stays above 0.
        """
        parameters = self.parameters
        blocks: Array = evaluation.information
        if parameters.model in ("2PL", *OF_LEVELS):
            shifts = parameters.shifts[parameters.free]
            by_shift = np.einsum("jk,jkl,jl->j", shifts, blocks[:, 1:, 1:], shifts)
            along_slope = np.zeros(blocks.shape[:2])
            along_slope[:, 0] = 1.0
            by_slope = 1 / _solved(blocks, along_slope)[:, 0]
            squares = evaluation.at.items.slope[parameters.free] ** 2
            n = self.likelihood.engine.patterns.n_respondents
            missing = by_shift / (1 + squares @ by_shift / n)
            blocks = blocks.copy()
            blocks[:, 0, 0] -= by_slope * missing / (by_slope + missing)
        if evaluation.prior is not None:
            blocks = blocks + evaluation.prior.blocks
        return blocks


def prior_at(
    prior: Any, parameters: Parameterisation, items: Items, hyper: Hyper, copies: Array | None
) -> AtPrior:
    """Return the prior's density, gradient and curvature at items as it speaks of them.

    For items with ordered levels it speaks of a slope and an intercept. Logits of their thresholds
    spread around the intercept by a normal density with the SD of intercepts.
    """
    common = parameters.common_slope
    if parameters.levels is None:
        return prior.at(items, hyper, common_slope=common, copies=copies)
    values = np.concatenate([items.slope[:, None], items.steps], axis=1)[:, :, None]
    typical = parameters.typical
    slope, intercept = (typical @ values)[:, :, 0].T
    density = prior.at(Items(slope, intercept), hyper, common_slope=common)
    precision = prior.intercept_spread**-2
    deviations = parameters.deviations
    off = deviations @ values
    around = precision * deviations.mT @ deviations
    pull = precision * deviations.mT @ off
    gradient = typical.mT @ density.gradient[:, :, None] - pull
    return density._replace(
        log_density=density.log_density - 0.5 * precision * float((off**2).sum()),
        gradient=gradient[:, :, 0],
        blocks=typical.mT @ density.blocks @ typical + around,
        border=typical.mT @ density.border,
    )


def _solved(blocks: Array, sides: Array) -> Array:
    """Solve one small positive definite system for every item, (n_items, k)."""
    size = sides.shape[1]  # guessing may be held
    if size > 2:
        jittered = blocks[:, :size, :size] + _JITTER * np.eye(size)
        return np.asarray(np.linalg.solve(jittered, sides[:, :, None])[:, :, 0])
    # two unknowns in closed form take a quarter of the time
    of_slope = blocks[:, 0, 0] + _JITTER
    of_intercept = blocks[:, 1, 1] + _JITTER
    mixed = blocks[:, 0, 1]
    slope = of_intercept * sides[:, 0] - mixed * sides[:, 1]
    intercept = of_slope * sides[:, 1] - mixed * sides[:, 0]
    determinant = of_slope * of_intercept - mixed**2
    return np.stack([slope, intercept], axis=1) / determinant[:, None]
