"""Many logs become one matrix, and what is ambiguous is never guessed."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import read_responses
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.responses import ResponseMatrix

# Items, and marks of the one system, that each log of conftest.py holds; missing is −1.
EXPECTED = {
    "lm-eval": ("org/gpt", ("sums/0", "sums/1", "sums/2"), [1, 0, -1]),
    "inspect": ("org/gpt", ("sums/a", "sums/b", "sums/c"), [1, 0, -1]),
    "every-eval-ever": ("org/gpt", ("sums/a", "sums/b", "sums/c"), [1, 0, -1]),
    "helm": (
        "org/gpt",
        ("sums:digits=2/id1", "sums:digits=2/id2", "sums:digits=2/id3"),
        [1, 0, -1],
    ),
    "evalplus": ("org/gpt", ("Sums/0", "Sums/1"), [1, 0]),
    "swe-bench": ("org/gpt-4.1", ("swe-bench/a", "swe-bench/b", "swe-bench/c"), [1, 0, -1]),
    "openml": ("gpt", ("59/7", "59/3", "59/5"), [1, 0, -1]),
    "open-llm": (
        "org/gpt",
        tuple(
            f"harness/arc:challenge/25/{prompt}"
            for prompt in ("6acc7dff39bc586b", "727c608ec90e22e7", "a4c63d9cc6423ea2")
        ),
        [0, 1, -1],
    ),
}


def read_and_listen(path: Path) -> tuple[ResponseMatrix, str]:
    """Read, and return the warnings as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        responses = read_responses(path)
    return responses, "\n".join(str(one.message) for one in caught)


def read_quietly(path: Path, **settings: Any) -> ResponseMatrix:
    with warnings.catch_warnings(action="ignore"):
        return read_responses(path, **settings)


@pytest.mark.parametrize("whole_folder", [False, True])
def test_every_format_is_recognised_and_read(log: tuple[str, Path], *, whole_folder: bool) -> None:
    name, path = log
    respondent, items, marks = EXPECTED[name]
    responses = read_quietly(path.parent if whole_folder else path)
    assert responses.respondents == (respondent,)
    assert responses.values.tolist() == [marks]
    assert responses.items == items
    assert read_quietly(path, format=name) == responses
    assert responses.item_table.index.tolist() == list(responses.items)


def test_a_folder_of_several_systems_tasks_and_formats_is_one_matrix(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, model in enumerate(("org/gpt", "org/llama")):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        make.write_inspect(folder, model=model)
    other = tmp_path / "other"
    other.mkdir()
    make.write_lm_eval(other)
    (tmp_path / "notes.txt").write_text("no log")
    (tmp_path / ".hidden").write_text("not looked at")
    responses, heard = read_and_listen(tmp_path)
    assert "1 file is no evaluation log and skipped: notes.txt" in heard
    assert responses.respondents == ("org/gpt", "org/llama")
    assert responses.items == ("sums/0", "sums/1", "sums/2", "sums/a", "sums/b", "sums/c")
    assert responses.values.tolist() == [[1, 0, -1, 1, 0, -1], [-1, -1, -1, 1, 0, -1]]
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "mine.jsonl", "my.csv"):
        (tmp_path / name).write_text("model,q1\nmine,1\n")
    monkeypatch.chdir(tmp_path.parent)  # a path that is long would be cut
    folder = tmp_path.relative_to(tmp_path.parent)
    heard = read_and_listen(folder)[1]
    assert "skipped: mine.jsonl, my.csv, a.txt, b.txt, c.txt, 2 more; " in heard
    assert f"by irtkit merge LOGS {folder}/mine.jsonl {folder}/my.csv --out " in heard
    pattern = read_quietly(tmp_path / "run-*" / "*.eval")
    assert pattern.items == ("sums/a", "sums/b", "sums/c")


def test_texts_targets_metadata_and_what_is_known_of_systems_are_kept(
    tmp_path: Path, make: Any
) -> None:
    responses = read_responses(make.write_lm_eval(tmp_path))
    assert responses.item_table.loc["sums/1"].to_dict() == {
        "task": "sums",
        "text": "1 + 1?",
        "target": "2",
        "answer": "2",
        "subject": "sums",
    }
    assert responses.respondent_table.loc["org/gpt"].to_dict() == {"size": 7000, "revision": "main"}


