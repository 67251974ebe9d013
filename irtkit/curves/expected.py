"""Expected performance on other items, and an alarm if the observed one differs.

Martínez-Plumed et al. (AAAI 2022) estimate a system's ability from its accuracy at the mean
difficulty of the original items. Then they predict the accuracy at the mean difficulty of new ones.
Here the logistic curve of the system, P = σ(α − βb) with Jeffreys' prior, predicts each new item.
If nothing but difficulty has changed, the number of right answers is Poisson-binomial given the
curve. Its distribution (normal with Edgeworth's first term, Volkova 1996) is averaged over the
error of the curve. A correlation of repeated trials that difficulty does not explain widens it.

The benchmark ``benchmarks/curves.py`` measures how often there is an alarm without a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_seed, short
from irtkit.curves.answered import Answered
from irtkit.curves.logistic import with_intercept
from irtkit.findings import Finding, Remedy, warn
from irtkit.irf import logistic

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.curves.answered import Part
    from irtkit.curves.logistic import Regression
    from irtkit.irf import Array

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)  # For the error of the curve, in SD.
_LEAST_SYSTEMS = {"Rasch": 40, "1PL": 40}  # For about 5 % of alarms in simulations; else 100.
_ROUNDING = 1e-9  # Standard errors below which the slope of a perfect record is 0.
_LEAST = 1e-12  # Variance of a sum of answers that are all certain.


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
    """Accuracy that difficulty explains on new items, and an alarm if the observed one differs.

    Parameters
    ----------
    result : FitResult, or responses
        A FitResult with its responses to the original items. With ``original_difficulties``, also
        those responses alone.
    new : ResponseMatrix, path or other responses
        Responses of the same systems to new items, or further ones to the same items: anything that
        :func:`irtkit.read_responses` takes.
    difficulties : mapping, Series or list, optional
        Difficulty of each new item by label, such as a predicted one. By default, the difficulty of
        the item with this label in ``result``.
    original_difficulties : mapping, Series or list, optional
        Difficulties of the original items from the same source. By default, difficulties of
        ``result`` from fits without the system (:func:`irtkit.characteristic_curves`).
    difficulty_se : float, mapping, Series or list, optional
        Standard errors of the given difficulties of both sets, by label or one for all. NaN if
        unknown. By default 0, also for difficulties predicted from features.
    systems : list of str, optional
        Labels of the systems. By default all that answered both.
    level : float, default 0.95
        Coverage of the intervals. The rate of false alarms for each system is 1 − ``level``.
    seed : int, default 0
        Seed of the folds of systems that are left out together.

    Returns
    -------
    pandas.DataFrame
        Index "respondent", with the columns

        - n_items: new items that were answered and have a difficulty
        - accuracy, original_accuracy: on the new and on the original items
        - expected, expected_low, expected_high: accuracy if only difficulty has changed
        - p_value, alarm: two-sided mid-p, and whether it is below 1 − ``level``
        - shift: how much harder items must be to explain the accuracy (NaN unless the curve falls)
        - difficulty, original_difficulty: means
        - expected_at_means: from mean difficulties alone, as in the paper
        - beyond: fraction of new items outside the range of the original difficulties

    Raises
    ------
    TypeError, ValueError
        If responses or difficulties are missing, no system answered both sets, all original items
        are equally difficult, or ``result`` is a 3PL.

    Warns
    -----
    IRTWarning
        With the code "few-systems-for-alarms" if difficulties come from a fit to fewer than 40
        systems, or of a 2PL to fewer than 100.

    Notes
    -----
    Estimated difficulties are regressed to the mean of their set. That is wrong for items chosen
    because they look hard. If many systems deviate in one direction, suspect the difficulties: a
    mean error of predicted ones is common to all systems.

    The curve falls to 0 as items get harder. With guessing it does not, and alarms on harder items
    would be false, so results of the 3PL are refused.

    See Also
    --------
    irtkit.characteristic_curves, irtkit.gate

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
    if isinstance(result, FitResult) and result.parameters.guessing.any():
        raise ValueError(
            "result must not be of the 3PL. These curves fall to 0, and accuracy with guessing "
            "does not"
        )
    given = difficulties is not None or difficulty_se is not None
    if given and original_difficulties is None and isinstance(result, FitResult):
        raise ValueError(
            "difficulties and difficulty_se need original_difficulties from the same source, "
            "because the difficulties in result have another scale"
        )
    old = Answered.of(
        result, original_difficulties, "original_difficulties", se=difficulty_se, seed=seed
    )
    known = old.difficulty[np.isfinite(old.difficulty)]
    if len(known) > 1 and not np.ptp(known):
        raise ValueError(
            "original items must differ in difficulty, to show how accuracy falls with it"
        )
    if original_difficulties is None and isinstance(result, FitResult):
        n, model = int(old.real.sum()), result.model
        least = _LEAST_SYSTEMS.get(model, 100)
        if n < least:
            remedy = (Remedy({}, code='irtkit.fit(responses, "1PL")'),) if n >= 40 else ()
            values = {"n": n, "least": least, "model": model}
            warn(Finding("few-systems-for-alarms", "warning", values, remedy))
    argument, se = "difficulties", difficulty_se
    if difficulties is None:
        argument, se = "result", dict(zip(old.items, old.se, strict=True))
        difficulties = dict(zip(old.items, old.difficulty, strict=True))
    now = Answered.of(new, difficulties, argument, se=se, seed=seed)
    pairs = _pairs(old, now, systems)
    rows = [_expectation(old.part(one), now.part(other), level) for one, other in pairs]
    index = pd.Index([old.respondents[one] for one, _ in pairs], name="respondent")
    return pd.DataFrame(rows, index=index)


