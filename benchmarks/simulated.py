"""Simulated data that several benchmarks share.

Slopes are lognormal with an SD of 0.3 on the log scale, difficulties and abilities standard normal
where nothing else is said. Of a `Shape` a share of the slopes is negative; slopes of the 1PL are 1,
the value at which PyPI mirt holds them; guessing is uniform on [0.1, 0.3] for the 3PL; cells are
missing at random. Run as a script, it draws one data set and stores the responses:
``python benchmarks/simulated.py 200x1000 0 responses.npy``.
"""

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from machine import SHARED
from scipy.special import expit

import irtkit

AAAI22 = ("liver-disorders", "diabetes", "sat", "SST", "tptp", "optdigits")
"""Sets of the AAAI-22 paper."""


def aaai22(name, folder=SHARED, *, distinct=True):
    """Items of a set of the paper, and the answers to them, duplicates dropped."""
    items = pd.read_csv(folder / f"aid_{name}_reference_items.csv.gz")
    table = pd.read_csv(folder / f"aid_{name}.csv.gz", index_col=0)
    known = pd.read_csv(folder / f"aid_{name}_respondents.csv.gz", index_col=0)
    first = (known.loc[table.index, "exact_duplicate"] == 0).to_numpy()
    return items, (table[first] if distinct else table)[items["item"]]


def setting(draw):
    """From a function that draws data, one of its arguments that returns what draws them."""
    return lambda *arguments, **named: lambda g: draw(g, *arguments, **named)


class Shape(NamedTuple):
    """Size of a data set, the model behind it, and shares of negative slopes and missing cells."""

    n_respondents: int
    n_items: int
    model: str = "2PL"
    negative: float = 0.0
    missing: float = 0.0

    @property
    def cells(self):
        """Number of responses."""
        return self.n_respondents * self.n_items

    def __str__(self):
        size = f"{self.n_respondents:,} × {self.n_items:,} {self.model}"
        return f"{size}, {self.missing:.0%} missing" if self.missing else size


SHAPES = (
    Shape(2_000, 40, "2PL", 0.07),
    Shape(200, 1_000, "2PL", 0.07),
    Shape(100, 5_000, "2PL", 0.07),
    Shape(5_000, 50, "3PL"),
    Shape(20_000, 100),
    Shape(2_211, 1_324),
    Shape(50, 14_000, "1PL"),
    Shape(2_211, 12_032),
)


def parse(text):
    """Shape from ``200x1000`` or any beginning of ``200x1000:2PL:0.07:0.2``.

    A size alone that occurs in ``SHAPES`` means the shape listed there.
    """
    size, *rest = text.split(":")
    n_respondents, n_items = (int(number) for number in size.lower().split("x"))
    listed = [shape for shape in SHAPES if shape[:2] == (n_respondents, n_items)]
    if listed and not rest:
        return listed[0]
    return Shape(n_respondents, n_items, *rest[:1], *map(float, rest[1:]))


def draw(shape, seed):
    """True item parameters and the responses drawn from them, respondents × items.

    A missing response is −1.
    """
    generator = np.random.default_rng([seed, shape.n_respondents, shape.n_items])
    spread = 0.0 if shape.model == "1PL" else 0.3
    slope = generator.lognormal(0, spread, shape.n_items)
    slope[generator.permutation(shape.n_items)[: round(shape.negative * shape.n_items)]] *= -1
    guessing = generator.uniform(0.1, 0.3, shape.n_items) if shape.model == "3PL" else 0.0
    difficulty = generator.normal(size=shape.n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty, guessing)
    abilities = generator.normal(size=shape.n_respondents)
    values = irtkit.simulate_responses(items, abilities, seed=generator).values
    return items, with_missing(generator, values, shape.missing) if shape.missing else values


def items_of(g, n, model="2PL", *, spread=0.3, mean=0.0, sd=1.0, guessing=0.0):
    """Items drawn anew, with this mean and SD of difficulties."""
    slope = g.lognormal(0, 0.0 if model in {"1PL", "Rasch"} else spread, n)
    guessing = g.uniform(0.1, 0.3, n) if model == "3PL" else guessing
    return irtkit.ItemParameters.from_difficulty(slope, g.normal(mean, sd, n), guessing)


def board_of(g, n, m, **how):
    """Items as of `items_of`, abilities, and responses."""
    items, theta = items_of(g, m, **how), g.normal(size=n)
    return items, theta, irtkit.simulate_responses(items, theta, seed=g)


def levels_of(slope, thresholds, model="GPCM"):
    """Items of ordered levels with these thresholds, (n_items, n_levels - 1)."""
    steps = -slope[:, None] * thresholds
    steps = np.cumsum(steps, axis=1) if model == "GPCM" else steps
    steps = np.concatenate([np.zeros((len(slope), 1)), steps], axis=1)
    top = np.full(len(slope), steps.shape[1] - 1.0)
    return irtkit.ItemParameters(slope, steps.mean(axis=1), 0 * slope, steps, top, model)


def answers(g, p):
    """Right and wrong answers, 1 and 0, with these probabilities."""
    return (g.random(p.shape) < p).astype(np.int8)


def responses(g, theta, m, *, spread=0.3, easier=0.0, guessing=0.0):
    """Responses of respondents with these abilities, (n,) or one for every item, (n, m)."""
    a, b = g.lognormal(0, spread, m), g.normal(size=m) - easier
    p = expit(a * (theta.reshape(len(theta), -1) - b))
    return answers(g, guessing + (1 - guessing) * p)


def two_abilities(g, n, correlation):
    """Two standard normal abilities, (n, 2)."""
    return g.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=n)


def flipped(g, y, noise):
    """Flip responses with a probability."""
    return np.where(g.random(y.shape) < noise, 1 - y, y).astype(np.int8)


def with_missing(g, y, share):
    """The same, with cells missing at random."""
    return np.where(g.random(y.shape) < share, -1, y).astype(np.int8)


def inverted(g, y, share=0.02):
    """The same with some items inverted, as by a wrong key, and which."""
    m = y.shape[1]
    wrong = np.zeros(m, bool)
    wrong[g.choice(m, max(round(share * m), 1), replace=False)] = True
    return np.where(wrong & (y >= 0), 1 - y, y).astype(np.int8), wrong


if __name__ == "__main__":
    np.save(sys.argv[3], draw(parse(sys.argv[1]), int(sys.argv[2]))[1])
