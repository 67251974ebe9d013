"""False discoveries of negative slopes where respondents answer alike, and where they do not.

A random 2 % of the items is inverted in data sets drawn anew for every setting. Items are called
negative as `irtkit.flag_items` calls them, at a false-discovery rate of 5 %, twice: with every
respondent counted as independent ("alone"), and with evidence weighed by near-duplicates
(`irtkit.data.near_duplicates`), as is done by default. Printed: the number of items called; the
share of them that is false (0 where none is called), the mean of which over data sets the rate is
meant to hold, and that of all calls together; the share of the inverted items called; the share
that evidence counts for; the effective number of respondents; how far the largest eigenvalue lies
above that of one ability (`irtkit.data.limits`); and the share of the data sets with a
finding about that ("warned"). Stored as well: the share with near-duplicates found ("said").

Families: parents with abilities and answers of their own; children copy the answers and flip each
with the probability given. Slopes are lognormal (SD 0.3), difficulties and abilities normal, items
500 where nothing else is said. ``--constants`` shows instead what the constants do: each is
changed, and the mean share of six data sets printed, or that of the matrices in ``--data``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from machine import arguments, part, store

import irtkit
from irtkit.data.limits import dimensionality
from irtkit.data.near_duplicates import near_duplicates
from irtkit.data.patterns import Patterns, patterns_of
from irtkit.data.slopes import called_negative, slope_signs

if TYPE_CHECKING:
    from collections.abc import Callable

    Drawn = tuple[Any, Any]
    Draw = Callable[[np.random.Generator], Drawn]

SHARE, SEED = 0.02, 41


def responses(
    g: np.random.Generator,
    theta: Any,
    m: int,
    *,
    spread: float = 0.3,
    easier: float = 0.0,
    guess: Any = 0.0,
    dimension: Any = None,
) -> Any:
    """Responses of respondents with these abilities, by dimension where there are two."""
    a, b = g.lognormal(0, spread, m), g.normal(size=m) - easier
    ability = theta[:, None] if dimension is None else theta[:, dimension]
    p = guess + (1 - guess) / (1 + np.exp(-a * (ability - b)))
    return (g.random(p.shape) < p).astype(np.int8)


def inverted(g: np.random.Generator, y: Any, share: float = SHARE) -> Drawn:
    """Invert some items."""
    m = y.shape[1]
    wrong = np.zeros(m, bool)
    wrong[g.choice(m, max(round(share * m), 1), replace=False)] = True
    return np.where(wrong & (y >= 0), 1 - y, y).astype(np.int8), wrong


def flipped(g: np.random.Generator, y: Any, noise: Any) -> Any:
    """Flip responses with a probability."""
    return np.where(g.random(y.shape) < noise, 1 - y, y).astype(np.int8)


def planted(draw: Callable[[np.random.Generator], Any], share: float = SHARE) -> Draw:
    """Whatever is drawn, with some items inverted."""
    return lambda g: inverted(g, draw(g), share)


def independent(n: int, m: int = 500, share: float = SHARE, **how: Any) -> Draw:
    """Independent respondents."""
    return planted(lambda g: responses(g, g.normal(size=n), m, **how), share)


def families(groups: int, size: int, noise: float, m: int = 500, **how: Any) -> Draw:
    """Families of one size."""

    def draw(g: np.random.Generator) -> Any:
        parents = responses(g, g.normal(size=groups), m, **how)
        return flipped(g, np.repeat(parents, size, axis=0), noise)

    return planted(draw)


def lump(size: int, at: float, n: int = 200) -> Draw:
    """One family at an ability among independent respondents."""

    def draw(g: np.random.Generator) -> Any:
        y = responses(g, np.append(at, g.normal(size=n - size)), 500)
        copies = flipped(g, np.repeat(y[:1], size, axis=0), 0.02)
        return np.concatenate([copies, y[1:]])

    return planted(draw)


def uneven() -> Draw:
    """Families of many sizes."""
    size = np.array([60, 40, 20, 10, 10, 5, 5] + [1] * 50)

    def draw(g: np.random.Generator) -> Any:
        y = np.repeat(responses(g, g.normal(size=len(size)), 500), size, axis=0)
        return flipped(g, y, 0.05 * (np.repeat(size, size) > 1)[:, None])

    return planted(draw)


def checkpoints(runs: int, steps: int, m: int = 500) -> Draw:
    """Runs of checkpoints, each abler than the one before, with 6 % of the answers drawn anew."""

    def draw(g: np.random.Generator) -> Any:
        a, b, rows = g.lognormal(0, 0.3, m), g.normal(size=m), []
        for _ in range(runs):
            start, chance = g.normal(), g.logistic(size=m)
            for step in range(steps):
                chance = np.where(g.random(m) < 0.06, g.logistic(size=m), chance)
                rows.append(a * (start + 1.5 * step / steps - 0.75 - b) > chance)
        return np.array(rows, dtype=np.int8)

    return planted(draw)


def two_dimensions(r: float, n: int = 200, m: int = 500) -> Draw:
    """80 % of the items on one ability, 20 % on another."""

    def draw(g: np.random.Generator) -> Any:
        theta = g.multivariate_normal([0, 0], [[1, r], [r, 1]], size=n)
        return responses(g, theta, m, dimension=(g.random(m) < 0.2).astype(int))

    return planted(draw)


def two_kinds(r: float, n: int = 200, m: int = 500) -> Draw:
    """80 % and 20 % of the respondents have difficulties of their own, correlated r."""

    def draw(g: np.random.Generator) -> Any:
        second, a = g.random(n) < 0.2, g.lognormal(0, 0.3, m)
        b = g.multivariate_normal([0, 0], [[1, r], [r, 1]], size=m)
        eta = a * (g.normal(size=n)[:, None] - np.where(second[:, None], b[:, 1], b[:, 0]))
        return (g.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)

    return planted(draw)


def skewed(ability: Callable[[np.random.Generator], Any], share: float = SHARE) -> Draw:
    """Independent respondents with abilities of any distribution."""
    return planted(lambda g: responses(g, ability(g), 500), share)


def with_missing(draw: Draw, share: float = 0.7) -> Draw:
    """The same, with cells missing at random."""

    def holes(g: np.random.Generator) -> Drawn:
        y, wrong = draw(g)
        return np.where(g.random(y.shape) < share, -1, y).astype(np.int8), wrong

    return holes


def nothing(draw: Draw) -> Draw:
    """The same, nothing inverted."""

    def kept(g: np.random.Generator) -> Drawn:
        y, wrong = draw(g)
        return np.where(wrong & (y >= 0), 1 - y, y).astype(np.int8), np.zeros_like(wrong)

    return kept


def benchmark(n: int) -> Draw:
    """As in ``benchmarks/planted_wrong_keys.py``."""

    def draw(g: np.random.Generator) -> Drawn:
        slope, difficulty = g.lognormal(0, 0.3, 1000), g.normal(size=1000)
        items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
        return inverted(g, irtkit.simulate_responses(items, g.normal(size=n), seed=g).values)

    return draw


SETTINGS: dict[str, Draw] = {
    "independent 200 × 500": independent(200),
    **{f"planted_wrong_keys {n} × 1,000": benchmark(n) for n in (200, 100, 60, 30, 12)},
    "10 × 20, 2 %": families(10, 20, 0.02),
    "10 × 20, 10 %": families(10, 20, 0.1),
    "30 × 7, 2 %": families(30, 7, 0.02),
    "40 × 5, 20 %": families(40, 5, 0.2),
    "60 × 3, 2 %": families(60, 3, 0.02),
    "60 × 3, 20 %": families(60, 3, 0.2),
    "abilities exponential": skewed(lambda g: g.exponential(size=200) - 1),
    "abilities −exponential": skewed(lambda g: 1 - g.exponential(size=200)),
    "abilities in two heaps": skewed(
        lambda g: np.where(g.random(200) < 0.8, g.normal(0.5, 0.4, 200), g.normal(-2, 0.4, 200))
    ),
    "guessing 0.25": independent(200, guess=0.25),
    "guessing 0.5": independent(200, guess=0.5),
    "accuracy 0.95": independent(200, easier=3.75),
    "70 % missing": with_missing(independent(200)),
    "8 respondents": independent(8),
    "30 respondents": independent(30),
    "nothing planted": nothing(independent(200)),
    "nothing, 10 × 20, 2 %": nothing(families(10, 20, 0.02)),
    "nothing, 30 × 7, 2 %": nothing(families(30, 7, 0.02)),
    "two dimensions, r 0.5": two_dimensions(0.5),
    "two dimensions, r 0": two_dimensions(0.0),
    "two dimensions, r −0.5": two_dimensions(-0.5),
    "two kinds of respondents, r 0.5": two_kinds(0.5),
    "two kinds of respondents, r 0": two_kinds(0.0),
    "two kinds of respondents, r −0.5": two_kinds(-0.5),
    **{f"independent 200 × {m}": independent(200, m) for m in (20, 50)},
    "independent 1,000 × 30": independent(1000, 30),
    "slopes with an SD of 0.8": independent(200, spread=0.8),
    "20 % inverted": independent(200, share=0.2),
    "20 % inverted, exponential": skewed(lambda g: g.exponential(size=200) - 1, 0.2),
    "accuracy 0.95, 50 items": independent(200, 50, easier=3.75),
    "10 × 20, 2 %, 2,000 items": families(10, 20, 0.02, 2000),
    **{
        f"{k} × {size}, {100 * noise:.0f} %, {m} items": families(k, size, noise, m)
        for m in (20, 50, 100)
        for k, size, noise in ((10, 20, 0.02), (30, 7, 0.02), (40, 5, 0.2), (60, 3, 0.02))
    },
    "10 × 20, 2 %, 70 % missing": with_missing(families(10, 20, 0.02)),
    "30 × 7, 2 %, 70 % missing": with_missing(families(30, 7, 0.02)),
    "40 × 5, 20 %, 70 % missing": with_missing(families(40, 5, 0.2)),
    "10 × 20, 2 %, accuracy 0.9": families(10, 20, 0.02, easier=2.8),
    "30 × 7, 2 %, guessing 0.25": families(30, 7, 0.02, guess=0.25),
    "20 × 10, 5 %": families(20, 10, 0.05),
    "30 × 7, 20 %": families(30, 7, 0.2),
    "10 × 20, 30 %": families(10, 20, 0.3),
    "10 × 3, 2 %": families(10, 3, 0.02),
    "5 × 40, 2 %": families(5, 40, 0.02),
    "3 × 10, 2 %": families(3, 10, 0.02),
    "families of 60 to 1": uneven(),
    "10 runs of 20 checkpoints": checkpoints(10, 20),
    "20 runs of 10 checkpoints": checkpoints(20, 10),
    **{f"{k} copies at {at} SD": lump(k, at) for k, at in ((60, 1.5), (100, 0), (40, -3))},
}


def drawn(name: str, seed: int) -> tuple[Patterns, Any]:
    """One data set of a setting, and which items are inverted."""
    numbers = [seed, SEED, int(name.split()[1])] if name.startswith("planted") else [seed, SEED]
    values, wrong = SETTINGS[name](np.random.default_rng(numbers))
    return patterns_of(irtkit.ResponseMatrix(values), synthetic_is_real=False), wrong


def measured(name: str, sets: int) -> dict[str, Any]:
    """The figures of one setting, means over its data sets."""
    rows = []
    for seed in range(sets):
        patterns, wrong = drawn(name, seed)
        duplicates = near_duplicates(patterns)
        weighed = slope_signs(patterns, duplicates.share)
        row: list[float] = []
        for signs in (weighed.weighted(1.0), weighed):
            called = called_negative(signs.verdict.p_negative, 0.05)
            false, found = (called & ~wrong).sum(), (called & wrong).sum()
            row += [called.sum(), false, false / max(called.sum(), 1), found / max(wrong.sum(), 1)]
        left = dimensionality(patterns, duplicates)
        z = 0.0 if left is None else left.eigenvalue
        told = duplicates.share, duplicates.n_eff
        rows.append([*row, *told, z, left is not None, duplicates.matter])
    table = np.array(rows, dtype=float)
    figures: dict[str, Any] = {"setting": name, "data_sets": sets}
    for kind, (called, false, each, found) in zip(
        ("alone", "weighed"), (table[:, :4].T, table[:, 4:8].T), strict=True
    ):
        means = {"called": called.mean(), "false": each.mean(), "found": found.mean()}
        means["false of all"] = false.sum() / max(called.sum(), 1)
        figures |= {f"{kind}: {label}": float(value) for label, value in means.items()}
    names = ("share", "effective", "pattern")
    for label, values in zip(names, table[:, 8:11].T, strict=True):
        figures |= {label: values.mean(), f"least {label}": values.min()}
        figures[f"most {label}"] = values.max()
    return figures | {"warned": table[:, 11].mean(), "said": table[:, 12].mean()}


def line(figures: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    cells = [figures["setting"]]
    for kind in ("alone", "weighed"):
        cells.append(f"{figures[f'{kind}: called']:.1f}")
        shares = (figures[f"{kind}: {label}"] for label in ("false", "false of all", "found"))
        cells += [f"{share:.1%}" for share in shares]
    for label, digits in (("share", 2), ("effective", 1), ("pattern", 2)):
        mean, least, most = (figures[f"{part}{label}"] for part in ("", "least ", "most "))
        cells.append(f"{mean:.{digits}f} ({least:.{digits}f}–{most:.{digits}f})")
    cells.append(f"{figures['warned']:.0%}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of every setting")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    options = parser.parse_args()
    head = [
        f"{kind}: {n}"
        for kind in ("alone", "weighed")
        for n in ("called", "false", "of all", "found")
    ]
    head = ["setting", *head, "share", "effective", "pattern", "warned"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    studies = []
    for name in part(list(SETTINGS), 0, 6):
        if options.only in name:
            studies.append(measured(name, options.sets))
            print(line(studies[-1]), flush=True)
    store(options, studies=studies)


if __name__ == "__main__":
    main()
