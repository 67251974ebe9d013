"""The quality standard and the impact metric, with published numbers as referees."""

import json
import math
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import irtkit
from irtkit import ResponseMatrix, difficulty
from irtkit.difficulty.annotation import FIELDS, paired, read_annotations
from irtkit.difficulty.quality import quality_of
from irtkit.io.tables import as_metrics

# Claims about the quality standard, with the numbers of Kolena's page as referee
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
    page = difficulty.quality_standard(PAGE, HIGHER)
    labels = BINARY[["respondent", "item"]]
    binary, regression = difficulty.absolute_error(BINARY), difficulty.absolute_error(REGRESSION)
    computed = {
        "score": page.items,
        "datapoint": difficulty.quality_standard(THREE_SYSTEMS, []).items[:3],
        "binary_delta": binary,
        "binary_norm": difficulty.quality_standard(labels.join(binary), []).items,
        "regression_delta": regression,
        "regression_norm": difficulty.quality_standard(labels.join(regression), []).items,
        **{name: rows["value"] for name, rows in page.scaled.groupby("metric")},
    }
    stored = worked_values["difficulty_score"]
    assert stored.keys() == computed.keys()
    for name, found in computed.items():
        assert found.tolist() == pytest.approx(stored[name]["exact"], abs=1e-9), name
        digits = 0.005 if name in {"datapoint", "binary_norm", "regression_norm"} else 1e-3
        assert found.tolist() == pytest.approx(stored[name]["printed"], abs=digits), name


def test_a_missing_value_leaves_its_weight_to_the_others():
    weights = {"cost": 0.25, "recall": 0.75}
    scores = difficulty.quality_standard(SMALL, ["recall"], weights=weights).scores
    assert scores.loc["i1", "A"] == pytest.approx(0.25 / 3 + 0.75 / 2)
    assert scores.loc["i2", "B"] == 1  # by cost alone


def test_misclassifications_are_counted_over_respondents():
    classes = pd.DataFrame({"respondent": ["A", "B", "C"] * 2, "item": ["x"] * 3 + ["y"] * 3})
    classes["prediction"], classes["truth"] = ["cat", "dog", None, "dog", "dog", "cow"], "cat"
    found = difficulty.misclassifications(classes).tolist()
    assert found == pytest.approx([1, 1, np.nan, 3, 3, 3], nan_ok=True)
    with pytest.raises(ValueError, match="both be numbers or both be text"):
        difficulty.misclassifications(BINARY.assign(truth="1"))


def test_detections_are_scored_by_their_counts():
    counts = {"respondent": "A", "item": [1, 2, 3], "TP": [3, 0, 0], "FN": [1, 4, 0]}
    table = pd.DataFrame(counts)
    for measure, given, values in (
        ("F1", table.assign(FP=[2, 1, 0]), [6 / 9, 0, np.nan]),
        ("recall", table, [3 / 4, 0, np.nan]),
    ):
        found = difficulty.detection_score(given, measure)
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
        difficulty.quality_standard(SMALL, **{"higher_is_better": ["recall"], **arguments})


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
        difficulty.quality_standard(table, ["recall"])


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

    def test_every_form_gives_the_same_scores(self, tmp_path):
        self.wide.to_parquet(tmp_path / "metrics")
        renamed = self.wide.rename(columns={"respondent": "Model", "item": "question_id"})
        for form in (pl.from_pandas(self.wide), renamed, as_metrics(tmp_path / "metrics")):
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
        given = difficulty.quality_standard(self.wide, ["f1"], scale="pooled")
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


# Claims about the impact metric, with the worked example as referee
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
    result = difficulty.impact(PREDICTED, MANUAL)
    assert (result.fixes, result.deletes, result.adds) == (4, 1, 0)
    assert (result.cost, result.penalty, result.scratch) == (4, 6, 9)
    assert result.impact == pytest.approx(2 / 3, abs=1e-12)
    assert result.table.loc["", ["n_predicted", "n_manual"]].tolist() == [4, 3]


