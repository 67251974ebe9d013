"""Logs of seven more harnesses, read as their samples were made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irtkit import read_responses
from irtkit.files import head_of
from irtkit.io.logs import formats_that_fit

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
    ("simple-evals", {}, [[1, 1, 1], [1, 0, 0]]),
    ("simple-evals", {"errors": "missing"}, [[1, 1, 1], [1, 0, -1]]),
    ("promptfoo", {}, [[1, 1, 0], [1, 0, -1]]),
    ("promptfoo", {"metric": "score", "threshold": 0.5}, [[1, 1, 1], [1, 0, -1]]),
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


KNOWN: list[tuple[str, dict[str, str]]] = [
    ("openai-evals", {"text": "What is 1 + 1?", "target": "2"}),
    ("simple-evals", {"text": "Is 1 < 2?\nA) yes\nB) no", "target": "A"}),
    ("promptfoo", {"sum": "2 + 2"}),
    ("livecodebench", {"difficulty": "easy"}),
    ("opencompass", {"target": "2"}),
]


@UNFINISHED
@pytest.mark.parametrize(("name", "known"), KNOWN)
def test_items_keep_text_target_and_kind(name: str, known: dict[str, str]) -> None:
    repeats = "first" if name in {"livecodebench", "opencompass"} else "error"
    table = read_responses(LOGS / FOLDERS[name], repeats=repeats).item_table
    assert table.iloc[0][[*known]].to_dict() == known


def test_no_file_is_of_two_formats(request: pytest.FixtureRequest) -> None:
    ours = {file: name for name, one in FOLDERS.items() for file in (LOGS / one).rglob("*.json*")}
    shared = Path(request.config.rootpath).parent / "shared" / "samples"
    for file in (one for folder in (LOGS, shared) for one in folder.rglob("*.*") if one.is_file()):
        found = {*formats_that_fit(file, head_of(file)[:4096].decode("latin-1"))}
        assert found == {ours[file]} if file in ours else not found & FOLDERS.keys(), file
