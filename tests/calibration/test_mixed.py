"""Claims about fits of right and wrong answers, fractions and ordered levels together."""

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit import fit, load, read_responses, score

MODELS = pytest.mark.parametrize("model", ["GPCM", "GRM"])


def drawn(n, k, *, seed=0, missing=0.1):
    """Abilities, slopes, and k items of each kind; fractions are worth nine answers."""
    g = np.random.default_rng(seed)
    theta, slope, intercept = g.normal(size=n), g.lognormal(0, 0.3, 3 * k), g.normal(size=2 * k)
    p = 1 / (1 + np.exp(-(np.multiply.outer(theta, slope[: 2 * k]) + intercept)))
    right, share = g.random((n, k)) < p[:, :k], g.beta(8 * p[:, k:], 8 * (1 - p[:, k:]))
    slope[2 * k :] *= 0.6
    thresholds = np.linspace(-1.5, 1.5, 3) + g.normal(0, 0.4, (k, 3))
    steps = np.cumsum(-slope[2 * k :, None] * thresholds, axis=1)
    z = np.multiply.outer(np.multiply.outer(theta, slope[2 * k :]), np.arange(4.0))
    z[:, :, 1:] += steps
    whole = np.exp(z).cumsum(axis=2)
    levels = (whole < g.random((n, k, 1)) * whole[:, :, -1:]).sum(axis=2)
    table = np.hstack([right, share, levels]).astype(float)
    table[g.random(table.shape) < missing] = np.nan
    names = [f"{kind}{j}" for kind in ("binary", "fraction", "levels") for j in range(k)]
    return theta, slope, pd.DataFrame(table, [f"m{i}" for i in range(n)], names)


@pytest.mark.parametrize(("model", "most"), [("GPCM", 1.0), ("GRM", 1.3)])
def test_parameters_and_abilities_of_mixed_items_come_back(model, most):
    theta, slope, table = drawn(400, 15)
    result = fit(table, model, levels=True)
    kinds = ["binary"] * 15 + ["fraction"] * 15 + ["levels"] * 15
    assert [*result.items["kind"]] == kinds
    z = (result.items["discrimination"] - slope) / result.items["discrimination_se"]
    assert np.abs(z[:30]).mean() < most  # 0.8 of a standard normal
    off = (result.ability - theta) / result.ability_se
    assert 0.9 < np.mean(np.abs(off) < 1.96) < 0.99
    assert 8 < 1 / (result.settings.trial_correlation or 1) < 10
    parts = [fit(table.iloc[:, some], levels=True) for some in (slice(15), slice(30, 45))]
    assert [part.model for part in parts] == ["2PL", "GPCM"]
    errors = [np.mean((part.ability - theta) ** 2) for part in (result, *parts)]
    assert errors[0] < 0.7 * min(errors[1:])


@MODELS
def test_fractions_and_right_and_wrong_are_the_2pl(model):
    table = drawn(100, 8)[2].iloc[:, :16]
    given = read_responses(table).with_trial_correlation(0.1)
    plain = fit(given, "2PL")
    padded = table.assign(more=[0, 2] + [np.nan] * 98)
    known = read_responses(padded, levels=True).with_trial_correlation(0.1)
    same = fit(known, model)
    assert same.items["discrimination"][:16].to_numpy() == pytest.approx(
        plain.items["discrimination"], abs=0.02
    )
    assert np.corrcoef(same.ability, plain.ability)[0, 1] > 0.9999


@MODELS
def test_scores_and_saved_results_of_mixed_items_are_those_of_the_fit(model, tmp_path):
    table = drawn(80, 6, seed=3)[2]
    table.iloc[0, 12:] = [1, 1, 0, 2, 1, 0]  # one respondent reaches no highest level
    result = fit(table, model, levels=True)
    result.save(tmp_path / "fit.npz")
    saved = load(tmp_path / "fit.npz")
    pd.testing.assert_frame_equal(saved.items, result.items)
    for items in (result, saved, tmp_path / "fit.npz"):
        found = score(table.iloc[:1], items)
        assert found["ability"].iloc[0] == pytest.approx(result.ability[0], abs=1e-3)
    part = score(table.iloc[:3, [0, 7, 13]], result)
    assert np.isfinite(part["ability"]).all()


def test_what_follows_from_a_fit_takes_mixed_items():
    result = fit(drawn(40, 6, seed=1)[2], levels=True)
    assert len(result.leaderboard()) == len(result.leaderboard(of="these")) == 40
    assert irtkit.compare_systems(result, "m1", "m2").n_items > 0
    assert len(irtkit.select_items(result, 4).items) == 4
    assert irtkit.audit(result).items.empty
    assert len(result.health().items) == 18
    assert irtkit.plots.category_curves(result, "levels0").get_lines()
    with pytest.raises(ValueError, match="not for ordered levels"):
        irtkit.wrong_keys(result)
