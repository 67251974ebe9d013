"""Interrupted runs go on as if they had not been, and only with their own checkpoint."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from irtkit import (
    FitResult,
    ItemPrior,
    LogNormal,
    Normal,
    ResponseMatrix,
    Variational,
    fit,
)
from tests.crowds import crowd

if TYPE_CHECKING:
    from irtkit.irf import ModelName

LIMIT = 120.0
"""Seconds after which processes are ended."""
LOG_NORMAL = ItemPrior(LogNormal(0.0, 0.5), Normal(0.0, 2.0))
SETTINGS: dict[str, tuple[ModelName, dict[str, Any]]] = {
    "2PL": ("2PL", {}),
    "Rasch": ("Rasch", {}),
    "3PL": ("3PL", {}),
    "learned": ("2PL", {"prior": "empirical"}),
    "batches": ("2PL", {"batch": 30}),
    "signs, grid": ("2PL", {"prior": LOG_NORMAL, "quadrature": (41, 6.0)}),
}


def drawn(seed: int = 0, n: int = 90) -> ResponseMatrix:
    values = crowd("wide-spread" if n > 200 else "ordinary").responses.values
    return ResponseMatrix(values[seed : seed + n, :8])


def same(one: FitResult, other: FitResult) -> None:
    for name in ("ability", "ability_se", "standard_errors", "trace_rows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("discrimination", "intercept", "guessing"):
        np.testing.assert_array_equal(
            getattr(one.parameters, name), getattr(other.parameters, name)
        )
    assert (one.elbo, one.log_likelihood) == (other.elbo, other.log_likelihood)
    assert (one.converged, one.n_iterations) == (other.converged, other.n_iterations)
    assert one.settings.prior == other.settings.prior


def fitted(
    responses: ResponseMatrix,
    model: ModelName = "2PL",
    *,
    batch: int | None = None,
    checkpoint: Path | None = None,
    max_iterations: int = 1000,
    **rest: Any,
) -> FitResult:
    method = Variational(max_iterations=max_iterations, batch=batch, checkpoint=checkpoint)
    return fit(responses, model, method=method, **rest)


def interrupted(responses: ResponseMatrix, model: ModelName, *, steps: int, **rest: Any) -> None:
    with pytest.warns(UserWarning, match="had not settled"):
        fitted(responses, model, max_iterations=steps, **rest)


@pytest.mark.parametrize(("kind", "steps"), [*zip(SETTINGS, (2, 13) * 3, strict=True)])
def test_a_run_that_ran_out_of_steps_goes_on_to_the_same_numbers(
    tmp_path: Path, kind: str, steps: int
) -> None:
    model, settings = SETTINGS[kind]
    responses, path = drawn(n=400 if model == "3PL" else 90), tmp_path / "state.npz"
    interrupted(responses, model, steps=steps, checkpoint=path, **settings)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
    again = fitted(responses, model, checkpoint=path, **settings)
    same(again, fitted(responses, model, **settings))


@pytest.mark.parametrize("kind", ["learned", "batches"])
def test_a_finished_run_is_read_back_without_another_step(tmp_path: Path, kind: str) -> None:
    (model, settings), responses, path = SETTINGS[kind], drawn(), tmp_path / "state"
    first = fitted(responses, model, checkpoint=path, **settings)
    kept = path.read_bytes()
    same(fitted(responses, model, checkpoint=path, **settings), first)
    assert path.read_bytes() == kept


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    # at a moment of no particular kind, wherever in a step or in the writing of a file it falls
    path, delay = tmp_path / "state", random.uniform(0.0, 0.6)  # noqa: S311
    command = [sys.executable, "-W", "error", __file__, str(path)]
    with subprocess.Popen(command) as process:
        start = time.monotonic()
        while not path.exists() and process.poll() is None and time.monotonic() < start + LIMIT:
            time.sleep(0.01)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        assert process.wait(LIMIT) == -signal.SIGKILL, delay
    assert path.exists(), delay
    reached = endless(path, 1).n_iterations  # one that is further on is taken as it is
    same(endless(path, reached + 5), endless(None, reached + 5))


def endless(path: Path | None, steps: int) -> FitResult:
    """A fit that no number of steps brings to its tolerance."""
    method = Variational(checkpoint=path, tol=1e-12, max_iterations=steps)
    with pytest.warns(UserWarning, match="had not settled"):
        return fit(drawn(2), method=method)


def test_a_file_that_is_no_whole_checkpoint_is_refused_by_name(tmp_path: Path) -> None:
    responses, path, other = drawn(), tmp_path / "state.npz", tmp_path / "fit"
    interrupted(responses, "2PL", steps=2, checkpoint=path)
    fit(responses).save(other)
    content = path.read_bytes()
    for wrong in (content[: len(content) // 2], b"", b"respondent,item\n", other.read_bytes()):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"state\.npz is not a .*irtkit variational check"):
            fitted(responses, checkpoint=path)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"model": "1PL"}, "model"),
        ({"prior": LOG_NORMAL}, "prior"),
        ({"seed": 1}, "seed"),
        ({"batch": 20}, "batch"),
        ({"quadrature": (41, 6.0)}, "quadrature"),
        ({"responses": drawn(9)}, "responses"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused_by_what_differs(
    tmp_path: Path, changed: dict[str, Any], named: str
) -> None:
    path = tmp_path / "state"
    interrupted(drawn(), "2PL", steps=2, checkpoint=path)
    arguments = {"responses": drawn(), "model": "2PL", **changed}
    with pytest.raises(ValueError, match=f"made with other {named}"):
        fitted(checkpoint=path, **arguments)


if __name__ == "__main__":
    endless(Path(sys.argv[1]), 10**6)
