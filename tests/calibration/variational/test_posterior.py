"""Draws, intervals and moments of a posterior, and what becomes of them in files."""

import numpy as np
import pytest

from irtkit import ItemParameters, ItemPrior, Normal, add_synthetic, fit, load, simulate_responses

N_DRAWS = 4000
LOG_NORMAL = ItemPrior(Normal(1.0, 0.5), Normal(0.0, 2.0))
FITS = {
    **{model: (model, "weak") for model in ("Rasch", "2PL", "3PL")},
    "2PL, empirical": ("2PL", "empirical"),
    "2PL, signs": ("2PL", LOG_NORMAL),
}


def drawn(kind):
    generator = np.random.default_rng(7)
    slope = generator.lognormal(0, 0.3, 10)
    slope[3] *= -1
    if FITS[kind][0] == "3PL":
        slope = np.abs(slope)
    guessing = 0.2 if FITS[kind][0] == "3PL" else 0.0
    items = ItemParameters.from_difficulty(slope, generator.normal(size=10), guessing)
    n = 300 if guessing else 150
    labels = [f"m{k}" for k in range(n)]
    responses = simulate_responses(
        *(items, generator.normal(size=n)), missing=0.1, respondent_labels=labels, seed=8
    )
    return add_synthetic(responses, "always-right")


def posterior_of(result):
    assert result.posterior is not None
    return result.posterior


@pytest.fixture(scope="module", params=FITS)
def result(request):
    model, prior = FITS[request.param]
    return fit(drawn(request.param), model, method="vi", prior=prior)


@pytest.fixture(scope="module")
def draws(result):
    return posterior_of(result).draws(N_DRAWS, seed=1)


def test_draws_of_items_have_the_means_and_errors_of_the_table(result, draws):
    for name in {"discrimination", "intercept", "guessing"} & set(draws):
        errors = result.items[f"{name}_se"].to_numpy()
        if result.model == "Rasch" and name == "discrimination":
            assert (draws[name] == 1).all()
            continue
        off = (draws[name].mean(axis=0) - result.items[name]) / errors
        # 4,000 draws know a mean to 1/63 SD and an SD to 1.1 %, or less where tails are heavy;
        # points of which moments are made are exact for cubics only
        assert off.to_numpy() == pytest.approx(0, abs=0.1)
        assert draws[name].std(axis=0) == pytest.approx(errors, rel=0.1)


def test_abilities_on_the_scale_of_the_sample_are_those_of_the_table(result):
    ability = posterior_of(result).draws(N_DRAWS, seed=2, scale="sample")["ability"]
    real = ability[:, ~result.synthetic]
    assert real.mean(axis=1) == pytest.approx(0, abs=1e-10)
    if result.model != "Rasch":
        assert real.std(axis=1) == pytest.approx(1, abs=1e-10)
    # 4,000 draws of 150 to 300 abilities, taken as normal given the items, which is off by a
    # few hundredths of an SD where abilities are far out and posteriors lopsided
    off = (ability.mean(axis=0) - result.ability) / result.ability_se
    assert off[~result.synthetic] == pytest.approx(0, abs=0.15)
    spread = ability.std(axis=0) / result.ability_se
    assert spread[~result.synthetic] == pytest.approx(1, abs=0.12)


def test_intervals_are_quantiles_of_draws(result, draws):
    table = posterior_of(result).item_intervals(0.8, n=N_DRAWS, seed=6)
    assert list(table.index) == list(result.item_labels)
    for name in {"discrimination", "intercept", "guessing"} & set(draws):
        for end, share in (("low", 0.1), ("high", 0.9)):
            expected = np.quantile(draws[name], share, axis=0)
            # each of the two quantiles has a standard error of 0.027 SD, or 0.04 on the long side
            # of a lopsided posterior; there are 60 differences
            off = (table[f"{name}_{end}"] - expected) / np.maximum(draws[name].std(axis=0), 1e-9)
            assert off.to_numpy() == pytest.approx(0, abs=0.2)
    assert (table["difficulty_low"] <= table["difficulty_high"]).all()


def test_a_saved_posterior_comes_back_equal(result, tmp_path):
    result.save(tmp_path / "fit.irt")
    back = load(tmp_path / "fit.irt")
    assert back.elbo == result.elbo
    one, other = posterior_of(result), posterior_of(back)
    for name, part in one.draws(3, scale="sample").items():
        np.testing.assert_array_equal(other.draws(3, scale="sample")[name], part)
    assert other.item_intervals().equals(one.item_intervals())
    assert back.trace.equals(result.trace)
    back.save(tmp_path / "again.irt")
    assert (tmp_path / "again.irt").read_bytes() == (tmp_path / "fit.irt").read_bytes()


@pytest.mark.parametrize(("method", "arguments", "named"), [
    ("draws", {"n": 0}, "n must be"),
    ("draws", {"scale": "logit"}, "scale must be"),
    ("item_intervals", {"probability": 1.0}, "probability"),
])  # fmt: skip
def test_wrong_arguments_are_refused_by_name(result, method, arguments, named):
    with pytest.raises(ValueError, match=named):
        getattr(posterior_of(result), method)(**arguments)
