"""Fit of items and respondents: infit, outfit, S-X² and lz.

Infit and outfit compare responses with P at the fitted abilities. S-X² compares the proportion
correct at equal total scores with its expectation (Orlando & Thissen 2000). Let S_k(θ) be the
probability of k right answers (Lord & Wingersky 1984), and S⁽ʲ⁾ the same without item j. Then

    E_jk = ∫ P_j(θ) S⁽ʲ⁾_{k−1}(θ) φ(θ) dθ / ∫ S_k(θ) φ(θ) dθ.

S⁽ʲ⁾ comes from S by undoing one step of the recursion, S_k = (1 − P_j) S⁽ʲ⁾_k + P_j S⁽ʲ⁾_{k−1},
upwards where P_j ≤ ½, else downwards. For many items the saddlepoint approximation takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.patterns import blocks
from irtkit.data.slopes import false_discovery
from irtkit.diagnostics.fitted import Fitted, fitted, rise_by_logit
from irtkit.fitting import refitted, result_for
from irtkit.irf import logistic, outer, softplus
from irtkit.responses import ResponseMatrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import Array, ItemParameters, ModelName

_PARAMETERS = {"Rasch": 1, "1PL": 1, "2PL": 2, "3PL": 3}
_LEAST = 1e-12  # Least distance of a probability from 0 and 1, and least divisor.


@dataclass(frozen=True)
class _Tuned:
    """What p-values of items and respondents rest on (``benchmarks/model_tests.py``)."""

    # Right, and wrong, responses expected in a group. Others are joined.
    least_expected: float = 1.0
    most_scores: int = 100  # Scores that are groups of their own,
    groups: int = 20  # and groups of more scores.
    as_bad: float = 0.5  # Share of the largest excess of S-X²/df with which an item is left out.
    least_respondents: int = 30  # For p-values: with 20, 9 % are below 0.05.
    # From them on the saddlepoint, off by 5e-5 at most: recursion takes n² steps.
    many_items: int = 250
    most_knots: int = 64  # Scores at which it is computed. Splines of logits lie between.
    steps: int = 12  # Newton steps for a saddlepoint,
    most_tilt: float = 10.0  # and how far it may lie.
    # Least distance of lz from the mean: the formula for the tail is 0/0 there.
    nearest: float = 0.02


_TUNED = _Tuned()


def item_fit(result: FitResult) -> pd.DataFrame:
    """Test how well each item's curve fits its responses.

    Parameters
    ----------
    result : FitResult
        A result of :func:`irtkit.fit` with its responses. Synthetic respondents are left out.

    Returns
    -------
    pandas.DataFrame
        One row per item, index "item", in the order of the result:

        - infit, outfit: mean squares of residuals at the fitted abilities (EAP),
          Σ(y − P)² / ΣP(1 − P) and the mean of (y − P)² / P(1 − P). Above 1 responses are noisier
          than the model, below 1 more regular.
        - infit_z, outfit_z: their Wilson–Hilferty cube-root transforms. Use them to rank items, not
          as standard normal statistics.
        - s_x2, df: S-X² and its degrees of freedom, from respondents who answered every item.
        - p_value: probability of this S-X² or a larger one if the model holds.
        - q_value: false-discovery rate (Benjamini & Hochberg).
        - status: "ok", "too few respondents" (fewer than 30 with complete answers, or no degree of
          freedom), "missing responses" (fewer than half answered all items) or "no responses". The
          p-value is NaN unless the status is "ok".

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult, or its responses are not saved, sparse or repeated.

    Notes
    -----
    EAP abilities use the item's own response, so that infit and outfit are below 1 if the model
    holds, the more the fewer items there are.

    Groups of equal scores with less than one expected right or wrong response are joined with a
    neighbour, and more than 100 different scores to 20 groups first. A common slope takes off 1/J
    degrees of freedom (R's mirt: 1). Near-duplicate respondents enter with their effective number.

    With several abilities P is given all of them, and S-X² integrates over their distribution.
    Items that fit very badly make others look bad. ``flag_items(result, poor_fit=True)`` leaves
    them out. If responses are not unidimensional, good items may fit badly.

    References
    ----------
    Wright & Masters (1982), *Rating Scale Analysis*: infit and outfit.
    Orlando & Thissen (2000), *Applied Psychological Measurement* 24, 50–64: S-X².

    See Also
    --------
    irtkit.model_fit, irtkit.flag_items

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(20), np.linspace(-2, 2, 20))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-3, 3, 1000), seed=1)
    >>> fit = irtkit.item_fit(irtkit.fit(responses, "2PL"))
    >>> int((fit["q_value"] < 0.05).sum()), fit["s_x2"].idxmax()
    (0, 'item-9')
    """
    import pandas as pd

    result = result_for("item_fit", result)
    parts = fitted(result)
    statistic, df = s_x2(parts, result.model)
    p = p_values(result, parts, statistic, df)
    reason = "missing responses" if parts.mostly_incomplete else "too few respondents"
    status = np.where(np.isnan(p), reason, "ok").astype(object)
    values = {
        **mean_squares(parts),
        "s_x2": statistic,
        "df": df,
        "p_value": p,
        "q_value": false_discovery(p),
        "status": status,
    }
    table = pd.DataFrame(values, index=[result.item_labels[k] for k in parts.places])
    table = table.reindex(result.item_labels).rename_axis("item")
    return table.assign(status=table["status"].fillna("no responses"))


def p_values(result: FitResult, parts: Fitted, statistic: Array, df: Array) -> Array:
    """P-value of every S-X², NaN without S-X² or with few respondents."""
    from scipy.special import chdtrc

    if parts.complete.sum() < _TUNED.least_respondents:
        return np.full(len(statistic), np.nan)
    p = chdtrc(df, result.evidence * statistic)
    return np.where(np.isnan(statistic), np.nan, p)


def poorly_fitting(result: FitResult, fdr: float) -> NDArray[np.bool_] | None:
    """Items with a significant S-X² at a false-discovery rate, (n_items,), None if none is tested.

    The worst significant items are left out (S-X²/df at least half as far above 1 as the largest).
    The others are fitted and tested again, until none is significant.
    """
    parts = fitted(result)
    called = np.zeros(len(result.item_labels), dtype=bool)
    places = parts.places
    while True:
        statistic, df = s_x2(parts, result.model)
        p = p_values(result, parts, statistic, df)
        if np.isnan(p).all():
            return called if called.any() else None
        significant = np.flatnonzero(false_discovery(p) < fdr)
        if not len(significant):
            return called
        excess = statistic[significant] / df[significant] - 1
        worst = significant[excess >= _TUNED.as_bad * excess.max()]
        called[places[worst]] = True
        kept = np.delete(np.arange(len(p)), worst)
        places = places[kept]
        cells = parts.of_items(kept).cells
        labels = [result.item_labels[place] for place in parts.places[kept]]
        others = ResponseMatrix(cells, items=labels)
        result = refitted(result, others, tol=1e-5)
        parts = fitted(result)
        places = places[parts.places]


def mean_squares(parts: Fitted, *, by_respondent: bool = False) -> dict[str, Array]:
    """Infit and outfit of every item, or of every respondent, and their transforms."""
    axis = int(by_respondent)
    sums = []
    for _, cells, p in parts.parts():
        answered = cells >= 0
        product = p * (1 - p)
        variance = np.maximum(product, 1e-5**0.5)  # one of P = 0.003 would decide alone
        square = (cells - p) ** 2
        fourth = product * (1 - 3 * product)  # the fourth central moment of a response
        of_square = variance**2
        terms = np.stack(
            [
                np.ones_like(p),
                square,
                variance,
                square / variance,
                fourth - of_square,
                fourth / of_square - 1,
            ]
        )
        sums.append((terms * answered).sum(axis=1 + axis))
    totals = np.concatenate(sums, axis=1) if by_respondent else np.sum(sums, axis=0)
    n, square, variance, relative, spread, relative_spread = totals
    infit = square / variance
    outfit = relative / n
    return {
        "infit": infit,
        "outfit": outfit,
        "infit_z": _cube_root_z(infit, spread / variance**2),
        "outfit_z": _cube_root_z(outfit, relative_spread / n**2),
    }


def _cube_root_z(mean_square: Array, variance: Array) -> Array:
    """Wilson and Hilferty's transform of a mean square with this variance."""
    sd = np.sqrt(np.clip(variance, _LEAST, 2.0)) / 3  # bounded as in mirt
    cube_root = mean_square ** (1 / 3)
    return (cube_root - 1) / sd + sd


