"""Numbers of others obtained again: theirs, ours, difference.

`replications`: LSAT6 and LSAT7 are carried with the tests; the others are read from the folder
given by ``--data``, which has to hold them. `stored_difficulties`: those of the AAAI-22 paper, with
Rasch without a prior on the grid of R's mirt, in the paper's batches of items. Of the paper's
random rows totals by item are known; they are drawn anew. What is left is a common shift of all
items of a batch: on a grid coarser than posteriors the likelihood is all but flat along it.
"""

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
from machine import SHARED, part
from simulated import AAAI22, aaai22
from study import run

import irtkit
from irtkit.difficulty import quality_standard

CARRIED = Path(__file__).parents[1] / "tests" / "data"


def lsat(name):
    """Sections 6 and 7 of the Law School Admission Test; the one slope of the 1PL stands once."""
    frame = pd.read_csv(CARRIED / f"{name}.csv", dtype={"pattern": str})
    rows = [list(map(int, pattern)) for pattern in frame["pattern"].repeat(frame["count"].tolist())]
    reference = json.loads((CARRIED / f"{name}_mirt.json").read_text(encoding="utf-8"))["models"]
    for model in ("1PL", "2PL"):
        of = reference[model]
        result = irtkit.fit(np.array(rows), model, prior=None, quadrature=(61, 6.0))
        yield f"{model}: log-likelihood", of["logLik"], result.log_likelihood
        for column, short in (("discrimination", "a"), ("difficulty", "b")):
            rows_of = zip(result.items[column].items(), of["items"], strict=True)
            for (item, ours), stored in rows_of:
                if model == "2PL" or short == "b":
                    yield f"{model}: {column} of {item}", stored[short], ours
                elif item == "item-1":
                    yield f"{model}: {column} of all items", stored[short], ours


def gpqa(data):
    """A pair of systems on GPQA Diamond, 198 items × 5 trials."""
    responses = irtkit.read_responses(data / "gpqa_pair.csv.gz", repeats="count")
    one, other = sorted(responses.respondents)
    found = irtkit.compare_systems(irtkit.fit(responses), one, other)
    yield "difference, points", 5.86, 100 * found.difference
    yield "its 95 % interval from", 0.38, 100 * found.low
    yield "to", 11.34, 100 * found.high
    yield "p, paired and clustered", 0.0363, found.p_value


def tau_bench(data):
    """gpt-4o on τ-bench's airline tasks, 50 × 4 trials."""
    responses = irtkit.read_responses(data / "taubench_gpt4o_airline.csv.gz", repeats="count")
    row = irtkit.pass_k(responses).iloc[0]
    for k, published in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        yield f"pass^{k}", published, float(row[f"pass^{k}"])


def kolena():
    """The worked example of Kolena's score, printed with three digits, further ones cut off."""
    columns = {
        "item": [1, 2, 3, 4],
        "recall": [0.1, 0.5, 0.9, 0.6],
        "cost": [3.14, 0.90, 0.01, 0.50],
        "accuracy": [0.50, 0.80, 0.99, 0.55],
    }
    metrics = pd.DataFrame({"respondent": "A", **columns})
    scores = quality_standard(metrics, ["recall", "accuracy"]).items
    for (item, score), published in zip(scores.items(), (1, 0.390, 0, 0.476), strict=True):
        yield f"item {item}", published, float(score)


def impact():
    """The worked example of the impact metric: starts are its own, types and ends are not."""
    manual = [("a", 0, 5), ("b", 7, 12), ("a", 16, 19)]
    predicted = [("a", 0, 6), ("c", 7, 12), ("c", 16, 20), ("a", 20, 24)]
    found = irtkit.impact(predicted, manual)
    yield "penalty", 6, found.penalty
    yield "from scratch", 9, found.scratch
    yield "impact", 0.667, found.impact


MIRT = "mirt 1.47 in R, on the answers of Bock & Lieberman (1970), Psychometrika 35, 179-197"
REPLICATIONS = {
    "LSAT6": (MIRT, lambda _: lsat("lsat6")),
    "LSAT7": (MIRT, lambda _: lsat("lsat7")),
    "GPQA pair": ("evalconfidence 0.1.0 on PyPI, examples/demo.ipynb", gpqa),
    "τ-bench": ("Yao, Shinn, Razavi & Narasimhan (2024), arXiv 2406.12045", tau_bench),
    "Kolena": ("https://docs.kolena.com/metrics/difficulty-score", lambda _: kolena()),
    "impact": ("worked example of the impact metric", lambda _: impact()),
}
"""Where the numbers are from, and what obtains them again."""


