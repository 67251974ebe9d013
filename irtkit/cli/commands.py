"""The commands that read responses, fit them, and look at what the fit says."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from shutil import which
from typing import Any

import click
from rich.console import Console

from irtkit.calibration import fit, load
from irtkit.calibration.fitting import silently
from irtkit.calibration.result import saved_in
from irtkit.cli.fitting import (
    fitted,
    model_option,
    read,
    reading_and_fitting,
    result_of,
    with_metrics,
)
from irtkit.cli.groups import differential_command
from irtkit.cli.impact import impact_command
from irtkit.cli.inputs import (
    how_to_read,
    read_families,
    read_labelled,
    read_rows,
    reading_only,
)
from irtkit.cli.outputs import (
    COMPARISON_FILES,
    described,
    next_step,
    prepared,
    say_written,
    write_comparison,
    write_fit,
)
from irtkit.cli.paths import FIT_FILES, NAME, PATH, FileOut, FolderOut
from irtkit.cli.process import run
from irtkit.cli.report import report_command
from irtkit.cli.scores import score_command
from irtkit.cli.select import select_command
from irtkit.cli.systems import compare_systems_command, gate_command, leaderboard_command
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.datasets import load_digits_crowd
from irtkit.difficulty import compare_difficulties
from irtkit.findings import reasons_text
from irtkit.io import write_table
from irtkit.io.logs import holds_logs
from irtkit.io.merging import merge_responses, repeats_of_parts
from irtkit.io.overview import overview
from irtkit.io.reading import FOR_LOGS, FOR_TABLES
from irtkit.io.writing import format_by_name, side_tables, write_responses
from irtkit.irf import EXTREME
from irtkit.printed import in_lines, printable, table_of
from irtkit.responses.cells import check_repeats
from irtkit.suspects import audit, shuffle_control

_LISTED = 5  # items and systems that the demo prints: a screen in all
_FOLDER_HELP = "Folder to write the tables to."
_COUNT = click.IntRange(min=0)


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


def main() -> None:
    """Run the command line."""
    run(cli)


@click.group(context_settings=_SETTINGS)
@click.version_option(package_name="irtkit")
def cli() -> None:
    """Item response theory for evaluations of AI systems.

    RESPONSES is a file of right and wrong answers: a wide table (a row per respondent, a column
    per item, cells 1, 0 or empty), a long table (respondent, item, response), Parquet, or py-irt
    JSON lines; gzip is fine, and the format is recognised from the content. It may as well be an
    evaluation log, or a folder or quoted pattern of logs of any harness and of many systems. What
    was read is said on standard error.
    """


cli.add_command(differential_command)
cli.add_command(impact_command)
cli.add_command(score_command)
cli.add_command(leaderboard_command)
cli.add_command(compare_systems_command)
cli.add_command(gate_command)
cli.add_command(select_command)
cli.add_command(report_command)


@cli.command("fit")
@reading_and_fitting
@with_metrics
@click.option("--out", type=FolderOut(*FIT_FILES), help=_FOLDER_HELP)
@click.option(
    "--chance",
    type=float,
    help="3PL: centre of the prior of guessing, such as 0.25; learned by default.",
)
@click.option("--no-standard-errors", is_flag=True, help="Leave standard errors out.")
@click.option(
    "--checkpoint", type=PATH, help="With --method vi: a file to go on from after an interruption."
)
def fit_command(*, out: Path | None, no_standard_errors: bool, **options: Any) -> None:
    """Fit a model: difficulty and discrimination of items, ability of respondents."""
    with prepared(out):
        result = fitted(read(options), options, standard_errors=not no_standard_errors)
        written = write_fit(result, out, source=printable(options["responses"]))
    click.echo(f"{result}{written}")
    next_step("irtkit audit looks for suspect items, irtkit report makes a page of it all")


@cli.command("compare")
@reading_and_fitting
@with_metrics
@click.option("--out", type=FolderOut(*COMPARISON_FILES), help=_FOLDER_HELP)
@click.option(
    "--folds", default=5, help="Parts of the responses to leave out and predict; 0 leaves that out."
)
def compare_command(*, out: Path | None, folds: int, **options: Any) -> None:
    """Set average error beside IRT difficulty and say whether they order the items alike.

    RESPONSES may also be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    with prepared(out):
        result = result_of(options, standard_errors=False)
        comparison = compare_difficulties(result, folds=folds, seed=options["seed"])
        written = write_comparison(comparison, out)
    click.echo(f"{comparison}{written}")


