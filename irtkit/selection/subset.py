"""A fixed subset of items, chosen for the score.

Items are chosen one by one, each that which most lowers the variance of the mean of all items given
those taken, under the covariance

    Σ = (1 − α)·S + α·(Cov_θ[Pᵢ, Pⱼ] + δᵢⱼ·E[Pᵢ(1 − Pᵢ)])

of answers. S is the sample covariance among the calibrated respondents, which knows what items have
in common beyond ability but is noisy with few respondents. The rest is the covariance of the model.
α = 0 is forward selection in a regression of the score, and α = 1 is the model alone. A choice by
Fisher information takes steep items that say the same, and loses to items drawn at random.

Σ = FFᵀ + D, where D is diagonal and F has a column per respondent and quadrature point. A pivoted
Cholesky decomposition gives the covariance of the rest given those taken, without an array of
items × items.

Errors are cross-validated. A subset fits the respondents it was chosen on better than others, so
calibration and choice are both repeated in every fold. Checkpoints and fine-tunes of one family
repeat each other's answers, so a fold leaves out whole families.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities.bank import ItemBank
from irtkit.capabilities import limit_of
from irtkit.checks import check_seed, check_whole, short
from irtkit.data.families import SIMILAR, family_codes
from irtkit.fitting import refitted, result_for
from irtkit.io.asking import document_numbers, sample_ids
from irtkit.printed import Printed, Shown
from irtkit.scoring import items_for_scores
from irtkit.scoring.scores import (
    Cells,
    added_variance,
    end_of,
    expected_scores,
    misfit_of,
    save_bank,
    save_items,
    weighted_mean,
)
from irtkit.suspects.flags import UNINFORMATIVE, flag_items, flagged, kept_items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ItemParameters
    from irtkit.responses.columns import Names
    from irtkit.selection.adaptive import Tried

    Single = NDArray[np.float32]

SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # Numbers of items in the table.
_ONE_FAMILY = "the error is cross-validated between families: at least two are needed"


@dataclass(frozen=True)
class _Tuned:
    """What Σ, by which items are chosen, is made of (``benchmarks/few_items.py``)."""

    # Weight of the model. From 0.35 to 0.65 errors differ by sampling error only.
    alpha: float = 0.5
    spread: float = 1.25  # SD of abilities, in SDs of the population. New respondents lie farther.
    n_draws: int = 400  # Draws of several abilities.
    may_rise: float = 0.5  # Probability of a slope below 0 from which on an item is not chosen.
    reach: float = 4.0  # SDs that quadrature goes to. Probabilities err by 1e-3 at slope 10.
    n_nodes: int = 41  # Of this quadrature.


_TUNED = _Tuned()


class ItemCovariance(NamedTuple):
    """The parts of Σ, of the items of a fit with known parameters."""

    places: Places  # Which items of the fit they are.
    allowed: NDArray[np.bool_]  # Which of them may be chosen: neither called nor uninformative.
    items: ItemParameters | ItemBank  # One ability is in SDs of the population.
    rising: NDArray[np.bool_]  # Which of them have slopes above 0.
    p: Array  # P(right) at abilities of the population, (n_nodes, n_items).
    weight: Array  # Of these abilities, (n_nodes,).
    answers: Single  # Proportion right of real respondents, (n, n_items), expected where missing.

    @classmethod
    def of(
        cls, result: FitResult, like: ItemCovariance | None = None, removed: Names = None
    ) -> ItemCovariance:
        """Return the covariance of a fit, for the items of another one or without some."""
        if like is None:
            kept = np.isin(result.item_labels, kept_items(result, removed))
            places = np.flatnonzero(result.parameters.known & kept)
            settings: Any = flag_items.__kwdefaults__
            flags = flagged(result, **settings)[0]
            informative = flags["reasons"].map(UNINFORMATIVE.isdisjoint).astype(bool)
            left_out = flags.index[flags["called"].astype(bool) | ~informative]
            labels = np.array(result.item_labels)[places]
            allowed = ~np.isin(labels, left_out)
        else:
            places = like.places
            allowed = like.allowed
        items: Any
        if result.n_abilities == 1:  # at abilities in SDs
            items = result.parameters.standardised(result.latent_sd, result.latent_mean)
            items = items.chosen(places)
            rising = items.discrimination > 0
            theta = _TUNED.spread * np.linspace(-_TUNED.reach, _TUNED.reach, _TUNED.n_nodes)
            weight = np.exp(-0.5 * (theta / _TUNED.spread) ** 2)
            p = items.probability(theta)
        else:  # at draws of abilities
            items = ItemBank.of(result).chosen(places)
            rising = result.p_negative[places] < _TUNED.may_rise
            root = np.linalg.cholesky(result.ability_correlation)
            normal = np.random.default_rng(0).standard_normal((_TUNED.n_draws, len(root)))
            weight = np.ones(_TUNED.n_draws)
            p = result.parameters.chosen(places).probability(_TUNED.spread * normal @ root.T)
        patterns = result.patterns
        rows = np.flatnonzero(patterns.real & (patterns.margins.respondent_responses > 0))
        cells = Cells.of(patterns, rows, places)
        answers = np.asarray(cells.right, dtype=np.float32)
        for row in np.flatnonzero((cells.tried == 0).any(axis=1)):
            missing = cells.tried[row] == 0
            (expected,) = result.expected(rows[row : row + 1], places[missing])
            answers[row, missing] = expected
        return cls(places, allowed, items, rising, p, weight / weight.sum(), answers)

    def factored(self) -> tuple[Single, Array]:
        """F and the diagonal of D."""
        p = self.p
        alpha = _TUNED.alpha
        centred = self.answers - self.answers.mean(axis=0)
        spread = np.sqrt((1 - alpha) / max(len(centred) - 1, 1))
        by_answers = centred * np.float32(spread)
        by_model = (p - self.weight @ p) * np.sqrt(alpha * self.weight)[:, None]
        factor = np.concatenate([by_answers, by_model.astype(np.float32)]).T
        return np.ascontiguousarray(factor), alpha * (self.weight @ (p * (1 - p)))

    def ranking(self, k: int, among: NDArray[np.bool_] | None = None) -> Places:
        """Places of the k items to ask first, best first, or fewer if no more may be asked.

        They are the pivots of the decomposition: each has the largest Cov(item, mean)²/Var(item).
        The ranking ends before the first item that is not ``among`` those given.
        """
        factor, noise = self.factored()
        n_items = len(factor)
        variance = np.einsum("ij,ij->i", factor, factor).astype(np.float64) + noise
        with_mean = (factor @ factor.sum(axis=0)).astype(np.float64) + noise
        # this share is rounding error of 32-bit sums
        least = np.maximum(1e-6 * variance, np.finfo(np.float64).tiny)
        columns = np.empty((min(k, n_items), n_items))
        taken = []
        left = self.allowed & self.rising
        for step in range(len(columns)):
            left &= variance > least
            if not left.any():
                break
            gain = np.where(left, with_mean**2 / np.maximum(variance, least), -1.0)
            pivot = int(gain.argmax())
            if among is not None and not among[pivot]:
                break
            before = columns[:step]
            sd = np.sqrt(variance[pivot])
            column = factor @ factor[pivot] - before.T @ before[:, pivot]
            column[pivot] += noise[pivot]
            column /= sd
            with_mean -= column * (with_mean[pivot] / sd)
            variance -= column**2
            columns[step] = column
            left[pivot] = False
            taken.append(pivot)
        return np.array(taken, dtype=np.intp)


def refits(
    result: FitResult, families: Any, n_folds: int, seed: int
) -> Iterator[tuple[Any, Places]]:
    """Yield for every fold the fit without some families, and the respondents left out."""
    patterns = result.patterns
    scored = np.flatnonzero(patterns.real & (patterns.margins.respondent_responses > 0))
    names, codes, sizes = np.unique(
        family_codes(result, families)[scored], return_inverse=True, return_counts=True
    )
    if len(names) < 2:
        raise ValueError(_ONE_FAMILY)
    # the largest families first, each to the fold with the fewest respondents so far
    chance = np.random.default_rng(seed).permutation(len(names))
    load = np.zeros(min(n_folds, len(names)), dtype=np.int64)
    fold_of = np.zeros(len(names), dtype=np.intp)
    for name in chance[np.argsort(-sizes[chance], kind="stable")]:
        fold_of[name] = load.argmin()
        load[fold_of[name]] += sizes[name]
    responses = result.saved_responses
    fixed = None
    if result.anchors is not None:
        fixed = result.items[result.anchors.fixed]
    for number in range(len(load)):
        held = scored[fold_of[codes] == number]
        kept = responses.part(np.setdiff1d(np.arange(patterns.n), held))
        # as in `irtkit.difficulty.held_out`
        yield refitted(result, kept, tol=1e-4, fixed=fixed), held


class Held(NamedTuple):
    """Respondents of a fold, and what was learned without them."""

    rows: Places
    items: ItemParameters | ItemBank
    ranking: Places


@dataclass(frozen=True, eq=False)
class Selection(Printed):
    """Items to ask instead of all, made by :func:`irtkit.select_items`.

    Cross-validation makes as many fits as there are folds, when it is first asked for.
    """

    items: tuple[str, ...]
    """Labels, the first to be asked first."""
    result: FitResult = field(repr=False)
    covariance: ItemCovariance = field(repr=False)
    families: Any = field(default=SIMILAR, repr=False)
    folds: int = 10
    seed: int = 0

    @property
    def expected_error(self) -> float:
        """Root mean square error of the score of a new respondent, estimated from these items.

        In units of the score (proportion right of all items): 0.03 is three percentage points. It
        is for respondents like the calibrated ones, cross-validated between their families. If many
        responses are missing, it is too large: those count who answered some of these items.
        """
        return float(self.table["expected_error"].iloc[-1])

    @property
    def table(self) -> pd.DataFrame:
        """Errors by the number of items asked, from the first on, with index "n_items".

        Columns: expected_error (as above), model_error (by the model), and misfit (the square root
        of the variance added to the variance of the model).
        """
        return self._table.copy()

    @cached_property
    def _table(self) -> pd.DataFrame:
        import pandas as pd

        rows: list[tuple[float, float, float]] = []
        for size in self._sizes:
            folds = []
            for fold in self.held:
                cells = self.cells.chosen(fold.rows)
                first = fold.ranking[:size]
                score, of_score = expected_scores(fold.items, cells, first)
                of_fold, scale = cells.weights(first)
                off = scale * (score - cells.score)
                folds.append(np.stack([off, scale**2 * of_score, of_fold]))
            error, variance, weight = np.concatenate(folds, axis=1)
            misfit = np.sqrt(added_variance(error, variance, weight))
            model_error = np.sqrt(weighted_mean(variance, weight))
            rows.append((root_mean_square(error, weight), float(model_error), float(misfit)))
        columns = ["expected_error", "model_error", "misfit"]
        return pd.DataFrame(rows, pd.Index(self._sizes, name="n_items"), columns)

    @property
    def item_table(self) -> pd.DataFrame:
        """The items in the order of the ranking, with index "item".

        Columns: rank (from 1 on), the columns of ``result.items``, and selected_of (number of items
        selected from). By it :func:`irtkit.score` recognises a selection.
        """
        table = self.result.items.loc[list(self.items)]
        table.insert(0, "rank", range(1, len(table) + 1))
        return table.assign(selected_of=len(self.covariance.places))

    def save(self, path: str | PathLike[str]) -> None:
        """Write to one .npz file what :func:`irtkit.score` needs, which takes its path for items.

        It holds the parameters of all items and, of one ability by the number of items asked, the
        cross-validated misfit and the score that few calibrated respondents exceed. It holds
        neither responses nor names of respondents.
        """
        items = self.calibrated
        if isinstance(items, ItemBank):
            save_bank(path, items)
            return
        misfit = self._table["misfit"].to_numpy() ** 2
        places = self.places
        numbers = range(1, len(places) + 1)
        ends = np.array([end_of(self.result, places[:n]) for n in numbers])
        save_items(path, items, np.array(self._sizes), misfit, ends)

    def without(self, removed: Iterable[str]) -> Selection:
        """Select as many items without some more."""
        before = np.delete(self.result.item_labels, self.covariance.places)
        how: Any = {"families": self.families, "folds": self.folds, "seed": self.seed}
        return select_items(self.result, len(self.items), removed=[*before, *removed], **how)

    def among(self, labels: Iterable[str]) -> Selection:
        """Select as many of some items for the same score, or all that can be chosen."""
        covariance = self.covariance
        present = np.isin(np.array(self.result.item_labels)[covariance.places], [*labels])
        covariance = covariance._replace(allowed=covariance.allowed & present)
        items = _first_items(self.result, covariance, len(self.items))
        return replace(self, items=items, covariance=covariance)

    def for_inspect(self) -> str:
        """Return what ``inspect eval --sample-id`` takes to ask these items.

        Ids of samples are without their task, unless there are several tasks.
        """
        return sample_ids(self.result.saved_responses, self.items)

    def for_lm_eval(self) -> str:
        """Return what ``lm_eval --samples`` takes: ascending document numbers by task, as JSON.

        Raises
        ------
        ValueError
            If a label is not ``task/number``, as in logs of lm-evaluation-harness.
        """
        return document_numbers(self.result.saved_responses, self.items)

    @property
    def calibrated(self) -> CalibratedItems | ItemBank:
        """All items that the score is of, with the misfit of scores from those selected."""
        items = items_for_scores(self.result)
        if isinstance(items, ItemBank):
            return replace(items.chosen(self.covariance.places), selected=True)
        counted = np.zeros(len(self.result.item_labels), bool)
        counted[self.covariance.places] = True

        def misfit(known: NDArray[np.bool_], asked: Places, *, of_all: bool) -> float:
            """Variance that the model does not explain, cross-validated for the first items."""
            if {*self.places[: len(asked)]} != {*asked}:
                return misfit_of(self.result, known, asked, of_all=of_all)
            of_sizes = self._table["misfit"].to_numpy() ** 2
            return float(np.interp(len(asked), self._sizes, of_sizes))

        return replace(items, selected=True, counted=counted, misfit=misfit)

    @property
    def places(self) -> Places:
        """Places of the items in the fit."""
        return np.array([self.result.places[label] for label in self.items])

    @cached_property
    def pool(self) -> Places:
        """Places among the known items of those that :func:`irtkit.adaptive` may ask."""
        return self.covariance.ranking(2 * len(self.items))

    @cached_property
    def tried(self) -> Tried:
        """Cross-validated errors of tests by :func:`irtkit.adaptive`."""
        from irtkit.selection.adaptive import cross_validated

        return cross_validated(self)

    @cached_property
    def cells(self) -> Cells:
        """Answers of all respondents to the known items."""
        patterns = self.result.patterns
        return Cells.of(patterns, np.arange(patterns.n), self.covariance.places)

    @cached_property
    def held(self) -> list[Held]:
        """Items and ranking without each fold, and rankings of twice as many items if possible."""
        folds = []
        for fold, rows in refits(self.result, self.families, self.folds, self.seed):
            covariance = ItemCovariance.of(fold, self.covariance)
            ranking = covariance.ranking(2 * len(self.items))
            folds.append(Held(rows, covariance.items, ranking))
        return folds

    @property
    def _sizes(self) -> list[int]:
        return [*(size for size in SIZES if size < len(self.items)), len(self.items)]

    def shown(self) -> Shown:
        """Return the selected items, and how well they predict the full score."""
        columns = ["rank", "discrimination", "difficulty", "average_error"]
        if self.result.n_abilities > 1:
            columns = ["rank", "average_error", "p_negative"]
        errors = self._table["expected_error"]
        by_size = [f"{n} items {100 * error:.2f}" for n, error in errors.items()]
        listed = ", ".join(by_size)
        sentences = [
            f"{len(self.items)} of {len(self.covariance.places)} items",
            f"error of the score in percentage points, cross-validated (RMSE): {listed}",
        ]
        if not self.result.patterns.complete:
            sentences.append("this error is too large, as answers are missing")
        return Shown("", self.item_table[columns], findings=sentences)


def select_items(
    result: FitResult,
    k: int,
    *,
    removed: Names = None,
    families: Any = SIMILAR,
    folds: int = 10,
    seed: int = 0,
) -> Selection:
    """Choose a few items whose score predicts the score on all items.

    Parameters
    ----------
    result : FitResult
        A result of :func:`irtkit.fit` with its responses. With several abilities too, the items
        are chosen for the score on all items.
    k : int
        Number of items to ask: the first k, ranked by the uncertainty they leave about the mean of
        all.
    removed : str or list of str, optional
        Labels of items that do not count, such as faulty ones, or "called" for those that
        :func:`irtkit.audit` calls. The score is on the others.
    families : str, mapping or list, default "similar"
        Families of respondents, which are left out together: "similar" joins the pairs of
        :func:`irtkit.similar_respondents`. A mapping or list is as in :func:`irtkit.flag_items`.
    folds, seed : int, default 10 and 0
        Number of parts of the families, each left out by one fit, to estimate the error. The same
        seed makes the same parts.

    Returns
    -------
    Selection
        items (labels in the order of the ranking), expected_error, table (errors by number of
        items), item_table, and save(path). :func:`irtkit.score` takes it for its ``items``, with
        the answers of new respondents. :func:`irtkit.adaptive` asks the items one by one.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a fit with its responses, these are sparse, or k is not a whole number
        from 1 to the number of items to choose from.

    Notes
    -----
    The items for k are the first in the ranking of 2k. Items that :func:`irtkit.flag_items` lists,
    and items with a slope of 0 or below, are never chosen.

    See Also
    --------
    irtkit.adaptive, irtkit.score, irtkit.information

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.linspace(-2, 2, 60))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 120), seed=1)
    >>> result = irtkit.fit(responses)
    >>> selection = irtkit.select_items(result, 10)
    >>> len(selection.items), bool(0.04 < selection.expected_error < 0.1)
    (10, True)
    >>> irtkit.select_items(result, 20).items[:10] == selection.items
    True
    """
    result = result_for("select_items", result)
    check_whole("k", k, 1)
    check_whole("folds", folds, 2)
    check_seed(seed)
    if not (isinstance(families, str) and families == SIMILAR):  # these take time to find
        codes = family_codes(result, families)[~result.synthetic]
        if len(np.unique(codes)) < 2:
            raise ValueError(_ONE_FAMILY)
    covariance = ItemCovariance.of(result, removed=removed)
    labels = _first_items(result, covariance, k)
    if not labels:
        raise ValueError(
            "no item can be chosen: all are suspect (irtkit.flag_items lists them), or their "
            "slopes are not above 0"
        )
    if k > len(labels):
        raise ValueError(
            f"k must be at most {len(labels)}, the number of items fit to be chosen, got {short(k)}"
        )
    return Selection(labels, result, covariance, families, folds, seed)


def _first_items(result: FitResult, covariance: ItemCovariance, k: int) -> tuple[str, ...]:
    """Labels of the first k items of the ranking."""
    ranking = covariance.places[covariance.ranking(k)]
    return tuple(result.item_labels[place] for place in ranking)


def misfit_of_list(result: FitResult, asked: tuple[int, ...]) -> float | None:
    """Cross-validated misfit of scores from a list by :func:`select_items`, None of other items."""
    if limit_of("select_items", result) is not None:
        return None
    covariance = ItemCovariance.of(result)
    among = np.isin(covariance.places, asked)
    ranking = covariance.places[covariance.ranking(len(asked), among)]
    if len(ranking) < len(asked):
        return None
    items = tuple(result.item_labels[place] for place in ranking)
    return float(Selection(items, result, covariance).table["misfit"].iloc[-1] ** 2)


def root_mean_square(error: Array, weight: Array) -> float:
    """Root mean square of some errors."""
    return float(np.sqrt(weighted_mean(error**2, weight)))
