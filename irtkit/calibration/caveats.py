"""What limits the result of a fit, as findings: codes and values, whose texts stand elsewhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.drift import LEVEL
from irtkit.data.connectivity import connectivity_of
from irtkit.data.dimensionality import BOUND, BOUND_OF_SQUARES, dimensionality
from irtkit.findings import Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.data.connectivity import Connectivity
    from irtkit.data.guessing import AtChance
    from irtkit.data.patterns import Patterns

_FEWEST = 8  # With fewer systems, slopes correlate 0.1 to 0.2 with the true ones (SD of logs 0.3).
_SAID_BELOW = 0.9  # Share of the information in repeated trials below which it is said: 5 % wider.
_METHODS = {"em": "EM", "vi": "Variational"}  # Classes of `irtkit` by the method of a result.


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
    structure = connectivity_of(patterns, *scale)
    n_ok, n_flat = (result.status.count(status) for status in ("ok", "flat"))
    # Most slopes differ from 0: of noise up to half do, without a prior, and none with one.
    sloped = result.model in {"2PL", "3PL"} and n_ok > n_flat
    findings = [
        *([] if guessing is None else [_at_chance(result, guessing)]),
        *_of_items(result, patterns),
        *_of_design(result, structure),
        *([_warning("no-differences")] if by_chance and not sloped else []),
        *(_correlated_trials(result, patterns) if counted_anew else []),
        *_near_duplicates(result),
        *_unexplained(result, patterns),
    ]
    return replace(result, findings=tuple(findings), components=structure[0])


def _warning(code: str, *remedies: Remedy, **values: Any) -> Finding:
    return Finding(code, "warning", values, remedies)


def _at_chance(result: FitResult, found: AtChance) -> Finding:
    """Systems that score no better than guessing."""
    systems, n = [result.respondent_labels[row] for row in found.rows], result.n_answering
    values: dict[str, Any] = {"n": len(systems), "n_systems": n, "systems": systems}
    values |= {"level": found.level, "highest": found.highest}
    values |= {"n_options": 2} if found.opposite else {}
    code = "result.responses.drop(result.at_chance)"
    others = [Remedy({"drop": "at-chance"}, "leave-out", code=code)] if len(systems) < n else []
    return _warning("systems-at-chance", *others, **values)


def _of_items(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """A search that found no maximum, drifted items, and what the responses do not determine.

    Responses to n items are 2ⁿ patterns, with 2ⁿ − 1 free probabilities, however many respondents
    there are. Repeated trials, and synthetic respondents of other abilities, tell more.
    """
    settings, status = result.settings, np.array(result.status)
    prior = settings.prior or {}
    n_items, usual = len(status), np.isin(status, ["ok", "flat"])

    def labels(which: NDArray[np.bool_]) -> list[str]:
        return [*compress(result.item_labels, which)]

    finite = Remedy({"prior": "weak"}, "finite")
    if unbounded := labels(status == "unbounded"):
        known = {"n": len(unbounded), "n_items": n_items, "items": unbounded}
        yield _warning("unbounded-items", finite, **known)
    elif not result.converged:
        last, n = result.trace_rows[-1], result.n_iterations
        twice, kind = 2 * settings.max_iterations, _METHODS[result.method]
        more = Remedy({}, code=f"method=irtkit.{kind}(max_iterations={twice})")
        if result.method == "vi":
            yield _warning("elbo-not-settled", more, elbo=float(last[5]), n_iterations=n)
        else:
            remedies = [more] * (n >= settings.max_iterations) + [finite] * (not prior)
            known = {"change": float(last[3]), "tol": settings.tol, "n_iterations": n}
            yield _warning("not-converged", *remedies, **known)
    if result.drifts is not None and result.fixed is not None and result.drifts.any():
        z = np.asarray(result.drift_z)
        sides = {
            "easier": labels(result.drifts & (z > 0)),
            "harder": labels(result.drifts & (z < 0)),
        }
        code = "fixed=earlier.items.drop(result.items.query('drifts').index)"
        known = {
            "n": int(result.drifts.sum()),
            "n_fixed": int(result.fixed.sum()),
            "level": LEVEL,
        }
        yield _warning("anchor-drift", Remedy({}, code=code), **known, **sides)
    n = int(usual.sum()) + len(unbounded)
    parameters = {"intercept": n, "discrimination": n if result.model in {"2PL", "3PL"} else 1}
    parameters |= {"guessing": n} if result.model == "3PL" else {}
    free = sum(times for name, times in parameters.items() if prior.get(name) is None)
    held = prior.get("kind", "ItemPrior") != "ItemPrior"
    told = held or patterns.repeated or result.synthetic.any()
    if n and free >= 2**n and not told:
        known = {"n_items": n, "n_parameters": free, "n_determined": 2**n - 1}
        unique = Remedy({"prior": "weak"}, "unique")
        yield _warning("too-few-items", unique, model=result.model, **known)
        return
    own = usual if result.fixed is None else usual & ~result.fixed
    lacking = labels(own & np.isnan(result.standard_errors[:, [1, 3]]).any(axis=1))
    if lacking and settings.standard_errors:
        may_help = () if prior else (Remedy({"prior": "weak"}),)
        known = {"n": len(lacking), "n_items": n_items, "items": lacking}
        yield _warning("no-standard-errors", *may_help, **known)


def _of_design(result: FitResult, structure: Connectivity) -> Iterator[Finding]:
    """Respondents that few responses link, or that are so few that items are almost unknown."""
    parts, linked, gap, significant = structure
    if parts is not None:
        shapes = [[int((part == k).sum()) for part in parts] for k in range(1, parts.n + 1)]
        sizes = [" × ".join(map(str, shape)) for shape in shapes]
        code = "hardly-linked-groups" if linked else "disconnected-groups"
        yield _warning(code, n=parts.n, sizes=sizes)
    if gap is not None:
        ends = {"one": gap.x.argmin(), "other": gap.x.argmax()}
        known: dict[str, Any] = {end: result.respondent_labels[row] for end, row in ends.items()}
        remedy = Remedy({"fixed": ...}, "known-items")
        if significant:
            known |= {"gap": float(gap.size), "unshrunk": float(gap.unshrunken)}
        else:
            known |= {"shown": float(gap.shown)}
        yield _warning("gap-shrunk" if significant else "gap-hidden", remedy, **known)
    if (n := result.n_answering) < _FEWEST:
        slopes = {"model": result.model} if result.model in {"2PL", "3PL"} else {}
        yield _warning("few-systems", n=n, least=_FEWEST, error=float(0.98 / np.sqrt(n)), **slopes)


def _correlated_trials(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """Repeated trials that carry the information of fewer."""
    tried = patterns.trials[patterns.real]
    tried = tried.data if patterns.sparse else tried
    typical = float(np.median(tried[tried > 1]))
    correlation = result.settings.trial_correlation or 0.0
    effective = typical / (1 + (typical - 1) * correlation)
    if effective <= _SAID_BELOW * typical:
        values = {"correlation": correlation, "trials": typical, "effective": effective}
        yield _warning("correlated-trials", model=result.model, **values)


def _near_duplicates(result: FitResult) -> Iterator[Finding]:
    """Systems that answer like fewer independent ones."""
    found = result.near_duplicates
    if found.found:
        values = {"n": found.n, "n_eff": round(found.n_eff), "share": found.share}
        code = "result.with_clustered_errors(families=…)"
        yield Finding("near-duplicates", "note", values, (Remedy({}, "by-family", code=code),))


def _unexplained(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """What one ability does not explain: a further one, or groups of items."""
    duplicates = result.near_duplicates
    found = dimensionality(patterns, duplicates)
    if found is None:
        return
    copies = {"n_systems": duplicates.n} if duplicates.found else {}
    if found.eigenvalue > BOUND:
        about = None if result.responses is None else result.responses.item_table
        several = about is not None and "task" in about and about["task"].nunique() > 1
        tasks = (Remedy({"task": ...}, "each-task"),) if several else ()
        yield _warning("further-ability", *tasks, z=found.eigenvalue, bound=BOUND, **copies)
    else:
        clusters = Remedy({"clusters": ...}, "clusters")
        values = {"z": found.squares, "bound": BOUND_OF_SQUARES}
        yield _warning("item-groups", clusters, **values, **copies)
