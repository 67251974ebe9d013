"""Many logs become one matrix, and what is ambiguous is never guessed."""

from __future__ import annotations

import shutil
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from irtkit import read_responses
from irtkit.findings import Finding, IRTWarning, ReadingError
from irtkit.io.overview import overview
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from pathlib import Path

PROMPTS = ("6acc7dff39bc586b", "727c608ec90e22e7", "a4c63d9cc6423ea2")
EXPECTED = {
    "lm-eval": ("org/gpt", "sums", "012", [1, 0, -1]),
    "inspect": ("org/gpt", "sums", "abc", [1, 0, -1]),
    "every-eval-ever": ("org/gpt", "sums", "abc", [1, 0, -1]),
    "helm": ("org/gpt", "sums:digits=2", ("id1", "id2", "id3"), [1, 0, -1]),
    "evalplus": ("org/gpt", "Sums", "01", [1, 0]),
    "swe-bench": ("org/gpt-4.1", "swe-bench", "abc", [1, 0, -1]),
    "openml": ("gpt", "59", "735", [1, 0, -1]),
    "open-llm": ("org/gpt", "harness/arc:challenge/25", PROMPTS, [0, 1, -1]),
}
"""System, task, items and marks of each log of conftest.py."""


def read_and_listen(path: Any, **settings: Any) -> tuple[ResponseMatrix, dict[str, Finding]]:
    """Read, and return the findings of the warnings by code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        responses = read_responses(path, **settings)
    found = [one.message.finding for one in caught if isinstance(one.message, IRTWarning)]
    return responses, {finding.code: finding for finding in found}


def problem(path: Any, **settings: Any) -> Finding:
    """What is wrong, as a finding."""
    with warnings.catch_warnings(action="ignore"), pytest.raises(ReadingError) as error:
        read_responses(path, **settings)
    return error.value.finding


def typed(finding: Finding) -> list[dict[str, Any]]:
    return [dict(remedy.settings) for remedy in finding.remedies]


@pytest.mark.parametrize("whole_folder", [False, True])
def test_every_format_is_recognised_and_read(log: tuple[str, Path], *, whole_folder: bool) -> None:
    name, path = log
    respondent, task, items, marks = EXPECTED[name]
    responses, _ = read_and_listen(path.parent if whole_folder else path)
    expected = ResponseMatrix([marks], [respondent], [f"{task}/{item}" for item in items])
    assert responses == expected
    assert read_and_listen(path, format=name)[0] == responses
    assert responses.item_table.index.tolist() == list(responses.items)


def test_a_folder_of_several_systems_tasks_and_formats_is_one_matrix(
    tmp_path: Path, make: Any
) -> None:
    for number, model in enumerate(("org/gpt", "org/llama")):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        make.write_inspect(folder, model=model)
    (tmp_path / "other").mkdir()
    make.write_lm_eval(tmp_path / "other")
    (tmp_path / "notes.txt").write_text("no log")
    (tmp_path / "my.csv").write_text("model,q1\nmine,1\n")
    (tmp_path / ".hidden").write_text("not looked at")
    responses, heard = read_and_listen(tmp_path)
    assert heard["skipped-files"].values["files"] == ["notes.txt"]
    assert heard["skipped-tables"].values["files"] == ["my.csv"]
    assert responses.respondents == ("org/gpt", "org/llama")
    assert responses.items == ("sums/0", "sums/1", "sums/2", "sums/a", "sums/b", "sums/c")
    assert responses.values.tolist() == [[1, 0, -1, 1, 0, -1], [-1, -1, -1, 1, 0, -1]]
    pattern, _ = read_and_listen(tmp_path / "run-*" / "*.eval")
    assert pattern.items == ("sums/a", "sums/b", "sums/c")


def test_texts_targets_metadata_and_details_of_systems_are_kept(tmp_path: Path, make: Any) -> None:
    responses = read_responses(make.write_lm_eval(tmp_path))
    fields = {"task": "sums", "text": "1 + 1?", "target": "2", "answer": "2", "subject": "sums"}
    assert responses.item_table.loc["sums/1"].to_dict() == fields
    assert responses.respondent_table.loc["org/gpt"].to_dict() == {"size": 7000, "revision": "main"}


def test_several_metrics_are_an_error_that_proposes_right_or_wrong_first(
    tmp_path: Path, make: Any
) -> None:
    both = {"metrics": ["acc", "acc_norm"], "acc": 0.3, "acc_norm": 0.0}
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0, **both)])
    finding = problem(path)
    assert (finding.code, finding.values["task"]) == ("several-metrics", "sums")
    assert typed(finding) == [{"metric": ["acc_norm"]}, {"metric": ["acc"]}]
    assert read_responses(path, **typed(finding)[0]).values.tolist() == [[0]]
    assert read_responses(path, metric="acc", threshold=0.3).values.tolist() == [[1]]
    finding = problem(path, metric=["f1", "acc"])
    assert (finding.code, finding.values["name"]) == ("unknown-name", "f1")


@pytest.mark.parametrize("repeats", ["error", "count"])
def test_filters_are_never_taken_for_repeats(tmp_path: Path, make: Any, repeats: str) -> None:
    records = [
        make.lm_eval_record(item, filter=name, exact_match=float(name == "flexible" and item == 0))
        for name in ("strict", "flexible")
        for item in (0, 1)
    ]
    path = make.write_lm_eval(tmp_path, records)
    finding = problem(path, repeats=repeats)
    assert finding.code == "several-filters"
    assert typed(finding) == [{"filter": ["strict"]}, {"filter": ["flexible"]}]
    for settings, marks in zip(typed(finding), ([[0, 0]], [[1, 0]]), strict=True):
        responses = read_responses(path, repeats=repeats, **settings)
        assert not responses.has_repeats
        assert responses.values.tolist() == marks


def test_a_task_without_the_metric_named_takes_its_own(tmp_path: Path, make: Any) -> None:
    both = {"metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0}
    make.write_lm_eval(tmp_path, [make.lm_eval_record(0, **both)])
    make.write_inspect(tmp_path, task="other")
    responses, _ = read_and_listen(tmp_path, metric="acc_norm")
    cells = dict(zip(responses.items, responses.values[0].tolist(), strict=True))
    assert cells == {"sums/0": 0, "other/a": 1, "other/b": 0, "other/c": -1}


def test_repeats_are_counted_or_one_of_them_is_taken(tmp_path: Path, make: Any) -> None:
    values = {("a", 1): "I", ("a", 2): "C", ("a", 3): "C", ("b", 1): "C", ("b", 2): None}
    samples = [make.inspect_sample(item, value, epoch) for (item, epoch), value in values.items()]
    path = make.write_inspect(tmp_path, samples)
    counted, _ = read_and_listen(path, repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[2, 1]], [[3, 1]])
    for repeats, marks in {"first": [[0, 1]], "last": [[1, 1]], "mean>=0.7": [[0, 1]]}.items():
        assert read_and_listen(path, repeats=repeats)[0].values.tolist() == marks
    assert read_and_listen(path, repeats="count", sparse=True)[0] == counted
    assert problem(path).code == "repeated"


def test_the_same_item_with_another_hash_is_an_error(tmp_path: Path, make: Any) -> None:
    for name, content in (("one", "old"), ("two", "new")):
        (tmp_path / name).mkdir()
        record = make.every_eval_ever_record("a", model_id=name, sample_hash=content)
        make.write_every_eval_ever(tmp_path / name, [record])
    finding = problem(tmp_path)
    assert (finding.code, finding.values["item"]) == ("different-items", "sums/a")
    assert finding.values["systems"] == ["one", "two"]
    record = make.every_eval_ever_record("a", model_id="two", sample_hash=None)
    make.write_every_eval_ever(tmp_path / "two", [record])
    assert read_responses(tmp_path).respondents == ("one", "two")


def write_runs(folder: Path, make: Any, runs: dict[str, tuple[str, str | None, str]]) -> None:
    """Runs of one respondent: the values of items a and b, time and status."""
    for name, (values, created, status) in runs.items():
        samples = [make.inspect_sample(*one) for one in zip("ab", values, strict=False)]
        make.write_inspect(folder, samples, name=name, created=created, status=status)


RUNS = {  # b.eval was written at half past midnight in UTC
    "a.eval": ("CI", "2026-01-02T01:00:00+00:00", "success"),
    "b.eval": ("IC", "2026-01-02T02:30:00+02:00", "success"),
    "c.eval": ("C", "2026-01-02T00:45:00+00:00", "success"),
}


def test_of_several_runs_the_newest_counts_or_what_repeats_says(tmp_path: Path, make: Any) -> None:
    write_runs(tmp_path, make, RUNS)
    responses, heard = read_and_listen(tmp_path)
    assert responses.values.tolist() == [[1, 0]]
    assert heard["older-runs"].values["files"] == ["b.eval", "c.eval"]
    counted = read_responses(tmp_path, repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[2, 1]], [[3, 2]])
    for repeats, marks in {"first": [[0, 1]], "last": [[1, 0]], "mean>=0.5": [[1, 1]]}.items():
        assert read_responses(tmp_path, repeats=repeats).values.tolist() == marks


@pytest.mark.parametrize(("created", "status"), [
    (None, "success"), ("2026-01-02T01:00:00Z", "success"), ("2026-02-02", "error"),
])  # fmt: skip
def test_if_the_newest_run_is_unknown_or_failed_the_choices_are_listed(
    tmp_path: Path, make: Any, created: str | None, status: str
) -> None:
    write_runs(tmp_path, make, RUNS | {"d.eval": ("I", created, status)})
    finding = problem(tmp_path)
    assert finding.code == "runs"
    assert "d.eval" in finding.values["files"]
    assert [one["repeats"] for one in typed(finding)] == ["count", "first", "last", "mean>=0.5"]
    assert overview(tmp_path).settings == {"repeats": "count"}


def test_a_retry_of_a_run_is_not_a_second_trial(tmp_path: Path, make: Any) -> None:
    crashed = [make.inspect_sample("a", "C"), make.inspect_sample("b", None)]
    make.write_inspect(tmp_path, crashed, status="error", task_id="x")
    again = [make.inspect_sample("a", "C"), make.inspect_sample("b", "I")]
    make.write_inspect(tmp_path, again, name="retry.eval", task_id="x", created="2027-01-01")
    counted, heard = read_and_listen(tmp_path, repeats="count")
    assert heard["copies"].values["files"] == ["log.eval"]
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1, 0]], [[1, 1]])


def test_a_copy_of_a_log_changes_nothing(log: tuple[str, Path], tmp_path: Path) -> None:
    before, _ = read_and_listen(log[1])
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy"))
    after, heard = read_and_listen(tmp_path)
    assert after == before
    assert "copies" in heard


def test_failed_samples_are_counted_and_missing(tmp_path: Path, make: Any) -> None:
    _, heard = read_and_listen(make.write_inspect(tmp_path))
    said = heard["unfinished-runs"].values
    assert (said["files"], said["n_failed"], said["n_absent"]) == (["log.eval"], 1, 0)
    finding = problem(make.write_inspect(tmp_path, [make.inspect_sample("a", None)]))
    assert (finding.code, finding.values["n_failed"]) == ("no-scores", 1)
    make.write_inspect(tmp_path)
    failed = [make.inspect_sample("a", None)]
    make.write_inspect(tmp_path, failed, name="failed.eval", model="org/other")
    _, heard = read_and_listen(tmp_path)
    assert heard["empty-logs"].values["error"] == finding.values["error"] != ""


def test_an_unreadable_log_in_a_folder_is_left_out_unless_strict(tmp_path: Path, make: Any) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = make.write_lm_eval(tmp_path / folder)
    path.write_text(path.read_text()[:-40])
    responses, heard = read_and_listen(tmp_path)
    assert responses.n_items == 3
    assert heard["unreadable-file"].values["reason"].startswith("line 3 is not JSON")
    for settings in ({"path": tmp_path, "strict": True}, {"path": path.parent}, {"path": path}):
        with pytest.raises(ValueError, match=f"{path.name}: line 3 is not JSON"):
            read_responses(**settings)


def test_runs_on_other_items_of_a_task_are_put_together(tmp_path: Path, make: Any) -> None:
    for item, value in (("a", "C"), ("b", "I")):
        make.write_inspect(tmp_path, [make.inspect_sample(item, value)], name=f"{item}.eval")
    assert read_responses(tmp_path).values.tolist() == [[1, 0]]
