"""What a method estimated, made a result: right way up, in the unit of the model, with findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.calibrated import mixed
from irtkit.calibration.priors import ItemPrior, WeakPrior
from irtkit.calibration.result import FitResult, Quadrature, Settings
from irtkit.calibration.standard_errors import item_errors
from irtkit.data.limits import BOUND, BOUND_OF_SQUARES, dimensionality
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, proportion_score
from irtkit.findings import Finding, Remedy
from irtkit.irf import OF_LEVELS, Z95, ItemParameters, Items, ModelName, logistic
from irtkit.responses.guessing import near_chance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.likelihood import Population
    from irtkit.calibration.priors import Prior
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.calibration.variational.posterior import Posterior
    from irtkit.data.limits import AtChance, Connectivity
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Mask, Patterns, Places
    from irtkit.irf import Array
    from irtkit.quadrature import Nodes
    from irtkit.responses import ResponseMatrix

_METHODS = {"em": "EM", "vi": "Variational"}  # Classes of `irtkit` by the method of a result.


@dataclass(frozen=True)
class _Caution:
    """What makes a finding of a fit (``benchmarks/false_findings.py``)."""

    # ΣP(1 − P) of a perfect fit: one answer errs once in 19 times.
    unbounded_information: float = 0.05
    # Of the median slope. Of log slopes of SD 0.4 up to 2 % are below (n 60 to 130).
    flat: float = 1 / 3
    fewest_for_several: int = 30  # Systems from which on abilities="auto" looks for several.
    few: int = 4  # Respondents below which there is one way to split them, one against one or two.
    # With fewer systems, slopes correlate 0.1 to 0.2 with the true ones (SD of logs 0.3).
    unsure: int = 8
    # Rank correlation of ability and accuracy: above it for one ability.
    with_accuracy: float = 0.5
    # Share of the information in repeated trials below which it is said: 5 % wider.
    said_below: float = 0.9


_CAUTION = _Caution()


class Specification(NamedTuple):
    """What a fit is to estimate, and from which responses."""

    responses: ResponseMatrix
    patterns: Patterns  # Of all respondents and items.
    rows: Places  # Respondents with a response.
    columns: Places  # Items that are estimated; of the others nothing is known.
    model: ModelName
    item_model: ModelName  # Model of the items that are estimated, such as "1PL" for Rasch.
    method: str
    settings: Settings
    prior: Any  # Of all items.
    start: Items | None  # Items to start from, NaN where they are unknown.
    levels: Mask | None  # Which items have ordered levels; None without any model.
    anchors: CalibratedItems | None
    fixed: ItemParameters | None  # Parameters of all items, NaN where they are free.

    @property
    def is_fixed(self) -> Mask:
        """Which items keep the parameters of an earlier fit, (n_items,)."""
        if self.fixed is None:
            return np.zeros(self.patterns.n_items, bool)
        return self.fixed.known

    def counted(self, correlation: float) -> Patterns:
        """The patterns with trials, or points, that are correlated as they are."""
        by_item: Any = correlation
        if self.item_model in OF_LEVELS and self.levels is not None:
            of_points = correlation_of_points(self.patterns, self.levels)
            by_item = np.where(self.levels, of_points, correlation)
        return self.patterns.with_trial_correlation(by_item)


def correlation_of_points(patterns: Patterns, levels: Mask) -> float:
    """Correlation of points, as of trials, with which levels vary as they do over respondents."""
    if patterns.trials is None:
        return 0.0
    seen = (patterns.trials > 0) & levels
    n = np.maximum(seen.sum(axis=0), 1)
    top = np.maximum(patterns.trials.max(axis=0), 1.0)
    share = patterns.cells.sum(axis=0) / n / top
    deviation = np.where(seen, patterns.cells / top - share, 0.0)
    single = n * share * (1 - share)
    independent = single / top
    beyond = (deviation**2).sum() - independent.sum()
    most = np.maximum((single - independent).sum(), 1e-9)
    return float(np.clip(beyond / most, 0.0, 1.0))


class Estimates(NamedTuple):
    """Items and abilities as a method left them, before orientation, unit and labels.

    Ability is N(0, 1), but where ``population`` says otherwise.
    """

    items: Items
    covariances: Array | None
    """Of slope, intercept (and logit of guessing), or slope and steps, (n_items, k, k)."""
    unbounded: Mask  # Items without a finite maximum, (n_items,).
    common_slope: bool
    ability: Array
    ability_se: Array
    synthetic_sd: float  # SD of ability among synthetic respondents.
    prior: dict[str, Any] | None  # What is to be said of the prior, with what was learned.
    log_likelihood: float
    converged: bool
    n_iterations: int
    trace_rows: Array
    nodes: Nodes
    quadrature_error: float
    trial_correlation: float | None  # That of repeated trials; None if there are none.
    posterior: Posterior | None = None
    population: Population | None = None  # If estimated: the scale is then that of the items.
    population_se: tuple[float, float] | None = None  # Of mean and SD, fixed items known.
    dispersion: Array | None = None  # Of the scores of every item; None if there are none.
    joint: ItemCovariance | None = None  # The covariance of all items together.


def result_of(
    specification: Specification,
    estimates: Estimates,
    duplicates: NearDuplicates,
    *,
    by_chance: bool,
) -> FitResult:
    """Turn the scale the right way up, set the unit of Rasch, and give every item its place.

    Ability is reversed if it falls with the accuracy of real respondents. Accuracy is corrected for
    the easiness of the items answered, as able respondents may have met harder items. Of
    respondents and items without responses only the common slope and the population are known.
    ``by_chance`` is whether respondents differ by chance alone.
    """
    patterns = specification.patterns
    model = specification.model
    columns = specification.columns
    synthetic = specification.responses.synthetic
    counts = patterns.counts
    n_items = len(counts.item_responses)
    mean, sd = estimates.population or (0.0, 1.0)

    def of_all_items(values: Any) -> Any:
        table = np.full((n_items, *values.shape[1:]), np.nan)
        table[columns] = values
        return table

    slope, intercept, logits = estimates.items[:3]
    if estimates.items.levels is not None:
        intercept = estimates.items.mean_intercept
    slope = of_all_items(slope)
    intercept = of_all_items(intercept)
    if estimates.common_slope:
        slope[:] = estimates.items.slope[0]
    ability = np.full(len(synthetic), mean)
    ability[specification.rows] = estimates.ability
    posterior_sd = np.where(synthetic, estimates.synthetic_sd, sd)
    posterior_sd[specification.rows] = estimates.ability_se
    items = Items(slope, intercept, None if logits is None else of_all_items(logits))
    estimates = estimates._replace(ability=ability)
    stretch = _stretch(estimates, items, patterns, model)
    status = _status(estimates, items, specification, by_chance=by_chance)
    parameters = _parameters(specification, estimates, items, stretch)
    per_item, common = {"2PL": (2, 0), "3PL": (3, 0)}.get(model, (1, 1))
    if specification.fixed is not None:
        common = 2
    estimated = (counts.item_responses > 0) & ~specification.is_fixed
    n_parameters = int(estimated.sum()) * per_item + common
    if specification.levels is not None:
        n_reached = (~np.isnan(parameters.steps)).sum(axis=1)
        status[(n_reached == 1) & (status != "no responses")] = "no variance"
        n_parameters = int(n_reached.sum())
        counts = patterns.points
    errors = _errors(specification, estimates, parameters, stretch)
    joint = estimates.joint
    posterior = estimates.posterior
    if joint is not None:
        joint = joint._replace(
            alone=of_all_items(joint.alone), moves=np.nan_to_num(of_all_items(joint.moves))
        )
        joint = joint.stretched(stretch, unit_slopes=model == "Rasch")
    if posterior is not None:
        posterior = posterior.of_all(
            of_all_items, specification.rows, synthetic, posterior_sd, stretch
        )
    settings = replace(
        specification.settings,
        prior=estimates.prior,
        trial_correlation=estimates.trial_correlation,
        synthetic_ability_sd=estimates.synthetic_sd * abs(stretch) if synthetic.any() else None,
    )
    dispersions = None
    if patterns.scored is not None:
        dispersions = np.where(patterns.scored, 1.0, np.nan)
        if estimates.dispersion is not None:
            dispersions[columns] *= estimates.dispersion
    nodes = estimates.nodes.theta * abs(stretch)
    lowest = float(nodes.min())
    highest = float(nodes.max())
    return FitResult(
        model=model,
        method=specification.method,
        item_labels=specification.responses.items,
        respondent_labels=specification.responses.respondents,
        settings=settings,
        parameters=parameters,
        standard_errors=errors,
        item_covariance=joint,
        status=tuple(status),
        ability=ability * stretch,
        posterior_sd=posterior_sd * abs(stretch),
        synthetic=synthetic,
        near_duplicates=duplicates,
        counts=counts,
        latent_sd=float(sd) * (abs(stretch) if model == "Rasch" else 1.0),
        latent_mean=float(mean),
        n_parameters=n_parameters,
        dispersion=dispersions,
        quadrature=Quadrature(len(nodes), lowest, highest, estimates.quadrature_error),
        posterior=posterior,
        log_likelihood=estimates.log_likelihood,
        converged=estimates.converged,
        n_iterations=estimates.n_iterations,
        trace_rows=estimates.trace_rows,
        responses=specification.responses,
    )


def _errors(
    specification: Specification, estimates: Estimates, parameters: ItemParameters, stretch: float
) -> Array:
    """Standard errors of the parameters of all items, NaN where they are unknown."""
    n_thresholds = 0 if parameters.steps is None else parameters.steps.shape[1] - 1
    errors = np.full((parameters.n_items, 4 + n_thresholds), np.nan)
    if estimates.covariances is not None:
        factors = np.ones(estimates.covariances.shape[1])
        factors[0] = 1 / stretch
        covariances = np.full((parameters.n_items, len(factors), len(factors)), np.nan)
        covariances[specification.columns] = estimates.covariances * np.outer(factors, factors)
        errors = item_errors(covariances, parameters, specification.model)
    if specification.anchors is not None:
        is_fixed = specification.is_fixed
        places = specification.anchors.places_of(specification.responses.items)
        errors[is_fixed] = specification.anchors.standard_errors[places[is_fixed]]
    return errors


def _stretch(estimates: Estimates, items: Items, patterns: Patterns, model: ModelName) -> float:
    """Ability in the result, by ability as it was estimated: the unit, or −1 if it is turned round.

    Fixed items set the scale.
    """
    if estimates.population is not None:
        return 1.0
    if estimates.common_slope:  # the proportions right may all be equal
        slope = float(items.slope[0])
        return slope if model == "Rasch" else float(np.copysign(1.0, slope))
    rises = proportion_score(patterns).value @ estimates.ability >= 0
    return 1.0 if rises else -1.0


def _parameters(
    specification: Specification, estimates: Estimates, items: Items, stretch: float
) -> ItemParameters:
    """Parameters of all items, NaN of the unanswered ones of which no density speaks.

    Fixed items keep theirs to the last digit. With levels, items of two of these have one step.
    """
    patterns = specification.patterns
    prior = specification.settings.prior
    slope, intercept, logits = items[:3]
    slope = slope / stretch
    guessing = np.zeros(len(slope))
    if logits is not None:
        guessing = np.minimum(logistic(logits), 1 - 1e-12)
    if prior is None or isinstance(prior, ItemPrior):
        unanswered = patterns.counts.item_responses == 0
        densities = ItemPrior() if prior is None else prior
        if densities.discrimination is None and not estimates.common_slope:
            slope[unanswered] = np.nan
        if densities.intercept is None:
            intercept[unanswered] = np.nan
        if densities.guessing is None and logits is not None:
            guessing[unanswered] = np.nan
    parameters = ItemParameters(slope, intercept, guessing)
    if specification.fixed is not None:
        return mixed(specification.is_fixed, specification.fixed, parameters)
    if specification.levels is None:
        return parameters
    top = np.ones(len(slope))
    if patterns.trials is not None:
        top = np.where(specification.levels, patterns.trials.max(axis=0), 1.0)
    steps = np.full((len(slope), int(top.max()) + 1), np.nan)
    levels = estimates.items.levels
    if levels is None:
        steps[:, 1] = intercept
        steps[:, 0] = 0.0 * intercept
    else:
        of_levels = np.pad(levels.steps, ((0, 0), (1, 0)))
        of_levels[np.isneginf(of_levels)] = np.nan
        rows = specification.columns[:, None]
        steps[rows, levels.scores.astype(np.intp)] = of_levels
    return replace(parameters, steps=steps, top=top, model=specification.model)


def unbounded_items(prior: Prior | None, items: Items, information: Array | None) -> Mask:
    """Items without a finite maximum, because neither responses nor the prior bound them.

    ``information`` is the expected number of uncertain responses to every item, None if it is not
    known. Slopes are in units of the SD of ability, and `WeakPrior.steep` is a step.
    """
    slope_held = intercept_held = np.full(len(items.slope), prior is not None)
    if isinstance(prior, ItemPrior):
        slope_held, intercept_held = prior.holds(items)
    endless = ~slope_held & (np.abs(items.slope) > WeakPrior.steep)
    if information is not None:
        endless |= ~(slope_held & intercept_held) & (information < _CAUTION.unbounded_information)
    return endless


def _status(
    estimates: Estimates,
    items: Items,
    specification: Specification,
    *,
    by_chance: bool,
) -> NDArray[np.object_]:
    """Status of every item.

    An item is flat if its slope is small and may be 0, so that −intercept / slope is not a
    difficulty. Small is relative to the median slope. If respondents differ by chance only, or are
    too few for a median slope that differs from 0, all slopes are small.

    Near a slope of 0 its information is Σ (dP/da)² / P(1 − P) = w Σ θ², θ the posterior means (what
    posteriors leave open is missing information; Louis 1982), with w = P(1 − P) without guessing.
    The correlation of repeated trials lowers the information, as if all cells had as many.
    """
    patterns = specification.patterns
    counts = patterns.counts
    responses = counts.item_responses
    answering = patterns.answering
    n_answering = answering.sum()
    slope, _, logits = items[:3]
    slope = np.abs(slope)
    right = counts.item_right / np.maximum(responses, 1)
    guessing = 0.0 if logits is None else logistic(logits)
    above = np.maximum(right - guessing, 0) / (1 - guessing)
    odds_wrong = (1 - right) / np.where(right > 0, right, np.inf)
    trials = np.maximum(responses / n_answering, 1)
    effect = 1 + (trials - 1) * (estimates.trial_correlation or 0.0)
    n_effective = responses / effect * patterns.score_worth(estimates.trial_correlation)
    variance = estimates.ability[answering].var()
    information = n_effective * above**2 * odds_wrong * variance
    varied = (right > 0) & (right < 1)
    usual = float(np.median(slope[varied])) if varied.any() else 0.0
    steep = usual * information.sum() ** 0.5 >= Z95
    no_slope = by_chance or (n_answering < _CAUTION.few and not steep)
    small = True if no_slope else slope < _CAUTION.flat * usual
    flat = small & (slope * information**0.5 < Z95)
    if estimates.common_slope:
        flat[:] = not steep
    status = np.full(len(responses), "ok", dtype=object)
    if specification.model != "Rasch":  # difficulties of slopes of 1 are as sure as intercepts
        status[flat] = "flat"
    status[counts.all_wrong | counts.all_right] = "no variance"
    status[specification.columns[estimates.unbounded]] = "unbounded"
    status[responses == 0] = "no responses"
    return status


def of_levels(result: FitResult, patterns: Patterns, levels: Mask) -> Iterator[Finding]:
    """Levels that nobody reached, and items of other kinds next to those with levels."""
    parameters = result.parameters
    n_items = len(levels)
    n_reached = (~np.isnan(parameters.steps)).sum(axis=1)
    absent = (n_reached > 0) & (n_reached <= parameters.top)
    if absent.any():
        labels = [*compress(result.item_labels, absent)]
        sizes = {"n": len(labels), "n_items": n_items, "model": result.model}
        yield Finding("levels-not-reached", "note", {**sizes, "items": labels})
    if levels.all() or not levels.any():
        return
    nothing = np.zeros(n_items, bool)
    scored = nothing if patterns.scored is None else patterns.scored
    repeated = nothing if patterns.trials is None else patterns.trials.max(axis=0) > 1
    kinds = {
        "right or wrong": ~scored & ~repeated,
        "scores": scored,
        "trials": repeated & ~scored,
    }
    numbers = {name: int((kind & ~levels).sum()) for name, kind in kinds.items()}
    words = ", ".join(f"{n} {name}" for name, n in numbers.items() if n)
    sizes = {"n": int(levels.sum()), "n_items": n_items, "model": result.model}
    yield Finding("mixed-items", "note", {**sizes, "kinds": words})


def _warning(code: str, *remedies: Remedy, **values: Any) -> Finding:
    return Finding(code, "warning", values, remedies)


def of_guessing(result: FitResult, guessers: AtChance | None) -> list[Finding]:
    """Systems that score no better than guessing, or seem to, between options not declared."""
    if guessers is None:
        return [] if result.responses is None else near_chance(result.responses)
    systems = [result.respondent_labels[row] for row in guessers.rows]
    of = result.n_answering
    values = {"systems": systems, "level": guessers.level, "highest": guessers.highest}
    values |= {"n_options": 2} if guessers.opposite else {}
    code = "result.responses.drop(result.at_chance)"
    others = [Remedy({"drop": "at-chance"}, "leave-out", code=code)] if len(systems) < of else []
    return [_warning("systems-at-chance", *others, n=len(systems), n_systems=of, **values)]


_FINITE = Remedy({"prior": "weak"}, "finite")


def of_unbounded(result: FitResult) -> Iterator[Finding]:
    """Items whose likelihood has no finite maximum."""
    status = np.array(result.status)
    if (unbounded := status == "unbounded").any():
        yield _warning("unbounded-items", _FINITE, **_named(result, unbounded))


def _named(result: FitResult, which: Mask) -> dict[str, Any]:
    labels = [*compress(result.item_labels, which)]
    return {"n": len(labels), "n_items": len(which), "items": labels}


def of_items(result: FitResult, patterns: Patterns) -> Iterator[Finding]:
    """A search that found no maximum, drifted items, and what the responses do not determine.

    Responses to n items are 2ⁿ patterns, with 2ⁿ − 1 free probabilities, however many respondents
    there are. Repeated trials, and synthetic respondents of other abilities, give more information.
    """
    settings = result.settings
    status = np.array(result.status)
    prior = settings.prior or {}
    n_items = len(status)
    usual = np.isin(status, ["ok", "flat"])
    sloped = result.model in {"2PL", "3PL"}
    unbounded = status == "unbounded"
    yield from of_unbounded(result)
    if not (result.converged or unbounded.any()):
        last = result.trace_rows[-1]
        steps = result.n_iterations
        twice = 2 * settings.max_iterations
        kind = _METHODS[result.method]
        more = Remedy({}, code=f"method=irtkit.{kind}(max_iterations={twice})")
        if result.method == "vi":
            yield _warning("elbo-not-settled", more, elbo=float(last[4]), n_iterations=steps)
        else:
            remedies = [more] * (steps >= settings.max_iterations) + [_FINITE] * (not prior)
            values = {"change": float(last[3]), "tol": settings.tol, "n_iterations": steps}
            yield _warning("not-converged", *remedies, **values)
    anchors = result.anchors
    fixed = np.zeros(n_items, bool)
    if anchors is not None:
        fixed = anchors.fixed
    if anchors is not None and (n_drifting := int(anchors.drifts.sum())):
        easier = anchors.drift_z > 0
        sides = {"easier": anchors.drifts & easier, "harder": anchors.drifts & ~easier}
        values = {side: _named(result, which)["items"] for side, which in sides.items()}
        remedy = Remedy({}, code="fixed=earlier.items.drop(result.items.query('drifts').index)")
        values |= {"n": n_drifting, "n_fixed": int(fixed.sum()), "fdr": FALSE_DISCOVERY_RATE}
        yield _warning("anchor-drift", remedy, **values)
    n = int((usual | unbounded).sum())
    times = {"intercept": n, "discrimination": n if sloped else 1}
    times |= {"guessing": n} if result.model == "3PL" else {}
    free = sum(times[name] for name in times if prior.get(name) is None)
    held = prior.get("kind", "ItemPrior") != "ItemPrior"
    if n and free >= 2**n and not (held or patterns.repeated or result.synthetic.any()):
        values = {"n_items": n, "n_parameters": free, "n_determined": 2**n - 1}
        unique = Remedy({"prior": "weak"}, "unique")
        yield _warning("too-few-items", unique, model=result.model, **values)
        return
    without_error = np.isnan(result.standard_errors[:, [1, 3]]).any(axis=1)
    lacking = usual & ~fixed & without_error
    if lacking.any() and settings.standard_errors:
        may_help = () if prior else (Remedy({"prior": "weak"}),)
        yield _warning("no-standard-errors", *may_help, **_named(result, lacking))


def of_any_systems(
    result: FitResult,
    patterns: Patterns,
    duplicates: NearDuplicates,
    *remedies: Remedy,
    no_differences: bool,
    counted_anew: bool,
) -> Iterator[Finding]:
    """Systems that are few or alike, or differ by chance, and trials that repeat each other.

    For any number of abilities. ``remedies`` are those of near-duplicates.
    """
    if (n := result.n_answering) < _CAUTION.unsure:
        slopes = {"model": result.model} if result.model in {"2PL", "3PL"} else {}
        yield _warning(
            "few-systems", n=n, least=_CAUTION.unsure, error=float(0.98 / np.sqrt(n)), **slopes
        )
    if no_differences:
        yield _warning("no-differences")
    if counted_anew:
        tried = patterns.trials[patterns.real]
        tried = tried.data if patterns.sparse else tried
        parameters = getattr(result, "parameters", None)
        if parameters is not None and parameters.steps is not None:  # points are no trials
            tried = tried[:, parameters.top == 1]
        several = tried[tried > 1]
        typical = float(np.median(several)) if several.size else 0.0
        correlation = result.settings.trial_correlation or 0.0
        effective = typical / (1 + (typical - 1) * correlation)
        if 0 < effective <= _CAUTION.said_below * typical:
            values = {"correlation": correlation, "trials": typical, "effective": effective}
            yield _warning("correlated-trials", model=result.model, **values)
    if duplicates.matter:
        n_eff = round(duplicates.n_eff)
        values = {"n": duplicates.n, "n_eff": n_eff, "share": duplicates.share}
        yield Finding("near-duplicates", "note", values, remedies)


def of_systems(
    result: FitResult,
    patterns: Patterns,
    counted: Patterns,
    structure: Connectivity,
    *,
    by_chance: bool,
    counted_anew: bool,
) -> Iterator[Finding]:
    """Respondents that are hardly linked, few, or alike, and what one ability does not explain.

    ``by_chance`` says that accuracies differ by chance only, which can happen with clear abilities
    if many items are inverted. ``counted_anew`` says that repeated trials agree and have less
    weight.
    """
    parts, linked, gap = structure
    if parts is not None:
        counts = [np.bincount(part, minlength=parts.n + 1)[1:] for part in parts]
        sizes = [f"{n} × {n_items}" for n, n_items in zip(*counts, strict=True)]
        code = "hardly-linked-groups" if linked else "disconnected-groups"
        yield _warning(code, n=parts.n, sizes=sizes)
    if gap is not None:
        lowest = result.respondent_labels[gap.x.argmin()]
        highest = result.respondent_labels[gap.x.argmax()]
        values = {"shown": float(gap.shown)}
        if gap.is_significant:
            values = {"gap": float(gap.size), "unshrunk": float(gap.unshrunken)}
        code = "gap-shrunk" if gap.is_significant else "gap-hidden"
        known_items = Remedy({"fixed": ...}, "known-items")
        yield _warning(code, known_items, one=lowest, other=highest, **values)
    # Most slopes differ from 0: of noise up to half do, without a prior, and none with one.
    more_ok = result.status.count("ok") > result.status.count("flat")
    no_differences = by_chance and not (result.model in {"2PL", "3PL"} and more_ok)
    duplicates = result.near_duplicates
    remedy = Remedy({}, "by-family", code="result.with_clustered_errors(families=…)")
    yield from of_any_systems(
        *(result, patterns, duplicates, remedy),
        no_differences=no_differences,
        counted_anew=counted_anew,
    )
    rho = 1.0
    if result.model in {"2PL", "3PL"} and result.n_answering >= _CAUTION.unsure and not by_chance:
        who: Any = result.answering
        accuracy = proportion_score(patterns).value[who]
        rho = float(np.corrcoef(_ranks(accuracy), _ranks(result.ability[who]))[0, 1])
    if rho < _CAUTION.with_accuracy:
        remedy = Remedy({"abilities": "auto"}, "several-abilities")
        values = {"n": result.n_answering, "rho": rho}
        yield _warning("ability-not-accuracy", remedy, **values)
    dimensions = dimensionality(counted, duplicates)
    if dimensions is None:
        return
    copies = {"n_systems": duplicates.n} if duplicates.matter else {}
    if dimensions.eigenvalue > BOUND:
        table = None if result.responses is None else result.responses.item_table
        several = table is not None and "task" in table and table["task"].nunique() > 1
        remedies = [Remedy({"task": ...}, "each-task")] if several else []
        if result.model == "2PL" and duplicates.n_eff >= _CAUTION.fewest_for_several:
            remedies.append(Remedy({"abilities": "auto"}, "several-abilities"))
        yield _warning("further-ability", *remedies, z=dimensions.eigenvalue, bound=BOUND, **copies)
    else:
        clusters = Remedy({"clusters": ...}, "clusters")
        squares = {"z": dimensions.squares, "bound": BOUND_OF_SQUARES}
        yield _warning("item-groups", clusters, **squares, **copies)


def _ranks(values: Array) -> NDArray[np.int64]:
    """Ranks of values rounded to nine digits, equal ones by place.

    A stable sort of the values themselves takes three times as long.
    """
    n = len(values)
    distinct = np.rint(values * 1e9).astype(np.int64) * n + np.arange(n)
    return distinct.argsort().argsort()
