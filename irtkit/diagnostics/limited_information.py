"""Fit of the model as a whole: M2, from how often items and pairs of items are right.

Let e be the residuals of the proportions correct of items and pairs of items, Ξ/N their covariance
under the model, and Δ their derivatives by the parameters (Maydeu-Olivares & Joe 2006). Then

    M2 = N · min over t of (e − Δt)ᵀ Ξ⁻¹ (e − Δt).

Margins are kept as symmetric (J, J) matrices with single items on the diagonal. Neither Ξ nor Δ is
made: conjugate gradients solve in the null space of Δᵀ, margins divided by √E[VᵢVⱼ], Vᵢ = PᵢQᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.checks import first_names
from irtkit.diagnostics.fitted import fitted
from irtkit.fitting import result_for
from irtkit.irf import curves_of
from irtkit.printed import p_words

if TYPE_CHECKING:
    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ModelName

_MOST_ITEMS = 500  # With them M2 takes about a second.
_TAIL = 0.05  # Probability beyond either end of the interval of the RMSEA, 90 % as usual.


@dataclass(frozen=True)
class ModelFit:
    """How well a model fits as a whole. :func:`irtkit.model_fit` returns it."""

    model: ModelName
    n_respondents: int
    n_items: int  # With right and wrong responses.
    m2: float
    degrees_of_freedom: int
    p_value: float  # Probability of this M2 or a larger one if the model holds.
    rmsea: float  # √(max(M2 − df, 0) / (df (N − 1))).
    rmsea_low: float
    rmsea_high: float
    srmsr: float  # Root mean square difference of observed and expected correlations of items.
    cfi: float  # Comparative fit index, against the model of independent items, 0 to 1.
    tli: float  # Tucker–Lewis index.

    def __str__(self) -> str:
        return (
            f"{self.model} of {self.n_respondents} × {self.n_items}: M2 {self.m2:.1f}, "
            f"df {self.degrees_of_freedom}, {p_words(self.p_value)}, RMSEA {self.rmsea:.3f} "
            f"[{self.rmsea_low:.3f}, {self.rmsea_high:.3f}], SRMSR {self.srmsr:.3f}, "
            f"CFI {self.cfi:.3f}, TLI {self.tli:.3f}"
        )


def model_fit(result: FitResult) -> ModelFit:
    """Test whether the model explains how often items, and pairs of items, are right.

    Parameters
    ----------
    result : FitResult
        With complete responses to at most 500 items, and many more respondents than items.

    Returns
    -------
    ModelFit
        M2, degrees of freedom, p-value, RMSEA with its 90 % interval, SRMSR, CFI and TLI. By a rule
        of thumb, models with RMSEA and SRMSR below 0.05 fit closely, even if M2 rejects them.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.item_fit`, or if responses are incomplete, items are more than 500, or
        there are too few to determine the parameters.

    Notes
    -----
    Near-duplicate respondents enter with their effective number, except in m2 and srmsr.

    For the 1PL and 2PL the numbers agree with R's mirt. mirt 1.47 takes another derivative by the
    slope of the 3PL, and none by the variance of ability of Rasch.

    References
    ----------
    Maydeu-Olivares & Joe (2006), *Psychometrika* 71, 713–732: M2.
    Maydeu-Olivares & Joe (2014), *Multivariate Behavioral Research* 49, 305–328: RMSEA, SRMSR.
    Cai, Chung & Lee (2023), *Multivariate Behavioral Research* 58, 193–211: CFI and TLI of M2.

    See Also
    --------
    irtkit.item_fit, irtkit.likelihood_ratio_test, irtkit.local_dependence

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(10), np.linspace(-2, 2, 10))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-3, 3, 1000), seed=1)
    >>> found = irtkit.model_fit(irtkit.fit(responses, "2PL", prior=None))
    >>> found.degrees_of_freedom, found.p_value > 0.05, found.rmsea < 0.02
    (35, True, True)
    """
    from scipy.special import chdtrc, chndtr, chndtrinc

    result = result_for("model_fit", result)
    margins = margins_of(result)
    n = margins.n
    n_items = len(margins.p)
    df = margins.df
    m2 = m_2(margins)
    if np.isnan(m2):
        raise ValueError(
            f"model_fit: the margins of these {n_items} items and their pairs do not "
            f"determine the {margins.n_parameters} parameters of the {result.model}, or hardly. M2 "
            'cannot be computed. Try: a simpler model, or prior="weak".'
        )
    share = result.evidence
    counted = share * m2
    n_counted = share * n
    freedom = df * (n_counted - 1)
    ends = []
    for tail in (1 - _TAIL, _TAIL):
        excess = 0.0
        if chndtr(counted, df, 0.0) > tail:
            # that of the noncentral chi-square of which M2 is this quantile
            excess = max(float(chndtrinc(counted, df, tail)), 0.0)
        ends.append((excess / freedom) ** 0.5)
    pairs = np.triu_indices(n_items, 1)
    observed = _correlations(margins.observed)[pairs]
    expected = _correlations(margins.expected)[pairs]
    alone = n_counted * float((observed**2).sum())
    alone_df = len(observed)
    ratio = alone / alone_df
    fit_index = 1 - (counted - df) / (alone - alone_df)
    return ModelFit(
        model=result.model,
        n_respondents=n,
        n_items=n_items,
        m2=m2,
        degrees_of_freedom=df,
        p_value=float(chdtrc(df, counted)),
        rmsea=(max(counted - df, 0) / freedom) ** 0.5,
        rmsea_low=ends[0],
        rmsea_high=ends[1],
        srmsr=float(np.sqrt(((observed - expected) ** 2).mean())),
        cfi=min(max(fit_index, 0.0), 1.0),
        tli=(ratio - counted / df) / (ratio - 1),
    )


class BivariateMargins(NamedTuple):
    """Proportions correct of some items and of their pairs, observed and expected."""

    n: int
    observed: (
        Array  # Proportion right on both items of a pair, on the diagonal of the item, (J, J).
    )
    p: Array  # P(right) at the nodes, (J, n_nodes).
    weights: Array
    derivatives: Array  # Of P by every kind of parameter, (kinds, J, n_nodes).
    common_slope: bool  # Whether the first kind is one parameter that all items share.

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        kinds, n_items, _ = self.derivatives.shape
        return int(kinds * n_items - (n_items - 1) * self.common_slope)

    @property
    def df(self) -> int:
        """Margins less parameters."""
        n_items = len(self.p)
        n_margins = n_items * (n_items + 1) // 2
        return n_margins - self.n_parameters

    @property
    def expected(self) -> Array:
        """Expected proportions correct, (J, J)."""
        pairs = (self.p * self.weights) @ self.p.T
        return _with_diagonal(pairs, self.p @ self.weights)


def margins_of(result: FitResult) -> BivariateMargins:
    """Margins of the items with right and wrong responses, or an error where M2 cannot be."""
    parts = fitted(result)
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
            f"miss some: {first_names(who)}. Fit the others, or the items that all answered"
        )
    right = parts.cells.sum(axis=0)
    varied = np.flatnonzero((right > 0) & (right < len(parts.cells)))
    parts = parts.of_items(varied)
    theta, weights = parts.grid()
    s, p, c = curves_of(parts.items.items, theta)
    by_logit = (1 - c) * s * (1 - s)
    derivatives = [by_logit * theta, by_logit]
    if result.model == "3PL":
        derivatives.append(1 - s)
    right = parts.cells.astype(np.float64)
    n = len(right)
    margins = BivariateMargins(
        n=n,
        observed=right.T @ right / n,
        p=p,
        weights=weights,
        derivatives=np.stack(derivatives),
        common_slope=result.model in {"1PL", "Rasch"},
    )
    if margins.df < 1:
        raise ValueError(
            f"model_fit needs degrees of freedom: {len(p)} items with right and wrong responses "
            f"give {margins.df + margins.n_parameters} margins for the {margins.n_parameters} "
            f"parameters of the {result.model}"
        )
    return margins


def _with_diagonal(pairs: Array, items: Array) -> Array:
    np.fill_diagonal(pairs, items)
    return pairs


def _correlations(both: Array) -> Array:
    mean = np.diag(both)
    sd = np.sqrt(mean * (1 - mean))
    covariance = both - np.outer(mean, mean)
    return covariance / np.outer(sd, sd)


def m_2(margins: BivariateMargins) -> float:
    """M2 by conjugate gradients in the null space of Δᵀ, NaN if Δ is singular or they fail."""
    from scipy.linalg import cho_solve
    from scipy.sparse.linalg import LinearOperator, cg

    p = margins.p
    weights = margins.weights
    n_items = len(p)
    variance = p * (1 - p)
    squares = _with_diagonal((variance * weights) @ variance.T, variance @ weights)
    scale = 1 / np.sqrt(squares)
    rows = (margins.derivatives * weights) @ p.T
    for row, kind in zip(rows, margins.derivatives, strict=True):
        # row i: derivatives of the pairs of item i by its own parameter
        np.fill_diagonal(row, kind @ weights)
    rows *= scale
    gram = np.einsum("kij,lji->kilj", rows, rows)
    gram[:, range(n_items), :, range(n_items)] = np.einsum("kij,lij->ikl", rows, rows)
    n_rows = len(rows) * n_items
    parameters = np.eye(n_rows)
    if margins.common_slope:  # the first rows are those of one parameter
        slope = parameters[:, :n_items].sum(axis=1)
        parameters = np.column_stack([slope, parameters[:, n_items:]])
    gram = parameters.T @ gram.reshape(n_rows, n_rows) @ parameters
    length = np.sqrt(np.maximum(np.diag(gram), np.finfo(np.float64).tiny))
    parameters /= length
    try:
        corner = np.linalg.cholesky(gram / np.outer(length, length))
    except np.linalg.LinAlgError:
        return float("nan")
    if np.diag(corner).min() < 1e-6:  # distances of fits are 1e-4 or more
        return float("nan")

    def within(x: Array) -> Array:
        """Projection on the null space, done twice to remove rounding errors."""
        for _ in range(2):
            along = parameters.T @ np.einsum("kij,ij->ki", rows, x).ravel()
            t = parameters @ cho_solve((corner, True), along, check_finite=False)
            moved = np.einsum("kij,ki->ij", rows, t.reshape(-1, n_items))
            x = x - _with_diagonal(moved + moved.T, np.diag(moved))
        return x

    # With its diagonal times √2, the sum of squares of a matrix counts each margin twice.
    once = np.where(np.eye(n_items, dtype=bool), 2**0.5, 1.0)

    def image(x: Array) -> Array:
        """Covariances of the margins of one respondent with Σ x · margins."""
        margin = scale * x.reshape(n_items, n_items) / once
        items = np.diag(margin)
        pairs = margin - np.diag(items)
        along = pairs @ p
        total = items @ p + 0.5 * (p * along).sum(axis=0)
        total = (total - weights @ total) * weights
        alone = variance * weights * (items[:, None] + along)
        product = alone @ p.T
        in_common = (p * total) @ p.T
        covariance = in_common + product + product.T + squares * pairs
        covariance = scale * _with_diagonal(covariance, p @ total + alone.sum(axis=1))
        return (once * within(covariance)).ravel()

    difference = scale * (margins.observed - margins.expected)
    residual = (once * within(difference)).ravel()
    operator = LinearOperator((residual.size, residual.size), matvec=image, dtype=np.float64)
    solution, failed = cg(operator, residual, rtol=1e-7, maxiter=2000)  # M2 is off by its square
    return float("nan") if failed else margins.n * float(residual @ solution) / 2
