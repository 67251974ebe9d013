"""A gate for merge checks: whether a new version has dropped by more than is allowed.

The drop is the mean over the items of both runs of the old share right less the new one, paired
and clustered (:mod:`irtkit.systems.paired`). The gate *fails* where a drop of ``max_drop`` or less
would look like this with a probability below 1 − ``level`` (one-sided), so that about that share
of harmless changes is stopped and no more, however noisy the benchmark. It *passes* where, with the
same certainty, the drop is no larger. Anything else is *inconclusive*: the benchmark is too small
for the question, and it is said how many items would settle it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.checks import check_number, first_names
from irtkit.io.reading import as_responses
from irtkit.labels import is_missing_label, values_by_label
from irtkit.patterns import patterns_of
from irtkit.printed import in_lines, printable
from irtkit.systems.comparison import settled
from irtkit.systems.paired import items_needed, mean_of, t_quantile, tail
from irtkit.systems.standing import Answers

if TYPE_CHECKING:
    from irtkit.responses import ResponseMatrix

Verdict = Literal["passed", "failed", "inconclusive"]


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
    """The drop is at least that, and at most ``high``, each with the probability ``level``."""
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
    """Items of the old run that the new one lacks."""
    n_only_new: int

    @property
    def verdict(self) -> Verdict:
        """That of all systems: "failed" if any failed, "passed" if all passed."""
        found = {system.verdict for system in self.systems}
        if "failed" in found:
            return "failed"
        return "passed" if found == {"passed"} else "inconclusive"

    @property
    def sentences(self) -> list[str]:
        """The verdict on each system, and what was not compared."""
        told = [self._sentence(system) for system in self.systems]
        if self.n_only_old:
            told.append(
                f"{self.n_only_old:,} items of the old run have no response in the new one, and do "
                "not count."
            )
        if self.n_only_new:
            told.append(f"{self.n_only_new:,} items are new, and do not count.")
        return told

    def _sentence(self, system: GateSystem) -> str:
        points = 100 * self.max_drop
        allowed = f"{points:g} point{'s' * (points != 1)}"
        certain = f"{100 * self._each:.4g}%"
        name, drop = printable(system.system), 100 * system.drop
        moved = f"dropped by {drop:.2f}" if drop > 0 else f"rose by {abs(drop):.2f}"
        start = f"{name} {system.verdict}: it {moved} percentage points on {system.n_items:,} items"
        if system.verdict == "failed":
            return f"{start}, more than the {allowed} allowed (by {100 * system.low:.2f} or more)."
        if system.verdict == "passed":
            return f"{start}, and with {certain} certainty not by more than the {allowed} allowed."
        more = settled(
            system.items_needed - system.n_items, "The drop is as good as the one allowed"
        )
        return (
            f"{start}, and by up to {100 * system.high:.2f}: that is neither shown to be more than "
            f"the {allowed} allowed nor shown to be less. {more}"
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
            f"| {-100 * s.drop:+.2f} | {-100 * s.high:+.2f} to {-100 * s.low:+.2f} | {s.verdict} |"
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
    max_drop: float = 0.0,
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
        system, whatever they are called; or the same systems, found by their labels.
    max_drop
        Drop of the share right that is allowed: 0.01 is a percentage point.
    clusters
        Cluster of each item, where they were not chosen one by one; a mapping or Series by label.
    level
        One less the rate of false alarms. Of several systems that of any (Bonferroni).

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
    >>> irtkit.gate(old, old, max_drop=0.01).verdict
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
    cluster = _clusters(clusters, tuple(items))
    answers = [_of_items(run, items) for run in runs]
    systems = tuple(
        _judged(
            name,
            [a.share[k] for a, k in zip(answers, rows, strict=True)],
            [a.trials[k] for a, k in zip(answers, rows, strict=True)],
            cluster,
            max_drop=max_drop,
            alpha=(1 - level) / len(pairs),
        )
        for name, rows in pairs
    )
    only = [len(run.items) - len(items) for run in runs]
    return Gate(max_drop, level, systems, *only)


def _pairs(old: ResponseMatrix, new: ResponseMatrix) -> list[tuple[str, tuple[int, int]]]:
    """Systems of both runs, and which rows they are."""
    if old.n_respondents == new.n_respondents == 1:
        return [(new.respondents[0], (0, 0))]
    place = {label: k for k, label in enumerate(new.respondents)}
    both = [(label, (k, place[label])) for k, label in enumerate(old.respondents) if label in place]
    if not both:
        raise ValueError(
            "old and new must hold one system each, or the same ones; old has "
            f"{first_names(old.respondents)} and new {first_names(new.respondents)}"
        )
    return both


def _clusters(clusters: Any, items: tuple[str, ...]) -> Any:
    if clusters is None:
        return None
    names = values_by_label("clusters", clusters, items, value="cluster", kind="item")
    for label, name in zip(items, names, strict=True):
        if is_missing_label(name):
            raise ValueError(f"clusters has none for item {label!r}")
    return np.unique([str(name) for name in names], return_inverse=True)[1]


def _of_items(run: ResponseMatrix, items: list[str]) -> Answers:
    """Responses of all systems of a run to some items."""
    place = {label: k for k, label in enumerate(run.items)}
    columns = np.array([place[label] for label in items])
    return Answers.of(patterns_of(run, synthetic_is_real=True).with_columns(columns))


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
        raise ValueError(f"old and new have no item that system {name!r} answered in both")
    of_both = None if cluster is None else cluster[both]
    step = 1 / float(max(trials[0].max(), trials[1].max()))
    drop = mean_of((share[0] - share[1])[both], of_both, step=step)
    reach = t_quantile(drop.df, 1 - 2 * alpha) * drop.se
    beyond = (drop.value - max_drop) / drop.se
    chance = float(tail(drop.df, beyond))
    verdict: Verdict = "inconclusive"
    if drop.value - reach > max_drop:
        verdict = "failed"
    elif drop.value + reach <= max_drop:
        verdict = "passed"
    n_items = int(both.sum())
    needed = items_needed(drop.se * n_items**0.5, drop.value - max_drop, tail_probability=alpha)
    return GateSystem(
        system=name,
        n_items=n_items,
        old=float(share[0][both].mean()),
        new=float(share[1][both].mean()),
        drop=drop.value,
        low=drop.value - reach,
        high=drop.value + reach,
        p_value=chance if beyond > 0 else 1 - chance,
        verdict=verdict,
        items_needed=float(needed),
    )
