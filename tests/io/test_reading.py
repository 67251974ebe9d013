"""Responses are recognised by content, and every fault is one clear message."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from irtkit.io import read_responses, write_responses
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable


STORED = sorted((Path(__file__).parents[3] / "shared" / "data").glob("*.meta.json"))

EXPECTED = ResponseMatrix([[1, 0], [-1, 1]], ["gpt", "llama"], ["q1", "q2"])
TEMPLATES = {
    "wide": "model,q1,q2\ngpt,%s,%s\nllama,,%s\n",
    "long": "model,item,correct\ngpt,q1,%s\ngpt,q2,%s\nllama,q2,%s\n",
    "py-irt": '{"subject_id": "gpt", "responses": {"q1": %s, "q2": %s}}\n'
    '{"subject_id": "llama", "responses": {"q2": %s}}\n',
}
AS_TEXT = {kind: template % (1, 0, 1) for kind, template in TEMPLATES.items()}


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["results.csv", "results.jsonl", "results"])
@pytest.mark.parametrize("kind", AS_TEXT)
def test_the_content_decides_whatever_the_name(
    file: Callable[..., Path],
    kind: str,
    name: str,
    compress: Callable[[bytes], bytes],
    *,
    forced: bool,
) -> None:
    path = file(compress(AS_TEXT[kind].encode()), name)
    assert read_responses(path, format=kind if forced else None) == EXPECTED
    assert read_responses(str(path)) == EXPECTED


@pytest.mark.parametrize("meta", STORED or [None], ids=lambda meta: meta and meta.name)
@pytest.mark.usefixtures("shared_data")
def test_stored_matrices_have_the_shape_they_state(meta: Path | None) -> None:
    assert meta is not None
    stated = json.loads(meta.read_text())
    responses = read_responses(meta.with_name(stated["file"]))
    assert (responses.n_respondents, responses.n_items) == tuple(stated["shape"].values())
    assert responses.n_missing == stated["missing_cells"]
    observed = responses.values[responses.values >= 0]
    assert observed.mean() == pytest.approx(stated["mean"], abs=1e-4)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_threshold_turns_scores_into_responses(file: Callable[..., Path], template: str) -> None:
    assert read_responses(file(template % (7, 0.49, 0.5)), threshold=0.5) == EXPECTED


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_fraction_is_refused_with_the_way_out(file: Callable[..., Path], template: str) -> None:
    message = r"^results.csv: a response must be.*'llama', item 'q2' has '?0.5'?; .*threshold="
    with pytest.raises(ValueError, match=message):
        read_responses(file(template % (1, 0, 0.5)))


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("bad", ["2", "-1", '"yes"'])
def test_a_wrong_value_is_named_with_its_place(
    file: Callable[..., Path], template: str, bad: Any
) -> None:
    value = bad.strip('"')
    with pytest.raises(ValueError, match=f"^results.csv: .*'llama', item 'q2' has '?{value}'?; "):
        read_responses(file(template % (1, 0, bad)))
    with pytest.raises(ValueError, match=r"'gpt', item 'q1' .* .and 2 more such cells"):
        read_responses(file(template % (bad, bad, bad)))


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", {}, "the file is empty"),
        ("\n \n", {}, "the file is empty"),
        (b"\xef\xbb\xbf", {}, "the file is empty"),
        (gzip.compress(b"", mtime=0), {}, "the file is empty"),
        (gzip.compress(b"model,q1\ngpt,1\n" * 500, mtime=0)[:-20], {}, "gzip data are damaged"),
        (b"PK\x03\x04\0\0", {}, "no known format"),
        ("model,q1\ngpt,1\n".encode("utf-16"), {}, "no known format .*UTF-8"),
        ("[1, 0]", {}, "no known format"),
        ("model,q1\ngpt,1\ncaf\u00e9,0\n".encode("latin-1"), {}, r"line 3 is not UTF-8.*0xe9"),
        (
            AS_TEXT["wide"],
            {"format": "xls"},
            "format must be one of .*parquet, long, wide; got 'xls'",
        ),
        (AS_TEXT["wide"], {"format": "parquet"}, "not Parquet"),
        (AS_TEXT["wide"], {"format": "py-irt"}, "line 1 is not JSON"),
        (AS_TEXT["long"], {"format": "wide"}, "item 'item' has 'q1'"),
        (AS_TEXT["long"], {"format": "wide", "item": "item"}, "long table, but the format is 'wi"),
        (AS_TEXT["py-irt"], {"item": "q1"}, "long table, but the format is 'py-irt'"),
        (AS_TEXT["py-irt"], {"repeats": "count"}, "for a table, but the format is 'py-irt'"),
        (AS_TEXT["py-irt"], {"ignore": "q1"}, "for a table, but the format is 'py-irt'"),
        (AS_TEXT["long"], {"keep": "q1"}, "wide table, but this one is long"),
        (AS_TEXT["wide"], {"ignore": "Q1"}, "ignore='Q1' is not a column, did you mean 'q1'"),
        (AS_TEXT["wide"], {"sparse": True}, "sparse=True is for .* but the format is 'wide'"),
        (AS_TEXT["py-irt"], {"sparse": True}, "sparse=True is for .* but the format is 'py-irt'"),
        (
            AS_TEXT["wide"],
            {"repeats": "sum"},
            "repeats must be one of error, count, first, last and mean>=0.5 .*; got 'sum'",
        ),
        (AS_TEXT["wide"], {"threshold": float("nan")}, "threshold must be a finite number"),
    ],
)
def test_what_cannot_be_read_is_one_message_with_the_name_of_the_file(
    file: Callable[..., Path], content: str | bytes, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^results.csv: .*{message}"):
        read_responses(file(content), **arguments)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent.csv: no such file"):
        read_responses(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError, match="no file is of this pattern"):
        read_responses(tmp_path / "*.eval")
    with pytest.raises(ValueError, match="the folder holds no files"):
        read_responses(tmp_path)


def test_importing_the_readers_loads_neither_pandas_nor_pyarrow() -> None:
    code = (
        "import sys, irtkit.io; sys.exit(bool({'pandas', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


PARTS = [
    pd.DataFrame(
        {
            "model": ["b", "a", "a", "a", "d"],
            "item": ["q1", "q1", "q1", "q2", "q1"],
            "correct": [0, 1, 0, None, 1],
        }
    ),
    pd.DataFrame(
        {
            "system": ["a", "a", "b", "c"],
            "task_id": ["q1", "q2", "q1", "q3"],
            "acc": [0, 1, 1, None],
        }
    ),
]
WHOLE = pd.concat([PARTS[0], PARTS[1].set_axis(PARTS[0].columns, axis=1)])


def _write(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)


@pytest.mark.parametrize("repeats", ["count", "first", "mean>=0.5", "mean>=0.3"])
@pytest.mark.parametrize("endings", [("csv", "csv"), ("parquet", "parquet"), ("csv", "parquet")])
@pytest.mark.parametrize("sparse", [False, True])
def test_long_tables_in_a_folder_are_read_as_one(
    tmp_path: Path, endings: tuple[str, str], repeats: str, *, sparse: bool
) -> None:
    for k, (part, ending) in enumerate(zip(PARTS, endings, strict=True)):
        _write(part, tmp_path / f"part-{k}.{ending}")
    together = read_responses(tmp_path, repeats=repeats, sparse=sparse)
    assert together == ResponseMatrix.from_long(WHOLE, repeats=repeats)
    assert together.is_sparse is sparse


@pytest.mark.parametrize("repeats", ["count", "first", "mean>=0.5", "mean>=0.3"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_wide_tables_in_a_folder_may_hold_repeats(
    tmp_path: Path, ending: str, repeats: str
) -> None:
    rows = [["x", 1, 0], ["y", 0, 1], ["x", 0, 0], ["y", 1, None], ["x", 0, 1], ["y", 0, 0]]
    wide = pd.DataFrame(rows, columns=["model", "q1", "q2"])
    _write(wide.iloc[:2], tmp_path / f"a.{ending}")
    _write(wide.iloc[2:], tmp_path / f"b.{ending}")
    assert read_responses(tmp_path, repeats=repeats) == ResponseMatrix.from_frame(
        wide, respondent="model", repeats=repeats
    )
    with pytest.raises(ValueError, match=r"b\.(csv|parquet): .*'x' occurs twice"):
        read_responses(tmp_path)


def test_a_cell_without_a_response_in_one_part_may_be_in_another(tmp_path: Path) -> None:
    _write(PARTS[0].iloc[3:], tmp_path / "a.csv")
    _write(PARTS[1].iloc[1:], tmp_path / "b.parquet")
    responses = read_responses(tmp_path)
    assert (responses.respondents, responses.items) == (("a", "d", "b", "c"), ("q2", "q1", "q3"))
    assert responses.values[0].tolist() == [1, -1, -1]
    _write(PARTS[0].iloc[1:3], tmp_path / "a.csv")
    _write(PARTS[1], tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"'a', item 'q1' occurs twice \(and 1 more repeat\)"):
        read_responses(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_without_a_label_is_named_with_its_file(tmp_path: Path, ending: str) -> None:
    _write(PARTS[0].drop_duplicates(["model", "item"]), tmp_path / f"a.{ending}")
    _write(PARTS[1].assign(system=["e", "f", None, None]), tmp_path / f"b.{ending}")
    message = rf"b\.{ending}: column 'system' has no label in row 3 of the table .and 1 more"
    with pytest.raises(ValueError, match=message):
        read_responses(tmp_path)


def test_labels_that_are_numbers_in_one_part_and_text_in_another_are_the_same(
    tmp_path: Path,
) -> None:
    _write(pd.DataFrame({"model": ["a"], "item": [10], "acc": [1]}), tmp_path / "a.parquet")
    _write(pd.DataFrame({"model": ["b"], "item": ["10"], "acc": [0]}), tmp_path / "b.parquet")
    assert read_responses(tmp_path).values.tolist() == [[1], [0]]


def test_what_lies_beside_long_tables_in_a_folder_is_read_with_them(tmp_path: Path) -> None:
    texts = pd.DataFrame({"text": ["1 + 1?"]}, index=["q1"])
    for name, respondent in (("a.csv", "gpt"), ("b.parquet", "llama")):
        one = ResponseMatrix([[1]], [respondent], ["q1"]).with_tables(texts)
        write_responses(one, tmp_path / name)
    responses = read_responses(tmp_path)
    assert responses.respondents == ("gpt", "llama")
    assert responses.item_table is not None
    assert responses.item_table["text"].tolist() == ["1 + 1?"]
