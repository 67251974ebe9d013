"""The leaderboard of a fit: which systems are ahead, and by how much more than chance.

Systems are ranked by their expected score on the whole benchmark, not by ability. If all answered
all items, the score is the accuracy, whether or not the model holds. The model fills in missing
answers, so that systems that met easier items gain nothing by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import check_number, check_seed, short
from irtkit.data.families import family_names
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, warn
from irtkit.fitting import result_for
from irtkit.systems.printed import board_shown
from irtkit.systems.ranks import (
    groups_of,
    likely_ranks,
    pairs_apart,
    posterior_ranks,
    simultaneous_ranks,
)
from irtkit.systems.scores import (
    answers_by_component,
    clusters_of,
    limits_of,
    scores_by_ability,
    scores_of,
    table_of_scores,
    with_clustered_errors,
)
from irtkit.systems.tasks import Tasks, lacking_tasks, scores_by_task, took_every
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.printed import Shown

THESE, LIKE_THESE = "these", "like these"  # What ranks are about.
_RANKS = ("rank", "rank_low", "rank_high")
_SCORES = (
    *("accuracy", "ability", "ability_low", "ability_high"),
    *("expected_score", "expected_score_low", "expected_score_high"),
)
_ABOUT = ("n_responses", "group", "status", "family", "component")
_MOST_REVERSED = 0.01  # Share of pairs. Of one ability 0 of 160 boards (benchmarks/systems.py).
_IMPROBABLE = 0.5  # An item is improbable for a system if P(right) at its ability is lower.
_ERROR_RATE = 0.05  # Share of clean boards with a mark, at most (benchmarks/systems.py).


class Board(NamedTuple):
    """A leaderboard with what its legend says."""

    table: pd.DataFrame
    level: float
    of: str
    simultaneous: bool

    def shown(self) -> Shown:
        """Return the systems with what the columns mean."""
        return board_shown(self.table, self.level, self.of, simultaneous=self.simultaneous)


@one_thread()
def leaderboard(
    result: object,
    *,
    of: Literal["like these", "these"] = "like these",
    by: Any = None,
    families: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    simultaneous: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Rank the systems, best first, with intervals. ``result.leaderboard()`` is the same.

    Parameters
    ----------
    result : FitResult, or responses
        What :func:`irtkit.fit` returned, with its responses. Responses are fitted first.
    of : {"like these", "these"}
        "like these": ranks by expected score, with the items as a sample of similar items.
        "these": ranks by ability, given these items, for example a few benchmarks with most cells
        missing.
    by : str, mapping or Series, optional
        Task of each item: a column of the item table, as by="task", or a mapping or Series by
        label. Ranks are then by the macro average, in which each task has the same weight.
    families : mapping, Series or str, optional
        Family of each respondent: a mapping or Series by label, a column of the respondent table,
        or "similar", as in :func:`irtkit.flag_items`. Errors of abilities are then clustered. By
        default a column "family" is only shown.
    clusters : mapping, Series or str, optional
        Cluster of each item, such as its passage or task: a mapping or Series by label, or a column
        of the item table. Errors are then clustered, which needs some twenty clusters or more.
    level : float, default 0.95
        Coverage of the intervals.
    simultaneous : bool, default False
        Give rank intervals that hold the ranks of all systems together. They are wider, see Notes.
    seed : int, default 0
        Seed of the draws of scores for ranks and for the largest of many differences.

    Returns
    -------
    pandas.DataFrame
        One row per real respondent with a response, best first, index "respondent":

        - rank: by expected_score (of="these": by ability), equal for equal values. rank_low,
          rank_high: likely ranks, an interval for each system by itself, or simultaneous ones.
        - accuracy: proportion correct of all trials.
        - ability, ability_low, ability_high: posterior mean, and its interval if the model is true,
          which contains the errors of the items.
        - expected_score, expected_score_low, expected_score_high: proportion correct on *these
          very* items. The interval is about the items not answered.
        - n_responses.
        - group: letters. Systems that share one do not differ significantly. "b-d" is b, c and d.
          Others may not either, see :func:`irtkit.compare_systems`.
        - status: "ok" or "misfit". A misfit is right on more items that are improbable at its
          ability than chance allows (p < 0.05 over all systems), as if answers had leaked.
        - family: empty if unknown. component: given if the data form groups without a common
          response. Ranks are then within the part, and parts follow each other.

        With ``by``, average and score_TASK, each with _low and _high, stand in place of accuracy,
        ability and expected_score: the proportion correct of each task and their mean. Intervals
        are about items like these.

    Raises
    ------
    TypeError, ValueError
        If result has over 10,000 systems, clusters or tasks lack an item, families name no
        respondent, or ``by`` is given with of="these".

    Warns
    -----
    irtkit.IRTWarning
        With the code "ability-reversed" (systems that differ significantly are in the other order
        by ability), "items-taken-as-known" (cells are missing, and standard errors of items too) or
        "tasks-not-taken" (``by`` leaves out a system without a response in some task).

    Notes
    -----
    With ``by`` and missing cells, one ability fills in the answers of all tasks. Intervals of tasks
    are then too narrow if tasks measure different abilities (``benchmarks/systems.py``).

    With of="these" ranks are drawn from the posterior of all abilities, which contains the common
    errors of items, and two systems differ significantly by this posterior. Ranks then rest on the
    model. All else is about items like these. Likely ranks hold the true rank with the probability
    ``level`` on average over systems and boards. The distribution of true scores is learned from
    the board. Simultaneous intervals hold all ranks of a board together with the probability
    ``level`` or more, without assumptions on true scores (Mogstad, Romano, Shaikh & Wilhelm 2024).

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), *Review of Economic Studies* 91, 476-518.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 200, [k / 50 - 2 for k in range(200)])
    >>> responses = irtkit.simulate_responses(items, [1.5, -0.3, 0.0, -1.2], seed=1)
    >>> board = irtkit.fit(responses).leaderboard()
    >>> board[["rank", "rank_low", "rank_high", "accuracy", "group"]]
                  rank  rank_low  rank_high  accuracy group
    respondent
    respondent-1     1         1          1     0.785     a
    respondent-2     2         2          3     0.480     b
    respondent-3     3         2          3     0.470     b
    respondent-4     4         4          4     0.290     c
    """
    board, findings = ranked(
        result, families, clusters, level, seed, of, by, simultaneous=simultaneous
    )
    for finding in findings:
        warn(finding)
    return board


