"""Logs of OpenAI evals, promptfoo, LiveBench, OpenCompass and OpenAI simple-evals."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from irtkit.files import open_bytes
from irtkit.findings import failed
from irtkit.io.json_text import (
    at,
    begins,
    entries_of,
    fields_of,
    for_each,
    json_document,
    json_lines,
    limited,
)
from irtkit.io.samples import (
    Item,
    Known,
    Measure,
    Samples,
    hash_of,
    metadata_of,
    name_of,
    named_by_file,
    score_of,
    text_of,
)

if TYPE_CHECKING:
    from pathlib import Path

_USAGE = tuple(map(Measure, ("prompt_tokens", "completion_tokens", "total_tokens")))
_EFFORT = tuple(map(Measure, ("latencyMs", "cost", "total_tokens")))
_ERROR = 2  # ResultFailureReason.ERROR of promptfoo.
_DETAILS = re.compile(rb'"details"\s*:\s*(?:\[\s*\{\s*"example_abbr"|\{\s*"(?:type|0)")\s*:')
_ALL = "_allresults.json"
_TOTALS = begins(rb'\s*\{\s*"score"\s*:[^{}"]*"metrics"\s*:\s*(?:\{|null)')
_REPORT = re.compile(r"(healthbench_(?:hard|consensus|meta)|[^_]+)_(.+?)(?:_(\d{8}_\d{6}))?")
_MESSAGE = re.compile(r'<div class="message (\w*)">.*?<pre>(.*?)</pre>', re.DOTALL)
_TARGET = re.compile(r"<p>Correct Answer: (.*?)</p>", re.DOTALL)
_SCORE = re.compile(r"<p>Score: (.*?)</p>")
_WORDS = {"True": 1.0, "False": 0.0, "None": None}

is_openai_evals = begins(rb'\s*\{\s*"spec"\s*:\s*\{\s*"completion_fns"\s*:')
is_promptfoo = begins(rb'\s*\{\s*"evalId"[^,]*,\s*"results"\s*:\s*\{\s*"version"\s*:\s*3\b')
is_livebench = begins(rb'\s*\{"question_id":.*"task":.*"model":.*"score":.*"tstamp":')


def read_openai_evals(path: Path, _: Known) -> list[Samples]:
    """Read a log of OpenAI evals: a specification, events of samples and a final report.

    ``match`` events say what is right. Numbers in ``metrics`` events are further marks, and several
    events of a sample are repeats. A sample without a mark failed and is missing.
    https://github.com/openai/evals, evals/record.py and evals/base.py
    """
    records = json_lines(path)
    spec = fields_of(next(records, (1, {}))[1].get("spec"))
    system = ",".join(map(str, entries_of(spec.get("completion_fns"))))
    task, when, run = (str(spec.get(key) or "") for key in ("eval_name", "created_at", "run_id"))
    samples = Samples(path, system, task, "record", when, run)
    samples.unfinished, samples.not_marks = "no final report", frozenset(_USAGE)
    marked: set[int] = set()

    def add(event: dict[str, Any]) -> None:
        if "final_report" in event:
            samples.unfinished = ""
            return
        item = name_of(event.get("sample_id"), "sample_id")
        item = item.removeprefix(f"{spec.get('base_eval')}.{spec.get('split')}.")
        position, kind, data = samples.position(item), event.get("type"), event.get("data")
        known, data = samples.items[item], fields_of(data)
        if kind == "sampling":
            samples.add_numbers(position, data.get("usage"), _USAGE)
            said = [at(each, "content") for each in entries_of(data.get("prompt"))]
            known = known._replace(text=known.text or text_of(said or data.get("prompt")))
        elif kind == "match":
            known = known._replace(target=known.target or text_of(data.get("expected")))
        samples.items[item] = known
        marks = {"match": data.get("correct")} if kind == "match" else data
        marks = {name: value for name, value in marks.items() if value is not None}
        if kind in {"match", "metrics"} and samples.add_marks(position, marks):
            marked.add(position)

    for_each("line", records, add)
    samples.n_samples = len(samples.items)
    samples.n_failed = samples.n_samples - len(marked)
    samples.default = "match" if Measure("match") in samples.scores else None
    return [samples] if samples.items else []


def read_promptfoo(path: Path, _: Known) -> list[Samples]:
    """Read the JSON file of ``promptfoo eval -o results.json``.

    The system is the provider, with the label of the prompt if it answers several. A hash of
    variables and assertions names the item, and equal tests are repeats. ``success`` is the
    default, other scores are further marks. A test that ended in an error is missing.
    https://github.com/promptfoo/promptfoo, src/types/index.ts and src/types/results.ts
    """
    document = json_document(path)
    results = fields_of(at(document, "results"))
    task = text_of(at(document, "config", "description")) or "promptfoo"
    written, run = str(results.get("timestamp") or ""), str(at(document, "evalId") or "")
    prompts = {str(k): one for k, one in enumerate(entries_of(results.get("prompts")))}
    n_prompts = Counter(str(at(prompt, "provider")) for prompt in prompts.values())
    found: dict[str, Samples] = {}

    def add(record: dict[str, Any]) -> None:
        prompt = prompts.get(str(record.get("promptIdx")))
        system = name_of(at(prompt, "provider"), "provider")
        system += f", {at(prompt, 'label')}" if n_prompts[system] > 1 else ""
        if system not in found:
            about = path, system, task, "3", written, run
            found[system] = Samples(*about, default="success", not_marks=frozenset(_EFFORT))
        samples, case = found[system], record.get("testCase")
        test = [at(case, field) for field in ("vars", "assert", "description")]
        item = hash_of(json.dumps(test, sort_keys=True))
        position = samples.position(item)
        text = text_of(at(record, "prompt", "raw"))
        samples.items[item] = Item(None, text, None, metadata_of(at(case, "vars")))
        samples.n_samples += 1
        if record.get("failureReason") == _ERROR:
            samples.n_failed += 1
            return
        marks = {field: record.get(field) for field in ("success", "score")}
        samples.add_marks(position, fields_of(record.get("namedScores")) | marks)
        effort = record | {"total_tokens": at(record, "tokenUsage", "total")}
        samples.add_numbers(position, effort, _EFFORT)

    for_each("test", enumerate(entries_of(results.get("results")), start=1), add)
    return list(found.values())


def read_livebench(path: Path, _: Known) -> list[Samples]:
    """Read ``ground_truth_judgment.jsonl`` of LiveBench, one line per question and model.

    The score is a share. If a question was judged again, the last line counts, as in LiveBench.
    https://github.com/LiveBench/LiveBench, livebench/gen_ground_truth_judgment.py
    """
    judged: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    def add(record: dict[str, Any]) -> None:
        model, task, item = (name_of(record[key], key) for key in ("model", "task", "question_id"))
        judged.setdefault((model, task), {})[item] = record

    for_each("line", json_lines(path), add)
    found = []
    for key, records in judged.items():
        latest = max(score_of(record.get("tstamp")) or 0.0 for record in records.values())
        when = datetime.fromtimestamp(latest, UTC).isoformat()
        found.append(samples := Samples(path, *key, "judgment", when))
        for item, record in records.items():
            about = metadata_of({key: record.get(key) for key in ("category", "subtask")})
            samples.sample(item, "score", record.get("score"), Item(metadata=about))
    return found


def is_opencompass(_: Path, head: bytes) -> bool:
    """Whether the file begins with totals, and details follow."""
    return head.lstrip().startswith(b"{") and _DETAILS.search(head) is not None


def read_opencompass(path: Path, _: Known) -> list[Samples]:
    """Read ``<time>/results/<model>/<dataset>.json`` of OpenCompass, with details.

    ``correct`` says what is right, or ``is_correct`` or ``cascade_correct``. Later versions list
    all runs of a sample in one detail, which are repeats. A sample without a mark is missing.
    https://github.com/open-compass/opencompass, opencompass/tasks/openicl_eval.py
    """
    folder, task = path.absolute().parent, named_by_file(path, "")
    details = at(json_document(path), "details")
    named = [(str(at(one, "example_abbr")), one) for one in entries_of(details)]
    named += [(key, one) for key, one in fields_of(details).items() if key != "type"]
    if not named:
        raise failed("log-details")
    time = folder.parent.parent.name
    samples = Samples(path, folder.name, task, "results")
    samples.written = time if re.fullmatch(r"\d{8}_\d{6}", time) else ""
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


def is_simple_evals(path: Path, head: bytes) -> bool:
    """Whether the file begins as a report, or as all results of a run."""
    page = head.lstrip().startswith(b"<!DOCTYPE html>") and b".message.assistant" in head
    return page or (path.name.endswith(_ALL) and _TOTALS(path, head))


def is_beside_simple_evals(path: Path) -> bool:
    """Whether all results are beside the report or the totals."""
    return path.suffix in {".html", ".json"} and path.with_name(f"{path.stem}{_ALL}").exists()


def read_simple_evals(path: Path, _: Known) -> list[Samples]:
    """Read ``<eval>_<model>.html`` or ``…_allresults.json`` of OpenAI simple-evals.

    Both hold a section with prompt, answer and score for each sample. A hash of the prompt names
    the item, and the same prompt again is a repeat. A refused request is marked as wrong.
    https://github.com/openai/simple-evals, common.py and simple_evals.py
    """
    stem = named_by_file(path, "(_DEBUG)?(_allresults)?")
    named = _REPORT.fullmatch(stem)
    task, respondent, written = named.groups("") if named else ("simple-evals", stem, "")
    samples = Samples(path, respondent, task, "report", written)
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
