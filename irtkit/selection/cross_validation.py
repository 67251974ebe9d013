"""Fits without some families of respondents, on whom everything that was learned is tried.

A subset fits the respondents it was chosen on better than others, so calibration and choice are
both repeated in every fold; and checkpoints and fine-tunes of one family repeat each other's
answers, so a fold leaves out whole families.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.fitting import refitted
from irtkit.suspects.families import SIMILAR, dense_responses, family_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration import FitResult
    from irtkit.data.patterns import Places

_ONE_FAMILY = "the error is cross-validated between families: at least two are needed"
_TOL = 1e-4
"""Of the fits, as of those that predict responses left out (`irtkit.difficulty.held_out`)."""


def refits(
    result: FitResult, families: Any, n_folds: int, seed: int
) -> Iterator[tuple[FitResult, Places]]:
    """Yield for every fold the fit without some families, and who they are."""
    codes = family_codes(result, families)
    patterns = result.patterns
    scored = patterns.real & (patterns.margins.respondent_responses > 0)
    fold = _folds(codes[scored], n_folds, seed)
    if fold.max(initial=0) < 1:
        raise ValueError(_ONE_FAMILY)
    for number in range(int(fold.max()) + 1):
        held = np.flatnonzero(scored)[fold == number]
        yield _refitted(result, np.setdiff1d(np.arange(patterns.n), held)), held


def check_families(result: FitResult, families: Any) -> None:
    """Refuse families that are none of the respondents', or one alone; links cost time to find."""
    if isinstance(families, str) and families == SIMILAR:
        return
    if len(np.unique(family_codes(result, families)[~result.synthetic])) < 2:
        raise ValueError(_ONE_FAMILY)


def _folds(families: Places, n_folds: int, seed: int) -> Places:
    """Fold of every respondent: families, the largest first, to the fold with fewest so far."""
    names, sizes = np.unique(families, return_counts=True)
    chance = np.random.default_rng(seed).permutation(len(names))
    load = np.zeros(min(n_folds, len(names)), dtype=np.int64)
    fold_of = np.zeros(len(names), dtype=np.intp)
    for name in chance[np.argsort(-sizes[chance], kind="stable")]:
        fold_of[name] = load.argmin()
        load[fold_of[name]] += sizes[name]
    return fold_of[np.searchsorted(names, families)]


def _refitted(result: FitResult, rows: Places) -> FitResult:
    responses = dense_responses(result, "cross-validation").part(rows)
    fixed = None if result.fixed is None else result.items[result.fixed]
    return refitted(result, responses, tol=_TOL, fixed=fixed)
