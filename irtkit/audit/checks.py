"""Checks of what an audit is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from irtkit.checks import check_number
from irtkit.responses import refuse_sparse

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.responses import ResponseMatrix


def check_thresholds(
    *, fdr: float, flat_information: float, extreme_difficulty: float, chance: float | None
) -> None:
    """Refuse thresholds that are no numbers, or out of range; chance may be None."""
    check_number("fdr", fdr, above=0, below=1)
    check_number("flat_information", flat_information, least=0, most=math.inf)
    check_number("extreme_difficulty", extreme_difficulty, above=0, most=math.inf)
    if chance is not None:
        check_number("chance", chance, least=0, below=1)


def responses_of(result: FitResult, needed_by: str, *, dense: bool = False) -> ResponseMatrix:
    """Return the responses of a fit; an error if they were not saved, or not dense as they must."""
    if result.responses is None:
        raise ValueError(f"{needed_by} needs the responses, which were not saved with this result")
    if dense:
        refuse_sparse(result.responses, needed_by)
    return result.responses
