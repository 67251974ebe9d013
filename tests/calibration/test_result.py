"""Tables, printing, settings, and results that come back from a file as they went."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    load,
    simulate_responses,
)
from irtkit.fitting import silently
from tests.crowds import crowd, fitted


@pytest.fixture(scope="module")
def result():
    values = crowd("incomplete").responses.values[:60, :8]
    labels = ["007", "=1+1", "a,b", "<b>", "naïve", 'qu"ote', "8", "NA"]
    named = ResponseMatrix(values, [f"m{k}" for k in range(60)], labels)
    return fit(add_synthetic(named, "always-right"))


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


def test_average_error_is_the_share_wrong_of_observed_real_responses(result):
    assert result.responses is not None
    real = result.responses.values[:-1]
    wrong = (real == 0).sum(axis=0) / (real >= 0).sum(axis=0)
    assert result.items["average_error"].to_numpy() == pytest.approx(wrong, abs=1e-15)


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
    back = load(path)
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
    fit(result.responses).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_near_copies_are_said_in_print_and_after_loading_without_responses(result, tmp_path):
    assert not result.near_duplicates.matter
    parents = np.random.default_rng(0).integers(0, 2, (20, 100))
    with silently():
        copied = fit(ResponseMatrix(np.repeat(parents, 10, axis=0)), "1PL")
    assert copied.evidence < 0.12
    (copies,) = (one for one in copied.findings if one.code == "near-duplicates")
    assert 15 < copies.values["n_eff"] < 22
    assert " ".join(str(copied).split()).count("Near-duplicates:") == 1
    copied.save(tmp_path / "fit", include_responses=False)
    assert str(load(tmp_path / "fit")) == str(copied)


def test_without_responses_or_a_saved_verdict_there_is_none(result):
    assert replace(result, responses=None).items["p_negative"].isna().all()


@pytest.mark.parametrize("damage", ["cut", "short", "nameless"])
def test_a_damaged_file_is_refused_by_name(result, tmp_path, damage):
    path = tmp_path / "fit.irt"
    result.save(path)
    if damage == "cut":
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    else:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        shorter = arrays.pop("ability")[:-1]
        with path.open("wb") as handle:
            np.savez(handle, **arrays, **({"ability": shorter} if damage == "short" else {}))
    with pytest.raises(ValueError, match=r"fit\.irt is not a"):
        load(path)


def test_metrics_add_a_column_and_change_nothing_else(tmp_path):
    items = ItemParameters.from_difficulty(np.ones(4), [-1.0, 0.0, 0.5, 1.0])
    responses = simulate_responses(items, np.linspace(-2, 2, 20), seed=0)
    rows = [(who, "item-1", 1.0) for who in responses.respondents[:3]]
    rows += [(responses.respondents[0], f"item-{k}", k / 2) for k in (2, 3)]
    table = pd.DataFrame(rows, columns=["respondent", "item", "seconds"])
    plain = fit(responses, "1PL")
    result = plain.with_quality_standard(table, higher_is_better=[])
    columns = list(result.items)
    assert columns.index("quality_standard") == columns.index("expected_error") + 1
    pd.testing.assert_frame_equal(result.items.drop(columns="quality_standard"), plain.items)
    scores = result.items["quality_standard"].tolist()
    assert scores == pytest.approx([0, 0, 1, np.nan], nan_ok=True)  # item-1: 1, 1, 1.5
    said = "Lower is better for seconds. 1 item without a score"
    assert said in " ".join(str(result).split())
    result.save(tmp_path / "r.npz")
    assert str(load(tmp_path / "r.npz")) == str(result)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_who_answered_nothing_and_what_nobody_answered_counts_in_no_criterion(model):
    values = crowd("ordinary").responses.values[:, :6]
    padded = np.pad(values, ((0, 40), (0, 2)), constant_values=-1)
    plain, wider = (
        fit(ResponseMatrix(cells), model, prior=None, standard_errors=False)
        for cells in (values, padded)
    )
    assert wider.n_parameters == plain.n_parameters
    assert (wider.aic, wider.bic) == pytest.approx((plain.aic, plain.bic), abs=1e-3)


def test_items_that_synthetic_respondents_alone_answered_count_no_parameters():
    values = np.array([[1, 0, -1], [0, 1, -1], [1, 1, -1], [0, 0, -1], [1, 1, 1]])
    matrix = ResponseMatrix(values, synthetic=[False] * 4 + [True])
    assert fit(matrix, "2PL").n_parameters == 4


def test_criteria_are_those_of_akaike_and_schwarz():
    result = fitted("small", "1PL", prior=None)
    deviance, free = -2 * result.log_likelihood, 20 + 1
    assert result.aic == pytest.approx(deviance + 2 * free)
    assert result.bic == pytest.approx(deviance + free * np.log(60))


def test_ability_rises_though_the_able_met_harder_items_and_got_less_right():
    generator = np.random.default_rng(4)
    abilities = np.repeat([1.0, -1.0], 20)
    difficulty = np.concatenate([np.zeros(60), np.full(100, 2.5), np.full(100, -2.5)])
    items = ItemParameters.from_difficulty(np.ones(260), difficulty)
    values = simulate_responses(items, abilities, seed=generator).values.copy()
    values[:20, 160:] = values[20:, 60:160] = -1
    result = fit(ResponseMatrix(values))
    able = result.respondents.iloc[:20]
    assert able["accuracy"].mean() < result.respondents["accuracy"].mean()
    assert able["ability"].min() > 0
    assert result.parameters.discrimination[:60].mean() > 0.5


def test_a_small_slope_is_flat_unless_responses_show_that_it_is_not_0():
    items = ItemParameters.from_difficulty([*[1.5] * 9, 0.15], np.linspace(-1, 1, 10))
    for n, status in ((50, "flat"), (5000, "ok")):
        ability = np.random.default_rng(0).normal(size=n)
        found = fit(simulate_responses(items, ability, seed=1)).items["status"]
        assert found.tolist() == ["ok"] * 9 + [status]


def test_settings_are_plain_values_of_what_concerns_the_fit(result):
    stated = json.loads(json.dumps(result.settings.to_dict()))
    assert stated["tol"] == result.settings.tol
    assert "devices" not in stated
    other = replace(result.settings, prior=None, devices=1).to_dict()
    assert other == {**stated, "prior": None, "devices": 1}
