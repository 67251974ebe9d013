"""Forms in which people have evaluations: each is read right, or asked about.

`FORMS` lists them. `reads`: the right matrix and no finding. `says`: the right matrix and a warning
with this code. `asks`: an error with this code and a remedy that gives the right matrix. `refuses`:
an error with this code. What ``irtkit inspect`` proposes for a file gives the right matrix, too.
"""

import bz2
import gzip
import io
import json
import lzma
import sys
import warnings
import zipfile
from functools import partial
from itertools import cycle
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import irtkit
from irtkit.findings import ReadingError
from irtkit.io.overview import overview

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


VALUES = np.array(
    [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]]
)
MODELS = ["gpt-4o", "llama-3-8b", "qwen2-7b", "mistral-7b", "gemma-2-9b", "phi-3-mini"]
ITEMS = ["q1", "q2", "q3", "q4"]
CELLS = pd.DataFrame(VALUES, pd.Index(MODELS, name="model"), ITEMS)
WIDE = CELLS.reset_index()
LONG = WIDE.melt("model", var_name="item", value_name="score")
BY_NAME = [*map(MODELS.index, sorted(MODELS))]  # Rows in the order of files.
WANT = irtkit.ResponseMatrix(VALUES, MODELS, ITEMS)
SECOND = np.roll(VALUES, 1, axis=1)  # Other answers of the same systems to the same items.
LONG_SECOND = LONG.assign(score=SECOND.T.ravel())
TWICE = irtkit.ResponseMatrix.from_counts(VALUES + SECOND, np.full((6, 4), 2), MODELS, ITEMS)
HOLES = VALUES.copy()
HOLES[[2, 4], [1, 3]] = -1
HOLED = irtkit.ResponseMatrix(HOLES, MODELS, ITEMS)
SCORES = np.round(0.2 + 0.6 * VALUES + np.arange(24).reshape(6, 4) % 7 / 100, 2)
SIGNS = 2 * VALUES - 1  # Marks as 1 and −1.
KEY = dict(zip(ITEMS, "ABCD", strict=True))
LETTERS = np.where(VALUES == 1, list("ABCD"), list("BCDA"))
SIZES = [200, 8, 7.6, 7.2, 9.2, 3.8]


def form(kind, codes, given, want=WANT, **settings):
    """Return what must happen to a frame (as it is and as a CSV file), text, or a written file.

    The settings come from the reading, or from the remedy where ``...`` is any value.
    """
    return kind, codes, given, want, settings


reads, refuses = partial(form, "reads", ""), partial(form, "refuses")
says, asks = partial(form, "says"), partial(form, "asks")
LABELS = "file"
"""Code of a fault of the labels, which is named in words."""


def wide(values):
    return pd.DataFrame(values, CELLS.index, ITEMS).reset_index()


def marks(right, wrong):
    return wide(np.where(VALUES == 1, right, wrong))


def holed(word, right=1, wrong=0):
    """Marks with a word in two cells."""
    marked = np.where(VALUES == 1, right, wrong).astype(object)
    return wide(np.where(HOLES < 0, word, marked).astype(object))


def csv(frame, **how):
    return str(frame.to_csv(**{"index": False} | how))


def again(column, values, one=LONG):
    """Every row twice, with other answers, under another value of the column."""
    other = LONG_SECOND if one is LONG else wide(SECOND)
    return pd.concat([one.assign(**{column: values[0]}), other.assign(**{column: values[1]})])


def joined(values, axis):
    """Matrix of `again` with respondents (axis 0) or items (axis 1) separated by the column."""
    labels = [MODELS, ITEMS]
    order = "{0}/{1}" if axis else "{1}/{0}"
    labels[axis] = [order.format(value, label) for value in values for label in labels[axis]]
    return irtkit.ResponseMatrix(np.concatenate([VALUES, SECOND], axis), *labels)


