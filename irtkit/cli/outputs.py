"""Files that the commands write, and tables as they print them."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click

from irtkit.checks import counted
from irtkit.cli.options import COMPARISON_FILES, CORRELATIONS_FILE, FIT_FILES, JUDGE_FILES
from irtkit.cli.process import wrapped
from irtkit.files import check_writable, folder_for, remove, replacing_text, together
from irtkit.printed import Shown, in_lines, percent, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import SimpleNamespace

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison
    from irtkit.findings import Finding
    from irtkit.judges import Judges

_OUTCOMES = (
    *("converged", "n_iterations", "log_likelihood", "elbo", "aic", "bic"),
    *("n_parameters", "latent_mean", "latent_mean_se", "latent_sd", "latent_sd_se"),
)
_VERSIONS_OF = ("irtkit", "numpy", "scipy", "jax", "pandas")


def write(table: pd.DataFrame, out: Path | None) -> None:
    """Write a table and print where it is."""
    from irtkit.io.tables import write_table

    if out is not None:
        write_table(table, out)
        say_written(out)


def say_written(*files: Path, then: str = "") -> None:
    """Print which files were written, and how to go on from there."""
    line = f"wrote {', '.join(map(str, files))}{then}"
    click.echo(f"\n{wrapped(printable(line))}")


def next_step(command: str) -> None:
    """Print which command goes on from here, in one line, or a sentence that says it."""
    line = f"next: {command}"
    is_typed = command.startswith("irtkit ")
    click.echo(f"\n{printable(line) if is_typed else in_lines([line])}")


def command_for(given: SimpleNamespace, result: FitResult, items: Iterable[str]) -> str:
    """The command line of the harness that --for names, in one line, empty without --for."""
    from irtkit.io.asking import command_line

    harness = getattr(given, "for")
    if harness is None:
        return ""
    chosen = list(items)
    line = command_line(harness, result.saved_responses, chosen)
    n_others = len(result.item_labels) - len(chosen)
    if n_others == 0:
        log = logging.getLogger("irtkit")
        log.info("no item is left out. --removed LABELS|called leaves out some")
    return f"\nTo ask these {counted(len(chosen), 'item')} ({n_others} left out), type:\n{line}\n"


@contextmanager
def prepared(out: Path | None) -> Iterator[None]:
    """Make the output folder before the long work, so that a bad one is known at once.

    If the work fails, a folder that was made is gone again. Files appear when it is done, all or
    none.
    """
    if out is None:
        yield
        return
    if os.path.lexists(out) and not out.is_dir():
        raise NotADirectoryError(f"--out {out}: exists and is not a folder")
    with folder_for(out):
        for name in (*FIT_FILES, CORRELATIONS_FILE, *COMPARISON_FILES, *JUDGE_FILES):
            check_writable(out / name, "--out")
        with together():
            yield


def fit_files(result: FitResult, source: str) -> dict[str, Any]:
    """What ``irtkit fit --out`` writes, by file."""
    responses = result.responses
    item_table = None if responses is None else responses.item_table
    respondent_table = None if responses is None else responses.respondent_table
    summary = json.dumps(_summary(result, source), indent=2, ensure_ascii=False, allow_nan=False)
    contents = (
        described(result.items, item_table),
        described(result.respondents, respondent_table),
        f"{summary}\n",
        result.save,
    )
    correlations = result.ability_correlations if result.n_abilities > 1 else None
    return dict(zip(FIT_FILES, contents, strict=True)) | {CORRELATIONS_FILE: correlations}


def write_files(out: Path | None, contents_of: Callable[..., dict[str, Any]], *of: Any) -> str:
    """Write files in a folder and return the line that says so.

    ``contents_of`` gives the contents by file. Each is a table, a text or a function of a path.
    None removes the file of earlier work.
    """
    from irtkit.io.tables import write_table

    if out is None:
        return ""
    contents = contents_of(*of)
    for name, content in contents.items():
        if content is None:
            remove(out / name)
        elif isinstance(content, str):
            with replacing_text(out / name) as text:
                text.write(content)
        elif callable(content):
            content(out / name)
        else:
            write_table(content, out / name)
    written = [name for name, content in contents.items() if content is not None]
    line = printable(f"wrote {', '.join(written)} to {out}")
    return f"\n\n{wrapped(line)}"


def described(table: pd.DataFrame, metadata: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table with what is known of its items or respondents in further columns."""
    if metadata is None:
        return table
    same_texts = table.columns.intersection(["text", "target"])
    metadata = metadata.drop(columns=same_texts)
    taken = {name: f"metadata.{name}" for name in metadata.columns if name in table.columns}
    return table.join(metadata.rename(columns=taken))


