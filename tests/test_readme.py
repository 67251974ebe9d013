"""The README's example runs and prints what it says."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import irtkit
from irtkit.cli.commands import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_under_it() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert found is not None
    code, expected = found.groups()
    assert len(code.splitlines()) < 20
    printed = StringIO()
    names: dict[str, Any] = {}
    with redirect_stdout(printed):
        exec(code, names)  # noqa: S102  # the README is ours
    assert printed.getvalue() == expected
    words = " ".join(README.split())
    assert names["result"].warnings == ()
    assert f"like about {names['result'].near_duplicates.n_eff:.0f} independent" in words


def test_its_commands_are_those_of_the_command_line() -> None:
    block = README.split("## From the command line")[1]
    typed = set(re.findall(r"^irtkit ([\w-]+)", block, re.MULTILINE))
    named = set(re.findall(r"`([a-z-]+)(?: --\w+)?`(?:, `([a-z-]+)`)? \| \[", README))
    told = typed | {name for names in named for name in names if name}
    assert told <= set(cli.commands)
    assert len(told) >= 10


def test_its_links_lead_somewhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"]
    raw = repository.replace("github.com", "raw.githubusercontent.com")
    (picture,) = re.findall(r"\]\((.*?)\)", README)  # an index page has no files beside it
    links = dict(re.findall(r"(?m)^\[(.+)\]: (.+)$", README))
    prose = re.sub(r"(?ms)^```.*?^```$|^\[[^\n]+\]: ", "", README)
    assert {name.lower() for name in re.findall(r"\[([^\[\]]+)\](?![\[(])", prose)} == {*links}
    whole = [picture.replace(f"{raw}/main/", ""), *project["urls"].values(), *links.values()]
    paths = [link.replace(f"{repository}/blob/main/", "").split("#")[0] for link in whole]
    assert [path for path in paths if not (ROOT / path).exists()] == [
        repository,
        f"{repository}/issues",
    ]
    assert len(links) > 10


def test_the_version_and_its_date_are_everywhere_the_same() -> None:
    version, date = re.findall(r"(?m)^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text())[0]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version == irtkit.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in cited


def write_by_hand(path: Path, system: str, samples: list[dict[str, str]]) -> None:
    """Log of Inspect with what a reader needs."""
    header = {"version": 2, "status": "success", "eval": {"model": system, "task": "quiz"}}
    records = [one | {"scores": {"match": {"value": one["value"]}}} for one in samples]
    path.with_suffix(".json").write_text(json.dumps(header | {"samples": records}))


def write_by_inspect(path: Path, system: str, samples: list[dict[str, str]]) -> None:
    """Log of Inspect by its own writer."""
    with warnings.catch_warnings(action="ignore"):
        log = pytest.importorskip("inspect_ai.log")
        score = pytest.importorskip("inspect_ai.scorer").Score
    about = {"task": "quiz", "model": system, "created": "2026-01-02T03:04:05+00:00"}
    spec = log.EvalSpec(**about, dataset=log.EvalDataset(), config=log.EvalConfig())
    records = [
        log.EvalSample(epoch=1, scores={"match": score(value=one.pop("value"))}, **one)
        for one in samples
    ]
    whole = log.EvalLog(eval=spec, status="success", samples=records)
    log.write_eval_log(whole, str(path.with_suffix(".eval")))


@pytest.mark.parametrize(
    "write", [write_by_hand, pytest.param(write_by_inspect, marks=pytest.mark.slow)]
)
def test_logs_become_suspect_items_with_texts_and_a_table_of_systems(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path, str, list[dict[str, str]]], None],
) -> None:
    abilities = np.linspace(-2, 2, 60)
    items = irtkit.ItemParameters.from_difficulty(np.full(40, 1.5), np.linspace(-2, 2, 40))
    right = irtkit.simulate_responses(items, abilities, seed=0).values.copy()
    right[:, 7] = 1 - right[:, 20]  # the wrong answer is marked right
    (tmp_path / "runs").mkdir()
    for system, marks in enumerate(right):
        samples = [
            {"id": f"{k}", "input": f"question {k}", "target": "yes", "value": "IC"[mark]}
            for k, mark in enumerate(marks)
        ]
        write(tmp_path / "runs" / f"{system:02d}", f"mockllm/system-{system}", samples)
    code = next(
        code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "runs/" in code
    )
    assert len(code.splitlines()) == 4
    monkeypatch.chdir(tmp_path)
    printed = StringIO()
    with redirect_stdout(printed):
        exec(code, {"irtkit": irtkit})  # noqa: S102  # the README is ours
    suspects, systems = printed.getvalue().split("respondent")[:2]
    assert re.search("quiz/7 .*negative.*question 7 .*yes", suspects)
    assert "system-5" in systems.split("\n")[1]
