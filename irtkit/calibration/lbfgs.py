"""Maximisation of an objective by a preconditioned limited-memory BFGS.

One evaluation costs a pass over the response matrix, so there is no inner line search: every pass
evaluates a trial point, which is taken if the objective rises enough and shortened if not. The
direction is limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4) started from the
objective's own approximate inverse Hessian. With the complete-data information as that inverse,
the first step is an EM step (one Newton step for every item), and the pairs that follow
accelerate it, as in quasi-Newton EM (Jamshidian & Jennrich 1997). SciPy's L-BFGS takes no
preconditioner.

Half the directional derivative of a full step is the gain that the quadratic model still expects.
The search has converged when two evaluations in a row expect less than ``tol``, or one does and
far less than the one before (in a slow drift it would not fall so fast). That leaves every
estimate within about √(2·tol) of its standard error from the optimum.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from irtkit.irf import Array

_MEMORY = 8
"""Pairs kept; Nocedal & Wright recommend 3 to 20."""
_ARMIJO = 1e-4
"""Share of the expected rise that a step must bring (Nocedal & Wright 2006, section 3.1)."""
_SHRINK = 0.4
"""Factor to a step that did not bring it: below ½, as a third trial costs a pass as well."""
_ROUNDING = 1e-11
"""Relative rounding error of the objective, a sum of numbers of 64 bits; those of pairs are summed
first, so that it grows with the logarithm of how many there are."""
_FAST = 0.1
"""Share of the last expected gain below which one small one is enough: falling as fast, all that
would follow is a ninth of it."""
_MOST_CHANGE, _LEAST_STEP = 3.0, 1e-8  # e³ in odds; below rounding errors of x
"""Largest change of a parameter in one step, and the shortest share of a step that is tried."""


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


class PreconditionedLBFGS:
    """A search from ``x``, one evaluation at a time."""

    def __init__(self, x: Array) -> None:
        self.x = x
        self.current: Evaluation | None = None
        """The objective at x; None before the first evaluation, which is accepted if finite."""
        self.change = np.inf
        """Largest change of a parameter in a full step."""
        self.expected = 0.0
        """Gain that the quadratic model expects of a full step."""
        self.converged = False
        """Whether two evaluations in a row expected next to no gain, or one a tenth of the last."""
        self.done = False
        """Whether the search has converged, or no step however short raises the objective."""
        self._direction = np.zeros_like(x)
        self._step = 1.0
        self._swapped = False
        self._pairs: deque[_Pair] = deque(maxlen=_MEMORY)
        self._n_small = 0

    def swap_objective(self) -> None:
        """Go on with an objective a little different; where full steps fit, from the next point."""
        if self._step < 1:
            self.restart(forget=False)
        self._swapped, self._n_small, self.converged, self.done = True, 0, False, False

    def restart(self, *, forget: bool = True) -> None:
        """Evaluate the objective at x anew, and forget how it curves."""
        self.current = None
        if forget:
            self._pairs.clear()
        self._direction, self.expected, self._step = 0 * self.x, 0.0, 1.0
        self._n_small, self.converged, self.done = 0, False, False

    def evaluate(self, objective: Objective, tol: float) -> bool:
        """Make one evaluation; return whether its point was accepted."""
        trial = self.x + self._step * self._direction
        found, before = objective.evaluate(trial), self.current
        wanted = -np.inf
        if before is not None:
            allowed = objective.noise + _ROUNDING * abs(before.value)
            allowed += self.expected if self._swapped else 0.0
            wanted = before.value + _ARMIJO * self._step * 2 * self.expected - allowed
        if not np.isfinite(found.value) or found.value < wanted:
            self._step = 0.0 if before is None else self._step * _SHRINK
            self.done = not self._step >= _LEAST_STEP
            if self._swapped:
                self.restart(forget=False)
            return False
        if before is not None:
            difference, fall = trial - self.x, before.gradient - found.gradient
            product = float(difference @ fall)
            if product > 1e-10 * np.linalg.norm(difference) * np.linalg.norm(fall):
                self._pairs.append(_Pair(difference, fall, 1 / product))
        self.x, self.current, self._swapped = trial, found, False
        expected_before = self.expected
        self._direction = self._ahead(objective, found)
        self.expected = 0.5 * float(self._direction @ found.gradient)
        self.change = float(np.abs(self._direction).max())
        self._step = min(1.0, _MOST_CHANGE / max(self.change, 1e-300))
        falls_fast = self.expected < _FAST * expected_before
        self._n_small = (self._n_small + 1 + falls_fast) * (self.expected < tol)
        self.converged = self._n_small >= 2
        self.done = self.converged or not self._step >= _LEAST_STEP
        return True

    def _ahead(self, objective: Objective, found: Evaluation) -> Array:
        """Direction by the two-loop recursion."""
        v, weights = found.gradient, []
        for pair in reversed(self._pairs):
            weights.append(pair.inverse_product * float(pair.difference @ v))
            v = v - weights[-1] * pair.fall
        v = objective.precondition(self.x, found.curvature, v)
        for pair, weight in zip(self._pairs, reversed(weights), strict=True):
            v = v + pair.difference * (weight - pair.inverse_product * float(pair.fall @ v))
        return v
