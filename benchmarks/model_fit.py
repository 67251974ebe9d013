"""How often statistics of fit raise an alarm where a model holds, and where it does not.

*Null*: data are drawn from the model that is fitted, items and abilities anew in every set (log
slopes of SD 0.3, difficulties N(0, 1), guessing of the 3PL in [0.1, 0.3]). Printed are the shares
of items whose S-X² has a p-value below 0.05 and below 0.01, of items whose infit and outfit lie
beyond ±1.96, of respondents whose lz has a p-value below 0.05, of pairs whose Q3 has, and the sets
in which any item is called at a false-discovery rate of 5 %.

*M2*: sets, drawn in the same way, in which its p-value is below 0.05.

*Planted*: a tenth of the items of a 2PL are of another kind: guessing 0.3, with slope 2 and
difficulty 1; a ceiling, right with 0.7 at most, with slope 2 and difficulty −1; or falling again,
exp(−½((θ − b)/0.8)²). Printed: the share of them with a p-value below 0.05, the share that
``flag_items(poor_fit=True)`` calls, and the share of false ones among the items it calls (mean over
sets, 0 where none is), beside that among the q-values of ``item_fit`` below 0.05.

*Dependent*: respondents that are near-copies of parents, two dimensions of ability with a half of
the items each. Printed: items called in all sets, and those that would be were every respondent
counted as one.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from irtkit.calibration.priors import PriorName
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

LEVEL = 0.05


class Null(NamedTuple):
    """Data sets drawn from the model that is fitted."""

    n_respondents: int
    n_items: int
    n_sets: int
    model: ModelName = "2PL"
    prior: PriorName | None = "weak"
    kind: str = ""

    def __str__(self) -> str:
        prior = "" if self.prior else ", no prior"
        kind = f", {self.kind}" if self.kind else ""
        return f"{self.n_respondents:,} × {self.n_items:,} {self.model}{prior}{kind}"


NULLS = (
    *(Null(1000, 5, 120), Null(1000, 20, 30), Null(500, 40, 15), Null(500, 40, 15, prior=None)),
    *(Null(500, 40, 30, "1PL"), Null(1000, 20, 40, "Rasch"), Null(2000, 30, 40, "3PL")),
    Null(1000, 40, 30, kind="negative"),
    *(Null(1000, 40, 15, kind="skewed"), Null(1000, 40, 15, kind="missing"), Null(2000, 120, 5)),
    *(Null(200, 200, 4), Null(200, 1000, 2), Null(50, 1000, 2), Null(30, 500, 4)),
)
M2_NULLS = (
    *(Null(1000, 20, 200), Null(500, 40, 200), Null(2000, 30, 100, "3PL"), Null(500, 100, 100)),
    *(Null(200, 100, 100), Null(100, 100, 100), Null(200, 200, 60)),
)
PLANTED = ((1000, 40, 20), (2000, 40, 20), (5000, 40, 10), (300, 100, 10), (200, 1000, 2))
KINDS = ("guessing", "ceiling", "falling again")
FAMILIES = ((10, 20, 0.02), (30, 7, 0.02), (40, 5, 0.2), (60, 3, 0.2), (10, 20, 0.3))
DIMENSIONS = ((500, 60, 0.5), (1000, 40, 0.8), (200, 300, -0.5))
DEPENDENT_SETS = 10


def items_of(generator: Generator, n_items: int, model: ModelName = "2PL") -> irtkit.ItemParameters:
    """Items drawn anew."""
    slope = generator.lognormal(0, 0.0 if model in {"1PL", "Rasch"} else 0.3, n_items)
    guessing = generator.uniform(0.1, 0.3, n_items) if model == "3PL" else 0.0
    return irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)


def draw(study: Null, seed: int) -> irtkit.ResponseMatrix:
    """Responses from the model."""
    generator = np.random.default_rng([seed, *study[:2]])
    items = items_of(generator, study.n_items, study.model)
    if study.kind == "negative":
        sign = np.where(generator.random(study.n_items) < 0.07, -1, 1)
        items = irtkit.ItemParameters(sign * items.discrimination, items.intercept, items.guessing)
    ability = generator.normal(size=study.n_respondents)
    if study.kind == "skewed":
        ability = generator.exponential(size=study.n_respondents) - 1
    missing = 0.01 if study.kind == "missing" else 0.0
    return irtkit.simulate_responses(items, ability, missing=missing, seed=generator)


def fitted(
    responses: irtkit.ResponseMatrix, model: ModelName = "2PL", prior: PriorName | None = "weak"
) -> irtkit.FitResult:
    """Fit without a word."""
    with warnings.catch_warnings(action="ignore"):
        return irtkit.fit(responses, model, prior=prior, standard_errors=False)


def share_below(p: Any, level: float = LEVEL) -> float:
    """Share of the known p-values below a level."""
    known = np.asarray(p)[~np.isnan(p)]
    return float((known < level).mean()) if len(known) else float("nan")


def null(study: Null) -> dict[str, Any]:
    """Alarms where the model holds."""
    items, lz, pairs, called = [], [], [], 0
    for seed in range(study.n_sets):
        result = fitted(draw(study, seed), study.model, study.prior)
        table = irtkit.item_fit(result)
        items.append(table[["p_value", "infit_z", "outfit_z"]].to_numpy())
        lz.append(irtkit.respondent_fit(result)["p_value"].to_numpy())
        every = irtkit.local_dependence(result, threshold=0.0, top=None)
        pairs.append(every["p_value"].to_numpy())
        called += int((table["q_value"] < LEVEL).any())
    p, infit, outfit = np.concatenate(items).T
    return {
        "data": str(study),
        "n_items": int((~np.isnan(p)).sum()),
        "s_x2_05": share_below(p),
        "s_x2_01": share_below(p, 0.01),
        "infit": float((np.abs(infit) > 1.96).mean()),
        "outfit": float((np.abs(outfit) > 1.96).mean()),
        "lz_05": share_below(np.concatenate(lz)),
        "q3_05": share_below(np.concatenate(pairs)),
        "sets": study.n_sets,
        "sets_with_items_called": called,
    }


def m2_null(study: Null) -> dict[str, Any]:
    """Alarms of M2 where the model holds."""
    results = (fitted(draw(study, seed), study.model) for seed in range(study.n_sets))
    found = [irtkit.model_fit(result) for result in results]
    return {
        "data": str(study),
        "sets": study.n_sets,
        "m2_05": share_below([one.p_value for one in found]),
        "ratio": float(np.mean([one.m2 / one.degrees_of_freedom for one in found])),
        "rmsea_high": float(np.mean([one.rmsea_high for one in found])),
    }


def planted_probability(kind: str, items: irtkit.ItemParameters, ability: Array) -> Array:
    """P(right) of items that are not of the 2PL."""
    if kind != "falling again":
        difficulty, lowest, highest = (1, 0.3, 1.0) if kind == "guessing" else (-1, 0.0, 0.7)
        n = items.n_items
        steep = irtkit.ItemParameters.from_difficulty(np.full(n, 2.0), np.full(n, difficulty))
        return lowest + (highest - lowest) * steep.probability(ability)
    return np.exp(-0.5 * ((ability[:, None] - items.difficulty) / 0.8) ** 2)


def planted(n_respondents: int, n_items: int, n_sets: int, kind: str) -> dict[str, Any]:
    """Items of another kind that are called, and false ones among the called."""
    found, power, false, at_first = [], [], [], []
    for seed in range(n_sets):
        generator = np.random.default_rng([seed, n_respondents, n_items])
        items, ability = items_of(generator, n_items), generator.normal(size=n_respondents)
        p = items.probability(ability)
        odd = np.arange(n_items) < n_items // 10
        some = np.flatnonzero(odd)
        p[:, some] = planted_probability(kind, items.chosen(some), ability)
        result = fitted(irtkit.ResponseMatrix((generator.random(p.shape) < p).astype(np.int8)))
        poor = is_poor(result)
        found.append(poor[odd].mean())
        table = irtkit.item_fit(result)
        power.append(share_below(table["p_value"].to_numpy()[odd]))
        false.append(poor[~odd].sum() / max(poor.sum(), 1))
        called = (table["q_value"] < LEVEL).to_numpy()
        at_first.append(called[~odd].sum() / max(called.sum(), 1))
    return {
        "data": f"{n_respondents:,} × {n_items:,}, {kind}",
        "power_05": float(np.mean(power)),
        "found": float(np.mean(found)),
        "false": float(np.mean(false)),
        "false_by_item_fit": float(np.mean(at_first)),
    }


def is_poor(result: irtkit.FitResult) -> NDArray[np.bool_]:
    """Which items are called for poor fit."""
    with warnings.catch_warnings(action="ignore"):
        table = irtkit.flag_items(result, fdr=LEVEL, poor_fit=True)
    is_named = table["reasons"].map(lambda reasons: "poor_fit" in reasons).astype(bool)
    return np.isin(np.array(result.item_labels), table.index[is_named])


def copies(n_families: int, size: int, flipped: float, seed: int) -> irtkit.ResponseMatrix:
    """Families that repeat a parent's answers and flip a share of them."""
    generator = np.random.default_rng([seed, n_families, size])
    items = items_of(generator, 300)
    parents = irtkit.simulate_responses(items, generator.normal(size=n_families), seed=generator)
    values = np.repeat(parents.values, size, axis=0)
    return irtkit.ResponseMatrix(
        np.where(generator.random(values.shape) < flipped, 1 - values, values)
    )


