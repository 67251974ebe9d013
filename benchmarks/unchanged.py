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

import sys
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
from machine import arguments, store
from scipy.special import expit

import irtkit

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
Fits = namedtuple("Fits", "suffix data settings em vi", defaults=({}, "2PL", ""))
"""Fits of several models to one kind of data, by EM and by the variational path."""
FITS = (
    Fits("", "complete", {}, "2PL 1PL Rasch 3PL", "2PL 1PL Rasch 3PL"),
    Fits(" no prior", "complete", {"prior": None}, "2PL 1PL"),
    Fits(" mirt's grid", "complete", {"prior": None, "quadrature": (61, 6.0)}, "2PL Rasch"),
    Fits(" prior of the logit", "complete", {"prior": ON_LOGIT}, "3PL"),
    Fits(" own prior", "complete", {"prior": OWN_PRIOR}, "2PL Rasch", "2PL 1PL"),
    Fits(" own prior", "complete", {"prior": LOG_PRIOR}, "3PL 1PL", "3PL"),
    Fits(" changed prior", "complete", {"prior": CHANGED}),
    Fits(" empirical", "few", {"prior": "empirical"}, "2PL", "2PL"),
    Fits(" empirical", "complete", {"prior": "empirical"}, "3PL"),
    Fits(" missing", "missing", {}, "2PL 3PL 1PL", "2PL"),
    Fits(" counts", "counts", {}, "2PL 3PL"),
    Fits(" sparse", "sparse"),
    Fits(" synthetic", "synthetic", {}, "2PL Rasch", "2PL"),
    Fits(" synthetic ordinary", "synthetic"),
    Fits(" many respondents", "many"),
    Fits(" many items", "items"),
    Fits(" many items missing", "items missing"),
    Fits(" few respondents", "few"),
    Fits(" copies", "copies", {}, "2PL 1PL 3PL"),
    Fits(" batches", "many", {}, "", "2PL"),
)
GUESSED = {"complete": "guessed", "missing": "guessed missing"}
"""Data of the 3PL in the place of others."""
CASES = {
    f"{kind}{model}{fits.suffix}": (
        GUESSED.get(fits.data, fits.data) if model == "3PL" else fits.data,
        model,
        fits.settings,
    )
    for kind, field in (("", "em"), ("vi ", "vi"))
    for fits in FITS
    for model in getattr(fits, field).split()
}
"""Data, model and settings of each fit."""


def data(name):
    """Responses drawn with NumPy alone, so that no change of irtkit moves them."""
    generator = np.random.default_rng([len(name), 7])
    sizes = {"many": (3000, 60), "items": (60, 800), "few": (12, 600), "copies": (150, 40)}
    n, n_items = sizes.get(name.split(maxsplit=1)[0], (400, 30))
    slope = generator.lognormal(0.0, 0.3, n_items)
    slope[:: max(n_items // 3, 1)] *= -1
    difficulty, ability = generator.normal(size=n_items), generator.normal(size=n)
    chance = expit(slope * (ability[:, None] - difficulty))
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
    of_data, model, settings = CASES[name]
    method = irtkit.EM(tol=1e-10)
    if name.startswith("vi "):
        limits = {"batch": 500} if "batches" in name else {"max_iterations": 200}
        method = irtkit.Variational(**limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        responses = data(of_data)
        if name.endswith("ordinary"):
            responses = responses.with_tables(synthetic=np.zeros(responses.n_respondents, bool))
        result = irtkit.fit(responses, model, method=method, progress=False, **settings)
    items = result.items
    columns = [name + of for name in VALUES for of in ("", "_se")]
    found = {key: items[key].to_numpy(dtype=float) for key in (*columns, "p_negative")}
    found["ability"] = result.respondents["ability"].to_numpy()
    found["ability_se"] = result.posterior_sd  # items taken as known
    found["latent_sd"] = np.array([result.latent_sd])
    bound = result.elbo
    name_of_height = "log_likelihood" if bound is None else "objective"
    found[name_of_height] = np.array([result.log_likelihood if bound is None else bound])
    return found


Moved = namedtuple("Moved", "height estimates standard_errors verdicts")
"""How far a case is off what was recorded, in the units of the limits."""
EM_LIMITS = Moved(1e-3, 1e-3, 1e-3, 1e-6)
VI_LIMITS = Moved(1.0, 0.1, 0.05, 1e-6)


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


def record(only):
    """Store what the cases find."""
    found = {f"{n}/{key}": part for n in CASES if only in n for key, part in fitted(n).items()}
    # 32 bits are enough for all but heights
    heights = ("/objective", "/log_likelihood")
    arrays = {n: a if n.endswith(heights) else a.astype(np.float32) for n, a in found.items()}
    if only:
        with np.load(STORED) as stored:
            arrays = dict(stored) | arrays
    np.savez_compressed(STORED, **arrays)


def check(only):
    """Compare with what was recorded; numbers of fits, and of those that moved."""
    names = [name for name in CASES if only in name]
    n_moved = 0
    print(f"{'fit':26}{'height':>12}{'estimates':>12}{'SEs':>12}{'p_negative':>12}")
    with np.load(STORED) as stored:
        for name in names:
            after = fitted(name)
            places = {key: f"{name}/{key}" for key in after}
            before = {key: stored[place] for key, place in places.items() if place in stored}
            off = moved(before, after)
            limits = VI_LIMITS if name.startswith("vi ") else EM_LIMITS
            bad = any(value > limit for value, limit in zip(off, limits, strict=True))
            n_moved += bad
            figures = "".join(f"{value:12.2g}" for value in off)
            print(f"{name:26}{figures}{'  moved' if bad else ''}", flush=True)
    print(f"{n_moved} of {len(names)} moved")
    return {"fits": len(names), "moved": n_moved}


def main():
    """Record, or compare with what was recorded."""
    parser = arguments(__doc__)
    parser.add_argument("what", nargs="?", choices=("check", "record"), default="check")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    given = parser.parse_args()
    if given.what == "check":
        figures = check(given.only)
        store(given, **figures)
        return int(figures["moved"] > 0)
    record(given.only)
    if not given.only:
        given.out = STORED.with_suffix(".json")
        store(given, fits=len(CASES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
