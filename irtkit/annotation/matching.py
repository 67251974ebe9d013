"""Pairs of predicted and manual annotations at the least cost, and what they leave to do.

Pairing prediction i with manual annotation j costs

    W_type [types differ] + W_start |Δstart| + W_end |Δend|,

times divided by the duration of the sample if it is given. As many pairs are made as the smaller
set allows, at the least total cost (Kuhn 1955, *Naval Research Logistics Quarterly* 2, 83–97).
Several assignments may cost the same, up to rounding; the one with the fewest changed fields is
taken, so that the result is that of the two sets and not of the order of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from irtkit.checks import check_number, check_yes_or_no, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from irtkit.annotation.annotations import Annotations

FIELDS = np.array(["type", "start", "end"])
_TIE = 1e-12
"""What a changed field adds to the cost of a pair, as a share of the largest cost."""
_LARGEST = 1e100
"""Cost of a pair up to which the total of any number of pairs stays far from overflow (1.8e308)."""


class Weights(NamedTuple):
    """Weights of the cost of a pair: of a type that differs, and of each unit of time."""

    type: float = 1.0
    start: float = 1.0
    end: float = 1.0


class Penalties(NamedTuple):
    """Work left to do: a field to fix, a prediction to delete, an annotation to add."""

    fix: float = 1.0
    delete: float = 2.0
    add: float = 3.0


_Settings = TypeVar("_Settings", Weights, Penalties)


@dataclass(frozen=True)
class Rules:
    """Settings of an impact, checked."""

    weights: Weights
    penalties: Penalties
    tolerance: float
    """Times that differ by no more than this count as unchanged."""
    unpair: bool
    """Whether a pair is left unmatched when fixing it costs more than deleting and adding."""

    @classmethod
    def of(
        cls,
        weights: Mapping[str, float] | None,
        penalties: Mapping[str, float] | None,
        tolerance: float,
        unpair: bool,  # noqa: FBT001 - passed on from keywords
    ) -> Rules:
        """Check the settings that a caller gave; None stands for the defaults."""
        check_number("tolerance", tolerance, least=0)
        check_yes_or_no(unpair=unpair)
        work = _updated(Penalties(), penalties, "penalties", above=0)
        return cls(_updated(Weights(), weights, "weights", least=0), work, tolerance, unpair)


@dataclass(frozen=True, eq=False)
class Matching:
    """Which prediction is paired with which manual annotation; rows are positions."""

    pairs: NDArray[np.intp]
    """Rows of predicted and manual, shape (n_pairs, 2), by row of predicted."""
    changed: NDArray[np.bool_]
    """Which of type, start and end the pair has to have fixed, shape (n_pairs, 3)."""
    deleted: NDArray[np.intp]
    """Rows of predicted without a partner."""
    added: NDArray[np.intp]
    """Rows of manual without a partner."""
    cost: float
    """Total cost of the assignment, pairs taken apart by ``unpair`` included."""


def match(
    predicted: Annotations, manual: Annotations, rules: Rules, duration: float | None = None
) -> Matching:
    """Pair two sets of annotations at the least cost, ties by the fewest changed fields."""
    from scipy.optimize import linear_sum_assignment

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        cost = cost_matrix(predicted, manual, rules.weights, duration)
    if not (cost <= _LARGEST).all():
        raise ValueError("the cost of a pair overflows: times, weights or 1/duration are too large")
    changed = changed_fields(predicted, manual, rules.tolerance)
    tie = _TIE * (cost.max(initial=0.0) or 1.0)
    rows, columns = linear_sum_assignment(cost + tie * changed.sum(axis=2))
    keep = np.ones(len(rows), dtype=bool)
    if rules.unpair:
        fix, delete, add = rules.penalties
        keep = fix * changed[rows, columns].sum(axis=1) <= delete + add
    pairs = np.column_stack([rows, columns])[keep]
    return Matching(
        pairs,
        changed[pairs[:, 0], pairs[:, 1]],
        np.setdiff1d(np.arange(len(predicted)), pairs[:, 0]),
        np.setdiff1d(np.arange(len(manual)), pairs[:, 1]),
        float(cost[rows, columns].sum()),
    )


def cost_matrix(
    predicted: Annotations, manual: Annotations, weights: Weights, duration: float | None = None
) -> NDArray[np.float64]:
    """Cost of every pair, shape (n_predicted, n_manual)."""
    apart = _apart(predicted, manual) / (duration or 1.0)
    moved: NDArray[np.float64] = apart @ np.array(weights[1:])
    return weights.type * _differs(predicted, manual) + moved


def changed_fields(
    predicted: Annotations, manual: Annotations, tolerance: float
) -> NDArray[np.bool_]:
    """Which of type, start and end differ, shape (n_predicted, n_manual, 3).

    A tolerance holds for times as they are written: 1.1 is within 0.1 of 1.0, although the
    difference of the two floating-point numbers is larger.
    """
    larger = np.maximum(np.abs(predicted.times)[:, np.newaxis], np.abs(manual.times))
    allowed = tolerance + np.spacing(larger) if tolerance > 0 else 0.0
    moved = _apart(predicted, manual) > allowed
    return np.concatenate([_differs(predicted, manual)[:, :, np.newaxis], moved], axis=2)


def _differs(predicted: Annotations, manual: Annotations) -> NDArray[np.bool_]:
    return np.asarray(predicted.types[:, np.newaxis] != manual.types, dtype=bool)


def _apart(predicted: Annotations, manual: Annotations) -> NDArray[np.float64]:
    """Distances of starts and of ends, shape (n_predicted, n_manual, 2)."""
    return np.abs(predicted.times[:, np.newaxis] - manual.times)


def check_duration(duration: float | None, what: str = "duration") -> None:
    """Refuse a duration that is neither None nor above 0."""
    if duration is not None:
        check_number(what, duration, above=0)


def _updated(
    defaults: _Settings, given: Mapping[str, float] | None, argument: str, **bounds: float
) -> _Settings:
    """Return the defaults with the values that were given in their place."""
    if given is None:
        return defaults
    if not hasattr(given, "items"):
        raise TypeError(f"{argument} must map {', '.join(defaults._fields)} to numbers")
    for name, value in given.items():
        if name not in defaults._fields:
            known = ", ".join(defaults._fields)
            raise ValueError(f"{argument} has the unknown key {short(name)}; the keys are {known}")
        check_number(f"{argument}[{short(name)}]", value, **bounds)
    return defaults._replace(**given)
