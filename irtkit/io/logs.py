"""Evaluation logs in files and folders: which files are logs, of which format, and what they hold.

`irtkit.io.log_matrix` makes a response matrix of what is found here.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irtkit.files import head_of
from irtkit.io import (
    evalplus,
    every_eval_ever,
    helm,
    inspect_logs,
    lm_eval,
    open_llm,
    openml,
    swe_bench,
)
from irtkit.io.samples import scores_of
from irtkit.io.text import naming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from irtkit.io.samples import Item, Known, Samples


_WITH_COMPANIONS = (inspect_logs, lm_eval, every_eval_ever, helm)
"""Formats whose logs have files beside them that are none, and go by names of their own."""
LOG_FORMATS = {
    module.NAME: module for module in (*_WITH_COMPANIONS, evalplus, swe_bench, openml, open_llm)
}
"""Modules that tell a format of logs by name and beginning of a file, and read it."""
_TABLE = re.compile(r".*\.(csv|tsv|parquet|jsonl|jsonlines)(\.gz)?", re.IGNORECASE)
"""Names of tables in a folder: by its content any text may be one."""


@dataclass(eq=False)
class Reading:
    """Samples of a file, whose items are numbers into the list of all."""

    samples: Samples
    numbers: NDArray[np.int64]
    contents: list[str | None]

    @property
    def run(self) -> tuple[str, str]:
        """Who answered what."""
        return self.samples.respondent, self.samples.task

    @property
    def kind(self) -> tuple[str, str]:
        """Format and task, which together say what the metrics mean."""
        return self.samples.format, self.samples.task


@dataclass(eq=False)
class Logs:
    """What files of logs hold."""

    readings: list[Reading] = field(default_factory=list)
    items: dict[tuple[str, str], int] = field(default_factory=dict)
    """Number of each item by its task and name."""
    described: dict[tuple[int, str | None], Item] = field(default_factory=dict)
    """What the first log says of an item, by its number and content."""
    known: set[tuple[str, str, str | None]] = field(default_factory=set)
    """Task, name and content of the items that are described."""
    latest: dict[str, tuple[list[str], list[str | None], NDArray[np.int64]]] = field(
        default_factory=dict
    )
    """Names, contents and numbers of the items of a task in the latest log that had others than the
    one before: most have the same, and share these."""
    skipped: list[Path] = field(default_factory=list)
    """Files in folders that are no logs."""

    def add(self, samples: Samples) -> None:
        """Add the samples of a file; what they say of items that are known is let go."""
        names = [*samples.items]
        contents = [item.content for item in samples.items.values()]
        earlier = self.latest.get(samples.task)
        if earlier is None or (names, contents) != earlier[:2]:
            numbers = self._numbers(samples)
            earlier = self.latest[samples.task] = names, contents, numbers
        samples.items = {}
        places: dict[int, NDArray[np.int64]] = {}  # measures may share a list of positions
        arrays = {}
        for measure, (positions, values) in samples.scores.items():
            if id(positions) not in places:
                places[id(positions)] = np.array(positions, np.int64)
            scores = scores_of(values)
            if measure not in samples.not_marks or not np.isnan(scores).all():
                arrays[measure] = places[id(positions)], scores
        samples.scores = arrays
        self.readings.append(Reading(samples, earlier[2], earlier[1]))

    def _numbers(self, samples: Samples) -> NDArray[np.int64]:
        numbers, task = [], samples.task
        for item, described in samples.items.items():
            number = self.items.setdefault((task, item), len(self.items))
            kept = self.described.setdefault((number, described.content), described)
            if kept is described:
                self.known.add((task, item, kept.content))
            numbers.append(number)
        return np.array(numbers, np.int64)


def log_format(path: Path, head: bytes) -> str | None:
    """Name of the format of a file that begins so; None where it is no log."""
    return next((name for name, kind in LOG_FORMATS.items() if kind.recognise(path, head)), None)


def is_companion(path: Path) -> bool:
    """Whether a file lies beside logs, and says what they are of, but is none."""
    return any(kind.is_companion(path) for kind in _WITH_COMPANIONS)


def is_table(path: Path) -> bool:
    """Whether a file in a folder goes by the name of a table."""
    return _TABLE.fullmatch(path.name) is not None


def is_pattern(path: str) -> bool:
    """Whether a path that is no file stands for several."""
    return glob.has_magic(path) and not Path(path).exists()


def stands_for_several(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder or a pattern."""
    return Path(path).is_dir() or is_pattern(os.fspath(path))


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Files in a folder, at any depth, or of a pattern, in the order of their names.

    Hidden files and folders are left out, and links to folders are not followed. A folder that
    cannot be opened is an OSError.
    """
    name = os.fspath(path)
    if is_pattern(name):
        found = [Path(one) for one in glob.glob(name, recursive=True)]  # noqa: PTH207 - Path's refuses /
        files = [file for one in found for file in (files_of(one) if one.is_dir() else [one])]
        if not files:
            raise FileNotFoundError(f"{name}: no file is of this pattern")
        return sorted(set(files))
    if not Path(name).is_dir():
        return [Path(name)]
    files = []
    for folder, folders, names in os.walk(name, onerror=_refuse):
        folders[:] = [one for one in folders if not one.startswith(".")]
        files += [Path(folder, one) for one in names if not one.startswith(".")]
    if not files:
        raise ValueError(f"{name}: the folder holds no files")
    return sorted(files)


def _refuse(error: OSError) -> None:
    raise type(error)(f"{error.filename}: the folder cannot be read: {error.strerror}") from error


def read_files(files: Sequence[Path], form: str | None = None) -> Logs:
    """Read logs, and note files that are none: of several, all but those of the format named."""
    logs = Logs()
    for file in files:
        name = form if form is not None and len(files) == 1 else log_format_of(file)
        if name is None or form not in {None, name}:
            if not is_companion(file):
                logs.skipped.append(file)
            continue
        try:
            found = read_file(file, name, logs.known)
        except ValueError as error:
            raise ValueError(f"{_below(file, files)}{error}") from error
        for samples in found:
            logs.add(samples)
    return logs


def _below(file: Path, files: Sequence[Path]) -> str:
    """Folders of a file below the one that holds all: several may go by one name."""
    whole = os.path.commonpath([one.absolute().parent for one in files])
    folders = file.absolute().parent.relative_to(whole).parts
    return "".join(f"{folder}/" for folder in folders)


def read_file(file: Path, name: str, known: Known = ()) -> list[Samples]:
    """Read one log of a format; every message begins with the name of the file."""
    with naming(file):
        try:
            found: list[Samples] = LOG_FORMATS[name].read(file, known)
        except MemoryError as error:
            raise ValueError("the file needs more memory than there is") from error
        if not found:
            raise ValueError(f"the log of {name} holds no samples")
        return found


def log_format_of(file: Path) -> str | None:
    """Name of the format of a log; None of what is none, cannot be read, or lies beside one."""
    if is_companion(file):
        return None
    try:
        head = head_of(file)
    except (OSError, EOFError, ValueError):
        return None
    return log_format(file, head) if head.strip() else None
