"""Logs read by what their writers read them with, where that is installed: the same cells."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from irtkit.io import harnesses, inspect_logs

if TYPE_CHECKING:
    from types import ModuleType

    from irtkit.io.samples import Samples

CARRIED = Path(__file__).parents[1] / "data" / "logs"


def own(name: str) -> ModuleType:
    """A package of a harness, which may warn of whatever it likes when it is imported."""
    with warnings.catch_warnings(action="ignore"):
        return pytest.importorskip(name)


def cells_of(samples: Samples) -> dict[str, list[tuple[str, float]]]:
    """Item and score of every sample by metric, in the order of the items' names."""
    names = list(samples.items)
    return {
        measure.metric: sorted(
            (names[position], float(value)) for position, value in zip(*kept, strict=True)
        )
        for measure, kept in samples.scores.items()
        if measure not in samples.not_marks
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    sorted([*CARRIED.rglob("*.eval"), *CARRIED.glob("inspect*/*.json")]),
    ids=lambda p: p.name,
)
def test_inspect_reads_the_same_from_carried_logs(path: Path) -> None:
    number = own("inspect_ai.scorer").value_to_float()
    expected: dict[str, list[tuple[str, float]]] = {}
    with warnings.catch_warnings(action="ignore"):
        log = own("inspect_ai.log").read_eval_log(str(path))
    for sample in log.samples or []:
        for scorer, score in (sample.scores or {}).items():
            expected.setdefault(scorer, []).append((str(sample.id), number(score.value)))
    (samples,) = inspect_logs.read(path, {})
    assert cells_of(samples) == {scorer: sorted(cells) for scorer, cells in expected.items()}
    assert (samples.respondent, samples.task) == (log.eval.model, log.eval.task)
    assert (samples.unfinished or "success") == log.status


def test_liac_arff_reads_the_same_predictions(tmp_path: Path, make: Any) -> None:
    rows = "0,0,7,a,a\n0,0, 3 ,'b',\"a\"\n% none\n0,1,5,?,a\n1,1,7,b,b\n"
    path = make.write_openml(tmp_path, rows)
    with path.open() as handle:
        table = own("arff").load(handle)
    names = [name for name, _ in table["attributes"]]
    given = [dict(zip(names, row, strict=True)) for row in table["data"]]
    expected = [
        (f"{row['row_id']:g}", float(row["prediction"] == row["correct"]))
        for row in given
        if row["prediction"] is not None
    ]
    (samples,) = harnesses.read_openml(path, {})
    read = [cell for cell in cells_of(samples)["correct"] if not math.isnan(cell[1])]
    assert read == sorted(expected)
