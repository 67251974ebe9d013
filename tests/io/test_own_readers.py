"""Logs read by what their writers read them with, where that is installed: the same cells."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit.io import inspect_logs, openml, read_responses

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


def inspect_cells(path: Path) -> dict[str, list[tuple[str, float]]]:
    """What Inspect reads, with the numbers that it makes of scores."""
    read, number = own("inspect_ai.log").read_eval_log, own("inspect_ai.scorer").value_to_float()
    found: dict[str, list[tuple[str, float]]] = {}
    with warnings.catch_warnings(action="ignore"):
        log = read(str(path))
    for sample in log.samples or []:
        for scorer, score in (sample.scores or {}).items():
            found.setdefault(scorer, []).append((str(sample.id), number(score.value)))
    return {scorer: sorted(cells) for scorer, cells in found.items()}


def agree_on_inspect(path: Path) -> None:
    (samples,) = inspect_logs.read(path, {})
    assert cells_of(samples) == inspect_cells(path)
    log = own("inspect_ai.log").read_eval_log(str(path), header_only=True)
    assert (samples.respondent, samples.task) == (log.eval.model, log.eval.task)
    assert (samples.unfinished or "success") == log.status


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    sorted([*CARRIED.rglob("*.eval"), *CARRIED.glob("inspect*/*.json")]),
    ids=lambda p: p.name,
)
def test_inspect_reads_the_same_from_logs_that_are_carried(path: Path) -> None:
    agree_on_inspect(path)


@pytest.mark.slow
def test_inspect_reads_the_same_from_logs_of_others(shared_samples: Path) -> None:
    paths = [*shared_samples.glob("inspect*/*.eval"), *shared_samples.glob("inspect*/*.json")]
    assert len(paths) == 10
    for path in paths:
        agree_on_inspect(path)


@pytest.mark.slow
def test_inspects_table_of_samples_is_the_matrix() -> None:
    analysis = own("inspect_ai.analysis")
    columns = analysis.EvalModel + analysis.EvalTask + analysis.SampleSummary
    path = next(CARRIED.glob("*toyadd*.eval"))
    with warnings.catch_warnings(action="ignore"):
        table = analysis.samples_df(str(path), columns=columns, quiet=True)
    responses = read_responses(path, metric="match", repeats="count")
    right = table.assign(right=table["score_match"] == "C").groupby("id")["right"]
    items = [item.removeprefix("toyadd/") for item in responses.items]
    assert responses.successes[0].tolist() == right.sum()[items].tolist()
    assert responses.trials[0].tolist() == right.count()[items].tolist()
    assert responses.respondents == tuple(table["model"].unique())


def test_liac_arff_reads_the_same_predictions(tmp_path: Path, make: Any) -> None:
    rows = "0,0,7,a,a\n0,0, 3 ,'b',\"a\"\n% none\n0,1,5,?,a\n1,1,7,b,b\n"
    agree_on_arff(make.write_openml(tmp_path, rows))


def test_liac_arff_reads_the_same_from_predictions_of_others(shared_samples: Path) -> None:
    agree_on_arff(next(shared_samples.glob("openml/*.arff")))


def agree_on_arff(path: Path) -> None:
    with path.open() as handle:
        table = own("arff").load(handle)
    names = [name for name, _ in table["attributes"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["data"]]
    expected = [
        (f"{row['row_id']:g}", float(row["prediction"] == row["correct"]))
        for row in rows
        if row["prediction"] is not None
    ]
    (samples,) = openml.read(path, {})
    read = [cell for cell in cells_of(samples)["correct"] if not math.isnan(cell[1])]
    assert read == sorted(expected)


def test_the_schema_of_every_eval_ever_holds_for_what_is_read(
    shared_samples: Path, tmp_path: Path, make: Any
) -> None:
    schema = json.loads(
        (shared_samples / "every_eval_ever" / "instance_level_eval.schema.json").read_text()
    )
    paths = [*shared_samples.glob("every_eval_ever/*.jsonl"), make.write_every_eval_ever(tmp_path)]
    for path in paths:
        for line in path.read_text().splitlines():
            own("jsonschema").validate(json.loads(line), schema)


def test_every_eval_evers_models_read_the_same(tmp_path: Path, make: Any) -> None:
    types = own("every_eval_ever.instance_level_types")
    path = make.write_every_eval_ever(tmp_path)
    logs = [
        types.InstanceLevelEvaluationLog.model_validate_json(line)
        for line in path.read_text().splitlines()
    ]
    expected = [-1 if log.error else int(log.evaluation.is_correct) for log in logs]
    with warnings.catch_warnings(action="ignore"):
        responses = read_responses(path)
    assert responses.items == tuple(f"{log.evaluation_name}/{log.sample_id}" for log in logs)
    assert np.array_equal(responses.values[0], expected)
