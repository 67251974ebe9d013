"""What limits the result of a fit, as the responses show it.

Whether respondents differ in ability at all, who only guesses, whether responses link all
respondents, and whether one ability explains them (``benchmarks/false_findings.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.near_duplicates import spread_items
from irtkit.data.patterns import REAL, drawn, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from irtkit.data.near_duplicates import NearDuplicates
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters

    Floats = NDArray[np.float32]

_USUAL = 0.5  # Variance that abilities add, relative to V² − Σ(p(1 − p))²: (0.8 · 0.9)² for SD 0.8.
_LEVEL, _LEAST = 0.05, 3  # Of both tests; respondents, as two have only one difference.


def no_ability_differences(patterns: Patterns, n_eff: float) -> bool:
    """Whether accuracies vary as by chance, and less than abilities with an SD of 0.8 would make.

    The second condition keeps a test without power from finding that abilities do not differ. If
    abilities are equal, the number right r of a respondent has mean M = Σp and variance V = Σp(1 −
    p) over the items answered. The mean of (r − M)²/V then follows χ²/ν with the same variance
    (Cochran 1950, Satterthwaite 1946).
    """
    margins = patterns.margins
    share = margins.item_right[REAL] / np.maximum(margins.item_responses[REAL], 1)
    of_items = share * (1 - share)
    variance = patterns.response_scores(of_items)
    tested = patterns.real & (variance > 0)
    deviation = (margins.respondent_right - patterns.response_scores(share))[tested]
    squares = patterns.response_scores(of_items**2)[tested]
    variance = variance[tested]
    inflation = 1 + _USUAL * (variance - squares / variance)
    if len(variance) < _LEAST or inflation.max() <= 1:  # one item has one variance
        return False
    mean_square = float((deviation**2 / variance).mean())
    spread = 2 + (variance - 6 * squares) / variance**2
    spread_by_chance = float(spread.mean())
    usual = float(inflation.mean())
    usual_spread = float((spread * inflation**2).mean())
    if mean_square >= usual:  # beyond the mean, which is above the median
        return False
    from scipy.special import chdtr

    n = max(n_eff, 2.0)

    def below(expected: float, variance: float) -> float:
        """Probability of a smaller mean square from n independent respondents."""
        freedom = 2 * expected**2 * (n - 1) / variance
        return float(chdtr(freedom, freedom * mean_square / expected))

    return below(1.0, spread_by_chance) < 1 - _LEVEL and below(usual, usual_spread) < _LEVEL


_NORMAL = NormalDist()


@dataclass(frozen=True)
class _Chance:
    """What makes respondents guessers (``benchmarks/false_findings.py``)."""

    quantile: float = 2.33  # 99 % quantile of the normal distribution.
    fewest_items: int = 20  # Of a respondent who is judged.
    fewest: int = 2  # Respondents who are told.
    least_share: float = 0.1  # Of all respondents.
    balanced: float = 0.15  # Distance of accuracies of constant answers from one half.
    most_below: float = 0.1  # Share of respondents below the rarer class.
    joint_items: int = 40  # Common items of a pair with opposite answers.
    agreement: float = 0.05  # Agreement of these: 10⁻⁹ by chance.
    most_compared: int = 300  # Respondents compared in pairs.
    most_items: int = 1000  # Items on which they are compared.


_CHANCE = _Chance()


class AtChance(NamedTuple):
    """Respondents who score no better than guessing, with the evidence."""

    rows: NDArray[np.intp]
    level: float  # Accuracy of guessing on the items that these answered.
    highest: float  # Accuracy of the best of them.
    opposite: bool  # Whether two options are inferred from opposite answers.


def at_chance(patterns: Patterns, item_table: Any = None) -> AtChance | None:
    """Real respondents at chance, if they are enough to matter.

    Guessing among m options gets 1/m right. At chance is who has a number right below the 99 %
    quantile of guessing, and an accuracy at most a quarter of the way from guessing to 1. If the
    numbers of options are not known, two are inferred from opposite answers: systems with an
    accuracy of about one half are right exactly where others are wrong. Hardly any system may then
    be less accurate than the rarer class. ``item_table`` belongs to the responses. Its column
    n_options is used where it exists.
    """
    guess = np.zeros(patterns.n_items)  # Share of guesses that are right; 0 where not known.
    if item_table is not None and "n_options" in item_table:
        import pandas as pd

        n = pd.to_numeric(item_table["n_options"], errors="coerce")
        n = n.to_numpy(np.float64, na_value=0)
        np.divide(1, n, out=guess, where=n > 1)
    inferred = not guess.any()
    guess = guess + 0.5 * inferred
    guessed = (guess > 0).astype(np.float64)
    asked = patterns.response_scores(guessed)
    expected = patterns.response_scores(guess)
    reach = _CHANCE.quantile * np.sqrt(patterns.response_scores(guess * (1 - guess)))
    judged = patterns.real & (asked >= _CHANCE.fewest_items)
    accuracy = patterns.scores(guessed) / np.maximum(asked, 1)
    limit = (expected + np.minimum(reach, (asked - expected) / 4)) / np.maximum(asked, 1)
    if inferred:
        near = judged & (abs(accuracy - 0.5) <= _CHANCE.balanced)
        rows = np.flatnonzero(near)
        rows = rows[:: max(-(-len(rows) // _CHANCE.most_compared), 1)]
        items = slice(None, None, -(-patterns.n_items // _CHANCE.most_items))
        share, tried = patterns.shares(rows, items, np.float32)
        answered = np.minimum(tried, 1)
        sign = 2 * share - answered  # 1 where right, −1 where wrong
        joint = answered @ answered.T
        alike = (joint + sign @ sign.T) / 2
        is_opposite = (joint >= _CHANCE.joint_items) & (alike <= _CHANCE.agreement * joint)
        opposite = rows[is_opposite.any(axis=1)]
        if not len(opposite):
            return None
        limit = np.maximum(limit, accuracy[opposite].max())
        if (judged & (accuracy < 1 - limit)).sum() > _CHANCE.most_below * near.sum():
            return None
    rows = np.flatnonzero(judged & (accuracy <= limit))
    if len(rows) < max(_CHANCE.fewest, _CHANCE.least_share * patterns.n_answering):
        return None
    level = expected[rows].sum() / asked[rows].sum()
    return AtChance(rows, float(level), float(accuracy[rows].max()), inferred)


_FLATTENED = (16 * math.sqrt(3) / 15 / math.pi) ** 2  # Of a², in the slope of a mean of curves.


@dataclass(frozen=True)
class _Gaps:
    """What makes a gap worth telling (``benchmarks/false_findings.py``)."""

    vectors: int = 16  # By which eigenvalues are found.
    slow: float = 0.5  # Largest eigenvalue of a contrast that is looked at.
    shown: float = 0.85  # Share of a gap below which it counts as shrunk.
    lost: float = 0.15  # SDs that shrinking takes off, at least.
    hardly_shown: float = 0.5  # Share below which the sides are called parts.
    level: float = 0.01  # Of the score test.
    surely_seen: float = 4.5  # Expected z that is hardly ever missed.


_GAPS = _Gaps()


class Components(NamedTuple):
    """Component of every respondent and item: 1 has the most respondents, 0 means none."""

    respondents: NDArray[np.int64]  # 0 for synthetic ones and those without a response that links.
    items: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of components."""
        return int(self.items.max())


