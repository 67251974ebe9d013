"""Drift: items that became easier or harder between two versions of a benchmark.

Systems of both versions are fitted together on the common items. Given abilities θ, the answers to
item j have the logit aθ + d + δx, where x is 1 for systems of the new version, and z is the signed
root of the likelihood ratio of δ (Swaminathan & Rogers 1990). Abilities come from the items that
are not found to drift, in rounds, with a mean of their own in each version.

z is N(0, 1) of items that stayed. Items that drift are learned as one normal distribution above and
one below 0 (Efron 2008), which gives each item a probability of having stayed. If the procedure of
Benjamini & Hochberg (1995) finds any item at the rate fdr, items are called, the surest first,
while the mean probability that they stayed is at most fdr. Without drift no item is called in
1 − fdr of all data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_number
from irtkit.data.mixtures import memberships
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of
from irtkit.findings import Finding
from irtkit.fitting import fit, silently
from irtkit.io.reading import as_responses
from irtkit.printed import Printed, Shown
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

    Marks = NDArray[np.bool_]

_LEAST_ITEMS = 3  # Fewest items left: of two that disagree, either may have drifted.
_MOST_ROUNDS = 10  # Searches for drifting items; 1 to 4 occur.
_STEPS = 12  # Newton steps, each at most 1 logit or SD.
_DELTA_SD = 3.0  # Of a wide normal prior, which keeps δ finite where all systems are right.
_MOST_ALIKE = 0.95  # Correlation of a system's residuals in both versions.
_ROUNDS_OF_MIXTURE = 200  # Steps of EM: 800 more change p_drift by less than 1e-5.
_PRIOR_ITEMS = 0.5, 10.0  # Drifting on either side, and in all: pseudo-counts.
_DRIFTING_Z, _LEAST_Z = 3.0, 2.0  # Mean of z of items that drift: where it starts, and its least.


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
        found = [Finding("drifted-items" if n else "no-drift", "note", values)]
        if n:
            found.append(Finding("drift-shift", "note", self.shift.points))
        if n < len(became):
            found.append(Finding("drift-improved", "note", self.improvement.points))
        if self.removed or self.added:
            changed = {"n_removed": len(self.removed), "n_added": len(self.added)}
            found.append(Finding("drift-other-items", "note", changed))
        return tuple(found)

    def shown(self) -> Shown:
        """Return the items that drift, and what that does to scores."""
        columns = ["became", "change", "change_se", "p_drift", "old_score", "new_score"]
        table = self.items.loc[self.items["became"] != "", columns]
        names = {"change_se": "se"}
        legend = (
            "change: in logits at equal ability, above 0 if easier",
            "p_drift: probability that the item changed",
            "old_score, new_score: mean scores in both versions",
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
    versions = [_version(given, reading) for given in (old, new)]
    frames = []
    copies = 1.0
    for matrix, patterns in versions:
        rows = np.flatnonzero(patterns.real & patterns.answering)
        chosen = patterns.chosen(rows)
        right, tried = chosen.dense()
        shares = np.where(tried > 0, right / np.maximum(tried, 1), np.nan)
        labels = [matrix.respondents[row] for row in rows]
        frames.append(pd.DataFrame(shares, labels, list(matrix.items)).dropna(axis=1, how="all"))
        alike = near_duplicates(chosen)
        if alike.matter:
            copies = max(copies, alike.n / alike.n_eff)
    before, after = frames
    common = before.columns.intersection(after.columns, sort=False)
    if len(common) < _LEAST_ITEMS:
        raise ValueError(
            f"old and new have {len(common)} items in common by label, and drift needs "
            f"{_LEAST_ITEMS}"
        )
    pooled = pd.concat([before[common], after[common]], keys=["old", "new"])
    labels = [f"{version}: {label}" for version, label in pooled.index]
    matrix = ResponseMatrix(pooled.to_numpy(), labels, list(common))
    with silently():
        parameters = fit(matrix, "2PL", standard_errors=False, progress=False).parameters
    both = before.index.intersection(after.index, sort=False)
    pairs = np.stack([before.index.get_indexer(both), after.index.get_indexer(both) + len(before)])
    is_new = np.arange(len(pooled)) >= len(before)
    answers = Answers(pooled.to_numpy(), is_new, pairs, copies)
    slope = np.nan_to_num(parameters.discrimination)
    tests, called, mixture, ability = changed_items(
        answers, slope, np.nan_to_num(parameters.intercept), fdr
    )
    became = np.where(tests.change > 0, "easier", "harder")
    columns = {
        "became": np.where(called, became, ""),
        "change": tests.change,
        "change_se": tests.error,
        "z": tests.z,
        "p_drift": 1 - mixture.stayed,
        "old_score": before[common].mean(),
        "new_score": after[common].mean(),
        "n_old": before[common].notna().sum(),
        "n_new": after[common].notna().sum(),
    }
    table = pd.DataFrame(columns, pd.Index(common, name="item"))
    order = np.lexsort((mixture.stayed, ~called))
    return Drift(
        items=table.iloc[order],
        shift=_shift(called, tests, mixture, ability[is_new]),
        improvement=_improvement(before[common[~called]], after[common[~called]], copies),
        removed=tuple(before.columns.difference(common, sort=False)),
        added=tuple(after.columns.difference(common, sort=False)),
        n_old=len(before),
        n_new=len(after),
        n_both=len(both),
        fdr=fdr,
    )


def _version(given: object, reading: dict[str, Any]) -> tuple[ResponseMatrix, Patterns]:
    """Responses to a version, and their patterns."""
    require("drift", given)
    matrix = (
        given.saved_responses if isinstance(given, FitResult) else as_responses(given, **reading)
    )
    require("drift", matrix)
    return matrix, patterns_of(matrix, synthetic_is_real=False)


class Answers(NamedTuple):
    """Answers of two groups of systems to the same items."""

    share: Array  # Share of right answers, (n, n_items), NaN if missing.
    second: Marks  # Systems of the second group, (n,).
    pairs: NDArray[np.intp]  # Rows of systems that are in both groups, (2, n_both).
    copies: float = 1.0  # Systems per independent system.


class ItemTests(NamedTuple):
    """Change δ of every item from the first to the second group, (n_items,)."""

    z: Array
    change: Array
    error: Array
    slope: Array
    intercept: Array


class Mixture(NamedTuple):
    """How z is distributed over all items."""

    stayed: Array  # Probability of every item to have stayed.
    mean: Array  # Mean of its z without its own error, if it drifts, given z and its side.
    variance: Array  # The same, variance.
    of_side: Array  # Variance of what is learned of its side.


def changed_items(
    answers: Answers, slope: Array, intercept: Array, fdr: float
) -> tuple[ItemTests, Marks, Mixture, Array]:
    """Test all items, and say which changed, and abilities by those that did not."""
    from scipy.special import ndtr
    from scipy.stats import false_discovery_control

    kept = np.ones(len(slope), bool)
    for _ in range(_MOST_ROUNDS):
        ability = _abilities(answers, slope, intercept, kept)
        tests = _tested(answers, slope, intercept, ability, free_slopes=False)
        mixture = _mixture(tests.z)
        differs = false_discovery_control(2 * ndtr(-np.abs(tests.z))) <= fdr
        if (kept == ~differs).all() or (~differs).sum() < _LEAST_ITEMS:
            break
        kept = ~differs
    estimates = _tested(answers, slope, intercept, ability, free_slopes=True)
    order = np.argsort(mixture.stayed)
    rate = np.cumsum(mixture.stayed[order]) / np.arange(1, len(order) + 1)
    called = np.zeros(len(slope), bool)
    called[order[rate <= fdr]] = differs.any()
    return estimates._replace(z=tests.z), called, mixture, ability


def _abilities(answers: Answers, slope: Array, intercept: Array, kept: Marks) -> Array:
    """Modes of ability given some items, N(mean of the group, 1) in the population."""
    from scipy.special import expit

    answered = ~np.isnan(answers.share[:, kept])
    share = np.nan_to_num(answers.share[:, kept])
    a = slope[kept]
    ability = np.zeros(len(share))
    mean = np.zeros(2)
    group = answers.second.astype(int)
    for _ in range(_STEPS):
        p = expit(np.outer(ability, a) + intercept[kept])
        gradient = (answered * (share - p)) @ a - (ability - mean[group])
        information = (answered * p * (1 - p)) @ a**2 + 1
        ability = ability + np.clip(gradient / information, -1, 1)
        mean = np.array([ability[group == k].mean() for k in range(2)])
    return ability


def _tested(
    answers: Answers, slope: Array, intercept: Array, ability: Array, *, free_slopes: bool
) -> ItemTests:
    """Signed roots of likelihood ratios of δ, given abilities, by logistic regressions.

    Slopes of the fit to both groups are held, or estimated together with δ (``free_slopes``). The
    fit makes an item that became easier too steep if the second group is abler, and δ too small.
    Free slopes allow for that, but are flattened by the error of abilities, and make more false
    calls.
    """
    from scipy.special import expit, log_expit

    answered = ~np.isnan(answers.share)
    share = np.nan_to_num(answers.share)
    offset = np.outer(ability, slope)
    columns = [np.ones_like(ability), answers.second.astype(float)]
    if free_slopes:
        columns.insert(0, ability)
    design = np.stack(columns, axis=1)
    start = np.zeros((design.shape[1], len(slope)))
    start[-2] = intercept
    precision = np.full(len(start), 1e-6)
    precision[-1] = _DELTA_SD**-2
    deviance = []
    for n_free in (len(start) - 1, len(start)):
        columns_free = design[:, :n_free]
        weights = start[:n_free].copy()
        for _ in range(_STEPS):
            p = expit(offset + columns_free @ weights)
            weight = answered * p * (1 - p)
            residual = answered * (share - p)
            gradient = columns_free.T @ residual - precision[:n_free, None] * weights
            information = np.einsum("ij,ip,iq->jpq", weight, columns_free, columns_free)
            information += np.diag(precision[:n_free])
            step = np.linalg.solve(information, gradient.T[:, :, None])[:, :, 0].T
            weights = weights + np.clip(step, -1, 1)
        logit = offset + columns_free @ weights
        value = share * log_expit(logit) + (1 - share) * log_expit(-logit)
        deviance.append(-2 * (value * answered).sum(axis=0))
    level, change = weights[-2:]
    z = np.sign(change) * np.sqrt(np.maximum(deviance[0] - deviance[1], 0.0))
    # systems that are in both groups: their answers correlate
    on_others = np.linalg.solve(information[:, :-1, :-1], information[:, :-1, -1:])[:, :, 0]
    contrast = answered * (design[:, -1:] - design[:, :-1] @ on_others.T)
    scale = np.sqrt(weight)
    first, then = answers.pairs
    product = (scale[first] * scale[then]).sum()
    alike = (residual[first] * residual[then]).sum() / product if product > 0 else 0.0
    alike = float(np.clip(alike, 0.0, _MOST_ALIKE))
    shared = (contrast[first] * contrast[then] * scale[first] * scale[then]).sum(axis=0)
    alone = (contrast**2 * weight).sum(axis=0)
    variance = answers.copies * (1 + 2 * alike * shared / np.maximum(alone, 1e-9))
    error = np.sqrt(variance * np.linalg.inv(information)[:, -1, -1])
    if free_slopes:
        slope = slope + weights[0]
    return ItemTests(z / np.sqrt(variance), change, error, slope, level)


def _mixture(z: Array) -> Mixture:
    """Learn how z of drifting items is distributed, on either side of 0 (EM)."""
    from scipy.stats import norm

    of_side, of_all = _PRIOR_ITEMS
    signs = np.array([1.0, -1.0])[:, None]
    share = np.full((2, 1), 0.03)
    mean = np.full((2, 1), _DRIFTING_Z)
    sd = np.full((2, 1), 1.5)
    along = signs * z
    for _ in range(_ROUNDS_OF_MIXTURE):
        stays = np.log(1 - share.sum()) + norm.logpdf(z)
        drifts = np.log(share) + norm.logpdf(along, mean, sd)
        (stayed, *above_and_below), _ = memberships(np.vstack([stays, drifts]))
        weight = np.array(above_and_below)
        n = weight.sum(axis=1, keepdims=True)
        share = (n + of_side) / (len(z) + of_all)
        mean = ((weight * along).sum(axis=1, keepdims=True) + _DRIFTING_Z) / (n + 1)
        mean = np.maximum(mean, _LEAST_Z)
        squares = (weight * (along - mean) ** 2).sum(axis=1, keepdims=True)
        sd = np.maximum(np.sqrt((squares + 2) / (n + 2)), 1.0)
    side = (z < 0).astype(int)
    mean, sd, n = mean[side, 0], sd[side, 0], n[side, 0]
    reliable = 1 - 1 / sd**2
    expected = mean + reliable * (np.abs(z) - mean)
    of_side_mean = (1 - reliable) ** 2 * sd**2 / (n + 1)
    return Mixture(stayed, np.sign(z) * expected, reliable, of_side_mean)


def _shift(called: Marks, tests: ItemTests, mixture: Mixture, ability: Array) -> Change:
    """Mean score of the new systems that the called items add, with changes shrunk."""
    from scipy.special import expit, stdtrit

    if not called.any():
        return Change(0.0, 0.0, 0.0)
    n_items = len(called)
    level = tests.intercept[called]
    error = tests.error[called]
    drifts = 1 - mixture.stayed[called]
    change = mixture.mean[called] * error
    at = np.outer(ability, tests.slope[called]) + level
    effect = (expit(at + change) - expit(at)).mean(axis=0) / n_items
    p = expit(at + change)
    by_z = error * (p * (1 - p)).mean(axis=0) / n_items
    value = float(drifts @ effect)
    variance = (
        by_z**2 * mixture.variance[called] * drifts + effect**2 * drifts * (1 - drifts)
    ).sum()
    sides = np.sign(change)
    for side in (-1, 1):
        at_side = sides == side
        variance += by_z[at_side].sum() ** 2 * mixture.of_side[called][at_side][:1].sum()
    # what is learned of items that drift rests on about as many as are called
    reach = float(stdtrit(1 + called.sum(), 0.975) * np.sqrt(variance))
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