COUNTED = marks("2/2", "0/2").assign(q2=VALUES[:, 1].astype(str))  # Of trials, q2 of one.
BOTH = irtkit.ResponseMatrix.from_counts(
    VALUES * [2, 1, 2, 2], np.tile([2, 1, 2, 2], (6, 1)), MODELS, ITEMS
)
TASK_ITEMS = ["gsm8k/1", "gsm8k/2", "arc/1", "arc/2"]
TASKS = irtkit.ResponseMatrix(VALUES, MODELS, TASK_ITEMS)


def tasked(column="task", item="question_id"):
    """Ids that begin again in each task."""
    parts = LONG["item"].map(dict(zip(ITEMS, TASK_ITEMS, strict=True))).str.split("/", expand=True)
    table = LONG.assign(**{column: parts[0], item: parts[1].astype(int)})
    return table[[column, "model", item, "score"]]


def written(*files):
    """Return a function that writes a file, or a folder of several, and returns its path."""

    def write(folder):
        for name, text in files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder / files[0][0] if len(files) == 1 else folder

    return write


def saved(name, save):
    return lambda folder: save(folder / name) or folder / name


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


def zipped(**texts):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        for name, text in texts.items():
            files.writestr(f"{name}.csv", text)
    return archive.getvalue()


def arrow_stream(frame):
    """Arrow data as `datasets` saves them."""
    table, sink = pa.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


class Dataset:
    """Stands for a `datasets.Dataset`, which need not be installed."""

    def __init__(self, frame):
        self._frame = frame
        self.column_names = [*frame.columns]

    def to_pandas(self):
        return self._frame


SAVERS = {
    "csv": csv,
    "csv.xz": lambda frame: lzma.compress(csv(frame).encode()),
    "json": lambda frame: frame.to_json(orient="records"),
    "jsonl": lambda frame: frame.to_json(orient="records", lines=True),
    "parquet": lambda frame: frame.to_parquet(),
}


def by_system(place, names, **more):
    """Return what writes a file per system, which does not name the system in its rows."""
    files = []
    for model in MODELS:
        rows = LONG.loc[LONG["model"] == model, ["item", "score"]]
        frame = rows.set_axis([*names], axis=1).merge(
            pd.DataFrame({**more} or {"run": [0]}), "cross"
        )
        files.append((place.format(model), SAVERS[place.split(".", 1)[1]](frame)))
    return written(*files)


def levelled(names, corner):
    """CSV that pandas writes of columns in two levels."""
    pairs = [label.split("/") for label in TASK_ITEMS]
    columns = pd.MultiIndex.from_arrays([*zip(*pairs, strict=True)], names=names)
    return str(CELLS.rename_axis(corner).set_axis(columns, axis=1).to_csv())


LINES = LONG.to_json(orient="records", lines=True)
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
TWO_FORMS = LONG.assign(item=[COMPOSED] * 3 + [DECOMPOSED] * 3 + LONG["item"].to_list()[6:])
COMMAS = wide(np.char.replace(SCORES.astype(str), ".", ","))
KEYED = pd.concat([wide(LETTERS), pd.DataFrame([{"model": "KEY", **KEY}])])
ANSWERED = LONG.drop(columns="score").assign(answer=LETTERS.T.ravel())
TARGETS = ANSWERED.assign(target=LONG["item"].map(KEY))
SIDEWAYS = CELLS.T.rename_axis("item").reset_index()
TASK_ROWS = SIDEWAYS.assign(item=[1, 2, 1, 2], task=["gsm8k", "gsm8k", "arc", "arc"])
DOUBLED = irtkit.ResponseMatrix.from_counts(2 * VALUES, np.full((6, 4), 2), MODELS, ITEMS)
PROMPTS = pd.concat([WIDE[["model"]], *(
    WIDE[ITEMS].add_prefix(f"{'Which line is it? ' * 3}\n{'Say which. ' * 4}{k}, ")
    for k in range(40))], axis=1)  # fmt: skip
