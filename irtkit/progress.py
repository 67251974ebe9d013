"""Progress of long work: a line on a terminal, silence everywhere else."""

from __future__ import annotations

import contextlib
import sys
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
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda _step, _value: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}", markup=False),
    )
    with Progress(*columns, console=console, transient=console.is_terminal) as progress:
        task = progress.add_task(description, total=None, state="")

        def report(step: int, value: float) -> None:
            progress.update(task, state=f"step {step}, {quantity} {value:.3f}")

        yield report
