"""Ratings: long tables and logs in which several judges mark the answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import irtkit
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from pathlib import Path

RATINGS = pd.DataFrame(
    {
        "model": [*"aabba"],
        "item": ["q1", "q1", "q1", "q2", "q2"],
        "judge": ["j1", "j2", "j1", "j2", "j1"],
        "score": [3, 4, 5, 1, 2],
        "lab": [*"XXYYX"],
    }
)
RANGE = {"score_range": (1, 5)}


@pytest.mark.parametrize("form", ["frame", "file", "sparse"])
def test_an_item_is_read_as_each_judge_marks_it(form: str, tmp_path: Path) -> None:
    RATINGS.to_csv(tmp_path / "ratings.csv", index=False)
    ratings = tmp_path / "ratings.csv" if form == "file" else RATINGS
    sparse = form == "sparse"
    read = irtkit.read_responses(ratings, judge="*", family="lab", sparse=sparse, **RANGE)
    assert read.items == ("q1/j1", "q1/j2", "q2/j2", "q2/j1")
    assert read.item_table is not None
    assert read.respondent_table is not None
    assert read.item_table["judge"].tolist() == ["j1", "j2", "j2", "j1"]
    assert read.item_table["judged_item"].tolist() == ["q1", "q1", "q2", "q2"]
    assert read.respondent_table["lab"].tolist() == ["X", "Y"]
    assert read.to_dense().scores[0, :2].tolist() == [0.5, 0.75]


def test_a_column_of_judges_must_be_named_or_left_out() -> None:
    with pytest.raises(ReadingError, match="irtkit judges FILE") as caught:
        irtkit.read_responses(RATINGS, **RANGE)
    assert caught.value.finding.code == "judge-column"
    one = RATINGS[RATINGS["judge"] == "j1"]
    assert irtkit.read_responses(one, **RANGE).n_items == 2
    kept = irtkit.read_responses(RATINGS, ignore="judge", repeats="first", **RANGE)
    assert kept.n_items == 2


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"judge": "score"}, "no-response-column"), ({"family": "model"}, "no-respondent-column")],
)
def test_a_column_has_one_role(settings: Any, code: str) -> None:
    with pytest.raises(ReadingError) as caught:
        irtkit.read_responses(RATINGS, **{"judge": "judge"} | settings, **RANGE)
    assert caught.value.finding.code == code


def test_a_system_has_one_family_and_a_judge_marks_an_answer_once() -> None:
    how: Any = {"judge": "judge", **RANGE}
    with pytest.raises(ReadingError) as caught:
        irtkit.read_responses(RATINGS.assign(lab=[*"XYYYX"]), family="lab", **how)
    assert caught.value.finding.code == "two-values"
    with pytest.raises(ReadingError) as caught:
        irtkit.read_responses(pd.concat([RATINGS, RATINGS[:1]]), **how)
    assert caught.value.finding.values["item"] == "q1/j1"


def log_of(folder: Path, system: str, marks: dict[str, list[float]]) -> None:
    """A log of Inspect with a mark by each scorer."""
    n = len(next(iter(marks.values())))
    samples = [
        {
            "id": f"q{k}",
            "epoch": 1,
            "input": f"text {k}",
            "target": "x",
            "scores": {judge: {"value": values[k]} for judge, values in marks.items()},
        }
        for k in range(n)
    ]
    run = {"model": system, "task": "essay", "task_id": system, "created": "2026-01-01T00:00:00"}
    log = {"version": 2, "status": "success", "eval": run, "samples": samples}
    (folder / f"{system}.json").write_text(json.dumps(log))


def test_scorers_of_logs_are_judges(tmp_path: Path) -> None:
    log_of(tmp_path, "a", {"grader_x": [1.0, 0.5], "grader_y": [0.5, 0.0]})
    log_of(tmp_path, "b", {"grader_x": [0.5, 0.5], "grader_z": [1.0, 0.0]})
    log_of(tmp_path, "c", {"grader_x": [0.0, 0.5], "grader_y": [1.0, 0.0]})
    read = irtkit.read_responses(tmp_path, judge="*")
    assert read.item_table is not None
    assert set(read.item_table["judge"]) == {"grader_x", "grader_y", "grader_z"}
    assert read.to_frame().loc["b", "essay/q0/grader_z"] == 1
    assert read.item_table["judged_item"].nunique() == 2
    two = irtkit.read_responses(tmp_path, judge="*", metric=["grader_x", "grader_y"])
    assert two.n_items == 4
    (tmp_path / "b.json").unlink()
    with pytest.raises(ReadingError, match="irtkit judges FILE"):
        irtkit.read_responses(tmp_path)
