"""Items asked one after another, each the one that will tell most about the score."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_number, check_one_of
from irtkit.scoring.misfit import added_variance, expected_scores, nodes_for
from irtkit.selection.sequential import State
from irtkit.selection.subset import Selection, select_items

if TYPE_CHECKING:
    from irtkit.calibration.result import FitResult
    from irtkit.irf import Array, ItemParameters
    from irtkit.patterns import Places
    from irtkit.scoring.misfit import Cells

ORDERS = ("adaptive", "fixed")
_MOST = 240
"""Respondents on whom adaptive tests are tried by cross-validation, drawn at random of more: their
error is told to 5 %, and 100 items of 200 are asked of them in some seconds."""
_LEAST = 1e-12
"""Least probability of an answer: no answer makes all abilities impossible."""


class Tried(NamedTuple):
    """What became of tests of held-out respondents."""

    misfit: Array
    """Variance of the score that the model does not explain, after 0, 1, … items, (k + 1,)."""
    error: float
    """Root mean square error of scores after k items."""
    fixed_error: float
    """The same of the first k items of the ranking, for the same respondents."""


class Pool:
    """Items that may be asked, and what cross-validation says of tests with them."""

    def __init__(self, selection: Selection) -> None:
        self.selection, self.k = selection, len(selection.items)
        bank = selection.bank
        self.places = bank.ranking(2 * self.k, selection.allowed)
        labels = selection.result.item_labels
        self.labels = [labels[place] for place in bank.known[self.places]]
        self.p, self.start = _at_nodes(bank.items, self.places)

    @cached_property
    def tried(self) -> Tried:
        """Tests of held-out respondents, some of them."""
        selection = self.selection
        folds = selection.held
        n = sum(len(fold.rows) for fold in folds)
        share = min(1.0, _MOST / n)
        generator = np.random.default_rng(selection.seed)
        errors, variances, fixed = [], [], []
        for fold in folds:
            enough = selection.cells.answered[fold.rows][:, fold.ranking].sum(axis=1) >= self.k
            size = max(1, round(share * len(fold.rows)))
            cells = selection.cells.chosen(generator.permutation(fold.rows[enough])[:size])
            if not len(cells.right):
                continue
            path, variance = _simulated(fold.items, cells, fold.ranking, self.k)
            errors.append(path - cells.score)
            variances.append(variance)
            of_first = expected_scores(fold.items, cells, fold.ranking[: self.k])
            fixed.append(of_first.score - cells.score)
        if not errors:
            raise ValueError(
                f"no respondent of the fit answered {self.k} of the {len(self.places)} items that "
                "may be asked, so that nothing tells how tests err; take a smaller k"
            )
        error, variance = np.concatenate(errors, axis=1), np.concatenate(variances, axis=1)
        misfit = [added_variance(e, v) for e, v in zip(error, variance, strict=True)]
        rms = (float(np.sqrt(np.mean(e**2))) for e in (error[-1], np.concatenate(fixed)))
        return Tried(np.array(misfit), *rms)


class AdaptiveTest:
    """A test of one respondent; made by :func:`irtkit.adaptive`.

    Attributes
    ----------
    order
        "adaptive", or "fixed" where the items are asked in the order of the ranking.
    asked, answers
        Labels of the items asked so far, and the answers to them.
    """

    def __init__(self, pool: Pool, order: str, wanted: float | None, level: float) -> None:
        self.order, self.asked, self.answers = order, [], []  # type: tuple[str, list[str], list[int]]
        self._pool, self._wanted, self._level = pool, wanted, level
        self._state = _begun(pool.start, 1, np.ones((1, len(pool.places)), dtype=np.bool_))
        self._misfit = _misfit_curve(pool, order)

    @property
    def done(self) -> bool:
        """Whether k items were asked, or the error is no larger than wanted."""
        if len(self.asked) >= self._pool.k:
            return True
        return self._wanted is not None and self.error <= self._wanted

    @property
    def next_item(self) -> str | None:
        """Label of the item to ask next; None when the test is done."""
        return None if self.done else self._pool.labels[self._next]

    @property
    def _next(self) -> int:
        if self.order == "fixed":
            return len(self.asked)
        return int(self._state.next_items(self._pool.p)[0])

    def answer(self, right: bool) -> None:  # noqa: FBT001  # the one thing that an answer is
        """Take the answer to :attr:`next_item`: True or 1 if it is right, False or 0 if not.

        Raises
        ------
        ValueError
            If the answer is neither right nor wrong, or the test is done.
        """
        if right not in (0, 1):
            raise ValueError(f"an answer must be True or False (1 or 0), got {right!r}")
        if self.done:
            raise ValueError("the test is done: no item is waiting for an answer")
        place = self._next
        self.asked.append(self._pool.labels[place])
        self.answers.append(int(right))
        given = np.array([float(right)])
        self._state = self._state.after(np.array([place]), given, self._pool.p)

    @property
    def expected_score(self) -> float:
        """Share right of all items, told from the answers so far."""
        return float(self._state.expected[0]) / self._n_items

    @property
    def error(self) -> float:
        """Its standard error: of ability, of each answer not seen, and of misfit."""
        variance = self._state.variance[0] / self._n_items**2
        return float(np.sqrt(variance + self._misfit[len(self.asked)]))

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the score with the coverage that was asked for."""
        from scipy.special import ndtri

        half = float(ndtri((1 + self._level) / 2)) * self.error
        return max(0.0, self.expected_score - half), min(1.0, self.expected_score + half)

    @property
    def _n_items(self) -> int:
        return len(self._pool.selection.bank.known)

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"AdaptiveTest({len(self.asked)} of at most {self._pool.k} items, {self.order}: score "
            f"{self.expected_score:.3f} [{low:.3f}, {high:.3f}])"
        )


