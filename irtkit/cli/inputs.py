"""Options of the commands that read responses and fit them, and what they stand for."""

from __future__ import annotations

import logging
import re
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from irtkit.calibration import fit, load
from irtkit.calibration.fitting import silently
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.saved import saved_in
from irtkit.calibration.variational.options import Variational
from irtkit.cli.paths import NAME, PATH, refuse_outputs_within
from irtkit.data.patterns import patterns_of
from irtkit.files import ordinary_file
from irtkit.io import read_responses
from irtkit.io.metric_files import is_file, read_metrics
from irtkit.io.text import naming, records
from irtkit.irf import MODELS
from irtkit.metrics import quality_of
from irtkit.printed import printable
from irtkit.signs import at_chance
from irtkit.simulation import add_synthetic
from irtkit.suspects.families import SIMILAR

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.metrics import QualityStandard
    from irtkit.responses import ResponseMatrix


model_option = click.option(
    "--model", type=click.Choice(MODELS, case_sensitive=False), default="2PL"
)

reading = [
    click.option("--format", help="Force the format: wide, long, parquet, py-irt or a harness."),
    click.option("--respondent", help="Table: the column of respondents."),
    click.option("--item", help="Long table: the column of items."),
    click.option("--response", help="Long table: the column of responses."),
    click.option("--threshold", type=float, help="Count graded scores at or above this as right."),
    click.option("--right", metavar="WORDS", help="Words that count as right: correct,C,pass."),
    click.option(
        "--wrong", metavar="WORDS", help="Words that count as wrong; without it all others are."
    ),
    click.option("--ignore", metavar="COLUMNS", help="Table: columns to leave out."),
    click.option("--keep", metavar="COLUMNS", help="Wide table: columns that are items."),
    click.option("--transpose", is_flag=True, help="Table: rows are items, columns respondents."),
    click.option(
        "--repeats",
        metavar="error|count|first|last|mean>=SHARE",
        default="error",
        help="Several rows (epochs, trials, runs) of one respondent and item: an error (of runs "
        "the newest), trials to count, the first, the last, or right if this share of them is.",
    ),
    click.option(
        "--metric",
        metavar="NAMES",
        help="Logs: the metric that is right or wrong; of several, the first that a task has.",
    ),
    click.option(
        "--filter", metavar="NAMES", help="Logs: the filter of answers that the metric is by."
    ),
    click.option(
        "--errors",
        type=click.Choice(["missing"]),
        help="Logs: leave out answers that ended in an error where these count as wrong "
        "(SWE-bench).",
    ),
]
"""Options that say how responses are read."""
fitting = [
    model_option,
    click.option(
        "--method",
        type=click.Choice(["em", "vi"]),
        default="em",
        help="Most likely items (EM), or a variational posterior of items and abilities.",
    ),
    click.option(
        "--prior",
        type=click.Choice(["weak", "empirical", "none"]),
        default="weak",
        help="Prior of the items: weak, learned from them, or none (maximum likelihood).",
    ),
    click.option(
        "--quadrature",
        metavar="NODES,LIMIT",
        help="A fixed grid, 61,6 as in R's mirt.  [default: adaptive]",
    ),
    click.option(
        "--fixed",
        type=PATH,
        help="Items on an earlier scale, which stay: the folder of an earlier fit, a saved "
        "result or a table of items. New items and systems land on that scale.",
    ),
    click.option(
        "--drop",
        metavar="NAMES",
        help="Systems to leave out; at-chance: those that score no better than guessing.",
    ),
    click.option(
        "--synthetic",
        metavar="KINDS",
        help="Synthetic respondents to add: always-right,always-wrong,class-prior,coin.",
    ),
    click.option(
        "--labels",
        type=PATH,
        help="For class-prior: a CSV with the item and its true class in two columns.",
    ),
    click.option("--draws", default=1, help="Rows per random kind."),
    click.option("--seed", default=0),
]
"""Options that say how they are fitted."""
metrics = [
    click.option(
        "--metrics",
        type=NAME,
        metavar="FILE|NAMES",
        help="Score the items by further metrics: of a long or wide table, or those named that "
        "the logs hold (irtkit inspect lists them).",
    ),
    click.option(
        "--higher-is-better",
        metavar="NAMES",
        help="With --metrics: those that are better when higher, or none; all others are "
        "better when lower.",
    ),
]
"""Options that score the items by further metrics."""
FOR_TABLES = ("respondent", "item", "response", "right", "wrong", "ignore", "keep")
FOR_LOGS = ("metric", "filter", "errors")
"""Settings of `irtkit.read_responses` that the other kind of source has no place for."""
_FOR_RESULTS = ("responses", "seed")
"""Options that a saved result has a use for."""


