"""Whether the weighted paired t-test keeps its level, and whether its gain is what it claims.

Boards are draws of systems and items from real matrices. *Swapped*: two systems whose answers to
each item are exchanged at random, so that neither is better. *Near-duplicates*: the pairs of a
board that answer most alike, swapped too. Printed: the share of pairs with p < 0.05 by the paired
t-test and by the weighted one. The *realised* gain is (mean t_w² − 1)/(mean t² − 1) over pairs of
half of the systems, and the *reported* gain is that of pairs of the other half. Both are means over
the boards where they are known.

``--data`` names another folder with the real matrices.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store

import irtkit
from irtkit.systems.standing import Shares
from irtkit.systems.weighted import Slopes, both_tests, gain_of

MATRICES = {  # Systems and items of a board.
    "nlu_commonsenseqa": (90, 300),
    "metabench_arc": (40, 100),
    "aid_optdigits": (40, 300),
    "nlu_rte": (90, 139),
    "aid_diabetes": (100, 300),
}
SWAPPED, ALIKE = 8, 6  # Pairs of a board, of different systems.
GAINS = 40  # Boards on which the gain is measured.


def alike(values: Any, n: int) -> list[Any]:
    """Pairs that agree most beyond what their accuracies explain, each system in one pair."""
    together = np.corrcoef(values)
    np.fill_diagonal(together, -1)
    found: list[Any] = []
    for place in np.argsort(-together, axis=None):
        pair = np.unravel_index(place, together.shape)
        free = not set(map(int, pair)) & {int(k) for one in found for k in one}
        if len(found) < n and free and (values[pair[0]] != values[pair[1]]).sum() > 5:
            found.append(pair)
    return found


def p_values(values: Any, pairs: list[Any], g: np.random.Generator) -> list[list[float]]:
    """Of both tests, where the answers within each of some disjoint pairs are exchanged."""
    values = values.copy()
    for one, other in pairs:
        turned = g.random(values.shape[1]) < 0.5
        values[one, turned], values[other, turned] = values[other, turned], values[one, turned]
    result = irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)
    slopes, found = Slopes.of(result, np.arange(len(values))), []
    for pair in map(np.array, pairs):
        shares = Shares.of(result.patterns.chosen(pair))
        found.append([each.p_value for each in both_tests(slopes, shares, pair, None)])
    return found


def gains(values: Any, g: np.random.Generator) -> list[float]:
    """Reported by half of the systems, and realised on the pairs of the other half."""
    result = irtkit.fit(irtkit.ResponseMatrix(values), standard_errors=False)
    slopes, order = Slopes.of(result, np.arange(len(values))), g.permutation(len(values))
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    return [gain_of(result, slopes, half, None) for half in halves]


def main() -> None:
    """Print the table, and store all figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--boards", type=int, default=150)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| board | swapped: t, weighted | near-duplicates: t, weighted | gain: reported, realised |"
    )
    print("|---|---|---|---|")
    records = []
    for name, (n, n_items) in part(MATRICES, "metabench_arc").items():
        frame = pd.read_csv(options.data / f"{name}.csv.gz", index_col=0)
        whole = frame.loc[:, frame.notna().all()].to_numpy(np.int8)
        found: dict[str, list[Any]] = {"swapped": [], "alike": [], "gain": []}
        for seed in range(options.boards):
            g = np.random.default_rng([seed, 13])
            some = g.choice(len(whole), min(n, len(whole)), replace=False)
            values = whole[some][:, g.choice(whole.shape[1], n_items, replace=False)]
            pairs = g.permutation(len(values))[: 2 * SWAPPED].reshape(-1, 2)
            found["swapped"] += p_values(values, list(pairs), g)
            found["alike"] += p_values(values, alike(values, ALIKE), g)
            if seed < GAINS:
                found["gain"].append(gains(values, g))
        swapped, near = (
            np.mean(np.array(found[kind]) < 0.05, axis=0) for kind in ("swapped", "alike")
        )
        known = np.array([one for one in found["gain"] if np.isfinite(one).all()])
        gain = known.mean(axis=0) if len(known) else np.zeros(0)
        records.append({
            "board": name, "systems": n, "items": n_items, "boards": options.boards,
            "swapped_pairs": len(found["swapped"]), "swapped": swapped.tolist(),
            "alike_pairs": len(found["alike"]), "alike": near.tolist(),
            "gain": gain.tolist(), "gain_known": len(known),
        })  # fmt: skip
        cells = [", ".join(f"{one:.3f}" for one in each) for each in (swapped, near, gain)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    store(options, boards=records)


if __name__ == "__main__":
    main()
