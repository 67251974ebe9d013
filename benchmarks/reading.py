"""Reading: time and memory of logs and long tables, damaged logs, and the page of a report.

`read_logs`: files of JSON lines as harnesses write them, read in a fresh process. `read_long`: a
row each, in an order without any system, beside pyarrow, which is the floor of any reader and is
left out above ten million rows. `fuzzed_logs`: logs of every format, damaged. The outcome must be a
valid response matrix or a ValueError; anything else is a failure, and so is more than five seconds.
The address space is limited. `report_page`: the whole command in a fresh process, then the page in
Chromium, headless, with the window of a laptop.
"""

import io
import json
import resource
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from machine import ROOT, part, peak_mib
from simulated import items_of
from study import means, run

import irtkit
from irtkit.io.overview import overview
from irtkit.io.table_files import MAGIC

WRITERS = ROOT / "tests" / "io" / "conftest.py"
FILLED = "x" * 250
"""Added to the prompt and to the answer, so that a line is as long as those of real logs."""


def sample(form, system, item, make):
    """One sample of a format."""
    right = (item * (system + 7)) % 10 < system % 10
    if form == "lm-eval":
        prompt = {"gen_args_0": {"arg_0": f"Q: {item} + 1?\n{FILLED}", "arg_1": {"until": ["\n"]}}}
        mark = {"exact_match": float(right), "resps": [[FILLED]], "arguments": prompt}
        return make["lm_eval_record"](item, doc_hash=f"{item:064x}", **mark)
    evaluation = {"score": float(right), "is_correct": right}
    about = {"model_id": f"org/{system}", "sample_hash": f"{item:064x}", "evaluation": evaluation}
    asked = {"raw": f"{item} + 1?\n{FILLED}", "reference": [str(item + 1)]}
    texts = {"input": asked, "output": {"raw": [FILLED]}}
    tokens = {"input_tokens": 100 + item, "output_tokens": item % 700, "total_tokens": 900 + item}
    effort = {"token_usage": tokens, "performance": {"latency_ms": 12.5 * (item % 90)}}
    return make["every_eval_ever_record"](f"item-{item}", **about, **texts, **effort)


def write_logs(folder, form, systems, items):
    """Write the logs of all systems."""
    make = runpy.run_path(str(WRITERS))
    name = {"lm-eval": f"samples_sums_{make['TIME']}.jsonl", "every-eval-ever": "x_samples.jsonl"}
    for system in range(systems):
        place = folder / f"org__{system}"
        place.mkdir()
        with (place / name[form]).open("w", encoding="utf-8") as text:
            for item in range(items):
                text.write(json.dumps(sample(form, system, item, make)) + "\n")


def read_folder(name, form):
    """Read a folder in this process, and parse its lines."""
    import pandas as pd

    folder = Path(name)
    _ = pd.DataFrame()  # loading a package is no reading
    start = time.process_time()
    responses = irtkit.read_responses(folder)
    seconds = time.process_time() - start
    peak = peak_mib()
    lines = next(folder.rglob("*.jsonl")).read_text(encoding="utf-8").splitlines()
    start = time.process_time()
    for line in lines:
        json.loads(line)
    parsing = time.process_time() - start
    samples = responses.n_respondents * responses.n_items
    return {
        "format": form,
        "systems": responses.n_respondents,
        "items": responses.n_items,
        "cpu_seconds": round(seconds, 2),
        "microseconds_per_sample": round(1e6 * seconds / samples, 2),
        "microseconds_of_json": round(1e6 * parsing / responses.n_items, 2),
        "peak_mib": round(peak),
    }


def fresh(measure, *words):
    """What a function of this script measures in a fresh process, which may run no other code."""
    code = "import sys, json, machine, reading; machine.note_files(); print(json.dumps("
    code += f"reading.{measure}(*sys.argv[1:])))"
    here = Path(__file__).parent
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=here)
    return json.loads(done.stdout)


def read_logs(systems=100, items=10000):
    """A million samples of logs."""

    def record(form):
        with tempfile.TemporaryDirectory() as name:
            write_logs(Path(name), form, systems, items)
            return fresh("read_folder", name, form)

    return {"records": map(record, part(("lm-eval", "every-eval-ever"), 0))}


