"""Claims about items as evaluation harnesses take them, and about logs of what they asked."""

import json
import os
import shlex
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.io.asking import command_line, document_numbers, sample_ids
from irtkit.responses import Source
from tests.commands import printed, run


def responses_of(labels, tasks=None):
    """Answers of 60 systems to items with these labels, the last with negative discrimination."""
    slopes = [*np.linspace(0.8, 1.6, len(labels) - 1), -1.5]
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-1.5, 1.5, len(labels)))
    values = irtkit.simulate_responses(items, np.linspace(-2, 2, 60), seed=1).values
    responses = irtkit.ResponseMatrix(values, items=labels)
    return (
        responses if tasks is None else responses.with_tables(pd.DataFrame({"task": tasks}, labels))
    )


TASK = """task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: questions.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("lm_eval") is None, reason="needs lm_eval")
def test_lm_eval_asks_the_documents_that_its_logs_name(tmp_path):
    questions = [{"question": f"{number} + 1?", "answer": "lol"} for number in range(30)]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    (tmp_path / "sums.yaml").write_text(TASK)
    labels = [f"sums/{number}" for number in range(30)]
    line = command_line("lm-eval", responses_of(labels), labels[20:] + labels[3:9])
    words = shlex.split(line.replace("hf --model_args pretrained=MODEL", "dummy --include_path ."))
    command = [sys.executable, "-m", *words]
    subprocess.run(command, check=True, cwd=tmp_path, env=os.environ | {"HF_HOME": str(tmp_path)})
    (log,) = tmp_path.glob("runs/*/samples_sums_*.jsonl")
    documents = [json.loads(record) for record in log.read_text().splitlines()]
    assert [each["doc_id"] for each in documents] == [*range(3, 9), *range(20, 30)]
    assert all(each["doc"]["question"] == f"{each['doc_id']} + 1?" for each in documents)
    assert irtkit.read_responses(tmp_path / "runs").n_items == 16


def test_ids_of_samples_name_their_task_only_where_tasks_differ():
    labels = ["maths/easy/a*", "maths/b"]
    responses = irtkit.ResponseMatrix([[0, 1]], items=labels)
    one = responses.with_tables(pd.DataFrame({"task": ["maths", "maths"]}, labels))
    assert sample_ids(one, labels) == "easy/a[*],b"
    two = responses.with_tables(pd.DataFrame({"task": ["maths/easy", "maths"]}, labels))
    assert sample_ids(two, labels) == "maths/easy:a[*],maths:b"
    assert sample_ids(responses, labels[::-1]) == "maths/b,maths/easy/a[*]"


@pytest.mark.parametrize("label", ["17", "sums/x", "sums/017", "sums/17/strict", "/17"])
def test_a_label_that_is_no_number_of_a_document_is_named(label):
    responses = irtkit.ResponseMatrix([[0, 1]], items=["sums/3", label])
    with pytest.raises(ValueError, match=f"item '{label}' is not the number of a document"):
        document_numbers(responses, responses.items)


def test_what_separates_ids_is_no_part_of_a_pattern():
    labels = ["law/a,b", "law/b:c", "code/1"]
    responses = irtkit.ResponseMatrix([[0, 1, 1]], items=labels)
    tasks = responses.with_tables(pd.DataFrame({"task": ["law", "law", "code"]}, labels))
    assert sample_ids(tasks, labels) == "law:a?b,law:b[:]c,code:1"
    tasks = responses.with_tables(pd.DataFrame({"task": ["law", "law", "co,de"]}, labels))
    with pytest.raises(ValueError, match="task 'co,de' has ','"):
        sample_ids(tasks, labels)
    with pytest.raises(ValueError, match="task 'a,b' has ','"):
        document_numbers(responses, ["a,b/3"])


def test_items_of_another_harness_are_refused():
    responses = irtkit.ResponseMatrix([[0, 1]], items=["sums/3", "a,b"])
    responses.source = Source(("runs",), "inspect")
    with pytest.raises(ValueError, match="logs of inspect, which lm-eval does not know"):
        document_numbers(responses, ["sums/3"])


def test_the_command_line_asks_the_items_and_leaves_out_those_removed(tmp_path):
    labels = [f"sums/{number}" for number in range(30)]
    responses_of(labels).to_frame().to_csv(tmp_path / "results.csv")
    done = run("select results.csv -k 8 --for lm-eval --removed sums/3,called", tmp_path)
    words = shlex.split(done.stdout.splitlines()[-1])
    (numbers,) = json.loads(words[words.index("--samples") + 1]).values()
    assert (words[0], len(numbers)) == ("lm_eval", 8)
    assert "8 of 28 items" in done.stdout
    assert {3, 29}.isdisjoint(numbers)
    kept = run("audit results.csv --for inspect --removed called", tmp_path).stdout
    ids = shlex.split(kept.splitlines()[-1])[-1].split(",")
    assert f"To ask these {len(ids)} items (1 left out)" in kept
    assert "no item is left out" in run("audit results.csv --for inspect", tmp_path).stderr
    assert ids == labels[:-1]
    result = irtkit.fit(tmp_path / "results.csv")
    (asked,) = json.loads(irtkit.select_items(result, 8).for_lm_eval()).values()
    assert asked == sorted(asked)
    assert {f"sums/{number}" for number in asked} == {*irtkit.select_items(result, 8).items}
    audit = irtkit.audit(result)
    assert audit.for_inspect("called").split(",") == ids
    assert json.loads(audit.for_lm_eval(["sums/3"])) == {"sums": [*range(3), *range(4, 30)]}
    done = run("audit results.csv --for inspect --removed q", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--removed q: 'q' is not an item" in done.stderr
    assert "To ask" not in printed("audit results.csv", tmp_path)
