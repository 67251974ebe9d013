"""Model comparison by likelihood ratio: whether a model with more parameters fits better.

Rasch (or 1PL) ⊂ 2PL ⊂ 3PL are nested. Twice the difference of their maximal log-likelihoods is
chi-square distributed if the smaller model holds and respondents are many (Wilks 1938).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_type, short
from irtkit.findings import Finding, warn
from irtkit.printed import Printed, Shown, p_words
from irtkit.responses.labels import check_same_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

_RANK = {"Rasch": 0, "1PL": 0, "2PL": 1, "3PL": 2}  # A model contains models of lower rank.


@dataclass(frozen=True)
class _Tuned:
    """How far a statistic may be off (``benchmarks/model_tests.py``)."""

    shortfall: int = 10  # How many times its ``tol`` a converged fit may lie below its maximum.
    answers: int = 40  # Of a respondent, for n_eff degrees of freedom.
    least_error: float = 0.1  # Integration error,
    least_share: float = 0.05  # and its share of the statistic, above which it is said.
    # Error of a log-likelihood of several abilities, by five nodes for each.
    several_error: float = 0.1


_TUNED = _Tuned()


@dataclass(frozen=True)
class LikelihoodRatioTest(Printed):
    """Comparison of two nested models. :func:`irtkit.likelihood_ratio_test` returns it."""

    smaller: str  # Name of the model, such as "2PL" or "2PL, 2 abilities by task".
    larger: str
    statistic: float  # 2 (log L of the larger − log L of the smaller), times ``larger.evidence``.
    degrees_of_freedom: int
    p_value: float
    log_likelihood_smaller: float
    log_likelihood_larger: float
    aic_difference: float  # AIC of the larger model less AIC of the smaller.
    bic_difference: float
    findings: tuple[Finding, ...]  # What keeps the p-value from being exact.

    def shown(self) -> Shown:
        """Return the test, and what keeps it from being exact."""
        numbers = (
            f"{self.larger} against {self.smaller}: statistic {self.statistic:.2f}, "
            f"df {self.degrees_of_freedom}, {p_words(self.p_value)}, "
            f"AIC {self.aic_difference:+.1f}, BIC {self.bic_difference:+.1f}"
        )
        return Shown(findings=[numbers, *self.findings])


def likelihood_ratio_test(smaller: FitResult, larger: FitResult) -> LikelihoodRatioTest:
    """Test a model against one that contains it, both fitted to the same responses.

    Parameters
    ----------
    smaller, larger : FitResult
        Fits of nested models with ``prior=None``, the one with fewer parameters first: Rasch or
        1PL, then 2PL, then 3PL. Rasch and 1PL are the same model in different units. One ability is
        contained in one for each task, and that in as many exploratory ones.

    Returns
    -------
    LikelihoodRatioTest
        Statistic, degrees of freedom, p-value, differences of AIC and BIC, and findings.

    Raises
    ------
    TypeError, ValueError
        If the models are not nested fits, the smaller one first, or if they differ in responses,
        treatment of synthetic respondents, quadrature, or ``trial_correlation``.

    Warns
    -----
    irtkit.findings.IRTWarning
        If a log-likelihood is not a maximum: with the code "test-with-prior",
        "test-with-synthetic", "test-not-converged", "lower-likelihood" or "coarse-integration".

    Notes
    -----
    If near-duplicate respondents are found, the statistic is multiplied by ``larger.evidence``,
    n_eff/n. Its reference is an F distribution (McCullagh & Nelder 1989, section 4.5), whose
    denominator has n_eff · J/40 degrees of freedom with J answers per respondent, since n_eff is
    the better known the more answers there are. Near-duplicates are not found with 10 items, and
    only in part with 15 (``benchmarks/model_tests.py``). The p-value is then too small.
    Guessing at 0, the edge of its range, makes the p-value too large (Self & Liang 1987), and so do
    correlations of 1 between tasks. Exploratory abilities have no such test against fewer of them,
    since slopes of an ability that vanishes can have either sign.

    References
    ----------
    Wilks (1938), *Annals of Mathematical Statistics* 9, 60–62.
    Self & Liang (1987), *Journal of the American Statistical Association* 82, 605–610.

    See Also
    --------
    irtkit.model_fit, irtkit.compare_difficulties

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([0.5, 0.5, 2.0, 2.0], [-1, 0, 0, 1])
    >>> abilities = [k / 125 - 2 for k in range(500)]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1)
    >>> fits = [irtkit.fit(responses, model, prior=None) for model in ("1PL", "2PL")]
    >>> print(irtkit.likelihood_ratio_test(*fits))
    2PL against 1PL: statistic 45.44, df 3, p < 0.001, AIC -39.4, BIC -26.8
    """
    _check_pair(smaller, larger)
    from scipy.special import chdtrc, fdtrc

    difference = 2 * (larger.log_likelihood - smaller.log_likelihood)
    error = sum(2 * fit.quadrature.estimated_error for fit in (smaller, larger) if not fit.several)
    tolerated = error + 1e-12 * abs(smaller.log_likelihood)
    tolerated += 2 * _TUNED.shortfall * larger.settings.tol
    if larger.several is not None:
        tolerated += 4 * _TUNED.several_error
    statistic = difference if difference < -tolerated else max(difference, 0.0)
    findings = tuple(_findings(smaller, larger, statistic, error))
    for finding in findings:
        if finding.severity == "warning":
            warn(finding)
    degrees_of_freedom = larger.n_parameters - smaller.n_parameters
    evidence = larger.evidence
    statistic *= evidence
    p_value = chdtrc(degrees_of_freedom, max(statistic, 0.0))
    if evidence < 1:
        # repeated trials of a cell are one answer, as near-duplicates take them
        answers = np.minimum(larger.counts.item_responses, larger.n_answering)
        freedom_of_n = evidence * float(answers.sum()) / _TUNED.answers
        mean_square = max(statistic, 0.0) / degrees_of_freedom
        p_value = fdtrc(degrees_of_freedom, freedom_of_n, mean_square)
    return LikelihoodRatioTest(
        smaller=_name(smaller),
        larger=_name(larger),
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        p_value=float(p_value),
        log_likelihood_smaller=smaller.log_likelihood,
        log_likelihood_larger=larger.log_likelihood,
        aic_difference=larger.aic - smaller.aic,
        bic_difference=larger.bic - smaller.bic,
        findings=findings,
    )


def _check_pair(smaller: FitResult, larger: FitResult) -> None:
    """Refuse all but a pair of nested models, the smaller first, of the same responses.

    Settings must be the same too. Responses are compared as far as results know them.
    """
    for name, result in (("smaller", smaller), ("larger", larger)):
        require("likelihood_ratio_test", result)
        check_type(name, result, FitResult)
    of_larger, of_smaller = (_RANK.get(fit.model, np.nan) for fit in (larger, smaller))
    if larger.several is None:
        nested = smaller.several is None and of_smaller < of_larger  # NaN of ordered levels
    elif larger.structure == "task":
        nested = smaller.several is None and of_smaller <= of_larger
    else:
        by_task = smaller.several is not None and smaller.structure == "task"
        free = larger.structure == "exploratory" and smaller.n_abilities == larger.n_abilities
        nested = by_task and free
    exact = larger.several is None or larger.several.log_likelihood_by == "quadrature"
    if not (nested and exact) or smaller.n_parameters >= larger.n_parameters:
        raise ValueError(
            "smaller and larger must be nested models, the one with fewer parameters first: Rasch "
            "or 1PL (the same model in different units), then 2PL, then 3PL, or one ability, then "
            "abilities='task', then as many exploratory ones. Got "
            f"{_name(smaller)} with {smaller.n_parameters} parameters as smaller and "
            f"{_name(larger)} with {larger.n_parameters} as larger"
        )
    labels = {"item": smaller.item_labels, "respondent": smaller.respondent_labels}
    for kind, of_kind in labels.items():
        check_same_labels(kind, {"smaller": of_kind, "larger": getattr(larger, f"{kind}_labels")})
    rule = "smaller and larger must be fitted to the same responses"
    for k in np.flatnonzero(smaller.synthetic != larger.synthetic):
        raise ValueError(f"{rule}: {short(labels['respondent'][k])} is synthetic in one of them")
    counts = larger.counts
    differs = smaller.counts.item_responses != counts.item_responses
    differs |= smaller.counts.item_right != counts.item_right
    for k in np.flatnonzero(differs):
        raise ValueError(f"{rule}: responses to item {short(labels['item'][k])} differ")
    both_saved = smaller.responses is not None and larger.responses is not None
    if both_saved and smaller.saved_responses.cells != larger.saved_responses.cells:
        raise ValueError(f"{rule}: their counts agree and single responses do not")
    for name, remedy in (
        ("quadrature", "quadrature="),
        ("trial_correlation", "responses.with_trial_correlation()"),
    ):
        of_smaller, of_larger = (getattr(fit.settings, name) or 0.0 for fit in (smaller, larger))
        if of_smaller != of_larger:
            raise ValueError(
                f"smaller and larger must be fitted with the same {name}. smaller has "
                f"{of_smaller!r} and larger {of_larger!r}. {remedy} sets it"
            )


def _name(fit: FitResult) -> str:
    """The model of a fit, with its abilities if there are several."""
    if fit.several is None:
        return fit.model
    by = " by task" if fit.structure == "task" else ""
    return f"{fit.model}, {fit.n_abilities} abilities{by}"


def _findings(
    smaller: FitResult, larger: FitResult, statistic: float, error: float
) -> Iterator[Finding]:
    """Why the two fits may not be at a maximum, and what theory says of the p-value."""
    both = (smaller, larger)
    if models := [_name(fit) for fit in both if fit.settings.prior is not None]:
        yield Finding("test-with-prior", "warning", {"models": models})
    if smaller.synthetic.any():
        yield Finding("test-with-synthetic", "warning")
    if models := [_name(fit) for fit in both if not fit.converged]:
        yield Finding("test-not-converged", "warning", {"models": models})
    if statistic < 0:
        names = {"smaller": _name(smaller), "larger": _name(larger)}
        yield Finding("lower-likelihood", "warning", {**names, "off": -statistic / 2})
    if error > max(_TUNED.least_error, _TUNED.least_share * abs(statistic)):
        better = None if smaller.settings.quadrature == "adaptive" else "adaptive"
        yield Finding("coarse-integration", "warning", {"error": error, "quadrature": better})
    if larger.model == "3PL":
        yield Finding("guessing-at-edge", "note", {"smaller": smaller.model})
    if larger.several is not None and smaller.several is None:
        yield Finding("correlations-at-edge", "note")
    statuses = zip(smaller.status, larger.status, strict=True)
    if n := sum(not {"no variance", "unbounded"}.isdisjoint(status) for status in statuses):
        yield Finding("few-finite-items", "note", {"n": n, "of": len(larger.status)})
    if larger.evidence < 1:
        duplicates = larger.near_duplicates
        values = {"n": duplicates.n, "n_eff": round(duplicates.n_eff)}
        yield Finding("weighted-evidence", "note", {**values, "evidence": larger.evidence})
    elif larger.n_answering < larger.n_parameters:
        values = {"n": larger.n_answering, "n_parameters": larger.n_parameters}
        yield Finding("few-for-parameters", "note", values)
