"""Items with guessing: their densities, the distribution made of these, and draws from it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, expit, logit

from irtkit import (
    Beta,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    Variational,
    WeakPrior,
    fit,
    simulate_responses,
)
from irtkit.irf import Items

PRIOR = ItemPrior(Normal(1.0, 0.4), Normal(0.0, 1.5), Beta(5.0, 17.0))
NAMES = ("discrimination", "intercept", "guessing")


def drawn(n, n_items, seed, missing=0.0, *, of_prior=False):
    """Responses to items with log-normal slopes, or with those of the prior, and the items."""
    generator = np.random.default_rng([seed, n, n_items])
    slope = generator.lognormal(0, 0.4, n_items)
    if of_prior:
        slope = generator.normal(1.0, 0.4, n_items)
    intercept = generator.normal(0, 1.5, n_items)
    guessing = generator.beta(5, 17, n_items)
    items = ItemParameters(slope, intercept, guessing)
    responses = simulate_responses(items, generator.normal(size=n), missing=missing, seed=generator)
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
    result = fit(ResponseMatrix(values), "3PL", method="vi", prior=PRIOR)
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
        responses, items = drawn(1000, 30, seed, of_prior=True)
        posterior = fit(responses, "3PL", method="vi", prior=PRIOR).posterior
        assert posterior is not None
        ends = posterior.item_intervals(0.9)
        for name, truth in zip(NAMES, (*items[:2], expit(items.logit_guessing)), strict=True):
            held.append(np.mean((ends[f"{name}_low"] < truth) & (truth < ends[f"{name}_high"])))
    assert np.mean(held) == pytest.approx(0.9, abs=0.045)


def test_batches_bend_items_as_all_respondents_do():
    responses, _ = drawn(1200, 15, 3)
    whole = fit(responses, "3PL", method="vi")
    batches = fit(responses, "3PL", method=Variational(batch=300))
    for name in NAMES:
        errors = whole.items[f"{name}_se"]
        off = ((batches.items[name] - whole.items[name]) / errors).to_numpy()
        assert np.sqrt(np.mean(off**2)) < 0.2
        assert (batches.items[f"{name}_se"] / errors).mean() == pytest.approx(1, abs=0.05)


def test_chance_level_is_that_of_items_that_differ_in_guessing():
    # Beta(5, 17) has its mode at 0.2. One guessing for all items is likeliest at 0.155
    responses, _ = drawn(600, 40, 3)
    learned = fit(responses, "3PL", method="vi").settings.prior["chance"]
    assert learned == pytest.approx(0.2, abs=0.03)


def test_given_chance_level_is_kept():
    responses, _ = drawn(200, 10, 1)
    options = responses.with_tables(pd.DataFrame({"n_options": 4}, index=responses.items))
    for data, prior, chance in ((responses, WeakPrior(chance=0.3), 0.3), (options, "weak", 0.25)):
        assert fit(data, "3PL", method="vi", prior=prior).settings.prior["chance"] == chance
