"""The marginal likelihood of items, and the penalised one as an objective to maximise.

**Likelihood.** The log-likelihood of the responses has ability integrated out, N(0, 1) for real
respondents. It speaks of slopes, intercepts and logits of guessing. Its gradient comes from the
posterior of ability by Fisher's identity, at the cost of one EM step. Synthetic respondents have
the ability distribution N(0, σ² + (w/τ)²), σ the SD of real ability, τ the typical slope and w wide
on the logit scale. The wide part follows the items when they are rescaled, so that synthetic
respondents do not pull on the scale.

A Rasch model on a fixed grid has more to choose: where N(0, σ²) is cut off at the grid and scaled
up, a larger σ costs nothing once it is flat there, and the likelihood may rise with it for ever. So
the search takes N(0, σ²) on nodes without end and counts what lies beyond the grid as lost: for
every respondent with a response it adds the log share that the grid has of it. Where nodes are no
farther apart than σ, its maximum is the fixed point σ² = mean of E[θ² | responses] that the EM of
R's mirt ends at. What is reported is the likelihood of the cut-off normal there.

**Parameterisation.** The maximiser moves a vector of unbounded numbers: the slopes (one if they are
common; of Rasch the log SD of ability in its place), the intercepts, the *angles* of guessing
(3PL), and what the prior learns: the location of intercepts and, unless slopes are common, their
log scale. Guessing is c = sin² φ, φ its angle: where nobody guesses c ends at 0, which a search
reaches in a few steps of φ, and never in those of a logit.

**Objective.** It adds the log prior of the items. Its preconditioner is what an EM step uses (one
Newton block per item), plus the two directions in which EM is slow: the common scale and the
common location of the items. Along them the likelihood only sees the distribution of ability,
with information 2N and N, and a step there is the fold of parameter-expanded EM (Liu, Rubin & Wu
1998). From the block of an item is taken what its slope loses because abilities are told from the
responses themselves (Louis 1982).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.lbfgs import Evaluation
from irtkit.calibration.priors import Hyper
from irtkit.data.patterns import REAL, SYNTHETIC
from irtkit.irf import Items
from irtkit.quadrature import Grid

if TYPE_CHECKING:
    from irtkit.calibration.priors import AtPrior, Prior
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ModelName
    from irtkit.quadrature import Engine, Nodes, Posteriors

SYNTHETIC_LOGIT_SD = 5.0
"""w: SD, in logits, by which synthetic ability exceeds that of real respondents: an always-right
row may then lie beyond nearly every item."""
_OFF_ZERO = 0.01
"""Added to squared slopes before logarithms are taken: a flat item counts as a slope of 0.1."""
_JITTER = 1e-3
"""Added to the information of a parameter, in responses; one with less is as good as settled: a
response as likely right as wrong tells 250 times as much of an intercept."""
_NOISE = 2e-7
"""Rounding error of the log-likelihood of one respondent in 32 bits (whose spacing is 1.2e-7); the
same for all, should all answer alike."""
_ITEMS_PER_NOISE = 20
"""Items per further unit of that error: with dense missing cells their sums are in 32 bits too."""
_LEAST_SINE = 1e-8
"""Least sine and cosine of an angle of guessing: c differs from 0 and 1 by its square, 1e-16."""


class Terms(NamedTuple):
    """Marginal log-likelihood of some items, and its derivatives."""

    value: float
    """Of all respondents."""
    log_likelihood: float
    """Of real respondents."""
    gradient: Array
    """Shape (n_items, k): by slope, intercept (and logit of guessing)."""
    information: Array
    """Complete-data information of every item, (n_items, k, k)."""
    by_log_sd: float
    """Derivative by the log SD of ability."""


class MarginalLikelihood:
    """Marginal log-likelihood of items, on given nodes.

    ``exact`` computes all of it in 64 bits, which takes up to twice as long.
    """

    def __init__(self, engine: Engine, nodes: Nodes, *, exact: bool = False) -> None:
        self.engine, self.nodes, self.exact = engine, nodes, exact
        patterns = engine.patterns
        wide = patterns.complete or patterns.sparse
        sums_of_items = 0.0 if wide else patterns.n_items / _ITEMS_PER_NOISE
        self.noise = 0.0 if exact else _NOISE * patterns.n_respondents * (1 + sums_of_items)
        weights = nodes.normal_log_weights(1.0)
        self._standard = Grid(nodes, np.stack([weights, weights]))

    def grid(self, items: Items, latent_sd: float = 1.0) -> Grid:
        """Nodes with the prior weights of real and of synthetic respondents."""
        patterns = self.engine.patterns
        if latent_sd == 1.0 and not patterns.has_synthetic:
            return self._standard
        sds = population_sds(patterns, items, latent_sd)
        return Grid(self.nodes, np.stack([self.nodes.normal_log_weights(sd) for sd in sds]))

    def terms(self, items: Items, latent_sd: float = 1.0) -> Terms:
        """Value, gradient and complete-data information."""
        grid = self.grid(items, latent_sd)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            found = self.engine.sums(items, grid, exact=self.exact)
        gradient, by_log_sd = found.gradient, 0.0
        if grid is not self._standard:
            gradient, by_log_sd = self._through_sds(items, latent_sd, grid, found)
        log_likelihood = float(found.log_marginal[REAL])
        value = log_likelihood + float(found.log_marginal[SYNTHETIC])
        return Terms(value, log_likelihood, gradient, found.information, by_log_sd)

    def posteriors(self, items: Items, latent_sd: float = 1.0) -> Posteriors:
        """Posterior of every respondent."""
        with np.errstate(under="ignore", divide="ignore"):
            return self.engine.posteriors(items, self.grid(items, latent_sd))

    def _through_sds(
        self, items: Items, latent_sd: float, grid: Grid, found: Any
    ) -> tuple[Array, float]:
        """Gradient by the items, that through the SD of synthetic ability added; by the log SD."""
        patterns = self.engine.patterns
        sds, by_log_sd = population_sds(patterns, items, latent_sd), []
        for group in (REAL, SYNTHETIC):
            square = (self.nodes.theta / sds[group]) ** 2
            deviation = square - np.exp(grid.log_weights[group]) @ square
            by_log_sd.append(float(found.node_mass[group] @ deviation))
        wide = 1 - (latent_sd / sds[SYNTHETIC]) ** 2  # share of the wide part in the variance
        by_slope = patterns.copies(items.slope / (items.slope**2 + _OFF_ZERO)) / patterns.n_items
        gradient = found.gradient.copy()
        gradient[:, 0] -= wide * by_log_sd[SYNTHETIC] * by_slope
        return gradient, by_log_sd[REAL] + (1 - wide) * by_log_sd[SYNTHETIC]


def population_sds(patterns: Patterns, items: Items, latent_sd: float) -> tuple[float, float]:
    """SDs of ability among real and among synthetic respondents, if there are any."""
    if not patterns.has_synthetic:
        return latent_sd, latent_sd
    return latent_sd, synthetic_sd(items, latent_sd, patterns.multiplicity)


def synthetic_sd(items: Items, latent_sd: float = 1.0, copies: Array | None = None) -> float:
    """SD of ability among synthetic respondents: wide in logits, and above the real one.

    The typical slope is the geometric mean of the sizes of slopes, held off 0.
    """
    log_squares = np.log(items.slope**2 + _OFF_ZERO)
    typical = math.exp(0.5 * float(np.average(log_squares, weights=copies)))
    return math.hypot(latent_sd, SYNTHETIC_LOGIT_SD / typical)


class Values(NamedTuple):
    """What a vector stands for."""

    items: Items
    latent_sd: float
    """SD of ability among real respondents: 1 except for Rasch."""
    hyper: Hyper
    logit_by_angle: Array | None
    """Derivative of the logit of guessing by its angle, 2/(sin φ cos φ); None without guessing."""


class Parameterisation:
    """How items and what a prior learns make up one vector of parameters.

    ``learns`` says whether the prior learns :class:`Hyper` with the items.
    """

    def __init__(self, model: ModelName, n_items: int, *, learns: bool) -> None:
        self.model = model
        self.n_items = n_items
        self.common_slope = model in {"1PL", "Rasch"}
        self.n_hyper = 0 if not learns else 1 if self.common_slope else 2
        after_slopes = 1 if self.common_slope else n_items
        after_intercepts = after_slopes + n_items
        after_angles = after_intercepts + (n_items if model == "3PL" else 0)
        self.size = after_angles + self.n_hyper
        self.slopes = slice(0, after_slopes)
        self.intercepts = slice(after_slopes, after_intercepts)
        self.angles = slice(after_intercepts, after_angles)
        self.hyper = slice(after_angles, self.size)

    def values(self, x: Array) -> Values:
        """Items and all else that a vector stands for."""
        slopes, location, log_scale = x[self.slopes], *(*x[self.hyper], 0.0, 0.0)[:2]
        latent_sd = math.exp(x[0]) if self.model == "Rasch" else 1.0
        if self.common_slope:
            slopes = np.full(self.n_items, 1.0 if self.model == "Rasch" else slopes[0])
        logits = by_angle = None
        if self.model == "3PL":
            parts = np.stack([np.sin(x[self.angles]), np.cos(x[self.angles])])
            sine, cosine = np.copysign(np.maximum(np.abs(parts), _LEAST_SINE), parts)
            logits, by_angle = 2 * np.log(np.abs(sine / cosine)), 2 / (sine * cosine)
        hyper = Hyper(float(log_scale), float(location))
        return Values(Items(slopes, x[self.intercepts], logits), latent_sd, hyper, by_angle)

    def vector(self, items: Items, hyper: Hyper | None = None, latent_sd: float = 1.0) -> Array:
        """Return the vector that stands for some items."""
        x = np.zeros(self.size)
        slopes = np.full(1, math.log(latent_sd)) if self.model == "Rasch" else items.slope
        x[self.slopes], x[self.intercepts] = (
            slopes[: 1 if self.common_slope else None],
            items.intercept,
        )
        if self.model == "3PL":
            # beyond a logit of 60 the angle is ½π within 1e-13
            x[self.angles] = np.arctan(np.exp(0.5 * np.minimum(items.logit_guessing, 60.0)))
        if hyper is not None:
            x[self.hyper] = (hyper.location, hyper.log_scale)[: self.n_hyper]
        return x

    def pulled_back(self, at: Values, by_item: Array, by_log_sd: float, by_hyper: Array) -> Array:
        """Gradient by the vector from those by the items, the log SD of ability and the hyper.

        That by the slope of an item is, for Rasch, one by the SD that stands in its place.
        """
        gradient, by_slope = np.empty(self.size), by_item[:, 0]
        if self.model == "Rasch":
            gradient[0] = by_slope.sum() * at.latent_sd + by_log_sd
        else:
            gradient[self.slopes] = by_slope.sum() if self.common_slope else by_slope
        gradient[self.intercepts] = by_item[:, 1]
        if at.logit_by_angle is not None:
            gradient[self.angles] = by_item[:, 2] * at.logit_by_angle
        gradient[self.hyper] = by_hyper[: self.n_hyper]
        return gradient

    def scale_and_location(self, x: Array, at: Values) -> tuple[Array, Array]:
        """How the vector moves with a common factor of ability (in log) and a common shift."""
        scale, location = np.zeros((2, self.size))
        scale[self.slopes] = 1.0 if self.model == "Rasch" else x[self.slopes]
        scale[self.hyper] = (-at.hyper.location, 1.0)[: self.n_hyper]
        location[self.intercepts] = at.items.slope * at.latent_sd
        location[self.hyper] = (1.0, 0.0)[: self.n_hyper]
        return scale, location

    def rescaled(self, x: Array, mean: float, sd: float) -> Array:
        """Vector for ability measured from ``mean`` in units of ``sd``."""
        items, latent_sd, hyper, _ = self.values(x)
        moved = items._replace(
            slope=items.slope * sd, intercept=items.intercept + items.slope * mean
        )
        learned = Hyper(hyper.log_scale + math.log(sd), (hyper.location + mean) / sd)
        rescaled = self.vector(moved, learned, latent_sd)
        rescaled[self.angles] = x[self.angles]
        return rescaled


class Curvature(NamedTuple):
    """What the preconditioner needs."""

    at: Values
    information: Array
    """Complete-data information of every item, (n_items, k, k)."""
    prior: AtPrior | None


class PenalisedLikelihood:
    """Marginal log-likelihood plus log prior, of a vector of parameters."""

    def __init__(
        self, likelihood: MarginalLikelihood, parameters: Parameterisation, prior: Prior | None
    ) -> None:
        self.likelihood, self.parameters, self.prior = likelihood, parameters, prior
        self.noise = likelihood.noise

    def evaluate(self, x: Array) -> Evaluation:
        """Value, gradient and complete-data information at x."""
        at = self.parameters.values(x)
        found = self.likelihood.terms(at.items, at.latent_sd)
        value, by_item, information = found.value, found.gradient, found.information
        by_log_sd = found.by_log_sd
        if self.parameters.model == "Rasch":  # the slope is 1
            by_item = by_item * (0.0, 1.0)
            n = self.likelihood.engine.patterns.n_answering
            share, by_share, _ = self.likelihood.nodes.log_share_of_normal(at.latent_sd)
            value, by_log_sd = value + n * share, by_log_sd + n * by_share
        if at.logit_by_angle is not None:
            information = information.copy()
            information[:, 2, 2] += beside_angles(by_item[:, 2])
        prior, by_hyper = None, np.zeros(2)
        if self.prior is not None:
            copies = self.likelihood.engine.patterns.multiplicity
            prior = prior_at(self.prior, self.parameters, at, copies)
            value, by_hyper = value + prior.log_density, prior.by_hyper
            by_item = by_item + prior.gradient
        gradient = self.parameters.pulled_back(at, by_item, by_log_sd, by_hyper)
        curvature = Curvature(at, information, prior)
        return Evaluation(value, gradient, found.log_likelihood, curvature)

    def precondition(self, x: Array, curvature: Curvature, v: Array) -> Array:
        """Newton block per item plus the common scale and location."""
        step = self.local_step(curvature, v)
        prior, n_real = curvature.prior, self.likelihood.engine.patterns.n_real
        directions = self.parameters.scale_and_location(x, curvature.at)
        for direction, information in zip(directions, (2.0, 1.0), strict=True):
            bend = information * n_real
            if prior is not None and not self.parameters.n_hyper:
                # a prior that learns follows the items
                bend += _curvature_along(prior, self.parameters, direction)
            step += direction * (float(direction @ v) / bend)
        return step

    def local_step(self, curvature: Curvature, v: Array) -> Array:
        """Newton step of every item by itself, and of what the prior learns."""
        p, blocks, step = self.parameters, curvature.information, np.empty_like(v)
        if p.model == "2PL":
            n = self.likelihood.engine.patterns.n_respondents
            blocks = _minus_missing_information(blocks, curvature.at.items.slope, n)
        if curvature.prior is not None:
            blocks = blocks + curvature.prior.blocks
            step[p.hyper] = v[p.hyper] / np.diag(curvature.prior.corner)[: p.n_hyper]
        if p.common_slope:
            diagonal = blocks[:, 1, 1] + _JITTER
            # slopes of 1 and a log SD of ability bend the likelihood as logarithms of slopes would
            coupling = blocks[:, 0, 1] / diagonal
            complement = np.sum(blocks[:, 0, 0] - coupling * blocks[:, 0, 1]) + _JITTER
            step[p.slopes] = (v[p.slopes] - coupling @ v[p.intercepts]) / complement
            step[p.intercepts] = v[p.intercepts] / diagonal - coupling * step[p.slopes]
            return step
        sides = [v[p.slopes], v[p.intercepts]]
        if curvature.at.logit_by_angle is not None:
            stretch = np.ones((p.n_items, 3))
            stretch[:, 2] = curvature.at.logit_by_angle
            blocks = blocks * stretch[:, :, None] * stretch[:, None, :]
            sides.append(v[p.angles])
        solved = _solve_blocks(blocks, np.stack(sides, axis=1))
        for place, part in zip((p.slopes, p.intercepts, p.angles), solved, strict=False):
            step[place] = part
        return step


def beside_angles(by_logit: Array) -> Array:
    """What steps in angles of guessing need beside the information about its logit.

    Where c → 0 that vanishes faster than the gradient, and the logarithm of the likelihood is
    linear in c: half the gradient is what makes a step in the angle lead to 0.
    """
    return np.where(by_logit < 0, -0.5 * by_logit, by_logit)


def prior_at(
    prior: Prior, parameters: Parameterisation, at: Values, copies: Array | None
) -> AtPrior:
    """Return the prior's density, gradient and curvature; of Rasch the SD counts as the slope."""
    items = at.items
    if parameters.model == "Rasch":
        items = items._replace(slope=np.full(parameters.n_items, at.latent_sd))
    return prior.at(items, at.hyper, common_slope=parameters.common_slope, copies=copies)


