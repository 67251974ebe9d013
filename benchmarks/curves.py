"""Whether what is said of systems by difficulty holds: curves and alarms.

Responses are drawn from a 2PL with slopes lognormal(0, 0.3) and difficulties and abilities normal.

- Curves: how many intervals of shares right hold the true mean probability of the items in their
  range, with difficulties of fits without the system, as `irtkit.characteristic_curves` has them,
  and with those of the fit to all; and the least of the ten ranges. Then how many intervals of
  capability and generality hold those of the true curve over the same ranges.
- Alarm: how often `irtkit.expected_performance` raises one where nothing but difficulty changed,
  and where the system has lost a unit of ability; 500 new items, as hard as the original ones or
  harder by a unit. Difficulties are known; or predicted, items spreading by 0.6 about the
  prediction; or estimated by a fit to other systems.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit
from irtkit.curves.answered import Answered
from irtkit.curves.characteristic import generality_of, range_of, ranges_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CURVES = ((12, 1000, 1, 0.0), (12, 300, 5, 0.0), (50, 500, 1, 0.0), (50, 500, 1, 0.3))
"""Systems, items, trials, share missing."""


class Study(NamedTuple):
    """Of alarms."""

    difficulties: str
    model: Any
    """Of the fit that they are of."""
    n: int
    """Systems."""
    n_old: int
    """Original items."""


ALARMS = (
    *(Study("known", "", 20, 100), Study("known", "", 20, 500)),
    *(Study("known, 5 trials", "", 20, 500), Study("predicted", "", 20, 500)),
    *(Study("fitted", "1PL", 40, 500), Study("fitted", "2PL", 40, 500)),
    Study("fitted", "2PL", 100, 500),
)
N_NEW = 500


def items_of(n: int, generator: np.random.Generator, mean: float = 0.0) -> irtkit.ItemParameters:
    """Items of a 2PL."""
    difficulty = generator.normal(mean, 1, n)
    return irtkit.ItemParameters.from_difficulty(generator.lognormal(0, 0.3, n), difficulty)


def curve_coverage(n: int, n_items: int, trials: int, missing: float, seed: int) -> dict[str, Any]:
    """Which intervals hold the truth, (systems, ranges), and those of capability and generality."""
    generator = np.random.default_rng([seed, n, n_items])
    items, abilities = items_of(n_items, generator), generator.normal(size=n)
    p = items.probability(abilities)
    settings: dict[str, Any] = {"missing": missing, "trials": trials, "seed": generator}
    responses = irtkit.simulate_responses(items, abilities, **settings)
    result = irtkit.fit(responses, standard_errors=False, progress=False)
    found: dict[str, Any] = {}
    for name, given in (("without", None), ("of all", result.items["difficulty"])):
        data = Answered.of(result, given, "difficulties", seed=0)
        edges = ranges_of(data.difficulty, 10, "quantile")
        curves = irtkit.characteristic_curves(result, difficulties=given)
        true = np.full((n, len(edges) - 1), np.nan)
        for row in range(n):
            answered = data.part(row)
            number = range_of(edges, answered.difficulty)
            for k in np.unique(number):
                true[row, k] = p[row, answered.items[number == k]].mean()
        bounds = curves.table[["accuracy_low", "accuracy_high"]].to_numpy().reshape(*true.shape, 2)
        found[name] = np.isnan(true) | ((bounds[..., 0] <= true) & (true <= bounds[..., 1]))
        if given is None:
            found |= _generality(curves.systems, edges, true)
    return found


def _generality(systems: pd.DataFrame, edges: Array, true: Array) -> dict[str, Any]:
    held: dict[str, Any] = {"capability": [], "generality": []}
    for row, share in zip(systems.to_dict("records"), true, strict=True):
        capability, _, squared, _ = generality_of(edges, share, np.zeros(len(share)))
        values = {"capability": capability, "generality": squared**-0.5}
        for name, value in values.items():
            held[name].append(row[f"{name}_low"] <= value <= row[f"{name}_high"])
    return held


def curves(n_sets: int) -> list[dict[str, Any]]:
    """Coverage by kind of matrix."""
    records = []
    for setting in part(CURVES, 0):
        sets = [curve_coverage(*setting, seed) for seed in range(n_sets)]
        record: dict[str, Any] = dict(
            zip(("systems", "items", "trials", "missing"), setting, strict=True), sets=n_sets
        )
        for name in ("without", "of all"):
            by_range = np.concatenate([one[name] for one in sets]).mean(axis=0)
            record[name], record[f"{name}, least"] = float(by_range.mean()), float(by_range.min())
        for name in ("capability", "generality"):
            record[name] = float(np.mean(np.concatenate([one[name] for one in sets])))
        records.append(record)
        print(
            f"curves {setting}: {record['without']:.1%} (least {record['without, least']:.1%}) "
            f"without the system, {record['of all']:.1%} (least {record['of all, least']:.1%}) "
            f"with it; capability {record['capability']:.1%}, "
            f"generality {record['generality']:.1%}",
            flush=True,
        )
    return records


def alarms(study: Study, harder: float, n_sets: int) -> dict[str, Any]:
    """Share of systems with an alarm, without and with a drop of one unit of ability."""
    kind, model, n, n_old = study
    both = [_alarms(study, harder, seed) for seed in range(n_sets)]
    calm, worse = (pd.concat([one[drop] for one in both]) for drop in (0, 1))
    record = {
        "difficulties": f"{kind} {model}".strip(),
        "systems": n,
        "items": n_old,
        "harder": harder,
        "n": len(calm),
        "alarm": float(calm["alarm"].mean()),
        "alarm, worse": float((calm["alarm"] & (calm["accuracy"] < calm["expected"])).mean()),
        "bias": float((calm["accuracy"] - calm["expected"]).mean()),
        "power": float(worse["alarm"].mean()),
        "shift": float(worse["shift"].median()),
    }
    print(f"alarm {record}", flush=True)
    return record


def _alarms(study: Study, harder: float, seed: int) -> list[pd.DataFrame]:
    """Expected and observed performance of some systems, as they were and a unit less able."""
    kind, model, n, n_old = study
    generator = np.random.default_rng([seed, n, n_old])
    means = np.repeat([0.0, harder], [n_old, N_NEW])
    known = generator.normal(means, 0.8 if kind == "predicted" else 1.0)
    true = known + (generator.normal(0, 0.6, len(known)) if kind == "predicted" else 0.0)
    slope = generator.lognormal(0, 0.3, len(known))
    items = irtkit.ItemParameters.from_difficulty(slope, true)
    abilities, trials = generator.normal(size=n), 5 if "trials" in kind else 1
    labels = np.array([f"item-{k}" for k in range(len(known))])
    names = [f"system-{k}" for k in range(n)]

    def answers(theta: Array) -> Array:
        return generator.binomial(trials, items.probability(theta)).astype(np.float64)

    def matrix(right: Array, which: Any) -> irtkit.ResponseMatrix:
        counts = right[:, which], np.full(right[:, which].shape, trials)
        return irtkit.ResponseMatrix.from_counts(*counts, names[: len(right)], labels[which])

    before, new = answers(abilities), np.arange(n_old, len(known))
    after = [answers(abilities - drop) for drop in (0.0, 1.0)]
    if kind != "fitted":
        given = pd.Series(known, labels)
        old = matrix(before, np.arange(n_old))
        settings: dict[str, Any] = {"difficulties": given, "original_difficulties": given}
        return [irtkit.expected_performance(old, matrix(one, new), **settings) for one in after]
    few, values = n // 4, before.astype(np.float64)
    values[:few, n_old:] = np.nan
    responses = irtkit.ResponseMatrix(values, names, labels)
    result = irtkit.fit(responses, model, progress=False)
    return [irtkit.expected_performance(result, matrix(one[:few], new)) for one in after]


def main() -> None:
    """Print figure by figure; store all where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=40, help="matrices of every kind")
    options = parser.parse_args()
    n = options.sets
    warnings.simplefilter("ignore")  # few respondents, and those abler than all
    found: dict[str, Any] = {"curves": curves(n), "alarms": []}
    for setting in part(ALARMS, 0):
        for harder in (0.0, 1.0):
            # of a fit a quarter of the systems has new items: 25 n systems, and 60 n of others
            sets = 100 * n // setting.n if setting.difficulties == "fitted" else 3 * n
            found["alarms"].append(alarms(setting, harder, max(sets, 1)))
    store(options, **found)


if __name__ == "__main__":
    main()
