"""How often a fit has findings where it should, and where it should not.

`warnings_of_fit`: kinds of findings (`KINDS`) of a default 2PL fit. Beside each setting stands the
kind that must come in all data sets, "clean" if none may come, or "seen" if nothing is promised.
`at_chance`: systems that guess, among honest ones. `health`: what is planted in a benchmark, and
whether advice is true. `near_chance`: systems that seem to guess between four options.
"""

from collections import namedtuple

import numpy as np
import pandas as pd
from machine import part
from scipy.special import expit
from scipy.stats import spearmanr
from simulated import answers, board_of, items_of, responses, setting, two_abilities, with_missing
from study import run, study

import irtkit
from irtkit.data.limits import at_chance as found_at_chance
from irtkit.data.patterns import patterns_of
from irtkit.responses.guessing import near_chance as found_near_chance

PARTS = {"disconnected-groups", "hardly-linked-groups"}
KINDS = {
    "parts": PARTS,
    "apart": PARTS | {"gap-shrunk", "gap-hidden"},
    "few": {"few-systems"},
    "chance": {"no-differences"},
    "further ability": {"further-ability"},
    "item groups": {"further-ability", "item-groups"},
    "near-duplicates": {"near-duplicates"},
}
SEED = 41
ABILITIES = {
    "none": lambda _, n: np.zeros(n),
    "normal": lambda g, n: g.normal(size=n),
    "wide": lambda g, n: 3 * g.normal(size=n),
    "exponential": lambda g, n: g.exponential(size=n) - 1,
    "−exponential": lambda g, n: 1 - g.exponential(size=n),
}


def with_inverted(g, y, share=0.0):
    """The same with a share of the items inverted."""
    return np.where(g.permutation(y.shape[1]) < round(share * y.shape[1]), 1 - y, y)


def answered(g, theta, m, **how):
    """Responses after which the generator stands where `with_inverted` leaves it."""
    return with_inverted(g, responses(g, theta, m, **how))


@setting
def one(g, /, n, m, ability="normal", *, missing=0.0, inverted=0.0, **how):
    """Responses of one ability."""
    y = with_inverted(g, responses(g, ABILITIES[ability](g, n), m, **how), inverted)
    return with_missing(g, y, missing)


@setting
def two(g, n, m, share, correlation, missing=0.0):
    """A share of the items asks for a second ability."""
    theta = two_abilities(g, n, correlation)
    y = answered(g, theta[:, (np.arange(m) < round(share * m)).astype(int)], m)
    return with_missing(g, y, missing)


@setting
def testlets(g, n, passages, size, sd):
    """Items of a passage have an ability of their own in common."""
    of_passages = np.repeat(sd * g.normal(size=(n, passages)), size, axis=1)
    return answered(g, g.normal(size=(n, 1)) + of_passages, passages * size)


@setting
def opposed(g, n):
    """Fifty steep items, half of them inverted, and sixty shallow ones on another ability."""
    first, second = g.normal(size=(2, n, 1))
    z = np.hstack([first * np.tile([2.0, -2.0], 25), second * np.full(60, 0.8)])
    return answers(g, expit(z))


@setting
def parts(g, shapes, missing=0.0, *, sparse):
    """Blocks without a response in common, each abler by an SD than the one before."""
    y, row, column = np.full(np.sum(shapes, axis=0), -1, np.int8), 0, 0
    for k, (n, m) in enumerate(shapes):
        block = with_missing(g, answered(g, g.normal(size=n) + k, m), missing)
        y[row : row + n, column : column + m] = block
        row, column = row + n, column + m
    return irtkit.ResponseMatrix(y).to_sparse() if sparse else y


@setting
def linked(g, shapes, gap, n_common=0, *, given=None, n_cells=0):
    """Two blocks, the second abler and its items harder by a gap, and items of both between them.

    To these all respond as ``given``. So many cells link the blocks besides.
    """
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
    return y


def chance(n, m, *, missing=0.0):
    """Items of any difficulty, and nobody abler than anybody else."""
    return one(n, m, "none", missing=missing)


@setting
def booklets(g, n, *, paired):
    """Six sets of 20 items; everyone answers two, which make a ring, or three pairs."""
    y, first = answered(g, g.normal(size=n), 120), np.arange(n) % 6
    second = first ^ 1 if paired else (first + 1) % 6
    booklet = np.arange(120) // 20
    return np.where((booklet == first[:, None]) | (booklet == second[:, None]), y, -1)


