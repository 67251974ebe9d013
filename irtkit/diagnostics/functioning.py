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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.calibration import FitResult, fit
from irtkit.calibration.fitting import silently
from irtkit.checks import check_number, check_one_of, did_you_mean, first_names, short
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import Patterns, blocks, patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, false_discovery
from irtkit.diagnostics.fitted import by_label
from irtkit.findings import Finding, Remedy, warn
from irtkit.io.reading import as_responses
from irtkit.irf import Items
from irtkit.responses import refuse_sparse
from irtkit.responses.labels import category_name, is_missing_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    Marks = NDArray[np.bool_]
    Places = NDArray[np.intp]

DifferentialMethod = Literal["mantel-haenszel", "likelihood-ratio"]
METHODS: tuple[DifferentialMethod, ...] = get_args(DifferentialMethod)
EITHER = "either, by ability"  # Whom an item is harder for whose curves cross.
_LEAST_RESPONDENTS = {"mantel-haenszel": 10, "likelihood-ratio": 30}  # benchmarks/differential.py
_CROSSING = 0.25  # Share of the area between two curves on its smaller side from which they cross.
_MOST_ROUNDS, _FEWEST_ANCHORS = 10, 3
_PER_STRATUM = 10  # Respondents of the smaller group.
_FEWEST, _MOST = 5, 40  # Strata: five remove 9/10 of a difference of groups (Cochran 1968).
_PER_ANCHOR = 2  # Most strata per anchor: sums of few items have few values.
_CELLS_AT_ONCE = 2**22  # Of an item block: 32 MiB in each of its arrays.
_DELTA = 2.35  # Delta points of a logit, 4/1.7: the scale of Educational Testing Service.


