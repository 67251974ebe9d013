"""Rules about layouts of tables, each once for files and for data in memory.

Several tables are one below the other. The system of a table that names none is its folder or its
file. A folder for each system may have a file for each task, or for each run. ``3/5`` and columns
such as n_correct and n_samples are repeated trials, and 0 or 1 among ``3/5`` is one trial. Labels
such as ``gpt_run0`` and ``gpt_run1`` may be runs of one system.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_unique
from irtkit.findings import Finding, ReadingError, Remedy, failed
from irtkit.io.merging import merge_responses, repeats_of_parts
from irtkit.io.text import naming
from irtkit.io.writing import side_tables, with_side_tables
from irtkit.responses.columns import (
    are_numbered,
    listed,
    named,
    named_by_corner,
    plain_name,
    task_position,
    transposed,
    usual_columns,
)
from irtkit.responses.labels import in_task
from irtkit.responses.long import read_long
from irtkit.responses.marking import MISSING, plain_value
from irtkit.responses.proposals import ask
from irtkit.responses.tables import frame_table
from irtkit.responses.vocabulary import RESULTS
from irtkit.responses.wide import layout_of, read_wide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from irtkit.responses.matrix import ResponseMatrix
    from irtkit.responses.tables import Settings, Table

_TABLE_NAME = re.compile(
    r"(.*)\.(csv|tsv|parquet|jsonl|jsonlines|json|xlsx|feather|arrow|zip)(\.(gz|bz2|xz|zst|zip))?",
    re.IGNORECASE | re.DOTALL,
)
"""Names of files that may be tables, with the name without its endings."""
DESCRIPTIONS = {"dataset_info.json", "state.json", "dataset_dict.json"}
"""Files that describe the Arrow files of a data set that was saved."""
SETTINGS_OF_RUN = re.compile(
    r"(?:.*[-_. ])?(?:config|configuration|settings|args|arguments|params|parameters|"
    r"hyperparameters|metadata|manifest|info)\.\w+",
    re.IGNORECASE,
)
"""Names of files that hold settings of a run, in the folder of its results."""
_N_RIGHT = {"ncorrect", "numcorrect", "npassed", "nright", "nsolved", "nsuccesses", "successes"}
_N_TRIALS = {"nsamples", "numsamples", "ntrials", "trials", "nattempts", "nruns", "ntotal", "total"}
_ROUNDING = 0.01  # Of a share in percent.
_MARKS = {MISSING, 0, 1}
_NUMBER = r"(?:run|trial|seed|rep|repeat|attempt|epoch|t|r|s)[-_ ]?(\d+)"
_RUN = re.compile(rf"(.+?)[-_./# ]{_NUMBER}")
_RUN_FILE = re.compile(rf"{_NUMBER}|\d+")
_SYSTEMS = ("model", "system", "player", "agent", "assistant")
_RIVALS = [{f"{kind}{side}" for side in sides} for kind in _SYSTEMS for sides in ("ab", "12")]
_RIVALS.append({"left", "right"})
_VOTE = re.compile(r"winner.*|prefer.*|vote|chosenmodel|result|outcome|verdict")


def is_table(path: Path) -> bool:
    """Whether a file in a folder has the name of a table. JSON is as often something else."""
    named = _TABLE_NAME.fullmatch(path.name)
    return named is not None and named[2].lower() != "json"


def of_tables(
    tables: dict[Path, Table], settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of tables by their files, and how they were laid out. Findings are added."""
    _name_systems(tables, settings, findings)
    all_long = all(table.is_long(settings) for table in tables.values())
    while all_long and tables and not any(map(side_tables, tables)):
        try:
            return _read([*tables.values()], settings, findings), "long tables"
        except ReadingError as error:
            if error.file not in tables:
                raise
            leave_out(error.file, error, settings, findings, "damaged")
            del tables[error.file]
    matrices = []
    settings_of_parts = replace(settings, repeats=repeats_of_parts(settings.repeats))
    for path, table in tables.items():
        try:
            with naming(path):
                matrix, _ = of_table(table, settings_of_parts, findings)
        except ReadingError as error:
            leave_out(path, error, settings, findings, "damaged")
        else:
            matrices.append(with_side_tables(matrix, path))
    if not matrices:
        raise failed("nothing-read", n=len(tables))
    return merge_responses(matrices, repeats=settings.repeats), "tables"


def of_table(
    table: Table, settings: Settings, findings: list[Finding]
) -> tuple[ResponseMatrix, str]:
    """Matrix of one table, and how it was laid out. Findings are added."""
    is_long = _counted(table, settings).is_long(settings)
    matrix = _read([table], settings, findings)
    if is_long or settings.transpose:
        return matrix, "long table" if is_long else "wide table, transposed"
    corner = named_by_corner(table.header) if settings.respondent is None else "respondent"
    like_items = transposed(matrix.respondents, matrix.items)
    like_systems = transposed(matrix.items, matrix.respondents)
    if like_items or (corner == "item" and not like_systems):
        labels = {"item": matrix.respondents[0], "respondent": matrix.items[0]}
        turn = ask("transpose", transpose=True)
        findings.append(Finding("transposed", "warning", labels, (turn,)))
    elif corner is None and not (like_systems or are_numbered(matrix.items)):
        labels = {"corner": table.header[0], "row": matrix.respondents[0]}
        upright = ask("labels", respondent=table.header[0])
        choices = ask("transpose", transpose=True), upright
        findings.append(Finding("orientation", "warning", labels, choices))
    return matrix, "wide table"


