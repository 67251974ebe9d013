"""Results of OpenCompass with details: ``<time>/results/<model>/<dataset>.json``.

``correct`` says what is right, or ``is_correct`` or ``cascade_correct``. Later versions list all
runs of a sample in one detail, which are repeats. A sample without a mark is missing.
https://github.com/open-compass/opencompass, opencompass/tasks/openicl_eval.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from irtkit.findings import failed
from irtkit.io.json_text import at, entries_of, fields_of, json_document
from irtkit.io.samples import Item, Known, Samples, named_by_file, text_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "opencompass"
_DETAILS = re.compile(rb'"details"\s*:\s*(?:\[\s*\{\s*"example_abbr"|\{\s*"(?:type|0)")\s*:')


def recognise(_: Path, head: bytes) -> bool:
    """Whether the file begins with totals, and details follow."""
    return head.lstrip().startswith(b"{") and _DETAILS.search(head) is not None


def read(path: Path, _: Known) -> list[Samples]:
    """Read the results of one model on one dataset."""
    folder, task = path.absolute().parent, named_by_file(path, "")
    details = at(json_document(path), "details")
    named = [(str(at(one, "example_abbr")), one) for one in entries_of(details)]
    named += [(key, one) for key, one in fields_of(details).items() if key != "type"]
    if not named:
        raise failed("log-details")
    time = folder.parent.parent.name
    time = time if re.fullmatch(r"\d{8}_\d{6}", time) else ""
    samples = Samples(path, NAME, "results", folder.name, task, time)
    for name, detail in named:
        text = text_of(_runs(detail, "prompt", "origin_prompt")[0])
        target = text_of(_runs(detail, "references", "answer", "refr", "gold")[0])
        for mark in _runs(detail, "correct", "is_correct", "cascade_correct"):
            samples.sample(name.removeprefix(f"{task}_"), "correct", mark, Item(None, text, target))
    return [samples]


def _runs(detail: Any, *keys: str) -> list[Any]:
    """What the first field that is there says of each run."""
    value = next((detail[key] for key in keys if at(detail, key) is not None), None)
    return entries_of(value) or [value]
