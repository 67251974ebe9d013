"""Claims about what people type: it works, or an error names what does."""

import re

import pytest

import irtkit
from irtkit.capabilities import ASKED

ITEMS = irtkit.ItemParameters.from_difficulty([1.0] * 30, [k / 10 - 1.5 for k in range(30)])
RESPONSES = irtkit.simulate_responses(ITEMS, [k / 15 - 2 for k in range(60)], seed=3)
ANSWERED = {word: answer.python for word, answer in ASKED.items() if word not in irtkit.__all__}
MISSPELT = {
    "read_logs": "irtkit.read_responses(path)",
    "find_mislabelled": "irtkit.audit(result)",
    "Rasch": "irtkit.fit(responses, 'Rasch')",
    "IRT": "irtkit.fit(responses)",
    "wright_map": "irtkit.plots.wright_map",
    "laederboard": "'leaderboard'",
    "item_fits": "'item_fit'",
    "read_response": "'read_responses'",
    "compare_system": "'compare_systems'",
    "flag_item": "'flag_items'",
    "AbilitiesResult": "irtkit.FitResult",
}


@pytest.fixture(scope="module")
def result():
    return irtkit.fit(RESPONSES)


@pytest.mark.parametrize(("name", "answer"), [*ANSWERED.items(), *MISSPELT.items()])
def test_a_name_that_people_type_is_answered_by_what_there_is(name, answer):
    with pytest.raises(AttributeError, match=re.escape(answer)):
        getattr(irtkit, name)


def test_a_result_answers_its_questions_or_names_what_does(result):
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
    for word, place in (
        ("systems", "result.respondents"),
        ("difficulty", "result.items['difficulty']"),
        ("plots", "irtkit.plots"),
        ("to_csv", "irtkit.write_table(result.items, path)"),
        ("loglik", "log_likelihood"),
    ):
        with pytest.raises(AttributeError, match=re.escape(place)):
            getattr(result, word)
    with pytest.raises(AttributeError, match=re.escape("audit.items['called']")):
        _ = result.audit().called
    with pytest.raises(AttributeError, match=r"health\.near_duplicates"):
        _ = result.health().duplicates
    with pytest.raises(AttributeError, match="is for several abilities"):
        _ = result.abilities
    assert not [name for name in dir(result) if name.startswith("_")]


def test_methods_are_the_functions(result, tmp_path):
    for name in ("audit", "leaderboard", "health", "compare_systems"):
        assert repr(getattr(result, name)()) == repr(getattr(irtkit, name)(result))
    new = RESPONSES.to_frame().head(3)
    assert result.score(new).equals(irtkit.score(new, result))
    result.report(tmp_path / "a.html")
    irtkit.report(result, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_functions_take_responses_and_saved_results(result, tmp_path):
    RESPONSES.to_frame().to_csv(tmp_path / "r.csv")
    result.save(tmp_path / "r.npz")
    board = repr(result.leaderboard())
    for given in (RESPONSES, RESPONSES.to_frame(), tmp_path / "r.csv", str(tmp_path / "r.npz")):
        assert repr(irtkit.leaderboard(given)) == board
    for name in ("item_fit", "flag_items", "wrong_keys", "similar_respondents", "local_dependence"):
        assert getattr(irtkit, name)(RESPONSES).equals(getattr(irtkit, name)(result))
    (tmp_path / "fit").mkdir()
    result.save(tmp_path / "fit" / "result.npz")
    for given in (result, str(tmp_path / "fit")):
        assert irtkit.gate(given, RESPONSES).verdict == irtkit.gate(RESPONSES, result).verdict
        assert irtkit.drift(given, given).shift == irtkit.drift(result, result).shift
    assert irtkit.report(tmp_path / "r.csv") == tmp_path / "r.html"
    with pytest.raises(FileExistsError, match=r"r\.html exists already"):
        irtkit.report(str(tmp_path / "r.csv"))
    irtkit.select_items(result, 5).save(tmp_path / "few.npz")
    with pytest.raises(ValueError, match="is a saved selection, which holds no responses"):
        irtkit.leaderboard(tmp_path / "few.npz")
    with pytest.raises(TypeError, match="result must be a FitResult, or responses"):
        irtkit.audit(3)
