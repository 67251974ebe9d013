"""Awkward forms in which people export evaluations: each is read right, or asked about.

`FORMS` lists them. `reads`: the right matrix and no finding. `says`: the right matrix and a warning
with this code. `asks`: an error with this code, one remedy of which gives the right matrix.
`refuses`: an error. `never_silent`: the right matrix, or any finding.
"""

from __future__ import annotations

import gzip
import json
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import irtkit
from irtkit.findings import ReadingError

if TYPE_CHECKING:
    from collections.abc import Callable

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
LOGS = Path(__file__).parents[1] / "data" / "logs"


Form = tuple[str, str, Any, Any, dict[str, Any]]


def form(kind: str, codes: str, given: Any, want: Any = WANT, **settings: Any) -> Form:
    """Return what must happen to a frame (as it is and as a CSV file), text, or a written file.

    The settings are those of the reading, or of the remedy, where ``...`` is any value.
    """
    return kind, codes, given, want, settings


reads, refuses = partial(form, "reads", ""), partial(form, "refuses")
says, asks, never_silent = (partial(form, kind) for kind in ("says", "asks", "never_silent"))


def wide(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, CELLS.index, ITEMS).reset_index()


def marks(right: Any, wrong: Any) -> pd.DataFrame:
    return wide(np.where(VALUES == 1, right, wrong))


def holed(word: Any, right: Any = 1, wrong: Any = 0) -> pd.DataFrame:
    """Marks of which two cells are a word."""
    marked = np.where(VALUES == 1, right, wrong).astype(object)
    return wide(np.where(HOLES < 0, word, marked).astype(object))


def csv(frame: pd.DataFrame, **how: Any) -> str:
    return str(frame.to_csv(**{"index": False} | how))


def again(column: str, values: tuple[Any, Any], one: Any = LONG) -> pd.DataFrame:
    """Every row twice, with other answers, under another value of the column."""
    other = LONG_SECOND if one is LONG else wide(SECOND)
    return pd.concat([one.assign(**{column: values[0]}), other.assign(**{column: values[1]})])


def joined(values: tuple[Any, Any], axis: int) -> ResponseMatrix:
    """Matrix of `again` with respondents (axis 0) or items (axis 1) told apart by the column."""
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


def lm_eval(rows: list[dict[str, Any]]) -> Callable[[Path], Path]:
    text = "".join(json.dumps({"doc": {}, "filter": "none"} | row) + "\n" for row in rows)
    about = ("results_2026-01-02T03-04-05.000000.json", json.dumps({"model_name": "org/gpt"}))
    return written(("samples_sums_2026-01-02T03-04-05.000000.jsonl", text), about)


ONE = list(enumerate(VALUES[0].tolist()))
METRICS = lm_eval([
    {"doc_id": k, "metrics": ["acc", "acc_norm"], "acc": one, "acc_norm": 1 - one} for k, one in ONE
])  # fmt: skip
FILTERS = lm_eval([
    {"doc_id": k, "filter": name, "metrics": ["exact_match"], "exact_match": int(one == right)}
    for right, name in ((1, "strict-match"), (0, "flexible-extract")) for k, one in ONE
])  # fmt: skip
SUMS = irtkit.ResponseMatrix(VALUES[:1], ["org/gpt"], [f"sums/{k}" for k in range(4)])
LINES = LONG.to_json(orient="records", lines=True)
ODD_LABELS = ["007", "a,b", "two\nlines", "NA", 'say "x"', "1e5"]
ODD = irtkit.ResponseMatrix(VALUES, ODD_LABELS, ["1", "2", "3", "4"])
ODD_FRAME = pd.DataFrame(VALUES, pd.Index(ODD_LABELS, name="model"), ODD.items)
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
TWO_FORMS = LONG.assign(item=[COMPOSED] * 3 + [DECOMPOSED] * 3 + LONG["item"].to_list()[6:])
COMMAS = wide(np.char.replace(SCORES.astype(str), ".", ","))
KEYED = pd.concat([wide(LETTERS), pd.DataFrame([{"model": "KEY", **KEY}])])
ANSWERED = LONG.drop(columns="score").assign(answer=LETTERS.T.ravel())
TARGETS = ANSWERED.assign(target=LONG["item"].map(KEY))
EPOCHS = again("epoch", (1, 2))
SETUPS = {"task": ("gsm8k", "arc"), "judge": ("claude", "gpt"), "fewshot": (0, 5)}
JUDGED, JUDGED_WIDE = (
    pd.concat([again("epoch", (1, 2), one).assign(judge=judge) for judge in ("a", "b")])
    for one in (LONG, WIDE)
)
TWO_JUDGES = irtkit.ResponseMatrix.from_counts(
    np.tile(VALUES + SECOND, (2, 1)),
    np.full((12, 4), 2),
    [f"{name}/{judge}" for judge in ("a", "b") for name in MODELS],
    ITEMS,
)
SIDEWAYS = CELLS.T.rename_axis("item").reset_index()
TASK_ROWS = SIDEWAYS.assign(item=[1, 2, 1, 2], task=["gsm8k", "gsm8k", "arc", "arc"])
UNIQUE = EPOCHS.assign(uuid=[f"{k:x}" for k in range(48)], latency=np.arange(48) * 0.25)
SAME_TWICE = pd.concat([LONG, LONG], ignore_index=True)
TABLES = (("a.csv", csv(WIDE)), ("b.csv.gz", gzip.compress(csv(WIDE).encode())[:-20]))
LOG = next(LOGS.glob("inspect_0.3.50/*5SerZ*.eval")).read_bytes()
TWO_LOGS = (("a.eval", LOG), ("b.eval", LOG[:3000]))
TOYADD = irtkit.ResponseMatrix([[1, 1, 1, 0]], ["mockllm/beta"], [f"toyadd/q{k}" for k in range(4)])

