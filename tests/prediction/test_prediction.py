"""Difficulty predicted from features, held out of what it is learned from."""

import logging
import socket
import sys

import numpy as np
import pandas as pd
import pytest

import irtkit
from irtkit.prediction import (
    REGRESSORS,
    DifficultyPredictor,
    difficulty_targets,
    feature_importances,
)
from irtkit.prediction.features import as_features, check_leaks, text_embedding

pytestmark = pytest.mark.filterwarnings("ignore:.*abilit")

# Claims about predicted difficulty and its intervals


pytest.importorskip("sklearn")


def made(n, seed, noise=0.5):
    """Features of items and their difficulty, which bends with one and steps with another."""
    generator = np.random.default_rng(seed)
    index = pd.Index([f"i{k}" for k in range(n)], name="item")
    table = pd.DataFrame(generator.normal(size=(n, 4)), index=index, columns=list("abcd"))
    table["kind"] = generator.choice(["x", "y"], n)
    difficulty = table["a"] + 0.5 * table["b"] ** 2 + (table["kind"] == "x")
    return table, difficulty + generator.normal(0, noise, n)


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_every_family_predicts_items_it_has_not_seen(regressor):
    features, difficulty = made(600, 0)
    predictor = DifficultyPredictor(regressor, folds=0).fit(features[:400], difficulty[:400])
    found = predictor.predict(features[400:])
    assert list(found.index) == list(features.index[400:])
    assert found["predicted"].corr(difficulty[400:]) > 0.6
    assert found[["low", "high"]].isna().all(axis=None)


@pytest.mark.slow
@pytest.mark.parametrize("regressor", ["linear", "k nearest neighbours"])
def test_intervals_hold_nine_in_ten_items_out_of_sample(regressor):
    # 10 draws × 200 items: the share has a standard error of 0.01 between draws
    shares = []
    for seed in range(10):
        features, difficulty = made(500, seed)
        predictor = DifficultyPredictor(regressor).fit(features[:300], difficulty[:300])
        found = predictor.predict(features[300:])
        shares.append(difficulty[300:].between(found["low"], found["high"]).mean())
    assert 0.86 <= np.mean(shares) <= 0.94


@pytest.mark.parametrize(("n", "level", "rank"), [(60, 0.8, 49), (9, 0.9, 9), (9, 0.7, 7)])
def test_intervals_reach_as_far_as_cross_validated_errors(n, level, rank):
    features, difficulty = made(n, 1)
    predictor = DifficultyPredictor("k nearest neighbours", folds=3, level=level)
    tried = predictor.fit(features, difficulty).cross_validated_
    assert predictor.rmse_ == pytest.approx((tried["predicted"] - difficulty).std(ddof=0), rel=0.2)
    reach = np.sort((difficulty - tried["predicted"]).abs())[rank - 1]
    found = predictor.predict(made(3, 2)[0])
    assert (found["high"] - found["predicted"]).to_numpy() == pytest.approx(reach)
    assert (found["predicted"] - found["low"]).to_numpy() == pytest.approx(reach)
    wide = predictor.predict_intervals(features, level=0.99)
    assert np.isinf(wide["high"]).all() == (n < 99)


def test_columns_are_found_by_name_and_gaps_are_filled():
    features, difficulty = made(200, 3)
    predictor = DifficultyPredictor("linear", folds=0).fit(features, difficulty)
    known = predictor.predict(features[:9])
    assert predictor.predict(features[:9].assign(more=1.0)[["more", *features[::-1]]]).equals(known)
    unknown = features[:9].assign(a=None, kind="z", b=np.nan)
    assert predictor.predict(unknown)["predicted"].notna().all()
    with pytest.raises(KeyError, match="not in index"):
        predictor.predict(features[["c", "d", "kind"]])


def test_texts_and_identifiers_are_no_categories():
    features, difficulty = made(60, 3)
    texts = features.assign(prompt=[f"how much is {k} and {k}" for k in range(60)])
    with pytest.raises(
        ValueError, match="'prompt' is not a number, and nearly all its values differ"
    ):
        DifficultyPredictor("linear", folds=0).fit(texts, difficulty)
    some = features.assign(subject=["the one", "the other"] * 30)
    predictor = DifficultyPredictor("linear", folds=0).fit(some, difficulty)
    assert len(predictor.predict(some[:1])) == 1