class Gap(NamedTuple):
    """A contrast of respondents by the items they answered, and how far abilities show it."""

    x: Array  # Below 0 on one side, above 0 on the other; (n_respondents,).
    shown: float  # Share of a gap that abilities show, λ/(1 + λ).
    size: float  # Difference of the means of the sides, as fitted, in SDs of ability.
    z: float  # Score test of no gap.
    expected_z: float  # Mean of z if the gap is 1 SD.
    within: float  # Information on the ability of a respondent.

    @property
    def unshrunken(self) -> float:
        """The gap if the population did not shrink it."""
        return self.size / self.shown

    @property
    def is_significant(self) -> bool:
        """Whether there is a gap that loses what matters."""
        matters = self.unshrunken - self.size > _GAPS.lost
        return matters and self.z > -_NORMAL.inv_cdf(_GAPS.level / 2)

    @property
    def exceeds_error(self) -> bool:
        """Whether a gap of 1 SD loses more than the standard error of a difference."""
        return 1 - self.shown > math.sqrt(2 / (1 + self.within))

    @property
    def might_be_missed(self) -> bool:
        """Whether a gap of 1 SD matters and might not be significant."""
        return self.expected_z < _GAPS.surely_seen and self.exceeds_error


class Connectivity(NamedTuple):
    """What keeps abilities from being compared. The default is nothing."""

    components: Components | None = None  # Or the two sides of a gap that hardly shows.
    linked: bool = False  # Whether components have responses in common.
    gap: Gap | None = None  # A gap that is shrunk or might be missed, unless it makes components.


