"""No command writes over what it reads, and an empty path is none."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pytest

import irtkit
from irtkit.cli.commands import cli
from irtkit.cli.inputs import read_labelled
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = {"version": 2, "status": "success", "eval": {"model": "a", "task": "sums"}}
SAMPLES = [{"id": k, "scores": {"match": {"value": "CI"[k % 2]}}} for k in range(4)]
STEERING = "a\x1b]0;title\x07\x1b[31m'z.csv"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with responses, tables about them, a fit of them and logs."""
    place = tmp_path_factory.mktemp("made")
    responses = irtkit.ResponseMatrix(np.random.default_rng(0).integers(0, 2, (30, 12)))
    table = responses.to_frame().to_csv(lineterminator="\n")
    for name in ("r.csv", "runs/r.csv", STEERING):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(table)
    (place / "link.csv").symlink_to("r.csv")
    lines = {"groups.csv": responses.respondents, "labels.csv": responses.items}
    for name, labels in lines.items():
        pairs = (f"{label},{k % 2}\n" for k, label in enumerate(labels))
        (place / name).write_text("label,kind\n" + "".join(pairs))
    (place / "m.csv").write_text("model,item,seconds\nrespondent-1,item-1,2\n")
    (place / "a.json").write_text('{"clip": []}')
    (place / "logs").mkdir()
    (place / "logs" / "run.json").write_text(json.dumps(LOG | {"samples": SAMPLES}))
    cli.main(["fit", str(place / "r.csv"), "--out", str(place / "o")], standalone_mode=False)
    return place


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(*arguments: str) -> Any:
    return cli.main(list(arguments), standalone_mode=False)


READ = {
    "audit r.csv --out ../here/r.csv": "is a file to read from",
    "audit link.csv --out r.csv": "is a file to read from",
    "audit r.csv --out link.csv": "is a file to read from",
    "audit r.csv --predictions runs/r.csv --out runs/r.csv": "is a file to read from",
    "audit r.csv --synthetic class-prior --labels labels.csv --out labels.csv": "to read from",
    "audit r.csv --families groups.csv --out groups.csv": "is a file to read from",
    "audit logs --metric match --out logs/run.json": "is a file to read from",
    "differential r.csv --groups groups.csv --out groups.csv": "is a file to read from",
    "fit r.csv --fixed o --out o": "result.npz is a file to read from",
    "impact a.json a.json --out a.json": "is a file to read from",
    "leaderboard o --clusters labels.csv --out labels.csv": "is a file to read from",
    "leaderboard o --families groups.csv --out groups.csv": "is a file to read from",
    "merge runs/r.csv --out runs/r.csv": "is a file to read from",
    "score r.csv o --out r.csv": "is a file to read from",
    "score r.csv labels.csv --out labels.csv": "is a file to read from",
    "audit o --out o/items.csv": "items.csv: is a file of the fit in ",
    "leaderboard o --out o/summary.json": "is a file of the fit in ",
    "score r.csv o --out o/respondents.csv": "is a file of the fit in ",
    "select o -k 4 --out o/result.npz": "is a file of the fit in ",
    "fit runs --out runs": "write outside of runs",
    "fit runs/ --out runs/deep/er": "write outside of runs",
    "audit runs --out runs/suspects.csv": "write outside of runs",
    "merge runs --out runs/all.csv": "write outside of runs",
}


@pytest.mark.parametrize("typed", READ)
def test_what_is_read_is_not_written_over(here: Path, typed: str) -> None:
    before = contents(here)
    with pytest.raises(ValueError, match=READ[typed]):
        run(*typed.split())
    assert contents(here) == before


def test_a_file_beside_those_that_are_read_may_be_written_again(here: Path) -> None:
    for _ in range(2):
        run("audit", "o", "--out", "o/suspects.csv")
        run("compare", "o", "--folds", "0", "--out", "o")
        run("audit", "runs", "--out", "runs/.suspects.csv")
    (here / "logs" / "suspects.csv").touch()  # as of an earlier audit
    with pytest.warns(UserWarning, match="skipped 1 table.*suspects.csv"):
        run("audit", "logs", "--metric", "match", "--out", "logs/suspects.csv")
    assert irtkit.load(here / "o" / "result.npz").model == "2PL"


EMPTY = {
    "fit ''": "'RESPONSES'",
    "inspect ''": "'PATH'",
    "merge r.csv '' --out all.csv": "'PATHS...'",
    "gate '' r.csv": "'OLD'",
    "gate r.csv r.csv --summary ''": "'--summary'",
    "fit r.csv --out ''": "'--out'",
    "fit r.csv --fixed ''": "'--fixed'",
    "fit r.csv --method vi --checkpoint ''": "'--checkpoint'",
    "fit r.csv --labels ''": "'--labels'",
    "audit r.csv --out ''": "'--out'",
    "audit r.csv --predictions ''": "'--predictions'",
    "impact a.json ''": "'MANUAL'",
    "leaderboard r.csv --families ''": "'--families'",
    "score r.csv ''": "'ITEMS'",
    "audit r.csv --families ''": "'--families'",
    "differential r.csv --groups ''": "'--groups'",
    "fit r.csv --metrics ''": "'--metrics'",
    "gate r.csv r.csv --clusters ''": "'--clusters'",
}


