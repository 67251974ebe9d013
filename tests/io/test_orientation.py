"""Tables whose rows are items: recognised without a corner label, with a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.findings import IRTWarning
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from pathlib import Path


def table(n_systems: int, n_items: int) -> pd.DataFrame:
    """Table of systems and items, whose marks depend on both."""
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 1.2, n_items) + generator.normal(0, 0.7, (n_systems, 1))
    marks = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    names = [f"{name}-{k}b" for k in range(1, n_systems + 1) for name in ("llama-3", "qwen2")]
    return pd.DataFrame(marks, names[:n_systems], [f"q{k + 1}" for k in range(n_items)])


def written(frame: pd.DataFrame, corner: str | None, folder: Path) -> Path:
    frame.rename_axis(corner).to_csv(folder / "results.csv")
    return folder / "results.csv"


def codes(path: Path) -> set[str]:
    """Codes of the findings."""
    return {one.code for one in overview(path).findings}


@pytest.mark.parametrize(("corner", "shape"), [(None, (12, 60)), ("item_id", (40, 30))])
def test_a_table_on_its_side_is_recognised(
    tmp_path: Path, corner: str | None, shape: tuple[int, int]
) -> None:
    upright = table(*shape)
    path = written(upright.T, corner, tmp_path)
    assert codes(path) == {"transposed"}
    with pytest.warns(IRTWarning, match="transpose"):
        irtkit.read_responses(path)
    turned = irtkit.read_responses(path, transpose=True)
    assert turned == irtkit.ResponseMatrix(upright.to_numpy(), upright.index, upright.columns)


@pytest.mark.parametrize(
    ("corner", "shape"), [(None, (12, 60)), ("model", (300, 8)), ("student", (60, 60))]
)
def test_an_upright_table_is_left_alone(
    tmp_path: Path, shape: tuple[int, int], corner: str | None
) -> None:
    upright = table(*shape)
    people = upright.set_axis([f"S{k:03}" for k in range(shape[0])])
    for frame in (upright, people):
        assert codes(written(frame, corner, tmp_path)) == set()


@pytest.mark.parametrize("name", ["sat12", "lsat7", "wirs", "nlu_rte", "lalor2016_snli_5gs_human"])
def test_real_tables_raise_no_doubts(shared_data: Path, name: str) -> None:
    assert codes(shared_data / f"{name}.csv.gz") == set()
