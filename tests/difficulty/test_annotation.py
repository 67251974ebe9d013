"""Claims about the impact metric, with the worked example and brute force as referees."""

from __future__ import annotations

import json
import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtkit.difficulty import Impact, impact
from irtkit.difficulty.annotation import (
    Sample,
    _by_sample,
    changes,
    costs,
    read_annotations,
    read_durations,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

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


def of_one(rows: Any) -> Sample:
    return _by_sample(rows, "")[""]


def weights(*values: float) -> dict[str, float]:
    return dict(zip(("type", "start", "end"), values, strict=True))


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


def test_every_worked_value_comes_out_whatever_the_duration(worked_values: Any) -> None:
    assert len(worked_values["impact"]["by_duration"]) == 8
    for worked in worked_values["impact"]["by_duration"]:
        result = impact(PREDICTED, MANUAL, duration=worked["duration"])
        assert result.cost == pytest.approx(worked["cost"], abs=1e-9)
        assert [i + 1 for i, _ in pairs(result)] in worked["best"]
        assert result.penalty == worked["penalty"]
        assert result.impact == pytest.approx(worked["impact"], abs=1e-9)


@settings(max_examples=20)
@given(samples, samples)
def test_the_assignment_is_the_best_of_all_permutations(predicted: Any, manual: Any) -> None:
    one, other = of_one(predicted), of_one(manual)
    cost = costs(one, other, weights(2, 1, 0.5))
    n_changed = changes(one, other, 0).sum(axis=2)
    if len(one.rows) > len(other.rows):
        cost, n_changed = cost.T, n_changed.T
    rows = np.arange(len(cost))
    chosen = np.array(list(permutations(range(cost.shape[1]), len(cost))), dtype=int)
    totals = cost[rows, chosen].sum(axis=1)
    result = impact(predicted, manual, weights={"type": 2, "end": 0.5})
    assert result.cost == pytest.approx(totals.min(), abs=1e-9)
    ties = totals <= totals.min() + 1e-11
    assert result.fixes <= n_changed[rows, chosen].sum(axis=1)[ties].min()


@settings(max_examples=20)
@given(samples, samples)
def test_impact_is_0_only_for_equal_sets(predicted: Any, manual: Any) -> None:
    assert (impact(predicted, manual).impact == 0) is (sorted(predicted) == sorted(manual))
    assert impact(manual, manual, duration=3).impact == 0


@settings(max_examples=20)
@given(samples.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), samples)
def test_the_order_of_rows_changes_nothing(orders: Any, manual: Any) -> None:
    content = ["action", "fields", "predicted_type", "predicted_start", "manual_end"]
    one, other = impact(orders[0], manual), impact(orders[1], manual)
    assert (one.penalty, one.fixes, one.cost) == (other.penalty, other.fixes, other.cost)
    pd.testing.assert_frame_equal(one.edits[content], other.edits[content])


def test_without_manual_annotations_only_no_predictions_have_an_impact() -> None:
    nothing, spurious = impact([], []), impact([("a", 0, 1)], [])
    assert (nothing.impact, nothing.penalty) == (0, 0)
    assert (math.isnan(spurious.impact), spurious.penalty, spurious.scratch) == (True, 2, 0)
    assert impact([], MANUAL).impact == 1


