"""How often a fit has findings where it should, and where it should not.

For every setting data are drawn, the 2PL is fitted by default, and the codes of ``result.findings``
are counted. Printed: the share of data sets with each kind of finding. "parts": disconnected or
hardly linked groups; "apart": these, or a gap between systems that answered different items is
shrunk or hidden; "few": fewer than eight systems; "chance": no ability differences; "further
ability": not unidimensional; "item groups": that, or groups of items hang together;
"near-duplicates": the effective number of systems is less than 0.9 of their number.
Beside each setting stands the finding that must come in all data sets, "clean" if none may come, or
"seen" if nothing is promised.

Slopes are lognormal (SD 0.3), difficulties and abilities normal where nothing else is said. Then:
how closely fitted slopes follow the true ones by the number of respondents (rank correlations, of
300 items), the reason for "fewer than eight"; what part of a gap between two blocks fits show, by
the number of items both answered; how large gaps are, fitted and unshrunken, that are reported as
shrunk (`irtkit.data.limits`), over the true ones; and what part of the time of a fit, with
standard errors, goes into its findings, at most.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import arguments, part, store
from scipy.stats import spearmanr

import irtkit
from irtkit.calibration.estimates import concluded
from irtkit.data.limits import at_chance, connectivity_of, no_ability_differences
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[np.random.Generator], irtkit.ResponseMatrix]
    Abler = Callable[[np.random.Generator], tuple[irtkit.ResponseMatrix, Any]]

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


def responses(
    g: np.random.Generator,
    theta: Any,
    m: int,
    *,
    spread: float = 0.3,
    easier: float = 0.0,
    guessing: float = 0.0,
    inverted: float = 0.0,
) -> Any:
    """Responses of respondents with these abilities, (n,) or one for every item, (n, m)."""
    a, b = g.lognormal(0, spread, m), g.normal(size=m) - easier
    p = 1 / (1 + np.exp(-a * (theta.reshape(len(theta), -1) - b)))
    y = (g.random(p.shape) < guessing + (1 - guessing) * p).astype(np.int8)
    wrong = g.permutation(m) < round(inverted * m)
    return np.where(wrong, 1 - y, y)


def one(n: int, m: int, ability: str = "normal", *, missing: float = 0.0, **how: Any) -> Draw:
    """Responses of one ability."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        theta: dict[str, Callable[[], Any]] = {
            "none": lambda: np.zeros(n),
            "normal": lambda: g.normal(size=n),
            "wide": lambda: 3 * g.normal(size=n),
            "exponential": lambda: g.exponential(size=n) - 1,
            "−exponential": lambda: 1 - g.exponential(size=n),
        }
        y = responses(g, theta[ability](), m, **how)
        return irtkit.ResponseMatrix(np.where(g.random(y.shape) < missing, -1, y))

    return draw


def two(
    n: int, m: int, share: float, correlation: float, *, missing: float = 0.0, **how: Any
) -> Draw:
    """A share of the items asks for a second ability."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        covariance = [[1, correlation], [correlation, 1]]
        theta = g.multivariate_normal([0, 0], covariance, size=n)
        y = responses(g, theta[:, (np.arange(m) < round(share * m)).astype(int)], m, **how)
        return irtkit.ResponseMatrix(np.where(g.random(y.shape) < missing, -1, y))

    return draw


def testlets(n: int, passages: int, size: int, sd: float) -> Draw:
    """Items of a passage have an ability of their own in common."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        own = np.repeat(sd * g.normal(size=(n, passages)), size, axis=1)
        return irtkit.ResponseMatrix(responses(g, g.normal(size=(n, 1)) + own, passages * size))

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
            block = responses(g, g.normal(size=n) + k, m)
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
        y = responses(g, theta[:, None] - harder, len(harder)).astype(np.int8)
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
        y, first = responses(g, g.normal(size=n), 120), np.arange(n) % 6
        second = first ^ 1 if paired else (first + 1) % 6
        part = np.arange(120) // 20
        given = (part == first[:, None]) | (part == second[:, None])
        return irtkit.ResponseMatrix(np.where(given, y, -1))

    return draw


def blocks(sizes: tuple[int, ...], m: int, n_common: int, gaps: tuple[float, ...]) -> Abler:
    """Blocks in a chain, each with its items, and items in common with the next; abler by gaps."""

    def draw(g: np.random.Generator) -> tuple[irtkit.ResponseMatrix, Any]:
        k, group = np.arange(len(sizes)), np.repeat(np.arange(len(sizes)), sizes)
        level = np.cumsum((0.0, *gaps))
        of_two = np.stack([np.repeat(k[:-1], n_common), np.repeat(k[1:], n_common)])
        answered_by = np.hstack([np.tile(np.repeat(k, m), (2, 1)), of_two])
        theta = g.normal(size=len(group))
        if any(gaps):  # as large among these respondents
            theta -= (np.bincount(group, theta) / sizes - level)[group]
        y = responses(g, theta[:, None] - level[answered_by].mean(axis=0), answered_by.shape[1])
        given = (group[:, None, None] == answered_by).any(axis=1)
        return irtkit.ResponseMatrix(np.where(given, y, -1)), theta

    return draw


