"""What models predict of responses they have not seen, compared with average error.

Cross-validation by rows and columns (Owen & Perry 2009). Items are calibrated on some respondents.
The others are placed by their answers to some of the items, and their answers to the rest are
predicted. The 1PL stands for average error: from complete data it learns nothing but the
proportions correct of items and respondents. It has the same prior as the other models.

The gain of a model is the mean difference of the log-likelihoods of a response by the model and by
the 1PL. Responses to one item share sampling error, and so do responses of one respondent. The
variance is therefore clustered in two ways (Cameron, Gelbach & Miller 2011): between items, plus
between respondents, less between cells.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.priors import WeakPrior
from irtkit.capabilities import require
from irtkit.checks import check_seed, check_whole, short
from irtkit.data.patterns import float_blocks, patterns_of
from irtkit.io.reading import as_responses
from irtkit.irf import NORMAL_POINTS, OF_LEVELS, ItemParameters, logistic, model_name
from irtkit.progress import progress_bar
from irtkit.quadrature.posterior import ItemCurves, Posterior, nodes_for
from irtkit.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.data.patterns import Patterns, Places
    from irtkit.irf import Array, ModelName

BASE: ModelName = "1PL"
_LEVEL = 0.95  # Probability with which the intervals of all gains hold at once.
_LEAST = 1e-6  # Distance of predictions from 0 and 1, so that one surprise is not everything.
_TOL = 1e-4  # Of the fits: gains are within 1 % of their errors (benchmarks/difficulty.py).


@one_thread()
@np.errstate(under="ignore")
def held_out_predictions(
    responses: object,
    models: Sequence[ModelName] = ("2PL", "3PL"),
    *,
    folds: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Predict the responses of some respondents to some items from all others.

    Parameters
    ----------
    responses : FitResult, ResponseMatrix, or path
        Respondents (rows) × items, or what :func:`irtkit.read_responses` takes. Synthetic
        respondents are left out.
    models : list of str, optional
        Models to compare with the 1PL, each with its default prior. Levels are counted as trials.
    folds : int, default 5
        Parts into which respondents and items are divided at random. Every model is fitted once for
        each part of the respondents.
    seed : int, default 0
        Seed of the division, which depends on the order of rows and columns.
    progress : bool, optional
        Whether to show progress. The default is to show it on a terminal and in a notebook.

    Returns
    -------
    DataFrame
        Index "predictor": "1PL" (average error as a predictor) and the models. Columns:

        - log_likelihood: mean per response (natural logarithm). Higher is better.
        - accuracy: proportion of responses on the likelier side.
        - gain: log_likelihood less the log_likelihood of the 1PL.
        - gain_se: standard error of gain, NaN with one item or one respondent.
        - gain_low, gain_high: 95 % intervals that hold for all models at once (Bonferroni).
        - n_responses: number of responses.

    Raises
    ------
    TypeError
        If responses cannot be read or models is not a list.
    ValueError
        If a model is unknown, fewer than two respondents have responses, folds is not a whole
        number of 2 or more, seed is not a whole number of 0 or more, or responses are sparse.

    Examples
    --------
    >>> import irtkit
    >>> from irtkit.difficulty import held_out_predictions
    >>> items = irtkit.ItemParameters.from_difficulty([1.0, -1.0, 1.5, 0.7] * 10, [0.0] * 40)
    >>> responses = irtkit.simulate_responses(items, [k / 25 - 2 for k in range(100)], seed=1)
    >>> table = held_out_predictions(responses, ["2PL"])
    >>> bool(table.loc["2PL", "gain"] > 3 * table.loc["2PL", "gain_se"])
    True
    """
    import pandas as pd

    responses = as_responses(responses)
    require("difficulty.held_out_predictions", responses)
    if isinstance(models, str):
        raise TypeError(f"models must be a list of models, got {short(models)}")
    names = list(dict.fromkeys([BASE, *map(model_name, models)]))
    if of_levels := [name for name in names if name in OF_LEVELS]:
        raise ValueError(f"models must predict right and wrong answers, got {of_levels[0]}")
    check_whole("folds", folds, 2)
    check_seed(seed)
    generator = np.random.default_rng(seed)
    whole = patterns_of(responses, synthetic_is_real=False)
    answered = np.flatnonzero(whole.margins.item_responses[0])
    whole = whole.chosen(whole.answering).with_columns(generator.permutation(answered))
    if whole.n < 2:
        raise ValueError("responses must hold at least two systems with responses")
    fold = generator.permutation(whole.n) % folds
    parts = np.linspace(0, whole.n_items, min(folds, whole.n_items) + 1).astype(int)
    scores = [_Scores((whole.n, whole.n_items)) for _ in names]
    with progress_bar("predicting", folds * len(names), shown=progress) as bar:
        for k in range(min(folds, whole.n)):
            training = whole.chosen(fold != k)
            held = whole.chosen(fold == k)
            rows = np.flatnonzero(fold == k)
            predictors: list[_Predictor] = []
            for name in names:
                bar(k * len(names) + len(predictors), f"fold {k + 1} of {folds}, {name}")
                items, worth = _calibrated(training, name)
                predictors.append(_Predictor(items, parts, worth))
            for block, right, trials in float_blocks(held, n_points=whole.n_items):
                base = None
                for score, predictor in zip(scores, predictors, strict=True):
                    p = predictor.probability(right, trials)
                    base = score.add(rows[block], right, trials, p, base)
    table = [score.row(len(names) - 1) for score in scores]
    return pd.DataFrame(table, index=pd.Index(names, name="predictor"))


