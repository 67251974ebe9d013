"""How likely it is that the key of each item is wrong, as a Bayes factor.

"An ordinary item of this bank" is compared with "an ordinary item whose key was moved". Respondents
are put in groups g by ability. An ordinary item has one of the curves P_g of a dictionary, the
items of the bank. A moved key is chosen by a share q of those who fail the item as it was meant:
P'_g = f + (1 − 2f) q (1 − P_g). Right responses in a group are beta-binomial with mean P_g and
precision M, which is estimated from the bank. It makes a large group count for at most about M
respondents, as far as curves of ordinary items vary.

Where answers are known, an item is keyed anew to every other answer c. The likelihood of a key is
that of right and wrong responses by it, times the Dirichlet-multinomial(½) of the wrong answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.checks import check_type
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, warn
from irtkit.irf import ItemParameters
from irtkit.suspects.families import dense_responses, item_blocks
from irtkit.suspects.flags import coded_answers

if TYPE_CHECKING:
    import pandas as pd

    from irtkit.irf import Array

_OWN_GROUPS = 16  # Respondents up to which each is a group.
_GROUPS = 12  # Groups of more respondents. 24 find no more.
_OWN_SHARES = 40  # Respondents from which on curves follow the shares right of the item itself.
_PSEUDO = 8.0  # Responses that the fitted curve counts for beside these shares.
_CURVES = 500  # Curves in the dictionary.
_JITTER = 0.15  # SD of log slopes and of intercepts about the fitted ones.
_LEAST_SLOPE = 0.02  # Of an ordinary item.
_PRECISIONS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, np.inf)  # Of which M is one.
_CHOSEN = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # Shares q of a moved key, equally likely.
_ERROR, _ERROR_FEW = 0.01, 0.005  # Error rate f, also of few respondents.
_OPTIONS = 20  # Different answers in the bank up to which each item has all of them to choose from.
_MOST_WRONG = 0.03  # Prior share of wrong keys at most.
_MANY_WRONG = 0.05  # Share from which on keys do not explain what is found.
_LEFT_OUT = 0.3  # Probability from which on an item leaves the dictionary.
_BLOCK = 2**24  # Numbers in a block of items × curves.


class _Bank(NamedTuple):
    """Responses in groups of respondents, and curves of ordinary items."""

    right: Array
    """(n_items, n_groups), and how many responded."""
    tried: Array
    curves: Array
    """P(right) in groups, (n_items, n_groups); only those of ``ordinary`` items are used."""
    ordinary: Any
    error: float
    precision: float = np.inf

    def dictionary(self) -> Array:
        """Curves of ordinary items, (n_curves, n_groups)."""
        known = np.flatnonzero(self.ordinary)
        some = known[np.linspace(0, len(known) - 1, min(len(known), _CURVES)).round().astype(int)]
        return np.asarray(np.clip(self.curves[some], self.error, 1 - self.error))

    def moved(self) -> Array:
        """The same curves with moved keys."""
        share = np.array(_CHOSEN)[:, None, None]
        curves = self.error + (1 - 2 * self.error) * share * (1 - self.dictionary())
        return np.asarray(curves.reshape(-1, curves.shape[-1]))

    def likelihood(self, curves: Array, right: Array, tried: Array) -> Array:
        """Log likelihood of each row of responses, averaged over curves."""
        from scipy.special import logsumexp

        pairs = np.stack([right, tried], axis=-1)
        rows, place = np.unique(pairs, axis=0, return_inverse=True)
        tables, codes = [], []
        for g in range(rows.shape[1]):
            distinct, code = np.unique(rows[:, g], axis=0, return_inverse=True)
            tables.append(self._table(distinct[:, 0], distinct[:, 1], curves[:, g]))
            codes.append(code.ravel())
        found = np.empty(len(rows))
        step = max(_BLOCK // len(curves), 1)
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            total = sum(table[code[some]] for table, code in zip(tables, codes, strict=True))
            found[some] = logsumexp(total, axis=1)
        return np.asarray(found[place.ravel()] - np.log(len(curves)))

    def _table(self, right: Array, tried: Array, p: Array) -> Array:
        """Log likelihood of counts in a group under each curve, (n_counts, n_curves)."""
        from scipy.special import betaln

        right, wrong = right[:, None], (tried - right)[:, None]
        if np.isinf(self.precision):
            return np.asarray(right * np.log(p) + wrong * np.log1p(-p))
        a, b = self.precision * p, self.precision * (1 - p)
        return np.asarray(betaln(a + right, b + wrong) - betaln(a, b))

    def with_precision(self) -> _Bank:
        """Take the precision under which all items are likeliest."""
        curves = self.dictionary()
        every = -(-len(self.right) // 1000)
        counts = self.right[::every], self.tried[::every]
        banks = [self._replace(precision=m) for m in _PRECISIONS]
        return max(banks, key=lambda bank: bank.likelihood(curves, *counts).sum())

    def log_bayes_factor(self) -> Array:
        """Of a moved key against an ordinary item, by right and wrong responses."""
        moved = self.likelihood(self.moved(), self.right, self.tried)
        return moved - self.likelihood(self.dictionary(), self.right, self.tried)


def wrong_keys(result: FitResult, predictions: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rank items by how likely it is that their key is wrong.

    Parameters
    ----------
    result
        What :func:`irtkit.fit` returned, with its responses.
    predictions
        The answers, respondents × items. Default: those of the responses, if they have any.

    Returns
    -------
    pandas.DataFrame
        All items, worst first, index "item": log_bayes_factor (natural logarithm of how many times
        likelier the responses are with a wrong key than with a right one), p_wrong_key
        (probability, with the share of wrong keys estimated from the bank), likely_answer (the
        right answer if the key is wrong, None without answers).

    Raises
    ------
    TypeError, ValueError
        If the responses were not saved with the result, are sparse, or do not match predictions.

    Warns
    -----
    irtkit.IRTWarning
        Code "many-wrong-keys", if more than 5 % of the items behave as if their key were wrong.
        These are more than keys can be: a further ability does the same. p_wrong_key is then NaN.

    Notes
    -----
    The probability takes items to be ordinary but for their keys. Items on which strong systems
    fail together for another reason have high probabilities, too. With a dozen systems the order is
    better after a fit with ``prior="empirical"``. On the real wrong keys of one
    public benchmark (GSM8K, 12 of 249 items) the order was no better than that of the item–total
    correlation.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> responses = crowd.responses
    >>> result = irtkit.fit(responses, standard_errors=False)
    >>> found = irtkit.wrong_keys(result, crowd.predictions)
    >>> found.columns.to_list()
    ['log_bayes_factor', 'p_wrong_key', 'likely_answer']
    """
    import pandas as pd

    check_type("result", result, FitResult)
    responses = dense_responses(result, "wrong_keys")
    if predictions is None:
        predictions = responses.predictions
    groups, own_shares = _groups(result)
    bank = _bank(result, groups, own_shares=own_shares).with_precision()
    likely = np.full(len(result.item_labels), None, dtype=object)
    factor, answers = bank.log_bayes_factor(), None
    if predictions is not None:
        answers = _Answers.of(result, predictions, groups)
        factor, likely = answers.compared(bank, factor)
    share, p = _posterior(factor)
    if own_shares and (p > _LEFT_OUT).any():
        bank = bank._replace(ordinary=bank.ordinary & (p <= _LEFT_OUT)).with_precision()
        factor = bank.log_bayes_factor()
        if answers is not None:
            factor, likely = answers.compared(bank, factor)
        share, p = _posterior(factor)
    if share > _MANY_WRONG:
        warn(Finding("many-wrong-keys", "warning", {"share": share, "most": _MANY_WRONG}))
        p = np.full_like(p, np.nan)
    columns = {"log_bayes_factor": factor, "p_wrong_key": p, "likely_answer": likely}
    found = pd.DataFrame(columns, pd.Index(result.item_labels, name="item"))
    return found.sort_values("log_bayes_factor", ascending=False, kind="stable")


