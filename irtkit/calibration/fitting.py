"""The public way in: one function that fits any model to a response matrix."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.calibration.checks import (
    check_batch,
    check_data,
    check_mesh,
    check_settings,
    check_variational,
    check_yes_or_no,
)
from irtkit.progress import progress_line
from irtkit.responses import refuse_sparse
from irtkit.simulation import check_seed

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.calibration.em import Climber
    from irtkit.calibration.layout import Layout
    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.calibration.result import FitResult
    from irtkit.calibration.solution import Solution
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns
    from irtkit.responses import ResponseMatrix

_NAMED_IN_WARNINGS = 5
_TOLERANCES = {"em": 1e-7, "vi": 0.03}
_MOST_AT_START = 1000
"""Evaluations of the likelihood before a variational ascent; a dozen are the rule."""


def fit(
    responses: ResponseMatrix,
    model: ModelName = "2PL",
    *,
    method: Literal["em", "vi"] = "em",
    prior: PriorName | Prior | None = "weak",
    seed: int = 0,
    quadrature: Literal["adaptive"] | tuple[int, float] = "adaptive",
    standard_errors: bool = True,
    synthetic: Literal["separate", "ordinary"] = "separate",
    tol: float | None = None,
    max_iterations: int = 1000,
    progress: bool | None = None,
    mesh: Mesh | None = None,
    batch: int | tuple[int, int] | None = None,
    amortised: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    every: int = 10,
) -> FitResult:
    """Fit an item response model: difficulty, discrimination, guessing, and abilities.

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items, dense or sparse; missing cells are taken as
        missing at random. Synthetic respondents take part in estimating items, with a wide ability
        distribution of their own (5 logits at the typical slope, and more than real ones; the
        settings of the result say how wide), and count neither in the
        log-likelihood nor in average errors, orientation or scale. An always-right row contradicts
        negative slopes (it answers inverted items right as well), so look for suspect items
        without it.
    model
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL" or "3PL" (with guessing). In 2PL and 3PL discrimination is free in sign.
    method
        "em": marginal maximum likelihood; abilities are posterior means. "vi": a variational
        posterior of items and abilities under the same priors (an :class:`irtkit.ItemPrior` needs
        all its densities). Discrimination, intercept and guessing are then posterior means and
        their ``_se`` columns posterior SDs; difficulty, whose posterior need not have a mean, is
        that of the means, its error by the delta method; ``result.posterior`` gives draws and
        intervals;
        ability_se holds what is not known of the items as well, on the scale of this sample.
    prior
        "weak" (default) keeps every estimate finite and leaves the common scale and location of
        the items free; "empirical" also learns from the matrix how slopes and difficulties are
        distributed and what share of items is inverted, and gives each item its posterior mean
        (2PL and 3PL; for few respondents and many items: standard errors take what was learned as
        known, and are too small where few items taught it); None is textbook marginal maximum
        likelihood ("em" only); or an object: :class:`irtkit.ItemPrior` with densities of your
        own, or a changed :class:`irtkit.WeakPrior`.
    seed
        The same seed gives the same bytes. "em" draws nothing at random.
    quadrature
        "adaptive" (default): nodes that follow the posteriors. Or a fixed grid (nodes, limit),
        equally spaced on [−limit, limit]: (61, 6.0) is the grid of R's mirt.
    standard_errors
        Whether to compute standard errors, from the observed information. They are exact up to
        150 items (100 for the 3PL); for more they hold each item's own uncertainty and the common
        one of scale and location, and are within 2 to 3 % of exact ones.
    synthetic
        "separate" (default) as described above; "ordinary" treats synthetic respondents like any
        other row.
    tol
        For "em" (default 1e-7), the fit has converged when a full step promises to raise the
        log-likelihood (with prior) by less than this, twice in a row: estimates are then within
        about √(2·tol) of a standard error from the optimum. For "vi" (default 0.03), when the
        smoothed evidence lower bound has stopped rising and the Monte-Carlo error of posterior
        means, as told by the size of single steps, is below this many posterior SDs (of the 3PL,
        whose steps are not independent, it may be twice that).
    max_iterations
        Most evaluations of the likelihood ("em"), or steps of a handful of them ("vi"). A fit
        that needs more is returned with ``converged=False`` and a warning.
    progress
        Whether to show progress; by default on a terminal only.
    mesh
        Devices that share the respondents out among them, for instance
        ``jax.make_mesh((jax.device_count(),), ("all",))``; the layout and names of its axes do
        not matter. Of several processes (after ``jax.distributed.initialize``) each calls ``fit``
        with the same arguments, the whole matrix among them, and gets the same result; their
        machines have to be of one kind. Standard errors are computed in NumPy, by every process.
        None (default): NumPy or the default device of JAX, as the size of the matrix suggests.
    batch
        For "vi": how many respondents a step sees, drawn without replacement in passes through
        all of them; None (default) for all. (respondents, items) with ``amortised=True``.
    amortised
        For "vi": whether an encoder, a small network trained along the way, tells abilities from
        answers, instead of an integral over each respondent's; for more than 10⁵ respondents. It
        tells those of new respondents as well (``result.posterior.encode``). Its bound is a sum
        over answers, so that a step may see some of the items; elbo is this bound.
    checkpoint, every
        For "vi": a file that holds the state of the ascent, written whole after every so many
        steps. If it exists, the ascent goes on from there and ends with the numbers of one that
        was not interrupted; the file stays. One that is further on than ``tol`` or
        ``max_iterations`` ask for is taken as it is.

    Returns
    -------
    FitResult
        Ability has mean 0 and SD 1 among real respondents and rises with the proportion right.

    Raises
    ------
    TypeError
        If ``responses`` is not a ResponseMatrix, ``mesh`` not a mesh, ``checkpoint`` not a path,
        or ``standard_errors`` or ``amortised`` neither True nor False.
    ValueError
        If an argument is outside what is named above, all respondents are synthetic, processes
        that share a mesh are given different responses, a checkpoint is of other responses or
        settings, or ``mesh`` goes with a sparse matrix.
    FileNotFoundError
        If the folder of ``checkpoint`` does not exist.

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
    check_data(responses, model, synthetic)
    tol = _TOLERANCES.get(method, 1.0) if tol is None else tol
    check_settings(method, quadrature, tol, max_iterations)
    check_mesh(mesh)
    check_yes_or_no(standard_errors=standard_errors, amortised=amortised)
    check_variational(method, prior, checkpoint=checkpoint, every=every)
    n_batch, n_items = check_batch(method, batch, amortised=amortised)
    if mesh is not None:
        refuse_sparse(responses, "mesh")
    check_seed(seed)
    if prior == "empirical" and model not in {"2PL", "3PL"}:
        raise ValueError(f"prior='empirical' learns about slopes, which {model} has not by item")
    settings: dict[str, Any] = {
        "prior": prior,
        "seed": int(seed),  # a number of NumPy's own cannot be stored
        "quadrature": quadrature
        if isinstance(quadrature, str)
        else [int(quadrature[0]), float(quadrature[1])],
        "standard_errors": bool(standard_errors),
        "synthetic": synthetic,
        "tol": float(tol),
        "max_iterations": int(max_iterations),
        **({} if mesh is None else {"devices": mesh.size}),
        **({} if n_batch is None else {"batch": [n_batch, n_items], "amortised": bool(amortised)}),
    }
    file = None if checkpoint is None else Path(checkpoint)
    quantity = "ELBO" if method == "vi" else "log-likelihood"
    with progress_line(f"fitting {model}", quantity, shown=progress) as report:
        run = _Run(responses, model, method, settings, report, mesh, file, every)
        result = _fitted(run)
    _warn(result)
    return result


