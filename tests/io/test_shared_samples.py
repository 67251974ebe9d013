"""Logs of others, read as somebody who opened each of them wrote it down."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import read_responses

if TYPE_CHECKING:
    from pathlib import Path

TOYS = [f"toyadd/q{k}" for k in range(20)]
IDS = (
    "astropy__astropy-12907",
    "django__django-14752",
    "django__django-16139",
    "sympy__sympy-11400",
)
# File or pattern; settings; respondent; items; marks, or right ones of two trials.
READ_BY_HAND: list[tuple[str, dict[str, Any], str, list[str], list[int]]] = [
    ("inspect/2024-11-05*.eval", {}, "openai/gpt-4o-mini", ["input_task/1"], [1]),
    (
        "inspect/2025-05-12*.json",
        {},
        "openai/gpt-4o-mini",
        [f"popularity/{k}" for k in (1, 2, 3)],
        [1, 1, 0],
    ),
    ("inspect/log_formats.eval", {}, "ollama/llama3.1", ["popularity/1"], [0]),
    ("inspect/log_formats.json", {}, "ollama/llama3.1", ["popularity/1"], [0]),
    (
        "inspect/log_message_deduplication.eval",
        {},
        "hardcoded/hardcoded",
        ["inspect_test_utils/guess_number/0"],
        [0],
    ),
    ("inspect/mmlu*.eval", {}, "openai/gpt-4o", ["inspect_evals/mmlu_0_shot/1"], [0]),
    (
        "inspect_mock/*.eval",
        {"metric": "match", "repeats": "first"},
        "mockllm/alpha",
        TOYS,
        [0] * 20,
    ),
    (
        "inspect_mock/*.eval",
        {"metric": "match", "repeats": "mean>=0.5"},
        "mockllm/alpha",
        TOYS,
        [1] * 7 + [0] * 13,
    ),
    (
        "inspect_mock/*.eval",
        {"metric": "graded", "repeats": "first", "threshold": 0.5},
        "mockllm/alpha",
        TOYS,
        [1] * 20,
    ),
    (
        "lm_eval_0.4.13/samples_toy_mc*",
        {"metric": "acc"},
        "i82qcls7",
        [f"toy_mc/{k}" for k in range(4)],
        [0, 0, 1, 0],
    ),
    (
        "lm_eval_0.4.13/samples_toy_gen*",
        {"filter": "strict-match"},
        "i82qcls7",
        [f"toy_gen/{k}" for k in range(4)],
        [0, 0, 0, 0],
    ),
    (
        "helm_0.5.16",
        {"metric": "exact_match"},
        "simple/model1",
        [f"simple_mcqa/id{k}" for k in (60, 38, 41, 74)],
        [0, 0, 0, 0],
    ),
    (
        "every_eval_ever/*_samples.jsonl",
        {},
        "demo-org/demo-model",
        ["demo-source.demo_bench/demo_0001"],
        [1],
    ),
    ("openml", {}, "constructed", ["59/7", "59/3", "59/12"], [1, 0, 1]),
    ("swebench", {}, "constructed_org/model", [f"swe-bench/{one}" for one in IDS], [1, 0, 0, 0]),
    ("evalplus", {}, "constructed", ["HumanEval/0"], [0]),
    ("evalplus", {"metric": "base"}, "constructed", ["HumanEval/0"], [1]),
]


@pytest.mark.parametrize("expected", READ_BY_HAND, ids=lambda one: f"{one[0]} {one[1]}")
def test_a_log_holds_what_was_read_by_hand(
    shared_samples: Path, expected: tuple[str, dict[str, Any], str, list[str], list[int]]
) -> None:
    where, settings, respondent, items, marks = expected
    responses = read_responses(shared_samples / where, **settings)
    assert responses.respondents == (respondent,)
    assert list(responses.items) == items
    assert responses.values.tolist() == [marks]


def test_epochs_are_counted(shared_samples: Path) -> None:
    counted = read_responses(shared_samples / "inspect" / "log_streaming.eval", repeats="count")
    assert counted.items == ("popularity/1", "popularity/2")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1, 2]], [[2, 2]])
    path = shared_samples / "inspect_mock" / "*.eval"
    counted = read_responses(path, metric="match", repeats="count")
    assert counted.successes.tolist() == [[1] * 7 + [0] * 13]
    assert counted.trials.tolist() == [[2] * 20]


@pytest.mark.parametrize("where", ["inspect_mock_error/*.eval", "inspect/2025-02-11*.eval"])
def test_logs_without_a_score_are_refused_and_not_wrong(shared_samples: Path, where: str) -> None:
    with pytest.raises(ValueError, match="no sample has a score"):
        read_responses(shared_samples / where)


def test_all_of_them_are_one_matrix(shared_samples: Path) -> None:
    settings = {"metric": ["match", "acc", "exact_match"], "filter": "strict-match"}
    with warnings.catch_warnings(action="ignore"):
        responses = read_responses(shared_samples, repeats="count", **settings)
    assert (responses.n_respondents, responses.n_items) == (11, 47)