def _summary(result: FitResult, source: str) -> dict[str, Any]:
    """What summary.json holds."""
    from irtkit.data.slopes import called_negative

    items, duplicates = result.items, result.near_duplicates
    slope = items["discrimination"].to_numpy()
    negative = called_negative(items["p_negative"], slope=slope)
    read_from = None if result.responses is None else result.responses.source
    return {
        "source": source if read_from is None else read_from.to_dict(),
        "model": result.model,
        "method": result.method,
        "settings": result.settings.to_dict(),
        **{name: getattr(result, name) for name in _OUTCOMES},
        "quadrature": None if result.quadrature is None else vars(result.quadrature),
        "findings": [finding.to_dict() for finding in result.findings],
        "counts": {
            "respondents": result.n_real,
            "independent_respondents": round(duplicates.n_eff),
            "synthetic_respondents": int(result.synthetic.sum()),
            "items": len(items),
            "responses": int(items["n_responses"].sum()),
            "negative_discrimination": int(negative.sum()),
            "slopes_below_0": int((slope < 0).sum()),
            "all_wrong": int(result.counts.all_wrong.sum()),
            "all_right": int(result.counts.all_right.sum()),
            "status": {str(k): int(n) for k, n in items["status"].value_counts().items()},
        },
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in _VERSIONS_OF},
        },
    }


def comparison_files(comparison: DifficultyComparison) -> dict[str, Any]:
    """What ``irtkit compare --out`` writes, by file."""
    summary = "".join(f"{finding}\n" for finding in comparison.findings)
    contents = (
        comparison.table,
        comparison.pairs,
        summary,
        comparison.held_out,
        comparison.systems,
    )
    return dict(zip(COMPARISON_FILES, contents, strict=True))


def judge_files(judged: Judges) -> dict[str, Any]:
    """What ``irtkit judges --out`` writes, by file."""
    from irtkit.io.writing import write_responses

    contents = (
        judged.table,
        judged.favours.reset_index("family") if len(judged.favours) else None,
        partial(write_responses, judged.responses) if judged.is_comparable else None,
    )
    return dict(zip(JUDGE_FILES, contents, strict=True))


def show(given: SimpleNamespace, shown: Shown, table: pd.DataFrame | None = None) -> None:
    """Print a result as the options say, and write its table."""
    click.echo(shown.text(given.top, legend=given.legend))
    if table is not None:
        write(table, given.out)


def with_severity(finding: Finding) -> str:
    """A finding and how serious it is."""
    return f"{finding.severity}: {finding}"


def differential_shown(tests: pd.DataFrame, fdr: float) -> Shown:
    """How many items differ between groups, and the most significant ones."""
    reference, focal = tests.attrs["reference"], tests.attrs["focal"]
    differ = tests[tests["harder_for"] != ""].sort_values("p_value", kind="stable")
    tested = int(tests["p_value"].notna().sum())
    sentence = (
        f"{len(differ)} of {tested} items tested differ between {reference} (reference group) and "
        f"{focal} (focal group) at a false-discovery rate of {percent(fdr)}"
    )
    table = differ[["harder_for", "log_odds_ratio", "statistic", "q_value"]]
    return Shown(findings=[sentence], further=[Shown("", table)])
