"""False discoveries of negative slopes where families of respondents are named.

`irtkit.flag_items` is called without families, with ``families="similar"``, and with the true
families. Data are those of ``benchmarks/near_copies.py``. The settings lie where similar
respondents miss many pairs, and where there are few families. Printed: the number of items called,
the share of them that is false (0 where none is called), the mean of which over data sets the rate
is meant to hold, that of all calls together, and the share of the inverted items called.

Run with ``make studies``; ``--out benchmarks/results/named_families.json`` stores the figures.
"""

from __future__ import annotations

import warnings
from typing import Any

import near_copies
import numpy as np
from machine import arguments, part, store

import irtkit

SETTINGS = [
    *((10, 20, 0.1, 100), (20, 10, 0.05, 100), (20, 10, 0.1, 100), (40, 5, 0.2, 100)),
    *((60, 4, 0.05, 100), (200, 1, 0.0, 100), (10, 20, 0.1, 50), (40, 5, 0.2, 50)),
    *((2, 20, 0.1, 100), (3, 20, 0.1, 100)),
]
"""Families, their size, the share of answers changed, and items."""


def measured(n_families: int, size: int, noise: float, n_items: int, sets: int) -> dict[str, Any]:
    """What is called without families, with similar ones and with the true ones."""
    draw = near_copies.families(n_families, size, noise, n_items)
    family = np.repeat(range(n_families), size).tolist()
    ways = {"unnamed": None, "similar": "similar", "true": family}
    rows: dict[str, list[tuple[int, int, float]]] = {way: [] for way in ways}
    for seed in range(sets):
        values, wrong = draw(np.random.default_rng([seed, near_copies.SEED]))
        result = irtkit.fit(irtkit.ResponseMatrix(values), "1PL", standard_errors=False)
        inverted = {result.item_labels[j] for j in np.flatnonzero(wrong)}
        for way, families in ways.items():
            reasons = irtkit.flag_items(result, families=families)["reasons"]
            called = {item for item, listed in reasons.items() if "negative" in listed}
            n_found = len(called & inverted)
            rows[way].append((len(called), len(called) - n_found, n_found / len(inverted)))
    setting = f"{n_families} × {size}, {noise:.0%}, {n_items} items".replace("%", " %")
    figures: dict[str, Any] = {"setting": setting, "data_sets": sets}
    for way, of_sets in rows.items():
        n_called, n_false, found = np.array(of_sets, dtype=float).T
        figures |= {
            f"{way} called": int(n_called.sum()),
            f"{way} false": float((n_false / np.maximum(n_called, 1)).mean()),
            f"{way} false of all": float(n_false.sum() / max(n_called.sum(), 1)),
            f"{way} found": float(found.mean()),
        }
    return figures


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of every setting")
    options = parser.parse_args()
    warnings.simplefilter("ignore", irtkit.IRTWarning)
    labels = "called", "false", "false of all", "found"
    head = ["setting", "families", *labels]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    studies = []
    for setting in part(SETTINGS, 8):
        studies.append(figures := measured(*setting, options.sets))
        for way in ("unnamed", "similar", "true"):
            n_called, *shares = (figures[f"{way} {label}"] for label in labels)
            told = " | ".join(f"{share:.1%}" for share in shares)
            print(f"| {figures['setting']} | {way} | {n_called} | {told} |", flush=True)
    store(options, studies=studies)


if __name__ == "__main__":
    main()
