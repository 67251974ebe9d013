"""Logs that harnesses wrote, here or elsewhere, read as they were opened by hand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from irtkit import read_responses
from irtkit.findings import ReadingError

LOGS = Path(__file__).parents[1] / "data" / "logs"
pytestmark = pytest.mark.filterwarnings("ignore:samples that failed or did not run are missing")


def items_of(task: str, *names: object) -> list[str]:
    return [f"{task}/{name}" for name in names]


TOYADD = items_of("toyadd", *(f"q{k}" for k in range(20)))
TOY = [*items_of("toy_gen", *range(4)), *items_of("toy_mc", *range(4))]
HELM = items_of("simple_mcqa", "id60", "id38", "id41", "id74")
CHOICES = [0, 0, 1, 0]
FLEXIBLE = {"metric": "acc", "filter": "flexible-extract"}
STRICT = FLEXIBLE | {"filter": "strict-match"}
MATCH, GRADED = ({"metric": metric, "threshold": 0.5} for metric in ("match", "graded"))
CARRIED: list[tuple[str, dict[str, Any], str, list[str], list[int]]] = [
    ("samples_toy_mc_*.jsonl", {"metric": "acc"}, "i82qcls7", TOY[4:], CHOICES),
    ("samples_*", FLEXIBLE, "i82qcls7", TOY, [0, 0, 0, 0, *CHOICES]),
    ("lm_eval_0.4.5", STRICT, "org/dummy", TOY, [0, 0, 0, 0, 0, 1, 0, 0]),
    ("lm_eval_0.4.5", FLEXIBLE, "org/dummy", TOY, [1, 0, 0, 0, 0, 1, 0, 0]),
    ("*.eval", MATCH | {"repeats": "last"}, "mockllm/alpha", TOYADD, [1] * 7 + [0] * 13),
    ("*.eval", GRADED | {"repeats": "first"}, "mockllm/alpha", TOYADD, [1] * 20),
    ("inspect_0.3.50/*.json", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, 0]),
    ("inspect_0.3.50/*_5Ser*.eval", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, 0]),
    ("inspect_0.3.50/*_hjPg*.eval", {}, "mockllm/beta", TOYADD[:3], [1, 1, 1]),
    ("inspect_0.3.285/*.eval", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, -1]),
    ("helm", {"metric": "exact_match"}, "simple/model1", HELM, [0, 0, 0, 0]),
]
UTILS, DEMO = "inspect_test_utils", "demo-source.demo_bench"
POPULARITY = items_of("popularity", 1, 2, 3)
SWE_BENCH = ["astropy__astropy-12907", "django__django-14752"]
SWE_BENCH += ["django__django-16139", "sympy__sympy-11400"]
OF_OTHERS: dict[str, tuple[str, list[str], list[int]]] = {
    "inspect/2024-11-05*.eval": ("openai/gpt-4o-mini", ["input_task/1"], [1]),
    "inspect/2025-05-12*.json": ("openai/gpt-4o-mini", POPULARITY, [1, 1, 0]),
    "inspect/log_formats.eval": ("ollama/llama3.1", ["popularity/1"], [0]),
    "inspect/log_message*.eval": ("hardcoded/hardcoded", [f"{UTILS}/guess_number/0"], [0]),
    "inspect/mmlu*.eval": ("openai/gpt-4o", ["inspect_evals/mmlu_0_shot/1"], [0]),
    "every_eval_ever/*_samples.jsonl": ("demo-org/demo-model", [f"{DEMO}/demo_0001"], [1]),
    "openml": ("constructed", items_of("59", 7, 3, 12), [1, 0, 1]),
    "swebench": ("constructed_org/model", items_of("swe-bench", *SWE_BENCH), [1, 0, 0, 0]),
    "evalplus": ("constructed", ["HumanEval/0"], [0]),
}


@pytest.mark.parametrize(("path", "settings", "respondent", "items", "marks"), CARRIED)
def test_a_carried_log_holds_what_its_maker_put_in(
    path: str, settings: dict[str, Any], respondent: str, items: list[str], marks: list[int]
) -> None:
    responses = read_responses(LOGS / path, **settings)
    assert (responses.respondents, list(responses.items)) == ((respondent,), items)
    assert responses.values.tolist() == [marks]


@pytest.mark.parametrize("path", OF_OTHERS)
def test_a_log_of_others_holds_what_was_read_by_hand(shared_samples: Path, path: str) -> None:
    respondent, items, marks = OF_OTHERS[path]
    responses = read_responses(shared_samples / path)
    assert (responses.respondents, list(responses.items)) == ((respondent,), items)
    assert responses.values.tolist() == [marks]


@pytest.mark.parametrize(("path", "metric", "text", "target"), [
    ("samples_toy_mc_*.jsonl", "acc", ["2+2?", "3+3?"], ["1", "0"]),
    ("helm", "exact_match", ["Is 70 even or odd?", "Is 48 even or odd?"], ["Even", "Even"]),
    ("inspect_0.3.285/*.eval", None, ["What is 0+1?", "What is 1+1?"], ["1", "2"]),
])  # fmt: skip
def test_texts_and_targets_are_kept(path: str, metric: Any, text: Any, target: Any) -> None:
    table = read_responses(LOGS / path, metric=metric).item_table
    assert (table["text"].tolist()[:2], table["target"].tolist()[:2]) == (text, target)


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


@pytest.mark.parametrize(
    ("where", "error"), [("inspect_mock_error/*.eval", "ConnectionError"), ("inspect/2025-02*", "")]
)
def test_logs_without_a_score_are_refused_with_the_first_error(
    shared_samples: Path, where: str, error: str
) -> None:
    with pytest.raises(ReadingError) as caught:
        read_responses(shared_samples / where)
    assert caught.value.finding.code == "no-scores"
    assert caught.value.finding.values["error"].startswith(error)


def test_logs_of_all_formats_are_one_matrix(shared_samples: Path) -> None:
    settings = {"metric": ["match", "acc", "exact_match"], "filter": "strict-match"}
    with warnings.catch_warnings(action="ignore"):
        responses = read_responses(shared_samples, repeats="count", **settings)
    assert (responses.n_respondents, responses.n_items) == (11, 47)
