"""JSON is read within bounds, and a fault has its place."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from irtkit.io import json_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_line_without_end_is_refused(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(json_text, "MOST_BYTES", 2**20)
    path = file(compress(b"{}\n" + b"x" * (2**20 + 1)))
    with pytest.raises(ValueError, match="line 2 is longer than 1 MiB"):
        list(json_text.json_lines(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the file is not JSON: .* column 2"),
        (b"{\n1}", "not JSON: .* line 2 column 1"),
        (b"[\xff]", "not JSON: 'utf-8' .* 0xff"),
        (b"[" * 100_000, "not JSON: .*recursion"),
        (b"1" * 5000, "the file: .*digits"),
        (b"", "not JSON"),
    ],
)
def test_a_fault_is_one_message(file: Callable[..., Path], content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        json_text.json_document(file(content))
