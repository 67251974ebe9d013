"""Claims about two calibrations put on one scale."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from irtkit import ItemParameters, fit, link, simulate_responses
from irtkit.scoring import LINKS


def table(slopes, difficulties, guessing=0.0):
    columns = {"a": slopes, "b": difficulties, "c": guessing}
    return pd.DataFrame(columns, [f"q{k}" for k in range(len(slopes))])


@pytest.mark.parametrize("method", LINKS)
@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_a_known_shift_and_scale_is_recovered(method, guessing):
    generator = np.random.default_rng(0)
    first = table(generator.lognormal(0, 0.4, 30), generator.normal(size=30), guessing)
    second = table(first["a"] * 0.73, (first["b"] + 1.4) / 0.73, guessing)
    linking = link(first, second.sample(frac=1, random_state=1), method)
    assert linking.slope == pytest.approx(0.73, abs=1e-6)
    assert linking.intercept == pytest.approx(-1.4, abs=1e-6)
    assert linking.ability(2.0) == pytest.approx(0.06, abs=1e-5)
    drifted = second.assign(b=second["b"] + [0.5, *[0.0] * 29])
    moved = link(first, drifted, method).items["difference"]
    assert moved.iloc[0] - moved.iloc[1:].mean() == pytest.approx(0.5 * 0.73, abs=0.03)


def test_drifting_items_are_named_and_constants_are_within_their_errors():
    """Two of 40 items harder by 1, ten draws: of 380 others hardly one is named."""
    off, found, wrongly = [], 0, 0
    for seed in range(10):
        generator = np.random.default_rng(seed)
        slopes, difficulty = generator.lognormal(0, 0.3, 40), generator.normal(size=40)
        items = ItemParameters.from_difficulty(slopes, difficulty)
        later = ItemParameters.from_difficulty(slopes, difficulty + (np.arange(40) < 2))
        ability = generator.normal(size=(2, 600))
        first = fit(simulate_responses(items, ability[0], seed=generator))
        second = fit(simulate_responses(later, 0.7 + 0.8 * ability[1], seed=generator))
        linking = link(first, second)
        off.append((linking.slope - 0.8) / linking.slope_se)
        off.append((linking.intercept - 0.7) / linking.intercept_se)
        found += int(linking.items["drifts"].iloc[:2].sum())
        wrongly += int(linking.items["drifts"].iloc[2:].sum())
    assert found >= 12
    assert wrongly <= 3
    assert 0.6 < np.sqrt(np.mean(np.square(off))) < 1.5
    assert "drifting" in str(linking)


def noisy():
    """Twelve items and the same with errors, on another scale, with guessing."""
    generator = np.random.default_rng(15)
    first = table(generator.lognormal(0, 0.4, 12), generator.normal(size=12), 0.15)
    slopes = first["a"] * 0.8 * generator.lognormal(0, 0.25, 12)
    return first, table(slopes, (first["b"] - 0.5) / 0.8 + generator.normal(0, 0.4, 12), 0.15)


def curves(items, slope=1.0, intercept=0.0):
    """Kolen & Brennan (2014), equations 6.2 and 6.3: of items moved by A and B, from −4 to 4."""
    a, b, c = (items[name].to_numpy() for name in "abc")
    theta = np.arange(-20, 21)[:, None] / 5
    return c + (1 - c) / (1 + np.exp(-a / slope * (theta - slope * b - intercept)))


@cache
def direct(method):
    """A and B as the definitions have them, abilities of the criteria N(0, 1)."""
    first, second = noisy()
    if method in {"mean-mean", "mean-sigma"}:
        of = second["a"].mean() / first["a"].mean()
        slope = of if method == "mean-mean" else first["b"].std() / second["b"].std()
        return slope, first["b"].mean() - slope * second["b"].mean()
    weights = np.exp(-((np.arange(-20, 21) / 5) ** 2) / 2)

    def criterion(constants):
        off = curves(second, *constants) - curves(first)
        square = (off**2).sum(axis=1) if method == "Haebara" else off.sum(axis=1) ** 2
        return float(weights @ square)

    found = minimize(criterion, (1.0, 0.0), method="Nelder-Mead", options={"xatol": 1e-8})
    return float(found.x[0]), float(found.x[1])


@pytest.mark.parametrize("method", LINKS)
def test_each_method_is_its_definition_on_items_with_errors(method):
    linking = link(*noisy(), method)
    found = np.array([linking.slope, linking.intercept])
    np.testing.assert_allclose(found, direct(method), atol=1e-5)
    others = [direct(other) for other in LINKS if other != method]
    assert min(np.abs(found - other).max() for other in others) > 0.01


@pytest.mark.filterwarnings("ignore:Anchor drift")
def test_items_that_were_fixed_share_the_scale_without_error():
    items = ItemParameters.from_difficulty(np.ones(20), np.linspace(-2, 2, 20))
    ability = np.random.default_rng(0).normal(size=(2, 200))
    first = fit(simulate_responses(items, ability[0], seed=1))
    later = fit(simulate_responses(items, ability[1] + 1, seed=2), fixed=first)
    linking = link(later, later)
    assert (linking.slope, linking.intercept) == pytest.approx((1, 0), abs=1e-9)
    assert (linking.slope_se, linking.intercept_se) == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.parametrize(("change", "method", "message"), [
    ({"a": -1.0}, "Haebara", "slopes of the same sign"),
    ({"a": -1.0}, "mean-mean", "two common items that discriminate"),
    ({"b": 0.0}, "mean-sigma", "different difficulties"),
])  # fmt: skip
def test_what_cannot_be_linked_is_refused(change, method, message):
    first = table([1.0, 1.2, 0.8, 1.1], [-1.0, 0.0, 1.0, 2.0])
    second = first.assign(**change)
    with pytest.raises(ValueError, match=message):
        link(first, second, method)


def test_without_common_items_there_is_no_link():
    first = table(np.ones(3), np.arange(3.0))
    for other in (first.set_axis(["x", "y", "z"]), ItemParameters.from_difficulty([1.0], [0.0])):
        with pytest.raises(ValueError, match="at least two items in common, by label"):
            link(first, other)
    with pytest.raises(TypeError, match="second must be a FitResult, ItemParameters"):
        link(first, 5)
