"""How close fits come to the difficulties that the authors of the AAAI-22 paper stored.

Rasch without a prior on the grid of R's mirt, in the paper's batches of items, on six of its sets
(read from ``../shared/data``, and skipped where that is not). Of the paper's random rows totals by
item are known; they are drawn anew, ``--draws`` times.

Printed by set: the root mean square difference between difficulties, of the whole set and (median)
of a batch; the same after a common shift of each batch is taken off; the correlation in the whole
set, and the least within a batch; how far the means of ability spread between batches, and their
SDs; and, of the first draw, the correlation with difficulties of all items fitted at once, and the
difference.

The difference that is left is a common shift of all items of a batch. On a grid coarser than
posteriors the likelihood is all but flat along it: mirt stopped where it was after 200 cycles.

Then the share of items with a negative slope, by the 2PL with the same rows, beside that of a refit
with mirt: without a prior on the fixed grid in batches, and as irtkit does by default.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from machine import arguments, part, store

import irtkit

DATA = Path(__file__).parents[2] / "shared/data"
SETS = ("liver-disorders", "diabetes", "sat", "SST", "tptp", "optdigits")
NEGATIVE_OF_MIRT = {"liver-disorders": 0.43, "diabetes": 0.21, "sat": 0.0, "tptp": 0.0}
GRID = (61, 6.0)


class Stored(NamedTuple):
    """Answers of the systems, and what the paper's authors stored of the items."""

    values: Any
    items: pd.DataFrame
    extremes: bool
    """Whether an always-right and an always-wrong row are to be added (tptp has them)."""

    def drawn(self, seed: int) -> irtkit.ResponseMatrix:
        """All rows, three random ones drawn to the stored totals."""
        totals = self.items["rnd_total"].to_numpy()
        order = np.random.default_rng(seed).random((3, len(totals))).argsort(axis=0)
        rows = [self.values, order < totals]
        if self.extremes:
            rows += [np.ones((1, len(totals))), np.zeros((1, len(totals)))]
        return irtkit.ResponseMatrix(np.concatenate(rows).astype(int), items=self.items["item"])


def stored(name: str, folder: Path = DATA) -> Stored:
    """Read one set; duplicates are dropped but of tptp."""
    items = pd.read_csv(folder / f"aid_{name}_reference_items.csv.gz")
    table = pd.read_csv(folder / f"aid_{name}.csv.gz", index_col=0)
    known = pd.read_csv(folder / f"aid_{name}_respondents.csv.gz", index_col=0)
    first = (known.loc[table.index, "exact_duplicate"] == 0).to_numpy()
    kept = table if name == "tptp" else table[first]
    return Stored(kept[items["item"]].to_numpy(), items, extremes=name != "tptp")


def compatible(
    responses: irtkit.ResponseMatrix, model: Any, batch: Any
) -> tuple[pd.DataFrame, list[irtkit.FitResult]]:
    """Fit each batch of items as the paper did; the items of all batches, and the fits."""
    fits = [
        irtkit.fit(
            irtkit.ResponseMatrix(responses.values[:, batch == k]),
            model,
            prior=None,
            quadrature=GRID,
            standard_errors=False,
            progress=False,
        )
        for k in np.unique(batch)
    ]
    return pd.concat([one.items for one in fits]), fits


def reproduced(name: str, draws: int) -> dict[str, Any]:
    """Differences from the stored difficulties."""
    data = stored(name)
    published, batch = data.items["Dffclt"].to_numpy(), data.items["batch"].to_numpy()
    whole, by_batch, shapes, together, correlations, means, sds = ([] for _ in range(7))
    for seed in range(draws):
        found_items, fits = compatible(data.drawn(seed), "Rasch", batch)
        ours = found_items["difficulty"].to_numpy()
        off = ours - published
        whole.append(rms(off))
        together.append(float(np.corrcoef(off + published, published)[0, 1]))
        for k in np.unique(batch):
            some = batch == k
            by_batch.append(rms(off[some]))
            shapes.append(float(off[some].std()))
            correlations.append(float(np.corrcoef(ours[some], published[some])[0, 1]))
        means.append(float(np.ptp([one.ability.mean() for one in fits])))
        sds.append(float(np.ptp([one.latent_sd for one in fits])))
    first = data.drawn(0)
    pair = [
        compatible(first, "Rasch", of_all)[0]["difficulty"].to_numpy()
        for of_all in (batch, np.zeros_like(batch))
    ]
    found = {
        "set": name,
        "draws": draws,
        "rmse": float(np.median(whole)),
        "rmse_range": [min(whole), max(whole)],
        "rmse_of_a_batch": float(np.median(by_batch)),
        "rmse_without_shift": float(np.median(shapes)),
        "correlation": float(np.median(together)),
        "least_correlation": min(correlations),
        "spread_of_ability_means": float(np.median(means)),
        "spread_of_ability_sds": float(np.median(sds)),
        "at_once_correlation": float(np.corrcoef(pair[0], pair[1])[0, 1]),
        "at_once_rmse": rms(pair[0] - pair[1]),
    }
    print(
        f"{name:16} RMSE {found['rmse']:.4f} ({min(whole):.4f} to {max(whole):.4f}), of a batch "
        f"{found['rmse_of_a_batch']:.4f}, without shift {found['rmse_without_shift']:.4f}; r "
        f"{found['correlation']:.6f}, least of a batch {min(correlations):.6f}; ability means "
        f"spread {found['spread_of_ability_means']:.3f}, "
        f"SDs {found['spread_of_ability_sds']:.3f}; all at once: r "
        f"{found['at_once_correlation']:.5f}, RMSE {found['at_once_rmse']:.3f}",
        flush=True,
    )
    return found


def rms(values: Any) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def negative_slopes(name: str, draws: int) -> dict[str, Any]:
    """Shares of items with a negative slope."""
    data = stored(name)
    compared = [
        compatible(data.drawn(seed), "2PL", data.items["batch"].to_numpy())[0]["discrimination"]
        for seed in range(draws)
    ]
    shares = [float((slopes < 0).mean()) for slopes in compared]
    usual = irtkit.fit(data.drawn(0), "2PL", standard_errors=False, progress=False)
    by_default = float((usual.items["discrimination"] < 0).mean())
    print(
        f"{name:16} negative slopes {np.median(shares):.1%} (mirt {NEGATIVE_OF_MIRT[name]:.0%}); "
        f"by default {by_default:.1%}",
        flush=True,
    )
    medians = {"share": float(np.median(shares)), "of_mirt": NEGATIVE_OF_MIRT[name]}
    return {"set": name, **medians, "by_default": by_default}


def main() -> None:
    """Fit all sets."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=20, help="draws of the random rows")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=part(SETS, 0))
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"there is no {DATA.name} beside this project: nothing to compare with")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [reproduced(name, options.draws) for name in options.sets]
        negative = [
            negative_slopes(name, min(options.draws, 5))
            for name in NEGATIVE_OF_MIRT
            if name in options.sets
        ]
    store(options, difficulties=found, negative_slopes=negative)


if __name__ == "__main__":
    main()