def two_abilities(n: int, n_items: int, correlation: float, seed: int) -> irtkit.ResponseMatrix:
    """A half of the items for each of two abilities."""
    generator = np.random.default_rng([seed, n, n_items])
    covariance = [[1, correlation], [correlation, 1]]
    ability = generator.multivariate_normal([0, 0], covariance, size=n)
    items, half = items_of(generator, n_items), n_items // 2
    parts = (slice(0, half), slice(half, None))
    p = np.hstack([items.chosen(part).probability(ability[:, k]) for k, part in enumerate(parts)])
    return irtkit.ResponseMatrix((generator.random(p.shape) < p).astype(np.int8))


def dependent(name: str, drawn: list[irtkit.ResponseMatrix]) -> dict[str, Any]:
    """Items called where respondents, or items, have more in common than ability."""
    called, counted, n_items, warned = 0, 0, 0, 0
    for responses in drawn:
        result = fitted(responses)
        table = irtkit.item_fit(result)
        called += int(is_poor(result).sum())
        counted += int((false_discovery(table) < LEVEL).sum())
        n_items += len(table)
        warned += result.one_ability_doubted
    return {
        "data": name,
        "called": called / n_items,
        "each_counted": counted / n_items,
        "warned": warned / len(drawn),
    }


def false_discovery(table: Any) -> Array:
    """q-values of S-X² on the chi-square, every respondent counted as one."""
    from scipy.special import chdtrc
    from scipy.stats import false_discovery_control

    told = table.dropna(subset=["p_value"])
    return np.asarray(false_discovery_control(chdtrc(told["df"], told["s_x2"])))