def connectivity_of(
    patterns: Patterns,
    parameters: ItemParameters,
    ability: Array,
    sd: float,
    fixed: NDArray[np.bool_] | None = None,
) -> Connectivity:
    """Find components, or else the gap between respondents that matters most.

    Components share no response, or only items that everybody gets right or wrong. A fit takes all
    respondents for one normal population, which shrinks a gap between groups with few items in
    common. Let x with Σx = 0 and |x| = 1 contrast respondents by the items they answered, and let
    abilities be N(γx, 1). Let W be the information of the cells, with sums R by respondent and C by
    item. L = R − W C⁻¹ Wᵀ is the information on abilities if difficulties are free. With λ = xᵀLx
    posterior means show the part λ/(1 + λ) of γ, and z = |xᵀθ̂| √((1 + λ)/λ) is the score test of γ
    = 0. Links are weakest along the slowest eigenvector of R^(−½) L R^(−½) (Shi & Malik 2000).
    Where earlier responses chose the items, no gap is lost (Mislevy & Wu 1996).

    ``ability`` is in SDs of the population, each ``sd`` units of the items. ``fixed`` marks items
    with held parameters, which are on one scale.
    """
    if patterns.complete:
        return Connectivity()
    right = patterns.margins.item_right[REAL]
    responses = patterns.margins.item_responses[REAL]
    fixed = np.zeros(len(responses), np.bool_) if fixed is None else fixed
    information = _information(parameters, sd, right / np.maximum(responses, 1))
    for linked, items in ((False, responses > 0), (True, information > 0)):
        components = _components(patterns, items, fixed)
        if components is not None:
            return Connectivity(components, linked)
    who = np.flatnonzero(patterns.real & (patterns.response_scores(information) > 0))
    if not len(who):
        return Connectivity()
    tested = part_of(patterns, who, np.arange(len(responses)))

    def gap_along(contrast: Array) -> Gap:
        x = contrast - contrast.mean()
        x /= np.linalg.norm(x)
        free, within = _information_along(tested, parameters, sd, fixed, x)
        shown = free / (1 + free)
        root = math.sqrt(shown)
        distance = x[x > 0].mean() - x[x < 0].mean()
        projection = abs(float(x @ ability[who]))
        of_all = np.zeros(patterns.n)
        of_all[who] = x
        size = projection * distance
        return Gap(of_all, shown, size, projection / root, root / distance, within)

    contrast = _slowest_contrast(tested, information, fixed)
    if contrast is None:
        return Connectivity()
    gap = gap_along(contrast)
    if gap.shown >= _GAPS.shown or not (gap.is_significant or gap.might_be_missed):
        return Connectivity()
    ordered = np.sort(gap.x[who])
    widest = np.diff(ordered).argmax()
    sides = gap_along(np.sign(gap.x[who] - ordered[widest : widest + 2].mean()))
    if sides.shown < _GAPS.hardly_shown and sides.exceeds_error:
        side = np.sign(sides.x)
        if side.sum() < 0:
            side = -side
        of_items = np.where(responses > 0, 1 + (patterns.response_sums(side) < 0), 0)
        of_respondents = np.select([side > 0, side < 0], [1, 2])
        return Connectivity(Components(of_respondents, of_items), linked=True)
    return Connectivity(gap=gap)


