"""Logs of HELM, leaderboards, OpenML and harnesses that write one short format each."""

from __future__ import annotations

import csv
import html
import json
import math
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from irtkit.files import open_text
from irtkit.findings import failed
from irtkit.io.json_text import (
    Record,
    at,
    begins,
    companion,
    entries_of,
    fields_of,
    for_each,
    json_document,
    json_lines,
)
from irtkit.io.samples import (
    Described,
    Item,
    Measure,
    Samples,
    hash_of,
    metadata_of,
    name_of,
    named_by_file,
    score_of,
    text_of,
)
from irtkit.io.table_files import parquet_file

if TYPE_CHECKING:
    from pathlib import Path

_NOT_MARKS = re.compile(
    r"num_|training_|inference_|finish_reason_|batch_size|prompt_truncated|max_prob|logprob|"
    r"predicted_index|perplexity|bits_per_byte|logprob_per_byte"
)
"""Beginnings of the names of stats that HELM computes in every run (basic_metrics.py)."""
_FILE = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d:.\-]+)\.parquet")
_TIME = re.compile(r"\d{4}[-_]\d\d[-_]\d\dT[\d:._\-]+")
_METRICS = ("acc", "acc_norm", "mc1", "mc2", "em", "f1", "exact_match", "qem", "quasi_exact_match")
_COLUMNS = {"full_prompt", "example", "gold", "choices", "metrics", "doc", "metric", *_METRICS}
_DEFAULTS = {"arc": "acc_norm", "hellaswag": "acc_norm", "truthfulqa": "mc2"}
_ROWS_AT_ONCE = 100  # Prompts are long.
_ATTRIBUTE = re.compile(r"""'([^']+)'|"([^"]+)"|([^\s'"]\S*)""")
_USAGE = tuple(map(Measure, ("prompt_tokens", "completion_tokens", "total_tokens")))
_EFFORT = tuple(map(Measure, ("latencyMs", "cost", "total_tokens")))
_ERROR = 2  # ResultFailureReason.ERROR of promptfoo.
_ALL = "_allresults.json"
_REPORT = re.compile(r"(healthbench_(?:hard|consensus|meta)|[^_]+)_(.+?)(?:_(\d{8}_\d{6}))?")
_MESSAGE = re.compile(r'<div class="message (\w*)">.*?<pre>(.*?)</pre>', re.DOTALL)
_TARGET = re.compile(r"<p>Correct Answer: (.*?)</p>", re.DOTALL)
_SCORE = re.compile(r"<p>Score: (.*?)</p>")
_WORDS = {"True": 1.0, "False": 0.0, "None": None}


def read_helm(path: Path, described: Described) -> list[Samples]:
    """Read one run of HELM: ``per_instance_stats.json``.

    ``run_spec.json`` names the model, and ``instances.json`` has the texts. An entry holds the
    stats of one instance and train trial by one metric object, so an instance may have several
    entries. A stat without a count is missing. Perturbed instances are left out. Trials are
    repeats.
    https://github.com/stanford-crfm/helm, src/helm/benchmark/metrics/metric.py and runner.py
    """
    specification = companion(path.with_name("run_spec.json"))
    name = str(at(specification, "name") or path.absolute().parent.name)
    task, _, arguments = name.partition(":")
    model = "model"
    kept = []
    for pair in filter(None, arguments.split(",")):
        key, _, value = pair.partition("=")
        if key == "model":
            model = value
        elif key != "model_deployment":
            kept.append(pair)
    respondent = text_of(at(specification, "adapter_spec", "model")) or model
    task = ":".join(filter(None, (task, ",".join(kept))))
    samples = Samples(path, respondent, task, "per_instance_stats", described=described)
    instances: dict[str, Item] = {}
    for instance in entries_of(companion(path.with_name("instances.json"))):
        if at(instance, "perturbation") is not None:
            continue
        text = text_of(at(instance, "input", "text"))
        choices, right = list[str](), list[str]()
        for reference in entries_of(at(instance, "references")):
            answer = text_of(at(reference, "output", "text"))
            if answer is not None:
                choices.append(answer)
                right += [answer] if "correct" in entries_of(reference.get("tags")) else []
        target = text_of(right)
        content = None if text is None else f"{text}\0{target}"
        metadata = {"choices": " | ".join(choices)} if len(choices) > 1 else {}
        instances[str(at(instance, "id"))] = Item(content, text, target, metadata)
    seen: set[tuple[str, ...]] = set()

    def add(entry: Record) -> None:
        if entry.get("perturbation") is not None:
            return
        item = name_of(entry.get("instance_id"), "instance_id")
        described_item = instances.get(item, Item())
        position = samples.position(item, described_item.content, lambda _: described_item)
        trial = item, str(entry.get("train_trial_index"))
        samples.n_samples += trial not in seen
        seen.add(trial)
        for stat in entries_of(entry.get("stats")):
            metric = name_of(at(stat, "name", "name"), "the name of a stat")
            score = score_of(stat.get("mean")) if stat.get("count") else math.nan
            of_plain = at(stat, "name", "perturbation") is None
            if of_plain and score is not None and (*trial, metric) not in seen:
                seen.add((*trial, metric))
                samples.add(position, Measure(metric), score)

    for_each("entry", enumerate(json_document(path), start=1), add)
    samples.not_marks = frozenset(m for m in samples.scores if _NOT_MARKS.match(m.metric))
    return [samples]


