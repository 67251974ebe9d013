"""How well wrong keys are found that were planted in real and in simulated matrices.

"inverted": responses are inverted, as a wrong key does to an item with two choices. "second class":
the label of digits is changed to the class that comes second in the votes of the crowd. (A random
class would make the digit nearly all wrong, which average error finds by itself.) Real matrices
hold suspect items of their own, which no ranking can tell from planted ones.

`planted_wrong_keys`: orders of suspicion beside others' (``--peer-python`` for PyPI mirt), and what
`irtkit.flag_items` calls. `wrong_keys`: the order of `irtkit.wrong_keys`, without and with answers.
`multiple_choice`: items with several options, every second data set with guessing.

``docs/accuracy.md`` shows the tables and says what their columns are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED, part
from numpy.typing import NDArray
from simulated import inverted
from sklearn.metrics import average_precision_score
from study import means, run
from worker import Worker

import irtkit

SHARE = 0.02
SIMULATED = (12, 30, 60, 100, 200)
SIMULATED_DATA_SETS = 20
REAL_DATA_SETS = 30
PEER_SECONDS = 120.0


class Source(NamedTuple):
    """Where planted data sets come from."""

    name: str
    kind: str
    n_data_sets: int
    plant: Callable[[int], tuple[Any, Any]]
    untouched: NDArray[np.int8] | None
    """The real responses, None if they are drawn anew."""


def of_model(n_respondents, n_items=1000):
    """2PL data with inverted items."""

    def plant(seed):
        generator = np.random.default_rng([seed, n_respondents])
        slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
        items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
        abilities = generator.normal(size=n_respondents)
        drawn = irtkit.simulate_responses(items, abilities, seed=generator)
        return inverted(generator, drawn.values)

    return Source(
        f"simulated {n_respondents} × {n_items:,}", "inverted", SIMULATED_DATA_SETS, plant, None
    )


def second_class():
    """The digits crowd, with labels that come second in its votes."""
    crowd = irtkit.load_digits_crowd()
    predictions, labels = crowd.predictions.to_numpy(), crowd.labels.to_numpy()
    votes = np.stack([(predictions == digit).sum(axis=0) for digit in range(10)])
    # the label itself is no wrong one, and a class nobody chose is no second one
    order = np.argsort(-votes, axis=0, kind="stable")
    second = np.where(order[1] == labels, order[0], order[1])
    chosen = votes[second, np.arange(len(labels))] > 0

    def plant(seed):
        generator = np.random.default_rng([seed, 2])
        at = generator.choice(np.flatnonzero(chosen), round(SHARE * len(labels)), replace=False)
        marked = labels.copy()
        marked[at] = second[at]
        wrong = np.isin(np.arange(len(labels)), at)
        return ((predictions == marked).astype(np.int8), wrong)

    untouched = (predictions == labels).astype(np.int8)
    return Source("digits crowd 130 × 1,797", "second class", REAL_DATA_SETS, plant, untouched)


def real(name, values):
    """A real matrix with inverted items."""

    def plant(seed):
        return inverted(np.random.default_rng([seed, *values.shape]), values)

    shape = f"{values.shape[0]:,} × {values.shape[1]:,}"
    return Source(f"{name} {shape}", "inverted", REAL_DATA_SETS, plant, values)


def sources(folder):
    """All sources; matrices in which 2 % is less than two items are left out."""
    yield from (of_model(n) for n in SIMULATED)
    yield second_class()
    yield real("digits crowd", irtkit.load_digits_crowd().responses.values)
    for about in sorted(folder.glob("*.meta.json")):
        name = about.name.removesuffix(".meta.json")
        values = irtkit.read_responses(about.with_name(f"{name}.csv.gz")).values
        if round(SHARE * values.shape[1]) >= 2:
            yield real(name, values)


def item_total(values):
    """Correlation of each item with the share right on the other items; 0 without variance."""
    answered = values >= 0
    right = np.where(answered, values, 0).astype(np.float64)
    totals, counts = right.sum(axis=1), answered.sum(axis=1)
    found = np.zeros(values.shape[1])
    for j in range(len(found)):
        kept = answered[:, j] & (counts > 1)
        one = right[kept, j]
        rest = (totals[kept] - one) / (counts[kept] - 1)
        if len(one) > 1 and one.std() > 0 and rest.std() > 0:
            found[j] = np.corrcoef(one, rest)[0, 1]
    return found


def mirt_slopes(values, worker, folder):
    """Discrimination that PyPI mirt finds, None where it cannot."""
    if worker is None or worker.problem is not None or (values < 0).any():
        return None
    responses, parameters = folder / "responses.npy", folder / "parameters.npz"
    np.save(responses, values)
    if "error" in worker.fit(responses, parameters, limit=PEER_SECONDS):
        return None
    with np.load(parameters) as found:
        return np.nan_to_num(np.asarray(found["discrimination"], np.float64))


def listed_items(values):
    """The fit, and which items `irtkit.flag_items` calls negative, and which suspect."""
    result = irtkit.fit(irtkit.ResponseMatrix(values), "2PL", progress=False)
    flags = irtkit.flag_items(result)
    called = flags["reasons"].map(lambda reasons: "negative" in reasons).astype(bool)
    some = [flags.index[called], flags.index[flags["suspect"]]]
    return result, np.stack([np.isin(result.item_labels, labels) for labels in some])


def measure(source, peer, folder):
    """Average the figures of all data sets of a source."""
    before = None if source.untouched is None else listed_items(source.untouched)[1]
    worker = Worker("mirt", "2PL", python=peer) if peer else None
    rows = []
    for seed in range(source.n_data_sets):
        values, wrong = source.plant(seed)
        result, listed = listed_items(values)
        suspicion = {
            "irtkit": result.items["p_negative"].to_numpy(),
            "item–total": -item_total(values),
            "average error": result.items["average_error"].to_numpy(),
        }
        slopes = mirt_slopes(values, worker, folder)
        if slopes is not None:
            suspicion["mirt"] = -slopes
        row = {}
        for name, score in suspicion.items():
            known = np.nan_to_num(score, nan=-1.0)  # an item without a response is not suspect
            row[f"auc {name}"] = average_precision_score(wrong, known)
            row[f"top k {name}"] = top_k(known, wrong)
        row["called"] = float(listed[0].sum())
        false = listed & ~wrong if before is None else listed & ~wrong & ~before
        for kind, called, of_false in zip(("", "suspect "), listed, false, strict=True):
            row[f"{kind}found"] = float(called[wrong].mean())
            row[f"{kind}false"] = float(of_false.sum() / max(called.sum(), 1))
        rows.append(row)
    if worker is not None:
        worker.close()
    about = {"data": source.name, "planted": source.kind, "data_sets": source.n_data_sets}
    return about | means(rows)


def top_k(score, wrong):
    """Share of planted items among as many ranked worst."""
    worst = np.argsort(-score, kind="stable")[: int(wrong.sum())]
    return float(wrong[worst].mean())


def planted_wrong_keys(data=SHARED, peer_python=""):
    """Rankings of items with planted keys, and what is called."""
    chosen = part(list(sources(data)), 0)
    with tempfile.TemporaryDirectory() as folder:
        return {"studies": [measure(source, peer_python, Path(folder)) for source in chosen]}


NOMINAL = 0.1


def figures(responses, planted, answers=None):
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


def keyed_anew(values, kind, g):
    """Responses with wrong keys, and which."""
    values = values[:, (values.mean(axis=0) > 0.03) & (values.mean(axis=0) < 0.97)]
    planted = g.choice(values.shape[1], max(8, values.shape[1] // 50), replace=False)
    share = {"inverted": 1.0, "distractor": 0.4}[kind]
    values[:, planted] = (1 - values[:, planted]) * (g.random((len(values), len(planted))) < share)
    return values, planted


def digits(n, kind, g):
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


def simulated(shape, kind, g):
    """Figures of simulated data, with wrong keys or without."""
    n, n_items = shape
    slopes, difficulties = g.lognormal(0, 0.4, n_items), g.normal(0, 1.5, n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulties)
    responses = irtkit.simulate_responses(items, g.normal(size=n), seed=g)
    if kind == "none":
        return figures(responses, np.arange(0))
    return figures(*keyed_anew(responses.values.copy(), kind, g))


def wrong_keys(data=SHARED, data_sets=10):
    """`irtkit.wrong_keys` with and without answers."""
    rows = {}
    board = data / "metabench_arc.csv.gz"
    for n in (12, 50, 800):
        for kind in ("inverted", "distractor"):
            rows[f"metabench_arc {n}, {kind}"] = partial(of_board, board, n, kind)
    for n in (130, 12):
        for kind in ("class", "second class"):
            rows[f"digits {n}, {kind}"] = partial(digits, n, kind)
    for n, n_items in ((12, 2000), (100, 500), (1000, 1000)):
        for kind in ("none", "inverted", "distractor"):
            rows[f"{kind}, {n:,} × {n_items:,}"] = partial(simulated, (n, n_items), kind)

    def record(name):
        sets = [rows[name](np.random.default_rng([5, seed])) for seed in range(data_sets)]
        return {"setting": name, "figures": np.mean(sets, axis=0).tolist()}

    there = [name for name in rows if data.is_dir() or "arc" not in name]
    return {"settings": map(record, part(there, -9, -6))}


def choices(g, n, options, n_wrong, guessing):
    """Responses to 200 items of several options, and which keys are wrong."""
    slopes, difficulties = g.lognormal(0, 0.3, 200), g.normal(size=200)
    p = 1 / (1 + np.exp(-slopes * (g.normal(size=n)[:, None] - difficulties)))
    p = guessing + (1 - guessing) * p
    wrong = np.zeros(200, dtype=bool)
    wrong[g.choice(200, n_wrong, replace=False)] = True
    p[:, wrong] = (1 - p[:, wrong]) / (options - 1)
    return (g.random(p.shape) < p).astype(np.int8), wrong


def choice_figures(values, wrong):
    """What an audit says of one data set, and probabilities of wrong keys in the order of items."""
    result = irtkit.fit(irtkit.ResponseMatrix(values))
    labels = np.array(result.item_labels)
    suspects = irtkit.audit(result).suspects
    p = irtkit.wrong_keys(result)["p_wrong_key"].reindex(labels).fillna(0).to_numpy()
    planted = suspects.index.isin(labels[wrong])
    called = suspects["called"].to_numpy(dtype=bool)
    by_correlation = np.argsort(item_total(values), kind="stable")[:5]
    row = {
        "audit": float(planted[:5].sum()),
        "item–total": float(wrong[by_correlation].sum()),
        "likely": float((wrong & (p > 0.2)).sum()),
        "likely false": float((~wrong & (p > 0.2)).sum()),
        "called": float((called & planted).sum()),
        "called false": float((called & ~planted).sum()),
    }
    return row, p


def multiple_choice(data_sets=20, systems=(12, 25, 60, 120, 500)):
    """Wrong keys of items with 4 and 10 options."""
    judged = []

    def record(options, n):
        rows = []
        n_likely = 0
        for seed in range(data_sets):
            guessing = seed % 2 / options
            g = np.random.default_rng([49, seed, n, options])
            values, wrong = choices(g, n, options, 5, guessing)
            row, p = choice_figures(values, wrong)
            rows.append(row)
            judged.append((p, wrong))
            values, none = choices(g, n, options, 0, guessing)
            p = choice_figures(values, none)[1]
            judged.append((p, none))
            n_likely += int((p > 0.2).any())
        about = {"options": options, "systems": n, "data sets": data_sets}
        return about | means(rows) | {"sets with a likely one": n_likely / data_sets}

    studies = [record(options, n) for options in (4, 10) for n in systems]
    p, wrong = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    calibration = []
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        inside = (p >= low) & (p <= high)
        share = float(wrong[inside].mean())
        calibration.append({"from": low, "to": high, "items": int(inside.sum()), "wrong": share})
    return {"studies": studies, "calibration": calibration}


def of_board(path, n, kind, g):
    """Figures of so many systems of a real board."""
    values = pd.read_csv(path, index_col=0).to_numpy()
    return figures(*keyed_anew(values[g.choice(len(values), n, replace=False)], kind, g))


if __name__ == "__main__":
    run(planted_wrong_keys, wrong_keys, multiple_choice)
