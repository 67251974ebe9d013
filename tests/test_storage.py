"""Records that come back from a file as they went, and files that are refused."""

import numpy as np
import pandas as pd
import pytest

from irtkit import ResponseMatrix
from irtkit.findings import Finding
from irtkit.responses import Source
from irtkit.storage import Format, read, restored_responses, stored_responses, write

FORM = Format("irtkit thing", 3)


def stored(path, record):
    write(path, FORM, record)
    return read(path, FORM, dict)


def test_plain_values_come_back_equal_and_of_their_kind(tmp_path):
    values = [1, 0.1, float("-inf"), True, None, "θ", [1, [2.5]], (1, ("a",), []), ()]
    record = {str(k): value for k, value in enumerate([*values, {"a": {"b": (None,)}}])}
    back = stored(tmp_path / "x", record)
    assert back == record
    assert [*map(type, back.values())] == [*map(type, record.values())]


@pytest.mark.parametrize(("form", "message"), [
    (Format("irtkit other", 3), "not a saved irtkit thing, it is a saved irtkit other"),
    (Format(FORM.name, 4), "has format version 4.* version 3: install a newer one"),
    (Format(FORM.name, 2), "has format version 2.* version 3: make the file again"),
])  # fmt: skip
def test_a_file_of_another_kind_or_version_says_what_to_do(tmp_path, form, message):
    write(tmp_path / "x", form, {"a": np.ones(2)})
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "x", FORM, dict)


def test_no_cut_and_no_flipped_byte_gives_another_record_or_another_error(tmp_path):
    path, numbers = tmp_path / "x", np.arange(50.0)
    write(path, FORM, {"a": numbers})
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place])
        with pytest.raises(ValueError, match="x is not a saved irtkit thing, or is damaged"):
            read(path, FORM, dict)
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            back = read(path, FORM, dict)
        except ValueError as error:
            assert "irtkit thing" in str(error)  # noqa: PT017
        else:  # a date, or another note of the archive
            np.testing.assert_array_equal(back["a"], numbers)


CELLS = ResponseMatrix([[1, 0, -1], [-1, 1, 1]], synthetic=[False, True])
COUNTED = ResponseMatrix.from_counts([[0, 300], [1, 0]], [[0, 500], [1, 1]])


@pytest.mark.parametrize(
    "responses", [CELLS, COUNTED, CELLS.to_sparse(), COUNTED.to_sparse()], ids=repr
)
def test_a_matrix_comes_back_equal_and_as_dense_as_it_was(tmp_path, responses):
    arrays = stored(tmp_path / "x", {"responses": stored_responses(responses)})["responses"]
    back = restored_responses(arrays, responses.respondents, responses.items)
    assert back == responses
    assert back.is_sparse == responses.is_sparse
    assert np.array_equal(back.synthetic, responses.synthetic)
    with pytest.raises(ValueError, match=r"respondent|shape|index"):
        restored_responses(arrays, ("x",), responses.items)


def test_answers_and_source_come_back(tmp_path):
    answers = pd.DataFrame([["A", None, "a long answer"], ["A", "B", None]])
    answers = answers.set_axis(CELLS.respondents).set_axis(CELLS.items, axis=1)
    source = Source(("runs/",), "lm-eval", {"task": ("arc",)}, (Finding("file", "note"),))
    responses = CELLS.with_tables(predictions=answers, source=source)
    arrays = stored(tmp_path / "x", {"responses": stored_responses(responses)})["responses"]
    assert arrays["predictions"]["which"].dtype == np.int8
    again = restored_responses(arrays, responses.respondents, responses.items)
    pd.testing.assert_frame_equal(again.predictions, responses.predictions)
    assert again.source == source
