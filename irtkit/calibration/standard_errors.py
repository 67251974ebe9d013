"""Standard errors of item parameters from the observed information.

The observed information is the complete-data information minus the missing information
Σᵢ Covᵢ[sᵢ(θ)], sᵢ(θ) being the score of the items at ability θ and the covariance that of the
posterior of respondent i (Louis 1982). For ordinary numbers of items the whole matrix is formed;
for many, a block for every item and what they have in common (:mod:`.many_items`). A prior adds
minus its own second derivatives (:mod:`.prior_information`), below 0 as they may be. Where the
information is then that of no maximum, a standard error is NaN.

Sums over many respondents are in 32 bits, and good to some 1e-6. What they make up is taken from
the complete-data information, so that this error grows by one over the share that is left.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.information import UNKNOWN, inverse_of
from irtkit.calibration.many_items import covariances_of_many
from irtkit.calibration.prior_information import PriorInformation
from irtkit.data.patterns import REAL
from irtkit.irf import complete_data_information, curvatures, curves_of
from irtkit.quadrature.engines import posterior_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, Curves, ItemParameters, Items, ModelName
    from irtkit.quadrature import Grid

    Floats = NDArray[np.floating[Any]]

_MOST_DENSE = 300
"""Parameters up to which the information is formed as a whole: inverting it then takes a few ms."""
_MANY_RESPONDENTS = 1500
"""Respondents from which on sums over them are in 32 bits; of fewer they take a few milliseconds.
Posteriors from repeated trials are too narrow for 32 bits."""
_NEGLIGIBLE, _MOST_POLYNOMIALS, _SLOWEST_FALL = 1e-4, 16, 0.9
"""Missing information, by the information that is left about a parameter and by response, that may
be told from how the steps before it fell, instead of computed: standard errors of ten data sets
were then off by 2e-4 of themselves at most (3PL, 5,000 × 50). Beside items so steep that they cut
posteriors in pieces the most polynomials are too few, and nodes take their place: with more the
recurrence loses their orthogonality. A slower fall than the last is taken for that."""


def item_covariances(
    patterns: Patterns,
    items: Items,
    grid: Grid,
    *,
    model: ModelName,
    sds: tuple[float, float],
    prior: PriorInformation | None,
) -> Array:
    """Covariance of (slope, intercept, logit of guessing) of every item, (n_items, k, k).

    For 1PL the slope is the common one; for Rasch it has variance NaN.

    Parameters
    ----------
    sds
        SDs of ability of real and of synthetic respondents.
    prior
        What the prior says about these items and about what it learns with them.
    """
    common_slope, with_guessing = model in {"1PL", "Rasch"}, items.logit_guessing is not None
    n_items, size = len(items.slope), 3 if with_guessing else 2
    if prior is None:
        blocks, coupling = np.zeros((n_items, size, size)), np.zeros((n_items, size, 0))
        prior = PriorInformation(blocks, coupling, np.zeros((0, 0)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if not formed_as_a_whole(items, patterns.n_items):
            found = covariances_of_many(
                patterns, items, grid, prior=prior, sds=sds, common_slope=common_slope
            )
        else:
            simple = patterns.complete and size == 2
            of_data = _from_complete_data if simple else _from_incomplete_data
            narrow = patterns.n > _MANY_RESPONDENTS and not patterns.repeated
            dtype = np.float32 if narrow else np.float64
            blocks, missing = of_data(patterns, items, grid, dtype, common_slope=common_slope)
            if model == "Rasch":  # the slope is 1
                blocks[:, 0], blocks[:, :, 0], missing[0], missing[:, 0] = 0, 0, 0, 0
            information, places = _whole(blocks, prior)
            if common_slope:
                information = _with_common_slope(information, n_items)
                places = np.stack([np.zeros(n_items, int), 1 + np.arange(n_items)], axis=1)
            information[: len(missing), : len(missing)] -= missing
            if model == "Rasch":
                about_sd = _about_latent_sd(patterns, items, grid, sds[REAL])
                information[0, : n_items + 1] += about_sd
                information[1 : n_items + 1, 0] += about_sd[1:]
            found = inverse_of(information)[places[:, :, None], places[:, None, :]]
    if model == "Rasch":
        found[:, 0, 0] = np.nan
    return found


def formed_as_a_whole(items: Items, n_items: int) -> bool:
    """Whether the information about so many items is formed as a whole."""
    return n_items * (2 if items.logit_guessing is None else 3) <= _MOST_DENSE


def of_parameters(
    parameters: ItemParameters,
    model: ModelName,
    covariances: Array,
    stretch: float,
) -> Array:
    """Standard errors of discrimination, difficulty, guessing and intercept, (n_items, 4).

    Delta method: b = −d/a gives ∂b/∂a = −b/a and ∂b/∂d = −1/a; c = σ(γ) gives ∂c/∂γ = c(1 − c).
    ``stretch`` is the factor from the ability of the fit to that of ``parameters``.
    """
    var_slope = covariances[:, 0, 0] / stretch**2
    cov = covariances[:, 0, 1] / stretch
    var_intercept = covariances[:, 1, 1]
    a, b, c = parameters.discrimination, parameters.difficulty, parameters.guessing
    if model == "Rasch":
        var_slope = np.full_like(a, np.nan)
        var_difficulty = var_intercept
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            var_difficulty = (var_intercept + 2 * b * cov + b**2 * var_slope) / a**2
    var_guessing = np.full_like(a, np.nan)
    if model == "3PL":
        var_guessing = (c * (1 - c)) ** 2 * covariances[:, 2, 2]
    variances = np.stack([var_slope, var_difficulty, var_guessing, var_intercept], axis=1)
    return np.sqrt(np.where(variances >= 0, variances, np.nan))


def _from_complete_data(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any, *, common_slope: bool
) -> tuple[Array, Array]:
    """Complete-data information by item, and the missing information, of complete data.

    Without guessing the score is θ·y − θ·P and y − P. With complete data the functions of θ are
    the same for all respondents, so that their covariances need only sums over respondents by node
    and by pair of nodes.
    """
    n_items, theta = len(items.slope), grid.nodes.theta
    narrow = theta.astype(dtype)
    mass, pairs = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    by_right, by_both = np.zeros((len(theta), n_items)), np.zeros((n_items, n_items))
    for _, right, _, weights, counted in posterior_weights(patterns, items, grid, dtype):
        centred = counted * (narrow[:, None] - narrow @ weights)
        mass += counted.sum(axis=1)
        pairs += counted @ weights.T
        by_right += centred @ right
        np.multiply(right, np.sqrt(np.maximum(narrow @ centred, 0.0))[:, None], out=right)
        by_both += right.T @ right  # of right responses times posterior SDs
    curves = curves_of(items, theta)
    functions = np.concatenate([theta * curves.p, curves.p])
    missing = functions @ (np.diag(mass) - pairs) @ functions.T
    crossed = functions @ by_right
    missing[:, :n_items] -= crossed
    missing[:n_items] -= crossed.T
    missing[:n_items, :n_items] += by_both
    if common_slope:
        missing = _with_common_slope(missing, n_items)
    return complete_data_information(curvatures(curves, mass[None]), theta), missing


def _from_incomplete_data(
    patterns: Patterns, items: Items, grid: Grid, dtype: Any, *, common_slope: bool
) -> tuple[Array, Array]:
    """The same where cells are missing or repeated, or items are guessed.

    Scores are expanded in polynomials orthonormal under each posterior, of which the linear one has
    nearly all of the covariance. What further ones add falls about geometrically, for odd and for
    even ones, and they are added until what would follow can be told from that. If it does not fall
    so, the covariance is a sum over nodes, of which there are several times as many.
    """
    n_items, theta = len(items.slope), grid.nodes.theta
    narrow, curves = theta.astype(dtype), curves_of(items, theta)
    by_response, by_right = _score_functions(items, curves, theta, dtype)
    size = 2 if by_right is None else 3
    n_parameters = 1 + n_items if common_slope else size * n_items
    blocks = np.zeros((n_items, size, size))
    missing = np.zeros((n_parameters, n_parameters))
    for part in posterior_weights(patterns, items, grid, dtype):
        right, answered, weights, counted = part[1:]
        if patterns.sparse:
            right, answered = right.toarray(), answered.toarray()
        responses = counted.sum(axis=1)[:, None] if answered is None else counted @ answered
        of_right = None if by_right is None else (counted @ right).T
        of_part = complete_data_information(curvatures(curves, responses.T, of_right), theta)
        blocks += of_part
        known = np.einsum("jkk->kj", of_part)
        known = np.append(known[0].sum(), known[1]) if common_slope else known.ravel()
        negligible = _NEGLIGIBLE / (1.0 if answered is None else max(1.0, float(answered.max())))
        along = partial(
            _covariance_along,
            theta=narrow,
            functions=(by_response, by_right),
            tables=(right, answered),
            common_slope=common_slope,
        )
        root = np.sqrt(counted.sum(axis=0))  # of how many respondents share each pattern
        polynomials = enumerate(_orthonormal(weights, narrow))
        steps = (along(weighted * root, linear=k == 0) for k, weighted in polynomials)
        of_missing = _converged_sum(steps, known, negligible)
        if of_missing is None:
            of_missing = np.zeros_like(missing)
            for weighted in _by_node(weights):
                of_missing += along(weighted * root, linear=True)
        missing += of_missing
    return blocks, missing


def _covariance_along(
    weighted: Floats,
    *,
    theta: Floats,
    functions: tuple[Floats, Floats | None],
    tables: tuple[Any, Any],
    common_slope: bool,
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
    if common_slope:
        scores = np.insert(scores[:, 1], 0, scores[:, 0].sum(axis=1), axis=1)
    scores = scores.reshape(len(scores), -1)
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


def _whole(blocks: Array, prior: PriorInformation) -> tuple[Array, NDArray[np.intp]]:
    """Information of known abilities and the prior, and where each item's is in it, (n_items, k).

    Slopes of all items come first, then intercepts, then logits of guessing, then what the prior
    learns.
    """
    n_items, size, _ = blocks.shape
    places = np.arange(size) * n_items + np.arange(n_items)[:, None]
    information = np.zeros((blocks[..., 0].size + len(prior.corner),) * 2)
    rest = slice(blocks[..., 0].size, None)
    information[places[:, :, None], places[:, None, :]] = blocks + prior.blocks
    information[places, rest] = prior.border
    information[rest] = information[:, rest].T
    information[rest, rest] = prior.corner
    return information, places


def _with_common_slope(information: Array, n_items: int) -> Array:
    """Information about one slope in place of those of all items, which come first."""
    first = [0, *range(n_items, len(information))]
    return np.asarray(np.add.reduceat(np.add.reduceat(information, first, axis=0), first, axis=1))


def _about_latent_sd(patterns: Patterns, items: Items, grid: Grid, sd: float) -> Array:
    """Observed information of log σ (Rasch) with itself and with every intercept.

    The log weight of a node has the derivative h(θ) = θ²/σ² less its mean on the grid; what lies
    beyond the grid counts as in the search.
    """
    square = (grid.nodes.theta / sd) ** 2
    at_nodes = np.exp(grid.log_weights[REAL])
    mean = at_nodes @ square
    variance = at_nodes @ square**2 - mean**2
    s = curves_of(items, grid.nodes.theta).s.T
    total = np.zeros(1 + len(items.slope))
    total[0] = -patterns.n_answering * grid.nodes.log_share_of_normal(sd)[2]
    for some, right, answered, weights, counted in posterior_weights(patterns, items, grid):
        real = patterns.group[some] == REAL
        expected = square @ weights[:, real]
        deviation = counted[:, real] * (square[:, None] - expected)
        total[0] += counted[:, real].sum(axis=0) @ (2 * (expected - mean) + variance)
        total[0] -= (square @ deviation).sum()
        given = np.ones_like(right) if answered is None else answered
        total[1:] += ((deviation @ given[real]) * s).sum(axis=0)
    return total
