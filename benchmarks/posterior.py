"""Whether posteriors and standard errors say what they should.

`variational`: intervals of ``method="vi"``, on the data of ``coverage.py``, beside the usual peer:
a normal number for every ability, slope and intercept by itself. `guessing`: the same of the 3PL.
Data "from the prior" are fitted under just that prior, so that the exact posterior holds 90 %;
"chance" is of EM. `standard_errors`: errors beside those of the Hessian of what a fit maximises,
written down anew in JAX, in 64 bits. Of ``prior="empirical"`` what was learned is taken as known,
and estimates are posterior means, no maximum: where the Hessian there is no peak's, there is no
standard error.
"""

import math
from collections import namedtuple
from functools import partial
from itertools import chain

import coverage
import jax
import jax.numpy as jnp
import numpy as np
import optax
from coverage import Drawn
from jax.flatten_util import ravel_pytree
from jax.scipy.special import betaln, gammaln, logsumexp
from jax.scipy.stats import norm
from machine import part
from simulated import Shape
from study import means, run

import irtkit

PROBABILITY, HALF_WIDTH = 0.9, 1.645


Said = namedtuple("Said", "mean sd low high")
"""What a posterior says of all parameters of a kind, on the scale of the result's tables."""


def covered(draw, ways, n_data_sets, **case):
    """A record per way to fit and kind of parameter: shares of intervals that hold the truth."""
    shares = {}
    for seed in range(n_data_sets):
        data = draw(seed)
        for way, posterior in ways.items():
            for name, said in posterior(data).items():
                truth = data.abilities if name == "ability" else getattr(data.items, name)
                if name == "ability":  # on the scale of the result's tables
                    truth = (truth - truth.mean()) / truth.std()
                by_sd = np.abs(truth - said.mean) <= HALF_WIDTH * said.sd
                by_quantiles = (said.low <= truth) & (truth <= said.high)
                row = {"coverage": by_sd.mean(), "quantiles": by_quantiles.mean()}
                shares.setdefault((way, name), []).append(row)
    for (way, name), rows in shares.items():
        yield {**case, "data_sets": n_data_sets, "fit": way, "parameter": name, **means(rows)}


def by_irtkit(data, model, prior):
    """What irtkit says."""
    result = irtkit.fit(data.responses, model, method="vi", prior=prior, progress=False)
    ends = result.posterior.item_intervals(PROBABILITY)
    names = ["discrimination", "intercept", *(["guessing"] if model == "3PL" else [])]
    said = {}
    for name in names:
        columns = (result.items[name], result.items[f"{name}_se"])
        said[name] = Said(*map(np.asarray, (*columns, ends[f"{name}_low"], ends[f"{name}_high"])))
    table = result.respondents
    said["ability"] = normal(table["ability"].to_numpy(), table["ability_se"].to_numpy())
    return said


def normal(mean, sd):
    """A normal posterior."""
    return Said(mean, sd, mean - HALF_WIDTH * sd, mean + HALF_WIDTH * sd)


STEPS, RATE, FIRST_SD = 1_500, 0.03, 0.1
MEAN_FIELD_PRIOR = irtkit.ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0))
OF_PRIOR = np.array([[0.0, 1.0], [1.0, 0.5], [0.0, 2.0]])
"""Mean and SD of abilities, slopes and intercepts under it."""


@partial(jax.jit, static_argnames="sizes")
def mean_field(values, sizes):
    """Means and SDs of independent normal distributions of z = aθ + d, for complete responses.

    They follow the gradient of the evidence lower bound at one reparametrised draw (Kingma &
    Welling 2014) by Adam, all responses at each step. Means start at those of the prior, as in
    py-irt. Settings are those with the highest bound at 500 × 5,000, of rates from 0.02 to 0.2
    that fall or stay, and of SDs that start at 0.05, 0.1 and 1.
    """
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))
    right = values.astype(jnp.float32)
    centre, spread = (jnp.repeat(of, np.array(sizes)) for of in OF_PRIOR.T)
    ends = np.cumsum(sizes)[:-1]

    def loss(guide, key):
        """Minus the bound at one draw, up to a constant."""
        mean, log_sd = guide
        of_kinds = zip(jax.random.split(key, 3), sizes, strict=True)
        drawn = [jax.random.normal(of, (n,)) for of, n in of_kinds]
        x = mean + jnp.exp(log_sd) * jnp.concatenate(drawn)
        ability, slope, intercept = jnp.split(x, ends)
        z = ability[:, None] * slope + intercept
        bound = jnp.sum(right * z - jax.nn.softplus(z))
        return -bound - jnp.sum(log_sd) + 0.5 * jnp.sum(((x - centre) / spread) ** 2)

    def step(k, state):
        guide, adam = state
        key = jax.random.fold_in(jax.random.key(0), k)
        updates, adam = optimiser.update(jax.grad(loss)(guide, key), adam)
        return optax.apply_updates(guide, updates), adam

    start = centre, jnp.full_like(centre, math.log(FIRST_SD))
    mean, log_sd = jax.lax.fori_loop(0, STEPS, step, (start, optimiser.init(start)))[0]
    return jnp.split(mean, ends), jnp.split(jnp.exp(log_sd), ends)


