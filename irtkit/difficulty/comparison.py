"""Measures of difficulty side by side, and whether they put the items in the same order.

Average error is the habit of the field; the difficulty of an item response model is what should
replace it where that changes something. The measures:

- ``average_error``: share of real respondents that got the item wrong;
- ``expected_error``: what the model expects the average error to be in its population, on one
  footing for all slopes, guessing and missing responses: the order to go by;
- ``difficulty``: location b, the ability at which the response curve turns. With unequal slopes
  the order of two items depends on where they are compared. A flat item turns nowhere, and where
  the slope is below 0 a high b means that most respondents get the item right: neither has a
  place in this order;
- ``quality_standard``: Kolena's score of further metrics, where there are any. From right and
  wrong alone it has the ranks of average error, and is left out.

In a 1PL or Rasch model of a complete matrix all three say the same. They part where slopes
differ, items can be guessed, or respondents answered different items.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import short
from irtkit.difficulty.held_out import held_out_predictions
from irtkit.difficulty.rank_agreement import levels, n_tied, rank_agreement, ranks
from irtkit.difficulty.sentences import (
    agreement_sentence,
    few_sentence,
    held_out_sentence,
    moves_sentence,
    signs_sentence,
)
from irtkit.difficulty.spearman_score import jittered_correlations
from irtkit.difficulty.systems import most_moved, ranked_systems, systems_sentence
from irtkit.io.tables import as_metrics
from irtkit.irf import MODELS, ItemParameters
from irtkit.metrics import QualityStandard, metric_table, quality_standard
from irtkit.metrics.quality_standard import quality_sentence
from irtkit.printed import WIDTH, in_lines, shortened
from irtkit.responses import item_texts, refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.difficulty.rank_agreement import RankAgreement
from irtkit.irf import ModelName

_FEW_CELLS = 100_000
"""Cells up to which the 3PL is compared unasked: at 1,000 × 100 it takes three times as long as the
2PL, with and without missing cells."""
_JITTER_RUNS, _JITTER = 50, 0.01
"""Draws that a mean is taken over, and their size as a share of the spread of the ranks."""
_PAIRS = {
    "measure_1": ("measure_1", ""),
    "measure_2": ("measure_2", ""),
    "spearman": ("spearman", "z.3f"),
    "spearman_low": ("low", "z.3f"),
    "spearman_high": ("high", "z.3f"),
    "kendall": ("kendall", "z.3f"),
    "ties_1": ("ties_1", ""),
    "ties_2": ("ties_2", ""),
}
_HELD_OUT = {
    "predictor": ("predictor", ""),
    "log_likelihood": ("log-likelihood", ".4f"),
    "accuracy": ("accuracy", ".1%"),
    "gain": ("gain", "z.4f"),
    "gain_low": ("low", "z.4f"),
    "gain_high": ("high", "z.4f"),
}
_SYSTEMS = {
    "accuracy": ("right", ".1%"),
    "rank_by_accuracy": ("rank", "g"),
    "ability": ("ability", "z.2f"),
    "ability_low": ("low", "z.2f"),
    "ability_high": ("high", "z.2f"),
    "rank_by_ability": ("rank", "g"),
    "passes": ("passes", ""),
    "passed_by": ("passed by", ""),
}
"""Columns that are printed, under what name and how."""
_MEASURES = {
    "average_error": "share of systems that got an item wrong",
    "expected_error": "average_error as the model expects it of all systems",
    "difficulty": "ability at which the curve of an item turns",
    "quality_standard": "Kolena's score by further metrics",
}
_AGREE = (
    "spearman (with a 95% interval), kendall: how far the orders of the items agree, 1 if wholly"
)
_TIES = "; ties: items that share their value with another"
_GAIN = (
    "log-likelihood: of a response, the higher the better predicted; gain: how much higher than "
    "by average error (95% intervals that hold together)"
)
_PASSES = (
    "passes: systems with more right that it is abler than, beyond error; passed by: the reverse"
)
_SYSTEMS_SHOWN = 6
"""Systems in the printed table: twice those that the sentence names."""
_PARAMETERS = ["discrimination", "intercept", "guessing"]
_NEEDED = [*_PARAMETERS, "difficulty", "average_error", "n_responses", "status"]


@dataclass(frozen=True, eq=False)
class DifficultyComparison:
    """Measures of difficulty, how far their orders agree, and that in words."""

    table: pd.DataFrame
    """Index ``item``; a column per measure, higher = harder; NaN where it has no value. Then
    ``text`` and ``target`` of the items, where the responses have them."""
    pairs: pd.DataFrame
    """A row per pair of measures: ``measure_1``, ``measure_2``; ``spearman`` with the 95 %
    bootstrap interval over items ``spearman_low``, ``spearman_high``; ``kendall`` (τ-b);
    ``jitter_mean``, ``jitter_sd``, ``jitter_low``, ``jitter_high``: ρ over 50 runs in which small
    noise breaks the ties of ``measure_1`` at random; ``n_items`` compared and ``n_left_out``
    because a measure has no value; ``ties_1``, ``ties_2``, the items that share their value with
    another."""
    summary: list[str]
    """Sentences: how far the orders agree, which items move most and why, whether models predict
    better than average error does, and whether systems change places."""
    held_out: pd.DataFrame | None
    """What `held_out_predictions` gives; None if nothing was held out."""
    systems: pd.DataFrame | None
    """Index ``respondent``, real ones with responses, ablest first: ``accuracy`` (share right) and
    ``rank_by_accuracy`` (1 = most right, ties averaged); ``ability`` with its 95 % posterior
    interval ``ability_low``, ``ability_high`` and ``rank_by_ability``; ``passes``, how many systems
    with more right it is abler than, the difference of abilities beyond error, and ``passed_by``,
    the reverse;
    ``n_responses``. None if the result has no table of respondents,
    or respondents fall into parts that too few responses link, or none, or some are at chance."""
    model: str
    draws: int
    seed: int

    def __repr__(self) -> str:
        measures = ", ".join(dict.fromkeys([*self.pairs["measure_1"], *self.pairs["measure_2"]]))
        return f"DifficultyComparison({len(self.table)} items, {self.model}: {measures})"

    def _repr_html_(self) -> str:
        from irtkit.report.notebook import of_comparison

        return of_comparison(self)

    def __str__(self) -> str:
        measures = in_lines([measures_legend(self.table) + _TIES])
        parts = [
            f"Difficulty of {len(self.table)} items, {self.model}",
            f"{_shown(self.pairs, _PAIRS)}\n{measures}",
        ]
        if self.held_out is not None:
            predicted = _shown(self.held_out.reset_index(), _HELD_OUT)
            legend = in_lines([_GAIN])
            parts.append(f"Responses left out at random, predicted:\n{predicted}\n{legend}")
        if self.systems is not None:
            ranked = _with_labels(most_moved(self.systems, _SYSTEMS_SHOWN))
            legend = in_lines([_PASSES])
            parts.append(f"Systems by share right and by ability:\n{ranked}\n{legend}")
        parts.append(in_lines(self.summary, bullet="- "))
        return "\n\n".join(parts)


def measures_legend(table: pd.DataFrame) -> str:
    """What the measures of a comparison are, and the numbers on a pair of them."""
    there = [f"{name}: {what}" for name, what in _MEASURES.items() if name in table]
    return "; ".join([*there, _AGREE])


def _shown(table: pd.DataFrame, columns: dict[str, tuple[str, str]]) -> str:
    """Some columns of a table, each under a short name and in a format; blank where NaN."""
    shown = table[list(columns)].astype(object)
    for name, (_, form) in columns.items():
        shown[name] = table[name].map(("{:" + form + "}").format).where(table[name].notna(), "")
    return shown.to_string(index=False, header=[short for short, _ in columns.values()])


def _with_labels(systems: pd.DataFrame) -> str:
    """Systems with as much of their labels as there is room for."""
    from rich.cells import cell_len, set_cell_size

    lines = _shown(systems, _SYSTEMS).splitlines()
    room = WIDTH - 1 - len(lines[0])
    labels = ["respondent", *(shortened(name, room) for name in systems.index)]
    width = max(map(cell_len, labels))
    wide = (set_cell_size(label, width) for label in labels)
    return "\n".join(f"{label} {line}" for label, line in zip(wide, lines, strict=True))


def compare_difficulties(
    result: FitResult,
    metrics: object = None,
    *,
    higher_is_better: Mapping[str, bool] | Collection[str] = (),
    folds: int = 5,
    models: Sequence[ModelName] | None = None,
    draws: int = 200,
    seed: int = 0,
    progress: bool | None = None,
) -> DifficultyComparison:
    """Compare average error, difficulty and expected error as orders of the items.

    Parameters
    ----------
    result
        A fit, or anything with its `items`, `model` and `latent_sd`.
    metrics
        Further metrics of the answers, such as cost or time, as :func:`irtkit.fit` takes them: a
        table, a file, names of metrics that the responses have, or a
        :class:`irtkit.difficulty.QualityStandard`. Its score of every item becomes the measure
        ``quality_standard``. By default the score that the result has, if it was given metrics.
    higher_is_better
        Those of the metrics that are better when higher; by default all are better when lower.
    folds
        Parts into which the observed cells are divided to see whether models predict responses
        that they have not seen better than average error does: every fold fits each model. 0
        leaves that out, and so does a result without its responses, or whose items tell nobody
        apart.
    models
        Models to predict with: by default the 1PL, the 2PL and the model of the result, and the
        3PL up to 100,000 cells.
    draws
        Bootstrap draws of items behind each interval, at most 100,000.
    seed
        The same number gives the same intervals and folds, of the same order of rows and columns.
    progress
        Whether to show progress; by default on a terminal and in a notebook.

    Returns
    -------
    DifficultyComparison
        `table`, `pairs`, `held_out`, `systems` and `summary`; printing it shows all but the first,
        of systems those that move. An item whose difficulty is infinite ranks first or last; one
        without a value (NaN) is left out of that pair and counted. So are, of `difficulty`, flat
        items and those with a slope below 0.

    Raises
    ------
    TypeError
        If ``result`` is no fit.
    ValueError
        If a column is missing from `result.items`, `metrics` scores none of the items, `draws`,
        `folds` or `seed` is not a whole number in range, or `folds` is above 0 and the responses
        are sparse.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 4, [-1.0, -0.3, 0.3, 1.0])
    >>> abilities = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] * 20
    >>> result = irtkit.fit(irtkit.simulate_responses(items, abilities), "1PL")
    >>> irtkit.compare_difficulties(result, folds=0).pairs["spearman"].tolist()
    [1.0, 1.0, 1.0]
    """
    items = _items_of(result)
    if models is not None and not models:
        raise ValueError("models must name at least one model; folds=0 predicts nothing")
    table = _measures(items, result.latent_sd, getattr(result, "latent_mean", 0.0))
    of_metrics = _add_quality_standard(table, _quality(result, metrics, higher_is_better))
    pairs, of_orders = _orders(table, items, draws, seed)
    held_out, of_predictions = _predicted(result, items, folds, models, seed, progress=progress)
    systems, of_systems = _systems(result, draws, seed)
    n_answering = getattr(result, "n_answering", int(items["n_responses"].max()))
    sentences = (
        *of_orders,
        _across_parts(result),
        of_predictions,
        of_systems,
        *(f"The fit warned: {text}." for text in getattr(result, "warnings", ())),
        signs_sentence(items, doubted=getattr(result, "one_ability_doubted", False)),
        few_sentence(items, n_answering),
        of_metrics,
    )
    texts = item_texts(getattr(result, "responses", None))
    return DifficultyComparison(
        table=table if texts is None else table.join(texts),
        pairs=pairs,
        summary=[sentence for sentence in sentences if sentence],
        held_out=held_out,
        systems=systems,
        model=result.model,
        draws=draws,
        seed=seed,
    )


def _items_of(result: FitResult) -> pd.DataFrame:
    """The table of items, if there is one with all that is compared."""
    import pandas as pd

    items = getattr(result, "items", None)
    if not isinstance(items, pd.DataFrame) or not hasattr(result, "latent_sd"):
        raise TypeError(
            f"result must be what irtkit.fit or irtkit.load return, got {type(result).__name__}"
        )
    if absent := [name for name in _NEEDED if name not in items.columns]:
        raise ValueError(f"result.items must have the column {short(absent[0])}")
    return items


def _orders(
    table: pd.DataFrame, items: pd.DataFrame, draws: int, seed: int
) -> tuple[pd.DataFrame, list[str]]:
    """`DifficultyComparison.pairs`, and what is said of them."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    sentences = []
    for names in combinations(table.columns, 2):
        both = table[list(names)].dropna()
        agreement = rank_agreement(both[names[0]], both[names[1]], draws=draws, seed=seed)
        n_left_out = len(table) - len(both)
        rows.append(_pair(names, agreement, n_left_out, seed))
        sentences.append(agreement_sentence(names, agreement, n_left_out))
        if names[0] == "average_error":
            sentences.append(moves_sentence(names, agreement, items.loc[both.index], items))
    return pd.DataFrame(rows), sentences


