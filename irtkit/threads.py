"""Threads of the linear algebra, held to one while irtkit computes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_changing = Lock()
_held: list[Any] = []
"""What puts threads back as they were, once for each that holds them to one."""


@contextmanager
def one_thread(user_api: str | None = "blas") -> Iterator[None]:
    """Hold the linear algebra of NumPy to one thread, until all that ask for it at once have ended.

    With ``user_api=None`` all libraries that are loaded and known to have threads. Products are too
    small for threads to help, and waiting for one another they take up to 2.6 times as long
    (``benchmarks/speed.py``). The limit holds for the process. The first fit sets it, and the
    last one lifts it.
    """
    # SciPy loads its own linear algebra when it is first used
    with_scipy = not sys.modules.keys().isdisjoint(("scipy.linalg", "scipy.special"))
    with _changing:
        _held.append(_held[0] if _held else _libraries(user_api, with_scipy).limit(limits=1))
    try:
        yield
    finally:
        with _changing:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


@cache
def _libraries(user_api: str | None, with_scipy: bool) -> Any:  # noqa: ARG001, FBT001
    """Libraries with threads, looked up once, and again with SciPy: it takes longer than a fit."""
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    return controller if user_api is None else controller.select(user_api=user_api)
