"""How often a fit has findings where it should, and where it should not.

`warnings_of_fit`: for every setting data are drawn, the 2PL is fitted by default, and the codes of
``result.findings`` are counted. "parts": disconnected or hardly linked groups; "apart": these, or a
gap between systems that answered different items is shrunk or hidden; "few": fewer than eight
systems; "chance": no ability differences; "further ability": not unidimensional; "item groups":
that, or groups of items hang together; "near-duplicates": the effective number of systems is less
than 0.9 of their number. Beside each setting stands the finding that must come in all data sets,
"clean" if none may come, or "seen" if nothing is promised. Then how closely fitted slopes follow
the true ones by the number of respondents (rank correlations, of 300 items), the reason for "fewer
than eight".

`at_chance`: the share of data sets in which systems at chance are named, of the planted guessers
that are named, of the others, and of the data sets in which the best system by accuracy is named.
"opposite": guessers that answer one of two classes whatever is asked, but for a share of coin
flips; the number of options is not known. "options": guessers flip coins, and the item table has
n_options. "none": nobody is to be named. "seen": what comes, without a promise. "elsewhere": the
settings of `warnings_of_fit` whose data hold one ability or several; nobody is to be named. Honest
systems follow a 2PL with guessing at the chance level, or an open-ended one without.

`health`: items have a guessing of 0.25 and four known options where systems at chance are planted,
and in a second kind of clean sets. In planted sets, 15 % of the items get a difficulty of −9, or
one of 9, or 5 % are copies of other items with 5 % of the responses flipped, or 15 % of the systems
guess with a probability of 0.25. Clean sets with tasks have ten tasks of the same number of items.
A set counts as found if it has the finding of what was planted, and as false if it has any other
finding of health. Then, whether advice is true: benchmarks differ in the difficulties of their
items. The items that a goal asks for are simulated, with the median discrimination and the advised
difficulty, and added. Measured are the number of sets with advice, mean numbers of items, the
squared correlation of refitted abilities with the true ones where 0.9 is promised, and errors of
the best systems by those before, where 0.5 is promised: posterior SDs of the refit, and root mean
squares of 1/√(information + 1) by true items.

`near_chance`: the share of data sets in which reading says that many systems seem to guess between
four options. A share of the systems guess. The others follow a 2PL with a mean accuracy of 1/4, so
that many have an accuracy near chance by ability, or a 2PL with a guessing of 1/4.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from machine import part
from scipy.stats import spearmanr
from simulated import responses, two_abilities, with_missing
from study import run, study

import irtkit
from irtkit.data.limits import at_chance as found_at_chance
from irtkit.data.patterns import patterns_of
from irtkit.responses.guessing import near_chance as found_near_chance

if TYPE_CHECKING:
    from collections.abc import Callable

    from study import Tables

    Draw = Callable[[np.random.Generator], irtkit.ResponseMatrix]
    Draws = dict[str, Draw]

PARTS = {"disconnected-groups", "hardly-linked-groups"}
KINDS: dict[str, set[str]] = {
    "parts": PARTS,
    "apart": PARTS | {"gap-shrunk", "gap-hidden"},
    "few": {"few-systems"},
    "chance": {"no-differences"},
    "further ability": {"further-ability"},
    "item groups": {"further-ability", "item-groups"},
    "near-duplicates": {"near-duplicates"},
}
SEED = 41


def one(
    n: int,
    m: int,
    ability: str = "normal",
    *,
    missing: float = 0.0,
    inverted: float = 0.0,
    **how: Any,
) -> Draw:
    """Responses of one ability."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        theta: dict[str, Callable[[], Any]] = {
            "none": lambda: np.zeros(n),
            "normal": lambda: g.normal(size=n),
            "wide": lambda: 3 * g.normal(size=n),
            "exponential": lambda: g.exponential(size=n) - 1,
            "−exponential": lambda: 1 - g.exponential(size=n),
        }
        y = with_inverted(g, responses(g, theta[ability](), m, **how), inverted)
        return irtkit.ResponseMatrix(with_missing(g, y, missing))

    return draw


def with_inverted(g: np.random.Generator, y: Any, share: float = 0.0) -> Any:
    """The same with a share of the items inverted."""
    return np.where(g.permutation(y.shape[1]) < round(share * y.shape[1]), 1 - y, y)


