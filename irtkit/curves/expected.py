"""Expected performance on other items, and an alarm where the observed one is not like it.

Martínez-Plumed et al. (AAAI 2022) turn a system's share right at the mean difficulty of the
original items into an ability and push it forward at the mean difficulty of new ones. Here that is
done item by item: the system's logistic curve over the original difficulties, P = σ(α − βb), says
how likely it is right at each new one. Half a response right and half a one wrong (Jeffreys' prior)
keep the curve finite where all was right, or wrong.

If nothing but difficulty has changed, the number right of the new items is a sum of independent
answers (Poisson-binomial) given the curve, and the curve is known up to the errors of α and β. The
distribution of the share right is that of the sum by its mean, variance and third moment (a normal
one with Edgeworth's first term, as Volkova 1996), averaged over the error of the curve. Of repeated
trials of an item the correlation left by difficulty, told by the original items, widens it.

No item parameters are needed but difficulties, and no model of the systems; but difficulties of
both sets must come from one source. Those estimated from answers have errors, of which hard items
have drawn the ones that make them harder: they are regressed to the mean of their set
(`regressed`). A good prediction from features needs no such thing: it is an expectation already.
Predicted ones of one set beside fitted ones of the other have curves with different slopes.

In simulations (``benchmarks/curves.py``, results stored) 4.5 % to 5.5 % of the systems that have
not changed raise an alarm, on new items as hard as the original ones or harder by a unit, where
difficulties are known or predicted without bias. Fitted by a 1PL to 40 systems or a 2PL to 100 they
give 3.7 % to 3.8 % on items as hard, and 5.5 % to 5.9 % on harder ones, most of them upwards. A 2PL
of 40 systems knows difficulties worse than its standard errors say: on harder items it is 8.5 %.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_seed, first_names, short
from irtkit.curves.answered import Answered, with_intercept
from irtkit.irf import logistic

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.curves.answered import Part
    from irtkit.curves.logistic import Regression

    Array = NDArray[np.float64]

_NODES, _WEIGHTS = (part for part in np.polynomial.hermite_e.hermegauss(15))
"""Of the error of the curve, in SDs."""
_BY_CHANCE = np.log(1e-6)
"""Log-probability below which answers are no new ones that happen to be the same."""
_FEW_SYSTEMS, _FEW_FOR_SLOPES = 40, 100
"""Fewest systems whose fits give about 5 % of alarms in simulations: of a 1PL, and where each item
has a slope."""
_ROUNDING = 1e-9
"""Of its error, below which a slope is 0: that of a record without a mistake."""
_LEAST = 1e-12
"""Variance of a sum of answers all of which are as good as certain."""


def expected_performance(
    result: object,
    new: object,
    *,
    difficulties: Any = None,
    original_difficulties: Any = None,
    difficulty_se: Any = None,
    systems: Iterable[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Share right that difficulty explains on new items, and an alarm where it is another.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses to the original items; or, with
        ``original_difficulties``, those responses alone.
    new
        Responses of the same systems to new items, or new ones to the same items: a ResponseMatrix
        or anything that :func:`irtkit.read_responses` takes. They must not be among those of
        ``result``, which expect themselves.
    difficulties
        Difficulty of each new item by label, such as a predicted one; by default that of the item
        with this label in ``result``, from other systems.
    original_difficulties
        The same of the original items, from the same source; by default those of ``result``, for
        each system from a fit without it (:func:`irtkit.characteristic_curves`).
    difficulty_se
        Standard error of each difficulty by label, of both sets, where they were estimated from
        answers (NaN: nothing is known of that item); those of ``result`` are known if it has
        standard errors, and needed. Difficulties predicted from features have none: by default 0.
        Goes with ``original_difficulties``.
    systems
        Labels of those to look at; by default all that answered both.
    level
        Coverage of the intervals; 1 − level is the rate of false alarms, of each system by itself.
    seed
        Of the choice of systems that are left out together.

    Returns
    -------
    pandas.DataFrame
        Index "respondent". Columns: n_items (new ones, answered and with a difficulty); accuracy
        (mean share right of these), expected, expected_low, expected_high (where it should lie with
        the probability ``level`` if nothing but difficulty has changed), p_value (two-sided, half
        of the probability of what was seen counting), alarm (whether it is below 1 − ``level``);
        shift (in units of difficulty, by how much harder items would have to be to explain what was
        seen; above 0 the system has become weaker; NaN if its curve does not fall);
        original_accuracy, difficulty and original_difficulty (means, of regressed difficulties),
        expected_at_means (the same by mean difficulties alone, as the paper has it); beyond (share
        of the new items whose difficulty lies outside that of the original ones, both regressed:
        the curve is only extended there).

    Notes
    -----
    If many systems are off in one direction, difficulties are to blame rather than systems: a mean
    error of predicted difficulties is common to all.
    The curve falls to 0 as items get harder. Where items are guessed right (choice questions) it
    does not, and alarms on harder items are false: results of the 3PL are refused.
    Over fitted difficulties the shift falls short of a drop in ability, of the 2PL more than of the
    1PL; over known ones it does not.
    Estimated difficulties are regressed to the mean of their set. That is right for sets that were
    not chosen by these estimates, and wrong for items chosen for looking hard.

    Raises
    ------
    TypeError, ValueError
        If responses or difficulties are not there, no system answered both sets, the responses of
        all or of some systems are the original ones, all original items are of one difficulty, or
        ``result`` is of the 3PL.

    Warns
    -----
    UserWarning
        If difficulties come from a fit to fewer than 40 systems, or of a 2PL to fewer than 100:
        more than 1 − ``level`` of the systems may raise an alarm.

    Examples
    --------
    >>> import irtkit
    >>> difficulty = [k / 150 - 3 for k in range(900)]
    >>> items = irtkit.ItemParameters.from_difficulty([1.5] * 900, difficulty)
    >>> abilities = [k / 10 - 2 for k in range(40)]
    >>> before = irtkit.simulate_responses(items, abilities)
    >>> result = irtkit.fit(before, "1PL")
    >>> after = irtkit.simulate_responses(items, [0.9, *abilities[1:]], seed=1)
    >>> found = irtkit.expected_performance(result, after)
    >>> bool(found.loc["respondent-1", "alarm"]), bool(found.loc["respondent-1", "shift"] < -2)
    (True, True)
    """
    import pandas as pd

    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    old, now = both_sets(result, new, difficulties, original_difficulties, difficulty_se, seed=seed)
    pairs = pairs_of(old, now, systems)
    refuse_same_answers(old, now, pairs)
    rows = [_expectation(old.part(one), now.part(other), level) for one, other in pairs]
    index = pd.Index([old.respondents[one] for one, _ in pairs], name="respondent")
    return pd.DataFrame(rows, index=index)


