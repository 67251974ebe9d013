"""False discoveries of negative slopes where respondents answer alike, and where they do not.

Parents have abilities and answers of their own; children copy the answers and flip each with the
probability given. `near_copies` and `few_families` (of at most 60 respondents): every respondent
counted as independent ("alone"), and evidence weighed by near-duplicates. `named_families`: without
families, with ``families="similar"``, and with the true ones.
"""

import numpy as np
from machine import part
from scipy.special import expit
from simulated import (
    answers,
    board_of,
    flipped,
    inverted,
    responses,
    setting,
    two_abilities,
    with_missing,
)
from study import run, study

import irtkit
from irtkit.data.limits import dimensionality
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import called_negative, slope_signs

SHARE, SEED = 0.02, 41
WAYS = ("unnamed", "similar", "true")


def planted(draw):
    """Like `setting`, with a share of the items inverted in what is drawn."""
    return lambda *arguments, share=SHARE, **named: (
        lambda g: inverted(g, draw(g, *arguments, **named), share)
    )


def _normal(g, n):
    return g.normal(size=n)


@planted
def independent(g, n, m=500, *, ability=_normal, **how):
    """Independent respondents, with abilities of any distribution."""
    return responses(g, ability(g, n), m, **how)


@planted
def families(g, groups, size, noise, m=500, **how):
    """Families of one size."""
    parents = responses(g, g.normal(size=groups), m, **how)
    return flipped(g, np.repeat(parents, size, axis=0), noise)


@planted
def beside_singles(g, size, n, noise, at, m=200):
    """One family at an ability, and independent respondents."""
    y = responses(g, np.append(at, g.normal(size=n - size)), m)
    return np.concatenate([flipped(g, np.repeat(y[:1], size, axis=0), noise), y[1:]])


@planted
def uneven(g):
    """Families of many sizes."""
    size = np.array([60, 40, 20, 10, 10, 5, 5] + [1] * 50)
    y = np.repeat(responses(g, g.normal(size=len(size)), 500), size, axis=0)
    return flipped(g, y, 0.05 * (np.repeat(size, size) > 1)[:, None])


@planted
def checkpoints(g, runs, steps, m=500):
    """Runs of checkpoints, each abler than the one before, with 6 % of the answers drawn anew."""
    a, b, rows = g.lognormal(0, 0.3, m), g.normal(size=m), []
    for _ in range(runs):
        start, chance = g.normal(), g.logistic(size=m)
        for step in range(steps):
            chance = np.where(g.random(m) < 0.06, g.logistic(size=m), chance)
            rows.append(a * (start + 1.5 * step / steps - 0.75 - b) > chance)
    return np.array(rows, dtype=np.int8)


@planted
def two_dimensions(g, r, n=200, m=500):
    """80 % of the items on one ability, 20 % on another."""
    theta = two_abilities(g, n, r)
    return responses(g, theta[:, (g.random(m) < 0.2).astype(int)], m)


@planted
def two_kinds(g, r, n=200, m=500):
    """80 % and 20 % of the respondents have difficulties of their own, correlated r."""
    second, a = g.random(n) < 0.2, g.lognormal(0, 0.3, m)
    b = two_abilities(g, m, r)
    eta = a * (g.normal(size=n)[:, None] - np.where(second[:, None], b[:, 1], b[:, 0]))
    return answers(g, expit(eta))


@setting
def holed(g, draw, share=0.7):
    """The same, with cells missing at random."""
    y, wrong = draw(g)
    return with_missing(g, y, share), wrong


@setting
def nothing(g, draw):
    """The same, nothing inverted."""
    y, wrong = draw(g)
    return np.where(wrong & (y >= 0), 1 - y, y).astype(np.int8), np.zeros_like(wrong)


@planted
def benchmark(g, n):
    """As in the study of planted wrong keys."""
    return board_of(g, n, 1000)[2].values


def _exponential(g, n):
    return g.exponential(size=n) - 1