def answered(g: np.random.Generator, theta: Any, m: int, **how: Any) -> Any:
    """Responses after which the generator stands where `with_inverted` leaves it."""
    return with_inverted(g, responses(g, theta, m, **how))


def two(
    n: int, m: int, share: float, correlation: float, *, missing: float = 0.0, **how: Any
) -> Draw:
    """A share of the items asks for a second ability."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        theta = two_abilities(g, n, correlation)
        y = answered(g, theta[:, (np.arange(m) < round(share * m)).astype(int)], m, **how)
        return irtkit.ResponseMatrix(with_missing(g, y, missing))

    return draw


def testlets(n: int, passages: int, size: int, sd: float) -> Draw:
    """Items of a passage have an ability of their own in common."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        own = np.repeat(sd * g.normal(size=(n, passages)), size, axis=1)
        return irtkit.ResponseMatrix(answered(g, g.normal(size=(n, 1)) + own, passages * size))

    return draw


def opposed(n: int) -> Draw:
    """Fifty steep items, half of them inverted, and sixty shallow ones on another ability."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        first, second = g.normal(size=(2, n, 1))
        z = np.hstack([first * np.tile([2.0, -2.0], 25), second * np.full(60, 0.8)])
        return irtkit.ResponseMatrix(g.random(z.shape) < 1 / (1 + np.exp(-z)))

    return draw


def parts(shapes: tuple[tuple[int, int], ...], missing: float = 0.0, *, sparse: bool) -> Draw:
    """Blocks without a response in common, each abler by an SD than the one before."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y, row, column = np.full(np.sum(shapes, axis=0), -1, np.int8), 0, 0
        for k, (n, m) in enumerate(shapes):
            block = answered(g, g.normal(size=n) + k, m)
            block = np.where(g.random(block.shape) < missing, -1, block)
            y[row : row + n, column : column + m] = block
            row, column = row + n, column + m
        made = irtkit.ResponseMatrix(y)
        return made.to_sparse() if sparse else made

    return draw


def linked(
    shapes: tuple[tuple[int, int], ...],
    gap: float,
    n_common: int = 0,
    *,
    given: int | None = None,
    n_cells: int = 0,
) -> Draw:
    """Two blocks, the second abler and its items harder by a gap, and items of both between them.

    To these all respond as ``given``. So many cells link the blocks besides.
    """

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        (n, m), (n_more, m_more) = shapes
        theta = np.concatenate([g.normal(size=n), g.normal(size=n_more)])
        theta -= np.repeat([theta[:n].mean(), theta[n:].mean() - gap], [n, n_more])
        harder = np.repeat([0, gap, gap / 2], [m, m_more, n_common])
        y = answered(g, theta[:, None] - harder, len(harder)).astype(np.int8)
        y[:n, m : m + m_more] = y[n:, :m] = -1
        if given is not None:
            y[:, m + m_more :] = given
        for _ in range(n_cells):
            y[g.integers(n), m + g.integers(m_more)] = g.integers(2)
        return irtkit.ResponseMatrix(y)

    return draw


def chance(n: int, m: int, *, missing: float = 0.0) -> Draw:
    """Items of any difficulty, and nobody abler than anybody else."""
    return one(n, m, "none", missing=missing)


def booklets(n: int, *, paired: bool) -> Draw:
    """Six sets of 20 items; everyone answers two, which make a ring, or three pairs."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y, first = answered(g, g.normal(size=n), 120), np.arange(n) % 6
        second = first ^ 1 if paired else (first + 1) % 6
        part = np.arange(120) // 20
        given = (part == first[:, None]) | (part == second[:, None])
        return irtkit.ResponseMatrix(np.where(given, y, -1))

    return draw


def blocks(sizes: tuple[int, ...], m: int, n_common: int, gaps: tuple[float, ...]) -> Draw:
    """Blocks in a chain, each with its items, and items in common with the next; abler by gaps."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        k, group = np.arange(len(sizes)), np.repeat(np.arange(len(sizes)), sizes)
        level = np.cumsum((0.0, *gaps))
        of_two = np.stack([np.repeat(k[:-1], n_common), np.repeat(k[1:], n_common)])
        answered_by = np.hstack([np.tile(np.repeat(k, m), (2, 1)), of_two])
        theta = g.normal(size=len(group))
        if any(gaps):  # as large among these respondents
            theta -= (np.bincount(group, theta) / sizes - level)[group]
        y = answered(g, theta[:, None] - level[answered_by].mean(axis=0), answered_by.shape[1])
        given = (group[:, None, None] == answered_by).any(axis=1)
        return irtkit.ResponseMatrix(np.where(given, y, -1))

    return draw


