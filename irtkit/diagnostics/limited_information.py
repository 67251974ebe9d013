"""Whether the model as a whole holds: M2, from how often items and pairs of items are right.

M2 compares the shares right of all items, and of both items of all pairs, with what the model
expects (Maydeu-Olivares & Joe 2006): with residuals e, their covariance Ξ/N under the model and
derivatives Δ by the parameters,

    M2 = N · min over t of (e − Δt)ᵀ Ξ⁻¹ (e − Δt),

chi-square distributed with as many degrees of freedom as there are margins less parameters.
J items have J(J + 1)/2 margins, and Ξ is never made: given θ answers are independent, so that with
yᵢ = Pᵢ + eᵢ a product of Ξ with a vector is a handful of products of J × J and J × nodes matrices.
It is scaled by E[VᵢVⱼ], Vᵢ = Pᵢ(1 − Pᵢ), to an identity and few large directions, which conjugate
gradients, held to the null space of Δᵀ, solve in some tens of steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.checks import first_names
from irtkit.diagnostics.bootstrap import check_bootstrap, scaled_p, simulated_fits
from irtkit.diagnostics.fitted import Fitted, fitted, items_of
from irtkit.irf import curves_of
from irtkit.printed import p_words

if TYPE_CHECKING:
    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ModelName

_MOST_ITEMS = 500
"""Items of which the margins, 125,250, are worked on: some seconds and 100 MiB."""
_TOLERANCE, _MOST_STEPS = 1e-8, 2000
"""Residual of conjugate gradients, relative to the start, and the most steps."""
_SINGULAR = 1e-12
"""Eigenvalue of ΔᵀΔ, relative to the largest, that is 0."""
_TAIL = 0.05
"""Probability beyond either end of the interval of the RMSEA: 90 %, as is usual."""


@dataclass(frozen=True)
class ModelFit:
    """How well a model fits as a whole; made by :func:`irtkit.model_fit`.

    ``print`` says it in a sentence.
    """

    model: ModelName
    n_respondents: int
    n_items: int
    """Items with right and wrong responses; others have no margins to compare."""
    m2: float
    degrees_of_freedom: int
    p_value: float
    """Probability of so large an M2 or a larger one if the model holds."""
    rmsea: float
    """Misfit for every degree of freedom, √(max(M2 − df, 0) / (df (N − 1)))."""
    rmsea_low: float
    rmsea_high: float
    """A 90 % interval."""
    srmsr: float
    """Root mean square difference of the correlations between items, observed and expected."""
    cfi: float
    """Comparative fit index: what of the misfit of independent items the model explains, 0 to 1."""
    tli: float
    """Tucker–Lewis index: the same for every degree of freedom."""
    n_bootstrap: int
    """Fits of simulated matrices behind p_value; 0 where it is that of the chi-square."""

    def __str__(self) -> str:
        p = p_words(self.p_value)
        source = f" by {self.n_bootstrap} simulated matrices" if self.n_bootstrap else ""
        return (
            f"{self.model} of {self.n_respondents} respondents × {self.n_items} items: "
            f"M2 {self.m2:.1f} with {self.degrees_of_freedom} degrees of freedom, {p}{source}; "
            f"RMSEA {self.rmsea:.3f} [{self.rmsea_low:.3f}, {self.rmsea_high:.3f}], "
            f"SRMSR {self.srmsr:.3f}, CFI {self.cfi:.3f}, TLI {self.tli:.3f}."
        )


def model_fit(result: FitResult, *, bootstrap: int = 0, seed: int = 0) -> ModelFit:
    """Test whether the model explains how often items, and pairs of them, are right.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with complete responses to at most 500 items.
    bootstrap
        Matrices to draw from the fitted model and fit anew, at most 100,000. With them p_value is
        that of M2 on a scaled chi-square with the mean and variance of M2 in these fits; 0
        (default) takes the chi-square of theory, which is for many more respondents than items.
    seed
        Of the bootstrap.

    Returns
    -------
    ModelFit
        M2, degrees of freedom, p-value, RMSEA with its 90 % interval, SRMSR, CFI and TLI, the two
        last beside the model in which items are independent. As a rule of thumb models are called
        close where RMSEA and SRMSR are below 0.05; with many respondents M2 rejects such as well.
        Respondents that answer alike count for as many as are independent (``result.dependence``)
        in all but m2 and srmsr, which takes off part of what they add:
        less with few items, and seldom all.

        Numbers are those of R's mirt for the 1PL and 2PL. For the 3PL mirt 1.47 takes θP(1 − P) for
        the derivative of P by the slope, which holds without guessing (1 % on 32 items); for Rasch
        it leaves out that by the variance of ability, of which its estimate need be no maximum.

    Raises
    ------
    TypeError
        If ``result`` is not a FitResult.
    ValueError
        If responses were not saved, are sparse, hold repeated trials or missing cells; if there
        are more than 500 items or no degree of freedom; or ``bootstrap`` is neither 0 nor a whole
        number from 20 on.

    References
    ----------
    Maydeu-Olivares & Joe (2006), *Psychometrika* 71, 713–732: M2.
    Maydeu-Olivares & Joe (2014), *Multivariate Behavioral Research* 49, 305–328: RMSEA, SRMSR.
    Cai, Chung & Lee (2023), *Multivariate Behavioral Research* 58, 193–211: CFI and TLI of M2.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(10), np.linspace(-2, 2, 10))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-3, 3, 1000), seed=1)
    >>> found = irtkit.model_fit(irtkit.fit(responses, "2PL", prior=None))
    >>> found.degrees_of_freedom, found.p_value > 0.05, found.rmsea < 0.02
    (35, True, True)
    """
    from scipy.special import chdtrc

    check_bootstrap(bootstrap, seed)
    parts = _checked(fitted(result, "model_fit"), result)
    n, n_items = parts.cells.shape
    margins = BivariateMargins.of(parts, result.model)
    df = n_items * (n_items + 1) // 2 - margins.n_parameters
    if df < 1:
        raise ValueError(
            f"model_fit has no degree of freedom: {n_items} items with right and wrong responses "
            f"have {n_items * (n_items + 1) // 2} margins, and the {result.model} of them "
            f"{margins.n_parameters} parameters"
        )
    m2 = m_2(margins)
    share = 1.0 if result.dependence is None else result.dependence.share
    counted, n_counted = share * m2, share * n
    p = float(chdtrc(df, counted))
    if bootstrap:
        p = _by_bootstrap(result, m2, df, bootstrap, seed)
    low, high = rmsea_interval(counted, df, n_counted)
    observed, expected = margins.correlations()
    pairs = np.triu_indices(n_items, 1)
    alone, alone_df = n_counted * float((observed[pairs] ** 2).sum()), len(pairs[0])
    gain = 1 - (counted - df) / (alone - alone_df)
    ratio = alone / alone_df
    return ModelFit(
        model=result.model,
        n_respondents=n,
        n_items=n_items,
        m2=m2,
        degrees_of_freedom=df,
        p_value=p,
        rmsea=(max(counted - df, 0) / (df * (n_counted - 1))) ** 0.5,
        rmsea_low=low,
        rmsea_high=high,
        srmsr=float(np.sqrt(((observed - expected)[pairs] ** 2).mean())),
        cfi=min(max(gain, 0.0), 1.0),
        tli=(ratio - counted / df) / (ratio - 1),
        n_bootstrap=bootstrap,
    )


def _checked(parts: Fitted, result: FitResult) -> Fitted:
    """Items with right and wrong responses, or an error where M2 cannot be."""
    if parts.items.n_items > _MOST_ITEMS:
        raise ValueError(
            f"model_fit is for at most {_MOST_ITEMS} items; here are {parts.items.n_items}: fit "
            "a part of them, or see item_fit and local_dependence, which take any number"
        )
    if not parts.complete.all():
        who = [result.respondent_labels[k] for k in parts.respondents[~parts.complete]]
        raise ValueError(
            f"model_fit needs complete responses, and {len(who)} of {len(parts.cells)} respondents "
            f"miss some: {first_names(who)}; fit the others, or the items that all answered"
        )
    right = parts.cells.sum(axis=0)
    varied = np.flatnonzero((right > 0) & (right < len(parts.cells)))
    return parts.of_items(varied)


def _by_bootstrap(result: FitResult, m2: float, df: int, n: int, seed: int) -> float:
    """P-value on the scaled chi-square of drawn statistics, each over its degrees of freedom."""
    ratios = []
    for one in simulated_fits(result, n, seed):
        parts = _checked(fitted(one, "model_fit"), one)
        margins = BivariateMargins.of(parts, one.model)
        n_items = parts.items.n_items
        ratios.append(m_2(margins) / (n_items * (n_items + 1) // 2 - margins.n_parameters))
    return scaled_p(m2 / df, np.array(ratios))


def rmsea_interval(m2: float, df: int, n: float) -> tuple[float, float]:
    """90 % interval of the RMSEA: of which noncentral chi-squares M2 is the 95 and 5 % quantile."""
    from scipy.special import chndtr, chndtrinc

    found = []
    for tail in (1 - _TAIL, _TAIL):
        reached = chndtr(m2, df, 0.0) > tail
        excess = float(chndtrinc(m2, df, tail)) if reached else 0.0
        found.append((max(excess, 0.0) / (df * (n - 1))) ** 0.5)
    return found[0], found[1]


class Vector(NamedTuple):
    """Numbers for margins: of items, (J,), and of pairs, (J, J) symmetric with zero diagonal."""

    items: Array
    pairs: Array

    def dot(self, other: Vector) -> float:
        """Σ over items, and over every pair once."""
        return float(self.items @ other.items + 0.5 * (self.pairs * other.pairs).sum())

    def plus(self, factor: float, other: Vector) -> Vector:
        """Return the sum with a multiple of another."""
        return Vector(self.items + factor * other.items, self.pairs + factor * other.pairs)

    def times(self, other: Vector) -> Vector:
        """Multiply number by number."""
        return Vector(self.items * other.items, self.pairs * other.pairs)


class BivariateMargins(NamedTuple):
    """Margins of some items and of their pairs: observed, expected, and how they vary."""

    n: int
    observed: Vector
    p: Array
    """P(right) at the nodes, (J, n_nodes)."""
    weights: Array
    derivatives: Array
    """Of P by every kind of parameter, (kinds, J, n_nodes)."""
    common_slope: bool
    """Whether the first kind is one parameter that all items share."""

    @classmethod
    def of(cls, parts: Fitted, model: ModelName) -> BivariateMargins:
        """Margins of complete responses."""
        theta, weights = parts.grid()
        s, p, c = curves_of(items_of(parts.items), theta)
        by_logit = (1 - c) * s * (1 - s)
        kinds = [by_logit * theta, by_logit] + ([1 - s] if model == "3PL" else [])
        right = parts.cells.astype(np.float64)
        both = right.T @ right / len(right)
        observed = Vector(np.diag(both).copy(), _off_diagonal(both))
        common = model in {"1PL", "Rasch"}
        return cls(len(right), observed, p, weights, np.stack(kinds), common)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        kinds, n_items, _ = self.derivatives.shape
        return int(kinds * n_items - (n_items - 1) * self.common_slope)

    @property
    def expected(self) -> Vector:
        """Shares right that the model expects."""
        weighted = self.p * self.weights
        return Vector(weighted.sum(axis=1), _off_diagonal(weighted @ self.p.T))

    @property
    def scale(self) -> Vector:
        """1/√E[Vᵢ] and 1/√E[VᵢVⱼ]."""
        variance = self.p * (1 - self.p)
        weighted = variance * self.weights
        pairs = _off_diagonal(1 / np.sqrt(weighted @ variance.T))
        return Vector(1 / np.sqrt(weighted.sum(axis=1)), pairs)

    def correlations(self) -> tuple[Array, Array]:
        """Correlations between items, observed and expected, (J, J) with zero diagonal."""
        found = []
        for margins in (self.observed, self.expected):
            mean = margins.items
            sd = np.sqrt(mean * (1 - mean))
            covariance = margins.pairs - np.multiply.outer(mean, mean)
            found.append(_off_diagonal(covariance / np.multiply.outer(sd, sd)))
        return found[0], found[1]

    def covariance_times(self, x: Vector) -> Vector:
        """Ξx, the covariances of the margins of one respondent with Σ x · margins."""
        p, w = self.p, self.weights
        variance = p * (1 - p)
        along = x.pairs @ p
        total = x.items @ p + 0.5 * (p * along).sum(axis=0)
        total = (total - w @ total) * w
        own = variance * (x.items[:, None] + along) * w
        items = p @ total + own.sum(axis=1)
        product = own @ p.T
        pairs = (p * total) @ p.T + product + product.T
        pairs += ((variance * w) @ variance.T) * x.pairs
        return Vector(items, _off_diagonal(pairs))


def m_2(margins: BivariateMargins) -> float:
    """M2, by conjugate gradients in the null space of Δᵀ."""
    scale, tangent = margins.scale, _Tangent.of(margins)
    start = margins.observed.plus(-1.0, margins.expected).times(scale)
    residual = tangent.removed(start)
    solution = Vector(np.zeros_like(residual.items), np.zeros_like(residual.pairs))
    direction, size = residual, residual.dot(residual)
    first = size
    for _ in range(_MOST_STEPS):
        if size <= _TOLERANCE**2 * first:
            break
        image = margins.covariance_times(direction.times(scale)).times(scale)
        image = tangent.removed(image)
        step = size / direction.dot(image)
        solution, residual = solution.plus(step, direction), residual.plus(-step, image)
        before, size = size, residual.dot(residual)
        direction = residual.plus(size / before, direction)
    return margins.n * max(start.dot(solution), 0.0)


class _Tangent(NamedTuple):
    """What parameters can change in the scaled margins: the columns of Δ."""

    of_items: Array
    """Derivatives of the share right of every item by its own parameters, (kinds, J)."""
    of_pairs: Array
    """Of the share of the pair (i, j) by those of i, (kinds, J, J)."""
    common_slope: bool
    inverse: Array
    """Of ΔᵀΔ, (n_parameters, n_parameters)."""

    @classmethod
    def of(cls, margins: BivariateMargins) -> _Tangent:
        """Tangent of some margins."""
        scale = margins.scale
        weighted = margins.derivatives * margins.weights
        of_items = weighted.sum(axis=2) * scale.items
        of_pairs = (weighted @ margins.p.T) * scale.pairs
        kinds, n_items = of_items.shape
        square = of_pairs[:, None] * of_pairs.transpose(0, 2, 1)[None]  # parameters of i and of j
        own = np.einsum("sik,tik->sti", of_pairs, of_pairs)
        own += of_items[:, None] * of_items[None]
        place = np.arange(n_items)
        square[:, :, place, place] = own
        square = square.transpose(0, 2, 1, 3).reshape(kinds * n_items, kinds * n_items)
        tangent = cls(of_items, of_pairs, margins.common_slope, square)
        if margins.common_slope:
            joined = tangent._joined(square)
            square = tangent._joined(joined.T)
        values, vectors = np.linalg.eigh(square)
        kept = values > _SINGULAR * values[-1]
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return tangent._replace(inverse=inverse)

    def _joined(self, by_parameter: Array) -> Array:
        """Add up what is of the common slope (first axis)."""
        n_items = self.of_items.shape[1]
        slope = by_parameter[:n_items].sum(axis=0, keepdims=True)
        return np.concatenate([slope, by_parameter[n_items:]])

    def removed(self, x: Vector) -> Vector:
        """Return x less its projection on the columns."""
        kinds, n_items = self.of_items.shape
        along = self.of_items * x.items + np.einsum("tij,ij->ti", self.of_pairs, x.pairs)
        flat = along.ravel()
        change = self.inverse @ (self._joined(flat) if self.common_slope else flat)
        if self.common_slope:
            change = np.concatenate([np.full(n_items, change[0]), change[1:]])
        change = change.reshape(kinds, n_items)
        pairs = np.einsum("tij,ti->ij", self.of_pairs, change)
        moved = Vector((self.of_items * change).sum(axis=0), pairs + pairs.T)
        return x.plus(-1.0, moved)


def _off_diagonal(matrix: Array) -> Array:
    """Set the diagonal to 0."""
    np.fill_diagonal(matrix, 0.0)
    return matrix
