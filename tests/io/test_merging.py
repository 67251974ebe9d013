"""Matrices put together."""

from __future__ import annotations

import pandas as pd
import pytest

from irtkit.io.merging import merge_responses
from irtkit.responses import ResponseMatrix

ONE = ResponseMatrix([[1, 0], [0, -1]], ["gpt", "llama"], ["q1", "q2"])
OTHER = ResponseMatrix([[1, 1]], ["llama"], ["q3", "q2"])


def test_labels_are_united_and_cells_keep_their_places() -> None:
    merged = merge_responses([ONE, OTHER])
    assert merged.respondents == ("gpt", "llama")
    assert merged.items == ("q1", "q2", "q3")
    assert merged.values.tolist() == [[1, 0, -1], [0, 1, 1]]
    assert merge_responses([ONE]) == ONE
    assert merge_responses([ONE.to_sparse(), OTHER]) == merged


def test_a_cell_of_several_is_an_error_or_repeats() -> None:
    again = ResponseMatrix([[0]], ["gpt"], ["q1"])
    with pytest.raises(ValueError, match="respondent 'gpt', item 'q1' occurs twice"):
        merge_responses([ONE, again])
    counted = merge_responses([ONE, again], repeats="count")
    assert (counted.successes.tolist(), counted.trials.tolist()) == (
        [[1, 0], [0, 0]],
        [[2, 1], [1, 0]],
    )
    assert merge_responses([ONE, again], repeats="first") == ONE
    assert merge_responses([ONE, again], repeats="mean>=0.5") == ONE
    with pytest.raises(ValueError, match="which trial was first"):
        merge_responses([counted, ONE], repeats="first")
    with pytest.raises(ValueError, match="matrices is empty"):
        merge_responses([])


def test_tables_of_items_and_respondents_are_united() -> None:
    texts = pd.DataFrame({"text": ["1 + 1?"]}, index=["q1"])
    families = pd.DataFrame({"family": ["llama"]}, index=["llama"])
    merged = merge_responses([ONE.with_tables(texts), OTHER.with_tables(None, families)])
    assert merged.item_table["text"].tolist()[:1] == ["1 + 1?"]
    assert merged.respondent_table["family"].tolist()[1:] == ["llama"]