def adaptive(
    items: FitResult | Selection,
    k: int | None = None,
    *,
    error: float | None = None,
    order: str | None = None,
    level: float = 0.95,
) -> AdaptiveTest:
    """Begin a test that asks each item in the light of the answers before.

    Parameters
    ----------
    items
        What :func:`irtkit.fit` returned, with its responses; or what :func:`irtkit.select_items`
        did, which spares the tests that follow the cross-validation of the first.
    k
        Most items to ask. Each is one of the first 2k of the ranking of
        :func:`irtkit.select_items`, and the one after which the variance of the score is expected
        to be least; over the whole bank such a rule asks steep items that say the same. Of a
        Selection it is the number of its items.
    error
        Standard error of the score, as a share of all items, at which to stop before: 0.03 is
        three percentage points. None asks k items.
    order
        "adaptive", or "fixed" to ask the first k of the ranking in its order. None: what errs less
        with k items on held-out families of respondents; a warning says so if that is "fixed".
    level
        Coverage of the interval.

    Returns
    -------
    AdaptiveTest
        ``next_item`` is the label of the item to ask, ``answer(True)`` takes its answer, ``done``
        says when to stop; ``expected_score``, ``error`` and ``interval`` are of the share right of
        all items. The error holds misfit, cross-validated with calibration, choice and tests
        repeated without each fold of families, of respondents like the calibrated ones.

    Raises
    ------
    TypeError, ValueError
        As :func:`irtkit.select_items`, or if an argument is out of range.

    Warns
    -----
    UserWarning
        If items asked in a fixed order err less.

    Examples
    --------
    >>> import numpy as np, irtkit
    >>> items = irtkit.ItemParameters.from_difficulty(np.ones(60), np.linspace(-2, 2, 60))
    >>> responses = irtkit.simulate_responses(items, np.linspace(-2, 2, 120), seed=1)
    >>> test = irtkit.adaptive(irtkit.fit(responses), 20, error=0.08, order="adaptive")
    >>> while not test.done:  # test.next_item is the label of the item to ask
    ...     test.answer(len(test.asked) % 3 > 0)
    >>> test
    AdaptiveTest(14 of at most 20 items, adaptive: score 0.642 [0.486, 0.799])
    """
    if isinstance(items, Selection):
        if k is not None and k != len(items.items):
            raise ValueError(f"k is the number of items selected, {len(items.items)}; got {k}")
        selection = items
    else:
        if k is None:
            raise ValueError("k must be given: the most items to ask")
        selection = select_items(items, k)
    if selection.design is not None:
        raise ValueError("items drawn at random have no ranking; select with design=None")
    if error is not None:
        error = check_number("error", error, above=0)
    level = check_number("level", level, above=0, below=1)
    if order is not None:
        check_one_of("order", order, ORDERS)
    pool = _pool_of(selection)
    if order is None:
        order = "adaptive" if pool.tried.error <= pool.tried.fixed_error else "fixed"
        if order == "fixed":
            warnings.warn(
                f"the first {pool.k} items are asked in the order of the ranking: on held-out "
                f"respondents they err by {100 * pool.tried.fixed_error:.2f} percentage points, "
                f"and items chosen one by one by {100 * pool.tried.error:.2f}",
                UserWarning,
                stacklevel=2,
            )
    return AdaptiveTest(pool, order, error, level)


