"""Which column of a table means what: labels and responses, recognised by their names.

In a long table a column is the respondent, the item or the response if its name is one of the
usual ones; capitals, spaces and punctuation do not count ("Subject ID" is subject_id).
In a wide table the question is only whether the first column holds the respondents.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from irtkit.checks import check_unique, first_names
from irtkit.codes import MISSING, response_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# fmt: off
_USUAL_NAMES = {
    "respondent": frozenset(
        {
            "respondent", "respondentid", "model", "modelid", "modelname", "system",
            "systemid", "systemname", "subject", "subjectid", "student", "studentid",
            "user", "userid", "person", "personid", "participant", "participantid",
            "examinee", "learner"
        }
    ),
    "item": frozenset(
        {
            "item", "itemid", "itemname", "question", "questionid", "instance",
            "instanceid", "docid", "taskid", "problem", "problemid", "example",
            "exampleid", "sampleid"
        }
    ),
    "response": frozenset(
        {
            "response", "correct", "iscorrect", "right", "isright", "score", "value",
            "accuracy", "acc"
        }
    ),
}
# fmt: on


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
