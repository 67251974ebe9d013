"""How many of the inverted items so many respondents show, and how many respondents would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from irtkit.signs import SlopeSigns

WANTED_POWER = 0.8  # what studies are planned for (Cohen 1988)


class Power(NamedTuple):
    """Power to find inverted items of typical discrimination."""

    found: float
    """Probability that one is found; NaN where there is no more structure than noise."""
    needed: int
    """Independent respondents, or families, of whom 80 % are found; 0 where there is only noise."""

    def sentence(self, n: int, unit: str = "respondents") -> str:
        """Say that ``n`` are few; how many would do holds for independent ones and such items only.

        Copies, easy items, guessing and missing cells make it too small: it is not said.
        """
        share = "1% or less" if self.found < 0.01 else f"{self.found:.0%}"
        return (
            f"{n} {unit} are few: about {share} of inverted items of typical discrimination are "
            "found; more would find more"
        )


def power_of(signs: SlopeSigns, fdr: float, n: int) -> Power:
    """Power of ``n`` independent respondents, or families, at a false-discovery rate.

    With slope −s and information V the log odds of an item's being inverted are T₀ − 2sU,
    U ~ N(−sV, V), and 1 − ``fdr`` must be reached. V grows with n.
    """
    from scipy.special import logit, ndtr, ndtri

    if signs.p_any_slope < 0.5:
        return Power(float("nan"), 0)
    information = signs.score.information
    size = float(signs.mixture.typical * np.sqrt(np.median(information[information > 0])))
    regular, inverted, _ = signs.mixture.shares
    threshold = float(-logit(fdr) + np.log(max(regular, 1e-9) / inverted))
    wanted = float(ndtri(WANTED_POWER))
    needed = (wanted + np.sqrt(wanted**2 + 2 * threshold)) / 2
    found = float(ndtr((2 * size**2 - threshold) / (2 * size)))
    return Power(found, int(np.ceil(n * (needed / size) ** 2)))
