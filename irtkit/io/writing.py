"""Response matrices in files, for irtkit and for others.

``long`` is a table with a row per response, and ``wide`` one with a row per respondent, ready for
R's mirt::

    d <- read.csv("crowd.csv", row.names = 1, check.names = FALSE,
                  colClasses = c(respondent = "character"))
    mirt::mirt(d, 1)

``py-irt`` is what py-irt trains on, and ``every-eval-ever`` the schema that evaluation harnesses
share, version 0.3. What a format has no place for is refused, or lies in tables beside the file:
what is known of items in ``crowd.csv.items.json``, of respondents, such as which are synthetic, in
``crowd.csv.respondents.json``, and further metrics of the answers in ``crowd.csv.metrics.parquet``.
`read_responses` reads them with it.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_one_of, check_type, check_unique, short
from irtkit.files import as_path, replacing, replacing_text
from irtkit.io.merging import trials_of
from irtkit.io.tables import SEPARATORS, form_of, quoted, read_table, write_table
from irtkit.io.text import guarded
from irtkit.responses import ResponseMatrix, refuse_sparse
from irtkit.responses.codes import MISSING
from irtkit.responses.columns import refuse_repeats

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.responses.scatter import Block

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ENDINGS = {
    "every-eval-ever": ("_samples.jsonl", "_samples.jsonl.gz"),
    "py-irt": (".jsonlines", ".jsonl", ".jsonlines.gz", ".jsonl.gz"),
    "long": (".parquet", *_TEXT),
    "wide": _TEXT,
}
"""How the files of each format end; the first format that a name fits is meant."""
_SIDES = {"items": ".json", "respondents": ".json", "metrics": ".parquet"}
"""What is known besides the responses, and how the names of files beside theirs end."""


def write_responses(
    responses: ResponseMatrix,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - as in read_responses
) -> None:
    """Write a response matrix so that `read_responses` gives it back.

    Parameters
    ----------
    responses
        The matrix. Synthetic respondents are written like the others, and noted beside the file;
        `read_responses` marks them again.
    path
        The file, which appears whole or not at all.
    format
        "long" (.csv, .tsv or .parquet), "wide" (.csv or .tsv), "py-irt" (.jsonl or .jsonlines) or
        "every-eval-ever" (_samples.jsonl); text may be compressed, with .gz after the name. By
        default the name decides, and .csv is long.

        Long tables and Every Eval Ever hold repeated trials (``repeats="count"`` reads them). Of a
        sparse matrix a long table or Every Eval Ever holds the observed cells alone, and labels
        come back in the order in which they occur. Every Eval Ever calls items ``task/item``: one
        without a task comes back as ``responses/item``; and a missing response of a dense matrix is
        a sample with an error, of which reading it warns. py-irt's lines give items back in the
        order in which they are first answered.

    Raises
    ------
    ValueError
        If the name does not fit, if the format has no place for repeated trials, for a sparse
        matrix or for an item without a response, if two items of Every Eval Ever would come back
        as one, or if tables of another matrix lie beside the
        file.
    OSError
        If the file cannot be written there.

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
    check_type("responses", responses, ResponseMatrix)
    file = as_path(path)
    write = _WRITERS[format_by_name(file, format)]
    known = _known(_as_they_come_back(responses) if write is _write_every_eval_ever else responses)
    for kind in _SIDES:
        beside = _side(file, kind)
        if kind in known:
            write_table(known[kind], beside)
        elif beside.exists():
            raise ValueError(f"{beside} would be read with {file.name} and is not of it: remove it")
    write(responses, file)


def format_by_name(path: Path, requested: str | None = None) -> str:
    """Format of a file of responses by its name, which the one requested must fit."""
    if requested is not None:
        check_one_of("format", requested, _ENDINGS)
    fitting = [name for name, ends in _ENDINGS.items() if path.name.lower().endswith(ends)]
    if not fitting or requested not in {None, *fitting}:
        endings = _ENDINGS[requested or "long"]
        raise ValueError(f"the file must end in {' or '.join(endings)}, got {str(path)!r}")
    return requested or fitting[0]


def is_side_table(path: Path) -> bool:
    """Whether a file holds what is known besides the responses in another."""
    return path.name.endswith(tuple(f".{kind}{end}" for kind, end in _SIDES.items()))


