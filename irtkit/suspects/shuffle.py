"""What noise alone would look like: the same fit and thresholds on shuffled responses.

Shuffling the responses to each item among the respondents who answered it keeps how hard every
item is and takes away all that respondents have in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration import fit
from irtkit.calibration.fitting import check_data, silently
from irtkit.calibration.methods import EM
from irtkit.checks import MOST_TIMES, check_seed, check_unique, short
from irtkit.io.reading import as_responses
from irtkit.irf import EXTREME, model_name
from irtkit.printed import in_lines
from irtkit.progress import progress_line
from irtkit.responses import ResponseMatrix, refuse_sparse
from irtkit.signs import FALSE_DISCOVERY_RATE
from irtkit.suspects.flags import check_thresholds, flagged, negatives
from irtkit.suspects.power import Power, power_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from irtkit.findings import Finding
    from irtkit.irf import Array, ModelName
    from irtkit.signs import Dependence

_MOST_RESPONDENTS = 2000
"""Respondents, drawn at random, from which shares of variance are computed: products and
eigenvalues of a matrix of 32 MB."""
_FEW_SHUFFLES, _MARGIN = 4, 0.2
"""With fewer shuffles, the share by which data must lie above their mean: shares of noise have an
SD of 3 to 5 % of their mean, 7 % at 20 × 20."""
_SPREADS = 4.0
"""With more, how many of their standard deviations: of five shuffles a further one lies above with
a probability of 1.1 % (t of 4/√1.2 with 4 degrees of freedom)."""
_DATA = "data"
_UNEXPLAINED = {"further-ability", "item-groups"}  # Codes of findings of a fit.


@dataclass(frozen=True, eq=False)
class ShuffleControl:
    """Flags and dimensions of the data beside those of shuffled data.

    ``print`` shows sentences and the table.
    """

    table: pd.DataFrame
    """Index "responses": "data", then "shuffled, seed 0" and so on. Columns: flagged (suspect
    items; nearly all where responses are shuffled, for being flat), negative (those with negative
    discrimination), dimension (share of the variance of responses, given how hard each item is,
    that one dimension explains at most)."""
    power: float
    """Probability that an inverted item of typical discrimination is found; NaN without any
    structure in the data."""
    respondents_needed: int
    """How many independent respondents would find four of five; 0 without any structure. Too few
    where some are copies, items are easy or guessed, or cells are missing."""
    dependence: Dependence
    """How many respondents there are, and how many of them are independent."""
    findings: tuple[Finding, ...] = ()
    """What one ability does not explain, by the fit to the data."""

    @property
    def has_dimension(self) -> bool:
        """Whether responses have more in common than any shuffled ones."""
        noise = self.table["dimension"].drop(_DATA)
        margin = _SPREADS * noise.std() if len(noise) >= _FEW_SHUFFLES else _MARGIN * noise.mean()
        return bool(self.table["dimension"][_DATA] > max(noise.max(), noise.mean() + margin))

    @property
    def summary(self) -> list[str]:
        """What was found, in sentences."""
        counts = self.table["negative"]
        noise = ", ".join(str(count) for count in counts.drop(_DATA))
        sentences = [
            f"Items with negative discrimination: {counts[_DATA]} in the data; shuffled: {noise}."
        ]
        shares = self.table["dimension"]
        share, most = shares[_DATA], shares.drop(_DATA).max()
        between = f"({share:.1%} of the variance, at most {most:.1%} when shuffled)"
        if not self.has_dimension:
            nothing = (
                f"Responses do not clearly have more in common than noise {between}: flags may "
                "mean nothing."
            )
            return [*sentences, nothing]
        sentences.append(f"Responses have a common dimension {between}.")
        sentences += [f"{one.severity.capitalize()}: {one}." for one in self.findings]
        if self.dependence.sentence:
            sentences.append(f"{self.dependence.sentence}.")
        if self.respondents_needed > self.dependence.independent:
            power = Power(self.power, self.respondents_needed)
            few = power.sentence(self.dependence.independent, self.dependence.unit)
            sentences.append(f"{few}.")
        return sentences

    def __str__(self) -> str:
        shown = self.table.to_string(float_format="%.4f", index_names=False)
        return "\n".join([in_lines(self.summary), "", shown])


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

    Where cells are many a fit sees that shuffled responses differ by chance alone, and then nothing
    is flagged: such zeros do not say that what is flagged in the data is right.

    Parameters
    ----------
    responses
        Responses of respondents (rows) to items, or what :func:`irtkit.read_responses` takes;
        synthetic respondents are left out.
    model
        As in :func:`irtkit.fit`.
    seeds
        One shuffle for each, at most 100,000.
    fdr, extreme_difficulty, chance
        The thresholds of :func:`irtkit.flag_items`.
    progress
        Whether to show progress; by default on a terminal and in a notebook.

    Raises
    ------
    TypeError
        If ``responses`` is nothing that can be read.
    ValueError
        If a threshold is out of range, there is no seed or one that is no whole number, or
        ``responses`` is sparse.

    Examples
    --------
    >>> import irtkit
    >>> crowd = irtkit.load_digits_crowd()
    >>> control = irtkit.shuffle_control(crowd.responses, seeds=[0])
    >>> print(control.summary[0])
    Items with negative discrimination: 0 in the data; shuffled: 0.
    """
    import pandas as pd

    model = model_name(model)
    responses = as_responses(responses)
    check_data(responses, EM())
    refuse_sparse(responses, "shuffle_control")
    thresholds: dict[str, Any] = {
        "fdr": fdr,
        "extreme_difficulty": extreme_difficulty,
        "chance": chance,
    }
    check_thresholds(**thresholds)
    seeds = _checked(seeds)
    real = _real(responses)
    n = real.n_respondents
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_RESPONDENTS])
    rows, names = [], [_DATA, *(f"shuffled, seed {seed}" for seed in seeds)]
    with progress_line("shuffling", shown=progress) as report, silently():
        fitted = fit(real, model, progress=False)
        for step, seed in enumerate([None, *seeds]):
            matrix = real if seed is None else shuffled(real, seed)
            result = fitted if seed is None else fit(matrix, model, progress=False)
            flags, _ = flagged(result, groups=None, predictions=None, **thresholds)
            negative = int(negatives(flags).sum())
            rows.append((len(flags), negative, _leading_share(_standardised(matrix, chosen))))
            report(step, result.log_likelihood)
    columns = ["flagged", "negative", "dimension"]
    table = pd.DataFrame(rows, pd.Index(names, name="responses"), columns)
    dependence = fitted.signs.dependence
    power = power_of(fitted.signs, fdr, dependence.independent)
    found = tuple(one for one in fitted.findings if one.code in _UNEXPLAINED)
    return ShuffleControl(table, *power, dependence, found)


