"""Which column of a table means what, in files and in frames.

Capitals, blanks and punctuation of names do not count: "Subject ID" is subject_id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from irtkit.checks import did_you_mean, first_names, short
from irtkit.findings import ReadingError, Remedy, failed
from irtkit.responses.labels import is_missing_label
from irtkit.responses.marking import MISSING, plain_value
from irtkit.responses.proposals import ask
from irtkit.responses.vocabulary import (
    COLUMNS,
    IDS,
    INVERTED,
    LABELS,
    METADATA,
    OUTCOMES,
    REPEATS,
    RESULTS,
    RUNS,
    SUMMARIES,
    TASKS,
)

if TYPE_CHECKING:
    from irtkit.responses.marking import Marking

Names: TypeAlias = str | Iterable[str] | None
"""The name of a column, or several names."""

USUAL = "*"  # Instead of the name of a column: the column with a usual name.
_ITEM_LABEL = re.compile(
    r"(.*[\W_])?(q|items?|questions?|tasks?|problems?|prompts?|exercises?|puzzles?)[\W_]*\d+|.{8,}\?",
    re.IGNORECASE,
)
_SYSTEM_LABEL = re.compile(
    r"(.*[\W_])?(respondents?|models?|systems?|students?|persons?|participants?|subjects?|users?|"
    r"candidates?|examinees?)[\W_]*\d+|"
    r"(.*[\W_])?(gpt|o[134]|llama|claude|gemini|gemma|mistral|mixtral|qwen|phi|falcon|deepseek|yi|"
    r"vicuna|alpaca|mpt|olmo|bloom|opt|pythia|bert|roberta|albert|t5|command|palm|grok|kimi|glm|"
    r"nova|jamba|dbrx|solar|starcoder|codellama)([\W_\d].*)?|.*[\W_]\d+(\.\d+)?[bm]([\W_].*)?",
    re.IGNORECASE,
)
"""Numbered systems, families of language models, and sizes such as 7b."""


class Roles(NamedTuple):
    """Columns of a long table, by position."""

    respondent: list[int]
    item: list[int]
    response: int
    task: int | None = None
    """Column whose value comes first in the label of an item."""
    target: int | None = None
    """Column of right answers, with which the responses are compared."""
    judge: int | None = None
    """Column whose value comes last in the label of an item."""
    family: int | None = None
    """Column that is known to describe respondents."""

    def all_items(self, by_task: bool) -> list[int]:  # noqa: FBT001 - the one argument
        """Columns of the label of an item, perhaps with the task first, and the judge last."""
        task = self.task if by_task else None
        return [k for k in (task, *self.item, self.judge) if k is not None]


def plain_name(name: str) -> str:
    """Name of a column in small letters and digits alone."""
    return re.sub(r"[\W_]+", "", name.lower())


def listed(names: Names) -> list[str]:
    """Names as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [*map(str, names)]


def is_long(header: Sequence[str], respondent: Names, item: Names, response: str | None) -> bool:
    """Whether a table has a row per response: by the columns named, or by usual names."""
    if item is not None or response is not None:
        return True
    plain = {plain_name(name) for name in header}
    if respondent:
        plain.add("respondent")
    others = COLUMNS["respondent"] | COLUMNS["response"] | OUTCOMES
    if plain & COLUMNS["item"] and plain & others:
        return True
    marked = bool(plain & (COLUMNS["response"] | RESULTS))
    return marked and bool(_items_by_meaning(header, listed(respondent)))


def long_roles(
    header: Sequence[str],
    respondent: Names = None,
    item: Names = None,
    response: str | None = None,
    *,
    judge: str | None = None,
    family: str | None = None,
    key: Any = None,
) -> Roles:
    """Columns of a long table; a column that is not named is recognised by its usual names.

    With a key of the items the response is the column of answers. The key may be a column too.
    """
    judges = named(header, "judge", None if judge == USUAL else judge)
    if judge == USUAL:
        judges = [recognised(header, "judge")]
    families = named(header, "family", family)
    header = ["" if k in judges + families else name for k, name in enumerate(header)]
    rows = named(header, "respondent", respondent)
    items = named(header, "item", item)
    cells = named(header, "response", response)
    rows = rows or [recognised(header, "respondent", {*items, *cells})]
    if not items and not usual_columns(header, "item", {*rows, *cells}):
        items = _items_by_meaning(header, [header[k] for k in (*rows, *cells)])
    items = items or [recognised(header, "item", {*rows, *cells})]
    taken = {*rows, *items, *cells}
    targets: list[int] = []
    if isinstance(key, str) and key in header:
        targets = named(header, "key", key)
    if not cells and (key is not None or not usual_columns(header, "response", taken)):
        cells = usual_columns(header, "answer", taken)[:1]
        if cells and key is None:
            targets = usual_columns(header, "target", taken)
    cells = cells or [recognised(header, "response", taken)]
    taken = {*rows, *items, *cells}
    if len(taken) < len(rows) + len(items) + 1:
        raise ValueError("respondent, item and response must name different columns")
    task = None if item is not None else task_position(header, taken)
    others = [next(iter(places), None) for places in (targets, judges, families)]
    return Roles(rows, items, cells[0], task, *others)