def side_tables(path: Path) -> dict[str, Path]:
    """Files beside a file of responses that hold what else is known."""
    return {kind: file for kind in _SIDES if (file := _side(path, kind)).is_file()}


def with_side_tables(responses: ResponseMatrix, path: Path) -> ResponseMatrix:
    """Return the matrix with the tables that lie beside its file, if there are any.

    Raises
    ------
    ValueError
        If a table of items or respondents lacks one of the matrix: it is of another.
    """
    beside = side_tables(path)
    if not beside:
        return responses
    tables = _tables(responses) | {kind: read_table(file) for kind, file in beside.items()}
    for kind, labels in (("items", responses.items), ("respondents", responses.respondents)):
        absent = set(labels).difference(tables[kind].index) if kind in beside else None
        if absent:
            raise ValueError(
                f"{beside[kind].name} has no row for {short(min(absent))}, so it is not of this "
                "file: remove it"
            )
    synthetic, about = None, tables["respondents"]
    if "respondents" in beside and "synthetic" in about and about["synthetic"].dtype == bool:
        synthetic = about.loc[[*responses.respondents], "synthetic"].to_numpy()
        about = about.drop(columns="synthetic")
        tables["respondents"] = about if about.shape[1] else None
    return responses.with_tables(*tables.values(), synthetic=synthetic)


def _tables(responses: ResponseMatrix) -> dict[str, Any]:
    found = responses.item_table, responses.respondent_table, responses.metrics
    return dict(zip(_SIDES, found, strict=True))


def _side(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}{_SIDES[kind]}")


def _known(responses: ResponseMatrix) -> dict[str, pd.DataFrame]:
    """What is known besides: mixed columns as text, labels instead of categories."""
    import pandas as pd

    known = {kind: table for kind, table in _tables(responses).items() if table is not None}
    if responses.synthetic.any():
        index = pd.Index(responses.respondents, name="respondent")
        respondents = known.get("respondents", pd.DataFrame(index=index))
        known["respondents"] = respondents.assign(synthetic=responses.synthetic)
    if "metrics" in known:
        labels = dict.fromkeys(("respondent", "item", "metric"), object)
        known["metrics"] = known["metrics"].astype(labels)
    for kind in known.keys() - {"metrics"}:
        mixed = {str(name): column for name, column in known[kind].items() if column.dtype == "O"}
        texts = {name: column.map(str, na_action="ignore") for name, column in mixed.items()}
        known[kind] = known[kind].assign(**texts)
    return known


def _rows(responses: ResponseMatrix) -> Block:
    """Respondent, item and response of every trial, and of every missing cell of a dense matrix."""
    rows, columns, codes = trials_of(responses)
    if responses.is_sparse:
        return rows, columns, codes
    more_rows, more_columns = np.nonzero(responses.trials == 0)
    rows, columns = np.append(rows, more_rows), np.append(columns, more_columns)
    codes = np.append(codes, np.full(more_rows.size, MISSING, np.int8))
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], codes[order]