def _checked(seeds: Any) -> list[int]:
    """Return the seeds, each of which is a whole number and there once."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a list of whole numbers, got {short(seeds)}")
    listed = list(islice(seeds, MOST_TIMES + 1))
    if not 1 <= len(listed) <= MOST_TIMES:
        raise ValueError(f"seeds must name at least one shuffle, and {MOST_TIMES:,} at most")
    for seed in listed:
        check_seed(seed)
    check_unique("seeds must be different from each other", listed)
    return listed


def _real(responses: ResponseMatrix) -> ResponseMatrix:
    """The responses of real respondents, without those and the items that have none."""
    real, trials = ~responses.synthetic, responses.trials
    rows = np.flatnonzero(real & trials.any(axis=1))
    columns = np.flatnonzero(trials[rows].any(axis=0))
    right, trials = (table[np.ix_(rows, columns)] for table in (responses.successes, trials))
    names = [responses.respondents[row] for row in rows]
    items = [responses.items[column] for column in columns]
    return ResponseMatrix.from_counts(right, trials, names, items)


def shuffled(responses: ResponseMatrix, seed: int) -> ResponseMatrix:
    """Shuffle the responses to each item among the respondents who answered it."""
    generator = np.random.default_rng(seed)
    right, trials = responses.successes.copy(), responses.trials.copy()
    for j in range(responses.n_items):
        answered = np.flatnonzero(trials[:, j])
        order = generator.permutation(answered)
        right[answered, j], trials[answered, j] = right[order, j], trials[order, j]
    return ResponseMatrix.from_counts(right, trials, responses.respondents, responses.items)


def _leading_share(columns: Array) -> float:
    """Largest eigenvalue over the sum of all, of columns brought to the same variance."""
    from scipy.linalg import eigh

    spread = np.sqrt((columns**2).sum(axis=0))
    scaled = np.divide(columns, spread, out=np.zeros_like(columns), where=spread > 1e-9)
    product = scaled @ scaled.T
    total, n = float(np.trace(product)), len(product)
    if total <= 0:
        return 0.0
    largest = eigh(product, eigvals_only=True, subset_by_index=[n - 1, n - 1])
    return float(largest[0]) / total


def _standardised(responses: ResponseMatrix, chosen: NDArray[np.int64]) -> Array:
    """Responses less the share right of their item, 0 where missing."""
    right = responses.successes[chosen].astype(np.float64)
    trials = responses.trials[chosen].astype(np.float64)
    return np.asarray(right - trials * (right.sum(axis=0) / np.maximum(trials.sum(axis=0), 1)))