def windows(n: int, m: int, width: int, trend: float) -> Draw:
    """Everybody answers items that follow each other; later ones are harder, asked of the abler."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        place, k = g.random(n), np.arange(m)
        start = np.round(place * (m - width))[:, None]
        theta = g.normal(size=n) + trend * place
        y = answered(g, theta[:, None] - trend * k / m, m)
        given = (k >= start) & (k < start + width)
        return irtkit.ResponseMatrix(np.where(given, y, -1))

    return draw


def adaptive(n: int, m: int, length: int) -> Draw:
    """Everybody answers so many items, each the one that tells most after the earlier ones."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        theta, b = g.normal(size=n), g.normal(size=m)
        right = g.random((n, m)) < 1 / (1 + np.exp(b - theta[:, None]))
        given, nodes = np.zeros((n, m), bool), np.linspace(-4, 4, 81)
        curves = 1 / (1 + np.exp(b[:, None] - nodes))
        log_posterior = np.tile(-(nodes**2) / 2, (n, 1))
        for _ in range(length):
            weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
            mean = weight @ nodes / weight.sum(axis=1)
            far = np.abs(b - mean[:, None]) + 0.2 * g.random((n, m))
            asked = np.where(given, np.inf, far).argmin(axis=1)
            given[np.arange(n), asked] = True
            got = right[np.arange(n), asked, None]
            log_posterior += np.log(np.where(got, curves[asked], 1 - curves[asked]))
        return irtkit.ResponseMatrix(np.where(given, right, -1))

    return draw


def labelled(n: int, m: int, rows: str, columns: str) -> Draw:
    """Difficulties spread wide by row, as of items, with labels."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y = answered(g, g.normal(size=n), m)
        return irtkit.ResponseMatrix(
            y, [rows.format(k) for k in range(n)], [columns.format(k) for k in range(m)]
        )

    return draw


def families(groups: int, size: int) -> Draw:
    """Copies of parents with 2 % of the answers flipped."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y = np.repeat(answered(g, g.normal(size=groups), 500), size, axis=0)
        return irtkit.ResponseMatrix(np.where(g.random(y.shape) < 0.02, 1 - y, y))

    return draw


