"""Files appear whole or not at all, and compressed text is recognised by what it holds.

`replacing` writes beside the target and renames at the end, so that a reader never sees half a
table, and an error or an interruption leaves what was there before. `open_text` and
`open_bytes` read plain and gzip files alike: the first two bytes tell, not the name.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096
"""Bytes that a format is told by: a page of memory."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of an empty file that becomes `path` if the block succeeds.

    It lies in the same folder and has the same suffix. If the block raises anything, an
    interruption included, it is removed and `path` is untouched. Where `path` is a symbolic link,
    the file it points to is replaced. An OSError says why `path` cannot be written.
    """
    target = Path(os.path.realpath(path))
    _check_target(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        with temporary.open("rb") as written:  # on disk before the name points there
            os.fsync(written.fileno())
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong first is what must be seen
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Give a UTF-8 file to write, compressed if its name ends in .gz, see `replacing`."""
    with replacing(path) as temporary:
        opened = gzip.open if temporary.suffix.lower() == ".gz" else open
        with opened(temporary, "wt", encoding="utf-8", newline="") as text:
            yield cast("TextIO", text)


def open_bytes(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading bytes, decompressed if they are gzip; an OSError says why not."""
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    if source.is_dir():
        raise IsADirectoryError(f"{source}: is a folder, not a file")
    if not source.is_file():
        raise OSError(f"{source}: is not an ordinary file")
    handle = source.open("rb")
    if handle.peek(len(GZIP_MAGIC))[: len(GZIP_MAGIC)] != GZIP_MAGIC:
        return handle
    handle.close()
    return cast("BinaryIO", gzip.open(source, "rb"))


def head_of(path: str | os.PathLike[str]) -> bytes:
    """How a file begins, decompressed and without a byte order mark: enough to recognise it."""
    with open_bytes(path) as handle:
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
    if target.exists() and not target.is_file():
        raise OSError(f"{target}: cannot be written, it is not an ordinary file")
