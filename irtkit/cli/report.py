"""``irtkit report``: responses become a page that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.fitting import reading_and_fitting, result_of, with_metrics
from irtkit.cli.inputs import read_families, read_labelled
from irtkit.cli.paths import NAME, PATH, FileOut
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.printed import printable
from irtkit.report import report

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.calibration import FitResult


@click.command("report")
@reading_and_fitting
@with_metrics
@click.option(
    "--out", type=FileOut(".html", ".htm"), required=True, help="The page to write: .html."
)
@click.option("--title", help="Heading of the page.  [default: the name of RESPONSES]")
@click.option("--fdr", default=FALSE_DISCOVERY_RATE, help="False-discovery rate of negatives.")
@click.option(
    "--families",
    type=NAME,
    metavar="FILE",
    help="A CSV with the respondent and its family in two columns, or the word 'similar', as for "
    "irtkit audit.",
)
@click.option(
    "--predictions",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="A wide CSV of what each respondent answered, which names the answer the strong agree on; "
    "or a CSV of items and their predicted difficulty, drawn beside that of the fit. Both may be "
    "given, each by itself.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="Compare measures of difficulty as well, as irtkit compare does: several more fits.",
)
def report_command(
    *,
    out: Path,
    title: str | None,
    fdr: float,
    families: str | None,
    predictions: tuple[Path, ...],
    compare: bool,
    **options: Any,
) -> None:
    """Write a page of suspect items, items and systems: one file of HTML, for any browser.

    RESPONSES may also be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    source = options["responses"]
    tables = [read_labelled(path, "--predictions") for path in predictions]
    result: FitResult = result_of(options, standard_errors=True)
    report(
        result,
        out,
        title=printable(title or source.resolve().name or "responses"),
        predictions=tables,
        families=read_families(families),
        compare=compare,
        fdr=fdr,
    )
    click.echo(printable(f"wrote {out}"))
