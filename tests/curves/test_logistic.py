"""Claims about logistic regressions: other programs' values, errors, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from irtkit.curves import logistic
from irtkit.curves.logistic import clustered, crossing, logistic_regression


def drawn(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates, right answers and trials."""
    generator = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), generator.normal(5, 2, n), generator.normal(size=n)])
    trials = generator.integers(1, 4, n).astype(float)
    right = generator.binomial(trials.astype(int), 1 / (1 + np.exp(-x @ [-2, 0.4, -1]))) * 1.0
    return x, right, trials


def test_estimates_and_errors_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    x, right, trials = drawn()
    found = logistic_regression(x, right, trials)
    model = api.GLM(np.column_stack([right, trials - right]), x, family=api.families.Binomial())
    theirs = model.fit(tol=1e-14)
    assert found.coefficients == pytest.approx(theirs.params, abs=1e-8)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(theirs.bse, abs=1e-8)
    groups = np.arange(len(x)) // 7
    ours = clustered(found, x, right, trials, [groups])
    kind = {"groups": groups, "use_correction": False}
    sandwich = model.fit(tol=1e-14, cov_type="cluster", cov_kwds=kind)
    correction = np.sqrt(58 / 57)  # of 58 clusters
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(correction * sandwich.bse, abs=1e-8)
    assert ours.df == 57


def test_estimates_are_those_of_scikit_learn_without_a_penalty() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    x, right, trials = drawn()
    y = (right > trials / 2).astype(int)
    found = logistic_regression(x, y.astype(float))
    theirs = linear_model.LogisticRegression(C=1e12, tol=1e-12, solver="newton-cholesky")
    theirs.fit(x[:, 1:], y)
    ours = found.coefficients
    assert ours == pytest.approx([*theirs.intercept_, *theirs.coef_[0]], abs=1e-6)


def test_units_of_covariates_do_not_matter() -> None:
    x, right, trials = drawn()
    scale = np.array([1, 1e6, 1e-6])
    one, other = (logistic_regression(given, right, trials) for given in (x, x * scale))
    assert one.coefficients == pytest.approx(scale * other.coefficients, rel=1e-8)


def test_one_covariate_value_gives_the_log_odds_of_the_share() -> None:
    found = logistic_regression(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]))
    assert found.coefficients == pytest.approx([np.log(3)])
    assert found.covariance[0, 0] == pytest.approx(1 / (4 * 0.75 * 0.25))


@pytest.mark.parametrize(
    ("values", "right", "status"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], "unbounded"),
        ([1, 2, 2, 3], [0, 0, 1, 1], "unbounded"),  # parted but for a point of both
        ([1, 2, 3, 4], [0, 1, 0, 1], "ok"),
        ([1, 2, 3, 4], [1, 1, 1, 1], "no variance"),
        ([2, 2, 2, 2], [0, 1, 0, 1], "collinear"),
    ],
)
def test_where_there_is_no_maximum_it_is_said(
    values: list[float], right: list[float], status: str
) -> None:
    x = np.column_stack([np.ones(4), values])
    found = logistic_regression(x, np.array(right, dtype=float))
    assert found.status == status
    assert np.isfinite(found.coefficients).all() == (status == "ok")
    if status != "collinear":
        assert np.isfinite(
            logistic_regression(x, np.array(right) * 1.0, jeffreys=True).covariance
        ).all()


def test_steep_data_that_are_not_parted_have_a_maximum() -> None:
    # log-odds of the rows reach 30, and yet one right answer among the wrong keeps them finite
    values = np.linspace(-10, 10, 200)
    right = (values > 0).astype(float)
    right[[98, 101]] = 1 - right[[98, 101]]
    found = logistic_regression(np.column_stack([np.ones(200), values]), right)
    assert found.status == "ok"
    assert abs(found.coefficients[1]) > 3


def test_jeffreys_prior_adds_half_a_response_to_either_side() -> None:
    found = logistic_regression(np.ones((5, 1)), np.ones(5), jeffreys=True)
    assert found.coefficients == pytest.approx([np.log(5.5 / 0.5)])


def test_errors_clustered_two_ways_add_up() -> None:
    x, right, trials = drawn()
    found = logistic_regression(x, right, trials)
    rows = np.arange(len(x))
    one, other = rows // 20, rows % 20
    both = clustered(found, x, right, trials, [one, other])
    parts = [clustered(found, x, right, trials, [k]).covariance for k in (one, other, rows)]
    assert both.covariance == pytest.approx(parts[0] + parts[1] - parts[2], abs=1e-12)
    same = clustered(found, x, right, trials, [one, one])
    assert same.covariance == pytest.approx(parts[0], abs=1e-12)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_as_many_clusters_as_coefficients_tell_no_error(n_clusters: int) -> None:
    x, right, trials = drawn()
    found = logistic_regression(x, right, trials)
    one = clustered(found, x, right, trials, [np.arange(len(x)) % n_clusters])
    assert np.isnan(one.covariance).all() == (n_clusters <= 3)
    assert one.coefficients == pytest.approx(found.coefficients)


def test_a_search_that_runs_out_of_steps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x, right, trials = drawn()
    monkeypatch.setattr(logistic, "_MOST_STEPS", 2)
    found = logistic_regression(x, right, trials)
    assert found.status == "not converged"
    assert np.isnan(found.coefficients).all()


def test_a_far_maximum_is_reached() -> None:
    values = np.linspace(-10, 10, 2000)
    right = (values > 0).astype(float)
    right[[999, 1000]] = 1 - right[[999, 1000]]
    x = np.column_stack([np.ones(2000), values])
    found = logistic_regression(x, right)
    assert np.abs(found.log_odds(x)).max() > 32
    score = x.T @ (right - expit(found.log_odds(x)))
    assert score == pytest.approx(np.zeros(2), abs=1e-6)


def test_fiellers_bounds_are_where_log_odds_are_just_told_from_those_wanted() -> None:
    x, right, trials = drawn()
    found = logistic_regression(x, right, trials)
    start, step = np.array([1.0, 0, 0.3]), np.array([0.0, 1, 0])
    at, low, high = crossing(found, start, step, 0.5, 0.9)
    assert low < at < high
    for bound in (low, high):
        place = start + bound * step
        z = (found.log_odds(place) - 0.5) / found.se(place)
        assert abs(z) == pytest.approx(1.6448536)


def test_an_interval_has_no_ends_where_the_slope_is_not_told_from_zero() -> None:
    x, right, trials = drawn(12, seed=1)
    found = logistic_regression(x, right, trials, jeffreys=True)
    start, step = np.array([1.0, 0, 0]), np.array([0.0, 1, 0])
    assert crossing(found, start, step, 0.0, 0.999)[1:] == (-np.inf, np.inf)
