"""The function `fit` and the settings of its methods, checked before anything heavy is loaded."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.calibration.calibrated import calibrated_items
from irtkit.calibration.priors import ItemPrior, WeakPrior, prior_of
from irtkit.calibration.result import FORMAT, FitResult, Settings, is_saved, saved_in
from irtkit.capabilities import EMPIRICAL, LEVELS, ON_DEVICES, SEVERAL, VARIATIONAL, require
from irtkit.checks import (
    as_number,
    check_memory,
    check_number,
    check_seed,
    check_whole,
    check_yes_or_no,
    did_you_mean,
    is_whole,
    short,
)
from irtkit.findings import Finding, warn
from irtkit.io.reading import READING, as_responses
from irtkit.irf import OF_LEVELS, model_name
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix
from irtkit.responses.levels import kinds_of, level_items
from irtkit.responses.tables import FOUND
from irtkit.storage import name_of
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jax.sharding import Mesh

    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.irf import ModelName

_OF_FIT = {"levels-taken", "faulty-judges", "judge-favours"}
"""Findings about how responses came about that a fit repeats."""
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@dataclass(frozen=True, kw_only=True)
class EM:
    """Marginal maximum likelihood, for ``irtkit.fit(method=irtkit.EM(...))``.

    This is the default method. Use the class to change its tolerance, its number of iterations or
    the devices on which it runs.

    Parameters
    ----------
    tol : float, default 1e-7
        Tolerance, in units of the log-likelihood (nats). The fit has converged when a full step
        promises to raise the penalised log-likelihood by less than this, twice in a row.
    max_iterations : int, default 1000
        Largest number of evaluations of the likelihood. A fit that needs more warns "Not
        converged".
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, such as ``jax.make_mesh((jax.device_count(),),
        ("all",))``. Default: NumPy, or the default device of JAX for large matrices.

    Raises
    ------
    TypeError
        If `tol` is not a number, or `mesh` is not a mesh.
    ValueError
        If `tol` or `max_iterations` is out of range.

    Notes
    -----
    Abilities are integrated out over a normal population (Bock & Aitkin 1981). A quasi-Newton
    search whose metric is an EM step finds the maximum (Jamshidian & Jennrich 1997). Missing cells
    take no part in the likelihood. The page "How it computes" describes the search.

    One step that promises less than `tol`, and less than a tenth of the step before, is enough.
    Estimates are then within about √(2·tol) standard errors of the maximum: 0.0004 by default.

    With several processes (after ``jax.distributed.initialize``) each process calls ``fit`` with
    the same arguments and the whole matrix, and gets the same result.

    References
    ----------
    Bock & Aitkin (1981), *Psychometrika* 46, 443–459.
    Jamshidian & Jennrich (1997), *Journal of the Royal Statistical Society B* 59, 569–587.

    See Also
    --------
    irtkit.fit, irtkit.Variational

    Examples
    --------
    >>> import irtkit
    >>> irtkit.fit([[1, 0], [0, 1], [1, 1], [0, 0]] * 20, method=irtkit.EM(tol=1e-9)).converged
    True
    """

    tol: float = 1e-7
    max_iterations: int = 1000
    mesh: Mesh | None = None

    name = "em"
    batch = None

    def __post_init__(self) -> None:
        _check(self.tol, self.max_iterations, self.mesh)


@dataclass(frozen=True, kw_only=True)
class Variational:
    """Variational posterior, for ``irtkit.fit(method=irtkit.Variational(...))``.

    Use it for draws from the posterior, or to work on some of the respondents at a time.
    ``irtkit.fit(method="vi")`` has the default settings.

    Parameters
    ----------
    tol : float, default 0.03
        Tolerance, in posterior SDs. The fit has converged when a step of the posterior means, in
        root mean square, is below this.
    max_iterations : int, default 1000
        Largest number of steps. A fit that needs more warns "Not converged".
    batch : int, optional
        Number of respondents to work on at a time, which bounds memory. The result is the same but
        for rounding and the start. Default: all.
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, as for :class:`EM`.

    Raises
    ------
    TypeError
        If `tol` is not a number or `mesh` is not a mesh.
    ValueError
        If `tol`, `max_iterations` or `batch` is out of range.

    Notes
    -----
    The posterior of the items is approximated by a joint normal distribution in suitable
    coordinates. It maximises the evidence lower bound (Opper & Archambeau 2009). Abilities are
    integrated out, as in EM. Missing cells take no part.

    Intervals of 90 % covered 84 to 98 % of the true values in simulations with 12 to 500
    respondents. The exception is 80 %, for abilities of 12 respondents with the weak prior. The
    page "Speed and accuracy" has the table. With guessing (3PL) and a learned chance level they
    covered 87 to 93 % with 300 to 1,000 respondents.

    In the result, discrimination, intercept and guessing are posterior means, and their ``_se``
    columns posterior SDs. The posterior of difficulty may lack a mean. Difficulty is therefore
    computed from the posterior means, and its error by the delta method. ``ability_se`` includes
    the uncertainty of the items. ``result.posterior`` gives draws and intervals. An
    :class:`irtkit.ItemPrior` needs all its densities.

    References
    ----------
    Opper & Archambeau (2009), *Neural Computation* 21, 786–792.

    See Also
    --------
    irtkit.fit, irtkit.EM

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [0, 1], [1, 1], [0, 0]] * 20)
    >>> result = irtkit.fit(responses, method=irtkit.Variational(batch=40))
    >>> result.method, result.settings.batch
    ('vi', 40)
    """

    tol: float = 0.03
    max_iterations: int = 1000
    batch: int | None = None
    mesh: Mesh | None = None

    name = "vi"

    def __post_init__(self) -> None:
        _check(self.tol, self.max_iterations, self.mesh)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)


def fit(
    responses: object,
    model: ModelName | None = None,
    *,
    abilities: Any = 1,
    method: Literal["em", "vi"] | EM | Variational = "em",
    prior: PriorName | Prior | None = "weak",
    fixed: object = None,
    seed: int = 0,
    quadrature: Literal["adaptive"] | tuple[int, float] = "adaptive",
    standard_errors: bool = True,
    progress: bool | None = None,
    **reading: Any,
) -> FitResult:
    """Fit an item response model: difficulty, discrimination, guessing, and abilities.

    Use :func:`irtkit.audit` on the result to find suspect items, its ``leaderboard`` to rank
    systems, and :func:`irtkit.score` for new systems.

    Parameters
    ----------
    responses : ResponseMatrix, path, DataFrame, array or records
        Rows are respondents (systems), columns items. Cells are 1 (right), 0 (wrong), a score
        between them, a level, or empty (missing). Anything that :func:`irtkit.read_responses`
        takes.
    model : {"2PL", "1PL", "Rasch", "3PL", "GPCM", "GRM"}, optional
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL", "3PL" (with guessing), "GPCM" or "GRM" (ordered levels). The default is the 2PL, or
        the GPCM if some items have 3 to 7 levels.
    abilities : int, str or mapping, default 1
        Number of abilities (2PL): 1, 2, 3, …, or "auto" (as many as predict held-out answers
        best). "task" has one per task, "bifactor" also a general one. A mapping names the ability
        of each item.
    method : {"em", "vi"}, EM or Variational, default "em"
        "em" (marginal maximum likelihood), "vi" (variational posterior), or an :class:`irtkit.EM`
        or :class:`irtkit.Variational` with settings such as tolerance, devices and batches.
    prior : {"weak", "empirical"}, WeakPrior, ItemPrior or None, default "weak"
        "weak" keeps estimates finite. "empirical" also learns how items are distributed (2PL, 3PL).
        None is plain maximum likelihood ("em" only). Or an :class:`irtkit.WeakPrior` or
        :class:`irtkit.ItemPrior`.
    fixed : FitResult, DataFrame or path, optional
        Items that keep their parameters, from an earlier result, a table of items, or the path of
        either. Labels identify them. New items are put on their scale. For "em" without a mesh.
    seed : int, default 0
        Seed of random draws. The same seed gives the same numbers. "em" draws nothing at random.
    quadrature : "adaptive" or (int, float), default "adaptive"
        Quadrature points over ability. "adaptive" follows the posteriors. (points, limit) is a
        fixed grid, equally spaced on [−limit, limit] in SDs: (61, 6.0) is that of R's mirt.
    standard_errors : bool, default True
        Whether to compute standard errors, from the observed information.
    progress : bool, optional
        Whether to show progress. Default: on a terminal and in a notebook.
    **reading : optional
        Settings of :func:`irtkit.read_responses`, such as ``right="correct"`` or
        ``threshold=0.5``, for responses that are not a ResponseMatrix.

    Returns
    -------
    FitResult
        One ability. ``items`` and ``respondents`` are tables with standard errors, and ``findings``
        says what limits them. Ability has mean 0 and SD 1 in the population of the real respondents
        (Rasch: SD ``latent_sd``). Discrimination is in logits per SD, without a factor of 1.7.
    FitResult
        Several abilities.

    Raises
    ------
    TypeError
        If an argument has a wrong type, or a name is not an argument of ``fit``.
    irtkit.findings.ReadingError
        If responses cannot be read, or need a choice, which the message lists. A ValueError.
    ValueError
        If an argument is out of range, or the model, method and prior do not go together.
    FileNotFoundError
        If a path does not exist.

    Warns
    -----
    irtkit.IRTWarning
        Once for each of ``result.findings`` that is a warning, with its ``code``. The page
        "Warnings" lists the codes.

    Notes
    -----
    The 3PL has P(right) = c + (1 − c) / (1 + exp(−a(θ − b))), with ability θ, discrimination a,
    difficulty b and guessing c. The 2PL has c = 0, the 1PL one common a, and Rasch a = 1. Items
    are estimated with abilities integrated out (Bock & Aitkin 1981). Abilities are posterior means.

    Missing cells are taken as missing at random. Synthetic respondents take part in estimating
    items, with a wide ability distribution of their own. They do not enter the log-likelihood,
    average error or scale.

    Intervals of 95 % (estimate ± 1.96 standard errors) covered 94 to 97 % of the true
    discriminations and intercepts of the 1PL and 2PL, in simulations with 100 to 1,000
    respondents. The page "Speed and accuracy" has the tables, also for fewer respondents. With
    ``prior=None`` and mirt's grid, estimates agree with R's mirt.

    With ``fixed``, the mean and SD of ability of these respondents are estimated (fixed parameter
    calibration, Kim 2006). A score test finds fixed items that became easier or harder. Standard
    errors of new items take the fixed ones as known.

    Guessing of the 3PL is centred on the chance level: ``irtkit.WeakPrior(chance=0.25)``, or
    1/n_options by the column n_options of the item table. By default the level is learned. With
    fewer than 50 respondents the learned level is too low.

    Repeated trials of a cell may repeat each other. Their correlation is estimated, unless the
    responses have a ``trial_correlation``. n trials weigh n/(1 + (n − 1) · correlation).

    Scores between 0 and 1 have a quasi-likelihood (Papke & Wooldridge 1996). The weight of a score,
    in right or wrong answers, is estimated from its variance. Standard errors of all but 3PL items
    allow for items whose scores vary more or less than others.

    The column kind of the item table says which items hold "levels", and which are "binary",
    "fraction" (scores between 0 and 1) or "counts" (trials). These have two levels, and in the GPCM
    and the GRM they have the curve of the 2PL. Each cell is one response in averages. Without a
    declaration, the default model takes whole numbers from 0 to at most 6 as levels, and a finding
    says so. One correlation is estimated for fractions and counts together.

    Standard errors are exact up to 150 items (100 for the 3PL). For more items nearly all are
    within 1 % (``benchmarks/posterior.py``).

    With several abilities both sides have normal posteriors, and "weak" and "empirical" are the
    same prior: a normal distribution of items, learned from all of them, with a mean per task.
    ``prior=None`` is the maximum of the marginal likelihood up to four abilities and for
    "bifactor", and of a lower bound beyond. Axes of 2, 3, … are a choice (oblimin), on which
    probabilities and expected scores do not depend. Their errors take the rotation as known. Errors
    of abilities include those of items: 95 % intervals covered 94 to 96 % in simulations with 30 to
    150 systems. With more than 600 parameters or four abilities, and with fewer parameters where
    there are many systems, errors of items come from the directions in which items move together,
    within 1 % of the whole information for nearly all.
    Those of specific abilities of "bifactor" can then be 5 to 30 % too small, with 20 items each.
    "auto" holds families of near-duplicate systems out together, also tries the tasks, and finds
    one ability with fewer than 30 systems or 15 families. It then returns a FitResult.

    References
    ----------
    Bock & Aitkin (1981), *Psychometrika* 46, 443–459.
    Kim (2006), *Journal of Educational Measurement* 43, 355–381.
    Papke & Wooldridge (1996), *Journal of Applied Econometrics* 11, 619–632.

    See Also
    --------
    irtkit.audit, irtkit.score, irtkit.compare_systems, irtkit.report

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.5, -1.0], [-1.0, 0.0, 1.0])
    >>> abilities = [k / 50 - 2 for k in range(200)]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1)
    >>> result = irtkit.fit(responses, "2PL")
    >>> print(result.items[["discrimination", "difficulty", "average_error"]].round(2))
            discrimination  difficulty  average_error
    item
    item-1            1.41       -0.77           0.31
    item-2            1.93       -0.00           0.50
    item-3           -0.98        1.20           0.27

    Empty cells are missing responses, not wrong ones:

    >>> table = responses.to_frame()
    >>> table.iloc[:100, 0] = None
    >>> irtkit.fit(table).items["n_responses"].tolist()
    [100, 200, 200]
    """
    for option in (name for name in reading if name not in READING):
        hint = did_you_mean(option, ["model", *(fit.__kwdefaults__ or ()), *READING])
        for kind in (Variational, EM):
            if option in kind.__dataclass_fields__:
                hint = f". Write method=irtkit.{kind.__name__}({option}=…)"
        if option in {"metrics", "higher_is_better"}:
            hint = ". Write result.with_quality_standard(metrics, higher_is_better)"
        raise TypeError(f"fit() got an unexpected keyword argument {short(option)}{hint}")
    responses = _without_fit(responses)
    if model is None:
        model = "2PL"
        if is_whole(abilities) and abilities == 1:
            responses = as_responses(responses, **{"levels": FOUND} | reading)
            reading = {}
            model = "GPCM" if (kinds_of(responses) == "levels").any() else model
    model = model_name(model)
    if isinstance(method, str) and method in {"em", "vi"}:
        method = EM() if method == "em" else Variational()
    if not isinstance(method, EM | Variational):
        rule = "method must be 'em', 'vi', an irtkit.EM or an irtkit.Variational"
        raise ValueError(f"{rule}, got {short(method)}")
    check_seed(seed)
    check_yes_or_no(standard_errors=standard_errors)
    if not (
        prior is None or prior in ("weak", "empirical") or isinstance(prior, WeakPrior | ItemPrior)
    ):
        kinds = "'weak', 'empirical', None, an ItemPrior or a WeakPrior"
        raise ValueError(f"prior must be {kinds}, got {short(prior)}")
    several = not (is_whole(abilities) and abilities == 1)
    require("fixed=", fixed)
    _check_settings(model, method, prior, quadrature, several=several, fixed=fixed is not None)
    if prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' is for the 2PL and 3PL, and the model is {model}")
    grid: Any = quadrature
    if quadrature != "adaptive":
        pair = isinstance(quadrature, tuple | list) and len(quadrature) == 2
        points, limit = quadrature if pair else (0, 0)
        # with 1,000 items the tables of 100,000 nodes take 0.8 GB
        if not (is_whole(points) and 3 <= points <= 100_000 and 0 < as_number(limit) <= 1000):
            raise ValueError(
                "quadrature must be 'adaptive' or (points, limit), a whole number from 3 to 100000 "
                f"and a number above 0, at most 1000, got {short(quadrature)}"
            )
        grid = [int(points), float(limit)]
    anchors = None if fixed is None else calibrated_items(fixed, name="fixed")
    if anchors is not None:
        require("fixed=", anchors.parameters)
    if model in OF_LEVELS and not isinstance(responses, ResponseMatrix):
        reading["levels"] = True
    responses = as_responses(responses, **reading)
    if model in OF_LEVELS:
        level_items(responses, model)
    check_data(responses, method)
    settings = Settings(
        prior=prior.for_items(responses.items) if isinstance(prior, WeakPrior) else prior,
        seed=int(seed),  # a number of NumPy's own cannot be stored
        quadrature=grid,
        standard_errors=bool(standard_errors),
        trial_correlation=responses.trial_correlation,
        tol=float(method.tol),
        max_iterations=int(method.max_iterations),
        devices=None if method.mesh is None else method.mesh.size,
        batch=None if method.batch is None else int(method.batch),
    )
    if several:
        given = {"prior": prior, "seed": seed, "standard_errors": standard_errors}
        return _several(responses, abilities, settings, given, progress=progress)
    from irtkit.calibration.estimation import fitted

    source = responses.source
    read = () if source is None else (*source.findings, *source.adjustment)
    notes = tuple(finding for finding in read if finding.code in _OF_FIT)
    quantity = "log-likelihood" if method.name == "em" else "ELBO"
    with progress_line(f"fitting {model}", quantity, shown=progress) as report, one_thread():
        result = fitted(
            *(responses, model, settings, method.name, anchors),
            mesh=method.mesh,
            report=report,
            notes=notes,
        )
    _warned(result.findings)
    return result


def _warned(findings: tuple[Finding, ...]) -> None:
    for finding in () if _SILENT.get() else findings:
        if finding.severity == "warning":
            warn(finding)


def _check_settings(
    model: ModelName,
    method: EM | Variational,
    prior: object,
    quadrature: object,
    *,
    several: bool,
    fixed: bool,
) -> None:
    """Refuse settings that have no meaning for the fit that is asked for."""
    traits = {
        LEVELS: model in OF_LEVELS,
        SEVERAL: several,
        VARIATIONAL: method.name == "vi",
        ON_DEVICES: method.mesh is not None,
        EMPIRICAL: prior == "empirical",
    }
    settings = {
        "a model other than the 2PL": model != "2PL",
        "method=": method != EM(),
        "method='vi'": method.name == "vi",
        "mesh=": method.mesh is not None,
        "prior=None": prior is None,
        "prior=ItemPrior": isinstance(prior, ItemPrior),
        "prior='empirical'": prior == "empirical",
        "prior=WeakPrior": isinstance(prior, WeakPrior),
        "difficulty_mean=": isinstance(prior, WeakPrior) and prior.difficulty_mean is not None,
        "quadrature=": quadrature != "adaptive",
        "fixed=": fixed,
    }
    held = frozenset(trait for trait, holds in traits.items() if holds)
    for setting in (name for name, given in settings.items() if given):
        require(setting, held)


def _several(
    responses: ResponseMatrix,
    abilities: Any,
    settings: Settings,
    given: dict[str, Any],
    *,
    progress: bool | None,
) -> FitResult:
    """Fit several abilities."""
    from irtkit.abilities.fitting import fitted_abilities

    def of_one() -> FitResult:
        with silently():
            # The 2PL of ordered levels too, whose points are correlated trials here.
            result: FitResult = fit(responses, "2PL", progress=False, **given)
        return result

    with progress_line("fitting abilities", "change", shown=progress) as report, one_thread():
        result = fitted_abilities(responses, abilities, settings, of_one=of_one, report=report)
    _warned(result.findings)
    return result


def _check(tol: object, max_iterations: object, mesh: object) -> None:
    check_number("tol", tol, above=0)
    check_whole("max_iterations", max_iterations, 1)
    if mesh is None:
        return
    from jax.sharding import Mesh

    if not isinstance(mesh, Mesh):
        raise TypeError(f"mesh must be a jax.sharding.Mesh or None, got {type(mesh).__name__}")


def responses_for(given: object, **reading: Any) -> ResponseMatrix:
    """Responses of a result, of one that a path holds, or what `irtkit.read_responses` reads."""
    return as_responses(_without_fit(given), **reading)


def _without_fit(given: object) -> object:
    """Responses of a result or of one that a path holds, and other data as they are."""
    from irtkit.abilities.result import read_any

    if isinstance(given, str | PathLike):
        saved = saved_in(given)
        kind = name_of(saved) if saved.is_file() else None
        if kind == FORMAT.name:
            given = read_any(saved)
        elif kind is not None:
            rule = f"{given} is a saved {kind.removeprefix('irtkit ')}, which holds no responses"
            instead = "Give the folder or file of the fit, or responses"
            raise ValueError(f"{rule}. {instead} (irtkit.score takes this file too)")
    return given.saved_responses if isinstance(given, FitResult) else given


def result_for(question: str, given: object) -> FitResult:
    """The result that a question is about: a result, the path of one, or the fit of responses.

    Refuses a result that the question has no meaning for.
    """
    from irtkit.abilities.result import read_any

    if isinstance(given, FitResult):
        result = given
    elif isinstance(given, str | PathLike) and is_saved(given):
        result = read_any(given)
    else:
        try:
            result = fit(given)
        except TypeError as error:
            raise TypeError(f"result must be a FitResult, or responses to fit: {error}") from error
    require(question, result)
    return result


@contextmanager
def silently() -> Iterator[None]:
    """Fit without warnings in a block: ``result.findings`` has them.

    The filters of Python belong to all threads at once, so that they cannot be used for this.
    """
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def check_data(responses: ResponseMatrix, method: EM | Variational) -> None:
    """Refuse responses that cannot be fitted, or that surely need more memory than there is."""
    if responses.synthetic.all():
        raise ValueError(
            "responses holds synthetic respondents only, and real ones set the scale "
            "(irtkit.add_synthetic(..., ordinary=True) adds them as real rows)"
        )
    if method.mesh is not None:
        require("mesh=", responses)
    if method.name == "vi":
        return
    n = responses.n_respondents
    n_items = responses.n_items
    remedy = (
        "irtkit.read_responses(…, sparse=True) keeps only the observed cells, and "
        "method=irtkit.Variational(batch=4096) fits a part of the systems at a time"
    )
    # measured were 1.3 to 3.5 times more than 80 bytes per respondent and item
    needed = responses.cells.n_bytes + 80.0 * (n + n_items)
    check_memory(needed, f"a fit of {n:,} systems × {n_items:,} items", remedy)


def refitted(
    result: FitResult, responses: ResponseMatrix, *, tol: float, fixed: object = None
) -> FitResult:
    """Fit other responses to some of the items by EM as a result was fitted.

    Without standard errors and warnings, and with the correlation of repeated trials of the result.
    ``fixed`` is as in :func:`irtkit.fit`.

    Raises
    ------
    ValueError
        If the prior of the result holds a density that its settings do not describe.
    """
    import pandas as pd

    settings = result.settings
    if (several := result.several) is not None:
        abilities: Any = {"exploratory": result.n_abilities, "bifactor": "bifactor"}
        if several.tasks is not None:
            table = pd.DataFrame({"task": several.tasks}, index=list(result.item_labels))
            responses = responses.with_tables(table)
        with silently():
            return fit(
                responses,
                abilities=abilities.get(several.structure, "task"),
                prior=None if settings.prior is None else "weak",
                seed=settings.seed,
                standard_errors=False,
            )
    given = settings.quadrature
    grid: Any = given if isinstance(given, str) else (int(given[0]), given[1])
    if result.parameters.steps is not None:  # parts of responses come without tables
        top = dict(zip(result.item_labels, result.parameters.top, strict=True))
        scored = responses.cells.scored
        of_marks = np.where(False if scored is None else scored, "fraction", "counts")
        levels = np.array([top[item] > 1 for item in responses.items])
        kinds = {"kind": np.where(levels, "levels", of_marks)}
        responses = responses.with_tables(pd.DataFrame(kinds, index=responses.items))
    with silently():
        return fit(
            responses.with_trial_correlation(settings.trial_correlation),
            result.model,
            method=EM(tol=tol),
            prior=prior_of(settings.prior, result.item_labels, responses.items),
            fixed=fixed,
            quadrature=grid,
            standard_errors=False,
            progress=False,
        )
