"""What is shown of boards, comparisons and gates: tables and sentences from numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from irtkit.calibration.summary import silent_items
from irtkit.checks import counted
from irtkit.findings import LEGENDS
from irtkit.printed import TOP, Shown, p_words, percent, printable, short_labels, two_digits
from irtkit.systems.paired import POWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from irtkit.calibration.result import FitResult
    from irtkit.responses import ResponseMatrix
    from irtkit.systems.comparison import SystemComparison
    from irtkit.systems.gate import Gate

_MOST_ABILITIES = 5  # Rows of tables of several abilities.
_MOST_FAMILIES = 5  # Families whose best system is named.
_HEADING = 16  # Columns of a task or system that heads a column.
_NOT_FAILED = ("gate-passed", "gate-inconclusive")  # Verdicts that a table of several holds.
FROM_TO = "from…to"


def board_shown(
    board: pd.DataFrame,
    level: float,
    of: str = "like these",
    findings: Sequence[object] = (),
    *,
    simultaneous: bool = False,
) -> Shown:
    """A leaderboard, and what limits it."""
    columns: dict[str, Any] = {
        "rank": board["rank"],
        "between": _interval(board, "rank", 0),
        "tied": board["group"],
    }
    sure = percent(level)
    on = "by ability, given these items" if of == "these" else "on items like these"
    ranks = "all ranks together" if simultaneous else "each rank"
    legend = [
        f"between: {sure} interval of {ranks}, {on}",
        "tied: among all pairs, those that share a letter do not differ significantly",
        *(["An interval does not allow for all pairs, as letters do"] * (not simultaneous)),
    ]
    if "average" in board:
        tasks = scored_tasks(board)
        names = ["average", *(f"score_{name}" for name in tasks)]
        headings = ["average", *short_labels(tasks, _HEADING)]
        columns |= {
            heading: _scores(board, name) for heading, name in zip(headings, names, strict=True)
        }
        legend.append(
            "average: of the tasks, which have the same weight, in per cent, with expected answers "
            "in place of any missing ones"
        )
        legend.append(f"±: half of the {sure} interval, on items like these")
    else:
        columns["score"] = _scores(board, "expected_score")
        legend.append("score: mean score on these items, in per cent")
        if filled_in(board):
            legend[-1] += ", with expected answers in place of missing ones"
            columns["score_from…to"] = _interval(board, "expected_score", 1, 100)
            legend.append(f"score from…to: {sure} interval of the score of these items")
        if np.ptp(board["n_responses"]) > 0:
            columns["responses"] = board["n_responses"]
        if "ability" in board:
            columns["ability"] = board["ability"]
            columns[FROM_TO] = _interval(board, "ability", 2)
            legend.append("ability: on the scale of the fit, if the model is true")
            legend.append(f"{FROM_TO}: its {sure} interval, with errors of items")
    misfits = board["status"] == "misfit"
    if misfits.any():
        is_in_view = misfits.head(TOP).any()
        legend.insert(0 if is_in_view else len(legend), LEGENDS["misfit"])
    if "component" in board:
        columns["part"] = board["component"]
        legend.insert(0, "part: systems of different parts cannot be compared, ranks are within it")
    sentences = [*findings]
    if "family" in board:
        columns["family"] = board["family"].fillna("")
        sentences.insert(0, _best_of_families(board))
    table = pd.DataFrame(columns, board.index.rename("system"))
    return Shown(table=table, legend=legend, findings=sentences)


def _interval(table: pd.DataFrame, name: str, decimals: int, times: float = 1) -> list[str]:
    """Intervals from the low to the high value of a column, in words."""
    bounds = zip(times * table[f"{name}_low"], times * table[f"{name}_high"], strict=True)
    return [f"{low:z.{decimals}f}…{high:z.{decimals}f}" for low, high in bounds]


def _scores(board: pd.DataFrame, name: str) -> list[str]:
    """Scores in per cent, with a star for a misfit and half of the interval of a task."""
    texts = [
        f"{100 * score:.1f}{'*' * (status == 'misfit')}"
        for score, status in zip(board[name], board["status"], strict=True)
    ]
    if "average" not in board or f"{name}_low" not in board:
        return texts
    half = 50 * (board[f"{name}_high"] - board[f"{name}_low"])
    return [f"{text}±{reach:.0f}" for text, reach in zip(texts, half, strict=True)]


def _best_of_families(board: pd.DataFrame) -> str:
    """The first families of a board, and their ranks."""
    families = board[board["family"] != ""].groupby("family", sort=False)
    best = [
        f"{printable(name)} (rank {rows['rank'].min()}, {counted(len(rows), 'system')})"
        for name, rows in list(families)[:_MOST_FAMILIES]
    ]
    more = " …" * (families.ngroups > _MOST_FAMILIES)
    return f"best of each family: {', '.join(best)}{more}"


def scored_tasks(board: pd.DataFrame) -> list[str]:
    """Tasks of a leaderboard by task, in the order of its columns."""
    scores = [name for name in map(str, board.columns) if name.startswith("score_")]
    ends = {f"{name}_{end}" for name in scores for end in ("low", "high")}
    return [name.removeprefix("score_") for name in scores if name not in ends]


def filled_in(board: pd.DataFrame) -> bool:
    """Whether the model has filled in answers of some system."""
    if "accuracy" not in board:  # of items that were chosen for each system
        return True
    return bool((board["expected_score"] - board["accuracy"]).abs().max() > 1e-9)


def trials_shown(responses: ResponseMatrix, board: pd.DataFrame) -> Shown:
    """pass^k and pass@k of the systems of a board, for the largest k."""
    from irtkit.systems import pass_k

    table = pass_k(responses).loc[board.index]
    k = table.shape[1] // 5  # pass^k and pass@k with errors, and the number of items
    shown = ["pass^1", "pass^2", f"pass^{k}", "pass@2", f"pass@{k}", f"pass^{k}_items"]
    names = dict.fromkeys(shown)
    legend = [
        "pass^k: all of k trials of an item are right",
        "pass@k: one of k trials is right",
        f"pass^{k} items: items with at least {k} trials",
    ]
    if k < 2:
        return Shown()
    return Shown(table=table[[*names]].rename_axis("system"), legend=legend)


def comparison_sentences(comparison: SystemComparison) -> Iterator[str]:
    """The comparison of two systems, before the items."""
    first = printable(comparison.system)
    second = printable(comparison.other)
    items = counted(comparison.n_items, "item")
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
    if comparison.n_clusters >= 2 and comparison.n_systems > 2:
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
    # on few items of both the difference can point the other way than on all
    same_way = comparison.difference * comparison.score_difference >= 0
    if comparison.n_clusters >= 2 and comparison.p_value >= 1 - comparison.level and same_way:
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
    interval = f"{percent(level)} interval {100 * low:.2f} to {100 * high:.2f}"
    if high - low >= 2:
        interval = "without a standard error"
    return (
        f"{first} {verb} {second}: {100 * difference:.2f} percentage points higher accuracy "
        f"{where}, {interval}."
    )


def comparison_shown(comparison: SystemComparison) -> Shown:
    """Two systems in words, and the items on which they differ most."""
    differing = comparison.items[comparison.items["difference"] != 0].head(5)
    names = short_labels((comparison.system, comparison.other), _HEADING)
    sides = ["accuracy", "other_accuracy"]
    differences = differing[["difference", "expected_difference"]]
    if comparison.difference < 0:  # as the sentences, with the system first that is ahead
        names.reverse()
        sides.reverse()
        differences = -differences
    table = differing[sides].set_axis(names, axis=1).join(differences)
    title = f"items on which they differ most from what is expected ({names[0]} less {names[1]})"
    items = Shown(title, table)
    return Shown(findings=[*comparison_sentences(comparison)], further=[items])


def tasks_shown(table: pd.DataFrame, systems: Sequence[str], level: float) -> Shown:
    """Differences of two systems by task."""
    first, second = short_labels(systems)
    columns = {
        "items": table["n_items"],
        **_points(*(table[name] for name in ("difference", "low", "high"))),
        "p_value": table["p_value"],
    }
    legend = [
        f"points: accuracy of {first} less that of {second}, in percentage points",
        f"{FROM_TO}: its {percent(level)} interval, on items like these",
        "p_value: for each task by itself",
        "average: of the tasks, which have the same weight",
    ]
    return Shown(table=pd.DataFrame(columns, table.index), legend=legend)


def _points(difference: pd.Series[float], low: pd.Series[float], high: pd.Series[float]) -> Any:
    """Differences in percentage points, and their intervals where an error is known."""
    bounds = pd.DataFrame({"points_low": low, "points_high": high})
    points = [f"{100 * value:z.2f}" for value in difference]
    known = high - low < 2
    return {"points": points, FROM_TO: np.where(known, _interval(bounds, "points", 1, 100), "")}


def pairs_shown(pairs: pd.DataFrame, level: float) -> Shown:
    """How many pairs differ significantly, and neighbours on the board."""
    headline = (
        f"{int(pairs['different'].sum()):,} of {len(pairs):,} pairs of systems differ "
        f"significantly, at a family-wise error rate of {percent(1 - level)}."
    )
    closest = pairs.drop_duplicates("system").set_index("system")
    of_all = (closest["score_difference"] - closest["difference"]).abs() < 1e-9
    needed = map(two_digits, np.maximum(closest["items_needed"] - closest["n_items"], 0))
    unshown = closest["different"] | ~of_all
    columns = {
        "other": closest["other"].astype(object),
        **_points(*(closest[f"score_{name}"] for name in ("difference", "low", "high"))),
        "P": closest["p_better"],
        "differ": np.where(closest["different"], "yes", ""),
        "more_items": [
            "" if settled or n is None else f"{n:,}"
            for settled, n in zip(unshown, needed, strict=True)
        ],
    }
    filled = "" if of_all.all() else ", with expected answers in place of missing ones"
    legend = [
        "system, other: neighbours on the leaderboard",
        f"points: difference in percentage points of score{filled}",
        f"{FROM_TO}: {percent(level)} interval of the difference, for this pair individually",
        "P: probability that system is better on items like these",
        "differ: significantly, adjusted for all pairs",
        "more items: similar items needed to show the difference of this pair",
    ]
    if not any(columns["more_items"]):
        del columns["more_items"], legend[-1]
    return Shown(findings=[headline], further=[Shown("", pd.DataFrame(columns), legend)])


def gate_shown(gate: Gate) -> Shown:
    """Verdicts on systems, and what was not compared."""
    systems = gate.systems
    verdicts = gate.findings[: len(systems)]
    findings = gate.findings
    if len(systems) > 1:
        findings = tuple(finding for finding in findings if finding.code not in _NOT_FAILED)
    columns = {
        "items": [system.n_items for system in systems],
        "old": [f"{system.old:.2%}" for system in systems],
        "new": [f"{system.new:.2%}" for system in systems],
        "change": [f"{0 - 100 * system.drop:+.2f}" for system in systems],
        "between": [f"{-100 * run.high:+.2f} to {-100 * run.low:+.2f}" for run in systems],
        "verdict": [system.verdict for system in systems],
    }
    needed = [
        finding.values["more"] if finding.code == "gate-inconclusive" else None
        for finding in verdicts
    ]
    if len(systems) > 1 and any(needed):
        columns["more_items"] = ["" if n is None else f"{n:,}" for n in needed]
    index = pd.Index([system.name for system in systems], name="system")
    legend = [
        "change: in percentage points, between its one-sided bounds",
        f"verdict: on a drop of more than {100 * gate.max_drop:g} points",
        f"At most about {1 - gate.level:.2g} of changes within this allowed drop fail",
    ]
    if "more_items" in columns:
        legend.append("more items: for 80% power, if the change is as large as it looks")
    return Shown(f"Gate {gate.verdict}", pd.DataFrame(columns, index), legend, findings)


def abilities_shown(result: FitResult) -> Shown:
    """A fit of several abilities."""
    from irtkit.systems.leaderboard import ranked

    lines = [
        f"{result!r}",
        f"log-likelihood {result.log_likelihood:.3f} ({result.several.log_likelihood_by})",
        f"{result.n_parameters:,} parameters",
        *result.findings,
        *silent_items(result),
    ]
    measured = result.abilities.rename(columns={"respondents": "highest"})
    measured[["items", "highest"]] = measured[["items", "highest"]].map(str)
    further = [Shown("", measured)]
    pairs = result.ability_correlations
    if result.structure != "bifactor":
        pairs = pairs.sort_values("correlation", ascending=False).head(_MOST_ABILITIES)
        pairs = pairs.set_index("ability").dropna(axis=1, how="all")
        further.append(Shown("highest correlations", pairs))
    board, _ = ranked(result)
    further.append(board_shown(board.head(_MOST_ABILITIES), 0.95))
    return Shown(findings=lines, further=further)
