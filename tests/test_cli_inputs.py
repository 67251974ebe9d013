"""Tables of labels beside the responses: --labels, --groups, --predictions."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from irtkit import ResponseMatrix
from irtkit.cli.commands import cli
from irtkit.cli.inputs import as_typed, read_families, read_labelled
from irtkit.io import read_responses

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
        ("model,q1\na,1\na,2\n", "line 3: 'a' occurs twice"),
        ("model,q1\n ,1\n", "line 2 has no label"),
        ("model,q1\na,1,2\n", "line 2 has 3 cells where the header has 2"),
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
    with pytest.raises(FileNotFoundError, match="--groups simlar: no such file"):
        read_families("simlar")


def test_systems_are_left_out_by_name_or_at_chance(tmp_path: Path) -> None:
    always = (np.arange(60) % 2 == np.arange(10)[:, None] % 2).astype(int)
    able = (np.random.default_rng(0).random((20, 60)) < 0.9).astype(int)
    path = tmp_path / "two.csv"
    ResponseMatrix(np.vstack([always, able])).to_frame().to_csv(path)

    def said(names: str) -> Any:
        command = ["fit", str(path), "--model", "1PL", "--drop", names]
        return CliRunner().invoke(cli, command)

    assert "1PL fitted to 20 respondents × 60 items" in said("at-chance").stdout
    assert "1PL fitted to 28 respondents × 60 items" in said("respondent-1,respondent-30").stdout
    assert "1PL fitted to 19 respondents × 60 items" in said("at-chance,respondent-30").stdout
    with pytest.raises(ValueError, match="drop names 'x', which is not a respondent"):
        raise said("x").exception


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("pass filter='a b' or filter='c'", "pass --filter 'a b' or --filter c"),
        ('pass repeats="count" to take all, "first"', 'pass --repeats count to take all, "first"'),
        ("if 'C' is right, pass right='C', wrong='I'", "if 'C' is right, pass --right C --wrong I"),
        ("pass threshold=50 or the like", "pass --threshold 50 or the like"),
        ("pass threshold= (a score", "pass --threshold (a score"),
        ("item 'sums:filter=2,metric=x/id1'", "item 'sums:filter=2,metric=x/id1'"),
        ("leaves it out (respondent='name' if", "leaves it out (--respondent name if"),
    ],
)
def test_messages_name_options_and_not_arguments(said: str, typed: str) -> None:
    assert as_typed(said) == typed


def test_a_table_on_its_side_is_read_as_the_warning_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "items.csv", tmp_path / "out.csv"
    path.write_text("question,gpt,o1\nq1,1,0\nq2,1,1\n")
    with pytest.warns(UserWarning, match="are rows items here") as caught:
        read_responses(path)
    assert "--transpose has rows and columns exchanged" in as_typed(str(caught[0].message))
    cli.main(["merge", str(path), "--transpose", "--out", str(out)], standalone_mode=False)
    assert "rows items" not in capsys.readouterr().err
    assert read_responses(out).to_frame().to_dict("index") == {
        "gpt": {"q1": 1, "q2": 1},
        "o1": {"q1": 0, "q2": 1},
    }


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
