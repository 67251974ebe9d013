"""What the ascent ends at: known posteriors, guessing, batches, seeds, and when it stops."""

import numpy as np
import pytest
from scipy.special import betaln, expit, logit
from scipy.stats import beta

import irtkit
from irtkit.irf import Items

# What the ascent ends at: known posteriors, seeds, and when it stops
PRIOR = irtkit.ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0), irtkit.Beta(5, 17))
PRIORS = [
    ("Rasch", "weak"),
    ("2PL", "weak"),
    ("3PL", "empirical"),
    ("1PL", PRIOR),
    ("2PL", irtkit.ItemPrior(irtkit.Normal(1.0, 0.5), irtkit.Normal(0.0, 2.0))),
]


def drawn(n, n_items, model="2PL", seed=1):
    generator = np.random.default_rng(seed)
    slopes = generator.lognormal(0, 0.3, n_items)
    guessing = 0.2 if model == "3PL" else 0.0
    items = irtkit.ItemParameters.from_difficulty(slopes, generator.normal(size=n_items), guessing)
    return irtkit.simulate_responses(items, generator.normal(size=n), seed=seed)


@pytest.fixture(scope="module", params=PRIORS, ids=lambda pair: f"{pair[0]} {str(pair[1])[:22]}")
def fits(request):
    """The same fit from seeds 0, 0 and 1."""
    model, prior = request.param
    responses = drawn(400, 12, model)
    return responses, [
        irtkit.fit(responses, model, method="vi", prior=prior, seed=seed) for seed in (0, 0, 1)
    ]


def test_the_same_seed_gives_the_same_bytes(fits, tmp_path):
    for k, result in enumerate(fits[1][:2]):
        result.save(tmp_path / str(k))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_what_nobody_answered_keeps_its_prior():
    values = drawn(100, 8).values.copy()
    values[:, 3], values[5] = -1, -1
    result = irtkit.fit(irtkit.ResponseMatrix(values), "3PL", method="vi", prior=PRIOR)
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
    em, vi = (irtkit.fit(responses, model, method=method) for method in ("em", "vi"))
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
        result = irtkit.fit(drawn(100, 10), method=irtkit.Variational(max_iterations=1))
    assert not result.converged
    assert result.n_iterations == 1
    assert np.isfinite(result.items["discrimination_se"]).all()


# Items with guessing: their densities, the distribution made of these, and draws from it
TRIPLE_PRIOR = irtkit.ItemPrior(
    irtkit.Normal(1.0, 0.4), irtkit.Normal(0.0, 1.5), irtkit.Beta(5.0, 17.0)
)
NAMES = ("discrimination", "intercept", "guessing")


def bent_items(n, n_items, seed, missing=0.0, *, of_prior=False):
    """Responses to items with log-normal slopes, or with those of the prior, and the items."""
    generator = np.random.default_rng([seed, n, n_items])
    slope = generator.lognormal(0, 0.4, n_items)
    if of_prior:
        slope = generator.normal(1.0, 0.4, n_items)
    intercept = generator.normal(0, 1.5, n_items)
    guessing = generator.beta(5, 17, n_items)
    items = irtkit.ItemParameters(slope, intercept, guessing)
    responses = irtkit.simulate_responses(
        items, generator.normal(size=n), missing=missing, seed=generator
    )
    return responses, Items(slope, intercept, logit(guessing))


def one_item_exactly(share_right, n):
    """Means and SDs of one item, of which responses tell P(right) and no more; log evidence."""
    a, d, c = np.linspace(-0.8, 2.8, 61), np.linspace(-6, 6, 81), np.linspace(-4, 1, 81)
    theta = np.linspace(-6, 6, 61)
    weights = np.exp(-0.5 * theta**2) / np.exp(-0.5 * theta**2).sum()
    slope, intercept = np.meshgrid(a, d, indexing="ij")
    known = expit(slope[..., None] * theta + intercept[..., None]) @ weights
    guessing = expit(c)
    right = guessing + (1 - guessing) * known[..., None]
    log_prior = -0.5 * ((slope - 1) / 0.4) ** 2 - 0.5 * (intercept / 1.5) ** 2
    of_guessing = 5 * np.log(guessing) + 17 * np.log1p(-guessing)  # as one of the logit
    k = share_right * n
    value = log_prior[..., None] + of_guessing + k * np.log(right) + (n - k) * np.log1p(-right)
    weight = np.exp(value - value.max())
    constants = np.log(0.4 * 1.5 * 2 * np.pi) + betaln(5, 17)  # what densities are divided by
    evidence = value.max() + np.log(weight.sum() * (a[1] - a[0]) * (d[1] - d[0]) * (c[1] - c[0]))
    weight /= weight.sum()
    found = {}
    for name, x in zip(NAMES, (slope[..., None], intercept[..., None], guessing), strict=True):
        mean = float((weight * x).sum())
        found[name] = mean, float(np.sqrt((weight * (x - mean) ** 2).sum()))
    return found, float(evidence - constants)


