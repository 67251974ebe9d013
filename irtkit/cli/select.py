"""``irtkit select``: the items to ask instead of all."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.fitting import reading_and_fitting, result_of
from irtkit.cli.inputs import read_families
from irtkit.cli.outputs import described, say_written
from irtkit.cli.paths import NAME, FileOut
from irtkit.io import write_table
from irtkit.io.tables import TABLE_ENDINGS
from irtkit.printed import plain, short_labels, table_of
from irtkit.scoring import DESIGNS
from irtkit.selection import select_items
from irtkit.suspects.families import SIMILAR

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


_SHOWN = 10
"""Items that are printed: half a screen of 24 lines."""
_COLUMNS = ["rank", "discrimination", "difficulty", "average_error"]


@click.command("select")
@reading_and_fitting
@click.option("-k", "k", type=click.IntRange(min=1), required=True, help="How many items to ask.")
@click.option(
    "--design",
    type=click.Choice(DESIGNS),
    help="Draw the items instead of choosing them; scores are then honest for systems unlike those "
    "of the fit, too, with a larger error.",
)
@click.option(
    "--families",
    type=NAME,
    metavar="FILE",
    default=SIMILAR,
    help="A CSV with the respondent and its family in two columns, or the word 'similar' for "
    "families of those who answer alike; the error is of families that were left out.",
)
@click.option("--folds", type=click.IntRange(min=2), default=10, help="Parts to leave out.")
@click.option(
    "--out",
    type=FileOut(*TABLE_ENDINGS, ".npz"),
    help="File for the items (.csv or .json), or for `irtkit score` (.npz).",
)
def select_command(
    *, k: int, design: Any, families: str, folds: int, out: Path | None, **options: Any
) -> None:
    """Choose the items that tell the score on all, and say how well they do.

    RESPONSES may as well be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    given, result = read_families(families), result_of(options, standard_errors=False)
    settings = {"families": given, "folds": folds, "seed": options["seed"]}
    selection = select_items(result, k, design=design, **settings)
    table = selection.item_table
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of fits without a fold
        about = str(selection)
    click.echo(_shown(table, about))
    if out is not None and out.suffix == ".npz":
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            selection.save(out)
        say_written(out, then=f": irtkit score ANSWERS {out}")
    elif out is not None:
        known = None if result.responses is None else result.responses.item_table
        write_table(described(table.dropna(axis=1, how="all"), known), out)
        say_written(out)


def _shown(table: pd.DataFrame, about: str) -> str:
    first = table[_COLUMNS].head(_SHOWN)
    first = first.set_axis(short_labels(first.index)).rename_axis("item")
    lines = [plain(table_of(first))]
    if len(table) > _SHOWN:
        lines.append(f"the first {_SHOWN} of {len(table)} items; --out writes all")
    return "\n".join([*lines, "", about])
