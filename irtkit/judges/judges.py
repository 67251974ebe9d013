"""Ratings by several judges: severity, consistency, preferences, and marks without severity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.findings import Finding, ReadingError
from irtkit.io.reading import as_responses, matrix_of, read_responses
from irtkit.judges.agreement import Answers, agreement, preferences
from irtkit.judges.severity import ITEM, JUDGE, SYSTEM, Ratings, severities
from irtkit.printed import Printed, Shown
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import USUAL
from irtkit.responses.labels import by_label, category_name
from irtkit.responses.levels import WIDEST
from irtkit.responses.tables import Settings
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array
    from irtkit.judges.agreement import Agreement
    from irtkit.judges.severity import Places, Severity

_TESTS = "difference", "se", "p_value", "q_value"
_LEAST_P = 0.001  # p-values below it are shown as such.
_FDR = 0.05  # Rate of false ones among the preferences that are named.
_RELIABLE = 0.9  # Reliability for which judges are counted.
_MOST_JUDGES = 100  # Per answer, which are thought of.
_SAME = 12  # Decimals of one test, that of two judges or families from either side.
_HALF = 0.5  # Consistency below which a judge adds more noise than judgement.
_STANDINGS = {
    "noise": "judge-noise",
    "reversed": "judge-reversed",
    "constant": "judge-constant",
    "opposed": "judges-opposed",
    "disagrees": "judges-disagree",
    "in a camp": "judges-in-camps",
}
"""Findings by how a judge stands to the others."""
_FAULTY = ("noise", "reversed", "constant")  # Their marks say nothing about preferences of others.


class Reliability(NamedTuple):
    """Variances of marks, and how reliable the mean mark of a system is (Brennan 2001).

    The variance of answers is NaN if no answer has two marks. Noise then includes it, and
    reliability is known for one judge per answer alone.
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
        error = (np.nan_to_num(self.answer) + self.noise / n_judges) / n_items
        return float(self.system / max(self.system + error, 1e-300))

    @property
    def judges_needed(self) -> float:
        """Judges per answer for a reliability of 0.9 on as many items, NaN if unknown."""
        if math.isnan(self.answer):
            return math.nan
        enough = (n for n in range(1, _MOST_JUDGES) if self.of(self.n_items, n) >= _RELIABLE)
        return next(enough, math.inf)


