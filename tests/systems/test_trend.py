"""Claims about trends of ability, time horizons and doubling times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.calibration.regression import latent_regression

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.irf import Array

ITEMS = irtkit.ItemParameters.from_difficulty(np.tile([0.8, 1.2], 20), np.linspace(-2, 2, 40))


def board(seed: int, n: int = 60, *, missing: float = 0.7) -> tuple[Array, Any]:
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


def known_items(labels: tuple[str, ...]) -> pd.DataFrame:
    parameters = {"discrimination": ITEMS.discrimination, "difficulty": ITEMS.difficulty}
    return pd.DataFrame(parameters, pd.Index(labels, name="item"))


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
@pytest.mark.parametrize(("held", "most"), [(True, 0.05), (False, 0.1)])
def test_the_slope_is_that_of_ability_and_not_of_its_estimates(held: bool, most: float) -> None:
    slopes, naive = [], []
    for seed in range(16):
        year, values = board(seed)
        result = irtkit.fit(values)
        naive.append(np.polyfit(year, result.ability, 1)[0])
        if held:
            result = irtkit.fit(values, fixed=known_items(result.item_labels))
        slopes.append(irtkit.trend(result, year).slope)
    assert np.mean(slopes) == pytest.approx(0.8, rel=most)
    assert np.mean(naive) < 0.65


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_errors_with_items_known_are_those_of_the_likelihood() -> None:
    # curvature by differences, the residual SD held
    year, values = board(1)
    labels = tuple(f"item-{k + 1}" for k in range(40))
    result = irtkit.fit(values, fixed=known_items(labels))
    found = latent_regression(result, year)
    theta = np.linspace(-8, 8, 400)
    p = ITEMS.probability(theta)[:, None]
    y, seen = np.nan_to_num(values), ~np.isnan(values)
    log = (np.where(seen, y * np.log(p) + (1 - y) * np.log1p(-p), 0.0)).sum(axis=2)

    def marginal(at: Any) -> float:
        line = at[0] + at[1] * (year - year.mean())
        prior = -0.5 * ((theta[:, None] - line) / found.sd) ** 2
        return float(np.log(np.exp(log + prior).sum(axis=0)).sum())

    best, h = found.coefficients, 1e-3
    for k in (0, 1):  # a maximum
        step = h * np.eye(2)[k]
        rise = marginal(best + step) - marginal(best - step)
        assert abs(rise / (2 * h)) < 0.05
    second = [
        [
            sum(
                i * j * marginal(best + h * (i * np.eye(2)[a] + j * np.eye(2)[b]))
                for i in (-1, 1)
                for j in (-1, 1)
            )
            / (4 * h**2)
            for a in (0, 1)
        ]
        for b in (0, 1)
    ]
    error = np.linalg.inv(-np.array(second))[1, 1] ** 0.5
    assert found.se == pytest.approx(error, rel=1e-3)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_dates_and_compute_come_in_several_ways_and_some_may_be_missing() -> None:
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
    assert "per doubling of compute" in str(by_compute)
    part = irtkit.trend(result, dict(zip(labels[5:], year[5:], strict=True)))
    assert part.systems["x"].isna().sum() == 5
    assert np.ptp(part.systems["expected"].head(5)) == 0
    assert "5 systems without a value" in " ".join(str(part).split())
    table = found.systems
    assert (table["expected"].var(ddof=0) + found.residual_sd**2) == pytest.approx(1)
    shrunk = (table["ability"] - table["expected"]).std()
    assert shrunk < found.residual_sd


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
@pytest.mark.parametrize("model", ["Rasch", "1PL", "3PL"])
def test_every_model_has_a_trend(model: Any) -> None:
    year, values = board(3, missing=0.3)
    found = irtkit.trend(irtkit.fit(values, model), year)
    assert 0.65 < found.slope < 1.0
    assert found.low < found.slope < found.high


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"date": [20240101.0] * 4}, "date of 'respondent-1' must be a date such as"),
        ({"date": ["soon"] * 4}, "date of 'respondent-1' must be a date such as"),
        ({"date": [2024, 2025, None, None]}, "three systems"),
        ({"date": [2024] * 4}, "two different dates"),
        ({"compute": [1, 2, 3, 0]}, "compute of 'respondent-4' must be above 0"),
        ({}, "date or compute must be given"),
    ],
)
@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_what_is_no_date_is_named(given: dict[str, Any], words: str) -> None:
    result = irtkit.fit([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]], "1PL")
    with pytest.raises(ValueError, match=words):
        irtkit.trend(result, **given)


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_errors_allow_for_dispersions_of_scores() -> None:
    generator = np.random.default_rng(0)
    year = 2020 + np.arange(30) / 5
    ability = year - 2023 + generator.normal(size=30)
    p = 1 / (1 + np.exp(-ability[:, None] - generator.normal(size=(30, 20))))
    result = irtkit.fit(np.round(p, 3))
    assert result.dispersion is not None
    found = irtkit.trend(result, year)
    wide = irtkit.trend(replace(result, dispersion=3 * result.dispersion), year)
    narrow = irtkit.trend(replace(result, dispersion=None), year)
    assert wide.slope == narrow.slope == found.slope
    assert wide.se > 1.05 * narrow.se


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_levels_have_no_trend_and_no_horizon() -> None:
    levels = [[(k + j) % 3 for j in range(4)] for k in range(12)]
    result = irtkit.fit(levels, "GPCM")
    with pytest.raises(ValueError, match="trend is not for the GPCM: fit the levels as scores"):
        irtkit.trend(result, list(range(2000, 2012)))
    with pytest.raises(ValueError, match="horizon is not for the GPCM"):
        irtkit.horizon(result, [1, 2, 4, 8])


@pytest.mark.filterwarnings("ignore::irtkit.IRTWarning")
def test_horizons_of_systems_and_their_doubling_time_are_found() -> None:
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
    assert found.doubling is not None
    assert found.doubling.n == kept.sum()
    assert found.doubling.low < 365.25 * 0.6 / 1.5 < found.doubling.high
    assert "Horizons double in" in str(found)
    with pytest.raises(ValueError, match="does not rise"):
        irtkit.horizon(result, 2.0**-length)
    with pytest.raises(ValueError, match="minutes of 'item-1' must be above 0"):
        irtkit.horizon(result, -(2.0**length))


def test_the_published_doubling_time_is_that_of_least_squares(shared_data: Path) -> None:
    table = pd.read_csv(shared_data / "metr_horizons_published.csv")
    best = table[table["state_of_the_art"] & (table["release_date"] >= "2023")]
    found = irtkit.doubling_time(best["p50_minutes"], best["release_date"])
    assert found.n == 14
    assert found.days == pytest.approx(128.744, abs=0.01)
    slower = irtkit.doubling_time([1, 3, 2, 2.5], [2020, 2021, 2022, 2023])
    assert slower.high == np.inf
    with pytest.raises(ValueError, match="must have one length"):
        irtkit.doubling_time([1, 2], [2020])
    with pytest.raises(ValueError, match="three systems"):
        irtkit.doubling_time([1, 2], [2020, 2021])
