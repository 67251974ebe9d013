"""Files appear whole or not at all, and packed text is recognised by content, not by name.

`replacing` writes next to the target and renames at the end, so that an error or an interruption
leaves what was there before.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import os
import secrets
import shutil
import sys
import zlib
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from irtkit.checks import first_names, short
from irtkit.findings import failed

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:  # a copy of zipfile that reads zstd
    from backports import zstd
    from backports.zstd import zipfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST_HEADER = 2**24  # Bytes: 50,000 columns with names of 300 characters.
_PACKERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
}
"""Functions that open packed files, by the first bytes of these."""
ZipFile = zipfile.ZipFile
DAMAGES = (
    *(EOFError, zlib.error, gzip.BadGzipFile),
    *(lzma.LZMAError, zstd.ZstdError, zipfile.BadZipFile),
)
"""Errors of damaged packed data."""
_WRITTEN: ContextVar[list[tuple[Path | None, Path]] | None] = ContextVar("written", default=None)
# Files that a command will write, with the words that name them, see `to_be_written`.
TO_WRITE: ContextVar[tuple[tuple[str, Path], ...]] = ContextVar("to_write", default=())


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Let `replacing` and `remove` change files when the block ends, all or none."""
    written: list[tuple[Path | None, Path]] = []
    token = _WRITTEN.set(written)
    try:
        yield
        for temporary, target in written:
            if temporary is None:
                target.unlink(missing_ok=True)
            else:
                temporary.replace(target)
    finally:
        _WRITTEN.reset(token)
        for temporary, _ in written:
            if temporary is not None:
                temporary.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file if it is there, in a block of `together` when that ends."""
    if (several := _WRITTEN.get()) is None:
        path.unlink(missing_ok=True)
    else:
        several.append((None, path))


@contextlib.contextmanager
def to_be_written(targets: Iterable[tuple[str, Path]]) -> Iterator[None]:
    """Refuse to read files that will be written, each given with the words that name it."""
    token = TO_WRITE.set((*TO_WRITE.get(), *targets))
    try:
        yield
    finally:
        TO_WRITE.reset(token)


@contextlib.contextmanager
def folder_for(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder and its parents, and remove the new ones again if the block fails.

    Files in the folder go with it. A parent stays if something else is in it.
    """
    path = Path(folder)
    missing = [part for part in (path, *path.parents) if not part.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except BaseException:
        if path in missing:
            shutil.rmtree(path, ignore_errors=True)
        for parent in missing[1:]:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of an empty file that becomes `path` if the block succeeds.

    The file has the folder and suffix of `path`. If the block raises, it is removed and `path` is
    untouched. Symbolic links are followed. An OSError says why `path` cannot be written.
    """
    target = Path(os.path.realpath(as_path(path)))
    folder = target.parent
    odd = target.is_symlink() or (target.exists() and not target.is_file())
    for kind, fails, why in (
        (FileNotFoundError, not folder.exists(), f"the folder {folder} does not exist"),
        (NotADirectoryError, not folder.is_dir(), f"{folder} is not a folder"),
        (IsADirectoryError, target.is_dir(), "it is a folder"),
        (OSError, odd, "it is not an ordinary file"),
    ):
        if fails:
            raise kind(f"{target}: cannot be written, {why}")
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        with temporary.open("rb") as written:  # on disk before the name points there
            os.fsync(written.fileno())
        if (several := _WRITTEN.get()) is None:
            temporary.replace(target)
        else:
            several.append((temporary, target))
    except BaseException as error:
        with contextlib.suppress(OSError):  # the first error must be seen
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in {None, str(temporary)} and error.errno:
            reason = error.strerror or error
            raise OSError(error.errno, f"cannot be written: {reason}", str(target)) from error
        raise


def check_writable(path: str | os.PathLike[str], name: str) -> None:
    """Raise an OSError that begins with a name if `replacing` cannot write to the path."""
    try:
        with contextlib.suppress(KeyError), replacing(path):
            raise KeyError  # which removes the file
    except OSError as error:
        reason = f"{path}: {error.strerror}" if error.strerror else error
        raise type(error)(f"{name} {reason}") from error


@contextlib.contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Give a UTF-8 file to write, compressed if its name ends in .gz, see `replacing`."""
    with replacing(path) as temporary:
        opened = gzip.open if temporary.suffix.lower() == ".gz" else open
        with opened(temporary, "wt", encoding="utf-8", newline="") as text:
            yield cast("TextIO", text)


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return a path, unless it is empty, which Python takes for the current folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a text or a pathlib.Path, got {short(path)}")
    if not os.fspath(path):
        raise ValueError(f"{name} must not be empty")
    return Path(path)


def ordinary_file(path: str | os.PathLike[str], *, looked_at: bool = False) -> Path:
    """Return the path of a file that can be read to its end, or raise an OSError that says why not.

    A file that `to_be_written` names is a ValueError, unless it is only looked at.
    """
    source = as_path(path)
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    if source.is_dir():
        raise IsADirectoryError(f"{source}: is a folder, not a file")
    if not source.is_file():
        raise OSError(f"{source}: is not an ordinary file: copy its content to one first")
    for name, target in () if looked_at else TO_WRITE.get():
        if target.exists() and target.samefile(source):
            raise ValueError(f"{name} is a file to read from")
    return source


def open_bytes(path: str | os.PathLike[str], *, looked_at: bool = False) -> BinaryIO:
    """Open a file for reading bytes, see `ordinary_file`.

    Data packed with gzip, bzip2, xz, zstd or zip are unpacked, and UTF-16 becomes UTF-8.
    """
    source = ordinary_file(path, looked_at=looked_at)
    with source.open("rb") as packed:
        begin = packed.read(8)
    handle: Any
    if source.suffix.lower() == ".zip":
        with ZipFile(source) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if len(names) != 1:
                contents = first_names(names) or "none"
                rule = f"the zip must hold one file, and holds {contents}: unpack it first"
                raise ValueError(rule)
            handle = archive.open(names[0])
    else:
        openers = (opens for magic, opens in _PACKERS.items() if begin.startswith(magic))
        handle = next(openers, open)(source, "rb")
    if handle.peek(2).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with handle:
            return io.BytesIO(handle.read().decode("utf-16").encode())
    return cast("BinaryIO", handle)


def open_text(path: str | os.PathLike[str]) -> TextIO:
    """Open a UTF-8 file for reading text, unpacked and without a byte order mark."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def head_of(path: str | os.PathLike[str]) -> bytes:
    """How a file begins, unpacked and without a byte order mark: two rows of a table."""
    try:
        with open_bytes(path, looked_at=True) as handle:
            head = handle.read(4096).removeprefix(codecs.BOM_UTF8)
            if b"\0" in head or head.lstrip().startswith((b"{", b"[")):
                return head
            # line breaks outside of quotes end rows
            while sum(part.count(b"\n") for part in head.split(b'"')[::2]) < 2:
                more = handle.read(len(head)) if len(head) < _LONGEST_HEADER else b""
                if not more:
                    break
                head += more
            return head
    except DAMAGES as error:
        raise failed("damaged", message=f"the compressed data are damaged: {error}") from error