@pytest.mark.parametrize("share_right", [0.3, 0.8])
def test_one_item_has_its_exact_posterior(share_right):
    n = 400
    values = (np.arange(n) < share_right * n).astype(np.int8)[:, None]
    result = irtkit.fit(irtkit.ResponseMatrix(values), "3PL", method="vi", prior=TRIPLE_PRIOR)
    moments, evidence = one_item_exactly(share_right, n)
    # a normal distribution is as far below as the ridge is bent
    assert result.elbo is not None
    assert evidence - 1.0 < result.elbo < evidence + 0.1
    for name, (mean, sd) in moments.items():
        # a normal guide has SDs that are off by up to 40 %
        assert result.items[name].iloc[0] == pytest.approx(mean, abs=0.1 * sd), name
        assert result.items[f"{name}_se"].iloc[0] == pytest.approx(sd, rel=0.1), name


@pytest.mark.slow
def test_intervals_of_items_with_guessing_hold_what_they_say():
    # from the prior, so that 90 % intervals hold 90 % exactly; 10 sets of 30 items and 3
    # parameters, worth at least 300 independent intervals: a standard error of 1.7 %. Of a normal
    # guide they held 80 %
    held = []
    for seed in range(10):
        responses, items = bent_items(1000, 30, seed, of_prior=True)
        posterior = irtkit.fit(responses, "3PL", method="vi", prior=TRIPLE_PRIOR).posterior
        assert posterior is not None
        ends = posterior.item_intervals(0.9)
        for name, truth in zip(NAMES, (*items[:2], expit(items.logit_guessing)), strict=True):
            held.append(np.mean((ends[f"{name}_low"] < truth) & (truth < ends[f"{name}_high"])))
    assert np.mean(held) == pytest.approx(0.9, abs=0.045)


def test_chance_level_is_that_of_items_that_differ_in_guessing():
    # Beta(5, 17) has its mode at 0.2. One guessing for all items is likeliest at 0.155
    responses, _ = bent_items(600, 40, 3)
    learned = irtkit.fit(responses, "3PL", method="vi").settings.prior["chance"]
    assert learned == pytest.approx(0.2, abs=0.03)


# Batches of respondents, which together are everybody
N, SIZE = 60, 15


def crowd_of(kind="complete", n=N, n_items=8):
    generator = np.random.default_rng(1)
    items = irtkit.ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, n_items), generator.normal(size=n_items)
    )
    missing = 0.3 if kind == "missing" else 0.0
    trials = 3 if kind == "repeated" else 1
    n_real = n - 2 if kind == "synthetic" else n
    responses = irtkit.simulate_responses(
        items, generator.normal(size=n_real), missing=missing, trials=trials, seed=2
    )
    return irtkit.add_synthetic(responses) if kind == "synthetic" else responses


@pytest.fixture(scope="module")
def many():
    return crowd_of(n=600, n_items=12)


@pytest.fixture(scope="module")
def whole(many):
    return irtkit.fit(many, method="vi")


@pytest.mark.parametrize("size", [130, 600])
def test_fits_by_batches_are_the_whole_fit(many, whole, size):
    result = irtkit.fit(many, method=irtkit.Variational(batch=size))
    names = ["discrimination", "intercept"]
    off = result.items[names].to_numpy() - whole.items[names].to_numpy()
    errors = whole.items[["discrimination_se", "intercept_se"]].to_numpy()
    assert np.sqrt(np.mean((off / errors) ** 2)) < 0.02
    found = result.items[["discrimination_se", "intercept_se"]].to_numpy()
    assert found == pytest.approx(errors, rel=0.04)
    assert result.ability == pytest.approx(whole.ability, abs=0.01)
    assert result.log_likelihood == pytest.approx(whole.log_likelihood, abs=0.1)
    assert result.settings.batch == size
