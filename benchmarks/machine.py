"""What a timing was taken on: processor, cores, memory and versions."""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Processor, usable cores, memory, system, and versions of what irtkit computes with."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(
            int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 2**20
        ),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "jax", "jaxlib")},
    }


def sentence(machine: dict[str, Any]) -> str:
    """One line to stand under a table."""
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numpy", "scipy", "jax"))
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; {versions}"
    )


def arguments(module_doc: str | None) -> argparse.ArgumentParser:
    """Arguments of a benchmark, described by the first line of its docstring; one is --out."""
    parser = argparse.ArgumentParser(description=(module_doc or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file for all figures")
    return parser


def store(out: Path | None, machine: dict[str, Any], **figures: Any) -> None:
    """Write all figures to the file that was asked for, with what they were taken on."""
    if out:
        text = json.dumps({"machine": machine, **figures}, indent=1, ensure_ascii=False)
        out.write_text(text + "\n", encoding="utf-8")


def _field(path: str, name: str) -> str | None:
    """Value of the first line ``name: value`` of a file, None where there is none."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)
