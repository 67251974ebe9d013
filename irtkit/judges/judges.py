"""Ratings by several judges: severity, consistency, preferences, and marks without severity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import did_you_mean, short
from irtkit.findings import Finding, ReadingError, as_typed, warn
from irtkit.io.reading import READING, as_responses, matrix_of, read_responses
from irtkit.judges.agreement import agreement, preferences, surest
from irtkit.judges.severity import ITEM, JUDGE, SYSTEM, Ratings, severities
from irtkit.printed import Printed, Shown
from irtkit.responses import ResponseMatrix
from irtkit.responses.columns import USUAL, Names, listed
from irtkit.responses.labels import by_label, category_name
from irtkit.responses.levels import WIDEST
from irtkit.responses.proposals import ask
from irtkit.responses.tables import Settings
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array
    from irtkit.judges.severity import Places, Severity

_FDR = 0.05  # Rate of false ones among the preferences that are named.
_LEVEL = 0.05  # Of the test that systems differ.
_RELIABLE = 0.9  # Reliability for which judges are counted.
_STANDINGS = {
    "noise": "judge-noise",
    "reversed": "judge-reversed",
    "constant": "judge-constant",
    "opposed": "judges-opposed",
    "disagrees": "judges-disagree",
    "unclear": "judges-unclear",
}
"""Findings by how a judge stands to the others."""
_FAULTY = ("noise", "reversed", "constant")  # Their marks say nothing about preferences of others.
_GOOD = ("usable", "agrees with others")


class Reliability(NamedTuple):
    """Variances of marks, and how reliable the mean mark of a system is (Brennan 2001).

    The variance of answers is NaN if no answer has two marks. Noise then includes it, and
    reliability is known for one judge per answer alone. The variance of systems is NaN if judges
    are not connected.
    """

    system: float
    item: float
    judge: float
    answer: float
    noise: float
    n_items: float  #: Answers of a system, on average.
    n_judges: float  #: Marks of an answer, on average.
    severity: float  #: Variance between systems by the errors of their judges' severities.
    p_value: float  #: Of the F test that systems do not differ, NaN if unknown.

    def of(self, n_items: float, n_judges: float) -> float:
        """Return the reliability of a mean over some items, with so many judges per answer."""
        error = (np.nan_to_num(self.answer) + self.noise / n_judges) / n_items
        return float(self.system / max(self.system + error + self.severity, 1e-300))

    @property
    def judges_needed(self) -> float:
        """Judges per answer for a reliability of 0.9 on as many items, NaN if unknown."""
        of_error = self.system * (1 / _RELIABLE - 1) - self.severity
        allowed = self.n_items * of_error - self.answer
        return math.inf if allowed <= 0 else max(float(np.ceil(self.noise / allowed)), 1.0)


@dataclass(frozen=True)
class Judges(Printed):
    """What :func:`irtkit.judges` found about judges. ``print`` shows it."""

    table: pd.DataFrame = field(repr=False)
    """Judges, the strictest first: n_marks, severity (how much worse its marks are than those of
    all judges on average, in marks), severity_se (1.96 of it is a 95 % interval), consistency
    (share of the variance of its marks that it has in common with other judges, of what their
    numbers of each mark allow, NaN if no two others agree), agreement (correlation with the
    consensus of the others), verdict (whether it is usable, or why not)."""
    favours: pd.DataFrame = field(repr=False)
    """Judge and family: difference (how much better the judge marks systems of the family than
    the others do, compared with all other systems, those without a family too, in marks), se,
    p_value, q_value. Two judges, or two families, have the same tests with opposite signs."""
    reliability: Reliability
    responses: ResponseMatrix  #: Marks plus severity, averaged over judges, from 0 to 1.
    findings: tuple[Finding, ...]  #: What limits the marks. ``str`` of a finding is its message.

    @property
    def is_comparable(self) -> bool:
        """Whether the adjusted marks of all systems can be compared."""
        return not any(finding.values.get("n_apart") for finding in self.findings)

    @property
    def faulty(self) -> list[str]:
        """Judges whose marks say nothing: those of noise, reversed and constant ones."""
        return [*self.table.index[self.table["verdict"].isin(_FAULTY)]]

    @property
    def tested(self) -> pd.DataFrame:
        """Rows of ``favours`` with a test, the surest first; of two with opposite signs one."""
        return surest(self.favours)

    def shown(self) -> Shown:
        """Return the judges, whom they favour, and what limits their marks."""
        is_tested = self.favours["p_value"].notna().any()
        preference = "no preference was found" if is_tested else "preferences untested"
        usable = f"usable: agrees with the others, consistency of 0.5 or more, {preference}"
        legend = (
            *([usable] if "usable" in set(self.table["verdict"]) else []),
            "severity: how much worse than all judges on average it marks, in marks",
            "consistency: share of variance in common with the others, of at least three judges",
            "agreement: correlation with the consensus of the other judges",
        )
        table = self.table.rename(columns={"n_marks": "marks", "severity_se": "se"})
        tested = self.tested.reset_index(level="family")
        meaning = (
            "difference: how much better than the others it marks the family",
            "Where one judge favours it, others seem to slight it. The verdict allows for that",
            "q value: p-value adjusted for all judges and families (false-discovery rate)",
            "A difference of two judges or two families is shown once, where it is above 0",
        )
        further = [Shown("judges and families", tested, meaning)] if len(tested) else []
        return Shown("judges, the strictest first", table, legend, self.findings, further)

    def __repr__(self) -> str:
        return f"Judges({len(self.table)} judges, {self.responses!r})"


@one_thread()
def judges(
    ratings: object,
    family: Any = None,
    score_range: Any = None,
    *,
    drop: Names = None,
    **reading: Any,
) -> Judges:
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
    drop : str or list of str, optional
        Judges to leave out.
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

    Warns
    -----
    irtkit.IRTWarning
        With the code "judges-not-connected", if no marks compare judges of different systems. The
        adjusted marks of these systems cannot be compared, and the command does not write them.

    Notes
    -----
    A mark is the sum of a system, an item, a judge and what is the answer's own. Severities are
    its generalised least squares, with errors clustered by system and by item, or those of the
    model where these are larger, as with few answers that compare judges. Without answers that
    two judges mark, systems and items alone connect the judges. The severity of a judge that no
    mark compares with others is NaN.

    The scores of systems share the errors of their judges' severities, which widen the intervals of
    scores, ranks and differences of systems of different judges, but not those of abilities.

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

    of_reading: list[Finding] = []
    matrix = _read(ratings, family, score_range, reading, of_reading)
    rated, best, names, items = _rated(matrix, listed(drop))
    labels = [None] * matrix.n_respondents
    if family is not None:
        labels = by_label("family", family, matrix.respondents, matrix, "family")
    of_families = [category_name(label) or None for label in labels]
    of_system, families = pd.factorize(pd.Series(of_families, dtype=object))
    estimates = severities(rated)
    adjusted = rated.mark + estimates.severity[rated.places[JUDGE]]
    compared = rated.chosen(rated.n_marks > 1, adjusted)
    consistency, correlation, standing = agreement(compared)
    is_faultless = ~np.isin(standing, _FAULTY)[compared.places[JUDGE]]
    faultless = compared.chosen(is_faultless, compared.mark)
    compared = faultless.chosen(faultless.n_marks > 1, faultless.mark)
    level = rated.sums(adjusted, SYSTEM) / np.maximum(rated.sums(None, SYSTEM), 1)
    index = pd.MultiIndex.from_product([names, families], names=["judge", "family"])
    favours = preferences(compared, level, of_system, index)
    reliability = _reliability(estimates)
    findings = _findings(estimates, matrix, names, standing, reliability)
    preferred = _preferred(rated, compared, level, of_system, favours)
    findings += preferred
    untested = int(favours["p_value"].isna().sum())
    if untested:
        values = {"n": untested, "n_pairs": len(favours)}
        findings.append(Finding("preferences-not-tested", "note", values))
    is_compared = np.bincount(estimates.group)[estimates.group] > 1
    columns = {
        "n_marks": rated.sums(None, JUDGE),
        "severity": np.where(is_compared, estimates.severity, np.nan),
        "severity_se": np.where(is_compared, np.sqrt(estimates.variance), np.nan),
        "consistency": consistency,
        "agreement": correlation,
        "verdict": [*map(_verdict, names, standing, repeat(preferred))],
    }
    table = pd.DataFrame(columns, pd.Index(names, name="judge"))
    table = table.sort_values("severity", ascending=False, kind="stable")
    rows = {"judges": _rows(table), "favours": _rows(surest(favours))}
    findings[0] = replace(findings[0], values={**findings[0].values, **rows})
    return Judges(
        table=table,
        favours=favours,
        reliability=reliability,
        responses=_adjusted(estimates, adjusted / best, best, matrix, items, findings),
        findings=(*of_reading, *findings),
    )


def _read(
    ratings: object,
    family: Any,
    score_range: Any,
    reading: dict[str, Any],
    findings: list[Finding],
) -> Any:
    """Ratings as a matrix, whose items are items as one judge marks them.

    Without a range, whole marks from 0 or 1 without a gap have theirs, which is a finding.
    """
    if hasattr(score_range, "items"):
        raise ValueError("score_range must be a pair for all items, such as (1, 5)")
    for name in reading:
        if name not in READING:
            similar = did_you_mean(name, ("family", "score_range", "drop", *READING))
            raise TypeError(f"judges() got an unexpected keyword argument {short(name)}{similar}")
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
        place = error.place
    widest = Settings(**how | {"score_range": WIDEST})
    right, tried = matrix_of(ratings, widest, [])[0].observed
    marks = np.unique((WIDEST[1] * (right.data / tried.data)).round(4))
    high = int(marks[-1])
    low = min(int(marks[0]), 1)
    if not np.array_equal(marks, np.arange(low, high + 1)):
        values = {"low": marks[0], "high": marks[-1]}
        choices = ask("range", score_range=(low, high)), ask("score-range", score_range=...)
        raise ReadingError(Finding("range-not-declared", "error", values, choices), place)
    findings.append(Finding("range-taken", "note", {"low": low, "high": high}))
    return read_responses(ratings, **how | {"score_range": (low, high)})


def _rated(matrix: ResponseMatrix, drop: list[str]) -> tuple[Ratings, float, Any, Any]:
    """Marks from 0 for the worst, the best one, and labels of judges and items."""
    import pandas as pd

    described = matrix.item_table
    if matrix.source is None or described is None or "judged_item" not in described:
        raise ValueError("ratings lack judges. Read them with judge=, which names their column")
    every = described["judge"].unique()
    for name in drop:
        if name not in every:
            similar = did_you_mean(name, every)
            raise ValueError(f"drop names {short(name)}, which is not a judge{similar}")
    right, tried = matrix.observed
    system, column = right.tocoo().coords
    is_marked = np.bincount(column, minlength=len(described)) > 0
    is_used = (~described["judge"].isin(drop) & is_marked).to_numpy()
    judge, names = pd.factorize(described["judge"][is_used])
    item, items = pd.factorize(described["judged_item"][is_used])
    shape = matrix.n_respondents, len(items), len(names)
    for n, facet in zip(shape, ("systems", "items", "judges"), strict=True):
        if n < 2:
            instead = as_typed(". <irtkit.fit|irtkit fit> takes the marks of one judge")
            raise ValueError(
                f"judges needs two {facet} or more, got {n}{instead * (facet == 'judges')}"
            )
    worst, best = matrix.source.settings.get("score_range") or (0, 1)
    scale = abs(float(best - worst))
    kept = is_used[column]
    marks = scale * right.data[kept] / tried.data[kept].astype(np.float64)
    number = (np.cumsum(is_used) - 1)[column[kept]]
    places = np.stack([system[kept], item[number], judge[number]])
    return Ratings(marks, places, shape), scale, names, items


def _adjusted(
    estimates: Severity,
    fractions: Array,
    best: float,
    matrix: ResponseMatrix,
    items: Any,
    findings: list[Finding],
) -> ResponseMatrix:
    """Adjusted marks within the range, averaged over judges, from 0 to 1."""
    described: Any = matrix.item_table
    described = described.drop_duplicates("judged_item").set_index("judged_item")
    described = described.drop(columns="judge").rename_axis("item")
    source: Any = matrix.source
    errors = map(tuple, (estimates.errors_of_systems / best).tolist())
    shared_errors = dict(zip(matrix.respondents, errors, strict=True))
    source = replace(source, adjustment=tuple(findings), shared_errors=shared_errors)
    tables = described if len(described.columns) else None, matrix.respondent_table
    rated = estimates.ratings
    with np.errstate(invalid="ignore"):
        means = rated.sums(np.clip(fractions, 0.0, 1.0), SYSTEM, ITEM)
        means /= rated.sums(None, SYSTEM, ITEM)
    return ResponseMatrix(means, matrix.respondents, items).with_tables(*tables, source=source)


def _reliability(estimates: Severity) -> Reliability:
    """Variances of the effects less the variances of their errors.

    The F test compares the variance of systems with that of their errors, by the degrees of freedom
    of answers.
    """
    from scipy.special import fdtrc

    rated = estimates.ratings
    noise = float(estimates.noise_variance)
    of_answers = float(estimates.answer_variance)
    n_answers = float((1 / rated.n_marks).sum())
    n_judges = len(rated.mark) / n_answers
    n_systems, n_items, _ = rated.shape
    error = (np.nan_to_num(of_answers) + noise / n_judges) / n_answers
    effects = [*estimates.effects, estimates.severity]
    severity = float(estimates.errors_of_systems.var(axis=0, ddof=1).sum())
    errors = [error * n_systems + severity, error * n_items, estimates.variance.mean()]
    spread = [np.var(values, ddof=1) for values in effects]
    variances = np.maximum(np.subtract(spread, errors), 0.0)
    n_free = n_answers - n_systems - n_items + 1
    in_excess = spread[SYSTEM] / errors[SYSTEM] if errors[SYSTEM] > 0 else math.inf
    if of_answers >= 0:
        in_excess *= n_free / n_answers
    n_free = min(n_free, len(rated.mark) - sum(rated.shape) + 2)
    p_value = float(fdtrc(n_systems - 1, n_free, in_excess)) if n_free > 0 else math.nan
    if estimates.group.any():  # systems that different groups marked are not comparable
        variances[SYSTEM] = np.nan
    system, item, judge = variances.tolist()
    each = n_answers / n_systems, n_judges
    return Reliability(system, item, judge, of_answers, noise, *each, severity, p_value)


def _findings(
    estimates: Severity,
    matrix: ResponseMatrix,
    names: Any,
    standing: Any,
    reliability: Reliability,
) -> list[Finding]:
    """What the marks rest on, and what limits them."""
    rated = estimates.ratings
    n_systems, n_items, n_judges = rated.shape
    values: dict[str, Any] = {
        "n": len(rated.mark),
        "n_systems": n_systems,
        "n_items": n_items,
        "n_judges": n_judges,
        "each": reliability.n_judges,
    }
    faulty = names[np.isin(standing, _FAULTY)].tolist()
    p = reliability.p_value
    reasons = {  # Why reliability is not known: the first that holds.
        "names": faulty,
        "judges": names[np.isin(standing, ("opposed", "disagrees"))].tolist(),
        "n": round(reliability.n_items * n_systems) if np.isnan(p) else 0,
        "p": p if p >= _LEVEL else 0.0,
    }
    unknown = dict([pair for pair in reasons.items() if pair[1]][:1])
    is_connected = not estimates.group.any()
    if is_connected and not unknown:
        values["value"] = reliability.of(reliability.n_items, reliability.n_judges)
        values["least"] = 2 if np.isnan(reliability.answer) else None
        if math.isfinite(reliability.judges_needed):
            values["needed"] = int(reliability.judges_needed)
    findings = [Finding("judges-compared", "note", values)]
    n_marks = rated.sums(None, SYSTEM)
    if is_connected:
        if unknown:
            findings.append(Finding("reliability-not-known", "note", unknown))
        of_judges = (rated.shares_of(None) @ estimates.severity)[n_marks > 0].std(ddof=1)
        of_systems = estimates.effects[SYSTEM].std(ddof=1)
        if not faulty and of_judges > of_systems:
            values = {"judges": of_judges, "systems": of_systems}
            findings.append(Finding("severities-exceed-systems", "warning", values))
    else:
        is_member = estimates.group[:, None] == np.unique(estimates.group)
        marked = rated.sums(None, SYSTEM, JUDGE) @ is_member
        values = {
            "n": is_member.shape[1],
            "groups": [", ".join(names[members]) for members in is_member.T],
            "n_apart": int((marked == 0).any(axis=1).sum()) or None,
        }
        findings.append(Finding("judges-not-connected", "warning", values))
        if values["n_apart"]:
            warn(findings[-1])
    named = {code: names[standing == word].tolist() for word, code in _STANDINGS.items()}
    named["faulty-judges"] = faulty
    named["judged-once"] = np.array(matrix.respondents)[n_marks == 1].tolist()
    for code, labels in named.items():
        if labels:
            values = {"n": len(labels), "names": labels}
            findings.append(Finding(code, "warning", values))
    return findings


def _preferred(
    rated: Ratings,
    compared: Ratings,
    level: Array,
    of_system: Places,
    favours: pd.DataFrame,
) -> list[Finding]:
    """Families that judges favour or disfavour, the surest first.

    Each difference is taken out of the marks before the next test, since the other judges, who are
    compared with this one, would seem to have the opposite preference. Ranks are by the mean
    adjusted marks, with and without the difference. A judge is blamed if fewer than half of those
    that it is compared with, and itself, have a difference.
    """
    from scipy.stats import rankdata

    names = favours.index.unique("judge")
    families = favours.index.unique("family")
    differences: dict[Any, dict[str, Any]] = {}
    shares = rated.shares_of(None)
    tests = favours
    while True:
        likely = surest(tests[tests["q_value"] <= _FDR])
        likely = likely.drop(index=[*differences], errors="ignore")
        if likely.empty:
            break
        name, family = pair = likely.index[0]
        difference, q = likely[["difference", "q_value"]].iloc[0].tolist()
        judge = names.get_loc(name)
        is_member = of_system == families.get_loc(family)
        without = level - difference * shares[:, judge] * is_member
        differences[pair] = {
            "judge": name,
            "family": family,
            "difference": float(favours["difference"][pair]),
            "q": q,
            "moved": int((rankdata(without) != rankdata(level)).sum()),
            "n": len(level),
        }
        system, _, of_judge = compared.places
        compared.mark[is_member[system] & (of_judge == judge)] -= difference
        tests = preferences(compared, level, of_system, favours.index)
    findings: dict[Any, Finding] = {}
    for (name, family), values in differences.items():
        n_shared = compared.products(np.ones_like(compared.mark))[names.get_loc(name)]
        panel = names[n_shared > 0].tolist()
        n_different = sum((member, family) in differences for member in panel)
        if 2 * n_different < len(panel):
            values["names"] = [name]
            findings[name, family] = Finding("judge-favours", "warning", values)
        else:
            values |= {"n_judges": len(panel), "names": panel}
            finding = Finding("judges-differ-on-family", "warning", values)
            findings.setdefault((*panel, family), finding)
    return [*findings.values()]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as JSON has them, for the page of a fit."""
    labelled = table.reset_index().astype(object)
    rows: Any = labelled.where(labelled.notna(), None).to_dict("records")
    return list(rows)


def _verdict(name: str, standing: str, preferred: list[Finding]) -> str:
    """Whether a judge is usable, or why not."""
    limits = [] if standing in _GOOD else [standing]
    for finding in preferred:
        values = finding.values
        if name in values["names"]:
            verb = "differs on"
            if finding.code == "judge-favours":
                verb = "favours" if values["difference"] > 0 else "is against"
            limits.append(f"{verb} {values['family']}")
    return ", ".join(dict.fromkeys(limits)) or standing
