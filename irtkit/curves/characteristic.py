"""System characteristic curves: the accuracy of a system in ranges of difficulty.

Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo (AAAI 2022). Capability and
generality (Hernández-Orallo et al. 2021) are, with ψ(h) the accuracy at the difficulty h ≥ 0,

    capability Ψ = ∫ψ dh,   spread = √(2∫hψ dh − Ψ²),   generality = 1 / spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import check_number, check_one_of, check_seed, check_whole
from irtkit.curves.answered import Answered
from irtkit.printed import Printed, Shown
from irtkit.systems.paired import t_quantile, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.answered import Part
    from irtkit.irf import Array

Rule = Literal["quantile", "width"]
_SHOWN = 20  # Systems that are printed.


@dataclass(frozen=True, eq=False)
class CharacteristicCurves(Printed):
    """Curves of systems. :func:`irtkit.characteristic_curves` returns it. ``print`` shows them."""

    table: pd.DataFrame
    """Index "respondent", "range" (from 1, the easiest). Columns: difficulty (mean of its items),
    difficulty_low, difficulty_high (the range), n_items (answered), n_responses (trials),
    accuracy (mean over items), accuracy_low, accuracy_high."""
    systems: pd.DataFrame
    """Index "respondent". Columns: capability, spread and generality, with _low and _high (delta
    method). Generality is infinite for a step at the edge of a range, and NaN if all responses are
    right, or wrong, or all items are equally difficult."""
    best: pd.DataFrame
    """Index "range". Columns: difficulty_low, difficulty_high, n_items (that any of the systems
    answered), best (the system with the highest accuracy, the first of equal ones), accuracy (its
    accuracy). Then n_leaders, leaders (systems that are not significantly worse, as a tuple, the
    best first), winner (the best system if it leads alone, else None)."""

    def shown(self) -> Shown:
        """Return who is best in each range of difficulty, and the most capable systems."""
        columns = ["difficulty_low", "difficulty_high", "n_items", "best", "accuracy", "n_leaders"]
        best = self.best[columns].rename_axis("range")
        columns = ["capability", "spread", "generality"]
        systems = self.systems.sort_values("capability", ascending=False)[columns]
        return Shown("", best, further=[Shown("", systems.rename_axis("system"))])


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
        ``table`` (curves), ``systems`` (capability, generality) and ``best``.

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
    2          100      0.98      0.929988       0.994498
    3          100      0.88      0.801879       0.930006
    4          100      0.59      0.492014       0.681327
    """
    import pandas as pd

    check_seed(seed)
    check_whole("bins", bins, 1, 1000)  # each range should hold several items
    check_one_of("by", by, ("quantile", "width"))
    level = check_number("level", level, above=0, below=1)
    require("characteristic_curves", result)
    data = Answered.of(result, difficulties, "difficulties", seed=seed)
    rows = data.rows(systems)
    answered = (data.answers.trials[rows] > 0).any(axis=0)
    edges = ranges_of(np.where(answered, data.difficulty, np.nan), bins, by)
    names = [data.respondents[row] for row in rows]
    curves = [_curve(data.part(row), edges, level) for row in rows]
    summaries = [_summary(curve, edges, level) for curve in curves]
    table = pd.concat(curves, keys=names, names=["respondent"])
    summary = pd.DataFrame(summaries, index=pd.Index(names, name="respondent"))
    return CharacteristicCurves(table, summary, _best(data, rows, edges, level))


def ranges_of(difficulty: Array, bins: int, by: Rule) -> Array:
    """Edges of ranges, fewer if many difficulties are equal. If all are, two equal edges."""
    finite = difficulty[np.isfinite(difficulty)]
    if not len(finite):
        raise ValueError("no item that was answered has a difficulty")
    if by == "width":
        edges = np.linspace(finite.min(), finite.max(), bins + 1)
    else:
        edges = np.quantile(finite, np.linspace(0, 1, bins + 1))
    distinct = np.unique(edges)
    return distinct if len(distinct) > 1 else np.repeat(distinct, 2)


def range_of(edges: Array, difficulty: Array) -> NDArray[np.intp]:
    """Number of the range of each item, from 0, or −1 without a difficulty.

    An edge belongs to the range above.
    """
    number = np.searchsorted(edges[1:-1], difficulty, side="right")
    return np.where(np.isfinite(difficulty), number, -1)


def _curve(part: Part, edges: Array, level: float) -> pd.DataFrame:
    """Rows of one system, index "range"."""
    import pandas as pd

    n_ranges = len(edges) - 1
    number = range_of(edges, part.difficulty)
    n_items = np.bincount(number, minlength=n_ranges)
    n_responses = np.bincount(number, part.trials, n_ranges).astype(np.int64)
    with np.errstate(invalid="ignore"):
        difficulty = np.bincount(number, part.difficulty, n_ranges) / n_items
        accuracy = np.bincount(number, part.share, n_ranges) / n_items
        squares = np.bincount(number, part.share**2, n_ranges) / n_items
    variance = np.maximum(squares - accuracy**2, 0.0)
    low, high = accuracy_interval(accuracy, variance, n_items, n_responses, level)
    columns = {
        "difficulty": difficulty,
        "difficulty_low": edges[:-1],
        "difficulty_high": edges[1:],
        "n_items": n_items,
        "n_responses": n_responses,
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(1, n_ranges + 1, name="range"))


