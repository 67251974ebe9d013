"""Details of the Open LLM Leaderboard, first version, and of lighteval: Parquet.

The files have no id of an item, and their rows changed places over time: an item goes by a hash
of its prompt. Older files have the metrics as columns, later ones in a struct ``metrics``;
lighteval has ``doc``, ``model_response`` and ``metric``. Unasked the metric is the leaderboard's
own: acc_norm for ARC and HellaSwag, mc2 (a share, which needs a threshold) for TruthfulQA, acc
otherwise.
https://huggingface.co/open-llm-leaderboard-old; https://github.com/huggingface/lighteval
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from irtkit.io import parquet
from irtkit.io.samples import Item, Known, Measure, Samples, metadata_of, score_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "open-llm"
_FILE = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d:.\-]+)\.parquet")
_TIME = re.compile(r"\d{4}[-_]\d\d[-_]\d\dT[\d:._\-]+")
_METRICS = ("acc", "acc_norm", "mc1", "mc2", "em", "f1", "exact_match", "qem", "quasi_exact_match")
_COLUMNS = {"full_prompt", "example", "gold", "choices", "metrics", "doc", "metric", *_METRICS}
_HASHED = 16
"""Hexadecimal digits of an item's name: two of a million prompts agree with probability 3e-8."""
_ROWS_AT_ONCE = 100
"""Rows in memory at once: prompts are long, and may be written once for many rows."""
_MOST_ROWS = 10**7
_MOST_CHARACTERS = 2**30
"""Of all prompts: a hundred thousand of 10,000 characters each. A dictionary may repeat one."""


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file is Parquet with the columns of details."""
    if not head.startswith(parquet.MAGIC):
        return False
    try:
        with parquet.opened(path) as file:
            names = set(file.schema_arrow.names)
    except ValueError:
        return False
    return names >= {"doc", "metric"} or (
        "full_prompt" in names and bool(names & {"metrics", *_METRICS})
    )


def read(path: Path, known: Known = ()) -> list[Samples]:
    """Read the details of one system and task."""
    named = _FILE.fullmatch(path.name)
    task, written = named.groups() if named else (path.stem, "")
    name = task.replace("|", "/").strip()
    samples = Samples(path, NAME, "details", _respondent(path), name, written, known=known)
    samples.default = _default(task)
    again: dict[str, int] = {}
    n_characters = 0
    for record in _records(path):
        doc = record["doc"] if isinstance(record.get("doc"), dict) else record
        prompt = record.get("full_prompt") or doc.get("query")
        if not isinstance(prompt, str):
            raise ValueError(f"row {samples.n_samples + 1} has no prompt")
        n_characters += len(prompt)
        if n_characters > _MOST_CHARACTERS:
            raise ValueError(f"the prompts hold more than {_MOST_CHARACTERS >> 20} Mi characters")
        hashed = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:_HASHED]
        again[hashed] = again.get(hashed, 0) + 1
        item = hashed if again[hashed] == 1 else f"{hashed}-{again[hashed]}"
        samples.n_samples += 1
        position = samples.position(item, None, _describe, (prompt, record, doc))
        samples.items[item] = samples.items.get(hashed, samples.items[item])  # one text for all
        for metric, value in _metrics(record):
            score = score_of(value)
            if score is not None:
                samples.add(position, Measure(metric), score)
    if samples.default not in {measure.metric for measure in samples.scores}:
        samples.default = None
    return [samples]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with parquet.opened(path) as file:
        if file.metadata.num_rows > _MOST_ROWS:
            raise ValueError(f"the file says that it has {file.metadata.num_rows:,} rows")
        columns = [name for name in file.schema_arrow.names if name in _COLUMNS]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()


def _metrics(record: dict[str, Any]) -> list[tuple[str, Any]]:
    for name in ("metrics", "metric"):
        if isinstance(record.get(name), dict):
            return list(record[name].items())
    return [(name, record[name]) for name in _METRICS if record.get(name) is not None]


def _describe(found: tuple[str, dict[str, Any], dict[str, Any]]) -> Item:
    prompt, record, doc = found
    gold = doc.get("gold_index", record.get("gold"))
    metadata = metadata_of({"choices": doc.get("choices")})
    return Item(None, text_of(record.get("example")) or text_of(prompt), text_of(gold), metadata)


def _default(task: str) -> str | None:
    """Return the metric that the leaderboard ranked by."""
    if "|" not in task:
        return None
    by_task = {"arc": "acc_norm", "hellaswag": "acc_norm", "truthfulqa": "mc2"}
    return next((metric for name, metric in by_task.items() if name in task), "acc")


def _respondent(path: Path) -> str:
    """Model in ``details_<org>__<model>/…/<file>``, or in ``details/<model>/<time>/<file>``."""
    folders = [folder for folder in path.absolute().parent.parts if not _TIME.fullmatch(folder)]
    for folder in reversed(folders):
        if folder.startswith("details_"):
            return folder.removeprefix("details_").replace("__", "/")
    if "details" in folders[:-1]:
        last = len(folders) - folders[::-1].index("details")
        return "/".join(folders[last:])
    return folders[-1].replace("__", "/")