def s_x2(parts: Fitted, model: ModelName) -> tuple[Array, Array]:
    """S-X² and its df of every item by complete respondents, NaN without a degree of freedom."""
    cells = parts.cells[parts.complete]
    n_items = parts.items.n_items
    score = cells.sum(axis=1, dtype=np.intp)
    inside = np.flatnonzero((score > 0) & (score < n_items))
    inside = inside[np.argsort(score[inside], kind="stable")]
    scores, starts, counts = np.unique(score[inside], return_index=True, return_counts=True)
    if parts.mostly_incomplete or len(scores) < 2:
        unknown = np.full(n_items, np.nan)
        return unknown, unknown
    n = counts.astype(np.float64)
    # groups of equal size, or every score, each with two respondents or more
    size = n.sum() / _TUNED.groups if len(n) > _TUNED.most_scores else 0.0
    starts_of_groups = [0]
    held = 0.0
    for k, more in enumerate(n):
        if held > 1 and held >= size:
            starts_of_groups.append(k)
            held = 0.0
        held += more
    if held <= 1 and len(starts_of_groups) > 1:
        starts_of_groups.pop()
    first = np.array(starts_of_groups)
    expected = expected_right(parts.items, scores, n, first, parts.grid())
    right = np.add.reduceat(cells[inside], starts[first], axis=0, dtype=np.float64).T
    sizes = np.add.reduceat(n, first)
    tests = [_chi_square(sizes, o, e) for o, e in zip(right, expected, strict=True)]
    statistic, n_groups = np.array(tests, dtype=np.float64).T
    further_slopes = np.count_nonzero(parts.slopes, axis=1) - 1
    n_parameters: Array = _PARAMETERS[model] + np.maximum(further_slopes, 0)
    if model in {"Rasch", "1PL"}:
        n_parameters = n_parameters + 1 / n_items
    df = n_groups - n_parameters
    statistic[df < 1] = np.nan
    return statistic, np.where(df < 1, np.nan, df)


