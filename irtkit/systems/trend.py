"""Ability over time or compute, and the length of tasks that systems can do.

Difficulty in logits is α + κ log₂(minutes) + u, u ~ N(0, ω²). The log₂ of a horizon at probability
p is (aθ − α − logit(p)√(1 + ω²/2.89))/κ over all tasks of a length, with the mean slope a and 2.89
= 1.7², by which a normal mixture of logistic curves is nearly logistic. The line and ω² are
estimated by EM at known abilities, with the slope a for every task.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, short
from irtkit.fitting import result_for
from irtkit.quadrature.posterior import normalised
from irtkit.responses.labels import by_label
from irtkit.systems.paired import t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array

_DAYS = 365.25  # Of a year.


@dataclass(frozen=True, eq=False)
class Trend:
    """Latent regression of ability; made by :func:`irtkit.trend`."""

    slope: float  #: SDs of ability per year, or per doubling of compute.
    se: float
    low: float
    high: float
    residual_sd: float  #: SD of ability about the line.
    level: float
    per: str  #: "year" or "doubling of compute".
    systems: pd.DataFrame = field(repr=False)
    """Index "respondent", those with a value: x (year, or log₂ of compute), expected, ability and
    ability_sd given x."""


@dataclass(frozen=True, eq=False)
class Horizon:
    """Time horizons of systems; made by :func:`irtkit.horizon`."""

    systems: pd.DataFrame = field(repr=False)
    """Index "respondent", longest first: p50 and p80 in minutes, each with _low and _high; status:
    "ok", "below the shortest task" or "beyond the longest task"."""
    slope: float  #: Logits of difficulty per doubling of minutes.
    se: float
    residual_sd: float  #: SD of difficulties of tasks of one length, in logits.
    doubling_time: tuple[float, float, float] | None
    """Days in which horizons double and the ends of the interval, infinite without growth, if
    dates were given."""
    level: float


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
    Ability has mean 0 and SD 1 over the systems with a value. Other systems and synthetic
    respondents take no part. Items are estimated with the line, those that the fit held fixed too.

    References
    ----------
    Mislevy (1984), *Psychometrika* 49, 359-381.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 40, [k / 10 - 2 for k in range(40)])
    >>> abilities = [k / 20 - 2 + k * 7 % 11 / 5 for k in range(40)]
    >>> result = irtkit.fit(irtkit.simulate_responses(items, abilities, seed=1))
    >>> found = irtkit.trend(result, [2022 + k / 10 for k in range(40)])
    >>> print(round(found.slope, 2), round(found.low, 2), round(found.high, 2))
    0.61 0.42 0.73
    """
    import pandas as pd

    from irtkit.calibration.regression import latent_regression

    result = result_for("trend", result)
    level = check_number("level", level, above=0, below=1)
    if (date is None) == (compute is None):
        raise ValueError("date or compute must be given, and not both")
    if compute is None:
        per = "year"
        values = _values(result, "date", date, _year)
    else:
        per = "doubling of compute"
        values = np.log2(_values(result, "compute", compute, _amount))
    line = latent_regression(result, values)
    reach = t_quantile(len(line.x) - 2, level) * line.se
    correlations = np.tanh(line.z + reach * np.array([0.0, -1.0, 1.0]))
    slope, low, high = (correlations / line.x_sd).tolist()
    residual_variance = float(1 - correlations[0] ** 2)
    columns = {
        "x": values[line.places],
        "expected": correlations[0] * line.x,
        "ability": line.ability,
        "ability_sd": line.ability_sd,
    }
    systems = pd.DataFrame(columns, _labelled(result, line.places))
    se = line.se * residual_variance / line.x_sd
    return Trend(slope, se, low, high, residual_variance**0.5, level, per, systems)


