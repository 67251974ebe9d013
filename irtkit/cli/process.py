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

from irtkit.cli.inputs import as_typed, show_log
from irtkit.cli.streams import lasting_streams
from irtkit.memory import LESS_MEMORY
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
"""Errors that tell in one line what is wrong with what was given; all others leave their trace."""
_NO_MEMORY = ("failed to map segment", "annot allocate memory")
"""How systems say that memory ran out where a library was to be loaded."""


def run(cli: click.Command) -> None:
    """Run the command line.

    Exit codes: 0, 1 (``audit --fail-on`` found what it was told to, ``impact --max`` was passed, or
    a ``gate`` failed), 2 (bad input, or standard output that cannot be written), 129 (hung up), 130
    (interrupted), 143 (terminated). They do not depend on whether what is printed is read.
    """
    with warnings.catch_warnings(), lasting_streams() as fault, _log_held_back():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # fewer names, same use
        code = _code(cli)
        if code in {0, 1}:
            show_log()
        if code in {0, 1} and (reason := fault()):
            _tell(f"error: standard output: {reason}; what goes to files is written")
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
        message = error.format_message()
        expanded = "unexpected extra argument" in message  # the shell made many of a pattern
        advice = "; quote a pattern, as in 'runs/*.eval', or put paths together by irtkit merge"
        return _failed(message + advice * expanded)
    except _OF_INPUT as error:
        return _failed(_reason(error))


def _end_of(error: BaseException) -> int:
    """End as was asked for; Python 3.11 wraps a request that meets the making of a class."""
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


def _reason(error: Exception) -> str:
    """What an error says; of memory that ran out, also what needs less."""
    message = str(error)
    if isinstance(error, OSError) and error.filename:  # without its number
        message = f"{error.filename}: {error.strerror}"
    if any(words in message for words in _NO_MEMORY):  # for a library, or for what one asked for
        return f"there is not enough memory: {message}"
    what = message.removesuffix(f"; {LESS_MEMORY}")
    known = "are left" in message and what == message  # what needs less, if anything does
    if not isinstance(error, MemoryError) or known:
        return message
    what = f"there is not enough memory{': ' * bool(what)}{what}"
    return f"{what}; in Python, {LESS_MEMORY}"


def _failed(message: str) -> int:
    _tell(f"error: {_one_line(message)}")
    return 2


def _show_warning(message: Warning | str, *_: Any) -> None:
    _tell(f"warning: {_one_line(str(message))}")


def _tell(message: str) -> None:
    """Say something on standard error: one line, but for somebody who reads it on a terminal."""
    line = f"irtkit: {message}"
    click.echo(in_lines([line]) if sys.stderr.isatty() else line, err=True)


def _one_line(message: str) -> str:
    """A message as one line that steers no terminal, and is no longer than a screen."""
    line = printable(" ".join(as_typed(message).split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
