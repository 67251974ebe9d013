"""What systems answered to items of known difficulty.

An item that a system got wrong looks harder for that reason, most of all where systems are few. So
the difficulties for a system come from a fit to others, cross-fitted by families of similar
systems. Each fit has a scale of its own, and only its order of the items is used.

The hardest of estimated difficulties look harder than they are. Their expectations are regressed to
the mean (Kelley 1927): with estimates b̂_j of mean m and variance v, and standard errors s_j,

    E[b_j | b̂_j] = m + ρ (b̂_j − m),        reliability ρ = 1 − mean min(s_j², v) / v.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import as_numbers, check_number, did_you_mean, short
from irtkit.curves.logistic import Regression, jeffreys_regression, with_intercept
from irtkit.data.families import SIMILAR, family_codes
from irtkit.data.patterns import patterns_of
from irtkit.io.reading import as_responses
from irtkit.irf import EXTREME
from irtkit.responses import refuse_sparse
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.selection.subset import refits
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from irtkit.irf import Array

_LEAST_SYSTEMS = 3  # One is left out, and two remain that differ.
_FOLDS = 5  # Fits, each without a fifth of the systems.


class Part(NamedTuple):
    """What one system answered: its items with a difficulty."""

    items: NDArray[np.intp]
    difficulty: Array
    se: Array
    share: Array
    trials: Array

    def regressed(self) -> Part:
        """The same with difficulties regressed to their mean. One reliability serves all items."""
        if np.isnan(self.se).all():
            raise ValueError(
                "result must have standard errors of its difficulties: "
                "irtkit.fit(…, standard_errors=True)"
            )
        mean, variance = self.difficulty.mean(), self.difficulty.var()
        if variance == 0 or not self.se.any():
            return self
        # an error above the spread, as near a slope of 0, says only that nothing is known
        unreliable = np.fmin(self.se**2, variance)
        reliability = 1 - np.where(np.isnan(self.se), variance, unreliable).mean() / variance
        return self._replace(difficulty=mean + reliability * (self.difficulty - mean))

    @property
    def x(self) -> Array:
        """Covariates (1, difficulty) of the items."""
        return with_intercept(self.difficulty)

    def regression(self) -> Regression:
        """Logistic curve of the system over difficulty."""
        return jeffreys_regression(self.x, self.share * self.trials, self.trials)


class Answered(NamedTuple):
    """Answers of all respondents, with the difficulties of the items for each of them."""

    answers: Shares
    respondents: tuple[str, ...]
    items: tuple[str, ...]
    real: NDArray[np.bool_]
    difficulty: Array  # (n_items,), NaN where an item has none.
    se: Array  # Of the difficulties: 0 where they are not estimated, NaN if unknown.
    without: Array  # Difficulties from each fit, that of all systems first, (n_fits, n_items).
    fold: NDArray[np.intp]  # Row of `without` for each respondent.

    @classmethod
    def of(
        cls, given: object, difficulties: Any, argument: str, *, se: Any = None, seed: int
    ) -> Answered:
        """Return the matrix and difficulties of a result, or of responses and difficulties."""
        if isinstance(given, FitResult):
            if given.responses is None:
                raise ValueError("result must hold its responses, which were not saved with it")
            responses = given.responses
        elif difficulties is None:
            raise TypeError(
                "result must be what irtkit.fit returned. With responses, give the difficulties "
                f"of the items: {argument}="
            )
        else:
            responses = as_responses(given)
        refuse_sparse(responses, "a characteristic curve")
        fold = np.zeros(responses.n_respondents, dtype=np.intp)
        if difficulties is None:
            without, fold = _held_out(given, seed)  # type: ignore[arg-type]  # a result
            errors = given.standard_errors[:, 1]  # type: ignore[attr-defined]
        else:
            without = _by_item(difficulties, responses.items, argument, "difficulty")[None]
            errors = _given_errors(se, responses.items)
        answers = Shares.of(patterns_of(responses, synthetic_is_real=True))
        names = responses.respondents, responses.items
        return cls(answers, *names, ~responses.synthetic, without[0], errors, without, fold)

    def rows(self, systems: Iterable[str] | None) -> NDArray[np.intp]:
        """Rows of the systems named, or of all that are real and answered something."""
        if systems is None:
            return np.flatnonzero(self.real & (self.answers.trials > 0).any(axis=1))
        names = [systems] if isinstance(systems, str) else [str(name) for name in systems]
        if not names:
            raise ValueError("systems names no respondent")
        place = {label: k for k, label in enumerate(self.respondents)}
        for name in names:
            if name not in place:
                hint = did_you_mean(name, self.respondents)
                raise ValueError(f"systems: {short(name)} is not a respondent{hint}")
        return np.array([place[name] for name in names], dtype=np.intp)

    def part(self, row: int) -> Part:
        """What one system answered of the items with a difficulty.

        A fit without one of n folds has errors of variance s² n/(n − 1). At the values of the fit
        to all, its difficulties regress like those with errors of variance s² (1 + 1/(2(n − 1))).
        """
        difficulty, n = self.without[self.fold[row]], len(self.without) - 1
        fewer = np.sqrt(1 + 1 / (2 * (n - 1))) if self.fold[row] and n > 1 else 1.0
        own = np.flatnonzero(np.isfinite(difficulty) & (self.answers.trials[row] > 0))
        answers = self.answers.right[row, own], self.answers.trials[row, own]
        return Part(own, difficulty[own], fewer * self.se[own], *answers)


def _by_item(given: Any, items: tuple[str, ...], argument: str, value: str) -> Array:
    """Numbers by item label, NaN for items without a number."""
    values = values_by_label(argument, given, items, value=value, kind="item")
    found = as_numbers(argument, [np.nan if is_missing_label(one) else one for one in values])
    if np.isinf(found).any():
        label = items[int(np.argmax(np.isinf(found)))]
        raise ValueError(
            f"{argument} must be finite or missing, and the value for item {short(label)} is not"
        )
    return found


def _given_errors(given: Any, items: tuple[str, ...]) -> Array:
    """Standard errors by item label, 0 for items without one, or one number for all."""
    if given is None or isinstance(given, float | int):
        return np.full(len(items), check_number("difficulty_se", given or 0.0, least=0))
    values = values_by_label("difficulty_se", given, items, value="standard error", kind="item")
    found = as_numbers("difficulty_se", [0.0 if one is None else one for one in values])
    if (found < 0).any():
        label = items[int(np.argmax(found < 0))]
        raise ValueError(f"difficulty_se must be 0 or more, and is not for item {short(label)}")
    return found


def fitted_difficulties(result: FitResult) -> Array:
    """Difficulties of a fit, missing for items whose slope is flat or below 0, or unanswered.

    The difficulty of an item with a slope below 0 does not say how hard it is.
    """
    status = np.array(result.status, dtype=object)
    known = np.isfinite(result.parameters.difficulty) & (result.parameters.discrimination > 0)
    known &= ~np.isin(status, ["flat", "no responses"])
    middle, reach = result.latent_mean, EXTREME * result.latent_sd
    cropped = np.clip(result.parameters.difficulty, middle - reach, middle + reach)
    return np.where(known, cropped, np.nan)


def _held_out(result: FitResult, seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Difficulties of a fit and of fits without each fold, and the fit for each respondent."""
    from scipy.stats import rankdata

    if result.n_answering < _LEAST_SYSTEMS:
        raise ValueError(
            f"result has {result.n_answering} systems, too few to leave each one out in turn. "
            "Give difficulties from another source: difficulties="
        )
    of_all = fitted_difficulties(result)
    if not np.isfinite(of_all).any():
        raise ValueError("no item of result has a slope above 0, and so none has a difficulty")
    codes, labels = family_codes(result, SIMILAR), list(result.respondent_labels)
    answering = codes[result.answering]
    if np.bincount(answering).max() <= len(answering) / _FOLDS:  # else each system is its own
        first = np.unique(codes, return_index=True)[1]
        labels = [labels[first[code]] for code in codes]
    scale = np.sort(of_all[np.isfinite(of_all)])
    quantiles = (np.arange(len(scale)) + 0.5) / len(scale)
    fold, without = np.zeros(len(codes), dtype=np.intp), [of_all]
    for refit, held in refits(result, labels, _FOLDS, seed):
        fold[held] = len(without)
        found = fitted_difficulties(refit)
        known = np.isfinite(found)
        order = (rankdata(found[known]) - 0.5) / known.sum()
        found[known] = np.interp(order, quantiles, scale)
        without.append(found)
    return np.stack(without), fold
