"""Tables of labels beside the responses: --labels, --families, --predictions."""

from __future__ import annotations

import gzip
import json
import shlex
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from irtkit import read_responses
from irtkit.cli.commands import cli
from irtkit.cli.inputs import how_to_read, read_families, read_labelled, reading_only
from irtkit.cli.process import _text_of
from irtkit.findings import Finding, IRTWarning, ReadingError, Remedy

if TYPE_CHECKING:
    from pathlib import Path

TABLE = 'model,q1,q2\n007,"1",NA\nNA,,b\n'


@pytest.mark.parametrize(
    "content",
    [TABLE, TABLE.replace(",", ";"), "\ufeff" + TABLE.replace("\n", "\r\n") + "\r\n"],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_labels_and_cells_stay_as_they_are_written(
    tmp_path: Path, content: str, compress: type[bytes]
) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(compress(content.encode()))
    table = read_labelled(path, "--predictions")
    assert table.to_dict("index") == {"007": {"q1": "1", "q2": "NA"}, "NA": {"q1": None, "q2": "b"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("model\na\n", "needs a column of labels and at least one more"),
        ("model,q1\na,1\na,2\n", "'a' occurs twice"),
        ("model,q1\n ,1\n", "row 1 has no label"),
        ("model,q1\na,1,2\n", "line 2 has 3 cells"),
        ('model,q1\na,"1\n', "line 2: unexpected end of data"),
    ],
)
def test_a_bad_table_is_refused_with_option_and_file(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"^--labels labels.csv: {message}"):
        read_labelled(path, "--labels")


def test_families_are_a_word_or_a_table_of_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "families.csv"
    path.write_text("model,family\na,x\nb,x\n")
    families = read_families(str(path))
    assert families is not None
    assert dict(families) == {"a": "x", "b": "x"}
    assert read_families("similar") == "similar"
    assert read_families(None) is None
    path.write_text(TABLE)
    with pytest.raises(ValueError, match="needs two columns, the respondent and its family"):
        read_families(str(path))
    with pytest.raises(FileNotFoundError, match="--families simlar: no such file"):
        read_families("simlar")


@click.command()
@reading_only
def settings(**options: Any) -> dict[str, Any]:
    return how_to_read(options)


@pytest.mark.parametrize(
    ("typed", "how"),
    [
        ("", {}),
        ("--item task,id --respondent model", {"item": ["task", "id"], "respondent": "model"}),
        ("--task gsm8k,arc --task mmlu", {"task": ["gsm8k", "arc", "mmlu"]}),
        ("--missing -1,refused --right C", {"missing": ["-1", "refused"], "right": ["C"]}),
        ("--transpose --strict", {"transpose": True, "strict": True}),
    ],
)
def test_options_are_settings_of_read_responses(typed: str, how: dict[str, Any]) -> None:
    assert settings.main(typed.split(), standalone_mode=False) == how


def test_findings_are_shown_with_options() -> None:
    values = {"respondent": "a", "item": "q", "value": 9}
    finding = Finding("scores", "error", values, (Remedy({"threshold": 5}, "threshold"),))
    for problem in (ReadingError(finding, "runs.csv"), IRTWarning(finding)):
        assert "--threshold 5 to mark" in _text_of(problem)
    assert _text_of(MemoryError()) == "there is not enough memory"


REPEATED = "model,{},question_id,correct\na,0,1,1\na,5,1,0\nb,0,1,0\nb,5,1,1\n"
ANSWERS = "model,q1,q2\na,A,B\nb,C,B\n"
"""Right is A, then B."""


def merged(folder: Path, table: str, *options: str) -> list[list[int]]:
    """Codes that `irtkit merge` reads with the options; an error says what to add."""
    (folder / "r.csv").write_text(table)
    out = str(folder / "all.csv")
    done = CliRunner().invoke(cli, ["merge", str(folder / "r.csv"), *options, "--out", out])
    if done.exception is not None:
        raise done.exception
    return read_responses(out, format="long", repeats="last").values.tolist()


@pytest.mark.parametrize(
    ("table", "option", "codes"),
    [
        ("model,q1,q2\na,0.2,0.9\nb,0.7,0.1\n", "--threshold 0.5", [[0, 1], [1, 0]]),
        ("model,q1,q2\na,pass,fail\n", "--right pass --wrong fail", [[1, 0]]),
        ("model,q1,q2\na,1,ERROR\nb,0,1\n", "--missing ERROR", [[1, -1], [0, 1]]),
        ("model,moe,q1\ngpt,1,1\nqwen,0,0\n", "--ignore moe", [[1], [0]]),
        (REPEATED.format("fewshot"), "--item fewshot,question_id", [[1, 0], [0, 1]]),
        (REPEATED.format("epoch"), "--repeats first", [[1], [0]]),
        (ANSWERS + "KEY,A,B\n", "--key KEY", [[1, 1], [0, 1]]),
    ],
)
def test_what_an_error_says_to_add_works(
    tmp_path: Path, table: str, option: str, codes: list[list[int]]
) -> None:
    with pytest.raises(ReadingError) as error:
        merged(tmp_path, table)
    assert option in _text_of(error.value)
    assert merged(tmp_path, table, *shlex.split(option)) == codes


def test_the_chance_level_of_a_fit_is_an_option(tmp_path: Path) -> None:
    rows = [[int(k % (j + 2) > 0) for j in range(6)] for k in range(40)]
    cells = (",".join([f"r{k}", *map(str, row)]) for k, row in enumerate(rows))
    path = tmp_path / "results.csv"
    path.write_text("\n".join(["model,a,b,c,d,e,f", *cells]))
    out = tmp_path / "fit"
    given = ["fit", str(path), "--model", "3PL", "--chance", "0.25", "--no-standard-errors"]
    cli([*given, "--out", str(out)], standalone_mode=False)
    assert json.loads((out / "summary.json").read_text())["settings"]["prior"]["chance"] == 0.25
    with pytest.raises(ValueError, match="--chance is for --model 3PL with --prior weak"):
        cli([*given, "--prior", "none"], standalone_mode=False)
