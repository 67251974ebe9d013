"""Two systems compared, or all pairs of them.

One pair is compared by the items that both answered (:mod:`irtkit.systems.paired`), as Miller
(2024) recommends, with what the same data would say unpaired; by the score on the whole benchmark,
as the leaderboard ranks them; and by ability, which serves as well where they answered different
items. All pairs are told apart by the rule of the leaderboard (:mod:`irtkit.systems.ranks`).

P(A better than B) is the posterior probability that A has the higher expected score on items like
these. A normal distribution of the true scores is learned from all systems of the board: its
variance 2τ² of a difference is what their differences exceed their errors by. With κ =
2τ²/(2τ² + SE²) the posterior of a difference d has mean κd and variance κSE², so that the
probability is that of d√κ/SE. Two or three systems teach no distribution, and κ is 1.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from irtkit.checks import check_number, check_seed, short
from irtkit.data.patterns import blocks
from irtkit.responses.labels import label_names
from irtkit.systems.comparison import SystemComparison
from irtkit.systems.leaderboard import standings
from irtkit.systems.paired import (
    Estimate,
    apart,
    correction,
    design_effect,
    items_needed,
    mean_of,
    t_quantile,
    tail,
)
from irtkit.systems.ranks import ranks_of
from irtkit.systems.standing import Shares, clusters_of, doubts_of

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array
    from irtkit.systems.paired import Clusters
    from irtkit.systems.standing import Standing


@overload
def compare_systems(
    result: FitResult,
    system: str,
    other: str,
    *,
    clusters: Any = ...,
    level: float = ...,
    seed: int = ...,
) -> SystemComparison: ...


@overload
def compare_systems(
    result: FitResult,
    system: None = ...,
    other: None = ...,
    *,
    clusters: Any = ...,
    level: float = ...,
    seed: int = ...,
) -> pd.DataFrame: ...


def compare_systems(
    result: FitResult,
    system: str | None = None,
    other: str | None = None,
    *,
    clusters: Any = None,
    level: float = 0.95,
    seed: int = 0,
) -> SystemComparison | pd.DataFrame:
    """Say whether one system is better than another, or of all pairs which can be told apart.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    system, other
        Labels of two respondents; without them all pairs are compared.
    clusters
        Cluster of each item, such as its passage or task: a mapping or Series by label, or the name
        of a column of the item table. By default items are independent of each other, and repeated
        trials of an item are one cluster.
    level
        Coverage of intervals, and one less the rate of errors among all pairs.
    seed
        Of the draws that tell how large the largest of many differences is by chance.

    Returns
    -------
    SystemComparison
        Of two systems: ``difference`` with ``low``, ``high`` and ``p_value`` by the items of both,
        ``p_better``, ``ability_difference`` and more; ``power`` of other numbers of items;
        ``items`` where they differ most.
    pandas.DataFrame
        Of all pairs, a row each, by rank: system (the one ahead on the leaderboard), other,
        n_items (of both), difference, se, low, high, p_value (each pair by itself, by the items of
        both), score_difference, score_se (on the whole benchmark), p_better, different (told apart
        by it, with a probability below 1 − ``level`` that any pair is called so the wrong way
        round, or though equal: the rule of the leaderboard), ability_difference, ability_se,
        items_needed. Labels are categories, which spares memory. Pairs whose responses nothing
        links are left out.

    Raises
    ------
    TypeError
        If result is no fit.
    ValueError
        If there is no such respondent, one is synthetic or has no response, nothing links the two,
        the result has no responses, or it has more than 10,000 systems.

    Warns
    -----
    UserWarning
        Where cells are missing and the fit has no standard errors of items: errors of scores take
        items as known.

    References
    ----------
    Miller (2024), *Adding error bars to evals*, arXiv 2411.00640.
    Romano & Wolf (2005), *Econometrica* 73, 1237-1282.

    Examples
    --------
    >>> import irtkit
    >>> items = irtkit.ItemParameters.from_difficulty([1.0] * 200, [k / 50 - 2 for k in range(200)])
    >>> abilities = [0.9, 0.2, 0.3, -1.0]
    >>> responses = irtkit.simulate_responses(items, abilities, seed=1).to_frame()
    >>> result = irtkit.fit(responses.set_axis(["gpt", "llama", "qwen", "tiny"]))
    >>> found = irtkit.compare_systems(result, "gpt", "llama")
    >>> print(found.sentence)
    gpt is ahead of llama: 10.00 percentage points more right on the 200 items of both,
    95% interval 1.38 to 18.62, p = 0.0232.
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
    cluster = clusters_of(result, clusters)
    table, parts = standings(result, cluster)
    for doubt in doubts_of(result, parts):
        warnings.warn(doubt, UserWarning, stacklevel=2)
    if system is None or other is None:
        return _all_pairs(result, table, parts, cluster, level=level, seed=seed)
    names = label_names([system, other], 2, "system")
    places = [_place(result, name) for name in names]
    part = next(part for part in parts if places[0] in part.places)
    if places[1] not in part.places:
        raise ValueError(
            f"system {short(names[0])} and {short(names[1])} are in parts of the matrix without "
            "a response in common, directly or through others: nothing tells how they compare"
        )
    return _pair(result, table, part, places, cluster, level=level)


