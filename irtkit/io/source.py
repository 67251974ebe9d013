"""What a reader is given: the file, what the caller said about it, and which column means what.

In a long table a column is the respondent, the item or the response if its name is one of the
usual ones; capitals, spaces and punctuation do not count ("Subject ID" is subject_id).
In a wide table the question is only whether the first column holds the respondents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_unique, first_names
from irtkit.codes import MISSING, response_code
from irtkit.io.text import layout
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from irtkit.responses import Repeats

    Choice = str | Sequence[str] | None
    """One name, or several in the order of preference."""

HEAD_BYTES = 4096
# fmt: off
_USUAL_NAMES = {
    "respondent": {
        "respondent", "respondentid", "model", "modelid", "modelname", "system",
        "systemid", "systemname", "subject", "subjectid", "student", "studentid",
        "user", "userid", "person", "personid", "participant", "participantid",
        "examinee", "learner"
    },
    "item": {
        "item", "itemid", "itemname", "question", "questionid", "instance",
        "instanceid", "docid", "taskid", "problem", "problemid", "example",
        "exampleid", "sampleid"
    },
    "response": {
        "response", "correct", "iscorrect", "right", "isright", "score", "value",
        "accuracy", "acc"
    },
}
# fmt: on


@dataclass(frozen=True)
class Source:
    """A file of responses, not yet read."""

    path: Path
    head: bytes
    """How the file begins, decompressed and without a byte order mark: enough to recognise it."""
    shape: str | None = None
    """The shape of a table where the caller named one: "wide", "long" or None."""
    columns: tuple[str | None, str | None, str | None] = (None, None, None)
    """Those of respondent, item and response in a long table, where the caller named them."""
    threshold: float | None = None
    repeats: Repeats = "error"
    sparse: bool = False
    metric: Choice = None
    filter: Choice = None

    @cached_property
    def layout(self) -> tuple[str, list[str]]:
        """Separator and header of a table in text."""
        return layout(self.path)

    @property
    def is_long(self) -> bool:
        """Whether the caller said, in one way or another, that the table is long."""
        return self.shape == "long" or (self.shape is None and self.names_columns)

    @property
    def names_columns(self) -> bool:
        """Whether the caller named a column of a long table."""
        return self.columns != (None, None, None)

    def matrix_of_long(self, table: Any, names: Sequence[str]) -> ResponseMatrix:
        """Response matrix of a table of pyarrow; the names are of respondent, item and response."""
        respondent, item, response = names
        return ResponseMatrix.from_long(
            table.to_pandas(ignore_metadata=True),
            respondent=respondent,
            item=item,
            response=response,
            threshold=self.threshold,
            repeats=self.repeats,
            sparse=self.sparse,
        )

    def refuse_columns(self, form: str) -> None:
        """Refuse names of columns where there are none to name."""
        if self.names_columns:
            raise ValueError(
                "respondent=, item= and response= name the columns of a long table, but the "
                f"format is {form!r}"
            )

    def refuse_long_settings(self, form: str) -> None:
        """Refuse what is for a row per response in a format that has a place for every cell."""
        self.refuse_columns(form)
        rule = f"a long table, but the format is {form!r}"
        if self.sparse:
            raise ValueError(f"sparse=True is for the rows of {rule}")
        if self.repeats != "error":
            raise ValueError(f"repeats={self.repeats!r} is for the rows of {rule}")

    def refuse_log_settings(self) -> None:
        """Refuse what is for evaluation logs in a table."""
        for name in ("metric", "filter"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name}= is for evaluation logs, and this is a table; response= names the "
                    "column of a long one"
                )


def is_long(header: Sequence[str]) -> bool:
    """Whether the header holds a usual name for each of respondent, item and response."""
    plain = {_plain(name) for name in header}
    return all(not plain.isdisjoint(names) for names in _USUAL_NAMES.values())


def find_columns(
    header: Sequence[str],
    respondent: str | None = None,
    item: str | None = None,
    response: str | None = None,
) -> tuple[int, int, int]:
    """Positions of the respondent, item and response columns of a long table.

    A column that is given is spelled as in the header; None recognises it by its usual names. The
    error for a role that has no column, or several, says which argument settles it.
    """
    given = {"respondent": respondent, "item": item, "response": response}
    found = {
        role: _only_position(header, role, name) for role, name in given.items() if name is not None
    }
    for role in given:
        if role not in found:
            found[role] = _recognise(header, role, frozenset(found.values()))
    for role, other in combinations(sorted(found), 2):
        if found[role] == found[other]:
            name = header[found[role]]
            raise ValueError(f"{role}= and {other}= name the same column {name!r}")
    return found["respondent"], found["item"], found["response"]


def refuse_repeats(names: Iterable[str]) -> None:
    """Refuse columns of the same name."""
    check_unique("column names must be unique", names)


def holds_respondents(name: str, values: Iterable[str]) -> bool:
    """Whether the first column of a wide table is the respondents and not itself an item.

    It is if its name is empty or a usual one for respondents. Otherwise it is unless the values
    are all responses: right, wrong or missing, each written in one way (so "1" and "true" together
    are labels), and not all missing.
    """
    if not name.strip() or _plain(name) in _USUAL_NAMES["respondent"]:
        return True
    codes = sorted(response_code(value) for value in set(values))
    return codes not in ([0], [1], [0, 1], [MISSING, 0], [MISSING, 1], [MISSING, 0, 1])


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _only_position(header: Sequence[str], role: str, name: str) -> int:
    if name not in header:
        raise ValueError(f"{role}={name!r} is not a column; the columns are {_listed(header)}")
    refuse_repeats(other for other in header if other == name)
    return header.index(name)


def _recognise(header: Sequence[str], role: str, taken: frozenset[int]) -> int:
    """Position of the one free column that has a usual name for the role."""
    free = [name for position, name in enumerate(header) if position not in taken]
    candidates = [name for name in free if _plain(name) in _USUAL_NAMES[role]]
    exact = [name for name in candidates if name == role]
    canonical = exact or [name for name in candidates if _plain(name) == role] or candidates
    if not canonical:
        raise ValueError(
            f"no column is recognised as the {role}: pass {role}= with its name; "
            f"the columns are {_listed(header)}"
        )
    if len(set(canonical)) > 1:
        raise ValueError(
            f"several columns may be the {role} ({_listed(canonical)}): "
            f"pass {role}= with the name of one"
        )
    return _only_position(header, role, canonical[0])


def _listed(names: Sequence[str]) -> str:
    return first_names([repr(name) for name in names], shown=20)
