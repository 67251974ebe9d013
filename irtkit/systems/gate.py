"""A gate for merge checks: whether a new version has dropped by more than is allowed.

The drop is the mean difference between old and new accuracy over the items of both runs, paired and
clustered. The gate *fails* if a drop of ``max_drop`` would look like this with a probability below
1 − ``level``. It *passes* if, with the same certainty, the drop is at most that large.

If few answers changed, Student's t is too sure. The upper bound of the drop is at least the larger
root U of (U − d̄)² = max(z², −log α) · (wU − U²)/J (Wilson 1927, *JASA* 22). The factor for
clusters, w = Σ_g(Σ_{j∈g} d_j)²/Σ|d_j|, counts one that fell whole in addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.checks import check_number, first_names, short
from irtkit.data.patterns import patterns_of
from irtkit.findings import Finding, as_typed
from irtkit.fitting import responses_for
from irtkit.printed import Printed, Shown, two_digits
from irtkit.scoring.scores import chosen_items
from irtkit.systems.paired import items_needed, t_distribution
from irtkit.systems.scores import Shares, numbered_clusters
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.responses import ResponseMatrix
    from irtkit.systems.paired import Clusters

Verdict = Literal["passed", "failed", "inconclusive"]

MAX_DROP = 0.02  # The standard error of an accuracy of 70 % on 500 items.


@dataclass(frozen=True)
class GateSystem:
    """One system, old and new."""

    system: str
    before: str  #: Its name in the old run.
    n_items: int  #: Items that both runs answered.
    n_changed: int  #: Of these, items whose accuracy differs.
    old: float  #: Accuracy on these items.
    new: float
    drop: float  #: Old less new. Below 0 the new one is better.
    low: float  #: Bounds, each with probability 1 − (1 − ``level``)/n for n systems.
    high: float
    p_value: float  #: Probability of so large a drop, if the true one is ``max_drop``.
    verdict: Verdict
    items_needed: float  #: To show with 80 % power on which side of ``max_drop`` such a drop lies.

    @property
    def name(self) -> str:
        """The names in both runs, "v1 → v2"."""
        return self.system if self.before == self.system else f"{self.before} → {self.system}"


@dataclass(frozen=True)
class Gate(Printed):
    """What :func:`irtkit.gate` found. ``print`` shows it."""

    max_drop: float
    level: float
    systems: tuple[GateSystem, ...]
    limits: tuple[Finding, ...]  #: Items and systems that only one of the runs answered.

    @property
    def verdict(self) -> Verdict:
        """All systems: "failed" if any failed, "passed" if all passed and none is gone."""
        verdicts = {system.verdict for system in self.systems}
        if "failed" in verdicts:
            return "failed"
        gone = any(finding.code == "gate-without-systems" for finding in self.limits)
        return "passed" if verdicts == {"passed"} and not gone else "inconclusive"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Verdicts on systems, and what was not compared. `str` of a finding is its message."""
        certainty = 100 * (1 - (1 - self.level) / len(self.systems))
        verdicts = []
        for system in self.systems:
            values = vars(system) | {
                "name": system.name,
                "allowed": 100 * self.max_drop,
                "certainty": certainty,
            }
            values |= {"change": 0 - 100 * system.drop, "most": 100 * system.high}
            values["more"] = two_digits(system.items_needed - system.n_items)
            verdicts.append(Finding(f"gate-{system.verdict}", "note", values))
        return (*verdicts, *self.limits)

    def shown(self) -> Shown:
        """Return the verdicts on systems, and what was not compared."""
        from irtkit.systems.printed import gate_shown

        return gate_shown(self)

    @property
    def markdown(self) -> str:
        """A summary for a merge check."""
        return self.shown().markdown()

    def __repr__(self) -> str:
        return f"Gate({self.verdict}, {len(self.systems)} systems)"


