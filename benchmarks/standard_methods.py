"""What standard methods get in the places of irtkit's own, on data with a known answer.

Near-duplicates: links of pairs at a false-discovery rate of 1 %, families being the connected
components, with Kish's design effect. Gaps: connected components, and ten common items. One
ability: parallel analysis (Horn 1965), p < 0.01 among 99 draws. Slopes: the same score tests at a
false-discovery rate of 5 %. Settings are those of ``near_copies.py`` and ``false_findings.py``.
"""

import time

import near_copies
import numpy as np
from false_findings import APART, CLEAN, PLANTED, TOGETHER, Setting, matrix
from machine import part
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr
from scipy.stats import false_discovery_control
from study import run, study

import irtkit
from irtkit.data import limits, near_duplicates
from irtkit.data.limits import connectivity_of, dimensionality
from irtkit.data.patterns import patterns_of
from irtkit.data.slopes import called_negative, slope_signs

FALSE_PAIRS = 0.01
FEWEST_COMMON = 10
DRAWS = 99
MOST = 384  # Respondents; of more, a sample is compared.
MATTERS = 0.9


def linked_families(patterns):
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


def effective(case, seed):
    """Effective numbers by both methods."""
    patterns, _ = near_copies.drawn(case["setting"], seed)
    n, row = patterns.n_answering, {}
    if n <= MOST:
        mixture = near_duplicates.near_duplicates(patterns).n_eff
        for method, found in (("mixture", mixture), ("links", linked_families(patterns))):
            row |= {f"{method}_said": found < n, f"{method}_effective": found}
    return row


def families(sets):
    """Effective numbers where respondents are independent or families are close copies."""
    cases = []
    for name in near_copies.SETTINGS | near_copies.FEW:
        first, _, rest = name.partition(" ")
        if name.startswith("independent") or rest.startswith("independent"):
            cases.append({"setting": name, "families": 0})
        elif first.isdigit() and rest.startswith("×"):
            cases.append({"setting": name, "families": int(first)})
    rows = study(part(cases, 0, 7, 30), effective, sets)
    return (row for row in rows if "mixture_said" in row)


def said_apart(case, seed):
    """Whether a data set is said to be apart, by each method."""
    responses = matrix(case.draw, seed)
    result = irtkit.fit(responses, standard_errors=False, progress=False)
    patterns = patterns_of(responses, synthetic_is_real=False)
    ability = (result.ability - result.latent_mean) / result.latent_sd
    structure = connectivity_of(patterns, result.parameters, ability, result.latent_sd)
    answered = (patterns.dense()[1] > 0).astype(np.float32)
    linked = csr_array(answered @ answered.T >= FEWEST_COMMON)
    return {
        "score_test": structure.components is not None or structure.gap is not None,
        "components": structure.components is not None and not structure.linked,
        "least": connected_components(linked, directed=False)[0] > 1,
    }


def drawn_alone(patterns):
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


def further_ability(case, seed):
    """Whether there is a further ability, or groups of items, and the time that it takes."""
    patterns = patterns_of(matrix(case.draw, seed), synthetic_is_real=False)
    duplicates = near_duplicates.near_duplicates(patterns)
    start = time.perf_counter()
    screened = dimensionality(patterns, duplicates) is not None
    middle = time.perf_counter()
    drawn = drawn_alone(patterns)
    times = {"screened_ms": middle - start, "drawn_ms": time.perf_counter() - middle}
    return {"screened": screened, "drawn": drawn} | {k: 1000 * s for k, s in times.items()}


def negative(name, seed):
    """Items called negative, inverted ones and others."""
    patterns, wrong = near_copies.drawn(name, seed)
    signs = slope_signs(patterns, near_duplicates.near_duplicates(patterns).share)
    tests = false_discovery_control(ndtr(np.nan_to_num(signs.score.z))) < 0.05
    row = {"inverted": wrong.sum()}
    for method, called in (("mixture", called_negative(signs.p_negative, 0.05)), ("tests", tests)):
        row[f"{method}_found"] = (called & wrong).sum()
        row[f"{method}_false"] = (called & ~wrong).sum()
    return row


def slopes(sets):
    """Share of the inverted items that are called negative, and of false ones among all."""
    names = [
        name
        for name in part(list(near_copies.SETTINGS), 0, 6)
        if "inverted" not in name and "kinds" not in name
    ]
    for row in study(names, negative, sets):
        n_inverted = row.pop("inverted")
        for method in ("mixture", "tests"):
            found, false = row[f"{method}_found"], row[f"{method}_false"]
            row[f"{method}_found"] = found / max(n_inverted, 1 / sets)
            row[f"{method}_false"] = false / max(found + false, 1 / sets)
        yield row


def standard_methods(sets=10):
    """Own statistics beside standard methods."""
    planted = PLANTED["further ability"] | PLANTED["item groups"]
    of_gaps = [Setting(name, "apart", draw) for name, draw in APART.items()]
    of_gaps += [Setting(name, "together", draw) for name, draw in TOGETHER.items()]
    of_abilities = [Setting(name, "planted", draw) for name, draw in planted.items()]
    of_abilities += [Setting(name, "clean", draw) for name, draw in CLEAN.items()]
    return {
        "families": families(sets),
        "gaps": study(part(of_gaps, 0, 14), said_apart, sets),
        "abilities": study(part(of_abilities, 0, 20), further_ability, sets),
        "slopes": slopes(sets),
    }


if __name__ == "__main__":
    run(standard_methods)