ONES = (1.0, 1.0, 1.0)
APART: Draws = {
    "two blocks, five common items, 2 × 50, gap 1": blocks((50, 50), 100, 5, (1.0,)),
    "two blocks, five common items, 100 and 60, gap 1": blocks((100, 60), 60, 5, (1.0,)),
    "two blocks, eight common items, 100 and 60, gap 1": blocks((100, 60), 60, 8, (1.0,)),
    "two blocks, twelve common items, 100 and 60, gap 1": blocks((100, 60), 60, 12, (1.0,)),
    "two blocks, eight common items, 100 and 60, gap 3": blocks((100, 60), 60, 8, (3.0,)),
    "two blocks, five common items, 2 × 500, gap 1": blocks((500, 500), 20, 5, (1.0,)),
    "two blocks, eight common items, 10 and 20, gap 1.5": blocks((10, 20), 250, 8, (1.5,)),
    "chain of four, eight common items, 4 × 50, gaps 1": blocks((50,) * 4, 30, 8, ONES),
    "chain of four, eight common items, 4 × 20, gaps 1": blocks((20,) * 4, 20, 8, ONES),
    "chain of four, eight common items, 4 × 25, gaps 0.5": blocks((25,) * 4, 100, 8, (0.5,) * 3),
    "windows of 20 of 100, 200 respondents, trend 2": windows(200, 100, 20, 2.0),
    "windows of 30 of 100, 200 respondents, trend 2": windows(200, 100, 30, 2.0),
    "windows of 40 of 100, 1,000 respondents, trend 2": windows(1000, 100, 40, 2.0),
}
APART_SEEN: Draws = {
    "two blocks, sixteen common items, 100 and 60, gap 1": blocks((100, 60), 60, 16, (1.0,)),
    "two blocks, five common items, 100 and 60, gap 0": blocks((100, 60), 60, 5, (0.0,)),
    "chain of four, eight common items, 4 × 50, gap 0": blocks((50,) * 4, 30, 8, (0.0,) * 3),
    "chain of four, eight common items, 4 × 50, up and down": blocks(
        (50,) * 4, 30, 8, (1.0, -1.0, 1.0)
    ),
    "windows of 40 of 100, 200 respondents, trend 2": windows(200, 100, 40, 2.0),
    "windows of 50 of 100, 200 respondents, trend 2": windows(200, 100, 50, 2.0),
    "adaptive, 20 of 200 items, 300 respondents": adaptive(300, 200, 20),
    "adaptive, 60 of 200 items, 300 respondents": adaptive(300, 200, 60),
}
TOGETHER: Draws = {
    "two blocks, eight common items, 100 and 60, gap 0": blocks((100, 60), 60, 8, (0.0,)),
    "two blocks, sixteen common items, 100 and 60, gap 0": blocks((100, 60), 60, 16, (0.0,)),
    "two blocks, eight common items, 2 × 500, gap 0": blocks((500, 500), 20, 8, (0.0,)),
    "windows of 30 of 100, 200 respondents": windows(200, 100, 30, 0.0),
    "windows of 40 of 100, 1,000 respondents": windows(1000, 100, 40, 0.0),
    "windows of 60 of 100, 30 respondents": windows(30, 100, 60, 0.0),
    "windows of 80 of 200, 50 respondents": windows(50, 200, 80, 0.0),
}
PAIR, SMALL = ((100, 50), (60, 80)), ((10, 200), (20, 300))
CLEAN: Draws = {
    **{f"2PL {n} × {m}": one(n, m) for n, m in ((200, 500), (100, 1000), (2000, 40), (1000, 5))},
    **{f"2PL {n} × {m}": one(n, m) for n, m in ((5000, 20), (60, 200), (30, 40), (12, 140))},
    "2PL 8 × 500": one(8, 500),
    "1PL 300 × 100": one(300, 100, spread=0.0),
    "1PL 300 × 100, exponential": one(300, 100, "exponential", spread=0.0),
    "1PL 300 × 100, SD 3": one(300, 100, "wide", spread=0.0),
    "2PL 30 × 1,000": one(30, 1000),
    "1PL 30 × 50": one(30, 50, spread=0.0),
    "2PL 30 × 50, SD 3": one(30, 50, "wide"),
    "2PL 60 × 200, SD 3": one(60, 200, "wide"),
    "3PL 1,000 × 40, guessing 0.25": one(1000, 40, spread=0.5, guessing=0.25),
    "3PL 200 × 500, guessing 0.5": one(200, 500, guessing=0.5),
    "20 % inverted, 200 × 500": one(200, 500, inverted=0.2),
    "20 % inverted, 1,000 × 40": one(1000, 40, inverted=0.2),
    "20 % inverted, 300 × 20": one(300, 20, inverted=0.2),
    "20 % inverted, 50 % missing, 1,000 × 40": one(1000, 40, inverted=0.2, missing=0.5),
    "20 % inverted, 90 × 140": one(90, 140, inverted=0.2),
    "10 % inverted, 300 × 10": one(300, 10, inverted=0.1),
    "10 % inverted, 200 × 20": one(200, 20, inverted=0.1),
    "exponential, 200 × 500": one(200, 500, "exponential"),
    "−exponential, 2,000 × 40": one(2000, 40, "−exponential"),
    "steep, log slopes SD 0.8, 200 × 500": one(200, 500, spread=0.8),
    "steep, 10 % inverted, 1,000 × 40": one(1000, 40, spread=0.8, inverted=0.1),
    "80 % right, 30 × 1,000": one(30, 1000, easier=2.0),
    "3PL 30 × 1,000, guessing 0.4": one(30, 1000, guessing=0.4),
    "95 % right, 200 × 500": one(200, 500, easier=3.75),
    "95 % right, 2,000 × 40": one(2000, 40, easier=3.75),
    "70 % missing, 200 × 500": one(200, 500, missing=0.7),
    "80 % missing, 1,000 × 50": one(1000, 50, missing=0.8),
    "50 % missing, 12 × 140": one(12, 140, missing=0.5),
    **{
        f"{missing} % missing, {n:,} × {m:,}": one(n, m, missing=missing / 100)
        for missing, n, m in (
            *((70, 12, 140), (80, 30, 40), (90, 20, 1000), (90, 1000, 200), (95, 200, 100)),
            *((97, 300, 300), (97, 100, 300), (98, 2000, 100), (99, 1000, 1000), (99, 5000, 500)),
        )
    },
    "95 % right, 90 % missing, 200 × 500": one(200, 500, easier=3.75, missing=0.9),
    "sixteen common items, 100 × 50 and 60 × 80": linked(PAIR, 0.0, 16),
    "booklets in a ring, 60 × 120": booklets(60, paired=False),
    **TOGETHER,
    "1PL 12 × 100": one(12, 100, spread=0.0),
    **{f"2PL {n} × {m}": one(n, m) for n, m in ((30, 50), (12, 100), (8, 30), (200, 5), (20, 10))},
    "20 % inverted, 30 × 50": one(30, 50, inverted=0.2),
    "booklets in a ring, 1,200 × 120": booklets(1200, paired=False),
    "students × questions, 300 × 40": labelled(300, 40, "student {}", "q{}"),
    "numbers × numbers, 300 × 40": labelled(300, 40, "{}", "{}"),
    "files × files, 300 × 40": labelled(300, 40, "mmlu/{}.json", "run-{}"),
}
PLANTED: dict[str, Draws] = {
    "parts": {
        "two parts, 100 × 50 and 60 × 80": parts(((100, 50), (60, 80)), sparse=False),
        "three parts, 60 % missing": parts(((80, 60), (50, 60), (30, 40)), 0.6, sparse=False),
        "three parts, sparse": parts(((80, 60), (50, 60), (30, 40)), 0.6, sparse=True),
        "booklets in pairs, 1,200 × 120": booklets(1200, paired=True),
        "one item that all get right": linked(PAIR, 3.0, 1, given=1),
        "five items that all get right": linked(PAIR, 3.0, 5, given=1),
        "one item that all get wrong": linked(PAIR, 3.0, 1, given=0),
        "one that all get right, 10 × 200 and 20 × 300": linked(SMALL, 3.0, 1, given=1),
        "one cell": linked(PAIR, 3.0, n_cells=1),
        "three cells": linked(PAIR, 3.0, n_cells=3),
        "ten cells": linked(PAIR, 3.0, n_cells=10),
        "one common item": linked(PAIR, 3.0, 1),
        "two common items": linked(PAIR, 3.0, 2),
    },
    "apart": APART,
    "chance": {
        **{f"coin flips, {n} × {m}": chance(n, m) for n, m in ((100, 200), (30, 50), (2000, 40))},
        "coin flips, 70 % missing, 100 × 200": chance(100, 200, missing=0.7),
    },
    "few": {f"{n} × 200": one(n, 200) for n in (1, 3, 5, 7)},
    "further ability": {f"opposed, {n} × 110": opposed(n) for n in (90, 300, 1000)}
    | {
        f"80 % and 20 %, r −0.5, {n} × {m}": two(n, m, 0.2, -0.5)
        for n, m in ((200, 500), (100, 1000), (1000, 100), (2000, 40))
    }
    | {
        "50 % and 50 %, r −0.5, 200 × 100": two(200, 100, 0.5, -0.5),
        "80 % and 20 %, r −0.5, 20 % missing, 2,000 × 40": two(2000, 40, 0.2, -0.5, missing=0.2),
    },
    "item groups": {
        f"20 passages of 5, SD 1, n = {n:,}": testlets(n, 20, 5, 1.0) for n in (200, 500, 1000)
    },
    "near-duplicates": {
        f"families, {g} × {k}": families(g, k) for g, k in ((3, 10), (3, 50), (4, 40), (30, 7))
    },
}
SEEN: Draws = {
    **{f"80 % and 20 %, r {r}, 200 × 500": two(200, 500, 0.2, r) for r in (0, 0.5, 0.8)},
    **{f"50 % and 50 %, r {r}, 200 × 500": two(200, 500, 0.5, r) for r in (0, 0.5, 0.8, 0.95)},
    **{f"50 % and 50 %, r {r}, 300 × 40": two(300, 40, 0.5, r) for r in (0, 0.5, 0.8)},
    **{
        f"80 % and 20 %, r −0.5, {n} × {m}": two(n, m, 0.2, -0.5)
        for n, m in (
            *((30, 500), (60, 500), (300, 100), (500, 50), (1000, 20), (200, 40)),
            *((50, 100), (30, 200), (60, 200), (90, 140), (100, 200)),
        )
    },
    **{
        f"50 % and 50 %, r 0, {n} × {m}": two(n, m, 0.5, 0.0)
        for n, m in ((50, 100), (30, 200), (30, 50))
    },
    "80 % and 20 %, r −0.5, 70 % missing, 200 × 500": two(200, 500, 0.2, -0.5, missing=0.7),
    **{f"coin flips, {n} × {m}": chance(n, m) for n, m in ((12, 100), (8, 30), (200, 5))},
    "20 passages of 5, SD 1, n = 100": testlets(100, 20, 5, 1.0),
    "20 passages of 5, SD 0.7, n = 500": testlets(500, 20, 5, 0.7),
    "3PL 50 × 30, guessing 0.5": one(50, 30, guessing=0.5),
    "four common items, 100 × 50 and 60 × 80": linked(PAIR, 3.0, 4),
    **APART_SEEN,
    "families, 10 × 20": families(10, 20),
    "families, 5 × 40": families(5, 40),
    **{f"families, {g} × {k}": families(g, k) for g, k in ((2, 60), (4, 6))},
}
WANTED: dict[str, Draws] = PLANTED | {"clean": CLEAN, "seen": SEEN}
"""Settings, by what is to be found."""