def _across_parts(result: FitResult) -> str:
    """What orders of the items must be read with where these fall into parts, or nothing."""
    parts = getattr(result, "components", None)
    if parts is None:
        return ""
    return (
        f"These orders run across {parts.n} parts of the matrix that too few responses link, or "
        "none: where measures agree on them, they need not agree on items of different parts."
    )


def _predicted(
    result: FitResult,
    items: pd.DataFrame,
    folds: int,
    models: Sequence[ModelName] | None,
    seed: int,
    *,
    progress: bool | None,
) -> tuple[pd.DataFrame | None, str]:
    """Predictions of responses left out, if there are any, and what is said of them."""
    if not items["average_error"].between(0, 1, inclusive="neither").any():
        return None, "No item is got right by some and wrong by others: nothing to predict."
    held_out = _held_out(result, folds, models, seed, progress=progress)
    if held_out is None:
        return None, ""
    return held_out, held_out_sentence(held_out, getattr(result, "near_duplicates", None))


def _systems(result: FitResult, draws: int, seed: int) -> tuple[pd.DataFrame | None, str]:
    """Systems by share right and by ability, where these can be compared, and what is said."""
    if getattr(result, "components", None) is not None:
        nothing = "Systems are not ranked: too few responses link parts of the matrix, or none."
        return None, nothing
    if getattr(result, "at_chance", ()):
        return None, "Systems are not ranked by ability: some score no better than guessing."
    respondents = getattr(result, "respondents", None)
    if respondents is None:
        return None, ""
    systems = ranked_systems(respondents, getattr(result, "near_duplicates", None))
    doubted = getattr(result, "one_ability_doubted", False)
    partial = bool((systems["n_responses"] < (result.items["n_responses"] > 0).sum()).any())
    sentence = systems_sentence(
        systems, result.model, doubted=doubted, partial=partial, draws=draws, seed=seed
    )
    return systems, sentence