def _items_by_meaning(header: Sequence[str], taken: Sequence[str]) -> list[int]:
    """Column of items, or else of tasks, if all other columns are systems, trials and results."""
    without_items = COLUMNS["respondent"] | COLUMNS["response"] | RESULTS
    free = {}
    for k, name in enumerate(header):
        plain = plain_name(name)
        if plain not in without_items and name not in taken and not is_nameless(name):
            free[k] = plain
    items = [k for k, plain in free.items() if plain in COLUMNS["item"]]
    tasks = [k for k, plain in free.items() if kind_of(plain) == "task"]
    labels = items or tasks
    others = [k for k, plain in free.items() if kind_of(plain) == "other"]
    return labels if len(labels) == 1 and {*labels}.issuperset(others) else []


def target_position(header: Sequence[str]) -> int:
    """Position of the right answers in a table of items and answers: by name, else the second."""
    usual = usual_columns(header, "target")
    if usual:
        return usual[0]
    answers = [k for k, name in enumerate(header) if plain_name(name) == "answer"]
    return answers[0] if answers else 1


def respondent_position(header: Sequence[str]) -> int | None:
    """Position of the column of a wide table that its name says holds the respondents.

    This is the one with a usual name, else the first one if it is called id, index or name, or has
    no name.
    """
    if usual_columns(header, "respondent"):
        return recognised(header, "respondent")
    labelled = plain_name(header[0]) in LABELS | COLUMNS["item"]
    return 0 if labelled or is_nameless(header[0]) else None


def named_by_corner(header: Sequence[str]) -> str | None:
    """What the name of the column of labels says that rows are, None if it may be both: an id."""
    corner = plain_name(header[respondent_position(header) or 0])
    if corner in COLUMNS["item"].union(TASKS) - COLUMNS["respondent"]:
        return "item"
    return None if corner in IDS else "respondent"


def are_numbered(labels: Sequence[str]) -> bool:
    """Whether most labels end in a number, as those of items do."""
    numbered = [label for label in labels if label[-1:].isdigit()]
    return 2 * len(numbered) > len(labels)


def is_nameless(name: str) -> bool:
    """Whether a column has no name, or the name that pandas writes instead."""
    return not name.strip() or name.startswith("Unnamed: ")


def holds_respondents(values: Sequence[object], marking: Marking) -> bool:
    """Whether the first column of a wide table holds respondents and is not itself an item.

    It is an item if its values are responses. Numbers that occur once are labels. With words for
    right and wrong, an item has some of these words.
    """
    plain = [plain_value("" if is_missing_label(value) else value) for value in values]
    if marking.right:
        return (marking.right | marking.wrong).isdisjoint(plain)
    filled = [value for value in plain if marking.code(value) != MISSING]
    if not filled:
        return any(plain)
    marks = marking._replace(threshold=None)
    if all(marks.code(value) >= 0 for value in filled):
        return False
    if any(isinstance(value, str) for value in filled):
        return True
    if any(value % 1 for value in filled):
        return False  # scores of another range
    if marking.threshold is None:
        return len(set(filled)) == len(filled)
    n = len(values)
    return filled in ([*range(n)], [*range(1, n + 1)])


def item_positions(
    header: Sequence[str], labels: Sequence[int], out: Collection[int], keep: Names
) -> tuple[list[int], list[int]]:
    """Positions of the items of a wide table, and of those that may not be items by their names.

    `labels` are columns of labels and `out` are columns to leave out. No column that `keep` names
    is doubted.
    """
    if keep is not None:
        kept, others = matched(header, keep)
        if others:
            raise no_column("keep", others[0], header)
        return sorted(kept.difference(labels, out)), []
    taken = {*labels, *out}
    if labels and is_nameless(header[0]):  # numbers of rows
        taken.add(0)
    items = [k for k in range(len(header)) if k not in taken]
    no_items = METADATA | REPEATS | SUMMARIES
    doubted = [k for k in items if plain_name(header[k]) in no_items]
    return items, doubted if len(doubted) < len(items) else []


def matched(header: Sequence[str], names: Names) -> tuple[set[int], list[str]]:
    """Positions of columns that names or patterns such as ``q*`` match, and the other names."""
    columns = set[int]()
    others = list[str]()
    for pattern in listed(names):
        places = [
            k for k, name in enumerate(header) if name == pattern or fnmatchcase(name, pattern)
        ]
        columns.update(places)
        if not places:
            others.append(pattern)
    return columns, others


