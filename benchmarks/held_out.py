"""What a comparison claims: that a model predicts better, and that systems change places.

``claims``: held-out responses, predicted by the 1PL (average error), the 2PL and, up to 100,000
cells, the 3PL. If all slopes are 1 nothing is to be gained. If 7 % are below 0 (the others
lognormal, SD 0.3) much is. Printed: in how many data sets `irtkit.compare_difficulties` finds
"predicts-better", and the mean gains of the models.

``settled``: how far gains move, in their standard errors, if the fits go on until nothing moves;
CPU seconds of both.

``systems``: how many data sets have systems that change places, how many pairs do, and in how many
of these the one said to be abler is not; beyond 1.96 errors of the difference of abilities by
posterior SDs, beyond 2.576, and by the rule of irtkit. "equal" slopes are 1, "unequal" ones
lognormal (SD 0.5), 7 % below 0. Families are of 10 or 20 that copy the answers of one and flip 2 %.

``seconds``: CPU seconds of a comparison after the fit.

Abilities and difficulties are normal; "skewed" abilities exponential.
"""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from machine import arguments, part, store

import irtkit
from irtkit.difficulty import held_out
from irtkit.difficulty.comparison import errors_needed, of_predictions

EQUAL, UNEQUAL, NEGATIVE = 0.0, 0.5, 0.3
"""SD of the logarithms of slopes; those that are not equal are below 0 for 7 % of the items."""
CLAIMS: tuple[tuple[str, int, int, str, float], ...] = (
    ("1PL", 300, 100, "normal", EQUAL),
    ("1PL, skewed", 300, 100, "skewed", EQUAL),
    ("1PL, SD 3", 300, 100, "wide", EQUAL),
    ("1PL", 30, 50, "normal", EQUAL),
    ("1PL", 12, 2000, "normal", EQUAL),
    ("7 % negative", 200, 1000, "normal", NEGATIVE),
    ("7 % negative", 30, 500, "normal", NEGATIVE),
)
SETTLED = ((100, 1000), (30, 50), (12, 2000), (1000, 40), (200, 1000), (12, 42_000))
SYSTEMS = (
    *((30, 50, "normal", 0.0), (30, 50, "normal", 0.3), (100, 200, "normal", 0.0)),
    *((100, 200, "normal", 0.7), (12, 2000, "normal", 0.0), (12, 20_000, "normal", 0.0)),
    *((200, 1000, "normal", 0.0), (300, 100, "wide", 0.0), (300, 100, "skewed", 0.0)),
    *((8, 300, "normal", 0.0), (50, 300, "families", 0.0), (200, 500, "families", 0.0)),
)
SECONDS = ((100, 1000), (12, 42_000), (2000, 40), (300, 3000))
MANY_CELLS = 100_000


