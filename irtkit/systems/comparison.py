"""All pairs of systems compared, or one of them.

A pair is compared on the items that both answered (:mod:`irtkit.systems.paired`), as Miller (2024)
recommends, and by the score on the whole benchmark, as the leaderboard ranks it.

P(better) is the posterior probability that the first has the higher score on items like these. The
prior variance 2τ² of a difference is learned from all systems of the board. With κ = 2τ²/(2τ² +
SE²), the posterior of a difference d has mean κd and variance κSE². For up to three systems κ is 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.checks import check_number, check_seed, did_you_mean, short
from irtkit.findings import warn
from irtkit.fitting import result_for
from irtkit.printed import Printed, Shown, shortened
from irtkit.responses.labels import label_names
from irtkit.systems.paired import Estimate, items_needed, power_of
from irtkit.systems.ranks import pairs_apart
from irtkit.systems.scores import (
    Shares,
    answers_by_component,
    clusters_of,
    limits_of,
    scores_of,
    shared_errors,
    shared_variances,
    table_of_scores,
)
from irtkit.systems.tasks import Tasks, compared_by_task
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters
    from irtkit.systems.scores import Answers, Scores

_MOST_PAIRS = 1_000_000  # Rows of a table, which take about a second.


@dataclass(frozen=True, eq=False)
class SystemComparison(Printed):
    """Two systems compared by :func:`irtkit.compare_systems`: a row of the table of all pairs.

    Differences are the first system less the second. Intervals have the coverage ``level``.
    """

    system: str
    other: str
    n_items: int  #: Items that both answered.
    difference: float  #: In accuracy on these items, equally weighted. NaN without a common item.
    se: float  #: Clustered by item or by the clusters given.
    low: float
    high: float
    p_value: float  #: Two-sided, of Student's t with a degree of freedom less than clusters.
    score_difference: float  #: In the expected scores by which the leaderboard ranks.
    score_low: float
    score_high: float
    p_better: float  #: Probability that the first has the higher score on items like these.
    items_needed: float  #: Items like these that would show such a difference with 80 % power.
    shared_se: float  #: Part of ``se`` that more items do not reduce: errors of judges' severities.
    level: float
    n_clusters: int  #: Clusters of the common items. Each item is one if no clusters were given.
    n_systems: int  #: Systems on the board of both.
    items: pd.DataFrame = field(repr=False)
    """Index "item": accuracy of both ("accuracy", "other_accuracy"), their difference and the
    difference that the model expects. The least expected differences come first."""

    def power(self, n_items: Any, difference: Any = None) -> Any:
        """Probability that a number of items like these shows a difference.

        ``difference`` is the true one, by default the one found. Two-sided, at 1 − ``level``.
        """
        power = power_of(
            n_items,
            self.difference if difference is None else difference,
            np.sqrt((self.se**2 - self.shared_se**2) * self.n_items),
            level=self.level,
            clusters_per_item=self.n_clusters / max(self.n_items, 1),
            shared=self.shared_se**2,
        )
        return float(power) if np.ndim(power) == 0 else power

    def __repr__(self) -> str:
        names = f"{shortened(self.system)}, {shortened(self.other)}"
        return f"SystemComparison({names}: {self.difference:+.4f} on {self.n_items} items)"

    def shown(self) -> Shown:
        """Return the comparison in words, and the items on which the systems differ most."""
        from irtkit.systems.printed import comparison_shown

        return comparison_shown(self)


@one_thread()
def compare_systems(
    result: object,
    system: str | None = None,
    other: str | None = None,
    *,
    systems: Any = None,
    by: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> Any:
    """Compare two systems, or all pairs of systems.

    Parameters
    ----------
    result : FitResult, or responses
        What :func:`irtkit.fit` returned, with its responses. Responses are fitted first.
    system, other : str, optional
        Labels of two respondents. Without them all pairs are compared.
    systems : list of str, optional
        Labels of the respondents whose pairs (at most 1,000,000) are listed. All by default.
    by : str, mapping or Series, optional
        Task of each item, as in :func:`irtkit.leaderboard`, to compare two systems by task.
    clusters : mapping, Series or str, optional
        As in :func:`irtkit.leaderboard`.
    level : float, default 0.95
        Coverage of intervals, and one less the rate of errors among all pairs.
    seed : int, default 0
        As in :func:`irtkit.leaderboard`.

    Returns
    -------
    SystemComparison or pandas.DataFrame
        Two systems compared, or a row for every pair by rank. The columns of the table are the
        fields of a SystemComparison from system (ahead on the leaderboard) to items_needed, and
        different: significant among all pairs of the board (see Notes). Pairs without a link are
        left out. With ``by`` a table with the index "task": n_items, difference, se, low, high and
        p_value of "average", the mean over the tasks that both answered, and of each of them.

    Raises
    ------
    TypeError, ValueError
        If a respondent is unknown, synthetic or without a response, nothing links two systems,
        there are more than 10,000 systems, or ``by`` is given without two systems.

    Warns
    -----
    irtkit.IRTWarning
        With the code "items-taken-as-known": cells are missing, and standard errors of items too.

    Notes
    -----
    difference to p_value are about each pair by itself, as if chosen before looking. With a
    probability of at least ``level``, all pairs called different are so, in this direction.

    References
    ----------
    Miller (2024), *Adding error bars to evals*, arXiv 2411.00640.
    Romano & Wolf (2005), *Econometrica* 73, 1237-1282.

    See Also
    --------
    irtkit.FitResult.leaderboard, irtkit.gate

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 200, [k / 50 - 2 for k in range(200)])
    >>> abilities = [0.9, 0.2, 0.3, -1.0]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1).to_frame()
    >>> result = irtkit.fit(responses.set_axis(["gpt", "llama", "qwen", "tiny"]))
    >>> found = irtkit.compare_systems(result, "gpt", "llama")
    >>> print(round(found.difference, 4), round(found.low, 4), round(found.p_value, 4))
    0.1 0.0138 0.0232
    >>> irtkit.compare_systems(result)[["system", "other", "difference", "different"]].head(4)
      system  other  difference  different
    0    gpt  llama       0.100       True
    1    gpt   qwen       0.130       True
    2    gpt   tiny       0.345       True
    3  llama   qwen       0.030      False
    """
    check_seed(seed)
    level = check_number("level", level, above=0, below=1)
    if (system is None) != (other is None):
        raise ValueError("system and other must both be given, or neither")
    if by is not None and system is None:
        raise ValueError("by needs two systems: give system and other")
    result = result_for("compare_systems", result)
    cluster = clusters_of(result, clusters)
    parts = answers_by_component(result, table_of_scores(result))
    if system is None or other is None:
        chosen = result.patterns.answering
        if systems is not None:
            chosen = np.zeros_like(chosen)
            names = label_names(systems, len(systems), "system")
            chosen[_places(result, names)] = True
        compared: Any = _all_pairs(result, parts, chosen, cluster, level, seed)
    else:
        names = label_names([system, other], 2, "system")
        places = _places(result, names)
        part = next(part for part in parts if places[0] in part.places)
        if places[1] not in part.places:
            raise ValueError(
                f"systems {short(names[0])} and {short(names[1])} cannot be compared: they share "
                "no items, directly or through other systems"
            )
        shares = _shares(result, places)
        if by is not None:
            return compared_by_task(shares, cluster, Tasks.of(result, by), level)
        scores = scores_of(part, cluster)
        order = np.concatenate([np.flatnonzero(scores.places == place) for place in places])
        columns = _columns(result, scores, order, cluster, level)
        row: dict[str, Any] = {name: values[0].item() for name, values in columns.items()}
        compared = SystemComparison(
            system=names[0],
            other=names[1],
            items=_differing(result, places, shares),
            level=level,
            n_systems=len(part.places),
            **row,
        )
    for finding in limits_of(result, parts):
        warn(finding)
    return compared


def _shares(result: FitResult, places: Any) -> Shares:
    """Accuracies of systems, with the errors that these share."""
    shares = Shares.of(result.patterns, places)
    return shares._replace(shared=shared_errors(result, places))


def _places(result: FitResult, names: Iterable[str]) -> NDArray[np.intp]:
    """Rows of respondents that can be compared."""
    place = {label: k for k, label in enumerate(result.respondent_labels)}
    for name in names:
        if name not in place:
            raise ValueError(
                f"{short(name)} is no system of the result{did_you_mean(name, [*place])}"
            )
        if not result.patterns.real[place[name]]:
            raise ValueError(f"{short(name)} is a synthetic respondent")
        if not result.patterns.answering[place[name]]:
            raise ValueError(f"system {short(name)} lacks responses")
    return np.array([place[name] for name in names], dtype=np.intp)


def _all_pairs(
    result: FitResult,
    parts: list[Answers],
    chosen: NDArray[np.bool_],
    cluster: Clusters | None,
    level: float,
    seed: int,
) -> pd.DataFrame:
    """A row for every pair of chosen systems that responses link, the better one first."""
    import pandas as pd

    from irtkit.frames import Scored, ShownFrame
    from irtkit.systems.printed import pairs_shown

    n_systems = int(chosen.sum())
    n_pairs = n_systems * (n_systems - 1) // 2
    if n_pairs > _MOST_PAIRS:
        raise ValueError(
            f"a table has at most {_MOST_PAIRS:,} pairs, and {n_systems:,} systems make "
            f"{n_pairs:,}. Name those to compare"
        )
    labels = pd.Index(result.respondent_labels)
    tables = []
    for part in parts:
        scores = scores_of(part, cluster)
        order = np.flatnonzero(chosen[scores.places])
        places = np.triu_indices(len(order), 1)
        first, second = (order[end] for end in places)
        pairs = {
            "system": pd.Categorical.from_codes(scores.places[first], labels),
            "other": pd.Categorical.from_codes(scores.places[second], labels),
        }
        columns = _columns(result, scores, order, cluster, level)
        del columns["n_clusters"], columns["shared_se"]
        different = pairs_apart(scores, order, level=level, seed=seed)[places]
        tables.append(pd.DataFrame({**pairs, **columns, "different": different}))
    pairs_of_all = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    return ShownFrame.of(Scored(pairs_of_all, level, pairs_shown))


def _columns(
    result: FitResult,
    scores: Scores,
    order: Any,
    cluster: Clusters | None,
    level: float,
) -> dict[str, Array]:
    """Columns of all pairs of some systems, in this order of systems."""
    pairs = np.triu_indices(len(order), 1)
    of_scores = scores.chosen(order).differences(pairs)
    score_low, score_high = of_scores.interval(level)
    n_items = np.full(len(of_scores.df), len(result.item_labels))
    difference = of_scores
    if not result.patterns.complete:
        shares = _shares(result, scores.places[order])
        n_common, in_common = shares.differences(cluster)
        n_items = n_common[pairs]
        difference = Estimate(*(values[pairs] for values in in_common))
    n_clusters = difference.df.astype(np.int64) + 1
    shared = shared_variances(shared_errors(result, scores.places[order]))[pairs]
    shared = np.minimum(shared, difference.se**2)
    return {
        "n_items": n_items,
        **difference.columns(level),
        "score_difference": of_scores.value,
        "score_low": score_low,
        "score_high": score_high,
        "p_better": scores.p_better(of_scores),
        "items_needed": items_needed(
            np.sqrt((difference.se**2 - shared) * n_items),
            difference.value,
            tail_probability=(1 - level) / 2,
            clusters_per_item=n_clusters / np.maximum(n_items, 1),
            shared=shared,
        ),
        "shared_se": np.sqrt(shared),
        "n_clusters": n_clusters,
    }


def _differing(result: FitResult, places: NDArray[np.intp], shares: Shares) -> pd.DataFrame:
    """Items of both, the least expected difference first."""
    import pandas as pd

    both = (shares.trials > 0).all(axis=0)
    p = result.expected(places, both)
    right = shares.right[:, both]
    columns = {
        "accuracy": right[0],
        "other_accuracy": right[1],
        "difference": right[0] - right[1],
        "expected_difference": p[0] - p[1],
    }
    labels = np.array(result.item_labels, dtype=object)[both]
    table = pd.DataFrame(columns, index=pd.Index(labels, name="item"))
    unlike = (table["difference"] - table["expected_difference"]).abs()
    return table.iloc[np.argsort(-unlike.to_numpy(), kind="stable")]
