"""Packed answers: products and counts are those of the plain matrix."""

from __future__ import annotations

import numpy as np
import pytest

from irtkit.data import patterns as bits
from irtkit.data.patterns import Packed


@pytest.mark.parametrize("n", [1, 2, 255, 700])
@pytest.mark.parametrize("n_items", [1, 7, 8, 9, 40, 101])
def test_products_and_counts_are_those_of_the_matrix(n: int, n_items: int) -> None:
    generator = np.random.default_rng([n, n_items])
    cells = generator.integers(0, 2, (n, n_items), dtype=np.int8)
    by_item, by_respondent = generator.normal(size=n_items), generator.normal(size=n)
    packed = Packed.of(cells)
    assert packed.groups.nbytes == n * -(-n_items // 8)
    assert packed.scores(by_item) == pytest.approx(cells @ by_item, abs=1e-12)
    assert packed.sums(by_respondent) == pytest.approx(by_respondent @ cells, abs=1e-12)
    assert np.array_equal(packed.scores(np.ones(n_items)), cells.sum(axis=1))


@pytest.mark.parametrize("layout", ["part of a row", "every third row", "by column"])
def test_cells_may_lie_anyhow_in_memory_and_are_packed_in_parts(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = np.random.default_rng(0).integers(0, 2, (60, 30), dtype=np.int8)
    ways = {"part of a row": whole[:, 3:16], "every third row": whole[::3], "by column": whole.T}
    monkeypatch.setattr(bits, "_CELLS_AT_ONCE", 7 * 32)
    packed = Packed.of(ways[layout])
    assert packed.scores(np.ones(packed.n_items)) == pytest.approx(ways[layout].sum(axis=1))
    assert packed.sums(np.ones(len(ways[layout]))) == pytest.approx(ways[layout].sum(axis=0))
