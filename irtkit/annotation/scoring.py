"""The impact of predicted annotations on one sample.

    impact = penalty / scratch,
    penalty = fix × changed fields + delete × predictions left over + add × annotations left over,
    scratch = add × manual annotations,

with fix 1, delete 2 and add 3 by default, so that scratch is what annotating from nothing costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irtkit.annotation.annotations import one_sample
from irtkit.annotation.matching import FIELDS, Rules, check_duration, match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from irtkit.annotation.annotations import Annotations, AnnotationTable
    from irtkit.annotation.matching import Matching, Penalties


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """What predictions leave to do by hand."""

    penalty: float
    scratch: float
    fixes: int
    """Changed fields of pairs, up to three each."""
    deletes: int
    adds: int

    def in_words(self) -> str:
        """What is left to do, and what starting from nothing would take."""
        counted = (
            (self.fixes, "fix", "es"),
            (self.deletes, "delete", "s"),
            (self.adds, "add", "s"),
        )
        listed = ", ".join(f"{n} {work}{plural * (n != 1)}" for n, work, plural in counted)
        return f"{listed}; penalty {self.penalty:g}, {self.scratch:g} from scratch"


@dataclass(frozen=True, eq=False, kw_only=True)
class Impact(Work):
    """Impact on one sample, made by `impact`; ``print(result)`` says it in one sentence."""

    impact: float
    """penalty / scratch. Without manual annotations 0 if there are no predictions, else NaN."""
    cost: float
    """Total cost of the assignment, in the units of the weights and times."""
    edits: pd.DataFrame
    """What to do, a row per pair and per annotation left over: ``action`` ("keep", "fix",
    "delete", "add"), ``fields`` (to fix, such as "type; end"), ``penalty``, ``predicted`` and
    ``manual`` (the label of the row, or its position from 0 in a list; missing where there is
    none), and type, start and end of both."""
    rules: Rules
    duration: float | None

    def __str__(self) -> str:
        if math.isnan(self.impact):
            return f"Impact is undefined, there are no manual annotations ({self.in_words()})."
        return f"Impact {self.impact:.3f}: {_meaning(self.impact)} ({self.in_words()})."


def impact(
    predicted: AnnotationTable,
    manual: AnnotationTable,
    *,
    weights: Mapping[str, float] | None = None,
    penalties: Mapping[str, float] | None = None,
    duration: float | None = None,
    tolerance: float = 0.0,
    unpair: bool = False,
) -> Impact:
    """Impact of predicted annotations on the work of annotating one sample.

    Parameters
    ----------
    predicted, manual
        DataFrames with the columns type, start and end, or lists of (type, start, end) tuples;
        both may be empty. Types are compared as text. The order of rows does not matter.
    weights
        Of the cost that decides which annotations are paired: a mapping with "type", "start" and
        "end", 1 each where it does not say. Times count in their own unit: with seconds, an end
        one second off weighs as much as a wrong type.
    penalties
        Of the work that is left: "fix" (1, for each field), "delete" (2) and "add" (3).
    duration
        Of the sample, in the unit of the times; the cost then counts times as shares of it. It
        decides which annotations are paired and nothing else.
    tolerance
        Starts or ends no further apart than this, in the unit of the times, need no fixing. Short
        of a tie it does not change which annotations are paired.
    unpair
        Leave a pair unmatched when fixing it costs more than deleting one and adding the other.
        With the penalties above it never does: three fixes cost 3, deleting and adding 5.

    Raises
    ------
    ValueError
        If a column is missing or unknown, a type is missing, a time is not finite, an end is
        before its start, or a setting is negative; the message names the argument and the row.
    TypeError
        If an argument is of another kind altogether.

    Examples
    --------
    >>> from irtkit.annotation import impact
    >>> predicted = [("serve", 0, 2), ("rally", 7, 12), ("rally", 20, 24)]
    >>> manual = [("serve", 0, 3), ("rally", 7, 12)]
    >>> result = impact(predicted, manual)
    >>> print(result)
    Impact 0.500: predictions save work (1 fix, 1 delete, 0 adds; penalty 3, 6 from scratch).
    >>> result.edits[["action", "fields", "predicted", "manual"]]
       action fields  predicted  manual
    0     fix    end          0     0.0
    1    keep                 1     1.0
    2  delete                 2     NaN
    """
    import pandas as pd

    rules = Rules.of(weights, penalties, tolerance, unpair)
    check_duration(duration)
    first, second = one_sample(predicted, "predicted"), one_sample(manual, "manual")
    found, edits = measured(first, second, rules, duration)
    table = pd.DataFrame(edits, columns=EDIT_COLUMNS)
    return Impact(**found, edits=table, rules=rules, duration=duration)


def measured(
    predicted: Annotations, manual: Annotations, rules: Rules, duration: float | None
) -> tuple[dict[str, Any], Iterator[tuple[Any, ...]]]:
    """Impact, penalty, scratch and the counts that they are made of; rows of a table of edits."""
    matching = match(predicted, manual, rules, duration)
    fix, delete, add = rules.penalties
    fixes, deletes = int(matching.changed.sum()), len(matching.deleted)
    adds, scratch = len(matching.added), add * len(manual)
    penalty = fix * fixes + delete * deletes + add * adds
    found = {
        "impact": share_of_scratch(penalty, scratch),
        "penalty": penalty,
        "scratch": scratch,
        "cost": matching.cost,
        "fixes": fixes,
        "deletes": deletes,
        "adds": adds,
    }
    return found, _edit_rows(predicted, manual, matching, rules.penalties)


def share_of_scratch(penalty: float, scratch: float) -> float:
    """Penalty / scratch; without scratch 0 if there is no penalty either, else NaN."""
    if scratch == 0:
        return 0.0 if penalty == 0 else math.nan
    return penalty / scratch


def _meaning(impact: float) -> str:
    if impact == 0:
        return "predictions need no work"
    if impact == 1:
        return "predictions cost as much work as starting from nothing"
    return "predictions save work" if impact < 1 else "predictions cost more than they save"


_BOTH = ("predicted", "manual")
EDIT_COLUMNS = ["action", "fields", "penalty", *_BOTH]
EDIT_COLUMNS += [f"{whose}_{field}" for field in FIELDS for whose in _BOTH]


def _edit_rows(
    predicted: Annotations, manual: Annotations, matching: Matching, penalties: Penalties
) -> Iterator[tuple[Any, ...]]:
    """Pairs, then what to delete, then what to add."""
    for (i, j), changed in zip(matching.pairs, matching.changed, strict=True):
        action, fields = "fix" if changed.any() else "keep", "; ".join(FIELDS[changed])
        work = penalties.fix * int(changed.sum())
        yield action, fields, work, *_beside(_one(predicted, i), _one(manual, j))
    for i in matching.deleted:
        yield "delete", "", penalties.delete, *_beside(_one(predicted, i), _NOTHING)
    for j in matching.added:
        yield "add", "", penalties.add, *_beside(_NOTHING, _one(manual, j))


_NOTHING = (None, None, math.nan, math.nan)


def _one(annotations: Annotations, k: int) -> tuple[Any, ...]:
    return annotations.rows[k], annotations.types[k], *annotations.times[k].tolist()


def _beside(predicted: tuple[Any, ...], manual: tuple[Any, ...]) -> Iterator[Any]:
    return (value for pair in zip(predicted, manual, strict=True) for value in pair)
