"""The marginal likelihood on the devices of a mesh against NumPy.

JAX has one device on a processor unless told otherwise before it starts: this file, run as a
script in a fresh process, computes on four and prints how far both are apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NamedTuple

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from irtkit import ItemParameters, add_synthetic, simulate_responses
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.irf import Items
from irtkit.quadrature import Grid, compiled, engine_of, fixed_nodes
from irtkit.quadrature.compiled import JaxEngine
from irtkit.quadrature.engines import NumpyEngine

FOUR_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}


class Case(NamedTuple):
    """Responses, how devices are laid out, and what is worked on at once."""

    n_respondents: int
    guessing: float
    missing: float
    trials: int
    devices: list[int] | list[list[int]]
    table: int = 2**18


CASES = {
    "complete responses on one device": Case(41, 0.0, 0.0, 1, [0]),
    "missing responses on three devices, two respondents short": Case(40, 0.0, 0.3, 1, [0, 1, 2]),
    "guessing on a mesh of two axes": Case(41, 0.2, 0.1, 1, [[3, 1], [0, 2]]),
    "repeated trials in several parts by device": Case(41, 0.0, 0.2, 3, [1, 3], 7 * 48),
    "fewer respondents than devices": Case(1, 0.0, 0.0, 1, [0, 1, 2, 3]),
}


def problem(case: Case) -> tuple[Patterns, Items, Grid]:
    generator = np.random.default_rng(3)
    guessing = np.full(12, case.guessing)
    items = ItemParameters(generator.normal(0.8, 0.8, 12), generator.normal(size=12), guessing)
    responses = simulate_responses(
        items,
        generator.normal(size=case.n_respondents),
        missing=case.missing,
        trials=case.trials,
        seed=5,
    )
    if case.trials == 1:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    logit = np.log(guessing / (1 - guessing)) if case.guessing else None
    nodes = fixed_nodes(41, 6.0)
    grid = Grid(nodes, np.stack([nodes.normal_log_weights(sd) for sd in (1.0, 3.0)]))
    rows = patterns_of(responses, synthetic_is_real=False)
    return rows, Items(items.discrimination, items.intercept, logit), grid


def farthest_apart(case: Case) -> float:
    """Largest difference between NumPy and the mesh in sums, and in posteriors."""
    rows, items, grid = problem(case)
    vars(compiled)["BLOCK"] = case.table
    devices = np.array(jax.devices())[np.array(case.devices)]
    mesh = Mesh(devices, ("x", "y")[: devices.ndim])
    one, other = NumpyEngine(rows), engine_of(rows, with_guessing=case.guessing > 0, mesh=mesh)
    pairs = zip(
        [*one.sums(items, grid, exact=True), *one.posteriors(items, grid)],
        [*other.sums(items, grid, exact=True), *other.posteriors(items, grid)],
        strict=True,
    )
    apart = [np.abs(b - a).max() if a.shape == b.shape else np.inf for a, b in pairs]
    return float(np.max(apart))


@pytest.fixture(scope="module")
def differences() -> dict[str, float]:
    command = [sys.executable, "-W", "error", __file__]
    environment = os.environ | FOUR_DEVICES
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, timeout=120)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_mesh_gives_what_numpy_gives(name: str, differences: dict[str, float]) -> None:
    assert differences[name] < 1e-9


def test_a_mesh_that_the_caller_has_set_is_not_in_the_way() -> None:
    rows, items, grid = problem(CASES["complete responses on one device"])
    devices = np.array(jax.devices()[:1])
    with jax.set_mesh(Mesh(devices.reshape(1, 1), ("x", "y"))):
        found = JaxEngine(rows, Mesh(devices, ("z",))).posteriors(items, grid)
    assert found.mean == pytest.approx(NumpyEngine(rows).posteriors(items, grid).mean, abs=1e-10)


if __name__ == "__main__":
    print(json.dumps({name: farthest_apart(case) for name, case in CASES.items()}))  # noqa: T201