def _components(
    patterns: Patterns, items: NDArray[np.bool_], fixed: NDArray[np.bool_]
) -> Components | None:
    """Connected components of real respondents and some items, or None if there is at most one."""
    of_respondents = np.zeros(patterns.n, np.int64)
    of_items = np.zeros(len(items), np.int64)
    n_components = 0
    while (left := items & (of_items == 0)).any():
        n_components += 1
        reached = left & (np.cumsum(left) == 1)
        n_reached = 0
        while reached.sum() > n_reached:  # a graph of all cells takes many times their memory
            n_reached = reached.sum()
            linked = patterns.real & (patterns.response_scores(reached.astype(np.float64)) > 0)
            reached = items & (patterns.response_sums(linked.astype(np.float64)) > 0)
            reached |= items & fixed & (reached & fixed).any()
        of_items[reached] = n_components
        of_respondents[linked] = n_components
    if n_components < 2:
        return None
    sizes = (np.bincount(numbers)[1:] for numbers in (of_items, of_respondents))
    order = np.lexsort([-size for size in sizes])  # the most respondents first
    number = np.concatenate([[0], 1 + np.argsort(order)])
    of_respondents = number[of_respondents]
    of_items = number[of_items]

    # Items that do not link belong to the only component in which they were answered.
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    numbers = of_respondents.astype(np.float64)
    mean = patterns.response_sums(numbers) / responses
    square = patterns.response_sums(numbers**2) / responses
    of_one = ~items & (mean**2 == square)
    return Components(of_respondents, np.where(of_one, mean, of_items).astype(np.int64))


def _information(parameters: ItemParameters, sd: float, p: Array) -> Array:
    """Information of a response on ability: a²(p − c)²(1 − p)/(p(1 − c)²) at a proportion p.

    It is less as abilities spread, over which p is a mean.
    """
    a = parameters.discrimination * sd
    c = parameters.guessing
    risen = a * np.maximum(p - c, 0) / (1 - c)
    flatter = np.sqrt(1 + _FLATTENED * a**2)
    return np.asarray(np.nan_to_num(risen**2 * (1 - p) / np.maximum(p, 1e-300) / flatter))


def _information_along(
    patterns: Patterns, parameters: ItemParameters, sd: float, fixed: NDArray[np.bool_], x: Array
) -> tuple[float, float]:
    """xᵀLx and xᵀRx, at the proportion correct of each side."""
    right = patterns.margins.item_right[REAL]
    responses = patterns.margins.item_responses[REAL]
    overall = right / np.maximum(responses, 1)
    moments = np.zeros((3, len(right)))  # Information times 1, x and x², by item.
    for side in (x < 0, x > 0):
        n, first, second = (patterns.response_sums(side * x**power) for power in range(3))
        share = (patterns.right_sums(side.astype(np.float64)) + overall) / (n + 1)
        moments += _information(parameters, sd, share) * np.stack([n, first, second])
    weight, first, second = moments
    shared = np.divide(first**2, weight, out=np.zeros(len(right)), where=weight > 0)
    within = float(second.sum())
    return max(within - float(shared[~fixed].sum()), 1e-9), within  # differences of sums err


def _slowest_contrast(
    patterns: Patterns, information: Array, fixed: NDArray[np.bool_]
) -> Array | None:
    """R^(−½) times the slowest eigenvector, but for the one that is the same for everybody.

    None if it is not slow.
    """
    by_respondent = patterns.response_scores(information)
    scale = 1 / np.sqrt(by_respondent)
    constant = np.sqrt(by_respondent / by_respondent.sum())
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    shared = np.where(fixed, 0.0, information / responses)

    def product(v: Array) -> Array:
        v = v - constant * (constant @ v)
        w = scale * patterns.response_scores(shared * patterns.response_sums(scale * v))
        return np.asarray(v + w - constant * (constant @ w))  # 2 less the eigenvalue

    values, vectors = largest_eigenvectors(product, patterns.n, _GAPS.vectors)
    return scale * vectors[-1] if values[-1] > 2 - _GAPS.slow else None


