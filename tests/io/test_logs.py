"""Many logs become one matrix, and what is ambiguous is never guessed."""

import importlib
import json
import shutil
import sys
import warnings
import zipfile

import pandas as pd
import pytest

from irtkit import read_responses
from irtkit.findings import IRTWarning, ReadingError
from irtkit.io.overview import overview
from irtkit.responses import ResponseMatrix

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


def read_and_listen(path, **settings):
    """Read, and return the findings of the warnings by code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        responses = read_responses(path, **settings)
    found = [one.message.finding for one in caught if isinstance(one.message, IRTWarning)]
    return responses, {finding.code: finding for finding in found}


def problem(path, **settings):
    """What is wrong, as a finding."""
    with warnings.catch_warnings(action="ignore"), pytest.raises(ReadingError) as error:
        read_responses(path, **settings)
    return error.value.finding


def typed(finding):
    return [dict(remedy.settings) for remedy in finding.remedies]


@pytest.mark.parametrize("whole_folder", [False, True])
def test_every_format_is_recognised_and_read(log, *, whole_folder):
    name, path = log
    respondent, task, items, marks = EXPECTED[name]
    responses, _ = read_and_listen(path.parent if whole_folder else path)
    expected = ResponseMatrix([marks], [respondent], [f"{task}/{item}" for item in items])
    assert responses == expected
    assert read_and_listen(path, format=name)[0] == responses
    assert responses.item_table.index.tolist() == list(responses.items)


def test_a_folder_of_several_systems_tasks_and_formats_is_one_matrix(tmp_path, make):
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


def test_texts_targets_metadata_and_details_of_systems_are_kept(tmp_path, make):
    responses = read_responses(make.write_lm_eval(tmp_path))
    fields = {"task": "sums", "text": "1 + 1?", "target": "2", "answer": "2", "subject": "sums"}
    assert responses.item_table.loc["sums/1"].to_dict() == fields
    assert responses.respondent_table.loc["org/gpt"].to_dict() == {"size": 7000, "revision": "main"}


def test_several_metrics_are_an_error_that_proposes_right_or_wrong_first(tmp_path, make):
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
def test_filters_are_never_taken_for_repeats(tmp_path, make, repeats):
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


def test_repeats_are_counted_or_one_of_them_is_taken(tmp_path, make):
    values = {("a", 1): "I", ("a", 2): "C", ("a", 3): "C", ("b", 1): "C", ("b", 2): None}
    samples = [make.inspect_sample(item, value, epoch) for (item, epoch), value in values.items()]
    path = make.write_inspect(tmp_path, samples)
    counted, _ = read_and_listen(path, repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[2, 1]], [[3, 1]])
    for repeats, marks in {"first": [[0, 1]], "last": [[1, 1]], "mean>=0.7": [[0, 1]]}.items():
        assert read_and_listen(path, repeats=repeats)[0].values.tolist() == marks
    assert read_and_listen(path, repeats="count", sparse=True)[0] == counted
    assert problem(path).code == "repeated"


def test_the_same_item_with_another_hash_is_an_error(tmp_path, make):
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


def write_runs(folder, make, runs):
    """Runs of one respondent: the values of items a and b, time and status."""
    for name, (values, created, status) in runs.items():
        samples = [make.inspect_sample(*one) for one in zip("ab", values, strict=False)]
        make.write_inspect(folder, samples, name=name, created=created, status=status)


RUNS = {  # b.eval was written at half past midnight in UTC
    "a.eval": ("CI", "2026-01-02T01:00:00+00:00", "success"),
    "b.eval": ("IC", "2026-01-02T02:30:00+02:00", "success"),
    "c.eval": ("C", "2026-01-02T00:45:00+00:00", "success"),
}


def test_of_several_runs_the_newest_counts_or_what_repeats_says(tmp_path, make):
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
    tmp_path, make, created, status
):
    write_runs(tmp_path, make, RUNS | {"d.eval": ("I", created, status)})
    finding = problem(tmp_path)
    assert finding.code == "runs"
    assert "d.eval" in finding.values["files"]
    assert [one["repeats"] for one in typed(finding)] == ["count", "first", "last", "mean>=0.5"]
    assert overview(tmp_path).settings == {"repeats": "count"}


def test_a_retry_of_a_run_is_not_a_second_trial(tmp_path, make):
    crashed = [make.inspect_sample("a", "C"), make.inspect_sample("b", None)]
    make.write_inspect(tmp_path, crashed, status="error", task_id="x")
    again = [make.inspect_sample("a", "C"), make.inspect_sample("b", "I")]
    make.write_inspect(tmp_path, again, name="retry.eval", task_id="x", created="2027-01-01")
    counted, heard = read_and_listen(tmp_path, repeats="count")
    assert heard["copies"].values["files"] == ["log.eval"]
    assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1, 0]], [[1, 1]])


def test_a_copy_of_a_log_changes_nothing(log, tmp_path):
    before, _ = read_and_listen(log[1])
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy"))
    after, heard = read_and_listen(tmp_path)
    assert after == before
    assert "copies" in heard


def test_failed_samples_are_counted_and_missing(tmp_path, make):
    _, heard = read_and_listen(make.write_inspect(tmp_path))
    said = heard["unfinished-runs"].values
    assert (said["files"], said["n_failed"], said["n_absent"]) == (["log.eval"], 1, 0)
    finding = problem(make.write_inspect(tmp_path, [make.inspect_sample("a", None)]))
    assert (finding.code, finding.values["n_failed"]) == ("no-scores", 1)
    make.write_inspect(tmp_path)
    failed = [make.inspect_sample("a", None)]
    make.write_inspect(tmp_path, failed, name="failed.eval", model="org/other")
    chosen = {"irtkit": {"misfit": [1.0] * 5}}  # of items of an adaptive test
    make.write_inspect(tmp_path, failed, name="test.eval", model="org/test", metadata=chosen)
    _, heard = read_and_listen(tmp_path)
    assert heard["empty-logs"].values["error"] == finding.values["error"] != ""
    assert "fewer-asked" not in heard


def test_an_unreadable_log_in_a_folder_is_left_out_unless_strict(tmp_path, make):
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


# Rules of single readers, and faults of logs, which are named with their place


class TestHelm:
    def test_entries_of_one_instance_are_merged_and_trials_are_repeats(self, tmp_path, make):
        entries = [
            make.helm_entry("id1", {"exact_match": 1.0}),
            make.helm_entry("id1", {"num_references": 2.0}),
            make.helm_entry("id1", {"exact_match": 0.0}, train_trial_index=1),
        ]
        path = make.write_helm(tmp_path, entries)
        counted = read_responses(path, repeats="count")
        assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1]], [[2]])
        assert read_responses(path, repeats="first").values.tolist() == [[1]]


class TestSweBench:
    def test_what_became_of_an_instance_is_its_response(self, tmp_path, make):
        path = make.write_swe_bench(
            tmp_path,
            submitted_ids=["a", "b", "d", "e", "f"],
            empty_patch_ids=["d"],
            error_ids=["e"],
            infra_failure_ids=["f"],
        )
        with pytest.warns(UserWarning, match="2 samples failed"):
            responses = read_responses(path)
        assert responses.items == tuple(f"swe-bench/{one}" for one in "abcdef")
        assert responses.values.tolist() == [[1, 0, -1, 0, 0, -1]]

    def test_errors_are_wrong_or_missing(self, tmp_path, make):
        path = make.write_swe_bench(tmp_path, error_ids=["b"], incomplete_ids=[])
        assert read_responses(path).values.tolist() == [[1, 0]]
        assert read_responses(path, errors="missing").values.tolist() == [[1, -1]]
        with pytest.raises(ValueError, match="errors must be 'missing' or None, got 'wrong'"):
            read_responses(path, errors="wrong")

    def test_reports_of_one_run_count_once(self, tmp_path, make):
        make.write_swe_bench(tmp_path, incomplete_ids=[])
        folder = tmp_path / "logs" / "run_evaluation" / "run" / "org__gpt-4.1" / "a"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text('{"a": {"patch_is_None": false, "resolved": true}}')
        with pytest.warns(IRTWarning, match="retries or parts of other runs: report.json"):
            counted = read_responses(tmp_path, repeats="count")
        assert (counted.n_items, counted.trials.tolist()) == (2, [[1, 1]])
        assert read_responses(tmp_path / "logs").values.tolist() == [[1]]

    def test_what_a_submission_does_not_name_others_do(self, tmp_path, make):
        split = tmp_path / "verified"
        make.write_submission(split, "20240101_one")
        make.write_submission(split, "20240202_two", resolved=["b", "d"], no_generation=[])
        responses = read_responses(tmp_path)
        assert responses.respondents == ("20240101_one", "20240202_two")
        assert responses.items == tuple(f"swe-bench/{one}" for one in "abcd")
        assert responses.values.tolist() == [[1, 0, 0, 0], [0, 1, 0, 1]]
        without = read_responses(tmp_path, errors="missing")
        assert without.values.tolist() == [[1, 0, -1, 0], [0, 1, 0, 1]]
        alone = tmp_path / "verified" / "20240202_two"
        assert read_responses(alone).values.tolist() == [[0, 1, 0, 1]]
        shutil.rmtree(tmp_path / "verified" / "20240101_one")
        with pytest.warns(IRTWarning, match="results/results.json names the resolved instances"):
            assert read_responses(alone).values.tolist() == [[1, 1]]


@pytest.mark.parametrize(("write", "how", "settings", "marks"), [
    ("write_evalplus", (), {"metric": "base"}, [1, 1]),  # plus is the default
    ("write_open_llm", (), {"metric": "acc"}, [1, 1, 0]),  # acc_norm is the leaderboard's
    ("write_openml", ("0,0,7,'a', 'a'\n\n% no row\n0,0, 3 , \"a\",b\n",), {}, [1, 0]),
])  # fmt: skip
def test_marks_are_those_of_the_metric_named(tmp_path, make, write, how, settings, marks):
    path = getattr(make, write)(tmp_path, *how)
    assert read_responses(path, **settings).values.tolist() == [marks]


class TestOpenLlm:
    def test_lighteval_has_its_texts_in_the_doc(self, tmp_path):
        folder = tmp_path / "details" / "org" / "gpt" / "2025-01-02T03-04-05"
        folder.mkdir(parents=True)
        path = folder / "details_sums|0_2025-01-02T03-04-05.123.parquet"
        doc = {"query": "1 + 1?", "choices": ["2", "3"], "gold_index": 0}
        row = {"doc": doc, "model_response": {"text": "2"}, "metric": {"em": 1.0}}
        pd.DataFrame([row]).to_parquet(path)
        responses = read_responses(path)
        assert (responses.respondents, responses.values.tolist()) == (("org/gpt",), [[1]])
        assert responses.item_table.iloc[0][["text", "choices"]].tolist() == ["1 + 1?", "2 | 3"]


def archive(folder, **members):
    with zipfile.ZipFile(folder / "log.eval", "w") as written:
        for name, content in members.items():
            written.writestr(f"{name}.json", content)
    return folder / "log.eval"


FAULTS = [
    ("lm-eval", '{"doc_id": 1, "doc"', "line 2 is not JSON"),
    ("every-eval-ever", {"schema_version": "0.1.0"}, "line 1: .* must be 0.2 or 0.3, got '0.1.0'"),
    ("every-eval-ever", {"model_id": None}, "line 1: model_id must be text"),
    ("inspect", {"header": "{}", "summaries": "[]"}, "the log needs a record of the evaluation"),
    ("inspect", {"summaries": "[]"}, "the archive has neither header.json nor"),
    ("openml", "0,0,7,a\n", "line 11: 4 cells in a table of 5 columns"),
    ("openml", "0,0,7,'a,a\n", "line 11: a quote is not closed"),
    ("openml", "", "the log of openml holds no samples"),
    ("arff", "@relation iris\n@attribute petal numeric\n@data\n1\n", "predictions of OpenML have"),
    ("helm", b"[\xff]", "the file is not JSON: 'utf-8' .* 0xff"),
    ("helm", b"[" * 100_000, "the file is not JSON: .*recursion"),
]


@pytest.mark.parametrize(("form", "fault", "message"), FAULTS)
def test_a_fault_is_named_with_its_place(tmp_path, make, form, fault, message):
    if form == "inspect":
        path = archive(tmp_path, **fault)
    elif form == "every-eval-ever":
        path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a", **fault)])
    elif form == "openml":
        path = make.write_openml(tmp_path, fault)
    elif form == "arff":
        path, form = tmp_path / "iris.arff", "openml"
        path.write_text(fault)
    elif form == "lm-eval":
        path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0)])
        path.write_text(path.read_text() + fault + "\n")
    else:
        path = tmp_path / "per_instance_stats.json"
        path.write_bytes(fault)
    with pytest.raises(ValueError, match=f"^{path.name}: {message}"):
        read_responses(path, format=form)


def test_the_model_comes_from_the_results_or_else_the_folder(tmp_path, make):
    folder = tmp_path / "org__llama"
    folder.mkdir()
    path = make.write_lm_eval(folder)
    assert read_responses(path).respondents == ("org/gpt",)
    (folder / f"results_{make.TIME}.json").unlink()
    assert read_responses(path).respondents == ("org/llama",)


# Samples of Every Eval Ever: marks, scores, and where the two disagree


def evaluation(score, *, correct):
    return {"evaluation": {"score": score, "is_correct": correct}}


@pytest.mark.parametrize(("score", "correct"), [(0.7, None), (0.2, True), (1.0, False)])
def test_a_mark_that_is_absent_or_contradicts_the_score_is_not_taken_unasked(
    tmp_path, make, score, correct
):
    records = [make.every_eval_ever_record("a", **evaluation(score, correct=correct))]
    path = make.write_every_eval_ever(tmp_path, [*records, make.every_eval_ever_record("b")])
    with pytest.raises(ReadingError) as error:
        read_responses(path)
    finding = error.value.finding
    assert (finding.code, finding.values["sample"]) == ("doubtful-mark", "a")
    mark = -1 if correct is None else int(correct)
    assert read_responses(path, metric="is_correct").values.tolist() == [[mark, 1]]
    assert read_responses(path, threshold=0.5).values.tolist() == [[int(score >= 0.5), 1]]


def test_what_is_known_of_the_model_comes_from_the_summary(tmp_path, make):
    path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a")])
    responses = read_responses(path)
    assert responses.respondent_table.to_dict("index") == {"org/gpt": {"developer": "org"}}
    assert read_responses(tmp_path / "f3a1.json") == responses


# Logs of Inspect: archives and JSON, scores of every kind, crashed runs, and archives that lie


@pytest.mark.parametrize(
    ("value", "mark"),
    [("C", 1), ("N", 0), ("P", 0.5), ("yes", 1), ("No", 0), (True, 1), (0, 0), ("1", 1)],
)
def test_a_score_is_marked_as_inspect_marks_it(tmp_path, make, value, mark):
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", value)])
    for threshold in (0.4, 0.6):
        marks = read_responses(path, threshold=threshold).values
        assert marks.tolist() == [[int(mark >= threshold)]]


def test_each_value_of_a_score_is_a_metric(tmp_path, make):
    path = make.write_inspect(tmp_path, [make.inspect_sample("a", {"form": "C", "sum": "I"})])
    assert problem(path).values["names"] == ["match.form", "match.sum"]
    assert read_responses(path, metric="match.sum").values.tolist() == [[0]]


def test_a_crashed_run_is_read_from_its_journal(tmp_path, make):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        start = make.inspect_header()
        del start["status"]
        archive.writestr("_journal/start.json", json.dumps(start))
        for number, item in ((10, "b"), (9, "a")):
            sample = [make.inspect_sample(item, "C" if item == "a" else "I")]
            archive.writestr(f"_journal/summaries/{number}.json", json.dumps(sample))
    with pytest.warns(UserWarning, match=r"1 sample did not run. Status: crashed"):
        responses = read_responses(path)
    assert responses.items == ("sums/a", "sums/b")
    assert responses.values.tolist() == [[1, 0]]


def test_zstd_is_read(tmp_path, make):
    samples = [make.inspect_sample("a", "C")]
    expected = read_responses(make.write_inspect(tmp_path, samples))
    path = tmp_path / "zstd.eval"
    by = "zipfile" if sys.version_info >= (3, 14) else "backports.zstd.zipfile"
    with importlib.import_module(by).ZipFile(path, "w", 93) as archive:
        archive.writestr("header.json", json.dumps(make.inspect_header()))
        archive.writestr("summaries.json", json.dumps(samples))
    assert read_responses(path) == expected
