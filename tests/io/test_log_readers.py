"""Claims about the readers of HELM, evalplus, SWE-bench, OpenML and the Open LLM Leaderboard."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.findings import IRTWarning, ReadingError
from irtkit.io import open_llm, read_responses

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

    def test_texts_and_choices_come_from_the_instances(self, tmp_path: Path, make: Any) -> None:
        table = read_responses(make.write_helm(tmp_path)).item_table
        assert table.iloc[0][["text", "target", "choices"]].tolist() == ["1 + 1?", "2", "2 | 3"]

    def test_without_a_run_specification_the_folder_names_the_run(
        self, tmp_path: Path, make: Any
    ) -> None:
        folder = tmp_path / "sums:digits=2,model=org_gpt"
        folder.mkdir()
        path = make.write_helm(folder)
        (folder / "run_spec.json").unlink()
        responses = read_responses(path)
        assert responses.respondents == ("org_gpt",)
        assert responses.items[0] == "sums:digits=2/id1"

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"instance_id": None, "stats": []}, "entry 1: instance_id must be text"),
            (
                {"instance_id": "a", "stats": [{"mean": 1}]},
                "entry 1: the name of a stat must be text",
            ),
        ],
    )
    def test_a_fault_is_named_with_its_entry(
        self, tmp_path: Path, make: Any, entry: Any, message: str
    ) -> None:
        path = make.write_helm(tmp_path, [entry])
        with pytest.raises(ValueError, match=f"^per_instance_stats.json: {message}"):
            read_responses(path, format="helm")


class TestEvalplus:
    def test_plus_is_the_default_and_base_has_a_name(self, tmp_path: Path, make: Any) -> None:
        path = make.write_evalplus(tmp_path)
        assert read_responses(path).values.tolist() == [[1, 0]]
        assert read_responses(path, metric="base").values.tolist() == [[1, 1]]

    def test_attempts_are_repeats_in_old_files_too(self, tmp_path: Path) -> None:
        attempts = {"base": [["pass", []], ["pass", []]], "plus": [["fail", []], ["pass", []]]}
        old = {"date": "2023-01-02 03:04", "hash": "x", "eval": {"Sums/0": attempts}}
        path = tmp_path / "gpt_eval_results.json"
        path.write_text(json.dumps(old))
        counted = read_responses(path, repeats="count")
        assert (counted.successes.tolist(), counted.trials.tolist()) == ([[1]], [[2]])

    def test_a_problem_without_attempts_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "gpt_eval_results.json"
        path.write_text('{"date": "d", "hash": "x", "eval": {"Sums/0": 3}}')
        with pytest.raises(ValueError, match="the log of evalplus is malformed"):
            read_responses(path)


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
        assert dict(zip(responses.items, responses.values[0].tolist(), strict=True)) == {
            "swe-bench/a": 1,
            "swe-bench/b": 0,
            "swe-bench/c": -1,
            "swe-bench/d": 0,
            "swe-bench/e": 0,
            "swe-bench/f": -1,
        }

    def test_an_instance_that_is_named_twice_counts_once(self, tmp_path: Path, make: Any) -> None:
        path = make.write_swe_bench(tmp_path, resolved_ids=["a", "a"], incomplete_ids=[])
        with pytest.warns(UserWarning, match="resolved_ids names an instance twice.*: a"):
            assert read_responses(path).values.tolist() == [[1, 0]]

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
        assert (counted.items, counted.trials.tolist()) == (
            ("swe-bench/a", "swe-bench/b"),
            [[1, 1]],
        )
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

    @pytest.mark.parametrize(("resolved", "said"), [(False, "not resolved"), (True, "resolved")])
    def test_a_report_without_any_contrast_is_asked_about(
        self, tmp_path: Path, resolved: bool, said: str
    ) -> None:
        path = tmp_path / "per_instance_details.json"
        path.write_text(json.dumps({f"i{k}": {"resolved": resolved} for k in range(20)}))
        with pytest.warns(UserWarning, match=f"all 20 instances have the result {said}"):
            read_responses(path)

    def test_a_submission_to_two_splits_ran_twice(self, tmp_path: Path, make: Any) -> None:
        for split in ("lite", "verified"):
            make.write_submission(tmp_path / split, resolved=["a"], no_generation=[split])
            make.write_submission(tmp_path / split, "20240202_two", resolved=["b"], no_logs=[])
        with pytest.raises(ValueError, match="ran several times on task 'swe-bench'"):
            read_responses(tmp_path)
        assert read_responses(tmp_path, repeats="last").n_respondents == 2

    def test_details_that_contradict_the_results_are_named(self, tmp_path: Path) -> None:
        folder = tmp_path / "20240101_gpt"
        (folder / "results").mkdir(parents=True)
        (folder / "results" / "results.json").write_text('{"resolved": ["a"], "no_logs": []}')
        (folder / "per_instance_details.json").write_text('{"a": {"resolved": false}}')
        with (
            pytest.warns(UserWarning, match="differ on 1 instance, and"),
            pytest.warns(UserWarning, match="no other submission|retries or parts"),
        ):
            assert read_responses(folder).values.tolist() == [[0]]

    def test_details_of_a_submission_go_by_its_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "20240101_gpt"
        folder.mkdir()
        path = folder / "per_instance_details.json"
        path.write_text('{"a": {"resolved": true}, "b": {"resolved": false}}')
        responses = read_responses(path)
        assert (responses.respondents, responses.values.tolist()) == (("20240101_gpt",), [[1, 0]])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"total_instances": 1, "resolved_ids": 3}', "the log of swe-bench is malformed"),
            ('{"total_instances": 1, "resolved_ids": [null]}', "resolved_ids must be text"),
            ('{"a": {"patch_is_None": true}}', "instance a has no 'resolved'"),
        ],
    )
    def test_a_fault_is_named(self, tmp_path: Path, content: str, message: str) -> None:
        path = tmp_path / "gpt.run.json"
        path.write_text(content)
        with pytest.raises(ValueError, match=f"^gpt.run.json: {message}"):
            read_responses(path)


class TestOpenml:
    def test_right_is_what_was_predicted_and_is_true(self, tmp_path: Path, make: Any) -> None:
        rows = "0,0,7,'a',\"a\"\n\n% no row\n0,0, 3 , a ,b\n"
        assert read_responses(make.write_openml(tmp_path, rows)).values.tolist() == [[1, 0]]

    def test_folds_are_repeats(self, tmp_path: Path, make: Any) -> None:
        path = make.write_openml(tmp_path, "0,0,7,a,a\n1,0,7,b,a\n")
        assert read_responses(path, repeats="count").trials.tolist() == [[2]]

    def test_another_true_class_is_another_item(self, tmp_path: Path, make: Any) -> None:
        for name, row in (("one", "0,0,7,a,a\n"), ("two", "0,0,7,a,b\n")):
            (tmp_path / name).mkdir()
            path = make.write_openml(tmp_path / name, row)
            path.rename(path.with_name(f"{name}.arff"))
        with pytest.raises(
            ValueError, match=r"item '59/7' has different content hashes in one.arff"
        ):
            read_responses(tmp_path)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("0,0,7,a\n", "line 11: 4 cells in a table of 5 columns"),
            ("0,0,7,'a,a\n", "line 11: a quote is not closed"),
            ("0,0,,a,a\n", "line 11: a sample has an empty id"),
            ("", "the log of openml holds no samples"),
        ],
    )
    def test_a_fault_is_named_with_its_line(
        self, tmp_path: Path, make: Any, rows: str, message: str
    ) -> None:
        with pytest.raises(ValueError, match=f"^gpt_predictions.arff: {message}"):
            read_responses(make.write_openml(tmp_path, rows))

    def test_attributes_that_are_needed_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "predictions.arff"
        path.write_text("@relation x\n@attribute row_id numeric\n@data\n1\n")
        with pytest.raises(ValueError, match="need the attributes row_id, prediction, correct"):
            read_responses(path)


class TestOpenLlm:
    def test_the_metric_is_the_leaderboards_unless_another_is_named(
        self, tmp_path: Path, make: Any
    ) -> None:
        path = make.write_open_llm(tmp_path)
        assert read_responses(path).values.tolist() == [[0, 1, -1]]
        assert read_responses(path, metric="acc").values.tolist() == [[1, 1, 0]]

    def test_items_go_by_their_prompts_and_not_by_their_rows(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        rows = [("Q1", 1.0), ("Q2", 0.0), ("Q2", 1.0)]
        for name, order in (("one", rows), ("two", [rows[1], rows[0], rows[2]])):
            folder = tmp_path / f"details_org__{name}"
            folder.mkdir()
            path = folder / "details_harness|mmlu|5_2023-08-09T10:20:30.parquet"
            prompts, marks = zip(*order, strict=True)
            table = pa.table({"full_prompt": prompts, "acc": marks})
            pyarrow.parquet.write_table(table, path)
        responses = read_responses(tmp_path)
        assert responses.respondents == ("org/one", "org/two")
        assert responses.values.tolist() == [[1, 0, 1], [1, 0, 1]]

    def test_lighteval_has_its_texts_in_the_doc(self, tmp_path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        folder = tmp_path / "details" / "org" / "gpt" / "2025-01-02T03-04-05"
        folder.mkdir(parents=True)
        path = folder / "details_sums|0_2025-01-02T03-04-05.123.parquet"
        doc = {"query": "1 + 1?", "choices": ["2", "3"], "gold_index": 0}
        table = pa.table({"doc": [doc], "model_response": [{"text": "2"}], "metric": [{"em": 1.0}]})
        pyarrow.parquet.write_table(table, path)
        responses = read_responses(path)
        assert (responses.respondents, responses.values.tolist()) == (("org/gpt",), [[1]])
        assert responses.item_table.iloc[0][["text", "choices"]].tolist() == ["1 + 1?", "2 | 3"]

    def test_prompts_without_end_are_refused(
        self, tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(open_llm, "_MOST_CHARACTERS", 2**4)
        with pytest.raises(ValueError, match="the prompts hold more than"):
            read_responses(make.write_open_llm(tmp_path))

    def test_other_parquet_is_none_of_it(self, tmp_path: Path) -> None:
        path = tmp_path / "x.parquet"
        path.write_bytes(b"PAR1 and nothing that Parquet needs")
        assert not open_llm.recognise(path, b"PAR1")
