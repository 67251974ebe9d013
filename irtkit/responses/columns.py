"""Which column of a table means what, in files and in frames alike.

In a long table a column is the respondent, the item or the response if its name is one of the
usual ones; capitals, spaces and punctuation do not count ("Subject ID" is subject_id).
In a wide table the question is only which column, if any, holds the respondents.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from irtkit.checks import check_unique, did_you_mean, first_names, short
from irtkit.responses.codes import MISSING, response_code
from irtkit.responses.marking import plain_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from irtkit.responses.marking import Marking

    Roles: TypeAlias = tuple[str | None, str | None, str | None]
    """Columns of respondent, item and response, None where the caller named none."""

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
_TASKS = {
    *("task", "taskname", "dataset", "datasetname", "benchmark", "benchmarkname", "subset"),
}
"""Names of columns of a long table within which ids of items may be numbered anew."""
APART = "items are told apart by the column"
"""Begins the warning where such a column is no part of the items."""
_LABELS = {"id", "index", "name"}
"""Names of the first column of a wide table that are no items either."""


def is_long(header: Sequence[str], columns: Roles = (None, None, None)) -> bool:
    """Whether a table is long: its item or response is named, or a respondent and an item are.

    These may have usual names; that of the response, if it has none, is then to be named.
    """
    if columns[1:] != (None, None):
        return True
    plain = {_plain(name) for name in header} | ({"respondent"} if columns[0] else set())
    return not any(plain.isdisjoint(_USUAL_NAMES[role]) for role in ("respondent", "item"))


def find_columns(
    header: Sequence[str],
    respondent: str | None = None,
    item: str | None = None,
    response: str | None = None,
) -> tuple[int, int, int]:
    """Positions of the respondent, item and response columns of a long table.

    A column that is given is spelled as in the header; None recognises it by its usual names. The
    error for a role that has no column, or several, says which argument settles it. A column of
    tasks is no part of the item, of which an item that is recognised warns.
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
            raise ValueError(f"{role}= and {other}= name the same column {short(name)}")
    if item is None:
        others = (name for k, name in enumerate(header) if k not in found.values())
        _warn_of_tasks(others, header[found["item"]])
    return found["respondent"], found["item"], found["response"]


def _warn_of_tasks(others: Iterable[str], item: str) -> None:
    """Warn where the ids of items may be those of several tasks."""
    task = next((name for name in others if _plain(name) in _TASKS), None)
    if task is not None:
        warnings.warn(
            f"{APART} {short(item)} alone, and not by {short(task)}: if ids of several tasks are "
            f"the same, join the columns first, frame[{item!r}] = frame[{task!r}].astype(str) + "
            f"'/' + frame[{item!r}].astype(str); if not, item={item!r} says so",
            stacklevel=2,
        )


def find_labels(header: Sequence[str]) -> tuple[int, int]:
    """Positions of the respondent and item columns of a table of whatever else, by usual names."""
    found = {role: _usual(header, role) for role in ("respondent", "item")}
    for role, names in found.items():
        if len(names) != 1:
            which = "no column is" if not names else f"several columns are ({_listed(names)})"
            raise ValueError(
                f"{which} recognised as the {role}: call one {role!r}; "
                f"the columns are {_listed(header)}"
            )
    return header.index(found["respondent"][0]), header.index(found["item"][0])


def usual_column(header: Sequence[str], role: str) -> str | None:
    """Name of the one column that is usual for a role, None if there is none."""
    return recognised_column(header, role) if _usual(header, role) else None


def recognised_column(header: Sequence[str], role: str) -> str:
    """Name of the one column that is usual for a role; none, or several, are refused."""
    return header[_recognise(header, role, frozenset())]


def refuse_repeats(names: Iterable[str]) -> None:
    """Refuse columns of the same name."""
    check_unique("column names must be unique", names)


