"""Parts of a response matrix whose common responses hardly place one beside the other.

Two blocks of respondents with items of their own may be linked, and the links tell little: one
item, one that everybody gets right, or a single cell.

**What links tell.** An item j that two groups of respondents answered, with shares right p and q,
says how far they are apart in logits, logit p − logit q, with information h(n p(1 − p), m q(1 − q))
of n and m responses, h(u, v) = uv/(u + v). The sum I over items is that on the difference of the
groups if all else were known: at most what there is. (Of a network in which each cell conducts by
its information, all of a group are made one node; Doyle & Snell 1984.) Shares of few responses are
drawn towards the item's by one response of that worth.

**What the population tells.** A fit takes all respondents as drawn from one normal distribution,
with SD 1, and would rather have both groups at its mean: that is information h(n, m) on the
difference of n and m respondents. So of a difference it shows about I/(I + h(n, m)): 0.19, 0.30,
0.44, 0.65 and 0.79 where that is 0.16, 0.29, 0.44, 0.61 and 0.76 (1 to 16 items that 160
respondents in two blocks answered), but half as much of 30 respondents, of whom slopes are hardly
known (``benchmarks/warnings_of_fit.py``). Where everybody answers everything I is h(n, m) times ī,
the information on the ability of a respondent; beside that, I/(ī h(n, m)) says how weak links are.

**Which groups** to look at, the weakest cut of the network tells, by the eigenvectors of a random
walk from respondent to item to respondent, the largest eigenvalue, 1, left out (Shi & Malik 2000):
in it items weigh p(1 − p), so that one without variance links nothing. The next eigenvalue is about
1 − I/(ī h(n, m)); where cells are missing at random it is low, and nothing further is looked at.
Else respondents are divided at the wide gaps of an eigenvector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irtkit.data.components import Components, numbered, part_of
from irtkit.data.patterns import REAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array

_LEAST_SHOWN = 0.5
"""Share of a difference below which it is said that parts cannot be compared."""
_WEAK = 0.2
"""I/(ī h) below which links are weak beside what the parts tell of themselves: else all respondents
are known as badly, and nothing is said of parts, as in the fringes of matrices of which hardly a
cell is observed. With 0.25 in its place, 9 of 1,200 matrices with 3 to 20 responses of each
respondent would be divided, with 0.2 3."""
_FEWEST_STEPS, _STEPS, _LEAST_EIGENVALUE = 12, 40, 0.6
"""Lanczos steps, further ones only where the eigenvalue is above that: parts have 0.8 and more.
Missing at random with r responses of every respondent and c to every item leaves
(√(r − 1) + √(c − 1))²/rc, 0.64 for 5 and 5."""
_VECTORS, _GAPS = 3, 8
"""Eigenvectors looked at, and gaps of each: fringes may have some that come before."""
_MOST_PARTS = 16
"""Parts that are divided further."""


class _Division(NamedTuple):
    """Two parts: which respondents and items are of the first, and how weakly they are linked."""

    respondents: NDArray[np.bool_]
    items: NDArray[np.bool_]
    information: float
    """I, on the difference of the parts in logits."""
    within: float
    """ī, on the ability of a respondent by the items of the same part; the less of both."""

    @property
    def _pull(self) -> float:
        """h(n, m) of the numbers of respondents."""
        n = float(self.respondents.sum())
        return max(n * (1 - n / len(self.respondents)), 1e-300)

    @property
    def strength(self) -> float:
        """I/(ī h), 1 where everybody answers everything."""
        return self.information / (self.within * self._pull)

    def shown(self, logits: float) -> float:
        """I/(I + h), of abilities in SDs of so many logits."""
        information = self.information * logits**2
        return information / (information + self._pull)


def weakly_linked(
    patterns: Patterns, components: Components | None, logits: float
) -> Components | None:
    """Components divided further, where they are hardly linked; None where none is.

    ``logits`` is how many logits one SD of ability is.
    """
    if patterns.complete:
        return None
    if components is None:
        answering = patterns.answering
        answered = patterns.margins.item_responses[REAL] > 0
        components = Components(answering.astype(np.int64), answered.astype(np.int64))
    respondents, items = (part.copy() for part in components)
    n_parts, k = components.n, 1
    while k <= min(n_parts, _MOST_PARTS):
        rows, columns = np.flatnonzero(respondents == k), np.flatnonzero(items == k)
        found = _divided(part_of(patterns, rows, columns), logits)
        if found is None:
            k += 1
            continue
        n_parts += 1
        respondents[rows[found.respondents]] = items[columns[found.items]] = n_parts
    return numbered(respondents, items) if n_parts > components.n else None


def _divided(patterns: Patterns, logits: float) -> _Division | None:
    """The most weakly linked parts, if any are linked so weakly that they are parts."""
    if patterns.complete:
        return None
    weak = (
        found
        for found in _divisions(patterns)
        if found.shown(logits) < _LEAST_SHOWN and found.strength < _WEAK
    )
    return min(weak, key=lambda found: found.strength, default=None)


def _divisions(patterns: Patterns) -> Iterator[_Division]:
    """Parts on either side of the wide gaps of eigenvectors, of which something is known."""
    for value, tell in slow_directions(patterns):
        ordered = np.sort(value[tell])
        gaps = np.diff(ordered)
        for at in np.argsort(-gaps, kind="stable")[:_GAPS]:
            first = tell & (value > (ordered[at] + ordered[at + 1]) / 2)
            found = _division(patterns, first, tell)
            if found.within > 0:
                yield found


def slow_directions(patterns: Patterns) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Values of respondents that the walk changes least, and whether the responses of one tell any.

    All respondents are real. None come where cells are missing as if at random.
    """
    share = _share(patterns)
    by_item = share * (1 - share)
    own = patterns.response_scores(by_item)
    tell = own > 0
    n_tell = np.maximum(patterns.response_sums(tell.astype(np.float64)), 1)
    root = np.sqrt(own)
    scale = np.divide(1, root, out=np.zeros_like(root), where=tell)

    def step(x: Array) -> Array:
        back = by_item / n_tell * patterns.response_sums(scale * x)
        return np.asarray(scale * patterns.response_scores(back))

    start = np.random.default_rng(0).normal(size=patterns.n) * tell
    for vector in _eigenvectors(step, start, root):
        yield vector * scale, tell