def _curvature_along(prior: AtPrior, parameters: Parameterisation, direction: Array) -> float:
    """Curvature of a prior along a direction of slopes and intercepts."""
    by_intercept = direction[parameters.intercepts]
    by_slope = np.broadcast_to(direction[parameters.slopes], by_intercept.shape)
    by_item = np.stack([by_slope, by_intercept], axis=1)
    return float(np.einsum("jk,jkl,jl->", by_item, prior.blocks[:, :2, :2], by_item))


def _minus_missing_information(information: Array, slope: Array, n: int) -> Array:
    """Information of every item less what its slope loses as abilities follow its responses.

    With posteriors of variance v the score (y − P)·θ of a response moves by (y − P)·√v, which takes
    v·ΣP(1 − P) from the information about the slope. Here v is 1/(1 + Σⱼ aⱼ²Pⱼ(1 − Pⱼ)), the same
    for all, and what is left stays above 0.
    """
    by_intercept = np.maximum(information[:, 1, 1], 1e-300)
    own = np.maximum(information[:, 0, 0] - information[:, 0, 1] ** 2 / by_intercept, 0.0)
    missing = by_intercept / (1 + slope**2 @ by_intercept / n)
    left = information.copy()
    left[:, 0, 0] -= own * missing / (own + missing)
    return left


def _solve_blocks(blocks: Array, sides: Array) -> list[Array]:
    """Solve one small positive definite system per item by Cholesky, unrolled over its size.

    ``blocks`` has shape (n_items, k, k), ``sides`` (n_items, k); the solution is a list of k
    arrays. For 12,000 systems of two it takes a ninth of the time of ``numpy.linalg.solve``.
    """
    size = sides.shape[1]
    lower: dict[tuple[int, int], Array] = {}
    for i in range(size):
        for j in range(i + 1):
            rest = blocks[:, i, j] - sum(lower[i, p] * lower[j, p] for p in range(j))
            lower[i, j] = (
                np.sqrt(np.maximum(rest + _JITTER, _JITTER)) if i == j else rest / lower[j, j]
            )
    forward: list[Array] = []
    for i in range(size):
        rest = sides[:, i] - sum(lower[i, p] * forward[p] for p in range(i))
        forward.append(rest / lower[i, i])
    backward: dict[int, Array] = {}
    for i in reversed(range(size)):
        rest = forward[i] - sum(lower[p, i] * backward[p] for p in range(i + 1, size))
        backward[i] = rest / lower[i, i]
    return [backward[i] for i in range(size)]
