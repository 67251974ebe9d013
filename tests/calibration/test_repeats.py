"""Repeated trials of a cell: what they count for when they agree more than the model explains."""

import re
import warnings

import numpy as np
import pytest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, fit
from irtkit.data.patterns import patterns_of

SAYS = "Correlated trials: "
N_TRIALS = 5


def drawn(correlation, trials=N_TRIALS, *, n=100, n_items=30, seed=0):
    """Trials of cells whose probabilities vary around those of a 2PL as a beta distribution."""
    generator = np.random.default_rng([seed, n, n_items])
    slope = generator.lognormal(0, 0.3, n_items)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    p = items.probability(generator.normal(size=n))
    if 0 < correlation < 1:
        size = (1 - correlation) / correlation
        p = generator.beta(p * size, (1 - p) * size)
    tried = generator.choice(np.atleast_1d(trials), p.shape)
    right = generator.binomial(tried, p)
    if correlation == 1:
        right = tried * (generator.random(p.shape) < p)
    return ResponseMatrix.from_counts(right, tried)


def one_run(responses):
    values = np.where(responses.trials > 0, (responses.successes > 0).astype(int), -1)
    return ResponseMatrix(values, responses.respondents, responses.items)


@pytest.mark.parametrize(("model", "method", "trials"), [
    ("2PL", "em", [0, 1, 2, 7]),
    ("Rasch", "em", N_TRIALS),
    ("3PL", "em", [0, 1, 2, 7]),
    ("2PL", "vi", N_TRIALS),
])  # fmt: skip
def test_identical_runs_are_one_run(model, method, trials):
    runs = drawn(1.0, trials)
    with pytest.warns(UserWarning, match=SAYS):
        several = fit(runs, model, method=method)
    one = fit(one_run(runs), model, method=method)
    assert several.settings.trial_correlation == 1
    # searches with and without repeated cells end apart by what their tolerance allows
    np.testing.assert_allclose(several.ability_se, one.ability_se, rtol=1e-3)
    np.testing.assert_allclose(several.ability, one.ability, atol=2e-3)
    assert several.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-2)
    if trials == N_TRIALS:  # of unequal numbers the sign test knows less than one run tells
        p_negative = several.items["p_negative"].to_numpy(), one.items["p_negative"].to_numpy()
        np.testing.assert_allclose(*p_negative, atol=0.02)


@pytest.mark.parametrize("trials", [N_TRIALS, [0, 1, 2, 7]])
def test_independent_trials_count_as_many(trials):
    n_counted = 0
    for seed in range(20):
        responses = drawn(0.0, trials, seed=seed)
        result = fit(responses, standard_errors=False)  # a warning would be an error
        n_counted += bool(result.settings.trial_correlation)
        if not result.settings.trial_correlation:
            plain = fit(responses.with_trial_correlation(0.0), standard_errors=False)
            assert np.array_equal(result.ability_se, plain.ability_se)
    assert n_counted <= 1  # tested at 1 %: two of twenty are had once in 60 times


@pytest.mark.parametrize("trials", [2, [0, 1, 2, 7], 50])
def test_a_correlation_is_found_and_errors_are_wider(trials):
    responses = drawn(0.3, trials)
    with pytest.warns(UserWarning, match=SAYS):
        result = fit(responses)
    found = result.settings.trial_correlation
    # of 3,000 cells; with two trials the standard error is 0.017
    assert found == pytest.approx(0.3, abs=0.06)
    plain = fit(responses.with_trial_correlation(0.0))
    wider = (result.posterior_sd / plain.posterior_sd).mean()
    typical = float(responses.trials[responses.trials > 1].mean())
    assert wider == pytest.approx((1 + (typical - 1) * 0.3) ** 0.5, rel=0.2)
    errors = result.items["discrimination_se"] / plain.items["discrimination_se"]
    assert errors.median() > 1.05


def test_sparse_and_dense_trials_are_counted_alike():
    responses = drawn(0.3, [0, 1, 4], n=60)
    with pytest.warns(UserWarning, match=SAYS):
        dense, sparse = fit(responses), fit(responses.to_sparse())
    assert sparse.settings.trial_correlation == pytest.approx(
        dense.settings.trial_correlation, rel=1e-3
    )
    np.testing.assert_allclose(sparse.ability_se, dense.ability_se, rtol=1e-3)


def test_the_warning_says_what_trials_count_for_and_a_given_number_is_taken(tmp_path):
    responses = drawn(1.0)
    with pytest.warns(UserWarning, match=r"5 trials .* carry the information of 1\.0"):
        fit(responses)
    fit(responses.with_trial_correlation(0.5)).save(tmp_path / "fit.npz")
    given = irtkit.load(tmp_path / "fit.npz")
    assert given.settings.trial_correlation == 0.5
    assert "repeated trials correlate by 0.5" in " ".join(str(given).split())
    single = fit(one_run(responses).with_trial_correlation(0.5))
    assert single.settings.trial_correlation is None
    with pytest.warns(UserWarning, match=re.escape("5 trials (the median) carry")):
        fit(drawn(0.5, [4, 5, 5, 6]))


def test_models_are_compared_where_they_count_trials_alike():
    responses = drawn(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        larger = fit(responses, "2PL", prior=None)
    rho = larger.settings.trial_correlation
    other = fit(responses.with_trial_correlation(0.0), "1PL", prior=None)
    with pytest.raises(ValueError, match="with the same trial_correlation"):
        irtkit.likelihood_ratio_test(other, larger)
    smaller = fit(responses.with_trial_correlation(rho), "1PL", prior=None)
    assert irtkit.likelihood_ratio_test(smaller, larger).statistic > 0


@pytest.mark.parametrize("sparse", [False, True])
def test_trials_of_a_cell_count_by_the_design_effect(*, sparse):
    responses = ResponseMatrix.from_counts([[3, 0, 1], [0, 2, 0]], [[5, 1, 1], [0, 2, 3]])
    whole = patterns_of(responses.to_sparse() if sparse else responses, synthetic_is_real=False)
    weighed = whole.with_trial_correlation(0.5)
    tables = (weighed.cells, weighed.trials)
    right, trials = (table.toarray() if sparse else table for table in tables)
    np.testing.assert_allclose(trials, [[5 / 3, 1, 1], [0, 2 / 1.5, 1.5]], rtol=1e-6)
    np.testing.assert_allclose(right, [[1, 0, 1], [0, 2 / 1.5, 0]], rtol=1e-6)
    assert whole.with_trial_correlation(0.0) is whole
