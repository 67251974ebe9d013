"""What models say about responses they have not seen, beside what average error says.

Cells are held out at random, fold by fold; each predictor is made from the rest and gives the
probability that a held-out response is right. The predictor behind average error is additive on
the logit scale: how easy the item is plus how strong the respondent is, both told by shares right
and shrunk toward their mean by how far these can be trusted (as in Morris 1983): without that, the
noise of both margins would lose to any model.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration import fit
from irtkit.checks import check_seed, check_whole
from irtkit.io.reading import as_responses
from irtkit.irf import logistic, model_name
from irtkit.patterns import blocks
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix, refuse_sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

AVERAGE_ERROR = "average error"
_LEAST = 1e-6
"""Predictions are kept this far from 0 and 1, so that one surprise is not everything."""
_NODES = 3
"""Of the Gauss–Hermite rule for the posterior of ability."""
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
        The same number divides the cells the same way.
    progress
        Whether to show progress; by default on a terminal only.

    Returns
    -------
    pandas.DataFrame
        Index "predictor": "average error" and the models. Columns: log_likelihood (natural, mean
        per held-out response; higher is better), accuracy (share of responses on the likelier
        side), gain (of log_likelihood over average error), gain_se (its standard error, from the
        spread between items) and n_responses.

    Raises
    ------
    TypeError
        If ``responses`` is nothing that can be read, or ``models`` is no list.
    ValueError
        If ``folds`` is not a whole number from 2, there are fewer observed cells than folds, or
        ``seed`` is no whole number from 0, or ``responses`` is sparse.

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
        raise TypeError(f"models must be a list of models, got {models!r}")
    models = [model_name(name) for name in models]
    check_whole("folds", folds, 2)
    check_seed(seed)
    real = np.flatnonzero(~responses.synthetic)
    right, trials = responses.successes[real], responses.trials[real]
    if np.count_nonzero(trials) < folds:
        raise ValueError(
            "folds must be at most the number of observed cells, "
            f"{np.count_nonzero(trials)}; got {folds}"
        )
    scores = {name: np.zeros((2, right.shape[1])) for name in (AVERAGE_ERROR, *models)}
    with progress_line("predicting held-out responses", shown=progress) as report:
        step = 0
        for held in _folds(trials, folds, seed):
            seen = np.where(held, 0, trials)
            training = ResponseMatrix.from_counts(np.where(held, 0, right), seen)
            for name, score in scores.items():
                step += 1
                right_of = _predictor(name, training)
                for some in blocks(*trials.shape[::-1]):
                    out = np.where(held[:, some], trials[:, some], 0).astype(np.float64)
                    score[:, some] += _scores(right_of(some), right[:, some], out)
                report(step, float(score[0].sum()))
    n = trials.sum(axis=0, dtype=np.int64)
    base = scores[AVERAGE_ERROR][0]
    rows = {name: _row(score, score[0] - base, n) for name, score in scores.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("predictor")


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
    answered = generator.permutation(np.flatnonzero(observed.any(axis=0)))
    for some in np.array_split(np.arange(len(answered)), _ORDERS):
        cells = np.ix_(generator.permutation(len(trials)), answered[some])
        place = observed[cells].cumsum(axis=0, dtype=np.int32) - 1
        fold[cells] = np.where(observed[cells], (place + some) % folds, -1)
    return (held for k in range(folds) if (held := fold == k).any())


def _predictor(name: str, training: ResponseMatrix) -> Callable[[slice], Array]:
    """P(right) of all respondents on some items."""
    if name == AVERAGE_ERROR:
        strength, ease = _additive(training)
        return lambda some: logistic(strength[:, None] + ease[some])
    model: Any = name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of folds; the whole was fitted aloud
        fitted = fit(training, model, standard_errors=False, progress=False)
    return partial(_of_model, fitted)


def _of_model(fitted: FitResult, some: slice) -> Array:
    """P(right), averaged over the posterior of ability as a normal one."""
    items = fitted.parameters.chosen(some)
    total = np.zeros((len(fitted.ability), items.n_items))
    shifts, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    for shift, weight in zip(shifts, weights / weights.sum(), strict=True):
        total += weight * items.probability(fitted.ability + shift * fitted.ability_se)
    return total


def _additive(training: ResponseMatrix) -> tuple[Array, Array]:
    """Strength of respondents and ease of items, logits that add up."""
    right, trials = training.successes, training.trials
    whole = np.log(_odds(right.sum(dtype=np.int64), trials.sum(dtype=np.int64)))
    strength = _shrunk(right.sum(axis=1, dtype=np.int64), trials.sum(axis=1, dtype=np.int64))
    ease = _shrunk(right.sum(axis=0, dtype=np.int64), trials.sum(axis=0, dtype=np.int64))
    return strength, ease + whole


def _odds(right: Any, trials: Any) -> Any:
    return (right + 0.5) / (trials - right + 0.5)


def _shrunk(right: NDArray[np.int64], trials: NDArray[np.int64]) -> Array:
    """Logits less their mean, times v / (v + s²): s their standard errors, v the spread left."""
    logit = np.log(_odds(right, trials))
    error = 1 / (right + 0.5) + 1 / (trials - right + 0.5)
    known = trials > 0
    centre = logit[known].mean()
    spread = max(float(((logit[known] - centre) ** 2 - error[known]).mean()), 0.0)
    return np.where(known, (logit - centre) * spread / (spread + error), 0.0)


def _scores(p: Array, right: NDArray[Any], trials: Array) -> Array:
    """Log-likelihood and responses predicted rightly, by item; ``trials`` are those held out."""
    p = np.clip(p, _LEAST, 1 - _LEAST)
    n_right = np.where(trials > 0, right, 0)
    n_wrong = trials - n_right
    log_likelihood = n_right * np.log(p) + n_wrong * np.log1p(-p)
    hit = np.where(p == 0.5, (n_right + n_wrong) / 2, np.where(p > 0.5, n_right, n_wrong))
    return np.stack([log_likelihood.sum(axis=0), hit.sum(axis=0)])


def _row(score: Array, gain: Array, n: NDArray[np.int64]) -> dict[str, float]:
    """Means per response, and the gain with its standard error as a ratio of sums over items."""
    total = int(n.sum())
    mean = gain.sum() / total
    spread = np.nan  # one item shows no spread
    if len(n) > 1:
        spread = np.sqrt(((gain - mean * n) ** 2).sum() * len(n) / (len(n) - 1)) / total
    return {
        "log_likelihood": score[0].sum() / total,
        "accuracy": score[1].sum() / total,
        "gain": mean,
        "gain_se": spread,
        "n_responses": total,
    }
