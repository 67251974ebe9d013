"""Claims about the impact metric, with the worked example and brute force as referees."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from irtkit.annotation import Impact, impact, impact_summary
from irtkit.annotation.annotations import annotation, one_sample
from irtkit.annotation.matching import Weights, changed_fields, cost_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

# The worked example (tests/data/README.md). The source prints the starts; types and ends here are
# ours, chosen so that every cost and pairing of the worked values comes out.
MANUAL = [("a", 0, 5), ("b", 7, 12), ("a", 16, 19)]
PREDICTED = [("a", 0, 6), ("c", 7, 12), ("c", 16, 20), ("a", 20, 24)]

events = st.tuples(
    st.sampled_from("ab"), st.integers(-4, 4), st.integers(0, 3) | st.floats(0, 3)
).map(lambda one: (one[0], one[1], one[1] + one[2]))
samples = st.lists(events, max_size=6)


def pairs(result: Impact) -> list[tuple[int, int]]:
    """Paired rows, from 0, by row of manual."""
    both = result.edits.dropna(subset=["predicted", "manual"])
    found = zip(both["predicted"].astype(int), both["manual"].astype(int), strict=True)
    return sorted(found, key=lambda pair: pair[1])


def frame(rows: Sequence[tuple[str, float, float]], **more: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["type", "start", "end"]).assign(**more)


def test_the_worked_example_deletes_the_fourth_prediction() -> None:
    result = impact(PREDICTED, MANUAL)
    assert pairs(result) == [(0, 0), (1, 1), (2, 2)]
    assert (result.fixes, result.deletes, result.adds) == (4, 1, 0)
    assert (result.cost, result.penalty, result.scratch) == (4, 6, 9)
    assert result.impact == pytest.approx(2 / 3, abs=1e-12)
    assert result.edits["action"].tolist() == ["fix", "fix", "fix", "delete"]
    assert result.edits["fields"].tolist() == ["end", "type", "type; end", ""]
    assert result.edits["penalty"].tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize(("duration", "third"), [(7.99, 2), (8.01, 3)])
def test_a_duration_above_8_pairs_the_fourth_prediction_instead(
    duration: float, third: int
) -> None:
    result = impact(PREDICTED, MANUAL, duration=duration)
    assert pairs(result) == [(0, 0), (1, 1), (third, 2)]
    assert (result.penalty, result.scratch) == (6, 9)


def test_every_worked_value_comes_out_whatever_the_duration(worked_values: Any) -> None:
    assert len(worked_values["impact"]["by_duration"]) == 8
    for worked in worked_values["impact"]["by_duration"]:
        result = impact(PREDICTED, MANUAL, duration=worked["duration"])
        assert result.cost == pytest.approx(worked["cost"], abs=1e-9)
        assert [i + 1 for i, _ in pairs(result)] in worked["best"]
        assert result.penalty == worked["penalty"]
        assert result.impact == pytest.approx(worked["impact"], abs=1e-9)


def test_every_worked_value_in_seconds_comes_out(worked_values: Any) -> None:
    worked = worked_values["impact"]["seconds"]
    result = impact(PREDICTED, MANUAL)
    points = result.rules.penalties
    assert result.cost == pytest.approx(worked["cost"], abs=1e-9)
    assert [[i + 1, j + 1] for i, j in pairs(result)] == worked["pairs"]
    assert result.edits["penalty"][:3].tolist() == worked["changed"]
    assert worked["penalties"] == {
        "fix": result.fixes,
        "delete": result.deletes * points.delete,
        "add": result.adds * points.add,
    }
    assert (result.penalty, result.scratch) == (worked["penalty"], worked["scratch"])
    assert result.impact == pytest.approx(worked["impact"], abs=1e-9)


def test_reading_1_as_equal_gives_the_worked_value_of_that_reading(worked_values: Any) -> None:
    worked = worked_values["impact"]["one_means_equal"]
    one, other = one_sample(PREDICTED, "predicted"), one_sample(MANUAL, "manual")
    cost = 1 - cost_matrix(one, other, Weights(1, 0, 0)) + cost_matrix(one, other, Weights(0, 1, 1))
    rows, columns = linear_sum_assignment(cost)
    assert cost[rows, columns].sum() == pytest.approx(worked["cost"], abs=1e-9)
    assert np.column_stack([rows + 1, columns + 1]).tolist() == worked["pairs"]


@settings(max_examples=50)
@given(samples, samples)
def test_the_assignment_is_the_best_of_all_permutations(predicted: Any, manual: Any) -> None:
    one, other = one_sample(predicted, "predicted"), one_sample(manual, "manual")
    cost = cost_matrix(one, other, Weights(2, 1, 0.5))
    n_changed = changed_fields(one, other, 0).sum(axis=2)
    if len(one) > len(other):
        cost, n_changed = cost.T, n_changed.T
    rows = np.arange(len(cost))
    chosen = np.array(list(permutations(range(cost.shape[1]), len(cost))), dtype=int)
    totals = cost[rows, chosen].sum(axis=1)
    result = impact(predicted, manual, weights={"type": 2, "end": 0.5})
    assert result.cost == pytest.approx(totals.min(), abs=1e-9)
    ties = totals <= totals.min() + 1e-11
    assert result.fixes <= n_changed[rows, chosen].sum(axis=1)[ties].min()


@settings(max_examples=50)
@given(samples, samples)
def test_impact_is_0_only_for_equal_sets(predicted: Any, manual: Any) -> None:
    assert (impact(predicted, manual).impact == 0) is (sorted(predicted) == sorted(manual))
    assert impact(manual, manual, duration=3).impact == 0


@settings(max_examples=50)
@given(samples.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), samples)
def test_the_order_of_rows_changes_nothing(orders: Any, manual: Any) -> None:
    content = ["action", "fields", "predicted_type", "predicted_start", "manual_end"]
    one, other = impact(orders[0], manual), impact(orders[1], manual)
    assert (one.penalty, one.fixes, one.cost) == (other.penalty, other.fixes, other.cost)
    pd.testing.assert_frame_equal(one.edits[content], other.edits[content])


@settings(max_examples=50)
@given(samples, samples)
def test_every_annotation_is_in_the_breakdown_once(predicted: Any, manual: Any) -> None:
    result = impact(predicted, manual)
    assert sorted(result.edits["predicted"].dropna()) == list(range(len(predicted)))
    assert sorted(result.edits["manual"].dropna()) == list(range(len(manual)))
    assert result.edits["penalty"].sum() == result.penalty


def test_without_manual_annotations_only_no_predictions_have_an_impact() -> None:
    nothing, spurious = impact([], []), impact([("a", 0, 1)], [])
    assert (nothing.impact, nothing.penalty) == (0, 0)
    assert (math.isnan(spurious.impact), spurious.penalty, spurious.scratch) == (True, 2, 0)
    assert "undefined" in str(spurious)
    assert impact([], MANUAL).impact == 1


def test_impact_above_1_is_worse_than_nothing() -> None:
    result = impact([("b", 5, 6), *PREDICTED], [("a", 0, 5)])
    assert result.impact > 1
    assert "cost more than they save" in str(result)


def test_times_within_the_tolerance_as_written_are_unchanged() -> None:
    assert impact([("a", 1.1, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 0  # 1.1 − 1 > 0.1
    assert impact([("a", 1.11, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 1
    assert impact([("a", 0.1 + 0.2, 2)], [("a", 0.3, 2)]).fixes == 1


def test_unpair_splits_pairs_that_cost_more_than_delete_and_add() -> None:
    far = ([("a", 0, 1)], [("b", 50, 60)])
    assert impact(*far, unpair=True).adds == 0  # 3 fixes cost 3, delete and add 5
    costly = impact(*far, penalties={"fix": 2}, unpair=True)
    assert (costly.fixes, costly.deletes, costly.adds, costly.penalty) == (0, 1, 1, 5)
    assert impact(*far, penalties={"fix": 2}).penalty == 6


def test_weights_decide_which_annotations_are_paired() -> None:
    manual, predicted = [("a", 0, 1)], [("b", 0, 1), ("a", 9, 10)]
    assert pairs(impact(predicted, manual)) == [(0, 0)]
    assert pairs(impact(predicted, manual, weights={"type": 100})) == [(1, 0)]


def test_the_breakdown_has_the_labels_of_the_rows() -> None:
    result = impact(frame(PREDICTED).set_axis([*"wxyz"]), frame(MANUAL).set_axis([7, 8, 9]))
    assert result.edits["predicted"].tolist() == [*"wxyz"]
    assert result.edits["manual"].tolist()[:3] == [7, 8, 9]


def test_types_are_compared_as_text() -> None:
    assert impact([(1.0, 0, 1)], [("1", 0, 1)]).impact == 0


def test_a_summary_puts_extremes_first_and_adds_up() -> None:
    predicted = {"good": MANUAL, "bad": PREDICTED, "spurious": PREDICTED[:1], "empty": []}
    manual = {"good": MANUAL, "bad": MANUAL[:1], "missed": MANUAL[:2], "empty": []}
    summary = impact_summary(predicted, manual)
    assert summary.table.index.tolist() == ["bad", "missed", "good", "empty", "spurious"]
    assert summary.table["impact"].tolist()[:4] == [pytest.approx(7 / 3), 1, 0, 0]
    assert summary.mean == pytest.approx((7 / 3 + 1) / 4, abs=1e-12)
    assert summary.pooled == pytest.approx((7 + 6 + 2) / 18, abs=1e-12)
    assert (summary.fixes, summary.deletes, summary.adds, summary.n_undefined) == (1, 4, 2, 1)
    assert "Highest impact bad 2.333, missed 1.000, good 0.000; lowest empty 0.000" in str(summary)
    assert "1 sample has predictions and no manual annotations" in str(summary)
    assert summary.edits["penalty"].sum() == summary.penalty


def test_a_long_table_and_a_mapping_have_the_same_summary() -> None:
    predicted = {"s1": PREDICTED, "s2": MANUAL}
    manual = {"s1": MANUAL, "s2": PREDICTED}
    tables = [
        pd.concat([frame(rows, clip=name) for name, rows in of.items()])
        for of in (predicted, manual)
    ]
    one = impact_summary(*tables, sample="clip", duration={"s1": 9, "s2": 1})
    other = impact_summary(predicted, manual, duration=pd.Series({"s1": 9, "s2": 1}))
    pd.testing.assert_frame_equal(one.table, other.table)
    pd.testing.assert_frame_equal(one.edits, other.edits)
    single = impact(PREDICTED, MANUAL, duration=9)
    assert one.table.loc["s1", "cost"] == pytest.approx(single.cost, abs=1e-12)


def test_the_gate_is_shut_above_the_threshold_only() -> None:
    summary = impact_summary({"s": PREDICTED}, {"s": MANUAL})
    assert [summary.exceeds(limit) for limit in (0.6, 2 / 3, 0.7)] == [True, False, False]
    with pytest.raises(ValueError, match="maximum must be"):
        summary.exceeds(math.nan)
    with pytest.raises(ValueError, match="no sample has manual annotations"):
        impact_summary({"s": PREDICTED}, {}).exceeds(0.6)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("a", 2, 1), "row 1: end must not be before start, but end 1.0 is before start 2.0"),
        (("a", math.nan, 1), "row 1: start must be a finite number, got nan"),
        (("a", 0, math.inf), "row 1: end must be a finite number, got inf"),
        (("a", "0", 1), "row 1: start must be a finite number, got '0'"),
        (("a", True, 1), "row 1: start must be a finite number, got True"),
        ((None, 0, 1), "row 1: type is missing"),
        ((" ", 0, 1), "row 1: type is missing"),
        (("a", 0), "row 1: must be a DataFrame or tuples of type, start, end"),
    ],
)
def test_a_bad_annotation_is_named_by_its_argument_and_row(row: Any, said: str) -> None:
    with pytest.raises(ValueError, match="^predicted, " + said):
        impact([("a", 0, 1), row], MANUAL)
    with pytest.raises(ValueError, match="^manual, sample 's', " + said):
        impact_summary({"s": MANUAL}, {"s": [("a", 0, 1), row]})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (frame(MANUAL, score=1), "manual has the unknown name 'score'"),
        (frame(MANUAL).drop(columns="end"), "manual has no 'end'; there must be type, start, end"),
        (frame(MANUAL).set_axis(["type", "end", "end"], axis=1), "manual has no 'start'"),
        (frame(MANUAL).assign(end=-1), "manual, row 0: end must not be before start"),
        (frame(MANUAL, sample="s"), "manual has the unknown name 'sample'"),
    ],
)
def test_a_table_with_other_columns_is_refused(table: pd.DataFrame, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        impact(PREDICTED, table)


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"weights": {"type": -1}}, r"weights\['type'\] must be at least 0, got -1"),
        ({"weights": {"begin": 1}}, "weights has the unknown key 'begin'"),
        ({"weights": {"end": math.nan}}, r"weights\['end'\]"),
        ({"penalties": {"fix": 0}}, r"penalties\['fix'\] must be above 0, got 0"),
        ({"penalties": {"edit": 1}}, "penalties has the unknown key 'edit'"),
        ({"duration": 0}, "duration must be above 0"),
        ({"duration": -5}, "duration must be above 0, got -5"),
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"tolerance": math.inf}, "tolerance must be a finite number"),
        ({"duration": 1e-308, "weights": {"end": 1e300}}, "the cost of a pair overflows"),
    ],
)
def test_impossible_settings_are_refused(keywords: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        impact(PREDICTED, MANUAL, **keywords)
    with pytest.raises(ValueError, match=said):
        impact_summary({"s": PREDICTED}, {"s": MANUAL}, **keywords)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("clips", MANUAL), "predicted must be a DataFrame or tuples"),
        ((MANUAL, ["abc"]), "manual, row 0: must be a DataFrame or tuples"),
        (({"s": MANUAL}, MANUAL), "predicted must be a DataFrame or tuples"),
    ],
)
def test_arguments_of_another_kind_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        impact(*arguments)
    with pytest.raises(TypeError, match="unpair must be True or False"):
        impact(PREDICTED, MANUAL, unpair="yes")
    with pytest.raises(TypeError, match="tolerance must be a number, got 'wide'"):
        impact(PREDICTED, MANUAL, tolerance="wide")


def test_samples_that_do_not_fit_are_named() -> None:
    one = {"s": MANUAL}
    with pytest.raises(ValueError, match="hold no sample"):
        impact_summary({}, {})
    with pytest.raises(ValueError, match="duration has no value for the sample 's'"):
        impact_summary(one, one, duration={"t": 1})
    with pytest.raises(ValueError, match="duration of the sample 's' must be above 0"):
        impact_summary(one, one, duration={"s": 0})
    with pytest.raises(ValueError, match="manual must have every sample once: '1' occurs twice"):
        impact_summary(one, {1: MANUAL, "1": MANUAL})
    with pytest.raises(ValueError, match="predicted, row 2: sample is missing"):
        impact_summary(frame(MANUAL, sample=["s", "s", None]), one)
    with pytest.raises(ValueError, match=r"predicted, row 0 \(sample 's'\): end must not be"):
        impact_summary(frame([("a", 1, 0)], sample="s"), one)
    with pytest.raises(ValueError, match="predicted has no 'clip'"):
        impact_summary(frame(MANUAL, sample="s"), one, sample="clip")


def test_an_annotation_is_a_plain_tuple() -> None:
    assert annotation("a", np.int64(1), np.float32(2)) == ("a", 1.0, 2.0)


def test_samples_that_are_called_differently_are_warned_of() -> None:
    one, other = {"Clip1": [("a", 0, 1)]}, {"clip1": [("a", 0, 1)]}
    with pytest.warns(UserWarning, match="no sample in common: 'Clip1'"):
        impact_summary(one, other)
