"""Measures of difficulty side by side, and whether they put the items in the same order.

- ``average_error``: proportion of the real respondents that got the item wrong
- ``expected_error``: the average error that the model expects of its population, comparable for all
  slopes, guessing and missing responses
- ``difficulty``: location b, the ability at which the response curve turns. Flat items and items
  with a slope below 0 are not in this order
- ``quality_standard``: Kolena's score by further metrics, if the result has it.

With a 1PL or Rasch model and complete data the first three orders are the same.

Two systems change places if the one with fewer right answers has the higher ability, and the 99 %
interval of their difference is above 0. Errors of abilities contain those of the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.summary import quality_finding
from irtkit.data.patterns import blocks
from irtkit.difficulty.held_out import BASE, held_out_predictions
from irtkit.difficulty.rank_agreement import levels, n_tied, rank_agreement, same_order
from irtkit.findings import LEGENDS, Finding
from irtkit.fitting import result_for
from irtkit.irf import MODELS, OF_LEVELS, Z95
from irtkit.printed import Printed, Shown
from irtkit.responses import item_texts
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from irtkit.calibration import FitResult
    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.irf import ModelName

_FEW_CELLS = 100_000  # Cells up to which the 3PL, three times as slow as the 2PL, is compared.
_LARGE_MOVE = 0.1  # Change of rank, as a proportion of the items, of the items that are named.
_NAMED, _SHOWN = 3, 6  # Items and systems in a message, and systems in the printed table.
_Z99 = 2.576  # Normal quantile of intervals of differences of abilities.

_PAIRS = ["measure_1", "measure_2", "spearman", "spearman_low", "spearman_high", "kendall"]
_HELD_OUT = ["log_likelihood", "accuracy", "gain", "gain_low", "gain_high"]
_SYSTEMS = ["accuracy", "rank_by_accuracy", "ability", "ability_low", "ability_high"]
_SYSTEMS += ["rank_by_ability", "passes", "passed_by"]


@dataclass(frozen=True, eq=False)
class DifficultyComparison(Printed):
    """Measures of difficulty and how far their orders agree, made by `compare_difficulties`."""

    table: pd.DataFrame
    """Index ``item``, a column per measure (higher = harder, NaN without a value), then ``text``
    and ``target`` of the items, if the responses have them."""
    pairs: pd.DataFrame
    """A row per pair of measures: ``measure_1``, ``measure_2``, ``spearman`` with its 95 % interval
    ``spearman_low``, ``spearman_high`` over items like these, and ``kendall`` (τ-b). Then
    ``n_items`` compared and ``n_left_out`` for lack of a value, and ``ties_1``, ``ties_2``, items
    that share their value with another."""
    findings: tuple[Finding, ...]
    """What the comparison found, and the findings of the fit."""
    held_out: pd.DataFrame | None
    """The table of `held_out_predictions`, or None if nothing was held out."""
    systems: pd.DataFrame | None
    """Index ``respondent``, highest ability first: ``accuracy`` and ``rank_by_accuracy`` (1 is
    best, equal for equal values), ``ability`` with its 95 % interval ``ability_low``,
    ``ability_high``, and ``rank_by_ability``. ``passes`` are systems with more right answers and
    significantly lower ability, and ``passed_by`` the reverse. Then ``n_responses``. None if
    abilities cannot be compared."""
    model: str

    @property
    def summary(self) -> list[str]:
        """The findings as messages."""
        return [str(finding) for finding in self.findings]

    def __repr__(self) -> str:
        measures = ", ".join(dict.fromkeys([*self.pairs["measure_1"], *self.pairs["measure_2"]]))
        return f"DifficultyComparison({len(self.table)} items, {self.model}: {measures})"

    def shown(self) -> Shown:
        """Return how far the orders of the measures agree, and what the comparison found."""
        title = f"Difficulty of {len(self.table)} items, {self.model}"
        measures = ("average_error", "expected_error", "difficulty", "quality_standard")
        names = [*(name for name in measures if name in self.table), "correlations"]
        pairs = self.pairs[_PAIRS].set_index("measure_1").rename(columns=_short)
        further = []
        if self.held_out is not None:
            predicted = self.held_out[_HELD_OUT].rename(columns=_short)
            further.append(Shown("Held-out responses, predicted", predicted, [LEGENDS["held_out"]]))
        if self.systems is not None:
            moved = most_moved(self.systems, _SHOWN)[_SYSTEMS]
            legend = [LEGENDS["passes"]]
            title_of_systems = (
                f"{len(moved)} of {len(self.systems):,} systems, by accuracy and ability"
            )
            further.append(Shown(title_of_systems, moved, legend))
        further.append(Shown(findings=self.findings))
        return Shown(title, pairs, [LEGENDS[name] for name in names], further=further)


def _short(name: str) -> str:
    """Name of a column as it is printed."""
    return name.rpartition("_")[2] if name.endswith(("_low", "_high")) else name


@one_thread()
def compare_difficulties(
    result: FitResult,
    *,
    folds: int = 5,
    models: Sequence[ModelName] | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> DifficultyComparison:
    """Compare average error, difficulty and expected error as orders of the items.

    Parameters
    ----------
    result : FitResult
        After :meth:`irtkit.FitResult.with_quality_standard`, also with Kolena's score. With several
        abilities the difficulty of an item is along what it measures: −intercept / norm of slopes
        (MDIFF, ``result.items``), and systems are not ranked by ability.
    folds : int, default 5
        Parts of the responses that are predicted from the others, by average error (as the 1PL) and
        by the models. Every model is fitted once per fold. 0 leaves the predictions out.
    models : list of str, optional
        Models to predict with. By default the 2PL, the model of the result, and up to 100,000 cells
        the 3PL.
    seed : int, default 0
        Seed of the folds, which depend on the order of rows and columns.
    progress : bool, optional
        Whether to show progress. The default is to show it on a terminal and in a notebook.

    Returns
    -------
    DifficultyComparison
        `table`, `pairs`, `held_out`, `systems` and `findings`. Items with an infinite difficulty
        rank first or last. Items without a value are left out of a pair and counted.

    Raises
    ------
    TypeError
        If ``result`` is not a fit.
    ValueError
        If `folds` or `seed` is not a whole number in range, a model is unknown, or `folds` is above
        0 and the responses are sparse.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 4, [-1.0, -0.3, 0.3, 1.0])
    >>> abilities = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] * 20
    >>> result = irtkit.fit(irtkit.simulate_responses(items, abilities), "1PL")
    >>> irtkit.compare_difficulties(result, folds=0).pairs["spearman"].tolist()
    [1.0, 1.0, 1.0]
    """
    result = result_for("compare_difficulties", result)
    table, findings = measures(result.items)
    if result.quality_standard is not None and (settings := result.settings.metrics):
        findings.append(quality_finding(result.quality_standard, settings))
    pairs, of_orders = orders(table)
    held_out = systems = None
    n_items = int((result.items["n_responses"] > 0).sum())
    if folds and result.responses is not None:
        varied = result.items["average_error"].between(0, 1, inclusive="neither")
        if min(result.n_answering, n_items) < 2 or not varied.any():
            findings.append(Finding("nothing-predicted", "note"))
        else:
            if models is None:
                wanted = {"2PL", result.model}
                if len(result.respondent_labels) * len(result.item_labels) <= _FEW_CELLS:
                    wanted.add("3PL")
                wanted -= {"Rasch", BASE, *OF_LEVELS}
                models = [name for name in MODELS if name in wanted]
            held_out = held_out_predictions(
                result.responses, models, folds=folds, seed=seed, progress=progress
            )
            findings += of_predictions(held_out, result.near_duplicates)
    if result.components is not None or result.at_chance or "ability" not in result.respondents:
        findings.append(Finding("not-ranked", "note"))
    else:
        systems = ranked_systems(result.respondents, result.near_duplicates)
        findings += of_ranks(systems)
    texts = None if result.responses is None else item_texts(result.responses)
    return DifficultyComparison(
        table=table if texts is None else table.join(texts),
        pairs=pairs,
        findings=(*of_orders, *findings, *result.findings),
        held_out=held_out,
        systems=systems,
        model=result.model,
    )


def measures(items: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """Items × measures, NaN without a response, and what was left out."""
    table = items[["average_error", "expected_error"]].astype(float)
    rises = (items["discrimination"] > 0) & (items["status"] != "flat")
    table["difficulty"] = items["difficulty"].where(rises).astype(float)
    table = table.mask(items["n_responses"] == 0)
    findings = []
    if n := int((table["difficulty"].isna() & table["average_error"].notna()).sum()):
        findings.append(Finding("no-difficulty", "note", {"n": n, "of": len(table)}))
    if "quality_standard" in items:
        compared = items[["average_error", "quality_standard"]].dropna()
        by_error = levels(compared["average_error"])
        by_quality = levels(compared["quality_standard"])
        if not np.array_equal(by_error, by_quality):
            table["quality_standard"] = items["quality_standard"]
        elif len(compared):
            findings.append(Finding("same-quality", "note"))
    return table, findings


def orders(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """`DifficultyComparison.pairs`, and how the orders differ from the order by average error."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    findings = []
    for names in combinations(table.columns, 2):
        values = table[list(names)].dropna()
        x, y = (levels(values[name]) for name in names)
        agreement = rank_agreement(x, y)
        pair = {"measure_1": names[0], "measure_2": names[1], **agreement._asdict()}
        counts = {
            "n_items": len(values),
            "n_left_out": len(table) - len(values),
            "ties_1": n_tied(x),
            "ties_2": n_tied(y),
        }
        rows.append(pair | counts)
        if names[0] != "average_error":
            continue
        code = "order-changed"
        if np.isnan(agreement.spearman):
            code = "no-order"
        elif same_order(x, y):
            code = "same-order"
        else:
            ranks = values.rank(method="average")
            moves = ranks.diff(axis=1).iloc[:, 1].abs()
            largest = moves[moves > _LARGE_MOVE * len(values)].sort_values(ascending=False)
            items = [str(name) for name in largest.index[:_NAMED]]
            pair |= {"n": len(values), "moved": len(largest), "items": items}
        findings.append(Finding(code, "note", pair))
    return pd.DataFrame(rows), findings


