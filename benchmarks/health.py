"""How often the findings about the health of a benchmark are true.

Responses are drawn from 2PL items (slopes lognormal with an SD of 0.3 on the log scale,
difficulties and abilities standard normal). Items have a guessing of 0.25 and four known options
where systems at chance are planted, and in a second kind of clean sets. In planted sets, 15 % of
the items get a difficulty of −9, or one of 9, or 5 % are copies of other items with 5 % of the
responses flipped, or 15 % of the systems guess with a probability of 0.25. A clean set has nothing
planted. Clean sets with tasks have ten tasks of the same number of items. A set counts as found if
it has the finding of what was planted, and as false if it has any other finding of health.

Then, whether advice is true. Benchmarks differ in the difficulties of their items, whose SD is 1
and 0.8 if saturated. The items that a goal asks for are simulated, with the median discrimination
and the advised difficulty, and added. Printed are the number of sets with advice, mean numbers of
items, the squared correlation of refitted abilities with the true ones where 0.9 is promised, and
errors of the best systems by those before, where 0.5 is promised: posterior SDs of the refit, and
root mean squares of 1/√(information + 1) by true items.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit

SETTINGS = ((30, 100), (60, 200), (200, 100), (200, 1000), (1000, 60))
CODES = {
    "clean": "",
    "clean, four options": "",
    "clean, ten tasks": "",
    "ceiling": "items-at-ceiling",
    "floor": "items-at-floor",
    "near-duplicate items": "near-duplicate-items",
    "systems at chance": "systems-at-chance",
}
FOUR_OPTIONS = {"clean, four options", "systems at chance"}
SHAPES = {
    "saturated": (-3, 0.8, 120),
    "easy": (-1.3, 1, 60),
    "balanced": (0, 1, 60),
    "few": (0, 1, 30),
}
"""Mean and SD of difficulties, and number of items."""
OF_HEALTH = {*CODES.values(), "few-separating"}


def drawn(kind: str, n_systems: int, n_items: int, seed: int) -> irtkit.ResponseMatrix:
    """Responses of a board with something planted."""
    generator = np.random.default_rng(seed)
    difficulty = generator.normal(size=n_items)
    planted = generator.permutation(n_items)[: round(0.15 * n_items)]
    difficulty[planted] = {"ceiling": -9, "floor": 9}.get(kind, difficulty[planted])
    slopes, guessing = generator.lognormal(0, 0.3, n_items), 0.25 * (kind in FOUR_OPTIONS)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulty, guessing)
    abilities = generator.normal(size=n_systems)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values.copy()
    if kind == "near-duplicate items":
        one, other = generator.permutation(n_items)[: 2 * round(0.05 * n_items)].reshape(2, -1)
        flipped = generator.random((n_systems, len(one))) < 0.05
        values[:, other] = values[:, one] ^ flipped
    if kind == "systems at chance":
        at_chance = generator.permutation(n_systems)[: round(0.15 * n_systems)]
        values[at_chance] = generator.random((len(at_chance), n_items)) < 0.25
    responses = irtkit.ResponseMatrix(values)
    about = pd.DataFrame(index=responses.items)
    if kind in FOUR_OPTIONS:
        about["n_options"] = 4
    if kind == "clean, ten tasks":
        about["task"] = np.char.add("task ", (np.arange(n_items) % 10).astype(str))
    return responses.with_tables(about)


def measured(kind: str, n_systems: int, n_items: int, sets: int) -> dict[str, Any]:
    """Share of the sets with the finding that was planted, and with another one."""
    found = false = 0
    fit_seconds = health_seconds = 0.0
    codes: set[str] = set()
    for seed in range(sets):
        responses = drawn(kind, n_systems, n_items, seed)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", irtkit.IRTWarning)
            result = irtkit.fit(responses)
        fitted = time.process_time()
        said = {one.code for one in result.health().findings} & OF_HEALTH
        fit_seconds += fitted - started
        health_seconds += time.process_time() - fitted
        found += CODES[kind] in said
        others = said - {CODES[kind]}
        false += bool(others)
        codes |= others
    return {
        "planted": kind,
        "systems": n_systems,
        "items": n_items,
        "sets": sets,
        "found": None if not CODES[kind] else found,
        "false": false,
        "false findings": sorted(codes),
        "time by that of the fit": health_seconds / fit_seconds,
    }


def advised(shape: str, n_systems: int, sets: int) -> dict[str, Any]:
    """What goals reach when their items are added, as means over sets with such advice."""
    found: dict[str, list[Any]] = {"reliability": [], "errors": []}
    for seed in range(sets):
        mean, sd, n_items = SHAPES[shape]
        g = np.random.default_rng([seed, n_systems, n_items])
        slopes, difficulty = g.lognormal(0, 0.3, n_items), g.normal(mean, sd, n_items)
        items = irtkit.ItemParameters.from_difficulty(slopes, difficulty)
        theta = g.normal(size=n_systems)
        values = irtkit.simulate_responses(items, theta, seed=g).values
        result = irtkit.fit(values)
        health = result.health()
        best = result.best_first[: health.n_best]
        slope = np.median(np.abs(result.parameters.discrimination))
        printed = health.to_add[health.to_add["n_items"] <= n_items]
        for goal, n, at in printed.itertuples():
            new = irtkit.ItemParameters.from_difficulty(np.full(n, slope), np.full(n, at))
            more = irtkit.simulate_responses(new, theta, seed=g).values
            refitted = irtkit.fit(np.hstack([values, more]))
            if goal.startswith("reach"):
                reached = np.corrcoef(refitted.ability, theta)[0, 1] ** 2
                found["reliability"].append((n, reached))
                continue
            before = np.sqrt(np.mean(result.posterior_sd[best] ** 2))
            after = np.sqrt(np.mean(refitted.posterior_sd[best] ** 2))
            information = sum(one.information(theta[best]).sum(axis=1) for one in (items, new))
            true = np.sqrt(np.mean(1 / (information + 1)))
            found["errors"].append((n, after / before, true / before))
    row: dict[str, Any] = {"shape": shape, "systems": n_systems, "sets": sets}
    for goal, several in found.items():
        means = [float(one) for one in np.mean(several, axis=0)] if several else None
        row[goal] = {"advised": len(several), "means": means}
    return row


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of every setting")
    parser.add_argument("--advice", type=int, default=50, help="data sets of every kind of advice")
    options = parser.parse_args()
    print("| planted | systems × items | found | false | which | time / fit |")
    print("|---|---|---|---|---|---|")
    rows = []
    for kind in CODES:
        for n_systems, n_items in part(SETTINGS, 0):
            rows.append(row := measured(kind, n_systems, n_items, options.sets))
            found = "–" if row["found"] is None else f"{row['found']} of {row['sets']}"
            print(
                f"| {kind} | {n_systems} × {n_items} | {found} | {row['false']} of {row['sets']} "
                f"| {', '.join(row['false findings'])} | {row['time by that of the fit']:.2f} |",
                flush=True,
            )
    advice = []
    for shape in part(SHAPES, "saturated"):
        for n_systems in (60, 200):
            advice.append(row := advised(shape, n_systems, options.advice))
            print(row, flush=True)
    store(options, studies=rows, advice=advice)


if __name__ == "__main__":
    main()
