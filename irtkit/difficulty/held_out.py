"""What models say about responses they have not seen, beside what average error says.

Cells are held out at random, fold by fold; each predictor is made from the rest and gives the
probability that a held-out response is right. The predictor behind average error is the additive
logistic model (:mod:`.additive`), fitted as properly as the others: of a complete matrix it knows
no more than the shares right of items and of respondents. The 1PL is the same curve with another
prior, and can but tie with it; what the 2PL and the 3PL gain is gained by slopes and guessing.

A gain is a mean over cells, and cells of an item have its luck in common, as cells of a respondent
have that of the respondent. Its variance is that of two-way clusters (Cameron, Gelbach & Miller
2011): between items, plus between respondents, less between cells.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irtkit.calibration.one_thread import one_thread
from irtkit.calibration.priors import WeakPrior
from irtkit.checks import check_seed, check_whole, short
from irtkit.data.patterns import blocks, patterns_of
from irtkit.difficulty.additive import additive_model
from irtkit.io.reading import as_responses
from irtkit.irf import NORMAL_POINTS, logistic, model_name
from irtkit.progress import progress_bar
from irtkit.responses import ResponseMatrix, refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration.estimates import Estimates
    from irtkit.data.patterns import Patterns
    from irtkit.irf import Array, ModelName

    Places = NDArray[np.intp]
    Predictor = Callable[[Places, Places], Array]

AVERAGE_ERROR = "average error"
SURE = 0.95
"""Probability with which the intervals of all gains hold at once."""
_LEAST = 1e-6
"""Predictions are kept this far from 0 and 1, so that one surprise is not everything."""
_TOL = 1e-4
"""Of the fits: gains are within 1 % of their standard errors of those at the usual 1e-7
(``benchmarks/held_out.py``). Starting from the fit to all responses, or to those of another fold,
spares nothing: at 12 × 42,000 a 2PL takes some 110 evaluations from there, and 80 as usual."""
_ORDERS = 3
"""Orders of respondents: more cost time in proportion where many items are copies, fewer let a
gain depend more on the seed. Over 120 seeds its SD was that of cells drawn one by one (0.0049 and
0.0043 against 0.0062 and 0.0045), but for 6 pairs of respondents who answer alike 0.0086 against
0.0061, and 0.013 with one order."""


def held_out_predictions(
    responses: object,
    models: Sequence[ModelName] = ("1PL", "2PL", "3PL"),
    *,
    folds: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Predict responses left out at random, by average error and by item response models.

    Parameters
    ----------
    responses
        Respondents (rows) × items, or what :func:`irtkit.read_responses` takes; synthetic
        respondents are left out. Repeated trials of one cell are held out together.
    models
        Models to fit, each with its default prior; every fold fits each of them.
    folds
        Parts into which the observed cells are divided at random; each is held out once.
    seed
        The same number divides the cells the same way, of the same order of rows and columns.
    progress
        Whether to show progress; by default on a terminal and in a notebook.

    Returns
    -------
    pandas.DataFrame
        Index "predictor": "average error" and the models. Columns: log_likelihood (natural, mean
        per held-out response; higher is better), accuracy (share of responses on the likelier
        side), gain (of log_likelihood over average error), gain_se (its standard error, from the
        spread between items and between respondents; NaN where there is one of either), gain_low
        and gain_high (its 95 % interval, which holds for all models at once; Bonferroni) and
        n_responses.

    Raises
    ------
    TypeError
        If ``responses`` is nothing that can be read, or ``models`` is no list.
    ValueError
        If one of ``models`` is no model, ``folds`` is not a whole number from 2, there are fewer
        observed cells than folds, or ``seed`` is no whole number from 0, or ``responses`` is
        sparse.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.difficulty import held_out_predictions
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, -1.0, 1.5, 0.7] * 10, [0.0] * 40)
    >>> responses = irtkit.simulate_responses(items, [k / 25 - 2 for k in range(100)], seed=1)
    >>> table = held_out_predictions(responses, ["1PL", "2PL"])
    >>> bool(table.loc["2PL", "gain"] > 3 * table.loc["2PL", "gain_se"])
    True
    """
    import pandas as pd

    responses = as_responses(responses)
    refuse_sparse(responses, "held_out_predictions")
    if isinstance(models, str):
        raise TypeError(f"models must be a list of models, got {short(models)}")
    models = [model_name(name) for name in models]
    check_whole("folds", folds, 2)
    check_seed(seed)
    real, trials = ~responses.synthetic, responses.trials
    answered = np.ix_(real & trials.any(axis=1), trials[real].any(axis=0))
    right, trials = responses.successes[answered], trials[answered]
    if np.count_nonzero(trials) < folds:
        raise ValueError(
            "folds must be at most the number of observed cells, "
            f"{np.count_nonzero(trials)}; got {folds}"
        )
    scores = {name: _Scores(trials.shape) for name in (AVERAGE_ERROR, *models)}
    with progress_bar("predicting", folds * len(scores), shown=progress) as bar:
        for k, held in enumerate(_folds(trials, folds, seed)):
            seen = np.where(held, 0, trials)
            training = ResponseMatrix.from_counts(np.where(held, 0, right), seen)
            patterns = patterns_of(training, synthetic_is_real=True)
            predictors: dict[str, Predictor] = {}
            for name in scores:
                bar(k * len(scores) + len(predictors), f"fold {k + 1} of {folds}, {name}")
                predictors[name] = _predictor(name, patterns)
            for cells in _cells(held, right, trials):
                base = None
                for name, score in scores.items():
                    base = score.add(cells, predictors[name](cells.respondent, cells.item), base)
    rows = {name: score.row(len(models)) for name, score in scores.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("predictor")


class _Cells(NamedTuple):
    """Some held-out cells; each array of shape (n_cells,)."""

    respondent: Places
    item: Places
    right: Array
    trials: Array


def _cells(held: NDArray[np.bool_], right: NDArray[Any], trials: NDArray[Any]) -> Iterator[_Cells]:
    """Held-out cells, those of some items at a time."""
    for some in blocks(*held.shape[::-1]):
        respondent, item = np.nonzero(held[:, some])
        item = item + some.start
        counts = (table[respondent, item].astype(np.float64) for table in (right, trials))
        yield _Cells(respondent, item, *counts)


class _Scores:
    """How well a predictor does, and its gains over another as sums over cells."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.log_likelihood = self.hits = 0.0
        self.by = [np.zeros((2, n)) for n in shape]
        """Gain and trials of every respondent, and of every item."""
        self.squares = np.zeros(3)
        """Σ d², Σ d t and Σ t² of gains d and trials t of cells."""

    def add(self, cells: _Cells, p: Array, base: Array | None) -> Array:
        """Add predictions of some cells; return their log-likelihoods.

        ``base`` are those that gains are over; None if this predictor is the base.
        """
        p = np.clip(p, _LEAST, 1 - _LEAST)
        wrong = cells.trials - cells.right
        log_likelihood = cells.right * np.log(p) + wrong * np.log1p(-p)
        self.log_likelihood += float(log_likelihood.sum())
        likelier = np.where(p > 0.5, cells.right, wrong)
        self.hits += float(np.where(p == 0.5, cells.trials / 2, likelier).sum())
        base = log_likelihood if base is None else base
        gain = log_likelihood - base
        for sums, place in zip(self.by, (cells.respondent, cells.item), strict=True):
            sums += [np.bincount(place, of, sums.shape[1]) for of in (gain, cells.trials)]
        self.squares += (gain @ gain, gain @ cells.trials, cells.trials @ cells.trials)
        return base

    def row(self, n_models: int) -> dict[str, float]:
        """Means per response, and the gain with its standard error and interval."""
        total = float(self.by[0][1].sum())
        gain = float(self.by[0][0].sum()) / total
        error, freedom = self._error(gain, total)
        half = error * _quantile(freedom, n_models)
        return {
            "log_likelihood": self.log_likelihood / total,
            "accuracy": self.hits / total,
            "gain": gain,
            "gain_se": error,
            "gain_low": gain - half,
            "gain_high": gain + half,
            "n_responses": int(total),
        }

    def _error(self, gain: float, total: float) -> tuple[float, int]:
        """Standard error of a ratio of sums over two-way clusters, and its degrees of freedom.

        Where few cells make the difference come out below the variance of one way, that is taken.
        """
        between, freedom = [], []
        for sums, trials in self.by:
            n = np.count_nonzero(trials)
            if n < 2:
                return np.nan, 1  # one item, or respondent, shows no spread
            between.append(float(((sums - gain * trials) ** 2).sum()) * n / (n - 1))
            freedom.append(int(n) - 1)
        cells = float(self.squares @ (1, -2 * gain, gain**2))
        variance = max(sum(between) - cells, *between)
        return float(np.sqrt(variance)) / total, min(freedom)


def _quantile(freedom: int, n_models: int) -> float:
    """Standard errors to either side of a gain that hold all gains at once (Bonferroni)."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - (1 - SURE) / 2 / max(n_models, 1)))


def _folds(trials: NDArray[Any], folds: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Which cells are held out, fold by fold; each observed cell once.

    The observed cells of an item are dealt to the folds in turn, in a random order of respondents
    and from a random fold on. So every item keeps as many cells as the others, which chance alone
    does not grant: of 12 cells it would hold out 5 or more as a fifth for 7 % of the items. Items
    that share an order and start at the same fold lose the same respondents, so that those
    answered alike stay copies, and a fit computes them once. Two respondents who answer alike are
    held out together, or never, within an order: several orders average that out.
    """
    generator = np.random.default_rng(seed)
    observed = trials > 0
    fold = np.full(trials.shape, -1, dtype=np.int8 if folds < 128 else np.int64)
    items = generator.permutation(trials.shape[1])
    for some in np.array_split(np.arange(len(items)), _ORDERS):
        cells = np.ix_(generator.permutation(len(trials)), items[some])
        place = observed[cells].cumsum(axis=0, dtype=np.int32) - 1
        fold[cells] = np.where(observed[cells], (place + some) % folds, -1)
    return (held for k in range(folds) if (held := fold == k).any())


def _predictor(name: str, training: Patterns) -> Predictor:
    """P(right) of cells, given their respondents and items."""
    if name == AVERAGE_ERROR:
        return additive_model(training).probability
    from irtkit.calibration.maximise import Control, GridSchedule, Monitor, Stopping
    from irtkit.calibration.maximum_likelihood import maximum_likelihood

    model: Any = "1PL" if name == "Rasch" else name  # the same in other units
    control = Control(GridSchedule(), Stopping(_TOL), Monitor(lambda _step, _value: None))
    with one_thread():  # what a fit says about a matrix has been said of the whole
        estimates = maximum_likelihood(
            training,
            model,
            WeakPrior(),
            control,
            empirical=False,
            standard_errors=False,
            mesh=None,
            trial_correlation=0.0,  # repeated trials count as they do in the additive model
        )
    return partial(_of_model, estimates)


def _of_model(estimates: Estimates, respondent: Places, item: Places) -> Array:
    """P(right), averaged over the posterior of ability as a normal one."""
    items = estimates.items.chosen(item)
    mean = items.slope * estimates.ability[respondent] + items.intercept
    sd = items.slope * estimates.ability_se[respondent]
    total = np.zeros(len(item))
    for shift, weight in NORMAL_POINTS:
        total += weight * logistic(mean + shift * sd)
    if items.logit_guessing is None:
        return total
    guessing = logistic(items.logit_guessing)
    return np.asarray(guessing + (1 - guessing) * total)
