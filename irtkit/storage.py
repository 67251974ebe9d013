"""Records in one file: arrays and plain values, without pickled objects, whole or not at all.

The file is a NumPy ``.npz`` archive. A record is a dictionary, dataclass or named tuple of arrays,
JSON values, tuples and further records, and comes back as a dictionary. Every array is an entry of
its own, named by its place (``posterior.guide.own``). The rest is one entry of JSON.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from irtkit.files import ordinary_file, replacing
from irtkit.responses import ResponseMatrix, Source
from irtkit.responses.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

Made = TypeVar("Made")

_ARRAY, _TUPLE = "<array>", "<tuple>"  # Keys in JSON of an array, by its name, and of a tuple.
_OF_METRICS = ("respondent", "item", "metric")
# What NumPy, zipfile and `make` raise for damaged content.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, LookupError,
               TypeError, ValueError, AttributeError, RuntimeError, OverflowError)  # fmt: skip


class Format(NamedTuple):
    """What a file holds."""

    name: str
    version: int


def write(path: str | PathLike[str], form: Format, record: Mapping[str, Any]) -> None:
    """Write a record to a file, which appears whole or not at all."""
    arrays: dict[str, Any] = {}
    content = {name: _plain(value, name, arrays) for name, value in record.items()}
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, header=_text(form._asdict()), content=_text(content), **arrays)


def read(path: str | PathLike[str], form: Format, make: Callable[[dict[str, Any]], Made]) -> Made:
    """Read a record that was written, and return what ``make`` makes of it.

    A file of another kind or version, or a damaged one, is a ValueError.
    """
    with ordinary_file(path).open("rb") as handle:
        try:
            archive = np.lib.npyio.NpzFile(handle, allow_pickle=False)
            header = json.loads(bytes(archive["header"]))
            name, version = header["name"], int(header["version"])
        except _UNREADABLE as error:
            what = f"{path} is not a saved {form.name}, or is damaged"
            raise ValueError(f"{what}: {error}") from error
        if name != form.name:
            raise ValueError(f"{path} is not a saved {form.name}, it is a saved {name}")
        if version != form.version:
            remedy = "install a newer one" if version > form.version else "make the file again"
            reads = f"this irtkit reads version {form.version}"
            raise ValueError(f"{path} has format version {version}, {reads}: {remedy}")
        try:
            return make(_record(archive))
        except _UNREADABLE as error:
            raise ValueError(f"{path} is not a whole {form.name}: {error}") from error


def name_of(path: str | PathLike[str]) -> str | None:
    """Return the name of what a file holds, None if it is a folder or irtkit did not write it."""
    if Path(path).is_dir():
        return None
    try:
        with (
            ordinary_file(path).open("rb") as handle,
            np.load(handle, allow_pickle=False) as entries,
        ):
            return str(json.loads(bytes(entries["header"]))["name"])
    except FileNotFoundError:
        raise
    except _UNREADABLE:
        return None


def fields_of(record: Any) -> dict[str, Any]:
    """Fields of a dataclass by their names, without cached properties."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def with_parts(record: dict[str, Any], **kinds: Callable[..., Any]) -> dict[str, Any]:
    """Return the record with the named parts made again, except parts equal to None."""
    present = {name: kind for name, kind in kinds.items() if record[name] is not None}
    return {**record, **{name: kind(**record[name]) for name, kind in present.items()}}


def stored_responses(responses: ResponseMatrix) -> dict[str, Any]:
    """Arrays and values that `restored_responses` makes the matrix of, without its labels."""
    import pandas as pd

    arrays: dict[str, Any] = responses.cells.arrays()
    for name in ("item_table", "respondent_table"):
        if (table := getattr(responses, name)) is not None:
            columns = {str(column): [*map(_in_json, of)] for column, of in table.items()}
            arrays[name] = _text(columns)
    if (table := responses.predictions) is not None:  # numbers of the different answers
        which, words = pd.factorize(table.to_numpy().ravel())
        kind = np.min_scalar_type(-len(words) - 1)
        arrays["predictions"] = {"words": [*map(str, words)], "which": which.astype(kind)}
    if responses.source is not None:
        arrays["source"] = responses.source.to_dict()
    if (table := responses.metrics) is not None:  # numbers of the labels and names
        numbers = {kind: table[kind].cat.codes.to_numpy() for kind in _OF_METRICS}
        names = [*map(str, table["metric"].cat.categories)]
        arrays["metrics"] = {"names": names, **numbers, "value": table["value"].to_numpy()}
    if responses.trial_correlation is not None:
        arrays["trial_correlation"] = responses.trial_correlation
    return {**arrays, "synthetic": responses.synthetic}


def restored_responses(
    arrays: dict[str, Any], respondents: tuple[str, ...], items: tuple[str, ...]
) -> ResponseMatrix:
    """Make a matrix of stored arrays, checking their shapes only."""
    import pandas as pd

    names, shape = (respondents, items), (len(respondents), len(items))
    matrix = ResponseMatrix.of_cells(Cells.of_arrays(arrays, shape), names, arrays["synthetic"])
    tables: dict[str, Any] = {}
    for name, index in (("item_table", items), ("respondent_table", respondents)):
        if name in arrays:
            tables[name] = pd.DataFrame(json.loads(bytes(arrays[name])), index=list(index))
    if (stored := arrays.get("metrics")) is not None:
        labels = zip(_OF_METRICS, (respondents, items, stored["names"]), strict=True)
        columns = {k: pd.Categorical.from_codes(stored[k], pd.Index(of)) for k, of in labels}
        tables["metrics"] = pd.DataFrame({**columns, "value": stored["value"]})
    if (stored := arrays.get("predictions")) is not None:
        answers = np.array([*stored["words"], None], dtype=object)[stored["which"]]
        tables["predictions"] = pd.DataFrame(answers.reshape(shape), respondents, items)
    if "source" in arrays:
        tables["source"] = Source.from_dict(arrays["source"])
    matrix = matrix.with_tables(**tables)
    return matrix.with_trial_correlation(arrays.get("trial_correlation"))


def _in_json(value: Any) -> Any:
    """A cell of a table as JSON has it. What is neither number, text nor missing is text."""
    import pandas as pd

    if not isinstance(value, list | tuple | dict) and pd.isna(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def _plain(value: Any, name: str, arrays: Arrays) -> Any:
    """Return a value as JSON has it, its arrays put among ``arrays``."""
    if isinstance(value, np.generic):
        return value.item()
    if value is ...:
        return None
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

    def put(entry: dict[str, Any]) -> Any:
        if _TUPLE in entry:
            return tuple(entry[_TUPLE])
        return arrays[entry[_ARRAY]] if _ARRAY in entry else entry

    return dict(json.loads(bytes(arrays["content"]), object_hook=put))


def _text(content: Any) -> NDArray[np.uint8]:
    """Return JSON as an array of bytes."""
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