@dataclass(frozen=True)
class Judges(Printed):
    """What :func:`irtkit.judges` found about judges. ``print`` shows it."""

    table: pd.DataFrame = field(repr=False)
    """Judges, the strictest first: n_marks, severity (how much worse its marks are than those of
    all judges on average, in marks), severity_se (1.96 of it is a 95 % interval), consistency
    (share of the variance of its marks that it has in common with other judges, NaN if no two
    others agree), agreement (correlation with the consensus of the others), verdict (whether it is
    usable, or why not)."""
    favours: pd.DataFrame = field(repr=False)
    """Judge and family: difference (how much better the judge marks systems of the family than
    the others do, compared with all other systems, those without a family too, in marks), se,
    p_value, q_value. Two judges, or two families, have the same tests with opposite signs."""
    reliability: Reliability
    responses: ResponseMatrix  #: Marks plus severity, averaged over judges, from 0 to 1.
    findings: tuple[Finding, ...]  #: What limits the marks. ``str`` of a finding is its message.

    @property
    def tested(self) -> pd.DataFrame:
        """Rows of ``favours`` with a test, the surest first; of two with opposite signs one."""
        tested = self.favours.dropna()
        tested = tested.sort_values("difference", ascending=False, kind="stable")
        size = tested[["difference", "p_value"]].abs().round(_SAME)
        return tested[~size.duplicated()].sort_values("p_value", kind="stable")

    def shown(self) -> Shown:
        """Return the judges, whom they favour, and what limits their marks."""
        legend = (
            "usable: agrees with the others, consistency of 0.5 or more, favours nobody",
            "severity: how much worse than all judges on average it marks, in marks",
            "consistency: share of the variance of its marks that it has in common with the others",
            "agreement: correlation with the consensus of the other judges",
        )
        table = self.table.rename(columns={"n_marks": "marks", "severity_se": "se"})
        tested = self.tested.reset_index(level="family")
        for name in ("p_value", "q_value"):
            tested[name] = [f"{p:.3f}" if p >= _LEAST_P else "<0.001" for p in tested[name]]
        meaning = (
            "difference: how much better than other judges it marks the family, in marks",
            "q_value: p-value adjusted for all judges and families (false-discovery rate)",
            "A difference of two judges or two families is shown once, where it is above 0",
        )
        further = [Shown("judges and families", tested, meaning)] if len(tested) else []
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
        Worst and best mark, such as (1, 5). By default (0, 1), or the lowest and the highest mark
        if all are whole numbers from 0 or 1 without a gap.
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
    its generalised least squares, with errors clustered by system and by item, or those of the
    model where these are larger, as with few answers that compare judges. Without answers that
    two judges mark, systems and items alone connect the judges. The severity of a judge that no
    mark compares with others is NaN.

    Marks beyond the ends of the scale are cut off after the adjustment. In simulations intervals of
    severities cover the true one in 91 to 97 %, 5 to 6 % of the tests of a judge and family without
    a preference have p < 0.05, and a preference of 0.15 marks for ten of 30 systems has it in 82 %
    (`docs/accuracy.md`).

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
    findings: list[Finding] = []
    matrix = _read(ratings, family, score_range, reading, findings)
    rated, names, items = _rated(matrix)
    source = matrix.source
    declared = score_range if source is None else source.settings.get("score_range")
    scale = 1.0 if declared is None else float(abs(np.subtract(*declared)))
    labels: list[Any] = [None] * matrix.n_respondents
    if family is not None:
        labels = by_label("family", family, matrix.respondents, matrix, "family")
    labels = [category_name(label) or None for label in labels]
    of_system, families = pd.factorize(np.array(labels, dtype=object))
    estimates = severities(rated)
    marks = rated.mark + estimates.severity[rated.places[JUDGE]]
    answers = Answers.of(rated, marks)
    agreed = agreement(answers)
    is_faulty = np.isin(agreed.standing, _FAULTY)
    answers = replace(answers, marks=np.where(is_faulty, np.nan, answers.marks))
    level = rated.level(marks)
    tests = preferences(answers, level, of_system)
    index = pd.MultiIndex.from_product([names, families], names=["judge", "family"])
    favours = pd.DataFrame(tests.reshape(4, -1).T, index, [*_TESTS])
    favours[["difference", "se"]] *= scale
    reliability = _reliability(rated, estimates, scale)
    preferred = _preferred(rated, estimates, answers, level, of_system, favours)
    findings += _findings(rated, estimates, matrix, names, agreed, reliability)
    findings += preferred
    untested = int(favours["p_value"].isna().sum())
    if untested:
        values = {"n": untested, "n_pairs": len(favours)}
        findings.append(Finding("preferences-not-tested", "note", values))
    compared = np.bincount(estimates.group)[estimates.group] > 1
    columns = {
        "n_marks": np.bincount(rated.places[JUDGE]),
        "severity": np.where(compared, scale * estimates.severity, np.nan),
        "severity_se": np.where(compared, scale * np.sqrt(estimates.variance), np.nan),
        "consistency": agreed.consistency,
        "agreement": agreed.correlation,
        "verdict": _verdicts(names, agreed, preferred),
    }
    table = pd.DataFrame(columns, pd.Index(names, name="judge"))
    return Judges(
        table=table.sort_values("severity", ascending=False, kind="stable"),
        favours=favours,
        reliability=reliability,
        responses=_adjusted(rated, marks, matrix, items, findings),
        findings=tuple(findings),
    )


def _verdicts(names: Any, agreed: Agreement, preferred: list[Finding]) -> list[str]:
    """Whether each judge is usable, or why not, in words."""
    is_noisy = agreed.consistency < _HALF
    is_usable = agreed.consistency >= _HALF
    cases = [agreed.standing != "agrees", is_noisy, is_usable]
    words = np.select(cases, [agreed.standing, "noisy", "usable"], "agrees with others")
    verdicts = dict(zip(names, words.tolist(), strict=True))
    for finding in preferred:
        values = finding.values
        verb = "favours" if values["difference"] > 0 else "is against"
        pair = [name for name in (values["judge"], values["other"]) if name is not None]
        verb = "differs on" if len(pair) > 1 else verb
        for name in pair:
            former = verdicts[name].removeprefix("usable").removeprefix("agrees with others")
            verdicts[name] = f"{former}, {verb} {values['family']}".removeprefix(", ")
    return [*verdicts.values()]