def _place(result: FitResult, name: str) -> int:
    """Row of a respondent that can be compared."""
    from irtkit.checks import did_you_mean

    if name not in result.respondent_labels:
        raise ValueError(
            f"there is no respondent {short(name)}{did_you_mean(name, result.respondent_labels)}"
        )
    place = result.respondent_labels.index(name)
    if not result.patterns.real[place]:
        raise ValueError(f"respondent {short(name)} is synthetic")
    if not result.counts.respondent_responses[place]:
        raise ValueError(f"respondent {short(name)} has no response")
    return place


def _pair(
    result: FitResult,
    table: pd.DataFrame,
    part: Standing,
    places: list[int],
    cluster: Clusters | None,
    *,
    level: float,
) -> SystemComparison:
    shares = Shares.of(result.patterns.chosen(np.array(places)))
    rows = table.iloc[places]
    labels = [result.respondent_labels[place] for place in places]
    return SystemComparison(
        system=labels[0],
        other=labels[1],
        level=level,
        **_by_items(shares, cluster, level),
        **_by_score(
            part, [int(np.flatnonzero(part.places == place)[0]) for place in places], level
        ),
        **_by_ability(rows, level),
        items=_differing(result, shares, rows["ability"].to_numpy()),
        n_systems=len(part.scores),
    )


def _by_items(shares: Shares, cluster: Clusters | None, level: float) -> dict[str, Any]:
    """What the items say that two systems answered, both and each by itself."""
    seen, steps = shares.trials > 0, shares.steps
    both = seen.all(axis=0)
    paired = mean_of(
        (shares.right[0] - shares.right[1])[both], _chosen(cluster, both), step=float(steps.min())
    )
    own, effects = [], []
    for right, trials, some, step in zip(*shares, seen, steps, strict=True):
        own.append(mean_of(right[some], _chosen(cluster, some), step=step))
        effects.append(design_effect(right[some], trials[some], _chosen(cluster, some)))
    unpaired, n_items = apart(*own), int(both.sum())
    needed = items_needed(
        paired.se * n_items**0.5,
        paired.value,
        tail_probability=(1 - level) / 2,
        clusters_per_item=(paired.df + 1) / max(n_items, 1),
    )
    return {
        "n_items": n_items,
        "n_clusters": int(paired.df) + 1 if n_items else 0,
        "accuracy": mean_of(shares.right[0][both]).value,
        "other_accuracy": mean_of(shares.right[1][both]).value,
        "difference": paired.value,
        "se": paired.se,
        **_bounds("", paired, level),
        "p_value": paired.p_value,
        "unpaired_difference": unpaired.value,
        **_bounds("unpaired_", unpaired, level),
        "unpaired_p_value": unpaired.p_value,
        "design_effect": effects[0],
        "other_design_effect": effects[1],
        "items_needed": float(needed),
    }


