"""The command line as a user meets it: output, files, exit codes, one clear line."""

from __future__ import annotations

import json
import shlex
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import irtkit
from tests.commands import run, run_in_a_process

if TYPE_CHECKING:
    from pathlib import Path

WIDE = "model,q1,q2,q3\na,1,0,1\nb,1,1,1\nc,0,0,1\nd,0,1,0\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(WIDE)
    return path


def test_fit_prints_a_summary_and_writes_its_files(results: Path, tmp_path: Path) -> None:
    done = run_in_a_process("fit", results, "--model", "1PL", "--out", "tables", folder=tmp_path)
    told = f"irtkit: 4 respondents × 3 items. Read from {results} (wide table).\n"
    assert (done.returncode, done.stderr) == (0, told)
    assert "1PL fitted to 4 respondents × 3 items" in done.stdout
    assert "\nnext: irtkit audit looks for " in done.stdout
    written = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert written == ["items.csv", "respondents.csv", "result.npz", "summary.json"]
    items = irtkit.read_table(tmp_path / "tables" / "items.csv")
    assert items["average_error"].to_dict() == {"q1": 0.5, "q2": 0.5, "q3": 0.25}
    summary = json.loads((tmp_path / "tables" / "summary.json").read_text())
    for key in ("model", "method", "settings", "converged", "log_likelihood", "aic", "bic"):
        assert key in summary
    assert summary["counts"]["responses"] == 12
    assert {"irtkit", "numpy", "jax", "python"} <= set(summary["versions"])


@pytest.mark.parametrize("method", ["mantel-haenszel", "likelihood-ratio"])
def test_items_harder_for_one_group_are_listed(tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(0)
    late = np.arange(400) % 2 == 1
    easier = 2.0 * (late[:, None] & (np.arange(12) == 3))
    right = rng.random((400, 12)) < 1 / (1 + np.exp(-rng.normal(size=(400, 1)) - easier))
    responses = irtkit.ResponseMatrix(right)
    responses.to_frame().to_csv(tmp_path / "results.csv")
    pairs = zip(responses.respondents, np.where(late, "late", "early"), strict=True)
    lines = ["system,era", *(",".join(pair) for pair in pairs)]
    (tmp_path / "eras.csv").write_text("\n".join(lines) + "\n")
    options = ("--groups", "eras.csv", "--method", method, "--out", "found.csv")
    done = run("differential", "results.csv", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "1 of 12 items tested differ between early (reference group) and late" in told
    assert "item-4 early" in told
    assert max(map(len, done.stdout.splitlines())) <= 80
    found = irtkit.read_table(tmp_path / "found.csv")
    assert found.loc["item-4", "q_value"] < 0.001
    given = ("--groups", "eras.csv", "--method", method, "--anchors", "item-1,item-2,item-3")
    anchored = run("differential", "results.csv", *given, folder=tmp_path)
    assert "1 of 9 items tested differ" in anchored.stdout
    refused = run("differential", "results.csv", "--groups", "family", folder=tmp_path)
    assert refused.returncode == 2
    assert "no column 'family'" in refused.stderr


def test_new_systems_are_scored_on_the_items_of_a_fit(results: Path, tmp_path: Path) -> None:
    run("fit", results, "--model", "1PL", "--out", "tables", folder=tmp_path)
    (tmp_path / "new.csv").write_text("model,q3,q1\nnew,1,0\n\x1b[31mred,0,0\n")
    done = run("score", "new.csv", "tables", "--out", "scores.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote scores.csv" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    scores = irtkit.read_table(tmp_path / "scores.csv")
    assert scores.loc["new", "accuracy"] == 0.5
    expected = scores.loc["new", "expected_score"]
    assert 1 / 3 <= expected <= 2 / 3


def test_items_are_selected_of_responses_and_of_a_saved_result(tmp_path: Path) -> None:
    items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-2, 2, 30))
    responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 80), seed=1)
    responses.to_frame().to_csv(tmp_path / "results.csv")
    run("fit", "results.csv", "--out", "tables", folder=tmp_path)
    of_result = run("select", "tables", "-k", "12", "--out", "items.csv", folder=tmp_path)
    assert of_result.returncode == 0, of_result.stderr
    of_responses = run("select", "results.csv", "-k", "12", folder=tmp_path)
    assert of_responses.stdout in of_result.stdout
    assert "12 of 30 items" in of_result.stdout
    assert max(map(len, of_result.stdout.splitlines())) <= 80
    table = irtkit.read_table(tmp_path / "items.csv")
    assert table["rank"].tolist() == list(range(1, 13))
    result = irtkit.load(tmp_path / "tables" / "result.npz")
    assert tuple(table.index) == irtkit.select_items(result, 12).items
    drawn = run("select", "tables", "-k", "12", "--design", "stratified", folder=tmp_path)
    assert "12 of 30 items, stratified" in drawn.stdout
    too_many = run("select", "tables", "-k", "31", folder=tmp_path)
    assert (too_many.returncode, too_many.stdout) == (2, "")
    new = responses.to_frame()[list(table.index)].head(3)
    new.to_csv(tmp_path / "new.csv")
    told = run("score", "new.csv", "tables", "--design", "random", folder=tmp_path).stdout
    assert "under any model" in told
    for_score = run("select", "tables", "-k", "12", "--out", "few.npz", folder=tmp_path)
    assert "wrote few.npz" in for_score.stdout
    scored = run("score", "new.csv", "few.npz", folder=tmp_path)
    assert "accuracy" not in scored.stdout
    assert "expected of all calibrated items" in scored.stdout
    scored = run("score", "new.csv", "items.csv", folder=tmp_path)
    assert "12 items selected from 30" in scored.stderr
    assert "expected" not in scored.stdout


