"""Claims about what people type: it works, or an error names what does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import irtkit
from irtkit.capabilities import ASKED

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = irtkit.ItemParameters.from_difficulty([1.0] * 30, [k / 10 - 1.5 for k in range(30)])
RESPONSES = irtkit.simulate_responses(ITEMS, [k / 15 - 2 for k in range(60)], seed=3)
ANSWERED = {word: answer.python for word, answer in ASKED.items() if word not in irtkit.__all__}
MISSPELT = {
    "laederboard": "'leaderboard'",
    "item_fits": "'item_fit'",
    "read_response": "'read_responses'",
    "compare_system": "'compare_systems'",
    "flag_item": "'flag_items'",
    "AbilitiesResult": "irtkit.FitResult",
}


@pytest.fixture(scope="module")
def result() -> irtkit.FitResult:
    return irtkit.fit(RESPONSES)


@pytest.mark.parametrize(("name", "answer"), [*ANSWERED.items(), *MISSPELT.items()])
def test_a_name_that_people_type_is_answered_by_what_there_is(name: str, answer: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(answer)):
        getattr(irtkit, name)


def test_a_result_answers_its_questions_or_names_what_does(result: Any) -> None:
    assert {"audit", "leaderboard", "health", "compare_systems", "score", "report"} <= {
        *dir(result)
    }
    for word, answer in ASKED.items():
        if word not in dir(result):
            of_result = answer.python.replace("irtkit.fit(responses)", "result")
            with pytest.raises(AttributeError, match=re.escape(of_result)):
                getattr(result, word)
    with pytest.raises(AttributeError, match=r"is the function irtkit\.select_items"):
        _ = result.select_items
    with pytest.raises(AttributeError, match="did you mean 'leaderboard'"):
        _ = result.leaderbord
    with pytest.raises(AttributeError, match="is for several abilities"):
        _ = result.abilities
    assert not [name for name in dir(result) if name.startswith("_")]


def test_methods_are_the_functions(result: Any, tmp_path: Path) -> None:
    for name in ("audit", "leaderboard", "health", "compare_systems"):
        assert repr(getattr(result, name)()) == repr(getattr(irtkit, name)(result))
    new = RESPONSES.to_frame().head(3)
    assert result.score(new).equals(irtkit.score(new, result))
    result.report(tmp_path / "a.html")
    irtkit.report(result, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_functions_take_responses_and_saved_results(result: Any, tmp_path: Path) -> None:
    RESPONSES.to_frame().to_csv(tmp_path / "r.csv")
    result.save(tmp_path / "r.npz")
    board = repr(result.leaderboard())
    for given in (RESPONSES, RESPONSES.to_frame(), tmp_path / "r.csv", str(tmp_path / "r.npz")):
        assert repr(irtkit.leaderboard(given)) == board
    for name in ("item_fit", "flag_items", "wrong_keys", "similar_respondents", "local_dependence"):
        assert getattr(irtkit, name)(RESPONSES).equals(getattr(irtkit, name)(result))
    with pytest.raises(TypeError, match="result must be a FitResult, or responses"):
        irtkit.audit(3)
