"""Options that say how responses are fitted, and the result that they stand for."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from irtkit import storage
from irtkit.calibration import fit, load
from irtkit.calibration.fitting import Variational, silently
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.result import FORMAT, saved_in
from irtkit.checks import counted
from irtkit.cli.inputs import how_to_read, names_of, read_labelled, read_rows, reading_only
from irtkit.cli.paths import NAME, PATH
from irtkit.cli.process import show_log
from irtkit.data.limits import at_chance
from irtkit.data.patterns import patterns_of
from irtkit.difficulty.quality import quality_of
from irtkit.io.tables import is_file, read_metrics
from irtkit.irf import MODELS
from irtkit.printed import printable
from irtkit.simulation import add_synthetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.calibration import FitResult
    from irtkit.difficulty import QualityStandard
    from irtkit.responses import ResponseMatrix

model_option = click.option(
    "--model", type=click.Choice(MODELS, case_sensitive=False), default="2PL"
)
_FITTING: list[Any] = [
    click.argument("responses", type=PATH),
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
        multiple=True,
        help="Systems to leave out. at-chance: systems that score no better than guessing.",
    ),
    click.option(
        "--synthetic",
        metavar="KINDS",
        multiple=True,
        help="Synthetic respondents to add: always-right,always-wrong,class-prior,coin.",
    ),
    click.option(
        "--labels",
        type=PATH,
        help="For class-prior: a CSV with the item and its true class in two columns.",
    ),
    click.option("--draws", default=1, help="Rows per random kind."),
    click.option("--seed", default=0),
    reading_only,
]
_METRICS: list[Any] = [
    click.option(
        "--metrics",
        type=NAME,
        metavar="FILE|NAMES",
        multiple=True,
        help="Score the items by further metrics: of a long or wide table, or those named that "
        "the logs hold (irtkit inspect lists them).",
    ),
    click.option(
        "--higher-is-better",
        metavar="NAMES",
        multiple=True,
        help="With --metrics: metrics that are better when higher, or none. All others are "
        "better when lower.",
    ),
]
_FOR_RESULTS = ("responses", "seed")  # Options that a saved result has a use for.


def reading_and_fitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that fits responses."""
    for option in reversed(_FITTING):
        command = option(command)
    return command


def with_metrics(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that score the items by further metrics."""
    for option in reversed(_METRICS):
        command = option(command)
    return command


def read(options: dict[str, Any]) -> ResponseMatrix:
    """Read the responses, leave out some respondents and add the synthetic ones asked for."""
    responses = read_rows(options["responses"], **how_to_read(options))
    if options["drop"]:
        names = {*names_of(options["drop"])}
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
    kinds: Any = tuple(names_of(options["synthetic"]))
    classes = None if labels is None else read_labelled(labels, "--labels").iloc[:, 0]
    draws, seed = options["draws"], options["seed"]
    return add_synthetic(responses, kinds, labels=classes, draws=draws, seed=seed)


def result_of(options: dict[str, Any], *, standard_errors: bool) -> FitResult:
    """Return the result that the responses stand for: saved before, or fitted now."""
    path = options["responses"]
    saved = saved_in(path)
    if not saved.is_file() or storage.name_of(saved) != FORMAT.name:
        return fitted(read(options), options, standard_errors=standard_errors)
    source = click.get_current_context().get_parameter_source
    typed = [name for name in options if source(name) is ParameterSource.COMMANDLINE]
    if unused := [f"--{name.replace('_', '-')}" for name in typed if name not in _FOR_RESULTS]:
        raise ValueError(
            f"{', '.join(unused)}: {path} holds a result, which is neither read nor fitted again. "
            "Give the responses instead"
        )
    result = load(saved)
    n, n_items = counted(result.n_real, "respondent"), counted(len(result.item_labels), "item")
    where = printable(str(path))
    logging.getLogger("irtkit").info("%s × %s, from the fit in %s", n, n_items, where)
    show_log()
    return result


def fitted(
    responses: ResponseMatrix, options: dict[str, Any], *, standard_errors: bool
) -> FitResult:
    """Fit as the options say. The printed result repeats the warnings of the fit."""
    prior, method, chance = options["prior"], options["method"], options.get("chance")
    if chance is not None:
        if prior != "weak" or options["model"] != "3PL":
            raise ValueError("--chance is for --model 3PL with --prior weak")
        prior = WeakPrior(chance=chance)
    if method == "vi":
        method = Variational(checkpoint=options.get("checkpoint"))
    elif options.get("checkpoint") is not None:
        raise ValueError(f"--checkpoint is for --method vi, and the method is {method}")
    quadrature, quality = _quadrature(options["quadrature"]), _quality(responses, options)
    show_log()
    with silently():
        result = fit(
            responses,
            options["model"],
            method=method,
            prior=None if prior == "none" else prior,
            seed=options["seed"],
            fixed=options["fixed"],
            quadrature=quadrature,
            standard_errors=standard_errors or options["method"] == "vi",  # which has them anyway
        )
    return result if quality is None else result.with_quality_standard(quality)


def _quality(responses: ResponseMatrix, options: dict[str, Any]) -> QualityStandard | None:
    """Score of the items by a file of metrics, or by their names."""
    given: tuple[str, ...] = options.get("metrics") or ()
    higher: tuple[str, ...] = options.get("higher_is_better") or ()
    if higher and not given:
        raise ValueError("--higher-is-better is for --metrics, which was not given")
    names: Any = names_of(given) or None
    if len(given) == 1 and is_file(given[0]):
        names = read_metrics(given[0])
    if names is None:
        return None
    better = [name for name in names_of(higher) if name not in {"", "none"}]
    return quality_of(responses, names, better if higher else None)


def _quadrature(text: str | None) -> Any:
    if text is None or text == "adaptive":
        return "adaptive"
    try:
        nodes, limit = text.split(",")
        return int(nodes), float(limit)
    except ValueError as error:
        raise ValueError(
            f"--quadrature must be NODES,LIMIT, for example 61,6, got {text!r}"
        ) from error