def of_predictions(
    held_out: pd.DataFrame, duplicates: NearDuplicates | None = None
) -> list[Finding]:
    """Whether a model predicts better than average error, by simultaneous intervals of gains."""
    models = held_out.drop(BASE)
    if models["gain_low"].isna().all():
        return []
    sure = models[models["gain_low"] > 0]
    best = (models if sure.empty else sure).sort_values("gain").iloc[-1]
    values = {
        "model": best.name,
        **{name: float(best[name]) for name in ("gain", "gain_low", "gain_high", "accuracy")},
        "usual": float(held_out["accuracy"][BASE]),
    }
    if sure.empty:
        code = "predicts-worse" if best["gain_high"] < 0 else "predicts-alike"
        return [Finding(code, "note", values)]
    if duplicates is not None and duplicates.matter:
        values |= {"n": duplicates.n, "effective": round(duplicates.n_eff)}
    return [Finding("predicts-better", "note", values)]


def ranked_systems(respondents: pd.DataFrame, duplicates: NearDuplicates | None) -> pd.DataFrame:
    """`DifficultyComparison.systems`: real respondents with responses, ranked twice."""
    table = respondents[~respondents["synthetic"] & (respondents["n_responses"] > 0)]
    accuracy = table["accuracy"].to_numpy(dtype=np.float64)
    ability = table["ability"].to_numpy(dtype=np.float64)
    reach = Z95 * table["ability_se"].to_numpy(dtype=np.float64)
    error = table["board_se"].to_numpy(dtype=np.float64)
    least = (error * errors_needed(duplicates)) ** 2
    passes = np.zeros(len(ability), dtype=np.intp)
    passed_by = np.zeros(len(ability), dtype=np.intp)
    for block in blocks(len(ability), len(ability)):
        lead = np.maximum(ability[block, None] - ability, 0)
        is_abler = lead**2 > least[block, None] + least
        passed = is_abler & (accuracy[block, None] < accuracy)
        passes[block] = passed.sum(axis=1)
        passed_by += passed.sum(axis=0)
    ranked = table[["accuracy"]].assign(
        rank_by_accuracy=_from_best(accuracy),
        ability=ability,
        ability_low=ability - reach,
        ability_high=ability + reach,
        rank_by_ability=_from_best(ability),
        passes=passes,
        passed_by=passed_by,
        n_responses=table["n_responses"],
    )
    return ranked.sort_values("rank_by_ability", kind="stable")


