"""What limits the result of a fit, as findings: codes and values, whose texts stand elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.drift import LEVEL
from irtkit.data.connectivity import connectivity_of
from irtkit.data.dimensionality import BOUND, BOUND_OF_SQUARES, dimensionality
from irtkit.findings import Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.result import FitResult
    from irtkit.data.connectivity import Components, Gap
    from irtkit.data.patterns import Patterns
    from irtkit.signs import AtChance

_FEWEST = 8
"""Systems for estimates of items. With fewer, the rank correlation of fitted and true slopes is 0.1
to 0.2 if log slopes have an SD of 0.3 (``benchmarks/warnings_of_fit.py``)."""
_SAID_BELOW = 0.9
"""Share of the information in repeated trials below which they are a finding: errors 5 % wider."""
_FEWER = 0.9
"""Effective number of systems, as a share of all, below which they may be near-duplicates."""
_METHODS = {"em": "EM", "vi": "Variational"}  # Classes of `irtkit` by the method of a result.
_FINITE = Remedy({"prior": "weak"}, "finite")


def with_caveats(
    result: FitResult,
    patterns: Patterns,
    guessing: AtChance | None,
    *,
    by_chance: bool,
    counted_anew: bool,
) -> FitResult:
    """Add the findings to a result, the gravest first, and its components.

    ``by_chance`` says that respondents differ in how much they get right by chance alone, which
    some do where many items are inverted and abilities clear; ``counted_anew`` that repeated
    trials were found to agree, and count for less.
    """
    ability = (result.ability - result.latent_mean) / result.latent_sd
    scale = result.parameters, ability, result.latent_sd, result.fixed
    parts, linked, gap, significant = connectivity_of(patterns, *scale)
    by_chance = by_chance and not _slopes_told(result)
    findings = [
        *_at_chance(result, guessing),
        *_search(result),
        *_drift(result),
        *(_too_few_items(result, patterns) or _without_errors(result)),
        *_groups(parts, "hardly-linked-groups" if linked else "disconnected-groups"),
        *([] if gap is None else [_gap(result, gap, significant=significant)]),
        *_few(result),
        *([_warning("no-differences")] if by_chance else ()),
        *(_correlated_trials(result, patterns) if counted_anew else ()),
        *_unexplained(result, patterns),
    ]
    return replace(result, findings=tuple(findings), components=parts)


def _warning(code: str, *remedies: Remedy, **values: Any) -> Finding:
    return Finding(code, "warning", values, remedies)


def _at_chance(result: FitResult, found: AtChance | None) -> Iterator[Finding]:
    """Systems that score no better than guessing."""
    if found is None:
        return
    systems, n = [result.respondent_labels[row] for row in found.rows], result.n_answering
    values: dict[str, Any] = {"n": len(systems), "n_systems": n, "systems": systems}
    values |= {"level": found.level, "highest": found.highest}
    values |= {"n_options": 2} if found.opposite else {}
    code = "result.responses.drop(result.at_chance)"
    others = [Remedy({"drop": "at-chance"}, "leave-out", code=code)] if len(systems) < n else []
    yield _warning("systems-at-chance", *others, **values)


def _search(result: FitResult) -> Iterator[Finding]:
    """Items without a finite estimate, or else a search that did not converge."""
    named = zip(result.item_labels, result.status, strict=True)
    unbounded = [name for name, status in named if status == "unbounded"]
    finite = () if result.settings.prior else (_FINITE,)
    if unbounded:
        n_items = len(result.item_labels)
        yield _warning(
            "unbounded-items", _FINITE, n=len(unbounded), n_items=n_items, items=unbounded
        )
    elif not result.converged:
        last, n = result.trace_rows[-1], result.n_iterations
        twice, kind = 2 * result.settings.max_iterations, _METHODS[result.method]
        more = Remedy({}, code=f"method=irtkit.{kind}(max_iterations={twice})")
        if result.method == "vi":
            yield _warning("elbo-not-settled", more, elbo=float(last[5]), n_iterations=n)
            return
        exhausted = (more,) if n >= result.settings["max_iterations"] else ()
        yield _warning(
            *("not-converged", *exhausted, *finite),
            change=float(last[3]),
            tol=result.settings["tol"],
            n_iterations=n,
        )


def _drift(result: FitResult) -> Iterator[Finding]:
    """Fixed items that differ from their fixed parameters."""
    if result.drifts is None or not result.drifts.any():
        return
    sides = {"easier": np.asarray(result.drift_z) > 0, "harder": np.asarray(result.drift_z) < 0}
    names = {
        side: [result.item_labels[k] for k in np.flatnonzero(result.drifts & some)]
        for side, some in sides.items()
    }
    code = "fixed=earlier.items.drop(result.items.query('drifts').index)"
    n_fixed = int(np.asarray(result.fixed).sum())
    n = int(result.drifts.sum())
    yield _warning(
        "anchor-drift", Remedy({}, code=code), n=n, n_fixed=n_fixed, level=LEVEL, **names
    )


def _too_few_items(result: FitResult, patterns: Patterns) -> list[Finding]:
    """Items with more parameters than their responses can determine.

    Responses to n items are 2ⁿ patterns, with 2ⁿ − 1 free probabilities, however many respondents
    there are. Repeated trials, and synthetic respondents of other abilities, tell more.
    """
    n = sum(status in {"ok", "flat", "unbounded"} for status in result.status)
    prior = result.settings["prior"] or {}
    held = prior.get("kind", "ItemPrior") != "ItemPrior"
    if held or patterns.repeated or result.synthetic.any() or not n:
        return []
    common = result.model in {"1PL", "Rasch"}
    parameters = {"intercept": n, "discrimination": 1 if common else n}
    parameters |= {"guessing": n} if result.model == "3PL" else {}
    free = sum(times for name, times in parameters.items() if prior.get(name) is None)
    if free < 2**n:
        return []
    size = {"n_items": n, "n_parameters": free, "n_determined": 2**n - 1}
    return [
        _warning("too-few-items", Remedy({"prior": "weak"}, "unique"), model=result.model, **size)
    ]


def _without_errors(result: FitResult) -> list[Finding]:
    """Items without standard errors although their status is nothing else."""
    if not result.settings.standard_errors:
        return []
    usual = np.isin(result.status, ["ok", "flat"])
    own = np.ones_like(usual) if result.fixed is None else ~result.fixed
    lacking = usual & own & np.isnan(result.standard_errors[:, [1, 3]]).any(axis=1)
    if not lacking.any():
        return []
    items = [result.item_labels[k] for k in np.flatnonzero(lacking)]
    may_help = () if result.settings.prior else (Remedy({"prior": "weak"}),)
    size = {"n": len(items), "n_items": len(usual)}
    return [_warning("no-standard-errors", *may_help, items=items, **size)]


def _groups(parts: Components | None, code: str) -> Iterator[Finding]:
    """Systems and items that no responses link, or too few."""
    if parts is None:
        return
    sizes = [
        " × ".join(str(int((part == k).sum())) for part in parts) for k in range(1, parts.n + 1)
    ]
    yield _warning(code, n=parts.n, sizes=sizes)


def _gap(result: FitResult, gap: Gap, *, significant: bool) -> Finding:
    """Respondents who answered different items, and whose abilities are or may be shrunk."""
    ends = {"one": gap.x.argmin(), "other": gap.x.argmax()}
    names = {end: result.respondent_labels[row] for end, row in ends.items()}
    known = Remedy({"fixed": ...}, "known-items")
    if not significant:
        return _warning("gap-hidden", known, shown=float(gap.shown), **names)
    sizes = {"gap": float(gap.size), "unshrunk": float(gap.unshrunken)}
    return _warning("gap-shrunk", known, **sizes, **names)


def _few(result: FitResult) -> Iterator[Finding]:
    """So few systems that items are almost unknown."""
    if (n := result.n_answering) >= _FEWEST:
        return
    slopes = {"model": result.model} if result.model in {"2PL", "3PL"} else {}
    yield _warning("few-systems", n=n, least=_FEWEST, error=float(0.98 / np.sqrt(n)), **slopes)


def _correlated_trials(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """Repeated trials that carry the information of fewer."""
    tried = patterns.trials[patterns.real]
    tried = tried.data if patterns.sparse else tried
    typical = float(np.median(tried[tried > 1]))
    correlation = result.settings["trial_correlation"]
    effective = typical / (1 + (typical - 1) * correlation)
    if effective <= _SAID_BELOW * typical:
        values = {"correlation": correlation, "trials": typical, "effective": effective}
        yield _warning("correlated-trials", model=result.model, **values)


def _unexplained(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """What one ability does not explain: a further one, or groups of items."""
    found = dimensionality(patterns)
    if found is None:
        return
    few = found.n_eff < _FEWER * found.n
    duplicates = {"n_systems": found.n, "n_eff": round(found.n_eff)} if few else {}
    if found.eigenvalue > BOUND:
        about = None if result.responses is None else result.responses.item_table
        several = about is not None and "task" in about and about["task"].nunique() > 1
        tasks = (Remedy({"task": ...}, "each-task"),) if several else ()
        yield _warning("further-ability", *tasks, z=found.eigenvalue, bound=BOUND, **duplicates)
    else:
        clusters = Remedy({"clusters": ...}, "clusters")
        values = {"z": found.squares, "bound": BOUND_OF_SQUARES}
        yield _warning("item-groups", clusters, **values, **duplicates)


def _slopes_told(result: FitResult) -> bool:
    """Whether most slopes are told from 0: of noise up to half, without a prior, and none with."""
    n_ok, flat = (result.status.count(status) for status in ("ok", "flat"))
    return result.model in {"2PL", "3PL"} and n_ok > flat