def shown(record: dict[str, Any]) -> str:
    """One line of a table."""
    parts = [f"{v:9.3f}" if isinstance(v, float) else str(v).rjust(9) for v in record.values()]
    return " ".join([parts[0].ljust(36), *parts[1:]])


def main() -> None:
    """Run all studies."""
    options = arguments(__doc__).parse_args()
    tables: dict[str, list[dict[str, Any]]] = {}

    def add(name: str, record: dict[str, Any]) -> None:
        if name not in tables:
            print(f"\n{name}: {', '.join(record)}", flush=True)
        tables.setdefault(name, []).append(record)
        print(shown(record), flush=True)

    for study in part(NULLS, 14):
        add("null", null(study))
    for study in part(M2_NULLS, 5):
        add("m2", m2_null(study))
    for kind in part(KINDS, 0):
        for shape in part(PLANTED, 0):
            add("planted", planted(*shape, kind))
    seeds = range(DEPENDENT_SETS)
    for n, size, flipped in part(FAMILIES, 0):
        name = f"{n} families of {size}, {flipped:.0%} flipped, 300 items"
        add("dependent", dependent(name, [copies(n, size, flipped, seed) for seed in seeds]))
    for n, n_items, correlation in part(DIMENSIONS, 1):
        name = f"two abilities, r = {correlation}, {n:,} × {n_items}"
        add(
            "dependent", dependent(name, [two_abilities(n, n_items, correlation, s) for s in seeds])
        )
    store(options, **tables)


if __name__ == "__main__":
    main()
