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
    values = [[1, 0, -1], [0, 1, 1]]
    assert merged == ResponseMatrix(values, ["gpt", "llama"], ["q1", "q2", "q3"])
    assert merge_responses([ONE]) == ONE
    assert merge_responses([ONE.to_sparse(), OTHER]) == merged


def test_metrics_of_the_answers_are_united_and_the_first_of_several_counts() -> None:
    def measured(matrix: ResponseMatrix, *rows: tuple[str, str, str, float]) -> ResponseMatrix:
        columns = ["respondent", "item", "metric", "value"]
        return matrix.with_tables(metrics=pd.DataFrame(rows, columns=columns))

    one = measured(ONE, ("gpt", "q1", "time", 1.0), ("llama", "q1", "time", 2.0))
    other = measured(OTHER, ("llama", "q2", "cost", 3.0))
    again = measured(ONE, ("gpt", "q1", "time", 9.0), ("gpt", "q2", "time", 4.0))
    merged = merge_responses([one, other, again, ONE], repeats="count").metrics
    assert merged.astype(object).to_numpy().tolist() == [
        ["gpt", "q1", "time", 1.0],
        ["llama", "q1", "time", 2.0],
        ["llama", "q2", "cost", 3.0],
        ["gpt", "q2", "time", 4.0],
    ]
    assert merge_responses([ONE, OTHER]).metrics is None


def test_a_cell_of_several_is_an_error_or_repeats() -> None:
    again = ResponseMatrix([[0]], ["gpt"], ["q1"])
    with pytest.raises(
        ValueError, match=r"system 'gpt', item 'q1' occurs in several.*repeats='count'"
    ):
        merge_responses([ONE, again])
    counted = merge_responses([ONE, again], repeats="count")
    assert counted.successes.tolist() == [[1, 0], [0, 0]]
    assert counted.trials.tolist() == [[2, 1], [1, 0]]
    for repeats in ("first", "mean>=0.5"):
        assert merge_responses([ONE, again], repeats=repeats) == ONE
    assert merge_responses([ONE, again], repeats="last").values[0, 0] == 0
    for repeats in ("first", "last"):
        with pytest.raises(ValueError, match=f"'{repeats}' needs the order of trials"):
            merge_responses([counted, ONE], repeats=repeats)
    with pytest.raises(ValueError, match="at least one matrix"):
        merge_responses([])
