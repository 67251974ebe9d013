"""Claims about the impact metric, with the worked example and brute force as referees."""

import json
import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from irtkit.difficulty import impact
from irtkit.difficulty.annotation import FIELDS, paired, read_annotations

# The worked example (tests/data/README.md). The source prints the starts; types and ends here are
# ours, chosen so that every cost and pairing of the worked values comes out.
MANUAL = [("a", 0, 5), ("b", 7, 12), ("a", 16, 19)]
PREDICTED = [("a", 0, 6), ("c", 7, 12), ("c", 16, 20), ("a", 20, 24)]


def drawn(seed):
    """Up to six annotations twice, with ties of types and times."""
    rng = np.random.default_rng(seed)
    sides = []
    for n in rng.integers(0, 7, 2):
        start, length = rng.integers(-4, 5, n), rng.integers(0, 7, n) / 2
        ends = (start + length).tolist()
        sides.append(
            list(zip(rng.choice(["a", "b"], n).tolist(), start.tolist(), ends, strict=True))
        )
    return sides[0], sides[1]


def values(rows):
    return np.array(rows, dtype=object).reshape(-1, 3)


def frame(rows, **more):
    return pd.DataFrame(rows, columns=["type", "start", "end"]).assign(**more)


def test_the_worked_example_deletes_the_fourth_prediction():
    result = impact(PREDICTED, MANUAL)
    assert (result.fixes, result.deletes, result.adds) == (4, 1, 0)
    assert (result.cost, result.penalty, result.scratch) == (4, 6, 9)
    assert result.impact == pytest.approx(2 / 3, abs=1e-12)
    assert result.table.loc["", ["n_predicted", "n_manual"]].tolist() == [4, 3]


