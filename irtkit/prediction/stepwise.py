"""Linear regression with forward selection of features by Akaike's criterion.

Kept in a module of its own, since it needs scikit-learn when it is loaded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_DEPENDENT = 1e-8
"""Share of a feature's sum of squares left beside those chosen, below which it adds nothing."""


class StepwiseLinear(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression that takes up one feature after another while AIC falls.

    n log(RSS/n) + 2k (Venables & Ripley 2002, section 6.8), each step taking the feature that
    lowers the residual sum of squares most.

    Examples
    --------
    >>> import numpy as np
    >>> from irtkit.prediction.stepwise import StepwiseLinear
    >>> x = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = StepwiseLinear().fit(x, 2 * x[:, 3] + 0.1 * x[:, 0])
    >>> model.chosen_.tolist(), model.coef_.round(2).tolist()
    ([3, 0], [0.1, 0.0, 0.0, 2.0, 0.0])
    """

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose features and fit; weights are those of observations."""
        x, y = check_X_y(x, y, y_numeric=True, dtype=np.float64)
        self.n_features_in_ = x.shape[1]
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        weight = weight / weight.mean()
        centre, level = np.average(x, axis=0, weights=weight), np.average(y, weights=weight)
        root: Array = np.sqrt(weight)
        left, residual = (x - centre) * root[:, None], (y - level) * root
        whole = left.copy()
        own = np.einsum("ij,ij->j", left, left)
        chosen: list[int] = []
        n = len(y)
        aic = _aic(residual, n, 1)
        while len(chosen) < min(x.shape[1], n - 2):
            squares = np.einsum("ij,ij->j", left, left)
            usable = squares > _DEPENDENT * np.maximum(own, 1e-300)
            usable[chosen] = False
            if not usable.any():
                break
            gain = np.where(usable, (residual @ left) ** 2 / np.maximum(squares, 1e-300), -1)
            best = int(gain.argmax())
            direction = left[:, best] / float(squares[best]) ** 0.5
            following = residual - direction * (direction @ residual)
            if (next_aic := _aic(following, n, len(chosen) + 2)) >= aic:
                break
            aic, residual = next_aic, following
            left -= np.outer(direction, direction @ left)
            chosen.append(best)
        self.chosen_ = np.array(chosen, dtype=np.intp)
        self.coef_ = np.zeros(x.shape[1])
        if chosen:
            target = (y - level) * root
            self.coef_[chosen] = np.linalg.lstsq(whole[:, chosen], target, rcond=None)[0]
        self.intercept_ = float(level - centre @ self.coef_)
        return self

    def predict(self, x: Any) -> Array:
        """Predicted values, (n,)."""
        check_is_fitted(self)
        x = check_array(x, dtype=np.float64)
        return np.asarray(x @ self.coef_ + self.intercept_)


def _aic(residual: Array, n: int, k: int) -> float:
    """Akaike's criterion of k coefficients, n log(RSS/n) + 2k."""
    mean_square = max(float(residual @ residual) / n, 1e-300)
    return n * math.log(mean_square) + 2 * k
