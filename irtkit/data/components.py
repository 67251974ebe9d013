"""Parts of a response matrix that share no response.

Respondents and items are linked by responses. Where they fall into several connected components,
nothing tells how the abilities of one compare with those of another: each has a scale of its own,
and a fit puts them all at mean 0. Links that tell next to nothing are another matter, that of
:mod:`irtkit.data.weak_links`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.data.patterns import REAL, Patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from irtkit.data.patterns import Places

_ONE_BY_ONE = 8
"""Components that are found by going to and fro: products with the matrix are fast, but each finds
one. A graph of the cells finds all at once, and takes 8 bytes and more for each."""


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
    a few products with the matrix; then those of what is left. Where there are many, the rest is
    made a graph.
    """
    if patterns.complete:
        return None
    responses = patterns.margins.item_responses[REAL]
    rows = np.flatnonzero(patterns.answering)
    columns = np.flatnonzero(responses)
    places = (np.zeros(patterns.n, np.int64), np.zeros(len(responses), np.int64))
    for k in range(1, _ONE_BY_ONE + 1):
        part = part_of(patterns, rows, columns)
        who, items = _linked(part, int(responses[columns].argmax()))
        places[0][rows[who]] = places[1][columns[items]] = k
        rows, columns = rows[~who], columns[~items]
        if not len(rows):
            break
    else:
        found = _labels(part_of(patterns, rows, columns))
        places[0][rows] = _ONE_BY_ONE + found[: len(rows)]
        places[1][columns] = _ONE_BY_ONE + found[len(rows) :]
    return numbered(*places) if places[1].max() > 1 else None


def numbered(respondents: NDArray[np.int64], items: NDArray[np.int64]) -> Components:
    """The same components, numbered from 1 by how many respondents they have, then items."""
    places = respondents, items
    sizes = np.stack([np.bincount(part, minlength=2)[1:] for part in places])
    rank = np.zeros(sizes.shape[1] + 1, np.int64)
    rank[1 + np.lexsort(-sizes[::-1])] = np.arange(1, len(rank))
    return Components(*(rank[part] for part in places))


def part_of(patterns: Patterns, rows: Places, columns: Places) -> Patterns:
    """Some respondents and items, all of the former real; the same where it is all."""
    n, m = patterns.cells.shape
    if (len(rows), len(columns)) == (n, m):
        return patterns
    cells, trials = (
        None if table is None else table[np.ix_(rows, columns)]
        for table in (patterns.cells, patterns.trials)
    )
    return Patterns(cells, trials, patterns.group[rows])


def _linked(patterns: Patterns, first: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which respondents and items are linked to an item; all respondents are real."""
    items, before = np.arange(patterns.cells.shape[1]) == first, 0
    while items.sum() > before:
        before = items.sum()
        who = patterns.response_scores(items.astype(np.float64)) > 0.5
        items = patterns.response_sums(who.astype(np.float64)) > 0.5
    return who, items


def _labels(patterns: Patterns) -> NDArray[np.int64]:
    """Number of the component of every respondent, then of every item, from 1."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    links: Any = patterns.cells if patterns.trials is None else patterns.trials
    if not patterns.sparse:
        links = csr_array(links >= 0 if patterns.trials is None else links > 0)
    n, m = links.shape
    starts = np.append(links.indptr, np.full(m, links.nnz))
    graph = csr_array((np.ones(links.nnz, np.int8), links.indices + n, starts), (n + m, n + m))
    found: NDArray[np.int64] = connected_components(graph, directed=False)[1].astype(np.int64)
    return found + 1
