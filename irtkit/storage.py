"""Records in one file: arrays and plain values, without pickled objects, whole or not at all.

The file is a NumPy ``.npz`` archive. A record is a dictionary, a dataclass or a named tuple of
arrays, of what JSON holds, of tuples, and of further records; dataclasses and named tuples come
back as dictionaries, to be made again by whoever reads them. Every array is an entry of its own,
named by where it stands (``posterior.guide.own``); the rest is one entry of JSON.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from irtkit.files import ordinary_file, replacing
from irtkit.memory import check_memory
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from zipfile import ZipFile

    import pandas as pd
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

Made = TypeVar("Made")

_ARRAY, _TUPLE = "<array>", "<tuple>"
"""Keys of the JSON objects that stand for an array, by its name, and for a tuple."""
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),  # of archives
    *(KeyError, TypeError, ValueError, IndexError, AttributeError),  # of entries
    *(RuntimeError, OverflowError),  # of sizes and depths that nothing has
)
"""What comes of files of another kind and of damaged ones."""


class Format(NamedTuple):
    """What a file holds."""

    name: str
    version: int


def write(
    path: str | PathLike[str], form: Format, record: Mapping[str, Any], *, compressed: bool
) -> None:
    """Write a record to a file, which appears whole or not at all."""
    arrays: dict[str, Any] = {}
    content = {name: _plain(value, name, arrays) for name, value in record.items()}
    save = np.savez_compressed if compressed else np.savez
    with replacing(path) as temporary, temporary.open("wb") as handle:
        save(handle, header=_text(form._asdict()), content=_text(content), **arrays)


def read(path: str | PathLike[str], form: Format, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Read a record that was written, and return what ``make`` makes of it.

    Entries that the record does not name are not unpacked.

    Raises
    ------
    ValueError
        If the file is of another kind or another version of irtkit, is damaged, or if ``make``
        finds something missing or wrong.
    OSError
        If there is no such file, or it is a folder.
    MemoryError
        If it needs more than there is.
    """
    with ordinary_file(path).open("rb") as handle:
        try:
            archive = np.lib.npyio.NpzFile(handle, allow_pickle=False)
            size = sum(entry.file_size for entry in cast("ZipFile", archive.zip).infolist())
            header = json.loads(bytes(archive["header"]))
            name, version = header["name"], int(header["version"])
        except (*_UNREADABLE, MemoryError) as error:
            raise ValueError(
                f"{path} is not a saved {form.name}, or is damaged: {error}"
            ) from error
        if name != form.name:
            raise ValueError(f"{path} is not a saved {form.name}, it is a saved {name}")
        if version != form.version:
            remedy = "install a newer one" if version > form.version else "make the file anew"
            raise ValueError(
                f"{path} has format version {version}; this irtkit reads version {form.version}: "
                f"{remedy}"
            )
        try:
            return make(_record(archive))
        except (*_UNREADABLE, MemoryError) as error:
            if isinstance(error, MemoryError):  # unless it is the size of what is damaged
                check_memory(size, str(path))
            raise ValueError(f"{path} is not a whole {form.name}: {error}") from error


def name_of(path: str | PathLike[str]) -> str | None:
    """Return the name of what a file holds; None if it was not written here, or is a folder."""
    if Path(path).is_dir():
        return None
    with ordinary_file(path).open("rb") as handle:
        try:
            with np.lib.npyio.NpzFile(handle, allow_pickle=False) as archive:
                return str(json.loads(bytes(archive["header"]))["name"])
        except _UNREADABLE:
            return None