def _chi_square(n: Array, right: Array, expected: Array) -> tuple[float, int]:
    """X² of an item over groups, joined with their smaller neighbours, and how many are left."""
    groups = np.stack([n, right, expected], axis=1).tolist()
    k = 0
    while k < len(groups):
        size, _, e = groups[k]
        if len(groups) == 1 or min(e, size - e) >= _TUNED.least_expected:
            k += 1
            continue
        if k == 0:
            neighbour = 1
        elif k == len(groups) - 1 or groups[k - 1][0] <= groups[k + 1][0]:
            neighbour = k - 1
        else:
            neighbour = k + 1
        pair = zip(groups[neighbour], groups[k], strict=True)
        groups[neighbour] = [*map(sum, pair)]
        del groups[k]
        k = min(k, neighbour)
    total = 0.0
    for size, o, e in groups:
        if 0 < e < size:
            variance = e * (size - e) / size
            total += (o - e) ** 2 / variance
    return total, len(groups)


def expected_right(
    items: ItemParameters,
    scores: NDArray[np.intp],
    n: Array,
    first: NDArray[np.intp],
    grid: tuple[Array, Array],
) -> Array:
    """Expected number right of every item in groups of scores, (n_items, n_groups).

    ``n`` respondents have each of the ``scores``. ``first`` holds where groups begin among them.
    """
    nodes, weights = grid
    p = np.clip(items.probability(nodes).T, _LEAST, 1 - _LEAST)
    knots = scores.astype(np.float64)
    if items.n_items < _TUNED.many_items:
        shares = by_recursion(p, weights)[:, scores - 1]
    else:
        if len(scores) > _TUNED.most_knots:
            shares_of_scores = np.linspace(0, 1, _TUNED.most_knots)
            quantiles = np.quantile(scores, shares_of_scores)
            knots = np.unique(np.round(quantiles))
        shares = by_saddlepoint(p, weights, knots)
    if len(knots) == len(scores):
        return np.add.reduceat(shares * n, first, axis=1)
    from scipy.interpolate import CubicSpline
    from scipy.special import expit, logit

    expected = np.empty((items.n_items, len(first)))
    for block in blocks(items.n_items, len(scores)):
        logits = logit(np.clip(shares[block], _LEAST, 1 - _LEAST))
        curve = CubicSpline(knots, logits, axis=1)
        expected[block] = np.add.reduceat(expit(curve(scores)) * n, first, axis=1)
    return expected


