"""Whether fits still find what an earlier commit found.

Some thirty fits, by EM and by the variational path, with every prior, missing cells, repeated
trials, synthetic respondents, fixed and adaptive grids, are recorded at one commit and compared
at another. ``python benchmarks/unchanged.py record`` writes ``results/unchanged.npz``, and beside
it what it was measured on;
``python benchmarks/unchanged.py`` fits anew, prints a table and ends with 1 if something moved.

What is compared, and how far it may be off: estimates (1e-3 of their standard errors), standard
errors (0.1 %), the probabilities that slopes are negative (1e-6), the log-likelihood (1e-3), and of
variational fits their lower bound (1), posterior means and SDs (0.1 of a posterior SD at any item,
twice the Monte-Carlo error at which they stop).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from machine import arguments, store

import irtkit
from irtkit.irf import ModelName

STORED = Path(__file__).parent / "results" / "unchanged.npz"
VALUES = ("discrimination", "intercept", "guessing")
OWN_PRIOR = irtkit.ItemPrior(
    irtkit.Normal(1.0, 0.6), irtkit.Normal(0.0, 1.5), irtkit.Normal(-1.5, 0.7)
)
LOG_PRIOR = irtkit.ItemPrior(
    irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0), irtkit.Beta(5.0, 17.0)
)
ON_LOGIT = irtkit.ItemPrior(guessing=irtkit.Normal(-1.1, 0.5))
CHANGED = irtkit.WeakPrior(slope_spread=0.5, intercept_spread=2.0)
LOOSE, TIGHT = {"max_iterations": 200}, {"tol": 1e-10}


class Case(NamedTuple):
    """One fit."""

    data: str
    model: ModelName
    settings: dict[str, Any]


CASES = {
    "2PL": Case("complete", "2PL", TIGHT),
    "1PL": Case("complete", "1PL", TIGHT),
    "Rasch": Case("complete", "Rasch", TIGHT),
    "3PL": Case("guessed", "3PL", TIGHT),
    "2PL no prior": Case("complete", "2PL", TIGHT | {"prior": None}),
    "1PL no prior": Case("complete", "1PL", TIGHT | {"prior": None}),
    "2PL mirt's grid": Case("complete", "2PL", TIGHT | {"prior": None, "quadrature": (61, 6.0)}),
    "Rasch mirt's grid": Case(
        "complete", "Rasch", TIGHT | {"prior": None, "quadrature": (61, 6.0)}
    ),
    "3PL prior of the logit": Case("guessed", "3PL", TIGHT | {"prior": ON_LOGIT}),
    "2PL own prior": Case("complete", "2PL", TIGHT | {"prior": OWN_PRIOR}),
    "3PL own prior": Case("guessed", "3PL", TIGHT | {"prior": LOG_PRIOR}),
    "1PL own prior": Case("complete", "1PL", TIGHT | {"prior": LOG_PRIOR}),
    "Rasch own prior": Case("complete", "Rasch", TIGHT | {"prior": OWN_PRIOR}),
    "2PL changed prior": Case("complete", "2PL", TIGHT | {"prior": CHANGED}),
    "2PL empirical": Case("few", "2PL", TIGHT | {"prior": "empirical"}),
    "3PL empirical": Case("guessed", "3PL", TIGHT | {"prior": "empirical"}),
    "2PL missing": Case("missing", "2PL", TIGHT),
    "3PL missing": Case("guessed missing", "3PL", TIGHT),
    "1PL missing": Case("missing", "1PL", TIGHT),
    "2PL counts": Case("counts", "2PL", TIGHT),
    "3PL counts": Case("counts", "3PL", TIGHT),
    "2PL sparse": Case("sparse", "2PL", TIGHT),
    "2PL synthetic": Case("synthetic", "2PL", TIGHT),
    "Rasch synthetic": Case("synthetic", "Rasch", TIGHT),
    "2PL synthetic ordinary": Case("synthetic", "2PL", TIGHT),
    "2PL many respondents": Case("many", "2PL", TIGHT),
    "2PL many items": Case("items", "2PL", TIGHT),
    "2PL many items missing": Case("items missing", "2PL", TIGHT),
    "2PL few respondents": Case("few", "2PL", TIGHT),
    "2PL copies": Case("copies", "2PL", TIGHT),
    "1PL copies": Case("copies", "1PL", TIGHT),
    "3PL copies": Case("copies", "3PL", TIGHT),
    "vi 2PL": Case("complete", "2PL", LOOSE),
    "vi 1PL": Case("complete", "1PL", LOOSE),
    "vi Rasch": Case("complete", "Rasch", LOOSE),
    "vi 3PL": Case("guessed", "3PL", LOOSE),
    "vi 2PL own prior": Case("complete", "2PL", LOOSE | {"prior": OWN_PRIOR}),
    "vi 3PL own prior": Case("guessed", "3PL", LOOSE | {"prior": LOG_PRIOR}),
    "vi 1PL own prior": Case("complete", "1PL", LOOSE | {"prior": OWN_PRIOR}),
    "vi 2PL empirical": Case("few", "2PL", LOOSE | {"prior": "empirical"}),
    "vi 2PL missing": Case("missing", "2PL", LOOSE),
    "vi 2PL synthetic": Case("synthetic", "2PL", LOOSE),
    "vi 2PL batches": Case("many", "2PL", {"batch": 500}),
}


def data(name):
    """Responses drawn with NumPy alone, so that no change of irtkit moves them."""
    generator = np.random.default_rng([len(name), 7])
    sizes = {"many": (3000, 60), "items": (60, 800), "few": (12, 600), "copies": (150, 40)}
    n, n_items = sizes.get(name.split(maxsplit=1)[0], (400, 30))
    slope = generator.lognormal(0.0, 0.3, n_items)
    slope[:: max(n_items // 3, 1)] *= -1
    difficulty, ability = generator.normal(size=n_items), generator.normal(size=n)
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
    if name.startswith("guessed"):
        chance = 0.2 + 0.8 * chance
    if name == "counts":
        trials = generator.integers(0, 4, size=chance.shape)
        return irtkit.ResponseMatrix.from_counts(generator.binomial(trials, chance), trials)
    right = (generator.random(chance.shape) < chance).astype(np.int8)
    if "missing" in name:
        right[generator.random(chance.shape) < 0.2] = -1
    if name == "copies":
        right = np.repeat(np.repeat(right, 3, axis=0), 2, axis=1)[:, :70]
    if name == "sparse":
        rows, columns = np.nonzero(generator.random(chance.shape) < 0.3)
        labels = {"respondent": rows.astype(str), "item": columns.astype(str)}
        frame = pd.DataFrame({**labels, "response": right[rows, columns]})
        return irtkit.ResponseMatrix.from_long(frame, sparse=True)
    responses = irtkit.ResponseMatrix(right)
    if name == "synthetic":
        responses = irtkit.add_synthetic(responses, ("always-right", "always-wrong"))
    return responses


def fitted(name):
    """Items, abilities, and the log-likelihood or its lower bound that one case finds."""
    case = CASES[name]
    kind = irtkit.Variational if name.startswith("vi ") else irtkit.EM
    settings = dict(case.settings)
    own = ("tol", "max_iterations", "batch")
    method = kind(**{key: settings.pop(key) for key in own if key in settings})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        responses = data(case.data)
        if name.endswith("ordinary"):
            responses = responses.with_tables(synthetic=np.zeros(responses.n_respondents, bool))
        result = irtkit.fit(responses, case.model, method=method, progress=False, **settings)
    items = result.items
    found = {key: items[key].to_numpy(dtype=float) for key in VALUES}
    found |= {f"{key}_se": items[f"{key}_se"].to_numpy(dtype=float) for key in VALUES}
    found["p_negative"] = items["p_negative"].to_numpy(dtype=float)
    found["ability"] = result.respondents["ability"].to_numpy()
    found["ability_se"] = result.posterior_sd  # items taken as known
    found["latent_sd"] = np.array([result.latent_sd])
    bound = result.elbo
    name_of_height = "log_likelihood" if bound is None else "objective"
    found[name_of_height] = np.array([result.log_likelihood if bound is None else bound])
    return found


class Moved(NamedTuple):
    """How far a case is off what was recorded, in the units of the limits."""

    height: float
    estimates: float
    standard_errors: float
    verdicts: float


def moved(before, after):
    """Largest differences."""

    def off(name, unit=1.0):
        if name not in before:
            return 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            difference = np.abs(after[name] - before[name]) / unit
        if (np.isnan(before[name]) != np.isnan(after[name])).any():
            return float("inf")
        return float(np.nanmax(difference, initial=0.0))

    estimates = max(off(name, before[f"{name}_se"]) for name in (*VALUES, "ability"))
    errors = max(off(f"{name}_se", before[f"{name}_se"]) for name in (*VALUES, "ability"))
    height = max(off("log_likelihood"), off("objective"))
    return Moved(height, estimates, errors, off("p_negative"))


EM_LIMITS = Moved(1e-3, 1e-3, 1e-3, 1e-6)
VI_LIMITS = Moved(1.0, 0.1, 0.05, 1e-6)


def main():
    """Record, or compare with what was recorded."""
    parser = arguments(__doc__)
    parser.add_argument("what", nargs="?", choices=("check", "record"), default="check")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    given = parser.parse_args()
    arrays: dict[str, Any]
    names = [name for name in CASES if given.only in name]
    if given.what == "record":
        found = {f"{n}/{key}": part for n in names for key, part in fitted(n).items()}
        # 32 bits are enough for all but heights
        heights = ("/objective", "/log_likelihood")
        arrays = {n: a if n.endswith(heights) else a.astype(np.float32) for n, a in found.items()}
        if given.only:
            with np.load(STORED) as stored:
                arrays = dict(stored) | arrays
        np.savez_compressed(STORED, **arrays)
        if not given.only:
            given.out = STORED.with_suffix(".json")
            store(given, fits=len(CASES))
        return 0
    failed = 0
    print(f"{'fit':26}{'height':>12}{'estimates':>12}{'SEs':>12}{'p_negative':>12}")
    with np.load(STORED) as stored:
        for name in names:
            after = fitted(name)
            places = {key: f"{name}/{key}" for key in after}
            before = {key: stored[place] for key, place in places.items() if place in stored}
            off, limits = moved(before, after), EM_LIMITS
            if name.startswith("vi "):
                limits = VI_LIMITS
            bad = any(value > limit for value, limit in zip(off, limits, strict=True))
            failed += bad
            figures = "".join(f"{value:12.2g}" for value in off)
            print(f"{name:26}{figures}{'  moved' if bad else ''}", flush=True)
    print(f"{failed} of {len(names)} moved")
    store(given, fits=len(names), moved=failed)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
