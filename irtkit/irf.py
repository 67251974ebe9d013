"""Item response function: the probability of a right answer given ability.

P(right | θ) = c + (1 − c) · σ(aθ + d) with discrimination a, intercept d = −ab, difficulty b and
guessing c. 1PL and Rasch have a common a and c = 0, 2PL has c = 0. The slope–intercept form stays
finite for flat items. The scaling constant 1.7 is not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.capabilities import LEVELS
from irtkit.checks import as_numbers, not_one_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

ModelName = Literal["Rasch", "1PL", "2PL", "3PL", "GPCM", "GRM"]
MODELS: tuple[ModelName, ...] = get_args(ModelName)
OF_LEVELS = ("GPCM", "GRM")  # Models of ordered levels.
LEAST_LOGIT = -300.0  # Logit of negligible guessing, whose c² is still a number of 64 bits.
# SDs of ability beyond which an item is out of reach, for all but one person in a billion
# (Martínez-Plumed et al. 2022 crop there).
EXTREME = 6.0
Z95 = 1.959964  # Normal quantile of intervals of 95 %.
_NODES = np.linspace(-8.5, 8.5, 851)  # Abilities in SDs, over which expectations are taken.
# Slope per SD up to which every 10th node is enough: the trapezoid rule with steps of h has an
# error of 2·exp(−2π²/(|a|h)) at a slope of a, here 5e-9.
_MILD = 5.0  # Where the error of the trapezoid rule is 5e-9.
_EVERY = 10  # The steps of 0.2 for which it is so.
_ITEMS_AT_ONCE = 256  # Items whose curves over all nodes fill a processor's second cache.


def model_name(given: object) -> ModelName:
    """Name of a model as it is written here: "2pl" is "2PL"."""
    name = {name.lower(): name for name in MODELS}.get(str(given).lower())
    if name is None:
        raise not_one_of("model", given, MODELS)
    return name


@np.errstate(over="ignore")  # of e⁻ᶻ, where 1/∞ is 0
def logistic(z: Any, xp: Any = np) -> Any:
    """σ(z) = 1 / (1 + e⁻ᶻ). ``xp`` is NumPy or its counterpart in JAX."""
    return 1 / (1 + xp.exp(-z))


def softplus(z: Any, xp: Any = np) -> Any:
    """log(1 + eᶻ) without overflow."""
    return xp.maximum(z, 0.0) + xp.log1p(xp.exp(-xp.abs(z)))


def outer(x: Any, y: Any) -> Any:
    """Products of every pair of elements of two vectors, (…, a, b)."""
    return x[..., :, None] * y[..., None, :]


def normal_rule(n: int) -> tuple[Array, Array]:
    """Points and weights of the Gauss–Hermite rule for means over N(0, 1)."""
    points, weights = np.polynomial.hermite_e.hermegauss(n)
    return points, weights / weights.sum()


NORMAL_POINTS = [*zip(*normal_rule(3), strict=True)]
"""Points in SDs, and weights, of the Gauss–Hermite rule of three, exact up to the fifth power."""


def logits_of_guessing(c: Array) -> Array:
    """log(c/(1 − c)), at least `LEAST_LOGIT`."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(c) - np.log1p(-c), LEAST_LOGIT))


