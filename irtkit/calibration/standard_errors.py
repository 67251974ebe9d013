"""Standard errors of item parameters, and of populations, from the observed information.

The observed information is the complete-data information minus the posterior covariance of the
complete-data score (Louis 1982), plus minus the second derivatives of the prior. It is taken along
directions W in which items, populations and what the prior learns move. For ordinary numbers of
items these are all parameters. For many they are what items have in common, a scale, a location and
how items answer to these, and M is the information of items by themselves. What else couples items
is left out, and by Woodbury (1950)

    I⁻¹ ≈ M⁻¹ + W [(WᵀIW)⁻¹ − (WᵀMW)⁻¹] Wᵀ.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.information import (
    UNKNOWN,
    expected_of,
    minus_missing_information,
    system_of,
)
from irtkit.calibration.priors import Hyper
from irtkit.data.patterns import SYNTHETIC
from irtkit.data.patterns import blocks as parts_of
from irtkit.irf import Items, complete_data_information, curvatures, curves_of
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from irtkit.calibration.likelihood import Parameterisation, Values
    from irtkit.calibration.priors import Prior
    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array, Curves, ItemParameters, ModelName
    from irtkit.quadrature import Grid

    Floats = NDArray[np.floating[Any]]

_MOST_DENSE = 300  # Parameters up to which W is all of them: inverting then takes a few ms.
_MANY_RESPONDENTS = 1500  # From here on sums are in 32 bits, except those of repeated trials.
_NEGLIGIBLE = 1e-4  # Share of missing information left out: errors were off by 2e-4 at most.
_MOST_POLYNOMIALS = 16  # More lose their orthogonality; beside steep items nodes take their place.
_SLOWEST_FALL = 0.9  # Of missing information from one polynomial to the next but one.
_SAME = 1e-10  # Share of the information about a direction below which others make it up.
# Of central differences, in units of 1 + |x| (Press et al. 2007, section 5.7).
_STEP = float(np.cbrt(np.finfo(np.float64).eps))


class ItemCovariance(NamedTuple):
    """Covariance of all item parameters: own blocks + moves · core · movesᵀ."""

    own: Array
    """By slope, intercept (and logit of guessing), (n_items, k, k); NaN where not identified."""
    moves: Array
    """Directions that items move along together, (n_items, k, r)."""
    core: Array
    """Shape (r, r)."""
    population: Array
    """The same directions by the mean and the log SD of ability, (2, r); 0 where they are known."""

    def chosen(self, columns: Places) -> ItemCovariance:
        """That of some items, or of the same several times."""
        return self._replace(own=self.own[columns], moves=self.moves[columns])

    def stretched(self, stretch: float, *, unit_slopes: bool) -> ItemCovariance:
        """That where ability is times ``stretch``; of Rasch the slope becomes the SD of ability."""
        by = np.ones(self.own.shape[1])
        by[0] = 1 / stretch
        found = self.scaled(by)
        if not unit_slopes or self.population.any():
            return found
        own, moves, population = found.own, found.moves.copy(), self.population.copy()
        population[1] = moves[:, 0].mean(axis=0)
        moves[:, 0] = 0.0
        return found._replace(own=own, moves=moves, population=population)

    def scaled(self, by: Any) -> ItemCovariance:
        """That of parameters times ``by``, (n_items, k) or what broadcasts to it."""
        by = np.broadcast_to(by, self.own.shape[:2])
        own = self.own * by[:, :, None] * by[:, None, :]
        return self._replace(own=own, moves=self.moves * by[:, :, None])

    def times(self, x: Array, of_population: Array) -> tuple[Array, Array]:
        """Product with columns x, (n_items, k, n), and (2, n) by the population."""
        along = np.tensordot(self.moves, x, ((0, 1), (0, 1))) + self.population.T @ of_population
        along = self.core @ along
        return self.own @ x + self.moves @ along, self.population @ along

    def of_items(self) -> Array:
        """Covariances of the parameters of every item, (n_items, k, k)."""
        return np.asarray(self.own + self.moves @ self.core @ self.moves.transpose(0, 2, 1))


def item_errors(covariances: Array, parameters: ItemParameters, model: ModelName) -> Array:
    """Shape (n_items, 4): of discrimination, difficulty, guessing and intercept.

    Delta method: b = −d/a gives ∂b/∂a = −b/a and ∂b/∂d = −1/a; c = σ(γ) gives ∂c/∂γ = c(1 − c).
    """
    variances = np.full((len(parameters.intercept), 4), np.nan)
    var_slope, var_intercept, cov = covariances[:, [0, 1, 0], [0, 1, 1]].T
    a, b, c = parameters.discrimination, parameters.difficulty, parameters.guessing
    if model == "Rasch":
        variances[:, 1] = var_intercept
    else:
        variances[:, 0] = var_slope
        with np.errstate(divide="ignore", invalid="ignore"):
            variances[:, 1] = (var_intercept + 2 * b * cov + b**2 * var_slope) / a**2
    if model == "3PL":
        variances[:, 2] = (c * (1 - c)) ** 2 * covariances[:, 2, 2]
    variances[:, 3] = var_intercept
    unknown = np.isnan(parameters.intercept)[:, None] | ~(variances >= 0)
    return np.sqrt(np.where(unknown, np.nan, variances))


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def covariances(
    patterns: Patterns,
    parameters: Parameterisation,
    at: Values,
    grid: Grid,
    prior: Prior | None,
) -> tuple[Array, Array, ItemCovariance]:
    """Covariances of slope, intercept (and logit of guessing) of every item, (n_items, k, k).

    NaN where items are fixed; a common slope has its own beside every intercept. Then those of log
    SDs and means that are free, and that of all items together. That the SD of synthetic ability
    follows items is left out.
    """
    items, about = at.items, _Populations(patterns, parameters, at, grid.nodes.theta)
    of_prior = prior_information(prior, parameters, at, patterns.multiplicity)
    (n_items, size), n_learned = of_prior.blocks.shape[:2], len(of_prior.corner)
    whole, common = formed_as_a_whole(items, patterns.n_items), int(parameters.common_slope)
    if whole:
        every = np.eye(size * n_items).reshape(size, n_items, -1).swapaxes(0, 1)
        chosen = np.zeros((size, n_items), bool)
        chosen[common:, parameters.free] = True
        directions, by_data = every[:, :, chosen.ravel()], None
        alone = np.full(of_prior.blocks.shape, np.nan)
        alone[parameters.free] = 0.0
    else:
        directions, by_data, alone = _in_common(patterns, parameters, items, grid, of_prior)
    n_own, n_slopes = directions.shape[2], parameters.slopes.stop * common
    n_scored = n_own + n_slopes + about.n
    moves = np.zeros((n_items, size, n_scored + n_learned))
    moves[:, :, :n_own] = directions
    moves[:, 0, n_own : n_own + n_slopes] = 1.0
    by_prior = moves.copy()
    by_prior[:, 0, n_own : n_own + parameters.unit_slopes] = 1.0  # the log SD of Rasch
    if n_slopes:
        alone[:, 0] = alone[:, :, 0] = 0.0

    scored = patterns.copies(moves[:, :, :n_scored])
    if patterns.complete and size == 2 and not about.n:
        of_data, of_groups, missing = _from_complete_data(
            patterns, items, grid, scored, whole=whole
        )
    elif whole:
        of_data, of_groups, missing = _from_incomplete_data(patterns, items, grid, about, scored)
    else:
        of_groups, missing = _missing_along(scored, patterns, items, grid, about)
    by_data = of_data if by_data is None else by_data
    information = np.tensordot(moves, by_data @ moves, ((0, 1), (0, 1)))
    information += np.tensordot(by_prior, of_prior.blocks @ by_prior, ((0, 1), (0, 1)))
    border = np.tensordot(by_prior, of_prior.border, ((0, 1), (0, 1)))
    information[:, n_scored:] += border
    information[n_scored:] += border.T
    information[n_scored:, n_scored:] += of_prior.corner
    information[:n_scored, :n_scored] -= missing
    groups = slice(n_scored - about.n, n_scored)
    information[groups, groups] += of_groups

    # By NumPy's LAPACK: SciPy's has threads of its own, for which those of NumPy wait longer than
    # inverting a small matrix takes.
    identified = np.diag(information) > UNKNOWN
    kept = np.ix_(identified, identified)
    scale = np.sqrt(np.outer(np.diag(information)[identified], np.diag(information)[identified]))
    covariance = np.full_like(information, np.nan)
    with suppress(np.linalg.LinAlgError):
        inverse = np.linalg.inv(information[kept] / scale) / scale
        covariance[kept] = (inverse + inverse.T) / 2
    unknown = moves[:, :, np.isnan(np.diag(covariance))].any(axis=2)
    alone[unknown] = alone.swapaxes(1, 2)[unknown] = np.nan
    core = np.nan_to_num(covariance[:n_scored, :n_scored])
    if not whole:
        core[:n_own, :n_own] -= np.eye(n_own)
    of_first = about.of_first(np.eye(n_scored)[groups])
    joint = ItemCovariance(alone, moves[:, :, :n_scored], core, of_first)
    return joint.of_items(), covariance[groups, groups], joint


def formed_as_a_whole(items: Items, n_items: int) -> bool:
    """Whether the information about so many items is formed as a whole."""
    return n_items * (2 if items.logit_guessing is None else 3) <= _MOST_DENSE


class _Populations:
    """Log SDs and means of populations that are free: their scores, and what is known of them."""

    def __init__(
        self, patterns: Patterns, parameters: Parameterisation, at: Values, theta: Array
    ) -> None:
        n_groups, means, sds = parameters.groups
        free = [*((k, True) for k in sds), *((k, False) for k in means)]
        self._free = free
        ids = np.delete(np.arange(n_groups + 1), SYNTHETIC)
        self._of = np.array([ids[k] for k, _ in free], dtype=np.intp)
        self._groups, self.n = patterns.group, len(free)
        self.scores = np.empty((self.n, len(theta)))
        """By node, up to constants."""
        self._by_node = np.zeros((self.n, self.n, len(theta)))
        for p, (k, of_sd) in enumerate(free):
            mean, sd = at.populations[k]
            z = (theta - mean) / sd
            self.scores[p] = z**2 if of_sd else z / sd
            for q, (other, too) in enumerate(free):
                if k == other:
                    self._by_node[p, q] = 2 * z**2 if of_sd and too else 2 * z / sd
                    if not of_sd and not too:
                        self._by_node[p, q] = sd**-2.0

    def of_first(self, rows: Array) -> Array:
        """Rows of the mean and the log SD of the first group, (2, n); 0 where they are known."""
        found = np.zeros((2, rows.shape[1]))
        for row, (k, of_sd) in zip(rows, self._free, strict=True):
            if k == 0:
                found[int(of_sd)] = row
        return found

    def members(self, some: slice) -> Array:
        """Which of some respondents are in the group of each number, (n, n_free)."""
        return np.asarray(self._groups[some, None] == self._of, dtype=np.float64)

    def information(self, some: slice, counted: Floats) -> Array:
        """Complete-data information from some respondents, whose posteriors are given."""
        if not self.n:
            return np.zeros((0, 0))
        by_node = counted @ self.members(some)
        return np.asarray(np.einsum("pqt,tp->pq", self._by_node, by_node))


class PriorInformation(NamedTuple):
    """Minus the second derivatives of a log prior, all copies of an item together.

    By slope (Rasch: log SD of ability), intercept, logit of guessing, and by what is learned.
    """

    blocks: Array
    """By item, (n_items, k, k)."""
    border: Array
    """Between items and what the prior learns, (n_items, k, n_learned)."""
    corner: Array
    """By what it learns, m and log τ, (n_learned, n_learned)."""


def prior_information(
    prior: Prior | None, parameters: Parameterisation, at: Values, copies: Array | None
) -> PriorInformation:
    """Differentiate the gradient of a log prior by central differences.

    A search steps by a stand-in that is never negative (:class:`.priors.AtPrior`), and far from
    typical values a heavy-tailed density bends the other way. Given m and log τ items are
    independent, so that the slopes of all items move at once, then all intercepts, and so on.
    """
    n_learned, own = parameters.n_hyper, parameters.of_prior(at)
    values = np.stack([part for part in own if part is not None])
    size = len(values)
    blocks = np.zeros((parameters.n_items, size, size))
    border, corner = np.zeros((parameters.n_items, size, n_learned)), np.zeros((n_learned,) * 2)
    if prior is None:
        return PriorInformation(blocks, border, corner)
    learned = np.array([at.hyper.location, at.hyper.log_scale])

    def gradients(moved: Array, hyper: Array) -> tuple[Array, Array]:
        location, log_scale = map(float, hyper)
        found = prior.at(
            Items(*moved),
            Hyper(log_scale, location),
            common_slope=parameters.common_slope,
            copies=copies,
        )
        return found.gradient, found.by_hyper

    def falls(by_items: Array, by_hyper: Array) -> tuple[Array, Array]:
        after, before = (gradients(values + k * by_items, learned + k * by_hyper) for k in (1, -1))
        return before[0] - after[0], before[1] - after[1]

    free = parameters.free
    for k in range(size):
        step = _STEP * (1 + np.abs(values[k]))
        move = step * (np.arange(size) == k)[:, None]
        blocks[free, :, k] = falls(move, np.zeros(2))[0] / (2 * step[:, None])
    for k in range(n_learned):
        step = _STEP * (1 + np.abs(learned[k]))
        by_item, by_hyper = falls(np.zeros_like(values), step * np.eye(2)[k])
        border[free, :, k], corner[:, k] = by_item / (2 * step), by_hyper[:n_learned] / (2 * step)
    blocks = (blocks + blocks.swapaxes(1, 2)) / 2
    if parameters.unit_slopes:  # d/d log σ = σ d/dσ
        sd = at.populations[0].sd
        for part in (blocks, blocks.swapaxes(1, 2), border):
            part[:, 0] *= sd
        blocks[:, 0, 0] -= sd * gradients(values, learned)[0][:, 0]
    return PriorInformation(blocks, border, (corner + corner.T) / 2)


def _from_complete_data(
    patterns: Patterns, items: Items, grid: Grid, moves: Array, *, whole: bool
) -> tuple[Array, Any, Array]:
    """Complete-data information by item, nothing about populations, and the missing information.

    The score is θ·y − θ·P and y − P, in which the functions of θ are the same for all respondents:
    their covariances need only sums over respondents by node and by pair of nodes. ``whole`` says
    that the first moves are those of slopes one by one.
    """
    theta, n_moves = grid.nodes.theta, moves.shape[2]
    dtype = _number_type(patterns) if whole else np.float64
    narrow, of_slopes = theta.astype(dtype), moves[:, 0].astype(dtype)
    one_by_one = whole and np.array_equal(of_slopes[:, : len(of_slopes)], np.eye(len(of_slopes)))
    first = slice(len(of_slopes) if one_by_one else n_moves)
    mass, pairs = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    by_right = np.zeros((len(theta), of_slopes[:, first].shape[1]))
    by_both = np.zeros((by_right.shape[1],) * 2)
    for _, right, _, weights, counted in posterior_weights(patterns, items, grid, dtype):
        along = right if one_by_one else right @ of_slopes
        centred = counted * (narrow[:, None] - narrow @ weights)
        mass += counted.sum(axis=1)
        pairs += counted @ weights.T
        by_right += centred @ along
        np.multiply(along, np.sqrt(np.maximum(narrow @ centred, 0.0))[:, None], out=along)
        by_both += along.T @ along  # of right responses times posterior SDs
    functions, blocks = np.zeros((n_moves, len(theta))), []
    for some in parts_of(len(moves), 2 * len(theta)):
        curves = curves_of(items.chosen(some), theta)
        functions += theta * (moves[some, 0].T @ curves.p) + moves[some, 1].T @ curves.p
        blocks.append(complete_data_information(curvatures(curves, mass[None]), theta))
    missing = functions @ (np.diag(mass) - pairs) @ functions.T
    crossed = functions @ by_right
    missing[:, first] -= crossed
    missing[first] -= crossed.T
    missing[first, first] += by_both
    return np.concatenate(blocks), 0.0, missing


def _from_incomplete_data(
    patterns: Patterns, items: Items, grid: Grid, about: _Populations, moves: Array
) -> tuple[Array, Array, Array]:
    """The same where cells are missing or repeated, items are guessed, or populations free.

    Scores are expanded in polynomials orthonormal under each posterior, of which the linear one has
    nearly all of the covariance and what further ones add falls about geometrically. If it does not
    fall so, the covariance is a sum over nodes, of which there are several times as many.
    """
    n_items, theta, dtype = len(items.slope), grid.nodes.theta, _number_type(patterns)
    narrow, curves = theta.astype(dtype), curves_of(items, theta)
    functions = _score_functions(items, curves, theta, dtype)
    size, scores = 2 if functions[1] is None else 3, about.scores.T.astype(dtype)
    flat = np.zeros((size * n_items + about.n, moves.shape[2]), dtype)
    flat[: size * n_items] = moves.swapaxes(0, 1).reshape(size * n_items, -1)
    flat[size * n_items :, moves.shape[2] - about.n :] = np.eye(about.n)
    turn = None if np.array_equal(flat, np.eye(len(flat))) else flat
    blocks, of_groups = np.zeros((n_items, size, size)), np.zeros((about.n, about.n))
    missing: Any = 0.0
    for part in posterior_weights(patterns, items, grid, dtype):
        some, right, answered, weights, counted = part
        if patterns.sparse:
            right, answered = right.toarray(), answered.toarray()
        responses = counted.sum(axis=1)[:, None] if answered is None else counted @ answered
        of_right = None if size == 2 else (counted @ right).T
        of_part = complete_data_information(curvatures(curves, responses.T, of_right), theta)
        groups_of_part = about.information(some, counted)
        blocks += of_part
        of_groups += groups_of_part
        known = np.append(np.einsum("jkk->kj", of_part).ravel(), np.diag(groups_of_part))
        if turn is not None:
            known = known @ turn
        negligible = _NEGLIGIBLE / (1.0 if answered is None else max(1.0, float(answered.max())))
        along = partial(
            _covariance_along,
            theta=narrow,
            functions=functions,
            tables=(right, answered),
            groups=(about.members(some).astype(dtype), scores),
            moves=turn,
        )
        root = np.sqrt(counted.sum(axis=0))  # of how many respondents share each pattern
        polynomials = enumerate(_orthonormal(weights, narrow))
        steps = (along(weighted * root, linear=k == 0) for k, weighted in polynomials)
        of_missing = _converged_sum(steps, known, negligible)
        if of_missing is None:
            of_missing = np.zeros((len(known),) * 2)
            for weighted in _by_node(weights):
                of_missing += along(weighted * root, linear=True)
        missing = missing + of_missing
    return blocks, of_groups, missing


def _covariance_along(
    weighted: Floats,
    *,
    theta: Floats,
    functions: tuple[Floats, Floats | None],
    tables: tuple[Any, Any],
    groups: tuple[Floats, Floats],
    moves: Floats | None,
    linear: bool,
) -> Floats:
    """Part of the covariance of scores that one function of ability has.

    ``linear`` says whether the function has a covariance with ability itself.
    """
    (by_response, by_right), (right, answered) = functions, tables
    scores = of_responses = _along(weighted, by_response, answered)
    if by_right is not None:
        scores = _along(weighted, by_right, right)
        scores[:, :2] += of_responses
    elif linear:  # the score of a slope has right · θ
        scores[:, 0] += right * (theta @ weighted)[:, None]
    scores = scores.reshape(len(scores), -1)
    members, of_groups = groups
    if members.size:
        scores = np.hstack([scores, members * (weighted.T @ of_groups)])
    if moves is not None:
        scores = scores @ moves
    return np.asarray(scores.T @ scores)


def _converged_sum(steps: Iterable[Floats], known: Array, negligible: float) -> Array | None:
    """Sum of all steps, the last few by how they fall; None if they do not fall to so little.

    Odd and even steps fall geometrically for every parameter, each by factors of its own; what
    would follow has about the correlations of the last step.
    """
    total, left = np.zeros((len(known),) * 2), known.copy()
    falling: list[Array] = []
    for step in steps:
        total += step
        falling.append(np.diag(step).astype(np.float64))
        left -= falling[-1]
        if len(falling) > 2:
            before, last = np.maximum(falling[-3], UNKNOWN), falling[-1]
            fall = np.minimum(last / before, _SLOWEST_FALL)
            rest = (falling[-2] + last) * fall / (1 - fall)
            if (rest / np.maximum(np.abs(left), UNKNOWN)).max() < negligible:
                stretch = np.sqrt(rest / np.maximum(last, UNKNOWN))
                return total + step * np.outer(stretch, stretch)
    return None


def _score_functions(
    items: Items, curves: Curves, theta: Array, dtype: Any
) -> tuple[Floats, Floats | None]:
    """Score of an item as responses · B(θ) + right · A(θ), each (n_nodes, n_parameters, n_items).

    With z = aθ + d it is (right/P − responses) times θs, s and c. Without guessing, where A is
    (θ, 1), only B is returned. What is constant in θ has no covariance: B is left out for c.
    """
    s, p, c = (np.asarray(part.T, dtype=dtype) for part in curves)
    at = theta.astype(dtype)[:, None]
    by_response = np.stack([-at * s, -s], axis=1)
    if items.logit_guessing is None:
        return by_response, None
    return by_response, np.stack([at * s / p, s / p, c / p], axis=1)


def _along(weighted: Floats, functions: Floats, counts: Floats | None) -> Floats:
    """Expectations of functions of ability times a polynomial, times counts of responses.

    Shape (n, n_parameters, n_items).
    """
    n_nodes, n_parameters, _ = functions.shape
    expected = weighted.T @ functions.reshape(n_nodes, -1)
    expected = expected.reshape(len(expected), n_parameters, -1)
    if counts is not None:
        expected *= counts[:, None]
    return expected


def _orthonormal(weights: Floats, theta: Floats) -> Iterator[Floats]:
    """Weights times polynomials 1, 2, … of θ, orthonormal under each column of weights.

    By the recurrence of Lanczos in the polynomials times roots of weights, which stay below 1. A
    posterior on as few nodes as there were polynomials has no more; what is left is rounding.
    """
    root = np.sqrt(weights)
    centred = theta[:, None] - theta @ weights
    now, after, size = root, centred * root, np.ones_like(root[0])
    rounding = len(theta) * np.finfo(weights.dtype).eps
    for _ in range(_MOST_POLYNOMIALS):
        square = (after * after).sum(axis=0)
        kept = square > rounding * size
        norm = np.sqrt(np.where(kept, square, 0.0))
        before, now = now, after * np.divide(1.0, norm, out=np.zeros_like(norm), where=kept)
        yield root * now
        after = centred * now
        drift = (after * now).sum(axis=0)
        after -= drift * now
        after -= norm * before
        size = drift**2 + norm**2


def _by_node(weights: Floats) -> Iterator[Floats]:
    """Weights times functions whose squared covariances sum to the variance: (1ₜ − wₜ)/√wₜ."""
    for t, root in enumerate(np.sqrt(weights)):
        weighted = -root * weights
        weighted[t] += root
        yield weighted


def _in_common(
    patterns: Patterns,
    parameters: Parameterisation,
    items: Items,
    grid: Grid,
    prior: PriorInformation,
) -> tuple[Array, Array, Array]:
    """Directions with an information of 1, complete-data information, and M⁻¹, by item.

    M has the complete-data information of an item less what it misses as abilities follow its own
    responses, and what the prior says. Directions are a common scale, a common location, and how
    items answer to these and to what the prior learns.
    """
    n_items, size = prior.blocks.shape[:2]
    free, own = parameters.free, slice(int(parameters.common_slope), None)
    times = patterns.copies(np.ones(n_items))[:, None, None]
    expected = expected_of(patterns, items, grid, right_too=size == 3)
    system = system_of(items, expected, (1.0, 1.0), patterns.multiplicity)
    blocks = (system.item_blocks + prior.blocks / times)[:, own, own]
    known = np.zeros(n_items, bool)
    known[free] = np.linalg.eigvalsh(blocks[free])[:, 0] > UNKNOWN
    blocks, missing = blocks[known], system.missing_information[known][:, own, own]
    blocks = minus_missing_information(blocks, np.linalg.inv(blocks), missing)
    alone = np.full(prior.blocks.shape, np.nan)
    alone[known] = 0.0
    alone[known, own, own] = inverses = np.linalg.inv(blocks)
    moved = np.zeros((n_items, size, 2))
    moved[:, 0, 0] = moved[:, 1, 1] = items.slope
    coupling = np.concatenate([system.item_blocks @ moved, prior.border / times], axis=2)
    answers = inverses @ coupling[known][:, own]
    spanned = np.concatenate([moved[known][:, own], answers], axis=2)
    gram = np.tensordot(spanned, times[known] * blocks @ spanned, ((0, 1), (0, 1)))
    lengths = np.sqrt(np.diag(gram))
    lengths[lengths == 0] = np.inf
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    kept = values > _SAME
    found = np.zeros((n_items, size, int(kept.sum())))
    found[known, own] = spanned / lengths @ (vectors[:, kept] / np.sqrt(values[kept]))
    return found, times * system.item_blocks, alone


def _missing_along(
    moves: Array, patterns: Patterns, items: Items, grid: Grid, about: _Populations
) -> tuple[Array, Array]:
    """Complete-data information about populations, and missing information along directions.

    Along one the logit of an item moves by m(θ) = θ·slope + intercept, and its score is right · m −
    responses · s·m; with guessing right · (s·m + c·logit)/P − responses · s·m. What is constant in
    θ has no covariance.
    """
    theta, guesses = grid.nodes.theta, items.logit_guessing is not None
    each, curves = np.moveaxis(moves, 2, 0), curves_of(items, theta)
    missing, of_groups = np.zeros((len(each),) * 2), np.zeros((about.n, about.n))
    for part in posterior_weights(patterns, items, grid):
        scores = np.empty((len(each), *part.weights.shape))
        for k, along in enumerate(each):
            moved = curves.s * (np.multiply.outer(along[:, 0], theta) + along[:, 1:2])
            every = moved.sum(axis=0)[:, None]
            scores[k] = -(every if part.answered is None else (part.answered @ moved).T)
            if guesses:
                by_right = (moved + curves.c * along[:, 2:]) / curves.p
                scores[k] += (part.right @ by_right).T
        if not guesses:
            scores += np.multiply.outer((part.right @ moves[:, 0]).T, theta).swapaxes(1, 2)
        if about.n:
            members = about.members(part.respondents).T
            scores[-about.n :] += about.scores[:, :, None] * members[:, None]
            of_groups += about.information(part.respondents, part.counted)
        scores -= np.einsum("rtn,tn->rn", scores, part.weights)[:, None]
        scores *= np.sqrt(part.counted)
        flat = scores.reshape(len(scores), -1)
        missing += flat @ flat.T
    return of_groups, missing


def _number_type(patterns: Patterns) -> Any:
    narrow = patterns.n > _MANY_RESPONDENTS and not patterns.repeated
    return np.float32 if narrow else np.float64
