"""Calibration by marginal maximum likelihood: the ascent, grid after grid.

On a fixed grid there is one ascent. On the adaptive grid the nodes are built from the starting
values, and built anew when the items have come to need finer ones, or when the log-likelihood on
nodes twice as dense differs; the ascent then goes on from where it is. On one grid no step is taken
that lowers the objective by more than rounding.

Before synthetic respondents take part, the ascent gets near the maximum of the real ones: from far
away an always-right row, of any ability, pulls every inverted item round. Of very many respondents
every k-th is enough to start from: their maximum lies a few standard errors from that of all,
and the way there, on which steps are largest and least exact, costs a fraction.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.calibration.ascent import Ascent
from irtkit.calibration.likelihood import MarginalLikelihood, grid_of
from irtkit.calibration.priors import Beta, ItemPrior
from irtkit.calibration.starting import starting_values
from irtkit.patterns import REAL
from irtkit.quadrature import NodeDensity, engine_of, fixed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax.sharding import Mesh
    from numpy.typing import NDArray

    from irtkit.calibration.ascent import Evaluation
    from irtkit.calibration.layout import Layout
    from irtkit.calibration.priors import ItemDensity
    from irtkit.patterns import Patterns
    from irtkit.quadrature import Nodes, Posteriors

    Array = NDArray[np.float64]

_REACH = 8.0
_MANY_ITEMS = 512
"""Items from which on complete data, too, are worth interpolating item curves."""
_KNOTS_PER_NODE = 0.7
"""Fewer knots than this are worth interpolating from."""
_NEAR = 0.01
"""Tolerance of an ascent that only gets near the maximum, of a sample per parameter."""
_STEPS_NEAR = 24
_SAMPLE, _SAMPLE_PER_ITEM, _FEWEST_ALIKE = 4000, 20, 30
"""Respondents of a sample to start from, and right and wrong responses to every item in it."""
_FIRST_STRETCH, _LONGEST_STRETCH = 3, 24
"""Evaluations before it is looked whether items need finer nodes; the stretches double."""
_OUTGROWN = 1.25
"""Factor by which nodes may be too far apart before they are built anew."""
_FEW_RESPONDENTS = 256
_SMALL_GAIN = 0.1
"""A step that promises less and fails shows that 32 bits are no longer enough."""
_MOST_GRIDS, _FINEST = 40, 5
"""Grids that may be outgrown, and how often one may be made finer for its error at the end."""
_RUN_AWAY, _PATIENCE = 100.0, 48
"""Slope, and evaluations, beyond which a fit without a prior is given up: slopes grow for ever."""
_MOST_REACHES = 5
_MOST_RESCALINGS = 10
_OFF_SCALE = 0.02
"""Departure from mean 0 and SD 1 that is put right."""
_ERROR_ALLOWED = 1e-4
"""Quadrature error of the log-likelihood per real respondent above which nodes are rebuilt."""
_SECONDS_BETWEEN_REPORTS = 0.2


class Maximum(NamedTuple):
    """Where an ascent ended, and the posterior of every respondent there."""

    x: Array
    nodes: Nodes
    converged: bool
    posteriors: Posteriors
    log_likelihood: float
    """That of real respondents."""
    quadrature_error: float
    """|log-likelihood on the nodes − on adaptive ones twice as dense|, all real respondents."""
    there: Evaluation | None
    """The likelihood at x on the nodes, if the ascent ended with it."""


class Climber:
    """Climbs a likelihood on one grid after another, with one budget of evaluations.

    ``grid`` is (nodes, limit), or None for adaptive nodes. ``report`` is called now and then with
    the number of evaluations and the log-likelihood. ``mesh`` holds the devices that compute, if
    they are chosen.
    """

    def __init__(
        self,
        layout: Layout,
        rows: Patterns,
        *,
        grid: tuple[int, float] | None,
        tol: float,
        max_iterations: int,
        report: Callable[[int, float], None],
        mesh: Mesh | None = None,
    ) -> None:
        self.layout = layout
        self.rows = rows
        self.grid = grid
        self.tol = tol
        self.max_iterations = max_iterations
        self.n_iterations = 0
        self.trace: list[tuple[int, int, float, float]] = []
        """Step, number of nodes, log-likelihood of real respondents, change."""
        self._report = report
        self._reported = time.perf_counter()
        self.mesh = mesh
        # 64 bits from the start where posteriors cost next to nothing, and on a mesh: rounding to
        # 32 would make the end of the climb depend on how many devices share the respondents
        few = rows.n < max(_FEW_RESPONDENTS, layout.n_items / 10)
        self._exact = few or mesh is not None
        self.engine = engine_of(rows, with_guessing=layout.model == "3PL", mesh=mesh)
        self._answered = rows.respondent_responses.max() / layout.n_items

    def with_prior(self, prior: ItemDensity | None) -> Climber:
        """Return the same climber, as far as it has come, with another prior."""
        other = copy(self)
        other.layout = replace(self.layout, prior=prior)
        return other

    def start(self) -> Array:
        """Where to start; with very many respondents, near the maximum of a sample of them."""
        some = self._sample()
        if some is None:
            return starting_values(self.layout, self.rows)
        ascent = Ascent(starting_values(self.layout, some))
        self._go_near(ascent, self.layout, some, _NEAR * len(ascent.x))
        return ascent.x

    def maximise(self, x: Array) -> Maximum:
        """Go to the maximum from x."""
        ascent = Ascent(x)
        for layout, rows in self._nearer():
            self._go_near(ascent, layout, rows, _NEAR)
            ascent.begin_again()
        if self.grid is None:
            return self._on_adaptive_nodes(ascent)
        return self._on_fixed_nodes(ascent)

    def at(self, x: Array, maximum: Maximum) -> Maximum:
        """Posteriors at x, which stands for items that were changed after the maximum."""
        posteriors, _ = self._dense_posteriors(x, self._reach(x))
        log_likelihood = self._log_likelihood(posteriors)
        return maximum._replace(
            x=x, posteriors=posteriors, log_likelihood=log_likelihood, there=None
        )

    def with_unit_scale(self, maximum: Maximum) -> Maximum:
        """Rescale items and abilities together until abilities have mean 0 and SD 1.

        Every probability of a right answer stays as it is.
        """
        for _ in range(_MOST_RESCALINGS):
            ability = maximum.posteriors.mean[self.rows.real]
            mean = float(ability.mean())
            square = (ability - mean) ** 2 + maximum.posteriors.sd[self.rows.real] ** 2
            sd = float(np.sqrt(square.mean()))
            if abs(mean) <= _OFF_SCALE and abs(sd - 1) <= _OFF_SCALE:
                break
            maximum = self.at(self.layout.rescaled(maximum.x, mean, sd), maximum)
        return maximum

    def information(self, maximum: Maximum) -> Array:
        """ΣP(1 − P) of every item: the expected number of responses that could go either way."""
        if maximum.there is not None:
            found = maximum.there.curvature.information
        else:
            grid = grid_of(self.layout, maximum.nodes, maximum.x)
            found = self.engine.sums(self.layout.items(maximum.x), grid).information
        return np.asarray(found[:, 1, 1])

    def _sample(self) -> Patterns | None:
        """Every k-th respondent, where that is cheap, and enough for every item."""
        rows, cheap = self.rows, self.mesh is None and self.layout.model != "3PL"
        step = rows.n // max(_SAMPLE, _SAMPLE_PER_ITEM * self.layout.n_items)
        if step < 2 or rows.packed is None or rows.has_synthetic or not cheap:
            return None
        some = rows.chosen(slice(None, None, step))
        right = some.item_right[REAL]
        return some if np.minimum(right, some.n - right).min() >= _FEWEST_ALIKE else None

    def _nearer(self) -> Iterator[tuple[Layout, Patterns]]:
        """Likelihoods whose maxima are on the way to that of all respondents."""
        layout, rows = self.layout, self.rows
        if layout.model == "3PL" and layout.prior is None:
            # from afar guessing runs off before slopes settle
            layout = replace(layout, prior=ItemPrior(guessing=Beta()))
        if rows.has_synthetic:
            yield layout, rows.chosen(rows.real)
        elif layout is not self.layout:
            yield layout, rows

    def _go_near(self, ascent: Ascent, layout: Layout, rows: Patterns, tol: float) -> None:
        """Get near the maximum of some respondents, with at most half of the budget."""
        engine = engine_of(rows, with_guessing=layout.model == "3PL", mesh=self.mesh)
        nodes, on_mesh = self.nodes_at(ascent.x), self.mesh is not None
        likelihood = MarginalLikelihood(layout, engine, nodes, exact=on_mesh)
        end = min(self.n_iterations + _STEPS_NEAR, self.max_iterations // 2)
        while not (ascent.converged or ascent.stalled) and self.n_iterations < end:
            ascent.evaluate(likelihood, max(self.tol, tol))
            self.n_iterations += 1

    def _on_fixed_nodes(self, ascent: Ascent) -> Maximum:
        """Maximise on equally spaced nodes from −limit to limit."""
        nodes = self.nodes_at(ascent.x)
        self._climb(ascent, nodes)
        posteriors = self._posteriors(ascent.x, nodes)
        dense, _ = self._dense_posteriors(ascent.x, max(float(nodes.theta[-1]), _REACH))
        error = abs(self._log_likelihood(posteriors) - self._log_likelihood(dense))
        return self._maximum(ascent, nodes, posteriors, error)

    def _on_adaptive_nodes(self, ascent: Ascent) -> Maximum:
        """Maximise on nodes that follow the items, built anew where they turn out too coarse."""
        reach, finer, n_built = self._reach(ascent.x), 1, 0
        resolution = self._resolution(ascent.x, reach)
        while True:
            nodes, n_built = self._built(resolution, finer), n_built + 1
            ascent.continue_with_another()
            needed = self._climb(ascent, nodes, resolution if n_built < _MOST_GRIDS else None)
            if needed is not None:
                resolution = needed
                continue
            posteriors, farthest = self._dense_posteriors(ascent.x, reach)
            on_nodes = ascent.there.log_likelihood if ascent.there else -np.inf
            error = abs(on_nodes - self._log_likelihood(posteriors))
            fine = error <= _ERROR_ALLOWED * self.rows.n_real and farthest <= reach
            if fine or finer == _FINEST or self.n_iterations >= self.max_iterations:
                break
            finer, reach = finer + 1, max(reach, farthest)
            resolution = self._resolution(ascent.x, reach)
        found = self._maximum(ascent, nodes, posteriors, error)
        # Without a prior abilities have unit scale at the maximum; a prior that speaks of absolute
        # sizes moves them, noticeably with very few respondents or slopes beyond its limit.
        learns = self.layout.prior is not None and self.layout.prior.learns
        return self.with_unit_scale(found) if learns else found

    def _climb(
        self, ascent: Ascent, nodes: Nodes, resolution: NodeDensity | None = None
    ) -> NodeDensity | None:
        """Climb on one grid to the end, or until items need finer nodes than it was built for.

        Return what they need then.
        """
        likelihood = MarginalLikelihood(self.layout, self.engine, nodes, exact=self._exact)
        made, look_at = 0, _FIRST_STRETCH
        while not (ascent.converged or ascent.stalled) and self.n_iterations < self.max_iterations:
            self.n_iterations, made = self.n_iterations + 1, made + 1
            accepted = ascent.evaluate(likelihood, self.tol)
            if not accepted and ascent.expected < _SMALL_GAIN and not self._exact:
                self._exact = True
                likelihood = MarginalLikelihood(self.layout, self.engine, nodes, exact=True)
                ascent.begin_again()
            if accepted and ascent.there is not None:
                entry = (nodes.n_nodes, ascent.there.log_likelihood, ascent.change)
                self.trace.append((self.n_iterations, *entry))
            if resolution is not None and made == look_at:
                needed = self._resolution(ascent.x, float(resolution.theta[-1]))
                if self._runs_away(ascent.x):
                    return None
                if resolution.outgrown_by(needed, _OUTGROWN):
                    return needed
                look_at += min(look_at, _LONGEST_STRETCH)
            now = time.perf_counter()
            if now > self._reported + _SECONDS_BETWEEN_REPORTS and self.trace:
                self._report(self.n_iterations, self.trace[-1][2])
                self._reported = now
        return None

    def _runs_away(self, x: Array) -> bool:
        """Whether the likelihood has no maximum at finite slopes, as far as one can tell."""
        steepest = float(np.abs(self.layout.items(x).slope).max()) * self.layout.latent_sd(x)
        return self.layout.prior is None and steepest > _RUN_AWAY and self.n_iterations > _PATIENCE

    def _reach(self, x: Array) -> float:
        """How far the grid must go: beyond real abilities, and far into a wide distribution."""
        if not self.rows.has_synthetic:
            return _REACH
        return max(_REACH, 4 * self.layout.synthetic_sd(x))

    def _resolution(self, x: Array, reach: float) -> NodeDensity:
        return NodeDensity.of(self.layout.items(x), reach, self._answered)

    def nodes_at(self, x: Array) -> Nodes:
        """Return the fixed grid, or nodes for items at x."""
        if self.grid is not None:
            return fixed_nodes(*self.grid)
        return self._built(self._resolution(x, self._reach(x)), 1)

    def _built(self, resolution: NodeDensity, finer: int) -> Nodes:
        """Nodes, after grids that were not fine enough with finer knots, then without any."""
        knots_per_node = self._knots_per_node if finer < 3 else 0.0
        return resolution.nodes(
            1 if finer < 4 else 2, knots_per_node=knots_per_node, refine_knots=finer
        )

    @property
    def _knots_per_node(self) -> float:
        """Knots per node below which item curves are interpolated; 0 where they cost little."""
        many = self.layout.n_items >= _MANY_ITEMS or not self.rows.complete
        return _KNOTS_PER_NODE if many or self.layout.model == "3PL" else 0.0

    def dense_nodes(self, x: Array, reach: float = 0.0) -> Nodes:
        """Nodes twice as dense as needed."""
        resolution = self._resolution(x, max(reach, self._reach(x)))
        return resolution.nodes(2, knots_per_node=self._knots_per_node, refine_knots=2)

    def _posteriors(self, x: Array, nodes: Nodes) -> Posteriors:
        grid = grid_of(self.layout, nodes, x)
        with np.errstate(under="ignore", divide="ignore"):
            return self.engine.posteriors(self.layout.items(x), grid)

    def _dense_posteriors(self, x: Array, reach: float) -> tuple[Posteriors, float]:
        """Posteriors on nodes twice as dense as needed, and a reach that holds all of them."""
        reach = max(reach, self._reach(x))
        for _ in range(_MOST_REACHES):
            nodes = self.dense_nodes(x, reach)
            posteriors = self._posteriors(x, nodes)
            farthest = np.abs(posteriors.mean) + 7 * posteriors.sd
            needed = float(farthest[self.rows.real].max())
            if needed <= reach:
                break
            reach = 1.5 * needed
        return posteriors, reach

    def _log_likelihood(self, posteriors: Posteriors) -> float:
        return float(posteriors.log_marginal[self.rows.real].sum())

    def _maximum(
        self, ascent: Ascent, nodes: Nodes, posteriors: Posteriors, error: float
    ) -> Maximum:
        log_likelihood = self._log_likelihood(posteriors)
        outcome = (ascent.converged, posteriors, log_likelihood, error, ascent.there)
        return Maximum(ascent.x, nodes, *outcome)