def fitted(draw: Draw, seed: int) -> irtkit.FitResult:
    """A fit to data drawn with this seed."""
    made = draw(np.random.default_rng([seed, SEED]))
    return irtkit.fit(made, standard_errors=False, progress=False)


def measured(name: str, draw: Draw, wanted: str, sets: int) -> dict[str, Any]:
    """Share of the data sets with each kind of finding."""
    raised = dict.fromkeys(KINDS, 0)
    for seed in range(sets):
        result = fitted(draw, seed)
        codes = {one.code for one in result.findings}
        for kind, wanted_codes in KINDS.items():
            raised[kind] += bool(codes & wanted_codes)
    shares = {kind: count / sets for kind, count in raised.items()}
    return {"setting": name, "wanted": wanted, "data_sets": sets, **shares}


def slopes(sets: int) -> list[dict[str, float]]:
    """Rank correlations of fitted with true slopes, by number of respondents."""
    rows = []
    for n in part((3, 4, 5, 6, 7, 8, 12, 20, 30), 0):
        row: dict[str, float] = {"respondents": n}
        for spread in (0.3, 0.5):
            found = []
            for seed in range(sets):
                g = np.random.default_rng([seed, n])
                a, b = g.lognormal(0, spread, 300), g.normal(size=300)
                p = 1 / (1 + np.exp(-a * (g.normal(size=(n, 1)) - b)))
                drawn = irtkit.ResponseMatrix(g.random(p.shape) < p)
                result = irtkit.fit(drawn, standard_errors=False, progress=False)
                found.append(spearmanr(result.parameters.discrimination, a).statistic)
            row[f"log slopes SD {spread}"] = float(np.mean(found))
        rows.append(row)
    return rows


