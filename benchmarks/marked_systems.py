"""How often the leaderboard marks a system as "misfit", on clean boards and on boards with leaks.

Simulated boards follow a 2PL. "clean" boards have no leak: printed is the share of boards with a
marked system. On the other boards the first system is changed:

- key: it is right on all items, and 4 % of the items have a wrong key
- copied: it is of middling ability and is right on all of a random half of the items
- guessed: it is able, and its answers to a random half of the items are coin flips

Printed are the share of boards on which that system is marked, and on which another one is. For
real boards, looked for in ``--data``, printed is the number of marked systems.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store

import irtkit
from irtkit.systems.leaderboard import _ERROR_RATE, improbable_right

SHAPES = ((12, 100), (50, 20), (100, 100), (100, 300), (500, 100), (500, 300))
KINDS = ("clean", "key", "copied", "guessed")
REAL = (
    *("metabench_arc", "nlu_rte", "nlu_commonsenseqa", "aid_optdigits", "aid_diabetes"),
    *("sat12", "timss07_g8_rus_binary", "irt4ml_statlog_heart"),
)
SEEDS = 20


def main() -> None:
    """Print a line for each shape and kind, and real board; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for n, n_items in part(SHAPES, 0, 1):
        for kind in KINDS:
            marks = [marked(simulated(n, n_items, kind, seed)) for seed in range(options.seeds)]
            found.append(
                {
                    "systems": n,
                    "items": n_items,
                    "kind": kind,
                    "boards": len(marks),
                    "first_marked": float(np.mean([mark[0] for mark in marks])),
                    "another_marked": float(np.mean([mark[1:].any() for mark in marks])),
                }
            )
            print(found[-1], flush=True)
    for name in part(REAL, 5):
        path = options.data / f"{name}.csv.gz"
        if path.exists():
            values = pd.read_csv(path, index_col=0).fillna(-1).to_numpy(dtype=int)
            found.append(
                {"board": name, "systems": len(values), "marked": int(marked(values).sum())}
            )
            print(found[-1], flush=True)
    store(options, records=found)


def simulated(n: int, n_items: int, kind: str, seed: int) -> Any:
    """Right and wrong answers of a board, the first row being the changed system."""
    generator = np.random.default_rng([seed, n, n_items])
    slope, theta = generator.lognormal(0, 0.4, n_items), np.sort(generator.normal(size=n))
    place = {"copied": n // 3, "guessed": 2 * n // 3}.get(kind, 0)
    theta[[0, place]] = theta[[place, 0]]
    logits = slope * (theta[:, None] - generator.normal(-0.5, 1, n_items))
    values = (generator.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    half = generator.choice(n_items, n_items // 2, replace=False)
    if kind == "key":
        wrong = half[: max(2, n_items // 25)]
        values[:, wrong] = 1 - values[:, wrong]
        values[0] = 1
    elif kind == "copied":
        values[0, half] = 1
    elif kind == "guessed":
        values[0, half] = generator.integers(0, 2, len(half))
    return values


def marked(values: Any) -> Any:
    """Whether each system is marked."""
    result = irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)
    return improbable_right(result) < np.log(_ERROR_RATE / len(values))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    main()