class Levels(NamedTuple):
    """Steps of items with ordered levels. Levels that nobody reached are left out.

    The lowest level of an item has the step d = 0. Beyond its last level d is −∞.
    """

    steps: Array  # d of the levels after the lowest, (n_items, n_levels − 1).
    scores: Array  # Score of every level, (n_items, n_levels).
    model: ModelName  # "GPCM" or "GRM".
    answered: float = 1.0  # Responses per item of the respondent with most, beyond 1 with trials.

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which steps the items have, as `steps`."""
        return np.isfinite(self.steps)

    @property
    def real(self) -> NDArray[np.bool_]:
        """Which levels the items have, as `scores`."""
        return np.concatenate([np.ones((len(self.steps), 1), bool), self.free], axis=1)

    @property
    def shifts(self) -> Array:
        """How much steps move with a shift of ability, in slopes, as `steps`."""
        spans = np.ones_like(self.steps)
        if self.model == "GPCM":
            spans = self.scores[:, 1:] - self.scores[:, :1]
        return np.where(self.free, spans, 0.0)

    def contrasts(self) -> tuple[Array, Array]:
        """Weights of the steps in the intercept, and in the logits of thresholds, by item.

        Thresholds are −logit/slope: of the GPCM where neighbouring levels are equally likely, of
        the GRM where the level or a higher one is as likely as not.
        """
        free = self.free
        n_items, n_steps = self.steps.shape
        last = free.sum(axis=1)
        of_thresholds = np.eye(n_steps) * free[:, :, None]
        if self.model == "GRM":
            return free / np.maximum(last, 1)[:, None], of_thresholds
        gaps = np.where(free, np.diff(self.scores), 1.0)
        of_lower = of_thresholds[:, :-1]
        of_thresholds[:, 1:] -= of_lower * free[:, 1:, None]
        of_intercept = np.zeros((n_items, n_steps))
        varied = np.flatnonzero(last)
        spans = self.scores[varied, last[varied]] - self.scores[varied, 0]
        of_intercept[varied, last[varied] - 1] = 1 / spans
        return of_intercept, of_thresholds / gaps[:, :, None]

    def typical(self) -> tuple[Array, Array]:
        """Weights of slope and steps in what is typical of every item, and in the rest.

        Typical are a slope and an intercept, (n_items, 2, k). A slope of the GPCM is by one of K
        steps, and falls about as 2/(K + 1): it is taken that many times larger. Logits of
        thresholds lie some way from their mean, (n_items, k − 1, k).
        """
        of_intercept, of_thresholds = self.contrasts()
        n_items, n_steps = self.steps.shape
        typical = np.zeros((n_items, 2, n_steps + 1))
        typical[:, 0, 0] = 1.0
        if self.model == "GPCM":
            typical[:, 0, 0] = (self.shifts.max(axis=1, initial=1.0) + 1) / 2
        typical[:, 1, 1:] = of_intercept
        free = self.free[:, :, None]
        n_thresholds = np.maximum(free.sum(axis=1, keepdims=True), 1)
        mean = of_thresholds.sum(axis=1, keepdims=True) / n_thresholds
        deviations = np.zeros((n_items, n_steps, n_steps + 1))
        deviations[:, :, 1:] = (of_thresholds - mean) * free
        return typical, deviations


class Items(NamedTuple):
    """Items as computations take them: arrays of NumPy or JAX, one entry per item.

    An item that is right or wrong has one step, its intercept.
    """

    slope: Any
    intercept: Any  # The step from the lowest level to the next.
    logit_guessing: Any = None  # None for models without guessing.
    levels: Any = None  # `Levels`, or None if all items are right or wrong.

    @classmethod
    def of_levels(cls, slope: Array, levels: Levels) -> Items:
        """Items with ordered levels."""
        return cls(slope, levels.steps[:, 0], None, levels)

    def chosen(self, index: Any) -> Items:
        """Return some items, or the same several times."""
        logits = None if self.logit_guessing is None else self.logit_guessing[index]
        levels = self.levels
        if levels is not None:
            levels = levels._replace(steps=levels.steps[index], scores=levels.scores[index])
        return Items(self.slope[index], self.intercept[index], logits, levels)

    @property
    def steps(self) -> Array:
        """Steps of every item, 0 where it has none, (n_items, n_levels − 1)."""
        if self.levels is None:
            return np.reshape(self.intercept, (-1, 1))
        return np.where(self.levels.free, self.levels.steps, 0.0)

    @property
    def thresholds(self) -> Items:
        """Slope and logit of the thresholds of all items, one after another."""
        levels = self.levels
        if levels is None:
            return Items(self.slope, self.intercept)
        _, of_thresholds = levels.contrasts()
        logits = (of_thresholds @ self.steps[:, :, None])[:, :, 0]
        slopes = np.repeat(self.slope, levels.free.sum(axis=1))
        return Items(slopes, logits[levels.free])

    @property
    def mean_intercept(self) -> Array:
        """Intercept of every item: with levels the mean logit of its thresholds."""
        if self.levels is None:
            return np.asarray(self.intercept)
        return (self.levels.contrasts()[0] * self.steps).sum(axis=1)

    def intercepts(self) -> Array:
        """Weights of slope and steps in the slope and the intercept of items with levels."""
        weights = np.zeros((len(self.slope), 2, self.levels.scores.shape[1]))
        weights[:, 0, 0] = 1.0
        weights[:, 1, 1:] = self.levels.contrasts()[0]
        return weights


class Curves(NamedTuple):
    """Item curves at some abilities, each (n_items, n_nodes)."""

    s: Array  # σ(aθ + d).
    p: Array  # P(right).
    c: Array  # Guessing, (n_items, 1).


def curves_of(items: Items, theta: Array) -> Curves:
    """Curves of items at abilities θ."""
    s = logistic(np.multiply.outer(items.slope, theta) + items.intercept[:, None])
    if items.logit_guessing is None:
        return Curves(s, s, np.zeros((len(s), 1)))
    c = logistic(np.maximum(items.logit_guessing, LEAST_LOGIT))[:, None]
    return Curves(s, c + (1 - c) * s, c)


def curvatures(curves: Curves, responses: Array, right: Array | None = None) -> list[Array]:
    """Minus the second derivatives of the complete-data log-likelihood at each ability.

    By the logit z = aθ + d twice, and with guessing by z and γ and by γ twice. The default of
    ``right`` is the expected number of right ``responses`` at each ability.
    """
    s, p, c = curves
    rising = s * (1 - s)
    if not c.any():
        return [responses * rising]
    right = responses * p if right is None else right
    by_chance = c * (1 - c)
    return [
        responses * rising - right * rising / p * (1 - s * (1 - c) / p),
        right * rising * by_chance / p**2,
        responses * by_chance - right * by_chance / p * (1 - c * (1 - s) / p),
    ]


def complete_data_information(curvatures: list[Array], theta: Array) -> Array:
    """Curvatures summed by the parameters of each item, (n_items, k, k)."""
    powers = np.stack([theta**2, theta, np.ones_like(theta)], axis=1)
    by_logit = (curvatures[0] @ powers)[:, [[0, 1], [1, 2]]]
    if len(curvatures) == 1:
        return by_logit
    _, mixed, by_guessing = curvatures
    information = np.empty((len(mixed), 3, 3))
    information[:, :2, :2] = by_logit
    with_guessing = mixed @ powers[:, 1:]
    information[:, :2, 2] = with_guessing
    information[:, 2, :2] = with_guessing
    information[:, 2, 2] = by_guessing.sum(axis=1)
    return information


@dataclass(frozen=True)
class ItemParameters:
    """Discrimination, intercept and guessing of a set of items, and steps of ordered levels.

    Parameters
    ----------
    discrimination : array-like of shape (n_items,) or (n_items, n_abilities)
        Slopes, of either sign. NaN marks unknown items.
    intercept, guessing : array-like of shape (n_items,)
        Guessing lies in [0, 1).
    steps : array-like of shape (n_items, n_levels), optional
        Steps d of ordered levels: 0 of the lowest one, NaN of levels that the item does not have or
        nobody reached. None if all items are right or wrong.
    top : array-like of shape (n_items,), optional
        Highest score of each item, whether or not it was reached. 1 if all are right or wrong.
    model : {"GPCM", "GRM"}, optional
        Model of the levels.

    Examples
    --------
    >>> from irtkit import ItemParameters
    >>> ItemParameters.from_difficulty([1.0, 2.0], [0.0, 1.0]).probability([1.0]).round(3)
    array([[0.731, 0.5  ]])
    """

    discrimination: NDArray[np.float64]
    intercept: NDArray[np.float64]
    guessing: NDArray[np.float64]
    steps: Any = None
    top: Any = None
    model: ModelName | None = None

    def __post_init__(self) -> None:
        for name in ("discrimination", "intercept", "guessing"):
            values = as_numbers(name, getattr(self, name))
            n_items = np.shape(self.discrimination)[:1]
            by_ability = name == "discrimination" and values.ndim == 2
            if not by_ability and (values.ndim != 1 or values.shape != n_items):
                rule = f"{name} must be one number per item, shape {n_items}"
                raise ValueError(f"{rule}, got shape {values.shape}")
            if np.isinf(values).any():
                k = int(np.argmax(np.isinf(values)))
                raise ValueError(f"{name} must not be infinite: item {k} (counted from 0) is")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if ((self.guessing < 0) | (self.guessing >= 1)).any():
            raise ValueError("guessing must lie in [0, 1)")
        if self.top is None:
            object.__setattr__(self, "top", np.ones(self.n_items))

    @classmethod
    def from_difficulty(
        cls, discrimination: ArrayLike, difficulty: ArrayLike, guessing: ArrayLike | float = 0.0
    ) -> ItemParameters:
        """Item parameters from discrimination a, difficulty b and guessing c (d = −ab)."""
        slope = as_numbers("discrimination", discrimination)
        location = as_numbers("difficulty", difficulty)
        asymptote = as_numbers("guessing", guessing)
        return cls(slope, -slope * location, np.broadcast_to(asymptote, slope.shape))

    @property
    def traits(self) -> frozenset[str]:
        """Traits that some functions have no meaning for, see `irtkit.capabilities`."""
        return frozenset() if self.steps is None else frozenset({LEVELS})

    def chosen(self, index: slice | NDArray[Any]) -> ItemParameters:
        """Return the parameters of some items."""
        return replace(
            self,
            discrimination=self.discrimination[index],
            intercept=self.intercept[index],
            guessing=self.guessing[index],
            steps=None if self.steps is None else self.steps[index],
            top=self.top[index],
        )

    def standardised(self, latent_sd: float, latent_mean: float = 0.0) -> ItemParameters:
        """Return the same items with ability measured from the mean, in SDs of the population."""
        if (latent_sd, latent_mean) == (1.0, 0.0):
            return self
        if self.steps is not None:
            raise ValueError(f"items of the {self.model} have a population N(0, 1)")
        intercept = self.intercept + latent_mean * self.discrimination
        return ItemParameters(latent_sd * self.discrimination, intercept, self.guessing)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.discrimination)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which items have all their parameters, (n_items,)."""
        slopes = self.discrimination
        if slopes.ndim == 2:
            slopes = slopes.sum(axis=1)
        return np.isfinite(slopes + self.intercept + self.guessing)

    @property
    def difficulty(self) -> NDArray[np.float64]:
        """Location b = −d/a, NaN if the discrimination is exactly 0."""
        flat = self.discrimination == 0
        return np.where(flat, np.nan, -self.intercept / np.where(flat, 1.0, self.discrimination))

    @property
    def items(self) -> Items:
        """Items for computations, without logits of guessing if all guessing is 0."""
        if self.steps is None:
            logits = logits_of_guessing(self.guessing) if self.guessing.any() else None
            return Items(self.discrimination, self.intercept, logits)
        absent = np.isnan(self.steps)
        width = int((~absent).sum(axis=1).max(initial=2))
        order = np.argsort(absent, axis=1, kind="stable")[:, :width]
        steps = np.take_along_axis(self.steps, order, axis=1)[:, 1:]
        steps = np.where(np.isnan(steps), -np.inf, steps)
        levels = Levels(steps, order.astype(np.float64), self.model or "GPCM")
        return Items.of_levels(np.nan_to_num(self.discrimination), levels)

    @property
    def thresholds(self) -> Array:
        """Abilities at the thresholds of levels 1…, (n_items, n_levels − 1), NaN without one.

        The threshold of an item that is right or wrong is its difficulty.
        """
        items = self.items
        if self.steps is None or items.levels is None:
            return self.difficulty[:, None]
        thresholds = np.full((self.n_items, self.steps.shape[1] - 1), np.nan)
        slope, logit = items.thresholds[:2]
        rows, columns = np.nonzero(items.levels.free)
        reached = items.levels.scores[rows, columns + 1].astype(np.intp)
        with np.errstate(divide="ignore", invalid="ignore"):
            thresholds[rows, reached - 1] = -logit / slope
        return thresholds

    @property
    def reached(self) -> NDArray[np.intp]:
        """Number, among those reached, of each level, or of the one below, (n_items, n_levels)."""
        n_reached = np.cumsum(~np.isnan(self.steps), axis=1, dtype=np.intp)
        return np.maximum(n_reached - 1, 0)

    def log_probability(self, abilities: Array) -> Array:
        """Log probability of each level, or of the reached one below, (n_items, n_levels, n)."""
        log_p = log_probability(self.items, abilities)
        if self.steps is None:
            return log_p
        return np.take_along_axis(log_p, self.reached[:, :, None], axis=1)

    def category_probability(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Probability of every level, (n_abilities, n_items, n_levels); NaN without parameters.

        Items that are right or wrong have the levels 0 and 1.
        """
        theta = np.atleast_1d(as_numbers("abilities", abilities))
        if self.steps is None:
            right = self.probability(theta)
            return np.stack([1 - right, right], axis=2)
        items = self.items
        p = np.exp(log_probability(items, theta)) * items.levels.real[:, :, None]
        probability = np.zeros((*self.steps.shape, len(theta)))
        np.put_along_axis(probability, items.levels.scores.astype(np.intp)[:, :, None], p, axis=1)
        probability[~self.known] = np.nan
        return np.moveaxis(probability, 2, 0)

    def probability(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Expected score of abilities (rows) on items (columns), as a share of the highest.

        Of items that are right or wrong it is P(right).
        """
        if self.steps is not None:
            scores = np.arange(self.steps.shape[1])
            return self.category_probability(abilities) @ scores / self.top
        s = logistic(self._logits(abilities))
        return self.guessing + (1 - self.guessing) * s

    def narrow_probability(self, abilities: ArrayLike) -> NDArray[Any]:
        """The same in 32 bits, to 1e-7 and in a quarter of the time: σ(2z) = (1 + tanh z)/2."""
        if self.steps is not None:
            return self.probability(abilities).astype(np.float32)
        sign = np.tanh(self._logits(abilities, np.float32) / 2)
        half = (1 - self.guessing.astype(np.float32)) / 2
        return 1 - half + half * sign

    def variance(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Variance of this share of each ability (rows) on each item (columns)."""
        if self.steps is None:
            p = self.probability(abilities)
            return p * (1 - p)
        p = self.category_probability(abilities)
        scores = np.arange(self.steps.shape[1])
        variance = p @ scores**2 - (p @ scores) ** 2
        return np.maximum(variance, 0.0) / self.top**2

    def information(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Fisher information about ability, shape (n_abilities, n_items) (Birnbaum 1968).

        Of an item that is right or wrong it is I(θ) = a² · (s²/P²) · P(1 − P) with s = σ(aθ + d).
        If c = 0, that is a² P(1 − P).
        """
        if self.steps is not None:
            return level_information(self.items, as_numbers("abilities", abilities)).T
        s = logistic(self._logits(abilities))
        p = self.guessing + (1 - self.guessing) * s
        # (1 − P)/P · s² with 1 − P = (1 − c)(1 − s), finite where P vanishes
        ratio = np.divide(s, p, out=np.ones_like(s), where=p > 0)
        wrong = (1 - self.guessing) * (1 - s)
        return self.discrimination**2 * ratio * s * wrong

    def expected_error(
        self, latent_sd: float = 1.0, latent_mean: float = 0.0
    ) -> NDArray[np.float64]:
        """Mean of 1 − P(right | θ) over θ ~ N(latent_mean, latent_sd²), (n_items,).

        The trapezoid rule to ±8.5 SDs is exact to 1e-8 for |a|·SD up to 50 and to 0.001 up to 300.
        Gauss–Hermite nodes are too far apart: 61 have an error of 0.004 at 10 and 0.02 at 20.
        """
        error = np.empty(self.n_items)
        mild = np.abs(self.discrimination) * latent_sd <= _MILD
        for which, every in ((mild, _EVERY), (~mild, 1)):
            nodes = _NODES[::every]
            weights = np.exp(-0.5 * nodes**2)
            places = np.flatnonzero(which)
            for start in range(0, len(places), _ITEMS_AT_ONCE):
                block = places[start : start + _ITEMS_AT_ONCE]
                wrong = 1 - self.chosen(block).probability(latent_mean + latent_sd * nodes)
                error[block] = weights @ wrong / weights.sum()
        return error

    def _logits(self, abilities: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
        theta = as_numbers("abilities", abilities).astype(dtype)
        slopes = self.discrimination.astype(dtype)
        along = theta @ slopes.T if slopes.ndim == 2 else theta[..., None] * slopes
        return along + self.intercept.astype(dtype)


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def log_probability(items: Items, theta: Array) -> Array:
    """Log probability of every level, (n_items, n_levels, n), 0 in place of −∞ beyond the last.

    Levels of an item that is right or wrong are wrong and right. NaN if steps of a GRM are out of
    order.
    """
    levels = items.levels
    if levels is None:
        z = np.multiply.outer(items.slope, theta) + items.intercept[:, None]
        log_wrong = -softplus(z)
        log_right = -softplus(-z)
        if items.logit_guessing is not None:
            log_wrong = log_wrong - softplus(items.logit_guessing)[:, None]
            log_guessed = -softplus(-items.logit_guessing)
            log_right = np.logaddexp(log_guessed[:, None], z + log_wrong)
        return np.stack([log_wrong, log_right], axis=1)
    along = np.multiply.outer(items.slope, theta)[:, None]
    if levels.model == "GPCM":
        spans = levels.scores - levels.scores[:, :1]
        z = spans[:, :, None] * along
        z[:, 1:] += levels.steps[:, :, None]
        z -= z.max(axis=1, keepdims=True)
        log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    else:
        x = along + levels.steps[:, :, None]  # logit of P(y ≥ c), c = 1, …
        none = np.zeros((len(x), 1, len(theta)))
        # σ(x) − σ(y) = σ(x) σ(−y) (1 − exp(y − x))
        log_p = np.concatenate([none, -softplus(-x)], axis=1)
        log_p += np.concatenate([-softplus(x), none], axis=1)
        fall = np.diff(items.steps)
        between = np.where(levels.free[:, 1:], np.log(-np.expm1(fall)), 0.0)
        log_p[:, 1:-1] += between[:, :, None]
    return np.where(levels.real[:, :, None], log_p, 0.0)


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def level_curves(items: Items, theta: Array) -> tuple[Array, Array, Array]:
    """Log probability of every level, and its derivatives by aθ and by every d.

    Shapes (n_items, n_levels, n), the same, and (n_items, n_levels, n_levels − 1, n).
    """
    levels = items.levels
    log_p = log_probability(items, theta)
    free = levels.free[:, :, None]
    k = np.arange(levels.steps.shape[1])
    by_step = np.zeros((*log_p.shape[:2], len(k), len(theta)))
    if levels.model == "GPCM":
        p = np.exp(log_p)
        p[:, 1:] *= free
        mean = (levels.scores[:, :, None] * p).sum(axis=1, keepdims=True)
        by_step -= p[:, None, 1:]
        by_step[:, k + 1, k] += 1
        return log_p, levels.scores[:, :, None] - mean, by_step
    along = np.multiply.outer(items.slope, theta)
    x = along[:, None] + levels.steps[:, :, None]
    slope = -softplus(-x) - softplus(x)
    by_upper = np.exp(slope - log_p[:, 1:])
    by_lower = -np.exp(slope - log_p[:, :-1])
    by_step[:, k + 1, k] = np.where(free, by_upper, 0.0)
    by_step[:, k, k] = np.where(free, by_lower, 0.0)
    return log_p, by_step.sum(axis=2), by_step


def level_information(items: Items, theta: Array) -> Array:
    """Fisher information about ability, (n_items, n)."""
    levels = items.levels
    p = np.exp(log_probability(items, theta)) * levels.real[:, :, None]
    if levels.model == "GPCM":
        scores = levels.scores[:, :, None]
        by_logit = scores - (scores * p).sum(axis=1, keepdims=True)
    else:
        by_logit = level_curves(items, theta)[1]
    by_ability = items.slope[:, None, None] * by_logit
    return (p * by_ability**2).sum(axis=1)
