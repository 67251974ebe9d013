"""Claims about trends of ability and time horizons."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

import irtkit
from irtkit.calibration.regression import latent_regression

ITEMS = irtkit.ItemParameters.from_difficulty(np.tile([0.8, 1.2], 20), np.linspace(-2, 2, 40))


def board(seed, n=60, *, missing=0.7):
    """Decimal years, and answers of systems whose ability rises by 0.8 SDs a year."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    x = (x - x.mean()) / x.std()
    off = generator.normal(size=n)
    off -= off.mean() + x * (off @ x) / n  # no luck of the line itself
    ability = 0.8 * x + 0.6 * off / off.std()
    values = irtkit.simulate_responses(ITEMS, ability, seed=generator).to_frame().to_numpy(float)
    values[generator.random(values.shape) < missing] = np.nan
    return 2024 + x, values


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_the_slope_is_that_of_ability_and_not_of_its_estimates():
    slopes, naive = [], []
    for seed in range(8):
        year, values = board(seed)
        result = irtkit.fit(values)
        naive.append(np.polyfit(year, result.ability, 1)[0])
        slopes.append(irtkit.trend(result, year).slope)
    assert np.mean(slopes) == pytest.approx(0.8, rel=0.1)
    assert np.mean(naive) < 0.65


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_the_error_is_that_of_a_line_where_abilities_are_nearly_known():
    year, _ = board(1)
    ability = 0.8 * (year - 2024) + 0.6 * np.random.default_rng(2).normal(size=60)
    items = irtkit.ItemParameters.from_difficulty(np.full(200, 2.0), np.linspace(-3, 3, 200))
    result = irtkit.fit(irtkit.simulate_responses(items, ability, seed=1))
    found = latent_regression(result, year)
    line = linregress(year, ability)
    assert np.tanh(found.z) == pytest.approx(line.rvalue, abs=0.02)
    ratio = 1 / (1 / line.rvalue**2 - 1)  # of variances: on the line, about it
    error = ((1 + ratio / 2) / (1 + ratio) / 58) ** 0.5  # of artanh r, given x
    assert found.se == pytest.approx(error, rel=0.1)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_dates_and_compute_come_in_several_ways_and_some_may_be_missing():
    year, values = board(2)
    result = irtkit.fit(values)
    labels = result.respondent_labels
    found = irtkit.trend(result, year)
    days = pd.to_datetime("1970-01-01") + pd.to_timedelta(np.round((year - 1970) * 365.25), "D")
    for given in (pd.Series(days, labels), [str(day.date()) for day in days]):
        assert irtkit.trend(result, given).slope == pytest.approx(found.slope, rel=0.01)
    table = pd.DataFrame({"flop": 2.0 ** (10 * year - 20000), "released": days}, labels)
    matrix = irtkit.ResponseMatrix(values, labels).with_tables(respondent_table=table)
    in_table = irtkit.fit(matrix)
    assert irtkit.trend(in_table, "released").slope == pytest.approx(found.slope, rel=0.01)
    by_compute = irtkit.trend(in_table, compute="flop")
    assert by_compute.slope == pytest.approx(found.slope / 10, rel=1e-3)
    assert by_compute.per == "doubling of compute"
    part = irtkit.trend(result, dict(zip(labels[5:], year[5:], strict=True)))
    assert part.systems.index.tolist() == list(labels[5:])
    table = found.systems
    assert (table["expected"].var(ddof=0) + found.residual_sd**2) == pytest.approx(1)
    shrunk = (table["ability"] - table["expected"]).std()
    assert shrunk < found.residual_sd


@pytest.mark.parametrize(("given", "words"), [
    ({"date": [20240101.0] * 4}, "date of 'respondent-1' must be a date such as"),
    ({"date": ["soon"] * 4}, "date of 'respondent-1' must be a date such as"),
    ({"date": [2024, 2025, None, None]}, "three systems"),
    ({"date": [2024] * 4}, "two different dates"),
    ({"compute": [1, 2, 3, 0]}, "compute of 'respondent-4' must be above 0"),
    ({}, "date or compute must be given"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_what_is_no_date_is_named(given, words):
    result = irtkit.fit([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]], "1PL")
    with pytest.raises(ValueError, match=words):
        irtkit.trend(result, **given)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_horizons_of_systems_and_their_doubling_time_are_found():
    generator = np.random.default_rng(4)
    year = 2023 + 3 * generator.random(16)
    ability = 1.5 * (year - 2024.5) + 0.5 * generator.normal(size=16)
    ability[0], length = -6.0, generator.uniform(-2, 9, 120)
    difficulty = 0.6 * (length - 3.5) + 1.5 * generator.normal(size=120)
    items = irtkit.ItemParameters.from_difficulty(np.ones(120), difficulty)
    responses = irtkit.simulate_responses(items, ability, seed=generator)
    result = irtkit.fit(responses, "1PL")
    found = irtkit.horizon(result, 2.0**length, year)
    table = found.systems.loc[list(result.respondent_labels)]
    assert table["status"].iloc[0] == "below the shortest task"
    true = 2.0 ** (ability / 0.6 + 3.5)
    kept = (table["status"] == "ok").to_numpy()
    held = (table["p50_low"] < true) & (true < table["p50_high"])
    assert held[kept].mean() > 0.7
    # over tasks of that length: σ(aθ − α − κt − ωz) averages 0.8
    z, weight = np.polynomial.hermite_e.hermegauss(40)
    ratio = np.log2((table["p50"] / table["p80"]).to_numpy())
    assert ratio == pytest.approx(ratio[0])
    p = 1 / (1 + np.exp(-found.slope * ratio[0] - found.residual_sd * z))
    assert (weight * p).sum() / weight.sum() == pytest.approx(0.8, abs=0.01)
    assert found.doubling_time is not None
    days, low, high = found.doubling_time
    assert low < days < high
    assert low < 365.25 * 0.6 / 1.5 < high
    with pytest.raises(ValueError, match="must rise"):
        irtkit.horizon(result, 2.0**-length)
    with pytest.raises(ValueError, match="minutes of 'item-1' must be above 0"):
        irtkit.horizon(result, -(2.0**length))
