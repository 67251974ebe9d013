"""Files that the commands write."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click

from irtkit.cli.paths import FIT_FILES
from irtkit.data.slopes import called_negative
from irtkit.files import check_writable, folder_for, remove, replacing_text, together
from irtkit.io import write_table
from irtkit.printed import WIDTH, in_lines, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison

COMPARISON_FILES = (
    *("difficulties.csv", "difficulty_pairs.csv", "difficulty_summary.txt"),
    *("held_out.csv", "systems.csv"),
)
"""What ``irtkit compare --out`` writes."""
_OUTCOMES = (
    *("converged", "n_iterations", "log_likelihood", "elbo", "elbo_se", "aic", "bic"),
    *("n_parameters", "latent_mean", "latent_mean_se", "latent_sd", "latent_sd_se"),
)
_VERSIONS_OF = ("irtkit", "numpy", "scipy", "jax", "pandas")


def say_written(*files: Path, then: str = "") -> None:
    """Say which files were written, and how to go on from there."""
    line = f"wrote {', '.join(map(str, files))}{then}"
    click.echo(f"\n{printable(line)}")


def next_step(command: str) -> None:
    """Say which command goes on from here."""
    click.echo(f"\n{in_lines([f'next: {command}'])}")


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
        for name in (*FIT_FILES, *COMPARISON_FILES):
            check_writable(out / name, "--out")
        with together():
            yield


def write_fit(result: FitResult, out: Path | None, *, source: str) -> str:
    """Write the tables of a fit and return the line that says so."""
    if out is None:
        return ""
    items, respondents, summary, whole = (out / name for name in FIT_FILES)
    known = result.responses
    item_table = None if known is None else known.item_table
    respondent_table = None if known is None else known.respondent_table
    write_table(described(result.items, item_table), items)
    write_table(described(result.respondents, respondent_table), respondents)
    with replacing_text(summary) as text:
        outcome = _summary(result, source)
        text.write(json.dumps(outcome, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    result.save(whole)
    return _written(FIT_FILES, out)


def described(table: pd.DataFrame, known: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table with what is known of its items or respondents in further columns."""
    if known is None:
        return table
    known = known.drop(columns=table.columns.intersection(["text", "target"]))  # the same texts
    taken = {name: f"metadata.{name}" for name in known.columns if name in table.columns}
    return table.join(known.rename(columns=taken))


def _summary(result: FitResult, source: str) -> dict[str, Any]:
    """What summary.json holds."""
    items, duplicates = result.items, result.near_duplicates
    negative = called_negative(items["p_negative"], slope=result.parameters.discrimination)
    known = None if result.responses is None else result.responses.source
    return {
        "source": source if known is None else known.to_dict(),
        "model": result.model,
        "method": result.method,
        "settings": result.settings.to_dict(),
        **{name: getattr(result, name) for name in _OUTCOMES},
        "quadrature": vars(result.quadrature),
        "findings": [one.to_dict() for one in result.findings],
        "counts": {
            "respondents": result.n_real,
            "independent_respondents": round(duplicates.n_eff),
            "synthetic_respondents": int(result.synthetic.sum()),
            "items": len(items),
            "responses": int(items["n_responses"].sum()),
            "negative_discrimination": int(negative.sum()),
            "slopes_below_0": int((items["discrimination"] < 0).sum()),
            "all_wrong": int(result.counts.all_wrong.sum()),
            "all_right": int(result.counts.all_right.sum()),
            "status": {str(k): int(n) for k, n in items["status"].value_counts().items()},
        },
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in _VERSIONS_OF},
        },
    }


def write_comparison(comparison: DifficultyComparison, out: Path | None) -> str:
    """Write the tables of a comparison and return the line that says so."""
    if out is None:
        return ""
    table, pairs, summary, held_out, systems = (out / name for name in COMPARISON_FILES)
    write_table(comparison.table, table)
    write_table(comparison.pairs, pairs)
    with replacing_text(summary) as text:
        text.write("\n".join(comparison.summary) + "\n")
    written = [table, pairs, summary]
    for more, file in ((comparison.held_out, held_out), (comparison.systems, systems)):
        if more is not None:
            write_table(more, file)
            written.append(file)
        else:  # that of an earlier comparison
            remove(file)
    return _written([file.name for file in written], out)


def _written(files: Iterable[str], out: Path) -> str:
    """What was written where; a folder whose name is longer than a line stays in one piece."""
    line = printable(f"wrote {', '.join(files)} to {out}")
    return f"\n\n{in_lines([line]) if len(str(out)) < WIDTH // 2 else line}"
