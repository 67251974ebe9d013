"""Claims about what makes items hard, beside what the task goes by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from irtkit.prediction import feature_importances

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]]:
    """Items are hard near the border; their class is the side of it, as a second feature says."""
    generator = np.random.default_rng(0)
    index = [f"i{k}" for k in range(300)]
    table = pd.DataFrame(generator.normal(size=(300, 3)), index=index, columns=list("xyz"))
    difficulty = -table["x"].abs() + generator.normal(0, 0.2, 300)
    return table, difficulty, table["y"] > 0


def test_features_of_difficulty_and_of_the_task_are_told_apart(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    found = feature_importances(*made)
    assert found.index[0] == "x"
    assert found["task"].idxmax() == "y"
    assert found.loc["z"].abs().max() < 0.1
    assert found.loc["x", "difficulty"] > 1
    assert found.attrs["difficulty"] > 0.7
    assert found.attrs["task"] > 0.95
    ranks = found[["difficulty", "task"]].corr("spearman").iloc[0, 1]
    assert found.attrs["spearman"] == pytest.approx(ranks)


def test_without_labels_there_is_difficulty_alone(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    found = feature_importances(*made[:2], regressor="gradient boosting", repeats=2)
    assert list(found.columns) == ["difficulty", "difficulty_sd"]


def test_labels_are_no_feature(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    table = made[0].assign(side=np.where(made[2], "left", "right"))
    with pytest.raises(ValueError, match="must not be the labels: 'side'"):
        feature_importances(table, *made[1:])


def test_labels_may_be_a_mapping(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    given, plan = made[2], {"regressor": "linear", "repeats": 1}
    found = feature_importances(*made[:2], given.to_dict(), **plan)
    assert found.equals(feature_importances(*made, **plan))


def test_labels_of_all_items_are_needed(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    with pytest.raises(ValueError, match="no label of item 'i3'"):
        feature_importances(*made[:2], made[2].drop("i3"))
    with pytest.raises(ValueError, match="one for each of 300 items"):
        feature_importances(*made[:2], [0, 1])


def test_labels_in_the_order_of_the_target_are_those_of_its_items(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    table, difficulty, labels = made
    unknown = difficulty.where(np.arange(300) % 7 > 0).sample(frac=1, random_state=0)
    plan = {"regressor": "linear", "repeats": 1}
    by_label, in_order = (
        feature_importances(table.drop("i5"), unknown, given, **plan)
        for given in (labels, labels[unknown.index].to_numpy())
    )
    assert in_order.equals(by_label)
    assert in_order.attrs == by_label.attrs


def test_names_that_are_allowed_are_features(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    with pytest.raises(ValueError, match="allow must name features, and 'w' is none"):
        feature_importances(*made, allow=["w"])


def test_some_items_are_left_to_train_on(
    made: tuple[pd.DataFrame, pd.Series[float], pd.Series[bool]],
) -> None:
    table, difficulty, _ = made
    with pytest.raises(ValueError, match=r"held_out=0.99 of 10 items leaves 0 to train on"):
        feature_importances(table[:10], difficulty[:10], held_out=0.99)
