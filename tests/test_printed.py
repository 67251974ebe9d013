"""Claims about sentences and labels as they are printed."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from irtkit.printed import WIDTH, in_lines, shortened


@pytest.mark.parametrize("label", ["a" * 60, "質問" * 30, "質問 of a benchmark " * 5])
def test_labels_take_no_more_columns_than_there_are(label: str) -> None:
    for room in (10, 11, 28):
        text = shortened(label, room)
        assert room - 2 <= cell_len(text) <= room
        assert text.endswith("…")
    assert shortened(label, 200) == label


@pytest.mark.parametrize("word", ["word", "質問文", "x" * 100, "問" * 100, "well-known"])
@pytest.mark.parametrize("bullet", ["", "- "])
def test_sentences_are_broken_into_lines_that_fit_and_lose_nothing(word: str, bullet: str) -> None:
    sentence = " ".join([word] * 40)
    lines = in_lines([sentence], bullet=bullet).split("\n")
    assert max(map(cell_len, lines)) <= WIDTH
    assert all(line.startswith("  ") for line in lines[1:])
    assert lines[0].startswith(bullet + word[:4])
    whole = "".join(lines).removeprefix(bullet).replace(" ", "")
    assert whole == sentence.replace(" ", "")


def test_a_line_is_filled_up_to_the_last_column() -> None:
    assert in_lines(["a" * 40 + " " + "b" * 39]) == "a" * 40 + " " + "b" * 39
    assert in_lines(["a" * 40 + " " + "b" * 40]) == "a" * 40 + "\n  " + "b" * 40
