"""How well wrong keys are found that were planted in real and in simulated matrices.

"inverted": responses are inverted, as a wrong key does to an item with two choices. "second class":
the label of digits is changed to the class that comes second in the votes of the crowd. (A random
class would make the digit nearly all wrong, which average error finds by itself.) Real matrices
hold suspect items of their own, which no ranking can tell from planted ones.

`planted_wrong_keys`: orders of suspicion beside others' (``--peer-python`` for PyPI mirt), and what
`irtkit.flag_items` calls. `wrong_keys`: the order of `irtkit.wrong_keys`, without and with answers.
`multiple_choice`: items with several options, every second data set with guessing.
"""

import tempfile
from collections import namedtuple
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from machine import SHARED, part
from scipy.special import expit
from simulated import answers, board_of, inverted
from sklearn.metrics import average_precision_score
from study import means, run, study
from worker import Worker

import irtkit

SHARE = 0.02
SIMULATED = (12, 30, 60, 100, 200)
SIMULATED_DATA_SETS, REAL_DATA_SETS = 20, 30
PEER_SECONDS = 120.0
Source = namedtuple("Source", "name kind n_data_sets plant untouched")
"""Where planted data sets come from; the real responses, None if they are drawn anew."""


def of_model(n, n_items=1000):
    """2PL data with inverted items."""

    def plant(seed):
        generator = np.random.default_rng([seed, n])
        return inverted(generator, board_of(generator, n, n_items)[2].values)

    return Source(f"simulated {n} × {n_items:,}", "inverted", SIMULATED_DATA_SETS, plant, None)


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
        wrong = np.isin(np.arange(len(labels)), at)
        return (predictions == np.where(wrong, second, labels)).astype(np.int8), wrong

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
    if worker is None or (values < 0).any():
        return None
    responses = folder / "responses.npy"
    np.save(responses, values)
    if "error" in worker.fit(responses):
        return None
    return np.nan_to_num(worker.found().discrimination)


def listed_items(values):
    """The fit, and which items `irtkit.flag_items` calls negative, and which suspect."""
    result = irtkit.fit(irtkit.ResponseMatrix(values), "2PL", progress=False)
    flags = irtkit.flag_items(result)
    called = flags["reasons"].map(lambda reasons: "negative" in reasons).astype(bool)
    some = [flags.index[called], flags.index[flags["suspect"]]]
    return result, np.stack([np.isin(result.item_labels, labels) for labels in some])


def measure(source, peer, folder):
    """Average the figures of all data sets of a source."""
    before = np.False_ if source.untouched is None else listed_items(source.untouched)[1]
    worker = None
    if peer:
        parameters = folder / "parameters.npz"
        worker = Worker("mirt", "2PL", parameters, python=peer, limit=PEER_SECONDS)
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
        false = listed & ~wrong & ~before
        for kind, called, of_false in zip(("", "suspect "), listed, false, strict=True):
            row[f"{kind}found"] = called[wrong].mean()
            row[f"{kind}false"] = of_false.sum() / max(called.sum(), 1)
        rows.append(row)
    if worker is not None:
        worker.close()
    about = {"data": source.name, "planted": source.kind, "data_sets": source.n_data_sets}
    return about | means(rows)


def planted_wrong_keys(data=SHARED, peer_python=""):
    """Rankings of items with planted keys, and what is called."""
    chosen = part(list(sources(data)), 0)
    with tempfile.TemporaryDirectory() as folder:
        return {"studies": [measure(source, peer_python, Path(folder)) for source in chosen]}


NOMINAL = 0.1


def figures(responses, planted, votes=None):
    """Average precisions, calls, and the false share of the calls."""
    result = irtkit.fit(responses, standard_errors=False)
    found = irtkit.wrong_keys(result)
    orders = {"p_negative": result.items["p_negative"], "wrong_keys": found["log_bayes_factor"]}
    if votes is not None:
        found = irtkit.wrong_keys(result, votes)
        orders["with_answers"] = found["log_bayes_factor"]
    labels = list(result.item_labels)
    wrong = pd.Series(np.isin(np.arange(len(labels)), planted), labels)
    row = dict.fromkeys(("p_negative", "wrong_keys", "with_answers"))
    for name, order in orders.items() if len(planted) else ():
        row[name] = average_precision_score(wrong, order.loc[labels].fillna(-1))
    p = found["p_wrong_key"].sort_values(ascending=False)
    called = p.index[((1 - p).expanding().mean() <= NOMINAL).to_numpy()]
    false = (~wrong[called]).mean() if len(called) else 0.0
    return row | {"called": len(called), "false": false}


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


