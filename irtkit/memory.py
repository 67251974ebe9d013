"""How much memory is left, so that what cannot fit is refused before it begins.

A process that asks for more is stopped by the system, without a word, in the middle of its work.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

LESS_MEMORY = (
    "where few cells are observed, irtkit.read_responses(…, sparse=True) keeps these alone; "
    "method=irtkit.Variational(batch=4096) fits a part of the respondents at a time"
)
"""What needs less."""
_NOT_LOOKED_AT = 2.0**26
"""Bytes that are not asked about: fewer than Python takes with what irtkit is built on."""
_GROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a container may use."""


def check_memory(needed: float, what: str, less: str = LESS_MEMORY) -> None:
    """Refuse what needs more bytes than there are.

    Raises
    ------
    MemoryError
        With what is needed, what there is, and what needs less.
    """
    if needed > _NOT_LOOKED_AT and needed > (there := available_bytes()):
        raise MemoryError(
            f"{what} needs at least {_gigabytes(needed)} of memory, and {_gigabytes(there)} are "
            f"left; {less}"
        )


def available_bytes() -> float:
    """Bytes that this process may still take; infinite where the system does not say.

    The least of what the machine, the container and the limit of the process leave.
    """
    return min(_of_machine(), _of_group(), _of_process())


def _of_machine() -> float:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024.0 * int(next(one for one in lines if "MemAvailable" in one).split()[1])
    return math.inf


def _of_group() -> float:
    """What is cached of files counts as free."""
    with suppress(OSError, ValueError, StopIteration):
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = int(next(one for one in lines if one.startswith("inactive_file")).split()[1])
        return float((_GROUP / "memory.max").read_text(encoding="ascii")) - used + cached
    return math.inf


def _of_process() -> float:
    with suppress(OSError, ValueError):
        if find_spec("resource") is not None:
            import resource

            most, _ = resource.getrlimit(resource.RLIMIT_AS)
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            if most != resource.RLIM_INFINITY:
                return float(most - pages * os.sysconf("SC_PAGE_SIZE"))
    return math.inf


def _gigabytes(n: float) -> str:
    return f"{n / 1e9:.3g} GB"
