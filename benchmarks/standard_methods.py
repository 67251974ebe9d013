"""What standard methods get in the places of irtkit's own, on data with a known answer.

*Near-duplicates*: the mixture of pairs (`irtkit.data.near_duplicates`) beside links. Pairs are
linked that are called at a false-discovery rate of 1 % (Benjamini & Hochberg 1995), families are
the connected components, and the design effect is Kish's with the residual correlation of pairs of
one family. Settings are those of ``near_copies.py``. "said": the effective
number is below 0.9 of the number. "log error": mean |log(effective / number of families)| where
families are close copies.

*Gaps*: the score test of `irtkit.data.limits` beside connected components, and beside a least
number of common items (respondents are linked who answered ten items or more in common).
Settings are those of ``false_findings.py``: "apart" should be said, "together" should not.

*One ability*: the screens of `irtkit.data.limits` followed by draws, beside draws alone (parallel
analysis; Horn 1965): p < 0.01 among 99 draws from the curves, for either statistic.

*Slopes*: the mixture of slopes beside the same score tests at a false-discovery rate of 5 %
(Benjamini & Hochberg), with 2 % of the items inverted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import false_findings
import near_copies
import numpy as np
from machine import part
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr
from scipy.stats import false_discovery_control
from study import run

import irtkit
from irtkit.data import limits, near_duplicates
from irtkit.data.limits import connectivity_of, dimensionality
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import called_negative, slope_signs

if TYPE_CHECKING:
    from study import Tables

    from irtkit.data.patterns import Patterns

FALSE_PAIRS = 0.01
FEWEST_COMMON = 10
DRAWS = 99
MATTERS = 0.9


def linked_families(patterns: Patterns) -> float:
    """Effective number of respondents by links between pairs."""
    n = patterns.n_answering
    who = np.flatnonzero(patterns.answering)
    pairs = near_duplicates.pairs_of(patterns, who)
    if pairs is None:
        return float(n)
    called = false_discovery_control(ndtr(-pairs.z)) < FALSE_PAIRS
    ends = pairs.first[called], pairs.second[called]
    links = csr_array((np.ones(int(called.sum())), ends), shape=(n, n))
    family = connected_components(links, directed=False)[1]
    same = family[pairs.first] == family[pairs.second]
    correlation = np.maximum(pairs.z * pairs.error / pairs.common, 0.0)
    effect = 1 + 2 / n * float((correlation * same * pairs.weight).sum())
    return n / effect if n / effect < MATTERS * n else float(n)


def families(sets: int) -> list[dict[str, Any]]:
    """Effective numbers by both methods."""
    settings = near_copies.SETTINGS | near_copies.FEW
    names = [name for name in settings if _of_families(name) is not None]
    rows = []
    for name in part(names, 0, 7, 30):
        n_families = _of_families(name)
        numbers = []
        for seed in range(sets):
            patterns, _ = near_copies.drawn(name, seed)
            if patterns.n_answering > 384:  # of more, a sample is compared
                continue
            own = near_duplicates.near_duplicates(patterns).n_eff
            numbers.append((patterns.n_answering, own, linked_families(patterns)))
        if not numbers:
            continue
        n, mixture, links = np.array(numbers).T
        row: dict[str, Any] = {"setting": name, "families": n_families, "data_sets": len(n)}
        for method, effective in (("mixture", mixture), ("links", links)):
            row[f"{method}_said"] = float((effective < n).mean())
            row[f"{method}_effective"] = float(effective.mean())
            if n_families:
                row[f"{method}_log_error"] = float(np.abs(np.log(effective / n_families)).mean())
        rows.append(row)
    return rows


def _of_families(name: str) -> int | None:
    """Families of a setting: a number, 0 if respondents are independent, None if neither."""
    first, _, rest = name.partition(" ")
    if name.startswith("independent") or rest.startswith("independent"):
        return 0
    if first.isdigit() and rest.startswith("×"):
        return int(first)
    return None


def least_common(patterns: Patterns) -> bool:
    """Whether links by ten common items leave respondents apart."""
    answered = patterns.dense()[1] > 0
    common = answered.astype(np.float32) @ answered.T.astype(np.float32)
    links = csr_array(common >= FEWEST_COMMON)
    return bool(connected_components(links, directed=False)[0] > 1)


def gaps(sets: int) -> list[dict[str, Any]]:
    """Share of data sets that are said to be apart."""
    settings = [("apart", name, draw) for name, draw in false_findings.APART.items()]
    settings += [("together", name, draw) for name, draw in false_findings.TOGETHER.items()]
    rows = []
    for kind, name, draw in part(settings, 0, 14):
        said = []
        for seed in range(sets):
            responses = draw(np.random.default_rng([seed, false_findings.SEED]))
            result = irtkit.fit(responses, standard_errors=False, progress=False)
            patterns = patterns_of(responses, synthetic_is_real=False)
            ability = (result.ability - result.latent_mean) / result.latent_sd
            structure = connectivity_of(patterns, result.parameters, ability, result.latent_sd)
            components = structure.components is not None and not structure.linked
            test = structure.components is not None or structure.gap is not None
            said.append((test, components, least_common(patterns)))
        shares = dict(
            zip(("score_test", "components", "least"), np.mean(said, axis=0), strict=True)
        )
        rows.append({"setting": name, "wanted": kind, "data_sets": sets, **shares})
    return rows


def drawn_alone(patterns: Patterns) -> bool:
    """Whether draws alone reject one ability."""
    cells = limits.cells_tested(patterns)
    if cells is None:
        return False
    right, tried = cells
    observed, expected = limits.statistics_of(right, tried)
    generator = np.random.default_rng(0)
    above = np.ones(2)
    for _ in range(DRAWS):
        again = (generator.random(expected.shape, np.float32) < expected) * tried
        above += limits.statistics_of(again, tried)[0] >= observed
    return bool((above / (1 + DRAWS) <= 0.01).any())


def abilities(sets: int) -> list[dict[str, Any]]:
    """Share of data sets with a further ability, or groups of items, and the time."""
    planted = false_findings.PLANTED["further ability"] | false_findings.PLANTED["item groups"]
    settings = [("planted", name, draw) for name, draw in planted.items()]
    settings += [("clean", name, draw) for name, draw in false_findings.CLEAN.items()]
    rows = []
    for kind, name, draw in part(settings, 0, 20):
        said = []
        for seed in range(sets):
            responses = draw(np.random.default_rng([seed, false_findings.SEED]))
            patterns = patterns_of(responses, synthetic_is_real=False)
            duplicates = near_duplicates.near_duplicates(patterns)
            start = time.perf_counter()
            screened = dimensionality(patterns, duplicates) is not None
            middle = time.perf_counter()
            drawn = drawn_alone(patterns)
            end = time.perf_counter()
            said.append((screened, drawn, 1000 * (middle - start), 1000 * (end - middle)))
        names = ("screened", "drawn", "screened_ms", "drawn_ms")
        shares = dict(zip(names, np.mean(said, axis=0).tolist(), strict=True))
        rows.append({"setting": name, "wanted": kind, "data_sets": sets, **shares})
    return rows


def slopes(sets: int) -> list[dict[str, Any]]:
    """Items called negative: share of the inverted ones, and false ones among all."""
    rows = []
    for name in part(list(near_copies.SETTINGS), 0, 6):
        if "inverted" in name or "kinds" in name:
            continue
        counts = []
        for seed in range(sets):
            patterns, wrong = near_copies.drawn(name, seed)
            signs = slope_signs(patterns, near_duplicates.near_duplicates(patterns).share)
            z = np.nan_to_num(signs.score.z)
            tests = false_discovery_control(ndtr(z)) < 0.05
            mixture = called_negative(signs.verdict.p_negative, 0.05)
            counts.append([
                *((called & wrong).sum() for called in (mixture, tests)),
                *((called & ~wrong).sum() for called in (mixture, tests)),
                wrong.sum(),
            ])  # fmt: skip
        found, tested, false, tested_false, n = np.sum(counts, axis=0)
        rows.append({
            "setting": name,
            "data_sets": sets,
            "mixture_found": float(found / max(n, 1)),
            "tests_found": float(tested / max(n, 1)),
            "mixture_false": float(false / max(found + false, 1)),
            "tests_false": float(tested_false / max(tested + tested_false, 1)),
        })  # fmt: skip
    return rows


def standard_methods(sets: int = 10) -> Tables:
    """Own statistics beside standard methods."""
    return {
        "families": families(sets),
        "gaps": gaps(sets),
        "abilities": abilities(sets),
        "slopes": slopes(sets),
    }


if __name__ == "__main__":
    run(standard_methods)
