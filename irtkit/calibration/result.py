"""What a fit returns: numbers, tables of items and respondents, and a file of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.calibration.composites import along, composite_of_all, composite_of_each
from irtkit.capabilities import LEVELS, MARKS, NO_GUESSING, ONE, SEVERAL, UNSAVED, require
from irtkit.checks import as_numbers, check_one_of, counted
from irtkit.data.limits import Components
from irtkit.data.near_duplicates import NearDuplicates
from irtkit.data.patterns import Counts, patterns_of
from irtkit.data.slopes import slope_signs
from irtkit.files import as_path
from irtkit.findings import Finding
from irtkit.irf import ItemParameters
from irtkit.printed import Printed

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.calibration.variational.posterior import Posterior
    from irtkit.data.patterns import Mask, Patterns, Places
    from irtkit.data.slopes import SlopeSigns
    from irtkit.irf import Array, ModelName
    from irtkit.responses import ResponseMatrix

FORMAT = storage.Format("irtkit result", 12)
RESULT_FILE = "result.npz"  # Name of a saved result in the folder that `irtkit fit --out` wrote.
AT_CHANCE = "systems-at-chance"  # Code of the finding that is shown before any ranking.


@dataclass(frozen=True)
class Settings:
    """Arguments of a fit, ``result.settings``. A field that does not apply to the fit is None."""

    prior: Any  #: As the argument gave it. In a result: plain values with all that was learned.
    seed: int
    quadrature: str | list[float]  #: "adaptive", or [nodes, limit].
    standard_errors: bool
    tol: float
    max_iterations: int
    trial_correlation: float | None = None
    """Correlation of repeated trials of a cell, given ability and item, as given or estimated: n
    trials count for n/(1 + (n − 1) · trial_correlation), and a score between 0 and 1 for
    1/trial_correlation."""
    devices: int | None = None  #: Devices of the mesh.
    batch: int | None = None  #: Respondents of a variational step, if not all.
    synthetic_ability_sd: float | None = None  #: SD of ability among synthetic respondents.
    metrics: dict[str, Any] | None = None
    """Of the column quality_standard: "higher_is_better" and "weights" by metric, "scale", and
    "constant", metrics that are the same for all items and have no weight."""

    def to_dict(self) -> dict[str, Any]:
        """Return the prior, and all that is not None."""
        stated = vars(self).items()
        return {name: value for name, value in stated if value is not None or name == "prior"}


@dataclass(frozen=True)
class Quadrature:
    """The grid over which ability was integrated."""

    n_nodes: int
    lowest: float  #: First node, in units of ability.
    highest: float
    estimated_error: float
    """Absolute difference between the log-likelihood on this grid and on an adaptive one twice as
    dense as it needs to be, over all real respondents together."""


@dataclass(frozen=True)
class Anchors:
    """What a fit says of the items that kept the parameters of an earlier one."""

    fixed: Mask  #: Which items kept their parameters, (n_items,).
    drift_z: Array
    """z of the change of each of them: above 0 if the item became easier."""
    drifts: Mask  #: Which of them differ significantly from their parameters.
    mean_se: float | None = None
    """Standard error of the mean of ability; None without standard errors. It includes the sampling
    errors of fixed items that came from a result."""
    sd_se: float | None = None  #: That of the SD of ability.


if TYPE_CHECKING:
    from irtkit.results import Questions
else:

    class Questions:
        """What `irtkit.results` adds to results: answers of rooms above this one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult(Questions, Printed):
    """A fitted item response model; made by :func:`irtkit.fit`.

    Ability has mean 0 and SD 1 in the population of real respondents (SD ``latent_sd`` for Rasch)
    and rises with the proportion right; posterior means spread less. All arrays are in the order of
    ``item_labels`` and ``respondent_labels``.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix(
    ...     [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], items=["a", "b", "c"]
    ... )
    >>> result = irtkit.fit(responses, "1PL")
    >>> result.items["average_error"].to_dict()
    {'a': 0.25, 'b': 0.25, 'c': 0.75}
    >>> bool(result.items.loc["c", "difficulty"] > result.items.loc["a", "difficulty"])
    True
    """

    model: ModelName
    settings: Settings  #: The arguments of the fit, and what followed from them.
    parameters: ItemParameters
    standard_errors: Array
    """Shape (n_items, 4): of discrimination, difficulty, guessing and intercept; with ordered
    levels also of each threshold; with several abilities (n_items, n_abilities + 1): of slopes and
    intercept. NaN if not asked for, without such a parameter, or if the objective is not concave
    (see ``findings``)."""
    status: tuple[str, ...]
    """Per item: "ok", "flat" (the slope is not significant, and less than a third of the median one
    if respondents differ by more than chance), "no variance", "unbounded" or "no responses"."""
    ability: Array
    """Posterior means (EAP), shape (n_respondents,), or (n_respondents, n_abilities)."""
    posterior_sd: Array  #: Posterior SDs, shape of ``ability``, items taken as known.
    synthetic: Mask
    near_duplicates: NearDuplicates = field(repr=False)
    """How many real respondents there are, and as how many independent ones they answer."""
    counts: Counts
    n_parameters: int
    """Those of items with a response by a real respondent, and a common slope or latent SD."""
    quadrature: Any  #: :class:`Quadrature`; None for several abilities.
    latent_sd: float = 1.0  #: SD of ability among real respondents: 1, and estimated for Rasch.
    latent_mean: float = 0.0
    """Mean of ability among real respondents: 0, but on the scale of ``fixed`` items."""
    anchors: Anchors | None = field(default=None, repr=False)
    """Items that kept the parameters of an earlier fit; None if none did."""
    dispersion: Array | None = field(default=None, repr=False)
    """Variance of the scores of every item, in that which the trial correlation says, (n_items,);
    NaN for items of right and wrong, None if all are. It enters standard errors."""
    item_covariance: ItemCovariance | None = field(default=None, repr=False)
    """Covariance of all item parameters, without a correction for near-duplicates; of EM."""
    ability_errors: Array | None = field(default=None, repr=False)
    """Errors without clusters of items: against the population and against the other systems,
    (2, n_respondents). None until they are asked for."""
    posterior: Posterior | None = field(default=None, repr=False)
    """The posterior of a variational fit, to draw from; None for EM."""
    method: str
    item_labels: tuple[str, ...]
    respondent_labels: tuple[str, ...]
    log_likelihood: float
    """Marginal log-likelihood of the real respondents, without priors.

    Repeated trials have no binomial coefficients. If ``settings.trial_correlation`` is above 0, or
    a cell has more than 100,000 trials, it is a quasi-log-likelihood, to be compared at the same
    correlation. On a fixed grid ability has a truncated normal distribution.
    """
    converged: bool
    n_iterations: int
    """Evaluations of the likelihood ("em"), each of the cost of an EM step, or steps ("vi")."""
    trace_rows: Array = field(repr=False)
    """Shape (n, 4): evaluations so far, nodes, log-likelihood, largest change in a full step from
    there; (n, 6) for a variational fit, see :attr:`trace`."""
    responses: ResponseMatrix | None = field(repr=False)
    """The matrix the model was fitted to; None if it was left out when saving."""
    findings: tuple[Finding, ...] = ()
    """What limits the result: codes and values; ``str(finding)`` is the message."""
    components: Components | None = field(default=None, repr=False)
    """Which respondents and items are linked by responses that place them; None if all are."""
    quality_standard: Array | None = field(default=None, repr=False)
    """Kolena's score of every item by further metrics, NaN where it has none; None without them."""
    cluster_variance: Array | None = field(default=None, repr=False)
    """What clusters of items add to posterior variances, (n_respondents,)."""
    saved_p_negative: Array | None = field(default=None, repr=False)
    """`p_negative` of a result that was read from a file, or of one with several abilities."""
    several: Any = field(default=None, repr=False)
    """Of several abilities, :class:`irtkit.abilities.result.SeveralAbilities`; None for one."""

    @cached_property
    def answering(self) -> Mask:
        """Which real respondents have a response, (n_respondents,)."""
        return ~self.synthetic & (self.counts.respondent_responses > 0)

    @property
    def correlation_by_item(self) -> Any:
        """Correlation of trials: one for all items, or one for each, 0 for levels."""
        correlation = self.settings.trial_correlation or 0.0
        if self.parameters.steps is None:
            return correlation
        return correlation * (self.parameters.top == 1)

    @property
    def traits(self) -> frozenset[str]:
        """Traits that some functions have no meaning for, see `irtkit.capabilities`."""
        of_fit = {MARKS if self.parameters.steps is None else LEVELS}
        of_fit.add(ONE if self.several is None else SEVERAL)
        if self.model != "3PL":
            of_fit.add(NO_GUESSING)
        if self.responses is None:
            return frozenset({UNSAVED, *of_fit})
        return self.responses.traits - {LEVELS} | of_fit

    @property
    def saved_responses(self) -> ResponseMatrix:
        """The responses of the fit. Raises an error if they were not saved."""
        require("patterns", self)
        return self.responses  # type: ignore[return-value]

    @property
    def n_abilities(self) -> int:
        """Number of abilities, a general one included."""
        return 1 if self.several is None else len(self.several.names)

    @property
    def ability_names(self) -> tuple[str, ...]:
        """Names of abilities: numbers, or tasks."""
        return ("1",) if self.several is None else tuple(self.several.names)

    @property
    def structure(self) -> str | None:
        """Of several abilities, "exploratory", "task" or "bifactor"; None of one."""
        return None if self.several is None else str(self.several.structure)

    @property
    def overall(self) -> Array:
        """What orders the respondents: ability, or expected score if there are several."""
        return self.ability if self.several is None else self._scores[0]

    @cached_property
    def _scores(self) -> Any:
        """Expected shares right of all items, and their errors by missing answers."""
        return self.several.scores(self)

    @property
    def ability_correlation(self) -> Array:
        """Correlations Φ of abilities in the population, (n_abilities, n_abilities)."""
        return np.eye(1) if self.several is None else np.asarray(self.several.fitted.correlations)

    @property
    def ability_covariance(self) -> Array:
        """Posterior covariances with items taken as known, (n_respondents, K, K)."""
        if self.several is None:
            return self.posterior_sd[:, None, None] ** 2
        return self.several.fitted.ability_covariance

    @cached_property
    def own_weights(self) -> Array:
        """Weights of abilities in the composite that each item measures, (n_items, K)."""
        return composite_of_each(self.parameters, self.ability_correlation)

    @cached_property
    def own_items(self) -> ItemParameters:
        """Every item along the composite that it measures: items of one ability each."""
        return self.items_along(self.own_weights)

    def items_along(self, weights: Array) -> ItemParameters:
        """Items along a composite of abilities, (K,), or along one each, (n_items, K)."""
        return along(self.parameters, weights @ self.ability_correlation)

    def abilities_along(self, weights: Array) -> Array:
        """Posterior means of a composite, (n_respondents,), or of several by row."""
        ability = self.ability.reshape(len(self.ability), -1)
        return ability @ weights.T

    def errors_along(self, weights: Array) -> Array:
        """Errors of a composite against the other systems, (n_respondents,)."""
        wider = (self.board_se / self.posterior_sd).reshape(len(self.ability), -1)
        scaled = wider * weights
        variance = np.einsum("ni,nij,nj->n", scaled, self.ability_covariance, scaled)
        return np.sqrt(variance)

    def weights_of(self, name: str | None = None) -> Array:
        """Weights of a named ability, (K,), or of the composite that all items measure together."""
        if name is None:
            return composite_of_all(self.parameters, self.ability_correlation)
        check_one_of("ability", name, self.ability_names)
        return np.eye(self.n_abilities)[self.ability_names.index(name)]

    def expected(self, rows: Any, items: Any) -> Array:
        """P(right) of some respondents on some items, both by place; NaN where it is unknown."""
        return self.parameters.chosen(items).probability(self.ability[rows])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of the findings that are warnings; :func:`irtkit.fit` gave each once."""
        return tuple(str(finding) for finding in self.findings if finding.severity == "warning")

    @property
    def one_ability_doubted(self) -> bool:
        """Whether a finding says that items measure a further ability."""
        return any(
            finding.code in {"further-ability", "ability-not-accuracy"}
            or (finding.code == AT_CHANCE and "n_options" in finding.values)
            for finding in self.findings
        )

    @cached_property
    def at_chance(self) -> tuple[str, ...]:
        """Respondents that score no better than guessing, if a finding names them."""
        named = (
            finding.values["systems"] for finding in self.findings if finding.code == AT_CHANCE
        )
        return tuple(next(named, ()))

    @property
    def n_real(self) -> int:
        """Number of respondents that are not synthetic."""
        return int((~self.synthetic).sum())

    @property
    def latent_mean_se(self) -> float | None:
        """Standard error of latent_mean; None without ``fixed`` items or standard errors."""
        return None if self.anchors is None else self.anchors.mean_se

    @property
    def latent_sd_se(self) -> float | None:
        """Standard error of latent_sd; None without ``fixed`` items or standard errors."""
        return None if self.anchors is None else self.anchors.sd_se

    @cached_property
    def best_first(self) -> Places:
        """Places of these from the best, or by accuracy if systems at chance distort ability."""
        value = self.counts.accuracy if self.at_chance else self.overall
        who = np.flatnonzero(self.answering)
        return who[np.argsort(-value[who], kind="stable")]

    @property
    def n_answering(self) -> int:
        """Number of real respondents with a response."""
        return int(self.answering.sum())

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of every item, by label."""
        return {label: k for k, label in enumerate(self.item_labels)}

    @cached_property
    def patterns(self) -> Patterns:
        """The responses of the fit. Raises an error if they were not saved."""
        return patterns_of(self.saved_responses, synthetic_is_real=False)

    @cached_property
    def alike(self) -> pd.Series[float]:
        """Numbers, index "item", that items with identical responses have in common.

        All different if the responses were not saved.
        """
        import pandas as pd

        numbers = np.arange(len(self.item_labels), dtype=np.float64)
        if self.responses is not None:
            numbers = self.patterns.column_keys(np.random.default_rng(0))
        return pd.Series(numbers, pd.Index(self.item_labels, name="item"))

    @property
    def ability_se(self) -> Array:
        """Errors of abilities against the population, with the uncertainty of the items."""
        return self._with_clusters(self._ability_errors[0])

    @property
    def board_se(self) -> Array:
        """Errors of abilities against the other systems: location and scale cancel."""
        return self._with_clusters(self._ability_errors[1])

    @property
    def reliability(self) -> Any:
        """Share of the variance of estimated abilities that is due to ability.

        1 less the mean of board_se² over the variance of ability: an error that all systems share
        leaves their differences as they are. With several abilities an array, one for each.
        """
        if self.several is not None:
            return self.several.reliability(self)
        errors = self.board_se[self.answering] / self.latent_sd
        return max(0.0, float(1 - np.mean(errors**2)))

    def _with_clusters(self, errors: Array) -> Array:
        added = self.cluster_variance
        return errors if added is None else np.sqrt(errors**2 + added)

    @cached_property
    def _ability_errors(self) -> Array:
        from irtkit.calibration.errors import ability_errors

        if self.ability_errors is not None:
            return self.ability_errors
        if self.item_covariance is None:
            return np.stack([self.posterior_sd] * 2)
        return ability_errors(self, self.item_covariance, self.patterns)

    @property
    def items(self) -> pd.DataFrame:
        """Table of items by label, a copy.

        - discrimination, difficulty, guessing, intercept, each followed by its standard error
          (``_se``). NaN if neither responses nor a prior inform about the item. With several
          abilities they are along the composite of abilities that the item measures: MDISC =
          √(a'Φa) and MDIFF = −intercept/MDISC (Reckase 1985), with slopes a and correlations Φ of
          abilities. MDISC is below 0 if the item falls with the sum of abilities.
        - ability: of several, the one with the largest weight in what the item measures.
        - discrimination_<name>: slope of each of several abilities. A slope that the item may not
          have is 0, with an error of NaN.
        - threshold_1, …: after a fit of the GPCM or GRM, each with its ``_se``, whose mean is the
          difficulty. NaN if the item does not have the level or nobody reached it.
        - average_error: share of the observed real respondents that got the item wrong.
        - expected_error: the same share in the population, as the model expects it.
        - quality_standard: after :meth:`with_quality_standard`.
        - n_responses: by real respondents. Every repeated trial counts, as in average_error.
        - p_negative: probability that the slope is below 0, from the responses alone
          (:func:`irtkit.flag_items`). It is the same for every model.
        - status: "ok", "flat", "no variance", "unbounded" or "no responses".
        - dispersion: with scores between 0 and 1. How much those of the item vary about the model,
          as a variance in units of the common one. NaN for items of right and wrong.
        - fixed, drift_z, drifts: after a fit with ``fixed``. z is above 0 if the item became
          easier; whether it did change (:func:`irtkit.drift`).
        - kind: after a fit of the GPCM or GRM, "binary", "levels", "fraction" or "counts".
        - component: if too few responses link groups of respondents and items. 1 has the most
        respondents, and 0 means without a linking response.
        """
        return self._items.copy()

    @property
    def respondents(self) -> pd.DataFrame:
        """Table of respondents by label, a copy.

        - ability: posterior mean (EAP). With several abilities ability_<name> of each, with its
          ``_se``, and expected_score: share right of all items, missing answers as the model
          expects them.
        - ability_se: error against the population, for intervals of one ability.
        - board_se: error against the other systems, for differences and ranks.
        - posterior_sd: error with the items taken as known. The other two include the uncertainty
          of items that are not fixed. Without standard errors of items all three are the same, and
          by "vi" they are the SD of a posterior that contains the items.
        - accuracy: proportion correct of the responses, NaN without responses.
        - n_responses: every repeated trial counts.
        - synthetic: whether the respondent is synthetic.
        - component: as in :attr:`items`, 0 for synthetic respondents. Abilities of different
          components cannot be compared.
        """
        import pandas as pd

        if self.several is None:
            names = ("ability", "ability_se", "board_se", "posterior_sd")
            columns = {name: getattr(self, name) for name in names}
        else:
            columns = dict(self.several.ability_columns(self.ability, self.ability_se))
        columns["accuracy"] = self.counts.accuracy
        if self.several is not None:
            columns["expected_score"] = self.overall
        columns["n_responses"] = self.counts.respondent_responses
        columns["synthetic"] = self.synthetic
        if self.components is not None:
            columns["component"] = self.components.respondents
        return pd.DataFrame(columns, index=pd.Index(self.respondent_labels, name="respondent"))

    @cached_property
    def answer_worth(self) -> Array:
        """Independent trials of right or wrong that one answer to each item is worth, (n_items,).

        One answer to an item of ordered levels counts as 1. Without responses the worth of repeated
        trials is unknown, and taken as 1.
        """
        worth = np.ones(len(self.item_labels))
        if self.responses is None:
            if self.dispersion is not None:
                worth[~np.isnan(self.dispersion)] /= self.settings.trial_correlation or 1.0
            return worth
        weighed = self.patterns.with_trial_correlation(self.correlation_by_item)
        trials = weighed.response_sums(self.answering.astype(np.float64))
        np.divide(trials, self.n_answers, out=worth, where=self.n_answers > 0)
        return worth / self.parameters.top

    @cached_property
    def n_answers(self) -> Array:
        """Number of real respondents that answered each item; repeated trials count once."""
        single = self.patterns.with_trial_correlation(1.0)
        return single.response_sums(self.answering.astype(np.float64))

    @cached_property
    def _items(self) -> pd.DataFrame:
        import pandas as pd

        columns: dict[str, Any] = {}
        parameters = self.parameters
        kinds = None
        if self.several is not None:
            columns |= self.several.item_columns(self)
        else:
            names = ("discrimination", "difficulty", "guessing", "intercept")
            values = {name: getattr(parameters, name) for name in names}
            if parameters.steps is not None:
                for k, threshold in enumerate(parameters.thresholds.T):
                    values[f"threshold_{k + 1}"] = threshold
            for (name, value), errors in zip(values.items(), self.standard_errors.T, strict=True):
                columns[name] = value
                columns[f"{name}_se"] = errors
        if parameters.steps is not None:
            kinds = np.where(parameters.top > 1, "levels", "binary").astype(object)
            if self.responses is not None:
                repeated = np.asarray(self.responses.trials).max(axis=0) > 1
                kinds[(kinds == "binary") & repeated] = "counts"
            if self.dispersion is not None:
                kinds[~np.isnan(self.dispersion)] = "fraction"
        anchors = self.anchors
        columns |= {
            "average_error": self.counts.average_error,
            "expected_error": self.own_items.expected_error(self.latent_sd, self.latent_mean),
            "quality_standard": self.quality_standard,
            "n_responses": self.counts.item_responses,
            "p_negative": self.p_negative,
            "status": np.array(self.status, dtype=object),
            "dispersion": self.dispersion,
            "fixed": anchors and anchors.fixed,
            "drift_z": anchors and anchors.drift_z,
            "drifts": anchors and anchors.drifts,
            "component": self.components and self.components.items,
            "kind": kinds,
        }
        filled = {name: values for name, values in columns.items() if values is not None}
        return pd.DataFrame(filled, index=pd.Index(self.item_labels, name="item"))

    @property
    def trace(self) -> pd.DataFrame:
        """One row per accepted step: step, nodes, log_likelihood, change.

        Step counts the evaluations so far. Change is the largest change of a parameter that a full
        step would make. A variational fit has the expected log-likelihood under the posterior, the
        root mean square step of posterior means in posterior SDs as change, and the column elbo.
        """
        import pandas as pd

        columns = ["step", "nodes", "log_likelihood", "change", "elbo"]
        frame = pd.DataFrame(self.trace_rows, columns=columns[: self.trace_rows.shape[1]])
        return frame.astype({"step": int, "nodes": int})

    @property
    def elbo(self) -> float | None:
        """Evidence lower bound of a variational fit, in nats; None for EM."""
        return None if self.posterior is None else self.posterior.elbo

    @property
    def evidence(self) -> float:
        """Weight s of the log-likelihood in AIC, BIC and likelihood-ratio tests.

        1, or less where near-duplicate respondents are found.
        """
        return self.near_duplicates.share

    @property
    def aic(self) -> float:
        """Akaike's criterion, −2 s log L + 2 k. Lower is better.

        s is :attr:`evidence`: 1, or less where respondents are near-duplicates (a quasi-AIC). The
        criterion supposes that L is a maximum and all k parameters are free. A prior violates
        both, so compare fits with ``prior=None``.
        """
        return -2 * self.evidence * self.log_likelihood + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Bayesian criterion, −2 s log L + k log(s n). Lower is better.

        n is the number of real respondents with a response. For the rest see :attr:`aic`.
        """
        n = self.evidence * self.n_answering
        penalty = self.n_parameters * np.log(n)
        return float(penalty - 2 * self.evidence * self.log_likelihood)

    def probability(self, abilities: ArrayLike | pd.Series[float] | None = None) -> pd.DataFrame:
        """P(right) of respondents (rows) on items (columns).

        Parameters
        ----------
        abilities : array, Series or DataFrame, optional
            Shape (n,), or a Series whose index labels the rows; with several abilities (n,
            n_abilities) or a DataFrame. Default: the fitted abilities, of several averaged over
            their posteriors and the errors of items.

        Examples
        --------
        >>> import irtkit
        >>> result = irtkit.fit(irtkit.ResponseMatrix([[1, 0], [1, 1], [0, 0]]), "1PL")
        >>> result.probability([0.0]).shape
        (1, 2)
        """
        import pandas as pd

        given: Any = abilities
        items = pd.Index(self.item_labels, name="item")
        if given is None:
            rows: Any = pd.Index(self.respondent_labels, name="respondent")
            several = self.several
            p = (
                self.expected(slice(None), slice(None))
                if several is None
                else several.probability()
            )
            return pd.DataFrame(p, index=rows, columns=items)
        theta = as_numbers("abilities", given)
        shape = (len(theta), self.n_abilities) if self.several is not None else (theta.size,)
        if theta.shape != shape or not np.isfinite(theta).all():
            raise ValueError(
                f"abilities must be finite numbers, {self.n_abilities} for each system, got "
                f"shape {theta.shape}"
            )
        rows = given.index if isinstance(given, pd.Series | pd.DataFrame) else None
        return pd.DataFrame(self.parameters.probability(theta), index=rows, columns=items)

    def category_probability(self, abilities: ArrayLike | None = None) -> Array:
        """Probability of every level, (n_abilities, n_items, n_levels), after a GPCM or GRM.

        Parameters
        ----------
        abilities : array, optional
            Shape (n,). Default: the fitted abilities.

        Examples
        --------
        >>> import irtkit
        >>> result = irtkit.fit([[0, 0], [0, 1], [1, 2], [2, 1], [2, 2]] * 20, "GPCM")
        >>> result.category_probability([0.0]).shape
        (1, 2, 3)
        """
        require("result.category_probability", self)
        theta = self.ability if abilities is None else as_numbers("abilities", abilities)
        return self.parameters.category_probability(theta)

    def save(self, path: str | PathLike[str], *, include_responses: bool = True) -> None:
        """Write the result to one file, to be read back with :func:`irtkit.load`.

        The file is a NumPy ``.npz`` archive without pickled objects. It appears whole or not at
        all. With ``include_responses=False`` the response matrix is left out.
        """
        record = {**storage.fields_of(self), "responses": None, "saved_p_negative": self.p_negative}
        record["ability_errors"] = self._ability_errors
        if include_responses and self.responses is not None:
            record["responses"] = storage.stored_responses(self.responses)
        if self.posterior is not None:
            record["posterior"] = self.posterior.stored()
        storage.write(path, FORMAT, record)

    @cached_property
    def signs(self) -> SlopeSigns:
        """Evidence on the signs of slopes. Raises an error if responses were not saved."""
        patterns = self.patterns
        if patterns.scored is not None:
            patterns = patterns.with_trial_correlation(self.correlation_by_item)
        return slope_signs(patterns, self.evidence)

    @property
    def p_negative(self) -> Array:
        """Probability that each slope is negative, NaN if it was not saved."""
        if self.saved_p_negative is not None:
            return self.saved_p_negative
        if self.responses is None:
            return np.full(len(self.item_labels), np.nan)
        return self.signs.p_negative

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        model: str = self.model
        if self.several is not None:
            model = f"{model}, {self.structure}, {self.n_abilities} abilities"
        n = counted(self.n_real, "system")
        n_items = counted(len(self.item_labels), "item")
        return f"FitResult({model}, {n} × {n_items}, {state})"


def read_result(path: str | PathLike[str]) -> FitResult:
    """Read a fit with one ability."""
    return storage.read(saved_in(path), FORMAT, restored)


def saved_in(path: str | PathLike[str]) -> Path:
    """Return the saved result in a folder that holds one, else the path."""
    given = as_path(path)
    inner = given / RESULT_FILE
    return inner if inner.is_file() else given


def is_saved(path: str | PathLike[str]) -> bool:
    """Whether a path holds a saved result."""
    saved = saved_in(path)
    return saved.is_file() and storage.name_of(saved) == FORMAT.name


def restored(record: dict[str, Any], several: Callable[[Any], Any] | None = None) -> FitResult:
    """Rebuild a result. Its tables refuse parts that differ in length.

    ``several`` rebuilds the part of several abilities. Without it, such a result is refused.
    """
    from irtkit.calibration.standard_errors import ItemCovariance

    labels = {name: record[name] for name in ("respondent_labels", "item_labels")}
    made = storage.with_parts(
        record,
        settings=Settings,
        parameters=ItemParameters,
        counts=Counts,
        quadrature=Quadrature,
        near_duplicates=NearDuplicates,
        components=Components,
        anchors=Anchors,
        item_covariance=ItemCovariance,
    )
    made["findings"] = tuple(map(Finding.restored, record["findings"]))
    if record["several"] is not None:
        if several is None:
            raise ValueError("the result has several abilities. Fit the data with abilities=1")
        made["several"] = several(record["several"])
    if record["responses"] is not None:
        made["responses"] = storage.restored_responses(record["responses"], *labels.values())
    if record["posterior"] is not None:
        from irtkit.calibration.variational.posterior import Posterior

        shared = {**labels, "synthetic": record["synthetic"]}
        made["posterior"] = Posterior.restored(record["posterior"], **shared)
    result = FitResult(**made)
    _ = result.items, result.respondents
    return result