def _held_out(
    result: FitResult,
    folds: int,
    models: Sequence[ModelName] | None,
    seed: int,
    *,
    progress: bool | None,
) -> pd.DataFrame | None:
    """Predictions of responses left out, where the responses are there."""
    responses = getattr(result, "responses", None)
    if folds == 0 or responses is None:
        return None
    refuse_sparse(responses, "compare_difficulties with folds above 0")
    if models is None:
        small = responses.n_respondents * responses.n_items <= _FEW_CELLS
        wanted = {"1PL", "2PL", *(["3PL"] if small else []), result.model} - {"Rasch"}
        models = [name for name in MODELS if name in wanted]
    return held_out_predictions(responses, models, folds=folds, seed=seed, progress=progress)


def _measures(items: pd.DataFrame, latent_sd: float, latent_mean: float) -> pd.DataFrame:
    """Items × measures; an item that nobody answered has no value, whatever a prior says."""
    table = items[["average_error"]].astype(float)
    parameters = items[_PARAMETERS].to_numpy(dtype=float)
    known = np.isfinite(parameters).all(axis=1)
    error = np.full(len(items), np.nan)
    error[known] = ItemParameters(*parameters[known].T).expected_error(latent_sd, latent_mean)
    table["expected_error"] = error
    rises = (items["discrimination"] > 0) & (items["status"] != "flat")
    table["difficulty"] = items["difficulty"].where(rises).astype(float)
    return table.mask(items["n_responses"] == 0)


