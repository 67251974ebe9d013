"""How often systems at chance are found, and who is named.

For every setting responses are drawn anew. Printed: the share of data sets in which systems at
chance are named; the share of the planted guessers that is named; the share of the others that is
named; and the share of the data sets in which the best system by accuracy is named.

"opposite": guessers that answer one of two classes whatever is asked, but for a share of coin
flips; the number of options is not known. "options": guessers flip coins, and the item table has
n_options. "none": nobody is to be named. "seen": what comes, without a promise. "elsewhere": the
settings of ``warnings_of_fit.py`` whose data hold one ability or several; nobody is to be named.

Honest systems follow a 2PL with guessing at the chance level, or an open-ended one without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from machine import arguments, part, store
from warnings_of_fit import CLEAN, SEEN, responses

import irtkit
from irtkit.data.limits import at_chance
from irtkit.data.patterns import patterns_of

if TYPE_CHECKING:
    from collections.abc import Callable


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
        honest = responses(g, mean + sd * g.normal(size=n - k), m, guessing=guess)
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
        theta = sd * g.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=n)
        values = responses(g, theta[:, np.arange(m) % 2], m, easier=easier)
        return Drawn(irtkit.ResponseMatrix(values))

    return draw


def alone(draw: Any) -> Callable[[np.random.Generator], Drawn]:
    """A data set of another study."""
    return lambda g: Drawn(draw(g))


COLLAPSED: dict[str, Any] = {"options": 2, "coins": 0.02, "classes": 0.55, "mean": 0.5}
CODED: dict[str, Any] = {"known": True, "mean": 0.5}
SETTINGS: dict[str, dict[str, Callable[[np.random.Generator], Drawn]]] = {
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


def measured(name: str, wanted: str, sets: int) -> dict[str, Any]:
    """How often systems are named, and which."""
    told, best = 0, 0
    planted, others = np.zeros(2), np.zeros(2)
    for seed in range(sets):
        made, k = SETTINGS[wanted][name](np.random.default_rng([seed, 17]))
        patterns = patterns_of(made, synthetic_is_real=False)
        found = at_chance(patterns, made.item_table)
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


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of every setting")
    options = parser.parse_args()
    studies = []
    print("| setting | wanted | told | guessers named | others named | best named |")
    print("|---|---|---|---|---|---|")
    for wanted, settings in SETTINGS.items():
        for name in part(list(settings), 0):
            row = measured(name, wanted, options.sets)
            studies.append(row)
            guessers = "—" if row["guessers"] is None else f"{row['guessers']:.0%}"
            shares = f"{row['told']:.0%} | {guessers} | {row['others']:.1%} | {row['best']:.0%}"
            print(f"| {name} | {wanted} | {shares} |", flush=True)
    store(options, studies=studies)


if __name__ == "__main__":
    main()