KINDS = ("repeat", "task", "other")
"""Kinds of columns in the order in which they may distinguish repeated rows."""


def kind_of(name: str) -> str:
    """Return "repeat" for a column that numbers trials, "task" for a task, else "other"."""
    plain = plain_name(name)
    if plain in REPEATS:
        return "repeat"
    return "task" if plain in TASKS else "other"


def transposed(respondents: Sequence[str], items: Sequence[str]) -> bool:
    """Whether labels look as if the rows were items and the columns systems."""
    rows_like_items = _share(respondents, _ITEM_LABEL)
    columns_like_items = _share(items, _ITEM_LABEL)
    if rows_like_items >= 0.5 > columns_like_items + 0.3:
        return True
    if columns_like_items >= 0.5:
        return False
    rows_like_systems = _share(respondents, _SYSTEM_LABEL)
    return _share(items, _SYSTEM_LABEL) >= 0.5 > rows_like_systems + 0.3


def _share(labels: Sequence[str], pattern: re.Pattern[str]) -> float:
    """Share of the labels that are like a pattern."""
    step = -(-len(labels) // 100)  # 100 labels, evenly spaced
    looked_at = labels[::step]
    like = [label for label in looked_at if pattern.fullmatch(label)]
    return len(like) / len(looked_at)


def no_column(argument: str, name: str, header: Sequence[str]) -> ValueError:
    """Return the error for a name that no column has."""
    columns = first_names([repr(column) for column in header], shown=20)
    return ValueError(
        f"{argument} names {short(name)}, which is not a column{did_you_mean(name, header)}; "
        f"the columns are {columns}"
    )


def named(header: Sequence[str], argument: str, names: Names) -> list[int]:
    """Positions of the columns with exactly these names, in their order."""
    places = []
    for name in listed(names):
        if name not in header:
            raise no_column(argument, name, header)
        places.append(header.index(name))
    return places


def usual_columns(
    header: Sequence[str], role: str, taken: Collection[int | None] = ()
) -> list[int]:
    """Free columns with usual names of a role, or those that are called as the role is."""
    plain = {k: plain_name(name) for k, name in enumerate(header) if k not in taken}
    usual = [k for k, name in plain.items() if name in COLUMNS[role]]
    if len(usual) > 1:  # "subject" may be a task beside "model"
        usual = [k for k in usual if plain[k] not in TASKS] or usual
    ids = [k for k in usual if plain[k].endswith("id")]
    if role == "item" and len(ids) == 1:
        return ids
    exact = [k for k in usual if header[k] == role]
    return exact or [k for k in usual if plain[k] == role] or usual


def recognised(header: Sequence[str], role: str, taken: Collection[int | None] = ()) -> int:
    """Position of the one free column with a usual name of a role."""
    positions = usual_columns(header, role, taken)
    if role == "respondent" and not positions:
        positions = [k for k, name in enumerate(header) if plain_name(name) in RUNS]
    if len(positions) == 1:
        return positions[0]
    if role == "item" and not positions:
        raise no_items(header, taken)
    free = [name for k, name in enumerate(header) if name and k not in taken]
    if positions:
        raise several_columns(role, [header[k] for k in positions])
    choices = [ask("column", **{role: ...})]
    if role == "response":
        inverted = [name for name in free if plain_name(name) in INVERTED]
        choices = [_choice(role, name) for name in inverted] or choices
    raise failed(f"no-{role}-column", *choices, role=role, columns=free)


def several_columns(role: str, names: Sequence[str]) -> ReadingError:
    """Return the error for several columns that may have a role."""
    choices = [_choice(role, name) for name in names]
    return failed("several-columns", *choices, role=role, columns=[*names])


def _choice(role: str, name: str) -> Remedy:
    """Setting that gives a column its role, with 1 as wrong if its name says so."""
    if role == "response" and plain_name(name) in INVERTED:
        return ask("inverted", response=name, right=0, wrong=1)
    return ask("", **{role: name})


def no_items(header: Sequence[str], taken: Collection[int | None] = ()) -> ReadingError:
    """Return the error for a long table without a column of items, naming the one it may be."""
    marks = COLUMNS["respondent"] | COLUMNS["response"]
    free = [k for k, name in enumerate(header) if name and k not in taken]
    likely = [k for k in free if plain_name(header[k]) not in marks]
    likeliest = likely[0] if len(likely) == 1 else task_position(header, taken)
    if likeliest is None:
        remedy = ask("column", item=...)
    else:
        remedy = Remedy({"item": header[likeliest]}, "holds-items")
    return failed("no-item-column", remedy, role="item", columns=[header[k] for k in free])


def task_position(header: Sequence[str], taken: Collection[int | None]) -> int | None:
    """Position of the column of tasks, if there is one."""
    places = {plain_name(name): k for k, name in enumerate(header) if k not in taken}
    for name in TASKS:
        if name in places:
            return places[name]
    return None
