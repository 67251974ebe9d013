"""What a fit with several abilities returns: tables, expected scores, and a file of both."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit import storage
from irtkit.abilities.engine import Cells, Design, Fitted, Normals, fold_in, probabilities
from irtkit.calibration.result import AnyResult, Settings, saved_in
from irtkit.capabilities import SEVERAL
from irtkit.checks import counted
from irtkit.data.patterns import Counts, blocks, patterns_of
from irtkit.data.slopes import FALSE_DISCOVERY_RATE, called_negative
from irtkit.files import as_path
from irtkit.findings import Finding
from irtkit.printed import shortened

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.standard_errors import ItemCovariance
    from irtkit.irf import Array
    from irtkit.responses import ResponseMatrix

FORMAT = storage.Format("irtkit result of several abilities", 4)
_USUAL = 1.0  # Pseudo-items of each kind: regular, negative, and without a slope.
_FLOOR = 0.05  # Pseudo-variance of slopes, of one item.
_STEPS = 50  # Of the EM for the share of negative items.
_NAMED, _LABEL = 3, 20  # Items and respondents named for an ability, and columns of a name.
_RELIABLE = 0.5  # Reliability from which on they are named.


@dataclass(frozen=True, eq=False)
class AbilitiesResult(AnyResult):
    """A fit with several abilities; made by :func:`irtkit.fit` with ``abilities``.

    logit P(right) = Σ discrimination · ability + intercept. Every ability has mean 0 and SD 1 in
    the population, and rises with its slopes.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> result = irtkit.fit(crowd.responses, abilities=2, standard_errors=False)
    >>> result.n_abilities, result.ability_names
    (2, ('1', '2'))
    """

    structure: str  #: "exploratory", "task" (each item measures one ability) or "bifactor".
    ability_names: tuple[str, ...]  #: Numbers, or tasks; of a bifactor model "general" first.
    settings: Settings  #: The arguments of the fit, and what followed from them.
    item_labels: tuple[str, ...]
    respondent_labels: tuple[str, ...]
    tasks: tuple[str, ...] | None  #: Task of each item, None if unknown.
    fitted: Fitted = field(repr=False)  #: Posteriors of abilities and items, as arrays.
    item_covariance: ItemCovariance | None = field(repr=False)
    """Covariance of slopes and intercepts of all items; None without errors."""
    ability_errors: NDArray[np.float64] = field(repr=False)
    """Standard errors of abilities, (n_respondents, K), with those of items if these are known."""
    correlation_se: NDArray[np.float64] = field(repr=False)  #: (K, K), NaN if not estimated.
    p_negative: NDArray[np.float64] = field(repr=False)
    """Probability that the slopes of an item are turned round, (n_items,)."""
    counts: Counts = field(repr=False)
    log_likelihood: float
    """Marginal log-likelihood, without priors: by adaptive quadrature up to four abilities and
    2·10⁹ products, else by Laplace's approximation."""
    log_likelihood_by: str  #: "quadrature" or "Laplace".
    responses: ResponseMatrix | None = field(repr=False)
    findings: tuple[Finding, ...] = ()  #: What limits the result.

    model = "2PL"
    method = "em"

    @property
    def traits(self) -> frozenset[str]:
        """Traits that some functions have no meaning for, see `irtkit.capabilities`."""
        return super().traits | {SEVERAL}

    @property
    def overall(self) -> Array:
        """Expected scores, which order the respondents."""
        return np.asarray(self._respondents["expected_score"])

    def expected(self, rows: Any, items: Any) -> Array:
        """P(right) of some respondents on some items, both by place."""
        b = self.fitted.items.mean[items]
        return np.asarray(1 / (1 + np.exp(-(self.fitted.respondents.mean[rows] @ b.T))))

    @cached_property
    def synthetic(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """Which respondents are synthetic: none."""
        return np.zeros(len(self.respondent_labels), dtype=bool)

    @property
    def n_abilities(self) -> int:
        """Number of abilities, a general one included."""
        return len(self.ability_names)

    @property
    def converged(self) -> bool:
        """Whether slopes had settled."""
        return self.fitted.converged

    @property
    def n_iterations(self) -> int:
        """Half steps of respondents."""
        return self.fitted.n_iterations

    @property
    def n_parameters(self) -> int:
        """Slopes, intercepts and correlations, less the rotations of free axes."""
        k, design = self.n_abilities, self.fitted.design
        turns = k * (k - 1) // 2
        n = int(design.pattern.sum()) + len(self.item_labels)
        return n + (turns if design.correlated else -turns if design.free else 0)

    @property
    def items(self) -> pd.DataFrame:
        """Table of items by label, a copy.

        - discrimination_<name> for every ability, and intercept, each followed by its standard
          error (``_se``). A slope that the item may not have is 0, with an error of NaN.
        - average_error: share of the observed respondents that got the item wrong.
        - n_responses.
        - p_negative: probability that the item falls with the abilities that it measures, given all
          of them.
        - status: "ok", "no variance" or "no responses".
        """
        return self._items.copy()

    @property
    def respondents(self) -> pd.DataFrame:
        """Table of respondents by label, a copy.

        - ability_<name> for every ability: posterior mean, followed by its error (``_se``), which
          includes the errors of items.
        - accuracy: share right of what was answered.
        - expected_score: share right of all items, missing answers as the model expects them.
        - n_responses.
        """
        return self._respondents.copy()

    @cached_property
    def _items(self) -> pd.DataFrame:
        import pandas as pd

        side, pattern = self.fitted.items, self.fitted.design.pattern
        errors = np.full(side.mean.shape, np.nan)
        if self.item_covariance is not None:
            variance = np.diagonal(self.item_covariance.of_items(), axis1=1, axis2=2)
            errors = np.sqrt(np.where(np.column_stack([pattern, pattern.any(axis=1)]), variance, 0))
            errors[errors == 0] = np.nan
        columns: dict[str, Any] = {}
        for k, name in enumerate(
            [*(f"discrimination_{n}" for n in self.ability_names), "intercept"]
        ):
            columns |= {name: side.mean[:, k], f"{name}_se": errors[:, k]}
        silent = self.counts.all_right | self.counts.all_wrong
        status = np.where(silent, "no variance", "ok").astype(object)
        status[self.counts.item_responses == 0] = "no responses"
        columns |= {
            "average_error": self.counts.average_error,
            "n_responses": self.counts.item_responses,
            "p_negative": self.p_negative,
            "status": status,
        }
        return pd.DataFrame(columns, index=pd.Index(self.item_labels, name="item"))

    @cached_property
    def _respondents(self) -> pd.DataFrame:
        import pandas as pd

        columns = self._of_abilities(self.fitted.ability, self.ability_errors) | {
            "accuracy": self.counts.accuracy,
            "expected_score": self.scores()[0],
            "n_responses": self.counts.respondent_responses,
        }
        return pd.DataFrame(columns, index=pd.Index(self.respondent_labels, name="respondent"))

    def scores(self, chosen: NDArray[np.intp] | slice = slice(None)) -> tuple[Array, Array]:
        """Expected shares right of some items, and their errors by missing answers."""
        right, trials = (part[:, chosen] for part in self.patterns.dense())
        items = self.fitted.known_items
        items = Normals(items.mean[chosen], items.covariance[chosen])
        return _expected(right, trials, self.fitted.respondents, items)

    def scored(self, responses: ResponseMatrix, level: float = 0.95) -> pd.DataFrame:
        """Score other respondents on the items of the fit, see :func:`irtkit.score`."""
        import pandas as pd
        from scipy.special import ndtri

        from irtkit.abilities.errors import ability_covariances

        places = {label: k for k, label in enumerate(self.item_labels)}
        known = [k for k, label in enumerate(responses.items) if label in places]
        if not known:
            raise ValueError("responses has none of the items of the result")
        at = [places[responses.items[k]] for k in known]
        patterns = patterns_of(responses, synthetic_is_real=True)
        weighed = patterns.with_trial_correlation(self.settings.trial_correlation or 0.0)
        right, trials, weight = np.zeros((3, responses.n_respondents, len(places)))
        right[:, at], trials[:, at] = (part[:, known] for part in patterns.dense())
        weight[:, at] = weighed.dense()[1][:, known]
        share = np.divide(right, trials, out=np.zeros_like(right), where=trials > 0)
        cells = Cells(share.astype(np.float32), weight.astype(np.float32))
        side = fold_in(cells, self.fitted)
        score, error = _expected(right, trials, side, self.fitted.known_items)
        reach, n = ndtri((1 + level) / 2) * error, (trials > 0).sum(axis=1)
        seen = np.where(n > 0, share.sum(axis=1) / np.maximum(n, 1), np.nan)
        of_abilities = side.covariance[:, :-1, :-1]
        if self.item_covariance is not None:
            new = replace(self.fitted, respondents=side)
            of_abilities = ability_covariances(cells, new, self.item_covariance)
        errors = np.sqrt(np.diagonal(of_abilities, axis1=1, axis2=2))
        columns = self._of_abilities(side.mean, errors) | {
            "accuracy": seen,
            "n_responses": n,
            "expected_score": score,
            "expected_score_low": np.maximum(score - reach, 0),
            "expected_score_high": np.minimum(score + reach, 1),
        }
        return pd.DataFrame(columns, index=pd.Index(responses.respondents, name="respondent"))

    def _of_abilities(self, ability: Array, errors: Array) -> dict[str, Array]:
        """Columns of abilities and their errors."""
        columns: dict[str, Array] = {}
        for k, name in enumerate(self.ability_names):
            columns |= {f"ability_{name}": ability[:, k], f"ability_{name}_se": errors[:, k]}
        return columns

    @property
    def abilities(self) -> pd.DataFrame:
        """Table of abilities by name: what measures them, and who has most of each.

        - n_items: items that may measure it. reliability: 1 less the mean error variance of the
          respondents with a response, with errors of items unless axes are free.
        - items: the three with the largest slopes, as shares of all of their slopes if every item
          may measure every ability. respondents: the three with the highest abilities. Both are
          empty if the reliability is below 0.5.
        """
        import pandas as pd

        firsts = [
            [", ".join(shortened(one, _LABEL) for one in named) for named in pair]
            for pair in self.first_of_each
        ]
        columns = {
            "n_items": self.fitted.design.pattern.sum(axis=0),
            "reliability": self._reliability,
            "items": [items for items, _ in firsts],
            "respondents": [respondents for _, respondents in firsts],
        }
        return pd.DataFrame(columns, pd.Index(self.ability_names, name="ability"))

    @cached_property
    def _reliability(self) -> Array:
        variance = np.diagonal(self.fitted.ability_covariance, axis1=1, axis2=2)
        if not self.fitted.design.free:  # free axes are said too low with it (reliability.py)
            variance = variance + self._variance_by_items()
        return np.asarray(1 - variance[self.answering].mean(axis=0))

    def _variance_by_items(self) -> Array:
        """What errors of items add to the variances of abilities, (n, K).

        A posterior mean moves with the parameters of an item by g = Cov(ability, score). Errors are
        taken as independent between items, so that what all systems share is left out.
        """
        x, items = self.fitted.respondents.mean, self.fitted.items
        slopes, found = items.mean[:, :-1], np.zeros_like(self.fitted.ability)
        weighed = None
        if self.responses is not None:
            weighed = self.patterns.with_trial_correlation(self.settings.trial_correlation or 0.0)
        for some in blocks(len(x), len(slopes)):
            p = self.expected(some, slice(None))
            weight = p * (1 - p)
            if weighed is not None:
                weight *= weighed.dense(some)[1]
            of_logit = _quadratic(x[some], items.covariance)
            for k in range(self.n_abilities):
                moved = self.fitted.ability_covariance[some, k]
                by_logit = (weight * (moved @ slopes.T)) ** 2 * of_logit
                by_slopes = weight * _quadratic(moved, items.covariance[:, :-1, :-1])
                found[some, k] = (by_logit + by_slopes).sum(axis=1)
        return found

    @property
    def first_of_each(self) -> list[tuple[list[str], list[str]]]:
        """Items and respondents of the table `abilities`, whole labels."""
        slopes = self.fitted.items.mean[:, :-1]
        share = np.abs(slopes)
        if self.fitted.design.free:
            share = share * slopes**2 / np.maximum((slopes**2).sum(axis=1, keepdims=True), 1e-12)
        ability = np.where(self.answering[:, None], self.fitted.ability, -np.inf)

        def first(values: Array, labels: tuple[str, ...]) -> list[list[str]]:
            places = np.argsort(-values, axis=0, kind="stable")[:_NAMED].T
            known = zip(places, self._reliability >= _RELIABLE, strict=True)
            return [[labels[k] for k in row] if named else [] for row, named in known]

        items, people = first(share, self.item_labels), first(ability, self.respondent_labels)
        return [*zip(items, people, strict=True)]

    @property
    def ability_correlations(self) -> pd.DataFrame:
        """Correlations of abilities in the population, one row per pair, with 95 % intervals.

        Columns: ability, other, correlation, correlation_se, low, high. Errors are NaN where the
        correlation is not a parameter: rotated exploratory axes, and a bifactor model (all 0).
        """
        import pandas as pd

        one, other = np.triu_indices(self.n_abilities, 1)
        r, se = (m[one, other] for m in (self.fitted.correlations, self.correlation_se))
        with np.errstate(divide="ignore"):
            z, reach = np.arctanh(r), 1.959964 * se / np.maximum(1 - r**2, 1e-9)
        names = np.array(self.ability_names, dtype=object)
        return pd.DataFrame(
            {
                "ability": names[one],
                "other": names[other],
                "correlation": r,
                "correlation_se": se,
                "low": np.tanh(z - reach),
                "high": np.tanh(z + reach),
            }
        )

    def probability(self, abilities: Any = None) -> pd.DataFrame:
        """P(right) of respondents (rows) on items (columns).

        Parameters
        ----------
        abilities : DataFrame or array, optional
            Shape (n, n_abilities), or a DataFrame whose index labels the rows. By default the
            fitted respondents, averaged over their posteriors and the errors of items.
        """
        import pandas as pd

        items = pd.Index(self.item_labels, name="item")
        if abilities is None:
            p = probabilities(self.fitted.respondents, self.fitted.known_items)
            return pd.DataFrame(p, pd.Index(self.respondent_labels, name="respondent"), items)
        theta = np.asarray(abilities, dtype=np.float64)
        if theta.ndim != 2 or theta.shape[1] != self.n_abilities or not np.isfinite(theta).all():
            rule = f"numbers of shape (n, {self.n_abilities})"
            raise ValueError(f"abilities must be {rule}, got shape {theta.shape}")
        index = abilities.index if isinstance(abilities, pd.DataFrame) else None
        b = self.fitted.items.mean
        p = 1 / (1 + np.exp(-(theta @ b[:, :-1].T + b[:, -1])))
        return pd.DataFrame(p, index, items)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to one file, to be read back with :func:`irtkit.load`."""
        record = storage.fields_of(self)
        record["findings"] = [one.stored() for one in self.findings]
        if self.responses is not None:
            record["responses"] = storage.stored_responses(self.responses)
        storage.write(path, FORMAT, record)

    def __repr__(self) -> str:
        n = counted(len(self.respondent_labels), "respondent")
        n_items = counted(len(self.item_labels), "item")
        state = "converged" if self.converged else "not converged"
        return f"AbilitiesResult({self.structure}, {self.n_abilities}, {n} × {n_items}, {state})"


def _expected(right: Array, trials: Array, side: Normals, items: Normals) -> tuple[Array, Array]:
    """Expected shares right of respondents, and their errors by missing answers."""
    seen, share, p = trials > 0, right / np.maximum(trials, 1), probabilities(side, items)
    missing = ~seen * p * (1 - p)
    slopes = missing @ items.mean[:, :-1]
    spread = np.einsum("ni,nij,nj->n", slopes, side.covariance[:, :-1, :-1], slopes)
    error = np.sqrt(missing.sum(axis=1) + spread) / p.shape[1]
    return np.where(seen, share, p).mean(axis=1), error


def p_negative(cells: Cells, fitted: Fitted, evidence: float = 1.0) -> Array:
    """Probability that the slopes of an item are turned round, given the others.

    The likelihood of the slopes a of an item near 0 is about exp(h'a − a'La/2), the score and the
    information of abilities that leave the item out. Slopes come from N(μ, Ω), from N(−μ, Ω), or
    are 0. EM estimates μ, Ω and the three shares from h and L. The result is the same for every
    rotation. ``evidence`` weighs responses, and is below 1 if respondents repeat each other.
    """
    free, design = fitted.design.pattern, fitted.design
    n, k = free.shape
    kinds = np.arange(k) if design.free else design.kind
    same = (kinds[:, None] == kinds).astype(np.float64)
    pool = same / np.maximum(same @ free.sum(axis=0), 1)[:, None]  # sums by ability to kinds' means
    h, information = (evidence * part for part in _near_zero(cells, fitted))
    slopes, shares = fitted.items.mean[:, :-1] * free, np.array([0.9, 0.05, 0.05])
    centre, p = pool @ slopes.sum(axis=0), np.zeros((3, n))
    spread = np.diag(pool @ ((slopes - centre) ** 2 * free).sum(axis=0) + _FLOOR)
    for _ in range(_STEPS):
        inside = np.eye(k) + spread @ information
        log_volume, inverse = np.linalg.slogdet(inside)[1], np.linalg.inv(inside)
        about, by_score = inverse @ centre, inverse @ spread
        pull, odds = np.einsum("nij,nj->ni", by_score, h), (h * about).sum(axis=1)
        level = (h * pull - (information @ centre) * about).sum(axis=1) / 2 - log_volume / 2
        log_p = np.stack([level + odds, level - odds, np.zeros(n)]) + np.log(shares)[:, None]
        p = np.exp(log_p - log_p.max(axis=0))
        p /= p.sum(axis=0)
        shares = (p.sum(axis=1) + _USUAL) / (n + 3 * _USUAL)
        of_items = [(p[at][:, None] * free, about + sign * pull) for at, sign in ((0, 1), (1, -1))]
        weight = sum(w for w, _ in of_items)
        inside_kind = same @ weight.sum(axis=0) + _USUAL / 100
        centre = same @ sum((w * a).sum(axis=0) for w, a in of_items) / inside_kind
        second = sum((w * (a - centre)).T @ ((a - centre) * free) for w, a in of_items)
        second = second + np.einsum("ni,nij->ij", weight, by_score * free[:, None, :])
        if design.free:
            spread = second / inside_kind[0]
        else:
            spread = np.diag(same @ np.diag(second) / inside_kind)
        spread += _FLOOR / n * np.eye(k)
    return np.asarray(p[1])


def _near_zero(cells: Cells, fitted: Fitted) -> tuple[Array, Array]:
    """Score and information of the slopes of every item at 0, its intercept at its maximum.

    Each response is taken out of the abilities that it is compared with, in one Newton step.
    """
    theta, variance = fitted.ability, fitted.ability_covariance
    free, k = fitted.design.pattern, theta.shape[1]
    sums = np.zeros((len(free), 1 + k + k * k))
    tried, right = (part.sum(axis=0, dtype=np.float64) for part in (cells.weights, cells.weighed))
    mean = right / np.maximum(tried, 1e-9)
    h, taken = np.zeros((len(free), k)), np.zeros((len(free), k * k))
    for rows in blocks(*cells.y.shape):
        some, people = (
            cells.chosen(rows),
            Normals(fitted.respondents.mean[rows], fitted.respondents.covariance[rows]),
        )
        squares = (theta[rows, :, None] * theta[rows, None, :]).reshape(-1, k * k)
        sums += some.weights.T @ np.column_stack([np.ones(len(squares)), theta[rows], squares])
        residual = some.weights * (some.y - mean)
        h += residual.T @ theta[rows]
        own = residual * some.weights * (some.y - probabilities(people, fitted.known_items))
        taken += own.T @ variance[rows].reshape(-1, k * k)
    h -= np.einsum("nij,nj->ni", taken.reshape(-1, k, k), fitted.items.mean[:, :-1])
    first, square = sums[:, 1 : k + 1], sums[:, k + 1 :].reshape(-1, k, k)
    square = square - first[:, :, None] * first[:, None, :] / np.maximum(sums[:, :1, None], 1e-9)
    information = (mean * (1 - mean))[:, None, None] * square
    return h * free, information * (free[:, :, None] & free[:, None, :])


def _quadratic(x: Array, matrices: Array) -> Array:
    """xᵀMx of every row and matrix, (n, n_items)."""
    products = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    return np.asarray(products @ matrices.reshape(len(matrices), -1).T)


def negative_items(p: Array) -> Finding | None:
    """How many items are called negative, given all abilities."""
    n = int(called_negative(p).sum())
    values = {"n": n, "n_items": len(p), "fdr": FALSE_DISCOVERY_RATE, "n_unsure": 0}
    return Finding("negative-items", "note", values) if n else None


def as_abilities(given: object) -> AbilitiesResult | None:
    """Return a fit with several abilities, read from its file if need be; None for all else."""
    if isinstance(given, str | os.PathLike):
        path = saved_in(as_path(given))
        if path.is_file() and storage.name_of(path) == FORMAT.name:
            return storage.read(path, FORMAT, restored)
    given = getattr(given, "result", given)  # of a selection
    return given if isinstance(given, AbilitiesResult) else None


def restored(record: dict[str, Any]) -> AbilitiesResult:
    """Put a result together again."""
    from irtkit.calibration.standard_errors import ItemCovariance

    fitted = storage.with_parts(record["fitted"], design=Design, respondents=Normals, items=Normals)
    parts: Any = {"settings": Settings, "counts": Counts, "item_covariance": ItemCovariance}
    made = storage.with_parts(record, **parts)
    made["fitted"] = Fitted(**fitted)
    made["findings"] = tuple(map(Finding.restored, record["findings"]))
    if record["responses"] is not None:
        labels = record["respondent_labels"], record["item_labels"]
        made["responses"] = storage.restored_responses(record["responses"], *labels)
    return AbilitiesResult(**made)
