"""A regressor that predicts difficulty, with intervals, and makes a prior of its predictions.

Intervals are CV+ (Barber, Candès, Ramdas & Tibshirani 2021, "Predictive inference with the
jackknife+"). Fit K models, each without one fold, and let R_i = |y_i − μ₋ₖ₍ᵢ₎(x_i)|. The interval
of a new x reaches from the ⌊α(n + 1)⌋-th smallest of μ₋ₖ₍ᵢ₎(x) − R_i to the ⌈(1 − α)(n + 1)⌉-th
smallest of μ₋ₖ₍ᵢ₎(x) + R_i. It holds about 1 − α of similar items in practice.

Regressors are the same as in Martínez-Plumed et al. (AAAI 2022), with the defaults of scikit-learn.
But the penalty of the elastic net is cross-validated, and linear regression is not stepwise.
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
from irtkit.prediction.features import as_features, check_leaks, columns_by_kind, like
from irtkit.prediction.targets import TARGETS, difficulty_targets
from irtkit.responses.tables import by_item
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from irtkit.irf import Array
    from irtkit.prediction.features import Embedding

REGRESSORS = (
    "linear",
    "elastic net",
    "gradient boosting",
    "k nearest neighbours",
    "random forest",
)
"""Names of the regressors."""
_LEAST_SHARE = 0.1  # Of a variance, kept if errors of difficulty seem to explain all of it.
_BLOCK = 2**22  # Numbers of the intervals worked on at once, 32 MiB.
_ROUNDING = 1e-9  # Within which a rank such as 0.7 · 10 is whole.


class Training(NamedTuple):
    """Items with features and a target, in one order."""

    features: pd.DataFrame
    target: Array
    errors: Array | None  # Standard errors of the target, NaN where unknown.
    logits: float | None  # Logits in a unit of the target, None if unknown.


def training_of(
    features: object,
    target: object,
    name: str,
    *,
    errors: object = None,
    least: int = 2,
    embed: Embedding | None = None,
    allow: Collection[str] = (),
) -> Training:
    """Items that have features and a finite target, the column ``name`` of a table of targets."""
    import pandas as pd

    given: Any = difficulty_targets(target) if isinstance(target, FitResult) else target
    if not isinstance(given, pd.Series) and not hasattr(given, "columns"):
        raise TypeError(
            "target must be a FitResult, a table of targets or a Series by item label, got "
            f"{type(given).__name__}"
        )
    given = by_label(given, "target")
    targets = given.to_frame(name) if isinstance(given, pd.Series) else given
    if name not in targets.columns:
        raise ValueError(
            f"target lacks the column {short(name)}, it has {first_names(targets.columns)}"
        )
    known = targets[name].astype(np.float64)
    logits = 1.0 if name == "Rasch" else None
    if name == "1PL" and "Rasch" in targets.columns:
        ratio = (targets["Rasch"] / targets["1PL"]).replace([np.inf, -np.inf], np.nan)
        if np.allclose(ratio.dropna(), ratio.median()) and ratio.notna().any():
            logits = float(ratio.median())
    table = as_features(features, list(known.index), embed)
    measures = targets[[one for one in TARGETS if one in targets.columns]]
    check_leaks(table, target=measures, allow=allow)
    for column in columns_by_kind(table)[1]:
        texts, n = table[column], table[column].nunique()
        if n >= max(2, 0.9 * len(texts)) and texts.str.contains(" ").mean() > 0.5:
            if column in allow:
                continue
            raise ValueError(
                f"features: {short(column)} holds {n} different texts of {len(texts)} items. As "
                "categories they are useless for other items. Call the column text and give "
                "embed=, or leave it out"
            )
    usable = known[np.isfinite(known)].index.intersection(table.index, sort=False)
    if len(usable) < max(2, least):
        raise ValueError(
            f"features and target have {len(usable)} items in common with a finite target, and "
            f"{max(2, least)} are needed"
        )
    errors = targets.get(f"{name}_se") if errors is None else errors
    se = None
    if errors is not None:
        se = np.asarray(by_label(errors, "errors").reindex(usable), dtype=np.float64)
        if (se < 0).any():
            label = usable[int(np.argmax(se < 0))]
            raise ValueError(
                f"errors must be 0 or more, and the error of item {short(label)} is not"
            )
    return Training(table.loc[usable], np.asarray(known[usable]), se, logits)


def by_label(values: Any, name: str) -> Any:
    """A Series (or mapping) or a table by item label, as text."""
    import pandas as pd

    if isinstance(values, Mapping):
        values = pd.Series(dict(values))
    if hasattr(values, "columns"):
        values = by_item(values, name)
    if not isinstance(values, pd.Series | pd.DataFrame):
        raise TypeError(f"{name} must be a Series by item label, got {type(values).__name__}")
    check_unique(f"{name} must have one value per item", values.index.map(str))
    return values.set_axis(pd.Index(values.index.map(str), name="item"), axis=0)


class DifficultyPredictor:
    """Predict how hard items are from their features.

    Parameters
    ----------
    regressor : str, regressor or pipeline, default "random forest"
        "linear", "elastic net", "gradient boosting", "k nearest neighbours" or "random forest"
        (default). Or a regressor of scikit-learn, which gets numbers (missing ones imputed,
        categories as columns), or a pipeline, which gets the table.
    target : str, default "1PL"
        Which column of the targets is predicted (:func:`difficulty_targets`): "1PL" (default),
        "Rasch" (the same in logits), "2PL", "average_error" or "expected_error".
    level : float, default 0.9
        Coverage of the intervals.
    folds : int, default 10
        Folds of the cross-validation for intervals, each one more fit. 0 for no intervals.
    embed : callable, optional
        A function from a list of texts to an array with a row for each, such as
        :func:`irtkit.prediction.text_embedding`.
    allow : list of str, optional
        Names of features that are allowed although they reveal what is predicted
        (:func:`check_leaks`).
    seed : int, default 0
        Seed of the folds and of the regressor.

    Attributes
    ----------
    model_
        The fitted pipeline.
    training_
        Features, target and its standard errors, of the items that have both.
    cross_validated_
        DataFrame of these items: target, predicted (by the model without the fold of the item) and
        fold. Empty without folds.
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
        level: float = 0.9,
        folds: int = 10,
        embed: Embedding | None = None,
        allow: Collection[str] = (),
        seed: int = 0,
    ) -> None:
        check_one_of("target", target, TARGETS)
        check_seed(seed)
        check_whole("folds", folds, 0)
        if folds == 1:
            raise ValueError("folds must be 2 or more, or 0 for no intervals, got 1")
        self.regressor, self.target = regressor, target
        self.level = check_number("level", level, above=0, below=1)
        self.folds, self.embed, self.seed = folds, embed, seed
        self.allow = (allow,) if isinstance(allow, str) else tuple(allow)

    def fit(self, features: object, target: object, *, errors: object = None) -> Self:
        """Learn from items whose difficulty is known.

        Parameters
        ----------
        features : DataFrame, array, list, Series, ResponseMatrix or FitResult
            A DataFrame by item label, an array whose first axis is the items in the order of the
            target (images are flattened), a list or Series of texts, or a ResponseMatrix or
            FitResult whose item table has a text.
        target : FitResult, DataFrame or Series
            A FitResult with its responses, the table of :func:`difficulty_targets`, or a Series by
            item label. Items without a finite target or without features are left out.
        errors : Series, optional
            Standard errors of a Series, by item label.

        Returns
        -------
        DifficultyPredictor
            Itself.

        Raises
        ------
        ValueError
            If a feature reveals what is predicted (:func:`check_leaks`) or holds texts, fewer than
            2 items (or than folds) have both features and a target, or an error is below 0.
        """
        import pandas as pd

        settings: Any = {"least": self.folds, "embed": self.embed, "allow": self.allow}
        training = training_of(features, target, self.target, errors=errors, **settings)
        table, y = training.features, training.target
        model = model_of(self.regressor, table, self.seed)
        self.model_ = fitted(model, table, y)
        self.training_, self._of_folds = training, []
        held, fold_of = np.full(len(y), np.nan), np.empty(len(y), dtype=np.intp)
        order = np.random.default_rng(self.seed).permutation(len(y))
        fold_of[order] = np.arange(len(y)) % max(self.folds, 1)
        for k in range(self.folds):
            seen = fold_of != k
            one = fitted(model, table[seen], y[seen])
            held[~seen] = predicted(one, table[~seen])
            self._of_folds.append(one)
        shown = {"target": y, "predicted": held, "fold": fold_of}
        tried = pd.DataFrame(shown, index=table.index)
        self.cross_validated_ = tried if self.folds else tried.iloc[:0]
        self.rmse_ = float(np.sqrt(np.mean((y - held) ** 2)))
        return self

    def predict(self, features: object, *, items: Sequence[str] | None = None) -> pd.DataFrame:
        """Predict how hard items are, answered or not.

        Parameters
        ----------
        features : DataFrame, array, list, Series, ResponseMatrix or FitResult
            As in :meth:`fit`. Further columns are ignored.
        items : list of str, optional
            Labels of the rows of an array or of a list of texts.

        Returns
        -------
        pandas.DataFrame
            Index "item", columns predicted, low and high, in units of the target. The interval (NaN
            without folds) covers the estimated target of similar items with probability ``level``.

        Raises
        ------
        ValueError
            If nothing was fitted, or a feature is missing or holds text instead of numbers.
        """
        import pandas as pd

        table = self._table(features, items)
        found = predicted(self.model_, table) if len(table) else np.zeros(0)
        low, high = self._interval(table)
        columns = {"predicted": found, "low": low, "high": high}
        return pd.DataFrame(columns, index=table.index)

    def prior_mean(self, features: object, *, items: Sequence[str] | None = None) -> pd.DataFrame:
        """Predictions as ``irtkit.WeakPrior(difficulty_mean=...)`` takes them.

        Predictions of the items of the fit contain their answers, which then count twice.

        Parameters
        ----------
        features, items : optional
            As in :meth:`predict`. Rows of an array or a list must have labels as in the fit.

        Returns
        -------
        pandas.DataFrame
            Index "item", columns mean (predicted difficulty in logits) and sd. The sd is the same
            for all: the root mean square error in cross-validation, less the errors of the target.

        Raises
        ------
        ValueError
            If the target is neither "Rasch" nor "1PL", there were no folds, or difficulties of the
            1PL came without difficulties of Rasch, which show how many logits an SD is.
        """
        if self.target not in {"Rasch", "1PL"} or not self.folds:
            raise ValueError(
                "prior_mean needs the target 'Rasch' or '1PL' and folds of 2 or more, got "
                f"{self.target!r} and {self.folds}"
            )
        if items is None and isinstance(features, list | tuple | np.ndarray):
            raise ValueError(
                "prior_mean: rows of an array or a list lack labels, by which a fit finds its "
                "items. Give labels as items="
            )
        found = self.predict(features, items=items)
        logits = self.training_.logits
        if logits is None:
            raise ValueError(
                "prior_mean: the difficulties are in SDs of ability, and the number of logits per "
                "SD is unknown. Give difficulties in logits with target='Rasch', or a FitResult"
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

    def _interval(self, table: pd.DataFrame) -> tuple[Array, Array]:
        """CV+ intervals of new items."""
        known, n_new = self.cross_validated_, len(table)
        low, high = np.full((2, n_new), np.nan)
        if not self.folds or not n_new:
            return low, high
        n, fold = len(known), known["fold"].to_numpy()
        off = (known["target"] - known["predicted"]).abs().to_numpy()
        above = math.ceil(self.level * (n + 1) - _ROUNDING)
        below = n + 1 - above
        if above > n:  # too few items for the level
            return np.full(n_new, -np.inf), np.full(n_new, np.inf)
        by_fold = np.stack([predicted(one, table) for one in self._of_folds], axis=1)
        step = max(1, _BLOCK // n)
        for start in range(0, n_new, step):
            some = slice(start, start + step)
            at = by_fold[some][:, fold]
            low[some] = np.partition(at - off, below - 1)[:, below - 1]
            high[some] = np.partition(at + off, above - 1)[:, above - 1]
        return low, high


def model_of(regressor: Any, features: pd.DataFrame, seed: int) -> Any:
    """A pipeline from a table of features to difficulty.

    A regressor gets numbers: missing ones are the median of their column, with an indicator, and
    categories are columns of 0 and 1. k nearest neighbours and the elastic net get standardised
    numbers. A pipeline gets the table as it is.
    """
    try:
        from sklearn.base import clone
        from sklearn.compose import ColumnTransformer
        from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import ElasticNetCV, LinearRegression
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import Pipeline, make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
    except ImportError as error:
        raise ImportError(
            "irtkit.prediction needs scikit-learn: pip install 'irtkit[predict]'"
        ) from error

    if isinstance(regressor, Pipeline):
        return clone(regressor)
    if isinstance(regressor, str):
        check_one_of("regressor", regressor, REGRESSORS)
        last = {
            "linear": LinearRegression(),
            "elastic net": ElasticNetCV(cv=5, max_iter=10_000, random_state=seed),
            "gradient boosting": HistGradientBoostingRegressor(random_state=seed),
            "k nearest neighbours": KNeighborsRegressor(),
            "random forest": RandomForestRegressor(random_state=seed),
        }[regressor]
    elif hasattr(regressor, "fit") and hasattr(regressor, "predict"):
        last = clone(regressor)
    else:
        raise TypeError(
            f"regressor must be one of {', '.join(REGRESSORS)}, or a regressor or pipeline of "
            f"scikit-learn, got {short(regressor)}"
        )
    numeric, categorical = columns_by_kind(features)
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    scaled = isinstance(regressor, str) and regressor in {"elastic net", "k nearest neighbours"}
    numbers = make_pipeline(imputer, StandardScaler()) if scaled else imputer
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = [("numeric", numbers, numeric), ("categories", encoder, categorical)]
    return Pipeline([("numbers", ColumnTransformer(columns)), ("regressor", last)])


def fitted(model: Any, features: Any, target: Any) -> Any:
    """Fit a fresh copy of a pipeline."""
    from sklearn.base import clone

    with in_one_thread():
        return clone(model).fit(features, target)


def predicted(model: Any, features: Any) -> Any:
    """Predictions of a fitted model, (n,)."""
    with in_one_thread():
        return np.asarray(model.predict(features), dtype=np.float64)


def in_one_thread() -> Any:
    """Hold scikit-learn to one thread, as a fit does with linear algebra."""
    import sklearn.ensemble  # noqa: F401  # its threads are among those looked up

    return one_thread(user_api=None)
