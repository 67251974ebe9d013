"""Response matrices in files, for irtkit and for other programs.

What else is known lies in tables next to the file, which `read_responses` reads with it:
``crowd.csv.items.json``, ``crowd.csv.respondents.json`` and ``crowd.csv.metrics.parquet``, and
``crowd.csv.source.json`` if marks of judges were adjusted.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import check_one_of, check_type, check_unique, short
from irtkit.files import as_path, remove, replacing, replacing_text
from irtkit.io.tables import SEPARATORS, form_of, lines_of, read_table, write_table
from irtkit.responses import ResponseMatrix, Source

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ENDINGS = {
    "every-eval-ever": ("_samples.jsonl", "_samples.jsonl.gz"),
    "long": (".parquet", *_TEXT),
    "wide": _TEXT,
}  # The first format that a name fits is the default.
_SIDES = {"items": ".json", "respondents": ".json", "metrics": ".parquet", "source": ".json"}


def write_responses(
    responses: ResponseMatrix,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - as in read_responses
) -> None:
    """Write a response matrix so that `read_responses` gives it back.

    Parameters
    ----------
    responses : ResponseMatrix
        Matrix to write. A table next to the file marks synthetic respondents.
    path : str or path-like
        File, which appears whole or not at all. Text may have .gz after its suffix.
    format : {"long", "wide", "every-eval-ever"}, optional
        By default long for .csv, .tsv and .parquet, and every-eval-ever for _samples.jsonl. Long
        and every-eval-ever hold sparse matrices and repeated trials, which ``repeats="count"``
        reads. Items of every-eval-ever are read back as ``task/item``.

    Examples
    --------
    >>> import tempfile, irtkit
    >>> from pathlib import Path
    >>> responses = irtkit.ResponseMatrix([[1, 0], [-1, 1]], ["gpt", "llama"], ["q1", "q2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "crowd.csv")
    ...     irtkit.write_responses(responses, path, format="wide")
    ...     print(path.read_text(), end="")
    "respondent","q1","q2"
    "gpt",1,0
    "llama",NA,1
    """
    import pandas as pd

    check_type("responses", responses, ResponseMatrix)
    file = as_path(path)
    form = format_by_name(file, format)
    if form == "wide":
        require("format='wide'", responses)
    tasks = _tasks(responses) if form == "every-eval-ever" else []
    labels = [*map("/".join, tasks)] if tasks else [*responses.items]
    check_unique("tasks and items must make unique labels", labels)
    tables = _known(responses, labels)
    earlier = side_tables(file)
    for kind, beside in earlier.items():
        if kind in tables:
            continue
        if "source" not in earlier:  # With it, all were written with the earlier file.
            raise ValueError(f"{beside} is not of these responses and would be read: remove it")
        remove(beside)
    for kind, table in tables.items():
        write_table(table, _side(file, kind))
    if form == "every-eval-ever":
        encode = json.JSONEncoder(ensure_ascii=False).encode
        with replacing_text(file) as text:
            text.writelines(f"{encode(sample)}\n" for sample in _samples(responses, tasks))
        return
    if form == "wide":
        check_unique("column names must be unique", ("respondent", *responses.items))
        frame = responses.to_frame()
    else:
        rows, columns, codes = _trials(responses)
        respondents = pd.Categorical.from_codes(rows, pd.Index(responses.respondents))
        items = pd.Categorical.from_codes(columns, pd.Index(responses.items))
        values = pd.Series(codes, dtype="Int8" if codes.dtype.kind == "i" else "Float32")
        answers = {"item": items, "response": values.mask(codes < 0).array}
        frame = pd.DataFrame(answers, pd.CategoricalIndex(respondents, name="respondent"))
    if file.suffix.lower() == ".parquet":
        with replacing(file) as temporary:
            frame.reset_index().to_parquet(temporary, index=False)
        return
    scores = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]
    shortest = frame[scores].astype(str).astype(float)  # the same in 32 bits
    with replacing_text(file) as text:
        lines = lines_of(frame.assign(**shortest), SEPARATORS[form_of(file)], missing="NA")
        text.writelines(lines)


def format_by_name(path: Path, requested: str | None = None) -> str:
    """Format of a file of responses by its name, which the requested format must fit."""
    if requested is not None:
        check_one_of("format", requested, _ENDINGS)
    fitting = [name for name, ends in _ENDINGS.items() if path.name.lower().endswith(ends)]
    if not fitting or requested not in {None, *fitting}:
        endings = _ENDINGS[requested or "long"]
        raise ValueError(f"the file must end in {' or '.join(endings)}, got {str(path)!r}")
    return requested or fitting[0]


def is_side_table(path: Path) -> bool:
    """Whether a file holds what is known besides the responses in another file."""
    endings = [f".{kind}{end}" for kind, end in _SIDES.items()]
    return path.name.endswith(tuple(endings))


def side_tables(path: Path) -> dict[str, Path]:
    """Files next to a file of responses that hold what else is known."""
    return {kind: file for kind in _SIDES if (file := _side(path, kind)).is_file()}


def _side(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}{_SIDES[kind]}")


def with_side_tables(responses: ResponseMatrix, path: Path) -> ResponseMatrix:
    """Return the matrix with the tables that lie next to its file, which must be of its labels."""
    files = side_tables(path)
    tables: dict[str, Any] = {kind: read_table(file) for kind, file in files.items()}
    if not tables:
        return responses
    for kind in tables.keys() & {"items", "respondents"}:
        if absent := set(getattr(responses, kind)).difference(tables[kind].index):
            side = _side(path, kind).name
            label = short(min(absent))
            raise ValueError(
                f"{side} lacks a row for {label}, so it is not of this file: remove it"
            )
    items: Any = tables.get("items", responses.item_table)
    systems: Any = tables.get("respondents", responses.respondent_table)
    synthetic = None
    if "respondents" in tables and "synthetic" in systems:
        synthetic = systems.pop("synthetic")[[*responses.respondents]].to_numpy(bool)
        systems = systems if systems.shape[1] else responses.respondent_table
    if "items" in tables and responses.item_table is not None:
        items = items.join(responses.item_table.drop(columns=items.columns, errors="ignore"))
    metrics = tables.get("metrics", responses.metrics)
    source = Source.from_dict(tables["source"].iloc[0]) if "source" in tables else None
    return responses.with_tables(items, systems, metrics, synthetic=synthetic, source=source)


def _known(responses: ResponseMatrix, labels: list[str]) -> dict[str, Any]:
    """What is known besides, for items as they will be read. Mixed columns are text."""
    import pandas as pd

    items = responses.item_table
    systems = responses.respondent_table
    metrics = responses.metrics
    if responses.synthetic.any():
        systems = pd.DataFrame(index=[*responses.respondents]) if systems is None else systems
        systems = systems.rename_axis("respondent").assign(synthetic=responses.synthetic)
    items = None if items is None else items.set_axis(labels)
    if metrics is not None:
        metrics = metrics.assign(item=metrics["item"].cat.rename_categories(labels))
    tables = {}
    for kind, table in zip(_SIDES, (items, systems, metrics), strict=False):
        if table is not None:
            mixed = table.select_dtypes(exclude=["number", "bool"]).astype(object)
            tables[kind] = table.assign(**mixed.map(str, na_action="ignore"))
    if responses.source is not None and responses.source.adjustment:
        tables["source"] = pd.DataFrame([responses.source.to_dict()])
    return tables


def _trials(responses: ResponseMatrix) -> tuple[NDArray[Any], ...]:
    """Respondent, item and response of every trial, and of every missing cell of a dense matrix."""
    parts: Any = responses.cells.rows()
    if not responses.is_sparse:
        rows, columns = np.nonzero(responses.trials == 0)
        absent: Any = rows, columns, np.full(len(rows), -1, np.int8)
        parts = [*map(np.concatenate, zip(parts, absent, strict=True))]
    order = np.lexsort((parts[1], parts[0]))
    return tuple(part[order] for part in parts)


def _tasks(responses: ResponseMatrix) -> list[tuple[str, str]]:
    """Task and sample of every item of Every Eval Ever."""
    import pandas as pd

    labels = pd.Series(responses.items, dtype=object)
    tasks = labels.str.extract("^(.*?)/", expand=False)
    if responses.item_table is not None and "task" in responses.item_table:
        given = responses.item_table["task"].reset_index(drop=True)
        tasks = given.replace("", None).fillna(tasks)
    tasks = tasks.replace("", None).fillna("responses").astype(str)
    pairs = zip(tasks, labels, strict=True)
    return [(task, item.removeprefix(f"{task}/")) for task, item in pairs]


def _samples(responses: ResponseMatrix, tasks: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Samples of Every Eval Ever 0.3, where a missing response is a sample that failed."""
    table = responses.item_table
    fixed = list[dict[str, Any]]()
    columns: dict[Any, Any] = {}
    if table is not None:
        columns = table.astype(object).where(table.notna(), None).T.to_dict()
    for item, (task, sample) in zip(responses.items, tasks, strict=True):
        fields = columns.get(item, {}).items()
        metadata = {str(name): str(value) for name, value in fields if value is not None}
        metadata.pop("task", None)
        text = metadata.pop("text", "")
        target = metadata.pop("target", "")
        hashed = hashlib.sha256(f"{text}{target}".encode()).hexdigest() if text else None
        record: dict[str, Any] = {
            "evaluation_name": task,
            "evaluation_result_id": task,
            "sample_id": sample,
            "sample_hash": hashed,
            "interaction_type": "single_turn",
            "input": {"raw": text, "reference": [target] if target else []},
            "output": {"raw": []},
            "answer_attribution": [],
            "metadata": metadata,
        }
        fixed.append(record)
    now = int(time.time())
    for row, column, code in zip(*map(np.ndarray.tolist, _trials(responses)), strict=True):
        respondent = responses.respondents[row]
        record = fixed[column]
        run = f"{record['evaluation_name']}/{respondent.replace('/', '_')}/{now}"
        names = {"schema_version": "0.3.0", "evaluation_id": run, "model_id": respondent}
        marks: dict[str, Any] = {
            "evaluation": {"score": float(max(code, 0)), "is_correct": code == 1}
        }
        if code < 0:
            marks["error"] = "no response is known"
        yield names | record | marks