def _calibrated(training: Patterns, name: ModelName) -> tuple[ItemParameters, Any]:
    """Items of a model, as the training respondents have them, and trials a score counts for."""
    from irtkit.calibration.estimation import maximum_likelihood
    from irtkit.calibration.search import Control

    model: Any = "1PL" if name == "Rasch" else name  # The same in other units.
    correlation = 0.0 if training.scored is None else None
    maximum = maximum_likelihood(
        training, model, WeakPrior(), Control(tol=_TOL), trial_correlation=correlation
    )
    slope = np.asarray(maximum.items.slope)
    intercept = np.asarray(maximum.items.intercept)
    guessing = np.zeros_like(slope)
    if maximum.items.logit_guessing is not None:
        guessing = logistic(np.asarray(maximum.items.logit_guessing))
    worth = training.score_worth(maximum.trial_correlation)
    return ItemParameters(slope, intercept, guessing), worth


class _Predictor:
    """Probability of every answer of new respondents, given their answers to other parts."""

    def __init__(self, items: ItemParameters, parts: NDArray[np.int_], worth: Any = 1.0) -> None:
        self.nodes = nodes_for(items)
        self.items, self.worth = items, worth
        self.parts = [slice(*ends) for ends in pairwise(parts)]
        self.curves = [ItemCurves(items.chosen(part), self.nodes.theta) for part in self.parts]

    def probability(self, right: Array, trials: Array | None) -> Array:
        """P(right), averaged over the posterior of ability as a normal distribution."""
        if not np.isscalar(self.worth):  # trials are known beside scores
            right = right * self.worth
            trials = trials * self.worth
        likelihoods = [
            curves.log_likelihood(right[:, part], None if trials is None else trials[:, part])
            for curves, part in zip(self.curves, self.parts, strict=True)
        ]
        total = sum(likelihoods)
        p = np.empty(right.shape, dtype=np.float32)
        for part, likelihood in zip(self.parts, likelihoods, strict=True):
            posterior = Posterior.of(total - likelihood, self.nodes)
            items = self.items.chosen(part)
            p[:, part] = sum(
                np.float32(weight) * items.narrow_probability(posterior.mean + x * posterior.sd)
                for x, weight in NORMAL_POINTS
            )
        return np.clip(p, _LEAST, 1 - _LEAST)


class _Scores:
    """How well a model predicts, and its gains over another as sums over cells."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.log_likelihood = self.hits = 0.0
        self.respondents, self.items = (np.zeros((2, n)) for n in shape)  # Gains and trials.
        self.squares = np.zeros(3)  # Σ d², Σ d t and Σ t² of the gains d and trials t of cells.

    def add(
        self, rows: Places, right: Array, trials: Array | None, p: Array, base: Array | None
    ) -> Array:
        """Add predictions of some rows. Return their log-likelihoods, which gains are over."""
        if trials is None:  # one answer each
            trials = np.ones_like(right)
            score = np.log(np.where(right > 0, p, 1 - p))
        else:
            score = right * np.log(p) + (trials - right) * np.log1p(-p)
        if base is None:
            base = score
        gain = np.subtract(score, base, dtype=np.float64)
        self.log_likelihood += float(score.sum(dtype=np.float64))
        self.hits += float(np.where(p > 0.5, right, trials - right).sum())
        self.respondents[:, rows] += gain.sum(axis=1), trials.sum(axis=1)
        self.items += gain.sum(axis=0), trials.sum(axis=0)
        self.squares += np.vdot(gain, gain), np.vdot(gain, trials), np.vdot(trials, trials)
        return base

    def row(self, n_models: int) -> dict[str, float]:
        """Means per response, and the gain with its standard error and interval."""
        from scipy.special import stdtrit

        total = float(self.items[1].sum())
        gain = float(self.items[0].sum()) / total
        ways = self.respondents, self.items
        between = []  # Variance of the sum by each way, NaN with one cluster that has trials.
        for sums, trials in ways:
            n = np.count_nonzero(trials)
            correction = n / (n - 1) if n > 1 else np.nan
            between.append(float(((sums - gain * trials) ** 2).sum()) * correction)
        # With few cells the difference may fall below the variance of one way, which is then taken.
        of_cells = float(self.squares @ (1, -2 * gain, gain**2))
        error = max(sum(between) - of_cells, *between) ** 0.5 / total
        freedom = min(np.count_nonzero(trials) for _, trials in ways) - 1
        half = error * float(stdtrit(freedom, 1 - (1 - _LEVEL) / 2 / max(n_models, 1)))
        return {
            "log_likelihood": self.log_likelihood / total,
            "accuracy": self.hits / total,
            "gain": gain,
            "gain_se": error,
            "gain_low": gain - half,
            "gain_high": gain + half,
            "n_responses": int(total),
        }
