"""Information and reliability: R's mirt, sums written out, and whom items still separate."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from irtkit import ItemParameters, fit, information, simulate_responses

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

BY_MIRT = [
    (name, model)
    for name in ("lsat6", "lsat7", "sat12", "sat12_missing", "wirs", "abortion")
    for model in ("1PL", "2PL")
] + [(name, "3PLnorm") for name in ("lsat6", "lsat7", "sat12")]


@pytest.mark.parametrize(("name", "model"), BY_MIRT)
def test_reliabilities_agree_with_mirt(mirt_fit, name, model):
    result, mirt = mirt_fit(name, model)
    told = information(result)
    assert told.marginal_reliability == pytest.approx(mirt["rxx_marginal"], abs=1e-4)
    assert told.empirical_reliability == pytest.approx(mirt["empirical_rxx"], abs=1e-4)


@pytest.fixture(scope="module")
def result():
    generator = np.random.default_rng(0)
    items = ItemParameters.from_difficulty(generator.lognormal(0, 0.2, 60), np.linspace(-3, 1, 60))
    ability = np.linspace(-2, 2, 200)
    responses = simulate_responses(items, ability, seed=generator)
    dates = pd.Timestamp("2023-02-01") + pd.to_timedelta(np.arange(200) * 5, unit="D")
    table = pd.DataFrame({"date": dates.astype(str), "family": ["a", "b"] * 100})
    table.index = pd.Index(responses.respondents)
    return fit(responses.with_tables(None, table), standard_errors=False)


@pytest.mark.parametrize("model", ["2PL", "Rasch"])
def test_the_information_of_an_item_is_its_mean_over_the_population(result, model):
    given = result if model == "2PL" else fit(result.responses, "Rasch", standard_errors=False)
    told = information(given)
    for k in (0, 25, 59):
        item = given.parameters.chosen(np.array([k]))

        def weighed(z, item=item):
            return float(item.information([given.latent_sd * z])[0, 0] * norm.pdf(z))

        mean = quad(weighed, -8, 8)[0]
        assert told.items["information"].iloc[k] == pytest.approx(mean, rel=1e-4)
        top = given.ability[[given.respondent_labels.index(name) for name in told.top]]
        at_top = item.information(top).mean()
        assert told.items["information_top"].iloc[k] == pytest.approx(at_top)


def test_the_curve_is_the_sum_over_items(result):
    curve = information(result, [-1.0, 0.5]).curve
    expected = result.parameters.information([-1.0, 0.5]).sum(axis=1)
    assert curve["information"].to_numpy() == pytest.approx(expected)
    assert curve["standard_error"].to_numpy() == pytest.approx(expected**-0.5)
    assert curve["reliability"].to_numpy() == pytest.approx(expected / (expected + 1))
    right = result.probability([-1.0, 0.5]).mean(axis=1).to_numpy()
    assert curve["expected_score"].to_numpy() == pytest.approx(right)
    assert len(information(result).curve) == 33


def test_items_that_separate_the_top_are_the_hard_ones(result):
    told = information(result, top=5)
    ablest = result.respondents["ability"].nlargest(5)
    assert told.top == tuple(ablest.index)
    items = told.items
    assert items["information_top"].to_numpy() == pytest.approx(
        result.parameters.information(ablest.to_numpy()).mean(axis=0)
    )
    held = items.loc[items["separates_top"], "information_top"]
    least, total = held.min(), items["information_top"].sum()
    assert held.sum() - least < 0.9 * total <= held.sum()
    assert least >= items.loc[~items["separates_top"], "information_top"].max()
    assert result.items.loc[held.index, "difficulty"].mean() > result.items["difficulty"].mean()


@pytest.mark.parametrize("kind", ["right and wrong", "fractions", "trials", "missing"])
def test_reliability_is_the_squared_correlation_with_true_abilities(kind):
    generator = np.random.default_rng(1)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 60), generator.normal(size=60)
    )
    ability = generator.normal(size=300)
    p, how = items.probability(ability), {"trials": {"trials": 4}, "missing": {"missing": 0.5}}
    responses = simulate_responses(items, ability, seed=generator, **how.get(kind, {}))
    found = fit(generator.beta(8 * p, 8 * (1 - p)) if kind == "fractions" else responses)
    reached = np.corrcoef(found.ability, ability)[0, 1] ** 2
    told = information(found)
    assert found.reliability == pytest.approx(reached, abs=0.02)
    assert told.empirical_reliability == pytest.approx(reached, abs=0.02)
    if kind != "missing":  # The marginal one is of respondents who answer all items.
        assert told.marginal_reliability == pytest.approx(reached, abs=0.02)
    assert found.health().table.loc["all", "reliability"] == pytest.approx(found.reliability)


def test_arguments_out_of_range_are_refused(result):
    with pytest.raises(ValueError, match="abilities must be a list of finite numbers"):
        information(result, [np.nan])
    with pytest.raises(ValueError, match="standard_error"):
        information(result).items_needed(0)
