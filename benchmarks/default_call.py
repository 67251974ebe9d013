"""How fast is the call people type? irtkit beside PyPI mirt and theta-irt, all by default.

``irtkit.fit(responses)`` and ``mirt.fit_mirt(y)`` both give standard errors; ``theta.fit(y)`` of
theta-irt 0.1.1 gives none, and fits the complete 2PL shapes only. Every package fits the same data
in a process of its own, warmed up on other data of the same shape (compiling is left out), in turns
of 0.3 s at least: 21 times below 0.3 s, 7 below a second, 3 below 5, else twice. What it takes to
bring the data into a package's form is left out.

Times are "best (median)", on the clock and on the processors (all threads together). "irtkit
faster" is a peer's best over irtkit's best, on the clock / on the processors. "Δ log-lik." is the
difference to irtkit on one fine grid (``accuracy.py``), of the observed cells and without the
prior: a fit without a prior can be a little above irtkit's, whose default has one. Run with
``make bench``.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from contenders import Contender, compare, draw_data, judge, parser, start, take_turns
from shapes import Shape, parse
from worker import DEFAULT_CALLS

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

OURS, *PEERS = DEFAULT_CALLS
COMPLETE_2PL_ONLY = "theta-irt"
SHAPES = [
    parse(text)
    for text in (
        *("2000x40:2PL:0.07", "200x1000:2PL:0.07", "100x2000:2PL:0.07", "20000x100"),
        *("20000x100:2PL:0:0.2", "5000x50:3PL", "1000x1000"),
    )
]
HEADER = ["data", "irtkit s", "irtkit CPU s"] + [
    column.format(peer.split(",")[0])
    for peer in PEERS
    for column in ("{} s", "{} CPU s", "irtkit faster than {}", "Δ log-lik. of {}")
]


def measure(shape: Shape, options: argparse.Namespace, folder: Path) -> list[Contender]:
    """All packages on one shape."""
    plain = shape.model == "2PL" and not shape.missing
    names = [name for name in options.packages if plain or name != COMPLETE_2PL_ONLY]
    data = draw_data(shape, folder)
    contenders = [start(name, shape, options.peer_python, folder) for name in names]
    take_turns(
        contenders,
        data.responses,
        options.limit,
        warm_up=lambda each: each.fit(data.other, options.limit, counts_from=np.inf),
        wanted=lambda each: options.rounds or wanted(each),
    )
    judge(contenders, data, reference=OURS)
    by_name = {each.name: each for each in contenders if each.seconds}
    for peer in PEERS:
        if peer in by_name and OURS in by_name:
            by_name[peer].figures["irtkit_faster"] = [
                min(theirs) / min(ours)
                for theirs, ours in (
                    (by_name[peer].seconds, by_name[OURS].seconds),
                    (by_name[peer].cpu_seconds, by_name[OURS].cpu_seconds),
                )
            ]
    return contenders


def wanted(each: Contender) -> int:
    """How many times are taken: 21 below 0.3 s, 7 below a second, 3 below 5, else 2."""
    best = min(each.seconds, default=0.0)
    return 21 if best < 0.3 else 7 if best < 1 else 3 if best < 5 else 2


def rows(shape: Shape, contenders: list[Contender]) -> list[str]:
    """One row for all packages."""
    by_name = {each.name: each for each in contenders}
    cells = [f"{shape}", *times(by_name.get(OURS))]
    for peer in PEERS:
        each = by_name.get(peer)
        cells += [*times(each), *beside_irtkit(each)]
    return ["| " + " | ".join(cells) + " |"]


def times(each: Contender | None) -> list[str]:
    """Best and median on the clock and on the processors, or why there are none."""
    if each is None:
        return ["", ""]
    if not each.seconds:
        return [f"{each.worker.problem}"[:80], ""]
    found = [
        f"{min(taken):.3g} ({median(taken):.3g})" for taken in (each.seconds, each.cpu_seconds)
    ]
    return (
        found if each.figures.get("converged", True) else [f"{found[0]} (not converged)", found[1]]
    )


def beside_irtkit(each: Contender | None) -> list[str]:
    """How often irtkit is faster, and the difference in log-likelihood."""
    if each is None or "irtkit_faster" not in each.figures:
        return ["", ""]
    ratios = (f"{ratio:.3g}×" for ratio in each.figures["irtkit_faster"])
    return [" / ".join(ratios), f"{each.figures['above_irtkit']:+.3f}"]


def main() -> None:
    """Print the table; store all figures where asked to."""
    options = parser((__doc__ or "").splitlines()[0], SHAPES, DEFAULT_CALLS).parse_args()
    compare(options, HEADER, measure, rows)


if __name__ == "__main__":
    main()