def horizon(result: FitResult, minutes: Any, date: Any = None, *, level: float = 0.95) -> Horizon:
    """Find the length of tasks that each system does with a probability of 50 % and 80 %.

    Difficulty is regressed on log₂ of the time that people need. Tasks of one length differ.

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
        ``systems``, ``slope``, ``se``, ``residual_sd`` and ``doubling_time``.

    Raises
    ------
    TypeError, ValueError
        If a time or date cannot be read, fewer than three items have a time, or difficulty does not
        rise with it.

    Notes
    -----
    Horizons are about a random task of that length. For p80 this is shorter than for a task of
    typical difficulty. Guessing is left out. Intervals contain the errors of abilities and of the
    line, which is estimated with abilities known.

    References
    ----------
    Kwa et al. (2025), *Measuring AI ability to complete long tasks*, arXiv 2503.14499.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 80, [k / 16 - 2 for k in range(80)])
    >>> result = irtkit.fit(irtkit.simulate_responses(items, [-1, 0, 0.5, 1, 2], seed=2), "1PL")
    >>> found = irtkit.horizon(result, [2 ** (k / 8) for k in range(80)])
    >>> print(round(found.slope, 2), round(found.systems["p50"].iloc[0]))
    0.55 175
    """
    import pandas as pd

    from irtkit.calibration.regression import latent_regression

    result = result_for("horizon", result)
    level = check_number("level", level, above=0, below=1)
    length = np.log2(_values(result, "minutes", minutes, _amount, kind="item"))
    used = np.isfinite(length) & (result.counts.item_responses > 0)
    if used.sum() < 3 or np.ptp(length[used]) == 0:
        raise ValueError(
            "minutes must have two different values or more, for three items with responses"
        )
    systems = np.flatnonzero(result.answering)
    typical = float(result.parameters.discrimination[used].mean())
    line, covariance, variance = _line(result, length, np.flatnonzero(used), typical)
    rise = float(line[1])
    rise_se = float(covariance[1, 1] ** 0.5)
    if rise <= 0:
        raise ValueError("difficulty must rise with minutes to give a horizon")
    ability = typical * result.ability[systems]
    of_ability = (typical * result.board_se[systems]) ** 2
    reach = t_quantile(np.inf, level)
    table: dict[str, Any] = {}
    for name, logit in (("p50", 0.0), ("p80", np.log(4.0))):
        log2 = (ability - line[0] - logit * np.sqrt(1 + variance / 2.89)) / rise
        design = np.stack([np.ones_like(log2), log2])
        of_line = (design * (covariance @ design)).sum(axis=0)
        half_width = reach * np.sqrt(of_ability + of_line) / rise
        table[name] = np.exp2(log2)
        table[f"{name}_low"] = np.exp2(log2 - half_width)
        table[f"{name}_high"] = np.exp2(log2 + half_width)
    shortest, longest = np.exp2([length[used].min(), length[used].max()])
    outside = ["below the shortest task", "beyond the longest task"]
    table["status"] = np.select([table["p50"] < shortest, table["p50"] > longest], outside, "ok")
    doubling_time = None
    if date is not None:
        years = _values(result, "date", date, _year)
        years[systems[table["status"] != "ok"]] = np.nan
        growth = latent_regression(result, years)
        correlation = np.tanh(growth.z)
        rate = growth.typical_slope * correlation / growth.x_sd / rise  # doublings per year
        relative_error = np.hypot(growth.se_known / correlation, rise_se / rise)
        half_width = t_quantile(len(growth.x) - 2, level) * abs(rate * relative_error)
        ends = rate + half_width * np.array([0.0, 1.0, -1.0])
        doubling_time = tuple((_DAYS / np.where(ends * rate > 0, ends, 0.0)).tolist())
    frame = pd.DataFrame(table, _labelled(result, systems))
    # ties stay in the order of the responses
    order = np.argsort(-np.round(np.log(frame["p50"].to_numpy()), 9), kind="stable")
    return Horizon(frame.iloc[order], rise, rise_se, variance**0.5, doubling_time, level)


def _labelled(result: FitResult, systems: Places) -> pd.Index[str]:
    """Labels of some systems."""
    import pandas as pd

    labels = np.array(result.respondent_labels, object)[systems]
    index: pd.Index[str] = pd.Index(labels, name="respondent")
    return index


def _line(
    result: FitResult, length: Array, used: Places, slope: float
) -> tuple[Array, Array, float]:
    """Line of difficulties in logits by length, its covariance, and the variance about it.

    By EM, with abilities known.
    """
    answers = result.patterns.chosen(np.flatnonzero(result.answering)).with_columns(used)
    answers = answers.with_trial_correlation(result.settings.trial_correlation or 0.0)
    right, answered = answers.dense()
    difficulty = np.linspace(-15.0, 15.0, 121)  # in logits
    logits = slope * result.ability[result.answering, None] - difficulty
    log_likelihood = right.T @ logits - answered.T @ np.logaddexp(0, logits)
    design = np.stack([np.ones(used.size), length[used]], axis=1)
    line: Array = np.zeros(2)
    variance = 1.0
    for _ in range(500):  # steps of EM
        last = line
        squares = (difficulty - (design @ line)[:, None]) ** 2
        log_posterior = log_likelihood - squares / (2 * variance)
        posterior: Any = normalised(log_posterior)[1]
        mean = posterior @ difficulty
        variances = posterior @ difficulty**2 - mean**2
        line = np.linalg.lstsq(design, mean)[0]
        variance = float(np.mean((mean - design @ line) ** 2 + variances))
        if np.abs(design @ (line - last)).max() < 1e-6:
            break
    weights = (1 - variances / variance) / variance
    return line, np.linalg.inv(design.T @ (weights[:, None] * design)), variance


def _values(
    result: FitResult,
    name: str,
    given: Any,
    read: Callable[[str, Any], float],
    kind: str = "respondent",
) -> Array:
    """Number of every respondent or item, NaN where it is missing."""
    import pandas as pd

    labels = result.respondent_labels if kind == "respondent" else result.item_labels
    values = by_label(name, given, labels, result.responses, "number", kind)
    return np.array([
        np.nan if pd.isna(value) or value == "" else read(f"{name} of {short(label)}", value)
        for label, value in zip(labels, values, strict=True)
    ])  # fmt: skip


def _amount(name: str, value: Any) -> float:
    return check_number(name, value, above=0)


def _year(name: str, value: Any) -> float:
    """Decimal year of a date."""
    import pandas as pd

    year = value
    if not isinstance(value, int | float | np.number):
        day = pd.to_datetime(value, errors="coerce").tz_localize(None)
        year = 1970 + (day - pd.Timestamp(1970, 1, 1)).days / _DAYS
    if not 1000 < year < 3000:  # seconds, or 20250331
        raise ValueError(
            f"{name} must be a date such as '2025-03-31' or a decimal year between 1000 and 3000, "
            f"got {short(value)}"
        )
    return float(year)
