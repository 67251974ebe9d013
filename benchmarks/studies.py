"""Which stored figures are older than the code, and how to renew or confirm them.

``python benchmarks/studies.py`` lists all files of ``results``. A figure is stale if one of the
source files that it depends on changed since it was measured or last confirmed. ``--renew``
measures what is stale anew, the cheapest first. ``--confirm`` measures a part of every stale study
again, with the same seeds, and notes in its file that the figures agree: those that are no time,
within 2 % or .005, and shares and numbers of data sets, or of items where there is one, within one
standard error. Times are compared where the study is about them and the processor is the same: they
agree within a factor of 1.5. Both take names of studies, fresh ones too, and pass on other options
(``--peer-python``, ``--against``).

``DUE.txt`` names the studies whose figures are older than the code and are still to be measured
anew. Their tables in the manual say so. ``--due`` writes it. Whatever is stored is shown in the
tables of the manual at once.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from machine import ROOT, changes, describe, digest, write

BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
DUE = BENCHMARKS / "DUE.txt"
TIMED = {
    *("copies", "default_call", "floor", "peers", "read_logs", "read_long", "report_page"),
    *("scaling", "sparse", "threads"),
}
"""Studies of speed, which run alone."""
TIME = re.compile(
    r"seconds|time|cpu|_m?s$|^s$|^load$|^peak|faster|^costs$|^version$|accepted|independent"
)
"""Names of figures that depend on the machine, or on what else it does."""
SETS = ("data_sets", "n_data_sets", "sets", "boards", "gates", "rounds")
"""Names of the number of data sets that a share is of."""
FACTOR = 1.5


def stored(name):
    """Figures of a study, and on what they were measured."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def names():
    """All studies with stored figures."""
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def script(name):
    """The script of a study: the one whose last lines run it."""
    scripts = (path for path in sorted(BENCHMARKS.glob("*.py")) if name in runs(path))
    return next(scripts, BENCHMARKS / f"{name}.py")


def runs(path):
    """Studies that a script runs in its last lines."""
    last = re.search(r"(?m)^    run\(([^)]*)\)", path.read_text(encoding="utf-8"))
    return re.findall(r"\w+", last[1]) if last else []


def changed(name):
    """Source files of a study that changed since it was measured or confirmed."""
    sources = stored(name)["measured"]["sources"]
    return [file for file, known in sources.items() if digest(ROOT / file) != known]


def due():
    """Studies that are to be measured anew, as the manual says."""
    return DUE.read_text(encoding="utf-8").split() if DUE.exists() else []


def cost(name):
    """Seconds that a study takes, or its part; those that are not known come last."""
    measured = stored(name)["measured"]
    of_part = measured.get("confirmed", {}).get("seconds", math.inf)
    return measured["seconds"] is None, measured["seconds"] or of_part


def run(name, out, options):
    """Run a study. What it says if it fails."""
    path = script(name)
    study = [name] if runs(path) else []
    command = [sys.executable, str(path), *study, "--out", str(out), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return None if out.exists() else done.stderr[-1500:]


def renew(name, out, options):
    """Measure a study anew and store its figures. Why not, if they are not stored."""
    problem = run(name, out, options)
    if problem is not None:
        return problem
    file, found = RESULTS / f"{name}.json", out.read_text(encoding="utf-8")
    if found.count("\n") < 0.9 * file.read_text(encoding="utf-8").count("\n"):
        return "there are fewer figures than before: data or packages are missing"
    file.write_text(found, encoding="utf-8")
    return None


def confirm(name, out, options):
    """Measure a part of a study, and note that it agrees. Stored and new values, if it does not."""
    problem = run(name, out, ["--part", *options])
    if problem is not None:
        return problem
    before, after = stored(name), json.loads(out.read_text(encoding="utf-8"))
    is_timed = name in TIMED
    old, new = before.pop("measured"), after.pop("measured")
    if is_timed and old["machine"]["processor"] != describe()["processor"]:
        return f"times were measured on another processor, {old['machine']['processor']}"
    if not after.keys() <= before.keys():
        return f"figures have other names than those stored: {sorted(after.keys() - before.keys())}"
    found = list(differences(before, after, timed=is_timed))
    if found:
        return "\n".join(found)
    used = {file for file in (*old["sources"], *new["sources"]) if (ROOT / file).exists()}
    old["sources"] = {file: digest(ROOT / file) for file in sorted(used)}
    old["confirmed"] = {key: new[key] for key in ("commit", "date", "seconds")}
    write(RESULTS / f"{name}.json", {"measured": old, **before})
    return None


def differences(old, new, where="", sets=None, *, timed):
    """Stored figures and new ones where they do not agree."""
    if isinstance(new, dict) and isinstance(old, dict):
        sets = next((new[name] for name in SETS if isinstance(new.get(name), int)), sets)
        if sets is None and isinstance(new.get("shape"), list):
            sets = new["shape"][-1]  # a share of items
        for name, value in new.items():
            place = f"{where}/{name}"
            if name not in old or value == []:  # not stored, or not in the part
                continue
            if not TIME.search(name):
                yield from differences(old[name], value, place, sets, timed=timed)
            elif timed and not _as_long(old[name], value):
                yield f"{place}: stored {old[name]}, now {value}"
    elif isinstance(new, list) and new and isinstance(new[0], dict) and old:
        for row in new:
            same = max(old, key=partial(_likeness, row))
            case = "; ".join(str(value) for value in [*row.values()][:3])
            yield from differences(same, row, f"{where}/{case}", sets, timed=timed)
    elif isinstance(new, list) and isinstance(old, list) and len(old) == len(new):
        for k, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}/{k}", sets, timed=timed)
    elif not _agree(old, new, sets):
        yield f"{where}: stored {old}, now {new}"


