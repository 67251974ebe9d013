"""Progress of long work: a line on a terminal, silence everywhere else."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_line(
    description: str, quantity: str = "log-likelihood", *, shown: bool | None = None
) -> Iterator[Callable[[int, float], None]]:
    """Give a function to call with the step and the value reached, which is of the quantity.

    It shows them on standard error, by default if that is a terminal.
    """
    with progress_bar(description, None, shown=shown) as update:
        yield lambda step, value: update(step, f"step {step}, {quantity} {value:.3f}")


def is_watched() -> bool:
    """Whether standard error is a terminal, or this a notebook with widgets to show progress."""
    notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    return notebook or sys.stderr.isatty()


@contextlib.contextmanager
def progress_bar(
    description: str, total: int | None, *, shown: bool | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Give a function to call with how many parts of a whole are done, and what is done next.

    It shows the share and the time left as well, or the time passed where no total is known.
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _done, _state: None
        return
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    whole = (rich.BarColumn(20), rich.TaskProgressColumn(), rich.TimeRemainingColumn())
    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        *([rich.TimeElapsedColumn()] if total is None else whole),
        rich.TextColumn("{task.fields[state]}", markup=False),
    )
    with rich.Progress(*columns, console=console, transient=console.is_terminal) as progress:
        task = progress.add_task(description, total=total, state="")
        yield lambda done, state: progress.update(task, completed=done, state=state)
