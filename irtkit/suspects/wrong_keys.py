"""How likely it is that the key of each item is wrong, as a Bayes factor.

"An ordinary item of this bank" is compared with "an ordinary item whose key was moved". Respondents
are put in groups g by ability. An ordinary item has one of the curves P_g of a dictionary, the
items of the bank. A moved key is chosen by a share q of those who fail the item as it was meant:
P'_g = f + (1 − 2f) q (1 − P_g). Right responses in a group are beta-binomial with mean P_g and
precision M, which is estimated from the bank. It makes a large group count for at most about M
respondents, as far as curves of ordinary items vary.

Where answers are known, an item is keyed again to every other answer c. The likelihood of a key is
the likelihood of its right and wrong responses, times the Dirichlet-multinomial(½) of the wrong
answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.result import FitResult
from irtkit.capabilities import require
from irtkit.checks import check_type
from irtkit.data.mixtures import known_components
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, warn
from irtkit.suspects.flags import coded_answers
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from irtkit.irf import Array

_OWN_GROUPS = 16  # Respondents up to which each is a group.
_GROUPS = 12  # Groups of more respondents. 24 find no more.
_OWN_SHARES = 40  # Respondents from which on curves follow the shares right of the item itself.
_PSEUDO = 8.0  # Responses that the fitted curve counts for beside these shares.
_CURVES = 500  # Curves in the dictionary.
_JITTER = 0.15  # SD of log slopes and of intercepts about the fitted ones.
_LEAST_SLOPE = 0.02  # Of an ordinary item.
_PRECISIONS = (np.inf, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0)  # Of which M is one.
_CLEARLY = 10.0  # Log likelihood below the largest at which the search ends: it has one top.
_CHOSEN = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)  # Shares q of a moved key, equally likely.
_ERROR, _ERROR_FEW = 0.01, 0.005  # Error rate f, also of few respondents.
_OPTIONS = 20  # Different answers in the bank up to which each item has all of them to choose from.
_MOST_WRONG = 0.03  # Prior share of wrong keys at most.
_MANY_WRONG = 0.05  # Share from which on keys do not explain what is found.
_LISTED = 20  # Items that are listed at most, of fewer than 2,000.
_LEFT_OUT = 0.3  # Probability from which on an item leaves the dictionary.
_ITEMS = 1000  # Items, evenly spread, that decide on the precision.


class _Counts(NamedTuple):
    """Right responses by item and group of respondents, and how many there are."""

    rows: Array  # Both of items that differ, (n_distinct_items, n_groups, 2).
    of_item: Any  # Row of each item, (n_items,).
    occurring: list[Array]  # Of each group, the counts that occur, (n_counts, 2).
    codes: Any  # Which of them each row has, (n_distinct_items, n_groups).

    @classmethod
    def of(cls, right: Array, tried: Array) -> _Counts:
        """Find the counts that occur, (n_items, n_groups) each."""
        rows, of_item = np.unique(np.stack([right, tried], axis=-1), axis=0, return_inverse=True)
        groups = rows.transpose(1, 0, 2)
        found = [np.unique(group, axis=0, return_inverse=True) for group in groups]
        codes = np.stack([code.ravel() for _, code in found], axis=1)
        return cls(rows, of_item.ravel(), [counts for counts, _ in found], codes)


class _Bank(NamedTuple):
    """Curves of ordinary items, and the responses in groups of respondents."""

    curves: Array  # P(right), (n_curves, n_groups).
    error: float
    precision: float = np.inf

    @classmethod
    def of(cls, curves: Array, error: float, precisions: Iterable[float], counts: _Counts) -> _Bank:
        """Take some of the curves, and the precision under which all items are likeliest."""
        chosen = np.linspace(0, len(curves) - 1, min(len(curves), _CURVES)).round().astype(int)
        bank, *banks = [
            cls(np.clip(curves[chosen], error, 1 - error), error, m) for m in precisions
        ]
        most = bank.likelihood(counts).sum() if banks else 0.0
        for other in banks:
            value = other.likelihood(counts).sum()
            if value >= most:
                bank, most = other, value
            elif value < most - _CLEARLY:
                break
        return bank

    def moved(self) -> _Bank:
        """The same curves with moved keys."""
        share = np.array(_CHOSEN)[:, None, None]
        curves = self.error + (1 - 2 * self.error) * share * (1 - self.curves)
        return self._replace(curves=curves.reshape(-1, curves.shape[-1]))

    def likelihood(self, counts: _Counts) -> Array:
        """Log likelihood of the counts of each item, averaged over curves."""
        n_right, n = counts.rows.transpose(2, 0, 1)
        binomial, n_wrong = np.isinf(self.precision), n - n_right
        logs = np.log(self.curves.T), np.log1p(-self.curves.T)
        tables = [] if binomial else [*map(self._of_counts, counts.occurring, self.curves.T)]
        log_likelihood = np.empty(len(n))
        for block in blocks(len(n), len(self.curves)):
            if binomial:
                total = n_right[block] @ logs[0] + n_wrong[block] @ logs[1]
            else:
                total = np.zeros((block.stop - block.start, len(self.curves)))
                for table, code in zip(tables, counts.codes[block].T, strict=True):
                    total += table[code]
            top = total.max(axis=1, keepdims=True)
            total -= top
            log_likelihood[block] = top[:, 0] + np.log(np.exp(total, out=total).sum(axis=1))
        return np.asarray(log_likelihood[counts.of_item] - np.log(len(self.curves)))

    def _of_counts(self, counts: Array, p: Array) -> Array:
        """Beta-binomial log likelihood of some counts under each curve of a group."""
        from scipy.special import gammaln

        n_right, n = counts.T[:, :, None]
        n_wrong = n - n_right
        a, b = self.precision * p, self.precision * (1 - p)
        free = gammaln(self.precision) - gammaln(self.precision + n)
        log_p = gammaln(a + n_right) - gammaln(a) + gammaln(b + n_wrong) - gammaln(b)
        return np.asarray(log_p + free)


@one_thread()
def wrong_keys(result: FitResult, predictions: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rank items by how likely it is that their key is wrong.

    :func:`irtkit.audit` uses this order. With the answers of the systems it also names the answer
    that is probably right.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    predictions : DataFrame, optional
        The answers as text, index = respondents, columns = items. Cells may be missing. Default:
        the answers of the responses, if they have any.

    Returns
    -------
    pandas.DataFrame
        All items, the most likely wrong keys first, index "item". Items with scores between 0 and 1
        come last and have NaN.

        - log_bayes_factor: natural logarithm of the Bayes factor of a wrong key against a right
          one. 0 favours neither.
        - p_wrong_key: probability of a wrong key. The share of wrong keys is estimated from all
          items.
        - likely_answer: the right answer if the key is wrong. None without answers.

    Raises
    ------
    TypeError
        If an argument has a wrong type.
    ValueError
        If the responses were not saved with the result, are sparse or have ordered levels, or do
        not match predictions.

    Warns
    -----
    irtkit.IRTWarning
        Code "many-wrong-keys", if more than 5 % of the items behave as if their key were wrong. A
        further ability has the same effect. p_wrong_key is then NaN.

    Notes
    -----
    Each item is compared with the curves of the other items, and with the same curves after the key
    was moved to another answer. Right answers in a group of similar ability have a beta-binomial
    distribution. Missing cells take no part. With several abilities the groups of an item are by
    the composite of abilities that it measures.

    The probability assumes that items differ from ordinary ones by their keys only. Items on which
    high-ability systems fail together for another reason have high probabilities, too. With a dozen
    systems the order is better after a fit with ``prior="empirical"``.

    With 12 classifiers and 2 % of the labels moved to another digit, the order by ``p_negative`` of
    :func:`irtkit.flag_items` had an average precision of 0.22. This order had 0.68, and 0.89 with
    the answers (``benchmarks/keys.py``). On the real wrong keys of one public benchmark
    (GSM8K, 12 of 249 items) it was no better than by the item–total correlation.

    See Also
    --------
    irtkit.audit, irtkit.flag_items

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> responses = crowd.responses
    >>> result = irtkit.fit(responses, standard_errors=False)
    >>> found = irtkit.wrong_keys(result, crowd.predictions)
    >>> found.loc[["digit-1658"], ["p_wrong_key", "likely_answer"]].round(2)
                p_wrong_key likely_answer
    item
    digit-1658          1.0             3
    """
    table, _, findings = keyed(result, predictions)
    for finding in findings:
        if finding.severity == "warning":
            warn(finding)
    return table


