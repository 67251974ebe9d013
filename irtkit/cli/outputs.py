"""Files that the commands write, and tables as they print them."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from irtkit.cli.options import COMPARISON_FILES, CORRELATIONS_FILE, FIT_FILES
from irtkit.cli.process import wrapped
from irtkit.files import check_writable, folder_for, remove, replacing_text, together
from irtkit.printed import (
    in_lines,
    percent,
    plain,
    printable,
    short_labels,
    shortened,
    table_of,
    two_digits,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty import DifficultyComparison, Impact
    from irtkit.responses import ResponseMatrix
    from irtkit.selection import Selection

_TOP, _LABEL = 20, 22  # Rows of a table that are printed, and characters of a label.
SCORES = "ability ability_se=se accuracy expected_score=score expected_score_low=low \
expected_score_high=high status"
"""What is printed of a score, with another heading after the sign of equality."""
_DIFFERENCES = "harder_for=harder_for log_odds_ratio statistic q_value=q"
_BY_TASK = "n_items=items points from…to p_value=P"
_PAIRS = "other points from…to p_better=P differ more_items"
_OUTCOMES = (
    *("converged", "n_iterations", "log_likelihood", "elbo", "elbo_se", "aic", "bic"),
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
    """Print which command goes on from here."""
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
        for name in (*FIT_FILES, CORRELATIONS_FILE, *COMPARISON_FILES):
            check_writable(out / name, "--out")
        with together():
            yield


def write_fit(result: FitResult, out: Path | None, *, source: str) -> str:
    """Write the tables of a fit and return the line that says so."""
    from irtkit.io.tables import write_table

    if out is None:
        return ""
    items, respondents, summary, whole = (out / name for name in FIT_FILES)
    files = [*FIT_FILES]
    correlations = out / CORRELATIONS_FILE
    if result.n_abilities > 1:
        write_table(result.ability_correlations, correlations)
        files.append(correlations.name)
    else:
        remove(correlations)  # those of an earlier fit
    responses = result.responses
    item_table = None if responses is None else responses.item_table
    respondent_table = None if responses is None else responses.respondent_table
    write_table(described(result.items, item_table), items)
    write_table(described(result.respondents, respondent_table), respondents)
    with replacing_text(summary) as text:
        outcome = _summary(result, source)
        text.write(json.dumps(outcome, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    result.save(whole)
    return _written(files, out)


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


def write_comparison(comparison: DifficultyComparison, out: Path | None) -> str:
    """Write the tables of a comparison and return the line that says so."""
    from irtkit.io.tables import write_table

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
    line = printable(f"wrote {', '.join(files)} to {out}")
    return f"\n\n{wrapped(line)}"


def headings(columns: str) -> dict[str, str]:
    """Names of columns and their headings."""
    return {setting.partition("=")[0]: setting.rpartition("=")[2] for setting in columns.split()}


def _shown(table: pd.DataFrame, columns: str, kind: str, top: int = _TOP) -> str:
    """The first rows of the columns that are there, and how many rows there are."""
    names = {name: told for name, told in headings(columns).items() if name in table}
    first = table[[*names]].rename(columns=names).head(top)
    labels = short_labels(first.index, _LABEL)
    more = f"\nthe first {top} of {len(table):,} (--out writes all)" if len(table) > top else ""
    return plain(table_of(first.set_axis(labels).rename_axis(kind), ["other"])) + more


def scores_text(scores: pd.DataFrame, level: float) -> str:
    """The first scores, and what their columns are."""
    if "status" not in scores:  # several abilities
        columns = scores.columns.drop(["accuracy", "n_responses"])
        return _shown(scores, " ".join(columns), "respondent")
    legend = ["accuracy: on the calibrated items that were answered"] * ("accuracy" in scores)
    if "expected_score" in scores:
        legend.append(
            "score: proportion correct that is expected on all calibrated items, with a "
            f"{percent(level)} interval from low to high for systems like the calibrated ones"
        )
    if "beyond" in set(scores["status"]):
        legend.append("beyond: the score may be above those of nearly all calibrated systems")
    return f"{_shown(scores, SCORES, 'respondent')}\n\n{in_lines(legend)}"


def differential_text(tests: pd.DataFrame, fdr: float) -> str:
    """How many items differ between groups, and the most significant ones."""
    reference, focal = tests.attrs["reference"], tests.attrs["focal"]
    differ = tests[tests["harder_for"] != ""].sort_values("p_value", kind="stable")
    tested = int(tests["p_value"].notna().sum())
    sentence = (
        f"{len(differ)} of {tested} items tested differ between {reference} (reference group) and "
        f"{focal} (focal group) at a false-discovery rate of {percent(fdr)}"
    )
    short = differ.assign(harder_for=[*map(shortened, differ["harder_for"])])
    table = f"\n\n{_shown(short, _DIFFERENCES, 'item')}" if len(differ) else ""
    return in_lines([sentence]) + table


def selection_text(selection: Selection) -> str:
    """The first selected items, and how well they predict the full score."""
    columns = "rank discrimination difficulty average_error"
    if selection.result.n_abilities > 1:
        columns = "rank average_error p_negative"
    return f"{_shown(selection.item_table, columns, 'item', _TOP // 2)}\n\n{selection}"


def impact_text(summary: Impact, top: int) -> str:
    """The mean and the samples with the most work."""
    columns = "impact penalty scratch fixes deletes adds"
    sentences = in_lines(str(summary).splitlines())
    return f"{sentences}\n\n{_shown(summary.table, columns, 'sample', top)}"


def trials_text(responses: ResponseMatrix, board: pd.DataFrame, top: int) -> str:
    """pass^k and pass@k of the first systems, for the largest k."""
    from irtkit.systems import pass_k

    table = pass_k(responses).loc[board.index]
    k = table.shape[1] // 5  # pass^k and pass@k with errors, and the number of items
    if k < 2:
        return ""
    columns = f"pass^1 pass^2 pass^{k} pass@2 pass@{k} pass^{k}_items"
    legend = [
        "pass^k: all of k trials of an item are right",
        "pass@k: one of k trials is right",
        f"pass^{k} items: items with at least {k} trials, for pass^{k} and pass@{k}",
    ]
    return f"\n{_shown(table, columns, 'system', top)}\n\n{in_lines(legend)}"


def tasks_text(table: pd.DataFrame, systems: Iterable[str], level: float, top: int) -> str:
    """Differences of two systems by task."""
    first, second = short_labels(systems, _LABEL)
    bounds = zip(100 * table["low"], 100 * table["high"], strict=True)
    shown = table.assign(
        points=[f"{100 * value:.2f}" for value in table["difference"]],
        **{"from…to": [f"{low:.1f}…{high:.1f}" for low, high in bounds]},
    )
    legend = [
        f"points: accuracy of {first} less that of {second}, in percentage points",
        f"from…to: its {percent(level)} interval, on items like these. P: for each task by itself",
        "average: of the tasks, which have the same weight",
    ]
    return f"{_shown(shown, _BY_TASK, 'task', top)}\n\n{in_lines(legend)}"


def pairs_text(pairs: pd.DataFrame, level: float, top: int) -> str:
    """How many pairs differ significantly, and neighbours on the board."""
    headline = (
        f"{int(pairs['different'].sum()):,} of {len(pairs):,} pairs of systems differ "
        f"significantly, at a family-wise error rate of {percent(1 - level)}."
    )
    closest = pairs.drop_duplicates("system").set_index("system")
    needed = np.maximum(closest["items_needed"] - closest["n_items"], 0)
    more = [None if n is None else f"{n:,}" for n in map(two_digits, needed)]
    bounds = zip(100 * closest["low"], 100 * closest["high"], strict=True)
    closest = closest.assign(
        other=short_labels(closest["other"].tolist(), _LABEL),
        points=[f"{100 * value:.2f}" for value in closest["difference"]],
        differ=np.where(closest["different"], "yes", ""),
        more_items=np.where(closest["different"], "", np.array(more, dtype=object)),
        **{"from…to": [f"{low:.1f}…{high:.1f}" for low, high in bounds]},
    )
    legend = [
        "system, other: neighbours on the leaderboard",
        "points: difference in percentage points of accuracy on the items of both",
        f"from…to: {percent(level)} interval of the difference, for this pair individually",
        "P: probability that system is better on items like these",
        "differ: significantly, adjusted for all pairs",
        "more items: similar items needed to show the difference of this pair",
    ]
    return (
        f"{in_lines([headline])}\n\n{_shown(closest, _PAIRS, 'system', top)}\n\n{in_lines(legend)}"
    )
