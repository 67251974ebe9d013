"""The commands as a user meets them: what they print, write and exit with."""

import json
import os
import re
import shlex
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import irtkit
from tests.commands import printed, refused, run, write_crowd
from tests.crowds import crowd

WIDE = "model,q1,q2,q3\na,1,0,1\nb,1,1,1\nc,0,0,1\nd,0,1,0\n"


@pytest.fixture
def here(tmp_path):
    """Folder with a table of three items and one of twenty."""
    (tmp_path / "few.csv").write_text(WIDE)
    write_crowd(tmp_path)
    return tmp_path


def test_fit_prints_a_summary_and_writes_its_files(here):
    done = run("fit few.csv --model 1PL --out tables", here)
    told = "irtkit: 4 systems × 3 items. Read from few.csv (wide table).\n"
    assert (done.returncode, done.stderr) == (0, told)
    assert "1PL fitted to 4 systems × 3 items" in done.stdout
    written = sorted(path.name for path in (here / "tables").iterdir())
    assert written == ["items.csv", "respondents.csv", "result.npz", "summary.json"]
    items = irtkit.read_table(here / "tables" / "items.csv")
    assert items["average_error"].to_dict() == {"q1": 0.5, "q2": 0.5, "q3": 0.25}
    summary = json.loads((here / "tables" / "summary.json").read_text())
    assert {"model", "method", "settings", "converged", "log_likelihood", "aic"} <= {*summary}
    assert summary["counts"]["responses"] == 12
    assert {"irtkit", "numpy", "jax", "python"} <= set(summary["versions"])


def test_synthetic_respondents_and_a_chance_level_are_options_of_fit(here):
    (here / "labels.csv").write_text("item,label\nq1,cat\nq2,dog\nq3,cat\n")
    kinds = "--synthetic always-right,class-prior --labels labels.csv --draws 2"
    printed(f"fit few.csv {kinds} --model 1PL --out tables", here)
    table = irtkit.read_table(here / "tables" / "respondents.csv")
    added = list(table.index[table["synthetic"]])
    assert added == ["always-right", "class-prior-1", "class-prior-2"]
    printed("fit results.csv --model 3PL --chance 0.25 --no-standard-errors --out tables", here)
    summary = json.loads((here / "tables" / "summary.json").read_text())
    assert summary["settings"]["prior"]["chance"] == 0.25


def test_items_are_selected_and_scored_from_responses_and_from_a_saved_result(here):
    printed("fit results.csv --out tables", here)
    of_result = printed("select tables -k 8 --out items.csv", here)
    assert printed("select results.csv -k 8", here) in of_result
    table = irtkit.read_table(here / "items.csv")
    assert table["rank"].tolist() == list(range(1, 9))
    result = irtkit.load(here / "tables" / "result.npz")
    assert tuple(table.index) == irtkit.select_items(result, 8).items
    assert run("select tables -k 31", here).returncode == 2
    crowd("small").responses.to_frame()[list(table.index)].head(3).to_csv(here / "new.csv")
    printed("select tables -k 8 --out few.npz", here)
    assert "accuracy" not in printed("score new.csv few.npz", here)
    done = run("score new.csv items.csv", here)
    assert "8 items selected from 20" in " ".join(done.stderr.split())
    assert "expected" not in done.stdout


def test_metrics_are_printed_with_their_direction(here):
    cells = enumerate(product("abcd", ("q1", "q2", "q3")))
    lines = [f"{who},{item},{k % 7},{k % 5}" for k, (who, item) in cells]
    (here / "m.csv").write_text("\n".join(["model,item,s,t", *lines]))
    given = "few.csv --metrics m.csv --model 1PL --out tables --higher-is-better"
    for command in ("fit", "compare"):
        told = " ".join(printed(f"{command} {given} t", here).split())
        assert "Higher is better for t. Lower is better for s" in told
    tables = (
        irtkit.read_table(here / "tables" / f"{name}.csv") for name in ("items", "difficulties")
    )
    columns = [table["quality_standard"] for table in tables]
    assert columns[0].equals(columns[1])
    printed(f"fit {given} none", here)
    summary = json.loads((here / "tables" / "summary.json").read_text())
    assert summary["settings"]["metrics"]["higher_is_better"] == {"s": False, "t": False}