class _Run(NamedTuple):
    """A fit with settings that have been checked."""

    responses: ResponseMatrix
    model: ModelName
    method: str
    settings: dict[str, Any]
    report: Callable[[int, float], None]
    mesh: Mesh | None
    checkpoint: Path | None
    every: int


def _fitted(run: _Run) -> FitResult:
    """Fit; the prior among the settings is then told in full."""
    from irtkit.calibration.layout import Layout
    from irtkit.calibration.solution import counts_of, result_of
    from irtkit.patterns import patterns_of

    responses, model, settings = run.responses, run.model, run.settings
    rows = patterns_of(responses, synthetic_is_real=settings["synthetic"] == "ordinary")
    counts = counts_of(rows)
    # On a grid that follows the items Rasch is the 1PL in other units; on a fixed one it is not.
    same_as_1pl = settings["quadrature"] == "adaptive" or run.method == "vi"
    layout = Layout(
        "1PL" if model == "Rasch" and same_as_1pl else model,
        responses.n_items,
        _prior_at_start(settings),
    )
    find = _by_vi if run.method == "vi" else _by_em
    solution = find(run, layout, rows)
    return result_of(solution, responses, counts, model=model, method=run.method, settings=settings)


def _prior_at_start(settings: dict[str, Any]) -> Prior | None:
    """Prior of the ascent, after which an empirical one is learned."""
    from irtkit.calibration.priors import prior_of

    return prior_of("weak" if settings["prior"] == "empirical" else settings["prior"])


def _climber(
    run: _Run, layout: Layout, rows: Patterns, *, tol: float, max_iterations: int
) -> Climber:
    from irtkit.calibration.em import Climber

    grid = run.settings["quadrature"]
    return Climber(
        layout,
        rows,
        grid=None if grid == "adaptive" else (int(grid[0]), float(grid[1])),
        tol=tol,
        max_iterations=max_iterations,
        report=run.report if run.method == "em" else lambda _step, _value: None,
        mesh=run.mesh,
    )


