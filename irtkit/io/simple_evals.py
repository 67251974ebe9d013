"""Reports of OpenAI simple-evals: ``<eval>_<model>.html`` or ``…_allresults.json``.

Both hold a section with prompt, answer and score for each sample. A hash of the prompt names the
item, and the same prompt again is a repeat. A refused request is marked as wrong.
https://github.com/openai/simple-evals, common.py and simple_evals.py
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from irtkit.files import open_bytes
from irtkit.io.json_text import at, begins, entries_of, json_document, limited
from irtkit.io.samples import Item, Known, Samples, hash_of, named_by_file, text_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "simple-evals"
_ALL = "_allresults.json"
_TOTALS = begins(rb'\s*\{\s*"score"\s*:[^{}"]*"metrics"\s*:\s*(?:\{|null)')
_FILE = re.compile(r"(healthbench_(?:hard|consensus|meta)|[^_]+)_(.+?)(?:_(\d{8}_\d{6}))?")
_MESSAGE = re.compile(r'<div class="message (\w*)">.*?<pre>(.*?)</pre>', re.DOTALL)
_TARGET = re.compile(r"<p>Correct Answer: (.*?)</p>", re.DOTALL)
_SCORE = re.compile(r"<p>Score: (.*?)</p>")
_WORDS = {"True": 1.0, "False": 0.0, "None": None}


def recognise(path: Path, head: bytes) -> bool:
    """Whether the file begins as a report, or as all results of a run."""
    page = head.lstrip().startswith(b"<!DOCTYPE html>") and b".message.assistant" in head
    return page or (path.name.endswith(_ALL) and _TOTALS(path, head))


def is_companion(path: Path) -> bool:
    """Whether all results are beside the report or the totals."""
    return path.suffix in {".html", ".json"} and path.with_name(f"{path.stem}{_ALL}").exists()


def read(path: Path, _: Known) -> list[Samples]:
    """Read the report of one run."""
    stem = named_by_file(path, "(_DEBUG)?(_allresults)?")
    named = _FILE.fullmatch(stem)
    task, respondent, written = named.groups("") if named else (NAME, stem, "")
    samples = Samples(path, NAME, "report", respondent, task, written)
    if path.name.endswith(_ALL):
        sections = entries_of(at(json_document(path), "htmls"))
    else:
        with open_bytes(path) as handle:
            page = limited(handle, "the file").decode()
        sections = page.split("<h3>Prompt conversation</h3>")[1:]
    for section in map(str, sections):
        *asked, (_role, answer) = _MESSAGE.findall(section) or [("", "")]
        prompt = "\n".join(html.unescape(said) for role, said in asked if role == "user")
        target = html.unescape("".join(_TARGET.findall(section)))
        (word,) = _SCORE.findall(section)[-1:] or ["None"]
        score = _WORDS[word] if word in _WORDS else float(word)
        item = Item(None, text_of(prompt), text_of(target))
        position = samples.sample(hash_of(prompt), "score", score, item)
        if html.unescape(answer) == "No response (bad request).":
            samples.errors.append(position)
    return [samples] if samples.n_samples else []