def _read(tables: list[Table], settings: Settings, findings: list[Finding]) -> ResponseMatrix:
    """Matrix of one table, or of several long ones. Findings are added."""
    import pandas as pd

    if any({"judge", "severity", "severity_se"}.issubset(table.header) for table in tables):
        raise failed("no-marks")
    judges = listed(settings.judge)
    if len(judges) > 1:  # a column of marks per judge
        check_unique("judge must name a column once", judges)
        settings = replace(settings, judge="judge", response="score")
        for k, table in enumerate(tables):
            named(table.header, "judge", judges)
            frame = pd.concat(table.rows(), ignore_index=True).set_axis(table.header, axis=1)
            others = [name for name in table.header if name not in {*judges, "judge", "score"}]
            melted = frame.melt(others, judges, "judge", "score")
            tables[k] = frame_table(melted, table.place)
    counted = [_counted(table, settings) for table in tables]
    if counted[0].is_long(settings):
        matrix, notes = read_long(counted, settings)
    else:
        matrix, notes = read_wide(counted[0], settings)
    findings += notes
    return _with_runs(matrix, settings, findings)


def leave_out(
    file: Path, error: Exception, settings: Settings, findings: list[Finding], *codes: str
) -> None:
    """Make an error with one of the codes a finding, unless reading is strict."""
    finding = Finding("file", "error", {"message": str(error)})
    if isinstance(error, ReadingError):
        finding = error.finding
    if settings.strict or finding.code not in codes:
        raise error
    values = {"file": file.name, "reason": finding.reason}
    findings.append(Finding("unreadable-file", "warning", values))


def _name_systems(tables: dict[Path, Table], settings: Settings, findings: list[Finding]) -> None:
    """Add a column of systems to tables without one: their folder or file.

    Where folders have files of the same names, these are tasks or runs. Wide tables need a name
    only if they share items.
    """
    if settings.respondent is not None and "respondent" not in listed(settings.respondent):
        return
    nameless = {}
    unlabelled = {}
    for path, table in tables.items():
        of_items = _with_items(table)
        if not of_items.is_long(settings):
            with suppress(ReadingError), naming(path):
                if not settings.transpose and not layout_of(table, settings).labels:
                    unlabelled[path] = table
        elif not usual_columns(table.header, "respondent"):
            nameless[path] = of_items
    n_tables = Counter(name for table in unlabelled.values() for name in {*table.header})
    if max(n_tables.values(), default=0) > 1:
        nameless |= unlabelled
    if not nameless:
        return
    labels = systems_of([*nameless])
    values: dict[str, Any] = {"n": len(labels), "labels": labels}
    parts = [label.split("/") for label in labels]
    columns = [{"respondent": label} for label in labels]
    if all(len(names) == 2 for names in parts):
        folders, files = zip(*parts, strict=True)
        if min(Counter(files).values()) > 1:
            turned = transposed(folders, files)
            systems, others = (files, folders) if turned else (folders, files)
            kind = "run" if all(map(_RUN_FILE.fullmatch, others)) else "task"
            columns = [
                {"respondent": system, kind: other}
                for system, other in zip(systems, others, strict=True)
            ]
            labels = [*dict.fromkeys(systems)]
            values |= {"labels": labels, "kind": kind, "others": [*dict.fromkeys(others)]}
    for (path, table), of_file in zip(nameless.items(), columns, strict=True):
        if task_position(table.header, ()) is not None:
            of_file.pop("task", None)
        if path in unlabelled:  # a wide table, whose items are perhaps those of a task
            task = of_file.pop("task", None)
            header = [in_task(task, item) for item in table.header] if task else table.header
            table = replace(table, header=header)  # noqa: PLW2901
            of_file.pop("run", None)
        tables[path] = _with_columns(table, of_file)
    findings.append(Finding("file-names", "warning", values))


def _with_items(table: Table) -> Table:
    """Table whose column id holds the items, unless columns are numbered as those of items are."""
    names = [*map(plain_name, table.header)]
    numbered = any(name[-1:].isdigit() for name in names if name not in RESULTS)
    if "id" not in names or numbered or usual_columns(table.header, "item"):
        return table
    header = [*table.header]
    header[names.index("id")] = "item"
    return replace(table, header=header)


