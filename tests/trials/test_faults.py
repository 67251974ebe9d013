"""Interrupted or starved work: files are whole, and a failure leaves none behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import checks, files

SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
COMMAND = [sys.executable, "-c", "from irtkit.cli import main; main()"]


@pytest.fixture
def responses(tmp_path):
    path = tmp_path / "results.csv"
    values = np.random.default_rng(0).integers(0, 2, (60, 200))
    irtkit.ResponseMatrix(values).to_frame().to_csv(path)
    return path


@pytest.mark.parametrize(("sent", "code", "word"), SIGNALS)
def test_an_interrupted_command_leaves_nothing(responses, sent, code, word):
    out = responses.parent / "some" / "tables"
    started = [*COMMAND, "fit", str(responses), "--model", "3PL", "--out", str(out)]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as process:
        while not out.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)  # until files have been tried and the fit runs
        process.send_signal(sent)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told.splitlines()[-1]) == (code, f"irtkit: {word}")
    assert "Traceback" not in told
    assert [path.name for path in responses.parent.iterdir()] == ["results.csv"]


def test_a_full_disk_leaves_no_file_and_is_reported_with_the_name(responses):
    code = (  # files beyond the limit are as those on a full disk
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from irtkit.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "fit", responses.name]
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


def test_a_fit_that_cannot_fit_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(checks, "available_bytes", lambda: 2.0**20)
    rows = pd.DataFrame({"model": range(9999), "item": range(9999), "response": 1})
    sparse = irtkit.ResponseMatrix.from_long(rows, sparse=True)
    with pytest.raises(MemoryError, match=r"9999 systems × 9999 items needs at least 0.1 GB"):
        sparse.to_dense()

    def check_memory(needed, what, remedy):
        checks.check_memory(1e6 * needed, what, remedy)

    monkeypatch.setattr("irtkit.fitting.check_memory", check_memory)
    with pytest.raises(MemoryError, match=r"9,999 systems × 9,999 items needs .*Variational"):
        irtkit.fit(sparse)


@pytest.mark.parametrize("error", [None, OSError, KeyboardInterrupt])
def test_files_appear_together_or_none_does(tmp_path, error):
    (tmp_path / "a.csv").write_text("old")
    with contextlib.suppress(error or ()), files.together():
        for name in ("a.csv", "b.csv"):
            with files.replacing(tmp_path / name) as temporary:
                temporary.write_text(name)
        if error is not None:
            raise error
    found = sorted(path.read_text() for path in tmp_path.iterdir())
    assert found == (["a.csv", "b.csv"] if error is None else ["old"])


@pytest.mark.slow
def test_a_fit_does_not_depend_on_threads(tmp_path):
    code = (
        "import os, sys; n = int(os.environ['OMP_NUM_THREADS']);"
        "os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n]);"
        "import numpy as np, irtkit; g = np.random.default_rng(0);"
        "p = 0.2 + 0.8 / (1 + np.exp(g.normal(size=150) - g.normal(size=(600, 1))));"
        "r = irtkit.fit((g.random(p.shape) < p).astype(int), '3PL', standard_errors=False);"
        "np.save(sys.argv[1], np.r_[r.parameters.discrimination, r.parameters.guessing, r.ability])"
    )
    for n in ("1", "2"):
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), n)
        command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / n)]
        subprocess.run(command, check=True, env={**os.environ, **threads})
    one, two = (np.load(tmp_path / f"{n}.npy") for n in (1, 2))
    np.testing.assert_array_equal(one, two)