def _read(
    ratings: object, family: Any, score_range: Any, reading: dict[str, Any], findings: list[Finding]
) -> Any:
    """Ratings as a matrix, whose items are items as one judge marks them. Findings are added."""
    if isinstance(ratings, ResponseMatrix):
        return as_responses(ratings, **reading)
    how = {
        "judge": USUAL,
        **reading,
        "family": family if isinstance(family, str) else None,
        "score_range": score_range,
        "levels": False,
        "sparse": True,
    }
    try:
        return read_responses(ratings, **how)
    except ReadingError as error:
        if score_range is not None or error.finding.code != "levels":
            raise
        levels = _levels(ratings, how)
        if levels is None:
            raise
    findings.append(Finding("range-taken", "note", dict(zip(("low", "high"), levels, strict=True))))
    return read_responses(ratings, **how | {"score_range": levels})


def _levels(ratings: object, how: dict[str, Any]) -> tuple[int, int] | None:
    """Lowest and highest mark, if all marks are whole numbers from 0 or 1 without a gap."""
    settings = Settings(**how | {"score_range": WIDEST})
    right, tried = matrix_of(ratings, settings, [])[0].observed
    marks = np.unique(right.data / tried.data) * WIDEST[1]
    levels = np.rint(marks).astype(int)
    first, last = int(levels[0]), int(levels[-1])
    is_plain = np.allclose(marks, levels) and len(levels) == last - first + 1
    return (first, last) if is_plain and first in {0, 1} else None


def _rated(matrix: ResponseMatrix) -> tuple[Ratings, Any, Any]:
    """The marks in a matrix, and labels of judges and items."""
    import pandas as pd

    table: Any = matrix.item_table
    if table is None or not {"judge", "judged_item"} <= {*table.columns}:
        raise ValueError("ratings lack judges. Read them with judge=, which names their column")
    right, tried = matrix.observed
    columns = right.indices
    numbers, labels = pd.factorize(table["judge"])
    judge, seen = pd.factorize(numbers[columns])
    names = labels.to_numpy()[seen]
    item, items = pd.factorize(table["judged_item"].to_numpy())
    shape = matrix.n_respondents, len(items), len(names)
    for n, facet in zip(shape, ("systems", "items", "judges"), strict=True):
        if n < 2:
            remedy = ". irtkit.fit takes the marks of one judge (irtkit fit)"
            raise ValueError(
                f"judges needs two {facet} or more, got {n}{remedy * (facet == 'judges')}"
            )
    n_marks = np.diff(right.indptr)
    system = np.repeat(np.arange(len(n_marks)), n_marks)
    marks = right.data / tried.data.astype(np.float64)
    return Ratings(marks, (system, item[columns], judge), shape), names, items


def _adjusted(
    rated: Ratings,
    marks: Array,
    matrix: ResponseMatrix,
    items: Any,
    findings: list[Finding],
) -> ResponseMatrix:
    """Marks plus the severity of their judge, within the range, averaged over judges."""
    n = rated.table(SYSTEM, ITEM, np.ones_like(marks))
    n[n == 0] = np.nan
    means = rated.table(SYSTEM, ITEM, np.clip(marks, 0.0, 1.0)) / n
    described: Any = matrix.item_table
    described = described.drop_duplicates("judged_item").set_index("judged_item")
    described = described.drop(columns="judge").rename_axis("item")
    source = matrix.source
    if source is not None:
        form = f"{source.format}, adjusted for the severity of {rated.shape[JUDGE]} judges"
        source = replace(source, format=form, findings=(*source.findings, *findings))
    tables = described if len(described.columns) else None, matrix.respondent_table
    return ResponseMatrix(means, matrix.respondents, items).with_tables(*tables, source=source)


