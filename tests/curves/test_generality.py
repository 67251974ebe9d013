"""Claims about capability and generality."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.curves.generality import generality_of


def of_curve(share: np.ndarray, edges: np.ndarray) -> tuple[float, float]:
    """Capability and spread."""
    found = generality_of(edges, share, np.zeros(len(share)))
    return found.capability, found.spread_squared**0.5


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_generality_of_a_step_has_no_bound(n: int) -> None:
    edges = np.linspace(-3, 3, n + 1)
    capability, spread = of_curve((edges[:-1] < 0).astype(float), edges)
    assert capability == pytest.approx(3)
    assert spread == pytest.approx(0, abs=1e-6)
    half_in_a_range = np.where(edges[:-1] < 0, 1.0, 0.0)
    half_in_a_range[n // 2] = 0.5
    assert of_curve(half_in_a_range, edges)[1] == pytest.approx(3 / n)  # half of 6 / n


def test_a_step_at_an_edge_has_spread_0_whatever_the_edges() -> None:
    generator = np.random.default_rng(0)
    for _ in range(500):
        edges = np.sort(generator.normal(0, 10, 12))
        share = (np.arange(11) < generator.integers(1, 11)).astype(float)
        assert of_curve(share, edges)[1] == 0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_spread_of_a_curve_that_falls_elsewhere_is_not_known(share: float) -> None:
    capability, spread = of_curve(np.full(5, share), np.linspace(-1, 1, 6))
    assert capability == pytest.approx(2 * share)
    assert np.isnan(spread)
    assert np.isnan(of_curve(np.array([0.5]), np.array([1.0, 1.0]))).all()


@pytest.mark.parametrize("seed", range(20))
def test_of_curves_that_do_not_rise_a_flat_one_is_the_least_general(seed: int) -> None:
    generator = np.random.default_rng(seed)
    edges = np.linspace(0, 4, 21)
    share = np.sort(generator.random(20))[::-1]
    capability, spread = of_curve(share, edges)
    flat_capability, flat_spread = of_curve(np.full(20, share.mean()), edges)
    assert flat_capability == pytest.approx(capability)
    assert flat_spread > spread


@pytest.mark.parametrize("slope", [1.0, 3.0])
def test_a_logistic_curve_has_the_spread_of_its_distribution(slope: float) -> None:
    edges = np.linspace(-20, 20, 20_001)
    middles = (edges[1:] + edges[:-1]) / 2
    capability, spread = of_curve(1 / (1 + np.exp(slope * (middles - 1.5))), edges)
    assert capability == pytest.approx(21.5, abs=1e-4)
    assert spread == pytest.approx(np.pi / 3**0.5 / slope, rel=1e-4)


def test_a_range_without_answers_is_between_its_neighbours() -> None:
    edges, share = np.linspace(0, 1, 6), np.array([1.0, 0.8, np.nan, 0.4, 0.2])
    assert generality_of(edges, share, np.full(5, np.nan)).capability == pytest.approx(0.6)


def test_errors_are_the_spread_of_what_is_drawn() -> None:
    generator = np.random.default_rng(0)
    edges, share = np.linspace(0, 5, 11), np.linspace(0.9, 0.1, 10)
    variance = share * (1 - share) / 200
    said = generality_of(edges, share, variance)
    drawn = generator.binomial(200, share, (4000, 10)) / 200
    found = [generality_of(edges, one, variance) for one in drawn]
    for name in ("capability", "spread_squared"):
        sd = np.std([getattr(one, name) for one in found])
        assert getattr(said, f"{name}_se") == pytest.approx(sd, rel=0.05)
