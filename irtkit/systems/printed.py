"""What is printed of boards, comparisons and gates: tables and sentences from numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.summary import silent_items
from irtkit.checks import counted
from irtkit.printed import (
    in_lines,
    p_words,
    percent,
    plain,
    printable,
    short_labels,
    shortened,
    table_of,
    two_digits,
)
from irtkit.systems.paired import POWER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.systems.comparison import SystemComparison
    from irtkit.systems.gate import Gate

_SHOWN_ABILITIES = 5  # Rows of tables of several abilities.
_SHOWN = 20  # Systems that are printed: with the headings, a screen of 24 lines.
_LABEL, _FAMILY = 22, 10  # Characters beside the numbers in 80 columns.
_TASKS, _TASK, _SYSTEM = 4, 8, 16  # Tasks that are printed, and characters beside their scores.
FROM_TO = "from…to"
_OF_THESE = "of these items"


def comparison_sentences(comparison: SystemComparison) -> Iterator[str]:
    """The comparison of two systems, before the items."""
    first, second = printable(comparison.system), printable(comparison.other)
    items = f"{comparison.n_items:,} item{'s' * (comparison.n_items != 1)}"
    # The score counts these items alone.
    of_all = abs(comparison.score_difference - comparison.difference) < 1e-9
    score = comparison.score_difference, comparison.score_low, comparison.score_high
    paired = comparison.difference, comparison.low, comparison.high
    if not of_all:
        where = "on all items, missing answers as expected"
        yield _ahead(first, second, *score, where, comparison.level)
    if comparison.n_clusters < 2:
        what = items if comparison.n_items < 2 else f"one cluster of {items}"
        yield f"{first} and {second} have {what} in common, which gives no standard error."
    else:
        said = _ahead(first, second, *paired, f"on the {items} of both", comparison.level)
        yield f"{said[:-1]}, {p_words(comparison.p_value, 4)}."
    if comparison.n_systems > 2:
        yield (
            "The p-values assume that you chose the pair before you saw results. If not, compare "
            f"all pairs of the {comparison.n_systems} systems, since the best of many lead by "
            "chance."
        )
    if comparison.n_clusters not in {1, comparison.n_items}:
        yield f"Errors are clustered by {comparison.n_clusters} clusters of items."
    if comparison.n_clusters != 1:
        favoured = first if comparison.p_better >= 0.5 else second
        p = max(comparison.p_better, 1 - comparison.p_better)
        yield f"P({favoured} is better) = {p:.3f} on items like these."
    if comparison.n_clusters >= 2 and comparison.p_value >= 1 - comparison.level:
        more = two_digits(comparison.items_needed - comparison.n_items)
        if more is None:
            yield "No number of items like these would show a difference."
        else:
            yield (
                f"About {more:,} more items like these would show the difference with a "
                f"probability of {POWER:.0%}, if it is as large as it looks."
            )


def _ahead(
    first: str, second: str, difference: float, low: float, high: float, where: str, level: float
) -> str:
    """Which system has the higher accuracy, and by how much."""
    if difference < 0:
        first, second, difference, low, high = second, first, -difference, -high, -low
    verb = "is ahead of" if low > 0 else "does not differ significantly from"
    return (
        f"{first} {verb} {second}: {100 * difference:.2f} percentage points higher accuracy "
        f"{where}, {percent(level)} interval {100 * low:.2f} to {100 * high:.2f}."
    )


def comparison_text(comparison: SystemComparison) -> str:
    """What `print` shows of two systems."""
    import pandas as pd

    words = in_lines(comparison_sentences(comparison))
    if not len(comparison.items):
        return words
    shown = comparison.items.head(5)
    columns = ("accuracy", "other_accuracy")
    names = dict(zip(columns, short_labels((comparison.system, comparison.other), 16), strict=True))
    shown = shown.set_axis(pd.Index(short_labels(shown.index), name="item"))
    table = plain(table_of(shown.rename(columns=names)))
    return f"{words}\n\nitems on which they differ most from what is expected:\n{table}"


def gate_markdown(gate: Gate) -> str:
    """A gate as a summary for a merge check."""
    rows = [
        f"| {_cell(s.system)} | {s.n_items:,} | {s.old:.2%} | {s.new:.2%} "
        f"| {0 - 100 * s.drop:+.2f} | {-100 * s.high:+.2f} to {-100 * s.low:+.2f} | {s.verdict} |"
        for s in gate.systems
    ]
    lines = [
        f"## Gate {gate.verdict}",
        "",
        f"Allowed drop: {100 * gate.max_drop:g} percentage points.",
        "",
        "| system | items | old | new | change, points | between | verdict |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        *(_cell(str(finding)) for finding in gate.findings),
        "",
        f"At most about {1 - gate.level:.2g} of changes within the allowed drop fail.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that a table of Markdown holds as it is."""
    escaped = printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("`", "\\`").replace("[", "\\[")


