"""What a timing was taken on: processor, cores, memory and versions."""

from __future__ import annotations

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


def _field(path: str, name: str) -> str | None:
    """Value of the first line ``name: value`` of a file, None where there is none."""
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)
