"""Text has one set of rules, and a fault in it is one message."""

from __future__ import annotations

import csv
import gzip
import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtkit
from irtkit.io import text
from irtkit.io.text import (
    batches,
    guarded,
    is_sound,
    layout,
    naming,
    refuse_faults,
    rows,
    unguarded,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2\n", (",", ["a", "b"])),
        ("a\tb\n1\t2\n", ("\t", ["a", "b"])),
        ("\n\na;b\n1;2\n", (";", ["a", "b"])),
        ("a,b;c,d;e,f\n1;2;3\n", (";", ["a,b", "c,d", "e,f"])),
        ('"a;b",c\n', (",", ["a;b", "c"])),
        ("a b\n", (",", ["a b"])),
    ],
)
def test_the_separator_is_the_one_that_header_and_first_row_agree_on(
    file: Callable[..., Path], content: str, expected: tuple[str, list[str]]
) -> None:
    assert layout(file(content)) == expected


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_rows_know_their_last_line(
    file: Callable[..., Path], compress: Callable[[bytes], bytes]
) -> None:
    content = '\ufeffa,b\r\n\r\n"x\r\ny"," 007"\r\n \r\n,"say ""NA"""'
    found = list(rows(file(compress(content.encode())), ","))
    assert found == [(4, ["x\r\ny", " 007"]), (6, ["", 'say "NA"'])]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n\n1\n", "--labels results.csv: line 3 has 1 cells where the header has 2"),
        ('a,b\n1,"2\n', "--labels results.csv: line 2: unexpected end of data"),
        (b"a,b\n1,\xff\n", "--labels results.csv: line 2 is not UTF-8 text .byte 0xff."),
        (
            gzip.compress(b"a,b\n1,2\n" * 9, mtime=0)[:-9],
            "--labels results.csv: the gzip data are damaged",
        ),
    ],
)
def test_a_fault_is_named_with_option_file_and_line(
    file: Callable[..., Path], content: str | bytes, message: str
) -> None:
    path = file(content)
    with pytest.raises(ValueError, match=f"^{message}"), naming(path, "--labels"):
        refuse_faults(path, ",")


@pytest.mark.parametrize("content", ["a,b\nx,1\ny\0z,1\n", 'a,b\n"x",1\ny\0z,1\n'])
def test_a_nul_byte_is_no_text(file: Callable[..., Path], content: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3 holds a NUL byte"):
        layout(file(content))
    with pytest.raises(ValueError, match=r"^line 3 holds a NUL byte"):
        list(batches(file(content), ",", ["a"]))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_line_without_end_is_refused(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", 2**20)
    with pytest.raises(ValueError, match=r"^line 3 is longer than 1 MiB"):
        layout(file(compress(b"a,b\n1,2\n" + b"x" * 2**21)))


def test_batches_hold_the_columns_asked_for_as_they_are_written(file: Callable[..., Path]) -> None:
    path = file('\ufeffb\tc\ta\r\n007\tx\t"NA"\n\n\'=1\t\t\n =1\ty\t1e5')
    table = pa.Table.from_batches(batches(path, "\t", ["a", "b"]))
    assert table.to_pydict() == {"a": ["NA", None, "1e5"], "b": ["007", "=1", " =1"]}
    empty = pa.Table.from_batches(batches(file("a,b\n"), ",", ["a"]))
    assert (empty.num_rows, empty.schema.names) == (0, ["a"])


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'=", "''@"])
def test_what_a_spreadsheet_would_run_is_guarded(start: str) -> None:
    assert guarded(f"{start}cmd") == f"'{start}cmd"
    assert unguarded(f"'{start}cmd") == f"{start}cmd"


@pytest.mark.parametrize(
    "cell", ["-1", "+.5", "-2.5E-3", "007", "1e5", "", "'", "it's", "'-1", " "]
)
def test_numbers_and_all_else_are_written_as_they_are(cell: str) -> None:
    assert guarded(cell) == unguarded(cell) == cell


@given(
    st.text(st.sampled_from("'=+-@\t\r\n1.e ax")) | st.text(st.characters(exclude_characters="\0"))
)
def test_any_cell_comes_back_and_none_is_run(cell: str) -> None:
    written = guarded(cell)
    assert unguarded(written) == cell
    assert not written.startswith(tuple("=@\t\r"))
    assert written[:1] not in {"+", "-"} or set(written) <= set("+-.e0123456789E")


@settings(derandomize=True, max_examples=1000)
@given(text=st.text('",\n\ra ', max_size=12), size=st.integers(1, 5))
def test_sound_text_is_read_by_the_csv_module(text: str, size: int) -> None:
    written = text.encode()
    blocks = [written[k : k + size] for k in range(0, len(written), size)]
    if is_sound(blocks, ","):
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert is_sound(blocks, ",") == is_sound([written], ",")


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ('"a","b ""c"" d"\r\n"","\n"', True),
        ('a,b\n"""c""",1', True),
        ('a,"b', False),
        ('a,"b"c', False),
        ('a,b"c"', False),
    ],
)
def test_quotes_are_sound_where_they_are_around_cells(text: str, *, sound: bool) -> None:
    assert is_sound([text.encode()], ",") is sound
    assert is_sound([bytes([byte]) for byte in text.encode()], ",") is sound


@pytest.mark.slow
def test_the_process_ends_well_after_a_long_table_beside_polars(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    path = tmp_path / "long.csv"
    path.write_text("model,item,correct\na,q1,1\na,q2,0\n")
    program = f"import polars, irtkit; irtkit.read_responses({str(path)!r})"
    for _ in range(8):  # where a thread outlives Python one in two aborts: 1 of 256 passes
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_names_that_are_no_text_and_padded_gzip_are_read_or_refused(tmp_path: Path) -> None:
    table = b"model,item,correct\na,q1,1\n"
    odd, padded = tmp_path / os.fsdecode(b"l\xe4.csv"), tmp_path / "padded.csv.gz"
    odd.write_bytes(table)
    assert irtkit.read_responses(odd).items == ("q1",)
    padded.write_bytes(gzip.compress(table) + gzip.compress(b"a,q2,1\n"))
    assert irtkit.read_responses(padded).items == ("q1", "q2")
    padded.write_bytes(gzip.compress(table) + bytes(512))
    with pytest.raises(ValueError, match="the gzip data are damaged"):
        irtkit.read_responses(padded)
