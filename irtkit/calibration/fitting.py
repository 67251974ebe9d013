"""The function `fit` and the settings of its methods, checked before anything heavy is loaded."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, overload

from irtkit.calibration.calibrated import calibrated_items
from irtkit.calibration.priors import ItemPrior, WeakPrior, prior_of
from irtkit.calibration.result import FitResult, Settings
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
from irtkit.files import as_path
from irtkit.findings import warn
from irtkit.io.reading import READING, as_responses
from irtkit.irf import OF_LEVELS, Items, model_name
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix, refuse_sparse
from irtkit.responses.levels import check_levels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from jax.sharding import Mesh

    from irtkit.abilities.result import AbilitiesResult
    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.findings import Finding
    from irtkit.irf import ModelName

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@dataclass(frozen=True, kw_only=True)
class EM:
    """Marginal maximum likelihood, for ``irtkit.fit(method=irtkit.EM(...))``.

    Parameters
    ----------
    tol : float, default 1e-7
        The fit has converged when a full step promises to raise the log-likelihood (with prior) by
        less than this, twice in a row, or once by a tenth of the step before.
    max_iterations : int, default 1000
        Most evaluations of the likelihood. A fit that needs more gets a finding.
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, such as ``jax.make_mesh((jax.device_count(),),
        ("all",))``. Default: NumPy, or the default device of JAX for large matrices.

    Raises
    ------
    TypeError, ValueError
        If an argument has another type or is out of range.

    Notes
    -----
    Estimates are within about √(2·tol) standard errors of the maximum, 0.0004 by default. Of
    several processes (after ``jax.distributed.initialize``) each calls ``fit`` with the same
    arguments and the whole matrix, and gets the same result.

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

    Parameters
    ----------
    tol : float, default 0.03
        The fit has converged when the smoothed evidence lower bound has stopped rising and the
        Monte-Carlo error of posterior means is below this many posterior SDs.
    max_iterations : int, default 1000
        Most steps. A fit that needs more gets a finding.
    batch : int, optional
        Respondents of a step, drawn without replacement in passes through all. Default: all.
    checkpoint : path, optional
        File for the state of the optimisation, written after every step. If it exists, the fit
        continues from there and ends with the numbers of an uninterrupted one. The file stays.
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, as for :class:`EM`.

    Raises
    ------
    TypeError, ValueError
        If an argument has another type or is out of range.
    FileNotFoundError
        If the folder of `checkpoint` does not exist.

    Notes
    -----
    In the result, discrimination, intercept and guessing are posterior means, and their ``_se``
    columns posterior SDs. The posterior of difficulty may lack a mean. Difficulty is therefore
    computed from the posterior means, and its error by the delta method. ``ability_se`` includes
    the uncertainty of the items. ``result.posterior`` gives draws and intervals. An
    :class:`irtkit.ItemPrior` needs all its densities.

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
    checkpoint: str | PathLike[str] | None = None
    mesh: Mesh | None = None

    name = "vi"

    def __post_init__(self) -> None:
        _check(self.tol, self.max_iterations, self.mesh)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)
        if self.checkpoint is None:
            return
        path = as_path(self.checkpoint, "checkpoint")
        if path.is_dir():
            raise ValueError(f"checkpoint must be a file, and {path} is a folder")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"checkpoint must be in a folder, and {path.parent} is missing")