def both_sets(
    result: object,
    new: object,
    difficulties: Any,
    original_difficulties: Any,
    difficulty_se: Any,
    *,
    seed: int,
) -> tuple[Answered, Answered]:
    """Answers to the original and to new items, with difficulties that err alike."""
    refuse_guessing(result)
    refuse_predicted_beside_fitted(result, difficulties, original_difficulties)
    if original_difficulties is None and difficulty_se is not None:
        raise ValueError("difficulty_se goes with original_difficulties, which are not given")
    argument = "original_difficulties"
    old = Answered.of(result, original_difficulties, argument, se=difficulty_se, seed=seed)
    known = old.difficulties.of_all[np.isfinite(old.difficulties.of_all)]
    if len(known) > 1 and not np.ptp(known):
        raise ValueError(
            "original items must differ in difficulty: those of one do not say how performance "
            "falls with it"
        )
    if original_difficulties is None and isinstance(result, FitResult):
        _warn_of_few(int(old.real.sum()), result.model)
    argument, se = "difficulties", difficulty_se
    if difficulties is None:
        argument = "result"
        difficulties = dict(zip(old.items, old.difficulties.of_all, strict=True))
        se = dict(zip(old.items, old.difficulties.se, strict=True))
    return old, Answered.of(new, difficulties, argument, se=se, seed=seed)