def windows(n: int, m: int, width: int, trend: float) -> Abler:
    """Everybody answers items that follow each other; later ones are harder, asked of the abler."""

    def draw(g: np.random.Generator) -> tuple[irtkit.ResponseMatrix, Any]:
        place, k = g.random(n), np.arange(m)
        start = np.round(place * (m - width))[:, None]
        theta = g.normal(size=n) + trend * place
        y = responses(g, theta[:, None] - trend * k / m, m)
        given = (k >= start) & (k < start + width)
        return irtkit.ResponseMatrix(np.where(given, y, -1)), theta

    return draw


def adaptive(n: int, m: int, length: int) -> Abler:
    """Everybody answers so many items, each the one that tells most after the earlier ones."""

    def draw(g: np.random.Generator) -> tuple[irtkit.ResponseMatrix, Any]:
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
        return irtkit.ResponseMatrix(np.where(given, right, -1)), theta

    return draw


def labelled(n: int, m: int, rows: str, columns: str) -> Draw:
    """Difficulties spread wide by row, as of items, with labels."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y = responses(g, g.normal(size=n), m)
        return irtkit.ResponseMatrix(
            y, [rows.format(k) for k in range(n)], [columns.format(k) for k in range(m)]
        )

    return draw


def families(groups: int, size: int) -> Draw:
    """Copies of parents with 2 % of the answers flipped."""

    def draw(g: np.random.Generator) -> irtkit.ResponseMatrix:
        y = np.repeat(responses(g, g.normal(size=groups), 500), size, axis=0)
        return irtkit.ResponseMatrix(np.where(g.random(y.shape) < 0.02, 1 - y, y))

    return draw


ONES = (1.0, 1.0, 1.0)
APART: dict[str, Abler] = {
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
APART_SEEN: dict[str, Abler] = {
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
TOGETHER: dict[str, Abler] = {
    "two blocks, eight common items, 100 and 60, gap 0": blocks((100, 60), 60, 8, (0.0,)),
    "two blocks, sixteen common items, 100 and 60, gap 0": blocks((100, 60), 60, 16, (0.0,)),
    "two blocks, eight common items, 2 × 500, gap 0": blocks((500, 500), 20, 8, (0.0,)),
    "windows of 30 of 100, 200 respondents": windows(200, 100, 30, 0.0),
    "windows of 40 of 100, 1,000 respondents": windows(1000, 100, 40, 0.0),
    "windows of 60 of 100, 30 respondents": windows(30, 100, 60, 0.0),
    "windows of 80 of 200, 50 respondents": windows(50, 200, 80, 0.0),
}


def always(drawn: irtkit.ResponseMatrix) -> Draw:
    """The same responses each time."""
    return lambda _: drawn


def without_abilities(draws: dict[str, Abler]) -> dict[str, Draw]:
    """The responses alone."""

    def alone(draw: Abler) -> Draw:
        return lambda g: draw(g)[0]

    return {name: alone(draw) for name, draw in draws.items()}


PAIR, SMALL = ((100, 50), (60, 80)), ((10, 200), (20, 300))
CLEAN: dict[str, Draw] = {
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
    **without_abilities(TOGETHER),
    "1PL 12 × 100": one(12, 100, spread=0.0),
    **{f"2PL {n} × {m}": one(n, m) for n, m in ((30, 50), (12, 100), (8, 30), (200, 5), (20, 10))},
    "20 % inverted, 30 × 50": one(30, 50, inverted=0.2),
    "booklets in a ring, 1,200 × 120": booklets(1200, paired=False),
    "students × questions, 300 × 40": labelled(300, 40, "student {}", "q{}"),
    "numbers × numbers, 300 × 40": labelled(300, 40, "{}", "{}"),
    "files × files, 300 × 40": labelled(300, 40, "mmlu/{}.json", "run-{}"),
}
PLANTED: dict[str, dict[str, Draw]] = {
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
    "apart": without_abilities(APART),
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
SEEN: dict[str, Draw] = {
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
    **without_abilities(APART_SEEN),
    "families, 10 × 20": families(10, 20),
    "families, 5 × 40": families(5, 40),
    **{f"families, {g} × {k}": families(g, k) for g, k in ((2, 60), (4, 6))},
}


def fitted(draw: Draw, seed: int) -> irtkit.FitResult:
    """A fit to data drawn with this seed."""
    made = draw(np.random.default_rng([seed, SEED]))
    with warnings.catch_warnings(action="ignore"):
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


def line(figures: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    shares = (f"{figures[kind]:.0%}" for kind in KINDS)
    return f"| {' | '.join((figures['setting'], figures['wanted'], *shares))} |"


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
                result = fitted(always(drawn), 0)
                found.append(spearmanr(result.parameters.discrimination, a).statistic)
            row[f"log slopes SD {spread}"] = float(np.mean(found))
        rows.append(row)
    return rows


def shown(sets: int) -> list[dict[str, float]]:
    """What part of a gap between two blocks fits show."""
    rows = []
    for shapes in part((PAIR, SMALL, ((500, 20), (500, 20))), 1):
        (n, m), (more, _) = shapes
        for gap in (1.0, 3.0):
            for n_common in (1, 2, 4, 8, 16):
                found = []
                for seed in range(sets):
                    draw = linked(shapes, gap, n_common)
                    result = fitted(draw, seed)
                    one, other = result.ability[:n], result.ability[n:]
                    spread = np.sqrt((n * one.var() + more * other.var()) / (n + more))
                    found.append((other.mean() - one.mean()) / spread / gap)
                row = {"respondents": n + more, "items": m, "gap": gap, "common": n_common}
                rows.append(row | {"shown": float(np.mean(found)), "SD": float(np.std(found))})
    return rows


def drawn(sets: int) -> list[dict[str, Any]]:
    """Gaps that are reported as shrunk: fitted, and unshrunken, over the true ones.

    These are in SDs of the true abilities of all respondents.
    """
    rows = []
    for name, draw in part(list((APART | APART_SEEN).items()), 0):
        found = []
        for seed in range(sets):
            made, theta = draw(np.random.default_rng([seed, SEED]))
            result = fitted(always(made), 0)
            ability = (result.ability - result.latent_mean) / result.latent_sd
            scale = (result.parameters, ability, result.latent_sd)
            told = connectivity_of(result.patterns, *scale)
            if told.gap is not None and told.significant:
                gap, x = told.gap, told.gap.x
                true = abs(theta[x > 0].mean() - theta[x < 0].mean()) / theta.std()
                found.append((gap.size / true, gap.unshrunken / true))
        if found:
            shown, unshrunken = np.median(found, axis=0)
            row = {"setting": name, "told": len(found), "fitted": float(shown)}
            rows.append(row | {"unshrunken": float(unshrunken)})
    return rows


def costs(repetitions: int = 10) -> list[dict[str, Any]]:
    """Milliseconds of a fit, and of them for its warnings, the least of some repetitions."""
    rows = []
    for n, m in part(((2000, 40), (200, 1000), (20_000, 100), (2211, 1324)), 0):
        for missing in (0.0, 0.2):
            made = one(n, m, missing=missing)(np.random.default_rng(1))
            whole, told = [], []
            for _ in range(repetitions):
                start = time.perf_counter()
                result = irtkit.fit(made, progress=False)
                whole.append(1000 * (time.perf_counter() - start))
                patterns = patterns_of(made, synthetic_is_real=False)
                for product in (patterns.right_sums, patterns.response_sums):
                    product(np.ones(patterns.n))  # a fit has packed its answers and counted them
                _ = patterns.margins
                start = time.perf_counter()
                n_eff = near_duplicates(patterns).n_eff
                by_chance = no_ability_differences(patterns, n_eff)
                guessing = at_chance(patterns)
                concluded(result, patterns, guessing, by_chance=by_chance)
                told.append(1000 * (time.perf_counter() - start))
            shape = f"{n:,} × {m:,}" + (", 20 % missing" if missing else "")
            rows.append({"shape": shape, "fit": min(whole), "warnings": min(told)})
    return rows


def main() -> None:
    """Print the tables, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of every setting")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    options = parser.parse_args()
    head = ["setting", "wanted", *KINDS]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    everything = [
        *((name, draw, wanted) for wanted, kind in PLANTED.items() for name, draw in kind.items()),
        *((name, draw, "clean") for name, draw in CLEAN.items()),
        *((name, draw, "seen") for name, draw in SEEN.items()),
    ]
    studies = []
    for name, draw, wanted in part(everything, 0, 20, 40, 60, 80):
        if options.only in name:
            studies.append(measured(name, draw, wanted, options.sets))
            print(line(studies[-1]), flush=True)
    followed = slopes(options.sets)
    for row in followed:
        print(", ".join(f"{label} {value:.3g}" for label, value in row.items()))
    parts_shown = shown(min(options.sets, 10))
    for row in parts_shown:
        print(", ".join(f"{label} {value:.3g}" for label, value in row.items()))
    gaps = drawn(options.sets)
    for row in gaps:
        print(", ".join(f"{label} {value}" for label, value in row.items()))
    times = costs()
    for row in times:
        share = row["warnings"] / row["fit"]
        print(f"{row['shape']}: {row['fit']:.1f} ms, warnings {row['warnings']:.1f} ({share:.0%})")
    store(
        options,
        studies=studies,
        slopes=followed,
        shown=parts_shown,
        drawn=gaps,
        costs=times,
    )


if __name__ == "__main__":
    main()
