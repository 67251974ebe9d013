"""Awkward forms in which people export evaluations: each is read right, or asked about.

`FORMS` lists them. `reads`: the right matrix and no finding. `says`: the right matrix and a warning
with this code. `asks`: an error with this code and a remedy that gives the right matrix. `refuses`:
an error about labels.
"""

from __future__ import annotations

import gzip
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from irtkit import ResponseMatrix

VALUES = np.array(
    [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]]
)
MODELS = ["gpt-4o", "llama-3-8b", "qwen2-7b", "mistral-7b", "gemma-2-9b", "phi-3-mini"]
ITEMS = ["q1", "q2", "q3", "q4"]
CELLS = pd.DataFrame(VALUES, pd.Index(MODELS, name="model"), ITEMS)
WIDE = CELLS.reset_index()
LONG = WIDE.melt("model", var_name="item", value_name="score")
WANT = irtkit.ResponseMatrix(VALUES, MODELS, ITEMS)
SECOND = np.roll(VALUES, 1, axis=1)  # Other answers of the same systems to the same items.
LONG_SECOND = LONG.assign(score=SECOND.T.ravel())
TWICE = irtkit.ResponseMatrix.from_counts(VALUES + SECOND, np.full((6, 4), 2), MODELS, ITEMS)
HOLES = VALUES.copy()
HOLES[[2, 4], [1, 3]] = -1
HOLED = irtkit.ResponseMatrix(HOLES, MODELS, ITEMS)
SCORES = np.round(0.2 + 0.6 * VALUES + np.arange(24).reshape(6, 4) % 7 / 100, 2)
KEY = dict(zip(ITEMS, "ABCD", strict=True))
LETTERS = np.where(VALUES == 1, list("ABCD"), list("BCDA"))
SIZES = [200, 8, 7.6, 7.2, 9.2, 3.8]


Form = tuple[str, str, Any, Any, dict[str, Any]]


def form(kind: str, codes: str, given: Any, want: Any = WANT, **settings: Any) -> Form:
    """Return what must happen to a frame (as it is and as a CSV file), text, or a written file.

    The settings come from the reading, or from the remedy where ``...`` is any value.
    """
    return kind, codes, given, want, settings


reads, refuses = partial(form, "reads", ""), partial(form, "refuses")
says, asks = partial(form, "says"), partial(form, "asks")


def wide(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, CELLS.index, ITEMS).reset_index()


def marks(right: Any, wrong: Any) -> pd.DataFrame:
    return wide(np.where(VALUES == 1, right, wrong))


def holed(word: Any, right: Any = 1, wrong: Any = 0) -> pd.DataFrame:
    """Marks with a word in two cells."""
    marked = np.where(VALUES == 1, right, wrong).astype(object)
    return wide(np.where(HOLES < 0, word, marked).astype(object))


def csv(frame: pd.DataFrame, **how: Any) -> str:
    return str(frame.to_csv(**{"index": False} | how))


def again(column: str, values: tuple[Any, Any], one: Any = LONG) -> pd.DataFrame:
    """Every row twice, with other answers, under another value of the column."""
    other = LONG_SECOND if one is LONG else wide(SECOND)
    return pd.concat([one.assign(**{column: values[0]}), other.assign(**{column: values[1]})])


def joined(values: tuple[Any, Any], axis: int) -> ResponseMatrix:
    """Matrix of `again` with respondents (axis 0) or items (axis 1) separated by the column."""
    labels = [MODELS, ITEMS]
    order = "{0}/{1}" if axis else "{1}/{0}"
    labels[axis] = [order.format(value, label) for value in values for label in labels[axis]]
    return irtkit.ResponseMatrix(np.concatenate([VALUES, SECOND], axis), *labels)


TASK_ITEMS = ["gsm8k/1", "gsm8k/2", "arc/1", "arc/2"]
TASKS = irtkit.ResponseMatrix(VALUES, MODELS, TASK_ITEMS)


def tasked(column: str = "task", item: str = "question_id") -> pd.DataFrame:
    """Ids that begin again in each task."""
    parts = LONG["item"].map(dict(zip(ITEMS, TASK_ITEMS, strict=True))).str.split("/", expand=True)
    table = LONG.assign(**{column: parts[0], item: parts[1].astype(int)})
    return table[[column, "model", item, "score"]]


def written(*files: tuple[str, str | bytes]) -> Callable[[Path], Path]:
    """Return a function that writes a file, or a folder of several, and returns its path."""

    def write(folder: Path) -> Path:
        for name, text in files:
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder / files[0][0] if len(files) == 1 else folder

    return write


def saved(name: str, save: Callable[[Path], Any]) -> Callable[[Path], Path]:
    return lambda folder: save(folder / name) or folder / name