def _with_options(command: Callable[..., Any], options: list[Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def _names_of(options: list[Any]) -> list[str]:
    """Names of options as Python has them."""

    def command() -> None: ...

    return [str(option.name) for option in click.command()(_with_options(command, options)).params]


_WORD = re.compile(r"'([^']*)'" + r'|"([^"]*)"')
_VALUE = r"'[^']*'" + r'|"[^"]*"' + r"|\[[^\]]*\]|\d+(?:\.\d+)?|"
_ARGUMENT = re.compile(rf"(?<![^\s(])({'|'.join(_names_of([*reading, *metrics]))})=({_VALUE})")


def reading_and_fitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every command on a file of responses takes."""
    responses = click.argument("responses", type=PATH)
    return _with_options(command, [responses, *fitting, *reading])


def with_metrics(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that score the items by further metrics."""
    return _with_options(command, metrics)


def reading_only(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how responses are read, alone."""
    return _with_options(command, reading)


def read(options: dict[str, Any]) -> ResponseMatrix:
    """Read the responses, leave out some respondents and add the synthetic ones asked for."""
    responses = read_rows(options["responses"], options, **how_to_read(options))
    if options["drop"]:
        names = {*options["drop"].split(",")}
        if "at-chance" in names:
            found = at_chance(patterns_of(responses, synthetic_is_real=False), responses.item_table)
            names.remove("at-chance")
            names.update(responses.respondents[k] for k in (found.rows if found else ()))
        responses = responses.drop(names)
        logging.getLogger("irtkit").info("%d systems left out by --drop", len(names))
    labels = options["labels"]
    if not options["synthetic"]:
        if labels is not None:
            raise ValueError("--labels is for --synthetic class-prior, which was not asked for")
        return responses
    kinds: Any = tuple(kind.strip() for kind in options["synthetic"].split(","))
    classes = None if labels is None else read_labelled(labels, "--labels").iloc[:, 0]
    draws, seed = options["draws"], options["seed"]
    return add_synthetic(responses, kinds, labels=classes, draws=draws, seed=seed)


def read_rows(path: Any, options: dict[str, Any], **how: Any) -> ResponseMatrix:
    """Read responses whose rows are respondents, once rows and columns are as the options say."""
    refuse_outputs_within(path)
    if not options["transpose"]:
        return read_responses(path, **how)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "are rows items here")
        return read_responses(path, **how).T


def show_log() -> None:
    """Show what was read, which is held back until all that was given is known to be good."""
    for handler in logging.getLogger("irtkit").handlers:
        handler.flush()


def how_to_read(options: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of `irtkit.read_responses` out of the options."""
    several = ("metric", "filter", "right", "wrong", "ignore", "keep")
    one = set(_names_of(reading)).difference(several, ["transpose"])
    given = {name: options[name] for name in one}
    names = {name: options[name].split(",") for name in several if options[name]}
    return given | names


def without(settings: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Settings without some of them."""
    return {name: value for name, value in settings.items() if name not in names}


def as_typed(message: str) -> str:
    """Return a message whose arguments of Python stand as options: ``metric='acc'``, --metric acc.

    Examples
    --------
    >>> from irtkit.cli.inputs import as_typed
    >>> as_typed("pass right='yes', wrong=['no', 'not sure'], or threshold= for scores")
    "pass --right yes --wrong 'no,not sure', or --threshold for scores"
    """

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        words = [one or other for one, other in _WORD.findall(value)] or [value]
        typed = f" {shlex.quote(','.join(words))}" if value else ""
        return f"--{name.replace('_', '-')}{typed}"

    message = message.replace("irtkit.read_responses(…).T", "--transpose")
    return _ARGUMENT.sub(option, message).replace(", --", " --")


def read_labelled(path: Path, option: str) -> pd.DataFrame:
    """Read a table as text, its first column the index; empty cells are None."""
    import pandas as pd

    try:
        ordinary_file(path)
    except OSError as error:
        raise type(error)(f"{option} {error}") from error
    with naming(path, option):
        (_, *columns), rows = records(path)
        if not columns:
            raise ValueError("needs a column of labels and at least one more")
        cells = {}
        for line, (label, *values) in rows:
            if not label.strip():
                raise ValueError(f"line {line} has no label")
            if label in cells:
                raise ValueError(f"line {line}: {label!r} occurs twice")
            cells[label] = [value or None for value in values]
        return pd.DataFrame.from_dict(cells, "index", dtype=object, columns=columns)


def read_column(path: Path, option: str, of: str) -> pd.Series[str]:
    """Read a table of two columns, of which the first is the index; ``of`` says what they hold."""
    table = read_labelled(path, option)
    if table.shape[1] != 1:
        raise ValueError(f"{option} {path}: needs two columns, {of}, and has {table.shape[1] + 1}")
    return table.iloc[:, 0]


def read_families(groups: str | None) -> pd.Series[str] | str | None:
    """What --groups stands for."""
    if groups is None or groups == SIMILAR:
        return groups
    return read_column(Path(groups), "--groups", "the respondent and its family")


def result_of(options: dict[str, Any], *, standard_errors: bool) -> FitResult:
    """Return the result that the responses stand for: a saved one, or one that is fitted."""
    path = options["responses"]
    saved = saved_in(path)
    if saved.suffix != ".npz" or not saved.is_file():
        return fitted(read(options), options, standard_errors=standard_errors)
    source = click.get_current_context().get_parameter_source
    typed = [name for name in options if source(name) is ParameterSource.COMMANDLINE]
    if unused := [f"--{name.replace('_', '-')}" for name in typed if name not in _FOR_RESULTS]:
        raise ValueError(
            f"{', '.join(unused)}: {path} holds a result, which is neither read nor fitted anew; "
            "give the responses instead"
        )
    result = load(saved)
    size = f"{result.n_real:,} respondents × {len(result.item_labels):,} items"
    logging.getLogger("irtkit").info("%s, from the fit in %s", size, printable(str(path)))
    show_log()
    return result


def fitted(
    responses: ResponseMatrix, options: dict[str, Any], *, standard_errors: bool
) -> FitResult:
    """Fit as the options say, silently: what is printed says what the fit warns of."""
    method, quadrature = _method(options), _quadrature(options["quadrature"])
    quality = _quality(responses, options)
    show_log()
    with silently():
        return fit(
            responses,
            options["model"],
            method=method,
            prior=_prior(options),
            seed=options["seed"],
            fixed=options["fixed"],
            quadrature=quadrature,
            standard_errors=standard_errors or options["method"] == "vi",  # they cost nothing there
            metrics=quality,
        )


def _quality(responses: ResponseMatrix, options: dict[str, Any]) -> QualityStandard | None:
    """Score of the items by a file of metrics, or by names with commas between."""
    metrics, higher = options.get("metrics"), options.get("higher_is_better")
    if metrics is not None:
        metrics = read_metrics(metrics) if is_file(metrics) else metrics.split(",")
    if higher is not None:
        higher = [] if higher in {"", "none"} else higher.split(",")
    return quality_of(responses, metrics, higher)


def _prior(options: dict[str, Any]) -> Any:
    """The prior that was asked for by name, or the weak one around a chance level."""
    name = options["prior"]
    if options.get("chance") is None:
        return None if name == "none" else name
    if name != "weak" or options["model"] != "3PL":
        raise ValueError("--chance is for --model 3PL with --prior weak")
    return WeakPrior(chance=options["chance"])


def _method(options: dict[str, Any]) -> Any:
    if options["method"] == "vi":
        return Variational(checkpoint=options.get("checkpoint"))
    if options.get("checkpoint") is not None:
        raise ValueError(f"--checkpoint is for --method vi; the method is {options['method']}")
    return options["method"]


def _quadrature(text: str | None) -> Any:
    if text is None or text == "adaptive":
        return "adaptive"
    try:
        nodes, limit = text.split(",")
        return int(nodes), float(limit)
    except ValueError as error:
        raise ValueError(f"--quadrature must be NODES,LIMIT such as 61,6; got {text!r}") from error