def _from_best(values: Any) -> Any:
    from scipy.stats import rankdata

    return rankdata(levels(-values), method="min").astype(np.intp)


def errors_needed(duplicates: NearDuplicates | None) -> float:
    """Standard errors of a difference at which two abilities differ significantly.

    If n systems answer like m independent ones, standard errors are √(n/m) times as large, and the
    interval uses Student's t with m − 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    if duplicates is None:
        return _Z99
    independent = max(duplicates.n_eff, 2.0)
    effect = max(duplicates.n / independent, 1.0)
    return float(np.sqrt(effect) * stdtrit(independent - 1, 0.995))


def of_ranks(systems: pd.DataFrame) -> list[Finding]:
    """Whether systems change places significantly."""
    agreement = rank_agreement(*(levels(systems[name]) for name in ("accuracy", "ability")))
    if len(systems) < 2 or np.isnan(agreement.spearman):
        return []
    values: dict[str, Any] = agreement._asdict()
    pairs = int(systems["passes"].sum())
    if not pairs:
        return [Finding("same-places", "note", values)]
    values |= {"n": pairs, "systems": [str(label) for label in most_moved(systems, _NAMED).index]}
    return [Finding("places-changed", "note", values)]


def most_moved(systems: pd.DataFrame, n: int) -> pd.DataFrame:
    """Systems that change places with most others, or else the systems of the highest ability."""
    moves = systems["passes"] + systems["passed_by"]
    if not moves.any():
        return systems.head(n)
    chosen = moves[moves > 0].sort_values(ascending=False, kind="stable").index[:n]
    return systems[systems.index.isin(chosen)]
