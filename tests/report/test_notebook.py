"""Claims about what notebooks show."""

import pickle
import re
import warnings
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

import irtkit
from tests.crowds import fitted


def shown(result):
    """Everything that has a face of its own."""
    with warnings.catch_warnings(action="ignore"):
        return {
            "result": result,
            "responses": result.responses,
            "audit": irtkit.audit(result),
            "comparison": irtkit.compare_difficulties(result, folds=0),
            "health": result.health(),
            "leaderboard": result.leaderboard(),
            "systems": irtkit.compare_systems(result, *result.respondent_labels[-2:]),
        }


@pytest.mark.parametrize("which", ["digits", "hostile"])
def test_results_are_shown_in_words_and_small_tables(which, request):
    written = request.getfixturevalue(which)
    for name, one in shown(written.result).items():
        html = one._repr_html_()
        root = ET.fromstring(html)  # noqa: S314  # our own
        assert root.get("class") == "irtkit"
        assert root.find(".//table") is not None, name
        assert len(html) < 40_000, name
        assert not re.search(r"<script|<img|<style|\x1b", html), name
        names = {attribute for one in root.iter() for attribute in one.attrib}
        assert not {"id", "style", "src", "href"} & names
        assert not any(attribute.startswith("on") for attribute in names)
        if which == "hostile" and name in {"audit", "leaderboard", "result"}:
            assert written.labels[0] in "".join(root.itertext())
        if name != "leaderboard":  # where they are quoted, they are one line
            assert "\n" not in repr(one), name
            assert len(repr(one)) < 120, name


def test_a_row_of_a_leaderboard_agrees_with_the_table(digits):
    with warnings.catch_warnings(action="ignore"):
        board = digits.result.leaderboard()
    root = ET.fromstring(board._repr_html_())  # noqa: S314  # our own
    first = ["".join(cell.itertext()) for cell in root.findall(".//tbody/tr")[0]]
    row = board.iloc[0]
    between, score = f"1…{row['rank_high']}", f"{100 * row['expected_score']:.1f}"
    assert [first[0], *first[2:6]] == [board.index[0], "1", between, "a", score]
    headings = {cell.text for cell in root.findall(".//thead/tr/th")}
    legend = "".join(text for one in root.findall("p") for text in one.itertext())
    assert headings >= {*re.findall(r"(?:^|[;.] ?)(\w+): ", legend)}
    assert type(board) is pd.DataFrame
    assert "irtkit" not in board.head(2)._repr_html_()
    assert "irtkit" not in pickle.loads(pickle.dumps(board))._repr_html_()  # noqa: S301  # our own


def test_a_fit_shows_curves_of_items_called_negative_alone(inverted):
    assert irtkit.fit(inverted())._repr_html_().count("<svg") == 3
    values = inverted().values
    assert irtkit.fit(values, abilities=2)._repr_html_().count("<svg") == 3
    assert "<svg" not in fitted("ordinary")._repr_html_()
