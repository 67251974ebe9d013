"""A fixed subset of items: chosen for the score, or drawn at random for honesty's sake."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_one_of, check_seed, check_type, check_whole, short
from irtkit.printed import in_lines
from irtkit.scoring import DESIGNS, items_for_scores, score
from irtkit.scoring.scores import Cells, added_variance, expected_scores, save_items
from irtkit.selection.blend import ItemCovariance
from irtkit.selection.cross_validation import check_families, refits
from irtkit.selection.pool import Pool
from irtkit.suspects.families import SIMILAR, dense_responses

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ItemParameters
    from irtkit.scoring import Design

_SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Numbers of items that the table has below that which is wanted."""


class Held(NamedTuple):
    """Respondents of a fold, and what was learned without them."""

    rows: Places
    items: ItemParameters
    ranking: Places


@dataclass(frozen=True, eq=False)
class Selection:
    """Items to ask instead of all; made by :func:`irtkit.select_items`.

    What is told by cross-validation is computed when first asked for, by as many fits as there are
    folds.
    """

    items: tuple[str, ...]
    """Their labels, the first to be asked first."""
    result: FitResult = field(repr=False)
    covariance: ItemCovariance = field(repr=False)
    """Of the items of the fit that something is known of, with the answers to them."""
    design: Design | None = None
    """How they were drawn; None if they were chosen."""
    families: Any = field(default=SIMILAR, repr=False)
    folds: int = 10
    seed: int = 0

    @property
    def expected_error(self) -> float:
        """Root mean square error of the score of a new respondent told from these items.

        In units of the score, the share right of all items: 0.03 is three percentage points. Of
        respondents like the calibrated ones, cross-validated between their families. Of one with
        missing cells it is the score on the items answered, told from those of the subset that
        were: where much is missing, errors come out too large.
        """
        return float(self.table["expected_error"].iloc[-1])

    @property
    def table(self) -> pd.DataFrame:
        """Errors by how many of the items are asked, from the first on; index "n_items".

        Columns: expected_error, as above; model_error, what the model says of it; misfit, the
        square root of the variance that is added to the model's. For items drawn at random the
        last two are NaN: their intervals take no model for true.
        """
        return self._table.copy()

    @cached_property
    def _table(self) -> pd.DataFrame:
        import pandas as pd

        if self.design is not None:
            rows = [(_rms(self._errors_drawn()), np.nan, np.nan)]
            sizes = [len(self.items)]
        else:
            errors, variances = self._errors()
            sizes = self._sizes
            rows = [
                (_rms(error), np.sqrt(np.mean(v)), np.sqrt(added_variance(error, v)))
                for error, v in zip(errors, variances, strict=True)
            ]
        columns = ["expected_error", "model_error", "misfit"]
        return pd.DataFrame(rows, pd.Index(sizes, name="n_items"), columns)

    @property
    def item_table(self) -> pd.DataFrame:
        """The items in the order of the ranking; index "item".

        Columns: rank, from 1 on; those of ``result.items``; selected_of, how many items they were
        selected of, and design, "chosen" where they were not drawn, by which
        :func:`irtkit.score` knows such a table from one of all items.
        """
        table = self.result.items.loc[list(self.items)]
        table.insert(0, "rank", range(1, len(table) + 1))
        of, design = len(self.covariance.known), self.design or "chosen"
        return table.assign(selected_of=of, design=design)

    def save(self, path: str | PathLike[str]) -> None:
        """Write to one .npz file what :func:`irtkit.score` needs, which takes its path for items.

        It holds the parameters of all items, and of items that were chosen misfit by how many are
        asked, cross-validated; neither responses nor names of respondents.
        """
        sizes, misfit = np.zeros(0), np.zeros(0)
        if self.design is None:
            sizes, misfit = np.array(self._sizes), self._table["misfit"].to_numpy() ** 2
        save_items(path, self.calibrated, sizes, misfit)

    @property
    def calibrated(self) -> CalibratedItems:
        """All items of the fit, with the misfit of scores told from those selected."""
        whole = items_for_scores(self.result)
        if self.design is not None:
            return replace(whole, design=self.design)
        return replace(whole, design="chosen", misfit=self._misfit)

    @cached_property
    def pool(self) -> Pool:
        """The items that :func:`irtkit.adaptive` may ask."""
        return Pool(self)

    @cached_property
    def cells(self) -> Cells:
        """Answers of all respondents to the known items."""
        patterns = self.result.patterns
        return Cells.of(patterns, np.arange(patterns.n), self.covariance.known)

    @cached_property
    def held(self) -> list[Held]:
        """What is learned without each fold: rankings of twice as many items, if there are."""
        found = []
        for fold, rows in refits(self.result, self.families, self.folds, self.seed):
            covariance = ItemCovariance.of(fold, self.covariance)
            ranking = covariance.ranking(2 * len(self.items))
            found.append(Held(rows, covariance.items, ranking))
        return found

    @property
    def _sizes(self) -> list[int]:
        return [*(size for size in _SIZES if size < len(self.items)), len(self.items)]

    def _errors(self) -> tuple[Array, Array]:
        """Errors of held-out scores and their variances under the model, (n_sizes, n) each."""
        found = []
        for rows, items, ranking in self.held:
            cells = self.cells.chosen(rows)
            for size in self._sizes:
                expected, variance = expected_scores(items, cells, ranking[:size])
                found.append(np.stack([expected - cells.score, variance]))
        by_fold = [found[k :: len(self._sizes)] for k in range(len(self._sizes))]
        errors, variances = np.stack([np.concatenate(part, axis=1) for part in by_fold], axis=1)
        return errors, variances

    def _errors_drawn(self) -> Array:
        """Errors of held-out scores told from items drawn anew in every fold, (n,)."""
        responses = dense_responses(self.result, "cross-validation")
        known, found = self.covariance.known, []
        generator = np.random.default_rng(self.seed)
        for fold, rows in refits(self.result, self.families, self.folds, self.seed):
            drawn = _drawn(
                ItemCovariance.of(fold, self.covariance), len(self.items), self.design, generator
            )
            answers = responses.part(rows, known[drawn])
            scores = score(answers, fold, design=self.design)["expected_score"]
            found.append(scores.to_numpy() - self.cells.chosen(rows).score)
        return np.concatenate(found)

    def _misfit(self, asked: Places) -> float:
        """Variance that the model does not explain, where the first of the items were asked.

        Of other items what `irtkit.scoring.scores.misfit_of` says.
        """
        number = {label: place for place, label in enumerate(self.result.item_labels)}
        first = [number[label] for label in self.items[: len(asked)]]
        if set(first) == set(asked):
            of_sizes = self._table["misfit"].to_numpy() ** 2
            return float(np.interp(len(asked), self._sizes, of_sizes))
        whole = items_for_scores(self.result).misfit
        return 0.0 if whole is None else whole(asked)

    def __str__(self) -> str:
        drawn = "" if self.design is None else f", {self.design}"
        errors = self._table["expected_error"]
        listed = "; ".join(f"{n} items {100 * error:.2f}" for n, error in errors.items())
        about = (
            "error of the score told from the first of them, in percentage points (root mean "
            f"square, cross-validated by family): {listed}"
        )
        return in_lines([f"{len(self.items)} of {len(self.covariance.known)} items{drawn}", about])


