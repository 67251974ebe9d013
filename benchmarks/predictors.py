"""Families of regressors compared by the protocol of the AAAI-22 paper, supplement.

Three tenths of the items are held out. On the others each regressor is cross-validated, 5 folds
twice; its NRMSE is the root mean square error over the SD of the difficulties of these items.
Fitted to all of them, it predicts those held out, and the rank correlation with their difficulties
is what counts. Once all items are trained on, once those with a negative slope are left out of
training.

Whether regressors differ is Friedman's test over the folds, and which do is Wilcoxon's signed rank
test of every pair, with Holm's correction (Demšar 2006, García & Herrera 2008). Folds share what
they train on, so p-values are smaller than those of independent data (Nadeau & Bengio 2003).
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, wilcoxon
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y
from statsmodels.stats.multitest import multipletests

from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.prediction.predictor import REGRESSORS, fitted, model_of, predicted, training_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

HELD_OUT, FOLDS, REPEATS = 0.3, 5, 2
DEPENDENT = 1e-8
"""Share of a feature's sum of squares left beside those chosen, below which it adds nothing."""


class StepwiseLinear(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression that takes up one feature after another while AIC falls.

    n log(RSS/n) + 2k (Venables & Ripley 2002, section 6.8), each step taking the feature that
    lowers the residual sum of squares most.
    """

    def fit(self, x: Any, y: Any) -> Self:
        """Choose features and fit."""
        x, y = check_X_y(x, y, y_numeric=True, dtype=np.float64)
        n = self.n_samples_ = len(y)
        self.n_features_in_ = x.shape[1]
        centre, level = x.mean(axis=0), y.mean()
        left, residual = x - centre, y - level
        own = np.einsum("ij,ij->j", left, left)
        chosen: list[int] = []
        aic = _aic(residual, 1)
        while len(chosen) < min(x.shape[1], n - 2):
            squares = np.einsum("ij,ij->j", left, left)
            usable = squares > DEPENDENT * np.maximum(own, 1e-300)
            usable[chosen] = False
            if not usable.any():
                break
            gain = np.where(usable, (residual @ left) ** 2 / np.maximum(squares, 1e-300), -1)
            best = int(gain.argmax())
            direction = left[:, best] / float(squares[best]) ** 0.5
            following = residual - direction * (direction @ residual)
            if (next_aic := _aic(following, len(chosen) + 2)) >= aic:
                break
            aic, residual = next_aic, following
            left = left - np.outer(direction, direction @ left)
            chosen.append(best)
        self.chosen_ = np.array(chosen, dtype=np.intp)
        self.coef_ = np.zeros(x.shape[1])
        if chosen:
            self.coef_[chosen] = np.linalg.lstsq((x - centre)[:, chosen], y - level, rcond=None)[0]
        self.intercept_ = float(level - centre @ self.coef_)
        return self

    def predict(self, x: Any) -> Array:
        """Predicted values, (n,)."""
        check_is_fitted(self)
        return np.asarray(check_array(x, dtype=np.float64) @ self.coef_ + self.intercept_)


def _aic(residual: Array, k: int) -> float:
    n = len(residual)
    return n * math.log(max(float(residual @ residual) / n, 1e-300)) + 2 * k


class Comparison(NamedTuple):
    """Regressors compared on one set of items."""

    table: pd.DataFrame
    """Index: target, negative_slopes ("kept" or "removed" in training), regressor. Columns: nrmse
    (mean over folds), nrmse_sd, nrmse_held_out, spearman (with the target of the held-out items),
    n_training, n_held_out."""
    friedman: pd.DataFrame
    """Index: target, negative_slopes. Columns: statistic and p_value."""
    pairs: pd.DataFrame
    """Index: target, negative_slopes, regressor, other. Columns: difference (of nrmse, median over
    folds), p_value and p_holm."""


def compared(
    features: pd.DataFrame, targets: pd.DataFrame, target: str = "1PL", seed: int = 0
) -> Comparison:
    """Compare the five families, "linear" being stepwise."""
    training = training_of(features, targets, target)
    negative = (targets["slope"].reindex(training.features.index) < 0).to_numpy()
    kinds = {"kept": np.zeros(len(negative), dtype=bool)} | (
        {"removed": negative} if negative.any() else {}
    )
    rows: dict[Any, Any] = {}
    friedman: dict[Any, Any] = {}
    pairs: dict[Any, Any] = {}
    for kind, left_out in kinds.items():
        folds = {}
        for name in REGRESSORS:
            nrmse, last = _run(training, name, left_out, seed)
            folds[name] = nrmse
            spread = {"nrmse": np.mean(nrmse), "nrmse_sd": np.std(nrmse, ddof=1)}
            rows[target, kind, name] = spread | last
        wide = pd.DataFrame(folds)
        found = friedmanchisquare(*wide.to_numpy().T)
        friedman[target, kind] = {"statistic": found.statistic, "p_value": found.pvalue}
        tests = {
            (target, kind, *pair): {
                "difference": float((wide[pair[0]] - wide[pair[1]]).median()),
                "p_value": float(wilcoxon(wide[pair[0]] - wide[pair[1]]).pvalue),
            }
            for pair in combinations(wide.columns, 2)
        }
        holm = multipletests([one["p_value"] for one in tests.values()], method="holm")[1]
        for (place, one), p in zip(tests.items(), holm, strict=True):
            pairs[place] = {**one, "p_holm": float(p)}
    return Comparison(
        *(
            pd.DataFrame(list(found.values()), pd.MultiIndex.from_tuples(found, names=names))
            for found, names in (
                (rows, ["target", "negative_slopes", "regressor"]),
                (friedman, ["target", "negative_slopes"]),
                (pairs, ["target", "negative_slopes", "regressor", "other"]),
            )
        )
    )


def _run(training: Any, name: str, left_out: Any, seed: int) -> tuple[list[float], dict[str, Any]]:
    """NRMSE of the folds, and what comes out for the held-out items."""
    table, y = training.features, training.target
    generator = np.random.default_rng(seed)
    order, n_held = generator.permutation(len(y)), round(HELD_OUT * len(y))
    held, rest = np.sort(order[:n_held]), np.sort(order[n_held:])

    def off(inside: Any, outside: Any) -> tuple[float, Array]:
        seen = inside[~left_out[inside]]
        regressor = StepwiseLinear() if name == "linear" else name
        model = fitted(model_of(regressor, table, seed), table.iloc[seen], y[seen])
        found = predicted(model, table.iloc[outside])
        return float(np.sqrt(np.mean((y[outside] - found) ** 2))), found

    nrmse = []
    for _ in range(REPEATS):
        fold_of = generator.permutation(np.arange(len(rest)) % FOLDS)
        nrmse += [off(rest[fold_of != k], rest[fold_of == k])[0] for k in range(FOLDS)]
    (rmse, found), scale = off(rest, held), float(y[rest].std())
    return [one / scale for one in nrmse], {
        "nrmse_held_out": rmse / float(y[held].std()),
        "spearman": spearman(levels(found / scale), levels(y[held] / scale)),
        "n_training": int((~left_out[rest]).sum()),
        "n_held_out": n_held,
    }
