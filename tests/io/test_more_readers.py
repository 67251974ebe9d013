"""Logs of seven more harnesses, read as their samples were made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from irtkit.files import head_of
from irtkit.io import read_responses
from irtkit.io.logs import LOG_FORMATS, log_format_of

LOGS = Path(__file__).parents[1] / "data" / "logs"
FOLDERS = {
    "openai-evals": "openai_evals",
    "simple-evals": "simple_evals",
    **{name: name for name in ("promptfoo", "livebench", "livecodebench", "opencompass")},
    "bigcodebench": "bigcodebench",
}
SYSTEMS = {
    "promptfoo": ["toy/good", "toy/weak"],
    "livecodebench": ["Toy-Large", "Toy-Small"],
    "bigcodebench": ["toy/large", "toy/small"],
}
TASKS = {
    "openai-evals": "sums.dev.v0",
    "promptfoo": "toy sums",
    "livecodebench": "livecodebench-codegeneration",
    "bigcodebench": "bigcodebench-instruct",
}
ITEMS = {
    "simple-evals": ["83be33e50f65601c", "3a2faf05276e94aa", "8460ae94b6555cb0"],
    "promptfoo": ["47880b8207305f89", "60e18bd8a0b97c45", "dd13232c622705d6"],
    "livebench": ["3fc4", "7692", "8b5b"],  # questions two, one and three
    "livecodebench": ["toy0_a", "toy1_a", "toy2_a"],
}
MATRICES: list[tuple[str, dict[str, Any], list[list[int]]]] = [
    ("openai-evals", {}, [[1, 1, -1], [1, 0, 1]]),
    ("openai-evals", {"metric": "f1_score"}, [[1, 1, -1], [1, 0, 1]]),
    ("simple-evals", {}, [[1, 1, 1], [1, 0, 0]]),
    ("simple-evals", {"errors": "missing"}, [[1, 1, 1], [1, 0, -1]]),
    ("promptfoo", {}, [[1, 1, 0], [1, 0, -1]]),
    ("promptfoo", {"metric": "score", "threshold": 0.5}, [[1, 1, 1], [1, 0, -1]]),
    ("promptfoo", {"metric": "exact"}, [[1, 1, 0], [1, 0, -1]]),
    ("livebench", {"threshold": 0.75}, [[1, 1, 0], [0, 1, -1]]),
    ("livecodebench", {"repeats": "first"}, [[1, 1, 1], [0, 0, 0]]),
    ("livecodebench", {"repeats": "last", "errors": "missing"}, [[1, 0, 1], [1, 0, -1]]),
    ("opencompass", {"repeats": "first"}, [[1, 1, 1], [1, 0, 0]]),
    ("opencompass", {"repeats": "last"}, [[1, 0, 1], [0, 0, 1]]),
    ("bigcodebench", {"repeats": "first"}, [[1, 1, 1], [0, 0, -1]]),
    ("bigcodebench", {"repeats": "last"}, [[1, 0, 1], [1, 0, -1]]),
]
UNFINISHED = pytest.mark.filterwarnings("ignore:samples that failed or did not run are missing")


@UNFINISHED
@pytest.mark.parametrize(("name", "settings", "marks"), MATRICES)
def test_a_log_holds_what_its_maker_put_in(name: str, settings: Any, marks: Any) -> None:
    responses = read_responses(LOGS / FOLDERS[name], **settings)
    assert sorted(responses.respondents) == SYSTEMS.get(name, ["toy-large", "toy-small"])
    items = [f"{TASKS.get(name, 'sums')}/{item}" for item in ITEMS.get(name, ["0", "1", "2"])]
    starts = [label[: len(item)] for label, item in zip(responses.items, items, strict=True)]
    assert starts == items
    order = [responses.respondents.index(one) for one in sorted(responses.respondents)]
    assert responses.values[order].tolist() == marks


@UNFINISHED
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("openai-evals", {"prompt_tokens", "completion_tokens", "total_tokens"}),
        ("promptfoo", {"latencyMs", "cost", "total_tokens"}),
    ],
)
def test_effort_is_kept_and_is_no_mark(name: str, numbers: set[str]) -> None:
    metrics = read_responses(LOGS / FOLDERS[name]).metrics
    assert numbers < set(metrics["metric"])
    assert not metrics["value"].isna().any()


@pytest.mark.parametrize(
    ("name", "column", "first"),
    [
        ("openai-evals", "text", "What is 1 + 1?"),
        ("openai-evals", "target", "2"),
        ("simple-evals", "text", "Is 1 < 2?\nA) yes\nB) no"),
        ("simple-evals", "target", "A"),
        ("promptfoo", "sum", "2 + 2"),
        ("livecodebench", "difficulty", "easy"),
        ("opencompass", "target", "2"),
    ],
)
@UNFINISHED
def test_items_keep_text_target_and_kind(name: str, column: str, first: str) -> None:
    repeats = "first" if name in {"livecodebench", "opencompass"} else "error"
    assert read_responses(LOGS / FOLDERS[name], repeats=repeats).item_table[column].iloc[0] == first


def test_no_file_is_of_two_formats(request: pytest.FixtureRequest) -> None:
    ours = {file: name for name, one in FOLDERS.items() for file in (LOGS / one).rglob("*.json*")}
    shared = Path(request.config.rootpath).parent / "shared" / "samples"
    for file in (one for folder in (LOGS, shared) for one in folder.rglob("*.*") if one.is_file()):
        found = {name for name, one in LOG_FORMATS.items() if one.recognise(file, head_of(file))}
        assert found == {ours[file]} if file in ours else not found & FOLDERS.keys(), file
    assert {log_format_of(file) for file in ours} == FOLDERS.keys()


def test_the_page_of_simple_evals_reads_as_all_results(tmp_path: Path) -> None:
    path = next((LOGS / "simple_evals").glob("*small*"))
    sections = "\n<hr>\n".join(json.loads(path.read_text())["htmls"])
    style = "<style>.message.assistant {}</style>"
    page = tmp_path / "sums_toy-small_DEBUG.html"
    page.write_text(f"<!DOCTYPE html>\n<html><head>{style}</head><body>{sections}</body></html>")
    assert read_responses(page).values.tolist() == [[1, 0, 0]]
    shutil.copy(path, tmp_path / "sums_toy-small_DEBUG_allresults.json")
    assert read_responses(tmp_path).values.tolist() == [[1, 0, 0]]


def test_earlier_details_of_opencompass_are_read_and_totals_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sums.json"
    details = {"type": "PPL", "0": {"references": "2", "correct": True}, "1": {"correct": False}}
    path.write_text(json.dumps({"accuracy": 50.0, "details": details}))
    assert read_responses(path).values.tolist() == [[1, 0]]
    path.write_text('{"accuracy": 50.0}')
    with pytest.raises(ValueError, match=r"^sums.json: .* --dump-eval-details$"):
        read_responses(path, format="opencompass")


def test_answers_of_livecodebench_beside_the_evaluation_are_passed_over(tmp_path: Path) -> None:
    path = next((LOGS / "livecodebench").rglob("*.json"))
    problems = json.loads(path.read_text())
    (tmp_path / "codegeneration_2_0.2_eval_all.json").write_text(json.dumps(problems))
    for problem in problems:
        del problem["graded_list"]
    (tmp_path / "codegeneration_2_0.2.json").write_text(json.dumps(problems))
    (tmp_path / "codegeneration_2_0.2_eval.json").write_text('[{"pass@1": 1.0}]')
    assert read_responses(tmp_path, repeats="first").respondents == (tmp_path.name,)


@UNFINISHED
def test_a_provider_with_two_prompts_is_two_systems_in_promptfoo(tmp_path: Path) -> None:
    text = (LOGS / "promptfoo" / "results.json").read_text().replace("toy/weak", "toy/good")
    (path := tmp_path / "r.json").write_text(text.replace('"What is {{sum}}?"', '"Short"', 2))
    assert read_responses(path).n_respondents == 2