def largest_eigenvectors(
    product: Callable[[Array], Array], n: int, most: int
) -> tuple[Array, Array]:
    """Largest eigenvalues of a symmetric matrix, rising, with their eigenvectors as rows.

    By its products with the vectors of a Krylov space, ``most`` of them (Rayleigh & Ritz).
    """
    most = min(most, n)
    vector = np.random.default_rng(0).standard_normal(n)
    length = np.linalg.norm(vector)
    basis, images = np.zeros((2, most, n))
    for k in range(most):
        basis[k] = vector / length
        images[k] = product(basis[k])
        vector = images[k]
        so_far = basis[: k + 1]
        for _ in range(2):  # once leaves rounding errors along what has converged
            vector = vector - (so_far @ vector) @ so_far
        length = np.linalg.norm(vector)
        if length < 1e-6 * np.linalg.norm(images[0]):  # few eigenvalues differ
            break
    basis = basis[: k + 1]
    values, vectors = np.linalg.eigh(basis @ images[: k + 1].T)
    return values, vectors.T @ basis


@dataclass(frozen=True)
class _OneAbility:
    """How data are tested for one ability (``benchmarks/false_findings.py``)."""

    most_items: int = 512  # Looked at.
    most_cells: int = 2**18  # Looked at.
    rare: float = 0.05  # Least proportion correct of an item, and incorrect.
    least_responses: int = 10  # Of an item, and of a respondent.
    least_respondents: int = 30  # Fewer show too little.
    least_items: int = 20  # Fewer show too little.
    per_kink: int = 20  # Responses of an item for each kink of its curve.
    least_kinks: int = 2  # Of a curve.
    most_kinks: int = 8  # Of a curve.
    least_square: float = 0.02  # Mean square of residuals.
    ridge: float = 1e-3  # Responses added at kinks and to items.
    screen: float = 2.02  # 99 % quantile of the law of Tracy and Widom.
    draws: int = 50  # At most.
    first_draws: int = 5  # For a standard deviation.
    few_products: int = 128  # Rows up to which all eigenvalues are found.
    vectors: int = 40  # By which the largest of 512 eigenvalues is found to 1e-5.
    sure: float = 3.0  # Standard errors of a mean of draws at which they end.
    far: float = 2.0  # Multiples of a bound at which draws end.


_ONE_ABILITY = _OneAbility()
BOUND = 3.53  # (99.9 % quantile − mean) / SD of the law of Tracy and Widom.
BOUND_OF_SQUARES = 5.0  # Data of one ability with an SD of 3 (60 × 200) reach 4.
_BOUNDS = np.array([BOUND, BOUND_OF_SQUARES])
_LEAST_SDS = np.array([1.27, 1.0])  # Of both statistics by theory.


class Dimensionality(NamedTuple):
    """Excess of both statistics over their means under one ability, in standard deviations."""

    eigenvalue: float  # Of the largest eigenvalue: a further ability.
    squares: float  # Of the squares of all eigenvalues: a further ability, or groups of items.


def dimensionality(patterns: Patterns, duplicates: NearDuplicates) -> Dimensionality | None:
    """Test whether one ability explains the responses, and return None if it may.

    Residuals of the items' curves in a score of the respondents are scaled to a mean square of 1 in
    every item and respondent. With one ability the largest eigenvalue of their products follows the
    law of Tracy and Widom (Johnstone 2001), and their sum of squares John's test (Wang & Yao 2013).
    Both screen only: draws from the fitted curves decide. One respondent of each family of
    near-duplicates is tested.
    """
    excess = _excess(cells_tested(patterns))
    if excess is not None and duplicates.matter:
        distinct = part_of(patterns, duplicates.distinct, np.arange(patterns.n_items))
        excess = _excess(cells_tested(distinct))
    return excess


