"""What a page tells, gathered once: audit, leaderboard, comparison, and the sentences.

The page says no more than these do. Suspect items and cautions are those of :func:`irtkit.audit`,
ranks those of ``result.leaderboard()``, doubts those of ``result.warnings``, in their words.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.difficulty import DifficultyComparison, compare_difficulties
from irtkit.pictures import number_text
from irtkit.report.words import share
from irtkit.suspects import audit
from irtkit.systems import leaderboard
from irtkit.systems.standing import MOST_SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.suspects import Audit
    from irtkit.suspects.flags import Groups

_NAMED = 5
"""Systems of one rank that a sentence names."""
_NAMES = ("predicted", "predicted_difficulty", "prediction", "difficulty")
"""Names of a column of predicted difficulties."""
LEVEL = 0.95
"""Coverage of the intervals of the page."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a page tells of a fit."""

    result: FitResult
    audit: Audit
    board: pd.DataFrame | None
    """None of more systems than can be ranked."""
    board_doubts: list[str]
    """What the leaderboard warned of."""
    comparison: DifficultyComparison | None
    predicted: pd.Series[float] | None
    """Predicted difficulty by item."""
    fdr: float
    grouped: bool
    """Whether evidence on slopes counts by family: p_negative of `result.items` does not."""

    @property
    def suspects(self) -> pd.DataFrame:
        """The suspect items, worst first."""
        return self.audit.items

    @property
    def n_negative(self) -> int:
        """Items called negative."""
        return self.audit.n_negative


def findings(
    result: FitResult,
    *,
    predictions: Any = None,
    groups: Groups | None = None,
    compare: bool | DifficultyComparison = False,
    fdr: float,
) -> Findings:
    """Gather what a page tells; errors are those of what it calls."""
    if result.responses is None:
        raise ValueError("report needs the responses, which were not saved with this result")
    answers, predicted = _sorted_out(result, predictions)
    board, doubts = None, []
    if result.n_answering <= MOST_SYSTEMS:
        with warnings.catch_warnings(record=True, action="always") as caught:
            board = leaderboard(result, level=LEVEL)
        doubts = [str(one.message) for one in caught if one.category is UserWarning]
    if isinstance(compare, DifficultyComparison):
        comparison: DifficultyComparison | None = compare
    else:
        comparison = compare_difficulties(result) if compare else None
    return Findings(
        result,
        audit(result, fdr=fdr, groups=groups, predictions=answers),
        board,
        doubts,
        comparison,
        predicted,
        fdr,
        groups is not None,
    )


def _sorted_out(
    result: FitResult, predictions: Any
) -> tuple[pd.DataFrame | None, pd.Series[float] | None]:
    """Answers of respondents, and predicted difficulties of items, told apart by their labels."""
    import pandas as pd

    given = predictions if isinstance(predictions, list | tuple) else [predictions]
    answers = predicted = None
    respondents, items = set(result.respondent_labels), set(result.item_labels)
    for table in given:
        if table is None:
            continue
        if not isinstance(table, pd.DataFrame | pd.Series):
            raise TypeError(
                "predictions must be a DataFrame of answers, respondents × items, or a Series or "
                f"DataFrame of predicted difficulties by item; got {type(table).__name__}"
            )
        labels = [str(label) for label in table.index]
        if isinstance(table, pd.DataFrame) and not respondents.isdisjoint(labels):
            answers = table
        elif not items.isdisjoint(labels):
            predicted = _difficulties(table).set_axis(labels)
        else:
            raise ValueError(
                "predictions has rows of neither respondents nor items of the result: the first "
                f"is {labels[0]!r}"
                if labels
                else "predictions has no row"
            )
    return answers, predicted


def _difficulties(table: pd.DataFrame | pd.Series[Any]) -> pd.Series[float]:
    """Predicted difficulties: of a table its column of that name, or its only one."""
    import pandas as pd

    column: Any = table
    if isinstance(table, pd.DataFrame):
        named = [name for name in table.columns if str(name).lower() in _NAMES]
        if not named and table.shape[1] != 1:
            raise ValueError(
                "predictions of items must have a column 'predicted' or 'difficulty', or one alone"
            )
        column = table[named[0] if named else table.columns[0]]
    try:
        numbers: pd.Series[float] = column.astype(object).where(column.notna(), np.nan)
        return numbers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"predictions of items must be numbers: {error}") from error


def why(found: Findings, item: str) -> str:
    """Evidence on a suspect item, in words."""
    row: Any = found.suspects.loc[item]
    told = [str(row["reasons"])]
    if not np.isnan(row["p_negative"]):
        told.append(f"p negative {number_text(row['p_negative'])}")
    return "; ".join(filter(None, [*told, strong_answer(row)]))


def negative_sentence(found: Findings) -> str:
    """How many items are called negative, and what that means."""
    n = found.n_negative
    if not n:
        return "No item is called negative."
    items = f"{n} item{'s' * (n > 1)}"
    if found.result.one_ability_doubted:
        called = "is" if n == 1 else "are"
        return (
            f"{items} {called} called negative, but one scale does not hold, and keys may be right."
        )
    have, them = ("has", "it") if n == 1 else ("have", "them")
    return (
        f"{items} {have} negative discrimination (at a false-discovery rate of {found.fdr:.0%}): "
        f"the weak do better on {them} than the strong, as where a key is wrong."
    )


def strong_answer(row: pd.Series[Any]) -> str:
    """What the ablest quarter answers to an item beside what is marked right, where known."""
    answer = row.get("strong_answer")
    if answer is None or (isinstance(answer, float) and np.isnan(answer)):
        return ""
    of_all = share(float(row["strong_share"]), 0)
    marked = row["marked_right"]
    unknown = marked is None or (isinstance(marked, float) and np.isnan(marked))
    key = "no one answer is marked right" if unknown else f"{marked} is marked right"
    key = "which is marked right" if str(marked) == str(answer) else key
    return f"{of_all} of the ablest quarter answer {answer}, {key}"


def leader_sentences(found: Findings) -> Iterator[str]:
    """Who is ahead, as the leaderboard has it; nothing of parts that cannot be compared."""
    board = found.board
    if board is None or len(board) < 2 or "component" in board:
        return
    first = board[board["rank"] == 1]
    names = [str(name) for name in first.index]
    more = f"{len(names) - _NAMED} more" if len(names) > _NAMED else ""
    several = len(names) > 1
    score = share(float(first["expected_score"].iloc[0]))
    filled = (board["expected_score"] - board["accuracy"]).abs().max() > 1e-9
    what = "the highest expected score" if filled else "most right"
    low, high = int(first["rank_low"].min()), int(first["rank_high"].max())
    ranks = f"rank {low}" if low == high else f"ranks {low} to {high}"
    yield (
        f"{_and(names[:_NAMED], more)} {'have' if several else 'has'} {what}, {score}; items "
        f"like these would allow {ranks}."
    )
    letter = str(first["group"].iloc[0]).split("-")[0]
    sharing = int((board["group"].str.split("-").str[0] == letter).sum()) - len(first)
    if sharing:
        one = sharing == 1
        yield (
            f"{sharing} other{' system shares' if one else ' systems share'} the letter {letter} "
            f"with {'them' if several else 'it'}, and cannot be told apart from "
            f"{'them' if several else 'it'}."
        )


def _and(names: list[str], more: str) -> str:
    """Names, the last after "and"."""
    listed = [*names, more] if more else names
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
