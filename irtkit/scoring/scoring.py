"""Scores of respondents on items that are already calibrated."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from irtkit.checks import check_number, check_one_of, first_names
from irtkit.data.patterns import float_blocks, patterns_of
from irtkit.io.reading import as_responses
from irtkit.scoring.bank import DESIGNS, bank_of
from irtkit.scoring.expected_score import Known, Score, model_assisted, model_based, opened
from irtkit.scoring.misfit import misfit_of_each

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.calibrated import CalibratedItems
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix
    from irtkit.scoring.abilities import Abilities
    from irtkit.scoring.bank import Bank, Design

MethodName = Literal["EAP", "MAP", "ML", "WLE"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)
_NO_MISFIT = (
    "the items come without the responses they were calibrated on, so that nothing tells how far "
    "scores lie from what the model expects: intervals of expected_score leave that out, and are "
    "too narrow where answers depend on more than one ability; give the result with its responses"
)
_BEYOND = (
    "Beyond the calibration: {n} of {of} systems may score as high as the best calibrated ones: "
    "{names}. They score at least expected_score_low. How much more, these items cannot tell. "
    "Try: ask 10 more items at random, score(..., random_items=[...])."
)


def score(
    responses: object,
    items: object,
    method: MethodName = "EAP",
    *,
    level: float = 0.95,
    latent_sd: float | None = None,
    design: Design | None = None,
    random_items: Collection[Any] | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Score respondents on calibrated items, which stay as they are.

    Parameters
    ----------
    responses
        Right and wrong answers, respondents × items: a ResponseMatrix or anything that
        :func:`irtkit.read_responses` takes, of which ``reading`` are the settings. Items are found
        by their labels; a part of them, in any order, is enough. Missing cells, repeated trials and
        sparse matrices are fine.
    items
        The items: a result of :func:`irtkit.fit`, a table with the columns discrimination and
        intercept or difficulty (and guessing), the path of a saved result, of such a table or of
        the folder that ``irtkit fit --out`` wrote, :class:`irtkit.ItemParameters`, which have no
        labels (responses then have the same items in the same order), or what
        :func:`irtkit.select_items` returned or its ``save`` wrote, for new respondents who answered
        the items selected.
    method
        "EAP" (posterior mean), "MAP" (posterior mode), "ML" (maximum likelihood) or "WLE" (weighted
        likelihood, Warm 1989). EAP and MAP pull towards the mean of the population, the more the
        fewer items were answered; ML and WLE do not, and ML has no finite estimate where all
        answers point one way.
    level
        Coverage of the intervals.
    latent_sd
        SD of ability in the population, with a table of items: 1 by default.
    design
        How the items asked were drawn from all calibrated ones: "random" (each as likely as any
        other) or "stratified" (by difficulty). The expected score is then honest for respondents
        unlike the calibrated ones, too: the mean probability of all items plus the mean residual of
        those asked (model-assisted: Särndal, Swensson & Wretman 1992), with the error
        √((1 − k/J)/k · max(s², mean p(1 − p))) of k of J items, s² the variance of the residuals,
        and quantiles of t with k − 1 degrees of freedom. None: as a Selection says, else p-IRT.
    random_items
        Labels of items that were asked after the others and drawn at random from the rest. The
        upper end of the interval is then from these items (Clopper–Pearson), not from the model.

    Returns
    -------
    DataFrame
        Index "respondent", in the order of the responses:

        - ability, ability_se: on the scale of the items. The error of EAP is the posterior SD, that
          of MAP and ML from the second derivative of what is maximised, that of WLE from the
          information of the items answered, somewhat too large where they are few. Errors of the
          items themselves are not in it.
        - ability_low, ability_high: posterior quantiles (EAP), the estimate and a multiple of its
          error (MAP, WLE), or the abilities that a likelihood-ratio test does not reject (ML).
        - accuracy, n_responses: share right of what was answered, and how many responses. Of items
          chosen by :func:`irtkit.select_items` the share right means nothing, and is left out.
        - expected_score, expected_score_low, expected_score_high: share right of *all* items, those
          answered as they were answered (in the mean of their trials), the others as the posterior
          of ability has it, whatever the method (p-IRT: Polo et al. 2024). The interval holds the
          uncertainty of ability and of each answer not seen and, of a Selection or a result with
          its responses, what respondents differ by beyond the model: a variance measured on the
          calibrated respondents, for a Selection by cross-validation (for items chosen on these
          respondents that of a result is too small). It holds of respondents like these. Of items
          without those responses (a table, a result saved without them) nothing is known of that,
          and intervals hold what they should only where the model does.
        - status: "ok"; "unbounded" (ML without a maximum: ability is ±inf); "no responses" (to
          items that tell anything: EAP and MAP are those of the population); "beyond" (the score
          may be as high as the third best calibrated score less 0.02: expected_score may be too
          low, and expected_score_high is the score if all items not asked are right).

    Raises
    ------
    TypeError
        If items or responses are of a wrong kind, or level or latent_sd is no number.
    ValueError
        If no item of the responses is among the items, a table of items lacks a column or holds no
        item with parameters, method or design is none of those above, level is not between 0 and 1
        or latent_sd not above 0, or latent_sd is given with a result, which has its own; or if
        random_items were not asked, or are given with a table of items or with a design.
    FileNotFoundError
        If there is no file or folder of items at the path.

    Warns
    -----
    UserWarning
        If some items of the responses are not among the items: they are left out. If respondents
        are "beyond". If items are left to ask and nothing is known of misfit.

    Examples
    --------
    >>> import irtkit, pandas as pd
    >>> items = pd.DataFrame(
    ...     {"discrimination": [1.0, 1.5, 2.0], "difficulty": [-1.0, 0.0, 1.0]}, ["q1", "q2", "q3"]
    ... )
    >>> new = irtkit.ResponseMatrix([[1, 1, 0], [0, 1, 0]], ["gpt", "llama"], ["q1", "q2", "q3"])
    >>> irtkit.score(new, items)[["ability", "ability_se", "expected_score"]].round(2)
                ability  ability_se  expected_score
    respondent
    gpt            0.31        0.67            0.67
    llama         -0.16        0.70            0.33
    """
    check_one_of("method", method, METHODS)
    if design is not None:
        check_one_of("design", design, DESIGNS)
    level = check_number("level", level, above=0, below=1)
    bank = bank_of(items, latent_sd)
    calibrated, design = bank.items, design or bank.design
    matrix = as_responses(responses, **reading)
    columns, places = _in_common(matrix, calibrated)
    patterns = patterns_of(matrix, synthetic_is_real=True).with_columns(columns)
    drawn = design is not None
    if random_items is not None and (drawn or bank.best is None):
        raise ValueError("random_items needs a result or a selection for items, and no design")
    at_random = _at_random(random_items, matrix, patterns, columns)
    scored = scored_of(
        patterns, places, bank, method, level=level, drawn=drawn, at_random=at_random
    )
    table, known = _table(matrix, patterns, scored, calibrated), scored.known
    if bank.chosen and not drawn:
        table = table.drop(columns="accuracy")
    if bank.selected_of and bank.selected_of > known.n_items:
        return _of_a_part(table, bank.selected_of, known.n_items)
    if drawn or not (known.n_asked < known.n_items).any():
        return table
    if bank.without_responses:
        warnings.warn(_NO_MISFIT, UserWarning, stacklevel=2)
    if scored.beyond.any() and random_items is None:
        names = list(table.index[scored.beyond])
        text = _BEYOND.format(n=len(names), of=len(table), names=first_names(names))
        warnings.warn(text, UserWarning, stacklevel=2)
    return table


