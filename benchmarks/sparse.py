"""Time and peak memory of a fit to a long table in which few cells are observed.

By default a million respondents answer ten of ten thousand items each: one cell in a thousand, of
ten thousand million. Responses are drawn from a 2PL with lognormal slopes (SD 0.3 on the log
scale), standard normal difficulties and abilities; which items a respondent gets is drawn at
random. Everything happens in one fresh process: the long DataFrame is drawn, the sparse matrix
made of it, and the model fitted with default settings, standard errors included. The peak is the
largest resident size of that process over its whole life, so it counts the interpreter and the
DataFrame, and nothing is taken off.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, store
from scipy.stats import spearmanr

import irtkit

_AT_ONCE = 2**20
"""Responses that are drawn at a time."""


def simulate(
    n_respondents: int, items: irtkit.ItemParameters, n_responses: int, seed: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Long table with as many responses by every respondent, and the abilities.

    A respondent gets equally spaced items, from a random one on and in a random order of all, so
    that none comes twice.
    """
    generator = np.random.default_rng(seed)
    ability = generator.normal(size=n_respondents)
    each, n_items = max(n_responses // n_respondents, 1), items.n_items
    columns = np.empty((n_respondents, each), dtype=np.int32)
    right = np.empty((n_respondents, each), dtype=np.int8)
    step = max(1, _AT_ONCE // each)
    for first in range(0, n_respondents, step):
        some = slice(first, min(first + step, n_respondents))
        start = generator.integers(0, n_items, (some.stop - first, 1))
        order = generator.permutation(n_items)
        at = order[(start + np.arange(each) * (n_items // each)) % n_items]
        logits = items.discrimination[at] * ability[some, None] + items.intercept[at]
        columns[some], right[some] = at, generator.random(at.shape) < 1 / (1 + np.exp(-logits))
    frame = pd.DataFrame(
        {
            "respondent": np.repeat(np.arange(n_respondents), each),
            "item": columns.reshape(-1),
            "response": right.reshape(-1),
        }
    )
    return frame, ability


def measure(shape: tuple[int, int, int], model: Any, method: Any, seed: int) -> dict[str, Any]:
    """Draw, make the matrix and fit; figures of all three."""
    n_respondents, n_items, n_responses = shape
    generator = np.random.default_rng([seed, 1])
    slope = generator.lognormal(0, 0.3, n_items)
    truth = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    frame, ability = simulate(n_respondents, truth, n_responses, seed)
    print(f"drawn: {peak():.2f} GiB", file=sys.stderr, flush=True)
    began = time.perf_counter()
    responses = irtkit.ResponseMatrix.from_long(frame, sparse=True)
    made = time.perf_counter()
    order = [int(label) for label in responses.items]
    rows = [int(label) for label in responses.respondents]
    del frame
    print(f"{responses}: {peak():.2f} GiB", file=sys.stderr, flush=True)
    fitting = time.perf_counter()
    result = irtkit.fit(responses, model, method=method)
    fitted = time.perf_counter()
    found = result.items
    tabled = time.perf_counter()
    error = found["discrimination"].to_numpy() - truth.discrimination[order]
    return {
        "respondents": responses.n_respondents,
        "items": responses.n_items,
        "responses": int(found["n_responses"].sum()),
        "model": model,
        "method": method,
        "seconds_matrix": made - began,
        "seconds_fit": fitted - fitting,
        "seconds_items": tabled - fitted,
        "evaluations": result.n_iterations,
        "nodes": result.quadrature.n_nodes,
        "converged": result.converged,
        "peak_gib": peak(),
        "spearman_difficulty": spearman(found["difficulty"], truth.difficulty[order]),
        "rmse_discrimination": float(np.sqrt(np.mean(error**2))),
        "mean_discrimination_se": float(found["discrimination_se"].mean()),
        "spearman_ability": spearman(result.ability, ability[rows]),
    }


def spearman(one: Any, other: Any) -> float:
    """Rank correlation."""
    return float(spearmanr(one, other).statistic)


def peak() -> float:
    """Largest resident size of this process so far, in GiB."""
    told = Path("/proc/self/status")
    if told.exists():  # ru_maxrss would count what the process that started this one held
        (line,) = (x for x in told.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def main() -> None:
    """Print the figures, and store them where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--respondents", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--responses", type=int, default=10_000_000)
    parser.add_argument("--model", default="2PL")
    parser.add_argument("--method", default="em")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shape = (options.respondents, options.items, options.responses)
    record = measure(shape, options.model, options.method, options.seed)
    for name, value in record.items():
        print(f"{name:24} {value:,.4g}" if isinstance(value, float) else f"{name:24} {value}")
    store(options, fits=[record])


if __name__ == "__main__":
    main()