def ranked(
    result: object,
    families: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
    of: Literal["like these", "these"] = "like these",
    by: Any = None,
    *,
    simultaneous: bool = False,
) -> tuple[pd.DataFrame, list[Finding]]:
    """The board of `leaderboard`, and what limits it."""
    import pandas as pd
    from scipy.special import ndtri

    from irtkit.frames import ShownFrame

    result = result_for("leaderboard", result)
    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    if of not in (THESE, LIKE_THESE):
        raise ValueError(f"of must be {THESE!r} or {LIKE_THESE!r}, got {short(of)}")
    if by is not None and of == THESE:
        raise ValueError("of='these' ranks by one ability, not by task. Leave out of or by")
    if of == THESE:
        require("of='these'", result)
    if families is not None:
        require("leaderboard(families=)", result)
    findings = []
    took: Any = True
    if by is not None:
        tasks = Tasks.of(result, by)
        took = took_every(result, tasks)
        findings = lacking_tasks(result, took)
    cluster = clusters_of(result, clusters)
    by_family = None if result.item_covariance is None else families
    if result.several is None and (by_family is not None or clusters is not None):
        result = with_clustered_errors(result, by_family, clusters)
    table = table_of_scores(result, level)
    parts = answers_by_component(result, table, taking=took)
    findings = limits_of(result, parts) + findings
    if result.several is None:
        reach = ndtri((1 + level) / 2) * result.ability_se
        table["ability_low"] = table["ability"] - reach
        table["ability_high"] = table["ability"] + reach
    n_systems = sum(len(part.places) for part in parts)
    marked = improbable_right(result) < np.log(_ERROR_RATE / n_systems)
    table["status"] = np.where(marked, "misfit", "ok").astype(object)
    respondents = result.saved_responses.respondent_table
    if families is not None or (respondents is not None and "family" in respondents):
        names = family_names(result, "family" if families is None else families)
        table["family"] = np.array([name or "" for name in names], dtype=object)
    if result.components is not None:
        table["component"] = result.respondents["component"]
    boards = []
    n_reversed = n_apart = 0
    columns: dict[str, Array] = {}
    for part in parts:
        if by is None:
            scores = scores_of(part, cluster)
        else:
            scores, columns = scores_by_task(part, cluster, tasks, level)
        if of == THESE:
            scores = scores_by_ability(result, scores)
        apart = pairs_apart(scores, level=level, seed=seed)
        if simultaneous:
            low, high = simultaneous_ranks(apart)
        elif of == THESE:
            low, high = posterior_ranks(scores, level=level, seed=seed)
        else:
            low, high = likely_ranks(scores, level=level, seed=seed)
        group = np.array(groups_of(apart), dtype=object)
        ranks = {"rank": scores.rank, "rank_low": low, "rank_high": high, "group": group}
        rows = table.iloc[scores.places].assign(**ranks, **columns)
        boards.append(rows)
        if "ability" in rows:
            ability = rows["ability"].to_numpy()
            for better in blocks(len(ability), len(ability)):
                is_reversed = apart[better] & (ability > ability[better, None])
                n_reversed += int(np.count_nonzero(is_reversed))
            n_apart += int(np.count_nonzero(apart))
    board = pd.concat(boards)
    shown = (*_RANKS, *(columns or _SCORES), *_ABOUT)
    board = board[[name for name in shown if name in board]]
    if by is None and n_reversed > _MOST_REVERSED * n_apart:
        values = {"n": n_reversed, "n_pairs": n_apart}
        findings.append(Finding("ability-reversed", "warning", values))
    return ShownFrame.of(Board(board, level, of, simultaneous)), findings


def improbable_right(result: FitResult) -> Array:
    """Log probability that each respondent is right on at least this many improbable items, (n,).

    A binomial tail bounds the probability (Hoeffding 1956). The logarithm is divided by the squared
    spread of all systems' standardised numbers right, in case the whole board misfits.
    """
    from scipy.special import betainc

    n, number, expected, variance = np.zeros((4, len(result.ability)))
    for systems in blocks(len(n), len(result.item_labels)):
        share, trials = result.patterns.shares(systems, dtype=np.float32)
        p = result.parameters.narrow_probability(result.ability[systems])
        improbable = (trials > 0) & (p < _IMPROBABLE)
        p *= improbable
        n[systems] = improbable.sum(axis=1)
        number[systems] = (improbable * share).sum(axis=1)
        expected[systems] = p.sum(axis=1)
        variance[systems] = expected[systems] - np.einsum("ij,ij->i", p, p)
    z = (number - expected) / np.sqrt(np.maximum(variance, 1e-300))
    real = z[result.answering]
    spread = max(1.0, 1.4826 * float(np.median(np.abs(real - np.median(real)))))
    many = result.answering & (number >= expected + 1)
    mean = expected / np.maximum(n, 1)
    tail = betainc(np.maximum(number, 1), n - number + 1, mean)
    return np.where(many, np.log(np.maximum(tail, 1e-300)) / spread**2, 0.0)
