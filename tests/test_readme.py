"""The README's example runs and prints what it says."""

from __future__ import annotations

import json
import re
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_under_it() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert found is not None
    code, expected = found.groups()
    assert len(code.splitlines()) < 20
    printed = StringIO()
    names: dict[str, Any] = {}
    with redirect_stdout(printed), pytest.warns(UserWarning, match="ability") as caught:
        exec(code, names)  # noqa: S102  # the README is ours
    assert printed.getvalue() == expected
    words, (told, meant) = " ".join(README.split()), [str(one.message) for one in caught]
    assert told.split(":")[0] in words
    assert names["result"].warnings == (told,)
    assert "items with wrong keys may go unnoticed" in meant
    assert names["result"].dependence.sentence in words


def test_the_table_names_every_module_and_no_other() -> None:
    package = Path(__file__).parents[1] / "irtkit"
    there = {path.stem for path in package.glob("*.py")}
    there |= {path.parent.name for path in package.glob("*/__init__.py")}
    named = re.findall(r"^\| `irtkit\.(\w+)` \|", README, re.MULTILINE)
    assert sorted(named) == sorted(there - {"__init__"})


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


@pytest.mark.parametrize("write", [write_by_hand, write_by_inspect])
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
    assert re.search("quiz/7 .*negative discrimination.*question 7 .*yes", suspects)
    assert "system-5" in systems.split("\n")[1]


def test_responses_go_out_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = next(code for code in blocks if "write_responses" in code)
    monkeypatch.chdir(tmp_path)
    responses = irtkit.ResponseMatrix([[1, 0], [0, 1]], ["gpt", "llama"], ["t/=1+1", "t/q2"])
    exec(code, {"irtkit": irtkit, "responses": responses})  # noqa: S102  # the README is ours
    written = re.findall(r'"(crowd\S*?)"', code)
    assert sorted(written) == sorted(path.name for path in tmp_path.iterdir())
    assert all(irtkit.read_responses(name) == responses for name in written)


def test_metrics_of_logs_and_of_a_file_stand_beside_the_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = irtkit.simulate_responses(
        irtkit.ItemParameters.from_difficulty(np.ones(20), np.linspace(-2, 2, 20)),
        np.linspace(-2, 2, 30),
    )
    places = pd.MultiIndex.from_product([right.respondents, right.items])
    measured = pd.DataFrame({"f1": right.values.ravel() * 0.8}, index=places)
    measured["total_time"] = np.tile(np.arange(20.0), 30)
    measured = measured.rename_axis(["model", "item"]).reset_index()
    monkeypatch.chdir(tmp_path)
    measured.to_csv("metrics.csv", index=False)
    right.to_frame().to_csv("results.csv")
    long = measured.rename(columns={"model": "respondent"})
    runs = right.with_tables(metrics=long.melt(["respondent", "item"], var_name="metric"))
    codes = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = next(code for code in codes if "higher_is_better" in code)
    printed = StringIO()
    with redirect_stdout(printed):
        exec(code, {"irtkit": irtkit, "runs": runs})  # noqa: S102  # the README is ours
    assert "average_error  difficulty  quality_standard" in printed.getvalue()


@pytest.mark.filterwarnings("ignore:the ability of", "ignore:.*may be abler than all")
def test_new_systems_and_items_land_on_the_earlier_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = irtkit.ItemParameters.from_difficulty(np.linspace(0.7, 1.5, 40), np.linspace(-2, 2, 40))
    generator = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    for name, mean, some in (("2025", 0, slice(30)), ("new", 0, slice(5, 20)), ("2026", 1, None)):
        ability = generator.normal(mean, 1, 200)
        drawn = irtkit.simulate_responses(items, ability, seed=generator).to_frame()
        (drawn if some is None else drawn.iloc[:, some]).to_csv(f"{name}.csv")
    codes = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = next(code for code in codes if "fixed=" in code)
    printed, names = StringIO(), {"irtkit": irtkit}
    with redirect_stdout(printed):
        exec(code, names)  # noqa: S102  # the README is ours
    assert len(names["scores"]) == 200
    assert names["later"].latent_mean > 0.7
    assert "Linked by" in printed.getvalue()