@pytest.mark.parametrize("typed", EMPTY)
def test_an_empty_path_of_a_command_is_refused_by_name(here: Path, typed: str) -> None:
    before = contents(here)
    with pytest.raises(click.BadParameter, match="the path is empty") as refused:
        run(*shlex.split(typed))
    assert contents(here) == before
    assert EMPTY[typed] in refused.value.format_message()


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("path", irtkit.read_responses),
        ("path", lambda path: irtkit.read_responses([path, "r.csv"])),
        ("path", irtkit.read_table),
        ("path", irtkit.load),
        ("path", overview),
        ("path", lambda path: irtkit.write_table(irtkit.read_table("o/items.csv"), path)),
        ("path", lambda path: irtkit.write_responses(irtkit.ResponseMatrix([[1]]), path)),
        ("path", lambda path: irtkit.load("o/result.npz").save(path)),
        ("path", lambda path: irtkit.report(irtkit.load("o/result.npz"), path)),
        ("items", lambda path: irtkit.score([[1, 0]], path)),
        ("fixed", lambda path: irtkit.fit([[1, 0]], fixed=path)),
        ("checkpoint", lambda path: irtkit.Variational(checkpoint=path)),
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    here: Path, name: str, use: Callable[[str], Any]
) -> None:
    before = contents(here)
    with pytest.raises(ValueError, match=f"{name} must not be empty"):
        use("")
    assert contents(here) == before


@pytest.mark.parametrize(
    "typed",
    [
        "inspect NAME",
        "audit NAME --out NAME.json",
        "fit NAME --out NAME.d",
        "merge NAME --out NAME.csv",
        "report NAME --out NAME.html",
        "select o -k 3 --out NAME.csv",
        "gate NAME NAME --summary NAME.md",
    ],
)
def test_names_of_files_steer_no_terminal(
    here: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, typed: str
) -> None:
    assert (here / STEERING).exists()
    with caplog.at_level("INFO", "irtkit"):
        run(*(word.replace("NAME", STEERING) for word in typed.split()))
    told = capsys.readouterr()
    said = told.out + told.err + "".join(map(str, caplog.messages))
    assert "\\x1b]0;title\\x07\\x1b[31m" in said
    assert not {"\x1b", "\x07"} & {*said}


@pytest.mark.parametrize("name", [STEERING, "it's 2.csv", "b\udcffe.csv"])
def test_what_inspect_says_to_type_names_the_file(here: Path, name: str) -> None:
    """As Bash takes it, where there is one."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("there is no bash")
    (here / name).write_bytes((here / "r.csv").read_bytes())
    typed = overview(name).command.replace("irtkit fit", "printf %s", 1)
    found = subprocess.run([bash, "-c", typed], capture_output=True, check=True).stdout
    assert found == os.fsencode(name)


def test_a_table_that_cannot_be_read_is_called_what_it_is(here: Path) -> None:
    os.mkfifo("pipe")
    for name, said in (("pipe", "is not an ordinary file"), ("o", "is a folder, not a file")):
        with pytest.raises(OSError, match=f"^--labels {name}: {said}"):
            read_labelled(Path(name), "--labels")
    for typed in ("differential r.csv --groups pipe", "leaderboard o --clusters pipe"):
        with pytest.raises(OSError, match="pipe: is not an ordinary file"):
            run(*typed.split())
    with pytest.raises(OSError, match="pipe: is not an ordinary file"):
        run("fit", "r.csv", "--metrics", str(here / "pipe"))


def test_a_pattern_and_a_folder_of_logs_take_no_output_that_would_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("p0", "p1"):
        Path(f"{name}.csv").write_text(f"model,q1,q2\n{name}a,1,0\n{name}b,0,1\n")
    samples = [{"id": "q1", "epoch": 1, "scores": {"match": {"value": "C"}}}]
    log = {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}}
    Path("logs").mkdir()
    Path("logs/one.json").write_text(json.dumps(log | {"samples": samples}))
    for typed in ("audit *.csv --out s.csv", "fit *.csv --out .", "fit logs --out logs"):
        with pytest.raises(ValueError, match="the next time this would be read with"):
            run(*typed.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "p0.csv", "p1.csv"]


def test_the_folder_of_a_fit_is_read_as_what_it_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repr(irtkit.load("o")) == repr(irtkit.load(here / "o" / "result.npz"))
    run("inspect", "o")
    assert "a saved fit, which audit, compare, leaderboard and report take" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.filterwarnings("ignore")
def test_a_page_of_the_current_folder_is_called_as_the_folder(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    shutil.copy(made / "r.csv", folder)
    monkeypatch.chdir(folder)
    run("report", ".", "--out", "../page.html")
    assert "<title>my runs</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