def test_every_worked_value_comes_out_whatever_the_duration(worked_values):
    assert len(worked_values["impact"]["by_duration"]) == 8
    for worked in worked_values["impact"]["by_duration"]:
        result = difficulty.impact(PREDICTED, MANUAL, duration=worked["duration"])
        assert result.cost == pytest.approx(worked["cost"], abs=1e-9)
        weights = np.array([1, 1, 1]) / [1, worked["duration"], worked["duration"]]
        (rows, columns), *_ = paired(values(PREDICTED), values(MANUAL), weights, 0.0)
        assert (rows[np.argsort(columns)] + 1).tolist() in worked["best"]
        assert result.penalty == worked["penalty"]
        assert result.impact == pytest.approx(worked["impact"], abs=1e-9)


def test_without_manual_annotations_only_no_predictions_have_an_impact():
    nothing, spurious = difficulty.impact([], []), difficulty.impact([("a", 0, 1)], [])
    assert (nothing.impact, nothing.penalty) == (0, 0)
    assert (math.isnan(spurious.impact), spurious.penalty, spurious.scratch) == (True, 2, 0)
    assert difficulty.impact([], MANUAL).impact == 1


def test_times_within_the_tolerance_as_written_are_unchanged():
    assert (
        difficulty.impact([("a", 1.1, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 0
    )  # 1.1 − 1 > 0.1
    assert difficulty.impact([("a", 1.11, 2)], [("a", 1.0, 2)], tolerance=0.1).fixes == 1
    assert difficulty.impact([("a", 0.1 + 0.2, 2)], [("a", 0.3, 2)]).fixes == 1


def test_a_summary_puts_extremes_first_and_adds_up():
    predicted = {"good": MANUAL, "bad": PREDICTED, "spurious": PREDICTED[:1], "empty": []}
    manual = {"good": MANUAL, "bad": MANUAL[:1], "missed": MANUAL[:2], "empty": []}
    summary = difficulty.impact(predicted, manual)
    assert summary.table.index.tolist() == ["bad", "missed", "good", "empty", "spurious"]
    assert summary.table["impact"].tolist()[:4] == [pytest.approx(7 / 3), 1, 0, 0]
    assert summary.impact == pytest.approx((7 / 3 + 1) / 4, abs=1e-12)
    assert (summary.penalty, summary.scratch) == (7 + 6 + 2, 18)
    assert (summary.fixes, summary.deletes, summary.adds, summary.n_undefined) == (1, 4, 2, 1)


def test_the_gate_is_shut_above_the_threshold_only():
    summary = difficulty.impact({"s": PREDICTED}, {"s": MANUAL})
    assert [summary.exceeds(limit) for limit in (0.6, 2 / 3, 0.7)] == [True, False, False]
    with pytest.raises(ValueError, match="no sample has manual annotations"):
        difficulty.impact({"s": PREDICTED}, {}).exceeds(0.6)


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
        difficulty.impact(predicted, manual)


def test_what_does_not_fit_is_refused():
    one = {"s": MANUAL}
    for given_settings, said in (
        ({"weights": {"type": -1}}, r"weights\['type'\] must be at least 0, got -1"),
        ({"weights": {"stop": 1}}, "weights must be of type, start and end, got stop"),
        ({"duration": {"t": 1}}, "duration of the sample 's' must be above 0, got nan"),
    ):
        with pytest.raises(ValueError, match=said):
            difficulty.impact(one, one, **given_settings)
    with pytest.warns(
        UserWarning, match="No common sample: .* 'S', and manual has samples such as 's'"
    ):
        difficulty.impact({"S": MANUAL}, one)


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
    summary = difficulty.impact(read_annotations(file(content)), RECORDS)
    assert sorted(summary.table.index) == ["clip-1", "clip-2"]
    assert (summary.impact, summary.scratch, summary.cost) == (0, 6, 0)