def test_synthetic_respondents_come_only_when_asked_for(results: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("item,label\nq1,cat\nq2,dog\nq3,cat\n")
    kinds = "always-right,class-prior"
    options = ("--synthetic", kinds, "--labels", labels, "--draws", "2", "--model", "1PL")
    done = run("fit", results, *options, "--out", "tables", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    table = irtkit.read_table(tmp_path / "tables" / "respondents.csv")
    added = list(table.index[table["synthetic"]])
    assert added == ["always-right", "class-prior-1", "class-prior-2"]


def test_compare_sets_average_error_beside_difficulty(results: Path, tmp_path: Path) -> None:
    done = run("compare", results, "--model", "1PL", "--out", "tables", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Same order: average_error" in done.stdout
    table = irtkit.read_table(tmp_path / "tables" / "difficulties.csv")
    assert {"average_error", "difficulty"} <= set(table.columns)
    systems = irtkit.read_table(tmp_path / "tables" / "systems.csv")
    assert {"rank_by_accuracy", "rank_by_ability", "passes"} <= set(systems.columns)


def test_metrics_stand_beside_average_error_and_say_their_direction(
    results: Path, tmp_path: Path
) -> None:
    cells = enumerate(product("abcd", ("q1", "q2", "q3")))
    lines = [f"{who},{item},{k % 7},{k % 5}" for k, (who, item) in cells]
    path = tmp_path / "m.csv"
    path.write_text("\n".join(["model,item,s,t", *lines]))
    options = ("--metrics", path, "--higher-is-better", "t", "--model", "1PL", "--out", "tables")
    done = run("fit", results, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Higher is better for t. Lower is better for s" in " ".join(done.stdout.split())
    header = (tmp_path / "tables" / "items.csv").read_text().splitlines()[0]
    assert '"average_error","expected_error","quality_standard","n_responses"' in header
    summary = json.loads((tmp_path / "tables" / "summary.json").read_text())
    assert summary["settings"]["metrics"]["higher_is_better"] == {"s": False, "t": True}
    items = irtkit.read_table(tmp_path / "tables" / "items.csv")
    compared = run("compare", results, *options, folder=tmp_path)
    assert "Higher is better for t. Lower is better for s" in " ".join(compared.stdout.split())
    table = irtkit.read_table(tmp_path / "tables" / "difficulties.csv")
    assert table["quality_standard"].equals(items["quality_standard"])
    turned = run("fit", results, *options[:2], "--higher-is-better", "none", folder=tmp_path)
    assert "Lower is better for s, t" in " ".join(turned.stdout.split())


def test_demo_names_the_mislabelled_digit_first_and_ends_with_what_to_type(tmp_path: Path) -> None:
    done = run("demo", "--out", "my tables", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("digit-1658 is probably mislabelled. The answer key says 9")
    assert len(irtkit.read_table(tmp_path / "my tables" / "items.csv")) == 1797
    program, *typed = shlex.split(lines[-1])
    assert program == "irtkit"
    assert run(*typed, folder=tmp_path).returncode == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "nothing.csv"], "nothing.csv"),
        (["fit", "graded.csv"], "threshold"),
        (["fit", "results.csv", "--model", "5PL"], "5PL"),
        (["fit", "results.csv", "--checkpoint", "state"], "--checkpoint is for --method vi"),
        (["fit", "results.csv", "--synthetic", "class-prior"], "labels"),
        (["fit", "results.csv", "--out", "results.csv"], "not a folder"),
        (["fit", "results.csv", "--labels", "graded.csv"], "--labels"),
        (["fit", "results.csv", "--out", "taken"], "items.csv"),
        (["fit", "results.csv", "--metrics", "m.csv"], "higher_is_better= must name"),
        (["compare", "results.csv", "--higher-is-better", "t"], "-better is for --metrics"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_line(
    results: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "graded.csv").write_text("model,q1\na,0.5\nb,1\n")
    (tmp_path / "m.csv").write_text("model,item,s,t\na,q1,1,2\n")
    (tmp_path / "empty").touch()
    (tmp_path / "taken" / "items.csv").mkdir(parents=True)
    done = run(*arguments, folder=results.parent)
    assert done.returncode == 2
    assert done.stderr.startswith("irtkit: error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_help_and_version_are_there(tmp_path: Path) -> None:
    assert "fit" in run("--help", folder=tmp_path).stdout
    assert irtkit.__version__ in run("--version", folder=tmp_path).stdout


def test_what_inspect_says_to_type_fits_a_folder_of_logs(tmp_path: Path) -> None:
    for model, marks in {"a": "CIC", "b": "CCI", "c": "ICC"}.items():
        samples = [
            {"id": k, "epoch": epoch, "scores": {"match": {"value": mark}, "tone": {"value": 0.5}}}
            for k, mark in enumerate(marks)
            for epoch in (1, 2)
        ]
        header = {"version": 2, "status": "success", "eval": {"model": model, "task": "sums"}}
        (tmp_path / f"{model}.json").write_text(json.dumps(header | {"samples": samples}))
    shown = run("inspect", ".", folder=tmp_path)
    assert shown.returncode == 0
    command = shown.stdout.splitlines()[-1].split()
    assert command == ["irtkit", "fit", ".", "--metric", "match", "--repeats", "count"]
    done = run(*command[1:], folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("irtkit: 3 respondents × 3 items. Read from . (inspect")
    assert "2PL fitted to 3 respondents × 3 items" in done.stdout
    refused = run("fit", ".", folder=tmp_path)
    assert refused.returncode == 2
    assert "--metric match" in refused.stderr


def test_merge_writes_a_table_that_is_read_back(results: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("model,item,correct\ne,q1,1\n")
    done = run("merge", results, other, "--out", "all.parquet", folder=tmp_path)
    assert done.returncode == 0
    assert "irtkit: 4 respondents × 3 items. Read from " in done.stderr
    assert "irtkit: 1 respondent × 1 item. Read from " in done.stderr
    assert "5 respondents × 3 items" in done.stdout
    assert irtkit.read_responses(tmp_path / "all.parquet").respondents == tuple("abcde")
    refused = run("merge", results, results, "--out", "all.parquet", folder=tmp_path)
    assert refused.returncode == 2
    assert "--repeats count" in refused.stderr
    counted = run(
        "merge", results, results, other, "--repeats", "count", "--out", "all.csv", folder=tmp_path
    )
    assert "1.9 trials a cell" in counted.stdout
    refused = run("merge", results, "--out", "all.xls", folder=tmp_path)
    assert "the file must end in .parquet or .csv" in refused.stderr
    assert not run("merge", results, "--wide", "--out", "wide.csv", folder=tmp_path).returncode
    assert (tmp_path / "wide.csv").read_text().startswith('"respondent","q1","q2"')
    assert not run("merge", results, "--out", "all_samples.jsonl", folder=tmp_path).returncode
    assert irtkit.read_responses(tmp_path / "all_samples.jsonl").source.format == "every-eval-ever"


def test_what_steers_a_terminal_is_spelled_out_in_one_line_of_bounded_length(
    tmp_path: Path,
) -> None:
    label = "\x1b[31mred" + "x" * 200_000
    (tmp_path / "results.csv").write_text(f"model,q1,{label}\n\x1b]0;title\x07,1,maybe\nb,0,1\n")
    done = run("fit", "results.csv", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.isascii() or done.stderr.replace("…", "").isascii()
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 2100
