"""System characteristic curves: the share right of a system in ranges of difficulty.

Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo (AAAI 2022): items in ranges of
difficulty, x their mean difficulty, y the share right of the system. Beside it stands a logistic
curve, σ(slope · (location − difficulty)), fitted to the system's responses with Jeffreys' prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_one_of, check_seed, check_whole
from irtkit.curves.answered import Answered, with_intercept
from irtkit.curves.binomial import effective_number, share_interval
from irtkit.curves.generality import generality_of
from irtkit.curves.leaders import leaders_of
from irtkit.curves.logistic import crossing
from irtkit.curves.ranges import Ranges
from irtkit.irf import logistic
from irtkit.printed import in_lines, percent, plain, shortened, table_of
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.answered import Part
    from irtkit.curves.logistic import Regression
    from irtkit.curves.ranges import Rule

    Array = NDArray[np.float64]

_MOST_RANGES = 1000
"""Ranges: each is to hold several items. 1,000 of them take 40 systems a second or less."""
_SHOWN = 20
"""Systems that are printed."""


@dataclass(frozen=True, eq=False)
class CharacteristicCurves:
    """Curves of systems; made by :func:`irtkit.characteristic_curves`. ``print`` shows them."""

    table: pd.DataFrame
    """A row per system and range, index "respondent", "range" (from 1, the easiest). Columns:
    difficulty (mean of the system's items there), difficulty_low, difficulty_high (the range),
    n_items (that the system answered there), n_responses (every trial), accuracy (mean share right
    of these items, NaN without any), accuracy_low, accuracy_high, smooth (the logistic curve at
    that difficulty).

    The interval, Wilson's, is of the share right expected on items like those of the range, drawn
    anew; each by itself. Of these very items it is on the safe side."""
    systems: pd.DataFrame
    """Index "respondent". Columns: location (difficulty at which the logistic curve is at a half)
    with location_low and location_high (Fieller; infinite where the slope is not told from 0),
    slope and slope_se; capability, spread and generality (Hernández-Orallo et al. 2021), of the
    curve of the ranges, from the easiest item to the hardest, with _low and _high (delta method, of
    items like these). They are of these ranges: wide ones hide where a curve falls and lower its
    generality, and difficulties far off the others move capability; so compare systems within one
    table. Generality is infinite for a step at the edge of a range, and NaN, as the spread, where
    all is right, or wrong, or of one difficulty."""
    best: pd.DataFrame
    """Index "range", items being where the fit of all, or what was given, puts them. Columns:
    difficulty_low, difficulty_high, n_items (that any of the systems answered), best (the system
    with the highest share right, the first of equal ones), accuracy (its share right), n_leaders,
    leaders (systems not told apart from it, as a tuple, the best first), winner (it, if it
    leads alone; else None).

    With the probability ``level`` the best system of every range, on items like these, is among its
    leaders, in all ranges together (of equal ones that holds of each by itself); so noise alone
    makes a winner in a table with the probability 1 − ``level`` at most."""
    level: float
    held_out: bool
    """Whether difficulties for each system are those of a fit without it."""

    def _sentences(self) -> Iterator[str]:
        winners = self.best["winner"].dropna()
        if len(self.systems) > 1:
            yield f"{len(winners)} of {len(self.best)} ranges have a best system that leads alone."
        yield (
            "Intervals of shares right are about items like these, each by itself; leaders hold "
            f"the best system of every range with {percent(self.level)} probability, all ranges "
            "together."
        )
        if self.held_out:
            yield "Items are in ranges for each system as a fit without it and its like has them."

    def __str__(self) -> str:
        import pandas as pd

        shown = pd.DataFrame(
            {
                "from": [f"{value:.2f}" for value in self.best["difficulty_low"]],
                "to": [f"{value:.2f}" for value in self.best["difficulty_high"]],
                "items": [str(n) for n in self.best["n_items"]],
                "best": [shortened(name or "", 24) for name in self.best["best"]],
                "share right": list(self.best["accuracy"]),
                "not told apart": [str(max(n - 1, 0)) for n in self.best["n_leaders"]],
            },
            index=pd.Index([str(k) for k in self.best.index], name="range"),
        )
        columns = ["location", "slope", "capability", "generality"]
        first = self.systems.sort_values("capability", ascending=False).head(_SHOWN)[columns]
        names = pd.Index([shortened(name) for name in first.index], name="system")
        parts = [plain(table_of(shown)), plain(table_of(first.set_axis(names)))]
        more = len(self.systems) - len(first)
        rest = [f"… and {more} more"] if more else []
        return "\n".join([parts[0], "", parts[1], *rest, "", in_lines(self._sentences())])


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
    """Share right of each system in ranges of difficulty, and who is best in each.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses; or, with ``difficulties``, responses
        that were not fitted: a ResponseMatrix or anything that :func:`irtkit.read_responses` takes.
    bins
        Number of ranges, at most 1,000; there are fewer if many difficulties are equal.
    by
        "quantile": ranges with as many items each; "width": ranges as wide as each other.
    difficulties
        Difficulty of each item by label, such as predicted ones: a mapping, Series, or list; items
        without one are left out. By default those of the fit, items with flat slopes or slopes
        below 0 left out, and those further than 6 SDs off as that far off. An item that a system
        got wrong is harder for that, so each system's curve is over difficulties from a fit to
        others (five fits, systems that answer alike being left out together);
        ``difficulties=result.items["difficulty"]`` takes those of the fit as they are.
    systems
        Labels of those to show; by default all that are not synthetic and answered something.
    level
        Coverage of the intervals.
    seed
        Of the choice of systems that are left out together.

    Returns
    -------
    CharacteristicCurves
        ``table`` (curves), ``systems`` (location, slope, capability, generality) and ``best``.

    Raises
    ------
    TypeError, ValueError
        If there are no responses or difficulties, responses are sparse, or a system is not there.

    References
    ----------
    Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo (2022), *AAAI* 36.
    Hernández-Orallo, Loe, Cheke, Martínez-Plumed & Ó hÉigeartaigh (2021), *Scientific Reports* 11.

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
    rows, known = data.rows(systems), data.difficulties
    answered = (data.answers.trials[rows] > 0).any(axis=0)
    ranges = Ranges.of(np.where(answered, known.of_all, np.nan), bins, by)
    parts = [data.part(row) for row in rows]
    fits = [part.regression() for part in parts]
    names = [data.respondents[row] for row in rows]
    tables = [_curve(part, fit, ranges, level) for part, fit in zip(parts, fits, strict=True)]
    summaries = [_summary(*one, ranges, level) for one in zip(tables, fits, strict=True)]
    return CharacteristicCurves(
        table=pd.concat(tables, keys=names, names=["respondent"]),
        systems=pd.DataFrame(summaries, index=pd.Index(names, name="respondent")),
        best=_best(data, rows, ranges, level),
        level=level,
        held_out=known.held_out,
    )


def _curve(part: Part, fit: Regression, ranges: Ranges, level: float) -> pd.DataFrame:
    """Rows of one system, index "range"."""
    import pandas as pd

    found: dict[str, list[float]] = {
        name: [] for name in ("difficulty", "n_items", "n_responses", "accuracy", "effective")
    }
    for own in ranges.items(part.difficulty):
        share, trials = part.share[own], part.trials[own]
        found["difficulty"].append(float(part.difficulty[own].mean()) if len(own) else np.nan)
        found["n_items"].append(len(own))
        found["n_responses"].append(int(trials.sum()))
        found["accuracy"].append(float(share.mean()) if len(own) else np.nan)
        found["effective"].append(effective_number(share, trials, level))
    effective = np.array(found.pop("effective"))
    table = pd.DataFrame(found, index=pd.RangeIndex(1, ranges.n + 1, name="range"))
    table.insert(1, "difficulty_low", ranges.edges[:-1])
    table.insert(2, "difficulty_high", ranges.edges[1:])
    bounds = share_interval(table["accuracy"], effective, level)
    table["accuracy_low"], table["accuracy_high"] = bounds
    at = with_intercept(table["difficulty"].to_numpy())
    return table.assign(smooth=logistic(fit.log_odds(at)))


def _summary(
    table: pd.DataFrame, fit: Regression, ranges: Ranges, level: float
) -> dict[str, float]:
    """Location, slope, capability and generality of one curve."""
    from scipy.special import ndtri

    location = crossing(fit, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0, level)
    deviate = float(ndtri((1 + level) / 2))
    # Wilson's interval is as long as the error of a share that keeps off 0 and 1
    noise = (table["accuracy_high"] - table["accuracy_low"]) / 2 / deviate
    share = table["accuracy"].to_numpy(dtype=np.float64)
    found = generality_of(ranges.edges, share, noise.to_numpy() ** 2)
    spread = found.spread_squared + deviate * found.spread_squared_se * np.array([0.0, -1.0, 1.0])
    spread = np.sqrt(np.maximum(spread, 0.0))
    with np.errstate(divide="ignore"):
        generality = 1 / spread
    capability = found.capability + deviate * found.capability_se * np.array([0.0, -1.0, 1.0])
    return {
        **_bounded("location", location),
        "slope": -float(fit.coefficients[1]),
        "slope_se": float(np.sqrt(fit.covariance[1, 1])),
        **_bounded("capability", np.clip(capability, 0, np.ptp(ranges.edges))),
        **_bounded("spread", spread),
        **_bounded("generality", generality[[0, 2, 1]]),
    }


def _bounded(name: str, values: Any) -> dict[str, float]:
    """Columns of a value and its interval."""
    ends = ("", "_low", "_high")
    return {f"{name}{end}": float(value) for end, value in zip(ends, values, strict=True)}


def _best(data: Answered, rows: NDArray[np.intp], ranges: Ranges, level: float) -> pd.DataFrame:
    """Leaders of every range."""
    import pandas as pd

    answers = Shares(data.answers.right[rows], data.answers.trials[rows])
    found = []
    for number, items in enumerate(ranges.items(data.difficulties.of_all)):
        one = leaders_of(answers, items, (1 - level) / ranges.n)
        names = tuple(data.respondents[rows[k]] for k in one.leaders)
        best = data.respondents[rows[one.best]] if one.best >= 0 else None
        found.append(
            {
                "difficulty_low": ranges.edges[number],
                "difficulty_high": ranges.edges[number + 1],
                "n_items": int((answers.trials[:, items] > 0).any(axis=0).sum()),
                "best": best,
                "accuracy": one.share,
                "n_leaders": len(names),
                "leaders": names,
                "winner": best if len(names) == 1 < len(rows) else None,
            }
        )
    index = pd.RangeIndex(1, ranges.n + 1, name="range")
    table = pd.DataFrame(found, index=index)
    for name in ("best", "winner"):  # None stays None, whatever type pandas would choose
        table[name] = pd.Series([one[name] for one in found], index, dtype=object)
    return table
