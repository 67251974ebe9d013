"""Whether intervals of scores by task and of the macro average hold the true scores.

Systems have an ability for each task, normal with the given correlation. Items are 2PL, with slopes
lognormal with an SD of 0.3 on the log scale, and difficulties with an SD of 1 about means from −0.8
(first task) to 0.8 (last). The true score of a task is the mean over 4,000 items like these, and
true ranks are by the mean over tasks. In *passages* of four items, difficulties share a part with
an SD of 0.8, and are clusters. Missing cells are missing at random. A pair is two systems chosen
beforehand, compared on average by ``compare_systems``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit

N_SYSTEMS, N_LIKE_THESE = 20, 4000
SETTINGS = (  # Items of tasks, correlation, share of missing cells, items of a passage.
    ((20, 60, 120), 0.6, 0.0, 1),
    ((10, 10, 10, 10, 10, 200), 0.6, 0.0, 1),
    ((40, 40, 80), 0.6, 0.0, 4),
    ((40, 60, 80), 1.0, 0.3, 1),
    ((40, 60, 80), 0.6, 0.3, 1),
)


def drawn(
    sizes: tuple[int, ...], correlation: float, missing: float, passage: int, seed: int
) -> tuple[irtkit.ResponseMatrix, Any]:
    """Responses with their tasks and passages, and the true score of each system on each task."""
    generator, n_tasks = np.random.default_rng(seed), len(sizes)
    covariance = correlation + (1 - correlation) * np.eye(n_tasks)
    theta = generator.multivariate_normal(np.zeros(n_tasks), covariance, N_SYSTEMS)
    task, centre = np.repeat(np.arange(n_tasks), sizes), np.linspace(-0.8, 0.8, n_tasks)
    group = np.arange(len(task)) // passage
    shared = generator.normal(0, 0.8, group.max() + 1)[group] if passage > 1 else 0.0
    difficulty = generator.normal(0, 0.6 if passage > 1 else 1.0, len(task)) + shared

    def answered(which: Any, difficulty: Any) -> Any:
        slope = generator.lognormal(0, 0.3, len(which))
        return 1 / (1 + np.exp(-slope * (theta[:, which] - centre[which] - difficulty)))

    values = (generator.random((N_SYSTEMS, len(task))) < answered(task, difficulty)) * 1.0
    values[generator.random(values.shape) < missing] = np.nan
    like = np.repeat(np.arange(n_tasks), N_LIKE_THESE)
    true = answered(like, generator.normal(size=len(like))).reshape(N_SYSTEMS, n_tasks, -1)
    responses = irtkit.ResponseMatrix(values)
    about = pd.DataFrame({"task": [f"t{k}" for k in task], "group": group}, [*responses.items])
    return responses.with_tables(about), true.mean(axis=2)


def held(table: Any, name: str, truth: Any) -> Any:
    """Where an interval holds the truth."""
    return (table[f"{name}_low"] <= truth) & (truth <= table[f"{name}_high"])


def measured(setting: Any, boards: int) -> dict[str, Any]:
    """Coverage over some boards."""
    sizes, correlation, missing, passage = setting
    how: Any = {"by": "task", "clusters": "group" if passage > 1 else None}
    found: dict[str, list[Any]] = {name: [] for name in ("tasks", "average", "ranks", "pairs")}
    for seed in range(boards):
        responses, true = drawn(sizes, correlation, missing, passage, seed)
        result = irtkit.fit(responses)
        board = result.leaderboard(**how).loc[[*responses.respondents]]
        average = true.mean(axis=1)
        names = [f"score_t{k}" for k in range(len(sizes))]
        found["tasks"].append([held(board, one, true[:, k]) for k, one in enumerate(names)])
        found["average"].append(held(board, "average", average))
        found["ranks"].append(held(board, "rank", 1 + (average > average[:, None]).sum(axis=1)))
        for k in range(0, 10, 2):
            pair = irtkit.compare_systems(result, *responses.respondents[k : k + 2], **how)
            row = pair.loc["average"]
            found["pairs"].append(row["low"] <= average[k] - average[k + 1] <= row["high"])
    coverage = {name: float(np.mean(values)) for name, values in found.items()}
    settings = {"correlation": correlation, "missing": missing, "passage": passage}
    least = float(np.mean(found["tasks"], axis=(0, 2)).min())
    return {"items": list(sizes), **settings, "boards": boards, "least": least, **coverage}


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--boards", type=int, default=200, help="boards of every setting")
    options = parser.parse_args()
    print("| items | correlation | missing | passage | tasks | least | average | ranks | pairs |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    with warnings.catch_warnings(action="ignore", category=irtkit.IRTWarning):
        for setting in part(SETTINGS, 0):
            rows.append(row := measured(setting, options.boards))
            cells = [f"{row[name]:.1%}" for name in ("tasks", "least", "average", "ranks", "pairs")]
            print(f"| {' | '.join([*map(str, setting), *cells])} |", flush=True)
    store(options, studies=rows)


if __name__ == "__main__":
    main()