def _groups(result: FitResult) -> tuple[list[Any], bool]:
    """Rows of the respondents in each group, the ablest first, and whether they are many."""
    rows = np.flatnonzero(result.answering)
    rows = rows[np.argsort(-result.ability[rows], kind="stable")]
    n = len(rows) if len(rows) <= _OWN_GROUPS else _GROUPS
    return np.array_split(rows, n), len(rows) > _OWN_SHARES


def _bank(result: FitResult, groups: list[Any], *, own_shares: bool) -> _Bank:
    """Responses by group, and the curves of the items."""
    rows = np.concatenate(groups)
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    sizes = np.array([*map(len, groups)])[:, None]
    parts = [
        [np.add.reduceat(part, starts, axis=0) for part in (one.right, one.trials)]
        for one in item_blocks(result, rows)
    ]
    right, tried = (np.concatenate(one, axis=1).T for one in zip(*parts, strict=True))
    items, n_items = result.parameters, len(right)
    jitter = 0.0 if own_shares else _JITTER
    by_slope, by_intercept = np.random.default_rng(0).normal(0, jitter, (2, n_items))
    slope, intercept = items.discrimination * np.exp(by_slope), items.intercept + by_intercept
    spread = ItemParameters(slope, intercept, items.guessing)
    curves = np.empty_like(right)
    for some in blocks(n_items, len(rows), _BLOCK):
        expected = np.nan_to_num(spread.chosen(some).probability(result.ability[rows]))
        curves[some] = (np.add.reduceat(expected, starts, axis=0) / sizes).T
    if own_shares:
        curves = (right + _PSEUDO * curves) / (tried + _PSEUDO)
    ordinary = items.known & (items.discrimination > _LEAST_SLOPE)
    error = _ERROR_FEW if len(rows) <= _OWN_GROUPS else _ERROR
    return _Bank(right, tried, curves, ordinary, error)