def board_text(
    board: pd.DataFrame,
    *,
    level: float,
    sentences: Iterable[str] = (),
    top: int = _SHOWN,
    of: str = "like these",
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
    more_tasks = len(scored_tasks(board)) - _TASKS
    if more_tasks > 0:
        lines.append(f"… and {counted(more_tasks, 'more task')}")
    legend = [*board_legend(board, level, columns, of), *_half_widths(board)]
    lines += ["", in_lines(legend), in_lines(sentences)]
    return "\n".join(lines).rstrip()


def _shown(board: pd.DataFrame) -> pd.DataFrame:
    """Columns that are printed."""
    import pandas as pd

    def interval(name: str, decimals: int, times: float = 1) -> list[str]:
        bounds = zip(times * board[f"{name}_low"], times * board[f"{name}_high"], strict=True)
        return [f"{low:.{decimals}f}…{high:.{decimals}f}" for low, high in bounds]

    columns: dict[str, Any] = {
        "rank": [str(rank) for rank in board["rank"]],
        "between": interval("rank", 0),
        "tied": list(board["group"]),
    }
    if tasks := scored_tasks(board)[:_TASKS]:
        columns["average"] = scores_in_words(board, "average")
        for heading, name in zip(short_labels(tasks, _TASK), tasks, strict=True):
            columns[heading] = [f"{100 * value:.1f}" for value in board[f"score_{name}"]]
        return pd.DataFrame(columns, pd.Index(short_labels(board.index, _SYSTEM), name="system"))
    columns["score"] = scores_in_words(board)
    if filled_in(board):
        columns[_OF_THESE] = interval("expected_score", 1, 100)
    if "ability" in board:
        columns["ability"] = [f"{value:.2f}" for value in board["ability"]]
        columns[FROM_TO] = interval("ability", 2)
    if "family" in board:
        columns["family"] = [shortened(name, _FAMILY) for name in board["family"]]
    return pd.DataFrame(columns, pd.Index(short_labels(board.index, _LABEL), name="system"))


def scored_tasks(board: pd.DataFrame) -> list[str]:
    """Tasks of a leaderboard by task, in the order of its columns."""
    scores = [name for name in map(str, board.columns) if name.startswith("score_")]
    return [name.removeprefix("score_") for name in scores if f"{name}_low" in board]


def _half_widths(board: pd.DataFrame) -> Iterator[str]:
    """How long the intervals of printed scores are."""
    if tasks := scored_tasks(board)[:_TASKS]:
        labels = ["average", *short_labels(tasks, _TASK)]
        names = ["average", *(f"score_{name}" for name in tasks)]
        half = [50 * (board[f"{name}_high"] - board[f"{name}_low"]).median() for name in names]
        each = ", ".join(f"{label} ±{n:.1f}" for label, n in zip(labels, half, strict=True))
        yield f"intervals in points, the median over systems: {each}"


def scores_in_words(board: pd.DataFrame, name: str = "expected_score") -> list[str]:
    """Scores as percentages, with a star for the status "misfit"."""
    marked = zip(board[name], board["status"] == "misfit", strict=True)
    return [f"{100 * score:.1f}{'*' * mark}" for score, mark in marked]


def filled_in(board: pd.DataFrame) -> bool:
    """Whether the model has filled in answers of some system."""
    return bool((board["expected_score"] - board["accuracy"]).abs().max() > 1e-9)


def board_legend(
    board: pd.DataFrame, level: float, columns: Collection[str], of: str = "like these"
) -> Iterator[str]:
    """What the columns mean, those that may be left out included if ``columns`` names them."""
    sure = percent(level)
    on = "by ability, given these items" if of == "these" else "on items like these"
    yield (
        f"between: {sure} interval of the rank of each system, {on}. "
        "tied: systems that share a letter do not differ significantly, adjusted for all "
        "pairs. For other pairs see irtkit compare-systems"
    )
    if "average" in board:
        intervals = f". {sure} intervals of both are about items like these"
        yield (
            "average: mean of the tasks, which have the same weight. Tasks: per cent right, with "
            "expected answers in place of any missing ones" + intervals * bool(scored_tasks(board))
        )
    else:
        yield (
            "score: per cent right of these items"
            + (", with expected answers in place of missing ones" if filled_in(board) else "")
            + f". {_OF_THESE}: its {sure} interval" * (_OF_THESE in columns)
            + ". ability: on the scale of the fit, if the model is true" * ("ability" in columns)
            + f". {FROM_TO}: its {sure} interval, with errors of items" * (FROM_TO in columns)
        )
    if (board["status"] == "misfit").any():
        yield (
            "*: the system is right on more items that are improbable at its ability than chance "
            "allows (p < 0.05 over all systems). Its answers may have leaked or follow wrong keys"
        )
    if "family" in board:
        families = board[board["family"] != ""].groupby("family", sort=False)
        best = [
            f"{printable(name)} (rank {part['rank'].min()}, {len(part)} "
            f"system{'s' * (len(part) > 1)})"
            for name, part in list(families)[:5]
        ]
        yield f"best of each family: {', '.join(best)}" + (" …" if families.ngroups > 5 else "")


def abilities_text(result: FitResult) -> str:
    """What ``print(result)`` says of several abilities."""
    from irtkit.systems.leaderboard import board_of_abilities

    names = ", ".join(result.ability_names[:_SHOWN_ABILITIES])
    if result.n_abilities > _SHOWN_ABILITIES:
        names += ", …"
    lines = [
        f"{result!r}. Abilities: {names}",
        f"log-likelihood {result.log_likelihood:,.2f} ({result.several.log_likelihood_by})",
        f"{result.n_parameters:,} parameters",
    ]
    findings = [*result.findings, *silent_items(result)]
    text = in_lines([*lines, *map(str, findings)])
    table = result.abilities.head(_SHOWN_ABILITIES)
    table = table.set_axis([*map(shortened, table.index)]).rename_axis("ability")
    told = ["items", "respondents"]
    text += f"\n\n{plain(table_of(table.drop(columns=told)))}\n\n"
    for name, items, highest in table[told].itertuples():
        named = f"{items}. Highest: {highest}" if items else "too unreliable to name systems"
        text += in_lines([f"{name}: {named}"]) + "\n"
    text = text.rstrip()
    pairs = result.ability_correlations
    if result.structure != "bifactor":
        pairs = pairs.sort_values("correlation", ascending=False).head(_SHOWN_ABILITIES)
        pairs = pairs.set_index("ability").dropna(axis=1, how="all")
        text += f"\n\nhighest correlations:\n{plain(table_of(pairs, ['other']))}"
    board = board_of_abilities(result, by=None, clusters=None, level=0.95, seed=0).head(
        _SHOWN_ABILITIES
    )
    if np.allclose(board["expected_score"], board["accuracy"]):
        board = board.filter(regex="^(?!expected)")
    board = board.set_axis([*map(shortened, board.index)]).rename_axis("respondent")
    return f"{text}\n\nhighest expected scores:\n{plain(table_of(board))}"
