"""``irtkit impact`` as a user meets it: output, files, exit codes, one clear line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

import irtkit
from irtkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MANUAL = "sample,type,start,end\nclip-1,a,0,5\nclip-1,b,7,12\nclip-1,a,16,19\nclip-2,a,0,1\n"
PREDICTED = """{
    "clip-1": [{"type": "a", "start": 0, "end": 6}, {"type": "c", "start": 7, "end": 12},
               {"type": "c", "start": 16, "end": 20}, {"type": "a", "start": 20, "end": 24}],
    "clip-2": [{"type": "a", "start": 0, "end": 1}]
}"""  # the worked example, impact 2/3, and a perfect sample


class Done(NamedTuple):
    code: object
    out: str
    err: str


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """Run the command in a folder with both files, in this process."""
    (tmp_path / "manual.csv").write_text(MANUAL)
    (tmp_path / "predicted.json").write_text(PREDICTED)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["irtkit", "impact", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code, *capsys.readouterr())

    return run


FILES = ("predicted.json", "manual.csv")


def test_the_summary_has_extremes_first(run: Callable[..., Done]) -> None:
    done = run(*FILES)
    assert (done.code, done.err) == (0, "")
    assert "pooled: 0.5\n" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith("clip-")]
    assert rows == [
        ["clip-1", "0.667", "6", "9", "4", "1", "0"],
        ["clip-2", "0.000", "0", "3", "0", "0", "0"],
    ]


@pytest.mark.parametrize(("maximum", "code"), [("0.3", 1), ("0.34", 0)])
def test_the_gate_decides_the_exit_code(run: Callable[..., Done], maximum: str, code: int) -> None:
    done = run(*FILES, "--max", maximum)
    assert (done.code, done.err) == (code, "")
    assert ("mean impact 0.333333 is above --max 0.3" in done.out) is (code == 1)


def test_durations_and_weights_reach_the_cost(run: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "lengths.csv").write_text("sample,duration\nclip-1,10\nclip-2,1\n")
    costs = []
    for options in (
        (),
        ("--duration", "10"),
        ("--duration", "lengths.csv"),
        ("--weights", "0,0,0"),
    ):
        assert run(*FILES, *options, "--out", "impact.csv").code == 0
        costs.append(irtkit.read_table(tmp_path / "impact.csv")["cost"].iloc[0])
    assert costs == pytest.approx([4, 2, 2, 0])  # the worked values
    assert "fixes: 2\n" in run(*FILES, "--tolerance", "1").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.json", "manual.csv"), "nothing.json: no such file"),
        (("predicted.json", "bad.csv"), "bad.csv: row 1: end must not be before start"),
        ((*FILES, "--duration", "8s"), "--duration must be a number or a CSV file, got '8s'"),
        ((*FILES, "--duration", "lengths.csv"), "duration has no value for the sample 'clip-2'"),
        ((*FILES, "--weights", "1,1"), "--weights must be TYPE,START,END"),
        (
            (*FILES, "--out", "impact.txt"),
            "--out must be a file that ends in .csv or .tsv or .json",
        ),
        (("predicted.json",), "MANUAL"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_line(
    run: Callable[..., Done], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "bad.csv").write_text("sample,type,start,end\nclip-1,a,5,0\n")
    (tmp_path / "lengths.csv").write_text("sample,duration\nclip-1,10\n")
    done = run(*arguments)
    assert done.code == 2
    assert done.err.startswith("irtkit: error: ")
    assert done.err.count("\n") == 1
    assert said in done.err
    assert not (tmp_path / "impact.csv").exists()