def test_images_and_texts_are_predicted_from():
    images = np.random.default_rng(0).random((200, 4, 4))
    index = [f"i{k}" for k in range(200)]
    difficulty = pd.Series(images[:, 1, 2], index=index)
    predictor = DifficultyPredictor("linear", folds=0, allow=["x6"])
    assert predictor.fit(images, difficulty).predict(images)["predicted"].to_numpy() == (
        pytest.approx(difficulty.to_numpy())
    )
    texts = ["word " * (1 + k % 17) for k in range(200)]
    noisy = pd.Series([k % 17 + np.sin(k) for k in range(200)], index=index)
    reader = DifficultyPredictor("linear", folds=0, embed=lambda texts: [[len(t)] for t in texts])
    found = reader.fit(texts, noisy).predict(["word", "word " * 17], items=["easy", "hard"])
    assert found.loc["hard", "predicted"] > found.loc["easy", "predicted"] + 10


def test_any_regressor_and_any_pipeline_serve():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    features, difficulty = made(200, 4)
    of_numbers = features.drop(columns="kind")
    own = make_pipeline(FunctionTransformer(lambda table: table[["a"]]), Ridge())
    for regressor in (Ridge(), own):
        found = DifficultyPredictor(regressor, folds=2).fit(of_numbers, difficulty)
        assert found.predict(of_numbers)["predicted"].corr(difficulty) > 0.5
    with pytest.raises(ValueError, match="did you mean 'random forest'"):
        DifficultyPredictor("random forrest").fit(features, difficulty)
    with pytest.raises(ValueError, match="target"):
        DifficultyPredictor(target="3PL")


def test_items_without_features_or_difficulty_are_left_out():
    features, difficulty = made(100, 8)
    difficulty.iloc[:10] = np.nan
    difficulty.iloc[10] = np.inf
    predictor = DifficultyPredictor("linear").fit(features[5:60], difficulty)
    assert list(predictor.cross_validated_.index) == list(features.index[11:60])
    with pytest.raises(ValueError, match="must share an item"):
        DifficultyPredictor().fit(features[:5], difficulty[50:])


@pytest.fixture(scope="module")
def calibrated():
    features, difficulty = made(300, 9)
    items = irtkit.ItemParameters.from_difficulty(np.full(300, 1.5), difficulty)
    ability = np.random.default_rng(0).normal(size=400)
    drawn = irtkit.simulate_responses(items, ability, seed=1)
    responses = irtkit.ResponseMatrix(drawn.values, items=features.index)
    return features, irtkit.fit(responses, "1PL"), difficulty


def test_predictions_become_a_prior_in_logits(calibrated):
    features, result, difficulty = calibrated
    predictor = DifficultyPredictor("gradient boosting", target="Rasch").fit(features, result)
    prior = predictor.prior_mean(features)
    assert np.polyfit(difficulty, prior["mean"], 1)[0] == pytest.approx(1.3, abs=0.3)
    # noise of 0.5 that features do not tell, times the slope of 1.5; learning adds to it
    assert 0.7 < prior["sd"].iloc[0] < 1.3
    errors = difficulty_targets(result)["Rasch_se"]
    assert prior["sd"].iloc[0] ** 2 + (errors**2).mean() == pytest.approx(predictor.rmse_**2)
    few = irtkit.ResponseMatrix(result.responses.values[:10], items=features.index)
    assert irtkit.fit(few, prior=irtkit.WeakPrior(difficulty_mean=prior)).converged
    with pytest.raises(ValueError, match="needs difficulties in logits"):
        DifficultyPredictor("linear").fit(features, result).prior_mean(features)


def test_without_an_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ImportError, match=r"irtkit\[predict\]"):
        DifficultyPredictor().fit(*made(30, 0))
    with pytest.raises(ImportError, match=r"irtkit\[text\]"):
        text_embedding()


# Claims about features: what can be one, and what is refused


ITEMS = [f"q{k}" for k in range(40)]


def lengths(texts):
    """Letters and words of texts."""
    return np.array([[len(text), len(text.split())] for text in texts])


def test_tables_of_other_libraries_are_read_by_label():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"item": ["b", "a"], "words": [1, 2]})
    found = as_features(table, ["a", "b"])
    assert found["words"].to_dict() == {"b": 1.0, "a": 2.0}
    assert as_features(table.to_arrow(), ["a", "b"]).equals(found)
    with pytest.raises(ValueError, match="needs a column item"):
        as_features(table.drop("item"), ["a", "b"])


def test_texts_are_embedded_and_missing_ones_stay_missing():
    texts = pd.Series(["one two", None, "three"], index=["q0", "q1", "q2"])
    for given in (texts, texts.to_frame("text")):
        table = as_features(given, embed=lengths)
        assert table.loc[["q0", "q2"]].to_numpy().tolist() == [[7, 2], [5, 1]]
        assert table.loc["q1"].isna().all()


