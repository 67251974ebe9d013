"""Tables of one truth in drawn words, missing marks, separators, encodings and layouts.

Reading must give the truth, or a finding; so must the command that `inspect` proposes.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from irtkit import ResponseMatrix, read_responses
from irtkit.findings import ReadingError
from irtkit.io.overview import overview

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    *((1, 0), (1, -1), ("correct", "incorrect"), ("Right", "WRONG"), ("pass", "fail")),
    *(("Passed", "Failed"), ("YES", "no"), ("True", "False"), ("C", "I"), ("Y", "N"), ("P", "F")),
    *(("success", "failure"), ("solved", "unsolved"), ("ok", "error"), ("good", "bad")),
    *(("A", "B"), (100, 0), (2, 1), (5, 1), ("1.0", "0.0"), ("100%", "0%"), ("✓", "✗")),
)
MISSING = ("", "NA", "nan", "None", "-", "?", "N/A", "null", "skipped", "timeout", -1, 9, -99)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
SEPARATORS = (",", "\t", ";")
LAYOUTS = ("wide", "long", "transposed", "long by task", "with a family", "with a size")
NAMES = ("model", "system", "agent", "Subject ID", "")


def table(seed: int) -> tuple[bytes, Any, Any, str]:
    """Content of a file, its truth, the setting that says how rows lie, and what was drawn."""
    generator = np.random.default_rng(seed)

    def one(choices: Any) -> Any:
        return choices[generator.integers(len(choices))]

    n_models, n_items = generator.integers(3, 9, 2)
    holes = generator.random((n_models, n_items)) < one((0, 0.15))
    values = np.where(holes, -1, generator.random((n_models, n_items)) < 0.6).astype(np.int8)
    (right, wrong), missing, layout, name = one(WORDS), one(MISSING), one(LAYOUTS), one(NAMES)
    models, items = [f"m{k}" for k in range(n_models)], [f"q{k}" for k in range(n_items)]
    cells = np.where(values == 1, right, wrong).astype(object)
    cells[holes] = missing
    frame = pd.DataFrame(cells, pd.Index(models, name=name), items).reset_index(names=name)
    truth = ResponseMatrix(values, models, items) if (values >= 0).any() else None
    how: dict[str, Any] = {}
    if layout == "transposed":
        frame, how = frame.set_index(name).T.rename_axis("item").reset_index(), {"transpose": True}
    elif layout == "with a family":
        frame["family"] = [f"f{k % 2}" for k in range(n_models)]
    elif layout == "with a size":
        frame["size"] = generator.integers(11, 400, n_models) / 2
    elif layout.startswith("long"):
        how["respondent"] = name or "model"
        frame = frame.rename(columns={name: how.pop("respondent")})
        frame = frame.melt(frame.columns[0], var_name="item", value_name=one(("score", "correct")))
        if layout == "long by task":
            frame.insert(0, "task", "t")
            truth = ResponseMatrix(values, models, [f"t/{item}" for item in items])
    content = frame.to_csv(index=False, sep=one(SEPARATORS)).encode(one(ENCODINGS))
    return content, truth, how, f"{right}/{wrong}, missing {missing!r}, {layout}, {name!r}"


def outcome(path: Path, truth: ResponseMatrix, how: dict[str, Any]) -> str:
    """Whether reading is right, asks, is wrong with a finding, or wrong; as inspect types it."""
    try:
        matrix = read_responses(path, **how)
    except ReadingError:
        shown = overview(path, **how)
        if shown.matrix is None:
            return "asked"
        return "proposed" if same(shown.matrix, truth) else "wrong proposal"
    if same(matrix, truth):
        return "right"
    return "wrong with a finding" if matrix.source.findings else "wrong"


def same(matrix: ResponseMatrix, truth: ResponseMatrix) -> bool:
    """Whether two matrices agree, whatever the order of their labels."""
    frames = [one.to_frame().sort_index(axis=0).sort_index(axis=1) for one in (matrix, truth)]
    return frames[0].astype(float).equals(frames[1].astype(float))


@pytest.mark.parametrize("first", [0, pytest.param(100, marks=pytest.mark.slow)])
def test_no_table_is_read_wrongly_without_a_finding(tmp_path: Path, first: int) -> None:
    counts: dict[str, list[str]] = {}
    path = tmp_path / "results.csv"
    for seed in range(first, 1000 if first else 100):
        content, truth, how, drawn = table(seed)
        path.write_bytes(content)
        with warnings.catch_warnings(action="ignore"):
            counts.setdefault(outcome(path, truth, how), []).append(f"{seed}: {drawn}")
    assert not counts.get("wrong")
    assert not counts.get("wrong proposal")
    assert len(counts["right"]) > 0.2 * sum(map(len, counts.values()))
