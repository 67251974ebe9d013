"""The function `fit`, which checks its arguments before anything heavy is loaded."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from irtkit.calibration.calibrated import calibrated_items
from irtkit.calibration.expected import expecting, prior_of
from irtkit.calibration.methods import EM, Variational, method_of, one_thread
from irtkit.calibration.priors import ItemPrior, WeakPrior
from irtkit.calibration.result import FitResult, Settings
from irtkit.checks import (
    as_number,
    check_memory,
    check_seed,
    check_yes_or_no,
    did_you_mean,
    is_whole,
    short,
)
from irtkit.findings import warn
from irtkit.io.reading import READING, as_responses
from irtkit.irf import model_name
from irtkit.progress import progress_line
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.irf import ModelName
    from irtkit.responses import ResponseMatrix

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)
_MOST_NODES = 100_000  # Nodes of a fixed grid: with 1,000 items its tables take 0.8 GB.
_MOST_LIMIT = 1000.0  # Limit of a fixed grid, in units of ability.
_BYTES = 80.0  # Least bytes of EM per respondent and per item. Measured were 1.3 to 3.5 times more.


def fit(
    responses: object,
    model: ModelName = "2PL",
    *,
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

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items: a ResponseMatrix, or what
        :func:`irtkit.read_responses` takes (a path, a data frame, an array, records).
    model
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL" or "3PL" (with guessing). Discrimination of 2PL and 3PL may have either sign.
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
    items, with a wide ability distribution of their own. They count in no log-likelihood, average
    error or scale.

    With ``fixed``, the mean and SD of ability of these respondents are estimated (fixed parameter
    calibration, Kim 2006). A score test finds fixed items that became easier or harder. Standard
    errors of new items take the fixed ones as known.

    Guessing of the 3PL is centred on the chance level: ``irtkit.WeakPrior(chance=0.25)``, or
    1/n_options by the column n_options of the item table. By default the level is learned. With
    fewer than 50 respondents the learned level is too low.

    Repeated trials of a cell may repeat each other. Their correlation is estimated, unless the
    responses have a ``trial_correlation``, and n trials count for n/(1 + (n − 1) · correlation).

    Standard errors are exact up to 150 items (100 for the 3PL). For more items nearly all are
    within 1 % (``benchmarks/standard_errors.py``).

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
        raise TypeError(f"fit() got an unexpected keyword argument {short(option)}{_where(option)}")
    model, method = model_name(model), method_of(method)
    check_seed(seed)
    check_yes_or_no(standard_errors=standard_errors)
    check_prior(prior, model, method)
    grid = checked_quadrature(quadrature)
    anchors = None if fixed is None else calibrated_items(fixed, name="fixed")
    if anchors is not None and (method.name == "vi" or method.mesh or prior == "empirical"):
        raise ValueError("fixed= is for method='em' without a mesh, and not for prior='empirical'")
    responses = as_responses(responses, **reading)
    check_data(responses, method)
    settings = Settings(
        prior=expecting(prior, responses.items) if isinstance(prior, WeakPrior) else prior,
        seed=int(seed),  # a number of NumPy's own cannot be stored
        quadrature=grid,
        standard_errors=bool(standard_errors),
        trial_correlation=responses.trial_correlation,
        tol=float(method.tol),
        max_iterations=int(method.max_iterations),
        devices=None if method.mesh is None else method.mesh.size,
        batch=None if method.batch is None else int(method.batch),
    )
    from irtkit.calibration.estimation import fitted

    quantity = "log-likelihood" if method.name == "em" else "ELBO"
    with progress_line(f"fitting {model}", quantity, shown=progress) as report, one_thread():
        result = fitted(responses, model, settings, method, anchors, report=report)
    for finding in () if _SILENT.get() else result.findings:
        if finding.severity == "warning":
            warn(finding)
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


def _where(option: str) -> str:
    """What to write for an argument that `fit` does not have."""
    for kind in (EM, Variational):
        if option in kind.__dataclass_fields__:
            return f". Write method=irtkit.{kind.__name__}({option}=…)"
    if option in {"metrics", "higher_is_better"}:
        return ". Write result.with_quality_standard(metrics, higher_is_better)"
    return did_you_mean(option, ["model", *(fit.__kwdefaults__ or ()), *READING])


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
    needed = responses.cells.n_bytes + _BYTES * (n + n_items)
    check_memory(needed, f"a fit of {n:,} respondents × {n_items:,} items", remedy)


def checked_quadrature(quadrature: object) -> str | list[float]:
    """Return the name of the adaptive grid, or points and limit of a fixed one."""
    if isinstance(quadrature, str) and quadrature == "adaptive":
        return quadrature
    if isinstance(quadrature, tuple | list) and len(quadrature) == 2:
        points, limit = quadrature
        within = 0 < as_number(limit) <= _MOST_LIMIT
        if is_whole(points) and 3 <= points <= _MOST_NODES and within:
            return [int(points), float(limit)]
    raise ValueError(
        f"quadrature must be 'adaptive' or (points, limit), a whole number from 3 to {_MOST_NODES} "
        f"and a number above 0, at most {_MOST_LIMIT:g}, got {short(quadrature)}"
    )


def check_prior(prior: object, model: str, method: EM | Variational) -> None:
    """Refuse what is not a prior, or one that the method or the model cannot have."""
    if method.name == "vi" and prior is None:
        raise ValueError(
            "prior must not be None for method='vi', since a posterior needs one. prior='weak' "
            "leaves scale and location free"
        )
    if isinstance(prior, str) and prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' is for the 2PL and 3PL, and the model is {model}")
    if method.name == "vi" and isinstance(prior, WeakPrior) and prior.difficulty_mean is not None:
        raise ValueError("difficulty_mean of the prior is for method='em'")
    named = isinstance(prior, str) and prior in {"weak", "empirical"}
    if not (named or prior is None or isinstance(prior, WeakPrior | ItemPrior)):
        raise ValueError(
            "prior must be 'weak', 'empirical', None, an ItemPrior or a WeakPrior, got "
            f"{short(prior)}"
        )


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