def test_every_worked_value_comes_out_whatever_the_duration(worked_values):
    assert len(worked_values["impact"]["by_duration"]) == 8
    for worked in worked_values["impact"]["by_duration"]:
        result = impact(PREDICTED, MANUAL, duration=worked["duration"])
        assert result.cost == pytest.approx(worked["cost"], abs=1e-9)
        weights = np.array([1, 1, 1]) / [1, worked["duration"], worked["duration"]]
        (rows, columns), *_ = paired(values(PREDICTED), values(MANUAL), weights, 0.0)
        assert (rows[np.argsort(columns)] + 1).tolist() in worked["best"]
        assert result.penalty == worked["penalty"]
        assert result.impact == pytest.approx(worked["impact"], abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_assignment_is_the_best_of_all_permutations(seed):
    predicted, manual = drawn(seed)
    shape = len(predicted), len(manual)
    pairs = [(*one, *other) for one in predicted for other in manual]
    apart = [(a != d, abs(b - e), abs(c - f)) for a, b, c, d, e, f in pairs]
    cost = np.reshape([2 * kind + start + end / 2 for kind, start, end in apart], shape)
    n_changed = np.reshape([sum(map(bool, fields)) for fields in apart], shape)
    if len(predicted) > len(manual):
        cost, n_changed = cost.T, n_changed.T
    rows = np.arange(len(cost))
    chosen = np.array(list(permutations(range(cost.shape[1]), len(cost))), dtype=int)
    totals = cost[rows, chosen].sum(axis=1)
    result = impact(predicted, manual, weights={"type": 2, "end": 0.5})
    assert result.cost == pytest.approx(totals.min(), abs=1e-9)
    ties = totals <= totals.min() + 1e-11
    assert result.fixes <= n_changed[rows, chosen].sum(axis=1)[ties].min()


@pytest.mark.parametrize("seed", range(10))
def test_impact_is_0_only_for_equal_sets_and_the_order_of_rows_changes_nothing(seed):
    predicted, manual = drawn(seed)
    one, other = impact(predicted, manual), impact(predicted[::-1], manual)
    assert (one.impact == 0) is (sorted(predicted) == sorted(manual))
    assert impact(manual[::-1], manual, duration=3).impact == 0
    assert (one.penalty, one.fixes) == (other.penalty, other.fixes)
    assert one.cost == pytest.approx(other.cost, abs=1e-12)


def test_without_manual_annotations_only_no_predictions_have_an_impact():
    nothing, spurious = impact([], []), impact([("a", 0, 1)], [])
    assert (nothing.impact, nothing.penalty) == (0, 0)
    assert (math.isnan(spurious.impact), spurious.penalty, spurious.scratch) == (True, 2, 0)
    assert impact([], MANUAL).impact == 1


def test_times_within_the_tolerance_as_written_are_unchanged():
    assert impact([("a", 1.1, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 0  # 1.1 − 1 > 0.1
    assert impact([("a", 1.11, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 1
    assert impact([("a", 0.1 + 0.2, 2)], [("a", 0.3, 2)]).fixes == 1


def test_a_summary_puts_extremes_first_and_adds_up():
    predicted = {"good": MANUAL, "bad": PREDICTED, "spurious": PREDICTED[:1], "empty": []}
    manual = {"good": MANUAL, "bad": MANUAL[:1], "missed": MANUAL[:2], "empty": []}
    summary = impact(predicted, manual)
    assert summary.table.index.tolist() == ["bad", "missed", "good", "empty", "spurious"]
    assert summary.table["impact"].tolist()[:4] == [pytest.approx(7 / 3), 1, 0, 0]
    assert summary.impact == pytest.approx((7 / 3 + 1) / 4, abs=1e-12)
    assert (summary.penalty, summary.scratch) == (7 + 6 + 2, 18)
    assert (summary.fixes, summary.deletes, summary.adds, summary.n_undefined) == (1, 4, 2, 1)


def test_a_long_table_and_a_mapping_have_the_same_summary():
    predicted = {"s1": PREDICTED, "s2": MANUAL}
    manual = {"s1": MANUAL, "s2": PREDICTED}
    tables = [
        pd.concat([frame(rows, sample=name) for name, rows in of.items()])
        for of in (predicted, manual)
    ]
    one = impact(*tables, duration={"s1": 9, "s2": 1})
    other = impact(predicted, manual, duration=pd.Series({"s1": 9, "s2": 1}))
    pd.testing.assert_frame_equal(one.table, other.table)
    single = impact(PREDICTED, MANUAL, duration=9)
    assert one.table.loc["s1", "cost"] == pytest.approx(single.cost, abs=1e-12)


def test_the_gate_is_shut_above_the_threshold_only():
    summary = impact({"s": PREDICTED}, {"s": MANUAL})
    assert [summary.exceeds(limit) for limit in (0.6, 2 / 3, 0.7)] == [True, False, False]
    with pytest.raises(ValueError, match="no sample has manual annotations"):
        impact({"s": PREDICTED}, {}).exceeds(0.6)


@pytest.mark.parametrize(("predicted", "manual", "said"), [
    ([("a", 0, 1), ("a", 2, 1)], MANUAL, r"^predicted, row 1: .*finite times in order, got"),
    (MANUAL, [("a", math.nan, 1)], "^manual, row 0: .*got , a, nan, 1"),
    ({"s": MANUAL}, {"s": [(" ", 0, 1)]}, "^manual, row 0: .* got s, , 0, 1"),
    (MANUAL, [("a", 0)], "^manual, row 0: "),
    (MANUAL, frame(MANUAL).drop(columns="end"), "^manual, row 0: .* nan$"),
    ({"s": MANUAL}, {1: [], "1": []}, "manual must have every sample once: '1' occurs twice"),
    (frame(MANUAL, sample=["s", None, "s"]), {"s": []}, "predicted, row 1: .* got , b"),
])  # fmt: skip
def test_a_bad_annotation_is_named_by_its_place(predicted, manual, said):
    with pytest.raises(ValueError, match=said):
        impact(predicted, manual)


def test_what_does_not_fit_is_refused():
    one = {"s": MANUAL}
    for given_settings, said in (
        ({"weights": {"type": -1}}, r"weights\['type'\] must be at least 0, got -1"),
        ({"weights": {"stop": 1}}, "weights must be of type, start and end, got stop"),
        ({"duration": {"t": 1}}, "duration of the sample 's' must be above 0, got nan"),
    ):
        with pytest.raises(ValueError, match=said):
            impact(one, one, **given_settings)
    with pytest.warns(
        UserWarning, match="No common sample: .* 'S', and manual has samples such as 's'"
    ):
        impact({"S": MANUAL}, one)


CSV = "sample,type,start,end\nclip-1,serve,0,2.5\nclip-2,,,\nclip-1,rally,7,12\n"
RECORDS = [
    {"sample": "clip-1", "type": "serve", "start": 0, "end": 2.5},
    {"sample": "clip-2", "type": "", "start": None, "end": None},
    {"sample": "clip-1", "type": "rally", "start": 7, "end": 12},
]
OBJECT = {
    "clip-1": [{field: row[field] for field in FIELDS} for row in (RECORDS[0], RECORDS[2])],
    "clip-2": [],
}


@pytest.mark.parametrize("content", [CSV, json.dumps(OBJECT), "\n " + json.dumps(RECORDS)])
def test_all_forms_of_a_file_hold_the_same_annotations(file, content):
    summary = impact(read_annotations(file(content)), RECORDS)
    assert sorted(summary.table.index) == ["clip-1", "clip-2"]
    assert (summary.impact, summary.scratch, summary.cost) == (0, 6, 0)


@pytest.mark.parametrize(("content", "said"), [
    ("sample,type,start\ns,a,0\n", "row 0: .* got s, a, 0, nan"),
    (CSV + "clip-3,serve,0,1_0\n", "row 3: .* got clip-3, serve, 0, 1_0"),
    ('{"s": [], "s": []}', "'s' occurs twice in one object"),
])  # fmt: skip
def test_bad_content_is_refused_with_file_and_place(file, content, said):
    with pytest.raises(ValueError, match=rf"^results\.csv: .*{said}"):
        read_annotations(file(content))
