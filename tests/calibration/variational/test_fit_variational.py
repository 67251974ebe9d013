"""Variational fits as a whole: recovery, another program, awkward matrices."""

import numpy as np
import pytest

from irtkit import (
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    Variational,
    WeakPrior,
    fit,
    simulate_responses,
)
from irtkit.fitting import silently
from tests.crowds import sample

NORMAL = ItemPrior(Normal(1.0, 1.0), Normal(0.0, 2.0))


def drawn(n, n_items, seed=1, *, negative=0.0, **how):
    return sample(n, n_items, [seed, n, n_items], negative=negative, **how)


def rms(difference):
    return float(np.sqrt(np.mean(difference**2)))


def finite(result):
    names = ["discrimination", "difficulty", "intercept", "guessing", "intercept_se"]
    items = result.items[result.items["status"] != "no responses"]
    parts = (items[names], result.respondents[["ability", "ability_se"]])
    assert result.elbo is not None
    numbers = np.array([result.log_likelihood, result.elbo])
    return all(np.isfinite(part).all(axis=None) for part in (*parts, numbers))


def test_means_recover_items_and_abilities_as_well_as_maxima():
    responses, items, abilities = drawn(200, 300, negative=0.05)
    em, vi = (fit(responses, method=method, standard_errors=False) for method in ("em", "vi"))
    for name in ("discrimination", "intercept"):
        errors = [rms(getattr(r.parameters, name) - getattr(items, name)) for r in (em, vi)]
        # a posterior mean has the least squared error; 5 % for the chance in 300 items
        assert errors[1] < 1.05 * errors[0], name
    scaled = (abilities - abilities.mean()) / abilities.std()
    errors = [rms(result.ability - scaled) for result in (em, vi)]
    assert errors[1] < 1.05 * errors[0]


@pytest.mark.parametrize("prior", ["weak", "empirical", ItemPrior(Normal(1.0, 0.4), Normal(0, 2))])
def test_negative_slopes_are_found(prior):
    responses, items, _ = drawn(300, 60, negative=0.15)
    result = fit(responses, method="vi", prior=prior)
    certain = np.abs(items.discrimination) > 0.4
    found = np.sign(result.parameters.discrimination) == np.sign(items.discrimination)
    assert (items.discrimination < 0).sum() >= 5
    assert found[certain].all()
    assert result.posterior is not None
    high = result.posterior.item_intervals()["discrimination_high"].to_numpy()
    # a slope of −0.5 is some three of its SDs from 0, so that most 90 % intervals lie below it
    assert (high[items.discrimination < -0.5] < 0).mean() > 0.7
    assert (high[items.discrimination > 0.4] > 0).all()


@pytest.mark.slow
def test_intervals_hold_what_they_say():
    # items and abilities drawn from the prior, so that 90 % intervals hold 90 % exactly, but for
    # the normal approximation. 24 matrices of 12 items and 2 parameters; those of a matrix share
    # scale and location, so that they are worth at least 24 × 6 independent ones: a standard error
    # of at most √(0.09/144), 0.025. Abilities: 24 × 60, worth half of that: 0.011.
    prior = ItemPrior(Normal(1.0, 0.4), Normal(0.0, 1.0))
    held = {"items": [], "abilities": []}
    for seed in range(24):
        generator = np.random.default_rng(seed)
        items = ItemParameters(
            generator.lognormal(0, 0.4, 12), generator.normal(size=12), np.zeros(12)
        )
        abilities = generator.normal(size=60)
        responses = simulate_responses(items, abilities, seed=seed)
        posterior = fit(responses, method=Variational(tol=0.1), prior=prior).posterior
        assert posterior is not None
        drawn_here = posterior.draws(500)
        for name, true in (
            ("discrimination", items.discrimination),
            ("intercept", items.intercept),
            ("ability", abilities),
        ):
            low, high = np.quantile(drawn_here[name], [0.05, 0.95], axis=0)
            where = "abilities" if name == "ability" else "items"
            held[where].append(float(np.mean((low < true) & (true < high))))
    assert np.mean(held["items"]) == pytest.approx(0.9, abs=0.075)
    assert np.mean(held["abilities"]) == pytest.approx(0.9, abs=0.035)


def test_rasch_is_the_1pl_in_other_units():
    responses, _, _ = drawn(200, 12)
    common, rasch = (fit(responses, model, method="vi") for model in ("1PL", "Rasch"))
    slope = common.parameters.discrimination[0]
    assert (common.items["discrimination"] == slope).all()
    assert (rasch.parameters.discrimination == 1).all()
    assert rasch.latent_sd == pytest.approx(slope)
    assert (rasch.elbo, rasch.log_likelihood) == (common.elbo, common.log_likelihood)
    assert rasch.items["intercept"].to_numpy() == pytest.approx(common.items["intercept"])
    assert rasch.ability == pytest.approx(slope * common.ability)
    assert rasch.ability_se == pytest.approx(slope * common.ability_se)


def awkward(kind):
    values = drawn(40, 6)[0].values.copy()
    if kind == "rows and columns without a response":
        values[3], values[:, 2] = -1, -1
    elif kind == "all right, all wrong":
        values[:, 1], values[:, 4], values[0], values[1] = 1, 0, 1, 0
    elif kind == "steps":
        values = (np.arange(30)[:, None] >= np.arange(3, 30, 4)).astype(np.int8)
    return {
        "1 item": ResponseMatrix(values[:, :1]),
        "2 respondents": ResponseMatrix(values[:2]),
        "1 cell": ResponseMatrix(values[:1, :1]),
        "2 × 40": ResponseMatrix(drawn(2, 40)[0].values),
    }.get(kind, ResponseMatrix(values))