LINES = LONG.to_json(orient="records", lines=True)
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
TWO_FORMS = LONG.assign(item=[COMPOSED] * 3 + [DECOMPOSED] * 3 + LONG["item"].to_list()[6:])
COMMAS = wide(np.char.replace(SCORES.astype(str), ".", ","))
KEYED = pd.concat([wide(LETTERS), pd.DataFrame([{"model": "KEY", **KEY}])])
ANSWERED = LONG.drop(columns="score").assign(answer=LETTERS.T.ravel())
TARGETS = ANSWERED.assign(target=LONG["item"].map(KEY))
SIDEWAYS = CELLS.T.rename_axis("item").reset_index()
TASK_ROWS = SIDEWAYS.assign(item=[1, 2, 1, 2], task=["gsm8k", "gsm8k", "arc", "arc"])
SAME_TWICE = pd.concat([LONG, LONG], ignore_index=True)
TABLES = (("a.csv", csv(WIDE)), ("b.csv.gz", gzip.compress(csv(WIDE).encode())[:-20]))

FORMS: dict[str, Form] = {
    # Shapes and spellings of tables
    "wide": reads(WIDE),
    "long": reads(LONG),
    "long, sparse": reads(LONG, sparse=True),
    "index that pandas wrote": reads(csv(WIDE, index=True)),
    "semicolons, BOM": reads("\ufeff" + csv(LONG, sep=";")),
    "cells with blanks": reads(csv(marks(" 1", "0 "))),
    "booleans": reads(wide(VALUES == 1)),
    "nullable integers": reads(holed(None).astype(dict.fromkeys(ITEMS, "Int64")), HOLED),
    **{f"missing as {word!r}": reads(holed(word), HOLED) for word in ("", "NA", "None", "<NA>")},
    "a name twice": refuses("", "model,q1,q1\na,1,0\nb,0,1\n"),
    "a row of means": asks("summary", pd.concat([WIDE, pd.DataFrame([
        {"model": "mean", **CELLS.mean()}])]), ignore=["mean"]),
    "a row of totals, kept": says("summary", WIDE.replace({"model": {MODELS[0]: "Total"}}),
        irtkit.ResponseMatrix(VALUES, ["Total", *MODELS[1:]], ITEMS)),
    # Other files and containers
    "JSON lines": reads(written(("results.jsonl", LINES))),
    "JSON array": reads(written(("results.json", LONG.to_json(orient="records")))),
    "Excel": reads(saved("results.xlsx", lambda path: pytest.importorskip("openpyxl")
                                 and WIDE.to_excel(path, index=False))),
    "Parquet, labels in the index": reads(written(("results.parquet", CELLS.to_parquet()))),
    "folder with a broken table": says("unreadable-file", written(*TABLES)),
    # Tasks
    **{f"tasks by {name}": reads(tasked(name), TASKS) for name in ("task", "subset", "subject")},
    "one task": reads(tasked(), irtkit.ResponseMatrix(VALUES[:, 2:], MODELS, TASK_ITEMS[2:]),
                      task="arc"),
    "two columns of tasks": asks("task|repeated", tasked("subset").assign(dataset="suite"), TASKS,
                                 item=["subset", "question_id"]),
    "training data": asks("task", LONG.assign(dataset=["web", "code"] * 12), ignore=["dataset"]),
    "tasks of items in rows": reads(TASK_ROWS, TASKS, transpose=True),
    # Repeats
    **{f"repeated by {name}": asks("repeated", again(name, values), TWICE, repeats="count")
       for name, values in {"epoch": (1, 2), "run": ("first", "second")}.items()},
    "wide, respondents by task": asks("repeated", again("task", ("gsm8k", "arc"), WIDE),
                                      joined(("gsm8k", "arc"), 0), respondent=["model", "task"]),
    "wide, repeated": asks("repeated", pd.concat([WIDE, wide(SECOND)]), TWICE, repeats="count"),
    **{f"items by {name}": asks("repeated", again(name, values), joined(values, 1),
                                item=[name, "item"])
       for name, values in {"fewshot": (0, 5), "language": ("en", "de")}.items()},
    **{f"respondents by {name}": asks("repeated", again(name, values), joined(values, 0),
                                      respondent=["model", name])
       for name, values in {"fewshot": (0, 5), "judge": ("claude", "gpt")}.items()},
    "rows twice": asks("repeated", SAME_TWICE, repeats="first"),
    # Columns that are not items
    **{f"0/1 column {name}": asks("metadata-columns", WIDE.assign(**{name: [0, 1] * 3}),
                                  ignore=[name])
       for name in ("instruct", "moe")},
    "0/1 column that is kept": asks("metadata-columns", WIDE.assign(moe=[0, 1] * 3), keep=...,
        want=irtkit.ResponseMatrix(np.c_[VALUES, [0, 1] * 3], MODELS, [*ITEMS, "moe"])),
    "sizes": asks("not-items", WIDE.assign(size_b=SIZES), ignore=["size_b"]),
    # Scores, words, answers
    "scores": reads(wide(SCORES), threshold=0.5),
    "scores as they are": reads(wide(SCORES), irtkit.ResponseMatrix(SCORES, MODELS, ITEMS)),
    "decimal commas, quoted": reads(csv(COMMAS), threshold=0.5),
    "percentages": asks("percentages", wide(np.rint(100 * SCORES)), threshold=50),
    "percentages as scores": asks(
        "percentages", wide(np.rint(100 * SCORES)),
        irtkit.ResponseMatrix(np.rint(100 * SCORES) / 100, MODELS, ITEMS), score_range=(0, 100)),
    "a column of shares": asks("few-scores", WIDE.assign(share=np.divide(SIZES, 250)),
                               ignore=["share"]),
    **{f"words {right}/{wrong}": reads(marks(right, wrong))
       for right, wrong in (("correct", "incorrect"), ("C", "I"), ("PASS", "FAIL"))},
    "three words": asks("words", holed("timeout", "pass", "fail"),
        irtkit.ResponseMatrix(np.maximum(HOLES, 0), MODELS, ITEMS),
        right="pass", wrong=["fail", "timeout"]),
    **{f"{word!r} among marks": asks("missing-word", holed(word), HOLED, missing=[word])
       for word in ("-", "ERROR", -1)},
    "a dash among words": reads(holed("-", "ok", "no"), HOLED, right="ok", wrong="no", missing="-"),
    "answers": asks("answers", wide(LETTERS), key=KEY),
    "answers that are numbers": asks("levels", wide(np.where(VALUES == 1, 2, [1, 3, 4, 5])),
                                     key=dict.fromkeys(ITEMS, 2)),
    "key in a row": asks("answers", KEYED, key="KEY"),
    "answers and targets": reads(TARGETS),
    "a grade": asks("no-response-column", LONG.rename(columns={"score": "grade"}),
                    response="grade"),
    "a blank behind a system": says("labels-merged", LONG.assign(
        model=LONG["model"] + np.where(LONG["item"] == "q3", " ", ""))),
    "two Unicode forms of an item": says("labels-merged", TWO_FORMS,
        irtkit.ResponseMatrix(VALUES, MODELS, [COMPOSED, *ITEMS[1:]])),
    "two columns that differ by a blank": refuses("", "model,q1,q1 \na,1,0\nb,0,1\n"),
}  # fmt: skip
PARTS = [
    (name, part)
    for name, one in FORMS.items()
    for part in (("frame", "file") if isinstance(one[2], pd.DataFrame) else ("file",))
]


