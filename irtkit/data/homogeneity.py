"""Test of whether respondents differ in ability at all.

Without differences a response is right with the proportion correct p of its item, whoever gives it.
The number right r of a respondent then has the mean M = Σp and the variance V = Σp(1 − p) over the
items answered, and the mean of (r − M)²/V is about 1: a test of homogeneity (Cochran 1950 tests
items in this way). Its distribution is that of χ²/ν with the same variance (Satterthwaite 1946),
which the binomial kurtosis and the effective number of respondents determine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irtkit.data.patterns import REAL

if TYPE_CHECKING:
    from irtkit.data.patterns import Patterns

_USUAL = 0.5  # Variance that abilities add, relative to V² − Σ(p(1 − p))²: (0.8 · 0.9)² for SD 0.8.
_LEVEL, _FEWEST = 0.05, 3  # Of both tests; respondents, as two have only one difference.


def no_ability_differences(patterns: Patterns, n_eff: float) -> bool:
    """Whether accuracies vary as by chance, and less than abilities with an SD of 0.8 would make.

    The second condition keeps a test without power from finding that abilities do not differ.
    """
    from scipy.special import chdtr

    margins = patterns.margins
    share = margins.item_right[REAL] / np.maximum(margins.item_responses[REAL], 1)
    variance = patterns.response_scores(share * (1 - share))
    some = patterns.real & (variance > 0)
    deviation = (margins.respondent_right - patterns.response_scores(share))[some]
    squares, variance = patterns.response_scores((share * (1 - share)) ** 2)[some], variance[some]
    inflation = 1 + _USUAL * (variance - squares / variance)
    if len(variance) < _FEWEST or inflation.max() <= 1:  # one item has one variance
        return False
    spread = 2 + (variance - 6 * squares) / variance**2

    def below(expected: float, variance: float, n: float) -> float:
        """Probability of a smaller mean square, of so many independent respondents."""
        freedom = 2 * expected**2 * (n - 1) / variance
        return float(chdtr(freedom, freedom * found / expected))

    found = float((deviation**2 / variance).mean())
    usual = float(inflation.mean()), float((spread * inflation**2).mean())
    if below(*usual, len(variance)) >= _LEVEL:  # and no fewer respondents make it less
        return False
    n = max(n_eff, 2.0)
    return below(1.0, float(spread.mean()), n) < 1 - _LEVEL and below(*usual, n) < _LEVEL
