"""Claims about expected performance and its alarm."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from irtkit import (
    IRTWarning,
    ItemParameters,
    ResponseMatrix,
    expected_performance,
    fit,
    simulate_responses,
)
from irtkit.curves.answered import Part
from irtkit.curves.expected import falling_curve

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")


def answers(
    theta: Any, difficulty: Any, seed: Any, prefix: str = "item", trials: int = 1
) -> ResponseMatrix:
    items = ItemParameters.from_difficulty(np.ones(len(difficulty)), difficulty)
    labels = [f"{prefix}-{k}" for k in range(len(difficulty))]
    return simulate_responses(items, theta, item_labels=labels, seed=seed, trials=trials)


def both(harder: float, drop: float, seed: int, n: int = 200, trials: int = 1) -> Any:
    """Expected performance where difficulties are known."""
    generator = np.random.default_rng(seed)
    old, new = generator.normal(size=300), generator.normal(harder, 1, 500)
    theta = generator.normal(size=n)
    before = answers(theta, old, generator, "old", trials)
    after = answers(theta - drop, new, generator, "new", trials)
    return expected_performance(
        before,
        after,
        difficulties=dict(zip(after.items, new, strict=True)),
        original_difficulties=dict(zip(before.items, old, strict=True)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("harder", "trials"), [(0.0, 1), (1.0, 4)])
def test_without_a_shift_the_alarm_has_its_rate(harder: float, trials: int) -> None:
    found = both(harder, 0.0, 0, n=500, trials=trials)
    assert found["alarm"].mean() == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 500) ** 0.5)
    within = found["accuracy"].between(found["expected_low"], found["expected_high"])
    assert (within != found["alarm"]).mean() > 0.995


@pytest.mark.parametrize("harder", [0.0, 1.0])
def test_a_drop_of_one_unit_of_ability_is_seen_on_500_items(harder: float) -> None:
    found = both(harder, 1.0, 1)
    assert found["alarm"].mean() > 0.9
    assert found["shift"].median() == pytest.approx(1, abs=0.1)
    assert (found["expected"] > found["accuracy"])[found["alarm"]].all()


def test_estimated_difficulties_of_harder_items_do_not_raise_alarms() -> None:
    generator = np.random.default_rng(0)
    n_old, rates = 500, {}
    difficulty = generator.normal(np.repeat([0.0, 1.0], [n_old, 500]))
    responses = answers(generator.normal(size=400), difficulty, generator)
    seen = dict(zip(responses.items, difficulty + generator.normal(0, 0.5, 1000), strict=True))
    parts = [
        ResponseMatrix(responses.values[:, some], responses.respondents, responses.items[some])
        for some in (slice(n_old), slice(n_old, None))
    ]
    for se in (None, 0.5):
        settings = {"difficulties": seen, "original_difficulties": seen, "difficulty_se": se}
        rates[se] = expected_performance(*parts, **settings)["alarm"].mean()
    assert rates[None] > 0.15
    assert rates[0.5] < 0.09  # one draw of difficulties errs for all systems together


def test_difficulties_of_a_fit_serve_where_other_systems_answered_the_new_items() -> None:
    generator = np.random.default_rng(1)
    theta, difficulty = generator.normal(size=80), generator.normal(size=700)
    responses = answers(theta, difficulty, generator)
    values = responses.values.astype(float)
    values[:10, 400:] = np.nan
    new = ResponseMatrix(
        responses.values[:10, 400:], responses.respondents[:10], responses.items[400:]
    )
    result = fit(ResponseMatrix(values, responses.respondents, responses.items), "1PL")
    found = expected_performance(result, new)
    assert len(found) == 10
    assert found["alarm"].sum() <= 3
    without = fit(result.responses, "1PL", standard_errors=False)
    with pytest.raises(ValueError, match="must have standard errors"):
        expected_performance(without, new)


def test_a_perfect_record_expects_a_bounded_one() -> None:
    old, new = ResponseMatrix(np.ones((1, 50))), ResponseMatrix(np.zeros((1, 50)))
    settings = {"difficulties": np.linspace(-1, 1, 50)}
    found = expected_performance(old, new, original_difficulties=np.linspace(-1, 1, 50), **settings)
    row = found.loc["respondent-1"]
    assert 0.9 < row["expected"] < 1
    assert row["alarm"]
    assert np.isnan(row["shift"])  # the curve of a record without an error does not fall


def curve_of(share: np.ndarray, trials: int = 1) -> tuple[np.ndarray, np.ndarray, float]:
    """Curve over the difficulties 0, 1 and so on."""
    n = len(share)
    return falling_curve(Part(np.arange(n), np.arange(n) * 1.0, np.zeros(n), share, trials))


def test_the_curve_maximises_the_penalised_likelihood() -> None:
    generator = np.random.default_rng(0)
    right = (generator.random(60) < np.linspace(0.9, 0.2, 60)) * 1.0
    x = np.column_stack([np.ones(60), np.arange(60)])
    coefficients, covariance, _ = curve_of(right, np.ones(60))

    def penalised(beta: np.ndarray) -> float:
        p = expit(x @ beta)
        likelihood = right @ np.log(p) + (1 - right) @ np.log1p(-p)
        return float(likelihood + np.linalg.slogdet((x.T * (p * (1 - p))) @ x)[1] / 2)

    for step in np.diag([1e-3, 1e-5]):
        here, up, down = (penalised(coefficients + k * step) for k in (0, 1, -1))
        assert here > max(up, down)
    p = expit(x @ coefficients)
    assert np.linalg.inv(covariance) == pytest.approx((x.T * (p * (1 - p))) @ x)


def test_trials_that_agree_on_items_count_as_one() -> None:
    right = np.tile([1.0, 0.0, 1.0, 0.0, 0.0], 40)
    once = curve_of(right, np.ones(200))
    coefficients, covariance, dispersion = curve_of(right, np.full(200, 5.0))
    assert dispersion == pytest.approx(5, rel=0.02)
    assert coefficients == pytest.approx(once[0], abs=0.02)
    assert covariance == pytest.approx(once[1], rel=0.05)


def regressed(difficulty: np.ndarray, se: np.ndarray) -> np.ndarray:
    n = len(difficulty)
    return Part(np.arange(n), difficulty, se, np.ones(n), np.ones(n)).regressed().difficulty


def test_regressed_difficulties_are_expectations() -> None:
    generator = np.random.default_rng(0)
    true = generator.normal(2, 0.8, 20_000)
    # of like error for all; and larger for hard items, as where few are right
    for se in (generator.uniform(0.2, 1.0, 20_000), 0.3 + 0.2 * np.maximum(true, 0)):
        found = regressed(true + se * generator.normal(size=20_000), se)
        slope = np.polyfit(found, true, 1)[0]
        assert slope == pytest.approx(1, abs=0.03)
        assert found.mean() == pytest.approx(2, abs=0.03)


def fitted(n: int, model: Any = "1PL", **settings: Any) -> Any:
    """A fit of some systems to 60 items."""
    generator = np.random.default_rng(0)
    responses = answers(generator.normal(size=n), generator.normal(size=60), generator)
    with warnings.catch_warnings(action="ignore"):
        return fit(responses, model, **settings)


def test_systems_without_original_answers_are_left_out() -> None:
    old = ResponseMatrix([[1, 0, np.nan], [0, 1, np.nan], [np.nan, np.nan, 1]])
    new = ResponseMatrix([[1, 1, 0], [0, 0, 1], [0, 1, 1]])
    known: Any = {"difficulties": [0, 1, 2], "original_difficulties": [0.0, 1.0, np.nan]}
    assert len(expected_performance(old, new, **known)) == 2
    with pytest.raises(ValueError, match="no system answered new items and original ones"):
        expected_performance(old, new, systems=["respondent-3"], **known)


@pytest.mark.parametrize(("n", "model", "least"), [(16, "1PL", 40), (40, "2PL", 100)])
def test_few_systems_are_warned_of(n: int, model: str, least: int) -> None:
    result = fitted(n, model)
    again = ResponseMatrix(
        1 - result.responses.values, result.respondent_labels, result.item_labels
    )
    with pytest.warns(IRTWarning, match="Frequent false alarms") as found:
        expected_performance(result, again)
    assert found[0].message.finding.values == {"n": n, "least": least, "model": model}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"difficulties": np.zeros(60)}, "need original_difficulties"),
        (
            {"difficulties": np.arange(60), "original_difficulties": np.ones(60)},
            "no system answered .* original ones of different difficulty",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: dict[str, Any], message: str) -> None:
    result = fitted(40)
    again = ResponseMatrix(1 - result.responses.values, items=result.item_labels)
    with pytest.raises(ValueError, match=message):
        expected_performance(result, again, **settings)
    guessed = fitted(60, "3PL", standard_errors=False)
    with pytest.raises(ValueError, match="result must not be of the 3PL"):
        expected_performance(guessed, again)