@setting
def blocks(g, sizes, m, n_common, gaps):
    """Blocks in a chain, each with its items, and items in common with the next; abler by gaps."""
    k, group = np.arange(len(sizes)), np.repeat(np.arange(len(sizes)), sizes)
    level = np.cumsum((0.0, *gaps))
    of_two = np.stack([np.repeat(k[:-1], n_common), np.repeat(k[1:], n_common)])
    answered_by = np.hstack([np.tile(np.repeat(k, m), (2, 1)), of_two])
    theta = g.normal(size=len(group))
    if any(gaps):  # as large among these respondents
        theta -= (np.bincount(group, theta) / sizes - level)[group]
    y = answered(g, theta[:, None] - level[answered_by].mean(axis=0), answered_by.shape[1])
    return np.where((group[:, None, None] == answered_by).any(axis=1), y, -1)


@setting
def windows(g, n, m, width, trend):
    """Everybody answers items that follow each other; later ones are harder, asked of the abler."""
    place, k = g.random(n), np.arange(m)
    start = np.round(place * (m - width))[:, None]
    theta = g.normal(size=n) + trend * place
    y = answered(g, theta[:, None] - trend * k / m, m)
    return np.where((k >= start) & (k < start + width), y, -1)


@setting
def dated(g, n, m, reach, trend):
    """Scores of 100 answers each on the benchmarks of a system's time. Later ones are harder."""
    time, of_benchmark = np.sort(g.random(n)), np.sort(g.random(m))
    theta = trend * time + g.normal(0, 0.7, n)
    p = expit(theta[:, None] - trend * of_benchmark)
    far = abs(time[:, None] - of_benchmark) > reach
    return np.where(far, np.nan, g.binomial(100, p) / 100)


@setting
def adaptive(g, n, m, length):
    """Everybody answers so many items, each the one that tells most after the earlier ones."""
    theta, b = g.normal(size=n), g.normal(size=m)
    right = answers(g, expit(theta[:, None] - b))
    given, nodes = np.zeros((n, m), bool), np.linspace(-4, 4, 81)
    curves = expit(nodes - b[:, None])
    log_posterior = np.tile(-(nodes**2) / 2, (n, 1))
    for _ in range(length):
        weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        mean = weight @ nodes / weight.sum(axis=1)
        far = np.abs(b - mean[:, None]) + 0.2 * g.random((n, m))
        asked = np.where(given, np.inf, far).argmin(axis=1)
        given[np.arange(n), asked] = True
        got = right[np.arange(n), asked, None]
        log_posterior += np.log(np.where(got, curves[asked], 1 - curves[asked]))
    return np.where(given, right, -1)


@setting
def labelled(g, n, m, rows, columns):
    """Difficulties spread wide by row, as of items, with labels."""
    y, labels = answered(g, g.normal(size=n), m), [rows.format(k) for k in range(n)]
    return irtkit.ResponseMatrix(y, labels, [columns.format(k) for k in range(m)])


@setting
def families(g, groups, size):
    """Copies of parents with 2 % of the answers flipped."""
    y = np.repeat(answered(g, g.normal(size=groups), 500), size, axis=0)
    return np.where(g.random(y.shape) < 0.02, 1 - y, y)