def _by_vi(run: _Run, layout: Layout, rows: Patterns) -> Solution:
    """Approximate the posterior; the ascent of the bound starts near a maximum."""
    from irtkit.calibration.variational.solving import NEAR, Options, Variational, start_rows

    n_batch, n_items = run.settings.get("batch", (None, None))
    amortised = run.settings.get("amortised", False)
    options = Options(n_batch, n_items, amortised, run.checkpoint, run.every)
    # the start is the same however few steps are then allowed, so that an ascent which ran out of
    # them goes on as one that did not
    some = start_rows(rows, options, run.settings["seed"])
    climber = _climber(run, layout, some, tol=NEAR, max_iterations=_MOST_AT_START)
    return Variational(
        *(climber, rows, run.responses, run.model),
        settings=run.settings,
        options=options,
        report=run.report,
    ).solve()


def _by_em(run: _Run, layout: Layout, rows: Patterns) -> Solution:
    """Maximise the likelihood; standard errors are those of the observed information."""
    from irtkit.calibration.empirical import sharpened
    from irtkit.calibration.likelihood import grid_of, prior_at
    from irtkit.calibration.priors import described_prior
    from irtkit.calibration.solution import Solution
    from irtkit.calibration.standard_errors import item_covariances

    settings = run.settings
    climber = _climber(
        run, layout, rows, tol=settings["tol"], max_iterations=settings["max_iterations"]
    )
    maximum = climber.maximise(climber.start())
    empirical = settings["prior"] == "empirical"
    settings["prior"] = described_prior(_prior_at_start(settings))
    if empirical:
        learned, climber, maximum = sharpened(climber, maximum)
        settings["prior"] = learned.described()
    layout, x = climber.layout, _equal_where_totals_are(climber, maximum.x)
    covariances = None
    if settings["standard_errors"]:
        covariances = item_covariances(
            climber.rows,
            layout.items(x),
            grid_of(layout, maximum.nodes, x),
            model=layout.model,
            sds=(layout.latent_sd(x), layout.synthetic_sd(x)),
            prior=None if layout.prior is None else prior_at(layout, x),
            n_learned=layout.n_learned,
        )
    return Solution(
        items=layout.items(x),
        covariances=covariances,
        information=climber.information(maximum) if layout.prior is None else None,
        common_slope=layout.common_slope,
        ability=maximum.posteriors.mean,
        ability_se=maximum.posteriors.sd,
        latent_sd=layout.latent_sd(x) if layout.model == "Rasch" else None,
        synthetic_sd=layout.synthetic_sd(x),
        log_likelihood=maximum.log_likelihood,
        converged=maximum.converged,
        n_iterations=climber.n_iterations,
        trace_rows=np.array(climber.trace, dtype=np.float64).reshape(-1, 4),
        nodes=maximum.nodes,
        quadrature_error=maximum.quadrature_error,
    )


def _equal_where_totals_are(climber: Climber, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intercepts with a common slope: the same where complete responses have the same totals.

    They are at the maximum, where no other number of the data bears on them; an ascent stops
    with a difference of the size of its tolerance, which would pass for an order.
    """
    layout, rows = climber.layout, climber.rows
    if not (layout.common_slope and rows.complete):
        return x
    slopes, intercepts, guessing, learned = layout.split(x)
    group = np.unique(rows.item_right, axis=1, return_inverse=True)[1].ravel()
    mean = np.bincount(group, intercepts) / np.bincount(group)
    return layout.joined(slopes, mean[group], guessing, learned)


def _warn(result: FitResult) -> None:
    """Say in one warning which items have no finite estimate, or that the fit did not converge."""
    unbounded = [
        name for name, s in zip(result.item_labels, result.status, strict=True) if s == "unbounded"
    ]
    if unbounded:
        named = ", ".join(map(repr, unbounded[:_NAMED_IN_WARNINGS]))
        more = len(unbounded) - _NAMED_IN_WARNINGS
        warnings.warn(
            f"{len(unbounded)} of {len(result.item_labels)} items have no finite maximum of the "
            f"likelihood and keep the last value reached: {named}"
            + (f" and {more} more" if more > 0 else "")
            + ("" if result.converged else "; the fit did not converge for it")
            + "; prior='weak' gives finite estimates",
            stacklevel=3,
        )
    elif not result.converged and result.method == "vi":
        warnings.warn(
            f"the evidence lower bound has not settled in {result.n_iterations} steps (smoothed "
            f"{result.trace_rows[-1][5]:.4f}); raise max_iterations",
            stacklevel=3,
        )
    elif not result.converged:
        last = result.trace_rows[-1]
        exhausted = result.n_iterations >= result.settings["max_iterations"]
        advice = ["raise max_iterations"] if exhausted else []
        advice += [] if result.settings["prior"] else ["use prior='weak'"]
        warnings.warn(
            f"the fit did not converge in {result.n_iterations} iterations "
            f"(log-likelihood {last[2]:.4f}, last change of a parameter {last[3]:.2g})"
            + ("" if exhausted else ", no further step raises the likelihood")
            + (f"; {' or '.join(advice)}" if advice else ""),
            stacklevel=3,
        )
