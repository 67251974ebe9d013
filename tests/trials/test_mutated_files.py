"""Files that were damaged or edited: what reads back is what was written, or one refusal.

IRTKIT_CASES=20 mutates twenty times as many.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import FitResult
from irtkit.calibration.fitting import silently
from tests.trials.conftest import TIMES

if TYPE_CHECKING:
    from pathlib import Path

ODD = [np.nan, np.inf, -np.inf, -1, 2, 1e308, -(2**40), 0.5, 0]


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


def edited(saved: bytes, generator: np.random.Generator) -> bytes:
    """An archive that is sound, of which one array or setting was edited."""
    with np.load(io.BytesIO(saved), allow_pickle=False) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    name = sorted(arrays)[generator.integers(len(arrays))]
    array = arrays[name]
    if array.dtype == np.uint8 and name in {"content", "header"}:
        content = json.loads(bytes(array))
        key = sorted(content)[generator.integers(len(content))]
        content[key] = [None, -1, "x", [], {}, 1e999, True][generator.integers(7)]
        arrays[name] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    elif generator.integers(3) and array.size:
        changed = array.copy()
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            odd = np.array(ODD[generator.integers(len(ODD))]).astype(array.dtype)
        changed.reshape(-1)[generator.integers(array.size)] = odd
        arrays[name] = changed
    else:
        other = [array[:-1], array.astype(str), array.reshape(-1), np.zeros(0), array.ravel()[:1]]
        arrays[name] = other[generator.integers(len(other))] if array.ndim else array.astype(str)
    written = io.BytesIO()
    np.savez_compressed(written, **arrays)
    return written.getvalue()


@pytest.mark.slow
def test_an_edited_result_is_refused_or_has_numbers_that_a_fit_may_have(
    saved: bytes, tmp_path: Path
) -> None:
    for seed in range(250 * TIMES):
        found = loaded(edited(saved, np.random.default_rng(seed)), tmp_path / "result.npz")
        if found is None:
            continue
        assert np.isfinite(found.ability).all()
        assert np.isfinite(found.respondents["ability_se"]).all()
        answered = found.items["status"] != "no responses"
        assert np.isfinite(found.items.loc[answered, ["discrimination", "intercept"]]).all().all()
        assert str(found)
        if found.responses is not None:
            assert len(found.leaderboard()) in {11, 12}  # a row may be marked synthetic


@pytest.mark.parametrize("rows", ["x", True, -1, [[1.0, 2.0]], [[1e300] * 7]])
def test_batches_that_no_fit_returns_are_refused(rows: Any, saved: bytes, tmp_path: Path) -> None:
    with np.load(io.BytesIO(saved), allow_pickle=False) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    content = json.loads(bytes(arrays["content"]))
    content["batch_rows"] = rows
    arrays["content"] = np.frombuffer(json.dumps(content).encode(), np.uint8)
    written = io.BytesIO()
    np.savez_compressed(written, **arrays)
    assert loaded(written.getvalue(), tmp_path / "result.npz") is None


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
