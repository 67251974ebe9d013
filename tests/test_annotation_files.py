"""Claims about files of annotations and durations."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from irtkit.annotation import Annotation
from irtkit.annotation.files import read_annotations, read_durations

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CSV = "sample,type,start,end\nclip-1,serve,0,2.5\nclip-2,,,\nclip-1,rally,7,12\n"
RECORDS = [
    {"sample": "clip-1", "type": "serve", "start": 0, "end": 2.5},
    {"sample": "clip-1", "type": "rally", "start": 7, "end": 12},
]
CLIP_1 = [Annotation("serve", 0, 2.5), Annotation("rally", 7, 12)]
OBJECT = {
    "clip-1": [{key: record[key] for key in ("end", "type", "start")} for record in RECORDS],
    "clip-2": [],
}


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.replace("\n", "\r\n"),
        "\ufeff" + CSV + "\n\n",
        gzip.compress(CSV.encode(), mtime=0),
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        "end,sample,start,type\n2.5,clip-1,0,serve\n12,clip-1,7,rally\n,clip-2,,\n",
        json.dumps(OBJECT),
        "\n " + json.dumps(OBJECT, indent=1),
    ],
)
def test_all_forms_hold_the_same_annotations(
    file: Callable[..., Path], content: str | bytes
) -> None:
    assert read_annotations(file(content)) == {"clip-1": CLIP_1, "clip-2": []}


def test_a_list_of_records_is_read(file: Callable[..., Path]) -> None:
    assert read_annotations(file(json.dumps(RECORDS))) == {"clip-1": CLIP_1}
    assert read_annotations(file("[]")) == {}


def test_a_table_without_rows_has_no_annotations(file: Callable[..., Path]) -> None:
    assert read_annotations(file("sample,type,start,end\n")) == {}


def test_labels_stay_as_they_are_written(file: Callable[..., Path]) -> None:
    content = 'sample,type,start,end\n007,"a, b\nc",0,1\nNA,1e5,0,1\n'
    assert {name: rows[0].type for name, rows in read_annotations(file(content)).items()} == {
        "007": "a, b\nc",
        "NA": "1e5",
    }
    numbers = '[{"sample": 7, "type": 1, "start": 0, "end": 1}]'
    assert read_annotations(file(numbers)) == {"7": [Annotation("1", 0, 1)]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        (b"\xff\xfe", "the text is not UTF-8"),
        (gzip.compress(CSV.encode(), mtime=0)[:-9], "the compressed data are damaged"),
        ("sample,type,start\ns,a,0\n", "the header has no 'end'"),
        ("sample,type,start,end,score\ns,a,0,1,1\n", "the header has the unknown name 'score'"),
        ("sample,type,start,end,end\ns,a,0,1,1\n", "the header has 'end' twice"),
        (CSV + "clip-3,serve,0\n", "line 5 has 3 cells"),
        (CSV + "clip-3,serve,,1\n", "row 4: start must be a finite number, got ''"),
        (CSV + "clip-3,serve,0,nan\n", "row 4: end must be a finite number, got 'nan'"),
        (CSV + "clip-3,serve,0,1_0\n", "row 4: end must be a finite number, got '1_0'"),
        (CSV + "clip-3,serve,5,1\n", "row 4: end must not be before start"),
        (CSV + "clip-3,,0,1\n", "row 4: type is missing"),
        (CSV + ",serve,0,1\n", "row 4: sample is missing"),
        (CSV + 'clip-3,"serve,0,1\n', "line 5: unexpected end of data"),
        ("[1, 2", "the file is not JSON"),
        ("[" * 100_000, "recursion depth"),
        ("[1]", "record 1 must be an object with sample, type, start, end, got 1"),
        ('{"s": 1}', "sample 's' must have a list of records, got 1"),
        ('{"s": [{"type": "a", "start": 0}]}', "sample 's', record 1 has no 'end'"),
        ('{"s": [], "s": []}', "'s' occurs twice in one object"),
        ('{"": []}', "sample is missing"),
        (json.dumps([RECORDS[0] | {"x": 1}]), "record 1 has the unknown name 'x'"),
        (json.dumps([RECORDS[0] | {"start": "0"}]), "start must be a finite number, got '0'"),
        (json.dumps([RECORDS[0] | {"end": None}]), "end must be a finite number, got None"),
        (json.dumps([RECORDS[0] | {"end": float("nan")}]), "end must be a finite number, got nan"),
        (json.dumps([RECORDS[0] | {"type": None}]), "record 1: type must be text, got None"),
        (json.dumps([RECORDS[0] | {"sample": []}]), "record 1: sample must be text"),
    ],
)
def test_bad_content_is_refused_with_file_and_place(
    file: Callable[..., Path], content: str | bytes, said: str
) -> None:
    with pytest.raises(ValueError, match=r"^results\.csv: ") as error:
        read_annotations(file(content))
    assert said in str(error.value)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_annotations(tmp_path / "nothing.csv")


def test_durations_are_read_by_sample(file: Callable[..., Path]) -> None:
    assert read_durations(file("duration,sample\n30,007\n1.5,NA\n")) == {"007": 30, "NA": 1.5}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sample,length\ns,1\n", "the header has no 'duration'"),
        ("sample,duration\ns,long\n", "row 1: duration must be a finite number, got 'long'"),
        ("sample,duration\ns,1\ns,2\n", "row 2: the sample 's' occurs twice"),
    ],
)
def test_bad_durations_are_refused(file: Callable[..., Path], content: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"^results\.csv: ") as error:
        read_durations(file(content))
    assert said in str(error.value)