@pytest.mark.slow
def test_the_commands_of_the_readme_run_on_what_the_demo_writes(tmp_path):
    first, *_, last = printed("demo", tmp_path).splitlines()
    assert first.startswith("digit-1553 is probably mislabelled. The answer key says 8")
    assert shlex.split(last)[-2:] == ["report", "irtkit-demo"]
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"(?m)^irtkit (\w+ irtkit-demo\S*)", readme)
    told = {command: printed(command, tmp_path) for command in commands}
    assert len(told) == 5
    assert len(irtkit.read_table(tmp_path / "irtkit-demo" / "items.csv")) == 1797
    assert "digit-1553" in told["audit irtkit-demo"]
    assert (tmp_path / "irtkit-demo.html").exists()


def test_what_inspect_says_to_type_fits_a_folder_of_logs(tmp_path):
    for model, marks in {"a": "CIC", "b": "CCI", "c": "ICC"}.items():
        samples = [
            {"id": k, "epoch": epoch, "scores": {"match": {"value": mark}, "tone": {"value": 0.5}}}
            for k, mark in enumerate(marks)
            for epoch in (1, 2)
        ]
        header = {"version": 2, "status": "success", "eval": {"model": model, "task": "sums"}}
        (tmp_path / f"{model}.json").write_text(json.dumps(header | {"samples": samples}))
    typed = printed("inspect .", tmp_path).splitlines()[-1].strip()
    assert typed == "irtkit fit . --metric match --repeats count"
    done = run(typed.removeprefix("irtkit "), tmp_path)
    assert done.stderr.startswith("irtkit: 3 systems × 3 items. Read from . (inspect")
    assert "--metric match" in refused("fit .", tmp_path)


def test_merge_writes_a_table_that_is_read_back(here):
    (here / "other.csv").write_text("model,item,correct\ne,q1,1\n")
    assert "5 systems × 3 items" in printed("merge few.csv other.csv --out a.parquet", here)
    assert irtkit.read_responses(here / "a.parquet").respondents == tuple("abcde")
    assert "--repeats count" in run("merge few.csv few.csv --out a.csv", here).stderr
    printed("merge few.csv few.csv other.csv --repeats count --out a.csv", here)
    assert "the file must end in .parquet or .csv" in refused("merge few.csv --out a.xls", here)
    printed("merge few.csv --wide --out wide.csv", here)
    assert (here / "wide.csv").read_text().startswith('"respondent","q1","q2"')


def test_levels_are_no_trials_on_a_board_and_in_a_comparison(here):
    rows = [[1 + (3 * j + k) % 5 for j in range(4)] for k in range(12)]
    frame = pd.DataFrame(rows, [f"s{k}" for k in range(12)], [*"abcd"])
    frame.to_csv(here / "levels.csv", index_label="model")
    assert "pass^" not in printed("leaderboard levels.csv --model GPCM", here)
    assert "pass^" not in printed("leaderboard levels.csv --levels --model 2PL", here)
    found = printed("compare levels.csv --model GPCM --out compared", here)
    assert "GPCM " not in found.split("predicted:")[1]
    (frame - 1).to_csv(here / "from0.csv", index_label="model")
    assert "Levels taken" in printed("fit from0.csv", here)
    assert "irtkit fit from0.csv" in printed("inspect from0.csv", here)


def test_a_leaderboard_is_printed_and_written(here):
    names = crowd("small").responses.respondents
    families = "".join(f"{name},{'ab'[k % 2]}\n" for k, name in enumerate(names))
    (here / "families.csv").write_text(f"respondent,family\n{families}")
    line = "leaderboard results.csv --keep *-* --families families.csv --top 5 --out board.csv"
    shown = run(line, here).stdout
    assert "best of each family" in shown
    following = shown.rpartition("next: irtkit ")[2].partition("\n\n")[0]
    assert "95% interval" in printed(following, here)
    board = irtkit.read_table(here / "board.csv")
    assert board["rank"].is_monotonic_increasing
    assert set(board["family"]) == {"a", "b"}
    given_these = printed("leaderboard results.csv --of these --out these.csv", here)
    assert "by ability, given these items" in " ".join(given_these.split())
    assert irtkit.read_table(here / "these.csv")["ability"].is_monotonic_decreasing


def test_a_gate_exits_with_1_if_it_fails_and_3_if_inconclusive(tmp_path):
    for name, right in (("old.csv", 160), ("new.csv", 120), ("near.csv", 159)):
        rows = "".join(f"m,q{k},{int(k < right)}\n" for k in range(200))
        (tmp_path / name).write_text(f"model,item,correct\n{rows}")
    line = "gate old.csv new.csv --max-drop 0.01 --summary s.md"
    printed(line, tmp_path, code=1)
    assert (tmp_path / "s.md").read_text().startswith("## Gate failed")
    printed("gate old.csv old.csv", tmp_path)
    for more, code in (("", 3), ("--allow-inconclusive", 0)):
        printed(f"gate old.csv near.csv {more}", tmp_path, code=code)


