"""Paths that commands take: an empty path is refused, and no input is overwritten."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irtkit.calibration.result import RESULT_FILE
from irtkit.files import TO_WRITE, check_writable, to_be_written
from irtkit.io.logs import holds_logs, is_table, stands_for_several
from irtkit.io.tables import TABLE_ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

FIT_FILES = ("items.csv", "respondents.csv", "summary.json", RESULT_FILE)
"""What ``irtkit fit --out`` writes."""


class Given(click.Path):
    """A path, which must not be empty as an unset variable of the shell is."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path. Files that will be written there are not read from now on."""
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        path: Any = super().convert(value, param, ctx)
        option = "--out" if param is None else param.opts[0]
        targets = [(f"{option} {target}", target) for target in self._targets(path, option)]
        if ctx is not None:
            ctx.find_root().with_resource(to_be_written(targets))
        return path

    def _targets(self, path: Path, option: str) -> Iterable[Path]:  # noqa: ARG002
        return ()


class FileOut(Given):
    """A file to write, which is refused before the long work where it cannot be."""

    def __init__(self, *endings: str) -> None:
        super().__init__()
        self._endings = endings or TABLE_ENDINGS

    def _targets(self, path: Path, option: str) -> Iterable[Path]:
        _check_out(path, self._endings, option)
        return (path,)


class FolderOut(Given):
    """A folder to write files of these names to."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._names = names

    def _targets(self, path: Path, option: str) -> Iterable[Path]:  # noqa: ARG002
        return (path / name for name in self._names)


class _Name(click.types.StringParamType):
    """A path, or a name that the responses know. Neither is empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


PATH, NAME = Given(), _Name()


def _check_out(out: Path, endings: tuple[str, ...], option: str) -> None:
    if not out.name.lower().endswith(endings):
        known = " or ".join(endings)
        raise ValueError(f"{option} must be a file that ends in {known}, got {str(out)!r}")
    check_writable(out, option)
    real = out.resolve()
    if real.name in FIT_FILES and all((real.parent / name).exists() for name in FIT_FILES[-2:]):
        raise ValueError(f"{option} {out}: is a file of the fit in {real.parent}")


def refuse_outputs_within(path: object) -> None:
    """Refuse a file to write that would be responses the next time, or stand for the folder."""
    if not isinstance(path, Path) or not stands_for_several(path):
        return
    for name, target in TO_WRITE.get():
        if path.is_dir():
            read = _is_read_from(path, target.resolve())
        else:
            parts, patterns = target.absolute().parts, path.absolute().parts
            read = len(parts) == len(patterns) and all(map(fnmatch, parts, patterns))
        if read:
            remedy = f"write outside of {path}" if path.is_dir() else "choose another name"
            raise ValueError(f"{name}: the next time this would be read with {path}: {remedy}")


def _is_read_from(folder: Path, target: Path) -> bool:
    """Whether a file is one of the responses of a folder, or the fit that is read instead."""
    if target == folder.resolve() / RESULT_FILE:
        return True
    if not target.is_relative_to(folder.resolve()) or not is_table(target) or holds_logs(folder):
        return False
    inner = target.relative_to(folder.resolve())
    return not any(part.startswith(".") for part in inner.parts)
