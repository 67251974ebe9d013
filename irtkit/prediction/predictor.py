"""A regressor that predicts difficulty, with intervals, and makes a prior of its predictions.

Intervals are CV+ (Barber, Candès, Ramdas & Tibshirani 2021, "Predictive inference with the
jackknife+"): of K regressors each is trained without one of K folds of the items, Rᵢ is how far
the one without item i is off there, and a new item has the interval from the ⌊α(n + 1)⌋-th smallest
of μ₋ₖ₍ᵢ₎(x) − Rᵢ to the ⌈(1 − α)(n + 1)⌉-th smallest of μ₋ₖ₍ᵢ₎(x) + Rᵢ. Of items that
come from where the items of training come from it holds, in practice, about 1 − α. What is proved
for any regressor is nearly 1 − 2α (their theorem 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import (
    check_number,
    check_one_of,
    check_seed,
    check_unique,
    check_whole,
    first_names,
    short,
)
from irtkit.prediction.features import as_features, check_leaks, like, refuse_texts
from irtkit.prediction.regressors import fitted, model_of, predicted
from irtkit.prediction.targets import TARGETS, difficulty_targets
from irtkit.responses.tables import by_item

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.prediction.features import Embedding
    from irtkit.responses import ResponseMatrix

    Array = NDArray[np.float64]

_LEAST_SHARE = 0.1
"""Of a variance, left where errors of difficulty seem to explain all of it (a convention): an SD of
0 would let predictions outvote all answers, and items known well would have all the weight."""
_BLOCK = 2**22
"""Numbers of the intervals worked on at once, 32 MiB."""
_ROUNDING = 1e-9
"""Within which a rank is whole: of 0.7 · 10, which comes out above 7, it is 7."""


class Training(NamedTuple):
    """Items with features and a target, in one order."""

    features: pd.DataFrame
    target: Array
    errors: Array | None
    """Standard errors of the target, NaN where there is none; None if there are none at all."""
    logits: float | None
    """Logits in a unit of the target; None where this is not known, or not the same of all."""
    given: pd.Index[str]
    """Items that the target was given of, in its order."""


def training_of(
    features: object,
    target: object,
    name: str,
    *,
    errors: object = None,
    responses: ResponseMatrix | None = None,
    least: int = 2,
    embed: Embedding | None = None,
    allow: Collection[str] = (),
) -> Training:
    """Items that have features and a finite target; features that leak are refused.

    ``name`` is the column of a table of targets that is predicted, and what a Series holds;
    ``responses`` are those that a table is of.
    """
    import pandas as pd

    given = target
    if isinstance(target, FitResult):
        responses, given = target.responses, difficulty_targets(target)
    logits = 1.0 if name == "Rasch" else None
    if hasattr(given, "columns"):
        targets = by_label(given, "target")
        if name not in targets.columns:
            raise ValueError(
                f"target has no column {short(name)}, but {first_names(targets.columns)}"
            )
        if name == "1PL" and "Rasch" in targets.columns:
            logits = _ratio(targets["Rasch"], targets["1PL"])
        errors = targets.get(f"{name}_se") if errors is None else errors
        measures = targets[[one for one in TARGETS if one in targets.columns]]
        known = targets[name].astype(np.float64)
    elif isinstance(given, pd.Series):
        known = by_label(given, "target").astype(np.float64)
        measures = known.to_frame(name)
    else:
        raise TypeError(
            "target must be a FitResult, a table of targets or a Series by item label, got "
            f"{type(given).__name__}"
        )
    table = as_features(features, list(known.index), embed)
    check_leaks(table, target=measures, responses=responses, allow=allow)
    refuse_texts(table, allow)
    usable = known[np.isfinite(known)].index.intersection(table.index, sort=False)
    if len(usable) < max(2, least):
        raise ValueError(
            f"features and target have {len(usable)} items in common with a finite target, and "
            f"{max(2, least)} are needed"
        )
    found = None
    if errors is not None:
        found = np.asarray(by_label(errors, "errors").reindex(usable), dtype=np.float64)
        if (found < 0).any():
            label = usable[int(np.argmax(found < 0))]
            raise ValueError(f"errors must be 0 or more; that of item {short(label)} is not")
    values = np.asarray(known[usable], dtype=np.float64)
    return Training(table.loc[usable], values, found, logits, known.index)


def by_label(values: Any, name: str) -> Any:
    """A Series (or mapping) or a table by item label, as text; arrays have none and are refused.

    A table has its labels in a column "item", or else in its index.
    """
    import pandas as pd

    if isinstance(values, Mapping):
        values = pd.Series(dict(values))
    if hasattr(values, "columns"):
        values = by_item(values, name)
    if not isinstance(values, pd.Series | pd.DataFrame):
        raise TypeError(f"{name} must be a Series by item label, got {type(values).__name__}")
    check_unique(f"{name} must have one value per item", values.index.map(str))
    return values.set_axis(pd.Index(values.index.map(str), name="item"), axis=0)


def _ratio(logits: Any, units: Any) -> float | None:
    """Logits in a unit, None where it is not the same of all items."""
    some = np.isfinite(units) & np.isfinite(logits) & (units != 0)
    ratios = np.asarray(logits[some] / units[some], dtype=np.float64)
    if not len(ratios) or not np.allclose(ratios, ratios[0]):
        return None
    return float(np.median(ratios))


class DifficultyPredictor:
    """Predict how hard items are from their features.

    Parameters
    ----------
    regressor
        "linear", "elastic net", "gradient boosting", "k nearest neighbours" or "random forest"
        (default); or any regressor of scikit-learn, which gets numbers (missing ones imputed,
        categories as columns); or a pipeline, which gets the table of features as it is.
    target
        Which column of the targets is predicted (:func:`difficulty_targets`): "1PL" (default),
        "Rasch" (the same in logits), "2PL", "average_error" or "expected_error".
    weights
        "error" gives items weight by how well their difficulty is known, 1/(s² + se²), with s² the
        variance of the target beyond its errors; None (default) gives all the same. A forest draws
        items with these probabilities, which scikit-learn's does from version 1.9 on.
    level
        Probability with which intervals are to hold an item's target.
    folds
        Parts of the items that intervals are found by, each held out once: so many more fits. 0
        for no intervals.
    embed
        Makes texts numbers, see :func:`irtkit.prediction.text_embedding`; any function from a list
        of texts to an array with a row for each.
    allow
        Names of features that are allowed although they tell what is predicted
        (:func:`check_leaks`).
    seed
        The same seed gives the same predictions from the same items in the order of the target:
        folds, and what a forest draws, go by it.

    Attributes
    ----------
    model_
        The fitted pipeline.
    training_
        Features, target and its standard errors, of the items that have both.
    cross_validated_
        DataFrame of these items: target, predicted (by the model of the folds without the item) and
        fold; empty without folds.
    rmse_
        Root mean square error of these predictions, NaN without folds.

    Raises
    ------
    ImportError
        On fitting, if scikit-learn is not installed (the extra ``irtkit[predict]``).

    Examples
    --------
    Items with many words are hard:

    >>> import irtkit, numpy as np, pandas as pd
    >>> words = np.arange(120) % 40
    >>> difficulty = words / 10 - 2 + np.sin(words**2) / 2
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(120), difficulty)
    >>> responses = irtkit.simulate_responses(items, [k / 40 - 2 for k in range(160)], seed=0)
    >>> features = pd.DataFrame({"words": words}, index=responses.items)
    >>> predictor = irtkit.DifficultyPredictor("linear", target="Rasch")
    >>> predictor.fit(features, irtkit.fit(responses, "1PL")).predict(
    ...     pd.DataFrame({"words": [10, 30]}, index=["new", "harder"])
    ... ).round(1)
            predicted  low  high
    item
    new          -1.0 -1.7  -0.4
    harder        1.0  0.3   1.6
    """

    def __init__(
        self,
        regressor: Any = "random forest",
        *,
        target: str = "1PL",
        weights: str | None = None,
        level: float = 0.9,
        folds: int = 10,
        embed: Embedding | None = None,
        allow: Collection[str] = (),
        seed: int = 0,
    ) -> None:
        check_one_of("target", target, TARGETS)
        if weights is not None:
            check_one_of("weights", weights, ("error",))
        check_seed(seed)
        check_whole("folds", folds, 0)
        if folds == 1:
            raise ValueError("folds must be 2 or more, or 0 for no intervals; got 1")
        self.regressor, self.target, self.weights = regressor, target, weights
        self.level = check_number("level", level, above=0, below=1)
        self.folds, self.embed, self.seed = folds, embed, seed
        self.allow = (allow,) if isinstance(allow, str) else tuple(allow)

    def fit(self, features: object, target: object, *, errors: object = None) -> Self:
        """Learn from items whose difficulty is known.

        Parameters
        ----------
        features
            Of the items: a DataFrame by item label (numbers, categories, missing values), an array
            whose first axis is the items in the order of the target (images are flattened), a list
            or Series of texts, or a ResponseMatrix or FitResult whose item table has a text.
        target
            A FitResult with its responses, the table that :func:`difficulty_targets` makes of one
            (labels in a column "item", or else its index), or a Series by item label. Only a
            FitResult holds answers, and so only beside one are those of a single respondent refused
            as a feature. Items without a finite target are left out, and so are those without a row
            of features.
        errors
            Standard errors of a Series, by item label.

        Returns
        -------
        DifficultyPredictor
            Itself.

        Raises
        ------
        ValueError
            If a feature tells what is predicted or holds texts, a name in ``allow`` is no feature,
            fewer than 2 items (or than folds) have both features and a target, an error is below 0,
            or ``weights="error"`` has no errors to go by.
        """
        training = training_of(
            features,
            target,
            self.target,
            errors=errors,
            least=self.folds,
            embed=self.embed,
            allow=self.allow,
        )
        table, y = training.features, training.target
        weights = weights_of(training) if self.weights == "error" else None
        model = model_of(self.regressor, table, self.seed)
        self.model_ = fitted(model, table, y, weights)
        self.training_, self._of_folds = training, []
        held = np.full(len(y), np.nan)
        fold_of = self._fold_of(len(y))
        for k in range(self.folds):
            seen = fold_of != k
            some = None if weights is None else weights[seen]
            one = fitted(model, table[seen], y[seen], some)
            held[~seen] = predicted(one, table[~seen])
            self._of_folds.append(one)
        self._off, self._fold = np.abs(y - held), fold_of
        import pandas as pd

        shown = {"target": y, "predicted": held, "fold": fold_of}
        tried = pd.DataFrame(shown, index=table.index)
        self.cross_validated_ = tried if self.folds else tried.iloc[:0]
        self.rmse_ = float(np.sqrt(np.mean((y - held) ** 2)))
        return self

    def predict(self, features: object, *, items: Sequence[str] | None = None) -> pd.DataFrame:
        """Predict how hard items are, answered or not.

        Parameters
        ----------
        features
            As in :meth:`fit`; columns that were not there are not looked at.
        items
            Labels of the rows of an array or of a list of texts.

        Returns
        -------
        pandas.DataFrame
            Index "item"; columns predicted, low and high, in units of the target. The interval is
            to hold the target, with all error of its own, for a share ``level`` of new items from
            where those of training come from; NaN without folds.

        Raises
        ------
        ValueError
            If nothing was fitted, a feature is missing or holds text where numbers were, or items
            come beside a table.
        """
        import pandas as pd

        table = self._table(features, items)
        found = predicted(self.model_, table) if len(table) else np.zeros(0)
        low, high = self._interval(table)
        columns = {"predicted": found, "low": low, "high": high}
        return pd.DataFrame(columns, index=table.index)

    def prior_mean(self, features: object, *, items: Sequence[str] | None = None) -> pd.DataFrame:
        """Predictions as ``irtkit.WeakPrior(difficulty_mean=...)`` takes them.

        Those of items that it was fitted to hold their answers already, which then count twice.

        Parameters
        ----------
        features, items
            As in :meth:`predict`; rows of an array or a list must have labels, those of the fit.

        Returns
        -------
        pandas.DataFrame
            Index "item"; columns mean, the predicted difficulty in logits, and sd, the same for
            all: the root mean square error of predictions of held-out items, less what the errors
            of their own difficulties have in it.

        Raises
        ------
        ValueError
            If the target is neither "Rasch" nor "1PL", there were no folds, or difficulties of the
            1PL, which are in SDs of ability, came without those of Rasch, which say how many logits
            an SD is.
        """
        if self.target not in {"Rasch", "1PL"} or not self.folds:
            raise ValueError(
                "prior_mean needs the target 'Rasch' or '1PL' and folds of 2 or more; got "
                f"{self.target!r} and {self.folds}"
            )
        if items is None and isinstance(features, list | tuple | np.ndarray):
            raise ValueError(
                "prior_mean: rows of an array or a list have no labels, by which a fit finds its "
                "items; give them as items="
            )
        found = self.predict(features, items=items)
        logits = self.training_.logits
        if logits is None:
            raise ValueError(
                "prior_mean: of a 1PL in SDs of ability it is not known how many logits an SD is; "
                "give difficulties in logits with target='Rasch', or a FitResult"
            )
        own, errors = self.rmse_**2, self.training_.errors
        if errors is not None:
            known = errors[np.isfinite(errors)]
            own -= float(np.mean(known**2)) if len(known) else 0.0
        sd = np.sqrt(max(own, _LEAST_SHARE * self.rmse_**2))
        return found[["predicted"]].set_axis(["mean"], axis=1).assign(sd=sd) * logits

    def _table(self, features: object, items: Sequence[str] | None) -> pd.DataFrame:
        if not hasattr(self, "model_"):
            raise ValueError("the predictor knows no items yet: call fit first")
        if items is not None and hasattr(features, "columns"):
            raise ValueError("items are the labels of an array or a list; a table has its own")
        table = as_features(features, items, self.embed)
        known = self.training_.features.columns
        if isinstance(features, np.ndarray) and table.shape[1] != len(known):
            raise ValueError(
                f"features have {table.shape[1]} numbers an item, and the predictor was fitted to "
                f"{len(known)}: images must be of one size"
            )
        if missing := [name for name in known if name not in table.columns]:
            raise ValueError(
                f"features lack {first_names(missing)}, which the predictor was fitted to"
            )
        return like(table, self.training_.features)

    def _fold_of(self, n: int) -> NDArray[np.intp]:
        """The fold of every item, drawn at random, all of one size but for one item."""
        order = np.random.default_rng(self.seed).permutation(n)
        fold: NDArray[np.intp] = np.empty(n, dtype=np.intp)
        fold[order] = np.arange(n) % max(self.folds, 1)
        return fold

    def _interval(self, table: pd.DataFrame) -> tuple[Array, Array]:
        """CV+ intervals of new items."""
        n_new, n = len(table), len(self._off)
        low, high = np.full((2, n_new), np.nan)
        if not self.folds or not n_new:
            return low, high
        above = math.ceil(self.level * (n + 1) - _ROUNDING)
        below = n + 1 - above
        by_fold = np.stack([predicted(one, table) for one in self._of_folds], axis=1)
        step = max(1, _BLOCK // n)
        for start in range(0, n_new, step):
            at = by_fold[start : start + step][:, self._fold]
            some = slice(start, start + len(at))
            low[some] = _smallest(at - self._off, below)
            high[some] = _smallest(at + self._off, above)
        return low, high


def _smallest(values: Array, k: int) -> Any:
    """The k-th smallest of every row; none is −∞, and more than there are ∞."""
    if not 1 <= k <= values.shape[1]:
        return -np.inf if k < 1 else np.inf
    return np.partition(values, k - 1)[:, k - 1]


def weights_of(training: Training) -> Array:
    """1/(s² + se²), of mean 1; items whose error is not known count as the worst known."""
    errors = training.errors
    if errors is None or not np.isfinite(errors).any():
        raise ValueError("weights='error' needs standard errors of the target")
    squares = np.where(np.isfinite(errors), errors, np.nanmax(errors[np.isfinite(errors)])) ** 2
    spread = max(
        float(training.target.var() - squares.mean()), _LEAST_SHARE * training.target.var()
    )
    weights = 1 / (spread + squares)
    return np.asarray(weights / weights.mean())
