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
from irtkit.data.patterns import merged as merge
from irtkit.data.patterns import patterns_of
from irtkit.fitting import refitted
from tests.crowds import crowd, drawn, fitted, sample

pytestmark = pytest.mark.filterwarnings("ignore:Not unidimensional")  # of copies
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
