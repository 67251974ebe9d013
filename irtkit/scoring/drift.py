"""Drift: items that became easier or harder between two versions of a benchmark.

The items of the old version are calibrated on its systems, and `irtkit.calibration.changes` tests
each item that both versions have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration import FitResult
from irtkit.calibration.calibrated import calibrated_items, changes_since
from irtkit.calibration.changes import LEAST_ITEMS, Mixture
from irtkit.capabilities import require
from irtkit.checks import check_number
from irtkit.data.patterns import patterns_of
from irtkit.findings import Finding
from irtkit.fitting import fit, responses_for, silently
from irtkit.printed import Printed, Shown

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.changes import Changes


class Change(NamedTuple):
    """A difference with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def points(self) -> dict[str, float]:
        """The same in percentage points, by name."""
        return {name: 100 * number for name, number in self._asdict().items()}


@dataclass(frozen=True)
class Drift(Printed):
    """What changed between two versions of a benchmark. ``print`` shows it."""

    items: pd.DataFrame = field(repr=False)
    """Common items, those that drift first: became ("easier", "harder" or ""), change (in logits,
    above 0 if easier), change_se, z, p_drift (probability that it drifted), old_score, new_score,
    n_old, n_new."""
    shift: Change
    """How much higher the mean score of the new systems on the common items is than if no item had
    changed."""
    improvement: Change
    """New less old mean score on the common items that do not drift."""
    removed: tuple[str, ...] = field(repr=False)  #: Items of the old version alone.
    added: tuple[str, ...] = field(repr=False)  #: Items of the new version alone.
    n_old: int  #: Systems of the old version.
    n_new: int
    n_both: int  #: Systems that answered both versions.
    fdr: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What changed. ``str`` of a finding is its message."""
        became = self.items["became"]
        n = int((became != "").sum())
        values = {
            "n": n,
            "n_items": len(became),
            "fdr": self.fdr,
            "easier": [*became.index[became == "easier"]],
            "harder": [*became.index[became == "harder"]],
        }
        notes = [Finding("drifted-items" if n else "no-drift", "note", values)]
        if n:
            notes.append(Finding("drift-shift", "note", self.shift.points))
        if n < len(became):
            notes.append(Finding("drift-improved", "note", self.improvement.points))
        if self.removed or self.added:
            changed = {"n_removed": len(self.removed), "n_added": len(self.added)}
            notes.append(Finding("drift-other-items", "note", changed))
        return tuple(notes)

    def shown(self) -> Shown:
        """Return the items that drift, and what that does to scores."""
        columns = ["became", "change", "change_se", "p_drift", "old_score", "new_score"]
        table = self.items.loc[self.items["became"] != "", columns]
        names = {"change_se": "se"}
        legend = (
            "change: in logits at equal ability, above 0 if easier",
            "p drift: probability that the item changed",
            "old score, new score: mean scores in both versions",
        )
        systems = {"n_old": self.n_old, "n_new": self.n_new, "n_both": self.n_both}
        compared = Finding("drift-compared", "note", systems | {"n_items": len(self.items)})
        board = Shown("items that changed", table.rename(columns=names), legend)
        return Shown(findings=[compared, *self.findings], further=[board])

    def __repr__(self) -> str:
        n = int((self.items["became"] != "").sum())
        return f"Drift({n} of {len(self.items)} common items)"


def drift(old: object, new: object, *, fdr: float = 0.05, **reading: Any) -> Drift:
    """Find what changed between two versions of a benchmark.

    Parameters
    ----------
    old, new : FitResult, ResponseMatrix, path or other responses
        Responses to both versions: results with their responses, or what :func:`irtkit.fit` takes.
        Items are the same if their labels are. The systems may be the same or others, at least 20
        in each version.
    fdr : float, default 0.05
        Rate of false calls among the items called, and of data without drift in which any is.
    **reading
        How to read responses, as in :func:`irtkit.read_responses`.

    Returns
    -------
    Drift
        ``items``, ``shift``, ``improvement``, ``removed``, ``added`` and ``findings``.

    Raises
    ------
    TypeError, ValueError
        If responses cannot be read, a version has fewer than 20 systems, or the versions share
        fewer than 3 items. Two versions of one system are compared by :func:`irtkit.gate`.

    Notes
    -----
    The answers of a system to both versions correlate beyond its ability. Their mean correlation
    narrows the error of a change where systems are the same. Near-duplicate systems widen it.

    The change of an item is shrunk by the mean and spread of the items that drift, so that items
    that were found because they were lucky do not exaggerate ``shift``.

    See Also
    --------
    irtkit.gate, irtkit.link, irtkit.differential_functioning

    References
    ----------
    Efron (2008), *Statistical Science* 23, 1–22.
    Swaminathan & Rogers (1990), *Journal of Educational Measurement* 27, 361–370.

    Examples
    --------
    >>> import numpy as np
    >>> import irtkit
    >>> rng = np.random.default_rng(0)
    >>> leaked = np.where(np.arange(30) < 3, 2.5, 0.0)
    >>> def answers(n, easier):
    ...     logit = rng.normal(size=(n, 1)) + easier
    ...     return irtkit.ResponseMatrix((rng.random((n, 30)) < 1 / (1 + np.exp(-logit))) * 1)
    >>> changed = irtkit.drift(answers(80, 0 * leaked), answers(80, leaked))
    >>> list(changed.items.index[changed.items["became"] == "easier"])
    ['item-3', 'item-1', 'item-2']
    """
    import pandas as pd

    check_number("fdr", fdr, above=0, below=1)
    for version in (old, new):
        require("drift", version)
    matrices = [responses_for(version, **reading) for version in (old, new)]
    for matrix in matrices:
        require("drift", matrix)
    with silently():
        result = old if isinstance(old, FitResult) else fit(matrices[0], standard_errors=False)
    tables = []
    for matrix in matrices:
        patterns = patterns_of(matrix, synthetic_is_real=False)
        rows = np.flatnonzero(patterns.answering)
        share, tried = patterns.shares(rows)
        shares = np.where(tried > 0, share, np.nan)
        systems = [matrix.respondents[row] for row in rows]
        table = pd.DataFrame(shares, systems, list(matrix.items))
        tables.append(table.dropna(axis=1, how="all"))
    before, after = tables
    earlier = calibrated_items(result)
    is_known = earlier.places_of(tuple(before.columns)) >= 0
    common = before.columns[is_known].intersection(after.columns, sort=False)
    if len(common) < LEAST_ITEMS:
        raise ValueError(
            f"old and new have {len(common)} items in common by label, and drift needs "
            f"{LEAST_ITEMS}"
        )
    tested = changes_since(earlier, matrices[1], list(common), fdr=fdr)
    became = np.where(tested.change > 0, "easier", "harder")
    columns = {
        "became": np.where(tested.called, became, ""),
        "change": tested.change,
        "change_se": tested.error,
        "z": tested.z,
        "p_drift": 1 - tested.mixture.stayed,
        "old_score": before[common].mean(),
        "new_score": after[common].mean(),
        "n_old": before[common].notna().sum(),
        "n_new": after[common].notna().sum(),
    }
    table = pd.DataFrame(columns, pd.Index(common, name="item"))
    order = np.lexsort((tested.mixture.stayed, ~tested.called))
    staying = common[~tested.called]
    return Drift(
        items=table.iloc[order],
        shift=_shift(tested),
        improvement=_improvement(before[staying], after[staying], tested.copies),
        removed=tuple(before.columns.difference(common, sort=False)),
        added=tuple(after.columns.difference(common, sort=False)),
        n_old=len(before),
        n_new=len(after),
        n_both=len(before.index.intersection(after.index)),
        fdr=fdr,
    )


def _shift(tested: Changes) -> Change:
    """Mean score of the new systems that the called items add, with changes shrunk.

    Slope and intercept follow a change that is shrunk, as they err together. What is left of their
    errors adds to that of the change.
    """
    from scipy.special import expit, stdtrit

    called = tested.called
    if not called.any():
        return Change(0.0, 0.0, 0.0)
    mixture = Mixture(*(values[called] for values in tested.mixture))
    drifts = 1 - mixture.stayed
    covariance = tested.covariance[called]
    follows = covariance[:, :, -1] / covariance[:, -1:, -1]
    shrunk = mixture.change - tested.change[called]
    weights = tested.weights[called] + follows * shrunk[:, None]
    ability = tested.later.ability
    mass = tested.later.mass / len(called)
    design = np.stack([ability, np.ones_like(ability)], axis=1)
    old = expit(design @ weights[:, :2].T)
    new = expit(design @ weights[:, :2].T + weights[:, 2])
    effect = mass @ (new - old)
    rise = new * (1 - new)
    of_parameters = (rise - old * (1 - old)).T @ (mass[:, None] * design)
    gradient = np.column_stack([of_parameters, mass @ rise])
    of_change = (gradient * follows).sum(axis=1)
    whole = np.einsum("jp,jpq,jq->j", gradient, covariance, gradient)
    rest = whole - of_change**2 * covariance[:, -1, -1]
    variance = (of_change**2 * mixture.variance + rest) * drifts + effect**2 * drifts * (1 - drifts)
    common = [(of_change * mixture.common)[side].sum() for side in (effect > 0, effect < 0)]
    # what is learned of items that drift rests on about as many as are called
    error = np.sqrt(variance.sum() + np.square(common).sum())
    reach = float(stdtrit(1 + called.sum(), 0.975) * error)
    value = float(drifts @ effect)
    return Change(value, value - reach, value + reach)


def _improvement(before: pd.DataFrame, after: pd.DataFrame, copies: float) -> Change:
    """Difference of mean scores, the mean over items of what systems scored in each version.

    Its error sums what every system adds to the difference, in both versions if it is in both.
    """
    from scipy.special import stdtrit

    systems = before.index.union(after.index)
    added = [
        ((version - version.mean()) / version.notna().sum())
        .sum(axis=1)
        .reindex(systems, fill_value=0.0)
        / len(version.columns)
        for version in (before, after)
    ]
    n = min(len(before), len(after))
    square = float(((added[1] - added[0]) ** 2).sum())
    error = (copies * square * n / (n - 1)) ** 0.5
    value = float((after.mean() - before.mean()).mean())
    reach = float(stdtrit(n / copies - 1, 0.975)) * error
    return Change(value, value - reach, value + reach)