COLUMNS = ["model", "item", "correct"]
_AT_ONCE = 2**20
"""Rows that are written at a time, which are a row group of Parquet."""
_STEP = 7_368_787
"""Row k is cell k times this, modulo the cells: a prime, so that every cell comes once."""
_MOST_OF_PYARROW = 10**7


def write_table(path, systems, items):
    """Write a long table with a row for every cell."""
    n = systems * items
    names = [pa.array([f"org/model-{k}" for k in range(systems)])]
    names.append(pa.array([f"task/item-{k}" for k in range(items)]))
    schema = pa.schema({"model": pa.string(), "item": pa.string(), "correct": pa.int8()})
    generator = np.random.default_rng(0)
    with ExitStack() as stack:
        if path.suffix == ".csv":
            file = stack.enter_context(path.open("wb"))
            file.write(f"{','.join(COLUMNS)}\n".encode())
            plain = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
            writer = stack.enter_context(pyarrow.csv.CSVWriter(file, schema, write_options=plain))
        else:
            writer = stack.enter_context(pyarrow.parquet.ParquetWriter(path, schema))
        for start in range(0, n, _AT_ONCE):
            cells = np.arange(start, min(start + _AT_ONCE, n)) * _STEP % n
            right = pa.array(generator.integers(0, 2, len(cells), dtype=np.int8))
            places = zip(names, np.divmod(cells, items), strict=True)
            labels = [name.take(pa.array(at)) for name, at in places]
            writer.write_table(pa.table([*labels, right], schema=schema))


def read_table(name, reader):
    """Read a table in this process: seconds, of the clock and of the processors, and the peak."""
    import pandas as pd
    from scipy import sparse

    path = Path(name)
    _ = pd.DataFrame(), sparse.csr_array((1, 1))  # loading a package is no reading
    wall, cpu = time.perf_counter(), time.process_time()
    if reader == "irtkit":
        irtkit.read_responses(path)
    elif path.suffix == ".csv":
        pyarrow.csv.read_csv(path)
    else:
        pyarrow.parquet.read_table(path, columns=COLUMNS)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"seconds": wall, "cpu_seconds": cpu, "peak_mib": peak_mib()}


def compare(systems, items, form, rounds):
    """Write a table and read it with irtkit, and pyarrow if it is not too large; a record each."""
    n = systems * items
    readers = ["pyarrow", "irtkit"] if n <= _MOST_OF_PYARROW else ["irtkit"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"long.{form}")
        write_table(path, systems, items)
        measured = {reader: [] for reader in readers}
        for _ in range(rounds if len(readers) > 1 else 1):
            for reader, figures in measured.items():
                figures.append(fresh("read_table", str(path), reader))
    for reader, figures in measured.items():
        least = {name: round(min(row[name] for row in figures), 5) for name in figures[0]}
        yield {"rows": n, "items": items, "form": form, "reader": reader, **least}


def read_long(systems=1000, rounds=5):
    """Long tables of up to a hundred million rows."""
    sizes = part([1000, 10_000, 100_000], 0)
    cases = [(items, "parquet") for items in sizes]
    cases += [(items, "csv") for items in sizes if systems * items <= _MOST_OF_PYARROW]
    return {"records": chain.from_iterable(compare(systems, *case, rounds) for case in cases)}


SAMPLES = ROOT.parent / "shared" / "samples"
SECONDS = 5.0
ADDRESS_SPACE = 2 * 2**30
WORDS = [
    *(b"null", b"true", b"-1", b"1e999", b'""', b"[]", b"{}", b"NaN", b"0.5", b"\0"),
    *(b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"9" * 5000, b"[" * 3000, b'{"a":' * 500, b"'"),
    *(b"../../x", b"PK\x03\x04", b"PK\x01\x02", b"PAR1", b"@data", b"?", b" " * 1000),
]
VALUES = [
    *(None, True, -1, 1e308, 0.5, "", " ", "C", "a\0b", "x" * 10_000),
    *([], {}, [[]], [None], {"a": None}, {"": []}, ["C", 1], float("nan"), float("inf")),
]


def logs_of_the_tests(folder):
    """Write the logs that the tests of the readers write."""
    module = runpy.run_path(str(ROOT / "tests" / "io" / "conftest.py"))
    written = [ROOT / "tests" / "data" / "py_irt_minitest.jsonlines"]
    for name, write in module["WRITERS"].items():
        (folder / name).mkdir()
        written.append(write(folder / name))
    return [*written, module["write_submission"](folder)]


