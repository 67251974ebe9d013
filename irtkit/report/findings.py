"""What a page tells, gathered once: audit, leaderboard, comparison, and the sentences.

The page says no more than these do. Suspect items and cautions are those of :func:`irtkit.audit`,
ranks those of ``result.leaderboard()``, doubts those of ``result.findings``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.summary import called_items
from irtkit.checks import check_unique, short
from irtkit.difficulty import DifficultyComparison, compare_difficulties
from irtkit.findings import reasons_text
from irtkit.pictures import error_and_difficulty, item_map, number_text, predicted_and_fitted
from irtkit.printed import percent
from irtkit.report.words import count, share
from irtkit.suspects import audit
from irtkit.suspects.families import family_codes
from irtkit.systems.leaderboard import ranked
from irtkit.systems.printed import filled_in
from irtkit.systems.standing import MOST_SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.findings import Finding
    from irtkit.pictures import ItemPoints
    from irtkit.suspects import Audit
    from irtkit.suspects.families import Families

_NAMED = 5
"""Systems of one rank that a sentence names."""
_NAMES = ("predicted", "difficulty")
"""Names of a column of predicted difficulties, the first that there is."""
LEVEL = 0.95
"""Coverage of the intervals of the page."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a page tells of a fit."""

    result: FitResult
    audit: Audit
    board: pd.DataFrame | None
    """None of more systems than can be ranked."""
    board_findings: list[Finding]
    """What limits the leaderboard."""
    comparison: DifficultyComparison | None
    predicted: pd.Series[float] | None
    """Predicted difficulty by item."""
    fdr: float
    n_families: int | None
    """Families that evidence on slopes counts by, where they were given."""

    @property
    def grouped(self) -> bool:
        """Whether evidence on slopes counts by family: p_negative of `result.items` does not."""
        return self.n_families is not None

    @property
    def suspects(self) -> pd.DataFrame:
        """The suspect items, worst first."""
        return self.audit.suspects

    @cached_property
    def item_map(self) -> ItemPoints:
        """Difficulty and discrimination of items."""
        return item_map(self.result, self.suspects)

    @cached_property
    def error_map(self) -> ItemPoints:
        """Average error and difficulty of items."""
        return error_and_difficulty(self.result, self.suspects)

    @cached_property
    def predicted_map(self) -> ItemPoints | None:
        """Predicted and fitted difficulty of items."""
        if self.predicted is None:
            return None
        return predicted_and_fitted(self.result, self.suspects, self.predicted)


def findings(
    result: FitResult,
    *,
    predictions: Any = None,
    families: Families | None = None,
    compare: bool | DifficultyComparison = False,
    fdr: float,
) -> Findings:
    """Gather what a page tells; errors are those of what it calls."""
    if result.responses is None:
        raise ValueError("report needs the responses, which were not saved with this result")
    answers, predicted = _sorted_out(result, predictions)
    rankable = result.n_answering <= MOST_SYSTEMS
    board, limits = ranked(result, level=LEVEL) if rankable else (None, [])
    if isinstance(compare, DifficultyComparison):
        comparison: DifficultyComparison | None = compare
    else:
        comparison = compare_difficulties(result) if compare else None
    audited = audit(result, fdr=fdr, families=families, predictions=answers)
    return Findings(
        result,
        audited,
        board,
        limits,
        comparison,
        predicted,
        fdr,
        None if families is None else _n_families(result, families, audited),
    )


def _n_families(result: FitResult, families: Families, audited: Audit) -> int:
    """How many families the real systems are of."""
    if isinstance(families, str) and audited.families is not None:
        return int(audited.families.nunique())  # those who answer alike, found already
    return len(np.unique(family_codes(result, families)[~result.synthetic]))


def _sorted_out(
    result: FitResult, predictions: Any
) -> tuple[pd.DataFrame | None, pd.Series[float] | None]:
    """Answers of respondents, and predicted difficulties of items, told apart by their labels."""
    given = predictions if isinstance(predictions, list | tuple) else [predictions]
    answers: list[pd.DataFrame] = []
    difficulties: list[pd.Series[float]] = []
    for table in given:
        if table is None:
            continue
        if _holds_answers(result, table):
            answers.append(table)
        else:
            difficulties.append(_difficulties(table))
    for found, what in ((answers, "answers"), (difficulties, "predicted difficulties")):
        if len(found) > 1:
            raise ValueError(f"predictions must be one table of {what} at most, got {len(found)}")
    return next(iter(answers), None), next(iter(difficulties), None)


