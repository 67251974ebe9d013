"""Claims about the answers of the strong, where several could be chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from irtkit import FitResult, ItemParameters, add_synthetic, fit, flag_items, simulate_responses
from irtkit.suspects.answers import strong_answers

ITEMS = [f"item-{k}" for k in range(1, 31)]


@pytest.fixture(scope="module")
def result() -> FitResult:
    """30 items of 200 respondents; the first has a wrong key."""
    items = ItemParameters(np.append(-1.5, np.full(29, 1.5)), np.zeros(30), np.zeros(30))
    return fit(simulate_responses(items, np.linspace(-2, 2, 200), seed=0), "2PL")


@pytest.fixture(scope="module")
def predictions(result: FitResult) -> pd.DataFrame:
    """A is marked right, and right but for the first item; whoever is wrong says B there."""
    assert result.responses is not None
    letters = np.where(result.responses.values == 1, "A", "B")
    return pd.DataFrame(letters, list(result.respondent_labels), ITEMS).astype(object)


def test_the_answer_of_the_strong_is_named_beside_the_one_marked_right(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    flagged = flag_items(result, predictions=predictions)
    assert flagged.loc["item-1", ["strong_answer", "marked_right"]].tolist() == ["B", "A"]
    strong = result.ability >= np.quantile(result.ability, 0.75)
    share = (predictions.loc[strong, "item-1"] == "B").mean()
    assert flagged.loc["item-1", "strong_share"] == pytest.approx(share, abs=1e-12)
    assert share > 0.8


def test_the_strong_agree_with_a_key_that_is_right(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    table = strong_answers(result, predictions).loc[ITEMS[1:]]
    assert (table["strong_answer"] == "A").all()
    assert (table["marked_right"] == "A").all()
    assert list(table.index) == ITEMS[1:]


def test_missing_predictions_do_not_count(result: FitResult, predictions: pd.DataFrame) -> None:
    holed = predictions.copy()
    strong = np.flatnonzero(result.ability >= np.quantile(result.ability, 0.75))
    holed.iloc[strong, 0] = None
    holed.iloc[strong[:3], 0] = ["C", "C", "B"]
    holed.iloc[strong, 1] = np.nan
    table = strong_answers(result, holed).loc[ITEMS[:2]]
    assert table.loc["item-1", "strong_answer"] == "C"
    assert table.loc["item-1", "strong_share"] == pytest.approx(2 / 3)
    assert pd.isna(table.loc["item-2", "strong_answer"])
    assert np.isnan(table.loc["item-2", "strong_share"])


def test_several_right_answers_or_none_are_not_named(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    assert result.responses is not None
    several = predictions.copy()
    right = np.flatnonzero(result.responses.values[:, 0] == 1)
    several.iloc[right[0], 0] = "a"
    several.iloc[np.flatnonzero(result.responses.values[:, 2] == 1)[0], 2] = None
    several.iloc[np.flatnonzero(result.responses.values[:, 1] == 1), 1] = None
    table = strong_answers(result, several).loc[ITEMS[:3]]
    assert table["marked_right"].isna().tolist() == [True, True, False]


def test_without_the_responses_nothing_can_be_marked(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    saved = replace(result, responses=None, saved_verdict=result.verdict)
    with pytest.raises(ValueError, match="predictions needs the responses"):
        strong_answers(saved, predictions)


def test_answers_that_cannot_be_compared_are_refused(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    lists = predictions.map(lambda answer: [answer])
    with pytest.raises(TypeError, match="predictions must hold answers such as text or numbers"):
        strong_answers(result, lists)


def test_labels_and_answers_may_be_numbers() -> None:
    items = ItemParameters(np.ones(20), np.zeros(20), np.zeros(20))
    responses = simulate_responses(
        items,
        np.linspace(-2, 2, 50),
        respondent_labels=range(50),
        item_labels=range(100, 120),
        seed=1,
    )
    answers = pd.DataFrame(
        np.where(responses.values == 1, 3, 7), index=range(50), columns=range(100, 120)
    )
    table = strong_answers(fit(responses, "1PL"), answers).loc[["100", "119"]]
    assert table["marked_right"].tolist() == [3, 3]
    assert table["strong_answer"].isin([3, 7]).all()


def test_the_order_of_rows_and_columns_and_further_ones_make_no_difference(
    result: FitResult, predictions: pd.DataFrame
) -> None:
    more = predictions.copy()
    more["further"], more.loc["somebody else"] = "C", "C"
    moved = more.sample(frac=1, random_state=0).sample(frac=1, axis=1, random_state=1)
    pd.testing.assert_frame_equal(
        strong_answers(result, moved), strong_answers(result, predictions)
    )


def test_synthetic_respondents_neither_answer_nor_need_to(predictions: pd.DataFrame) -> None:
    items = ItemParameters(np.append(-1.5, np.full(29, 1.5)), np.zeros(30), np.zeros(30))
    real = simulate_responses(items, np.linspace(-2, 2, 200), seed=0)
    crowd = fit(add_synthetic(real, "always-right"), "2PL")
    table = strong_answers(crowd, predictions)
    assert table["marked_right"].tolist() == ["A"] * 30
    answering = pd.concat([predictions, predictions.iloc[:1].set_axis(["always-right"])])
    pd.testing.assert_frame_equal(strong_answers(crowd, answering), table)


def test_an_item_is_listed_if_the_strong_agree_on_an_answer_that_is_not_marked_right(
    predictions: pd.DataFrame, result: FitResult
) -> None:
    reason = "the strong agree on another answer"
    strong = np.flatnonzero(result.ability >= np.quantile(result.ability, 0.75))
    given = predictions.copy()
    for column, n_alike in ((4, 0.8), (5, 0.5)):  # whoever of the strong is right gives no answer
        wrong = strong[(predictions.iloc[strong, column] == "B").to_numpy()]
        alike = np.arange(len(wrong)) < n_alike * len(wrong)
        given.iloc[strong, column] = None
        given.iloc[wrong, column] = np.where(alike, "C", "B")
    flagged = flag_items(result, predictions=given)
    assert flagged.loc["item-1", "reasons"] == f"negative discrimination; {reason}"
    listed = flagged["reasons"].str.contains(reason)
    assert sorted(listed[listed].index) == ["item-1", "item-5"]
    assert not flag_items(result)["reasons"].str.contains(reason).any()


@pytest.mark.parametrize(
    ("kind", "change", "rule"),
    [
        ("row", lambda p: p.drop("respondent-9"), "has no respondent 'respondent-9'"),
        ("column", lambda p: p.drop(columns="item-4"), "predictions has no item 'item-4'"),
        (
            "row twice",
            lambda p: pd.concat([p, p.iloc[:1]]),
            "every respondent once: 'respondent-1' occurs twice",
        ),
        (
            "column twice",
            lambda p: pd.concat([p, p[["item-2"]]], axis=1),
            "predictions must have every item once: 'item-2' occurs twice",
        ),
    ],
)
def test_a_missing_or_repeated_label_is_named(
    result: FitResult, predictions: pd.DataFrame, kind: str, change: object, rule: str
) -> None:
    assert callable(change), kind
    with pytest.raises(ValueError, match=rule):
        flag_items(result, predictions=change(predictions))


@pytest.mark.parametrize("wrong", [{"item-1": ["A"]}, "A", np.zeros((2, 2))])
def test_what_is_no_table_of_predictions_is_refused(result: FitResult, wrong: object) -> None:
    with pytest.raises(TypeError, match=f"must be a DataFrame, got {type(wrong).__name__}"):
        flag_items(result, predictions=wrong)
