"""``irtkit leaderboard``, ``irtkit compare-systems`` and ``irtkit gate``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from irtkit.calibration.result import AT_CHANCE
from irtkit.cli.fitting import reading_and_fitting, result_of
from irtkit.cli.inputs import how_to_read, read_column, read_rows, reading_only
from irtkit.cli.outputs import next_step, say_written
from irtkit.cli.paths import NAME, PATH, FileOut
from irtkit.files import replacing
from irtkit.io import write_table
from irtkit.io.tables import is_file
from irtkit.printed import in_lines, percent, plain, short_labels, table_of, two_digits
from irtkit.systems import compare_systems, gate, leaderboard, pass_k
from irtkit.systems.gate import MAX_DROP
from irtkit.systems.printed import board_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from irtkit.responses import ResponseMatrix

_LABEL = 20
"""Characters of a label that is printed beside another."""
_INCONCLUSIVE = 3  # exit code of a gate that neither passes nor fails
_TABLE_HELP = "File for the whole table: .csv, or .json for irtkit.read_table."


def _of_items(command: Callable[..., Any], level: str = "Coverage of the intervals.") -> Any:
    """Options on errors, which the three commands share."""
    for option in (
        click.option("--level", default=0.95, help=level),
        click.option(
            "--clusters",
            type=NAME,
            metavar="FILE|COLUMN",
            help="Clusters of items, such as passages or tasks: a CSV with the item and its "
            "cluster in two columns, or a column of the item table. Errors are then clustered.",
        ),
    ):
        command = option(command)
    return command


@click.command("leaderboard")
@reading_and_fitting
@_of_items
@click.option(
    "--families", type=PATH, help="A CSV with the respondent and its family in two columns."
)
@click.option("--top", type=click.IntRange(min=1), default=20, help="Systems to show.")
@click.option("--out", type=FileOut(), help=_TABLE_HELP)
def leaderboard_command(
    *,
    clusters: str | None,
    families: Path | None,
    level: float,
    top: int,
    out: Path | None,
    **options: Any,
) -> None:
    """Rank systems, and say which ranks the items allow and who cannot be told apart.

    RESPONSES may also be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    result = result_of(options, standard_errors=True)
    known = (
        None
        if families is None
        else read_column(families, "--families", "the respondent and its family")
    )
    board = leaderboard(
        result, families=known, clusters=_clusters(clusters), level=level, seed=options["seed"]
    )
    at_chance = [one for one in result.findings if one.code == AT_CHANCE]
    if at_chance:
        click.echo(f"{in_lines(f'{one.severity}: {one}' for one in at_chance)}\n")
    sentences = [f"{one.severity}: {one}" for one in result.findings if one not in at_chance]
    click.echo(board_text(board, level=level, sentences=sentences, top=top))
    if result.responses is not None and result.responses.has_repeats:
        click.echo(_trials_in_words(result.responses, board, top))
    _write(board, out)
    if len(board) > 1:
        next_step("irtkit compare-systems with two of them says how sure their difference is")


@click.command("compare-systems")
@reading_and_fitting
@click.argument("systems", nargs=-1)
@_of_items
@click.option("--top", type=click.IntRange(min=1), default=20, help="Pairs to show.")
@click.option("--out", type=FileOut(), help=_TABLE_HELP)
def compare_systems_command(
    *,
    systems: tuple[str, ...],
    clusters: str | None,
    level: float,
    top: int,
    out: Path | None,
    **options: Any,
) -> None:
    """Compare two systems, or all pairs of those named. Without SYSTEMS, compare all pairs."""
    if len(systems) == 1:
        raise ValueError("compare-systems takes two systems or more, or none for all; got 1")
    result = result_of(options, standard_errors=True)
    how: Any = {"clusters": _clusters(clusters), "level": level}
    if len(systems) == 2:
        found = compare_systems(result, *systems, **how)
        click.echo(found)
        _write(found.items, out)
        return
    pairs = compare_systems(result, systems=systems or None, seed=options["seed"], **how)
    click.echo(_pairs_text(pairs, level, top))
    _write(pairs.astype({"system": object, "other": object}), out)


