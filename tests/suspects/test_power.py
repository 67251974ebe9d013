"""Claims about how many inverted items are found by so many respondents."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit import ItemParameters, ResponseMatrix, simulate_responses
from irtkit.data.patterns import patterns_of
from irtkit.signs import SlopeSigns, called_negative, slope_signs
from irtkit.suspects.power import Power, power_of

N_ITEMS, INVERTED = 1000, 20


def signs(n_respondents: int, seed: int) -> SlopeSigns:
    """What responses say of 2PL items, the first of which are inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.35, N_ITEMS) * np.where(np.arange(N_ITEMS) < INVERTED, -1, 1)
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=N_ITEMS))
    made = simulate_responses(items, generator.normal(size=n_respondents), seed=generator)
    return slope_signs(patterns_of(made, synthetic_is_real=False))


def test_the_number_that_would_do_finds_four_of_five() -> None:
    told = [power_of(signs(30, seed), 0.05, 30).needed for seed in range(4)]
    found = []
    for seed in range(20, 26):
        p_negative = signs(round(float(np.median(told))), seed).verdict.p_negative
        found.append(called_negative(p_negative, 0.05)[:INVERTED].mean())
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)  # 120 items: SE 0.04


def test_more_respondents_find_more_and_as_many_are_needed_whoever_asks() -> None:
    found, needed = np.array([power_of(signs(n, 3), 0.05, n) for n in (30, 100, 300)]).T
    assert (np.diff(found) > 0).all()
    assert needed.max() / needed.min() < 2


def test_copies_have_the_power_of_those_they_copy() -> None:
    generator = np.random.default_rng(0)
    items = ItemParameters.from_difficulty(np.ones(300), generator.normal(size=300))
    one = simulate_responses(items, generator.normal(size=50), seed=generator).values
    powers = []
    for crowd in (one, np.repeat(one, 6, axis=0)):
        found = slope_signs(patterns_of(ResponseMatrix(crowd), synthetic_is_real=False))
        powers.append(power_of(found, 0.05, found.dependence.independent))
    assert powers[1].found == pytest.approx(powers[0].found, abs=0.05)
    assert powers[1].needed == pytest.approx(powers[0].needed, rel=0.1)


def test_of_noise_there_is_no_power() -> None:
    flips = ResponseMatrix(np.random.default_rng(0).integers(0, 2, (60, 100)))
    power = power_of(slope_signs(patterns_of(flips, synthetic_is_real=False)), 0.05, 60)
    assert (np.isnan(power.found), power.needed) == (True, 0)


@pytest.mark.parametrize(("found", "said"), [(0.123, "12%"), (0.004, "1% or less")])
def test_the_sentence_says_how_many_are_found_and_no_number_that_would_do(
    found: float, said: str
) -> None:
    sentence = Power(found, 50).sentence(20, "families")
    assert sentence.startswith(f"20 families are few: about {said} of inverted items")
    assert sentence.endswith("are found; more would find more")
    assert "50" not in sentence


@pytest.mark.parametrize("fdr", [1e-17, 1e-320])
def test_a_rate_near_0_asks_for_more_respondents_and_not_for_endlessly_many(fdr: float) -> None:
    some = signs(100, 3)
    assert power_of(some, 0.05, 100).needed < power_of(some, fdr, 100).needed < 10**6