def keyed(
    result: FitResult, predictions: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, float, list[Finding]]:
    """The table of `wrong_keys`, the prior share of wrong keys, and what limits it."""
    import pandas as pd

    require("wrong_keys", result)
    check_type("result", result, FitResult)
    responses = result.saved_responses
    if predictions is None:
        predictions = responses.predictions
    groups = _Groups.of(result)
    own_shares = len(groups.rows) > _OWN_SHARES
    error = _ERROR_FEW if groups.n == len(groups.rows) else _ERROR
    right, tried, curves = _grouped(result, groups, own_shares=own_shares)
    ways = None if predictions is None else _ways(result, predictions, groups)
    ordinary = result.parameters.known & (result.own_items.discrimination > _LEAST_SLOPE)
    scored = np.zeros(len(ordinary), bool)
    if (of_scores := responses.cells.scored) is not None:
        scored = of_scores
        ordinary = ordinary & ~scored
    precisions: tuple[float, ...] = _PRECISIONS
    every = slice(None, None, -(-len(right) // _ITEMS))
    counts = _Counts.of(right, tried)
    fewer = _Counts.of(right[every], tried[every])
    while True:
        kept = curves[ordinary if ordinary.any() else slice(None)]
        bank = _Bank.of(kept, error, precisions, fewer)
        factor = bank.moved().likelihood(counts) - bank.likelihood(counts)
        likely = np.full(len(factor), None, dtype=object)
        if ways is not None:
            _take_answers(factor, likely, ways, bank)
        factor[scored] = -np.inf
        share, p = known_components(factor, _MOST_WRONG, pseudo=(1, 50), most=_MOST_WRONG)
        left_out = (p > _LEFT_OUT) & ~scored
        if not own_shares or not left_out.any():
            break
        # Leaving a few items out of the dictionary does not change how far curves vary.
        own_shares = False
        ordinary = ordinary & ~left_out
        precisions = (bank.precision,)
    findings = []
    if scored.any():
        findings.append(Finding("scores-without-keys", "note", {"n": int(scored.sum())}))
        factor[scored] = np.nan
        p[scored] = np.nan
    if share > _MANY_WRONG:
        values = {"share": share, "most": _MANY_WRONG}
        findings.append(Finding("many-wrong-keys", "warning", values))
        p = np.full_like(p, np.nan)
    columns = {"log_bayes_factor": factor, "p_wrong_key": p, "likely_answer": likely}
    table = pd.DataFrame(columns, pd.Index(result.item_labels, name="item"))
    table = table.sort_values("log_bayes_factor", ascending=False, kind="stable")
    return table, min(share, _MOST_WRONG), findings


def _take_answers(factor: Array, likely: Any, ways: list[tuple[Any, ...]], bank: _Bank) -> None:
    """Put in the Bayes factor by the answers of each item, and the answer that is likely right."""
    items, answer, keys, right, tried, others = zip(*ways, strict=True)
    of_way = bank.likelihood(_Counts.of(np.array(right), np.array(tried))) + others
    item = np.array(items)
    is_key = np.array(keys)
    for j in np.unique(item):
        ways_of_item = np.flatnonzero(item == j)
        key = ways_of_item[is_key[ways_of_item]]
        rest = ways_of_item[~is_key[ways_of_item]]
        if len(rest) and len(key):
            mean = np.logaddexp.reduce(of_way[rest]) - np.log(len(rest))
            factor[j] = mean - of_way[key[0]]
            likely[j] = answer[rest[of_way[rest].argmax()]]


def called_wrong(table: pd.DataFrame, fdr: float) -> Any:
    """Which items of a table of `wrong_keys` to look at: 20, or 1 % of them, at most.

    The mean of 1 − p_wrong_key over them is at most ``fdr``. Without probabilities there are none.
    """
    p = table["p_wrong_key"]
    sure = ((1 - p).expanding().mean() <= fdr) & p.notna()
    return np.arange(len(table)) < min(int(sure.sum()), max(_LISTED, len(table) // 100))


class _Groups(NamedTuple):
    """Respondents of similar ability, the best first, by what each item measures."""

    rows: Any  # Which respondents, (n,).
    number: Any  # Group of each by composite of abilities, (n, n_composites).
    composite: Any  # Composite that each item measures, (n_items,).
    n: int

    @classmethod
    def of(cls, result: FitResult) -> _Groups:
        """Group the respondents by every composite that an item measures."""
        rows = np.flatnonzero(result.answering)
        n = len(rows) if len(rows) <= _OWN_GROUPS else _GROUPS
        weights, composite = np.unique(result.own_weights, axis=0, return_inverse=True)
        ability = result.abilities_along(weights)[rows]
        order = np.argsort(-ability, axis=0, kind="stable")
        in_order = np.repeat(np.arange(n), [len(part) for part in np.array_split(rows, n)])
        number = np.empty(order.shape, dtype=np.int8)
        np.put_along_axis(number, order, in_order[:, None].astype(np.int8), axis=0)
        return cls(rows, number, composite.ravel(), n)

    def members(self, composite: int, block: slice = slice(None)) -> Array:
        """1 where a respondent is in a group, (n_groups, n)."""
        of_group = self.number[block, composite] == np.arange(self.n)[:, None]
        return np.asarray(of_group, dtype=np.float64)


def _grouped(result: FitResult, groups: _Groups, *, own_shares: bool) -> tuple[Array, Array, Array]:
    """Right responses by item and group, how many there are, and the curves."""
    items = result.parameters
    jitter = 0.0 if own_shares else _JITTER
    by_slope, by_intercept = np.random.default_rng(0).normal(0, jitter, (2, items.n_items))
    slopes = (items.discrimination.T * np.exp(by_slope)).T
    spread = replace(items, discrimination=slopes, intercept=items.intercept + by_intercept)
    sums = np.zeros((3, groups.n, items.n_items))
    measuring = [np.flatnonzero(groups.composite == k) for k in range(groups.number.shape[1])]
    for block in blocks(len(groups.rows), items.n_items):
        rows = groups.rows[block]
        p = np.nan_to_num(spread.probability(result.ability[rows]))
        tables = (*result.patterns.dense(rows), p)
        for composite, places in enumerate(measuring):
            members = groups.members(composite, block)
            for total, table in zip(sums, tables, strict=True):
                total[:, places] += members @ table[:, places]
    right, tried, expected = sums.transpose(0, 2, 1)
    sizes = groups.members(0).sum(axis=1)
    curves = expected / sizes
    if own_shares:
        curves = (right + _PSEUDO * curves) / (tried + _PSEUDO)
    return right, tried, curves


def _ways(result: FitResult, predictions: pd.DataFrame, groups: _Groups) -> list[tuple[Any, ...]]:
    """Every way to key each item.

    They are the item, the answer, whether it is the key, how many gave it and any answer by group,
    and the log probability of the other answers, given that they are wrong.
    """
    from scipy.special import gammaln

    codes, names = coded_answers(predictions, result)
    responses = result.saved_responses
    right = responses.cells.to_dense().successes[~result.synthetic]
    right = right >= 1 if responses.has_scores else right > 0
    grouped = (np.cumsum(~result.synthetic) - 1)[groups.rows]
    ways: list[tuple[Any, ...]] = []
    for j, answers in enumerate(codes.T):
        marked = answers[right[:, j] & (answers >= 0)]
        key = np.bincount(marked).argmax() if len(marked) else -1
        options = np.union1d(answers[answers >= 0], [key])
        n_options = len(names) if len(names) <= _OPTIONS else len(options)
        gave = answers[grouped][:, None] == options
        counts = groups.members(groups.composite[j]) @ gave
        tried = counts.sum(axis=1)
        given_as = counts.sum(axis=0)
        each = gammaln(given_as + 0.5) - gammaln(0.5)
        half = max(n_options - 1, 1) / 2
        others = gammaln(half) - gammaln(half + tried.sum() - given_as) + each.sum() - each
        for k, option in enumerate(options):
            ways.append((j, names[option], option == key, counts[:, k], tried, others[k]))
    return ways
