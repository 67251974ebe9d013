"""Learning surface: log-odds of a right answer by training size and difficulty, or the like.

Right answers of each system are regressed on the logarithm of a covariate, the difficulty of items,
and their product (logistic regression, Lalor et al. 2018), with errors clustered by item. At a time
horizon half of the answers are right (Kwa et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, short
from irtkit.curves.logistic import crossing, likelihood_regression, with_intercept
from irtkit.findings import Finding
from irtkit.irf import logistic
from irtkit.printed import in_lines, plain, shortened, table_of
from irtkit.responses.columns import no_column, recognised, usual_columns
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.curves.logistic import Regression
    from irtkit.irf import Array

DIFFICULTY = "difficulty"
_SIZES = ("training_size", "train_size", "size")
_GRID = 25  # Points along each side of the grid.
_DAYS = 365.25  # Days of a year.
_FAR = 200.0  # Years from 1970 beyond which pandas has no dates.


@dataclass(frozen=True)
class Axis:
    """A covariate of systems, runs or items, as regressions take it."""

    name: str
    kind: str  # "number", "log" or "date"

    @classmethod
    def of(cls, name: str, values: Any, *, log: bool | None) -> Axis:
        """Return the axis of a column, logarithmic by default unless it holds dates."""
        from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

        if is_datetime64_any_dtype(values):
            return cls(name, "date")
        if not is_numeric_dtype(values) or is_bool_dtype(values):
            raise TypeError(
                f"column {short(name)} must hold numbers or dates, it is {values.dtype}. "
                "Use pandas.to_datetime to make dates"
            )
        if log is not False and (values <= 0).any():
            raise ValueError(
                f"column {short(name)} must be above 0 on a log scale, and has {values.min():g}. "
                "Use log=False to take it as it is"
            )
        return cls(name, "number" if log is False else "log")

    def scaled(self, values: Any) -> Array:
        """Values as regressions take them: natural logarithms, dates in years from 1970."""
        import pandas as pd

        if self.kind == "date":
            since = pd.DatetimeIndex(values).tz_localize(None) - pd.Timestamp(0)
            return np.asarray(since / pd.Timedelta(days=_DAYS), dtype=np.float64)
        found = np.asarray(values, dtype=np.float64)
        return np.log(found) if self.kind == "log" else found

    def given(self, scaled: Array) -> Any:
        """Values as they were given. A date that is too far off is NaT."""
        import pandas as pd

        if self.kind == "date":
            near = np.where(np.abs(scaled) < _FAR, scaled, np.nan)
            return pd.Timestamp(0) + pd.to_timedelta(near * _DAYS, unit="D")
        with np.errstate(over="ignore"):
            return np.exp(scaled) if self.kind == "log" else scaled


@dataclass(frozen=True, eq=False)
class LearningSurface:
    """Logistic regressions of systems. :func:`irtkit.learning_surface` returns it."""

    coefficients: pd.DataFrame
    """A row per system and term, index ``by`` and "term": "intercept", the covariate (such as "log
    size", natural logarithms), "difficulty" and their product ("log size:difficulty"). Columns:
    estimate, se (of independent responses), se_clustered (NaN without clusters, and if they are no
    more than the terms). Then low, high and p_value (two-sided), with clustered errors if there are
    clusters. NaN without a maximum."""
    systems: pd.DataFrame
    """Index ``by``. Columns: n_responses, n_clusters, accuracy, log_likelihood, status, low and
    high (of the covariate), easy and hard (extreme difficulties, NaN without difficulties). The
    status is "ok", "unbounded" (a plane separates right from wrong, so the likelihood has no
    maximum), "no variance" (all right, or all wrong), "collinear" (such as one size alone), "no
    responses" or "not converged"."""
    axis: Axis
    level: float
    middle: float | None
    """Median difficulty of the rows of the frame, or None without difficulties."""
    fits: tuple[Regression, ...] = field(repr=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What limits the surface."""
        status = self.systems["status"]
        n_terms = len(self.fits[0].coefficients)
        few = self.systems.index[(self.systems["n_clusters"] <= n_terms) & (status == "ok")]
        found = [Finding("few-clusters", "warning", {"systems": _labels(few)})][: len(few)]
        for one in status[status != "ok"].unique():
            values = {"status": one, "systems": _labels(status.index[status == one])}
            found.append(Finding("no-surface", "warning", values))
        return tuple(found)

    @property
    def grid(self) -> pd.DataFrame:
        """Points for contours, 25 along each side, over the range of the rows of each system.

        Columns: the columns in ``by``, the covariate, difficulty (if there is one), log_odds, se
        (of log_odds) and probability. A system whose status is not "ok" is left out.
        """
        import pandas as pd

        names = [self.axis.name] if self.middle is None else [self.axis.name, DIFFICULTY]
        low, high = (self.axis.scaled(self.systems[end]) for end in ("low", "high"))
        easy, hard = (self.systems[end].to_numpy() for end in ("easy", "hard"))
        parts = []
        for k, fit in enumerate(self.fits):
            ends = [(low[k], high[k]), (easy[k], hard[k])][: len(names)]
            sides = [np.linspace(start, end, _GRID) for start, end in ends]
            places = [side.ravel() for side in np.meshgrid(*sides, indexing="ij")]
            x = _design(*places)
            log_odds, given = fit.log_odds(x), [self.axis.given(places[0]), *places[1:]]
            columns = {"log_odds": log_odds, "se": fit.se(x), "probability": logistic(log_odds)}
            parts.append(pd.DataFrame(dict(zip(names, given, strict=True)) | columns))
        found = pd.concat(parts, keys=self.systems.index, names=self.systems.index.names)
        found = found.reset_index(self.systems.index.names).dropna(subset="log_odds")
        return found.reset_index(drop=True)

    def horizons(
        self, shares: Iterable[float] = (0.5, 0.8), *, difficulty: float | None = None
    ) -> pd.DataFrame:
        """Value of the covariate at which a share of the answers is right.

        Parameters
        ----------
        shares
            Proportions correct, between 0 and 1.
        difficulty
            Difficulty of the items. By default the median of the frame's rows.

        Returns
        -------
        pandas.DataFrame
            Index ``by`` and "share". NaN without a maximum. Columns:

            - difficulty (if there is one) and status
            - the covariate, with ``_low`` and ``_high``: Fieller's interval. It is without ends (0
              and infinity on a log scale, NaT for dates) if the slope is not significant.
            - slope: of the log-odds by the covariate
            - beyond: whether the value lies outside the system's rows

        Raises
        ------
        ValueError
            If a share is not between 0 and 1, or the frame had no difficulties.

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> minutes, right = [1, 2, 4, 8, 15, 30, 60, 120], [1, 1, 1, 0, 1, 0, 1, 0]
        >>> runs = pd.DataFrame({"model": "agent", "minutes": minutes, "right": right})
        >>> surface = irtkit.learning_surface(runs, covariate="minutes")
        >>> surface.horizons([0.5])["minutes"].round(1).tolist()
        [25.5]
        """
        import pandas as pd

        each: Any = [shares] if np.ndim(shares) == 0 else shares  # type: ignore[arg-type]
        wanted = [check_number("shares", share, above=0, below=1) for share in each]
        at = self.middle if difficulty is None else check_number("difficulty", difficulty)
        if difficulty is not None and self.middle is None:
            raise ValueError("difficulty is not a term of the regressions")
        start, end = _design(np.array([0.0, 1.0]), None if at is None else np.full(2, at))
        rows = {}
        for system, fit in zip(self.systems.index, self.fits, strict=True):
            for share in wanted:
                found = crossing(fit, start, end - start, np.log(share / (1 - share)), self.level)
                rows[*_tuple(system), share] = *found, float((end - start) @ fit.coefficients)
        name = self.axis.name
        index = pd.MultiIndex.from_tuples(rows, names=[*self.systems.index.names, "share"])
        columns = [name, f"{name}_low", f"{name}_high", "slope"]
        table = pd.DataFrame(list(rows.values()), index, columns)
        for column in columns[:3]:
            table[column] = self.axis.given(table[column].to_numpy())
        if at is not None:
            table.insert(0, DIFFICULTY, at)
        own = self.systems.loc[self.systems.index.repeat(len(wanted))].set_axis(index)
        outside = (table[name] < own["low"]) | (table[name] > own["high"])
        return table.assign(beyond=outside, status=own["status"])

    def __str__(self) -> str:
        import pandas as pd

        terms = self.coefficients.index.unique("term")
        estimates = self.coefficients["estimate"].to_numpy().reshape(-1, len(terms))
        names = pd.Index(map(shortened, _labels(self.systems.index)), name="system")
        shown = pd.DataFrame(estimates, names, list(terms))
        return f"{plain(table_of(shown))}\n\n{in_lines(map(str, self.findings))}".rstrip()


def learning_surface(
    frame: Any,
    *,
    covariate: str | None = None,
    log: bool | None = None,
    difficulty: str | None = None,
    response: str | None = None,
    trials: str | None = None,
    by: Iterable[str] | None = None,
    clusters: Iterable[str] | None = None,
    level: float = 0.95,
) -> LearningSurface:
    """Regress right answers on training size and difficulty, or other covariates, by system.

    Parameters
    ----------
    frame : DataFrame
        A data frame (pandas, polars, PyArrow, …) with a row per response: system, covariate,
        difficulty of the item, and whether it is right (1, 0, True, False). Rows with a missing
        value in a column that is used are left out.
    covariate : str, optional
        The column of the covariate. By default "training_size", "train_size" or "size". It may be
        of systems or runs (size, compute, release date) or of items (minutes people take).
    log : bool, optional
        Whether to take its natural logarithm. By default yes, except for dates, which are in years.
    difficulty : str, optional
        The column of difficulties. By default "difficulty" if it exists. Otherwise it is left out.
    response, trials : str, optional
        The columns of responses, by default recognised by a usual name ("right", "correct", …), and
        of numbers of trials. With trials, the response is how many were right.
    by : list of str, optional
        Columns whose values each get a regression. By default the column of systems ("respondent",
        "model", …) and "task", if they exist. ``by=[]`` pools all rows.
    clusters : list of str, optional
        At most two columns. Responses that share a value are dependent. By default the items
        ("item", "question_id", …), and the systems if ``by`` leaves them out.
        ``clusters=[]`` assumes independent responses.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    LearningSurface
        ``coefficients``, ``systems``, ``grid`` (for contours), ``horizons()`` and ``findings``.

    Raises
    ------
    ImportError, TypeError, ValueError
        If statsmodels, which comes with the extra ``irtkit[curves]``, or columns are missing, or
        columns hold something else.

    Notes
    -----
    Clustered errors agree with statsmodels. For G clusters, n rows and k terms, they have the
    factor G/(G − 1) · (n − 1)/(n − k) and use Student's t with G − 1 degrees of freedom.

    References
    ----------
    Lalor, Wu, Munkhdalai & Yu (2018), *Understanding deep learning performance through an
    examination of test set difficulty*, EMNLP.
    Kwa et al. (2025), *Measuring AI ability to complete long tasks*, arXiv 2503.14499.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import irtkit
    >>> generator = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"size": np.repeat([100, 1000], 500)})
    >>> frame["difficulty"] = np.tile(generator.normal(size=500), 2)
    >>> log_odds = np.log(frame["size"]) - 5 - frame["difficulty"]
    >>> frame["right"] = generator.random(1000) < 1 / (1 + np.exp(-log_odds))
    >>> surface = irtkit.learning_surface(frame.assign(model="net"))
    >>> surface.systems.loc["net", "status"]
    'ok'
    >>> surface.coefficients.loc[("net", "log size"), ["estimate", "se"]].round(2).tolist()
    [0.99, 0.08]
    """
    import pandas as pd
    from scipy.stats import t

    level = check_number("level", level, above=0, below=1)
    table = with_index(as_frame(frame))
    table = table.set_axis([str(name) for name in table.columns], axis="columns")
    header = list(table.columns)

    def named(argument: str, names: Any, usual: Iterable[str] = ()) -> list[str]:
        given = [names] if isinstance(names, str) else usual if names is None else names
        for name in given:
            if not (isinstance(name, str) and name in header):
                raise no_column(argument, name, header)
        return list(given)

    if covariate is None:
        covariate = next((name for name in _SIZES if name in header), _SIZES[0])
    size = named("covariate", [covariate])[0]
    usual = [DIFFICULTY] if DIFFICULTY in header and size != DIFFICULTY else []
    hard = named("difficulty", difficulty, usual)
    if hard and size in {hard[0], DIFFICULTY}:
        raise ValueError(f"covariate and difficulty must be two columns: rename {short(size)}")
    who = [header[k] for k in usual_columns(header, "respondent")[:1]]
    groups = named("by", by, [*who, *(name for name in header if name == "task")])
    items = [header[k] for k in usual_columns(header, "item")[:1]]
    alike = [name for name in (*items, *who) if name not in {*groups, size}]
    together = named("clusters", clusters, alike)
    if len(together) > 2:
        raise ValueError(f"clusters must be two columns at most, got {len(together)}")
    right = named("response", response or header[recognised(header, "response")])[0]
    count = named("trials", trials)
    table = table.dropna(subset=[size, *hard, right, *count, *groups, *together])
    if not len(table):
        raise ValueError("every row of frame lacks the response or a covariate")
    axis = Axis.of(size, table[size], log=log)
    n = _finite(count[0], table[count[0]]) if count else np.ones(len(table))
    n_right = _finite(right, table[right])
    wrong = (n_right < 0) | (n_right > n) | (n_right % 1 != 0) | (n % 1 != 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        rule = "whole, from 0 to the number of trials" if count else "0 or 1"
        raise ValueError(
            f"column {short(right)} must be {rule}, and row {table.index[at]} has {n_right[at]:g}"
        )
    difficulties = _finite(hard[0], table[hard[0]]) if hard else None
    x = _design(_finite(size, axis.scaled(table[size])), difficulties)
    term = f"log {size}" if axis.kind == "log" else size
    terms = ["intercept", term, *([DIFFICULTY, f"{term}:{DIFFICULTY}"] if hard else [])]
    numbered = [table.groupby(name).ngroup().to_numpy() for name in together]
    places: Any = {"all": np.arange(len(table))}
    if groups:
        places = table.groupby(groups, sort=False).indices
    fits, rows, parts = [], [], []
    for own in places.values():
        some = [one[own] for one in numbered]
        fit = likelihood_regression(x[own], n_right[own], n[own], some)
        known = np.full(1, np.nan) if difficulties is None else difficulties[own]
        rows.append(
            {
                "n_responses": int(n[own].sum()),
                "n_clusters": min((len(np.unique(one)) for one in some), default=np.nan),
                "accuracy": n_right[own].sum() / max(n[own].sum(), 1),
                "log_likelihood": fit.log_likelihood,
                "status": fit.status,
                "low": table[size].iloc[own].min(),
                "high": table[size].iloc[own].max(),
                "easy": known.min(),
                "hard": known.max(),
            }
        )
        error = np.sqrt(np.diag(fit.covariance))
        reach = fit.quantile(level) * error
        columns = {
            "estimate": fit.coefficients,
            "se": np.sqrt(np.diag(fit.fisher)),
            "se_clustered": error if together else np.nan,
            "low": fit.coefficients - reach,
            "high": fit.coefficients + reach,
            "p_value": 2 * t.sf(np.abs(fit.coefficients / error), fit.df),
        }
        parts.append(pd.DataFrame(columns, index=terms))
        fits.append(fit)
    names = groups or ["rows"]
    index: pd.Index[Any] = pd.MultiIndex.from_tuples(map(_tuple, places), names=names)
    index = index if len(names) > 1 else index.get_level_values(0)
    return LearningSurface(
        coefficients=pd.concat(parts, keys=index, names=[*names, "term"]),
        systems=pd.DataFrame(rows, index=index),
        axis=axis,
        level=level,
        middle=None if difficulties is None else float(np.median(difficulties)),
        fits=tuple(fits),
    )


def _tuple(name: Any) -> tuple[Any, ...]:
    return name if isinstance(name, tuple) else (name,)


def _labels(names: Iterable[Any]) -> list[str]:
    return [" / ".join(map(str, _tuple(name))) for name in names]


def _design(covariate: Array, difficulty: Array | None = None) -> Array:
    """Rows (1, s) or (1, s, b, s·b) of the regression."""
    if difficulty is None:
        return with_intercept(covariate)
    return with_intercept(covariate, difficulty, covariate * difficulty)


def _finite(name: str, values: Any) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"column {short(name)} must hold finite numbers")
    return found
