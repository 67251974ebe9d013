"""Items asked one after another, each the one that will tell most about the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import as_number, check_number, check_one_of, check_type, short
from irtkit.findings import Finding, warn
from irtkit.scoring.scores import bounded
from irtkit.selection.subset import Selection, select_items
from irtkit.suspects.families import dense_responses

if TYPE_CHECKING:
    from irtkit.selection.pool import Pool

ORDERS = ("adaptive", "fixed")


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
        self._state, self._misfit = pool.begun(), pool.misfit(order)

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

    def answer(self, right: int) -> None:
        """Take the answer to :attr:`next_item`: True or 1 if it is right, False or 0 if not.

        Raises
        ------
        ValueError
            If the answer is neither right nor wrong, or the test is done.
        """
        if not isinstance(right, bool | np.bool_) and as_number(right) not in {0, 1}:
            raise ValueError(f"an answer must be True or False (1 or 0), got {short(right)}")
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
        return float(self._state.expected[0]) / self._pool.n_items

    @property
    def error(self) -> float:
        """Its standard error: of ability, of each answer not seen, and of misfit."""
        variance = self._state.variance[0] / self._pool.n_items**2
        return float(np.sqrt(variance + self._misfit[len(self.asked)]))

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the score with the coverage that was asked for.

        It stays within what the answers so far leave possible.
        """
        from scipy.special import ndtri

        half = np.array([float(ndtri((1 + self._level) / 2)) * self.error])
        n_asked, score = np.array([len(self.asked)]), np.array([self.expected_score])
        _, low, high = bounded(self._state.right, n_asked, self._pool.n_items, score, half)
        return float(low[0]), float(high[0])

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
    irtkit.IRTWarning
        Code "fixed-order", if items asked in a fixed order err less.

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
        check_type("items", items, FitResult)
        dense_responses(items, "adaptive")
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
    pool = selection.pool
    if order is None:
        order = "adaptive" if pool.tried.error <= pool.tried.fixed_error else "fixed"
        if order == "fixed":
            errors = {"fixed": pool.tried.fixed_error, "adaptive": pool.tried.error}
            warn(Finding("fixed-order", "warning", {"n": pool.k, **errors}))
    return AdaptiveTest(pool, order, error, level)
