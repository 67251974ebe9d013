"""Time and peak memory of making a matrix of a long table of up to a hundred million rows.

1,000 systems answer 1,000 to 100,000 items, one row each, in an order without any system. Labels
are text of some 15 characters ("org/model-17", "task/item-4711"), responses 0 or 1. Each table is
written to a temporary folder first, a million rows at a time, and is gone afterwards. Then fresh
processes read it in turn: irtkit into a response matrix, and pyarrow the three columns into a
table, which is the floor of any reader. Times are the least of the rounds. The peak is the largest
resident size of the process, interpreter and packages included; before it reads, that is some 110
MiB. pyarrow is left out above ten million rows, where its table alone takes gigabytes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from machine import arguments, part, store

import irtkit

COLUMNS = ["model", "item", "correct"]
_AT_ONCE = 2**20
"""Rows that are written at a time, which are a row group of Parquet."""
_STEP = 7_368_787
"""Row k is cell k times this, modulo the cells: a prime, so that every cell comes once."""
_BYTES_PER_ROW = 50
"""More than a row takes in text."""
_MOST_OF_PYARROW = 10**7


def write(path: Path, systems: int, items: int) -> None:
    """Write a long table with a row for every cell."""
    n = systems * items
    names = [
        pa.array([f"{kind}-{k}" for k in range(m)])
        for kind, m in (("org/model", systems), ("task/item", items))
    ]
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
            labels = [
                name.take(pa.array(at))
                for name, at in zip(names, np.divmod(cells, items), strict=True)
            ]
            writer.write_table(pa.table([*labels, right], schema=schema))


def measure(path: Path, reader: str) -> dict[str, float]:
    """Read a table in this process: seconds, of the clock and of the processors, and the peak."""
    import pandas as pd
    from scipy import sparse

    _ = pd.DataFrame(), sparse.csr_array((1, 1))  # loading a package is no reading
    wall, cpu = time.perf_counter(), time.process_time()
    if reader == "irtkit":
        irtkit.read_responses(path)
    elif path.suffix == ".csv":
        pyarrow.csv.read_csv(path)
    else:
        pyarrow.parquet.read_table(path, columns=COLUMNS)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    (line,) = (
        x
        for x in Path("/proc/self/status").read_text("utf-8").splitlines()
        if x.startswith("VmHWM")
    )
    return {"seconds": wall, "cpu_seconds": cpu, "peak_mib": int(line.split()[1]) / 2**10}


def compare(systems: int, items: int, form: str, rounds: int) -> list[dict[str, Any]]:
    """Write a table and read it with irtkit, and pyarrow if it is not too large; a record each."""
    n = systems * items
    readers = ["pyarrow", "irtkit"] if n <= _MOST_OF_PYARROW else ["irtkit"]
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < _BYTES_PER_ROW * n:
            print(f"{n:,} rows as {form}: left out, the disk is too full")
            return []
        path = Path(folder, f"long.{form}")
        write(path, systems, items)
        size = path.stat().st_size
        measured: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
        for _ in range(rounds if len(readers) > 1 else 1):
            for reader, figures in measured.items():
                command = [sys.executable, __file__, "--measure", str(path), reader]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                figures.append(json.loads(done.stdout))
    records: list[dict[str, Any]] = []
    for reader, figures in measured.items():
        least = {name: round(min(one[name] for one in figures), 5) for name in figures[0]}
        records.append(
            {
                "rows": n,
                "items": items,
                "form": form,
                "mib": round(size / 2**20),
                "reader": reader,
                **least,
            }
        )
    for record in records:
        floor = records[0]
        record["times_pyarrow"] = None
        if floor["reader"] == "pyarrow":
            record["times_pyarrow"] = round(record["seconds"] / floor["seconds"], 2)
            record["times_pyarrow_cpu"] = round(record["cpu_seconds"] / floor["cpu_seconds"], 2)
        print(*(f"{key} {value}" for key, value in record.items()), sep="   ", flush=True)
    return records


def main() -> None:
    """Run and print the study."""
    parser = arguments(__doc__)
    parser.add_argument("--systems", type=int, default=1000)
    parser.add_argument("--items", type=int, nargs="+", default=part([1000, 10_000, 100_000], 0))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help="For the script itself.")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(Path(options.measure[0]), options.measure[1])))
        return
    records: list[dict[str, Any]] = []
    for form in ("parquet", "csv"):
        for items in options.items:
            if form == "parquet" or options.systems * items <= _MOST_OF_PYARROW:
                records += compare(options.systems, items, form, options.rounds)
    store(options, records=records)


if __name__ == "__main__":
    main()
