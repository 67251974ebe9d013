"""How a command runs, what it says on standard error, and how it ends.

Every end has one exit code and at most one line: the end of the work, bad input, an interruption.
"""

from __future__ import annotations

import logging
import signal
import sys
import warnings
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from typing import TYPE_CHECKING, Any, NoReturn

import click

from irtkit.cli.streams import lasting_streams
from irtkit.findings import IRTWarning, ReadingError, spelled_as_options
from irtkit.printed import in_lines, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDS = {
    getattr(signal, name): word
    for name, word in (("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up"))
    if hasattr(signal, name)  # Windows has no SIGHUP
}
"""Signals that end a command, and the word that is printed."""
_MOST_LINES = 1000  # of the log, held until all input is known to be good
_LONGEST = 24 * 80  # characters of a message: a screen
_OF_INPUT = (ValueError, TypeError, OSError, ImportError, EOFError, MemoryError)
"""Errors that are shown in one line. All others leave their trace."""


def run(cli: click.Command) -> None:
    """Run the command line.

    Exit codes: 0, 1 (``audit --fail-on`` found such items, ``impact --max`` was passed, or
    a ``gate`` failed), 2 (bad input, or standard output that cannot be written), 129 (hung up), 130
    (interrupted), 143 (terminated). They do not depend on whether what is printed is read.
    """
    with (
        warnings.catch_warnings(),
        spelled_as_options(),
        lasting_streams() as fault,
        _log_held_back(),
    ):
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # fewer names, same use
        code = _code(cli)
        if code in {0, 1}:
            show_log()
        if code in {0, 1} and (reason := fault()):
            _tell(f"error: standard output: {reason}. Files are written")
            code = code or 2
    sys.exit(code)


def _code(cli: click.Command) -> int:
    """Run a command, say what ended it, and return the exit code."""
    try:
        with _stoppable():
            return cli.main(prog_name="irtkit", standalone_mode=False) or 0
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except (RuntimeError, _StoppedError) as error:
        return _end_of(error)
    except click.ClickException as error:
        # a plain UsageError of a command is arguments too many: the shell expanded a pattern
        context = error.ctx if type(error) is click.UsageError else None
        expanded = context is not None and not isinstance(context.command, click.Group)
        advice = "; quote a pattern, as in 'runs/*.eval', or put paths together by irtkit merge"
        return _failed(error.format_message() + advice * expanded)
    except _OF_INPUT as error:
        return _failed(_text_of(error))


def _end_of(error: BaseException) -> int:
    """End as was asked for. Python 3.11 wraps a request that meets the making of a class."""
    asked = error.__cause__ or error
    if not isinstance(asked, _StoppedError):
        raise error
    _tell(_ENDS[asked.number])
    return 128 + asked.number


@contextmanager
def _log_held_back() -> Iterator[None]:
    """Show what was read, lines of the log, on standard error, once it is about to be fitted."""
    logger, shown = logging.getLogger("irtkit"), logging.StreamHandler()
    shown.setFormatter(logging.Formatter("irtkit: %(message)s"))
    handler = MemoryHandler(_MOST_LINES, target=shown, flushOnClose=False)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _StoppedError(BaseException):
    """A request to end, by a signal: what was begun is to be tidied up."""

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Take signals that end a command for exceptions, so that no half of a file stays."""

    def end(number: int, _: Any) -> NoReturn:
        raise _StoppedError(number)

    before = {number: signal.getsignal(number) for number in _ENDS}
    heard = [number for number in _ENDS if before[number] is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, end)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number] or signal.SIG_DFL)


def show_log() -> None:
    """Show what was read, which is held back until all that was given is known to be good."""
    for handler in logging.getLogger("irtkit").handlers:
        handler.flush()


def _text_of(problem: Exception) -> str:
    """Text of an error or a warning, with settings as options."""
    if isinstance(problem, ReadingError):
        return problem.text(options=True)
    if isinstance(problem, IRTWarning):
        return problem.finding.text(options=True)
    if isinstance(problem, OSError) and problem.filename:  # without its number
        return f"{problem.filename}: {problem.strerror}"
    if isinstance(problem, MemoryError):
        return ": ".join(["there is not enough memory", *filter(None, [str(problem)])])
    return str(problem)


def _failed(message: str) -> int:
    _tell(f"error: {_one_line(message)}")
    return 2


def _show_warning(message: Warning | str, *_: Any) -> None:
    text = message if isinstance(message, str) else _text_of(message)
    _tell(f"warning: {_one_line(text)}")


def _tell(message: str) -> None:
    """Say something on standard error: one line, but for somebody who reads it on a terminal."""
    line = f"irtkit: {message}"
    click.echo(in_lines([line]) if sys.stderr.isatty() else line, err=True)


def _one_line(message: str) -> str:
    """A message as one line that steers no terminal, and is no longer than a screen."""
    line = printable(" ".join(message.split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
