"""Differential item functioning: items harder for one of two groups than ability explains.

The answers of the reference group are compared with those of the focal group as those to two
versions of a benchmark are (`irtkit.calibration.changes`).
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.changes import answers_in, changes
from irtkit.capabilities import require
from irtkit.checks import check_number, check_one_of, first_names, short
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.findings import Finding, Remedy, warn
from irtkit.fitting import fit, responses_for, silently
from irtkit.responses.labels import by_label, category_name

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.responses import ResponseMatrix

    Marks = NDArray[np.bool_]

_LEAST_RESPONDENTS = 10  # Of a group: benchmarks/model_tests.py.
_FEWEST_ANCHORS = 3  # As LEAST_ITEMS of calibration.changes: of two, either may have changed.
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
        ``responses.respondent_table``. A long table keeps there each column with one value for each
        system. Respondents without a group, and synthetic ones, are left out.
    fdr : float, default 0.05
        Rate of false calls among the items called, and of data without differences in which any is.
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
        - statistic, df, p_value: of the likelihood ratio. q_value: mean probability that items
          as surely called do not differ.
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
    The test is that of :func:`irtkit.drift`, and finds uniform effects only. It does not model
    guessing. Missing cells are taken as missing at random. For curves that cross, fit the reference
    group, then the focal group with ``fixed=`` the anchors of that fit, and compare the
    discriminations of the other items.

    Test statistics are divided by a design effect for near-duplicate respondents. It is
    conservative if families lie across groups, and does not cover a group of two to four families.

    References
    ----------
    Efron (2008), *Statistical Science* 23, 1–22.
    Swaminathan & Rogers (1990), *Journal of Educational Measurement* 27, 361–370.

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
    from scipy.special import ndtr

    check_number("fdr", fdr, above=0, below=1)
    require("differential_functioning", responses)
    matrix = responses_for(responses, **reading)
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
    versions = [everyone.chosen(np.flatnonzero(group == k)) for k in range(2)]
    counts = [of_group.points for of_group in versions]
    n_right, n_answers = (
        sum(getattr(of_group, name) for of_group in counts)
        for name in ("item_right", "item_responses")
    )
    items = np.flatnonzero((n_right > 0) & (n_right < n_answers))
    is_anchor = _anchors(anchors, matrix.items, n_answers > 0)
    with silently():
        parameters = fit(matrix, standard_errors=False, progress=False).parameters
    tested = changes(
        parameters.chosen(items),
        [answers_in(matrix, of_group).with_columns(items) for of_group in versions],
        fdr,
        copies=_design_effect(everyone.chosen(np.flatnonzero(group >= 0)), versions),
        anchors=None if is_anchor is None else is_anchor[items],
    )
    n_called = int(tested.called.sum())
    if is_anchor is None and 2 * n_called > len(items):
        remedy = Remedy({"anchors": ...}, "known-anchors")
        values = {"n": n_called, "of": len(items)}
        warn(Finding("few-anchors", "warning", values, (remedy,)))
    harder_for = np.where(tested.change < 0, names[1], names[0])
    columns = {
        "harder_for": np.where(tested.called, harder_for, ""),
        "log_odds_ratio": tested.change,
        "log_odds_ratio_se": tested.error,
        "delta": _DELTA * tested.change,
        "statistic": tested.z**2,
        "df": 1,
        "p_value": 2 * ndtr(-np.abs(tested.z)),
        "q_value": tested.q_value,
        "n_reference": 0,
        "n_focal": 0,
        "status": "ok",
    }
    labels = pd.Index(matrix.items, name="item")
    table = pd.DataFrame(columns, labels[items]).reindex(labels)
    table = table.fillna({"harder_for": "", "df": 1, "status": "no variance"})
    table["df"] = table["df"].astype(int)
    table["n_reference"], table["n_focal"] = (of_group.item_responses for of_group in counts)
    if is_anchor is not None:
        table.loc[is_anchor, "status"] = "anchor"
    table.attrs = {"reference": names[0], "focal": names[1]}
    return table


def _anchors(anchors: Any, labels: tuple[str, ...], answered: Marks) -> Marks | None:
    """Which items are given as anchors, or None. ``answered``: which have a response."""
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
    import pandas as pd

    values = by_label("groups", groups, responses.respondents, responses, "group")
    if cut is not None:
        if reference is not None or focal is not None:
            raise ValueError("cut defines both groups. Leave out reference and focal")
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
        late = np.where(numbers.isna(), -1, numbers >= at).astype(np.intp)
        return late, (f"before {cut}", f"from {cut} on")
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


def _design_effect(whole: Patterns, groups: list[Patterns]) -> float:
    """Respondents per independent one: in both groups together, or in one if there are more."""
    of_all = near_duplicates(whole)
    if not of_all.matter:
        return 1.0
    effect = max(of_all.copies, *(near_duplicates(group).copies for group in groups))
    values = {"n": of_all.n, "n_eff": round(of_all.n_eff), "effect": effect}
    warn(Finding("design-effect", "warning", values))
    return effect
