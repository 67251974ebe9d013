"""Items that are harder for one of two groups than ability explains."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.calibration import FitResult, fit
from irtkit.calibration.fitting import silently
from irtkit.checks import check_number, check_one_of, first_names, short
from irtkit.data.patterns import Patterns, part_of, patterns_of
from irtkit.differential.groups import TwoGroups, two_groups
from irtkit.io.reading import as_responses
from irtkit.irf import Items
from irtkit.responses import refuse_sparse
from irtkit.signs import FALSE_DISCOVERY_RATE, false_discovery, proportion_score
from irtkit.signs.dependence import dependence_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.likelihood import Population
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    Marks = NDArray[np.bool_]
    Places = NDArray[np.intp]

DifferentialMethod = Literal["mantel-haenszel", "likelihood-ratio"]
METHODS: tuple[DifferentialMethod, ...] = get_args(DifferentialMethod)
EITHER = "either, by ability"
"""Whom an item is harder for whose curves cross where both groups are."""
_LEAST_RESPONDENTS = {"mantel-haenszel": 10, "likelihood-ratio": 30}
"""Respondents that each group needs: of so few 3.0 % and 5.2 % of the items that do not differ have
p < 0.05 where groups are one SD apart (``benchmarks/differential.py``)."""
_CROSSING = 0.25
"""Share of the area between two curves on its lesser side above which it is said that they cross: a
third of what lies on the other."""
_MOST_ROUNDS, _FEWEST_ANCHORS = 10, 3
"""Times that anchors are chosen, and how many there must be."""
_DELTA = 2.35
"""Delta points of a logit, 4/1.7: the scale of Educational Testing Service has mean 13 and SD 4."""


class _Tested(NamedTuple):
    """What a method finds, all of shape (n_items,)."""

    statistic: Array
    df: int
    harder_for: Array
    """Above 0: harder for the focal group; below 0: for the reference group; 0: for either."""
    effects: dict[str, Array]

    def among(self, items: Places, n_items: int) -> _Tested:
        """The same among ``n_items``, of which these are tested."""
        statistic, harder_for, *effects = (
            _among(values, items, n_items)
            for values in (self.statistic, self.harder_for, *self.effects.values())
        )
        return _Tested(
            statistic, self.df, harder_for, dict(zip(self.effects, effects, strict=True))
        )


class _Decided(NamedTuple):
    """What was found at last, and how sure it is; arrays of shape (n_items,)."""

    tested: _Tested
    p_value: Array
    q_value: Array

    def among(self, items: Places, n_items: int) -> _Decided:
        """The same among ``n_items``, of which these are tested."""
        values = (_among(values, items, n_items) for values in self[1:])
        return _Decided(self.tested.among(items, n_items), *values)


def _among(values: Array, items: Places, n_items: int) -> Array:
    """Values of some of ``n_items``; NaN, or no text, for the others."""
    found = np.full(n_items, "" if values.dtype == object else np.nan, dtype=values.dtype)
    found[items] = values
    return found


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
    """Find items that are harder for one of two groups than its ability explains.

    Parameters
    ----------
    responses
        What :func:`irtkit.fit` returned, with its responses; or responses, a ResponseMatrix or
        what :func:`irtkit.read_responses` takes, of which ``reading`` are the settings. Missing
        cells are taken as missing at random; synthetic respondents are left out.
    groups
        Group of every respondent: a mapping or Series from label to group, a list in the order of
        the respondents, or the name of a column of ``responses.respondent_table``. Respondents
        without a group are left out.
    method
        "mantel-haenszel" compares the odds of a right answer among respondents of equal score, the
        sum of right answers weighted by the slopes of the items, and not the plain sum. It assumes
        little and serves small groups, from 10 respondents on, but it sees only what favours the
        same group at every ability (uniform). "likelihood-ratio" compares two 2PL models, with one
        slope and difficulty of the item and with one for each group, and sees what favours the able
        of one group and the weak of the other too; from 30 respondents on.
        Guessing is in neither model.
    fdr
        False-discovery rate of the decision that an item differs (Benjamini & Hochberg 1995).
    anchors
        Labels of items known to be the same for both groups; ability is told by them alone. By
        default all items are anchors but those found to differ, in turns until the same are found.
    reference, focal
        The two groups, where there are more; with ``focal`` alone all others are the reference
        group. Of two groups the larger one is the reference group by default.
    cut
        Splits dates or numbers: respondents before it are the reference group, those from it on
        the focal one.

    Returns
    -------
    pandas.DataFrame
        One row per item, index "item", in the order of the items. ``attrs`` holds the names of
        the groups under "reference" and "focal". Columns:

        - harder_for: the group for which the item is harder at equal ability, if that is decided;
          "either, by ability" where the curves of both cross; else empty.
        - log_odds_ratio, log_odds_ratio_se (Mantel–Haenszel): of a right answer at equal ability,
          the focal group over the reference group: below 0 the item is harder for the focal group.
        - delta (Mantel–Haenszel): the same times 2.35. The classes A, B and C of the Educational
          Testing Service are defined for matching on the plain score, and are not given.
        - slope_difference, difficulty_difference, score_difference (likelihood ratio): the focal
          group's less the reference group's, in SDs of ability in the reference group; the last is
          the difference in P(right) over the abilities of the focal group.
        - statistic, df, p_value, q_value: q is the least false-discovery rate at which the item is
          found.
        - n_reference, n_focal: respondents who answered.
        - status: "ok"; "anchor" (given as one, not tested); "no variance" (all alike, or, by
          likelihood ratio, fewer than five right or five wrong answers in a group).

        Respondents that answer alike beyond what abilities explain, as versions of one system do,
        are not that many: statistics are then divided by a design effect. It holds the level where
        families lie within groups and differ little (at 20 % of their answers, too many items
        differ by chance), and makes the tests conservative where families lie across groups. A
        group of two to four families is not seen as so few.

    Raises
    ------
    TypeError
        If an argument is of a wrong kind.
    ValueError
        If groups are not two, a group has too few respondents, an anchor is no item, or the
        responses are sparse or not saved with the result.

    Warns
    -----
    UserWarning
        If respondents answer alike, if so many items differ that few anchors are left, or if the
        calibration of both groups did not converge.

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
    check_one_of("method", method, METHODS)
    check_number("fdr", fdr, above=0, below=1)
    result, matrix = _given(responses, reading)
    least = _LEAST_RESPONDENTS[method]
    everyone = patterns_of(matrix, synthetic_is_real=True)
    answering = ~matrix.synthetic & (everyone.margins.respondent_responses > 0)
    chosen = two_groups(
        *(matrix, groups, answering),
        cut=cut,
        reference=reference,
        focal=focal,
        least=least,
        method=method,
    )
    patterns = everyone.chosen(chosen.rows)
    items = np.flatnonzero(patterns.margins.item_responses.any(axis=0))
    patterns = part_of(patterns, np.arange(patterns.n), items)
    known = _anchors(anchors, matrix.items, items)
    effect = _design_effect(patterns, chosen.focal)
    tests: _MantelHaenszel | _LikelihoodRatio
    if method == "mantel-haenszel":
        tests = _MantelHaenszel(patterns, chosen.focal)
    else:
        if result is None:
            with silently():
                result = fit(matrix, standard_errors=False)
        tests = _LikelihoodRatio(patterns, chosen, result, items)
    decided = _purified(tests, None if known is None else known[items], effect, fdr)
    among = decided.among(items, matrix.n_items)
    return _table(matrix, everyone, chosen, among, known=known, fdr=fdr)