def by_recursion(p: Array, weights: Array) -> Array:
    """E_jk at all scores from 1 to n − 1. ``p`` is P(right), (n_items, n_nodes)."""
    n = len(p)
    score = np.zeros((n + 1, p.shape[1]))
    score[0] = 1.0
    for k, right in enumerate(p):
        wrong = 1 - right
        more = score[: k + 1] * right
        score[: k + 2] *= wrong
        score[1 : k + 2] += more
    low = p <= 0.5
    n_right = np.zeros((n, n))
    weight = p * weights * low
    upwards = _others(score, np.where(low, p, 0.5))
    for k, others in enumerate(upwards):
        n_right[:, k] = np.einsum("jq,jq->j", others, weight)
    # Downwards, wrong answers are counted in place of right ones.
    weight = p * weights * ~low
    downwards = _others(score[::-1], np.where(low, 0.5, 1 - p))
    for k, others in enumerate(downwards, 1):
        n_right[:, n - k] += np.einsum("jq,jq->j", others, weight)
    total = score[1:n] @ weights
    return np.clip(n_right[:, :-1] / total, 0.0, 1.0)


def _others(score: Array, p: Array) -> Iterator[Array]:
    """Probability of 0, 1, … answers to all items but each one, (n_items, n_nodes)."""
    others = score[0] / (1 - p)
    yield others
    for of_all in score[1:-1]:
        others = (of_all - p * others) / (1 - p)
        yield others


def by_saddlepoint(p: Array, weights: Array, scores: Array) -> Array:
    """E_jk at some scores. ``p`` is P(right), (n_items, n_nodes)."""
    from scipy.special import softmax

    mean = p.sum(axis=0)
    sd = np.sqrt((p * (1 - p)).sum(axis=0))
    distance = np.abs(scores[:, None] - mean) / sd
    # the density beyond is 1e-8
    near = (distance < 6.0) | (distance == distance.min(axis=1, keepdims=True))
    logits = np.log(p) - np.log1p(-p)
    unit = np.ones(len(p))
    used = np.flatnonzero(near.any(axis=0))
    log_density = np.full(near.shape, -np.inf)
    tilts = np.zeros(near.shape)
    for q in used:
        rows = near[:, q]
        tilt, tilted = _tilted(logits[:, q], unit, scores[rows])
        variance = (tilted * (1 - tilted)).sum(axis=1)
        ratio = p[:, q] * np.expm1(tilt)[:, None]
        log_sum = np.log1p(ratio).sum(axis=1)
        log_volume = 0.5 * np.log(2 * np.pi * variance)
        log_normal = tilt * scores[rows] + log_volume
        log_density[rows, q] = log_sum - log_normal + np.log(weights[q])
        tilts[rows, q] = tilt
    posterior = softmax(log_density, axis=1)
    shares = np.zeros((len(scores), len(p)))
    for q in used:
        rows = near[:, q]
        # P(right) given the score, to the second order
        moved = logits[:, q] + tilts[rows, q, None]
        tilted = logistic(moved)
        variances = tilted * (1 - tilted)
        total = variances.sum(axis=1, keepdims=True)
        leaning = 2 * tilted - 1
        mean_leaning = (variances * leaning).sum(axis=1, keepdims=True) / total
        moved += (leaning - mean_leaning) / (2 * total)
        shares[rows] += logistic(moved) * posterior[rows, q, None]
    return shares.T