def logs_of_writers():
    """Logs by their own writers: those that are carried, and those of others that are there."""
    endings = ("*.eval", "*.json", "*.jsonl", "*.jsonlines", "*.arff")
    folders = (ROOT / "tests" / "data" / "logs", SAMPLES)
    found = [path for folder in folders for ending in endings for path in folder.rglob(ending)]
    beside = {"scenario_state.json", "display_requests.json", "scenario.json"}
    return sorted(path for path in found if path.name not in beside)


def damaged_bytes(content, draw):
    """Change a few places of some bytes."""
    data = bytearray(content)
    for _ in range(int(draw.integers(1, 5))):
        one, other = sorted(int(k) for k in draw.integers(0, len(data) + 1, 2))
        end = min(other, one + int(draw.integers(1, 40)))
        kind = draw.integers(7)
        if kind < 3:
            data[one:end] = (b"", 2 * data[one:end], draw.bytes(end - one))[kind]
        elif kind < 5:
            data[one : one if kind == 3 else end] = WORDS[draw.integers(len(WORDS))]
        elif kind == 5:
            del data[one + int(draw.integers(1 + len(data) - one)) :]
        else:
            data[one:one], data[other:end] = data[other : other + 20], b""
        if not data:
            break
    return bytes(data)


def damaged_value(value, draw):
    """Replace, leave out or double one value somewhere in what JSON holds."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = list(value)[draw.integers(len(value))]
        if draw.random() < 0.1:
            return {name: one for name, one in value.items() if name != key}
        return value | {key: damaged_value(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = int(draw.integers(len(value)))
        changed = [damaged_value(value[at], draw)] * int(draw.integers(1, 3))
        return [*value[:at], *changed, *value[at + 1 :]]
    return VALUES[draw.integers(len(VALUES))]


def damaged_json(content, draw):
    """Replace values in a document or in some of its lines; bytes where it is no JSON."""
    try:
        return json.dumps(damaged_value(json.loads(content), draw)).encode()
    except ValueError:
        pass
    lines = content.splitlines()
    try:
        at = int(draw.integers(len(lines)))
        lines[at] = json.dumps(damaged_value(json.loads(lines[at]), draw)).encode()
    except ValueError:
        return damaged_bytes(content, draw)
    return b"\n".join(lines)


def damaged(content, draw):
    """Damage a log in one of the ways: its bytes, its JSON, or the members of an archive."""
    if content.startswith(MAGIC) or draw.random() < 0.4:
        return damaged_bytes(content, draw)
    if not content.startswith(b"PK"):
        return damaged_json(content, draw)
    packed = io.BytesIO()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(packed, "w") as archive:
        for member in given.infolist():
            if member.compress_type not in methods:
                return damaged_bytes(content, draw)
            inside = given.read(member)
            if "summaries" in member.filename or draw.random() < 0.3:
                inside = (damaged_json, damaged_bytes)[draw.integers(2)](inside, draw)
            if draw.random() < 0.95:
                archive.writestr(member.filename, inside, methods[int(draw.integers(3))])
    return packed.getvalue()


def fault_of(path, draw):
    """What is wrong with the outcome of reading a file; None where it is a matrix, "" an error."""
    repeats = ("error", "count", "first", "last", "mean>=0.5")
    settings = {"repeats": repeats[draw.integers(5)]}
    if not path.name.endswith(".jsonlines"):
        settings["errors"] = (None, "missing")[draw.integers(2)]
    settings["threshold"] = (None, 0.5)[draw.integers(2)]
    try:
        seen = overview(path)
        if not seen.command:
            return ""
        chosen = seen.settings.keys() & {"metric", "filter"}
        settings |= {name: seen.settings[name] for name in chosen}
        responses = irtkit.read_responses(path, **settings)
    except ValueError:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
        return f"{type(error).__name__}: {error}"[:200]
    return None if is_valid(responses) else f"no valid matrix: {responses!r}"


def is_valid(responses):
    """Whether labels and cells are as they must be."""
    labels = (responses.respondents, responses.items)
    named = all(label.strip() and label.encode() for each in labels for label in each)
    right, tried = responses.successes, responses.trials
    unique = all(len(set(each)) == len(each) for each in labels)
    return bool(named and unique and (right <= tried).all() and tried.any())


def outcome(log, number, seed, folder):
    """Damage a log in one way, but for the first, and read it: a matrix, an error or a failure."""
    draw = np.random.default_rng([number, seed])
    path = folder / log.parent.name / log.name  # a submission goes by its folder as well
    path.parent.mkdir(exist_ok=True)
    content = log.read_bytes()
    path.write_bytes(damaged(content, draw) if seed else content)
    start = time.process_time()
    fault = fault_of(path, draw)
    seconds = time.process_time() - start
    failed = bool(fault) or seconds > SECONDS
    if failed:
        print(f"{log.name} seed {seed}: {fault or f'{seconds:.1f} s'}", flush=True)
    return {"matrix": fault is None, "error": fault is not None, "failures": failed}


def fuzzed_logs(damages=2000):
    """Damaged logs, so many of every format, and fewer of those that others wrote."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    totals = ("matrix", "error", "failures")
    records = []
    with tempfile.TemporaryDirectory() as name:
        written = Path(name, "written")
        written.mkdir()
        of_tests, of_writers = part(logs_of_the_tests(written), 0), part(logs_of_writers())
        for logs, n in ((of_tests, damages), (of_writers, max(damages // 10, 1))):
            for number, log in enumerate(logs):
                rows = [outcome(log, number, seed, Path(name)) for seed in range(n)]
                records.append({"log": log.name, "damages": n, **means(rows, totals)})
    return {"records": records}


_SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
_MEASURE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const timed = async (work) => {
    await frame();
    const start = performance.now();
    work();
    await frame();
    return performance.now() - start;
  };
  const svg = document.querySelector("#map svg[data-map]");
  svg.scrollIntoView({behavior: "instant"});
  for (let k = 0; k < 20; k += 1) await frame();
  const box = svg.getBoundingClientRect();
  const send = (name, k) => svg.dispatchEvent(new PointerEvent(name, {bubbles: true,
    clientX: box.left + box.width * (0.12 + 0.0285 * (k % 30)),
    clientY: box.top + box.height * (0.1 + 0.02 * ((7 * k) % 35))}));
  const hover = [], click = [];
  for (let k = 0; k < 30; k += 1) hover.push(await timed(() => send("pointermove", k)));
  const panel = document.querySelector("#detail");
  for (let k = 0; k < 90 && click.length < 30; k += 1) {
    const before = panel.dataset.item, taken = await timed(() => send("click", k));
    if (panel.dataset.item !== before) click.push(taken);
  }
  return {hover, click, ready: Number(document.documentElement.dataset.ready)};
}"""


def few_systems(items):
    """Twelve systems on many items."""
    drawn = items_of(np.random.default_rng(0), items, spread=0.4, sd=1.5)
    return irtkit.simulate_responses(drawn, np.linspace(-1.5, 2, 12), seed=0)


def written(responses, folder):
    """Run the whole command, and say what it took."""
    responses.to_frame().to_csv(folder / "responses.csv")
    code = "from machine import note_files; note_files(); from irtkit.cli import main; main()"
    command = [sys.executable, "-c", code, "report"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, folder / "responses.csv", "--out", folder / "page.html"],
        check=True,
        capture_output=True,
        cwd=Path(__file__).parent,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": (folder / "page.html").stat().st_size,
    }


def opened(page, rounds):
    """Open the page in a browser, if there is one, and say what it took."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {"problem": "playwright is not installed"}
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return {"problem": "there is no Chromium"}
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_SWITCHES)
        for _ in range(rounds):
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(page.as_uri())
            for name, values in tab.evaluate(_MEASURE).items():
                found.setdefault(name, []).extend(values if isinstance(values, list) else [values])
            tab.close()
        browser.close()
    return {
        name: {"median": round(statistics.median(values), 1), "worst": round(max(values), 1)}
        for name, values in found.items()
    }


def report_page(items=42000, rounds=5):
    """Size and speed of the page."""

    def record(responses):
        about = {"responses": f"{responses.n_respondents} × {responses.n_items:,}"}
        with tempfile.TemporaryDirectory() as folder:
            command = written(responses, Path(folder))
            return about | command | opened(Path(folder, "page.html"), rounds)

    digits = irtkit.load_digits_crowd().responses  # 130 classifiers on 1,797 digits
    return {"records": map(record, part((digits, few_systems(items)), 0))}


if __name__ == "__main__":
    run(read_logs, read_long, fuzzed_logs, report_page)
