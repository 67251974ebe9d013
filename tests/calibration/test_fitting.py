"""Fits of simulated responses with known parameters, of real ones, and of awkward matrices."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from threadpoolctl import ThreadpoolController

from irtkit import (
    EM,
    ItemParameters,
    ResponseMatrix,
    Variational,
    add_synthetic,
    fit,
    read_responses,
    simulate_responses,
)
from irtkit.calibration.priors import WeakPrior
from irtkit.irf import MODELS
from tests.crowds import crowd, fitted, sample

MIRT_GRID = (61, 6.0)


def test_known_parameters_come_back():
    correlations, ranks = [], []
    for seed in range(2):  # 20 in benchmarks/coverage.py
        responses, items, _ = sample(2000, 40, spread=0.5, seed=seed)
        found = fit(responses, "2PL").items
        correlations.append(np.corrcoef(found["discrimination"], items.discrimination)[0, 1])
        ranks.append(spearmanr(found["difficulty"], items.difficulty).statistic)
    # slopes of SD 0.6 have standard errors of about 0.09: a correlation of 0.99 in theory
    assert np.mean(correlations) >= 0.98
    assert np.mean(ranks) >= 0.99


def test_negative_slopes_are_found_and_the_scale_is_never_turned_over():
    # of 50 data sets in benchmarks/coverage.py
    responses, items, abilities = sample(200, 1000, negative=0.07, seed=0)
    result = fit(responses, "2PL")
    below = result.items["discrimination"].to_numpy() < 0
    assert below[items.discrimination < 0].mean() >= 0.98
    assert below[items.discrimination > 0].mean() < 0.01
    assert np.corrcoef(result.ability, abilities)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("n_respondents", "n_items", "tolerance"),
    [(200, 1000, 0.1), pytest.param(100, 2000, 0.1, marks=pytest.mark.slow), (12, 2000, 0.25)],
)
def test_the_weak_prior_keeps_the_scale(n_respondents, n_items, tolerance):
    slopes, spreads = [], []
    for seed in range(3):  # 10 in benchmarks/coverage.py
        responses, items, _ = sample(n_respondents, n_items, negative=0.05, seed=seed)
        result = fit(responses, "2PL")
        found = np.median(np.abs(result.items["discrimination"]))
        slopes.append(found / np.median(np.abs(items.discrimination)))
        spreads.append(result.ability.std())
    assert np.mean(slopes) == pytest.approx(1.0, abs=tolerance)
    assert np.mean(spreads) == pytest.approx(1.0, abs=tolerance)


@pytest.mark.parametrize("model", ["1PL", "2PL"])
def test_synthetic_respondents_leave_the_scale_to_the_real_ones(model):
    responses, without = crowd("long").responses, fitted("long", model)
    kinds = ("always-right", "always-wrong", "coin")
    result = fit(add_synthetic(responses, kinds, draws=2), model)
    real = result.respondents[~result.respondents["synthetic"]]
    second_moment = (real["ability"] ** 2 + real["posterior_sd"] ** 2).mean()
    assert real["ability"].mean() == pytest.approx(0.0, abs=0.03)
    assert np.sqrt(second_moment) == pytest.approx(1.0, abs=0.03)
    assert result.items["average_error"].equals(without.items["average_error"])
    assert result.items["n_responses"].equals(without.items["n_responses"])
    assert result.n_parameters == without.n_parameters
    assert result.bic == pytest.approx(
        -2 * result.log_likelihood + result.n_parameters * np.log(40)
    )
    # the same rows, at items that the synthetic ones moved a little
    assert 0 <= without.log_likelihood - result.log_likelihood < 0.02 * abs(result.log_likelihood)


@pytest.mark.parametrize("prior", ["weak", None])
@pytest.mark.filterwarnings("ignore:Not converged")
@pytest.mark.filterwarnings("ignore:No finite estimate")
@pytest.mark.filterwarnings("ignore:No ability differences")
def test_always_right_is_ablest_even_beside_step_items_and_equal_totals(prior):
    steps = np.arange(200)[:, None] >= np.linspace(1, 198, 20).astype(int)
    for values in (steps.astype(int), np.eye(3, dtype=int)):
        together = add_synthetic(ResponseMatrix(values), ("always-right", "always-wrong"))
        for model in ("1PL", "Rasch"):
            result = fit(together, model, prior=prior)
            assert result.respondents["ability"].idxmax() == "always-right"
            assert result.respondents["ability"].idxmin() == "always-wrong"
            assert (result.items["discrimination"] > 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_rasch_and_one_parameter_models_agree_and_every_model_orders_easy_before_hard(model):
    result, items = fitted("wide-spread", model), crowd("wide-spread").items
    assert spearmanr(result.items["difficulty"], items.difficulty).statistic > 0.9
    if model == "Rasch":
        common = fitted("wide-spread", "1PL")
        assert result.log_likelihood == pytest.approx(common.log_likelihood, abs=1e-6)
        rescaled = common.items["difficulty"] * common.items["discrimination"]
        assert result.items["difficulty"].to_numpy() == pytest.approx(rescaled, abs=1e-6)
        assert result.latent_sd == pytest.approx(common.items["discrimination"].iloc[0], abs=1e-6)


def rasch_data(sd, n_items, n):
    generator = np.random.default_rng([n_items, n, int(10 * sd)])
    items = ItemParameters.from_difficulty(np.ones(n_items), generator.normal(0, 1.5, n_items))
    return simulate_responses(items, sd * generator.normal(size=n), seed=generator)


@pytest.mark.filterwarnings("ignore:No finite estimate")
@pytest.mark.parametrize(
    ("sd", "n_items", "n", "prior"),
    [(0.3, 5, 50, None), (3.0, 5, 2000, "weak"), (3.0, 100, 2000, None)],
)
@pytest.mark.filterwarnings("ignore:No ability differences")
def test_on_a_wide_grid_rasch_is_that_of_adaptive_nodes(sd, n_items, n, prior):
    responses = rasch_data(sd, n_items, n)
    wide, adaptive = (
        fit(responses, "Rasch", prior=prior, quadrature=grid) for grid in ((401, 30.0), "adaptive")
    )
    assert wide.converged
    moved = (wide.items["difficulty"] - adaptive.items["difficulty"]) / adaptive.items[
        "difficulty_se"
    ]
    assert moved.abs()[adaptive.items["status"] == "ok"].max() < 1e-3
    assert wide.latent_sd == pytest.approx(adaptive.latent_sd, rel=1e-3)
    assert wide.log_likelihood == pytest.approx(adaptive.log_likelihood, abs=1e-3)


@pytest.mark.parametrize(
    ("grid", "sd", "n_items"),
    [(MIRT_GRID, 1.0, 100), ((15, 6.0), 3.0, 5), (MIRT_GRID, 8.0, 20)],
)
def test_on_a_fixed_grid_rasch_has_the_variance_that_posteriors_have_around_0(grid, sd, n_items):
    result = fit(rasch_data(sd, n_items, 400), "Rasch", prior=None, quadrature=grid)
    people = result.respondents
    assert result.converged
    square = (people["ability"] ** 2 + people["posterior_sd"] ** 2).mean()
    assert result.latent_sd**2 == pytest.approx(square, rel=1e-4)


@pytest.mark.parametrize(("shape", "model", "synthetic"), [
    ((1000, 5), "2PL", False),
    ((12, 1500), "2PL", True),
    ((500, 50), "3PL", True),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:No ability differences")
def test_quadrature_is_exact_to_a_thousandth_per_respondent(shape, model, synthetic):
    responses, _, _ = sample(*shape, negative=0.07, seed=17)
    if synthetic:
        responses = add_synthetic(responses, ("always-right", "always-wrong"))
    result = fit(responses, model, standard_errors=False)
    spacing = np.diff(np.linspace(result.quadrature.lowest, result.quadrature.highest, 3))[0]
    narrowest = result.respondents["posterior_sd"].min()
    reach = 2 * spacing
    theta = np.linspace(-reach, reach, int(8 * reach / narrowest))  # a quarter of a posterior SD
    real = responses.values[~responses.synthetic]
    items = result.parameters
    log_prior = -0.5 * theta**2 - 0.5 * np.log(2 * np.pi) + np.log(theta[1] - theta[0])
    total = np.full(len(real), -np.inf)
    for some in np.array_split(np.arange(len(theta)), 1 + len(theta) * shape[1] // 2**22):
        p = np.clip(items.probability(theta[some]), 1e-300, 1 - 1e-16)
        joint = np.where(real == 1, 1.0, 0.0) @ (np.log(p) - np.log1p(-p)).T
        joint += np.log1p(-p).sum(axis=1) + log_prior[some]
        total = np.logaddexp(total, np.logaddexp.reduce(joint, axis=1))
    assert abs(result.log_likelihood - total.sum()) < 1e-3 * shape[0]
    assert result.quadrature.estimated_error < 1e-3 * shape[0]


@pytest.mark.parametrize(("sparse", "settings"), [
    (True, {}),
    (False, {"model": "3PL"}),
    (True, {"prior": "empirical"}),
    (False, {"model": "Rasch", "quadrature": (61, 6.0), "prior": None}),
])  # fmt: skip
def test_rows_and_columns_without_a_response_are_kept_and_change_nothing(settings, sparse):
    frame = sample(80, 12, seed=10)[0].to_frame().astype(float)
    frame.iloc[3:20, 4] = np.nan
    wider = frame.reindex(["x", *frame.index[:40], "y", *frame.index[40:]])
    wider.insert(5, "nobody's", np.nan)
    one, other = (ResponseMatrix.from_frame(table) for table in (frame, wider))
    if sparse:
        one, other = one.to_sparse(), other.to_sparse()
    alone, beside = fit(one, **settings), fit(other, **settings)
    assert beside.items["status"].iloc[5] == "no responses"
    numbers = ["average_error", "difficulty", "intercept_se"]
    assert beside.items[numbers].iloc[5].isna().all()
    unseen = beside.respondents.loc["x"]
    assert (unseen["n_responses"], unseen["ability"]) == (0, 0)
    assert unseen["posterior_sd"] == pytest.approx(beside.latent_sd, rel=1e-12)
    assert beside.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-12)
    assert alone.warnings == beside.warnings
    pd.testing.assert_frame_equal(beside.items.loc[frame.columns], alone.items, rtol=1e-9)
    rows = beside.respondents.loc[frame.index]
    pd.testing.assert_frame_equal(rows, alone.respondents, rtol=1e-9)
    board = beside.leaderboard()
    pd.testing.assert_frame_equal(board, alone.leaderboard().loc[board.index], rtol=1e-9)


def few_items(n):
    items = ItemParameters.from_difficulty(np.full(n, 1.5), np.linspace(-0.5, 0.5, n))
    return simulate_responses(items, np.random.default_rng(3).normal(size=2000), seed=1)


@pytest.mark.parametrize(("n", "model"), [(1, "1PL"), (2, "2PL"), (3, "3PL")])
def test_items_too_few_to_tell_their_parameters_apart_are_warned_of(n, model):
    with pytest.warns(UserWarning, match="Infinitely many estimates"):
        fit(few_items(n), model, prior=None)
    fit(few_items(n), model)  # which the prior tells
    assert fit(few_items(3), "2PL", prior=None).converged  # just enough


@pytest.mark.parametrize("quadrature", ["adaptive", MIRT_GRID])
@pytest.mark.filterwarnings("ignore:Not converged")
def test_perfectly_separable_items_are_called_unbounded(quadrature):
    steps = np.arange(30)[:, None] >= np.arange(3, 30, 4)
    with pytest.warns(UserWarning, match="No finite estimate"):
        result = fit(ResponseMatrix(steps.astype(int)), "2PL", prior=None, quadrature=quadrature)
    assert (result.items["status"] == "unbounded").all()
    assert np.isfinite(result.items["discrimination"]).all()


def test_a_likelihood_without_a_maximum_ends_soon_and_in_one_warning():
    responses, _, _ = sample(200, 1, seed=1)
    eight = ResponseMatrix(np.repeat(responses.values, 8, axis=1))
    with pytest.warns(UserWarning, match="of 8 of 8 items has its maximum at infinity") as caught:
        result = fit(eight, "1PL", prior=None, standard_errors=False)
    assert len(caught) == 1
    assert result.n_iterations < 200


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:.*one ability",
    "ignore:No standard errors",
    "ignore:.*chance",
    "ignore:Ability",
    "ignore:.*as if they guessed",
)
@pytest.mark.parametrize(("model", "synthetic"), [("2PL", False), ("1PL", True)])
def test_real_matrices_give_finite_estimates(shared_data, model, synthetic):
    described = sorted(shared_data.glob("*.meta.json"))
    assert described
    for path in described:
        responses = read_responses(path.with_name(path.name.replace(".meta.json", ".csv.gz")))
        if synthetic:
            responses = add_synthetic(responses, ("always-right", "always-wrong"))
        result = fit(responses, model)
        answered = result.items[result.items["n_responses"] > 0]
        finite = np.isfinite(answered[["discrimination", "difficulty", "intercept"]])
        assert finite.all(axis=None), path.name
        assert result.converged, path.name
        if model == "1PL":
            assert result.respondents["ability"].idxmax() == "always-right", path.name
            assert result.respondents["ability"].idxmin() == "always-wrong", path.name


def test_a_fixed_grid_that_is_too_coarse_shows_in_the_quadrature_error():
    responses, _, _ = sample(30, 1000, seed=15)
    assert fit(responses, "2PL", quadrature=(21, 6.0)).quadrature.estimated_error > 1
    assert fit(responses, "2PL").quadrature.estimated_error < 30 * 0.001


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (
        {"model": "4PL"},
        ValueError,
        "model must be one of Rasch, 1PL, 2PL, 3PL, GPCM, GRM, got '4PL'",
    ),
    ({"method": "mcmc"}, ValueError, "method must be 'em', 'vi', an irtkit.EM or"),
    ({"quadrature": (2, 6.0)}, ValueError, "quadrature"),
    ({"quadrature": "fine"}, ValueError, "quadrature"),
    ({"tolerance": 1e-9}, TypeError, "unexpected keyword argument 'tolerance'$"),
    ({"tol": 1e-9}, TypeError, r"argument 'tol'. Write method=irtkit.EM\(tol=…\)"),
    ({"batch": 9}, TypeError, r"Write method=irtkit.Variational\(batch=…\)"),
    ({"metrics": "seconds"}, TypeError, r"Write result.with_quality_standard\(metrics"),
    ({"seed": -1}, ValueError, "seed"),
    ({"responses": 0}, TypeError, "ResponseMatrix"),
    ({"model": "2PLM"}, ValueError, "did you mean '2PL'"),
    ({"model": "rash"}, ValueError, "did you mean 'Rasch'"),
    ({"rigth": 1}, TypeError, "keyword argument 'rigth', did you mean 'right'"),
    ({"modle": 1}, TypeError, "keyword argument 'modle', did you mean 'model'"),
    (lambda: EM(tol=0.0), ValueError, "tol must be above 0"),
    (lambda: Variational(max_iterations=0), ValueError, "max_iterations must be a whole"),
    (lambda: EM(mesh="cpu"), TypeError, r"mesh must be a jax\.sharding\.Mesh or None, got str"),
    (lambda: Variational(batch=0), ValueError, "batch must be a whole number"),
])  # fmt: skip
def test_wrong_arguments_are_refused_by_name(arguments, error, message):
    if not callable(arguments):
        arguments = partial(fit, **{"responses": [[1, 0], [0, 1]], **arguments})
    with pytest.raises(error, match=message):
        arguments()


def test_progress_is_silent_unless_asked_for(capsys):
    responses = crowd("small").responses
    assert fit(responses, "1PL").converged
    assert capsys.readouterr() == ("", "")
    fit(responses, "1PL", progress=True)
    assert "fitting 1PL" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:No ability differences")
def test_the_log_likelihood_of_repeated_trials_is_that_of_every_trial():
    generator = np.random.default_rng(6)
    trials = generator.integers(0, 4, (200, 6))
    successes = generator.binomial(trials, 0.3 + 0.1 * generator.random((200, 1)) * np.arange(6))
    result = fit(ResponseMatrix.from_counts(successes, trials), "2PL", quadrature=(41, 6.0))
    theta = np.linspace(-6, 6, 41)
    weights = np.exp(-0.5 * theta**2)
    p = result.parameters.probability(theta)
    joint = successes @ np.log(p).T + (trials - successes) @ np.log1p(-p).T
    expected = np.log(np.exp(joint) @ (weights / weights.sum())).sum()
    assert result.log_likelihood == pytest.approx(expected, abs=1e-8)


def test_where_nobody_guesses_the_3pl_finds_its_maximum_with_guessing_at_0():
    responses = sample(1500, 20, 0).responses
    plain = fit(responses, "2PL", prior=None, standard_errors=False)
    guessed = fit(responses, "3PL", prior=None, standard_errors=False)
    assert guessed.converged
    assert guessed.log_likelihood >= plain.log_likelihood - 1e-6
    # a maximum at the edge for about half of the items, and within reach of an ascent
    assert (guessed.items["guessing"] < 1e-9).sum() >= 4
    assert guessed.n_iterations < 250


@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL"])
@pytest.mark.filterwarnings("ignore:No finite estimate")
def test_without_a_prior_items_without_variance_cost_the_others_nothing(model):
    responses, _, _ = sample(300, 30, seed=12)
    sure = np.tile(np.array([1, 0] * 5, dtype=np.int8), (300, 1))
    both = ResponseMatrix(np.hstack([responses.values, sure]))
    alone, together = (fit(r, model, prior=None, standard_errors=False) for r in (responses, both))
    assert together.items["status"].tolist() == ["ok"] * 30 + ["unbounded"] * 10
    assert together.converged
    assert together.n_iterations <= 2 * alone.n_iterations
    assert together.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-4)
    found, expected = (r.items["intercept"].to_numpy()[:30] for r in (together, alone))
    assert found == pytest.approx(expected, abs=1e-3)


def test_products_have_one_thread_while_fitting_and_as_many_as_before_afterwards():
    libraries = ThreadpoolController().select(user_api="blas")
    seen = set()

    class Watching(WeakPrior):
        def at(self, *arguments, **options):
            seen.update(library["num_threads"] for library in libraries.info())
            return super().at(*arguments, **options)

    responses = [sample(200, 12, seed=seed)[0] for seed in range(6)]
    alone = [fit(part).log_likelihood for part in responses]
    with libraries.limit(limits=2), ThreadPoolExecutor(4) as pool:
        before = libraries.info()
        together = [result.log_likelihood for result in pool.map(fit, responses)]
        fit(responses[0], prior=Watching())
        assert libraries.info() == before
    assert together == alone
    assert seen == {1}
