"""Parts of a response matrix that share no response.

Respondents and items are linked by responses. Where they fall into several connected components,
nothing tells how the abilities of one compare with those of another: each has a scale of its own,
and a fit puts them all at mean 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.patterns import REAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.patterns import Patterns, Places


class Components(NamedTuple):
    """To which component respondents and items belong: 1 has the most respondents, 0 is none."""

    respondents: NDArray[np.int64]
    """Shape (n_respondents,); 0 for the synthetic ones and those without a response."""
    items: NDArray[np.int64]
    """Shape (n_items,); 0 for those that no real respondent answered."""

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.items.max())


def components_of(patterns: Patterns) -> Components | None:
    """Connected components of the real respondents and the items; None where there is but one.

    Those linked to the item with the most responses are found by going to and fro, which takes
    a few products with the matrix; only what is then left is made a graph.
    """
    if patterns.complete:
        return None
    answering = patterns.real & (patterns.margins.respondent_responses > 0)
    responses = patterns.margins.item_responses[REAL]
    answered = responses > 0
    items, before = np.arange(len(responses)) == responses.argmax(), 0
    while items.sum() > before:
        before = items.sum()
        who = answering & (patterns.response_scores(items.astype(np.float64)) > 0.5)
        items = patterns.response_sums(who.astype(np.float64)) > 0.5
    rest, left = np.flatnonzero(answering & ~who), np.flatnonzero(answered & ~items)
    if not len(rest):
        return None
    places = (np.zeros(patterns.n, np.int64), np.zeros(len(responses), np.int64))
    places[0][who] = places[1][items] = 1
    found = _labels(patterns, rest, left)
    places[0][rest], places[1][left] = 2 + found[: len(rest)], 2 + found[len(rest) :]
    sizes = np.stack([np.bincount(part, minlength=3)[1:] for part in places])
    rank = np.empty(sizes.shape[1] + 1, np.int64)
    rank[0] = 0
    rank[1 + np.lexsort(-sizes[::-1])] = np.arange(1, len(rank))
    return Components(*(rank[part] for part in places))


def _labels(patterns: Patterns, rows: Places, columns: Places) -> NDArray[np.int64]:
    """Number of the component of some respondents, then of some items, from 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    cells: Any = patterns.cells if patterns.trials is None else patterns.trials
    links = cells[rows][:, columns]
    if not patterns.sparse:
        links = csr_array(links >= 0 if patterns.trials is None else links > 0)
    n = len(rows) + len(columns)
    starts = np.append(links.indptr, np.full(len(columns), links.nnz))
    graph = csr_array((np.ones(links.nnz, np.int8), links.indices + len(rows), starts), (n, n))
    found: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return found
