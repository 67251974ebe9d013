"""Information of the items about ability, standard errors and reliability.

At ability θ an answer that is right or wrong has the information I(θ) = P'²/(P(1 − P)) (Birnbaum
1968). A score between 0 and 1, or an average of repeated trials, has that of the independent trials
that it is worth. All items have the sum. The standard error of an ability is 1/√I.

Items of several abilities are seen along one: a named one, or the composite t that all measure
together. Further axes u are independent of t in the population, N(0, 1), and items have slopes b
along t and c along them. With W the information about the logit of an item, the items tell of t

    I(t) = Σ W b² − (Σ W b c)' (1 + Σ W c c')⁻¹ (Σ W b c),

at u = 0: information that also could be about u is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import as_numbers, check_number, check_whole
from irtkit.data.patterns import blocks
from irtkit.fitting import result_for
from irtkit.irf import outer

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters

_ABILITIES = np.linspace(-4, 4, 33)  # Of the curve, in SDs.
_GRID = np.linspace(-8, 8, 801)  # Where the marginal reliability is integrated, in SDs.
_MOST = 0.9  # Share of the information held by the items that separate some respondents.


@dataclass(frozen=True, eq=False)
class Information:
    """Information of the items of a benchmark. :func:`irtkit.information` returns it."""

    curve: pd.DataFrame
    """Index "ability": information of all items, standard_error = 1/√information,
    reliability = s²·information / (s²·information + 1) with s the SD of the population,
    expected_score (proportion correct of all items)."""
    items: pd.DataFrame
    """Index "item": information (mean over the population), information_top (mean over the best
    respondents) and right_top (proportion of them that are right, NaN if none answered). Then
    separates_top (whether it is one of the fewest items that hold 90 % of information_top)."""
    top: tuple[str, ...]
    """The most able respondents, best first."""
    ability: str | None
    """Which of several abilities, None for what all items measure together."""
    marginal_reliability: float
    """Mean of the reliability over the population, if all items are answered."""
    empirical_reliability: float
    """Variance of the posterior means over its sum with their mean error variance, of the errors
    against the other respondents."""
    latent_sd: float
    _items: Along = field(repr=False)

    def items_needed(self, standard_error: float, ability: float = 0.0) -> int:
        """Return the number of items like these that give a standard error at an ability."""
        wanted = 1 / check_number("standard_error", standard_error, above=0) ** 2
        total = float(self._items.information(np.array([ability]))[0])
        if total == 0:
            raise ValueError(f"these items give zero information at ability {ability:g}")
        return math.ceil(self._items.parameters.n_items * wanted / total - 1e-9)

    def __repr__(self) -> str:
        return f"Information({len(self.items)} items, reliability {self.marginal_reliability:.3f})"

    def __str__(self) -> str:
        best = self.curve["standard_error"].idxmin()
        empirical = f", empirical {self.empirical_reliability:.3f}" * (len(self.top) > 1)
        return (
            f"{len(self.items)} items: marginal reliability {self.marginal_reliability:.3f}"
            f"{empirical}, lowest standard error {self.curve['standard_error'].min():.3f} at "
            f"ability {best:g}, "
            f"{self.items['separates_top'].sum()} items hold {_MOST:.0%} of the information about "
            f"the top {len(self.top)}"
        )


class Along(NamedTuple):
    """Some items as they measure one ability, or a composite of several."""

    parameters: ItemParameters  # Along it.
    others: Array  # Slopes on further axes, independent of it, (n_items, K − 1).
    worth: Array  # Independent trials that an answer is worth, (n_items,).

    @classmethod
    def of(cls, result: FitResult, weights: Array, items: Any, worth: Array) -> Along:
        """Take some items of a result along a composite with these weights."""
        correlation = result.ability_correlation
        rise = correlation @ weights
        size, axes = np.linalg.eigh(correlation - np.outer(rise, rise))
        lengths = np.sqrt(np.maximum(size[1:], 0.0))
        further = axes[:, 1:] * lengths
        slopes = result.parameters.discrimination.reshape(len(result.item_labels), -1)
        parameters = result.items_along(weights).chosen(items)
        return cls(parameters, slopes[items] @ further, worth[items])

    def information(self, theta: Array) -> Array:
        """Information of all these items together about the ability, (n,)."""
        total = np.empty(len(theta))
        for rows in blocks(len(theta), self.parameters.n_items):
            of_items = self.parameters.information(theta[rows]) * self.worth
            total[rows] = of_items.sum(axis=1)
            if not self.others.shape[1]:
                continue
            # what also could be about further axes
            p = self.parameters.probability(theta[rows])
            weight = p * (1 - p) * self.worth
            squares = outer(self.others, self.others)
            precision = np.eye(self.others.shape[1]) + np.tensordot(weight, squares, 1)
            crossed = (weight * self.parameters.discrimination) @ self.others
            explained = np.linalg.solve(precision, crossed[:, :, None])[:, :, 0]
            total[rows] -= (crossed * explained).sum(axis=1)
        return total


def information(
    result: FitResult,
    abilities: ArrayLike | None = None,
    *,
    top: int = 10,
    ability: str | None = None,
) -> Information:
    """Return how precisely the items measure, at which abilities, and whom they separate.

    Parameters
    ----------
    result : FitResult
        A result of :func:`irtkit.fit`.
    abilities : array-like, optional
        Abilities of the curve. The default is from −4 to 4 SDs.
    top : int, default 10
        Number of the most able respondents that are the top.
    ability : str, optional
        Name of one of several abilities. By default, the composite of them that all items measure
        together.

    Returns
    -------
    Information
        Curve, items and the reliabilities. All but the empirical reliability take items as known.

    Raises
    ------
    TypeError, ValueError
        If abilities are not finite, or ``top`` is not a whole number from 2 on.

    Notes
    -----
    An error of location or scale that all respondents share leaves their differences as they are,
    and does not lower reliability. ``benchmarks/coverage.py`` compares reliabilities with the
    squared correlations of abilities and the true ones, for several kinds of responses.

    References
    ----------
    Birnbaum (1968), in Lord & Novick, *Statistical Theories of Mental Test Scores*, ch. 17–20.
    Green, Bock, Humphreys, Linn & Reckase (1984), *J. Educ. Meas.* 21, 347–360: reliability.

    See Also
    --------
    irtkit.select_items, irtkit.plots.information

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(40), np.linspace(-2, 2, 40))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=1)
    >>> found = irtkit.information(irtkit.fit(responses, "1PL"))
    >>> round(found.marginal_reliability, 2), found.items_needed(0.25)
    (0.89, 65)
    """
    import pandas as pd

    result = result_for("information", result)
    check_whole("top", top, 2)
    weights = result.weights_of(ability)
    estimated = result.parameters.known
    items = Along.of(result, weights, estimated, result.answer_worth)
    mean = result.latent_mean
    sd = result.latent_sd
    theta = mean + sd * _ABILITIES
    if abilities is not None:
        theta = np.atleast_1d(as_numbers("abilities", abilities))
    if theta.ndim != 1 or not np.isfinite(theta).all():
        raise ValueError("abilities must be a list of finite numbers (1 dimension)")
    total = items.information(theta)
    signal = sd**2 * total
    with np.errstate(divide="ignore"):
        errors = 1 / np.sqrt(total)
    curve = {
        "information": total,
        "standard_error": errors,
        "reliability": signal / (signal + 1),
        "expected_score": items.parameters.probability(theta).mean(axis=1),
    }
    of_population = sd**2 * items.information(mean + sd * _GRID)
    density = np.exp(-0.5 * _GRID**2)
    marginal = np.average(of_population / (of_population + 1), weights=density)
    estimates = result.abilities_along(weights)
    ablest = result.best_first
    if ability is not None:
        ablest = ablest[np.argsort(-estimates[ablest], kind="stable")]
    ablest = ablest[:top]
    real = np.flatnonzero(result.answering)
    variance = result.errors_along(weights)[real] ** 2
    spread = float(estimates[real].var(ddof=1)) if len(real) > 1 else float("nan")
    return Information(
        curve=pd.DataFrame(curve, index=pd.Index(theta, name="ability")),
        items=_item_table(result, items.parameters, estimates, ablest),
        top=tuple(result.respondent_labels[k] for k in ablest),
        ability=ability,
        marginal_reliability=float(marginal),
        empirical_reliability=spread / (spread + float(variance.mean())),
        latent_sd=sd,
        _items=items,
    )


def _item_table(
    result: FitResult, items: ItemParameters, ability: Array, ablest: NDArray[np.intp]
) -> pd.DataFrame:
    """Information of every item, in the population and among the most able."""
    import pandas as pd

    estimated = result.parameters.known
    density = np.exp(-0.5 * _GRID[::10] ** 2)
    population = result.latent_mean + result.latent_sd * _GRID[::10]
    of_top = np.full(len(estimated), np.nan)
    of_top[estimated] = _mean_information(items, ability[ablest], np.ones(len(ablest)))
    of_top *= result.answer_worth
    of_population = np.full(len(estimated), np.nan)
    of_population[estimated] = _mean_information(items, population, density)
    right_top = np.full(len(estimated), np.nan)
    if result.responses is not None:
        margins = result.patterns.chosen(ablest).margins
        tried = margins.item_responses.sum(axis=0)
        right = margins.item_right.sum(axis=0)
        np.divide(right, tried, out=right_top, where=tried > 0)
    separates = np.zeros(len(estimated), dtype=bool)
    separates[_fewest(np.nan_to_num(of_top))] = True
    columns = {
        "information": of_population * result.answer_worth,
        "information_top": of_top,
        "right_top": right_top,
        "separates_top": separates,
    }
    return pd.DataFrame(columns, index=pd.Index(result.item_labels, name="item"))


def _mean_information(items: ItemParameters, theta: Array, weight: Array) -> Array:
    """Weighted mean over abilities of the information of one trial of every item."""
    total = np.zeros(items.n_items)
    for rows in blocks(len(theta), items.n_items):
        total += weight[rows] @ items.information(theta[rows])
    return total / weight.sum()


def _fewest(information: Array) -> NDArray[np.intp]:
    """The fewest items that hold most of the information."""
    order = np.argsort(-information, kind="stable")
    held = np.cumsum(information[order])
    n = int(np.searchsorted(held, _MOST * held[-1])) + 1
    return order[: n if held[-1] > 0 else 0]
