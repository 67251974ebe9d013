"""Rules of single readers, and faults of logs, which are named with their place."""

from __future__ import annotations

import json
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from irtkit import read_responses
from irtkit.findings import IRTWarning, ReadingError

if TYPE_CHECKING:
    from pathlib import Path


class TestHelm:
    def test_entries_of_one_instance_are_merged_and_trials_are_repeats(
        self, tmp_path: Path, make: Any
    ) -> None:
        entries = [
            make.helm_entry("id1", {"exact_match": 1.0}),
            make.helm_entry("id1", {"num_references": 2.0}),
            make.helm_entry("id1", {"exact_match": 0.0}, train_trial_index=1),
        ]
        path = make.write_helm(tmp_path, entries)
        counted = read_responses(path, repeats="count")
        assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1]], [[2]])
        assert read_responses(path, repeats="first").values.tolist() == [[1]]

    def test_several_marks_are_listed_without_the_bookkeeping(
        self, tmp_path: Path, make: Any
    ) -> None:
        stats = {"exact_match": 1.0, "quasi_exact_match": 1.0, "num_output_tokens": 1.0}
        path = make.write_helm(tmp_path, [make.helm_entry("id1", stats)])
        with pytest.raises(ReadingError) as error:
            read_responses(path)
        assert error.value.finding.values["names"] == ["exact_match", "quasi_exact_match"]
        assert read_responses(path, metric="num_output_tokens").values.tolist() == [[1]]


class TestEvalplus:
    def test_plus_is_the_default_and_base_has_a_name(self, tmp_path: Path, make: Any) -> None:
        assert read_responses(make.write_evalplus(tmp_path), metric="base").values.all()


class TestSweBench:
    def test_what_became_of_an_instance_is_its_response(self, tmp_path: Path, make: Any) -> None:
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

    def test_reports_of_single_instances_are_put_together(self, tmp_path: Path) -> None:
        for instance, resolved in (("a", True), ("b", False)):
            folder = tmp_path / "run" / "org__gpt" / instance
            folder.mkdir(parents=True)
            report = {instance: {"patch_is_None": False, "resolved": resolved}}
            (folder / "report.json").write_text(json.dumps(report))
        responses = read_responses(tmp_path)
        assert responses.respondents == ("org/gpt",)
        assert responses.values.tolist() == [[1, 0]]

    def test_errors_are_wrong_or_missing(self, tmp_path: Path, make: Any) -> None:
        path = make.write_swe_bench(tmp_path, error_ids=["b"], incomplete_ids=[])
        assert read_responses(path).values.tolist() == [[1, 0]]
        assert read_responses(path, errors="missing").values.tolist() == [[1, -1]]
        with pytest.raises(ValueError, match="errors must be 'missing' or None, got 'wrong'"):
            read_responses(path, errors="wrong")

    def test_reports_of_one_run_count_once(self, tmp_path: Path, make: Any) -> None:
        make.write_swe_bench(tmp_path, incomplete_ids=[])
        folder = tmp_path / "logs" / "run_evaluation" / "run" / "org__gpt-4.1" / "a"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text('{"a": {"patch_is_None": false, "resolved": true}}')
        with pytest.warns(IRTWarning, match="retries or parts of other runs: report.json"):
            counted = read_responses(tmp_path, repeats="count")
        assert (counted.n_items, counted.trials.tolist()) == (2, [[1, 1]])
        assert read_responses(tmp_path / "logs").values.tolist() == [[1]]

    def test_what_a_submission_does_not_name_others_do(self, tmp_path: Path, make: Any) -> None:
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


class TestOpenml:
    def test_right_is_what_was_predicted_and_is_true(self, tmp_path: Path, make: Any) -> None:
        rows = "0,0,7,'a', 'a'\n\n% no row\n0,0, 3 , \"a\",b\n"
        assert read_responses(make.write_openml(tmp_path, rows)).values.tolist() == [[1, 0]]