def warnings_of_fit(sets: int = 20) -> Tables:
    """Findings of fits, and how closely slopes follow the true ones."""
    settings = [(name, wanted) for wanted, draws in WANTED.items() for name in draws]
    chosen = part(settings, 0, 20, 40, 60, 80)
    studies = (measured(name, WANTED[wanted][name], wanted, sets) for name, wanted in chosen)
    return {"studies": studies, "slopes": slopes(sets)}


class Drawn(NamedTuple):
    """A data set, and how many of its first rows guess."""

    responses: irtkit.ResponseMatrix
    n_guessing: int = 0


def board(
    n: int,
    m: int,
    *,
    guessers: float = 0.0,
    options: int = 0,
    known: bool = False,
    coins: float = 1.0,
    mean: float = 0.0,
    sd: float = 1.0,
    classes: float = 0.5,
) -> Callable[[np.random.Generator], Drawn]:
    """A share of guessers before honest systems of an ability with this mean and SD.

    Of their answers ``coins`` are coin flips, and the others one class, of which the first has this
    share of the items. Without ``options`` items are open-ended.
    """

    def draw(g: np.random.Generator) -> Drawn:
        k = round(guessers * n)
        guess = 1 / options if options else 0.0
        honest = answered(g, mean + sd * g.normal(size=n - k), m, guessing=guess)
        first = np.arange(m) < round(classes * m)
        always = first == g.integers(0, 2, (k, 1))
        flips = g.random((k, m)) < guess
        guessed = np.where(g.random((k, m)) < coins, flips, always)
        made = irtkit.ResponseMatrix(np.vstack([guessed, honest]))
        if known:
            made = made.with_tables(pd.DataFrame({"n_options": options}, index=made.items))
        return Drawn(made, k)

    return draw


