"""What limits a result or stops a reading, as values; their texts stand here alone.

Code that computes raises or returns a `Finding`: a code, its severity and the numbers and labels
that it is about. It becomes text at the edge, in Python's spelling (``threshold=0.5``) or in that
of the command line (``--threshold 0.5``). No code reads the text.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from irtkit.checks import first_names, short

if TYPE_CHECKING:
    from collections.abc import Mapping


class Remedy(NamedTuple):
    """Settings that settle a finding."""

    settings: Mapping[str, Any]
    """Arguments of `irtkit.read_responses`; ``...`` is a value that the user must choose."""
    purpose: str = ""
    """Key of `PURPOSES`: what the settings do or when they apply."""
    safe: bool = True
    """Whether `irtkit inspect` may propose the settings without asking."""


@dataclass(frozen=True)
class Finding:
    """One thing that a user must know: a code, a severity and the values that it is about."""

    code: str
    severity: Literal["error", "warning", "note"]
    values: Mapping[str, Any] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def text(self, *, shell: bool = False) -> str:
        """Return the message, with settings as options of the command line if `shell`.

        Examples
        --------
        >>> from irtkit.findings import Finding, Remedy
        >>> finding = Finding(
        ...     "scores", "error", {"low": 0.2, "high": 0.9}, (Remedy({"threshold": 0.5}, "score"),)
        ... )
        >>> print(finding)
        scores from 0.2 to 0.9; pass threshold=0.5 to mark scores from 0.5 on as right
        >>> print(finding.text(shell=True))
        scores from 0.2 to 0.9; add --threshold 0.5 to mark scores from 0.5 on as right
        """
        message = _FORMATTER.vformat(TEXTS[self.code], (), self.values)
        choices = [_choice(one, shell=shell) for one in self.remedies]
        verb = "add" if shell else "pass"
        return f"{message}; {verb} {', or '.join(choices)}" if choices else message


class IRTWarning(UserWarning):
    """A warning of irtkit; `finding` and `code` say which."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    @property
    def code(self) -> str:
        """Code of the finding."""
        return self.finding.code


class ReadingError(ValueError):
    """Responses that cannot be read as they are; `finding` says why and what settles it."""

    def __init__(self, finding: Finding, place: str = "") -> None:
        super().__init__(finding)
        self.finding = finding
        self.place = place
        """File or option that the message begins with."""

    def __str__(self) -> str:
        return self.text()

    def text(self, *, shell: bool = False) -> str:
        """Return the message, beginning with the place."""
        message = self.finding.text(shell=shell)
        return f"{self.place}: {message}" if self.place else message


def failed(code: str, *remedies: Remedy, **values: Any) -> ReadingError:
    """Return the error for a finding, to be raised."""
    return ReadingError(Finding(code, "error", values, remedies))


def without_remedies(finding: Finding) -> Finding:
    """Return the finding without what settles it."""
    return replace(finding, remedies=())


def typed(settings: Mapping[str, Any], *, shell: bool) -> str:
    """Settings as they are typed in Python or on the command line.

    Examples
    --------
    >>> from irtkit.findings import typed
    >>> settings = {"item": ["task", "id"], "threshold": 0.5, "transpose": True}
    >>> typed(settings, shell=False)
    "item=['task', 'id'], threshold=0.5, transpose=True"
    >>> typed(settings, shell=True)
    '--item task,id --threshold 0.5 --transpose'
    """
    if not shell:
        return ", ".join(f"{k}={'…' if v is ... else repr(v)}" for k, v in settings.items())
    return " ".join(f"--{name.replace('_', '-')}{_word(v)}" for name, v in settings.items())


def _word(value: Any) -> str:
    if value is True:
        return ""
    if value is ...:
        return " …"
    words = [value] if isinstance(value, str | int | float) else list(value)
    return " " + shlex.quote(
        ",".join(f"{word:g}" if isinstance(word, float) else str(word) for word in words)
    )


def _choice(remedy: Remedy, *, shell: bool) -> str:
    words = typed(remedy.settings, shell=shell)
    if not remedy.purpose:
        return words
    return f"{words} {_FORMATTER.vformat(PURPOSES[remedy.purpose], (), remedy.settings)}"


class _Formatter(Formatter):
    """Labels quoted and cut, numbers with thousands separators; ``{n:row}`` counts a noun."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec:
            return f"{value:,} {format_spec}{'s' * (value != 1)}"
        if isinstance(value, list | tuple):
            return first_names([short(one) for one in value])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:,}" if isinstance(value, int) else f"{value:g}"
        return repr(value) if isinstance(value, _Plain) else short(value)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return _Plain(value) if conversion == "s" else super().convert_field(value, conversion)


class _Plain:
    """A value that is written as it is, without quotes."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        named = isinstance(self.value, list | tuple)
        return first_names(self.value) if named else str(self.value)


_FORMATTER = _Formatter()

PURPOSES = {
    "score": "to mark scores from {threshold} on as right",
}
"""What settings do, by code."""

TEXTS = {
    "file": "{message!s}",
    "scores": "scores from {low} to {high}",
}
"""One template for each code. Lists are cut after five names."""
