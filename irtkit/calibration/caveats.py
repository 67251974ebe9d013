"""What a fit must be read with: the sentences of ``result.warnings``.

Each is told by one rule, here, where the model is fitted; everything that speaks of the result
repeats them. Whether one ability explains the responses is told by the responses alone, and so is
the same for every model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.drawn_together import drawn_together
from irtkit.calibration.drift import LEVEL
from irtkit.checks import first_names, short
from irtkit.data.components import components_of
from irtkit.data.weak_links import weakly_linked
from irtkit.signs import disagreement, leftover_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.data.components import Components
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array
    from irtkit.signs import AtChance, ProportionScore

_HANDFUL = 8
"""Respondents below which slopes say next to nothing: the rank correlation of fitted with true ones
is 0.1 to 0.2 where log slopes have an SD of 0.3, and 0.2 to 0.3 where it is 0.5; of 30 respondents
it is 0.5 and 0.6 (``benchmarks/warnings_of_fit.py``)."""
_LEAST_RANKED, _MOST_RANKED = 10, 5000
"""Respondents from which on a rank correlation is judged, and from how many it is computed."""
_FOLLOWING, _LOST = 0.9, 1.25
"""Of one ability the rank correlation of ability and proportion score is hardly ever below 0.9, nor
below 1 − 1.25/√k where respondents have k responses, even if a fifth of the items is inverted: that
ability knows of and the share right does not, and the fewer items the more it matters (least
correlations: ``benchmarks/warnings_of_fit.py``)."""
_DISAGREE = 10.0
"""Times as many pairs as by chance. Of one ability, 20 % inverted items included, come 0 to 5; of
three families of ten to fifty 110 to 340 (``benchmarks/warnings_of_fit.py``)."""
_SAID_BELOW = 0.9
"""Share of the repeated trials below which it is said for how many they count: errors are then 5 %
wider."""
_SHOWN = 4
"""Parts of a matrix that are described."""


def with_caveats(
    result: FitResult,
    patterns: Patterns,
    proportion: ProportionScore,
    guessing: AtChance | None,
    *,
    by_chance: bool,
    counted_anew: bool,
) -> FitResult:
    """The result with what it must be read with.

    ``by_chance`` says that respondents differ in how much they get right by chance alone, which
    some do where many items are inverted and abilities clear; ``counted_anew`` that repeated
    trials were found to agree, and count for less.
    """
    components = components_of(patterns)
    divided = weakly_linked(patterns, components, _logits_of_ability(result))
    parts, by_chance = divided or components, by_chance and not _slopes_told(result)
    comparable = parts is None and not by_chance
    together = _drawn_together(result, patterns) if parts is None else ""
    apart = bool(together) or divided is not None
    doubts = [*_doubts(result, patterns, proportion, comparable=comparable, apart=apart)]
    limits = _sentences(
        result,
        patterns,
        parts,
        linked=divided is not None,
        together=together,
        by_chance=by_chance,
        counted_anew=counted_anew,
    )
    who = () if guessing is None else guessing.rows
    names = tuple(result.respondent_labels[row] for row in who)
    first = [] if guessing is None else [_at_chance(guessing, names, result.n_answering)]
    return replace(
        result,
        warnings=(*first, *limits, *doubts),
        one_ability_doubted=bool(doubts) or (guessing is not None and guessing.opposite),
        at_chance=names,
        components=parts,
    )


def _sentences(
    result: FitResult,
    patterns: Patterns,
    components: Components | None,
    *,
    linked: bool,
    together: str,
    by_chance: bool,
    counted_anew: bool,
) -> Iterator[str]:
    """What limits the estimates, the gravest first."""
    if not result.converged or "unbounded" in result.status:
        yield _shortcoming_of(result)
    if result.drifts is not None and result.drifts.any():
        yield _drifted(result, result.drifts)
    if found := _too_few_items(result, patterns) or _without_errors(result):
        yield found
    if components is not None:
        yield _parts(result, components, linked=linked)
    if together:
        yield together
    if result.n_answering < _HANDFUL:
        yield _few(result)
    if by_chance:
        yield (
            "respondents differ in how much they get right no more than chance makes them differ: "
            "nothing shows that one is abler than another, and rankings mean nothing"
        )
    if counted_anew and (found := _agreement_of(result, patterns)):
        yield found


def _doubts(
    result: FitResult,
    patterns: Patterns,
    proportion: ProportionScore,
    *,
    comparable: bool,
    apart: bool,
) -> Iterator[str]:
    """Whether ability is not all that items ask for.

    ``apart`` says that a gap between respondents with other items may be what is left of one.
    """
    if comparable and (found := _does_not_follow(result, proportion)):
        yield found  # of parts, and of noise, both scales are any
    left = leftover_of(patterns, proportion)
    if left.stands_out:
        ratio, bound = _told_apart(left.ratio, left.bound)
        yield (
            "one ability does not explain all that responses have in common: of what it leaves, "
            f"one pattern is {ratio} times as strong as the next (below {bound} "
            "where one ability does); items ask for a further ability, or many respondents are of "
            "a few families"
            + (", or a gap between those who answered different items leaves it" if apart else "")
        )
    times = disagreement(patterns, proportion)
    if times > _DISAGREE:
        yield (
            f"pairs of respondents disagree far beyond what one ability explains, {times:.0f} "
            "times as often as by chance: they fall into families, or items ask for a further "
            "ability"
        )


def _at_chance(found: AtChance, names: tuple[str, ...], n: int) -> str:
    """Say who scores no better than guessing, how that is known, and what to do."""
    seen = (
        f", and opposite answers show guessing between two options ({found.level:.0%})"
        if found.opposite
        else f", where guessing gives {found.level:.0%}"
    )
    remedy = "irtkit.fit(result.responses.drop(result.at_chance)), or --drop at-chance"
    return (
        f"Systems at chance: {len(names)} of {n} systems score {found.highest:.0%} or less{seen}: "
        f"{first_names([*map(repr, names)], shown=2)}. They can distort slopes and abilities. "
        f"Try: {remedy if len(names) < n else 'stronger systems, or easier items'}"
    )


def _drifted(result: FitResult, drifts: NDArray[np.bool_]) -> str:
    """Name the fixed items that differ from their fixed parameters, and what to try."""
    easier = np.asarray(result.drift_z) > 0
    named = ""
    for name, some in (("Easier", drifts & easier), ("Harder", drifts & ~easier)):
        labels = [repr(result.item_labels[k]) for k in np.flatnonzero(some)]
        named += f"{name}: {first_names(labels, shown=10)}. " if labels else ""
    return (
        f"Anchor drift: {drifts.sum()} of {np.asarray(result.fixed).sum()} fixed items differ from "
        f"their fixed parameters (score test, {LEVEL:.0%}). {named}Abilities and latent_mean are "
        "biased. Try: fixed=earlier.items.drop(result.items.query('drifts').index)"
    )


def _without_errors(result: FitResult) -> str:
    """Say which items have no standard errors though the status is nothing else, and why."""
    if not result.settings.standard_errors:
        return ""
    usual = np.isin(result.status, ["ok", "flat"])
    own = np.ones_like(usual) if result.fixed is None else ~result.fixed
    lacking = usual & own & np.isnan(result.standard_errors[:, [1, 3]]).any(axis=1)
    if not lacking.any():
        return ""
    names = [repr(result.item_labels[k]) for k in np.flatnonzero(lacking)]
    advice = "; a weak prior may give errors" if result.settings.prior is None else ""
    one, free = len(names) == 1, result.settings.prior is None
    falling = "the likelihood does" if free else "likelihood and prior together do"
    return (
        f"{len(names)} of {len(usual)} items {'has' if one else 'have'} no standard errors: "
        f"{first_names(names)}; where {'this estimate lies' if one else 'these estimates lie'} "
        f"{falling} not fall in all directions{advice}"
    )


def _agreement_of(result: FitResult, patterns: Patterns) -> str:
    """What is said of repeated trials that agree, or nothing."""
    tried = patterns.trials[patterns.real]
    tried = tried.data if patterns.sparse else tried
    repeated = tried[tried > 1]
    typical = float(np.median(repeated))
    worth = typical / (1 + (typical - 1) * result.settings["trial_correlation"])
    if worth > _SAID_BELOW * typical:
        return ""
    middle = "" if (repeated == repeated[0]).all() else " (the median)"
    model = result.model
    left_out = "slopes that differ" if model in {"Rasch", "1PL"} else "a further ability"
    return (
        f"repeated trials of a cell agree more than the {model} explains: they repeat each other, "
        f"or cells differ in what it leaves out, such as {left_out}; "
        f"{typical:g}{middle} count for about {worth:.1f}; errors are widened accordingly, those "
        "of items enough only if trials repeat each other"
    )


def _too_few_items(result: FitResult, patterns: Patterns) -> str:
    """Say where items have more parameters than responses to them can tell of; else nothing.

    Responses to n items are 2ⁿ patterns, with 2ⁿ − 1 free probabilities, however many respondents
    there are. Repeated trials, and synthetic respondents of other abilities, tell more.
    """
    n = sum(status in {"ok", "flat", "unbounded"} for status in result.status)
    prior = result.settings["prior"] or {}
    held = prior.get("kind", "ItemPrior") != "ItemPrior"
    if held or patterns.repeated or result.synthetic.any() or not n:
        return ""
    common = result.model in {"1PL", "Rasch"}
    parameters = {"intercept": n, "discrimination": 1 if common else n}
    parameters |= {"guessing": n} if result.model == "3PL" else {}
    free = sum(times for name, times in parameters.items() if prior.get(name) is None)
    if free < 2**n:
        return ""
    return (
        f"the {result.model} has {free} parameters that no prior holds, and responses to {n} "
        f"item{'s' * (n > 1)} determine {2**n - 1} number{'s' * (n > 1)}: infinitely many "
        "estimates are as good as these; use a weak prior, or fit a smaller model"
    )


def _few(result: FitResult) -> str:
    """What so few respondents cannot tell."""
    n = result.n_answering
    slopes = "; discriminations say next to nothing" if result.model in {"2PL", "3PL"} else ""
    return (
        f"only {n} respondent{'s' * (n > 1)}: an average error of one half is uncertain by "
        f"±{0.98 / np.sqrt(n):.2f}, and so is the order of items{slopes}"
    )


def _slopes_told(result: FitResult) -> bool:
    """Whether most slopes are told from 0: of noise up to half, without a prior, and none with."""
    n_ok, flat = (result.status.count(status) for status in ("ok", "flat"))
    return result.model in {"2PL", "3PL"} and n_ok > flat


def _logits_of_ability(result: FitResult) -> float:
    """Logits that one SD of ability makes on an item of typical slope."""
    usual = np.array(result.status) == "ok"
    slopes = np.abs(result.parameters.discrimination[usual])
    return float(np.median(slopes)) * result.latent_sd if len(slopes) else 1.0


def _parts(result: FitResult, components: Components, *, linked: bool) -> str:
    """Which respondents and items there are in every part.

    ``linked`` says that some have responses in common, from which hardly anything follows.
    """
    sizes = []
    for k in range(1, min(components.n, _SHOWN) + 1):
        who, what = (np.flatnonzero(part == k) for part in components)
        first = repr(result.respondent_labels[who[0]]), repr(result.item_labels[what[0]])
        sizes.append(f"{len(who)} × {len(what)} (from {' and '.join(first)})")
    more = f", and {components.n - _SHOWN} more" if components.n > _SHOWN else ""
    apart = "without a response in common"
    compared = "nothing tells how abilities and difficulties of one compare with those of another"
    if linked:
        apart = "that too few responses link to compare them"
        compared = (
            "of how far one is from another, abilities and difficulties tend to show too little, "
            "as all respondents are taken for one normal population"
        )
    return (
        f"respondents and items fall into {components.n} parts {apart}: {', '.join(sizes)}{more}; "
        f"{compared} (the column component of both tables says which is where)"
    )


def _drawn_together(result: FitResult, patterns: Patterns) -> str:
    """What is said where respondents who answered different items are drawn together, or could be.

    That is where too few items in common tell how far apart they are.
    """
    found = drawn_together(result, patterns)
    if found is None:
        return ""
    gap, significant = found
    one, other = (repr(result.respondent_labels[row]) for row in (gap.x.argmin(), gap.x.argmax()))
    remedy = (
        "as all are taken for one normal population, and errors do not tell; let them answer more "
        "items in common, or hold items at known values (fixed=)"
    )
    if not significant:
        return (
            f"respondents who answered different items, such as {one} and {other}, have little in "
            f"common: of a gap between them, abilities would show about {gap.shown:.2f}, {remedy}"
        )
    return (
        "respondents who answered different items are drawn together, unless earlier answers chose "
        f"the items as in an adaptive test: the means of two groups, with {one} and {other}, are "
        f"{gap.gap:.2f} SD apart, and would be about {gap.undrawn:.2f}, {remedy}"
    )


def _does_not_follow(result: FitResult, proportion: ProportionScore) -> str:
    """What is said where ability has little to do with how much respondents get right."""
    who = np.flatnonzero(proportion.scored)
    if len(who) < _LEAST_RANKED:
        return ""
    some = who[:: -(-len(who) // _MOST_RANKED)]
    agreement = _rank_correlation(result.ability[some], proportion.value[some])
    answered = float(np.median(result.counts.respondent_responses[who]))
    bound = min(_FOLLOWING, 1 - _LOST / np.sqrt(answered))
    if agreement >= bound:
        return ""
    shares = result.counts.accuracy
    ablest, best = (who[value[who].argmax()] for value in (result.ability, proportion.value))
    named = (
        f"{short(result.respondent_labels[k])} ({shares[k]:.0%} right)" for k in (ablest, best)
    )
    found, least = _told_apart(agreement, bound)
    return (
        f"the ability of the {result.model} is not how much respondents get right: their rank "
        f"correlation is {found} (at least {least} where one ability explains the "
        "responses)"
        + (f"; the ablest is {', not '.join(named)}" if shares[ablest] < shares[best] else "")
    )


def _told_apart(value: float, bound: float) -> tuple[str, str]:
    """Both with two decimals, or as many as it takes to tell them apart."""
    pairs = [(f"{value:.{n}f}", f"{bound:.{n}f}") for n in range(2, 8)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def _rank_correlation(one: Array, other: Array) -> float:
    """Spearman's; 1 where all values of one are equal."""
    ranks = [_ranks(values) for values in (one, other)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 1.0
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def _ranks(values: Array) -> Array:
    """Ranks, of ties their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.take(np.cumsum(count) - (count - 1) / 2, place)


def _shortcoming_of(result: FitResult) -> str:
    """Say which items have no finite estimate, or that the fit did not converge; what to try."""
    unbounded = [
        repr(name)
        for name, status in zip(result.item_labels, result.status, strict=True)
        if status == "unbounded"
    ]
    if unbounded:
        one = len(unbounded) == 1
        have, keep, them, they = (
            ("has", "keeps", "it", "it") if one else ("have", "keep", "them", "they")
        )
        held = f"likelihood, no prior holds {them}, and {they}"
        return (
            f"{len(unbounded)} of {len(result.item_labels)} items {have} no finite maximum of the "
            + (held if result.settings.prior else "likelihood and")
            + f" {keep} the last value reached: {first_names(unbounded)}"
            + ("" if result.converged else "; the fit did not converge for it")
            + "; a weak prior gives finite estimates"
        )
    last = result.trace_rows[-1]
    if result.method == "vi":
        return (
            f"the evidence lower bound has not settled in {result.n_iterations} steps (smoothed "
            f"{last[5]:.4f}); raise max_iterations"
        )
    exhausted = result.n_iterations >= result.settings["max_iterations"]
    advice = ["raise max_iterations"] if exhausted else []
    advice += [] if result.settings["prior"] else ["use a weak prior"]
    return (
        f"the fit did not converge in {result.n_iterations} iterations "
        f"(log-likelihood {last[2]:.4f}, last change of a parameter {last[3]:.2g})"
        + ("" if exhausted else ", no further step raises the likelihood")
        + (f"; {' or '.join(advice)}" if advice else "")
    )