def _pool_of(selection: Selection) -> Pool:
    """The pool of a selection, made once."""
    kept = vars(selection)
    if "pool" not in kept:
        kept["pool"] = Pool(selection)
    pool: Pool = kept["pool"]
    return pool


def _at_nodes(items: ItemParameters, pool: Places) -> tuple[Array, Array]:
    """P(right) of the pool at the nodes; and their weight, and Σ P and Σ P(1 − P) of all items."""
    nodes = nodes_for(items.chosen(pool))
    p = items.probability(nodes.theta)
    weight = np.exp(nodes.normal_log_weights(1.0))
    start = np.stack([weight, p.sum(axis=1), (p * (1 - p)).sum(axis=1)])
    return np.clip(p[:, pool], _LEAST, 1 - _LEAST), start


def _begun(start: Array, n: int, left: Any) -> State:
    weight, by_node, noise = (np.repeat(part[None], n, axis=0) for part in start)
    return State(weight, by_node, noise, np.zeros(n), left)


def _simulated(items: ItemParameters, cells: Cells, pool: Places, k: int) -> tuple[Array, Array]:
    """Scores and their variances after 0, 1, …, k items, (k + 1, n), of tests of respondents.

    Scores are of the items that each answered, and only these are asked: k or more of the pool.
    """
    p, start = _at_nodes(items, pool)
    answered = cells.answered
    n, n_items = len(answered), answered.sum(axis=1)
    state = _begun(start, n, answered[:, pool] > 0)
    if (answered == 0).any():
        nodes = nodes_for(items.chosen(pool))
        of_all = items.probability(nodes.theta).T
        rest = answered @ of_all, answered @ (of_all * (1 - of_all))
        state = state._replace(by_node=rest[0], noise=rest[1])
    right, everyone = cells.right[:, pool].astype(np.float64), np.arange(n)
    path = [(state.expected, state.variance)]
    for _ in range(k):
        asked = state.next_items(p)
        state = state.after(asked, right[everyone, asked], p)
        path.append((state.expected, state.variance))
    scores, variances = np.array(path).transpose(1, 0, 2)
    return scores / n_items, variances / n_items**2


def _misfit_curve(pool: Pool, order: str) -> Array:
    """Variance that the model does not explain, after 0, 1, …, k items."""
    if order == "adaptive":
        return pool.tried.misfit
    table = pool.selection.table
    return np.asarray(np.interp(np.arange(pool.k + 1), table.index, table["misfit"] ** 2))
