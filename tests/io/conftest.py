"""What the tests of the readers share: files with given content, and small logs of every format.

The logs are written as the harnesses write them, each of the system gpt (or as its format names a
system). Of the three items the first is right, the second wrong and the third missing.
"""

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

TIME = "2026-01-02T03-04-05.678"
SHARED_SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


@pytest.fixture
def shared_samples():
    """Folder of logs of others, which no clone carries. A test is skipped without it."""
    if not SHARED_SAMPLES.is_dir():
        pytest.skip("there is no ../shared/samples")
    return SHARED_SAMPLES


def lines(records):
    """JSON lines of records."""
    return "".join(json.dumps(record) + "\n" for record in records)


def lm_eval_record(item, **fields):
    """One sample of lm-evaluation-harness, marked right by exact_match."""
    return {
        "doc_id": item,
        "doc": {"question": f"{item} + 1?", "answer": str(item + 1), "subject": "sums"},
        "target": str(item + 1),
        "arguments": {"gen_args_0": {"arg_0": f"Q: {item} + 1?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [["1"]],
        "filtered_resps": ["1"],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"hash-{item}",
        "exact_match": 1.0,
    } | fields


def write_lm_eval(folder, records=None):
    """Samples of the task sums, and the results next to them."""
    marks = (1.0, 0.0, float("nan"))
    default = [lm_eval_record(item, exact_match=mark) for item, mark in enumerate(marks)]
    path = folder / f"samples_sums_{TIME}.jsonl"
    path.write_text(lines(default if records is None else records))
    config = {"model": "hf", "model_num_parameters": 7000, "model_revision": "main"}
    results = {"model_name": "org/gpt", "lm_eval_version": "0.4.9", "config": config}
    (folder / f"results_{TIME}.json").write_text(json.dumps(results))
    return path


def inspect_sample(item, value, epoch=1, **fields):
    """One sample of Inspect, which failed if it lacks a value."""
    scored = {"scores": {"match": {"value": value}}} if value is not None else {"scores": {}}
    failed = {} if value is not None else {"error": "timeout"}
    asked = {"input": f"{item}?", "target": "1", "metadata": {"topic": "sums"}}
    return {"id": item, "epoch": epoch, **asked, **scored, **failed, **fields}


def inspect_header(status="success", **fields):
    """Header of an Inspect log of the task sums."""
    evaluation = {"task": "sums", "model": "org/gpt", "created": "2026-01-02T03:04:05+00:00"}
    evaluation |= {"dataset": {"sample_ids": ["a", "b", "c"]}, "config": {"epochs": 1}}
    evaluation |= {"packages": {"inspect_ai": "0.3.100"}}
    return {"version": 2, "status": status, "eval": evaluation | fields}


def write_inspect(folder, samples=None, *, name="log.eval", method=zipfile.ZIP_DEFLATED, **fields):
    """Log of Inspect, whose samples were done in another order than the dataset's."""
    default = [inspect_sample("c", None), inspect_sample("a", "C"), inspect_sample("b", "I")]
    path = folder / name
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps(inspect_header(**fields)))
        archive.writestr("samples/a_epoch_1.json", "{}")
        archive.writestr("summaries.json", json.dumps(default if samples is None else samples))
        archive.writestr("header.json", json.dumps(inspect_header(**fields)))
    return path


def every_eval_ever_record(item, **fields):
    """One sample of Every Eval Ever, right."""
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "source/org_gpt/1750000000",
        "model_id": "org/gpt",
        "evaluation_name": "sums",
        "evaluation_result_id": "sums",
        "sample_id": item,
        "sample_hash": f"hash-{item}",
        "interaction_type": "single_turn",
        "input": {"raw": f"{item}?", "reference": ["1", "one"]},
        "output": {"raw": ["1"]},
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
        "metadata": {"topic": "sums"},
    } | fields


def write_every_eval_ever(folder, records=None):
    """Samples of the evaluation sums, and their totals."""
    wrong = {"evaluation": {"score": 0.0, "is_correct": False}}
    default = [
        every_eval_ever_record("a"),
        every_eval_ever_record("b", **wrong),
        every_eval_ever_record("c", **wrong, error="timeout"),
    ]
    path = folder / "f3a1_samples.jsonl"
    path.write_text(lines(default if records is None else records))
    about = {"id": "org/gpt", "name": "gpt", "developer": "org"}
    record = {"schema_version": "0.3.0", "evaluation_id": "source/org_gpt/1750000000"}
    results = [
        {"evaluation_result_id": f"sums.{name}", "metric_config": {"metric_id": name}}
        for name in ("strict", "lenient")
    ]
    summary = record | {"model_info": about, "evaluation_results": results}
    (folder / "f3a1.json").write_text(json.dumps(summary))
    return path


