"""What a result of several abilities also holds: loadings, posteriors and tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.abilities.bank import ability_columns, expected_score, restored_fit
from irtkit.abilities.engine import probabilities
from irtkit.calibration.result import FORMAT, FitResult, saved_in
from irtkit.calibration.result import restored as restored_result
from irtkit.irf import Z95, ItemParameters, outer
from irtkit.printed import shortened

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.abilities.engine import Fitted
    from irtkit.calibration.result import Settings
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

_NAMED, _LABEL = 3, 20  # Items and respondents named for an ability, and columns of a name.


@dataclass(frozen=True, eq=False)
class SeveralAbilities:
    """Part of a result with several abilities, ``result.several``.

    logit P(right) = Σ discrimination · ability + intercept. Every ability has mean 0 and SD 1 in
    the population, and rises with its slopes.
    """

    structure: str  #: "exploratory", "task" (each item measures one ability) or "bifactor".
    names: tuple[str, ...]  #: Numbers, or tasks; of a bifactor model "general" first.
    tasks: tuple[str, ...] | None  #: Task of each item, None if unknown.
    fitted: Fitted = field(repr=False)  #: Posteriors of abilities and items, as arrays.
    correlation_se: NDArray[np.float64] = field(repr=False)  #: (K, K), NaN if not estimated.
    log_likelihood_by: str  #: "quadrature" or "Laplace".

    @property
    def free_axes(self) -> bool:
        """Whether each item may measure each ability, so that the axes are a choice."""
        return self.fitted.design.free

    def item_columns(self, result: FitResult) -> dict[str, Any]:
        """MDISC and MDIFF, slope of every ability and intercept, each with its error."""
        items = result.own_items
        own_errors = np.full((2, items.n_items), np.nan)
        if result.item_covariance is not None:  # by the delta method
            rise = result.own_weights @ result.ability_correlation
            slope = items.discrimination[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                by_slopes = rise * items.intercept[:, None] / slope
                by_parameters = np.pad(by_slopes, ((0, 0), (0, 1)), constant_values=-1.0)
                by_difficulty = by_parameters / slope
            gradients = np.stack([np.pad(rise, ((0, 0), (0, 1))), by_difficulty])
            covariance = result.item_covariance.of_items()
            own_errors = np.sqrt(np.einsum("gji,jik,gjk->gj", gradients, covariance, gradients))
        measured = np.abs(result.own_weights).argmax(axis=1)
        columns: dict[str, Any] = {
            "ability": np.array(self.names, dtype=object)[measured],
            "discrimination": items.discrimination,
            "discrimination_se": own_errors[0],
            "difficulty": items.difficulty,
            "difficulty_se": own_errors[1],
        }
        names = [*(f"discrimination_{name}" for name in self.names), "intercept"]
        for k, name in enumerate(names):
            columns[name] = self.fitted.items.mean[:, k]
            columns[f"{name}_se"] = result.standard_errors[:, k]
        return columns

    def ability_columns(self, ability: Array, errors: Array) -> dict[str, Array]:
        """Every ability with its error."""
        return ability_columns(self.names, ability, errors)

    def probability(self) -> Array:
        """P(right) of the respondents, averaged over their posteriors and the errors of items."""
        return probabilities(self.fitted.respondents, self.fitted.known_items)

    def scores(
        self, result: FitResult, chosen: NDArray[np.intp] | slice = slice(None)
    ) -> tuple[Array, Array]:
        """Expected shares right of some items, and their errors by missing answers."""
        shape = len(self.fitted.ability), len(self.fitted.items.mean)
        right, trials = np.zeros((2, *shape))
        if result.responses is not None:
            right, trials = result.patterns.dense()
        right = right[:, chosen]
        trials = trials[:, chosen]
        items = self.fitted.known_items.chosen(chosen)
        return expected_score(right, trials, self.fitted.respondents, items)

    def table(self, result: FitResult) -> pd.DataFrame:
        """Table of abilities by name: what measures them, and who has most of each."""
        import pandas as pd

        def listed(labels: list[str]) -> str:
            return ", ".join(shortened(label, _LABEL) for label in labels)

        items, respondents = zip(*self.first_of_each(result), strict=True)
        columns = {
            "n_items": self.fitted.design.pattern.sum(axis=0),
            "reliability": self.reliability(result),
            "items": [*map(listed, items)],
            "respondents": [*map(listed, respondents)],
        }
        return pd.DataFrame(columns, pd.Index(self.names, name="ability"))

    def reliability(self, result: FitResult) -> Array:
        """1 less the mean error variance of every ability, (K,)."""
        variance = np.linalg.diagonal(self.fitted.ability_covariance)
        if self.free_axes:  # these are said too low with errors of items (reliability.py)
            return 1 - variance[result.answering].mean(axis=0)
        # A posterior mean moves with the parameters of an item by g = Cov(ability, score). Errors
        # are independent between items here, so that what all systems share is left out.
        items = self.fitted.items
        p = result.expected(slice(None), slice(None))
        weight = p * (1 - p)
        if result.responses is not None:
            correlation = result.settings.trial_correlation or 0.0
            weight *= result.patterns.with_trial_correlation(correlation).dense()[1]
        of_logit = _quadratic(self.fitted.respondents.mean, items.covariance)
        reliability = []
        for k, by_logit in enumerate(self.fitted.ability_covariance.swapaxes(0, 1)):
            moved = weight * (by_logit @ items.leading.T)
            by_slopes = weight * _quadratic(by_logit, items.leading_covariance)
            by_items = (moved**2 * of_logit + by_slopes).sum(axis=1)
            errors = variance[:, k] + by_items
            reliability.append(1 - errors[result.answering].mean())
        return np.array(reliability)

    def first_of_each(self, result: FitResult) -> list[tuple[list[str], list[str]]]:
        """Items and respondents of the table `abilities`, whole labels."""
        slopes = self.fitted.slopes
        share = np.abs(slopes)
        if self.free_axes:
            squares = slopes**2
            total = squares.sum(axis=1, keepdims=True)
            share = share * squares / np.maximum(total, 1e-12)
        ability = np.where(result.answering[:, None], self.fitted.ability, -np.inf)
        most_items = np.argsort(-share, axis=0, kind="stable")[:_NAMED]
        ablest = np.argsort(-ability, axis=0, kind="stable")[:_NAMED]
        firsts: list[tuple[list[str], list[str]]] = []
        for k, reliability in enumerate(self.reliability(result)):
            if reliability < 0.5:  # then no items or respondents are named
                firsts.append(([], []))
                continue
            items = [result.item_labels[place] for place in most_items[:, k]]
            respondents = [result.respondent_labels[row] for row in ablest[:, k]]
            firsts.append((items, respondents))
        return firsts

    def correlations(self) -> pd.DataFrame:
        """Correlations of abilities in the population, one row per pair, with 95 % intervals.

        Columns: ability, other, correlation, correlation_se, low, high. Errors are NaN where the
        correlation is not a parameter: rotated exploratory axes, and a bifactor model (all 0).
        """
        import pandas as pd

        rows, columns = np.triu_indices(len(self.names), 1)
        r = self.fitted.correlations[rows, columns]
        se = self.correlation_se[rows, columns]
        with np.errstate(divide="ignore"):
            z = np.arctanh(r)
        slope = np.maximum(1 - r**2, 1e-9)
        reach = Z95 * se / slope
        names = np.array(self.names, dtype=object)
        return pd.DataFrame(
            {
                "ability": names[rows],
                "other": names[columns],
                "correlation": r,
                "correlation_se": se,
                "low": np.tanh(z - reach),
                "high": np.tanh(z + reach),
            }
        )


def _quadratic(x: Array, matrices: Array) -> Array:
    """xᵀMx of every row and matrix, (n, n_items)."""
    products = outer(x, x).reshape(len(x), -1)
    return products @ matrices.reshape(len(matrices), -1).T


def result_of_several(
    several: SeveralAbilities,
    responses: ResponseMatrix,
    patterns: Patterns,
    duplicates: NearDuplicates,
    *,
    settings: Settings,
    item_covariance: ItemCovariance | None,
    ability_covariances: Array,
    p_negative: Array,
    log_likelihood: float,
) -> FitResult:
    """The result of a fit with several abilities."""
    fitted = several.fitted
    counts = patterns.counts
    n_items = len(responses.items)
    errors = np.sqrt(np.linalg.diagonal(ability_covariances))
    status = np.where(counts.all_right | counts.all_wrong, "no variance", "ok").astype(object)
    status[fitted.unbounded] = "unbounded"
    status[counts.item_responses == 0] = "no responses"
    design = fitted.design
    n_parameters = int(design.estimated.sum())
    n_pairs = design.n_abilities * (design.n_abilities - 1) // 2
    if design.correlated:
        n_parameters += n_pairs
    if design.free:  # axes may be rotated
        n_parameters -= n_pairs
    standard_errors = np.full(design.estimated.shape, np.nan)
    if item_covariance is not None:
        variance = np.linalg.diagonal(item_covariance.of_items())
        standard_errors = np.sqrt(np.where(design.estimated, variance, np.nan))
    return FitResult(
        model="2PL",
        method="em",
        settings=settings,
        item_labels=responses.items,
        respondent_labels=responses.respondents,
        parameters=ItemParameters(fitted.slopes, fitted.items.mean[:, -1], np.zeros(n_items)),
        standard_errors=standard_errors,
        item_covariance=item_covariance,
        status=tuple(status),
        ability=fitted.ability,
        posterior_sd=np.sqrt(np.linalg.diagonal(fitted.ability_covariance)),
        ability_errors=np.stack([errors, errors]),
        synthetic=responses.synthetic,
        near_duplicates=duplicates,
        counts=counts,
        latent_sd=1.0,
        log_likelihood=log_likelihood,
        n_parameters=n_parameters,
        converged=fitted.converged,
        n_iterations=fitted.n_iterations,
        trace_rows=np.empty((0, 4)),
        quadrature=None,
        responses=responses,
        saved_p_negative=p_negative,
        several=several,
    )


def restored(record: dict[str, Any]) -> SeveralAbilities:
    """Put this part of a result together again."""
    return SeveralAbilities(**storage.with_parts(record, fitted=restored_fit))


def read_any(path: str | PathLike[str]) -> FitResult:
    """Read a saved result with one ability or several."""
    return storage.read(saved_in(path), FORMAT, partial(restored_result, several=restored))
