"""Claims about the quality standard, with the numbers of Kolena's page as referee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtkit.difficulty import (
    absolute_error,
    detection_score,
    misclassifications,
    quality_standard,
)

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
    def test_the_order_of_rows_does_not_matter(self, scale: Any, data: st.DataObject) -> None:
        table = self.drawn(data)
        mixed = table.iloc[data.draw(st.permutations(range(len(table))))]
        standard = quality_standard(table, ["b"], scale=scale)
        other = quality_standard(mixed, ["b"], scale=scale)
        scores = other.scores.loc[standard.scores.index, standard.scores.columns]
        pd.testing.assert_frame_equal(standard.scores, scores, rtol=0, atol=1e-12)
        pd.testing.assert_series_equal(
            standard.items, other.items[standard.items.index], rtol=0, atol=1e-12
        )

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

    @settings(max_examples=15, deadline=None)
    @given(scale=scale, data=st.data(), factor=st.floats(1e-3, 1e3))
    def test_the_unit_of_a_metric_changes_nothing(
        self, scale: Any, data: st.DataObject, factor: float
    ) -> None:
        table = self.drawn(data)
        unit = np.where(table["metric"] == "b", factor, 1.0)
        scaled = table.assign(value=table["value"].astype(float) * unit)
        self.same(
            quality_standard(table, ["b"], scale=scale),
            quality_standard(scaled, ["b"], scale=scale),
        )


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

    def test_columns_may_have_other_names(self) -> None:
        names = {"respondent": "model", "item": "id", "metric": "name", "value": "score"}
        renamed = quality_standard(SMALL.rename(columns=names), ["recall"], **names)
        TestProperties.same(quality_standard(SMALL, ["recall"]), renamed)

    def test_labels_are_text(self) -> None:
        standard = quality_standard({7: PAGE}, HIGHER)
        assert standard.scores.columns.tolist() == ["7"]
        assert standard.items.index.tolist() == ["1", "2", "3", "4"]

    def test_the_input_is_not_changed(self) -> None:
        for table in (SMALL.copy(), self.wide.copy()):
            before = table.copy(deep=True)
            quality_standard(table, ["recall"], scale="pooled")
            pd.testing.assert_frame_equal(table, before)

    def test_directions_may_be_names_or_a_mapping(self) -> None:
        named = quality_standard(SMALL, {"recall"})
        assert named.higher_is_better == {"cost": False, "recall": True}
        TestProperties.same(named, quality_standard(SMALL, {"recall": True, "cost": False}))


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

    def test_print_says_what_was_left_out(self) -> None:
        table = long_table(cost=[[1, 2], [3, 3]], recall=[[0, 1], [1, None]])
        assert str(quality_standard(table, ["recall"])).splitlines() == [
            "Quality standard: items 2, respondents 2, scaled per respondent",
            "- cost: lower is better, weight 0.5",
            "- recall: higher is better, weight 0.5",
            "Missing values: 1 of 8",
            "Left out as constant: cost, recall (B)",
            "Hardest items: i0 0.500, i1 0.500",
        ]

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

    def test_a_good_detection_is_easy(self) -> None:
        items = quality_standard(detection_score(self.counts), ["F1"]).items
        assert items.iloc[:2].tolist() == [0, 1]

    def test_recall_needs_no_false_positives(self) -> None:
        assert len(detection_score(self.counts.drop(columns="FP"), "recall")) == 3
        with pytest.raises(ValueError, match="column 'FP'"):
            detection_score(self.counts.drop(columns="FP"))

    def test_negative_counts_and_unknown_measures_are_refused(self) -> None:
        with pytest.raises(ValueError, match="TP must be a finite number from 0, got -3"):
            detection_score(self.counts.assign(TP=-3))
        with pytest.raises(ValueError, match="measure must be"):
            detection_score(self.counts, "F2")

    def test_signals_join_other_metrics(self) -> None:
        signal = absolute_error(BINARY.astype({"item": str}))
        cost = signal.assign(metric="cost", value=range(8))
        standard = quality_standard(pd.concat([signal, cost]), [])
        assert set(standard.weights) == {"absolute_error", "cost"}


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
            ({"respondent": "model"}, "must have a column 'model'"),
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
        with pytest.raises(TypeError, match="must be a pandas DataFrame, got list"):
            quality_standard([1, 2], [])
