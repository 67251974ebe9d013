"""The public way in: one function that fits any model to a response matrix.

Arguments are refused by name before anything heavy is loaded.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.calibration.arguments import (
    TOLERANCES,
    check_batches,
    check_data,
    check_memory_of,
    check_mesh,
    check_prior,
    checked_quadrature,
    prior_expecting,
    variational_of,
)
from irtkit.calibration.calibrated import calibrated_items
from irtkit.calibration.one_thread import one_thread
from irtkit.calibration.result import FitResult, Settings
from irtkit.calibration.variational.options import Variational
from irtkit.checks import (
    check_number,
    check_one_of,
    check_whole,
    check_yes_or_no,
    did_you_mean,
    short,
)
from irtkit.io.metric_files import as_metrics
from irtkit.io.reading import READING, as_responses
from irtkit.irf import model_name
from irtkit.metrics import quality_of
from irtkit.progress import progress_line
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from jax.sharding import Mesh

    from irtkit.calibration.priors import Prior, PriorName
    from irtkit.irf import Array, ModelName
    from irtkit.metrics import QualityStandard

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


def fit(
    responses: object,
    model: ModelName = "2PL",
    *,
    method: Literal["em", "vi"] | Variational = "em",
    prior: PriorName | Prior | None = "weak",
    seed: int = 0,
    quadrature: Literal["adaptive"] | tuple[int, float] = "adaptive",
    standard_errors: bool = True,
    synthetic: Literal["separate", "ordinary"] = "separate",
    trial_correlation: float | None = None,
    fixed: object = None,
    batch_items: int | None = None,
    item_prior_mean: object = None,
    item_prior_sd: float | None = None,
    tol: float | None = None,
    max_iterations: int = 1000,
    progress: bool | None = None,
    mesh: Mesh | None = None,
    metrics: object = None,
    higher_is_better: Mapping[str, bool] | Collection[str] | None = None,
    **reading: Any,
) -> FitResult:
    """Fit an item response model: difficulty, discrimination, guessing, and abilities.

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items: a ResponseMatrix, dense or sparse, or what
        :func:`irtkit.read_responses` takes (a path, a data frame wide or long, an array, a list of
        records, a dict). Missing cells are taken as missing at random; respondents and items
        without any response change nothing. Synthetic respondents take
        part in estimating items, with a wide ability distribution of their own (5 logits at the
        typical slope, and more than real ones; the settings of the result say how wide), and count
        neither in the log-likelihood nor in average errors, orientation or scale. An always-right
        row contradicts negative slopes (it answers inverted items right as well), so look for
        suspect items without it.
    model
        "1PL" (one common discrimination), "Rasch" (discrimination 1, SD of ability estimated),
        "2PL" or "3PL" (with guessing). In 2PL and 3PL discrimination is free in sign.
    method
        "em": marginal maximum likelihood; abilities are posterior means. "vi": a variational
        posterior of items and abilities under the same priors. :class:`irtkit.Variational` says
        what its numbers mean, and holds its options (batches, checkpoints):
        ``method=irtkit.Variational(batch=4096)``; "vi" is short for ``irtkit.Variational()``.
    prior
        "weak" (default) keeps the estimates of every item with a response finite and leaves the
        common scale and location of the items free; "empirical" also learns from the matrix how
        slopes and difficulties are distributed and what share of items is inverted, and gives each
        item its posterior mean
        (2PL and 3PL; for few respondents and many items: standard errors take what was learned as
        known, and are too small where few items taught it); None is textbook marginal maximum
        likelihood ("em" only). Or an :class:`irtkit.ItemPrior` or :class:`irtkit.WeakPrior`.
        Guessing of the 3PL is centred on the chance level: ``irtkit.WeakPrior(chance=0.25)``, or
        1/n_options by the column n_options of the item table. By default the level that all items
        share is learned from the responses (``settings.prior["chance"]``); with fewer than 50
        respondents it comes out too low, so give it.
    seed
        The same seed gives the same bytes. "em" draws nothing at random.
    quadrature
        "adaptive" (default): nodes that follow the posteriors. Or a fixed grid (nodes, limit),
        equally spaced on [−limit, limit]: (61, 6.0) is the grid of R's mirt. There "Rasch" ends
        where mirt does: without a prior, σ² is the mean of E[θ² | responses], and log-likelihood,
        AIC and BIC are of a normal cut off at the grid, and not at their maximum. Nodes farther
        apart than posteriors are wide leave several maxima; the search starts where mirt does.
    standard_errors
        Whether to compute them, from the observed information: exact up to 150 items (100 for the
        3PL); for more, what items have in common is exact, and nearly all errors are within 1 %
        (``benchmarks/standard_errors.py``). A prior counts with its second derivative; NaN where
        the estimate is no maximum, as posterior means under "empirical" sometimes are not. That the
        ability SD of synthetic respondents follows slopes is left out: beside two of them errors
        of slopes are 2 to 3 % too small for 30 real ones × 10 items, that of the 1PL's one slope
        up to 10 %, and more without a prior.
    synthetic
        "separate" (default) as described above; "ordinary" treats synthetic respondents like any
        other row.
    trial_correlation
        How far repeated trials of a cell repeat each other, given ability and item: n of them
        count for n/(1 + (n − 1) · trial_correlation), so that at 0 they are independent and at 1
        all runs together are one. By default it is estimated, and 0 unless trials agree more than
        the model explains (a score test at 1 %). Log-likelihood, AIC, BIC and ELBO are then those
        of the trials so counted (a quasi-likelihood), and compare with those of fits that count
        them the same way: give the ``settings.trial_correlation`` of the larger model to all.
        A cell counts for 100,000 trials at most.
    fixed
        Items on an earlier scale, which keep their parameters: an earlier result, a table of items,
        or the path of either, as :func:`irtkit.score` takes them. Items are found by label; those
        that are not among them are free. Everything is then on the scale of the fixed items, on
        which the mean and SD of ability among these respondents are estimated
        (``result.latent_mean``, ``result.latent_sd``): new items and new, abler systems land on it
        (fixed parameter calibration, Kim 2006). Items stay; abilities of earlier systems are
        estimated anew, under the mean and SD of all that are there now, so that beside abler ones
        they are pulled up: ``irtkit.score(responses, earlier)`` has them as they were. Standard
        errors of new items take the fixed ones as known, and are within a few per cent of second
        derivatives, up to a tenth too small beside two fixed items alone. ``latent_mean_se`` and
        ``latent_sd_se`` include the sampling errors of the fixed items, if these are known. A score
        test finds fixed items that became easier or harder (columns ``drift_z`` and ``drifts``).
        For method="em", and not with prior="empirical" or a mesh.
    batch_items
        Fit consecutive blocks of so many items with responses apart, as where a program cannot take
        them all (the last one has what is left); for method="em" without fixed items or a mesh. The
        respondents carry the scale: items of different batches are comparable as far as the same
        respondents answered them, or respondents drawn alike. ``result.batches`` has the SD
        of their abilities in each, whose mean is called 0; abilities, standard errors of abilities
        and log-likelihood are those of all responses together under the items so found.
    item_prior_mean
        Difficulties expected of items before they are answered, so that they need fewer answers: a
        Series (or mapping) by item label, in logits (difficulty × discrimination), with
        ``item_prior_sd`` for how far off they may be; or a table with the columns mean and sd, as
        :meth:`irtkit.prediction.DifficultyPredictor.prior_mean` makes it. Differences of means
        alone count; beside ``fixed`` items means are on their scale. Means of new items alone do
        not say how hard these are beside others: give means of all items. They help the 1PL, and
        the 2PL where answers are few (``benchmarks/expected_difficulty.py``). Labels of no item are
        ignored if every item has a mean, and refused otherwise. For method="em" with the weak
        prior.
    item_prior_sd
        SD of difficulties around ``item_prior_mean``, in logits, where that is no table: the
        typical error of the predictions.
    tol
        For "em" (default 1e-7), the fit has converged when a full step promises to raise the
        log-likelihood (with prior) by less than this, twice in a row, or once by a tenth of the
        step before: estimates are then within about √(2·tol) of a standard error from the optimum.
        For "vi" (default 0.03), when the smoothed evidence lower bound has stopped rising and the
        Monte-Carlo error of posterior means, as the size of single steps shows it, is below this
        many posterior SDs (of the 3PL, whose steps are not independent, it may be twice that).
    max_iterations
        Most evaluations of the likelihood ("em"; of all fits together where repeated trials are
        counted anew), or steps of a handful of them ("vi"). A fit
        that needs more is returned with ``converged=False`` and a warning.
    progress
        Whether to show progress; by default on a terminal and in a notebook.
    mesh
        Devices that share the respondents, for instance ``jax.make_mesh((jax.device_count(),),
        ("all",))``, whatever its axes. Of several processes (after ``jax.distributed.initialize``),
        on machines of one kind, each calls ``fit`` with the same arguments, the whole matrix among
        them, and gets the same result; each computes the standard errors, in NumPy.
        None (default): NumPy or the default device of JAX, as the size of the matrix suggests.
    metrics
        What else was measured of the answers, such as cost, time or scores: the items get Kolena's
        score by it as the column ``quality_standard``, from 0 (easy) to 1 (hard), NaN where none of
        an item's metrics tells. It changes no estimate. Either a table, long or wide (a data frame
        or a CSV or Parquet file), or a mapping of respondents to tables, as
        :func:`irtkit.difficulty.quality_standard` takes them; columns of respondents and items are
        recognised by their usual names. Or names of ``responses.metrics``, which evaluation logs
        bring: ``metrics=["total_tokens", "latency_ms"]``. Or a QualityStandard, with weights and
        scale of one's choice.
    higher_is_better
        Those of the metrics that are better when higher, all others being better when lower: to be
        given with metrics, since a wrong direction turns the score round; ``[]`` for none. Or a
        mapping that says True or False for every metric.
    **reading
        How to read responses that are no ResponseMatrix: ``right="correct"``, ``ignore="size"``,
        ``threshold=0.5`` and the other arguments of :func:`irtkit.read_responses`.

    Returns
    -------
    FitResult
        Ability rises with the proportion right. Its population has mean 0 and SD 1 (Rasch:
        ``latent_sd``), as fitted to the real respondents: their posteriors together have that mean
        and SD, but for the pull of a prior; posterior means alone spread less. Errors of abilities
        are on the scale of this sample; those of items hold the luck of who is in it. Slopes are
        in logits per SD of ability, without a factor of 1.7.

    Raises
    ------
    TypeError
        If ``responses`` is nothing that can be read, ``mesh`` not a mesh, ``standard_errors``
        neither True nor False, or an argument is an option of :class:`irtkit.Variational`, or says
        how to read what is a ResponseMatrix already.
    ValueError
        If responses cannot be read, an argument is outside what is named above, all respondents are
        synthetic, processes that share a mesh are given different responses, a checkpoint is of
        other responses or settings, ``mesh`` goes with a sparse matrix, or metrics have no
        direction, are unknown, or are of respondents or items that are not in the responses.

    Warns
    -----
    UserWarning
        Once for each sentence of ``result.warnings``: if systems score no better than guessing
        (``result.at_chance``); if the fit did not converge; if items have no finite estimate, or
        are too few to tell their parameters apart; if fixed items drifted; if respondents and items
        fall into parts that no responses link, or too few; if a gap between respondents who
        answered different items is drawn together; if there are fewer than 8 respondents, or they
        differ no more than by chance; if ability does not follow
        how much respondents get right; if one ability does not explain the responses, or who
        disagrees with whom; or if repeated trials count for less than nine in ten.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.5, -1.0], [-1.0, 0.0, 1.0])
    >>> abilities = [k / 50 - 2 for k in range(200)]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1)
    >>> result = irtkit.fit(responses, "2PL")
    >>> result.converged, [bool(a < 0) for a in result.items["discrimination"]]
    (True, [False, False, True])

    Beside them, how long the first respondent took:

    >>> import pandas as pd
    >>> seconds = pd.DataFrame({"item": responses.items, "seconds": [1, 2, 4]})
    >>> seconds["respondent"] = responses.respondents[0]
    >>> result = irtkit.fit(responses, metrics=seconds, higher_is_better=[])
    >>> result.items["quality_standard"].round(2).to_dict()
    {'item-1': 0.0, 'item-2': 0.33, 'item-3': 1.0}
    """
    for option in (name for name in reading if name not in READING):
        of_variational = option in Variational.__dataclass_fields__
        remedy = did_you_mean(option, ["model", *(fit.__kwdefaults__ or ()), *READING])
        if of_variational:
            remedy = f"; write method=irtkit.Variational({option}=…)"
        raise TypeError(f"fit() got an unexpected keyword argument {short(option)}{remedy}")
    model = model_name(model)
    check_one_of("synthetic", synthetic, ("separate", "ordinary"))
    variational = variational_of(method)
    name = "em" if variational is None else "vi"
    tol = check_number("tol", TOLERANCES[name] if tol is None else tol, above=0)
    check_whole("max_iterations", max_iterations, 1)
    check_whole("seed", seed, 0)
    check_yes_or_no(standard_errors=standard_errors)
    if trial_correlation is not None:
        trial_correlation = check_number("trial_correlation", trial_correlation, least=0, most=1)
    check_prior(prior, model, variational=variational is not None)
    check_batches(batch_items, variational is None and fixed is None and mesh is None)
    anchors = None if fixed is None else calibrated_items(fixed, name="fixed")
    if anchors is not None and (variational or mesh is not None or prior == "empirical"):
        raise ValueError("fixed= is for method='em' without a mesh, and not for prior='empirical'")
    if mesh is not None:
        check_mesh(mesh)
    responses = as_responses(responses, **reading)
    check_data(responses, synthetic)
    prior = prior_expecting(prior, item_prior_mean, item_prior_sd, responses, name)
    check_memory_of(responses, variational)
    ordinary = synthetic == "ordinary"
    quality = quality_of(responses, as_metrics(metrics), higher_is_better, synthetic=ordinary)
    if mesh is not None:
        refuse_sparse(responses, "mesh")
    settings = Settings(
        prior=prior,
        seed=int(seed),  # a number of NumPy's own cannot be stored
        quadrature=checked_quadrature(quadrature),
        standard_errors=bool(standard_errors),
        synthetic=synthetic,
        trial_correlation=trial_correlation,
        tol=tol,
        max_iterations=int(max_iterations),
        devices=None if mesh is None else mesh.size,
        batch_items=None if batch_items is None else int(batch_items),
        batch=None if variational is None else variational.size,
    )
    from irtkit.calibration.estimation import fitted

    quantity = "log-likelihood" if variational is None else "ELBO"
    line = progress_line(f"fitting {model}", quantity, shown=progress)
    with line as report, one_thread():
        result = fitted(responses, model, settings, variational, anchors, mesh=mesh, report=report)
    if quality is not None:
        result = _with_quality(result, quality)
    _warn(result)
    return result


def _warn(result: FitResult) -> None:
    """Warn whoever called `fit`, unless fits are silent."""
    for text in () if _SILENT.get() else result.warnings:
        warnings.warn(text, stacklevel=3)


@contextmanager
def silently() -> Iterator[None]:
    """Let fits in the block keep what they warn of to themselves: ``result.warnings`` has it.

    Python's own filters belong to all threads at once: a thread that puts them back while another
    changes them leaves warnings switched off.
    """
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def _with_quality(result: FitResult, quality: QualityStandard) -> FitResult:
    """The result with the score of every item, and how it was asked for."""
    scores: Array = np.asarray(quality.items.reindex(list(result.item_labels)), np.float64)
    settings = replace(result.settings, metrics=quality.settings)
    return replace(result, quality_standard=scores, settings=settings)
