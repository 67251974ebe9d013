"""Items of several abilities, for respondents who were not in the fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.abilities.engine import Cells, Design, Fitted, Normals, fold_in, probabilities
from irtkit.abilities.errors import ability_covariances
from irtkit.calibration.calibrated import marks_read
from irtkit.calibration.standard_errors import ItemCovariance
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix


@dataclass(frozen=True)
class ItemBank:
    """Items of a fit with several abilities, without its respondents."""

    labels: tuple[str, ...]
    names: tuple[str, ...]  # Of abilities.
    fitted: Fitted  # Items and correlations of abilities; it has no respondents.
    trial_correlation: float
    worth: Array  # Trials that an answer to each item counts for: more than 1 of a score.
    covariance: ItemCovariance | None
    selected: bool = False  # Whether answers are to items that were chosen for the score.
    marks: Mapping[str, Any] = field(default_factory=dict)  # How marks of logs were read.

    @classmethod
    def of(cls, result: FitResult) -> ItemBank:
        """Return the items of a result."""
        fitted = result.several.fitted
        correlation = result.settings.trial_correlation or 0.0
        worth = np.ones(len(result.item_labels))
        if result.responses is not None:
            worth *= result.patterns.score_worth(correlation)
        return cls(
            labels=result.item_labels,
            names=result.ability_names,
            fitted=replace(fitted, respondents=fitted.respondents.chosen(slice(0))),
            trial_correlation=correlation,
            worth=worth,
            covariance=result.item_covariance,
            marks=marks_read(result),
        )

    @classmethod
    def restored(cls, record: dict[str, Any]) -> ItemBank:
        """Put the items of a file together again."""
        parts = storage.with_parts(record, fitted=restored_fit, covariance=ItemCovariance)
        return cls(**parts)

    def chosen(self, places: Places) -> ItemBank:
        """Return some of the items."""
        design = self.fitted.design
        design = replace(design, pattern=design.pattern[places], group=design.group[places])
        fitted = replace(self.fitted, design=design, items=self.fitted.items.chosen(places))
        covariance = None if self.covariance is None else self.covariance.chosen(places)
        labels = tuple(self.labels[place] for place in places)
        return replace(
            self, labels=labels, fitted=fitted, worth=self.worth[places], covariance=covariance
        )

    def posteriors(self, share: Array, tried: Array, start: Normals | None = None) -> Normals:
        """Posteriors of respondents, by proportions right and trials, (n, n_items) each."""
        return fold_in(self.cells(share, tried), self.fitted, start)

    def cells(self, share: Array, tried: Array) -> Cells:
        """Proportions right, and how many independent trials each counts for."""
        repeats = 1 + np.maximum(tried - 1, 0) * self.trial_correlation
        weight = self.worth * tried / repeats
        return Cells(share.astype(np.float32), weight.astype(np.float32))

    def expected_scores(
        self, share: Array, tried: Array, places: Places, counted: Array
    ) -> tuple[Array, Array]:
        """Scores expected from the answers at some places, and their variances, (n,) each.

        Scores are on the items ``counted``, (n, n_items), which are 0 or 1.
        """
        share = share[:, places]
        tried = tried[:, places]
        respondents = self.chosen(places).posteriors(share, tried)
        unasked = counted.astype(np.float64)
        unasked[:, places] = 0
        mean, variance = number_right(respondents, self.fitted.known_items, unasked)
        n_items = np.maximum(counted.sum(axis=1), 1)
        score = (share.sum(axis=1) + mean) / n_items
        return score, variance / n_items**2

    def scored(self, responses: ResponseMatrix, level: float, misfit: Array) -> pd.DataFrame:
        """Score respondents, see :func:`irtkit.score`. ``misfit`` adds to variances of scores."""
        import pandas as pd
        from scipy.special import ndtri

        _, columns, places = np.intersect1d(responses.items, self.labels, return_indices=True)
        if not len(columns):
            raise ValueError("responses must share an item with the result")
        patterns = patterns_of(responses, synthetic_is_real=True).with_columns(columns)
        right, trials = np.zeros((2, responses.n_respondents, len(self.labels)))
        right[:, places], trials[:, places] = patterns.dense()
        share = right / np.maximum(trials, 1)
        cells = self.cells(share, trials)
        respondents = fold_in(cells, self.fitted)
        score, error = expected_score(right, trials, respondents, self.fitted.known_items)
        quantile = ndtri((1 + level) / 2)
        reach = quantile * np.sqrt(error**2 + misfit)
        covariances = respondents.leading_covariance
        if self.covariance is not None:
            folded_in = replace(self.fitted, respondents=respondents)
            covariances = ability_covariances(cells, folded_in, self.covariance)
        errors = np.sqrt(np.linalg.diagonal(covariances))
        n_responses = (trials > 0).sum(axis=1)
        values = ability_columns(self.names, respondents.mean, errors)
        with np.errstate(invalid="ignore"):
            values["accuracy"] = share.sum(axis=1) / n_responses
        values["n_responses"] = n_responses
        values["expected_score"] = score
        values["expected_score_low"] = np.maximum(score - reach, 0)
        values["expected_score_high"] = np.minimum(score + reach, 1)
        return pd.DataFrame(values, index=pd.Index(responses.respondents, name="respondent"))


def restored_fit(**record: Any) -> Fitted:
    """Put a fit of a file together again."""
    parts = storage.with_parts(record, design=Design, respondents=Normals, items=Normals)
    return Fitted(**parts)


def ability_columns(names: tuple[str, ...], ability: Array, errors: Array) -> dict[str, Array]:
    """Every ability with its error, by the names of columns."""
    columns: dict[str, Array] = {}
    for k, name in enumerate(names):
        columns[f"ability_{name}"] = ability[:, k]
        columns[f"ability_{name}_se"] = errors[:, k]
    return columns


def number_right(respondents: Normals, items: Normals, counted: Array) -> tuple[Array, Array]:
    """Mean and variance of the number right of the items counted, (n,) each.

    ``counted``, (n, n_items), is 0 or 1. The variance is of abilities and of each answer.
    """
    p = probabilities(respondents, items)
    variance = counted * p * (1 - p)
    by_ability = variance @ items.leading
    covariance = respondents.leading_covariance
    of_abilities = np.einsum("ni,nij,nj->n", by_ability, covariance, by_ability)
    return (counted * p).sum(axis=1), variance.sum(axis=1) + of_abilities


def expected_score(
    right: Array, trials: Array, respondents: Normals, items: Normals
) -> tuple[Array, Array]:
    """Expected share right of all items, and its error by missing answers, (n,) each."""
    mean, variance = number_right(respondents, items, trials == 0)
    seen = (right / np.maximum(trials, 1)).sum(axis=1)
    n_items = right.shape[1]
    return (seen + mean) / n_items, np.sqrt(variance) / n_items
