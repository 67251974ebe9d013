"""Whether standard errors are those of the Hessian of what a fit maximises.

The marginal log-likelihood and the log density of the prior, as the docstrings define them, are
written down anew in JAX, in 64 bits, on a fixed grid of 321 nodes from −8 to 8. Differences of
their gradients at the estimates give the Hessian by all parameters, those that the prior learns
among them; the roots of the diagonal of its inverse are what standard errors should be. Of
``prior="empirical"`` what was learned is taken as known, as ``irtkit.fit`` says, and estimates are
posterior means, no maximum: where the Hessian there is no peak's, there is no standard error.

Printed by shape, model and prior: the largest deviation of a standard error of a slope, an
intercept or the logit of guessing, that at 1 of 100, and the mean, in per cent; how many there are,
and how many are NaN here and there. Shapes with more than 300 parameters are those whose
information irtkit does not form as a whole.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betaln, gammaln, logsumexp
from jax.scipy.stats import norm
from machine import arguments, part, store

import irtkit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NODES, LIMIT = 321, 8.0
STEP = 1e-5


PRIORS: dict[str, Any] = {
    "none": None,
    "weak": "weak",
    "Normal, Normal, Beta": irtkit.ItemPrior(
        irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0), irtkit.Beta(5.0, 17.0)
    ),
    "Normal, none, Normal": irtkit.ItemPrior(
        irtkit.Normal(1.0, 0.6), guessing=irtkit.Normal(-1.5, 0.7)
    ),
    "empirical": "empirical",
}
OF_FEW = [(1000, 6), (300, 20), (40, 30), (30, 40), (50, 100), (400, 150)]
OF_MANY = [(12, 400), (50, 300), (100, 500)]
HEADER = "respondents  items model  prior                   largest %  1 of 100   mean   number"
HEADER += "    nan   there"


class Case(NamedTuple):
    """One fit."""

    shape: tuple[int, ...]
    model: str
    prior: str


def cases(shapes: list[tuple[int, ...]] | None = None) -> list[Case]:
    """All models and priors at ordinary shapes, and what is quick enough at large ones."""
    found = [
        Case(shape, model, prior)
        for shape in shapes or OF_FEW
        for model in irtkit.irf.MODELS
        if model not in irtkit.irf.OF_LEVELS
        for prior in PRIORS
        if (prior != "empirical" or model in {"2PL", "3PL"})
        # without a prior few respondents leave slopes, and many more leave guessing, unbounded
        and (prior != "none" or (shape[0] >= 300 and model != "3PL"))
        and (model != "3PL" or shape[1] <= 100)
    ]
    if shapes is None:
        bounded = [prior for prior in PRIORS if prior != "none"]
        found += [Case(shape, "2PL", prior) for shape in OF_MANY for prior in bounded]
        found += [Case(shape, model, "weak") for shape in OF_MANY for model in ("1PL", "3PL")]
    return found


def drawn(case: Case, seed: int) -> irtkit.ResponseMatrix:
    """Responses to lognormal slopes, some of them negative unless they are common."""
    generator = np.random.default_rng([seed, *case.shape])
    n_items, common = case.shape[1], case.model in {"1PL", "Rasch"}
    slope = generator.lognormal(0.0, 0.3, n_items)
    slope[generator.random(n_items) < 0.05] *= -1
    slope = np.full(n_items, 1.2) if common else slope
    guessing = 0.2 if case.model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)
    return irtkit.simulate_responses(items, generator.normal(size=case.shape[0]), seed=generator)


def log_beta(logit: Any, alpha: float = 5.0, beta: float = 17.0) -> Any:
    """Log density of guessing, as one of c."""
    c = jax.nn.sigmoid(logit)
    return (alpha - 1) * jnp.log(c) + (beta - 1) * jnp.log1p(-c) - betaln(alpha, beta)


def log_student(x: Any, centre: float, scale: float, df: float) -> Any:
    """Student's log density."""
    r = (x - centre) / scale
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * math.log(df * math.pi)
    return constant - math.log(scale) - (df + 1) / 2 * jnp.log1p(r**2 / df)


def steep(slope: Any) -> Any:
    """The limit of steep slopes: log |a| beyond log 20 is half-normal with SD 0.5."""
    return -0.5 * (jnp.log(jnp.maximum(jnp.abs(slope), 20.0) / 20.0) / 0.5) ** 2