def _of_a_part(table: pd.DataFrame, n_items: int, n_known: int) -> pd.DataFrame:
    """Leave out the score of all items where only those selected are known."""
    warnings.warn(
        f"the items are {n_known} selected of {n_items}, and the table has nothing of the others: "
        "no score of all is told; give the selection itself, or the file of selection.save (irtkit "
        "select --out with a name that ends in .npz)",
        UserWarning,
        stacklevel=3,
    )
    return table.drop(columns=[f"expected_score{end}" for end in ("", "_low", "_high")])


class Scored(NamedTuple):
    """What answers to some items of a bank tell of respondents."""

    found: Abilities
    known: Known
    expected: Score
    beyond: NDArray[np.bool_]
    """Who may score as high as the best of the respondents the items were calibrated on."""


def scored_of(
    patterns: Patterns,
    places: Places,
    bank: Bank,
    method: MethodName,
    *,
    level: float,
    drawn: bool = False,
    at_random: Known | None = None,
) -> Scored:
    """Abilities and scores of respondents whose columns are items at some places of a bank."""
    from irtkit.scoring.abilities import abilities

    calibrated, unit = bank.items, bank.items.unit
    rest = unit.chosen(np.setdiff1d(np.flatnonzero(calibrated.known), places))
    weighed = patterns.with_trial_correlation(calibrated.trial_correlation)
    estimates = partial(abilities, weighed, unit.chosen(places), method, rest=rest, level=level)
    known = Known(_seen(patterns), _n_asked(patterns), patterns.n_items + rest.n_items)
    if drawn:
        found = estimates(residuals=True)
        return Scored(found, known, model_assisted(known, found, level), np.zeros(patterns.n, bool))
    misfit = misfit_of_each(patterns, places, bank.misfit, known)
    open_ = (known.n_asked > 0) & (known.n_asked < known.n_items)
    best = bank.best() if bank.best is not None and open_.any() else np.inf
    limit = best * known.n_items - known.right, misfit * known.n_items**2
    found = estimates(limit=None if best == np.inf else limit)
    expected = model_based(known, found, misfit, level)
    beyond = open_ & ((expected.high > best) | (found.above > (1 - level) / 2))
    open_ &= beyond if at_random is None else beyond | (at_random.n_asked > 0)
    wide = opened(expected, known, at_random, level)
    expected = Score(*(np.where(open_, *both) for both in zip(wide, expected, strict=True)))
    return Scored(found, known, expected, beyond)


