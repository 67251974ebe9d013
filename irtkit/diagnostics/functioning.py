"""Differential item functioning: items harder for one of two groups than ability explains.

In stratum k of respondents of equal ability, A_k and B_k of the focal group are right and wrong,
C_k and D_k of the reference group, N_k in all (Mantel & Haenszel 1959). With the hypergeometric
mean and variance,

    χ² = (Σ A_k − Σ E[A_k])² / Σ Var[A_k]

has one degree of freedom, here without a correction for continuity. The effect is the log of the
common odds ratio, Σ A_k D_k/N_k over Σ B_k C_k/N_k, with the standard error of Robins, Breslow &
Greenland (1986). Repeated trials enter as in Mantel (1963). Strata are by

    t = Σⱼ wⱼ(yⱼ − pⱼ) / (1 + Σⱼ wⱼ² pⱼ(1 − pⱼ))

over the anchors answered and the item itself (Holland & Thayer 1988).
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_number, check_one_of, first_names, short
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import blocks, patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, false_discovery
from irtkit.findings import Finding, Remedy, warn
from irtkit.io.reading import as_responses
from irtkit.responses.labels import by_label, category_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    Marks = NDArray[np.bool_]
    Places = NDArray[np.intp]

_LEAST_RESPONDENTS = 10  # Of a group: benchmarks/model_tests.py.
_MOST_ROUNDS, _FEWEST_ANCHORS = 10, 3
_PER_STRATUM = 10  # Respondents of the smaller group.
_FEWEST, _MOST = 5, 40  # Strata: five remove 9/10 of a difference of groups (Cochran 1968).
_PER_ANCHOR = 2  # Most strata per anchor: sums of few items have few values.
_CELLS_AT_ONCE = 2**22  # Of an item block: 32 MiB in each of its arrays.
_LEAST_SQUARES, _LEAST_VARIANCE = 1e-12, 1e-9  # Below them nothing can be compared.
_MOST_CORRELATED = 0.9  # Correlation of an item with the rest from which its slope grows no more.
_DELTA = 2.35  # Delta points of a logit, 4/1.7: the scale of Educational Testing Service.


def differential_functioning(
    responses: object,
    groups: Any,
    *,
    fdr: float = FALSE_DISCOVERY_RATE,
    anchors: Iterable[str] | None = None,
    reference: Any = None,
    focal: Any = None,
    cut: Any = None,
    **reading: Any,
) -> pd.DataFrame:
    """Find items that are harder for one of two groups than ability explains.

    Parameters
    ----------
    responses : FitResult, ResponseMatrix, or path
        A result of :func:`irtkit.fit` with its responses, a ResponseMatrix, or anything that
        :func:`irtkit.read_responses` takes, with its settings as ``reading``.
    groups : mapping, Series, list or str
        Group of every respondent, by label or in the order of the respondents, or a column of
        ``responses.respondent_table``. Those without a group, and synthetic ones, are left out.
    fdr : float, default 0.05
        False-discovery rate (Benjamini & Hochberg 1995).
    anchors : list of str, optional
        Labels of items known to be the same for both groups. By default, all items are anchors
        except those found to differ, in rounds.
    reference, focal : str, optional
        Names of the groups. The larger of two groups is the reference group by default. With more
        groups and only ``focal``, all others are the reference group.
    cut : float or date, optional
        Splits dates or numbers: respondents before it are the reference group.

    Returns
    -------
    pandas.DataFrame
        Index "item", in the order of the items. ``attrs`` holds the names of the groups under
        "reference" and "focal". Columns:

        - harder_for: the group for which the item is harder at equal ability, empty if the item is
          not found to differ.
        - log_odds_ratio, log_odds_ratio_se: of a right answer, focal group over reference group.
          delta: the same times 2.35.
        - statistic, df, p_value, q_value.
        - n_reference, n_focal: respondents who answered.
        - status: "ok", "anchor" (given, not tested) or "no variance" (all alike).

    Raises
    ------
    TypeError, ValueError
        If there are not two groups, a group has fewer than 10 respondents, an anchor is unknown, or
        the responses are sparse or not saved with the result.

    Warns
    -----
    irtkit.findings.IRTWarning
        With the code "design-effect" or "few-anchors".

    Notes
    -----
    The Mantel–Haenszel test matches on the sum of right answers weighted by slopes, and finds
    uniform effects only. It does not model guessing. Missing cells are taken as missing at random.
    For curves that cross, fit the reference group, then the focal group with ``fixed=`` the anchors
    of that fit, and compare the discriminations of the other items.

    Test statistics are divided by a design effect for near-duplicate respondents. It is
    conservative if families lie across groups, and does not cover a group of two to four families.

    References
    ----------
    Holland & Thayer (1988), in Wainer & Braun (eds.), *Test Validity*, 129–145.

    Examples
    --------
    >>> import numpy as np
    >>> import irtkit
    >>> rng = np.random.default_rng(0)
    >>> ability, leaked = rng.normal(size=(600, 1)), np.arange(20) == 7
    >>> late = np.arange(600) >= 300
    >>> easier = np.where(leaked, 1.5, 0.0) * late[:, None]
    >>> right = rng.random((600, 20)) < 1 / (1 + np.exp(-ability - easier))
    >>> groups = np.where(late, "late", "early")
    >>> found = irtkit.differential_functioning(right, groups)
    >>> found.loc[found["harder_for"] != "", ["harder_for", "status"]]
           harder_for status
    item
    item-8      early     ok
    """
    import pandas as pd

    check_number("fdr", fdr, above=0, below=1)
    require("differential_functioning", responses)
    if isinstance(responses, FitResult):
        responses = responses.saved_responses
    matrix = as_responses(responses, **reading)
    require("differential_functioning", matrix)
    everyone = patterns_of(matrix, synthetic_is_real=False)
    group, names = _groups(matrix, groups, cut, reference, focal)
    group[~everyone.answering] = -1
    for k, name in enumerate(names):
        if (n := np.count_nonzero(group == k)) < _LEAST_RESPONDENTS:
            raise ValueError(
                f"groups: {short(name)} has {n} respondents with a response, and the test needs "
                f"{_LEAST_RESPONDENTS} in each group to hold its level"
            )
    compared = np.flatnonzero(group >= 0)
    patterns = everyone.chosen(compared)
    is_focal = group[compared] == 1
    answered = patterns.cells >= 0 if patterns.trials is None else patterns.trials > 0
    items = np.flatnonzero(answered.any(axis=0))
    is_anchor = _anchors(anchors, matrix.items, items)
    patterns = patterns.with_columns(items)
    effect = _design_effect(patterns, is_focal)
    matching = Matching(patterns, is_focal)
    if is_anchor is None:
        values, p_value = _purified(matching, effect, fdr)
    else:
        values, p_value = _tested(matching, is_anchor[items], effect)
        p_value[is_anchor[items]] = np.nan
    statistic, log_odds_ratio, error = values
    q_value = false_discovery(p_value)
    harder_for = np.where(log_odds_ratio < 0, names[1], names[0])
    columns = {
        "harder_for": np.where(q_value <= fdr, harder_for, ""),
        "log_odds_ratio": log_odds_ratio,
        "log_odds_ratio_se": error * effect**0.5,
        "delta": _DELTA * log_odds_ratio,
        "statistic": np.where(np.isnan(p_value), np.nan, statistic / effect),
        "df": 1,
        "p_value": p_value,
        "q_value": q_value,
        "n_reference": answered[~is_focal][:, items].sum(axis=0),
        "n_focal": answered[is_focal][:, items].sum(axis=0),
        "status": np.where(np.isnan(statistic), "no variance", "ok").astype(object),
    }
    labels = pd.Index(matrix.items, name="item")
    unanswered = {"harder_for": "", "df": 1, "n_reference": 0, "n_focal": 0}
    table = pd.DataFrame(columns, labels[items]).reindex(labels)
    table = table.fillna(unanswered | {"status": "no variance"})
    table = table.astype(dict.fromkeys(("df", "n_reference", "n_focal"), int))
    if is_anchor is not None:
        table.loc[is_anchor, "status"] = "anchor"
    table.attrs = {"reference": names[0], "focal": names[1]}
    return table


def _anchors(anchors: Any, labels: tuple[str, ...], answered: Places) -> Marks | None:
    """Which items are given as anchors, or None. ``answered``: items with a response."""
    if anchors is None:
        return None
    if isinstance(anchors, str) or not isinstance(anchors, Iterable):
        raise TypeError(f"anchors must be several labels of items, got {short(anchors)}")
    wanted = {str(label) for label in anchors}
    if strange := sorted(wanted.difference(labels)):
        raise ValueError(
            f"anchors must be labels of items, and these are not: {first_names(strange)}"
        )
    is_anchor = np.array([label in wanted for label in labels])
    if (n := int(is_anchor[answered].sum())) < _FEWEST_ANCHORS:
        rule = f"{_FEWEST_ANCHORS} items or more that somebody answered"
        raise ValueError(f"anchors must be {rule}, got {n}")
    return is_anchor


def _groups(
    responses: ResponseMatrix, groups: Any, cut: Any, reference: Any, focal: Any
) -> tuple[NDArray[np.intp], tuple[str, str]]:
    """Group of every respondent, 0 (reference), 1 (focal) or −1, and the names of both.

    Respondents before a cut are the reference group. Without a reference, all others are.
    """
    values = by_label("groups", groups, responses.respondents, responses, "group")
    if cut is not None:
        if reference is not None or focal is not None:
            raise ValueError("cut defines both groups. Leave out reference and focal")
        return _by_cut(values, cut), (f"before {cut}", f"from {cut} on")
    labels = [category_name(value) for value in values]
    names = sorted(set(labels) - {""})
    first = None if reference is None else str(reference)
    second = None if focal is None else str(focal)
    for argument, name in (("reference", first), ("focal", second)):
        if name is not None:
            check_one_of(argument, name, names)
    if len(names) == 2:
        by_size = sorted(names, key=labels.count, reverse=True)
        first = first or next(name for name in by_size if name != second)
        second = second or next(name for name in by_size if name != first)
    if second is None or len(names) < 2 or first == second:
        raise ValueError(
            f"groups must be two, and are {len(names)}: {first_names(names) or 'none'}. Use focal= "
            "to compare one group with all others, reference= and focal= to compare two of them, "
            "and cut= to split dates or numbers"
        )
    label = np.array(labels, dtype=object)
    is_reference = label != "" if first is None else label == first
    group = np.where(is_reference, 0, -1)
    group[label == second] = 1
    return group, (first or "all others", second)


def _by_cut(values: list[Any], cut: Any) -> NDArray[np.intp]:
    """Whether dates or numbers lie from the cut on, −1 where missing."""
    import pandas as pd

    given = pd.Series(values, dtype=object)
    at = cut
    try:
        if isinstance(cut, Real):
            numbers = pd.to_numeric(given)
        else:
            numbers = pd.to_datetime(given, format="mixed", utc=True)
            at = pd.to_datetime(cut, utc=True)
    except (TypeError, ValueError) as error:
        rule = f"groups and cut must all be dates, or all numbers, and cut is {short(cut)}"
        raise ValueError(rule) from error
    return np.where(numbers.isna(), -1, numbers >= at).astype(np.intp)


def _design_effect(patterns: Patterns, focal: Marks) -> float:
    """Factor by which dependence widens the variance of a difference between groups, ≥ 1.

    If n respondents in a group answer like m independent ones, a difference of means has the
    variance 1/m_r + 1/m_f in place of 1/n_r + 1/n_f. The factor of all is used if larger.
    """
    whole = near_duplicates(patterns)
    if not whole.matter:
        return 1.0
    groups = [near_duplicates(patterns.chosen(np.flatnonzero(group))) for group in (~focal, focal)]
    independent = sum(1 / group.n for group in groups)
    variance = sum(1 / max(group.n_eff, 1.0) for group in groups)
    effect = max(variance / independent, whole.n / whole.n_eff)
    values = {"n": whole.n, "n_eff": round(whole.n_eff), "effect": effect}
    warn(Finding("design-effect", "warning", values))
    return effect


def _tested(matching: Matching, anchors: Marks, effect: float) -> tuple[Array, Array]:
    """Values of `Matching.compared`, and p-values that allow for the design effect."""
    from scipy.special import chdtrc

    values = matching.compared(anchors)
    return values, np.asarray(chdtrc(1, values[0] / effect))


def _purified(matching: Matching, effect: float, fdr: float) -> tuple[Array, Array]:
    """Values and p-values by the anchors that are left when the same items differ twice.

    Against masking, the first anchors are the half of the items with effects nearest the median.
    """
    n_items = len(matching.p)
    anchors = np.ones(n_items, np.bool_)
    tried: list[Marks] = []
    while True:
        values, p_value = _tested(matching, anchors, effect)
        tried.append(anchors)
        left = ~(false_discovery(p_value) <= fdr)
        is_settled = any((left == before).all() for before in tried)
        if is_settled or len(tried) == _MOST_ROUNDS:
            return values, p_value
        if left.sum() < max(_FEWEST_ANCHORS, n_items / 2):
            counts = {"n": int((~left).sum()), "of": n_items}
            remedy = Remedy({"anchors": ...}, "known-anchors")
            warn(Finding("few-anchors", "warning", counts, (remedy,)))
            return values, p_value
        anchors = left
        if len(tried) == 1:
            distance = np.abs(values[1] - np.nanmedian(values[1]))
            anchors = left & (distance <= np.nanmedian(distance))


class Matching:
    """Respondents of two groups matched on responses to some items. ``focal`` has shape (n,)."""

    def __init__(self, patterns: Patterns, focal: Marks) -> None:
        self.patterns, self.focal = patterns, focal
        fewest = int(min(focal.sum(), (~focal).sum()))
        self.n_strata = int(np.clip(fewest // _PER_STRATUM, _FEWEST, _MOST))
        self.p, self.slopes = _shares_and_slopes(patterns)
        self.varied = (self.p > 0) & (self.p < 1)

    def compared(self, anchors: Marks) -> Array:
        """Compare every item, matching on the anchors and on the item itself.

        Statistic, log odds ratio and its standard error, (3, n_items), NaN without variance.
        """
        usable = anchors & self.varied
        weights = np.where(usable, self.slopes, 0.0)
        information = self.slopes**2 * self.p * (1 - self.p)
        excess = np.zeros(self.patterns.n)
        variance = np.ones(self.patterns.n)
        for block, right, answered in _item_blocks(self.patterns):
            weight = weights[block]
            excess += right @ weight - answered @ (weight * self.p[block])
            variance += answered @ np.where(usable[block], information[block], 0.0)
        n_anchors = max(int(usable.sum()), 1)
        n_strata = min(self.n_strata, _PER_ANCHOR * n_anchors)
        shared = _strata(excess / variance, n_strata)
        values = np.full((3, len(self.p)), np.nan)
        for block, right, answered in _item_blocks(self.patterns):
            values[:, block] = mantel_haenszel(shared, self.focal, right, answered)
            # An item that is no anchor enters the score that it is matched on.
            for j in np.flatnonzero(~anchors[block] & self.varied[block]):
                item = block.start + j
                y = right[:, [j]]
                a = answered[:, [j]]
                residual = y - a * self.p[item]
                moved = excess + self.slopes[item] * residual[:, 0]
                widened = variance + information[item] * a[:, 0]
                strata = _strata(moved / widened, n_strata)
                values[:, [item]] = mantel_haenszel(strata, self.focal, y, a)
        values[:, ~self.varied] = np.nan
        return values


def _item_blocks(patterns: Patterns) -> Iterator[tuple[slice, Array, Array]]:
    """Responses (0 if missing) and whether there is a response, some items at a time."""
    for block in blocks(patterns.cells.shape[1], patterns.n, _CELLS_AT_ONCE):
        right, tried = patterns.dense(items=block)
        yield block, right / np.maximum(tried, 1), np.minimum(tried, 1.0)


def _shares_and_slopes(patterns: Patterns) -> tuple[Array, Array]:
    """Proportion correct of every item, and its slope from the correlation with the rest.

    With proportions correct on the other items in SDs, a correlation of ρ is a difference of
    ρ/√(p(1 − p)) between the means of right and wrong respondents, and a variance of 1 − ρ² within
    them. The ratio is the logistic slope (Fisher's discriminant). Slopes are shrunk to their mean.
    """
    n_right = np.zeros((patterns.n, 1))
    n_answered = np.zeros((patterns.n, 1))
    for _, right, answered in _item_blocks(patterns):
        n_right += right.sum(axis=1, keepdims=True)
        n_answered += answered.sum(axis=1, keepdims=True)
    columns = []
    for _, right, answered in _item_blocks(patterns):
        count = np.maximum(answered.sum(axis=0), 1)
        share = right.sum(axis=0) / count
        rest = (n_right - right + 0.5) / (n_answered - answered + 1)
        mean = (rest * answered).sum(axis=0) / count
        deviation = (rest - mean) * answered
        squares = (right**2).sum(axis=0) - count * share**2
        rest_squares = (deviation**2).sum(axis=0)
        product = np.maximum(squares * rest_squares, _LEAST_SQUARES)
        covariance = (right * deviation).sum(axis=0)
        columns.append((share, covariance / np.sqrt(product), count))
    share, correlation, count = np.concatenate(columns, axis=1)
    varied = (share > 0) & (share < 1)
    if not varied.any():
        return share, np.zeros(len(share))
    rho = np.clip(correlation, -_MOST_CORRELATED, _MOST_CORRELATED)
    binomial = np.where(varied, share * (1 - share), 0.25)
    slope = rho / np.sqrt(binomial) / (1 - rho**2)
    mean_slope = slope[varied].mean()
    spread = max(slope[varied].var(), 1e-9)
    noise = np.mean(1 / (count * binomial)[varied])
    reliability = max(1 - noise / spread, 0.0)
    shrunk = mean_slope + reliability * (slope - mean_slope)
    return share, np.where(varied, shrunk, 0.0)


def _strata(score: Array, n_strata: int) -> Array:
    """Strata of about equally many respondents as columns of 0 and 1."""
    cuts = np.quantile(score, np.arange(1, n_strata) / n_strata)
    strata = np.searchsorted(cuts, score, side="right")
    return np.eye(int(strata.max()) + 1)[strata]


@np.errstate(divide="ignore", invalid="ignore")
def mantel_haenszel(strata: Array, focal: Marks, right: Array, answered: Array) -> Array:
    """Compare items within strata, (n, n_strata), the same for all of them.

    Statistic (NaN where nothing can be compared), log odds ratio and its error, (3, n_items).
    """
    in_focal = strata * focal[:, None]
    n = strata.T @ answered
    n_focal = in_focal.T @ answered
    n_reference = n - n_focal
    n_right = strata.T @ right
    a = in_focal.T @ right
    b = n_focal - a
    c = n_right - a
    d = n_reference - c
    size = np.maximum(n, 1)
    expected = n_focal * n_right / size
    excess = (a - expected).sum(axis=0)
    squares = n * (strata.T @ right**2) - n_right**2
    pairs = size**2 * np.maximum(n - 1, 1)
    variance = (n_focal * n_reference * squares / pairs).sum(axis=0)
    # Robins, Breslow & Greenland: P = (A + D)/N, Q = (B + C)/N, R = AD/N and S = BC/N.
    p = (a + d) / size
    q = (b + c) / size
    r = a * d / size
    s = b * c / size
    sum_r = r.sum(axis=0)
    sum_s = s.sum(axis=0)
    of_r = (p * r).sum(axis=0) / sum_r**2
    mixed = (p * s + q * r).sum(axis=0) / (sum_r * sum_s)
    of_s = (q * s).sum(axis=0) / sum_s**2
    error = np.sqrt((of_r + mixed + of_s) / 2)
    error[(sum_r <= 0) | (sum_s <= 0)] = np.nan
    statistic = excess**2 / variance
    log_odds_ratio = np.log(sum_r) - np.log(sum_s)
    values = np.stack([statistic, log_odds_ratio, error])
    values[:, variance <= _LEAST_VARIANCE] = np.nan
    return values
