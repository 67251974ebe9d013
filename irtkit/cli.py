"""The command line: ``irtkit fit``, ``irtkit compare``, ``irtkit demo``.

Results go to standard output and files, progress, warnings and errors to standard error. Bad input
ends with exit code 2 and one line that says what is wrong.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from irtkit.calibration import fit
from irtkit.datasets import load_digits_crowd
from irtkit.difficulty import compare_difficulties
from irtkit.files import replacing
from irtkit.io import read_responses, write_table
from irtkit.irf import MODELS
from irtkit.responses import REPEATS
from irtkit.simulation import add_synthetic

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.responses import ResponseMatrix

_LISTED = 10
_FIT_FILES = ("items.csv", "respondents.csv", "summary.json")
_COMPARISON_FILES = ("difficulties.csv", "difficulty_pairs.csv")
_VERSIONS_OF = ("irtkit", "numpy", "scipy", "jax", "pandas")


def main() -> None:
    """Run the command line; the only exit codes are 0, 2 (bad input) and 130 (interrupted)."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # fewer names, same use
        try:
            cli.main(prog_name="irtkit", standalone_mode=False)
        except click.exceptions.Exit as request:
            sys.exit(request.exit_code)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
        except BrokenPipeError:  # the reader of our output has left; the files are written
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (click.Abort, KeyboardInterrupt):
            click.echo("irtkit: interrupted", err=True)
            sys.exit(130)
        except click.ClickException as error:
            _fail(error.format_message())
        except (ValueError, TypeError, OSError, ImportError, EOFError) as error:
            _fail(str(error))


def _fail(message: str) -> NoReturn:
    click.echo(f"irtkit: error: {' '.join(message.split())}", err=True)
    sys.exit(2)


def _show_warning(message: Warning | str, *_: Any) -> None:
    click.echo(f"irtkit: warning: {message}", err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="irtkit")
def cli() -> None:
    """Item response theory for evaluations of AI systems.

    RESPONSES is a file of right and wrong answers: a wide table (a row per respondent, a column
    per item, cells 1, 0 or empty), a long table (respondent, item, response), Parquet, or py-irt
    JSON lines; gzip is fine, and the format is recognised from the content.
    """