FORMS: dict[str, Form] = {
    # Shapes and spellings of tables
    "wide": reads(WIDE),
    "long": reads(LONG),
    "long, sparse": reads(LONG, sparse=True),
    "long, other columns": reads(LONG.assign(prompt="?", tokens=np.arange(24), latency=0.5)),
    "long, row by row": reads(LONG.iloc[np.arange(24).reshape(4, 6).T.ravel()]),
    "labels last": reads(WIDE[[*ITEMS, "model"]]),
    "index that pandas wrote": reads(csv(WIDE, index=True)),
    "index that pandas wrote, long": reads(csv(LONG, index=True)),
    "index without a name": reads(csv(CELLS.rename_axis(None), index=True)),
    "frame with its index": reads(lambda _: CELLS),
    "labels twice": never_silent("", lambda _: CELLS.assign(name=MODELS)),
    "pivot": reads(lambda _: LONG.pivot_table("score", "model", "item").loc[MODELS]),
    "tabs": reads(written(("results.tsv", csv(WIDE, sep="\t")))),
    "semicolons, BOM": reads("\ufeff" + csv(LONG, sep=";")),
    "gzip": reads(written(("results.csv.gz", gzip.compress(csv(WIDE).encode())))),
    "BOM": reads("\ufeff" + csv(WIDE)),
    "Windows line ends": reads(csv(WIDE, lineterminator="\r\n")),
    "blank last lines": reads(csv(WIDE) + "\n\r\n \n"),
    "odd labels": reads(ODD_FRAME.reset_index(), ODD),
    "everything quoted": reads(csv(ODD_FRAME, index=True, quoting=1), ODD),
    "cells with blanks": reads(csv(marks(" 1", "0 "))),
    "booleans": reads(wide(VALUES == 1)),
    "words for booleans": reads(marks("TRUE", "false")),
    "decimals": reads(wide(VALUES.astype(float))),
    "nullable integers": reads(holed(None).astype(dict.fromkeys(ITEMS, "Int64")), HOLED),
    "nullable booleans": reads(holed(None).astype(dict.fromkeys(ITEMS, "boolean")), HOLED),
    "categories": reads(lambda _: LONG.astype({"model": "category", "item": "category"})),
    **{f"missing as {word!r}": reads(holed(word), HOLED)
       for word in ("", "NaN", "NA", "N/A", "None", "null", "<NA>")},
    "a name twice": refuses("", "model,q1,q1\na,1,0\nb,0,1\n"),
    "a column without a name": never_silent("", csv(WIDE).replace("\n", ",\n")),
    "items and marks alone": never_silent("", LONG[::6].drop(columns="model"), None),
    "a row of means": asks("summary", pd.concat([WIDE, pd.DataFrame([
        {"model": "mean", **CELLS.mean()}])]), ignore=["mean"]),
    "a row of means, long": asks("summary", pd.concat([LONG, pd.DataFrame(
        {"model": "Average", "item": ITEMS, "score": VALUES.mean(0)})]), ignore=["Average"]),
    "a row and a column of means": asks("summary", pd.concat([WIDE, pd.DataFrame([
        {"model": "mean", **CELLS.mean()}])]).assign(mean=0.5), ignore=["mean"]),
    "a row of totals, left out": reads(pd.concat([WIDE, pd.DataFrame([
        {"model": "Total", **dict.fromkeys(ITEMS, 1)}])]), ignore=["Total"]),
    "a row of totals, kept": says("summary", WIDE.replace({"model": {MODELS[0]: "Total"}}),
        irtkit.ResponseMatrix(VALUES, ["Total", *MODELS[1:]], ITEMS)),
    "an item of totals": says("summary", LONG.replace({"item": {"q1": "overall"}}),
        irtkit.ResponseMatrix(VALUES, MODELS, ["overall", *ITEMS[1:]])),
    "a label to leave out that is not there": refuses("", WIDE, ignore=["mean"]),
    # Other files and containers
    "JSON lines": reads(written(("results.jsonl", LINES))),
    "JSON lines, wide": reads(written(("r.jsonl", WIDE.to_json(orient="records", lines=True)))),
    "JSON lines, gzip": reads(written(("results.jsonl.gz", gzip.compress(LINES.encode())))),
    "JSON lines with messages": reads(written(
        ("r.jsonl", LINES.replace("}", ', "messages": [{"role": "user"}]}')))),
    "JSON lines with null": reads(written(
        ("r.jsonl", holed(None).to_json(orient="records", lines=True))), HOLED),
    "JSON array": reads(written(("results.json", LONG.to_json(orient="records")))),
    "JSON array, indented": reads(written(("r.json", WIDE.to_json(orient="records", indent=2)))),
    "NumPy file": reads(saved("marks.npy", lambda path: np.save(path, np.where(
        HOLES < 0, np.nan, HOLES))), irtkit.ResponseMatrix(HOLES)),
    "Excel": reads(saved("results.xlsx", lambda path: pytest.importorskip("openpyxl")
                                 and WIDE.to_excel(path, index=False))),
    "Parquet": reads(written(("results.parquet", WIDE.to_parquet()))),
    "Parquet, long": reads(written(("results.parquet", LONG.to_parquet(index=False)))),
    "Parquet, labels in the index": reads(written(("results.parquet", CELLS.to_parquet()))),
    "polars": reads(lambda _: pytest.importorskip("polars").from_pandas(WIDE)),
    "pyarrow": reads(lambda _: pytest.importorskip("pyarrow").Table.from_pandas(LONG)),
    "records": reads(lambda _: LONG.to_dict("records")),
    "dict of dicts": reads(lambda _: CELLS.T.to_dict()),
    "dict of columns": reads(lambda _: WIDE.to_dict("list")),
    "folder": reads(written(("a.csv", csv(WIDE[:3])), ("b.csv", csv(WIDE[3:])))),
    "folder with a hidden file": reads(written(("a.csv", csv(LONG)), (".DS_Store", b"\0\1\2"))),
    "folder with a broken table": says("unreadable-file", written(*TABLES)),
    "folder with a broken table, strict": refuses("", written(*TABLES), strict=True),
    "folder with a broken log": says("unreadable-file", written(*TWO_LOGS), TOYADD),
    "log with two metrics": asks("", METRICS, SUMS, metric="acc"),
    "log with two filters": asks("", FILTERS, SUMS, filter="strict-match"),
    "log, metric chosen": reads(METRICS, SUMS, metric="acc"),
    "log, filter chosen": reads(FILTERS, SUMS, filter=["strict-match"]),
    "log, an unknown metric": refuses("", METRICS, metric="f1"),
    # Tasks
    **{f"tasks by {name}": reads(tasked(name), TASKS) for name in (
        "task", "dataset", "subset", "category", "domain", "subject", "topic", "split")},
    "tasks by Task Name": reads(tasked("Task Name", "Question ID"), TASKS),
    "tasks with ids of their own": reads(LONG.assign(task=["a"] * 12 + ["b"] * 12),
        irtkit.ResponseMatrix(VALUES, MODELS, ["a/q1", "a/q2", "b/q3", "b/q4"])),
    "item of two columns": reads(tasked(), TASKS, item=["task", "question_id"]),
    "item of two columns, other names": reads(tasked("bench", "nr"), TASKS, item=["bench", "nr"]),
    "one task": reads(tasked(), irtkit.ResponseMatrix(VALUES[:, 2:], MODELS, TASK_ITEMS[2:]),
                      task="arc"),
    "both tasks": reads(tasked(), TASKS, task=["gsm8k", "arc"]),
    "a task that is not there": refuses("", tasked(), task="mmlu"),
    "two columns of tasks": asks("task|repeated", tasked("subset").assign(dataset="suite"), TASKS,
                                 item=["subset", "question_id"]),
    "training data": asks("task", LONG.assign(dataset=["web", "code"] * 12), ignore=["dataset"]),
    "tasks of items in rows": reads(TASK_ROWS, TASKS, transpose=True),
    # Repeats
    **{f"repeated by {name}": asks("repeated", again(name, values), TWICE, repeats="count")
       for name, values in {"epoch": (1, 2), "seed": (0, 42), "trial": (0, 1), "sample": (1, 2),
                            "run": ("first", "second")}.items()},
    "repeated by epoch, with ids": asks("repeated", UNIQUE, TWICE, repeats="count"),
    "repeated by epoch, counted": reads(EPOCHS, TWICE, repeats="count"),
    "repeated by seed, wide": asks("repeated", again("seed", (0, 1), WIDE), TWICE,
                                   repeats="count", ignore=["seed"]),
    **{f"wide, items by {name}": asks("repeated", again(name, values, WIDE), joined(values, 1),
                                      item=[name], format="wide")
       for name, values in SETUPS.items()},
    **{f"wide, respondents by {name}": asks("repeated", again(name, values, WIDE),
                                            joined(values, 0), respondent=["model", name])
       for name, values in SETUPS.items()},
    "wide, key and repeats": reads(pd.concat([wide(LETTERS), wide(LETTERS[::-1])]), key=KEY,
                                   repeats="first"),
    **{f"two columns together, {shape}": asks("repeated", both, TWO_JUDGES, **more,
                                              respondent=["model", "judge"], repeats="count")
       for shape, both, more in (("long", JUDGED, {}), ("wide", JUDGED_WIDE, {"ignore": ["epoch"]}))
    },
    **{f"latencies, {name}": asks("repeated", again("epoch", (1, 2)).drop(columns="epoch").assign(
            **{name: values}), TWICE, repeats="count")
       for name, values in (("seconds", np.arange(48) * 0.25), ("tokens", np.arange(48) + 7),
                            ("cost", [0.5, 1.0] * 24))},
    "repeated, why": asks("repeated", pd.concat([LONG, LONG_SECOND]), TWICE, repeats="count"),
    "wide, repeated": asks("repeated", pd.concat([WIDE, wide(SECOND)]), TWICE, repeats="count"),
    **{f"items by {name}": asks("repeated", again(name, values), joined(values, 1),
                                item=[name, "item"])
       for name, values in {"fewshot": (0, 5), "language": ("en", "de")}.items()},
    **{f"respondents by {name}": asks("repeated", again(name, values), joined(values, 0),
                                      respondent=["model", name])
       for name, values in {"fewshot": (0, 5), "judge": ("claude", "gpt"),
                            "prompt": ("plain", "step by step")}.items()},
    "respondent of two columns": reads(again("judge", ("a", "b")), joined(("a", "b"), 0),
                                       respondent=["model", "judge"]),
    "rows twice": asks("identical-rows", SAME_TWICE, repeats="first"),
    "rows twice, index": asks("identical-rows", csv(SAME_TWICE, index=True), repeats="first"),
    "wide rows twice": asks("identical-rows", pd.concat([WIDE, WIDE]), repeats="first"),
    # Columns that are not items
    **{f"0/1 column {name}": asks("metadata-columns", WIDE.assign(**{name: [0, 1] * 3}),
                                  ignore=[name])
       for name in ("instruct", "open_weights", "is_chat", "moe", "reasoning")},
    "true/false column": asks("metadata-columns", WIDE.assign(Instruct=[True, False] * 3),
                              ignore=["Instruct"]),
    "0/1 column that is kept": asks("metadata-columns", WIDE.assign(moe=[0, 1] * 3), keep=...,
        want=irtkit.ResponseMatrix(np.c_[VALUES, [0, 1] * 3], MODELS, [*ITEMS, "moe"])),
    "sizes": asks("not-items", WIDE.assign(size_b=SIZES), ignore=["size_b"]),
    "dates and families": asks("not-items", WIDE.assign(
        released=[f"2025-02-0{k}" for k in range(1, 7)], family=list("aabbcc")),
        ignore=["released", "family"]),
    "sizes in front": asks("not-items", WIDE.assign(size_b=SIZES)[["model", "size_b", *ITEMS]],
                           ignore=["size_b"]),
    "a column of means, marked": asks("metadata-columns", WIDE.assign(overall=[0, 1] * 3),
                                      ignore=["overall"]),
    "totals": asks("not-items", WIDE.assign(total=VALUES.sum(1)), ignore=["total"]),
    "accuracies": asks("not-items", WIDE.assign(accuracy=VALUES.mean(1)), ignore=["accuracy"]),
    "ignored columns": reads(WIDE.assign(moe=1, size_b=SIZES), ignore=["moe", "size_b"]),
    # Scores, words, answers
    "scores": asks("scores", wide(SCORES), threshold=0.5),
    "scores, of which one item shares none": asks(
        "scores", wide(SCORES + np.array([0.001, 0, 0, 0])), threshold=0.5),
    "scores, long": asks("scores", LONG.assign(score=SCORES.T.ravel()), threshold=0.5),
    "decimal commas": asks("scores", csv(COMMAS, sep=";"), threshold=0.5),
    "decimal commas, quoted": asks("scores", csv(COMMAS), threshold=0.5),
    "decimal commas of 0 and 1": never_silent("", csv(marks("1,0", "0,0"), sep=";")),
    "percentages": asks("percentages", wide(np.rint(100 * SCORES)), threshold=50),
    "0 and 100": asks("percentages", marks(100, 0), threshold=50),
    "percent signs": asks("percentages|scores", wide(np.char.add(
        np.rint(100 * SCORES).astype(int).astype(str), " %")), threshold=...),
    **{f"words {right}/{wrong}": asks("words", marks(right, wrong), right=right, wrong=wrong)
       for right, wrong in (("correct", "incorrect"), ("C", "I"), ("PASS", "FAIL"), ("ok", "fail"),
                            ("Yes", "No"), ("resolved", "unresolved"))},
    "words nobody knows": asks("words", marks("\u2713", "\u2717"), right="\u2713", wrong="\u2717"),
    "words, long": asks("words", LONG.replace({"score": {1: "passed", 0: "failed"}}),
                        right="passed", wrong="failed"),
    "three words": asks("words", holed("timeout", "pass", "fail"),
        irtkit.ResponseMatrix(np.maximum(HOLES, 0), MODELS, ITEMS),
        right="pass", wrong=["fail", "timeout"]),
    **{f"{word!r} among marks": asks("missing-word", holed(word), HOLED, missing=[word])
       for word in ("-", "ERROR", "refused", -1)},
    "a dash among words": reads(holed("-", "ok", "no"), HOLED, right="ok", wrong="no", missing="-"),
    "two words for missing": reads(holed(-1).replace({"q2": {-1: "ERROR"}}), HOLED,
                                   missing=["ERROR", -1]),
    "answers": asks("answers", wide(LETTERS), key=KEY),
    "answers of two letters": asks("answers", marks("A", "B"), key=dict.fromkeys(ITEMS, "A")),
    "answers that are numbers": asks("levels", wide(np.where(VALUES == 1, 2, [1, 3, 4, 5])),
                                     key=dict.fromkeys(ITEMS, 2)),
    "key in a file": asks("answers", wide(LETTERS),
                          key=written(("key.csv", "item,key\nq3,C\nq1,A\nq2,B\nq4,D\n"))),
    "key in a row": asks("answers", KEYED, key="KEY"),
    "answers with holes": reads(holed(None, LETTERS, LETTERS), HOLED, key=KEY),
    "answers without a key": refuses("key-missing", wide(LETTERS), key={"q1": "A", "q2": "B"}),
    "answers, long": asks("answers", ANSWERED, key=KEY),
    "answers and targets": reads(TARGETS),
    "answers, targets and marks": reads(TARGETS.assign(score=LONG["score"])),
    "a grade": asks("no-response-column", LONG.rename(columns={"score": "grade"}),
                    response="grade"),
    "a blank behind a system": says("labels-merged", LONG.assign(
        model=LONG["model"] + np.where(LONG["item"] == "q3", " ", ""))),
    "two Unicode forms of an item": says("labels-merged", TWO_FORMS,
        irtkit.ResponseMatrix(VALUES, MODELS, [COMPOSED, *ITEMS[1:]])),
    "two columns that differ by a blank": refuses("", "model,q1,q1 \na,1,0\nb,0,1\n"),
    "two columns in two Unicode forms": refuses("", f"m,{COMPOSED},{DECOMPOSED}\na,1,0\n"),
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
    if callable(given):
        (tmp_path / "given").mkdir()
        given = given(tmp_path / "given")
    if kind == "asks":
        choice = {k: one(tmp_path) if callable(one) else one for k, one in settings.items()}
        with pytest.raises(ReadingError) as caught:
            irtkit.read_responses(given)
        finding = caught.value.finding
        assert finding.code in codes.split("|") or not codes
        if finding.code == "repeated" and " by " in name:
            assert finding.values["columns"] == [name.split(" by ")[1].partition(",")[0]]
        if name.startswith("two columns together"):
            assert finding.values["columns"] == ["epoch", "judge"]
            proposed = [one.settings.get("repeats") for one in finding.remedies]
            assert ("count" in proposed) is ("repeats" in choice)
        remedy = next(
            given
            for given in (dict(one.settings) for one in finding.remedies)
            if choice.keys() <= given.keys()
            and all(
                ... in (given[k], choice[k]) or plain(given[k]) == plain(choice[k]) for k in choice
            )
        )
        assert all(f"--{k}" in caught.value.text(options=True) for k in choice)
        settings = {k: choice[k] if one is ... else one for k, one in remedy.items()}
    try:
        responses, said = read(given, **settings)
    except ValueError as error:
        code = error.finding.code if isinstance(error, ReadingError) else ""
        if kind not in {"refuses", "never_silent"}:
            raise
        assert codes in {"", code}
        return
    assert kind != "refuses"
    assert responses == want or (kind == "never_silent" and said), responses.successes
    assert kind == "never_silent" or said == ({codes} if kind == "says" else set())
    if name.startswith("tasks"):
        tasks = [item.split("/")[0] for item in responses.items]
        assert responses.item_table["task"].tolist() == tasks


def test_answers_are_kept_as_predictions() -> None:
    for given, how in ((TARGETS, {}), (wide(LETTERS), {"key": KEY}), (KEYED, {"key": "KEY"})):
        kept = irtkit.read_responses(given, **how).predictions
        assert kept.loc[MODELS, ITEMS].to_numpy().tolist() == LETTERS.tolist()


@pytest.mark.parametrize("transpose", [False, True])
def test_a_threshold_says_how_much_it_changed(*, transpose: bool) -> None:
    given = wide(SCORES).set_index("model").T.reset_index() if transpose else wide(SCORES)
    responses = irtkit.read_responses(given, threshold=0.5, transpose=transpose)
    note = next(one for one in responses.source.findings if one.code == "threshold")
    rho = spearmanr(SCORES.mean(1), VALUES.mean(1)).statistic
    assert VALUES.size in note.values.values()
    assert any(isinstance(one, float) and abs(one - rho) < 0.01 for one in note.values.values())


def test_rows_without_an_answer_are_counted() -> None:
    given = ANSWERED.assign(answer=ANSWERED["answer"].where(np.arange(24) > 2))
    responses = irtkit.read_responses(given, key=KEY)
    assert responses.source.n_rows_dropped == 3


def test_the_first_answers_of_a_wide_table_are_kept_as_predictions() -> None:
    given = pd.concat([wide(LETTERS), wide(LETTERS[::-1])])
    kept = irtkit.read_responses(given, key=KEY, repeats="first").predictions
    assert kept.to_numpy().tolist() == LETTERS.tolist()


def test_several_problems_are_settled_one_after_the_other() -> None:
    given = marks("correct", "incorrect").assign(moe=[0, 1] * 3, family=list("aabbcc"))
    settings: dict[str, Any] = {}
    for _ in range(4):
        try:
            responses, _ = read(given, **settings)
        except ReadingError as error:
            for name, one in error.finding.remedies[0].settings.items():
                old = settings.get(name, ())
                settings[name] = [*old, *one] if isinstance(one, list) else one
        else:
            break
    assert responses == WANT
