"""Maximisation of an objective by a preconditioned quasi-Newton ascent.

One evaluation costs a pass over the response matrix, so there is no inner line search: every pass
evaluates a trial point, which is taken if the objective rises enough and shortened if not. The
direction is limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4) started from the
objective's own approximate inverse Hessian. With the complete-data information as that inverse,
the first step is an EM step (one Newton step for every item), and the pairs that follow
accelerate it, as in quasi-Newton EM (Jamshidian & Jennrich 1997).

Half the directional derivative of a full step is the gain that the quadratic model still expects.
The ascent has converged when two evaluations in a row expect less than ``tol``, or one does and
far less than the one before (in a slow drift it would not fall so fast). That leaves every
estimate within about √(2·tol) of its standard error from the optimum.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_MEMORY = 8
_ARMIJO = 1e-4
_SHRINK = 0.4
_ROUNDING = 1e-11
"""Relative rounding error of the objective: a drop this small is not one."""
_FAST = 0.1
"""Share of the last expected gain below which one small one is enough."""
LONGEST_STEP = 3.0
LEAST_STEP = 1e-8


class Evaluation(NamedTuple):
    """An objective at a point."""

    value: float
    gradient: Array
    log_likelihood: float
    """What the trace reports, without priors."""
    curvature: Any
    """What the objective's preconditioner needs."""


class Objective(Protocol):
    """A function to maximise."""

    noise: float
    """How far the value at a point may be off, beyond rounding."""

    def evaluate(self, x: Array) -> Evaluation:
        """Return value and gradient at x."""

    def precondition(self, x: Array, curvature: Any, v: Array) -> Array:
        """Return an approximate inverse Hessian of −value at x, times v."""


class _Pair(NamedTuple):
    """A step taken and how much the gradient fell on it."""

    difference: Array
    fall: Array
    inverse_product: float


class Ascent:
    """An ascent from ``x``, one evaluation at a time."""

    def __init__(self, x: Array) -> None:
        self.x = x
        self.there: Evaluation | None = None
        """The objective at x; None before the first evaluation, which is always accepted."""
        self.change = np.inf
        """Largest change of a parameter in a full step."""
        self._direction = np.zeros_like(x)
        self._slope = 0.0
        self._step = 1.0
        self._another = False
        self._pairs: deque[_Pair] = deque(maxlen=_MEMORY)
        self._n_small = 0

    def continue_with_another(self) -> None:
        """Go on with an objective a little different; where full steps fit, from the next point."""
        if self._step < 1:
            self.begin_again(forget=False)
        self._another, self._n_small = True, 0

    def begin_again(self, *, forget: bool = True) -> None:
        """Evaluate the objective at x anew, and forget how it curves."""
        self.there = None
        if forget:
            self._pairs.clear()
        self._direction, self._slope, self._step, self._n_small = 0 * self.x, 0.0, 1.0, 0

    @property
    def converged(self) -> bool:
        """Whether evaluations expect next to no gain."""
        return self._n_small >= 2

    @property
    def expected(self) -> float:
        """Gain that the quadratic model expects of a full step."""
        return 0.5 * self._slope

    @property
    def stalled(self) -> bool:
        """Whether no step along the direction, however short, raises the objective."""
        return not self._step >= LEAST_STEP

    def evaluate(self, objective: Objective, tol: float) -> bool:
        """Make one evaluation; return whether its point was accepted."""
        trial = self.x + self._step * self._direction
        there = objective.evaluate(trial)
        before = self.there
        wanted = -np.inf
        if before is not None:
            allowed = objective.noise + _ROUNDING * abs(before.value)
            allowed += self.expected if self._another else 0.0
            wanted = before.value + _ARMIJO * self._step * self._slope - allowed
        if not np.isfinite(there.value) or there.value < wanted:
            self._step = 0.0 if before is None else self._step * _SHRINK
            if self._another:
                self.begin_again(forget=False)
            return False
        if before is not None:
            self._remember(trial - self.x, before.gradient - there.gradient)
        self.x, self.there, self._another = trial, there, False
        expected_before = self.expected
        self._direction = self._ahead(objective, there)
        self._slope = float(self._direction @ there.gradient)
        self.change = float(np.abs(self._direction).max())
        self._step = min(1.0, LONGEST_STEP / max(self.change, 1e-300))
        falls_fast = self.expected < _FAST * expected_before
        self._n_small = (self._n_small + 1 + falls_fast) * (self.expected < tol)
        return True

    def _remember(self, difference: Array, fall: Array) -> None:
        """Keep a pair of which the curvature is above 0."""
        product = float(difference @ fall)
        if product > 1e-10 * np.linalg.norm(difference) * np.linalg.norm(fall):
            self._pairs.append(_Pair(difference, fall, 1 / product))

    def _ahead(self, objective: Objective, there: Evaluation) -> Array:
        """Direction by the two-loop recursion."""
        v, weights = there.gradient, []
        for pair in reversed(self._pairs):
            weights.append(pair.inverse_product * float(pair.difference @ v))
            v = v - weights[-1] * pair.fall
        v = objective.precondition(self.x, there.curvature, v)
        for pair, weight in zip(self._pairs, reversed(weights), strict=True):
            v = v + pair.difference * (weight - pair.inverse_product * float(pair.fall @ v))
        return v