def read(given: Any, **settings: Any) -> tuple[ResponseMatrix, set[str]]:
    """Matrix and codes of all warnings, which the source records too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        responses = irtkit.read_responses(given, **settings)
    codes = {one.message.code for one in caught}  # All are an IRTWarning.
    assert codes == {one.code for one in responses.source.findings if one.severity != "note"}
    return responses, codes


def plain(value: Any) -> list[str]:
    listed = value if isinstance(value, list | tuple) else [value]
    return sorted(str(one).removesuffix(".0") for one in listed)


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_a_form_is_read_right_or_asked_about(tmp_path: Path, name: str, part: str) -> None:
    kind, codes, given, want, settings = FORMS[name]
    given = csv(given) if part == "file" and isinstance(given, pd.DataFrame) else given
    if isinstance(given, str):
        given = written(("results.csv", given))
    given = given(tmp_path) if callable(given) else given
    if kind == "asks":
        with pytest.raises(ReadingError) as caught:
            irtkit.read_responses(given)
        finding = caught.value.finding
        assert finding.code in codes.split("|")
        if finding.code == "repeated" and " by " in name and "wide" not in name:
            assert finding.values["columns"] == [name.split(" by ")[1]]
        remedy = next(
            one
            for one in (dict(one.settings) for one in finding.remedies)
            if settings.keys() <= one.keys()
            and all(... in (one[k], v) or plain(one[k]) == plain(v) for k, v in settings.items())
        )
        assert all(f"--{k.replace('_', '-')}" in caught.value.text(options=True) for k in settings)
        settings = {k: settings[k] if one is ... else one for k, one in remedy.items()}
    elif kind == "refuses":
        with pytest.raises(ValueError, match=r"unique|differ only by"):
            irtkit.read_responses(given)
        return
    responses, said = read(given, **settings)
    assert responses == want
    assert said == ({codes} if kind == "says" else set())
    if name.startswith("tasks"):
        tasks = [item.split("/")[0] for item in responses.items]
        assert responses.item_table["task"].tolist() == tasks
