"""The public way in: one function that fits any model to a response matrix."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never

from irtkit.calibration.settings import (
    Settings,
    check_data,
    check_mesh,
    check_prior,
    check_quadrature,
)
from irtkit.calibration.shortcoming import shortcoming_of
from irtkit.calibration.variational.options import Variational
from irtkit.checks import check_number, check_whole, check_yes_or_no
from irtkit.progress import progress_line
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from irtkit.calibration.estimates import Estimates
    from irtkit.calibration.maximise import Control
    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.calibration.result import FitResult
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns
    from irtkit.responses import ResponseMatrix

_TOLERANCES = {"em": 1e-7, "vi": 0.03}
"""Estimates within √(2·10⁻⁷), 0.0004 standard errors of the maximum; posterior means within 3 %
of a posterior SD, which changes the probability of a 90 % interval by 0.02 %."""
_MOST_AT_START = 1000
"""Most evaluations of the likelihood for the start of a variational fit; a dozen are the rule, and
as many as this what EM may take by default."""


def fit(
    responses: ResponseMatrix,
    model: ModelName = "2PL",
    *,
    method: Literal["em", "vi"] | Variational = "em",
    prior: PriorName | Prior | None = "weak",
    seed: int = 0,
    quadrature: Literal["adaptive"] | tuple[int, float] = "adaptive",
    standard_errors: bool = True,
    synthetic: Literal["separate", "ordinary"] = "separate",
    tol: float | None = None,
    max_iterations: int = 1000,
    progress: bool | None = None,
    mesh: Mesh | None = None,
    **moved: Never,
) -> FitResult:
    """Fit an item response model: difficulty, discrimination, guessing, and abilities.

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items, dense or sparse; missing cells are taken as
        missing at random. Synthetic respondents take part in estimating items, with a wide ability
        distribution of their own (5 logits at the typical slope, and more than real ones; the
        settings of the result say how wide), and count neither in the log-likelihood nor in
        average errors, orientation or scale. An always-right row contradicts negative slopes (it
        answers inverted items right as well), so look for suspect items without it.
    model
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL" or "3PL" (with guessing). In 2PL and 3PL discrimination is free in sign.
    method
        "em": marginal maximum likelihood; abilities are posterior means. "vi": a variational
        posterior of items and abilities under the same priors. :class:`irtkit.Variational` says
        what its numbers mean, and holds its options (batches, amortisation, checkpoints):
        ``method=irtkit.Variational(batch=4096)``; "vi" is short for ``irtkit.Variational()``.
    prior
        "weak" (default) keeps every estimate finite and leaves the common scale and location of
        the items free; "empirical" also learns from the matrix how slopes and difficulties are
        distributed and what share of items is inverted, and gives each item its posterior mean
        (2PL and 3PL; for few respondents and many items: standard errors take what was learned as
        known, and are too small where few items taught it); None is textbook marginal maximum
        likelihood ("em" only). Or an :class:`irtkit.ItemPrior` or :class:`irtkit.WeakPrior`.
    seed
        The same seed gives the same bytes. "em" draws nothing at random.
    quadrature
        "adaptive" (default): nodes that follow the posteriors. Or a fixed grid (nodes, limit),
        equally spaced on [−limit, limit]: (61, 6.0) is the grid of R's mirt.
    standard_errors
        Whether to compute them, from the observed information: exact up to 150 items (100 for the
        3PL); for more they hold each item's own uncertainty and the common one of scale and
        location, and are within 2 to 3 % of exact ones. A prior counts with a curvature that is
        never negative: under the weak one errors of slopes near 0 may be a quarter too small.
    synthetic
        "separate" (default) as described above; "ordinary" treats synthetic respondents like any
        other row.
    tol
        For "em" (default 1e-7), the fit has converged when a full step promises to raise the
        log-likelihood (with prior) by less than this, twice in a row: estimates are then within
        about √(2·tol) of a standard error from the optimum. For "vi" (default 0.03), when the
        smoothed evidence lower bound has stopped rising and the Monte-Carlo error of posterior
        means, as the size of single steps shows it, is below this many posterior SDs (of the 3PL,
        whose steps are not independent, it may be twice that).
    max_iterations
        Most evaluations of the likelihood ("em"), or steps of a handful of them ("vi"). A fit
        that needs more is returned with ``converged=False`` and a warning.
    progress
        Whether to show progress; by default on a terminal only.
    mesh
        Devices that share the respondents, for instance ``jax.make_mesh((jax.device_count(),),
        ("all",))``, whatever its axes. Of several processes (after ``jax.distributed.initialize``),
        on machines of one kind, each calls ``fit`` with the same arguments, the whole matrix among
        them, and gets the same result; each computes the standard errors, in NumPy.
        None (default): NumPy or the default device of JAX, as the size of the matrix suggests.

    Returns
    -------
    FitResult
        Ability has mean 0 and SD 1 among real respondents and rises with the proportion right.

    Raises
    ------
    TypeError
        If ``responses`` is not a ResponseMatrix, ``mesh`` not a mesh, ``standard_errors`` neither
        True nor False, or an argument is an option of :class:`irtkit.Variational`.
    ValueError
        If an argument is outside what is named above, all respondents are synthetic, processes
        that share a mesh are given different responses, a checkpoint is of other responses or
        settings, or ``mesh`` goes with a sparse matrix.

    Warns
    -----
    UserWarning
        If the fit did not converge, or items have no finite estimate under ``prior=None``.

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
    for option in moved:
        of_variational = option in Variational.__dataclass_fields__
        remedy = f"; write method=irtkit.Variational({option}=…)" if of_variational else ""
        raise TypeError(f"fit() got an unexpected keyword argument {option!r}{remedy}")
    check_data(responses, model, synthetic)
    variational = _variational_of(method)
    name = "em" if variational is None else "vi"
    tol = check_number("tol", _TOLERANCES[name] if tol is None else tol, above=0)
    check_whole("max_iterations", max_iterations, 1)
    check_whole("seed", seed, 0)
    check_quadrature(quadrature)
    check_yes_or_no(standard_errors=standard_errors)
    check_prior(prior, model, variational=variational is not None)
    if mesh is not None:
        check_mesh(mesh)
        refuse_sparse(responses, "mesh")
    batch = None if variational is None else variational.sizes
    batches = batch is not None and batch[0] is not None
    settings = Settings(
        prior=prior,
        seed=int(seed),  # a number of NumPy's own cannot be stored
        quadrature=quadrature
        if isinstance(quadrature, str)
        else [int(quadrature[0]), float(quadrature[1])],
        standard_errors=bool(standard_errors),
        synthetic=synthetic,
        tol=tol,
        max_iterations=int(max_iterations),
        devices=None if mesh is None else mesh.size,
        batch=list(batch) if batch is not None and batches else None,
        amortised=variational.amortised if variational is not None and batches else None,
    )
    quantity = "log-likelihood" if variational is None else "ELBO"
    line = progress_line(f"fitting {model}", quantity, shown=progress)
    with line as report, linear_algebra().limit(limits=1, user_api="blas"):
        result = _fitted(_Run(responses, model, settings, report, mesh, variational))
    if not result.converged or "unbounded" in result.status:
        warnings.warn(shortcoming_of(result), stacklevel=2)
    return result


