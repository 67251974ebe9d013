"""How often drifted anchors are named, and how often sound ones are.

Earlier systems calibrate 30 items. Later systems answer these items, held fixed, and 15 new ones.
"Leaked" anchors are easier for later systems by 1.2 logits. Abilities of both are N(0, 1), or those
of later systems N(1, 0.7²). "Copies" are later systems that occur four times.

Printed are the data sets in which exactly the leaked anchors are named, and those in which a sound
one is; the latent mean, before and after a second fit without the anchors that were named; how
often its 95 % interval covers the true mean after that; and the SD of z of sound anchors.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from irtkit.irf import ModelName

N_ANCHORS, N_NEW_ITEMS, SHIFT = 30, 15, 1.2
HEADER = (
    *("model", "earlier", "later", "leaked", "sets", "exactly these", "false"),
    *("mean before", "after", "coverage", "SD of z"),
)


class Study(NamedTuple):
    """Data sets of one kind."""

    model: ModelName
    n_earlier: int
    n_later: int
    leaked: int
    population: tuple[float, float] = (0.0, 1.0)
    """Mean and SD of ability of later systems."""
    copies: int = 1
    n_data_sets: int = 40


STUDIES = (
    *(Study("2PL", earlier, 1000, 6) for earlier in (500, 1000, 5000)),
    *(Study(model, 1000, 1000, 6) for model in ("Rasch", "1PL", "3PL")),
    Study("2PL", 1000, 1000, 12),
    Study("2PL", 1000, 1000, 6, (1.0, 0.7)),
    *(Study("2PL", n, n, 0) for n in (100, 500, 2000)),
    *(Study("2PL", 500, n, 0) for n in (60, 5000)),
    *(Study(model, 500, 500, 0) for model in ("Rasch", "1PL", "3PL")),
    Study("2PL", 500, 500, 0, (1.0, 0.7)),
    Study("2PL", 500, 400, 0, copies=4),
)


def one_set(study: Study, seed: int) -> dict[str, Any]:
    """What is found in one data set."""
    generator = np.random.default_rng([seed, study.n_earlier, study.n_later, study.leaked])
    n_items = N_ANCHORS + N_NEW_ITEMS
    slope = generator.lognormal(0, 0.3 if study.model in {"2PL", "3PL"} else 0.0, n_items)
    difficulty = generator.normal(size=n_items)
    guessing = generator.beta(5, 17, n_items) if study.model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty, guessing)
    leaked = generator.permutation(n_items) < 0
    leaked[generator.permutation(N_ANCHORS)[: study.leaked]] = True
    later_items = irtkit.ItemParameters(slope, items.intercept + SHIFT * leaked, items.guessing)
    mean, sd = study.population
    ability = generator.normal(mean, sd, study.n_later // study.copies)
    first = irtkit.simulate_responses(
        items.chosen(slice(N_ANCHORS)), generator.normal(size=study.n_earlier), seed=generator
    )
    drawn = irtkit.simulate_responses(later_items, ability, seed=generator)
    second = irtkit.ResponseMatrix(np.repeat(drawn.values, study.copies, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        earlier = irtkit.fit(first, study.model, progress=False)
        result = irtkit.fit(second, study.model, fixed=earlier, progress=False)
        kept = earlier.items.drop(result.items.query("drifts").index)
        after = irtkit.fit(second, study.model, fixed=kept, progress=False)
    named = result.items["drifts"].to_numpy()
    off = np.abs(after.latent_mean - mean)
    # the table of items does not tell how uncertain its scale is: σ/√n of its mean, 1/√(2n) of it
    of_scale = np.hypot(1, mean / 2**0.5) / study.n_earlier**0.5
    return {
        "exactly": bool((named == leaked).all()),
        "false": bool((named & ~leaked).any()),
        "before": result.latent_mean,
        "after": after.latent_mean,
        "covered": bool(off <= 1.96 * np.hypot(after.latent_mean_se or 0.0, of_scale)),
        "z": result.items["drift_z"].to_numpy()[:N_ANCHORS][~leaked[:N_ANCHORS]],
    }


def measured(study: Study) -> dict[str, Any]:
    """Counts and averages over the data sets of a study."""
    sets = [one_set(study, seed) for seed in range(study.n_data_sets)]
    by_name = {name: [one[name] for one in sets] for name in sets[0]}
    return {
        **study._asdict(),
        **{name: sum(by_name[name]) for name in ("exactly", "false", "covered")},
        **{name: float(np.mean(by_name[name])) for name in ("before", "after")},
        "sd_of_z": float(np.nanstd(np.concatenate(by_name["z"]))),
    }


def row(record: dict[str, Any]) -> str:
    """One row of the table."""
    n = record["n_data_sets"]
    of_copies = f" ({record['copies']} copies)" if record["copies"] > 1 else ""
    cells = (
        *(record["model"], record["n_earlier"], f"{record['n_later']}{of_copies}"),
        *(record["leaked"], n, record["exactly"], record["false"]),
        *(f"{record['before']:.3f}", f"{record['after']:.3f}"),
        *(f"{record['covered'] / n:.0%}", f"{record['sd_of_z']:.2f}"),
    )
    return " | ".join(map(str, cells))


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__).parse_args()
    print(" | ".join(HEADER))
    records = []
    for study in part(STUDIES, 8, 11):
        records.append(measured(study))
        print(row(records[-1]), flush=True)
    store(given, studies=records)


if __name__ == "__main__":
    main()
