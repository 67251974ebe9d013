"""What ``prior="empirical"`` gains over the weak prior, and what there is to gain.

Data are drawn from 2PL items with lognormal slopes, 2 % of them negative, and standard normal
difficulties; abilities are standard normal, made to have mean 0 and SD 1 so that the common scale
does not enter. Beside both priors stands the best that any method can do: the posterior mean of
each slope with abilities *and* the distribution of the items known, by a fine grid.

Columns: root mean square error of slopes, what it falls by against the weak prior, wrong signs in
per cent, and how many 95 % intervals (± 1.96 standard errors) of the slopes and intercepts under
the empirical prior hold the truth.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from machine import arguments, part, store
from scipy.special import log_expit

import irtkit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NEGATIVE = 0.02
SHAPES = [(50, 1000), (30, 1000), (12, 2000), (100, 100), (500, 40)]
SPREADS = (0.3, 0.5)
GRID = np.linspace(-4, 4, 41)
HEADER = "respondents  items  SD log a |   weak  empirical  known best | cut  best cut | "
HEADER += "wrong signs %  (empirical) | a in interval %  d"


class Data(NamedTuple):
    """Responses and what they were drawn from."""

    responses: irtkit.ResponseMatrix
    items: irtkit.ItemParameters
    ability: Array


def draw(shape: tuple[int, int], spread: float, seed: int) -> Data:
    """One data set."""
    generator = np.random.default_rng([seed, *shape])
    slope = generator.lognormal(0, spread, shape[1])
    slope[generator.random(shape[1]) < NEGATIVE] *= -1
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=shape[1]))
    ability = generator.normal(size=shape[0])
    ability = (ability - ability.mean()) / ability.std()
    return Data(irtkit.simulate_responses(items, ability, seed=generator), items, ability)


def known_best(data: Data, spread: float) -> Array:
    """Posterior means of slopes, all but the items themselves known."""
    size = np.exp(spread * GRID)
    kinds = np.log([1 - NEGATIVE, NEGATIVE])
    total, weighted = np.zeros((2, data.responses.n_items))
    right = data.responses.values.astype(float)
    reference = np.full(data.responses.n_items, -np.inf)
    for sign, log_share in zip((1.0, -1.0), kinds, strict=True):
        slope, difficulty = np.meshgrid(sign * size, GRID, indexing="ij")
        z = slope[..., None] * (data.ability - difficulty[..., None])
        log_prior = log_share - 0.5 * (GRID[:, None] ** 2 + GRID**2)
        joint = z @ right + (log_expit(-z).sum(axis=-1) + log_prior)[..., None]
        peak = np.maximum(reference, joint.max(axis=(0, 1)))
        weights = np.exp(joint - peak)
        kept = np.exp(reference - peak)
        total = kept * total + weights.sum(axis=(0, 1))
        weighted = kept * weighted + (slope[..., None] * weights).sum(axis=(0, 1))
        reference = peak
    return np.asarray(weighted / total)


def measure(shape: tuple[int, int], spread: float, seed: int) -> dict[str, float]:
    """Figures of one data set."""
    data = draw(shape, spread, seed)
    truth, figures = data.items.discrimination, dict[str, float]()
    found = {"best": known_best(data, spread)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for prior in ("weak", "empirical"):
            items = irtkit.fit(data.responses, "2PL", prior=prior).items
            found[prior] = items["discrimination"].to_numpy()
    for name, slope in found.items():
        figures[f"rmse_{name}"] = float(np.sqrt(np.mean((slope - truth) ** 2)))
        figures[f"wrong_signs_{name}"] = float(np.mean(np.sign(slope) != np.sign(truth)))
    for name, true in (("discrimination", truth), ("intercept", data.items.intercept)):
        off = np.abs(items[name].to_numpy() - true)
        figures[f"covered_{name}"] = float(np.mean(off < 1.96 * items[f"{name}_se"].to_numpy()))
    return figures


def main() -> None:
    """Print the table row by row, means over data sets; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--data-sets", type=int, default=10)
    options = parser.parse_args()
    records = []
    print(HEADER)
    for spread in part(SPREADS, 0):
        for shape in part(SHAPES, 3, 4):
            drawn = [measure(shape, spread, seed) for seed in range(options.data_sets)]
            mean = {name: float(np.mean([one[name] for one in drawn])) for name in drawn[0]}
            records.append({"shape": shape, "spread": spread, "mean": mean, "data_sets": drawn})
            weak, empirical, best = (mean[f"rmse_{k}"] for k in ("weak", "empirical", "best"))
            print(
                f"{shape[0]:11d} {shape[1]:6d} {spread:9.1f} | {weak:6.3f} {empirical:10.3f} "
                f"{best:11.3f} | {1 - empirical / weak:4.0%} {1 - best / weak:8.0%} | "
                f"{100 * mean['wrong_signs_weak']:13.2f} "
                f"{100 * mean['wrong_signs_empirical']:12.2f} | "
                f"{100 * mean['covered_discrimination']:15.1f} "
                f"{100 * mean['covered_intercept']:5.1f}",
                flush=True,
            )
    store(options, studies=records)


if __name__ == "__main__":
    main()
