"""Whether what is said of systems by difficulty holds: curves, winners, alarms, horizons.

Responses are drawn from a 2PL with slopes lognormal(0, 0.3) and difficulties and abilities normal.

- Curves: how many intervals of shares right hold the true mean probability of the items in their
  range, with difficulties of fits without the system, as `irtkit.characteristic_curves` has them,
  and with those of the fit to all; and the least of the ten ranges.
- Leaders: tables of ten ranges in which a system is called the winner that is not the best, or that
  has equals, and tables in which the best is not among the leaders of every range. Ten systems are
  equal; or half of them steep and half flat, which are equal where they cross; or one is better by
  a unit of ability, and it is counted in how many ranges it is the winner.
- Generality: how many intervals of capability and generality hold those of the true curve over the
  same ranges.
- Alarm: how often `irtkit.expected_performance` raises one where nothing but difficulty changed,
  and where the system has lost a unit of ability; 500 new items, as hard as the original ones or
  harder by a unit. Difficulties are known; or predicted, items spreading by 0.6 about the
  prediction; or estimated by a fit to other systems.
- Horizons: how many intervals of the 50 % and 80 % horizon hold the truth, errors clustered by task
  and as if runs were independent; 170 tasks of 1 to 1,000 minutes that differ by more than their
  length, one or eight runs. And the same for the product of size and difficulty in a learning
  surface, 300 items at eight sizes.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from machine import arguments, part, store, whole

import irtkit
from irtkit.curves.answered import Answered, fitted_difficulties
from irtkit.curves.characteristic import (
    effective_number,
    generality_of,
    in_ranges,
    ranges_of,
    share_interval,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CURVES = ((12, 1000, 1, 0.0), (12, 300, 5, 0.0), (50, 500, 1, 0.0), (50, 500, 1, 0.3))
"""Systems, items, trials, share missing."""
LEADERS = (
    *(("equal", 0.0, False), ("crossing", 0.0, False), ("one better", 1.0, False)),
    *(("equal", 0.0, True), ("crossing", 0.0, True)),
)
"""Systems, what one is better by, whether difficulties are fitted (to fewer tables)."""


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
        held = np.zeros((n, len(edges) - 1), dtype=bool)
        true = np.full(held.shape, np.nan)
        for row in range(n):
            part = data.part(row)
            for k, own in enumerate(in_ranges(edges, part.difficulty)):
                if not len(own):
                    held[row, k] = True
                    continue
                size = effective_number(part.share[own], part.trials[own], 0.95)
                low, high = share_interval(part.share[own].mean(), size, 0.95)
                true[row, k] = p[row, part.items[own]].mean()
                held[row, k] = low <= true[row, k] <= high
        found[name] = held
        if given is None:
            found |= _generality(irtkit.characteristic_curves(result).systems, edges, true)
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


def leaders(kind: str, better: float, n_sets: int, *, fitted: bool = False) -> dict[str, Any]:
    """How often a winner is none, the best is not among the leaders, and the better is found."""
    n, n_items = 10, 500
    false, lost, won = [], [], []
    for seed in range(n_sets):
        generator = np.random.default_rng([seed, n, n_items])
        difficulty = generator.normal(size=n_items)
        slope = np.where(np.arange(n) % 2, 2.0, 0.7) if kind == "crossing" else np.ones(n)
        ability = np.where(np.arange(n) == 0, better, 0.0)
        p = 1 / (1 + np.exp(-slope[:, None] * (ability[:, None] - difficulty)))
        responses = irtkit.ResponseMatrix((generator.random(p.shape) < p).astype(int))
        given: Any = responses
        if fitted:
            given = irtkit.fit(responses, standard_errors=False, progress=False)
            difficulty = fitted_difficulties(given)
        curves_of = irtkit.characteristic_curves
        found = curves_of(given, difficulties=None if fitted else difficulty).best
        edges = ranges_of(difficulty, 10, "quantile")
        best = [_best(p[:, some]) for some in in_ranges(edges, difficulty)]
        winners = [{name} - {None} for name in found["winner"]]
        false.append(any(one and one != true for one, true in zip(winners, best, strict=True)))
        leading = map(set, found["leaders"])
        # of equal ones the claim is about each, not about all
        lost.append(any(min(true) not in one for one, true in zip(leading, best, strict=True)))
        won.append(np.mean([one == {"respondent-1"} for one in winners]))
    shares = {"false winner": np.mean(false), "best lost": np.mean(lost), "won": np.mean(won)}
    shares = {name: float(share) for name, share in shares.items()}
    name = f"{kind}, fitted" if fitted else kind
    print(f"leaders of {n} systems, {name}, {n_sets} tables: {shares}", flush=True)
    return {"systems": name, "sets": n_sets, **shares}


def _best(p: Array) -> set[str]:
    """Labels of the systems with the highest mean probability; equal ones are all best."""
    mean = p.mean(axis=1)
    return {f"respondent-{k + 1}" for k in np.flatnonzero(mean > mean.max() - 1e-9)}


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


def horizons(runs: int, n_sets: int, n_tasks: int = 170, sd: float = 1.5) -> list[dict[str, Any]]:
    """Coverage of horizons; tasks have effects of their own on the log-odds, with this SD."""
    shares, width = np.array([0.5, 0.8]), np.log(1000)
    many = np.random.default_rng(0).uniform(0, width, 200_000)
    effects = np.random.default_rng(1).normal(0, sd, len(many))
    p = 1 / (1 + np.exp(1.5 * (many - np.log(30)) - effects))
    # what the logistic curve of all tasks is, in which those effects are averaged
    whole = pd.DataFrame({"minutes": np.exp(many), "right": np.round(1000 * p), "n": 1000})
    settings: dict[str, Any] = {"covariate": "minutes", "by": []}
    of_all = irtkit.learning_surface(whole, trials="n", clusters=[], **settings)
    truth = of_all.horizons(shares)["minutes"].to_numpy()
    held: dict[str, list[Any]] = {"clustered": [], "independent": []}
    for seed in range(n_sets):
        generator = np.random.default_rng([seed, runs])
        minutes, own = generator.uniform(0, width, n_tasks), generator.normal(0, sd, n_tasks)
        q = 1 / (1 + np.exp(1.5 * (minutes - np.log(30)) - own))
        frame = pd.DataFrame({"item": np.repeat(np.arange(n_tasks), runs)})
        frame["minutes"] = np.repeat(np.exp(minutes), runs)
        frame["right"] = (generator.random(len(frame)) < np.repeat(q, runs)).astype(int)
        for name, clusters in (("clustered", None), ("independent", [])):
            surface = irtkit.learning_surface(frame, clusters=clusters, **settings)
            table = surface.horizons(shares)
            low, high = (table[f"minutes_{end}"].to_numpy() for end in ("low", "high"))
            held[name].append((low <= truth) & (truth <= high))
    records = []
    for name, found in held.items():
        for share, coverage in zip(shares, np.mean(found, axis=0), strict=True):
            record = {"runs": runs, "errors": name, "share": float(share)}
            records.append(record | {"sets": n_sets, "coverage": float(coverage)})
            print(f"horizon {records[-1]}", flush=True)
    return records


def products(n_sets: int, n_items: int = 300, sd: float = 1.0) -> dict[str, Any]:
    """Coverage of the product of size and difficulty, items having effects of their own."""
    sizes, truth = 10 * 2 ** np.arange(8), -0.1

    def log_odds(difficulty: Array, own: Array) -> Array:
        size = np.log(sizes)[:, None]
        return np.asarray(size - 5 - difficulty + truth * size * difficulty + own)

    generator = np.random.default_rng(0)
    many = generator.normal(size=50_000)
    own = generator.normal(0, sd, len(many))
    p = 1 / (1 + np.exp(-log_odds(many, own)))
    whole = pd.DataFrame({"size": np.repeat(sizes, len(many)), "difficulty": np.tile(many, 8)})
    whole["right"], whole["n"] = np.round(1000 * p.ravel()), 1000
    of_all = irtkit.learning_surface(whole, trials="n", by=[], clusters=[])
    true = of_all.coefficients["estimate"].to_numpy()[-1]
    held: dict[str, list[bool]] = {"clustered": [], "independent": []}
    for seed in range(n_sets):
        generator = np.random.default_rng([seed, n_items])
        difficulty, own = generator.normal(size=n_items), generator.normal(0, sd, n_items)
        q = 1 / (1 + np.exp(-log_odds(difficulty, own)))
        frame = pd.DataFrame({"size": np.repeat(sizes, n_items)})
        frame["difficulty"], frame["item"] = np.tile(difficulty, 8), np.tile(range(n_items), 8)
        frame["right"] = (generator.random(q.shape) < q).ravel()
        for name, clusters in (("clustered", None), ("independent", [])):
            surface = irtkit.learning_surface(frame, by=[], clusters=clusters)
            row = surface.coefficients.iloc[-1]
            held[name].append(bool(row["low"] <= true <= row["high"]))
    record: dict[str, Any] = {"sets": n_sets, "truth": float(true)}
    record |= {name: float(np.mean(found)) for name, found in held.items()}
    print(f"product {record}", flush=True)
    return record


def main() -> None:
    """Print figure by figure; store all where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=40, help="matrices of every kind")
    options = parser.parse_args()
    n = options.sets
    warnings.simplefilter("ignore")  # few respondents, and those abler than all
    found: dict[str, Any] = {"curves": curves(n), "leaders": [], "alarms": [], "horizons": []}
    for kind, better, fitted in part(LEADERS, 0):
        sets = 2 * n if fitted else 10 * n
        found["leaders"].append(leaders(kind, better, sets, fitted=fitted))
    for setting in part(ALARMS, 0):
        for harder in (0.0, 1.0):
            # of a fit a quarter of the systems has new items: 25 n systems, and 60 n of others
            sets = 100 * n // setting.n if setting.difficulties == "fitted" else 3 * n
            found["alarms"].append(alarms(setting, harder, max(sets, 1)))
    for runs in part((1, 8)):
        found["horizons"] += horizons(runs, 15 * n)
    if whole():
        found["products"] = products(10 * n)
    store(options, **found)


if __name__ == "__main__":
    main()
