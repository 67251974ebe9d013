"""How often the likelihood-ratio test rejects the 1PL, with and without near-duplicate respondents.

Families of copies of one respondent; with "5 %" each copy flips 5 % of the answers. Abilities are
N(0, 1), difficulties lie from −1.5 to 1.5. Under "1PL" all slopes are 1, and the test at 5 % should
reject in 5 % of the data sets; under "2PL" log slopes are N(0, 0.4²), and it should reject.
"unscaled" is the same test without regard to near-duplicates.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from machine import arguments, part, store
from scipy.stats import chi2

import irtkit

if TYPE_CHECKING:
    from irtkit.diagnostics import LikelihoodRatioTest
    from irtkit.irf import ModelName

DATA_SETS, LEVEL = 200, 0.05


class Setting(NamedTuple):
    """How data are drawn."""

    model: ModelName
    families: int
    copies: int
    flips: float
    n_items: int


SETTINGS = (
    *(Setting("1PL", 240, 1, 0.0, n_items) for n_items in (20, 30, 60)),
    *(Setting("1PL", 60, 4, 0.0, n_items) for n_items in (10, 15, 20, 30, 60)),
    *(Setting("1PL", 60, 4, 0.05, n_items) for n_items in (15, 20, 30, 60)),
    Setting("1PL", 30, 8, 0.05, 30),
    Setting("2PL", 240, 1, 0.0, 30),
    Setting("2PL", 60, 4, 0.0, 30),
    Setting("2PL", 60, 1, 0.0, 30),
)


def drawn(setting: Setting, seed: int) -> irtkit.ResponseMatrix:
    """One data set."""
    model, families, copies, flips, n_items = setting
    generator = np.random.default_rng([seed, families, n_items])
    slopes = np.ones(n_items) if model == "1PL" else generator.lognormal(0.0, 0.4, n_items)
    items = irtkit.ItemParameters.from_difficulty(slopes, np.linspace(-1.5, 1.5, n_items))
    abilities = generator.normal(size=families)
    right = irtkit.simulate_responses(items, abilities, seed=generator).values
    right = np.repeat(right, copies, axis=0)
    return irtkit.ResponseMatrix(right ^ (generator.random(right.shape) < flips))


def tested(
    responses: irtkit.ResponseMatrix,
) -> tuple[LikelihoodRatioTest, float]:
    """The test of the 1PL against the 2PL, and the share of evidence that counts."""
    models: tuple[ModelName, ModelName] = "1PL", "2PL"
    settings: Any = {"prior": None, "standard_errors": False, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smaller, larger = (irtkit.fit(responses, model, **settings) for model in models)
        return irtkit.likelihood_ratio_test(smaller, larger), larger.evidence


def measured(setting: Setting, n_data_sets: int) -> dict[str, Any]:
    """Shares of data sets in which the 1PL is rejected."""
    found = [tested(drawn(setting, seed)) for seed in range(n_data_sets)]
    unscaled = [chi2.sf(test.statistic / share, test.degrees_of_freedom) for test, share in found]
    return {
        **setting._asdict(),
        "data_sets": n_data_sets,
        "rejected": float(np.mean([test.p_value < LEVEL for test, _ in found])),
        "unscaled": float(np.mean(np.array(unscaled) < LEVEL)),
        "evidence": float(np.mean([share for _, share in found])),
    }


def main() -> None:
    """Print the table; store the figures where asked."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, default=DATA_SETS)
    options = parser.parse_args()
    print("| data | families | copies | flips | items | rejected | unscaled | evidence |")
    print("|---" * 8 + "|")
    studies = []
    for setting in part(SETTINGS, 6):
        studies.append(found := measured(setting, options.data_sets))
        model, families, copies, flips, n_items = setting
        print(
            f"| {model} | {families} | {copies} | {flips:.0%} | {n_items} "
            f"| {found['rejected']:.1%} | {found['unscaled']:.1%} | {found['evidence']:.2f} |",
            flush=True,
        )
    store(options, studies=studies)


if __name__ == "__main__":
    main()