def by_mean_field(data):
    """What the plain mean field says, of abilities from draws on the scale of the sample."""
    n, m = data.responses.values.shape
    mean, sd = jax.tree.map(np.asarray, mean_field(data.responses.values, (n, m, m)))
    ability = mean[0] + sd[0] * np.random.default_rng(0).normal(size=(1_000, n))
    ability = (ability - ability.mean(axis=1, keepdims=True)) / ability.std(axis=1, keepdims=True)
    return {
        "discrimination": normal(mean[1], sd[1]),
        "intercept": normal(mean[2], sd[2]),
        "ability": normal(ability.mean(axis=0), ability.std(axis=0)),
    }


PEER = "mean field"
WAYS = {  # Ways to fit, and their priors.
    "irtkit": "weak",
    "irtkit, empirical": "empirical",
    "irtkit, mean field's prior": MEAN_FIELD_PRIOR,
}
BOTH = ("irtkit", "irtkit, mean field's prior", PEER)
Study = namedtuple("Study", "shape n_data_sets ways", defaults=(("irtkit",),))
STUDIES = (
    *(Study(Shape(500, 50), 40, BOTH), Study(Shape(100, 1_000), 20, BOTH)),
    Study(Shape(12, 2_000), 10, ("irtkit", "irtkit, empirical")),
    Study(Shape(100, 20), 100),
    Study(Shape(500, 30, "3PL"), 40),
    Study(Shape(100, 60, "1PL"), 200),  # one slope a data set
)


def coverage_of(setting):
    """A record per way to fit and kind of parameter."""
    shape, n, names = setting
    ways = {}
    for way in names:
        fit = partial(by_irtkit, model=shape.model, prior=WAYS.get(way))
        ways[way] = by_mean_field if way == PEER else fit
    return covered(partial(coverage.draw, shape), ways, n, shape=shape._asdict())


def variational():
    """Coverage of the variational posterior."""
    return {"calibration": chain.from_iterable(map(coverage_of, part(STUDIES, 3)))}


SHAPES = ((100, 20), (500, 30), (1_000, 40), (4_000, 40))
OWN_PRIOR = irtkit.ItemPrior(
    irtkit.Normal(1.0, 0.4), irtkit.Normal(0.0, 1.5), irtkit.Beta(5.0, 17.0)
)
FIVE_CHOICES = irtkit.WeakPrior(chance=0.2)
PRIORS = {"from the prior": OWN_PRIOR, "narrow slopes": FIVE_CHOICES}
LEARNED_SHAPES = ((300, 40), (500, 60), (1_000, 40))
LEARNED_SETS = 40
CHANCE_SHAPES = ((300, 20), (1_000, 30))
GUESSED = (0.0, 0.1, 0.25, None)
"""Guessing of all items; None: spread."""


def draw_guessed(seed, shape, kind, guessed=None):
    """Items, abilities and responses, all drawn anew from a seed; guessing may be one number."""
    n, n_items = shape
    generator = np.random.default_rng([seed, n, n_items])
    if kind == "from the prior":
        slope = generator.lognormal(0.0, 0.4, n_items)
        intercept = generator.normal(0.0, 1.5, n_items)
    else:
        slope = generator.lognormal(0.0, 0.3, n_items)
        intercept = -slope * generator.normal(size=n_items)
    guessing = generator.beta(5, 17, n_items)
    guessing = guessing if guessed is None else np.full(n_items, guessed)
    items, ability = irtkit.ItemParameters(slope, intercept, guessing), generator.normal(size=n)
    return Drawn(items, ability, irtkit.simulate_responses(items, ability, seed=generator))


def coverage_of_guessing(shape, kind, n):
    """A record per parameter."""
    draw = partial(draw_guessed, shape=shape, kind=kind)
    prior = PRIORS.get(kind, irtkit.WeakPrior())
    ways = {"irtkit": partial(by_irtkit, model="3PL", prior=prior)}
    records = covered(draw, ways, n, shape=list(shape), kind=kind)
    return (record for record in records if record["parameter"] != "ability")


