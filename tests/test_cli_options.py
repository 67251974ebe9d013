"""Help, options, tables of labels and paths: what is accepted, and the one line that refuses."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

import irtkit
from irtkit.capabilities import ASKED
from irtkit.cli.commands import cli
from irtkit.io.overview import overview
from irtkit.io.tables import read_labelled
from irtkit.responses.tables import Settings
from tests.commands import printed, refused, run, write_crowd
from tests.crowds import crowd, fitted


def sections(told):
    """Names of commands or options under each heading of a help."""
    blocks = re.findall(r"(?m)^([A-Z]\w+):\n((?:  .*\n?)+)", told)
    return {name: re.findall(r"(?m)^  (\S+)", block) for name, block in blocks}


@pytest.mark.parametrize("name", ["", *cli.commands])
def test_help_fits_80_columns_and_breaks_no_word(name, tmp_path):
    params = cli.commands.get(name, cli).params
    short = printed(f"{name} --help", tmp_path)
    has_more = any("--help-all" in param.opts for param in params)
    told = printed(f"{name} --help-all", tmp_path) if has_more else short
    assert len(sections(short).get("Reading", [])) in {0, 5}
    assert not name or short.count("\n") <= 40
    texts = " ".join(one.help or "" for one in params if isinstance(one, click.Option))
    assert {*texts.split()} <= {*told.split()}
    assert not re.search(r"…|\.\.\.(?<!\]\.\.\.)(?<!S\.\.\.)", told)
    found = sections(told)
    assert found.get("Examples")
    assert len(found["Options"]) <= 18
    if name:
        assert {*found} <= {"Options", "Reading", "Advanced", "Examples"}
    else:
        listed = [one for part in ("Read", "Items", "Systems", "Share") for one in found[part]]
        assert sorted(listed) == sorted(cli.commands)


def test_the_help_explains_options_of_reading_and_names_commands_for_words(tmp_path):
    told = printed("help reading", tmp_path)
    assert {f"--{name.replace('_', '-')}" for name in Settings.names()} - {
        "--sparse",
        "--family",
    } <= {*told.split()}
    assert printed("help audit", tmp_path) == printed("audit --help-all", tmp_path)
    assert "got 'nothing'" in refused("help nothing", tmp_path)
    for word, answer in ASKED.items():
        if word not in cli.commands:
            assert answer.command in refused(word, tmp_path)
        commands = re.findall(r"irtkit ([\w-]+)", answer.command)
        assert {*commands} <= {*cli.commands}
        for name in re.findall(r"irtkit\.(\w+)", answer.python):
            assert name in irtkit.__all__


def test_a_quiet_command_prints_its_result_alone(tmp_path):
    write_crowd(tmp_path)
    loud, quiet = (run(f"leaderboard results.csv{flag}", tmp_path) for flag in ("", " -q"))
    assert "Read from results.csv" in loud.stderr
    assert not quiet.stderr
    assert quiet.stdout == loud.stdout


REPEATED = "model,{},question_id,correct\na,0,1,1\na,5,1,0\nb,0,1,0\nb,5,1,1\n"
ANSWERS = "model,q1,q2\na,A,B\nb,C,B\n"
"""Right is A, then B."""


@pytest.mark.parametrize(("table", "option", "codes"), [
    ("model,q1,q2\na,20,90\nb,70,10\n", "--threshold 50", [[0, 1], [1, 0]]),
    ("model,q1,q2\na,100,0\nb,0,100\n", "--score-range 0,100", [[1, 0], [0, 1]]),
    ("model,q1,q2\na,good,pass\nb,pass,good\n", "--right pass --wrong good", [[0, 1], [1, 0]]),
    ("model,q1,q2\na,1,ERROR\nb,0,1\n", "--missing ERROR", [[1, -1], [0, 1]]),
    ("model,moe,q1\ngpt,1,1\nqwen,0,0\n", "--ignore moe", [[1], [0]]),
    (REPEATED.format("fewshot"), "--item fewshot,question_id", [[1, 0], [0, 1]]),
    (REPEATED.format("epoch"), "--repeats first", [[1], [0]]),
    (ANSWERS + "KEY,A,B\n", "--key KEY", [[1, 1], [0, 1]]),
])  # fmt: skip
def test_what_an_error_says_to_add_works(tmp_path, table, option, codes):
    (tmp_path / "r.csv").write_text(table)
    assert option in refused("merge r.csv --out all.csv", tmp_path)
    printed(f"merge r.csv --out all.csv {option}", tmp_path)
    read = irtkit.read_responses(tmp_path / "all.csv", format="long", repeats="last")
    assert read.values.tolist() == codes


@pytest.mark.parametrize(("content", "message"), [
    ("", "the file is empty"),
    ("model\na\n", "needs a column of labels and at least one more"),
    ("model,q1\na,1\na,2\n", "'a' occurs twice"),
    ("model,q1\n ,1\n", "row 1 lacks a label"),
    ("model,q1\na,1,2\n", "line 2 has 3 cells"),
])  # fmt: skip
def test_a_bad_table_is_refused_with_option_and_file(tmp_path, content, message):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"^--labels labels.csv: {message}"):
        read_labelled(path, "--labels")


LOG = {"version": 2, "status": "success", "eval": {"model": "a", "task": "sums"}}
SAMPLES = [{"id": k, "scores": {"match": {"value": "CI"[k % 2]}}} for k in range(4)]
STEERING = "a\x1b]0;title\x07\x1b[31m'z.csv"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder with responses, tables about them, a fit of them, logs, and what cannot be written."""
    place = tmp_path_factory.mktemp("made")
    for folder in ("runs", "logs", "o", "folder.csv", "taken/systems.csv", "fitted/items.csv"):
        (place / folder).mkdir(parents=True)
    for name in ("r.csv", "runs/r.csv", STEERING):
        write_crowd(place, file=name)
    (place / "link.csv").symlink_to("r.csv")
    (place / "loop.csv").symlink_to("loop.csv")
    os.mkfifo(place / "pipe.csv")
    responses = crowd("small").responses
    lines = {"groups.csv": responses.respondents, "labels.csv": responses.items}
    for name, labels in lines.items():
        pairs = (f"{label},{k % 2}\n" for k, label in enumerate(labels))
        (place / name).write_text("label,kind\n" + "".join(pairs))
    (place / "few.csv").write_text("model,q1,q2\na,1,0\nb,0,1\n")
    (place / "graded.csv").write_text("model,q1\na,50\nb,1\n")
    (place / "m.csv").write_text("model,item,s,t\nrespondent-1,item-1,1,2\n")
    (place / "a.json").write_text('{"clip": []}')
    (place / "logs" / "run.json").write_text(json.dumps(LOG | {"samples": SAMPLES}))
    fitted("small").save(place / "o" / "result.npz")
    (place / "o" / "summary.json").write_text("{}")
    return place


