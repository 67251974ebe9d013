"""Every command runs under any settings of pandas and NumPy; bad targets are refused first."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import irtkit
from irtkit.cli.commands import cli, main

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

TYPED = (
    "inspect results.csv",
    "fit results.csv --out tables",
    "audit results.csv --out suspects.csv",
    "compare results.csv --folds 2 --out compared",
    "leaderboard tables --out board.csv",
    "compare-systems results.csv",
    "gate results.csv new.csv --max-drop 0.2 --summary gate.md",
    "score new.csv tables --out scores.csv",
    "select tables -k 5 --out chosen.csv",
    "merge results.csv new.csv --repeats first --out all.csv",
    "differential results.csv --groups families.csv",
    "report results.csv --families families.csv --out page.html",
    "impact spoken.json written.json",
)
OF_PANDAS = ("mode.copy_on_write", True, "future.infer_string", False)
SETTINGS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "pandas": lambda: pd.option_context(*OF_PANDAS),
    "NumPy": lambda: np.errstate(all="raise"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder, with the files that are named above."""
    items = irtkit.ItemParameters.from_difficulty(
        np.r_[np.full(56, 1.5), -1.5, -1, 0, 0], np.linspace(-2, 2, 60)
    )
    for name, seed in (("results", 1), ("new", 2)):
        responses = irtkit.simulate_responses(items, np.linspace(-3, 3, 40), seed=seed)
        responses.to_frame().to_csv(tmp_path / f"{name}.csv")
    families = "".join(f"{name},{k % 2}\n" for k, name in enumerate(responses.respondents))
    (tmp_path / "families.csv").write_text("respondent,family\n" + families)
    for name in ("spoken", "written"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"clip": []}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")  # pandas 3 warns that its options go
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.usefixtures("here")
def test_every_command_runs_under_settings_of_others(setting: str) -> None:
    assert {line.split()[0] for line in TYPED} == {*cli.commands} - {"demo"}  # a fit and an audit
    for line in TYPED:
        with SETTINGS[setting]():
            done = CliRunner().invoke(cli, line.split())
        assert done.exit_code == 0, (line, done.output, done.exception)


UNWRITABLE = {
    "audit results.csv --out loop.csv": "it is not an ordinary file",
    "audit results.csv --out pipe.csv": "it is not an ordinary file",
    "audit results.csv --out folder.csv": "it is a folder",
    "audit results.csv --out nowhere/a.csv": "nowhere does not exist",
    "report results.csv --out /proc/page.html": "cannot be written",
    "score new.csv nothing --out loop.csv": "it is not an ordinary file",
    "fit results.csv --out loop.csv": "loop.csv: exists and is not a folder",
    "fit results.csv --out loop.csv/tables": "symbolic links",
    "compare results.csv --out taken": "systems.csv: cannot be written, it is a folder",
    "fit results.csv --out /proc/tables": "/proc/tables",
}


@pytest.mark.parametrize("typed", UNWRITABLE)
def test_what_cannot_be_written_is_refused_before_anything_is_fitted(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    if "/proc" in typed and not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    (here / "loop.csv").symlink_to("loop.csv")
    os.mkfifo("pipe.csv")
    (here / "folder.csv").mkdir()
    (here / "taken" / "systems.csv").mkdir(parents=True)
    before = sorted(here.rglob("*"))
    monkeypatch.setattr("irtkit.cli.fitting.fit", None)  # were it called, this would be a TypeError
    monkeypatch.setattr(sys, "argv", ["irtkit", *typed.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (2, 1)
    assert UNWRITABLE[typed] in told
    assert told.startswith("irtkit: error: --out ") or typed.startswith(("fit", "compare"))
    assert sorted(here.rglob("*")) == before
