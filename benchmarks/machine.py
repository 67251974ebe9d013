"""What a figure was measured on: machine, commit, and the source files that it depends on."""

from __future__ import annotations

import argparse
import ast
import atexit
import hashlib
import inspect
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import threading
from dataclasses import MISSING
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
"""Matrices that no clone may carry."""
SOURCES = (ROOT / "irtkit", ROOT / "benchmarks")
RAN = "IRTKIT_FILES_THAT_RAN"
"""Variable of the environment: the file to which a study and its processes note what they ran."""


def describe():
    """Processor, usable cores, memory, system, and versions of what irtkit computes with."""
    known = hasattr(os, "sched_getaffinity")
    memory = (_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if known else os.cpu_count(),
        "memory_gib": round(int(memory) / 2**20),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "jax", "jaxlib")},
    }


def peak_mib():
    """Largest resident size of this process so far."""
    status = _field("/proc/self/status", "VmHWM")
    if status:  # ru_maxrss would count what the process that started this one held
        return int(status.split()[0]) / 2**10
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def arguments(module_doc):
    """Arguments of a benchmark, described by the first line of its docstring.

    From here on the files are noted in which a function runs: here, and in processes that are
    started from here and call `note_files` or this function.
    """
    parser = argparse.ArgumentParser(description=(module_doc or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file for all figures")
    parser.add_argument("--part", action="store_true", help="measure a few settings alone")
    if RAN not in os.environ:
        handle, os.environ[RAN] = tempfile.mkstemp()
        os.close(handle)
        atexit.register(os.remove, os.environ[RAN])
    note_files()
    return parser


def whole():
    """Whether everything is to be measured, rather than a part."""
    return "--part" not in sys.argv


def part(settings, *own):
    """All settings; with ``--part`` those at the given places, or of the given names."""
    if whole():
        return settings
    if isinstance(settings, dict):
        return {name: settings[name] for name in own}
    return [settings[place] for place in own]


def store(options, **figures):
    """Write all figures to the file asked for, with the machine and what they depend on."""
    if options.out:
        measured = {
            "machine": describe(),
            **now(),
            "seconds": round(sum(os.times()[:4]), 1),
            "sources": {name: digest(ROOT / name) for name in sorted(_sources())},
        }
        write(options.out, {"measured": measured, **figures})


def write(out, content):
    """Write figures as they are stored."""
    text = json.dumps(content, indent=1, ensure_ascii=False, default=lambda value: value.tolist())
    out.write_text(text + "\n", encoding="utf-8")


def now():
    """The commit that is checked out, marked if files differ from it, and the date."""
    commit = _git("rev-parse", "HEAD")
    if commit and changes():
        commit += "+changes"
    return {"commit": commit, "date": datetime.now(UTC).date().isoformat()}


def changes():
    """Source files that differ from the commit that is checked out."""
    text = _git("status", "--porcelain", "--", *map(str, SOURCES)) or ""
    return [line for line in text.splitlines() if "benchmarks/results/" not in line]


def _git(*words):
    """What git answers, None where there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", ROOT, *words],  # noqa: S607  # whichever git there is
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


@cache
def digest(path):
    """Short hash of a file, None if there is none.

    Of Python, its syntax is hashed without comments, docstrings and annotations, so that a change
    of words or types makes no figure stale.
    """
    if not path.exists():
        return None
    content = path.read_bytes()
    if path.suffix == ".py":
        content = repr(_syntax(ast.parse(content))).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def _syntax(node):
    """A tree as nested lists, which are the same in every version of Python."""
    if isinstance(node, list):
        return [_syntax(one) for one in node if not _is_text(one)]
    if not isinstance(node, ast.AST):
        return node
    parts = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    ignored = {"annotation", "returns", "type_comment", "kind"}
    return [type(node).__name__, *([n, _syntax(value)] for n, value in parts if n not in ignored)]


def _is_text(node):
    """Whether a statement is a docstring, of whatever it stands under."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def depends_on(*paths):
    """Note files that a study depends on in another way than by running them."""
    with Path(os.environ[RAN]).open("a", encoding="utf-8") as text:
        text.writelines(f"{path}\n" for path in paths)


def note_files():
    """Note files of this project in which a function runs, and files of the package that are read.

    Code that runs when a module is imported does not count: nearly all are imported.
    """
    known = set()
    folders = tuple(f"{folder}{os.sep}" for folder in SOURCES)

    def note(name):
        known.add(name)
        if name.startswith(folders):
            depends_on(Path(name))

    def called(frame, event, arg):  # noqa: ARG001
        code, caller = frame.f_code, frame.f_back
        name = code.co_filename
        if name in known or not code.co_flags & inspect.CO_OPTIMIZED:  # a module, or a class
            return
        while caller is not None and caller.f_code.co_filename == name:
            if caller.f_code.co_name == "<module>":
                return
            caller = caller.f_back
        note(name)

    def opened(event, given):
        name = str(given[0]) if event == "open" else ""
        if (
            name.startswith(folders[0])
            and not name.endswith((".py", ".pyc", ".pyi"))
            and name not in known
        ):
            note(name)

    sys.addaudithook(opened)
    threading.settrace(called)
    sys.settrace(called)


def _sources():
    """Files that this study depends on: what ran, the script, and constants that they import."""
    ran = set(Path(os.environ[RAN]).read_text(encoding="utf-8").splitlines())
    todo = [Path(name) for name in (*ran, sys.argv[0], __file__)]
    found = set()
    while todo:
        path = todo.pop().resolve()
        if path not in found and path.is_relative_to(ROOT) and path.is_file():
            found.add(path)
            todo += _constants_of(path) if path.suffix == ".py" else []
    found.discard(Path(__file__).resolve())  # which measures nothing
    return {path.relative_to(ROOT).as_posix() for path in found}


def _constants_of(path):
    """Modules from which a module imports what is no function, such as a constant."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.ImportFrom):
            continue
        name = node.module or ""
        if not (name.startswith("irtkit") or (ROOT / "benchmarks" / f"{name}.py").is_file()):
            continue
        module = import_module(name)
        values = [getattr(module, alias.name, None) for alias in node.names]
        if module.__file__ and any(map(_holds_values, values)):
            yield Path(module.__file__)


def _holds_values(value):
    """Whether something is a constant, or a class with defaults of its fields."""
    if isinstance(value, type):
        fields = getattr(value, "__dataclass_fields__", {}).values()
        return bool(getattr(value, "_field_defaults", False)) or any(
            field.default is not MISSING for field in fields
        )
    return not (value is None or callable(value) or inspect.ismodule(value))


def _field(path, name):
    """Value of the first line ``name: value`` of a file, None where there is none."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)
