"""How responses were read: files, format and the settings and findings that shaped the matrix."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SHOWN = 3  # Files that are named.


@dataclass(frozen=True)
class Source:
    """How responses were read.

    Examples
    --------
    >>> from irtkit.responses import Source
    >>> print(Source(("runs/",), "lm-eval", {"metric": "acc", "threshold": 0.5}))
    Read from runs/ (lm-eval, metric acc, threshold 0.5).
    """

    files: tuple[str, ...]
    format: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `irtkit.read_responses` that shaped the matrix, by their names."""
    findings: tuple[Finding, ...] = ()
    adjustment: tuple[Finding, ...] = ()
    """What `irtkit.judges` found about judges, if it adjusted their marks."""
    shared_errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """How far one standard error of each severity moves the mean score of a system, by its label.
    These errors are independent of each other, and systems share them."""

    def __str__(self) -> str:
        shown = ", ".join(self.files[:_SHOWN]) or "memory"
        n_more = len(self.files) - _SHOWN
        if n_more > 0:
            shown += f" and {n_more:,} more files"
        how = [f", {name} {_words(value)}" for name, value in self.settings.items()]
        sentences = [f"Read from {shown} ({self.format}{''.join(how)})."]
        for code, noun, verb in (
            ("older-runs", "run", "merged"),
            ("rows-missing", "row", "left out"),
            ("judges-compared", "mark", "adjusted for the severity of judges"),
        ):
            findings = (*self.findings, *self.adjustment)
            n = sum(finding.values["n"] for finding in findings if finding.code == code)
            if n:
                nouns = f"{noun}s were" if n > 1 else f"{noun} was"
                sentences.append(f"{n:,} {nouns} {verb}.")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON has them, findings without their remedies."""
        findings, adjustment = (
            tuple(replace(finding, remedies=()) for finding in findings)
            for findings in (self.findings, self.adjustment)
        )
        plain = asdict(replace(self, findings=findings, adjustment=adjustment))
        return json.loads(json.dumps(plain, default=_plain))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Source:
        """Return the source with fields from `to_dict`, lists made tuples."""
        findings, adjustment = (
            tuple(Finding(**{**finding, "remedies": ()}) for finding in findings)
            for findings in (record["findings"], record.get("adjustment", ()))
        )
        settings = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record["settings"].items()
        }
        shared_errors = {
            system: tuple(errors) for system, errors in record.get("shared_errors", {}).items()
        }
        files = tuple(record["files"])
        return cls(files, record["format"], settings, findings, adjustment, shared_errors)

    @classmethod
    def merged(cls, sources: Iterable[Source | None]) -> Source | None:
        """Return the source of matrices put together, with the settings that they share.

        Shared errors are left out: they depend on the answers of each matrix.
        """
        given = [source for source in sources if source is not None]
        if len(given) < 2:
            return next(iter(given), None)
        shared = {
            name: value
            for name, value in given[0].settings.items()
            if all(source.settings.get(name) == value for source in given)
        }
        return cls(
            tuple(dict.fromkeys(file for source in given for file in source.files)),
            "/".join(dict.fromkeys(source.format for source in given)),
            shared,
            tuple(finding for source in given for finding in source.findings),
            tuple(finding for source in given for finding in source.adjustment),
        )


def _plain(value: Any) -> Any:
    """A value that JSON does not have, as one that it has."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    return value.item() if isinstance(value, np.generic) else str(value)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "by item"
    several = value if isinstance(value, tuple | list | AbstractSet) else [value]
    words = [f"{word:g}" if isinstance(word, float) else str(word) for word in several]
    return "/".join(words)