def fields_of(record: Any) -> dict[str, Any]:
    """Fields of a dataclass by their names; what is cached beside them is left out."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def with_parts(record: dict[str, Any], **kinds: Callable[..., Any]) -> dict[str, Any]:
    """Return the record with the parts that are named made again, but for those that are None."""
    made = {
        name: None if record[name] is None else kind(**record[name]) for name, kind in kinds.items()
    }
    return {**record, **made}


def stored_responses(responses: ResponseMatrix) -> dict[str, Any]:
    """Arrays that :func:`restored_responses` makes the matrix of again; without its labels."""
    if responses.is_sparse:
        right, tried = responses.observed
        places = {"columns": tried.indices, "starts": tried.indptr}
        cells = {"successes": right.data, "trials": tried.data, **places}
    elif responses.has_repeats:
        cells = {"successes": responses.successes, "trials": responses.trials}
    else:
        cells = {"values": responses.values}
    tables = {"item_table": responses.item_table, "respondent_table": responses.respondent_table}
    known = {name: _text(_columns(table)) for name, table in tables.items() if table is not None}
    return {**cells, **known, **_stored_metrics(responses), "synthetic": responses.synthetic}


def _stored_metrics(responses: ResponseMatrix) -> dict[str, Any]:
    """Metrics of the answers as numbers into the labels and into their names, which come first."""
    table = responses.metrics
    if table is None:
        return {}
    kinds = ("respondent", "item", "metric")
    numbers = {kind: table[kind].cat.codes.to_numpy() for kind in kinds}
    names = [str(name) for name in table["metric"].cat.categories]
    return {"metrics": {"names": names, **numbers, "value": table["value"].to_numpy()}}


def _restored_metrics(
    stored: dict[str, Any], respondents: tuple[str, ...], items: tuple[str, ...]
) -> pd.DataFrame:
    import pandas as pd

    labels = {"respondent": respondents, "item": items, "metric": stored["names"]}
    numbered = {
        kind: pd.Categorical.from_codes(stored[kind], pd.Index(of)) for kind, of in labels.items()
    }
    return pd.DataFrame({**numbered, "value": stored["value"]})


def restored_responses(
    arrays: dict[str, Any], respondents: tuple[str, ...], items: tuple[str, ...]
) -> ResponseMatrix:
    """Make a matrix of arrays that were stored, of which nothing is taken on trust."""
    matrix = _restored_cells(arrays, respondents, items)
    labels = {"item_table": items, "respondent_table": respondents}
    if arrays.keys().isdisjoint({*labels, "metrics"}):
        return matrix
    import pandas as pd

    tables = {
        name: pd.DataFrame(json.loads(bytes(arrays[name])), index=list(index))
        for name, index in labels.items()
        if name in arrays
    }
    if "metrics" in arrays:
        tables["metrics"] = _restored_metrics(arrays["metrics"], respondents, items)
    return matrix.with_tables(**tables)


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Columns of a table as JSON has them; what is neither number, text nor missing is text."""
    import pandas as pd

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple | dict) or not pd.isna(value):
            known = value.item() if isinstance(value, np.generic) else value
            return known if isinstance(known, bool | int | float | str) else str(known)
        return None

    return {str(name): [plain(value) for value in column] for name, column in table.items()}


def _restored_cells(
    arrays: dict[str, Any], respondents: tuple[str, ...], items: tuple[str, ...]
) -> ResponseMatrix:
    marks = arrays["synthetic"]
    if "values" in arrays:
        return ResponseMatrix(arrays["values"], respondents, items, synthetic=marks)
    right: Any = arrays["successes"]
    tried: Any = arrays["trials"]
    if "starts" not in arrays:
        return ResponseMatrix.from_counts(right, tried, respondents, items, synthetic=marks)
    from scipy.sparse import csr_array

    places, shape = (arrays["columns"], arrays["starts"]), (len(respondents), len(items))
    right, tried = (csr_array((n, *places), shape=shape) for n in (right, tried))
    return ResponseMatrix.from_observed(right, tried, respondents, items, synthetic=marks)


def _plain(value: Any, name: str, arrays: Arrays) -> Any:
    """Return a value as JSON has it, its arrays put among ``arrays``."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"{name} holds objects, which would be pickled")
        arrays[name] = value
        return {_ARRAY: name}
    if is_dataclass(value):
        value = fields_of(value)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _plain(part, f"{name}.{key}", arrays) for key, part in value.items()}
    if isinstance(value, tuple | list):
        parts = list(value)
        if not set(map(type, parts)) <= {str}:  # labels are many, and need no look at each
            parts = [_plain(part, f"{name}.{k}", arrays) for k, part in enumerate(parts)]
        return {_TUPLE: parts} if isinstance(value, tuple) else parts
    return value


def _record(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what was written, arrays and tuples in their places."""

    def put(found: dict[str, Any]) -> Any:
        if _TUPLE in found:
            return tuple(found[_TUPLE])
        return arrays[found[_ARRAY]] if _ARRAY in found else found

    return dict(json.loads(bytes(arrays["content"]), object_hook=put))


def _text(content: Any) -> NDArray[np.uint8]:
    """Return JSON as an array of bytes."""
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
