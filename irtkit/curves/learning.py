"""Learning surface: log-odds of a right answer by training size and difficulty, or the like.

Right answers of each system are regressed on the logarithm of a covariate, the difficulty of items,
and their product (logistic regression, Lalor et al. 2018), with errors clustered by item (Liang &
Zeger 1986, Cameron, Gelbach & Miller 2011). statsmodels fits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, short
from irtkit.findings import Finding
from irtkit.irf import logistic
from irtkit.printed import Printed, Shown
from irtkit.responses.columns import listed, named, recognised, usual_columns
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

DIFFICULTY = "difficulty"
_GRID = 25  # Points along each side of the grid.


@dataclass(frozen=True, eq=False)
class LearningSurface(Printed):
    """Logistic regressions of systems. :func:`irtkit.learning_surface` returns it."""

    coefficients: pd.DataFrame
    """A row per system and term, index ``by`` and "term": "intercept", the covariate (such as "log
    size", natural logarithms), "difficulty" and their product ("log size:difficulty"). Columns:
    estimate, se (of independent responses), se_clustered (NaN without clusters, and if they are no
    more than the terms). Then low, high and p_value (two-sided), with clustered errors if there are
    clusters. NaN without a maximum."""
    systems: pd.DataFrame
    """Index ``by``. Columns: n_responses, n_clusters, accuracy, log_likelihood, status, low and
    high (of the covariate), easy and hard (extreme difficulties, if there are difficulties). The
    status is "ok", "unbounded" (a plane separates right from wrong, as where all is right, so the
    likelihood has no maximum) or "collinear" (such as one size alone)."""
    covariate: str
    log: bool
    """Whether the terms have its natural logarithm."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What limits the surface."""
        status = self.systems["status"]
        n_terms = len(self.coefficients.index.unique("term"))
        few = (self.systems["n_clusters"] <= n_terms) & (status == "ok")
        findings = []
        if few.any():
            names = [*status.index[few].map(_label)]
            findings.append(Finding("few-clusters", "warning", {"systems": names}))
        for reason in status[status != "ok"].unique():
            names = [*status.index[status == reason].map(_label)]
            values = {"status": reason, "systems": names}
            findings.append(Finding("no-surface", "warning", values))
        return tuple(findings)

    @property
    def grid(self) -> pd.DataFrame:
        """Points for contours, 25 along each side, over the range of the rows of each system.

        Columns: the columns in ``by``, the covariate, difficulty (if there is one), log_odds and
        probability. A system whose status is not "ok" is left out.
        """
        import pandas as pd

        spaced = np.geomspace if self.log else np.linspace
        coefficients: Any = self.coefficients["estimate"]
        surfaces = {}
        for system, row in self.systems.iterrows():
            sides = {self.covariate: spaced(row["low"], row["high"], _GRID)}
            if "easy" in row:
                sides[DIFFICULTY] = np.linspace(row["easy"], row["hard"], _GRID)
            index = pd.MultiIndex.from_product([*sides.values()], names=[*sides])
            points = index.to_frame(index=False)
            log_odds = _terms(points, self.covariate, log=self.log) @ coefficients.loc[system]
            surfaces[system] = points.assign(log_odds=log_odds, probability=logistic(log_odds))
        grid: pd.DataFrame = pd.concat(surfaces, names=self.systems.index.names)
        grid = grid.reset_index(self.systems.index.names).dropna(subset="log_odds")
        return grid.reset_index(drop=True)

    def shown(self) -> Shown:
        """Return the coefficients of every system."""
        estimates = self.coefficients["estimate"].unstack("term", sort=False)  # noqa: PD010  # keeps NaN
        estimates.index = self.systems.index.map(_label).rename("system")
        return Shown("", estimates, findings=self.findings)


def learning_surface(
    frame: Any,
    *,
    covariate: str = "training_size",
    log: bool = True,
    difficulty: str | None = None,
    response: str | None = None,
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
    covariate : str, default "training_size"
        The column of the covariate. It may be of systems or runs (size, compute) or of items
        (minutes people take).
    log : bool, default True
        Whether to take its natural logarithm.
    difficulty : str, optional
        The column of difficulties. By default "difficulty" if it exists. Otherwise it is left out.
    response : str, optional
        The column of responses, by default recognised by a usual name ("right", "correct", …).
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
        ``coefficients``, ``systems``, ``grid`` (for contours) and ``findings``.

    Raises
    ------
    ImportError, TypeError, ValueError
        If statsmodels, which comes with the extra ``irtkit[curves]``, or columns are missing, or
        columns hold something else.

    Notes
    -----
    Estimates and errors are those of statsmodels. For G clusters, n rows and k terms, clustered
    errors have the factor G/(G − 1) · (n − 1)/(n − k), and intervals use Student's t with G − 1
    degrees of freedom.

    References
    ----------
    Lalor, Wu, Munkhdalai & Yu (2018), *Understanding deep learning performance through an
    examination of test set difficulty*, EMNLP.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import irtkit
    >>> generator = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"training_size": np.repeat([100, 1000], 500)})
    >>> frame["difficulty"] = np.tile(generator.normal(size=500), 2)
    >>> log_odds = np.log(frame["training_size"]) - 5 - frame["difficulty"]
    >>> frame["right"] = generator.random(1000) < 1 / (1 + np.exp(-log_odds))
    >>> surface = irtkit.learning_surface(frame.assign(model="net"))
    >>> surface.systems.loc["net", "status"]
    'ok'
    >>> surface.coefficients.loc[("net", "log training_size"), ["estimate", "se"]].round(2).tolist()
    [0.99, 0.08]
    """
    import pandas as pd

    check_number("level", level, above=0, below=1)
    table = with_index(as_frame(frame)).rename(columns=str)
    header = list(table.columns)
    if difficulty is None and DIFFICULTY in header and covariate != DIFFICULTY:
        difficulty = DIFFICULTY
    response = response or header[recognised(header, "response")]
    systems = [header[k] for k in usual_columns(header, "respondent")[:1]]
    items = [header[k] for k in usual_columns(header, "item")[:1]]
    tasks = [name for name in header if name == "task"]
    by = [*systems, *tasks] if by is None else listed(by)
    alike = [name for name in (*items, *systems) if name not in {*by, covariate}]
    clusters = alike if clusters is None else listed(clusters)
    used = [covariate, *listed(difficulty), response, *by, *clusters]
    named(header, "learning_surface", used)
    table = table.dropna(subset=used)
    if not table[response].isin([0, 1]).all():
        raise ValueError(f"column {short(response)} must be 0 or 1, or False or True")
    if log and (table[covariate] <= 0).any():
        raise ValueError(f"column {short(covariate)} must be above 0, or be taken with log=False")
    table = table.astype({response: float}).rename(columns={difficulty: DIFFICULTY})
    grouped = table.assign(rows="all").groupby(by or ["rows"], sort=False)
    systems_table = grouped.agg(
        n_responses=(response, "size"),
        accuracy=(response, "mean"),
        low=(covariate, "min"),
        high=(covariate, "max"),
    )
    if difficulty is not None:
        systems_table[["easy", "hard"]] = grouped[DIFFICULTY].agg(["min", "max"])
    systems_table["n_clusters"] = grouped[clusters].nunique().min(axis=1) if clusters else np.nan
    fits = {}
    for system, (_, rows) in zip(systems_table.index, grouped, strict=True):
        terms = _terms(rows, covariate, log=log)
        fits[system] = _regression(rows[response], terms, rows[clusters], level)
    systems_table["status"] = [fit.attrs["status"] for fit in fits.values()]
    coefficients = pd.concat(fits, names=[*systems_table.index.names, "term"])
    return LearningSurface(coefficients, systems_table, covariate, log)


def _terms(points: pd.DataFrame, covariate: str, *, log: bool) -> pd.DataFrame:
    """Terms of the regression by name."""
    size = np.log(points[covariate]) if log else points[covariate]
    name = f"log {covariate}" if log else covariate
    terms = {"intercept": 1.0, name: size.astype(float)}
    if DIFFICULTY in points and covariate != DIFFICULTY:
        terms[DIFFICULTY] = points[DIFFICULTY]
        terms[f"{name}:{DIFFICULTY}"] = size * points[DIFFICULTY]
    return points[[]].assign(**terms)


def _regression(
    right: pd.Series[float], terms: pd.DataFrame, clusters: pd.DataFrame, level: float
) -> pd.DataFrame:
    """Coefficients, with the status as an attribute."""
    import pandas as pd

    try:
        from statsmodels.genmod.generalized_linear_model import GLM, families
    except ImportError as error:
        raise ImportError("statsmodels is missing: pip install 'irtkit[curves]'") from error
    columns = ["estimate", "se", "se_clustered", "low", "high", "p_value"]
    table = pd.DataFrame(np.nan, terms.columns, columns)
    x = (terms / terms.abs().max()).to_numpy()
    table.attrs["status"] = _status(right.to_numpy(), x)
    if table.attrs["status"] != "ok":
        return table
    model = GLM(right, terms, family=families.Binomial())
    fit = model.fit(tol=1e-10)
    table["estimate"] = fit.params
    table["se"] = fit.bse
    if clusters.nunique().min() <= x.shape[1]:
        return table
    if clusters.shape[1]:
        groups = clusters.apply(lambda labels: pd.factorize(labels)[0]).to_numpy()
        fit = model.fit(tol=1e-10, cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        table["se_clustered"] = fit.bse
    table[["low", "high"]] = fit.conf_int(1 - level)
    table["p_value"] = fit.pvalues
    return table


def _status(right: Any, x: Any) -> str:
    """Whether the likelihood has one maximum.

    It is infinite if a plane separates right from wrong responses. That is a linear program (Konis
    2007): max Σ s_i x_i'γ with s_i x_i'γ ≥ 0 and |γ| ≤ 1, where s is 1 for right responses and −1
    for wrong ones.
    """
    from scipy.optimize import linprog

    if np.linalg.matrix_rank(x) < x.shape[1]:
        return "collinear"
    sign = np.where(right > 0, 1.0, -1.0)
    signed = sign[:, None] * x
    solved = linprog(-signed.sum(axis=0), -signed, np.zeros(len(signed)), bounds=(-1, 1))
    # the distance from a plane is relative to the largest covariates
    return "unbounded" if -float(solved.fun or 0) > 1e-6 else "ok"


def _label(system: Any) -> str:
    """Name of a system, of several columns joined."""
    return " / ".join(map(str, np.atleast_1d(system)))