def _likeness(row, other):
    """How many fields agree that name a case, and how many of the others, which are measured."""
    alike = [isinstance(value, float) for name, value in row.items() if other.get(name) == value]
    return alike.count(False), alike.count(True)


def _agree(old, new, sets):
    """Whether two figures differ by no more than is allowed."""
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return bool(old == new)
    if math.isnan(old) or math.isnan(new):
        return math.isnan(old) and math.isnan(new)
    allowed = max(0.02 * abs(old), min(0.005, 0.2 * abs(old) + 0.001))
    if sets and all(0 <= x <= 1 and abs(x * sets - round(x * sets)) < 0.01 for x in (old, new)):
        allowed = _error_of_share(old, sets)
    elif sets and all(isinstance(one, int) and 0 <= one <= sets for one in (old, new)):
        allowed = sets * _error_of_share(old / sets, sets)
    return abs(new - old) <= allowed


def _error_of_share(share, sets):
    """Standard error of a share of data sets."""
    drawn_in = (share * sets + 0.5) / (sets + 1)
    return math.sqrt(drawn_in * (1 - drawn_in) / sets)


def _as_long(old, new):
    """Whether two times, or the shortest of several, agree."""
    times = [float(min(one)) if isinstance(one, list) and one else one for one in (old, new)]
    if not all(isinstance(time, int | float) and time > 0 for time in times):
        return True
    return 1 / FACTOR <= times[0] / times[1] <= FACTOR


def show():
    """Write the tables of the manual, which say when figures were measured and confirmed."""
    subprocess.run([sys.executable, str(ROOT / "docs" / "generate.py"), "--tables"], check=True)


def line(name):
    """The state of a study."""
    measured, files = stored(name)["measured"], changed(name)
    last = measured.get("confirmed", {})
    state = f"stale: {len(files)} files" if files else "confirmed" if last else "fresh"
    commit, date = (last.get(key, measured[key]) for key in ("commit", "date"))
    times = [f"{one or '?':>6}" for one in (measured["seconds"], last.get("seconds"))]
    return f"{name:22}{state:18}{date}  {str(commit)[:8]}  {'  '.join(times)}"


def main():
    """List all, or renew or confirm what is stale. How many could not be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--renew", nargs="*", metavar="NAME", choices=names())
    parser.add_argument("--confirm", nargs="*", metavar="NAME", choices=names())
    parser.add_argument("--due", action="store_true", help="note which studies are stale")
    parser.add_argument("--processes", type=int, default=2, help="that confirm at the same time")
    options, others = parser.parse_known_args()
    if options.due:
        stale = [name for name in names() if changed(name)]
        DUE.write_text("\n".join([*stale, ""]), encoding="utf-8")
        show()
        return 0
    if options.renew is None and options.confirm is None:
        print(f"{'study':22}{'state':18}{'date':12}{'commit':10}{'s':>6}  {'s of its part'}")
        print("\n".join(map(line, names())))
        return 0
    if changes():
        parser.error("commit these first, so that figures can name a commit: " + str(changes()))
    work = renew if options.confirm is None else confirm
    chosen = options.renew or options.confirm or [name for name in names() if changed(name)]
    chosen = sorted(chosen, key=cost)

    def measured(name):
        with tempfile.TemporaryDirectory() as folder:
            return work(name, Path(folder, "figures.json"), others)

    failed = 0
    alone = chosen if work is renew else [name for name in chosen if name in TIMED]
    together = [name for name in chosen if name not in alone]
    for some, processes in ((together, options.processes), (alone, 1)):
        with ThreadPoolExecutor(processes) as pool:
            for name, problem in zip(some, pool.map(measured, some), strict=True):
                said = "stored" if problem is None else f"not stored\n{problem}"
                print(f"{name}: {said}", flush=True)
                failed += problem is not None
    show()
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