def log_weak(slope: Any, intercept: Any, logit: Any, learned: Any, *, common: bool) -> Any:
    """The weak prior; ``learned`` holds m and, unless slopes are common, log τ."""
    total = norm.logpdf(learned[0], scale=5.0)
    total += norm.logpdf(intercept - learned[0] * slope, scale=3.0).sum()
    if common:
        total += norm.logpdf(jnp.log(slope)).sum() / len(slope)
    else:
        ratio = jnp.arcsinh(slope / jnp.exp(learned[1]))
        total += norm.logpdf(learned[1]) + steep(slope).sum()
        total += log_student(ratio, math.asinh(1.0), 0.3, 4.0).sum()
    return total if logit is None else total + log_beta(logit).sum()


def log_own(name: str, slope: Any, intercept: Any, logit: Any, *, common: bool) -> Any:
    """Independent densities, a common slope counted once."""
    by_slope, by_intercept = norm.logpdf(slope, 1.0, 0.6), jnp.zeros(1)
    if name == "Normal, Normal, Beta":
        by_slope, by_intercept = norm.logpdf(slope, 1.0, 0.5), norm.logpdf(intercept, 0, 2)
    total = by_intercept.sum() + (by_slope.mean() if common else by_slope.sum())
    if logit is None:
        return total
    normal = name == "Normal, none, Normal"
    return total + (norm.logpdf(logit, -1.5, 0.7) if normal else log_beta(logit)).sum()


def log_learned(learned: dict[str, Any], slope: Any, intercept: Any, logit: Any) -> Any:
    """The distribution that items were found to have, of its coordinates u and e."""
    turn, sign = learned["bend"] * learned["slope"], jnp.sign(slope)
    u = jnp.arcsinh(sign * slope / turn)
    total = norm.logpdf(u, math.asinh(1 / learned["bend"]), learned["log_slope_spread"])
    off = intercept - sign * learned["intercept"] + learned["difficulty"] * slope
    variance = learned["intercept_spread"] ** 2 + (learned["difficulty_spread"] * slope) ** 2
    total = (total + norm.logpdf(off / jnp.sqrt(variance)) + steep(slope)).sum()
    return total if logit is None else total + log_beta(logit).sum()


def objective(
    x: Any, right: Any, sizes: tuple[int, ...], log_prior: Any, n_nodes: int = NODES
) -> Any:
    """Log-likelihood and log prior of slopes, intercepts, logits, and what is learned."""
    slope, intercept, logit, learned = jnp.split(x, np.cumsum(sizes)[:-1])
    slope = jnp.broadcast_to(slope, intercept.shape)
    theta = jnp.linspace(-LIMIT, LIMIT, n_nodes)
    weights = norm.logpdf(theta) - logsumexp(norm.logpdf(theta))
    z = theta[:, None] * slope + intercept
    if sizes[2]:
        wrong = jax.nn.log_sigmoid(-z) + jax.nn.log_sigmoid(-logit)
        rights = jnp.logaddexp(
            jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit) + jax.nn.log_sigmoid(z)
        )
    else:
        rights, wrong = jax.nn.log_sigmoid(z), jax.nn.log_sigmoid(-z)
    joint = right @ (rights - wrong).T + wrong.sum(axis=1) + weights
    return logsumexp(joint, axis=1).sum() + log_prior(
        slope, intercept, logit if sizes[2] else None, learned
    )


def prior_of(case: Case, result: irtkit.FitResult) -> Any:
    """Log prior of slopes, intercepts, logits and what is learned."""
    common = case.model in {"1PL", "Rasch"}
    if case.prior == "weak":
        return partial(log_weak, common=common)
    if case.prior == "empirical":
        return lambda a, d, g, _: log_learned(result.settings.prior, a, d, g)
    if case.prior == "none":
        return lambda *_: 0.0
    return lambda a, d, g, _: log_own(case.prior, a, d, g, common=common)