def _pairs(old: Answered, now: Answered, systems: Iterable[str] | None) -> list[tuple[int, int]]:
    """Rows of the systems that answered both."""
    place = {label: k for k, label in enumerate(now.respondents)}
    pairs = []
    for row in map(int, old.rows(systems)):
        at = place.get(old.respondents[row])
        if at is not None and len(old.part(row).items) and len(now.part(at).items):
            pairs.append((row, at))
        elif systems is not None:
            name = short(old.respondents[row])
            raise ValueError(f"systems: {name} must have answered original and new items")
    if not pairs:
        raise ValueError("no system answered both the original and the new items")
    return pairs


def _trial_correlation(part: Part, fit: Regression) -> float:
    """Correlation of trials of an item that its difficulty does not explain.

    n² times the squared residual of a share of n trials has the mean n p q (1 + (n − 1) ρ).
    """
    p, n = logistic(fit.log_odds(part.x)), part.trials
    noise = p * (1 - p)
    pairs = float((n * (n - 1) * noise).sum())
    if pairs <= 0:
        return 0.0
    beyond = float((n**2 * (part.share - p) ** 2 - n * noise).sum())
    return float(np.clip(beyond / pairs, 0.0, 1.0))


class Predicted(NamedTuple):
    """Distribution of a mean proportion correct: a mixture over the error of the curve."""

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
        # only the error of the curve along which the sum moves matters
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
        """Quantile of the mean."""
        from scipy.optimize import brentq

        if np.isnan(self.mean).any():
            return np.nan
        if self.below(0.0) >= probability or self.below(1.0) <= probability:
            return float(self.below(0.0) < probability)
        return float(brentq(lambda share: self.below(share) - probability, 0.0, 1.0))


def _expectation(old: Part, new: Part, level: float) -> dict[str, Any]:
    """Row of one system."""
    old, new = old.regressed(), new.regressed()
    fit = old.regression()
    share, original = float(new.share.mean()), float(old.share.mean())
    predicted = Predicted.of(fit, new.difficulty, new.trials, _trial_correlation(old, fit))
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
    """Rise of all difficulties at which the curve expects the accuracy, bounded by half a response.

    NaN unless the curve falls.
    """
    from scipy.optimize import brentq

    slope = -float(fit.coefficients[1])
    if not slope > _ROUNDING * fit.covariance[1, 1] ** 0.5:
        return np.nan
    z = fit.log_odds(new.x)
    n = len(z)
    wanted = (float(new.share.sum()) + 0.5) / (n + 1)
    reach = np.abs(z).max() + np.log(4 * (n + 1))
    harder = brentq(lambda logits: logistic(z - logits).mean() - wanted, -reach, reach)
    return float(harder / slope)
