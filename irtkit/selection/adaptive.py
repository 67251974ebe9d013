"""Items asked one after another, each chosen to give the most information about the score.

After the answers so far, the number right of all items has the variance Var[M(θ)] + E[V(θ)] over
the posterior of ability. M and V are the sums of P and P(1 − P) over the items not asked. The next
item is the one after which the expectation of this variance over the answer is least. With several
abilities the posterior is normal, and so is the item that leaves the least variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.abilities.bank import ItemBank, number_right
from irtkit.abilities.engine import probabilities
from irtkit.capabilities import require
from irtkit.checks import as_number, check_number, check_one_of, short
from irtkit.findings import Finding, warn
from irtkit.fitting import result_for
from irtkit.quadrature.posterior import Posterior, nodes_for
from irtkit.scoring.scores import added_variance, bounded, expected_scores
from irtkit.selection.subset import SIZES, Selection, root_mean_square, select_items

if TYPE_CHECKING:
    from collections.abc import Container

    from irtkit.abilities.engine import Normals
    from irtkit.calibration.result import FitResult
    from irtkit.data.patterns import Places
    from irtkit.irf import Array, ItemParameters

ORDERS = ("adaptive", "fixed")
_LEAST = 1e-12  # Least probability of an answer: no answer makes all abilities impossible.


class State(NamedTuple):
    """What is known of n respondents."""

    posterior: Posterior  # Of n respondents.
    by_node: Array  # M at every node, (n, n_nodes).
    noise: Array  # V at every node.
    right: Array  # Right answers so far, (n,).
    left: Any  # Which items of the pool can be asked, (n, n_pool).
    p: Array  # P(right) of the pool at every node, (n_nodes, n_pool).

    @classmethod
    def begun(cls, items: ItemParameters, pool: Places, answered: Array) -> State:
        """State before the first item."""
        nodes = nodes_for(items.chosen(pool))
        of_all = items.probability(nodes.theta)
        n = len(answered)
        variance = of_all * (1 - of_all)
        return cls(
            posterior=Posterior.of(np.zeros((n, len(nodes.theta))), nodes),
            by_node=answered @ of_all.T,
            noise=answered @ variance.T,
            right=np.zeros(n),
            left=answered[:, pool] > 0,
            p=np.clip(of_all[:, pool], _LEAST, 1 - _LEAST),
        )

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of the number of right answers to all items, (n,) each."""
        mean, variance = self.posterior.number_right(self.by_node, self.noise)
        return self.right + mean, variance

    @property
    def criterion(self) -> Array:
        """Variance that each item of the pool is expected to leave, infinite if it was asked."""
        posterior = self.posterior.weights
        p = self.p
        weighed = posterior * self.by_node
        right = posterior @ p
        of_item = posterior @ p**2
        with_item = weighed @ p
        # M without the item, over the posterior and if the item is right
        square = (weighed * self.by_node).sum(axis=1, keepdims=True)
        square = square - 2 * with_item + of_item
        if_right = with_item - of_item
        if_wrong = weighed.sum(axis=1, keepdims=True) - right - if_right
        noise = (posterior * self.noise).sum(axis=1, keepdims=True)
        noise = noise - (right - of_item)
        explained = if_right**2 / np.maximum(right, 1e-300)
        explained += if_wrong**2 / np.maximum(1 - right, 1e-300)
        return np.where(self.left, square - explained + noise, np.inf)

    def after(self, items: Any, answers: Array) -> State:
        """Return what is known after the answers (0 to 1) to an item each."""
        asked = self.p[:, items].T
        right = answers[:, None]
        likelihood = right * asked + (1 - right) * (1 - asked)
        left = self.left.copy()
        left[np.arange(len(left)), items] = False
        return self._replace(
            posterior=self.posterior.after(likelihood),
            by_node=self.by_node - asked,
            noise=self.noise - asked * (1 - asked),
            right=self.right + answers,
            left=left,
        )


