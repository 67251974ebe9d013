"""Which features make items hard, compared with features that solve the task itself.

The permutation importance of a feature (Breiman 2001) is how much worse held-out items are
predicted after its values are permuted. A feature may matter for the task and not for difficulty,
and the other way round (AAAI-22 paper, supplement).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_one_of, check_seed, check_times, short
from irtkit.prediction.predictor import by_label, fitted, in_one_thread, model_of, training_of
from irtkit.prediction.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd


def feature_importances(
    features: object,
    target: object,
    labels: object = None,
    *,
    regressor: Any = "random forest",
    task_model: Any = None,
    target_name: str = "1PL",
    held_out: float = 0.3,
    repeats: int = 10,
    allow: Collection[str] = (),
    seed: int = 0,
) -> pd.DataFrame:
    """Permutation importance of features for difficulty, and for the task.

    Parameters
    ----------
    features, target : features and targets by item
        As in :meth:`DifficultyPredictor.fit`.
    labels : mapping, Series or list, optional
        Class or number that the task asks for, by item label. None for difficulty alone.
    regressor : str or regressor, default "random forest"
        Predicts difficulty, see :class:`DifficultyPredictor`.
    task_model : classifier or regressor, optional
        Predicts labels: any classifier or regressor of scikit-learn. By default a random forest
        classifier, or a regressor if labels are numbers with a fraction.
    target_name : str, default "1PL"
        Column of the targets, if they are a table.
    held_out : float, default 0.3
        Fraction of the items for the importances. The models are fitted to the others.
    repeats : int, default 10
        Number of permutations of each feature, at most 100,000.
    allow : list of str, optional
        Features that are allowed although they reveal what is predicted.
    seed : int, default 0
        Seed of the division of the items, the models and the permutations.

    Returns
    -------
    pandas.DataFrame
        Index "feature", the most important for difficulty first. Columns: difficulty and
        difficulty_sd, by how much R² of difficulty falls (mean and SD over permutations). R² itself
        is in ``attrs["difficulty"]``. With labels also task and task_sd, by how much the accuracy
        of the task model falls (R² for numbers). ``attrs["task"]`` holds the accuracy, and
        ``attrs["spearman"]`` the rank correlation of both importances.

    Raises
    ------
    ValueError
        If a feature reveals what is predicted, an item lacks a label, or fewer than 2 items are to
        train on.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from irtkit.prediction import feature_importances
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> features = pd.DataFrame(x, columns=["near the border", "side"])
    >>> features.index = [f"item-{k}" for k in range(200)]
    >>> difficulty = pd.Series(-np.abs(x[:, 0]), index=features.index)
    >>> side = pd.Series(x[:, 1] > 0, index=features.index)
    >>> table = feature_importances(features, difficulty, side)
    >>> table[["difficulty", "task"]].idxmax().to_dict()
    {'difficulty': 'near the border', 'task': 'side'}
    """
    import pandas as pd

    check_number("held_out", held_out, above=0, below=1)
    check_times("repeats", repeats, 1)
    check_seed(seed)
    check_one_of("target_name", target_name, TARGETS)
    training = training_of(features, target, target_name, allow=allow)
    table, n = training.features, len(training.target)
    n_held = max(2, round(held_out * n))
    if n - n_held < 2:
        raise ValueError(
            f"held_out={held_out:g} of {n} items leaves {n - n_held} to train on, and 2 are needed"
        )
    held, rest = np.split(np.random.default_rng(seed).permutation(n), [n_held])
    models = {"difficulty": (model_of(regressor, table, seed), training.target)}
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.inspection import permutation_importance

    if labels is not None:
        known = by_label(labels, "labels").reindex(table.index)
        if known.isna().any():
            raise ValueError(f"labels lacks a label of item {short(table.index[known.isna()][0])}")
        values = np.asarray(known)
        if task_model is None:
            fraction = values.dtype.kind == "f" and (values % 1 != 0).any()
            kind = RandomForestRegressor if fraction else RandomForestClassifier
            task_model = kind(random_state=seed)
        models["task"] = model_of(task_model, table, seed), values

    columns: dict[str, Any] = {}
    scores: dict[str, float] = {}
    for name, (model, wanted) in models.items():
        one, outside = fitted(model, table.iloc[rest], wanted[rest]), table.iloc[held]
        with in_one_thread():
            found = permutation_importance(
                one, outside, wanted[held], n_repeats=repeats, random_state=seed
            )
            scores[name] = float(one.score(outside, wanted[held]))
        columns |= {name: found.importances_mean, f"{name}_sd": found.importances_std}
    importances = pd.DataFrame(columns, index=pd.Index(table.columns, name="feature"))
    if labels is not None:
        scores["spearman"] = importances["difficulty"].corr(importances["task"], "spearman")
    importances = importances.sort_values("difficulty", ascending=False, kind="stable")
    importances.attrs.update(scores)
    return importances
