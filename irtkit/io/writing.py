"""Response matrices in files, for irtkit and for other programs.

What else is known lies in tables next to the file, which `read_responses` reads with it:
``crowd.csv.items.json``, ``crowd.csv.respondents.json`` and ``crowd.csv.metrics.parquet``, and
``crowd.csv.source.json`` if marks of judges were adjusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.capabilities import require
from irtkit.checks import check_one_of, check_type, check_unique, short
from irtkit.files import as_path, remove, replacing, replacing_text
from irtkit.io.tables import SEPARATORS, form_of, lines_of, read_table, write_table
from irtkit.responses import ResponseMatrix, Source

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ENDINGS = {"long": (".parquet", *_TEXT), "wide": _TEXT}
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
    format : {"long", "wide"}, default "long"
        Long is for .csv, .tsv and .parquet, and holds sparse matrices and repeated trials, which
        ``repeats="count"`` reads. Wide is for .csv and .tsv.

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
    tables = _known(responses)
    earlier = side_tables(file)
    for kind, beside in earlier.items():
        if kind in tables:
            continue
        if "source" not in earlier:  # With it, all were written with the earlier file.
            raise ValueError(f"{beside} is not of these responses and would be read: remove it")
        remove(beside)
    for kind, table in tables.items():
        write_table(table, _side(file, kind))
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
    """Format of a file of responses, long by default, which the name of the file must fit."""
    form = "long" if requested is None else requested
    check_one_of("format", form, _ENDINGS)
    endings = _ENDINGS[form]
    if not path.name.lower().endswith(endings):
        raise ValueError(f"the file must end in {' or '.join(endings)}, got {str(path)!r}")
    return form


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


def _known(responses: ResponseMatrix) -> dict[str, Any]:
    """What is known besides. Mixed columns are text."""
    import pandas as pd

    systems = responses.respondent_table
    if responses.synthetic.any():
        systems = pd.DataFrame(index=[*responses.respondents]) if systems is None else systems
        systems = systems.rename_axis("respondent").assign(synthetic=responses.synthetic)
    known = responses.item_table, systems, responses.metrics
    tables = {}
    for kind, table in zip(_SIDES, known, strict=False):
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
