"""A regressor that predicts difficulty, with intervals, and makes a prior of its predictions.

An interval reaches from a prediction to both sides as far as cross-validated predictions err. With
R_i = |y_i − μ₋ₖ₍ᵢ₎(x_i)| by the model without the fold of item i, it is the ⌈(1 − α)(n + 1)⌉-th
smallest R_i of n (Barber, Candès, Ramdas & Tibshirani 2021, "Predictive inference with the
jackknife+"). It holds about 1 − α of similar items in practice.

Regressors are the same as in Martínez-Plumed et al. (AAAI 2022), with the defaults of scikit-learn.
But the penalty of the elastic net is cross-validated, and linear regression is not stepwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_number, check_one_of, check_seed, check_unique, first_names, short
from irtkit.prediction.features import as_features, check_categories, check_leaks
from irtkit.prediction.targets import TARGETS, difficulty_targets
from irtkit.responses.tables import by_item
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from irtkit.prediction.features import Embedding

REGRESSORS = (
    "linear",
    "elastic net",
    "gradient boosting",
    "k nearest neighbours",
    "random forest",
)
"""Names of the regressors."""


def training_of(
    features: object,
    target: object,
    name: str,
    *,
    embed: Embedding | None = None,
    allow: Collection[str] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features and targets of the items with features and a finite target ``name``."""
    import pandas as pd

    check_one_of("target", name, TARGETS)
    targets = difficulty_targets(target) if isinstance(target, FitResult) else target
    targets = by_label(targets, "target")
    if isinstance(targets, pd.Series):
        targets = targets.to_frame(name)
    if name not in targets.columns:
        raise ValueError(
            f"target lacks the column {short(name)}, it has {first_names(targets.columns)}"
        )
    table = as_features(features, list(targets.index), embed)
    measures = [measure for measure in TARGETS if measure in targets.columns]
    check_leaks(table, target=targets[measures], allow=allow)
    check_categories(table)
    targets = targets[np.isfinite(targets[name].astype(float))]
    usable = targets.index.intersection(table.index, sort=False)
    if not len(usable):
        raise ValueError("features and target must share an item with a finite target")
    return table.loc[usable], targets.loc[usable]


