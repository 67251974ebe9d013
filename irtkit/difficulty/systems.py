"""Whether systems rank otherwise by fitted ability than by their share right.

Two systems change places where one has more right, the other is abler, and both differences are
beyond 1.96 standard errors: ranks that differ because two systems are as good as equal are no
change. Shares are taken as those of independent responses, which is too careful where systems
answered the same items; abilities have their posterior SDs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.difficulty.rank_agreement import levels, rank_agreement, ranks
from irtkit.patterns import blocks

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_Z = 1.96
"""Standard errors to either side of a 95 % interval, and beyond which a difference is sure. Where
respondents differ in ability alone, no two systems changed places in 20 sets of any shape, with
item parameters fitted to as few as 8 respondents (``benchmarks/held_out.py``)."""
_NAMED = 3  # systems that the sentence names


def ranked_systems(respondents: pd.DataFrame) -> pd.DataFrame:
    """Rank real respondents that answered something by share right and by ability.

    Parameters
    ----------
    respondents
        The table of a fit.

    Returns
    -------
    pandas.DataFrame
        What `DifficultyComparison.systems` holds.
    """
    table = respondents[~respondents["synthetic"] & (respondents["n_responses"] > 0)]
    accuracy, ability, error, n = (
        table[name].to_numpy(dtype=np.float64)
        for name in ("accuracy", "ability", "ability_se", "n_responses")
    )
    share = (accuracy * n + 0.5) / (n + 1)  # a share of 1 is uncertain, too
    passes, passed_by = _changes(accuracy, np.sqrt(share * (1 - share) / n), ability, error)
    ranked = table[["accuracy"]].assign(
        rank_by_accuracy=ranks(levels(-accuracy)),
        ability=ability,
        ability_low=ability - _Z * error,
        ability_high=ability + _Z * error,
        rank_by_ability=ranks(levels(-ability)),
        passes=passes,
        passed_by=passed_by,
        n_responses=table["n_responses"],
    )
    return ranked.sort_values("rank_by_ability", kind="stable")


def _changes(
    accuracy: Array, accuracy_se: Array, ability: Array, ability_se: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many systems each one passes, and is passed by, from share right to ability."""
    passes, passed_by = np.zeros((2, len(ability)), dtype=np.intp)
    for some in blocks(len(ability), len(ability)):
        by_ability = _sure_signs(ability, ability_se, some)
        changed = by_ability * _sure_signs(accuracy, accuracy_se, some) < 0
        passes[some] = (changed & (by_ability > 0)).sum(axis=1)
        passed_by[some] = (changed & (by_ability < 0)).sum(axis=1)
    return passes, passed_by


def _sure_signs(value: Array, error: Array, some: slice) -> NDArray[np.int8]:
    """Signs of the differences between some and all, 0 where not beyond their errors."""
    difference = value[some, None] - value
    sure = np.abs(difference) > _Z * np.hypot(error[some, None], error)
    return np.where(sure, np.sign(difference), 0).astype(np.int8)


def most_moved(systems: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the systems that change places with most others, ablest first; else the ablest."""
    moves = systems["passes"] + systems["passed_by"]
    if not moves.any():
        return systems.head(n)
    chosen = moves[moves > 0].sort_values(ascending=False, kind="stable").index[:n]
    return systems[systems.index.isin(chosen)]


def systems_sentence(systems: pd.DataFrame, *, draws: int, seed: int) -> str:
    """Say whether the ranking of systems changes, and which systems move beyond error."""
    if len(systems) < 2:
        return ""
    agreement = rank_agreement(systems["accuracy"], systems["ability"], draws=draws, seed=seed)
    between = f"Systems, {len(systems)} of them, from share right to ability"
    if np.isnan(agreement.spearman):
        return f"{between}: one of the two does not tell them apart."
    numbers = (
        f"Spearman {agreement.spearman:.3f}, 95 % interval {agreement.spearman_low:.3f} to "
        f"{agreement.spearman_high:.3f}"
    )
    if agreement.same_order:
        return f"{between}: no two change places, the ranking stays as it is."
    n_changes = int(systems["passes"].sum())
    if not n_changes:
        return f"{between}: no two change places beyond error ({numbers})."
    pairs = "pairs change" if n_changes > 1 else "pair changes"
    named = "; ".join(_move(row) for row in most_moved(systems, _NAMED).itertuples())
    return f"{between}: {n_changes} {pairs} places beyond error ({numbers}), most of all {named}."


def _move(row: object) -> str:
    """How one system moves."""
    moves = [
        f"{verb} {count}"
        for verb, count in (("passing", row.passes), ("passed by", row.passed_by))
        if count
    ]
    return (
        f"{row.Index} from rank {row.rank_by_accuracy:g} ({row.accuracy:.1%} right) to "
        f"{row.rank_by_ability:g} (ability {row.ability:.2f}, {row.ability_low:.2f} to "
        f"{row.ability_high:.2f}; {', '.join(moves)})"
    )
