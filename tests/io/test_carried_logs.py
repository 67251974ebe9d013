"""Logs that the writers of harnesses wrote here, read as they were opened by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtkit.io import read_responses

LOGS = Path(__file__).parents[1] / "data" / "logs"


def test_lm_evaluation_harness() -> None:
    path = LOGS / "samples_toy_mc_*.jsonl"
    with pytest.raises(ValueError, match="pass metric='acc' or metric='acc_norm'"):
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
    pytest.importorskip("backports.zstd")
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