def _write_long(responses: ResponseMatrix, file: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rows, columns, codes = _rows(responses)
    separator = SEPARATORS.get(form_of(file))  # none of Parquet

    def labels(numbers: NDArray[Any], names: tuple[str, ...]) -> Any:
        words = names if separator is None else tuple(map(guarded, names))
        column = pa.DictionaryArray.from_arrays(numbers.astype(np.int32), list(words))
        return column if separator is None else column.cast(pa.string())

    table = pa.table(
        {
            "respondent": labels(rows, responses.respondents),
            "item": labels(columns, responses.items),
            "response": pa.array(codes, mask=codes == MISSING),
        }
    )
    with replacing(file) as temporary:
        if separator is None:
            pyarrow.parquet.write_table(table, temporary)
        else:
            with pa.output_stream(str(temporary), compression="detect") as stream:
                options = pyarrow.csv.WriteOptions(delimiter=separator)
                pyarrow.csv.write_csv(table, stream, options)


def _write_wide(responses: ResponseMatrix, file: Path) -> None:
    values = _one_response_a_cell(responses, "wide")
    header = ("respondent", *responses.items)
    refuse_repeats(header)
    separator, words = SEPARATORS[form_of(file)], np.array(["NA", "0", "1"], dtype=object)
    with replacing_text(file) as text:
        text.write(separator.join(map(quoted, header)) + "\n")
        for respondent, row in zip(responses.respondents, values, strict=True):
            text.write(separator.join([quoted(respondent), *words[row - MISSING]]) + "\n")


def _write_py_irt(responses: ResponseMatrix, file: Path) -> None:
    values = _one_response_a_cell(responses, "py-irt")
    unanswered = (values == MISSING).all(axis=0)
    if unanswered.any():
        item = responses.items[int(unanswered.argmax())]
        raise ValueError(f"py-irt has no place for an item without a response, as {short(item)} is")
    with replacing_text(file) as text:
        for respondent, row in zip(responses.respondents, values, strict=True):
            cells = zip(responses.items, row.tolist(), strict=True)
            answers = {item: value for item, value in cells if value != MISSING}
            record = {"subject_id": respondent, "responses": answers}
            text.write(json.dumps(record, ensure_ascii=False) + "\n")


def _one_response_a_cell(responses: ResponseMatrix, form: str) -> NDArray[np.int8]:
    refuse_sparse(responses, f"format={short(form)}")
    if responses.has_repeats:
        raise ValueError(f"{form} holds one response per cell, but there are repeated trials")
    return responses.values


def _write_every_eval_ever(responses: ResponseMatrix, file: Path) -> None:
    """Samples, those of a respondent together; a missing response is a sample that failed."""
    now = int(time.time())
    samples = _samples(responses)
    with replacing_text(file) as text:
        for row, column, code in zip(*(part.tolist() for part in _rows(responses)), strict=True):
            respondent, sample = responses.respondents[row], samples[column]
            run = f"{sample['evaluation_name']}/{respondent.replace('/', '_')}/{now}"
            missing = {"error": "no response is known"} if code == MISSING else {}
            record = {
                "schema_version": "0.3.0",
                "evaluation_id": run,
                "model_id": respondent,
                **sample,
                "evaluation": {"score": float(code == 1), "is_correct": code == 1},
                **missing,
            }
            text.write(json.dumps(record, ensure_ascii=False) + "\n")


def _tasks(responses: ResponseMatrix) -> list[tuple[str, str]]:
    """Task and sample of every item: together the label that comes back."""
    known, tasks = responses.item_table, [""] * responses.n_items
    if known is not None and "task" in known:
        tasks = known["task"].astype(object).where(known["task"].notna(), "").map(str).tolist()
    found = []
    for item, named in zip(responses.items, tasks, strict=True):
        task = item.partition("/")[0] if "/" in item.strip("/") else "responses"
        task = named if named and item.startswith(f"{named}/") else task
        found.append((task, item.removeprefix(f"{task}/")))
    return found


def _as_they_come_back(responses: ResponseMatrix) -> ResponseMatrix:
    """The matrix with its items called ``task/item``."""
    labels = [f"{task}/{sample}" for task, sample in _tasks(responses)]
    check_unique("tasks and items must make unique labels", labels)
    if labels == [*responses.items]:
        return responses
    known, metrics = responses.item_table, responses.metrics
    if metrics is not None:
        items = dict(zip(responses.items, labels, strict=True))
        metrics = metrics.assign(item=metrics["item"].astype(object).map(items))
    return ResponseMatrix.from_observed(
        *responses.observed, responses.respondents, labels, synthetic=responses.synthetic
    ).with_tables(
        None if known is None else known.set_axis(labels), responses.respondent_table, metrics
    )


def _samples(responses: ResponseMatrix) -> list[dict[str, Any]]:
    """What the samples of each item have in common."""
    known = responses.item_table
    described: list[dict[Any, Any]] = [{}] * responses.n_items
    if known is not None:
        described = known.astype(object).where(known.notna(), None).to_dict("records")
    samples: list[dict[str, Any]] = []
    for (task, sample), about in zip(_tasks(responses), described, strict=True):
        metadata = {str(name): str(value) for name, value in about.items() if value is not None}
        _, text, target = (metadata.pop(name, "") for name in ("task", "text", "target"))
        hashed = hashlib.sha256(f"{text}{target}".encode()).hexdigest() if text else None
        samples.append(
            {
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
        )
    return samples


_WRITERS: dict[str, Callable[[ResponseMatrix, Path], None]] = {
    "long": _write_long,
    "wide": _write_wide,
    "py-irt": _write_py_irt,
    "every-eval-ever": _write_every_eval_ever,
}
