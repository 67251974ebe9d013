"""How well difficulty is predicted from features, on sets of the AAAI-22 paper.

Six sets of the paper (from ``../shared/data``; skipped where that is not) and the digits crowd. Of
the features the class, the accuracy and what else tells the answers is left out (the paper seems to
have fed both); of SST nothing but an order of the sentences is stored, so that it shows what comes
out where nothing can be predicted. 1PL difficulty of real systems, weak prior.

Printed: the rank correlation of a random forest beside that of a direct script of scikit-learn on
the same division; and how many held-out items intervals of 90 % hold, over ``--draws`` divisions.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, part, store
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestRegressor

import irtkit
from irtkit.prediction import difficulty_targets

DATA = Path(__file__).parents[2] / "shared/data"
SETS = ("liver-disorders", "diabetes", "sat", "SST", "tptp", "optdigits")
NOT_FEATURES = [
    *("class", "label", "Truth_SAT", "Truth_UNSAT", "meanACC", "Dffclt", "source_name", "batch"),
    *("real_total", "real_total_dedup", "rnd_total"),
]
INTERVALS_BY = "gradient boosting"


def of_paper(name: str) -> tuple[pd.DataFrame, irtkit.ResponseMatrix]:
    """Features and responses of a set of the paper, duplicates dropped."""
    items = pd.read_csv(DATA / f"aid_{name}_reference_items.csv.gz")
    table = pd.read_csv(DATA / f"aid_{name}.csv.gz", index_col=0)
    known = pd.read_csv(DATA / f"aid_{name}_respondents.csv.gz", index_col=0)
    first = (known.loc[table.index, "exact_duplicate"] == 0).to_numpy()
    responses = irtkit.ResponseMatrix.from_frame(table[first][items["item"]])
    features = items.set_index("item").drop(columns=NOT_FEATURES, errors="ignore")
    if not features.shape[1]:
        features["place"] = np.arange(len(features))
    return features, responses


def of_crowd() -> tuple[pd.DataFrame, irtkit.ResponseMatrix]:
    """Pixels and responses of the digits crowd."""
    crowd = irtkit.load_digits_crowd()
    pixels = pd.DataFrame(load_digits().data, index=crowd.labels.index)
    return pixels.rename(columns="pixel{}".format), crowd.responses


def direct(features: pd.DataFrame, targets: pd.DataFrame) -> tuple[float, float]:
    """Rank correlations of irtkit and of a script without it, on one division."""
    held = np.random.default_rng(5).permutation(len(features)) < 0.3 * len(features)
    y = targets["1PL"].to_numpy()
    plain = RandomForestRegressor(random_state=1).fit(features[~held], y[~held])
    ours = irtkit.DifficultyPredictor(folds=0).fit(features[~held], targets)
    found = (ours.predict(features[held])["predicted"], plain.predict(features[held]))
    ranks = [float(spearmanr(predicted, y[held]).statistic) for predicted in found]
    return ranks[0], ranks[1]


def coverage(features: pd.DataFrame, targets: pd.DataFrame, draws: int) -> float:
    """Share of held-out items that intervals of 90 % hold."""
    shares = []
    for seed in range(draws):
        held = np.random.default_rng(seed).permutation(len(features)) < 0.3 * len(features)
        predictor = irtkit.DifficultyPredictor(INTERVALS_BY, seed=seed)
        found = predictor.fit(features[~held], targets).predict(features[held])
        shares.append(targets["1PL"][held].between(found["low"], found["high"]).mean())
    return float(np.mean(shares))


def predicted(name: str, draws: int) -> dict[str, Any]:
    """All figures of one set."""
    features, responses = of_crowd() if name == "digits crowd" else of_paper(name)
    targets = difficulty_targets(responses)
    ours, plain = direct(features, targets)
    held = coverage(features, targets, draws)
    print(
        f"{name}: {len(responses.respondents)} systems × {len(features)} items, "
        f"{features.shape[1]} features. Random forest, rank correlation {ours:.3f}, of a direct "
        f"script {plain:.3f}. Intervals of 90 % by {INTERVALS_BY} hold {held:.1%}",
        flush=True,
    )
    return {"set": name, "spearman": {"irtkit": ours, "direct": plain}, "coverage": held}


def main() -> None:
    """Go through the sets."""
    parser = arguments(__doc__)
    names = ("digits crowd", *(SETS if DATA.is_dir() else ()))
    some = part(names, min(1, len(names) - 1))
    parser.add_argument("--draws", type=int, default=5, help="divisions for the intervals")
    parser.add_argument("--sets", nargs="+", choices=names, default=some)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [predicted(name, options.draws) for name in options.sets]
    store(options, draws=options.draws, sets=found)


if __name__ == "__main__":
    main()
