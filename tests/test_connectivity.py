"""Claims about components of a matrix, and about gaps between those who answered other items."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import ItemParameters, ResponseMatrix, add_synthetic, fit
from irtkit.data.limits import (
    Components,
    Connectivity,
    Gap,
    connectivity_of,
)
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit import FitResult
    from irtkit.findings import Finding


def connectivity(responses: Any, fixed: NDArray[np.bool_] | None = None) -> Connectivity:
    """Of items with slopes of 1, and of respondents whose abilities are all 0."""
    matrix = responses if isinstance(responses, ResponseMatrix) else ResponseMatrix(responses)
    patterns = patterns_of(matrix, synthetic_is_real=False)
    n, m = patterns.cells.shape
    items = ItemParameters.from_difficulty(np.ones(m), np.zeros(m))
    return connectivity_of(patterns, items, np.zeros(n), 1.0, fixed)


def components(responses: Any, fixed: NDArray[np.bool_] | None = None) -> Components | None:
    return connectivity(responses, fixed).components


def drawn(n: int, m: int, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    z = generator.normal(size=(n, 1)) - generator.normal(size=m)
    return (generator.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.int8)


def diagonal(*shapes: tuple[int, int]) -> Any:
    """Responses in blocks along the diagonal."""
    n, m = np.sum(shapes, axis=0)
    values, row, column = np.full((n, m), -1), 0, 0
    for rows, columns in shapes:
        values[row : row + rows, column : column + columns] = (
            np.arange(rows * columns).reshape(rows, columns) % 3 > 0
        )
        row, column = row + rows, column + columns
    return values


def linked(n_common: int = 0) -> Any:
    """30 and 20 respondents with 25 items each, and so many more that all of them answered."""
    values = drawn(50, 50 + n_common)
    values[:30, 25:50] = values[30:, :25] = -1
    return values


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_components_numbered_by_their_respondents(sparse: bool) -> None:
    responses = ResponseMatrix(diagonal((2, 9), (5, 3), (3, 4)))
    found = connectivity(responses.to_sparse() if sparse else responses)
    assert not found.linked
    assert found.components is not None
    assert found.components.n == 3
    assert found.components.respondents.tolist() == [3] * 2 + [1] * 5 + [2] * 3
    assert found.components.items.tolist() == [3] * 9 + [1] * 3 + [2] * 4


def test_a_long_chain_of_links_is_followed_to_its_end() -> None:
    values = np.full((300, 301), -1)
    values[np.arange(300), np.arange(300)] = 1
    values[np.arange(300), np.arange(1, 301)] = 0
    assert components(values) is None
    values[150, 150] = -1
    found = connectivity(values)
    assert not found.linked
    assert found.components is not None
    assert (found.components.n, *found.components.respondents[149:151]) == (2, 1, 2)


def test_synthetic_respondents_link_nothing() -> None:
    responses = add_synthetic(ResponseMatrix(diagonal((5, 3), (3, 4))), ("always-right",))
    found = components(responses)
    assert found is not None
    assert (found.n, found.respondents[-1]) == (2, 0)


def test_who_answered_nothing_and_what_nobody_answered_belong_nowhere() -> None:
    values = diagonal((5, 3), (3, 4), (1, 1))
    values[-1, -1] = -1
    found = components(values)
    assert found is not None
    assert (found.n, found.respondents[-1], found.items[-1]) == (2, 0, 0)


def test_items_held_at_known_values_join_what_no_response_links() -> None:
    values = diagonal((15, 10), (15, 10), (10, 5))
    found = components(values, np.isin(np.arange(25), [0, 10]))
    assert found is not None
    assert found.respondents.tolist() == [1] * 30 + [2] * 10
    assert components(values, np.ones(25, np.bool_)) is None


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("sparse", [False, True])
def test_items_that_all_answer_alike_link_nothing(given: int, sparse: bool) -> None:
    values = linked(4)
    values[:, 50:] = given
    values[:30, 53] = -1
    responses = ResponseMatrix(values)
    found = connectivity(responses.to_sparse() if sparse else responses)
    assert found.linked
    assert found.components is not None
    assert found.components.respondents.tolist() == [1] * 30 + [2] * 20
    assert found.components.items.tolist() == [1] * 25 + [2] * 25 + [0] * 3 + [2]


@pytest.mark.parametrize("n_cells", [1, 3])
def test_blocks_that_a_few_cells_link_are_components(n_cells: int) -> None:
    values = linked()
    values[range(n_cells), range(30, 30 + n_cells)] = 1
    found = connectivity(values)
    assert found.linked
    assert found.components is not None
    assert found.components.respondents.tolist() == [1] * 30 + [2] * 20
    assert found.components.items.tolist() == [1] * 25 + [2] * 25


def test_one_item_places_blocks_badly_and_sixteen_well() -> None:
    assert components(linked(1)) is not None
    assert connectivity(linked(16)) == Connectivity()


@pytest.mark.parametrize("observed", [0.1, 0.2, 0.5])
def test_matrices_with_cells_missing_at_random_are_one_component(observed: float) -> None:
    for seed in range(5):
        values = drawn(200, 100, seed)
        kept = np.random.default_rng(seed).random(values.shape) < observed
        assert connectivity(np.where(kept, values, -1)) == Connectivity()


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


def fitted(responses: Any, model: Any = "2PL", **how: Any) -> FitResult:
    with warnings.catch_warnings(action="ignore"):
        return fit(responses, model, standard_errors=False, **how)


def gaps(result: FitResult) -> list[Finding]:
    """Findings about respondents who answered different items."""
    return [one for one in result.findings if one.code in {"gap-shrunk", "gap-hidden"}]


def gap_of(result: FitResult) -> Gap:
    """The gap that was found."""
    ability = (result.ability - result.latent_mean) / result.latent_sd
    found = connectivity_of(result.patterns, result.parameters, ability, result.latent_sd)
    assert found.significant
    assert found.gap is not None
    return found.gap


@pytest.mark.parametrize("sparse", [False, True])
def test_a_gap_that_is_shrunk_is_significant_with_what_it_would_be(sparse: bool) -> None:
    values, theta, _ = two_blocks(100, 60, 6, 1.2)
    responses = ResponseMatrix(values)
    result = fitted(responses.to_sparse() if sparse else responses)
    gap = gap_of(result)
    (finding,) = gaps(result)
    assert finding.code == "gap-shrunk"
    assert finding.values["gap"] == pytest.approx(gap.size)
    assert finding.values["unshrunk"] == pytest.approx(gap.unshrunken)
    assert (gap.x[:100] < 0).all() ^ (gap.x[:100] > 0).all()
    means = result.ability.reshape(2, 100).mean(axis=1)
    assert gap.size == pytest.approx(means[1] - means[0], 0.05)
    assert gap.size < 0.8 * 1.2 / theta.std()
    assert gap.unshrunken == pytest.approx(1.2 / theta.std(), 0.2)


def test_a_gap_may_be_hidden_if_few_respondents_have_few_items_in_common() -> None:
    assert gaps(fitted(two_blocks(100, 60, 8, 0.0)[0])) == []
    (few,) = gaps(fitted(two_blocks(12, 200, 12, 0.0)[0]))
    assert few.code == "gap-hidden"
    assert "'respondent-" in str(few)


def test_more_items_in_common_or_items_held_at_known_values_end_it() -> None:
    values, _, difficulty = two_blocks(100, 60, 6, 1.2)
    assert [one.code for one in gaps(fitted(values))] == ["gap-shrunk"]
    assert gaps(fitted(two_blocks(100, 60, 40, 1.2)[0])) == []
    known = pd.DataFrame(
        {"discrimination": 1.0, "difficulty": difficulty}, index=ResponseMatrix(values).items
    )
    assert gaps(fitted(values, fixed=known)) == []


def test_a_share_of_a_gap_shows_that_information_in_common_tells() -> None:
    """Of two blocks it is I/(I + h): nm/(n + m) times that of a response to every common item."""
    values = two_blocks(60, 40, 8, 1.5)[0]
    result = fitted(values)
    a, share = result.parameters.discrimination[-8:], 1 - result.counts.average_error[-8:]
    sides = np.stack([values[:60, -8:].mean(axis=0), values[60:, -8:].mean(axis=0)])
    sides = (60 * sides + share) / 61
    u, v = 60 * sides * (1 - sides) * a**2 / np.sqrt(1 + 0.3458 * a**2)
    information = (u * v / (u + v)).sum()
    assert gap_of(result).shown == pytest.approx(information / (information + 30), 0.05)
