"""Curves of systems over difficulty, and the scores that they predict."""

import warnings

import numpy as np
import pytest
from scipy.stats import binomtest

import irtkit
from irtkit import (
    IRTWarning,
    ItemParameters,
    ResponseMatrix,
    characteristic_curves,
    expected_performance,
    fit,
    simulate_responses,
)
from irtkit.curves import characteristic
from irtkit.curves.answered import Answered
from tests.crowds import sample

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

# Claims about system characteristic curves and the best systems of ranges


def given(n_items, n, right):
    """Curves of responses over the difficulties 0, 1 and so on."""
    cells = np.broadcast_to(right, (n, n_items)).astype(int)
    return characteristic_curves(ResponseMatrix(cells), difficulties=list(range(n_items)), bins=2)


def test_a_curve_is_the_accuracy_in_ranges_of_difficulty():
    found = given(6, 2, [1, 1, 0, 0, 1, 0])
    row = found.table.loc["respondent-1"]
    assert row["accuracy"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert row["difficulty"].tolist() == [1, 4]
    assert row["n_items"].tolist() == [3, 3]
    assert found.best["n_items"].sum() == 6
    assert (row["accuracy_low"] < row["accuracy"]).all()
    assert (row["accuracy_high"] > row["accuracy"]).all()
    wilson = binomtest(2, 3).proportion_ci(method="wilson")
    assert row.loc[1, ["accuracy_low", "accuracy_high"]].tolist() == pytest.approx([*wilson])


def test_ranges_hold_as_many_items_or_are_as_wide():
    responses, items, _ = sample(12, 600, 0)
    result = fit(responses, standard_errors=False)
    many = characteristic_curves(result, bins=6).table["n_items"]
    assert many.between(80, 120).all()  # items answered alike are in one range
    best = characteristic_curves(result, bins=6, by="width").best
    width = best["difficulty_high"] - best["difficulty_low"]
    assert width.to_numpy() == pytest.approx(width.mean())
    assert 0.97 * items.n_items < best["n_items"].sum() <= items.n_items  # flat ones have none


def test_items_are_in_ranges_for_a_system_as_a_fit_without_it_has_them():
    # with few systems a fit to all has the items that a system got wrong as the harder ones
    held = {"without": [], "with": []}
    for seed in range(3):
        responses, items, theta = sample(12, 600, seed)
        p = items.probability(theta)
        result = fit(responses, standard_errors=False)
        for name, known in (("without", None), ("with", result.items["difficulty"])):
            data = Answered.of(result, known, "difficulties", seed=0)
            edges = characteristic.ranges_of(data.difficulty, 10, "quantile")
            table = characteristic_curves(result, difficulties=known).table
            for row, label in enumerate(responses.respondents):
                part = data.part(row)
                number = characteristic.range_of(edges, part.difficulty)
                true = [p[row, part.items[number == k]].mean() for k in range(10)]
                curve = table.loc[label]
                held[name] += list(curve["accuracy_low"].le(true) & curve["accuracy_high"].ge(true))
    assert np.mean(held["without"]) > 0.93  # of 360, whose share errs by 0.012
    assert np.mean(held["with"]) < 0.8


def test_a_system_without_an_answer_in_a_range_lacks_an_accuracy_there():
    cells = np.ones((2, 10))
    cells[0, 5:] = np.nan
    found = characteristic_curves(ResponseMatrix(cells), difficulties=range(10), bins=2)
    assert found.best["n_items"].tolist() == [5, 5]
    row = found.table.loc[("respondent-1", 2)]
    assert np.isnan(row["accuracy"])
    assert (row["accuracy_low"], row["accuracy_high"], row["n_items"]) == (0, 1, 0)


def test_a_system_that_is_better_by_far_wins_and_equal_ones_do_not():
    generator = np.random.default_rng(0)
    difficulty = np.linspace(-1, 1, 400)
    equal = (generator.random((6, 400)) < 0.5).astype(int)
    found = characteristic_curves(ResponseMatrix(equal), difficulties=difficulty, bins=4)
    assert found.best["winner"].isna().all()
    assert (found.best["n_leaders"] > 1).all()
    equal[2] = generator.random(400) < 0.95
    found = characteristic_curves(ResponseMatrix(equal), difficulties=difficulty, bins=4)
    assert found.best["winner"].tolist() == ["respondent-3"] * 4


@pytest.mark.parametrize(("settings", "message"), [
    ({"bins": 1001}, "bins must be a whole number, from 1 to 1,000"),
    ({"systems": ["respondent-99"]}, "'respondent-99' is no system of the responses"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused(settings, message):
    responses = sample(12, 30, 0).responses
    with pytest.raises(ValueError, match=message):
        characteristic_curves(fit(responses, standard_errors=False), **settings)


def test_synthetic_respondents_and_items_with_a_negative_slope_are_left_out():
    responses, _, theta = sample(40, 60, 0)
    values = responses.values.copy()
    values[:, 0] = theta < 0
    result = fit(irtkit.add_synthetic(ResponseMatrix(values)), standard_errors=False)
    assert result.items["discrimination"].iloc[0] < 0
    found = characteristic_curves(result, bins=3)
    assert found.best["n_items"].sum() == (result.items["discrimination"] > 0).sum()
    assert len(found.systems) == 40


# Claims about expected performance and its alarm


def answers(theta, difficulty, seed, prefix="item", trials=1):
    items = ItemParameters.from_difficulty(np.ones(len(difficulty)), difficulty)
    labels = [f"{prefix}-{k}" for k in range(len(difficulty))]
    return simulate_responses(items, theta, item_labels=labels, seed=seed, trials=trials)


def both(harder, drop, seed, n=200, trials=1):
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
def test_without_a_shift_the_alarm_has_its_rate(harder, trials):
    found = both(harder, 0.0, 0, n=500, trials=trials)
    assert found["alarm"].mean() == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 500) ** 0.5)
    within = found["accuracy"].between(found["expected_low"], found["expected_high"])
    assert (within != found["alarm"]).mean() > 0.995


@pytest.mark.parametrize("harder", [0.0, 1.0])
def test_a_drop_of_one_unit_of_ability_is_seen_on_500_items(harder):
    found = both(harder, 1.0, 1)
    assert found["alarm"].mean() > 0.9
    assert found["shift"].median() == pytest.approx(1, abs=0.1)
    assert (found["expected"] > found["accuracy"])[found["alarm"]].all()


def test_estimated_difficulties_of_harder_items_do_not_raise_alarms():
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


def test_difficulties_of_a_fit_serve_where_other_systems_answered_the_new_items():
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


def test_a_perfect_record_expects_a_bounded_one():
    old, new = ResponseMatrix(np.ones((1, 50))), ResponseMatrix(np.zeros((1, 50)))
    settings = {"difficulties": np.linspace(-1, 1, 50)}
    found = expected_performance(old, new, original_difficulties=np.linspace(-1, 1, 50), **settings)
    row = found.loc["respondent-1"]
    assert 0.9 < row["expected"] < 1
    assert row["alarm"]
    assert np.isnan(row["shift"])  # the curve of a record without an error does not fall


def fitted(n, model="1PL", **settings):
    """A fit of some systems to 60 items."""
    generator = np.random.default_rng(0)
    responses = answers(generator.normal(size=n), generator.normal(size=60), generator)
    with warnings.catch_warnings(action="ignore"):
        return fit(responses, model, **settings)


def test_systems_without_original_answers_are_left_out():
    old = ResponseMatrix([[1, 0, np.nan], [0, 1, np.nan], [np.nan, np.nan, 1]])
    new = ResponseMatrix([[1, 1, 0], [0, 0, 1], [0, 1, 1]])
    known = {"difficulties": [0, 1, 2], "original_difficulties": [0.0, 1.0, np.nan]}
    assert len(expected_performance(old, new, **known)) == 2
    with pytest.raises(ValueError, match="no system answered new items and original ones"):
        expected_performance(old, new, systems=["respondent-3"], **known)


@pytest.mark.parametrize(("n", "model", "least"), [(16, "1PL", 40), (40, "2PL", 100)])
def test_few_systems_are_warned_of(n, model, least):
    result = fitted(n, model)
    again = ResponseMatrix(
        1 - result.responses.values, result.respondent_labels, result.item_labels
    )
    with pytest.warns(IRTWarning, match="Frequent false alarms") as found:
        expected_performance(result, again)
    assert found[0].message.finding.values == {"n": n, "least": least, "model": model}


@pytest.mark.parametrize(("settings", "message"), [
    ({"difficulties": np.zeros(60)}, "need original_difficulties"),
    (
        {"difficulties": np.arange(60), "original_difficulties": np.ones(60)},
        "no system answered .* original ones of different difficulty",
    ),
])  # fmt: skip
def test_a_score_that_cannot_be_meant_is_refused(settings, message):
    result = fitted(40)
    again = ResponseMatrix(1 - result.responses.values, items=result.item_labels)
    with pytest.raises(ValueError, match=message):
        expected_performance(result, again, **settings)
    guessed = fitted(60, "3PL", standard_errors=False)
    with pytest.raises(ValueError, match="result must not be of the 3PL"):
        expected_performance(guessed, again)
