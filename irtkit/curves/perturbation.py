"""The same items with changed inputs, or for another problem: what became harder, and who worse.

The table of Martínez-Plumed et al. (AAAI 2022): for every perturbation the difficulty before and
after, the share right before and after, and whether the one explains the other. Items are their own
control, so both changes are paired; what is hard about an item beyond its difficulty drops out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_seed, short
from irtkit.curves.answered import Answered, with_intercept
from irtkit.curves.expected import (
    pairs_of,
    refuse_guessing,
    refuse_predicted_beside_fitted,
)
from irtkit.curves.ranges import given_difficulties
from irtkit.irf import logistic
from irtkit.systems.paired import Estimate, mean_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.answered import Part
    from irtkit.curves.logistic import Regression

    Array = NDArray[np.float64]


def problem_shift(original: Any, other: Any, *, level: float = 0.95) -> dict[str, float]:
    """Mean change of predicted difficulty of the same items under another problem.

    Parameters
    ----------
    original, other
        Difficulties by item label, a mapping or Series, from models of either problem.
    level
        Coverage of the interval.

    Returns
    -------
    dict
        n_items (in both), shift (mean of other less original; above 0 the other problem is the
        harder), low, high and p_value (paired by item, as if items like these were drawn anew).

    Raises
    ------
    TypeError, ValueError
        If they are no mappings by label, or have no item in common.

    Examples
    --------
    >>> from irtkit.curves import problem_shift
    >>> problem_shift({"a": 0.0, "b": 1.0, "c": 2.0}, {"a": 0.5, "b": 1.6, "c": 2.4})["shift"]
    0.5
    """
    level = check_number("level", level, above=0, below=1)
    for name, given in (("original", original), ("other", other)):
        if not hasattr(given, "keys"):
            raise TypeError(f"{name} must be a mapping or Series from item to difficulty")
    both = tuple(str(label) for label, _ in original.items() if label in other)
    if not both:
        raise ValueError("original and other have no item in common")
    change = given_difficulties(other, both, "other") - given_difficulties(
        original, both, "original"
    )
    found = _change(change[np.isfinite(change)])
    return {"n_items": int(np.isfinite(change).sum()), **_in_words("shift", found, level)}


def perturbation_table(
    result: object,
    perturbed: Mapping[str, object],
    *,
    difficulties: Mapping[str, Any] | None = None,
    original_difficulties: Any = None,
    systems: Iterable[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Set perturbed items beside the originals, by their difficulty and by what systems make of it.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses to the original items; or, with
        ``original_difficulties``, those responses alone.
    perturbed
        Responses to the items with changed inputs, by name of the perturbation: of the same
        systems, to items with the same labels.
    difficulties
        Difficulties of the perturbed items, by name of the perturbation, such as those predicted
        from their features; a perturbation without them is taken to leave difficulty as it was.
    original_difficulties
        Those of the original items, predicted alike: needed beside ``difficulties``. By default
        those of ``result``.
    systems, seed
        As in :func:`irtkit.expected_performance`.
    level
        Coverage of the intervals; 1 − level is the rate of false alarms, of each row by itself
        (but see the notes).

    Returns
    -------
    pandas.DataFrame
        Index "perturbation", "respondent". Columns: n_items (answered in both versions);
        difficulty, new_difficulty, difficulty_change with _low, _high and _p_value (NaN without
        difficulties of the perturbed items); accuracy, new_accuracy, change with _low, _high and
        _p_value; expected_change (what the system's curve makes of the new difficulties),
        unexplained (change less that) with _low, _high and _p_value, and alarm (whether that
        p-value is below 1 − ``level``). All are paired by item, as if items like these were drawn
        anew.

    Notes
    -----
    Intervals of unexplained are symmetric. Where new difficulties lie so far out that the curve is
    hardly known there, as of items that nearly all got right and that become much harder, they
    should not be, and alarms without a cause come too often.

    Raises
    ------
    TypeError, ValueError
        If responses or difficulties are not there, or items have no label in common; or where
        there are ``difficulties`` and ``result`` has others, or is of the 3PL.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.curves import perturbation_table
    >>> difficulty = [k / 100 - 2.5 for k in range(500)]
    >>> items = irtkit.ItemParameters.from_difficulty([1.5] * 500, difficulty)
    >>> abilities = [k / 10 - 2 for k in range(40)]
    >>> result = irtkit.fit(irtkit.simulate_responses(items, abilities))
    >>> blurred = irtkit.simulate_responses(items, [a - 1 for a in abilities], seed=1)
    >>> table = perturbation_table(result, {"blurred": blurred})
    >>> bool(table["alarm"].mean() > 0.9)
    True
    """
    import pandas as pd

    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    if not isinstance(perturbed, Mapping):
        raise TypeError("perturbed must be a dictionary from names of perturbations to responses")
    known = {} if difficulties is None else difficulties
    if extra := [name for name in known if name not in perturbed]:
        raise ValueError(f"difficulties: there is no perturbation {short(extra[0])}")
    if known:
        refuse_guessing(result)
        refuse_predicted_beside_fitted(result, known, original_difficulties)
    old = Answered.of(result, original_difficulties, "original_difficulties", seed=seed)
    rows, names = [], []
    for name, responses in perturbed.items():
        given = known.get(name)
        same = dict(zip(old.items, old.difficulties.of_all, strict=True))
        now = Answered.of(responses, same if given is None else given, "difficulties", seed=seed)
        for one, other in pairs_of(old, now, systems):
            row = _row(old, now, one, other, moved=given is not None, level=level)
            if row is None and systems is not None:
                who = old.respondents[one]
                raise ValueError(f"perturbed: {short(who)} answered no item in both versions")
            if row is not None:
                rows.append(row)
                names.append((name, old.respondents[one]))
    if not rows:
        raise ValueError("perturbed: no system answered an item in both versions")
    index = pd.MultiIndex.from_tuples(names, names=["perturbation", "respondent"])
    return pd.DataFrame(rows, index=index)