PIVOT = LONG.pivot_table(["score"], "model", "item").loc[MODELS].astype(int)
RUNS = pd.concat([WIDE.assign(model=WIDE["model"] + f"_run{k}") for k in (0, 1)])
SAME_TWICE = pd.concat([LONG, LONG], ignore_index=True)
TABLES = (("a.csv", csv(WIDE)), ("b.csv.gz", gzip.compress(csv(WIDE).encode())[:-20]))


def by_task(names):
    """Return a function that writes a file for each system and task, whose names are formatted."""
    rows = tasked().groupby(["model", "task"])
    return written(
        *(
            (
                names.format(*of_file),
                csv(part.drop(columns=["model", "task"]))
                if names.endswith("csv")
                else part.drop(columns=["model", "task"]).to_json(orient="records", lines=True),
            )
            for of_file, part in rows
        )
    )


FORMS = {
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
    "a name twice": refuses(LABELS, "model,q1,q1\na,1,0\nb,0,1\n"),
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
    "labels in a column of any name": reads(WIDE.rename(columns={"model": "which"})),
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
       for name, values in {"fewshot": (0, 5), "lab": ("claude", "gpt")}.items()},
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
    "three words": asks("words", holed("timeout", "pass", "fail"),
        irtkit.ResponseMatrix(np.maximum(HOLES, 0), MODELS, ITEMS),
        right="pass", wrong=["fail", "timeout"]),
    **{f"{word!r} among marks": asks("missing-word", holed(word), HOLED, missing=[word])
       for word in ("-", "ERROR", -1)},
    "words in most columns, marks in one": asks("words", marks("pass", "fail").assign(
        q4=VALUES[:, 3]), right=[1, "pass"], wrong=[0, "fail"]),
    "a dash among words": reads(holed("-", "ok", "no"), HOLED, right="ok", wrong="no", missing="-"),
    "answers": asks("answers", wide(LETTERS), key=KEY),
    "answers that are numbers": asks("levels", wide(np.where(VALUES == 1, 2, [1, 3, 4, 5])),
                                     key=dict.fromkeys(ITEMS, 2)),
    "key in a row": asks("answers", KEYED, key="KEY"),
    "answers and targets": reads(TARGETS),
    "a key in a column": reads(TARGETS.rename(columns={"target": "official"}), key="official"),
    "a grade": asks("no-response-column", LONG.rename(columns={"score": "grade"}),
                    response="grade"),
    "a blank behind a system": says("labels-merged", LONG.assign(
        model=LONG["model"] + np.where(LONG["item"] == "q3", " ", ""))),
    "two Unicode forms of an item": says("labels-merged", TWO_FORMS,
        irtkit.ResponseMatrix(VALUES, MODELS, [COMPOSED, *ITEMS[1:]])),
    "a blank that makes a row a repeat": refuses("labels-merged", csv(
        pd.concat([LONG, LONG.iloc[[0]].assign(model=MODELS[0] + " ")]))),
    "a first column of scores beyond 1": refuses(
        "missing-word", "a,b\n0.2,0.2\n1.2,0.4\n0.3,0.5\n"),
    "two columns that differ by a blank": refuses("items-alike", "model,q1,q1 \na,1,0\nb,0,1\n"),
    # Names of columns
    **{f"columns {', '.join(names)}": reads(LONG.set_axis([*names], axis=1))
       for names in zip(
           ("agent", "Model Name", "system_id", "student", "llm", "Subject ID", "user"),
           ("question_id", "task_id", "Sample ID", "problem", "doc_id", "Instance-Id", "item"),
           ("reward", "success", "passed", "resolved", "is_correct", "accuracy", "score"),
           strict=True)},
    **{f"columns {names}": reads(LONG.set_axis(names.split(","), axis=1))
       for names in ("agent,task,reward", "run,task,passed", "run,task_id,score")},
    **{f"agent, task, {name}": asks("no-response-column",
        LONG.set_axis(["agent", "task", name], axis=1), response=name)
       for name in ("result", "outcome", "label", "grade", "verdict", "pass", "em")},
    "agent, task, error": asks("no-response-column", LONG.assign(score=1 - LONG["score"])
        .set_axis(["agent", "task", "error"], axis=1), response="error", right=0, wrong=1),
    **{f"agent, task, {names}": asks("several-columns", LONG.assign(other=0).set_axis(
        ["agent", "task", *names.split(",")], axis=1), response=names.split(",")[0])
       for names in ("accuracy,f1", "resolved,reward")},
    "agent, task, error, steps": refuses("no-item-column", LONG.assign(steps=range(24)).set_axis(
        ["agent", "task", "error", "steps"], axis=1)),
    # Packed files and other encodings
    **{f"r.csv.{end}": reads(written((f"r.csv.{end}", pack(csv(WIDE).encode()))))
       for end, pack in PACKERS.items()},
    "r.tsv.gz": reads(written(("r.tsv.gz", gzip.compress(csv(LONG, sep="\t").encode())))),
    "r.jsonl.zst": reads(written(("r.jsonl.zst", zstd.compress(LINES.encode())))),
    "zip of one table": reads(written(("results.zip", zipped(results=csv(WIDE))))),
    "csv.zip": reads(written(("results.csv.zip", zipped(results=csv(WIDE))))),
    "zip beside attributes of macOS": reads(written(("results.zip", zipped(
        **{"results": csv(WIDE), "__MACOSX/._results": "x"})))),
    "zip of two tables": refuses("file", written(("r.zip", zipped(a=csv(WIDE), b=csv(WIDE))))),
    **{f"damaged {end}": refuses("damaged", written((f"r.csv.{end}",
        pack(csv(WIDE).encode())[:-12])))
       for end, pack in PACKERS.items()},
    **{f"{name} in {code}, cells separated by {mark!r}": reads(
        written(("r.csv", f"\ufeff{csv(frame, sep=mark)}".encode(code))))
       for name, frame, mark, code in (
           ("wide", WIDE, ",", "utf-8"), ("wide", WIDE, ";", "utf-16-le"),
           ("long", LONG, "\t", "utf-16-be"), ("long", LONG, ",", "utf-16-le"))},
    "JSON lines in UTF-16": reads(written(("r.jsonl", LINES.encode("utf-16")))),
    "Windows line ends": reads(csv(WIDE, lineterminator="\r\n")),
    "all cells quoted": reads(csv(WIDE, quoting=1)),
    "prompts as columns": reads(csv(PROMPTS), irtkit.ResponseMatrix(
        PROMPTS.iloc[:, 1:].to_numpy(), MODELS, PROMPTS.columns[1:])),
    # Other files and objects
    "Feather": reads(saved("r.feather", WIDE.to_feather)),
    "Arrow stream": reads(written(("r.arrow", arrow_stream(LONG)))),
    "saved data set": reads(written(("data-00000-of-00002.arrow", arrow_stream(LONG[:10])),
                                    ("data-00001-of-00002.arrow", arrow_stream(LONG[10:])),
                                    ("state.json", "{}"), ("dataset_info.json", "{}"))),
    "Dataset": reads(Dataset(LONG)),
    "splits of a data set": reads({"a": Dataset(LONG[:10]), "b": Dataset(LONG[10:])}),
    "frames by system": reads({model: LONG.loc[LONG["model"] == model, ["item", "score"]]
                               for model in MODELS}),
    "object of records": reads(written(("results.json", CELLS.T.to_json()))),
    "records with lists": reads(written(("r.json", LONG.assign(choices=[["x", "y"]] * 24)
                                         .to_json(orient="records")))),
    "records": reads(LONG.to_dict("records")),
    "dict of columns": reads(WIDE.to_dict("list")),
    "dict of rows": reads(CELLS.T.to_dict()),
    "polars": reads(pl.from_pandas(LONG)),
    "PyArrow": reads(pa.Table.from_pandas(WIDE)),
    **{f"array of {kind}": reads(array, irtkit.ResponseMatrix(VALUES)) for kind, array in {
        "NumPy": VALUES, "JAX": jnp.asarray(VALUES), "SciPy": scipy.sparse.csr_array(VALUES),
        "SciPy, columns": scipy.sparse.csc_matrix(VALUES), "lists": VALUES.tolist()}.items()},
    **{f"array of 1 and -1, {kind}": asks("missing-word", array, irtkit.ResponseMatrix(VALUES),
                                          right=1, wrong=-1)
       for kind, array in {
        "NumPy": SIGNS, "bytes": SIGNS.astype("i1"), "lists": SIGNS.tolist(),
        "JAX": jnp.asarray(SIGNS), "SciPy": scipy.sparse.csr_array(SIGNS),
        "file": saved("r.npy", lambda path: np.save(path, SIGNS))}.items()},
    "sparse array of 1 and -1": asks("missing-word", scipy.sparse.csr_array(
        np.where(HOLES < 0, 0, SIGNS)), irtkit.ResponseMatrix(HOLES), right=1, wrong=-1, missing=0),
    "array with -1 that is missing": reads(HOLES, irtkit.ResponseMatrix(HOLES)),
    "sparse array that stores zeros": refuses("sparse-zeros", scipy.sparse.coo_array(
        ([1, 0], ([0, 1], [0, 1])), shape=(2, 2))),
    "series in two levels": reads(LONG.set_index(["model", "item"])["score"]),
    "series in two levels without names": reads(
        LONG.set_index(["model", "item"])["score"].rename(None).rename_axis([None, None])),
    "frame in two levels": reads(lambda _: LONG.set_index(["model", "item"])),
    "frame in two levels, as CSV": reads(csv(LONG.set_index(["model", "item"]), index=True)),
    "pivot table": reads(lambda _: PIVOT),
    "pivot table, as CSV": reads(csv(PIVOT, index=True)),
    **{f"columns in levels {names}, {corner}": reads(levelled(names, corner), TASKS)
       for names in (("task", "item"), (None, None)) for corner in ("model", None)},
    # A file for each system
    **{f"{place}: {names}": says("file-names", by_system(place, names), WANT.part(BY_NAME))
       for place, names in zip(
           ("{}.csv", "{}.csv.xz", "{}.json", "{}.jsonl", "{}.parquet", "{}/results.jsonl",
            "{}/results.json", "runs/{}/out.csv"),
           cycle((("id", "correct"), ("task_id", "reward"), ("item", "score"))), strict=False)},
    **{f"a row in a file for each system: {end}": says("file-names",
        written(*((f"{model}.{end}", text(CELLS.loc[[model]])) for model in MODELS)),
        WANT.part(BY_NAME)) for end, text in {
            "csv": csv, "parquet": lambda row: row.to_parquet(index=False),
            "json": lambda row: json.dumps(row.iloc[0].to_dict(), indent=1)}.items()},
    "a row in a file for each system and task": says("file-names", written(
        *((f"{model}/{task}.csv", csv(CELLS.loc[[model], names].set_axis(["1", "2"], axis=1)))
          for model in MODELS for task, names in (("gsm8k", ITEMS[:2]), ("arc", ITEMS[2:])))),
        TASKS.part(BY_NAME, [2, 3, 0, 1])),
    **{f"settings beside results: {end}": says("file-names|skipped-files", written(
        *((f"{model}/{name}.{end}", f"{json.dumps(row)}\n") for model in MODELS for name, row in (
            ("config", {"temperature": 0, "seed": 1}), ("results", CELLS.loc[model].to_dict())))),
        WANT.part(BY_NAME)) for end in ("json", "jsonl")},
    "files for each system without a header": refuses("no-header", written(
        *((f"{model}.csv", csv(rows[["item", "score"]], header=False))
          for model, rows in LONG.groupby("model")))),
    "long, without a header": refuses("no-header", csv(LONG, header=False)),
    "errors and seconds in a file for each system": asks("no-response-column", written(
        *((f"{model}.csv", csv(pd.DataFrame({"id": ITEMS, "error": 1 - CELLS.loc[model].to_numpy(),
                                             "latency": [1.5, 2, 0.5, 1]})))
          for model in MODELS)), WANT.part(BY_NAME), response="error", right=0, wrong=1),
    "rows in a file for each system": asks("repeated", written(
        *((f"{model}.csv", csv(CELLS.loc[[model, model]])) for model in MODELS)),
        DOUBLED.part(BY_NAME), repeats="count"),
    "errors in a file for each system": asks(
        "no-response-column", by_system("{}.csv", ("id", "error")),
        irtkit.ResponseMatrix(1 - VALUES, MODELS, ITEMS).part(BY_NAME),
        response="error", right=0, wrong=1),
    "trials in a file for each system": asks(
        "repeated", by_system("{}.json", ("task_id", "reward"), trial=[0, 1]),
        DOUBLED.part(BY_NAME), repeats="count"),
    # Trials
    "columns of counts": reads(LONG.assign(n_correct=2 * LONG["score"], n_samples=2)
                               .drop(columns="score"), DOUBLED),
    "counts beside marks": reads(LONG.assign(n_passed=5 * LONG["score"], total=7)),
    "columns of counts and their shares": reads(LONG.assign(
        n_correct=2 * LONG["score"], n_samples=2), DOUBLED),
    "columns of counts and their shares with commas": reads(LONG.assign(
        n_correct=2 * LONG["score"], n_samples=4, score=LONG["score"].map({0: "0", 1: "0,5"})),
        irtkit.ResponseMatrix.from_counts(2 * VALUES, np.full((6, 4), 4), MODELS, ITEMS)),
    **{f"days such as 2/6 in a column {name}": asks(code, WIDE.assign(
        **{name: ["2/6", "3/11", "1/5", "4/9", "5/5", "12/24"]}), ignore=[name])
       for name, code in (("date", "metadata-columns"), ("evaluated", "not-items"))},
    "ids of rows": says("orientation", CELLS.set_axis([*"ABCD"], axis=1)
        .set_axis([*"uvwxyz"]).reset_index(names="id"),
        irtkit.ResponseMatrix(VALUES, [*"uvwxyz"], [*"ABCD"])),
    "cells 2/2 beside 1 and 0": reads(COUNTED, BOTH),
    "cells 2/2 beside 1 and 0, without systems": reads(
        COUNTED[["q2", "q1", "q3", "q4"]], irtkit.ResponseMatrix.from_counts(
            BOTH.successes[:, [1, 0, 2, 3]], BOTH.trials[:, [1, 0, 2, 3]],
            items=["q2", "q1", "q3", "q4"])),
    "cells 2/2 beside 1 and 0, long": reads(COUNTED.melt("model", var_name="item"), BOTH),
    "cells 2/2 beside 1 and 0, in columns of items": reads(
        COUNTED.set_index("model").T.reset_index(names="item"), BOTH, transpose=True),
    **{f"cells 2/2 and {word}, {kind}": asks(
        "no-counts", table, irtkit.ResponseMatrix.from_counts(
            2 * np.maximum(HOLES, 0), 2 * (HOLES >= 0), MODELS, ITEMS), missing=word)
       for word in ("error", "#N/A") for kind, table in (
           ("wide", holed(word, "2/2", "0/2")),
           ("long", holed(word, "2/2", "0/2").melt("model", var_name="item")))},
    "cells 2/2 beside an accuracy": asks("not-items", marks("2/2", "0/2").assign(
        acc=[0.25, 0.5, 0.75, 0.5, 0.25, 0.1]), DOUBLED, ignore=["acc"]),
    "more right than trials": refuses("no-counts", csv(
        LONG[["model", "item"]].assign(n_correct=3, n_samples=2))),
    "cells 2/2": reads(LONG.assign(score=[f"{2 * mark}/2" for mark in LONG["score"]]), DOUBLED),
    "wide, cells 2/2": reads(marks("2/2", "0/2"), DOUBLED),
    "wide, cells 2/2 and missing": reads(holed("", "2/2", "0/2"), irtkit.ResponseMatrix.from_counts(
        2 * np.maximum(HOLES, 0), 2 * (HOLES >= 0), MODELS, ITEMS)),
    "systems by run": says("runs-named", RUNS, irtkit.ResponseMatrix(
        np.tile(VALUES, (2, 1)), RUNS["model"], ITEMS)),
    "systems by run, counted": reads(RUNS, DOUBLED, repeats="count"),
    "items by trial, counted": reads(pd.concat(
        [WIDE[["model"]], *(WIDE[ITEMS].add_suffix(f"_t{k}") for k in (0, 1))], axis=1), DOUBLED,
        repeats="count"),
    **{f"tasks in files: {names}": says("file-names", by_task(names),
        TASKS.part(BY_NAME, [2, 3, 0, 1])) for names in (
            "{0}/{1}.jsonl", "runs/{0}/{1}.csv", "{1}/{0}.jsonl")},
    "runs in files for each system": asks("repeated", written(
        *((f"{model}/run{k}.csv", csv(rows.drop(columns="model")))
          for k, table in enumerate((LONG, LONG_SECOND))
          for model, rows in table.groupby("model"))), TWICE.part(BY_NAME), repeats="count"),
    **{f"cells 2/2 in a {kind} file for each system": reads(written(
        *((f"{model}.csv", csv(rows.drop(columns=out))) for model, rows in table.groupby("model"))),
        DOUBLED.part(BY_NAME)) for kind, table, out in (
            ("wide", marks("2/2", "0/2"), []),
            ("long", LONG.assign(score=[f"{2 * mark}/2" for mark in LONG["score"]]), ["model"]))},
    **{f"votes: {names}": refuses("votes", f"{names}\ngpt,llama,{'1,0'[:2 * names.count(',') - 3]}")
       for names in ("model_a,model_b,winner", "model_a,model_b,winner_model_a,winner_tie",
                     "system_1,system_2,winner", "player_a,player_b,result",
                     "left,right,outcome")},
}  # fmt: skip
PARTS = [
    (name, part)
    for name, (_, _, given, _, _) in FORMS.items()
    for part in ("frame", "file")
    if part == "file" or isinstance(given, pd.DataFrame)
]


def read(given, **settings):
    """Matrix and codes of all warnings, which the source records too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        responses = irtkit.read_responses(given, **settings)
    codes = {one.message.code for one in caught}  # All are an IRTWarning.
    assert codes == {one.code for one in responses.source.findings if one.severity != "note"}
    return responses, codes


def plain(value):
    listed = value if isinstance(value, list | tuple) else [value]
    return sorted(str(one).removesuffix(".0") for one in listed)


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_a_form_is_read_right_or_asked_about(tmp_path, name, part):
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
        with pytest.raises(ReadingError) as refused:
            irtkit.read_responses(given)
        assert refused.value.finding.code == codes
        return
    responses, said = read(given, **settings)
    assert responses == want
    expected = {*codes.split("|")} if kind == "says" else set()
    assert said - {"file-names"} == expected - {"file-names"}
    if isinstance(given, Path) and (kind == "asks" or not settings) and "threshold" not in settings:
        proposed = overview(given).matrix
        assert proposed is None or proposed == want
    if name.startswith("tasks"):
        tasks = [item.split("/")[0] for item in responses.items]
        assert responses.item_table["task"].tolist() == tasks
