"""Estimation: what is cheap on the way changes no maximum, nor do copies; the chance level; refits.

That the maximum is where others have it is for test_references.py.
"""

import numpy as np
import pandas as pd
import pytest

from irtkit import (
    EM,
    Beta,
    ItemParameters,
    ItemPrior,
    Normal,
    ResponseMatrix,
    WeakPrior,
    fit,
    load,
    simulate_responses,
)
from irtkit.calibration import estimation
from irtkit.calibration.estimation import starting_values
from irtkit.calibration.likelihood import Parameterisation
from irtkit.calibration.search import Control, PreconditionedLBFGS, maximise, problem_of
from irtkit.data.patterns import merged as merge
from irtkit.data.patterns import patterns_of
from irtkit.fitting import refitted
from tests.crowds import crowd, drawn, fitted, sample

pytestmark = pytest.mark.filterwarnings("ignore:Not unidimensional")  # of copies
KINDS = ("complete", "missing", "counts", "synthetic")
N = 80
"""Distinct respondents; three times as many are few enough for 64 bits from the start."""
TEXTBOOK = ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta())
FINE = (121, 6.0)
"""A grid that is the same however the search goes."""
PARTS = ("discrimination", "intercept", "guessing")
HALF = np.repeat([0.25, 0.0], 12)


def crowd_of(kind, *, n_distinct=60, n_items=80, copied=True):
    """Responses with copies of rows and of columns, and of which distinct ones they are."""
    generator = np.random.default_rng(7)
    slope = generator.lognormal(0, 0.2, n_distinct)
    items = ItemParameters.from_difficulty(slope, generator.normal(size=n_distinct))
    missing, trials = (0.2 if kind == "missing" else 0.0), (3 if kind == "counts" else 1)
    distinct = simulate_responses(
        items, generator.normal(size=N), missing=missing, trials=trials, seed=3
    )
    rows, columns = np.arange(N), np.arange(n_distinct)
    if copied:
        rows = generator.permutation(np.repeat(rows, 3))
        columns = generator.permutation(np.resize(columns, n_items))
    place = np.ix_(rows, columns)
    names = [f"r{k}" for k in range(len(rows))], [f"i{k}" for k in range(len(columns))]
    tried = distinct.trials if kind == "counts" else (distinct.values >= 0).astype(int)
    whole = ResponseMatrix.from_counts(distinct.successes[place], tried[place], *names)
    if kind == "synthetic":
        whole = ResponseMatrix(whole.values, *names, synthetic=np.arange(len(rows)) % 10 == 0)
    return whole, rows, columns


def merging_nothing(whole, _of_items=None):
    return (whole, np.arange(whole.n), np.arange(whole.cells.shape[1]))


def both_ways(responses, monkeypatch, *args, **kwargs):
    """The fit, and that of a matrix in which nothing is merged."""
    responses = responses.with_trial_correlation(0.0)  # estimating it takes several searches
    found = fit(responses, *args, method=EM(tol=1e-12), **kwargs)
    with monkeypatch.context() as patched:
        patched.setattr(estimation, "merged", merging_nothing)
        return found, fit(responses, *args, method=EM(tol=1e-12), **kwargs)


def assert_alike(found, expected):
    assert found.converged
    assert expected.converged
    # a log-likelihood alone is not flat where a penalised search ends: 2e-9, of the 3PL 3e-6
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-5, rel=0)
    # sums of the information formed as a whole are in 32 bits; in 64 both differ as the estimates
    # do that they are taken at, by 1e-6
    of_errors = 1e-5 if len(found.items) > 150 else 5e-5
    for name in (name for name in PARTS if expected.items[name].any()):
        errors = expected.items[f"{name}_se"].to_numpy()
        off = (found.items[name] - expected.items[name]).to_numpy() / errors
        assert np.abs(off).max() < 1e-4
        assert found.items[f"{name}_se"].to_numpy() == pytest.approx(errors, rel=of_errors)
    assert found.ability == pytest.approx(expected.ability, abs=1e-6)
    assert found.ability_se == pytest.approx(expected.ability_se, abs=1e-6)
    assert found.items["status"].equals(expected.items["status"])
    assert found.items["average_error"].equals(expected.items["average_error"])
    assert found.n_parameters == expected.n_parameters