def is_open_llm(path: Path) -> bool:
    """Whether a Parquet file has the columns of details."""
    try:
        with parquet_file(path) as file:
            names = set(file.schema_arrow.names)
    except ValueError:
        return False
    of_leaderboard = "full_prompt" in names and not names.isdisjoint({"metrics", *_METRICS})
    return of_leaderboard or names >= {"doc", "metric"}


def read_open_llm(path: Path, described: Described) -> list[Samples]:
    """Read Parquet of the Open LLM Leaderboard, first version, or of lighteval.

    The files lack an item id, and the order of their rows changed over time: a hash of the prompt
    names the item. Older files have the metrics as columns, later files in a struct ``metrics``,
    and lighteval has ``doc``, ``model_response`` and ``metric``. The default metric is the metric
    of the leaderboard: acc_norm for ARC and HellaSwag, mc2 (a share) for TruthfulQA, acc for other
    tasks. The model is in ``details_<org>__<model>/…`` or in ``details/<model>/<time>``.
    https://huggingface.co/open-llm-leaderboard-old, https://github.com/huggingface/lighteval
    """
    named = _FILE.fullmatch(path.name)
    task, written = named.groups() if named else (path.stem, "")
    folders = [folder for folder in path.absolute().parent.parts if not _TIME.fullmatch(folder)]
    models = [
        folder.removeprefix("details_") for folder in folders if folder.startswith("details_")
    ]
    respondent = (models or folders)[-1].replace("__", "/")
    if not models and "details" in folders[:-1]:  # details/<model>/<time>/<file>
        _, _, respondent = "/".join(folders).rpartition("/details/")
    task_name = task.replace("|", "/").strip()
    samples = Samples(path, respondent, task_name, "details", written, described=described)
    again: Counter[str] = Counter()
    with parquet_file(path) as file:
        columns = [name for name in file.schema_arrow.names if name in _COLUMNS]
        batches = file.iter_batches(_ROWS_AT_ONCE, columns=columns)
        for record in (record for batch in batches for record in batch.to_pylist()):
            doc = record["doc"] if isinstance(record.get("doc"), dict) else record
            prompt = record.get("full_prompt") or doc["query"]
            hashed = hash_of(prompt)
            again[hashed] += 1
            item = hashed if again[hashed] == 1 else f"{hashed}-{again[hashed]}"
            samples.n_samples += 1
            position = samples.position(item)
            text = text_of(record.get("example")) or text_of(prompt)
            gold = text_of(doc.get("gold_index", record.get("gold")))
            choices = metadata_of({"choices": doc.get("choices")})
            samples.items[item] = Item(None, text, gold, choices)
            marks = {name: record[name] for name in _METRICS if record.get(name) is not None}
            structs = (record.get("metrics"), record.get("metric"), marks)
            metrics = next(struct for struct in structs if isinstance(struct, dict))
            samples.add_marks(position, metrics)
    if "|" in task:
        default = next((metric for part, metric in _DEFAULTS.items() if part in task), "acc")
        samples.default = default if Measure(default) in samples.scores else None
    return [samples]


