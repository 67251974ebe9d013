"""Text has one set of rules, and a fault in it is one message."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from irtkit.io.text import layout, naming, refuse_faults, rows, without_repeats

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
        (gzip.compress(b"a,b\n1,2\n" * 9)[:-9], "--labels results.csv: the gzip data are damaged"),
    ],
)
def test_a_fault_is_named_with_option_file_and_line(
    file: Callable[..., Path], content: str | bytes, message: str
) -> None:
    path = file(content)
    with pytest.raises(ValueError, match=f"^{message}"), naming(path, "--labels"):
        refuse_faults(path, ",")


def test_a_key_that_occurs_twice_in_one_object_is_refused() -> None:
    assert json.loads('{"a": {"b": 1}, "b": 2}', object_pairs_hook=without_repeats)["b"] == 2
    with pytest.raises(ValueError, match="'b' occurs twice in one object"):
        json.loads('{"a": {"b": 1, "b": 1}}', object_pairs_hook=without_repeats)