def differential_functioning(
    responses: object,
    groups: Any,
    method: DifferentialMethod = "mantel-haenszel",
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
    method : {"mantel-haenszel", "likelihood-ratio"}, default "mantel-haenszel"
        "mantel-haenszel" compares odds of a right answer at equal scores (from 10 respondents per
        group on). "likelihood-ratio" compares 2PL models (from 30 on) and finds crossing curves.
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

        - harder_for: the group for which the item is harder at equal ability, "either, by ability"
          if the curves cross, and empty if the item is not found to differ.
        - log_odds_ratio, log_odds_ratio_se (Mantel–Haenszel): of a right answer, focal group over
          reference group. delta: the same times 2.35.
        - slope_difference, difficulty_difference, score_difference (likelihood ratio): focal group
          less reference group, in SDs of ability in the reference group. The last is the mean
          difference in P(right) over the focal group.
        - statistic, df, p_value, q_value.
        - n_reference, n_focal: respondents who answered.
        - status: "ok", "anchor" (given, not tested) or "no variance" (all alike or, by likelihood
          ratio, fewer than five right or wrong answers in a group).

    Raises
    ------
    TypeError, ValueError
        If there are not two groups, a group has too few respondents, an anchor is unknown, or the
        responses are sparse or not saved with the result.

    Warns
    -----
    irtkit.findings.IRTWarning
        With the code "design-effect", "few-anchors" or "groups-not-converged".

    Notes
    -----
    Mantel–Haenszel matches on the sum of right answers weighted by slopes, and finds uniform
    effects only. Neither method models guessing. Missing cells are taken as missing at random.

    Test statistics are divided by a design effect for near-duplicate respondents. It is
    conservative if families lie across groups, and does not cover a group of two to four families.

    References
    ----------
    Holland & Thayer (1988), in Wainer & Braun (eds.), *Test Validity*, 129–145.
    Thissen, Steinberg & Wainer (1993), in Holland & Wainer (eds.), *Differential Item
    Functioning*, 67–113.

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

    check_one_of("method", method, METHODS)
    check_number("fdr", fdr, above=0, below=1)
    result = responses if isinstance(responses, FitResult) else None
    held = responses if result is None else result.responses
    if held is None:
        raise ValueError(
            "differential_functioning needs the responses, which were not saved with this result"
        )
    matrix = as_responses(held, **reading)
    refuse_sparse(matrix, "differential_functioning")
    everyone = patterns_of(matrix, synthetic_is_real=True)
    answering = ~matrix.synthetic & (everyone.margins.respondent_responses > 0)
    group, names = _groups(matrix, groups, cut, reference, focal)
    group[~answering] = -1
    for k, name in enumerate(names):
        if (n := np.count_nonzero(group == k)) < (least := _LEAST_RESPONDENTS[method]):
            raise ValueError(
                f"groups: {short(name)} has {n} respondents with a response, and {method} needs "
                f"{least} in each group to hold its level"
            )
    rows = np.flatnonzero(group >= 0)
    compared, is_focal = everyone.chosen(rows), group[rows] == 1
    answered = compared.cells >= 0 if compared.trials is None else compared.trials > 0
    items = np.flatnonzero(answered.any(axis=0))
    patterns = compared.with_columns(items)
    known = _anchors(anchors, matrix.items, items)
    effect = _design_effect(patterns, is_focal)
    test: Callable[[Marks], _Tested]
    if method == "mantel-haenszel":
        test, df = Matching(patterns, is_focal).tested, 1
    else:
        if result is None:
            with silently():
                result = fit(matrix, standard_errors=False)
        test, df = _by_likelihood_ratio(patterns, is_focal, result, rows, items), 2
    given = None if known is None else known[items]
    found, statistic, p_value, q_value = _purified(test, df, effect, given, len(items), fdr)
    if "log_odds_ratio_se" in found.effects:
        found.effects["log_odds_ratio_se"] *= effect**0.5
    sides = [found.harder_for > 0, found.harder_for < 0]
    of_items = {
        "harder_for": np.where(q_value <= fdr, np.select(sides, names[::-1], EITHER), ""),
        **found.effects,
        "statistic": np.where(np.isnan(p_value), np.nan, statistic),
        "df": df,
        "p_value": p_value,
        "q_value": q_value,
        "n_reference": answered[~is_focal][:, items].sum(axis=0),
        "n_focal": answered[is_focal][:, items].sum(axis=0),
        "status": np.where(np.isnan(statistic), "no variance", "ok").astype(object),
    }
    labels = pd.Index(matrix.items, name="item")
    unanswered = {"harder_for": "", "df": df, "n_reference": 0, "n_focal": 0}
    table = pd.DataFrame(of_items, labels[items]).reindex(labels)
    table = table.fillna(unanswered | {"status": "no variance"})
    table = table.astype(dict.fromkeys(("df", "n_reference", "n_focal"), int))
    if known is not None:
        table.loc[known, "status"] = "anchor"
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
    known = np.array([label in wanted for label in labels])
    if (n := int(known[answered].sum())) < _FEWEST_ANCHORS:
        rule = f"{_FEWEST_ANCHORS} items or more that somebody answered"
        raise ValueError(f"anchors must be {rule}, got {n}")
    return known


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
    known = sorted({label for label in labels if not is_missing_label(label)})
    for argument, name in (("reference", reference), ("focal", focal)):
        if name is not None and str(name) not in known:
            raise ValueError(
                f"{argument} must be one of the groups {first_names(known)}, got {short(name)}"
                + did_you_mean(name, known)
            )
    first, second = (None if name is None else str(name) for name in (reference, focal))
    if len(known) == 2:
        by_size = sorted(known, key=labels.count, reverse=True)
        first = first or next(name for name in by_size if name != second)
        second = second or next(name for name in by_size if name != first)
    if second is None or len(known) < 2 or first == second:
        raise ValueError(
            f"groups must be two, and are {len(known)}: {first_names(known) or 'none'}. Use focal= "
            "to compare one group with all others, reference= and focal= to compare two of them, "
            "and cut= to split dates or numbers"
        )
    is_reference = [label != "" if first is None else label == first for label in labels]
    group = np.where([label == second for label in labels], 1, np.where(is_reference, 0, -1))
    return group, (first or "all others", second)


def _by_cut(values: list[Any], cut: Any) -> NDArray[np.intp]:
    """Whether dates or numbers lie from the cut on, −1 where missing."""
    import pandas as pd

    given, at = pd.Series(values, dtype=object), cut
    try:
        if isinstance(cut, Real):
            numbers = pd.to_numeric(given)
        else:
            at, numbers = pd.Timestamp(cut), pd.to_datetime(given, format="mixed", utc=True)
            at = at.tz_localize("UTC") if at.tz is None else at
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
    if not whole.found:
        return 1.0
    parts = [patterns.chosen(np.flatnonzero(group)) for group in (~focal, focal)]
    each = [near_duplicates(part) for part in parts]
    variance = sum(1 / max(own.n_eff, 1.0) for own in each)
    by_group = variance / sum(1 / own.n for own in each)
    effect = max(by_group, whole.n / whole.n_eff)
    about = {"n": whole.n, "n_eff": round(whole.n_eff), "effect": effect}
    warn(Finding("design-effect", "warning", about))
    return effect


class _Tested(NamedTuple):
    """What a method finds, (n_items,)."""

    statistic: Array
    harder_for: Array  # Above 0: the focal group. Below 0: the reference group. 0: either.
    effects: dict[str, Array]


def _by_likelihood_ratio(
    patterns: Patterns, focal: Marks, result: FitResult, rows: Places, items: Places
) -> Callable[[Marks], _Tested]:
    """Return the test of all items that splits all but the anchors between the groups."""
    from irtkit.calibration.likelihood import Population
    from irtkit.diagnostics.likelihood_ratio import FOCAL, REFERENCE, calibrated, ratios

    counted = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0)
    group = np.where(focal, FOCAL, REFERENCE).astype(np.int8)
    grouped, scales = Patterns(counted.cells, counted.trials, group), []
    for some in (rows[~focal], rows[focal]):
        ability, error = result.ability[some], result.posterior_sd[some]
        scales.append((ability.mean(), np.sqrt(np.mean(error**2) + ability.var())))
    (mean, sd), (own_mean, own_sd) = scales
    known = result.parameters.chosen(items)
    slope = np.nan_to_num(known.discrimination, nan=float(np.nanmedian(known.discrimination)))
    start = Items(slope * sd, np.nan_to_num(known.intercept) + slope * mean)

    def tested(anchors: Marks) -> _Tested:
        population = Population(float((own_mean - mean) / sd), float(own_sd / sd))
        found = calibrated(grouped, ~anchors, start, population)
        if not found.converged:
            warn(Finding("groups-not-converged", "warning"))
        ratio = ratios(found)
        harder = np.where(ratio.opposite > _CROSSING, 0.0, -ratio.score_difference)
        names = ("slope_difference", "difficulty_difference", "score_difference")
        return _Tested(ratio.statistic, harder, {name: getattr(ratio, name) for name in names})

    return tested


