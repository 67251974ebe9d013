"""Fits on one device and on many, by one process and by two.

JAX has one device on a processor unless told otherwise before it starts: this file, run as a
script in a fresh process, fits on four and prints what comes out.
"""

import json
import os
import re
import socket
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from irtkit import EM, ItemParameters, Variational, add_synthetic, fit, load, simulate_responses
from irtkit.irf import ModelName

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "two_processes.py"


class Case(NamedTuple):
    """What is fitted on a mesh: a model, how its data are drawn, settings of the fit."""

    model: ModelName
    data: dict[str, Any]
    settings: dict[str, Any]


CASES = {
    "2PL": Case("2PL", {}, {}),
    "missing responses": Case("2PL", {"missing": 0.2}, {}),
    "3PL": Case("3PL", {}, {}),
    "synthetic respondents": Case("2PL", {}, {}),
    "repeated trials": Case("2PL", {"trials": 3}, {}),
    "fewer than devices": Case("2PL", {}, {}),
    "posterior": Case("2PL", {"missing": 0.2}, {"method": Variational(max_iterations=4)}),
    "posterior, batches": Case("2PL", {}, {"method": Variational(batch=101, max_iterations=4)}),
}
LIMIT = 300.0
"""Seconds after which processes are ended."""


def drawn(name):
    """301 respondents, which no mesh shares out evenly, and too many for 64 bits without one."""
    generator = np.random.default_rng(7)
    guessing = 0.2 if name == "3PL" else 0.0
    slopes, difficulties = generator.lognormal(0, 0.3, 15), generator.normal(size=15)
    items = ItemParameters.from_difficulty(slopes, difficulties, guessing)
    n = 3 if name == "fewer than devices" else 301
    responses = simulate_responses(items, generator.normal(size=n), seed=1, **CASES[name].data)
    if name == "synthetic respondents":
        return add_synthetic(responses, ("always-right", "always-wrong"))
    return responses


def objective(name, mesh=None):
    """Log-likelihood, or evidence lower bound."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a bound, a few steps are enough here
        settings = {"method": EM(), **case.settings}
        settings["method"] = replace(settings["method"], mesh=mesh)
        result = fit(drawn(name), case.model, standard_errors=False, **settings)
    return result.log_likelihood if result.elbo is None else result.elbo


def objectives(name):
    """Objective by number of devices, of which four make a mesh of two axes."""
    import jax
    from jax.sharding import Mesh

    shapes = [(1, 1), (2, 2)]
    meshes = [Mesh(np.array(jax.devices()[: a * b]).reshape(a, b), ("x", "y")) for a, b in shapes]
    return [objective(name, mesh) for mesh in meshes]


@pytest.fixture(scope="module")
def by_devices():
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    command = [sys.executable, "-W", "error", __file__]
    done = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, timeout=LIMIT
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_number_of_devices_does_not_move_a_fit(name, by_devices):
    one, *others = by_devices[name]
    posterior = name.startswith("posterior")
    assert others == pytest.approx([one] * len(others), rel=1e-6 if posterior else 1e-12)
    # without a mesh sums are in 32 bits, and the climb ends within √(2·tol) standard errors
    assert one == pytest.approx(objective(name), **({"rel": 1e-5} if posterior else {"abs": 1e-3}))


def run_together(*by_process):
    """Run the documented script once per process on a free port, with a limit on time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-W", "error", str(SCRIPT), "--coordinator", address]
    running = [
        subprocess.Popen(
            [*command, "--of", str(len(by_process)), "--process", str(k), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k, options in enumerate(by_process)
    ]
    try:
        said = [process.communicate(timeout=LIMIT) for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *streams)
        for process, streams in zip(running, said, strict=True)
    ]


def outcome(done, of):
    """Log-likelihood or ELBO, and digest of the items."""
    assert done.returncode == 0, done.stderr
    found = re.search(rf"{of} ([\d.-]+).*, items (\w+)$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return float(found[1]), found[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "of", "rel"), [("em", "log-likelihood", 1e-9), ("vi", "ELBO", 1e-6)]
)
def test_two_processes_come_to_the_same_items_and_to_the_fit_of_one(method, of, rel):
    options = ("--shape", "301x12", "--method", method)
    one, other = (outcome(done, of) for done in run_together(options, options))
    assert one == other
    (alone,) = (outcome(done, of) for done in run_together(options))
    assert one[0] == pytest.approx(alone[0], rel=rel)


@pytest.mark.slow
def test_processes_with_different_responses_are_refused(tmp_path):
    files = [tmp_path / f"{k}.csv" for k in range(2)]
    for file, last in zip(files, "01", strict=True):
        file.write_text(f"respondent,q,r\na,1,0\nb,0,1\nc,1,{last}\n", encoding="utf-8")
    for done in run_together(*(("--responses", str(file)) for file in files)):
        assert done.returncode != 0
        assert "the same on every process" in done.stderr


def test_the_settings_tell_the_number_of_devices_and_can_be_stored(tmp_path):
    import jax

    responses = drawn("2PL")
    with jax.set_mesh(jax.make_mesh((1, 1), ("x", "y"))):  # of the caller, which is not in the way
        method = EM(mesh=jax.make_mesh((1,), ("z",)))
        result = fit(responses, method=method, standard_errors=False)
    result.save(tmp_path / "fit.zip")
    assert load(tmp_path / "fit.zip").settings.devices == 1
    assert fit(responses, standard_errors=False).settings.devices is None


if __name__ == "__main__":
    print(json.dumps({name: objectives(name) for name in CASES}))  # noqa: T201