def _excess(cells: tuple[Floats, Floats] | None) -> Dimensionality | None:
    """Excess of both statistics over draws, in SDs, or None if both are within the bounds.

    Draws end when those to come would hardly change the decision: below a bound by three standard
    errors of the mean of draws, or beyond twice a bound.
    """
    if cells is None:
        return None
    right, tried = cells
    observed, expected = statistics_of(right, tried)
    eigenvalue, squares = observed
    if eigenvalue <= _ONE_ABILITY.screen and squares <= 0:
        return None
    generator = np.random.default_rng(0)
    drawn = np.empty((_ONE_ABILITY.draws, 2))
    for n in range(1, _ONE_ABILITY.draws + 1):
        if tried.max() > 1:
            trials = np.maximum(np.rint(tried), 1).astype(np.int64)  # scores count for 7.3, say
            again = (generator.binomial(trials, expected) * (tried / trials)).astype(np.float32)
        else:
            again = (generator.random(expected.shape, np.float32) < expected) * tried
        drawn[n - 1] = statistics_of(again, tried)[0]
        above = observed - drawn[:n].mean(axis=0)
        if (above < _LEAST_SDS * (_BOUNDS - _ONE_ABILITY.sure / n**0.5)).all():
            return None
        if n >= _ONE_ABILITY.first_draws:
            sd = np.maximum(drawn[:n].std(axis=0, ddof=1), _LEAST_SDS)
            z = above / (sd * (1 + 1 / n) ** 0.5)
            if (z > _ONE_ABILITY.far * _BOUNDS).any():
                break
    return Dimensionality(*z.tolist()) if (z > _BOUNDS).any() else None


def cells_tested(patterns: Patterns) -> tuple[Floats, Floats] | None:
    """Right responses and responses of the cells tested, or None if they are too few."""
    items = spread_items(patterns, _ONE_ABILITY.most_items, _ONE_ABILITY.rare)
    most = _ONE_ABILITY.most_cells // max(len(items), 1)
    who = drawn(np.flatnonzero(patterns.answering), most)
    right, tried = patterns.dense(who, items, np.float32)
    answered = (tried > 0).astype(np.float32)
    rows = answered.sum(axis=1) >= _ONE_ABILITY.least_responses
    columns = rows @ answered >= _ONE_ABILITY.least_responses
    n_right = rows @ right
    columns &= (n_right > 0) & (n_right < rows @ tried)
    if rows.sum() < _ONE_ABILITY.least_respondents or columns.sum() < _ONE_ABILITY.least_items:
        return None
    rows &= answered @ columns > 0  # some answered only items that were left out
    if rows.all() and columns.all():
        return right, tried
    tested = np.ix_(rows, columns)
    return right[tested], tried[tested]


def statistics_of(right: Floats, tried: Floats) -> tuple[NDArray[np.float64], Floats]:
    """The two statistics, and the proportions correct that the curves expect."""
    n, m = right.shape
    basis = _basis(_scores(right, tried), float(np.median(tried.sum(axis=0))))
    expected = basis @ _curves(right, tried, basis).T
    np.clip(expected, 0, 1, out=expected)

    # Residuals with a mean square of 1 in every item and respondent.
    residual = right - tried * expected
    if tried.max() > 1:
        residual /= np.sqrt(np.maximum(tried, 1))
    answered = (tried > 0).astype(np.float32)
    for axis, size in enumerate((n, m)):
        squares = np.square(residual).sum(axis=axis, keepdims=True)
        least = _ONE_ABILITY.least_square * answered.sum(axis=axis, keepdims=True)
        residual *= np.sqrt(size / np.maximum(squares, least))

    rows = n - basis.shape[1]
    columns = m - 1
    total = float(np.vdot(residual, residual))
    if total < 1e-6 * residual.size:  # the curves fit perfectly
        return np.zeros(2), expected
    products = residual @ residual.T if n < m else residual.T @ residual
    products *= rows * columns / total

    # Johnstone's edge and width of the largest eigenvalue, and the mean of John's statistic.
    root = (rows - 1) ** 0.5
    other_root = columns**0.5
    edge = (root + other_root) ** 2
    width = (root + other_root) * (1 / root + 1 / other_root) ** (1 / 3)
    if len(products) > _ONE_ABILITY.few_products:
        values, _ = largest_eigenvectors(
            lambda v: products @ v.astype(np.float32), len(products), _ONE_ABILITY.vectors
        )
    else:
        values = np.linalg.eigvalsh(products)
    eigenvalue = (values[-1] - edge) / width
    sum_of_squares = np.square(products, dtype=np.float64).sum()
    beyond = sum_of_squares / (rows * columns) - (rows + columns + 1)
    return np.array([eigenvalue, beyond / 2]), expected


