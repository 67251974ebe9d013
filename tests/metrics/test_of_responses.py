"""Metrics of the answers to a response matrix, in whatever form, and those that do not fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from irtkit import ResponseMatrix, add_synthetic
from irtkit.difficulty import quality_standard
from irtkit.metrics import quality_of

if TYPE_CHECKING:
    from collections.abc import Callable

RESPONSES = ResponseMatrix([[1, 0, 1], [1, 1, 0]], ["gpt", "llama"], ["q1", "q2", "q3"])
WIDE = pd.DataFrame(
    {
        "respondent": ["gpt"] * 3 + ["llama"] * 2,
        "item": ["q1", "q2", "q3", "q1", "q2"],
        "tokens": [10, 20, 30, 5, 15],
        "f1": [1.0, 0.5, 0.75, 0.9, 0.4],
    }
)
LONG = WIDE.melt(["respondent", "item"], var_name="metric")
# (z of tokens + z of 1 − f1) / 2: gpt has 0 and 0, 1/2 and 1, 1 and 1/2; llama 0 and 0, 1 and 1
SCORES = {"q1": 0.0, "q2": (0.75 + 1) / 2, "q3": 0.75}
FORMS: dict[str, Callable[[], Any]] = {
    "wide": lambda: WIDE,
    "long": lambda: LONG,
    "polars": lambda: pl.from_pandas(WIDE),
    "arrow": lambda: pa.Table.from_pandas(LONG),
    "index": lambda: WIDE.set_index(["item", "respondent"]),
    "unnamed index": lambda: WIDE.set_index(["respondent", "item"]).rename_axis([None, None]),
    "other names": lambda: WIDE.rename(columns={"respondent": "Model", "item": "question_id"}),
    "mapping": lambda: {
        who: part.set_index("item")[["tokens", "f1"]] for who, part in WIDE.groupby("respondent")
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_scores(form: str) -> None:
    quality = quality_of(RESPONSES, FORMS[form](), ["f1"])
    assert quality.items.to_dict() == pytest.approx(SCORES)
    assert quality.higher_is_better == {"tokens": False, "f1": True}


def test_metrics_of_the_responses_go_by_their_names() -> None:
    responses = RESPONSES.with_tables(metrics=LONG)
    assert quality_of(responses, ["tokens", "f1"], ["f1"]).items.to_dict() == pytest.approx(SCORES)
    assert quality_of(responses, "tokens", []).items.to_dict() == {"q1": 0, "q2": 0.75, "q3": 1}


def test_a_quality_standard_has_its_own_weights_and_directions() -> None:
    given = quality_standard(LONG, ["f1"], weights={"f1": 0, "tokens": 1}, scale="pooled")
    assert quality_of(RESPONSES, given, None) is given
    with pytest.raises(ValueError, match="leave higher_is_better= out"):
        quality_of(RESPONSES, given, ["f1"])


def test_a_direction_has_no_default_and_the_message_lists_what_needs_one() -> None:
    with pytest.raises(ValueError, match=r"higher_is_better= must name .*, of tokens, f1;.* \[\]"):
        quality_of(RESPONSES, WIDE, None)
    assert not any(quality_of(RESPONSES, WIDE, []).higher_is_better.values())


@pytest.mark.parametrize(
    ("column", "other", "message"),
    [
        ("respondent", "lama", "respondent 'lama', .*did you mean 'llama'.* theirs are gpt, llama"),
        ("item", "q9", "item 'q9', which the responses do not have"),
    ],
)
def test_a_label_that_the_responses_do_not_have_is_named(
    column: str, other: str, message: str
) -> None:
    table = WIDE.assign(**{column: [*WIDE[column][:-1], other]})
    with pytest.raises(ValueError, match=message):
        quality_of(RESPONSES, table, [])


def test_synthetic_respondents_have_no_metrics() -> None:
    crowd = add_synthetic(RESPONSES, ("always-right",))
    table = WIDE.replace({"respondent": {"llama": "always-right"}})
    with pytest.raises(ValueError, match="respondent 'always-right'"):
        quality_of(crowd, table, [])


@pytest.mark.parametrize("names", [["token"], "token", ("tokens", "token")])
def test_an_unknown_name_lists_those_there_are(names: Any) -> None:
    responses = RESPONSES.with_tables(metrics=LONG)
    with pytest.raises(ValueError, match=r"metrics='token' .*did you mean 'tokens'.* f1, tokens"):
        quality_of(responses, names, [])


def test_names_without_metrics_of_the_responses_say_what_to_give() -> None:
    with pytest.raises(ValueError, match="metrics='tokens' is no file, and the responses have no"):
        quality_of(RESPONSES, "tokens", [])
    with pytest.raises(ValueError, match="have no metrics"):
        quality_of(RESPONSES, [], [])


@pytest.mark.parametrize("given", [3, np.eye(2), [WIDE]])
def test_what_is_no_table_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"metrics must be a table, .*, got"):
        quality_of(RESPONSES, given, [])


@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        ({"respondent": "who"}, "no column is recognised as the respondents"),
        ({"tokens": "model", "respondent": "system"}, "several columns may be the respondent"),
    ],
)
def test_labels_that_are_not_recognised_are_to_be_renamed(
    renamed: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        quality_of(RESPONSES, WIDE.rename(columns=renamed), [])
