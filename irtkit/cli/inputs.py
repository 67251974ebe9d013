"""What options on reading and fitting stand for: responses, a result, tables of labels."""

from __future__ import annotations

import logging
from fnmatch import fnmatch
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from irtkit.checks import counted
from irtkit.cli.options import FITTING, METRICS, READING, names_of, options
from irtkit.cli.process import show_log
from irtkit.files import TO_WRITE
from irtkit.findings import Finding, Remedy, warn
from irtkit.io.tables import TABLE_ENDINGS, is_file, read_labelled, read_metrics
from irtkit.printed import printable

if TYPE_CHECKING:
    from types import SimpleNamespace

    from irtkit.responses import ResponseMatrix


_OF_READING = [str(option.name) for option in options(READING)]
_OF_FITTING = [str(option.name) for option in options(f"{FITTING}\n{METRICS}")]
_FITTED_ANEW = {*_OF_READING, *_OF_FITTING} - {"seed"}


def how_to_read(given: SimpleNamespace) -> dict[str, Any]:
    """Settings of `irtkit.read_responses` that the options give."""
    how = {}
    for name in _OF_READING:
        value = getattr(given, name)
        if name == "score_range":
            by_item = [pair for pair in value if isinstance(pair, tuple)]
            if len(value) > 1 and len(by_item) < len(value):
                raise ValueError("--score-range is for all items, or names an item each time")
            value = dict(by_item) or (value[0] if value else None)
        elif isinstance(value, tuple):
            value = names_of(value)
            if name in {"respondent", "item", "judge"} and len(value) == 1:
                value = value[0]
        if not (value is None or value is False or value == []):
            how[name] = value
    return how


def read_rows(path: Any, **how: Any) -> ResponseMatrix:
    """Read responses, unless a file to write would be read with them the next time."""
    from irtkit.calibration.result import RESULT_FILE
    from irtkit.fitting import responses_for
    from irtkit.io.layouts import is_table
    from irtkit.io.logs import holds_logs, stands_for_several

    for name, target in TO_WRITE.get() if isinstance(path, Path) else ():
        real, place = target.resolve(), path.resolve()
        within = stands_for_several(path) and fnmatch(str(real), str(place))
        if path.is_dir():
            within = real.is_relative_to(place) and is_table(real) and not holds_logs(path)
        if within or real == place / RESULT_FILE:
            raise ValueError(f"{name}: would be read with {path} the next time. Write elsewhere")
    return responses_for(path, **how)


def _read(given: SimpleNamespace) -> ResponseMatrix:
    """Read the responses, leave out some respondents and add the synthetic ones asked for."""
    from irtkit.data.limits import at_chance
    from irtkit.data.patterns import patterns_of
    from irtkit.irf import OF_LEVELS
    from irtkit.responses.guessing import near_chance
    from irtkit.responses.proposals import ask
    from irtkit.responses.tables import FOUND
    from irtkit.simulation import add_synthetic

    how = how_to_read(given)
    if given.model in OF_LEVELS:
        how["levels"] = True
    elif given.model is None and given.abilities in {None, "1"}:
        how.setdefault("levels", FOUND)
    responses = read_rows(given.responses, **how)
    if given.drop:
        names = {*names_of(given.drop)}
        if "at-chance" in names:
            guessers = at_chance(
                patterns_of(responses, synthetic_is_real=False), responses.item_table
            )
            names.remove("at-chance")
            if guessers is None:  # say why
                values = {"least": 2}
                remedies: list[Remedy] = []
                if responses.item_table is None or "n_options" not in responses.item_table:
                    values = {"assumed": 2}
                    for seeming in near_chance(responses):
                        remedies += seeming.remedies
                    remedies = remedies or [ask("options", options=...)]
                warn(Finding("none-at-chance", "warning", values, tuple(remedies)))
            names.update(responses.respondents[k] for k in (guessers.rows if guessers else ()))
        responses = responses.drop(names)
        logging.getLogger("irtkit").info("%d systems left out by --drop", len(names))
    if not given.synthetic:
        if given.labels is not None:
            raise ValueError("--labels is for --synthetic class-prior, which was not asked for")
        return responses
    kinds: Any = tuple(names_of(given.synthetic))
    classes = None if given.labels is None else read_labelled(given.labels, "--labels").iloc[:, 0]
    return add_synthetic(responses, kinds, labels=classes, draws=given.draws, seed=given.seed)


def fitted(
    given: SimpleNamespace,
    *,
    standard_errors: bool = True,
    chance: float | None = None,
) -> Any:
    """Fit as the options say. The printed result repeats the warnings of the fit."""
    from irtkit.calibration.priors import WeakPrior
    from irtkit.difficulty.quality import quality_of
    from irtkit.fitting import silently
    from irtkit.results import fit

    responses, settings = _read(given), vars(given)
    prior: Any = None if given.prior == "none" else given.prior
    if chance is not None:
        if prior != "weak" or given.model != "3PL":
            raise ValueError("--chance is for --model 3PL with --prior weak")
        prior = WeakPrior(chance=chance)
    method: Any = given.method
    metrics, higher = settings.get("metrics") or (), settings.get("higher_is_better") or ()
    if higher and not metrics:
        raise ValueError("--higher-is-better is for --metrics, which was not given")
    quality = None
    if metrics:
        one_file = len(metrics) == 1 and is_file(metrics[0])
        better = [name for name in names_of(higher) if name not in {"", "none"}]
        named = read_metrics(metrics[0]) if one_file else names_of(metrics)
        quality = quality_of(responses, named, better if higher else None)
    abilities: Any = given.abilities or 1
    if isinstance(abilities, str) and abilities.isascii() and abilities.isdigit():
        abilities = int(abilities)
    show_log()
    with silently():
        result = fit(
            responses,
            given.model,
            abilities=abilities,
            method=method,
            prior=prior,
            seed=given.seed,
            fixed=given.fixed,
            quadrature=given.quadrature or "adaptive",
            standard_errors=standard_errors or given.method == "vi",  # which has them anyway
        )
    return result if quality is None else result.with_quality_standard(quality)


def result_of(given: SimpleNamespace, *, standard_errors: bool = True) -> Any:
    """Return the result that the responses stand for: saved before, or fitted now."""
    from irtkit.calibration.result import is_saved
    from irtkit.results import load

    if not is_saved(given.responses):
        return fitted(given, standard_errors=standard_errors)
    context = click.get_current_context()
    unused = [
        param.opts[0]
        for param in context.command.params
        if param.name in _FITTED_ANEW
        and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]
    result = load(given.responses)
    if unused:
        source = None if result.responses is None else result.responses.source
        files = "" if source is None else f": {', '.join(map(quote, source.files))}"
        raise ValueError(
            f"{', '.join(unused)}: {given.responses} holds a result, which is neither read nor "
            f"fitted again. Give the responses instead{files}"
        )
    n, n_items = counted(result.n_real, "system"), counted(len(result.item_labels), "item")
    where = printable(str(given.responses))
    logging.getLogger("irtkit").info("%s × %s, from the fit in %s", n, n_items, where)
    show_log()
    return result


def column_or_name(given: SimpleNamespace, name: str) -> Any:
    """Read the table of labels and one more column that an option names, unless it is a word."""
    value, option = getattr(given, name), f"--{name}"
    if value is None or not (is_file(value) or value.endswith(TABLE_ENDINGS)):
        return value
    table = read_labelled(Path(value), option)
    if (n := table.shape[1] + 1) != 2:
        raise ValueError(f"{option} {value}: needs two columns, of labels and {name}, and has {n}")
    return table.iloc[:, 0]