def _scores(right: Any, tried: Any) -> Any:
    """Scores of respondents with the best weights of items, whose slopes are in a plain score."""
    of_item = tried.sum(axis=0)
    of_respondent = tried.sum(axis=1)
    right_of_item = right.sum(axis=0)
    right_of_respondent = right.sum(axis=1)
    share = right_of_item / np.maximum(of_item, 1)
    variance = np.maximum(share * (1 - share), _ONE_ABILITY.least_square)
    ease = share
    if tried.min() < tried.max():  # effects in the additive model of respondents and items
        shares = tried / of_respondent[:, None]
        normal = np.diag(of_item + _ONE_ABILITY.ridge).astype(np.float64) - tried.T @ shares
        excess = right_of_item - shares.T @ right_of_respondent
        ease = np.linalg.solve(normal, excess).astype(np.float32)
    score = (right_of_respondent - tried @ ease) / of_respondent
    ease = ease + score.mean()
    score = (score - score.mean()) / max(float(score.std()), 1e-6)
    slope = score @ right - (score @ tried) * ease
    slope /= np.maximum(score**2 @ tried, 1e-6)
    weight = slope / variance
    information = tried @ (slope * weight)
    return (right @ weight - tried @ (ease * weight)) / np.maximum(information, 1e-6)


def _basis(score: Any, n_responses: float) -> Any:
    """A line with kinks in the score, orthogonal, with a mean square of 1.

    Half of those for a kink lie beyond each outermost kink. The others are at quantiles that
    are evenly spaced in a normal score. Evenly spaced quantiles would leave too few kinks among the
    few respondents who get an easy item wrong.
    """
    fewest = _ONE_ABILITY.least_kinks
    most = _ONE_ABILITY.most_kinks
    n = int(np.clip(n_responses // _ONE_ABILITY.per_kink, fewest, most))
    last = _NORMAL.inv_cdf(min(_ONE_ABILITY.per_kink / 2 / n_responses, 0.25))
    shares = [_NORMAL.cdf(place) for place in np.linspace(last, -last, n)]
    kinks = np.unique(np.quantile(score, shares))
    bent = np.maximum(score[:, None] - kinks, 0)
    columns = np.column_stack([np.ones_like(score), score, bent])
    return (np.linalg.qr(columns)[0] * len(score) ** 0.5).astype(np.float32)


def _curves(right: Any, tried: Any, basis: Any) -> Any:
    """Coefficients of every item, by least squares."""
    sums = right.T @ basis
    n, n_functions = basis.shape
    if tried.min() == tried.max():  # the basis is orthogonal, with a mean square of 1
        return sums / (tried[0, 0] * n)
    first, second = np.triu_indices(n_functions)
    products = tried.T @ (basis[:, first] * basis[:, second])
    squares = np.empty((right.shape[1], n_functions, n_functions), np.float32)
    squares[:, first, second] = products
    squares[:, second, first] = products
    squares += _ONE_ABILITY.ridge * np.eye(n_functions, dtype=np.float32)
    return np.linalg.solve(squares, sums[:, :, None])[:, :, 0]
