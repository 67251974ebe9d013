"""Item response function: the probability of a right answer given ability.

P(right | θ) = c + (1 − c) · σ(aθ + d) with discrimination a, intercept d = −ab, difficulty b and
guessing c. 1PL and Rasch have a common a and c = 0, 2PL has c = 0. The slope–intercept form stays
finite for flat items. The scaling constant 1.7 is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

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
# Points in SDs, and weights, of the Gauss–Hermite rule of three, exact for powers up to the fifth.
NORMAL_POINTS = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))
_NODES = np.linspace(-8.5, 8.5, 851)  # Abilities in SDs, over which expectations are taken.
# Slope per SD up to which every 10th node is enough: the trapezoid rule with steps of h has an
# error of 2·exp(−2π²/(|a|h)) at a slope of a, here 5e-9.
_MILD, _EVERY = 5.0, 10
_ITEMS_AT_ONCE = 256  # Items whose curves over all nodes fill a processor's second cache.


def model_name(given: object) -> ModelName:
    """Name of a model as it is written here: "2pl" is "2PL"."""
    name = {name.lower(): name for name in MODELS}.get(str(given).lower())
    if name is None:
        raise not_one_of("model", given, MODELS)
    return name


def logistic(z: Any, xp: Any = np) -> Any:
    """σ(z) = 1 / (1 + e⁻ᶻ) without overflow. ``xp`` is NumPy or its counterpart in JAX."""
    decay = xp.exp(-xp.abs(z))
    return xp.where(z >= 0, 1.0, decay) / (1 + decay)


def softplus(z: Any, xp: Any = np) -> Any:
    """log(1 + eᶻ) without overflow."""
    return xp.maximum(z, 0.0) + xp.log1p(xp.exp(-xp.abs(z)))


def logits_of_guessing(c: Array) -> Array:
    """log(c/(1 − c)), at least `LEAST_LOGIT`."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(c) - np.log1p(-c), LEAST_LOGIT))


class Items(NamedTuple):
    """Items as computations take them: arrays of NumPy or JAX, each of shape (n_items,)."""

    slope: Any
    intercept: Any
    logit_guessing: Any = None  # None for models without guessing.

    @classmethod
    def of(cls, parameters: ItemParameters) -> Items:
        """Return items, without logits of guessing if all guessing is 0."""
        if isinstance(parameters, LevelParameters):
            raise ValueError(
                f"this function is for items that are right or wrong, and the model is "
                f"{parameters.model}. Fit the 2PL to scores at or above a threshold"
            )
        c = parameters.guessing
        logits = logits_of_guessing(c) if c.any() else None
        return cls(parameters.discrimination, parameters.intercept, logits)

    def chosen(self, some: Any) -> Items:
        """Return some items, or the same several times."""
        return Items(*(None if part is None else part[some] for part in self))


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
        return np.asarray(by_logit)
    _, mixed, by_guessing = curvatures
    found = np.empty((len(mixed), 3, 3))
    found[:, :2, :2] = by_logit
    found[:, :2, 2] = found[:, 2, :2] = mixed @ powers[:, 1:]
    found[:, 2, 2] = by_guessing.sum(axis=1)
    return found