def _given(responses: object, reading: dict[str, Any]) -> tuple[FitResult | None, ResponseMatrix]:
    """Return the result, if that is given, and its responses."""
    result = responses if isinstance(responses, FitResult) else None
    known = responses if result is None else result.responses
    if known is None:
        raise ValueError(
            "differential_functioning needs the responses, which were not saved with this result"
        )
    matrix = as_responses(known, **reading)
    refuse_sparse(matrix, "differential_functioning")
    return result, matrix


def _anchors(
    anchors: Iterable[str] | None, labels: tuple[str, ...], answered: Places
) -> Marks | None:
    """Which items are given as anchors, ``answered`` being those with a response; None if none."""
    if anchors is None:
        return None
    if isinstance(anchors, str) or not isinstance(anchors, Iterable):
        raise TypeError(f"anchors must be several labels of items, got {short(anchors)}")
    wanted = {str(label) for label in anchors}
    if strange := sorted(wanted.difference(labels)):
        raise ValueError(f"anchors: there is no item {first_names(strange)}")
    known = np.array([label in wanted for label in labels])
    if (n := int(known[answered].sum())) < _FEWEST_ANCHORS:
        raise ValueError(
            f"anchors must be {_FEWEST_ANCHORS} items or more that somebody answered, got {n}"
        )
    return known


