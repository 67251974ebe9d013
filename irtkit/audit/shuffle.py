"""What noise alone would look like: the same fit and thresholds on shuffled responses.

Shuffling the responses to each item among the respondents who answered it keeps how hard every
item is and takes away all that respondents have in common.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.audit.expected import expected, rows_of_fit
from irtkit.audit.flags import NEGATIVE, check_thresholds, flag_items, respondents_needed
from irtkit.calibration import fit
from irtkit.calibration.checks import check_data
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix
from irtkit.simulation import check_seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.calibration import FitResult
    from irtkit.irf import ModelName

    Array = NDArray[np.float64]

_MOST_RESPONDENTS = 2000
"""Respondents, drawn at random, from which shares of variance are computed."""
_DATA = "data"


@dataclass(frozen=True, eq=False)
class ShuffleControl:
    """Flags and dimensions of the data beside those of shuffled data.

    ``print`` shows sentences and the table.
    """

    table: pd.DataFrame
    """Index "responses": "data", then "shuffled, seed 0" and so on. Columns: flagged (suspect
    items; nearly all where responses are shuffled, for being flat), negative (those with negative
    discrimination), dimension (share of the variance of responses, given how hard each item is,
    that one dimension explains at most), residual (the same share of what the fit leaves over)."""
    power: float
    """Probability that an inverted item of typical discrimination is found; NaN without any
    structure in the data."""
    respondents_needed: int
    """How many respondents would find four of five of them; 0 without any structure."""
    n_respondents: int

    @property
    def has_dimension(self) -> bool:
        """Whether responses have more in common than any shuffled ones."""
        return self._beyond_noise("dimension")

    @property
    def has_second_dimension(self) -> bool:
        """Whether what the fit leaves over has more in common than that of any shuffled data."""
        return self.has_dimension and self._beyond_noise("residual")

    def _beyond_noise(self, column: str) -> bool:
        values = self.table[column]
        return bool(values[_DATA] > values.drop(_DATA).max())

    @property
    def summary(self) -> list[str]:
        """What was found, in sentences."""
        counts = self.table["negative"]
        noise = ", ".join(str(count) for count in counts.drop(_DATA))
        sentences = [
            f"Items with negative discrimination: {counts[_DATA]} in the data; shuffled: {noise}."
        ]
        shares, noisy = self.table.loc[_DATA], self.table.drop(_DATA).max()
        between = (
            f"{shares['dimension']:.1%} of the variance, at most {noisy['dimension']:.1%} when "
            "shuffled"
        )
        if not self.has_dimension:
            return [
                *sentences,
                f"Responses have no more in common than noise ({between}); flags mean nothing.",
            ]
        sentences.append(f"Responses have a common dimension ({between}).")
        left = f"{shares['residual']:.1%} of what is left, {noisy['residual']:.1%} when shuffled"
        sentences.append(
            f"One dimension is not all they have in common ({left})."
            if self.has_second_dimension
            else f"Beyond it there is no more than noise ({left})."
        )
        if self.respondents_needed > self.n_respondents:
            sentences.append(
                f"{self.n_respondents} respondents are few: an inverted item of typical "
                f"discrimination is found with a probability of {self.power:.2g}; about "
                f"{self.respondents_needed} would find 80 % of them."
            )
        return sentences

    def __str__(self) -> str:
        shown = self.table.to_string(float_format="%.4f", index_names=False)
        return "\n".join([*self.summary, "", shown])


def shuffle_control(
    responses: ResponseMatrix,
    model: ModelName = "2PL",
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    fdr: float = 0.05,
    flat_information: float = 0.1,
    extreme_difficulty: float = 6.0,
    chance: float | None = None,
    progress: bool | None = None,
) -> ShuffleControl:
    """Fit and flag responses shuffled within items, to see what noise alone would give.

    Parameters
    ----------
    responses
        Responses of respondents (rows) to items; synthetic respondents are left out.
    model
        As in :func:`irtkit.fit`.
    seeds
        One shuffle for each.
    fdr, flat_information, extreme_difficulty, chance
        The thresholds of :func:`irtkit.flag_items`.
    progress
        Whether to show progress; by default on a terminal only.

    Raises
    ------
    TypeError
        If ``responses`` is not a ResponseMatrix.
    ValueError
        If a threshold is out of range, or there is no seed or one that is no whole number.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> control = irtkit.shuffle_control(crowd.responses, seeds=[0])
    >>> print(control.summary[0])
    Items with negative discrimination: 2 in the data; shuffled: 0.
    """
    import pandas as pd

    check_data(responses, model, "separate")
    thresholds: dict[str, Any] = {
        "fdr": fdr,
        "flat_information": flat_information,
        "extreme_difficulty": extreme_difficulty,
        "chance": chance,
    }
    check_thresholds(**thresholds)
    if not seeds:
        raise ValueError("seeds must name at least one shuffle")
    for seed in seeds:
        check_seed(seed)
    real = _real(responses)
    table: dict[str, dict[str, float]] = {}
    with progress_line("shuffling", shown=progress) as report:
        for step, (name, matrix) in enumerate(_matrices(real, seeds)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # noise is expected to warn
                result = fit(matrix, model, progress=False)
                flags = flag_items(result, **thresholds)
            negative = flags["reasons"].str.contains(NEGATIVE, regex=False)
            table[name] = {
                "flagged": len(flags),
                "negative": int(negative.sum()),
                "dimension": _leading_share(matrix, None),
                "residual": _leading_share(matrix, result),
            }
            report(step, result.log_likelihood)
            if name == _DATA:
                power, needed = _power(result, fdr)
    frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("responses")
    whole = {"flagged": int, "negative": int}
    return ShuffleControl(frame.astype(whole), power, needed, real.n_respondents)


def _real(responses: ResponseMatrix) -> ResponseMatrix:
    """The responses of real respondents."""
    kept = ~responses.synthetic
    names = [name for name, real in zip(responses.respondents, kept, strict=True) if real]
    return ResponseMatrix.from_counts(
        responses.successes[kept], responses.trials[kept], names, responses.items
    )


def _matrices(real: ResponseMatrix, seeds: Sequence[int]) -> Iterator[tuple[str, ResponseMatrix]]:
    """Name the data and the shuffled data."""
    yield _DATA, real
    for seed in seeds:
        yield f"shuffled, seed {seed}", shuffled(real, seed)


def shuffled(responses: ResponseMatrix, seed: int) -> ResponseMatrix:
    """Shuffle the responses to each item among the respondents who answered it."""
    generator = np.random.default_rng(seed)
    right, trials = responses.successes.copy(), responses.trials.copy()
    for j in range(responses.n_items):
        answered = np.flatnonzero(trials[:, j])
        order = generator.permutation(answered)
        right[answered, j], trials[answered, j] = right[order, j], trials[order, j]
    return ResponseMatrix.from_counts(right, trials, responses.respondents, responses.items)


def _leading_share(responses: ResponseMatrix, result: FitResult | None) -> float:
    """Largest eigenvalue over the sum of all, of standardised responses or of residuals."""
    chosen = np.ones(responses.n_respondents, dtype=np.bool_)
    if responses.n_respondents > _MOST_RESPONDENTS:
        drawn = np.random.default_rng(0).permutation(responses.n_respondents)
        chosen[drawn[_MOST_RESPONDENTS:]] = False
    blocks = _residuals(responses, chosen) if result is None else _left_over(result, chosen)
    n = int(chosen.sum())
    product = np.zeros((n, n))
    for residual in blocks:
        spread = np.sqrt((residual**2).sum(axis=0))
        scaled = np.divide(residual, spread, out=np.zeros_like(residual), where=spread > 1e-9)
        product += scaled @ scaled.T
    total = float(np.trace(product))
    if total <= 0:
        return 0.0
    from scipy.linalg import eigh

    largest = eigh(product, eigvals_only=True, subset_by_index=[n - 1, n - 1])
    return float(largest[0]) / total


def _residuals(responses: ResponseMatrix, chosen: NDArray[np.bool_]) -> Iterator[Array]:
    """Responses less the share right of their item, 0 where missing."""
    right = responses.successes[chosen].astype(np.float64)
    trials = responses.trials[chosen].astype(np.float64)
    yield right - trials * (right.sum(axis=0) / np.maximum(trials.sum(axis=0), 1))


def _left_over(result: FitResult, chosen: NDArray[np.bool_]) -> Iterator[Array]:
    """Responses less what the fit expects, 0 where missing."""
    return (part.residual for part in expected(result, chosen))


def _power(result: FitResult, fdr: float) -> tuple[float, int]:
    """Probability that a typical inverted item is found, and respondents that would do."""
    from irtkit.calibration.evidence import evidence_of
    from irtkit.calibration.inversion import inversion

    evidence = evidence_of(rows_of_fit(result, "shuffle_control"))
    found = inversion(evidence)
    if found.structure < 0.5:
        return float("nan"), 0
    return respondents_needed(found, evidence, fdr, result.n_real)
