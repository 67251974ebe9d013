"""What the ascent ends at: known posteriors, seeds, and when it stops."""

import numpy as np
import pytest
from scipy.stats import beta

from irtkit import (
    Beta,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    Variational,
    fit,
    simulate_responses,
)

PRIOR = ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta(5, 17))
PRIORS = [
    ("Rasch", "weak"),
    ("2PL", "weak"),
    ("3PL", "empirical"),
    ("1PL", PRIOR),
    ("2PL", ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0))),
]


def drawn(n, n_items, model="2PL", seed=1):
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.3, n_items)
    guessing = 0.2 if model == "3PL" else 0.0
    items = ItemParameters.from_difficulty(slopes, generator.normal(size=n_items), guessing)
    return simulate_responses(items, generator.normal(size=n), seed=seed)


@pytest.fixture(scope="module", params=PRIORS, ids=lambda pair: f"{pair[0]} {str(pair[1])[:22]}")
def fits(request):
    """The same fit from seeds 0, 0 and 1."""
    model, prior = request.param
    responses = drawn(400, 12, model)
    return responses, [
        fit(responses, model, method="vi", prior=prior, seed=seed) for seed in (0, 0, 1)
    ]


def test_the_same_seed_gives_the_same_bytes(fits, tmp_path):
    for k, result in enumerate(fits[1][:2]):
        result.save(tmp_path / str(k))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_another_seed_gives_nearly_the_same_numbers(fits):
    one, _, other = fits[1]
    assert (one.trace_rows[0] != other.trace_rows[0]).any()
    # means are known to tol = 0.03 posterior SDs each time, the worst of some dozen to 0.15
    names = ["discrimination", "intercept"]
    off = (one.items[names] - other.items[names]).to_numpy()
    errors = one.items[[f"{name}_se" for name in names]].to_numpy()
    with np.errstate(invalid="ignore"):
        ratio = np.where(off == 0, 0.0, off / errors)  # Rasch has slopes of 1 without an error
    # with guessing steps are far from independent: measured, the error of a mean is 0.05
    assert np.sqrt(np.nanmean(ratio**2)) < (0.12 if one.model == "3PL" else 0.07)
    assert np.abs(np.nan_to_num(ratio)).max() < (0.35 if one.model == "3PL" else 0.25)
    assert one.ability == pytest.approx(other.ability, abs=0.05)
    assert one.elbo == pytest.approx(other.elbo, abs=5.0)


def test_the_trace_tells_every_step(fits):
    result = fits[1][0]
    trace = result.trace
    assert result.converged
    assert result.n_iterations < 20
    assert list(trace["step"]) == list(range(1, result.n_iterations + 1))
    assert np.isfinite(trace).all(axis=None)
    # expectations under a guide lie below the maximum, and a bound below what it bounds
    assert (trace["elbo"] < trace["log_likelihood"]).all()
    assert result.elbo is not None
    assert result.elbo < result.log_likelihood


def test_what_nobody_answered_keeps_its_prior():
    values = drawn(100, 8).values.copy()
    values[:, 3], values[5] = -1, -1
    result = fit(ResponseMatrix(values), "3PL", method="vi", prior=PRIOR)
    unseen = result.items.iloc[3]
    c = beta(5, 17)
    expected = {
        "discrimination": 1.0,
        "discrimination_se": 0.5,
        "intercept": 0.0,
        "intercept_se": 2.0,
        "guessing": c.mean(),
        "guessing_se": c.std(),
    }
    # the logit of guessing is normal in the guide, while its logit-beta is a little lopsided
    for name, value in expected.items():
        assert unseen[name] == pytest.approx(value, abs=0.02 if "guess" in name else 0.06), name
    posterior = result.posterior
    assert posterior is not None
    assert posterior.abilities.population_mean[5] == pytest.approx(0, abs=1e-6)
    assert posterior.abilities.given_items[5] == pytest.approx(1, abs=1e-4)
    assert posterior.draws(4000)["ability"][:, 5].std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_with_many_respondents_posteriors_are_normal_around_the_maximum(model):
    # Bernstein and von Mises: mean and SD are the estimate and its standard error, but for terms
    # of the order of one over the square root of the respondents, in standard errors
    n_items = 10
    responses = drawn(6000, n_items)
    em, vi = (fit(responses, model, method=method) for method in ("em", "vi"))
    for name in ("discrimination", "intercept"):
        errors = em.items[f"{name}_se"]
        off = (vi.items[name] - em.items[name]) / errors
        assert off.to_numpy() == pytest.approx(0, abs=0.2)
        # what the guide leaves out of the uncertainty of abilities: of the order of one over the
        # items, and about that for a common slope
        ratio = (vi.items[f"{name}_se"] / errors).to_numpy()
        assert ratio == pytest.approx(1, abs=1.2 / n_items if model == "1PL" else 0.06)
    assert vi.ability == pytest.approx(em.ability, abs=0.05)
    assert vi.log_likelihood == pytest.approx(em.log_likelihood, abs=1.0)


def test_a_fit_that_runs_out_of_steps_says_so():
    with pytest.warns(UserWarning, match="settled after 1 step.* Pass .*max_iterations=2"):
        result = fit(drawn(100, 10), method=Variational(max_iterations=1))
    assert not result.converged
    assert result.n_iterations == 1
    assert np.isfinite(result.items["discrimination_se"]).all()
