"""Logs that the writers of harnesses wrote here, read as they were opened by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtkit.io import read_responses

LOGS = Path(__file__).parents[1] / "data" / "logs"


def test_lm_evaluation_harness() -> None:
    path = LOGS / "samples_toy_mc_*.jsonl"
    with pytest.raises(ValueError, match="several metrics: acc, acc_norm"):
        read_responses(path)
    responses = read_responses(path, metric="acc")
    assert responses.respondents == ("i82qcls7",)
    assert responses.items == ("toy_mc/0", "toy_mc/1", "toy_mc/2", "toy_mc/3")
    assert responses.values.tolist() == [[0, 0, 1, 0]]
    assert responses.item_table["text"].tolist()[:2] == ["2+2?", "3+3?"]
    assert responses.item_table["target"].tolist()[:2] == ["1", "0"]
    both = read_responses(LOGS / "samples_*", metric="acc", filter="flexible-extract")
    assert both.values.tolist() == [[0, 0, 0, 0, 0, 0, 1, 0]]


def test_inspect() -> None:
    path = LOGS / "*.eval"
    counted = read_responses(path, metric="match", repeats="count")
    assert counted.respondents == ("mockllm/alpha",)
    assert counted.items == tuple(f"toyadd/q{k}" for k in range(20))
    assert counted.successes.tolist() == [[1] * 7 + [0] * 13]
    assert counted.trials.tolist() == [[2] * 20]
    assert counted.item_table["topic"].unique().tolist() == ["add"]
    graded = read_responses(path, metric="graded", repeats="first", threshold=0.5)
    assert graded.values.tolist() == [[1] * 20]


def test_helm() -> None:
    responses = read_responses(LOGS / "helm", metric="exact_match")
    assert responses.respondents == ("simple/model1",)
    assert responses.items == tuple(f"simple_mcqa/id{k}" for k in (60, 38, 41, 74))
    assert responses.values.tolist() == [[0, 0, 0, 0]]
    assert responses.item_table["text"].tolist()[:2] == ["Is 70 even or odd?", "Is 48 even or odd?"]
    assert responses.item_table["target"].tolist() == ["Even", "Even", "Odd", "Even"]


@pytest.mark.parametrize("version", ["0.4.2", "0.4.5"])
@pytest.mark.parametrize(
    ("by", "marks"), [("strict-match", [0] * 4), ("flexible-extract", [1, 0, 0, 0])]
)
def test_early_lm_evaluation_harness_has_its_filters_in_turn(
    version: str, by: str, marks: list[int]
) -> None:
    folder = LOGS / f"lm_eval_{version}"
    with pytest.raises(ValueError, match="several filters: strict-match, flexible-extract"):
        read_responses(folder, metric="acc", repeats="count")
    responses = read_responses(folder, metric="acc", filter=by)
    assert responses.respondents == ("org/dummy",)
    assert responses.items == tuple(
        f"{task}/{k}" for task in ("toy_gen", "toy_mc") for k in range(4)
    )
    assert responses.values.tolist() == [[*marks, 0, 1, 0, 0]]
    assert responses.item_table["text"].tolist()[:2] == ["2+2?", "3+3?"]


@pytest.mark.parametrize(
    ("path", "marks"),
    [
        ("inspect_0.3.50/*.json", [1, 1, 1, 0]),
        ("inspect_0.3.50/*_5Ser*.eval", [1, 1, 1, 0]),
        ("inspect_0.3.50/*_hjPg*.eval", [1, 1, 1]),
        ("inspect_0.3.285/*.eval", [1, 1, 1, -1]),
    ],
)
@pytest.mark.filterwarnings("ignore:samples that failed or did not run are missing")
def test_versions_of_inspect_and_runs_that_ended_in_an_error(path: str, marks: list[int]) -> None:
    responses = read_responses(LOGS / path)
    assert responses.respondents == ("mockllm/beta",)
    assert responses.items == tuple(f"toyadd/q{k}" for k in range(len(marks)))
    assert responses.values.tolist() == [marks]
    assert responses.item_table["text"].tolist()[0] == "What is 0+1?"


@pytest.mark.parametrize("by", ["strict-match", "flexible-extract"])
@pytest.mark.parametrize(
    ("version", "more", "logs"),
    [
        ("0.2.2", ([], []), "samples_toy_gen_*"),
        ("0.3.0", (["accuracy"], ["none"]), "samples_toy_*"),
    ],
)
def test_what_every_eval_ever_converted_reads_as_the_log_that_it_was(
    version: str, more: tuple[list[str], list[str]], logs: str, by: str
) -> None:
    converted = read_responses(LOGS / f"every_eval_ever_{version}", filter=[by, *more[0]])
    log = read_responses(LOGS / logs, metric=["acc"] if more[1] else None, filter=[by, *more[1]])
    assert converted.respondents == ("org/dummy",)
    assert converted.items == log.items
    assert converted.values.tolist() == log.values.tolist()
    assert converted.item_table["text"].tolist()[0] == "Q: 2+2?\nA:"
