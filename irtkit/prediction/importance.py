"""Which features make items hard, compared with features that solve the task itself.

The permutation importance of a feature (Breiman 2001) is how much worse held-out items are
predicted after its values are permuted. A feature may matter for the task and not for difficulty,
and the other way round (AAAI-22 paper, supplement).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_seed, short
from irtkit.prediction.predictor import by_label, pipeline_of, training_of
from irtkit.threads import one_thread

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
        classifier.
    target_name : str, default "1PL"
        Column of the targets, if they are a table.
    held_out : float, default 0.3
        Fraction of the items for the importances. The models are fitted to the others.
    repeats : int, default 10
        Number of permutations of each feature.
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
        If a feature reveals what is predicted, or an item lacks a label.

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

    check_seed(seed)
    table, target = training_of(features, target, target_name, allow=allow)
    models = {"difficulty": (pipeline_of(regressor, seed), target[target_name])}
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    if labels is not None:
        classes = by_label(labels, "labels").reindex(table.index)
        if classes.isna().any():
            lacking = table.index[classes.isna()][0]
            raise ValueError(f"labels lacks a label of item {short(lacking)}")
        classifier = RandomForestClassifier(random_state=seed) if task_model is None else task_model
        models["task"] = (pipeline_of(classifier, seed), classes)
    train, held = train_test_split(np.arange(len(table)), test_size=held_out, random_state=seed)
    importances = pd.DataFrame(index=table.columns.rename("feature"))
    for name, (model, wanted) in models.items():
        outside = table.iloc[held], wanted.iloc[held]
        with one_thread(user_api=None):
            model.fit(table.iloc[train], wanted.iloc[train])
            importance = permutation_importance(
                model, *outside, n_repeats=repeats, random_state=seed
            )
            importances.attrs[name] = float(model.score(*outside))
        importances[name] = importance.importances_mean
        importances[f"{name}_sd"] = importance.importances_std
    if labels is not None:
        ranks = importances["difficulty"].corr(importances["task"], "spearman")
        importances.attrs["spearman"] = ranks
    return importances.sort_values("difficulty", ascending=False, kind="stable")
