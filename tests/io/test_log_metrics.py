"""What evaluation logs hold of every sample besides its mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from irtkit import read_responses

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit import ResponseMatrix

pytestmark = pytest.mark.filterwarnings("ignore:samples that failed or did not run are missing")


def table(responses: ResponseMatrix) -> dict[tuple[str, str], float]:
    """Values by item and metric, of one respondent."""
    metrics = responses.metrics
    assert metrics is not None
    places = zip(metrics["item"], metrics["metric"], strict=True)
    return dict(zip(places, metrics["value"], strict=True))


def test_seconds_and_tokens_of_inspect_belong_to_the_system(tmp_path: Path, make: Any) -> None:
    usage = {"org/gpt": {"output_tokens": 3, "total_tokens": 5}, "judge": {"total_tokens": 90}}
    effort = {"model_usage": usage, "total_time": 1.5, "working_time": 1}
    failed = make.inspect_sample("b", None, total_time=60.0)
    unmarked = make.inspect_sample("c", "no idea", total_time=60.0)
    make.write_inspect(tmp_path, [make.inspect_sample("a", "C", **effort), failed, unmarked])
    responses = read_responses(tmp_path / "log.eval")
    assert table(responses) == {
        ("sums/a", "match"): 1.0,
        ("sums/a", "output_tokens"): 3.0,
        ("sums/a", "total_tokens"): 5.0,
        ("sums/a", "total_time"): 1.5,
        ("sums/a", "working_time"): 1.0,
    }
    assert responses.values.tolist() == [[1, -1, -1]]


def test_repeats_have_the_mean_of_their_metrics(tmp_path: Path, make: Any) -> None:
    samples = [make.inspect_sample("a", mark, k, total_time=k) for k, mark in enumerate("CCI")]
    make.write_inspect(tmp_path, [*samples, make.inspect_sample("a", "C", 9)])
    responses = read_responses(tmp_path / "log.eval", repeats="count")
    assert table(responses) == {("sums/a", "match"): 0.75, ("sums/a", "total_time"): 1.0}


def test_tokens_and_latency_of_every_eval_ever(tmp_path: Path, make: Any) -> None:
    effort = {"token_usage": {"output_tokens": 2}, "performance": {"latency_ms": 2.5}}
    strange = {"token_usage": {"output_tokens": [7], "total_tokens": None}, "performance": 3}
    records = [
        make.every_eval_ever_record("a", **effort),
        make.every_eval_ever_record("b", **strange),
        make.every_eval_ever_record("c", **effort, error="timeout"),
    ]
    found = table(read_responses(make.write_every_eval_ever(tmp_path, records)))
    of_a = {"is_correct": 1.0, "score": 1.0, "output_tokens": 2.0, "latency_ms": 2.5}
    of_b = {"is_correct": 1.0, "score": 1.0}
    expected = {("sums/a", name): one for name, one in of_a.items()}
    assert found == expected | {("sums/b", name): one for name, one in of_b.items()}


def test_stats_of_helm_and_metrics_of_lm_eval_are_kept(tmp_path: Path, make: Any) -> None:
    make.write_helm(tmp_path)
    helm = table(read_responses(tmp_path / "per_instance_stats.json"))
    assert helm["sums:digits=2/id3", "num_references"] == 2.0
    assert ("sums:digits=2/id3", "exact_match") not in helm  # missing
    fields = {"metrics": ["acc", "acc_norm"], "acc_norm": 0.5}
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0, acc=1.0, **fields)])
    found = table(read_responses(path, metric="acc"))
    assert found == {("sums/0", "acc"): 1.0, ("sums/0", "acc_norm"): 0.5}


def test_marks_alone_are_not_metrics(log: tuple[str, Path]) -> None:
    name, path = log
    several = {"every-eval-ever", "helm", "open-llm", "evalplus"}
    settings = {"metric": "acc"} if name == "open-llm" else {}
    assert (read_responses(path, **settings).metrics is None) == (name not in several)
