"""Whether evaluation logs damaged at random give a valid matrix or one clear error.

Logs of every format, those that the tests write and carry and those of ../shared/samples where it
lies, are damaged: bytes are changed, cut out, doubled, put elsewhere or replaced by words that
JSON, ARFF and archives have a meaning for; values of JSON are replaced by values of other kinds,
also within archives; files end early. Each is then read as it is and looked at as ``irtkit
inspect`` does. The outcome must be a valid response matrix or a ValueError; anything else is a
failure, and so is more than five seconds. The address space is limited to 2 GiB beyond what the
interpreter and the packages take.
"""

from __future__ import annotations

import io
import json
import resource
import runpy
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from machine import arguments, part, store

import irtkit
from irtkit.io.overview import overview
from irtkit.io.table_files import MAGIC

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "samples"
SECONDS = 5.0
ADDRESS_SPACE = 2 * 2**30
WORDS = [
    *(b"null", b"true", b"-1", b"1e999", b'""', b"[]", b"{}", b"NaN", b"0.5", b"\0"),
    *(b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"9" * 5000, b"[" * 3000, b'{"a":' * 500, b"'"),
    *(b"../../x", b"PK\x03\x04", b"PK\x01\x02", b"PAR1", b"@data", b"?", b" " * 1000),
]
VALUES: list[Any] = [
    *(None, True, -1, 1e308, 0.5, "", " ", "C", "a\0b", "x" * 10_000),
    *([], {}, [[]], [None], {"a": None}, {"": []}, ["C", 1], float("nan"), float("inf")),
]


def logs_of_the_tests(folder: Path) -> list[Path]:
    """Write the logs that the tests of the readers write."""
    module = runpy.run_path(str(ROOT / "tests" / "io" / "conftest.py"))
    written = [ROOT / "tests" / "data" / "py_irt_minitest.jsonlines"]
    for name, write in module["WRITERS"].items():
        (folder / name).mkdir()
        written.append(write(folder / name))
    return [*written, module["write_submission"](folder)]


def logs_of_writers() -> list[Path]:
    """Logs by their own writers: those that are carried, and those of others that are there."""
    endings = ("*.eval", "*.json", "*.jsonl", "*.jsonlines", "*.arff")
    folders = (ROOT / "tests" / "data" / "logs", SHARED)
    found = [path for folder in folders for ending in endings for path in folder.rglob(ending)]
    beside = {"scenario_state.json", "display_requests.json", "scenario.json"}
    return sorted(path for path in found if path.name not in beside)


def damaged_bytes(content: bytes, draw: np.random.Generator) -> bytes:
    """Change a few places of some bytes."""
    data = bytearray(content)
    for _ in range(int(draw.integers(1, 5))):
        one, other = sorted(int(k) for k in draw.integers(0, len(data) + 1, 2))
        end = min(other, one + int(draw.integers(1, 40)))
        kind = draw.integers(7)
        if kind == 0:
            del data[one:end]
        elif kind == 1:
            data[one:one] = data[one:end]
        elif kind == 2:
            data[one:end] = draw.bytes(end - one)
        elif kind == 3:
            data[one:one] = WORDS[draw.integers(len(WORDS))]
        elif kind == 4:
            data[one:end] = WORDS[draw.integers(len(WORDS))]
        elif kind == 5:
            del data[one + int(draw.integers(1 + len(data) - one)) :]
        else:
            data[one:one], data[other:end] = data[other : other + 20], b""
        if not data:
            break
    return bytes(data)


def damaged_value(value: Any, draw: np.random.Generator) -> Any:
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


def damaged_json(content: bytes, draw: np.random.Generator) -> bytes:
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


def damaged_archive(content: bytes, draw: np.random.Generator) -> bytes:
    """Damage the members of an archive and pack them again."""
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


def damaged(content: bytes, draw: np.random.Generator) -> bytes:
    """Damage a log in one of the ways."""
    if content.startswith(MAGIC) or draw.random() < 0.4:
        return damaged_bytes(content, draw)
    return (damaged_archive if content.startswith(b"PK") else damaged_json)(content, draw)


def fault_of(path: Path, draw: np.random.Generator) -> str | None:
    """What is wrong with the outcome of reading a file; None where it is a matrix, "" an error."""
    repeats = ("error", "count", "first", "last", "mean>=0.5")
    settings: dict[str, Any] = {"repeats": repeats[draw.integers(5)]}
    if not path.name.endswith(".jsonlines"):
        settings["errors"] = (None, "missing")[draw.integers(2)]
    threshold = (None, 0.5)[draw.integers(2)]
    try:
        found = overview(path)
        chosen = {
            name: found.settings[name] for name in ("metric", "filter") if name in found.settings
        }
        if not found.command:
            return ""
        responses = irtkit.read_responses(path, threshold=threshold, **settings, **chosen)
    except ValueError:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
        return f"{type(error).__name__}: {error}"[:200]
    return None if is_valid(responses) else f"no valid matrix: {responses!r}"


def is_valid(responses: irtkit.ResponseMatrix) -> bool:
    """Whether labels and cells are as they must be."""
    labels = (responses.respondents, responses.items)
    named = all(label.strip() and label.encode() for each in labels for label in each)
    unique = all(len(set(each)) == len(each) for each in labels)
    right, tried = responses.successes, responses.trials
    return bool(named and unique and (right <= tried).all() and tried.any())


def study(logs: list[Path], n: int, folder: Path) -> list[dict[str, Any]]:
    """Damage every log in n ways, read each, and count outcomes."""
    records = []
    for number, log in enumerate(logs):
        content = log.read_bytes()
        outcomes = {"matrix": 0, "error": 0}
        failures: list[str] = []
        slowest = 0.0
        for seed in range(n):
            draw = np.random.default_rng([number, seed])
            path = folder / log.parent.name / log.name  # a submission goes by its folder as well
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(damaged(content, draw) if seed else content)  # the first is whole
            start = time.process_time()
            fault = fault_of(path, draw)
            seconds = time.process_time() - start
            slowest = max(slowest, seconds)
            if fault or seconds > SECONDS:
                failures.append(f"{log.name} seed {seed}: {fault or f'{seconds:.1f} s'}")
            outcomes["matrix" if fault is None else "error"] += 1
        record = {"log": log.name, "damages": n, **outcomes, "failures": len(failures)}
        records.append(record | {"slowest_seconds": round(slowest, 3)})
        print(*records[-1].values(), *failures[:3], sep="  ", flush=True)
    return records


def main() -> None:
    """Run and print the study."""
    parser = arguments(__doc__)
    parser.add_argument("--damages", type=int, default=2000, help="Of every format.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE,) * 2)
    with tempfile.TemporaryDirectory() as name:
        written = Path(name, "written")
        written.mkdir()
        logs = logs_of_the_tests(written)
        print("log  damages  matrix  error  failures  slowest (CPU s)")
        records = study(part(logs, 0), options.damages, Path(name))
        records += study(part(logs_of_writers()), max(options.damages // 10, 1), Path(name))
    store(options, records=records)
    sys.exit(any(record["failures"] for record in records))


if __name__ == "__main__":
    main()