@cli.command("audit")
@reading_and_fitting
@click.option("--fdr", default=FALSE_DISCOVERY_RATE, help="False-discovery rate of negatives.")
@click.option(
    "--extreme-difficulty",
    default=EXTREME,
    help="Difficulty, in SDs of ability, beyond which an item is extreme.",
)
@click.option("--chance", type=float, help="3PL: probability of guessing right, such as 0.25.")
@click.option(
    "--families",
    type=NAME,
    metavar="FILE",
    help="A CSV with the respondent and its family in two columns, or the word 'similar' for "
    "families of those who answer alike; evidence then counts by family.",
)
@click.option(
    "--predictions",
    type=PATH,
    help="A wide CSV of what each respondent answered; names the answer the strong agree on.",
)
@click.option(
    "--shuffles",
    type=_COUNT,
    default=0,
    help="Fits of shuffled responses, to see what noise alone would give.",
)
@click.option("--top", type=_COUNT, default=20, help="Suspect items to show.")
@click.option(
    "--fail-on",
    type=click.Choice(["negative", "any"]),
    help="Exit with code 1 if items have negative discrimination, or are suspect at all.",
)
@click.option(
    "--out",
    type=FileOut(),
    help="File for all suspect and uninformative items: .csv, .json, .parquet and others.",
)
def audit_command(
    *,
    out: Path | None,
    families: str | None,
    predictions: Path | None,
    shuffles: int,
    top: int,
    fail_on: str | None,
    **options: Any,
) -> int:
    """List suspect items: their keys or texts deserve a look.

    Items that hardly discriminate are listed as uninformative.
    RESPONSES may also be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    names = ("fdr", "extreme_difficulty", "chance")
    thresholds = {name: options.pop(name) for name in names}
    answers = None if predictions is None else read_labelled(predictions, "--predictions")
    known = read_families(families)
    result = result_of(options, standard_errors=True)
    responses = result.responses
    if shuffles and responses is None:
        raise ValueError("--shuffles: the responses were not saved with this result")
    found = audit(result, families=known, predictions=answers, **thresholds)
    if out is not None:
        about = None if responses is None else responses.item_table
        items = found.items.assign(reasons=found.items["reasons"].map(reasons_text))
        write_table(described(items, about), out)
    Console().print(found.shown(top))
    if shuffles and responses is not None:
        seeds = range(shuffles)
        control = shuffle_control(responses, result.model, seeds=seeds, **thresholds)
        click.echo(f"\n{control}")
    if out is not None:
        say_written(out)
    counted = {"any": len(found.suspects), "negative": found.n_negative}
    return int(fail_on is not None and counted[fail_on] > 0)


@cli.command("inspect")
@click.argument("path", type=PATH)
@reading_only
def inspect_command(*, path: Path, **options: Any) -> None:
    """Say what a file or folder holds, and the command that fits it."""
    if (saved := saved_in(path)) != path:
        said = f"{load(saved)!r}: a saved fit, which audit, compare, leaderboard and report take"
        click.echo(in_lines([said]))
    else:
        click.echo(str(overview(path, **how_to_read(options))))


@cli.command("merge")
@click.argument("paths", type=PATH, nargs=-1, required=True)
@reading_only
@click.option(
    "--out",
    type=FileOut(""),  # the format says which
    required=True,
    help="File to write: .parquet, .csv, .tsv, .jsonl for py-irt, _samples.jsonl for Every Eval "
    "Ever.",
)
@click.option("--wide", is_flag=True, help="A row per respondent, as for R's mirt: .csv or .tsv.")
def merge_command(*, paths: tuple[Path, ...], out: Path, wide: bool, **options: Any) -> None:
    """Put the responses of several files or folders into one file.

    Evaluation logs are read together, as if they were in one folder. What --repeats says holds for
    them, for each of the tables, and for a response that several hold.
    """
    form = format_by_name(out, "wide" if wide else None)
    how = how_to_read(options)
    repeats = how.pop("repeats", "error")
    check_repeats(repeats)
    of_logs = [path for path in paths if holds_logs(path)]
    tables = [path for path in paths if path not in of_logs]
    for_logs, for_tables = (
        {name: value for name, value in how.items() if not (others and name in left_out)}
        for others, left_out in ((tables, FOR_TABLES), (of_logs, FOR_LOGS))
    )
    part = repeats_of_parts(repeats) if len(paths) > 1 else repeats
    matrices = [read_rows(of_logs, repeats=part, **for_logs)] if of_logs else []
    matrices += [read_rows(path, repeats=part, **for_tables) for path in tables]
    merged = merge_responses(matrices, repeats=repeats)
    write_responses(merged, out, format=form)
    click.echo(merged)
    say_written(out, *side_tables(out).values())


@cli.command("demo")
@model_option
@click.option("--out", type=FolderOut(*FIT_FILES), default="irtkit-demo", help=_FOLDER_HELP)
def demo_command(*, model: Any, out: Path) -> None:
    """Fit the bundled example: 130 classifiers on 1,797 handwritten digits."""
    crowd = load_digits_crowd()
    with prepared(out):
        with silently():  # the summary says what it warns of
            result = fit(crowd.responses, model)
        written = write_fit(result, out, source="irtkit.datasets.load_digits_crowd()")
    suspects = audit(result, predictions=crowd.predictions).suspects
    suspects = suspects.sort_values("wrong_key", ascending=False)
    first = suspects.iloc[0]
    answers = f"{first['marked_right']}, and most high-ability classifiers answer"
    said = f"{first.name} is probably mislabelled. The answer key says {answers}"
    click.echo(in_lines([f"{said} {first['strong_answer']}."]))
    click.echo("\nWrong key: log likelihood ratio of a reversed key. Above 3 is strong evidence.")
    columns = ["wrong_key", "average_error", "marked_right", "strong_answer"]
    Console().print(table_of(suspects[columns].head(_LISTED)))
    click.echo("\nSystems by ability:")
    systems = result.respondents.iloc[result.best_first[:_LISTED]]
    Console().print(table_of(systems[["ability", "ability_se", "accuracy"]]))
    click.echo(f"\n{in_lines(f'Warning: {text}' for text in result.warnings)}{written}")
    click.echo(f"\nTo make a page of these results, type:\n{_program()} report ", nl=False)
    click.echo(f"{quote(str(out))} --out report.html")


def _program() -> str:
    """How irtkit was started, as it can be typed again: it need not be on the path."""
    started, known = Path(sys.argv[0]), which("irtkit")
    if started.stem == "__main__":
        return f"{quote(sys.executable)} -m irtkit"
    on_path = known is not None and Path(known).parent.resolve() == started.parent.resolve()
    return "irtkit" if on_path or started.stem != "irtkit" else quote(sys.argv[0])
