"""Claims about logistic regressions: other programs' values, errors, and infinite maxima."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from irtkit.curves.logistic import crossing, jeffreys_regression, likelihood_regression

api = pytest.importorskip("statsmodels.api")


def drawn(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates, right answers and trials."""
    generator = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), generator.normal(5, 2, n), generator.normal(size=n)])
    trials = generator.integers(1, 4, n).astype(float)
    right = generator.binomial(trials.astype(int), 1 / (1 + np.exp(-x @ [-2, 0.4, -1]))) * 1.0
    return x, right, trials


def test_clustered_errors_are_sums_of_scores() -> None:
    x, right, trials = drawn()
    one, other = np.arange(400) // 20, np.arange(400) % 20
    found = likelihood_regression(x, right, trials, [one, other])
    score = x * (right - trials * expit(x @ found.coefficients))[:, None]
    assert score.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-6)

    def part(groups: np.ndarray) -> np.ndarray:
        n = len(np.unique(groups))
        sums = np.array([score[groups == k].sum(axis=0) for k in np.unique(groups)])
        meat = sums.T @ sums * n / (n - 1) * 399 / 397
        return found.fisher @ meat @ found.fisher

    expected = part(one) + part(other) - part(np.arange(400))
    assert found.covariance == pytest.approx(expected, rel=1e-4, abs=1e-8)
    assert found.df == 19


def test_units_of_covariates_do_not_matter() -> None:
    x, right, trials = drawn()
    scale = np.array([1, 1e6, 1e-6])
    for fit in (jeffreys_regression, lambda *given: likelihood_regression(*given, [])):
        one, other = (fit(given, right, trials) for given in (x, x * scale))
        assert one.coefficients == pytest.approx(scale * other.coefficients, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "right", "status"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], "unbounded"),
        ([1, 2, 2, 3], [0, 0, 1, 1], "unbounded"),  # separated but for a point of both
        ([1, 2, 3, 4], [0, 1, 0, 1], "ok"),
        ([1, 2, 3, 4], [1, 1, 1, 1], "no variance"),
        ([2, 2, 2, 2], [0, 1, 0, 1], "collinear"),
    ],
)
def test_an_infinite_maximum_is_reported(
    values: list[float], right: list[float], status: str
) -> None:
    x, n = np.column_stack([np.ones(4), values]), np.ones(4)
    found = likelihood_regression(x, np.array(right, dtype=float), n, [])
    assert found.status == status
    assert np.isfinite(found.coefficients).all() == (status == "ok")
    bounded = jeffreys_regression(x, np.array(right) * 1.0, n)
    assert np.isfinite(bounded.covariance).all() == (status != "collinear")


def test_a_far_maximum_is_reached() -> None:
    # log-odds of the rows pass 32, and yet two rows on the wrong side keep them finite
    values = np.linspace(-10, 10, 2000)
    right = (values > 0).astype(float)
    right[[999, 1000]] = 1 - right[[999, 1000]]
    x = np.column_stack([np.ones(2000), values])
    found = likelihood_regression(x, right, np.ones(2000), [])
    assert np.abs(found.log_odds(x)).max() > 32
    assert x.T @ (right - expit(found.log_odds(x))) == pytest.approx(np.zeros(2), abs=1e-4)


def test_jeffreys_prior_adds_half_a_response_to_either_side() -> None:
    found = jeffreys_regression(np.ones((5, 1)), np.ones(5), np.ones(5))
    assert found.coefficients == pytest.approx([np.log(5.5 / 0.5)])
    assert found.fisher[0, 0] == pytest.approx(1 / (5 * 5.5 * 0.5 / 36))


def test_jeffreys_estimates_maximise_the_penalised_likelihood() -> None:
    x, right, trials = drawn(60)
    found = jeffreys_regression(x, right, trials)

    def objective(beta: np.ndarray) -> float:
        p = expit(x @ beta)
        information = (x.T * (trials * p * (1 - p))) @ x
        likelihood = right @ np.log(p) + (trials - right) @ np.log1p(-p)
        return float(likelihood + np.linalg.slogdet(information)[1] / 2)

    for step in 1e-4 * np.eye(3):
        here, up, down = (objective(found.coefficients + k * step) for k in (0, 1, -1))
        assert here > max(up, down)
    score = x * (right - trials * expit(x @ found.coefficients))[:, None]
    sandwich = found.fisher @ (score.T @ score) @ found.fisher * 60 / 59
    assert found.covariance == pytest.approx(sandwich)


@pytest.mark.parametrize("n_clusters", [3, 4])
def test_no_more_clusters_than_coefficients_leave_errors_unknown(n_clusters: int) -> None:
    x, right, trials = drawn()
    one = likelihood_regression(x, right, trials, [np.arange(len(x)) % n_clusters])
    assert np.isnan(one.covariance).all() == (n_clusters <= 3)
    assert np.isfinite(one.coefficients).all()


def test_fiellers_bounds_are_where_log_odds_just_differ_significantly() -> None:
    x, right, trials = drawn()
    found = likelihood_regression(x, right, trials, [])
    start, step = np.array([1.0, 0, 0.3]), np.array([0.0, 1, 0])
    at, low, high = crossing(found, start, step, 0.5, 0.9)
    assert low < at < high
    for bound in (low, high):
        place = start + bound * step
        z = (found.log_odds(place) - 0.5) / found.se(place)
        assert abs(z) == pytest.approx(1.6448536)
    few = jeffreys_regression(*drawn(12, seed=1))
    assert crossing(few, start, step, 0.0, 0.999)[1:] == (-np.inf, np.inf)
