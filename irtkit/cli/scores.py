"""``irtkit score``: respondents scored on items of an earlier fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.inputs import how_to_read, read_rows, reading_only
from irtkit.cli.outputs import say_written
from irtkit.cli.paths import PATH, FileOut
from irtkit.io import write_table
from irtkit.printed import in_lines, percent, plain, short_labels, table_of
from irtkit.scoring import DESIGNS, METHODS, score

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_SHOWN = 20
"""Respondents that are printed: what a screen of 24 lines holds."""
_COLUMNS = {
    "ability": "ability",
    "ability_se": "se",
    "accuracy": "accuracy",
    "expected_score": "score",
    "expected_score_low": "low",
    "expected_score_high": "high",
    "status": "status",
}
"""What is printed of a score, and the heading."""


@click.command("score")
@click.argument("responses", type=PATH)
@click.argument("items", type=PATH)
@click.option(
    "--method",
    type=click.Choice(METHODS, case_sensitive=False),
    default="EAP",
    help="Posterior mean or mode, maximum likelihood, or Warm's weighted likelihood.",
)
@click.option("--level", default=0.95, help="Coverage of the intervals.")
@click.option(
    "--design",
    type=click.Choice(DESIGNS),
    help="How the items asked were drawn from all: the score expected of all is then honest for "
    "systems unlike the calibrated ones, too.",
)
@click.option(
    "--random-items",
    type=PATH,
    help="Text file of items, one a line, that were asked after the others and drawn at random "
    "from the rest: they bound scores from above.",
)
@reading_only
@click.option("--out", type=FileOut(), help="File for all scores: .csv, .json and others.")
def score_command(
    *,
    responses: Path,
    items: Path,
    method: Any,
    level: float,
    design: Any,
    random_items: Path | None,
    out: Path | None,
    **options: Any,
) -> None:
    """Score respondents on items that are already calibrated, and stay as they are.

    ITEMS is the folder that `irtkit fit --out` wrote, a saved result, or a table with the columns
    discrimination, and intercept or difficulty (and guessing).
    """
    matrix = read_rows(responses, **how_to_read(options))
    at_random = None
    if random_items is not None:
        at_random = [*filter(None, random_items.read_text(encoding="utf-8-sig").splitlines())]
    scores = score(matrix, items, method, level=level, design=design, random_items=at_random)
    click.echo(_shown(scores, level, design, at_random))
    if out is not None:
        write_table(scores, out)
        say_written(out)


def _shown(scores: pd.DataFrame, level: float, design: str | None, at_random: Any) -> str:
    """The first scores, and what their columns are."""
    kept = [name for name in _COLUMNS if name in scores]
    first = scores[kept].rename(columns=_COLUMNS).head(_SHOWN)
    first = first.set_axis(short_labels(first.index)).rename_axis("respondent")
    legend = []
    if "accuracy" in scores:
        legend.append("accuracy is of the calibrated items that were answered")
    if "expected_score" in scores:
        whom = "of systems like these" if design is None else "under any model"
        legend.append(
            "score is the share right that is expected of all calibrated items, with a "
            f"{percent(level)} interval from low to high {whom}"
        )
    beyond = "beyond" in set(first["status"])
    if at_random is not None:
        legend.append("of systems that were asked items at random, high is from these items")
        if beyond:
            legend.append("beyond: the score may be above those of nearly all calibrated systems")
    elif beyond:
        legend.append(
            "beyond: the score is at least low, see the warning; --random-items names further items"
        )
    if len(scores) > _SHOWN:
        legend.append(f"the first {_SHOWN} of {len(scores)} respondents; --out writes all")
    return f"{plain(table_of(first))}\n{in_lines(legend)}"
