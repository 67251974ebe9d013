"""Claims about tests that Inspect runs, with its own mock model."""

import json
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, adaptive, fit, select_items, simulate_responses
from irtkit.io.samples import CHOSEN
from irtkit.responses import Source

needs_inspect = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="needs inspect_ai")
N_ITEMS, K = 120, 20
ITEMS = ItemParameters.from_difficulty(
    np.random.default_rng(1).lognormal(0, 0.3, N_ITEMS),
    np.random.default_rng(2).normal(size=N_ITEMS),
)
HELD_OUT = simulate_responses(ITEMS, np.random.default_rng(8).normal(size=12), seed=9).values
NUMBERS = [str(number) for number in range(1, N_ITEMS + 1)]
ENDS = {
    "expected_score": "expected_score",
    "low": "expected_score_low",
    "high": "expected_score_high",
}
RETRIED = """
import json
from pathlib import Path
from inspect_ai import Task, eval, eval_retry, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver
from irtkit.inspect_ai import Adaptive

@solver
def answer():
    async def solve(state, generate):
        with Path("asked").open("a") as asked:
            asked.write("x")
        if Path("asked").stat().st_size == 12:
            raise RuntimeError("the sandbox broke")
        word = "yes" if int(state.sample_id) % 3 else "no"
        state.output = ModelOutput.from_content("mockllm/model", word)
        return state
    return solve

@task
def quiz():
    samples = [Sample(id=k, input=str(k), target="yes") for k in range(1, 121)]
    manager = Adaptive("fit.npz", k=20)
    return Task(samples, solver=answer(), scorer=match(), early_stopping=manager)

if __name__ == "__main__":
    how = {"log_dir": "logs", "display": "none", "max_samples": 40}
    first, = eval("quiz.py", model="mockllm/model", **how)
    second, = eval_retry(first, **how)
    Path("done.json").write_text(json.dumps(second.results.early_stopping.metadata))
"""


def fitted(task="quiz/"):
    """A fit of 250 systems, with labels of a task or, without one, ids of samples."""
    answers = simulate_responses(ITEMS, np.random.default_rng(3).normal(size=250), seed=0).values
    labels = [task + number for number in NUMBERS]
    return fit(ResponseMatrix(answers, items=labels), standard_errors=False)


@pytest.fixture(scope="module")
def result():
    return fitted()


def run(result, folder, runs, **manager):
    """What was asked in runs of Inspect, whose logs are in folders with their numbers."""
    result.save(folder / "fit.npz")
    plan = {"answers": HELD_OUT.tolist(), "runs": runs, "manager": {"k": K} | manager, "quiet": 0.2}
    (folder / "plan.json").write_text(json.dumps(plan))
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("inspect_runs.py"))]
    subprocess.run([*command, str(folder)], check=True, timeout=200)
    return json.loads((folder / "done.json").read_text())


def is_score_of_log(result, log, metadata):
    """Whether `irtkit.score` gives what the manager wrote, and knows that items were chosen."""
    row = irtkit.score(log, result).iloc[0]
    assert "accuracy" not in row
    assert row["status"] == metadata["status"]
    return all(
        row[column] == pytest.approx(metadata[name], abs=1e-9) for name, column in ENDS.items()
    )


@needs_inspect
@pytest.mark.slow
def test_a_run_scores_as_a_test_that_answers_as_many_items_in_a_step(result, tmp_path):
    systems = [{"system": row, "max_samples": 100} for row in range(len(HELD_OUT))]
    selection = select_items(result, K)
    for row, done in enumerate(run(result, tmp_path, systems, at_once=4)):
        (metadata,) = done["metadata"]
        test = adaptive(selection, order="adaptive")
        while not test.done:
            for item in test.next_items(4):
                test.answer(HELD_OUT[row, result.places[item]], item)
        assert {*metadata["asked"]} == {*test.asked} == {f"quiz/{k}" for k in done["asked"]}
        assert len(done["asked"]) == K
        assert done["most_at_once"] == 4
        assert metadata["expected_score"] == pytest.approx(test.expected_score, abs=1e-6)
        assert metadata["error"] == pytest.approx(test.error, abs=1e-6)
        assert metadata["waited"] == metadata["pool"] == 2 * K
        assert is_score_of_log(result, tmp_path / str(row), metadata)


@needs_inspect
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:samples that failed")
def test_neither_few_places_nor_samples_that_fail_stop_a_run(result, tmp_path):
    fails = [int(label.removeprefix("quiz/")) for label in select_items(result, 6).items]
    failing = {"fails": fails, "fail_on_error": False}
    runs = [
        {"max_samples": places} | how
        for places in (1, 5, None)
        for how in ({}, failing, failing | {"retry_on_error": 1})
    ]
    for number, done in enumerate(run(result, tmp_path, runs)):
        (metadata,) = done["metadata"]
        right = {int(label.removeprefix("quiz/")) for label in metadata["asked"]}
        assert len(right) == K
        assert {*done["asked"]} - right == {*done["asked"]} & {*runs[number].get("fails", ())}
        assert done["most_at_once"] <= 5
        assert metadata["waited"] <= min(runs[number]["max_samples"] or N_ITEMS, 2 * K)
        assert is_score_of_log(result, tmp_path / str(number), metadata)