def around_chance(shape, guessed, n):
    """Coverage and bias by EM where the chance level is learned, and where it is given as 0.2."""
    for way, prior in {"learned": irtkit.WeakPrior(), "0.2": FIVE_CHOICES}.items():
        rows = {"discrimination": [], "difficulty": []}
        for seed in range(n):
            data = draw_guessed(seed, shape, "narrow slopes", guessed)
            result = irtkit.fit(data.responses, "3PL", prior=prior, progress=False)
            level = result.settings.prior["chance"]
            for name, of_sets in rows.items():
                off = result.items[name] - getattr(data.items, name)
                share = (off.abs() <= 1.96 * result.items[f"{name}_se"]).mean()
                of_sets.append({"coverage": share, "median_off": off.median(), "level": level})
        guessing = "spread" if guessed is None else guessed
        case = {"shape": list(shape), "guessing": guessing, "way": way, "data_sets": n}
        yield from (case | {"parameter": name} | means(of_sets) for name, of_sets in rows.items())


def guessing(data_sets=25):
    """Coverage of the 3PL, and of EM where chance is learned."""
    drawn = [
        (shape, kind, data_sets)
        for shape in part(SHAPES, 0)
        for kind in part(PRIORS, "from the prior")
    ]
    drawn += [(shape, "chance learned", LEARNED_SETS) for shape in part(LEARNED_SHAPES)]
    guessed = [(shape, c) for shape in part(CHANCE_SHAPES, 0) for c in part(GUESSED, 0)]
    return {
        "coverage": chain.from_iterable(coverage_of_guessing(*case) for case in drawn),
        "chance": chain.from_iterable(around_chance(*case, data_sets) for case in guessed),
    }


NODES, LIMIT = 321, 8.0
STEP = 1e-5
PRIORS_OF_FITS = {
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


Case = namedtuple("Case", "shape model prior")


def cases(shapes=None):
    """All models and priors at ordinary shapes, and what is quick enough at large ones."""
    found = [
        Case(shape, model, prior)
        for shape in shapes or OF_FEW
        for model in irtkit.irf.MODELS
        if model not in irtkit.irf.OF_LEVELS
        for prior in PRIORS_OF_FITS
        if (prior != "empirical" or model in {"2PL", "3PL"})
        # without a prior few respondents leave slopes, and many more leave guessing, unbounded
        and (prior != "none" or (shape[0] >= 300 and model != "3PL"))
        and (model != "3PL" or shape[1] <= 100)
    ]
    if shapes is None:
        bounded = [prior for prior in PRIORS_OF_FITS if prior != "none"]
        found += [Case(shape, "2PL", prior) for shape in OF_MANY for prior in bounded]
        found += [Case(shape, model, "weak") for shape in OF_MANY for model in ("1PL", "3PL")]
    return found


def drawn_case(case, seed):
    """Responses to lognormal slopes, some of them negative unless they are common."""
    generator = np.random.default_rng([seed, *case.shape])
    n_items, common = case.shape[1], case.model in {"1PL", "Rasch"}
    slope = generator.lognormal(0.0, 0.3, n_items)
    slope[generator.random(n_items) < 0.05] *= -1
    slope = np.full(n_items, 1.2) if common else slope
    guessing = 0.2 if case.model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slope, generator.normal(size=n_items), guessing)
    return irtkit.simulate_responses(items, generator.normal(size=case.shape[0]), seed=generator)


def log_beta(logit, alpha=5.0, beta=17.0):
    """Log density of guessing, as one of c."""
    c = jax.nn.sigmoid(logit)
    return (alpha - 1) * jnp.log(c) + (beta - 1) * jnp.log1p(-c) - betaln(alpha, beta)


def log_student(x, centre, scale, df):
    """Student's log density."""
    r = (x - centre) / scale
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * math.log(df * math.pi)
    return constant - math.log(scale) - (df + 1) / 2 * jnp.log1p(r**2 / df)


def steep(slope):
    """The limit of steep slopes: log |a| beyond log 20 is half-normal with SD 0.5."""
    return -0.5 * (jnp.log(jnp.maximum(jnp.abs(slope), 20.0) / 20.0) / 0.5) ** 2


def log_weak(slope, intercept, logit, learned, *, common):
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


def log_own(name, slope, intercept, logit, *, common):
    """Independent densities, a common slope counted once."""
    by_slope, by_intercept = norm.logpdf(slope, 1.0, 0.6), jnp.zeros(1)
    if name == "Normal, Normal, Beta":
        by_slope, by_intercept = norm.logpdf(slope, 1.0, 0.5), norm.logpdf(intercept, 0, 2)
    total = by_intercept.sum() + (by_slope.mean() if common else by_slope.sum())
    if logit is None:
        return total
    normal = name == "Normal, none, Normal"
    return total + (norm.logpdf(logit, -1.5, 0.7) if normal else log_beta(logit)).sum()