def _purified(
    test: Callable[[Marks], _Tested],
    df: int,
    effect: float,
    known: Marks | None,
    n_items: int,
    fdr: float,
) -> tuple[_Tested, Array, Array, Array]:
    """Statistics, p- and q-values, by known anchors or until the same items differ.

    Against masking, the first anchors are the half of the items with effects nearest the median.
    """
    from scipy.special import chdtrc

    anchors = np.ones(n_items, np.bool_) if known is None else known
    tried: list[Marks] = []
    while True:
        found = test(anchors)
        statistic = found.statistic / effect
        p_value = np.asarray(chdtrc(df, statistic))
        if known is not None:
            p_value[known] = np.nan
        q_value = false_discovery(p_value)
        tried.append(anchors)
        left = ~(q_value <= fdr)
        settled = any((left == before).all() for before in tried)
        if known is not None or settled or len(tried) == _MOST_ROUNDS:
            break
        if left.sum() < max(_FEWEST_ANCHORS, n_items / 2):
            about = {"n": int((~left).sum()), "of": n_items}
            remedy = Remedy({"anchors": ...}, "known-anchors")
            warn(Finding("few-anchors", "warning", about, (remedy,)))
            break
        distance = np.abs(found.harder_for - np.nanmedian(found.harder_for))
        anchors = left if len(tried) > 1 else left & (distance <= np.nanmedian(distance))
    return found, statistic, p_value, q_value