def _posterior(factor: Array) -> tuple[float, Array]:
    """Share of wrong keys, and the probability of each item."""
    share = _MOST_WRONG
    for _ in range(100):
        prior = min(share, _MOST_WRONG)
        p = 1 / (1 + np.exp(np.clip(-factor - np.log(prior / (1 - prior)), -500, 500)))
        share = float((p.sum() + 1) / (len(p) + 50))
    return share, p


class _Answers(NamedTuple):
    """What was answered, and every way to key an item."""

    names: Any
    item: Any
    """Item of each way, its answer, and whether that is its key."""
    answer: Any
    is_key: Any
    right: Array
    """Answers that it takes for right in groups, and how many there are, (n_ways, n_groups)."""
    tried: Array
    others: Array
    """Log probability of the other answers, given that they are wrong."""

    @classmethod
    def of(cls, result: FitResult, predictions: pd.DataFrame, groups: list[Any]) -> _Answers:
        """Count the answers to every item, by group of respondents."""
        from scipy.special import gammaln

        codes, names = coded_answers(predictions, result)
        responses = dense_responses(result, "predictions")
        right = responses.cells.to_dense().successes[~result.synthetic] > 0
        marked = [given[one & (given >= 0)] for given, one in zip(codes.T, right.T, strict=True)]
        keys = np.array([np.bincount(one).argmax() if len(one) else -1 for one in marked])
        place = np.cumsum(~result.synthetic) - 1
        by_group = [place[rows] for rows in groups]
        found: list[tuple[Any, ...]] = []
        for j, given in enumerate(codes.T):
            options = np.union1d(given[given >= 0], keys[j : j + 1])
            n_options = len(names) if len(names) <= _OPTIONS else len(options)
            counts = np.stack([(given[rows][:, None] == options).sum(axis=0) for rows in by_group])
            tried, given_as = counts.sum(axis=1), counts.sum(axis=0)
            each = gammaln(given_as + 0.5) - gammaln(0.5)
            half = max(n_options - 1, 1) / 2
            others = gammaln(half) - gammaln(half + tried.sum() - given_as) + each.sum() - each
            for k, option in enumerate(options):
                found.append((j, option, option == keys[j], counts[:, k], tried, others[k]))
        return cls(names, *map(np.array, zip(*found, strict=True)))

    def compared(self, bank: _Bank, factor: Array) -> tuple[Array, Any]:
        """Log Bayes factors, and the likeliest other answer; where there is none, by responses."""
        dictionary = bank.dictionary()
        found = bank.likelihood(dictionary, self.right, self.tried) + self.others
        factor, likely = factor.copy(), np.full(len(factor), None, dtype=object)
        for j in np.unique(self.item):
            ways = np.flatnonzero(self.item == j)
            key, rest = ways[self.is_key[ways]], ways[~self.is_key[ways]]
            if len(rest) and len(key):
                best = rest[found[rest].argmax()]
                mean = np.logaddexp.reduce(found[rest]) - np.log(len(rest))
                factor[j] = mean - found[key[0]]
                likely[j] = self.names[self.answer[best]]
        return factor, likely
