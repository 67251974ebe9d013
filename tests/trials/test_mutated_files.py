"""Files that were damaged or edited: what reads back is what was written, or one refusal.

IRTKIT_CASES=20 mutates twenty times as many.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import FitResult
from irtkit.calibration.fitting import silently
from tests.trials.conftest import TIMES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> FitResult:
    values = np.random.default_rng(0).integers(-1, 2, (12, 5))
    with silently():
        return irtkit.fit(irtkit.ResponseMatrix(values), "2PL")


@pytest.fixture(scope="module")
def saved(result: FitResult, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "result.npz"
    result.save(path)
    return path.read_bytes()


def loaded(content: bytes, path: Path) -> FitResult | None:
    """The result in a file of this content; None if it is refused in words of irtkit."""
    path.write_bytes(content)
    with warnings.catch_warnings(action="error"):
        try:
            return irtkit.load(path)
        except ValueError as error:
            assert path.name in str(error)  # noqa: PT017 - any of many
    return None


def mutated(content: bytes, generator: np.random.Generator) -> bytes:
    """A file with bytes changed, cut off, left out or there twice."""
    edited = bytearray(content)
    kind, at = generator.integers(4), int(generator.integers(len(content)))
    if kind == 0:
        for place in generator.integers(len(content), size=int(generator.integers(1, 9))):
            edited[place] = int(generator.integers(256))
    elif kind == 1:
        del edited[at:]
    elif kind == 2:
        del edited[at : at + int(generator.integers(1, 99))]
    else:
        edited[at:at] = edited[at // 2 : at // 2 + 50]
    return bytes(edited)


def held(content: bytes) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Every array of an archive, the JSON of all that is no array among them."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return {name: (str(one.dtype), one.shape, one.tobytes()) for name, one in arrays.items()}


def test_a_damaged_result_is_refused_or_the_same(saved: bytes, tmp_path: Path) -> None:
    again, wanted, n_loaded = tmp_path / "again.npz", held(saved), 0
    for seed in range(250 * TIMES):
        found = loaded(mutated(saved, np.random.default_rng(seed)), tmp_path / "result.npz")
        if found is not None:
            found.save(again)
            assert held(again.read_bytes()) == wanted
            n_loaded += 1
    assert n_loaded


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_of_other_programs_are_read_or_refused_when_damaged(
    result: FitResult, saved: bytes, tmp_path: Path, method: int
) -> None:
    other = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(other, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    found = loaded(other.getvalue(), tmp_path / "result.npz")
    assert found is not None
    pd.testing.assert_frame_equal(found.items, result.items)
    for seed in range(25 * TIMES):
        loaded(mutated(other.getvalue(), np.random.default_rng(seed)), tmp_path / "result.npz")