def _by_score(part: Standing, two: list[int], level: float) -> dict[str, Any]:
    """What the scores on the whole benchmark say."""
    scores = part.estimates(two)
    variance, df = float(scores.variance(slice(0, 1))[0, 1]), float(scores.df.min())
    score = Estimate(float(scores.value[0] - scores.value[1]), variance**0.5, df)
    return {
        "score_difference": score.value,
        **_bounds("score_", score, level),
        "p_better": float(_p_better(score.value, variance, df, part.spread)),
    }


def _by_ability(rows: pd.DataFrame, level: float) -> dict[str, Any]:
    """What abilities say, whose errors are normal."""
    difference = float(-np.diff(rows["ability"])[0])
    ability = Estimate(difference, float(np.hypot(*rows["ability_se"])), np.inf)
    return {
        "ability_difference": difference,
        **_bounds("ability_", ability, level, most=np.inf),
        "ability_p_better": float(_p_better(difference, ability.se**2, np.inf, np.inf)),
    }


def _bounds(name: str, found: Estimate, level: float, most: float = 1.0) -> dict[str, float]:
    """Interval of an estimate, by name; differences of shares are 1 at most."""
    low, high = np.clip(found.interval(level), -most, most).tolist()
    return {f"{name}low": low, f"{name}high": high}


def _chosen(cluster: Clusters | None, which: Any) -> Clusters | None:
    return None if cluster is None else cluster[which]


def _p_better(difference: Any, variance: Any, df: Any, spread: float) -> Any:
    """Posterior probability that a difference is above 0; ``spread`` is the prior variance."""
    kept = 1.0 if np.isinf(spread) else spread / (spread + variance)
    t = np.divide(
        difference * np.sqrt(kept),
        np.sqrt(variance),
        out=np.zeros_like(np.asarray(difference, dtype=np.float64)),
        where=np.asarray(variance) > 0,
    )
    return np.where(t > 0, 1 - tail(df, t), tail(df, t))


def _differing(result: FitResult, shares: Shares, ability: Array) -> pd.DataFrame:
    """Items of both, the least expected difference first."""
    import pandas as pd

    both = (shares.trials > 0).all(axis=0)
    right, p = shares.right[:, both], result.parameters.probability(ability)[:, both]
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


def _all_pairs(
    result: FitResult,
    table: pd.DataFrame,
    parts: list[Standing],
    cluster: Clusters | None,
    *,
    level: float,
    seed: int,
) -> pd.DataFrame:
    """A row for every pair that responses link."""
    import pandas as pd

    found = [_pairs_of(result, table, part, cluster, level=level, seed=seed) for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([one[name] for one in found]) for name in found[0]
    }
    labels = pd.Index(result.respondent_labels)
    for name in ("system", "other"):
        columns[name] = pd.Categorical.from_codes(columns[name], labels)
    return pd.DataFrame(columns)