def test_several_metrics_or_filters_are_an_error_that_lists_them(tmp_path: Path, make: Any) -> None:
    both = {"metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0}
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0, **both)])
    with pytest.raises(ValueError, match=r"task 'sums' .* pass metric='acc' or metric='acc_norm'"):
        read_responses(path)
    assert read_responses(path, metric="acc").values.tolist() == [[1]]
    assert read_responses(path, metric="acc_norm").values.tolist() == [[0]]
    assert read_responses(path, metric=["f1", "acc"][1:]).values.tolist() == [[1]]
    with pytest.raises(
        ValueError, match="metric='f1' is in none of the logs; there are: acc, acc_"
    ):
        read_responses(path, metric=["f1", "acc"])


@pytest.mark.parametrize("repeats", ["error", "count", "first", "last", "mean>=0.5"])
def test_filters_are_never_taken_for_repeats(tmp_path: Path, make: Any, repeats: str) -> None:
    records = [
        make.lm_eval_record(item, filter=name, exact_match=float(name == "flexible" and item == 0))
        for name in ("strict", "flexible")
        for item in (0, 1)
    ]
    path = make.write_lm_eval(tmp_path, records)
    with pytest.raises(ValueError, match="pass filter='strict' or filter='flexible'"):
        read_responses(path, repeats=repeats)
    for name, marks in (("strict", [[0, 0]]), ("flexible", [[1, 0]])):
        responses = read_responses(path, filter=name, repeats=repeats)
        assert not responses.has_repeats
        assert responses.values.tolist() == marks


def test_a_task_without_the_metric_named_takes_its_own(tmp_path: Path, make: Any) -> None:
    both = {"metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0}
    make.write_lm_eval(tmp_path, [make.lm_eval_record(0, **both)])
    make.write_inspect(tmp_path, task="other")
    responses = read_quietly(tmp_path, metric="acc_norm")
    cells = dict(zip(responses.items, responses.values[0].tolist(), strict=True))
    assert cells == {"sums/0": 0, "other/a": 1, "other/b": 0, "other/c": -1}


def test_shares_need_a_threshold(tmp_path: Path, make: Any) -> None:
    path = make.write_inspect(
        tmp_path, [make.inspect_sample("a", 0.6), make.inspect_sample("b", 0)]
    )
    with pytest.raises(ValueError, match=r"log.eval: .*item 'sums/a' has 0.6; .*threshold="):
        read_responses(path)
    assert read_responses(path, threshold=0.5).values.tolist() == [[1, 0]]


def test_repeats_are_counted_or_one_of_them_where_that_is_said(tmp_path: Path, make: Any) -> None:
    values = {("a", 1): "I", ("a", 2): "C", ("a", 3): "C", ("b", 1): "C", ("b", 2): None}
    samples = [make.inspect_sample(item, value, epoch) for (item, epoch), value in values.items()]
    path = make.write_inspect(tmp_path, samples)
    with pytest.raises(ValueError, match=r"respondent 'org/gpt', item 'sums/a' occurs twice"):
        read_quietly(path)
    counted = read_quietly(path, repeats="count")
    assert counted.successes.tolist() == [[2, 1]]
    assert counted.trials.tolist() == [[3, 1]]
    assert read_quietly(path, repeats="first").values.tolist() == [[0, 1]]
    assert read_quietly(path, repeats="last").values.tolist() == [[1, 1]]
    assert read_quietly(path, repeats="mean>=0.5").values.tolist() == [[1, 1]]
    assert read_quietly(path, repeats="mean>=0.7").values.tolist() == [[0, 1]]
    assert read_quietly(path, repeats="count", sparse=True) == counted
    with pytest.raises(ValueError, match="repeats must be one of"):
        read_responses(path, repeats="mean>=2")


def test_the_same_item_with_another_hash_is_an_error(tmp_path: Path, make: Any) -> None:
    for name, content in (("one", "old"), ("two", "new")):
        (tmp_path / name).mkdir()
        record = make.every_eval_ever_record("a", model_id=name, sample_hash=content)
        make.write_every_eval_ever(tmp_path / name, [record])
    with pytest.raises(ValueError, match=r"item 'sums/a' is not the same .*\(one\) and .*\(two\)"):
        read_responses(tmp_path)
    record = make.every_eval_ever_record("a", model_id="two", sample_hash=None)
    make.write_every_eval_ever(tmp_path / "two", [record])
    assert read_responses(tmp_path).respondents == ("one", "two")


def write_runs(folder: Path, make: Any, runs: dict[str, dict[str, Any]]) -> None:
    """Runs of one respondent: the value of item a, and of b where there is one."""
    for name, fields in runs.items():
        samples = [
            make.inspect_sample(item, value)
            for item, value in zip("ab", fields["values"], strict=False)
        ]
        status, created = fields.get("status", "success"), fields["created"]
        make.write_inspect(folder, samples, name=name, created=created, status=status)


RUNS = {  # b.eval was written at half past midnight in UTC
    "a.eval": {"values": "CI", "created": "2026-01-02T01:00:00+00:00"},
    "b.eval": {"values": "IC", "created": "2026-01-02T02:30:00+02:00"},
    "c.eval": {"values": "C", "created": "2026-01-02T00:45:00+00:00"},
}


def test_of_several_runs_the_newest_counts_or_what_is_said(tmp_path: Path, make: Any) -> None:
    write_runs(tmp_path, make, RUNS)
    with pytest.warns(UserWarning, match=r"the newest counts, .* not: b.eval, c.eval; pass rep"):
        assert read_responses(tmp_path).values.tolist() == [[1, 0]]
    counted = read_responses(tmp_path, repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[2, 1]], [[3, 2]])
    assert read_responses(tmp_path, repeats="first").values.tolist() == [[0, 1]]
    assert read_responses(tmp_path, repeats="last").values.tolist() == [[1, 0]]
    assert read_responses(tmp_path, repeats="mean>=0.5").values.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"created": None}, "the logs do not say which run is the newest"),
        ({"created": "2026-01-02T01:00:00Z"}, "the logs do not say which run is the newest"),
        (
            {"created": "2026-02-02", "status": "error"},
            r"the newest did not end well \(status error\)",
        ),
    ],
)
def test_where_the_newest_run_cannot_be_taken_the_choices_are_listed(
    tmp_path: Path, make: Any, fields: dict[str, Any], why: str
) -> None:
    write_runs(tmp_path, make, RUNS | {"d.eval": {"values": "I"} | fields})
    said = r"'org/gpt' ran several times on task 'sums' \(.*d.eval.*\), and "
    with pytest.raises(ValueError, match=said + why) as error:
        read_responses(tmp_path)
    typed = re.findall(r'"([^"]+)"', str(error.value))
    assert typed == ["count", "first", "last", "mean>=0.5"]
    for repeats in typed:
        assert read_quietly(tmp_path, repeats=repeats).n_items == 2
    proposed = overview(tmp_path)
    assert proposed.settings == {"repeats": "count"}
    assert proposed.tasks


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path, make: Any) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        make.write_inspect(tmp_path / folder, [make.inspect_sample("a", "C", note=folder)])
    with pytest.raises(
        ValueError, match=r"\(one/log.eval, two/log.eval\), and the logs do not say"
    ):
        read_responses(tmp_path)


