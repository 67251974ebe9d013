"""How likely it is that the key of each item is wrong, as a Bayes factor.

"An ordinary item of this bank" is compared with "an ordinary item whose key was moved". Respondents
are put in groups g by ability. An ordinary item has the curve P_g of one of the *other* items, each
as likely as its own key is right, or their mean curve or a flat one at another difficulty. A moved
key is chosen by a share q of those who fail the item as it was meant: P'_g = f + (1 − 2f) q (1 −
P_g). Right responses in a group are beta-binomial with mean P_g and precision M, which is estimated
from the bank. It makes a large group count for at most about M respondents, as far as curves of
ordinary items vary. Where respondents are near-duplicates, each counts for the share of one that
the effective sample size is of their number.

Where answers are known, an item is keyed again to every other answer c. The likelihood of a key is
the likelihood of its right and wrong responses, times the Dirichlet-multinomial(½) of the wrong
answers.

The share π of wrong keys is estimated from all items by maximum likelihood (empirical Bayes: Efron
2008), and p_wrong_key is the probability under it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.checks import check_unique, short
from irtkit.data.mixtures import known_components
from irtkit.data.patterns import blocks
from irtkit.findings import Finding, warn
from irtkit.fitting import result_for
from irtkit.io.tables import as_labelled
from irtkit.irf import Z95, logistic
from irtkit.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.result import FitResult
    from irtkit.io.tables import Predictions
    from irtkit.irf import Array


@dataclass(frozen=True)
class _Tuned:
    """Constants chosen together (``benchmarks/keys.py``)."""

    groups: int = 12  # Groups of respondents. 24 find no more.
    pseudo: float = 8.0  # Responses that a fitted curve counts for beside those to the item.
    curves: int = 500  # Curves in the dictionary.
    least_slope: float = 0.02  # Of an ordinary item.
    least_weight: float = 1e-6  # Of a curve, against rounding.
    precisions: tuple[float, ...] = (np.inf, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0)  # Of which M is one.
    chosen: tuple[float, ...] = (0.1, 0.2, 1 / 3, 0.5, 1.0)  # Shares q of 11, 6, 4, 3, 2 options.
    error: float = 0.01  # Error rate f.
    options: int = 20  # Different answers in the bank up to which each item has all of them.
    rises: tuple[float, ...] = (0.2, 1.0)  # Slopes of further curves, of the mean one.
    least_wrong: float = 0.001  # Share of wrong keys that enters probabilities at least,
    most_wrong: float = 0.03  # and at most.
    many_wrong: float = 0.05  # Share from which on keys do not explain what is found.
    items: int = 1000  # Items, evenly spread, that decide on the precision.
    fewest_systems: int = 8  # With fewer, half of the sets without a wrong key have P above 0.2.


_TUNED = _Tuned()
_MOVED = np.linspace(-6, 6, 25)[:, None]  # Mean logits of an item unlike the others.
WITHOUT_PROBABILITIES = ("few-for-keys", "many-wrong-keys")
"""Codes of findings beside which p_wrong_key is missing."""
_LISTED = 20  # Items that are called at most, of fewer than 2,000.


class _Counts(NamedTuple):
    """Right responses of items by group of respondents, and how many there are."""

    rows: Array  # Both of items that differ, (n_rows, n_groups, 2).
    kind: Any  # Kind of item of each row: items with the same responses. (n_rows,)
    of_item: Any  # Row of each item, (n_items,).
    occurring: list[Array]  # Of each group, the counts that occur, (n_counts, 2).
    codes: Any  # Which of them each row has, (n_rows, n_groups).

    @classmethod
    def of(cls, right: Any, tried: Any, kind: Any) -> _Counts:
        """Find the counts that occur, (n_items, n_groups) each."""
        pairs = np.stack([right, tried], axis=-1)
        flat = np.column_stack([pairs.reshape(len(pairs), -1), kind])
        _, first, of_item = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        rows = pairs[first]
        occurring = []
        codes = []
        for group in rows.transpose(1, 0, 2):
            counts, code = np.unique(group, axis=0, return_inverse=True)
            occurring.append(counts)
            codes.append(code.ravel())
        return cls(rows, kind[first], of_item.ravel(), occurring, np.stack(codes, axis=1))


class _Bank(NamedTuple):
    """Curves of ordinary items, and how responses in a group of respondents scatter about them."""

    curves: Array  # P(right), (n_curves, n_groups).
    kind: Any  # Kind of the item of each, whose own curve says nothing about it.
    weight: Array  # Probability that the item is an ordinary one.
    precision: float

    @classmethod
    def of(cls, curves: Array, kind: Any) -> _Bank:
        """Curves of ordinary items, with their mean curve and a flat one at every difficulty.

        Those together count as one more item.
        """
        from scipy.special import expit, logit

        curves = np.clip(curves, _TUNED.error, 1 - _TUNED.error)
        usual = logit(curves).mean(axis=0)
        rise = usual - usual.mean()
        further = [expit(slope * rise + _MOVED) for slope in _TUNED.rises]
        all_curves = np.clip(np.vstack([curves, *further]), _TUNED.error, 1 - _TUNED.error)
        n_further = len(all_curves) - len(curves)
        return cls(
            curves=all_curves,
            kind=np.append(kind, np.full(n_further, -1)),
            weight=np.append(np.ones(len(curves)), np.full(n_further, 1 / n_further)),
            precision=np.inf,
        )

    def likelihood(self, counts: _Counts) -> Array:
        """Log likelihood of the counts of each item, averaged over curves of other items."""
        from scipy.special import betaln, gammaln

        n_right, n = counts.rows.transpose(2, 0, 1)
        log_p = np.log(self.curves.T)
        log_q = np.log1p(-self.curves.T)
        is_binomial = np.isinf(self.precision)
        tables = []  # beta-binomial log likelihoods of counts under each curve, by group
        if not is_binomial:
            for occurring, p in zip(counts.occurring, self.curves.T, strict=True):
                k, m = occurring.T[:, :, None]
                a = self.precision * p
                b = self.precision * (1 - p)
                of_counts = gammaln(a + k) + gammaln(b + m - k) - gammaln(self.precision + m)
                tables.append((of_counts - betaln(a, b)).astype(np.float32))
        log_weight = np.log(self.weight)
        n_kinds = 1 + max(self.kind.max(), counts.kind.max())
        of_kind = np.bincount(self.kind + 1, self.weight, n_kinds + 1)
        weight_of_others = self.weight.sum() - of_kind[counts.kind + 1]
        log_likelihood = np.empty(len(n))
        for block in blocks(len(n), len(self.curves)):
            if is_binomial:
                total = n_right[block] @ log_p + (n - n_right)[block] @ log_q
            else:
                total = np.zeros((block.stop - block.start, len(self.curves)), np.float32)
                for table, code in zip(tables, counts.codes[block].T, strict=True):
                    total += table[code]
            total = (total + log_weight).astype(np.float32)
            np.copyto(total, -np.inf, where=counts.kind[block, None] == self.kind)
            top = total.max(axis=1, keepdims=True)
            total -= top
            with np.errstate(under="ignore"):
                mean = np.exp(total, out=total).sum(axis=1) / weight_of_others[block]
            log_likelihood[block] = top[:, 0] + np.log(mean)
        return np.asarray(log_likelihood[counts.of_item])

    def moved(self, counts: _Counts) -> Array:
        """The same with moved keys, averaged over shares of those who fail an item."""
        error = _TUNED.error
        of_share = []
        for share in _TUNED.chosen:
            curves = error + (1 - 2 * error) * share * (1 - self.curves)
            of_share.append(self._replace(curves=curves).likelihood(counts))
        return np.asarray(np.logaddexp.reduce(of_share) - np.log(len(of_share)))

    def likeliest(self, counts: _Counts) -> _Bank:
        """The same with the precision under which items are likeliest together."""
        bank = self
        most = -np.inf
        for precision in _TUNED.precisions:
            other = self._replace(precision=precision)
            value = float(other.likelihood(counts).sum())
            if value < most:
                break
            bank = other
            most = value
        return bank


@one_thread()
def wrong_keys(result: FitResult, predictions: Predictions = None) -> pd.DataFrame:
    """Rank items by how likely it is that their key is wrong.

    :func:`irtkit.audit` uses this order. With the answers of the systems it also names the answer
    that is probably right.

    Parameters
    ----------
    result : FitResult
        What :func:`irtkit.fit` returned, with its responses.
    predictions : DataFrame or path, optional
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
        further ability has the same effect. Code "few-for-keys", if fewer than 8 systems, counted
        as independent ones, answered. p_wrong_key is then NaN.

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
    :func:`irtkit.flag_items` had an average precision of 0.22. This order had 0.73, and 0.91 with
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
    >>> found.loc[["digit-1553"], ["p_wrong_key", "likely_answer"]].round(2)
                p_wrong_key likely_answer
    item
    digit-1553          1.0             1
    """
    result = result_for("wrong_keys", result)
    answers = as_labelled(predictions, "predictions")
    verdict = result.key_verdict if answers is None else keyed(result, answers)
    for finding in verdict.findings:
        if finding.severity == "warning":
            warn(finding)
    return verdict.table.copy()


class KeyVerdict(NamedTuple):
    """How likely it is that keys are wrong; made by `keyed`, once for a result."""

    table: pd.DataFrame  # That of `wrong_keys`.
    share: float  # Of wrong keys that enters probabilities.
    findings: list[Finding]  # What limits the table.


def keyed(result: FitResult, predictions: pd.DataFrame | None) -> KeyVerdict:
    """Judge every key by the responses, and by the answers where they are known."""
    import pandas as pd

    responses = result.saved_responses
    groups = _Groups.of(result)
    right, tried, curves = _grouped(result, groups)
    ways = None if predictions is None else _ways(result, predictions, groups)
    scored = responses.cells.scored
    if scored is None:
        scored = np.zeros(len(right), dtype=np.bool_)
    ordinary = result.parameters.known & (result.own_items.discrimination > _TUNED.least_slope)
    ordinary &= ~scored
    places = np.flatnonzero(ordinary | ~ordinary.any())
    n_curves = min(len(places), _TUNED.curves)
    places = places[np.linspace(0, len(places) - 1, n_curves).round().astype(int)]
    kind = np.unique(np.hstack([right, tried]), axis=0, return_inverse=True)[1].ravel()
    bank = _Bank.of(curves[places], kind[places])
    counts = sample = _Counts.of(right, tried, kind)
    if len(right) > _TUNED.items:
        every = slice(None, None, -(-len(right) // _TUNED.items))
        sample = _Counts.of(right[every], tried[every], kind[every])
    bank = bank.likeliest(sample)
    likely = np.full(len(right), None, dtype=object)
    for _ in range(2):  # The second time, items whose key is likely wrong are no ordinary ones.
        factor = bank.moved(counts) - bank.likelihood(counts)
        if ways is not None:
            _take_answers(factor, likely, ways, bank, kind)
        factor[scored] = -np.inf
        share, _ = known_components(factor, _TUNED.most_wrong)
        prior = min(max(share, _TUNED.least_wrong), _TUNED.most_wrong)
        p = logistic(factor + np.log(prior / (1 - prior)))
        weight = np.append(np.maximum(1 - p[places], _TUNED.least_weight), bank.weight[n_curves:])
        bank = bank._replace(weight=weight)
    # twice the log likelihood ratio of the share and of many wrong keys
    shares = np.array([share, _TUNED.many_wrong])[:, None]
    log_likelihood = np.logaddexp(np.log1p(-shares), np.log(shares) + factor).sum(axis=1)
    ratio = 2 * (log_likelihood[0] - log_likelihood[1])
    is_many = share > _TUNED.many_wrong and ratio > Z95**2
    findings = []
    if scored.any():
        findings.append(Finding("scores-without-keys", "note", {"n": int(scored.sum())}))
        factor[scored] = np.nan
        p[scored] = np.nan
    n_eff = result.near_duplicates.n_eff
    is_few = n_eff < _TUNED.fewest_systems
    if is_few:
        values: dict[str, Any] = {"n": round(n_eff), "least": _TUNED.fewest_systems}
        findings.append(Finding("few-for-keys", "warning", values))
    elif is_many:
        values = {"share": share, "most": _TUNED.many_wrong}
        findings.append(Finding("many-wrong-keys", "warning", values))
    if is_few or is_many:
        p = np.full_like(p, np.nan)
    columns = {"log_bayes_factor": factor, "p_wrong_key": p, "likely_answer": likely}
    table = pd.DataFrame(columns, pd.Index(result.item_labels, name="item"))
    table = table.sort_values("log_bayes_factor", ascending=False, kind="stable")
    return KeyVerdict(table, prior, findings)


def _take_answers(
    factor: Array, likely: Any, ways: list[tuple[Any, ...]], bank: _Bank, kind: Any
) -> None:
    """Put in the Bayes factor by the answers of each item, and the answer that is likely right."""
    item, answers, *numbers = zip(*ways, strict=True)
    is_key, right, tried, others = map(np.array, numbers)
    of_way = bank.likelihood(_Counts.of(right, tried, kind[np.array(item)])) + others
    of_other_keys = np.where(is_key, -np.inf, of_way)
    _, first, n_keys = np.unique(item, return_index=True, return_counts=True)
    several = n_keys > 1  # of items with one answer nothing is known
    total = np.logaddexp.reduceat(of_other_keys, first)[several]
    factor[several] = total - np.log(n_keys[several] - 1) - of_way[is_key][several]
    for j in np.flatnonzero(several):
        likeliest = of_other_keys[first[j] : first[j] + n_keys[j]].argmax()
        likely[j] = answers[first[j] + likeliest]


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
    evidence: float  # What a respondent counts for, below 1 if many are near-duplicates.

    @classmethod
    def of(cls, result: FitResult) -> _Groups:
        """Group the respondents by every composite that an item measures."""
        rows = np.flatnonzero(result.answering)
        n = min(len(rows), _TUNED.groups)
        weights, composite = np.unique(result.own_weights, axis=0, return_inverse=True)
        ability = result.abilities_along(weights)[rows]
        order = np.argsort(-ability, axis=0, kind="stable")
        in_order = np.repeat(np.arange(n), [len(part) for part in np.array_split(rows, n)])
        number = np.empty(order.shape, dtype=np.int8)
        np.put_along_axis(number, order, in_order[:, None].astype(np.int8), axis=0)
        return cls(rows, number, composite.ravel(), n, result.evidence)

    def members(self, composite: int, block: slice = slice(None)) -> Any:
        """1 for respondents of a group, 0 for others, (n_groups, n) in 32 bits."""
        of_group = self.number[block, composite] == np.arange(self.n)[:, None]
        return of_group.astype(np.float32)


def _grouped(result: FitResult, groups: _Groups) -> tuple[Array, Array, Array]:
    """Right responses by item and group, how many there are, and the curves.

    A curve is the share right of the item itself, drawn to the fitted one by some responses.
    """
    n_items = len(result.item_labels)
    sums = np.zeros((3, groups.n, n_items))
    measuring: list[Any] = [slice(None)]
    n_composites = groups.number.shape[1]
    if n_composites > 1:
        measuring = [np.flatnonzero(groups.composite == k) for k in range(n_composites)]
    for block in blocks(len(groups.rows), n_items):
        rows = groups.rows[block]
        p = result.parameters.narrow_probability(result.ability[rows])
        tables = (*result.patterns.dense(rows, slice(None), np.float32), p)
        for composite, places in enumerate(measuring):
            members = groups.members(composite, block)
            for total, table in zip(sums, tables, strict=True):
                total[:, places] += members @ table[:, places]
    right, tried, expected = groups.evidence * np.nan_to_num(sums).transpose(0, 2, 1)
    fitted = expected / (groups.evidence * groups.members(0).sum(axis=1))
    curves = (right + _TUNED.pseudo * fitted) / (tried + _TUNED.pseudo)
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
        n_options = len(names) if len(names) <= _TUNED.options else len(options)
        answered = answers[grouped] >= 0
        gave = (answers[grouped][:, None] == options) & answered[:, None]
        counts = groups.evidence * (groups.members(groups.composite[j]) @ gave)
        tried = counts.sum(axis=1)
        given_as = counts.sum(axis=0)
        log_gamma = gammaln(given_as + 0.5) - gammaln(0.5)
        half = max(n_options - 1, 1) / 2
        others = (
            gammaln(half) - gammaln(half + tried.sum() - given_as) + log_gamma.sum() - log_gamma
        )
        for k, option in enumerate(options):
            ways.append((j, names[option], option == key, counts[:, k], tried, others[k]))
    return ways


def coded_answers(
    predictions: pd.DataFrame, result: FitResult
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes of answers, real respondents × items, −1 where missing, and the answers coded."""
    import pandas as pd

    if not isinstance(predictions, pd.DataFrame):
        raise TypeError(f"predictions must be a DataFrame, got {type(predictions).__name__}")
    answers = predictions.rename(index=str, columns=str)
    labels = np.array(result.respondent_labels, dtype=object)[~result.synthetic]
    sides = {"respondent": (answers.index, labels), "item": (answers.columns, result.item_labels)}
    for kind, (have, needed) in sides.items():
        check_unique(f"predictions must have every {kind} once", have)
        if missing := [label for label in needed if label not in have]:
            raise ValueError(f"predictions has no {kind} {short(missing[0])}")
    answers = answers.loc[list(labels), list(result.item_labels)]
    try:
        flat, kinds = pd.factorize(answers.to_numpy(dtype=object).ravel())
    except TypeError as error:
        raise TypeError(
            f"predictions must hold answers such as text or numbers: {error}"
        ) from error
    return flat.reshape(answers.shape), kinds