@needs_inspect
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_is_scored_as_the_fit_was_read_and_of_its_own_task(tmp_path):
    ability = np.random.default_rng(3).normal(size=250)
    answers = [simulate_responses(ITEMS, ability, seed=seed).values for seed in (0, 1)]
    labels = [f"{task}/{number}" for task in ("quiz", "exam") for number in NUMBERS]
    matrix = ResponseMatrix(np.hstack(answers), items=labels)
    matrix.source = Source(("runs",), "inspect", {"metric": "match"})
    result = fit(matrix, standard_errors=False)
    scored = {"max_samples": 50, "scorers": ["match", "includes"]}
    runs = [
        scored | {"n_tasks": 2, "max_tasks": 2},
        {"scorers": ["half"]},
        {"fails": [*range(1, 30)]},
        {"scorers": ["includes"]},
    ]
    both, halves, failed, refused = run(result, tmp_path, runs)
    scores = irtkit.score(tmp_path / "0", result).set_index("task")
    for task, metadata in zip(("quiz", "exam"), both["metadata"], strict=True):
        assert metadata["of"] == f"120 items of {task}"
        assert {label.partition("/")[0] for label in metadata["asked"]} == {task}
        assert (len(metadata["asked"]), metadata["ended"]) == (K, "all asked")
        for name, column in ENDS.items():
            assert scores.loc[task, column] == pytest.approx(metadata[name], abs=1e-9)
    assert is_score_of_log(result, tmp_path / "1", halves["metadata"][0])
    assert len(failed["errors"]) == 1
    with pytest.warns(irtkit.IRTWarning, match="could ask 20 items, and .* answered"):
        partial = irtkit.score(tmp_path / "2", result).iloc[0]
    assert partial["task"] == "quiz"
    assert partial["n_responses"] < K
    assert "accuracy" not in partial
    assert refused["asked"] == []
    assert "metric='includes' (--metric includes)" in refused["errors"][0]


@needs_inspect
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_retry_counts_the_answers_of_the_earlier_attempt(result, tmp_path):
    result.save(tmp_path / "fit.npz")
    (tmp_path / "quiz.py").write_text(RETRIED)
    subprocess.run([sys.executable, "quiz.py"], cwd=tmp_path, check=True, timeout=200)
    metadata = json.loads((tmp_path / "done.json").read_text())
    assert len(metadata["asked"]) == K
    assert len((tmp_path / "asked").read_text()) <= K + 5
    assert is_score_of_log(result, tmp_path / "logs", metadata)


def test_shares_of_chosen_items_are_not_compared_unsaid(tmp_path):
    answers = HELD_OUT[:12].astype(float)
    answers[:2, ::2] = np.nan
    names = [f"s{row}" for row in range(12)]
    chosen = pd.DataFrame({f"{CHOSEN}quiz": [0.001, 0.001]}, names[:2])
    matrix = ResponseMatrix(answers, names, [f"quiz/{n}" for n in NUMBERS])
    matrix = matrix.with_tables(respondent_table=chosen)
    result = fit(matrix, "1PL")
    for compared in (lambda: result.compare_systems("s0", "s2"), result.leaderboard):
        with pytest.warns(irtkit.IRTWarning, match="the items of 2 of 12 systems by their answ"):
            compared()
    gate = irtkit.gate(matrix.part([0, 5]).with_known(matrix), matrix.part([0, 5]))
    assert "chosen-items" in {finding.code for finding in gate.limits}
    result.report(tmp_path / "page.html")
    assert "a test chose the items of 2 of 12 systems" in (tmp_path / "page.html").read_text()


@needs_inspect
@pytest.mark.filterwarnings("ignore")  # of what Inspect imports
def test_an_answer_is_a_score_as_the_fit_was_read():
    result = fitted()
    result.saved_responses.source = Source(("runs",), "inspect", {"metric": "f1", "threshold": 0.5})
    manager = irtkit.inspect_ai.Adaptive(result, 5)

    def scores(**values):
        return {name: SimpleNamespace(score=SimpleNamespace(value=values[name])) for name in values}

    assert manager._answer("quiz/1", scores(match="C", f1=0.4)) == 0
    assert manager._answer("quiz/1", scores(match="I", f1=0.6)) == 1
    assert manager._answer("quiz/1", scores(match="C")) == 1
    assert np.isnan(manager._answer("quiz/1", scores(f1=math.nan)))
    with pytest.raises(ValueError, match="'quiz/1' has several scores: match, cost"):
        manager._answer("quiz/1", scores(match="C", cost=2.0))
    result.saved_responses.source = None
    for task, text in (
        ("quiz", "no sample .*: a, b.* has 120 items of task 'quiz'"),
        ("exam", "0 items"),
    ):
        with pytest.raises(ValueError, match=text):
            manager._begin(task, frozenset(), ["a", "b"])
    with pytest.raises(ValueError, match=r"above 0 and below 1, got 3. .* 0.03 is three points"):
        irtkit.inspect_ai.Adaptive(result, 5, error=3)


def test_without_inspect_the_error_names_the_extra(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.util", None)
    with pytest.raises(ImportError, match=r"pip install 'irtkit\[inspect\]'"):
        irtkit.inspect_ai.Adaptive(result)
