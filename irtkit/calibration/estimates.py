"""What a method estimated, made a result: right way up, in the unit of the model, with findings."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.calibrated import LEVEL
from irtkit.calibration.priors import ItemPrior, WeakPrior
from irtkit.calibration.result import FitResult, Quadrature, Settings
from irtkit.calibration.standard_errors import item_errors
from irtkit.data.limits import BOUND, BOUND_OF_SQUARES, connectivity_of, dimensionality
from irtkit.findings import Finding, Remedy
from irtkit.irf import ItemParameters, Items, ModelName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.likelihood import Population
    from irtkit.calibration.priors import Prior
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.calibration.variational.posterior import Posterior
    from irtkit.data.limits import AtChance, Connectivity
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Counts, Patterns, Places
    from irtkit.data.slopes import ProportionScore
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes
    from irtkit.responses import ResponseMatrix

_UNBOUNDED_INFORMATION = 0.05  # ΣP(1 − P) of a perfect fit: one answer errs once in 19 times.
_FROM_ZERO = 1.96  # Standard errors from 0 of a slope that differs significantly (95 %).
_FLAT = 1 / 3  # Of the median slope. Of log slopes of SD 0.4 up to 2 % are below (n 60 to 130).
_FEW = 4  # Respondents below which there is one way to split them, one against one or two.
_UNSURE = 8  # With fewer systems, slopes correlate 0.1 to 0.2 with the true ones (SD of logs 0.3).
_SAID_BELOW = 0.9  # Share of the information in repeated trials below which it is said: 5 % wider.
_METHODS = {"em": "EM", "vi": "Variational"}  # Classes of `irtkit` by the method of a result.


class Estimates(NamedTuple):
    """Items and abilities as a method left them, before orientation, unit and labels.

    Ability is N(0, 1), but where ``population`` says otherwise.
    """

    items: Items
    covariances: Array | None
    """Of slope, intercept (and logit of guessing), (n_items, k, k); None if not asked for."""
    unbounded: NDArray[np.bool_]
    """Items without a finite maximum, (n_items,)."""
    common_slope: bool
    ability: Array
    ability_se: Array
    synthetic_sd: float
    """SD of ability among synthetic respondents."""
    prior: dict[str, Any] | None
    """What is to be said of the prior, with what was learned."""
    log_likelihood: float
    converged: bool
    n_iterations: int
    trace_rows: Array
    nodes: Nodes
    quadrature_error: float
    trial_correlation: float | None
    """That of repeated trials; None if there are none."""
    posterior: Posterior | None = None
    population: Population | None = None
    """Mean and SD of ability, where they were estimated: the scale is then that of the items."""
    population_se: tuple[float, float] | None = None
    """Standard errors of its mean and SD, fixed items taken as known."""
    joint: ItemCovariance | None = None
    """The covariance of all items together."""

    def beside_unanswered(
        self, rows: Places, columns: Places, group: NDArray[np.int8], n_items: int
    ) -> Estimates:
        """The same among respondents and items without a response, which were set aside.

        Of them nothing is known but the common slope, and how ability is distributed in the
        ``group`` of each respondent; what was estimated is of ``rows`` and ``columns``.
        """
        mean, sd = self.population or (0.0, 1.0)
        ability, ability_se = np.full(len(group), mean), np.where(group, self.synthetic_sd, sd)
        ability[rows], ability_se[rows] = self.ability, self.ability_se
        parts = [np.full(n_items, np.nan) for part in self.items if part is not None]
        for part, known in zip(parts, self.items, strict=False):
            part[columns] = known
        if self.common_slope:
            parts[0][:] = self.items.slope[0]
        endless, covariances, joint = np.zeros(n_items, np.bool_), self.covariances, self.joint
        endless[columns] = self.unbounded
        if covariances is not None:
            covariances = np.full((n_items, *covariances.shape[1:]), np.nan)
            covariances[columns] = self.covariances
        if joint is not None:
            own = np.full((n_items, *joint.own.shape[1:]), np.nan)
            moves = np.zeros((n_items, *joint.moves.shape[1:]))
            own[columns], moves[columns] = joint.own, joint.moves
            joint = joint._replace(own=own, moves=moves)
        posterior = self.posterior
        if posterior is not None:
            posterior = posterior.beside_unanswered(rows, columns, ability_se, group > 0)
        return self._replace(
            items=Items(*parts),
            covariances=covariances,
            joint=joint,
            unbounded=endless,
            ability=ability,
            ability_se=ability_se,
            posterior=posterior,
        )


def result_of(
    estimates: Estimates,
    responses: ResponseMatrix,
    counts: Counts,
    proportion: ProportionScore,
    duplicates: NearDuplicates,
    *,
    model: ModelName,
    method: str,
    settings: Settings,
    by_chance: bool,
) -> FitResult:
    """Turn the scale the right way up, set the unit of Rasch, and put labels on.

    ``by_chance`` is whether respondents differ by chance alone.
    """
    synthetic = responses.synthetic
    stretch, latent_sd = _units(estimates, proportion, model)
    status = np.full(len(responses.items), "ok", dtype=object)
    if model != "Rasch":  # difficulties of slopes of 1 are as sure as intercepts
        answering = ~synthetic & (counts.respondent_responses > 0)
        status[_flat(estimates, counts, answering, by_chance=by_chance)] = "flat"
    status[counts.all_wrong | counts.all_right] = "no variance"
    status[estimates.unbounded] = "unbounded"
    status[unanswered := counts.item_responses == 0] = "no responses"
    parameters = _parameters(estimates, stretch, unanswered, settings.prior)
    nodes = estimates.nodes.theta * abs(stretch)
    posterior, population = estimates.posterior, estimates.population
    mean_se, sd_se = estimates.population_se or (None, None)
    # Those of items without a response are not counted.
    by_item, common = {"2PL": (2, 0), "3PL": (3, 0)}.get(model, (1, 1))
    posterior_sd = estimates.ability_se * abs(stretch)
    errors, joint = np.full((len(status), 4), np.nan), estimates.joint
    if (of_items := estimates.covariances) is not None:
        by = np.ones(of_items.shape[1])
        by[0] = 1 / stretch
        errors = item_errors(of_items * np.outer(by, by), parameters, model)
    if joint is not None:
        joint = joint.stretched(stretch, unit_slopes=model == "Rasch")
    return FitResult(
        model=model,
        method=method,
        settings=replace(
            settings,
            prior=estimates.prior,
            trial_correlation=estimates.trial_correlation,
            synthetic_ability_sd=estimates.synthetic_sd * abs(stretch) if synthetic.any() else None,
        ),
        item_labels=responses.items,
        respondent_labels=responses.respondents,
        parameters=parameters,
        standard_errors=errors,
        item_covariance=joint,
        status=tuple(status),
        ability=estimates.ability * stretch,
        posterior_sd=posterior_sd,
        synthetic=synthetic,
        near_duplicates=duplicates,
        counts=counts,
        latent_sd=latent_sd,
        latent_mean=0.0 if population is None else population.mean,
        latent_mean_se=mean_se,
        latent_sd_se=sd_se,
        log_likelihood=estimates.log_likelihood,
        n_parameters=int((~unanswered).sum()) * by_item + common,
        converged=estimates.converged,
        n_iterations=estimates.n_iterations,
        trace_rows=estimates.trace_rows,
        quadrature=Quadrature(
            n_nodes=estimates.nodes.n_nodes,
            lowest=float(nodes.min()),
            highest=float(nodes.max()),
            estimated_error=estimates.quadrature_error,
        ),
        responses=responses,
        posterior=None if posterior is None else posterior.stretched(stretch),
    )


def _units(
    estimates: Estimates, proportion: ProportionScore, model: ModelName
) -> tuple[float, float]:
    """Factor from ability here to ability in the result, and its SD among real respondents.

    The factor is below 0 if ability falls with how much real respondents get right: as a share of
    what they answered, less how easy that was, as the able may have met harder items.
    """
    if estimates.population is not None:
        return 1.0, estimates.population.sd
    if not estimates.common_slope:
        return -1.0 if proportion.value @ estimates.ability < 0 else 1.0, 1.0
    common = float(estimates.items.slope[0])  # the proportions right may all be equal
    if model == "Rasch":
        return common, abs(common)
    return -1.0 if common < 0 else 1.0, 1.0


def _parameters(
    estimates: Estimates, stretch: float, unknown: NDArray[np.bool_], prior: Prior | str | None
) -> ItemParameters:
    """Item parameters in units of ability times ``stretch``.

    Those of ``unknown`` items are NaN where no density speaks of them either.
    """
    from scipy.special import expit

    items = estimates.items
    slope, intercept = np.array(items.slope) / stretch, np.array(items.intercept)
    guessing = np.zeros_like(slope)
    if items.logit_guessing is not None:
        guessing = np.minimum(expit(np.array(items.logit_guessing)), 1 - 1e-12)
    if prior is None or isinstance(prior, ItemPrior):
        of = ItemPrior() if prior is None else prior
        if of.discrimination is None and not estimates.common_slope:
            slope[unknown] = np.nan
        if of.intercept is None:
            intercept[unknown] = np.nan
        if of.guessing is None and items.logit_guessing is not None:
            guessing[unknown] = np.nan
    return ItemParameters(slope, intercept, guessing)


def unbounded_items(
    prior: Prior | None, items: Items, information: NDArray[np.float64] | None
) -> NDArray[np.bool_]:
    """Which items have no finite maximum, as neither responses nor the prior hold them.

    ``information`` is the expected number of uncertain responses to every item, None if it is not
    known. Slopes are in units of the SD of ability, and `WeakPrior.steep` is a step.
    """
    slope_held = intercept_held = np.full(len(items.slope), prior is not None)
    if isinstance(prior, ItemPrior):
        slope_held, intercept_held = prior.holds(items)
    found = ~slope_held & (np.abs(items.slope) > WeakPrior.steep)
    if information is not None:
        found |= ~(slope_held & intercept_held) & (information < _UNBOUNDED_INFORMATION)
    return np.asarray(found)


def _flat(
    estimates: Estimates, counts: Counts, answering: NDArray[np.bool_], *, by_chance: bool
) -> NDArray[np.bool_]:
    """Items whose slope is not told from 0, and small: −intercept / slope is no difficulty.

    Small beside the median slope, unless respondents differ by chance, or are so few that it is not
    told from 0 by all items together: then none is large.

    Near a slope of 0 its information is Σ (dP/da)² / P(1 − P) = w Σ θ², θ the posterior means (what
    posteriors leave open is missing information; Louis 1982), with w = P(1 − P) without guessing.
    Repeated trials count for less by their correlation, as if all cells had as many.
    """
    from scipy.special import expit

    slope, responses = np.abs(np.array(estimates.items.slope)), counts.item_responses
    right = counts.item_right / np.maximum(responses, 1)
    logit_guessing = estimates.items.logit_guessing
    guessing = 0.0 if logit_guessing is None else expit(np.array(logit_guessing))
    above = np.maximum(right - guessing, 0) / (1 - guessing)
    uncertain = np.divide(above**2 * (1 - right), right, out=np.zeros_like(right), where=right > 0)
    trials = np.maximum(responses / answering.sum(), 1)
    effect = 1 + (trials - 1) * (estimates.trial_correlation or 0.0)
    information = responses / effect * uncertain * estimates.ability[answering].var()
    varied = (right > 0) & (right < 1)
    usual = float(np.median(slope[varied])) if varied.any() else 0.0
    steep = usual * information.sum() ** 0.5 >= _FROM_ZERO
    if estimates.common_slope:
        return np.full(len(slope), not steep)
    no_slope = by_chance or (answering.sum() < _FEW and not steep)
    small = True if no_slope else slope < _FLAT * usual
    return np.asarray(small & (slope * information**0.5 < _FROM_ZERO))


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
    found, duplicates = result.near_duplicates, []
    if found.found:
        remedy = Remedy({}, "by-family", code="result.with_clustered_errors(families=…)")
        values = {"n": found.n, "n_eff": round(found.n_eff), "share": found.share}
        duplicates = [Finding("near-duplicates", "note", values, (remedy,))]
    findings = [
        *([] if guessing is None else [_at_chance(result, guessing)]),
        *_of_items(result, patterns),
        *_of_design(result, structure),
        *([_warning("no-differences")] if by_chance and not sloped else []),
        *(_correlated_trials(result, patterns) if counted_anew else []),
        *duplicates,
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
    if (n := result.n_answering) < _UNSURE:
        slopes = {"model": result.model} if result.model in {"2PL", "3PL"} else {}
        yield _warning("few-systems", n=n, least=_UNSURE, error=float(0.98 / np.sqrt(n)), **slopes)


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
