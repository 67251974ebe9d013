"""Fits of scores and of repeated trials, and what they count for."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ItemParameters, ResponseMatrix, fit
from irtkit.data.patterns import SCORE_TRIALS

# Fits of scores between 0 and 1, and what follows from them
DATA = Path(__file__).parents[3] / "shared" / "data"
BOARD = DATA / "eci_scores_long.csv.gz"
PUBLISHED = DATA / "eci_published.csv.gz"


def probabilities(n=100, n_items=50, seed=0):
    """Probabilities of a 2PL, and the abilities and slopes they are of."""
    generator = np.random.default_rng([seed, n, n_items])
    ability, slope = generator.normal(size=n), generator.lognormal(0, 0.4, n_items)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_items))
    return items.probability(ability), ability, slope


def beta(p, trials, seed=1):
    """Scores that vary as shares of so many trials."""
    size = trials - 1
    return np.random.default_rng(seed).beta(size * p, size * (1 - p))


def worth(result):
    return float(result.patterns.score_worth(result.settings.trial_correlation).max())


@pytest.fixture(scope="module")
def scored():
    scores = beta(probabilities(60, 20)[0], 8)
    scores[::3, ::4] = np.nan
    scores[:, -1] = 1 - scores[:, -1]
    return fit(scores)


@pytest.mark.parametrize(("draw", "low", "high"), [
    (lambda p, g: g.binomial(16, p) / 16, 15, 17),
    (lambda p, g: g.binomial(16, g.beta(4 * p, 4 * (1 - p))) / 16, 3.8, 4.2),
    (lambda p, _: beta(p, 8), 7.5, 8.5),
    (lambda p, _: p, 1e3, SCORE_TRIALS),
])  # fmt: skip
def test_a_score_counts_for_the_trials_that_it_varies_as(draw, low, high):
    p, ability, _ = probabilities()
    with warnings.catch_warnings(action="ignore"):  # of scores without noise
        result = fit(draw(p, np.random.default_rng(2)))
    assert low < worth(result) <= high
    assert result.converged
    assert np.corrcoef(result.ability, ability)[0, 1] > 0.98
    held = np.abs(result.ability - ability) < 1.96 * result.ability_se
    assert held.mean() > 0.85


def test_marks_count_once_each_beside_scores():
    p = probabilities()[0]
    generator = np.random.default_rng(3)
    marks = (generator.random(p.shape) < p).astype(float)
    result = fit(marks)
    assert result.settings.trial_correlation is None
    assert result.dispersion is None
    assert "dispersion" not in result.items
    half = np.where(np.arange(50) < 25, beta(p, 12), marks)
    mixed = fit(half)
    assert 9 < worth(mixed) < 16
    assert np.isnan(mixed.dispersion).tolist() == [False] * 25 + [True] * 25
    weights = mixed.patterns.with_trial_correlation(1 / 12).trials
    np.testing.assert_allclose(weights[:, :25], 12, rtol=2e-3)
    assert (weights[:, 25:] == 1).all()
    errors = mixed.items["intercept_se"]
    assert errors[:25].mean() < 0.7 * errors[25:].mean()


def test_items_that_vary_more_have_larger_errors():
    p = probabilities(150, 30)[0]
    trials = np.where(np.arange(30) < 15, 4.0, 40.0)
    found = []
    for seed in range(6):
        result = fit(beta(p, trials, seed))
        ratio = np.median(result.dispersion[:15]) / np.median(result.dispersion[15:])
        found.append(ratio)
        noisy, clean = (
            result.items["intercept_se"][part].mean() for part in (slice(0, 15), slice(15, 30))
        )
        assert noisy > 1.3 * clean
    assert 4 < np.mean(found) < 20


def edge_cases():
    """Matrices at which estimates may fail."""
    p = probabilities(40, 12)[0]
    scores = beta(p, 8)
    cases = {"no noise": p, "few": scores[:4, :3], "all the same": np.full((10, 6), 0.5)}
    cases["sparse"] = np.where(np.random.default_rng(0).random(p.shape) < 0.9, np.nan, scores)
    cases["one score"] = (scores > 0.5).astype(float)
    cases["one score"][0, 0] = 0.5
    columns = {"exact": p[:, 0], "half": 0.5, "right": 1.0, "copy": scores[:, 1]}
    columns["reversed"] = 1 - scores[:, 0]
    for name, column in columns.items():
        cases[name] = scores.copy()
        cases[name][:, 0] = column
    cases["two cells"] = scores.copy()
    cases["two cells"][2:, 0] = np.nan
    return cases


@pytest.mark.parametrize("name", edge_cases())
def test_estimates_and_errors_are_finite_at_the_edges(name):
    scores = edge_cases()[name]
    with warnings.catch_warnings(action="ignore"):
        result = fit(scores)
    assert result.converged
    some = ~np.isnan(scores).all(axis=0)
    kept = result.items.loc[some, ["discrimination", "discrimination_se", "intercept_se"]]
    assert np.isfinite(kept).all(axis=None)
    assert (kept["intercept_se"] > 0).all()
    errors = result.respondents[["ability", "ability_se", "board_se", "posterior_sd"]]
    assert np.isfinite(errors).all(axis=None)
    assert (errors["ability_se"] > 0.05).all()


@pytest.mark.parametrize(("model", "method"), [
    ("1PL", "em"), ("Rasch", "em"), ("3PL", "em"), ("2PL", "vi"),
])  # fmt: skip
def test_every_model_takes_scores(model, method, scored):
    responses = scored.responses
    result = fit(responses, model, method=method)
    assert np.isfinite(result.ability_se).all()
    assert 3 < worth(result) < 12
    assert np.corrcoef(result.ability, scored.ability)[0, 1] > 0.9
    sparse = fit(responses.to_sparse(), model, method=method, standard_errors=False)
    np.testing.assert_allclose(sparse.ability, result.ability, atol=1e-6)


def test_a_result_of_scores_is_saved_and_says_what_a_score_counts_for(scored, tmp_path):
    scored.save(tmp_path / "result.npz")
    again = irtkit.load(tmp_path / "result.npz")
    assert again.responses == scored.responses
    pd.testing.assert_frame_equal(again.items, scored.items)
    pd.testing.assert_frame_equal(again.respondents, scored.respondents)
    text = " ".join(str(scored).split())
    assert f"A score has the weight of {worth(scored):.3g} right or wrong answers" in text


def test_new_scores_count_as_those_of_the_calibration(scored):
    responses = scored.responses
    with warnings.catch_warnings(action="ignore"):
        for method in ("ML", "MAP", "WLE"):
            table = irtkit.score(responses, scored, method)
            np.testing.assert_allclose(table["ability"], scored.ability, atol=0.5)
        table = irtkit.score(responses, scored)
    np.testing.assert_allclose(table["ability"], scored.ability, atol=1e-4)
    ratio = table["ability_se"] / scored.posterior_sd
    assert 0.7 < ratio.min() < ratio.max() < 1.5
    # all of these are 0 or 1, and are scores nevertheless
    extreme = ResponseMatrix([[1, 0] * 10], ["new"], responses.items)
    with warnings.catch_warnings(action="ignore"):
        found = irtkit.score(extreme, scored)["ability_se"]
        one_each = irtkit.score(extreme, scored.items)["ability_se"]
    assert (found < 0.6 * one_each).all()


def test_what_follows_from_a_fit_takes_scores(scored):
    responses = scored.responses
    accuracy = np.nanmean(responses.scores, axis=1)
    np.testing.assert_allclose(scored.respondents["accuracy"], accuracy, rtol=1e-6)
    first, second = scored.leaderboard().index[:2]
    complete = responses.part(np.arange(60), np.flatnonzero(responses.trials.all(axis=0)))
    compared = irtkit.compare_systems(fit(complete), first, second)
    rows = [complete.respondents.index(name) for name in (first, second)]
    wanted = complete.scores[rows[0]].mean() - complete.scores[rows[1]].mean()
    assert compared.difference == pytest.approx(wanted, abs=1e-6)
    differences = complete.scores[rows[0]] - complete.scores[rows[1]]
    assert compared.se == pytest.approx(differences.std(ddof=1) / len(differences) ** 0.5, rel=0.05)
    gate = irtkit.gate(complete.part(rows[:1]), complete.part(rows[1:]), max_drop=0.9)
    assert gate.verdict == "passed"
    audit = irtkit.audit(scored)
    assert audit.suspects.index.tolist() == ["item-20"]
    assert audit.suspects["reasons"].iloc[0] == ("negative",)
    with warnings.catch_warnings(action="ignore"):
        keys = irtkit.wrong_keys(scored)
    assert keys["p_wrong_key"].isna().all()
    assert any(one.code == "scores-without-keys" for one in audit.findings)
    assert irtkit.compare_difficulties(scored).table["average_error"].between(0, 1).all()
    assert not len(scored.health().near_duplicates)


@pytest.mark.skipif(not BOARD.exists(), reason="the board is not here")
def test_a_published_index_is_obtained_again():
    with warnings.catch_warnings(action="ignore"):
        result = fit(str(BOARD), item="benchmark")
    index = pd.read_csv(PUBLISHED).set_index("Model")["eci"].reindex(result.respondent_labels)
    ability = result.respondents["ability"]
    assert ability.corr(index, method="spearman") >= 0.999
    assert ability.corr(index, method="kendall") >= 0.984
    scores = result.responses.scores
    out = (np.random.default_rng(0).random(scores.shape) < 0.1) & ~np.isnan(scores)
    training = np.where(out, np.nan, scores)
    found = []
    for matrix in (
        ResponseMatrix(training),
        ResponseMatrix.from_counts(np.rint(100 * training), np.where(np.isnan(training), 0, 100)),
    ):
        with warnings.catch_warnings(action="ignore"):
            one = fit(matrix, standard_errors=False)
        found.append(np.sqrt(np.mean((one.probability() - scores)[out] ** 2)))
    assert found[0] <= found[1] + 0.0005


# Repeated trials of a cell: what they count for when they agree more than the model explains
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


def test_the_warning_says_what_trials_count_for_and_a_given_number_is_taken(tmp_path):
    responses = drawn(1.0)
    with pytest.warns(UserWarning, match=r"5 trials .* carry the information of 1\.0"):
        fit(responses)
    fit(responses.with_trial_correlation(0.5)).save(tmp_path / "fit.npz")
    given = irtkit.load(tmp_path / "fit.npz")
    assert given.settings.trial_correlation == 0.5
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
