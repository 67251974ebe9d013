"""What a path holds, and that typing what is proposed works."""

from __future__ import annotations

import shlex
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from irtkit import read_responses
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
    wanted = {"metric": ["acc"], "filter": ["strict"], "repeats": "count"}
    assert found.settings == wanted
    assert found.command.endswith("--metric acc --filter strict --repeats count")


@pytest.mark.parametrize(("content", "command"), [
    ("model,q1,q2\na,1,0\nb,0,1\n", ""),
    ("model,q1,q2\na,correct,wrong\nb,wrong,correct\n", ""),
    ("model,q1,q2,q3\na,0.7,-,0.2\nb,0.2,1,0.5\n", " --missing -"),
    ("model,q1,q2\na,20,35\nb,75,50\n", " --score-range 0,100"),
])  # fmt: skip
def test_tables_have_their_command_too(tmp_path: Path, content: str, command: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content)
    assert overview(path).command == f"irtkit fit {path}{command}"


def test_settings_that_are_given_go_into_the_command(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("task,model,question_id,epoch,correct\nm,a,1,1,0.2\nn,a,1,1,1\nn,a,1,2,0\n")
    found = overview(path, task="n", threshold=0.5)
    assert found.settings == {"task": "n", "threshold": 0.5, "repeats": "count"}
    assert found.matrix == read_responses(path, **found.settings)
    assert "tasks (1): n (1)" in str(found)
    assert found.command.startswith(f"irtkit fit {path} --task n --threshold 0.5")
