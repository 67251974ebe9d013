"""The impact of predicted annotations over the samples of a data set."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from irtkit.annotation.annotations import NO_ANNOTATIONS, by_sample
from irtkit.annotation.matching import Rules, check_duration
from irtkit.annotation.scoring import EDIT_COLUMNS, Work, measured, share_of_scratch
from irtkit.checks import check_number, short
from irtkit.responses.labels import category_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from irtkit.annotation.annotations import AnnotationsBySample

    Durations: TypeAlias = float | Mapping[Any, float] | pd.Series[float] | None

_ROUNDING = 1e-12
"""A mean of quotients is off by a few times 2⁻⁵³, 1e-16: a maximum that is met is not exceeded."""
_SHOWN = 3  # samples that a sentence names at each end


@dataclass(frozen=True, eq=False, kw_only=True)
class ImpactSummary(Work):
    """Impact over a data set, made by `impact_summary`; ``print(summary)`` says it in sentences."""

    table: pd.DataFrame
    """Index ``sample``, extremes first: highest impact to lowest, then samples without one.
    Columns ``impact``, ``penalty``, ``scratch``, ``cost``, ``fixes``, ``deletes``, ``adds``, as in
    `irtkit.annotation.Impact`, and the annotations counted, ``n_predicted`` and ``n_manual``."""
    edits: pd.DataFrame
    """The edits of all samples, as in `irtkit.annotation.Impact`, with a column ``sample``."""
    mean: float
    """Mean impact, every sample that has one counting the same; NaN if none has."""
    pooled: float
    """Total penalty / total scratch: samples count by their manual annotations, and predictions
    on samples without any count too."""
    n_undefined: int
    """Samples with predictions and no manual annotations; they have no impact."""
    rules: Rules

    def exceeds(self, maximum: float) -> bool:
        """Whether the mean impact is above a threshold (by more than rounding).

        Raises
        ------
        ValueError
            If the threshold is no finite number from 0, or no sample has an impact.
        """
        check_number("maximum", maximum, least=0)
        if math.isnan(self.mean):
            raise ValueError("no sample has manual annotations: there is no mean impact to compare")
        return self.mean > maximum + _ROUNDING

    def __str__(self) -> str:
        have = "sample has" if self.n_undefined == 1 else "samples have"
        undefined = (
            f"\n{self.n_undefined} {have} predictions and no manual annotations: no impact, not in "
            "the mean."
        )
        text = f"{self._headline()}\nWork left: {self.in_words()}."
        return text + undefined if self.n_undefined else text

    def _headline(self) -> str:
        defined = self.table["impact"].dropna()
        if defined.empty:
            return "Impact is undefined: no sample has manual annotations."
        worst = _listed(defined.head(_SHOWN))
        best = _listed(defined.iloc[_SHOWN:].tail(_SHOWN).iloc[::-1])
        return (
            f"Highest impact {worst}{f'; lowest {best}' if best else ''}.\n"
            f"Mean impact {self.mean:.3f} over {len(defined)} sample{'s' * (len(defined) > 1)}, "
            f"{self.pooled:.3f} pooled; {(defined > 1).sum()} above 1 (worse than starting from "
            "nothing)."
        )


def impact_summary(
    predicted: AnnotationsBySample,
    manual: AnnotationsBySample,
    *,
    sample: str = "sample",
    weights: Mapping[str, float] | None = None,
    penalties: Mapping[str, float] | None = None,
    duration: Durations = None,
    tolerance: float = 0.0,
    unpair: bool = False,
) -> ImpactSummary:
    """Impact of predicted annotations over a data set.

    Parameters
    ----------
    predicted, manual
        Long tables with the columns sample, type, start and end (or such tuples), or mappings
        from a sample to its annotations. A sample that only one of them holds has no annotations
        in the other; one without annotations in both can be given as an empty list in a mapping,
        and has impact 0.
    sample
        The column of a long table that names the sample; samples are kept as text.
    duration
        One number for all samples, or a mapping from the sample.
    weights, penalties, tolerance, unpair
        As for `irtkit.annotation.impact`.

    Raises
    ------
    ValueError, TypeError
        As for `irtkit.annotation.impact`, or if there is no sample, or one without a duration.

    Warns
    -----
    UserWarning
        If no sample is in both.

    Examples
    --------
    >>> from irtkit.annotation import impact_summary
    >>> predicted = {"clip-1": [("serve", 0, 2)], "clip-2": [("serve", 5, 6), ("rally", 6, 9)]}
    >>> manual = {"clip-1": [("serve", 0, 2)], "clip-2": [("rally", 6, 8)]}
    >>> summary = impact_summary(predicted, manual)
    >>> print(summary)
    Highest impact clip-2 1.000, clip-1 0.000.
    Mean impact 0.500 over 2 samples, 0.500 pooled; 0 above 1 (worse than starting from nothing).
    Work left: 1 fix, 1 delete, 0 adds; penalty 3, 6 from scratch.
    >>> summary.exceeds(0.6)
    False
    """
    import pandas as pd

    rules = Rules.of(weights, penalties, tolerance, unpair)
    first = by_sample(predicted, sample, "predicted")
    second = by_sample(manual, sample, "manual")
    names = tuple(dict.fromkeys((*second, *first)))
    if not names:
        raise ValueError("predicted and manual hold no sample")
    if first and second and not first.keys() & second.keys():
        warnings.warn(
            f"predicted and manual have no sample in common: {short(next(iter(first)))} and others "
            f"there, {short(next(iter(second)))} and others here; are they called alike?",
            stacklevel=2,
        )
    rows, edits = [], []
    for name, own_duration in zip(names, _durations(duration, names), strict=True):
        one, other = first.get(name, NO_ANNOTATIONS), second.get(name, NO_ANNOTATIONS)
        found, own_edits = measured(one, other, rules, own_duration)
        rows.append(found | {"n_predicted": len(one), "n_manual": len(other)})
        edits += [(name, *edit) for edit in own_edits]
    table = pd.DataFrame(rows, index=pd.Index(names, name="sample"))
    return _summary(table, pd.DataFrame(edits, columns=["sample", *EDIT_COLUMNS]), rules)


def _durations(duration: Durations, names: Iterable[str]) -> list[float | None]:
    """Duration of every sample, checked."""
    if duration is None or not hasattr(duration, "items"):
        check_duration(duration)
        return [duration for _ in names]
    given = {category_name(label): value for label, value in duration.items()}
    for name in names:
        if name not in given:
            raise ValueError(f"duration has no value for the sample {short(name)}")
        check_duration(given[name], f"duration of the sample {short(name)}")
    return [given[name] for name in names]


def _summary(table: pd.DataFrame, edits: pd.DataFrame, rules: Rules) -> ImpactSummary:
    impacts = table["impact"].dropna()
    extremes_first = table.sort_values(["impact", "penalty"], ascending=False, kind="stable")
    work = ("penalty", "scratch", "fixes", "deletes", "adds")
    totals: dict[str, Any] = {name: table[name].to_numpy().sum().item() for name in work}
    return ImpactSummary(
        table=extremes_first,
        edits=edits,
        mean=math.fsum(impacts) / len(impacts) if len(impacts) else math.nan,
        pooled=share_of_scratch(totals["penalty"], totals["scratch"]),
        **totals,
        n_undefined=len(table) - len(impacts),
        rules=rules,
    )


def _listed(impacts: pd.Series[float]) -> str:
    return ", ".join(f"{sample} {value:.3f}" for sample, value in impacts.items())