def test_times_within_the_tolerance_as_written_are_unchanged() -> None:
    assert impact([("a", 1.1, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 0  # 1.1 − 1 > 0.1
    assert impact([("a", 1.11, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 1
    assert impact([("a", 0.1 + 0.2, 2)], [("a", 0.3, 2)]).fixes == 1


def test_a_summary_puts_extremes_first_and_adds_up() -> None:
    predicted = {"good": MANUAL, "bad": PREDICTED, "spurious": PREDICTED[:1], "empty": []}
    manual = {"good": MANUAL, "bad": MANUAL[:1], "missed": MANUAL[:2], "empty": []}
    summary = impact(predicted, manual)
    assert summary.table.index.tolist() == ["bad", "missed", "good", "empty", "spurious"]
    assert summary.table["impact"].tolist()[:4] == [pytest.approx(7 / 3), 1, 0, 0]
    assert summary.impact == pytest.approx((7 / 3 + 1) / 4, abs=1e-12)
    assert summary.pooled == pytest.approx((7 + 6 + 2) / 18, abs=1e-12)
    assert (summary.fixes, summary.deletes, summary.adds, summary.n_undefined) == (1, 4, 2, 1)
    assert summary.edits["penalty"].sum() == summary.penalty


def test_a_long_table_and_a_mapping_have_the_same_summary() -> None:
    predicted = {"s1": PREDICTED, "s2": MANUAL}
    manual = {"s1": MANUAL, "s2": PREDICTED}
    tables = [
        pd.concat([frame(rows, sample=name) for name, rows in of.items()])
        for of in (predicted, manual)
    ]
    one = impact(*tables, duration={"s1": 9, "s2": 1})
    other = impact(predicted, manual, duration=pd.Series({"s1": 9, "s2": 1}))
    pd.testing.assert_frame_equal(one.table, other.table)
    pd.testing.assert_frame_equal(one.edits, other.edits)
    single = impact(PREDICTED, MANUAL, duration=9)
    assert one.table.loc["s1", "cost"] == pytest.approx(single.cost, abs=1e-12)


def test_the_gate_is_shut_above_the_threshold_only() -> None:
    summary = impact({"s": PREDICTED}, {"s": MANUAL})
    assert [summary.exceeds(limit) for limit in (0.6, 2 / 3, 0.7)] == [True, False, False]
    with pytest.raises(ValueError, match="no sample has manual annotations"):
        impact({"s": PREDICTED}, {}).exceeds(0.6)


@pytest.mark.parametrize(
    ("predicted", "manual", "said"),
    [
        ([("a", 0, 1), ("a", 2, 1)], MANUAL, "^predicted, row 1: end must not be before start"),
        (MANUAL, [("a", math.nan, 1)], "^manual, row 0: start must be a finite number, got nan"),
        ({"s": MANUAL}, {"s": [(" ", 0, 1)]}, "^manual, sample 's', row 0: type is missing"),
        (MANUAL, [("a", 0)], "row 0: must be a tuple of type, start, end"),
        (MANUAL, frame(MANUAL).drop(columns="end"), "manual must have just .* got type, start"),
        ({"s": MANUAL}, {1: [], "1": []}, "manual must have every sample once: '1' occurs twice"),
        (frame(MANUAL, sample=["s", None, "s"]), {"s": []}, "predicted, row 1: sample is missing"),
    ],
)
def test_a_bad_annotation_is_named_by_its_place(predicted: Any, manual: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        impact(predicted, manual)


def test_what_does_not_fit_is_refused() -> None:
    one = {"s": MANUAL}
    for given_settings, said in (
        ({"weights": {"type": -1}}, r"weights\['type'\] must be at least 0, got -1"),
        ({"penalties": {"fix": 0}}, r"penalties\['fix'\] must be above 0, got 0"),
        ({"duration": {"t": 1}}, "duration lacks a value for the sample 's'"),
    ):
        with pytest.raises(ValueError, match=said):
            impact(one, one, **given_settings)
    with pytest.raises(TypeError, match="predicted must be a DataFrame, tuples or a mapping"):
        impact("clips", MANUAL)
    with pytest.raises(TypeError, match="both be of one sample or both of several"):
        impact(one, MANUAL)
    with pytest.warns(
        UserWarning, match="No common sample: .* 'S', and manual has samples such as 's'"
    ):
        impact({"S": MANUAL}, one)


# Files

CSV = "sample,type,start,end\nclip-1,serve,0,2.5\nclip-2,,,\nclip-1,rally,7,12\n"
RECORDS = [
    {"sample": "clip-1", "type": "serve", "start": 0, "end": 2.5},
    {"sample": "clip-1", "type": "rally", "start": 7, "end": 12},
]
OBJECT = {
    "clip-1": [{key: record[key] for key in ("end", "type", "start")} for record in RECORDS],
    "clip-2": [],
}


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        json.dumps(OBJECT),
        "\n "
        + json.dumps([*RECORDS, {"sample": "clip-2", "type": "", "start": None, "end": None}]),
    ],
)
def test_all_forms_of_a_file_hold_the_same_annotations(
    file: Callable[..., Path], content: str
) -> None:
    found = read_annotations(file(content))
    assert list(found) == ["clip-1", "clip-2"]
    assert found["clip-1"].types.tolist() == ["serve", "rally"]
    assert found["clip-1"].times.tolist() == [[0, 2.5], [7, 12]]
    assert len(found["clip-2"].rows) == 0
    assert impact(found, found).impact == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sample,type,start\ns,a,0\n", "must have a column 'end'"),
        (CSV + "clip-3,serve,0,1_0\n", "row 4: end must be a finite number, got '1_0'"),
        ('{"s": [{"type": "a", "start": 0}]}', "sample 's' must have just the columns .* got type"),
        ('{"s": [], "s": []}', "'s' occurs twice in one object"),
        (json.dumps([RECORDS[0] | {"start": "0"}]), "start must be a finite number, got '0'"),
    ],
)
def test_bad_content_is_refused_with_file_and_place(
    file: Callable[..., Path], content: str, said: str
) -> None:
    with pytest.raises(ValueError, match=rf"^results\.csv: .*{said}"):
        read_annotations(file(content))


def test_durations_are_read_by_sample(file: Callable[..., Path]) -> None:
    assert read_durations(file("duration,sample\n30,007\n1.5,NA\n")) == {"007": 30, "NA": 1.5}
    with pytest.raises(ValueError, match=r"^results\.csv: .*'s' occurs twice"):
        read_durations(file("sample,duration\ns,1\ns,2\n"))
