"""Standard output and error that a command can rely on: closed, full, or left by their reader.

What a command is told to do, the files that it writes and the verdict of its exit code, does not
depend on whether somebody reads what it prints.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO


class _Stream(io.FileIO):
    """What cannot be written is let go, and the reason kept."""

    fault: OSError | None = None

    def write(self, block: Any) -> int:
        if self.fault is None:
            try:
                return super().write(block)
            except OSError as error:
                self.fault = error
        return memoryview(block).nbytes


@contextmanager
def lasting_streams() -> Iterator[Callable[[], str]]:
    """Let standard output and error take all that is printed, a θ that they cannot show as ?.

    What is given tells why standard output could not be written; it is empty where it could, and
    where its reader has left.
    """
    for number in range(3):  # lest a file that is written gets the number of a closed stream
        with suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = output, _ = [_lasting(stream) for stream in before]

    def fault() -> str:
        output.flush()
        raw = getattr(getattr(output, "buffer", None), "raw", None)
        found = raw.fault if isinstance(raw, _Stream) else None
        return "" if found is None or found.errno == errno.EPIPE else str(found.strerror)

    try:
        yield fault
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _lasting(stream: TextIO | None) -> TextIO:
    """A stream in place of one; of None, as Python calls one that is closed, nothing remains."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if type(raw) is not io.FileIO:  # a console of Windows, or what a caller has put there
        return stream
    stream.flush()
    writer = io.BufferedWriter(_Stream(raw.fileno(), "w", closefd=False))
    return io.TextIOWrapper(writer, stream.encoding, "replace", line_buffering=stream.isatty())
