"""What a path holds, and that typing what is proposed works."""

from __future__ import annotations

import shlex
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from irtkit.io import read_responses
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
    wanted = {"metric": ["acc"], "filter": ["strict"], "threshold": 0.5, "repeats": "count"}
    assert found.settings == wanted
    assert found.command.endswith("--metric acc --filter strict --threshold 0.5 --repeats count")


def test_blocks_that_share_no_items_are_named(tmp_path: Path, make: Any) -> None:
    for model, task in (("one", "sums"), ("two", "sums"), ("three", "words")):
        make.write_inspect(
            tmp_path, [make.inspect_sample("a", "C")], name=f"{model}.eval", model=model, task=task
        )
    assert "2 blocks of systems share no items" in str(overview(tmp_path))
    (tmp_path / "three.eval").unlink()
    assert "share no items" not in str(overview(tmp_path))


def test_a_run_without_scores_says_why_it_cannot_be_fitted(tmp_path: Path, make: Any) -> None:
    make.write_inspect(tmp_path, [make.inspect_sample("a", None)], status="error")
    found = overview(tmp_path)
    assert found.command == ""
    assert "cannot be fitted: no sample has a score: 1 samples failed" in str(found)


@pytest.mark.parametrize(
    ("content", "command"),
    [
        ("model,q1,q2\na,1,0\nb,0,1\n", ""),
        ("model,q1,q2\na,0.7,0\nb,0,1\n", " --threshold 0.5"),
        ("model,item,correct\na,q,1\na,q,0\n", " --repeats count"),
        ("model,q1,q2\na,87,12\nb,55,31\n", " --threshold 50"),
        ("model,q1,q2\na,correct,wrong\nb,wrong,correct\n", " --right correct --wrong wrong"),
        ("model,q1,q2\na,100,0\nb,0,100\n", " --right 100 --wrong 0"),
    ],
)
def test_tables_have_their_command_too(tmp_path: Path, content: str, command: str) -> None:
    path = tmp_path / "results.csv"
    path.write_text(content)
    assert overview(path).command == f"irtkit fit {path}{command}"


def test_ids_of_several_tasks_are_not_proposed_as_repeats(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("task,model,item,correct\nm,a,1,1\nn,a,1,0\nm,b,1,0\nn,b,1,1\n")
    with pytest.warns(UserWarning, match="apart by the column 'item' alone, and not by 'task'"):
        responses = read_responses(path, repeats="count")
    assert responses.items == ("1",)
    found = overview(path)
    assert (found.command, "repeats" in str(found)) == ("", False)
    assert "join the columns first" in str(found)
    frame = pd.read_csv(path)
    frame["item"] = frame["task"].astype(str) + "/" + frame["item"].astype(str)
    assert read_responses(frame, item="item").items == ("m/1", "n/1")


def test_a_name_that_begins_like_an_option_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-dash.csv").write_text("model,q1\na,1\nb,0\n")
    assert overview("-dash.csv").command == "irtkit fit ./-dash.csv"


def test_what_no_message_advises_is_not_proposed(tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text("model,size\na,700\nb,1300\n")
    assert overview(path).command == ""


def test_tables_in_a_folder_are_looked_at_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,q1,q2\ngpt,1,0\n")
    (tmp_path / "b.csv").write_text("model,item,correct\nllama,q2,1\n")
    found = overview(tmp_path)
    assert found.formats == {"wide": 1, "long": 1}
    assert found.command == f"irtkit fit {tmp_path}"
    assert found.matrix == read_responses(tmp_path)


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing")
    with pytest.raises(ValueError, match="none of the 1 files is an evaluation log or a table"):
        overview(tmp_path)