def _pairs_of(
    result: FitResult,
    table: pd.DataFrame,
    part: Standing,
    cluster: Clusters | None,
    *,
    level: float,
    seed: int,
) -> dict[str, Any]:
    """Columns of the pairs of one component, the better one first."""
    ability, error = (table[name].to_numpy()[part.places] for name in ("ability", "ability_se"))
    scores, order, spread = part.estimates(), part.order, part.spread
    different = ranks_of(scores, level=level, seed=seed).apart
    common = None
    if not result.patterns.complete:
        common = _Common.of(Shares.of(result.patterns.chosen(part.places[order])), cluster)
    n, parts = len(order), []
    for rows in blocks(n, n, 2**20):
        own = np.arange(n)[rows]
        one, other = np.nonzero(np.arange(n) > own[:, None])
        first, second = order[own[one]], order[other]
        variance = scores.variance(order[rows])[one, second]
        difference = part.scores[first] - part.scores[second]
        df = np.minimum(part.df[first], part.df[second])
        if common is None:
            n_items = np.full(len(df), len(result.item_labels))
            paired = _paired(n_items, difference, variance, df, level)
        else:
            paired = common.pairs(rows, one, other, level)
        parts.append(
            {
                "system": part.places[first],
                "other": part.places[second],
                **paired,
                "score_difference": difference,
                "score_se": np.sqrt(variance),
                "p_better": _p_better(difference, variance, df, spread),
                "different": different[first, second],
                "ability_difference": ability[first] - ability[second],
                "ability_se": np.hypot(error[first], error[second]),
            }
        )
    columns = {name: np.concatenate([some[name] for some in parts]) for name in parts[0]}
    needed = items_needed(
        columns["se"] * np.sqrt(columns["n_items"]),
        columns["difference"],
        tail_probability=(1 - level) / 2,
        clusters_per_item=(columns.pop("df") + 1) / np.maximum(columns["n_items"], 1),
    )
    return {**columns, "items_needed": needed}


def _paired(n_items: Any, difference: Array, variance: Array, df: Array, level: float) -> Any:
    """Paired differences with their intervals."""
    se, reach = np.sqrt(variance), t_quantile(df, level)
    p_value = np.where(np.isnan(se), np.nan, 2 * tail(df, np.nan_to_num(difference / se)))
    return {
        "n_items": n_items,
        "difference": difference,
        "se": se,
        "low": np.maximum(difference - reach * se, -1.0),
        "high": np.minimum(difference + reach * se, 1.0),
        "p_value": p_value,
        "df": df,
    }


@dataclass(frozen=True)
class _Common:
    """Shares right of systems, and the clusters of items, for what is common to pairs."""

    shares: Shares
    cluster: Any
    """Items by cluster, one array each; None if each is its own."""

    @classmethod
    def of(cls, shares: Shares, cluster: Clusters | None) -> _Common:
        if cluster is None:
            return cls(shares, None)
        order = np.argsort(cluster, kind="stable")
        return cls(shares, np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1))

    def pairs(self, rows: slice, one: Any, other: Any, level: float) -> Any:
        """Paired differences of some systems with others, each by the items of both."""
        n, n_clusters, total, squares = (part[one, other] for part in self._sums(rows))
        some = n > 0
        difference = np.divide(total, n, out=np.full(len(n), np.nan), where=some)
        steps = self.shares.steps
        least = np.minimum(steps[rows][one], steps[other]) ** 2
        variance = np.maximum(squares, least) * correction(n_clusters)
        variance = np.divide(variance, n**2, out=np.full(len(n), np.nan), where=some)
        return _paired(n.astype(np.int64), difference, variance, n_clusters - 1, level)

    def _sums(self, rows: slice) -> tuple[Array, Array, Array, Array]:
        """Items, clusters, sum of differences, and Σ e_g² of some systems (rows) with all."""
        right, seen = self.shares.right, (self.shares.trials > 0).astype(np.float64)
        n = seen[rows] @ seen.T
        total = right[rows] @ seen.T - seen[rows] @ right.T
        mean = total / np.maximum(n, 1)
        if self.cluster is None:
            of_squares = (right[rows] ** 2) @ seen.T + seen[rows] @ (right**2).T
            squares = of_squares - 2 * right[rows] @ right.T - mean * total
            return n, n, total, np.maximum(squares, 0)
        n_clusters, squares = np.zeros_like(n), np.zeros_like(n)
        for items in self.cluster:
            met = seen[rows][:, items] @ seen[:, items].T
            apart_by = right[rows][:, items] @ seen[:, items].T
            apart_by -= seen[rows][:, items] @ right[:, items].T
            n_clusters += met > 0
            squares += (apart_by - mean * met) ** 2
        return n, n_clusters, total, squares
