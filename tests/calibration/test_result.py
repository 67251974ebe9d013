"""Tables, printing, findings, and results that come back from a file as they went."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.fitting import silently
from tests.crowds import crowd, fitted


# Tables, printing, settings, and results that come back from a file as they went
@pytest.fixture(scope="module")
def result():
    values = crowd("incomplete").responses.values[:60, :8]
    labels = ["007", "=1+1", "a,b", "<b>", "naïve", 'qu"ote', "8", "NA"]
    named = irtkit.ResponseMatrix(values, [f"m{k}" for k in range(60)], labels)
    return irtkit.fit(irtkit.add_synthetic(named, "always-right"))


def test_tables_have_the_columns_of_the_contract(result):
    assert list(result.items.columns) == [
        *("discrimination", "discrimination_se", "difficulty", "difficulty_se"),
        *("guessing", "guessing_se", "intercept", "intercept_se"),
        *("average_error", "expected_error", "n_responses", "p_negative", "status"),
    ]
    expected = ["ability", "ability_se", "board_se", "posterior_sd"]
    expected += ["accuracy", "n_responses", "synthetic"]
    assert list(result.respondents.columns) == expected
    assert (result.items.index.name, result.respondents.index.name) == ("item", "respondent")
    assert result.respondents["synthetic"].sum() == 1
    table = result.items
    table.iloc[0, 0] = 99.0
    assert result.items.iloc[0, 0] != 99.0


def test_probability_follows_labels_and_parameters(result):
    table = result.probability()
    assert table.shape == (61, 8)
    assert list(table.index) == list(result.respondent_labels)
    at = result.probability(pd.Series({"here": 0.5}))
    a, d = result.items["discrimination"], result.items["intercept"]
    assert at.loc["here"].to_numpy() == pytest.approx(1 / (1 + np.exp(-(a * 0.5 + d))), abs=1e-12)
    with pytest.raises(ValueError, match="abilities"):
        result.probability([np.nan])


@pytest.mark.parametrize("include", [True, False])
def test_a_saved_result_comes_back_equal(result, tmp_path, include):
    path = tmp_path / "fit.irt"
    result.save(path, include_responses=include)
    back = irtkit.load(path)
    for name in ("items", "respondents", "trace"):
        pd.testing.assert_frame_equal(getattr(back, name), getattr(result, name), check_exact=True)
    for name in ("settings", "quadrature", "aic", "bic", "findings"):
        assert getattr(back, name) == getattr(result, name)
    assert str(back) == str(result)
    assert back.responses == (result.responses if include else None)
    assert [p.name for p in tmp_path.iterdir()] == ["fit.irt"]
    back.save(tmp_path / "again", include_responses=include)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_the_same_fit_gives_the_same_bytes(result, tmp_path):
    result.save(tmp_path / "one")
    irtkit.fit(result.responses).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_near_copies_are_said_in_print_and_after_loading_without_responses(result, tmp_path):
    assert not result.near_duplicates.matter
    parents = np.random.default_rng(0).integers(0, 2, (20, 100))
    with silently():
        copied = irtkit.fit(irtkit.ResponseMatrix(np.repeat(parents, 10, axis=0)), "1PL")
    assert copied.evidence < 0.12
    (copies,) = (one for one in copied.findings if one.code == "near-duplicates")
    assert 15 < copies.values["n_eff"] < 22
    assert " ".join(str(copied).split()).count("Near-duplicates:") == 1
    copied.save(tmp_path / "fit", include_responses=False)
    assert str(irtkit.load(tmp_path / "fit")) == str(copied)


def test_criteria_are_those_of_akaike_and_schwarz():
    result = fitted("small", "1PL", prior=None)
    deviance, free = -2 * result.log_likelihood, 20 + 1
    assert result.aic == pytest.approx(deviance + 2 * free)
    assert result.bic == pytest.approx(deviance + free * np.log(60))


def test_a_small_slope_is_flat_unless_responses_show_that_it_is_not_0():
    items = irtkit.ItemParameters.from_difficulty([*[1.5] * 9, 0.15], np.linspace(-1, 1, 10))
    for n, status in ((50, "flat"), (5000, "ok")):
        ability = np.random.default_rng(0).normal(size=n)
        found = irtkit.fit(irtkit.simulate_responses(items, ability, seed=1)).items["status"]
        assert found.tolist() == ["ok"] * 9 + [status]


def test_settings_are_plain_values_of_what_concerns_the_fit(result):
    stated = json.loads(json.dumps(result.settings.to_dict()))
    assert stated["tol"] == result.settings.tol
    assert "devices" not in stated
    other = replace(result.settings, prior=None, devices=1).to_dict()
    assert other == {**stated, "prior": None, "devices": 1}


# Claims about the findings of a fit, and that all results repeat them
def drawn(seed, n, m, *, correlation=None, share=0.2):
    """Responses to items a share of which asks for a second ability, if a correlation is given."""
    generator = np.random.default_rng(seed)
    r = 1.0 if correlation is None else correlation
    theta = generator.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
    slope, difficulty = generator.lognormal(0, 0.3, m), generator.normal(size=m)
    ability = theta[:, (np.arange(m) < round(share * m)).astype(int)]
    p = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    return (generator.random((n, m)) < p).astype(np.int8)


def apart(values):
    """Half of the respondents on half of the items, and the others on the others."""
    n, m = values.shape
    kept = (np.arange(n) < n // 2)[:, None] == (np.arange(m) < m // 2)
    return np.where(kept, values, -1).astype(np.int8)


def fitted_with_caveats(values, *labels, **how):
    """A fit whose warnings, and no others, were raised, each once and by this line."""
    responses = (
        values
        if isinstance(values, irtkit.ResponseMatrix)
        else irtkit.ResponseMatrix(values, *labels)
    )
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = irtkit.fit(responses, **{"model": "2PL", "standard_errors": False, **how})
    assert tuple(str(one.message) for one in caught) == result.warnings
    assert {(one.category, one.filename) for one in caught} <= {(irtkit.IRTWarning, __file__)}
    assert [one.message.code for one in caught] == codes(result)
    return result


def codes(result):
    return [one.code for one in result.findings]


def test_one_ability_is_not_warned_of():
    for n, m in ((8, 30), (12, 140), (500, 20), (1000, 5)):
        assert fitted_with_caveats(drawn(0, n, m)).warnings == ()


@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL", "3PL"])
def test_a_second_ability_is_told_alike_by_every_model(model):
    result = fitted_with_caveats(drawn(0, 200, 100, correlation=-0.5), model=model)
    assert codes(result) == ["further-ability"]
    assert result.one_ability_doubted
    same = fitted_with_caveats(drawn(0, 200, 100, correlation=-0.5), model="1PL")
    assert result.findings[0].values == same.findings[0].values


def test_passages_are_groups_of_items_and_doubt_intervals_only():
    generator = np.random.default_rng(1)
    own = np.repeat(generator.normal(size=(200, 20)), 5, axis=1)
    z = generator.normal(size=(200, 1)) + own - generator.normal(size=100)
    result = fitted_with_caveats((generator.random(z.shape) < 1 / (1 + np.exp(-z))).astype(np.int8))
    assert codes(result) == ["item-groups"]
    assert not result.one_ability_doubted


def test_parts_without_a_response_in_common_are_listed_and_marked_in_the_tables(tmp_path):
    values = apart(drawn(0, 90, 40))
    result = fitted_with_caveats(values)
    assert codes(result) == ["disconnected-groups"]
    assert result.findings[0].values == {"n": 2, "sizes": ["45 × 20", "45 × 20"]}
    assert result.items["component"].tolist() == [1] * 20 + [2] * 20
    assert result.respondents["component"].tolist() == [1] * 45 + [2] * 45
    result.save(tmp_path / "fit", include_responses=False)
    back = irtkit.load(tmp_path / "fit")
    assert back.findings == result.findings
    assert back.items["component"].equals(result.items["component"])
    assert "component" not in fitted_with_caveats(drawn(0, 90, 40)).items
    linked = fitted_with_caveats(
        np.hstack([values, np.ones((90, 1), np.int8)])
    )  # by one that all get right
    assert codes(linked) == ["hardly-linked-groups"]
    assert linked.respondents["component"].tolist() == [1] * 45 + [2] * 45


def test_respondents_that_differ_by_chance_are_not_ranked_and_items_are_flat():
    values = np.random.default_rng(0).integers(0, 2, (30, 50)).astype(np.int8)
    for model in ("2PL", "1PL"):
        result = fitted_with_caveats(values, model=model)
        assert codes(result) == ["no-differences"]
        assert set(result.status) == {"flat"}
        assert not result.one_ability_doubted


def test_of_inverted_items_that_level_what_is_right_the_slopes_speak():
    items = irtkit.ItemParameters.from_difficulty([1.5, 1.5, -1.5, -1.5], [-0.5, 0.5, -0.5, 0.5])
    responses = irtkit.simulate_responses(items, np.random.default_rng(0).normal(size=600), seed=1)
    assert codes(fitted_with_caveats(responses)) == []
    assert codes(fitted_with_caveats(responses, model="1PL")) == ["no-differences"]


def test_fewer_than_eight_respondents_are_few():
    for n, few in ((1, True), (7, True), (8, False)):
        crowd = irtkit.add_synthetic(irtkit.ResponseMatrix(drawn(0, n, 50)), ("coin",), draws=10)
        found = [one for one in fitted_with_caveats(crowd).findings if one.code == "few-systems"]
        assert [one.values["n"] for one in found] == [n] * few
        assert all(one.values["model"] == "2PL" for one in found)


def test_warnings_are_printed_within_80_columns_and_kept(tmp_path):
    names = [f"a very long label of something {k}" for k in range(40)]
    result = fitted_with_caveats(
        apart(drawn(0, 6, 40)), names[:6], names, method=irtkit.EM(max_iterations=1)
    )
    assert codes(result) == ["not-converged", "disconnected-groups", "few-systems"]
    assert (result.converged, result.n_iterations) == (False, 1)
    assert result.warnings[0].endswith("Pass method=irtkit.EM(max_iterations=2)")
    printed = str(result)
    assert max(map(len, printed.splitlines())) <= 80
    for text in result.warnings:
        assert f"warning: {text}" in " ".join(printed.split())
    assert sum("responses component" in line for line in printed.splitlines()) == 2  # headings
    result.save(tmp_path / "fit")
    assert irtkit.load(tmp_path / "fit").findings == result.findings
    assert str(irtkit.load(tmp_path / "fit")) == printed


def test_items_without_errors_are_named_with_what_gives_them():
    generator = np.random.default_rng(15)
    values = (generator.random((9, 4)) < generator.random(4)).astype(np.int8)
    result = fitted_with_caveats(values, prior=None, standard_errors=True)
    lacking = result.items.index[result.items["difficulty_se"].isna()]
    (found,) = (one for one in result.findings if one.code == "no-standard-errors")
    assert found.values == {"n": len(lacking), "n_items": 4, "items": [*lacking]}
    assert str(found).endswith("Pass prior='weak'")
    assert fitted_with_caveats(values, standard_errors=True).items["difficulty_se"].notna().all()
    assert "no-standard-errors" not in codes(fitted_with_caveats(values, prior=None))