def _eigenvectors(step: Callable[[Array], Array], start: Array, known: Array) -> Iterator[Array]:
    """Those of the largest eigenvalues, by Lanczos' method, beside one that is known.

    None where the largest one is so low that no parts are to be found.
    """
    basis = [known / max(float(np.linalg.norm(known)), 1e-300)]
    vector, diagonal, beside = start, list[float](), list[float]()
    for n in range(1, min(_STEPS, len(start) - 1) + 1):
        for _ in range(2):  # once leaves rounding errors that grow
            vector = vector - np.transpose(basis) @ (np.asarray(basis) @ vector)
        size = float(np.linalg.norm(vector))
        if size < 1e-9:  # nothing is left
            break
        beside.append(size)
        basis.append(vector / size)
        vector = step(basis[-1])
        diagonal.append(float(basis[-1] @ vector))
        if n == _FEWEST_STEPS and _spectrum(diagonal, beside)[0].max() < _LEAST_EIGENVALUE:
            return
    if diagonal:
        values, vectors = _spectrum(diagonal, beside)
        if values.max() >= _LEAST_EIGENVALUE:
            yield from (np.transpose(basis[1:]) @ vectors[:, ::-1][:, :_VECTORS]).T


def _spectrum(diagonal: list[float], beside: list[float]) -> tuple[Array, Array]:
    """Eigenvalues, the largest last, and eigenvectors of the tridiagonal matrix of Lanczos."""
    matrix = np.diag(diagonal) + np.diag(beside[1:], 1) + np.diag(beside[1:], -1)
    found = np.linalg.eigh(matrix)
    return found.eigenvalues, found.eigenvectors


def information_between(
    patterns: Patterns, first: NDArray[np.bool_]
) -> tuple[float, Array, NDArray[np.bool_]]:
    """I of a group of respondents and all others.

    With it come p(1 − p) of items by group, (2, n_items), and whether an item is of the group: it
    goes with those who say more of it.
    """
    ones = first.astype(np.float64)
    answered, right = patterns.response_sums(ones), patterns.right_sums(ones)
    all_right, responses = (counts[REAL] for counts in patterns.margins[:2])
    n = np.stack([answered, responses - answered])
    p = (np.stack([right, all_right - right]) + _share(patterns)) / (n + 1)
    by_response = p * (1 - p)
    one, other = n * by_response
    both = float((one * other / np.maximum(one + other, 1e-300)).sum())
    return both, by_response, np.where(one + other > 0, one > other, n[0] > n[1])


def _division(patterns: Patterns, first: NDArray[np.bool_], tell: NDArray[np.bool_]) -> _Division:
    """Respondents of a group and all others, with their items.

    Who answered no item that tells anything goes with most of the items answered.
    """
    linking, by_response, items = information_between(patterns, first)
    within = min(
        float(patterns.response_scores(of_response * kept)[who].sum() / max(who.sum(), 1))
        for of_response, kept, who in (
            (by_response[0], items, first),
            (by_response[1], ~items, tell & ~first),
        )
    )
    answered = patterns.response_scores(items.astype(np.float64))
    mostly = 2 * answered > patterns.margins.respondent_responses
    return _Division(np.where(tell, first, mostly), items, linking, within)


def _share(patterns: Patterns) -> Array:
    """Share right of every item."""
    responses = np.maximum(patterns.margins.item_responses[REAL], 1)
    return np.asarray(patterns.margins.item_right[REAL] / responses)
