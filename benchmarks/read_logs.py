"""Time and peak memory of reading a million samples of evaluation logs.

By default 100 systems answer 10,000 items each, in a file of JSON lines per system, as
lm-evaluation-harness and Every Eval Ever write them, some 1,000 bytes a sample, the latter with the
tokens and milliseconds that are kept as metrics of the answers. The files are written first; one
fresh process per format then reads the folder. Beside it stands what Python's own json module takes
to parse the same lines, which is the floor of any reader that uses it. The peak is the largest
resident size of the process, interpreter and packages included.
"""

from __future__ import annotations

import json
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from collections.abc import Callable

MAKE = Path(__file__).parents[1] / "tests" / "io" / "conftest.py"
FILLED = "x" * 250
"""Added to the prompt and to the answer, so that a line is as long as those of real logs."""


def sample(
    form: str, system: int, item: int, make: dict[str, Callable[..., dict[str, Any]]]
) -> dict[str, Any]:
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


def write(folder: Path, form: str, systems: int, items: int) -> None:
    """Write the logs of all systems."""
    make = runpy.run_path(str(MAKE))
    name = {"lm-eval": f"samples_sums_{make['TIME']}.jsonl", "every-eval-ever": "x_samples.jsonl"}
    for system in range(systems):
        place = folder / f"org__{system}"
        place.mkdir()
        with (place / name[form]).open("w", encoding="utf-8") as text:
            for item in range(items):
                text.write(json.dumps(sample(form, system, item, make)) + "\n")


def measure(folder: Path, form: str) -> dict[str, Any]:
    """Read a folder in this process, and parse its lines."""
    import pandas as pd

    _ = pd.DataFrame()  # loading a package is no reading
    start = time.process_time()
    responses = irtkit.read_responses(folder)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    first, n_bytes, parsing = next(folder.rglob("*.jsonl")), 0, 0.0
    for line in first.read_text(encoding="utf-8").splitlines():
        start = time.process_time()
        json.loads(line)
        parsing += time.process_time() - start
        n_bytes += len(line)
    samples = responses.n_respondents * responses.n_items
    metrics = responses.metrics
    return {
        "format": form,
        "systems": responses.n_respondents,
        "items": responses.n_items,
        "bytes_per_sample": n_bytes // responses.n_items,
        "further_numbers": 0 if metrics is None else len(metrics),
        "cpu_seconds": round(seconds, 2),
        "microseconds_per_sample": round(1e6 * seconds / samples, 2),
        "microseconds_of_json": round(1e6 * parsing / responses.n_items, 2),
        "peak_mib": round(peak),
    }


def main() -> None:
    """Run and print the study."""
    parser = arguments(__doc__)
    parser.add_argument("--shape", default="100x10000", help="Systems x items.")
    parser.add_argument("--measure", nargs=2, help="For the script itself.")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(Path(options.measure[0]), options.measure[1])))
        return
    systems, items = map(int, options.shape.split("x"))
    records = []
    for form in part(("lm-eval", "every-eval-ever"), 0):
        with tempfile.TemporaryDirectory() as name:
            write(Path(name), form, systems, items)
            command = [sys.executable, __file__, "--measure", name, form]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        records.append(json.loads(done.stdout))
        print(*(f"{key} {value}" for key, value in records[-1].items()), sep="   ", flush=True)
    store(options, records=records)


if __name__ == "__main__":
    main()