def log_learned(learned, slope, intercept, logit):
    """The distribution that items were found to have, of asinh(a/λ) and the intercept."""
    turn, sign = learned["bend"] * learned["slope"], jnp.sign(slope)
    u = jnp.arcsinh(sign * slope / turn)
    total = norm.logpdf(u, math.asinh(1 / learned["bend"]), learned["log_slope_spread"])
    off = intercept - sign * learned["intercept"] + learned["difficulty"] * slope
    variance = learned["intercept_spread"] ** 2 + (learned["difficulty_spread"] * slope) ** 2
    total = (total + norm.logpdf(off, scale=jnp.sqrt(variance)) + steep(slope)).sum()
    return total if logit is None else total + log_beta(logit).sum()


def log_likelihood(right, slope, intercept, logit, n_nodes=NODES):
    """Log-likelihood, without guessing where no logits of it are given."""
    theta = jnp.linspace(-LIMIT, LIMIT, n_nodes)
    weights = norm.logpdf(theta) - logsumexp(norm.logpdf(theta))
    z = theta[:, None] * slope + intercept
    rights, wrong = jax.nn.log_sigmoid(z), jax.nn.log_sigmoid(-z)
    if logit is not None:
        kept = jax.nn.log_sigmoid(-logit)
        rights, wrong = jnp.logaddexp(jax.nn.log_sigmoid(logit), kept + rights), kept + wrong
    joint = right @ (rights - wrong).T + wrong.sum(axis=1) + weights
    return logsumexp(joint, axis=1).sum()


def exact_errors(case, result, responses):
    """Standard errors of slopes, intercepts and logits of guessing, (3, n_items)."""
    items, n_items = result.parameters, len(result.item_labels)
    common = case.model in {"1PL", "Rasch"}
    # where ability is integrated adaptively, Rasch is the 1PL in other units
    slope = items.discrimination * result.latent_sd
    of_items = [slope[:1] if common else slope, items.intercept, None]
    if case.model == "3PL":
        of_items[2] = np.log(items.guessing / (1 - items.guessing))
    n_learned = (1 if common else 2) if case.prior == "weak" else 0
    learned = np.array([0.0, math.log(np.median(np.abs(slope)))])[:n_learned]
    right = jnp.asarray(responses.values == 1, dtype=jnp.float64)
    log_prior = {
        "weak": partial(log_weak, common=common),
        "empirical": lambda a, d, g, _: log_learned(result.settings.prior, a, d, g),
        "none": lambda *_: 0.0,
    }.get(case.prior, lambda a, d, g, _: log_own(case.prior, a, d, g, common=common))

    def by_prior(learned):
        return log_prior(jnp.broadcast_to(of_items[0], n_items), *of_items[1:], learned)

    def objective(x):
        slope, intercept, logit, learned = unravelled(x)
        slope = jnp.broadcast_to(slope, n_items)
        fit = log_likelihood(right, slope, intercept, logit)
        return fit + log_prior(slope, intercept, logit, learned)

    if n_learned:  # what the prior learns is where it is likeliest, given the items
        gradient, curvature = jax.jit(jax.grad(by_prior)), jax.jit(jax.hessian(by_prior))
        for _ in range(50):
            step = np.linalg.solve(curvature(learned), gradient(learned))
            learned = learned - np.clip(step, -0.5, 0.5)
    x, unravelled = ravel_pytree([*of_items, learned])
    gradient = jax.jit(jax.grad(objective))
    moves = STEP * (1 + np.abs(x)) * np.eye(len(x))
    hessian = np.array([gradient(x + move) - gradient(x - move) for move in moves])
    hessian /= 2 * moves.sum(axis=1, keepdims=True)
    variances = np.diag(np.linalg.inv(-(hessian + hessian.T) / 2))
    own = unravelled(np.sqrt(np.where(variances > 0, variances, np.nan)))
    return np.array([np.broadcast_to(np.nan if of is None else of, n_items) for of in own[:3]])


def deviations(case, seed):
    """Deviations of one fit."""
    responses = drawn_case(case, seed)
    method, prior = irtkit.EM(tol=1e-10), PRIORS_OF_FITS[case.prior]
    result = irtkit.fit(responses, case.model, prior=prior, method=method)
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
    return {**case._asdict(), "seed": seed, "largest": float(off.max())}


def standard_errors(shapes=(), models=()):
    """Deviations of standard errors from those of the Hessian."""
    wanted = [tuple(map(int, shape.split("x"))) for shape in shapes]
    chosen = part(cases(wanted or None), 0, 4, 8, 12)
    return {"fits": (deviations(c, 0) for c in chosen if not models or c.model in models)}


if __name__ == "__main__":
    run(variational, guessing, standard_errors)