def systems_of(paths: Sequence[Path]) -> list[str]:
    """Names of files without the folders and the name that all of them share.

    >>> from pathlib import Path
    >>> systems_of([Path("runs/gpt-4.1/results.jsonl.gz"), Path("runs/o3/results.jsonl.gz")])
    ['gpt-4.1', 'o3']
    """
    places = []
    for path in paths:
        named = _TABLE_NAME.fullmatch(path.name)
        places.append([*path.parent.parts, named[1] if named else path.name])
    for end in (0, -1):
        while min(map(len, places)) > 1:
            if len({place[end] for place in places}) > 1:
                break
            for place in places:
                del place[end]
    return ["/".join(place) for place in places]


def _with_columns(table: Table, labels: dict[str, str]) -> Table:
    """Table with further, first columns, of one label each."""
    import pandas as pd
    import pyarrow as pa

    names = [*labels.values()]
    n = len(labels)

    def columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        kept = [k for k in positions if k >= n] or [n]
        for block, done in table.columns([k - n for k in kept]):
            places = np.zeros(len(block[0]), np.int32)
            by_position: dict[int, Any] = dict(zip(kept, block, strict=True))
            for k, name in enumerate(names):
                by_position[k] = pa.DictionaryArray.from_arrays(places, [name])
            yield [by_position[k] for k in positions], done

    def rows() -> Iterator[Any]:
        for block in table.rows():
            yield pd.concat([pd.DataFrame(labels, block.index), block], axis=1)

    return replace(table, header=[*labels, *table.header], columns=columns, rows=rows)


def _counted(table: Table, settings: Settings) -> Table:
    """Table with counts such as 3/5 if two columns count right and all trials. Votes are refused.

    A column of responses next to them is left out if it holds their shares.
    """
    names = [*map(plain_name, table.header)]
    has_rivals = any(rivals.issubset(names) for rivals in _RIVALS)
    if has_rivals and any(map(_VOTE.fullmatch, names)):
        raise failed("votes")
    import pandas as pd

    right = [k for k, name in enumerate(names) if name in _N_RIGHT]
    tried = [k for k, name in enumerate(names) if name in _N_TRIALS]
    marked = usual_columns(table.header, "response")
    if len(right) != 1 or len(tried) != 1 or settings.response is not None:
        return table
    out = {*right, *tried, *marked}
    kept = [k for k in range(len(names)) if k not in out]

    def columns(positions: list[int]) -> Iterator[tuple[list[Any], int]]:
        labels = [k for k in positions if k < len(kept)]
        for block, done in table.columns([*(kept[k] for k in labels), *right, *tried]):
            *of_labels, n_right, n_tried = block
            texts = []
            for k, n in zip(_numbers(n_right), _numbers(n_tried), strict=True):
                is_missing = np.isnan(k) or np.isnan(n)
                texts.append("" if is_missing else f"{k:g}/{n:g}")
            by_position: dict[int, Any] = dict(zip(labels, of_labels, strict=True))
            by_position[len(kept)] = pd.Series(texts, dtype=object)
            yield [by_position[k] for k in positions], done

    header = [*(table.header[k] for k in kept), "correct"]
    trials = replace(table, header=header, columns=columns)
    if not trials.is_long(settings):
        return table
    for block, _ in islice(table.columns([*right, *tried, *marked]), 1):
        n_right, n_tried, *shares = map(_numbers, block)
        for share in shares:
            error = (n_right / n_tried - share).abs()
            if not (error[n_tried > 0] <= _ROUNDING).all():
                return table
    return trials


def _numbers(column: Any) -> pd.Series:
    """Numbers of a column, which may have a decimal comma, NaN where there is none."""
    import pandas as pd

    series = column if hasattr(column, "iloc") else column.to_pandas()
    plain = series.astype(object).map(plain_value)
    return pd.to_numeric(plain, errors="coerce").astype(float)


def _with_runs(
    matrix: ResponseMatrix, settings: Settings, findings: list[Finding]
) -> ResponseMatrix:
    """Matrix in which runs of one system or item are repeated trials, if repeats are allowed.

    All labels end in the number of a run, and each name has the same numbers.
    """
    import pandas as pd

    for axis, kind in enumerate(("respondents", "items")):
        labels: Any = [matrix.respondents, matrix.items]
        named_runs: list[Any] = [*map(_RUN.fullmatch, labels[axis])]
        if None in named_runs:
            continue
        runs: dict[str, set[str]] = {}
        for match in named_runs:
            runs.setdefault(match[1], set()).add(match[2])
        first, *others = runs.values()
        if len(first) < 2 or any(numbers != first for numbers in others):
            continue
        name = next(iter(runs))
        values = {"label": labels[axis][0], "name": name, "n": len(runs), "kind": kind}
        if settings.repeats == "error":
            remedy = Remedy({"repeats": "count"}, "runs", safe=False)
            findings.append(Finding("runs-named", "warning", values, (remedy,)))
            continue
        findings.append(Finding("runs-joined", "note", values))
        places: Any = [*matrix.cells.rows()]
        number, _ = pd.factorize(np.array([match[1] for match in named_runs], object))
        places[axis] = number[places[axis]]
        labels[axis] = tuple(runs)
        how: Any = {"repeats": settings.repeats, "sparse": settings.sparse}
        matrix = matrix.of_rows(tuple(places), tuple(labels), **how)
    return matrix