@dataclass(frozen=True)
class ItemParameters:
    """Discrimination, intercept and guessing of a set of items.

    Parameters
    ----------
    discrimination, intercept, guessing : array-like of shape (n_items,)
        Discrimination may have either sign. Guessing lies in [0, 1). NaN marks unknown items.

    Examples
    --------
    >>> from irtkit import ItemParameters
    >>> ItemParameters.from_difficulty([1.0, 2.0], [0.0, 1.0]).probability([1.0]).round(3)
    array([[0.731, 0.5  ]])
    """

    discrimination: NDArray[np.float64]
    intercept: NDArray[np.float64]
    guessing: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("discrimination", "intercept", "guessing"):
            values, shape = as_numbers(name, getattr(self, name)), np.shape(self.discrimination)
            if values.ndim != 1 or values.shape != shape:
                rule = f"{name} must be one number per item, shape {shape}"
                raise ValueError(f"{rule}, got shape {values.shape}")
            if np.isinf(values).any():
                k = int(np.argmax(np.isinf(values)))
                raise ValueError(f"{name} must not be infinite: item {k} (counted from 0) is")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if ((self.guessing < 0) | (self.guessing >= 1)).any():
            raise ValueError("guessing must lie in [0, 1)")

    @classmethod
    def from_difficulty(
        cls, discrimination: ArrayLike, difficulty: ArrayLike, guessing: ArrayLike | float = 0.0
    ) -> ItemParameters:
        """Item parameters from discrimination a, difficulty b and guessing c (d = −ab)."""
        slope = as_numbers("discrimination", discrimination)
        location, asymptote = as_numbers("difficulty", difficulty), as_numbers("guessing", guessing)
        return cls(slope, -slope * location, np.broadcast_to(asymptote, slope.shape))

    def chosen(self, some: slice | NDArray[Any]) -> ItemParameters:
        """Return the parameters of some items."""
        return ItemParameters(self.discrimination[some], self.intercept[some], self.guessing[some])

    def standardised(self, latent_sd: float, latent_mean: float = 0.0) -> ItemParameters:
        """Return the same items with ability measured from the mean, in SDs of the population."""
        intercept = self.intercept + latent_mean * self.discrimination
        return ItemParameters(latent_sd * self.discrimination, intercept, self.guessing)

    def variance(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Variance of the score of each ability (rows) on each item (columns)."""
        p = self.probability(abilities)
        return p * (1 - p)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.discrimination)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which items have all their parameters, (n_items,)."""
        return np.isfinite(self.discrimination + self.intercept + self.guessing)

    @property
    def difficulty(self) -> NDArray[np.float64]:
        """Location b = −d/a, NaN if the discrimination is exactly 0."""
        flat = self.discrimination == 0
        return np.where(flat, np.nan, -self.intercept / np.where(flat, 1.0, self.discrimination))

    def probability(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """P(right) of each ability (rows) on each item (columns)."""
        s = logistic(self._logits(abilities))
        return np.asarray(self.guessing + (1 - self.guessing) * s)

    def information(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Fisher information about ability, shape (n_abilities, n_items) (Birnbaum 1968).

        I(θ) = a² · (s²/P²) · P(1 − P) with s = σ(aθ + d). If c = 0, it is a² P(1 − P).
        """
        s = logistic(self._logits(abilities))
        p = self.guessing + (1 - self.guessing) * s
        # (1 − P)/P · s² with 1 − P = (1 − c)(1 − s), finite where P vanishes
        ratio = np.divide(s, p, out=np.ones_like(s), where=p > 0)
        return np.asarray(self.discrimination**2 * ratio * s * (1 - self.guessing) * (1 - s))

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
                some = places[start : start + _ITEMS_AT_ONCE]
                wrong = 1 - self.chosen(some).probability(latent_mean + latent_sd * nodes)
                error[some] = weights @ wrong / weights.sum()
        return error

    def _logits(self, abilities: ArrayLike) -> NDArray[np.float64]:
        theta = as_numbers("abilities", abilities)
        return theta[..., None] * self.discrimination + self.intercept


class LevelItems(NamedTuple):
    """Items with ordered levels as computations take them; levels that nobody reached left out.

    The first level of an item has d = 0. Beyond its last level d is −∞.
    """

    slope: Array
    steps: Array  # d of the levels after the first, (n_items, n_levels − 1).
    scores: Array  # Score of every level, (n_items, n_levels).
    model: ModelName
    logit_guessing: Any = None
    answered: float = 1.0  # Responses per item of the respondent with most, beyond 1 with trials.

    def chosen(self, some: Any) -> LevelItems:
        """Return some items."""
        parts = (part[some] for part in self[:3])
        return self._replace(**dict(zip(self._fields, parts, strict=False)))

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which steps the items have, as `steps`."""
        return np.isfinite(self.steps)

    @property
    def intercept(self) -> Array:
        """The d of the second level, which for items with two is the intercept."""
        return self.steps[:, 0]

    @property
    def thresholds(self) -> Items:
        """Slope and logit of the thresholds of all items, one after another."""
        steps = np.where(self.free, self.steps, 0.0)
        logits = (self.contrasts()[1] @ steps[:, :, None])[:, :, 0]
        return Items(np.repeat(self.slope, self.free.sum(axis=1)), logits[self.free])

    def intercepts(self) -> Array:
        """Weights of slope and steps in the slope and the intercept of every item."""
        whole = np.zeros((len(self.slope), 2, self.scores.shape[1]))
        whole[:, 0, 0], whole[:, 1, 1:] = 1.0, self.contrasts()[0]
        return whole

    def contrasts(self) -> tuple[Array, Array]:
        """Weights of the steps in the intercept, and in the logits of thresholds, by item.

        Thresholds are −logit/slope: of the GPCM where neighbouring levels are equally likely, of
        the GRM where the level or a higher one is as likely as not.
        """
        free, (n, size) = self.free, self.steps.shape
        last = free.sum(axis=1)
        each = np.eye(size) * free[:, :, None]
        if self.model == "GRM":
            return free / np.maximum(last, 1)[:, None], each
        gaps = np.where(free, np.diff(self.scores), 1.0)
        each[:, 1:] -= each[:, :-1] * free[:, 1:, None]
        whole = np.zeros((n, size))
        some = np.flatnonzero(last)
        spans = self.scores[some, last[some]] - self.scores[some, 0]
        whole[some, last[some] - 1] = 1 / spans
        return whole, each / gaps[:, :, None]


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def level_logs(items: LevelItems, theta: Array) -> Array:
    """Log probability of every level, (n_items, n_levels, n), 0 in place of −∞ beyond the last.

    NaN if steps of a GRM are out of order.
    """
    real = np.concatenate([np.ones((len(items.slope), 1), bool), items.free], axis=1)
    along = np.multiply.outer(items.slope, theta)[:, None]
    if items.model == "GPCM":
        z = (items.scores - items.scores[:, :1])[:, :, None] * along
        z[:, 1:] += items.steps[:, :, None]
        z -= z.max(axis=1, keepdims=True)
        log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    else:
        x = along + items.steps[:, :, None]  # logit of P(y ≥ c), c = 1, …
        none = np.zeros((len(x), 1, len(theta)))
        # σ(x) − σ(y) = σ(x) σ(−y) (1 − exp(y − x))
        log_p = np.concatenate([none, -softplus(-x)], axis=1)
        log_p += np.concatenate([-softplus(x), none], axis=1)
        fall = np.diff(np.where(items.free, items.steps, 0.0))
        log_p[:, 1:-1] += np.where(items.free[:, 1:], np.log(-np.expm1(fall)), 0.0)[:, :, None]
    return np.where(real[:, :, None], log_p, 0.0)


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def level_curves(items: LevelItems, theta: Array) -> tuple[Array, Array, Array]:
    """Log probability of every level, and its derivatives by aθ and by every d.

    Shapes (n_items, n_levels, n), the same, and (n_items, n_levels, n_levels − 1, n).
    """
    log_p, free = level_logs(items, theta), items.free[:, :, None]
    k = np.arange(items.steps.shape[1])
    by_step = np.zeros((*log_p.shape[:2], len(k), len(theta)))
    if items.model == "GPCM":
        p = np.exp(log_p)
        p[:, 1:] *= free
        mean = (items.scores[:, :, None] * p).sum(axis=1, keepdims=True)
        by_step -= p[:, None, 1:]
        by_step[:, k + 1, k] += 1
        return log_p, items.scores[:, :, None] - mean, by_step
    x = np.multiply.outer(items.slope, theta)[:, None] + items.steps[:, :, None]
    slope = -softplus(-x) - softplus(x)
    by_step[:, k + 1, k] = np.where(free, np.exp(slope - log_p[:, 1:]), 0.0)
    by_step[:, k, k] = np.where(free, -np.exp(slope - log_p[:, :-1]), 0.0)
    return log_p, by_step.sum(axis=2), by_step


@dataclass(frozen=True)
class LevelParameters(ItemParameters):
    """Items with ordered levels of the GPCM or GRM; its probabilities are expected scores.

    ``steps``, (n_items, n_levels), has d of every level: 0 of the lowest one, NaN of levels that
    the item does not have or nobody reached.
    """

    steps: NDArray[np.float64]
    top: NDArray[np.float64]
    """Highest score of each item, whether or not it was reached, (n_items,)."""
    model: ModelName

    def chosen(self, some: slice | NDArray[Any]) -> LevelParameters:
        """Return the parameters of some items."""
        plain = super().chosen(some)
        return LevelParameters(
            **vars(plain), steps=self.steps[some], top=self.top[some], model=self.model
        )

    def standardised(self, latent_sd: float, latent_mean: float = 0.0) -> LevelParameters:
        """Return the same items: levels have a population N(0, 1)."""
        if (latent_sd, latent_mean) != (1.0, 0.0):
            raise ValueError(f"items of the {self.model} have a population N(0, 1)")
        return self

    @property
    def items(self) -> LevelItems:
        """Items for computations."""
        absent = np.isnan(self.steps)
        width = int((~absent).sum(axis=1).max(initial=2))
        order = np.argsort(absent, axis=1, kind="stable")[:, :width]
        steps = np.take_along_axis(self.steps, order, axis=1)[:, 1:]
        slope, steps = np.nan_to_num(self.discrimination), np.where(np.isnan(steps), -np.inf, steps)
        return LevelItems(slope, steps, order.astype(np.float64), self.model)

    @property
    def places(self) -> NDArray[np.intp]:
        """Number, among those reached, of each level, or of the one below, (n_items, n_levels)."""
        return np.maximum(np.cumsum(~np.isnan(self.steps), axis=1, dtype=np.intp) - 1, 0)

    def log_probability(self, abilities: Array) -> Array:
        """Log probability of each level, or of the reached one below, (n_items, n_levels, n)."""
        log_p = level_logs(self.items, abilities)
        return np.take_along_axis(log_p, self.places[:, :, None], axis=1)

    @property
    def thresholds(self) -> Array:
        """Abilities at the thresholds of levels 1…, (n_items, n_levels − 1), NaN without one."""
        items, found = self.items, np.full((len(self.steps), self.steps.shape[1] - 1), np.nan)
        slope, logit = items.thresholds[:2]
        rows, columns = np.nonzero(items.free)
        levels = items.scores[rows, columns + 1].astype(np.intp)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[rows, levels - 1] = -logit / slope
        return found

    def category_probability(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Probability of every level, (n_abilities, n_items, n_levels); NaN without parameters."""
        items, theta = self.items, np.atleast_1d(as_numbers("abilities", abilities))
        p = np.exp(level_logs(items, theta))
        p[:, 1:] *= items.free[:, :, None]
        found = np.zeros((*self.steps.shape, len(theta)))
        np.put_along_axis(found, items.scores.astype(np.intp)[:, :, None], p, axis=1)
        found[~self.known] = np.nan
        return np.moveaxis(found, 2, 0)

    def probability(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Expected score, as a share of the highest, of abilities (rows) on items (columns)."""
        return self.category_probability(abilities) @ np.arange(self.steps.shape[1]) / self.top

    def variance(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Variance of this share of each ability (rows) on each item (columns)."""
        p, levels = self.category_probability(abilities), np.arange(self.steps.shape[1])
        return np.maximum(p @ levels**2 - (p @ levels) ** 2, 0.0) / self.top**2

    def information(self, abilities: ArrayLike) -> NDArray[np.float64]:
        """Fisher information about ability, shape (n_abilities, n_items)."""
        return level_information(self.items, as_numbers("abilities", abilities)).T


def level_information(items: LevelItems, theta: Array) -> Array:
    """Fisher information about ability, (n_items, n)."""
    p = np.exp(level_logs(items, theta))
    p[:, 1:] *= items.free[:, :, None]
    if items.model == "GPCM":
        by_logit = items.scores[:, :, None] - (items.scores[:, :, None] * p).sum(axis=1)[:, None]
    else:
        by_logit = level_curves(items, theta)[1]
    return np.asarray(items.slope[:, None] ** 2 * (p * by_logit**2).sum(axis=1))


def items_of(parameters: ItemParameters) -> Items | LevelItems:
    """Items for computations, of right and wrong answers or of levels."""
    of_levels = isinstance(parameters, LevelParameters)
    return parameters.items if of_levels else Items.of(parameters)  # type: ignore[attr-defined]


def restored_parameters(**stored: Any) -> ItemParameters:
    """Parameters of stored fields."""
    return (LevelParameters if "steps" in stored else ItemParameters)(**stored)