def accuracy_interval(
    accuracy: Any, variance: Any, n_items: Any, n_responses: Any, level: float
) -> tuple[Array, Array]:
    """Wilson's bounds of mean accuracies over items, from 0 to 1 without an item.

    Answers to items drawn at random are independent. Repeated trials of an item are not: they count
    as p̂ (1 − p̂) / variance of the mean answers (Kish 1965), from the number of items to that of
    trials, and the variance between items has the degrees of freedom of the items.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        of_one = accuracy * (1 - accuracy) / variance
        independent = of_one * np.maximum(n_items - 1, 1)
        effective = np.fmin(np.fmax(independent, n_items), n_responses)
        df = np.where(n_responses > n_items, n_items - 1, np.inf)
        low, high = wilson_interval(accuracy, effective, level, df)
    return np.where(n_items > 0, low, 0.0), np.where(n_items > 0, high, 1.0)


def _summary(curve: pd.DataFrame, edges: Array, level: float) -> dict[str, float]:
    """Capability, spread and generality of one curve."""
    quantile = t_quantile(np.inf, level)
    ends = quantile * np.array([0.0, -1.0, 1.0])
    accuracy, low, high = curve[["accuracy", "accuracy_low", "accuracy_high"]].to_numpy().T
    se = (high - low) / 2 / quantile
    capability, capability_se, squared, squared_se = generality_of(edges, accuracy, se**2)
    spread = np.sqrt(np.maximum(squared + squared_se * ends, 0.0))
    with np.errstate(divide="ignore"):
        generality = 1 / spread[[0, 2, 1]]
    summary = {
        "capability": np.clip(capability + capability_se * ends, 0, np.ptp(edges)),
        "spread": spread,
        "generality": generality,
    }
    named = {}
    for name, values in summary.items():
        named[name], named[f"{name}_low"], named[f"{name}_high"] = map(float, values)
    return named


def generality_of(edges: Array, share: Array, variance: Array) -> tuple[float, float, float, float]:
    """Capability and squared spread of a curve constant in each range, each with its error.

    An unknown share is interpolated between its neighbours. A curve that is 1 throughout, or 0,
    falls beyond the difficulties: its spread is unknown.
    """
    measured = np.isfinite(share)
    if not measured.any() or edges[-1] == edges[0]:
        return np.nan, np.nan, np.nan, np.nan
    places = np.arange(len(share))
    psi = np.interp(places, places[measured], share[measured])
    noise = np.where(measured, variance, 0.0)
    h = edges - edges[0]
    first = np.diff(h)
    second = np.diff(h**2)
    capability = float(first @ psi)
    capability_se = float(first**2 @ noise) ** 0.5
    squared = float(second @ psi) - capability**2
    by_share = second - 2 * capability * first
    squared_se = float(by_share**2 @ noise) ** 0.5
    if psi.min() == psi.max() and psi[0] in {0.0, 1.0}:
        squared = np.nan
    elif squared < 1e-12 * h[-1] ** 2:  # a rounding error
        squared = 0.0
    return capability, capability_se, squared, squared_se


def _best(data: Answered, rows: NDArray[np.intp], edges: Array, level: float) -> pd.DataFrame:
    """Best system and leaders of each range."""
    import pandas as pd

    share = data.answers.right[rows]
    trials = data.answers.trials[rows]
    number = range_of(edges, data.difficulty)
    n_ranges = len(edges) - 1
    alpha = (1 - level) / n_ranges
    answered = (trials > 0).any(axis=0)
    ranges = []
    for k in range(n_ranges):
        items = np.flatnonzero((number == k) & answered)
        leaders, accuracy = leaders_of(share[:, items], trials[:, items], alpha)
        labels = tuple(data.respondents[rows[leader]] for leader in leaders)
        alone = len(labels) == 1 < len(rows)
        ranges.append(
            {
                "difficulty_low": edges[k],
                "difficulty_high": edges[k + 1],
                "n_items": len(items),
                "best": labels[0] if labels else None,
                "accuracy": accuracy,
                "n_leaders": len(labels),
                "leaders": labels,
                "winner": labels[0] if alone else None,
            }
        )
    table = pd.DataFrame(ranges, pd.RangeIndex(1, n_ranges + 1, name="range"), dtype=object)
    labelled = ["best", "leaders", "winner"]  # None stays None, whatever type pandas chooses
    numbers = table.drop(columns=labelled).infer_objects()
    return table.assign(**numbers)


def leaders_of(share: Array, trials: Array, alpha: float) -> tuple[NDArray[np.intp], float]:
    """Systems that are not significantly worse than the best, the best first, and its accuracy.

    Each of k − 1 others is tested one-sided at α / (k − 1), on the items that both answered. The
    test is the exact sign test of their accuracies on items (McNemar 1947).
    """
    from scipy.special import bdtrc

    n_items = (trials > 0).sum(axis=1)
    if not n_items.any():
        return np.arange(0), np.nan
    mean = share.sum(axis=1) / np.maximum(n_items, 1)
    mean[n_items == 0] = -1.0
    best = int(np.argmax(mean))
    both = (trials > 0) & (trials[best] > 0)
    ahead = np.where(both, share[best] - share, 0.0)
    wins = (ahead > 0).sum(axis=1)
    losses = (ahead < 0).sum(axis=1)
    p_value = bdtrc(wins - 1.0, wins + losses, 0.5)
    n_others = max(int(np.count_nonzero(n_items)) - 1, 1)
    alike = np.flatnonzero((p_value > alpha / n_others) & (n_items > 0))
    return alike[np.argsort(-mean[alike], kind="stable")], float(mean[best])
