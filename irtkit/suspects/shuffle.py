"""What noise alone would look like: the same fit and thresholds on shuffled responses.

Shuffling the responses to each item among the respondents who answered it keeps how hard every
item is and takes away all that respondents have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irtkit.calibration import fit
from irtkit.calibration.fitting import EM, check_data, one_thread, silently
from irtkit.checks import check_seed
from irtkit.data.slopes import FALSE_DISCOVERY_RATE
from irtkit.findings import Finding
from irtkit.io.reading import as_responses
from irtkit.irf import EXTREME, model_name
from irtkit.printed import in_lines
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix, refuse_sparse
from irtkit.responses.cells import Cells
from irtkit.suspects.flags import check_thresholds, flagged, negatives

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.irf import ModelName

_MOST_RESPONDENTS = 2000  # Drawn at random for shares of variance: a matrix of 32 MB.
_FEW_SHUFFLES, _MARGIN = 4, 0.2  # Shares of noise have an SD of 3 to 7 % of their mean.
_SPREADS = 4.0  # Of five shuffles a further one lies above with a probability of 1.1 %.
_LIMITS = {"further-ability", "item-groups", "low-power"}  # Codes of findings of fit and flags.


@dataclass(frozen=True, eq=False)
class ShuffleControl:
    """Flags and dimensions of the data and of shuffled data; ``print`` shows them."""

    table: pd.DataFrame
    """Index "responses": "data", then "shuffled, seed 0" and so on. Columns: flagged (suspect
    items; nearly all where responses are shuffled, for being flat), negative (those with negative
    discrimination), dimension (share of the variance of responses, given how hard each item is,
    that one dimension explains at most)."""
    has_dimension: bool  #: Whether responses have more in common than any shuffled ones.
    findings: tuple[Finding, ...]  #: What limits flags, or that there is no common dimension.

    def __str__(self) -> str:
        table = self.table.to_string(float_format="%.4f", index_names=False)
        said = in_lines(f"{one.severity}: {one}" for one in self.findings)
        return f"{table}\n\n{said}".rstrip()


@one_thread()
def shuffle_control(
    responses: object,
    model: ModelName = "2PL",
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    fdr: float = FALSE_DISCOVERY_RATE,
    extreme_difficulty: float = EXTREME,
    chance: float | None = None,
    progress: bool | None = None,
) -> ShuffleControl:
    """Fit and flag responses shuffled within items, to see what noise alone would give.

    With many cells nothing is flagged in shuffled responses. Zeros do not show that the flags in
    the data are right.

    Parameters
    ----------
    responses : ResponseMatrix, path, DataFrame, array or records
        Responses of respondents (rows) to items, or what :func:`irtkit.read_responses` takes;
        synthetic respondents are left out.
    model : str, default "2PL"
        As in :func:`irtkit.fit`.
    seeds : list of int, default (0, 1, 2, 3, 4)
        One shuffle for each.
    fdr, extreme_difficulty, chance : float, optional
        The thresholds of :func:`irtkit.flag_items`.
    progress : bool, optional
        Whether to show progress; by default on a terminal and in a notebook.

    Raises
    ------
    TypeError, ValueError
        If a threshold is out of range, there is no seed or one that is no whole number, or
        ``responses`` is sparse.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> control = irtkit.shuffle_control(crowd.responses, seeds=[0])
    >>> control.table["negative"].tolist()
    [0, 0]
    """
    import pandas as pd

    model = model_name(model)
    responses = as_responses(responses)
    check_data(responses, EM())
    refuse_sparse(responses, "shuffle_control")
    thresholds = fdr, extreme_difficulty, chance
    check_thresholds(*thresholds)
    if not len(seeds):
        raise ValueError("seeds must name at least one shuffle")
    for seed in seeds:
        check_seed(seed)
    real = responses.part(np.flatnonzero(~responses.synthetic & responses.trials.any(axis=1)))
    chosen = np.sort(np.random.default_rng(0).permutation(real.n_respondents)[:_MOST_RESPONDENTS])
    rows, names = [], ["data", *(f"shuffled, seed {seed}" for seed in seeds)]
    limits: list[Finding] = []
    with progress_line("shuffling", shown=progress) as report, silently():
        for step in range(len(names)):
            matrix = shuffled(real, seeds[step - 1]) if step else real
            result = fit(matrix, model, progress=False)
            flags, found = flagged(result, *thresholds)
            if not step:
                limits = [one for one in (*result.findings, *found) if one.code in _LIMITS]
            rows.append((len(flags), int(negatives(flags).sum()), _leading_share(matrix, chosen)))
            report(step, result.log_likelihood)
    columns = ["flagged", "negative", "dimension"]
    table = pd.DataFrame(rows, pd.Index(names, name="responses"), columns)
    share, noise = float(table["dimension"].iloc[0]), table["dimension"].iloc[1:]
    margin = _SPREADS * noise.std() if len(noise) >= _FEW_SHUFFLES else _MARGIN * noise.mean()
    has_dimension = bool(share > max(noise.max(), noise.mean() + margin))
    if not has_dimension:
        about = {"share": share, "most": float(noise.max())}
        limits = [Finding("no-dimension", "warning", about)]
    return ShuffleControl(table, has_dimension, tuple(limits))


def shuffled(responses: ResponseMatrix, seed: int) -> ResponseMatrix:
    """Shuffle the responses to each item among the respondents who answered it."""
    generator = np.random.default_rng(seed)
    right, trials = responses.successes.copy(), responses.trials.copy()
    for j in range(responses.n_items):
        answered = np.flatnonzero(trials[:, j])
        order = generator.permutation(answered)
        right[answered, j], trials[answered, j] = right[order, j], trials[order, j]
    names = responses.respondents, responses.items
    return ResponseMatrix.of_cells(Cells(right, trials), names)


def _leading_share(responses: ResponseMatrix, chosen: NDArray[np.int64]) -> float:
    """Largest eigenvalue over the sum of all, of responses standardised by item."""
    from scipy.linalg import eigh

    right, trials = (part[chosen].astype(float) for part in (responses.successes, responses.trials))
    residual = right - trials * (right.sum(axis=0) / np.maximum(trials.sum(axis=0), 1))
    spread = np.sqrt((residual**2).sum(axis=0))
    scaled = residual[:, spread > 1e-9] / spread[spread > 1e-9]
    product, last = scaled @ scaled.T, len(chosen) - 1
    largest = eigh(product, eigvals_only=True, subset_by_index=[last, last])
    return float(largest[0]) / max(float(np.trace(product)), 1e-300)