def _warn_of_few(n: int, model: str) -> None:
    """Warn where difficulties come from few systems."""
    least = _FEW_SYSTEMS if model in {"Rasch", "1PL"} else _FEW_FOR_SLOPES
    if n < least:
        instead = f"; of a 1PL {_FEW_SYSTEMS} are enough" if n >= _FEW_SYSTEMS else ""
        warnings.warn(
            f"difficulties come from a {model} fitted to {n} systems: of fewer than {least} they "
            f"are known worse than their errors say, and alarms come too often{instead}",
            stacklevel=4,
        )


def refuse_guessing(result: object) -> None:
    """Refuse a result whose items are guessed right, which no logistic curve follows."""
    if isinstance(result, FitResult) and result.parameters.guessing.any():
        raise ValueError(
            "result is of the 3PL: where items are guessed right, curves that fall to 0 expect too "
            "little of hard ones"
        )


def refuse_predicted_beside_fitted(result: object, difficulties: Any, original: Any) -> None:
    """Refuse difficulties of two sources, over which curves have two slopes."""
    if isinstance(result, FitResult) and difficulties is not None and original is None:
        raise ValueError(
            "difficulties need original_difficulties from the same source beside them: those of "
            "result have another scale"
        )


def refuse_same_answers(old: Answered, now: Answered, pairs: list[tuple[int, int]]) -> None:
    """Refuse answers that are the original ones, which expect themselves.

    Those of a system are where as many answers, drawn anew along its curve, would be the same once
    in a million times at most: log-probability of each the same log(P² + (1 − P)²).
    """
    place = {label: k for k, label in enumerate(old.items)}
    both = [(place[label], k) for k, label in enumerate(now.items) if label in place]
    if not both:
        return
    mine, theirs = map(np.ix_, zip(*pairs, strict=True), zip(*both, strict=True))
    first, second = old.answers, now.answers
    same = first.right[mine] == second.right[theirs]
    same &= first.trials[mine] == second.trials[theirs]
    rows, items = mine[0].ravel(), mine[1].ravel()
    chance = {int(row): _log_chance(old, row, items) for row in rows[same.all(axis=1)]}
    if len(chance) == len(rows) and sum(chance.values()) < _BY_CHANCE:
        raise ValueError("new holds the responses of result: what systems answered expects itself")
    if copied := [old.respondents[row] for row, log_p in chance.items() if log_p < _BY_CHANCE]:
        raise ValueError(
            f"new holds the responses of result of {first_names(copied)}, which expect themselves: "
            "leave these systems out, in new or by systems="
        )


def _log_chance(old: Answered, row: int, items: Array) -> float:
    """Log-probability that a system's answers to some items come out as they did once more."""
    part = old.part(row)
    shared = np.isin(part.items, items)
    p = logistic(part.regression().log_odds(with_intercept(part.difficulty[shared])))
    found = float((part.trials[shared] * np.log(p**2 + (1 - p) ** 2)).sum())
    return found if np.isfinite(found) else 0.0


def pairs_of(old: Answered, now: Answered, systems: Iterable[str] | None) -> list[tuple[int, int]]:
    """Rows of the systems that answered both."""
    place = {label: k for k, label in enumerate(now.respondents)}
    rows = [(int(row), old.respondents[row]) for row in old.rows(systems)]
    pairs = []
    for row, name in rows:
        sides = {"original": (old, row), "new": (now, place.get(name))}
        without = [
            kind for kind, (side, at) in sides.items() if at is None or not len(side.part(at).items)
        ]
        if without and systems is not None:
            raise ValueError(
                f"systems: {short(name)} answered no {without[0]} item that has a difficulty"
            )
        if not without:
            pairs.append((row, place[name]))
    if not pairs:
        raise ValueError("no system answered both the original and the new items")
    return pairs


def trial_correlation(part: Part, fit: Regression) -> float:
    """Correlation of trials of one item that its difficulty does not explain.

    n² times the squared residual of a share of n trials has the mean n p q (1 + (n − 1) ρ).
    """
    p = logistic(fit.log_odds(with_intercept(part.difficulty)))
    n, noise = part.trials, p * (1 - p)
    pairs = float((n * (n - 1) * noise).sum())
    if pairs <= 0:
        return 0.0
    beyond = float((n**2 * (part.share - p) ** 2 - n * noise).sum())
    return float(np.clip(beyond / pairs, 0.0, 1.0))


