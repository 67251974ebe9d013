"""Results as people hold them: numbers of a fit, and its questions to the rooms above as methods.

A result is defined where it is made, and questions such as the leaderboard stand above it. This
module adds them to the class of results, so that ``result.leaderboard()`` works.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtkit.abilities.result import read_any
from irtkit.calibration.result import FitResult
from irtkit.fitting import EM, Variational, fit

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

    import pandas as pd

    from irtkit.printed import Shown
    from irtkit.suspects.health import Health
    from irtkit.suspects.wrong_keys import KeyVerdict

__all__ = ["EM", "FitResult", "Variational", "fit", "load"]


class Questions:
    """Methods of results."""

    def health(self: Any, *, n_best: int = 10) -> Health:
        """Say how many items still measure: :func:`irtkit.suspects.health.health`.

        Parameters
        ----------
        n_best
            Number of the best systems.
        """
        from irtkit.suspects.health import health

        return health(self, n_best=n_best)

    @cached_property
    def key_verdict(self: Any) -> KeyVerdict:
        """How likely it is that each key is wrong, by the responses and their answers."""
        from irtkit.suspects.wrong_keys import keyed

        return keyed(self, self.saved_responses.predictions)

    def leaderboard(
        self: Any,
        *,
        of: Literal["like these", "these"] = "like these",
        by: Any = None,
        families: Any = None,
        clusters: Any = None,
        level: float = 0.95,
        simultaneous: bool = False,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Rank the systems, best first, with intervals: :func:`irtkit.systems.leaderboard`.

        Columns: rank, rank_low and rank_high (likely ranks), accuracy, ability, ability_low,
        ability_high, expected_score, expected_score_low, expected_score_high, n_responses, group,
        status; family and component where there are any. Ranks are by expected_score, the
        proportion correct of all items of the benchmark. Rank intervals treat the items as a sample
        of similar items.

        Parameters
        ----------
        of : {"like these", "these"}, default "like these"
            "like these", or "these" for ranks by ability given these very items.
        by : mapping or str, optional
            "task", another column of the item table, or a mapping from item to task: score_TASK of
            each task, and ranks by their average. All with intervals about items like these.
        families : mapping, Series, list or str, optional
            Family of each respondent, by label, or a column of the respondent table. Errors of
            abilities are clustered by them.
        clusters : mapping, Series, list or str, optional
            Cluster of each item, such as its passage or task, by label, or a column of the item
            table.
        level : float, default 0.95
            Coverage of the intervals.
        simultaneous : bool, default False
            Give wider rank intervals, which hold the ranks of all systems together.
        seed : int, default 0
            Of the draws that tell how large the largest of many differences is by chance.
        """
        from irtkit.systems.leaderboard import leaderboard

        return leaderboard(
            self,
            of=of,
            by=by,
            families=families,
            clusters=clusters,
            level=level,
            simultaneous=simultaneous,
            seed=seed,
        )

    def with_clustered_errors(self: Any, families: Any = None, clusters: Any = None) -> FitResult:
        """Return the result with errors clustered by families of systems, or groups of items.

        Estimates stay. Errors of items allow for systems of one family that answer alike, errors of
        abilities for items of one cluster that hang together. Some twenty of them are needed.

        Parameters
        ----------
        families : mapping, Series, list or str, optional
            Family of each respondent: a mapping or Series by label, or the name of a column of the
            respondent table. One without a family is a family of its own.
        clusters : mapping, Series, list or str, optional
            Cluster of each item, such as its passage: a mapping or Series by label, or the name of
            a column of the item table.

        Raises
        ------
        ValueError
            If the result was saved without responses, an item has no cluster, or families are given
            and the fit is not one by EM with standard errors.

        Notes
        -----
        The part of an item parameter's variance that comes from responses is multiplied by a ratio:
        the sandwich variance over families, with the correction G/(G − 1), over the one over single
        respondents (Liang & Zeger 1986). The variance of an ability grows by v² Σ (ρ − 1) I. Here v
        is the posterior variance, I the information of a cluster, and ρ the design effect of its
        answers over all systems. Errors do not get smaller than in the fit, which allows for
        near-duplicates. A further call with families replaces earlier families, and one with
        clusters earlier clusters.

        Examples
        --------
        >>> import irtkit
        >>> difficulty = [k / 10 - 1 for k in range(30)]
        >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 30, difficulty)
        >>> responses = irtkit.simulate_responses(items, [k / 20 - 2 for k in range(80)], seed=1)
        >>> result = irtkit.fit(responses)
        >>> passage = {label: k // 2 for k, label in enumerate(responses.items)}
        >>> clustered = result.with_clustered_errors(clusters=passage)
        >>> bool((clustered.ability_se >= result.ability_se).all())
        True
        """
        from irtkit.systems.scores import with_clustered_errors

        return with_clustered_errors(self, families, clusters)

    def with_quality_standard(
        self: Any, metrics: object, higher_is_better: Collection[str] | None = None
    ) -> FitResult:
        """Return the result with Kolena's difficulty score of the items by further metrics.

        The score is the column ``quality_standard`` of ``items``, from 0 (easy) to 1 (hard), NaN if
        no metric of the item says anything. No estimate changes.

        Parameters
        ----------
        metrics : DataFrame, path, list of str or QualityStandard
            A long or wide table or its path, names of ``responses.metrics`` such as
            ``["total_tokens"]``, or a QualityStandard.
        higher_is_better : list of str, optional
            Metrics that are better when higher, ``[]`` for none. Left out if `metrics` is a
            QualityStandard.

        Raises
        ------
        ValueError
            If metrics are unknown or lack a direction, labels are not in the responses, or the
            result was saved without responses.

        Examples
        --------
        >>> import irtkit, pandas as pd
        >>> items = irtkit.ItemParameters.from_difficulty([1.0, 1.5, 1.0], [-1.0, 0.0, 1.0])
        >>> responses = irtkit.simulate_responses(items, [k / 50 - 2 for k in range(200)])
        >>> seconds = pd.DataFrame({"item": responses.items, "seconds": [1, 2, 4]})
        >>> seconds["respondent"] = responses.respondents[0]
        >>> result = irtkit.fit(responses, "1PL").with_quality_standard(seconds, [])
        >>> result.items["quality_standard"].round(2).to_dict()
        {'item-1': 0.0, 'item-2': 0.33, 'item-3': 1.0}
        """
        from irtkit.difficulty.quality import quality_of
        from irtkit.io.tables import as_metrics

        quality = quality_of(self.saved_responses, as_metrics(metrics), higher_is_better)
        scores = np.asarray(quality.items.reindex(list(self.item_labels)), np.float64)
        settings = replace(self.settings, metrics=quality.settings)
        result: FitResult = replace(self, quality_standard=scores, settings=settings)
        return result

    @property
    def abilities(self: Any) -> pd.DataFrame:
        """Table of abilities by name: what measures them, and who has most of each.

        - n_items: items that may measure it. reliability: 1 less the mean error variance of the
          respondents with a response, with errors of items unless axes are free.
        - items: the three with the largest slopes, as shares of all of their slopes if every item
          may measure every ability. respondents: the three with the highest abilities. Both are
          empty if the reliability is below 0.5.
        """
        table: pd.DataFrame = _several(self, "abilities").table(self)
        return table

    @property
    def ability_correlations(self: Any) -> pd.DataFrame:
        """Correlations of abilities in the population, one row per pair, with 95 % intervals.

        Columns: ability, other, correlation, correlation_se, low, high. Errors are NaN where the
        correlation is not a parameter: rotated exploratory axes, and a bifactor model (all 0).
        """
        table: pd.DataFrame = _several(self, "ability_correlations").correlations()
        return table

    def shown(self: Any) -> Shown:
        """Return what is printed: sentences, the hardest items and the best respondents."""
        if self.n_abilities > 1:
            from irtkit.systems.printed import abilities_shown

            return abilities_shown(self)
        from irtkit.calibration.summary import fit_shown

        return fit_shown(self)


def _several(result: FitResult, name: str) -> Any:
    """The part of several abilities."""
    if result.several is None:
        raise AttributeError(
            f"{name} is for several abilities. result.respondents has the column ability"
        )
    return result.several


def load(path: str | PathLike[str]) -> FitResult:
    """Read a result written by its `save`, or in a folder by ``irtkit fit --out``.

    Raises
    ------
    ValueError
        If the file is not a saved result, is damaged, or was written by another version of irtkit.
    OSError
        If the file does not exist, or the folder lacks a result.
    """
    return read_any(path)


for _name, _question in vars(Questions).items():
    if callable(_question) or isinstance(_question, property | cached_property):
        setattr(FitResult, _name, _question)