@overload
def fit(
    responses: object,
    model: ModelName = "2PL",
    *,
    abilities: Literal[1] = 1,
    method: Literal["em", "vi"] | EM | Variational = "em",
    prior: PriorName | Prior | None = "weak",
    fixed: object = None,
    seed: int = 0,
    quadrature: Literal["adaptive"] | tuple[int, float] = "adaptive",
    standard_errors: bool = True,
    progress: bool | None = None,
    **reading: Any,
) -> FitResult: ...
@overload
def fit(
    responses: object, model: ModelName = ..., *, abilities: Any, **settings: Any
) -> FitResult | AbilitiesResult: ...
def fit(
    responses: object,
    model: ModelName = "2PL",
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
) -> FitResult | AbilitiesResult:
    """Fit an item response model: difficulty, discrimination, guessing, and abilities.

    Parameters
    ----------
    responses
        Right and wrong answers, scores or levels, respondents × items: a ResponseMatrix, or what
        :func:`irtkit.read_responses` takes (a path, a data frame, an array, records).
    model
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL" or "3PL" (with guessing). "GPCM" or "GRM" for ordered levels, such as a judge's marks.
        Discrimination of all but 1PL and Rasch may have either sign.
    abilities
        How many abilities (2PL): 1, 2, 3, …, "auto" (as many as held-out answers show), "task"
        (one per task), "bifactor" (a general one too), or a mapping from item to ability.
    method
        "em" (marginal maximum likelihood), "vi" (variational posterior), or an :class:`irtkit.EM`
        or :class:`irtkit.Variational` with settings such as tolerance, devices and batches.
    prior
        "weak" keeps estimates finite. "empirical" also learns how items are distributed (2PL, 3PL).
        None is plain maximum likelihood ("em" only). Or an :class:`irtkit.WeakPrior` or
        :class:`irtkit.ItemPrior`.
    fixed
        Items that keep their parameters: an earlier result, a table of items, or the path of
        either. New items and respondents are put on their scale. For "em" without a mesh.
    seed
        The same seed gives the same bytes. "em" draws nothing at random.
    quadrature
        "adaptive": nodes that follow the posteriors. Or a fixed grid (points, limit), equally
        spaced on [−limit, limit]: (61, 6.0) is the grid of R's mirt.
    standard_errors
        Whether to compute standard errors, from the observed information.
    progress
        Whether to show progress. Default: on a terminal and in a notebook.
    **reading
        Settings of :func:`irtkit.read_responses`, such as ``right="correct"`` or
        ``threshold=0.5``, for responses that are not a ResponseMatrix.

    Returns
    -------
    FitResult
        Tables of items and respondents, and findings. Ability rises with the proportion right and
        has mean 0 and SD 1 in the population of the real respondents (Rasch: ``latent_sd``). Slopes
        are in logits per SD of ability, without a factor of 1.7.
    irtkit.abilities.result.AbilitiesResult
        With several abilities, see Notes.

    Raises
    ------
    TypeError, ValueError
        If responses cannot be read, or an argument has another type or is out of range.

    Warns
    -----
    irtkit.IRTWarning
        Once for each of ``result.findings`` that is a warning, with its ``code``. The page
        "Warnings" lists the codes.

    Notes
    -----
    Missing cells are taken as missing at random. Synthetic respondents take part in estimating
    items, with a wide ability distribution of their own. They do not enter the log-likelihood,
    average error or scale.

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

    Standard errors are exact up to 150 items (100 for the 3PL). For more items nearly all are
    within 1 % (``benchmarks/standard_errors.py``).

    With several abilities both sides have normal posteriors, and "weak" and "empirical" are the
    same prior: a normal distribution of items, learned from all of them, with a mean per task.
    ``prior=None`` is the maximum of the marginal likelihood up to four abilities and for
    "bifactor", and of a lower bound beyond. Axes of 2, 3, … are a choice (oblimin), on which
    probabilities and expected scores do not depend. Their errors take the rotation as known.
    "auto" holds families of near-duplicate systems out together, also tries the tasks, and finds
    one ability with fewer than 30 systems or 15 families. It then returns a FitResult.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.5, -1.0], [-1.0, 0.0, 1.0])
    >>> abilities = [k / 50 - 2 for k in range(200)]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1)
    >>> result = irtkit.fit(responses, "2PL")
    >>> result.converged, [bool(a < 0) for a in result.items["discrimination"]]
    (True, [False, False, True])
    """
    for option in (name for name in reading if name not in READING):
        hint = did_you_mean(option, ["model", *(fit.__kwdefaults__ or ()), *READING])
        for kind in (Variational, EM):
            if option in kind.__dataclass_fields__:
                hint = f". Write method=irtkit.{kind.__name__}({option}=…)"
        if option in {"metrics", "higher_is_better"}:
            hint = ". Write result.with_quality_standard(metrics, higher_is_better)"
        raise TypeError(f"fit() got an unexpected keyword argument {short(option)}{hint}")
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
    if prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' is for the 2PL and 3PL, and the model is {model}")
    others = fixed is not None or isinstance(prior, ItemPrior) or method.mesh is not None
    if model in OF_LEVELS and (method.name == "vi" or others):
        raise ValueError(
            f"model={model} is for method='em' without a mesh, with the weak prior or none, and "
            "without fixed="
        )
    if method.name == "vi" and prior is None:
        raise ValueError(
            "prior must not be None for method='vi', since a posterior needs one. prior='weak' "
            "leaves scale and location free"
        )
    if method.name == "vi" and isinstance(prior, WeakPrior) and prior.difficulty_mean is not None:
        raise ValueError("difficulty_mean of the prior is for method='em'")
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
        Items.of(anchors.parameters)  # which refuses ordered levels
    if anchors is not None and (method.name == "vi" or method.mesh or prior == "empirical"):
        raise ValueError("fixed= is for method='em' without a mesh, and not for prior='empirical'")
    if model in OF_LEVELS and not isinstance(responses, ResponseMatrix):
        reading["levels"] = True
    several = not (is_whole(abilities) and abilities == 1)
    if several:
        _check_several(model, method, prior, quadrature, fixed)
    responses = as_responses(responses, **reading)
    if model in OF_LEVELS:
        check_levels(responses, model)
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

    quantity = "log-likelihood" if method.name == "em" else "ELBO"
    with progress_line(f"fitting {model}", quantity, shown=progress) as report, one_thread():
        checkpoint = method.checkpoint if isinstance(method, Variational) else None
        result = fitted(
            *(responses, model, settings, method.name, anchors),
            mesh=method.mesh,
            checkpoint=checkpoint,
            report=report,
        )
    _warned(result.findings)
    return result