def specialists(n: int, m: int, sd: float, correlation: float, easier: float = 0.0) -> Any:
    """Half of the items ask for one ability, and half for another, with this SD."""

    def draw(g: np.random.Generator) -> Drawn:
        theta = sd * two_abilities(g, n, correlation)
        values = answered(g, theta[:, np.arange(m) % 2], m, easier=easier)
        return Drawn(irtkit.ResponseMatrix(values))

    return draw


def alone(draw: Any) -> Callable[[np.random.Generator], Drawn]:
    """A data set of another study."""
    return lambda g: Drawn(draw(g))


COLLAPSED: dict[str, Any] = {"options": 2, "coins": 0.02, "classes": 0.55, "mean": 0.5}
CODED: dict[str, Any] = {"known": True, "mean": 0.5}

GUESSERS: dict[str, dict[str, Callable[[np.random.Generator], Drawn]]] = {
    "opposite": {
        f"{share:.0%} of one class, {n} × {m}": board(n, m, guessers=share, **COLLAPSED)
        for n, m, share in ((90, 139, 0.6), (90, 139, 0.2), (12, 100, 0.5), (400, 1000, 0.3))
    },
    "options": {
        f"{share:.0%} coin flips, {k} options, {n} × {m}": board(
            n, m, guessers=share, options=k, **CODED
        )
        for n, m, share, k in (
            *((90, 139, 0.5, 2), (90, 139, 0.3, 4), (12, 100, 0.5, 4)),
            *((400, 1000, 0.2, 5), (60, 40, 0.5, 4)),
        )
    },
    "none": {
        **{
            f"open-ended, half right, SD {sd}, {n} × {m}": board(n, m, sd=sd)
            for n, m, sd in (
                *((90, 139, 0.3), (90, 139, 1.0), (12, 100, 0.3), (12, 1000, 1.0)),
                *((400, 1000, 0.3), (1000, 40, 1.0)),
            )
        },
        "open-ended, saturated, 90 × 139": board(90, 139, mean=3.0),
        "open-ended, 12 × 100": board(12, 100),
        "four options, not known, weak systems, 90 × 139": board(90, 139, options=4, mean=-1.0),
        "four options, saturated, 90 × 139": board(90, 139, options=4, known=True, mean=3.0),
        "four options, 90 × 139": board(90, 139, options=4, known=True, mean=1.0),
        "four options, 12 × 100": board(12, 100, options=4, known=True, mean=1.0),
        "two options, 90 × 139": board(90, 139, options=2, known=True, mean=1.5),
        "specialists, r 0.5, 200 × 140": specialists(200, 140, 1.0, 0.5),
        "specialists, r 0.5, SD 2, 200 × 140": specialists(200, 140, 2.0, 0.5),
        "specialists, r 0, 200 × 140": specialists(200, 140, 1.0, 0.0),
    },
    "seen": {
        "10% of one class, 90 × 139": board(90, 139, guessers=0.1, **COLLAPSED),
        "30% coin flips, not known, 90 × 139": board(90, 139, guessers=0.3, options=2, mean=0.5),
        "four options, weak systems, 90 × 139": board(90, 139, options=4, known=True, mean=-1.0),
        "specialists, r 0, SD 2, 200 × 140": specialists(200, 140, 2.0, 0.0),
        "specialists, r −0.5, SD 2, 200 × 140": specialists(200, 140, 2.0, -0.5),
        "specialists, r −0.5, SD 2, easy, 200 × 140": specialists(200, 140, 2.0, -0.5, 1.5),
    },
    "elsewhere": {name: alone(draw) for name, draw in {**CLEAN, **SEEN}.items()},
}


