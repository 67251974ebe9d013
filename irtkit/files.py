"""Files appear whole or not at all, and compressed text is recognised by what it holds.

`replacing` writes beside the target and renames at the end, so that a reader never sees half a
table, and an error or an interruption leaves what was there before; `together` does so with several
files, and `to_be_written` refuses to read what will be written. `open_text` and `open_bytes` read
plain and gzip files alike: the first two bytes tell, not the name.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from irtkit.checks import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096
"""Bytes that a format is told by: a page of memory."""
_WRITTEN: ContextVar[list[tuple[Path | None, Path]] | None] = ContextVar("written", default=None)
"""Files that `together` will rename, each with its later name; None for one to be removed."""
_TO_WRITE: ContextVar[tuple[tuple[str, Path], ...]] = ContextVar("to_write", default=())
"""Files that a command will write, each with the words that name it."""
_LONGEST_PATH = 4096
"""Characters of a path: what Linux takes."""
_UNPACKED, _DENSEST = 2**28, 500
"""Bytes beyond which text must not be more than so many times the size of its gzip file. Where
answers hold 0.1 bit each, two bytes for one pack 160 times, and some 500 times where one in a
thousand is right; gzip packs 1,000 times what never changes."""


@contextlib.contextmanager
def together(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let the files that `replacing` writes in the block appear when it ends, all or none.

    They are files of one folder; those that `remove` is given go with them. Of two runs that end at
    once, all are those of one. Only what stops the renaming itself leaves some.
    """
    written: list[tuple[Path | None, Path]] = []
    token = _WRITTEN.set(written)
    try:
        yield
        with _alone_in(folder):
            for temporary, target in written:
                if temporary is None:
                    target.unlink(missing_ok=True)
                else:
                    temporary.replace(target)
    finally:
        _WRITTEN.reset(token)
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                if temporary is not None:
                    temporary.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file if it is there, in a block of `together` when that ends."""
    if (several := _WRITTEN.get()) is None:
        path.unlink(missing_ok=True)
    else:
        several.append((None, path))


@contextlib.contextmanager
def _alone_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process is here for the same folder, where the system has such locks."""
    if find_spec("fcntl") is None:
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # file systems of networks may have none
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def to_be_written(targets: Iterable[tuple[str, Path]]) -> Iterator[None]:
    """Refuse to read files that will be written, each given with the words that name it."""
    token = _TO_WRITE.set((*_TO_WRITE.get(), *targets))
    try:
        yield
    finally:
        _TO_WRITE.reset(token)


def to_write() -> tuple[tuple[str, Path], ...]:
    """Files that will be written, see `to_be_written`."""
    return _TO_WRITE.get()


@contextlib.contextmanager
def folder_for(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder, with those above it; if the block fails, remove what was made and is empty."""
    path = Path(folder)
    made = [one for one in (path, *path.parents) if not one.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except BaseException:
        for one in made:
            with contextlib.suppress(OSError):
                one.rmdir()
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of an empty file that becomes `path` if the block succeeds.

    It lies in the same folder and has the same suffix. If the block raises anything, an
    interruption included, it is removed and `path` is untouched. Where `path` is a symbolic link,
    the file it points to is replaced. An OSError says why `path` cannot be written, and a
    ValueError that text in it is none that UTF-8 has.
    """
    target = Path(os.path.realpath(as_path(path)))
    _check_target(target)
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
        with contextlib.suppress(OSError):  # what went wrong first is what must be seen
            temporary.unlink(missing_ok=True)
        if isinstance(error, UnicodeEncodeError):
            raise ValueError(f"{target}: cannot be written as UTF-8: {error}") from error
        if isinstance(error, OSError) and error.filename in {None, str(temporary)} and error.errno:
            reason = error.strerror or error
            raise OSError(error.errno, f"cannot be written: {reason}", str(target)) from error
        raise


def check_writable(path: str | os.PathLike[str], name: str) -> None:
    """Raise an OSError that begins with a name if `replacing` cannot write to the path."""
    try:
        with contextlib.suppress(KeyError), replacing(path):
            raise KeyError  # so that the file that was tried is gone
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


def open_bytes(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading bytes, decompressed if they are gzip; an OSError says why not."""
    return _opened(ordinary_file(path))


def _opened(source: Path) -> BinaryIO:
    handle = source.open("rb")
    if handle.peek(len(GZIP_MAGIC))[: len(GZIP_MAGIC)] != GZIP_MAGIC:
        return handle
    handle.close()
    return cast("BinaryIO", _Unpacked(source, "rb"))


def ordinary_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that can be read to its end; an OSError says why it is none.

    One that `to_be_written` names is a ValueError.
    """
    source = _ordinary(path)
    for name, target in to_write():
        if target.exists() and target.samefile(source):
            raise ValueError(f"{name} is a file to read from")
    return source


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return a path, if it is one; an empty one Python takes for the current folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a text or a pathlib.Path, got {short(path)}")
    if not (text := os.fspath(path)) or "\0" in text:
        raise ValueError(f"{name} must not {'hold NUL' if text else 'be empty'}")
    if len(text) > _LONGEST_PATH:
        raise ValueError(f"{name} must have {_LONGEST_PATH} characters at most, got {short(text)}")
    return Path(path)


def _ordinary(path: str | os.PathLike[str]) -> Path:
    source = as_path(path)
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    if source.is_dir():
        raise IsADirectoryError(f"{source}: is a folder, not a file")
    if not source.is_file():
        raise OSError(f"{source}: is not an ordinary file; write what it holds to one first")
    return source


class _Unpacked(gzip.GzipFile):
    """Text of a gzip file, refused where it is one thing over and over without end."""

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self._most = max(_UNPACKED, _DENSEST * path.stat().st_size)

    def read(self, size: int | None = -1) -> bytes:
        unlimited = size is None or size < 0
        return self._checked(super().read(self._most + 1 if unlimited else size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        unlimited = size is None or size < 0
        return self._checked(super().readline(self._most + 1 if unlimited else size))

    def _checked(self, block: bytes) -> bytes:
        if self.tell() > self._most:
            raise ValueError(
                f"the gzip data unpack to more than {self._most >> 20} MiB, over {_DENSEST} times "
                "their size, as hardly any do; unpack the file first if that is what it should hold"
            )
        return block


def head_of(path: str | os.PathLike[str]) -> bytes:
    """How a file begins, decompressed and without a byte order mark: enough to recognise it."""
    with _opened(_ordinary(path)) as handle:  # which need not be read then
        return handle.read(_HEAD_BYTES).removeprefix(BYTE_ORDER_MARK)


def open_text(path: str | os.PathLike[str]) -> TextIO:
    """Open a UTF-8 file for reading text, decompressed if it is gzip.

    A byte order mark is skipped; line endings are passed on as they are, since a quoted label may
    hold one. Text that is not UTF-8 raises UnicodeDecodeError when it is read.
    """
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def _check_target(target: Path) -> None:
    folder = target.parent
    if not folder.exists():
        raise FileNotFoundError(f"{target}: cannot be written, the folder {folder} does not exist")
    if not folder.is_dir():
        raise NotADirectoryError(f"{target}: cannot be written, {folder} is not a folder")
    if target.is_dir():
        raise IsADirectoryError(f"{target}: cannot be written, it is a folder")
    if target.is_symlink():  # and yet all links were followed
        raise OSError(f"{target}: cannot be written, it is a loop of symbolic links")
    if target.exists() and not target.is_file():
        raise OSError(f"{target}: cannot be written, it is not an ordinary file")
