"""A sparse matrix gives what the dense one gives, and a dense one is never made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import irtkit

GIB = 2**30
ESTIMATES = [f"{name}{end}" for name in ("discrimination", "intercept", "guessing")
             for end in ("", "_se")] + ["status"]  # fmt: skip


def drawn(
    model: str = "2PL", n_items: int = 20, trials: int = 1, n_respondents: int = 250
) -> irtkit.ResponseMatrix:
    """Responses of which 60 % are missing, each to an item that is easy to tell apart."""
    generator = np.random.default_rng(7)
    items = irtkit.ItemParameters(
        generator.lognormal(0.2, 0.4, n_items) * np.where(np.arange(n_items) % 9 == 4, -1, 1),
        generator.normal(0, 1, n_items),
        np.full(n_items, 0.2 if model == "3PL" else 0.0),
    )
    abilities = generator.normal(size=n_respondents)
    return irtkit.simulate_responses(items, abilities, missing=0.6, trials=trials, seed=3)


def assert_same_fit(one: irtkit.FitResult, other: irtkit.FitResult) -> None:
    """Estimates within 1e-4, where the ascents ended: some 0.1 % of a standard error."""
    assert one.converged
    assert other.converged
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)
    near, exact = {"check_exact": False, "rtol": 0, "atol": 1e-4}, ["average_error", "n_responses"]
    pd.testing.assert_frame_equal(one.items[ESTIMATES], other.items[ESTIMATES], **near)
    pd.testing.assert_frame_equal(one.respondents, other.respondents, **near)
    pd.testing.assert_frame_equal(one.items[exact], other.items[exact])
    assert one.items["p_negative"].to_numpy() == pytest.approx(
        other.items["p_negative"].to_numpy(), abs=1e-9
    )


# 20 items have standard errors from the whole information, 200 from that by item
@pytest.mark.filterwarnings("ignore:No standard errors")
@pytest.mark.parametrize(
    ("model", "n_items", "trials", "kinds", "settings"),
    [
        ("1PL", 20, 1, (), {}),
        ("2PL", 200, 1, (), {"prior": "empirical"}),
        ("3PL", 40, 1, (), {"prior": irtkit.WeakPrior(chance=0.2)}),
        ("2PL", 20, 1, ("always-wrong", "coin"), {"prior": None}),
        ("2PL", 20, 3, ("always-right",), {"quadrature": (41, 6.0)}),
    ],
)
def test_a_fit_is_that_of_the_dense_matrix(
    model: Any, n_items: int, trials: int, kinds: Any, settings: Any
) -> None:
    responses = drawn(model, n_items, trials)
    crowd, few = (
        irtkit.add_synthetic(matrix, kinds) if kinds else matrix
        for matrix in (responses, responses.to_sparse())
    )
    assert few == crowd
    settings = {"method": irtkit.EM(tol=1e-9), **settings}
    assert_same_fit(*(irtkit.fit(matrix, model, **settings) for matrix in (few, crowd)))


_FIT_IN_LITTLE_MEMORY = """
import json
import numpy as np, pandas as pd
import irtkit

generator = np.random.default_rng(0)
n, m, each = 200_000, 20_000, 2
item = (generator.integers(0, m // each, (n, 1)) + np.arange(each) * (m // each)).ravel()
ability = np.repeat(generator.normal(size=n), each)
right = generator.random(n * each) < 1 / (1 + np.exp(-ability))
frame = pd.DataFrame({"respondent": np.repeat(np.arange(n), each), "item": item, "response": right})
responses = irtkit.ResponseMatrix.from_long(frame, sparse=True)
result = irtkit.fit(responses, "2PL", method=irtkit.EM(tol=1e-3), progress=False)
print(result)
# not ru_maxrss, which counts what the process that started this one held
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
n_responses = int(result.items["n_responses"].sum())
print(json.dumps([responses.n_respondents, responses.n_items, n_responses,
                  int(peak.split()[1])]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told elsewhere")
def test_a_matrix_of_four_thousand_million_cells_is_fitted_in_little_memory() -> None:
    command = [sys.executable, "-c", _FIT_IN_LITTLE_MEMORY]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    n_respondents, n_items, n_responses, kibibytes = json.loads(found.splitlines()[-1])
    assert (n_respondents, n_items, n_responses) == (200_000, 20_000, 400_000)
    assert kibibytes * 1024 < 1.5 * GIB
