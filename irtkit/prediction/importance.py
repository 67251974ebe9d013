"""Which features make items hard, beside those that the task itself is solved by.

A feature's permutation importance is how much worse held-out items are predicted when its values
are dealt out among them at random (Breiman 2001). A feature may matter for telling the classes
apart and not for how hard items are, and the other way round (AAAI-22 paper, supplement).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_one_of, check_seed, check_times, short
from irtkit.difficulty.rank_agreement import levels, spearman
from irtkit.prediction.features import names_allowed, the_same_kinds
from irtkit.prediction.predictor import by_label, training_of
from irtkit.prediction.regressors import fitted, in_one_thread, model_of
from irtkit.prediction.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from irtkit.prediction.predictor import Training


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
    """Permutation importance of features for difficulty, beside that for the task.

    Parameters
    ----------
    features, target
        As in :meth:`DifficultyPredictor.fit`; texts are no features that can be dealt out.
    labels
        Class or number that the task asks for, by item label, or one for each item of the target,
        in its order; None for difficulty alone.
    regressor
        Predicts difficulty, see :class:`DifficultyPredictor`.
    task_model
        Predicts labels: any classifier or regressor of scikit-learn; by default a random forest,
        a classifier unless labels are numbers with a fraction.
    target_name
        Column of the targets, if they are a table.
    held_out
        Share of the items on which importances are found, and which no model was fitted to.
    repeats
        How many times the values of each feature are dealt out, at most 100,000.
    allow
        Features that are allowed although they tell what is predicted.
    seed
        Of the division of the items, the models and the deals.

    Returns
    -------
    pandas.DataFrame
        Index "feature", the most important for difficulty first. Columns: difficulty and
        difficulty_sd, by how much R² of difficulty falls (mean and SD over the deals; R² itself is
        in ``attrs["difficulty"]``); and with labels task and task_sd, by how much the share right
        of the task model falls (R² for numbers; ``attrs["task"]``), and ``attrs["spearman"]``, the
        rank correlation of both importances.

    Raises
    ------
    ValueError
        If a feature tells what is predicted or is the labels, an item has no label, or fewer than 2
        items are left to train on.

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
    order = np.random.default_rng(seed).permutation(n)
    n_held = max(2, round(held_out * n))
    if n - n_held < 2:
        raise ValueError(
            f"held_out={held_out:g} of {n} items leaves {n - n_held} to train on, and 2 are needed"
        )
    held, rest = order[:n_held], order[n_held:]
    division = rest, held
    plan = {"repeats": repeats, "seed": seed}
    model = model_of(regressor, table, seed)
    score, columns = _importances(
        model, table, training.target, division, name="difficulty", **plan
    )
    found = pd.DataFrame(columns, index=pd.Index(table.columns, name="feature"))
    scores: dict[str, float] = {"difficulty": score}
    if labels is not None:
        known = _labels(labels, training)
        same = the_same_kinds(table, pd.Series(known, index=table.index))
        if refused := [name for name in same if name not in names_allowed(allow, table)]:
            raise ValueError(
                f"features must not be the labels: {short(refused[0])}; leave it out, or say "
                f"allow={refused}"
            )
        task = model_of(task_model or _forest(known, seed), table, seed)
        scores["task"], columns = _importances(task, table, known, division, name="task", **plan)
        found = found.assign(**columns)
        scores["spearman"] = spearman(levels(found["difficulty"]), levels(found["task"]))
    found = found.sort_values("difficulty", ascending=False, kind="stable")
    found.attrs.update(scores)
    return found


def _importances(
    model: Any,
    table: pd.DataFrame,
    target: Any,
    division: tuple[Any, Any],
    *,
    name: str,
    repeats: int,
    seed: int,
) -> tuple[float, dict[str, Any]]:
    """Score of a model on held-out items, and by how much it falls for every feature."""
    from sklearn.inspection import permutation_importance

    rest, held = division
    one = fitted(model, table.iloc[rest], target[rest])
    outside = table.iloc[held]
    with in_one_thread():
        found = permutation_importance(
            one, outside, target[held], n_repeats=repeats, random_state=seed
        )
        score = float(one.score(outside, target[held]))
    return score, {name: found.importances_mean, f"{name}_sd": found.importances_std}


def _labels(labels: Any, training: Training) -> Any:
    """Labels of the items of training, in their order; those of others are not looked at."""
    import pandas as pd

    items, given = training.features.index, training.given
    if not (hasattr(labels, "reindex") or isinstance(labels, Mapping)):
        values = np.asarray(labels)
        if len(values) != len(given):
            raise ValueError(
                f"labels must have one for each of {len(given)} items, got {len(values)}"
            )
        labels = pd.Series(values, given)
    labels = by_label(labels, "labels").reindex(items)
    if labels.isna().any():
        raise ValueError(f"labels has no label of item {short(items[labels.isna()][0])}")
    return np.asarray(labels)


def _forest(labels: Any, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    fraction = labels.dtype.kind == "f" and not np.equal(np.mod(labels, 1), 0).all()
    return (RandomForestRegressor if fraction else RandomForestClassifier)(random_state=seed)
