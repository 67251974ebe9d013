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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.information import expected_of, inverse_of, system_of
from irtkit.calibration.lbfgs import Evaluation
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
from irtkit.calibration.maximise import Problem
from irtkit.calibration.prior_information import PriorInformation, prior_information
from irtkit.calibration.priors import Hyper, WeakPrior
from irtkit.irf import LEAST_LOGIT, Items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.calibration.priors import Prior
    from irtkit.irf import Array, ItemParameters, ModelName
    from irtkit.quadrature import Grid, Nodes

_ABOUT_SCALE = 2
"""Parameters before those of free items: log σ and μ."""


class Population(NamedTuple):
    """Mean and SD of ability on the scale of the fixed items."""

    mean: float
    sd: float


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
        return _ABOUT_SCALE + self.free_items.size

    def population(self, x: Array) -> Population:
        """Mean and SD of ability."""
        return Population(float(x[1]), float(np.exp(x[0])))

    def of_free(self, x: Array) -> Values:
        """Free items, on the scale of the fixed ones."""
        return self.free_items.values(x[_ABOUT_SCALE:])._replace(latent_sd=1.0, hyper=self.hyper)

    def on_fixed_scale(self, x: Array) -> Items:
        """All items, on the scale of the fixed ones."""
        own, free = self.of_free(x).items, self.free
        slope, intercept = self.fixed.discrimination.copy(), self.fixed.intercept.copy()
        slope[free], intercept[free] = own.slope, own.intercept
        if own.logit_guessing is None:
            return Items(slope, intercept)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits = np.log(self.fixed.guessing) - np.log1p(-self.fixed.guessing)
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
        about_scale = np.array([np.log(population.sd), population.mean])
        return np.concatenate([about_scale, self.free_items.vector(items)])


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
        about_scale = v[:_ABOUT_SCALE] / n * np.array([0.5, sd**2])
        step = self.local_step(curvature, v[_ABOUT_SCALE:])
        if self._common_slope:
            step[self.parameters.slopes] = 0.0
        return np.concatenate([about_scale, step])

    @property
    def _common_slope(self) -> bool:
        return self.parameters.common_slope


class AnchoredProblem(Problem):
    """A likelihood to maximise where some items are fixed."""

    def at(self, nodes: Nodes, *, exact: bool) -> AnchoredLikelihood:
        """Return the objective on some nodes."""
        likelihood = MarginalLikelihood(self.engine, nodes, exact=exact)
        return AnchoredLikelihood(likelihood, self.parameters, self.prior)


def _to_sds(population: Population, size: int) -> Array:
    """Derivatives of parameters in SDs of the respondents by those on the fixed scale, (k, k)."""
    turn = np.eye(size)
    turn[0, 0], turn[1, 0] = population.sd, population.mean
    return turn
