"""How many answers predicted difficulties are worth.

Half of the digits of the digits crowd were answered by all 130 systems; difficulty is learned from
their pixels. The other half are new: only a few systems answered them, drawn at random. All items
are fitted together, with the weak prior and with predictions as the means of all items
(``difficulty_mean``), and beside both stand the predictions alone. What is right is the fit to all
answers.

Printed by number of answers to a new item, over ``--draws`` draws of old digits and of systems: the
root mean square error of the intercepts of new items (in logits), the rank correlation of their
difficulties, and how many answers the weak prior needs for the error that predictions and so many
answers have (on a line through its errors in log-log coordinates, 64 at most). First for the 1PL,
then for the 2PL.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, part, store
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import irtkit

ANSWERS = (1, 2, 4, 8, 16, 32, 64)
REGRESSOR = "random forest"


def with_few_answers(
    responses: irtkit.ResponseMatrix, new: Any, answers: int, generator: np.random.Generator
) -> irtkit.ResponseMatrix:
    """The responses, with so many answers by systems drawn at random left of every new item."""
    values = responses.values.copy()
    order = generator.random(values.shape).argsort(axis=0)
    values[(order >= answers) & new] = -1
    return irtkit.ResponseMatrix(values, responses.respondents, responses.items)


def fitted(responses: irtkit.ResponseMatrix, model: Any, prior: Any) -> Any:
    """Intercepts."""
    found = irtkit.fit(
        responses,
        model,
        prior=irtkit.WeakPrior(difficulty_mean=prior),
        standard_errors=False,
        progress=False,
    )
    return found.items["intercept"].to_numpy()


def one_draw(
    responses: irtkit.ResponseMatrix, features: pd.DataFrame, model: str, true: Any, seed: int
) -> list[dict[str, Any]]:
    """Errors with so many answers, by the weak prior, with predictions, and by these alone."""
    generator = np.random.default_rng(seed)
    new = generator.permutation(len(features)) < len(features) // 2
    old = irtkit.ResponseMatrix(
        responses.values[:, ~new], responses.respondents, features.index[~new]
    )
    result = irtkit.fit(old, "1PL", progress=False)
    predictor = irtkit.DifficultyPredictor(REGRESSOR, target="Rasch", folds=5, seed=seed)
    prior = predictor.fit(features[~new], result).prior_mean(features)
    rows = []
    for answers in ANSWERS:
        few = with_few_answers(responses, new, answers, generator)
        ways = {
            "weak prior": fitted(few, model, None)[new],
            "with predictions": fitted(few, model, prior)[new],
            "predictions alone": -prior.loc[features.index[new], "mean"].to_numpy(),
        }
        row: dict[str, Any] = {"answers": answers, "sd": float(prior["sd"].iloc[0])}
        for way, intercepts in ways.items():
            off = intercepts - true[new]
            if way == "predictions alone":  # of the 1PL of old items: their location is another
                off -= off.mean()
            row[way] = float(np.sqrt(np.mean(off**2)))
            row[f"{way}, rank"] = float(spearmanr(intercepts, true[new]).statistic)
        rows.append(row)
    return rows


def worth(table: pd.DataFrame) -> list[float]:
    """Answers that the weak prior needs for the errors that predictions have with fewer."""
    weak, told = (np.log(table[name].to_numpy()) for name in ("weak prior", "with predictions"))
    order = np.argsort(weak)
    answers = np.log(table.index.to_numpy(dtype=float))
    found: list[float] = np.exp(np.interp(told, weak[order], answers[order])).tolist()
    return found


def main() -> None:
    """Draw, fit and print."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    crowd = irtkit.load_digits_crowd()
    pixels = load_digits().data
    features = pd.DataFrame(pixels, index=crowd.labels.index).rename(columns="pixel{}".format)
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for model in part(("1PL", "2PL"), 0):
            true = fitted(crowd.responses, model, None)
            rows = [
                row
                for seed in range(options.draws)
                for row in one_draw(crowd.responses, features, model, true, seed)
            ]
            table = pd.DataFrame(rows).groupby("answers").mean()
            table["worth"] = worth(table)
            print(f"{model}, predictions by {REGRESSOR}, SD {table['sd'].mean():.2f} logits")
            print(table.drop(columns="sd").round(3).to_string(), "\n", flush=True)
            found[model] = table.reset_index().to_dict("records")
    store(options, draws=options.draws, regressor=REGRESSOR, curves=found)


if __name__ == "__main__":
    main()
