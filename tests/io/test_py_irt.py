"""The JSON lines of py-irt, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtkit.io import read_responses, write_responses
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable


SAMPLE = Path(__file__).parents[1] / "data" / "py_irt_minitest.jsonlines"
GOOD = '{"subject_id": "x", "responses": {"a": 1}}\n'


def test_the_sample_of_py_irt_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    responses = read_responses(SAMPLE)
    assert responses.respondents == ("pedro", "pinguino", "ken", "burt")
    assert responses.values.tolist() == [[1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
    write_responses(responses, tmp_path / "again.jsonlines")
    written = map(json.loads, (tmp_path / "again.jsonlines").read_text().splitlines())
    assert list(written) == list(map(json.loads, SAMPLE.read_text().splitlines()))


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.lists(st.text().filter(lambda text: bool(text.strip())), min_size=1, unique=True))
def test_any_labels_come_back(tmp_path_factory: pytest.TempPathFactory, labels: list[str]) -> None:
    labels = [label.encode("utf-8", "replace").decode() for label in labels]
    labels = list(dict.fromkeys(labels))
    path = tmp_path_factory.mktemp("py_irt") / "crowd.jsonlines"
    responses = ResponseMatrix([[1] * len(labels), [0] * len(labels)], items=labels)
    write_responses(responses, path)
    assert read_responses(path) == responses


def test_missing_cells_are_left_out_and_come_back_missing(tmp_path: Path) -> None:
    responses = ResponseMatrix([[1, 0], [-1, 1], [-1, -1]], ["x", "y", "z"], ["a", "b"])
    write_responses(responses, tmp_path / "crowd.jsonlines")
    assert json.loads((tmp_path / "crowd.jsonlines").read_text().splitlines()[1])["responses"] == {
        "b": 1
    }
    assert read_responses(tmp_path / "crowd.jsonlines") == responses


@pytest.mark.parametrize("value", ["1", "1.0", "true", '"1"'])
def test_right_may_be_written_in_several_ways(file: Callable[..., Path], value: Any) -> None:
    assert read_responses(file(GOOD.replace(": 1", f": {value}"))).values.tolist() == [[1]]


def test_null_blank_lines_numbers_and_other_keys_are_no_trouble(file: Callable[..., Path]) -> None:
    content = GOOD + '\n{"responses": {"b": 0, "a": null}, "note": {}, "subject_id": 7}\r\n\n'
    expected = ResponseMatrix([[1, -1], [-1, 0]], ["x", "7"], ["a", "b"])
    assert read_responses(file(content)) == expected


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"subject_id": "y", "responses": {"a": 1}', "line 2 is not JSON: .*column"),
        ("{'subject_id'}", "line 2 is not JSON"),
        ("[1]", "line 2 is no JSON object"),
        ('{"subject": "y", "responses": {}}', "line 2: no key \"subject_id\" .*'subject'"),
        ('{"subject_id": "y", "answers": {}}', 'line 2: no key "responses"'),
        ('{"subject_id": null, "responses": {}}', 'line 2: "subject_id" must be text, got None'),
        ('{"subject_id": true, "responses": {}}', 'line 2: "subject_id" must be text, got True'),
        ('{"subject_id": " ", "responses": {}}', 'line 2: "subject_id" must be text, got'),
        ('{"subject_id": "y", "responses": [1]}', 'line 2: "responses" must map .* got list'),
        ('{"subject_id": "x", "responses": {}}', "line 2: respondent 'x' occurs twice"),
        ('{"subject_id": "y", "responses": {"": 1}}', "line 2: respondent 'y' .* without a label"),
        ('{"subject_id": "y", "responses": {"a": 1, "a": 1}}', "line 2: 'a' occurs twice"),
        ('{"subject_id": "y", "responses": {"a": 1, "b": 2}}', "'y', item 'b' has 2; if these"),
        ('{"subject_id": "y", "responses": {"c": [1]}}', r"'y', item 'c' has \[1\]; name"),
        ('{"subject_id": "y", "responses": {"c": -1}}', "'y', item 'c' has -1; a missing"),
    ],
)
def test_a_fault_is_named_with_its_line(
    file: Callable[..., Path], second: str, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^results.csv: .*{message}"):
        read_responses(file(GOOD + second + "\n"))


@pytest.mark.parametrize("name", ["subject_id", "a"])
def test_half_a_character_is_no_label(file: Callable[..., Path], name: str) -> None:
    half = '"\\ud800"'
    content = GOOD.replace('"x"' if name == "subject_id" else '"a"', half)
    with pytest.raises(ValueError, match="holds half a character"):
        read_responses(file(content))


def test_respondents_without_any_item_are_no_matrix(file: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match="no respondent answers an item"):
        read_responses(file('{"subject_id": "x", "responses": {}}'))


def test_repeated_trials_have_no_place_in_the_format(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one response per cell, but there are repeated"):
        write_responses(ResponseMatrix.from_counts([[1]], [[2]]), tmp_path / "crowd.jsonlines")
    assert list(tmp_path.iterdir()) == []
