"""Where the search for a maximum starts, and the easier problems on its way.

Of very many respondents every k-th is enough to start from: their maximum lies a few standard
errors from that of all, and the way there, on which steps are largest and least exact, costs a
fraction. Before synthetic respondents take part, the search gets near the maximum of the real
ones: from far away an always-right row, of any ability, pulls every inverted item round. And from
afar the guessing of a 3PL without a prior runs off before slopes settle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.lbfgs import PreconditionedLBFGS
from irtkit.calibration.maximise import Problem, problem_of
from irtkit.calibration.parameterisation import Hyper
from irtkit.irf import Items
from irtkit.patterns import REAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.maximise import Control
    from irtkit.patterns import Patterns

    Array = NDArray[np.float64]

_LOGIT_OF_GUESSING = -2.0
"""Guessing of 0.12, between none and that of five choices."""
_OUT_OF_REACH = 20.0
"""Logit at which an item without variance is as good as certain: it errs once in 5·10⁸."""


@dataclass(frozen=True)
class WarmStart:
    """Cheap optimisation of a subsample or an easier problem before the real one."""

    tol: float = 0.01
    """Expected gain that ends it, of a subsample per parameter: 1 % of a nat moves no estimate by
    more than 0.15 of its standard error."""
    max_evaluations: int = 24
    """Most of them; whole fits of ordinary data take some ten."""
    respondents: int = 4000  # see the next
    respondents_per_item: int = 20
    """Size of a subsample: its maximum is off by √(n/4000) standard errors of the whole."""
    least_responses: int = 30
    """Right and wrong responses to every item in a subsample, which keep its estimates finite."""


def start(problem: Problem, control: Control, warm: WarmStart | None = None) -> PreconditionedLBFGS:
    """Return a search that stands near the maximum."""
    warm = WarmStart() if warm is None else warm
    patterns, model = problem.engine.patterns, problem.parameters.model
    some = None if problem.mesh is not None or model == "3PL" else _subsample(patterns, warm)
    lbfgs = PreconditionedLBFGS(starting_values(problem, patterns if some is None else some))
    if some is not None:
        easier = problem_of(some, model, problem.prior)
        _get_near(easier, lbfgs, warm.tol * len(lbfgs.x), warm, control)
        lbfgs.restart()
    for easier in _easier(problem):
        _get_near(easier, lbfgs, warm.tol, warm, control)
        lbfgs.restart()
    return lbfgs


def _subsample(patterns: Patterns, warm: WarmStart) -> Patterns | None:
    """Every k-th respondent, where that is cheap, and enough for every item."""
    columns = patterns.cells.shape[1]
    step = patterns.n // max(warm.respondents, warm.respondents_per_item * columns)
    whole = patterns.packed is not None and patterns.frequency is None
    if step < 2 or not whole or patterns.has_synthetic:
        return None
    some = patterns.chosen(slice(None, None, step))
    right, responses = some.margins.item_right[REAL], some.margins.item_responses[REAL]
    return some if np.minimum(right, responses - right).min() >= warm.least_responses else None


def _easier(problem: Problem) -> Iterator[Problem]:
    """Problems whose maxima are on the way to that of all respondents."""
    patterns, model, prior = problem.engine.patterns, problem.parameters.model, problem.prior
    if model == "3PL" and prior is None:
        from irtkit.calibration.item_prior import ItemPrior
        from irtkit.calibration.priors import Beta

        prior = ItemPrior(guessing=Beta())
    mesh = problem.mesh
    if patterns.has_synthetic:
        yield problem_of(patterns.chosen(patterns.real), model, prior, mesh)
    elif prior is not problem.prior:
        yield problem._replace(prior=prior)


def _get_near(
    problem: Problem, lbfgs: PreconditionedLBFGS, tol: float, warm: WarmStart, control: Control
) -> None:
    """Get near the maximum of a problem, with at most half of the budget."""
    schedule, stopping, monitor = control
    nodes = schedule.nodes(problem.items(lbfgs.x), problem.engine.patterns)
    objective = problem.at(nodes, exact=problem.mesh is not None)
    end = min(monitor.n_evaluations + warm.max_evaluations, stopping.max_evaluations // 2)
    while not lbfgs.done and monitor.n_evaluations < end:
        lbfgs.evaluate(objective, max(stopping.tol, tol))
        monitor.n_evaluations += 1


def starting_values(problem: Problem, patterns: Patterns) -> Array:
    """Start from proportions right and from the correlation of each item with the total score.

    Real respondents alone count: an always-right row would turn inverted items round, and the
    search might not find its way back. A point-biserial correlation is taken for the biserial one
    ρ, so that slopes start a quarter (p = ½) to a half (p = 0.1) too low; ρ stands for a probit
    slope of ρ/√(1 − ρ²) (Lord & Novick 1968, section 16.10), 1.7 times that for a logistic one,
    whose intercept a normal distribution of ability flattens by √(1 + a²/2.9), 2.9 being 1.7².
    """
    margins, real = patterns.margins, patterns.real
    weights = patterns.counting(real)
    score = (margins.respondent_right + 0.5) / (margins.respondent_responses + 1)
    ability = np.log(score / (1 - score))
    ability = ability - np.average(ability, weights=weights)
    ability /= max(float(np.sqrt(np.average(ability**2, weights=weights))), 1e-3)
    ability = np.where(real, np.clip(ability, -4.0, 4.0), 0.0)
    right, answered = margins.item_right[REAL], margins.item_responses[REAL]
    with_right, with_answered = patterns.weighted_sums(patterns.counting(ability))
    share = (right + 0.5) / (answered + 1)
    covariance = (with_right - share * with_answered) / np.maximum(answered, 1)
    correlation = np.clip(covariance / np.sqrt(share * (1 - share)), -0.9, 0.9)
    slope = 1.7 * correlation / np.sqrt(1 - correlation**2)
    intercept = np.log(share / (1 - share)) * np.sqrt(1 + slope**2 / 2.9)
    typical = max(float(np.average(slope, weights=patterns.multiplicity)), 0.3)
    if problem.prior is not None:  # what few respondents say about a slope is mostly noise
        noise = 1 / (share * (1 - share) * np.maximum(answered, 1.0))
        noise = np.average(noise, weights=patterns.multiplicity)
        spread = np.average((slope - typical) ** 2, weights=patterns.multiplicity)
        slope = typical + np.clip(1 - noise / max(float(spread), 1e-9), 0.1, 1.0) * (
            slope - typical
        )
    else:  # nothing holds the intercept of an item without variance: it need not climb for ever
        right, answered = margins.item_right.sum(axis=0), margins.item_responses.sum(axis=0)
        certain = np.where(right == answered, _OUT_OF_REACH, -_OUT_OF_REACH)
        alike = (answered > 0) & ((right == answered) | (right == 0))
        intercept = np.where(alike, certain, intercept)
    if problem.parameters.common_slope:
        slope = np.full_like(slope, typical)
    items = Items(slope, intercept, np.full_like(slope, _LOGIT_OF_GUESSING))
    return problem.parameters.vector(items, Hyper(float(np.log(typical)), 0.0), typical)
