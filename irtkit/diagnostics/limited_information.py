"""Whether the model as a whole holds: M2, from how often items and pairs of items are right.

M2 compares the shares right of all items, and of both items of all pairs, with what the model
expects (Maydeu-Olivares & Joe 2006): with residuals e, their covariance Ξ/N under the model and
derivatives Δ by the parameters,

    M2 = N · min over t of (e − Δt)ᵀ Ξ⁻¹ (e − Δt),

chi-square distributed with as many degrees of freedom as there are margins less parameters. J
items have J(J + 1)/2 margins. Ξ is never made: given θ answers are independent, so that its product
with a vector takes a handful of products of J × J and J × nodes matrices. Conjugate gradients solve
in the null space of Δᵀ, by a QR decomposition of Δ with rows divided by √E[VᵢVⱼ], Vᵢ = Pᵢ(1 − Pᵢ),
and columns by their lengths.
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

_MOST_ITEMS = 200
"""With them the derivatives of 20,100 margins take up to 0.5 GiB and 5 s."""
_SINGULAR = 1e-8
"""Least singular value of the scaled derivatives relative to the largest; 40 fits of the 3PL had
1e-4 at least."""
_TOLERANCE, _MOST_STEPS = 1e-9, 2000
"""Residual of conjugate gradients, relative to the start, and the most steps."""
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
        What :func:`irtkit.fit` returned, with complete responses to at most 200 items.
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
        are more than 200 items or no degree of freedom; if the responses do not determine the
        parameters; or ``bootstrap`` is neither 0 nor a whole number from 20 on.

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
    if np.isnan(m2):
        raise ValueError(
            f"model_fit: the shares right of these {n_items} items and their pairs do not "
            f"determine the {margins.n_parameters} parameters of the {result.model}, or hardly. M2 "
            'cannot be computed. Try: a simpler model, or prior="weak".'
        )
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
            f"model_fit takes at most {_MOST_ITEMS} items, got {parts.items.n_items}. "
            f"Try: irtkit.fit(responses.to_frame().sample({_MOST_ITEMS}, axis=1, random_state=0)), "
            "or item_fit and local_dependence, which take any number."
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


class BivariateMargins(NamedTuple):
    """Shares right of some items and of their pairs, and what the model says of them."""

    n: int
    observed: Array
    """Share right of both items of a pair, on the diagonal of the item, (J, J)."""
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
        observed, common = right.T @ right / len(right), model in {"1PL", "Rasch"}
        return cls(len(right), observed, p, weights, np.stack(kinds), common)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        kinds, n_items, _ = self.derivatives.shape
        return int(kinds * n_items - (n_items - 1) * self.common_slope)

    @property
    def expected(self) -> Array:
        """Shares right that the model expects, (J, J)."""
        both = (self.p * self.weights) @ self.p.T
        np.fill_diagonal(both, self.p @ self.weights)
        return both

    def correlations(self) -> tuple[Array, Array]:
        """Correlations between items, observed and expected, (J, J)."""
        found = []
        for both in (self.observed, self.expected):
            mean = np.diag(both)
            sd = np.sqrt(mean * (1 - mean))
            found.append((both - np.outer(mean, mean)) / np.outer(sd, sd))
        return found[0], found[1]


def m_2(margins: BivariateMargins) -> float:
    """M2, by conjugate gradients in the null space of Δᵀ; NaN if Δ is singular or they fail."""
    upper = np.triu_indices(len(margins.p))
    variance = margins.p * (1 - margins.p)
    squares = (variance * margins.weights) @ variance.T
    np.fill_diagonal(squares, variance @ margins.weights)
    scale = 1 / np.sqrt(squares[upper])
    tangent = scale[:, None] * _derivatives(margins)
    length = np.maximum(np.linalg.norm(tangent, axis=0), np.finfo(np.float64).tiny)
    tangent, corner = np.linalg.qr(tangent / length)
    singular = np.linalg.svd(corner, compute_uv=False)
    if singular[-1] < _SINGULAR * singular[0]:
        return float("nan")

    def image(x: Array) -> Array:
        both = np.zeros(squares.shape)
        both[upper] = both.T[upper] = scale * x
        product = scale * _covariance_times(margins, both, squares)[upper]
        return np.asarray(product - tangent @ (tangent.T @ product))

    start = scale * (margins.observed - margins.expected)[upper]
    start -= tangent @ (tangent.T @ start)
    solution, residual, direction, size = np.zeros_like(start), start, start, start @ start
    for _ in range(_MOST_STEPS):
        if size <= _TOLERANCE**2 * (start @ start):
            break
        along = image(direction)
        step = size / (direction @ along)
        solution, residual = solution + step * direction, residual - step * along
        before, size = size, residual @ residual
        direction = residual + size / before * direction
    off = start - image(solution)
    if off @ off > 100 * _TOLERANCE**2 * (start @ start):
        return float("nan")
    return float(margins.n * (start @ solution))


def _covariance_times(margins: BivariateMargins, x: Array, squares: Array) -> Array:
    """Ξx, the covariances of the margins of one respondent with Σ x · margins, (J, J).

    ``squares`` holds E[VᵢVⱼ].
    """
    p, w, items = margins.p, margins.weights, np.diag(x)
    pairs = x - np.diag(items)
    along = pairs @ p
    total = items @ p + 0.5 * (p * along).sum(axis=0)
    total = (total - w @ total) * w
    own = p * (1 - p) * (items[:, None] + along) * w
    product = own @ p.T
    found = (p * total) @ p.T + product + product.T + squares * pairs
    np.fill_diagonal(found, p @ total + own.sum(axis=1))
    return np.asarray(found)


def _derivatives(margins: BivariateMargins) -> Array:
    """Δ, (n_margins, n_parameters)."""
    kinds, n_items, _ = margins.derivatives.shape
    one, other = np.triu_indices(n_items)
    found = np.zeros((len(one), kinds, n_items))
    rows, pairs = np.arange(len(one)), one != other
    for k, by_kind in enumerate(margins.derivatives * margins.weights):
        of_pairs = by_kind @ margins.p.T
        found[rows, k, one] = np.where(pairs, of_pairs[one, other], by_kind.sum(axis=1)[one])
        found[rows[pairs], k, other[pairs]] = of_pairs[other, one][pairs]
    if margins.common_slope:
        return np.column_stack([found[:, 0].sum(axis=1), found[:, 1]])
    return found.reshape(len(found), -1)