def helm_entry(item, stats, **fields):
    """Stats of one instance of HELM. None is one that was never counted."""
    listed = []
    for name, mean in stats.items():
        counted = {"count": 0} if mean is None else {"count": 1, "sum": mean, "mean": mean}
        listed.append({"name": {"name": name, "split": "test"}, "sum_squared": 0, **counted})
    return {"instance_id": item, "train_trial_index": 0, "stats": listed} | fields


def write_helm(folder, entries=None):
    """Run of HELM on the scenario sums, whose first instance is also perturbed."""
    default = [
        helm_entry("id1", {"num_references": 2.0, "exact_match": 1.0}),
        helm_entry("id1", {"exact_match": 0.0}, perturbation={"name": "typos"}),
        helm_entry("id2", {"num_references": 2.0, "exact_match": 0.0}),
        helm_entry("id3", {"num_references": 2.0, "exact_match": None}),
    ]
    path = folder / "per_instance_stats.json"
    path.write_text(json.dumps(default if entries is None else entries))
    adapter = {"model": "org/gpt", "model_deployment": "org/gpt"}
    specification = {"name": "sums:digits=2,model=org_gpt", "adapter_spec": adapter}
    (folder / "run_spec.json").write_text(json.dumps(specification))
    answers = (("2", ["correct"]), ("3", []))
    references = [{"output": {"text": text}, "tags": tags} for text, tags in answers]
    instance = {"input": {"text": "1 + 1?"}, "references": references, "split": "test", "id": "id1"}
    (folder / "instances.json").write_text(json.dumps([instance]))
    return path


def write_evalplus(folder):
    """Results of evalplus, which cannot hold a missing response."""
    results = {
        problem: [{"task_id": problem, "base_status": "pass", "plus_status": plus}]
        for problem, plus in {"Sums/0": "pass", "Sums/1": "fail"}.items()
    }
    path = folder / "org--gpt_eval_results.json"
    path.write_text(json.dumps({"date": "2026-01-02 03:04", "hash": "x", "eval": results}))
    return path


def write_swe_bench(folder, **fields):
    """Report of a run of SWE-bench."""
    report = {"total_instances": 3, "submitted_instances": 2, "submitted_ids": ["a", "b"]}
    report |= {"incomplete_ids": ["c"], "resolved_ids": ["a"], "unresolved_ids": ["b"]}
    report |= {"schema_version": 2} | fields
    path = folder / "org__gpt-4.1.run.json"
    path.write_text(json.dumps(report, indent=4))
    return path


def write_submission(folder, name="20240101_gpt", **lists):
    """Results of a submission to SWE-bench's leaderboard."""
    path = folder / name / "results" / "results.json"
    path.parent.mkdir(parents=True)
    default = {"no_generation": ["b"], "no_logs": ["c"], "resolved": ["a"]}
    path.write_text(json.dumps(lists or default, indent=2))
    return path


def write_openml(folder, rows="0,0,7,a,a\n0,0,3,b,a\n0,0,5,?,a\n"):
    """Predictions of a run on OpenML."""
    path = folder / "gpt_predictions.arff"
    path.write_text(
        "% made for a test\n@RELATION openml_task_59_predictions\n\n"
        "@ATTRIBUTE repeat NUMERIC\n@ATTRIBUTE fold NUMERIC\n@attribute 'row_id' NUMERIC\n"
        "@ATTRIBUTE prediction {a, b}\n@ATTRIBUTE correct {a, b}\n\n@DATA\n" + rows
    )
    return path


def write_open_llm(folder):
    """Details of the Open LLM Leaderboard."""
    place = folder / "details_org__gpt" / "2023-08-09T10:20:30"
    place.mkdir(parents=True)
    path = place / "details_harness|arc:challenge|25_2023-08-09T10:20:30.123.parquet"
    marks = [(1.0, 0.0), (1.0, 1.0), (0.0, None)]
    questions = ["1 + 1?", "2 + 2?", "3 + 3?"]
    table = pd.DataFrame({"example": questions, "full_prompt": [f"Q: {one}" for one in questions]})
    table.assign(metrics=[{"acc": acc, "acc_norm": norm} for acc, norm in marks]).to_parquet(path)
    return path


WRITERS = {
    "lm-eval": write_lm_eval,
    "inspect": write_inspect,
    "every-eval-ever": write_every_eval_ever,
    "helm": write_helm,
    "evalplus": write_evalplus,
    "swe-bench": write_swe_bench,
    "openml": write_openml,
    "open-llm": write_open_llm,
}


@pytest.fixture(params=WRITERS)
def log(request, tmp_path):
    """Name of every format, and a log of it."""
    return request.param, WRITERS[request.param](tmp_path)


@pytest.fixture
def make():
    """Everything above by its name, since a test cannot import it."""
    return SimpleNamespace(**globals())