@one_thread()
def gate(
    old: object,
    new: object,
    *,
    max_drop: float = MAX_DROP,
    clusters: Any = None,
    level: float = 0.95,
    **reading: Any,
) -> Gate:
    """Say whether a new version is worse than the old one by more than is allowed.

    Parameters
    ----------
    old, new : ResponseMatrix, FitResult, path or other responses
        Responses of both runs to the same items: results with their responses, or what
        :func:`irtkit.read_responses` takes. Each holds one system of any name, or the same systems
        by label. Without an old system the gate does not pass.
    max_drop : float, default 0.02
        Allowed drop in accuracy: 0.02 is two percentage points. A gate with 0 passes only a model
        that is shown to be better.
    clusters : mapping or Series, optional
        Cluster of each item, if items were not chosen one by one: a mapping or Series by label. If
        few answers changed, a gate of few clusters does not pass.
    level : float, default 0.95
        One less the rate of false alarms, of a gate of several systems (Bonferroni).

    Returns
    -------
    Gate
        ``verdict`` ("passed", "failed", "inconclusive"), ``systems``, ``findings`` and
        ``markdown``.

    Raises
    ------
    TypeError, ValueError
        If responses cannot be read, a run lacks systems, or the runs share fewer than two items.

    See Also
    --------
    irtkit.compare_systems, irtkit.expected_performance

    Examples
    --------
    >>> import irtkit
    >>> old = irtkit.ResponseMatrix([[1] * 80 + [0] * 20], ["v1"])
    >>> new = irtkit.ResponseMatrix([[1] * 60 + [0] * 40], ["v2"])
    >>> found = irtkit.gate(old, new, max_drop=0.01)
    >>> found.verdict
    'failed'
    >>> irtkit.gate(old, old).verdict  # 100 items cannot rule out a drop of 2 points
    'inconclusive'
    >>> irtkit.gate(old, old, max_drop=0.05).verdict
    'passed'
    """
    max_drop = check_number("max_drop", max_drop, least=0, below=1)
    level = check_number("level", level, above=0.5, below=1)
    matrices = [responses_for(run, **reading) for run in (old, new)]
    runs = [_answers(matrix) for matrix in matrices]
    before, after = (run.right.index for run in runs)
    old_names = dict(zip(after, after, strict=True))
    if len(before) == len(after) == 1:
        old_names = dict(zip(after, before, strict=True))
        before = runs[0].right.index = runs[0].trials.index = after
    pairs = before.intersection(after, sort=False)
    if not len(pairs):
        raise ValueError(
            "old and new must hold one system each, or the same ones, with responses. old has "
            f"{first_names(before)} and new {first_names(after)}. "
            + as_typed("<irtkit.drift|irtkit drift OLD NEW> compares two versions of a benchmark")
        )
    old_items, new_items = (run.right.columns for run in runs)
    common = old_items.intersection(new_items, sort=False)
    if len(common) < 2:
        raise ValueError(
            f"old and new have {len(common)} items in common. Their items are "
            f"{first_names(old_items)} and {first_names(new_items)}"
        )
    cluster = numbered_clusters(clusters, tuple(common))
    items = common.append(old_items.symmetric_difference(new_items, sort=False))
    cells: Any = {"index": pairs, "columns": items, "fill_value": 0.0}
    right = np.stack([run.right.reindex(**cells) for run in runs], axis=1)
    trials = np.stack([run.trials.reindex(**cells) for run in runs], axis=1)
    answered: Any = trials > 0  # (n_systems, 2, n_items)
    alone = (answered & ~answered[:, ::-1]).any(axis=0)
    scored = any(run.scored for run in runs)
    alpha = (1 - level) / len(pairs)
    systems = []
    for k, name in enumerate(pairs):
        both = np.flatnonzero(answered[k].all(axis=0))
        if not len(both):
            raise ValueError(
                f"old and new share no item that system {short(name)} answered in both"
            )
        shares = Shares(right[k][:, both], trials[k][:, both], scored)
        of_items = None if cluster is None else cluster[both]
        judged = _judged(name, old_names[name], shares, of_items, max_drop=max_drop, alpha=alpha)
        systems.append(judged)
    limits: dict[str, dict[str, Any]] = {
        "gate-without-systems": {"systems": [*before.difference(pairs, sort=False)]},
        "gate-new-systems": {"systems": [*after.difference(pairs, sort=False)]},
        "gate-old-items": {"n": int(alone[0].sum())},
        "gate-new-items": {"n": int(alone[1].sum())},
    }
    findings = chosen_items(*matrices)
    for code, values in limits.items():
        if any(values.values()):
            findings.append(Finding(code, "warning", values))
    return Gate(max_drop, level, tuple(systems), tuple(findings))


class _Run(NamedTuple):
    """Answers of the systems of a run that have some, tables of systems × items."""

    right: pd.DataFrame  # Share right, 0 if missing.
    trials: pd.DataFrame
    scored: bool


def _answers(run: ResponseMatrix) -> _Run:
    """Answers of a run."""
    import pandas as pd

    right, trials, scored, _ = Shares.of(patterns_of(run, synthetic_is_real=True))
    answering = np.flatnonzero(trials.any(axis=1))
    systems = pd.Index(run.respondents)[answering]
    items = pd.Index(run.items)
    return _Run(
        pd.DataFrame(right[answering], systems, items),
        pd.DataFrame(trials[answering], systems, items),
        scored,
    )


def _judged(
    name: str,
    before: str,
    shares: Shares,
    cluster: Clusters | None,
    *,
    max_drop: float,
    alpha: float,
) -> GateSystem:
    """One system by its answers of both runs to the same items."""
    from scipy.special import ndtri

    old, new = shares.right.mean(axis=1).tolist()
    n_items, drop = shares.difference(cluster)
    low, high = drop.interval(1 - 2 * alpha)
    difference = shares.right[0] - shares.right[1]
    # U of the module, and the standard error of one item at a drop of what is allowed
    number = np.arange(n_items) if cluster is None else cluster
    sums = np.bincount(number, difference)
    sizes = np.bincount(number)
    whole = float((sizes**2).sum()) / n_items
    w = (whole + float(sums @ sums)) / (1 + float(np.abs(difference).sum()))
    k = max(float(ndtri(alpha)) ** 2, -float(np.log(alpha))) / n_items
    mean = drop.value
    middle = mean + k * w / 2
    square = middle**2 - (1 + k) * mean**2
    bound = (middle + square**0.5) / (1 + k) if square > 0 else mean
    least_se = max(w * max_drop - max_drop**2, 0.0) ** 0.5
    high = min(max(high, bound), 1.0)
    beyond = (drop.value - max_drop) / drop.se
    needed = items_needed(
        max(drop.se * n_items**0.5, least_se),
        drop.value - max_drop,
        tail_probability=alpha,
        clusters_per_item=(drop.df + 1) / n_items,
    )
    verdict: Verdict = "inconclusive"
    if low > max_drop:
        verdict = "failed"
    elif high <= max_drop:
        verdict = "passed"
    return GateSystem(
        system=name,
        before=before,
        n_items=n_items,
        n_changed=int(np.count_nonzero(difference)),
        old=old,
        new=new,
        drop=drop.value,
        low=float(low),
        high=float(high),
        p_value=float(t_distribution(drop.df, -beyond)),
        verdict=verdict,
        items_needed=float(needed),
    )
