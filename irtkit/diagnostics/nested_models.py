"""Model comparison: whether a model with more parameters fits better than by chance.

Rasch (or 1PL) ⊂ 2PL ⊂ 3PL are nested: each is the next one with parameters held at a value. Twice
the difference of their maximal log-likelihoods is then, if the smaller model holds and respondents
are many, chi-square distributed with as many degrees of freedom as parameters were held (Wilks
1938, *Annals of Mathematical Statistics* 9, 60–62). A parameter held at the edge of its range, as
guessing is at 0 in the 2PL, makes it a mixture of chi-squares with fewer degrees of freedom (Self
& Liang 1987, *JASA* 82, 605–610), so that the p-value given here is too large if anything.

Near-duplicate respondents inflate the statistic. Where they are found it is multiplied by the share
of evidence that is left, n_eff/n, and referred to an F distribution with n_eff denominator degrees
of freedom, as usual for an estimated dispersion (McCullagh & Nelder 1989, section 4.5).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration import FitResult
from irtkit.checks import check_type, short
from irtkit.printed import p_words
from irtkit.responses.labels import check_same_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.irf import ModelName

_RANK = {"Rasch": 0, "1PL": 0, "2PL": 1, "3PL": 2}
"""A model contains every model of lower rank."""
_LEVEL = 0.05
"""p-value below which the sentence speaks of more than chance."""
_SHORTFALL = 10
"""How many times its ``tol`` a converged fit may lie below its maximum."""
_LEAST_ERROR, _LEAST_SHARE = 0.1, 0.05
"""Integration error of the statistic, and its share of it, that are worth a warning."""


@dataclass(frozen=True)
class LikelihoodRatioTest:
    """Two nested models compared; made by :func:`irtkit.likelihood_ratio_test`.

    ``print(test)`` says it in one sentence.
    """

    smaller: ModelName
    larger: ModelName
    statistic: float
    """2 (log L of the larger − log L of the smaller), times ``larger.evidence``; 0 where only
    rounding makes it negative."""
    degrees_of_freedom: int
    p_value: float
    """Probability of so large a statistic or a larger one if the smaller model holds."""
    log_likelihood_smaller: float
    log_likelihood_larger: float
    aic_difference: float
    """AIC of the larger model less that of the smaller; below 0 speaks for the larger."""
    bic_difference: float
    """The same of BIC."""
    cautions: tuple[str, ...]
    """What keeps the p-value from being exact, in words; empty if nothing is known to."""

    def __str__(self) -> str:
        if self.statistic < 0:
            verdict = f"{self.larger} has a lower likelihood than {self.smaller}"
        else:
            more = "more" if self.p_value < _LEVEL else "no more"
            verdict = (
                f"{self.larger} fits better than {self.smaller} by {more} than chance explains "
                f"at the {_LEVEL:.0%} level"
            )
        p = p_words(self.p_value)
        degrees = f"degree{'s' * (self.degrees_of_freedom > 1)} of freedom"
        numbers = (
            f"likelihood ratio statistic {self.statistic:.2f} with {self.degrees_of_freedom} "
            f"{degrees}, {p}; AIC {_change(self.aic_difference)}, "
            f"BIC {_change(self.bic_difference)}"
        )
        notes = f"; note that {'; and that '.join(self.cautions)}" if self.cautions else ""
        return f"{verdict} ({numbers}){notes}."


def likelihood_ratio_test(smaller: FitResult, larger: FitResult) -> LikelihoodRatioTest:
    """Test a model against one that contains it, both fitted to the same responses.

    The statistic is 2 (log L_larger − log L_smaller), referred to the chi-square distribution
    with as many degrees of freedom as the larger model has more parameters. If near-duplicate
    respondents are found, it is multiplied by ``larger.evidence``, the share of the evidence that
    is left, and an F distribution takes the place of the chi-square distribution. Near-duplicates
    are not found with 10 items, and in part with 20.

    Parameters
    ----------
    smaller, larger
        Fits of nested models, the one with fewer parameters first: Rasch or 1PL, then 2PL, then
        3PL. Rasch and 1PL are the same model in different units, so that there is nothing to test
        between them. Only ``prior=None`` fits have the maxima that the theory speaks of, and Rasch
        on a fixed grid that cuts abilities off has none even so.

    Returns
    -------
    LikelihoodRatioTest
        Statistic, degrees of freedom, p-value and differences of AIC and BIC; printing it gives
        a sentence. Against the 3PL the p-value is conservative: guessing of 0 is at the edge of
        its range. With fewer respondents than parameters, or items without a finite estimate, it
        is rough, and the sentence says so.

    Raises
    ------
    TypeError
        If an argument is not a FitResult.
    ValueError
        If the models are not nested or come in the wrong order, or if the fits differ in items,
        respondents, responses, treatment of synthetic respondents, quadrature, or in what repeated
        trials count for (``trial_correlation``).

    Warns
    -----
    UserWarning
        If a fit had a prior or synthetic respondents beside the real ones, so that its
        log-likelihood is not a maximum and the statistic may even be negative; if a fit did not
        converge; if the larger model has not reached its maximum; or if the integration over
        ability was too coarse.

    References
    ----------
    Wilks (1938), *Annals of Mathematical Statistics* 9, 60–62.
    Self & Liang (1987), *Journal of the American Statistical Association* 82, 605–610.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([0.5, 0.5, 2.0, 2.0], [-1, 0, 0, 1])
    >>> abilities = [k / 125 - 2 for k in range(500)]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1)
    >>> fits = [irtkit.fit(responses, model, prior=None) for model in ("1PL", "2PL")]
    >>> test = irtkit.likelihood_ratio_test(*fits)
    >>> test.degrees_of_freedom, test.p_value < 0.001
    (3, True)
    >>> print(test)
    2PL fits better than 1PL by more than chance explains at the 5% level (likelihood ratio
    statistic 45.44 with 3 degrees of freedom, p < 0.001; AIC falls by 39.4, BIC falls by 26.8).
    """
    _check_models(smaller, larger)
    _check_responses(smaller, larger)
    _check_quadrature(smaller, larger)
    _check_trials(smaller, larger)
    from scipy.special import chdtrc, fdtrc

    difference = 2 * (larger.log_likelihood - smaller.log_likelihood)
    rounding = 1e-12 * abs(smaller.log_likelihood) + 2 * _SHORTFALL * larger.settings.tol
    at_maxima = difference >= -_integration_error(smaller, larger) - rounding
    statistic = max(difference, 0.0) if at_maxima else difference
    doubts = tuple(_doubts(smaller, larger, statistic))
    if doubts:
        warnings.warn("; ".join(doubts), stacklevel=2)
    degrees_of_freedom = larger.n_parameters - smaller.n_parameters
    evidence, statistic = larger.evidence, larger.evidence * statistic
    p_value = chdtrc(degrees_of_freedom, max(statistic, 0.0))
    if evidence < 1:
        n, mean_square = evidence * larger.n_answering, max(statistic, 0.0) / degrees_of_freedom
        p_value = fdtrc(degrees_of_freedom, n, mean_square)
    return LikelihoodRatioTest(
        smaller=smaller.model,
        larger=larger.model,
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        p_value=float(p_value),
        log_likelihood_smaller=smaller.log_likelihood,
        log_likelihood_larger=larger.log_likelihood,
        aic_difference=larger.aic - smaller.aic,
        bic_difference=larger.bic - smaller.bic,
        cautions=(*doubts, *_limits(smaller, larger)),
    )


def _check_models(smaller: FitResult, larger: FitResult) -> None:
    """Refuse what is not a pair of nested models, the smaller one first."""
    for name, result in (("smaller", smaller), ("larger", larger)):
        check_type(name, result, FitResult)
    if _RANK[smaller.model] > _RANK[larger.model]:
        raise ValueError(
            "smaller must be the model with fewer parameters, larger the one that contains it; "
            f"got {smaller.model} as smaller and {larger.model} as larger: swap them"
        )
    if smaller.model == larger.model:
        raise ValueError(f"smaller and larger must be different models; both are {larger.model}")
    if _RANK[smaller.model] == _RANK[larger.model]:
        raise ValueError(
            f"smaller and larger must be nested models; {smaller.model} and {larger.model} are "
            "the same model in different units, with equally many parameters: nothing to test"
        )
    if smaller.n_parameters >= larger.n_parameters:
        raise ValueError(
            f"larger must have more parameters than smaller; {smaller.model} and {larger.model} "
            f"of {len(larger.item_labels)} item(s) both have {larger.n_parameters}"
        )


def _check_responses(smaller: FitResult, larger: FitResult) -> None:
    """Refuse fits of different responses, as far as results know what they were fitted to."""
    labels = {"item": smaller.item_labels, "respondent": smaller.respondent_labels}
    for kind, own in labels.items():
        check_same_labels(kind, {"smaller": own, "larger": getattr(larger, f"{kind}_labels")})
    for k in np.flatnonzero(smaller.synthetic != larger.synthetic):
        apart, alike = ("smaller", "larger") if smaller.synthetic[k] else ("larger", "smaller")
        raise ValueError(
            "smaller and larger must treat synthetic respondents the same way; "
            f"{short(labels['respondent'][k])} is one in {apart} and a respondent like any other "
            f"in {alike}"
        )
    rule = "smaller and larger must be fitted to the same responses"
    words = {"responses": "responses", "right": "right responses"}
    for kind, (count, word) in product(labels, words.items()):
        one, other = (getattr(fit.counts, f"{kind}_{count}") for fit in (smaller, larger))
        for k in np.flatnonzero(one != other):
            raise ValueError(
                f"{rule}; {kind} {short(labels[kind][k])} has {one[k]} {word} in smaller "
                f"and {other[k]} in larger"
            )
    known = [fit.responses for fit in (smaller, larger) if fit.responses is not None]
    if len(known) == 2 and known[0] is not known[1] and known[0].cells != known[1].cells:
        raise ValueError(f"{rule}; their counts agree and single responses do not")


def _check_quadrature(smaller: FitResult, larger: FitResult) -> None:
    """Refuse fits on different grids: each fixed one is another distribution of ability."""
    one, other = smaller.settings.quadrature, larger.settings.quadrature
    if one != other:
        shown = [repr(own if isinstance(own, str) else tuple(own)) for own in (one, other)]
        raise ValueError(
            "smaller and larger must be fitted with the same quadrature, or their log-likelihoods "
            f"are not comparable; smaller has {shown[0]} and larger {shown[1]}"
        )


def _check_trials(smaller: FitResult, larger: FitResult) -> None:
    """Refuse fits that count repeated trials for different numbers of independent ones."""
    one, other = (fit.settings.trial_correlation or 0.0 for fit in (smaller, larger))
    if one != other:
        raise ValueError(
            "smaller and larger must count repeated trials alike, or their log-likelihoods are not "
            f"comparable; trial_correlation is {one:.3g} in smaller and {other:.3g} in larger "
            "(fit smaller to responses.with_trial_correlation(larger.settings.trial_correlation))"
        )


def _integration_error(smaller: FitResult, larger: FitResult) -> float:
    """Error of the statistic that comes from integrating over ability on nodes, at most."""
    return 2 * (smaller.quadrature.estimated_error + larger.quadrature.estimated_error)


def _doubts(smaller: FitResult, larger: FitResult, statistic: float) -> Iterator[str]:
    """Why the statistic may not be that of two maxima, each with what to do about it."""
    both = (smaller, larger)
    if with_prior := [fit.model for fit in both if fit.settings.prior is not None]:
        yield (
            f"{_fits(with_prior)} had a prior, and a log-likelihood under a prior is not a "
            "maximum, so that the test is rough and its statistic may even be negative "
            "(fit with prior=None)"
        )
    if smaller.synthetic.any():
        yield (
            "synthetic respondents took part in estimating items and do not count in the "
            "log-likelihoods, which are therefore not maxima (fit without them)"
        )
    if unconverged := [fit.model for fit in both if not fit.converged]:
        yield f"{_fits(unconverged)} did not converge, short of the maximum by an unknown amount"
    if statistic < 0:
        yield (
            f"{larger.model} contains {smaller.model}, and yet its log-likelihood is lower by "
            f"{-statistic / 2:.3g}: it has not reached its maximum"
        )
    error = _integration_error(smaller, larger)
    if error > max(_LEAST_ERROR, _LEAST_SHARE * abs(statistic)):
        fixed = smaller.settings.quadrature != "adaptive"
        yield (
            f"integration over ability may put the statistic off by {error:.2g}"
            + " (fit with quadrature='adaptive')" * fixed
        )


def _limits(smaller: FitResult, larger: FitResult) -> Iterator[str]:
    """What theory says about the p-value even of two maxima."""
    if larger.model == "3PL":
        yield (
            f"{smaller.model} puts guessing at 0, the edge of its range, so that the p-value "
            "is conservative (the exact one is smaller)"
        )
    both = zip(smaller.status, larger.status, strict=True)
    n_odd = sum(not {"no variance", "unbounded"}.isdisjoint(statuses) for statuses in both)
    if n_odd:
        yield (
            f"{n_odd} of {len(larger.status)} items have too little variance for a finite "
            "estimate, for which the chi-square distribution does not hold"
        )
    if larger.evidence < 1 and larger.dependence is not None:
        yield f"{larger.dependence.sentence}: log-likelihoods count {larger.evidence:.2f} times"
    elif larger.n_answering < larger.n_parameters:
        yield (
            "the chi-square distribution is for many respondents, and here are "
            f"{larger.n_answering} for {larger.n_parameters} parameters"
        )


def _fits(models: list[ModelName]) -> str:
    return f"the fit{'s' * (len(models) > 1)} of {' and '.join(models)}"


def _change(difference: float) -> str:
    return f"{'falls' if difference < 0 else 'rises'} by {abs(difference):.1f}"
