"""Claims about the quality standard, with the numbers of Kolena's page as referee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtkit
from irtkit import ResponseMatrix
from irtkit.difficulty import (
    absolute_error,
    detection_score,
    misclassifications,
    quality_standard,
)
from irtkit.difficulty.quality import quality_finding, quality_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from irtkit.difficulty import QualityStandard

# the tables of https://docs.kolena.com/metrics/difficulty-score
PAGE = pd.DataFrame(
    {
        "recall": [0.1, 0.5, 0.9, 0.6],
        "cost": [3.14, 0.9, 0.01, 0.5],
        "accuracy": [0.5, 0.8, 0.99, 0.55],
    },
    index=[1, 2, 3, 4],
)
HIGHER = {"recall": True, "cost": False, "accuracy": True}
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
THREE_SYSTEMS = {
    name: pd.DataFrame({"score": [*scores, 0, 1]})
    for name, scores in {"A": [0.3, 0.1, 0.4], "B": [0.3, 0.9, 0.2], "C": [0.3, 0.1, 0.6]}.items()
}


def long_table(**metrics: list[list[float | None]]) -> pd.DataFrame:
    """Long table of metrics given as respondents × items."""
    rows = [
        ("AB"[r], f"i{i}", name, value)
        for name, table in metrics.items()
        for r, row in enumerate(table)
        for i, value in enumerate(row)
    ]
    return pd.DataFrame(rows, columns=["respondent", "item", "metric", "value"])


SMALL = long_table(cost=[[1, 2, 4], [3, 5, 9]], recall=[[0.9, 0.5, 0.1], [0.2, 0.8, None]])


def values_of_the_page() -> dict[str, list[float]]:
    """Every worked value of the page, computed."""
    page = quality_standard({"A": PAGE}, HIGHER)
    binary, regression = absolute_error(BINARY), absolute_error(REGRESSION)
    tables = {
        "score": page.items,
        "datapoint": quality_standard(THREE_SYSTEMS, []).items[:3],
        "binary_delta": binary["value"],
        "binary_norm": quality_standard(binary, []).items,
        "regression_delta": regression["value"],
        "regression_norm": quality_standard(regression, []).items,
        **{name: rows["value"] for name, rows in page.scaled.groupby("metric")},
    }
    return {name: table.tolist() for name, table in tables.items()}


class TestWorkedValues:
    def test_values_are_those_of_the_page(self) -> None:
        found = values_of_the_page()
        assert found["score"] == pytest.approx([1, 0.39070, 0, 0.47650], abs=5e-6)
        fractions = [1, (1 / 2 + 0.89 / 3.13 + 0.19 / 0.49) / 3]
        assert found["score"][:2] == pytest.approx(fractions, abs=1e-12)
        assert found["cost"] == pytest.approx([1, 0.284, 0, 0.156], abs=1e-3)
        # these the page prints with two digits
        assert found["datapoint"] == pytest.approx([0.3, 0.37, 0.4], abs=0.005)
        binary = [1, 0.51, 0.5, 0.19, 0, 0.49, 0.5, 0.81]
        assert found["binary_norm"] == pytest.approx(binary, abs=0.005)
        regression = [0, 0.08, 0.08, 0.08, 0, 0.15, 0.46, 1]
        assert found["regression_norm"] == pytest.approx(regression, abs=0.005)

    def test_values_are_the_exact_ones(self, worked_values: Any) -> None:
        stored = worked_values["difficulty_score"]
        computed = values_of_the_page()
        assert stored.keys() == computed.keys()
        for name, found in computed.items():
            assert found == pytest.approx(stored[name]["exact"], abs=1e-9), name
            digits = 0.005 if name in {"datapoint", "binary_norm", "regression_norm"} else 1e-3
            assert found == pytest.approx(stored[name]["printed"], abs=digits), name


class TestProperties:
    cell = st.one_of(st.none(), st.integers(-20, 20))

    @staticmethod
    def drawn(data: st.DataObject) -> pd.DataFrame:
        n_items = data.draw(st.integers(2, 5))
        row = st.lists(TestProperties.cell, min_size=n_items, max_size=n_items)
        table = st.lists(row, min_size=2, max_size=2)
        return long_table(cost=[[0] * n_items] * 2, a=data.draw(table), b=data.draw(table))

    @staticmethod
    def same(one: QualityStandard, other: QualityStandard) -> None:
        pd.testing.assert_frame_equal(one.scores, other.scores, rtol=0, atol=1e-12)
        pd.testing.assert_series_equal(one.items, other.items, rtol=0, atol=1e-12)

    scale = st.sampled_from(["respondent", "pooled"])

    @settings(max_examples=15, deadline=None)
    @given(scale=scale, data=st.data())
    def test_scores_lie_between_0_and_1(self, scale: Any, data: st.DataObject) -> None:
        standard = quality_standard(self.drawn(data), ["b"], scale=scale)
        for values in (standard.scores, standard.items, standard.scaled["value"]):
            known = values.to_numpy()[values.notna().to_numpy()]
            assert ((known >= 0) & (known <= 1)).all()

    @settings(max_examples=15, deadline=None)
    @given(scale=scale, data=st.data())
    def test_a_constant_metric_changes_nothing(self, scale: Any, data: st.DataObject) -> None:
        table = self.drawn(data)
        standard = quality_standard(table, ["b"], scale=scale)
        assert all("cost" in names for names in standard.constant.values())
        without = table[table["metric"] != "cost"]
        if without["value"].notna().any():
            rest = quality_standard(without, ["b"], scale=scale)
            self.same(standard, rest)


class TestLayouts:
    wide = SMALL.pivot_table(index=["respondent", "item"], columns="metric", values="value")

    @pytest.mark.parametrize(
        "layout",
        [
            lambda wide: wide,
            lambda wide: wide.reset_index(),
            lambda wide: wide.swaplevel(),
            lambda wide: wide.rename_axis(["system", "question"]),
            lambda wide: {name: wide.loc[name] for name in "AB"},
            lambda wide: {name: wide.loc[name].reset_index() for name in "AB"},
            lambda wide: {name: wide.loc[name].rename_axis(None) for name in "AB"},
        ],
    )
    def test_wide_and_long_are_the_same(self, layout: Callable[[pd.DataFrame], Any]) -> None:
        long = quality_standard(SMALL, ["recall"])
        TestProperties.same(long, quality_standard(layout(self.wide), ["recall"]))

    def test_labels_are_text(self) -> None:
        standard = quality_standard({7: PAGE}, HIGHER)
        assert standard.scores.columns.tolist() == ["7"]
        assert standard.items.index.tolist() == ["1", "2", "3", "4"]

    def test_the_input_is_not_changed(self) -> None:
        for table in (SMALL.copy(), self.wide.copy()):
            before = table.copy(deep=True)
            quality_standard(table, ["recall"], scale="pooled")
            pd.testing.assert_frame_equal(table, before)


class TestWhatIsLeftOut:
    def test_a_missing_value_leaves_its_weight_to_the_others(self) -> None:
        weights = {"cost": 0.25, "recall": 0.75}
        scores = quality_standard(SMALL, ["recall"], weights=weights).scores
        assert scores.loc["i1", "A"] == pytest.approx(0.25 / 3 + 0.75 / 2)
        assert scores.loc["i2", "B"] == 1  # by cost alone

    def test_a_constant_metric_is_left_out_where_it_is_constant(self) -> None:
        table = long_table(cost=[[1, 2], [3, 3]], recall=[[0, 1], [1, 0]])
        standard = quality_standard(table, ["recall"])
        assert standard.constant == {"B": ("cost",)}
        assert standard.scores["B"].tolist() == [0, 1]
        assert quality_standard(table, ["recall"], scale="pooled").constant == {}

    def test_rounding_is_no_difference(self) -> None:
        table = long_table(cost=[[0.1 + 0.2, 0.3, 0.3]])
        assert quality_standard(table, []).constant == {"A": ("cost",)}

    def test_without_a_telling_metric_there_is_no_score(self) -> None:
        table = long_table(cost=[[1, 1], [1, 2]], time=[[None, None], [None, 5]])
        standard = quality_standard(table, [])
        assert standard.scores["A"].isna().all()
        assert standard.items.tolist() == [0, 1]
        assert standard.n_missing == 3

    def test_an_item_without_scores_is_nan(self) -> None:
        items = quality_standard(long_table(cost=[[1, 2, None], [1, 2, None]]), []).items
        assert np.isnan(items["i2"])

    def test_a_weight_of_zero_leaves_a_metric_out(self) -> None:
        weights = {"cost": 1, "recall": 0}
        alone = quality_standard(SMALL[SMALL["metric"] == "cost"], [])
        TestProperties.same(quality_standard(SMALL, ["recall"], weights=weights), alone)

    def test_the_widest_range_does_not_overflow(self) -> None:
        items = quality_standard(long_table(cost=[[-1.7e308, 0, 1.7e308]]), []).items
        assert items.tolist() == [0, 0.5, 1]


class TestComparisons:
    # pooled over 0 to 10
    table = long_table(cost=[[0, 1, 5, 9.5, None], [10, 3, 1, 9.8, 4]])
    pooled = quality_standard(table, [], scale="pooled")

    def test_regressions_are_the_items_that_got_harder(self) -> None:
        found = self.pooled.regressions("A", "B")
        assert found.index.tolist() == ["i0", "i1", "i3"]
        assert found["rise"].tolist() == pytest.approx([1, 0.2, 0.03])
        assert self.pooled.regressions("B", "A").index.tolist() == ["i2"]

    def test_a_rise_of_just_the_margin_counts(self) -> None:
        found = self.pooled.regressions("A", "B", margin=0.2)  # 0.3 − 0.1 is a little less
        assert found.index.tolist() == ["i0", "i1"]

    def test_scores_of_two_scales_are_not_compared(self) -> None:
        with pytest.raises(ValueError, match='scale="pooled"'):
            quality_standard(self.table, []).regressions("A", "B")

    def test_common_failures_are_hard_for_everybody(self) -> None:
        assert self.pooled.common_failures().index.tolist() == ["i3"]
        assert self.pooled.common_failures(threshold=0.05).index.tolist() == ["i3", "i2", "i1"]

    def test_an_unknown_respondent_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no respondent 'C'"):
            self.pooled.regressions("A", "C")

    def test_margins_and_thresholds_are_fractions(self) -> None:
        with pytest.raises(ValueError, match="margin must be at least 0 and at most 1"):
            self.pooled.regressions("A", "B", margin=2)
        with pytest.raises(ValueError, match="threshold must be at least 0 and at most 1"):
            self.pooled.common_failures(threshold=float("nan"))


class TestSignals:
    classes = pd.DataFrame(
        {
            "respondent": ["A", "B", "C"] * 2,
            "item": ["x"] * 3 + ["y"] * 3,
            "prediction": ["cat", "dog", None, "dog", "dog", "cow"],
            "truth": ["cat"] * 3 + ["cat"] * 3,
        }
    )
    counts = pd.DataFrame(
        {"respondent": "A", "item": [1, 2, 3], "TP": [3, 0, 0], "FP": [2, 1, 0], "FN": [1, 4, 0]}
    )

    def test_misclassifications_are_counted_over_respondents(self) -> None:
        found = misclassifications(self.classes)["value"].tolist()
        assert found == pytest.approx([1, 1, np.nan, 3, 3, 3], nan_ok=True)

    def test_classes_of_two_kinds_are_refused(self) -> None:
        with pytest.raises(ValueError, match="both be numbers or both be text"):
            misclassifications(BINARY.assign(truth="1"))

    @pytest.mark.parametrize(
        ("measure", "values"), [("F1", [6 / 9, 0, np.nan]), ("recall", [3 / 4, 0, np.nan])]
    )
    def test_detections_are_scored_by_their_counts(self, measure: Any, values: list[float]) -> None:
        found = detection_score(self.counts, measure)
        assert found["value"].tolist() == pytest.approx(values, nan_ok=True)
        assert set(found["metric"]) == {measure}

    def test_recall_needs_no_false_positives(self) -> None:
        assert len(detection_score(self.counts.drop(columns="FP"), "recall")) == 3
        with pytest.raises(ValueError, match="column 'FP'"):
            detection_score(self.counts.drop(columns="FP"))

    def test_negative_counts_and_unknown_measures_are_refused(self) -> None:
        with pytest.raises(ValueError, match="TP must be a finite number from 0, got -3"):
            detection_score(self.counts.assign(TP=-3))
        with pytest.raises(ValueError, match="measure must be"):
            detection_score(self.counts, "F2")


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"higher_is_better": ["recal"]}, "higher_is_better names 'recal'"),
            ({"higher_is_better": {"recall": True}}, "must name every metric, but 'cost'"),
            ({"higher_is_better": {"recall": 1, "cost": 0}}, "must be True or False, got 1"),
            ({"higher_is_better": "recall"}, "must be a collection of names"),
            ({"weights": {"recall": 0.5, "price": 0.5}}, "weights names 'price'"),
            ({"weights": {"recall": 1}}, "must name every metric, but 'cost'"),
            ({"weights": {"recall": 0.5, "cost": 0.6}}, "weights must sum to 1, got 1.1"),
            ({"weights": {"recall": -0.5, "cost": 1.5}}, "'recall' must be at least 0"),
            ({"weights": {"recall": np.nan, "cost": 1}}, "'recall' must be at least 0"),
            ({"weights": {"recall": np.inf, "cost": 1}}, "'recall' must be a finite number"),
            ({"scale": "all"}, "scale must be one of"),
        ],
    )
    def test_settings(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            quality_standard(SMALL, **{"higher_is_better": ["recall"], **arguments})

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (SMALL.assign(value=np.inf), "got inf at respondent 'A', item 'i0', metric 'cost'"),
            (SMALL.assign(value="fast"), "must be a finite number, got 'fast'"),
            (SMALL.assign(value=None), "holds no value"),
            (SMALL[:0], "holds no value"),
            ({}, "holds no metric"),
            (SMALL.drop(columns="value"), "must have a column 'value'"),
            (SMALL.assign(item=[None, *SMALL["item"][1:]]), "row 1 of the table has no item"),
            (
                pd.concat([SMALL, SMALL[2:4]]),
                r"twice: respondent 'A', item 'i2', metric 'cost' \(and 1 more",
            ),
            (pd.concat({"A": PAGE.set_axis([1, 2, "1", 4])}), "item '1', metric 'recall'"),
        ],
    )
    def test_tables(self, table: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            quality_standard(table, ["recall"])

    def test_things_that_are_no_tables(self) -> None:
        with pytest.raises(TypeError, match=r"metrics must be a table, .*, got list"):
            quality_standard([1, 2], [])


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
    long = wide.melt(["respondent", "item"], var_name="metric")
    # (z of tokens + z of 1 − f1) / 2: gpt has 0 and 0, 1/2 and 1, 1 and 1/2; llama 0 and 0, 1 and 1
    scores: ClassVar = {"q1": 0.0, "q2": (0.75 + 1) / 2, "q3": 0.75}

    @pytest.mark.parametrize(
        "form",
        [
            lambda wide: wide,
            pl.from_pandas,
            lambda wide: wide.rename(columns={"respondent": "Model", "item": "question_id"}),
            lambda wide: wide.set_index(["item", "respondent"]),
        ],
    )
    def test_every_form_gives_the_same_scores(self, form: Callable[[pd.DataFrame], Any]) -> None:
        quality = quality_of(self.responses, form(self.wide), ["f1"])
        assert quality.items.to_dict() == pytest.approx(self.scores)

    def test_metrics_of_the_responses_go_by_their_names(self) -> None:
        responses = self.responses.with_tables(metrics=self.long)
        found = quality_of(responses, ["tokens", "f1"], ["f1"])
        assert found.items.to_dict() == pytest.approx(self.scores)
        assert quality_of(responses, "tokens", []).items.to_dict() == {"q1": 0, "q2": 0.75, "q3": 1}
        with pytest.raises(
            ValueError, match=r"metrics='token' .*did you mean 'tokens'.* f1, token"
        ):
            quality_of(responses, ["token"], [])
        with pytest.raises(ValueError, match="they have none"):
            quality_of(self.responses, "tokens", [])

    def test_directions_have_no_default_and_those_of_a_quality_standard_stay(self) -> None:
        weights = {"f1": 0, "tokens": 1}
        given = quality_standard(self.long, ["f1"], weights=weights, scale="pooled")
        assert quality_of(self.responses, given) is given
        for metrics, directions in ((given, ["f1"]), (self.wide, None)):
            with pytest.raises(ValueError, match="higher_is_better= must name"):
                quality_of(self.responses, metrics, directions)

    @pytest.mark.parametrize(
        ("column", "other", "message"),
        [
            ("respondent", "lama", "respondent 'lama', .*did you mean 'llama'.* are gpt, llama"),
            ("respondent", "always-right", "respondent 'always-right'"),
            ("item", "q9", "item 'q9', which the responses do not have"),
        ],
    )
    def test_other_labels_are_named(self, column: str, other: str, message: str) -> None:
        table = self.wide.assign(**{column: [*self.wide[column][:-1], other]})
        crowd = irtkit.add_synthetic(self.responses, ("always-right",))
        with pytest.raises(ValueError, match=message):
            quality_of(crowd, table, [])

    def test_a_finding_names_metrics_by_their_directions(self) -> None:
        standard = quality_standard(self.wide.assign(age=7), ["f1"])
        finding = quality_finding([0.1, np.nan], standard.settings)
        assert str(finding) == (
            "Quality standard: items are scored from 0 (easy) to 1 (hard). Higher is better for "
            "f1. Lower is better for tokens. Constant and left out: age. 1 item without a score"
        )
