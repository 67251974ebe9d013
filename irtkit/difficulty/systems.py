"""Whether systems rank otherwise by fitted ability than by their share right.

Two systems change places where the one with fewer right is the abler beyond error: the 99 %
interval of the difference of their abilities lies above 0. A rank that differs because two systems
are as good as equally able is no change.

The error of the difference is that of the posterior SDs of both, which take items as known. They
are known by the systems: where n of them answer like m independent ones, a model learns who is of
which family of copies, and weighs items by that. So the error is taken times √(n/m), and the
interval is that of Student's t with m − 1 degrees of freedom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.difficulty.rank_agreement import levels, rank_agreement, ranks

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.irf import Array

_Z95, _Z99 = 1.96, 2.576
"""Standard errors to either side of intervals, where respondents are many."""
_NAMED = 3  # systems that the sentence names


def ranked_systems(respondents: pd.DataFrame, duplicates: NearDuplicates | None) -> pd.DataFrame:
    """Rank real respondents that answered something by share right and by ability.

    Parameters
    ----------
    respondents, duplicates
        The table of a fit, and how far they answer alike, if that is known.

    Returns
    -------
    pandas.DataFrame
        What `DifficultyComparison.systems` holds.
    """
    table = respondents[~respondents["synthetic"] & (respondents["n_responses"] > 0)]
    accuracy, ability, error = (
        table[name].to_numpy(dtype=np.float64) for name in ("accuracy", "ability", "posterior_sd")
    )
    passes, passed_by = _changes(accuracy, ability, error * errors_needed(duplicates))
    ranked = table[["accuracy"]].assign(
        rank_by_accuracy=ranks(levels(-accuracy)),
        ability=ability,
        ability_low=ability - _Z95 * error,
        ability_high=ability + _Z95 * error,
        rank_by_ability=ranks(levels(-ability)),
        passes=passes,
        passed_by=passed_by,
        n_responses=table["n_responses"],
    )
    return ranked.sort_values("rank_by_ability", kind="stable")


def errors_needed(duplicates: NearDuplicates | None) -> float:
    """Posterior SDs of a difference beyond which two abilities differ; see the module."""
    from scipy.special import stdtrit

    if duplicates is None:
        return _Z99
    independent = max(duplicates.n_eff, 2.0)
    effect = max(duplicates.n / independent, 1.0)
    return float(np.sqrt(effect) * stdtrit(independent - 1, 0.995))


def _changes(
    accuracy: Array, ability: Array, least: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many systems each one passes, and is passed by, from share right to ability.

    Abilities differ beyond error by more than the root of the sum of the squares of ``least``.
    """
    passes, passed_by = np.zeros((2, len(ability)), dtype=np.intp)
    for some in blocks(len(ability), len(ability)):
        abler = ability[some, None] - ability > np.hypot(least[some, None], least)
        passed = abler & (accuracy[some, None] < accuracy)
        passes[some] = passed.sum(axis=1)
        passed_by += passed.sum(axis=0)
    return passes, passed_by


def most_moved(systems: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the systems that change places with most others, ablest first; else the ablest."""
    moves = systems["passes"] + systems["passed_by"]
    if not moves.any():
        return systems.head(n)
    chosen = moves[moves > 0].sort_values(ascending=False, kind="stable").index[:n]
    return systems[systems.index.isin(chosen)]


def systems_sentence(
    systems: pd.DataFrame, model: str, *, doubted: bool, partial: bool, draws: int, seed: int
) -> str:
    """Say whether the ranking of systems changes, and which systems move beyond error.

    ``doubted`` is whether one scale of ability does not explain who disagrees with whom,
    ``partial`` whether some did not answer all items.
    """
    if len(systems) < 2:
        return ""
    agreement = rank_agreement(systems["accuracy"], systems["ability"], draws=draws, seed=seed)
    between = f"Systems, {len(systems)} of them, from share right to ability in the {model}"
    if np.isnan(agreement.spearman):
        return f"{between}: one of the two does not tell them apart."
    numbers = (
        f"Spearman {agreement.spearman:.3f}, 95% interval {agreement.spearman_low:.3f} to "
        f"{agreement.spearman_high:.3f}"
    )
    if agreement.same_order:
        stays = "the ranking stays as it is"
        if not np.array_equal(agreement.first, agreement.second):
            stays = "only ties, which one of them has and the other has not, are split"
        return f"{between}: no two change places, {stays}."
    n_changes = int(systems["passes"].sum())
    if not n_changes:
        return f"{between}: no two change places beyond error ({numbers})."
    pairs = "pairs change" if n_changes > 1 else "pair changes"
    rows = most_moved(systems, _NAMED).reset_index().to_dict("records")
    named = "; ".join(map(_move, rows))
    most = ", most of all" if n_changes > 1 else ":"
    sentence = f"{between}: {n_changes} {pairs} places beyond error ({numbers}){most} {named}."
    if doubted:
        sentence += (
            " But one scale of ability does not hold here: this one is one of several, or tells "
            "families of systems apart, and need not rank them better than shares right do."
        )
    if partial:
        sentence += (
            " But not all answered the same items, and these errors take items as known: where few "
            "items link systems, many such changes are luck; a leaderboard has both errors in."
        )
    return sentence


def _move(row: dict[Any, Any]) -> str:
    """How one system moves."""
    moves = [
        f"{verb} {count}"
        for verb, count in (("passing", row["passes"]), ("passed by", row["passed_by"]))
        if count
    ]
    interval = f"{row['ability']:.2f}, 95% {row['ability_low']:.2f} to {row['ability_high']:.2f}"
    return (
        f"{row['respondent']} from rank {row['rank_by_accuracy']:g} ({row['accuracy']:.1%} right) "
        f"to {row['rank_by_ability']:g} (ability {interval}; {', '.join(moves)})"
    )