def _holds_answers(result: FitResult, table: Any) -> bool:
    """Whether a table is of answers, its rows respondents, and not of difficulties, its rows items.

    Where labels are of both, columns of answers are items.
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame | pd.Series):
        raise TypeError(
            "predictions must be a DataFrame of answers, respondents × items, or a Series or "
            f"DataFrame of predicted difficulties by item; got {type(table).__name__}"
        )
    rows = [str(label) for label in table.index]
    by_item = not result.places.keys().isdisjoint(rows)
    if isinstance(table, pd.DataFrame) and not set(result.respondent_labels).isdisjoint(rows):
        return not by_item or not result.places.keys().isdisjoint(map(str, table.columns))
    if not by_item:
        first = f"the first is {short(rows[0])}" if rows else "there is none"
        raise ValueError(
            "predictions must have rows of respondents, what each answered, or of items, their "
            f"predicted difficulties; {first}"
        )
    return False


def _difficulties(table: pd.DataFrame | pd.Series[Any]) -> pd.Series[float]:
    """Predicted difficulties: of a table its column of that name, or its only one."""
    import pandas as pd

    column: Any = table
    if isinstance(table, pd.DataFrame):
        by_name = {str(name).lower(): name for name in table.columns}
        named = [by_name[name] for name in _NAMES if name in by_name]
        if not named and table.shape[1] != 1:
            raise ValueError(
                "predictions of items must have a column 'predicted' or 'difficulty', or one alone"
            )
        column = table[named[0] if named else table.columns[0]]
    labels = [str(label) for label in column.index]
    check_unique("predictions must have one difficulty per item", labels)
    try:
        numbers: pd.Series[float] = column.astype(object).where(column.notna(), np.nan)
        return numbers.astype(np.float64).set_axis(labels)
    except (TypeError, ValueError) as error:
        raise ValueError(f"predictions of items must be numbers: {error}") from error


def why(found: Findings, item: str) -> str:
    """Evidence on a suspect item, in words."""
    row: Any = found.suspects.loc[item]
    evidence = [reasons_text(row["reasons"])]
    if not np.isnan(row["p_negative"]):
        evidence.append(f"p negative {number_text(row['p_negative'])}")
    return "; ".join(filter(None, [*evidence, strong_answer(row)]))


def negative_sentence(found: Findings) -> str:
    """How many items are called negative, and what that means."""
    n = found.audit.n_negative
    if not n:
        return "No item is called negative."
    doubted, them = found.result.one_ability_doubted, "it" if n == 1 else "them"
    called = called_items(n, len(found.result.places), found.fdr, doubted=doubted)
    if doubted:
        return f"{called}."
    return f"{called}: the weak do better on {them} than the strong, as where a key is wrong."


def families_sentence(found: Findings) -> str:
    """That evidence on slopes counts by family, where families were given."""
    if found.n_families is None:
        return ""
    families = "1 family" if found.n_families == 1 else f"{found.n_families:,} families"
    systems = count(found.result.n_answering, "system")
    return f"Evidence on slopes counts by family: {systems} in {families}."


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
    what = "the highest expected score" if filled_in(board) else "most right"
    low, high = int(first["rank_low"].min()), int(first["rank_high"].max())
    ranks = f"rank {low}" if low == high else f"ranks {low} to {high}"
    yield (
        f"{_and(names[:_NAMED], more)} {'have' if several else 'has'} {what}, {score}; items "
        f"like these would allow {ranks} (at {percent(LEVEL)}, all pairs of systems looked at)."
    )
    groups = list(board["group"])
    letter = groups[0]  # of a single run, since no other begins with the first system
    if sharing := sum(one.split("-")[0] == letter for one in groups) - len(first):
        them, share_it = "them" if several else "it", "shares" if sharing == 1 else "share"
        yield (
            f"{count(sharing, 'other system')} {share_it} the letter {letter} with {them}, and "
            f"cannot be told apart from {them}."
        )


def _and(names: list[str], more: str) -> str:
    """Names, the last after "and"."""
    listed = [*names, more] if more else names
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
