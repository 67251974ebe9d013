"""How well responses link respondents who answered different items.

**Components** share no response, or only items that everybody gets right or wrong. Nothing shows
how the abilities of one compare with those of another.

**Gaps.** A fit takes all respondents for one normal population, which shrinks a gap between groups
that have few items in common. Let x with Σ x = 0 and |x| = 1 contrast respondents by the items they
answered, and let abilities be N(γ x, 1). With W the information of cells, R and C its sums by
respondent and by item, L = R − W C⁻¹ Wᵀ is the information on abilities if difficulties are free.
With λ = xᵀLx posterior means show the part λ/(1 + λ) of γ, and z = |xᵀθ̂| √((1 + λ)/λ) is the score
test of γ = 0. Links are weakest along the slowest eigenvectors of R^(−½) L R^(−½) (Shi & Malik
2000). If earlier responses chose the items, as in an adaptive test, x depends on them and no gap is
lost (Mislevy & Wu 1996), which these numbers cannot know.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, part_of
from irtkit.irf import EXTREME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ItemParameters

_FLATTENED = (16 * math.sqrt(3) / 15 / math.pi) ** 2  # Of a², in the slope of a mean of curves.
_SLOW, _MOST_SLOW, _ACCURACY = (
    0.5,
    3,
    0.01,
)  # Eigenvalues looked at.
_DENSE = 20  # Respondents up to which all eigenvectors are computed: ARPACK keeps as many.
_SHOWN, _LOST, _HARDLY = 0.85, 0.15, 0.5  # Shown of a shrunk gap, SDs lost; shown of two parts.
_BY_CHANCE, _SURELY_SEEN = 0.01, 4.5  # Level over all x; expected z that is hardly ever missed.
_NO_INFORMATION = 1e-9  # Least λ: differences of nearly equal sums may be below 0.


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

    def is_significant(self, n: int) -> bool:
        """Whether there is a gap that loses what matters, one of n tested."""
        from scipy.special import ndtri

        matters = _LOST < self.unshrunken - self.size < EXTREME  # abilities do not span more
        return matters and self.z > -float(ndtri(_BY_CHANCE / n / 2))

    @property
    def exceeds_error(self) -> bool:
        """Whether a gap of 1 SD loses more than the standard error of a difference."""
        return 1 - self.shown > math.sqrt(2 / (1 + self.within))

    @property
    def might_be_missed(self) -> bool:
        """Whether a gap of 1 SD matters and might not be significant."""
        return self.expected_z < _SURELY_SEEN and self.exceeds_error


class Connectivity(NamedTuple):
    """What keeps abilities from being compared; by default nothing."""

    components: Components | None = None  # Or the two sides of a gap that hardly shows.
    linked: bool = False  # Whether components have responses in common.
    gap: Gap | None = None  # A gap that is shrunk or might be missed, unless it makes components.
    significant: bool = False  # Whether there is that gap.


def connectivity_of(
    patterns: Patterns,
    parameters: ItemParameters,
    ability: Array,
    sd: float,
    fixed: NDArray[np.bool_] | None = None,
) -> Connectivity:
    """Find components, or else the gap between respondents that matters most.

    ``ability`` is in SDs of the population, each ``sd`` units of the items; ``fixed`` says which
    items are held, which puts them on one scale.
    """
    if patterns.complete:
        return Connectivity()
    right, responses = (counts[REAL] for counts in patterns.margins[:2])
    fixed = np.zeros(len(responses), np.bool_) if fixed is None else fixed
    information = _information(parameters, sd, right / np.maximum(responses, 1))
    for linked, items in ((False, responses > 0), (True, information > 0)):
        if components := _components(patterns, items, fixed):
            return Connectivity(components, linked)
    who = np.flatnonzero(patterns.real & (patterns.response_scores(information) > 0))
    if not len(who):
        return Connectivity()
    some, ability = part_of(patterns, who, np.arange(len(responses))), ability[who]

    def gap_along(x: Array) -> Gap:
        x = (x - x.mean()) / np.linalg.norm(x - x.mean())
        known, within = _known(some, parameters, sd, fixed, x)
        shown, apart = known / (1 + known), x[x > 0].mean() - x[x < 0].mean()
        s, root, of_all = abs(float(x @ ability)), math.sqrt(shown), np.zeros(patterns.n)
        of_all[who] = x
        return Gap(of_all, shown, s * apart, s / root, root / apart, within)

    found = [gap_along(x) for x in _slow_contrasts(some, information, fixed)]
    found = [gap for gap in found if gap.shown < _SHOWN]
    sure = [gap for gap in found if gap.is_significant(len(found))]
    said = sure + [gap for gap in found if gap.might_be_missed]
    if not said:
        return Connectivity()
    weakest = min(said, key=lambda gap: gap.shown)
    ordered = np.sort(weakest.x[who])
    widest = np.diff(ordered).argmax()
    sides = gap_along(np.sign(weakest.x[who] - ordered[widest : widest + 2].mean()))
    if sides.shown < _HARDLY and sides.exceeds_error:
        side = np.sign(sides.x) * (-1 if np.sign(sides.x).sum() < 0 else 1)
        of_items = np.where(responses > 0, 1 + (patterns.response_sums(side) < 0), 0)
        of_respondents = np.select([side > 0, side < 0], [1, 2])
        return Connectivity(Components(of_respondents, of_items), linked=True)
    gap = max(sure, key=lambda gap: gap.z, default=weakest)
    return Connectivity(gap=gap, significant=bool(sure))


def _components(
    patterns: Patterns, items: NDArray[np.bool_], fixed: NDArray[np.bool_]
) -> Components | None:
    """Connected components of real respondents and some items; None if there is at most one."""
    reached, before = items & (np.cumsum(items) == 1), 0
    while reached.sum() > before:  # a graph of all cells takes many times their memory
        before = reached.sum()
        who = patterns.real & (patterns.response_scores(reached.astype(np.float64)) > 0)
        reached = items & (patterns.response_sums(who.astype(np.float64)) > 0)
        reached |= items & fixed & (reached & fixed).any()
    if reached.sum() == items.sum():
        return None
    from scipy.sparse import block_array, csr_array, vstack
    from scipy.sparse.csgraph import connected_components

    linking = patterns.response_scores(items.astype(np.float64)) > 0
    rows, columns = np.flatnonzero(patterns.real & linking), np.flatnonzero(items)
    part = part_of(patterns, rows, columns)
    cells: Any = part.cells >= 0 if part.trials is None else part.trials > 0
    links = vstack([csr_array(cells), csr_array(fixed[None, columns])])
    graph: Any = block_array([[None, links], [links.T, None]])  # type: ignore[arg-type]
    label = connected_components(graph, directed=False)[1]
    of_rows, of_columns = label[: len(rows)], label[len(rows) + 1 :]
    sizes = [np.bincount(of, minlength=label.max() + 1) for of in (of_columns, of_rows)]
    number = np.argsort(np.lexsort([-size for size in sizes])) + 1
    respondents, of_items = np.zeros(patterns.n, np.int64), np.zeros(len(items), np.int64)
    respondents[rows], of_items[columns] = number[of_rows], number[of_columns]
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    of_respondents = respondents.astype(np.float64)
    mean, square = (patterns.response_sums(of_respondents**k) / responses for k in (1, 2))
    alone = ~items & (mean**2 == square)  # answered in one component only
    return Components(respondents, np.where(alone, mean, of_items).astype(np.int64))


def _information(parameters: ItemParameters, sd: float, p: Array) -> Array:
    """Of a response on ability, in SDs, by item: a²(p − c)²(1 − p)/(p(1 − c)²) at a share right p.

    It is less as abilities spread, over which p is a mean.
    """
    a, c = parameters.discrimination * sd, parameters.guessing
    risen = a * np.maximum(p - c, 0) / (1 - c)
    found = risen**2 * (1 - p) / np.maximum(p, 1e-300) / np.sqrt(1 + _FLATTENED * a**2)
    return np.asarray(np.nan_to_num(found))


def _known(
    patterns: Patterns, parameters: ItemParameters, sd: float, fixed: NDArray[np.bool_], x: Array
) -> tuple[float, float]:
    """xᵀLx and xᵀRx, with the share right of each side."""
    right, responses = (counts[REAL] for counts in patterns.margins[:2])
    overall, sums = right / np.maximum(responses, 1), np.zeros((3, len(right)))
    for side in (x < 0, x > 0):
        n, first, second = (patterns.response_sums(side * x**power) for power in range(3))
        share = (patterns.right_sums(side.astype(np.float64)) + overall) / (n + 1)
        sums += _information(parameters, sd, share) * np.stack([n, first, second])
    shared = np.divide(sums[1] ** 2, sums[0], out=np.zeros(len(right)), where=sums[0] > 0)
    within = float(sums[2].sum())
    return max(within - float(shared[~fixed].sum()), _NO_INFORMATION), within


def _slow_contrasts(
    patterns: Patterns, information: Array, fixed: NDArray[np.bool_]
) -> Iterator[Array]:
    """R^(−½) times the slowest eigenvectors, but for the one that is the same for everybody."""
    own = patterns.response_scores(information)
    scale, constant = 1 / np.sqrt(own), np.sqrt(own / own.sum())
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    shared = np.where(fixed, 0.0, information / responses)

    def product(v: Array) -> Array:
        v = v - constant * (constant @ v)
        w = scale * patterns.response_scores(shared * patterns.response_sums(scale * v))
        return np.asarray(v + w - constant * (constant @ w))  # 2 less the eigenvalue

    if (n := patterns.n) <= _DENSE:
        values, vectors = np.linalg.eigh(np.array([product(unit) for unit in np.eye(n)]))
        values, vectors = values[-_MOST_SLOW:], vectors[:, -_MOST_SLOW:]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh

        matrix, start = LinearOperator((n, n), product, dtype=float), np.random.default_rng(0)
        values, vectors = eigsh(
            matrix, _MOST_SLOW, which="LA", v0=start.normal(size=n), tol=_ACCURACY
        )
    yield from (scale * vectors.T)[values > 2 - _SLOW]
