"""Regressors from a table of features to difficulty, by name or of scikit-learn.

The families of Martínez-Plumed et al. (AAAI 2022) with the default settings of scikit-learn, but
the penalty of the elastic net is cross-validated, and linear regression is not stepwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.methods import one_thread
from irtkit.checks import not_one_of, short
from irtkit.prediction.features import columns_by_kind

if TYPE_CHECKING:
    import pandas as pd

REGRESSORS = (
    "linear",
    "elastic net",
    "gradient boosting",
    "k nearest neighbours",
    "random forest",
)
"""Names of the regressors."""


def model_of(regressor: Any, features: pd.DataFrame, seed: int) -> Any:
    """A pipeline from a table of features to difficulty.

    A regressor gets numbers: missing ones are the median of their column, with an indicator, and
    categories are columns of 0 and 1. k nearest neighbours and the elastic net get standardised
    numbers. A pipeline gets the table as it is.
    """
    try:
        from sklearn.base import clone
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import Pipeline, make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
    except ImportError as error:
        raise ImportError(
            "irtkit.prediction needs scikit-learn: pip install 'irtkit[predict]'"
        ) from error

    if isinstance(regressor, Pipeline):
        return clone(regressor)
    if isinstance(regressor, str):
        last = _named(regressor, seed)
    elif hasattr(regressor, "fit") and hasattr(regressor, "predict"):
        last = clone(regressor)
    else:
        raise TypeError(
            f"regressor must be one of {', '.join(REGRESSORS)}, or a regressor or pipeline of "
            f"scikit-learn; got {short(regressor)}"
        )
    numeric, categorical = columns_by_kind(features)
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    scaled = isinstance(regressor, str) and regressor in {"elastic net", "k nearest neighbours"}
    numbers = make_pipeline(imputer, StandardScaler()) if scaled else imputer
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = [("numeric", numbers, numeric), ("categories", encoder, categorical)]
    return Pipeline([("numbers", ColumnTransformer(columns)), ("regressor", last)])


def _named(name: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import ElasticNetCV, LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    if name not in REGRESSORS:
        raise not_one_of("regressor", name, REGRESSORS)
    return {
        "linear": LinearRegression(),
        "elastic net": ElasticNetCV(cv=5, max_iter=10_000, random_state=seed),
        "gradient boosting": HistGradientBoostingRegressor(random_state=seed),
        "k nearest neighbours": KNeighborsRegressor(),
        "random forest": RandomForestRegressor(random_state=seed),
    }[name]


def fitted(model: Any, features: Any, target: Any, weights: Any = None) -> Any:
    """Fit a fresh copy of a pipeline, with weights if there are any."""
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    fresh, given = clone(model), {}
    if weights is not None:
        last, regressor = fresh.steps[-1]
        if not has_fit_parameter(regressor, "sample_weight"):
            raise ValueError(f"weights: {type(regressor).__name__} takes none")
        given = {f"{last}__sample_weight": weights}
    with in_one_thread():
        return fresh.fit(features, target, **given)


def predicted(model: Any, features: Any) -> Any:
    """Predictions of a fitted model, (n,)."""
    with in_one_thread():
        return np.asarray(model.predict(features), dtype=np.float64)


def in_one_thread() -> Any:
    """Hold scikit-learn to one thread, as a fit does with linear algebra."""
    import sklearn.ensemble  # noqa: F401  # its threads are among those looked up

    return one_thread(user_api=None)