def _tilted(logits: Array, weight: Array, target: Array) -> tuple[Array, Array]:
    """Multiples of weights that, added to logits, give sums their targets, and P(right) there.

    Newton's method for E[Σ y · weight] = target of independent answers y, (n_targets,).
    """
    tilt = np.zeros_like(target)
    for _ in range(_TUNED.steps):
        p = logistic(logits + tilt[:, None] * weight)
        variance = (p * (1 - p) * weight**2).sum(axis=1)
        distance = target - (p * weight).sum(axis=1)
        step = np.clip(distance / np.maximum(variance, _LEAST), -1, 1)
        if np.abs(step).max() < 1e-4:  # the error is at most that, times it
            break
        tilt = np.clip(tilt + step, -_TUNED.most_tilt, _TUNED.most_tilt)
    return tilt, p


def respondent_fit(result: FitResult) -> pd.DataFrame:
    """Test whether the answers of each respondent fit the abilities of the model.

    Parameters
    ----------
    result : FitResult
        A result of :func:`irtkit.fit` with its responses. Missing cells are left out.

    Returns
    -------
    pandas.DataFrame
        One row per real respondent, index "respondent":

        - zh: standardised log-likelihood of the answers at the fitted ability (EAP), as in R's
          mirt. Low values mean hard items right and easy items wrong.
        - lz: the same corrected for the estimated ability (lz* of Snijders).
        - p_value: probability of this lz or a lower one.
        - q_value: false-discovery rate (Benjamini & Hochberg).
        - infit, outfit, infit_z, outfit_z: mean squares of residuals over the items answered, as
          in :func:`irtkit.item_fit`.
        - n_responses.

        NaN if no answer had any uncertainty.

    Raises
    ------
    TypeError, ValueError
        If ``result`` is not a FitResult, or its responses are not saved, sparse or repeated.

    Notes
    -----
    With several abilities lz* allows for the estimates of all. p-values come from a saddlepoint
    approximation with the second-order bias of lz. They take items as known, and are too large with
    few respondents.

    References
    ----------
    Drasgow, Levine & Williams (1985), *Brit. J. Math. Stat. Psychol.* 38, 67–86: lz.
    Snijders (2001), *Psychometrika* 66, 331–342: lz*, with an estimated ability.
    Lugannani & Rice (1980), *Adv. Appl. Prob.* 12, 475–490: tail probability by saddlepoint.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.linspace(-2, 2, 60))
    >>> values = irtkit.simulate_responses(items, np.linspace(-2, 2, 200), seed=1).values.copy()
    >>> values[150] = values[150, ::-1]  # right where others are wrong
    >>> fit = irtkit.respondent_fit(irtkit.fit(irtkit.ResponseMatrix(values), "1PL"))
    >>> fit["lz"].idxmin(), int((fit["q_value"] < 0.05).sum())
    ('respondent-151', 1)
    """
    import pandas as pd

    result = result_for("respondent_fit", result)
    parts = fitted(result)
    deviations = [_deviations(parts, cells, p) for _, cells, p in parts.parts()]
    zh, lz, p = np.concatenate(deviations, axis=1)
    squares = mean_squares(parts, by_respondent=True)
    columns = {
        "zh": zh,
        "lz": lz,
        "p_value": p,
        "q_value": false_discovery(p),
        **squares,
        "n_responses": (parts.cells >= 0).sum(axis=1),
    }
    labels = [result.respondent_labels[k] for k in parts.respondents]
    return pd.DataFrame(columns, index=pd.Index(labels, name="respondent"))