SETTINGS = {
    "independent 200 × 500": independent(200),
    **{f"planted_wrong_keys {n} × 1,000": benchmark(n) for n in (200, 100, 60, 30, 12)},
    "10 × 20, 2 %": families(10, 20, 0.02),
    "10 × 20, 10 %": families(10, 20, 0.1),
    "30 × 7, 2 %": families(30, 7, 0.02),
    "40 × 5, 20 %": families(40, 5, 0.2),
    "60 × 3, 2 %": families(60, 3, 0.02),
    "60 × 3, 20 %": families(60, 3, 0.2),
    "abilities exponential": independent(200, ability=_exponential),
    "abilities −exponential": independent(200, ability=lambda g, n: -_exponential(g, n)),
    "abilities in two heaps": independent(
        200,
        ability=lambda g, n: np.where(
            g.random(n) < 0.8, g.normal(0.5, 0.4, n), g.normal(-2, 0.4, n)
        ),
    ),
    "guessing 0.25": independent(200, guessing=0.25),
    "guessing 0.5": independent(200, guessing=0.5),
    "accuracy 0.95": independent(200, easier=3.75),
    "70 % missing": holed(independent(200)),
    "8 respondents": independent(8),
    "30 respondents": independent(30),
    "nothing planted": nothing(independent(200)),
    "nothing, 10 × 20, 2 %": nothing(families(10, 20, 0.02)),
    "nothing, 30 × 7, 2 %": nothing(families(30, 7, 0.02)),
    "two dimensions, r 0.5": two_dimensions(0.5),
    "two dimensions, r 0": two_dimensions(0.0),
    "two dimensions, r −0.5": two_dimensions(-0.5),
    "two kinds of respondents, r 0.5": two_kinds(0.5),
    "two kinds of respondents, r 0": two_kinds(0.0),
    "two kinds of respondents, r −0.5": two_kinds(-0.5),
    **{f"independent 200 × {m}": independent(200, m) for m in (20, 50)},
    "independent 1,000 × 30": independent(1000, 30),
    "slopes with an SD of 0.8": independent(200, spread=0.8),
    "20 % inverted": independent(200, share=0.2),
    "20 % inverted, exponential": independent(200, share=0.2, ability=_exponential),
    "accuracy 0.95, 50 items": independent(200, 50, easier=3.75),
    "10 × 20, 2 %, 2,000 items": families(10, 20, 0.02, 2000),
    **{
        f"{k} × {size}, {100 * noise:.0f} %, {m} items": families(k, size, noise, m)
        for m in (20, 50, 100)
        for k, size, noise in ((10, 20, 0.02), (30, 7, 0.02), (40, 5, 0.2), (60, 3, 0.02))
    },
    "10 × 20, 2 %, 70 % missing": holed(families(10, 20, 0.02)),
    "30 × 7, 2 %, 70 % missing": holed(families(30, 7, 0.02)),
    "40 × 5, 20 %, 70 % missing": holed(families(40, 5, 0.2)),
    "10 × 20, 2 %, accuracy 0.9": families(10, 20, 0.02, easier=2.8),
    "30 × 7, 2 %, guessing 0.25": families(30, 7, 0.02, guessing=0.25),
    "20 × 10, 5 %": families(20, 10, 0.05),
    "30 × 7, 20 %": families(30, 7, 0.2),
    "10 × 20, 30 %": families(10, 20, 0.3),
    "10 × 3, 2 %": families(10, 3, 0.02),
    "5 × 40, 2 %": families(5, 40, 0.02),
    "3 × 10, 2 %": families(3, 10, 0.02),
    "families of 60 to 1": uneven(),
    "10 runs of 20 checkpoints": checkpoints(10, 20),
    "20 runs of 10 checkpoints": checkpoints(20, 10),
    **{
        f"{k} copies at {at} SD": beside_singles(k, 200, 0.02, at, 500)
        for k, at in ((60, 1.5), (100, 0), (40, -3))
    },
}