def _row(
    old: Answered, now: Answered, one: int, other: int, *, moved: bool, level: float
) -> dict[str, Any] | None:
    """One system under one perturbation, None if it answered no item in both versions."""
    before, after = old.part(one), now.part(other)
    place = {old.items[item]: k for k, item in enumerate(before.items)}
    pairs = [
        (place[now.items[item]], k)
        for k, item in enumerate(after.items)
        if now.items[item] in place
    ]
    if not pairs:
        return None
    mine, theirs = np.array(pairs).T
    change = after.share[theirs] - before.share[mine]
    fit = before.regression()
    was, is_now = before.difficulty[mine], before.difficulty[mine]
    if moved:
        is_now = after.difficulty[theirs]
    x, new_x = with_intercept(was), with_intercept(is_now)
    p, new_p = logistic(fit.log_odds(x)), logistic(fit.log_odds(new_x))
    slope = ((new_p * (1 - new_p)) @ new_x - (p * (1 - p)) @ x) / len(x)
    step = 1 / float(max(before.trials.max(), after.trials.max()))
    left = change - (new_p - p)
    share = -_influence(before, fit, slope)
    share[mine] += left * (len(share) / len(left))
    unexplained = mean_of(left, step=step)._replace(se=mean_of(share, step=step).se)
    harder = _change(is_now - was) if moved else Estimate(np.nan, np.nan, 0)
    return {
        "n_items": len(change),
        "difficulty": float(was.mean()),
        "new_difficulty": float(is_now.mean()) if moved else np.nan,
        **_in_words("difficulty_change", harder, level, "difficulty_change_"),
        "accuracy": float(before.share[mine].mean()),
        "new_accuracy": float(after.share[theirs].mean()),
        **_in_words("change", mean_of(change, step=step), level, "change_"),
        "expected_change": float((new_p - p).mean()),
        **_in_words("unexplained", unexplained, level, "unexplained_"),
        "alarm": bool(unexplained.p_value < 1 - level),
    }


def _influence(part: Part, fit: Regression, slope: Array) -> Array:
    """What the answer to each item moves the curve along ``slope`` by, times the number of items.

    The curve is fitted to the answers whose change is looked at: its error is not one of its own,
    but goes with theirs. From I⁻¹ of the information, item by item, x'I⁻¹x (r − n P) each.
    """
    x = with_intercept(part.difficulty)
    p = logistic(fit.log_odds(x))
    information = (x.T * (part.trials * p * (1 - p))) @ x
    if not np.isfinite(information).all():
        return np.full(len(x), np.nan)
    along = x @ np.linalg.pinv(information) @ slope
    return np.asarray(len(x) * part.trials * (part.share - p) * along)


def _change(values: Array) -> Estimate:
    """Mean of changes of difficulty, which may be the same for all items."""
    return mean_of(values, step=1e-12)


def _in_words(name: str, found: Estimate, level: float, prefix: str = "") -> dict[str, float]:
    low, high = found.interval(level)
    ends = {f"{prefix}low": low, f"{prefix}high": high, f"{prefix}p_value": found.p_value}
    return {name: found.value, **ends}
