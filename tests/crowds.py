"""Named crowds: simulated responses that many tests share, and their fits.

A crowd is drawn from known items and abilities, the same for every test that asks for it by name.
A fit is made once for each crowd and settings in a process.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import irtkit
from irtkit import ItemParameters, ResponseMatrix, simulate_responses


class Crowd(NamedTuple):
    """Responses and what they were drawn from."""

    responses: ResponseMatrix
    items: ItemParameters
    abilities: NDArray[np.float64]


class _Shape(NamedTuple):
    n_respondents: int
    n_items: int
    guessing: float = 0.0
    inverted: int = 0  # The first so many items have a negative slope.
    missing: float = 0.0


_SHAPES = {
    "small": _Shape(60, 20),
    "ordinary": _Shape(200, 40),
    "long": _Shape(40, 300),
    "few": _Shape(12, 200),
    "wide-spread": _Shape(1000, 30),
    "guessed": _Shape(400, 40, guessing=0.2),
    "inverted": _Shape(150, 60, inverted=4),
    "incomplete": _Shape(150, 60, missing=0.4),
}


@cache
def crowd(name, seed=0):
    """Responses of a crowd by name, with its items and abilities."""
    shape = _SHAPES[name]
    generator = np.random.default_rng([seed, *name.encode()])
    slopes = generator.lognormal(0, 0.35, shape.n_items)
    slopes[: shape.inverted] *= -1
    items = ItemParameters.from_difficulty(
        slopes, generator.normal(size=shape.n_items), np.full(shape.n_items, shape.guessing)
    )
    abilities = generator.normal(size=shape.n_respondents)
    responses = simulate_responses(items, abilities, missing=shape.missing, seed=generator)
    return Crowd(responses, items, abilities)


@cache
def fitted(name, model="2PL", **settings):
    """Fit a crowd with settings that can be hashed. Tests must not change the result."""
    return irtkit.fit(crowd(name).responses, model, **settings)


def drawn(n_respondents, n_items, seed=0, guessing=0.0):
    """Responses of a normal population to 2PL items, or 3PL items with guessing."""
    return sample(n_respondents, n_items, seed, guessing=guessing).responses


def sample(  # what tests differ in
    n_respondents,
    n_items,
    seed,
    *,
    spread=0.3,
    negative=None,
    guessing=0.0,
    standardised=False,
    missing=0.0,
):
    """Responses to items with log-normal slopes, a share of them negative.

    Standardised abilities have mean 0 and SD 1 among these respondents.
    """
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, spread, n_items)
    if negative is not None:
        slopes[generator.random(n_items) < negative] *= -1
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=n_items), guessing)
    abilities = generator.normal(size=n_respondents)
    if standardised:
        abilities = (abilities - abilities.mean()) / abilities.std()
    responses = simulate_responses(items, abilities, missing=missing, seed=generator)
    return Crowd(responses, items, abilities)


def two_abilities(n, seed=0):
    """Abilities of a population in which they are correlated by 0.4."""
    root = np.array([[1.0, 0.4], [0.0, 0.84**0.5]])
    return np.asarray(np.random.default_rng(seed).normal(size=(n, 2)) @ root)


def of_two_tasks(n, n_items, seed=0):
    """Answers by two abilities, correlated by 0.4, to items that measure them in turn."""
    generator = np.random.default_rng(seed + 1)
    ability = np.tile(two_abilities(n, seed), -(-n_items // 2))[:, :n_items]
    z = 1.3 * ability + generator.normal(size=n_items)
    return (generator.random(z.shape) < 1 / (1 + np.exp(-z))).astype(np.int8)


def fitted_tasks(values, abilities="task"):
    """Fit answers to items of two tasks in turn."""
    items = [f"q{k}" for k in range(values.shape[1])]
    tasks = pd.DataFrame({"task": np.resize(["sums", "words"], len(items))}, index=items)
    responses = ResponseMatrix(values, items=items).with_tables(item_table=tasks)
    return irtkit.fit(responses, abilities=abilities)
