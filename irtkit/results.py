"""Results as people hold them: numbers of a fit, and its questions to the rooms above as methods.

A result is defined where it is made, and questions such as the leaderboard stand above it. This
module adds them to the class of results, so that ``result.leaderboard()`` works.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property, partial
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.abilities.result import read_any
from irtkit.calibration.result import FitResult
from irtkit.capabilities import no_attribute
from irtkit.fitting import EM, Variational, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from os import PathLike

    import pandas as pd

    from irtkit.printed import Shown
    from irtkit.report.report import report as _report
    from irtkit.scoring.scores import MethodName
    from irtkit.suspects.audit import audit as _audit
    from irtkit.suspects.health import health as _health
    from irtkit.suspects.wrong_keys import KeyVerdict
    from irtkit.systems.comparison import compare_systems as _compare_systems
    from irtkit.systems.leaderboard import leaderboard as _leaderboard

__all__ = ["EM", "FitResult", "Variational", "fit", "load"]

PUBLIC = (
    *("items", "respondents", "findings", "warnings", "shown"),
    *("audit", "compare_systems", "health", "leaderboard", "report", "score"),
    *("model", "method", "settings", "quadrature", "converged", "n_iterations", "trace"),
    *("log_likelihood", "n_parameters", "aic", "bic", "elbo"),
    *("latent_mean", "latent_mean_se", "latent_sd", "latent_sd_se", "reliability"),
    *("parameters", "item_labels", "status", "item_covariance", "standard_errors"),
    *("ability", "ability_se", "respondent_labels", "synthetic", "posterior", "posterior_sd"),
    *("n_abilities", "ability_names", "structure", "abilities", "ability_correlations"),
    *("probability", "category_probability", "expected", "responses", "near_duplicates"),
    *("with_clustered_errors", "with_quality_standard", "save"),
)
"""Attributes and methods of results that people use."""


class Question:
    """A function of a room above as a method: its first argument is the result."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep the name, which is that of the function too."""
        self.name = name

    def __get__(self, result: FitResult | None, owner: type) -> Any:
        """Return the function with its first argument filled in, or the function of the class."""
        function = getattr(import_module(self.module), self.name)
        return function if result is None else MethodType(function, result)


class Questions:
    """What results are asked. `PUBLIC` lists it, with the fields of a result."""

    if TYPE_CHECKING:
        audit = _audit  # type: ignore[has-type]
        compare_systems = _compare_systems  # type: ignore[has-type]
        health = _health
        leaderboard = _leaderboard  # type: ignore[has-type]
        report = _report
    else:
        audit = Question("irtkit.suspects.audit")
        compare_systems = Question("irtkit.systems.comparison")
        health = Question("irtkit.suspects.health")
        leaderboard = Question("irtkit.systems.leaderboard")
        report = Question("irtkit.report.report")

    def score(
        self: Any, responses: object, method: MethodName = "EAP", **settings: Any
    ) -> pd.DataFrame:
        """Score new systems on the items of the result, as :func:`irtkit.score` does.

        Parameters
        ----------
        responses : ResponseMatrix, path, DataFrame, array or records
            Answers of the new systems. Labels identify items, and some of them are enough.
        method : {"EAP", "MAP", "ML", "WLE"}, default "EAP"
            How abilities are estimated.
        **settings : optional
            Other settings of :func:`irtkit.score`, and of reading.
        """
        from irtkit.scoring.scores import score

        return score(responses, self, method, **settings)

    @cached_property
    def misfit_of_list(self: Any) -> Callable[[tuple[int, ...]], float | None]:
        """Cross-validated misfit of scores from a list of items, by their places."""
        from irtkit.selection.subset import misfit_of_list

        return cache(partial(misfit_of_list, self))

    def __dir__(self) -> list[str]:
        """Names for people. Other attributes may change."""
        return list(PUBLIC)

    def __getattr__(self: Any, name: str) -> Any:
        """Say what answers a word that people try, or why a property has no value."""
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # which says why
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_attribute(
            "result", name, PUBLIC, {"items": self.items, "respondents": self.respondents}
        )

    @cached_property
    def key_verdict(self: Any) -> KeyVerdict:
        """How likely it is that each key is wrong, by the responses and their answers."""
        from irtkit.suspects.wrong_keys import keyed

        return keyed(self, self.saved_responses.predictions)

    def with_clustered_errors(self: Any, families: Any = None, clusters: Any = None) -> FitResult:
        """Return the result with errors clustered by families of systems, or groups of items.

        Estimates stay. Errors of items allow for systems of one family that answer alike, errors of
        abilities for items of one cluster that hang together. Some twenty of them are needed.

        Parameters
        ----------
        families : mapping, Series, list or str, optional
            Family of each respondent: a mapping or Series by label, or the name of a column of the
            respondent table. A long table keeps there each column with one value for each system.
            A respondent without a family is a family of its own.
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
        return replace(self, quality_standard=scores, settings=settings)

    @property
    def abilities(self: Any) -> pd.DataFrame:
        """Table of abilities by name: what measures them, and who has most of each.

        - n_items: items that may measure it. reliability: 1 less the mean error variance of the
          respondents with a response, with errors of items unless axes are free.
        - items: the three with the largest slopes, as shares of all of their slopes if every item
          may measure every ability. respondents: the three with the highest abilities. Both are
          empty if the reliability is below 0.5.
        """
        return _several(self, "abilities").table(self)

    @property
    def ability_correlations(self: Any) -> pd.DataFrame:
        """Correlations of abilities in the population, one row per pair, with 95 % intervals.

        Columns: ability, other, correlation, correlation_se, low, high. Errors are NaN where the
        correlation is not a parameter: rotated exploratory axes, and a bifactor model (all 0).
        """
        return _several(self, "ability_correlations").correlations()

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
    if _name in {"__dir__", "__getattr__"} or not _name.startswith("__"):
        setattr(FitResult, _name, _question)
