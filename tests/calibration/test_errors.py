"""Claims about errors of abilities, and about clustered errors."""

import numpy as np
import pytest
from scipy.special import expit, logit

import irtkit
from irtkit import ResponseMatrix, fit, load
from irtkit.fitting import silently
from tests.crowds import drawn, fitted, sample


def posterior_means(x, responses, model):
    """Posterior means with slopes, intercepts, logits of guessing, or (Rasch) log SD last."""
    n_items, theta = responses.n_items, np.linspace(-12, 12, 1201)
    guessing = expit(x[2 * n_items :]) if model == "3PL" else 0.0
    sd = np.exp(x[-1]) if model == "Rasch" else 1.0
    curves = expit(np.outer(theta, x[:n_items]) + x[n_items : 2 * n_items])
    p = guessing + (1 - guessing) * curves
    right, wrong = 1.0 * (responses.values == 1), 1.0 * (responses.values == 0)
    joint = right @ np.log(p).T + wrong @ np.log1p(-p).T - theta**2 / (2 * sd**2)
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(weights @ theta / weights.sum(axis=1))


@pytest.mark.parametrize("model", ["Rasch", "1PL", "2PL", "3PL"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_errors_of_abilities_have_the_derivative_of_posterior_means_by_the_items(model, missing):
    how = {"guessing": 0.2 * (model == "3PL"), "spread": 0.3 * (model in {"2PL", "3PL"})}
    responses = sample(80, 12, 3, missing=missing, **how).responses
    result = fit(responses, model)
    of, joint = result.parameters, result.item_covariance
    assert joint is not None
    parts, n, k = [of.discrimination, of.intercept], responses.n_items, joint.alone.shape[1]
    parts += [logit(of.guessing)] * (model == "3PL")
    parts += [np.log([result.latent_sd])] * (model == "Rasch")
    x = np.concatenate(parts)
    moves = [*joint.moves.swapaxes(0, 1), *([joint.population[1:]] * (model == "Rasch"))]
    along = np.concatenate(moves)
    covariance = along @ joint.core @ along.T
    covariance[: k * n, : k * n] += np.block([[np.diag(b) for b in a] for a in joint.alone.T])
    step = 1e-4 * np.eye(len(x))
    after, before = (
        [posterior_means(x + sign * one, responses, model) for one in step] for sign in (1, -1)
    )
    g = (np.array(after) - before).T / 2e-4
    variance = result.posterior_sd**2
    expected = np.sqrt(variance + np.einsum("ik,kl,il->i", g, covariance, g))
    # posteriors are taken as normal: of 12 items their skewness moves errors by a few thousandths
    assert result.ability_se == pytest.approx(expected, rel=0.01)
    assert (expected / result.posterior_sd).max() > 1.02
    board = np.stack([np.ones_like(variance), result.ability], axis=1)
    weighted = board / variance[:, None]
    g -= board @ np.linalg.solve(weighted.T @ board, weighted.T @ g)
    expected = np.sqrt(variance + np.einsum("ik,kl,il->i", g, covariance, g))
    assert result.board_se == pytest.approx(expected, rel=0.005)


def test_intervals_of_abilities_hold_the_truth_where_items_are_many():
    # of many data sets 0.95, and 0.77 of posterior SDs; a board shares its scale, so
    # that shares of one data set have an SD of 0.08, and the mean of 12 one of 0.025
    held = []
    for seed in range(12):
        responses, _, ability = sample(30, 200, seed)
        result = fit(responses)
        off = np.abs(result.ability - ability)
        held.append([(off < 1.96 * se).mean() for se in (result.ability_se, result.posterior_sd)])
    with_items, without = np.mean(held, axis=0)
    assert with_items == pytest.approx(0.95, abs=0.05)
    assert without < 0.85


def test_without_standard_errors_of_items_all_errors_are_posterior_sds(tmp_path):
    result, full = fitted("small", standard_errors=False), fitted("small")
    assert np.array_equal(result.ability_se, result.posterior_sd)
    assert np.array_equal(result.board_se, result.posterior_sd)
    families = np.arange(60) // 2
    with pytest.raises(ValueError, match="standard_errors=True"):
        result.with_clustered_errors(families=families)
    full.save(tmp_path / "result.npz")
    both = load(tmp_path / "result.npz"), full
    again, first = (one.with_clustered_errors(families=families) for one in both)
    assert np.array_equal(again.board_se, first.board_se)


def test_clusters_of_one_change_nothing_and_copies_count_once():
    result, responses = fitted("small"), drawn(40, 60, 3)
    single = result.with_clustered_errors(families=range(60), clusters=range(20))
    for name in ("standard_errors", "ability_se", "board_se"):
        assert getattr(single, name) == pytest.approx(getattr(result, name), nan_ok=True)
    with silently():
        copied = fit(ResponseMatrix(np.repeat(responses.values, 4, axis=0)))
    labels = dict(zip(copied.respondent_labels, np.repeat(np.arange(40), 4), strict=True))
    joint = copied.item_covariance
    assert joint is not None
    for one in (copied, copied.with_clustered_errors(families=labels)):
        ratio = one.standard_errors[:, 3] / np.sqrt(joint.of_items()[:, 1, 1])
        assert np.median(ratio) == pytest.approx(2.0, rel=0.1)  # four copies of each
        assert ratio.max() < 2.3


def test_passages_widen_errors_of_abilities_until_they_are_right():
    g = np.random.default_rng(1)
    passage, ability = np.arange(100) // 5, g.normal(size=200)
    own = g.normal(size=(200, 20))[:, passage]
    right = g.random((200, 100)) < expit(ability[:, None] + own - g.normal(size=100))
    with silently():
        result = fit(ResponseMatrix(right.astype(int)))
    found = result.with_clustered_errors(clusters=passage)
    # of many data sets 0.95, and 0.89 without, with an SD between data sets of 0.02
    held = np.abs(found.ability - ability) < 1.96 * found.ability_se
    assert held.mean() == pytest.approx(0.95, abs=0.04)
    assert (found.ability_se / result.ability_se).mean() == pytest.approx(1.22, abs=0.05)


def test_fixed_items_are_known_and_synthetic_respondents_have_errors():
    responses = drawn(100, 12, 3)
    first = fit(responses)
    again = fit(responses, fixed=first.items)
    # what is left are errors of the mean and the SD of ability: Cov(θ, score) is v/σ² by the mean,
    # and 2(θ̂ − μ)v/σ² by log σ
    assert again.latent_mean_se is not None
    assert again.latent_sd_se is not None
    centre = np.argmin(np.abs(again.ability - again.latent_mean))
    added = again.latent_mean_se * (again.posterior_sd[centre] / again.latent_sd) ** 2
    expected = np.hypot(again.posterior_sd[centre], added)
    assert again.ability_se[centre] == pytest.approx(expected, rel=2e-3)
    some = fit(irtkit.add_synthetic(responses, ("always-right",)))
    assert np.isfinite(some.board_se).all()
