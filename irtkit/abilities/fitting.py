"""`irtkit.fit` with several abilities: what items measure, the choice of the number, errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities import errors, likelihood, number
from irtkit.abilities.engine import Cells, Design, Normals, fit_design, fold_in, oblique_axes
from irtkit.abilities.result import SeveralAbilities, result_of_several
from irtkit.abilities.slopes import p_negative
from irtkit.calibration.estimates import of_any_systems, of_guessing, of_unbounded
from irtkit.capabilities import require
from irtkit.checks import check_one_of, check_whole, short
from irtkit.data.families import USUAL_EXCESS, alike_pairs, linked
from irtkit.data.limits import at_chance, no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative
from irtkit.findings import Finding, as_typed
from irtkit.responses.labels import by_label, is_missing_label
from irtkit.responses.levels import kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from irtkit.abilities.engine import Fitted
    from irtkit.calibration.result import FitResult, Settings
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Patterns
    from irtkit.responses import ResponseMatrix

_ALIKE = 0.95  # Correlation from which on two abilities are as good as one.


class _Asked(NamedTuple):
    """Which abilities to fit."""

    structure: str  # "exploratory", "task" or "bifactor", or "auto" until it is chosen.
    n_abilities: int  # Of "exploratory".
    tasks: tuple[str, ...] | None  # Task of each item, None if unknown.


def fitted_abilities(
    responses: ResponseMatrix,
    abilities: Any,
    settings: Settings,
    *,
    of_one: Callable[[], FitResult],
    report: Callable[[int, float], None],
) -> FitResult:
    """Fit several abilities, or return the fit of one if "auto" finds no more.

    ``of_one`` fits one ability.
    """
    asked = _asked(responses, abilities)
    patterns = patterns_of(responses, synthetic_is_real=False)
    counted_anew = patterns.repeated and settings.trial_correlation is None
    single = of_one() if asked.structure == "auto" or counted_anew else None
    if single is not None and counted_anew:
        correlation = single.settings.trial_correlation or 0.0
        settings = replace(settings, trial_correlation=correlation)
    cells = cells_of(patterns, settings)

    findings = []
    if single is not None and asked.structure == "auto":
        asked, finding = _chosen(cells, single, asked.tasks, settings, report)
        if asked.structure == "exploratory" and asked.n_abilities == 1:
            return replace(single, findings=(*_tried(single.findings), finding))
        findings.append(finding)
    design, names = design_of(*asked, responses.n_items)
    # relative change of slopes: without a prior, and beside correlations, they settle last
    tol = 0.002 if settings.prior is not None and not design.correlated else 1e-4
    # an ability that data do not ask for settles slowly
    settings = replace(settings, tol=tol, max_iterations=500)
    fitted = _maximum(cells, design, settings, report)
    log_likelihood, by_quadrature = likelihood.log_likelihood(cells, fitted)
    duplicates = near_duplicates(patterns)
    item_covariance: ItemCovariance | None = None
    correlation_se = np.full_like(fitted.correlations, np.nan)
    if settings.standard_errors:
        correlation_se = errors.correlation_errors(fitted)
        item_covariance = errors.item_covariance(cells, fitted)
        item_covariance = item_covariance.scaled(np.sqrt(duplicates.n / duplicates.n_eff))
        items = Normals(fitted.items.mean, item_covariance.of_items())
        fitted = replace(fitted, items=items)
        fitted = replace(fitted, respondents=fold_in(cells, fitted, fitted.respondents))
    axes = oblique_axes(fitted)
    fitted = fitted.moved(axes)
    ability_covariance = fitted.ability_covariance
    if item_covariance is not None:
        item_covariance = errors.turned(item_covariance, axes)
        ability_covariance = errors.ability_covariances(cells, fitted, item_covariance)

    several = SeveralAbilities(
        structure=asked.structure,
        names=names,
        tasks=asked.tasks,
        fitted=fitted,
        correlation_se=correlation_se,
        log_likelihood_by="quadrature" if by_quadrature else "Laplace",
    )
    result = result_of_several(
        several,
        responses,
        patterns,
        duplicates,
        settings=settings,
        item_covariance=item_covariance,
        ability_covariances=ability_covariance,
        p_negative=p_negative(cells, fitted, duplicates.share),
        log_likelihood=log_likelihood,
    )
    findings = [*_of_systems(result, patterns, duplicates, counted_anew=counted_anew), *findings]
    return replace(result, findings=(*findings, *_of_abilities(result)))


def _asked(responses: ResponseMatrix, abilities: Any) -> _Asked:
    """Check which abilities are asked for, against the tasks of the items."""
    require("abilities=", responses)
    table = responses.item_table
    has_tasks = table is not None and "task" in table.columns
    structure = "task"
    n_abilities = 0
    tasks_given = abilities
    if isinstance(abilities, int | np.integer):
        check_whole("abilities", abilities, 1, most=max(responses.n_items // 3, 1))
        structure = "exploratory"
        n_abilities = int(abilities)
        tasks_given = "task"
    elif isinstance(abilities, str):
        check_one_of("abilities", abilities, ("auto", "task", "bifactor"))
        structure = abilities
        tasks_given = "task"
        if abilities != "auto" and not has_tasks:
            raise ValueError(
                f"abilities={abilities!r} needs the task of every item, a column task"
                + as_typed(". Use <abilities={item: task, …} or abilities='auto'|--abilities auto>")
            )
    if not has_tasks and isinstance(tasks_given, str):
        return _Asked(structure, n_abilities, None)

    labels = by_label("abilities", tasks_given, responses.items, responses, "ability", "item")
    lacking = [
        item for item, label in zip(responses.items, labels, strict=True) if is_missing_label(label)
    ]
    tasks = None if lacking else tuple(map(str, labels))
    if structure in {"task", "bifactor"}:
        if lacking:
            named = short(lacking[0])
            raise ValueError(f"abilities must name an ability of every item, and {named} lacks one")
        if len(set(labels)) < 2:
            raise ValueError(
                "abilities must name two abilities or more, and all items have the same one"
            )
    return _Asked(structure, n_abilities, tasks)


def cells_of(patterns: Patterns, settings: Settings) -> Cells:
    """Shares right, and how many independent trials each counts for."""
    counted = patterns.with_trial_correlation(settings.trial_correlation or 0.0)
    right, tried = counted.dense(dtype=np.float32)
    share = np.divide(right, tried, out=np.zeros_like(right), where=tried > 0)
    return Cells(share, tried)


def design_of(
    structure: str, n_abilities: int, tasks: tuple[str, ...] | None, n_items: int
) -> tuple[Design, tuple[str, ...]]:
    """What each item may measure, and the names of abilities."""
    names = tuple(dict.fromkeys(tasks or ()))
    group = np.zeros(n_items, dtype=np.intp)
    if tasks is not None:
        group = np.array([names.index(task) for task in tasks], dtype=np.intp)
    in_task = group[:, None] == np.arange(len(names))
    if structure == "exploratory":
        pattern = np.ones((n_items, n_abilities), bool)
        names = tuple(str(k + 1) for k in range(n_abilities))
        return Design(pattern, np.arange(n_abilities), group, correlated=False), names
    if structure == "task":
        kind = np.zeros(len(names), np.intp)
        return Design(in_task, kind, group, correlated=True), names
    pattern = np.column_stack([np.ones(n_items, bool), in_task])
    kind = np.append(0, np.ones(len(names), np.intp))
    return Design(pattern, kind, group, correlated=False), ("general", *names)


def _tried(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """Findings that do not propose several abilities, which were tried."""
    for finding in findings:
        kept = (remedy for remedy in finding.remedies if "abilities" not in remedy.settings)
        yield replace(finding, remedies=tuple(kept))


def _chosen(
    cells: Cells,
    single: FitResult,
    tasks: tuple[str, ...] | None,
    settings: Settings,
    report: Callable[[int, float], None],
) -> tuple[_Asked, Finding]:
    """Structure and number of abilities that predict held-out answers best, with a finding."""
    n, n_items = cells.y.shape
    first_of_family = linked(single.respondent_labels, alike_pairs(single, USUAL_EXCESS))
    _, families = np.unique(first_of_family, return_inverse=True)
    few_families = families.max() + 1 < number.CHOICE.fewest_families
    if n < number.CHOICE.fewest_systems or few_families or n_items < 6:
        return _Asked("exploratory", 1, tasks), Finding("one-ability", "note", {"n_systems": n})
    most = min(number.CHOICE.most_abilities, n_items // 3)
    numbers = range(1, most + 1)
    designs = [design_of("exploratory", k, tasks, n_items)[0] for k in numbers]
    copies = number.item_families(cells, fit_design(cells, designs[0]))
    held_out = number.HeldOut.of(cells, families, copies, settings.seed)
    losses = held_out.losses(designs, report)
    asked = _Asked("exploratory", len(losses), tasks)
    loss = losses[-1]
    if tasks is not None and len(set(tasks)) > 1:
        by_task = held_out.loss(design_of("task", 0, tasks, n_items)[0])
        if number.gains(losses[0], by_task) and by_task.sum() <= loss.sum():
            asked = _Asked("task", len(set(tasks)), tasks)
            loss = by_task
    loss_of_one = held_out.per_answer(losses[0])
    if asked.structure == "exploratory" and asked.n_abilities == 1:
        of_one = {"loss": loss_of_one}
        for doubt in single.findings:
            if doubt.code == "further-ability":
                of_one["z"] = doubt.values["z"]
        return asked, Finding("one-ability", "note", of_one)
    by = " by task" if asked.structure == "task" else ""
    values = {
        "chosen": f"{asked.n_abilities} abilities{by}",
        "one": loss_of_one,
        "best": held_out.per_answer(loss),
    }
    return asked, Finding("abilities-chosen", "note", values)


def _maximum(
    cells: Cells, design: Design, settings: Settings, report: Callable[[int, float], None]
) -> Fitted:
    """The fit of a design; without a prior at the maximum of the likelihood, if that is exact."""
    prior = settings.prior is not None
    fitted = fit_design(
        cells,
        design,
        prior=prior,
        tol=settings.tol,
        max_iterations=settings.max_iterations,
        report=report,
    )
    few = design.n_abilities <= likelihood.MOST_DIMENSIONS
    if not prior and (few or likelihood.is_bifactor(design)):
        return likelihood.polished(cells, fitted)
    return fitted


def _of_systems(
    result: FitResult, patterns: Patterns, duplicates: NearDuplicates, *, counted_anew: bool
) -> Iterator[Finding]:
    """What one ability says of systems too. Abilities that are reliable are no chance."""
    counted = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0)
    table = None if result.responses is None else result.responses.item_table
    yield from of_guessing(result, at_chance(counted, table))
    by_chance = no_ability_differences(counted, duplicates.n_eff)
    # with such a variance of posterior means an ability is no chance
    unclear = bool((result.several.fitted.ability.var(axis=0) < 0.5).all())
    has_levels = result.responses is not None and "levels" in kinds_of(result.responses)
    yield from of_any_systems(
        result,
        patterns,
        duplicates,
        no_differences=by_chance and unclear,
        counted_anew=counted_anew and not has_levels,  # points are no trials
    )


def _of_abilities(result: FitResult) -> Iterator[Finding]:
    """Slopes that had not settled, items that fall with abilities, and abilities that are alike."""
    fitted = result.several.fitted
    yield from of_unbounded(result)
    if not fitted.converged:
        values = {"n_iterations": fitted.n_iterations, "change": fitted.change}
        yield Finding("not-converged", "warning", {**values, "tol": result.settings.tol})
    slopes = result.own_items.discrimination
    n_negative = int(called_negative(result.p_negative, slope=slopes).sum())
    if n_negative:
        values = {"n": n_negative, "n_items": len(slopes), "n_unsure": 0}
        yield Finding("negative-items", "note", {**values, "fdr": FALSE_DISCOVERY_RATE})
    names = result.ability_names
    alike = np.argwhere(np.triu(fitted.correlations >= _ALIKE, 1))
    pairs = [f"{names[row]} and {names[column]}" for row, column in alike]
    if pairs and fitted.design.correlated:
        yield Finding("abilities-alike", "note", {"pairs": pairs, "least": _ALIKE})