def drawn(
    seed: int, shape: tuple[int, int], abilities: str, spread: float, missing: float = 0.0
) -> tuple[irtkit.ResponseMatrix, Any]:
    """Responses and abilities."""
    n, m = shape
    g = np.random.default_rng([seed, n, m])
    theta = g.exponential(size=n) - 1 if abilities == "skewed" else g.normal(size=n)
    theta *= 3 if abilities == "wide" else 1
    size = n // (5 if n < 100 else 10) if abilities == "families" else 1
    theta = np.repeat(theta[: n // size], size)
    slope = g.lognormal(0, spread, m)
    slope[: round(0.07 * m) if spread else 0] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, g.normal(size=m))
    made = irtkit.simulate_responses(items, theta, seed=g)
    if size > 1:
        copies = np.repeat(made.values[::size], size, axis=0)
        made = irtkit.ResponseMatrix(np.where(g.random((n, m)) < 0.02, 1 - copies, copies))
    if missing:
        made = irtkit.ResponseMatrix(np.where(g.random((n, m)) < missing, -1, made.values))
    return made, theta


def models_of(n: int, m: int) -> list[Any]:
    """Models that are compared unasked."""
    return ["2PL", *(["3PL"] if n * m <= MANY_CELLS else [])]


def claims(sets: int) -> list[dict[str, Any]]:
    """How often a model is said to predict better."""
    found = []
    for name, n, m, abilities, spread in part(CLAIMS, 0):
        tables = []
        for seed in range(sets):
            made, _ = drawn(seed, (n, m), abilities, spread)
            tables.append(irtkit.difficulty.held_out_predictions(made, models_of(n, m)))
        found_in = [one.code for table in tables for one in of_predictions(table)]
        claimed = found_in.count("predicts-better")
        gains = np.mean([table["gain"].iloc[1:] for table in tables], axis=0)
        shown = "  ".join(f"{gain:+.4f}" for gain in gains)
        print(f"{name:14} {n:5} × {m:5}  claims {claimed:2} of {sets}   mean gains {shown}")
        row = {"data": name, "respondents": n, "items": m, "sets": sets, "claims": claimed}
        found.append(row | {"gains": dict(zip(models_of(n, m), gains.round(6), strict=True))})
    return found


def settled() -> list[dict[str, Any]]:
    """How far gains move when everything is fitted to the end."""
    found = []
    for n, m in part(SETTLED, 0):
        made, _ = drawn(0, (n, m), "normal", NEGATIVE)
        tables, seconds = [], []
        for loosely in (True, False):
            with ExitStack() as until_nothing_moves:
                if not loosely:
                    until_nothing_moves.enter_context(patch.object(held_out, "_TOL", 1e-7))
                start = time.process_time()
                tables.append(irtkit.difficulty.held_out_predictions(made, models_of(n, m)))
                seconds.append(round(time.process_time() - start, 2))
        moved = ((tables[0]["gain"] - tables[1]["gain"]) / tables[1]["gain_se"]).iloc[1:]
        shown = "  ".join(f"{100 * move:+.2f} %" for move in moved)
        print(f"{n:5} × {m:5}  moved by {shown} of an error   {seconds[0]} s, {seconds[1]} s")
        found.append({"respondents": n, "items": m, "moved": moved.to_dict(), "seconds": seconds})
    return found


def moves(sets: int) -> list[dict[str, Any]]:
    """How often systems are said to change places, and how often wrongly."""
    found = []
    for n, m, abilities, missing in part(SYSTEMS, 0):
        for slopes, spread in (("equal", EQUAL), ("unequal", UNEQUAL)):
            data = [drawn(seed, (n, m), abilities, spread, missing) for seed in range(sets)]
            counts = counted(data)
            shown = "   ".join(
                f"{rule}: {count['sets']} sets, {count['pairs']} pairs, {count['wrong']} wrong"
                for rule, count in counts.items()
            )
            print(f"{n:4} × {m:5} {abilities:8} {missing:.0%} missing, slopes {slopes:8} {shown}")
            kind = {"respondents": n, "items": m, "abilities": abilities, "missing": missing}
            found.append(kind | {"slopes": slopes, "sets": sets, "by_rule": counts})
    return found


def counted(data: list[tuple[irtkit.ResponseMatrix, Any]]) -> dict[str, dict[str, int]]:
    """Data sets and pairs in which the one with fewer right is said to be abler; wrong pairs."""
    rules = ("1.96", "2.576", "irtkit")
    counts = {rule: dict.fromkeys(("sets", "pairs", "wrong"), 0) for rule in rules}
    for made, theta in data:
        fitted = irtkit.fit(made, "2PL", standard_errors=False, progress=False)
        accuracy, ours = fitted.counts.accuracy, errors_needed(fitted.near_duplicates)
        beyond = fitted.ability[:, None] - fitted.ability
        beyond /= np.hypot(fitted.posterior_sd[:, None], fitted.posterior_sd)
        for rule, least in zip(rules, (1.96, 2.576, ours), strict=True):
            pairs = (beyond > least) & (accuracy[:, None] < accuracy)
            counts[rule]["sets"] += int(pairs.any())
            counts[rule]["pairs"] += int(pairs.sum())
            counts[rule]["wrong"] += int((pairs & (theta[:, None] <= theta)).sum())
    return counts


def seconds(rounds: int) -> list[dict[str, Any]]:
    """CPU seconds of a comparison."""
    found = []
    for n, m in part(SECONDS, 0):
        made, _ = drawn(0, (n, m), "normal", NEGATIVE)
        result = irtkit.fit(made, "2PL", standard_errors=False, progress=False)
        taken = []
        for _ in range(rounds):
            start = time.process_time()
            irtkit.compare_difficulties(result)
            taken.append(round(time.process_time() - start, 2))
        print(f"{n:5} × {m:5}  CPU seconds {taken}")
        found.append({"respondents": n, "items": m, "seconds": taken})
    return found


def main() -> None:
    """Run all parts."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=20, help="data sets of each kind")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figures = {
            "claims": claims(options.sets),
            "settled": settled(),
            "systems": moves(options.sets),
            "seconds": seconds(3),
        }
    store(options, **figures)


if __name__ == "__main__":
    main()
