"""Claims about the quality standard, with the numbers of Kolena's page as referee."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import irtkit
from irtkit import ResponseMatrix
from irtkit.calibration.summary import quality_finding
from irtkit.difficulty import absolute_error, detection_score, misclassifications, quality_standard
from irtkit.difficulty.quality import quality_of

# the tables of https://docs.kolena.com/metrics/difficulty-score
PAGE = pd.DataFrame(
    {
        "respondent": "A",
        "item": [1, 2, 3, 4],
        "recall": [0.1, 0.5, 0.9, 0.6],
        "cost": [3.14, 0.9, 0.01, 0.5],
        "accuracy": [0.5, 0.8, 0.99, 0.55],
    }
)
HIGHER = ["recall", "accuracy"]
BINARY = pd.DataFrame(
    {
        "respondent": "A",
        "item": range(1, 9),
        "truth": [1, 1, 1, 1, 0, 0, 0, 0],
        "prediction": [0.01, 0.49, 0.5, 0.8, 0.01, 0.49, 0.5, 0.8],
    }
)
REGRESSION = BINARY.assign(truth=range(1, 9), prediction=[1, 1, 2, 3, 5, 8, 13, 21])
# two items at the ends of the scale follow, so that the page's three keep their scores
SYSTEMS = {"A": [0.3, 0.1, 0.4], "B": [0.3, 0.9, 0.2], "C": [0.3, 0.1, 0.6]}
THREE_SYSTEMS = pd.concat(
    {name: pd.DataFrame({"score": [*scores, 0, 1]}) for name, scores in SYSTEMS.items()}
)


def long_table(**metrics):
    """Long table of metrics given as respondents × items."""
    rows = [
        ("AB"[r], f"i{i}", name, value)
        for name, table in metrics.items()
        for r, row in enumerate(table)
        for i, value in enumerate(row)
    ]
    return pd.DataFrame(rows, columns=["respondent", "item", "metric", "value"])


SMALL = long_table(cost=[[1, 2, 4], [3, 5, 9]], recall=[[0.9, 0.5, 0.1], [0.2, 0.8, None]])


def test_values_agree_with_the_page(worked_values):
    page = quality_standard(PAGE, HIGHER)
    labels = BINARY[["respondent", "item"]]
    binary, regression = absolute_error(BINARY), absolute_error(REGRESSION)
    computed = {
        "score": page.items,
        "datapoint": quality_standard(THREE_SYSTEMS, []).items[:3],
        "binary_delta": binary,
        "binary_norm": quality_standard(labels.join(binary), []).items,
        "regression_delta": regression,
        "regression_norm": quality_standard(labels.join(regression), []).items,
        **{name: rows["value"] for name, rows in page.scaled.groupby("metric")},
    }
    stored = worked_values["difficulty_score"]
    assert stored.keys() == computed.keys()
    for name, found in computed.items():
        assert found.tolist() == pytest.approx(stored[name]["exact"], abs=1e-9), name
        digits = 0.005 if name in {"datapoint", "binary_norm", "regression_norm"} else 1e-3
        assert found.tolist() == pytest.approx(stored[name]["printed"], abs=digits), name


WIDE = SMALL.pivot_table(index=["respondent", "item"], columns="metric", values="value")


def test_wide_and_long_are_the_same():
    long = quality_standard(SMALL, ["recall"])
    named = WIDE.rename_axis(["system", "question"])
    for layout in (WIDE, WIDE.swaplevel(), WIDE.reset_index(), named):
        found = quality_standard(layout, ["recall"])
        pd.testing.assert_frame_equal(found.scores, long.scores)
        pd.testing.assert_series_equal(found.items, long.items)


def test_a_missing_value_leaves_its_weight_to_the_others():
    weights = {"cost": 0.25, "recall": 0.75}
    scores = quality_standard(SMALL, ["recall"], weights=weights).scores
    assert scores.loc["i1", "A"] == pytest.approx(0.25 / 3 + 0.75 / 2)
    assert scores.loc["i2", "B"] == 1  # by cost alone


def test_a_constant_metric_is_left_out_where_it_is_constant():
    table = long_table(cost=[[1, 2], [3, 3 + 1e-15]], recall=[[0, 1], [1, 0]])
    assert quality_standard(table, ["recall"]).scores["B"].tolist() == [0, 1]
    pooled = quality_standard(table, ["recall"], scale="pooled")
    assert pooled.scores["B"].tolist() == pytest.approx([0.5, 1])


def test_without_a_varying_metric_the_score_is_missing():
    standard = quality_standard(long_table(cost=[[1, 1, None], [1, 2, None]]), [])
    assert standard.scores["A"].isna().all()
    assert standard.items.tolist() == pytest.approx([0, 1, np.nan], nan_ok=True)


def test_misclassifications_are_counted_over_respondents():
    classes = pd.DataFrame({"respondent": ["A", "B", "C"] * 2, "item": ["x"] * 3 + ["y"] * 3})
    classes["prediction"], classes["truth"] = ["cat", "dog", None, "dog", "dog", "cow"], "cat"
    found = misclassifications(classes).tolist()
    assert found == pytest.approx([1, 1, np.nan, 3, 3, 3], nan_ok=True)
    with pytest.raises(ValueError, match="both be numbers or both be text"):
        misclassifications(BINARY.assign(truth="1"))


def test_detections_are_scored_by_their_counts():
    counts = {"respondent": "A", "item": [1, 2, 3], "TP": [3, 0, 0], "FN": [1, 4, 0]}
    table = pd.DataFrame(counts)
    for measure, given, values in (
        ("F1", table.assign(FP=[2, 1, 0]), [6 / 9, 0, np.nan]),
        ("recall", table, [3 / 4, 0, np.nan]),
    ):
        found = detection_score(given, measure)
        assert found.tolist() == pytest.approx(values, nan_ok=True)
        assert found.name == measure


@pytest.mark.parametrize(("arguments", "message"), [
    ({"higher_is_better": ["recal"]}, "higher_is_better names 'recal'"),
    ({"higher_is_better": "recall"}, "must be a collection of names"),
    ({"weights": {"recall": 0.5, "price": 0.5}}, "must name every metric .* recall, price"),
    ({"weights": {"recall": 0.5, "cost": 0.6}}, "weights must sum to 1, got 1.1"),
])  # fmt: skip
def test_settings_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        quality_standard(SMALL, **{"higher_is_better": ["recall"], **arguments})


@pytest.mark.parametrize(("table", "message"), [
    (SMALL.assign(value=np.inf), "got inf at respondent 'A', item 'i0', metric 'cost'"),
    (SMALL.drop(columns="value"), "must have a column 'value'"),
    (SMALL.assign(item=[None, *SMALL["item"][1:]]), "row 1 of the table lacks the item"),
    (
        pd.concat([SMALL, SMALL[2:4]]),
        r"twice: respondent 'A', item 'i2', metric 'cost' \(and 1 more",
    ),
])  # fmt: skip
def test_tables_with_wrong_values_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        quality_standard(table, ["recall"])


class TestOfResponses:
    responses = ResponseMatrix([[1, 0, 1], [1, 1, 0]], ["gpt", "llama"], ["q1", "q2", "q3"])
    wide = pd.DataFrame(
        {
            "respondent": ["gpt"] * 3 + ["llama"] * 2,
            "item": ["q1", "q2", "q3", "q1", "q2"],
            "tokens": [10, 20, 30, 5, 15],
            "f1": [1.0, 0.5, 0.75, 0.9, 0.4],
        }
    )
    # (z of tokens + z of 1 − f1) / 2: gpt has 0 and 0, 1/2 and 1, 1 and 1/2; llama 0 and 0, 1 and 1
    scores: ClassVar = {"q1": 0.0, "q2": (0.75 + 1) / 2, "q3": 0.75}

    def test_every_form_gives_the_same_scores(self):
        renamed = self.wide.rename(columns={"respondent": "Model", "item": "question_id"})
        for form in (pl.from_pandas(self.wide), renamed):
            quality = quality_of(self.responses, form, ["f1"])
            assert quality.items.to_dict() == pytest.approx(self.scores)

    def test_metrics_of_the_responses_go_by_their_names(self):
        long = self.wide.melt(["respondent", "item"], var_name="metric")
        responses = self.responses.with_tables(metrics=long)
        found = quality_of(responses, ["tokens", "f1"], ["f1"])
        assert found.items.to_dict() == pytest.approx(self.scores)
        with pytest.raises(
            ValueError, match=r"metrics='token' .* \(f1, tokens\), did you mean 'tokens'"
        ):
            quality_of(responses, ["token"], [])

    def test_directions_must_be_given_except_for_a_quality_standard(self):
        given = quality_standard(self.wide, ["f1"], scale="pooled")
        assert quality_of(self.responses, given) is given
        for metrics, directions in ((given, ["f1"]), (self.wide, None)):
            with pytest.raises(ValueError, match="higher_is_better= must name"):
                quality_of(self.responses, metrics, directions)

    def test_other_labels_are_named(self):
        crowd = irtkit.add_synthetic(self.responses, ("always-right",))
        for column, other, message in (
            ("respondent", "lama", "respondent 'lama', .* have gpt, llama, did you mean 'llama'"),
            ("respondent", "always-right", "respondent 'always-right'"),
            ("item", "q9", "item 'q9', which the responses do not have"),
        ):
            table = self.wide.assign(**{column: [*self.wide[column][:-1], other]})
            with pytest.raises(ValueError, match=message):
                quality_of(crowd, table, [])

    def test_a_finding_names_metrics_by_their_directions(self):
        standard = quality_standard(self.wide.assign(age=7), ["f1"])
        values = quality_finding([0.1, np.nan], standard.settings).values
        assert values == {"higher": ["f1"], "lower": ["tokens"], "constant": ["age"], "n": 1}