def test_a_retry_of_a_run_is_no_second_trial(tmp_path: Path, make: Any) -> None:
    crashed = [make.inspect_sample("a", "C"), make.inspect_sample("b", None)]
    make.write_inspect(tmp_path, crashed, status="error", task_id="x")
    again = [make.inspect_sample("a", "C"), make.inspect_sample("b", "I")]
    make.write_inspect(tmp_path, again, name="retry.eval", task_id="x", created="2027-01-01")
    with pytest.warns(UserWarning, match="copies, retries .* these do not: log.eval"):
        counted = read_responses(tmp_path, repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1, 0]], [[1, 1]])


def test_runs_on_other_items_of_a_task_are_put_together(tmp_path: Path, make: Any) -> None:
    for item, value in (("a", "C"), ("b", "I")):
        make.write_inspect(tmp_path, [make.inspect_sample(item, value)], name=f"{item}.eval")
    assert read_responses(tmp_path).values.tolist() == [[1, 0]]


def test_failed_samples_are_counted_and_missing(tmp_path: Path, make: Any) -> None:
    message = r"missing, not wrong: log.eval \(3 of 3 samples, 1 failed\)"
    with pytest.warns(UserWarning, match=message):
        read_responses(make.write_inspect(tmp_path))
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", None)])
    with pytest.raises(ValueError, match="no sample has a score: 1 samples failed"):
        read_responses(path)


@pytest.mark.parametrize("name", ["pipe", "closed"])
def test_what_cannot_be_opened_in_a_folder_is_skipped_and_named(
    tmp_path: Path, make: Any, name: str
) -> None:
    make.write_swe_bench(tmp_path)
    if name == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(b"")
    assert f"skipped: {name}" in read_and_listen(tmp_path)[1]


