"""Claims about items calibrated on an earlier scale, whose items stay."""

import numpy as np
import pandas as pd
import pytest

import irtkit

pytestmark = pytest.mark.filterwarnings("ignore:(Not unidimensional|Item groups)")

MODELS = ("Rasch", "1PL", "2PL", "3PL")
N_ITEMS, N_OLD = 50, 40
LABELS = [f"q{j}" for j in range(N_ITEMS)]


def true_items(model, generator):
    slopes = np.full(N_ITEMS, 1.0 if model == "Rasch" else 1.3)
    if model in {"2PL", "3PL"}:
        slopes = generator.lognormal(0, 0.3, N_ITEMS)
    guessing = generator.beta(5, 17, N_ITEMS) if model == "3PL" else 0.0
    return irtkit.ItemParameters.from_difficulty(slopes, generator.normal(0, 1, N_ITEMS), guessing)


def answers(items, ability, some, seed):
    drawn = irtkit.simulate_responses(items, ability, seed=seed)
    return irtkit.ResponseMatrix(drawn.values[:, some], items=LABELS[some])


def earlier_and_later(model, shift, n=800):
    """30 anchors calibrated on 500 systems, and answers of others to them, and to 10 new items.

    ``shift`` says how much easier each has become.
    """
    generator = np.random.default_rng(11)
    items = true_items(model, generator).chosen(slice(0, 40))
    earlier = irtkit.fit(answers(items, generator.normal(size=500), slice(0, 30), 12), model)
    moved = irtkit.ItemParameters(items.discrimination, items.intercept + shift, items.guessing)
    return earlier, answers(moved, generator.normal(size=n), slice(0, 40), 13)


@pytest.mark.parametrize("model", MODELS)
def test_abler_respondents_and_new_items_land_on_the_earlier_scale(model):
    """Mean 1.2 and SD 0.7 of 1,500 others, told by 30 items that 2,000 respondents calibrated."""
    generator = np.random.default_rng(1)
    items = true_items(model, generator)
    earlier = irtkit.fit(answers(items, generator.normal(size=2000), slice(0, N_OLD), 2), model)
    ability = generator.normal(1.2, 0.7, 1500)
    result = irtkit.fit(answers(items, ability, slice(10, N_ITEMS), 3), model, fixed=earlier)
    fixed = result.items["fixed"]
    assert result.converged
    assert fixed.tolist() == [True] * 30 + [False] * 10
    same = ["discrimination", "intercept", "guessing", "difficulty_se"]
    kept = earlier.items.loc[fixed.index[fixed], same]
    pd.testing.assert_frame_equal(result.items.loc[fixed, same], kept)
    assert result.latent_mean == pytest.approx(1.2, abs=0.12)
    assert result.latent_sd == pytest.approx(0.7, abs=0.1)
    new = result.items[~fixed]
    off = (new["difficulty"] - items.difficulty[N_OLD:]) / new["difficulty_se"]
    assert np.sqrt((off**2).mean()) < 1.6  # of ten z with errors of the anchors beside
    assert result.ability.mean() == pytest.approx(ability.mean(), abs=0.12)


def known_table(items):
    columns = {"a": items.discrimination, "b": items.difficulty, "c": items.guessing}
    return pd.DataFrame(columns, LABELS[: items.n_items])


@pytest.mark.parametrize(("model", "by_item"), [("Rasch", 1), ("1PL", 1), ("2PL", 2), ("3PL", 3)])
def test_abilities_are_scores_and_parameters_those_of_free_items_and_the_population(model, by_item):
    generator = np.random.default_rng(4)
    items = true_items(model, generator)
    responses = answers(items, generator.normal(0.5, 1.2, 400), slice(None), 5)
    result = irtkit.fit(responses, model, fixed=known_table(items))
    assert result.n_parameters == 2
    np.testing.assert_allclose(
        irtkit.score(responses, result)["ability"], result.ability, atol=1e-5
    )
    values = responses.values[:60].copy()
    values[:, -1] = -1
    some = irtkit.fit(
        irtkit.ResponseMatrix(values, items=LABELS), model, fixed=known_table(items)[:30]
    )
    assert some.n_parameters == 2 + 19 * by_item


def test_a_result_on_an_earlier_scale_is_saved_printed_and_compared(tmp_path):
    earlier, later = earlier_and_later("2PL", 0.0, n=300)
    result = irtkit.fit(later, fixed=earlier)
    result.save(tmp_path / "result.npz")
    again = irtkit.load(tmp_path / "result.npz")
    assert str(again) == str(result)
    assert again.latent_mean_se == result.latent_mean_se
    error = result.items["expected_error"] - result.items["average_error"]
    assert error.abs().max() < 0.08
    compared = irtkit.compare_difficulties(result, folds=0)
    np.testing.assert_allclose(compared.table["expected_error"], result.items["expected_error"])