class TestOpenLlm:
    def test_the_metric_is_the_leaderboards_unless_another_is_named(
        self, tmp_path: Path, make: Any
    ) -> None:
        path = make.write_open_llm(tmp_path)
        assert read_responses(path).values.tolist() == [[0, 1, -1]]
        assert read_responses(path, metric="acc").values.tolist() == [[1, 1, 0]]

    def test_items_go_by_their_prompts_and_not_by_their_rows(self, tmp_path: Path) -> None:
        rows = [("Q1", 1.0), ("Q2", 0.0), ("Q2", 1.0)]
        for name, order in (("one", rows), ("two", [rows[1], rows[0], rows[2]])):
            folder = tmp_path / f"details_org__{name}"
            folder.mkdir()
            path = folder / "details_harness|mmlu|5_2023-08-09T10:20:30.parquet"
            prompts, marks = zip(*order, strict=True)
            pd.DataFrame({"full_prompt": prompts, "acc": marks}).to_parquet(path)
        responses = read_responses(tmp_path)
        assert responses.respondents == ("org/one", "org/two")
        assert responses.values.tolist() == [[1, 0, 1], [1, 0, 1]]

    def test_lighteval_has_its_texts_in_the_doc(self, tmp_path: Path) -> None:
        folder = tmp_path / "details" / "org" / "gpt" / "2025-01-02T03-04-05"
        folder.mkdir(parents=True)
        path = folder / "details_sums|0_2025-01-02T03-04-05.123.parquet"
        doc = {"query": "1 + 1?", "choices": ["2", "3"], "gold_index": 0}
        row = {"doc": doc, "model_response": {"text": "2"}, "metric": {"em": 1.0}}
        pd.DataFrame([row]).to_parquet(path)
        responses = read_responses(path)
        assert (responses.respondents, responses.values.tolist()) == (("org/gpt",), [[1]])
        assert responses.item_table.iloc[0][["text", "choices"]].tolist() == ["1 + 1?", "2 | 3"]


def archive(folder: Path, **members: str) -> Path:
    with zipfile.ZipFile(folder / "log.eval", "w") as written:
        for name, content in members.items():
            written.writestr(f"{name}.json", content)
    return folder / "log.eval"


FAULTS: list[tuple[str, Any, str]] = [
    ("lm-eval", '{"doc_id": 1, "doc"', "line 2 is not JSON"),
    ("every-eval-ever", {"schema_version": "0.1.0"}, "line 1: .* must be 0.2 or 0.3, got '0.1.0'"),
    ("every-eval-ever", {"model_id": None}, "line 1: model_id must be text"),
    ("inspect", {"header": "{}", "summaries": "[]"}, "the log needs a record of the evaluation"),
    ("inspect", {"summaries": "[]"}, "the archive has neither header.json nor"),
    ("openml", "0,0,7,a\n", "line 11: 4 cells in a table of 5 columns"),
    ("openml", "0,0,7,'a,a\n", "line 11: a quote is not closed"),
    ("openml", "", "the log of openml holds no samples"),
    ("helm", b"[\xff]", "the file is not JSON: 'utf-8' .* 0xff"),
    ("helm", b"[" * 100_000, "the file is not JSON: .*recursion"),
]


@pytest.mark.parametrize(("form", "fault", "message"), FAULTS)
def test_a_fault_is_named_with_its_place(
    tmp_path: Path, make: Any, form: str, fault: Any, message: str
) -> None:
    if form == "inspect":
        path = archive(tmp_path, **fault)
    elif form == "every-eval-ever":
        path = make.write_every_eval_ever(tmp_path, [make.every_eval_ever_record("a", **fault)])
    elif form == "openml":
        path = make.write_openml(tmp_path, fault)
    elif form == "lm-eval":
        path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0)])
        path.write_text(path.read_text() + fault + "\n")
    else:
        path = tmp_path / "per_instance_stats.json"
        path.write_bytes(fault)
    with pytest.raises(ValueError, match=f"^{path.name}: {message}"):
        read_responses(path, format=form)


def test_the_model_comes_from_the_results_or_else_the_folder(tmp_path: Path, make: Any) -> None:
    folder = tmp_path / "org__llama"
    folder.mkdir()
    path = make.write_lm_eval(folder)
    assert read_responses(path).respondents == ("org/gpt",)
    (folder / f"results_{make.TIME}.json").unlink()
    assert read_responses(path).respondents == ("org/llama",)
