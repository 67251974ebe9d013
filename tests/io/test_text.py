"""Text tables: separators, quotes, blocks, and faults with their lines."""

from __future__ import annotations

import csv
import gzip
from typing import Any

import numpy as np
import pytest

from irtkit import read_responses
from irtkit.findings import ReadingError
from irtkit.responses import ResponseMatrix

AWKWARD = ["007", "1e5", "NA", "None", "true", "1.0", "<NA>", "a,b", 'say "x"', "two\nlines"]
AWKWARD += [" space", "=1+1", "ä\u2028ö", "semi;colon", "tab\there", "-1", "#N/A"]


@pytest.mark.parametrize(
    ("separator", "quoting", "ending"),
    [(",", csv.QUOTE_MINIMAL, "\r\n"), ("\t", csv.QUOTE_ALL, "\n"), (";", csv.QUOTE_MINIMAL, "\n")],
)
def test_labels_are_kept_as_they_are_written(
    file: Any, separator: str, quoting: Any, ending: str
) -> None:
    values = np.random.default_rng(0).integers(-1, 2, (len(AWKWARD), len(AWKWARD)))
    responses = ResponseMatrix(values, AWKWARD, AWKWARD)
    wide = responses.to_frame().reset_index()
    long = wide.melt("respondent", var_name="item", value_name="response")
    for frame in (wide, long):
        text = frame.to_csv(
            None, sep=separator, index=False, quoting=quoting, lineterminator=ending
        )
        assert read_responses(file(text)) == responses
        assert read_responses(file("\ufeff" + text + 2 * ending)) == responses


NOTE = "x" * 30_000
ROWS = [f"respondent {k % 7},item {k // 7},1,{NOTE}\n" for k in range(630)]
"""Rows of a long table of several blocks, all right."""


@pytest.mark.parametrize(("row", "respondents"), [
    ("respondent 0,item 1e9,1,\n", 7), ('"q",item 0,1,\n', 8), ('"two\nlines",item 0,1,\n', 8),
    ('new "quoted" here,item 0,1,\n', 8), (" \n", 7), ("'=new,item 0,1,\r\n", 8),
])  # fmt: skip
def test_a_long_table_of_many_blocks_is_read_whole(file: Any, row: str, respondents: int) -> None:
    rows = [*ROWS[:560], row, *ROWS[561:]]
    content = ("model,item,correct,note\n" + "".join(rows)).encode()
    packed = gzip.compress(content, 1) if respondents == 7 else content
    responses = read_responses(file(packed))
    assert responses.n_respondents == respondents
    assert (responses.values == 1).sum() == len(rows) - (not row.strip())
    assert responses.items[:3] == ("item 0", "item 1", "item 2")


@pytest.mark.parametrize(("row", "message"), [
    ("x,1\n", "line 562 has 2 cells, and the header has 4"),
    ('x,a,1,"not closed\n', "line 631: unexpected end of data"),
    ("caf\u00e9,a,1,\n", "the text is not UTF-8 .byte 0xe9."),
])  # fmt: skip
def test_a_fault_far_down_is_named(file: Any, row: str, message: str) -> None:
    content = "model,item,correct,note\n" + "".join([*ROWS[:560], row, *ROWS[561:]])
    with pytest.raises(ReadingError, match=f"^results.csv: {message}"):
        read_responses(file(content.encode("latin-1")))


@pytest.mark.parametrize(("content", "message"), [
    ("", "the file is empty"), (gzip.compress(b"", mtime=0), "the file is empty"),
    ("a,b\n".encode("utf-16-le"), "format .* is unknown .*UTF-8"),
    ("PK\3\0", "format .* is unknown"),
    ("model,q1,q1\nx,1,1\n", "item labels must be unique: 'q1' occurs twice"),
    ('model,q1,q2\n"x\ny",1,0\n\nz,1\n', "line 5 has 2 cells, and the header has 3"),
    ('model,q1\n"x,1\ny,1\n', "line 3: unexpected end of data"),
    ("model,item,correct\nx,a,1\n,a,0\n", "row 2 lacks a label in 'model'"),
    (gzip.compress(b"model,q1\nx,1\n" * 500, mtime=0)[:-20], "the compressed data are damaged"),
])  # fmt: skip
def test_a_fault_is_named_with_its_file(file: Any, content: str | bytes, message: str) -> None:
    with pytest.raises(ReadingError, match=f"^results.csv: .*{message}"):
        read_responses(file(content))