def respondent_column(header: Sequence[str], respondent: str | None = None) -> int | None:
    """Position of the column of a wide table that its name says is the respondents.

    That is the one named, the first if it has a usual name, another with a usual name, or the
    first if it is called id, name or index, or nothing: an index that pandas wrote. A name of items
    is a table on its side.
    """
    if respondent is not None:
        return _only_position(header, "respondent", respondent)
    usual = [k for k, name in enumerate(header) if _plain(name) in _USUAL_NAMES["respondent"]]
    if usual and usual[0] > 0:
        return _recognise(header, "respondent", frozenset())
    warn_of_items(header[0])
    labels = usual or _is_nameless(header[0]) or _plain(header[0]) in _LABELS
    return 0 if labels else None


def warn_of_items(name: str) -> None:
    """Warn where what labels the rows has a usual name of items."""
    if _plain(name) in _USUAL_NAMES["item"]:
        warnings.warn(
            f"are rows items here? Their labels are called {short(name)}; rows should be "
            "respondents: if they are not, irtkit.read_responses(…).T has rows and columns "
            "exchanged",
            stacklevel=2,
        )


def holds_respondents(values: Sequence[object], marking: Marking) -> bool:
    """Whether the first column of a wide table is the respondents, and not itself an item.

    Told from its values where its name does not tell. They are an item's if all are responses:
    right, wrong or missing, each written in one way (so "1" and "true" together are labels), and
    not all missing; or if they are numbers that repeat. With words for right and wrong, an item's
    are some of these words; with a threshold, numbers that do not count the rows.
    """
    distinct = dict.fromkeys(values)
    if marking.right:
        return not any(marking.names(plain_value(value)) for value in distinct)
    codes = sorted(response_code(value) for value in distinct)
    if codes in ([0], [1], [0, 1], [MISSING, 0], [MISSING, 1], [MISSING, 0, 1]):
        return False
    known = [value for value in values if response_code(value) != MISSING]
    if not known or any(isinstance(plain_value(value), str) for value in known):
        return True
    if marking.threshold is None:
        return len(set(known)) == len(known)
    return any([*map(plain_value, values)] == [*range(k, k + len(values))] for k in (0, 1))


def item_columns(
    header: Sequence[str], labels: int | None, keep: Iterable[str] | str | None
) -> list[int]:
    """Positions of the items of a wide table: those to keep, or all but the labels.

    A first column without a name, where the labels are another, is an index that pandas wrote.
    """
    kept = range(len(header)) if keep is None else _positions(header, "keep", keep)
    unnamed = keep is None and labels is not None and labels > 0 and _is_nameless(header[0])
    return [k for k in kept if k != labels and not (unnamed and k == 0)]


def other_columns(header: Sequence[str], ignore: Iterable[str] | str) -> list[int]:
    """Positions of all columns but those to ignore."""
    out = set(_positions(header, "ignore", ignore))
    return [k for k in range(len(header)) if k not in out]


def _positions(header: Sequence[str], argument: str, given: Iterable[str] | str) -> list[int]:
    names = {given} if isinstance(given, str) else set(map(str, given))
    if unknown := names.difference(header):
        raise no_column(argument, min(unknown), header)
    return [k for k, name in enumerate(header) if name in names]


def _is_nameless(name: str) -> bool:
    """Whether a column has no name, or the one that pandas gives such a column."""
    return not name.strip() or name.startswith("Unnamed: ")


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _only_position(header: Sequence[str], role: str, name: str) -> int:
    if not isinstance(name, str) or name not in header:
        raise no_column(role, name, header)
    refuse_repeats(other for other in header if other == name)
    return header.index(name)


def no_column(argument: str, name: str, header: Sequence[str]) -> ValueError:
    """Return the error for a name that no column has."""
    return ValueError(
        f"{argument}={short(name)} is not a column{did_you_mean(name, header)}; "
        f"the columns are {_listed(header)}"
    )


def _usual(names: Sequence[str], role: str) -> list[str]:
    """Names that are usual for a role; of them, those that are the word itself, if any are."""
    candidates = [name for name in names if _plain(name) in _USUAL_NAMES[role]]
    exact = [name for name in candidates if name == role]
    return exact or [name for name in candidates if _plain(name) == role] or candidates


def _recognise(header: Sequence[str], role: str, taken: frozenset[int]) -> int:
    """Position of the one free column that has a usual name for the role."""
    canonical = _usual([name for k, name in enumerate(header) if k not in taken], role)
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
