"""Ordered levels, and items of several kinds in one fit."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import ResponseMatrix, fit, load, score, simulate_responses
from irtkit.calibration import standard_errors
from irtkit.calibration.estimation import start
from irtkit.calibration.priors import WeakPrior
from irtkit.calibration.search import Control, problem_of
from irtkit.data.patterns import patterns_of
from irtkit.fitting import refitted
from irtkit.irf import ItemParameters
from irtkit.quadrature import fixed_nodes
from irtkit.responses.cells import Cells

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Not unidimensional|Item groups|Beyond the calibration)"
)


# Claims about models of ordered levels: references, invariances, gradients and errors
GRID = (61, 6.0)
MODELS = pytest.mark.parametrize("model", ["GPCM", "GRM"])


def check_gradient(objective, x):
    """Compare the gradient with central differences."""
    gradient = objective.evaluate(x).gradient
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5
        rise = objective.evaluate(x + step).value - objective.evaluate(x - step).value
        assert gradient[k] == pytest.approx(rise / 2e-5, abs=1e-5)


def drawn(n, n_items, model, *, n_levels=4, seed=0, negative=1):
    g = np.random.default_rng(seed)
    slope = np.exp(g.normal(0, 0.25, n_items)) * (0.8 if model == "GPCM" else 1.4)
    thresholds = np.linspace(-1.5, 1.5, n_levels - 1) + g.normal(0, 0.5, (n_items, 1))
    steps = -slope[:, None] * thresholds
    steps = np.cumsum(steps, axis=1) if model == "GPCM" else steps
    slope[:negative] *= -1
    steps = np.concatenate([np.zeros((n_items, 1)), steps], axis=1)
    top = np.full(n_items, n_levels - 1.0)
    items = ItemParameters(slope, steps.mean(axis=1), np.zeros(n_items), steps, top, model)
    theta = g.normal(size=n)
    return theta, items, simulate_responses(items, theta, seed=g).successes.copy()


@pytest.mark.parametrize(("model", "name"), [("GPCM", "gpcm"), ("GRM", "graded")])
def test_science_has_the_digits_of_mirt(shared_data, model, name):
    frame = pd.read_csv(shared_data / "science.csv.gz")
    expected = json.loads((shared_data / "science_mirt.json").read_text())[name]
    result = fit(frame.to_numpy(), model, prior=None, quadrature=GRID)
    items, parameters = np.array(expected["items"]), result.parameters
    assert result.converged
    assert result.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-3)
    assert parameters.discrimination == pytest.approx(items[:, 0], abs=1e-3)
    assert parameters.steps[:, 1:] == pytest.approx(items[:, -3:], abs=1e-3)
    assert (result.aic, result.bic) == pytest.approx((expected["aic"], expected["bic"]), abs=3e-3)
    assert result.ability[:10] == pytest.approx(expected["eap_first10"], abs=1e-3)
    assert result.posterior_sd[:10] == pytest.approx(expected["eap_se_first10"], abs=1e-3)


@MODELS
def test_two_levels_are_the_2pl(model):
    levels = drawn(300, 12, model)[2] >= 2
    same, plain = fit(levels, model), fit(levels, "2PL")
    assert same.log_likelihood == plain.log_likelihood
    for name in ("discrimination", "difficulty"):
        for column in (name, f"{name}_se"):
            assert same.items[column].to_numpy() == pytest.approx(plain.items[column], abs=1e-12)
    assert same.items["threshold_1"].to_numpy() == pytest.approx(plain.items["difficulty"])
    assert same.items["threshold_1_se"].to_numpy() == pytest.approx(plain.items["difficulty_se"])


@MODELS
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_gradient_is_that_of_the_objective(model, missing):
    levels = drawn(60, 5, model)[2].astype(float)
    levels[levels[:, 2] == 1, 2] = 2  # a level that nobody reached
    levels[levels[:, 3] == 3, 3] = 2
    levels[np.random.default_rng(2).random(levels.shape) < missing] = np.nan
    responses = irtkit.read_responses(levels, levels=True)
    patterns = patterns_of(responses, synthetic_is_real=False)
    problem = problem_of(patterns, model, WeakPrior(), levels=np.ones(5, bool))
    x = start(problem, Control()).x
    x = x + 0.05 * np.arange(len(x)) % 0.2
    check_gradient(problem.at(fixed_nodes(41, 5.0), exact=True), x)


@MODELS
def test_estimates_errors_and_intervals_are_those_of_the_truth(model):
    theta, items, levels = drawn(1500, 20, model, seed=3)
    result = fit(levels, model)
    table = result.items
    z = (result.parameters.discrimination - items.discrimination) / table["discrimination_se"]
    assert np.sqrt(np.mean(z**2)) < 1.6
    found = np.stack([table[f"threshold_{k}"] for k in (1, 2, 3)], axis=1)
    errors = np.stack([table[f"threshold_{k}_se"] for k in (1, 2, 3)], axis=1)
    assert 0.7 < np.sqrt(np.mean(((found - items.thresholds) / errors) ** 2)) < 1.4
    assert found.mean(axis=1) == pytest.approx(table["difficulty"].to_numpy())
    z = (result.ability - theta) / result.ability_se
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.02)
    assert table["average_error"].to_numpy() == pytest.approx(1 - levels.mean(axis=0) / 3)
    assert table["expected_error"].to_numpy() == pytest.approx(
        table["average_error"].to_numpy(), abs=0.02
    )
    assert (table["n_responses"] == 1500).all()
    assert table["discrimination"].iloc[0] < 0
    assert table["p_negative"].iloc[0] > 0.99


@MODELS
def test_errors_of_many_items_are_nearly_those_of_all_parameters(model, monkeypatch):
    levels = drawn(300, 30, model)[2]
    exact = fit(levels, model)
    monkeypatch.setattr(standard_errors, "_MOST_DENSE", 0)
    quick = fit(levels, model)
    assert quick.standard_errors[:, 4:] == pytest.approx(exact.standard_errors[:, 4:], rel=0.03)
    assert quick.standard_errors[:, 0] == pytest.approx(exact.standard_errors[:, 0], rel=0.03)
    assert quick.ability_se == pytest.approx(exact.ability_se, rel=0.005)


@MODELS
def test_a_level_that_nobody_reached_is_left_out(model):
    levels = drawn(200, 6, model)[2]
    levels[levels[:, 1] == 2, 1] = 3
    result = fit(levels, model)
    item = result.items.iloc[1]
    assert np.isnan(item["threshold_2"])
    assert np.isfinite([item["threshold_1"], item["threshold_3"], item["threshold_3_se"]]).all()
    assert result.category_probability([0.0])[0, 1, 2] == 0
    (found,) = [one for one in result.findings if one.code == "levels-not-reached"]
    assert found.values["items"] == ["item-2"]
    if model == "GRM":  # merged with its neighbour
        merged = levels.copy()
        merged[:, 1] = np.minimum(merged[:, 1], 2)
        assert fit(merged, model).log_likelihood == pytest.approx(result.log_likelihood, abs=1e-3)


@MODELS
def test_scores_are_the_abilities_of_the_fit(model):
    levels = drawn(120, 15, model)[2].astype(float)
    levels[np.random.default_rng(5).random(levels.shape) < 0.1] = np.nan
    result = fit(levels, model, score_range=(0, 3))
    found = score(result.responses, result)
    assert found["ability"].to_numpy() == pytest.approx(result.ability, abs=1e-6)
    pd.testing.assert_frame_equal(score(levels, result, score_range=(0, 3)), found)
    mode = score(result.responses, result, "MAP")
    assert mode["ability"].to_numpy() == pytest.approx(result.ability, abs=0.15)
    assert (found["n_responses"] == (~np.isnan(levels)).sum(axis=1)).all()
    with pytest.raises(ValueError, match="EAP or MAP"):
        score(result.responses, result, "ML")
    other = ResponseMatrix.from_counts([[1] * 15], [[2] * 15])
    with pytest.raises(ValueError, match="highest score of 3"):
        score(other, result)


@pytest.mark.parametrize("model", ["GPCM", "GRM", "of all kinds"])
def test_what_follows_from_a_fit(model, tmp_path, of_all_kinds):
    result, suspects = of_all_kinds, set()
    if model != "of all kinds":
        result, suspects = fit(drawn(100, 20, model, negative=2)[2], model), {"item-1", "item-2"}
    board = result.leaderboard()
    assert board["accuracy"].corr(board["ability"]) > 0.8
    assert result.with_clustered_errors(
        clusters=dict(zip(result.item_labels, range(20), strict=True))
    )
    assert suspects == {*irtkit.audit(result).suspects.index}
    assert irtkit.compare_systems(result, *board.index[:2]).n_items == 20
    assert irtkit.select_items(result, 5).expected_error < 0.2
    assert len(result.health().items) == 20
    assert irtkit.plots.category_curves(result, result.item_labels[-1]).get_lines()
    irtkit.report(result, tmp_path / "report.html")
    result.save(tmp_path / "result.npz")
    again = load(tmp_path / "result.npz")
    pd.testing.assert_frame_equal(again.items, result.items)
    pd.testing.assert_frame_equal(again.respondents, result.respondents)
    assert str(again) == str(result)
    part = refitted(again, result.responses.part(np.arange(90)), tol=1e-6)
    assert part.parameters.top.tolist() == result.parameters.top.tolist()


@pytest.mark.parametrize(
    "settings", [{"method": "vi"}, {"prior": "empirical"}, {"prior": irtkit.ItemPrior()}], ids=str
)
def test_settings_that_levels_do_not_have(settings):
    with pytest.raises(ValueError, match="not for ordered levels"):
        fit([[0, 1], [2, 1]], "GPCM", **settings)


KINDS = ("binary", "fraction", "counts", "levels")


def mixed(n=300, each=5):
    """Abilities, slopes and difficulties, and responses to items of four kinds."""
    g = np.random.default_rng(4)
    kinds, theta = np.repeat(KINDS, each), g.normal(size=n)
    slope, difficulty = np.exp(g.normal(0, 0.2, len(kinds))), g.normal(0, 0.8, len(kinds))
    p = 1 / (1 + np.exp(-slope * (theta[:, None] - difficulty)))
    top = np.where(kinds == "counts", 4, np.where(kinds == "levels", 3, 1))
    cells = g.binomial(4, p).astype(np.float32)
    cells[:, kinds == "binary"] = g.random((n, each)) < p[:, kinds == "binary"]
    q = p[:, kinds == "fraction"]
    cells[:, kinds == "fraction"] = g.beta(20 * q, 20 * (1 - q))
    thresholds = difficulty[kinds == "levels", None] + np.array([-1.0, 0.0, 1.0])
    steps = np.cumsum(-slope[kinds == "levels", None] * thresholds, axis=1)
    steps, none = np.concatenate([np.zeros((each, 1)), steps], axis=1), np.zeros(each)
    levels = ItemParameters(
        slope[kinds == "levels"], steps.mean(axis=1), none, steps, none + 3, "GPCM"
    )
    cells[:, kinds == "levels"] = simulate_responses(levels, theta, seed=g).successes
    names = tuple(f"m{k}" for k in range(n)), tuple(f"{kind}-{k}" for k, kind in enumerate(kinds))
    trials = np.broadcast_to(top, cells.shape).astype(np.uint8)
    responses = ResponseMatrix.of_cells(Cells(cells, trials), names)
    table = pd.DataFrame({"kind": kinds}, index=names[1])
    return theta, np.stack([slope, difficulty]), responses.with_tables(table)


@pytest.fixture(scope="module")
def of_all_kinds():
    with warnings.catch_warnings(action="ignore"):
        return fit(mixed()[2])


def test_items_of_all_kinds_are_recovered_in_one_fit(of_all_kinds):
    theta, truth, responses = mixed()
    result, table = of_all_kinds, of_all_kinds.items
    assert (result.model, result.converged) == ("GPCM", True)
    for name, expected in zip(("discrimination", "difficulty"), truth, strict=True):
        z = (table[name] - expected) / table[f"{name}_se"]
        assert np.abs(z).max() < 4.5  # of 20, and trials count for less than they say
    z = (result.ability - theta) / result.ability_se
    assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.04)
    (found,) = [one for one in result.findings if one.code == "mixed-items"]
    assert found.values["kinds"] == "5 right or wrong, 5 scores, 5 trials"
    assert score(responses, result)["ability"].to_numpy() == pytest.approx(result.ability, abs=1e-6)


def test_whole_numbers_from_0_are_levels_by_default():
    levels = drawn(200, 6, "GPCM")[2].astype(float)
    mixture = np.column_stack([levels, levels[:, :2] > 1, levels[:, 0] / 3])
    result = fit(mixture)
    (found,) = [one for one in result.findings if one.code == "levels-taken"]
    assert (result.model, found.values["n"]) == ("GPCM", 6)
    assert result.responses.source.settings == {}
    assert result.parameters.top.tolist() == [3.0] * 6 + [1.0] * 3
    assert fit(levels).log_likelihood == fit(levels, "GPCM").log_likelihood
    assert fit(levels > 1).model == "2PL"
    for other in (levels + 1, levels * 4, np.column_stack([levels + 1, levels > 1])):
        with pytest.raises(ValueError, match=r"score_range=.*"):
            fit(other)
