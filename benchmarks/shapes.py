"""The simulated data sets that the benchmarks time.

Slopes are lognormal with an SD of 0.3 on the log scale (1 for the 1PL, the value at which PyPI
mirt holds them), a share of them negative; difficulties and abilities are standard normal;
guessing is uniform on [0.1, 0.3] for the 3PL. Cells are missing at random.
Run as a script, it draws one data set and stores the responses:
``python benchmarks/shapes.py 200x1000 0 responses.npy``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import irtkit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.irf import ModelName


class Shape(NamedTuple):
    """Size of a data set, the model behind it, and shares of negative slopes and missing cells."""

    n_respondents: int
    n_items: int
    model: ModelName = "2PL"
    negative: float = 0.0
    missing: float = 0.0

    @property
    def cells(self) -> int:
        """Number of responses."""
        return self.n_respondents * self.n_items

    def __str__(self) -> str:
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


def parse(text: str) -> Shape:
    """Shape from ``200x1000`` or any beginning of ``200x1000:2PL:0.07:0.2``.

    A size alone that occurs in ``SHAPES`` means the shape listed there.
    """
    size, *rest = text.split(":")
    n_respondents, n_items = (int(number) for number in size.lower().split("x"))
    listed = [shape for shape in SHAPES if shape[:2] == (n_respondents, n_items)]
    if listed and not rest:
        return listed[0]
    models: dict[str, ModelName] = {"1PL": "1PL", "2PL": "2PL", "3PL": "3PL"}
    model = models[rest[0]] if rest else "2PL"
    return Shape(n_respondents, n_items, model, *(float(share) for share in rest[1:]))


def draw(shape: Shape, seed: int) -> tuple[irtkit.ItemParameters, NDArray[np.int8]]:
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
    if shape.missing:
        values = np.where(generator.random(values.shape) < shape.missing, np.int8(-1), values)
    return items, values


if __name__ == "__main__":
    np.save(sys.argv[3], draw(parse(sys.argv[1]), int(sys.argv[2]))[1])
