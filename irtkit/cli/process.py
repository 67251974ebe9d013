"""How a command runs, what it prints on standard error, and how it ends.

Every end has one exit code and at most one line: the end of the work, bad input, an interruption.
Exit code and files do not depend on whether somebody reads what is printed.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import signal
import sys
import textwrap
import warnings
from contextlib import contextmanager, suppress
from logging.handlers import MemoryHandler
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NoReturn

import click

from irtkit.findings import spelled_as_options
from irtkit.printed import WIDTH, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_ENDS = {
    getattr(signal, name): word
    for name, word in (("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up"))
    if hasattr(signal, name)  # Windows has no SIGHUP
}
"""Signals that end a command, and the word that is printed."""
_OF_INPUT = (ValueError, TypeError, OSError, ImportError, EOFError, MemoryError)
"""Errors that are shown in one line. All others leave their trace."""
_IN_ONE_PIECE = re.compile(
    r"(?<!\w)(?:'[^']*'"
    r'|"[^"]*"'
    r"|irtkit [a-z]+(?:-[a-z]+)*(?: (?:-\S+|[A-Z]+\b))*"
    r"|--?[a-z]\S* \S+)"
)
"""A label in quotes, a command, or an option with its value."""


_FUNCTIONS = {
    "differential_functioning": "irtkit differential",
    "compare_difficulties": "irtkit compare",
    "compare_systems": "irtkit compare-systems",
    "select_items": "irtkit select",
}
"""Commands whose names are not those of their functions."""


def run(cli: click.Group) -> None:
    """Run the command line.

    Exit codes: 0, 1 (a gate failed, ``audit --fail-on`` found items or ``impact --max`` was
    passed), 2 (bad input, or standard output that cannot be written), 3 (a gate is inconclusive),
    129 (hung up), 130 (interrupted), 143 (terminated).
    """
    spelled = _FUNCTIONS | {
        str(param.name): param.opts[0]
        for command in cli.commands.values()
        for param in command.params
        if isinstance(param, click.Option)
    }

    def show_warning(message: Warning | str, *_: Any) -> None:
        text = message if isinstance(message, str) else _text_of(message, spelled)
        _tell(f"warning: {_one_line(text)}")

    with (
        warnings.catch_warnings(),
        spelled_as_options(),
        _lasting_streams() as output,
        _log_held_back(),
    ):
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show_warning  # type: ignore[assignment]  # fewer names, same use
        code = _code(cli, spelled)
        if code in {0, 1, 3}:
            show_log()
            output.flush()
            if output.fault and output.fault.errno != errno.EPIPE:
                _tell(f"error: standard output: {output.fault.strerror}. Files are written")
                code = code or 2
    sys.exit(code)


def _code(cli: click.Group, spelled: dict[str, str]) -> int:
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
        # Python 3.11 wraps a request that comes while a class is made
        if not isinstance(asked := error.__cause__ or error, _StoppedError):
            raise
        _tell(_ENDS[asked.number])
        return 128 + asked.number
    except click.ClickException as error:
        text = error.format_message()
    except _OF_INPUT as error:
        text = _text_of(error, spelled)
    line = f"irtkit: error: {_one_line(text)}"
    if sys.stderr.isatty():
        line = wrapped(line, min(WIDTH, get_terminal_size().columns))
    click.echo(line, err=True)
    return 2


class _Log(MemoryHandler):
    """Lines of the log on what was read, held back until `show_log`."""

    def flush(self) -> None:
        """Print the lines on standard error."""
        for record in self.buffer:
            _tell(record.getMessage())
        self.buffer.clear()


@contextmanager
def _log_held_back() -> Iterator[None]:
    logger = logging.getLogger("irtkit")
    # lines are held until all input is known to be good
    handler, level = _Log(1000, flushOnClose=False), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def show_log() -> None:
    """Show what was read, which is held back until all that was given is known to be good."""
    for handler in logging.getLogger("irtkit").handlers:
        handler.flush()


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


def _text_of(problem: Exception, spelled: dict[str, str]) -> str:
    """Text of an error or a warning. Settings are spelled as options: max_drop is --max-drop."""
    text = str(problem) or "there is not enough memory"  # which has no other text
    if isinstance(problem, OSError) and problem.filename:  # without its number
        text = f"{problem.filename}: {problem.strerror}"
    names = "|".join(spelled)
    longer = "|".join(name for name in spelled if "_" in name)
    # a setting with a value, the argument that an error begins with, perhaps after the name of a
    # file, and names of several words
    begins = rf"(?:^|(?<=: ))({names})(?= (?:must|has|holds|names|needs|is) )"
    settings = rf"\b({names})=|{begins}|\b({longer})\b=?"

    def as_option(setting: re.Match[str]) -> str:
        option = spelled[setting[setting.lastindex or 0]]
        return f"{option} " if "=" in setting[0] else option

    return re.sub(settings, as_option, text)


def _tell(message: str) -> None:
    """Print something on standard error."""
    click.echo(wrapped(f"irtkit: {printable(message)}"), err=True)


def wrapped(line: str, width: int = WIDTH) -> str:
    """Lines of 80 columns. Paths, labels in quotes and what is to be typed stay in one piece."""
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    text = _IN_ONE_PIECE.sub(lambda piece: piece[0].replace(" ", "\xa0"), line)
    return textwrap.fill(text, width, subsequent_indent="  ", **how).replace("\xa0", " ")


def _one_line(message: str) -> str:
    """A message as one line without control characters, cut to the length of a screen."""
    return shortened(" ".join(message.split()), 24 * WIDTH)


class _Lasting:
    """A stream that lets go what cannot be written, and keeps the reason."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        self.fault: OSError | None = None
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(errors="replace")  # a θ that it cannot show becomes ?

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        with self._letting_go():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what the stream holds back."""
        with self._letting_go():
            self.stream.flush()

    @contextmanager
    def _letting_go(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.fault = self.fault or error
            with suppress(OSError):  # what the stream holds back has to go somewhere
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())


@contextmanager
def _lasting_streams() -> Iterator[_Lasting]:
    """Let standard output and error take all that is printed, whoever reads it."""
    before = sys.stdout, sys.stderr
    output, errors = map(_Lasting, before)
    sys.stdout, sys.stderr = output, errors
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdout, sys.stderr = before
