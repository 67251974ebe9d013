"""How responses were read: files, format and the settings and findings that shaped the matrix."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SETTINGS = [
    *("metric", "filter", "task", "threshold", "right", "wrong", "missing", "score_range"),
    *("key", "repeats"),
]


@dataclass(frozen=True)
class Source:
    """How responses were read.

    Examples
    --------
    >>> from irtkit.responses import Source
    >>> print(Source(("runs/",), "lm-eval", metric="acc", threshold=0.5, n_runs_merged=2))
    Read from runs/ (lm-eval, metric acc, threshold 0.5). 2 runs were merged.
    """

    files: tuple[str, ...]
    format: str
    metric: str | None = None
    filter: str | None = None
    task: str | tuple[str, ...] | None = None
    threshold: float | None = None
    right: Any = None
    wrong: Any = None
    missing: Any = None
    score_range: Any = None
    key: str | None = None  # File of the key, or "given".
    repeats: str | None = None
    n_runs_merged: int = 0
    n_rows_dropped: int = 0
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        n_more = len(self.files) - 3
        shown = ", ".join(self.files[:3])
        if n_more > 0:
            shown += f" and {n_more:,} more files"
        how = [self.format]
        for name in _SETTINGS:
            value = getattr(self, name)
            if value is not None:
                how.append(f"{name} {_words(value)}")
        sentences = [f"Read from {shown} ({', '.join(how)})."]
        for n, noun, verb in (
            (self.n_runs_merged, "run", "merged"),
            (self.n_rows_dropped, "row", "left out"),
        ):
            if n:
                sentences.append(f"{n:,} {noun}{'s were' if n > 1 else ' was'} {verb}.")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON has them, findings without their remedies."""
        findings = tuple(replace(finding, remedies=()) for finding in self.findings)
        plain = asdict(replace(self, findings=findings))
        record: dict[str, Any] = json.loads(json.dumps(plain, default=_plain))
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Source:
        """Return the source with fields from `to_dict`, lists made tuples."""
        lists = {k: tuple(v) for k, v in record.items() if isinstance(v, list)}
        lists["findings"] = tuple(
            Finding(**{**finding, "remedies": ()}) for finding in lists["findings"]
        )
        fields: dict[str, Any] = {**record, **lists}
        return cls(**fields)

    @classmethod
    def merged(cls, sources: Iterable[Source | None]) -> Source | None:
        """Return the source of matrices put together, with the settings that they share."""
        given = [source for source in sources if source is not None]
        if len(given) < 2:
            return next(iter(given), None)
        first, *others = given
        differ = [k for k in _SETTINGS if any(getattr(o, k) != getattr(first, k) for o in others)]
        return replace(
            first,
            files=tuple(dict.fromkeys(file for source in given for file in source.files)),
            format="/".join(dict.fromkeys(source.format for source in given)),
            n_runs_merged=sum(source.n_runs_merged for source in given),
            n_rows_dropped=sum(source.n_rows_dropped for source in given),
            findings=tuple(finding for source in given for finding in source.findings),
            **dict.fromkeys(differ),
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
    return "/".join(f"{word:g}" if isinstance(word, float) else str(word) for word in several)
