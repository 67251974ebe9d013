"""Calibration by marginal maximum likelihood: the ascent, grid after grid.

On a fixed grid there is one ascent. On the adaptive grid the nodes are built from the starting
values, and built anew when the log-likelihood on nodes twice as dense as the items now need
differs; the ascent then goes on from where it is. No step that lowers the objective is taken.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from irtkit import quadrature
from irtkit.calibration import ascent
from irtkit.calibration.likelihood import Data, MarginalLikelihood, described, starting_values
from irtkit.calibration.priors import Beta, ItemPrior, Normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.calibration.empirical import Sharpened
    from irtkit.quadrature import Blocks, Nodes, Posterior

_REACH = 8.0
_MANY_ITEMS = 4096
"""Items from which on complete data, too, are worth interpolating item curves."""
_FIRST_TOL = 0.01
"""Tolerance on interpolated item curves until the first check of the grid."""
_MOST_PROGRAMS = 40
_compiled_for: set[tuple[MarginalLikelihood, tuple[int, ...]]] = set()
_SAMPLE = 2500
"""Respondents of a sample that is fitted first; used when there are twice as many."""
_FIRST_STRETCH = 24
"""Evaluations before the grid is first checked; the stretches after it double."""
_MOST_GRIDS = 6
_MOST_RESCALINGS = 10
_OFF_SCALE = 0.02
"""Departure from mean 0 and SD 1 that is put right."""
_ERROR_ALLOWED = 1e-4
"""Quadrature error of the log-likelihood per real respondent above which nodes are rebuilt."""
_SECONDS_BETWEEN_REPORTS = 0.2


class Maximum(NamedTuple):
    """Where an ascent ended, and the posterior of every respondent there."""

    x: jax.Array
    nodes: Nodes
    converged: bool
    n_iterations: int
    trace: list[tuple[int, int, float, float]]
    """Step, number of nodes, log-likelihood of real respondents, change."""
    posterior: Posterior
    log_likelihood: float
    quadrature_error: float
    """|log-likelihood on the nodes − on adaptive ones twice as dense|, all real respondents."""


class Climber:
    """Climbs a likelihood on one grid after another, with one budget of evaluations.

    ``report`` is called now and then with the number of evaluations and the log-likelihood.
    """

    def __init__(
        self,
        likelihood: MarginalLikelihood,
        blocks: Blocks,
        *,
        tol: float,
        max_iterations: int,
        report: Callable[[int, float], None],
    ) -> None:
        self.likelihood = likelihood
        self.blocks = blocks
        self.tol = tol
        self.max_iterations = max_iterations
        self.report = report
        _remember_program(likelihood, blocks)
        self.n_iterations = 0
        self.trace: list[tuple[int, int, float, float]] = []
        self.group = np.asarray(blocks.group).ravel()
        self.real = self.group == quadrature.REAL
        self.has_synthetic = bool((self.group == quadrature.SYNTHETIC).any())
        self.n_real = np.array(float(self.real.sum()))
        responses = np.asarray(blocks.respondent_responses).ravel()
        self.answered = responses[self.group != quadrature.PADDING].max() / likelihood.n_items
        by_product = likelihood.model == "3PL" or not likelihood.complete
        self.knots_per_node = 0.7 if by_product else 0.5 * (likelihood.n_items >= _MANY_ITEMS)

    def maximise(self, x: jax.Array, grid: tuple[int, float] | None) -> Maximum:
        """Maximise on a fixed grid (nodes, limit), or on adaptive nodes if there is none."""
        return self.on_adaptive_nodes(x) if grid is None else self.on_fixed_nodes(x, *grid)

    def near(self, x: jax.Array, grid: tuple[int, float] | None) -> jax.Array:
        """Go most of the way to the maximum, on a first grid alone."""
        if grid is None:
            nodes = self._resolution(x, self._reach(x)).nodes(knots_per_node=self.knots_per_node)
        else:
            nodes = quadrature.fixed_nodes(*grid)
        start = ascent.begin(self._without_synthetic(x, nodes))
        return self._climb(start, nodes, 4 * _FIRST_STRETCH, _FIRST_TOL).x

    def on_fixed_nodes(self, x: jax.Array, n_nodes: int, limit: float) -> Maximum:
        """Maximise on equally spaced nodes from −limit to limit."""
        nodes = quadrature.fixed_nodes(n_nodes, limit)
        x = self._without_synthetic(x, nodes)
        state = self._climb(ascent.begin(x), nodes, self.max_iterations, self.tol)
        posterior = self._posterior(state.x, nodes)
        dense, _ = self._dense_posterior(state.x, max(limit, _REACH))
        error = abs(self._log_likelihood(posterior) - self._log_likelihood(dense))
        return self._maximum(state, nodes, posterior, error)

    def on_adaptive_nodes(self, x: jax.Array) -> Maximum:
        """Maximise on nodes that follow the items, rebuilt where denser ones change the result."""
        x = self._from_sample(x)
        reach = self._reach(x)
        nodes = self._resolution(x, reach).nodes(knots_per_node=self.knots_per_node)
        state = ascent.begin(self._without_synthetic(x, nodes))
        n_built, most = 1, _FIRST_STRETCH
        tol = self.tol if nodes.spread is None else max(self.tol, _FIRST_TOL)
        while True:
            state = self._climb(state, nodes, most, tol)
            posterior, needed = self._dense_posterior(state.x, reach)
            error = abs(float(state.log_likelihood) - self._log_likelihood(posterior))
            fine = error <= _ERROR_ALLOWED * float(self.n_real) and needed <= reach
            done = state.converged or state.stalled or self.n_iterations >= self.max_iterations
            if fine and tol > self.tol and not self.n_iterations >= self.max_iterations:
                tol, state = self.tol, state._replace(n_small=0 * state.n_small)
            elif done and (fine or n_built == _MOST_GRIDS or not state.converged):
                return self._standardised(self._maximum(state, nodes, posterior, error), reach)
            if not fine and n_built < _MOST_GRIDS:
                reach, tol = max(reach, needed), self.tol
                nodes = self._next_nodes(state.x, reach, n_built)
                state = ascent.begin(state.x)
                n_built += 1
            most *= 2

    def _from_sample(self, x: jax.Array) -> jax.Array:
        """Get near the maximum with every so-manieth respondent, where there are very many."""
        stride = len(self.group) // _SAMPLE
        if stride < 2:
            return x
        blocks = quadrature.every(self.blocks, stride)
        n_real = np.array(float((np.asarray(blocks.group) == quadrature.REAL).sum()))
        nodes = self._resolution(x, self._reach(x)).nodes(knots_per_node=self.knots_per_node)
        data = Data(blocks, nodes, n_real)
        state: ascent.Ascent
        state, _ = ascent.advance(
            self.likelihood, data, ascent.begin(x), tol=_FIRST_TOL, n_steps=_FIRST_STRETCH
        )
        return state.x

    def _next_nodes(self, x: jax.Array, reach: float, n_built: int) -> Nodes:
        """Nodes after a grid that was not fine enough: from the second on without knots."""
        finer_knots = 0.7 if n_built == 1 and self.knots_per_node == 0.7 else 0.0
        return self._resolution(x, reach).nodes(
            1 if n_built < _MOST_GRIDS // 2 else 2, knots_per_node=finer_knots, refine_knots=2
        )

    def with_items(self, sharpened: Sharpened, maximum: Maximum) -> tuple[Climber, Maximum]:
        """Take items that learned from each other, and their distribution as the prior."""
        guessing = described(self.likelihood, maximum.x).items.logit_guessing
        parts = [sharpened.slope, sharpened.intercept]
        if guessing is not None:
            parts.append(np.asarray(guessing))
        x = jnp.asarray(np.concatenate(parts))
        plain = self._sibling(ItemPrior())
        posterior, reach = plain._dense_posterior(x, self._reach(maximum.x))  # noqa: SLF001
        log_likelihood = self._log_likelihood(posterior)
        moved = maximum._replace(x=x, posterior=posterior, log_likelihood=log_likelihood)
        moved = plain._with_unit_scale(moved, reach)  # noqa: SLF001
        scale = float(moved.x[0] / x[0])
        found = sharpened.distribution
        prior = ItemPrior(
            Normal(found.slope * scale, found.slope_spread * scale),
            Normal(found.intercept, found.intercept_spread),
            Beta(),
        )
        return self._sibling(prior), moved

    def _sibling(self, prior: ItemPrior) -> Climber:
        """A climber of the same responses with another prior."""
        return Climber(
            replace(self.likelihood, prior=prior),
            self.blocks,
            tol=self.tol,
            max_iterations=self.max_iterations,
            report=self.report,
        )

    def data(self, maximum: Maximum) -> Data:
        """What the likelihood is made of, on the nodes of a maximum."""
        return Data(self.blocks, maximum.nodes, self.n_real)

    def information(self, maximum: Maximum) -> NDArray[np.float64]:
        """ΣP(1 − P) of every item: the expected number of responses that could go either way."""
        return np.asarray(_intercept_information(self.likelihood, self.data(maximum), maximum.x))

    def _standardised(self, maximum: Maximum, reach: float) -> Maximum:
        """Give abilities of real respondents mean 0 and SD 1 where the prior has moved them.

        Without a prior they have them at the maximum. A prior that speaks of absolute sizes moves
        them, noticeably so with very few respondents or slopes beyond its limit. Rescaling items
        and abilities together leaves every probability of a right answer as it is.
        """
        if self.likelihood.prior is None or not self.likelihood.prior.learns:
            return maximum
        return self._with_unit_scale(maximum, reach)

    def _with_unit_scale(self, maximum: Maximum, reach: float) -> Maximum:
        """Rescale items and abilities together until abilities have mean 0 and SD 1."""
        for _ in range(_MOST_RESCALINGS):
            posterior = maximum.posterior
            ability = np.asarray(posterior.mean)[self.real]
            mean = float(ability.mean())
            square = (ability - mean) ** 2 + np.asarray(posterior.sd)[self.real] ** 2
            sd = float(np.sqrt(square.mean()))
            if abs(mean) <= _OFF_SCALE and abs(sd - 1) <= _OFF_SCALE:
                break
            x = self.likelihood.rescaled(maximum.x, mean, sd)
            posterior, reach = self._dense_posterior(x, reach)
            maximum = maximum._replace(
                x=x, posterior=posterior, log_likelihood=self._log_likelihood(posterior)
            )
        return maximum

    def _without_synthetic(self, x: jax.Array, nodes: Nodes) -> jax.Array:
        """Get near the maximum of the real respondents before synthetic ones take part.

        From far away an always-right row, of any ability, pulls every inverted item round.
        """
        if not self.has_synthetic:
            return x
        left_out = np.where(self.group == quadrature.SYNTHETIC, quadrature.PADDING, self.group)
        shaped = left_out.astype(np.int8).reshape(self.blocks.group.shape)
        blocks = quadrature.regrouped(self.blocks, jnp.asarray(shaped))
        data = Data(blocks, nodes, self.n_real)
        steps = min(_FIRST_STRETCH, self.max_iterations // 2)
        state: ascent.Ascent
        state, _ = ascent.advance(
            self.likelihood, data, ascent.begin(x), tol=self.tol, n_steps=steps
        )
        self.n_iterations += int(state.n_evaluations)
        return state.x

    def _climb(self, state: ascent.Ascent, nodes: Nodes, most: int, tol: float) -> ascent.Ascent:
        """Make up to ``most`` evaluations on one grid, reporting between bursts of them."""
        data = Data(self.blocks, nodes, self.n_real)
        n_nodes = quadrature.count_nodes(nodes)
        end, burst = min(self.n_iterations + most, self.max_iterations), 8
        while not (state.converged or state.stalled) and self.n_iterations < end:
            began, made = time.perf_counter(), int(state.n_evaluations)
            allowed = min(burst, end - self.n_iterations)
            state, entries = ascent.advance(self.likelihood, data, state, tol=tol, n_steps=allowed)
            log_likelihood, change = map(np.asarray, entries)
            self.trace.extend(
                (
                    self.n_iterations + int(k) + 1,
                    n_nodes,
                    float(log_likelihood[k]),
                    float(change[k]),
                )
                for k in np.flatnonzero(np.isfinite(log_likelihood))
            )
            self.n_iterations += int(state.n_evaluations) - made
            each = (time.perf_counter() - began) / allowed
            burst = int(np.clip(_SECONDS_BETWEEN_REPORTS / each, 1, 64))
            self.report(self.n_iterations, float(state.log_likelihood))
        return state

    def _reach(self, x: jax.Array) -> float:
        """How far the grid must go: beyond real abilities, and far into a wide distribution."""
        if not self.has_synthetic:
            return _REACH
        return max(_REACH, 4 * float(described(self.likelihood, x).synthetic_sd))

    def _resolution(self, x: jax.Array, reach: float) -> quadrature.Resolution:
        items = described(self.likelihood, x).items
        return quadrature.Resolution.of(items, reach, self.answered)

    def _posterior(self, x: jax.Array, nodes: Nodes) -> Posterior:
        posterior: Posterior = _posterior(self.likelihood, self.blocks, nodes, x)
        return posterior

    def _dense_posterior(self, x: jax.Array, reach: float) -> tuple[Posterior, float]:
        """Posterior on nodes twice as dense as needed, and a reach that holds all of it."""
        reach = max(reach, self._reach(x))
        for _ in range(_MOST_GRIDS):
            nodes = self._resolution(x, reach).nodes(
                2, knots_per_node=float(self.knots_per_node == 0.7), refine_knots=2
            )
            posterior = self._posterior(x, nodes)
            farthest = np.abs(np.asarray(posterior.mean)) + 7 * np.asarray(posterior.sd)
            needed = float(farthest[self.real].max())
            if needed <= reach:
                break
            reach = 1.5 * needed
        return posterior, reach

    def _log_likelihood(self, posterior: Posterior) -> float:
        return float(np.asarray(posterior.log_marginal)[self.real].sum())

    def _maximum(
        self, state: ascent.Ascent, nodes: Nodes, posterior: Posterior, error: float
    ) -> Maximum:
        return Maximum(
            state.x,
            nodes,
            state.converged,
            self.n_iterations,
            self.trace,
            posterior,
            self._log_likelihood(posterior),
            error,
        )


def _remember_program(likelihood: MarginalLikelihood, blocks: Blocks) -> None:
    """Drop compiled programs once there are many.

    Each shape of matrix is compiled for itself and holds some 400 memory maps, of which Linux
    grants a process 65,530; without a limit, a study over hundreds of shapes would crash.
    """
    key = (likelihood, blocks.cells.shape)
    if key not in _compiled_for and len(_compiled_for) >= _MOST_PROGRAMS:
        programs: tuple[Any, ...] = (ascent.advance, starting_values, _posterior)
        for program in (*programs, _intercept_information):
            program.clear_cache()
        _compiled_for.clear()
    _compiled_for.add(key)


@partial(jax.jit, static_argnums=0)
def _posterior(
    likelihood: MarginalLikelihood, blocks: Blocks, nodes: Nodes, x: jax.Array
) -> Posterior:
    items, grid = likelihood.items(x), likelihood.grid(x, nodes)
    result: Posterior = quadrature.posterior(blocks, items, grid, complete=likelihood.complete)
    return result


@partial(jax.jit, static_argnums=0)
def _intercept_information(likelihood: MarginalLikelihood, data: Data, x: jax.Array) -> jax.Array:
    information: jax.Array = likelihood.evaluate(data, x).curvature
    return information[:, 1, 1]