def _variational_of(method: object) -> Variational | None:
    """Options of the variational path; None for EM."""
    if isinstance(method, Variational):
        return method
    if not isinstance(method, str) or method not in _TOLERANCES:
        raise ValueError(f"method must be 'em', 'vi' or an irtkit.Variational, got {method!r}")
    return Variational() if method == "vi" else None


@cache
def linear_algebra() -> Any:
    """Return the libraries that NumPy's products come from; a fit holds them to one thread.

    Products are of parts of the matrix that a processor's cache holds, too small for threads to
    help; where threads share their processors with other work they wait for one another, and a fit
    took several times as long (``benchmarks/threads.py``).
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Run(NamedTuple):
    """A fit with settings that have been checked."""

    responses: ResponseMatrix
    model: ModelName
    settings: Settings
    report: Callable[[int, float], None]
    mesh: Mesh | None
    variational: Variational | None


def _fitted(run: _Run) -> FitResult:
    from irtkit.calibration.estimates import result_of
    from irtkit.calibration.priors import WeakPrior
    from irtkit.patterns import patterns_of

    settings = run.settings
    patterns = patterns_of(run.responses, synthetic_is_real=settings.synthetic == "ordinary")
    counts = patterns.counts
    if not counts.item_responses.any():
        raise ValueError("responses holds no response of a real respondent")
    # On a grid that follows the items Rasch is the 1PL in other units; on a fixed one it is not.
    same_as_1pl = settings.quadrature == "adaptive" or run.variational is not None
    model: ModelName = "1PL" if run.model == "Rasch" and same_as_1pl else run.model
    # an empirical prior is learned after a search with the weak one
    prior = WeakPrior() if isinstance(settings.prior, str) else settings.prior
    if run.variational is None:
        method, found = "em", _by_em(run, patterns, model, prior)
    else:
        method, found = "vi", _by_vi(run, patterns, model, prior, run.variational)
    return result_of(
        found, run.responses, counts, model=run.model, method=method, settings=settings
    )


def _by_em(run: _Run, patterns: Patterns, model: ModelName, prior: Prior | None) -> Estimates:
    """Maximise the likelihood; standard errors are those of the observed information."""
    from irtkit.calibration.maximum_likelihood import maximum_likelihood

    settings = run.settings
    return maximum_likelihood(
        patterns,
        model,
        prior,
        _control(run, settings.tol, settings.max_iterations, run.report),
        empirical=settings.prior == "empirical",
        standard_errors=settings.standard_errors,
        mesh=run.mesh,
    )


def _by_vi(
    run: _Run, patterns: Patterns, model: ModelName, prior: Prior | None, options: Variational
) -> Estimates:
    """Approximate the posterior, starting near the maximum of the penalised likelihood."""
    from irtkit.calibration.maximise import problem_of
    from irtkit.calibration.variational import fit_variational

    # the start is the same however few steps are then allowed, so that a fit which ran out of
    # them continues as one that did not
    some = fit_variational.starting_patterns(patterns, options, run.settings.seed)
    return fit_variational.VariationalFit(
        problem_of(some, model, prior, run.mesh),
        _control(run, fit_variational.NEAR, _MOST_AT_START, lambda _step, _value: None),
        patterns,
        run.responses,
        run.model,
        run.settings,
        options,
        run.report,
    ).estimates()


def _control(
    run: _Run, tol: float, max_evaluations: int, report: Callable[[int, float], None]
) -> Control:
    from irtkit.calibration.maximise import Control, GridSchedule, Monitor, Stopping

    grid = run.settings.quadrature
    fixed = None if isinstance(grid, str) else (int(grid[0]), float(grid[1]))
    return Control(GridSchedule(fixed), Stopping(tol, max_evaluations), Monitor(report))
