"""Tables, printing, settings, and results that come back from a file as they went."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import (
    FitResult,
    ItemParameters,
    ResponseMatrix,
    add_synthetic,
    fit,
    load,
    simulate_responses,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> FitResult:
    generator = np.random.default_rng(2)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 8), generator.normal(size=8)
    )
    responses = irtkit.simulate_responses(items, generator.normal(size=60), missing=0.1, seed=3)
    labels = ["007", "=1+1", "a,b", "<b>", "naïve", 'qu"ote', " ", "NA"]
    labels[6] = "8"
    named = ResponseMatrix(responses.values, [f"m{k}" for k in range(60)], labels)
    return fit(add_synthetic(named, "always-right"), "2PL", standard_errors=True)


def same(one: FitResult, other: FitResult) -> None:
    pd.testing.assert_frame_equal(one.items, other.items, check_exact=True)
    pd.testing.assert_frame_equal(one.respondents, other.respondents, check_exact=True)
    pd.testing.assert_frame_equal(one.trace, other.trace, check_exact=True)
    assert str(one) == str(other)
    assert (one.settings, one.quadrature) == (other.settings, other.quadrature)
    assert (one.aic, one.bic, one.converged) == (other.aic, other.bic, other.converged)


def test_tables_have_the_columns_of_the_contract(result: FitResult) -> None:
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


def test_average_error_is_the_share_wrong_of_observed_real_responses(result: FitResult) -> None:
    assert result.responses is not None
    real = result.responses.values[:-1]
    wrong = (real == 0).sum(axis=0) / (real >= 0).sum(axis=0)
    assert result.items["average_error"].to_numpy() == pytest.approx(wrong, abs=1e-15)


def test_probability_follows_labels_and_parameters(result: FitResult) -> None:
    table = result.probability()
    assert table.shape == (61, 8)
    assert list(table.index) == list(result.respondent_labels)
    at = result.probability(pd.Series({"here": 0.5}))
    a, d = result.items["discrimination"], result.items["intercept"]
    assert at.loc["here"].to_numpy() == pytest.approx(1 / (1 + np.exp(-(a * 0.5 + d))), abs=1e-12)
    with pytest.raises(ValueError, match="abilities"):
        result.probability([np.nan])


@pytest.mark.parametrize("include", [True, False])
def test_a_saved_result_comes_back_equal(result: FitResult, tmp_path: Path, include: bool) -> None:
    path = tmp_path / "fit.irt"
    result.save(path, include_responses=include)
    back = load(path)
    same(result, back)
    assert back.responses == (result.responses if include else None)
    assert [p.name for p in tmp_path.iterdir()] == ["fit.irt"]
    np.testing.assert_array_equal(back.verdict.wrong_key, result.verdict.wrong_key)
    assert back.near_duplicates[:3] == result.near_duplicates[:3]
    back.save(tmp_path / "again", include_responses=include)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.filterwarnings("ignore:Not unidimensional")
def test_near_copies_are_said_in_print_and_after_loading_without_responses(
    result: FitResult, tmp_path: Path
) -> None:
    assert not result.near_duplicates.found
    parents = np.random.default_rng(0).integers(0, 2, (20, 100))
    with pytest.warns(UserWarning, match="No ability differences"):
        crowd = fit(ResponseMatrix(np.repeat(parents, 10, axis=0)), "1PL")
    assert crowd.evidence < 0.12
    (copies,) = (one for one in crowd.findings if one.code == "near-duplicates")
    assert 15 < copies.values["n_eff"] < 22
    assert " ".join(str(crowd).split()).count("Near-duplicates:") == 1
    crowd.save(tmp_path / "fit", include_responses=False)
    assert str(load(tmp_path / "fit")) == str(crowd)


def test_without_responses_or_a_saved_verdict_there_is_none(result: FitResult) -> None:
    bare = replace(result, responses=None)
    assert np.isnan(bare.verdict.p_negative).all()
    assert np.isnan(bare.verdict.wrong_key).all()
    assert bare.items["p_negative"].isna().all()


def test_the_same_fit_gives_the_same_bytes(result: FitResult, tmp_path: Path) -> None:
    assert result.responses is not None
    again = fit(result.responses, "2PL", standard_errors=True)
    result.save(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("damage", ["cut", "flipped", "short", "nameless"])
def test_a_damaged_file_is_refused_by_name(result: FitResult, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "fit.irt"
    result.save(path)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[200:260] = bytes(60)
        path.write_bytes(content)
    else:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        arrays["ability"] = arrays["ability"][:-1]
        if damage == "nameless":
            del arrays["ability"]
        with path.open("wb") as handle:
            np.savez(handle, **arrays)
    with pytest.raises(ValueError, match=r"fit\.irt is not a"):
        load(path)


def test_changing_a_table_does_not_change_the_result(result: FitResult) -> None:
    table = result.items
    table.iloc[0, 0] = 99.0
    assert result.items.iloc[0, 0] != 99.0


def test_metrics_add_a_column_and_change_nothing_else(tmp_path: Path) -> None:
    items = ItemParameters.from_difficulty(np.ones(4), [-1.0, 0.0, 0.5, 1.0])
    responses = simulate_responses(items, np.linspace(-2, 2, 20), seed=0)
    rows = [(who, "item-1", 1.0) for who in responses.respondents[:3]]
    rows += [(responses.respondents[0], f"item-{k}", k / 2) for k in (2, 3)]
    table = pd.DataFrame(rows, columns=["respondent", "item", "seconds"])
    plain = fit(responses, "1PL")
    result = fit(responses, "1PL").with_quality_standard(table, {"seconds": False})
    scores = result.items.pop("quality_standard")
    assert "quality_standard" not in plain.items
    pd.testing.assert_frame_equal(result.items.drop(columns="quality_standard"), plain.items)
    columns = list(result.items)
    assert columns[columns.index("average_error") :][:3] == [
        *("average_error", "expected_error", "quality_standard")
    ]
    assert scores.tolist() == pytest.approx([0, 0, 1, np.nan], nan_ok=True)  # item-1: 1, 1, 1.5
    said = "Lower is better for seconds. 1 item without a score"
    assert said in " ".join(str(result).split())
    result.save(tmp_path / "r.npz")
    again = load(tmp_path / "r.npz")
    pd.testing.assert_frame_equal(again.items, result.items)
    assert again.settings == result.settings
    assert str(again) == str(result)


def test_who_answered_nothing_and_what_nobody_answered_counts_in_no_criterion() -> None:
    items = ItemParameters.from_difficulty(np.linspace(0.8, 1.4, 6), np.linspace(-1, 1, 6))
    values = simulate_responses(items, np.random.default_rng(3).normal(size=300), seed=4).values
    wider = np.full((340, 8), -1)
    wider[:300, :6] = values
    for model in ("1PL", "2PL"):
        plain, padded = (
            fit(ResponseMatrix(cells), model, prior=None, standard_errors=False)
            for cells in (values, wider)
        )
        assert padded.n_parameters == plain.n_parameters
        assert padded.aic == pytest.approx(plain.aic, abs=1e-3)
        assert padded.bic == pytest.approx(plain.bic, abs=1e-3)


def test_items_that_synthetic_respondents_alone_answered_count_no_parameters() -> None:
    values = np.array([[1, 0, -1], [0, 1, -1], [1, 1, -1], [0, 0, -1], [1, 1, 1]])
    matrix = ResponseMatrix(values, synthetic=[False] * 4 + [True])
    assert fit(matrix, "2PL").n_parameters == 4


def test_criteria_under_a_prior_are_marked_in_print() -> None:
    matrix = ResponseMatrix([[1, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]] * 20)
    assert "AIC* " in str(fit(matrix, "1PL"))
    assert "leave out the prior" in str(fit(matrix, "1PL"))
    assert "AIC* " not in str(fit(matrix, "1PL", prior=None))


def test_ability_rises_though_the_able_met_harder_items_and_got_less_right() -> None:
    generator = np.random.default_rng(4)
    abilities = np.repeat([1.0, -1.0], 20)
    difficulty = np.concatenate([np.zeros(60), np.full(100, 2.5), np.full(100, -2.5)])
    items = irtkit.ItemParameters.from_difficulty(np.ones(260), difficulty)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values.copy()
    values[:20, 160:] = values[20:, 60:160] = -1
    result = irtkit.fit(irtkit.ResponseMatrix(values), "2PL")
    able = result.respondents.iloc[:20]
    assert able["accuracy"].mean() < result.respondents["accuracy"].mean()
    assert able["ability"].min() > 0
    assert result.parameters.discrimination[:60].mean() > 0.5


def test_settings_are_plain_values_of_what_concerns_the_fit(result: FitResult) -> None:
    stated = json.loads(json.dumps(result.settings.to_dict()))
    assert stated["tol"] == result.settings.tol
    assert "devices" not in stated
    assert replace(result.settings, prior=None, devices=1).to_dict() == {
        **stated,
        "prior": None,
        "devices": 1,
    }
