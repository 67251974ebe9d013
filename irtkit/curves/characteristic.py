"""System characteristic curves: the accuracy of a system in ranges of difficulty.

Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo (AAAI 2022). Capability and
generality (Hernández-Orallo et al. 2021) are, with ψ(h) the accuracy at the difficulty h ≥ 0,

    capability Ψ = ∫ψ dh,   spread = √(2∫hψ dh − Ψ²),   generality = 1 / spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.checks import check_number, check_one_of, check_seed, check_whole
from irtkit.curves.answered import Answered
from irtkit.curves.logistic import crossing, with_intercept
from irtkit.irf import logistic
from irtkit.printed import plain, shortened, table_of
from irtkit.systems.paired import correction, mean_of, t_quantile, tail, wilson_interval
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.answered import Part
    from irtkit.curves.logistic import Regression
    from irtkit.irf import Array

Rule = Literal["quantile", "width"]
_MOST_RANGES = 1000  # Of which each should hold several items.
_SHOWN = 20  # Systems that are printed.
_FEW = 3.0  # Right, or wrong, answers up to which a Poisson bound applies (Brown et al. 2001).
_ROUNDING = 1e-12  # Relative squared spread below which it is a rounding error.


@dataclass(frozen=True, eq=False)
class CharacteristicCurves:
    """Curves of systems. :func:`irtkit.characteristic_curves` returns it. ``print`` shows them."""

    table: pd.DataFrame
    """Index "respondent", "range" (from 1, the easiest). Columns: difficulty (mean of its items),
    difficulty_low, difficulty_high (the range), n_items (answered), n_responses (trials),
    accuracy (mean over items), accuracy_low, accuracy_high, smooth (logistic curve)."""
    systems: pd.DataFrame
    """Index "respondent". Columns: location (where the logistic curve is at a half) with
    location_low and location_high (Fieller, infinite if the slope does not differ significantly
    from 0), slope and slope_se. Then capability, spread and generality, with _low and _high (delta
    method). Generality is infinite for a step at the edge of a range, and NaN if all responses are
    right, or wrong, or all items are equally difficult."""
    best: pd.DataFrame
    """Index "range". Columns: difficulty_low, difficulty_high, n_items (that any of the systems
    answered), best (the system with the highest accuracy, the first of equal ones), accuracy (its
    accuracy). Then n_leaders, leaders (systems that are not significantly worse, as a tuple, the
    best first), winner (the best system if it leads alone, else None)."""

    def __str__(self) -> str:
        import pandas as pd

        columns = ["difficulty_low", "difficulty_high", "n_items", "best", "accuracy", "n_leaders"]
        best = self.best[columns].set_axis(self.best.index.map(str), axis="index")
        columns = ["location", "slope", "capability", "generality"]
        first = self.systems.sort_values("capability", ascending=False).head(_SHOWN)[columns]
        first = first.set_axis(pd.Index(map(shortened, first.index), name="system"), axis="index")
        tables = f"{plain(table_of(best.rename_axis('range')))}\n\n{plain(table_of(first))}"
        more = len(self.systems) - len(first)
        return f"{tables}\n… and {more} more" if more else tables


def characteristic_curves(
    result: object,
    *,
    bins: int = 10,
    by: Rule = "quantile",
    difficulties: Any = None,
    systems: Iterable[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> CharacteristicCurves:
    """Accuracy of each system in ranges of difficulty, and who is best in each.

    Parameters
    ----------
    result : FitResult, or responses
        A FitResult with its responses. With ``difficulties``, also responses alone: anything that
        :func:`irtkit.read_responses` takes.
    bins : int, default 10
        Number of ranges, at most 1,000. There are fewer if many difficulties are equal.
    by : {"quantile", "width"}, default "quantile"
        "quantile" for ranges with equally many items, "width" for ranges of equal width.
    difficulties : mapping, Series or list, optional
        Difficulty of each item by label, such as predicted ones: a mapping, Series, or list. Items
        without one are left out. By default, difficulties come from fits without the system.
    systems : list of str, optional
        Labels of the systems. By default all that are not synthetic and have responses.
    level : float, default 0.95
        Coverage of the intervals.
    seed : int, default 0
        Seed of the folds of systems that are left out together.

    Returns
    -------
    CharacteristicCurves
        ``table`` (curves), ``systems`` (location, slope, capability, generality) and ``best``.

    Raises
    ------
    TypeError, ValueError
        If responses or difficulties are missing, responses are sparse, or a system does not exist.

    Notes
    -----
    By default, difficulties for a system come from a fit to others (five fits, which leave out
    similar systems together). Items with a slope that is flat or below 0 are left out, and
    difficulties beyond 6 SD are cropped.

    Intervals of accuracies are Wilson's, for the accuracy expected on similar items. Capability and
    generality depend on the ranges, so compare systems within one table only (Hernández-Orallo et
    al. 2021, *Scientific Reports* 11, 22822).

    With probability ``level``, the truly best system of each range is among its leaders, in all
    ranges together. So chance alone makes a winner with probability 1 − ``level`` at most.

    See Also
    --------
    irtkit.expected_performance, irtkit.learning_surface

    Examples
    --------
    >>> import irtkit
    >>> difficulty = [k / 100 - 2 for k in range(400)]
    >>> items = irtkit.ItemParameters.from_difficulty([1.5] * 400, difficulty)
    >>> responses = irtkit.simulate_responses(items, [k / 10 - 2 for k in range(40)])
    >>> curves = irtkit.characteristic_curves(irtkit.fit(responses), bins=4)
    >>> curves.table.loc["respondent-40", ["n_items", "accuracy", "accuracy_low", "accuracy_high"]]
           n_items  accuracy  accuracy_low  accuracy_high
    range
    1          100      1.00      0.963007       1.000000
    2          100      0.98      0.929988       0.996446
    3          100      0.88      0.801879       0.930006
    4          100      0.59      0.492014       0.681327
    """
    import pandas as pd

    check_seed(seed)
    check_whole("bins", bins, 1, _MOST_RANGES)
    check_one_of("by", by, ("quantile", "width"))
    level = check_number("level", level, above=0, below=1)
    data = Answered.of(result, difficulties, "difficulties", seed=seed)
    rows = data.rows(systems)
    answered = (data.answers.trials[rows] > 0).any(axis=0)
    edges = ranges_of(np.where(answered, data.difficulty, np.nan), bins, by)
    names = [data.respondents[row] for row in rows]
    tables, summaries = [], []
    for row in rows:
        part = data.part(row)
        fit = part.regression()
        tables.append(_curve(part, fit, edges, level))
        summaries.append(_summary(tables[-1], fit, edges, level))
    table = pd.concat(tables, keys=names, names=["respondent"])
    summary = pd.DataFrame(summaries, index=pd.Index(names, name="respondent"))
    return CharacteristicCurves(table, summary, _best(data, rows, edges, level))


def ranges_of(difficulty: Array, bins: int, by: Rule) -> Array:
    """Edges of ranges, fewer if many difficulties are equal. If all are, two equal edges."""
    known = difficulty[np.isfinite(difficulty)]
    if not len(known):
        raise ValueError("no item that was answered has a difficulty")
    if by == "width":
        edges = np.linspace(known.min(), known.max(), bins + 1)
    else:
        edges = np.quantile(known, np.linspace(0, 1, bins + 1))
    distinct = np.unique(edges)
    return distinct if len(distinct) > 1 else np.repeat(distinct, 2)


def in_ranges(edges: Array, difficulty: Array) -> list[NDArray[np.intp]]:
    """Places of the items in each range. An edge belongs to the range above."""
    number = np.searchsorted(edges[1:-1], difficulty, side="right")
    number[~np.isfinite(difficulty)] = -1
    return [np.flatnonzero(number == k) for k in range(len(edges) - 1)]


def _curve(part: Part, fit: Regression, edges: Array, level: float) -> pd.DataFrame:
    """Rows of one system, index "range"."""
    import pandas as pd

    rows = []
    for own in in_ranges(edges, part.difficulty):
        share, trials, n = part.share[own], part.trials[own], len(own)
        means = (part.difficulty[own].mean(), share.mean()) if n else (np.nan, np.nan)
        rows.append((*means, n, int(trials.sum()), effective_number(share, trials, level)))
    difficulty, accuracy, n_items, n_responses, effective = map(list, zip(*rows, strict=True))
    low, high = share_interval(accuracy, effective, level)
    columns = {
        "difficulty": difficulty,
        "difficulty_low": edges[:-1],
        "difficulty_high": edges[1:],
        "n_items": n_items,
        "n_responses": n_responses,
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "smooth": logistic(fit.log_odds(with_intercept(np.array(difficulty)))),
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(1, len(edges), name="range"))


def share_interval(share: Any, n: Any, level: float) -> tuple[Array, Array]:
    """Wilson's bounds of a share, from 0 to 1 if nothing was answered (share NaN, or n = 0).

    With 1 to 3 right, or wrong, answers, the bound next to them is too tight in Wilson's interval.
    The bound for a Poisson variable replaces it (Brown, Cai & DasGupta 2001).
    """
    from scipy.special import gammaincinv

    share, n = np.broadcast_arrays(np.asarray(share, float), np.asarray(n, float))
    known = (n > 0) & np.isfinite(share)
    p, size = np.where(known, share, 0.5), np.where(known, n, 1)
    low, high = wilson_interval(p, size, level)
    bounds = []
    for part, bound in ((p, low), (1 - p, 1 - high)):
        few = (part * size > 0) & (part * size <= _FEW)
        poisson = gammaincinv(np.where(few, part * size, 1.0), 1 - level) / size
        found = np.where(few, np.minimum(bound, poisson), bound)
        bounds.append(np.where(known, np.clip(found, 0, part), 0.0))  # rounding may pass the share
    return bounds[0], 1 - bounds[1]


def effective_number(share: Array, trials: Array, level: float) -> float:
    """Effective number of independent answers behind the proportions correct, each (n_items,).

    Answers to items drawn at random are independent. Repeated trials of an item are not. Their
    number is p̂ (1 − p̂) / variance between items (Kish), corrected for the degrees of freedom
    (Korn & Graubard 1998). It is at least the number of items and at most the number of trials.
    """
    n, most = len(share), float(trials.sum())
    p = float(share.mean()) if n else np.nan
    if most == n or n < 2 or not 0 < p < 1:
        return float(n)
    variance = float(share.var()) * correction(n) / n
    if variance == 0:
        return most
    shrunk = (t_quantile(np.inf, level) / t_quantile(n - 1, level)) ** 2
    return float(np.clip(p * (1 - p) / variance * shrunk, n, max(most, n)))


def _summary(table: pd.DataFrame, fit: Regression, edges: Array, level: float) -> dict[str, float]:
    """Location, slope, capability and generality of one curve."""
    deviate, ends = t_quantile(np.inf, level), np.array([0.0, -1.0, 1.0])
    noise = (table["accuracy_high"] - table["accuracy_low"]) / 2 / deviate
    capability, capability_se, squared, squared_se = generality_of(
        edges, table["accuracy"].to_numpy(), noise.to_numpy() ** 2
    )
    spread = np.sqrt(np.maximum(squared + deviate * squared_se * ends, 0.0))
    with np.errstate(divide="ignore"):
        generality = 1 / spread[[0, 2, 1]]
    found = {
        "location": crossing(fit, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0, level),
        "slope": (-fit.coefficients[1],),
        "slope_se": (fit.covariance[1, 1] ** 0.5,),
        "capability": np.clip(capability + deviate * capability_se * ends, 0, np.ptp(edges)),
        "spread": spread,
        "generality": generality,
    }
    return {
        f"{name}{end}": float(value)
        for name, values in found.items()
        for end, value in zip(("", "_low", "_high"), values, strict=False)
    }


def generality_of(edges: Array, share: Array, variance: Array) -> tuple[float, float, float, float]:
    """Capability and squared spread of a curve constant in each range, each with its error.

    An unknown share is interpolated between its neighbours. A curve that is 1 throughout, or 0,
    falls beyond the difficulties: its spread is unknown.
    """
    known = np.isfinite(share)
    if not known.any() or edges[-1] == edges[0]:
        return np.nan, np.nan, np.nan, np.nan
    places = np.arange(len(share))
    psi = np.interp(places, places[known], share[known])
    noise = np.where(known, variance, 0.0)
    h = edges - edges[0]
    first, second = np.diff(h), np.diff(h**2)
    capability = float(first @ psi)
    squared = float(second @ psi) - capability**2
    squared = 0.0 if squared < _ROUNDING * h[-1] ** 2 else squared
    if psi.min() == psi.max() and psi[0] in {0.0, 1.0}:
        squared = np.nan
    by_share = second - 2 * capability * first
    return capability, float(first**2 @ noise) ** 0.5, squared, float(by_share**2 @ noise) ** 0.5


def _best(data: Answered, rows: NDArray[np.intp], edges: Array, level: float) -> pd.DataFrame:
    """Best system and leaders of each range."""
    import pandas as pd

    answers = Shares(data.answers.right[rows], data.answers.trials[rows])
    names = [data.respondents[row] for row in rows]
    found = []
    for items in in_ranges(edges, data.difficulty):
        accuracy, leaders = leaders_of(answers, items, (1 - level) / (len(edges) - 1))
        labels = tuple(names[k] for k in leaders)
        best = labels[0] if labels else None
        winner = best if len(labels) == 1 < len(rows) else None
        n_items = int((answers.trials[:, items] > 0).any(axis=0).sum())
        found.append((n_items, best, accuracy, len(labels), labels, winner))
    columns = ["n_items", "best", "accuracy", "n_leaders", "leaders", "winner"]
    table = pd.DataFrame(found, pd.RangeIndex(1, len(edges), name="range"), columns)
    for k, name in ((1, "best"), (5, "winner")):  # None stays None, whatever type pandas chooses
        table[name] = pd.Series([one[k] for one in found], table.index, dtype=object)
    table.insert(0, "difficulty_low", edges[:-1])
    table.insert(1, "difficulty_high", edges[1:])
    return table


def leaders_of(
    answers: Shares, items: NDArray[np.intp], alpha: float
) -> tuple[float, NDArray[np.intp]]:
    """Highest accuracy on some items, and the systems that are not significantly worse.

    The best system comes first. Each of k − 1 others is tested one-sided at α / (k − 1), on the
    items that both answered. The test is the exact sign test (McNemar 1947), or with repeated
    trials Student's t of the differences by item.
    """
    from scipy.special import bdtrc

    share, trials = answers.right[:, items], answers.trials[:, items]
    n = (trials > 0).sum(axis=1)
    if not n.any():
        return np.nan, np.arange(0)
    mean = np.where(n > 0, share.sum(axis=1) / np.maximum(n, 1), -1.0)
    best, others = int(np.argmax(mean)), np.flatnonzero(n > 0)
    both = (trials[others] > 0) & (trials[best] > 0)
    ahead = np.where(both, share[best] - share[others], 0.0)
    wins, losses = (ahead > 0).sum(axis=1), (ahead < 0).sum(axis=1)
    p_value = bdtrc(wins - 1.0, wins + losses, 0.5)
    if trials.max() > 1:
        p_value = np.ones(len(others))
        for k, own in enumerate(both):
            one = mean_of(ahead[k, own], step=1 / float(trials.max()))
            if one.df > 0 and one.value > 0:
                p_value[k] = float(tail(one.df, one.value / one.se))
    kept = others[(p_value > alpha / max(len(others) - 1, 1)) | (others == best)]
    return float(mean[best]), kept[np.argsort(-mean[kept], kind="stable")]
