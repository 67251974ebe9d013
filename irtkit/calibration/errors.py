"""Standard errors of abilities that include item uncertainty, and clustered errors.

A posterior mean moves with item parameters x by g = Cov(θ, s(θ)), the posterior covariance with the
complete-data score s (Louis 1982). Its variance against the population is v + gᵀ Cov(x) g, with the
posterior variance v. Errors of all abilities share a location and a scale, which cancel between
systems of one board. For these, g is projected by Q = I − B(BᵀWB)⁻¹BᵀW, with B = [1, ability] and W
= 1/v.

Of scores, items have dispersions r: residuals of item j vary rⱼ times as much as the working
likelihood says. An ability then has v + v² Σ (rⱼ − 1)Iⱼ in place of v, with the information Iⱼ of
the item, and items have Cov + Cov Δ Cov, Δ = Σᵢⱼ (rⱼ − 1)wᵢⱼ uᵢⱼuᵢⱼᵀ, where w is the information
about the logit of a cell and u its score less what moves with the ability of its respondent.

Design effects of clustered errors are ratios of sandwich variances (Liang & Zeger 1986), over
clusters and over single respondents or items: with clusters of one they are 1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.standard_errors import item_errors, over_items
from irtkit.data.patterns import blocks, float_blocks
from irtkit.irf import NORMAL_POINTS, level_curves, level_information, logistic
from irtkit.quadrature.levels import LevelEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irtkit.calibration.result import FitResult
    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array, Items

_AT_ONCE = 2**21  # Numbers of levels that are worked on at once.


def clustered(result: FitResult, families: Places | None, clusters: Places | None) -> FitResult:
    """Cluster errors by numbered families of respondents, and by numbered clusters of items.

    With scores u and information I by ability, the dependence of answers within clusters of items
    adds v² Σ_c (ρ_c − 1) I_c to a posterior variance v. The design effect ρ_c is Σ_i E[(Σ_j u)²] /
    Σ_i Σ_j E[u²], over the cluster j ∈ c and all respondents i.
    """
    if families is not None:
        if result.item_covariance is None:
            raise ValueError("families: the fit must be one by EM, with standard_errors=True")
        findings = [
            replace(finding, remedies=()) if finding.code == "near-duplicates" else finding
            for finding in result.findings
        ]
        result = widened(result, result.patterns, families)
        result = replace(result, findings=tuple(findings))
    if clusters is None:
        return result
    n_items = len(clusters)
    member = _membership(clusters, np.arange(n_items), n_items).T
    variance = result.posterior_sd**2
    weight = np.where(result.answering, 1.0, 0.0)
    n_clusters = member.shape[1]
    together, apart = np.zeros((2, n_clusters))
    by_cluster = np.empty((len(variance), n_clusters), np.float32)
    for cells in _cells(result, result.patterns):
        score, information = cells.by_ability()
        v = variance[cells.rows, None].astype(np.float32)
        counted = weight[cells.rows]
        of_cluster = _dense(information @ member)
        by_cluster[cells.rows] = of_cluster
        of_scores = _dense(score @ member) ** 2
        together += counted @ (of_scores + v * of_cluster**2)
        squares = score * score + information * information * v
        apart += counted @ _dense(squares @ member)
    effects = np.divide(together, apart, out=np.ones(n_clusters), where=apart > 0)
    added = variance**2 * (by_cluster @ (effects - 1))
    return replace(result, cluster_variance=np.maximum(added, 0.0))


class _Cells(NamedTuple):
    """Answers of some respondents, in 32 bits. Sparse rows have observed cells only."""

    rows: slice
    right: Any
    answered: Any  # 1 with complete data.
    items: Any  # Slope, intercept and guessing of each cell.
    respondents: Any  # Ability and posterior SD of each cell.
    observed: Any  # Sparse table of the observed cells, None if all cells are there.

    def table(self, values: Any) -> Any:
        """Values of the cells as a table, respondents × items."""
        cells = self.observed
        if cells is None:
            return values
        return type(cells)((values, cells.indices, cells.indptr), cells.shape)

    def scores(self, point: float, size: int) -> list[Any]:
        """Scores by slope, intercept (and logit of guessing) at θ + point · SD, as tables."""
        slope, intercept, c = self.items
        theta, sd = self.respondents
        theta = theta + np.float32(point) * sd
        s = logistic(slope * theta + intercept)
        if size == 2:
            residual = self.right - self.answered * s
            return [self.table(theta * residual), self.table(residual)]
        share = self.right / (c + (1 - c) * s) - self.answered
        parts = theta * s * share, s * share, c * share
        return [self.table(part) for part in parts]

    def by_ability(self) -> tuple[Any, Any]:
        """Scores and information by ability, as tables."""
        slope, intercept, c = self.items
        s = logistic(slope * self.respondents[0] + intercept)
        p = c + (1 - c) * s
        rate = slope * np.divide(s, p, out=np.ones_like(s), where=p > 0)
        score = self.table(rate * (self.right - self.answered * p))
        information = rate**2 * self.answered * p * (1 - p)
        return score, self.table(information)


class _LevelCells(NamedTuple):
    """Levels that some respondents reached, and their abilities."""

    rows: slice
    engine: LevelEngine
    items: Items
    ability: Array
    sd: Array

    def scores(self, point: float, size: int) -> list[Array]:
        """Scores by slope and steps at θ + point · SD, as tables."""
        theta = self.ability + point * self.sd
        _, by_logit, by_step = level_curves(self.items, theta)
        of_levels = theta * by_logit, *np.moveaxis(by_step, 2, 0)
        return [self.engine.reached_of(values, self.rows) for values in of_levels][:size]

    def by_ability(self) -> tuple[Array, Array]:
        """Scores and information by ability, as tables."""
        by_logit = level_curves(self.items, self.ability)[1]
        score = self.engine.reached_of(by_logit, self.rows) * self.items.slope
        information = level_information(self.items, self.ability).T
        return score, information * self.engine.tried[self.rows]


def _cells(result: FitResult, patterns: Patterns) -> Iterator[Any]:
    """Go over the responses, some respondents at a time."""
    parameters = result.parameters
    patterns = patterns.with_most_trials().with_trial_correlation(result.correlation_by_item)
    if parameters.steps is not None:
        reached = ~np.isnan(parameters.steps)
        engine = LevelEngine(patterns, parameters.model or "GPCM", reached, parameters.top == 1)
        size = parameters.n_items * engine.scores.shape[1] ** 2
        for part in blocks(patterns.n, size, _AT_ONCE):
            of_part = result.ability[part], result.posterior_sd[part]
            yield _LevelCells(part, engine, parameters.items, *of_part)
        return
    items = np.stack([parameters.discrimination, parameters.intercept, parameters.guessing])
    items = np.nan_to_num(items).astype(np.float32)
    abilities = np.stack([result.ability, result.posterior_sd]).astype(np.float32)
    for rows, right, answered in float_blocks(patterns, dtype=np.float32):
        if patterns.sparse:
            of_cells = np.repeat(abilities[:, rows], np.diff(answered.indptr), axis=1)
            of_items = items[:, answered.indices]
            yield _Cells(rows, right.data, answered.data, of_items, of_cells, answered)
        else:
            tried = np.float32(1) if answered is None else answered
            yield _Cells(rows, right, tried, items, abilities[:, rows, None], None)


def _by_system(result: FitResult) -> tuple[Array, Array, Array]:
    """How abilities move with the population, and B and WB of the board, (n, 2) each."""
    mean = result.ability
    variance = result.posterior_sd**2
    by_mean = np.where(result.synthetic, 0.0, variance / result.latent_sd**2)
    by_sd = 2 * (mean - result.latent_mean) * by_mean
    by_population = np.stack([by_mean, by_sd], axis=1)
    board = np.stack([np.ones_like(mean), mean], axis=1)
    weight = np.where(result.answering, 1 / variance, 0.0)
    return by_population, board, board * weight[:, None]


def _by_items(
    result: FitResult, patterns: Patterns, size: int
) -> Iterator[tuple[slice, list[Any]]]:
    """g, from the normal posterior at the two points of the three-point rule off its centre."""
    point = 3**0.5  # of the Gauss–Hermite rule, where weights are 1/6, 2/3, 1/6
    for cells in _cells(result, patterns):
        above = cells.scores(point, size)
        below = cells.scores(-point, size)
        step = point / 6 * result.posterior_sd[cells.rows, None]
        narrow = step.astype(np.float32)
        yield cells.rows, [(high - low) * narrow for high, low in zip(above, below, strict=True)]


def board_covariance(result: FitResult, places: Places) -> Array:
    """Covariance of the errors of some abilities on the board, (n, n), with diagonal board_se².

    Errors of items are common to systems. Without a covariance of items errors are independent.
    """
    variance = result.board_se[places] ** 2
    if result.item_covariance is None:
        return np.diag(variance)
    joint = result.item_covariance.defined
    by_population, board, weighted = _by_system(result)
    parts = _by_items(result, result.patterns, joint.alone.shape[1])
    tables = [np.stack([_dense(table).T for table in g]) for _, g in parts]
    by_items = np.concatenate(tables, axis=2)
    size, n_items, n = by_items.shape
    both = np.concatenate([by_population.T, by_items.reshape(-1, n)]).astype(np.float64)
    back = board @ np.linalg.pinv(weighted.T @ board)
    projected = both[:, places] - (both @ weighted) @ back[places].T
    of_population = projected[:2]
    moved = projected[2:].reshape(size, n_items, -1).swapaxes(0, 1)
    products, population_products = joint.times(moved, of_population)
    common = over_items(moved, products)
    common += of_population.T @ population_products
    independent = variance - np.diag(common)
    return common + np.diag(independent)


def ability_errors(result: FitResult, joint: ItemCovariance, patterns: Patterns) -> Array:
    """Errors of abilities with a covariance of items: v + gᵀ Cov g, and with Q g on the board."""
    joint = joint.defined
    n_items, size, _ = joint.alone.shape
    n = len(result.ability)
    by_population, board, weighted = _by_system(result)
    by_items = partial(_by_items, result, patterns, size)
    narrow_weights = weighted.astype(np.float32)
    # BᵀWG of items and populations, and its product with Cov
    sums = np.zeros((n_items, size, 2))
    of_population = by_population.T @ weighted
    # derivatives are needed twice, and kept where they are few
    kept = [*by_items()] if sums.size * n < 2**26 else None
    for rows, moved in kept or by_items():
        for k, g in enumerate(moved):
            sums[:, k] += g.T @ narrow_weights[rows]
    products, population_products = joint.times(sums, of_population)
    whole = over_items(sums, products)
    whole += of_population.T @ population_products

    total = np.zeros(n)
    crossed = by_population @ population_products
    along = by_population @ joint.population
    blocks = joint.alone.astype(np.float32)
    moves = joint.moves.astype(np.float32)
    narrow = products.astype(np.float32)
    for rows, moved in kept or by_items():
        for k, g in enumerate(moved):
            for m, other in enumerate(moved):
                total[rows] += (g * other) @ blocks[:, k, m]
            along[rows] += g @ moves[:, k]
            crossed[rows] += g @ narrow[:, k]
    total += np.einsum("nr,nr->n", along @ joint.core, along)
    back = board @ np.linalg.pinv(weighted.T @ board)
    on_board = total - 2 * (back * crossed).sum(axis=1)
    on_board += ((back @ whole) * back).sum(axis=1)
    by_covariance = np.maximum(np.stack([total, on_board]), 0.0)
    known_items = variance = result.posterior_sd**2
    if result.dispersion is not None and result.parameters.steps is None:
        beyond = np.nan_to_num(result.dispersion - 1).astype(np.float32)
        parts = [cells.by_ability()[1] @ beyond for cells in _cells(result, patterns)]
        added = variance**2 * np.concatenate(parts)
        known_items = variance + np.maximum(added, -0.9 * variance)  # the least dispersion is 0.1
    return np.sqrt(known_items + by_covariance)


def dispersed(result: FitResult, patterns: Patterns) -> FitResult:
    """Let dispersions of items enter their standard errors; the 2PL and 1PL have these.

    What couples items outside the directions of their covariance is left out.
    """
    joint = result.item_covariance
    dispersion = result.dispersion
    if joint is None or dispersion is None or result.model not in {"Rasch", "1PL", "2PL"}:
        return result
    beyond = np.nan_to_num(dispersion - 1)
    a = np.nan_to_num(result.parameters.discrimination)
    inverses = joint.defined.alone
    moves = joint.moves
    core = joint.core
    n_items, _, r = moves.shape
    blocks = np.zeros((n_items, 2, 2))
    along = np.zeros((n_items, 2, r))
    for cells in _cells(result, patterns):
        slope, intercept, _ = cells.items
        p = logistic(slope * cells.respondents[0] + intercept)
        information = cells.table(cells.answered * p * (1 - p))
        w = _dense(information).astype(np.float64)
        w *= result.answering[cells.rows, None]
        v = result.posterior_sd[cells.rows, None] ** 2
        theta = np.broadcast_to(result.ability[cells.rows, None], w.shape)
        x = np.stack([theta, np.ones_like(w)], axis=2)
        extra = beyond * w
        blocks += np.einsum("nj,njk,njl->jkl", extra, x, x, optimize=True)
        h = (w * a)[..., None] * x
        b = (v * extra * a)[..., None] * x
        c = v**2 * (extra @ a**2)[:, None]
        h_along = np.tensordot(h, moves, ((1, 2), (0, 1)))
        b_along = np.tensordot(b, moves, ((1, 2), (0, 1)))
        along += np.tensordot(h, c * h_along - b_along, (0, 0))
        along -= np.tensordot(b, h_along, (0, 0))
    along += blocks @ moves
    middle = over_items(moves, along)
    nothing = np.zeros_like(core)
    joint = joint._replace(
        alone=joint.alone + inverses @ blocks @ inverses,
        moves=np.concatenate([moves, inverses @ along], axis=2),
        core=np.block([[core + core @ middle @ core, core], [core, nothing]]),
        population=np.hstack([joint.population, np.zeros_like(joint.population)]),
    )
    errors = _errors_of_items(result, joint)
    return replace(result, standard_errors=errors, item_covariance=joint)


def _errors_of_items(result: FitResult, joint: ItemCovariance) -> Array:
    """Errors of items by a covariance; fixed items keep theirs."""
    errors = item_errors(joint.of_items(), result.parameters, result.model)
    if result.anchors is not None:
        fixed = result.anchors.fixed
        errors[fixed] = result.standard_errors[fixed]
    return errors


def widened(result: FitResult, patterns: Patterns, families: Places | None = None) -> FitResult:
    """Multiply what respondents contribute to variances of item parameters.

    That is the sandwich variance Σ z² over respondents, z = Cov s. It is multiplied by the number
    of respondents for each independent one, or by the ratio of the sandwich variance over families
    to it, if that is larger.
    """
    effect = result.near_duplicates.n / result.near_duplicates.n_eff
    if result.item_covariance is None:
        return replace(result, standard_errors=result.standard_errors * np.sqrt(effect))
    if effect == 1 and families is None:
        return result
    joint = result.item_covariance
    defined = joint.defined
    size = joint.alone.shape[1]
    who = np.flatnonzero(result.answering)
    family = np.zeros_like(who) if families is None else families[who]
    family = np.unique(family, return_inverse=True)[1]
    member = _membership(family, who, len(result.ability)).tocsc()
    n_families = member.shape[0]
    off = result.ability - result.latent_mean
    beyond = off**2 + result.posterior_sd**2 - result.latent_sd**2
    of_population = np.stack([off, beyond]) / result.latent_sd**2
    variances = np.diagonal(defined.of_items(), axis1=1, axis2=2)
    single = np.zeros(variances.size)
    together = np.zeros((n_families, variances.size))
    for cells in _cells(result, patterns):
        scores: Any = 0.0
        for point, weight in NORMAL_POINTS:
            parts = [_dense(part) for part in cells.scores(point, size)]
            scores = scores + weight * np.stack(parts, axis=1)
        z = defined.times(scores.T, of_population[:, cells.rows])[0]
        by_respondent = z.reshape(variances.size, -1).T
        of_family = member[:, cells.rows]
        single += of_family.sum(axis=0) @ by_respondent**2
        together += of_family @ by_respondent
    alone = _sandwich(single, len(who)).reshape(variances.shape)
    alone = np.maximum(alone, np.finfo(np.float64).tiny)
    ratio: Any = effect
    if families is not None:
        clustered_variance = _sandwich((together**2).sum(axis=0), n_families)
        ratio = np.maximum(clustered_variance.reshape(variances.shape) / alone, effect)
    share = alone / np.maximum(variances, alone)  # of what respondents say, beside the prior
    effects = 1 + share * np.maximum(ratio - 1, 0.0)
    joint = joint.scaled(np.sqrt(effects))
    joint = joint._replace(population=joint.population * np.sqrt(effects.mean()))
    of_abilities = ability_errors(result, joint, patterns)
    errors = _errors_of_items(result, joint)
    return replace(result, standard_errors=errors, ability_errors=of_abilities)


def _membership(cluster: Places, members: Places, n: int) -> Any:
    """Which members are in which cluster, a sparse table of 1, (n_clusters, n)."""
    from scipy.sparse import csr_array

    ones = np.ones(len(members), np.float32)
    return csr_array((ones, (cluster, members)), (int(cluster.max()) + 1, n))


def _sandwich(squares: Array, n: int) -> Array:
    """Sandwich variances of n clusters by their sums of squares (Liang & Zeger 1986)."""
    return n / max(n - 1, 1) * squares


def _dense(table: Any) -> Any:
    return table if isinstance(table, np.ndarray) else table.toarray()
