"""What continuous integration makes of tests that were skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
TOOLS = ("bash", "cat", "dirname", "grep", "id", "mktemp", "rm", "tee")
NO_BROWSER = "SKIPPED [20] tests/report/test_browser.py:52: there is no Chromium"
NO_PLAYWRIGHT = "SKIPPED [1] tests/report/test_browser.py:22: playwright is not installed"
NO_AXE = "SKIPPED [3] tests/report/test_browser.py:332: IRTKIT_AXE names no axe-core"
NO_DATA = "SKIPPED [9] tests/conftest.py:33: there is no ../shared/data"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The script in a folder of its own, on a machine that has no more than it is given."""
    found = {name: shutil.which(name) for name in TOOLS}
    if not SCRIPT.is_file() or None in found.values():
        pytest.skip("there is no .ci/run here, or no shell that runs it")
    tools, clone = tmp_path / "bin", tmp_path / "clone"
    for folder in (tools, clone / ".ci"):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, clone / ".ci")
    (clone / ".ci" / "packages").write_text(f"#!{tools}/bash\nexit 0\n")
    (clone / ".ci" / "packages").chmod(0o755)
    for name, path in found.items():
        (tools / name).symlink_to(str(path))

    def started(
        told: str = "", *, has: tuple[str, ...] = (), make: int = 0
    ) -> subprocess.CompletedProcess[str]:
        axe = tmp_path / "axe.js"
        for name in has:
            (axe if name == "axe" else tools / name).touch(mode=0o755)
        lines = f'#!{tools}/bash\n[ "$1" != test-all ] || echo "{told}"\nexit {make}\n'
        (tools / "make").write_text(lines)
        (tools / "make").chmod(0o755)
        environment = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
        return subprocess.run(
            [tools / "bash", clone / ".ci" / "run"],
            env=environment | {"PATH": str(tools), "IRTKIT_AXE": str(axe)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return started


def test_it_passes_with_a_sentence_where_no_browser_can_be_had(run: Run) -> None:
    done = run(NO_BROWSER)
    assert done.returncode == 0, done.stderr
    assert "no browser has looked at the page" in done.stderr


def test_it_passes_with_a_sentence_where_axe_core_cannot_be_had(run: Run) -> None:
    done = run(NO_AXE, has=("chromium",))
    assert done.returncode == 0, done.stderr
    assert "axe-core could not be had" in done.stderr


@pytest.mark.parametrize("skipped", [NO_BROWSER, NO_PLAYWRIGHT, NO_AXE])
def test_it_fails_where_a_test_is_skipped_for_what_is_there(run: Run, skipped: str) -> None:
    done = run(skipped, has=("chromium", "axe"))
    assert done.returncode == 1
    assert "these tests were skipped" in done.stderr


def test_it_passes_in_silence_where_nothing_is_skipped(run: Run) -> None:
    done = run("3000 passed", has=("chromium", "axe"))
    assert (done.returncode, done.stderr) == (0, "")


def test_it_fails_beside_reference_data_that_were_not_read(run: Run, tmp_path: Path) -> None:
    assert run(NO_DATA, has=("chromium", "axe")).returncode == 0
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert run(NO_DATA, has=("chromium", "axe")).returncode == 1


def test_it_fails_where_a_step_does(run: Run) -> None:
    assert run(has=("chromium", "axe"), make=2).returncode == 2
