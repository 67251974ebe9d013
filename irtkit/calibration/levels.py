"""Fitting ordered levels: how steps make up a vector, their prior, a start, and standard errors.

The search, its grids and the weak prior are those of the 2PL. The prior speaks of slopes, and of
intercepts, which are the mean logit of the thresholds; these spread around it by a normal density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from irtkit.calibration.likelihood import (
    STANDARD,
    Parameterisation,
    Population,
    Values,
)
from irtkit.calibration.priors import AtPrior, Hyper, WeakPrior
from irtkit.calibration.search import PreconditionedLBFGS, Problem
from irtkit.calibration.standard_errors import (
    ItemCovariance,
    PriorInformation,
    System,
    in_common,
    inverted,
    orthonormal,
    prior_information,
)
from irtkit.data.patterns import blocks
from irtkit.irf import ItemParameters, Items, level_curves, level_information
from irtkit.quadrature.levels import LevelEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import Calibration
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ModelName
    from irtkit.quadrature import Grid

_STEP_SPREAD = 3.0  # SD of the logits of thresholds around their mean, as of intercepts.
_MOST_DENSE = 300  # Parameters up to which their information is inverted as a whole.
_POLYNOMIALS = 6  # Of each posterior that scores are projected on: errors within 1e-4.
_AT_ONCE = 2**21  # Numbers worked on at once.


class LevelParameterisation(Parameterisation):
    """Slopes, then the steps to every level in turn; those that an item does not have stay 0."""

    def __init__(self, engine: LevelEngine, *, learns: bool) -> None:
        n_items, width = engine.scores.shape
        super().__init__("2PL", n_items, learns=learns)
        self.engine, self.model, n = engine, engine.model, n_items * width
        self.places = [slice(k * n_items, (k + 1) * n_items) for k in range(width)]
        self.slopes, self.intercepts = self.places[:2]
        self.hyper = slice(n, n + self.n_hyper)
        self.size = self.hyper.stop
        self.population = self.angles = slice(self.size, self.size)
        of_gpcm = engine.scores[:, 1:] - engine.scores[:, :1]
        self.shifts = np.where(engine.free, of_gpcm if self.model == "GPCM" else 1.0, 0.0)
        """How much steps move with a shift of ability, in slopes."""

    def values(self, x: Array) -> Values:
        """Items and all else that a vector stands for."""
        table = x[: self.hyper.start].reshape(-1, self.n_items)
        location, log_scale = x[self.hyper] if self.n_hyper else (0.0, 0.0)
        items: Any = self.engine.items(table[0], table[1:].T)
        return Values(items, STANDARD, Hyper(float(log_scale), float(location)), None)

    def vector(
        self, items: Any, hyper: Hyper | None = None, population: Population = STANDARD[0]
    ) -> Array:
        """Return the vector that stands for some items."""
        del population
        steps = np.where(self.engine.free, items.levels.steps, 0.0)
        learned = [] if hyper is None else [hyper.location, hyper.log_scale]
        return np.concatenate([items.slope, steps.T.ravel(), learned[: self.n_hyper]])

    def pulled_back(
        self, at: Values, by_item: Array, by_population: Array, by_hyper: Array
    ) -> Array:
        """Gradient by the vector from those by the items and the hyper."""
        del at, by_population
        return np.concatenate([by_item.T.ravel(), by_hyper[: self.n_hyper]])

    def scale_and_location(self, x: Array, at: Values) -> tuple[Array, Array]:
        """How the vector moves with a common factor of ability (in log) and a common shift."""
        scale, location = np.zeros((2, self.size))
        scale[self.slopes] = x[self.slopes]
        steps = self.shifts * at.items.slope[:, None]
        location[self.slopes.stop : self.hyper.start] = steps.T.ravel()
        scale[self.hyper] = (-at.hyper.location, 1.0)[: self.n_hyper]
        location[self.hyper] = (1.0, 0.0)[: self.n_hyper]
        return scale, location

    def by_shift_and_slope(self, blocks: Array) -> tuple[Array, Array]:
        """Information about a shift of every item, and about its slope beside all else."""
        of_steps = blocks[:, 1:, 1:] + np.eye(blocks.shape[1] - 1) * 1e-3
        by_shift = np.einsum("jk,jkl,jl->j", self.shifts, of_steps, self.shifts)
        along = np.linalg.solve(of_steps, blocks[:, 1:, :1])[:, :, 0]
        own = blocks[:, 0, 0] - (blocks[:, 0, 1:] * along).sum(axis=1)
        return np.maximum(by_shift, 1e-300), np.maximum(own, 0.0)

    def rescaled(self, x: Array, mean: float, sd: float) -> Array:
        """Vector for ability measured from ``mean`` in units of ``sd``."""
        moved = x + mean * self.scale_and_location(x, self.values(x))[1]
        moved[self.slopes] *= sd
        if self.n_hyper:
            location, log_scale = x[self.hyper]
            moved[self.hyper] = (location + mean) / sd, log_scale + np.log(sd)
        return moved


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
    def of(cls, weak: WeakPrior, engine: LevelEngine) -> LevelPrior:
        """The prior of the items of an engine."""
        (n_items, width), last = engine.scores.shape, engine.free.sum(axis=1)
        whole, each = engine.items(
            np.ones(n_items), np.zeros((n_items, width - 1))
        ).levels.contrasts()
        turn, around = np.zeros((n_items, 2, width)), np.zeros((n_items, width, width))
        spans = engine.scores[np.arange(n_items), last] - engine.scores[:, 0]
        turn[:, 0, 0] = (np.maximum(spans, 1) + 1) / 2 if engine.model == "GPCM" else 1.0
        turn[:, 1, 1:] = whole
        off = each - each.sum(axis=1, keepdims=True) / np.maximum(last, 1)[:, None, None]
        off *= engine.free[:, :, None]
        around[:, 1:, 1:] = off.swapaxes(1, 2) @ off / _STEP_SPREAD**2
        return cls(weak, turn, around)

    def plain(self, items: Items) -> tuple[Items, Array]:
        """What the weak prior takes for slopes and intercepts, and the parameters of all items."""
        steps = np.where(items.levels.free, items.levels.steps, 0.0)
        own = np.concatenate([items.slope[:, None], steps], axis=1)
        slope, intercept = (self.turn @ own[:, :, None])[:, :, 0].T
        return Items(slope, intercept), own

    def at(
        self, items: Any, hyper: Hyper, *, common_slope: bool, copies: Array | None = None
    ) -> AtPrior:
        """Log density of the items and of m and τ, its gradient and its curvature."""
        plain, own = self.plain(items)
        found = self.weak.at(plain, hyper, common_slope=common_slope, copies=copies)
        pull = (self.around @ own[:, :, None])[:, :, 0]
        by_item = found.by_item - 0.5 * (pull * own).sum(axis=1)
        return found._replace(
            log_density=found.log_density - 0.5 * float((pull * own).sum()),
            gradient=(found.gradient[:, None] @ self.turn)[:, 0] - pull,
            blocks=self.turned(found.blocks) + self.around,
            border=self.turn.swapaxes(1, 2) @ found.border,
            by_item=by_item,
        )

    def described(self) -> dict[str, Any]:
        """Return the weak prior as plain values, for the settings of a result."""
        return self.weak.described()

    def turned(self, blocks_of_two: Array) -> Array:
        """Curvatures by slope and intercept as those by slope and steps."""
        return np.asarray(self.turn.swapaxes(1, 2) @ blocks_of_two @ self.turn)

    def information(self, at: Values) -> PriorInformation:
        """Minus the second derivatives of the log prior."""
        plain = self.plain(at.items)[0]
        of_two = Parameterisation("2PL", len(plain.slope), learns=True)
        found = prior_information(self.weak, of_two, at._replace(items=plain), None)
        border = self.turn.swapaxes(1, 2) @ found.border
        return PriorInformation(self.turned(found.blocks) + self.around, border, found.corner)


def level_problem(
    patterns: Patterns, model: ModelName, prior: WeakPrior | None, levels: NDArray[np.bool_]
) -> tuple[Problem, PreconditionedLBFGS]:
    """The likelihood of items with levels, and of others with marks, and a search that starts."""
    engine = LevelEngine(patterns, model, marks=~levels)
    of_levels: Any = None if prior is None else LevelPrior.of(prior, engine)
    parameters = LevelParameterisation(engine, learns=prior is not None)
    problem = Problem(engine, parameters, of_levels)  # type: ignore[arg-type]
    return problem, PreconditionedLBFGS(_start(problem))


class LevelCells(NamedTuple):
    """Levels that some respondents reached, and their abilities."""

    some: slice
    engine: LevelEngine
    items: Items
    ability: Array
    sd: Array

    def scores(self, point: float, size: int) -> list[Array]:
        """Scores by slope and steps at θ + point · SD, as tables."""
        theta = self.ability + point * self.sd
        _, by_logit, by_step = level_curves(self.items, theta)
        of_levels = theta * by_logit, *np.moveaxis(by_step, 2, 0)
        return [self.engine.reached_of(one, self.some) for one in of_levels][:size]

    def by_ability(self) -> tuple[Array, Array]:
        """Scores and information by ability, as tables."""
        by_logit = level_curves(self.items, self.ability)[1]
        score = self.engine.reached_of(by_logit, self.some) * self.items.slope
        information = level_information(self.items, self.ability).T
        return score, information * self.engine.seen(self.some)


def level_cells(
    result: Calibration, parameters: ItemParameters, patterns: Patterns
) -> Iterator[LevelCells]:
    """Go over the levels that were reached, some respondents at a time."""
    marks = parameters.top == 1
    correlation = (result.settings.trial_correlation or 0.0) * marks
    counted = patterns.with_trial_correlation(correlation)
    engine = LevelEngine(counted, parameters.model or "GPCM", ~np.isnan(parameters.steps), marks)
    items = parameters.items
    for some in blocks(patterns.n, len(items.slope) * engine.scores.shape[1] ** 2, _AT_ONCE):
        own = result.ability[some], result.posterior_sd[some]
        yield LevelCells(some, engine, items, *own)


def _start(problem: Problem) -> Array:
    """Start from the frequencies of levels and from the covariance of each with the total."""
    engine: Any = problem.engine
    patterns, scores, free = engine.patterns, engine.scores, engine.free
    margins = patterns.margins
    share = (margins.respondent_right + 0.5) / (margins.respondent_responses + 1)
    ability = np.log(share / (1 - share))
    ability = (ability - ability.mean()) / max(float(ability.std()), 1e-3)
    sums = np.zeros((4, len(scores)))
    for some in blocks(patterns.n, len(scores), _AT_ONCE):
        level, seen, at = engine.scored(some), engine.seen(some), np.clip(ability[some], -4.0, 4.0)
        squares = (level**2 / np.maximum(seen, 1e-9)).sum(axis=0)
        sums += level.sum(axis=0), squares, at @ level, at @ seen
    n = np.maximum(engine.counts.sum(axis=1), 1e-3)
    mean = sums[0] / n
    variance = np.maximum(sums[1] / n - mean**2, 0.1 / n)
    covariance = (sums[2] - mean * sums[3]) / n
    correlation = np.clip(covariance / np.sqrt(variance), -0.8, 0.8)
    slope = correlation / np.sqrt(variance) / (1 - correlation**2)
    if problem.prior is not None:  # what few respondents say about a slope is mostly noise
        typical, noise = float(np.mean(slope)), float(np.mean(1 / (n * variance)))
        kept = np.clip(1 - noise / max(float(np.var(slope)), 1e-9), 0.1, 1.0)
        slope = typical + kept * (slope - typical)
    hyper = Hyper(float(np.log(max(np.mean(slope), 0.3))), 0.0)
    number = engine.counts * np.concatenate([np.ones((len(scores), 1)), free], axis=1) + 0.5
    if engine.model == "GPCM":
        steps = np.log(number[:, 1:] / number[:, :1])
        return problem.parameters.vector(engine.items(slope, steps), hyper)
    slope = 1.7 * slope * np.sqrt(variance)
    number *= np.concatenate([np.ones((len(scores), 1)), free], axis=1)
    above = np.cumsum(number[:, ::-1], axis=1)[:, ::-1][:, 1:] / number.sum(axis=1, keepdims=True)
    odds = np.log(np.where(free, above / (1 - above), 1.0))
    steps = odds * np.sqrt(1 + slope**2 / 2.9)[:, None]
    return problem.parameters.vector(engine.items(slope, steps), hyper)


def level_covariance(problem: Problem, at: Values, grid: Grid) -> ItemCovariance:
    """Covariance of slopes and steps of all items, as for right and wrong answers."""
    engine: Any = problem.engine
    items: Any = at.items
    information = engine.sums(items, grid).information
    n_items, width = engine.scores.shape
    real = np.concatenate([np.ones((n_items, 1), bool), engine.free], axis=1)
    nothing = np.zeros_like(information), np.zeros((n_items, width, 0)), np.zeros((0, 0))
    prior = PriorInformation(*nothing) if problem.prior is None else problem.prior.information(at)  # type: ignore[attr-defined]
    alone = np.where(real[:, :, None] & real[:, None], 0.0, np.nan)
    whole = int(real.sum()) <= _MOST_DENSE
    if whole:
        directions = np.eye(n_items * width)[:, real.ravel()].reshape(n_items, width, -1)
    else:
        missing = np.zeros_like(information)
        for scores in _projected(engine, items, grid, 1):
            by_item = scores.transpose(1, 2, 0)
            missing += by_item @ by_item.swapaxes(1, 2)
        filled = information + np.eye(width) * ~real[:, :, None]
        moved = np.zeros((n_items, width, 2))
        moved[:, 0, 0] = items.slope
        moved[:, 1:, 1] = problem.parameters.shifts * items.slope[:, None]  # type: ignore[attr-defined]
        system = System(filled, missing, np.empty(0), np.empty(0))
        directions, inverse = in_common(engine.patterns, problem.parameters, system, prior, moved)
        alone += inverse
    n = directions.shape[2]
    missing = np.zeros((n, n))
    flat = directions.reshape(-1, n)
    for scores in _projected(engine, items, grid, _POLYNOMIALS):
        along = scores.reshape(len(scores), -1) @ flat
        missing += along.T @ along
    moves = np.concatenate([directions, np.zeros((n_items, width, len(prior.corner)))], axis=2)
    total = np.tensordot(moves, (information + prior.blocks) @ moves, ((0, 1), (0, 1)))
    border = np.tensordot(moves, prior.border, ((0, 1), (0, 1)))
    total[:, n:] += border
    total[n:] += border.T
    total[n:, n:] += prior.corner
    total[:n, :n] -= missing
    core = np.nan_to_num(inverted(total)[:n, :n])
    core -= 0.0 if whole else np.eye(n)
    alone[np.isnan(alone)] = 0.0
    return ItemCovariance(alone, directions, core, np.zeros((2, n)))


def _projected(engine: Any, items: Items, grid: Grid, n_polynomials: int) -> Iterator[Array]:
    """Scores by slope and steps on polynomials of each posterior, (n, n_items, k)."""
    theta, gpcm = grid.nodes.theta, items.levels.model == "GPCM"
    _, by_logit, by_step = level_curves(items, theta)
    n_items, width = engine.scores.shape
    # the score of a slope of the GPCM has k·θ; what is constant in θ has no covariance
    mean = (theta * (engine.scores[:, :1] - by_logit[:, 0])).T
    for some, weights, _ in engine.weights(items, grid):
        for part in blocks(len(weights), n_items * width, _AT_ONCE):
            rows = slice((some.start or 0) + part.start, (some.start or 0) + part.stop)
            seen = engine.seen(rows)
            polynomials = orthonormal(np.ascontiguousarray(weights[part].T), theta)
            for _, weighted in zip(range(n_polynomials), polynomials, strict=False):
                along = np.ascontiguousarray(weighted.T)
                found = np.empty((len(seen), n_items, width))
                if gpcm:
                    level = engine.scored(rows)
                    found[:, :, 0] = level * (along @ theta)[:, None] - seen * (along @ mean)
                    for k in range(1, width):
                        found[:, :, k] = seen * (along @ by_step[:, 0, k - 1].T)
                else:
                    found[:] = 0.0
                    for k in range(width):
                        reached = engine.at(k, rows)
                        found[:, :, 0] += reached * (along @ (theta * by_logit[:, k]).T)
                        for step in {max(k - 1, 0), min(k, width - 2)}:
                            found[:, :, step + 1] += reached * (along @ by_step[:, k, step].T)
                yield found