@pytest.mark.parametrize(("given", "error", "message"), [
    (["a text", "another"], ValueError, "embed="),
    (np.zeros((3, 2)), ValueError, "Length mismatch"),
    (["a text", None], TypeError, "or texts, got list"),
    (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), ValueError, "one row per item"),
])  # fmt: skip
def test_data_without_features_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        as_features(given, ["a", "b"])


@pytest.mark.parametrize("other", [lambda x: 3 - 1e-9 * x, np.exp])
def test_a_feature_with_the_order_of_a_target_is_refused(other):
    generator = np.random.default_rng(0)
    targets = pd.DataFrame(generator.normal(size=(40, 2)), ITEMS, ["1PL", "average_error"])
    for target in (targets, targets["average_error"]):
        table = pd.DataFrame({"x": other(targets["average_error"])}).sample(frac=1)
        with pytest.raises(ValueError, match=r"'x' has the order of the target.*allow=\['x'\]"):
            check_leaks(table, target=target)
        check_leaks(table, target=target, allow="x")
        near = targets[["average_error"]] + generator.normal(0, 0.01, (40, 1))
        check_leaks(near.assign(two=np.arange(40) % 2, one=1.0), target=target)


def test_texts_that_are_about_the_same_are_near_each_other_offline(monkeypatch, tmp_path):
    pytest.importorskip("wordllama")
    monkeypatch.setenv("HOME", str(tmp_path))  # no cache of earlier downloads
    monkeypatch.setattr(socket, "socket", None)
    handlers = list(logging.getLogger().handlers)
    vectors = text_embedding()(["add two and three", "sum of 2 and 3", "the king of France"])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2] + 0.1
    assert logging.getLogger().handlers == handlers
    assert list(tmp_path.iterdir()) == []


# Claims about what makes items hard, compared with what the task goes by


@pytest.fixture(scope="module")
def made_of_two():
    """Items are hard near the border. Their class is the side of it, as a second feature says."""
    generator = np.random.default_rng(0)
    index = [f"i{k}" for k in range(300)]
    table = pd.DataFrame(generator.normal(size=(300, 3)), index=index, columns=list("xyz"))
    difficulty = -table["x"].abs() + generator.normal(0, 0.2, 300)
    return table, difficulty, table["y"] > 0


def test_features_of_difficulty_and_of_the_task_are_separated(made_of_two):
    found = feature_importances(*made_of_two, repeats=3)
    assert found.index[0] == "x"
    assert found["task"].idxmax() == "y"
    assert found.loc["z"].abs().max() < 0.1
    assert found.loc["x", "difficulty"] > 1
    assert found.attrs["difficulty"] > 0.7
    assert found.attrs["task"] > 0.95
    ranks = found[["difficulty", "task"]].corr("spearman").iloc[0, 1]
    assert found.attrs["spearman"] == pytest.approx(ranks)


def test_without_labels_there_is_difficulty_alone(made_of_two):
    found = feature_importances(*made_of_two[:2], regressor="gradient boosting", repeats=2)
    assert list(found.columns) == ["difficulty", "difficulty_sd"]
    with pytest.raises(ValueError, match="lacks a label of item 'i3'"):
        feature_importances(*made_of_two[:2], made_of_two[2].drop("i3"))


# Claims about the table of what is predicted


@pytest.fixture(scope="module")
def responses():
    slope = np.where(np.arange(50) == 7, 0.001, 1.0)
    items = irtkit.ItemParameters(slope, np.linspace(-2, 2, 50), np.zeros(50))
    return irtkit.simulate_responses(items, np.linspace(-2, 2, 150), seed=0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_targets_agree_with_the_fits(responses):
    table = difficulty_targets(responses)
    of_1pl, of_2pl = (irtkit.fit(responses, model) for model in ("1PL", "2PL"))
    assert table["1PL"].to_numpy() == pytest.approx(of_1pl.items["difficulty"])
    assert table["Rasch"].to_numpy() == pytest.approx(-of_1pl.items["intercept"])
    located = of_2pl.items["difficulty"].clip(-6, 6)
    assert table["2PL"].to_numpy() == pytest.approx(located)
    assert table["Rasch_se"].equals(of_1pl.items["intercept_se"])
    assert table["average_error"].equals(of_1pl.items["average_error"])
    assert table["expected_error"].to_numpy() == pytest.approx(of_2pl.items["expected_error"])
    again = difficulty_targets(of_2pl)
    assert again["2PL"].equals(table["2PL"])
