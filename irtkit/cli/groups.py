"""``irtkit differential``: items harder for one of two groups than its ability explains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.inputs import how_to_read, names_of, read_column, read_rows, reading_only
from irtkit.cli.outputs import say_written
from irtkit.cli.paths import NAME, PATH, FileOut
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.diagnostics.functioning import METHODS, differential_functioning
from irtkit.io import write_table
from irtkit.io.tables import is_file
from irtkit.printed import in_lines, percent, plain, short_labels, shortened, table_of

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20
"""Items that are printed: what a screen of 24 lines holds."""
_COLUMNS = {
    "harder_for": "harder for",
    **{name: name for name in ("log_odds_ratio", "slope_difference")},
    **{name: name for name in ("difficulty_difference", "score_difference", "statistic")},
    "q_value": "q",
}
"""What is printed of an item, and the heading."""


@click.command("differential")
@click.argument("responses", type=PATH)
@click.option(
    "--groups",
    type=NAME,
    required=True,
    metavar="FILE",
    help="A CSV with the respondent and its group in two columns, or the name of what the "
    "responses know of respondents, such as family.",
)
@click.option("--method", type=click.Choice(METHODS), default=METHODS[0])
@click.option("--fdr", default=FALSE_DISCOVERY_RATE, help="False-discovery rate.")
@click.option("--reference", help="The reference group, where there are more than two.")
@click.option("--focal", help="The focal group; alone, all others are the reference group.")
@click.option(
    "--anchors",
    metavar="ITEMS",
    multiple=True,
    help="Items known to be the same for both groups, q1,q2,q3; by default all that do not differ.",
)
@click.option("--cut", help="A date or number: before it is the reference group.")
@reading_only
@click.option("--out", type=FileOut(), help="File for all items: .csv or .json.")
def differential_command(
    *,
    responses: Path,
    groups: str,
    method: Any,
    fdr: float,
    reference: str | None,
    focal: str | None,
    anchors: tuple[str, ...],
    cut: str | None,
    out: Path | None,
    **options: Any,
) -> None:
    """List items that are harder for one of two groups of respondents at equal ability."""
    matrix = read_rows(responses, **how_to_read(options))
    found = differential_functioning(
        matrix,
        read_column(Path(groups), "--groups", "the respondent and its group")
        if is_file(groups)
        else groups,
        method,
        fdr=fdr,
        reference=reference,
        focal=focal,
        anchors=names_of(anchors) or None,
        cut=_number_or_text(cut),
    )
    click.echo(_shown(found, fdr))
    if out is not None:
        write_table(found, out)
        say_written(out)


def _number_or_text(cut: str | None) -> float | str | None:
    try:
        return None if cut is None else float(cut)
    except ValueError:
        return cut


def _shown(found: pd.DataFrame, fdr: float) -> str:
    """How many items differ, and those that do most."""
    reference, focal = found.attrs["reference"], found.attrs["focal"]
    differ = found[found["harder_for"] != ""].sort_values("p_value", kind="stable")
    tested = int(found["p_value"].notna().sum())
    sentence = (
        f"{len(differ)} of {tested} items tested differ between {reference} (reference group) and "
        f"{focal} (focal group) at a false-discovery rate of {percent(fdr)}"
    )
    lines = [in_lines([sentence])]
    if len(differ):
        kept = [name for name in _COLUMNS if name in differ]
        first = differ[kept].rename(columns=_COLUMNS).head(_SHOWN)
        first["harder for"] = [shortened(name) for name in first["harder for"]]
        first = first.set_axis(short_labels(first.index)).rename_axis("item")
        lines += ["", plain(table_of(first))]
    if len(differ) > _SHOWN:
        lines.append(f"the first {_SHOWN} of {len(differ)}; --out writes all items")
    return "\n".join(lines)
