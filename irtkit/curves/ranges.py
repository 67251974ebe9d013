"""Ranges of difficulty, and the difficulties that put items into them.

An item that a system got wrong comes out harder for it, most so where systems are few. A curve of
that system over those difficulties would be too steep: easy items would be those it got right. So
the difficulties for a system are those of a fit to others, cross-fitted by families of systems that
answer alike. Each such fit has a scale of its own, and only its order of the items is used: the
item at a given quantile has the difficulty that lies there in the fit of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from irtkit.checks import as_numbers, check_number, first_names, short
from irtkit.irf import EXTREME
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.selection.cross_validation import refits
from irtkit.suspects.families import SIMILAR, family_codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult

    Array = NDArray[np.float64]

Rule = Literal["quantile", "width"]
_LEAST_SYSTEMS = 3
"""Of which one is left out, and two others still differ."""
_FOLDS = 5
"""Fits of four fifths of the systems; there are fewer where systems are."""


class Difficulties(NamedTuple):
    """Difficulty of every item, NaN where it has none, as it is known without each respondent."""

    of_all: Array
    """(n_items,)."""
    without: Array
    """(n_folds, n_items)."""
    fold: NDArray[np.intp]
    """Row of `without` for every respondent."""
    se: Array
    """Standard errors of those of all, (n_items,); 0 where they are no estimates, NaN if not
    known."""

    @property
    def held_out(self) -> bool:
        """Whether each respondent has difficulties of its own."""
        return len(self.without) > 1

    def of(self, respondent: int) -> tuple[Array, Array]:
        """Difficulties for one respondent, and their standard errors.

        A fit to (n − 1)/n of the systems has errors of variance s² n/(n − 1), and v + s²/(n − 1) in
        all where the fit of all has v. At the values of that fit its difficulties b̂ are drawn
        together, and E[b | b̂] has the slope (v − s²) / √(v (v + s²/(n − 1))): that of errors of
        variance s² (1 + 1/(2(n − 1))), if s² is small beside v.
        """
        n = len(self.without) - 1
        fewer = np.sqrt(1 + 1 / (2 * (n - 1))) if self.fold[respondent] and n > 1 else 1.0
        return self.without[self.fold[respondent]], fewer * self.se


def given_difficulties(given: Any, items: tuple[str, ...], argument: str) -> Array:
    """Difficulties by item label, NaN for items that have none."""
    values = values_by_label(argument, given, items, value="difficulty", kind="item")
    found = as_numbers(argument, [np.nan if is_missing_label(one) else one for one in values])
    if np.isinf(found).any():
        label = items[int(np.argmax(np.isinf(found)))]
        raise ValueError(
            f"{argument} must be finite, or missing; that of item {short(label)} is not"
        )
    if not np.isfinite(found).any():
        raise ValueError(
            f"{argument} has a difficulty of none of the items: they are {first_names(items)}"
        )
    return found


def given_errors(given: Any, items: tuple[str, ...]) -> Array:
    """Standard errors by item label, 0 for items without one; or one number for all.

    NaN is an error that is not known.
    """
    if given is None or isinstance(given, float | int):
        return np.full(len(items), check_number("difficulty_se", given or 0.0, least=0))
    values = values_by_label("difficulty_se", given, items, value="standard error", kind="item")
    if all(one is None for one in values):
        raise ValueError(f"difficulty_se has none of the items: they are {first_names(items)}")
    found = as_numbers("difficulty_se", [0.0 if one is None else one for one in values])
    if (wrong := ~(found >= 0) & ~np.isnan(found)).any():
        label = items[int(np.argmax(wrong))]
        raise ValueError(f"difficulty_se must be 0 or more; that of item {short(label)} is not")
    return found


def same_for_all(difficulty: Array, se: Array, n_respondents: int) -> Difficulties:
    """Difficulties that owe nothing to the respondents."""
    return Difficulties(difficulty, difficulty[None], np.zeros(n_respondents, dtype=np.intp), se)


def fitted_difficulties(result: FitResult) -> Array:
    """Difficulties of a fit, missing for items whose slope is flat or below 0, or unanswered.

    The difficulty of an inverted item does not say how hard it is: lower, and fewer are right.
    """
    status = np.array(result.status, dtype=object)
    known = np.isfinite(result.parameters.difficulty) & (result.parameters.discrimination > 0)
    known &= ~np.isin(status, ["flat", "no responses"])
    middle, reach = result.latent_mean, EXTREME * result.latent_sd
    cropped = np.clip(result.parameters.difficulty, middle - reach, middle + reach)
    return np.where(known, cropped, np.nan)


def held_out_difficulties(result: FitResult, *, seed: int = 0) -> Difficulties:
    """Difficulties of a fit, for each respondent as a fit without it has them."""
    if result.n_answering < _LEAST_SYSTEMS:
        raise ValueError(
            f"result has {result.n_answering} systems, too few for difficulties from others than "
            "each; difficulties= takes those of another source"
        )
    of_all = fitted_difficulties(result)
    if not np.isfinite(of_all).any():
        raise ValueError("result has no item with a slope above 0, and so no difficulties")
    scale = np.sort(of_all[np.isfinite(of_all)])
    fold, without = np.zeros(len(result.ability), dtype=np.intp), [of_all]
    for refit, held in refits(result, _families(result), _FOLDS, seed):
        fold[held] = len(without)
        without.append(_by_order(fitted_difficulties(refit), scale))
    return Difficulties(of_all, np.stack(without), fold, result.standard_errors[:, 1])


def _families(result: FitResult) -> Any:
    """Families of systems that answer alike, each by the label of its first.

    If they link most, each system is one of its own.
    """
    codes, labels = family_codes(result, SIMILAR), result.respondent_labels
    answering = codes[result.answering]
    if np.bincount(answering).max() > len(answering) / _FOLDS:
        return list(labels)
    first = np.unique(codes, return_index=True)[1]
    return [labels[first[code]] for code in codes]


def _by_order(difficulty: Array, scale: Array) -> Array:
    """Difficulties with the same order, ties among them, and the values of a sorted scale."""
    from scipy.stats import rankdata

    known = np.isfinite(difficulty)
    found = np.full(len(difficulty), np.nan)
    place = (rankdata(difficulty[known]) - 0.5) / known.sum()
    found[known] = np.interp(place, (np.arange(len(scale)) + 0.5) / len(scale), scale)
    return found


class Ranges(NamedTuple):
    """Ranges of difficulty, next to each other."""

    edges: Array
    """(n + 1,), rising; two equal ones if all difficulties are."""

    @classmethod
    def of(cls, difficulty: Array, bins: int, by: Rule) -> Ranges:
        """Ranges with as many items each ("quantile"), or as wide ("width").

        Fewer than asked for where difficulties are equal.
        """
        known = difficulty[np.isfinite(difficulty)]
        if not len(known):
            raise ValueError("no item that was answered has a difficulty")
        if by == "width":
            edges = np.linspace(known.min(), known.max(), bins + 1)
        else:
            edges = np.quantile(known, np.linspace(0, 1, bins + 1))
        distinct = np.unique(edges)
        return cls(distinct if len(distinct) > 1 else np.repeat(distinct, 2))

    @property
    def n(self) -> int:
        """Number of ranges."""
        return len(self.edges) - 1

    def number(self, difficulty: Array) -> NDArray[np.intp]:
        """Range of every item, −1 for those without a difficulty; an edge is of the one above."""
        inner = self.edges[1:-1]
        found = np.searchsorted(inner, difficulty, side="right")
        return np.where(np.isfinite(difficulty), found, -1)

    def items(self, difficulty: Array) -> Iterator[NDArray[np.intp]]:
        """Places of the items in each range."""
        number = self.number(difficulty)
        return (np.flatnonzero(number == k) for k in range(self.n))
