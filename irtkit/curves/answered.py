"""What systems answered to items of known difficulty, and the logistic curve of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import did_you_mean, short
from irtkit.curves.logistic import clustered, logistic_regression
from irtkit.curves.ranges import (
    given_difficulties,
    given_errors,
    held_out_difficulties,
    same_for_all,
)
from irtkit.curves.regressed import regressed
from irtkit.data.patterns import patterns_of
from irtkit.io.reading import as_responses
from irtkit.responses import refuse_sparse
from irtkit.systems.standing import Shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from irtkit.curves.logistic import Regression
    from irtkit.curves.ranges import Difficulties
    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]


class Part(NamedTuple):
    """What one system answered: its items with a difficulty."""

    items: NDArray[np.intp]
    difficulty: Array
    se: Array
    share: Array
    trials: Array

    def regressed(self) -> Part:
        """The same with difficulties regressed to their mean, where they are estimates.

        Of one whose error is not known nothing is known.
        """
        if np.isnan(self.se).all():
            raise ValueError(
                "result must have standard errors of its difficulties: "
                "irtkit.fit(…, standard_errors=True)"
            )
        if not self.se.any():
            return self
        se = np.where(np.isnan(self.se), np.inf, self.se)
        return self._replace(difficulty=regressed(self.difficulty, se))

    def regression(self) -> Regression:
        """Logistic regression of right answers on (1, difficulty).

        Errors of repeated trials are clustered by item; those of single answers are Fisher's.
        """
        x, right = with_intercept(self.difficulty), self.share * self.trials
        found = logistic_regression(x, right, self.trials, jeffreys=True)
        repeated = self.trials.max(initial=1) > 1
        return clustered(found, x, right, self.trials, [np.arange(len(x))] if repeated else [])


class Answered(NamedTuple):
    """Answers of all respondents, with the difficulties of the items for each of them."""

    answers: Shares
    respondents: tuple[str, ...]
    items: tuple[str, ...]
    real: NDArray[np.bool_]
    difficulties: Difficulties

    @classmethod
    def of(
        cls, given: object, difficulties: Any, argument: str, *, se: Any = None, seed: int
    ) -> Answered:
        """Return those of a result, or of responses and difficulties, which `argument` names.

        Raises
        ------
        TypeError, ValueError
            If there are no responses, these are sparse, or there are no difficulties.
        """
        responses = _responses(given, difficulties, argument)
        refuse_sparse(responses, "a characteristic curve")
        if difficulties is None:
            known = held_out_difficulties(given, seed=seed)  # type: ignore[arg-type]  # a result
        else:
            values = given_difficulties(difficulties, responses.items, argument)
            errors = given_errors(se, responses.items)
            known = same_for_all(values, errors, responses.n_respondents)
        answers = Shares.of(patterns_of(responses, synthetic_is_real=True))
        names = responses.respondents, responses.items
        return cls(answers, *names, ~responses.synthetic, known)

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
                raise ValueError(f"systems: there is no respondent {short(name)}{hint}")
        return np.array([place[name] for name in names], dtype=np.intp)

    def part(self, row: int) -> Part:
        """What one system answered of the items with a difficulty."""
        difficulty, se = self.difficulties.of(row)
        own = np.flatnonzero(np.isfinite(difficulty) & (self.answers.trials[row] > 0))
        answers = self.answers.right[row, own], self.answers.trials[row, own]
        return Part(own, difficulty[own], se[own], *answers)


def _responses(given: object, difficulties: Any, argument: str) -> ResponseMatrix:
    if isinstance(given, FitResult):
        if given.responses is None:
            raise ValueError("result must hold its responses, which were not saved with it")
        return given.responses
    if difficulties is None:
        raise TypeError(
            "result must be what irtkit.fit returned; of responses alone the difficulties of the "
            f"items are needed, {argument}="
        )
    return as_responses(given)


def with_intercept(*columns: Array) -> Array:
    """Covariates after a column of ones, (n, 1 + k)."""
    return np.stack([np.ones(len(columns[0])), *columns], axis=1)