@pytest.fixture
def here(made, tmp_path):
    def copy(source, target):
        if Path(source).is_file():
            shutil.copy(source, target, follow_symlinks=False)

    folder = tmp_path / "here"
    shutil.copytree(made, folder, symlinks=True, copy_function=copy)
    os.mkfifo(folder / "pipe.csv")
    return folder


REFUSED = {
    # what is read is not written over
    "audit r.csv --out ../here/r.csv": "is a file to read from",
    "audit r.csv --out link.csv": "is a file to read from",
    "audit logs --metric match --out logs/run.json": "is a file to read from",
    "differential r.csv --groups groups.csv --out groups.csv": "is a file to read from",
    "audit o --out o/summary.json": "summary.json: is a file of the fit in ",
    # nor what would be read with the responses the next time
    "fit runs --out runs": "Write elsewhere",
    "merge 'runs/*.csv' --out runs/all.csv": "Write elsewhere",
    # what cannot be written is refused before anything is fitted
    "audit r.csv --out loop.csv": "it is not an ordinary file",
    "audit r.csv --out pipe.csv": "it is not an ordinary file",
    "audit r.csv --out folder.csv": "it is a folder",
    "audit r.csv --out nowhere/a.csv": "nowhere does not exist",
    "report r.csv --out /proc/page.html": "cannot be written",
    "fit r.csv --out r.csv": "not a folder",
    "compare r.csv --out taken": "systems.csv: cannot be written, it is a folder",
    # an empty path, as an unset variable of the shell is
    "fit ''": "'RESPONSES'",
    "merge r.csv '' --out all.csv": "'PATHS...'",
    "fit r.csv --out ''": "'--out'",
    # settings that are wrong or do not go together
    "fit nothing.csv": "nothing.csv",
    "fit graded.csv": "--score-range 0,100",
    "fit r.csv --score-range 0,1 --score-range q=0,9": "names an item each time",
    "fit r.csv --model 5PL": "5PL",
    "fit r.csv --item nothing": "r.csv: --item names 'nothing'",
    "fit r.csv --drop nobody": "--drop names 'nobody'",
    "differential r.csv --groups lab": "Give a table with the group of each system",
    "leaderboard o --drop at-chance": "Give the responses instead",
    "differential few.csv --groups lab": "irtkit differential is not for fewer than 20 systems",
    "drift few.csv few.csv": "irtkit gate OLD NEW",
    "merge r.csv --metric match --out all.csv": "--metric is for evaluation logs",
    "fit r.csv --chance 0.2": "--chance is for --model 3PL with --prior weak",
    "fit r.csv --synthetic class-prior": "labels",
    "fit r.csv --metrics m.csv": "--higher-is-better must name",
    "compare r.csv --higher-is-better t": "--higher-is-better is for --metrics",
    "gate r.csv r.csv --max-drop 2": "--max-drop must be at least 0 and below 1",
    "merge r.csv --repeats some --out all.csv": "--repeats must",
    "select r.csv -k 0": "'-k'",
    "leaderboard r.csv --clusters nowhere.csv": "--clusters nowhere.csv: no such file",
    "leaderboard r.csv --families r.csv": "needs two columns, of labels and families",
    "fit r.csv runs/r.csv": "Quote a pattern",
    "gate r.csv a b": "compared by irtkit compare-systems",
    "compare r.csv one two": "irtkit compare-systems for systems",
    "compare-systems r.csv respondent-1": "two systems or more, or none",
    "select r.csv -n 20": "irtkit select has -k, --families",
    "select r.csv --kfolds 2": "did you mean '--folds'?",
}


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_wrong_ends_with_code_2_and_one_line_before_any_fit(here, typed, monkeypatch):
    if "/proc" in typed and not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    monkeypatch.setattr("irtkit.calibration.estimation.fitted", None)  # a fit would be a TypeError
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert REFUSED[typed] in refused(typed, here)
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_logs_and_tables_that_are_merged_take_their_own_options(here):
    printed("merge logs r.csv --metric match --keep 'item-*' --out all.csv", here)
    assert irtkit.read_responses(here / "all.csv").n_respondents == 61