KINDS = (
    ("", 0.02, {}),
    (", slopes with an SD of 0.5", 0.02, {"spread": 0.5}),
    (", 20 % inverted", 0.2, {}),
    (", guessing 0.25", 0.02, {"guessing": 0.25}),
    (", 90 % right, 10 % inverted", 0.1, {"easier": 2.8}),
)
FEW = {
    **{
        f"{groups} × {size}, {100 * noise:.0f} %, {m} items": families(groups, size, noise, m)
        for groups, size, noise, m in (
            *((2, 6, 0.1, 200), (2, 10, 0.1, 200), (3, 3, 0.1, 200), (3, 4, 0.1, 200)),
            *((3, 5, 0.1, 200), (4, 4, 0.1, 200), (4, 5, 0.1, 200), (5, 3, 0.1, 200)),
            *((3, 4, 0.1, 100), (3, 20, 0.1, 200), (3, 4, 0.2, 200), (5, 3, 0.2, 200)),
            *((3, 8, 0.2, 200), (4, 4, 0.2, 200), (5, 4, 0.2, 200)),
        )
    },
    "3 × 4, 10 %, 200 items, 30 % missing": holed(families(3, 4, 0.1, 200), 0.3),
    **{
        f"a family of {size} at {at} SD, {100 * noise:.0f} %, of {n}": beside_singles(
            size, n, noise, at
        )
        for size, n, noise, at in (
            *((6, 12, 0.1, 1), (6, 20, 0.1, 1), (10, 20, 0.1, -1), (8, 30, 0.1, 1.5)),
            *((12, 30, 0.02, 0), (12, 30, 0.1, 1), (20, 40, 0.1, 1), (15, 60, 0.1, 1)),
            (30, 60, 0.1, 1),
        )
    },
    **{
        f"{n} independent, {m} items{what}": independent(n, m, share=share, **how)
        for n in (8, 12, 20, 30, 60)
        for m in (25, 100, 200)
        for what, share, how in KINDS
    },
    **{
        f"{n} independent in four heaps": independent(
            n, 200, ability=lambda g, n: np.repeat(g.normal(size=4), n // 4)
        )
        for n in (8, 12, 20, 60)
    },
    **{
        f"{n} independent, abilities with an SD of 2, 10 % inverted": independent(
            n, 200, share=0.1, ability=lambda g, n: 2 * g.normal(size=n)
        )
        for n in (12, 20, 30, 60)
    },
}
NAMED = {
    f"{k} × {size}, {100 * noise:.0f} %, {m} items": (k, size, noise, m)
    for k, size, noise, m in (
        *((10, 20, 0.1, 100), (20, 10, 0.05, 100), (20, 10, 0.1, 100), (40, 5, 0.2, 100)),
        *((60, 4, 0.05, 100), (200, 1, 0.0, 100), (10, 20, 0.1, 50), (40, 5, 0.2, 50)),
        *((2, 20, 0.1, 100), (3, 20, 0.1, 100)),
    )
}
"""Families, their size, the share of answers changed, and items."""


def drawn(name, seed):
    """One data set of a setting, and which items are inverted."""
    numbers = [seed, SEED, int(name.split()[1])] if name.startswith("planted") else [seed, SEED]
    values, wrong = (SETTINGS | FEW)[name](np.random.default_rng(numbers))
    return patterns_of(irtkit.ResponseMatrix(values), synthetic_is_real=False), wrong


def measured(name, seed):
    """The figures of one data set."""
    patterns, wrong = drawn(name, seed)
    duplicates = near_duplicates(patterns)
    weighed = slope_signs(patterns, duplicates.share)
    figures = {}
    for kind, signs in (("alone", weighed.weighted(1.0)), ("weighed", weighed)):
        called = called_negative(signs.p_negative, 0.05)
        figures[f"{kind}: false"] = (called & ~wrong).sum() / max(called.sum(), 1)
        figures[f"{kind}: found"] = (called & wrong).sum() / max(wrong.sum(), 1)
    figures["effective"] = duplicates.n_eff
    figures["warned"] = dimensionality(patterns, duplicates) is not None
    return figures


def named(name, seed):
    """What is called without families, with similar ones and with the true ones."""
    values, wrong = families(*NAMED[name])(np.random.default_rng([seed, SEED]))
    n_families, size, *_ = NAMED[name]
    family = np.repeat(range(n_families), size).tolist()
    result = irtkit.fit(irtkit.ResponseMatrix(values), "1PL", standard_errors=False)
    wrong_items = {result.item_labels[j] for j in np.flatnonzero(wrong)}
    row = {}
    for way, grouping in zip(WAYS, (None, "similar", family), strict=True):
        reasons = irtkit.flag_items(result, families=grouping)["reasons"]
        called = {item for item, listed in reasons.items() if "negative" in listed}
        row |= {f"{way} called": len(called), f"{way} false": len(called - wrong_items)}
    return row


def near_copies(sets=20):
    """False discoveries with near-duplicates of all kinds, and without."""
    return {"studies": study(part(list(SETTINGS), 0, 6), measured, sets)}


def few_families(sets=20):
    """The same of few families, of one beside single respondents, and of none."""
    return {"studies": study(part(list(FEW), 0, 7), measured, sets)}


def named_families(sets=200):
    """False discoveries where families are named."""
    counts = [f"{way} {what}" for way in WAYS for what in ("called", "false")]
    rows = study(part(list(NAMED), 8), named, sets, totals=counts)

    def shares(row):
        false = {way: row.pop(f"{way} false") / max(row[f"{way} called"], 1) for way in WAYS}
        return row | {f"{way} false of all": share for way, share in false.items()}

    return {"studies": map(shares, rows)}


if __name__ == "__main__":
    run(near_copies, few_families, named_families)
