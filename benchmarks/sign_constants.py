"""What the constants behind the verdict on signs do: each is changed, and items are judged anew.

Matrices are 2PL data with lognormal slopes (an SD of 0.35 on the log scale), a share of them
negative, and matrices of coin flips. Printed for every value: the share of the items called
negative at a false-discovery rate of 5 % that are false, and of the negative ones that are called,
by shape and over all; the largest probability that coin flips have slopes, and how many of their
items are called; and how far p_negative moves at most and on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import irtkit
from irtkit.data.patterns import patterns_of
from irtkit.signs import SlopeSigns, called_negative, mixture, slope_signs, verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns

    Array = NDArray[np.float64]

PLANTED = {  # respondents, items, share negative: number of data sets
    (12, 1000, 0.02): 6,
    (30, 1000, 0.02): 6,
    (60, 1000, 0.02): 8,
    (200, 1000, 0.02): 4,
    (60, 100, 0.05): 20,
    (40, 30, 0.1): 30,
    (500, 10, 0.1): 20,
}
FLIPS, FLIP_SETS = ((200, 400), (30, 300), (500, 10), (12, 1000)), 12
CHANGES: list[tuple[Any, str, tuple[Any, ...]]] = [
    (mixture, "_STEEPEST", (15.0, 60.0)),
    (mixture, "_BEND", (1.0, 4.0)),
    (mixture, "_WIDTHS", (0.625, 1.8)),
    (mixture, "_STEP", (0.075, 0.25)),
    (mixture, "_DEPTH", (4.0, 9.0)),
    (mixture, "_MAX_ITEMS", (250, 500)),
    (mixture, "_MIN_GAIN", (1e-6, 1e-2)),
    (mixture, "_PSEUDO_ITEMS", (1.0, 5.0, 20.0)),
    (mixture, "_PSEUDO_SHARE", (0.02, 0.1)),
    (mixture, "_STARTS", (((0.5, 0.05),), ((0.95, 0.8),), ((0.5, 0.2), (0.9, 0.6)))),
    (mixture, "_SPREAD", (0.3, 0.5)),
    (mixture, "_SPREAD_PSEUDO_ITEMS", (2.5, 10.0)),
    (mixture, "_MIN_SPREAD", (0.05, 0.2, 0.3, 0.4, 0.5)),
    (mixture, "_FLATNESS", (0.2, 0.5, 1.0)),
    (verdict, "_LOG_PRIOR_ODDS", (-3.0, -5.0, -10.0, -15.0)),
    (verdict, "_DAMPED_FROM", (7.0, 15.0)),
]


class Planted(NamedTuple):
    """Patterns, and which slopes are negative."""

    patterns: Patterns
    negative: NDArray[np.bool_]


def planted(n: int, n_items: int, share: float, seed: int) -> Planted:
    """One data set."""
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.35, n_items)
    negative = generator.permutation(n_items) < round(share * n_items)
    items = irtkit.ItemParameters.from_difficulty(
        np.where(negative, -slopes, slopes), generator.normal(size=n_items)
    )
    made = irtkit.simulate_responses(items, generator.normal(size=n), seed=generator)
    return Planted(patterns_of(made, synthetic_is_real=False), negative)


def flips(shape: tuple[int, int], seed: int) -> Patterns:
    """One matrix of coin flips."""
    values = np.random.default_rng(seed).integers(0, 2, shape)
    return patterns_of(irtkit.ResponseMatrix(values), synthetic_is_real=False)


def called(signs: SlopeSigns) -> NDArray[np.bool_]:
    """Items called negative."""
    return called_negative(signs.verdict.p_negative, 0.05)


def figures(sets: list[list[Planted]], noise: list[Patterns]) -> tuple[str, Array]:
    """The line of one setting, and p_negative of all items."""
    counts, probabilities = [], []
    for alike in sets:
        count = np.zeros(4)
        for patterns, negative in alike:
            signs = slope_signs(patterns)
            flagged = called(signs)
            count += (flagged & ~negative).sum(), flagged.sum(), 0, negative.sum()
            count[2] += (flagged & negative).sum()
            probabilities.append(signs.verdict.p_negative)
        counts.append(count)
    counts.append(np.sum(counts, axis=0))
    cells = (f"{f / max(c, 1):5.1%}/{hit / n:4.0%}" for f, c, hit, n in counts)
    of_noise = [slope_signs(patterns) for patterns in noise]
    most = max(signs.p_any_slope for signs in of_noise)
    n_called = sum(called(signs).sum() for signs in of_noise)
    return f"{' '.join(cells)}  {most:.3f} {n_called}", np.concatenate(probabilities)


def main() -> None:
    """Print a line for every value of every constant."""
    sets = [[planted(*shape, seed) for seed in range(n)] for shape, n in PLANTED.items()]
    noise = [flips(shape, seed) for shape in FLIPS for seed in range(FLIP_SETS)]
    line, as_it_is = figures(sets, noise)
    print("false/found by", *PLANTED, "and over all; coin flips: p of slopes, called; change")
    print(f"{'as it is':40} {line}", flush=True)
    for module, name, values in CHANGES:
        before = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            line, p_negative = figures(sets, noise)
            moved = np.abs(p_negative - as_it_is)
            change = f"{moved.max():.1e} {moved.mean():.1e}"
            print(f"{f'{name} {value}':40} {line}  {change}", flush=True)
        setattr(module, name, before)


if __name__ == "__main__":
    main()