def read_openml(path: Path, described: Described) -> list[Samples]:
    """Read the predictions of an OpenML run, in ARFF.

    A row has the prediction for one row of a data set. Its column ``correct`` holds the true class
    and not 0 or 1: a response is right if both are equal. Repetitions of a cross-validation are
    repeats. The name of the file, or of its folder, is the name of the system.
    https://github.com/openml/openml-python (openml/runs/run.py),
    https://www.cs.waikato.ac.nz/ml/weka/arff.html
    """
    task = ""
    names = list[str]()
    with open_text(path) as text:
        stripped = enumerate(map(str.strip, text), start=1)
        lines = ((n, line) for n, line in stripped if line and not line.startswith("%"))
        for _, line in lines:
            word, _, rest = line.partition(" ")
            attribute = _ATTRIBUTE.match(rest.strip())
            kind = word.lower()
            if kind == "@data":
                break
            if kind == "@relation":
                task = re.sub(r"^openml_task_(\w+)_predictions$", r"\1", _cells(rest)[0])
            elif attribute:
                names += filter(None, attribute.groups())
        row = "row_id" if "row_id" in names else "rowid"
        wanted = (row, "prediction", "correct")
        if not set(wanted) <= set(names):
            raise ValueError(
                f"predictions of OpenML have the attributes {', '.join(wanted)}, and this file has "
                f"{', '.join(names) or 'none'}"
            )
        columns = [names.index(name) for name in wanted]
        system = named_by_file(path, "[._-]?predictions")
        samples = Samples(path, system, task, "ARFF", described=described)

        def add(line: str) -> None:
            cells = _cells(line)
            if len(cells) != len(names):
                raise ValueError(f"{len(cells)} cells in a table of {len(names)} columns")
            item, predicted, true = (cells[column] for column in columns)
            score = math.nan if "?" in {predicted, true} else float(predicted == true)
            samples.n_samples += 1
            position = samples.position(item, true, lambda _: Item(true, None, true))
            samples.add(position, Measure("correct"), score)

        for_each("line", lines, add)
    return [samples] if samples.n_samples else []


def _cells(line: str) -> list[str]:
    """Cells of a row, without their quotes."""
    quote = next((character for character in line if character in "'\""), '"')
    how: Any = {"quotechar": quote, "escapechar": "\\", "skipinitialspace": True, "strict": True}
    try:
        return [cell.strip() for row in csv.reader([line], **how) for cell in row]
    except csv.Error as error:
        raise ValueError(f"a quote is not closed, or not at the end of a cell: {error}") from error


def read_openai_evals(path: Path, _: Described) -> list[Samples]:
    """Read a log of OpenAI evals: a specification, events of samples and a final report.

    ``match`` events say what is right. Numbers in ``metrics`` events are further marks, and several
    events of a sample are repeats. A sample without a mark failed and is missing.
    https://github.com/openai/evals, evals/record.py and evals/base.py
    """
    records = json_lines(path)
    _number, first = next(records, (1, {}))
    spec = fields_of(first.get("spec"))
    system = ",".join(map(str, entries_of(spec.get("completion_fns"))))
    names = [str(spec.get(key) or "") for key in ("eval_name", "created_at", "run_id")]
    task, when, run = names
    samples = Samples(path, system, task, "record", when, run)
    samples.unfinished = "no final report"
    samples.not_marks = frozenset(_USAGE)
    marked: set[int] = set()

    def add(event: Record) -> None:
        if "final_report" in event:
            samples.unfinished = ""
            return
        item = name_of(event.get("sample_id"), "sample_id")
        item = item.removeprefix(f"{spec.get('base_eval')}.{spec.get('split')}.")
        position = samples.position(item)
        sample = samples.items[item]
        data = fields_of(event.get("data"))
        marks: Record = {}
        if event.get("type") == "sampling":
            samples.add_numbers(position, data.get("usage"), _USAGE)
            prompt = data.get("prompt")
            said = [at(message, "content") for message in entries_of(prompt)]
            sample = sample._replace(text=sample.text or text_of(said or prompt))
        elif event.get("type") == "match":
            sample = sample._replace(target=sample.target or text_of(data.get("expected")))
            marks = {"match": data.get("correct")}
        elif event.get("type") == "metrics":
            marks = data
        samples.items[item] = sample
        present = {name: value for name, value in marks.items() if value is not None}
        if samples.add_marks(position, present):
            marked.add(position)

    for_each("line", records, add)
    samples.n_samples = len(samples.items)
    samples.n_failed = samples.n_samples - len(marked)
    samples.default = "match" if Measure("match") in samples.scores else None
    return [samples] if samples.items else []


