"""Fitting ordered levels: how steps make up a vector, their prior, a start, and standard errors.

The search, its grids and the weak prior are those of the 2PL. The prior speaks of slopes, and of
intercepts, which are the mean logit of the thresholds; these spread around it by a normal density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import Parameterisation
from irtkit.calibration.priors import AtPrior, Hyper, WeakPrior
from irtkit.calibration.search import (
    PreconditionedLBFGS,
    Problem,
    intercept_of,
    starting_slopes,
)
from irtkit.calibration.standard_errors import System, missing_on_polynomials, orthonormal
from irtkit.data.patterns import blocks
from irtkit.irf import ItemParameters, Items, level_curves, level_information
from irtkit.quadrature.engines import Part
from irtkit.quadrature.levels import LevelEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import Calibration
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Levels, ModelName
    from irtkit.quadrature import Grid

_STEP_SPREAD = 3.0  # SD of the logits of thresholds around their mean, as of intercepts.
_AT_ONCE = 2**21  # Numbers worked on at once.


@dataclass(frozen=True)
class LevelPrior:
    """The weak prior of slopes and intercepts, and a normal one of thresholds around these.

    A slope of the GPCM is by one of K steps, and falls about as 2/(K + 1): that many times larger
    the prior takes it.
    """

    weak: WeakPrior
    turn: Array  # From slope and steps to the slope and intercept of the prior, (n_items, 2, k).
    around: Array  # Precision of steps, (n_items, k, k).
    learns: ClassVar[bool] = True

    @classmethod
    def of(cls, weak: WeakPrior, levels: Levels) -> LevelPrior:
        """The prior of items with some levels."""
        (n_items, width), free = levels.scores.shape, levels.free
        n_steps = free.sum(axis=1)
        whole, logits = levels.contrasts()
        turn = np.zeros((n_items, 2, width))
        around = np.zeros((n_items, width, width))
        turn[:, 0, 0] = 1.0
        if levels.model == "GPCM":
            turn[:, 0, 0] = (levels.shifts.max(axis=1, initial=1.0) + 1) / 2
        turn[:, 1, 1:] = whole
        off = logits - logits.sum(axis=1, keepdims=True) / np.maximum(n_steps, 1)[:, None, None]
        off *= free[:, :, None]
        around[:, 1:, 1:] = off.swapaxes(1, 2) @ off / _STEP_SPREAD**2
        return cls(weak, turn, around)

    def plain(self, items: Items) -> tuple[Items, Array]:
        """What the weak prior takes for slopes and intercepts, and the parameters of all items."""
        values = np.concatenate([items.slope[:, None], items.steps], axis=1)
        slope, intercept = (self.turn @ values[:, :, None])[:, :, 0].T
        return Items(slope, intercept), values

    def at(
        self, items: Any, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items and of m and τ, its gradient and its curvature."""
        plain, values = self.plain(items)
        density = self.weak.at(plain, hyper, common_slope=common_slope, copies=copies)
        pull = (self.around @ values[:, :, None])[:, :, 0]
        by_item = density.by_item - 0.5 * (pull * values).sum(axis=1)
        return density._replace(
            log_density=density.log_density - 0.5 * float((pull * values).sum()),
            gradient=(density.gradient[:, None] @ self.turn)[:, 0] - pull,
            blocks=self.turned(density.blocks) + self.around,
            border=self.turn.swapaxes(1, 2) @ density.border,
            by_item=by_item,
        )

    def described(self) -> dict[str, Any]:
        """Return the weak prior as plain values, for the settings of a result."""
        return self.weak.described()

    def turned(self, blocks_of_two: Array) -> Array:
        """Curvatures by slope and intercept as those by slope and steps."""
        return np.asarray(self.turn.swapaxes(1, 2) @ blocks_of_two @ self.turn)


def level_problem(
    patterns: Patterns, model: ModelName, prior: WeakPrior | None, levels: NDArray[np.bool_]
) -> tuple[Problem, PreconditionedLBFGS]:
    """The likelihood of items with levels, and of others with marks, and a search that starts."""
    engine = LevelEngine(patterns, model, marks=~levels)
    n_items, width = engine.scores.shape
    template = engine.items(np.zeros(n_items), np.zeros((n_items, width - 1))).levels
    of_levels: Any = None if prior is None else LevelPrior.of(prior, template)
    parameters = Parameterisation(model, n_items, learns=prior is not None, levels=template)
    problem = Problem(engine, parameters, of_levels)  # type: ignore[arg-type]
    return problem, PreconditionedLBFGS(_start(problem))


class LevelCells(NamedTuple):
    """Levels that some respondents reached, and their abilities."""

    rows: slice
    engine: LevelEngine
    items: Items
    ability: Array
    sd: Array

    def scores(self, point: float, size: int) -> list[Array]:
        """Scores by slope and steps at θ + point · SD, as tables."""
        theta = self.ability + point * self.sd
        _, by_logit, by_step = level_curves(self.items, theta)
        of_levels = theta * by_logit, *np.moveaxis(by_step, 2, 0)
        return [self.engine.reached_of(values, self.rows) for values in of_levels][:size]

    def by_ability(self) -> tuple[Array, Array]:
        """Scores and information by ability, as tables."""
        by_logit = level_curves(self.items, self.ability)[1]
        score = self.engine.reached_of(by_logit, self.rows) * self.items.slope
        information = level_information(self.items, self.ability).T
        return score, information * self.engine.tried[self.rows]


