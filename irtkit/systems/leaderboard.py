"""The leaderboard of a fit: who is ahead, and by how much more than chance.

Systems are ranked by their expected score on the whole benchmark, not by ability. Where all
answered all items that is the share right, and holds whether or not the model does; ability agrees
with it where one ability explains the responses, and where it does not it may weigh items by what
only some of them ask for (`result.warnings` says so). Where answers are missing, the model fills
them in, so that systems that met easier items gain nothing by it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_seed
from irtkit.data.patterns import float_blocks
from irtkit.printed import in_lines, percent, plain, printable, short_labels, shortened, table_of
from irtkit.responses.labels import values_by_label
from irtkit.scoring import items_for_scores
from irtkit.scoring.scores import score_table
from irtkit.systems.ranks import groups_of, ranks_of
from irtkit.systems.standing import MOST_SYSTEMS, clusters_of, doubts_of, standing_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters
    from irtkit.systems.standing import Standing

_SHOWN = 20
"""Systems that are printed: with the headings, about a screen of 24 lines."""
_LABEL, _FAMILY = 22, 10
"""Characters of a label and of a family that fit beside the numbers in 80 columns."""
FROM_TO = "from…to"
"""Heading of the interval of an ability."""
_OF_THESE = "of these items"
"""Heading of the interval of a score."""
_MOST_REVERSED = 0.01
"""Share of the pairs told apart that ability may have the other way round, of which nothing is
said: of one ability 0 of 160 boards are warned of (``benchmarks/systems.py``)."""
_IMPROBABLE = 0.5  # An item is improbable for a system if P(right) at its ability is lower.
_ERROR_RATE = 0.05  # Share of clean boards with a mark, at most (benchmarks/marked_systems.py).


def leaderboard(
    result: FitResult,
    *,
    families: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Rank the systems of a fit; ``result.leaderboard()``.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    families
        Family of each respondent, a mapping or Series by label, for a column of that name; by
        default that of the respondent table, where it has one. Nothing else depends on it: copies
        err together, which ranks take into account as it is in the responses.
    clusters
        Cluster of each item, such as its passage or task, where items were not chosen one by one:
        a mapping or Series by label, or the name of a column of the item table. Errors of ranks are
        then clustered, which needs some twenty clusters or more.
    level
        Coverage of the intervals.
    seed
        Of the draws that tell how large the largest of many differences is by chance.

    Returns
    -------
    pandas.DataFrame
        One row per real respondent with a response, best first, index "respondent":

        - rank, by expected_score, equal scores sharing one; rank_low, rank_high: intervals that
          hold the ranks of all systems together with the probability ``level`` or more, if items
          and answers were drawn anew (Mogstad, Romano, Shaikh & Wilhelm 2024).
        - accuracy: share right of all trials.
        - ability, ability_low, ability_high: posterior mean and quantiles, items taken as known,
          and the model as true.
        - expected_score, expected_score_low, expected_score_high: share right of *these very*
          items, those answered as answered. The interval is of the items not answered, and has no
          length where all were; ranks, which are about items like these, have one all the same.
        - n_responses.
        - group: letters; systems that share one do not differ significantly, and their rank
          intervals overlap. "b-d" is b, c and d. Systems that share none may still not differ:
          :func:`irtkit.compare_systems` says which do. Letters follow the rows, and equal scores
          the order of the responses.
        - status: "misfit" if the system is right on more items that are improbable at its ability
          than chance allows (p < 0.05 over all systems), as if answers had leaked; else "ok".
        - family, where known; component, where respondents and items fall into parts without a
          response in common: ranks are then those within the part, and parts follow each other.

    Raises
    ------
    TypeError, ValueError
        If it is no result, or one without its responses; if there are more than 10,000 systems; or
        if families or clusters lack one.

    Warns
    -----
    UserWarning
        Where ability has the order of systems that are told apart the other way round: it is not
        what the share right says. Where cells are missing and the fit has no standard errors of
        items: errors of scores take items as known.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), *Review of Economic Studies* 91, 476-518.
    Miller (2024), *Adding error bars to evals*, arXiv 2411.00640.

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
    board, doubts = ranked(result, families=families, clusters=clusters, level=level, seed=seed)
    for doubt in doubts:
        warnings.warn(doubt, UserWarning, stacklevel=2)
    return board


def ranked(
    result: FitResult,
    *,
    families: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[pd.DataFrame, list[str]]:
    """The board of `leaderboard`, and what that warns of."""
    import pandas as pd

    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    table, parts = standings(result, clusters_of(result, clusters), level=level)
    known = _families(result, families)
    boards = [_board(table, standing, level, seed) for standing in parts]
    board = pd.concat([rows for rows, _ in boards])
    marked = improbable_right(result) < np.log(_ERROR_RATE / len(board))
    status = pd.Series(np.where(marked, "misfit", "ok"), result.respondent_labels, dtype=object)
    board["status"] = status[board.index]
    if known is not None:
        board["family"] = known.loc[board.index].to_numpy(dtype=object)
    if result.components is not None:
        board["component"] = result.respondents.loc[board.index, "component"]
    reversed_pairs, n_apart = np.sum([counts for _, counts in boards], axis=0)
    doubts = doubts_of(result, parts)
    if reversed_pairs > _MOST_REVERSED * n_apart:
        doubts.append(
            f"ability is not what the share right says: of {n_apart} pairs of systems that are "
            f"told apart, {reversed_pairs} are the other way round by ability; ranks go by the "
            "share right (expected_score)"
        )
    object.__setattr__(board, "_repr_html_", partial(_in_a_notebook, board, level))
    return board, doubts


def _in_a_notebook(board: pd.DataFrame, level: float) -> str:
    """What notebooks show of a board. It is a DataFrame like any other, with a face of its own."""
    from irtkit.report.notebook import of_board

    return of_board(board, level)


def standings(
    result: FitResult, cluster: Clusters | None = None, *, level: float | None = None
) -> tuple[pd.DataFrame, list[Standing]]:
    """Scores of all respondents, and the standing of the systems of every component.

    Without a level there need not be intervals of ability and of scores.
    """
    patterns, responses = result.patterns, result.responses
    real, n = patterns.answering, patterns.n_answering
    if n > MOST_SYSTEMS:
        raise ValueError(
            f"every pair of systems is compared, and result has {n:,}; {MOST_SYSTEMS:,} at most "
            "(result.respondents lists all, without ranks)"
        )
    if not n:
        raise ValueError("result has no real respondent with a response to rank")
    if responses is None or (level is None and patterns.complete):
        table = result.respondents
        table["expected_score"] = table["accuracy"]
    else:
        items = replace(items_for_scores(result), best=None)  # they are the calibrated systems
        if level is None:
            items = replace(items, misfit=None)  # for intervals only, and what takes longest
        table, _ = score_table(responses, items, level=level or 0.95)
    component = np.ones(len(real)) if result.components is None else result.components.respondents
    parts = [np.flatnonzero(real & (component == k)) for k in np.unique(component[real])]
    return table, [standing_of(result, table, places, cluster) for places in parts]


def _board(
    table: pd.DataFrame, standing: Standing, level: float, seed: int
) -> tuple[pd.DataFrame, tuple[int, int]]:
    """Systems of one component, best first; pairs that ability has the other way round, and all."""
    scores, order = standing.scores, standing.order
    found = ranks_of(standing.estimates(), level=level, seed=seed)
    rows = table.iloc[standing.places[order]]
    board = rows[[]].assign(
        rank=1 + np.searchsorted(np.sort(-scores), -scores[order]),
        rank_low=found.low[order],
        rank_high=found.high[order],
    )
    for name in ("accuracy", "ability", "expected_score", "n_responses"):
        bounds = [f"{name}_{end}" for end in ("low", "high")]
        for column in (name, *(bound for bound in bounds if bound in rows)):
            board[column] = rows[column]
    apart = found.apart[np.ix_(order, order)]
    board["group"] = np.array(groups_of(apart), dtype=object)
    ability = rows["ability"].to_numpy()
    turned = sum(int((apart[k, k:] & (ability[k:] > ability[k])).sum()) for k in range(len(apart)))
    return board, (turned, int(apart.sum()) // 2)


def improbable_right(result: FitResult) -> Array:
    """Log probability that each respondent is right on so many of its improbable items, (n,).

    A binomial tail bounds the probability (Hoeffding 1956). The logarithm is divided by the squared
    spread of all systems' standardised numbers right, in case the whole board misfits.
    """
    from scipy.special import betainc

    n_items = len(result.item_labels)
    sums = np.zeros((4, len(result.ability)))
    for some, *cells in float_blocks(result.patterns, complete=False, n_points=n_items):
        right, answered = (x.toarray() if result.patterns.sparse else x for x in cells)
        p = result.parameters.probability(result.ability[some])
        hard = (answered > 0) & (p < _IMPROBABLE)
        share = right / np.maximum(answered, 1)
        for room, values in zip(sums, (hard, share, p, p * (1 - p)), strict=True):
            room[some] = np.where(hard, values, 0).sum(axis=1)
    n, number, expected, variance = sums
    z = np.divide(number - expected, variance**0.5, out=np.zeros_like(n), where=variance > 0)
    real = z[result.answering]
    spread = max(1.0, 1.4826 * float(np.median(np.abs(real - np.median(real)))))
    many = result.answering & (number >= expected + 1)
    mean = expected / np.maximum(n, 1)
    tail = betainc(np.maximum(number, 1), n - number + 1, mean)
    return np.where(many, np.log(np.maximum(tail, 1e-300)) / spread**2, 0.0)


def _families(result: FitResult, families: Any) -> pd.Series[Any] | None:
    """Family of every respondent, if any are known."""
    import pandas as pd

    labels = result.respondent_labels
    if families is None:
        known = None if result.responses is None else result.responses.respondent_table
        if known is None or "family" not in known.columns:
            return None
        families = known["family"]
    values = values_by_label("families", families, labels, value="family", kind="respondent")
    return pd.Series(values, index=pd.Index(labels), dtype=object)


def board_in_words(
    board: pd.DataFrame, *, level: float, sentences: list[str], top: int = _SHOWN
) -> str:
    """What is printed of a leaderboard, in 80 columns."""
    parts = [board]
    if "component" in board:
        parts = [part for _, part in board.groupby("component", sort=True)]
    lines = []
    for part in parts:
        if len(parts) > 1:
            lines.append(f"part {part['component'].iloc[0]}, with ranks of its own:")
        lines.append(plain(table_of(_shown(part.head(top)))))
        if len(part) > top:
            lines.append(f"… and {len(part) - top} more")
    columns = list(map(str, _shown(board.head(1))))
    lines += ["", in_lines(board_legend(board, level, columns)), in_lines(sentences)]
    return "\n".join(lines).rstrip()


def _shown(board: pd.DataFrame) -> pd.DataFrame:
    """Columns that are printed."""
    import pandas as pd

    def interval(low: str, high: str, decimals: int) -> list[str]:
        bounds = zip(board[low], board[high], strict=True)
        return [f"{one:.{decimals}f}…{two:.{decimals}f}" for one, two in bounds]

    columns: dict[str, Any] = {
        "rank": [str(rank) for rank in board["rank"]],
        "between": interval("rank_low", "rank_high", 0),
        "tied": list(board["group"]),
        "score": scores_in_words(board),
    }
    if filled_in(board):
        columns[_OF_THESE] = [
            f"{100 * low:.1f}…{100 * high:.1f}"
            for low, high in zip(
                board["expected_score_low"], board["expected_score_high"], strict=True
            )
        ]
    columns["ability"] = [f"{value:.2f}" for value in board["ability"]]
    columns[FROM_TO] = interval("ability_low", "ability_high", 2)
    if "family" in board:
        columns["family"] = [shortened(name or "", _FAMILY) for name in board["family"]]
    names = short_labels(board.index, _LABEL)
    return pd.DataFrame(columns, index=pd.Index(names, name="system"))


def scores_in_words(board: pd.DataFrame) -> list[str]:
    """Scores as percentages, with a star for the status "misfit"."""
    marked = zip(board["expected_score"], board["status"] == "misfit", strict=True)
    return [f"{100 * score:.1f}{'*' * mark}" for score, mark in marked]


def filled_in(board: pd.DataFrame) -> bool:
    """Whether the model has filled in answers of some system."""
    return bool((board["expected_score"] - board["accuracy"]).abs().max() > 1e-9)


def board_legend(board: pd.DataFrame, level: float, columns: Collection[str]) -> Iterator[str]:
    """What the columns are, of those that may be shown or not these."""
    sure = percent(level)
    yield (
        f"between: ranks that items like these would allow ({sure} intervals for all systems at "
        "once); tied: systems that share a letter do not differ significantly, adjusted for all "
        "pairs (of others, irtkit compare-systems says whether they do)"
    )
    yield (
        "score: per cent right of these items"
        + (", those without an answer as the model expects them" if filled_in(board) else "")
        + f"; {_OF_THESE}: its {sure} interval" * (_OF_THESE in columns)
        + "; ability: on the scale of the fit, where the model is true"
        + f"; {FROM_TO}: its {sure} interval, items taken as known" * (FROM_TO in columns)
    )
    if (board["status"] == "misfit").any():
        yield (
            "*: the system is right on more items that are improbable at its ability than chance "
            "allows (p < 0.05 over all systems); its answers may have leaked or follow wrong keys"
        )
    if "family" in board:
        yield _by_family(board)


def _by_family(board: pd.DataFrame) -> str:
    """The best of the first families, in a sentence."""
    groups = board.groupby("family", sort=False)
    best = [
        f"{printable(name)} (rank {part['rank'].min()}, {len(part)} system{'s' * (len(part) > 1)})"
        for name, part in list(groups)[:5]
    ]
    return f"best of each family: {', '.join(best)}" + (" …" if groups.ngroups > 5 else "")
