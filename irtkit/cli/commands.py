"""The commands, and how they end."""

from __future__ import annotations

import logging
import signal
import sys
import warnings
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console

from irtkit.calibration import fit
from irtkit.calibration.fitting import silently
from irtkit.cli.entry import ENDS
from irtkit.cli.groups import differential_command
from irtkit.cli.impact import impact_command
from irtkit.cli.inputs import (
    FOR_LOGS,
    FOR_TABLES,
    as_typed,
    fitted,
    how_to_read,
    model_option,
    read,
    read_families,
    read_labelled,
    read_rows,
    reading_and_fitting,
    reading_only,
    result_of,
    with_metrics,
    without,
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
from irtkit.cli.paths import FIT_FILES, PATH, FileOut, FolderOut
from irtkit.cli.report import report_command
from irtkit.cli.scores import score_command
from irtkit.cli.select import select_command
from irtkit.cli.streams import lasting_streams
from irtkit.cli.systems import compare_systems_command, gate_command, leaderboard_command
from irtkit.datasets import load_digits_crowd
from irtkit.difficulty import compare_difficulties
from irtkit.io import write_table
from irtkit.io.merging import merge_responses
from irtkit.io.overview import overview
from irtkit.io.reading import holds_logs, repeats_of_part
from irtkit.io.writing import format_by_name, side_tables, write_responses
from irtkit.irf import EXTREME
from irtkit.memory import LESS_MEMORY
from irtkit.printed import in_lines, printable
from irtkit.signs import FALSE_DISCOVERY_RATE
from irtkit.suspects import audit, shuffle_control
from irtkit.trials import check_repeats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LISTED = 10  # suspect items that the demo prints: half a screen of 24 lines
_FOLDER_HELP = "Folder to write the tables to."
_MOST_LINES = 1000  # of the log, held until all input is known to be good
_LONGEST = 24 * 80  # characters of a message: a screen
_OF_INPUT = (ValueError, TypeError, OSError, ImportError, EOFError, MemoryError)
"""Errors that are about what was given, in one line; all others are irtkit's own, and traceable."""
_NO_MEMORY = ("failed to map segment", "annot allocate memory")
"""How systems say that memory ran out where a library was to be loaded."""
_COUNT = click.IntRange(min=0)


def main() -> None:
    """Run the command line.

    Exit codes: 0, 1 (``audit --fail-on`` found what it was told to, ``impact --max`` was passed, or
    a ``gate`` failed), 2 (bad input, or standard output that cannot be written), 129 (hung up), 130
    (interrupted), 143 (terminated). They do not depend on whether what is printed is read.
    """
    with warnings.catch_warnings(), lasting_streams() as fault, _telling():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # fewer names, same use
        code = _code()
        if code in {0, 1} and (reason := fault()):
            _tell(f"error: standard output: {reason}; what goes to files is written")
            code = code or 2
    sys.exit(code)


def _code() -> int:
    """Run a command, say what ended it, and return the exit code."""
    try:
        with _stoppable():
            return cli.main(prog_name="irtkit", standalone_mode=False) or 0
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except (RuntimeError, _StoppedError) as error:
        return _stopped(error)
    except click.ClickException as error:
        message = error.format_message()
        expanded = "unexpected extra argument" in message  # the shell made many of a pattern
        advice = "; quote a pattern, as in 'runs/*.eval', or put paths together by irtkit merge"
        return _failed(message + advice * expanded)
    except _OF_INPUT as error:
        return _failed(_reason(error))


def _stopped(error: BaseException) -> int:
    """End as was asked for; Python 3.11 wraps a request that meets the making of a class."""
    asked = error.__cause__ or error
    if not isinstance(asked, _StoppedError):
        raise error
    _tell(ENDS[asked.number])
    return 128 + asked.number


@contextmanager
def _telling() -> Iterator[None]:
    """Show what was read, lines of the log, on standard error, once it is about to be fitted."""
    logger, shown = logging.getLogger("irtkit"), logging.StreamHandler()
    shown.setFormatter(logging.Formatter("irtkit: %(message)s"))
    handler = MemoryHandler(_MOST_LINES, target=shown, flushOnClose=False)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _StoppedError(BaseException):
    """A request to end, by a signal: what was begun is to be tidied up."""

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take signals that end a command for exceptions, so that no half of a file stays."""

    def end(number: int, _: Any) -> NoReturn:
        raise _StoppedError(number)

    before = {number: signal.getsignal(number) for number in ENDS}
    heard = [number for number in ENDS if before[number] is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, end)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number] or signal.SIG_DFL)


def _reason(error: Exception) -> str:
    """What an error says; of memory that ran out, also what needs less."""
    message = str(error)
    if any(words in message for words in _NO_MEMORY):  # for a library, or for what one asked for
        return f"there is not enough memory: {message}"
    if not isinstance(error, MemoryError):
        return message
    what = message.removesuffix(f"; {LESS_MEMORY}") or "there is not enough memory"
    return f"{what}; in Python, {LESS_MEMORY}"


def _failed(message: str) -> int:
    _tell(f"error: {_told(message)}")
    return 2


def _show_warning(message: Warning | str, *_: Any) -> None:
    _tell(f"warning: {_told(str(message))}")


def _tell(message: str) -> None:
    """Say something on standard error: one line, but for somebody who reads it on a terminal."""
    line = f"irtkit: {message}"
    click.echo(in_lines([line]) if sys.stderr.isatty() else line, err=True)


def _told(message: str) -> str:
    """A message as one line that steers no terminal, and is no longer than a screen."""
    line = printable(" ".join(as_typed(message).split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


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
    "--groups",
    metavar="FILE",
    help="A CSV with the respondent and its family in two columns, or the word 'similar' for "
    "families of those who answer alike; evidence then counts by family, and not by the number "
    "of independent respondents that is told from the responses.",
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
    "--out", type=FileOut(), help="File for all suspect items: .csv, .json, .parquet and others."
)
def audit_command(
    *,
    out: Path | None,
    groups: str | None,
    predictions: Path | None,
    shuffles: int,
    top: int,
    fail_on: str | None,
    **options: Any,
) -> int:
    """List suspect items: negative or flat discrimination, extreme difficulty.

    RESPONSES may also be the folder that `irtkit fit --out` wrote, or a saved result.
    """
    names = ("fdr", "extreme_difficulty", "chance")
    thresholds = {name: options.pop(name) for name in names}
    answers = None if predictions is None else read_labelled(predictions, "--predictions")
    families = read_families(groups)
    result = result_of(options, standard_errors=True)
    responses = result.responses
    if shuffles and responses is None:
        raise ValueError("--shuffles: the responses were not saved with this result")
    found = audit(result, groups=families, predictions=answers, **thresholds)
    if out is not None:
        about = None if responses is None else responses.item_table
        write_table(described(found.items, about), out)
    Console().print(found.shown(top))
    if shuffles and responses is not None:
        seeds = range(shuffles)
        control = shuffle_control(responses, result.model, seeds=seeds, **thresholds)
        click.echo(f"\n{control}")
    if out is not None:
        say_written(out)
    counted = {"any": len(found.items), "negative": found.n_negative}
    return int(fail_on is not None and counted[fail_on] > 0)


@cli.command("inspect")
@click.argument("path", type=PATH)
def inspect_command(*, path: Path) -> None:
    """Say what a file or folder holds, and the command that fits it."""
    click.echo(as_typed(str(overview(path))))


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
    repeats = how.pop("repeats")
    check_repeats(repeats)
    of_logs = [path for path in paths if holds_logs(path)]
    tables = [path for path in paths if path not in of_logs]
    matrices = []
    if of_logs:
        settings = without(how, FOR_TABLES) if tables else how
        one = repeats_of_part(of_logs[0], repeats) if tables else repeats
        matrices.append(read_rows(of_logs, options, repeats=one, **settings))
    for path in tables:
        settings = without(how, FOR_LOGS) if of_logs else how
        one = repeats_of_part(path, repeats)
        matrices.append(read_rows(path, options, repeats=one, **settings))
    merged = merge_responses(matrices, repeats=repeats)
    write_responses(merged, out, format=form)
    click.echo(merged)
    say_written(out, *side_tables(out).values())


@cli.command("demo")
@model_option
@click.option(
    "--out",
    type=FolderOut(*FIT_FILES, *COMPARISON_FILES),
    default="irtkit-demo",
    help=_FOLDER_HELP,
)
def demo_command(*, model: Any, out: Path) -> None:
    """Fit the carried example: 130 classifiers on 1,797 handwritten digits."""
    crowd = load_digits_crowd()
    with prepared(out):
        with silently():  # the summary says what it warns of
            result = fit(crowd.responses, model)
        comparison = compare_difficulties(result, folds=2)
        written = write_fit(result, out, source="irtkit.datasets.load_digits_crowd()")
        written += write_comparison(comparison, out)
    click.echo(f"{result}\n")
    found = audit(result, predictions=crowd.predictions)
    Console().print(found.shown(_LISTED, all_sentences=False))
    click.echo(f"\n{comparison}{written}")
    next_step(f"irtkit report {quote(str(out))} --out report.html, a page of the same")