def read_promptfoo(path: Path, _: Described) -> list[Samples]:
    """Read the JSON file of ``promptfoo eval -o results.json``.

    The system is the provider, with the label of the prompt if it answers several. A hash of
    variables and assertions names the item, and equal tests are repeats. ``success`` is the
    default, other scores are further marks. A test that ended in an error is missing.
    https://github.com/promptfoo/promptfoo, src/types/index.ts and src/types/results.ts
    """
    document = json_document(path)
    results = fields_of(at(document, "results"))
    task = text_of(at(document, "config", "description")) or "promptfoo"
    written = str(results.get("timestamp") or "")
    run = str(at(document, "evalId") or "")
    prompts = {str(k): prompt for k, prompt in enumerate(entries_of(results.get("prompts")))}
    n_prompts = Counter(str(at(prompt, "provider")) for prompt in prompts.values())
    by_system: dict[str, Samples] = {}

    def add(record: Record) -> None:
        prompt = prompts.get(str(record.get("promptIdx")))
        system = name_of(at(prompt, "provider"), "provider")
        system += f", {at(prompt, 'label')}" if n_prompts[system] > 1 else ""
        samples = by_system.get(system)
        if samples is None:
            samples = by_system[system] = Samples(path, system, task, "3", written, run)
            samples.default = "success"
            samples.not_marks = frozenset(_EFFORT)
        case = record.get("testCase")
        test = [at(case, field) for field in ("vars", "assert", "description")]
        item = hash_of(json.dumps(test, sort_keys=True))
        position = samples.position(item)
        text = text_of(at(record, "prompt", "raw"))
        samples.items[item] = Item(None, text, None, metadata_of(at(case, "vars")))
        samples.n_samples += 1
        if record.get("failureReason") == _ERROR:
            samples.fail(record.get("error"))
            return
        marks = {field: record.get(field) for field in ("success", "score")}
        samples.add_marks(position, fields_of(record.get("namedScores")) | marks)
        effort = record | {"total_tokens": at(record, "tokenUsage", "total")}
        samples.add_numbers(position, effort, _EFFORT)

    for_each("test", enumerate(entries_of(results.get("results")), start=1), add)
    return list(by_system.values())


def read_livebench(path: Path, _: Described) -> list[Samples]:
    """Read ``ground_truth_judgment.jsonl`` of LiveBench, one line per question and model.

    The score is a share. If a question was judged again, the last line counts, as in LiveBench.
    https://github.com/LiveBench/LiveBench, livebench/gen_ground_truth_judgment.py
    """
    judged: dict[tuple[str, str], dict[str, Record]] = {}

    def add(record: Record) -> None:
        model, task, item = (name_of(record[key], key) for key in ("model", "task", "question_id"))
        judged.setdefault((model, task), {})[item] = record

    for_each("line", json_lines(path), add)
    runs = []
    for (model, task), records in judged.items():
        times = [score_of(record.get("tstamp")) or 0.0 for record in records.values()]
        when = datetime.fromtimestamp(max(times), UTC).isoformat()
        samples = Samples(path, model, task, "judgment", when)
        for item, record in records.items():
            facts = metadata_of({key: record.get(key) for key in ("category", "subtask")})
            samples.sample(item, "score", record.get("score"), Item(metadata=facts))
        runs.append(samples)
    return runs