def _warned(findings: tuple[Finding, ...]) -> None:
    for finding in () if _SILENT.get() else findings:
        if finding.severity == "warning":
            warn(finding)


def _check_several(
    model: str, method: object, prior: object, quadrature: object, fixed: object
) -> None:
    """Refuse settings that several abilities do not have."""
    known = {
        "model='2PL'": model == "2PL",
        "method='em'": method == EM(),
        "prior='weak' or None": prior is None or prior in ("weak", "empirical"),
        "quadrature='adaptive'": quadrature == "adaptive",
        "fixed=None": fixed is None,
    }
    for setting, is_met in known.items():
        if not is_met:
            raise ValueError(f"several abilities need {setting}. Use it, or abilities=1")


def _several(
    responses: ResponseMatrix,
    abilities: Any,
    settings: Settings,
    given: dict[str, Any],
    *,
    progress: bool | None,
) -> FitResult | AbilitiesResult:
    """Fit several abilities."""
    from irtkit.abilities.fitting import fitted_abilities

    def of_one() -> FitResult:
        with silently():
            one: FitResult = fit(responses, progress=False, **given)
        return one

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
            "(irtkit.add_synthetic(..., ordinary=True) adds rows that count as real)"
        )
    if method.mesh is not None:
        refuse_sparse(responses, "mesh")
    if method.name == "vi":
        return
    n, n_items = responses.n_respondents, responses.n_items
    remedy = (
        "irtkit.read_responses(…, sparse=True) keeps only the observed cells, and "
        "method=irtkit.Variational(batch=4096) fits a part of the respondents at a time"
    )
    # measured were 1.3 to 3.5 times more than 80 bytes per respondent and item
    needed = responses.cells.n_bytes + 80.0 * (n + n_items)
    check_memory(needed, f"a fit of {n:,} respondents × {n_items:,} items", remedy)


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
    settings = result.settings
    given = settings.quadrature
    grid: Any = given if isinstance(given, str) else (int(given[0]), given[1])
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


_changing = Lock()
_held: list[Any] = []
"""What puts threads back as they were, once for each that holds them to one."""


@contextmanager
def one_thread(user_api: str | None = "blas") -> Iterator[None]:
    """Hold the linear algebra of NumPy to one thread, until all that ask for it at once have ended.

    With ``user_api=None`` all libraries that are loaded and known to have threads. Products are too
    small for threads to help, and waiting for one another they take up to 2.6 times as long
    (``benchmarks/threads.py``). The limit holds for the process. The first fit sets it, and the
    last one lifts it.
    """
    with _changing:
        _held.append(_held[0] if _held else _libraries(user_api).limit(limits=1))
    try:
        yield
    finally:
        with _changing:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


@cache
def _libraries(user_api: str | None) -> Any:
    """Libraries with threads, looked up once: it takes longer than many fits."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController()
    return found if user_api is None else found.select(user_api=user_api)
