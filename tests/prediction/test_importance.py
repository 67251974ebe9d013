"""Claims about what makes items hard, compared with what the task goes by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from irtkit.prediction import feature_importances

pytest.importorskip("sklearn")


Made = tuple[pd.DataFrame, "pd.Series[float]", "pd.Series[bool]"]


@pytest.fixture(scope="module")
def made() -> Made:
    """Items are hard near the border. Their class is the side of it, as a second feature says."""
    generator = np.random.default_rng(0)
    index = [f"i{k}" for k in range(300)]
    table = pd.DataFrame(generator.normal(size=(300, 3)), index=index, columns=list("xyz"))
    difficulty = -table["x"].abs() + generator.normal(0, 0.2, 300)
    return table, difficulty, table["y"] > 0


def test_features_of_difficulty_and_of_the_task_are_separated(made: Made) -> None:
    found = feature_importances(*made)
    assert found.index[0] == "x"
    assert found["task"].idxmax() == "y"
    assert found.loc["z"].abs().max() < 0.1
    assert found.loc["x", "difficulty"] > 1
    assert found.attrs["difficulty"] > 0.7
    assert found.attrs["task"] > 0.95
    ranks = found[["difficulty", "task"]].corr("spearman").iloc[0, 1]
    assert found.attrs["spearman"] == pytest.approx(ranks)


def test_without_labels_there_is_difficulty_alone(made: Made) -> None:
    found = feature_importances(*made[:2], regressor="gradient boosting", repeats=2)
    assert list(found.columns) == ["difficulty", "difficulty_sd"]
    with pytest.raises(ValueError, match="lacks a label of item 'i3'"):
        feature_importances(*made[:2], made[2].drop("i3"))
