"""``irtkit impact``: how much work predicted annotations save, and a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from irtkit.cli.outputs import say_written
from irtkit.cli.paths import PATH, FileOut
from irtkit.difficulty.annotation import impact, read_annotations, read_durations
from irtkit.io import write_table

if TYPE_CHECKING:
    from irtkit.difficulty import Impact

_SHOWN_COLUMNS = ["impact", "penalty", "scratch", "fixes", "deletes", "adds"]


@click.command("impact")
@click.argument("predicted", type=PATH)
@click.argument("manual", type=PATH)
@click.option(
    "--duration",
    metavar="NUMBER|FILE",
    help="Duration of every sample, or a CSV with the columns sample and duration; the cost of a "
    "pair then counts times as shares of it.",
)
@click.option("--tolerance", default=0.0, help="Times this close need no fix.")
@click.option(
    "--weights",
    metavar="TYPE,START,END",
    default="1,1,1",
    help="Weights of the cost that decides which annotations are paired.",
)
@click.option("--max", "maximum", type=float, help="Exit with code 1 if the mean is above this.")
@click.option("--top", default=10, help="Samples to show.")
@click.option(
    "--out", type=FileOut(), help="File for the table of all samples: .csv, .json and others."
)
def impact_command(
    *,
    predicted: Path,
    manual: Path,
    duration: str | None,
    tolerance: float,
    weights: str,
    maximum: float | None,
    top: int,
    out: Path | None,
) -> int:
    """Say how much work predicted annotations save: 0 all of it, above 1 less than none.

    PREDICTED and MANUAL hold annotations by sample: CSV with the columns sample, type, start and
    end, or JSON, a list of such records or an object from the sample to its records.
    """
    summary = impact(
        read_annotations(predicted),
        read_annotations(manual),
        weights=_weights(weights),
        duration=_duration(duration),
        tolerance=tolerance,
    )
    too_high = maximum is not None and summary.exceeds(maximum)
    _show(summary, top)
    if out is not None:
        write_table(summary.table, out)
        say_written(out)
    if too_high:
        click.echo(f"\nmean impact {summary.impact:.6g} is above --max {maximum:.6g}")
    return int(too_high)


def _show(summary: Impact, top: int) -> None:
    click.echo(f"{summary}\n")
    shown = summary.table[_SHOWN_COLUMNS].head(max(top, 0))
    if len(shown):
        formats = {"impact": "{:.3f}".format, "penalty": "{:g}".format, "scratch": "{:g}".format}
        click.echo(shown.to_string(formatters=formats, index_names=False, na_rep=""))
    if len(summary.table) > len(shown):
        click.echo(f"… and {len(summary.table) - len(shown)} more")


def _weights(text: str) -> dict[str, float]:
    try:
        kind, start, end = map(float, text.split(","))
    except ValueError as error:
        raise ValueError(f"--weights must be TYPE,START,END such as 1,1,1; got {text!r}") from error
    return {"type": kind, "start": start, "end": end}


def _duration(text: str | None) -> float | dict[str, float] | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        if Path(text).exists():
            return read_durations(text)
    raise ValueError(f"--duration must be a number or a CSV file, got {text!r}")