def _reading_and_fitting(command: Callable[..., None]) -> Callable[..., None]:
    """Options that every command on a file of responses takes."""
    options = [
        click.argument("responses", type=click.Path(path_type=Path)),
        click.option("--model", type=click.Choice(MODELS), default="2PL", show_default=True),
        click.option("--method", type=click.Choice(["em"]), default="em", show_default=True),
        click.option(
            "--prior",
            type=click.Choice(["weak", "empirical", "none"]),
            default="weak",
            show_default=True,
            help="Prior of the items: weak, learned from them, or none (maximum likelihood).",
        ),
        click.option(
            "--quadrature",
            metavar="NODES,LIMIT",
            help="A fixed grid, 61,6 as in R's mirt.  [default: adaptive]",
        ),
        click.option(
            "--synthetic",
            metavar="KINDS",
            help="Synthetic respondents to add: always-right,always-wrong,class-prior,coin.",
        ),
        click.option(
            "--labels",
            type=click.Path(path_type=Path),
            help="For class-prior: a CSV with the item and its true class in two columns.",
        ),
        click.option("--draws", default=1, show_default=True, help="Rows per random kind."),
        click.option("--seed", default=0, show_default=True),
        click.option("--format", "form", help="Force the format: wide, long, parquet or py-irt."),
        click.option("--respondent", help="Long table: the column of respondents."),
        click.option("--item", help="Long table: the column of items."),
        click.option("--response", help="Long table: the column of responses."),
        click.option(
            "--threshold", type=float, help="Count graded scores at or above this as right."
        ),
        click.option(
            "--repeats",
            type=click.Choice(REPEATS),
            default="error",
            show_default=True,
            help="Several rows of one respondent and item: an error, or trials to count.",
        ),
        click.option(
            "--out", type=click.Path(path_type=Path), help="Folder to write the tables to."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command("fit")
@_reading_and_fitting
@click.option("--standard-errors", is_flag=True, help="Compute standard errors (slow if large).")
def fit_command(*, out: Path | None, standard_errors: bool, **options: Any) -> None:
    """Fit a model: difficulty and discrimination of items, ability of respondents."""
    responses = _read(options)
    _prepare(out)
    result = _fit(responses, options, standard_errors=standard_errors)
    written = _write_fit(result, out, source=str(options["responses"]))
    click.echo(f"{result}{written}")


@cli.command("compare")
@_reading_and_fitting
def compare_command(*, out: Path | None, **options: Any) -> None:
    """Set average error beside IRT difficulty and say whether they order the items alike."""
    responses = _read(options)
    _prepare(out)
    comparison = compare_difficulties(
        _fit(responses, options, standard_errors=False), seed=options["seed"]
    )
    written = _write_comparison(comparison, out)
    click.echo(f"{comparison}{written}")


@cli.command("demo")
@click.option("--model", type=click.Choice(MODELS), default="2PL", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("irtkit-demo"),
    show_default=True,
    help="Folder to write the tables to.",
)
def demo_command(*, model: Any, out: Path) -> None:
    """Fit the carried example: 130 classifiers on 1,797 handwritten digits."""
    crowd = load_digits_crowd()
    _prepare(out)
    result = fit(crowd.responses, model)
    comparison = compare_difficulties(result)
    written = _write_fit(result, out, source="irtkit.datasets.load_digits_crowd()")
    written += _write_comparison(comparison, out)
    click.echo(result)
    negative = result.items[result.items["discrimination"] < 0].sort_values("discrimination")
    columns = ["discrimination", "difficulty", "average_error"]
    shown = negative.head(_LISTED)[columns].assign(label=crowd.labels, crowd_says=_vote(crowd))
    click.echo(
        f"\n{len(negative)} digits that weak systems read better than strong ones "
        "(negative discrimination):"
    )
    click.echo(shown.to_string(float_format="%.3f", index_names=False))
    click.echo(f"\n{comparison}{written}")


def _vote(crowd: Any) -> pd.Series[int]:
    """The class most systems chose, by item; the smallest of several."""
    votes: pd.Series[int] = crowd.predictions.mode().iloc[0].astype(int)
    return votes


def _read(options: dict[str, Any]) -> ResponseMatrix:
    """Read the responses and add the synthetic respondents asked for."""
    responses = read_responses(
        options["responses"],
        format=options["form"],
        respondent=options["respondent"],
        item=options["item"],
        response=options["response"],
        threshold=options["threshold"],
        repeats=options["repeats"],
    )
    if not options["synthetic"]:
        if options["labels"] is not None:
            raise ValueError("--labels is for --synthetic class-prior, which was not asked for")
        return responses
    kinds: Any = tuple(kind.strip() for kind in options["synthetic"].split(","))
    labels = None if options["labels"] is None else _read_labels(options["labels"])
    return add_synthetic(
        responses, kinds, labels=labels, draws=options["draws"], seed=options["seed"]
    )


def _read_labels(path: Path) -> dict[Hashable, Hashable]:
    """True class by item, from a CSV whose first two columns hold them."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"--labels {path.name}: cannot be read as a CSV ({error})") from error
    if table.shape[1] < 2:
        raise ValueError(f"{path.name}: labels need two columns, the item and its true class")
    items, classes = table.iloc[:, 0], table.iloc[:, 1]
    repeated = items[items.duplicated()]
    if len(repeated):
        raise ValueError(f"{path.name}: item {repeated.iloc[0]!r} has two labels")
    return dict(zip(items, classes, strict=True))


def _fit(responses: ResponseMatrix, options: dict[str, Any], *, standard_errors: bool) -> FitResult:
    return fit(
        responses,
        options["model"],
        method=options["method"],
        prior=None if options["prior"] == "none" else options["prior"],
        seed=options["seed"],
        quadrature=_quadrature(options["quadrature"]),
        standard_errors=standard_errors,
    )


def _quadrature(text: str | None) -> Any:
    if text is None or text == "adaptive":
        return "adaptive"
    try:
        nodes, limit = text.split(",")
        return int(nodes), float(limit)
    except ValueError as error:
        raise ValueError(f"--quadrature must be NODES,LIMIT such as 61,6; got {text!r}") from error


def _prepare(out: Path | None) -> None:
    """Make the output folder before the long work, so that a bad one is known at once."""
    if out is not None:
        if out.exists() and not out.is_dir():
            raise NotADirectoryError(f"--out {out}: exists and is not a folder")
        out.mkdir(parents=True, exist_ok=True)
        for name in (*_FIT_FILES, *_COMPARISON_FILES):
            if (out / name).is_dir():
                raise IsADirectoryError(f"--out {out}: {name} in it is a folder")


def _write_fit(result: FitResult, out: Path | None, *, source: str) -> str:
    """Write the tables of a fit and return the line that says so."""
    if out is None:
        return ""
    items, respondents, summary = (out / name for name in _FIT_FILES)
    write_table(result.items, items)
    write_table(result.respondents, respondents)
    with replacing(summary) as temporary:
        text = json.dumps(_summary(result, source), indent=2, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    return f"\n\nwrote {', '.join(_FIT_FILES)} to {out}"


def _summary(result: FitResult, source: str) -> dict[str, Any]:
    """What summary.json holds."""
    items = result.items
    return {
        "source": source,
        "model": result.model,
        "method": result.method,
        "settings": result.settings,
        "converged": result.converged,
        "n_iterations": result.n_iterations,
        "log_likelihood": result.log_likelihood,
        "aic": result.aic,
        "bic": result.bic,
        "n_parameters": result.n_parameters,
        "latent_sd": result.latent_sd,
        "quadrature": vars(result.quadrature),
        "counts": {
            "respondents": result.n_real,
            "synthetic_respondents": int(result.synthetic.sum()),
            "items": len(items),
            "responses": int(items["n_responses"].sum()),
            "negative_discrimination": int((items["discrimination"] < 0).sum()),
            "status": {str(k): int(n) for k, n in items["status"].value_counts().items()},
        },
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in _VERSIONS_OF},
        },
    }


def _write_comparison(comparison: DifficultyComparison, out: Path | None) -> str:
    """Write the tables of a comparison and return the line that says so."""
    if out is None:
        return ""
    table, pairs = (out / name for name in _COMPARISON_FILES)
    write_table(comparison.table, table)
    write_table(comparison.pairs, pairs)
    return f"\n\nwrote {', '.join(_COMPARISON_FILES)} to {out}"