def test_a_file_next_to_the_input_may_be_written_again(here):
    for _ in range(2):
        printed("audit o --out o/suspects.csv", here)
        printed("compare o --folds 0 --out o", here)
    (here / "logs" / "suspects.csv").touch()  # as of an earlier audit
    told = run("audit logs --metric match --out logs/suspects.csv", here).stderr
    assert re.search("skipped 1 table.*suspects.csv", " ".join(told.split()))
    assert irtkit.load(here / "o" / "result.npz").model == "2PL"


@pytest.mark.parametrize(
    "typed",
    ["inspect NAME", "fit NAME --out NAME.d", "report NAME", "gate NAME NAME --summary N.md"],
)
def test_names_of_files_steer_no_terminal(here, typed):
    done = run(typed.replace("NAME", shlex.quote(STEERING)), here)
    assert "\\x1b]0;title\\x07\\x1b[31m" in done.stdout + done.stderr
    assert not {"\x1b", "\x07"} & {*done.stdout, *done.stderr}


@pytest.mark.parametrize("name", [STEERING, "it's 2.csv", "b\udcffe.csv"])
def test_what_inspect_says_to_type_names_the_file(here, name, monkeypatch):
    """As Bash takes it, where there is one."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("there is no bash")
    monkeypatch.chdir(here)
    Path(name).write_bytes(Path("r.csv").read_bytes())
    typed = overview(name).command.replace("irtkit fit", "printf %s", 1)
    found = subprocess.run([bash, "-c", typed], capture_output=True, check=True).stdout
    assert found == os.fsencode(name)
