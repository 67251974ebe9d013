"""Interrupted or starved work: files are whole, and a failure leaves none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import checks, files
from irtkit.calibration.fitting import silently

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
WORDS = {130: "interrupted", 143: "terminated", 129: "hung up"}
COMMAND = [sys.executable, "-c", "from irtkit.cli import main; main()"]


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    values = np.random.default_rng(0).integers(0, 2, (60, 200))
    irtkit.ResponseMatrix(values).to_frame().to_csv(path)
    return path


@pytest.mark.parametrize(("sent", "code"), SIGNALS)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_an_interrupted_command_leaves_nothing(
    responses: Path, command: str, sent: signal.Signals, code: int
) -> None:
    out = responses.parent / "some" / "tables"
    started = [*COMMAND, command, str(responses), "--model", "3PL", "--out", str(out)]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as process:
        while not out.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(sent)
        _, told = process.communicate(timeout=60)
    word = WORDS[code]
    assert (process.returncode, told.splitlines()[-1]) == (code, f"irtkit: {word}")
    assert "Traceback" not in told
    assert [path.name for path in responses.parent.iterdir()] == ["results.csv"]


def test_a_full_disk_leaves_no_file_and_is_told_with_the_name(responses: Path) -> None:
    code = (  # files beyond the limit are as those on a full disk
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from irtkit.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "fit", str(responses)]
    done = subprocess.run(
        [*command, "--model", "1PL", "--out", "tables"],
        cwd=responses.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 2
    assert "items.csv" in done.stderr
    assert "cannot be written" in done.stderr
    assert [path.name for path in responses.parent.iterdir()] == ["results.csv"]


def test_a_fit_that_cannot_fit_is_refused_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = irtkit.ResponseMatrix(np.ones((3, 4), int))
    monkeypatch.setattr(checks, "_NOT_LOOKED_AT", 0)
    monkeypatch.setattr(checks, "available_bytes", lambda: 571.0)
    with pytest.raises(MemoryError, match=r"3 respondents × 4 items needs at least .*Variational"):
        irtkit.fit(matrix)
    rows = pd.DataFrame({"model": range(40), "item": range(40), "response": 1})
    with pytest.warns(UserWarning, match="40 respondents × 40 items or more does not fit"):
        sparse = irtkit.ResponseMatrix.from_long(rows)
    assert sparse.is_sparse
    with pytest.raises(MemoryError, match=r"40 respondents × 40 items"):
        sparse.to_dense()
    monkeypatch.setattr(checks, "available_bytes", lambda: 572.0)
    with silently():
        assert irtkit.fit(matrix, "1PL").converged


class TestTogether:
    @staticmethod
    def write(folder: Path, *names: str, fail: BaseException | None = None) -> None:
        with files.together():
            for name in names:
                with files.replacing(folder / name) as temporary:
                    temporary.write_text(name)
            if fail is not None:
                raise fail

    def test_files_appear_when_the_last_is_written(self, tmp_path: Path) -> None:
        self.write(tmp_path, "a.csv", "b.csv")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]

    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, UnicodeError])
    def test_none_appears_if_one_fails(self, tmp_path: Path, error: type[BaseException]) -> None:
        (tmp_path / "a.csv").write_text("old")
        with pytest.raises(error):
            self.write(tmp_path, "a.csv", "b.csv", fail=error())
        assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    "read",
    [
        irtkit.load,
        irtkit.read_table,
        irtkit.read_responses,
        lambda path: irtkit.fit([[1, 0], [0, 1]], fixed=path),
        lambda path: irtkit.fit(
            [[1, 0], [0, 1]], method=irtkit.Variational(checkpoint=path, max_iterations=2)
        ),
        lambda path: irtkit.score([[1, 0]], path),
    ],
)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, read: Callable[..., Any]) -> None:
    for ending in ("csv", "npz"):
        os.mkfifo(tmp_path / f"pipe.{ending}")
    with pytest.raises(OSError, match="is not an ordinary file"):
        read(tmp_path / ("pipe.csv" if read is irtkit.read_table else "pipe.npz"))


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2**22, 0])
def test_a_fit_does_not_depend_on_threads(tmp_path: Path, cells: int) -> None:
    """By NumPy no byte, and by XLA, on one and on two processors, nothing beyond 1e-9.

    Before JAX 0.10.1 XLA's sums had an order of their own for every number of processors.
    """
    import jax

    by_xla = 1e-9 if jax.__version_info__ >= (0, 10, 1) else 1e-4
    code = (
        "import os, sys; n = int(os.environ['OMP_NUM_THREADS']);"
        "os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n]);"
        "import numpy as np, irtkit; g = np.random.default_rng(0);"
        f"from irtkit.quadrature import engines; engines._MANY_CELLS = {cells};"
        "p = 0.2 + 0.8 / (1 + np.exp(g.normal(size=150) - g.normal(size=(600, 1))));"
        "r = irtkit.fit((g.random(p.shape) < p).astype(int), '3PL', standard_errors=False);"
        "np.save(sys.argv[1], np.r_[r.parameters.discrimination, r.parameters.guessing, r.ability])"
    )
    for n in ("1", "2"):
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), n)
        command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / n)]
        subprocess.run(command, check=True, env={**os.environ, **threads})
    one, two = (np.load(tmp_path / f"{n}.npy") for n in (1, 2))
    np.testing.assert_allclose(one, two, rtol=0, atol=0 if cells else by_xla)
