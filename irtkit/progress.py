"""Progress of long work: a line on a terminal or in a notebook, silence everywhere else."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

from irtkit.printed import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

# Seconds of work that needs no progress in a notebook, and between two states that are shown.
_SHORT, _BETWEEN = 1.0, 0.2


@contextlib.contextmanager
def progress_line(
    description: str, quantity: str = "log-likelihood", *, shown: bool | None = None
) -> Iterator[Callable[[int, float], None]]:
    """Give a function that shows a step and the value of the quantity, see `progress_bar`."""
    with progress_bar(description, None, shown=shown) as update:
        yield lambda step, value: update(step, f"step {step}, {quantity} {value:.3f}")


def is_watched() -> bool:
    """Whether standard error is a terminal, or this a notebook, and notes are wanted."""
    is_quiet = logging.getLogger("irtkit").level >= logging.WARNING
    return not is_quiet and (_in_notebook() or sys.stderr.isatty())


def _in_notebook() -> bool:
    python = sys.modules.get("IPython")
    return python is not None and hasattr(python.get_ipython(), "kernel")


@contextlib.contextmanager
def progress_bar(
    description: str, total: int | None, *, shown: bool | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Give a function that shows how many parts are done, and a text, on standard error.

    The line has the time left, or the time passed if no total is known. By default it is shown on a
    terminal and below the cell of a notebook.
    """
    if not (is_watched() if shown is None else shown):
        yield lambda _done, _state: None
        return
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True, force_jupyter=False)
    whole = rich.BarColumn(20), rich.TaskProgressColumn(), rich.TimeRemainingColumn()
    words = "{task.description}", "{task.fields[state]}"
    columns: list[rich.ProgressColumn] = [rich.TimeElapsedColumn()] if total is None else [*whole]
    columns += [rich.TextColumn(word, markup=False) for word in words]
    progress = rich.Progress(*columns, console=console, transient=console.is_terminal)
    task = progress.add_task(description, total=total, state="")
    with _below_cell(progress) if _in_notebook() else progress as shown_in:

        def update(done: int, state: str) -> None:
            progress.update(task, completed=done, state=state)
            if callable(shown_in):
                shown_in()

        yield update


@contextlib.contextmanager
def _below_cell(progress: Progress) -> Iterator[Callable[[], None]]:
    """A line below the cell of a notebook, which needs no widgets and is empty in the end."""
    from IPython.display import display

    handle: Any = None
    last = time.monotonic() + _SHORT - _BETWEEN

    def refreshed() -> None:
        nonlocal handle, last
        if time.monotonic() - last < _BETWEEN:
            return
        last, line = time.monotonic(), {"text/plain": plain(progress.get_renderable())}
        if handle is None:
            handle = display(line, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            handle.update(line, raw=True)

    try:
        yield refreshed
    finally:
        if handle is not None:
            handle.update({"text/plain": "", "text/html": ""}, raw=True)
