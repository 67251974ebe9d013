"""How well `irtkit.wrong_keys` finds wrong keys, with and without the answers.

A random 2 % of the items, 8 or more, get a wrong key. *Inverted*: responses are inverted.
*Distractor*: 40 % of those who fail an item choose the answer that its key was moved to. *Class*:
the key of a digit is another class; *second class*: the class second in the votes of the crowd.
Printed: average precision of the order by `p_negative` and by `wrong_keys`, without and with the
answers, and how many items are called at a nominal 10 % (the mean of 1 − p_wrong_key), and the
share of these that was not planted. Simulated data follow a 2PL.
*None*: no wrong keys; all calls are false. Real matrices hold suspect items of their own.

``--data`` names a folder with metabench_arc.csv.gz.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import SHARED, arguments, part, store
from sklearn.metrics import average_precision_score

import irtkit

NOMINAL = 0.1


def figures(responses: Any, planted: Any, answers: pd.DataFrame | None = None) -> list[float]:
    """Average precisions, calls, and the false share of the calls."""
    result = irtkit.fit(responses, standard_errors=False)
    found = irtkit.wrong_keys(result)
    orders = [result.items["p_negative"], found["log_bayes_factor"]]
    if answers is not None:
        found = irtkit.wrong_keys(result, answers)
        orders.append(found["log_bayes_factor"])
    labels = list(result.item_labels)
    wrong = pd.Series(np.isin(np.arange(len(labels)), planted), labels)
    precision = [
        average_precision_score(wrong, order.loc[labels].fillna(-1)) if len(planted) else np.nan
        for order in orders
    ]
    p = found["p_wrong_key"].sort_values(ascending=False)
    called = p.index[((1 - p).expanding().mean() <= NOMINAL).to_numpy()]
    false = float((~wrong[called]).mean()) if len(called) else 0.0
    return [*precision, *[np.nan] * (3 - len(precision)), len(called), false]


def keyed_anew(values: Any, kind: str, g: np.random.Generator) -> tuple[Any, Any]:
    """Responses with wrong keys, and which."""
    values = values[:, (values.mean(axis=0) > 0.03) & (values.mean(axis=0) < 0.97)]
    planted = g.choice(values.shape[1], max(8, values.shape[1] // 50), replace=False)
    share = {"inverted": 1.0, "distractor": 0.4}[kind]
    values[:, planted] = (1 - values[:, planted]) * (g.random((len(values), len(planted))) < share)
    return values, planted


def digits(n: int, kind: str, g: np.random.Generator) -> list[float]:
    """Figures of so many systems of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    votes, labels = crowd.predictions, crowd.labels.to_numpy().astype(int)
    some = votes.iloc[np.sort(g.choice(len(votes), n, replace=False))]
    planted = g.choice(len(labels), len(labels) // 50, replace=False)
    for j in planted:
        others = np.bincount(votes.iloc[:, j], minlength=10) + g.random(10)
        others = others if kind == "second class" else g.random(10)
        others[labels[j]] = -1
        labels[j] = others.argmax()
    right = some.to_numpy() == labels
    return figures(irtkit.ResponseMatrix(right, some.index, some.columns), planted, some)


def simulated(shape: tuple[int, int], kind: str, g: np.random.Generator) -> list[float]:
    """Figures of simulated data, with wrong keys or without."""
    n, n_items = shape
    slopes, difficulties = g.lognormal(0, 0.4, n_items), g.normal(0, 1.5, n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    responses = irtkit.simulate_responses(items, g.normal(size=n), seed=g)
    if kind == "none":
        return figures(responses, np.arange(0))
    return figures(*keyed_anew(responses.values.copy(), kind, g))


def main() -> None:
    """Print the table, and store all figures where asked."""
    parser = arguments(__doc__)
    present = SHARED if SHARED.is_dir() else None
    parser.add_argument("--data", type=Path, default=present)
    parser.add_argument("--data-sets", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[tuple[str, Any]] = []
    if options.data is not None:
        arc = pd.read_csv(options.data / "metabench_arc.csv.gz", index_col=0).to_numpy()
        for n in (12, 50, 800):
            for kind in ("inverted", "distractor"):

                def of_board(g: Any, n: int = n, kind: str = kind) -> list[float]:
                    return figures(*keyed_anew(arc[g.choice(len(arc), n, replace=False)], kind, g))

                rows.append((f"metabench_arc {n}, {kind}", of_board))
    rows += [
        (f"digits {n}, {kind}", lambda g, n=n, kind=kind: digits(n, kind, g))
        for n in (130, 12)
        for kind in ("class", "second class")
    ]
    rows += [
        (f"{kind}, {n:,} × {n_items:,}", lambda g, s=(n, n_items), k=kind: simulated(s, k, g))
        for n, n_items in ((12, 2000), (100, 500), (1000, 1000))
        for kind in ("none", "inverted", "distractor")
    ]
    print("| setting | p_negative | wrong_keys | with answers | called | false |")
    print("|---|---|---|---|---|---|")
    records = []
    for name, work in part(rows, -9, -6):
        found = [work(np.random.default_rng([5, seed])) for seed in range(options.data_sets)]
        mean = [float(one) for one in np.mean(found, axis=0)]
        records.append({"setting": name, "figures": mean})
        print(f"| {name} | {' | '.join(f'{one:.3f}' for one in mean)} |", flush=True)
    store(options, settings=records)


if __name__ == "__main__":
    main()
