"""No command writes over what it reads, and an empty path is none."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import pytest

import irtkit
from irtkit.cli.commands import cli
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from pathlib import Path

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
    "audit r.csv --families groups.csv --out groups.csv": "is a file to read from",
    "audit logs --metric match --out logs/run.json": "is a file to read from",
    "differential r.csv --groups groups.csv --out groups.csv": "is a file to read from",
    "fit r.csv --fixed o --out o": "result.npz is a file to read from",
    "impact a.json a.json --out a.json": "is a file to read from",
    "leaderboard o --clusters labels.csv --out labels.csv": "is a file to read from",
    "score r.csv labels.csv --out labels.csv": "is a file to read from",
    "audit o --out o/items.csv": "items.csv: is a file of the fit in ",
    "select o -k 4 --out o/result.npz": "is a file of the fit in ",
    "fit runs --out runs": "write outside of runs",
    "fit runs/ --out runs/deep/er": "write outside of runs",
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
    "fit r.csv --out ''": "'--out'",
    "fit r.csv --fixed ''": "'--fixed'",
    "audit r.csv --predictions ''": "'--predictions'",
    "score r.csv ''": "'ITEMS'",
    "audit r.csv --families ''": "'--families'",
    "fit r.csv --metrics ''": "'--metrics'",
}


@pytest.mark.parametrize("typed", EMPTY)
def test_an_empty_path_of_a_command_is_refused_by_name(here: Path, typed: str) -> None:
    before = contents(here)
    with pytest.raises(click.BadParameter, match="the path is empty") as refused:
        run(*shlex.split(typed))
    assert contents(here) == before
    assert EMPTY[typed] in refused.value.format_message()


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
