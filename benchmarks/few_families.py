"""How many respondents few ones answer like: of few families, one beside single ones, and none.

Settings and figures are those of ``benchmarks/near_copies.py``, with at most 60 respondents: what
is called negative, what of it is false, the effective number, and how often it is said ("said").
"""

from __future__ import annotations

from functools import partial
from typing import Any

import near_copies
import numpy as np
from machine import arguments, part, store
from near_copies import families, flipped, independent, responses, with_missing


def beside_singles(size: int, n: int, noise: float, at: float) -> near_copies.Draw:
    """One family at an ability, and independent respondents."""

    def draw(g: np.random.Generator) -> Any:
        y = responses(g, np.append(at, g.normal(size=n - size)), 200)
        return np.concatenate([flipped(g, np.repeat(y[:1], size, axis=0), noise), y[1:]])

    return near_copies.planted(draw)


def _in_heaps(n: int, g: np.random.Generator) -> Any:
    return responses(g, np.repeat(g.normal(size=4), n // 4), 200)


def _spread_out(n: int, g: np.random.Generator) -> Any:
    return responses(g, 2 * g.normal(size=n), 200)


SETTINGS: dict[str, near_copies.Draw] = {
    **{
        f"{groups} × {size}, {100 * noise:.0f} %, {m} items": families(groups, size, noise, m)
        for groups, size, noise, m in (
            *((2, 6, 0.1, 200), (2, 10, 0.1, 200), (3, 3, 0.1, 200), (3, 4, 0.1, 200)),
            *((3, 5, 0.1, 200), (4, 4, 0.1, 200), (4, 5, 0.1, 200), (5, 3, 0.1, 200)),
            *((3, 4, 0.1, 100), (3, 20, 0.1, 200), (3, 4, 0.2, 200), (5, 3, 0.2, 200)),
            *((3, 8, 0.2, 200), (4, 4, 0.2, 200), (5, 4, 0.2, 200)),
        )
    },
    "3 × 4, 10 %, 200 items, 30 % missing": with_missing(families(3, 4, 0.1, 200), 0.3),
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
        f"{n} independent, {m} items{what}": independent(n, m, share, **how)
        for n in (8, 12, 20, 30, 60)
        for m in (25, 100, 200)
        for what, share, how in (
            ("", 0.02, {}),
            (", slopes with an SD of 0.5", 0.02, {"spread": 0.5}),
            (", 20 % inverted", 0.2, {}),
            (", guessing 0.25", 0.02, {"guess": 0.25}),
            (", 90 % right, 10 % inverted", 0.1, {"easier": 2.8}),
        )
    },
    **{
        f"{n} independent in four heaps": near_copies.planted(partial(_in_heaps, n))
        for n in (8, 12, 20, 60)
    },
    **{
        f"{n} independent, abilities with an SD of 2, 10 % inverted": near_copies.planted(
            partial(_spread_out, n), 0.1
        )
        for n in (12, 20, 30, 60)
    },
}


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of every setting")
    options = parser.parse_args()
    near_copies.SETTINGS.update(SETTINGS)
    print(
        "| setting | called | false of all | found | effective | said |\n|---|---|---|---|---|---|"
    )
    studies = []
    for name in part(list(SETTINGS), 0, 7):
        studies.append(found := near_copies.measured(name, options.sets))
        shares = (found[f"weighed: {label}"] for label in ("false of all", "found"))
        told = " | ".join(f"{share:.0%}" for share in (*shares,))
        least, most = found["least effective"], found["most effective"]
        print(
            f"| {name} | {found['weighed: called']:.1f} | {told} | {found['effective']:.1f} "
            f"({least:.1f}–{most:.1f}) | {found['said']:.0%} |",
            flush=True,
        )
    store(options, studies=studies)


if __name__ == "__main__":
    main()
