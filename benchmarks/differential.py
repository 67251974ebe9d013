"""Whether tests of differential item functioning hold their level, and what they find.

2PL data with lognormal slopes (an SD of 0.3 on the log scale) and normal difficulties; abilities
are N(0, 1) in the reference group and N(−shift, 1) in the focal one. Where items differ a share of
them is harder for the focal group by so many SDs of ability ("one way"), or as many are easier
("both ways"), or has half the slope there ("slopes"). Families are near-copies of one system, each
answer differing with a probability. Printed for each setting, with 95 % intervals of the
first over data sets: the share of items that do not differ whose p-value is below
0.05 and below 0.001; the design effect's mean; and with q ≤ 0.05 the mean share of false ones among
those found, and the share found of those that differ. With --raw statistics are not divided by the
design effect.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from machine import arguments, part, store

import irtkit
from irtkit.data.patterns import patterns_of
from irtkit.diagnostics import functioning

_CRITICAL = 3.841
"""Of a chi-square with one degree of freedom, at 5 %."""
_LOOKED_AT = 3
"""Data sets of independent respondents whose design effect is estimated, which takes longer than
the tests; it is 1 in all of them (see the table), and of further ones taken to be."""


class Setting(NamedTuple):
    """How data are drawn."""

    name: str
    n_reference: int = 500
    n_focal: int = 500
    n_items: int = 40
    shift: float = 0.0
    missing: float = 0.0
    share: float = 0.0
    difference: float = 0.0
    planted: str = "both ways"
    family: int = 1
    noise: float = 0.0
    across: bool = False
    """Whether families lie across groups, and not within."""


SETTINGS = (
    Setting("equal groups"),
    Setting("one SD apart", shift=1.0),
    Setting("one SD apart, 900 and 100", 900, 100, shift=1.0),
    Setting("one SD apart, 20 items", n_items=20, shift=1.0),
    Setting("one SD apart, 10 items", n_items=10, shift=1.0),
    Setting("one SD apart, 2,000 each, 20 items", 2000, 2000, 20, 1.0),
    Setting("one SD apart, half missing", shift=1.0, missing=0.5),
    Setting("100 each, 100 items, one SD apart", 100, 100, 100, 1.0),
    Setting("30 each, 100 items, one SD apart", 30, 30, 100, 1.0),
    Setting("10 each, 200 items, one SD apart", 10, 10, 200, 1.0),
    *(
        Setting(f"10 % differ by {size}, {planted}", share=0.1, difference=size, planted=planted)
        for size in (0.5, 0.8)
        for planted in ("both ways", "one way")
    ),
    Setting("10 % differ by 0.8, one SD apart", shift=1.0, share=0.1, difference=0.8),
    Setting("10 % have half the slope", share=0.1, planted="slopes"),
    Setting("30 % differ by 0.8, one way", share=0.3, difference=0.8, planted="one way"),
    Setting("100 each, 100 items, 10 % by 0.8", 100, 100, 100, share=0.1, difference=0.8),
    Setting("100 each, 100 items, 10 % by 1.5", 100, 100, 100, share=0.1, difference=1.5),
    Setting("families of 5, 20 in each group", 100, 100, 100, family=5, noise=0.05),
    Setting("families of 5, one SD apart", 100, 100, 100, 1.0, family=5, noise=0.05),
    Setting("families of 5, 20 % differ", 100, 100, 100, family=5, noise=0.2),
    Setting("families of 5 across groups", 100, 100, 100, family=5, noise=0.05, across=True),
)


def drawn(setting: Setting, seed: int) -> tuple[Any, list[str], Any]:
    """Responses, the group of every respondent, and which items differ."""
    s, generator = setting, np.random.default_rng([seed, 8])
    focal = np.repeat([False, True], [s.n_reference, s.n_focal])
    slope = generator.lognormal(0, 0.3, s.n_items)
    difficulty = generator.normal(size=s.n_items)
    differs = generator.permutation(s.n_items) < round(s.share * s.n_items)
    signs = np.where(generator.permutation(s.n_items) % 2, 1, -1) if s.planted == "both ways" else 1
    ability = generator.normal(size=len(focal)) - s.shift * focal
    of_slope = np.where(differs & (s.planted == "slopes"), 0.5, 1.0)
    harder = np.where(differs, s.difference * signs, 0.0)
    items = [
        irtkit.ItemParameters.from_difficulty(slope, difficulty),
        irtkit.ItemParameters.from_difficulty(slope * of_slope, difficulty + harder),
    ]
    p = np.where(focal[:, None], items[1].probability(ability), items[0].probability(ability))
    right = generator.random(p.shape) < p
    if s.family > 1:
        first = np.arange(len(focal)) // s.family * s.family
        right = right[first] ^ (generator.random(p.shape) < s.noise)
        if s.across:
            focal = np.arange(len(focal)) % 2 == 1
    values = right.astype(np.int8)
    values[generator.random(values.shape) < s.missing] = -1
    return irtkit.ResponseMatrix(values), ["focal" if one else "ref" for one in focal], differs


def measured(setting: Setting, sets: int) -> dict[str, Any]:
    """The figures of one setting."""
    effects: list[float] = []
    told: list[Any] = []
    estimate = functioning._design_effect  # noqa: SLF001  # looked at, not changed

    def noted(*given: Any) -> float:
        if setting.family == 1 and len(effects) == _LOOKED_AT:
            return 1.0
        effects.append(estimate(*given))
        return effects[-1]

    vars(functioning)["_design_effect"] = noted
    same, false, found, shares = [], [], [], []
    for seed in range(sets):
        responses, groups, differs = drawn(setting, seed)
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            table = irtkit.differential_functioning(
                responses, groups, reference="ref", focal="focal"
            )
        p, called = table["p_value"].to_numpy(), table["harder_for"].to_numpy() != ""
        told.append(np.isfinite(p))
        same.append(p[~differs & np.isfinite(p)])
        shares.append(float((same[-1] < 0.05).mean()))
        false.append((called & ~differs).sum() / max(called.sum(), 1))
        found.append(called[differs])
    functioning._design_effect = estimate  # noqa: SLF001
    p = np.concatenate(same)
    return {
        "setting": setting.name,
        **setting._asdict(),
        "data_sets": sets,
        "items": len(p),
        "tested": float(np.concatenate(told).mean()),
        "below 0.05": float((p < 0.05).mean()),
        "half_width": float(1.96 * np.std(shares, ddof=1) / len(shares) ** 0.5),
        "below 0.001": float((p < 0.001).mean()),
        "design_effect": float(np.mean(effects)),
        "false": float(np.mean(false)),
        "found": float(np.concatenate(found).mean()) if setting.share else None,
    }


def left_out(setting: Setting, sets: int) -> dict[str, Any]:
    """Share of items with p < 0.05 by Mantel-Haenszel with and without the item in its own sum."""
    found: list[Any] = []
    for seed in range(sets):
        responses, groups, _ = drawn(setting, seed)
        patterns, focal = (
            patterns_of(responses, synthetic_is_real=True),
            np.array(groups) == "focal",
        )
        matching = functioning.Matching(patterns, focal)
        everything = np.ones(setting.n_items, dtype=bool)
        own = matching.compared(everything)[0]
        right, answered = patterns.cells.astype(np.float64), np.ones(patterns.cells.shape)
        alone = []
        for j in range(setting.n_items):
            others = matching.varied & (np.arange(setting.n_items) != j)
            w, p = np.where(others, matching.slopes, 0.0), matching.p
            score = (right - p) @ w / (1 + w**2 @ (p * (1 - p)))
            strata = functioning._strata(score, matching.n_strata)  # noqa: SLF001
            cells = right[:, [j]], answered[:, [j]]
            alone.append(functioning.mantel_haenszel(strata, focal, *cells)[0, 0])
        found.append((own > _CRITICAL, np.array(alone) > _CRITICAL))
    shares = np.concatenate(found, axis=1).mean(axis=1)
    return {"setting": setting.name, "in its sum": float(shares[0]), "left out": float(shares[1])}


def line(figures: dict[str, Any]) -> str:
    """A row of the table in Markdown."""
    level = f"{figures['below 0.05']:.1%} ± {figures['half_width']:.1%}"
    found = "" if figures["found"] is None else f"{figures['found']:.0%}"
    cells = [figures["setting"], f"{figures['items']:,}", level]
    cells += [f"{figures['below 0.001']:.2%}", f"{figures['design_effect']:.2f}"]
    cells += [f"{figures['false']:.1%}", found]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=int, default=2000, help="items of every setting")
    parser.add_argument("--only", default="", help="settings whose name holds this")
    parser.add_argument("--raw", action="store_true", help="as if respondents were independent")
    options = parser.parse_args()
    if options.raw:
        functioning._design_effect = lambda *_: 1.0  # noqa: SLF001
    head = ["setting", "items", "p < 0.05", "p < 0.001", "effect", "false", "found"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    studies = []
    for setting in part(SETTINGS, 0, 7):
        if options.only in setting.name:
            studies.append(measured(setting, max(round(options.items / setting.n_items), 6)))
            print(line(studies[-1]), flush=True)
    print(
        "\np < 0.05 where groups are one SD apart, with the item in the sum matched on, and without"
    )
    matched = []
    for setting in part(SETTINGS, 7):
        complete = not (setting.missing or setting.share or setting.family > 1)
        if options.only in setting.name and setting.shift and complete:
            matched.append(left_out(setting, max(options.items // setting.n_items // 2, 6)))
            print(*matched[-1].values(), sep="; ", flush=True)
    store(options, studies=studies, matched=matched)


if __name__ == "__main__":
    main()
