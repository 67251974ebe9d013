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
from irtkit.data.families import SIMILAR, family_codes
from irtkit.data.patterns import patterns_of
from irtkit.io.reading import as_responses
from irtkit.irf import EXTREME
from irtkit.responses.labels import is_missing_label, values_by_label
from irtkit.selection.subset import refits
from irtkit.systems.scores import Shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from irtkit.irf import Array

_FOLDS = 5  # Fits, each without a fifth of the systems.


class Part(NamedTuple):
    """What one system answered: its items with a difficulty."""

    items: NDArray[np.intp]
    difficulty: Array
    se: Array
    share: Array
    trials: Array

    def reliability(self) -> float:
        """Share of the variance of difficulties that is not error."""
        if np.isnan(self.se).all():
            raise ValueError(
                "result must have standard errors of its difficulties: "
                "irtkit.fit(…, standard_errors=True)"
            )
        variance = self.difficulty.var()
        if variance == 0:
            return 0.0
        # an error above the spread, or an unknown one, says only that nothing is known
        unreliable = np.fmin(self.se**2, variance).mean() / variance
        return float(np.round(1 - unreliable, 9))

    def regressed(self) -> Part:
        """The same with difficulties regressed to their mean. One reliability serves all items."""
        mean = self.difficulty.mean()
        deviation = self.difficulty - mean
        return self._replace(difficulty=mean + self.reliability() * deviation)


class Answered(NamedTuple):
    """Answers of all respondents, with the difficulties of the items for each of them."""

    answers: Shares
    respondents: tuple[str, ...]
    items: tuple[str, ...]
    real: NDArray[np.bool_]
    difficulty: Array  # (n_items,), not finite where an item has none.
    se: Array  # Of the difficulties: 0 where they are not estimated, NaN if unknown.
    without: Array  # Difficulties from each fit, that of all systems first, (n_fits, n_items).
    fold: NDArray[np.intp]  # Row of `without` for each respondent.

    @classmethod
    def of(
        cls, data: object, difficulties: Any, argument: str, *, se: Any = None, seed: int
    ) -> Answered:
        """Return the matrix and difficulties of a result, or of responses and difficulties."""
        if isinstance(data, FitResult):
            responses = data.saved_responses
        elif difficulties is None:
            raise TypeError(
                "result must be what irtkit.fit returned. With responses, give the difficulties "
                f"of the items: {argument}="
            )
        else:
            responses = as_responses(data)
        if difficulties is None:
            without, fold = _held_out(data, seed)  # type: ignore[arg-type]  # a result
            errors = data.items["difficulty_se"].to_numpy()  # type: ignore[attr-defined]
        else:
            without = _by_item(difficulties, responses.items, argument, "difficulty")[None]
            fold = np.zeros(responses.n_respondents, dtype=np.intp)
            known_errors = 0.0 if se is None else se
            errors = _by_item(known_errors, responses.items, "difficulty_se", "standard error")
        return cls(
            answers=Shares.of(patterns_of(responses, synthetic_is_real=True)),
            respondents=responses.respondents,
            items=responses.items,
            real=~responses.synthetic,
            difficulty=without[0],
            se=errors,
            without=without,
            fold=fold,
        )

    def rows(self, systems: Iterable[str] | None) -> NDArray[np.intp]:
        """Rows of the systems named, or of all that are real and answered something."""
        if systems is None:
            return np.flatnonzero(self.real & (self.answers.trials > 0).any(axis=1))
        names = [systems] if isinstance(systems, str) else [str(name) for name in systems]
        for name in names:
            if name not in self.respondents:
                hint = did_you_mean(name, self.respondents)
                raise ValueError(f"systems: {short(name)} is no system of the responses{hint}")
        return np.array([self.respondents.index(name) for name in names], dtype=np.intp)

    def part(self, row: int) -> Part:
        """What one system answered of the items with a difficulty.

        A fit without one of n folds has errors of variance s² n/(n − 1). At the values of the fit
        to all, its difficulties regress like those with errors of variance s² (1 + 1/(2(n − 1))).
        """
        difficulty = self.without[self.fold[row]]
        trials = self.answers.trials[row]
        n_folds = len(self.without) - 1
        se = self.se
        if self.fold[row] and n_folds > 1:
            widened = 1 + 1 / (2 * (n_folds - 1))
            se = np.sqrt(widened) * se
        items = np.flatnonzero(np.isfinite(difficulty) & (trials > 0))
        return Part(
            items=items,
            difficulty=difficulty[items],
            se=se[items],
            share=self.answers.right[row, items],
            trials=trials[items],
        )


def _by_item(given: Any, items: tuple[str, ...], argument: str, value: str) -> Array:
    """Numbers by item label, NaN for items without a number, or one number for all."""
    if isinstance(given, float | int):
        return np.full(len(items), check_number(argument, given, least=0))
    values = values_by_label(argument, given, items, value=value, kind="item")
    numbers = [np.nan if is_missing_label(number) else number for number in values]
    return as_numbers(argument, numbers)


def fitted_difficulties(result: FitResult) -> Array:
    """Difficulties of a fit, missing for items whose slope is flat or below 0, or unanswered.

    The difficulty of an item with a slope below 0 does not say how hard it is.
    """
    difficulty = result.own_items.difficulty
    usable = np.isfinite(difficulty) & (result.own_items.discrimination > 0)
    usable &= ~np.isin(result.status, ["flat", "no responses"])
    reach = EXTREME * result.latent_sd
    cropped = np.clip(difficulty, result.latent_mean - reach, result.latent_mean + reach)
    return np.where(usable, cropped, np.nan)


def _held_out(result: FitResult, seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Difficulties of a fit and of fits without each fold, and the fit for each respondent."""
    from scipy.stats import rankdata

    if result.n_answering < 3:  # one is left out, and two remain that differ
        raise ValueError(
            f"result has {result.n_answering} systems, too few to leave each one out in turn. "
            "Give difficulties from another source: difficulties="
        )
    of_all = fitted_difficulties(result)
    if not np.isfinite(of_all).any():
        raise ValueError("no item of result has a slope above 0, and so none has a difficulty")
    fold = np.zeros(len(result.respondent_labels), dtype=np.intp)
    without = [of_all]
    scale = np.sort(of_all[np.isfinite(of_all)])
    quantiles = (np.arange(len(scale)) + 0.5) / len(scale)
    # similar systems are left out together, unless one family is more than a fold
    families = list(result.respondent_labels)
    codes = family_codes(result, SIMILAR)
    sizes = np.bincount(codes[result.answering])
    if sizes.max() <= sizes.sum() / _FOLDS:
        first = np.unique(codes, return_index=True)[1]
        families = [families[place] for place in first[codes]]
    for refit, held in refits(result, families, _FOLDS, seed):
        fold[held] = len(without)
        # in the order of this fit, with the distribution of the fit to all
        difficulty = fitted_difficulties(refit)
        measured = np.isfinite(difficulty)
        order = (rankdata(difficulty[measured]) - 0.5) / measured.sum()
        difficulty[measured] = np.interp(order, quantiles, scale)
        without.append(difficulty)
    return np.stack(without), fold