class Predicted(NamedTuple):
    """Distribution of a mean share right: a mixture over the error of the curve."""

    mean: Array
    sd: Array
    skewness: Array

    @classmethod
    def of(cls, fit: Regression, difficulty: Array, trials: Array, correlation: float) -> Predicted:
        """Return the distribution at some difficulties."""
        x = with_intercept(difficulty)
        z = fit.log_odds(x)
        p = logistic(z)
        slope = (p * (1 - p)) @ x
        variance = float(slope @ fit.covariance @ slope)
        # of all errors of the curve only the one along which the sum moves matters
        along = x @ (fit.covariance @ slope) / np.sqrt(max(variance, 1e-300))
        p = logistic(z + np.multiply.outer(_NODES, along))
        each = p * (1 - p) * (1 + (trials - 1) * correlation) / trials
        total = np.sqrt(np.maximum(each.sum(axis=1), _LEAST))
        third = (each * (1 - 2 * p) / trials).sum(axis=1) / total**3
        return cls(p.mean(axis=1), total / len(x), third)

    @property
    def expected(self) -> float:
        """The mean."""
        return float(_WEIGHTS @ self.mean / _WEIGHTS.sum())

    def below(self, share: float) -> float:
        """P(less) + P(equal) / 2."""
        from scipy.special import ndtr

        t = (share - self.mean) / self.sd
        density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
        each = np.clip(ndtr(t) + self.skewness * (1 - t**2) * density / 6, 0, 1)
        return float(_WEIGHTS @ each / _WEIGHTS.sum())

    def quantile(self, probability: float) -> float:
        """Share right below which so much lies."""
        from scipy.optimize import brentq

        if np.isnan(self.mean).any():
            return np.nan
        if self.below(0.0) >= probability or self.below(1.0) <= probability:
            return float(self.below(0.0) < probability)
        return float(brentq(lambda share: self.below(share) - probability, 0.0, 1.0))


def _expectation(old: Part, new: Part, level: float) -> dict[str, Any]:
    """What is expected of one system."""
    old, new = old.regressed(), new.regressed()
    fit = old.regression()
    share, original = float(new.share.mean()), float(old.share.mean())
    predicted = Predicted.of(fit, new.difficulty, new.trials, trial_correlation(old, fit))
    below = predicted.below(share)
    p_value = 2 * min(below, 1 - below)
    means = float(new.difficulty.mean()), float(old.difficulty.mean())
    least, most = old.difficulty.min(), old.difficulty.max()
    bounded = (original * len(old.share) + 0.5) / (len(old.share) + 1)
    at_means = np.log(bounded / (1 - bounded)) + fit.coefficients[1] * (means[0] - means[1])
    return {
        "n_items": len(new.share),
        "accuracy": share,
        "expected": predicted.expected,
        "expected_low": predicted.quantile((1 - level) / 2),
        "expected_high": predicted.quantile((1 + level) / 2),
        "p_value": p_value,
        "alarm": p_value < 1 - level,
        "shift": _shift(fit, new),
        "original_accuracy": original,
        "difficulty": means[0],
        "original_difficulty": means[1],
        "expected_at_means": float(logistic(at_means)),
        "beyond": float(((new.difficulty < least) | (new.difficulty > most)).mean()),
    }


def _shift(fit: Regression, new: Part) -> float:
    """Rise of all difficulties at which the curve expects what was seen; NaN unless it falls.

    Half a response keeps it finite.
    """
    from scipy.optimize import brentq

    slope = -float(fit.coefficients[1])
    if not slope > _ROUNDING * fit.covariance[1, 1] ** 0.5:
        return np.nan
    z = fit.log_odds(with_intercept(new.difficulty))
    n = len(z)
    wanted = (float(new.share.sum()) + 0.5) / (n + 1)
    reach = np.abs(z).max() + np.log(4 * (n + 1))
    harder = brentq(lambda logits: logistic(z - logits).mean() - wanted, -reach, reach)
    return float(harder / slope)