def by_label(values: Any, name: str) -> Any:
    """A Series (or mapping) or a table by item label, as text."""
    import pandas as pd

    if isinstance(values, Mapping):
        values = pd.Series(dict(values))
    if not isinstance(values, pd.Series):
        values = by_item(values, name)
    values = values.rename(index=str).rename_axis("item")
    check_unique(f"{name} must have one value per item", values.index)
    return values


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
    targets_
        Targets of the items that have features and a target.
    cross_validated_
        DataFrame of these items: target and predicted (by the model without the fold of the item,
        NaN without folds).
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
        self.regressor = regressor
        self.target = target
        self.level = level
        self.folds = folds
        self.embed = embed
        self.allow = allow
        self.seed = seed

    def fit(self, features: object, target: object) -> Self:
        """Learn from items whose difficulty is known.

        Parameters
        ----------
        features : DataFrame, array, list or Series
            A DataFrame by item label, an array whose first axis is the items in the order of the
            target (images are flattened), or a list or Series of texts.
        target : FitResult, DataFrame or Series
            A FitResult with its responses, the table of :func:`difficulty_targets`, or a Series by
            item label. Items without a finite target or without features are left out.

        Returns
        -------
        DifficultyPredictor
            Itself.

        Raises
        ------
        ValueError
            If a feature reveals what is predicted (:func:`check_leaks`) or holds texts, or fewer
            items than folds have both features and a target.
        """
        import pandas as pd

        model = pipeline_of(self.regressor, self.seed)
        from sklearn.model_selection import KFold, cross_val_predict

        table, self.targets_ = training_of(
            features, target, self.target, embed=self.embed, allow=self.allow
        )
        target = self.targets_[self.target].astype(float)
        held = np.full(len(target), np.nan)
        with one_thread(user_api=None):
            if self.folds:
                folds = KFold(self.folds, shuffle=True, random_state=self.seed)
                held = cross_val_predict(model, table, target, cv=folds)
            self.model_ = model.fit(table, target)
        self.features_ = list(table.columns)
        self.cross_validated_ = pd.DataFrame({"target": target, "predicted": held})
        self.rmse_ = float(np.sqrt(np.mean((target - held) ** 2)))
        return self

    def predict(self, features: object, *, items: Sequence[str] | None = None) -> pd.DataFrame:
        """Predict how hard items are, answered or not, with intervals at ``level``.

        Parameters
        ----------
        features, items : optional
            As in :meth:`predict_intervals`.

        Returns
        -------
        pandas.DataFrame
            As from :meth:`predict_intervals`.
        """
        return self.predict_intervals(features, level=self.level, items=items)

    def predict_intervals(
        self, features: object, *, level: float, items: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Predict how hard items are, with intervals at a level.

        Parameters
        ----------
        features : DataFrame, array, list or Series
            As in :meth:`fit`. Further columns are ignored.
        level : float
            Coverage of the intervals.
        items : list of str, optional
            Labels of the rows of an array or of a list of texts.

        Returns
        -------
        pandas.DataFrame
            Index "item", columns predicted, low and high, in units of the target. The interval (NaN
            without folds, infinite with too few items for the level) covers the estimated target of
            similar items with probability ``level``.
        """
        import pandas as pd

        check_number("level", level, above=0, below=1)
        table = as_features(features, items, self.embed)[self.features_]
        with one_thread(user_api=None):
            predicted = self.model_.predict(table)
        tried = self.cross_validated_
        errors = np.sort((tried["target"] - tried["predicted"]).abs())
        rank = math.ceil(level * (len(errors) + 1) - 1e-9)  # a rank such as 0.7 · 10 is whole
        reach = errors[rank - 1] if rank <= len(errors) else np.inf
        columns = {"predicted": predicted, "low": predicted - reach, "high": predicted + reach}
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
            for all: the root mean square error in cross-validation, less the errors of the target
            (its column "Rasch_se").

        Raises
        ------
        ValueError
            If the target is not "Rasch", or there were no folds.
        """
        if self.target != "Rasch" or not self.folds:
            raise ValueError(
                "prior_mean needs difficulties in logits and their errors: "
                "DifficultyPredictor(target='Rasch') with folds"
            )
        if items is None and isinstance(features, list | tuple | np.ndarray):
            raise ValueError(
                "prior_mean: rows of an array or a list lack labels, by which a fit finds its "
                "items. Give labels as items="
            )
        variance = self.rmse_**2
        of_targets = np.asarray(self.targets_.get("Rasch_se", 0.0)) ** 2
        # errors of difficulty may seem to explain all of it
        unexplained = max(variance - np.nanmean(of_targets), 0.1 * variance)
        predicted = self.predict(features, items=items)["predicted"]
        return predicted.to_frame("mean").assign(sd=np.sqrt(unexplained))


def pipeline_of(regressor: Any, seed: int) -> Any:
    """A pipeline from a table of features to difficulty.

    A regressor gets standardised numbers: missing ones are the median of their column, with an
    indicator, and categories are columns of 0 and 1. A pipeline gets the table as it is.
    """
    try:
        from sklearn.base import clone
        from sklearn.compose import make_column_selector, make_column_transformer
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
        regressor = {
            "linear": LinearRegression(),
            "elastic net": ElasticNetCV(cv=5, max_iter=10_000, random_state=seed),
            "gradient boosting": HistGradientBoostingRegressor(random_state=seed),
            "k nearest neighbours": KNeighborsRegressor(),
            "random forest": RandomForestRegressor(random_state=seed),
        }[regressor]
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (make_pipeline(imputer, StandardScaler()), make_column_selector(dtype_include="number")),
        (encoder, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, clone(regressor))
