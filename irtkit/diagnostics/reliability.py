"""How much items tell about ability: information, standard errors, reliability.

At ability θ an item tells I(θ) = P'²/(P(1 − P)) (Birnbaum 1968), all items together the sum, and an
ability that was estimated from them has a standard error of 1/√I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration import FitResult
from irtkit.checks import as_numbers, check_number, check_type, check_whole, short
from irtkit.data.patterns import blocks
from irtkit.responses.labels import is_missing_label, values_by_label

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from irtkit.irf import Array, ItemParameters

    Cohorts = str | Mapping[Hashable, Hashable] | Sequence[Hashable] | pd.Series[Any]

_ABILITIES = np.linspace(-4, 4, 33)
"""Abilities, in SDs, of the curve: 0.25 apart."""
_MOST = 0.9
"""Share of the information that the items which separate some respondents hold together."""
_SETTLED = 0.95
"""P(right), or that of what guessing leaves P(wrong), from which on an item is as good as settled:
of two systems, both with it, one in eleven pairs answers otherwise."""
_GRID = np.linspace(-8, 8, 801)
"""Where the marginal reliability is integrated, in SDs."""


@dataclass(frozen=True, eq=False)
class Information:
    """What the items of a benchmark tell; made by :func:`irtkit.information`.

    ``print`` says it in sentences.
    """

    curve: pd.DataFrame
    """Index "ability": information of all items, standard_error = 1/√information,
    reliability = s²·information / (s²·information + 1) with s the SD of the population,
    expected_score (share right of all items)."""
    items: pd.DataFrame
    """Index "item": information (mean over the population), information_top (mean over the ablest
    respondents), right_top (share of these who get it right, NaN if none answered), separates_top
    (whether it is one of the fewest items that hold 90 % of information_top together)."""
    cohorts: pd.DataFrame | None
    """Index "cohort", in order: n_respondents, ability and accuracy (means), standard_error of a
    respondent of that ability, separating (how few items hold 90 % of the information there),
    settled_right and settled_wrong (shares of items that nearly all, or nearly none, of that
    ability get right but for guessing). None if cohorts were not asked for."""
    top: tuple[str, ...]
    """The ablest respondents, ablest first."""
    marginal_reliability: float
    """Mean of the reliability over the population."""
    empirical_reliability: float
    """Variance of the posterior means over that plus the mean posterior variance."""
    latent_sd: float
    _parameters: ItemParameters = field(repr=False)

    def items_needed(self, standard_error: float, ability: float = 0.0) -> int:
        """How many items like these, on average, give this standard error at an ability.

        Raises
        ------
        ValueError
            If the error is not above 0, or the items tell nothing at that ability.
        """
        wanted = 1 / check_number("standard_error", standard_error, above=0) ** 2
        total = float(self._parameters.information([ability]).sum())
        if total == 0:
            raise ValueError(f"ability {ability:g} is where these items tell nothing")
        return math.ceil(self._parameters.n_items * wanted / total - 1e-9)

    def __repr__(self) -> str:
        return f"Information({len(self.items)} items, reliability {self.marginal_reliability:.3f})"

    def __str__(self) -> str:
        best = self.curve["standard_error"].idxmin()
        n_top = int(self.items["separates_top"].sum())
        of_these, ablest = self.empirical_reliability, len(self.top)
        return (
            f"Reliability {self.marginal_reliability:.3f} in the population"
            + ("" if math.isnan(of_these) else f", {of_these:.3f} of these respondents")
            + f"; standard error {self.curve['standard_error'].min():.3f} at best, at ability "
            f"{best:g}. {n_top} of {len(self.items)} items hold {_MOST:.0%} of what is told about "
            f"the ablest {'respondent' if ablest == 1 else ablest}."
        )


def information(
    result: FitResult,
    abilities: ArrayLike | None = None,
    *,
    top: int = 10,
    cohorts: Cohorts | None = None,
) -> Information:
    """Tell how precisely the items measure, where, and whom they still separate.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned; its responses are needed for ``cohorts`` by a column only.
    abilities
        Where the curve is wanted; by default from −4 to 4 SDs.
    top
        How many of the ablest respondents are the top.
    cohorts
        Cohort of every respondent: a mapping or Series from label to cohort, a list in the order of
        the respondents, or the name of a column of ``result.responses.respondent_table``, such as
        "date" (dates are taken by year) or "family". Who has none is in no cohort.

    Returns
    -------
    Information
        Curve, items, cohorts, and the reliabilities. Items are taken as known.

    Raises
    ------
    TypeError
        If ``result`` is not a FitResult.
    ValueError
        If abilities are not finite, ``top`` is not a whole number from 2 on, or cohorts do not go
        with the respondents.

    References
    ----------
    Birnbaum (1968), in Lord & Novick, *Statistical Theories of Mental Test Scores*, ch. 17–20.
    Green, Bock, Humphreys, Linn & Reckase (1984), *J. Educ. Meas.* 21, 347–360: reliability.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(40), np.linspace(-2, 2, 40))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=1)
    >>> found = irtkit.information(irtkit.fit(responses, "1PL"))
    >>> round(found.marginal_reliability, 2), found.items_needed(0.25)
    (0.89, 65)
    """
    check_type("result", result, FitResult)
    check_whole("top", top, 2)
    known = result.parameters.known
    parameters, sd = result.parameters.chosen(known), result.latent_sd
    population = result.latent_mean + sd * _GRID
    theta = result.latent_mean + sd * _ABILITIES
    if abilities is not None:
        theta = np.atleast_1d(as_numbers("abilities", abilities))
    if theta.ndim != 1 or not np.isfinite(theta).all():
        raise ValueError("abilities must be a list of finite numbers (1 dimension)")
    real = np.flatnonzero(result.answering)
    ablest = result.best_first[:top]
    density = np.exp(-0.5 * _GRID**2)
    density /= density.sum()
    ability, variance = result.ability[real], result.ability_se[real] ** 2
    spread = float(ability.var(ddof=1)) if len(real) > 1 else float("nan")
    return Information(
        curve=_curve(parameters, theta, sd),
        items=_items(result, known, ablest),
        cohorts=None if cohorts is None else _cohorts(result, parameters, real, cohorts),
        top=tuple(result.respondent_labels[k] for k in ablest),
        marginal_reliability=float(density @ _reliability(_sums(parameters, population)[0], sd)),
        empirical_reliability=spread / (spread + float(variance.mean())),
        latent_sd=sd,
        _parameters=parameters,
    )


def _curve(parameters: ItemParameters, theta: Array, sd: float) -> pd.DataFrame:
    """What all items together tell at abilities."""
    import pandas as pd

    total, expected = _sums(parameters, theta)
    with np.errstate(divide="ignore"):
        errors = 1 / np.sqrt(total)
    columns = {
        "information": total,
        "standard_error": errors,
        "reliability": _reliability(total, sd),
        "expected_score": expected / parameters.n_items,
    }
    return pd.DataFrame(columns, index=pd.Index(theta, name="ability"))


def _reliability(information: Array, sd: float) -> Array:
    """Share of the true variance in that of abilities estimated with this information."""
    return np.asarray(sd**2 * information / (sd**2 * information + 1))


def _sums(parameters: ItemParameters, theta: Array) -> tuple[Array, Array]:
    """Information of all items together, and their expected number right, at abilities."""
    total, right = np.empty(len(theta)), np.empty(len(theta))
    for some in blocks(len(theta), parameters.n_items):
        total[some] = parameters.information(theta[some]).sum(axis=1)
        right[some] = parameters.probability(theta[some]).sum(axis=1)
    return total, right


def _means(parameters: ItemParameters, theta: Array, weights: Array) -> Array:
    """Weighted mean of the information of every item over abilities."""
    parts: Iterator[Array] = (
        weights[some] @ parameters.information(theta[some])
        for some in blocks(len(theta), parameters.n_items)
    )
    return np.asarray(sum(parts))


def _items(result: FitResult, known: NDArray[np.bool_], ablest: NDArray[np.intp]) -> pd.DataFrame:
    """Information of every item, in the population and among the ablest."""
    import pandas as pd

    parameters, n_items = result.parameters.chosen(known), len(known)
    weights = np.exp(-0.5 * _GRID[::10] ** 2)
    own, at_top, right = np.full((3, n_items), np.nan)
    population = result.latent_mean + result.latent_sd * _GRID[::10]
    own[known] = _means(parameters, population, weights / weights.sum())
    equal = np.full(len(ablest), 1 / len(ablest))
    at_top[known] = _means(parameters, result.ability[ablest], equal)
    if result.responses is not None:
        margins = result.patterns.chosen(ablest).margins
        tried = margins.item_responses.sum(axis=0)
        np.divide(margins.item_right.sum(axis=0), tried, out=right, where=tried > 0)
    separates = np.zeros(n_items, dtype=bool)
    separates[_fewest(np.nan_to_num(at_top))] = True
    columns = {"information": own, "information_top": at_top, "right_top": right}
    index = pd.Index(result.item_labels, name="item")
    return pd.DataFrame({**columns, "separates_top": separates}, index=index)


def _fewest(information: Array) -> NDArray[np.intp]:
    """The fewest items that hold most of the information."""
    order = np.argsort(-information, kind="stable")
    held = np.cumsum(information[order])
    if held[-1] <= 0:
        return order[:0]
    return order[: int(np.searchsorted(held, _MOST * held[-1])) + 1]


def _cohorts(
    result: FitResult, parameters: ItemParameters, real: NDArray[np.intp], given: Cohorts
) -> pd.DataFrame:
    """How precisely every cohort is measured, at its mean ability."""
    import pandas as pd

    names = _names(result, given)
    members = pd.Series(range(len(names)), dtype=int).groupby(pd.Series(names, dtype=object))
    wanted, rows, accuracy = set(real.tolist()), {}, result.counts.accuracy
    for name, places in members:
        who = [place for place in places if place in wanted]
        if not who:
            continue
        ability = float(result.ability[who].mean())
        by_item = parameters.information([ability])[0]
        p = parameters.probability([ability])[0]
        guessed = parameters.guessing
        rows[name] = {
            "n_respondents": len(who),
            "ability": ability,
            "accuracy": float(accuracy[who].mean()),
            "standard_error": float(1 / np.sqrt(by_item.sum())) if by_item.any() else math.inf,
            "separating": len(_fewest(by_item)),
            "settled_right": float((p > _SETTLED).mean()),
            "settled_wrong": float((1 - p > _SETTLED * (1 - guessed)).mean()),
        }
    if not rows:
        raise ValueError("cohorts names no cohort of a real respondent with responses")
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("cohort").astype({"n_respondents": int, "separating": int})


def _names(result: FitResult, given: Cohorts) -> list[Any]:
    """Cohort of every respondent, None where there is none."""
    import pandas as pd

    labels = result.respondent_labels
    if isinstance(given, str):
        known = None if result.responses is None else result.responses.respondent_table
        if known is None or given not in known.columns:
            there = "none" if known is None else ", ".join(map(repr, known.columns))
            raise ValueError(
                f"cohorts must be a column of the table of respondents, or cohorts by respondent; "
                f"there is no column {short(given)}, of those there are {there}"
            )
        column = known[given].reindex(labels)
        if pd.api.types.is_datetime64_any_dtype(column) or given == "date":
            dates = pd.to_datetime(column, errors="coerce", utc=True)
            return [None if pd.isna(date) else int(date.year) for date in dates]
        given = column
    names = values_by_label("cohorts", given, labels, value="cohort", kind="respondent")
    return [None if is_missing_label(name) else name for name in names]
