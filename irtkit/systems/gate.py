"""A gate for merge checks: whether a new version has dropped by more than is allowed.

The drop is the mean over the items of both runs of the old share right less the new one, paired
and clustered (:mod:`irtkit.systems.paired`). The gate *fails* where a drop of ``max_drop`` or less
would look like this with a probability below 1 − ``level`` (one-sided), so that about that share
of harmless changes is stopped and no more, however noisy the benchmark. It *passes* where, with the
same certainty, the drop is no larger. Anything else is *inconclusive*: the benchmark is too small
for the question, and it is said how many items would settle it. What only one of the runs holds is
said as well, and a system that the new one lacks keeps the gate from passing.

**Few changes.** That no answer changed on 200 items proves a drop below 1.5 points, since one of
1.5 leaves all as they were in 5 % of runs, and not one below 0.8, as Student's t has it. So the
upper bound of the drop is at least the larger root U of

    (U − d̄)² = max(z², −log α) · (wU − U²)/J,

the bound of Wilson (1927, *JASA* 22, 209–212) for answers that only change for the worse, whose
mean U has the variance (U − U²)/J; where none did, −log α makes it that of Clopper & Pearson. w is
how much more they vary where clusters fall together, and less where single trials of an item do:
Σ_g(Σ_{j∈g} d_j)²/Σ|d_j|, as if a cluster, which may fall whole, had done so before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.checks import check_number, first_names, short
from irtkit.data.patterns import patterns_of
from irtkit.io.reading import as_responses
from irtkit.printed import in_lines, printable
from irtkit.systems.comparison import settled
from irtkit.systems.paired import items_needed, mean_of, t_quantile, tail
from irtkit.systems.standing import Shares, numbered_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

    _Pair = tuple[str, tuple[int, int]]

Verdict = Literal["passed", "failed", "inconclusive"]

MAX_DROP = 0.02
"""Two percentage points, the standard error of a score of 70 % on 500 items: one score alone does
not show a smaller drop. If no answer changed, a gate passes from about 150 items on."""


@dataclass(frozen=True)
class GateSystem:
    """One system, old and new."""

    system: str
    n_items: int
    """Items that both runs answered."""
    old: float
    """Share right of them."""
    new: float
    drop: float
    """Old less new; below 0 the new one is better."""
    low: float
    """The drop is at least that, and at most ``high``: each bound holds with the probability
    1 − (1 − ``level``)/n of n systems compared."""
    high: float
    p_value: float
    """Probability of so large a drop, if the true one is ``max_drop``."""
    verdict: Verdict
    items_needed: float
    """Items in all that tell, with a probability of 80 %, on which side of ``max_drop`` a drop as
    large as this one lies; infinite if it is ``max_drop``."""


@dataclass(frozen=True)
class Gate:
    """What :func:`irtkit.gate` found; ``print`` shows it."""

    max_drop: float
    level: float
    systems: tuple[GateSystem, ...]
    n_only_old: int
    """Items that one of these systems answered in the old run, and not in the new one."""
    n_only_new: int
    """Items answered in the new run alone."""
    only_old_systems: tuple[str, ...] = ()
    """Systems without a response in the new run."""
    only_new_systems: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """That of all systems: "failed" if any failed, "passed" if all passed and none is gone."""
        found = {system.verdict for system in self.systems}
        if "failed" in found:
            return "failed"
        passed = found == {"passed"} and not self.only_old_systems
        return "passed" if passed else "inconclusive"

    @property
    def sentences(self) -> list[str]:
        """The verdict on each system, and what was not compared."""
        return [*map(self._sentence, self.systems), *self._left_out()]

    def _left_out(self) -> Iterator[str]:
        if self.only_old_systems:
            gone = first_names(self.only_old_systems)
            yield f"The new run has no response of {gone}: the gate cannot pass without."
        if self.only_new_systems:
            added = first_names(self.only_new_systems)
            yield f"Only the new run has {added}, of which nothing is said."
        of_system = " of some system" if len(self.systems) > 1 else ""
        for n, one, other in ((self.n_only_old, "old", "new"), (self.n_only_new, "new", "old")):
            if n:
                have, do = ("has", "does") if n == 1 else ("have", "do")
                yield (
                    f"{n:,} item{'s' * (n > 1)} {have} a response{of_system} in the {one} run and "
                    f"none in the {other} one, and {do} not count{of_system and ' for it'}."
                )

    def _sentence(self, system: GateSystem) -> str:
        moved = f"{'dropped' if system.drop > 0 else 'rose'} by {100 * abs(system.drop):.2f}"
        moved = f"{moved} percentage points"
        if abs(system.drop) < 5e-5:
            moved = "is the same to 0.01 percentage points"
        points = 100 * self.max_drop
        beyond = f"of more than the {points:g} percentage point{'s' * (points != 1)} allowed "
        drop, certain = f"a drop {beyond * (points > 0)}is", f"{100 * self._each:.4g}% certainty"
        start = (
            f"{printable(system.system)} {system.verdict}: its share right {moved} on "
            f"{system.n_items:,} item{'s' * (system.n_items > 1)}; {drop}"
        )
        if system.verdict != "inconclusive":
            verb = "shown" if system.verdict == "failed" else "ruled out"
            return f"{start} {verb} with {certain}."
        more = settled(
            system.items_needed - system.n_items, "The drop is as good as the one allowed"
        )
        return (
            f"{start} neither shown nor ruled out ({100 * system.high:.2f} at most, with {certain})"
            f". {more}"
        )

    @property
    def _each(self) -> float:
        """Certainty of each bound: all systems together err with 1 − ``level``."""
        return 1 - (1 - self.level) / len(self.systems)

    @property
    def markdown(self) -> str:
        """A summary for a merge check."""
        rows = [
            f"| {_cell(s.system)} | {s.n_items:,} | {s.old:.2%} | {s.new:.2%} "
            f"| {0 - 100 * s.drop:+.2f} | {-100 * s.high:+.2f} to {-100 * s.low:+.2f} "
            f"| {s.verdict} |"
            for s in self.systems
        ]
        about = (
            "A change that stays within the allowed drop fails with a probability of about "
            f"{1 - self.level:.2g} at most; paired, errors clustered by item."
        )
        lines = [
            f"## Gate {self.verdict}",
            "",
            f"Allowed drop: {100 * self.max_drop:g} percentage points.",
            "",
            "| system | items | old | new | change, points | between | verdict |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            *(_cell(sentence) for sentence in self.sentences),
            "",
            about,
        ]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"Gate({self.verdict}, {len(self.systems)} systems)"

    def __str__(self) -> str:
        return f"gate {self.verdict}\n{in_lines(self.sentences)}"


def _cell(text: str) -> str:
    """Text that a table of Markdown holds as it is."""
    escaped = printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("`", "\\`").replace("[", "\\[")


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
    old, new
        Responses of both runs to the same items: a ResponseMatrix or anything that
        :func:`irtkit.read_responses` takes, of which ``reading`` are the settings. Each holds one
        system, whatever they are called; or the same systems, found by their labels: without one of
        the old ones, the gate does not pass.
    max_drop
        Allowed drop in accuracy: 0.02 is two percentage points. A gate with 0 passes only a model
        that is shown to be better.
    clusters
        Cluster of each item, where they were not chosen one by one; a mapping or Series by label.
        Where little changed each may fall as one, and a gate of few clusters does not pass.
    level
        One less the rate of false alarms, of a gate of several systems (Bonferroni).

    Returns
    -------
    Gate
        ``verdict`` ("passed", "failed" or "inconclusive"), ``systems``, ``sentences`` and
        ``markdown``.

    Raises
    ------
    TypeError, ValueError
        If responses cannot be read, or runs have no system or no two items in common.

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
    runs = [as_responses(given, **reading) for given in (old, new)]
    pairs = _pairs(*runs)
    known = set(runs[1].items)
    items = [label for label in runs[0].items if label in known]
    if len(items) < 2:
        raise ValueError(
            f"old and new have {len(items)} items in common; theirs are "
            f"{first_names(runs[0].items)} and {first_names(runs[1].items)}"
        )
    cluster = numbered_clusters(clusters, tuple(items))
    shares = [_of_items(run, items) for run in runs]
    systems = tuple(
        _judged(
            name,
            [run.right[k] for run, k in zip(shares, rows, strict=True)],
            [run.trials[k] for run, k in zip(shares, rows, strict=True)],
            cluster,
            max_drop=max_drop,
            alpha=(1 - level) / len(pairs),
        )
        for name, rows in pairs
    )
    (n_old, n_new), (of_old, of_new) = _only_items(runs, pairs), _only_systems(runs, pairs)
    return Gate(max_drop, level, systems, n_old, n_new, of_old, of_new)


def _pairs(old: ResponseMatrix, new: ResponseMatrix) -> list[_Pair]:
    """Systems with responses in both runs, and which rows they are."""
    one, other = (_answering(run) for run in (old, new))
    if old.n_respondents == new.n_respondents == 1:
        return [(new.respondents[0], (0, 0))]
    both = [(label, (k, other[label])) for label, k in one.items() if label in other]
    if not both:
        raise ValueError(
            "old and new must hold one system each, or the same ones, with responses; old has "
            f"{first_names(one)} and new {first_names(other)}"
        )
    return both


def _answering(run: ResponseMatrix) -> dict[str, int]:
    """Rows of the systems with a response, by label."""
    answered = patterns_of(run, synthetic_is_real=True).answering
    return {label: k for k, label in enumerate(run.respondents) if answered[k]}


def _only_systems(runs: list[ResponseMatrix], pairs: list[_Pair]) -> Iterator[tuple[str, ...]]:
    """Systems with responses in the old run alone, and in the new one."""
    for end, run in enumerate(runs):
        compared = {rows[end] for _, rows in pairs}
        yield tuple(label for label, k in _answering(run).items() if k not in compared)


def _only_items(runs: list[ResponseMatrix], pairs: list[_Pair]) -> list[int]:
    """How many items a system compared answered in the old run alone, and in the new one."""
    place = {label: k for k, label in enumerate(dict.fromkeys((*runs[0].items, *runs[1].items)))}
    answered = np.zeros((2, len(pairs), len(place)), dtype=bool)
    for end, run in enumerate(runs):
        rows = np.array([rows[end] for _, rows in pairs])
        trials = patterns_of(run, synthetic_is_real=True).dense(rows)[1]
        answered[end][:, [place[label] for label in run.items]] = trials > 0
    old, new = answered
    return [int((one & ~other).any(axis=0).sum()) for one, other in ((old, new), (new, old))]


def _of_items(run: ResponseMatrix, items: list[str]) -> Shares:
    """Responses of all systems of a run to some items."""
    place = {label: k for k, label in enumerate(run.items)}
    columns = np.array([place[label] for label in items])
    return Shares.of(patterns_of(run, synthetic_is_real=True).with_columns(columns))


def _judged(
    name: str,
    share: list[Any],
    trials: list[Any],
    cluster: Any,
    *,
    max_drop: float,
    alpha: float,
) -> GateSystem:
    both = (trials[0] > 0) & (trials[1] > 0)
    if not both.any():
        raise ValueError(f"old and new have no item that system {short(name)} answered in both")
    of_both = None if cluster is None else cluster[both]
    step = 1 / float(max(trials[0].max(), trials[1].max()))
    difference = (share[0] - share[1])[both]
    drop = mean_of(difference, of_both, step=step)
    reach = float(t_quantile(drop.df, 1 - 2 * alpha)) * drop.se
    high, least_se = _few_changes(difference, of_both, max_drop, alpha)
    high = min(max(drop.value + reach, high), 1.0)
    beyond = (drop.value - max_drop) / drop.se
    chance = float(tail(drop.df, beyond))
    verdict: Verdict = "inconclusive"
    if drop.value - reach > max_drop:
        verdict = "failed"
    elif high <= max_drop:
        verdict = "passed"
    n_items = int(both.sum())
    needed = items_needed(
        max(drop.se * n_items**0.5, least_se),
        drop.value - max_drop,
        tail_probability=alpha,
        clusters_per_item=(drop.df + 1) / n_items,
    )
    return GateSystem(
        system=name,
        n_items=n_items,
        old=float(share[0][both].mean()),
        new=float(share[1][both].mean()),
        drop=drop.value,
        low=max(drop.value - reach, -1.0),
        high=high,
        p_value=chance if beyond > 0 else 1 - chance,
        verdict=verdict,
        items_needed=float(needed),
    )


def _few_changes(
    difference: Array, cluster: Any, max_drop: float, alpha: float
) -> tuple[float, float]:
    """U of the module, and the standard error of one item at a drop of what is allowed."""
    from scipy.special import ndtri

    number = np.arange(len(difference)) if cluster is None else cluster
    sums, sizes = np.bincount(number, difference), np.bincount(number)
    whole = float((sizes**2).sum()) / len(difference)
    w = (whole + float(sums @ sums)) / (1 + float(np.abs(difference).sum()))
    k = max(float(ndtri(alpha)) ** 2, -float(np.log(alpha))) / len(difference)
    mean = float(difference.mean())
    middle = mean + k * w / 2
    square = middle**2 - (1 + k) * mean**2
    bound = (middle + square**0.5) / (1 + k) if square > 0 else mean
    return bound, max(w * max_drop - max_drop**2, 0.0) ** 0.5
