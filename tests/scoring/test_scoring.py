"""Claims about abilities on items that are calibrated."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

import irtkit
from irtkit import ItemParameters, ResponseMatrix, fit, score, simulate_responses
from irtkit.findings import IRTWarning
from irtkit.irf import softplus
from irtkit.scoring import items_for_scores
from tests.crowds import crowd, fitted

pytestmark = pytest.mark.filterwarnings("ignore:Unknown misfit")


def spread(n_items):
    """Items with a slope of 1 and difficulties from −2 to 2."""
    return ItemParameters.from_difficulty(np.ones(n_items), np.linspace(-2, 2, n_items))


def part(responses, some):
    """Responses to some of the items."""
    return ResponseMatrix(responses.values[:, some], items=responses.items[some])


MIRT_MODELS = ("Rasch", "1PL", "2PL", "3PL", "3PLnorm")
NOT_THE_HIGHEST = {("wirs", "3PL"), ("wirs", "3PLnorm"), ("abortion", "3PLnorm")}
"""Slopes of 30 and more: likelihoods have several modes, and mirt ends at a lower one."""


@pytest.mark.parametrize("model", MIRT_MODELS)
@pytest.mark.parametrize("name", ["lsat6", "lsat7", "sat12", "sat12_missing", "wirs", "abortion"])
def test_abilities_are_those_of_mirt(classical_test, name, model):
    responses, mirt = classical_test(name)
    if model not in mirt or "eap_first20" not in mirt[model] or (name, model) in NOT_THE_HIGHEST:
        pytest.skip("mirt has no such estimate")
    found = mirt[model]
    items = pd.DataFrame(found["items"]).set_axis([*responses.items])
    items = items[[name for name in ("a", "d", "g") if name in items]]
    first = pd.DataFrame(found["eap_first20"])
    codes = [[int(c) if c in "01" else -1 for c in pattern] for pattern in first["pattern"]]
    answers = ResponseMatrix(codes, items=responses.items)
    sd = found["group"]["var"] ** 0.5
    columns = {"EAP": ("theta", "se"), "MAP": ("map", "map_se"), "ML": ("ml", "ml_se")}
    if sd > 2:  # much of the population lies beyond the grid of mirt, which EAP is taken over
        del columns["EAP"]
    for method, wanted in columns.items():
        scores = score(answers, items, method, latent_sd=sd)
        for ours, theirs in zip(("ability", "ability_se"), wanted, strict=True):
            if theirs not in first:
                continue
            values = pd.to_numeric(first[theirs]).to_numpy(dtype=float)
            finite = np.isfinite(values) & np.isfinite(scores["ability"])
            np.testing.assert_allclose(scores[ours][finite], values[finite], atol=3e-4)


def on_a_fine_grid(items, right, tried, method):
    """Highest points of what a method maximises, on 60,001 abilities from −30 to 30."""
    theta = np.linspace(-30, 30, 60_001)
    a, c = items.discrimination[:, None], items.guessing[:, None]
    z = a * theta + items.intercept[:, None]
    s = 1 / (1 + np.exp(-z))
    p = c + (1 - c) * s
    log_wrong = np.log1p(-c) - softplus(z)
    with np.errstate(divide="ignore"):
        log_right = np.logaddexp(np.log(c), np.log1p(-c) - softplus(-z))
    curves = right @ log_right + (tried - right) @ log_wrong
    if method == "MAP":
        curves -= theta**2 / 2
    if method == "WLE":
        by_item = a**2 * (s / p) * s * (1 - s) * (1 - c)
        information, bend = tried @ by_item, tried @ (by_item * a * (1 - 2 * s))
        slope = bend / (2 * np.maximum(information, 1e-300))
        curves[:, 1:] += np.cumsum((slope[:, 1:] + slope[:, :-1]) / 2 * 1e-3, axis=1)
    highest = []
    for curve in curves:
        k = int(curve.argmax())
        if curve[[0, -1]].max() > curve[k] - 1e-8:
            highest.append(float("inf"))
            continue
        below, top, above = curve[k - 1 : k + 2]
        highest.append(theta[k] + 1e-3 * 0.5 * (below - above) / (below - 2 * top + above))
    return highest


@pytest.mark.parametrize("method", ["MAP", "ML", "WLE"])
@pytest.mark.parametrize(
    ("cells", "guessing"),
    [("complete", True), ("missing", False), ("repeated", True), ("sparse", True)],
)
def test_maxima_are_the_highest_of_a_fine_grid(method, cells, guessing):
    generator = np.random.default_rng(["complete", "missing", "repeated", "sparse"].index(cells))
    for n_items in (3, 12, 30):
        slopes = generator.lognormal(0, 0.5, n_items)
        slopes[-1] *= -1
        lower = generator.beta(2, 8, n_items) if guessing else 0.0
        difficulty = generator.normal(0, 1.3, n_items)
        items = ItemParameters.from_difficulty(slopes, difficulty, lower)
        shape = (8, n_items)
        tried = np.ones(shape, int) if cells == "complete" else generator.integers(0, 2, shape)
        tried = generator.integers(0, 4, shape) if cells == "repeated" else tried
        tried[:, 0] = 1
        right = generator.binomial(tried, items.probability(generator.normal(0, 1.5, 8)))
        answers = ResponseMatrix.from_counts(right, tried)
        answers = answers.to_sparse() if cells == "sparse" else answers
        found = score(answers, items, method)["ability"].to_numpy()
        wanted = on_a_fine_grid(items, right, tried, method)
        finite = np.abs(wanted) < 15  # beyond, what is the highest differs by 1e-9
        np.testing.assert_allclose(found[finite], np.array(wanted)[finite], atol=1e-4)
        assert (np.abs(found[~finite]) > 15).all()


@pytest.mark.parametrize("method", ["EAP", "MAP", "WLE", "ML"])
def test_intervals_hold_what_they_should(method):
    """95 % intervals of ability and of the score on all items, 2,000 respondents (SE 0.5 %).

    Warm's estimate varies less than the information says, and its intervals hold 0.965.
    """
    generator = np.random.default_rng(5)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 80), generator.normal(size=80)
    )
    ability = generator.normal(size=2000)
    whole = simulate_responses(items, ability, seed=generator)
    columns = {"discrimination": items.discrimination, "difficulty": items.difficulty}
    table, asked = pd.DataFrame(columns, whole.items), part(whole, slice(None, None, 4))
    scores = score(asked, table, method)
    held = scores["ability_low"].to_numpy() <= ability
    held &= ability <= scores["ability_high"].to_numpy()
    assert 0.935 <= held.mean() <= (0.98 if method == "WLE" else 0.965)
    total = whole.values.mean(axis=1)
    low, high = scores["expected_score_low"].to_numpy(), scores["expected_score_high"].to_numpy()
    assert 0.93 <= ((low <= total) & (total <= high)).mean() <= 0.975


@pytest.mark.parametrize("n_asked", [3, 20, 400])
def test_bounds_of_eap_are_quantiles_of_the_posterior(n_asked):
    """Whoever answered few items has a posterior much wider than the spacing of nodes."""
    generator = np.random.default_rng(n_asked)
    items = ItemParameters.from_difficulty(
        generator.lognormal(0, 0.3, 400), generator.normal(size=400)
    )
    answers = simulate_responses(items, [0.5, 1.0], seed=generator).values.copy()
    answers[0, n_asked:] = -1
    first = score(answers, items).iloc[0]
    theta, asked = np.linspace(-6, 6, 120_001), items.chosen(np.arange(n_asked))
    p = asked.probability(theta[::100])
    logarithm = np.log(p) @ answers[0, :n_asked] + np.log1p(-p) @ (1 - answers[0, :n_asked])
    density = np.exp(CubicSpline(theta[::100], logarithm - logarithm.max())(theta) - theta**2 / 2)
    below = np.cumsum(density) / density.sum()
    wanted = np.interp([0.025, 0.975], below, theta)
    np.testing.assert_allclose(
        first[["ability_low", "ability_high"]].astype(float), wanted, atol=2e-4
    )


def test_no_ability_is_a_maximum_where_guessing_explains_more():
    """Every pattern of five items: at −∞ the likelihood is that of guesses alone."""
    items = ItemParameters.from_difficulty(
        [1.0, 0.7, 1.3, 2.0, -1.0], [0.0, -1.0, 1.0, 2.0, 0.5], 0.25
    )
    patterns = np.array(list(np.ndindex(2, 2, 2, 2, 2)))
    found = score(patterns, items, "ML")
    theta = np.linspace(-15, 15, 3001)
    p = items.probability(theta)
    curve = patterns @ np.log(p).T + (1 - patterns) @ np.log1p(-p).T
    grid = np.where((top := curve.argmax(axis=1)) == 0, -np.inf, theta[top])
    grid[top == 3000] = np.inf
    unbounded = np.isinf(grid)
    assert 3 < unbounded.sum() < 30
    np.testing.assert_array_equal(found["ability"][unbounded], grid[unbounded])
    np.testing.assert_allclose(found["ability"][~unbounded], grid[~unbounded], atol=0.01)
    assert (found["status"] == np.where(unbounded, "unbounded", "ok")).all()
    ends = found["ability_low"][np.isneginf(grid)], found["ability_high"][np.isposinf(grid)]
    assert np.isinf(np.concatenate(ends)).all()
    assert np.isfinite(found["ability_high"][np.isneginf(grid)]).any()
    assert np.isfinite(score(patterns, items, "WLE")["ability"]).all()


def test_items_are_found_by_label_and_strange_ones_are_left_out():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}, ["q1", "q2"])
    turned = ResponseMatrix([[1, 0, 1]], items=["q2", "new", "q1"])
    with pytest.warns(IRTWarning, match="1 of 3 items of the responses") as given:
        found = score(turned, table)
    warning = given[0].message
    assert isinstance(warning, IRTWarning)
    assert (warning.code, warning.finding.values["items"]) == ("uncalibrated-items", ["new"])
    same = score(ResponseMatrix([[1, 1]], items=["q1", "q2"]), table)
    np.testing.assert_array_equal(found.drop(columns="status"), same.drop(columns="status"))


def test_items_come_from_results_tables_and_files(tmp_path):
    result, responses = fitted("small"), crowd("small").responses
    result.save(tmp_path / "result.npz")
    irtkit.write_table(result.items, tmp_path / "items.csv")
    wanted = score(responses, result)
    for given in (result.items, tmp_path, tmp_path / "result.npz", str(tmp_path / "items.csv")):
        pd.testing.assert_frame_equal(score(responses, given), wanted)


@pytest.mark.parametrize(("items", "message"), [
    (pd.DataFrame({"difficulty": [1.0]}, ["q1"]), "items needs the columns discrimination"),
    (pd.DataFrame({"a": [np.nan], "b": [0.0]}, ["q1"]), "no item with parameters"),
    (
        pd.DataFrame({"a": [1.0], "b": [0.0]}, ["z"]),
        "Items of the responses: q1. Calibrated items: z",
    ),
    (ItemParameters.from_difficulty([1.0, 1.0], [0.0, 1.0]), "2 items without labels"),
])  # fmt: skip
def test_items_that_do_not_go_with_responses_are_refused(items, message):
    with pytest.raises(ValueError, match=message):
        score(ResponseMatrix([[1]], items=["q1"]), items)


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML", "WLE"])
def test_trials_that_repeat_each_other_tell_nothing_more(method):
    right = simulate_responses(spread(20), np.linspace(-1, 1, 60), seed=0).values
    ten = ResponseMatrix.from_counts(10 * right, 10 * np.ones_like(right))
    alike, apart = (fit(ten.with_trial_correlation(share), "1PL") for share in (1.0, 0.0))
    columns = ["ability", "ability_se"]
    once, repeated = (score(one, alike, method)[columns] for one in (ResponseMatrix(right), ten))
    np.testing.assert_allclose(repeated, once)
    errors = [score(ten, result, method)["ability_se"].median() for result in (alike, apart)]
    assert errors[0] > 2 * errors[1]


@pytest.mark.filterwarnings("error")
def test_an_unknown_misfit_is_warned_of_if_items_are_left(tmp_path):
    result, responses = fitted("small"), crowd("small").responses
    result.save(tmp_path / "r.npz", include_responses=False)
    half = ResponseMatrix(np.tile([1, 0, 0, 0, 0], (1, 2)), items=responses.items[:10])
    for given in (result.items, tmp_path / "r.npz"):
        with pytest.warns(UserWarning, match="Unknown misfit"):
            score(half, given)
        score(responses, given)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_only_systems_that_may_be_as_good_as_the_best_calibrated_are_opened(level):
    responses = simulate_responses(spread(60), np.linspace(-2, 2, 90), seed=1)
    result = fit(responses)
    third = float(np.sort(responses.values.mean(axis=1))[-3])
    assert set(score(responses, result, level=level)["status"]) == {"ok"}  # nothing left to ask
    asked, limitless = part(responses, slice(None, None, 3)), items_for_scores(result)
    found = score(asked, replace(limitless, best=None), level=level)
    with pytest.warns(UserWarning, match="Beyond the calibration: .* of 90 systems may score as h"):
        opened = score(asked, result, level=level)
    highest = 1 - (asked.values == 0).sum(axis=1) / 60
    is_opened = np.isclose(opened["expected_score_high"], highest)
    assert is_opened[(found["expected_score_high"] > third - 0.02).to_numpy()].all()
    assert not is_opened[:30].any()
    pd.testing.assert_frame_equal(opened[~is_opened], found[~is_opened])
    is_beyond = (opened["status"] == "beyond").to_numpy()
    assert is_opened[is_beyond].all()
    same = ["expected_score", "expected_score_low"]
    pd.testing.assert_frame_equal(opened[same], found[same])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("saved", [False, True])
def test_few_systems_like_the_calibrated_ones_are_beyond_them(saved, tmp_path):
    """60 calibrated systems, 500 new ones of the same population on 30 of 100 items."""
    items, generator = spread(100), np.random.default_rng(2)
    result = fit(simulate_responses(items, generator.normal(size=60), seed=1), "1PL")
    if saved:
        result.save(tmp_path / "r.npz", include_responses=False)
        result = irtkit.load(tmp_path / "r.npz")
    for shift, low, high in ((0.0, 0.0, 0.1 if saved else 0.05), (4.0, 0.9, 1.0)):
        new = simulate_responses(items, generator.normal(shift, size=500), seed=2)
        found = score(part(new, slice(None, None, 3)), result)
        assert low <= (found["status"] == "beyond").mean() <= high
