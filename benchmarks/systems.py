"""Whether what is said of systems holds: ranks, pairs told apart, P(better), power, gates.

Boards are simulated: items and answers drawn anew for each, a 2PL fitted, ranks and pairs taken
from `irtkit.leaderboard` and `irtkit.compare_systems`. Abilities are all equal, of four levels with
five equal systems each, or normal. Answers are complete; or of two forms with half of the items in
common; or each system answered a random half; or systems are of families of five that repeat 85 %
of their parent's answers. Shares of boards or systems:

- all ranks: of boards whose simultaneous rank intervals hold all true ranks. Equal systems have
  all ranks that they share.
- tied: of boards where no pair is told apart that is equal, or is the other way round.
- best: of boards where a best system is tied with the first.
- better: of pairs with P(better) from 0.93 to 0.97, that they are, and their mean P.
- score: of pairs whose interval, score_low to score_high, holds the difference of the true expected
  scores on the board's items.

Warned: boards with normal abilities of which a leaderboard warns that ability has systems the other
way round that are told apart.

Power: share of 10,000 draws of so many items in which the paired test tells two systems apart,
beside `SystemComparison.power`'s formula at the true difference and spread. Gates: how often a
gate fails where the true drop is the allowed one, how often it passes where it is and answers
change for the worse alone, of whole clusters, and how often the gate passes, fails and is
inconclusive by default, of a model as it was and of one that is worse. There the model gets 70 %
right, items have P(right) of a Beta distribution, and two runs of the model as it was differ on the
share of the answers that is stated.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import arguments, part, store

import irtkit
from irtkit.systems.paired import mean_of, power_of, t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

BOARDS = (
    (20, 200, "equal", "complete"),
    (20, 200, "levels", "complete"),
    (20, 200, "levels", "forms"),
    (20, 200, "levels", "random half"),
    (20, 200, "levels", "families"),
    (20, 200, "normal", "complete"),
    (20, 200, "normal", "forms"),
    (20, 200, "normal", "families"),
    (12, 60, "equal", "complete"),
    (12, 60, "normal", "forms"),
)
LEVELS = (-1.5, -0.5, 0.5, 1.5)
COPIED = 0.85
GATES = (  # Items, allowed drop, trials.
    *((100, 0.0, 1), (500, 0.0, 1), (2000, 0.0, 1)),
    *((100, 0.01, 1), (500, 0.01, 1), (2000, 0.01, 1), (200, 0.0, 5), (200, 0.02, 5)),
)
WORSE = ((200, 0.01, 1), (200, 0.02, 1), (500, 0.02, 1), (400, 0.05, 4), (200, 0.02, 20))
HEADER = (
    *("boards", "systems × items", "abilities", "answers"),
    *("all ranks", "tied", "best", "better (mean P)", "score"),
)


def abilities_of(kind: str, n: int, answers: str, generator: np.random.Generator) -> Array:
    """Abilities of n systems; those of a family are equal."""
    if kind == "equal":
        return np.zeros(n)
    if kind == "levels":
        return np.repeat(LEVELS, n // len(LEVELS))
    if answers == "families":
        return np.repeat(generator.normal(size=n // 5), 5)
    return generator.normal(size=n)


def draw(n: int, n_items: int, kind: str, answers: str, seed: int) -> tuple[Array, Array, Array]:
    """Abilities, probabilities and responses, missing ones NaN."""
    generator = np.random.default_rng([seed, n, n_items])
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    theta = abilities_of(kind, n, answers, generator)
    p = irtkit.ItemParameters.from_difficulty(slope, difficulty).probability(theta)
    values = (generator.random(p.shape) < p).astype(np.float64)
    if answers == "families":
        copied = generator.random(p.shape) < COPIED
        values = np.where(copied, np.repeat(values[::5], 5, axis=0), values)
    elif answers == "random half":
        values[generator.random(p.shape) < 0.5] = np.nan
    elif answers == "forms":
        half, quarter = n_items // 2, 3 * n_items // 4
        values[::2, half:quarter] = np.nan
        values[1::2, quarter:] = np.nan
    return theta, p, values


def one_board(n: int, n_items: int, kind: str, answers: str, seed: int) -> dict[str, Any]:
    """What is said of one board, and whether it is so."""
    theta, p, values = draw(n, n_items, kind, answers, seed)
    with warnings.catch_warnings(action="ignore"):
        result = irtkit.fit(irtkit.ResponseMatrix(values), progress=False)
        board, pairs = result.leaderboard(), irtkit.compare_systems(result)
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    true = theta[[place[label] for label in board.index]]
    first = 1 + (true[None] > true[:, None]).sum(axis=1)
    last = n - (true[None] < true[:, None]).sum(axis=1)
    low, high = board["rank_low_simultaneous"], board["rank_high_simultaneous"]
    held = (low <= first) & (high >= last)
    one, other = (pairs[name].map(place).to_numpy(dtype=int) for name in ("system", "other"))
    better = np.sign(theta[one] - theta[other])
    told, surest = pairs["different"].to_numpy(), pairs["p_better"].to_numpy()
    score = p.mean(axis=1)
    true_difference = score[one] - score[other]
    inside = (pairs["score_low"] <= true_difference) & (pairs["score_high"] >= true_difference)
    differ = better != 0
    sure = differ & (surest >= 0.93) & (surest <= 0.97)
    return {
        "all ranks": float(held.all()),
        "tied": float(not (told & (better != 1)).any()),
        "best": float(low.to_numpy()[true == true.max()].min() == 1),
        "pairs": int(sure.sum()),
        "better": float((better[sure] == 1).sum()),
        "p": float(surest[sure].sum()),
        "score": float(inside.mean()),
    }


def measured(n: int, n_items: int, kind: str, answers: str, n_boards: int) -> dict[str, Any]:
    """Means over boards."""
    found = [one_board(n, n_items, kind, answers, seed) for seed in range(n_boards)]
    pairs = sum(one["pairs"] for one in found)
    record: dict[str, Any] = {
        "boards": n_boards,
        "systems": n,
        "items": n_items,
        "abilities": kind,
        "answers": answers,
        "pairs": pairs,
    }
    for name in ("all ranks", "tied", "best", "score"):
        record[name] = float(np.mean([one[name] for one in found]))
    for name in ("better", "p"):
        record[name] = sum(one[name] for one in found) / pairs if pairs else None
    return record


def line(record: dict[str, Any]) -> str:
    """Row of the table."""
    shares = [f"{record[name]:.1%}" for name in ("all ranks", "tied", "best")]
    better = f"{record['better']:.1%} ({record['p']:.1%})" if record["pairs"] else "—"
    size = f"{record['systems']} × {record['items']}"
    cells = (str(record["boards"]), size, record["abilities"], record["answers"], *shares, better)
    return "| " + " | ".join((*cells, f"{record['score']:.1%}")) + " |"


def warned(n: int, n_items: int, kind: str, answers: str, n_boards: int) -> dict[str, Any]:
    """Boards of one ability of which it is warned that ability has systems the other way round."""
    told = 0
    for seed in range(n_boards):
        values = draw(n, n_items, kind, answers, 10**6 + seed)[2]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            irtkit.fit(irtkit.ResponseMatrix(values), progress=False).leaderboard()
        told += any("the other way round" in str(one.message) for one in caught)
    figures = {"systems": n, "items": n_items, "abilities": kind, "answers": answers}
    return figures | {"boards": n_boards, "warned": told}


def power(n_items: int, abilities: tuple[float, float], n_draws: int) -> dict[str, Any]:
    """How often a pair is told apart, and how often the formula says."""
    generator = np.random.default_rng(n_items)

    def differences(size: tuple[int, ...]) -> Array:
        slope, difficulty = generator.lognormal(0, 0.3, size), generator.normal(size=size)
        right = [
            generator.random(size) < 1 / (1 + np.exp(slope * (difficulty - theta)))
            for theta in abilities
        ]
        return np.subtract(*(some.astype(np.float64) for some in right))

    many = differences((10**6,))
    difference, spread = float(many.mean()), float(many.std())
    told = 0
    for _ in range(n_draws):
        found = mean_of(differences((n_items,)))
        told += abs(found.value) > t_quantile(found.df, 0.95) * found.se
    said = power_of(n_items, difference, spread, level=0.95, clusters_per_item=1)
    return {
        "items": n_items,
        "difference": difference,
        "simulated": told / n_draws,
        "formula": float(said),
    }


def false_alarms(n_items: int, max_drop: float, trials: int, n_gates: int) -> dict[str, Any]:
    """How often a gate fails, and how often it is inconclusive, at a drop of what is allowed."""
    generator, verdicts = np.random.default_rng([n_items, trials]), []
    for _ in range(n_gates):
        p = 1 / (1 + np.exp(generator.normal(-0.8, 2, n_items)))
        both = [generator.binomial(trials, np.clip(q, 0, 1)) for q in (p, p)]
        lost = generator.binomial(both[1], max_drop / p.mean())  # of what was right
        runs = [
            irtkit.ResponseMatrix.from_counts(right[None], np.full((1, n_items), trials))
            for right in (both[0], both[1] - lost)
        ]
        verdicts.append(irtkit.gate(*runs, max_drop=max_drop).verdict)
    return {
        "items": n_items,
        "trials": trials,
        "max_drop": max_drop,
        "gates": n_gates,
        **{name: verdicts.count(name) / n_gates for name in ("failed", "inconclusive", "passed")},
    }


def default_gate(n_items: int, differ: float, drop: float, n_gates: int) -> dict[str, Any]:
    """Verdicts of the default gate on a model that gets 70 % right, and ``drop`` less when new."""
    generator, verdicts = np.random.default_rng([n_items, round(100 * differ)]), []
    size = differ / (0.42 - differ)  # of a Beta distribution: 2 E[P(1 - P)] = differ
    for _ in range(n_gates):
        p = (
            generator.beta(0.7 * size, 0.3 * size, n_items)
            if differ
            else np.arange(n_items) < (0.7 * n_items)
        )
        old, new = (generator.random((2, n_items)) < p).astype(np.int8)
        new[generator.random(n_items) < drop / 0.7] = 0  # of what was right, so many
        runs = [irtkit.ResponseMatrix(run[None]) for run in (old, new)]
        verdicts.append(irtkit.gate(*runs).verdict)
    return {
        "items": n_items,
        "differ": differ,
        "drop": drop,
        "gates": n_gates,
        **{name: verdicts.count(name) / n_gates for name in ("failed", "inconclusive", "passed")},
    }


def regressions(n_items: int, max_drop: float, size: int, n_gates: int) -> dict[str, Any]:
    """How often a gate passes what drops as allowed, clusters falling whole and none rising."""
    generator, verdicts = np.random.default_rng([n_items, size]), []
    clusters = {f"item-{k + 1}": k // size for k in range(n_items)}
    old = irtkit.ResponseMatrix(np.ones((1, n_items), dtype=np.int8))
    for _ in range(n_gates):
        left = np.repeat(generator.random(n_items // size) >= max_drop, size)
        if left.any():
            new = irtkit.ResponseMatrix(left.astype(np.int8)[None])
            verdicts.append(irtkit.gate(old, new, max_drop=max_drop, clusters=clusters).verdict)
    return {
        "items": n_items,
        "in_a_cluster": size,
        "max_drop": max_drop,
        "gates": n_gates,
        **{name: verdicts.count(name) / n_gates for name in ("failed", "inconclusive", "passed")},
    }


def timed(n: int, n_items: int) -> dict[str, Any]:
    """Seconds that all pairs take, and a leaderboard."""
    generator = np.random.default_rng(0)
    slope, difficulty = generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    items = irtkit.ItemParameters.from_difficulty(slope, difficulty)
    responses = irtkit.simulate_responses(items, generator.normal(size=n), seed=1)
    result = irtkit.fit(responses, standard_errors=False, progress=False)
    figures: dict[str, Any] = {"systems": n, "items": n_items, "pairs": n * (n - 1) // 2}
    for name, call in (("pairs_s", irtkit.compare_systems), ("board_s", type(result).leaderboard)):
        start, cpu = time.perf_counter(), time.process_time()
        call(result)
        figures[name] = time.perf_counter() - start
        figures[f"{name[:-2]}_cpu_s"] = time.process_time() - cpu
    return figures


def main() -> None:
    """Print the tables row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--boards", type=int, default=1000, help="boards of every kind")
    options = parser.parse_args()
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    boards = []
    for setting in part(BOARDS):
        boards.append(measured(*setting, options.boards))
        print(line(boards[-1]), flush=True)
    raised = [
        warned(*setting, max(options.boards // 25, 1))
        for setting in part(BOARDS, 9)
        if setting[2] == "normal"
    ]
    print(f"warned of {sum(one['warned'] for one in raised)} boards: {raised}")
    n_draws = 10 * options.boards
    curves = [power(n, (0.25, 0.0), n_draws) for n in part((100, 200, 400, 800, 1600), 0)]
    for one in curves:
        print(f"power of {one['items']} items: {one['simulated']:.1%}, said {one['formula']:.1%}")
    gates = [false_alarms(n, drop, trials, options.boards) for n, drop, trials in part(GATES, 0)]
    for gate in gates:
        print(
            f"gate of {gate['items']} items × {gate['trials']}, {gate['max_drop']:.0%} allowed: "
            f"failed {gate['failed']:.1%}, inconclusive {gate['inconclusive']:.1%}"
        )
    worse = [regressions(*setting, options.boards) for setting in part(WORSE, 0)]
    for gate in worse:
        print(
            f"gate of {gate['items']} items, {gate['in_a_cluster']} in a cluster, none better, "
            f"{gate['max_drop']:.0%} allowed: passed {gate['passed']:.1%}"
        )
    by_default = [
        default_gate(n, differ, drop, options.boards)
        for drop in (0.0, 0.05)
        for n in part((200, 500, 2000), 0)
        for differ in part((0.0, 0.05, 0.1, 0.2), 1)
    ]
    for gate in by_default:
        print(f"default gate: {gate}")
    times = timed(500, 10_000)
    print(f"500 systems × 10,000 items: pairs {times['pairs_s']:.2f} s, {times}")
    store(
        options,
        boards=boards,
        warned=raised,
        power=curves,
        gates=gates,
        regressions=worse,
        by_default=by_default,
        time=times,
    )


if __name__ == "__main__":
    main()