def _at_random(
    labels: Collection[Any] | None,
    matrix: ResponseMatrix,
    patterns: Patterns,
    columns: NDArray[np.intp],
) -> Known | None:
    """Answers to the items that were asked at random."""
    if labels is None:
        return None
    names, wanted = [matrix.items[k] for k in columns], set(labels)
    if strange := sorted(wanted.difference(names), key=str):
        raise ValueError(
            f"random_items must be calibrated items of the responses, got {first_names(strange)}"
        )
    some = patterns.with_columns(np.flatnonzero([name in wanted for name in names]))
    return Known(_seen(some), _n_asked(some), some.n_items)


def _in_common(
    matrix: ResponseMatrix, calibrated: CalibratedItems
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns of the responses that are calibrated, and which items they are."""
    known = calibrated.known
    if calibrated.labels is None:
        if matrix.n_items != len(known):
            raise ValueError(
                f"items are {len(known)} without labels and responses have {matrix.n_items}; give "
                "a table of items with their labels as its index"
            )
        places = np.arange(len(known))
    else:
        places = calibrated.places_of(matrix.items)
    found = (places >= 0) & known[places]
    columns = np.flatnonzero(found)
    strange = [matrix.items[k] for k in np.flatnonzero(~found)]
    if not len(columns):
        of_items = list(calibrated.labels or ())
        raise ValueError(
            f"responses have no calibrated item: theirs are {first_names(strange)}; calibrated "
            f"are {first_names(of_items)}"
        )
    if strange:
        responses = patterns_of(matrix, synthetic_is_real=True).margins.item_responses.any(axis=0)
        strange = [matrix.items[k] for k in np.flatnonzero(~found & responses)]
    if strange:
        warnings.warn(
            f"{len(strange)} of {matrix.n_items} items are not calibrated and are left out: "
            f"{first_names(strange)}",
            UserWarning,
            stacklevel=3,
        )
    return columns, places[columns]


def _table(
    matrix: ResponseMatrix,
    patterns: Patterns,
    scored: Scored,
    calibrated: CalibratedItems,
) -> pd.DataFrame:
    import pandas as pd

    found, expected = scored.found, scored.expected
    counts, ability = patterns.counts, found.ability
    sd, mean = calibrated.latent_sd, calibrated.latent_mean
    missing = np.isnan(ability) | (counts.respondent_responses == 0)
    status = np.where(scored.beyond, "beyond", "ok")
    status = np.where(np.isinf(ability), "unbounded", np.where(missing, "no responses", status))
    columns = {
        "ability": mean + sd * ability,
        "ability_se": sd * found.se,
        "ability_low": mean + sd * found.low,
        "ability_high": mean + sd * found.high,
        "accuracy": counts.accuracy,
        "n_responses": counts.respondent_responses,
        "expected_score": expected.mean,
        "expected_score_low": expected.low,
        "expected_score_high": expected.high,
        "status": status.astype(object),
    }
    return pd.DataFrame(columns, index=pd.Index(matrix.respondents, name="respondent"))


def _seen(patterns: Patterns) -> Array:
    """Sum over the items a respondent answered of the share of right trials, (n,)."""
    if not patterns.repeated:
        return patterns.counts.respondent_right.astype(np.float64)
    parts = []
    for _, right, answered in float_blocks(patterns):
        if patterns.sparse:
            right.data /= answered.data
            parts.append(np.asarray(right.sum(axis=1)).ravel())
        else:
            parts.append((right / np.maximum(answered, 1)).sum(axis=1))
    return np.concatenate(parts)


def _n_asked(patterns: Patterns) -> Array:
    """How many items each respondent answered, (n,)."""
    if not patterns.repeated:
        return patterns.counts.respondent_responses.astype(np.float64)
    asked = patterns.trials > 0
    return np.asarray(asked.sum(axis=1), dtype=np.float64).ravel()