def _deviations(parts: Fitted, cells: NDArray[np.int8], p: Array) -> tuple[Array, Array, Array]:
    """Zh, lz* and its p-value of some respondents, each (n,).

    Zh is Σ(y − P)w / √(Σ P(1 − P)w²) with w = log P/(1 − P). Let z be the logit, a the slopes and
    L = dP/dz. lz* has w − r·a'c in place of w, with r = L/(P(1 − P)), I = Σ L r aa' and c =
    I⁻¹ Σ L w a. An error of abilities with correlations Φ adds −½ Σ d²P/dz² (w − r·a'c) a'(I +
    Φ⁻¹)⁻¹a.
    """
    slopes = parts.slopes
    c = parts.items.guessing
    p = np.clip(p, _LEAST, 1 - _LEAST)
    rise = rise_by_logit(parts.items, p)
    by_ability = (p - c) / (1 - c)
    bend = rise * (1 - 2 * by_ability)
    variance = p * (1 - p)
    answered = cells >= 0
    w = np.log(p) - np.log1p(-p)
    r = rise / variance
    squares = outer(slopes, slopes)
    information = np.tensordot(rise * r * answered, squares, 1)
    crossed = (rise * w * answered) @ slopes
    least = _LEAST * np.eye(slopes.shape[1])
    coefficients = np.linalg.solve(information + least, crossed[:, :, None])[:, :, 0]
    of_ability = r * (coefficients @ slopes.T)
    of_zh = _with_variance_1(w * answered, variance)
    of_lz = _with_variance_1((w - of_ability) * answered, variance)
    residual = cells - p
    zh = (residual * of_zh).sum(axis=1)
    lz = (residual * of_lz).sum(axis=1)
    ability_variance = np.linalg.inv(information + np.linalg.inv(parts.correlation))
    of_logit = np.tensordot(ability_variance, squares, ([1, 2], [1, 2]))
    bias = -0.5 * (bend * of_lz * of_logit).sum(axis=1)
    return zh, lz, _lower_tail(lz - bias, w, of_lz)


def _with_variance_1(weight: Array, variance: Array) -> Array:
    """Weights of sums of residuals with variance 1, NaN without any variance."""
    spread = np.sqrt((variance * weight**2).sum(axis=1, keepdims=True))
    spread[spread <= _LEAST**0.5] = np.nan
    return weight / spread


def _lower_tail(z: Array, logit: Array, weight: Array) -> Array:
    """P(Σ(y − P)·weight ≤ z) of independent y, with variance 1, (n,)."""
    from scipy.special import ndtr

    z = np.copysign(np.maximum(np.abs(z), _TUNED.nearest), z)
    mean = (logistic(logit) * weight).sum(axis=1)
    tilt, _ = _tilted(logit, weight, z + mean)
    moved = logit + tilt[:, None] * weight
    p = logistic(moved)
    variance = (p * (1 - p) * weight**2).sum(axis=1)
    sd = np.sqrt(np.maximum(variance, _LEAST))
    cumulant = (softplus(moved) - softplus(logit)).sum(axis=1) - tilt * mean
    square = np.maximum(2 * (tilt * z - cumulant), _TUNED.nearest**2)
    root = np.copysign(np.sqrt(square), z)
    ratio = tilt * sd / root
    return ndtr(root + np.log(ratio) / root)
