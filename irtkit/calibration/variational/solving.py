"""From a response matrix to estimates by the variational path.

The ascent starts near the maximum of the penalised likelihood, which an EM ascent with a coarse
tolerance finds in a dozen evaluations; with batches, that of as many respondents as a few batches
hold. That is also what a distribution of items is learned from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logit

from irtkit.calibration.empirical import empirical_bayes
from irtkit.calibration.estimates import Estimates
from irtkit.calibration.item_prior import prior_of
from irtkit.calibration.likelihood import synthetic_sd
from irtkit.calibration.maximise import maximise
from irtkit.calibration.starting import start
from irtkit.calibration.variational import inference
from irtkit.calibration.variational.amortised import Amortised, parts_of
from irtkit.calibration.variational.checkpoint import Checkpoint, digest_of
from irtkit.calibration.variational.encoder import Encoder
from irtkit.calibration.variational.posterior import Posterior, moments_of
from irtkit.calibration.variational.sources import Batches, Whole
from irtkit.calibration.variational.target import target_of
from irtkit.irf import Items
from irtkit.patterns import SYNTHETIC

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from irtkit.calibration.maximise import Control, Problem
    from irtkit.calibration.settings import Settings
    from irtkit.calibration.variational.inference import Source, State
    from irtkit.irf import ModelName
    from irtkit.patterns import Patterns
    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]

NEAR = 1e-3
"""Tolerance of the ascent that finds the start."""
_BATCHES_AT_START = 4
_WARM_UP = 200
"""Steps of the encoder before items move."""


class Options(NamedTuple):
    """What concerns the variational path alone."""

    batch: int | None
    """Respondents of a step, or None for all."""
    items: int | None
    """Items of a step, or None for all."""
    amortised: bool
    checkpoint: Path | None
    every: int


def start_rows(rows: Patterns, options: Options, seed: int) -> Patterns:
    """Patterns that the start is found from: all, or as many as a few batches hold."""
    n = rows.n
    if options.batch is None or _BATCHES_AT_START * options.batch >= n:
        return rows
    order = np.random.default_rng([seed, 0, 3]).permutation(n)
    return rows.chosen(np.sort(order[: _BATCHES_AT_START * options.batch]))


class Variational:
    """One variational fit."""

    def __init__(
        self,
        problem: Problem,
        control: Control,
        rows: Patterns,
        responses: ResponseMatrix,
        model: ModelName,
        *,
        settings: Settings,
        options: Options,
        report: Callable[[int, float], None],
    ) -> None:
        self._problem = problem
        self._control = control
        self._rows = rows
        self._labels = responses.items, responses.respondents
        self._model = model
        self._settings = settings
        self._options = options
        self._report = report
        empirical = settings["prior"] == "empirical"
        # None: it is learned on the way to the start
        self._prior = None if empirical else prior_of(settings["prior"])
        per_pass = 1
        if options.batch is not None:
            per_pass = -(-rows.n // options.batch) * parts_of(rows, options.items)
        self._stopping = inference.Settings(
            settings["seed"], settings["tol"], per_pass, settings["max_iterations"]
        )

    def solve(self) -> Estimates:
        """Start, ascend, and find what the guide says of items and abilities."""
        file = self._checkpoint()
        found = None if file is None else file.resumed(self._prior)
        state, encoder = (self._start(), None) if found is None else found
        source = self._source()
        if isinstance(source, Amortised):
            if encoder is None:
                at_start = state.target.coordinates.parameters(state.guide.mean)
                source.warm_up(at_start, _WARM_UP)
            else:
                source.encoder = encoder

        def keep(now: State) -> None:
            if file is not None:
                file.keep(now, _encoder_of(source))

        if found is None:
            keep(state)
        state = inference.ascend(state, source, self._stopping, report=self._report, keep=keep)
        return self._solution(state, source)

    def _start(self) -> State:
        """State near the maximum of the penalised likelihood."""
        problem, control = self._problem, self._control
        maximum = maximise(problem, start(problem, control), control)
        log_scale, location = problem.parameters.values(maximum.x).hyper
        prior: Any = self._prior
        if prior is None:
            problem, maximum = empirical_bayes(problem, maximum, control.schedule)
            prior = problem.prior
            log_scale, location = math.log(prior.slope), -prior.difficulty
        items = problem.items(maximum.x)
        target = target_of(self._model, prior, items.slope, self._rows.n)
        mean = target.coordinates.point(items, location, log_scale)
        return inference.first_state(target, mean, self._exact_source(), self._stopping.seed)

    def _exact_source(self) -> Whole | Batches:
        """The marginal likelihood, of all respondents or in batches."""
        if self._options.batch is None:
            return Whole(self._problem, self._control.schedule)
        size, seed = self._options.batch, self._stopping.seed
        return Batches(self._problem, self._control.schedule, self._rows, size, seed)

    def _source(self) -> Source:
        exact = self._exact_source()
        if isinstance(exact, Batches) and self._options.amortised:
            return Amortised(exact, self._options.items, Encoder.untrained(self._stopping.seed))
        return exact

    def _checkpoint(self) -> Checkpoint | None:
        path = self._options.checkpoint
        if path is None:
            return None
        fingerprint = {
            "model": self._model,
            "prior": None if self._prior is None else self._prior.described(),
            "seed": self._stopping.seed,
            "batch": [self._options.batch, self._options.items, self._options.amortised],
            "quadrature": self._settings["quadrature"],
            "responses": digest_of(self._rows),
        }
        return Checkpoint(path, self._options.every, fingerprint)

    def _solution(self, state: State, source: Source) -> Estimates:
        """Posterior means and SDs, and the likelihood at the means."""
        rows, target = self._rows, state.target
        abilities, elbo = inference.abilities_of(state, source, rows.real, self._stopping)
        coordinates, guide = target.coordinates, state.guide
        mean, covariance = moments_of(coordinates, guide)
        parameters = mean.copy()
        if mean.shape[1] == 3:
            slope = mean[:, 2] * (1 - mean[:, 2])  # of guessing by its logit
            parameters[:, 2] = logit(mean[:, 2])
            covariance[:, 2, :] /= slope[:, None]
            covariance[:, :, 2] /= slope[:, None]
        log_likelihood, error = self._log_likelihood(parameters, state)
        return Estimates(
            items=Items(*parameters.T),
            covariances=covariance if self._settings["standard_errors"] else None,
            information=None,
            common_slope=coordinates.common_slope,
            ability=abilities.mean,
            ability_se=abilities.sd,
            latent_sd=None,
            synthetic_sd=synthetic_sd(Items(*parameters.T)),
            prior=target.described(guide.shared),
            log_likelihood=log_likelihood,
            converged=state.converged,
            n_iterations=state.step,
            trace_rows=np.array(state.trace, dtype=np.float64).reshape(-1, 6),
            nodes=state.nodes,
            quadrature_error=error,
            posterior=Posterior(
                item_labels=self._labels[0],
                respondent_labels=self._labels[1],
                synthetic=rows.group == SYNTHETIC,
                coordinates=coordinates,
                guide=guide,
                abilities=abilities,
                elbo=elbo,
                encoder=_encoder_of(source),
            ),
        )

    def _log_likelihood(self, parameters: Array, state: State) -> tuple[float, float]:
        """Log-likelihood of real respondents on dense nodes, and how far that on the nodes is off.

        The nodes reach as far as the posteriors do.
        """
        source, real = self._exact_source(), self._rows.real
        found = source.posteriors(parameters, state.nodes)
        farthest = float((np.abs(found.mean) + 7 * found.sd)[real].max())
        schedule, items = self._control.schedule, Items(*parameters.T)
        patterns = self._problem.engine.patterns
        nodes = schedule.dense(schedule.density(items, patterns, farthest), items, patterns)
        dense = source.posteriors(parameters, nodes)
        log_likelihood = float(dense.log_marginal[real].sum())
        return log_likelihood, abs(log_likelihood - float(found.log_marginal[real].sum()))


def _encoder_of(source: Source) -> Encoder | None:
    return source.encoder if isinstance(source, Amortised) else None