def read_opencompass(path: Path, _: Described) -> list[Samples]:
    """Read ``<time>/results/<model>/<dataset>.json`` of OpenCompass, with details.

    ``correct`` says what is right, or ``is_correct`` or ``cascade_correct``. Later versions list
    all runs of a sample in one detail, which are repeats. A sample without a mark is missing.
    https://github.com/open-compass/opencompass, opencompass/tasks/openicl_eval.py
    """
    folder = path.absolute().parent
    task = named_by_file(path, "")
    details = at(json_document(path), "details")
    named = [(str(at(detail, "example_abbr")), detail) for detail in entries_of(details)]
    named += [(key, detail) for key, detail in fields_of(details).items() if key != "type"]
    if not named:
        raise failed("log-details")
    time = folder.parent.parent.name
    samples = Samples(path, folder.name, task, "results")
    samples.written = time if re.fullmatch(r"\d{8}_\d{6}", time) else ""
    for name, detail in named:
        prompts = _runs(detail, "prompt", "origin_prompt")
        answers = _runs(detail, "references", "answer", "refr", "gold")
        item = Item(None, text_of(prompts[0]), text_of(answers[0]))
        for mark in _runs(detail, "correct", "is_correct", "cascade_correct"):
            samples.sample(name.removeprefix(f"{task}_"), "correct", mark, item)
    return [samples]


def _runs(detail: Any, *keys: str) -> list[Any]:
    """What the first field that is there says of each run."""
    values = [detail[key] for key in keys if at(detail, key) is not None]
    value = values[0] if values else None
    return entries_of(value) or [value]


def read_simple_evals(path: Path, _: Described) -> list[Samples]:
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
        with open_text(path) as text:
            sections = text.read().split("<h3>Prompt conversation</h3>")[1:]
    for section in map(str, sections):
        *asked, (_role, answer) = _MESSAGE.findall(section) or [("", "")]
        of_user = [html.unescape(said) for role, said in asked if role == "user"]
        prompt = "\n".join(of_user)
        target = html.unescape("".join(_TARGET.findall(section)))
        (word,) = _SCORE.findall(section)[-1:] or ["None"]
        score = _WORDS[word] if word in _WORDS else float(word)
        item = Item(None, text_of(prompt), text_of(target))
        position = samples.sample(hash_of(prompt), "score", score, item)
        if html.unescape(answer) == "No response (bad request).":
            samples.errors.append(position)
    return [samples] if samples.n_samples else []


READERS: dict[str, tuple[Any, ...]] = {
    "helm": (begins(r'\[(?=.*"train_trial_index")(?=.*"stats")(?=.*"sum_squared")'), read_helm),
    "simple-evals": (
        begins(
            r"<!DOCTYPE html>(?=.*\.message\.assistant)|"
            rf'(?<={_ALL}\0)\{{\s*"score"\s*:[^{{}}"]*"metrics"\s*:\s*(?:\{{|null)'
        ),
        read_simple_evals,
    ),
    "openml": (begins(r"(?i:(?:%[^\n]*\n\s*)*+@relation\b)"), read_openml),
    "open-llm": (begins("PAR1"), read_open_llm, is_open_llm),
    "openai-evals": (begins(r'\{\s*"spec"\s*:\s*\{\s*"completion_fns"\s*:'), read_openai_evals),
    "promptfoo": (
        begins(r'\{\s*"evalId"[^,]*,\s*"results"\s*:\s*\{\s*"version"\s*:\s*3\b'),
        read_promptfoo,
    ),
    "livebench": (
        begins(r'\{"question_id":(?-s:.*"task":.*"model":.*"score":.*"tstamp":)'),
        read_livebench,
    ),
    "opencompass": (
        begins(r'\{(?=.*"details"\s*:\s*(?:\[\s*\{\s*"example_abbr"|\{\s*"(?:type|0)")\s*:)'),
        read_opencompass,
    ),
}