def test_a_folder_below_that_cannot_be_opened_is_an_error_that_names_it(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    make.write_swe_bench(tmp_path)
    scan = os.scandir

    def scandir(path: str) -> Any:  # permissions do not stop root
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="closed: the folder cannot be read: Permission"):
        read_responses(tmp_path)


def test_a_damaged_log_in_a_folder_is_an_error_with_file_and_line(
    tmp_path: Path, make: Any
) -> None:
    path = make.write_lm_eval(tmp_path)
    path.write_text(path.read_text()[:-40])
    with pytest.raises(ValueError, match=f"{tmp_path.name}: {path.name}: line 3 is not JSON"):
        read_responses(tmp_path)


def test_a_damaged_log_in_a_folder_below_is_found(tmp_path: Path, make: Any) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = make.write_lm_eval(tmp_path / folder)
    path.write_text(path.read_text()[:-40])
    with pytest.raises(ValueError, match=f"{tmp_path.name}: two/{path.name}: line 3 is not JSON"):
        read_responses(tmp_path)


def test_a_folder_without_logs_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing")
    with pytest.raises(
        ValueError, match=r"no evaluation logs or tables among the 1 files \(a.txt\)"
    ):
        read_responses(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"item": "q"}, "name the columns of a long table"),
        ({"format": "wide"}, "format must be one of .* for a folder"),
    ],
)
def test_settings_of_tables_are_refused(
    tmp_path: Path, make: Any, settings: dict[str, Any], message: str
) -> None:
    make.write_helm(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_responses(tmp_path, **settings)


def test_settings_of_logs_are_refused_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("model,q1\ngpt,1\n")
    with pytest.raises(ValueError, match="metric= is for evaluation logs"):
        read_responses(path, metric="acc")


def test_a_copy_of_a_log_changes_nothing(log: tuple[str, Path], tmp_path: Path) -> None:
    before = read_quietly(log[1])
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy"))
    after, heard = read_and_listen(tmp_path)
    assert after == before
    assert "copies, retries or parts of a run that is there" in heard


def test_tables_in_a_folder_without_logs_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,q1,q2\ngpt,1,0\n")
    (tmp_path / "b.csv").write_text("model,item,correct\nllama,q2,1\n")
    (tmp_path / "notes.md").write_text("no table")
    responses, heard = read_and_listen(tmp_path)
    assert responses.values.tolist() == [[1, 0], [-1, 1]]
    assert "skipped: notes.md" in heard
    (tmp_path / "c.csv").write_text("model,q1\ngpt,0\n")
    with pytest.raises(ValueError, match="respondent 'gpt', item 'q1' occurs twice"):
        read_quietly(tmp_path)
    assert read_quietly(tmp_path, repeats="first") == responses


def test_a_log_without_any_score_is_left_out_and_named(tmp_path: Path, make: Any) -> None:
    make.write_inspect(tmp_path, [make.inspect_sample("a", "C")])
    failed = [make.inspect_sample("a", None)]
    make.write_inspect(tmp_path, failed, name="failed.eval", model="org/llama")
    responses, heard = read_and_listen(tmp_path)
    assert responses.respondents == ("org/gpt",)
    assert "logs without any score are left out: failed.eval" in heard


def test_labels_of_several_tasks_may_not_be_the_same(tmp_path: Path, make: Any) -> None:
    for task, item in (("a/b", "c"), ("a", "b/c")):
        path = make.write_inspect(tmp_path, [make.inspect_sample(item, "C")], task=task)
        path.rename(tmp_path / f"{len(task)}.eval")
    with pytest.raises(ValueError, match="unique labels: 'a/b/c' occurs twice"):
        read_responses(tmp_path)


def test_a_list_of_paths_is_read_like_a_folder(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("one", "two", "three"):
        (tmp_path / model).mkdir()
        make.write_inspect(tmp_path / model, [make.inspect_sample("a", "C")], model=model)
    paths = [tmp_path / "one", str(tmp_path / "two" / "log.eval")]
    assert read_responses(paths).respondents == ("one", "two")
    with pytest.raises(FileNotFoundError, match="four: no such file"):
        read_responses([*paths, tmp_path / "four"])
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_responses("~/th*").respondents == ("three",)
    assert read_responses(["~/three"]) == read_responses("~/three/log.eval")


def test_a_file_that_lies_beside_logs_says_so(tmp_path: Path, make: Any) -> None:
    make.write_helm(tmp_path)
    with pytest.raises(ValueError, match=r"run_spec.json: the file lies beside evaluation logs"):
        read_responses(tmp_path / "run_spec.json")
