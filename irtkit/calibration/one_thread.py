"""Linear algebra on one thread while a fit lasts."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_limited = Lock()
"""Held by the fit that holds linear algebra to one thread."""


@contextmanager
def one_thread(user_api: str | None = "blas") -> Iterator[None]:
    """Hold the linear algebra of NumPy to one thread, unless another fit does so already.

    With ``user_api=None`` all libraries that are loaded and known to have threads.

    Products are of parts of the matrix that a processor's cache holds, too small for threads to
    help; where threads share their processors with other work they wait for one another, and a fit
    takes up to 2.6 times as long (``benchmarks/threads.py``). The limit is that of the process: who
    set it lifts it, and fits that overlap with that one let it be.
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _libraries(user_api).limit(limits=1):
            yield
    finally:
        _limited.release()


@cache
def _libraries(user_api: str | None) -> Any:
    """Libraries with threads, looked up once: it takes longer than many fits."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController()
    return found if user_api is None else found.select(user_api=user_api)
