"""What a path holds, and that typing what is proposed works."""

from __future__ import annotations

import shlex
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import read_responses
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from pathlib import Path


def test_the_settings_that_are_proposed_read_what_is_shown(log: tuple[str, Path]) -> None:
    name, path = log
    found = overview(path.parent)
    with warnings.catch_warnings(action="ignore"):
        assert read_responses(path.parent, **found.settings) == found.matrix
    assert name in next(iter(found.formats))
    assert found.command in str(found)
    assert shlex.split(found.command)[:3] == ["irtkit", "fit", str(path.parent)]


def test_metric_filter_threshold_and_repeats_are_proposed_where_needed(
    tmp_path: Path, make: Any
) -> None:
    fields = {"metrics": ["f1", "acc"], "acc": 1.0, "f1": 0.3}
    records = [make.lm_eval_record(0, filter=name, **fields) for name in ("strict", "flexible")]
    make.write_lm_eval(tmp_path, records)
    samples = [make.inspect_sample("a", 0.5, epoch) for epoch in (1, 2)]
    make.write_inspect(tmp_path, samples, task="shares")
    found = overview(tmp_path)
    wanted = {"metric": ["acc"], "filter": ["strict"], "threshold": 0.5, "repeats": "count"}
    assert found.settings == wanted
    assert found.command.endswith("--metric acc --filter strict --threshold 0.5 --repeats count")


def test_groups_that_share_no_items_are_named(tmp_path: Path, make: Any) -> None:
    for model, task in (("one", "sums"), ("two", "sums"), ("three", "words")):
        make.write_inspect(
            tmp_path, [make.inspect_sample("a", "C")], name=f"{model}.eval", model=model, task=task
        )
    assert "2 groups of systems share no items" in str(overview(tmp_path))
    (tmp_path / "three.eval").unlink()
    assert "share no items" not in str(overview(tmp_path))


def test_a_run_without_scores_says_why_it_cannot_be_fitted(tmp_path: Path, make: Any) -> None:
    make.write_inspect(tmp_path, [make.inspect_sample("a", None)], status="error")
    found = overview(tmp_path)
    assert found.command == ""
    assert "cannot be fitted: no sample has a score, 1 sample failed" in str(found)


@pytest.mark.parametrize(
    ("content", "command"),
    [
        ("model,q1,q2\na,1,0\nb,0,1\n", ""),
        ("model,q1,q2\na,0.7,0\nb,0,1\n", " --threshold 0.5"),
        ("model,item,epoch,correct\na,q,1,1\na,q,2,0\n", " --repeats count"),
        ("model,q1,q2\na,87,12\nb,55,31\n", " --threshold 50"),
        ("model,q1,q2\na,correct,wrong\nb,wrong,correct\n", " --right correct --wrong wrong"),
        ("model,q1,q2\na,100,0\nb,0,100\n", " --threshold 50"),
        ("model,q1,q2,size\na,1,0,7.1\nb,0,1,70.2\n", " --ignore size"),
        ("model,q1,q2,q3\na,0.7,-,0.2\nb,0.2,1,0.5\n", " --missing - --threshold 0.5"),
    ],
)
def test_tables_have_their_command_too(tmp_path: Path, content: str, command: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content)
    assert overview(path).command == f"irtkit fit {path}{command}"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("model,item,correct\na,q,1\na,q,0\n", "repeated"),
        ("model,item,language,correct\na,q,en,1\na,q,de,0\n", "repeated"),
        ("model,q1,q2,moe\na,1,0,1\nb,0,1,0\n", "metadata-columns"),
        ("model,q1,q2\na,A,C\nb,B,D\n", "answers"),
        ("model,size\na,700\nb,1300\n", "numbers"),
    ],
)
def test_what_the_user_must_decide_is_a_problem(tmp_path: Path, content: str, code: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content)
    found = overview(path)
    assert (found.problem.finding.code, found.command, found.settings) == (code, "", {})
    choices = [remedy.settings for remedy in found.problem.finding.remedies]
    assert all(f"--{name}" in str(found) for choice in choices for name in choice)


def test_settings_that_are_given_go_into_the_command(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("task,model,question_id,epoch,correct\nm,a,1,1,0.2\nn,a,1,1,1\nn,a,1,2,0\n")
    found = overview(path, task="n", threshold=0.5)
    assert found.settings == {"task": "n", "threshold": 0.5, "repeats": "count"}
    assert found.matrix == read_responses(path, **found.settings)
    assert "tasks (1): n (1)" in str(found)
    assert found.command.startswith(f"irtkit fit {path} --task n --threshold 0.5")


def test_findings_are_those_of_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("item,llama-7b,qwen-7b\nq1,1,0.4\nq2,1,1\n")
    found = overview(path)
    assert {one.code for one in found.findings} == {"transposed", "threshold"}
    assert "--transpose" in str(found)
    assert found.tasks is None


def test_a_name_that_begins_like_an_option_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-dash.csv").write_text("model,q1\na,1\nb,0\n")
    assert overview("-dash.csv").command == "irtkit fit ./-dash.csv"


def test_tables_in_a_folder_are_looked_at_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,q1,q2\ngpt,1,0\n")
    (tmp_path / "b.csv").write_text("model,item,correct\nllama,q2,1\n")
    found = overview(tmp_path)
    assert found.formats == {".csv": 2}
    assert found.command == f"irtkit fit {tmp_path}"
    assert found.matrix == read_responses(tmp_path)


def test_a_folder_of_other_files_has_no_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing")
    found = overview(tmp_path)
    assert (found.problem.finding.code, found.command) == ("file", "")


def test_systems_of_a_task_without_a_common_metric_are_shown_with_the_other_tasks(
    tmp_path: Path, make: Any
) -> None:
    for model, name in (("one", "exact"), ("two", "graded")):
        samples = [make.inspect_sample("a", "C", scores={name: {"value": "C"}})]
        make.write_inspect(tmp_path, samples, name=f"{model}.eval", model=model)
    make.write_inspect(tmp_path, [make.inspect_sample("a", "C")], task="words")
    found = overview(tmp_path)
    assert found.problem.finding.code == "no-common-metric"
    shown = str(found)
    assert "metrics: none that all systems have" in shown
    assert "share no metric: 'one' has exact, and 'two' has graded" in shown.replace("\n ", "")
    assert "  add --task words to read the others" in shown
    assert read_responses(tmp_path, task="words").items == ("words/a",)


def test_metrics_of_runs_that_are_not_read_are_no_trouble(tmp_path: Path, make: Any) -> None:
    for name, scorer, day in (("old", "exact", 1), ("new", "match", 2)):
        scores = {scorer: {"value": "C"}}
        samples = [make.inspect_sample("a", "C", scores=scores, total_time=day)]
        make.write_inspect(tmp_path, samples, name=f"{name}.eval", created=f"2026-01-0{day}")
    assert overview(tmp_path).command == f"irtkit fit {tmp_path}"