@pytest.mark.parametrize(("kind", "model", "prior", "n_items"), [
    ("complete", "1PL", None, 80),
    ("missing", "3PL", TEXTBOOK, 160),
    ("counts", "1PL", "weak", 160),
    ("synthetic", "2PL", "weak", 80),
])  # fmt: skip
def test_copies_counted_give_the_fit_of_copies_spelled_out(
    kind, model, prior, n_items, monkeypatch
):
    # with 160 items no information is formed as a whole
    responses, _, _ = crowd_of(kind, n_distinct=n_items * 5 // 8, n_items=n_items)
    patterns = merge(patterns_of(responses, synthetic_is_real=False))[0]
    assert patterns.frequency is not None
    assert patterns.multiplicity is not None
    assert_alike(*both_ways(responses, monkeypatch, model, prior=prior, quadrature=FINE))


@pytest.mark.parametrize(
    ("kind", "model", "n_items"), [("missing", "2PL", 160), ("counts", "3PL", 80)]
)
def test_those_who_answered_alike_and_items_answered_alike_get_the_same_numbers_to_the_last_bit(
    kind, model, n_items
):
    responses, rows, columns = crowd_of(kind, n_distinct=n_items * 5 // 8, n_items=n_items)
    result = fit(responses, model)
    names = [*PARTS, "difficulty"]
    estimates = result.items[names].to_numpy()
    first = np.unique(columns, return_index=True, return_inverse=True)
    assert np.array_equal(estimates, estimates[first[1]][first[2]])
    errors = result.items[[f"{name}_se" for name in names]].to_numpy()
    np.testing.assert_allclose(errors, errors[first[1]][first[2]], rtol=1e-5)
    # synthetic respondents have a distribution of ability of their own
    _, first_row, place = np.unique(
        rows + 1000 * result.synthetic, return_index=True, return_inverse=True
    )
    abilities = np.stack([result.ability, result.ability_se], axis=1)
    assert np.array_equal(abilities, abilities[first_row][place])


def test_an_empirical_prior_is_learned_from_copies_as_from_items_spelled_out(monkeypatch):
    responses, _, _ = crowd_of("complete", n_distinct=100, n_items=160)
    found, expected = both_ways(responses, monkeypatch, prior="empirical", standard_errors=False)
    for name in ("discrimination", "intercept"):
        one, other = (result.items[name].to_numpy() for result in (found, expected))
        assert one == pytest.approx(other, abs=1e-3)
    assert found.settings.prior["kind"] == expected.settings.prior["kind"] == "empirical"
    told, wanted = (list(result.settings.prior.values())[1:] for result in (found, expected))
    assert told == pytest.approx(wanted, rel=1e-2)


@pytest.mark.parametrize("shape", [(100, 1000), (1000, 60)])
def test_slopes_start_near_those_of_the_fit(shape):
    responses = drawn(*shape)
    patterns = patterns_of(responses, synthetic_is_real=False)
    problem = problem_of(patterns, "2PL", WeakPrior())
    begun = problem.items(starting_values(problem, patterns)).slope
    found = fit(responses, standard_errors=False).parameters.discrimination
    assert begun.mean() == pytest.approx(found.mean(), rel=0.1)
    assert np.corrcoef(begun, found)[0, 1] > 0.9


def test_a_hundred_million_trials_say_the_same_as_a_hundred_thousand():
    logits = np.add.outer(np.linspace(-2, 2, 30), np.linspace(-1, 1, 6))
    successes = 1_000 * np.rint(1e5 / (1 + np.exp(-logits))).astype(np.int64)
    trials = np.full((30, 6), 10**8)
    many, some = (
        fit(ResponseMatrix.from_counts(successes // k, trials // k).with_trial_correlation(0.0))
        for k in (1, 1_000)
    )
    assert many.converged
    assert many.quadrature.n_nodes <= some.quadrature.n_nodes < 4_000
    for name in ("discrimination", "intercept"):
        off = (many.items[name] - some.items[name]) / some.items[f"{name}_se"]
        assert np.abs(off).max() < 1e-3
    assert many.counts.item_responses.tolist() == [30 * 10**8] * 6


@pytest.fixture(scope="module")
def mixed():
    """Twelve items with four choices, and twelve open-ended ones."""
    return drawn(500, 24, guessing=HALF)


@pytest.mark.parametrize(("guessing", "tolerance"), [(0.0, 0.04), (0.1, 0.04), (0.25, 0.06)])
def test_intervals_hold_with_a_learned_chance_level(guessing, tolerance):
    responses, items, _ = sample(1000, 30, 0, guessing=guessing)
    result = fit(responses, "3PL")
    assert result.settings.prior["chance"] == pytest.approx(guessing, abs=tolerance)
    for name in ("discrimination", "difficulty"):
        off = (result.items[name] - getattr(items, name)) / result.items[f"{name}_se"]
        assert (off.abs() <= 1.96).mean() >= 0.9


@pytest.mark.parametrize("guessing", [0.05, 0.25])
def test_the_chance_level_is_where_a_fine_scan_of_whole_fits_has_it(guessing):
    patterns = patterns_of(drawn(500, 24, guessing=guessing), synthetic_is_real=False)
    level, _ = estimation.likeliest_guessing(patterns, WeakPrior())
    problem = problem_of(patterns, "3PL", WeakPrior())
    parameters = Parameterisation("2PL", patterns.n_items, learns=True)
    problem = problem._replace(parameters=parameters)
    logits = np.log(level / (1 - level)) + np.linspace(-0.4, 0.4, 9)
    search = PreconditionedLBFGS(starting_values(problem, patterns))
    found = []
    for logit in logits:
        parameters.logit_guessing = np.full(patterns.n_items, logit)
        search.restart()
        maximise(problem, search, Control())
        of_items = (patterns.n_items - 1) * WeakPrior().guessing_density.at(np.array([logit])).value
        found.append(search.current.value - of_items[0])
    scan = np.polynomial.Polynomial.fit(logits, found, 4)
    top = min(scan.deriv().roots().real, key=lambda root: abs(root - logits[4]))
    assert level == pytest.approx(1 / (1 + np.exp(-top)), rel=0.005)


@pytest.mark.parametrize("method", ["em", "vi"])
def test_options_in_the_item_table_are_chance_levels_and_others_are_learned(mixed, method):
    options = pd.DataFrame({"n_options": [4] * 12 + [None] * 12}, index=mixed.items)
    told = fit(mixed.with_tables(options), "3PL", method=method)
    chance = told.settings.prior["chance"]
    assert chance[:12] == (0.25,) * 12
    assert 0 < chance[12] < 0.1
    assert len({*chance[12:]}) == 1
    by_item = dict(zip(mixed.items[:12], chance[:12], strict=True))
    given = fit(mixed, "3PL", method=method, prior=WeakPrior(chance=by_item))
    pd.testing.assert_frame_equal(given.items, told.items)


@pytest.mark.filterwarnings("ignore:Systems at chance")
def test_items_without_responses_and_refits_keep_the_chance_of_each_item(mixed, tmp_path):
    values = mixed.values.copy()
    values[:, 3] = -1
    options = pd.DataFrame({"n_options": [4] * 12 + [50] * 12}, index=mixed.items)
    result = fit(ResponseMatrix(values, items=mixed.items).with_tables(options), "3PL")
    assert result.items["guessing"].iloc[12:].max() < 0.08
    assert result.items["guessing"].iloc[:12].mean() > 0.2
    result.save(tmp_path / "fit")
    some = ResponseMatrix(values[:, 6:18], items=mixed.items[6:18])
    again = refitted(load(tmp_path / "fit"), some, tol=1e-7)
    assert again.settings.prior["chance"] == (0.25,) * 6 + (0.02,) * 6


@pytest.mark.parametrize(("model", "how"), [
    ("2PL", {"quadrature": (31, 5.0)}),
    ("3PL", {"prior": ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0), Beta(4.0, 12.0))}),
])  # fmt: skip
def test_the_same_responses_are_fitted_as_they_were(model, how):
    responses, result = crowd("ordinary").responses, fitted("ordinary", model, **how)
    again = refitted(result, responses, tol=1e-7)
    assert again.settings.prior == result.settings.prior
    assert again.settings.quadrature == result.settings.quadrature
    assert again.ability == pytest.approx(result.ability, abs=1e-6)
    assert again.items["intercept_se"].isna().all()


def test_items_with_the_same_total_have_the_same_difficulty_in_the_1pl():
    generator = np.random.default_rng(0)
    p = 1 / (1 + np.exp(generator.normal(size=100) - generator.normal(size=(60, 1))))
    answers = (generator.random(p.shape) < p).astype(int)
    difficulty = fit(answers, "1PL").items["difficulty"].to_numpy()
    assert len(np.unique(difficulty)) == len(np.unique(answers.sum(axis=0)))
