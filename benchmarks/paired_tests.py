"""Whether the paired t-test of two systems keeps its level on real matrices.

Boards are draws of systems and items from real matrices. *Swapped*: two systems whose answers to
each item are exchanged at random, so that neither is better. *Near-duplicates*: the pairs of a
board that answer most alike, swapped too. Printed: the share of pairs with p < 0.05.

``--data`` names another folder with the real matrices.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store

from irtkit.systems.paired import mean_of

MATRICES = {  # Systems and items of a board.
    "nlu_commonsenseqa": (90, 300),
    "metabench_arc": (40, 100),
    "aid_optdigits": (40, 300),
    "nlu_rte": (90, 139),
    "aid_diabetes": (100, 300),
}
SWAPPED, ALIKE = 8, 6  # Pairs of a board, of different systems.


def alike(values: Any, n: int) -> list[Any]:
    """Pairs that agree most beyond what their accuracies explain, each system in one pair."""
    with np.errstate(invalid="ignore"):  # of a system that is right on every item
        together = np.nan_to_num(np.corrcoef(values), nan=-1.0)
    np.fill_diagonal(together, -1)
    found: list[Any] = []
    for place in np.argsort(-together, axis=None):
        pair = np.unravel_index(place, together.shape)
        free = not set(map(int, pair)) & {int(k) for one in found for k in one}
        if len(found) < n and free and (values[pair[0]] != values[pair[1]]).sum() > 5:
            found.append(pair)
    return found


def p_values(values: Any, pairs: list[Any], g: np.random.Generator) -> list[float]:
    """Of pairs whose answers to each item are exchanged at random."""
    p = []
    for one, other in pairs:
        signs = np.where(g.random(values.shape[1]) < 0.5, -1, 1)
        p.append(mean_of(signs * (values[one].astype(float) - values[other])).p_value)
    return p


def main() -> None:
    """Print the table, and store all figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED, help="Folder of the matrices")
    parser.add_argument("--boards", type=int, default=150)
    options = parser.parse_args()
    print("| board | swapped | near-duplicates |")
    print("|---|---|---|")
    records = []
    for name, (n, n_items) in part(MATRICES, "metabench_arc").items():
        frame = pd.read_csv(options.data / f"{name}.csv.gz", index_col=0)
        whole = frame.loc[:, frame.notna().all()].to_numpy(np.int8)
        swapped: list[float] = []
        near: list[float] = []
        for seed in range(options.boards):
            g = np.random.default_rng([seed, 13])
            some = g.choice(len(whole), min(n, len(whole)), replace=False)
            values = whole[some][:, g.choice(whole.shape[1], n_items, replace=False)]
            pairs = g.permutation(len(values))[: 2 * SWAPPED].reshape(-1, 2)
            swapped += p_values(values, list(pairs), g)
            near += p_values(values, alike(values, ALIKE), g)
        rejected = [float(np.mean(np.array(each) < 0.05)) for each in (swapped, near)]
        records.append({
            "board": name, "systems": n, "items": n_items, "boards": options.boards,
            "swapped_pairs": len(swapped), "swapped": rejected[0],
            "alike_pairs": len(near), "alike": rejected[1],
        })  # fmt: skip
        print(f"| {name} | {rejected[0]:.3f} | {rejected[1]:.3f} |", flush=True)
    store(options, boards=records)


if __name__ == "__main__":
    main()