def _design_effect(patterns: Patterns, focal: Marks) -> float:
    """How many times as much groups differ by chance as if respondents were independent, ≥ 1.

    With n the respondents of a group and m the independent ones that answer as they do
    (:mod:`irtkit.signs.dependence`), a difference of means has the variance 1/m_r + 1/m_f in place
    of 1/n_r + 1/n_f. Groups show less of a likeness than all respondents do, and all of them little
    of one within a small group: the larger of the two is taken. What is alike across groups would
    take off from the variance, and does not: the tests are conservative there.
    """
    whole = dependence_of(patterns, proportion_score(patterns))
    if whole.independent == whole.n_respondents:
        return 1.0
    parts = [patterns.chosen(np.flatnonzero(group)) for group in (~focal, focal)]
    each = [dependence_of(part, proportion_score(part)) for part in parts]
    variance = sum(1 / max(own.effective, 1.0) for own in each)
    by_group = variance / sum(1 / own.n_respondents for own in each)
    effect = max(by_group, whole.n_respondents / whole.effective)
    warnings.warn(
        f"{whole.sentence}; statistics are divided by {effect:.3g}, their design effect",
        UserWarning,
        stacklevel=3,
    )
    return effect


class _MantelHaenszel:
    """Tests by Mantel and Haenszel."""

    def __init__(self, patterns: Patterns, focal: Marks) -> None:
        from irtkit.differential.mantel_haenszel import Matching

        self._matching = Matching(patterns, focal)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self._matching.p)

    def tested(self, anchors: Marks, effect: float) -> _Tested:
        """Test all items, matching on the anchors."""
        found = self._matching.compared(anchors)
        effects = {
            "log_odds_ratio": found.log_odds_ratio,
            "log_odds_ratio_se": found.standard_error * effect**0.5,
            "delta": _DELTA * found.log_odds_ratio,
        }
        return _Tested(found.statistic / effect, 1, -found.log_odds_ratio, effects)


class _LikelihoodRatio:
    """Tests by likelihood ratio."""

    def __init__(
        self, patterns: Patterns, groups: TwoGroups, result: FitResult, items: Places
    ) -> None:
        from irtkit.differential.likelihood_ratio import FOCAL, REFERENCE

        counted = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0)
        group = np.where(groups.focal, FOCAL, REFERENCE).astype(np.int8)
        self._patterns = Patterns(counted.cells, counted.trials, group)
        self._start, self._population = _start(result, groups, items)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self._patterns.cells.shape[1])

    def tested(self, anchors: Marks, effect: float) -> _Tested:
        """Test the items, all of which but the anchors are split between the groups."""
        from irtkit.differential.likelihood_ratio import DEGREES_OF_FREEDOM, calibrated, ratios

        found = calibrated(self._patterns, ~anchors, self._start, self._population)
        if not found.converged:
            warnings.warn(
                "the calibration of both groups did not converge: p-values are rough",
                UserWarning,
                stacklevel=4,
            )
        ratio = ratios(found)
        harder = np.where(ratio.opposite > _CROSSING, 0.0, -ratio.score_difference)
        effects = {
            "slope_difference": ratio.slope_difference,
            "difficulty_difference": ratio.difficulty_difference,
            "score_difference": ratio.score_difference,
        }
        return _Tested(ratio.statistic / effect, DEGREES_OF_FREEDOM, harder, effects)


