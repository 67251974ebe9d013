"""Ratings by several judges: severity, consistency, preferences, and marks without severity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.findings import Finding
from irtkit.io.reading import as_responses, read_responses
from irtkit.judges.agreement import agreement, preferences
from irtkit.judges.severity import Ratings, severities
from irtkit.printed import Printed, Shown
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import USUAL
from irtkit.responses.labels import by_label, category_name, is_missing_label
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array
    from irtkit.judges.agreement import Agreement
    from irtkit.judges.severity import Places, Severity

_FDR = 0.05  # Rate of false ones among the preferences that are named.
_RELIABLE = 0.9  # Reliability for which judges are counted.
_SAME_P = 12  # Decimals of p-values of one test, that of two families from either side.
_ABOVE_CHANCE = 1.645  # Deviate of an agreement: 5 % of judges that add noise only are above it.


class Reliability(NamedTuple):
    """Variances of marks, and how reliable the mean mark of a system is (Brennan 2001).

    The variance of answers is NaN if no answer has two marks. Noise then includes it.
    """

    system: float
    item: float
    judge: float
    answer: float
    noise: float
    n_items: float  #: Answers of a system, on average.
    n_judges: float  #: Marks of an answer, on average.

    def of(self, n_items: float, n_judges: float) -> float:
        """Return the reliability of a mean over some items, with so many judges per answer."""
        error = self.answer / n_items + self.noise / (n_items * n_judges)
        return self.system / (self.system + error) if self.system > 0 else 0.0

    @property
    def value(self) -> float:
        """Reliability of the means of these ratings."""
        if math.isnan(self.answer):
            return self._replace(answer=0.0).of(self.n_items, self.n_judges)
        return self.of(self.n_items, self.n_judges)

    @property
    def judges_needed(self) -> float:
        """Judges per answer for a reliability of 0.9 on as many items. Infinite if none do."""
        room = self.system * (1 / _RELIABLE - 1) - self.answer / self.n_items
        if math.isnan(room):
            return math.nan
        return max(math.ceil(self.noise / self.n_items / room), 1) if room > 0 else math.inf


@dataclass(frozen=True)
class Judges(Printed):
    """What :func:`irtkit.judges` found about judges. ``print`` shows it."""

    table: pd.DataFrame = field(repr=False)
    """Judges, the strictest first: n_marks, severity (how much lower its marks are than those of
    all judges on average, in marks) with severity_se, consistency (share of the variance of its
    marks that is about the answers), agreement (correlation with the mean of the others)."""
    favours: pd.DataFrame = field(repr=False)
    """Judge and family: difference (how much higher the judge marks systems of the family than
    the others do, compared with all other systems, in marks), se, p_value, q_value."""
    reliability: Reliability
    responses: ResponseMatrix  #: Marks plus severity, averaged over judges, from 0 to 1.
    findings: tuple[Finding, ...]  #: What limits the marks. ``str`` of a finding is its message.

    def shown(self) -> Shown:
        """Return the judges, whom they favour, and what limits their marks."""
        names = {"n_marks": "marks", "severity_se": "se"}
        legend = (
            "severity: how much lower than all judges on average it marks, in marks",
            "consistency: share of the variance of its marks that is about the answers",
            "agreement: correlation with the mean of the other judges",
        )
        further = []
        if len(self.favours):
            tested = self.favours.reset_index(level="family").sort_values("p_value")
            meaning = (
                "difference: how much higher than other judges it marks the family, in marks",
                "q_value: p-value adjusted for all judges and families (false-discovery rate)",
            )
            further.append(Shown("judges and families", tested, meaning))
        table = self.table.rename(columns=names)
        return Shown("judges, the strictest first", table, legend, self.findings, further)

    def __repr__(self) -> str:
        return f"Judges({len(self.table)} judges, {self.responses!r})"


@one_thread()
def judges(ratings: object, family: Any = None, score_range: Any = None, **reading: Any) -> Judges:
    """Estimate how severe and consistent judges are, and adjust their marks.

    Use it if several judges, models or people, mark answers. Then fit ``responses``.

    Parameters
    ----------
    ratings : path, data frame or ResponseMatrix
        A long table with a row per mark, or logs of Inspect with several scorers. A matrix is one
        that :func:`irtkit.read_responses` read with ``judge=``.
    family : str, mapping or Series, optional
        Family of each system, to test whether a judge favours one: by label, or the column that
        holds it.
    score_range : pair, optional
        Worst and best mark, such as (1, 5). By default (0, 1).
    **reading
        How to read ratings, as in :func:`irtkit.read_responses`. ``judge`` is the column of
        judges, by default the one with a usual name. ``metric`` names the judges in logs.

    Returns
    -------
    Judges
        ``table``, ``favours``, ``reliability``, ``findings`` and ``responses``.

    Raises
    ------
    TypeError, ValueError
        If ratings cannot be read, a mark is outside the range, a judge marks one answer twice, or
        there is only one judge.

    Notes
    -----
    A mark is the sum of a system, an item, a judge and what is the answer's own. Severities are
    its generalised least squares, with errors clustered by system and by item. Without answers
    that two judges mark, systems and items alone connect the judges.

    Marks beyond the ends of the scale are cut off after the adjustment.

    See Also
    --------
    irtkit.fit, irtkit.read_responses

    References
    ----------
    Linacre (1989), *Many-Facet Rasch Measurement*. MESA Press.
    Brennan (2001), *Generalizability Theory*. Springer.
    Benjamini & Hochberg (1995), *Journal of the Royal Statistical Society B* 57, 289–300.

    Examples
    --------
    >>> import irtkit
    >>> import pandas as pd
    >>> ratings = pd.DataFrame(
    ...     {
    ...         "model": [*"aabbccdd"],
    ...         "item": ["q1", "q2"] * 4,
    ...         "strict": [1, 2, 2, 2, 3, 3, 3, 4],
    ...         "lenient": [2, 3, 3, 4, 4, 4, 5, 5],
    ...     }
    ... ).melt(["model", "item"], var_name="judge", value_name="score")
    >>> irtkit.judges(ratings, score_range=(1, 5)).table["severity"].round(2).to_dict()
    {'strict': 0.62, 'lenient': -0.62}
    """
    import pandas as pd

    if hasattr(score_range, "items"):
        raise ValueError("score_range must be a pair for all items, such as (1, 5)")
    matrix = _read(ratings, family, score_range, reading)
    table = matrix.item_table
    if table is None or not {"judge", "judged_item"} <= {*table.columns}:
        raise ValueError("ratings lack judges. Read them with judge=, which names their column")
    right, tried = matrix.observed
    column = right.indices
    of_judge, names = pd.factorize(table["judge"].to_numpy()[column])
    of_item, items = pd.factorize(table["judged_item"])
    if len(names) < 2:
        raise ValueError(
            f"judges needs marks of two judges or more, got {len(names)}: {names[0]!r}. Without "
            "the column of judges, irtkit.fit takes the marks (irtkit fit)"
        )
    system = np.repeat(np.arange(matrix.n_respondents), np.diff(right.indptr))
    marks = right.data / tried.data
    shape = matrix.n_respondents, len(items), len(names)
    rated = Ratings(system, of_item[column], of_judge, marks.astype(np.float64), shape)
    declared = score_range if matrix.source is None else matrix.source.settings.get("score_range")
    scale = abs(float(declared[1]) - float(declared[0])) if declared is not None else 1.0
    estimates = severities(rated)
    adjusted = rated.mark + estimates.severity[rated.judge]
    agreed = agreement(rated, adjusted)
    columns = {
        "n_marks": np.bincount(rated.judge, minlength=len(names)),
        "severity": scale * estimates.severity,
        "severity_se": scale * np.sqrt(np.maximum(np.diag(estimates.covariance), 0.0)),
        "consistency": agreed.consistency,
        "agreement": agreed.correlation,
    }
    of_judges = pd.DataFrame(columns, pd.Index(names, name="judge"))
    of_system, families = _families(family, matrix)
    index = pd.MultiIndex.from_product([names, families], names=["judge", "family"])
    tests = preferences(rated, adjusted, of_system)
    favours = pd.DataFrame({name: values.ravel() for name, values in tests.items()}, index)
    favours[["difference", "se"]] *= scale
    reliability = _reliability(rated, estimates, scale)
    findings = _findings(rated, estimates, matrix, names, agreed, reliability)
    findings += _preferred(rated, estimates, adjusted, of_system, favours)
    sparse = bool(reading.get("sparse", False))
    return Judges(
        table=of_judges.sort_values("severity", ascending=False, kind="stable"),
        favours=favours,
        reliability=reliability,
        responses=_adjusted(rated, adjusted, matrix, items, sparse=sparse),
        findings=tuple(findings),
    )


def _read(ratings: object, family: Any, score_range: Any, reading: dict[str, Any]) -> Any:
    """Ratings as a matrix, whose items are items as one judge marks them."""
    if isinstance(ratings, ResponseMatrix):
        return as_responses(ratings, **reading)
    how: dict[str, Any] = {"judge": USUAL, "score_range": score_range, **reading, "sparse": True}
    if isinstance(family, str):
        how["family"] = family
    return read_responses(ratings, **how)


def _families(family: Any, matrix: ResponseMatrix) -> tuple[Places, Any]:
    """Place of the family of each system, below 0 if it has none, and the families."""
    import pandas as pd

    if family is None:
        return np.full(matrix.n_respondents, -1), []
    given = by_label("family", family, matrix.respondents, matrix, "family")
    labels = [None if is_missing_label(label) else category_name(label) for label in given]
    return pd.factorize(np.array(labels, dtype=object))


def _adjusted(
    rated: Ratings, marks: Array, matrix: ResponseMatrix, items: Any, *, sparse: bool
) -> ResponseMatrix:
    """Marks plus the severity of their judge, within the range, averaged over judges."""
    means = np.bincount(rated.answer, np.clip(marks, 0.0, 1.0)) / rated.n_of_answer
    first = np.flatnonzero(np.diff(np.maximum.accumulate(rated.answer), prepend=-1))
    block = rated.system[first], rated.item[first], means
    labels = matrix.respondents, tuple(map(str, items))
    adjusted = ResponseMatrix.of_rows(block, labels, sparse=sparse)
    table: Any = matrix.item_table
    table = table.drop_duplicates("judged_item").set_index("judged_item").drop(columns="judge")
    source = matrix.source
    if source is not None:
        form = f"{source.format}, adjusted for the severity of {rated.shape[2]} judges"
        source = replace(source, format=form)
    described = table if len(table.columns) else None
    return adjusted.with_tables(described, matrix.respondent_table, source=source)


def _reliability(rated: Ratings, estimates: Severity, scale: float) -> Reliability:
    """Variances of the effects less those of their errors, in squared marks."""
    own = float(np.nan_to_num(estimates.answer_variance))
    per_answer = 1 / rated.n_of_answer[rated.answer]
    spread = []
    for places, effects in ((rated.system, estimates.system), (rated.item, estimates.item)):
        n_marks = np.bincount(places, minlength=len(effects))
        marked = n_marks > 0
        n_answers = np.bincount(places, per_answer, minlength=len(effects))[marked]
        error = own / n_answers + estimates.noise_variance / n_marks[marked]
        spread.append(_variance(effects[marked], error))
    spread.append(_variance(estimates.severity, np.diag(estimates.covariance)))
    variances = [*spread, estimates.answer_variance, estimates.noise_variance]
    n_answers = len(rated.n_of_answer)
    n_systems = len(np.unique(rated.system))
    scaled = [float(variance) * scale**2 for variance in variances]
    return Reliability(*scaled, n_answers / n_systems, len(rated.mark) / n_answers)


def _variance(effects: Array, error: Array) -> float:
    """Variance of effects without that of their errors."""
    return max(float(np.var(effects, ddof=1) - np.mean(error)), 0.0) if len(effects) > 1 else 0.0


def _findings(
    rated: Ratings,
    estimates: Severity,
    matrix: ResponseMatrix,
    names: Any,
    agreed: Agreement,
    reliability: Reliability,
) -> list[Finding]:
    """What the marks rest on, and what limits them."""
    n_systems, n_items, n_judges = rated.shape
    sizes = {"n": len(rated.mark), "n_judges": n_judges, "n_systems": n_systems, "n_items": n_items}
    findings = [Finding("judges-compared", "note", {**sizes, "each": reliability.n_judges})]
    n_groups = int(estimates.group.max()) + 1
    if n_groups > 1:
        groups = [", ".join(names[estimates.group == k]) for k in range(n_groups)]
        values: dict[str, Any] = {"n": n_groups, "groups": groups}
        findings.append(Finding("judges-not-connected", "warning", values))
    values = {"judges": reliability.judge**0.5, "systems": reliability.system**0.5}
    if values["judges"] > values["systems"]:
        findings.append(Finding("severities-exceed-systems", "warning", values))
    with np.errstate(invalid="ignore", divide="ignore"):
        deviate = np.arctanh(agreed.correlation) * np.sqrt(np.maximum(agreed.n - 3, 0))
    noisy = [*names[deviate < _ABOVE_CHANCE]]
    if noisy:
        findings.append(Finding("judge-noise", "warning", {"n": len(noisy), "judges": noisy}))
    once = np.flatnonzero(np.bincount(rated.system, minlength=n_systems) == 1)
    if len(once):
        systems = [matrix.respondents[k] for k in once]
        findings.append(Finding("judged-once", "warning", {"n": len(once), "systems": systems}))
    needed = reliability.judges_needed
    values = {"value": reliability.value, "n_items": round(reliability.n_items)}
    values["each"] = reliability.n_judges
    values["needed"] = int(needed) if math.isfinite(needed) else None
    values["never"] = _RELIABLE if needed == math.inf else None
    findings.append(Finding("marks-reliable", "note", values))
    return findings


def _preferred(
    rated: Ratings, estimates: Severity, marks: Array, of_system: Places, favours: pd.DataFrame
) -> list[Finding]:
    """Families that judges favour or disfavour, the surest first.

    Each difference is taken out of the marks before the next test, since the other judges, who are
    compared with this one, would seem to have the opposite preference. Ranks are those of the
    effects of systems, with and without the difference.
    """
    n_systems = rated.shape[0]
    part = 1 / rated.n_of_answer[rated.answer]
    answers = np.maximum(np.bincount(rated.system, part, minlength=n_systems), part.min())
    marks = marks.copy()
    findings = []
    for _ in range(len(favours)):
        tests = preferences(rated, marks, of_system)
        p, difference = tests["p_value"].ravel(), tests["difference"].ravel()
        surest = int(np.lexsort((-difference, p.round(_SAME_P)))[0])
        judge, family = np.unravel_index(surest, tests["p_value"].shape)
        if not tests["q_value"].ravel()[surest] <= _FDR:
            break
        favoured = (rated.judge == judge) & (of_system[rated.system] == family)
        marks[favoured] -= difference[surest]
        share = np.bincount(rated.system, part * favoured, minlength=n_systems) / answers
        without = estimates.system - difference[surest] * share
        values = dict(zip(favours.index.names, favours.index[surest], strict=True))
        values["n"] = n_systems
        values["moved"] = int((_ranks(without) != _ranks(estimates.system)).sum())
        values["difference"] = abs(float(favours["difference"].iloc[surest]))
        values["q"] = float(tests["q_value"].ravel()[surest])
        values["how"] = "higher" if difference[surest] > 0 else "lower"
        findings.append(Finding("judge-favours", "warning", values))
    return findings


def _ranks(scores: Array) -> Places:
    return np.argsort(np.argsort(-scores, kind="stable"))
