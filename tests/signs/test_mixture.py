"""Claims about the distribution of slopes that is learned, and about the grid it is learned on."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.signs import SlopeMixture, SlopeScore
from irtkit.signs import mixture as module
from irtkit.signs.mixture import SlopeGrid, learned_mixture


def drawn(n: int, inverted: int, seed: int, information: float = 60.0) -> SlopeScore:
    """Score tests of items with log-normal slopes, the first of them inverted."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(-0.2, 0.4, n)
    slopes[:inverted] *= -1
    score = information * slopes + np.sqrt(information) * generator.normal(size=n)
    return SlopeScore(score, np.full(n, information))


def learned(score: SlopeScore) -> SlopeMixture:
    grid = SlopeGrid.for_information(float(score.information.max()))
    distinct, _, n_alike = score.distinct()
    return learned_mixture(distinct, n_alike, grid)


def test_the_share_and_the_slopes_of_inverted_items_are_learned() -> None:
    mixture = learned(drawn(1000, 100, seed=2))
    # the share of 100 in 1,000 is known but for those few that cannot be told from rising ones
    assert mixture.inverted == pytest.approx(0.1, abs=0.01)
    assert mixture.flat < 0.05
    # five standard errors of the mean of 1,000 logarithms with an SD of 0.43, noise included
    assert mixture.log_slope == pytest.approx(-0.2, abs=0.07)
    assert mixture.spread == pytest.approx(0.4, abs=0.05)
    assert sum(mixture.shares) == pytest.approx(1, abs=1e-12)


def test_flat_items_are_learned_as_flat() -> None:
    regular, noise = drawn(300, 0, seed=1), np.random.default_rng(0).normal(0, 60**0.5, 100)
    mixture = learned(SlopeScore(np.append(regular.score, noise), np.full(400, 60.0)))
    # five standard errors of a share of 100 in 400
    assert mixture.flat == pytest.approx(0.25, abs=0.11)
    assert mixture.inverted < 0.02


def test_items_alike_count_as_often_as_they_are_there() -> None:
    score = drawn(200, 20, seed=4)
    twice = SlopeScore(*np.tile(np.stack(score), 2)[:, ::-1])
    pairs, place, n_alike = twice.distinct()
    assert n_alike.tolist() == [2] * 200
    np.testing.assert_array_equal(np.stack(pairs)[:, place], np.stack(twice))
    separate = learned_mixture(twice, np.ones(400, dtype=np.intp), SlopeGrid.for_information(60.0))
    np.testing.assert_allclose(learned(twice), separate, rtol=1e-9)


def test_what_is_learned_from_every_fourth_item_is_near_what_all_teach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score = drawn(2000, 200, seed=8)
    whole = learned(score)
    monkeypatch.setattr(module, "_MAX_ITEMS", 500)
    sampled = learned(score)
    assert sampled != whole
    # five standard errors of a share of 0.1 and of a mean with an SD of 0.43 among 500
    assert sampled.inverted == pytest.approx(whole.inverted, abs=0.067)
    assert sampled.log_slope == pytest.approx(whole.log_slope, abs=0.1)


@pytest.mark.parametrize("information", [1.0, 100.0, 10_000.0])
def test_widths_make_densities_integrate_to_1(information: float) -> None:
    grid = SlopeGrid.for_information(information)
    assert (np.diff(grid.size) < 0).all()
    log_normal = np.exp(-0.5 * (grid.log_size / 0.35) ** 2) / (grid.size * 0.35)
    half_normal = 2 * np.exp(-0.5 * (grid.size / 0.3) ** 2) / 0.3
    for density in (log_normal, half_normal):
        mass = density @ grid.width / np.sqrt(2 * np.pi)
        assert mass == pytest.approx(1, abs=0.01)


def test_the_trapezoidal_rule_is_as_good_as_its_spacing_promises() -> None:
    grid = SlopeGrid.for_information(400.0)
    # a likelihood in the linear part; on one side, so that what is left out near 0 is nothing
    likelihood = np.exp(-200 * (grid.size - 1) ** 2)
    assert likelihood @ grid.width == pytest.approx(np.sqrt(2 * np.pi / 400), rel=1e-4)


def test_masses_are_those_of_the_densities() -> None:
    mixture = SlopeMixture(0.3, 0.5, 0.2, 0.1, 0.1)
    grid = SlopeGrid.for_information(100.0)
    steep, flat = mixture.masses(grid)
    assert (steep.sum(), flat.sum()) == (pytest.approx(1), pytest.approx(0.5))
    # the spacing grows with a bend where logarithmic steps end, which costs the fourth digit
    assert steep @ grid.log_size == pytest.approx(0.3, abs=1e-3)
    assert steep @ (grid.log_size - 0.3) ** 2 == pytest.approx(0.25, abs=1e-3)
    assert 2 * flat @ grid.size**2 == pytest.approx(0.04, rel=0.01)
