"""Details of the Open LLM Leaderboard, first version, and of lighteval: Parquet.

The files have no item id, and the order of their rows changed over time: a hash of the prompt names
the item. Older files have the metrics as columns, later files in a struct ``metrics``, and
lighteval has ``doc``, ``model_response`` and ``metric``. The default metric is the metric of the
leaderboard: acc_norm for ARC and HellaSwag, mc2 (a share) for TruthfulQA, acc for other tasks.
https://huggingface.co/open-llm-leaderboard-old; https://github.com/huggingface/lighteval
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from irtkit.io import table_files
from irtkit.io.samples import Item, Known, Measure, Samples, hash_of, metadata_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d:.\-]+)\.parquet")
_TIME = re.compile(r"\d{4}[-_]\d\d[-_]\d\dT[\d:._\-]+")
_METRICS = ("acc", "acc_norm", "mc1", "mc2", "em", "f1", "exact_match", "qem", "quasi_exact_match")
_COLUMNS = {"full_prompt", "example", "gold", "choices", "metrics", "doc", "metric", *_METRICS}
_DEFAULTS = {"arc": "acc_norm", "hellaswag": "acc_norm", "truthfulqa": "mc2"}
_ROWS_AT_ONCE = 100  # Prompts are long.
_MOST_CHARACTERS = 2**30  # Of all prompts: a Parquet dictionary may repeat one for many rows.


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file is Parquet with the columns of details."""
    if not head.startswith(table_files.MAGIC):
        return False
    try:
        names = set(table_files.schema_of(path)[0].names)
    except ValueError:
        return False
    of_leaderboard = "full_prompt" in names and not names.isdisjoint({"metrics", *_METRICS})
    return of_leaderboard or names >= {"doc", "metric"}


def read(path: Path, known: Known) -> list[Samples]:
    """Read the details of one system and task."""
    named = _FILE.fullmatch(path.name)
    task, written = named.groups() if named else (path.stem, "")
    about = _respondent(path), task.replace("|", "/").strip(), "details", written
    samples = Samples(path, *about, known=known)
    again: Counter[str] = Counter()
    n_characters = 0
    for record in _records(path):
        doc = record["doc"] if isinstance(record.get("doc"), dict) else record
        prompt = record.get("full_prompt") or doc.get("query")
        if not isinstance(prompt, str):
            raise ValueError(f"row {samples.n_samples + 1} has no prompt")
        n_characters += len(prompt)
        if n_characters > _MOST_CHARACTERS:
            raise ValueError(f"the prompts hold more than {_MOST_CHARACTERS >> 20} Mi characters")
        hashed = hash_of(prompt)
        again[hashed] += 1
        item = hashed if again[hashed] == 1 else f"{hashed}-{again[hashed]}"
        samples.n_samples += 1
        position = samples.position(item, None, _describe, (prompt, record, doc))
        marks = {name: record[name] for name in _METRICS if record.get(name) is not None}
        structs = (record.get("metrics"), record.get("metric"), marks)
        samples.add_marks(position, next(one for one in structs if isinstance(one, dict)))
    if "|" in task:
        default = next((metric for part, metric in _DEFAULTS.items() if part in task), "acc")
        samples.default = default if Measure(default) in samples.scores else None
    return [samples]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with table_files.opened(path) as file:
        columns = [name for name in file.schema_arrow.names if name in _COLUMNS]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()


def _describe(found: tuple[str, dict[str, Any], dict[str, Any]]) -> Item:
    prompt, record, doc = found
    gold = doc.get("gold_index", record.get("gold"))
    metadata = metadata_of({"choices": doc.get("choices")})
    return Item(None, text_of(record.get("example")) or text_of(prompt), text_of(gold), metadata)


def _respondent(path: Path) -> str:
    """Model in ``details_<org>__<model>/…/<file>``, or in ``details/<model>/<time>/<file>``."""
    folders = [folder for folder in path.absolute().parent.parts if not _TIME.fullmatch(folder)]
    named = [folder.removeprefix("details_") for folder in folders if folder.startswith("details_")]
    if not named and "details" in folders[:-1]:
        return "/".join(folders).rpartition("/details/")[2]
    return (named or folders)[-1].replace("__", "/")