def exact_errors(case: Case, result: irtkit.FitResult, responses: irtkit.ResponseMatrix) -> Array:
    """Standard errors of slopes, intercepts and logits of guessing, (3, n_items)."""
    items, n_items = result.parameters, len(result.item_labels)
    common, guessing = case.model in {"1PL", "Rasch"}, case.model == "3PL"
    # where ability is integrated adaptively, Rasch is the 1PL in other units
    slope = items.discrimination * result.latent_sd
    n_learned = (1 if common else 2) if case.prior == "weak" else 0
    sizes = (1 if common else n_items, n_items, n_items if guessing else 0, n_learned)
    parts = [slope[: sizes[0]], items.intercept]
    parts += [np.log(items.guessing / (1 - items.guessing))] if guessing else []
    x = np.concatenate([*parts, np.array([0.0, math.log(np.median(np.abs(slope)))])[:n_learned]])
    right = jnp.asarray(responses.values == 1, dtype=jnp.float64)
    log_prior = prior_of(case, result)
    gradient = jax.jit(jax.grad(lambda x: objective(x, right, sizes, log_prior)))
    if n_learned:  # what the prior learns is where it is likeliest, given the items
        of_prior = jax.jit(jax.hessian(lambda y: log_prior_at(y, x, sizes, log_prior)))
        by_prior = jax.jit(jax.grad(lambda y: log_prior_at(y, x, sizes, log_prior)))
        for _ in range(50):
            step = np.linalg.solve(of_prior(x[-n_learned:]), by_prior(x[-n_learned:]))
            x[-n_learned:] -= np.clip(step, -0.5, 0.5)
    hessian = np.empty((len(x), len(x)))
    for k in range(len(x)):
        move = STEP * (1 + abs(x[k])) * (np.arange(len(x)) == k)
        hessian[k] = (gradient(x + move) - gradient(x - move)) / (2 * move[k])
    variances = np.diag(np.linalg.inv(-(hessian + hessian.T) / 2))
    errors = np.sqrt(np.where(variances > 0, variances, np.nan))
    own = np.split(errors, np.cumsum(sizes)[:-1])
    found = np.full((3, n_items), np.nan)
    found[0], found[1] = own[0], own[1]
    if guessing:
        found[2] = own[2]
    return found


def log_prior_at(learned: Any, x: Any, sizes: tuple[int, ...], log_prior: Any) -> Any:
    """Log prior by what it learns."""
    slope, intercept, logit, _ = np.split(x, np.cumsum(sizes)[:-1])
    slope = np.broadcast_to(slope, intercept.shape)
    return log_prior(slope, intercept, logit if sizes[2] else None, learned)


def measure(case: Case, seed: int) -> dict[str, Any]:
    """Deviations of one fit."""
    responses = drawn(case, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method, prior = irtkit.EM(tol=1e-10), PRIORS[case.prior]
        result = irtkit.fit(responses, case.model, prior=prior, method=method)  # type: ignore[call-overload]
    c = result.parameters.guessing
    of_fit = result.standard_errors.T[[0, 3, 2]].copy()
    of_fit[2] /= c * (1 - c) if case.model == "3PL" else np.nan
    with jax.enable_x64(new_val=True):
        exact = exact_errors(case, result, responses)
    if case.model == "Rasch":
        exact[0] = np.nan
    kept = np.array([status != "unbounded" for status in result.status])
    there = np.isin(np.arange(3), {"Rasch": [1], "3PL": [0, 1, 2]}.get(case.model, [0, 1]))
    found, expected = of_fit[there][:, kept], exact[there][:, kept]
    off = np.abs(found / expected - 1)[np.isfinite(found) & np.isfinite(expected)]
    return {
        **case._asdict(),
        "seed": seed,
        "largest": float(off.max()),
        "hundredth": float(np.quantile(off, 0.99)),
        "mean": float(off.mean()),
        "standard_errors": int(found.size),
        "nan": int(np.isnan(found).sum()),
        "nan_exact": int(np.isnan(expected).sum()),
    }


def main() -> None:
    """Print the table row by row; store all figures where asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--shapes", nargs="*", help="respondents × items, for instance 60x8")
    parser.add_argument("--models", nargs="*", default=irtkit.irf.MODELS)
    parser.add_argument("--data-sets", type=int, default=1)
    options = parser.parse_args()
    wanted = options.shapes and [tuple(map(int, shape.split("x"))) for shape in options.shapes]
    print(HEADER)
    records = []
    for case in part(cases(wanted or None), 0, 4, 8, 12):
        if case.model not in options.models:
            continue
        found = [measure(case, seed) for seed in range(options.data_sets)]
        records += found
        largest, hundredth = (max(one[name] for one in found) for name in ("largest", "hundredth"))
        mean, n, here, there = (
            np.sum([one[name] for one in found])
            for name in ("mean", "standard_errors", "nan", "nan_exact")
        )
        print(
            f"{case.shape[0]:11d} {case.shape[1]:6d} {case.model:>5}  {case.prior:<23} "
            f"{100 * largest:8.2f} {100 * hundredth:9.2f} {100 * mean / len(found):6.2f} "
            f"{n:8d} {here:6d} {there:7d}",
            flush=True,
        )
    store(options, fits=records)


if __name__ == "__main__":
    main()