ONES = (1.0, 1.0, 1.0)
APART = {
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
APART_SEEN = {
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
TOGETHER = {
    "two blocks, eight common items, 100 and 60, gap 0": blocks((100, 60), 60, 8, (0.0,)),
    "two blocks, sixteen common items, 100 and 60, gap 0": blocks((100, 60), 60, 16, (0.0,)),
    "two blocks, eight common items, 2 × 500, gap 0": blocks((500, 500), 20, 8, (0.0,)),
    "windows of 30 of 100, 200 respondents": windows(200, 100, 30, 0.0),
    "windows of 40 of 100, 1,000 respondents": windows(1000, 100, 40, 0.0),
    "windows of 60 of 100, 30 respondents": windows(30, 100, 60, 0.0),
    "windows of 80 of 200, 50 respondents": windows(50, 200, 80, 0.0),
}
PAIR, SMALL = ((100, 50), (60, 80)), ((10, 200), (20, 300))
CLEAN = {
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
    "scores on benchmarks of their time, 120 × 80": dated(120, 80, 0.25, 3.0),
    "scores on benchmarks of their time, half missing": dated(120, 80, 0.5, 3.0),
    "1PL 12 × 100": one(12, 100, spread=0.0),
    **{f"2PL {n} × {m}": one(n, m) for n, m in ((30, 50), (12, 100), (8, 30), (200, 5), (20, 10))},
    "20 % inverted, 30 × 50": one(30, 50, inverted=0.2),
    "booklets in a ring, 1,200 × 120": booklets(1200, paired=False),
    "students × questions, 300 × 40": labelled(300, 40, "student {}", "q{}"),
    "numbers × numbers, 300 × 40": labelled(300, 40, "{}", "{}"),
    "files × files, 300 × 40": labelled(300, 40, "mmlu/{}.json", "run-{}"),
}
PLANTED = {
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
SEEN = {
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
WANTED = PLANTED | {"clean": CLEAN, "seen": SEEN}
"""Settings, by what is to be found."""


def matrix(draw, seed, stream=SEED):
    """Data of a setting."""
    made = draw(np.random.default_rng([seed, stream]))
    return made if isinstance(made, irtkit.ResponseMatrix) else irtkit.ResponseMatrix(made)


Setting = namedtuple("Setting", "setting wanted draw")


def findings(case, seed):
    """Which kinds of findings a fit has."""
    result = irtkit.fit(matrix(case.draw, seed), standard_errors=False, progress=False)
    codes = {finding.code for finding in result.findings}
    return {kind: bool(codes & of_kind) for kind, of_kind in KINDS.items()}


def slopes_followed(case, seed):
    """Rank correlations of fitted with true slopes, by how these spread."""
    correlations = {}
    for spread in (0.3, 0.5):
        g = np.random.default_rng([seed, case["respondents"]])
        items, _, drawn = board_of(g, case["respondents"], 300, spread=spread)
        fitted = irtkit.fit(drawn, standard_errors=False, progress=False).parameters.discrimination
        correlation = spearmanr(fitted, items.discrimination).statistic
        correlations[f"log slopes SD {spread}"] = correlation
    return correlations


def warnings_of_fit(sets=20):
    """Findings of fits, and how closely slopes follow the true ones."""
    cases = [Setting(name, wanted, d) for wanted, by in WANTED.items() for name, d in by.items()]
    sizes = part((3, 4, 5, 6, 7, 8, 12, 20, 30), 0)
    return {
        "studies": study(part(cases, 0, 20, 40, 60, 80), findings, sets),
        "slopes": study([{"respondents": n} for n in sizes], slopes_followed, sets),
    }


Drawn = namedtuple("Drawn", "responses n_guessing", defaults=(0,))
"""A data set, and how many of its first rows guess."""


@setting
def board(
    g, n, m, *, guessers=0.0, options=0, known=False, coins=1.0, mean=0.0, sd=1.0, classes=0.5
):
    """A share of guessers before honest systems of an ability with this mean and SD.

    Of their answers ``coins`` are coin flips, and the others one class, of which the first has this
    share of the items. Without ``options`` items are open-ended.
    """
    k = round(guessers * n)
    guess = 1 / options if options else 0.0
    honest = answered(g, mean + sd * g.normal(size=n - k), m, guessing=guess)
    always = (np.arange(m) < round(classes * m)) == g.integers(0, 2, (k, 1))
    flips = g.random((k, m)) < guess
    guessed = np.where(g.random((k, m)) < coins, flips, always)
    made = irtkit.ResponseMatrix(np.vstack([guessed, honest]))
    if known:
        made = made.with_tables(pd.DataFrame({"n_options": options}, index=made.items))
    return Drawn(made, k)


@setting
def specialists(g, n, m, sd, correlation, easier=0.0):
    """Half of the items ask for one ability, and half for another, with this SD."""
    theta = sd * two_abilities(g, n, correlation)
    values = answered(g, theta[:, np.arange(m) % 2], m, easier=easier)
    return Drawn(irtkit.ResponseMatrix(values))


COLLAPSED = {"options": 2, "coins": 0.02, "classes": 0.55, "mean": 0.5}
CODED = {"known": True, "mean": 0.5}

GUESSERS = {
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
    "elsewhere": CLEAN | SEEN,
}


def named(case, seed):
    """Whether systems are named, and the shares of guessers and others that are."""
    if case.wanted == "elsewhere":
        made, k = matrix(case.draw, seed, 17), 0
    else:
        made, k = case.draw(np.random.default_rng([seed, 17]))
    guess = found_at_chance(patterns_of(made, synthetic_is_real=False), made.item_table)
    rows = np.zeros(0, int) if guess is None else guess.rows
    return {
        "told": guess is not None,
        "guessers": (rows < k).sum() / k if k else None,
        "others": (rows >= k).sum() / (made.n_respondents - k),
    }


def at_chance(sets=20):
    """Whether guessers are named, and nobody else."""
    cases = [
        Setting(name, wanted, draws[name])
        for wanted, draws in GUESSERS.items()
        for name in part(list(draws), 0)
    ]
    return {"studies": study(cases, named, sets)}


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


def planted_board(kind, n_systems, n_items, seed):
    """Responses of a board with something planted."""
    g = np.random.default_rng(seed)
    difficulty = g.normal(size=n_items)
    planted = g.permutation(n_items)[: round(0.15 * n_items)]
    difficulty[planted] = {"ceiling": -9, "floor": 9}.get(kind, difficulty[planted])
    slopes, guessing = g.lognormal(0, 0.3, n_items), 0.25 * (kind in FOUR_OPTIONS)
    items = irtkit.ItemParameters.from_difficulty(slopes, difficulty, guessing)
    values = irtkit.simulate_responses(items, g.normal(size=n_systems), seed=g).values.copy()
    if kind == "near-duplicate items":
        first, other = g.permutation(n_items)[: 2 * round(0.05 * n_items)].reshape(2, -1)
        values[:, other] = values[:, first] ^ (g.random((n_systems, len(first))) < 0.05)
    if kind == "systems at chance":
        guessing_systems = g.permutation(n_systems)[: round(0.15 * n_systems)]
        values[guessing_systems] = g.random((len(guessing_systems), n_items)) < 0.25
    drawn = irtkit.ResponseMatrix(values)
    table = pd.DataFrame(index=drawn.items)
    if kind in FOUR_OPTIONS:
        table["n_options"] = 4
    if kind == "clean, ten tasks":
        table["task"] = np.char.add("task ", (np.arange(n_items) % 10).astype(str))
    return drawn.with_tables(table)


def of_health(case, seed):
    """Whether there is the finding that was planted, and another one."""
    kind = case["planted"]
    result = irtkit.fit(planted_board(kind, case["systems"], case["items"], seed))
    said = {finding.code for finding in result.health().findings} & OF_HEALTH
    return {
        "found": CODES[kind] in said if CODES[kind] else None,
        "false": bool(said - {CODES[kind]}),
    }


def advised(shape, n_systems, sets):
    """Items to add, and the reliability reached with them, means over sets with such advice."""
    advised_and_reached = []
    mean, sd, n_items = SHAPES[shape]
    for seed in range(sets):
        g = np.random.default_rng([seed, n_systems, n_items])
        _, theta, drawn = board_of(g, n_systems, n_items, mean=mean, sd=sd)
        result = irtkit.fit(drawn)
        slope = np.median(np.abs(result.parameters.discrimination))
        to_add = result.health().to_add
        for goal, n, at in to_add[to_add["n_items"] <= n_items].itertuples():
            new = irtkit.ItemParameters.from_difficulty(np.full(n, slope), np.full(n, at))
            more = irtkit.simulate_responses(new, theta, seed=g).values
            if goal.startswith("reach"):
                refitted = irtkit.fit(np.hstack([drawn.values, more]))
                reached = np.corrcoef(refitted.ability, theta)[0, 1] ** 2
                advised_and_reached.append((n, reached))
    items, reached = np.mean(advised_and_reached, axis=0) if advised_and_reached else (None, None)
    about = {"benchmark": shape, "systems": n_systems, "sets": sets}
    return about | {"n": len(advised_and_reached), "items": items, "reached": reached}


def health(sets=20, advice=50):
    """Findings about the health of a benchmark, and whether advice is true."""
    sizes = part(SHAPES_OF_BOARDS, 0)
    boards = [{"planted": kind, "systems": n, "items": m} for kind in CODES for n, m in sizes]
    asked = [(shape, n) for shape in part(SHAPES, "saturated") for n in (60, 200)]
    totals = ("found", "false")
    return {
        "studies": study(boards, of_health, sets, totals=totals, count="sets"),
        "advice": (advised(*case, advice) for case in asked),
    }


Guessing = namedtuple("Guessing", "systems items ability_sd floor guessing")


def said_near_chance(case, seed):
    """Whether a fit says that systems seem to guess."""
    n_systems, n_items, sd, floor, guessing = case
    g = np.random.default_rng([seed, n_systems, n_items])
    items = items_of(g, n_items, guessing=floor)
    abilities = sd * g.normal(size=n_systems)
    if not floor:
        abilities -= 1.3  # Mean accuracy 1/4.
    values = irtkit.simulate_responses(items, abilities, seed=g).values.copy()
    n_guessing = round(guessing * n_systems)
    values[:n_guessing] = g.random((n_guessing, n_items)) < 0.25
    return {"said": len(found_near_chance(irtkit.ResponseMatrix(values)))}


def near_chance(sets=100):
    """Whether a fit says that many systems seem to guess, and only then."""
    kinds = [(0.3, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.25, 0.0)]
    kinds += [(0.3, 0.0, 0.4), (1.0, 0.25, 0.3), (1.0, 0.25, 0.6), (1.0, 0.25, 1.0)]
    sizes = part([(20, 400), (60, 400), (20, 1000)], 0)
    cases = [Guessing(*size, *kind) for size in sizes for kind in kinds]
    return {"studies": study(cases, said_near_chance, sets)}


if __name__ == "__main__":
    run(warnings_of_fit, at_chance, health, near_chance)