def level_cells(
    result: Calibration, parameters: ItemParameters, patterns: Patterns
) -> Iterator[LevelCells]:
    """Go over the levels that were reached, some respondents at a time."""
    marks = parameters.top == 1
    correlation = (result.settings.trial_correlation or 0.0) * marks
    counted = patterns.with_trial_correlation(correlation)
    engine = LevelEngine(counted, parameters.model or "GPCM", ~np.isnan(parameters.steps), marks)
    items = parameters.items
    for rows in blocks(patterns.n, len(items.slope) * engine.scores.shape[1] ** 2, _AT_ONCE):
        abilities = result.ability[rows], result.posterior_sd[rows]
        yield LevelCells(rows, engine, items, *abilities)


def _start(problem: Problem) -> Array:
    """Start from the frequencies of levels and from the correlation of points with the total."""
    engine: Any = problem.engine
    levels: Any = problem.parameters.levels
    slope: Any = starting_slopes(engine.patterns, shrunk=problem.prior is not None)
    number = np.where(levels.real, engine.counts + 0.5, 0.0)
    if levels.model == "GPCM":
        slope = slope * 2 / (levels.shifts.max(axis=1) + 1)
        odds = number[:, 1:] / number[:, :1]
        steps = np.log(np.where(levels.free, odds, 1.0))
    else:
        above = np.cumsum(number[:, :0:-1], axis=1)[:, ::-1] / number.sum(axis=1, keepdims=True)
        steps = intercept_of(np.where(levels.free, above, 0.5), slope[:, None])
    hyper = Hyper(float(np.log(max(np.mean(slope), 0.3))), 0.0)
    return problem.parameters.vector(engine.items(slope, steps), hyper)


class LevelScores:
    """Scores of items with levels, by slope and steps, and the information that they miss."""

    def __init__(self, engine: LevelEngine, items: Items, grid: Grid) -> None:
        self.engine = engine
        self.items = items
        self.grid = grid
        self._curves = level_curves(items, grid.nodes.theta)

    def parts(self) -> Iterator[Part]:
        """Scores and observed cells of some respondents, and their posteriors."""
        engine = self.engine
        for rows, weights, _ in engine.weights(self.items, self.grid):
            by_node = np.ascontiguousarray(weights.T)
            yield Part(rows, engine.score[rows], engine.tried[rows], by_node, by_node)

    def system(self, *, by_itself: bool) -> System:
        """Information about each item, and (``by_itself``) what it misses along θ."""
        information = self.engine.sums(self.items, self.grid).information
        absent = ~self.items.levels.real
        missing = np.zeros_like(information)
        for part in self.parts() if by_itself else ():
            linear = next(orthonormal(part.weights, self.grid.nodes.theta))
            flat = self.scores(part, linear, linear=True)
            by_item = flat.reshape(len(flat), *absent.shape).transpose(1, 2, 0)
            missing += by_item @ by_item.swapaxes(1, 2)
        filled = information + np.eye(absent.shape[1]) * absent[:, :, None]
        return System(filled, missing, np.empty(0), np.empty(0))

    def missing_information(self, moves: Array) -> Array:
        """Missing information along some directions, (n_items, k, n)."""
        theta = self.grid.nodes.theta
        turn = moves.reshape(-1, moves.shape[2])
        n = self.engine.patterns.n
        return missing_on_polynomials(self.parts(), theta, self.scores, turn, n)

    def scores(self, part: Part, weighted: Any, *, linear: bool) -> Array:
        """Scores summed over nodes with some weights, (n, n_items · k)."""
        del linear
        theta = self.grid.nodes.theta
        along = np.ascontiguousarray(weighted.T)
        _, by_logit, by_step = self._curves
        n_items, width = by_logit.shape[:2]
        table = np.zeros((len(along), n_items, width))
        if self.items.levels.model == "GPCM":
            # the score of a slope has k·θ; what is constant in θ has no covariance
            mean = (theta * (self.engine.scores[:, :1] - by_logit[:, 0])).T
            table[:, :, 0] = part.right * (along @ theta)[:, None]
            table[:, :, 0] -= part.answered * (along @ mean)
            for k in range(1, width):
                table[:, :, k] = part.answered * (along @ by_step[:, 0, k - 1].T)
            return table.reshape(len(along), -1)
        for k in range(width):
            reached = self.engine.at(k, part.respondents)
            table[:, :, 0] += reached * (along @ (theta * by_logit[:, k]).T)
            for step in {max(k - 1, 0), min(k, width - 2)}:
                table[:, :, step + 1] += reached * (along @ by_step[:, k, step].T)
        return table.reshape(len(along), -1)