class StateOfSeveral(NamedTuple):
    """What is known of n respondents with several abilities, each with a normal posterior."""

    items: Normals  # All of them.
    pool: Places
    bank: ItemBank  # The items of the pool.
    abilities: Normals
    share: Array  # Proportion right of the answers to the pool, (n, n_pool), 0 where missing.
    asked: Array  # 1 where an item of the pool was asked, (n, n_pool).
    unasked: Array  # 1 where an item counts and was not asked, (n, n_items).
    left: Any  # Which items of the pool can be asked, (n, n_pool).

    @classmethod
    def begun(cls, items: ItemBank, pool: Places, answered: Array) -> StateOfSeveral:
        """State before the first item."""
        bank = items.chosen(pool)
        nothing = np.zeros((len(answered), len(pool)))
        abilities = bank.posteriors(nothing, nothing)
        left = answered[:, pool] > 0
        of_all = items.fitted.known_items
        return cls(of_all, pool, bank, abilities, nothing, nothing, answered.astype(float), left)

    @property
    def right(self) -> Array:
        """Right answers so far, (n,)."""
        return self.share.sum(axis=1)

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of the number of right answers to all items, (n,) each."""
        mean, variance = number_right(self.abilities, self.items, self.unasked)
        return self.right + mean, variance

    @property
    def criterion(self) -> Array:
        """Change of the variance with each item of the pool, infinite if it was asked.

        The number right changes with abilities by g = Σ w a over the items not asked, w = P(1 − P).
        An answer to an item with slopes a takes w aa' off the inverse of their covariance V.
        """
        covariance = self.abilities.leading_covariance
        slopes = self.items.leading
        p = probabilities(self.abilities, self.items)
        weight = p * (1 - p)
        by_ability = (self.unasked * weight) @ slopes
        along = np.einsum("nij,nj->ni", covariance, by_ability)
        of_pool = slopes[self.pool]
        weight = weight[:, self.pool]
        with_score = along @ of_pool.T  # a'Vg
        own_variance = ((of_pool @ covariance) * of_pool).sum(axis=2)  # a'Va
        of_itself = weight * own_variance
        with_rest = with_score - of_itself
        explained = weight * with_rest**2 / (1 + of_itself)
        change = weight * (of_itself - 2 * with_score - 1) - explained
        return np.where(self.left, change, np.inf)

    def after(self, items: Any, answers: Array) -> StateOfSeveral:
        """Return what is known after the answers (0 to 1) to an item each."""
        rows = np.arange(len(answers))
        share = self.share.copy()
        asked = self.asked.copy()
        unasked = self.unasked.copy()
        left = self.left.copy()
        share[rows, items] = answers
        asked[rows, items] = 1
        unasked[rows, self.pool[items]] = 0
        left[rows, items] = False
        abilities = self.bank.posteriors(share, asked, self.abilities)
        return self._replace(
            abilities=abilities, share=share, asked=asked, unasked=unasked, left=left
        )


def begun(
    items: ItemParameters | ItemBank, pool: Places, answered: Array
) -> State | StateOfSeveral:
    """State before the first item. Items ``answered``, (n, n_items), count and can be asked."""
    if isinstance(items, ItemBank):
        return StateOfSeveral.begun(items, pool, answered)
    return State.begun(items, pool, answered)


class Tried(NamedTuple):
    """Results of tests of held-out respondents."""

    misfit: Array  # Variance that the model does not explain, after 0, 1, … items, (k + 1,).
    error: float  # Root mean square error of scores after k items.
    fixed_error: float  # The same with the first k items of the ranking.


def cross_validated(selection: Selection) -> Tried:
    """Test some respondents who were held out of the fit and the ranking."""
    k = len(selection.items)
    # the error of so many respondents is known to 5 %
    share = min(1.0, 240 / sum(len(fold.rows) for fold in selection.held))
    generator = np.random.default_rng(selection.seed)
    errors, variances, fixed = [], [], []
    for fold in selection.held:
        answered = selection.cells.answered[np.ix_(fold.rows, fold.ranking)]
        enough = answered.sum(axis=1) >= k
        size = max(1, round(share * len(fold.rows)))
        cells = selection.cells.chosen(generator.permutation(fold.rows[enough])[:size])
        if not len(cells.right):
            continue
        # only what each answered is asked, and its score is of that
        n_items = cells.answered.sum(axis=1)
        state = begun(fold.items, fold.ranking, cells.answered)
        right = cells.right[:, fold.ranking].astype(np.float64)
        everyone = np.arange(len(n_items))
        path = [state.moments]
        for _ in range(k):
            asked = state.criterion.argmin(axis=1)
            state = state.after(asked, right[everyone, asked])
            path.append(state.moments)
        scores, of_scores = np.array(path).transpose(1, 0, 2)
        errors.append(scores / n_items - cells.score)
        variances.append(of_scores / n_items**2)
        of_first, _ = expected_scores(fold.items, cells, fold.ranking[:k])
        fixed.append(of_first - cells.score)
    if not errors:
        raise ValueError(
            f"no respondent of the fit answered {k} of the {len(selection.pool)} items that "
            "may be asked, so the error of tests is unknown. Use a smaller k"
        )
    error = np.concatenate(errors, axis=1)
    variance = np.concatenate(variances, axis=1)
    weight = np.ones(error.shape[1])
    misfit = [added_variance(*each, weight) for each in zip(error, variance, strict=True)]
    fixed_error = root_mean_square(np.concatenate(fixed), weight)
    return Tried(np.array(misfit), root_mean_square(error[-1], weight), fixed_error)


class AdaptiveTest:
    """A test of one respondent. :func:`irtkit.adaptive` returns it.

    Attributes
    ----------
    order
        "adaptive", or "fixed" where the items are asked in the order of the ranking.
    asked, answers
        Labels of the items asked so far, and the answers to them.
    labels
        Labels of the items that can be asked, by the ranking of :func:`irtkit.select_items`.
    misfits
        Variance of the score that the model does not explain, after 0, 1, … items.
    """

    def __init__(
        self, selection: Selection, order: str, largest_error: float | None, level: float
    ) -> None:
        self.order = order
        self.asked: list[str] = []
        self.answers: list[float] = []
        self._k = len(selection.items)
        self._largest_error = largest_error
        self._level = level
        items = selection.covariance.items
        labels = selection.result.item_labels
        self.labels = [labels[place] for place in selection.covariance.places[selection.pool]]
        self._n_items = len(selection.covariance.places)
        self._state = begun(items, selection.pool, np.ones((1, self._n_items)))
        if order == "adaptive":
            self.misfits = selection.tried.misfit
        else:
            table = selection.table
            sizes = np.arange(self._k + 1)
            self.misfits = np.interp(sizes, table.index, table["misfit"] ** 2)

    @property
    def done(self) -> bool:
        """Whether k items were asked, or at least five and the error is small enough."""
        if len(self.asked) >= self._k or self._largest_error is None:
            return len(self.asked) >= self._k
        return len(self.asked) >= SIZES[0] and self.error <= self._largest_error

    @property
    def left(self) -> list[str]:
        """Labels of the items that can still be asked, by the ranking, none after k."""
        if len(self.asked) >= self._k:
            return []
        return [self.labels[place] for place in np.flatnonzero(self._state.left[0])]

    @property
    def next_item(self) -> str | None:
        """Label of the item to ask next, or None when the test is done."""
        return next(iter(self.next_items(1)), None)

    def next_items(self, n: int, among: Container[str] | None = None) -> list[str]:
        """Labels of the n best items to ask at once, the best first, fewer at the end of the test.

        ``among`` holds the labels that can be asked, by default all. :meth:`answer` takes the label
        with each answer.
        """
        if self.done:
            return []
        left = np.flatnonzero(self._state.left[0])
        if self.order == "adaptive":
            left = left[self._state.criterion[0, left].argsort(kind="stable")]
        labels = [self.labels[place] for place in left]
        allowed = [label for label in labels if among is None or label in among]
        return allowed[: min(n, self._k - len(self.asked))]

    def answer(self, right: float, item: str | None = None) -> None:
        """Take the answer to an item: True or 1 if it is right, False or 0 if not.

        The item is :attr:`next_item` by default. An answer between 0 and 1 is so much of a right
        answer.

        Raises
        ------
        ValueError
            If the answer is not from 0 to 1, the test is done, or the item is not one that can be
            asked.
        """
        number = float(right) if isinstance(right, bool | np.bool_) else as_number(right)
        if not 0 <= number <= 1:
            raise ValueError(f"an answer must be True, False or from 0 to 1, got {short(right)}")
        item = self.next_item if item is None else item
        if item is None or not self.left:
            raise ValueError("the test is done: no item is waiting for an answer")
        if item not in self.left:
            raise ValueError(f"item must be one that can still be asked, got {short(item)}")
        self.asked.append(item)
        self.answers.append(number)
        place = self.labels.index(item)
        self._state = self._state.after(np.array([place]), np.array([number]))

    @property
    def expected_score(self) -> float:
        """Expected proportion right of all items."""
        return float(self._state.moments[0][0] / self._n_items)

    @property
    def error(self) -> float:
        """Standard error of the score, from ability, unseen answers and misfit."""
        variance = self._state.moments[1][0] / self._n_items**2
        return float(np.sqrt(variance + self.misfit))

    @property
    def misfit(self) -> float:
        """Variance of scores from so many items that the model does not explain."""
        return float(self.misfits[len(self.asked)])

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the score, within what the answers so far leave possible."""
        from scipy.special import ndtri

        quantile = float(ndtri((1 + self._level) / 2))
        half_width = np.array([quantile * self.error])
        n_asked = np.array([len(self.asked)])
        score = np.array([self.expected_score])
        _, low, high = bounded(self._state.right, n_asked, self._n_items, score, half_width)
        return float(low[0]), float(high[0])

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"AdaptiveTest({len(self.asked)} of at most {self._k} items, {self.order}: score "
            f"{self.expected_score:.3f} [{low:.3f}, {high:.3f}])"
        )


