"""Fit of items, respondents and pairs: R's mirt, definitions, and alarms."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import irtkit
from irtkit import fit
from irtkit.diagnostics import item_statistics
from irtkit.diagnostics.fitted import Fitted
from irtkit.diagnostics.limited_information import margins_of
from tests.crowds import drawn, fitted_tasks, of_two_tasks

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")


# Fit of items and respondents: R's mirt, naive definitions, alarms if a model holds or not
COMPLETE = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "wirs", "abortion")
    for model in ("Rasch", "1PL", "2PL")
]
GUESSING = [(name, "3PLnorm") for name in ("lsat6", "lsat7", "sat12")]
MISSING = [("sat12_missing", model) for model in ("Rasch", "1PL", "2PL")]


def by_mirt(expected, name):
    column = pd.DataFrame(expected["itemfit_S_X2"])[name]
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float)


@pytest.mark.parametrize(("name", "model"), COMPLETE + GUESSING)
def test_mean_squares_are_those_of_mirt(mirt_fit, name, model):
    result, expected = mirt_fit(name, model)
    table = irtkit.item_fit(result)
    # abilities of Rasch reach beyond mirt's grid there, and its EAP of the extremes differ by 0.01
    within = 2e-3 if (name, model) == ("abortion", "Rasch") else 1e-4
    for ours, theirs in (("infit", "infit"), ("outfit", "outfit")):
        assert table[ours].to_numpy() == pytest.approx(by_mirt(expected, theirs), abs=within)
        z = by_mirt(expected, f"z.{theirs}")
        assert table[f"{ours}_z"].to_numpy() == pytest.approx(z, abs=15 * within)


@pytest.mark.parametrize(("name", "model"), COMPLETE + GUESSING + MISSING)
def test_s_x2_and_its_degrees_of_freedom_agree_with_mirt(mirt_fit, name, model):
    result, expected = mirt_fit(name, model)
    table = irtkit.item_fit(result)
    found, df = by_mirt(expected, "S_X2"), by_mirt(expected, "df.S_X2")
    assert table["s_x2"].to_numpy() == pytest.approx(found, rel=1e-3, nan_ok=True)
    # mirt takes a common slope off for each item, and here it counts once
    shared = 1 - 1 / len(table) if model in {"1PL", "Rasch"} else 0.0
    own_df = np.nan_to_num(table["df"].to_numpy())
    assert own_df == pytest.approx(np.where(df > 0, df + shared, 0))
    share = result.evidence
    own = chi2.sf(share * table["s_x2"], table["df"])
    assert table["p_value"].to_numpy() == pytest.approx(own, nan_ok=True)
    if share == 1 and model in {"2PL", "3PLnorm"}:
        p = by_mirt(expected, "p.S_X2")
        assert table["p_value"].to_numpy() == pytest.approx(p, abs=1e-3, nan_ok=True)
    assert (table["status"] == "ok").tolist() == (df > 0).tolist()


def test_an_item_that_falls_again_is_found():
    values = drawn(1000, 30).values.copy()
    strength = np.argsort(np.argsort(values.sum(axis=1))) / 1000
    falls = np.exp(-0.5 * ((strength - 0.6) / 0.2) ** 2)
    values[:, 4] = np.random.default_rng(0).random(1000) < falls
    result = fit(irtkit.ResponseMatrix(values), standard_errors=False)
    table = irtkit.item_fit(result)
    assert table["s_x2"].idxmax() == "item-5"
    assert table.loc["item-5", "q_value"] < 1e-9
    assert np.flatnonzero(item_statistics.poorly_fitting(result, 0.05)).tolist() == [4]
    flagged = irtkit.flag_items(result, poor_fit=True)
    reasons = flagged["reasons"].map(lambda each: "poor_fit" in each)
    assert flagged.index[reasons].tolist() == ["item-5"]
    assert not any("poor_fit" in each for each in irtkit.flag_items(result)["reasons"])


def test_missing_cells_leave_mean_squares_and_take_rows_from_s_x2():
    values = drawn(600, 20).values.copy()
    values[:100, 3] = -1
    result = fit(irtkit.ResponseMatrix(values), standard_errors=False)
    table = irtkit.item_fit(result)
    assert (table["status"] == "ok").all()
    values[:, 7] = np.where(np.arange(600) % 2, values[:, 7], -1)
    values[250:, 8] = values[7] = -1
    table = irtkit.item_fit(fit(irtkit.ResponseMatrix(values), standard_errors=False))
    assert set(table["status"]) == {"missing responses"}
    assert table["infit"].notna().all()
    assert table[["s_x2", "df", "p_value", "q_value"]].isna().all(axis=None)


def test_few_respondents_give_nan_as_p_value():
    result = fit(drawn(25, 60), standard_errors=False)
    table = irtkit.item_fit(result)
    assert table["p_value"].isna().all()
    assert set(table["status"]) == {"too few respondents"}


def parts_of(n_items, guessing=0.0):
    generator = np.random.default_rng(n_items)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.4, n_items), generator.normal(size=n_items), guessing
    )
    nothing, one = np.zeros((1, n_items), np.int8), np.arange(1)
    return Fitted(nothing, np.zeros(1), items, np.eye(1), np.arange(n_items), one, None)


def curves(parts):
    nodes, weights = parts.grid()
    return nodes, parts.items.probability(nodes).T, weights


def test_shares_between_knots_are_interpolated():
    parts = parts_of(300)
    _, p, weights = curves(parts)
    scores, first = np.arange(60, 240), np.arange(0, 180, 12)
    n = np.random.default_rng(0).integers(1, 5, 180).astype(float)
    found = item_statistics.expected_right(parts.items, scores, n, first, parts.grid())
    expected = np.add.reduceat(
        item_statistics.by_recursion(p, weights)[:, scores - 1] * n, first, axis=1
    )
    groups = np.add.reduceat(n, first)
    assert found / groups == pytest.approx(expected / groups, abs=1e-4)


@pytest.mark.parametrize("model", ["2PL", "3PL"])
def test_zh_is_the_standardised_log_likelihood(model):
    values = drawn(150, 25, guessing=0.2 * (model == "3PL")).values.copy()
    values[::3, 4] = -1
    result = fit(irtkit.ResponseMatrix(values), model, standard_errors=False)
    p, zh = result.probability().to_numpy(), irtkit.respondent_fit(result)["zh"].to_numpy()
    for cells, curve, found in zip(values, p, zh, strict=True):
        y, right = cells[cells >= 0], curve[cells >= 0]
        q = 1 - right
        observed = np.log(np.where(y == 1, right, q)).sum()
        expected = (right * np.log(right) + q * np.log(q)).sum()
        variance = (right * q * np.log(right / q) ** 2).sum()
        assert found == pytest.approx((observed - expected) / variance**0.5)


def test_lz_agrees_with_snijders():
    result = fit(drawn(100, 25), standard_errors=False)
    slope, p = result.parameters.discrimination, result.probability().to_numpy()
    y, lz = result.responses.values, irtkit.respondent_fit(result)["lz"].to_numpy()
    for cells, right, found in zip(y, p, lz, strict=True):
        variance, w = right * (1 - right), np.log(right / (1 - right))
        c = (slope * variance * w).sum() / (slope**2 * variance).sum()  # r = a, P' = aP(1 − P)
        weight = w - c * slope
        total = ((cells - right) * weight).sum()
        assert found == pytest.approx(total / np.sqrt((weight**2 * variance).sum()))


def test_the_least_likely_answers_have_the_least_p_values():
    values = drawn(300, 30).values.copy()
    order = np.argsort(values.mean(axis=0))
    values[17, order] = np.arange(30) < 15  # the harder half right, the easier half wrong
    values[18, order] = np.arange(30) >= 15
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        table = irtkit.respondent_fit(fit(irtkit.ResponseMatrix(values), standard_errors=False))
    assert table["p_value"].idxmin() == "respondent-18"
    assert table["p_value"].iloc[17] < 1e-8
    assert table["p_value"].iloc[18] > 0.95
    assert table["lz"].corr(table["p_value"], method="spearman") > 0.99


@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.parametrize("abilities", ["task", 2])
def test_fit_is_judged_given_several_abilities(abilities):
    values = of_two_tasks(800, 30, seed=2)
    result = fitted_tasks(values, abilities)
    fit, people = irtkit.item_fit(result), irtkit.respondent_fit(result)
    assert (fit["q_value"] > 0.05).all()
    assert abs((people["p_value"] < 0.05).mean() - 0.05) < 0.02
    score = values[:, 1::2].sum(axis=1)
    extreme = np.abs(score - np.median(score)) > 3  # right among the best and the weakest
    values[:, 5] = np.random.default_rng(0).random(800) < np.where(extreme, 0.95, 0.05)
    values[7] = values.mean(axis=0) < 0.5  # hard items right, easy ones wrong
    result = fitted_tasks(values, abilities)
    assert irtkit.item_fit(result)["p_value"].idxmin() == "q5"
    assert irtkit.respondent_fit(result)["lz"].idxmin() == "respondent-8"
    assert "q5" in irtkit.flag_items(result, poor_fit=True).query("suspect").index


# Q3 against correlations written out, in blocks, with missing cells, and its expectation
@pytest.fixture(scope="module", params=["complete", "missing"])
def result(request):
    values = drawn(300, 20).values.copy()
    values[:150, 6] = values[:150, 3]
    if request.param == "missing":
        values[np.random.default_rng(0).random(values.shape) < 0.1] = -1
    with warnings.catch_warnings(action="ignore"):  # two items have more in common than ability
        return fit(irtkit.ResponseMatrix(values), standard_errors=False)


def all_pairs(result):
    table = irtkit.local_dependence(result, threshold=0.0, top=None)
    place = {label: k for k, label in enumerate(result.item_labels)}
    square = np.full((20, 20), np.nan)
    square[table["item"].map(place), table["other"].map(place)] = table["q3"]
    return square


def test_q3_is_the_correlation_of_residuals(result):
    y = result.responses.values
    residual = pd.DataFrame(np.where(y < 0, np.nan, y - result.probability().to_numpy()))
    expected = residual.corr().to_numpy()
    upper = np.triu_indices(20, 1)
    assert all_pairs(result)[upper] == pytest.approx(expected[upper], abs=1e-5)
    assert np.isnan(all_pairs(result)[np.tril_indices(20)]).all()


def test_items_asked_twice_come_first(result):
    table = irtkit.local_dependence(result)
    assert table.loc[0, ["item", "other"]].tolist() == ["item-4", "item-7"]
    assert table.loc[0, "p_value"] < 1e-6
    assert (table["q3"].abs() >= 0.2).all()
    assert table["q3"].abs().is_monotonic_decreasing
    assert len(irtkit.local_dependence(result, threshold=0.0, top=4)) == 4


def test_q3_is_where_it_is_expected_if_the_model_holds():
    tables = [
        irtkit.local_dependence(fit(drawn(1000, 20, seed), standard_errors=False), threshold=0.0)
        for seed in range(8)
    ]
    table = pd.concat(tables)
    assert table["q3"].mean() < -0.03
    assert table["excess"].mean() == pytest.approx(0, abs=0.006)
    assert (table["p_value"] < 0.05).mean() == pytest.approx(0.05, abs=0.02)


@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.parametrize("abilities", ["task", 2])
def test_dependence_is_beyond_several_abilities(abilities):
    values = of_two_tasks(800, 30, seed=9)
    copied = np.random.default_rng(0).random(800) < 0.6
    values[copied, 8] = values[copied, 20]
    pairs = irtkit.local_dependence(fitted_tasks(values, abilities), threshold=0.0, top=None)
    assert pairs.iloc[0][["item", "other"]].tolist() == ["q8", "q20"]
    others = pairs[~pairs["item"].isin(["q8", "q20"]) & ~pairs["other"].isin(["q8", "q20"])]
    assert abs(others["excess"].mean()) < 0.01
    assert 0.9 < others["excess"].std() * 800**0.5 < 1.1


# M2 against R's mirt, and against its definition with all matrices written out
BY_MIRT = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "wirs", "abortion")
    for model in ("Rasch", "1PL", "2PL")
    if (name, model) != ("abortion", "Rasch")
]


def written_out(margins):
    """M2 with Ξ, Δ and an orthogonal complement of Δ as matrices."""
    p, weights = margins.p, margins.weights
    n_items, one, other = len(p), *np.triu_indices(len(p), 1)
    alone = np.eye(n_items, dtype=bool)
    items = np.vstack([alone, alone[one] | alone[other]])  # of each moment

    def moments(items):
        return np.where(items[..., None], p, 1).prod(axis=-2) @ weights

    expected = moments(items)
    covariance = moments(items[:, None] | items) - np.multiply.outer(expected, expected)
    delta = []
    for k, kind in enumerate(margins.derivatives):
        rest = np.where((items[:, None] & ~alone)[..., None], p, 1).prod(axis=2)
        columns = items * ((rest * kind) @ weights)
        shared = margins.common_slope and k == 0
        delta.append(columns.sum(axis=1, keepdims=True) if shared else columns)
    tangent = np.hstack(delta)
    complement = np.linalg.svd(tangent)[0][:, tangent.shape[1] :]
    observed = np.concatenate([np.diag(margins.observed), margins.observed[one, other]])
    z = complement.T @ (observed - expected)
    return float(margins.n * z @ np.linalg.solve(complement.T @ covariance @ complement, z))


@pytest.mark.parametrize(("name", "model"), BY_MIRT)
def test_indices_agree_with_mirt(mirt_fit, name, model):
    result, mirt = mirt_fit(name, model)
    found, expected = irtkit.model_fit(result), mirt["M2"]
    assert found.m2 == pytest.approx(expected["M2"], rel=1e-3)
    assert found.degrees_of_freedom == expected["df"]
    assert found.p_value == pytest.approx(expected["p"], abs=1e-3)
    for ours, theirs in (("srmsr", "SRMSR"), ("cfi", "CFI"), ("tli", "TLI"), ("rmsea", "RMSEA")):
        assert getattr(found, ours) == pytest.approx(expected[theirs], abs=1e-4)
    interval = (expected["RMSEA_5"], expected["RMSEA_95"])
    assert (found.rmsea_low, found.rmsea_high) == pytest.approx(interval, abs=5e-4)


@pytest.mark.parametrize("model", ["Rasch", "3PL"])
def test_m2_is_its_definition(model):
    result = fit(drawn(400, 8, guessing=0.2 * (model == "3PL")), model, standard_errors=False)
    assert irtkit.model_fit(result).m2 == pytest.approx(written_out(margins_of(result)), rel=1e-9)


def test_two_abilities_are_rejected():
    generator = np.random.default_rng(0)
    ability = generator.normal(size=(800, 2))
    logits = np.repeat(1.5 * ability, 8, axis=1) + generator.normal(size=16)
    values = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.int8)
    result = fit(irtkit.ResponseMatrix(values), standard_errors=False)
    found = irtkit.model_fit(result)
    assert found.p_value < 1e-10
    assert found.rmsea_low > 0.05


def test_what_m2_is_not_for_is_refused():
    values = drawn(60, 6).values.copy()
    values[7, 2] = -1
    with pytest.raises(ValueError, match=r"complete responses, and 1 of 60 .* respondent-8\."):
        irtkit.model_fit(fit(irtkit.ResponseMatrix(values), standard_errors=False))
    with pytest.raises(ValueError, match=r"needs degrees of freedom: 3 items .* give 6 margins"):
        irtkit.model_fit(fit(drawn(200, 3), standard_errors=False))
    with pytest.raises(ValueError, match=r"at most 500 items, got 501. Try: irtkit.fit\(resp"):
        irtkit.model_fit(fit(drawn(20, 501), standard_errors=False))


@pytest.mark.filterwarnings("ignore::UserWarning")  # that respondents answer alike
def test_copies_have_the_weight_of_independent_respondents(monkeypatch):
    generator = np.random.default_rng(0)
    items = irtkit.ItemParameters.from_difficulty(np.ones(30), np.linspace(-1.5, 1.5, 30))
    values = irtkit.simulate_responses(items, generator.normal(size=150), seed=1).values
    copies = np.repeat(values, 6, axis=0)
    copies = np.where(generator.random(copies.shape) < 0.03, 1 - copies, copies)
    result = fit(irtkit.ResponseMatrix(copies), prior=None)
    found, pairs = irtkit.model_fit(result), irtkit.local_dependence(result, threshold=0, top=None)
    share = result.evidence
    assert share < 0.6
    assert found.p_value == pytest.approx(
        float(chi2.sf(share * found.m2, found.degrees_of_freedom))
    )
    monkeypatch.setattr(irtkit.FitResult, "evidence", 1.0)
    assert found.m2 == irtkit.model_fit(result).m2
    assert found.rmsea < 0.7 * irtkit.model_fit(result).rmsea
    as_many = irtkit.local_dependence(result, threshold=0, top=None)
    assert (pairs["p_value"] < 0.05).mean() < 0.15 < (as_many["p_value"] < 0.05).mean()