@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.parametrize(("model", "kind"), [
    ("3PL", "rows and columns without a response"),
    ("2PL", "all right, all wrong"),
    ("2PL", "steps"),
    ("Rasch", "1 item"),
    *(pytest.param(*of, marks=pytest.mark.slow) for of in (
        ("1PL", "2 respondents"), ("3PL", "1 cell"), ("2PL", "2 × 40"))),
])  # fmt: skip
def test_awkward_matrices_give_finite_numbers_and_the_status_of_em(model, kind):
    responses = awkward(kind)
    result = fit(responses, model, method=Variational(max_iterations=30))
    assert finite(result)
    answered = np.array(result.status) != "no responses"
    assert result.status == fit(responses, model).status
    assert (result.ability_se > 0).all()
    assert np.abs(result.parameters.discrimination[answered]).max() < 100
    posterior = result.posterior
    assert posterior is not None
    draws = posterior.draws(20)
    assert np.isfinite(draws.pop("ability")).all()
    for values in draws.values():
        assert np.isfinite(values[:, answered]).all()


@pytest.mark.parametrize("model", ["1PL", "Rasch"])
def test_a_common_slope_that_would_be_negative_stays_finite(model):
    text = "01. 1.1 .0. ..0 10. 010 110 10. .10 1.. .10 010 010 1.."
    values = np.array([["01.".index(one) for one in row] for row in text.split()])
    prior = ItemPrior(Normal(0, 1), Normal(0, 2))
    with silently():
        result = fit(np.where(values == 2, -1, values), model, method="vi", prior=prior)
    assert np.isfinite(result.standard_errors[:, 3]).all()
    assert (result.parameters.discrimination > 0).all()


@pytest.mark.parametrize(("arguments", "message"), [
    ({"prior": None}, "prior=None is not for a variational fit"),
    ({"prior": ItemPrior(Normal(1, 1))}, "proper prior, and this one has intercept=None"),
    ({"model": "3PL", "prior": NORMAL}, "proper prior, and this one has guessing=None"),
])  # fmt: skip
def test_wrong_arguments_are_refused_by_name(arguments, message):
    responses = ResponseMatrix([[1, 0], [0, 1], [1, 1]])
    with pytest.raises(ValueError, match=message):
        fit(**{"responses": responses, "method": "vi", **arguments})


def test_without_standard_errors_tables_have_none_and_posteriors_stay():
    result = fit(drawn(50, 5)[0], method="vi", standard_errors=False)
    assert result.items["discrimination_se"].isna().all()
    assert result.posterior is not None
    assert np.isfinite(result.posterior.item_intervals()).all(axis=None)


def sampled(responses, prior):
    """Draws of the same posterior by the No-U-Turn sampler of NumPyro."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from jax import numpy as jnp

    n, n_items = responses.values.shape

    def model(right):
        if isinstance(prior, WeakPrior):
            log_scale = numpyro.sample("log_scale", dist.Normal(0.0, 1.0))
            location = numpyro.sample("location", dist.Normal(0.0, 5.0))
            unit = dist.StudentT(4.0, np.arcsinh(1.0), 0.3).expand([n_items])
            slope = jnp.exp(log_scale) * jnp.sinh(numpyro.sample("u", unit))
            beyond = jnp.log(jnp.maximum(jnp.abs(slope) / 20.0, 1.0))
            numpyro.factor("steep", -0.5 * (beyond / 0.5) ** 2)
            off_line = numpyro.sample("off", dist.Normal(0.0, 3.0).expand([n_items]))
            intercept = off_line + location * slope
        else:
            slope = numpyro.sample("a", dist.Normal(1.0, 1.0).expand([n_items]))
            intercept = numpyro.sample("d", dist.Normal(0.0, 2.0).expand([n_items]))
        numpyro.deterministic("discrimination", slope)
        numpyro.deterministic("intercept", intercept)
        ability = numpyro.sample("ability", dist.Normal(0.0, 1.0).expand([n]))
        logits = ability[:, None] * slope + intercept
        numpyro.sample("right", dist.Bernoulli(logits=logits), obs=right)

    sampler = numpyro.infer.MCMC(
        # from the middle of the prior: it may get caught where the signs of all slopes are turned
        numpyro.infer.NUTS(model, init_strategy=numpyro.infer.init_to_median()),
        num_warmup=400,
        num_samples=1200,
        progress_bar=False,
    )
    sampler.run(jax.random.key(3), jnp.asarray(responses.values))
    found = sampler.get_samples()
    return {name: np.asarray(found[name]) for name in ("discrimination", "intercept", "ability")}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPyro's own
@pytest.mark.parametrize("prior", [NORMAL, WeakPrior()], ids=["normal", "weak"])
def test_posteriors_are_those_of_a_sampler(prior):
    pytest.importorskip("numpyro")
    generator = np.random.default_rng([4, 100, 20])
    slopes = generator.lognormal(0, 0.3, 20)
    generator.random(20)
    difficulties = generator.normal(size=20)
    items = ItemParameters.from_difficulty(slopes, difficulties, 0.0)
    responses = simulate_responses(items, generator.normal(size=100), seed=4)
    posterior = fit(responses, method=Variational(tol=0.01), prior=prior).posterior
    assert posterior is not None
    ours, theirs = posterior.draws(4000), sampled(responses, prior)
    for name, part in theirs.items():
        sd = part.std(axis=0)
        # some hundreds of effective draws leave 0.05 SD of noise in a mean and 3 % in an SD
        off = np.abs(ours[name].mean(axis=0) - part.mean(axis=0)) / sd
        assert off.mean() < 0.15, name
        assert (ours[name].std(axis=0) / sd).mean() == pytest.approx(1, abs=0.05), name
        assert np.mean(np.abs(ours[name].std(axis=0) / sd - 1) < 0.15) > 0.9, name
