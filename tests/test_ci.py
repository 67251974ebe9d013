"""What continuous integration makes of tests that were skipped."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "run"
TOOLS = ("bash", "cat", "dirname", "grep", "id", "mkdir", "mktemp", "rm", "tee")
NO_BROWSER = "SKIPPED [20] tests/report/test_browser.py:52: there is no Chromium"
NO_AXE = "SKIPPED [3] tests/report/test_browser.py:332: IRTKIT_AXE names no axe-core"
NO_DATA = "SKIPPED [9] tests/conftest.py:33: there is no ../shared/data"


@pytest.mark.parametrize(("told", "has", "make", "code", "said"), [
    ("3000 passed", "chromium axe", 0, 0, ""),
    (NO_BROWSER, "", 0, 0, "no browser has looked at the page"),
    (NO_AXE, "chromium", 0, 0, "axe-core could not be had"),
    (NO_BROWSER, "chromium axe", 0, 1, "these tests were skipped"),
    (NO_AXE, "chromium axe", 0, 1, "these tests were skipped"),
    (NO_DATA, "chromium axe data", 0, 1, "these tests were skipped"),
    ("", "chromium axe", 2, 2, ""),
])  # fmt: skip
def test_a_skipped_test_fails_the_run_if_what_it_needs_is_there(
    tmp_path, told, has, make, code, said
):
    """The script in a folder of its own, on a machine with nothing but what it is given."""
    found = {name: shutil.which(name) for name in TOOLS}
    if not SCRIPT.is_file() or None in found.values():
        pytest.skip("there is no .ci/run here, or no shell that runs it")
    tools, clone, axe = tmp_path / "bin", tmp_path / "clone", tmp_path / "axe.js"
    for folder in (tools, clone / ".ci"):
        folder.mkdir(parents=True)
    shutil.copy(SCRIPT, clone / ".ci")
    for name, path in found.items():
        (tools / name).symlink_to(str(path))
    lines = f'[ "$1" != test-all ] || echo "{told}"\nexit {make}'
    programs = {tools / "make": lines, clone / ".ci" / "packages": "exit 0"}
    for program, content in programs.items():
        program.write_text(f"#!{tools}/bash\n{content}\n")
        program.chmod(0o755)
    if "chromium" in has:
        (tools / "chromium").touch(mode=0o755)
    if "axe" in has:
        axe.touch()
    if "data" in has:
        (tmp_path / "shared" / "data").mkdir(parents=True)
    environment = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
    done = subprocess.run(
        [tools / "bash", clone / ".ci" / "run"],
        env=environment | {"PATH": str(tools), "IRTKIT_AXE": str(axe)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    if code == 0:
        assert bool(done.stderr) is bool(said)
        assert "make test-all" in (clone / ".ci" / "out" / "stages").read_text()
        assert told in (clone / ".ci" / "out" / "tests").read_text()