def replications(data=SHARED):
    """Published numbers and ours."""
    return {
        "records": (
            {"of": name, "source": source, "what": what, "theirs": theirs, "ours": ours}
            for name, (source, rows) in REPLICATIONS.items()
            for what, theirs, ours in rows(data)
        )
    }


NEGATIVE_OF_MIRT = {"liver-disorders": 0.43, "diabetes": 0.21, "sat": 0.0, "tptp": 0.0}
GRID = (61, 6.0)


class Stored(namedtuple("Stored", "values items extremes")):
    """Answers of the systems, and what the paper's authors stored of the items.

    An always-right and an always-wrong row may have to be added; tptp has them.
    """

    __slots__ = ()

    def drawn(self, seed):
        """All rows, three random ones drawn to the stored totals."""
        totals = self.items["rnd_total"].to_numpy()
        order = np.random.default_rng(seed).random((3, len(totals))).argsort(axis=0)
        rows = [self.values, order < totals]
        if self.extremes:
            rows += [np.ones((1, len(totals))), np.zeros((1, len(totals)))]
        return irtkit.ResponseMatrix(np.concatenate(rows).astype(int), items=self.items["item"])


def stored(name, folder=SHARED):
    """Read one set; duplicates are dropped but of tptp."""
    items, table = aaai22(name, folder, distinct=name != "tptp")
    return Stored(table.to_numpy(), items, extremes=name != "tptp")


def compatible(responses, model, batch):
    """Items of all batches, each fitted as the paper did."""
    settings = {"prior": None, "quadrature": GRID, "standard_errors": False}
    batches = (irtkit.ResponseMatrix(responses.values[:, batch == k]) for k in np.unique(batch))
    return pd.concat([irtkit.fit(of_batch, model, **settings).items for of_batch in batches])


def reproduced(name, draws):
    """Differences from the stored difficulties."""
    data = stored(name)
    published, batch = data.items["Dffclt"].to_numpy(), data.items["batch"].to_numpy()
    whole, shapes, of_whole, of_batches = ([] for _ in range(4))
    for seed in range(draws):
        ours = compatible(data.drawn(seed), "Rasch", batch)["difficulty"].to_numpy()
        off = ours - published
        whole.append(np.mean(off**2) ** 0.5)
        of_whole.append(np.corrcoef(ours, published)[0, 1])
        for k in np.unique(batch):
            items = batch == k
            shapes.append(off[items].std())
            of_batches.append(np.corrcoef(ours[items], published[items])[0, 1])
    first = data.drawn(0)
    by_batch, at_once = (
        compatible(first, "Rasch", of)["difficulty"] for of in (batch, np.zeros_like(batch))
    )
    return {
        "set": name,
        "draws": draws,
        "rmse": np.median(whole),
        "rmse_without_shift": np.median(shapes),
        "correlation": np.median(of_whole),
        "least_correlation": min(of_batches),
        "at_once_correlation": np.corrcoef(by_batch, at_once)[0, 1],
    }


def negative_slopes(name, draws):
    """Shares of items with a negative slope."""
    data = stored(name)
    batch = data.items["batch"].to_numpy()
    slopes = [compatible(data.drawn(k), "2PL", batch)["discrimination"] for k in range(draws)]
    usual = irtkit.fit(data.drawn(0), "2PL", standard_errors=False, progress=False)
    return {
        "set": name,
        "share": np.median([(of < 0).mean() for of in slopes]),
        "of_mirt": NEGATIVE_OF_MIRT[name],
        "by_default": (usual.items["discrimination"] < 0).mean(),
    }


def stored_difficulties(draws=20):
    """Stored difficulties and shares of negative slopes."""
    sets = part(AAAI22, 0)
    negative = [name for name in NEGATIVE_OF_MIRT if name in sets]
    return {
        "difficulties": (reproduced(name, draws) for name in sets),
        "negative_slopes": (negative_slopes(name, min(draws, 5)) for name in negative),
    }


if __name__ == "__main__":
    run(replications, stored_difficulties)
