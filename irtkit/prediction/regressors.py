"""The five families of regressors that the AAAI-22 paper compares, and tables made numbers.

Martínez-Plumed, Castellano-Falcón, Monserrat & Hernández-Orallo (2022), supplement: linear (with
stepwise selection), elastic net, gradient boosting, k nearest neighbours and random forest, with
default settings. Those of R's caret, which the paper used, choose the penalty of the elastic net by
cross-validation, and so it is here; scikit-learn's own default of 1 leaves no feature in a
difficulty whose SD is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.one_thread import one_thread
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
"""Names of the families."""


def refuse_missing_sklearn() -> None:
    """Say how to get scikit-learn where it is not there."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "irtkit.prediction needs scikit-learn: pip install 'irtkit[predict]'"
        ) from error


def model_of(regressor: Any, features: pd.DataFrame, seed: int) -> Any:
    """A pipeline from a table of features to difficulty.

    A regressor, by its name or an estimator of scikit-learn, gets numbers: missing ones the median
    of their column, with a column that says so where some were missing in training; categories a
    column of 0 and 1 each, those not seen before none; for k nearest neighbours and the elastic net
    numbers, not categories, of mean 0 and SD 1. A pipeline of one's own gets the table as it is.
    """
    refuse_missing_sklearn()
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if isinstance(regressor, Pipeline):
        return clone(regressor)
    if isinstance(regressor, str):
        scaled = regressor in {"elastic net", "k nearest neighbours"}
        last = family(regressor, seed)
    elif hasattr(regressor, "fit") and hasattr(regressor, "predict"):
        last, scaled = clone(regressor), False
    else:
        raise TypeError(
            f"regressor must be one of {', '.join(REGRESSORS)}, or a regressor or pipeline of "
            f"scikit-learn; got {short(regressor)}"
        )
    return Pipeline([("numbers", _numbers(features, scaled=scaled)), ("regressor", last)])


def family(name: str, seed: int) -> Any:
    """The regressor of a family, with default settings."""
    if name not in REGRESSORS:
        raise not_one_of("regressor", name, REGRESSORS)
    if name == "linear":
        from irtkit.prediction.stepwise import StepwiseLinear

        return StepwiseLinear()
    if name == "elastic net":
        from sklearn.linear_model import ElasticNetCV

        return ElasticNetCV(cv=5, max_iter=10_000, random_state=seed)  # texts have more columns
    if name == "k nearest neighbours":
        from sklearn.neighbors import KNeighborsRegressor

        return KNeighborsRegressor()
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

    kind = RandomForestRegressor if name == "random forest" else HistGradientBoostingRegressor
    return kind(random_state=seed)


def fitted(model: Any, features: Any, target: Any, weights: Any = None) -> Any:
    """Fit a fresh copy of a model, with weights if there are any.

    Raises
    ------
    ValueError
        If the regressor takes no weights.
    """
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
    """Hold what scikit-learn computes to one thread, as a fit does with linear algebra."""
    import sklearn.ensemble  # noqa: F401  # its threads are among those looked up

    return one_thread(user_api=None)


def _numbers(features: pd.DataFrame, *, scaled: bool) -> Any:
    """What makes numbers of the columns of a table."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric, categorical = columns_by_kind(features)
    steps: list[Any] = [
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    ]
    if scaled:
        steps.append(StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [
            ("numeric", make_pipeline(*steps), numeric),
            ("categories", encoder, categorical),
        ]
    )