def of_board(path, n, kind, g):
    """Figures of so many systems of a real board."""
    values = pd.read_csv(path, index_col=0).to_numpy()
    return figures(*keyed_anew(values[g.choice(len(values), n, replace=False)], kind, g))


def simulated(n, n_items, kind, g):
    """Figures of simulated data, with wrong keys or without."""
    items = irtkit.ItemParameters.from_difficulty(
        g.lognormal(0, 0.4, n_items), g.normal(0, 1.5, n_items)
    )
    responses = irtkit.simulate_responses(items, g.normal(size=n), seed=g)
    if kind == "none":
        return figures(responses, np.arange(0))
    return figures(*keyed_anew(responses.values.copy(), kind, g))


def wrong_keys(data=SHARED, data_sets=10):
    """`irtkit.wrong_keys` with and without answers."""
    draws = {}
    board = data / "metabench_arc.csv.gz"
    for n in (12, 50, 800) if board.exists() else ():
        for kind in ("inverted", "distractor"):
            draws[f"metabench_arc {n}, {kind}"] = partial(of_board, board, n, kind)
    for n in (130, 12):
        for kind in ("class", "second class"):
            draws[f"digits {n}, {kind}"] = partial(digits, n, kind)
    for n, n_items in ((12, 2000), (100, 500), (1000, 1000)):
        for kind in ("none", "inverted", "distractor"):
            draws[f"{kind}, {n:,} × {n_items:,}"] = partial(simulated, n, n_items, kind)

    def one_set(name, seed):
        return draws[name](np.random.default_rng([5, seed]))

    return {"settings": study(part(list(draws), -9, -6), one_set, data_sets)}


def choices(g, n, options, n_wrong, guessing):
    """Responses to 200 items of several options, and which keys are wrong."""
    slopes, difficulties = g.lognormal(0, 0.3, 200), g.normal(size=200)
    p = expit(slopes * (g.normal(size=n)[:, None] - difficulties))
    p = guessing + (1 - guessing) * p
    wrong = np.zeros(200, dtype=bool)
    wrong[g.choice(200, n_wrong, replace=False)] = True
    p[:, wrong] = (1 - p[:, wrong]) / (options - 1)
    return answers(g, p), wrong


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
        "audit": planted[:5].sum(),
        "item–total": wrong[by_correlation].sum(),
        "likely": (wrong & (p > 0.2)).sum(),
        "likely false": (~wrong & (p > 0.2)).sum(),
        "called": (called & planted).sum(),
        "called false": (called & ~planted).sum(),
    }
    return row, p


def multiple_choice(data_sets=20, systems=(12, 25, 60, 120, 500)):
    """Wrong keys of items with 4 and 10 options."""
    judged = []

    def one_set(case, seed):
        options, n = case.values()
        guessing = seed % 2 / options
        g = np.random.default_rng([49, seed, n, options])
        values, wrong = choices(g, n, options, 5, guessing)
        row, p = choice_figures(values, wrong)
        judged.append((p, wrong))
        values, none = choices(g, n, options, 0, guessing)
        p = choice_figures(values, none)[1]
        judged.append((p, none))
        return row | {"sets with a likely one": (p > 0.2).any()}

    cases = [{"options": options, "systems": n} for options in (4, 10) for n in systems]
    studies = list(study(cases, one_set, data_sets, count="data sets"))
    p, wrong = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    calibration = []
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        inside = (p >= low) & (p <= high)
        share = float(wrong[inside].mean())
        calibration.append({"from": low, "to": high, "items": int(inside.sum()), "wrong": share})
    return {"studies": studies, "calibration": calibration}


if __name__ == "__main__":
    run(planted_wrong_keys, wrong_keys, multiple_choice)