def named(name: str, wanted: str, sets: int) -> dict[str, Any]:
    """How often systems are named, and which."""
    told, best = 0, 0
    planted, others = np.zeros(2), np.zeros(2)
    for seed in range(sets):
        made, k = GUESSERS[wanted][name](np.random.default_rng([seed, 17]))
        patterns = patterns_of(made, synthetic_is_real=False)
        found = found_at_chance(patterns, made.item_table)
        rows = np.zeros(0, int) if found is None else found.rows
        told += found is not None
        best += int(np.nan_to_num(patterns.counts.accuracy).argmax()) in rows
        planted += (rows < k).sum(), k
        others += (rows >= k).sum(), made.n_respondents - k
    return {
        "setting": name,
        "wanted": wanted,
        "data_sets": sets,
        "told": told / sets,
        "guessers": planted[0] / planted[1] if planted[1] else None,
        "others": others[0] / others[1],
        "best": best / sets,
    }


def at_chance(sets: int = 20) -> Tables:
    """Whether guessers are named, and nobody else."""
    cases = [(name, wanted) for wanted in GUESSERS for name in part(list(GUESSERS[wanted]), 0)]
    return {"studies": (named(*case, sets) for case in cases)}


SHAPES_OF_BOARDS = ((30, 100), (60, 200), (200, 100), (200, 1000), (1000, 60))
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


def planted_board(kind: str, n_systems: int, n_items: int, seed: int) -> irtkit.ResponseMatrix:
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


def of_health(kind: str, n_systems: int, n_items: int, sets: int) -> dict[str, Any]:
    """Share of the sets with the finding that was planted, and with another one."""
    found = false = 0
    fit_seconds = health_seconds = 0.0
    codes: set[str] = set()
    for seed in range(sets):
        responses = planted_board(kind, n_systems, n_items, seed)
        started = time.process_time()
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


def health(sets: int = 20, advice: int = 50) -> Tables:
    """Findings about the health of a benchmark, and whether advice is true."""
    boards = [(kind, *shape) for kind in CODES for shape in part(SHAPES_OF_BOARDS, 0)]
    asked = [(shape, n) for shape in part(SHAPES, "saturated") for n in (60, 200)]
    return {
        "studies": (of_health(*board, sets) for board in boards),
        "advice": (advised(*case, advice) for case in asked),
    }


def said_near_chance(case: dict[str, Any], seed: int) -> dict[str, float]:
    """Whether reading says that systems seem to guess."""
    n_systems, n_items = case["systems"], case["items"]
    g = np.random.default_rng([seed, n_systems, n_items])
    slopes, difficulty = g.lognormal(0, 0.3, n_items), g.normal(size=n_items)
    abilities = case["ability_sd"] * g.normal(size=n_systems)
    if not case["floor"]:
        abilities -= 1.3  # Mean accuracy 1/4.
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulty, case["floor"])
    values = irtkit.simulate_responses(items, abilities, seed=g).values.copy()
    n_guessing = round(case["guessing"] * n_systems)
    values[:n_guessing] = g.random((n_guessing, n_items)) < 0.25
    return {"said": len(found_near_chance(irtkit.ResponseMatrix(values)))}


def near_chance(sets: int = 100) -> Tables:
    """Whether reading says that many systems seem to guess, and only then."""
    kinds = [(0.3, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.25, 0.0)]
    kinds += [(0.3, 0.0, 0.4), (1.0, 0.25, 0.3), (1.0, 0.25, 0.6), (1.0, 0.25, 1.0)]
    names = ("systems", "items", "ability_sd", "floor", "guessing")
    sizes = part([(20, 400), (60, 400), (20, 1000)], 0)
    cases = [dict(zip(names, (*size, *kind), strict=True)) for size in sizes for kind in kinds]
    return {"studies": study(cases, said_near_chance, sets)}


if __name__ == "__main__":
    run(warnings_of_fit, at_chance, health, near_chance)