def _quality(
    result: FitResult, metrics: object, higher_is_better: Mapping[str, bool] | Collection[str]
) -> tuple[pd.Series[float], dict[str, Any] | None] | None:
    """Score of the items by the metrics given, or else that of the result, and its settings."""
    if metrics is None:
        if "quality_standard" not in result.items.columns:
            return None
        settings = getattr(result, "settings", None)
        return result.items["quality_standard"], getattr(settings, "metrics", None)
    standard = metrics
    if not isinstance(standard, QualityStandard):
        responses = getattr(result, "responses", None)
        table = metric_table(as_metrics(metrics), responses)
        standard = quality_standard(table, higher_is_better)
    scores = standard.items.reindex(result.items.index)
    if scores.isna().all():
        raise ValueError(
            "metrics has a score for no item of result.items: its labels are others, such as "
            f"{short(standard.items.index[0])}, or all its metrics are constant"
        )
    return scores, standard.settings


def _add_quality_standard(
    table: pd.DataFrame, quality: tuple[pd.Series[float], dict[str, Any] | None] | None
) -> str:
    """Add the column ``quality_standard``, or say why it is left out."""
    if quality is None:
        return (
            "Kolena's score of right and wrong alone has the ranks of average_error; further "
            "metrics would bring in what else was measured."
        )
    scores, settings = quality
    sentence = f"{quality_sentence(np.asarray(scores, float), settings)}." if settings else ""
    both = table.assign(score=scores)[["average_error", "score"]].dropna()
    if both.empty:
        return sentence
    one, other = (levels(both[name]) for name in both)
    if np.array_equal(one, other):
        return (
            f"quality_standard has the ranks of average_error, and is left out. {sentence}".strip()
        )
    table["quality_standard"] = scores
    return sentence


def _pair(
    names: tuple[str, str], agreement: RankAgreement, n_left_out: int, seed: int
) -> dict[str, Any]:
    """Return one row of `DifficultyComparison.pairs`."""
    order = ranks(agreement.first), ranks(agreement.second)
    jittered = jittered_correlations(*order, runs=_JITTER_RUNS, jitter=_JITTER, seed=seed)
    return {
        "measure_1": names[0],
        "measure_2": names[1],
        "spearman": agreement.spearman,
        "spearman_low": agreement.spearman_low,
        "spearman_high": agreement.spearman_high,
        "kendall": agreement.kendall,
        "jitter_mean": jittered.mean(),
        "jitter_sd": jittered.std(ddof=1),
        "jitter_low": jittered.min(),
        "jitter_high": jittered.max(),
        "n_items": len(agreement.first),
        "n_left_out": n_left_out,
        "ties_1": n_tied(agreement.first),
        "ties_2": n_tied(agreement.second),
    }
