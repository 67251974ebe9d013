"""Which respondents are in which of two groups."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import did_you_mean, first_names, short
from irtkit.responses.labels import category_name, is_missing_label, values_by_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.responses import ResponseMatrix


class TwoGroups(NamedTuple):
    """Respondents that are compared, and the group of each."""

    rows: NDArray[np.intp]
    """Rows of the responses, (n,)."""
    focal: NDArray[np.bool_]
    """Shape (n,): True in the focal group, False in the reference group."""
    names: tuple[str, str]
    """Of the reference group and of the focal one."""


def two_groups(
    responses: ResponseMatrix,
    groups: Any,
    answering: NDArray[np.bool_],
    *,
    cut: Any,
    reference: Any,
    focal: Any,
    least: int,
    method: str,
) -> TwoGroups:
    """Return the two groups that are meant, of real respondents with a response and a group."""
    values = _values(responses, groups)
    if cut is not None:
        if reference is not None or focal is not None:
            raise ValueError("cut makes the two groups itself: leave reference and focal out")
        labels, names = _by_cut(values, cut)
    else:
        labels = [category_name(value) for value in values]
        for k in np.flatnonzero(~answering):
            labels[k] = ""
        labels, names = _named(labels, reference, focal)
    group = np.array([names.index(label) if label in names else -1 for label in labels])
    group[~answering] = -1
    for number, name in enumerate(names):
        n = np.count_nonzero(group == number)
        if n < least:
            raise ValueError(
                f"groups: {short(name)} has {n} respondents with a response; {method} needs "
                f"{least} in each group to hold its level"
            )
    chosen = np.flatnonzero(group >= 0)
    return TwoGroups(chosen, group[chosen] == 1, names)


def _values(responses: ResponseMatrix, groups: Any) -> list[Any]:
    """What the groups say of every respondent."""
    if not isinstance(groups, str):
        labels = responses.respondents
        return values_by_label("groups", groups, labels, value="group", kind="respondent")
    table = responses.respondent_table
    known = [] if table is None else list(map(str, table.columns))
    if table is None or groups not in known:
        raise ValueError(
            f"groups: the responses know no column {short(groups)} of respondents"
            + (f" (they know {first_names(known)})" if known else "")
            + did_you_mean(groups, known)
            + "; a mapping from respondent to group does as well"
        )
    return list(table.iloc[:, known.index(groups)])


def _by_cut(values: list[Any], cut: Any) -> tuple[list[str], tuple[str, str]]:
    """Before the cut is the reference group, from it on the focal one."""
    import pandas as pd

    given, at = pd.Series(values, dtype=object), cut
    try:
        if isinstance(cut, Real):
            numbers = pd.to_numeric(given)
        else:
            at, numbers = pd.Timestamp(cut), pd.to_datetime(given, format="mixed", utc=True)
            at = at.tz_localize("UTC") if at.tz is None else at
    except (TypeError, ValueError) as error:
        rule = f"groups and cut must all be dates, or all numbers; cut is {short(cut)}"
        raise ValueError(rule) from error
    names = f"before {cut}", f"from {cut} on"
    later, missing = (numbers >= at).to_numpy(), numbers.isna().to_numpy()
    return ["" if m else names[int(k)] for k, m in zip(later, missing, strict=True)], names


def _named(labels: list[str], reference: Any, focal: Any) -> tuple[list[str], tuple[str, str]]:
    """Groups by name; without a reference all others are."""
    known = sorted({label for label in labels if not is_missing_label(label)})
    for argument, name in (("reference", reference), ("focal", focal)):
        if name is not None and str(name) not in known:
            raise ValueError(
                f"{argument} must be one of the groups, {first_names(known)}; got {short(name)}"
                + did_you_mean(name, known)
            )
    if reference is not None and focal is not None:
        if str(reference) == str(focal):
            raise ValueError(f"reference and focal must be two groups; both are {short(focal)}")
        return labels, (str(reference), str(focal))
    if len(known) == 2:
        size = {name: labels.count(name) for name in known}
        larger = max(known, key=lambda name: size[name])  # the first of two of one size
        first = larger if focal is None else next(name for name in known if name != str(focal))
        first = first if reference is None else str(reference)
        return labels, (first, next(name for name in known if name != first))
    if len(known) > 2 and focal is not None:
        others = "all others"
        while others in known:
            others += " "
        named = [label if label in {"", str(focal)} else others for label in labels]
        return named, (others, str(focal))
    raise ValueError(
        f"groups must be two, and are {len(known)}: {first_names(known) or 'none'}; focal= names "
        "the one to set beside all others, reference= and focal= name two of them, and cut= splits "
        "dates or numbers"
    )