@click.command("gate")
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--max-drop", default=MAX_DROP, help="Allowed drop in accuracy: 0.02 is two percentage points."
)
@reading_only
@partial(_of_items, level="One less the rate of false alarms.")
@click.option(
    "--allow-inconclusive", is_flag=True, help="Exit with code 0, not 3, if it is inconclusive."
)
@click.option(
    "--summary",
    type=FileOut(".md", ".txt"),
    help="File for a summary in Markdown, for a merge check.",
)
def gate_command(
    *,
    old: Path,
    new: Path,
    max_drop: float,
    clusters: str | None,
    level: float,
    allow_inconclusive: bool,
    summary: Path | None,
    **options: Any,
) -> int:
    """Test whether a new version has dropped by more than is allowed.

    OLD and NEW are responses of one system each to the same items, or of the same systems. The
    exit code is 0 if a larger drop is ruled out, 1 if it is shown, and 3 if the items cannot tell
    (inconclusive).
    """
    how = how_to_read(options)
    runs = [read_rows(path, **how) for path in (old, new)]
    found = gate(*runs, max_drop=max_drop, clusters=_clusters(clusters), level=level)
    click.echo(str(found))
    if summary is not None:
        with replacing(summary) as temporary:
            temporary.write_text(found.markdown, encoding="utf-8")
        say_written(summary)
    inconclusive = 0 if allow_inconclusive else _INCONCLUSIVE
    return {"passed": 0, "failed": 1, "inconclusive": inconclusive}[found.verdict]


def _clusters(given: str | None) -> Any:
    """What --clusters stands for."""
    if given is None or not is_file(given):
        return given
    return read_column(Path(given), "--clusters", "the item and its cluster")


def _write(table: pd.DataFrame, out: Path | None) -> None:
    if out is not None:
        write_table(table, out)
        say_written(out)


def _trials_in_words(responses: ResponseMatrix, board: pd.DataFrame, top: int) -> str:
    """pass^k and pass@k of the first systems, for the largest k."""
    table = pass_k(responses)
    k = table.shape[1] // 5  # pass^k and pass@k with errors, and the number of items
    if k < 2:
        return ""
    names = list(dict.fromkeys(["pass^1", "pass^2", f"pass^{k}", "pass@2", f"pass@{k}"]))
    enough = f"pass^{k}_items"
    legend = "pass^k: all of k trials of an item are right; pass@k: one of them is"
    if (table[enough] < table["pass^1_items"]).any():
        names.append(enough)
        legend += f"; {enough}: items with {k} trials or more, which pass^{k} and pass@{k} are from"
    first = table.loc[board.index[:top], names]
    first = first.set_axis(short_labels(first.index, _LABEL))
    return f"\n{plain(table_of(first.rename_axis('system')))}\n\n{in_lines([legend])}"


def _pairs_text(pairs: pd.DataFrame, level: float, top: int) -> str:
    """How many pairs differ significantly, and neighbours on the board."""
    n_different = int(pairs["different"].sum())
    headline = (
        f"{n_different:,} of {len(pairs):,} pairs of systems differ significantly, with an error "
        f"among them in {percent(1 - level)} of boards at most."
    )
    neighbours = pairs.drop_duplicates("system")
    closest = neighbours.head(top)
    labels = [*dict.fromkeys((*closest["system"], *closest["other"]))]
    short = dict(zip(labels, short_labels(labels, _LABEL), strict=True))
    more = map(two_digits, np.maximum(closest["items_needed"] - closest["n_items"], 0))
    columns = {
        "other": [short[name] for name in closest["other"]],
        "points": [f"{100 * value:.2f}" for value in closest["difference"]],
        "from…to": [
            f"{100 * low:.1f}…{100 * high:.1f}"
            for low, high in zip(closest["low"], closest["high"], strict=True)
        ],
        "P": [f"{value:.3f}" for value in closest["p_better"]],
        "differ": ["yes" if value else "" for value in closest["different"]],
        "more items": [
            "" if different or n is None else f"{n:,}"
            for different, n in zip(closest["different"], more, strict=True)
        ],
    }
    shown = closest[[]].assign(**columns).set_axis([short[name] for name in closest["system"]])
    about = (
        "each system beside the next one on the board; points: percentage points of accuracy on "
        "the items of both, and the interval of the pair by itself; P: probability of being better "
        "on items like these; differ: significantly, among all pairs; more items: like these, that "
        "would show the difference of the pair by itself, if it is as large as it looks"
    )
    legend = [about]
    if len(neighbours) > top:
        legend.append(f"the first {top} of {len(neighbours):,}; --out writes all pairs")
    table = plain(table_of(shown.rename_axis("system"), ["other"]))
    return f"{in_lines([headline])}\n\n{table}\n\n{in_lines(legend)}"
