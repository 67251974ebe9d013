"""The quality standard of the items of a response matrix, by metrics in whatever form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import did_you_mean, first_names, short
from irtkit.metrics.quality_standard import QualityStandard, quality_standard
from irtkit.responses.columns import recognised
from irtkit.responses.tables import as_frame, with_index

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from irtkit.responses import ResponseMatrix

_CHOICES = 20
"""Names that a message lists."""


def quality_of(
    responses: ResponseMatrix,
    metrics: object,
    higher_is_better: Mapping[str, bool] | Collection[str] | None = None,
) -> QualityStandard:
    """Kolena's score of the items of a response matrix.

    Metrics are a table or a mapping as `quality_standard` takes them, of any data frame library,
    its columns of respondents and items recognised by their usual names; a name or names of
    ``responses.metrics``; or a QualityStandard, which has its directions. Other labels than those
    of the responses are refused, as those of synthetic respondents are.
    """
    if isinstance(metrics, QualityStandard):
        if higher_is_better is not None:
            raise ValueError("leave higher_is_better= out: a QualityStandard has its directions")
        standard = metrics
    else:
        table = metric_table(metrics, responses)
        standard = quality_standard(table, () if higher_is_better is None else higher_is_better)
        if higher_is_better is None:
            names = list(standard.higher_is_better)
            raise ValueError(
                "higher_is_better= must name the metrics that are better when higher, of "
                f"{first_names(names, shown=_CHOICES)}; all others are better when lower, and [] "
                "(on the command line: none) says that all are"
            )
    known = np.array(responses.respondents)[~responses.synthetic]
    _refuse_others("respondent", standard.scores.columns, known.tolist())
    _refuse_others("item", standard.scores.index, responses.items)
    return standard


def metric_table(metrics: Any, responses: ResponseMatrix | None) -> Any:
    """Metrics as `quality_standard` takes them, of a table, of a mapping, or by their names."""
    names = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return _of_log(names, responses)
    if isinstance(metrics, Mapping):
        return metrics
    try:
        frame = with_index(as_frame(metrics))
    except TypeError as error:
        raise TypeError(
            "metrics must be a table, a mapping of respondents to tables, a file, names of "
            f"metrics that the responses have, or a QualityStandard, got {type(metrics).__name__}"
        ) from error
    if frame.index.nlevels == 2:
        return frame
    header = [*map(str, frame.columns)]
    positions = [recognised(header, role) for role in ("respondent", "item")]
    for role, position in zip(("respondent", "item"), positions, strict=True):
        header[position] = role
    return frame.set_axis(header, axis=1)


def _of_log(names: Sequence[str], responses: ResponseMatrix | None) -> pd.DataFrame:
    """Those of the metrics that the responses have which are named."""
    own = None if responses is None else responses.metrics
    if own is None:
        raise ValueError(
            f"metrics={short(names[0] if names else '')} is no file, and the responses have no "
            "metrics of their own, as evaluation logs have: give a table, or the name of a file"
        )
    known = own["metric"].cat.categories
    for name in names or [""]:
        if name not in known:
            raise ValueError(
                f"metrics={short(name)} is neither a file nor a metric of the responses"
                f"{did_you_mean(name, known)}; they have {first_names(known, shown=_CHOICES)}"
            )
    return own[own["metric"].isin(names)]


def _refuse_others(kind: str, labels: pd.Index[str], known: Sequence[str]) -> None:
    """Refuse a label that the responses do not have."""
    others = labels[~labels.isin(known)]
    if len(others):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise ValueError(
            f"metrics has values of the {kind} {short(others[0])}{more}, which the responses do "
            f"not have{did_you_mean(others[0], known)}; theirs are {first_names(known, shown=3)}"
        )