def _start(result: FitResult, groups: TwoGroups, items: Places) -> tuple[Items, Population]:
    """Items and the focal group as a fit of all has them, on the scale of the reference group."""
    from irtkit.calibration.likelihood import Population

    scales = []
    for rows in (groups.rows[~groups.focal], groups.rows[groups.focal]):
        mean = float(result.ability[rows].mean())
        variance = np.mean((result.ability[rows] - mean) ** 2 + result.ability_se[rows] ** 2)
        scales.append((mean, float(np.sqrt(variance))))
    (mean, sd), (own_mean, own_sd) = scales
    known = result.parameters.chosen(items)
    slope = np.nan_to_num(known.discrimination, nan=float(np.nanmedian(known.discrimination)))
    intercept = np.nan_to_num(known.intercept)
    return Items(slope * sd, intercept + slope * mean), Population(
        (own_mean - mean) / sd, own_sd / sd
    )


def _purified(
    tests: _MantelHaenszel | _LikelihoodRatio, known: Marks | None, effect: float, fdr: float
) -> _Decided:
    """Test with the known anchors, or until the same items differ from all others."""
    from scipy.special import chdtrc

    n_items, anchors, tried = tests.n_items, known, []
    if anchors is None:
        anchors = np.ones(n_items, dtype=bool)
    while True:
        found = tests.tested(anchors, effect)
        p_value = np.asarray(chdtrc(found.df, found.statistic))
        if known is not None:
            p_value[known] = np.nan
        q_value = false_discovery(p_value)
        tried.append(anchors)
        left = ~(q_value <= fdr)
        settled = any((left == before).all() for before in tried)
        if known is not None or settled or len(tried) == _MOST_ROUNDS:
            break
        if left.sum() < max(_FEWEST_ANCHORS, n_items / 2):
            warnings.warn(
                f"{int((~left).sum())} of {n_items} items differ between the groups, too many to "
                "tell which ones do: the others are no anchors (give items known to be the same "
                "as anchors)",
                UserWarning,
                stacklevel=3,
            )
            break
        anchors = left if len(tried) > 1 else left & _central(found.harder_for)
    return _Decided(found, p_value, q_value)


def _central(harder_for: Array) -> Marks:
    """Half of the items, those whose effects are nearest to the median one.

    Where many items differ one way, all others seem to differ the other way, and hide them; those
    in the middle are the same for both groups as long as most are.
    """
    distance = np.abs(harder_for - np.nanmedian(harder_for))
    return np.asarray(distance <= np.nanmedian(distance), dtype=np.bool_)


def _table(
    matrix: ResponseMatrix,
    everyone: Patterns,
    groups: TwoGroups,
    decided: _Decided,
    *,
    known: Marks | None,
    fdr: float,
) -> pd.DataFrame:
    import pandas as pd

    found, p_value, q_value = decided
    patterns = everyone.chosen(groups.rows)
    reference, focal = groups.names
    harder = np.where(
        found.harder_for > 0, focal, np.where(found.harder_for < 0, reference, EITHER)
    )
    answered = patterns.cells >= 0 if patterns.trials is None else patterns.trials > 0
    status = np.where(np.isnan(found.statistic), "no variance", "ok").astype(object)
    if known is not None:
        status[known] = "anchor"
    columns = {
        "harder_for": np.where(q_value <= fdr, harder, "").astype(object),
        **found.effects,
        "statistic": np.where(np.isnan(p_value), np.nan, found.statistic),
        "df": found.df,
        "p_value": p_value,
        "q_value": q_value,
        "n_reference": answered[~groups.focal].sum(axis=0),
        "n_focal": answered[groups.focal].sum(axis=0),
        "status": status,
    }
    table = pd.DataFrame(columns, index=pd.Index(matrix.items, name="item"))
    table.attrs = {"reference": reference, "focal": focal}
    return table
