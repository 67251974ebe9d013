"""Claims about gaps between respondents who answered different items."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import ItemParameters, ResponseMatrix, add_synthetic, fit
from irtkit.calibration.drawn_together import DrawnTogether, _information, drawn_together
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit import Finding, FitResult


def two_blocks(
    n: int, m: int, n_common: int, gap: float, seed: int = 0
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64]]:
    """Responses, abilities and difficulties; items of the abler block are harder."""
    generator = np.random.default_rng(seed)
    second, of_second = np.repeat([0, 1], n), np.repeat([0, 1, 0.5], [m, m, n_common])
    theta = generator.normal(size=2 * n)
    theta -= np.repeat([theta[:n].mean(), theta[n:].mean()], n) - gap * second
    difficulty = generator.normal(size=len(of_second)) + gap * of_second
    p = 1 / (1 + np.exp(difficulty - theta[:, None]))
    values = (generator.random(p.shape) < p).astype(np.int8)
    values[(of_second == 1 - second[:, None]) & (of_second != 0.5)] = -1
    return values, theta, difficulty


def fitted(responses: Any, **how: Any) -> FitResult:
    with warnings.catch_warnings(action="ignore"):
        return fit(responses, "2PL", standard_errors=False, **how)


def gaps(result: FitResult) -> list[Finding]:
    """Findings about respondents who answered different items."""
    return [one for one in result.findings if one.code in {"gap-shrunk", "gap-hidden"}]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_gap_that_is_drawn_together_is_significant_with_what_it_would_be(sparse: bool) -> None:
    values, theta, _ = two_blocks(100, 60, 6, 1.2)
    responses = ResponseMatrix(values)
    result = fitted(responses.to_sparse() if sparse else responses)
    found = drawn_together(result, patterns_of(responses, synthetic_is_real=False))
    assert found is not None
    gap, told = found
    assert told
    (finding,) = gaps(result)
    assert finding.code == "gap-shrunk"
    assert finding.values["gap"] == pytest.approx(gap.gap)
    assert finding.values["unshrunk"] == pytest.approx(gap.undrawn)
    assert (gap.x[:100] < 0).all() ^ (gap.x[:100] > 0).all()
    assert gap.gap == pytest.approx(result.ability[100:].mean() - result.ability[:100].mean(), 0.05)
    assert gap.gap < 0.8 * 1.2 / theta.std()
    assert gap.undrawn == pytest.approx(1.2 / theta.std(), 0.2)


def test_without_a_gap_nothing_is_said_and_of_few_respondents_what_it_would_show() -> None:
    assert not gaps(fitted(two_blocks(100, 60, 8, 0.0)[0]))
    (few,) = gaps(fitted(two_blocks(12, 200, 8, 0.0)[0]))
    assert few.code == "gap-hidden"
    assert few.values["one"].startswith("respondent-")


def test_more_items_in_common_or_items_held_at_known_values_end_it() -> None:
    values, _, difficulty = two_blocks(100, 60, 6, 1.2)
    assert gaps(fitted(values))[0].code == "gap-shrunk"
    assert not gaps(fitted(two_blocks(100, 60, 40, 1.2)[0]))
    known = pd.DataFrame(
        {"discrimination": 1.0, "difficulty": difficulty}, index=ResponseMatrix(values).items
    )
    assert not gaps(fitted(values, fixed=known))


def test_what_is_missing_at_random_draws_nobody() -> None:
    for seed in range(3):
        generator = np.random.default_rng(seed)
        for n, m, observed in ((200, 100, 0.3), (30, 50, 0.3), (300, 300, 0.04)):
            z = generator.normal(size=(n, 1)) - generator.normal(size=m)
            values = (generator.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.int8)
            values[generator.random((n, m)) > observed] = -1
            assert not gaps(fitted(values))


def test_synthetic_respondents_answer_nothing_in_common() -> None:
    values = two_blocks(100, 60, 6, 1.2)[0]
    crowd = add_synthetic(ResponseMatrix(values), ("always-right", "always-wrong"))
    assert gaps(fitted(crowd))[0].code == "gap-shrunk"


def test_a_share_of_a_gap_shows_that_information_in_common_tells() -> None:
    """Of two blocks it is I/(I + h): nm/(n + m) times that of a response to every common item."""
    values = two_blocks(60, 40, 5, 1.0)[0]
    result = fitted(values)
    found = drawn_together(result, patterns_of(ResponseMatrix(values), synthetic_is_real=False))
    assert found is not None
    a, share = result.parameters.discrimination[-5:], 1 - result.counts.average_error[-5:]
    sides = np.stack([values[:60, -5:].mean(axis=0), values[60:, -5:].mean(axis=0)])
    sides = (60 * sides + share) / 61
    u, v = 60 * sides * (1 - sides) * a**2 / np.sqrt(1 + 0.3458 * a**2)
    information = (u * v / (u + v)).sum()
    assert found[0].shown == pytest.approx(information / (information + 30), 0.05)


def test_only_a_gap_that_loses_much_is_spoken_of() -> None:
    found = DrawnTogether(np.zeros(2), shown=0.8, gap=1.2, z=9.0, of_one=3.0, within=100.0)
    assert found.is_significant(1)  # 1.5 − 1.2 is lost
    assert not found._replace(gap=0.4).is_significant(1)
    assert not found._replace(z=1.0).is_significant(1)
    assert found.might_be_missed  # of 1 SD 0.2 are lost, and a difference has an error of 0.14
    assert not found._replace(within=10.0).might_be_missed
    assert not found._replace(of_one=5.0).might_be_missed


def test_a_share_right_below_guessing_tells_nothing_of_ability() -> None:
    items = ItemParameters.from_difficulty(np.ones(3), np.zeros(3), 0.25)
    result: Any = SimpleNamespace(parameters=items, latent_sd=1.0)
    found = _information(result, np.array([0.2, 0.25, 0.5]))
    flattened = 1 / np.sqrt(1.3458)
    assert found == pytest.approx([0.0, 0.0, 0.25**2 / 0.75**2 * flattened], rel=1e-4)