class Matching:
    """Respondents of two groups matched on responses to some items. ``focal`` has shape (n,)."""

    def __init__(self, patterns: Patterns, focal: Marks) -> None:
        self.patterns, self.focal = patterns, focal
        fewest = int(min(focal.sum(), (~focal).sum()))
        self.n_strata = int(np.clip(fewest // _PER_STRATUM, _FEWEST, _MOST))
        self.p, self.slopes = _shares_and_slopes(patterns)
        self.varied = (self.p > 0) & (self.p < 1)

    def tested(self, anchors: Marks) -> _Tested:
        """Compare every item, matching on the anchors and on the item itself."""
        usable = anchors & self.varied
        above, below = np.zeros((2, self.patterns.n))
        weights = np.where(usable, self.slopes, 0.0)
        for some, right, answered in _item_blocks(self.patterns):
            w, p = weights[some], self.p[some]
            above += right @ w - answered @ (w * p)
            below += answered @ (w**2 * p * (1 - p))
        n_strata = min(self.n_strata, _PER_ANCHOR * max(int(usable.sum()), 1))
        found = np.full((3, len(self.p)), np.nan)
        shared = _strata(above / (1 + below), n_strata)
        for some, right, answered in _item_blocks(self.patterns):
            found[:, some] = _compared(shared, self.focal, right, answered)
            for j in np.flatnonzero(~anchors[some] & self.varied[some]):
                k, y, a = some.start + j, right[:, j], answered[:, j]
                w, p = self.slopes[k], self.p[k]
                score = (above + w * (y - a * p)) / (1 + below + a * w**2 * p * (1 - p))
                own = _strata(score, n_strata), self.focal, right[:, [j]], answered[:, [j]]
                found[:, [k]] = _compared(*own)
        statistic, log_odds, error = np.where(self.varied, found, np.nan)
        effects = {"log_odds_ratio": log_odds, "log_odds_ratio_se": error}
        return _Tested(statistic, -log_odds, {**effects, "delta": _DELTA * log_odds})


def _item_blocks(patterns: Patterns) -> Iterator[tuple[slice, Array, Array]]:
    """Responses (0 if missing) and whether there is a response, some items at a time."""
    for some in blocks(patterns.cells.shape[1], patterns.n, _CELLS_AT_ONCE):
        right, tried = patterns.dense(items=some)
        yield some, right / np.maximum(tried, 1), np.minimum(tried, 1.0)


def _shares_and_slopes(patterns: Patterns) -> tuple[Array, Array]:
    """Proportion correct of every item, and its slope from the correlation with the rest.

    With proportions correct on the other items in SDs, a correlation of ρ is a difference of
    ρ/√(p(1 − p)) between the means of right and wrong respondents, and a variance of 1 − ρ² within
    them. The ratio is the logistic slope (Fisher's discriminant). Slopes are shrunk to their mean.
    """
    totals = np.zeros((2, patterns.n))
    for _, right, answered in _item_blocks(patterns):
        totals += right.sum(axis=1), answered.sum(axis=1)
    share, rho, n = np.zeros((3, patterns.cells.shape[1]))
    for some, right, answered in _item_blocks(patterns):
        rest = (totals[0][:, None] - right + 0.5) / (totals[1][:, None] - answered + 1)
        count = np.maximum(answered.sum(axis=0), 1)
        p, mean = right.sum(axis=0) / count, (rest * answered).sum(axis=0) / count
        rest = (rest - mean) * answered
        squares = (right**2).sum(axis=0) - count * p**2
        product = np.sqrt(np.maximum(squares * (rest**2).sum(axis=0), 1e-12))
        share[some], rho[some], n[some] = p, (right * rest).sum(axis=0) / product, count
    varied = (share > 0) & (share < 1)
    if not varied.any():
        return share, np.zeros(len(share))
    rho, binomial = np.clip(rho, -0.9, 0.9), np.where(varied, share * (1 - share), 0.25)
    slope = rho / np.sqrt(binomial) / (1 - rho**2)
    typical, spread = float(slope[varied].mean()), max(float(slope[varied].var()), 1e-9)
    noise = float(np.mean(1 / (n * binomial)[varied]))
    kept = max(1 - noise / spread, 0.0)
    return share, np.where(varied, typical + kept * (slope - typical), 0.0)


def _strata(score: Array, n_strata: int) -> Array:
    """Strata of about equally many respondents as columns of 0 and 1."""
    cuts = np.quantile(score, np.arange(1, n_strata) / n_strata)
    strata = np.searchsorted(cuts, score, side="right")
    return np.eye(int(strata.max()) + 1)[strata]


@np.errstate(divide="ignore", invalid="ignore")
def _compared(strata: Array, focal: Marks, right: Array, answered: Array) -> Array:
    """Compare items within strata, (n, n_strata), the same for all of them.

    Statistic (NaN where nothing can be compared), log odds ratio and its error, (3, n_items).
    """
    of_focal = strata * focal[:, None]
    n, n_focal = strata.T @ answered, of_focal.T @ answered
    n_right, a = strata.T @ right, of_focal.T @ right
    both, n_reference = np.maximum(n, 1), n - n_focal
    squares = n * (strata.T @ right**2) - n_right**2
    variance = (n_focal * n_reference * squares / (both**2 * np.maximum(n - 1, 1))).sum(axis=0)
    above = (a - n_focal * n_right / both).sum(axis=0)
    b, c = n_focal - a, n_right - a
    d = n_reference - c
    r, s, p, q = a * d / both, b * c / both, (a + d) / both, (b + c) / both
    for_focal, against = r.sum(axis=0), s.sum(axis=0)
    of_ratio = (
        (p * r).sum(axis=0) / for_focal**2
        + (p * s + q * r).sum(axis=0) / (for_focal * against)
        + (q * s).sum(axis=0) / against**2
    )
    found = np.stack(
        [above**2 / variance, np.log(for_focal) - np.log(against), np.sqrt(0.5 * of_ratio)]
    )
    found[:, variance <= 1e-9] = np.nan
    found[2, (for_focal <= 0) | (against <= 0)] = np.nan
    return found