def select_items(
    result: FitResult,
    k: int,
    *,
    design: Design | None = None,
    families: Any = SIMILAR,
    folds: int = 10,
    seed: int = 0,
) -> Selection:
    """Choose the items to ask, so that few of them tell the score on all.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    k
        How many items to ask.
    design
        None chooses them for respondents like those of the fit: a ranking by how much is left
        unknown of the mean of all items (:mod:`irtkit.selection.blend`), of which the k first are
        taken, so that the items for k are the first of those for 2k. "random" draws every item
        with the same probability and "stratified" one of each of k strata of difficulty: scores
        told from these are honest for respondents unlike those of the fit as well, which choice
        is not, at the price of a larger error.
    families
        Families of respondents, which are left out together: "similar" joins the pairs of
        :func:`irtkit.similar_respondents`; or a mapping or list as :func:`irtkit.flag_items` takes.
    folds, seed
        Parts of the families that are left out in turn, by fits to the rest, to find the expected
        error. The same seed makes the same parts and draws the same items.

    Returns
    -------
    Selection
        items (labels in the order of the ranking), expected_error (root mean square error of the
        score, cross-validated), table (the same by number of items), item_table, and save(path),
        to score later without the fit. :func:`irtkit.score` takes it
        for its ``items``, with the answers of new respondents to the items selected;
        :func:`irtkit.adaptive` asks them one by one. Items that :func:`irtkit.flag_items` lists,
        and those whose slope is not above 0, are never chosen; draws are from all items, as
        else the score on all would be told from a part of them.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a fit with its responses, these are sparse, or k is not a whole number
        from 1 to how many items there are to choose from.

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
    check_type("result", result, FitResult)
    dense_responses(result, "select_items")
    check_whole("k", k, 1)
    check_whole("folds", folds, 2)
    check_seed(seed)
    check_families(result, families)
    covariance = ItemCovariance.of(result)
    if design is not None:
        check_one_of("design", design, DESIGNS)
        _check_enough(k, len(covariance.known), "calibrated")
        places = _drawn(covariance, k, design, np.random.default_rng(seed))
    else:
        places = covariance.ranking(k)
        _check_enough(k, len(places), "fit to be chosen")
    labels = tuple(result.item_labels[place] for place in covariance.known[places])
    return Selection(labels, result, covariance, design, families, folds, seed)


def _check_enough(k: int, there: int, what: str) -> None:
    if not there:
        raise ValueError(
            "no item is fit to be chosen: all are suspect (irtkit.flag_items lists them), or their "
            "slopes are not above 0"
        )
    if k > there:
        raise ValueError(f"k must be at most {there}, the number of items {what}; got {short(k)}")


def _drawn(
    covariance: ItemCovariance, k: int, design: Any, generator: np.random.Generator
) -> Places:
    """Places of k items drawn at random, or one of each of k strata of difficulty.

    Strata begin anywhere, so that one may hold the easiest and the hardest items: all items are
    equally likely then, though strata differ by one in their size.
    """
    n_items = covariance.items.n_items
    if design == "random":
        return generator.permutation(n_items)[:k]
    order = np.argsort(covariance.items.expected_error(), kind="stable")
    start = generator.random() * n_items
    bounds = np.ceil(start + np.arange(k) * (n_items / k)).astype(np.intp)
    return order[generator.integers(bounds, np.append(bounds[1:], bounds[0] + n_items)) % n_items]


def _rms(error: Array) -> float:
    return float(np.sqrt(np.mean(error**2)))
