"""Ability over time or compute, and the length of tasks that systems can do.

Difficulty in logits is α + κ log₂(minutes) + u, u ~ N(0, ω²), which is the prior of items in turns
of fits. The log₂ of a horizon at probability p is (aθ − α − logit(p)√(1 + ω²/2.89))/κ over all
tasks of a length, with the mean slope a and 2.89 = 1.7², by which a normal mixture of logistic
curves is nearly logistic. Errors of difficulties are those that known abilities would leave: what
all difficulties share is location.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.calibration.priors import WeakPrior, prior_of
from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_type, short
from irtkit.fitting import EM, fit, silently
from irtkit.irf import OF_LEVELS
from irtkit.printed import in_lines, percent
from irtkit.responses.labels import by_label
from irtkit.systems.paired import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array

_DAYS = 365.25  # Of a year.
_MOST_TURNS = 100  # Of difficulties and their line.


class Doubling(NamedTuple):
    """In how many days something doubles; made by :func:`irtkit.doubling_time`."""

    days: float  #: Negative if it halves.
    low: float
    high: float  #: Infinite if the data do not show growth.
    n: int  #: Systems with a date.

    @classmethod
    def of(cls, rate: float, se: float, n: int, level: float) -> Doubling:
        """From doublings per day."""
        reach = _reach(n, level) * se
        low, high = rate - reach, rate + reach
        bounds = (1 / high, 1 / low) if low * high > 0 else (1 / high, np.inf)
        return cls(1 / rate, *bounds, n)


@dataclass(frozen=True, eq=False)
class Trend:
    """Latent regression of ability; made by :func:`irtkit.trend`."""

    slope: float  #: SDs of ability (held items: units of their scale) per year or doubling.
    se: float
    low: float
    high: float
    residual_sd: float  #: SD of ability about the line.
    level: float
    per: Literal["year", "doubling of compute"]
    systems: pd.DataFrame = field(repr=False)
    """Index "respondent": x (year, or log₂ of compute), expected, ability and ability_sd given x.
    Systems without x have a mean of their own."""

    def __str__(self) -> str:
        n, without = int(self.systems["x"].notna().sum()), int(self.systems["x"].isna().sum())
        interval = f"{percent(self.level)} interval {self.low:.3f} to {self.high:.3f}"
        said = f"Ability changes by {self.slope:.3f} per {self.per}, {interval} ({n} systems). "
        said += f"The SD about this line is {self.residual_sd:.3f}."
        said += f" {without} systems without a value have a mean of their own." * bool(without)
        return in_lines([said])


@dataclass(frozen=True, eq=False)
class Horizon:
    """Time horizons of systems; made by :func:`irtkit.horizon`."""

    systems: pd.DataFrame
    """Index "respondent", longest first: p50 and p80 in minutes, each with _low and _high; status:
    "ok", "below the shortest task" or "beyond the longest task"."""
    slope: float  #: Logits of difficulty per doubling of minutes.
    se: float
    residual_sd: float  #: SD of difficulties of tasks of one length, in logits.
    doubling: Doubling | None  #: Of p50, if dates were given.
    level: float

    def __str__(self) -> str:
        best: Any = self.systems.iloc[0]
        interval = f"{percent(self.level)} interval {best.p50_low:.3g} to {best.p50_high:.3g}"
        said = [
            f"Difficulty rises by {self.slope:.2f} logits per doubling of minutes.",
            f"Tasks of one length differ with an SD of {self.residual_sd:.2f} logits.",
            f"The longest 50 % horizon is {best.p50:.3g} minutes ({best.name}, {interval}).",
        ]
        if self.doubling is not None:
            days, low, high, n = self.doubling
            said.append(
                f"Horizons double in {days:.0f} days ({low:.0f} to {high:.0f}, {n} systems)."
            )
        return in_lines([" ".join(said)])


def trend(
    result: FitResult, date: Any = None, *, compute: Any = None, level: float = 0.95
) -> Trend:
    """Regress ability on date or compute, with measurement error.

    A regression of estimated abilities is biased, as estimates are shrunk. Here the line and the
    items are estimated together.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    date : mapping, Series, list or str, optional
        Date of each respondent: a mapping or Series by label, a list, or a column of the respondent
        table. Dates, text such as "2025-03-31", or decimal years. Some may be missing.
    compute : mapping, Series, list or str, optional
        Instead of a date, the training compute of each respondent in any unit. The slope is then
        per doubling.
    level : float, default 0.95
        Coverage of the interval.

    Returns
    -------
    Trend
        ``slope``, ``se``, ``low``, ``high``, ``residual_sd`` and ``systems``.

    Raises
    ------
    TypeError, ValueError
        If neither or both of date and compute are given, a value cannot be read, or there are fewer
        than three.

    Notes
    -----
    Ability has mean 0 and SD 1 over the systems of the regression. Items of a result with ``fixed``
    items keep their parameters, and ability its scale. Synthetic respondents take no part. Systems
    without a value have a mean of their own. After a fit without standard errors the interval takes
    items as known. Levels of the GPCM and the GRM are refused: fit them as scores.

    References
    ----------
    Mislevy (1984), *Psychometrika* 49, 359-381.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 40, [k / 10 - 2 for k in range(40)])
    >>> abilities = [k / 20 - 2 + k * 7 % 11 / 5 for k in range(40)]
    >>> result = irtkit.fit(irtkit.simulate_responses(items, abilities, seed=1))
    >>> print(irtkit.trend(result, [2022 + k / 10 for k in range(40)]))
    Ability changes by 0.599 per year, 95% interval 0.411 to 0.719 (40 systems). The
      SD about this line is 0.722.
    """
    from irtkit.calibration.regression import latent_regression

    _check_result(result, "trend")
    level = check_number("level", level, above=0, below=1)
    if (date is None) == (compute is None):
        raise ValueError("date or compute must be given, and not both")
    if compute is None:
        values = _years(result, date)
    else:
        values = np.log2(_amounts("compute", compute, result, "respondent"))
    found = latent_regression(result, values)
    slope, x_sd = float(found.coefficients[1]), found.x_sd
    reach = _reach(int(np.isfinite(values[result.answering]).sum()), level) * found.se
    low, high = slope - reach, slope + reach
    if x_sd:  # a correlation, divided by the SD of x (Fisher's z)
        z, reach = np.arctanh(slope * x_sd), reach * x_sd / (1 - (slope * x_sd) ** 2)
        low, high = (float(np.tanh(end)) / x_sd for end in (z - reach, z + reach))
    columns = {"x": values[result.answering], "expected": found.expected}
    columns |= {"ability": found.ability, "ability_sd": found.ability_sd}
    per: Any = "year" if compute is None else "doubling of compute"
    return Trend(slope, found.se, low, high, found.sd, level, per, _table(result, columns))


def horizon(result: FitResult, minutes: Any, date: Any = None, *, level: float = 0.95) -> Horizon:
    """Find the length of tasks that each system does with a probability of 50 % and 80 %.

    Difficulty is regressed on log₂ of the time that people need. Tasks of one length differ. The
    model is fitted again, with what the length says about each task.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    minutes : mapping, Series, list or str
        Time that people need for each item: a mapping or Series by label, a list, or a column of
        the item table. Items without one take no part in the regression.
    date : mapping, Series, list or str, optional
        Dates of respondents, as in :func:`irtkit.trend`, for the doubling time. Systems whose p50
        is beyond the tasks are taken as without a date.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    Horizon
        ``systems``, ``slope``, ``se``, ``residual_sd`` and ``doubling``.

    Raises
    ------
    TypeError, ValueError
        If a time or date cannot be read, fewer than three items have a time, or difficulty does not
        rise with it.

    Notes
    -----
    Horizons are about a random task of that length. For p80 this is shorter than for a task of
    typical difficulty. Guessing is left out. Intervals contain the errors of abilities and of the
    line. In simulation slope and SD come out a tenth too small, which cancels in horizons.

    References
    ----------
    Kwa et al. (2025), *Measuring AI ability to complete long tasks*, arXiv 2503.14499.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 80, [k / 16 - 2 for k in range(80)])
    >>> result = irtkit.fit(irtkit.simulate_responses(items, [-1, 0, 0.5, 1, 2], seed=2), "1PL")
    >>> print(irtkit.horizon(result, [2 ** (k / 8) for k in range(80)]))
    Difficulty rises by 0.56 logits per doubling of minutes. Tasks of one length
      differ with an SD of 0.67 logits. The longest 50 % horizon is 168 minutes
      (respondent-5, 95% interval 71.1 to 395).
    """
    from irtkit.calibration.regression import latent_regression

    _check_result(result, "horizon")
    level = check_number("level", level, above=0, below=1)
    dates = None if date is None else _years(result, date)
    length = np.log2(_amounts("minutes", minutes, result, "item"))
    used = np.isfinite(length) & (result.counts.item_responses > 0)
    if used.sum() < 3 or np.ptp(length[used]) == 0:
        raise ValueError(
            "minutes must have two different values or more, for three items with responses"
        )
    found, line, covariance, omega = _by_length(result, length, used)
    if line[1] <= 0:
        raise ValueError("difficulty does not rise with minutes, so there is no horizon")
    who, typical = found.answering, float(found.parameters.discrimination[used].mean())
    reach = float(t_quantile(np.float64(np.inf), level))
    table: dict[str, Any] = {}
    for name, odds in (("p50", 0.0), ("p80", np.log(4.0) * np.sqrt(1 + omega**2 / 2.89))):
        log2 = (typical * found.ability[who] - line[0] - odds) / line[1]
        by = np.stack([np.ones_like(log2), log2])
        variance = (typical * found.board_se[who]) ** 2 + (by * (covariance @ by)).sum(axis=0)
        off = reach * np.sqrt(variance) / line[1]
        ends = (("", log2), ("_low", log2 - off), ("_high", log2 + off))
        table |= {name + end: np.exp2(value) for end, value in ends}
    shortest, longest = np.exp2(length[used].min()), np.exp2(length[used].max())
    beyond = ["below the shortest task", "beyond the longest task"]
    table["status"] = np.select([table["p50"] < shortest, table["p50"] > longest], beyond, "ok")
    doubling = None
    if dates is not None:
        dates[np.flatnonzero(who)[table["status"] != "ok"]] = np.nan
        of = latent_regression(found, dates)
        # of the same items: their scale cancels
        kappa = -float(np.polyfit(length[used], of.items.intercept[used], 1)[0])
        slope = float(of.coefficients[1])
        rate = float(of.items.slope[used].mean()) * slope / kappa / _DAYS
        error = np.hypot(of.se_known / slope, covariance[1, 1] ** 0.5 / line[1])
        n = int(np.isfinite(dates[who]).sum())
        doubling = Doubling.of(rate, abs(rate) * float(error), n, level)
    systems = _table(found, table)
    order = np.argsort(-np.round(np.log(systems["p50"].to_numpy()), 9), kind="stable")
    systems = systems.iloc[order]  # Ties stay in the order of the responses.
    se = float(covariance[1, 1]) ** 0.5
    return Horizon(systems, float(line[1]), se, omega, doubling, level)


def doubling_time(values: Any, date: Any, *, level: float = 0.95) -> Doubling:
    """Fit a line to log₂ of published values by date.

    Parameters
    ----------
    values : array
        Such as published horizons, above 0, shape (n,).
    date : array or list
        As many dates, as in :func:`irtkit.trend`.
    level : float, default 0.95
        Coverage of the interval.

    Returns
    -------
    Doubling
        ``days``, ``low``, ``high`` and ``n``, by ordinary least squares and Student's t.

    Raises
    ------
    TypeError, ValueError
        If a value is not above 0, a date cannot be read, or there are fewer than three.

    Examples
    --------
    >>> import irtkit
    >>> found = irtkit.doubling_time([1, 2, 4.2, 8], ["2024-01-01", "2024-07-01", 2025, 2025.5])
    >>> round(found.days)
    182
    """
    from scipy.stats import linregress

    level = check_number("level", level, above=0, below=1)
    numbers, dates = list(values), list(date)
    places = [*range(max(len(numbers), len(dates)))]
    if len(numbers) != len(dates):
        raise ValueError(
            f"values and date must have one length, got {len(numbers)} and {len(dates)}"
        )
    y, x = np.log2(_above_0("values", numbers, places)), _DAYS * _as_years(dates, places)
    x, y = x[kept := np.isfinite(x + y)], y[kept]
    if len(x) < 3 or np.ptp(x) == 0:
        raise ValueError("date must have two different values or more, for three systems")
    line = linregress(x, y)
    return Doubling.of(float(line.slope), float(line.stderr), len(x), level)


def _check_result(result: Any, needed_by: str) -> None:
    check_type("result", result, FitResult)
    if result.model in OF_LEVELS:
        raise ValueError(
            f"{needed_by} is not for the {result.model}: fit the levels as scores, "
            "with score_range=(lowest, highest)"
        )


def _reach(n: int, level: float) -> float:
    """Standard errors that an interval reaches, of a line through so many systems."""
    return float(t_quantile(np.float64(n - 2), level))


def _table(result: FitResult, columns: dict[str, Any]) -> pd.DataFrame:
    """Columns of the respondents that count."""
    import pandas as pd

    labels = np.array(result.respondent_labels, object)[result.answering]
    return pd.DataFrame(columns, pd.Index(labels, name="respondent"))


def _years(result: FitResult, date: Any) -> Array:
    """Decimal year of every respondent, NaN where it is missing."""
    labels = result.respondent_labels
    return _as_years(by_label("date", date, labels, result.responses, "date"), labels)


def _as_years(given: list[Any], labels: Sequence[Any]) -> Array:
    import pandas as pd

    found = np.full(len(given), np.nan)
    for k, value in enumerate(given):
        if pd.isna(value) or value == "":
            continue
        rule = f"date of {short(labels[k])} must be a date such as '2025-03-31' or a decimal year"
        try:
            if isinstance(value, int | float | np.number):
                found[k] = value
            else:
                days = (pd.Timestamp(value).tz_localize(None) - pd.Timestamp(1970, 1, 1)).days
                found[k] = 1970 + days / _DAYS
        except (TypeError, ValueError) as error:
            raise ValueError(f"{rule}, got {short(value)}") from error
        if not 1000 < found[k] < 3000:  # seconds, or 20250331
            raise ValueError(f"{rule} between 1000 and 3000, got {short(value)}")
    return found


def _amounts(name: str, given: Any, result: FitResult, kind: str) -> Array:
    """Number of every respondent or item."""
    labels = result.respondent_labels if kind == "respondent" else result.item_labels
    return _above_0(name, by_label(name, given, labels, result.responses, "number", kind), labels)


def _above_0(name: str, values: list[Any], labels: Sequence[Any]) -> Array:
    """Numbers, NaN where they are missing."""
    import pandas as pd

    found = np.full(len(values), np.nan)
    for k, value in enumerate(values):
        if not pd.isna(value):
            found[k] = check_number(f"{name} of {short(labels[k])}", value, above=0)
    return found


def _by_length(
    result: FitResult, length: Array, used: NDArray[np.bool_]
) -> tuple[FitResult, Array, Array, float]:
    """The fit by length, the line of difficulties, its covariance, and the SD about it."""
    import pandas as pd

    labels, known = np.array(result.item_labels, object)[used], length[used]
    x = np.stack([np.ones_like(known), known], axis=1)
    prior: Any = prior_of(result.settings.prior, result.item_labels, result.item_labels)
    prior = prior if isinstance(prior, WeakPrior) else WeakPrior()
    model = "1PL" if result.model == "Rasch" else result.model
    line: Any = np.zeros(2)
    found, omega = result, 1.0
    for turn in range(_MOST_TURNS):
        last, own = line, found.parameters.standardised(found.latent_sd, found.latent_mean)
        some = found.patterns.chosen(np.flatnonzero(found.answering))
        some = some.with_trial_correlation(found.settings.trial_correlation or 0.0)
        p = found.parameters.probability(found.ability[found.answering])
        information = (some.dense()[1] * p * (1 - p)).sum(axis=0)[used]
        variance = 1 / (information + 1 / omega**2)
        line = np.linalg.lstsq(x, -own.intercept[used])[0]
        omega = float(np.sqrt(np.mean((own.intercept[used] + x @ line) ** 2 + variance)))
        settled = turn > 1 and float(np.abs(x @ (line - last)).max()) < 0.01
        expected: Any = {"difficulty_mean": pd.Series(x @ line, labels), "difficulty_sd": omega}
        with silently():
            found = fit(
                found.responses,
                model,
                prior=replace(prior, **expected),
                method=EM(tol=1e-4),
                standard_errors=settled,
                progress=False,
            )
        if settled:
            break
    weights = information / (1 + information * omega**2)  # 1/ω² less what posteriors miss of it
    return found, line, np.linalg.inv(x.T @ (weights[:, None] * x)), omega
