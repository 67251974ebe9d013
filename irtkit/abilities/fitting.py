"""`irtkit.fit` with several abilities: what items measure, the choice of the number, errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.abilities import errors, likelihood, number
from irtkit.abilities.engine import Cells, Design, fit_design, fold_in, oblique_axes
from irtkit.abilities.result import AbilitiesResult, negative_items, p_negative
from irtkit.calibration.estimates import of_any_systems, of_guessing
from irtkit.checks import check_one_of, check_whole, short
from irtkit.data.families import USUAL_EXCESS, alike_pairs, linked
from irtkit.data.limits import at_chance, no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of
from irtkit.findings import Finding
from irtkit.responses import refuse_sparse
from irtkit.responses.labels import by_label, is_missing_label
from irtkit.responses.levels import kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from irtkit.calibration.result import FitResult, Settings
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Patterns
    from irtkit.responses import ResponseMatrix

_TOL = 0.002  # Relative change of slopes at convergence.
_FINE_TOL = 1e-4  # The same without a prior, and for correlations, which are the last to settle.
_MOST_ITERATIONS = 500  # An ability that data do not ask for settles slowly.
_CLEAR = 0.5  # Variance of posterior means from which on an ability is no chance.
_ALIKE = 0.95  # Correlation from which on two abilities are as good as one.


def fitted_abilities(
    responses: ResponseMatrix,
    abilities: Any,
    settings: Settings,
    *,
    of_one: Callable[[], FitResult],
    report: Callable[[int, float], None],
) -> AbilitiesResult | FitResult:
    """Fit several abilities, or return the fit of one if "auto" finds no more.

    ``of_one`` fits one ability.
    """
    refuse_sparse(responses, "abilities")
    if responses.synthetic.any():
        raise ValueError(
            "abilities is for real respondents, and responses has synthetic ones. "
            "Use responses.drop(…) or abilities=1"
        )
    table = responses.item_table
    has_tasks = table is not None and "task" in table.columns
    names: tuple[str, ...] | None = None
    if isinstance(abilities, str):
        check_one_of("abilities", abilities, ("auto", "task", "bifactor"))
        if abilities != "auto" and not has_tasks:
            raise ValueError(
                f"abilities={abilities!r} needs the task of every item, a column 'task' of the "
                "item table. Use abilities={item: task, …} or abilities='auto'"
            )
        given: Any = "task"
    elif not isinstance(abilities, int | np.integer):
        given = abilities
    else:
        check_whole("abilities", abilities, 1, most=max(responses.n_items // 3, 1))
        given = "task"
    if has_tasks or given != "task":
        labels = by_label("abilities", given, responses.items, responses, "ability", "item")
        lacking = [k for k, one in enumerate(labels) if is_missing_label(one)]
        if lacking and abilities != "auto" and not isinstance(abilities, int | np.integer):
            named = short(responses.items[lacking[0]])
            raise ValueError(f"abilities must name an ability of every item, and {named} has none")
        names = None if lacking else tuple(map(str, labels))
    structure = "exploratory" if isinstance(abilities, int | np.integer) else abilities
    structure = structure if isinstance(structure, str) else "task"
    if structure in {"task", "bifactor"} and len(set(names or ())) < 2:
        raise ValueError(
            "abilities must name two abilities or more, and all items have the same one"
        )
    patterns = patterns_of(responses, synthetic_is_real=False)
    first: FitResult | None = of_one() if structure == "auto" else None
    counted_anew = patterns.repeated and settings.trial_correlation is None
    if counted_anew:
        first = first or of_one()
        settings = replace(settings, trial_correlation=first.settings.trial_correlation or 0.0)
    cells = _cells(responses, settings.trial_correlation)
    findings: list[Finding] = []
    k = int(abilities) if structure == "exploratory" else 1
    if first is not None and structure == "auto":
        structure, k, finding = _chosen(cells, first, names, settings, report)
        if k == 1 and structure == "exploratory":
            return replace(first, findings=(*first.findings, finding))
        findings.append(finding)
    design, ability_names = design_of(structure, k, names, responses.n_items)
    prior = settings.prior is not None
    few = design.n_abilities <= likelihood.MOST_DIMENSIONS
    exact = not prior and (few or likelihood.is_bifactor(design))
    tol = _TOL if prior and not design.correlated else _FINE_TOL
    options: Any = {"tol": tol, "max_iterations": _MOST_ITERATIONS, "report": report}
    fitted = fit_design(cells, design, prior=prior, **options)
    if not fitted.converged:
        values = {"n_iterations": fitted.n_iterations, "change": fitted.change, "tol": tol}
        findings.append(Finding("not-converged", "warning", values))
    fitted = likelihood.polished(cells, fitted) if exact else fitted
    value, by_quadrature = likelihood.log_likelihood(cells, fitted)
    joint: ItemCovariance | None = None
    of_correlations = np.full((design.n_abilities,) * 2, np.nan)
    duplicates = near_duplicates(patterns)
    if settings.standard_errors:
        joint, of_correlations = errors.covariances(cells, fitted)
        joint = joint.scaled(np.sqrt(duplicates.n / duplicates.n_eff))
        fitted = replace(fitted, items=replace(fitted.items, covariance=joint.of_items()))
        fitted = replace(fitted, respondents=fold_in(cells, fitted, fitted.respondents))
    axes = oblique_axes(fitted)
    fitted = fitted.moved(axes)
    of_abilities = fitted.ability_covariance
    if joint is not None:
        joint = errors.turned(joint, axes)
        of_abilities = errors.ability_covariances(cells, fitted, joint)
    against = p_negative(cells, fitted, duplicates.share)
    if (negative := negative_items(against)) is not None:
        findings.append(negative)
    one, other = np.nonzero(np.triu(fitted.correlations >= _ALIKE, 1))
    if len(one) and design.correlated:
        pairs = [
            f"{ability_names[i]} and {ability_names[j]}" for i, j in zip(one, other, strict=True)
        ]
        findings.append(Finding("abilities-alike", "note", {"pairs": pairs, "least": _ALIKE}))
    result = AbilitiesResult(
        structure=structure,
        ability_names=ability_names,
        settings=replace(settings, tol=tol, max_iterations=_MOST_ITERATIONS),
        item_labels=responses.items,
        respondent_labels=responses.respondents,
        tasks=names,
        fitted=fitted,
        item_covariance=joint,
        ability_errors=np.sqrt(np.diagonal(of_abilities, axis1=1, axis2=2)),
        correlation_se=of_correlations,
        p_negative=against,
        counts=patterns.counts,
        log_likelihood=value,
        log_likelihood_by="quadrature" if by_quadrature else "Laplace",
        responses=responses,
    )
    trials = counted_anew and not (kinds_of(responses) == "levels").any()  # points are no trials
    found = _of_systems(result, patterns, duplicates, counted_anew=trials)
    return replace(result, findings=(*found, *findings))


def _of_systems(
    result: AbilitiesResult, patterns: Patterns, duplicates: NearDuplicates, *, counted_anew: bool
) -> Iterator[Finding]:
    """What one ability says of systems too. Abilities that are reliable are no chance."""
    counted = patterns.with_trial_correlation(result.settings.trial_correlation or 0.0)
    about = None if result.responses is None else result.responses.item_table
    if (guessing := at_chance(counted, about)) is not None:
        yield of_guessing(result, guessing)
    by_chance = no_ability_differences(counted, duplicates.n_eff)
    unclear = bool((result.fitted.ability.var(axis=0) < _CLEAR).all())
    yield from of_any_systems(
        *(result, patterns, duplicates),
        no_differences=by_chance and unclear,
        counted_anew=counted_anew,
    )


def design_of(
    structure: str, k: int, tasks: tuple[str, ...] | None, n_items: int
) -> tuple[Design, tuple[str, ...]]:
    """What each item may measure, and the names of abilities."""
    group, found = np.zeros(n_items, dtype=np.intp), tuple(dict.fromkeys(tasks or ()))
    if tasks is not None:
        place = {task: at for at, task in enumerate(found)}
        group = np.array([place[task] for task in tasks], dtype=np.intp)
    if structure == "exploratory":
        design = Design(np.ones((n_items, k), bool), np.arange(k), group, correlated=False)
        return design, tuple(str(at + 1) for at in range(k))
    own = group[:, None] == np.arange(len(found))
    if structure == "task":
        return Design(own, np.zeros(len(found), np.intp), group, correlated=True), found
    pattern = np.column_stack([np.ones(n_items, bool), own])
    kind = np.append(0, np.ones(len(found), np.intp))
    return Design(pattern, kind, group, correlated=False), ("general", *found)


def _cells(responses: ResponseMatrix, correlation: float | None) -> Cells:
    """Shares right, and how many independent trials each counts for."""
    patterns = patterns_of(responses, synthetic_is_real=False)
    right, tried = patterns.with_trial_correlation(correlation or 0.0).dense(dtype=np.float32)
    share = np.divide(right, tried, out=np.zeros_like(right), where=tried > 0)
    return Cells(share, None if (tried == 1).all() else tried)


def _chosen(
    cells: Cells,
    first: FitResult,
    tasks: tuple[str, ...] | None,
    settings: Settings,
    report: Callable[[int, float], None],
) -> tuple[str, int, Finding]:
    """Structure and number of abilities that predict held-out answers best, with a finding."""
    n, n_items = cells.y.shape
    few = Finding("one-ability", "note", {"n_systems": n})
    if n < number.FEWEST_SYSTEMS or n_items < 6:
        return "exploratory", 1, few
    families = linked(first, alike_pairs(first, USUAL_EXCESS))
    if len(np.unique(families)) < number.FEWEST_FAMILIES:
        return "exploratory", 1, few
    families = np.unique(families, return_inverse=True)[1]
    most = min(number.MOST_ABILITIES, n_items // 3)
    designs = [design_of("exploratory", k, tasks, n_items)[0] for k in range(1, most + 1)]
    copies = number.item_families(cells, fit_design(cells, designs[0]))
    losses, answers = number.held_out_losses(
        *(cells, designs, families, copies, settings.seed), report
    )
    last = len(losses) - 1
    if last and not number.gains(losses[-2], losses[-1]):
        last -= 1
    structure, k, best = "exploratory", last + 1, losses[last]
    if tasks is not None and len(set(tasks)) > 1:
        design = design_of("task", 0, tasks, n_items)[0]
        (by_task,), _ = number.held_out_losses(cells, [design], families, copies, settings.seed)
        if number.gains(losses[0], by_task) and by_task.sum() <= best.sum():
            structure, k, best = "task", design.n_abilities, by_task
    shares = {"one": float(losses[0].sum()) / answers, "best": float(best.sum()) / answers}
    if structure == "exploratory" and k == 1:
        return structure, 1, Finding("one-ability", "note", {"loss": shares["one"]})
    values = {"chosen": f"{k} abilities{' by task' * (structure == 'task')}", **shares}
    return structure, k, Finding("abilities-chosen", "note", values)