def check_error(error: float | None) -> None:
    """Refuse a standard error that no score has."""
    if error is not None and not 0 < check_number("error", error) < 1:
        raise ValueError(
            f"error must be above 0 and below 1, got {short(error)}. It is in units of the score: "
            "0.03 is three points"
        )


def adaptive(
    items: FitResult | Selection,
    k: int | None = None,
    *,
    error: float | None = None,
    order: str | None = None,
    level: float = 0.95,
) -> AdaptiveTest:
    """Begin a test that chooses each item by the answers so far.

    Parameters
    ----------
    items : FitResult or Selection
        A result of :func:`irtkit.fit` with its responses, or of :func:`irtkit.select_items`. Tests
        with the same Selection share its cross-validation.
    k : int, optional
        Largest number of items to ask. Each is one of the first 2k of the ranking of
        :func:`irtkit.select_items`. With a Selection it is the number of its items.
    error : float, optional
        Standard error of the score at which to stop early, such as 0.03, from five items on. None
        asks k items.
    order : {"adaptive", "fixed"}, optional
        "adaptive", or "fixed" for the first k of the ranking in its order. None takes the order
        with the smaller error for held-out families of respondents.
    level : float, default 0.95
        Coverage of the interval.

    Returns
    -------
    AdaptiveTest
        ``next_item`` is the label of the item to ask, ``answer(True)`` takes its answer, and
        ``done`` says when to stop. ``expected_score``, ``error`` and ``interval`` are for the
        proportion correct on all items. The error includes cross-validated misfit for respondents
        like the calibrated ones.

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
            raise ValueError(f"k must be the number of items selected, {len(items.items)}, got {k}")
        selection = items
    else:
        result = result_for("adaptive", items)
        if k is None:
            raise ValueError("k must be given: the most items to ask")
        selection = select_items(result, k)
    check_error(error)
    level = check_number("level", level, above=0, below=1)
    if order is not None:
        check_one_of("order", order, ORDERS)
    require("adaptive", selection.result)
    if order is None:
        tried = selection.tried
        order = "adaptive" if tried.error <= tried.fixed_error else "fixed"
        if order == "fixed":
            values = {"n": len(selection.items), "fixed": tried.fixed_error}
            warn(Finding("fixed-order", "warning", {**values, "adaptive": tried.error}))
    return AdaptiveTest(selection, order, error, level)