ONE = pd.DataFrame({"a": [1.0], "b": [0.0]}, LABELS[:1])


@pytest.mark.parametrize(("model", "items", "more", "message"), [
    ("2PL", ONE, {"method": "vi"}, "fixed= is not for a variational fit"),
    ("2PL", ONE, {"prior": "empirical"}, "fixed= is not for the empirical prior"),
    ("1PL", pd.DataFrame({"a": [1, 2], "d": 0}, LABELS[:2]), {}, "1PL has one discrimination"),
    ("2PL", ONE.assign(c=0.2), {}, "Use model='3PL'"),
    (
        "2PL",
        ONE.set_axis(["other"]),
        {},
        "lacks the items of the responses: its items are other",
    ),
    ("2PL", ONE[["a"]], {}, "fixed needs the columns discrimination"),
])  # fmt: skip
def test_what_cannot_be_fixed_is_refused(model, items, more, message):
    responses = irtkit.ResponseMatrix([[1, 0, 1], [0, 1, 1]], items=LABELS[:3])
    with pytest.raises(ValueError, match=message):
        irtkit.fit(responses, model, fixed=items, **more)
    with pytest.raises(FileNotFoundError, match="fixed: no such file or folder: 'nope'"):
        irtkit.fit(responses, fixed="nope")


@pytest.mark.parametrize("model", ["Rasch", "2PL"])
def test_drifted_anchors_are_named_and_a_fit_without_them_is_sound(model):
    drifted = np.isin(np.arange(40), [2, 7, 11, 16, 22, 29])
    shift = np.where(drifted, 1.3, 0.0)
    shift[7] = -1.3
    earlier, later = earlier_and_later(model, shift)
    with pytest.warns(UserWarning, match="Anchor drift: 6 of 30 fixed items differ"):
        result = irtkit.fit(later, model, fixed=earlier)
    assert result.items.query("drifts").index.tolist() == ["q2", "q7", "q11", "q16", "q22", "q29"]
    assert (np.sign(result.items["drift_z"][drifted]) == np.sign(shift[drifted])).all()
    (found,) = (one.values for one in result.findings if one.code == "anchor-drift")
    assert found["easier"] == ["q2", "q11", "q16", "q22", "q29"]
    assert found["harder"] == ["q7"]
    again = irtkit.fit(later, model, fixed=earlier.items.drop(result.items.query("drifts").index))
    assert abs(again.latent_mean) < abs(result.latent_mean)
    assert not again.items["drifts"].any()


@pytest.mark.parametrize("model", MODELS)
def test_sampling_errors_of_sound_anchors_are_no_drift(model):
    """With 4,000 later systems nearly all of a difference is sampling error of 500 earlier."""
    earlier, later = earlier_and_later(model, 0.0, n=4_000)
    result = irtkit.fit(later, model, fixed=earlier)
    assert not result.items["drifts"].any()
    z = result.items["drift_z"][:30].to_numpy()
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1, abs=0.3)
    assert result.items["drift_z"][30:].isna().all()
    columns = ["discrimination", "intercept", "guessing"]  # and not their errors
    with pytest.warns(UserWarning, match="Anchor drift"):
        known = irtkit.fit(later, model, fixed=earlier.items[columns])
    assert known.latent_mean_se is not None
    assert result.latent_mean_se is not None
    # σ/√500 of the mean of earlier systems, and more of each anchor
    assert result.latent_mean_se > np.hypot(known.latent_mean_se, 500**-0.5)


def test_copies_of_respondents_are_no_evidence_of_drift():
    earlier, later = earlier_and_later("2PL", 0.0, n=100)
    copies = irtkit.ResponseMatrix(np.repeat(later.values, 20, axis=0), items=later.items)
    result = irtkit.fit(copies, fixed=earlier)
    assert not result.items["drifts"].any()
    assert np.sqrt(20) * result.items["drift_z"].abs().max() > 4  # each copy counted


def test_with_two_anchors_none_is_called_drifted():
    earlier, later = earlier_and_later("2PL", np.where(np.arange(40) == 0, 3.0, 0.0))
    table = earlier.items.iloc[:2]
    assert not irtkit.fit(later, fixed=table).items["drifts"].any()
    three = earlier.items.iloc[:3]
    with pytest.warns(UserWarning, match="Anchor drift: 1 of 3 fixed items"):
        assert irtkit.fit(later, fixed=three).items["drifts"].tolist()[0]