def _reliability(rated: Ratings, estimates: Severity, scale: float) -> Reliability:
    """Variances of the effects less those of their errors, in squared marks."""
    own, noise = estimates.answer_variance, estimates.noise_variance
    n_answers = float((1 / rated.n_marks).sum())
    n_judges = len(rated.mark) / n_answers
    error = np.nan_to_num(own) + noise / n_judges
    errors = [error * size / n_answers for size in rated.shape[:JUDGE]]
    errors.append(estimates.variance.mean())
    effects = [*estimates.effects, estimates.severity]
    variances = [
        max(float(np.var(values, ddof=1) - error), 0.0)
        for values, error in zip(effects, errors, strict=True)
    ]
    squared = (scale**2 * np.array([*variances, own, noise])).tolist()
    return Reliability(*squared, n_answers / rated.shape[SYSTEM], n_judges)


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
    needed = reliability.judges_needed
    n_groups = int(estimates.group.max()) + 1
    is_known = n_groups == 1  # else systems that different groups marked are not comparable
    values: dict[str, Any] = {
        "n": len(rated.mark),
        "n_judges": n_judges,
        "n_systems": n_systems,
        "n_items": n_items,
        "each": reliability.n_judges,
        "value": reliability.of(reliability.n_items, reliability.n_judges) if is_known else None,
        "needed": int(needed) if is_known and math.isfinite(needed) else None,
    }
    findings = [Finding("judges-compared", "note", values)]
    if not is_known:
        groups = [", ".join(names[estimates.group == k]) for k in range(n_groups)]
        values = {"n": n_groups, "groups": groups}
        findings.append(Finding("judges-not-connected", "warning", values))
    if reliability.judge > reliability.system:
        values = {"judges": reliability.judge**0.5, "systems": reliability.system**0.5}
        findings.append(Finding("severities-exceed-systems", "warning", values))
    for standing, code in _STANDINGS.items():
        limited = names[agreed.standing == standing]
        if len(limited):
            findings.append(Finding(code, "warning", {"n": len(limited), "names": [*limited]}))
    once = rated.total(SYSTEM, np.ones_like(rated.mark)) == 1
    if once.any():
        labels = np.array(matrix.respondents, dtype=object)[once]
        findings.append(Finding("judged-once", "warning", {"n": len(labels), "names": [*labels]}))
    return findings


def _preferred(
    rated: Ratings,
    estimates: Severity,
    answers: Answers,
    level: Array,
    of_system: Places,
    favours: pd.DataFrame,
) -> list[Finding]:
    """Families that judges favour or disfavour, the surest first.

    Each difference is taken out of the marks before the next test, since the other judges, who are
    compared with this one, would seem to have the opposite preference. Ranks are those of the
    effects of systems, with and without the difference. Of two judges that are compared with nobody
    else either may be the one that has a preference.
    """
    system, _, judge = rated.places
    n_answers = rated.total(SYSTEM, 1 / rated.n_marks)
    ranks = np.argsort(np.argsort(estimates.effects[SYSTEM]))
    findings = []
    is_named = np.zeros(len(favours), bool)
    for _ in range(len(favours)):
        tests = preferences(answers, level, of_system)
        difference, _, p, q = tests.reshape(4, -1)
        order = np.lexsort((-difference, p.round(_SAME), is_named))
        surest = int(order[0])
        if is_named[surest] or not q[surest] <= _FDR:
            break
        is_named[surest] = True
        of_judge, of_family = np.unravel_index(surest, tests.shape[1:])
        favoured = (judge == of_judge) & (of_system[system] == of_family)
        adjusted = answers.marks.copy()
        is_member = of_system[answers.places[SYSTEM]] == of_family
        adjusted[:, of_judge] -= difference[surest] * is_member
        answers = replace(answers, marks=adjusted)
        share = rated.total(SYSTEM, favoured / rated.n_marks) / np.maximum(n_answers, 1)
        without = estimates.effects[SYSTEM] - difference[surest] * share
        other = answers.only_other(int(of_judge))
        name, family = favours.index[surest]
        values = {
            "judge": name,
            "other": None if other is None else favours.index.unique("judge")[other],
            "family": family,
            "difference": float(favours["difference"].iloc[surest]),
            "q": float(q[surest]),
            "moved": int((np.argsort(np.argsort(without)) != ranks).sum()),
            "n": len(ranks),
        }
        code = "judge-favours" if other is None else "judges-differ-on-family"
        findings.append(Finding(code, "warning", values))
    return findings
