"""Whether likely ranks hold the true rank, and how wide they are beside the item bootstrap's.

A board is a draw of systems and items from a real matrix, with true ranks by all of its items, or
simulated, with true ranks by expected scores on items like these. *Levels*: four levels of ability,
with equal systems that share a true rank. *Families*: five systems repeat 85 % of the answers of a
parent. *Twice*: half of the systems are exact copies of the other half. *Clusters*: items of 10 or
20 passages, on which systems differ by more than ability.

Coverage is the share of systems whose interval holds the true rank. Systems with equal scores on
all items have the best rank that they share. Of simulated systems with equal abilities, the
interval must hold one of the ranks that they share. Width is the mean number of
ranks in the interval. The bootstrap draws items, or clusters, 400 times, with percentiles of ranks.

``--data`` names the folder with the real matrices.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store

import irtkit

RESAMPLES = 400
MATRICES = {  # Systems, items and clusters of a board.
    "metabench_arc": (40, 50),
    "aid_optdigits": (40, 300),
    "nlu_commonsenseqa": (90, 300),
    "aid_diabetes": (40, 300),
    "nlu_rte": (40, 70),
}
SIMULATED = {
    "levels": (40, 200, None),
    "normal": (20, 200, None),
    "families": (40, 200, None),
    "twice": (40, 200, None),
    "10 clusters": (40, 200, 10),
    "20 clusters": (40, 300, 20),
}


def of_matrix(values: Any, n: int, n_items: int, g: np.random.Generator) -> tuple[Any, Any]:
    """Some systems and items of a matrix, and true scores on all of its items."""
    some = g.choice(len(values), min(n, len(values)), replace=False)
    items = g.choice(values.shape[1], n_items, replace=False)
    return values[np.ix_(some, items)], values[some].mean(axis=1)


def expected(kind: str, n: int, n_items: int, clusters: int | None, g: Any) -> tuple[Any, Any]:
    """Simulated responses, and true scores."""
    theta = g.normal(size=n)
    if kind == "levels":
        theta = np.repeat([-1.0, -0.3, 0.3, 1.0], n // 4)
    if kind in {"families", "twice"}:
        size = 5 if kind == "families" else 2
        theta = np.repeat(g.normal(size=n // size), size)
    number = np.arange(n_items) if clusters is None else np.arange(n_items) * clusters // n_items
    own = np.zeros((n, n_items)) if clusters is None else g.normal(0, 0.5, (n, clusters))[:, number]
    slope, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    p = 1 / (1 + np.exp(-slope * (theta[:, None] + own - difficulty)))
    values = (g.random(p.shape) < p).astype(np.int8)
    if kind in {"families", "twice"}:
        copied = g.random(p.shape) < (0.85 if kind == "families" else 1.0)
        values = np.where(copied, np.repeat(values[::size], size, axis=0), values)
    return values, np.round(theta, 9)  # all systems meet the same items, and spread alike


def bootstrap(values: Any, number: Any, g: np.random.Generator) -> tuple[Any, Any]:
    """Percentile intervals of ranks, by items or clusters drawn anew."""
    sums = np.stack([np.bincount(number, row) for row in values], axis=1)
    weights = g.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
    scores = np.round(weights @ sums / (weights @ np.bincount(number))[:, None], 9)
    ranks = 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0, method="nearest")
    return low, high


def figures(values: Any, true: Any, clusters: int | None, g: Any, *, shared: bool) -> list[float]:
    """Coverage, width and coverage of the top tenth: likely, simultaneous and bootstrap ranks."""
    n_items = values.shape[1]
    number = np.arange(n_items) if clusters is None else np.arange(n_items) * clusters // n_items
    matrix = irtkit.ResponseMatrix(values)
    named = None if clusters is None else dict(zip(matrix.items, number, strict=True))
    board = irtkit.fit(matrix, standard_errors=False).leaderboard(clusters=named)
    board = board.loc[list(matrix.respondents)]
    rank = last = 1 + (true[None] > true[:, None]).sum(axis=1)
    if shared:
        last = len(true) - (true[None] < true[:, None]).sum(axis=1)
    top = rank <= max(len(rank) // 10, 1)
    found = []
    for low, high in (
        (board["rank_low"], board["rank_high"]),
        (board["rank_low_simultaneous"], board["rank_high_simultaneous"]),
        bootstrap(values, number, g),
    ):
        held = np.asarray((low <= last) & (rank <= high))
        found += [float(held.mean()), float((high - low + 1).mean()), float(held[top].mean())]
    return found


def main() -> None:
    """Print the table, and store all figures where asked."""
    parser = arguments(__doc__)
    present = SHARED if SHARED.is_dir() else None
    parser.add_argument("--data", type=Path, default=present)
    parser.add_argument("--boards", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    kinds: list[tuple[str, Any, int | None]] = []
    for name, shape in MATRICES.items() if options.data else ():
        values = pd.read_csv(options.data / f"{name}.csv.gz", index_col=0)
        whole = values.loc[:, values.notna().all()].to_numpy(np.int8)
        kinds.append((name, partial(of_matrix, whole, *shape), None))
    for kind, setting in SIMULATED.items():
        kinds.append((kind, partial(expected, kind.split()[-1], *setting), setting[2]))
    print("| boards | coverage | width by bootstrap's | top tenth | all at once: coverage, width |")
    print("|---|---|---|---|---|")
    records = []
    for name, work, clusters in part(kinds, -5):
        found = []
        for seed in range(options.boards):
            g = np.random.default_rng([seed, 11])
            values, true = work(g)
            found.append(figures(values, true, clusters, g, shared=name in SIMULATED))
        mean = np.mean(found, axis=0).tolist()
        names = [f"{of}_{what}" for of in ("likely", "simultaneous", "bootstrap")
                 for what in ("coverage", "width", "top")]  # fmt: skip
        record = {"board": name, "boards": options.boards, **dict(zip(names, mean, strict=True))}
        record["ratio"] = record["likely_width"] / record["bootstrap_width"]
        records.append(record)
        print(
            f"| {name} | {mean[0]:.3f} (bootstrap {mean[6]:.3f}) | {record['ratio']:.2f} of "
            f"{mean[7]:.1f} | {mean[2]:.3f} ({mean[8]:.3f}) | {mean[3]:.3f}, {mean[4]:.1f} |",
            flush=True,
        )
    store(options, boards=records)


if __name__ == "__main__":
    main()
