"""A fit in words: its findings and notes, and its tables in a few readable lines."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import counted
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative
from irtkit.findings import Finding
from irtkit.printed import LABEL, Shown, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from irtkit.calibration.result import FitResult

_TELLING = 8  # Systems that all get an item wrong: 1 in 256 by chance, if each is right by half.
_SHOWN = 5  # Rows of a table, as many as `head` of pandas shows.


def fit_shown(result: FitResult) -> Shown:
    """What ``print(result)`` says: sentences, the hardest items, and the best respondents."""
    component = ["component"] * (result.components is not None)
    guessing = ["guessing"] * (result.model == "3PL")
    columns = ["discrimination", "difficulty", *guessing, "average_error", "n_responses"]
    hardest = hardest_first(result.items)[[*columns, *component, "status"]]
    rows, _ = folded(hardest, result.alike, _SHOWN)
    legend = []
    if rows["difficulty"].isna().any():
        legend.append("difficulty: blank where an item is flat or its slope is below 0")
    title = "items with the highest average error (without those that no system gets right)"
    items = Shown(title, rows, legend)

    real = result.respondents.iloc[result.best_first]
    ability = real["ability"]
    rows = real[["ability", "ability_se", "accuracy", "n_responses", *component]].head(_SHOWN)
    title = f"systems with the highest {'score' if result.at_chance else 'ability'}"
    n_first = int((ability > ability.max() - 1e-6).sum())  # rounding
    if n_first >= _SHOWN and not result.at_chance:
        title += f" ({n_first:,} are equally high)"
    legend = ["component: rows of different ones cannot be compared"] * len(component)
    return Shown(findings=about(result), further=[items, Shown(title, rows, legend)])


def about(result: FitResult) -> list[str]:
    """Summary of a fit without its tables, in sentences or lines."""
    findings = [*result.findings, *notes(result)]
    if result.quality_standard is not None and (asked := result.settings.metrics):
        findings.append(quality_finding(result.quality_standard, asked))
    n_synthetic = int(result.synthetic.sum())
    source = getattr(result.responses, "source", None)
    synthetic = f" and {n_synthetic:,} synthetic" if n_synthetic else ""
    n = counted(result.n_real, "system")
    n_items = counted(len(result.item_labels), "item")
    state = "converged" if result.converged else "NOT CONVERGED"
    steps = counted(result.n_iterations, "iteration" if result.elbo is None else "variational step")
    grid = result.quadrature
    points = "" if grid is None else f" on {counted(grid.n_nodes, 'quadrature point')}"
    parameters = counted(result.n_parameters, "parameter")
    return [
        f"{result.model} fitted to {n}{synthetic} × {n_items}",
        f"{state} after {steps}{points}",
        f"log-likelihood {result.log_likelihood:.3f} ({parameters})",
        *([] if source is None else [printable(str(source))]),
        *(f"{finding.severity}: {finding}" for finding in findings),
    ]


def notes(result: FitResult) -> Iterator[Finding]:
    """What is worth knowing of a fit and limits nothing: priors, scale, remarkable items."""
    settings = result.settings
    prior = settings.prior if isinstance(settings.prior, dict) else {}
    if result.model == "3PL" and isinstance(chance := prior.get("chance"), float):
        yield _note("guessing-prior", chance=chance)
    if result.posterior is not None:
        yield _note("lower-bound", elbo=result.elbo)
    said = {finding.code for finding in result.findings}
    patterns = None if result.responses is None else result.patterns
    if patterns is not None and patterns.scored is not None:
        n = int(patterns.scored.sum())
        worth = patterns.score_worth(settings.trial_correlation)
        yield _note("counted-scores", n=n, worth=float(worth.max()))
    elif settings.trial_correlation and "correlated-trials" not in said:
        yield _note("counted-trials", correlation=settings.trial_correlation)
    if (anchors := result.anchors) is not None:
        errors = {"mean_se": anchors.mean_se, "sd_se": anchors.sd_se}
        scale = {"mean": result.latent_mean, "sd": result.latent_sd, **errors}
        yield _note("fixed-items", n=int(anchors.fixed.sum()), **scale)
    elif result.model == "Rasch":
        yield _note("ability-sd", sd=result.latent_sd)
    error = result.counts.average_error
    varied = (error > 0) & (error < 1)
    slope = np.where(varied, result.own_items.discrimination, np.nan)
    called = called_negative(result.p_negative, slope=slope)
    n = int(called.sum())
    n_unsure = int(((slope < 0) & ~called).sum())
    if n:
        doubted = result.one_ability_doubted
        yield called_items(n, len(called), FALSE_DISCOVERY_RATE, doubted=doubted, n_unsure=n_unsure)
    elif n_unsure:
        yield _note("slopes-below-0", n=n_unsure)
    if flat := result.status.count("flat"):
        yield _note("flat-items", n=flat)
    yield from silent_items(result)


def quality_finding(scores: Any, settings: Mapping[str, Any]) -> Finding:
    """Metrics that items are scored by and their directions, from the settings."""
    directions = settings["higher_is_better"].items()
    used = [(name, higher) for name, higher in directions if name not in settings["constant"]]
    values = {
        "higher": [name for name, higher in used if higher],
        "lower": [name for name, higher in used if not higher],
        "constant": list(settings["constant"]),
        "n": int(np.isnan(scores).sum()),
    }
    return Finding("quality-standard", "note", values)


def _note(code: str, **values: Any) -> Finding:
    return Finding(code, "note", values)


def called_items(n: int, n_items: int, fdr: float, *, doubted: bool, n_unsure: int = 0) -> Finding:
    """How many items are called negative, 1 or more, and at which rate of false discoveries.

    Where one ability does not explain the responses (``doubted``), no error rate is stated.
    ``n_unsure`` slopes are estimated below 0 and not called.
    """
    code = "negative-items-doubted" if doubted else "negative-items"
    return _note(code, n=n, n_items=n_items, fdr=fdr, n_unsure=n_unsure)


def silent_items(result: FitResult) -> Iterator[Finding]:
    """Items that say nothing about abilities: all are wrong, or right, or nobody answered.

    Those that no system gets right may be broken, unless few tried.
    """
    counts = result.counts
    many = np.minimum(counts.item_responses, result.n_answering) >= _TELLING
    if wrong := [*compress(result.item_labels, counts.all_wrong & many)]:
        yield _note("all-wrong", n=len(wrong), items=wrong)
    rest = {
        "few-wrong": counts.all_wrong & ~many,
        "all-right": counts.all_right,
        "unanswered": counts.item_responses == 0,
    }
    for code, which in rest.items():
        if n := int(which.sum()):
            yield _note(code, n=n, least=_TELLING)


def readable_difficulty(items: pd.DataFrame) -> pd.Series[float]:
    """Difficulties of the items that rise with ability, NaN for others.

    Where the slope is below 0, the difficulty is high for items that most get right.
    """
    rises = (items["status"] == "ok") & (items["discrimination"] > 0)
    return items["difficulty"].where(rises)


def hardest_first(items: pd.DataFrame) -> pd.DataFrame:
    """Items that some get right, the highest average error first, with readable difficulties."""
    varied = items[items["average_error"].between(0, 1, inclusive="neither")]
    hardest = varied.sort_values("average_error", ascending=False, kind="stable")
    return hardest.assign(difficulty=readable_difficulty(hardest))


def folded(table: pd.DataFrame, alike: pd.Series[float], most: int) -> tuple[pd.DataFrame, int]:
    """The first rows of a table by item, items with the same number in ``alike`` in one of them.

    Its label says how many more there are. With them comes the number of items that they are.
    """
    import pandas as pd

    numbers = alike.loc[table.index]
    _, first, n_alike = np.unique(numbers, return_index=True, return_counts=True)
    chosen = np.argsort(first)[:most]
    shown = table.iloc[first[chosen]]
    n_alike = n_alike[chosen]
    further = [f" +{n - 1} alike" if n > 1 else "" for n in n_alike]
    names = [
        shortened(label, max(LABEL - len(more), 1)) + more
        for label, more in zip(shown.index, further, strict=True)
    ]
    return shown.set_axis(pd.Index(names, name="item")), int(n_alike.sum())