def test_suspect_items_end_with_code_1_on_demand(tmp_path):
    write_crowd(tmp_path, "inverted")
    printed("audit results.csv --fail-on negative --out found.csv", tmp_path, code=1)
    found = irtkit.read_table(tmp_path / "found.csv")
    assert "negative discrimination" in found["reasons"].iloc[0]
    given = "--prior none --extreme-difficulty 9 --top 1"
    assert "item-" in printed(f"audit results.csv {given}", tmp_path)


def test_a_saved_fit_gives_the_same_text_and_page_as_its_responses(here):
    printed("fit results.csv --out tables", here)
    for name in ("leaderboard", "audit"):
        fresh, saved = (printed(f"{name} {path}", here) for path in ("results.csv", "tables"))
        assert fresh.replace("results.csv", "tables") == saved
    for given in ("results.csv", "tables"):
        printed(f"report {given} --title A", here)
    assert (here / "results.html").read_bytes() == (here / "tables.html").read_bytes()
    for line in ("leaderboard tables", "select tables -k 5"):
        told = refused(f"{line} --model 2PL --wrong no", here)
        assert "--model, --wrong: tables holds a result" in told
        printed(f"{line} --seed 1", here)


def test_a_page_is_written_next_to_its_input_and_over_nothing(here):
    responses = crowd("small").responses
    answers = np.where(responses.values == 1, "A", "B")
    pd.DataFrame(answers, responses.respondents, responses.items).to_csv(here / "answers.csv")
    predicted = pd.Series(np.linspace(-2, 2, 20), responses.items, name="predicted")
    predicted.to_csv(here / "hard.csv")
    given = "--predictions answers.csv --difficulties hard.csv --compare --title Spring"
    assert printed(f"report results.csv {given}", here) == "wrote results.html\n"
    text = (here / "results.html").read_text(encoding="utf-8")
    for words in ("<h1>Spring</h1>", "Predicted difficulty", "Measures of difficulty compared"):
        assert words in text
    told = refused("report results.csv", here)
    assert "results.html exists already. Name it to replace it (--out" in told
    assert (here / "results.html").read_text(encoding="utf-8") == text
    os.utime(here / "results.csv", (0, 0))
    printed("report results.csv --out results.html", here)
    assert "<li>1970-01-01</li>" in (here / "results.html").read_text(encoding="utf-8")
    printed("report results.csv --out results.html --date Monday", here)
    assert "<li>Monday</li>" in (here / "results.html").read_text(encoding="utf-8")
    (here / "runs").mkdir()
    write_crowd(here / "runs")
    assert printed("report runs/", here) == "wrote runs.html\n"
    assert "Name the page (--out" in refused("report 'r*.csv'", here)
    assert "ends in .html or .htm" in refused("report results.csv --out page.pdf", here)


MANUAL = "sample,type,start,end\nclip-1,a,0,5\nclip-1,b,7,12\nclip-1,a,16,19\nclip-2,a,0,1\n"
PREDICTED = """{
    "clip-1": [{"type": "a", "start": 0, "end": 6}, {"type": "c", "start": 7, "end": 12},
               {"type": "c", "start": 16, "end": 20}, {"type": "a", "start": 20, "end": 24}],
    "clip-2": [{"type": "a", "start": 0, "end": 1}]
}"""  # the worked example, impact 2/3, and a perfect sample


def test_the_impact_of_annotations_agrees_with_the_worked_example(tmp_path):
    (tmp_path / "m.csv").write_text(MANUAL)
    (tmp_path / "p.json").write_text(PREDICTED)
    (tmp_path / "bad.csv").write_text("sample,type,start,end\nclip-1,a,5,0\n")
    told = printed("impact p.json m.csv --max 0.34", tmp_path)
    rows = [line.split() for line in told.splitlines() if line.startswith("clip-")]
    assert rows == [
        ["clip-1", "0.667", "6", "9", "4", "1", "0"],
        ["clip-2", "0.000", "0", "3", "0", "0", "0"],
    ]
    printed("impact p.json m.csv --max 0.3", tmp_path, code=1)
    printed("impact p.json m.csv --duration 10 --out impact.csv", tmp_path)
    assert irtkit.read_table(tmp_path / "impact.csv")["cost"].iloc[0] == pytest.approx(2)
    for line, told in {
        "impact p.json bad.csv": "bad.csv: row 0: sample, type, start and end must be",
        "impact p.json m.csv --weights 1,1": "--weights must be TYPE,START,END",
    }.items():
        assert told in refused(line, tmp_path)
